// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/* The cgroups of example pods under several policies, as recorded in tests/data/trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../lib/golden.h"
#include "plan_scene.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_as_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
