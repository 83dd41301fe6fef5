/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of a kubelet's pods. They are the kubelet's: at each of its starts it writes their files,
 * and has systemd write those that are systemd's units.
 */
#ifndef CGROUP_KUBELETS_H
#define CGROUP_KUBELETS_H

/*
 * Does the cgroup `fd`, which is named `group` and lies below the root cgroup, hold a kubelet's pods:
 * as the root of all of them, or, as with the kubelet's --cgroup-root, directly above that? 1, 0, or a
 * negative errno if that is unknown.
 */
int kubelets_has_pods(const char *group, int fd);

#endif
