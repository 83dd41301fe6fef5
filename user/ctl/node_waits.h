/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the tasks of all containers have waited for the CPUs of each NUMA node since the agent
 * began to count. The observer's counters end with their containers; this sum does not.
 */
#ifndef CTL_NODE_WAITS_H
#define CTL_NODE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

struct controller;

struct node_waits {
	bool has_begun;	      /* the observer counts, and what it had then is not in the sums */
	uint64_t *total_ns;   /* owned; by index of the topology's nodes; NULL = nothing yet */
	uint64_t counted_ns;  /* when they were brought up to date */
	uint32_t nr;	      /* containers */
	uint64_t *cgroup_ids; /* owned; ascending */
	uint64_t *last_ns;    /* owned; what each had, [nr][nodes] */
	/* With these sums the windows of now and of the next ones begin, [2][nodes]; the older ones first. */
	uint64_t *marks_ns; /* owned */
	uint64_t marked_ns[2];
};

void node_waits_fini(struct node_waits *waits);
#define cleanup_node_waits cleanup(node_waits_fini)

/*
 * Look at the counters (see counters.h), and bring the sums up to date. Call it before containers are taken
 * from the observer, whose waits would be lost.
 */
void ctl_count_node_waits(struct controller *controller);
/* The same if it has not been done for 2.5 seconds; called each second, and before the sums are read. */
void ctl_follow_node_waits(struct controller *controller);
/*
 * Over which time the waits of the last seconds are known, usually 10 to 20 seconds that end with the last
 * look, and, by index of the topology's nodes, the sums with which it began. Borrowed until the next look.
 * Returns 0 if less than a second is known.
 */
uint64_t node_waits_window(const struct node_waits *waits, const uint64_t **ret_from_ns);

#endif
