/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of the host's cgroups: the CPU lists of the top-level groups that are not pinfold's. A
 * pass runs on a thread of the pool, one at a time. Only groups without a list are given one, and
 * what another owner wrote is never changed.
 */
#ifndef CGROUP_HOST_H
#define CGROUP_HOST_H

#include "ctl/ports.h"

struct groups;
struct host;
struct worker_pool;

/* All borrowed for the object's life, but for boot_id, which is copied. */
struct host_options {
	struct groups *groups;
	int state_fd; /* the state directory; -1 = nothing can be written */
	const char *boot_id;
	struct worker_pool *pool; /* NULL = passes run on the caller's thread */
};

/* -ENOMEM; reported. */
int host_open(const struct host_options *options, struct host **ret_host);
void host_close(struct host *host);
/* To whom passes are reported; borrowed. A pass before this is nobody's. */
void host_listen(struct host *host, const struct host_sink *sink);
struct host_port host_port(struct host *host);

/*
 * Empty the lists that agents of this boot wrote, on the caller's thread, when the workload root is
 * gone. Returns 0, or the errno of what could not be restored; reported. The file stays.
 */
int host_restore(const struct host_options *options);

#endif
