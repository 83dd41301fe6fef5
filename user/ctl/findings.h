/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings: conditions that an operator should know about, with their remedies. A finding
 * remains until it is cleared; the journal gets its first occurrence and each change of its
 * message.
 */
#ifndef CTL_FINDINGS_H
#define CTL_FINDINGS_H

#include "format/rows.h"

/* So many rows findings_add() may make of one kind, beside one row of each other. */
#define MAX_FINDINGS_ADDED 8
#define MAX_FINDINGS	   (FINDING_NR + MAX_FINDINGS_ADDED)

struct findings {
	uint32_t nr;
	struct finding_row rows[MAX_FINDINGS];
};

/* Raise the finding of this kind, or replace its message and remedy. */
void findings_put(struct findings *findings, enum finding kind, const char *message,
		  const char *remedy);
/* As findings_put, for a message that changes over time: only the first one is logged. */
void findings_update(struct findings *findings, enum finding kind, const char *message,
		     const char *remedy);
/* As findings_put, but in addition to others of that kind instead of replacing them. */
void findings_add(struct findings *findings, enum finding kind, const char *message,
		  const char *remedy);
/* Clear the finding if it exists. */
void findings_clear(struct findings *findings, enum finding kind);

#endif
