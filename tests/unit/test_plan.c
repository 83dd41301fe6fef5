// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/*
 * The desired tree, and the plan to reach it, applied step by step to a tree in
 * memory: no container may share a CPU with an exclusive owner, no list is ever empty,
 * and the final state is the desired one. PINFOLD_STEPS and PINFOLD_SEED as in
 * the property run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "../lib/golden.h"
#include "chance.h"
#include "core/plan/plan.h"
#include "memory_scene.h"

#define cleanup_tree cleanup(group_tree_fini)
#define cleanup_plan cleanup(plan_fini)

static const struct plan_layout plain = {.root = "pinfold.slice"};
static const struct plan_layout partitioned = {.root = "pinfold.slice", .root_partition = true};
static const struct plan_layout systemd = {.root = "pinfold.slice", .systemd = true};

static struct group_tree desired_of(const struct ledger *ledger, const struct plan_layout *layout)
{
	struct group_tree tree = {0};

	assert_int_equal(plan_desired(ledger, layout, NULL, &tree), 0);
	return tree;
}

static void assert_file(const struct group_tree *tree, const char *path, enum group_file file,
			const char *value)
{
	const struct group *group = group_tree_find(tree, path);

	if (!group)
		fail_msg("no group %s", path);
	if (!value) {
		assert_null(group->files[file]);
		return;
	}
	if (!group->files[file])
		fail_msg("%s has no %s", path, group_file_name(file));
	assert_string_equal(group->files[file], value);
}

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

/* --- whole trees ------------------------------------------------------------------------------ */

static struct container_spec *add_shared(struct pod_spec *spec, const char *name,
					 enum container_kind kind)
{
	return add_container(spec, name, kind, RESOURCE_UNSET, RESOURCE_UNSET);
}

/* The quota of its level is what the exclusive containers leave, 8 - 2 - 3 CPUs. */
static struct pod_spec *layers(void)
{
	struct pod_spec *spec = scene_pod("lay-er/s");

	set_budget(spec, 8);
	add_shared(spec, "prepare", CONTAINER_INIT);
	add_container(spec, "prepare-2", CONTAINER_INIT, 500, 2000);
	add_container(spec, "prepare-7", CONTAINER_INIT, 500, 7000);
	add_container(spec, "agent", CONTAINER_SIDECAR, 2000, 2000);
	add_container(spec, "db", CONTAINER_APP, 3000, 3000);
	add_container(spec, "web", CONTAINER_APP, 500, 1500);
	add_shared(spec, "mesh", CONTAINER_SIDECAR);
	add_container(spec, "zero", CONTAINER_APP, 0, 0);
	return spec;
}

/* An exclusive init container ends before the others start, and leaves them all. */
static struct pod_spec *exclusive_init(void)
{
	struct pod_spec *spec = scene_pod("init");

	set_budget(spec, 4);
	add_container(spec, "boot", CONTAINER_INIT, 2000, 2000);
	add_shared(spec, "prepare", CONTAINER_INIT);
	add_shared(spec, "main", CONTAINER_APP);
	return spec;
}

/* With container scope nothing has to be left: to the level, then to the init container. */
static struct pod_spec *used_up(const char *uid, int64_t side)
{
	struct pod_spec *spec = scene_pod(uid);

	set_budget(spec, 3);
	add_shared(spec, "prepare", CONTAINER_INIT);
	add_container(spec, "side", CONTAINER_SIDECAR, side * 1000, side * 1000);
	add_container(spec, "main", CONTAINER_APP, 3000 - side * 1000, 3000 - side * 1000);
	add_shared(spec, "rest", CONTAINER_APP);
	return spec;
}

static struct pod_spec *level_used_up(void)
{
	return used_up("used-by-main", 2);
}

static struct pod_spec *init_used_up(void)
{
	return used_up("used-by-side", 3);
}

/* More than the budget has; the others get the kernel's smallest quota and not none. */
static struct pod_spec *over_budget(void)
{
	struct pod_spec *spec = scene_pod("over");

	set_budget(spec, 3);
	add_shared(spec, "prepare", CONTAINER_INIT);
	add_container(spec, "side", CONTAINER_SIDECAR, 4000, 4000);
	add_shared(spec, "rest", CONTAINER_APP);
	return spec;
}

static struct pod_spec *all_exclusive(void)
{
	struct pod_spec *spec = guaranteed_pod("all", 2);

	set_budget(spec, 2);
	return spec;
}

/* Without an exclusive container the pod's own quota is enough. */
static struct pod_spec *none_exclusive(void)
{
	struct pod_spec *spec = scene_pod("none");

	set_budget(spec, 3);
	add_shared(spec, "prepare", CONTAINER_INIT);
	add_container(spec, "main", CONTAINER_APP, 1500, 1500);
	return spec;
}

static struct pod_spec *without_budget(void)
{
	struct pod_spec *spec = scene_pod("free");

	/* Does not count, because it is not given. */
	spec->limit.cpu_mcpu = 4000;
	add_container(spec, "prepare", CONTAINER_INIT, 1500, 1500);
	add_container(spec, "main", CONTAINER_APP, 2000, 2000);
	add_container(spec, "half", CONTAINER_APP, 500, 500);
	return spec;
}

static struct pod_spec *unlimited(void)
{
	struct pod_spec *spec = burstable_pod("burst");

	spec->limit.cpu_mcpu = 4000;
	return spec;
}

/* A limit of nothing is none, but the smallest one is. */
static struct pod_spec *limit_of(const char *uid, int64_t mcpu)
{
	struct pod_spec *spec = burstable_pod(uid);

	spec->has_pod_resources = true;
	spec->limit.cpu_mcpu = spec->limit.memory_bytes = mcpu;
	return spec;
}

static struct pod_spec *limit_of_nothing(void)
{
	return limit_of("nothing", 0);
}

static struct pod_spec *limit_of_one(void)
{
	return limit_of("least", 1);
}

static struct pod_spec *small_and_large(void)
{
	struct pod_spec *spec = scene_pod("sizes");
	struct container_spec *container = add_container(spec, "small", CONTAINER_APP, 1, 1);

	container->request.memory_bytes = container->limit.memory_bytes = 1;
	container = add_container(spec, "page", CONTAINER_APP, 10, 10);
	container->request.memory_bytes = container->limit.memory_bytes = 8191;
	container = add_container(spec, "no-memory", CONTAINER_APP, 11, 11);
	container->request.memory_bytes = container->limit.memory_bytes = 0;
	add_container(spec, "large", CONTAINER_APP, 100, INT64_MAX / 100);
	add_container(spec, "larger", CONTAINER_APP, 100, INT64_MAX / 100 + 1);
	return spec;
}

/* Three nodes of eight CPUs, the last one without memory. */
static struct topology *machine_with_memory(void)
{
	struct topology_node nodes[3] = {{0}};
	struct topology_cpu cpus[24];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = nodes,
		.nr_nodes = ARRAY_SIZE(nodes),
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	for (uint32_t i = 0; i < facts.nr_cpus; i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i, .node = i / 8, .socket = i / 8};
	for (uint32_t i = 0; i < facts.nr_nodes; i++)
		nodes[i] = (struct topology_node){.id = i,
						  .memory_bytes = i < 2 ? (uint64_t)(64 * GIB) : 0};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

static void write_group(FILE *file, const struct group *group)
{
	static const char *const roles[] = {"root", "pod", "shared level", "container"};

	fprintf(file, "%s: %s", group->path, roles[group->role]);
	if (group->uid[0])
		fprintf(file, " of %s", group->uid);
	if (group->container[0])
		fprintf(file, ", %s", group->container);
	fprintf(file, "%s\n\t", group->is_exclusive ? ", exclusive" : "");
	for (int i = 0; i < GROUP_FILE_NR; i++) {
		if (group->files[i])
			fprintf(file, " %s=%s", group_file_name((enum group_file)i),
				group->files[i]);
	}
	fprintf(file, "\n");
}

static void write_tree_of(FILE *file, struct pod_spec *(*make)(void), struct policy policy,
			  const struct plan_layout *layout)
{
	struct topology *topology cleanup_topology = machine_with_memory();
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct group_tree tree cleanup_tree = {0};
	struct decision decision = admit_and_free(ledger, make());

	if (!decision.admitted) {
		fprintf(file, "refused: %s\n", decision.message);
		return;
	}
	tree = desired_of(ledger, layout);
	for (uint32_t i = 0; i < tree.nr_groups; i++)
		write_group(file, &tree.groups[i]);
}

/* The rules are in plan.h; what follows from them for these pods is in tests/data/trees. */
static void trees_are_as_recorded(void **state)
{
	static struct pod_spec *(*const pods[])(void) = {
		layers,	     exclusive_init,   level_used_up,  init_used_up,
		over_budget, all_exclusive,    none_exclusive, without_budget,
		unlimited,   limit_of_nothing, limit_of_one,   small_and_large,
	};
	static const struct plan_layout nested = {
		.root = "a/pinfold.slice", .systemd = true, .root_partition = true};
	struct policy policy = strict_policy("0");
	size_t len;
	char *text;
	FILE *file = open_memstream(&text, &len);

	(void)state;
	assert_non_null(file);
	policy.align = ALIGN_BEST_EFFORT;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		policy.memory = MEMORY_POLICY_STATIC;
		policy.cpu_options.strict_reservation = false;
		policy.compatibility = COMPATIBILITY_REPAIRED;
		policy.scope = ALIGN_SCOPE_POD;
		fprintf(file, "# scope pod\n");
		write_tree_of(file, pods[i], policy, &nested);
		policy.cpu_options.strict_reservation = true;
		policy.scope = ALIGN_SCOPE_CONTAINER;
		fprintf(file, "# scope container\n");
		write_tree_of(file, pods[i], policy, &plain);
		/* The kubelet's memory manager refuses containers that request nothing. */
		policy.memory = MEMORY_POLICY_NONE;
		policy.compatibility = COMPATIBILITY_KUBELET_1_36;
		fprintf(file, "# scope container, kubelet\n");
		write_tree_of(file, pods[i], policy, &plain);
		fprintf(file, "\n");
	}
	assert_int_equal(fclose(file), 0);
	golden_compare("tests/data/trees", text);
	free(text);
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

/* --- playing plans ---------------------------------------------------------------------------- */

static char *copy_text(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	assert_true(!text || copy);
	return copy;
}

static void copy_tree(const struct group_tree *from, bool populated, struct group_tree *ret_tree)
{
	struct group_tree tree = {0};

	for (uint32_t i = 0; i < from->nr_groups; i++) {
		const struct group *source = &from->groups[i];
		struct group *group = group_tree_add(&tree, source->role, source->path);

		assert_non_null(group);
		memcpy(group->uid, source->uid, sizeof(group->uid));
		memcpy(group->container, source->container, sizeof(group->container));
		group->populated = populated && source->role == GROUP_CONTAINER;
		for (int file = 0; file < GROUP_FILE_NR; file++)
			group->files[file] = copy_text(source->files[file]);
	}
	*ret_tree = tree;
}

static struct cpuset list_of(const struct group *group)
{
	return cpus_of(group && group->files[GROUP_CPUSET_CPUS] ? group->files[GROUP_CPUSET_CPUS]
								: "");
}

struct stage {
	struct group_tree now, before;
	const struct group_tree *desired;
};

/* Over all plans: the number of CPU list writes, and of those that had to add a conflict. */
static uint64_t nr_moves, nr_forced;

/* Lists that may share CPUs in between: those that share CPUs in the final state. */
static bool end_together(const struct stage *stage, const struct group *a, const struct group *b)
{
	struct cpuset x = list_of(group_tree_find(stage->desired, a->path));
	struct cpuset y = list_of(group_tree_find(stage->desired, b->path));

	return cpuset_intersects(&x, &y);
}

/*
 * Has the root no more CPUs than there are owners, those with CPUs in common
 * counted as one? Then each has one CPU and none can move without a conflict with the
 * next. tests/exhaustive searches all orders to see that this is the only case.
 */
static bool is_full(const struct stage *stage)
{
	const struct group_tree *desired = stage->desired;
	struct cpuset *owners = calloc(desired->nr_groups + 1, sizeof(*owners));
	struct cpuset bound = list_of(group_tree_find(&stage->now, "pinfold.slice"));
	uint32_t nr_owners = 0;

	assert_non_null(owners);
	for (uint32_t i = 0; i < desired->nr_groups; i++) {
		struct cpuset cpus = list_of(&desired->groups[i]);
		uint32_t kept = 0;

		if (desired->groups[i].role != GROUP_CONTAINER)
			continue;
		for (uint32_t j = 0; j < nr_owners; j++) {
			if (cpuset_intersects(&owners[j], &cpus))
				cpuset_union(&cpus, &owners[j]);
			else
				owners[kept++] = owners[j];
		}
		owners[kept++] = cpus;
		nr_owners = kept;
	}
	free(owners);
	return cpuset_count(&bound) <= nr_owners;
}

static void show(const struct stage *stage)
{
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *group = &stage->now.groups[i];
		const struct group *wanted = group_tree_find(stage->desired, group->path);

		if (group->role == GROUP_CONTAINER)
			printf("  %s: %s -> %s%s\n", group->path,
			       group->files[GROUP_CPUSET_CPUS] ?: "(none)",
			       wanted ? wanted->files[GROUP_CPUSET_CPUS] : "(unwanted)",
			       group->populated ? "" : ", no tasks");
	}
}

static void assert_apart(const struct stage *stage, const struct group *group,
			 const struct cpuset *added)
{
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *other = &stage->now.groups[i];
		struct cpuset cpus = list_of(other);

		if (other == group || other->role != GROUP_CONTAINER ||
		    !group_tree_find(stage->desired, other->path) ||
		    end_together(stage, group, other) ||
		    (!group_tree_find(stage->desired, group->path) &&
		     !group_tree_find(stage->desired, other->path)->is_exclusive))
			continue;
		if (!cpuset_intersects(&cpus, added))
			continue;
		nr_forced++;
		if (is_full(stage))
			continue;
		show(stage);
		fail_msg("%s moves onto CPUs of %s", group->path, other->path);
	}
}

static void play_write(struct stage *stage, const struct step *step)
{
	struct group *group = group_tree_find(&stage->now, step->path);
	const struct group *before_all;
	struct cpuset before, after;

	if (!group)
		fail_msg("write to %s, which is not there", step->path);
	assert_non_null(step->value);
	assert_true(step->value[0]);
	/* What the kernel has at the beginning, also if an earlier step has written the file. */
	before_all = group_tree_find(&stage->before, step->path);
	if (!before_all || !before_all->files[step->file])
		assert_null(step->old);
	else
		assert_string_equal(step->old, before_all->files[step->file]);
	if (step->file == GROUP_CPUSET_CPUS && group->role == GROUP_CONTAINER) {
		const struct group *root = group_tree_find(&stage->now, "pinfold.slice");
		struct cpuset bound = list_of(root);

		before = list_of(group);
		after = cpus_of(step->value);
		if (!cpuset_is_subset(&after, &bound))
			fail_msg("%s gets %s, which its root does not have", step->path,
				 step->value);
		cpuset_subtract(&after, &before);
		nr_moves++;
		assert_apart(stage, group, &after);
	}
	free(group->files[step->file]);
	group->files[step->file] = copy_text(step->value);
}

static void play_create(struct stage *stage, const struct step *step)
{
	char parent[GROUP_PATH_MAX];
	struct group *group;
	char *slash;

	assert_null(group_tree_find(&stage->now, step->path));
	snprintf(parent, sizeof(parent), "%s", step->path);
	slash = strrchr(parent, '/');
	if (slash) {
		*slash = '\0';
		assert_non_null(group_tree_find(&stage->now, parent));
	}
	group = group_tree_add(&stage->now, step->role, step->path);
	assert_non_null(group);
	/* As the kernel makes it. */
	if (step->role == GROUP_ROOT)
		group->files[GROUP_CPUSET_PARTITION] = copy_text("member");
}

static void play_remove(struct stage *stage, const struct step *step)
{
	struct group *group = group_tree_find(&stage->now, step->path);
	size_t length = strlen(step->path);

	assert_non_null(group);
	assert_false(group->populated);
	for (uint32_t i = 0; i < stage->now.nr_groups; i++) {
		const struct group *other = &stage->now.groups[i];

		if (!strncmp(other->path, step->path, length) && other->path[length] == '/')
			fail_msg("%s is removed before %s", step->path, other->path);
	}
	for (int file = 0; file < GROUP_FILE_NR; file++)
		free(group->files[file]);
	*group = stage->now.groups[--stage->now.nr_groups];
	memset(&stage->now.groups[stage->now.nr_groups], 0, sizeof(*group));
}

static void assert_arrived(const struct stage *stage)
{
	for (uint32_t i = 0; i < stage->desired->nr_groups; i++) {
		const struct group *wanted = &stage->desired->groups[i];

		for (int file = 0; file < GROUP_FILE_NR; file++) {
			if (wanted->files[file])
				assert_file(&stage->now, wanted->path, file, wanted->files[file]);
		}
	}
}

/* A step stops only the chain of its pod if it fails, so it has to name the right one. */
static void assert_owner(const struct stage *stage, const struct step *step)
{
	const struct group *group = group_tree_find(stage->desired, step->path);

	if (!group)
		group = group_tree_find(&stage->now, step->path);
	assert_non_null(group);
	assert_int_equal(step->role, group->role);
	assert_string_equal(step->uid, group->uid);
	assert_string_equal(step->container, group->container);
}

/* Apply the plan from `observed` to `desired`. Returns the number of steps. Takes `observed`. */
static uint32_t play_plan(struct group_tree *observed, const struct group_tree *desired)
{
	struct plan plan cleanup_plan = {0};
	struct stage stage = {.desired = desired};
	struct plan again cleanup_plan = {0};

	assert_int_equal(plan_make(desired, observed, &plan), 0);
	copy_tree(observed, false, &stage.before);
	stage.now = *observed;
	*observed = (struct group_tree){0};
	for (uint32_t i = 0; i < plan.nr_steps; i++) {
		const struct step *step = &plan.steps[i];

		assert_owner(&stage, step);
		if (step->kind == STEP_CREATE)
			play_create(&stage, step);
		else if (step->kind == STEP_REMOVE)
			play_remove(&stage, step);
		else
			play_write(&stage, step);
	}
	assert_arrived(&stage);
	assert_int_equal(plan_make(desired, &stage.now, &again), 0);
	assert_int_equal(again.nr_steps, 0);
	group_tree_fini(&stage.now);
	group_tree_fini(&stage.before);
	return plan.nr_steps;
}

static struct group *add_observed(struct group_tree *tree, enum group_role role, const char *path,
				  const char *cpus)
{
	struct group *group = group_tree_add(tree, role, path);

	assert_non_null(group);
	group->files[GROUP_CPUSET_CPUS] = copy_text(cpus);
	group->populated = role == GROUP_CONTAINER;
	return group;
}

static struct plan plan_of(const struct group_tree *desired, const struct group_tree *observed)
{
	struct plan plan = {0};

	assert_int_equal(plan_make(desired, observed, &plan), 0);
	return plan;
}

static void assert_write(const struct plan *plan, uint32_t index, const char *path,
			 const char *value)
{
	assert_true(index < plan->nr_steps);
	assert_int_equal(plan->steps[index].kind, STEP_WRITE);
	assert_string_equal(plan->steps[index].path, path);
	assert_string_equal(plan->steps[index].value, value);
}

static void others_leave_before_the_owner_arrives(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1");
	add_observed(&desired, GROUP_CONTAINER, "shared", "2-7");
	add_observed(&observed, GROUP_CONTAINER, "owner", "2");
	add_observed(&observed, GROUP_CONTAINER, "shared", "0-1,3-7");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "shared", "3-7");
	assert_write(&plan, 1, "owner", "0-1");
	assert_write(&plan, 2, "shared", "2-7");
}

static void cycles_are_broken(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};

	add_observed(&desired, GROUP_ROOT, "pinfold.slice", "0-7");
	add_observed(&desired, GROUP_CONTAINER, "a", "0");
	add_observed(&desired, GROUP_CONTAINER, "b", "1");
	add_observed(&desired, GROUP_CONTAINER, "c", "2");
	add_observed(&desired, GROUP_CONTAINER, "shared", "3-7");
	add_observed(&desired, GROUP_CONTAINER, "shared2", "3-7");
	add_observed(&observed, GROUP_ROOT, "pinfold.slice", "0-7");
	add_observed(&observed, GROUP_CONTAINER, "a", "1");
	add_observed(&observed, GROUP_CONTAINER, "b", "2");
	add_observed(&observed, GROUP_CONTAINER, "c", "0");
	add_observed(&observed, GROUP_CONTAINER, "shared", "3-7");
	add_observed(&observed, GROUP_CONTAINER, "shared2", "3-7");
	/* out and back for both shared containers, one parked, three arrivals */
	assert_int_equal(play_plan(&observed, &desired), 8);
}

/* No CPU is free, but a has one that no other container waits for. */
static void owner_with_two_cpus_needs_no_spare_cpu(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "b", "0");
	add_observed(&observed, GROUP_CONTAINER, "a", "0,2");
	add_observed(&observed, GROUP_CONTAINER, "b", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "a", "2");
	assert_write(&plan, 1, "b", "0");
	assert_write(&plan, 2, "a", "1");
}

/* A container can be parked on CPUs of the root that no container has or gets. */
static void free_root_cpus_are_used_for_parking(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "r/b", "2")->is_exclusive = true;
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "2");
	add_observed(&observed, GROUP_CONTAINER, "r/b", "1");
	/* A container cannot be parked on a CPU whose owner cannot leave it. */
	add_observed(&desired, GROUP_CONTAINER, "r/owner", "0")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "r/stuck", "0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 5);
	assert_int_equal(plan.steps[0].kind, STEP_CREATE);
	assert_write(&plan, 1, "r/a", "3");
	assert_write(&plan, 2, "r/b", "2");
	assert_write(&plan, 3, "r/a", "1");
	assert_write(&plan, 4, "r/owner", "0");
}

/*
 * The kernel applies the part of a list that the parent has, or the parent's whole set if
 * that is empty.
 */
static void a_list_beyond_the_root_counts_as_the_kernel_takes_it(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "r/b", "2-3");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "0,9");
	add_observed(&observed, GROUP_CONTAINER, "r/b", "8");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "r/b", "2-3");
	assert_write(&plan, 1, "r/a", "1");
}

/* Only the part within the root is in force, but the rest would be if the root grew. */
static void a_list_beyond_the_root_is_rewritten(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "1,9");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 1);
	assert_write(&plan, 0, "r/a", "1");
	assert_string_equal(plan.steps[0].old, "1,9");
}

/* While containers move, the root has its old CPUs as well, and a can make room on one. */
static void cpus_that_the_root_loses_are_used_to_move(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-1");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "1")->is_exclusive = true;
	add_observed(&desired, GROUP_CONTAINER, "r/b", "0")->is_exclusive = true;
	add_observed(&observed, GROUP_ROOT, "r", "0-2");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "0,2");
	add_observed(&observed, GROUP_CONTAINER, "r/b", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 4);
	assert_write(&plan, 0, "r/a", "2");
	assert_write(&plan, 1, "r/b", "0");
	assert_write(&plan, 2, "r/a", "1");
	assert_write(&plan, 3, "r", "0-1");
}

/* d waits for the free CPUs: after a was parked on one, b or c is next. */
static void nobody_is_parked_twice(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};

	add_observed(&desired, GROUP_ROOT, "pinfold.slice", "0-12");
	add_observed(&desired, GROUP_CONTAINER, "a", "8");
	add_observed(&desired, GROUP_CONTAINER, "b", "12");
	add_observed(&desired, GROUP_CONTAINER, "c", "9");
	add_observed(&desired, GROUP_CONTAINER, "d", "0-5");
	add_observed(&observed, GROUP_ROOT, "pinfold.slice", "0-12");
	add_observed(&observed, GROUP_CONTAINER, "a", "1");
	add_observed(&observed, GROUP_CONTAINER, "b", "8-9");
	add_observed(&observed, GROUP_CONTAINER, "c", "12");
	add_observed(&observed, GROUP_CONTAINER, "d", "4-5");
	assert_true(play_plan(&observed, &desired) <= 6);
}

static void without_a_free_cpu_the_ledger_wins(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "a", "0");
	add_observed(&desired, GROUP_CONTAINER, "b", "1");
	add_observed(&observed, GROUP_CONTAINER, "a", "1");
	add_observed(&observed, GROUP_CONTAINER, "b", "0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
}

static void memory_nodes_grow_before_and_shrink_after(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "a", "8-9")->files[GROUP_CPUSET_MEMS] =
		copy_text("1");
	add_observed(&observed, GROUP_CONTAINER, "a", "0-1")->files[GROUP_CPUSET_MEMS] =
		copy_text("0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_write(&plan, 0, "a", "0-1");
	assert_int_equal(plan.steps[0].file, GROUP_CPUSET_MEMS);
	assert_write(&plan, 1, "a", "8-9");
	assert_write(&plan, 2, "a", "1");
}

/* As many as there is room for, so that none behind the last is looked at; no root. */
static void all_that_is_unwanted_is_removed(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	for (int i = 0; i < 8; i++) {
		char path[16];

		snprintf(path, sizeof(path), "p%d", i);
		add_observed(&observed, GROUP_POD, path, NULL);
		snprintf(path, sizeof(path), "p%d/c", i);
		add_observed(&observed, GROUP_CONTAINER, path, "1")->populated = i == 7;
	}
	assert_int_equal(observed.capacity, observed.nr_groups);
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 14);
	assert_string_equal(plan.steps[0].path, "p6/c");
	assert_string_equal(plan.steps[13].path, "p0");
}

/* Neither is the root, nor do tasks keep a group whose name only begins like theirs. */
static void the_root_and_tasks_are_kept(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0}, without_tasks cleanup_plan = {0};

	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_POD, "r/p", NULL);
	without_tasks = plan_of(&desired, &observed);
	assert_int_equal(without_tasks.nr_steps, 1);
	assert_string_equal(without_tasks.steps[0].path, "r/p");
	add_observed(&observed, GROUP_POD, "r/pq", NULL);
	add_observed(&observed, GROUP_CONTAINER, "r/pq/c", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 1);
	assert_int_equal(plan.steps[0].kind, STEP_REMOVE);
	assert_string_equal(plan.steps[0].path, "r/p");
}

/* An empty list would mean all of the parent's, so it is not written, whatever is there. */
static void no_list_is_emptied(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", NULL);
	add_observed(&desired, GROUP_CONTAINER, "r/a", "")->files[GROUP_CPUSET_MEMS] =
		copy_text("");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", "1")->files[GROUP_CPUSET_MEMS] =
		copy_text("0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 0);
}

/* Only containers and the root have lists; a list elsewhere is somebody else's. */
static void unwanted_pods_keep_their_lists(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "owner", "0");
	add_observed(&observed, GROUP_POD, "pod", "0-1")->populated = true;
	add_observed(&observed, GROUP_CONTAINER, "pod/c", "1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 0);
}

static void unwanted_groups_are_removed_leaves_first(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-7");
	add_observed(&observed, GROUP_ROOT, "r", "0-7");
	add_observed(&observed, GROUP_POD, "r/p", NULL);
	add_observed(&observed, GROUP_CONTAINER, "r/p/c", "1")->populated = false;
	add_observed(&observed, GROUP_POD, "r/q", NULL);
	add_observed(&observed, GROUP_CONTAINER, "r/q/c", "2");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_int_equal(plan.steps[0].kind, STEP_REMOVE);
	assert_string_equal(plan.steps[0].path, "r/p/c");
	assert_string_equal(plan.steps[1].path, "r/p");
}

static void unwanted_but_populated_groups_lose_exclusive_cpus(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "left", "1-3");
	add_observed(&observed, GROUP_CONTAINER, "stuck", "0");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 3);
	assert_int_equal(plan.steps[0].kind, STEP_CREATE);
	assert_write(&plan, 1, "left", "2-3");
	assert_write(&plan, 2, "owner", "0-1");
}

static void tasks_without_a_list_are_bounded_first(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1");
	add_observed(&desired, GROUP_CONTAINER, "shared", "2-7");
	add_observed(&observed, GROUP_CONTAINER, "owner", "")->populated = false;
	add_observed(&observed, GROUP_CONTAINER, "shared", "");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "shared", "2-7");
	assert_write(&plan, 1, "owner", "0-1");
}

/* All of the parent's CPUs are in force without a list too, but not for ever. */
static void tasks_without_a_list_get_one(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-3");
	add_observed(&desired, GROUP_CONTAINER, "r/a", "0-3");
	add_observed(&observed, GROUP_ROOT, "r", "0-3");
	add_observed(&observed, GROUP_CONTAINER, "r/a", NULL);
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 1);
	assert_write(&plan, 0, "r/a", "0-3");
	assert_null(plan.steps[0].old);
}

/* Wherever it is in the tree; and no group of one tree is in the other. */
static void tasks_without_a_list_are_bounded_first_in_any_order(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0}, unpaired cleanup_plan = {0};

	add_observed(&desired, GROUP_CONTAINER, "shared", "2-7");
	add_observed(&desired, GROUP_CONTAINER, "owner", "0-1")->is_exclusive = true;
	add_observed(&observed, GROUP_CONTAINER, "shared", "");
	add_observed(&observed, GROUP_CONTAINER, "owner", "2");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "shared", "2-7");
	assert_write(&plan, 1, "owner", "0-1");
	group_tree_fini(&observed);
	add_observed(&observed, GROUP_CONTAINER, "left", "0-3");
	unpaired = plan_of(&desired, &observed);
	assert_int_equal(unpaired.nr_steps, 5);
	assert_write(&unpaired, 2, "left", "2-3");
}

static void root_widens_before_and_narrows_after(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "2-5")->files[GROUP_CPUSET_PARTITION] =
		copy_text("root");
	add_observed(&desired, GROUP_CONTAINER, "r/c", "4-5");
	add_observed(&observed, GROUP_ROOT, "r", "0-3")->files[GROUP_CPUSET_PARTITION] =
		copy_text("root invalid (Cpu list in cpuset.cpus not exclusive)");
	add_observed(&observed, GROUP_CONTAINER, "r/c", "0-1");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 4);
	assert_write(&plan, 0, "r", "0-5");
	assert_write(&plan, 1, "r/c", "4-5");
	assert_write(&plan, 2, "r", "2-5");
	assert_write(&plan, 3, "r", "root");
}

static void member_comes_before_the_list_changes(void **state)
{
	struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	add_observed(&desired, GROUP_ROOT, "r", "0-7")->files[GROUP_CPUSET_PARTITION] =
		copy_text("member");
	add_observed(&observed, GROUP_ROOT, "r", "1-7")->files[GROUP_CPUSET_PARTITION] =
		copy_text("root");
	plan = plan_of(&desired, &observed);
	assert_int_equal(plan.nr_steps, 2);
	assert_write(&plan, 0, "r", "member");
	assert_write(&plan, 1, "r", "0-7");
}

/* The kernel rounds down to a page of at most 64 KiB. */
static void memory_limits_are_compared_in_pages(void **state)
{
	static const struct {
		const char *wanted, *old;
		bool same;
	} rows[] = {
		{"999997440", "999948288", true},
		{"999997440", "999931905", true},
		{"999997440", "999931904", false},
		{"999997440", "999997441", false},
		{"999997440", "max", false},
		{"max", "999997440", false},
		{"max", "max", true},
		{"max", "0", false},
		{"4096", "max", false},
		{"4096", "0", true},
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
		struct plan plan cleanup_plan = {0};

		add_observed(&desired, GROUP_CONTAINER, "a", "0")->files[GROUP_MEMORY_MAX] =
			copy_text(rows[row].wanted);
		add_observed(&observed, GROUP_CONTAINER, "a", "0")->files[GROUP_MEMORY_MAX] =
			copy_text(rows[row].old);
		plan = plan_of(&desired, &observed);
		assert_int_equal(plan.nr_steps, !rows[row].same);
		if (plan.nr_steps)
			assert_write(&plan, 0, "a", rows[row].wanted);
	}
}

/* --- random ----------------------------------------------------------------------------------- */

/* Add and remove some pods, as after a while on a node. */
static void change_ledger(struct chance *chance, struct ledger *ledger, uint32_t nr_changes)
{
	uint32_t most = 1 + ledger_topology(ledger)->num_cpus / 4;

	for (uint32_t i = 0; i < nr_changes; i++) {
		struct decision decision;
		char uid[8];

		snprintf(uid, sizeof(uid), "p%u", chance_below(chance, 10));
		if (chance_percent(chance, 40)) {
			ledger_remove(ledger, uid);
		} else {
			struct pod_spec *spec cleanup_pod_spec = chance_pod(chance, uid, most);

			assert_int_equal(admit_pod(ledger, spec, &decision), 0);
		}
	}
}

/* Foreign changes of the tree: lists, groups and tasks are removed. */
static void disturb(struct chance *chance, struct group_tree *tree)
{
	for (uint32_t i = 1; i < tree->nr_groups; i++) {
		struct group *group = &tree->groups[i];

		if (chance_percent(chance, 10))
			group->populated = false;
		if (chance_percent(chance, 5)) {
			free(group->files[GROUP_CPUSET_CPUS]);
			group->files[GROUP_CPUSET_CPUS] = NULL;
			group->populated = false;
		}
	}
}

static uint32_t play_random(struct chance *chance)
{
	struct topology *topology cleanup_topology = chance_machine(chance);
	struct policy policy = chance_policy(chance, topology);
	struct plan_layout layout = chance_percent(chance, 50) ? systemd : plain;
	struct ledger *ledger cleanup_ledger = scene_ledger(topology, &policy);
	struct group_tree before cleanup_tree = {0}, after cleanup_tree = {0};
	struct group_tree observed cleanup_tree = {0};
	uint32_t nr_steps = 0;

	layout.root_partition = policy.cpu_options.strict_reservation;
	change_ledger(chance, ledger, 4 + chance_below(chance, 12));
	before = desired_of(ledger, &layout);
	nr_steps += play_plan(&observed, &before);
	for (int i = 0; i < 4; i++) {
		copy_tree(&before, chance_percent(chance, 70), &observed);
		if (chance_percent(chance, 30))
			disturb(chance, &observed);
		change_ledger(chance, ledger, 1 + chance_below(chance, 8));
		after = desired_of(ledger, &layout);
		nr_steps += play_plan(&observed, &after);
		group_tree_fini(&observed);
		group_tree_fini(&before);
		before = after;
		after = (struct group_tree){0};
	}
	return nr_steps;
}

static uint64_t playing;

static void random_plans(void **state)
{
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	uint64_t nr_steps = number_from_environment("PINFOLD_STEPS", 20000), played = 0;

	printf("seed %llu, PINFOLD_STEPS %llu\n", (unsigned long long)seed,
	       (unsigned long long)nr_steps);
	while (played < nr_steps) {
		struct chance chance = {seed};

		playing = seed;
		played += play_random(&chance);
		seed = chance_next(&chance);
	}
	printf("%llu steps, %llu moves, %llu of them onto another's CPU for want of a free one\n",
	       (unsigned long long)played, (unsigned long long)nr_moves,
	       (unsigned long long)nr_forced);
	assert_true(nr_forced * 1000 <= nr_moves);
}

/* A failed assertion ends the test immediately; this prints how to repeat it. */
static int say_seed(void **state)
{
	printf("last plan: PINFOLD_SEED=%llu\n", (unsigned long long)playing);
	return 0;
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < GROUP_FILE_NR; i++)
		assert_non_null(group_file_name(i));
}

/*
 * What an uninstall left to live processes may hold all CPUs. A partition of all of
 * them would leave the host none, and the kernel says it is invalid.
 */
static void a_partition_waits_for_its_list(void **state)
{
	static const struct {
		const char *old_cpus, *old_partition;
		unsigned int nr_steps;
	} rows[] = {
		{"0-7", "member", 2},
		{"0-7", "root invalid (Parent unable to distribute cpu downstream)", 2},
		{"2-5", "member", 2},
		{"1-7", "member", 1},
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct group_tree desired cleanup_tree = {0}, observed cleanup_tree = {0};
		struct group *group = group_tree_add(&desired, GROUP_ROOT, "pinfold.slice");
		struct plan plan cleanup_plan = {0};
		const struct step *last;

		group->files[GROUP_CPUSET_CPUS] = strdup("1-7");
		group->files[GROUP_CPUSET_PARTITION] = strdup("root");
		group = group_tree_add(&observed, GROUP_ROOT, "pinfold.slice");
		group->files[GROUP_CPUSET_CPUS] = strdup(rows[row].old_cpus);
		group->files[GROUP_CPUSET_PARTITION] = strdup(rows[row].old_partition);
		assert_int_equal(plan_make(&desired, &observed, &plan), 0);
		assert_int_equal(plan.nr_steps, rows[row].nr_steps);
		last = &plan.steps[plan.nr_steps - 1];
		assert_int_equal(last->file, GROUP_CPUSET_PARTITION);
		assert_string_equal(last->value, "root");
		if (plan.nr_steps == 2)
			assert_string_equal(plan.steps[0].value, "1-7");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partition_waits_for_its_list),
		cmocka_unit_test(weights),
		cmocka_unit_test(bubble_quotas),
		cmocka_unit_test(container_scope_quotas),
		cmocka_unit_test(kubelet_quotas),
		cmocka_unit_test(offline_cpus_are_replaced),
		cmocka_unit_test(ordinary_quotas),
		cmocka_unit_test(units_nest_by_their_names),
		cmocka_unit_test(colliding_names_are_refused),
		cmocka_unit_test(a_container_may_be_called_shared),
		cmocka_unit_test(trees_are_as_recorded),
		cmocka_unit_test(a_level_weighs_what_its_containers_request),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(a_group_is_dropped_with_its_subtree),
		cmocka_unit_test(others_leave_before_the_owner_arrives),
		cmocka_unit_test(cycles_are_broken),
		cmocka_unit_test(owner_with_two_cpus_needs_no_spare_cpu),
		cmocka_unit_test(free_root_cpus_are_used_for_parking),
		cmocka_unit_test(a_list_beyond_the_root_counts_as_the_kernel_takes_it),
		cmocka_unit_test(nobody_is_parked_twice),
		cmocka_unit_test(without_a_free_cpu_the_ledger_wins),
		cmocka_unit_test(memory_nodes_grow_before_and_shrink_after),
		cmocka_unit_test(a_list_beyond_the_root_is_rewritten),
		cmocka_unit_test(cpus_that_the_root_loses_are_used_to_move),
		cmocka_unit_test(all_that_is_unwanted_is_removed),
		cmocka_unit_test(the_root_and_tasks_are_kept),
		cmocka_unit_test(no_list_is_emptied),
		cmocka_unit_test(unwanted_pods_keep_their_lists),
		cmocka_unit_test(unwanted_groups_are_removed_leaves_first),
		cmocka_unit_test(unwanted_but_populated_groups_lose_exclusive_cpus),
		cmocka_unit_test(tasks_without_a_list_are_bounded_first),
		cmocka_unit_test(tasks_without_a_list_get_one),
		cmocka_unit_test(tasks_without_a_list_are_bounded_first_in_any_order),
		cmocka_unit_test(root_widens_before_and_narrows_after),
		cmocka_unit_test(member_comes_before_the_list_changes),
		cmocka_unit_test(memory_limits_are_compared_in_pages),
		cmocka_unit_test_teardown(random_plans, say_seed),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
