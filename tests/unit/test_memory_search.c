// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * The search for nodes on machines of 17 to 20 nodes, which the kubelet would answer by
 * listing 2^n sets: each answer is compared with a look at every set, by the published
 * rules and without a function of the memory manager.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "chance.h"
#include "memory_scene.h"

#define MAX_NODES 20
#define NR_CASES  60

/* By set of nodes: what it can have and what is free. */
struct table {
	uint64_t capacity[2][1 << MAX_NODES], free[2][1 << MAX_NODES];
};

struct search {
	struct memory_scene scene;
	struct memory_pod pod;
	struct memory_offer offer;
	struct table *table;
	uint32_t nr_nodes, nr_types, min_nodes;
	uint64_t wanted[2];
};

static uint32_t size_of(node_mask_t nodes)
{
	return (uint32_t)__builtin_popcountll(nodes);
}

static void fill_table(struct search *search)
{
	struct table *table = search->table;

	for (node_mask_t nodes = 1; nodes < (node_mask_t)1 << search->nr_nodes; nodes++) {
		node_mask_t rest = nodes & (nodes - 1);
		int index = __builtin_ctzll(nodes);

		for (uint32_t type = 0; type < search->nr_types; type++) {
			table->capacity[type][nodes] =
				table->capacity[type][rest] +
				search->scene.manager.allocatable_bytes[index][type];
			table->free[type][nodes] =
				table->free[type][rest] +
				search->scene.state.nodes[index].free_bytes[type];
		}
	}
}

/* Nodes in use serve single nodes or one group; a set must not mix them with others. */
static bool agrees_with_groups(const struct search *search, node_mask_t nodes)
{
	for (node_mask_t left = nodes; left; left &= left - 1) {
		const struct memory_node *node = &search->scene.state.nodes[__builtin_ctzll(left)];

		if (node->nr_assignments && node->cells != nodes)
			return false;
	}
	return true;
}

static bool suffices(const struct search *search, uint64_t (*bytes)[1 << MAX_NODES],
		     node_mask_t nodes)
{
	for (uint32_t type = 0; type < search->nr_types; type++) {
		if (bytes[type][nodes] < search->wanted[type])
			return false;
	}
	return true;
}

static bool is_hint(const struct search *search, node_mask_t nodes)
{
	return nodes && suffices(search, search->table->free, nodes) &&
	       agrees_with_groups(search, nodes);
}

/* By capacity, whatever is free; all nodes if no set has enough. */
static uint32_t fewest(const struct search *search)
{
	uint32_t least = search->nr_nodes;

	for (node_mask_t nodes = 1; nodes < (node_mask_t)1 << search->nr_nodes; nodes++) {
		if (size_of(nodes) < least && suffices(search, search->table->capacity, nodes))
			least = size_of(nodes);
	}
	return least;
}

/* Preferred first, then the fewest nodes, then the lowest number. */
static node_mask_t best_of_all(const struct search *search, node_mask_t base)
{
	node_mask_t best = 0;

	for (node_mask_t nodes = 1; nodes < (node_mask_t)1 << search->nr_nodes; nodes++) {
		uint32_t size = size_of(nodes), least = size_of(best);

		if ((base & ~nodes) || (best && least == search->min_nodes))
			continue;
		if (best && size >= least && size != search->min_nodes)
			continue;
		if (is_hint(search, nodes))
			best = nodes;
	}
	return best;
}

/*
 * With two types a size is only searched exactly if it has at most 65536 sets: of 19 and
 * 20 nodes, up to 6 or at least 14.
 */
static bool is_exact(const struct search *search, node_mask_t set)
{
	return search->nr_types == 1 || search->nr_nodes <= 18 || size_of(set) <= 6 ||
	       size_of(set) >= 14;
}

static bool has_hint(const struct hint *hints, uint32_t nr, node_mask_t nodes)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (hints[i].nodes == nodes)
			return true;
	}
	return false;
}

/* Every single node, every group in use, the best set, the narrowest, all unused nodes. */
static void check_list(const struct search *search, node_mask_t best)
{
	struct hint *hints cleanup_free = NULL;
	node_mask_t unused = 0, narrow = 0;
	uint32_t nr = 0;

	assert_int_equal(memory_offer_list(&search->offer, &hints, &nr), 0);
	for (uint32_t i = 0; i < nr; i++) {
		assert_true(is_hint(search, hints[i].nodes));
		assert_int_equal(hints[i].preferred, size_of(hints[i].nodes) == search->min_nodes);
		assert_false(has_hint(hints, i, hints[i].nodes));
	}
	for (uint32_t i = 0; i < search->nr_nodes; i++) {
		node_mask_t one = (node_mask_t)1 << i;
		const struct memory_node *node = &search->scene.state.nodes[i];

		assert_int_equal(has_hint(hints, nr, one), is_hint(search, one));
		assert_int_equal(has_hint(hints, nr, node->cells), is_hint(search, node->cells));
		unused |= node->nr_assignments ? 0 : one;
	}
	assert_int_equal(has_hint(hints, nr, unused), is_hint(search, unused));
	if (is_exact(search, best))
		assert_int_equal(has_hint(hints, nr, best), best != 0);
	for (node_mask_t nodes = 1; nodes < (node_mask_t)1 << search->nr_nodes; nodes++) {
		if (size_of(nodes) > 1 && (!narrow || size_of(nodes) < size_of(narrow)) &&
		    is_hint(search, nodes))
			narrow = nodes;
	}
	if (is_exact(search, narrow))
		assert_int_equal(has_hint(hints, nr, narrow), narrow != 0);
}

static void check_case(struct search *search, struct chance *chance)
{
	node_mask_t bases[3] = {0, (node_mask_t)1 << chance_below(chance, search->nr_nodes), 0};
	struct hint best;

	bases[2] = bases[1] | (node_mask_t)1 << chance_below(chance, search->nr_nodes);
	fill_table(search);
	search->min_nodes = fewest(search);
	memory_offer_container(&search->scene.manager, &search->scene.state, &search->pod, 0, NULL,
			       &search->offer);
	if (!is_exact(search, ((node_mask_t)1 << search->min_nodes) - 1))
		return;
	assert_int_equal(search->offer.min_nodes, search->min_nodes);
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		node_mask_t want = best_of_all(search, bases[i]);

		if (memory_offer_best(&search->offer, bases[i], &best))
			assert_true(is_hint(search, best.nodes));
		else
			assert_false(want && is_exact(search, want));
		if (!want || !is_exact(search, want))
			continue;
		assert_int_equal(best.nodes, want);
		assert_int_equal(best.preferred, size_of(want) == search->min_nodes);
	}
	check_list(search, best_of_all(search, 0));
}

/* Small numbers make equal sums and sums that miss by one byte likely. */
static void make_machine(struct search *search, struct chance *chance)
{
	struct topology_node nodes[MAX_NODES] = {{0}};

	search->nr_types = 1 + chance_below(chance, 2);
	search->nr_nodes = MAX_NODES - (search->nr_types > 1 ? chance_below(chance, 4) : 0);
	for (uint32_t i = 0; i < search->nr_nodes; i++) {
		uint64_t pages = search->nr_types > 1 ? chance_below(chance, 3) : 0;

		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = chance_below(chance, 8) + pages * PAGE_2M,
			.nr_hugepages = search->nr_types - 1,
			.hugepages = {{PAGE_2M, pages, UINT64_MAX}},
		};
	}
	search->scene = (struct memory_scene){.policy = policy_default()};
	assert_true(memory_scene_init(&search->scene, memory_machine(nodes, search->nr_nodes)));
}

/* Some nodes serve one container, and some neighbours are a group. */
static void use_nodes(struct search *search, struct chance *chance)
{
	uint32_t percent = chance_percent(chance, 50) ? 0 : 20 + chance_below(chance, 30);

	for (uint32_t i = 0; i < search->nr_nodes; i++) {
		struct memory_node *node = &search->scene.state.nodes[i];

		if (!chance_percent(chance, percent))
			continue;
		node->nr_assignments = 1;
		node->free_bytes[0] -= chance_below(chance, (uint32_t)node->free_bytes[0] + 1);
		if (i && !search->scene.state.nodes[i - 1].nr_assignments) {
			struct memory_node *other = &search->scene.state.nodes[i - 1];

			other->nr_assignments = 1;
			other->cells = node->cells = (node_mask_t)3 << (i - 1);
		}
	}
}

static void make_request(struct search *search, struct chance *chance)
{
	node_mask_t some = 0;
	uint32_t percent = 20 + chance_below(chance, 60);
	struct pod_spec *spec = scene_pod("a");
	struct container_spec *container;

	/* What some nodes have together, or one byte more. */
	for (uint32_t i = 0; i < search->nr_nodes; i++)
		some |= chance_percent(chance, percent) ? (node_mask_t)1 << i : 0;
	search->wanted[0] = 1 + chance_below(chance, 2);
	search->wanted[1] = PAGE_2M;
	for (node_mask_t left = some; left; left &= left - 1) {
		const struct memory_node *node = &search->scene.state.nodes[__builtin_ctzll(left)];

		search->wanted[0] += node->free_bytes[0];
		search->wanted[1] += node->free_bytes[1];
	}
	search->wanted[0] -= search->wanted[0] > 1;
	container = ask(spec, "main", CONTAINER_APP, (int64_t)search->wanted[0]);
	if (search->nr_types > 1)
		ask_pages(container, PAGE_2M, (int64_t)search->wanted[1]);
	search->pod = memory_pod_of(spec);
}

static void as_a_look_at_every_set(void **state)
{
	struct table *table = calloc(1, sizeof(*table));
	struct chance chance = {1};

	(void)state;
	assert_non_null(table);
	for (int i = 0; i < NR_CASES; i++) {
		struct search search = {.table = table};

		make_machine(&search, &chance);
		use_nodes(&search, &chance);
		make_request(&search, &chance);
		check_case(&search, &chance);
		memory_pod_fini(&search.pod);
		memory_scene_fini(&search.scene);
	}
	free(table);
}

/* --- what the search does not look at set by set ---------------------------------------------- */

/* Nodes of some bytes and pages, and one container that requests both; min_nodes of its offer. */
static void one_request(struct search *search, const uint64_t (*have)[2], uint32_t nr,
			const uint64_t *wanted)
{
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{0}};
	struct pod_spec *spec = scene_pod("a");

	for (uint32_t i = 0; i < nr; i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = have[i][0] + have[i][1] * PAGE_2M,
			.nr_hugepages = 1,
			.hugepages = {{PAGE_2M, have[i][1], UINT64_MAX}},
		};
	search->scene = (struct memory_scene){.policy = policy_default()};
	assert_true(memory_scene_init(&search->scene, memory_machine(nodes, nr)));
	ask_pages(ask(spec, "main", CONTAINER_APP, (int64_t)wanted[0]), PAGE_2M,
		  (int64_t)(wanted[1] * PAGE_2M));
	search->pod = memory_pod_of(spec);
	memory_offer_container(&search->scene.manager, &search->scene.state, &search->pod, 0, NULL,
			       &search->offer);
}

static void end_request(struct search *search)
{
	memory_pod_fini(&search->pod);
	memory_scene_fini(&search->scene);
}

/*
 * All but 2 of 20 nodes are only 190 sets, so each is looked at. The two nodes with the
 * least, 18 and 17, both have memory, of which only one of them can be spared.
 */
static void nearly_all_nodes_are_looked_at(void **state)
{
	uint64_t have[20][2];
	struct search search;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		have[i][0] = have[i][1] = 10;
	have[17][0] = have[18][0] = 2;
	have[17][1] = have[18][1] = 0;
	have[19][0] = 0;
	have[19][1] = 3;
	one_request(&search, have, 20, (const uint64_t[]){17 * 10 + 2, 17 * 10});
	assert_int_equal(search.offer.min_nodes, 18);
	assert_true(memory_offer_best(&search.offer, 0, &best));
	assert_int_equal(best.nodes, 0x3ffff);
	end_request(&search);
}

/* A node that has as much as is requested of one type is worth more than others. */
static void a_node_that_has_all_of_a_type_is_found(void **state)
{
	uint64_t have[64][2];
	struct search search;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		have[i][0] = 1;
		have[i][1] = i == 50 ? 9 : 0;
	}
	one_request(&search, have, 64, (const uint64_t[]){6, 8});
	assert_int_equal(search.offer.min_nodes, 6);
	assert_true(memory_offer_best(&search.offer, 0, &best));
	assert_true(best.nodes == ((node_mask_t)1 << 50 | 0x1f));
	end_request(&search);
}

/* Of 64 nodes the upper half has more, but one of those seven may be replaced by node 0. */
static void the_lowest_of_too_many_sets_is_found(void **state)
{
	uint64_t have[64][2];
	struct search search;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		have[i][0] = i < 32 ? 2 : 3;
		have[i][1] = 1;
	}
	one_request(&search, have, 64, (const uint64_t[]){20, 0});
	assert_int_equal(search.offer.min_nodes, 7);
	assert_true(memory_offer_best(&search.offer, 0, &best));
	assert_true(best.nodes == ((node_mask_t)0x3f << 32 | 1));
	end_request(&search);
}

/* By the ledger any 32 nodes have the pages; in the kernel none has one. */
static void too_many_sets_without_a_hint(void **state)
{
	uint64_t have[64][2];
	struct topology_node now[64];
	struct search search;
	struct hint best;

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		have[i][0] = have[i][1] = 1;
	one_request(&search, have, 64, (const uint64_t[]){1, 32});
	for (uint32_t i = 0; i < 64; i++) {
		now[i] = search.scene.topology->memory_nodes[i];
		now[i].hugepages[0].free_pages = 0;
	}
	memory_set_kernel_free(&search.scene.manager, now, 64);
	assert_int_equal(search.offer.min_nodes, 32);
	assert_false(memory_offer_best(&search.offer, 0, &best));
	end_request(&search);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_a_look_at_every_set),
		cmocka_unit_test(nearly_all_nodes_are_looked_at),
		cmocka_unit_test(a_node_that_has_all_of_a_type_is_found),
		cmocka_unit_test(the_lowest_of_too_many_sets_is_found),
		cmocka_unit_test(too_many_sets_without_a_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
