/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object guard, for its row in bpf_objects.c. Denies operations that cross the border of a
 * container. Attached as LSM programs, or as fmod_ret.
 */
#ifndef BPF_OBJECT_GUARD_H
#define BPF_OBJECT_GUARD_H

#include "bpf/bpf_objects.h"

/* The members of its row in the table; bpf_objects.h has what they promise. */
const void *guard_elf(size_t *ret_len);
int guard_start(const struct bpf_object_request *request, struct bpf_object_instance *ret_instance);
/* Without a mechanism to attach, the row of lsm has the reason and the remedy. */
const struct feature_row *guard_find_obstacle(const struct abilities *abilities);
/*
 * Does this error of a start, negative, mean that the kernel refuses a program as such: no such hook, or
 * the verifier rejects it? Others are about rights, memory, pins or who else is attached.
 */
bool guard_is_refusal(int error);

#endif
