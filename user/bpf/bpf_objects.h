/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard and watch as objects: which of their programs this kernel supports, their sizes, and the
 * mechanism that attaches them.
 */
#ifndef BPF_OBJECTS_H
#define BPF_OBJECTS_H

#include "bpf/bpf_object.h"
#include "bpf/probe.h"

/* The mechanism to attach the guard with, according to the probed abilities. */
enum mechanism guard_mechanism(const struct feature_row abilities[ABILITY_NR]);

/* Errors as bpf_object_start; -ENOTSUP if there is no mechanism. *ret_handle is then unchanged. */
int guard_start(const struct feature_row abilities[ABILITY_NR],
		const struct bpf_object_sizes *sizes, bool clone_guard, const char *pin_dir,
		struct bpf_object_handle **ret_handle);
/*
 * Without fentry only the life cycle programs are loaded; *ret_traces tells whether the others
 * are. -EAGAIN: it would have to be loaded, which `adopt_only` forbids.
 */
int watch_start(const struct feature_row abilities[ABILITY_NR],
		const struct bpf_object_sizes *sizes, const char *pin_dir, bool adopt_only,
		struct bpf_object_handle **ret_handle, bool *ret_traces);

#endif
