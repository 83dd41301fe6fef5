// SPDX-License-Identifier: Apache-2.0
/*
 * guard: the way out when the guard stands in the way. Needs the pins and
 * nothing else: no agent, no configuration, no state.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include <pinfold/release.h>

#include "lib/file.h"
#include "pins.h"

#define WRITE_TRIES    20
#define WRITE_PAUSE_NS 5000000

static const char config_map[] = "maps/guard_config";

static int open_config(struct session *session, struct guard_config *ret_config, int *ret_fd)
{
	struct guard_config config;
	const __u32 key = 0;
	cleanup_close int fd = -1;
	int r;

	r = pins_open_map(session, config_map, sizeof(config), &fd);
	if (r)
		return r;
	if (bpf_map_lookup_elem(fd, &key, &config))
		return out_fail(session, STATUS_FAILED, "%s: cannot be read: %s", config_map,
				strerror(errno));
	*ret_config = config;
	*ret_fd = TAKE_FD(fd);
	return STATUS_DONE;
}

static const char *mode_name(__u32 mode)
{
	static const char *const names[GUARD_MODE_NR] = {
		[GUARD_OFF] = "off",
		[GUARD_AUDIT] = "audit",
		[GUARD_ENFORCE] = "enforce",
	};

	return mode < GUARD_MODE_NR ? names[mode] : "unknown";
}

static int show_config(struct session *session, const struct guard_config *config)
{
	cleanup_text struct text text = {0};

	text_printf(&text, "cpusetFiles %s  affinity %s  cgroupMoves %s%s\n",
		    mode_name(config->aspect_modes[ASPECT_CPUSET_FILES]),
		    mode_name(config->aspect_modes[ASPECT_AFFINITY]),
		    mode_name(config->aspect_modes[ASPECT_CGROUP_MOVES]),
		    release_stands(config) ? "  (released)" : "");
	if (text.error)
		return out_no_memory(session);
	return out_text(session, "guard", text.data);
}

static int guard_show(struct session *session, int argc, char **argv)
{
	struct guard_config config;
	cleanup_close int fd = -1;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = open_config(session, &config, &fd);
	return r ? r : show_config(session, &config);
}

/*
 * A running agent writes the same entry, in a moment nobody can tell: what was written is
 * looked at again, and written again until it stands.
 */
static int write_config(struct session *session, int fd, void (*change)(struct guard_config *),
			struct guard_config *config)
{
	const struct timespec pause = {.tv_nsec = WRITE_PAUSE_NS};
	const __u32 key = 0;

	for (int i = 0; i < WRITE_TRIES; i++) {
		struct guard_config wanted;

		if (i)
			nanosleep(&pause, NULL);
		if (bpf_map_lookup_elem(fd, &key, config))
			return out_fail(session, STATUS_FAILED, "%s: cannot be read: %s",
					config_map, strerror(errno));
		wanted = *config;
		change(&wanted);
		if (i && !memcmp(&wanted, config, sizeof(wanted)))
			return STATUS_DONE;
		*config = wanted;
		if (bpf_map_update_elem(fd, &key, config, BPF_EXIST))
			return out_fail(session, errno == EPERM ? STATUS_PERMISSION : STATUS_FAILED,
					"%s: cannot be written: %s", config_map, strerror(errno));
	}
	return out_fail(session, STATUS_FAILED,
			"%s: another process keeps writing it; try again, or stop pinfoldd first",
			config_map);
}

static int change_config(struct session *session, int argc, char **argv,
			 void (*change)(struct guard_config *), const char *note)
{
	struct guard_config config;
	cleanup_close int fd = -1;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = open_config(session, &config, &fd);
	if (!r)
		r = write_config(session, fd, change, &config);
	if (r)
		return r;
	out_note("%s", note);
	return show_config(session, &config);
}

static int guard_release(struct session *session, int argc, char **argv)
{
	return change_config(
		session, argc, argv, release_make,
		"the guard denies nothing now, it only records; `pinfold guard arm` takes "
		"that back, and so does a reload or a restart of pinfoldd");
}

static int guard_arm(struct session *session, int argc, char **argv)
{
	return change_config(session, argc, argv, release_end,
			     "the guard does again what it did before it was released");
}

static const struct command guard_commands[] = {
	{"show", "list", "", "What the pinned guard does with each aspect.", guard_show},
	{"release", NULL, "",
	 "Have it deny nothing any more, only record; works without the agent.", guard_release},
	{"arm", NULL, "", "Take a release back; works without the agent.", guard_arm},
	{0},
};

const struct noun noun_guard = {
	.name = "guard",
	.help = "The pinned guard, also without the agent.",
	.commands = guard_commands,
	.changing = {"release", "arm"},
};
