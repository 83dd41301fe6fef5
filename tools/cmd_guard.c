// SPDX-License-Identifier: Apache-2.0
/*
 * guard: the way out when the guard stands in the way. Needs the pins and
 * nothing else: no agent, no configuration, no state.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "lib/file.h"
#include "pins.h"

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

	text_printf(&text, "cpusetFiles %s  affinity %s  cgroupMoves %s\n",
		    mode_name(config->modes[ASPECT_CPUSET_FILES]),
		    mode_name(config->modes[ASPECT_AFFINITY]),
		    mode_name(config->modes[ASPECT_CGROUP_MOVES]));
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
 * Enforce becomes audit. A running agent publishes its policy again with the
 * next change, so the note says what makes it last.
 */
static int guard_release(struct session *session, int argc, char **argv)
{
	struct guard_config config;
	const __u32 key = 0;
	cleanup_close int fd = -1;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = open_config(session, &config, &fd);
	if (r)
		return r;
	for (int aspect = 0; aspect < ASPECT_NR; aspect++) {
		if (config.modes[aspect] == GUARD_ENFORCE)
			config.modes[aspect] = GUARD_AUDIT;
	}
	if (bpf_map_update_elem(fd, &key, &config, BPF_EXIST))
		return out_fail(session, errno == EPERM ? STATUS_PERMISSION : STATUS_FAILED,
				"%s: cannot be written: %s", config_map, strerror(errno));
	out_note("the guard records and denies nothing now; a running agent takes it up again, so "
		 "stop pinfoldd or set enforcement to audit to keep it so");
	return show_config(session, &config);
}

static const struct command guard_commands[] = {
	{"show", "list", "", "What the pinned guard does with each aspect.", guard_show},
	{"release", NULL, "",
	 "Have it deny nothing any more, only record; works without the agent.", guard_release},
	{0},
};

const struct noun noun_guard = {
	.name = "guard",
	.help = "The pinned guard, also without the agent.",
	.commands = guard_commands,
};
