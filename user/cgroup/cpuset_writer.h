/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port that puts cpusets back in cgroups that other programs made: writes cpuset.cpus and
 * cpuset.mems, on a thread of the pool, one pass at a time. It makes and removes nothing, and tells
 * no manager: where systemd made the cgroup, its own record of the unit is the runtime's business.
 */
#ifndef CGROUP_CPUSET_WRITER_H
#define CGROUP_CPUSET_WRITER_H

#include "ctl/ports.h"

struct groups;
struct cpuset_writer;
struct worker_pool;

/* All borrowed for the object's life. */
struct cpuset_writer_options {
	const struct groups *groups;
	struct worker_pool *pool; /* NULL = writes run on the caller's thread */
};

/* -ENOMEM; reported. */
int cpuset_writer_open(const struct cpuset_writer_options *options,
		       struct cpuset_writer **ret_writer);
void cpuset_writer_close(struct cpuset_writer *writer);
/* To whom the ends are reported; borrowed. What ends before this is nobody's. */
void cpuset_writer_listen(struct cpuset_writer *writer, const struct cpuset_sink *sink);
struct cpuset_port cpuset_writer_port(struct cpuset_writer *writer);

#endif
