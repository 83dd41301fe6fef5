/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of strangers: walks on a thread of the pool, one at a time; and what an uninstall
 * restores.
 */
#ifndef STRANGER_STRANGERS_H
#define STRANGER_STRANGERS_H

#include "ctl/ports.h"

struct affinity_calls;
struct worker_pool;
struct strangers;

/* All borrowed for the room's life, but for boot_id, which is copied. */
struct strangers_options {
	const char *root; /* of /proc */
	int run_fd;	  /* the runtime directory; -1 = nothing can be changed */
	const char *boot_id;
	struct worker_pool *pool;	    /* NULL = walks run on the caller's thread */
	const struct affinity_calls *calls; /* NULL = those of the kernel */
};

/* -ENOMEM, or the errno of /proc. Reported. */
int strangers_open(const struct strangers_options *options, struct strangers **ret_strangers);
void strangers_close(struct strangers *strangers);
/* To whom walks are reported; borrowed. A walk before this is nobody's. */
void strangers_listen(struct strangers *strangers, const struct stranger_sink *sink);
struct stranger_port strangers_port(struct strangers *strangers);

/*
 * Correct a task that got an exclusive CPU, as the last walk was asked to, and report it with the next
 * one; on any thread, which should have a real-time priority. It is only as fast as the walk that may
 * be running. At most 5 % of a CPU is used for this; a walk finds whoever is left out.
 */
void strangers_correct(void *strangers, const struct noise_stranger *stranger);

/*
 * Restore the affinities that agents of this boot changed, on the caller's thread. Returns 0, or the
 * errno of what could not be restored; reported. Tasks that a cpuset or another process has narrowed
 * since are named, but are not an error. Of a damaged file nothing can be restored, so that is
 * 0 as well. The file of originals stays. Nothing below the workload root is changed.
 */
int strangers_restore(const struct strangers_options *options, const struct topology *topology,
		      const char *workload_root);

#endif
