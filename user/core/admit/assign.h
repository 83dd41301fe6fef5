/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one pod through alignment and the managers, in the scope that the policy defines,
 * inside an open ledger transaction. The outcome has a typed reason; refuse.c, trace.c
 * and suggest.c derive messages, traces and suggestions from it.
 *
 * With scope container, the containers are aligned and allocated one after the other.
 * With scope pod, one alignment applies to all containers, and a pod with pod-level
 * resources gets them as one bubble. Each alignment is a step, so a caller can examine it
 * before anything is allocated:
 *
 *	assign_new(&assignment, ledger, spec, &reuse);
 *	while (assign_is_open(&assignment)) {
 *		r = assign_align(&assignment);
 *		...
 *		assign_allocate(&assignment);
 *	}
 */
#ifndef CORE_ADMIT_ASSIGN_H
#define CORE_ADMIT_ASSIGN_H

#include "core/ledger/ledger.h"
#include "core/admit/offers.h"

enum assign_outcome {
	ASSIGN_OK,	  /* everything requested is granted once no step is left */
	ASSIGN_UNALIGNED, /* alignment admits no set of nodes: see `offers` */
	ASSIGN_NO_CPUS,	  /* the CPU manager refused: see cpu_result */
	ASSIGN_NO_MEMORY, /* the memory manager refused: see memory_result */
	/* The containers on the shared pool would have no CPU left. */
	ASSIGN_LAST_SHARED_CPU,
};

struct assignment {
	struct ledger *ledger;
	struct ledger_pod *pod;
	struct cpu_reuse *reuse; /* borrowed */
	struct memory_reuse memory_reuse;
	bool is_whole; /* the pod is aligned as a whole */
	/* One container, on nodes that suit it and what the pod holds already. */
	bool is_joining;
	/* The only container that gets a part of the bubble; UINT32_MAX = all of them. */
	uint32_t first;
	/* resize.c: the pod keeps what it has, and the request includes it. */
	bool is_resize;
	uint32_t resized; /* the only container whose size changes; UINT32_MAX = each may */
	uint32_t nr_steps, nr_done;

	/* The last step. */
	uint32_t container; /* index in the spec; UINT32_MAX = the pod as a whole */
	bool is_aligned;    /* false: the policy aligns nothing and there are no offers */
	struct offers offers;
	struct alignment alignment;

	enum assign_outcome outcome;
	enum cpu_result cpu_result;
	struct cpu_shortage cpu_shortage;
	enum memory_result memory_result;
	struct memory_shortage memory_shortage;
};

/*
 * Begin with a pod of the ledger, which may already hold resources. The caller
 * initialises `reuse` as empty, with uid "".
 */
void assign_begin(struct assignment *assignment, struct ledger *ledger, struct ledger_pod *pod,
		  struct cpu_reuse *reuse);
/* Begin with a specified pod; releases what it held before. Returns 0 or -ENOMEM. */
int assign_new(struct assignment *assignment, struct ledger *ledger, const struct pod_spec *spec,
	       struct cpu_reuse *reuse);

/* Is a step left? If not, the outcome is final. */
static inline bool assign_is_open(const struct assignment *assignment)
{
	return !assignment->outcome && assignment->nr_done < assignment->nr_steps;
}

/* First half of a step: choose nodes. Returns 0 or -ENOMEM. */
int assign_align(struct assignment *assignment);
/*
 * Second half: allocate on the chosen nodes; does nothing if there are none. After a
 * refusal the pod keeps what it was given before.
 */
void assign_allocate(struct assignment *assignment);

/*
 * Would the containers on the shared pool have no CPU left? The kubelet accepts an empty shared
 * pool, but an empty cpuset cannot be written to a cgroup.
 */
bool assign_leaves_no_shared_cpu(const struct assignment *assignment);

/* Run all remaining steps. Returns 0 or -ENOMEM. */
int assign_finish(struct assignment *assignment);

#endif
