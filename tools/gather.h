/* SPDX-License-Identifier: Apache-2.0 */
/* What a support bundle consists of: output of commands, files, and the values of cgroups. */
#ifndef TOOLS_GATHER_H
#define TOOLS_GATHER_H

#include <json-c/json.h>

#include "lib/text.h"

/* Any member; one that is larger is left out, but of the log only its end is taken. */
#define GATHER_MAX_BYTES   (8U << 20)
#define GATHER_MAX_CGROUPS 4096

/*
 * What a program writes to stdout; its exit status, or 128 + signal. It is looked for in PATH.
 * stderr is discarded. -ETIMEDOUT: it took longer and was killed; -EFBIG, -errno of the exec.
 */
int gather_command(char *const argv[], int64_t timeout_ms, struct text *output, int *ret_status);

/*
 * {PATH: {FILE: VALUE}} of the cgroups that pinfold manages below the cgroup mount, and of those whose
 * paths are a pod's or a container's, or have such below them. *ret_left_out are the others of these
 * beyond GATHER_MAX_CGROUPS. A process of its own reads them, because whoever makes a cgroup holds the
 * lock of its directory, perhaps for long. -ETIMEDOUT: it took longer; -EFBIG, -ENOMEM, -errno.
 */
int gather_cgroups(const char *mount, int64_t timeout_ms, struct json_object **ret_json,
		   size_t *ret_left_out);

/* The running kernel, in the words of uname, without the name of the host. NULL = no memory. */
struct json_object *gather_kernel(void);

#endif
