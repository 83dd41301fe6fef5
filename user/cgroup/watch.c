// SPDX-License-Identifier: Apache-2.0
/*
 * One inotify descriptor for all groups and one netlink socket for CPUs, both event
 * sources of the agent's loop. cpuset.*.effective is not watched, because the kernel
 * generates no events for it (6.1 to 7.2).
 */
#include "cgroup/watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>

#include "cgroup/jobs.h"
#include "lib/file.h"
#include "lib/log.h"

/*
 * The pause between two reads of inotify. Unread events of one file are merged, so a
 * process that writes continuously causes two hundred reads per second and not one per
 * write.
 */
#define PAUSE_USEC 5000

/*
 * A CPU may have changed before the socket was there, and a read of the CPUs may have failed, so
 * they are looked at as often as the groups are without an event.
 */
#define RECHECK_USEC 10000000

#define UEVENT_GROUP 1 /* the kernel's group; udev forwards events to another one */

/* Watched files; index 0 is the directory itself. */
enum { WATCH_DIRECTORY, WATCH_EVENTS, WATCH_FILE_NR = 11 };
static const char *const watched_files[WATCH_FILE_NR] = {
	[WATCH_DIRECTORY] = "", [WATCH_EVENTS] = "cgroup.events",
	"cgroup.procs",		"cgroup.subtree_control",
	"cpuset.cpus",		"cpuset.cpus.partition",
	"cpuset.mems",		"cpu.max",
	"cpu.weight",		"memory.max",
	"cgroup.freeze",
};

struct watched_group {
	char *path;
	uint64_t id;
	uint32_t generation; /* of the last watch_tree that contained it */
	/* Not the last member, so that the sanitizers check the bound of the array. */
	int wds[WATCH_FILE_NR]; /* -1 = not watched */
	bool is_partial;	/* for want of watches; the others have no file */
	int populated;		/* last reported value; -1 = not known */
};

struct watch {
	const struct dir *dir;
	const struct groups_sink *sink;
	int inotify_fd, uevent_fd;
	sd_event_source *inotify_source, *uevent_source, *pause, *recheck;
	struct cpuset online; /* as last reported; empty = not yet */
	bool is_online_unknown;
	uint32_t generation;
	uint32_t nr, capacity;
	struct watched_group *groups;
};

/* --- CPUs ------------------------------------------------------------------------------------- */

bool watch_is_cpu_event(const char *data, size_t len)
{
	static const char *const starts[] = {"online@/devices/system/cpu/cpu",
					     "offline@/devices/system/cpu/cpu"};
	const char *number = NULL;

	if (!memchr(data, '\0', len))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(data, starts[i], strlen(starts[i])))
			number = data + strlen(starts[i]);
	/* Other directories at this level have similar names: cpufreq, cpuidle. */
	return number && *number && strspn(number, "0123456789") == strlen(number);
}

/* An unreadable set is said once; the next look may read it. Returns whether it was read. */
static bool read_online(struct watch *watch, struct cpuset *ret_online)
{
	int err = dir_online(watch->dir, ret_online);

	if (err && !watch->is_online_unknown)
		log_warn(
			err,
			"cgroup: cannot read which CPUs are online; the agent tries again every %d s",
			RECHECK_USEC / 1000000);
	watch->is_online_unknown = err;
	return !err;
}

static void tell(struct watch *watch, const struct cpuset *online)
{
	watch->online = *online;
	watch->sink->hotplug(watch->sink->self, online);
}

/*
 * A uevent only triggers a read of the online CPUs, because root can make the kernel send
 * any uevent by writing to a device's uevent file.
 */
void watch_tell_online(struct watch *watch)
{
	struct cpuset online;

	if (read_online(watch, &online))
		tell(watch, &online);
}

static int on_recheck(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;
	struct cpuset online;
	int r;

	/* Without an event only a difference is news. */
	if (read_online(watch, &online) && !cpuset_equal(&online, &watch->online))
		tell(watch, &online);
	r = sd_event_source_set_time_relative(source, RECHECK_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_uevent(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch *watch = userdata;
	struct sockaddr_nl from = {0};
	char data[8192];
	struct iovec part = {.iov_base = data, .iov_len = sizeof(data)};
	struct msghdr message = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1};
	ssize_t len = recvmsg(fd, &message, MSG_DONTWAIT);

	if (len < 0 && errno == ENOBUFS) {
		log_debug("cgroup: uevents were lost, reading which CPUs are online");
		watch_tell_online(watch);
	}
	/*
	 * Accept only the kernel's messages, which come from port 0. The kernel fills in
	 * the port, and root may send messages to any socket.
	 */
	if (len <= 0 || from.nl_pid != 0 || from.nl_groups != UEVENT_GROUP)
		return 0;
	if (watch_is_cpu_event(data, (size_t)len))
		watch_tell_online(watch);
	return 0;
}

static int open_uevents(struct watch *watch, sd_event *event)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = UEVENT_GROUP};

	watch->uevent_fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (watch->uevent_fd < 0)
		return -errno;
	if (bind(watch->uevent_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return sd_event_add_io(event, &watch->uevent_source, watch->uevent_fd, EPOLLIN, on_uevent,
			       watch);
}

/* --- groups ----------------------------------------------------------------------------------- */

static struct watched_group *find_wd(struct watch *watch, int wd, int *ret_file)
{
	for (uint32_t i = 0; i < watch->nr; i++)
		for (int file = 0; file < WATCH_FILE_NR; file++)
			if (watch->groups[i].wds[file] == wd) {
				*ret_file = file;
				return &watch->groups[i];
			}
	return NULL;
}

static void tell_populated(struct watch *watch, struct watched_group *group)
{
	int fd cleanup_close = -1;
	int populated;

	if (dir_open_group(watch->dir, group->path, &fd))
		return;
	populated = dir_populated(fd);
	if (populated < 0 || populated == group->populated)
		return;
	group->populated = populated;
	watch->sink->populated(watch->sink->self, group->path, populated);
}

static void handle(struct watch *watch, const struct inotify_event *event)
{
	struct watched_group *group;
	int file;

	if (event->mask & IN_Q_OVERFLOW) {
		log_warn(0, "cgroup: inotify events were lost, so the agent compares all cgroups");
		watch->sink->changed(watch->sink->self, "", "");
		return;
	}
	group = find_wd(watch, event->wd, &file);
	if (!group)
		return;
	if (event->mask & IN_IGNORED) {
		group->wds[file] = -1;
		/* The watch of the directory is removed last, when the group has been removed. */
		if (file == WATCH_DIRECTORY)
			watch->sink->changed(watch->sink->self, group->path, "");
		return;
	}
	if (file == WATCH_EVENTS)
		tell_populated(watch, group);
	else
		watch->sink->changed(watch->sink->self, group->path, watched_files[file]);
}

static int on_inotify(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch *watch = userdata;
	char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(fd, buffer, sizeof(buffer));

	/* Read one buffer and then pause, so that a flood of events cannot starve the loop. */
	for (char *at = buffer; len > 0 && at < buffer + len;) {
		const struct inotify_event *event = (const struct inotify_event *)at;

		handle(watch, event);
		at += sizeof(*event) + event->len;
	}
	if (sd_event_source_set_time_relative(watch->pause, PAUSE_USEC) >= 0 &&
	    sd_event_source_set_enabled(watch->pause, SD_EVENT_ONESHOT) >= 0)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch *watch = userdata;

	return sd_event_source_set_enabled(watch->inotify_source, SD_EVENT_ON);
}

static void forget(struct watch *watch, struct watched_group *group)
{
	for (int file = 0; file < WATCH_FILE_NR; file++)
		if (group->wds[file] >= 0)
			(void)inotify_rm_watch(watch->inotify_fd, group->wds[file]);
	free(group->path);
}

/* The events to watch. Changes inside a container are its own business. */
static uint32_t mask_of(enum group_role role, int file)
{
	if (file != WATCH_DIRECTORY)
		return IN_MODIFY;
	return IN_ONLYDIR | IN_DELETE_SELF | (role == GROUP_CONTAINER ? 0 : IN_CREATE | IN_DELETE);
}

/* Watch what is not watched yet. */
static int add_watches(struct watch *watch, int group_fd, enum group_role role,
		       struct watched_group *group)
{
	int err = 0;

	for (int file = 0; file < WATCH_FILE_NR; file++) {
		char path[96];

		if (group->wds[file] >= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", group_fd, watched_files[file]);
		group->wds[file] = inotify_add_watch(watch->inotify_fd, path, mask_of(role, file));
		/* A controller that is not enabled has no files. */
		if (group->wds[file] < 0 && errno != ENOENT)
			err = -errno;
	}
	group->is_partial = err;
	return err;
}

static int add_group(struct watch *watch, int group_fd, uint64_t id, const struct group *group)
{
	struct watched_group *watched;

	if (watch->nr == watch->capacity) {
		uint32_t capacity = watch->capacity ? watch->capacity * 2 : 16;
		struct watched_group *bigger = realloc(watch->groups, capacity * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		watch->groups = bigger;
		watch->capacity = capacity;
	}
	watched = &watch->groups[watch->nr];
	*watched = (struct watched_group){.path = strdup(group->path),
					  .id = id,
					  .generation = watch->generation,
					  .populated = dir_populated(group_fd)};
	if (!watched->path)
		return -ENOMEM;
	watch->nr++;
	for (int file = 0; file < WATCH_FILE_NR; file++)
		watched->wds[file] = -1;
	return add_watches(watch, group_fd, group->role, watched);
}

/* -EINPROGRESS: it is not watched yet. */
static int keep_watching(struct watch *watch, const char *path)
{
	int err = -EINPROGRESS;

	for (uint32_t i = 0; i < watch->nr; i++)
		if (!strcmp(watch->groups[i].path, path)) {
			watch->groups[i].generation = watch->generation;
			err = 0;
		}
	return err;
}

static int watch_group(struct watch *watch, struct groups *groups, const struct group *group)
{
	int fd cleanup_close = -1;
	uint64_t id;
	int err = jobs_open(groups, group->path, &fd);

	if (err == -EINPROGRESS)
		return keep_watching(watch, group->path);
	if (!err)
		err = dir_group_id(fd, &id);
	if (err)
		return err == -ENOENT || err == -ENODEV ? 0 : err;
	for (uint32_t i = 0; i < watch->nr; i++) {
		struct watched_group *watched = &watch->groups[i];

		if (watched->id != id || strcmp(watched->path, group->path))
			continue;
		watched->generation = watch->generation;
		return watched->is_partial ? add_watches(watch, fd, group->role, watched) : 0;
	}
	return add_group(watch, fd, id, group);
}

int watch_tree(struct watch *watch, struct groups *groups, const struct group_tree *tree)
{
	uint32_t kept = 0;
	int result = 0;

	watch->generation++;
	for (uint32_t i = 0; i < tree->nr_groups; i++) {
		int err = watch_group(watch, groups, &tree->groups[i]);

		/* A busy pod is tried again later; report any other failure. */
		if (err && (!result || result == -EINPROGRESS))
			result = err;
	}
	for (uint32_t i = 0; i < watch->nr; i++) {
		if (watch->groups[i].generation == watch->generation)
			watch->groups[kept++] = watch->groups[i];
		else
			forget(watch, &watch->groups[i]);
	}
	watch->nr = kept;
	return result;
}

int watch_open(const struct dir *dir, sd_event *event, const struct groups_sink *sink,
	       struct watch **ret_watch)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int err;

	if (!watch)
		return -ENOMEM;
	watch->dir = dir;
	watch->sink = sink;
	watch->uevent_fd = -1;
	watch->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	err = watch->inotify_fd < 0
		      ? -errno
		      : sd_event_add_io(event, &watch->inotify_source, watch->inotify_fd, EPOLLIN,
					on_inotify, watch);
	if (err >= 0)
		err = sd_event_add_time_relative(event, &watch->pause, CLOCK_MONOTONIC, 0, 0,
						 on_pause_over, watch);
	if (err >= 0)
		err = sd_event_source_set_enabled(watch->pause, SD_EVENT_OFF);
	if (err >= 0)
		err = sd_event_add_time_relative(event, &watch->recheck, CLOCK_MONOTONIC,
						 RECHECK_USEC, 0, on_recheck, watch);
	if (err >= 0)
		err = open_uevents(watch, event);
	if (err < 0) {
		watch_close(watch);
		return log_err(err, "cgroup: cannot watch groups and CPUs");
	}
	*ret_watch = watch;
	return 0;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	sd_event_source_unref(watch->pause);
	sd_event_source_unref(watch->recheck);
	sd_event_source_unref(watch->inotify_source);
	sd_event_source_unref(watch->uevent_source);
	/* Closing the descriptor removes all its watches. */
	if (watch->inotify_fd >= 0)
		close(watch->inotify_fd);
	if (watch->uevent_fd >= 0)
		close(watch->uevent_fd);
	for (uint32_t i = 0; i < watch->nr; i++)
		free(watch->groups[i].path);
	free(watch->groups);
	free(watch);
}
