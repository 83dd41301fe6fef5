/* SPDX-License-Identifier: Apache-2.0 */
/* What one pass over the masks of interrupts and kernel work found and did. */
#ifndef FORMAT_IRQ_REPORT_H
#define FORMAT_IRQ_REPORT_H

#include "format/rows.h"

/* One mask; the lists are CPU lists and owned. */
struct irq_row {
	enum irq_kind kind;
	uint32_t number; /* of an interrupt */
	enum irq_state state;
	char *name; /* of its handlers; owned */
	char *affinity;
	char *effective;   /* NULL = the kernel does not say */
	char *original;	   /* NULL = pinfold does not hold the mask */
	char *exclusive;   /* the exclusive CPUs that it may fire on; "" = none */
	uint64_t nr_fired; /* on CPUs while they were exclusive, since the agent started */
	int error;	   /* with which the kernel refused the mask last tried; 0 = none */
};

/* irqbalance moves interrupts too. */
enum irqbalance_state {
	IRQBALANCE_ABSENT,
	IRQBALANCE_SPARES,   /* its banned CPUs contain all exclusive ones */
	IRQBALANCE_CONTENDS, /* they do not */
};

struct irq_report {
	uint32_t nr;
	struct irq_row *rows; /* owned; by kind and number */
	enum irqbalance_state irqbalance;
	char irqbalance_problem[120]; /* why it could not be told; "" = it was not asked */
	int irqbalance_error; /* it could not be told what it spared before; a negative errno */
	/*
	 * Why no mask was changed, or 0: the originals could not be saved (a negative errno), or
	 * the file with those of an earlier agent is damaged (-EBADMSG), which `problem` explains.
	 */
	int error;
	char problem[ROW_DETAIL_MAX];
	/* In this pass: */
	uint32_t nr_written, nr_refused, nr_failed; /* masks */
	uint32_t nr_foreign;			    /* masks that another process changed */
	/* Those of them that reach exclusive CPUs: set back, or left so; and the first of all. */
	uint32_t nr_reverted, nr_left;
	struct {
		char name[64]; /* "default_smp_affinity", "interrupt 24 (eth0)" */
		char mask[64]; /* what the other process wrote, perhaps cut */
	} first;
	uint64_t nr_fired; /* interrupts on CPUs while they were exclusive */
};

/* Free the rows. */
void irq_report_fini(struct irq_report *report);
#define cleanup_irq_report cleanup(irq_report_fini)

#endif
