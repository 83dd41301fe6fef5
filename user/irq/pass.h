/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over all masks: read, decide (core/irq), make the originals durable, write, and say
 * what there is. It blocks for as long as the kernel does, so it runs on a thread of the pool.
 */
#ifndef IRQ_PASS_H
#define IRQ_PASS_H

#include "ctl/ports.h"
#include "irq/table.h"

struct irqbalance_told;

/* Where the masks and the file of originals are; borrowed. */
struct irq_context {
	int root_fd;
	int state_fd; /* the state directory; -1 = there is none, and nothing can be steered */
	const char *boot_id;
	struct irqbalance_told *told; /* what irqbalance was told; NULL = it is told nothing */
	int changes_fd; /* of irq_changes_open(), or negative: writes are not reported */
};

/*
 * `table` is what the last pass left; of the first pass, what the file of originals has. Negative
 * errno if the kernel cannot be read or there is no memory; *ret_report is then unchanged.
 */
int irq_pass(const struct irq_context *context, const struct irq_request *request,
	     struct irq_table *table, struct irq_report *ret_report);

#endif
