/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a Kubernetes node. */
#ifndef LIB_NODE_NAME_H
#define LIB_NODE_NAME_H

#include <stdbool.h>

/* A DNS subdomain has at most 253 characters (RFC 1123). */
#define NODE_NAME_MAX 254

/* Is it a DNS subdomain: lower-case labels with dots between them? */
bool node_name_is_valid(const char *name);

#endif
