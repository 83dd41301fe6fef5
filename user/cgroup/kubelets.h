/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of a kubelet's pods. They are the kubelet's: at each of its starts it writes their files,
 * and has systemd write those that are systemd's units.
 */
#ifndef CGROUP_KUBELETS_H
#define CGROUP_KUBELETS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Does the cgroup `fd`, which is named `group` and lies below the root cgroup, hold a kubelet's pods:
 * as the root of all of them, or, as with the kubelet's --cgroup-root, directly above that? 1, 0, or a
 * negative errno if that is unknown.
 */
int kubelets_has_pods(const char *group, int fd);

/* What was found of cgroups that still have as many children. Begins with zeros. */
#define KUBELETS_KNOWN_MAX 64
struct kubelets_known {
	struct {
		uint64_t cgroup_id, nr_links;
		bool has_pods;
	} rows[KUBELETS_KNOWN_MAX];
	uint32_t nr, next; /* of a full table the rows are used again in turn */
};

/*
 * The same, but a cgroup is listed only if it has got or lost children since. Whoever makes one holds
 * the lock of the directory while he waits for other locks, and a listing would wait for him.
 */
int kubelets_has_pods_now(struct kubelets_known *known, const char *group, int fd);

#endif
