// SPDX-License-Identifier: Apache-2.0
#include "ctl/node_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

/* The read of pressure, which comes every two seconds, has usually done it. */
#define PERIOD_NS (2500 * 1000000ULL)
/* A window begins with the last but one of the marks, which are this far apart. */
#define MARK_PERIOD_NS	10000000000ULL
#define LEAST_WINDOW_NS 1000000000ULL

void node_waits_fini(struct node_waits *waits)
{
	free(waits->total_ns);
	free(waits->cgroup_ids);
	free(waits->last_ns);
	free(waits->marks_ns);
	*waits = (struct node_waits){0};
}

static int by_id(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* What a container had by node; NULL = it was not counted yet. */
static const uint64_t *find_last(const struct node_waits *waits, uint32_t nr_nodes,
				 uint64_t cgroup_id)
{
	const uint64_t *found = NULL;

	if (waits->nr)
		found = bsearch(&cgroup_id, waits->cgroup_ids, waits->nr, sizeof(cgroup_id), by_id);
	return found ? &waits->last_ns[(size_t)(found - waits->cgroup_ids) * nr_nodes] : NULL;
}

/* A slot that was given up and taken again begins with 0 once more. */
static uint64_t grown(uint64_t now_ns, uint64_t last_ns)
{
	return now_ns >= last_ns ? now_ns - last_ns : now_ns;
}

/* What cannot be read now keeps what it had; what was never read is left to the next look. */
static void keep_last(const uint64_t *last_ns, uint64_t cgroup_id, uint32_t nr_nodes,
		      struct node_waits *next)
{
	if (!last_ns)
		return;
	memcpy(&next->last_ns[(size_t)next->nr * nr_nodes], last_ns, nr_nodes * sizeof(*last_ns));
	next->cgroup_ids[next->nr++] = cgroup_id;
}

/*
 * Fills `next`, which has room for all; those without counters are left out. -EAGAIN: not each could
 * be read at the first look, so that nobody knows what it had before.
 */
static int count(const struct controller *controller, struct node_waits *next)
{
	const struct counters *counters = &controller->counters;
	const struct node_waits *before = &controller->node_waits;
	const uint32_t nr_nodes = controller->topology->nodes.nr;

	for (uint32_t i = 0; i < counters->nr; i++) {
		const uint64_t id = counters->rows[i].cgroup_id;
		const uint64_t *now_ns = &counters->node_wait_ns[(size_t)i * nr_nodes];
		const uint64_t *last_ns = find_last(before, nr_nodes, id);

		if (counters->rows[i].is_unreadable) {
			if (!before->has_begun)
				return -EAGAIN;
			keep_last(last_ns, id, nr_nodes, next);
			continue;
		}
		if (!counters->rows[i].has_node_waits)
			continue;
		memcpy(&next->last_ns[(size_t)next->nr * nr_nodes], now_ns,
		       nr_nodes * sizeof(*now_ns));
		next->cgroup_ids[next->nr++] = id;
		for (uint32_t node = 0; before->has_begun && node < nr_nodes; node++)
			next->total_ns[node] += grown(now_ns[node], last_ns ? last_ns[node] : 0);
	}
	return 0;
}

static int make_next(const struct controller *controller, struct node_waits *ret_next)
{
	const uint32_t nr_nodes = controller->topology->nodes.nr;
	const struct node_waits *before = &controller->node_waits;
	const uint32_t nr = controller->counters.nr;
	struct node_waits next cleanup_node_waits = {
		.total_ns = calloc(nr_nodes, sizeof(*next.total_ns)),
		.cgroup_ids = calloc(nr + 1, sizeof(*next.cgroup_ids)),
		.last_ns = calloc((size_t)nr * nr_nodes + 1, sizeof(*next.last_ns)),
		.marks_ns = calloc((size_t)2 * nr_nodes, sizeof(*next.marks_ns)),
	};

	if (!next.total_ns || !next.cgroup_ids || !next.last_ns || !next.marks_ns)
		return -ENOMEM;
	if (before->marks_ns)
		memcpy(next.marks_ns, before->marks_ns,
		       (size_t)2 * nr_nodes * sizeof(*next.marks_ns));
	memcpy(next.marked_ns, before->marked_ns, sizeof(next.marked_ns));
	if (before->total_ns)
		memcpy(next.total_ns, before->total_ns, nr_nodes * sizeof(*next.total_ns));
	*ret_next = next;
	next = (struct node_waits){0};
	return 0;
}

/* The first look sets both marks, and a later one moves on when the newer one is old enough. */
static void mark(struct node_waits *waits, uint32_t nr_nodes, bool is_first)
{
	uint64_t *newer_ns = &waits->marks_ns[nr_nodes];
	const size_t size = nr_nodes * sizeof(*newer_ns);

	if (!is_first && waits->counted_ns - waits->marked_ns[1] < MARK_PERIOD_NS)
		return;
	memcpy(waits->marks_ns, is_first ? waits->total_ns : newer_ns, size);
	waits->marked_ns[0] = is_first ? waits->counted_ns : waits->marked_ns[1];
	memcpy(newer_ns, waits->total_ns, size);
	waits->marked_ns[1] = waits->counted_ns;
}

uint64_t node_waits_window(const struct node_waits *waits, const uint64_t **ret_from_ns)
{
	const uint64_t window_ns = waits->has_begun ? waits->counted_ns - waits->marked_ns[0] : 0;

	if (window_ns < LEAST_WINDOW_NS)
		return 0;
	*ret_from_ns = waits->marks_ns;
	return window_ns;
}

void ctl_count_node_waits(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	struct observer_space space;
	struct node_waits next cleanup_node_waits = {0};
	int r;

	if (!kernel)
		return;
	r = ctl_look_counters(controller);
	/* Counters of an earlier agent are there before the observer's programs are loaded. */
	if (kernel->observer_space(kernel->self, &space))
		return;
	/* What earlier agents counted is not in the sums: the first look is at published containers. */
	if (!controller->publisher.nr) {
		controller->node_waits.counted_ns = clock_now_ns(controller->ports.clock);
		return;
	}
	if (!r)
		r = make_next(controller, &next);
	if (r) {
		log_err(r, "ctl: cannot add up the waits of the NUMA nodes; they are added later");
		return;
	}
	if (count(controller, &next)) {
		controller->node_waits.counted_ns = clock_now_ns(controller->ports.clock);
		return;
	}
	next.has_begun = true;
	next.counted_ns = clock_now_ns(controller->ports.clock);
	mark(&next, controller->topology->nodes.nr, !controller->node_waits.has_begun);
	node_waits_fini(&controller->node_waits);
	controller->node_waits = next;
	next = (struct node_waits){0};
}

void ctl_follow_node_waits(struct controller *controller)
{
	const uint64_t now_ns = clock_now_ns(controller->ports.clock);

	if (now_ns - controller->node_waits.counted_ns >= PERIOD_NS)
		ctl_count_node_waits(controller);
}
