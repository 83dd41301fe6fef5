/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory manager: the Static policy of kubelet v1.36.3, for ordinary memory and every
 * huge page size, as functions over one state and one pod. The ledger owns the state,
 * which is a plain value: a transaction keeps a copy and restores it on abort.
 *
 * The group rule: until its last container is removed, a NUMA node serves either only
 * containers that need no other node, or exactly one fixed group of nodes.
 *
 * Compatibility kubelet-1.36 reproduces the kubelet's defects. "Repaired" in a comment
 * below describes what the other modes do differently. Nodes are indexes into
 * topology->memory_nodes.
 */
#ifndef CORE_MEMORY_MEMORY_H
#define CORE_MEMORY_MEMORY_H

#include "core/align/align.h"
#include "core/pod/pod.h"
#include "core/policy/policy.h"

#define MEMORY_MAX_TYPES (1 + TOPOLOGY_MAX_HUGEPAGES)
#define MEMORY_NAME_MAX	 40 /* "hugepages-1048576Ki" and NUL */

/* Iterate over the types of a request or a share, in ascending order. */
#define memory_for_each_type(type, mask)        \
	for (uint32_t rest_ = (mask), type = 0; \
	     rest_ && (type = (uint32_t)__builtin_ctz(rest_), true); rest_ &= rest_ - 1)

/* Constant after memory_manager_init, except for kernel_free_bytes. */
struct memory_manager {
	const struct topology *topology;
	const struct policy *policy;
	uint32_t nr_types;
	uint64_t page_bytes[MEMORY_MAX_TYPES]; /* ascending; [0] is 0: ordinary memory */
	/* Bit t: the node has pages of type t. The capacity of all other types is 0. */
	uint32_t types[TOPOLOGY_MAX_NODES];
	uint64_t total_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES];
	uint64_t reserved_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES]; /* for the system */
	uint64_t allocatable_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES];
	/*
	 * Huge pages that are free in the kernel, as last set by
	 * memory_set_kernel_free(); initially MEMORY_NOT_KNOWN. Used in repaired mode
	 * only.
	 */
	uint64_t kernel_free_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES];
	bool wraps; /* kubelet-1.36: a reservation exceeds its node and sums wrap */
};

#define MEMORY_NOT_KNOWN UINT64_MAX

struct memory_node {
	uint32_t nr_assignments; /* one per container and type */
	node_mask_t cells;	 /* the group that uses the node, or the node itself */
	uint64_t free_bytes[MEMORY_MAX_TYPES];
};

/* The amount reserved for containers is always allocatable - free. */
struct memory_state {
	struct memory_node nodes[TOPOLOGY_MAX_NODES];
};

/* One type of a node's memory: what can be used of it is reserved, granted, or free. */
struct memory_figures {
	uint64_t reserved_bytes, granted_bytes, free_bytes;
};
/* Of this node index and type (of the manager's), in bytes; the three add up to what the node has. */
struct memory_figures memory_figures(const struct memory_manager *manager,
				     const struct memory_state *state, uint32_t node,
				     uint32_t type);

/* What a container or a pod holds. Every type is on the same nodes. */
struct memory_share {
	bool present;	/* false: nothing was assigned */
	uint32_t types; /* bit t: bytes[t] is valid, even if 0 (left to a later container) */
	node_mask_t nodes;
	uint64_t bytes[MEMORY_MAX_TYPES];
};

/* The shares of one pod; stored in ledger_pod.memory. */
struct memory_blocks {
	struct memory_share pod; /* pod level: the whole budget; only this is charged */
	uint32_t nr;		 /* containers, in the order of the spec */
	struct memory_share containers[];
};

/* Shares of a pod that holds nothing. NULL = no memory. */
struct memory_blocks *memory_blocks_new(uint32_t nr_containers);
/* NULL = no memory. */
struct memory_blocks *memory_blocks_copy(const struct memory_blocks *blocks);
void memory_blocks_free(struct memory_blocks *blocks);
/*
 * Insert a container that holds nothing, at most at the end; the others move up. Returns 0 or
 * -ENOMEM, which leaves *blocks as it is.
 */
int memory_blocks_insert(struct memory_blocks **blocks, uint32_t index);
/* Take out a container that holds nothing (memory_remove); the others move down. */
void memory_blocks_drop(struct memory_blocks *blocks, uint32_t index);
DEFINE_CLEANUP(struct memory_blocks, memory_blocks_freep, memory_blocks_free);
#define cleanup_memory_blocks cleanup(memory_blocks_freep)

/* A pod, as passed to the functions below. `blocks` has spec->nr_containers shares. */
struct memory_pod {
	const struct pod_spec *spec;
	enum qos_class qos;
	struct memory_blocks *blocks;
};

/*
 * kubelet-1.36 only: memory that the init containers of one pod leave to later ones on
 * exactly the same nodes. Processing a pod discards the sets of all others. Repaired mode
 * derives this from the blocks and ignores the struct. NULL = start empty.
 */
struct memory_reuse {
	char uid[POD_UID_MAX];
	uint32_t nr;
	struct memory_reuse_set {
		node_mask_t nodes;
		uint64_t bytes[MEMORY_MAX_TYPES];
	} sets[POD_MAX_CONTAINERS];
};

/*
 * Read the policy's reservations and the machine's capacity. Borrows both. Returns
 * -EINVAL with a message in `error` (size >= 256) for a reservation on a node that does
 * not exist and for more than TOPOLOGY_MAX_HUGEPAGES page sizes. Repaired: also if a
 * reservation or the huge pages exceed the node's memory, where the kubelet's sums would
 * wrap around.
 */
int memory_manager_init(struct memory_manager *manager, const struct topology *topology,
			const struct policy *policy, char *error, size_t error_size);

/* Repaired: admit huge pages only on nodes where free_pages of these facts suffices. */
void memory_set_kernel_free(struct memory_manager *manager, const struct topology_node *nodes,
			    uint32_t nr_nodes);

/* The state before any pod: what is allocatable is free, and no node is in a group. */
void memory_initial_state(const struct memory_manager *manager, struct memory_state *ret_state);
/* Does each node have the same free memory, number of assignments and group in both? */
bool memory_state_equal(const struct memory_manager *manager, const struct memory_state *a,
			const struct memory_state *b);

/* The type for this page size; nr_types if no node has it. */
uint32_t memory_find_type(const struct memory_manager *manager, uint64_t page_bytes);
/* Write "memory" or "hugepages-2Mi"; buffer >= MEMORY_NAME_MAX. */
void memory_type_name(const struct memory_manager *manager, uint32_t type, char *buffer,
		      size_t size);

/* --- requests --------------------------------------------------------------------------------- */

struct memory_request {
	uint32_t types;
	bool is_unknown; /* requests a page size that no node has, so it fits nowhere */
	uint64_t unknown_page_bytes, unknown_bytes; /* the last such size and its amount */
	uint64_t bytes[MEMORY_MAX_TYPES];
};

/*
 * Does the policy pin this pod's memory (policy Static, pod Guaranteed, feature gates
 * permitting)?
 */
bool memory_is_pinned(const struct memory_manager *manager, const struct pod_spec *spec,
		      enum qos_class qos);
/*
 * For pods with pod-level resources: are the container's cpu and memory requests equal to
 * its limits?
 */
bool memory_is_exclusive(const struct container_spec *container);
/* The request of container `index`. The shared containers of a pod-level pod request nothing. */
void memory_container_request(const struct memory_manager *manager, const struct pod_spec *spec,
			      uint32_t index, struct memory_request *ret_request);
/* The pod-level resources if given, otherwise the maximum that the pod needs at the same time. */
void memory_pod_request(const struct memory_manager *manager, const struct pod_spec *spec,
			struct memory_request *ret_request);

/* --- offers ----------------------------------------------------------------------------------- */

enum memory_opinion {
	MEMORY_NO_OPINION,
	MEMORY_IMPOSSIBLE, /* pod level: the budget leaves nothing for shared containers */
	MEMORY_KEEPS,	   /* it already has nodes: `kept` is the only hint */
	MEMORY_OFFERS
};

/*
 * The hints in closed form: a set of nodes is a hint if and only if memory_offer_has()
 * returns true.
 */
struct memory_offer {
	enum memory_opinion opinion;
	struct memory_request request;
	uint32_t min_nodes; /* smallest number of nodes with enough capacity, free or not */
	struct hint kept;
	node_mask_t used; /* nodes that have assignments */
	uint32_t index;	  /* container; UINT32_MAX = the pod */
	bool is_resident; /* its pages are already in use: ignore the kernel's free pages */
	struct memory_pod pod;
	const struct memory_manager *manager;
	const struct memory_state *state;
	const struct memory_reuse *reuse;
};

/* Make an offer. It borrows all arguments for its lifetime. */
void memory_offer_container(const struct memory_manager *manager, const struct memory_state *state,
			    const struct memory_pod *pod, uint32_t index,
			    const struct memory_reuse *reuse, struct memory_offer *ret_offer);
/* The same for a pod-level budget, which is one request. */
void memory_offer_pod(const struct memory_manager *manager, const struct memory_state *state,
		      const struct memory_pod *pod, const struct memory_reuse *reuse,
		      struct memory_offer *ret_offer);

/* Is this set of nodes a hint? */
bool memory_offer_has(const struct memory_offer *offer, node_mask_t nodes);
/* Bit mask of the types of which these nodes do not have enough. */
uint32_t memory_offer_lacking(const struct memory_offer *offer, node_mask_t nodes);
/* Would this set be a preferred hint, that is, does it have offer->min_nodes nodes? */
bool memory_offer_prefers(const struct memory_offer *offer, node_mask_t nodes);

/*
 * List the hints of an offer; none unless it is MEMORY_OFFERS. Up to MEMORY_EXACT_NODES
 * nodes the list contains all hints in the kubelet's order, by size and then
 * lexicographically. With more nodes it contains every single node, every group in use,
 * the narrowest set of several nodes and all unused nodes, and so also the best hint. The
 * caller owns the array. Returns 0 or -ENOMEM.
 */
int memory_offer_list(const struct memory_offer *offer, struct hint **ret_hints, uint32_t *ret_nr);

#define MEMORY_EXACT_NODES 16
#define MEMORY_BRIEF_MAX   (2 * TOPOLOGY_MAX_NODES + 2)

/*
 * Convert an offer for alignment: one list per requested type, as in the kubelet, or one
 * list with the single hint that an empty answer stands for. If nothing fits, that hint
 * is "no opinion" in the kubelet. Repaired: it is "impossible". `hints` is the result of
 * memory_offer_list(); `lists` has room for MEMORY_MAX_TYPES entries.
 */
uint32_t memory_offer_lists(const struct memory_offer *offer, const struct hint *hints,
			    uint32_t nr_hints, struct hint_list *lists);

/*
 * Find the best hint that includes `base` (0 = any): preferred hints first, then the
 * fewest nodes, then the smallest mask. Returns false if there is none. The search is
 * exact if at most 2^16 sets have to be examined or if one type is requested. Otherwise
 * nodes are chosen by how much of the request they have, which may miss a set that fits
 * only as a combination.
 */
bool memory_offer_best(const struct memory_offer *offer, node_mask_t base, struct hint *ret_hint);

/* --- allocation ------------------------------------------------------------------------------- */

enum memory_result {
	MEMORY_OK,
	MEMORY_NO_DEFAULT,	     /* no set of nodes has enough */
	MEMORY_NO_DEFAULT_PREFERRED, /* no set as small as alignment demands */
	MEMORY_NO_EXTENSION,	     /* no set that includes the aligned nodes has enough */
	MEMORY_NO_EXTENSION_PREFERRED,
	MEMORY_GROUP,		 /* the aligned nodes are in use alone or in another group */
	MEMORY_EMPTY_POOL,	 /* pod level: nothing left for the shared containers */
	MEMORY_EMPTY_INIT_POOL,	 /* the same for a shared init container */
	MEMORY_INIT_OVER_BUDGET, /* repaired: an init container exceeds the remainder */
	MEMORY_RESULT_NR
};

/* What a failed call requested, and what was available. */
struct memory_shortage {
	uint32_t type;		     /* the first type that is short */
	uint64_t unknown_page_bytes; /* instead of a type: a size that no node has; otherwise 0 */
	uint64_t wanted_bytes, available_bytes;
	uint64_t kernel_free_bytes; /* free huge pages in the kernel, or MEMORY_NOT_KNOWN */
	node_mask_t nodes;	    /* the nodes that were examined */
	uint32_t container;	    /* UINT32_MAX = the pod as a whole */
};

/*
 * Find out why an offer by itself cannot be aligned: no set has enough, or only sets of
 * more nodes than preferred (or than `max_nodes` if not 0). Returns MEMORY_OK if it can
 * be aligned. The shortage refers to the nodes that have the most.
 */
enum memory_result memory_probe(const struct memory_offer *offer, uint32_t max_nodes,
				struct memory_shortage *ret_shortage);

/* The word for vectors and JSON: "no-default", … */
const char *memory_result_name(enum memory_result result);
/* Write the kubelet's message; buffer >= 192. */
void memory_result_text(const struct memory_manager *manager, enum memory_result result,
			const struct memory_shortage *shortage, char *buffer, size_t size);

/*
 * Allocate memory for one container on the nodes that alignment chose (`hint`; with
 * policy none it is `any` and not preferred). A container that has memory keeps it.
 * Nothing changes on failure. Repaired: a hint that violates the group rule is extended
 * to a set that satisfies it, or refused, where the kubelet overwrites the group; a
 * container that requests nothing is skipped, where the kubelet refuses the pod.
 */
enum memory_result memory_allocate(const struct memory_manager *manager, struct memory_state *state,
				   struct memory_pod *pod, uint32_t index, const struct hint *hint,
				   struct memory_reuse *reuse,
				   struct memory_shortage *ret_shortage);

/*
 * For pod-level resources with pod scope: allocate the budget as a whole, then a share of
 * it per container. Repaired: a pod that already has its budget keeps it, where the
 * kubelet charges it twice.
 */
enum memory_result memory_allocate_pod(const struct memory_manager *manager,
				       struct memory_state *state, struct memory_pod *pod,
				       const struct hint *hint,
				       struct memory_shortage *ret_shortage);
/* Is the pod's budget large enough for its containers? Call this before offers and allocations. */
enum memory_result memory_check_budget(const struct memory_manager *manager,
				       const struct pod_spec *spec,
				       struct memory_shortage *ret_shortage);

/*
 * Release the memory of one container; the last container releases the pod's budget.
 * Repaired: within a group the highest nodes are released first, so the numbers of each
 * node depend only on what is held and not on the order of events.
 */
void memory_remove(const struct memory_manager *manager, struct memory_state *state,
		   struct memory_pod *pod, uint32_t index);
/* The same for all its containers and the budget. */
void memory_remove_pod(const struct memory_manager *manager, struct memory_state *state,
		       struct memory_pod *pod);
/* The same for a pod that will not be used again: its blocks are left as they are. */
void memory_uncharge(const struct memory_manager *manager, struct memory_state *state,
		     const struct memory_blocks *blocks);
/* Record that container `index` has started: earlier ordinary init containers have ended. */
void memory_started(const struct memory_manager *manager, struct memory_state *state,
		    struct memory_pod *pod, uint32_t index);

/* The nodes for cpuset.mems; 0 = unrestricted. */
node_mask_t memory_container_nodes(const struct memory_blocks *blocks, uint32_t index);

/* --- restart ---------------------------------------------------------------------------------- */

/*
 * The kubelet's start-up check: does charging these pods' blocks to an empty machine give
 * `state`? Free memory is compared per group. Returns 0 or -EUCLEAN. In kubelet-1.36 mode
 * the start must fail after -EUCLEAN.
 */
int memory_check_state(const struct memory_manager *manager, const struct memory_state *state,
		       const struct memory_blocks *const *pods, uint32_t nr_pods);

/*
 * Compute what a pod holds from its request and the nodes of each container
 * (containers[i].nodes; 0 = holds nothing), as if the containers were allocated in order.
 * Charges nothing. `whole`: the budget was allocated as a whole, whatever the current
 * policy would do.
 */
void memory_rebuild(const struct memory_manager *manager, struct memory_pod *pod, bool whole);

/* Is the pod's budget allocated as a whole (pod-level resources, pod scope, managers enabled)? */
bool memory_is_whole(const struct memory_manager *manager, const struct pod_spec *spec);

enum memory_restored {
	MEMORY_KEPT,	 /*  unchanged */
	MEMORY_EXTENDED, /* additional nodes; existing pages stay where they are */
	MEMORY_MOVED,	 /* other nodes */
	MEMORY_DROPPED,	 /* fits nowhere; the pod continues without pinning */
	MEMORY_RESTORED_NR
};
/* The word for the log: "kept", … */
const char *memory_restored_name(enum memory_restored restored);

/*
 * Repaired restart, called for one pod after the other: restore what the pod held on a
 * machine that may have changed. Shares keep their sizes. `lost_nodes`: some nodes that
 * it held no longer exist, so it cannot be restored unchanged. Returns the worst result
 * of the pod's shares.
 */
enum memory_restored memory_restore(const struct memory_manager *manager,
				    struct memory_state *state, struct memory_pod *pod,
				    bool lost_nodes);

/* --- reservedMemory --------------------------------------------------------------------------- */

struct memory_amount {
	uint64_t page_bytes; /* 0 = ordinary memory */
	uint64_t bytes;
};

/*
 * The kubelet's start-up checks of reservedMemory: its nodes exist, the sum per type
 * equals what Node Allocatable reserves, and some memory is reserved. Returns -EINVAL
 * with the kubelet's message in `error` (size >= 192).
 */
int memory_check_reservations(const struct memory_reservation *reservations, uint32_t nr,
			      const uint32_t *node_ids, uint32_t nr_nodes,
			      const struct memory_amount *allocatable, uint32_t nr_allocatable,
			      char *error, size_t error_size);

#endif
