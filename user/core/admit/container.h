/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admits the containers of a runtime's pod one by one, because a container runtime names each
 * only when it is created. The containers that the pod has already keep exactly what they hold.
 *
 * Alignment of a pod as a whole needs all its containers, and so does pinned memory; neither is
 * supported here (container_check_policy).
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
/*
 * The same without an own choice: the container gets these CPUs, as it has them already.
 * -ENOTSUP if it is entitled to another number of CPUs, or one of them is not free.
 */
int container_prepare_as(struct ledger *ledger, const struct pod_spec *pod,
			 const struct container_spec *container, const struct cpuset *cpus);
/* The same on the shared pool, whatever the container is entitled to. */
int container_prepare_shared(struct ledger *ledger, const struct pod_spec *pod,
			     const struct container_spec *container);

/* Release what a container holds; with the last one its pod ends. -ENOENT, -ENOMEM. */
int container_release(struct ledger *ledger, const char *uid, const char *container);

#endif
