/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The masks of interrupts as a test says they are. A pass ends at once, or when the test says.
 */
#ifndef TESTS_FAKE_IRQ_H
#define TESTS_FAKE_IRQ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ports.h"

static struct {
	const struct irq_sink *sink;
	/* What the next pass reports; the rows' texts are the test's. */
	const struct irq_row *rows;
	uint32_t nr;
	struct irq_report counts; /* its rows are not used */
	int error;		  /* of the call */
	int result;		  /* of the pass */
	bool is_slow;
	struct irq_request request; /* the last one */
	unsigned int nr_passes;
} fake_irq;

static inline char *fake_irq_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static inline void fake_irq_end(void)
{
	struct irq_report report = fake_irq.counts;

	report.nr = fake_irq.nr;
	report.rows = calloc(report.nr + 1, sizeof(*report.rows));
	for (uint32_t i = 0; i < report.nr; i++) {
		const struct irq_row *row = &fake_irq.rows[i];

		report.rows[i] = *row;
		report.rows[i].name = fake_irq_copy(row->name);
		report.rows[i].affinity = fake_irq_copy(row->affinity);
		report.rows[i].effective = fake_irq_copy(row->effective);
		report.rows[i].original = fake_irq_copy(row->original);
		report.rows[i].exclusive = fake_irq_copy(row->exclusive);
	}
	fake_irq.sink->passed(fake_irq.sink->self, fake_irq.result, &report);
	irq_report_fini(&report);
}

static inline int fake_irq_pass(void *self, const struct irq_request *request)
{
	fake_irq.nr_passes++;
	fake_irq.request = *request;
	if (!fake_irq.error && !fake_irq.is_slow)
		fake_irq_end();
	return fake_irq.error;
}

static inline void fake_irq_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "wq_pool_mutex");
}

static const struct irq_port fake_irq_port = {
	.pass = fake_irq_pass,
	.waits_in = fake_irq_waits_in,
};

/* Three masks that reach exclusive CPUs, two of them the kernel's, and two that do not. */
static const struct irq_row fake_irq_rows[] = {
	{.kind = IRQ_KIND_DEFAULT,
	 .state = IRQ_STATE_STEERED,
	 .name = (char *)"new interrupts",
	 .affinity = (char *)"0-1,6-15",
	 .original = (char *)"0-15",
	 .exclusive = (char *)""},
	{.kind = IRQ_KIND_INTERRUPT,
	 .number = 24,
	 .state = IRQ_STATE_EXCLUSIVE,
	 .name = (char *)"nic",
	 .affinity = (char *)"0-15",
	 .effective = (char *)"3",
	 .exclusive = (char *)"2-5",
	 .nr_fired = 7},
	{.kind = IRQ_KIND_INTERRUPT,
	 .number = 25,
	 .state = IRQ_STATE_MANAGED,
	 .name = (char *)"nvme0q0",
	 .affinity = (char *)"0-3",
	 .effective = (char *)"2",
	 .exclusive = (char *)"2",
	 .error = -5},
	{.kind = IRQ_KIND_INTERRUPT,
	 .number = 26,
	 .state = IRQ_STATE_ALLOWED,
	 .name = (char *)"timer",
	 .affinity = (char *)"0",
	 .effective = (char *)"0",
	 .exclusive = (char *)""},
	{.kind = IRQ_KIND_INTERRUPT,
	 .number = 27,
	 .state = IRQ_STATE_MANAGED,
	 .name = (char *)"nvme0q3",
	 .affinity = (char *)"3-4",
	 .effective = (char *)"4",
	 .exclusive = (char *)"4",
	 .error = -5},
};

#endif
