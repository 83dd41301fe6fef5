// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <pinfold/release.h>

#include "bpf/admit.h"
#include "bpf/policy.h"
#include "lib/file.h"
#include "lib/log.h"

static int enter(const char *pin_dir, const struct inherited *inherited)
{
	int fd cleanup_close = -1;
	struct policy_maps maps = {0};
	int r = inherit_map_fd(inherited, pin_dir, "actor_tasks", &fd);

	if (r)
		return r == -ENOENT ? 0 : r;
	maps.actor_tasks = fd;
	return policy_enter_agent(&maps, getpid());
}

/*
 * The next policy sets the modes again. A release has them already, and keeps those that
 * `pinfold guard arm` is to restore: written again, it would save those that it has set itself.
 */
static int only_record(const char *pin_dir, const struct inherited *inherited, enum aspect first,
		       enum aspect last)
{
	int fd cleanup_close = -1;
	struct policy_maps maps = {0};
	struct guard_config config;
	bool denies = false;
	int r = inherit_map_fd(inherited, pin_dir, "guard_config", &fd);

	if (r)
		return r;
	maps.config = fd;
	r = policy_read(&maps, &config);
	if (r || release_stands(&config))
		return r;
	for (enum aspect aspect = first; aspect <= last; aspect++) {
		if (guard_mode_of(&config, aspect) != GUARD_ENFORCE)
			continue;
		guard_set_mode(&config, aspect, GUARD_AUDIT);
		denies = true;
	}
	return denies ? policy_rewrite(&maps, &config) : 0;
}

int admit_agent(const char *pin_dir, const struct inherited *inherited)
{
	int r = enter(pin_dir, inherited);

	return r && only_record(pin_dir, inherited, ASPECT_GUARD_FILES, ASPECT_GUARD_FILES) ? r : 0;
}

int admit_to_pinned(const char *pin_dir)
{
	struct inherited *inherited cleanup_inherited = NULL;
	const struct inherit_wanted nothing = {0};
	int r = inherit_find(pin_dir, &nothing, &inherited);

	return r ? r : admit_agent(pin_dir, inherited);
}

int admit_to_remove(const char *pin_dir)
{
	struct inherited *inherited cleanup_inherited = NULL;
	const struct inherit_wanted nothing = {0};
	int r = inherit_find(pin_dir, &nothing, &inherited);
	int mode_error;

	if (r)
		return r;
	r = enter(pin_dir, inherited);
	mode_error = only_record(pin_dir, inherited, 0, ASPECT_NR - 1);
	if (mode_error == -ENOENT)
		return 0;
	if (mode_error)
		log_warn(mode_error,
			 "bpf: the guard cannot be made to record only, so what is left "
			 "of it denies until its programs have ended");
	return mode_error ? r : 0;
}
