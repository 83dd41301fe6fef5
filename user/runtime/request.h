/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a container runtime says of a pod and its containers to the request that admission
 * decides on. NRI passes on what the runtime was told to enforce, so the request is derived from
 * it by inverting the kubelet's conversions:
 *
 * - the QoS class from the cgroup parent, where the kubelet puts it;
 * - the CPU request from the shares, the CPU limit from quota and period;
 * - the memory limit as it is. The memory request is not passed on. It equals the limit in a
 *   Guaranteed pod, is left unset otherwise, and decides nothing there.
 *
 * The kind of a container and whether a pod has pod-level resources are not passed on either.
 * Annotations of the pod supply them where they matter:
 *
 *	pinfold.dev/init-containers: migrate,warm-up
 *	pinfold.dev/sidecar-containers: proxy
 *	pinfold.dev/pod-level-resources: "true"
 *
 * Without these every container is an ordinary one, and a pod has pod-level resources only if
 * one of its containers shows that its class cannot come from the containers.
 * Another annotation under pinfold.dev/ is an error, because it is most likely a misspelt one.
 *
 * Pure functions: no I/O, no clock, no state.
 */
#ifndef RUNTIME_REQUEST_H
#define RUNTIME_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/pod/pod.h"
#include "nri/messages.h"

#define REQUEST_ERROR_MAX 256
/* Of the annotations that are read. */
#define REQUEST_ANNOTATION_PREFIX "pinfold.dev/"

/*
 * The class that the cgroup parent states: a path (cgroupfs driver) or the name of a slice
 * (systemd driver), also below a kubelet's --cgroup-root. False = no kubelet made this pod.
 */
bool request_qos(const char *cgroup_parent, enum qos_class *ret_qos);

/*
 * The CPU limit, in thousandths of a CPU, whose quota this is; RESOURCE_UNSET if the quota is not
 * positive. The kubelet never sets less than 1000 us, so a limit below 10m reads as 10m. A
 * period of 0 is the kernel's default.
 */
int64_t request_mcpu_of_quota(int64_t quota_us, int64_t period_us);

/*
 * Fill in everything of the pod except its containers, of which *ret_spec then has none.
 * A pod that no kubelet made is Burstable: it gets no exclusive CPUs.
 * -EINVAL with a sentence for operators if an identity or an annotation is not valid;
 * *ret_spec is untouched then.
 */
int request_of_pod(const struct nri_pod *pod, struct pod_spec *ret_spec,
		   char error[REQUEST_ERROR_MAX]);
/*
 * One container of this pod. Its requests equal its limits if the pod is Guaranteed and the
 * values permit it; the memory request is unset otherwise. Do not call pod_spec_default() on it.
 * -EINVAL as above.
 */
int request_of_container(const struct nri_pod *pod, const struct nri_container *container,
			 struct container_spec *ret_container, char error[REQUEST_ERROR_MAX]);
/*
 * Is the pod Guaranteed although this container is not, so that pod-level resources must be the
 * reason?
 */
bool request_shows_pod_level(const struct nri_pod *pod, const struct nri_container *container);

#endif
