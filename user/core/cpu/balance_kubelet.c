// SPDX-License-Identifier: Apache-2.0
/*
 * Two defects of kubelet 1.36.3 in closed form, used only with compatibility
 * kubelet-1.36: stored combinations that are overwritten, and the infinite loop.
 */
#include "core/cpu/balance.h"
#include "core/cpu/take.h"

/*
 * In Go, a combination grows by appending to a slice. A new array is allocated when the
 * old one is full, and capacities double starting from one, so new arrays begin at
 * lengths 1, 2, 3, 5, 9, 17 and 33. Members after the last of these lengths share their
 * array with later combinations that have the same prefix.
 */
static unsigned int own_length(unsigned int length)
{
	unsigned int own = 1;

	if (length >= 2)
		own = 2;
	for (unsigned int start = 3; start <= length; start = 2 * start - 1)
		own = start;
	return own;
}

/* Move to the next combination of `nr` out of `total` in lexicographic order; false after the last. */
static bool next_combination(uint8_t *members, unsigned int nr, unsigned int total)
{
	unsigned int i = nr;

	while (i > 0 && members[i - 1] == total - nr + i - 1)
		i--;
	if (i == 0)
		return false;
	members[i - 1]++;
	for (; i < nr; i++)
		members[i] = (uint8_t)(members[i - 1] + 1);
	return true;
}

static void spoil_used(const struct balance_problem *problem, struct balance *balance)
{
	unsigned int nr = balance->nr_used, own = own_length(nr);
	uint8_t next[BALANCE_MAX];

	if (!balance->perfect) {
		/* The enumeration was completed. */
		for (unsigned int i = own; i < nr; i++)
			balance->used[i] = (uint8_t)(problem->nr - nr + i);
		return;
	}
	/* The enumeration stopped after the next combination had been written. */
	for (unsigned int i = 0; i < nr; i++)
		next[i] = balance->used[i];
	if (!next_combination(next, nr, problem->nr))
		return;
	for (unsigned int i = 0; i < own; i++) {
		if (next[i] != balance->used[i])
			return;
	}
	for (unsigned int i = own; i < nr; i++)
		balance->used[i] = next[i];
}

static void spoil_rest(const struct balance_problem *problem, struct balance *balance)
{
	unsigned int own = own_length(balance->nr_rest), nr_givers = 0;
	uint8_t givers[BALANCE_MAX];

	for (unsigned int i = 0; i < balance->nr_used; i++) {
		if (balance_capacity(problem, balance, balance->used[i]))
			givers[nr_givers++] = balance->used[i];
	}
	for (unsigned int i = own; i < balance->nr_rest; i++)
		balance->rest[i] = givers[nr_givers - balance->nr_rest + i];
}

void balance_spoil(const struct balance_problem *problem, struct balance *balance)
{
	/* The remainder refers to the combination as it was when it was scored. */
	if (balance->nr_rest)
		spoil_rest(problem, balance);
	spoil_used(problem, balance);
}

/*
 * Is there a subset with enough CPUs but too few whole groups? A knapsack computes, for
 * each number of groups below the remainder, the maximum number of CPUs outside whole
 * groups.
 */
static bool combination_hangs(const struct balance_problem *problem, const struct balance *balance,
			      const uint8_t *used)
{
	uint32_t beyond[BALANCE_MAX] = {0};
	bool reachable[BALANCE_MAX] = {true};
	uint32_t rest = balance->rest_groups, group = problem->group;

	for (unsigned int i = 0; i < balance->nr_used; i++) {
		uint32_t left = problem->free[used[i]] - balance->even;
		uint32_t capacity = left / group;

		if (capacity == 0)
			continue;
		for (uint32_t sum = rest; sum-- > capacity;) {
			uint32_t with = beyond[sum - capacity] + left % group;

			if (!reachable[sum - capacity])
				continue;
			if (!reachable[sum] || with > beyond[sum])
				beyond[sum] = with;
			reachable[sum] = true;
			if (sum * group + beyond[sum] >= rest * group)
				return true;
		}
	}
	return false;
}

static bool is_scored(const struct balance_problem *problem, const struct balance *balance,
		      const uint8_t *used)
{
	uint32_t groups = 0;

	for (unsigned int i = 0; i < balance->nr_used; i++) {
		if (problem->free[used[i]] < balance->even)
			return false;
		groups += problem->free[used[i]] / problem->group;
	}
	return groups * problem->group >= problem->count;
}

static bool same_members(const uint8_t *a, const uint8_t *b, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (a[i] != b[i])
			return false;
	}
	return true;
}

/* At most C(16, 8) = 12870 combinations, each O(nr_used * rest). */
bool balance_hangs(const struct balance_problem *problem, const struct balance *balance)
{
	uint8_t used[BALANCE_MAX];

	if (balance->rest_groups == 0 || problem->nr > TAKE_EXACT_NODES || problem->group == 1)
		return false;
	for (unsigned int i = 0; i < balance->nr_used; i++)
		used[i] = (uint8_t)i;
	do {
		if (is_scored(problem, balance, used) && combination_hangs(problem, balance, used))
			return true;
		if (balance->perfect && same_members(used, balance->used, balance->nr_used))
			return false;
	} while (next_combination(used, balance->nr_used, problem->nr));
	return false;
}
