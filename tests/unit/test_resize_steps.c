// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The steps of a resize in place: what is aligned and with what, which step is refused, and which
 * size is suggested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "memory_scene.h"
#include "resize_scene.h"

static const struct ledger_pod *pod_of(const struct scene *scene, const char *uid)
{
	const struct ledger_pod *pod = ledger_find(scene->ledger, uid);

	assert_non_null(pod);
	return pod;
}

/* Like two(), and with a third container. */
static struct pod_spec *three(int64_t first, int64_t second, int64_t third)
{
	struct pod_spec *spec = two(first, second);

	add_container(spec, "third", CONTAINER_APP, third * 1000, third * 1000);
	return spec;
}

/* --- alignment -------------------------------------------------------------------------------- */

/*
 * Four nodes of four CPUs without threads; CPU 0 is reserved. "rest" holds two CPUs of the last
 * node, which therefore has the fewest free ones, and nobody anything of nodes 1 and 2.
 */
static void set_up_nodes(struct scene *scene, enum align_policy align, enum align_scope scope)
{
	static const char *const uids[] = {"a", "b", "c", "rest"};
	static const int64_t sizes[] = {3, 4, 4, 2};

	scene->topology = scene_machine(4, 1, 4, 1);
	scene->policy = strict_policy("0");
	scene->policy.align = ALIGN_BEST_EFFORT;
	scene->ledger = scene_ledger(scene->topology, &scene->policy);
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
		assert_true(admit_pods(scene, guaranteed_pod(uids[i], sizes[i])).admitted);
	assert_has(scene, "rest", 0, "12-13");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(ledger_remove(scene->ledger, uids[i]), 0);
	scene->policy.align = align;
	scene->policy.scope = scope;
}

static void the_aligned_nodes_are_used_first(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_nodes(&scene, ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 3)).admitted);
	assert_has(&scene, "p", 0, "1-3");
	assert_true(admit_pods(&scene, guaranteed_pod("p", 5)).admitted);
	assert_has(&scene, "p", 0, "1-5");
	assert_true(grant_of(&scene, "p", 0)->affinity.known);
	assert_int_equal(grant_of(&scene, "p", 0)->affinity.nodes, 3);
}

/* Without alignment the last CPUs of a node are used up first. */
static void without_alignment_any_node_is_used(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_nodes(&scene, ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	scene.policy.align = ALIGN_RESTRICTED;
	assert_true(admit_pods(&scene, guaranteed_pod("p", 3)).admitted);
	assert_has(&scene, "p", 0, "1-3");
	scene.policy.align = ALIGN_NONE;
	assert_true(admit_pods(&scene, guaranteed_pod("p", 5)).admitted);
	assert_has(&scene, "p", 0, "1-3,14-15");
	assert_false(grant_of(&scene, "p", 0)->affinity.known);
}

/* With scope pod one set of nodes is for all that the containers get in addition. */
static void a_pod_is_aligned_as_a_whole(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_nodes(&scene, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
	assert_true(admit_pods(&scene, two(2, 1)).admitted);
	assert_cpus(pod_of(&scene, "p")->held, "1-3");
	/* Five CPUs need two nodes, so two are as good as any set. */
	assert_true(admit_pods(&scene, two(3, 2)).admitted);
	assert_cpus(pod_of(&scene, "p")->held, "1-5");
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(grant_of(&scene, "p", i)->affinity.known);
		assert_int_equal(grant_of(&scene, "p", i)->affinity.nodes, 3);
	}
}

/* All that nodes 0 and 1 have: one CPU more would need a third node. */
static void only_what_grows_counts(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *small = three(1, 1, 1), *large = three(3, 3, 1);

	(void)state;
	set_up_nodes(&scene, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
	add_container(small, "shared", CONTAINER_APP, 500, 500);
	add_container(large, "shared", CONTAINER_APP, 500, 500);
	assert_true(admit_pods(&scene, small).admitted);
	assert_cpus(pod_of(&scene, "p")->held, "1-3");
	assert_true(admit_pods(&scene, large).admitted);
	assert_cpus(pod_of(&scene, "p")->held, "1-7");
	assert_int_equal(cpuset_count(grant_of(&scene, "p", 2)->cpus), 1);
	assert_int_equal(grant_of(&scene, "p", 3)->isolation, ISOLATION_HOST);
	assert_cpus(grant_of(&scene, "p", 3)->cpus, "");
}

/*
 * The nodes are chosen for the CPUs that the pod will have: five or seven, for which two nodes are
 * the smallest set in each row.
 */
static void all_kinds_of_containers_count(void **state)
{
	static const struct {
		enum container_kind kind; /* of the first container; the second is an app's */
		int64_t small[2], large[2];
		uint32_t grown; /* the container that grows */
	} rows[] = {
		{CONTAINER_INIT, {1, 3}, {5, 3}, 0},
		{CONTAINER_SIDECAR, {1, 2}, {3, 2}, 0},
		/* The init container leaves two, so the pod needs five CPUs and not nine. */
		{CONTAINER_INIT, {3, 1}, {3, 5}, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene scene cleanup_scene = {0};
		struct pod_spec *small = two(rows[i].small[0], rows[i].small[1]);
		struct pod_spec *large = two(rows[i].large[0], rows[i].large[1]);
		const struct grant *grant;

		small->containers[0].kind = large->containers[0].kind = rows[i].kind;
		set_up_nodes(&scene, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
		assert_true(admit_pods(&scene, small).admitted);
		assert_cpus(pod_of(&scene, "p")->held, "1-3");
		assert_true(admit_pods(&scene, large).admitted);
		grant = grant_of(&scene, "p", rows[i].grown);
		assert_int_equal(cpuset_count(grant->cpus), rows[i].large[rows[i].grown]);
		assert_true(grant->affinity.known);
		assert_int_equal(grant->affinity.nodes, 3);
	}
}

static void containers_keep_their_own_nodes(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_SINGLE_NUMA_NODE);
	assert_true(admit_pods(&scene, two(10, 10)).admitted);
	assert_has(&scene, "p", 0, "1-5,17-21");
	assert_has(&scene, "p", 1, "8-12,24-28");
	/* The node of the first has four more, that of the second six. */
	assert_true(admit_pods(&scene, two(11, 12)).admitted);
	assert_has(&scene, "p", 0, "1-6,17-21");
	assert_has(&scene, "p", 1, "8-13,24-29");
	decision = admit_pods(&scene, two(11, 17));
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_string_equal(decision.container, "second");
	assert_int_equal(decision.wanted, 17);
	assert_int_equal(decision.available, 16);
	decision = admit_pods(&scene, two(15, 13));
	assert_string_equal(decision.container, "first");
	/* More than the machine has is more than the node has. */
	decision = admit_pods(&scene, two(11, 40));
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_has(&scene, "p", 1, "8-13,24-29");
}

/* The first container has CPUs of two nodes, which no policy after the reload would give it. */
static void set_up_spread(struct scene *scene, enum align_scope scope)
{
	set_up(scene, ALIGN_NONE);
	assert_true(admit_pods(scene, guaranteed_pod("other", 10)).admitted);
	assert_true(admit_pods(scene, two(2, 2)).admitted);
	assert_cpus(ledger_find(scene->ledger, "p")->held, "6-7,22-23");
	assert_true(admit_pods(scene, two(10, 2)).admitted);
	assert_int_equal(ledger_remove(scene->ledger, "other"), 0);
	scene->policy.align = ALIGN_SINGLE_NUMA_NODE;
	scene->policy.scope = scope;
}

static void what_shrinks_is_not_aligned_again(void **state)
{
	(void)state;
	for (int scope = 0; scope < ALIGN_SCOPE_NR; scope++) {
		struct scene scene cleanup_scene = {0};

		set_up_spread(&scene, (enum align_scope)scope);
		assert_true(admit_pods(&scene, two(8, 2)).admitted);
		assert_true(admit_pods(&scene, two(2, 2)).admitted);
	}
}

static void what_keeps_its_size_is_not_aligned_again(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct cpuset cpus;

	(void)state;
	set_up_spread(&scene, ALIGN_SCOPE_CONTAINER);
	cpus = *grant_of(&scene, "p", 0)->cpus;
	assert_true(admit_pods(&scene, two(10, 4)).admitted);
	assert_true(cpuset_equal(grant_of(&scene, "p", 0)->cpus, &cpus));
	assert_false(grant_of(&scene, "p", 0)->affinity.known);
	assert_true(grant_of(&scene, "p", 1)->affinity.known);
	/* What grows is. */
	assert_int_equal(admit_pods(&scene, two(11, 4)).refusal, REFUSAL_TOPOLOGY);
}

/* --- alignment of a bubble -------------------------------------------------------------------- */

static void a_bubble_is_aligned_when_it_grows(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up_nodes(&scene, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
	assert_true(admit_pods(&scene, budget(3, 2)).admitted);
	assert_true(admit_pods(&scene, budget(5, 2)).admitted);
	assert_cpus(pod_of(&scene, "p")->bubble, "1-5");
	/* Eight CPUs would fit on two nodes, but CPU 0 is reserved. */
	decision = admit_pods(&scene, budget(8, 2));
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_string_equal(decision.container, "");
	assert_int_equal(decision.wanted, 8);
	assert_string_equal(decision.suggestion, "fits with a pod budget of 7 CPUs");
	decision = admit_pods(&scene, budget(8, 3));
	assert_string_equal(decision.suggestion, "fits with a pod budget of 7 CPUs");
	decision = admit_pods(&scene, budget(40, 3));
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_cpus(pod_of(&scene, "p")->bubble, "1-5");
}

/* The bubble stays on two nodes, of which the policy would give only one. */
static void a_slice_grows_in_its_bubble(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up_nodes(&scene, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
	assert_true(admit_pods(&scene, budget(5, 2)).admitted);
	scene.policy.align = ALIGN_SINGLE_NUMA_NODE;
	assert_true(admit_pods(&scene, budget(5, 3)).admitted);
	assert_int_equal(cpuset_count(grant_of(&scene, "p", 0)->cpus), 3);
	assert_int_equal(cpuset_count(grant_of(&scene, "p", 1)->cpus), 2);
	assert_true(admit_pods(&scene, budget(5, 2)).admitted);
}

/* --- alignment with memory -------------------------------------------------------------------- */

static struct pod_spec *with_memory(struct pod_spec *spec, uint32_t container, int64_t gib)
{
	spec->containers[container].request.memory_bytes = gib * GIB;
	spec->containers[container].limit.memory_bytes = gib * GIB;
	return spec;
}

/*
 * Two nodes of 8 CPUs and 16 GiB; CPU 0 is reserved. Another pod has `other` GiB of node 0. Without
 * alignment the memory of a container may be on node 1 although all CPUs are on node 0.
 */
static void set_up_memory(struct scene *scene, int64_t other, struct pod_spec *spec)
{
	scene->topology = memory_machine_even(2, 8, 1, 16);
	scene->policy = strict_policy("0");
	scene->policy.memory = MEMORY_POLICY_STATIC;
	scene->ledger = scene_ledger(scene->topology, &scene->policy);
	assert_true(admit_pods(scene, with_memory(guaranteed_pod("other", 1), 0, other)).admitted);
	assert_true(admit_pods(scene, spec).admitted);
}

/* The pod with other sizes and the memory that it has. */
static struct decision resize_with_memory(struct scene *scene, int64_t first, int64_t second)
{
	struct pod_spec *spec = pod_spec_copy(pod_of(scene, "p")->spec);

	spec->containers[0].request.cpu_mcpu = spec->containers[0].limit.cpu_mcpu = first * 1000;
	spec->containers[1].request.cpu_mcpu = spec->containers[1].limit.cpu_mcpu = second * 1000;
	return admit_pods(scene, spec);
}

static void a_container_is_aligned_with_its_memory(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up_memory(&scene, 1, with_memory(with_memory(two(2, 2), 0, 10), 1, 10));
	assert_cpus(pod_of(&scene, "p")->held, "2-5");
	assert_int_equal(grant_of(&scene, "p", 0)->mems, 1);
	assert_int_equal(grant_of(&scene, "p", 1)->mems, 2);
	scene.policy.align = ALIGN_SINGLE_NUMA_NODE;
	assert_true(resize_with_memory(&scene, 3, 2).admitted);
	/* Its CPUs are on node 0, and its memory is on node 1. */
	decision = resize_with_memory(&scene, 3, 3);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_string_equal(decision.container, "second");
}

/* In whichever order the nodes are. */
static void a_pod_is_aligned_with_the_memory_of_all(void **state)
{
	static const int64_t sizes[2][3] = {{1, 10, 10}, {10, 10, 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct scene scene cleanup_scene = {0};

		set_up_memory(&scene, sizes[i][0],
			      with_memory(with_memory(two(2, 2), 0, sizes[i][1]), 1, sizes[i][2]));
		assert_cpus(pod_of(&scene, "p")->held, "2-5");
		assert_int_equal(grant_of(&scene, "p", 0)->mems, i ? 2 : 1);
		assert_int_equal(grant_of(&scene, "p", 1)->mems, i ? 1 : 2);
		scene.policy.scope = ALIGN_SCOPE_POD;
		scene.policy.align = ALIGN_SINGLE_NUMA_NODE;
		assert_int_equal(resize_with_memory(&scene, 3, 2).refusal, REFUSAL_TOPOLOGY);
		scene.policy.align = ALIGN_BEST_EFFORT;
		assert_true(resize_with_memory(&scene, 3, 2).admitted);
	}
}

/* A restart with another policy leaves the nodes in the record, but memory is not pinned there. */
static void memory_that_is_not_pinned_has_no_nodes(void **state)
{
	struct scene scene cleanup_scene = {0}, later cleanup_scene = {0};
	struct ledger_pod record;
	struct grant grants[2];
	char error[256] = "";

	(void)state;
	set_up_memory(&scene, 10, with_memory(with_memory(two(2, 2), 0, 2), 1, 2));
	record = *pod_of(&scene, "p");
	memcpy(grants, record.grants, sizeof(grants));
	record.grants = grants;
	later.topology = memory_machine_even(2, 8, 1, 16);
	later.policy = strict_policy("0");
	later.policy.align = ALIGN_SINGLE_NUMA_NODE;
	later.ledger = scene_ledger(later.topology, &later.policy);
	grants[0].mems = grants[1].mems = 2;
	if (ledger_restore(later.ledger, &record, error, sizeof(error)))
		fail_msg("restore: %s", error);
	assert_true(resize_with_memory(&later, 3, 2).admitted);
	assert_has(&later, "p", 0, "1-3");
}

/* The app container uses the memory that the init container leaves, and the node stays. */
static void an_init_container_is_aligned_with_its_memory(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *spec = two(2, 2);
	struct decision decision;

	(void)state;
	spec->containers[0].kind = CONTAINER_INIT;
	set_up_memory(&scene, 10, with_memory(with_memory(spec, 0, 10), 1, 10));
	assert_int_equal(grant_of(&scene, "p", 0)->mems, 2);
	scene.policy.align = ALIGN_SINGLE_NUMA_NODE;
	decision = resize_with_memory(&scene, 3, 2);
	assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
	assert_string_equal(decision.container, "first");
}

/* --- what is refused -------------------------------------------------------------------------- */

/* A later step must not hide the first one that was refused. */
static void the_first_container_that_does_not_fit_is_named(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, two(4, 2)).admitted);
	assert_true(admit_pods(&scene, two(6, 4)).admitted);
	decision = admit_pods(&scene, two(40, 5));
	assert_string_equal(decision.container, "first");
	assert_int_equal(decision.cpu_result, CPU_NOT_ENOUGH);
	assert_int_equal(decision.wanted, 40);
	decision = admit_pods(&scene, two(2, 2));
	assert_string_equal(decision.container, "first");
	assert_int_equal(decision.cpu_result, CPU_BELOW_BASELINE);
	assert_int_equal(decision.wanted, 2);
	decision = admit_pods(&scene, two(7, 1));
	assert_string_equal(decision.container, "second");
	assert_int_equal(decision.cpu_result, CPU_BELOW_BASELINE);
}

/* Nor must an alignment that is tried later. */
static void half_a_core_is_named_before_alignment(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_SINGLE_NUMA_NODE);
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, two(2, 2)).admitted);
	decision = admit_pods(&scene, two(3, 20));
	assert_int_equal(decision.refusal, REFUSAL_SMT);
	assert_string_equal(decision.container, "first");
}

static void a_bubble_that_does_not_fit_is_named(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_BEST_EFFORT);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	decision = admit_pods(&scene, budget(4, 5));
	assert_int_equal(decision.refusal, REFUSAL_EMPTY_SHARED_POOL);
	assert_string_equal(decision.container, "");
	assert_int_equal(decision.wanted, 4);
	/* Beyond the baseline, and the slice would fit into the bubble as it is. */
	decision = admit_pods(&scene, budget(5, 4));
	assert_int_equal(decision.cpu_result, CPU_BELOW_BASELINE);
	assert_string_equal(decision.container, "");
	/* Four nodes of CPUs would be needed for it. */
	decision = admit_pods(&scene, budget(40, 5));
	assert_false(decision.admitted);
	assert_string_equal(decision.container, "");
	assert_int_equal(decision.wanted, 40);
}

/* The last shared CPU belongs to the containers that run there. */
static void the_last_shared_cpu_is_not_taken(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, burstable_pod("web")).admitted);
	assert_true(admit_pods(&scene, two(4, 4)).admitted);
	decision = admit_pods(&scene, two(4, 26));
	assert_int_equal(decision.refusal, REFUSAL_LAST_SHARED_CPU);
	assert_string_equal(decision.suggestion, "fits with 25 CPUs for container second");
	/* Without a gain in all nothing is taken from them. */
	scene.policy.may_empty_shared_pool = true;
	assert_true(admit_pods(&scene, two(4, 26)).admitted);
	scene.policy.may_empty_shared_pool = false;
	assert_true(admit_pods(&scene, two(5, 25)).admitted);
	assert_true(cpuset_is_empty(ledger_shared_pool(scene.ledger)));
	/* What gives back is not refused for a pool that was empty. */
	assert_true(admit_pods(&scene, two(5, 4)).admitted);
	/* The first takes all, but it is the second that gets too little. */
	decision = admit_pods(&scene, two(26, 5));
	assert_int_equal(decision.refusal, REFUSAL_CPUS);
	assert_string_equal(decision.container, "second");
}

static void nodes_and_cpus_are_counted(void **state)
{
	struct scene scene cleanup_scene = {0}, spread cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_SINGLE_NUMA_NODE);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 1)).admitted);
	assert_string_equal(admit_pods(&scene, guaranteed_pod("p", 15)).message,
			    "topologyManagerPolicy single-numa-node: container main asks for 15 "
			    "exclusive CPUs, but a resize in place keeps the NUMA nodes of its 1 "
			    "CPU, and 0 has 13 more free");
	set_up_spread(&spread, ALIGN_SCOPE_CONTAINER);
	assert_string_equal(admit_pods(&spread, two(11, 2)).message,
			    "topologyManagerPolicy single-numa-node: container first asks for 11 "
			    "exclusive CPUs, but a resize in place keeps the NUMA nodes of its 10 "
			    "CPUs, and 0-1 have 18 more free");
}

/* --- the nearest size ------------------------------------------------------------------------- */

/* Of the containers that grow, the first exclusive one is to be smaller. */
static void an_exclusive_container_is_to_be_smaller(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct pod_spec *small = scene_pod("p"), *large = scene_pod("p");
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	add_container(small, "shared", CONTAINER_APP, 500, 500);
	add_container(small, "main", CONTAINER_APP, 4000, 4000);
	add_container(large, "shared", CONTAINER_APP, 1500, 1500);
	add_container(large, "main", CONTAINER_APP, 30000, 30000);
	assert_true(admit_pods(&scene, small).admitted);
	decision = admit_pods(&scene, large);
	assert_int_equal(decision.refusal, REFUSAL_LAST_SHARED_CPU);
	assert_string_equal(decision.suggestion, "fits with 29 CPUs for container main");
}

/* The pod is refused as a whole: 14 CPUs of a node are not reserved. */
static void a_pod_that_does_not_fit_grows_less(void **state)
{
	static const struct {
		int64_t first, second;
		const char *suggestion;
	} rows[] = {
		{2, 14, "fits with 12 CPUs for container second"},
		{6, 12, "fits with 2 CPUs for container first"},
		{6, 9, "fits with 5 CPUs for container first"},
		/* Ten sizes are tried, and then the present one. */
		{14, 10, "fits with 4 CPUs for container first"},
		{14, 11, "fits with 2 CPUs for container first"},
		/* Even the present size of the first is too much. */
		{6, 13, ""},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_SINGLE_NUMA_NODE);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, two(1, 1)).admitted);
	assert_true(admit_pods(&scene, two(2, 2)).admitted);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct decision decision = admit_pods(&scene, two(rows[i].first, rows[i].second));

		assert_int_equal(decision.refusal, REFUSAL_TOPOLOGY);
		assert_string_equal(decision.suggestion, rows[i].suggestion);
	}
}

/* A budget that shrinks below what its exclusive containers and the others need. */
static void a_budget_shrinks_less(void **state)
{
	static const struct {
		int64_t pod, exclusive;
		const char *suggestion;
	} rows[] = {
		{14, 14, "fits with a pod budget of 15 CPUs"},
		/* Ten sizes are tried, and then the present one. */
		{14, 23, "fits with a pod budget of 24 CPUs"},
		{14, 24, "fits with a pod budget of 26 CPUs"},
		/* The present size is not enough either. */
		{14, 26, ""},
		{26, 26, ""},
	};
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_BEST_EFFORT);
	scene.policy.scope = ALIGN_SCOPE_POD;
	assert_true(admit_pods(&scene, budget(6, 4)).admitted);
	assert_true(admit_pods(&scene, budget(26, 4)).admitted);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct decision decision =
			admit_pods(&scene, budget(rows[i].pod, rows[i].exclusive));

		assert_int_equal(decision.refusal, REFUSAL_EMPTY_SHARED_POOL);
		assert_string_equal(decision.suggestion, rows[i].suggestion);
		assert_int_equal(decision.change.kind,
				 rows[i].suggestion[0] ? CHANGE_POD_CPUS : CHANGE_NONE);
	}
}

/* Whole cores are suggested if only these are granted. */
static void the_nearest_size_is_granted(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, guaranteed_pod("other", 19)).admitted);
	assert_true(admit_pods(&scene, guaranteed_pod("p", 4)).admitted);
	decision = admit_pods(&scene, guaranteed_pod("p", 12));
	assert_string_equal(decision.suggestion, "fits with 11 CPUs for container main");
	assert_string_equal(decision.change.text, decision.suggestion);
	assert_int_equal(decision.change.kind, CHANGE_CONTAINER_CPUS);
	assert_string_equal(decision.change.container, "main");
	assert_int_equal(decision.change.cpus, 11);
	assert_int_equal(ledger_remove(scene.ledger, "other"), 0);
	assert_true(admit_pods(&scene, guaranteed_pod("other", 22)).admitted);
	scene.policy.cpu_options.full_pcpus_only = true;
	assert_true(admit_pods(&scene, guaranteed_pod("p", 8)).admitted);
	/* No CPU is free, so what is available is the present size. */
	decision = admit_pods(&scene, guaranteed_pod("p", 5));
	assert_int_equal(decision.refusal, REFUSAL_SMT);
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container main");
	assert_int_equal(ledger_remove(scene.ledger, "other"), 0);
	decision = admit_pods(&scene, guaranteed_pod("p", 5));
	assert_string_equal(decision.suggestion, "fits with 6 CPUs for container main");
}

/* --- what is admitted ------------------------------------------------------------------------- */

static void what_is_said(void **state)
{
	struct scene scene cleanup_scene = {0};
	struct decision decision;

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, two(4, 2)).admitted);
	decision = admit_pods(&scene, two(5, 2));
	assert_string_equal(decision.message,
			    "Guaranteed pod is resized in place and holds 7 exclusive CPUs; 23 "
			    "CPUs stay in the shared pool");
}

/* The pod runs again, whatever kept its last form from running. */
static void a_resized_pod_runs(void **state)
{
	struct scene scene cleanup_scene = {0};

	(void)state;
	set_up(&scene, ALIGN_NONE);
	assert_true(admit_pods(&scene, two(4, 2)).admitted);
	assert_int_equal(ledger_set_state(scene.ledger, "p", POD_ENDING, "leaves"), 0);
	assert_true(admit_pods(&scene, two(5, 2)).admitted);
	assert_int_equal(pod_of(&scene, "p")->state, POD_RUNNING);
	assert_string_equal(pod_of(&scene, "p")->detail, "");
	assert_int_equal(pod_of(&scene, "p")->spec->containers[0].request.cpu_mcpu, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_aligned_nodes_are_used_first),
		cmocka_unit_test(without_alignment_any_node_is_used),
		cmocka_unit_test(a_pod_is_aligned_as_a_whole),
		cmocka_unit_test(only_what_grows_counts),
		cmocka_unit_test(all_kinds_of_containers_count),
		cmocka_unit_test(containers_keep_their_own_nodes),
		cmocka_unit_test(what_shrinks_is_not_aligned_again),
		cmocka_unit_test(what_keeps_its_size_is_not_aligned_again),
		cmocka_unit_test(a_bubble_is_aligned_when_it_grows),
		cmocka_unit_test(a_slice_grows_in_its_bubble),
		cmocka_unit_test(a_container_is_aligned_with_its_memory),
		cmocka_unit_test(a_pod_is_aligned_with_the_memory_of_all),
		cmocka_unit_test(memory_that_is_not_pinned_has_no_nodes),
		cmocka_unit_test(an_init_container_is_aligned_with_its_memory),
		cmocka_unit_test(the_first_container_that_does_not_fit_is_named),
		cmocka_unit_test(half_a_core_is_named_before_alignment),
		cmocka_unit_test(a_bubble_that_does_not_fit_is_named),
		cmocka_unit_test(the_last_shared_cpu_is_not_taken),
		cmocka_unit_test(nodes_and_cpus_are_counted),
		cmocka_unit_test(an_exclusive_container_is_to_be_smaller),
		cmocka_unit_test(a_pod_that_does_not_fit_grows_less),
		cmocka_unit_test(a_budget_shrinks_less),
		cmocka_unit_test(the_nearest_size_is_granted),
		cmocka_unit_test(what_is_said),
		cmocka_unit_test(a_resized_pod_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
