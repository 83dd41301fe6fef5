// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Random memory on random machines, in both modes. After each step of the
 * repaired mode: per node free and held make up what is allocatable, groups agree
 * with their members, a refusal changes nothing, the best set is what trying all
 * sets finds, and putting all pods back on an empty machine gives the same state.
 * The kubelet's rules are held to what they can hold: nothing wraps around, and
 * what is all removed is all free.
 *
 * PINFOLD_STEPS: how many (20000). PINFOLD_SEED: where to begin. Each step is
 * made of one number of its own, so a failure is shrunk by leaving steps out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <time.h>

#include "chance.h"
#include "memory_scene.h"

#define SEQUENCE_MAX 120
#define NR_PODS	     6
#define BRUTE_NODES  9 /* all sets are tried up to here */

struct counts {
	uint64_t steps, allocations, given, refused, groups, reused, budgets, extended, compared;
	uint64_t result[MEMORY_RESULT_NR];
};

struct world {
	struct memory_scene scene;
	struct memory_reuse reuse;
	struct memory_pod pods[NR_PODS];
	struct counts *counts;
	char error[512]; /* "" = fine so far */
	bool is_verbose;
};

__attribute__((format(printf, 2, 3))) static void complain(struct world *world, const char *format,
							   ...)
{
	va_list args;

	if (world->error[0])
		return;
	va_start(args, format);
	vsnprintf(world->error, sizeof(world->error), format, args);
	va_end(args);
}

static bool is_repaired(const struct world *world)
{
	return world->scene.policy.compatibility == COMPATIBILITY_REPAIRED;
}

/* --- machines and pods ------------------------------------------------------------------------ */

static void make_machine(struct world *world, struct chance *chance)
{
	static const uint64_t sizes[] = {64 << 10, PAGE_2M, PAGE_1G};
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{0}};
	uint32_t nr = chance_percent(chance, 85) ? 1 + chance_below(chance, 6)
						 : 1 + chance_below(chance, 24);
	uint32_t stride = 1 + chance_below(chance, 3), nr_sizes = chance_below(chance, 3);
	struct policy *policy = &world->scene.policy;

	*policy = policy_default();
	policy->compatibility = chance_percent(chance, 75) ? COMPATIBILITY_REPAIRED
							   : COMPATIBILITY_KUBELET_1_36;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t pages = 0;

		nodes[i].id = i * stride;
		for (uint32_t j = 0; j < nr_sizes; j++) {
			uint64_t bytes = chance_below(chance, 4) * PAGE_1G;

			if (chance_percent(chance, 20))
				continue;
			nodes[i].hugepages[nodes[i].nr_hugepages++] =
				(struct hugepages){sizes[j], bytes / sizes[j], UINT64_MAX};
			pages += bytes;
		}
		nodes[i].memory_bytes = pages + (1 + chance_below(chance, 16)) * PAGE_1G;
		if (chance_percent(chance, 10))
			nodes[i].memory_bytes = pages;
		else if (chance_percent(chance, 40))
			policy->memory_reservations[policy->nr_memory_reservations++] =
				(struct memory_reservation){nodes[i].id, 0, PAGE_1G / 2};
	}
	if (!memory_scene_init(&world->scene, memory_machine(nodes, nr)))
		complain(world, "start: %s", world->scene.error);
}

static void make_pod(struct world *world, struct chance *chance, uint32_t index)
{
	uint32_t nr = 1 + chance_below(chance, 4);
	struct pod_spec *spec;
	char name[8];

	snprintf(name, sizeof(name), "p%u", index);
	spec = scene_pod(name);
	for (uint32_t i = 0; i < nr; i++) {
		enum container_kind kind = CONTAINER_APP;
		struct container_spec *container;

		if (i + 1 < nr && chance_percent(chance, 60))
			kind = CONTAINER_INIT;
		else if (i + 1 < nr && chance_percent(chance, 50))
			kind = CONTAINER_SIDECAR;
		/*
		 * containers are ordered by kind: no init container after the first app
		 * container
		 */
		if (i && spec->containers[i - 1].kind == CONTAINER_APP)
			kind = CONTAINER_APP;
		snprintf(name, sizeof(name), "c%u", i);
		container = ask(spec, name, kind,
				1 + (int64_t)(chance_next(chance) % (12 * (uint64_t)GIB)));
		if (world->scene.manager.nr_types > 1 && chance_percent(chance, 35))
			ask_pages(container, world->scene.manager.page_bytes[1],
				  (int64_t)chance_below(chance, 4) * GIB);
	}
	if (chance_percent(chance, 25)) {
		set_budget(spec, 64);
		spec->request.memory_bytes = spec->limit.memory_bytes =
			(int64_t)(1 + chance_below(chance, 40)) * GIB;
		for (uint32_t i = 0; i < nr; i++) {
			if (chance_percent(chance, 25))
				spec->containers[i].request = spec->containers[i].limit =
					RESOURCES_UNSET;
		}
		if (chance_percent(chance, 70))
			add_container(spec, "shared", CONTAINER_APP, RESOURCE_UNSET,
				      RESOURCE_UNSET);
	}
	world->pods[index] = memory_pod_of(spec);
}

/* --- invariants ------------------------------------------------------------------------------- */

static void add_share(const struct memory_share *share, uint64_t (*held)[MEMORY_MAX_TYPES],
		      uint32_t *assignments)
{
	if (!share->present || !share->types)
		return;
	/* The amount held by a group is recorded at its lowest node. */
	for (uint32_t type = 0; type < MEMORY_MAX_TYPES; type++)
		held[__builtin_ctzll(share->nodes)][type] += share->bytes[type];
	for (node_mask_t left = share->nodes; left; left &= left - 1)
		assignments[__builtin_ctzll(left)] += (uint32_t)__builtin_popcount(share->types);
}

static void check_node(struct world *world, uint32_t index)
{
	const struct memory_manager *manager = &world->scene.manager;
	const struct memory_node *node = &world->scene.state.nodes[index];

	for (uint32_t type = 0; type < manager->nr_types; type++) {
		if (node->free_bytes[type] > manager->allocatable_bytes[index][type])
			complain(world, "node %u has more free of type %u than there is", index,
				 type);
	}
	if (!(node->cells >> index & 1))
		complain(world, "node %u is not in its own group", index);
	if (!node->nr_assignments && node->cells != (node_mask_t)1 << index)
		complain(world, "node %u is unused and in a group", index);
}

static void check_group(struct world *world, uint32_t index, const uint64_t *held)
{
	const struct memory_manager *manager = &world->scene.manager;
	const struct memory_state *state = &world->scene.state;
	node_mask_t group = state->nodes[index].cells;

	for (node_mask_t left = group; left; left &= left - 1) {
		uint32_t other = (uint32_t)__builtin_ctzll(left) & 63;

		if (state->nodes[other].cells != group)
			complain(world, "node %u disagrees about the group of node %u", other,
				 index);
	}
	if (index != (uint32_t)__builtin_ctzll(group))
		return;
	for (uint32_t type = 0; type < manager->nr_types; type++) {
		uint64_t free = 0, allocatable = 0;

		for (node_mask_t left = group; left; left &= left - 1) {
			free += state->nodes[__builtin_ctzll(left)].free_bytes[type];
			allocatable += manager->allocatable_bytes[__builtin_ctzll(left)][type];
		}
		if (free + held[type] != allocatable)
			complain(world, "group %llx: %llu free and %llu held of %llu, type %u",
				 (unsigned long long)group, (unsigned long long)free,
				 (unsigned long long)held[type], (unsigned long long)allocatable,
				 type);
	}
}

static void check_sound(struct world *world)
{
	uint64_t held[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES] = {{0}};
	uint32_t assignments[TOPOLOGY_MAX_NODES] = {0}, nr = world->scene.topology->nr_memory_nodes;

	for (uint32_t i = 0; i < nr && !is_repaired(world); i++) {
		for (uint32_t type = 0; type < world->scene.manager.nr_types; type++) {
			if (world->scene.state.nodes[i].free_bytes[type] >
			    world->scene.manager.allocatable_bytes[i][type])
				complain(world, "kubelet: node %u wraps around", i);
		}
	}
	if (!is_repaired(world))
		return;
	for (uint32_t i = 0; i < NR_PODS; i++) {
		const struct memory_blocks *blocks = world->pods[i].blocks;

		if (blocks->pod.present)
			add_share(&blocks->pod, held, assignments);
		for (uint32_t j = 0; j < blocks->nr && !blocks->pod.present; j++)
			add_share(&blocks->containers[j], held, assignments);
	}
	for (uint32_t i = 0; i < nr && i < TOPOLOGY_MAX_NODES; i++) {
		check_node(world, i);
		check_group(world, i, held[i]);
		if (world->scene.state.nodes[i].nr_assignments != assignments[i])
			complain(world, "node %u counts %u assignments, there are %u", i,
				 world->scene.state.nodes[i].nr_assignments, assignments[i]);
		world->counts->groups += world->scene.state.nodes[i].cells != (node_mask_t)1 << i;
	}
}

/* The state is a function of what is held: restoring the pods one by one gives the same state. */
static void check_restart(struct world *world)
{
	struct memory_scene *scene = &world->scene;
	const struct memory_blocks *all[NR_PODS];
	struct memory_state again;

	if (!is_repaired(world))
		return;
	memory_initial_state(&scene->manager, &again);
	for (uint32_t i = 0; i < NR_PODS; i++) {
		all[i] = world->pods[i].blocks;
		if (memory_restore(&scene->manager, &again, &world->pods[i], false) != MEMORY_KEPT)
			complain(world, "pod %u is not kept by a restart", i);
	}
	if (!memory_state_equal(&scene->manager, &again, &scene->state))
		complain(world, "a restart gives another state");
	if (memory_check_state(&scene->manager, &scene->state, all, NR_PODS))
		complain(world, "the start check finds another state");
}

/* Try all sets: the best one is the same, and the list contains exactly the hints. */
static void check_best(struct world *world, const struct memory_offer *offer)
{
	uint32_t nr_nodes = world->scene.topology->nr_memory_nodes, nr, seen = 0;
	struct hint *hints cleanup_free = NULL, best, found = {.any = true};
	bool has_best = memory_offer_best(offer, 0, &best);

	if (nr_nodes > BRUTE_NODES || offer->opinion != MEMORY_OFFERS)
		return;
	world->counts->compared++;
	assert_int_equal(memory_offer_list(offer, &hints, &nr), 0);
	for (node_mask_t nodes = 1; nodes < (node_mask_t)1 << nr_nodes; nodes++) {
		struct hint hint = {.nodes = nodes,
				    .preferred = memory_offer_prefers(offer, nodes)};
		int size = __builtin_popcountll(nodes), size_found;

		if (!memory_offer_has(offer, nodes))
			continue;
		seen++;
		size_found = __builtin_popcountll(found.nodes);
		if (found.any || (hint.preferred && !found.preferred) ||
		    (hint.preferred == found.preferred && size < size_found))
			found = hint;
	}
	if (seen != nr)
		complain(world, "the list has %u hints, there are %u", nr, seen);
	if (has_best == found.any ||
	    (has_best && (best.nodes != found.nodes || best.preferred != found.preferred)))
		complain(world, "best set %llx, trying all finds %llx",
			 has_best ? (unsigned long long)best.nodes : 0,
			 (unsigned long long)found.nodes);
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct hint some_hint(const struct world *world, struct chance *chance)
{
	uint32_t nr = world->scene.topology->nr_memory_nodes;
	node_mask_t all = nr == 64 ? ~(node_mask_t)0 : ((node_mask_t)1 << nr) - 1;
	struct hint hint = {.any = chance_percent(chance, 50),
			    .preferred = chance_percent(chance, 30)};

	if (!hint.any)
		hint.nodes = chance_percent(chance, 60) ? (node_mask_t)1 << chance_below(chance, nr)
							: chance_next(chance) & all;
	if (!hint.nodes)
		hint.any = true;
	return hint;
}

static void step_allocate(struct world *world, struct chance *chance, uint32_t index)
{
	struct memory_scene *scene = &world->scene;
	struct memory_pod *pod = &world->pods[index];
	bool whole = pod->spec->has_pod_resources && chance_percent(chance, 60);
	uint32_t container = chance_below(chance, pod->spec->nr_containers);
	struct hint hint = some_hint(world, chance);
	struct memory_state before = scene->state;
	struct memory_offer offer;
	enum memory_result result;

	/* Budgets and shares of the node are not mixed, because alignment has one scope. */
	for (uint32_t i = 0; i < pod->blocks->nr; i++) {
		if (pod->blocks->containers[i].present && whole != pod->blocks->pod.present)
			return;
	}
	if (pod->blocks->pod.present && !is_repaired(world))
		return;
	if (whole) {
		memory_offer_pod(&scene->manager, &scene->state, pod, &world->reuse, &offer);
		check_best(world, &offer);
		result = memory_allocate_pod(&scene->manager, &scene->state, pod, &hint,
					     &scene->shortage);
		world->counts->budgets += !result;
	} else {
		memory_offer_container(&scene->manager, &scene->state, pod, container,
				       &world->reuse, &offer);
		check_best(world, &offer);
		result = memory_allocate(&scene->manager, &scene->state, pod, container, &hint,
					 &world->reuse, &scene->shortage);
		world->counts->reused += !result && container &&
					 pod->blocks->containers[0].present &&
					 !pod->blocks->containers[0].bytes[0];
		world->counts->extended += !result && !hint.any &&
					   pod->blocks->containers[container].present &&
					   pod->blocks->containers[container].nodes != hint.nodes;
	}
	if (world->is_verbose)
		printf("  pod %u container %u hint %llx: %s\n", index, whole ? 99 : container,
		       hint.any ? 0 : (unsigned long long)hint.nodes, memory_result_name(result));
	world->counts->allocations++;
	world->counts->given += !result;
	world->counts->refused += result != MEMORY_OK;
	world->counts->result[result]++;
	if (result && !memory_state_equal(&scene->manager, &before, &scene->state))
		complain(world, "a refusal (%s) changed the state", memory_result_name(result));
}

static void play_step(struct world *world, uint64_t seed)
{
	struct chance chance = {seed};
	uint32_t what = chance_below(&chance, 100), index = chance_below(&chance, NR_PODS);
	struct memory_scene *scene = &world->scene;
	struct memory_pod *pod = &world->pods[index];

	world->counts->steps++;
	if (what < 75)
		step_allocate(world, &chance, index);
	else if (what < 85)
		memory_remove_pod(&scene->manager, &scene->state, pod);
	else if (what < 92)
		memory_remove(&scene->manager, &scene->state, pod,
			      chance_below(&chance, pod->spec->nr_containers));
	else if (what < 97)
		memory_started(&scene->manager, &scene->state, pod,
			       chance_below(&chance, pod->spec->nr_containers));
	else
		check_restart(world);
	check_sound(world);
}

/* After all pods are removed, everything is free. */
static void check_end(struct world *world)
{
	struct memory_scene *scene = &world->scene;
	struct memory_state empty;

	check_restart(world);
	for (uint32_t i = 0; i < NR_PODS; i++)
		memory_remove_pod(&scene->manager, &scene->state, &world->pods[i]);
	memory_initial_state(&scene->manager, &empty);
	if (is_repaired(world) && !memory_state_equal(&scene->manager, &empty, &scene->state))
		complain(world, "something is left when all is removed");
}

static bool play(uint64_t machine_seed, const uint64_t *steps, size_t nr, struct counts *counts,
		 bool is_verbose, char *error, size_t error_size)
{
	struct chance chance = {machine_seed};
	struct world *world = calloc(1, sizeof(*world));
	bool passed;

	assert_non_null(world);
	world->counts = counts;
	world->is_verbose = is_verbose;
	make_machine(world, &chance);
	for (uint32_t i = 0; i < NR_PODS; i++)
		make_pod(world, &chance, i);
	for (size_t i = 0; i < nr && !world->error[0]; i++)
		play_step(world, steps[i]);
	if (!world->error[0])
		check_end(world);
	for (uint32_t i = 0; i < NR_PODS; i++)
		memory_pod_fini(&world->pods[i]);
	memory_scene_fini(&world->scene);
	snprintf(error, error_size, "%s", world->error);
	passed = !world->error[0];
	free(world);
	return passed;
}

/* Remove every step without which it still fails, then show the remaining steps. */
static void shrink(uint64_t machine_seed, uint64_t *steps, size_t nr)
{
	struct counts ignored = {0};
	char error[512];

	for (size_t i = nr; i-- > 0;) {
		uint64_t without[SEQUENCE_MAX];

		memcpy(without, steps, i * sizeof(steps[0]));
		memcpy(without + i, steps + i + 1, (nr - i - 1) * sizeof(steps[0]));
		if (play(machine_seed, without, nr - 1, &ignored, false, error, sizeof(error)))
			continue;
		nr--;
		memcpy(steps, without, nr * sizeof(steps[0]));
	}
	printf("smallest failing case: machine 0x%llx and %zu steps:\n",
	       (unsigned long long)machine_seed, nr);
	for (size_t i = 0; i < nr; i++)
		printf("  step 0x%llx\n", (unsigned long long)steps[i]);
	play(machine_seed, steps, nr, &ignored, true, error, sizeof(error));
	fail_msg("%s", error);
}

/* A run that never refuses, or never uses a rule, proves less than it claims. */
static void check_counts(const struct counts *counts)
{
	assert_true(counts->given * 4 >= counts->allocations);
	assert_true(counts->refused * 4 >= counts->allocations);
	assert_true(counts->groups && counts->reused && counts->budgets && counts->extended);
	assert_true(counts->compared * 4 >= counts->allocations);
	/* The rarest, a shared init container after greedy sidecars, may not occur. */
	for (int i = MEMORY_OK; i < MEMORY_RESULT_NR; i++)
		assert_true(counts->result[i] || i == MEMORY_EMPTY_INIT_POOL);
}

static void random_sequences(void **state)
{
	uint64_t seed = number_from_environment("PINFOLD_SEED", (uint64_t)time(NULL));
	uint64_t nr_steps = number_from_environment("PINFOLD_STEPS", 20000);
	struct chance chance = {seed};
	struct counts counts = {0};

	(void)state;
	printf("seed %llu, PINFOLD_STEPS %llu\n", (unsigned long long)seed,
	       (unsigned long long)nr_steps);
	while (counts.steps < nr_steps) {
		uint64_t machine_seed = chance_next(&chance), steps[SEQUENCE_MAX];
		size_t nr = 20 + chance_below(&chance, SEQUENCE_MAX - 20);
		char error[512];

		for (size_t i = 0; i < nr; i++)
			steps[i] = chance_next(&chance);
		if (!play(machine_seed, steps, nr, &counts, false, error, sizeof(error))) {
			printf("seed %llu: %s\n", (unsigned long long)seed, error);
			shrink(machine_seed, steps, nr);
		}
	}
	printf("%llu steps, %llu allocations: %llu given, %llu refused; %llu budgets, %llu "
	       "extended, %llu with reused init memory, %llu compared with trying all sets\n",
	       (unsigned long long)counts.steps, (unsigned long long)counts.allocations,
	       (unsigned long long)counts.given, (unsigned long long)counts.refused,
	       (unsigned long long)counts.budgets, (unsigned long long)counts.extended,
	       (unsigned long long)counts.reused, (unsigned long long)counts.compared);
	/* Not at the start of a line: "ok" there would count as a test. */
	printf("results:");
	for (int i = 0; i < MEMORY_RESULT_NR; i++)
		printf("  %s %llu", memory_result_name((enum memory_result)i),
		       (unsigned long long)counts.result[i]);
	printf("\n");
	if (nr_steps >= 20000)
		check_counts(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
