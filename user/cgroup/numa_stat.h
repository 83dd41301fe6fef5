/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of resident memory: reads memory.numa_stat and hugetlb.*.numa_stat on a thread of the pool,
 * one pass at a time.
 */
#ifndef CGROUP_NUMA_STAT_H
#define CGROUP_NUMA_STAT_H

#include "ctl/ports.h"

struct groups;
struct numa_stat;
struct worker_pool;

/* All borrowed for the object's life. */
struct numa_stat_options {
	const struct groups *groups;
	const struct topology *topology;
	struct worker_pool *pool; /* NULL = passes run on the caller's thread */
};

/* -ENOMEM; reported. */
int numa_stat_open(const struct numa_stat_options *options, struct numa_stat **ret_stat);
void numa_stat_close(struct numa_stat *stat);
/* To whom passes are reported; borrowed. A pass before this is nobody's. */
void numa_stat_listen(struct numa_stat *stat, const struct resident_sink *sink);
struct resident_port numa_stat_port(struct numa_stat *stat);

#endif
