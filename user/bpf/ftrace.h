/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sysctl kernel.ftrace_enabled. At 0 the kernel calls no function trampoline, which is
 * what the guard's programs hang on: they stay attached and pinned, and nothing calls them.
 */
#ifndef BPF_FTRACE_H
#define BPF_FTRACE_H

#include <stdbool.h>

#define FTRACE_FILE   "/proc/sys/kernel/ftrace_enabled"
#define FTRACE_SYSCTL "kernel.ftrace_enabled"

/*
 * Is it off? Not where there is no such file (a kernel without dynamic ftrace) and not where
 * it cannot be read: the self-test tells then.
 */
bool ftrace_is_off(const char *file);

/* Switch it on. 0 = it was on, or there is none; 1 = it was off; else why it stays off. */
int ftrace_mend(const char *file);

#endif
