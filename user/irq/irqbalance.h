/* SPDX-License-Identifier: Apache-2.0 */
/* Whether irqbalance runs, and whether it was told to spare CPUs. */
#ifndef IRQ_IRQBALANCE_H
#define IRQ_IRQBALANCE_H

#include "ctl/ports.h"

/*
 * Looks through all processes, so it belongs on a thread of the pool. What an operator set in
 * irqbalance's environment is known; what irqbalance was told over its socket is not. Processes
 * of other users than root do not count; of several, one that contends decides. Negative errno if
 * the processes cannot be listed.
 */
int irqbalance_look(int root_fd, const struct cpuset *exclusive, enum irqbalance_state *ret_state);

#endif
