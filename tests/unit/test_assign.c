// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* The steps of an assignment, and the types and numbers of each outcome. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/admit/assign.h"
#include "scene.h"

/* Two sockets of one node with eight CPUs each; CPU 0 is reserved. */
struct stage {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct cpu_reuse reuse;
	struct assignment assignment;
};

static void open_stage(struct stage *stage, enum align_policy align, enum align_scope scope)
{
	stage->topology = scene_machine(2, 1, 8, 1);
	stage->policy = strict_policy("0");
	stage->policy.align = align;
	stage->policy.scope = scope;
	stage->ledger = scene_ledger(stage->topology, &stage->policy);
	stage->reuse = (struct cpu_reuse){.uid = ""};
}

static void close_stage(struct stage *stage)
{
	ledger_free(stage->ledger);
	topology_free(stage->topology);
}

/*
 * The pod may be freed afterwards, because the ledger has a copy. Whatever an earlier
 * assignment left is forgotten: its results, and the memory that its pod could use again.
 */
static void begin(struct stage *stage, struct pod_spec *spec)
{
	struct assignment *assignment = &stage->assignment;

	*assignment = (struct assignment){
		.outcome = ASSIGN_NO_MEMORY,
		.cpu_result = CPU_NOT_ENOUGH,
		.memory_result = MEMORY_GROUP,
		.nr_done = 7,
		.memory_reuse = {.uid = "pod", .nr = 1},
	};
	assert_int_equal(ledger_begin(stage->ledger), 0);
	assert_int_equal(assign_new(assignment, stage->ledger, spec, &stage->reuse), 0);
	assert_true(assign_is_open(assignment));
	assert_int_equal(assignment->cpu_result, CPU_OK);
	assert_int_equal(assignment->memory_result, MEMORY_OK);
	assert_string_equal(assignment->memory_reuse.uid, "");
	assert_int_equal(assignment->memory_reuse.nr, 0);
	pod_spec_free(spec);
}

static struct pod_spec *pod_of_two(int64_t first, int64_t second)
{
	struct pod_spec *spec = scene_pod("pod");

	add_container(spec, "a", CONTAINER_APP, first * 1000, first * 1000);
	add_container(spec, "b", CONTAINER_APP, second * 1000, second * 1000);
	return spec;
}

static unsigned int nr_held(const struct stage *stage)
{
	return cpuset_count(stage->assignment.pod->held);
}

static void each_container_is_a_step(void **state)
{
	struct stage stage;
	struct assignment *assignment = &stage.assignment;

	(void)state;
	open_stage(&stage, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	begin(&stage, pod_of_two(7, 8));
	for (uint32_t i = 0; i < 2; i++) {
		unsigned int before = nr_held(&stage);

		assert_true(assign_is_open(assignment));
		assert_int_equal(assign_align(assignment), 0);
		assert_true(assignment->is_aligned);
		assert_int_equal(assignment->container, i);
		assert_int_equal(assignment->alignment.hint.nodes, 1 << i);
		/* The nodes are chosen, and nothing is allocated yet. */
		assert_int_equal(nr_held(&stage), before);
		assign_allocate(assignment);
		assert_int_equal(nr_held(&stage), 7 + i * 8);
	}
	assert_false(assign_is_open(assignment));
	assert_int_equal(assignment->outcome, ASSIGN_OK);
	ledger_abort(stage.ledger);
	close_stage(&stage);
}

static void pod_scope_is_one_step(void **state)
{
	struct stage stage;
	struct assignment *assignment = &stage.assignment;

	(void)state;
	open_stage(&stage, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_POD);
	begin(&stage, pod_of_two(3, 5));
	assert_int_equal(assign_align(assignment), 0);
	assert_int_equal(assignment->container, UINT32_MAX);
	assert_int_equal(assignment->alignment.hint.nodes, 2);
	assign_allocate(assignment);
	assert_false(assign_is_open(assignment));
	assert_int_equal(assignment->outcome, ASSIGN_OK);
	assert_cpus(assignment->pod->held, "8-15");
	ledger_abort(stage.ledger);
	close_stage(&stage);
}

/* Where nothing is aligned, there is no pod to align as a whole either. */
static void pod_scope_without_alignment_is_no_scope(void **state)
{
	struct stage stage;
	struct assignment *assignment = &stage.assignment;

	(void)state;
	open_stage(&stage, ALIGN_NONE, ALIGN_SCOPE_POD);
	begin(&stage, pod_of_two(3, 5));
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(assign_is_open(assignment));
		assert_int_equal(assign_align(assignment), 0);
		assert_int_equal(assignment->container, i);
		assign_allocate(assignment);
		assert_int_equal(nr_held(&stage), 3 + i * 5);
	}
	assert_false(assign_is_open(assignment));
	ledger_abort(stage.ledger);
	close_stage(&stage);
}

static void unaligned_pod_is_not_allocated(void **state)
{
	struct stage stage;
	struct assignment *assignment = &stage.assignment;

	(void)state;
	open_stage(&stage, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	begin(&stage, pod_of_two(2, 9));
	assert_int_equal(assign_finish(assignment), 0);
	assert_int_equal(assignment->outcome, ASSIGN_UNALIGNED);
	assert_int_equal(assignment->container, 1);
	assert_int_equal(assignment->offers.cpu.request, 9);
	/* A refused pod keeps what it was given before. */
	assert_int_equal(nr_held(&stage), 2);
	assign_allocate(assignment);
	assert_int_equal(nr_held(&stage), 2);
	assert_false(assign_is_open(assignment));
	ledger_abort(stage.ledger);
	close_stage(&stage);
}

static void too_few_cpus_come_with_numbers(void **state)
{
	struct stage stage;
	struct assignment *assignment = &stage.assignment;

	(void)state;
	open_stage(&stage, ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	begin(&stage, pod_of_two(10, 6));
	assert_int_equal(assign_finish(assignment), 0);
	assert_false(assignment->is_aligned);
	assert_int_equal(assignment->outcome, ASSIGN_NO_CPUS);
	assert_int_equal(assignment->cpu_result, CPU_NOT_ENOUGH);
	assert_int_equal(assignment->cpu_shortage.container, 1);
	assert_int_equal(assignment->cpu_shortage.wanted, 6);
	assert_int_equal(assignment->cpu_shortage.available, 5);
	ledger_abort(stage.ledger);
	close_stage(&stage);
}

static void the_last_shared_cpu_stays(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage, ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	begin(&stage, burstable_pod("shares"));
	assert_int_equal(assign_finish(&stage.assignment), 0);
	assert_int_equal(stage.assignment.outcome, ASSIGN_OK);
	ledger_commit(stage.ledger);
	begin(&stage, guaranteed_pod("takes", 15));
	assert_int_equal(assign_finish(&stage.assignment), 0);
	assert_int_equal(stage.assignment.outcome, ASSIGN_LAST_SHARED_CPU);
	ledger_abort(stage.ledger);
	/* once more, replacing the shared pod */
	begin(&stage, guaranteed_pod("shares", 15));
	assert_int_equal(assign_finish(&stage.assignment), 0);
	assert_int_equal(stage.assignment.outcome, ASSIGN_OK);
	assert_cpus(stage.assignment.pod->held, "1-15");
	ledger_abort(stage.ledger);
	assert_sound(stage.ledger);
	close_stage(&stage);
}

/* Whoever shares keeps a CPU, unless the policy or the kubelet's rule says otherwise. */
static void who_may_take_the_last_shared_cpu(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4 * COMPATIBILITY_NR; i++) {
		bool may_empty = i & 1, is_shared = i & 2;
		enum assign_outcome wanted = ASSIGN_OK;
		struct stage stage;

		open_stage(&stage, ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
		stage.policy.may_empty_shared_pool = may_empty;
		stage.policy.compatibility = (enum compatibility)(i / 4);
		if (is_shared && !may_empty &&
		    !compatibility_is_kubelet(stage.policy.compatibility))
			wanted = ASSIGN_LAST_SHARED_CPU;
		if (is_shared)
			assert_true(admit_and_free(stage.ledger, burstable_pod("shares")).admitted);
		begin(&stage, pod_of_two(7, 7));
		assert_int_equal(assign_finish(&stage.assignment), 0);
		assert_int_equal(stage.assignment.outcome, ASSIGN_OK);
		ledger_abort(stage.ledger);
		begin(&stage, pod_of_two(7, 8));
		assert_int_equal(assign_finish(&stage.assignment), 0);
		assert_int_equal(stage.assignment.outcome, wanted);
		ledger_abort(stage.ledger);
		close_stage(&stage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_container_is_a_step),
		cmocka_unit_test(pod_scope_is_one_step),
		cmocka_unit_test(pod_scope_without_alignment_is_no_scope),
		cmocka_unit_test(unaligned_pod_is_not_allocated),
		cmocka_unit_test(too_few_cpus_come_with_numbers),
		cmocka_unit_test(the_last_shared_cpu_stays),
		cmocka_unit_test(who_may_take_the_last_shared_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
