// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/* The tree of cgroups that a ledger wants: paths, weights, quotas, CPUs and memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "plan_scene.h"

static void weights(void **state)
{
	/* values of the formula for the shares 2, 1024, 2048, 262144 */
	assert_int_equal(plan_cpu_weight(RESOURCE_UNSET), 1);
	assert_int_equal(plan_cpu_weight(0), 1);
	assert_int_equal(plan_cpu_weight(1), 1);
	assert_int_equal(plan_cpu_weight(1000), 100);
	assert_int_equal(plan_cpu_weight(2000), 174);
	assert_int_equal(plan_cpu_weight(256000), 10000);
	/* 14.336 shares are 14; they would have the weight 5 if they counted as a fraction. */
	assert_int_equal(plan_cpu_weight(14), 4);
	assert_int_equal(plan_cpu_weight(INT64_MAX), 10000);
}

static struct pod_spec *database_pod(void)
{
	struct pod_spec *spec = scene_pod("d-b");

	add_container(spec, "metrics-exporter", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "backup-agent", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "database", CONTAINER_APP, 6000, 6000);
	set_budget(spec, 8);
	return spec;
}

static struct pod_spec *training_pod(void)
{
	struct pod_spec *spec = scene_pod("ml");

	add_container(spec, "ml-training", CONTAINER_APP, 3000, 3000);
	add_container(spec, "service-mesh", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	set_budget(spec, 4);
	return spec;
}

static void bubble_quotas(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, database_pod()).admitted);
	tree = desired_of(ledger, &partitioned);
	assert_int_equal(tree.nr_groups, 6);
	assert_file(&tree, "pinfold.slice", GROUP_CPUSET_CPUS, "1-7,9-15");
	assert_file(&tree, "pinfold.slice", GROUP_CPUSET_PARTITION, "root");
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_CPUSET_CPUS, NULL);
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_MEMORY_MAX, "17179869184");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_CPUS, "1-3,9-11");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_MEMS, "0");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_MEMORY_MAX, "1073741824");
	assert_file(&tree, "pinfold.slice/podd-b/shared", GROUP_CPU_MAX, "200000 100000");
	assert_file(&tree, "pinfold.slice/podd-b/shared/backup-agent", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podd-b/shared/backup-agent", GROUP_CPUSET_CPUS, "4,12");
	assert_file(&tree, "pinfold.slice/podd-b/shared/metrics-exporter", GROUP_MEMORY_MAX, "max");
}

static void container_scope_quotas(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};

	policy.align = ALIGN_BEST_EFFORT;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, training_pod()).admitted);
	tree = desired_of(ledger, &plain);
	assert_file(&tree, "pinfold.slice", GROUP_CPUSET_PARTITION, "member");
	assert_file(&tree, "pinfold.slice/podml", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podml/ml-training", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podml/shared", GROUP_CPU_MAX, "100000 100000");
	assert_file(&tree, "pinfold.slice/podml/shared/service-mesh", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podml/shared/service-mesh", GROUP_CPUSET_CPUS,
		    "3-7,10-15");
}

static void kubelet_quotas(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};

	policy.align = ALIGN_BEST_EFFORT;
	policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, training_pod()).admitted);
	tree = desired_of(ledger, &plain);
	assert_file(&tree, "pinfold.slice/podml", GROUP_CPU_MAX, "400000 100000");
	assert_file(&tree, "pinfold.slice/podml/ml-training", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podml/service-mesh", GROUP_CPU_MAX, "400000 100000");
}

/* Who looks for a pod's groups need not go through those of all the others. */
static void uids_ascend(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct group_tree tree cleanup_tree = {0};

	assert_true(admit_and_free(ledger, burstable_pod("z")).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("B")).admitted);
	assert_true(admit_and_free(ledger, database_pod()).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("a-b")).admitted);
	tree = desired_of(ledger, &plain);
	for (uint32_t i = 1; i < tree.nr_groups; i++)
		assert_true(strcmp(tree.groups[i - 1].uid, tree.groups[i].uid) <= 0);
	assert_string_equal(tree.groups[0].uid, "");
	assert_string_equal(tree.groups[1].uid, "B");
	assert_string_equal(tree.groups[tree.nr_groups - 1].uid, "z");
}

/* Whose CPUs are all offline gets the shared pool, and claims none of it for itself. */
static void offline_cpus_are_replaced(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};
	struct cpuset online = cpuset_of_text("0,4-8,12-15");

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, database_pod()).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("b")).admitted);
	assert_int_equal(plan_desired(ledger, &partitioned, &online, &tree), 0);
	assert_file(&tree, "pinfold.slice", GROUP_CPUSET_CPUS, "1-7,9-15");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_CPUS, "5-7,13-15");
	assert_false(group_tree_find(&tree, "pinfold.slice/podd-b/database")->is_exclusive);
	assert_file(&tree, "pinfold.slice/podd-b/shared/backup-agent", GROUP_CPUSET_CPUS, "4,12");
	/* One is left. */
	group_tree_fini(&tree);
	online = cpuset_of_text("0,3-8,12-15");
	assert_int_equal(plan_desired(ledger, &partitioned, &online, &tree), 0);
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_CPUS, "1-3,9-11");
	assert_true(group_tree_find(&tree, "pinfold.slice/podd-b/database")->is_exclusive);
	/* The shared level's are offline, then the pool's as well. */
	group_tree_fini(&tree);
	online = cpuset_of_text("0-3,5,8-11");
	assert_int_equal(plan_desired(ledger, &partitioned, &online, &tree), 0);
	assert_file(&tree, "pinfold.slice/podd-b/shared/backup-agent", GROUP_CPUSET_CPUS,
		    "5-7,13-15");
	group_tree_fini(&tree);
	online = cpuset_of_text("0-3,8-11");
	assert_int_equal(plan_desired(ledger, &partitioned, &online, &tree), 0);
	assert_file(&tree, "pinfold.slice/podd-b/shared/backup-agent", GROUP_CPUSET_CPUS, "4,12");
}

static enum isolation_gap gap_of(const struct group_tree *tree, const char *path)
{
	const struct group *group = group_tree_find(tree, path);

	assert_non_null(group);
	return group->gap;
}

/* The pod has the CPUs of all its containers, and the exclusive ones are isolated in it. */
static void exclusive_containers_are_isolated(void **state)
{
	const struct plan_layout isolated = {
		.root = "pinfold.slice", .root_partition = true, .isolated = true};
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};
	struct cpuset online = cpuset_of_text("0-2,4-15");

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, database_pod()).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("b")).admitted);
	tree = desired_of(ledger, &isolated);
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_CPUSET_CPUS, "1-4,9-12");
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_CPUSET_PARTITION, "root");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_CPUS, "1-3,9-11");
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_PARTITION, "isolated");
	assert_file(&tree, "pinfold.slice/podd-b/shared/backup-agent", GROUP_CPUSET_PARTITION,
		    "member");
	assert_file(&tree, "pinfold.slice/podb", GROUP_CPUSET_CPUS, NULL);
	assert_file(&tree, "pinfold.slice/podb", GROUP_CPUSET_PARTITION, "member");
	assert_int_equal(gap_of(&tree, "pinfold.slice/podd-b/database"), ISOLATION_GAP_NONE);
	group_tree_fini(&tree);
	assert_int_equal(plan_desired(ledger, &isolated, &online, &tree), 0);
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_PARTITION, "member");
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_CPUSET_PARTITION, "member");
	assert_int_equal(gap_of(&tree, "pinfold.slice/podd-b/database"), ISOLATION_GAP_OFFLINE);
	/* Without the option nothing of it is managed. */
	group_tree_fini(&tree);
	tree = desired_of(ledger, &partitioned);
	assert_file(&tree, "pinfold.slice/podd-b/database", GROUP_CPUSET_PARTITION, NULL);
	assert_file(&tree, "pinfold.slice/podd-b", GROUP_CPUSET_PARTITION, NULL);
}

/* An init container has CPUs that an ordinary one gets later. */
static void cpus_that_are_used_again_are_not_isolated(void **state)
{
	const struct plan_layout isolated = {
		.root = "pinfold.slice", .root_partition = true, .isolated = true};
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct pod_spec *spec = scene_pod("i");
	struct group_tree tree cleanup_tree = {0};

	add_container(spec, "first", CONTAINER_INIT, 2000, 2000);
	add_container(spec, "then", CONTAINER_APP, 2000, 2000);
	add_container(spec, "beside", CONTAINER_APP, 1000, 1000);
	assert_true(admit_and_free(ledger, spec).admitted);
	tree = desired_of(ledger, &isolated);
	assert_int_equal(gap_of(&tree, "pinfold.slice/podi/first"), ISOLATION_GAP_REUSED);
	assert_int_equal(gap_of(&tree, "pinfold.slice/podi/then"), ISOLATION_GAP_REUSED);
	assert_file(&tree, "pinfold.slice/podi/then", GROUP_CPUSET_PARTITION, "member");
	assert_file(&tree, "pinfold.slice/podi/beside", GROUP_CPUSET_PARTITION, "isolated");
	assert_file(&tree, "pinfold.slice/podi", GROUP_CPUSET_PARTITION, "root");
}

static void ordinary_quotas(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct group_tree tree cleanup_tree = {0};
	struct pod_spec *spec = scene_pod("g");

	add_container(spec, "two", CONTAINER_APP, 2000, 2000);
	add_container(spec, "half", CONTAINER_APP, 500, 500);
	assert_true(admit_and_free(ledger, spec).admitted);
	spec = scene_pod("b");
	add_container(spec, "limited", CONTAINER_APP, 1000, 1500);
	assert_true(admit_and_free(ledger, spec).admitted);
	spec = burstable_pod("free");
	assert_true(admit_and_free(ledger, spec).admitted);
	tree = desired_of(ledger, &plain);
	assert_file(&tree, "pinfold.slice/podg", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podg", GROUP_CPU_WEIGHT, "208");
	assert_file(&tree, "pinfold.slice/podg/half", GROUP_CPU_MAX, "50000 100000");
	assert_null(group_tree_find(&tree, "pinfold.slice/podg/shared"));
	assert_file(&tree, "pinfold.slice/podb", GROUP_CPU_MAX, "150000 100000");
	assert_file(&tree, "pinfold.slice/podb/limited", GROUP_CPU_MAX, "150000 100000");
	assert_file(&tree, "pinfold.slice/podfree", GROUP_CPU_MAX, "max 100000");
	assert_file(&tree, "pinfold.slice/podfree", GROUP_MEMORY_MAX, "max");
}

static void units_nest_by_their_names(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};

	policy.align = ALIGN_BEST_EFFORT;
	policy.scope = ALIGN_SCOPE_POD;
	ledger = scene_ledger(topology, &policy);
	assert_true(admit_and_free(ledger, database_pod()).admitted);
	tree = desired_of(ledger, &systemd);
	assert_non_null(group_tree_find(&tree, "pinfold.slice/pinfold-podd_b.slice"));
	assert_non_null(group_tree_find(
		&tree, "pinfold.slice/pinfold-podd_b.slice/pinfold-d_b-database.scope"));
	assert_non_null(group_tree_find(
		&tree, "pinfold.slice/pinfold-podd_b.slice/pinfold-podd_b-shared.slice/"
		       "pinfold-d_b-backup-agent.scope"));
}

static void colliding_names_are_refused(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct group_tree tree cleanup_tree = {0};

	assert_true(admit_and_free(ledger, burstable_pod("a-b")).admitted);
	assert_true(admit_and_free(ledger, burstable_pod("a_b")).admitted);
	assert_int_equal(plan_desired(ledger, &systemd, NULL, &tree), -EEXIST);
	assert_int_equal(plan_desired(ledger, &plain, NULL, &tree), 0);
}

static void a_container_may_be_called_shared(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = NULL;
	struct group_tree tree cleanup_tree = {0};
	struct pod_spec *spec = scene_pod("p");

	policy.align = ALIGN_BEST_EFFORT;
	ledger = scene_ledger(topology, &policy);
	add_container(spec, "shared", CONTAINER_APP, 2000, 2000);
	add_container(spec, "other", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	set_budget(spec, 3);
	assert_true(admit_and_free(ledger, spec).admitted);
	tree = desired_of(ledger, &plain);
	assert_file(&tree, "pinfold.slice/podp/_shared", GROUP_CPUSET_CPUS, "1,9");
	assert_file(&tree, "pinfold.slice/podp/shared", GROUP_CPU_MAX, "100000 100000");
}

/* Each request counts for the level, and a container that requests nothing adds nothing. */
static void a_level_weighs_what_its_containers_request(void **state)
{
	static const struct {
		int64_t request_mcpu;
		const char *weight;
	} rows[] = {{1, "4"}, {RESOURCE_UNSET, "1"}, {100, "116"}};

	(void)state;
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
		struct policy policy = strict_policy("0,8");
		struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
		struct group_tree tree cleanup_tree = {0};
		struct pod_spec *spec = guaranteed_pod("p", 1);

		set_budget(spec, 4);
		for (int i = 0; i < 12; i++) {
			char name[8];

			snprintf(name, sizeof(name), "c%d", i);
			add_container(spec, name, CONTAINER_APP, rows[row].request_mcpu,
				      RESOURCE_UNSET);
		}
		assert_true(admit_and_free(ledger, spec).admitted);
		tree = desired_of(ledger, &plain);
		assert_file(&tree, "pinfold.slice/podp/shared", GROUP_CPU_WEIGHT, rows[row].weight);
	}
}

/* A path that fits is whole; a longer one is refused. */
static void long_names_are_refused(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 8, 2);
	struct policy policy = strict_policy("0,8");
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct plan_layout layout = {.systemd = true};
	char uid[POD_UID_MAX] = "", name[POD_CONTAINER_NAME] = "";
	struct pod_spec *spec;
	uint32_t nr_refused = 0;

	(void)state;
	memset(uid, 'u', sizeof(uid) - 1);
	memset(name, 'c', sizeof(name) - 1);
	spec = scene_pod(uid);
	add_container(spec, name, CONTAINER_APP, 500, RESOURCE_UNSET);
	assert_true(admit_and_free(ledger, spec).admitted);
	for (size_t len = 40; len < sizeof(layout.root); len++) {
		struct group_tree tree cleanup_tree = {0};
		char wanted[4 * GROUP_PATH_MAX];
		int r;

		memset(layout.root, 'r', len);
		r = plan_desired(ledger, &layout, NULL, &tree);
		snprintf(wanted, sizeof(wanted), "%s/%s-pod%s.slice/%s-%s-%s.scope", layout.root,
			 layout.root, uid, layout.root, uid, name);
		if (strlen(wanted) < GROUP_PATH_MAX) {
			assert_int_equal(r, 0);
			assert_string_equal(tree.groups[2].path, wanted);
		} else {
			assert_int_equal(r, -ENAMETOOLONG);
			nr_refused++;
		}
	}
	assert_true(nr_refused > 0);
}

/* With its subtree, but not what only begins with the same letters. */
static void a_group_is_dropped_with_its_subtree(void **state)
{
	static const char *const dropped[] = {"a/b", "a/b/c", "a/b/c/d"};
	static const char *const kept[] = {"a", "a/bc", "a/c", "b", "a/c/b"};
	struct group_tree tree cleanup_tree = {0};

	(void)state;
	/* As many groups as there is room for, so that none behind the last is looked at. */
	for (size_t i = 0; i < 16; i++) {
		char path[16];

		snprintf(path, sizeof(path), "z%zu", i);
		if (i < ARRAY_SIZE(kept))
			snprintf(path, sizeof(path), "%s", kept[i]);
		else if (i < ARRAY_SIZE(kept) + ARRAY_SIZE(dropped))
			snprintf(path, sizeof(path), "%s", dropped[i - ARRAY_SIZE(kept)]);
		group_tree_add(&tree, GROUP_CONTAINER, path)->files[GROUP_CPUSET_CPUS] =
			strdup(path);
	}
	assert_int_equal(tree.capacity, tree.nr_groups);
	group_tree_drop(&tree, "a/b");
	assert_int_equal(tree.nr_groups, 16 - ARRAY_SIZE(dropped));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		assert_file(&tree, kept[i], GROUP_CPUSET_CPUS, kept[i]);
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		assert_null(group_tree_find(&tree, dropped[i]));
	assert_file(&tree, "z15", GROUP_CPUSET_CPUS, "z15");
	/* Not the first group either. */
	group_tree_drop(&tree, "a");
	assert_string_equal(tree.groups[0].path, "b");
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < GROUP_FILE_NR; i++)
		assert_non_null(group_file_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights),
		cmocka_unit_test(bubble_quotas),
		cmocka_unit_test(container_scope_quotas),
		cmocka_unit_test(kubelet_quotas),
		cmocka_unit_test(offline_cpus_are_replaced),
		cmocka_unit_test(exclusive_containers_are_isolated),
		cmocka_unit_test(cpus_that_are_used_again_are_not_isolated),
		cmocka_unit_test(ordinary_quotas),
		cmocka_unit_test(units_nest_by_their_names),
		cmocka_unit_test(colliding_names_are_refused),
		cmocka_unit_test(a_container_may_be_called_shared),
		cmocka_unit_test(a_level_weighs_what_its_containers_request),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(a_group_is_dropped_with_its_subtree),
		cmocka_unit_test(names_are_complete),
		cmocka_unit_test(uids_ascend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
