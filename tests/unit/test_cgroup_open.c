// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* What the options of groups_open lead to, and the names and directories that dir.c gives out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <time.h>

#include "cgroup/change.h"
#include "cgroup/dir.h"
#include "cgroup/status.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

#define LIBC(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

/* --- a kernel that answers as a test needs it ------------------------------------------------------ */

static int readlink_error;
static bool is_link_endless;
static int fdopendir_error;
static const char *handle_path; /* the directory that every id stands for, below the root */
static bool is_removed_at_once;
/* This text becomes that one when it is written. */
static const char *written, *stored;

ssize_t readlink(const char *path, char *target, size_t size)
{
	ssize_t len;

	if (readlink_error) {
		errno = readlink_error;
		return -1;
	}
	len = LIBC(readlink)(path, target, size);
	if (len < 0 || !is_link_endless)
		return len;
	/* readlink(2) cuts what has no room, and does not say so. */
	memset(target + len, 'x', size - (size_t)len);
	return (ssize_t)size;
}

DIR *fdopendir(int fd)
{
	if (!fdopendir_error)
		return LIBC(fdopendir)(fd);
	errno = fdopendir_error;
	return NULL;
}

int open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	char whole[256];
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", root, handle_path);
	fd = open(whole, flags);
	if (is_removed_at_once)
		assert_int_equal(rmdir(whole), 0);
	return fd;
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (!written || len != strlen(written) || memcmp(data, written, len))
		return LIBC(write)(fd, data, len);
	return LIBC(write)(fd, stored, strlen(stored)) < 0 ? -1 : (ssize_t)len;
}

static int open_scene(void **state)
{
	readlink_error = fdopendir_error = 0;
	is_link_endless = is_removed_at_once = false;
	written = NULL;
	return set_up(state);
}

/* --- directories and names ------------------------------------------------------------------------- */

static void open_dir(struct dir *dir)
{
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "";

	if (dir_open(root, DIR_TO_MANAGE, dir, &problem, error))
		fail_msg("%s", error);
	/* As on a real machine, whose root directory is "/". */
	assert_true((size_t)snprintf(dir->mount_path, sizeof(dir->mount_path), "%s/cg", root) <
		    sizeof(dir->mount_path));
}

static void a_directory_is_closed_once(void **state)
{
	const unsigned int nr = nr_open();
	struct dir dir = DIR_CLOSED;

	open_dir(&dir);
	assert_true(nr_open() > nr);
	dir_close(&dir);
	assert_int_equal(nr_open(), nr);
	assert_int_equal(dir.mount_fd, -1);
	assert_int_equal(dir.root_fd, -1);
	dir_close(&dir);
}

static void a_failure_leaves_nothing_open(void **state)
{
	struct dir dir = DIR_CLOSED;
	char error[GROUP_ERROR_MAX];
	DIR *entries = NULL;
	unsigned int nr;

	open_dir(&dir);
	nr = nr_open();
	fdopendir_error = ENOMEM;
	assert_int_equal(file_open_dir(dir.mount_fd, ".", &entries), -ENOMEM);
	assert_null(entries);
	assert_int_equal(nr_open(), nr);
	fdopendir_error = 0;
	assert_int_equal(file_open_dir(dir.mount_fd, ".", &entries), 0);
	closedir(entries);
	assert_int_equal(nr_open(), nr);
	/* Nor does it close what it has not opened. */
	assert_int_equal(change_write(&dir, "none", GROUP_CPU_WEIGHT, "7", error), -ENOENT);
	assert_int_equal(nr_open(), nr);
	dir_close(&dir);
}

/* The mark of a removed group may be all of a name. */
static void a_name_that_is_only_the_mark_is_compared(void **state)
{
	struct dir dir = DIR_CLOSED;
	struct stat info;
	char whole[128];

	open_dir(&dir);
	assert_int_equal(dir_check_name(&dir, " (deleted)", 7), -ENOENT);
	snprintf(whole, sizeof(whole), "%s/cg/ (deleted)", root);
	assert_int_equal(mkdir(whole, 0755), 0);
	assert_int_equal(stat(whole, &info), 0);
	assert_int_equal(dir_check_name(&dir, " (deleted)", info.st_ino + 1), -ENOENT);
	assert_int_equal(dir_check_name(&dir, " (deleted)", info.st_ino), 0);
	assert_int_equal(dir_check_name(&dir, "(deleted)", 7), 0);
	dir_close(&dir);
}

static void a_removed_group_has_no_name(void **state)
{
	char path[64] = "untouched", whole[128];
	struct dir dir = DIR_CLOSED;

	open_dir(&dir);
	handle_path = "cg/x";
	snprintf(whole, sizeof(whole), "%s/cg/x", root);
	assert_int_equal(mkdir(whole, 0755), 0);
	assert_int_equal(dir_path_of(&dir, 7, path, sizeof(path)), 0);
	assert_string_equal(path, "x");
	is_removed_at_once = true;
	assert_int_equal(dir_path_of(&dir, 7, path, sizeof(path)), -ENOENT);
	assert_string_equal(path, "x");
	dir_close(&dir);
}

static void a_name_that_cannot_be_read_is_an_error(void **state)
{
	char path[64] = "untouched";
	struct dir dir = DIR_CLOSED;

	open_dir(&dir);
	handle_path = "cg";
	readlink_error = EACCES;
	assert_int_equal(dir_path_of(&dir, 7, path, sizeof(path)), -EACCES);
	readlink_error = 0;
	/* A part of a name would be another name. */
	is_link_endless = true;
	assert_int_equal(dir_path_of(&dir, 7, path, sizeof(path)), -ENAMETOOLONG);
	assert_string_equal(path, "untouched");
	dir_close(&dir);
}

/* --- groups_open ------------------------------------------------------------------------------------ */

static void a_machine_without_cgroups_is_refused(void **state)
{
	struct groups_options options = {.root = root, .workload_root = "pinfold.slice"};
	enum dir_problem problem = DIR_FINE;
	char error[GROUP_ERROR_MAX] = "";
	struct groups *groups = NULL;

	put("proc/self/mountinfo", "30 25 0:26 / /cg rw - tmpfs tmpfs rw\n");
	assert_true(groups_open(&options, &groups, &problem, error) < 0);
	assert_int_not_equal(problem, DIR_FINE);
	assert_null(groups);
	assert_string_not_equal(error, "");
}

/* The mounts of a node with many containers, each with an overlay of 20 layers. */
static char *list_mounts(size_t min_bytes)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (unsigned int i = 0; len <= min_bytes; i++) {
		fprintf(out, "%u 29 0:%u / /run/%064x/rootfs rw shared:%u - overlay overlay rw", i,
			i, i, i);
		for (unsigned int layer = 0; layer < 20; layer++)
			fprintf(out, "%s/var/lib/snapshots/%u/fs",
				layer ? ":" : ",lowerdir=", i + layer);
		fputc('\n', out);
		fflush(out);
	}
	/* The last one counts as well. */
	fprintf(out, "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	fclose(out);
	return text;
}

static void a_node_with_many_mounts_is_opened(void **state)
{
	char *text cleanup_free = list_mounts(2U << 20);
	struct dir dir = DIR_CLOSED;

	put("proc/self/mountinfo", text);
	open_dir(&dir);
	dir_close(&dir);
}

/* The remedy is that of the cause. */
static void mounts_that_cannot_be_read_are_explained(void **state)
{
	struct dir dir = DIR_CLOSED;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "", path[128];

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	assert_int_equal(unlink(path), 0);
	expect_failure(-EIO, dir_open(root, DIR_TO_MANAGE, &dir, &problem, error), error,
		       "No such file or directory; is procfs mounted?");
	assert_int_equal(mkdir(path, 0755), 0);
	expect_failure(-EIO, dir_open(root, DIR_TO_MANAGE, &dir, &problem, error), error,
		       "cannot read /proc/self/mountinfo: Is a directory");
	assert_null(strstr(error, "procfs"));
	assert_int_equal(problem, DIR_UNREADABLE);
}

static unsigned int nr_looked;

static void on_looked(void *self)
{
	nr_looked++;
}

static void on_hotplug(void *self, const struct cpuset *online)
{
}

/* A look may block, so it is a job of the pool; the sink learns of its end. */
static void looks_are_jobs_of_the_pool(void **state)
{
	static const struct groups_sink sink = {.looked = on_looked, .hotplug = on_hotplug};
	struct groups_options options = {.root = root, .workload_root = "pinfold.slice"};
	const struct timespec pause = {.tv_nsec = 1000000};
	struct worker_pool *pool = NULL;
	sd_event *event = NULL;
	struct group_tree tree = {0};
	struct groups *groups = NULL;
	struct pollfd ended;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX];
	struct groups_port port;
	struct stat info;
	int r;

	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	assert_int_equal(worker_pool_new(1, &pool), 0);
	worker_pool_set_grace(pool, 1);
	options.pool = pool;
	options.wait_ns = UINT64_MAX;
	assert_int_equal(groups_open(&options, &groups, &problem, error), 0);
	assert_int_equal(sd_event_new(&event), 0);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	port = groups_port(groups);
	/* A fast thread may end in time, but not each time. */
	for (nr_looked = 0; !nr_looked;) {
		r = port.read_tree(port.self, &tree);
		if (r == -EINPROGRESS) {
			ended = (struct pollfd){.fd = worker_pool_fd(pool), .events = POLLIN};
			assert_int_equal(poll(&ended, 1, 600000), 1);
			worker_pool_dispatch(pool);
			r = port.read_tree(port.self, &tree);
		}
		assert_int_equal(r, 0);
		group_tree_fini(&tree);
	}
	assert_int_equal(worker_pool_free(pool), 0);
	while (!stat("/proc/self/task", &info) && info.st_nlink > 3)
		nanosleep(&pause, NULL);
	groups_close(groups);
	sd_event_unref(event);
}

/* The kernel rounds a limit down to pages, which is no difference. */
static void memory_limits_are_compared_by_pages(void **state)
{
	const long page_bytes = sysconf(_SC_PAGESIZE);
	char unaligned[32], aligned[32], error[GROUP_ERROR_MAX] = "";
	struct step step = {.kind = STEP_WRITE,
			    .role = GROUP_CONTAINER,
			    .file = GROUP_MEMORY_MAX,
			    .value = unaligned};
	struct groups *groups;
	struct groups_port port;

	if (geteuid())
		skip();
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/poda", "\n", "2-15\n", false);
	put_group("pinfold.slice/poda/c", "2-5\n", "2-5\n", false);
	groups = open_fake(true);
	port = groups_port(groups);
	snprintf(step.path, sizeof(step.path), "pinfold.slice/poda/c");
	snprintf(unaligned, sizeof(unaligned), "%ld", 3 * page_bytes + 5);
	snprintf(aligned, sizeof(aligned), "%ld", 3 * page_bytes);
	written = unaligned;
	stored = aligned;
	assert_int_equal(port.apply(port.self, &step, error), 0);
	assert_string_equal(get("cg/pinfold.slice/poda/c/memory.max"), aligned);
	/* A page less is one. */
	snprintf(aligned, sizeof(aligned), "%ld", 2 * page_bytes);
	assert_true(port.apply(port.self, &step, error) < 0);
	groups_close(groups);
}

/* What the kernel does not say is empty, not what somebody else had. */
static void a_status_has_what_is_in_force(void **state)
{
	struct groups *groups;
	struct group_status status;
	char cpus[32], mems[32];

	put_group("pinfold.slice", "2-15\n", "2-13\n", false);
	put("cg/pinfold.slice/cpuset.mems.effective", "0-1,3\n");
	groups = open_fake(false);
	assert_int_equal(groups_status(groups, "pinfold.slice", &status), 0);
	cpuset_format(&status.effective_cpus, cpus, sizeof(cpus));
	cpuset_format(&status.effective_mems, mems, sizeof(mems));
	assert_string_equal(cpus, "2-13");
	assert_string_equal(mems, "0-1,3");
	put("cg/pinfold.slice/cpuset.mems.effective", "not a list\n");
	assert_int_equal(groups_status(groups, "pinfold.slice", &status), 0);
	assert_true(cpuset_is_empty(&status.effective_mems));
	groups_close(groups);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_directory_is_closed_once),
		TEST(a_failure_leaves_nothing_open),
		TEST(a_name_that_is_only_the_mark_is_compared),
		TEST(a_removed_group_has_no_name),
		TEST(a_name_that_cannot_be_read_is_an_error),
		TEST(a_machine_without_cgroups_is_refused),
		TEST(a_node_with_many_mounts_is_opened),
		TEST(mounts_that_cannot_be_read_are_explained),
		TEST(looks_are_jobs_of_the_pool),
		TEST(memory_limits_are_compared_by_pages),
		TEST(a_status_has_what_is_in_force),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
