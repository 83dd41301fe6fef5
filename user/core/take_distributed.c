// SPDX-License-Identifier: Apache-2.0
/*
 * The distributed take: evenly over as few NUMA nodes as can hold the request.
 * Which nodes is arithmetic (balance.h); here it becomes CPUs, node by node, by
 * packed takes. At most one balance per number of nodes, and at most nr_nodes +
 * rest < 2 * 64 packed takes.
 */
#include "core/balance.h"
#include "core/take.h"

struct distribution {
	const struct topology *topology;
	const struct take_options
		*options; /* without uncore: distribution does not align to caches */
	struct cpuset free, result;
	int64_t need;
};

static uint32_t divide_up(uint32_t value, uint32_t divisor)
{
	return value ? (value - 1) / divisor + 1 : 0;
}

static void take_from_node(struct distribution *distribution, uint16_t node, uint32_t count)
{
	struct cpuset free = distribution->free, cpus;

	cpuset_intersect(&free, &distribution->topology->nodes.cpus[node]);
	/* The kubelet ignores this failure too and lets the final account tell. */
	if (take_packed(distribution->topology, &free, count, distribution->options, &cpus) !=
	    TAKE_OK)
		return;
	cpuset_union(&distribution->result, &cpus);
	cpuset_subtract(&distribution->free, &cpus);
	distribution->need -= cpuset_count(&cpus);
}

/* False when a whole round over the nodes finds no group: the kubelet would go round for ever. */
static bool deal_rest(struct distribution *distribution, const struct balance *balance,
		      const uint16_t *nodes, uint32_t group)
{
	const struct topology *topology = distribution->topology;
	uint32_t rest = balance->rest_groups;

	while (rest) {
		bool dealt = false;

		for (unsigned int i = 0; i < balance->nr_rest && rest; i++) {
			uint16_t node = nodes[balance->rest[i]];

			if (cpuset_count_common(&distribution->free, &topology->nodes.cpus[node]) <
			    group)
				continue;
			take_from_node(distribution, node, group);
			rest--;
			dealt = true;
		}
		if (!dealt)
			return false;
	}
	return true;
}

static enum take_status distribute(struct distribution *distribution, const struct balance *balance,
				   const uint16_t *nodes, uint32_t group)
{
	for (unsigned int i = 0; i < balance->nr_used; i++)
		take_from_node(distribution, nodes[balance->used[i]], balance->even);
	if (!deal_rest(distribution, balance, nodes, group))
		return TAKE_HANG;
	if (distribution->need > 0)
		return TAKE_TOO_FEW;
	return distribution->need < 0 ? TAKE_TOO_MANY : TAKE_OK;
}

static unsigned int fill_problem(const struct topology *topology, const struct cpuset *free,
				 uint32_t count, uint32_t group, uint16_t *nodes,
				 struct balance_problem *ret_problem)
{
	ret_problem->nr = take_node_order(topology, free, nodes);
	ret_problem->count = count;
	ret_problem->group = group;
	for (unsigned int i = 0; i < ret_problem->nr; i++)
		ret_problem->free[i] = cpuset_count_common(free, &topology->nodes.cpus[nodes[i]]);
	return ret_problem->nr;
}

/* Fewest nodes that could hold the request if the machine were empty and even. */
static unsigned int fewest_nodes(const struct topology *topology, uint32_t count, uint32_t group)
{
	uint32_t groups = divide_up(cpuset_count(&topology->all), group);
	uint32_t per_node = divide_up(groups, topology->nodes.nr);

	return divide_up(divide_up(count, group), per_node);
}

enum take_status take_distributed(const struct topology *topology, const struct cpuset *free,
				  unsigned int count, const struct take_options *options,
				  struct cpuset *ret_cpus)
{
	uint32_t group = options->group ? options->group : 1;
	struct take_options packed = *options;
	struct distribution distribution = {topology, &packed, *free, CPUSET_EMPTY, count};
	bool repaired = options->compatibility == COMPATIBILITY_REPAIRED;
	uint16_t nodes[TOPOLOGY_MAX_NODES];
	struct balance_problem problem;
	struct balance balance;
	enum take_status status;

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
	for (problem.nr_used = fewest_nodes(topology, count, group);
	     problem.nr_used <= problem.nr && problem.nr_used <= count / group; problem.nr_used++) {
		if (!balance_find(&problem, &balance))
			continue;
		if (!repaired) {
			if (balance_hangs(&problem, &balance))
				return TAKE_HANG;
			balance_spoil(&problem, &balance);
		}
		status = distribute(&distribution, &balance, nodes, group);
		if (status == TAKE_OK)
			*ret_cpus = distribution.result;
		return status;
	}
	return take_packed(topology, free, count, &packed, ret_cpus);
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
