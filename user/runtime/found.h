/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a container whose cgroup was found to the request that admission decides on, where no
 * runtime says anything. Its OCI bundle, which is written once and before the cgroup is made, has the
 * names and the amounts of its creation; the cgroup has what a resize in place made of them, or
 * nothing yet. What the kubelet did is then inverted as in runtime/request.h.
 *
 * A bundle has no annotations of the pod, so every container is an ordinary one. Huge pages are not
 * read.
 *
 * Pure functions: no I/O, no clock, no state.
 */
#ifndef RUNTIME_FOUND_H
#define RUNTIME_FOUND_H

#include "core/pod/pod.h"
#include "kubelet/discovery.h"
#include "runtime/request.h"

struct found_request {
	bool has_pod, has_container; /* false: not valid, see `error` */
	struct pod_spec pod;	     /* without containers */
	struct container_spec container;
	char error[REQUEST_ERROR_MAX]; /* a sentence for operators */
};

/* `row` is a container below kubepods. */
void found_request_read(const struct discovered_cgroup *row, struct found_request *ret_request);

#endif
