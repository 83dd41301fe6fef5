/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which parts are in force, and fills the feature table.
 *
 * The guard comes first, because readiness waits for it. The other parts are adopted at once
 * if their pins are as expected. A part that must be loaded can be loaded later, by a thread
 * with its own set of parts, which is then merged.
 */
#ifndef BPF_BRING_UP_H
#define BPF_BRING_UP_H

#include "bpf/bpf_backend.h"
#include "bpf/observe.h"
#include "bpf/parts.h"

/* Rows of the parts in the feature table, after the abilities. */
enum part_feature { FEATURE_GUARD, FEATURE_WATCH, FEATURE_TRACES, FEATURE_OBSERVE, PART_FEATURES };

struct parts {
	struct part *guard, *watch; /* NULL: absent, features give the reason */
	struct observer *observer;
	struct feature_row features[ABILITY_NR + PART_FEATURES];
	uint32_t nr_known; /* number of abilities probed so far, from the first */
};

struct bring_up {
	const struct bpf_backend_options *options; /* borrowed */
	struct part_sizes sizes;
};

/* No part is in force; all features are unknown or being loaded. */
void parts_begin(struct parts *parts);
/* Close the descriptors; pinned objects remain in force. */
void parts_free(struct parts *parts);

/* 0 also if the guard is unavailable; -ESTALE: the pins have a newer ABI, nothing was changed. */
int bring_up_guard(const struct bring_up *task, struct parts *parts);
/* Adopt watch and observer from their pins. -EAGAIN: one of them has to be loaded; -ESTALE. */
int adopt_rest(const struct bring_up *task, struct parts *parts);
/* Bring up watch and observer unless `parts` has them: probe, load, attach, pin. -ESTALE. */
int bring_up_rest(const struct bring_up *task, struct parts *parts);
/* Take over the parts that `later`, which began as a copy of `parts`, has brought up since. */
void parts_merge(struct parts *parts, const struct parts *later);

#endif
