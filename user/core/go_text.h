/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and CPU lists in the form that the kubelet accepts. Go is more liberal than the
 * kernel in some places ("+1", "007") and stricter in others (no blanks), so text that a
 * kubelet reads too is parsed here, and text of the kernel by cpuset_parse.
 */
#ifndef CORE_GO_TEXT_H
#define CORE_GO_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpuset.h"

/*
 * As strconv.Atoi and ParseInt(text, 10, 64): decimal digits after at most one sign.
 * -EINVAL for other text, -ERANGE for a number outside int64_t; *ret_number is then
 * unchanged.
 */
int go_parse_int(const char *text, size_t len, int64_t *ret_number);

/*
 * As Parse of k8s.io/utils/cpuset: elements between commas, each a number or a range; empty
 * text is the empty set. -EINVAL for other text. Unlike Go, returns -ERANGE for an id >=
 * CPUSET_MAX, which no Linux machine has. *ret_set is unchanged on failure.
 */
int go_parse_cpus(const char *text, size_t len, struct cpuset *ret_set);

#endif
