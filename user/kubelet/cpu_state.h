/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's cpu_manager_state: reading what a kubelet left, with its
 * checksum, and writing the same bytes. Text in, structure out; no files here.
 *
 * Versions: 2 (1.18 and later; entries by pod and container), 3 (1.36 with
 * pod-level managers: podEntries in addition), 1 (before: entries by container
 * id, which only a runtime can map to pods; refused unless it has none), 4 (1.37: version 2
 * for older kubelets, and all of it once more as text under a second checksum; that text
 * counts).
 */
#ifndef KUBELET_CPU_STATE_H
#define KUBELET_CPU_STATE_H

#include <stdbool.h>

#include "core/cpuset.h"
#include "lib/cleanup.h"

/* A kubelet has at most 110 pods by default; this bounds what a file can make us hold. */
#define KUBELET_STATE_MAX_ENTRIES 65536
#define KUBELET_STATE_MAX_BYTES	  (16 << 20)

/* By the rules of which kubelet a file is read or written. */
enum kubelet_release {
	KUBELET_ANY, /* to read what some kubelet left: the newest layout that the file has */
	KUBELET_1_36,
	KUBELET_1_37,
};

struct kubelet {
	enum kubelet_release release;
	bool pod_level;	    /* its feature gate PodLevelResourceManagers */
	const char *policy; /* the policy configured, which the file must name */
};

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
 * Read as this kubelet would. A checksum of 0 is accepted for versions 1 and 2.
 * - 1.36: with pod_level versions 3, 2, 1 are tried in this order, without it 2 and 1.
 *   Of a file of version 4 it reads the part for older kubelets.
 * - 1.37: version 4; only if the file has neither data nor a dataChecksum, 3 and 2. Pod
 *   entries are dropped without pod_level. The sentence of a refusal begins with the
 *   kubelet's own reason.
 * - any: as 1.36, but a file with the text of version 4 is that or nothing.
 *
 * CPU lists are parsed by go_parse_cpus: an id that no Linux machine has is a fault already
 * here, while the kubelet finds that the machine lacks the CPU.
 *
 * Members that no version has are ignored, as by a kubelet that was downgraded, where
 * a checksum covers the rest, by 1.37 in any case; `error` is then a warning, else empty.
 * -EINVAL with *ret_fault and a sentence (size >= 160), or -ENOMEM; *ret_state is then
 * untouched.
 */
int kubelet_cpu_state_read(const char *data, size_t len, const struct kubelet *kubelet,
			   struct kubelet_cpu_state *ret_state, enum kubelet_fault *ret_fault,
			   char *error, size_t error_size);

/*
 * The exact file of that kubelet for this state: version 4 by 1.37, otherwise 3 with
 * pod_level and else 2. Pod entries are left out without pod_level. The policy is that of
 * the state. Owned by the caller.
 */
int kubelet_cpu_state_write(const struct kubelet_cpu_state *state, const struct kubelet *kubelet,
			    char **ret_text);

/* Add to entries that are sorted again by kubelet_entries_sort. Copies. -ENOMEM. */
int kubelet_entries_add(struct kubelet_entries *entries, const char *pod, const char *container,
			const char *list);
void kubelet_entries_sort(struct kubelet_entries *entries);

/* Free the entries and leave an empty state. */
void kubelet_cpu_state_fini(struct kubelet_cpu_state *state);
#define cleanup_kubelet_cpu_state cleanup(kubelet_cpu_state_fini)

const char *kubelet_fault_name(enum kubelet_fault fault); /* "restore-failed", "corrupt", … */

#endif
