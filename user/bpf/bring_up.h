/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts are in force, and what is said of each in the feature table.
 *
 * The guard comes first, because being ready waits for it. The rest is adopted
 * at once where its pins are as we want them; what has to be loaded can be loaded
 * later, by a thread of its own on a set of its own, and is then merged.
 */
#ifndef BPF_BRING_UP_H
#define BPF_BRING_UP_H

#include "bpf/kernel_side.h"
#include "bpf/observe.h"
#include "bpf/parts.h"

/* Parts, beside the abilities, in the feature table. */
enum part_feature { FEATURE_GUARD, FEATURE_WATCH, FEATURE_TRACES, FEATURE_OBSERVE, PART_FEATURES };

struct parts {
	struct part *guard, *watch; /* NULL: absent, features say why */
	struct observer *observer;
	struct feature_row features[ABILITY_NR + PART_FEATURES];
	uint32_t nr_known; /* abilities that have been asked about, from the first */
};

struct bring_up {
	const struct kernel_side_options *options; /* borrowed */
	struct part_sizes sizes;
};

/* Nothing is there, and all that can be asked about is unknown, being loaded. */
void parts_begin(struct parts *parts);
/* Let go of our descriptors; what is pinned stays in force. */
void parts_free(struct parts *parts);

/* 0 also when the guard cannot be had; -ESTALE: pins are of a newer ABI, nothing was touched. */
int bring_up_guard(const struct bring_up *task, struct parts *parts);
/* Watch and observer from their pins. -EAGAIN: one of them has to be loaded; -ESTALE. */
int adopt_rest(const struct bring_up *task, struct parts *parts);
/* Watch and observer, as far as `parts` has none: probe, load, attach, pin. -ESTALE. */
int bring_up_rest(const struct bring_up *task, struct parts *parts);
/* Take over what `later`, begun as a copy of `parts`, has got since. */
void parts_merge(struct parts *parts, const struct parts *later);

#endif
