// SPDX-License-Identifier: Apache-2.0
/*
 * The list of findings is small and bounded: one row per kind, or a few for a kind that may
 * occur several times. If the list is full, further findings are dropped.
 */
#include <stdio.h>

#include "ctl/findings.h"
#include "lib/log.h"
#include "lib/text.h"

static struct finding_row *find_row(struct findings *findings, enum finding kind)
{
	for (uint32_t i = 0; i < findings->nr; i++)
		if (findings->rows[i].kind == kind)
			return &findings->rows[i];
	return NULL;
}

void findings_add(struct findings *findings, enum finding kind, const char *message,
		  const char *remedy)
{
	struct finding_row *row;

	if (findings->nr == MAX_FINDINGS)
		return;
	log_warn(0, "finding %s: %s (%s)", finding_name(kind), message, remedy);
	row = &findings->rows[findings->nr++];
	row->kind = kind;
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

void findings_put(struct findings *findings, enum finding kind, const char *message,
		  const char *remedy)
{
	struct finding_row *row = find_row(findings, kind);

	if (row && !text_is_news(row->message, message)) {
		snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
		return;
	}
	findings_clear(findings, kind);
	findings_add(findings, kind, message, remedy);
}

void findings_update(struct findings *findings, enum finding kind, const char *message,
		     const char *remedy)
{
	struct finding_row *row = find_row(findings, kind);

	if (!row) {
		findings_add(findings, kind, message, remedy);
		return;
	}
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

void findings_clear(struct findings *findings, enum finding kind)
{
	struct finding_row *row = find_row(findings, kind);

	if (row)
		*row = findings->rows[--findings->nr];
}
