/* SPDX-License-Identifier: Apache-2.0 */
/* TAP for the programs of this folder, which play whole worlds and then say one thing of each. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int nr_verdicts, nr_failed;

__attribute__((format(printf, 2, 3))) static inline void verdict(bool good, const char *format, ...)
{
	va_list args;

	printf("%s %u - ", good ? "ok" : "not ok", ++nr_verdicts);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	nr_failed += !good;
}

/* Print the number of results. Returns the exit status. */
static inline int verdicts(void)
{
	printf("1..%u\n", nr_verdicts);
	return nr_failed || !nr_verdicts;
}

#endif
