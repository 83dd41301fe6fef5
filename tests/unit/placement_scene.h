/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pods on a node whose counters, affinities and memory nodes are the test's, and the rows of a
 * report about them. Include after cmocka.h.
 */
#ifndef PLACEMENT_SCENE_H
#define PLACEMENT_SCENE_H

#include <errno.h>

#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "mixed_pod.h"
#include "started_pods_scene.h"

#define CPUS 17 /* the machine has 16; one came later */

static struct kernel_port kernel;
static uint64_t run_ns[CPUS], outside_ns[CPUS], remote_ns[CPUS];
static uint64_t wait_ns[CPUS], switches[CPUS], preemptions[CPUS], migrations[CPUS];
static uint64_t nr_cpus;
static bool hides_cpus;	      /* of the run time only the sum is known */
static uint64_t published_id; /* of container "one" */
static struct affinities affinities;
static int affinities_answer;

/* Only container "one" has counters. */
static inline int usage_of_one(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	struct usage usage = {.nr_cpus = nr_cpus,
			      .run_ns = hides_cpus ? NULL : run_ns,
			      .outside_ns = outside_ns,
			      .remote_ns = remote_ns,
			      .cpu_wait_ns = wait_ns,
			      .cpu_switches = switches,
			      .cpu_preemptions = preemptions,
			      .cpu_migrations = migrations,
			      .preemptions = 9,
			      .migrations_thread = 10,
			      .migrations_core = 11,
			      .migrations_llc = 12,
			      .migrations_numa = 13};
	struct group_status status;

	(void)self;
	if (fake_status(NULL, "pinfold.slice/poduid-a/one", &status) ||
	    status.cgroup_id != cgroup_id)
		return -ENOENT;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		usage.switches += switches[cpu];
		usage.run_outside_ns += outside_ns[cpu];
		usage.run_remote_ns += remote_ns[cpu];
		usage.run_local_ns += run_ns[cpu] - outside_ns[cpu] - remote_ns[cpu];
	}
	*ret_usage = usage;
	return 0;
}

static inline int given_affinities(void *self, const char *path, struct affinities *ret_affinities)
{
	(void)self;
	(void)path;
	if (!affinities_answer)
		*ret_affinities = affinities;
	return affinities_answer;
}

/* The kernel has put in force less than the memory nodes that were granted. */
static inline int status_on_node_0(void *self, const char *path, struct group_status *ret_status)
{
	int r = status_of(self, path, ret_status);

	if (!r)
		ret_status->effective_mems = cpuset_of_text("0");
	return r;
}

/* Two pods with a container of two exclusive CPUs each: CPUs 2-3 and 4-5, on node 0. */
static inline int set_up_pods(void **state)
{
	int r = set_up_node(state);

	memset(run_ns, 0, sizeof(run_ns));
	memset(outside_ns, 0, sizeof(outside_ns));
	memset(wait_ns, 0, sizeof(wait_ns));
	memset(switches, 0, sizeof(switches));
	memset(preemptions, 0, sizeof(preemptions));
	memset(migrations, 0, sizeof(migrations));
	memset(remote_ns, 0, sizeof(remote_ns));
	affinities = (struct affinities){0};
	affinities_answer = 0;
	nr_cpus = CPUS;
	hides_cpus = false;
	groups.affinities = given_affinities;
	groups.status = status_on_node_0;
	kernel = fake_side_port;
	kernel.usage = usage_of_one;
	pods[0] = fake_pod("a", "one", 2000, true);
	pods[1] = fake_pod("b", "two", 2000, true);
	controller = start_node(&kernel);
	scan(controller, pods, 2);
	return r;
}

/* The agent's tick, so many seconds later. */
static inline void tick_after(uint64_t seconds)
{
	fake->now_ns += seconds * S;
	controller_tick(controller);
}

static inline struct json_object *row_of(struct json_object *list, const char *container)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (!strcmp(member(row, "container"), container))
			return row;
	}
	fail_msg("no row for %s", container);
	return NULL;
}

/* The item of a list whose `key` is `value`; NULL = none. */
static inline struct json_object *item_of(struct json_object *row, const char *list,
					  const char *key, const char *value)
{
	struct json_object *items = json_object_object_get(row, list);

	for (size_t i = 0; i < json_object_array_length(items); i++)
		if (!strcmp(member(json_object_array_get_idx(items, i), key), value))
			return json_object_array_get_idx(items, i);
	return NULL;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_pods, tear_down_pods)

#endif
