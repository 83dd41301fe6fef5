// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What the cgroup room is asked while the answer waits in the kernel: one question of each kind
 * waits, what it found is told once, and who asks meanwhile is not kept waiting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cgroup/cpuset_writer.h"
#include "cgroup_jobs_scene.h"

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
	/* Who asks again gets what was found late, once. */
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), 0);
	assert_int_equal(nr, 0);
	assert_string_equal(scope, "machine.slice");
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

/* --- cpusets of others -------------------------------------------------------------------------- */

static int results[2];

static void note_results(void *self, const struct cpuset_write *rows, uint32_t nr)
{
	assert_int_equal(nr, 2);
	for (uint32_t i = 0; i < nr; i++)
		results[i] = rows[i].result;
}

static void fill(struct cpuset_write *row, const char *path)
{
	struct stat status;
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	assert_int_equal(stat(whole, &status), 0);
	*row = (struct cpuset_write){.cgroup_id = status.st_ino, .file = GROUP_CPUSET_CPUS};
	snprintf(row->path, sizeof(row->path), "%s", path);
	assert_int_equal(cpuset_parse("3", 1, &row->value), 0);
}

/* One is being written when nobody wants them any more. */
static void a_cancelled_pass_leaves_the_rest_alone(void **state)
{
	static const struct cpuset_sink listener = {NULL, note_results};
	const struct cpuset_writer_options options = {.groups = groups, .pool = groups->pool};
	struct cpuset_write *rows = calloc(2, sizeof(*rows));
	struct cpuset_writer *writer = NULL;
	struct cpuset_port writes;
	char text[8];
	int fd;

	assert_non_null(rows);
	assert_int_equal(cpuset_writer_open(&options, &writer), 0);
	cpuset_writer_listen(writer, &listener);
	writes = cpuset_writer_port(writer);
	put_pipe("pinfold.slice/poda/c/cpuset.cpus");
	fill(&rows[0], "pinfold.slice/poda/c");
	fill(&rows[1], "pinfold.slice/podb/c");
	results[0] = results[1] = 1;
	assert_int_equal(writes.write(writes.self, rows, 2), 0);
	/* From here on the first file is open. */
	fd = open_end("pinfold.slice/poda/c/cpuset.cpus", O_RDONLY);
	writes.cancel(writes.self);
	assert_int_equal(read(fd, text, sizeof(text)), 1);
	close(fd);
	give_to_read("pinfold.slice/poda/c/cpuset.cpus", "3\n");
	wait_for_jobs("/cpusets");
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], -ECANCELED);
	cpuset_writer_close(writer);
}

/* --- the look --------------------------------------------------------------------------------- */

static const char *cpus_of(const struct group_tree *tree, const char *path)
{
	const struct group *group = group_tree_find(tree, path);

	return group ? group->files[GROUP_CPUSET_CPUS] : NULL;
}

static void late_scan_is_fetched_once(void **state)
{
	struct group_tree tree cleanup_tree = {0};

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
	struct group_tree tree cleanup_tree = {0};

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
	struct group_tree tree cleanup_tree = {0};
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

/* Any cgroup has an id, below the workload root or not. */
static void cgroups_have_ids(void **state)
{
	struct group_status status;
	uint64_t id = 0, root_id = 0;

	worker_pool_set_grace(groups->pool, TO_THE_END);
	put_group("user.slice", "", "0-1\n", true);
	assert_int_equal(port.id_of(port.self, "user.slice", &id), 0);
	assert_int_equal(port.status(port.self, "user.slice", &status), 0);
	assert_true(id && id == status.cgroup_id);
	assert_int_equal(port.id_of(port.self, "", &root_id), 0);
	assert_true(root_id && root_id != id);
	assert_int_equal(port.id_of(port.self, "user.slice/none", &id), -ENOENT);
	assert_true(id == status.cgroup_id);
}

static void surroundings_come_from_the_last_scan(void **state)
{
	struct group_tree tree cleanup_tree = {0};
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
		static const char before[] = "untouched, and longer than the name";

		look_up_late(a, named);
		memcpy(text, before, sizeof(before));
		assert_int_equal(port.path_of(port.self, a, text, room),
				 room > strlen(named) ? 0 : -ENAMETOOLONG);
		assert_string_equal(text, room > strlen(named) ? named : before);
	}
	/* The sink is optional, and a name that nobody fetches is freed with the groups. */
	named = "pinfold.slice/poda";
	name_waits = true;
	for (int has_sink = 0; has_sink < 2; has_sink++) {
		groups->sink = has_sink ? &sink : NULL;
		worker_pool_set_grace(groups->pool, AT_ONCE);
		assert_int_equal(port.path_of(port.self, a, text, sizeof(text)), -EINPROGRESS);
		give_to_read("name", "");
		wait_for_jobs("/name");
		if (!has_sink)
			assert_int_equal(port.path_of(port.self, a, text, sizeof(text)), 0);
	}
	name_waits = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_one_task_list_waits),
		TEST(affinities_do_not_wait_for_a_list),
		TEST(a_cancelled_pass_leaves_the_rest_alone),
		TEST(only_one_outsider_count_waits),
		TEST(late_scan_is_fetched_once),
		TEST(late_scan_can_be_awaited),
		TEST(failed_scan_is_reported_and_repeated),
		TEST(cgroups_have_ids),
		TEST(surroundings_come_from_the_last_scan),
		TEST(late_name_is_fetched_once),
	};

	log_open("test", LOG_LEVEL_ERR);
	return RUN_AS_ROOT(tests);
}
