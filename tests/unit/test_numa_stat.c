// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Reading memory.numa_stat of cgroups: what is known of those that are there, and of others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup/numa_stat.h"
#include "cgroup_scene.h"
#include "lib/worker.h"

#define FILES "file N0=0\nkernel_stack N0=0\nslab_reclaimable N0=0\nslab_unreclaimable N0=0\n"

static struct topology *topology;
static struct groups *groups;
static struct worker_pool *pool; /* NULL = passes run on the test's thread */
static struct numa_stat *stat_reader;
static int nr_passes;
static int errors[4];
static uint64_t anon_bytes[4], hugetlb_bytes[4];
static bool has_hugetlb[4];

static void sampled(void *self, int result, struct resident_report *report)
{
	assert_int_equal(result, 0);
	assert_in_range(report->nr, 0, 4);
	for (uint32_t i = 0; i < report->nr; i++) {
		errors[i] = report->rows[i].error;
		anon_bytes[i] = report->rows[i].nodes[0].bytes[MEMORY_ANON];
		hugetlb_bytes[i] = report->rows[i].nodes[0].hugetlb_bytes;
		has_hugetlb[i] = report->rows[i].has_hugetlb;
	}
	nr_passes++;
}

static const struct resident_sink sink = {NULL, sampled};

static int set_up_nodes(void **state, uint32_t nr)
{
	const struct topology_cpu cpu = {0};
	const struct topology_node node = {
		.memory_bytes = 4ULL << 30,
		.nr_hugepages = 2,
		.hugepages = {{.size_bytes = 2 << 20}, {.size_bytes = 1 << 30}},
	};
	struct topology_node nodes[] = {node, node};
	const struct topology_facts facts = {
		.cpus = &cpu, .nr_cpus = 1, .nodes = nodes, .nr_nodes = nr, TOPOLOGY_COUNT_ALL};
	const struct groups_options options = {
		.root = root, .workload_root = "pinfold.slice", .layout = GROUPS_LAYOUT_CGROUPFS};
	struct numa_stat_options reader = {0};
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX];

	/* The first of two nodes has no pages of the larger size. */
	nodes[0].nr_hugepages = nr == 1 ? 2 : 1;
	nodes[1].id = 1;
	if (set_up(state) || topology_new(&facts, error, sizeof(error), &topology) ||
	    groups_open(&options, &groups, &problem, error))
		return -1;
	reader.groups = groups;
	reader.topology = topology;
	reader.pool = pool;
	nr_passes = 0;
	return numa_stat_open(&reader, &stat_reader);
}

static int set_up_reader(void **state)
{
	return set_up_nodes(state, 1);
}

static int set_up_two_nodes(void **state)
{
	return set_up_nodes(state, 2);
}

static int tear_down_reader(void **state)
{
	numa_stat_close(stat_reader);
	groups_close(groups);
	topology_free(topology);
	return tear_down(state);
}

static int set_up_threaded(void **state)
{
	if (worker_pool_new(1, &pool))
		return -1;
	worker_pool_set_grace(pool, 1);
	return set_up_reader(state);
}

static int tear_down_threaded(void **state)
{
	unsigned int nr_blocked = worker_pool_free(TAKE_PTR(pool));

	return tear_down_reader(state) || nr_blocked ? -1 : 0;
}

static void each_cgroup_is_read_for_itself(void **state)
{
	static const char *const paths[] = {"pods/one", "pods/two", "pods/gone", "pods/odd"};
	struct resident_port port = numa_stat_port(stat_reader);

	(void)state;
	put("cg/pods/one/memory.numa_stat", "anon N0=4096\n" FILES);
	put("cg/pods/two/cgroup.procs", "");
	put("cg/pods/odd/memory.numa_stat", "anon N7=4096\n" FILES);
	put("cg/pods/odd/hugetlb.2MB.numa_stat", "total=4194304 N0=4194304\n");
	/* Before somebody listens, a pass is nobody's. */
	assert_int_equal(port.sample(port.self, paths, 4), 0);
	numa_stat_listen(stat_reader, &sink);
	assert_int_equal(port.sample(port.self, paths, 4), 0);
	assert_int_equal(nr_passes, 1);
	assert_int_equal(errors[0], 0);
	assert_int_equal(anon_bytes[0], 4096);
	assert_int_equal(errors[1], -EOPNOTSUPP);
	assert_int_equal(errors[2], -ENOENT);
	assert_int_equal(errors[3], -ERANGE);
	assert_int_equal(anon_bytes[3], 0);
	assert_false(has_hugetlb[3]);
}

/* Of all sizes; a cgroup without the controller is not one without huge pages. */
static void huge_pages_are_added_up(void **state)
{
	static const char *const paths[] = {"pods/one", "pods/two", "pods/none", "pods/odd"};
	struct resident_port port = numa_stat_port(stat_reader);

	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[64];

		snprintf(name, sizeof(name), "cg/%s/memory.numa_stat", paths[i]);
		put(name, "anon N0=4096\n" FILES);
	}
	put("cg/pods/one/hugetlb.2MB.numa_stat", "total=4194304 N0=4194304\n");
	put("cg/pods/one/hugetlb.1GB.numa_stat", "total=1073741824 N0=1073741824\n");
	put("cg/pods/two/hugetlb.2MB.numa_stat", "total=0 N0=0\n");
	/* A sum without one of its sizes is not known. */
	put("cg/pods/odd/hugetlb.2MB.numa_stat", "total=4194304 N0=4194304\n");
	put("cg/pods/odd/hugetlb.1GB.numa_stat", "total=1 N0\n");
	numa_stat_listen(stat_reader, &sink);
	assert_int_equal(port.sample(port.self, paths, 4), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(errors[i], 0);
		assert_int_equal(anon_bytes[i], 4096);
		assert_int_equal(has_hugetlb[i], i < 2);
	}
	assert_int_equal(hugetlb_bytes[0], 1077936128);
	assert_int_equal(hugetlb_bytes[1], 0);
}

/* A file is about all nodes, however many of them have pages of this size. */
static void huge_pages_of_several_nodes_are_added_up_once(void **state)
{
	static const char *const paths[] = {"pods/one"};
	struct resident_port port = numa_stat_port(stat_reader);

	(void)state;
	put("cg/pods/one/memory.numa_stat", "anon N0=4096 N1=0\n" FILES);
	put("cg/pods/one/hugetlb.2MB.numa_stat", "total=4194304 N0=4194304 N1=0\n");
	put("cg/pods/one/hugetlb.1GB.numa_stat", "total=1073741824 N0=1073741824 N1=0\n");
	numa_stat_listen(stat_reader, &sink);
	assert_int_equal(port.sample(port.self, paths, 1), 0);
	assert_int_equal(errors[0], 0);
	assert_true(has_hugetlb[0]);
	assert_int_equal(hugetlb_bytes[0], 1077936128);
}

static void nothing_to_read_is_a_pass_too(void **state)
{
	struct resident_port port = numa_stat_port(stat_reader);

	(void)state;
	numa_stat_listen(stat_reader, &sink);
	assert_int_equal(port.sample(port.self, NULL, 0), 0);
	assert_int_equal(nr_passes, 1);
}

/* A job that keeps the only thread until somebody writes to the pipe. */
struct blocker {
	struct worker_job job; /* first */
	int pipe[2];
};

static int wait_for_byte(struct worker_job *job)
{
	char byte;

	return read(((struct blocker *)job)->pipe[0], &byte, 1) == 1 ? 0 : -EIO;
}

static void ignore_result(struct worker_job *job, int result)
{
}

static void keep(struct worker_job *job)
{
}

static void one_pass_at_a_time_waits(void **state)
{
	static const char *const paths[] = {"pods/one"};
	struct resident_port port = numa_stat_port(stat_reader);
	struct blocker blocker = {
		.job = {.run = wait_for_byte, .completed = ignore_result, .release = keep}};
	char where[128] = "untouched";

	(void)state;
	put("cg/pods/one/memory.numa_stat", "anon N0=4096\n" FILES);
	numa_stat_listen(stat_reader, &sink);
	assert_int_equal(pipe(blocker.pipe), 0);
	assert_int_equal(worker_run(pool, "another", &blocker.job), -EINPROGRESS);
	assert_int_equal(port.sample(port.self, paths, 1), 0);
	assert_int_equal(nr_passes, 0);
	assert_int_equal(port.sample(port.self, paths, 1), -EBUSY);
	port.waits_in(port.self, where, sizeof(where));
	assert_string_equal(where, "the queue of a thread pool of size 1");
	assert_int_equal(write(blocker.pipe[1], "", 1), 1);
	assert_int_equal(worker_await(pool, "/resident", UINT64_MAX / 4), 0);
	assert_int_equal(nr_passes, 1);
	assert_int_equal(errors[0], 0);
	assert_int_equal(anon_bytes[0], 4096);
	/* The next pass may begin. */
	assert_int_equal(port.sample(port.self, paths, 1), 0);
	assert_int_equal(worker_await(pool, "/resident", UINT64_MAX / 4), 0);
	assert_int_equal(nr_passes, 2);
	close(blocker.pipe[0]);
	close(blocker.pipe[1]);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_reader, tear_down_reader)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_cgroup_is_read_for_itself),
		TEST(huge_pages_are_added_up),
		cmocka_unit_test_setup_teardown(huge_pages_of_several_nodes_are_added_up_once,
						set_up_two_nodes, tear_down_reader),
		TEST(nothing_to_read_is_a_pass_too),
		cmocka_unit_test_setup_teardown(one_pass_at_a_time_waits, set_up_threaded,
						tear_down_threaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
