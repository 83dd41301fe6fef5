/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings: what an operator should know, with its remedy. One stands until it is
 * cleared; the journal gets its first occurrence and each change of its message.
 */
#ifndef CTL_FINDINGS_H
#define CTL_FINDINGS_H

#include "format/rows.h"

#define MAX_FINDINGS 64 /* more than there are names, and MAX_LOST_NAMED of one */

struct findings {
	uint32_t nr;
	struct finding_row rows[MAX_FINDINGS];
};

/* Raise the finding of this name, or replace its message and remedy. */
void findings_put(struct findings *findings, const char *name, const char *message,
		  const char *remedy);
/* As findings_put, for a message that changes with time: the journal has the first only. */
void findings_update(struct findings *findings, const char *name, const char *message,
		     const char *remedy);
/* As findings_put, but beside others of that name instead of in their place. */
void findings_add(struct findings *findings, const char *name, const char *message,
		  const char *remedy);
/* It does not apply any more, or did not before. */
void findings_clear(struct findings *findings, const char *name);

#endif
