/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a container belongs to, by the annotations that its runtime wrote into the OCI bundle:
 * containerd's io.kubernetes.cri.* and CRI-O's io.kubernetes.*; and its CPU and memory resources.
 * Text in, struct out; where the file is, and whether it belongs to the container that was looked
 * for, is not known here.
 *
 * The file is the runtime's own and in no documented format. It is written once, when the
 * container is created.
 */
#ifndef FORMAT_BUNDLE_H
#define FORMAT_BUNDLE_H

#include <stddef.h>

#include "core/pod/pod.h"

enum bundle_kind {
	BUNDLE_UNSTATED,
	BUNDLE_CONTAINER,
	BUNDLE_SANDBOX, /* it holds the pod's namespaces and has no container's name */
};

/*
 * "" = the file does not state it, or states what cannot be such a name: too long, or with other
 * characters than ASCII letters, digits, "-", "." and "_".
 */
struct bundle {
	enum bundle_kind kind;
	char uid[POD_UID_MAX];
	char namespace[POD_NAME_MAX], pod[POD_NAME_MAX];
	char container[POD_CONTAINER_NAME];
	/* What the kubelet asked for when it was created; 0 = the file does not state it. */
	int64_t cpu_shares, cpu_quota_us, cpu_period_us, memory_bytes;
};

/*
 * Read a bundle's config.json of `len` bytes. Without annotations every member is "". -EINVAL: it
 * is not a JSON object, or its annotations are not one; -ENOMEM.
 */
int bundle_parse(const char *data, size_t len, struct bundle *ret_bundle);

#endif
