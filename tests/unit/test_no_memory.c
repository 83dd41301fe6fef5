// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Memory that runs out. Each call is made with its first allocation refused, then with its
 * second, and so on until none is refused. A refused one must be reported as -ENOMEM, must
 * leave the ledger and the outputs as they were, and must lose nothing that was allocated
 * before it. The Makefile lets the linker replace the allocators of the core by those here.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "chance.h"
#include "core/plan/plan.h"
#include "memory_scene.h"

/* --- allocators ------------------------------------------------------------------------------- */

static bool may_run_out; /* a call is being tried */
static uint32_t nr_left; /* allocations of it that succeed before one is refused */
static bool has_run_out;
static long nr_live; /* allocated and not yet freed */

static bool is_refused(void)
{
	if (!may_run_out || has_run_out)
		return false;
	has_run_out = !nr_left;
	nr_left -= !has_run_out;
	return has_run_out;
}

static void *counted(void *memory)
{
	nr_live += memory != NULL;
	return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_reallocarray(void *old, size_t nr, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t nr, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return is_refused() ? NULL : counted(__real_calloc(nr, size));
}

/* What shrinks asks for no memory. */
void *__wrap_reallocarray(void *old, size_t nr, size_t size)
{
	const bool shrinks = old && nr * size <= malloc_usable_size(old);
	void *changed = !shrinks && is_refused() ? NULL : __real_reallocarray(old, nr, size);

	return old ? changed : counted(changed);
}

void *__wrap_realloc(void *old, size_t size)
{
	return __wrap_reallocarray(old, 1, size);
}

char *__wrap_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = __wrap_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void __wrap_free(void *memory)
{
	nr_live -= memory != NULL;
	__real_free(memory);
}

/* --- a call that is tried again and again ----------------------------------------------------- */

struct world {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	const struct pod_spec *spec; /* the pod that comes */
	const char *uid;	     /* a pod that is there */
};

/* 0 or an error, with the outputs of an error unchanged; what it allocates it frees as well. */
typedef int (*core_call)(struct world *world);

#define MAX_PODS 8

/* All that a failed call must leave alone; of the pods their records, which never change. */
struct snapshot {
	uint32_t nr_pods;
	const struct ledger_pod *pods[MAX_PODS];
	struct cpuset shared;
	struct memory_state memory;
	const struct policy *policy;
};

static void take_snapshot(const struct ledger *ledger, struct snapshot *ret_snapshot)
{
	*ret_snapshot = (struct snapshot){
		.nr_pods = ledger_nr_pods(ledger),
		.shared = *ledger_shared_pool(ledger),
		.memory = *ledger_memory_state(ledger),
		.policy = ledger_policy(ledger),
	};
	assert_true(ret_snapshot->nr_pods <= MAX_PODS);
	for (uint32_t i = 0; i < ret_snapshot->nr_pods; i++)
		ret_snapshot->pods[i] = ledger_pod_at(ledger, i);
}

static void assert_unchanged(struct world *world, const struct snapshot *before)
{
	struct snapshot after;

	take_snapshot(world->ledger, &after);
	assert_int_equal(after.nr_pods, before->nr_pods);
	for (uint32_t i = 0; i < after.nr_pods; i++)
		assert_ptr_equal(after.pods[i], before->pods[i]);
	assert_true(cpuset_equal(&after.shared, &before->shared));
	assert_true(memory_state_equal(ledger_memory_manager(world->ledger), &after.memory,
				       &before->memory));
	assert_ptr_equal(after.policy, before->policy);
	/* No transaction is open. */
	assert_int_equal(ledger_begin(world->ledger), 0);
	ledger_abort(world->ledger);
	assert_sound(world->ledger);
}

/* Returns the number of allocations that were refused one after the other. */
static uint32_t run_out(struct world *world, core_call call)
{
	struct snapshot before;

	take_snapshot(world->ledger, &before);
	for (uint32_t i = 0;; i++) {
		long nr_before = nr_live;
		int r;

		nr_left = i;
		has_run_out = false;
		may_run_out = true;
		r = call(world);
		may_run_out = false;
		if (!has_run_out) {
			assert_int_equal(r, 0);
			return i;
		}
		if (r != -ENOMEM)
			fail_msg("allocation %u is refused, and %d is reported", i, r);
		if (nr_live != nr_before)
			fail_msg("allocation %u is refused, and %ld are lost", i,
				 nr_live - nr_before);
		assert_unchanged(world, &before);
	}
}

/* An output that a call has to leave alone if it fails. */
static void spoil(void *output, size_t size)
{
	memset(output, 0x55, size);
}

static void assert_spoilt(const void *output, size_t size)
{
	const unsigned char *bytes = output;

	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], 0x55);
}

/* --- calls ------------------------------------------------------------------------------------ */

static int prepare(struct world *world)
{
	struct decision decision;
	int r;

	spoil(&decision, sizeof(decision));
	r = admit_prepare(world->ledger, world->spec, &decision);
	if (r)
		assert_spoilt(&decision, sizeof(decision));
	ledger_abort(world->ledger);
	return r;
}

/* Room for the records may grow in a call that fails, so a ledger is made for each. */
static int restore_all(struct world *world)
{
	struct ledger *ledger cleanup_ledger = NULL;
	char error[256] = "";
	int r = ledger_new(world->topology, &world->policy, error, sizeof(error), &ledger);

	if (r)
		assert_null(ledger);
	for (uint32_t i = 0; !r && i < ledger_nr_pods(world->ledger); i++)
		r = ledger_restore(ledger, ledger_pod_at(world->ledger, i), error, sizeof(error));
	if (!r)
		r = ledger_set_state(ledger, world->uid, POD_ENDING, "leaves");
	if (!r)
		r = ledger_remove(ledger, world->uid);
	return r;
}

static int trace_coming(struct world *world)
{
	struct trace trace;

	return trace_request(world->ledger, world->spec, &trace);
}

static int trace_present(struct world *world)
{
	struct trace traces[POD_MAX_CONTAINERS];
	bool same;
	int r;

	spoil(&same, sizeof(same));
	r = trace_grant(world->ledger, world->uid, traces, &same);
	if (r)
		assert_spoilt(&same, sizeof(same));
	return r;
}

static int plan_all(struct world *world)
{
	static const struct plan_layout layout = {.root = "pinfold.slice", .systemd = true};
	struct group_tree desired cleanup_tree = {0};
	struct group_tree observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};
	int r = plan_desired(world->ledger, &layout, NULL, &desired);

	if (r) {
		assert_null(desired.groups);
		return r;
	}
	/* One group is there with other contents, the rest has to be made. */
	if (!group_tree_add(&observed, GROUP_ROOT, layout.root))
		return -ENOMEM;
	observed.groups[0].files[GROUP_CPUSET_CPUS] = strdup("0");
	if (!observed.groups[0].files[GROUP_CPUSET_CPUS])
		return -ENOMEM;
	r = plan_make(&desired, &observed, &plan);
	if (r)
		assert_null(plan.steps);
	return r;
}

/* --- worlds ----------------------------------------------------------------------------------- */

static struct world open_world(struct topology *topology, const struct policy *policy)
{
	return (struct world){.topology = topology, .policy = *policy};
}

static void close_world(struct world *world)
{
	ledger_free(world->ledger);
	topology_free(world->topology);
}

static struct pod_spec *with_memory(const char *uid, int64_t cpus, int64_t bytes, int64_t pages)
{
	struct pod_spec *spec = guaranteed_pod(uid, cpus);
	struct container_spec *container = &spec->containers[0];

	container->request.memory_bytes = container->limit.memory_bytes = bytes;
	if (pages)
		ask_pages(container, PAGE_2M, pages);
	return spec;
}

/* `nr` nodes of four CPUs, 8 GiB of memory and 1 GiB of pages. */
static struct topology *machine(uint32_t nr)
{
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{0}};
	struct topology_cpu cpus[4 * TOPOLOGY_MAX_NODES] = {{0}};
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = (size_t)nr * 4,
		.nodes = nodes,
		.nr_nodes = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	for (uint32_t i = 0; i < nr; i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = (uint64_t)(9 * GIB),
			.nr_hugepages = 1,
			.hugepages = {{PAGE_2M, 512, UINT64_MAX}},
		};
	for (uint32_t i = 0; i < facts.nr_cpus; i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i, .node = i / 4, .socket = i / 4};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

/* Every call with every pod that comes; all of them allocate. */
static void try_calls(struct world *world, struct pod_spec *const *specs, uint32_t nr_specs)
{
	static const core_call of_specs[] = {prepare, trace_coming};
	static const core_call others[] = {restore_all, trace_present, plan_all};

	for (uint32_t i = 0; i < nr_specs; i++) {
		world->spec = specs[i];
		for (size_t j = 0; j < ARRAY_SIZE(of_specs); j++)
			assert_true(run_out(world, of_specs[j]) > 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(run_out(world, others[i]) > 0);
}

/*
 * Nodes with memory under each policy of alignment, both few and so many that hints are not
 * all listed: pods that fit, that replace another, and that are refused with every kind of
 * suggestion.
 */
static void memory_runs_out(void **state)
{
	static const uint32_t sizes[] = {2, 3, 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ALIGN_NR * ALIGN_SCOPE_NR; i++) {
		struct policy policy = strict_policy("0");
		struct pod_spec *specs[] = {
			with_memory("p", 2, 3 * GIB, GIB),   with_memory("p", 2, 10 * GIB, 0),
			with_memory("a", 1, 2 * GIB, 0),     with_memory("p", 3, 7 * GIB, GIB),
			with_memory("p", 500, GIB, 0),	     with_memory("p", 1, 500 * GIB, 0),
			with_memory("p", 1, GIB, 500 * GIB), with_memory("a", 4, 7 * GIB, 0),
			with_memory("a", 500, 7 * GIB, 0),   with_memory("a", 1, 7 * GIB, 0),
		};
		struct world world;

		policy.memory = MEMORY_POLICY_STATIC;
		policy.align = (enum align_policy)(i % ALIGN_NR);
		policy.scope = (enum align_scope)(i / ALIGN_NR % ALIGN_SCOPE_NR);
		world = open_world(machine(sizes[i / ALIGN_NR / ALIGN_SCOPE_NR]), &policy);
		world.ledger = scene_ledger(world.topology, &world.policy);
		world.uid = "a";
		assert_true(admit_and_free(world.ledger, with_memory("a", 3, 7 * GIB, 0)).admitted);
		assert_true(admit_and_free(world.ledger, with_memory("b", 1, 6 * GIB, 0)).admitted);
		try_calls(&world, specs, ARRAY_SIZE(specs));
		for (size_t j = 0; j < ARRAY_SIZE(specs); j++)
			pod_spec_free(specs[j]);
		close_world(&world);
	}
}

/*
 * Two containers, or a budget of `cpus` in which one is exclusive; resizing such a pod aligns each
 * container or all of them.
 */
static struct pod_spec *resized(int64_t cpus, bool has_budget)
{
	struct pod_spec *spec = scene_pod("p");

	add_container(spec, "first", CONTAINER_APP, cpus * 500, cpus * 500);
	add_container(spec, "second", CONTAINER_APP, has_budget ? 500 : cpus * 500,
		      has_budget ? RESOURCE_UNSET : cpus * 500);
	if (has_budget)
		set_budget(spec, cpus);
	return spec;
}

/* A pod that grows, one that shrinks again, and sizes that are refused. */
static void memory_runs_out_in_a_resize(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)ALIGN_NR * ALIGN_SCOPE_NR; i++) {
		static const int64_t sizes[] = {6, 2, 10, 40};
		bool has_budget = i / ALIGN_NR / ALIGN_SCOPE_NR;
		struct policy policy = strict_policy("0");
		struct world world;
		uint32_t nr_refused = 0;

		policy.align = (enum align_policy)(i % ALIGN_NR);
		policy.scope = (enum align_scope)(i / ALIGN_NR % ALIGN_SCOPE_NR);
		/* All sets of nodes are listed, for which memory is needed. */
		policy.prefer_closest_nodes = true;
		world = open_world(machine(3), &policy);
		world.ledger = scene_ledger(world.topology, &world.policy);
		assert_true(admit_and_free(world.ledger, resized(2, has_budget)).admitted);
		assert_true(admit_and_free(world.ledger, burstable_pod("web")).admitted);
		/* Refused where that is more than one node has. */
		admit_and_free(world.ledger, resized(4, has_budget));
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
			struct pod_spec *spec cleanup_pod_spec = resized(sizes[j], has_budget);

			world.spec = spec;
			nr_refused += run_out(&world, prepare);
		}
		assert_true(nr_refused > 0);
		close_world(&world);
	}
}

/* With the memory that it has, the pod would be resized, which is tried as a suggestion. */
static void memory_runs_out_in_a_suggested_resize(void **state)
{
	struct policy policy = strict_policy("0");
	struct pod_spec *spec cleanup_pod_spec = with_memory("a", 3, 9 * GIB, 0);
	struct world world;

	(void)state;
	policy.memory = MEMORY_POLICY_STATIC;
	world = open_world(machine(1), &policy);
	world.ledger = scene_ledger(world.topology, &world.policy);
	world.spec = spec;
	assert_true(admit_and_free(world.ledger, with_memory("a", 2, 8 * GIB, 0)).admitted);
	assert_true(run_out(&world, prepare) > 0);
	close_world(&world);
}

/* Random machines, policies and pods, some of which are refused. */
static void memory_runs_out_anywhere(void **state)
{
	struct chance chance = {1};

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct topology *topology = chance_machine(&chance);
		struct policy policy = chance_policy(&chance, topology);
		struct world world = open_world(topology, &policy);
		struct pod_spec *specs[3];

		world.policy.may_empty_shared_pool = true;
		world.ledger = scene_ledger(world.topology, &world.policy);
		for (uint32_t j = 0; j < 6; j++) {
			char uid[8];

			snprintf(uid, sizeof(uid), "p%u", j);
			admit_and_free(world.ledger, chance_pod(&chance, uid, 3));
		}
		assert_true(admit_and_free(world.ledger, burstable_pod("web")).admitted);
		world.uid = ledger_pod_at(world.ledger, 0)->spec->uid;
		specs[0] = chance_pod(&chance, "new", 3);
		specs[1] = chance_pod(&chance, "web", 2);
		specs[2] = guaranteed_pod("new", topology->num_cpus);
		try_calls(&world, specs, ARRAY_SIZE(specs));
		for (size_t j = 0; j < ARRAY_SIZE(specs); j++)
			pod_spec_free(specs[j]);
		close_world(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_runs_out),
		cmocka_unit_test(memory_runs_out_in_a_resize),
		cmocka_unit_test(memory_runs_out_in_a_suggested_resize),
		cmocka_unit_test(memory_runs_out_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
