// SPDX-License-Identifier: Apache-2.0
/*
 * Two defects of kubelet 1.36.3, which 1.37 still has, used only with compatibility
 * kubelet-1.36 and kubelet-1.37: stored combinations that are overwritten, in closed form,
 * and the infinite loop.
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

bool balance_next_combination(uint8_t *members, unsigned int nr, unsigned int total)
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

	if (!balance->is_last) {
		/* The enumeration was completed. */
		for (unsigned int i = own; i < nr; i++)
			balance->used[i] = (uint8_t)(problem->nr - nr + i);
		return;
	}
	/* The enumeration stopped after the next combination had been written. */
	for (unsigned int i = 0; i < nr; i++)
		next[i] = balance->used[i];
	if (!balance_next_combination(next, nr, problem->nr))
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

/* A combination as the kubelet scores it. */
struct scored {
	uint32_t group, rest_groups;
	unsigned int nr; /* positions that can supply a group of the remainder */
	uint32_t left[BALANCE_MAX];
	/* [i]: CPUs left at positions >= i. */
	uint32_t left_from[BALANCE_MAX + 1];
};

/*
 * Is there a subset of the positions >= `at` that, with those chosen before, has enough
 * CPUs but too few whole groups? The recursion depth is at most TAKE_EXACT_NODES.
 */
static bool has_hanging_subset(const struct scored *scored, unsigned int at, uint32_t cpus,
			       uint32_t groups)
{
	uint32_t wanted = scored->rest_groups * scored->group;

	if (groups >= scored->rest_groups || cpus + scored->left_from[at] < wanted)
		return false;
	if (cpus >= wanted)
		return true;
	return has_hanging_subset(scored, at + 1, cpus + scored->left[at],
				  groups + scored->left[at] / scored->group) ||
	       has_hanging_subset(scored, at + 1, cpus, groups);
}

static bool combination_hangs(const struct balance_problem *problem, const uint8_t *used)
{
	struct scored scored = {.group = problem->group};
	uint32_t even = balance_share(problem, used, &scored.rest_groups);

	for (unsigned int i = 0; i < problem->nr_used; i++) {
		uint32_t left = problem->free[used[i]] - even;

		if (left >= problem->group)
			scored.left[scored.nr++] = left;
	}
	for (unsigned int i = scored.nr; i-- > 0;)
		scored.left_from[i] = scored.left_from[i + 1] + scored.left[i];
	return has_hanging_subset(&scored, 0, 0, 0);
}

static bool is_scored(const struct balance_problem *problem, const uint8_t *used)
{
	uint32_t groups = 0, rest;
	uint32_t even = balance_share(problem, used, &rest);

	for (unsigned int i = 0; i < problem->nr_used; i++) {
		if (problem->free[used[i]] < even)
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

/* At most C(16, 8) = 12870 combinations, each at most 2^nr_used subsets. */
bool balance_hangs(const struct balance_problem *problem, const struct balance *balance)
{
	uint8_t used[BALANCE_MAX];

	if (problem->nr > TAKE_EXACT_NODES || problem->group == 1 ||
	    (!problem->is_limited && balance->rest_groups == 0))
		return false;
	for (unsigned int i = 0; i < balance->nr_used; i++)
		used[i] = (uint8_t)i;
	do {
		if (is_scored(problem, used) && combination_hangs(problem, used))
			return true;
		if (balance->is_last && same_members(used, balance->used, balance->nr_used))
			return false;
	} while (balance_next_combination(used, balance->nr_used, problem->nr));
	return false;
}
