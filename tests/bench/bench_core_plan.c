// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/*
 * Cost of ordering the moves of many exclusive containers that wait for each other's CPUs.
 * Each has two CPUs, and the node may have some that nobody holds.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "core/plan/plan.h"

#define NR_CONTAINERS 1000

enum order {
	PAIRS,	/* two containers each exchange their CPUs */
	CIRCLE, /* each gets the CPUs of the next one */
};

struct plan_case {
	struct group_tree desired, observed;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_core_plan: %s\n", what);
	exit(1);
}

static struct group *add_group(struct group_tree *tree, enum group_role role, const char *path)
{
	struct group *group = group_tree_add(tree, role, path);

	if (!group)
		die("no memory");
	return group;
}

static void set_cpus(struct group *group, unsigned int first, unsigned int last)
{
	char list[32];

	snprintf(list, sizeof(list), "%u-%u", first, last);
	group->files[GROUP_CPUSET_CPUS] = strdup(list);
	if (!group->files[GROUP_CPUSET_CPUS])
		die("no memory");
}

/* Container i has the CPUs of place i, and gets those of another place. */
static void add_container(struct plan_case *this, unsigned int i, unsigned int place)
{
	struct group *group;
	char path[64];

	snprintf(path, sizeof(path), "pinfold.slice/pod%u", i);
	add_group(&this->desired, GROUP_POD, path);
	add_group(&this->observed, GROUP_POD, path);
	snprintf(path, sizeof(path), "pinfold.slice/pod%u/main", i);
	group = add_group(&this->desired, GROUP_CONTAINER, path);
	group->is_exclusive = true;
	set_cpus(group, 2 * place, 2 * place + 1);
	group = add_group(&this->observed, GROUP_CONTAINER, path);
	group->populated = true;
	set_cpus(group, 2 * i, 2 * i + 1);
}

static void call_plan(void *arg)
{
	struct plan_case *this = arg;
	struct plan plan = {0};

	if (plan_make(&this->desired, &this->observed, &plan))
		die("a plan is an error");
	if (plan.nr_steps < NR_CONTAINERS)
		die("a plan has too few steps");
	plan_fini(&plan);
}

static void bench_plan(const char *name, enum order order, unsigned int nr_free)
{
	struct plan_case this = {0};
	char params[96];

	set_cpus(add_group(&this.desired, GROUP_ROOT, "pinfold.slice"), 0,
		 2 * NR_CONTAINERS - 1 + nr_free);
	set_cpus(add_group(&this.observed, GROUP_ROOT, "pinfold.slice"), 0,
		 2 * NR_CONTAINERS - 1 + nr_free);
	for (unsigned int i = 0; i < NR_CONTAINERS; i++)
		add_container(&this, i, order == PAIRS ? i ^ 1 : (i + 1) % NR_CONTAINERS);
	snprintf(params, sizeof(params), "{\"containers\": %u, \"cpus\": %u, \"free\": %u}",
		 NR_CONTAINERS, 2 * NR_CONTAINERS + nr_free, nr_free);
	bench_run(name, params, call_plan, &this);
	group_tree_fini(&this.desired);
	group_tree_fini(&this.observed);
}

int main(void)
{
	bench_plan("plan_exchange_in_pairs", PAIRS, 0);
	bench_plan("plan_exchange_in_pairs_with_room", PAIRS, 2);
	bench_plan("plan_exchange_in_a_circle", CIRCLE, 0);
	bench_plan("plan_exchange_in_a_circle_with_room", CIRCLE, 2);
	return 0;
}
