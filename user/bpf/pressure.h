/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel's pressure figures of many cgroups in one pass (bpf/pressure.bpf.c). The
 * program only reads, and only when it is asked to, so nothing of it is pinned: it ends with
 * the agent.
 */
#ifndef BPF_PRESSURE_H
#define BPF_PRESSURE_H

#include <stdint.h>

#include "ctl/ports.h"
#include "lib/cleanup.h"

struct pressure_reader;
struct worker_pool;

struct pressure_options {
	const char *root_dir; /* the workload root's directory; cgroups below it can be read */
	/* Of the configuration. A pass reads as many cgroups as are published at most. */
	uint32_t max_containers;
	/*
	 * The iterator takes cgroup_mutex, for which it waits as long as another process holds
	 * it, so a thread of the pool runs it. NULL: the calling thread does. Borrowed.
	 */
	struct worker_pool *pool;
};

/* Errors are logged. */
int pressure_reader_open(const struct pressure_options *options,
			 struct pressure_reader **ret_reader);
/* No thread of the pool may be reading any more. */
void pressure_reader_close(struct pressure_reader *reader);
DEFINE_CLEANUP(struct pressure_reader, pressure_reader_closep, pressure_reader_close);
#define cleanup_pressure_reader cleanup(pressure_reader_closep)

/* Where the results go; borrowed. */
void pressure_reader_listen(struct pressure_reader *reader, const struct pressure_sink *sink);
/* Implements ctl/ports.h; valid until the reader is closed. */
struct pressure_port pressure_reader_port(struct pressure_reader *reader);

#endif
