// SPDX-License-Identifier: Apache-2.0
#include "format/irq_report.h"

#include <stdlib.h>

void irq_report_fini(struct irq_report *report)
{
	for (uint32_t i = 0; i < report->nr; i++) {
		struct irq_row *row = &report->rows[i];

		free(row->name);
		free(row->affinity);
		free(row->effective);
		free(row->original);
		free(row->exclusive);
	}
	free(report->rows);
	*report = (struct irq_report){0};
}
