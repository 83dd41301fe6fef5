/* SPDX-License-Identifier: Apache-2.0 */
/* What a support bundle consists of: output of commands, files, and the values of cgroups. */
#ifndef TOOLS_GATHER_H
#define TOOLS_GATHER_H

#include <json-c/json.h>

#include "lib/text.h"

/* Any member; one that is larger is left out, but of the log only its end is taken. */
#define GATHER_MAX_BYTES (8U << 20)
/* A command that takes longer is killed. */
#define GATHER_TIMEOUT_S 15

/*
 * What a program writes to stdout; its exit status, or 128 + signal. It is looked for in PATH.
 * stderr is discarded. -ETIMEDOUT, -EFBIG, -errno of the exec.
 */
int gather_command(char *const argv[], struct text *output, int *ret_status);

/* {PATH: {FILE: VALUE}} of the cgroups below `root` of the cgroup mount `mount`. NULL = no memory. */
struct json_object *gather_cgroups(const char *mount, const char *root);

/* The running kernel, in the words of uname, without the name of the host. NULL = no memory. */
struct json_object *gather_kernel(void);

#endif
