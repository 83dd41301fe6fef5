// SPDX-License-Identifier: Apache-2.0
#include "ctl/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "lib/hash.h"

/* A late tick is not a reason to read everything twice. */
#define FRESH_NS (3500 * 1000000ULL)

uint64_t ctl_pod_number(const char *uid)
{
	return hash_add(HASH_START, uid, strlen(uid));
}

void counters_fini(struct counters *counters)
{
	free(counters->rows);
	free(counters->node_wait_ns);
	*counters = (struct counters){0};
}

static int by_id(const void *left, const void *right)
{
	const struct counted *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

/* A CPU that came after the agent's start is on no node that is known. */
static void sum_nodes(const struct topology *topology, const struct usage *usage,
		      uint64_t *ret_wait_ns)
{
	memset(ret_wait_ns, 0, topology->nodes.nr * sizeof(*ret_wait_ns));
	for (uint32_t cpu = 0; cpu < usage->nr_cpus && cpu < topology->nr_cpu_ids; cpu++)
		if (usage->cpu_wait_ns[cpu] && cpuset_has(&topology->all, cpu))
			ret_wait_ns[topology->node_of[cpu]] += usage->cpu_wait_ns[cpu];
}

/* The usage and then the waits of one container, because they are next to each other in memory. */
static void read_counters(const struct controller *controller, struct counted *row,
			  uint64_t *ret_wait_ns)
{
	const struct kernel_port *kernel = controller->ports.kernel;

	int r = kernel->usage(kernel->self, row->cgroup_id, &row->usage);

	row->has_usage = !r;
	row->is_unreadable = r && r != -ENOENT;
	if (!row->has_usage)
		return;
	row->has_node_waits = row->usage.cpu_wait_ns;
	if (row->has_node_waits)
		sum_nodes(controller->topology, &row->usage, ret_wait_ns);
	row->usage.nr_cpus = 0;
	row->usage.run_ns = row->usage.outside_ns = row->usage.remote_ns = NULL;
	row->usage.cpu_wait_ns = row->usage.cpu_switches = NULL;
	row->usage.cpu_preemptions = row->usage.cpu_migrations = NULL;
	row->has_latency = !kernel->latency(kernel->self, row->cgroup_id, &row->latency);
}

/* Room for so many rows; none of them is valid then. */
static int make_room(struct counters *counters, uint32_t nr, uint32_t nr_nodes)
{
	struct counters next cleanup_counters = {.max = nr};

	if (nr <= counters->max)
		return 0;
	next.rows = calloc(nr, sizeof(*next.rows));
	next.node_wait_ns = calloc((size_t)nr * nr_nodes, sizeof(*next.node_wait_ns));
	if (!next.rows || !next.node_wait_ns)
		return -ENOMEM;
	counters_fini(counters);
	*counters = next;
	next = (struct counters){0};
	return 0;
}

int ctl_look_counters(struct controller *controller)
{
	const struct publisher *publisher = &controller->publisher;
	const uint32_t nr_nodes = controller->topology->nodes.nr;
	struct counters *counters = &controller->counters;

	if (make_room(counters, publisher->nr, nr_nodes))
		return -ENOMEM;
	counters->nr = 0;
	for (uint32_t i = 0; i < publisher->nr; i++)
		if (publisher->rows[i].managed.is_container)
			counters->rows[counters->nr++] = (struct counted){
				.cgroup_id = publisher->rows[i].managed.cgroup_id,
				.pod = publisher->rows[i].managed.pod,
			};
	/* Before the first container there is no array, which must not be passed for an empty one. */
	if (counters->nr)
		qsort(counters->rows, counters->nr, sizeof(*counters->rows), by_id);
	for (uint32_t i = 0; i < counters->nr; i++)
		read_counters(controller, &counters->rows[i],
			      &counters->node_wait_ns[(size_t)i * nr_nodes]);
	counters->looked_ns = clock_now_ns(controller->ports.clock);
	return 0;
}

struct counted *counters_find(const struct counters *counters, uint64_t cgroup_id)
{
	const struct counted wanted = {.cgroup_id = cgroup_id};

	if (!counters->nr)
		return NULL;
	return bsearch(&wanted, counters->rows, counters->nr, sizeof(*counters->rows), by_id);
}

const struct counted *ctl_counted(const struct controller *controller, uint64_t cgroup_id)
{
	const struct counters *counters = &controller->counters;

	if (!cgroup_id || clock_now_ns(controller->ports.clock) - counters->looked_ns > FRESH_NS)
		return NULL;
	return counters_find(counters, cgroup_id);
}
