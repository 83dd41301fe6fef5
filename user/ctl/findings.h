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

/*
 * Raise the finding of this kind, or replace its message and remedy, if `is_so`; otherwise clear it.
 * The message is formed as by printf, only if it is needed, and cut to ROW_DETAIL_MAX; the arguments
 * are evaluated in either case.
 */
void findings_put_if(struct findings *findings, enum finding kind, bool is_so, const char *remedy,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));
/* As findings_put_if, for a message that changes over time: only the first one is logged. */
void findings_update_if(struct findings *findings, enum finding kind, bool is_so,
			const char *remedy, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* The same where the condition is known: (findings, kind, remedy, format, ...). */
#define findings_put(findings, kind, ...)    findings_put_if(findings, kind, true, __VA_ARGS__)
#define findings_update(findings, kind, ...) findings_update_if(findings, kind, true, __VA_ARGS__)
/* As findings_put, but in addition to others of that kind instead of replacing them. */
void findings_add(struct findings *findings, enum finding kind, const char *remedy,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Clear the finding if it exists. */
void findings_clear(struct findings *findings, enum finding kind);

#endif
