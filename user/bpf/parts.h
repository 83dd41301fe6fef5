/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard and watch as parts: which of their programs this kernel supports, their sizes, and the
 * mechanism that attaches them.
 */
#ifndef BPF_PARTS_H
#define BPF_PARTS_H

#include "bpf/load.h"
#include "bpf/probe.h"

/* The mechanism to attach the guard with, according to the probed abilities. */
enum mechanism guard_mechanism(const struct feature_row abilities[ABILITY_NR]);

/* Errors as part_bring_up; -ENOTSUP if there is no mechanism. *ret_part is then unchanged. */
int guard_bring_up(const struct feature_row abilities[ABILITY_NR], const struct part_sizes *sizes,
		   bool clone_guard, const char *pin_dir, struct part **ret_part);
/*
 * Without fentry only the life cycle programs are loaded; *ret_traces tells whether the others
 * are. -EAGAIN: it would have to be loaded, which `adopt_only` forbids.
 */
int watch_bring_up(const struct feature_row abilities[ABILITY_NR], const struct part_sizes *sizes,
		   const char *pin_dir, bool adopt_only, struct part **ret_part, bool *ret_traces);

#endif
