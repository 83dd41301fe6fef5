// SPDX-License-Identifier: Apache-2.0
/*
 * The list of findings is small and bounded: one row per kind, or a few for a kind that may
 * occur several times. If the list is full, further findings are dropped.
 */
#include <stdarg.h>
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

void findings_clear(struct findings *findings, enum finding kind)
{
	struct finding_row *row = find_row(findings, kind);

	if (row)
		*row = findings->rows[--findings->nr];
}

static void word(struct finding_row *row, const char *message, const char *remedy)
{
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

static void add(struct findings *findings, enum finding kind, const char *message,
		const char *remedy)
{
	if (findings->nr == MAX_FINDINGS)
		return;
	log_warn(0, "finding %s: %s (%s)", finding_name(kind), message, remedy);
	findings->rows[findings->nr].kind = kind;
	word(&findings->rows[findings->nr++], message, remedy);
}

/* Of a finding that exists another message is logged only if `logs_news`. */
__attribute__((format(printf, 5, 0))) static void put(struct findings *findings, enum finding kind,
						      bool logs_news, const char *remedy,
						      const char *format, va_list args)
{
	struct finding_row *row = find_row(findings, kind);
	char message[ROW_DETAIL_MAX];

	vsnprintf(message, sizeof(message), format, args);
	if (row && !(logs_news && text_is_news(row->message, message))) {
		word(row, message, remedy);
		return;
	}
	findings_clear(findings, kind);
	add(findings, kind, message, remedy);
}

void findings_add(struct findings *findings, enum finding kind, const char *remedy,
		  const char *format, ...)
{
	char message[ROW_DETAIL_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	add(findings, kind, message, remedy);
}

void findings_put_if(struct findings *findings, enum finding kind, bool is_so, const char *remedy,
		     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (is_so)
		put(findings, kind, true, remedy, format, args);
	else
		findings_clear(findings, kind);
	va_end(args);
}

void findings_update_if(struct findings *findings, enum finding kind, bool is_so,
			const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (is_so)
		put(findings, kind, false, remedy, format, args);
	else
		findings_clear(findings, kind);
	va_end(args);
}
