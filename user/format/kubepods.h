/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the path of a cgroup says about a pod or container: the names that a kubelet,
 * containerd, CRI-O, podman and docker give to cgroups, under the systemd and the cgroupfs
 * driver. Text in, struct out; no file is read, so whether the cgroup exists is not known here.
 *
 * The names contain ids only. A container's name, and whether it is the pod's sandbox (the
 * pause container), cannot be derived from a path.
 */
#ifndef FORMAT_KUBEPODS_H
#define FORMAT_KUBEPODS_H

#include <stdbool.h>

#include "core/pod/pod.h"

#define KUBEPODS_ID_MAX 65 /* 64 hexadecimal digits and a NUL */

enum kubepods_kind {
	KUBEPODS_NONE,	 /* nothing of Kubernetes, podman or docker */
	KUBEPODS_PARENT, /* may have pods or containers directly below it */
	KUBEPODS_POD,
	KUBEPODS_CONTAINER,
	KUBEPODS_SANDBOX, /* never by the path alone: the reader of the cgroup decides that */
	KUBEPODS_HELPER,  /* a runtime's monitor process (conmon), which belongs to no container */
	KUBEPODS_INSIDE,  /* made by a container or its runtime, below the container's cgroup */
	KUBEPODS_UNKNOWN, /* in a place of pods or containers, with a name of no known form */
	KUBEPODS_KIND_NR
};

enum kubepods_runtime {
	RUNTIME_UNKNOWN,
	/* Also for a bare id in a cgroupfs pod, where cri-dockerd would look the same. */
	RUNTIME_CONTAINERD,
	RUNTIME_CRIO,
	RUNTIME_PODMAN,
	RUNTIME_DOCKER,
	RUNTIME_NR
};

struct kubepods_name {
	enum kubepods_kind kind;
	bool is_systemd;	       /* names of the systemd driver, otherwise cgroupfs */
	bool has_qos;		       /* only below kubepods; podman and docker have no classes */
	enum qos_class qos;	       /* if has_qos */
	enum kubepods_runtime runtime; /* of a container or what is inside it */
	char uid[POD_UID_MAX + 1]; /* the pod's: with dashes, or podman's 64 digits; "" = none */
	char id[KUBEPODS_ID_MAX];  /* the container's; "" = none */
};

/*
 * Read a path as below the cgroup mount and as in /proc/PID/cgroup: components separated by
 * "/", with or without a leading one. Returns ret_name->kind. A path that ends in " (deleted)",
 * has unprintable bytes or "..", or does not follow systemd's rule for nested slices is never a
 * pod or container.
 */
enum kubepods_kind kubepods_parse(const char *path, struct kubepods_name *ret_name);

/* "pod", "container", "sandbox", … */
const char *kubepods_kind_name(enum kubepods_kind kind);
/* "containerd", "cri-o", "podman", "docker" or "unknown" */
const char *kubepods_runtime_name(enum kubepods_runtime runtime);

#endif
