// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What the agent hears of CPUs that come and go, and what becomes of it when the kernel
 * cannot tell all: lost events, a group that is gone, no room for another watch. The
 * kernel's end of the socket of uevents is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "refused_calls.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include "cgroup/watch.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/log.h"

/* --- the kernel's end of the socket ----------------------------------------------------------- */

static int kernel_end = -1;
static uint32_t from_port, from_groups;
static int receive_error;

int socket(int domain, int type, int protocol)
{
	int ends[2];

	if (is_refused("socket", NULL))
		return -1;
	if (domain != AF_NETLINK)
		return LIBC(socket)(domain, type, protocol);
	assert_int_equal(protocol, NETLINK_KOBJECT_UEVENT);
	assert_true(type & SOCK_CLOEXEC && type & SOCK_NONBLOCK);
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -1;
	kernel_end = ends[1];
	return ends[0];
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	const struct sockaddr_nl *netlink = (const struct sockaddr_nl *)address;

	if (is_refused("bind", NULL))
		return -1;
	if (address->sa_family != AF_NETLINK)
		return LIBC(bind)(fd, address, len);
	/* The kernel's own events, not those that udev forwards. */
	assert_int_equal(netlink->nl_groups, 1);
	return 0;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct sockaddr_nl *from = message->msg_name;
	ssize_t len;

	/* The loop itself uses sockets, too; leave these alone. */
	if (!from || message->msg_namelen != sizeof(*from))
		return LIBC(recvmsg)(fd, message, flags);
	len = recv(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags);
	*from = (struct sockaddr_nl){
		.nl_family = AF_NETLINK, .nl_pid = from_port, .nl_groups = from_groups};
	/* After a success errno means nothing. */
	errno = ENOBUFS;
	if (!receive_error)
		return len;
	errno = receive_error;
	return -1;
}

/* --- time ------------------------------------------------------------------------------------- */

/* The timer of seconds, which a test lets run out when it wants. */
static sd_event_source *recheck;

int sd_event_add_time_relative(sd_event *event, sd_event_source **ret_source, clockid_t clock,
			       uint64_t usec, uint64_t accuracy, sd_event_time_handler_t handler,
			       void *data)
{
	int r = LIBC(sd_event_add_time_relative)(event, ret_source, clock, usec, accuracy, handler,
						 data);

	if (r >= 0 && usec >= 1000000)
		recheck = *ret_source;
	return r;
}

/* --- scene ------------------------------------------------------------------------------------ */

static struct groups *groups;
static struct groups_port port;
static sd_event *event;
static struct group_tree tree;

static unsigned int nr_hotplug, nr_changed, nr_of_containers, nr_populated;
static struct cpuset online;
static char changed_path[64], changed_file[64];

static void on_hotplug(void *self, const struct cpuset *now)
{
	assert_ptr_equal(self, &online);
	online = *now;
	nr_hotplug++;
}

static void on_changed(void *self, const char *path, const char *file)
{
	snprintf(changed_path, sizeof(changed_path), "%s", path);
	snprintf(changed_file, sizeof(changed_file), "%s", file);
	nr_changed++;
	nr_of_containers += !strcmp(path, "pinfold.slice/poda/c");
}

static void on_populated(void *self, const char *path, bool populated)
{
	nr_populated++;
}

static const struct groups_sink sink = {
	.self = &online, .hotplug = on_hotplug, .changed = on_changed, .populated = on_populated};

static int open_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	from_port = 0;
	from_groups = 1;
	receive_error = 0;
	nr_hotplug = nr_changed = nr_of_containers = nr_populated = 0;
	if (r)
		return r;
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	groups = open_fake(false);
	port = groups_port(groups);
	return sd_event_new(&event) < 0 ? -1 : 0;
}

static int open_watching(void **state)
{
	int r = open_scene(state);

	if (!r)
		r = port.read_tree(port.self, &tree);
	if (!r)
		r = groups_watch(groups, event, &sink);
	nr_hotplug = 0;
	return r ? r : port.rewatch(port.self, &tree);
}

static int close_scene(void **state)
{
	refuse_nothing();
	group_tree_fini(&tree);
	tree = (struct group_tree){0};
	groups_close(groups);
	sd_event_unref(event);
	event = NULL;
	if (kernel_end >= 0)
		close(kernel_end);
	kernel_end = -1;
	return tear_down(state);
}

/* Process all events and the pause after them. */
static void hear(void)
{
	while (sd_event_run(event, 50000) > 0)
		;
}

static void let_time_pass(void)
{
	int enabled = SD_EVENT_OFF;

	assert_non_null(recheck);
	assert_true(sd_event_source_get_enabled(recheck, &enabled) > 0);
	assert_true(sd_event_source_set_time_relative(recheck, 0) >= 0);
	hear();
}

static void say(const char *data, size_t len)
{
	assert_int_equal(send(kernel_end, data, len, 0), len);
	hear();
}

#define CPU_OFF "offline@/devices/system/cpu/cpu3"

/* --- CPUs ------------------------------------------------------------------------------------- */

static void kernel_reports_an_offline_cpu(void **state)
{
	static const char off[] = CPU_OFF "\0ACTION=offline";
	static const char other[] = "change@/devices/virtual/block/loop0";

	put("sys/devices/system/cpu/online", "0-2,4-15\n");
	say(other, sizeof(other));
	assert_int_equal(nr_hotplug, 0);
	say(off, sizeof(off));
	assert_int_equal(nr_hotplug, 1);
	assert_int_equal(cpuset_count(&online), 15);
	/* The event only triggers a read; the value reported comes from sysfs. */
	put("sys/devices/system/cpu/online", "0-15\n");
	say(off, sizeof(off));
	assert_int_equal(nr_hotplug, 2);
	assert_int_equal(cpuset_count(&online), 16);
	/* Without a terminating NUL it is not a name. */
	say(off, strlen(off));
	assert_int_equal(nr_hotplug, 2);
	say("", 0);
	assert_int_equal(nr_hotplug, 2);
}

static void other_senders_are_ignored(void **state)
{
	static const char off[] = CPU_OFF;

	from_port = 4711;
	say(off, sizeof(off));
	from_port = 0;
	from_groups = 2;
	say(off, sizeof(off));
	from_groups = 0;
	say(off, sizeof(off));
	assert_int_equal(nr_hotplug, 0);
	from_groups = 1;
	say(off, sizeof(off));
	assert_int_equal(nr_hotplug, 1);
}

static void lost_uevents_trigger_a_read(void **state)
{
	receive_error = ENOBUFS;
	say("x", 1);
	assert_int_equal(nr_hotplug, 1);
	/* Nothing was received, whatever the buffer has. */
	receive_error = EAGAIN;
	say(CPU_OFF, sizeof(CPU_OFF));
	assert_int_equal(nr_hotplug, 1);
}

static void unreadable_cpus_are_not_reported(void **state)
{
	static const char off[] = CPU_OFF;
	char path[128];

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", root);
	assert_int_equal(unlink(path), 0);
	say(off, sizeof(off));
	assert_int_equal(nr_hotplug, 0);
	put("sys/devices/system/cpu/online", "0\n");
	say(off, sizeof(off));
	assert_int_equal(nr_hotplug, 1);
	assert_int_equal(cpuset_count(&online), 1);
}

/* What was read before the socket was there may have changed in between. */
static void the_cpus_at_the_beginning_are_reported(void **state)
{
	put("sys/devices/system/cpu/online", "0-2,4-15\n");
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(nr_hotplug, 1);
	assert_int_equal(cpuset_count(&online), 15);
	assert_false(cpuset_has(&online, 3));
}

static void a_change_without_an_event_is_found_later(void **state)
{
	let_time_pass();
	assert_int_equal(nr_hotplug, 0);
	put("sys/devices/system/cpu/online", "0-2,4-15\n");
	let_time_pass();
	assert_int_equal(nr_hotplug, 1);
	assert_int_equal(cpuset_count(&online), 15);
	let_time_pass();
	assert_int_equal(nr_hotplug, 1);
}

static void cpus_that_could_not_be_read_are_reported_later(void **state)
{
	static const char off[] = CPU_OFF;
	char path[128];

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", root);
	assert_int_equal(unlink(path), 0);
	say(off, sizeof(off));
	let_time_pass();
	assert_int_equal(nr_hotplug, 0);
	put("sys/devices/system/cpu/online", "0-2,4-15\n");
	let_time_pass();
	assert_int_equal(nr_hotplug, 1);
	assert_int_equal(cpuset_count(&online), 15);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* More events than the kernel queues: everything is read again. */
static void lost_group_events_report_everything(void **state)
{
	char *text cleanup_free = NULL;
	char first[128], second[128];
	unsigned long nr;
	int fds[2];

	assert_int_equal(file_read_line(AT_FDCWD, "/proc/sys/fs/inotify/max_queued_events", &text),
			 0);
	nr = strtoul(text, NULL, 10);
	snprintf(first, sizeof(first), "%s/cg/pinfold.slice/cpu.max", root);
	snprintf(second, sizeof(second), "%s/cg/pinfold.slice/cpu.weight", root);
	fds[0] = open(first, O_WRONLY | O_CLOEXEC);
	fds[1] = open(second, O_WRONLY | O_CLOEXEC);
	/* Alternate between them, because two equal events would be merged. */
	for (unsigned long i = 0; i < nr + 10; i++)
		assert_int_equal(pwrite(fds[i % 2], "1\n", 2, 0), 2);
	close(fds[0]);
	close(fds[1]);
	hear();
	assert_in_range(nr_changed, nr, nr + 1);
	/* The last one. */
	assert_string_equal(changed_path, "");
	assert_string_equal(changed_file, "");
}

static void unreadable_group_is_not_reported(void **state)
{
	char path[128], aside[128], events[160];
	int fd;

	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda", root);
	snprintf(aside, sizeof(aside), "%s/aside", root);
	snprintf(events, sizeof(events), "%s/cgroup.events", path);
	/* An unchanged state is not reported. */
	put("cg/pinfold.slice/poda/cgroup.events", "populated 0\nfrozen 1\n");
	hear();
	assert_int_equal(nr_populated, 0);
	put("cg/pinfold.slice/poda/cgroup.events", "odd\n");
	hear();
	assert_int_equal(nr_populated, 0);
	fd = open(events, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(write(fd, "populated 1\n", 12), 12);
	hear();
	assert_int_equal(nr_populated, 0);
	/* It can be read again, and the next event reports what was missed. */
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(pwrite(fd, "populated 1\n", 12, 0), 12);
	hear();
	assert_int_equal(nr_populated, 1);
	/* Once. */
	assert_int_equal(pwrite(fd, "populated 1\n", 12, 0), 12);
	hear();
	assert_int_equal(nr_populated, 1);
	close(fd);
}

/* The watches of this process according to the kernel. */
static unsigned int nr_watches(void)
{
	unsigned int nr = 0;
	char path[64], line[512];

	for (int fd = 3; fd < 256; fd++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			nr += !strncmp(line, "inotify wd:", strlen("inotify wd:"));
		if (file)
			fclose(file);
	}
	return nr;
}

/* The first error is reported, and the other groups are still watched. */
static void exhausted_watches_are_reported(void **state)
{
	put_group("pinfold.slice/podb", "8-9\n", "8-9\n", false);
	put_group("pinfold.slice/podc", "8-9\n", "8-9\n", false);
	group_tree_fini(&tree);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 4);
	refuse_some("inotify_add_watch", NULL, ENOSPC, 0, 1);
	assert_int_equal(port.rewatch(port.self, &tree), -ENOSPC);
	refuse_nothing();
	put("cg/pinfold.slice/podc/cpu.max", "1\n");
	hear();
	assert_string_equal(changed_path, "pinfold.slice/podc");
	assert_string_equal(changed_file, "cpu.max");
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	/* A missing file cannot change. */
	put_group("pinfold.slice/podd", "8-9\n", "8-9\n", false);
	group_tree_fini(&tree);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	refuse("inotify_add_watch", NULL, ENOENT);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(nr_refused(), 11);
}

/* It is an error until all is watched, and then there is nothing left to do. */
static void exhausted_watches_are_asked_for_again(void **state)
{
	put_group("pinfold.slice/podb", "8-9\n", "8-9\n", false);
	group_tree_fini(&tree);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 3);
	refuse_some("inotify_add_watch", NULL, ENOSPC, 7, 0);
	assert_int_equal(port.rewatch(port.self, &tree), -ENOSPC);
	assert_int_equal(nr_watches(), 29);
	refuse("inotify_add_watch", NULL, ENOSPC);
	assert_int_equal(port.rewatch(port.self, &tree), -ENOSPC);
	assert_int_equal(nr_refused(), 4);
	refuse_nothing();
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(nr_watches(), 33);
	refuse("inotify_add_watch", NULL, ENOSPC);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(nr_refused(), 0);
}

static void unopenable_group_is_reported(void **state)
{
	refuse("openat2", "pinfold.slice", EMFILE);
	assert_int_equal(port.rewatch(port.self, &tree), -EMFILE);
	refuse("openat2", "pinfold.slice/poda", EMFILE);
	assert_int_equal(port.rewatch(port.self, &tree), -EMFILE);
	refuse("openat2", "pinfold.slice/poda", ENODEV);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	refuse("openat2", "pinfold.slice/poda", ENOENT);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	/* Of two errors the first is reported: this name is a file, too. */
	{
		char path[128], aside[128];

		snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda", root);
		snprintf(aside, sizeof(aside), "%s/aside", root);
		assert_int_equal(rename(path, aside), 0);
		put("cg/pinfold.slice/poda", "");
		refuse("openat2", "pinfold.slice", EMFILE);
		assert_int_equal(port.rewatch(port.self, &tree), -EMFILE);
		refuse_nothing();
		assert_int_equal(port.rewatch(port.self, &tree), -ENOTDIR);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rename(aside, path), 0);
		refuse("openat2", "pinfold.slice/poda", ENOENT);
		assert_int_equal(port.rewatch(port.self, &tree), 0);
		hear();
		nr_changed = 0;
	}
	/* A removed group is no longer watched. */
	refuse_nothing();
	put("cg/pinfold.slice/poda/cpu.max", "1\n");
	hear();
	assert_int_equal(nr_changed, 0);
}

/* A group that was recreated under an old name is a different group. */
static void recreated_group_is_watched_again(void **state)
{
	char path[128], aside[128];

	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda", root);
	snprintf(aside, sizeof(aside), "%s/aside", root);
	assert_int_equal(rename(path, aside), 0);
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", true);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	hear();
	nr_changed = 0;
	put("aside/cpu.max", "1\n");
	hear();
	assert_int_equal(nr_changed, 0);
	put("cg/pinfold.slice/poda/cpu.max", "1\n");
	hear();
	assert_true(nr_changed > 0);
	assert_string_equal(changed_path, "pinfold.slice/poda");
	/* Its current state was read when it was found, so it is not reported again. */
	put("cg/pinfold.slice/poda/cgroup.events", "populated 1\n");
	hear();
	assert_int_equal(nr_populated, 0);
}

/* The kernel does not rename cgroups, but makes another one with the number of an old one. */
static void a_group_with_an_old_number_has_its_own_path(void **state)
{
	char path[128], renamed[128];

	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda", root);
	snprintf(renamed, sizeof(renamed), "%s/cg/pinfold.slice/podz", root);
	assert_int_equal(rename(path, renamed), 0);
	group_tree_fini(&tree);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	hear();
	put("cg/pinfold.slice/podz/cpu.max", "1\n");
	hear();
	assert_string_equal(changed_path, "pinfold.slice/podz");
}

static void a_group_that_is_not_wanted_is_not_watched(void **state)
{
	unsigned int nr = nr_watches();

	assert_int_equal(tree.nr_groups, 2);
	group_tree_drop(&tree, "pinfold.slice/poda");
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(nr_watches(), nr / 2);
	group_tree_drop(&tree, "pinfold.slice");
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(nr_watches(), 0);
}

/* Changes inside a container, and reading it, are its own business. Its end is not. */
static void of_a_container_only_its_end_is_reported(void **state)
{
	char path[128], inner[192];

	put_group("pinfold.slice/poda/c", "4-7\n", "4-7\n", false);
	group_tree_fini(&tree);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 3);
	assert_int_equal(tree.groups[2].role, GROUP_CONTAINER);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	hear();
	nr_changed = 0;
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda/c", root);
	snprintf(inner, sizeof(inner), "%s/inner", path);
	assert_int_equal(mkdir(inner, 0755), 0);
	assert_int_equal(rmdir(inner), 0);
	hear();
	assert_int_equal(nr_changed, 0);
	assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	hear();
	/* It is gone, and it is no longer watched; its pod lost an entry. */
	assert_int_equal(nr_of_containers, 2);
	assert_int_equal(nr_changed, 3);
}

static void many_groups_are_watched(void **state)
{
	char path[64];

	for (unsigned int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "pinfold.slice/pod%02u", i);
		put_group(path, "4-7\n", "4-7\n", false);
	}
	group_tree_fini(&tree);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 42);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	hear();
	for (unsigned int i = 0; i < 40; i += 13) {
		snprintf(path, sizeof(path), "cg/pinfold.slice/pod%02u/memory.max", i);
		put(path, "1\n");
		hear();
		*strrchr(path, '/') = '\0';
		assert_string_equal(changed_path, path + strlen("cg/"));
		assert_string_equal(changed_file, "memory.max");
	}
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void what_cannot_be_watched_is_not_opened(void **state)
{
	static const char *const calls[] = {"inotify_init1", "socket", "bind"};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		refuse(calls[i], NULL, EMFILE);
		assert_int_equal(groups_watch(groups, event, &sink), -EMFILE);
		assert_int_equal(nr_refused(), 1);
		assert_null(groups->watch);
		if (kernel_end >= 0)
			close(kernel_end);
		kernel_end = -1;
	}
	refuse_nothing();
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_non_null(groups->watch);
}

static void what_is_closed_leaves_no_descriptor(void **state)
{
	unsigned int nr = nr_open();

	for (int i = 0; i < 2; i++) {
		assert_int_equal(groups_watch(groups, event, &sink), 0);
		assert_true(nr_open() > nr);
		groups_close(groups);
		close(kernel_end);
		kernel_end = -1;
		groups = open_fake(false);
		/* The event loop keeps what it opened for itself. */
		if (!i)
			nr = nr_open();
	}
	assert_int_equal(nr_open(), nr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_watching, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kernel_reports_an_offline_cpu),
		TEST(other_senders_are_ignored),
		TEST(lost_uevents_trigger_a_read),
		TEST(unreadable_cpus_are_not_reported),
		cmocka_unit_test_setup_teardown(the_cpus_at_the_beginning_are_reported, open_scene,
						close_scene),
		TEST(a_change_without_an_event_is_found_later),
		TEST(cpus_that_could_not_be_read_are_reported_later),
		TEST(lost_group_events_report_everything),
		TEST(unreadable_group_is_not_reported),
		TEST(exhausted_watches_are_reported),
		TEST(exhausted_watches_are_asked_for_again),
		TEST(unopenable_group_is_reported),
		TEST(recreated_group_is_watched_again),
		TEST(a_group_with_an_old_number_has_its_own_path),
		TEST(a_group_that_is_not_wanted_is_not_watched),
		TEST(of_a_container_only_its_end_is_reported),
		TEST(many_groups_are_watched),
		cmocka_unit_test_setup_teardown(what_is_closed_leaves_no_descriptor, open_scene,
						close_scene),
		cmocka_unit_test_setup_teardown(what_cannot_be_watched_is_not_opened, open_scene,
						close_scene),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
