/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory manager: the Static policy of kubelet v1.36.3, for ordinary memory
 * and every huge page size, as functions over one state and one pod. The ledger
 * owns the state, which is a value: a transaction keeps a copy and puts it back.
 *
 * The rule in one sentence: a NUMA node serves either containers that need no
 * other node, or exactly one fixed group of nodes, until its last container goes.
 *
 * With compatibility kubelet-1.36 the kubelet's defects are kept. Repaired: see
 * each function. Nodes are indexes over topology->memory_nodes.
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include "core/align.h"
#include "core/pod.h"
#include "core/policy.h"

#define MEMORY_MAX_TYPES (1 + TOPOLOGY_MAX_HUGEPAGES)
#define MEMORY_NAME_MAX	 40 /* "hugepages-1048576Ki" and NUL */

/* Constant once the reservations are checked, except kernel_free_bytes. */
struct memory_manager {
	const struct topology *topology;
	const struct policy *policy;
	uint32_t nr_types;
	uint64_t page_bytes[MEMORY_MAX_TYPES]; /* ascending; [0] is 0: ordinary memory */
	/* Bit t: the node has pages of type t; others count as capacity 0. */
	uint32_t types[TOPOLOGY_MAX_NODES];
	uint64_t total_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES];
	uint64_t reserved_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES]; /* for the system */
	uint64_t allocatable_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES];
	/*
	 * Huge pages the kernel has free, as last told by memory_set_kernel_free();
	 * MEMORY_NOT_KNOWN at first. Looked at in repaired mode only.
	 */
	uint64_t kernel_free_bytes[TOPOLOGY_MAX_NODES][MEMORY_MAX_TYPES];
	bool wraps; /* kubelet-1.36: a reservation larger than its node, sums wrap around */
};

#define MEMORY_NOT_KNOWN UINT64_MAX

struct memory_node {
	uint32_t nr_assignments; /* one per container and type */
	node_mask_t cells;	 /* the group the node is used in; itself when alone */
	uint64_t free_bytes[MEMORY_MAX_TYPES];
};

/* Reserved for containers is always allocatable - free. */
struct memory_state {
	struct memory_node nodes[TOPOLOGY_MAX_NODES];
};

/* What a container or a pod holds: the same nodes for every type. */
struct memory_share {
	bool present;	/* false: nothing was decided for it */
	uint32_t types; /* bit t: bytes[t] counts, be it 0 (left to a later container) */
	node_mask_t nodes;
	uint64_t bytes[MEMORY_MAX_TYPES];
};

/* Of one pod; lives in ledger_pod.memory. */
struct memory_blocks {
	struct memory_share pod; /* pod level: the whole budget, which is what is charged */
	uint32_t nr;		 /* containers, in the order of the spec */
	struct memory_share containers[];
};

struct memory_blocks *memory_blocks_new(uint32_t nr_containers); /* NULL = no memory */
struct memory_blocks *memory_blocks_copy(const struct memory_blocks *blocks);
void memory_blocks_free(struct memory_blocks *blocks);
DEFINE_CLEANUP(struct memory_blocks, memory_blocks_freep, memory_blocks_free);
#define cleanup_memory_blocks cleanup(memory_blocks_freep)

/* A pod as the functions below take it; `blocks` has spec->nr_containers shares. */
struct memory_pod {
	const struct pod_spec *spec;
	enum qos_class qos;
	struct memory_blocks *blocks;
};

/*
 * kubelet-1.36 only: memory that init containers of one pod leave to later ones
 * on the very same nodes; touching a pod forgets the sets of all others. Repaired
 * mode reads it off the blocks and does not look here. NULL = begin empty.
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
 * Read reservations off the policy and the machine's capacity. -EINVAL with a
 * sentence (size >= 256) for a reservation on a node that is not there, and for
 * more than TOPOLOGY_MAX_HUGEPAGES page sizes; repaired also for a reservation
 * larger than what the node has (the kubelet would wrap around), and huge pages
 * larger than the node. Borrows both.
 */
int memory_manager_init(struct memory_manager *manager, const struct topology *topology,
			const struct policy *policy, char *error, size_t error_size);

/* Repaired: admit huge pages only where the kernel has them; free_pages of these facts. */
void memory_set_kernel_free(struct memory_manager *manager, const struct topology_node *nodes,
			    uint32_t nr_nodes);

void memory_initial_state(const struct memory_manager *manager, struct memory_state *ret_state);
bool memory_state_equal(const struct memory_manager *manager, const struct memory_state *a,
			const struct memory_state *b);

/* "memory", "hugepages-2Mi"; buffer >= MEMORY_NAME_MAX. */
void memory_type_name(const struct memory_manager *manager, uint32_t type, char *buffer,
		      size_t size);

/* --- what is asked ---------------------------------------------------------------------------- */

struct memory_request {
	uint32_t types;
	bool is_unknown; /* asks for a page size that no node has: fits nowhere */
	uint64_t unknown_page_bytes, unknown_bytes; /* the last such size, and how much of it */
	uint64_t bytes[MEMORY_MAX_TYPES];
};

/* Does the policy pin this pod at all (Static, Guaranteed, no gate in the way)? */
bool memory_is_pinned(const struct memory_manager *manager, const struct pod_spec *spec,
		      enum qos_class qos);
/* Pod-level pod: a container with cpu and memory requests equal to its limits. */
bool memory_is_exclusive(const struct container_spec *container);
/* What container `index` asks for; nothing for the shared containers of a pod-level pod. */
void memory_container_request(const struct memory_manager *manager, const struct pod_spec *spec,
			      uint32_t index, struct memory_request *ret_request);
/* What the pod needs at one time, or its own resources where given. */
void memory_pod_request(const struct memory_manager *manager, const struct pod_spec *spec,
			struct memory_request *ret_request);

/* --- what can be offered ---------------------------------------------------------------------- */

enum memory_opinion {
	MEMORY_NO_OPINION,
	MEMORY_IMPOSSIBLE, /* pod level: the budget leaves nothing to the shared containers */
	MEMORY_KEEPS,	   /* it has its nodes already: `kept` is the only hint */
	MEMORY_OFFERS
};

/* The hints in closed form: a set of nodes is a hint iff memory_offer_has() says so. */
struct memory_offer {
	enum memory_opinion opinion;
	struct memory_request request;
	uint32_t min_nodes; /* fewest nodes whose capacity, free or not, could hold it */
	struct hint kept;
	node_mask_t used; /* nodes with assignments */
	uint32_t index;	  /* container; UINT32_MAX = the pod */
	bool is_resident; /* its pages are in use already: what the kernel has free is no matter */
	struct memory_pod pod;
	const struct memory_manager *manager;
	const struct memory_state *state;
	const struct memory_reuse *reuse;
};

/* Borrow everything for the life of the offer. */
void memory_offer_container(const struct memory_manager *manager, const struct memory_state *state,
			    const struct memory_pod *pod, uint32_t index,
			    const struct memory_reuse *reuse, struct memory_offer *ret_offer);
void memory_offer_pod(const struct memory_manager *manager, const struct memory_state *state,
		      const struct memory_pod *pod, const struct memory_reuse *reuse,
		      struct memory_offer *ret_offer);

bool memory_offer_has(const struct memory_offer *offer, node_mask_t nodes);
/* The types, as bits, of which there is not enough on these nodes. */
uint32_t memory_offer_lacking(const struct memory_offer *offer, node_mask_t nodes);
bool memory_offer_prefers(const struct memory_offer *offer, node_mask_t nodes);

/*
 * The hints of an offer: up to MEMORY_EXACT_NODES nodes all, in the kubelet's
 * order (by size, then lexicographic); beyond, every single node, every group in
 * use, the best set of the fewest nodes, the narrowest set, all unused nodes. None
 * unless MEMORY_OFFERS. -ENOMEM. The array is the caller's.
 */
int memory_offer_list(const struct memory_offer *offer, struct hint **ret_hints, uint32_t *ret_nr);

#define MEMORY_EXACT_NODES 16
#define MEMORY_BRIEF_MAX   (2 * TOPOLOGY_MAX_NODES + 3)

/*
 * An offer as alignment takes it: one list per type asked for, as the kubelet
 * has it, or one list of one hint that says what an empty answer means. When
 * nothing fits the kubelet has "no opinion"; repaired says "impossible".
 * `hints` is what memory_offer_list() gave; `lists` has room for MEMORY_MAX_TYPES.
 */
uint32_t memory_offer_lists(const struct memory_offer *offer, const struct hint *hints,
			    uint32_t nr_hints, struct hint_list *lists);

/*
 * The best hint that includes `base` (0 = any): preferred, then fewest nodes, then
 * the smallest mask. False when there is none. Exact where at most 2^16 sets are to
 * be looked at, or where one type is asked for; else nodes are taken by how much
 * of the request they have, which may miss a set that fits only by combination.
 */
bool memory_offer_best(const struct memory_offer *offer, node_mask_t base, struct hint *ret_hint);

/* --- allocation ------------------------------------------------------------------------------- */

enum memory_result {
	MEMORY_OK,
	MEMORY_NO_DEFAULT,	     /* no set of nodes has it */
	MEMORY_NO_DEFAULT_PREFERRED, /* none of as few nodes as alignment demands */
	MEMORY_NO_EXTENSION,	     /* no set that includes the aligned nodes has it */
	MEMORY_NO_EXTENSION_PREFERRED,
	MEMORY_GROUP,		 /* the aligned nodes are in use, alone or in another group */
	MEMORY_EMPTY_POOL,	 /* pod level: nothing left for the shared containers */
	MEMORY_EMPTY_INIT_POOL,	 /* the same for a shared init container */
	MEMORY_INIT_OVER_BUDGET, /* repaired: an init container larger than what is left */
	MEMORY_RESULT_NR
};

/* What a failed call asked for and had. */
struct memory_shortage {
	uint32_t type;		     /* the first that is short */
	uint64_t unknown_page_bytes; /* instead of a type: a page size no node has; else 0 */
	uint64_t wanted_bytes, available_bytes;
	uint64_t kernel_free_bytes; /* huge pages, by the kernel; MEMORY_NOT_KNOWN */
	node_mask_t nodes;	    /* what was looked at */
	uint32_t container;	    /* UINT32_MAX = the pod as a whole */
};

/*
 * Why an offer alone does not satisfy alignment: no set has it, or only sets of
 * more nodes than preferred (or than `max_nodes`, when not 0). MEMORY_OK when one
 * does. The shortage is told of the nodes that have most.
 */
enum memory_result memory_probe(const struct memory_offer *offer, uint32_t max_nodes,
				struct memory_shortage *ret_shortage);

const char *memory_result_name(enum memory_result result); /* "no-default", … */
/* The kubelet's own sentence; buffer >= 192. */
void memory_result_text(const struct memory_manager *manager, enum memory_result result,
			const struct memory_shortage *shortage, char *buffer, size_t size);

/*
 * Allocate for one container under what alignment settled on (`hint`; with
 * policy none `any` and not preferred). Idempotent by presence. On failure
 * nothing has changed. Repaired: a hint that breaks the rule of groups is
 * extended to a set that keeps it, or refused, where the kubelet overwrites the
 * group; a container that asks for nothing is passed over, where the kubelet
 * refuses the pod.
 */
enum memory_result memory_allocate(const struct memory_manager *manager, struct memory_state *state,
				   struct memory_pod *pod, uint32_t index, const struct hint *hint,
				   struct memory_reuse *reuse,
				   struct memory_shortage *ret_shortage);

/*
 * Pod level, pod scope: the budget as one, then a share of it per container.
 * Repaired: a pod that has it already keeps it, where the kubelet charges twice.
 */
enum memory_result memory_allocate_pod(const struct memory_manager *manager,
				       struct memory_state *state, struct memory_pod *pod,
				       const struct hint *hint,
				       struct memory_shortage *ret_shortage);
/* Does the pod's budget hold its containers? Asked by both of the above's offers. */
enum memory_result memory_check_budget(const struct memory_manager *manager,
				       const struct pod_spec *spec,
				       struct memory_shortage *ret_shortage);

/*
 * Give back what one container holds; a pod's budget goes with its last one.
 * Repaired: within a group the highest nodes are given back first, so the
 * figures of each node depend on what is held and not on the order of events.
 */
void memory_remove(const struct memory_manager *manager, struct memory_state *state,
		   struct memory_pod *pod, uint32_t index);
void memory_remove_pod(const struct memory_manager *manager, struct memory_state *state,
		       struct memory_pod *pod);
/* The same for a pod that will not be looked at again: its blocks stay as they are. */
void memory_charge_back(const struct memory_manager *manager, struct memory_state *state,
			const struct memory_blocks *blocks);
/* Container `index` runs: earlier ordinary init containers are over. */
void memory_started(const struct memory_manager *manager, struct memory_state *state,
		    struct memory_pod *pod, uint32_t index);

/* Nodes for cpuset.mems; 0 = unrestricted. */
node_mask_t memory_container_nodes(const struct memory_blocks *blocks, uint32_t index);

/* --- restart ---------------------------------------------------------------------------------- */

/*
 * The kubelet's start check: is `state` what these pods' blocks make of an empty
 * machine? Free memory is compared per group. 0 or -EUCLEAN; in kubelet-1.36 mode
 * nothing else may follow.
 */
int memory_check_state(const struct memory_manager *manager, const struct memory_state *state,
		       const struct memory_blocks *const *pods, uint32_t nr_pods);

/*
 * Work out what a pod holds from its request and the nodes of each container
 * (containers[i].nodes; 0 = holds nothing), as if given in order. Nothing is charged.
 * `whole`: its budget was placed as one, whatever the policy of today would do.
 */
void memory_rebuild(const struct memory_manager *manager, struct memory_pod *pod, bool whole);

/* Is the pod's budget placed as one: resources of its own, pod scope, managers on? */
bool memory_is_whole(const struct memory_manager *manager, const struct pod_spec *spec);

enum memory_restored {
	MEMORY_KEPT,	 /* as it was */
	MEMORY_EXTENDED, /* its nodes and more: what it has stays where it is */
	MEMORY_MOVED,	 /* other nodes */
	MEMORY_DROPPED,	 /* fits nowhere; runs on, unpinned */
	MEMORY_RESTORED_NR
};
const char *memory_restored_name(enum memory_restored restored);

/*
 * Repaired restart, one pod after the other: put back what a pod held on a
 * machine that may have changed. Its shares keep their sizes. `missing` are nodes
 * it held that are not there any more (0 or not is what counts): then it
 * cannot be kept. Says what became of the pod: the worst of its shares.
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
 * The kubelet's start checks of reservedMemory: nodes exist, per type the sum
 * equals what Node Allocatable reserves, memory is reserved at all. -EINVAL with
 * the kubelet's sentence (size >= 192).
 */
int memory_check_reservations(const struct memory_reservation *reservations, uint32_t nr,
			      const uint32_t *node_ids, uint32_t nr_nodes,
			      const struct memory_amount *allocatable, uint32_t nr_allocatable,
			      char *error, size_t error_size);

#endif
