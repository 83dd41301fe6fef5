/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime says of pods and containers, and what the agent answers, as plain structs.
 * Readers of these need neither protobuf-c nor the generated header.
 *
 * No string is NULL; what a runtime left out is "". All of it is borrowed for the duration of
 * a callback.
 */
#ifndef NRI_MESSAGES_H
#define NRI_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NRI's numbers; the bit of an event in a mask is 1 << (number - 1). */
enum nri_event {
	NRI_EVENT_RUN_POD = 1,
	NRI_EVENT_STOP_POD,
	NRI_EVENT_REMOVE_POD,
	NRI_EVENT_CREATE_CONTAINER,
	NRI_EVENT_POST_CREATE_CONTAINER,
	NRI_EVENT_START_CONTAINER,
	NRI_EVENT_POST_START_CONTAINER,
	NRI_EVENT_UPDATE_CONTAINER,
	NRI_EVENT_POST_UPDATE_CONTAINER,
	NRI_EVENT_STOP_CONTAINER,
	NRI_EVENT_REMOVE_CONTAINER,
	NRI_EVENT_UPDATE_POD, /* this and the next since 0.10 */
	NRI_EVENT_POST_UPDATE_POD,
};

#define NRI_EVENT_BIT(event) (1U << ((event)-1))

enum nri_container_state {
	NRI_CONTAINER_UNKNOWN,
	NRI_CONTAINER_CREATED,
	NRI_CONTAINER_PAUSED,
	NRI_CONTAINER_RUNNING,
	NRI_CONTAINER_STOPPED,
};

struct nri_pair {
	const char *key, *value;
};

/* In the order of the message, which for a map is random. */
struct nri_pairs {
	const struct nri_pair *pairs;
	size_t nr;
};

struct nri_number {
	bool is_set;
	int64_t value;
};

/* More page sizes than any processor has. */
#define NRI_MAX_HUGEPAGES 8

/* In a request to update a container, 0 means that nobody asked for a change. */
struct nri_resources {
	struct nri_number shares, quota_us, period_us, memory_bytes;
	const char *cpus, *mems;
	/* How many limits above 0 there are; only the first NRI_MAX_HUGEPAGES are kept. */
	size_t nr_hugepages;
	struct {
		const char *page_size; /* as the kernel names it: "2MB" */
		uint64_t bytes;
	} hugepages[NRI_MAX_HUGEPAGES];
};

struct nri_pod {
	const char *id, *name, *uid, *namespace;
	struct nri_pairs labels, annotations;
	const char *runtime_handler;
	const char *cgroup_parent;
	const char *cgroups_path; /* of the sandbox, which is not an nri_container */
	struct nri_resources overhead, resources;
	uint32_t pid; /* 0 = not known, as before NRI 0.7 */
};

struct nri_container {
	const char *id, *pod_id, *name;
	enum nri_container_state state;
	struct nri_pairs labels, annotations;
	const char *cgroups_path; /* a path, or systemd's slice:prefix:id */
	struct nri_resources resources;
	struct nri_number oom_score_adj;
	uint32_t pid;
};

/* In answer to Configure's question; empty and 0 where the runtime is too old to say. */
struct nri_runtime {
	const char *name, *version, *nri_version, *config;
	uint32_t registration_timeout_ms, request_timeout_ms;
	/* A mask with another bit makes the runtime close the connection. */
	uint32_t known_events;
};

/* A change of an existing container. "" leaves a set as it is, and none can be removed. */
struct nri_update {
	const char *container_id, *cpus, *mems;
	bool ignore_failure;
};

/* What a container is created with. "" leaves a set as it is. */
struct nri_adjustment {
	const char *cpus, *mems;
	struct nri_pairs annotations;
};

#endif
