// SPDX-License-Identifier: Apache-2.0
/*
 * The distributed take: evenly over as few NUMA nodes as can hold the request. balance.h
 * chooses the nodes; this file takes the CPUs, node by node, with packed takes. Cost: at
 * most one balance per number of nodes (two with kubelet-1.37 and align-by-socket), or with
 * improved and align-by-socket per number of nodes and of sockets (at most 64 each; with
 * more than TAKE_EXACT_NODES nodes, all searches that are limited to some sockets share
 * TAKE_SEARCH_STEPS steps), and at most nr_nodes + rest < 2 * 64 packed takes. A limited
 * share may leave a larger remainder, which takes one packed take per group.
 */
#include "core/cpu/balance.h"
#include "core/cpu/take_private.h"

struct distribution {
	const struct topology *topology;
	const struct take_options
		*options; /* uncore is ignored: distribution does not align to caches */
	struct cpuset free, result;
	int64_t need;
	uint32_t group, rest_groups;
	bool is_limited; /* as in balance.h */
};

static uint32_t divide_up(uint32_t value, uint32_t divisor)
{
	return (value + divisor - 1) / divisor;
}

static void take_from_node(struct distribution *distribution, uint16_t node, uint32_t count)
{
	struct cpuset free = distribution->free, cpus;

	cpuset_intersect(&free, &distribution->topology->nodes.cpus[node]);
	/*
	 * The kubelet ignores this failure as well; its final check of the number of CPUs
	 * reports it.
	 */
	if (take_packed(distribution->topology, &free, count, distribution->options, &cpus) !=
	    TAKE_OK)
		return;
	cpuset_union(&distribution->result, &cpus);
	cpuset_subtract(&distribution->free, &cpus);
	distribution->need -= cpuset_count(&cpus);
}

/*
 * Returns false if a complete round over the nodes finds no group; the kubelet would loop
 * forever.
 */
static bool deal_rest(struct distribution *distribution, const struct balance *balance,
		      const uint16_t *nodes)
{
	const struct topology *topology = distribution->topology;
	uint32_t group = distribution->group;

	while (distribution->rest_groups) {
		bool dealt = false;

		for (unsigned int i = 0; i < balance->nr_rest && distribution->rest_groups; i++) {
			uint16_t node = nodes[balance->rest[i]];

			if (cpuset_count_common(&distribution->free, &topology->nodes.cpus[node]) <
			    group)
				continue;
			take_from_node(distribution, node, group);
			distribution->rest_groups--;
			dealt = true;
		}
		if (!dealt)
			return false;
	}
	return true;
}

/*
 * A limited share is limited once more by what each node really has, because the kubelet's
 * combination may have been overwritten. What is then missing is added to the remainder.
 */
static void take_share(struct distribution *distribution, uint16_t node, uint32_t even)
{
	const struct cpuset *cpus = &distribution->topology->nodes.cpus[node];
	uint32_t wanted = even / distribution->group;
	uint32_t whole = cpuset_count_common(&distribution->free, cpus) / distribution->group;

	if (distribution->is_limited && whole < wanted) {
		distribution->rest_groups += wanted - whole;
		wanted = whole;
	}
	take_from_node(distribution, node, wanted * distribution->group);
}

static enum take_status distribute(struct distribution *distribution, const struct balance *balance,
				   const uint16_t *nodes)
{
	distribution->rest_groups = balance->rest_groups;
	for (unsigned int i = 0; i < balance->nr_used; i++)
		take_share(distribution, nodes[balance->used[i]], balance->even);
	if (!deal_rest(distribution, balance, nodes))
		return TAKE_HANG;
	if (distribution->need > 0)
		return TAKE_TOO_FEW;
	return distribution->need < 0 ? TAKE_TOO_MANY : TAKE_OK;
}

static void fill_problem(const struct topology *topology, const struct cpuset *free, uint32_t count,
			 uint32_t group, uint16_t *nodes, struct balance_problem *ret_problem)
{
	ret_problem->nr = take_node_order(topology, free, nodes);
	ret_problem->count = count;
	ret_problem->group = group;
	for (unsigned int i = 0; i < ret_problem->nr; i++)
		ret_problem->free[i] = cpuset_count_common(free, &topology->nodes.cpus[nodes[i]]);
}

unsigned int take_fewest_nodes(const struct topology *topology, uint32_t count, uint32_t group)
{
	uint32_t groups = divide_up(cpuset_count(&topology->all), group);
	uint32_t per_node = divide_up(groups, topology->nodes.nr);

	return divide_up(divide_up(count, group), per_node);
}

/* The numbers of nodes to try, in the order first .. most, first - 1 .. fewest. */
struct range {
	unsigned int fewest, first, most;
};

static bool try_numbers(struct balance_problem *problem, unsigned int from, unsigned int to,
			struct balance *ret_balance)
{
	int step = from <= to ? 1 : -1;

	for (problem->nr_used = from;; problem->nr_used += (unsigned int)step) {
		if (balance_find(problem, ret_balance))
			return true;
		if (problem->nr_used == to)
			return false;
	}
}

/* With align-by-socket, fewer sockets take precedence over fewer nodes. */
static bool try_sockets(struct balance_problem *problem, unsigned int nr_sockets, unsigned int from,
			unsigned int to, struct balance *ret_balance)
{
	for (problem->max_sockets = 1; problem->max_sockets < nr_sockets; problem->max_sockets++) {
		if (try_numbers(problem, from, to, ret_balance))
			return true;
	}
	problem->max_sockets = 0;
	return try_numbers(problem, from, to, ret_balance);
}

/* kubelet 1.37 with align-by-socket: the fewest nodes, and among these one socket if possible. */
static bool find_limited(struct balance_problem *problem, const struct range *range,
			 struct balance *ret_balance)
{
	for (unsigned int nr = range->first; nr <= range->most; nr++) {
		problem->nr_used = nr;
		problem->max_sockets = 1;
		if (balance_find(problem, ret_balance))
			return true;
		problem->max_sockets = 0;
		if (balance_find(problem, ret_balance))
			return true;
	}
	return false;
}

static bool find_balance(struct balance_problem *problem, const struct range *range,
			 unsigned int nr_sockets, struct balance *ret_balance)
{
	if (problem->is_limited)
		return find_limited(problem, range, ret_balance);
	if (range->first <= range->most &&
	    try_sockets(problem, nr_sockets, range->first, range->most, ret_balance))
		return true;
	return range->fewest < range->first &&
	       try_sockets(problem, nr_sockets, range->first - 1, range->fewest, ret_balance);
}

/* The problem comes without sockets, and is left so, with 1 to try, if sockets do not matter. */
static unsigned int add_sockets(const struct topology *topology, bool by_socket,
				const uint16_t *nodes, struct balance_problem *problem)
{
	/* More than 64 sockets do not fit into the mask, but no policy accepts them. */
	if (!by_socket || topology->sockets.nr > 64)
		return 1;
	for (unsigned int i = 0; i < problem->nr; i++) {
		for (uint32_t j = 0; j < topology->sockets.nr; j++) {
			if (cpuset_intersects(&topology->sockets.cpus[j],
					      &topology->nodes.cpus[nodes[i]]))
				problem->sockets[i] |= (uint64_t)1 << j;
		}
	}
	return topology->sockets.nr;
}

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static struct range range_of(const struct topology *topology, const struct balance_problem *problem,
			     const struct take_options *options)
{
	uint32_t fewest = take_fewest_nodes(topology, problem->count, problem->group);
	struct range range = {fewest, fewest,
			      smaller(problem->nr, problem->count / problem->group)};

	if (options->compatibility == COMPATIBILITY_IMPROVED &&
	    smaller(options->min_nodes, range.most) > fewest)
		range.first = smaller(options->min_nodes, range.most);
	return range;
}

enum take_status take_distributed(const struct topology *topology, const struct cpuset *free,
				  unsigned int count, const struct take_options *options,
				  struct cpuset *ret_cpus)
{
	uint32_t group = options->group ? options->group : 1;
	struct take_options packed = *options;
	bool is_limited = options->compatibility == COMPATIBILITY_KUBELET_1_37 &&
			  options->by_socket;
	bool by_socket = options->compatibility == COMPATIBILITY_IMPROVED && options->by_socket;
	struct distribution distribution = {
		.topology = topology,
		.options = &packed,
		.free = *free,
		.need = count,
		.group = group,
		.is_limited = is_limited,
	};
	uint16_t nodes[TOPOLOGY_MAX_NODES];
	uint64_t steps = TAKE_SEARCH_STEPS;
	struct balance_problem problem = {.steps = &steps, .is_limited = is_limited};
	struct balance balance;
	enum take_status status;
	unsigned int nr_sockets;
	struct range range;

	packed.uncore = false;
	if (count % group)
		return take_packed(topology, free, count, &packed, ret_cpus);
	if (count > cpuset_count(free))
		return TAKE_NOT_ENOUGH;
	if (count == 0) {
		*ret_cpus = CPUSET_EMPTY;
		return TAKE_OK;
	}
	fill_problem(topology, free, count, group, nodes, &problem);
	nr_sockets = add_sockets(topology, by_socket || is_limited, nodes, &problem);
	range = range_of(topology, &problem, options);
	if (!find_balance(&problem, &range, nr_sockets, &balance))
		return take_packed(topology, free, count, &packed, ret_cpus);
	if (compatibility_is_kubelet(options->compatibility)) {
		if (balance_hangs(&problem, &balance))
			return TAKE_HANG;
		balance_spoil(&problem, &balance);
	}
	status = distribute(&distribution, &balance, nodes);
	if (status == TAKE_OK)
		*ret_cpus = distribution.result;
	return status;
}

const char *take_status_name(enum take_status status)
{
	static const char *const names[TAKE_STATUS_NR] = {
		[TAKE_OK] = "ok",
		[TAKE_NOT_ENOUGH] = "not-enough-cpus",
		[TAKE_TOO_FEW] = "accounting-too-few",
		[TAKE_TOO_MANY] = "accounting-too-many",
		[TAKE_HANG] = "hang",
	};

	return names[status];
}
