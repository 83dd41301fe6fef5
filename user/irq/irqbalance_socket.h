/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irqbalance's own socket. A request is one message of text, with the sender's credentials: "setup"
 * is answered, "settings cpus LIST" is not. irqbalance takes a new list with its next scan, so who
 * told it has to ask later. Calls block for two seconds at most; each is one connection.
 */
#ifndef IRQ_IRQBALANCE_SOCKET_H
#define IRQ_IRQBALANCE_SOCKET_H

#include <sys/types.h>

#include "core/cpuset.h"

struct irqbalance_setup {
	struct cpuset banned;	    /* the CPUs that it spares now */
	unsigned int sleep_seconds; /* between two scans */
};

/*
 * Negative errno: -ENOENT or -ECONNREFUSED if it has no socket, which irqbalance before 1.3 and one
 * built without it do not have; -EPERM if somebody else answers there; -EAGAIN if it does not answer
 * in time; -EPROTO for another answer.
 */
int irqbalance_ask(int root_fd, pid_t pid, struct irqbalance_setup *ret_setup);
/*
 * Tell it to spare these CPUs instead of all that it was told before; NULL: to spare what its
 * environment and the kernel say. Also -E2BIG: the list is longer than it reads.
 */
int irqbalance_tell(int root_fd, pid_t pid, const struct cpuset *banned);

#endif
