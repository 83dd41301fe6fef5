/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admits the containers of a runtime's pod one by one, because a container runtime names each
 * only when it is created. The containers that the pod has already keep exactly what they hold.
 *
 * With topologyManagerScope: pod, a pod with pod-level resources gets its budget as one bubble with
 * its first container, and each container a slice of it or what the pod shares. The containers of
 * another pod are aligned one by one, each together with what its pod holds already: the first one
 * does not know of those to come. So are those of a pod with a budget of which one has CPUs of its own
 * already, from the time of another policy: it keeps them, and there is no bubble. A container that finds its pod's CPUs taken by earlier ones is
 * refused, where a kubelet would have refused the pod.
 *
 * What the kubelet's memory manager leaves to later containers of a pod is not kept between them, and
 * memory is not pinned with scope pod; neither is supported here (container_check_policy).
 */
#ifndef CORE_ADMIT_CONTAINER_H
#define CORE_ADMIT_CONTAINER_H

#include "core/admit/decision.h"
#include "core/ledger/ledger.h"

/* Can containers be admitted one by one under this policy? -EINVAL with a sentence. */
int container_check_policy(const struct policy *policy, char *error, size_t error_size);

/*
 * Decide on one container of `pod`, whose own containers are ignored. Like admit_prepare(): an
 * admission leaves the transaction open; after a refusal or an error none is open and the
 * ledger is unchanged. A container that the ledger has with equal values is admitted without
 * any change. One with other values is decided anew, and so is one that shares although it is
 * to have CPUs of its own. A refusal has no trace and no suggestion, since these concern whole
 * pods. -EINVAL: a name is not valid, the pod has too many containers, or the ledger has the pod
 * from another source. -ENOMEM.
 */
int container_prepare(struct ledger *ledger, const struct pod_spec *pod,
		      const struct container_spec *container, struct decision *ret_decision);

/* What a container that runs has. */
struct container_found {
	struct cpuset cpus;
	node_mask_t nodes; /* of its memory: indexes of memory nodes; 0 = no record */
	/* Those of all containers of its pod; only for one that wants a bubble. */
	struct cpuset pod_cpus;
};

/* Is the pod to have one bubble for all its containers? Then a container's CPUs do not say which. */
bool container_wants_bubble(const struct ledger *ledger, const struct pod_spec *pod);
/*
 * The same without an own choice, for a container that runs: it keeps the CPUs that it has, if it is
 * entitled to so many and they are free, and the nodes of its memory if that
 * is to be pinned. Where these have not enough, others are added; without any record (0), or without
 * room, it is pinned near its CPUs or not at all. A pod's bubble is made of what its containers have,
 * and of CPUs near these if they are fewer than its budget. -ENOTSUP: neither its CPUs nor its nodes
 * could be kept.
 */
int container_prepare_as(struct ledger *ledger, const struct pod_spec *pod,
			 const struct container_spec *container,
			 const struct container_found *found);
/* The same on the shared pool, whatever the container is entitled to. */
int container_prepare_shared(struct ledger *ledger, const struct pod_spec *pod,
			     const struct container_spec *container);

/*
 * A container of the ledger is to have other amounts while it runs (KEP-5554, see resize.h): as
 * container_prepare(), but an exclusive container keeps the CPUs of its admission, and one that
 * grows all that it has. The other containers keep what they hold. A container that would change
 * between exclusive and shared is refused, except for one that shares because it could not have
 * its CPUs or its memory: that is decided anew. So is one whose pinned memory would change. A refusal suggests the nearest size that fits. -ENOENT: the
 * ledger has no such container of a runtime. The kind of `container` is ignored.
 */
int container_prepare_resize(struct ledger *ledger, const char *uid,
			     const struct container_spec *container, struct decision *ret_decision);

/* Release what a container holds; with the last one its pod ends. -ENOENT, -ENOMEM. */
int container_release(struct ledger *ledger, const char *uid, const char *container);

#endif
