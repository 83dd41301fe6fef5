/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which BPF objects are in force after a start, and fills their rows of the feature
 * table.
 *
 * The objects that readiness waits for come first. The others are adopted at once if their pins
 * are as expected. One that must be loaded can be loaded later, by a thread with its own set of
 * objects, which is then merged.
 */
#ifndef BPF_LOADER_H
#define BPF_LOADER_H

#include "bpf/bpf_objects.h"

struct bpf_loader {
	const struct bpf_backend_options *options; /* borrowed */
	struct bpf_object_sizes sizes;
};

/*
 * The awaited objects: probe, adopt or load. 0 also if one of them is unavailable; -ESTALE: the
 * pins have a newer ABI, nothing was changed.
 */
int bpf_loader_start_awaited(const struct bpf_loader *loader, struct bpf_objects *objects);
/* Adopt the others from their pins. -EAGAIN: one of them has to be loaded; -ESTALE. */
int bpf_loader_adopt_rest(const struct bpf_loader *loader, struct bpf_objects *objects);
/* Probe the rest, then adopt or load the others, unless they are in force. -ESTALE. */
int bpf_loader_start_rest(const struct bpf_loader *loader, struct bpf_objects *objects);

#endif
