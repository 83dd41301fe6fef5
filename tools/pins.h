/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF side as its pins show it: needs root and bpffs, never the agent. */
#ifndef TOOLS_PINS_H
#define TOOLS_PINS_H

#include <pinfold/abi.h>

#include "inspect.h"

/* Programs behind the pinned links. Reported; enum status. */
int pins_fetch_progs(struct session *session, struct json_object **ret_json);
/* Pinned maps. Reported; enum status. */
int pins_fetch_maps(struct session *session, struct json_object **ret_json);
/* Which objects are in force. Reported; enum status. */
int pins_fetch_features(struct session *session, struct json_object **ret_json);

/* Path below the pin directory; freed by the caller, NULL = no memory. */
char *pins_path(const struct session *session, const char *name);
/*
 * Descriptor of a pinned map whose value has that size; reported when it cannot
 * be had. *ret_fd is the caller's.
 */
int pins_open_map(struct session *session, const char *name, size_t value_bytes, int *ret_fd);
/* -EPROTO when the pins are of another ABI version; -ENOENT when there are none. */
int pins_check_version(const struct session *session, enum bpf_object_id object,
		       struct bpf_object_meta *ret_meta);

#endif
