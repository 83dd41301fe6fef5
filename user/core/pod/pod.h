/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A normalised pod specification: names, containers, requests, QoS class.
 * user/format/manifest (Kubernetes Pod documents) or an adapter fills it; the core only
 * reads it.
 */
#ifndef CORE_POD_POD_H
#define CORE_POD_POD_H

#include "core/topology/topology.h"

#define POD_NAME_MAX	   254 /* DNS subdomain 253 + NUL */
#define POD_UID_MAX	   64
#define POD_CONTAINER_NAME 64 /* DNS label 63 + NUL */
#define POD_MAX_CONTAINERS 128
#define POD_MAX_HUGEPAGES  TOPOLOGY_MAX_HUGEPAGES

enum qos_class { QOS_GUARANTEED, QOS_BURSTABLE, QOS_BEST_EFFORT, QOS_NR };

enum container_kind {
	CONTAINER_INIT,	   /* runs to completion before the next one starts */
	CONTAINER_SIDECAR, /* init container with restartPolicy Always */
	CONTAINER_APP,
	CONTAINER_KIND_NR
};

/* -1 = not specified; otherwise >= 0. */
#define RESOURCE_UNSET (-1)

/* The kubelet's MaxShares: 256 CPUs and more. */
#define CPU_SHARES_MAX 262144

struct resources {
	int64_t cpu_mcpu;
	int64_t memory_bytes;
	uint32_t nr_hugepages; /* only sizes that are specified */
	struct {
		uint64_t size_bytes;
		int64_t bytes;
	} hugepages[POD_MAX_HUGEPAGES];
};

#define RESOURCES_UNSET ((struct resources){.cpu_mcpu = -1, .memory_bytes = -1})

struct container_spec {
	char name[POD_CONTAINER_NAME];
	enum container_kind kind;
	struct resources request, limit;
};

struct pod_spec {
	char uid[POD_UID_MAX];
	char namespace[POD_NAME_MAX];
	char name[POD_NAME_MAX];
	/*
	 * A container runtime makes the cgroups of the pod and starts its containers, which
	 * become known one by one. Its class is therefore stated instead of derived.
	 */
	bool is_of_runtime;
	enum qos_class stated_qos; /* if is_of_runtime */
	bool has_pod_resources;	   /* pod.spec.resources given */
	struct resources request, limit, overhead;
	/* Init containers and sidecars first, in their order, then app containers in theirs. */
	uint32_t nr_containers;
	struct container_spec *containers;
};

struct pod_spec *pod_spec_copy(const struct pod_spec *spec); /* NULL = no memory */
/* Frees the spec with its containers; NULL is accepted. */
void pod_spec_free(struct pod_spec *spec);
DEFINE_CLEANUP(struct pod_spec, pod_spec_freep, pod_spec_free);
#define cleanup_pod_spec cleanup(pod_spec_freep)
bool pod_spec_equal(const struct pod_spec *a, const struct pod_spec *b);
/*
 * Does it state any CPU or memory? In a Guaranteed pod only ephemeral containers do not: the API allows
 * them none, and the kubelet gives a container without limits those of its pod.
 */
bool container_has_amounts(const struct container_spec *container);
/* The same memory and huge pages, in whatever order the page sizes are listed? */
bool resources_same_memory(const struct resources *a, const struct resources *b);

/*
 * Apply the API's defaults, once, after the spec is filled. A missing request is set to
 * the limit. A pod-level request that is missing although there is a pod-level limit is
 * set to the sum of the containers' requests, or to the limit if no container requests
 * the resource.
 */
void pod_spec_default(struct pod_spec *spec);

/*
 * The QoS class: the stated one of a runtime's pod; otherwise derived from the pod-level
 * resources if given, and from all containers if not. A pod is Guaranteed if each has cpu and
 * memory with request == limit > 0.
 * Source: kubelet v1.36, qos.ComputePodQOS.
 */
enum qos_class pod_qos(const struct pod_spec *spec);
const char *qos_class_name(enum qos_class qos);		   /* "Guaranteed", … */
const char *container_kind_name(enum container_kind kind); /* "init", "sidecar", "app" */

/*
 * The inputs of the pod's cpu.max, cpu.weight and memory.max, summed as in the kubelet
 * and including overhead: pod-level values if given, otherwise the maximum that runs at
 * the same time. There is a limit if the pod level or every container has one.
 */
struct pod_totals {
	int64_t cpu_request_mcpu, cpu_limit_mcpu;	  /* limit -1 = none */
	int64_t memory_request_bytes, memory_limit_bytes; /* limit -1 = none */
};
struct pod_totals pod_totals(const struct pod_spec *spec);

/*
 * The CPU request, in thousandths of a CPU, whose shares these are: the exact inverse of the
 * kubelet's MilliCPUToShares between 3 and 262143 shares. RESOURCE_UNSET for 2 shares or fewer,
 * which stand for every request up to 2m. 262144 shares stand for 256 CPUs and more.
 */
int64_t pod_mcpu_of_shares(int64_t shares);

#endif
