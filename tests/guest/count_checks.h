/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest program found to hold and what not, as lines that tests/run counts. */
#ifndef COUNT_CHECKS_H
#define COUNT_CHECKS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int nr_passed, nr_failed;

__attribute__((format(printf, 2, 3))) static inline void check(bool holds, const char *format, ...)
{
	va_list args;

	holds ? nr_passed++ : nr_failed++;
	printf("%sok %d - ", holds ? "" : "not ", nr_passed + nr_failed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

#endif
