// SPDX-License-Identifier: Apache-2.0
#include "format/stranger_report.h"

#include <stdlib.h>

void stranger_report_fini(struct stranger_report *report)
{
	for (uint32_t i = 0; i < report->nr; i++) {
		struct stranger_row *row = &report->rows[i];

		free(row->cgroup);
		free(row->affinity);
		free(row->original);
		free(row->exclusive);
	}
	free(report->rows);
	*report = (struct stranger_report){0};
}
