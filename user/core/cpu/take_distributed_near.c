// SPDX-License-Identifier: Apache-2.0
/*
 * The distributed take of an in-place resize (KEP-5554). Every combination of NUMA nodes that
 * contains those with held CPUs is scored as in balance.h: by the deviation of the CPUs that
 * stay free, where a node gives no more than what its even share still lacks. Resizes are rare
 * and machines with many nodes rarer, so this is a plain search without bounds.
 *
 * Cost: at most TAKE_NEAR_STEPS steps, one for each node of a combination that is scored (about
 * 10 ns), and 2 * 64 packed takes. Of 9 nodes there are 3^9 pairs of a combination and a
 * remainder, so up to there the search comes to its end.
 */
#include "core/cpu/balance.h"
#include "core/cpu/take_private.h"

/* How the even share and the remainder fall on the chosen nodes, by their positions. */
struct choice {
	uint32_t share, rest_groups;
	unsigned int nr_used, nr_rest;
	uint8_t used[BALANCE_MAX], rest[BALANCE_MAX];
};

struct near_search {
	const struct topology *topology;
	uint32_t count, group;
	bool by_socket;
	unsigned int nr; /* nodes with CPUs to take, in take order */
	uint16_t nodes[BALANCE_MAX];
	uint32_t pool[BALANCE_MAX], held[BALANCE_MAX];
	unsigned int nr_holders; /* nodes with held CPUs, whether they have any left or not */
	uint32_t held_sum;
	uint64_t steps;
	bool found, best_in_socket;
	int64_t best_score;
	struct choice best;
};

static uint32_t total_of(const struct near_search *search, unsigned int position)
{
	return search->pool[position] + search->held[position];
}

static uint32_t whole_groups_of(const struct near_search *search, unsigned int position)
{
	return total_of(search, position) / search->group;
}

static bool spend(struct near_search *search, uint64_t steps)
{
	search->steps = search->steps > steps ? search->steps - steps : 0;
	return search->steps;
}

/* --- scoring ---------------------------------------------------------------------------------- */

/* The division rounded to the nearest integer, halves away from zero. */
static int64_t divide_round(int64_t value, int64_t divisor)
{
	int64_t half = value < 0 ? -divisor : divisor;

	return (2 * value + half) / (2 * divisor);
}

static int64_t score_of(const struct near_search *search, const int64_t *left)
{
	int64_t sum = 0, mean_milli, spread = 0;

	for (unsigned int i = 0; i < search->nr; i++)
		sum += left[i];
	mean_milli = divide_round(1000 * sum, search->nr);
	for (unsigned int i = 0; i < search->nr; i++) {
		int64_t distance = 1000 * left[i] - mean_milli;

		spread += distance * distance;
	}
	return balance_score(search->nr, spread);
}

static bool in_one_socket(const struct near_search *search, const struct choice *choice)
{
	const struct topology *topology = search->topology;

	for (uint32_t i = 0; i < topology->sockets.nr; i++) {
		bool all = true;

		for (unsigned int j = 0; j < choice->nr_used && all; j++)
			all = cpuset_is_subset(
				&topology->nodes.cpus[search->nodes[choice->used[j]]],
				&topology->sockets.cpus[i]);
		if (all)
			return true;
	}
	return false;
}

/* A combination inside one socket wins over any other; then the better balance, then the first. */
static void consider(struct near_search *search, const struct choice *choice, const int64_t *left,
		     bool in_socket)
{
	int64_t score = score_of(search, left);

	if (search->found && (search->best_in_socket > in_socket ||
			      (search->best_in_socket == in_socket && search->best_score <= score)))
		return;
	search->found = true;
	search->best_in_socket = in_socket;
	search->best_score = score;
	search->best = *choice;
}

/* --- the remainder ---------------------------------------------------------------------------- */

/* Deal the remainder over its nodes, a group at a time. Returns false if it does not fit. */
static bool deal(const struct near_search *search, const struct choice *choice, int64_t *left)
{
	uint32_t rest = choice->rest_groups;

	while (rest) {
		bool dealt = false;

		for (unsigned int i = 0; i < choice->nr_rest && rest; i++) {
			if (left[choice->rest[i]] < search->group)
				continue;
			left[choice->rest[i]] -= search->group;
			rest--;
			dealt = true;
		}
		if (!dealt)
			return false;
	}
	return true;
}

/* Try each subset of the nodes that have a group left after their share, larger ones first. */
static void try_remainders(struct near_search *search, struct choice *choice, const int64_t *left,
			   bool in_socket)
{
	uint8_t givers[BALANCE_MAX], members[BALANCE_MAX];
	unsigned int nr_givers = 0;

	for (unsigned int i = 0; i < choice->nr_used; i++) {
		if (left[choice->used[i]] >= search->group)
			givers[nr_givers++] = choice->used[i];
	}
	for (choice->nr_rest = nr_givers; choice->nr_rest; choice->nr_rest--) {
		for (unsigned int i = 0; i < choice->nr_rest; i++)
			members[i] = (uint8_t)i;
		do {
			int64_t after[BALANCE_MAX];

			if (!spend(search, search->nr))
				return;
			for (unsigned int i = 0; i < search->nr; i++)
				after[i] = left[i];
			for (unsigned int i = 0; i < choice->nr_rest; i++)
				choice->rest[i] = givers[members[i]];
			if (deal(search, choice, after))
				consider(search, choice, after, in_socket);
		} while (balance_next_combination(members, choice->nr_rest, nr_givers));
	}
}

/* --- combinations of nodes -------------------------------------------------------------------- */

/* The even share of these nodes. With by_socket the poorest one lowers it for all. */
static uint32_t share_of(const struct near_search *search, const struct choice *choice)
{
	uint32_t groups = search->count / search->group / choice->nr_used;

	for (unsigned int i = 0; i < choice->nr_used && search->by_socket; i++) {
		uint32_t whole = whole_groups_of(search, choice->used[i]);

		groups = whole < groups ? whole : groups;
	}
	return groups * search->group;
}

static bool can_hold(const struct near_search *search, const struct choice *choice)
{
	unsigned int nr_holders = 0;
	uint32_t pool = 0, groups = 0;

	for (unsigned int i = 0; i < choice->nr_used; i++) {
		nr_holders += search->held[choice->used[i]] > 0;
		pool += search->pool[choice->used[i]];
		groups += whole_groups_of(search, choice->used[i]);
	}
	return nr_holders == search->nr_holders && pool + search->held_sum >= search->count &&
	       groups >= search->count / search->group;
}

static void try_nodes(struct near_search *search, struct choice *choice)
{
	int64_t left[BALANCE_MAX], rest;
	uint32_t share, extra;
	bool in_socket;

	if (!can_hold(search, choice))
		return;
	share = share_of(search, choice);
	extra = search->count - share * choice->nr_used;
	rest = extra;
	for (unsigned int i = 0; i < search->nr; i++)
		left[i] = search->pool[i];
	for (unsigned int i = 0; i < choice->nr_used; i++) {
		unsigned int position = choice->used[i];
		uint32_t held = search->held[position];

		if (total_of(search, position) < share || held > share + extra)
			return;
		if (held > share) {
			rest -= held - share;
			left[position] -= held;
		} else {
			left[position] -= share - held;
		}
	}
	if (rest < 0)
		return;
	choice->share = share;
	choice->rest_groups = ((uint32_t)rest + search->group - 1) / search->group;
	choice->nr_rest = 0;
	in_socket = search->by_socket && in_one_socket(search, choice);
	if (choice->rest_groups)
		try_remainders(search, choice, left, in_socket);
	else if (spend(search, search->nr))
		consider(search, choice, left, in_socket);
}

static bool find_choice(struct near_search *search, unsigned int fewest, unsigned int most)
{
	struct choice choice;

	for (unsigned int nr = fewest; nr <= most && !search->found; nr++) {
		choice.nr_used = nr;
		for (unsigned int i = 0; i < nr; i++)
			choice.used[i] = (uint8_t)i;
		do {
			try_nodes(search, &choice);
		} while (spend(search, 1) && balance_next_combination(choice.used, nr, search->nr));
	}
	return search->found;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Add CPUs of this node to `result` until it has `count` there, near those that it has. */
static void fill_node(const struct near_search *search, uint16_t node, uint32_t count,
		      const struct cpuset *free, const struct take_options *options,
		      struct cpuset *result)
{
	const struct cpuset *cpus = &search->topology->nodes.cpus[node];
	struct cpuset held = *result, pool = *free, taken;

	cpuset_intersect(&held, cpus);
	cpuset_intersect(&pool, cpus);
	if (count > cpuset_count(&held) &&
	    take_packed_near(search->topology, &held, &pool, count, options, &taken) == TAKE_OK)
		cpuset_union(result, &taken);
}

static uint32_t count_in_node(const struct near_search *search, uint16_t node,
			      const struct cpuset *cpus)
{
	return cpuset_count_common(cpus, &search->topology->nodes.cpus[node]);
}

static enum take_status take_choice(const struct near_search *search, const struct cpuset *held,
				    const struct cpuset *free, const struct take_options *options,
				    struct cpuset *ret_cpus)
{
	const struct choice *choice = &search->best;
	struct cpuset result = *held;
	uint32_t before;

	for (unsigned int i = 0; i < choice->nr_used; i++)
		fill_node(search, search->nodes[choice->used[i]], choice->share, free, options,
			  &result);
	do {
		before = cpuset_count(&result);
		for (unsigned int i = 0;
		     i < choice->nr_rest && cpuset_count(&result) < search->count; i++) {
			uint16_t node = search->nodes[choice->rest[i]];

			fill_node(search, node,
				  count_in_node(search, node, &result) + search->group, free,
				  options, &result);
		}
	} while (cpuset_count(&result) < search->count && cpuset_count(&result) > before);
	if (cpuset_count(&result) < search->count)
		return TAKE_TOO_FEW;
	if (cpuset_count(&result) > search->count)
		return TAKE_TOO_MANY;
	*ret_cpus = result;
	return TAKE_OK;
}

static void fill_search(struct near_search *search, const struct cpuset *held,
			const struct cpuset *pool)
{
	const struct topology *topology = search->topology;

	search->nr = take_node_order_near(topology, held, pool, search->nodes);
	for (unsigned int i = 0; i < search->nr; i++) {
		search->pool[i] = count_in_node(search, search->nodes[i], pool);
		search->held[i] = count_in_node(search, search->nodes[i], held);
	}
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		search->nr_holders += cpuset_intersects(held, &topology->nodes.cpus[i]);
	search->held_sum = cpuset_count(held);
}

enum take_status take_distributed_near(const struct topology *topology, const struct cpuset *held,
				       const struct cpuset *free, unsigned int count,
				       const struct take_options *options, struct cpuset *ret_cpus)
{
	struct near_search search = {.topology = topology,
				     .count = count,
				     .group = options->group ? options->group : 1,
				     .by_socket = options->by_socket,
				     .steps = TAKE_NEAR_STEPS};
	struct take_options packed = *options;
	struct cpuset pool = *free;
	unsigned int fewest, most;

	packed.uncore = false;
	cpuset_subtract(&pool, held);
	/* Without a CPU to take there is no node to choose. */
	if (count % search.group || count <= cpuset_count(held) || cpuset_is_empty(&pool))
		return take_packed_near(topology, held, free, count, &packed, ret_cpus);
	fill_search(&search, held, &pool);
	fewest = take_fewest_nodes(topology, count, search.group);
	fewest = search.nr_holders > fewest ? search.nr_holders : fewest;
	most = count / search.group < search.nr ? count / search.group : search.nr;
	if (!find_choice(&search, fewest, most))
		return take_packed_near(topology, held, free, count, &packed, ret_cpus);
	return take_choice(&search, held, &pool, &packed, ret_cpus);
}
