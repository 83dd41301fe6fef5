/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One statement for a failure that somebody will read: the sentence goes into
 * the caller's buffer, the code is returned.
 */
#ifndef CGROUP_FAILURE_H
#define CGROUP_FAILURE_H

#include <stdarg.h>
#include <stdio.h>

#include "ctl/ports.h"

/* Write the sentence (cut at GROUP_ERROR_MAX) and return `code`, a negative errno. */
static inline __attribute__((format(printf, 3, 4))) int failure(char error[GROUP_ERROR_MAX],
								int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, GROUP_ERROR_MAX, format, args);
	va_end(args);
	return code;
}

#endif
