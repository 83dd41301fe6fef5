// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What the cgroup room does while a call of its own waits: a start does not wait with it, nor do
 * the other pods, and how it ended is told with what it was about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup_jobs_scene.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "cgroup/watch.h"

/* --- a start ------------------------------------------------------------------------------------ */

static int nr_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* The values are read once; any later start does without. */
static void a_start_does_not_wait_for_the_workload_root(void **state)
{
	struct groups_options options = {.root = root,
					 .workload_root = "pinfold.slice",
					 .layout = GROUPS_LAYOUT_CGROUPFS,
					 .may_write = true,
					 .wait_ns = 1000000,
					 .pool = groups->pool};
	char error[GROUP_ERROR_MAX] = "";
	enum dir_problem problem;
	struct groups *others = NULL;
	const int nr_before = nr_open_files();

	put_pipe("pinfold.slice/cpuset.mems");
	assert_int_equal(groups_open(&options, &others, &problem, error), -EBUSY);
	assert_non_null(strstr(error, "pinfold.slice: another process holds the lock"));
	/* The thread reads on below the directories of the start that gave up, and closes them. */
	assert_true(nr_open_files() >= nr_before + 2);
	options.without_originals = true;
	assert_int_equal(groups_open(&options, &others, &problem, error), 0);
	assert_int_equal(groups_originals(others)->nr, 0);
	groups_close(TAKE_PTR(others));
	/* The one that gave up finds its files again and is told to nobody. */
	give_to_read("pinfold.slice/cpuset.mems", "0-1\n");
	wait_for_jobs("/originals");
	assert_int_equal(nr_open_files(), nr_before);
	put_file("pinfold.slice/cpuset.mems", "0-1\n");
	options.without_originals = false;
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(groups_open(&options, &others, &problem, error), 0);
	assert_true(groups_originals(others)->nr > 1);
	groups_close(others);
	assert_int_equal(nr_completed, 0);
}

/* Give the reader of a pipe its text from another process, as soon as somebody reads. */
static pid_t give_from_aside(const char *path, const char *text)
{
	pid_t child = fork();

	if (!child) {
		/* A child that was forgotten ends by itself. */
		alarm(60);
		give_to_read(path, text);
		_exit(0);
	}
	return child;
}

/* Another agent's, which waits for original values until they come. */
static struct groups_options patient_start(void)
{
	return (struct groups_options){.root = root,
				       .workload_root = "pinfold.slice",
				       .layout = GROUPS_LAYOUT_CGROUPFS,
				       .wait_ns = TO_THE_END,
				       .pool = groups->pool};
}

static void a_start_waits_as_long_as_it_may(void **state)
{
	const struct groups_options options = patient_start();
	char error[GROUP_ERROR_MAX] = "";
	enum dir_problem problem;
	struct groups *others = NULL;
	pid_t child;

	put_pipe("pinfold.slice/cpuset.mems");
	child = give_from_aside("pinfold.slice/cpuset.mems", "0-1\n");
	assert_int_equal(groups_open(&options, &others, &problem, error), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(groups_originals(others)->nr, GROUP_FILE_NR);
	groups_close(others);
}

static void a_start_that_waits_can_be_stopped(void **state)
{
	const struct groups_options options = patient_start();
	char error[GROUP_ERROR_MAX] = "";
	enum dir_problem problem;
	struct groups *others = NULL;
	int stop[2];

	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	assert_int_equal(write(stop[1], "", 1), 1);
	worker_pool_set_stop(groups->pool, stop[0]);
	put_pipe("pinfold.slice/cpuset.mems");
	assert_int_equal(groups_open(&options, &others, &problem, error), -EINTR);
	/* The next one does not wait twice for the same. */
	assert_int_equal(groups_open(&options, &others, &problem, error), -EBUSY);
	assert_string_equal(error, "the original cgroup values are being read already");
	assert_null(others);
	give_to_read("pinfold.slice/cpuset.mems", "0-1\n");
	worker_pool_set_stop(groups->pool, -1);
	wait_for_jobs("/originals");
	close(stop[0]);
	close(stop[1]);
}

/* Half of the values would restore half of what was there. */
static void a_start_needs_all_original_values(void **state)
{
	const struct groups_options options = patient_start();
	char error[GROUP_ERROR_MAX] = "";
	enum dir_problem problem;
	struct groups *others = NULL;

	worker_pool_set_grace(groups->pool, TO_THE_END);
	refuse("openat", "cpuset.mems", EIO);
	assert_int_equal(groups_open(&options, &others, &problem, error), -EIO);
	assert_string_equal(error, "cannot read the original cgroup values: Input/output error");
	assert_null(others);
}

/* --- while a pod waits ------------------------------------------------------------------------ */

/* A job of poda that has opened its group and waits for the other end of a pipe in it. */
static void make_pod_wait(void)
{
	worker_pool_set_grace(groups->pool, AT_ONCE);
	put_pipe("pinfold.slice/poda/c/cgroup.kill");
	expect_call("openat", "cgroup.kill");
	assert_int_equal(port.kill(port.self, "pinfold.slice/poda/c"), -EINPROGRESS);
	await_call();
}

/* While a job is late the others have only a short grace period and may be late too. */
static int open_at_last(const char *path, int *ret_fd)
{
	int r;

	while ((r = jobs_open(groups, path, ret_fd)) == -EINPROGRESS)
		wait_for_jobs("/open");
	return r;
}

static void busy_pod_is_opened_from_the_cache_only(void **state)
{
	struct group_status status;
	int fd = -1;

	make_pod_wait();
	refuse("openat2", NULL, EAGAIN);
	assert_int_equal(jobs_open(groups, "pinfold.slice/poda", &fd), -EINPROGRESS);
	assert_int_equal(jobs_open(groups, "pinfold.slice/poda/c", &fd), -EINPROGRESS);
	assert_int_equal(port.status(port.self, "pinfold.slice/poda/c", &status), -EINPROGRESS);
	/* For a pod that is not busy, and for the root, an error is reported. */
	assert_int_equal(open_at_last("pinfold.slice/podb/c", &fd), -EAGAIN);
	assert_int_equal(open_at_last("pinfold.slice", &fd), -EAGAIN);
	refuse("openat2", NULL, ENOENT);
	assert_int_equal(jobs_open(groups, "pinfold.slice/poda/c", &fd), -ENOENT);
	assert_int_equal(fd, -1);
	refuse_nothing();
	assert_int_equal(jobs_open(groups, "pinfold.slice/podb/c", &fd), 0);
	close(fd);
	take_what_is_written("pinfold.slice/poda/c/cgroup.kill", "1");
	wait_for_jobs("pinfold.slice/poda");
	assert_string_equal(completed_path, "pinfold.slice/poda/c");
	assert_int_equal(jobs_open(groups, "pinfold.slice/poda/c", &fd), 0);
	close(fd);
}

/* As if every name had to be looked up by a thread, and none in time. */
static void open_late(const char *path)
{
	int fd = -1, r;

	/* With no time to spare it may be in time all the same. */
	do {
		refuse_some("openat2", path, EAGAIN, 0, 1);
		r = jobs_open(groups, path, &fd);
		cleanup_close_fd(&fd);
		fd = -1;
	} while (r != -EINPROGRESS);
	wait_for_jobs("/open");
}

static void a_late_open_is_for_who_asks_next(void **state)
{
	const unsigned int nr_before = nr_open();
	char error[GROUP_ERROR_MAX];
	struct stat info;
	int fd = -1;

	worker_pool_set_grace(groups->pool, AT_ONCE);
	open_late("pinfold.slice/poda");
	open_late("pinfold.slice/podb");
	assert_int_equal(nr_open(), nr_before + 2);
	assert_int_equal(nr_completed, 0);
	/* No thread is asked again. */
	refuse("openat2", NULL, EAGAIN);
	assert_int_equal(jobs_open(groups, "pinfold.slice/poda", &fd), 0);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_ino, inode_of("cg/pinfold.slice/poda"));
	cleanup_close_fd(&fd);
	assert_int_equal(nr_open(), nr_before + 1);
	/* Only once, as it is older each time. */
	fd = -1;
	assert_int_equal(open_at_last("pinfold.slice/poda", &fd), -EAGAIN);
	assert_int_equal(fd, -1);
	/* A step may change whether the group is there. */
	refuse_nothing();
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(
		port.apply(port.self,
			   &(struct step){.kind = STEP_CREATE, .path = "pinfold.slice/podb"},
			   error),
		0);
	assert_int_equal(nr_open(), nr_before);
}

static void a_late_open_of_what_has_gone_is_dropped(void **state)
{
	int fd = -1;

	worker_pool_set_grace(groups->pool, AT_ONCE);
	put_group("pinfold.slice/podc", "\n", "2-15\n", false);
	open_late("pinfold.slice/podc");
	assert_int_equal(unlinkat(groups->dir.mount_fd, "pinfold.slice/podc/cgroup.events", 0), 0);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	refuse_some("openat2", "pinfold.slice/podc", EAGAIN, 0, 1);
	assert_int_equal(jobs_open(groups, "pinfold.slice/podc", &fd), 0);
	assert_int_equal(nr_refused(), 1);
	cleanup_close_fd(&fd);
	/* That there is none is found out late as well. */
	worker_pool_set_grace(groups->pool, AT_ONCE);
	open_late("pinfold.slice/none");
	refuse("openat2", NULL, EAGAIN);
	assert_int_equal(jobs_open(groups, "pinfold.slice/none", &fd), -ENOENT);
}

/* Descriptors are few. */
static void the_oldest_late_opens_are_dropped(void **state)
{
	const unsigned int nr_before = nr_open();
	char path[64];

	worker_pool_set_grace(groups->pool, AT_ONCE);
	for (int i = 0; i < 70; i++) {
		snprintf(path, sizeof(path), "pinfold.slice/late%d", i);
		put_group(path, "\n", "2-15\n", false);
		open_late(path);
	}
	assert_int_equal(nr_open(), nr_before + 64);
}

/* A thread looks up what the kernel's cache does not have, and what it has opened is the result. */
static void a_name_that_is_not_cached_is_opened_in_time(void **state)
{
	struct stat info;
	int fd = -1;

	worker_pool_set_grace(groups->pool, TO_THE_END);
	refuse_some("openat2", "pinfold.slice/poda", EAGAIN, 0, 1);
	assert_int_equal(jobs_open(groups, "pinfold.slice/poda", &fd), 0);
	assert_int_equal(nr_refused(), 1);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_ino, inode_of("cg/pinfold.slice/poda"));
	close(fd);
}

static char changed[64];

static void on_changed(void *self, const char *path, const char *file)
{
	snprintf(changed, sizeof(changed), "%s/%s", path, file);
}

static void on_hotplug(void *self, const struct cpuset *online)
{
}

static void busy_pod_stays_watched(void **state)
{
	const struct groups_sink watching = {.self = &nr_completed,
					     .changed = on_changed,
					     .completed = on_completed,
					     .looked = on_looked,
					     .hotplug = on_hotplug};
	struct group_tree tree cleanup_tree = {0};
	sd_event *event = NULL;

	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(groups_watch(groups, event, &watching), 0);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	make_pod_wait();
	refuse("openat2", "pinfold.slice/poda/c", EAGAIN);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	assert_int_equal(nr_refused(), 1);
	refuse_nothing();
	put("cg/pinfold.slice/poda/c/memory.max", "1\n");
	for (int i = 0; i < 200 && !strstr(changed, "memory.max"); i++)
		sd_event_run(event, 50000);
	assert_string_equal(changed, "pinfold.slice/poda/c/memory.max");
	take_what_is_written("pinfold.slice/poda/c/cgroup.kill", "1");
	wait_for_jobs("pinfold.slice/poda");
	/* Its event sources must be freed before the loop. */
	watch_close(TAKE_PTR(groups->watch));
	sd_event_unref(event);
}

/* The groups of a busy pod that are new cannot be watched yet, but those beside it can. */
static void new_group_of_busy_pod_is_watched_later(void **state)
{
	const struct groups_sink watching = {.self = &nr_completed,
					     .changed = on_changed,
					     .completed = on_completed,
					     .looked = on_looked,
					     .hotplug = on_hotplug};
	struct group_tree tree cleanup_tree = {0};
	sd_event *event = NULL;

	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(groups_watch(groups, event, &watching), 0);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_non_null(group_tree_add(&tree, GROUP_CONTAINER, "pinfold.slice/poda/c"));
	make_pod_wait();
	refuse("openat2", "pinfold.slice/poda/c", EAGAIN);
	assert_int_equal(port.rewatch(port.self, &tree), -EINPROGRESS);
	/* Another group that can be watched does not hide that. */
	assert_non_null(group_tree_add(&tree, GROUP_POD, "pinfold.slice"));
	assert_int_equal(port.rewatch(port.self, &tree), -EINPROGRESS);
	/* An error that will not go away by itself counts more. */
	put("cg/pinfold.slice/file", "");
	assert_non_null(group_tree_add(&tree, GROUP_POD, "pinfold.slice/file"));
	assert_int_equal(port.rewatch(port.self, &tree), -ENOTDIR);
	group_tree_fini(&tree);
	tree = (struct group_tree){0};
	assert_non_null(group_tree_add(&tree, GROUP_CONTAINER, "pinfold.slice/poda/c"));
	refuse_nothing();
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	/* The only one that is watched, and busy again. */
	refuse("openat2", "pinfold.slice/poda/c", EAGAIN);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	refuse_nothing();
	take_what_is_written("pinfold.slice/poda/c/cgroup.kill", "1");
	wait_for_jobs("pinfold.slice/poda");
	watch_close(TAKE_PTR(groups->watch));
	sd_event_unref(event);
}

static void blocked_job_reports_where_it_waits(void **state)
{
	struct group_tree tree = {0};
	char text[64] = "x";

	port.waits_in(port.self, "pinfold.slice/poda/c", text, sizeof(text));
	assert_string_equal(text, "");
	put_pipe("pinfold.slice/poda/c/cgroup.kill");
	put("cg/pinfold.slice/podb/c/cgroup.kill", "");
	assert_int_equal(port.kill(port.self, "pinfold.slice/poda/c"), -EINPROGRESS);
	assert_int_equal(port.kill(port.self, "pinfold.slice/podb/c"), -EINPROGRESS);
	/* One thread, which the first job occupies. */
	port.waits_in(port.self, "pinfold.slice/podb/c", text, sizeof(text));
	assert_string_equal(text, "the queue of a thread pool of size 1");
	port.waits_in(port.self, "pinfold.slice/podb", text, sizeof(text));
	assert_string_equal(text, "the queue of a thread pool of size 1");
	port.waits_in(port.self, "pinfold.slice/podc", text, sizeof(text));
	assert_string_equal(text, "");
	port.waits_in(port.self, "", text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(port.read_tree(port.self, &tree), -EINPROGRESS);
	port.waits_in(port.self, "", text, sizeof(text));
	assert_string_equal(text, "the queue of a thread pool of size 1");
	take_what_is_written("pinfold.slice/poda/c/cgroup.kill", "1");
	wait_for_jobs("pinfold.slice/poda");
	wait_for_jobs("pinfold.slice/podb");
	wait_for_jobs("/scan");
	assert_string_equal(get("cg/pinfold.slice/podb/c/cgroup.kill"), "1");
}

/* --- what a job is given, and how it ends ----------------------------------------------------- */

static void late_failure_has_its_message(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	struct step step = {.kind = STEP_CREATE, .path = "pinfold.slice/none/x"};

	assert_int_equal(end_of(port.apply(port.self, &step, error), error), -ENOENT);
	assert_non_null(strstr(error, "pinfold.slice/none/x: cannot open its parent"));
	/* Submitted while the thread is busy, so it cannot have ended in time. */
	put_pipe("pinfold.slice/poda/c/cgroup.kill");
	assert_int_equal(port.kill(port.self, "pinfold.slice/poda/c"), -EINPROGRESS);
	assert_int_equal(port.kill(port.self, "pinfold.slice/none"), -EINPROGRESS);
	take_what_is_written("pinfold.slice/poda/c/cgroup.kill", "1");
	wait_for_jobs("pinfold.slice/poda");
	wait_for_jobs("pinfold.slice/none");
	assert_string_equal(completed_path, "pinfold.slice/none");
	assert_int_equal(completed_result, -ENOENT);
	assert_string_equal(completed_error,
			    "pinfold.slice/none: cannot kill its processes: No such "
			    "file or directory");
}

static void prompt_failure_has_its_message(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	struct step step = {.kind = STEP_CREATE, .path = "pinfold.slice/none/x"};

	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.apply(port.self, &step, error), -ENOENT);
	assert_non_null(strstr(error, "pinfold.slice/none/x: cannot open its parent"));
	assert_int_equal(port.kill(port.self, "pinfold.slice/none"), -ENOENT);
	assert_int_equal(port.join(port.self, "pinfold.slice/poda/c", 12, -1, error), -EBADF);
	assert_string_equal(error, "process 12: cannot duplicate its pidfd: Bad file descriptor");
	/* A step that succeeds leaves the message alone. */
	snprintf(error, sizeof(error), "untouched");
	step = (struct step){.kind = STEP_CREATE, .path = "pinfold.slice/podb/d"};
	assert_int_equal(port.apply(port.self, &step, error), 0);
	assert_string_equal(error, "untouched");
	assert_int_equal(nr_completed, 0);
}

/* The pid belongs to another process after the move, or the process has ended. */
static void process_replaced_during_its_move_is_reported(void **state)
{
	static const char stat[] = "%d (sh) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 1\n";
	char error[GROUP_ERROR_MAX] = "", name[64], text[128], pid_text[16];
	const unsigned int nr_before = nr_open();

	for (int ends = 0; ends < 2; ends++) {
		pid_t child = fork();
		int pidfd cleanup_close = -1;

		if (!child) {
			/* A child that was forgotten ends by itself. */
			alarm(60);
			for (;;)
				pause();
		}
		pidfd = (int)syscall(SYS_pidfd_open, child, 0);
		assert_true(pidfd >= 0);
		snprintf(name, sizeof(name), "proc/%d/stat", child);
		snprintf(text, sizeof(text), stat, child, 9);
		put(name, text);
		snprintf(name, sizeof(name), "proc/%d/cgroup", child);
		put(name, "0::/pinfold.slice/poda/c\n");
		put_pipe("pinfold.slice/poda/c/cgroup.procs");
		expect_call("openat", "cgroup.procs");
		assert_int_equal(port.join(port.self, "pinfold.slice/poda/c", child, pidfd, error),
				 -EINPROGRESS);
		await_call();
		if (ends) {
			assert_int_equal(kill(child, SIGKILL), 0);
			assert_int_equal(
				waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
		} else {
			snprintf(name, sizeof(name), "proc/%d/stat", child);
			snprintf(text, sizeof(text), stat, child, 10);
			put(name, text);
		}
		snprintf(pid_text, sizeof(pid_text), "%d", child);
		take_what_is_written("pinfold.slice/poda/c/cgroup.procs", pid_text);
		wait_for_jobs("pinfold.slice/poda");
		assert_int_equal(completed_result, -ESRCH);
		snprintf(text, sizeof(text),
			 "process %d ended while it was moved into pinfold.slice/poda/c", child);
		assert_string_equal(completed_error, text);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	assert_int_equal(nr_open(), nr_before);
}

/* The caller may reuse its step and descriptor immediately. */
static void job_owns_its_input(void **state)
{
	struct step step = {
		.kind = STEP_WRITE, .file = GROUP_CPU_WEIGHT, .path = "pinfold.slice/poda/c"};
	char error[GROUP_ERROR_MAX] = "", value[8] = "777";

	put_pipe("pinfold.slice/poda/c/cpu.weight");
	step.value = value;
	assert_int_equal(port.apply(port.self, &step, error), -EINPROGRESS);
	snprintf(value, sizeof(value), "111");
	snprintf(step.path, sizeof(step.path), "elsewhere");
	take_what_is_written("pinfold.slice/poda/c/cpu.weight", "777");
	/* It reads the kernel's value back. */
	give_to_read("pinfold.slice/poda/c/cpu.weight", "778\n");
	wait_for_jobs("pinfold.slice/poda");
	assert_string_equal(completed_path, "pinfold.slice/poda/c");
	assert_int_equal(completed_result, -EREMOTEIO);
	assert_non_null(strstr(completed_error, "wrote '777', but the kernel has '778'"));
}

static void sink_is_optional(void **state)
{
	struct group_tree tree cleanup_tree = {0};

	groups->sink = NULL;
	put_pipe("pinfold.slice/poda/c/cgroup.kill");
	put_pipe("pinfold.slice/podb/c/cpu.max");
	assert_int_equal(port.kill(port.self, "pinfold.slice/poda/c"), -EINPROGRESS);
	assert_int_equal(port.read_tree(port.self, &tree), -EINPROGRESS);
	take_what_is_written("pinfold.slice/poda/c/cgroup.kill", "1");
	give_to_read("pinfold.slice/podb/c/cpu.max", "max 100000\n");
	wait_for_jobs("pinfold.slice/poda");
	wait_for_jobs("/scan");
	assert_int_equal(nr_completed + nr_looked, 0);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_non_null(group_tree_find(&tree, "pinfold.slice/podb/c"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_start_does_not_wait_for_the_workload_root),
		TEST(a_start_waits_as_long_as_it_may),
		TEST(a_start_that_waits_can_be_stopped),
		TEST(a_start_needs_all_original_values),
		TEST(busy_pod_is_opened_from_the_cache_only),
		TEST(a_name_that_is_not_cached_is_opened_in_time),
		TEST(a_late_open_is_for_who_asks_next),
		TEST(a_late_open_of_what_has_gone_is_dropped),
		TEST(the_oldest_late_opens_are_dropped),
		TEST(busy_pod_stays_watched),
		TEST(new_group_of_busy_pod_is_watched_later),
		ONE_THREAD(blocked_job_reports_where_it_waits),
		ONE_THREAD(late_failure_has_its_message),
		TEST(prompt_failure_has_its_message),
		TEST(process_replaced_during_its_move_is_reported),
		TEST(job_owns_its_input),
		TEST(sink_is_optional),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
