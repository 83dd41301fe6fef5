/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irqbalance moves interrupts, too: whether it runs, whether it spares CPUs, and telling it which
 * ones to spare. What it spared before is kept in a file of the state directory, so that it can be
 * told again, by whichever agent.
 */
#ifndef IRQ_IRQBALANCE_H
#define IRQ_IRQBALANCE_H

#include "ctl/ports.h"

/* The process that was told, and what; pid 0 = none. */
struct irqbalance_told {
	pid_t pid;
	uint64_t start_ticks;	/* of the process, whose id may be used again */
	struct cpuset original; /* what it spared before */
	struct cpuset told;	/* what it is to spare; empty = not told since this agent's start */
	uint64_t told_ns;
	/* It did not do so in time; until its answer shows the list, it is not believed. */
	bool is_ignored;
};

struct irq_context;

/*
 * -ENOENT: there is no file. -ESTALE: it is of another boot. -EBADMSG for a damaged one, with `error`
 * filled. *ret_told is then unchanged.
 */
int irqbalance_told_load(const struct irq_context *context, struct format_error *error,
			 struct irqbalance_told *ret_told);

/*
 * Looks through all processes, so it belongs on a thread of the pool. Sets what of irqbalance the
 * report has. What an operator set in its environment is known; in mode IRQ_STEER it is also asked
 * over its socket, and told if it does not spare the exclusive CPUs. Processes of other users than
 * root do not count; of several, one that contends decides. Negative errno if the processes cannot
 * be listed.
 */
int irqbalance_look(const struct irq_context *context, const struct irq_request *request,
		    struct irq_report *report);

/* Have the one that was told spare what it did before. 0 if it has ended, or if none was told. */
int irqbalance_release(const struct irq_context *context);

#endif
