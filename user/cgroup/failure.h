/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports a failure in one statement: the message goes into the caller's buffer and the
 * error code is returned.
 */
#ifndef CGROUP_FAILURE_H
#define CGROUP_FAILURE_H

#include <stdarg.h>
#include <stdio.h>

#include "ctl/ports.h"

/* Write the message (truncated to GROUP_ERROR_MAX) and return `code`, a negative errno. */
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
