// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The ledger that results from live cgroups alone: which pods, which CPUs, which limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "lib/log.h"
#include "node_scene.h"

/* --- the cgroups ---------------------------------------------------------------------------------- */

/* In this container's cgroup the file is there and empty. */
static const char *empty_container;
static enum group_file empty_file;

static int read_tree_with_empty_file(void *self, struct group_tree *ret_tree)
{
	int r = fake_read_tree(self, ret_tree);

	for (uint32_t i = 0; !r && empty_container && i < ret_tree->nr_groups; i++) {
		struct group *group = &ret_tree->groups[i];

		if (strcmp(group->container, empty_container))
			continue;
		free(group->files[empty_file]);
		group->files[empty_file] = strdup("");
	}
	return r;
}

static struct controller *controller;
static struct pod_spec *pods[4];
static uint32_t nr_pods;

static int start_scene(void **state)
{
	int r = set_up_node(state);

	empty_container = NULL;
	nr_pods = 0;
	groups.read_tree = read_tree_with_empty_file;
	return r;
}

static int end_scene(void **state)
{
	controller_free(controller);
	controller = NULL;
	free_pods(pods, nr_pods);
	return tear_down(state);
}

static struct pod_spec *run(const char *name, const char *container, int64_t cpu_mcpu,
			    bool is_exclusive)
{
	pods[nr_pods] = fake_pod(name, container, cpu_mcpu, is_exclusive);
	return pods[nr_pods++];
}

/* An agent runs these pods and ends. */
static void run_pods(void)
{
	controller = start_node(NULL);
	scan(controller, pods, nr_pods);
	populate(true);
	controller_free(controller);
}

static void set_file(const char *container, enum group_file file, const char *value)
{
	struct fake_group *group = group_of(GROUP_CONTAINER, container);

	assert_non_null(group);
	snprintf(group->files[file], sizeof(group->files[file]), "%s", value);
}

/* The next agent has no record. */
static void rebuild(void)
{
	fake->has_state = false;
	controller = start_node(NULL);
	assert_int_equal(nr_findings(controller, "grant_lost", ""), 0);
}

static const struct ledger_pod *rebuilt(const char *uid)
{
	return ledger_find(controller->ledger, uid);
}

static void expect_container(const char *uid, enum isolation isolation, const char *cpus)
{
	const struct ledger_pod *pod = rebuilt(uid);
	char text[CPUSET_TEXT_MAX];

	assert_non_null(pod);
	assert_int_equal(pod->nr_grants, 1);
	assert_int_equal(pod->grants->isolation, isolation);
	cpuset_format(ledger_effective(controller->ledger, pod->grants), text, sizeof(text));
	assert_string_equal(text, cpus);
}

/* --- CPUs ----------------------------------------------------------------------------------------- */

/* Of two lists each is what the other lacks; the weights tell which of them is the pool. */
static void the_pool_is_not_taken_for_an_exclusive_set(void **state)
{
	run("a", "exclusive", 4000, true);
	run("b", "web", 500, false);
	run_pods();
	rebuild();
	expect_container("uid-a", ISOLATION_CONTAINER, "2-5");
	expect_container("uid-b", ISOLATION_HOST, "6-15");
}

/* A container that has no weight cannot be told by it, so it is taken for the pool. */
static void a_container_without_a_weight_may_be_the_pool(void **state)
{
	run("a", "exclusive", 4000, true);
	run("b", "web", 500, false);
	run_pods();
	set_file("web", GROUP_CPU_WEIGHT, "");
	rebuild();
	expect_container("uid-a", ISOLATION_CONTAINER, "2-5");
	expect_container("uid-b", ISOLATION_HOST, "6-15");
}

/* Isolated CPUs belong to no pool. */
static void the_pool_lacks_excluded_cpus(void **state)
{
	struct cpuset isolated = cpuset_of_text("14-15");

	policy_exclude(&config.policy, &isolated);
	policy = config.policy;
	run("a", "exclusive", 4000, true);
	run("b", "web", 500, false);
	run_pods();
	rebuild();
	expect_container("uid-b", ISOLATION_HOST, "6-13");
}

static void reserved_cpus_belong_to_the_pool_unless_reserved_strictly(void **state)
{
	config.policy.cpu_options.strict_reservation = false;
	policy = config.policy;
	run("a", "exclusive", 4000, true);
	run("b", "web", 500, false);
	run_pods();
	rebuild();
	expect_container("uid-a", ISOLATION_CONTAINER, "2-5");
	expect_container("uid-b", ISOLATION_HOST, "0-1,6-15");
}

/* Its processes run where its parent's do: there are no CPUs to be kept. */
static void a_container_without_cpus_is_left_out(void **state)
{
	for (int is_empty = 0; is_empty < 2; is_empty++) {
		run("a", "exclusive", 4000, true);
		run("b", "web", 500, false);
		run_pods();
		if (is_empty) {
			empty_container = "web";
			empty_file = GROUP_CPUSET_CPUS;
		} else {
			set_file("web", GROUP_CPUSET_CPUS, "");
		}
		rebuild();
		expect_container("uid-a", ISOLATION_CONTAINER, "2-5");
		assert_null(rebuilt("uid-b"));
		controller_free(controller);
		controller = NULL;
		free_pods(pods, nr_pods);
		nr_pods = 0;
		fake_world_clear();
		fake_world_make();
	}
}

/* --- pods ----------------------------------------------------------------------------------------- */

/* Each container of a pod keeps its own. */
static void a_pod_may_have_several_containers(void **state)
{
	struct pod_spec *spec = run("a", "exclusive", 4000, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));
	const struct ledger_pod *pod;

	assert_non_null(containers);
	containers[0] = containers[1] = spec->containers[0];
	snprintf(containers[1].name, sizeof(containers[1].name), "second");
	containers[1].request.cpu_mcpu = containers[1].limit.cpu_mcpu = 2000;
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
	run_pods();
	rebuild();
	pod = rebuilt("uid-a");
	assert_non_null(pod);
	assert_int_equal(pod->nr_grants, 2);
	assert_int_equal(cpuset_count(ledger_find_grant(pod, "exclusive")->cpus), 4);
	assert_int_equal(cpuset_count(ledger_find_grant(pod, "second")->cpus), 2);
	assert_int_equal(cpuset_count(pod->held), 6);
	/* Nobody knows its name. */
	assert_string_equal(pod->spec->name, "uid-a");
	assert_string_equal(pod->spec->namespace, REBUILT_NAMESPACE);
}

/* Only the names of units have '_' in place of '-'. */
static void a_uid_is_that_of_the_cgroup(void **state)
{
	struct pod_spec *spec = run("a", "web", 500, false);

	snprintf(spec->uid, sizeof(spec->uid), "uid_a");
	run_pods();
	rebuild();
	assert_non_null(rebuilt("uid_a"));
}

static void the_reason_of_a_lost_grant_is_reported(void **state)
{
	run("a", "exclusive", 2000, true);
	run("b", "other", 2000, true);
	run_pods();
	set_file("other", GROUP_CPUSET_CPUS, file_of("exclusive", GROUP_CPUSET_CPUS));
	fake->has_state = false;
	controller = start_node(NULL);
	assert_int_equal(nr_findings(controller, "grant_lost",
				     "pod uid-b runs, but cannot keep its CPUs: pod uid-b held CPU "
				     "2, which is not free now; holder: uid-a"),
			 1);
}

/* --- limits --------------------------------------------------------------------------------------- */

static void a_quota_is_found_if_there_is_one(void **state)
{
	static const struct {
		const char *text;
		int64_t mcpu;
	} rows[] = {
		{"50000 100000", 500},
		{"150000 100000", 1500},
		{"25000 50000", 500},
		{"max 100000", RESOURCE_UNSET},
		{"", RESOURCE_UNSET},
		/* Nothing that the kernel shows, and no reason to die. */
		{"50000", RESOURCE_UNSET},
		{"50000 0", RESOURCE_UNSET},
		{"9223372036854775807 100000", RESOURCE_UNSET},
	};

	run("b", "web", 500, false);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_pods();
		set_file("web", GROUP_CPU_MAX, rows[i].text);
		rebuild();
		assert_non_null(rebuilt("uid-b"));
		assert_int_equal(rebuilt("uid-b")->spec->containers->limit.cpu_mcpu, rows[i].mcpu);
		controller_free(controller);
		controller = NULL;
		fake_world_clear();
		fake_world_make();
	}
}

/* The pod is Burstable, so that it has no exclusive CPU, and its weight remains. */
static void a_weight_becomes_a_request(void **state)
{
	static const char *const weights[] = {"1", "20", "59", "10000", ""};

	run("b", "web", 500, false);
	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		const struct ledger_pod *pod;
		uint64_t weight;

		run_pods();
		set_file("web", GROUP_CPU_WEIGHT, weights[i]);
		rebuild();
		pod = rebuilt("uid-b");
		assert_non_null(pod);
		assert_int_equal(pod->qos, QOS_BURSTABLE);
		weight = plan_cpu_weight(pod->spec->containers->request.cpu_mcpu);
		assert_int_equal(weight, *weights[i] ? strtoull(weights[i], NULL, 10) : 1);
		/* No smaller request has this weight, except none at all. */
		if (pod->spec->containers->request.cpu_mcpu > 1)
			assert_true(plan_cpu_weight(pod->spec->containers->request.cpu_mcpu - 1) <
				    weight);
		controller_free(controller);
		controller = NULL;
		fake_world_clear();
		fake_world_make();
	}
}

/* Guaranteed without a limit of its memory, an exclusive container would not be exclusive. */
static void memory_limits_are_found_if_there_are_any(void **state)
{
	static const struct {
		const char *exclusive, *shared;
		int64_t exclusive_bytes, shared_bytes;
	} rows[] = {
		{"1048576", "2097152", 1 << 20, 2 << 20},
		{"max", "max", 1LL << 50, RESOURCE_UNSET},
		{"", "", 1LL << 50, RESOURCE_UNSET},
	};

	run("a", "exclusive", 4000, true);
	run("b", "web", 500, false);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_pods();
		set_file("exclusive", GROUP_MEMORY_MAX, rows[i].exclusive);
		set_file("web", GROUP_MEMORY_MAX, rows[i].shared);
		rebuild();
		expect_container("uid-a", ISOLATION_CONTAINER, "2-5");
		assert_int_equal(rebuilt("uid-a")->spec->containers->limit.memory_bytes,
				 rows[i].exclusive_bytes);
		assert_int_equal(rebuilt("uid-b")->spec->containers->limit.memory_bytes,
				 rows[i].shared_bytes);
		controller_free(controller);
		controller = NULL;
		fake_world_clear();
		fake_world_make();
	}
}

/* A quota below the request of the weight: no request is above its limit. */
static void a_request_is_not_above_its_limit(void **state)
{
	run("b", "web", 500, false);
	run_pods();
	set_file("web", GROUP_CPU_MAX, "10000 100000");
	rebuild();
	assert_int_equal(rebuilt("uid-b")->spec->containers->limit.cpu_mcpu, 100);
	assert_int_equal(rebuilt("uid-b")->spec->containers->request.cpu_mcpu, 100);
	controller_free(controller);
	/* Nor is it raised to the limit. */
	set_file("web", GROUP_CPU_MAX, "900000 100000");
	set_file("web", GROUP_CPU_WEIGHT, "59");
	rebuild();
	assert_int_equal(rebuilt("uid-b")->spec->containers->limit.cpu_mcpu, 9000);
	assert_int_equal(plan_cpu_weight(rebuilt("uid-b")->spec->containers->request.cpu_mcpu), 59);
}

/* What a pod may use beyond its containers is overhead, if all of them have limits. */
static void the_limit_of_a_pod_remains(void **state)
{
	static const struct {
		const char *pod, *container;
		int64_t overhead_bytes;
	} rows[] = {
		{"3145728", "2097152", 1 << 20},	{"2097152", "2097152", RESOURCE_UNSET},
		{"1048576", "2097152", RESOURCE_UNSET}, {"max", "2097152", RESOURCE_UNSET},
		{"3145728", "max", RESOURCE_UNSET},
	};

	run("b", "web", 500, false);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_pods();
		set_file("web", GROUP_MEMORY_MAX, rows[i].container);
		snprintf(group_of(GROUP_POD, "uid-b")->files[GROUP_MEMORY_MAX], 32, "%s",
			 rows[i].pod);
		rebuild();
		assert_int_equal(rebuilt("uid-b")->spec->overhead.memory_bytes,
				 rows[i].overhead_bytes);
		controller_free(controller);
		controller = NULL;
		fake_world_clear();
		fake_world_make();
	}
}

/* The state file may be missing, but whoever runs keeps its CPUs, and the next start waits again. */
static void a_start_that_is_stopped_changes_nothing(void **state)
{
	(void)state;
	fake->slow_look = fake->is_stopping = true;
	controller = make_node(&fake_side_port);
	assert_int_equal(controller_start(controller), -EINTR);
	assert_int_equal(fake->nr_groups, 0);
	assert_int_equal(fake_side.nr_starts, 0);
	assert_false(fake->has_state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_pool_is_not_taken_for_an_exclusive_set),
		TEST(a_container_without_a_weight_may_be_the_pool),
		TEST(the_pool_lacks_excluded_cpus),
		TEST(reserved_cpus_belong_to_the_pool_unless_reserved_strictly),
		TEST(a_container_without_cpus_is_left_out),
		TEST(a_pod_may_have_several_containers),
		TEST(a_uid_is_that_of_the_cgroup),
		TEST(the_reason_of_a_lost_grant_is_reported),
		TEST(a_quota_is_found_if_there_is_one),
		TEST(a_weight_becomes_a_request),
		TEST(memory_limits_are_found_if_there_are_any),
		TEST(a_request_is_not_above_its_limit),
		TEST(the_limit_of_a_pod_remains),
		TEST(a_start_that_is_stopped_changes_nothing),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
