/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard and watch as parts: which of their programs this kernel can have, their
 * sizes, and what they are attached with.
 */
#ifndef BPF_PARTS_H
#define BPF_PARTS_H

#include "bpf/load.h"
#include "bpf/probe.h"

/* What the probed abilities leave to attach the guard with. */
enum mechanism guard_mechanism(const struct feature_row abilities[ABILITY_NR]);

/*
 * Errors as part_bring_up; -ENOTSUP when no mechanism is left. *ret_part then
 * stays as it is.
 */
int guard_bring_up(const struct feature_row abilities[ABILITY_NR], const struct part_sizes *sizes,
		   bool clone_guard, const char *pin_dir, struct part **ret_part);
/*
 * Without fentry only the life cycle; *ret_traces says whether the rest is there.
 * -EAGAIN: it would have to be loaded, and `adopt_only` forbids that.
 */
int watch_bring_up(const struct feature_row abilities[ABILITY_NR], const struct part_sizes *sizes,
		   const char *pin_dir, bool adopt_only, struct part **ret_part, bool *ret_traces);

#endif
