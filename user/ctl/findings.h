/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings: conditions that an operator should know about, with their remedies. A finding
 * remains until it is cleared; the journal gets its first occurrence and each change of its
 * message.
 */
#ifndef CTL_FINDINGS_H
#define CTL_FINDINGS_H

#include "format/rows.h"

#define MAX_FINDINGS 64 /* more than there are names, plus MAX_LOST_NAMED of one name */

struct findings {
	uint32_t nr;
	struct finding_row rows[MAX_FINDINGS];
};

/* Raise the finding of this name, or replace its message and remedy. */
void findings_put(struct findings *findings, const char *name, const char *message,
		  const char *remedy);
/* As findings_put, for a message that changes over time: only the first one is logged. */
void findings_update(struct findings *findings, const char *name, const char *message,
		     const char *remedy);
/* As findings_put, but in addition to others of that name instead of replacing them. */
void findings_add(struct findings *findings, const char *name, const char *message,
		  const char *remedy);
/* Clear the finding if it exists. */
void findings_clear(struct findings *findings, const char *name);

#endif
