// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Tier 1i: when containers are isolated, what the kernel may refuse, and who says so. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "lib/log.h"
#include "node_scene.h"

#define ROOT  "pinfold.slice"
#define POD_A ROOT "/poduid-a"
#define A     POD_A "/db"

static struct controller *controller;
static struct pod_spec *pods[2];
static uint32_t nr_tried; /* steps that `refuse` saw of its kind */
static const char *refused_path, *refused_value;

static bool refuse(const struct step *step)
{
	bool is_it = refused_path && step->kind == STEP_WRITE &&
		     step->file == GROUP_CPUSET_PARTITION && !strcmp(step->path, refused_path) &&
		     (!refused_value || !strcmp(step->value, refused_value));

	nr_tried += is_it;
	return is_it;
}

static int start_scene(void **state)
{
	int r = set_up_node(state);

	config.partitions = PARTITIONS_ISOLATED;
	config.host_tasks = HOST_TASKS_RESERVED;
	fake->refuses = refuse;
	nr_tried = 0;
	refused_path = refused_value = NULL;
	pods[0] = fake_pod("a", "db", 4000, true);
	pods[1] = fake_pod("b", "web", 500, false);
	return r;
}

static int end_scene(void **state)
{
	controller_free(controller);
	controller = NULL;
	pod_spec_free(pods[0]);
	pod_spec_free(pods[1]);
	return tear_down(state);
}

static void start(uint32_t nr)
{
	controller = start_node(NULL);
	scan(controller, pods, nr);
}

/* "" = never written, which is a member. */
static char *state_of(const char *path)
{
	struct fake_group *group = fake_find(path);

	assert_non_null(group);
	return group->files[GROUP_CPUSET_PARTITION];
}

static void look_later(void)
{
	fake->now_ns += 60 * S;
	controller_wake(controller);
}

static void expect_tiers(const char *tiers)
{
	struct json_object *node = query(controller, "node");

	assert_string_equal(member(node, "tiers"), tiers);
	json_object_put(node);
}

static void expect_ready(bool is_wanted, const char *why)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[512] = "";

	assert_int_equal(faces->ready(faces->self, reason, sizeof(reason)), is_wanted);
	if (why && !strstr(reason, why))
		fail_msg("'%s' is not in '%s'", why, reason);
}

static void expect_isolated(void)
{
	assert_string_equal(state_of(ROOT), "root");
	assert_string_equal(state_of(POD_A), "root");
	assert_string_equal(state_of(A), "isolated");
	expect_tiers("0 1 1i");
	expect_ready(true, NULL);
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 0);
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", ""), 0);
}

static void exclusive_containers_are_isolated(void **state)
{
	start(2);
	expect_isolated();
	assert_string_equal(state_of(ROOT "/poduid-b"), "");
	assert_string_equal(state_of(ROOT "/poduid-b/web"), "");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	/* Nothing more is written. */
	refused_path = A;
	look_later();
	assert_int_equal(nr_tried, 0);
}

static void without_the_option_they_are_not(void **state)
{
	config.partitions = PARTITIONS_AUTO;
	start(1);
	assert_string_equal(state_of(ROOT), "root");
	assert_string_not_equal(state_of(A), "isolated");
	expect_tiers("0 1");
}

static void it_needs_tier_1(void **state)
{
	config.host_tasks = HOST_TASKS_FREE;
	start(1);
	assert_string_not_equal(state_of(A), "isolated");
	expect_tiers("0");
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", "not a partition"), 1);
	expect_ready(true, NULL);
}

static void make_both_exclusive(void)
{
	pod_spec_free(pods[1]);
	pods[1] = fake_pod("b", "web", 4000, true);
}

/* Cgroups are seen in the order in which they were made, which need not be that of their names. */
static void each_is_found_in_whatever_order_they_are_seen(void **state)
{
	make_both_exclusive();
	controller = start_node(NULL);
	scan(controller, pods + 1, 1);
	scan(controller, pods, 2);
	assert_string_equal(fake_at(1)->path, ROOT "/poduid-b");
	look_later();
	expect_isolated();
}

/* One more container, of the shared pool. */
static void add_side(struct pod_spec *pod)
{
	struct container_spec *both = calloc(2, sizeof(*both));

	assert_non_null(both);
	both[0] = both[1] = pod->containers[0];
	snprintf(both[1].name, sizeof(both[1].name), "side");
	both[1].request.cpu_mcpu = both[1].limit.cpu_mcpu = 500;
	free(pod->containers);
	pod->containers = both;
	pod->nr_containers = 2;
}

/* The pod's partition would take the shared pool's CPUs from all others. */
static void a_pod_of_the_shared_pool_is_not_isolated(void **state)
{
	add_side(pods[0]);
	start(1);
	assert_string_equal(state_of(A), "");
	assert_string_equal(state_of(POD_A), "");
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", "uses the shared pool"), 1);
	assert_true(node_has(controller, "give each container of the pod whole CPUs"));
	expect_ready(true, NULL);
	scan(controller, NULL, 0);
	look_later();
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", ""), 0);
}

static void all_that_are_not_isolated_are_counted(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	make_both_exclusive();
	start(2);
	expect_isolated();
	strcpy(state_of(A), "isolated invalid (x)");
	look_later();
	assert_int_equal(nr_findings(controller, "tier1i_not_held", A " are not isolated"), 1);
	strcpy(state_of(ROOT "/poduid-b/web"), "isolated invalid (x)");
	look_later();
	assert_int_equal(nr_findings(controller, "tier1i_not_held", "(and 1 more)"), 1);
	expect_tiers("0 1");
}

static void all_that_cannot_be_isolated_are_counted(void **state)
{
	make_both_exclusive();
	add_side(pods[0]);
	add_side(pods[1]);
	start(1);
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", A " are not isolated"), 1);
	scan(controller, pods, 2);
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", "(and 1 more)"), 1);
}

/* Nothing has failed yet, and nothing is promised before it is seen. */
static void what_is_still_being_isolated_is_no_finding(void **state)
{
	snprintf(fake->slow_path, sizeof(fake->slow_path), "%s", A);
	fake->slow_file = GROUP_CPUSET_PARTITION;
	start(1);
	assert_true(fake->has_step);
	expect_tiers("0 1");
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 0);
	*fake->slow_path = '\0';
	fake_end_step(controller, 0);
	controller_wake(controller);
	expect_isolated();
}

static void what_the_kernel_refuses_is_said_and_tried_again(void **state)
{
	refused_path = A;
	refused_value = "isolated";
	start(1);
	assert_string_equal(state_of(POD_A), "root");
	expect_tiers("0 1");
	expect_ready(false, "pod default/a is not enforced");
	assert_int_equal(nr_findings(controller, "tier1i_not_held", "Input/output error"), 1);
	refused_path = NULL;
	look_later();
	expect_isolated();
}

static void a_container_without_a_cgroup_is_not_isolated(void **state)
{
	fake->create_error = -EIO;
	snprintf(fake->apply_path, sizeof(fake->apply_path), "%s", A);
	start(1);
	assert_null(fake_find(A));
	expect_tiers("0 1");
	assert_int_equal(nr_findings(controller, "tier1i_not_held", A ": injected"), 1);
	fake->create_error = 0;
	look_later();
	expect_isolated();
}

/* What the kernel says is in the finding, also before the first attempt to repair it. */
static void a_partition_that_became_invalid_is_said(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	start(1);
	expect_isolated();
	strcpy(state_of(A), "isolated invalid (Cpu list in cpuset.cpus not exclusive)");
	look_later();
	expect_tiers("0 1");
	assert_int_equal(nr_findings(controller, "tier1i_not_held",
				     "cpuset.cpus.partition has 'isolated invalid (Cpu list in "
				     "cpuset.cpus not exclusive)'"),
			 1);
	strcpy(state_of(A), "isolated");
	look_later();
	expect_isolated();
}

/* The root is repaired first, and its partition is valid meanwhile. */
static void a_partition_that_waits_for_the_root_is_said(void **state)
{
	start(0);
	fake->apply_error = -EIO;
	snprintf(fake->apply_path, sizeof(fake->apply_path), "%s", ROOT);
	strcpy(fake_find(ROOT)->files[GROUP_CPUSET_CPUS], "2-14");
	scan(controller, pods, 1);
	assert_string_equal(state_of(A), "");
	assert_int_equal(nr_findings(controller, "tier1_not_held", ""), 0);
	assert_int_equal(nr_findings(controller, "tier1i_not_held",
				     "the CPUs of " A
				     " are not isolated: cpuset.cpus.partition is missing"),
			 1);
	expect_tiers("0 1");
	fake->apply_error = 0;
	look_later();
	expect_isolated();
}

static void reload(void)
{
	char error[256] = "";

	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	look_later();
}

/* Nobody misses what nobody wants. */
static void what_was_given_up_is_no_finding(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	start(1);
	expect_isolated();
	strcpy(state_of(A), "isolated invalid (x)");
	look_later();
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 1);
	config.partitions = PARTITIONS_AUTO;
	reload();
	expect_tiers("0 1");
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 0);
	config.partitions = PARTITIONS_ISOLATED;
	strcpy(state_of(A), "isolated");
	reload();
	expect_isolated();
	config.partitions = PARTITIONS_AUTO;
	reload();
	expect_tiers("0 1");
}

static void nothing_is_isolated_below_a_root_that_is_refused(void **state)
{
	refused_path = ROOT;
	refused_value = "root";
	start(1);
	assert_string_not_equal(state_of(A), "isolated");
	/* The finding has what the kernel or the port said, not just that it is a member again. */
	assert_int_equal(nr_findings(controller, "tier1_not_held", "Input/output error"), 1);
	/* One finding is enough, and no pod fails because of it. */
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 0);
	expect_ready(false, "the workload root");
	refused_path = NULL;
	look_later();
	look_later();
	expect_isolated();
}

/* What was told before its reason was known is withdrawn. */
static void only_the_root_is_told_once_it_is_no_partition_any_more(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	start(1);
	strcpy(state_of(A), "isolated invalid (x)");
	look_later();
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 1);
	partition_invalid = true;
	look_later();
	assert_int_equal(nr_findings(controller, "tier1_not_held", "root invalid"), 1);
	assert_int_equal(nr_findings(controller, "tier1i_not_held", ""), 0);
	expect_tiers("0");
}

/* Some kernels would give the container the CPUs of others. */
static void the_root_waits_for_the_end_of_nested_partitions(void **state)
{
	start(1);
	expect_isolated();
	strcpy(state_of(ROOT), "root invalid (x)");
	refused_path = A;
	refused_value = "member";
	look_later();
	assert_true(nr_tried > 0);
	assert_string_equal(state_of(ROOT), "member");
	expect_ready(false, "waits for partitions below it");
	refused_path = NULL;
	look_later();
	look_later();
	expect_isolated();
}

/* A repair that is not to take place must not end the partition either. */
static void an_audit_leaves_the_partition_alone(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	start(1);
	expect_isolated();
	strcpy(fake_find(POD_A)->files[GROUP_CPUSET_CPUS], "2-9");
	refused_path = A;
	look_later();
	look_later();
	assert_int_equal(nr_tried, 0);
	assert_string_equal(state_of(POD_A), "root");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	assert_string_equal(fake_find(POD_A)->files[GROUP_CPUSET_CPUS], "2-9");
}

static unsigned int nr_ended;

static void note_end(const struct step *step)
{
	nr_ended += step->kind == STEP_WRITE && step->file == GROUP_CPUSET_PARTITION &&
		    !strcmp(step->path, A) && !strcmp(step->value, "member");
}

/* A freeze that is only audited stays, and is no reason to change the lists within live partitions. */
static void a_frozen_container_is_resized_as_any_other(void **state)
{
	struct pod_spec *larger[] = {fake_pod("a", "db", 6000, true)};

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	config.enforcement.guard[ASPECT_CGROUP_MOVES] = ENFORCEMENT_AUDIT;
	start(1);
	expect_isolated();
	strcpy(fake_find(A)->files[GROUP_FREEZE], "1");
	look_later();
	assert_string_equal(fake_find(A)->files[GROUP_FREEZE], "1");
	nr_ended = 0;
	fake->on_step = note_end;
	scan(controller, larger, 1);
	look_later();
	fake->on_step = NULL;
	assert_int_equal(nr_ended, 1);
	expect_isolated();
	free_pods(larger, 1);
}

static void a_foreign_change_is_repaired_as_one_difference(void **state)
{
	start(1);
	strcpy(fake_find(POD_A)->files[GROUP_CPUSET_CPUS], "2-9");
	look_later();
	expect_isolated();
	/* That the partitions ended meanwhile is no drift. */
	assert_int_equal(nr_rows(controller, "drift"), 1);
}

/* A repair of the container alone would fail, because the pod has to be a partition first. */
static void an_invalid_container_is_repaired_with_its_pod(void **state)
{
	const struct groups_sink *sink;

	start(1);
	expect_isolated();
	strcpy(state_of(POD_A), "member");
	strcpy(state_of(A), "isolated invalid (Parent is not a partition root)");
	refused_path = A;
	sink = &controller_sinks(controller)->groups;
	sink->changed(sink->self, A, "cpuset.cpus.partition");
	ctl_reconcile_dirty(controller);
	assert_int_equal(nr_tried, 0);
	refused_path = NULL;
	look_later();
	expect_isolated();
}

static void while_a_cpu_is_offline_the_container_is_a_member(void **state)
{
	start(1);
	expect_isolated();
	tell_online(controller, "0-2,4-15");
	controller_wake(controller);
	assert_string_equal(state_of(A), "member");
	assert_int_equal(nr_findings(controller, "tier1i_not_in_use", "offline"), 1);
	assert_true(node_has(controller, "bring the CPUs online"));
	tell_online(controller, "0-15");
	controller_wake(controller);
	expect_isolated();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(exclusive_containers_are_isolated),
		TEST(each_is_found_in_whatever_order_they_are_seen),
		TEST(without_the_option_they_are_not),
		TEST(it_needs_tier_1),
		TEST(a_pod_of_the_shared_pool_is_not_isolated),
		TEST(all_that_are_not_isolated_are_counted),
		TEST(all_that_cannot_be_isolated_are_counted),
		TEST(what_is_still_being_isolated_is_no_finding),
		TEST(what_the_kernel_refuses_is_said_and_tried_again),
		TEST(a_container_without_a_cgroup_is_not_isolated),
		TEST(a_partition_that_became_invalid_is_said),
		TEST(a_partition_that_waits_for_the_root_is_said),
		TEST(what_was_given_up_is_no_finding),
		TEST(nothing_is_isolated_below_a_root_that_is_refused),
		TEST(only_the_root_is_told_once_it_is_no_partition_any_more),
		TEST(the_root_waits_for_the_end_of_nested_partitions),
		TEST(an_audit_leaves_the_partition_alone),
		TEST(a_frozen_container_is_resized_as_any_other),
		TEST(a_foreign_change_is_repaired_as_one_difference),
		TEST(an_invalid_container_is_repaired_with_its_pod),
		TEST(while_a_cpu_is_offline_the_container_is_a_member),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
