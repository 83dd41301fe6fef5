// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The changes that a refusal proposes, for random machines, residents and pods. Each is carried
 * out on a ledger made anew, where the pod must then be admitted, and is compared with all
 * changes of its kind: no pod that holds less would do, and no policy that is nearer. An amount
 * need not be the nearest, because an amount may fit although a smaller one does not; how often
 * it is, and how far off it is otherwise, is recorded here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "chance.h"
#include "core/admit/change.h"
#include "memory_scene.h"

#define MAX_RESIDENTS 6

struct world {
	struct topology *topology;
	struct policy policy;
	bool is_kernel_known; /* how many pages the kernel has free */
	struct topology_node nodes[TOPOLOGY_MAX_NODES];
	struct ledger *ledger;
};

/* --- random worlds ---------------------------------------------------------------------------- */

/* 1 to 4 nodes; the memory of a node and its pages differ from node to node. */
static void make_machine(struct chance *chance, struct world *world)
{
	uint32_t nr_nodes = 1 + chance_below(chance, 4), threads = 1 + chance_below(chance, 2);
	uint32_t cores = 2 + chance_below(chance, 7), nr_cores = nr_nodes * cores;
	struct topology_cpu cpus[4 * 8 * 2] = {{0}};
	bool has_small = chance_percent(chance, 60), has_large = chance_percent(chance, 30);
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr_cores * threads,
		.nodes = world->nodes,
		.nr_nodes = nr_nodes,
		TOPOLOGY_COUNT_ALL,
	};
	char error[256] = "";

	for (uint32_t i = 0; i < facts.nr_cpus; i++) {
		uint32_t core = i % nr_cores, node = core / cores;

		cpus[i] = (struct topology_cpu){
			.id = i, .core = core, .node = node, .socket = node / 2, .uncore = node};
	}
	for (uint32_t i = 0; i < nr_nodes; i++) {
		struct topology_node *node = &world->nodes[i];

		*node = (struct topology_node){
			.id = i,
			.memory_bytes = (uint64_t)(2 + chance_below(chance, 10)) * GIB,
		};
		if (has_small)
			node->hugepages[node->nr_hugepages++] = (struct hugepages){
				PAGE_2M, 256 + chance_below(chance, 512), UINT64_MAX};
		if (has_large)
			node->hugepages[node->nr_hugepages++] = (struct hugepages){
				PAGE_1G, 1 + chance_below(chance, 3), UINT64_MAX};
		for (uint32_t p = 0; p < node->nr_hugepages; p++)
			node->memory_bytes +=
				node->hugepages[p].total_pages * node->hugepages[p].size_bytes;
	}
	if (topology_new(&facts, error, sizeof(error), &world->topology))
		fail_msg("machine: %s", error);
}

static void make_policy(struct chance *chance, struct world *world)
{
	char error[256];

	do {
		struct policy *policy = &world->policy;

		*policy = chance_policy(chance, world->topology);
		if (chance_percent(chance, 70))
			policy->memory = MEMORY_POLICY_STATIC;
		if (chance_percent(chance, 25))
			policy->compatibility = chance_percent(chance, 60)
							? COMPATIBILITY_KUBELET_1_36
							: COMPATIBILITY_IMPROVED;
		policy->may_empty_shared_pool = chance_percent(chance, 70);
	} while (policy_check(&world->policy, world->topology, error, sizeof(error)) ||
		 ledger_new(world->topology, &world->policy, error, sizeof(error), &world->ledger));
}

/* A pod of chance.h that also requests memory and pages. */
static struct pod_spec *make_pod(struct chance *chance, const char *uid, uint32_t most_cpus,
				 uint32_t most_gib)
{
	struct pod_spec *spec = chance_pod(chance, uid, most_cpus);
	uint64_t page = chance_percent(chance, 70) ? PAGE_2M : PAGE_1G;
	int64_t sum = 0, pages = 0;

	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		struct container_spec *container = &spec->containers[i];
		int64_t bytes = (1 + chance_below(chance, most_gib * 4)) * (GIB / 4);

		if (container->limit.memory_bytes < 0)
			continue;
		if (chance_percent(chance, 70))
			container->request.memory_bytes = container->limit.memory_bytes = bytes;
		sum += container->limit.memory_bytes;
		if (chance_percent(chance, 20)) {
			bytes = (1 + chance_below(chance, 3)) * GIB / 2;
			ask_pages(container, page, (bytes + (int64_t)page - 1) & -(int64_t)page);
			pages += container->limit.hugepages[0].bytes;
		}
	}
	if (!spec->has_pod_resources)
		return spec;
	spec->request.memory_bytes = sum + chance_below(chance, 3) * (GIB / 2) - GIB / 4;
	if (pages) {
		spec->request.hugepages[0].size_bytes = page;
		spec->request.hugepages[0].bytes = pages;
		spec->request.nr_hugepages = 1;
	}
	spec->limit = spec->request;
	return spec;
}

static void make_world(struct chance *chance, struct world *world)
{
	uint32_t nr = chance_below(chance, MAX_RESIDENTS + 1);
	struct decision decision;

	*world = (struct world){0};
	make_machine(chance, world);
	make_policy(chance, world);
	for (uint32_t i = 0; i < nr; i++) {
		char uid[] = {(char)('a' + (i * 5 + 3) % MAX_RESIDENTS), 0};
		struct pod_spec *spec cleanup_pod_spec =
			make_pod(chance, uid, 1 + cpuset_count(&world->topology->all) / 4, 3);

		assert_int_equal(admit_pod(world->ledger, spec, &decision), 0);
		if (decision.admitted && chance_percent(chance, 15))
			assert_int_equal(ledger_set_state(world->ledger, uid, POD_ENDING, 0), 0);
	}
	world->is_kernel_known = chance_percent(chance, 30);
	if (world->is_kernel_known) {
		for (uint32_t i = 0; i < world->topology->nr_memory_nodes; i++)
			world->nodes[i].hugepages[0].free_pages = chance_below(chance, 600);
		ledger_set_kernel_free(world->ledger, world->nodes,
				       world->topology->nr_memory_nodes);
	}
}

static void free_world(struct world *world)
{
	ledger_free(world->ledger);
	topology_free(world->topology);
}

/* --- carrying out ----------------------------------------------------------------------------- */

/*
 * Is the pod admitted after the change, on a ledger made anew with the same pods on the same
 * CPUs and nodes? Not if the policy is none for them, or reserves other CPUs.
 */
static bool works(const struct world *world, const struct pod_spec *spec,
		  const struct change *change)
{
	struct pod_spec *changed cleanup_pod_spec = pod_spec_copy(spec);
	struct ledger *ledger cleanup_ledger = NULL;
	struct policy policy = world->policy;
	struct decision decision;
	char error[256];

	change_policy(change, &policy);
	change_apply(change, changed);
	if (policy_check(&policy, world->topology, error, sizeof(error)) ||
	    ledger_new(world->topology, &policy, error, sizeof(error), &ledger) ||
	    !cpuset_equal(ledger_reserved(ledger), ledger_reserved(world->ledger)))
		return false;
	if (world->is_kernel_known)
		ledger_set_kernel_free(ledger, world->nodes, world->topology->nr_memory_nodes);
	for (uint32_t i = 0; i < ledger_nr_pods(world->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(world->ledger, i);

		if (change->kind == CHANGE_POD_LEAVES && !strcmp(pod->spec->uid, change->uid))
			continue;
		if (ledger_restore(ledger, pod, error, sizeof(error)))
			return false;
	}
	assert_int_equal(admit_pod(ledger, changed, &decision), 0);
	return decision.admitted;
}

/* --- comparing with all changes of the kind --------------------------------------------------- */

struct counts {
	uint32_t refusals;
	uint32_t helped;	   /* refusals with a change */
	uint32_t missed;	   /* without one, although a smaller number of CPUs would do */
	uint32_t less_cpus;	   /* numbers of CPUs below the request, */
	uint32_t not_nearest;	   /* of which a larger one would do */
	uint32_t less_memory;	   /* amounts of memory below the request, */
	uint32_t not_edge;	   /* of which one that is a MiB or a page larger would do, */
	uint32_t given_up_gib;	   /* and what all of them take from the requests */
	uint32_t more;		   /* amounts above the request, */
	uint32_t more_than_needed; /* of which a smaller one would do */
	uint32_t others;	   /* changes that are no amounts: pages, policies, departures */
};

static const struct resources *resources_of(const struct pod_spec *spec, const char *container)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (!strcmp(spec->containers[i].name, container))
			return &spec->containers[i].request;
	}
	return &spec->request;
}

static void compare_cpus(const struct world *world, const struct pod_spec *spec,
			 const struct change *change, struct counts *counts)
{
	uint32_t was = (uint32_t)(resources_of(spec, change->container)->cpu_mcpu / 1000);
	bool is_more = change->cpus > was;
	uint32_t nearest = change->cpus;
	struct change other = *change;

	for (other.cpus = was; other.cpus != change->cpus; is_more ? other.cpus++ : other.cpus--) {
		if (other.cpus && other.cpus != was && works(world, spec, &other)) {
			nearest = other.cpus;
			break;
		}
	}
	if (is_more) {
		counts->more++;
		counts->more_than_needed += nearest != change->cpus;
		return;
	}
	counts->less_cpus++;
	counts->not_nearest += nearest != change->cpus;
}

static void compare_bytes(const struct world *world, const struct pod_spec *spec,
			  const struct change *change, struct counts *counts)
{
	struct resources request = *resources_of(spec, change->container);
	uint64_t was = (uint64_t)*change_amount(&request, change->page_bytes);
	uint64_t grain = change->page_bytes ? change->page_bytes : MIB;
	struct change other = *change;

	assert_int_equal(change->bytes % (change->page_bytes ? change->page_bytes : 1), 0);
	if (change->bytes > was) {
		counts->more++;
		other.bytes -= grain;
		counts->more_than_needed += other.bytes > was && works(world, spec, &other);
		return;
	}
	counts->less_memory++;
	counts->given_up_gib += (uint32_t)((was - change->bytes) / GIB);
	other.bytes += grain;
	counts->not_edge += other.bytes < was && works(world, spec, &other);
}

/* Of the policies between the node's and this one, none admits the pod. */
static void compare_policies(const struct world *world, const struct pod_spec *spec,
			     const struct change *change)
{
	struct change other = *change;

	for (other.align = world->policy.align - 1; other.align > change->align; other.align--)
		assert_false(works(world, spec, &other));
}

/* What a pod holds of the resource that is short. */
static uint64_t held_by(const struct world *world, const struct decision *decision,
			const struct ledger_pod *pod)
{
	const struct memory_blocks *blocks = pod->memory;
	uint32_t type =
		memory_find_type(ledger_memory_manager(world->ledger), decision->page_bytes);
	uint64_t sum = 0;

	if (!decision->is_memory)
		return cpuset_count(pod->held);
	if (!blocks || type >= ledger_memory_manager(world->ledger)->nr_types)
		return 0;
	if (blocks->pod.present)
		return blocks->pod.bytes[type];
	for (uint32_t i = 0; i < blocks->nr; i++)
		sum += blocks->containers[i].present ? blocks->containers[i].bytes[type] : 0;
	return sum;
}

/* No other pod would do that is ending while this one is not, or that holds less. */
static void compare_departures(const struct world *world, const struct pod_spec *spec,
			       const struct decision *decision, const struct change *change)
{
	const struct ledger_pod *chosen = ledger_find(world->ledger, change->uid);
	uint64_t held = held_by(world, decision, chosen);
	bool is_ending = chosen->state == POD_ENDING;

	for (uint32_t i = 0; i < ledger_nr_pods(world->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(world->ledger, i);
		struct change other = {.kind = CHANGE_POD_LEAVES};

		snprintf(other.uid, sizeof(other.uid), "%s", pod->spec->uid);
		if ((pod->state == POD_ENDING) < is_ending ||
		    ((pod->state == POD_ENDING) == is_ending &&
		     (held_by(world, decision, pod) > held ||
		      (held_by(world, decision, pod) == held &&
		       strcmp(pod->spec->uid, change->uid) >= 0))))
			continue;
		/* Of what is short, one that holds nothing is not asked to leave. */
		if (!held_by(world, decision, pod) && !decision->is_both &&
		    decision->refusal != REFUSAL_LAST_SHARED_CPU)
			continue;
		if (works(world, spec, &other))
			fail_msg("%s: %s would do as well", change->text, other.uid);
	}
}

static void compare(const struct world *world, const struct pod_spec *spec,
		    const struct decision *decision, const struct change *change,
		    struct counts *counts)
{
	if (!works(world, spec, change))
		fail_msg("%s: '%s' does not work", decision->message, change->text);
	switch (change->kind) {
	case CHANGE_CONTAINER_CPUS:
	case CHANGE_POD_CPUS:
		return compare_cpus(world, spec, change, counts);
	case CHANGE_CONTAINER_MEMORY:
	case CHANGE_POD_MEMORY:
		return compare_bytes(world, spec, change, counts);
	case CHANGE_ALIGN_POLICY:
		compare_policies(world, spec, change);
		break;
	case CHANGE_POD_LEAVES:
		compare_departures(world, spec, decision, change);
		break;
	default:
		break;
	}
	counts->others++;
}

static bool would_any_count_work(const struct world *world, const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		struct change change = {.kind = CHANGE_CONTAINER_CPUS};
		uint32_t was = (uint32_t)(spec->containers[i].request.cpu_mcpu / 1000);

		snprintf(change.container, sizeof(change.container), "%s",
			 spec->containers[i].name);
		for (change.cpus = 1; change.cpus < was; change.cpus++) {
			if (works(world, spec, &change))
				return true;
		}
	}
	return false;
}

static void play(const struct world *world, const struct pod_spec *spec, struct counts *counts)
{
	static const struct change none = {.kind = CHANGE_NONE};
	struct decision decision;

	assert_int_equal(admit_pod(world->ledger, spec, &decision), 0);
	/* The ledger made anew must decide alike; the kubelet's memory has a past that it lacks. */
	if (decision.admitted || works(world, spec, &none))
		return;
	assert_sound(world->ledger);
	counts->refusals++;
	counts->helped += decision.change.kind != CHANGE_NONE;
	if (!decision.change.kind) {
		counts->missed += would_any_count_work(world, spec);
		return;
	}
	compare(world, spec, &decision, &decision.change, counts);
	for (uint32_t i = 0; i < decision.nr_others; i++)
		compare(world, spec, &decision, &decision.others[i], counts);
}

static void changes_work_and_are_near(void **state)
{
	static const struct counts recorded = {1482, 658, 2, 373, 0, 56, 5, 72, 43, 0, 595};
	struct counts counts = {0};
	struct chance chance = {1};

	(void)state;
	for (int i = 0; i < 2500; i++) {
		struct pod_spec *made cleanup_pod_spec = NULL;
		struct pod_spec *spec cleanup_pod_spec = NULL;
		struct world world;

		make_world(&chance, &world);
		made = make_pod(&chance, "p", 1 + cpuset_count(&world.topology->all) / 2, 6);
		/* No container lies behind the last one, so that a sanitizer sees too long a loop. */
		spec = pod_spec_copy(made);
		play(&world, spec, &counts);
		free_world(&world);
	}
	/* More help, nearer changes and fewer misses are improvements, to be recorded here. */
	if (memcmp(&counts, &recorded, sizeof(counts)))
		fail_msg("{%u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u}", counts.refusals,
			 counts.helped, counts.missed, counts.less_cpus, counts.not_nearest,
			 counts.less_memory, counts.not_edge, counts.given_up_gib, counts.more,
			 counts.more_than_needed, counts.others);
}

/*
 * The improved rules are chosen for their answers, and not by mistake. A random machine and pod
 * for which the repaired ones have another answer, which is rare.
 */
static void improved_rules_are_kept(void **state)
{
	static const enum compatibility rules[] = {COMPATIBILITY_REPAIRED, COMPATIBILITY_IMPROVED};
	struct chance chance = {95108};
	struct topology *topology = chance_machine(&chance);
	struct policy policy = chance_policy(&chance, topology);
	struct pod_spec *spec cleanup_pod_spec =
		chance_pod(&chance, "p", 1 + topology->num_cpus / 2);

	(void)state;
	policy.may_empty_shared_pool = true;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct ledger *ledger cleanup_ledger = NULL;
		struct decision decision;

		policy.compatibility = rules[i];
		ledger = scene_ledger(topology, &policy);
		assert_int_equal(admit_pod(ledger, spec, &decision), 0);
		assert_int_equal(decision.admitted, rules[i] == COMPATIBILITY_REPAIRED);
		assert_int_not_equal(decision.change.kind, CHANGE_REPAIRED);
		for (uint32_t j = 0; !decision.admitted && j < decision.nr_others; j++)
			assert_int_not_equal(decision.others[j].kind, CHANGE_REPAIRED);
	}
	topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_work_and_are_near),
		cmocka_unit_test(improved_rules_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
