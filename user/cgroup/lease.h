/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard allows process 1 to change managed cgroups only while it carries out a call of ours:
 * a lease, which is set before the call and ended with it, and which has a deadline in case we do
 * not live to end it. One lease serves all calls that are under way. Every function may be called
 * from any thread.
 */
#ifndef CGROUP_LEASE_H
#define CGROUP_LEASE_H

#include <pthread.h>
#include <stdbool.h>

#include "ctl/ports.h"

/* Longer than any single wait for systemd (systemd_bus.c). */
#define LEASE_NS 6000000000ULL

struct lease {
	pthread_mutex_t lock; /* held across the port's call, so that deadlines are set in order */
	struct lease_port port; /* the function is NULL if there is no guard */
	uint32_t nr_calls;	/* under way */
	int error;		/* of the last call of the port, to log each failure once */
};

void lease_init(struct lease *lease);
void lease_fini(struct lease *lease);
/* From then on leases are set through `port`, which is copied. */
void lease_set_port(struct lease *lease, const struct lease_port *port);

/*
 * A call begins: process 1 has its rights for the next LEASE_NS. If that fails, it is logged, and the
 * call is made all the same: where the guard denies what systemd then does, the call fails.
 */
void lease_begin(struct lease *lease);
/* The call goes on to another wait: the same for another LEASE_NS. */
void lease_extend(struct lease *lease);
/* It has ended, whatever the outcome. With the last of them the lease ends. */
void lease_end(struct lease *lease);

#endif
