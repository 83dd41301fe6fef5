// SPDX-License-Identifier: Apache-2.0
/*
 * guard: the way out when the guard stands in the way. Needs the pins and
 * nothing else: no agent, no configuration, no state.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <pinfold/names.h>
#include <pinfold/release.h>

#include "format/words.h"
#include "lib/clock.h"
#include "lib/fdinfo.h"
#include "lib/file.h"
#include "lib/kernfs.h"
#include "pins.h"

#define WRITE_TRIES    20
#define WRITE_PAUSE_NS 5000000

static const char config_map[] = "maps/guard_config";

static int open_config(struct session *session, struct guard_config *ret_config, int *ret_fd)
{
	struct guard_config config;
	const __u32 key = 0;
	int fd cleanup_close = -1;
	int r;

	r = pins_open_map(session, config_map, sizeof(config), &fd);
	if (r)
		return r;
	if (bpf_map_lookup_elem(fd, &key, &config))
		return out_fail(session, STATUS_FAILED, "cannot read %s: %s", config_map,
				strerror(errno));
	*ret_config = config;
	*ret_fd = TAKE_FD(fd);
	return STATUS_DONE;
}

/* How long ago the agent showed a sign of life, which it does each second. "" if nobody knows. */
static void write_heartbeat(struct session *session, struct text *text)
{
	char *path cleanup_free = pins_path(session, "maps/guard_heartbeat");
	int fd cleanup_close = path ? bpf_obj_get(path) : -1;
	const __u32 key = 0;
	__u64 beat_ns, now_ns;

	if (fd < 0 || bpf_map_lookup_elem(fd, &key, &beat_ns) || !beat_ns)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns >= beat_ns)
		text_printf(text, "the agent's last heartbeat was %llu s ago\n",
			    (unsigned long long)((now_ns - beat_ns) / 1000000000ULL));
}

/* The path of an actor's cgroup below the mount; false if the cgroup it is in is gone. */
static bool find_actor(int mount_fd, const struct actor_key *key, char *ret_path, size_t size)
{
	const size_t mount_len = strlen(PINFOLD_CGROUP_MOUNT);
	int fd cleanup_close = -1;
	char link[64];
	ssize_t len;

	if (kernfs_open(mount_fd, key->parent_id, &fd))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, size - 1);
	if (len < (ssize_t)mount_len)
		return false;
	ret_path[len] = '\0';
	memmove(ret_path, ret_path + mount_len, (size_t)len - mount_len + 1);
	snprintf(ret_path + len - mount_len, size - ((size_t)len - mount_len), "/%.*s",
		 ACTOR_NAME_MAX, key->name);
	return true;
}

/* Whether it is there is no condition for its right, which it has by its name. */
static void write_debugger(int mount_fd, const struct actor_key *key, struct text *text)
{
	char path[PATH_MAX];

	if (find_actor(mount_fd, key, path, sizeof(path)))
		text_printf(text, "debuggers may attach from cgroup %s%s\n", path,
			    faccessat(mount_fd, path + 1, F_OK, 0) ? ", which does not exist" : "");
	else
		text_printf(text,
			    "debuggers may attach from cgroup %.*s in the cgroup with id %llu, "
			    "which does not exist\n",
			    ACTOR_NAME_MAX, key->name, (unsigned long long)key->parent_id);
}

/* In no particular order, which is that of a hash. Without the map nobody has such a right. */
static void write_debuggers(struct session *session, struct text *text)
{
	char *path cleanup_free = pins_path(session, "maps/actors");
	int map_fd cleanup_close = path ? bpf_obj_get(path) : -1;
	int mount_fd cleanup_close = open(PINFOLD_CGROUP_MOUNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct actor_key key, next;
	bool is_first = true;

	while (map_fd >= 0 && !bpf_map_get_next_key(map_fd, is_first ? NULL : &key, &next)) {
		struct actor actor;

		key = next;
		is_first = false;
		if (!bpf_map_lookup_elem(map_fd, &key, &actor) && (actor.rights & RIGHT_TRACE))
			write_debugger(mount_fd, &key, text);
	}
}

static int show_config(struct session *session, const struct guard_config *config)
{
	struct text text cleanup_text = {0};

	for (enum aspect i = 0; i < ASPECT_NR; i++)
		text_printf(&text, "%s%s %s", i ? "  " : "", aspect_option(i),
			    guard_mode_name(guard_mode_of(config, i)));
	text_append(&text, release_stands(config) ? "  (released)\n" : "\n");
	write_debuggers(session, &text);
	write_heartbeat(session, &text);
	if (text.error)
		return out_no_memory(session);
	return out_text(session, "guard", text.data); /* key: of a text, which has no table */
}

static int guard_show(struct session *session, int argc, char **argv)
{
	struct guard_config config;
	int fd cleanup_close = -1;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = open_config(session, &config, &fd);
	return r ? r : show_config(session, &config);
}

/* NULL for a number that only a newer version knows. */
static const char *mode_word(__u32 mode)
{
	return mode < GUARD_MODE_NR ? guard_mode_name(mode) : NULL;
}

/* What the last agent set is what was asked for, unless somebody released it. */
static int list_pinned_modes(struct session *session, struct json_object **ret_json)
{
	struct guard_row rows[ASPECT_NR] = {0};
	struct guard_config config, armed;
	int fd cleanup_close = -1;
	int r;

	r = open_config(session, &config, &fd);
	if (r)
		return r;
	armed = config;
	release_end(&armed);
	for (enum aspect i = 0; i < ASPECT_NR; i++) {
		rows[i].protection = aspect_option(i);
		rows[i].asked = mode_word(guard_mode_of(&armed, i));
		rows[i].in_force = mode_word(guard_mode_of(&config, i));
		if (guard_mode_of(&armed, i) != guard_mode_of(&config, i))
			text_copy(rows[i].reason, sizeof(rows[i].reason),
				  "an operator has released the guard; end the release with "
				  "`pinfold guard arm`");
	}
	*ret_json = view_guard(rows, ASPECT_NR);
	return *ret_json ? STATUS_DONE : out_no_memory(session);
}

/*
 * The agent knows the configuration, so it answers if it runs. There is no command that sets a mode: what is
 * in force could then not be compared with what was asked for.
 */
static int guard_mode(struct session *session, int argc, char **argv)
{
	struct json_object *json = NULL;
	int r;

	if (argc)
		return out_fail(session, STATUS_USAGE,
				"cannot set mode '%.60s': modes come from the configuration; set "
				"enforcement there and reload pinfoldd, or run 'pinfold guard "
				"release' to make the guard record without denying until then",
				argv[0]);
	r = source_ask_noun(session, "guard", &json);
	if (!r && !json)
		r = list_pinned_modes(session, &json);
	return r ? r : out_object(session, &view_guard_desc, json);
}

static int say_not_written(struct session *session, int fd, int error)
{
	if (fdinfo_is(fd, "frozen", "1"))
		return out_fail(session, STATUS_PERMISSION,
				"cannot write %s: another process froze this map, which cannot be "
				"undone; restart pinfoldd, which replaces it",
				config_map);
	return out_fail(session, error == EPERM ? STATUS_PERMISSION : STATUS_FAILED,
			"cannot write %s: %s", config_map, strerror(error));
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
			return out_fail(session, STATUS_FAILED, "cannot read %s: %s", config_map,
					strerror(errno));
		wanted = *config;
		change(&wanted);
		if (i && !memcmp(&wanted, config, sizeof(wanted)))
			return STATUS_DONE;
		*config = wanted;
		if (bpf_map_update_elem(fd, &key, config, BPF_EXIST))
			return say_not_written(session, fd, errno);
	}
	return out_fail(session, STATUS_FAILED,
			"%s: another process keeps writing it; try again, or stop pinfoldd first",
			config_map);
}

static int change_config(struct session *session, int argc, char **argv,
			 void (*change)(struct guard_config *), const char *note)
{
	struct guard_config config;
	int fd cleanup_close = -1;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
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
		"the guard now records without denying; to end this, run 'pinfold guard arm', or "
		"reload or restart pinfoldd");
}

static int guard_arm(struct session *session, int argc, char **argv)
{
	return change_config(session, argc, argv, release_end, "the guard is armed again");
}

static const struct command guard_commands[] = {
	{"show", "list", "", "Show how the pinned guard handles each aspect.", guard_show},
	{"mode", NULL, "",
	 "Show for each protection the mode asked for, the mode in force, and why they differ.",
	 guard_mode},
	{"release", NULL, "", "Make the guard record without denying; works without the agent.",
	 guard_release},
	{"arm", NULL, "", "End a release; works without the agent.", guard_arm},
	{0},
};

const struct noun noun_guard = {
	.name = "guard",
	.help = "The pinned guard; works without the agent.",
	.commands = guard_commands,
	.changing = {"release", "arm"},
	.views = {"mode"},
};
