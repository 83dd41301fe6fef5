/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object observe, for its row in bpf_objects.c. Counts run time and waits. What is more than the
 * programs and their pins is in observe.c.
 */
#ifndef BPF_OBJECT_OBSERVE_H
#define BPF_OBJECT_OBSERVE_H

#include "bpf/bpf_objects.h"
#include "bpf/observe.h"

/* Members of its row in the table, as observe_elf(); bpf_objects.h has what they promise. */
int observe_start(const struct bpf_object_request *request,
		  struct bpf_object_instance *ret_instance);
void observe_stop(struct bpf_object_instance *instance);

#endif
