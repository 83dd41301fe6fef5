/* SPDX-License-Identifier: Apache-2.0 */
/* A case of kind memory_seq between JSON and the core: machine, pods, answers. */
#ifndef REPLAY_MEMORY_CASE_H
#define REPLAY_MEMORY_CASE_H

#include "core/memory/memory.h"
#include "replay.h"

#define MEMORY_CASE_PODS  32
#define MEMORY_CASE_LISTS 8

struct memory_case {
	struct topology *topology;
	struct policy policy;
	struct memory_manager manager;
	struct memory_state state;
	uint32_t nr_pods;
	struct {
		const char *name;
		struct pod_spec *spec;
		struct memory_pod pod;
	} pods[MEMORY_CASE_PODS]; /* ascending by name */
};

/* NULL, or why the machine, its reservation or the pods are impossible. */
const char *memory_case_new(struct json_object *line, bool repaired, char *error, size_t error_size,
			    struct memory_case **ret_memory);
void memory_case_free(struct memory_case *memory);
DEFINE_CLEANUP(struct memory_case, memory_case_freep, memory_case_free);
#define cleanup_memory_case cleanup(memory_case_freep)

struct memory_pod *memory_case_pod(struct memory_case *memory, const char *name);
uint32_t memory_case_container(const struct memory_pod *pod, const char *name);

/*
 * Put every pod back on the machine of the step ("nodes", "reserved"; absent =
 * the same), and put into the answer what became of each, its blocks and the state.
 */
const char *memory_case_restart(struct memory_case *memory, struct json_object *step,
				struct json_object *answer);

/* What another provider says, as lists; `owned` are to be freed. How many; UINT32_MAX = too many. */
uint32_t memory_case_lists(const struct topology *topology, struct json_object *provider,
			   struct hint_list *lists, struct hint **owned);
struct hint memory_case_hint(const struct topology *topology, struct json_object *hint);

struct json_object *memory_case_merged(const struct topology *topology, const char *name,
				       const struct hint *hint, bool admitted);
struct json_object *memory_case_hints(const struct memory_offer *offer, const struct hint *hints,
				      uint32_t nr);
struct json_object *memory_case_blocks(const struct memory_case *memory,
				       const struct memory_pod *pod);
struct json_object *memory_case_state(const struct memory_case *memory);

/* {node id: {type: bytes}} into the policy; false when they are too many or of no type. */
bool memory_case_reserved(struct json_object *reserved, struct policy *policy);

/* A resource by name to its page size, 0 for memory; false for others. */
bool memory_case_type(const char *name, uint64_t *ret_page_bytes);

#endif
