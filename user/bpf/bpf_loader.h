/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which objects are in force, and fills the feature table.
 *
 * The guard comes first, because readiness waits for it. The other objects are adopted at once
 * if their pins are as expected. A object that must be loaded can be loaded later, by a thread
 * with its own set of objects, which is then merged.
 */
#ifndef BPF_LOADER_H
#define BPF_LOADER_H

#include "bpf/bpf_backend.h"
#include "bpf/bpf_objects.h"
#include "bpf/observe.h"

/* Rows of the objects in the feature table, after the abilities. */
enum object_feature {
	FEATURE_GUARD,
	FEATURE_WATCH,
	FEATURE_TRACES,
	FEATURE_OBSERVE,
	OBJECT_FEATURES
};

struct bpf_objects {
	struct bpf_object_handle *guard, *watch; /* NULL: absent, features give the reason */
	struct observer *observer;
	struct feature_row features[ABILITY_NR + OBJECT_FEATURES];
	uint32_t nr_known; /* number of abilities probed so far, from the first */
};

struct bpf_loader {
	const struct bpf_backend_options *options; /* borrowed */
	struct bpf_object_sizes sizes;
};

/* No object is in force; all features are unknown or being loaded. */
void bpf_objects_begin(struct bpf_objects *objects);
/* Close the descriptors; pinned objects remain in force. */
void bpf_objects_free(struct bpf_objects *objects);
/* The map of this name, borrowed, or -1. All objects that have it share it through its pin. */
int bpf_objects_map_fd(const struct bpf_objects *objects, const char *name);

/* 0 also if the guard is unavailable; -ESTALE: the pins have a newer ABI, nothing was changed. */
int bpf_loader_start_guard(const struct bpf_loader *loader, struct bpf_objects *objects);
/* Adopt watch and observer from their pins. -EAGAIN: one of them has to be loaded; -ESTALE. */
int bpf_loader_adopt_rest(const struct bpf_loader *loader, struct bpf_objects *objects);
/* Bring up watch and observer unless `objects` has them: probe, load, attach, pin. -ESTALE. */
int bpf_loader_start_rest(const struct bpf_loader *loader, struct bpf_objects *objects);
/* Take over the objects that `later`, which began as a copy of `objects`, has brought up since. */
void bpf_objects_merge(struct bpf_objects *objects, const struct bpf_objects *later);

#endif
