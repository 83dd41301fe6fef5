// SPDX-License-Identifier: Apache-2.0
/*
 * The list of findings is small and bounded: one row per name, or a few for a name that may
 * occur several times. If the list is full, further findings are dropped.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/findings.h"
#include "lib/log.h"
#include "lib/text.h"

static struct finding_row *find_row(struct findings *findings, const char *name)
{
	for (uint32_t i = 0; i < findings->nr; i++)
		if (!strcmp(findings->rows[i].name, name))
			return &findings->rows[i];
	return NULL;
}

void findings_add(struct findings *findings, const char *name, const char *message,
		  const char *remedy)
{
	struct finding_row *row;

	if (findings->nr == MAX_FINDINGS)
		return;
	log_warn(0, "finding %s: %s (%s)", name, message, remedy);
	row = &findings->rows[findings->nr++];
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

void findings_put(struct findings *findings, const char *name, const char *message,
		  const char *remedy)
{
	struct finding_row *row = find_row(findings, name);

	if (row && !text_is_news(row->message, message)) {
		snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
		return;
	}
	findings_clear(findings, name);
	findings_add(findings, name, message, remedy);
}

void findings_update(struct findings *findings, const char *name, const char *message,
		     const char *remedy)
{
	struct finding_row *row = find_row(findings, name);

	if (!row) {
		findings_add(findings, name, message, remedy);
		return;
	}
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

void findings_clear(struct findings *findings, const char *name)
{
	struct finding_row *row = find_row(findings, name);

	if (row)
		*row = findings->rows[--findings->nr];
}
