/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object watch, for its row in bpf_objects.c. Reports writes, moves and the life of managed
 * cgroups as events.
 */
#ifndef BPF_OBJECT_WATCH_H
#define BPF_OBJECT_WATCH_H

#include "bpf/bpf_objects.h"

/* The members of its row in the table; bpf_objects.h has what they promise. */
const void *watch_elf(size_t *ret_len);
int watch_start(const struct bpf_object_request *request, struct bpf_object_instance *ret_instance);

#endif
