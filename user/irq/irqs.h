/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of interrupts: passes on a thread of the pool, one at a time; and what an uninstall
 * restores.
 */
#ifndef IRQ_IRQS_H
#define IRQ_IRQS_H

#include "ctl/ports.h"

struct sd_event;
struct worker_pool;
struct irqs;

/* All borrowed for the room's life, but for boot_id, which is copied. */
struct irqs_options {
	const char *root; /* of /proc and /sys */
	int state_fd;	  /* the state directory; -1 = nothing can be steered */
	const char *boot_id;
	struct worker_pool *pool; /* NULL = passes run on the caller's thread */
};

/* -ENOMEM, or the errno of the root. Reported. */
int irqs_open(const struct irqs_options *options, struct irqs **ret_irqs);
void irqs_close(struct irqs *irqs);
/*
 * To whom passes, and from now on writes of other processes, are reported; borrowed. A pass before
 * this is nobody's. Without an event loop (NULL), or where the kernel does not report writes, only
 * passes find them.
 */
void irqs_listen(struct irqs *irqs, struct sd_event *event, const struct irq_sink *sink);
struct irq_port irqs_port(struct irqs *irqs);

/*
 * Restore the masks that agents of this boot changed, on the caller's thread. Returns 0, or the
 * errno of what could not be restored; reported. The file of originals stays.
 */
int irqs_restore(const struct irqs_options *options, const struct topology *topology);

#endif
