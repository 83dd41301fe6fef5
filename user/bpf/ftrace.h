/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sysctl kernel.ftrace_enabled. While it is 0, the kernel does not call function
 * trampolines, on which the guard's programs depend: they remain attached and pinned, but are
 * never called.
 */
#ifndef BPF_FTRACE_H
#define BPF_FTRACE_H

#include <stdbool.h>

#define FTRACE_FILE   "/proc/sys/kernel/ftrace_enabled"
#define FTRACE_SYSCTL "kernel.ftrace_enabled"

/*
 * Is it off? False if the file does not exist (a kernel without dynamic ftrace) or cannot be
 * read; the self-test shows the effect in these cases.
 */
bool ftrace_is_off(const char *file);

/*
 * Switch it on. 0 = it was on or does not exist; 1 = it was off; otherwise the errno of the
 * attempt.
 */
int ftrace_mend(const char *file);

#endif
