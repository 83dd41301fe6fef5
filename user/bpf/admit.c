// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <pinfold/release.h>

#include "bpf/admit.h"
#include "bpf/policy.h"
#include "lib/file.h"

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
 * The next policy sets the mode again. A release has opened them already, and has the modes that
 * `pinfold guard arm` is to restore: written again, it would save those that it has set itself.
 */
static int open_files(const char *pin_dir, const struct inherited *inherited)
{
	int fd cleanup_close = -1;
	struct policy_maps maps = {0};
	struct guard_config config;
	int r = inherit_map_fd(inherited, pin_dir, "guard_config", &fd);

	if (r)
		return r;
	maps.config = fd;
	r = policy_read(&maps, &config);
	if (r || release_stands(&config) ||
	    guard_mode_of(&config, ASPECT_GUARD_FILES) != GUARD_ENFORCE)
		return r;
	guard_set_mode(&config, ASPECT_GUARD_FILES, GUARD_AUDIT);
	return policy_rewrite(&maps, &config);
}

int admit_agent(const char *pin_dir, const struct inherited *inherited)
{
	int r = enter(pin_dir, inherited);

	return r && open_files(pin_dir, inherited) ? r : 0;
}

int admit_to_pinned(const char *pin_dir)
{
	struct inherited *inherited cleanup_inherited = NULL;
	const struct inherit_wanted nothing = {0};
	int r = inherit_find(pin_dir, &nothing, &inherited);

	return r ? r : admit_agent(pin_dir, inherited);
}
