/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts and unbound kernel work: when their masks are read and written, for which CPUs, and
 * what an operator is told.
 */
#ifndef CTL_IRQ_H
#define CTL_IRQ_H

#include "ctl/ports.h"

struct controller;

struct steering {
	struct irq_report report; /* of the last pass; without rows if nothing is known */
	uint64_t since_ns;	  /* of the pass that has not ended; 0 = there is none */
	uint64_t begun_ns;	  /* the last pass; 0 = none has */
	/* Another process wrote masks since it began, and the last one that did, if it is known. */
	bool is_written;
	struct irq_writer writer;
	bool was_written;	   /* that pass began because of a write */
	uint64_t written_pause_ns; /* between it and the next one that a write begins */
	/* What that pass was for: */
	enum irq_mode mode;
	enum enforcement masks;
	struct cpuset exclusive, allowed;
	/* Since the start: */
	uint64_t nr_written, nr_refused, nr_failed, nr_foreign, nr_fired;
};

void irq_fini(struct steering *steering);

/*
 * Begin a pass if the CPUs or the option have changed, or if it is time to look for new
 * interrupts. Called each second and after each reconcile; without a change it costs the
 * comparison of two sets.
 */
void ctl_steer_interrupts(struct controller *controller);
/* Another process wrote masks: begin a pass, at most ten times a second; see irq_sink. */
void ctl_irq_written(struct controller *controller, const struct irq_writer *writer);
/* Take over the result of a pass; see irq_sink. */
void ctl_end_irq_pass(struct controller *controller, int result, struct irq_report *report);

/*
 * What to do about a mask that reaches exclusive CPUs, as an imperative; "" if it reaches none.
 * `size` >= ROW_DETAIL_MAX.
 */
void ctl_irq_remedy(const struct controller *controller, const struct irq_row *row, char *text,
		    size_t size);

#endif
