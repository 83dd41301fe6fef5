/* SPDX-License-Identifier: Apache-2.0 */
/* Pods and containers as a container runtime names them. Include after cmocka.h. */
#ifndef REQUEST_SCENE_H
#define REQUEST_SCENE_H

#include "runtime/request.h"

#define UID	    "11111111-2222-3333-4444-555555555555"
#define GUARANTEED  "/kubepods/pod" UID
#define BURSTABLE   "/kubepods/burstable/pod" UID
#define BEST_EFFORT "/kubepods/besteffort/pod" UID
#define NO_KUBELET  "/test"
#define MIB	    (1024LL * 1024)

#define NOTHING                        \
	{                              \
		.cpus = "", .mems = "" \
	}

static inline struct nri_pod make_pod(const char *parent)
{
	return (struct nri_pod){
		.id = "p1",
		.name = "web",
		.uid = UID,
		.namespace = "default",
		.runtime_handler = "",
		.cgroup_parent = parent,
		.cgroups_path = "",
		.overhead = NOTHING,
		.resources = NOTHING,
	};
}

static inline struct nri_number set_to(int64_t value)
{
	return (struct nri_number){true, value};
}

/* 0 = not limited, as the kubelet writes it. */
static inline struct nri_container make_container(const char *name, int64_t shares, int64_t quota,
						  int64_t memory)
{
	struct nri_container container = {
		.id = "c1",
		.pod_id = "p1",
		.name = name,
		.cgroups_path = "",
		.resources = NOTHING,
	};

	container.resources.shares = set_to(shares);
	if (quota)
		container.resources.quota_us = set_to(quota);
	container.resources.period_us = set_to(100000);
	if (memory)
		container.resources.memory_bytes = set_to(memory);
	return container;
}

#endif
