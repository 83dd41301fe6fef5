/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's cpu_manager_state: reading what a kubelet left, with its
 * checksum, and writing the same bytes. Text in, structure out; no files here.
 *
 * Versions: 2 (1.18 and later; entries by pod and container), 3 (1.36 with
 * pod-level managers: podEntries in addition), 1 (before: entries by container
 * id, which only a runtime can map to pods; refused unless it has none), 4 (1.37: an
 * older version for older kubelets, and all of it once more as text under a second
 * checksum; that text counts).
 */
#ifndef KUBELET_CPU_STATE_H
#define KUBELET_CPU_STATE_H

#include "core/cpuset.h"
#include "lib/cleanup.h"

/* A kubelet has at most 110 pods by default; this bounds what a file can make us hold. */
#define KUBELET_STATE_MAX_ENTRIES 65536
#define KUBELET_STATE_MAX_BYTES	  (16 << 20)

struct kubelet_entry {
	char *pod;	 /* uid; "" in version 1 */
	char *container; /* name; container id in version 1; "" for a pod's own entry */
	char *list;	 /* the CPU list as written */
	struct cpuset cpus;
};

struct kubelet_entries {
	uint32_t nr;
	struct kubelet_entry *entries; /* ascending by pod, then container, bytewise */
};

struct kubelet_cpu_state {
	unsigned int version;
	char *policy;
	char *default_list;
	struct cpuset default_cpus;
	struct kubelet_entries containers;
	struct kubelet_entries pods; /* versions 3 and 4 */
};

enum kubelet_fault {
	KUBELET_FAULT_NONE,
	KUBELET_FAULT_UNREADABLE, /* not JSON, or not of any version */
	KUBELET_FAULT_CHECKSUM,
	KUBELET_FAULT_POLICY,  /* written under another policy */
	KUBELET_FAULT_CPUSET,  /* a CPU list that does not parse */
	KUBELET_FAULT_VERSION, /* newer than what is known here */
	KUBELET_FAULT_NR
};

/*
 * Read as a kubelet with this policy would: with pod_level versions 3, 2, 1 are
 * tried in this order, without it 2 and 1; a file with the text of version 4 is
 * that or nothing. A checksum of 0 is accepted for versions 1 and 2.
 *
 * Members that no version has are ignored, as by a kubelet that was downgraded, where
 * a checksum covers the rest; `error` is then a warning, else empty. -EINVAL with
 * *ret_fault and a sentence (size >= 160), or -ENOMEM; *ret_state is then untouched.
 */
int kubelet_cpu_state_read(const char *data, size_t len, bool pod_level, const char *policy,
			   struct kubelet_cpu_state *ret_state, enum kubelet_fault *ret_fault,
			   char *error, size_t error_size);

/* The exact file of kubelet 1.36 for this state; version 3 with pod_level. Owned by the caller. */
int kubelet_cpu_state_write(const struct kubelet_cpu_state *state, bool pod_level, char **ret_text);

/* Add to entries that are sorted again by kubelet_entries_sort. Copies. -ENOMEM. */
int kubelet_entries_add(struct kubelet_entries *entries, const char *pod, const char *container,
			const char *list);
void kubelet_entries_sort(struct kubelet_entries *entries);

/* Free the entries and leave an empty state. */
void kubelet_cpu_state_fini(struct kubelet_cpu_state *state);
#define cleanup_kubelet_cpu_state cleanup(kubelet_cpu_state_fini)

const char *kubelet_fault_name(enum kubelet_fault fault); /* "restore-failed", "corrupt", … */

#endif
