// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What the cgroup room does while a call of its own waits: one of each kind waits, what it
 * found is told once, and who asks meanwhile is not kept waiting. A pipe in the place of a
 * file makes whoever opens it wait for the other end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "refused_calls.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "cgroup/jobs.h"
#include "cgroup/watch.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

#define AT_ONCE 1ULL
/* A grace period that is long enough for every job that must not be late in a test. */
#define TO_THE_END (600ULL * 1000000000)

static struct groups *groups;
static struct groups_port port;

static char completed_path[GROUP_PATH_MAX], completed_error[GROUP_ERROR_MAX];
static int completed_result;
static unsigned int nr_completed, nr_looked;

static void on_completed(void *self, const char *path, int result, const char *error)
{
	assert_ptr_equal(self, &nr_completed);
	snprintf(completed_path, sizeof(completed_path), "%s", path);
	snprintf(completed_error, sizeof(completed_error), "%s", error);
	completed_result = result;
	nr_completed++;
}

static void on_looked(void *self)
{
	nr_looked++;
}

static const struct groups_sink sink = {
	.self = &nr_completed, .completed = on_completed, .looked = on_looked};

static int open_with_threads(unsigned int nr_threads)
{
	put_group("pinfold.slice", "2-15\n", "2-15\n", true);
	put_group("pinfold.slice/poda", "\n", "2-15\n", true);
	put_group("pinfold.slice/poda/c", "2-5\n", "2-5\n", true);
	put_group("pinfold.slice/podb", "\n", "2-15\n", true);
	put_group("pinfold.slice/podb/c", "6-7\n", "6-7\n", true);
	groups = open_fake(true);
	port = groups_port(groups);
	groups->sink = &sink;
	nr_completed = nr_looked = 0;
	*completed_path = '\0';
	if (worker_pool_new(nr_threads, &groups->pool))
		return -1;
	worker_pool_set_grace(groups->pool, AT_ONCE);
	return 0;
}

static int open_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	return r || geteuid() ? r : open_with_threads(4);
}

static int open_narrow_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	return r || geteuid() ? r : open_with_threads(1);
}

/* They end on their own, and the last one closes what the pool had open. */
static void wait_for_threads(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct stat info = {0};

	/* Its directory has two links and one for each thread, of which one is the test. */
	while (!stat("/proc/self/task", &info) && info.st_nlink > 3)
		nanosleep(&pause, NULL);
	assert_int_equal(info.st_nlink, 3);
}

static int close_scene(void **state)
{
	refuse_nothing();
	assert_int_equal(worker_pool_free(TAKE_PTR(groups->pool)), 0);
	wait_for_threads();
	groups_close(groups);
	groups = NULL;
	return tear_down(state);
}

/* Replace the file below the mount with a pipe. */
static void put_pipe(const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	unlink(whole);
	assert_int_equal(mkfifo(whole, 0600), 0);
}

/* Replace a pipe with a file. */
static void put_file(const char *path, const char *text)
{
	char whole[512], name[512];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	unlink(whole);
	snprintf(name, sizeof(name), "cg/%s", path);
	put(name, text);
}

/* Open the other end; returns when both ends are open. */
static int open_end(const char *path, int flags)
{
	char whole[512];
	int fd;

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	fd = open(whole, flags | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void take_what_is_written(const char *path, const char *wanted)
{
	int fd cleanup_close = open_end(path, O_RDONLY);
	char text[64] = "";

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, wanted);
}

static void give_to_read(const char *path, const char *text)
{
	int fd cleanup_close = open_end(path, O_WRONLY);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void dispatch(void)
{
	struct pollfd poll_fd = {.fd = worker_pool_fd(groups->pool), .events = POLLIN};

	assert_int_equal(poll(&poll_fd, 1, 600000), 1);
	worker_pool_dispatch(groups->pool);
}

static void wait_for_jobs(const char *key)
{
	while (worker_is_busy(groups->pool, key))
		dispatch();
}

/* The result of an operation that may have ended in time. */
static int end_of(int r, char *error)
{
	unsigned int nr_before = nr_completed;

	if (r != -EINPROGRESS)
		return r;
	while (nr_completed == nr_before)
		dispatch();
	memcpy(error, completed_error, GROUP_ERROR_MAX);
	return completed_result;
}

/* --- a start ------------------------------------------------------------------------------------ */

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

	put_pipe("pinfold.slice/cpuset.mems");
	assert_int_equal(groups_open(&options, &others, &problem, error), -EBUSY);
	assert_non_null(strstr(error, "pinfold.slice: another process holds the lock"));
	options.without_originals = true;
	assert_int_equal(groups_open(&options, &others, &problem, error), 0);
	assert_int_equal(groups_originals(others)->nr, 0);
	groups_close(TAKE_PTR(others));
	/* The one that gave up finds its files again and is told to nobody. */
	give_to_read("pinfold.slice/cpuset.mems", "0-1\n");
	wait_for_jobs("/originals");
	put_file("pinfold.slice/cpuset.mems", "0-1\n");
	options.without_originals = false;
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(groups_open(&options, &others, &problem, error), 0);
	assert_true(groups_originals(others)->nr > 1);
	groups_close(others);
	assert_int_equal(nr_completed, 0);
}

/* --- lists of processes ----------------------------------------------------------------------- */

static void affinities_do_not_wait_for_a_list(void **state)
{
	struct affinities found = {.nr_tasks = 99};

	put("cg/pinfold.slice/podb/c/cgroup.threads", "");
	put_pipe("pinfold.slice/poda/c/cgroup.threads");
	assert_int_equal(port.affinities(port.self, "pinfold.slice/poda/c", &found), -EINPROGRESS);
	/* One waits; nobody else does meanwhile. */
	assert_int_equal(port.affinities(port.self, "pinfold.slice/podb/c", &found), -EINPROGRESS);
	assert_int_equal(found.nr_tasks, 99);
	give_to_read("pinfold.slice/poda/c/cgroup.threads", "");
	dispatch();
	assert_int_equal(found.nr_tasks, 99);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.affinities(port.self, "pinfold.slice/podb/c", &found), 0);
	assert_int_equal(found.nr_tasks, 0);
}

static void only_one_task_list_waits(void **state)
{
	pid_t *pids = NULL;
	uint32_t nr = 99;

	put("cg/pinfold.slice/podb/c/cgroup.procs", "21\n22\n");
	put_pipe("pinfold.slice/poda/c/cgroup.procs");
	assert_int_equal(port.tasks(port.self, "pinfold.slice/poda/c", &pids, &nr), -EINPROGRESS);
	/* Another request, even for another group, does not start a second job. */
	assert_int_equal(port.tasks(port.self, "pinfold.slice/poda/c", &pids, &nr), -EINPROGRESS);
	assert_int_equal(port.tasks(port.self, "pinfold.slice/podb/c", &pids, &nr), -EINPROGRESS);
	assert_null(pids);
	assert_int_equal(nr, 99);
	give_to_read("pinfold.slice/poda/c/cgroup.procs", "11\n");
	dispatch();
	assert_false(worker_is_busy(groups->pool, "/tasks"));
	/* The late result is discarded; the next request starts again. */
	assert_int_equal(nr_completed, 0);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.tasks(port.self, "pinfold.slice/podb/c", &pids, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(pids[0], 21);
	assert_int_equal(pids[1], 22);
	free(pids);
	pids = NULL;
	assert_int_equal(port.tasks(port.self, "pinfold.slice/none", &pids, &nr), -ENOENT);
	assert_null(pids);
	assert_int_equal(nr, 2);
}

static void only_one_outsider_count_waits(void **state)
{
	char scope[64] = "untouched";
	uint32_t nr = 99;

	put("proc/31/stat", "31 (sh) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n");
	put_group("machine.slice", "", "0-15\n", true);
	put_pipe("cgroup.procs");
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), -EINPROGRESS);
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), -EINPROGRESS);
	assert_int_equal(nr, 99);
	assert_string_equal(scope, "untouched");
	give_to_read("cgroup.procs", "");
	dispatch();
	assert_false(worker_is_busy(groups->pool, "/outsiders"));
	assert_int_equal(unlinkat(groups->dir.mount_fd, "cgroup.procs", 0), 0);
	put("cg/cgroup.procs", "31\n");
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), 0);
	assert_int_equal(nr, 1);
	assert_string_equal(scope, "machine.slice");
	/* An unreadable list is an error and must not be reported as empty. */
	nr = 99;
	refuse("openat", "cgroup.procs", EIO);
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), -EIO);
	assert_int_equal(nr, 99);
}

/* --- the look --------------------------------------------------------------------------------- */

static const char *cpus_of(const struct group_tree *tree, const char *path)
{
	const struct group *group = group_tree_find(tree, path);

	return group ? group->files[GROUP_CPUSET_CPUS] : NULL;
}

static void late_scan_is_fetched_once(void **state)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};

	put_pipe("pinfold.slice/poda/c/cpu.max");
	assert_int_equal(port.read_tree(port.self, &tree), -EINPROGRESS);
	assert_int_equal(port.read_tree(port.self, &tree), -EINPROGRESS);
	assert_int_equal(tree.nr_groups, 0);
	give_to_read("pinfold.slice/poda/c/cpu.max", "5000 100000\n");
	wait_for_jobs("/scan");
	assert_int_equal(nr_looked, 1);
	/* Its result is returned without another scan. */
	put("cg/pinfold.slice/podb/c/cpuset.cpus", "8-9\n");
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 5);
	assert_string_equal(cpus_of(&tree, "pinfold.slice/podb/c"), "6-7");
	assert_string_equal(group_tree_find(&tree, "pinfold.slice/poda/c")->files[GROUP_CPU_MAX],
			    "5000 100000");
	group_tree_fini(&tree);
	tree = (struct group_tree){0};
	/* Only once: the next call scans again. */
	assert_int_equal(unlinkat(groups->dir.mount_fd, "pinfold.slice/poda/c/cpu.max", 0), 0);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_string_equal(cpus_of(&tree, "pinfold.slice/podb/c"), "8-9");
	assert_int_equal(nr_looked, 1);
}

static void late_scan_can_be_awaited(void **state)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};

	put_pipe("pinfold.slice/poda/c/cpu.max");
	assert_int_equal(port.read_tree(port.self, &tree), -EINPROGRESS);
	assert_int_equal(port.await_tree(port.self, 1000000), -ETIMEDOUT);
	assert_int_equal(port.read_tree(port.self, &tree), -EINPROGRESS);
	give_to_read("pinfold.slice/poda/c/cpu.max", "5000 100000\n");
	assert_int_equal(port.await_tree(port.self, TO_THE_END), 0);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_string_equal(group_tree_find(&tree, "pinfold.slice/poda/c")->files[GROUP_CPU_MAX],
			    "5000 100000");
}

static void failed_scan_is_reported_and_repeated(void **state)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
	struct managed_group around[4];
	uint32_t nr = 99;

	worker_pool_set_grace(groups->pool, TO_THE_END);
	refuse("openat", ".", EMFILE);
	assert_int_equal(port.read_tree(port.self, &tree), -EMFILE);
	assert_int_equal(tree.nr_groups, 0);
	/* The surroundings are not known either. */
	assert_int_equal(port.surroundings(port.self, around, 4, &nr), 0);
	assert_int_equal(nr, 0);
	refuse_nothing();
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	assert_int_equal(tree.nr_groups, 5);
	assert_int_equal(port.surroundings(port.self, around, 4, &nr), 0);
	assert_int_equal(nr, 1);
}

static void surroundings_come_from_the_last_scan(void **state)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
	struct managed_group around[4];
	uint32_t nr = 0;

	/* Without a scan they are read directly. */
	assert_int_equal(port.surroundings(port.self, around, 4, &nr), 0);
	assert_int_equal(nr, 1);
	put_group("system.slice", "", "0-1\n", true);
	put_group("user.slice", "", "0-1\n", true);
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	put_group("later.slice", "", "0-1\n", true);
	memset(around, 0, sizeof(around));
	assert_int_equal(port.surroundings(port.self, around, 4, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(around[0].scope, MANAGED_SELF);
	assert_int_equal(around[2].scope, MANAGED_OVERLAP);
	assert_true(around[2].cgroup_id != 0);
	assert_int_equal(around[3].cgroup_id, 0);
	memset(around, 0, sizeof(around));
	assert_int_equal(port.surroundings(port.self, around, 2, &nr), 0);
	assert_int_equal(nr, 2);
	assert_true(around[1].cgroup_id != 0);
	assert_int_equal(around[2].cgroup_id, 0);
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *named; /* the group that has any id; NULL = there is none any more */
static bool name_waits;	  /* for somebody to write to a pipe */
static unsigned int nr_named;

/* Only cgroups are opened by their id. */
int open_by_handle_at(int fd, struct file_handle *wanted, int flags)
{
	char whole[512];

	if (name_waits)
		close(open_end("name", O_RDONLY));
	snprintf(whole, sizeof(whole), "%s/cg/%s", root, named ? named : "");
	errno = ESTALE;
	return named ? open(whole, flags) : -1;
}

static void on_named(void *self)
{
	assert_ptr_equal(self, &nr_completed);
	nr_named++;
}

static uint64_t id_of(const char *path)
{
	char whole[512];
	struct stat info;

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	assert_int_equal(stat(whole, &info), 0);
	return info.st_ino;
}

/* Looks one up that waits; the answer is kept until it is asked for. */
static void look_up_late(uint64_t id, const char *path)
{
	char text[64] = "untouched";
	const unsigned int nr_before = nr_named;

	named = path;
	name_waits = true;
	worker_pool_set_grace(groups->pool, AT_ONCE);
	assert_int_equal(port.path_of(port.self, id, text, sizeof(text)), -EINPROGRESS);
	/* Another request, even for another name, starts no second job. */
	assert_int_equal(port.path_of(port.self, id, text, sizeof(text)), -EINPROGRESS);
	assert_int_equal(port.path_of(port.self, id + 1, text, sizeof(text)), -EINPROGRESS);
	give_to_read("name", "");
	wait_for_jobs("/name");
	name_waits = false;
	worker_pool_set_grace(groups->pool, TO_THE_END);
	assert_int_equal(nr_named, nr_before + 1);
	assert_string_equal(text, "untouched");
}

static void late_name_is_fetched_once(void **state)
{
	const struct groups_sink with_names = {.self = &nr_completed, .named = on_named};
	char text[64] = "untouched", whole[128];
	uint64_t a, b;

	/* As on a machine, where the movable root is the root. */
	snprintf(whole, sizeof(whole), "%s/cg", root);
	memcpy(groups->dir.mount_path, whole, sizeof(whole));
	put_pipe("name");
	groups->sink = &with_names;
	a = id_of("pinfold.slice/poda");
	b = id_of("pinfold.slice/podb");
	look_up_late(a, "pinfold.slice/poda");
	/* Another is looked up at once meanwhile, and changes nothing of it. */
	named = "pinfold.slice/podb";
	assert_int_equal(port.path_of(port.self, b, text, sizeof(text)), 0);
	assert_string_equal(text, "pinfold.slice/podb");
	named = NULL;
	assert_int_equal(port.path_of(port.self, a, text, sizeof(text)), 0);
	assert_string_equal(text, "pinfold.slice/poda");
	assert_int_equal(port.path_of(port.self, a, text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "pinfold.slice/poda");
	/* So is an error, and a name that has no room. */
	look_up_late(a, NULL);
	named = "pinfold.slice/poda";
	assert_int_equal(port.path_of(port.self, a, text, sizeof(text)), -ENOENT);
	for (size_t room = strlen(named); room <= strlen(named) + 1; room++) {
		snprintf(text, sizeof(text), "untouched");
		look_up_late(a, named);
		assert_int_equal(port.path_of(port.self, a, text, room),
				 room > strlen(named) ? 0 : -ENAMETOOLONG);
		assert_string_equal(text, room > strlen(named) ? named : "untouched");
	}
	/* The sink is optional, and a name that nobody fetches is freed with the groups. */
	groups->sink = &sink;
	named = "pinfold.slice/poda";
	name_waits = true;
	worker_pool_set_grace(groups->pool, AT_ONCE);
	assert_int_equal(port.path_of(port.self, a, text, sizeof(text)), -EINPROGRESS);
	give_to_read("name", "");
	wait_for_jobs("/name");
	name_waits = false;
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

/* What a thread has opened too late is in the kernel's cache, and of no other use. */
static void late_open_leaves_nothing_behind(void **state)
{
	const unsigned int nr_before = nr_open();
	int fd = -1, r;

	/* With no time to spare it may be in time all the same. */
	do {
		refuse_some("openat2", "pinfold.slice/poda", EAGAIN, 0, 1);
		r = jobs_open(groups, "pinfold.slice/poda", &fd);
		cleanup_close_fd(&fd);
		fd = -1;
	} while (!r);
	assert_int_equal(r, -EINPROGRESS);
	/* One at a time. */
	refuse_some("openat2", "pinfold.slice/podb", EAGAIN, 0, 1);
	assert_int_equal(jobs_open(groups, "pinfold.slice/podb", &fd), -EINPROGRESS);
	wait_for_jobs("/open");
	assert_int_equal(fd, -1);
	assert_int_equal(nr_open(), nr_before);
	assert_int_equal(nr_completed, 0);
}

static char changed[64];

static void on_changed(void *self, const char *path, const char *file)
{
	snprintf(changed, sizeof(changed), "%s/%s", path, file);
}

static void busy_pod_stays_watched(void **state)
{
	const struct groups_sink watching = {.self = &nr_completed,
					     .changed = on_changed,
					     .completed = on_completed,
					     .looked = on_looked};
	struct group_tree tree cleanup(group_tree_fini) = {0};
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
					     .looked = on_looked};
	struct group_tree tree cleanup(group_tree_fini) = {0};
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
	struct group_tree tree cleanup(group_tree_fini) = {0};

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

#define TEST(name)	 cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
#define ONE_THREAD(name) cmocka_unit_test_setup_teardown(name, open_narrow_scene, close_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_start_does_not_wait_for_the_workload_root),
		TEST(only_one_task_list_waits),
		TEST(affinities_do_not_wait_for_a_list),
		TEST(only_one_outsider_count_waits),
		TEST(late_scan_is_fetched_once),
		TEST(late_scan_can_be_awaited),
		TEST(failed_scan_is_reported_and_repeated),
		TEST(surroundings_come_from_the_last_scan),
		TEST(late_name_is_fetched_once),
		TEST(busy_pod_is_opened_from_the_cache_only),
		TEST(late_open_leaves_nothing_behind),
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
	/* The room refuses to write for anybody except root, whatever the directory. */
	return _cmocka_run_group_tests("tests", tests, geteuid() ? 0 : ARRAY_SIZE(tests), NULL,
				       NULL);
}
