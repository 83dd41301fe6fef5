/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's memory_manager_state: reading what a kubelet left, with its
 * checksum, and writing the same bytes. Text in, structure out; no files here.
 *
 * Layouts: 1 (to 1.35, and 1.36 without pod-level managers), 2 (1.36 with them:
 * podEntries), 3 (1.37: layout 1, and all of it once more as text under a second
 * checksum). Layout 1 may be hashed under two names of its type.
 */
#ifndef KUBELET_MEMORY_STATE_H
#define KUBELET_MEMORY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kubelet/cpu_state.h"
#include "lib/cleanup.h"

/* These bound what a file can make us hold. */
#define KUBELET_MEMORY_MAX_NODES 64
#define KUBELET_MEMORY_MAX_TYPES 64
#define KUBELET_MEMORY_MAX_BYTES (16 << 20)

struct kubelet_memory_table {
	char *type; /* "memory", "hugepages-2Mi" */
	uint64_t total_bytes, system_reserved_bytes, allocatable_bytes, reserved_bytes, free_bytes;
};

struct kubelet_memory_node {
	uint32_t id;
	int64_t nr_assignments;
	uint32_t nr_tables, nr_cells;
	struct kubelet_memory_table *tables; /* ascending by type, bytewise */
	uint32_t *cells;		     /* node ids, as written */
};

struct kubelet_memory_block {
	char *type;
	uint32_t nr_nodes;
	uint32_t *nodes; /* ids, as written */
	uint64_t bytes;
};

/* The blocks of a container, or of a pod as a whole ("" as container). */
struct kubelet_memory_entry {
	char *pod, *container;
	uint32_t nr_blocks;
	struct kubelet_memory_block *blocks; /* as written */
	bool is_bare; /* a pod without containers; or null instead of a list */
};

struct kubelet_memory_entries {
	uint32_t nr;
	struct kubelet_memory_entry *entries; /* ascending by pod, then container, bytewise */
};

enum kubelet_memory_layout {
	KUBELET_MEMORY_V1,
	KUBELET_MEMORY_V1_NAMED, /* hashed as MemoryManagerCheckpointV1 */
	KUBELET_MEMORY_V2,
	KUBELET_MEMORY_V3,
	KUBELET_MEMORY_LAYOUT_NR
};

struct kubelet_memory_state {
	enum kubelet_memory_layout layout; /* as read */
	char *policy;
	uint32_t nr_nodes;
	struct kubelet_memory_node *nodes; /* ascending by id */
	struct kubelet_memory_entries containers, pods;
};

/*
 * Read as this kubelet would. Pod entries come only from a layout 2 or 3 whose checksum
 * is right; a checksum of 0 passes as layout 1 without them.
 * - 1.36: layouts 2 and 1. Of a file of layout 3 it reads the part for older kubelets.
 * - 1.37: layout 3; only if the file has neither data nor a dataChecksum, 2 and 1. Pod
 *   entries are dropped without pod_level. The sentence of a refusal begins with the
 *   kubelet's own reason.
 * - any: whichever layout has a checksum that is right, from 3 to 1.
 *
 * Keys of machineState are parsed as Go does, except that a negative id and a node that two
 * keys name ("1" and "+1") are faults.
 *
 * Members that no version has are ignored, as by a kubelet that was downgraded, where a checksum
 * covers the rest, by 1.37 in any case; `error` is then a warning, else empty. -EINVAL with *ret_fault
 * and a sentence (size >= 160), or -ENOMEM; *ret_state is then untouched.
 */
int kubelet_memory_state_read(const char *data, size_t len, const struct kubelet *kubelet,
			      struct kubelet_memory_state *ret_state, enum kubelet_fault *ret_fault,
			      char *error, size_t error_size);

/* The exact file of a kubelet in that layout. Owned by the caller. -ENOMEM. */
int kubelet_memory_state_write(const struct kubelet_memory_state *state,
			       enum kubelet_memory_layout layout, char **ret_text);

/*
 * The text under the checksum of that layout (of layout 3: under dataChecksum) and
 * its hash, to show why a file is refused. The text is owned by the caller. -ENOMEM.
 */
int kubelet_memory_state_hashed(const struct kubelet_memory_state *state,
				enum kubelet_memory_layout layout, char **ret_text,
				uint32_t *ret_sum);

/* Free the entries and blocks and leave an empty state. */
void kubelet_memory_state_fini(struct kubelet_memory_state *state);
#define cleanup_kubelet_memory_state cleanup(kubelet_memory_state_fini)

const char *kubelet_memory_layout_name(enum kubelet_memory_layout layout); /* "v1", "v1n", … */

#endif
