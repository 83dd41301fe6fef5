/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer's counters of all containers, read in one look every two seconds and with each publication. There is one counter for
 * each container and CPU, so a large node has some 60 MB of them: whoever needs the figures of all
 * containers shares the look instead of reading them again.
 */
#ifndef CTL_COUNTERS_H
#define CTL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/ports.h"

struct controller;

/* A container at the last look. */
struct counted {
	uint64_t cgroup_id;
	uint64_t pod; /* as struct managed_group has it */
	bool has_usage;
	bool is_unreadable; /* an error, which is not that it has no counters */
	bool has_latency;   /* only if it has its usage */
	bool has_node_waits;
	bool is_published;  /* while those that have ended are looked for */
	struct usage usage; /* without the arrays by CPU */
	struct latency latency;
};

struct counters {
	uint32_t nr, max;
	struct counted *rows;	/* owned; [max]; by ascending id */
	uint64_t *node_wait_ns; /* owned; [max][nodes of the topology], where has_node_waits */
	uint64_t looked_ns;
};

/* The same for all groups of a pod, and hardly ever for two pods. */
uint64_t ctl_pod_number(const char *uid);

void counters_fini(struct counters *counters);
#define cleanup_counters cleanup(counters_fini)

/* Its row of the last look, however old that is; NULL = it was not there. */
struct counted *counters_find(const struct counters *counters, uint64_t cgroup_id);

/* Read the counters of all published containers. -ENOMEM: those of the last look remain. */
int ctl_look_counters(struct controller *controller);
/*
 * What the last look read, which is at most three and a half seconds old. NULL = the container was not there, or the
 * look is older. Borrowed until the next look.
 */
const struct counted *ctl_counted(const struct controller *controller, uint64_t cgroup_id);

#endif
