// SPDX-License-Identifier: Apache-2.0
/* The texts of a decision: names of refusals and changes, and remedies. */
#include "core/admit/decision.h"

#include <string.h>

bool decision_equal(const struct decision *a, const struct decision *b)
{
	const bool has_numbers = a->refusal != REFUSAL_SPEC && a->refusal != REFUSAL_STATE;
	/* How many CPUs are free is not in the sentence about whole cores. */
	const bool says_available = a->cpu_result != CPU_SMT_NOT_MULTIPLE;

	return a->admitted == b->admitted && a->is_resize == b->is_resize &&
	       a->refusal == b->refusal && a->wanted == b->wanted &&
	       (a->available == b->available || !says_available) && a->is_memory == b->is_memory &&
	       a->page_bytes == b->page_bytes && a->is_both == b->is_both &&
	       a->cpu_result == b->cpu_result && a->memory_result == b->memory_result &&
	       !strcmp(a->container, b->container) &&
	       (has_numbers || !strcmp(a->message, b->message));
}

const char *refusal_name(enum refusal refusal)
{
	static const char *const names[] = {
		[REFUSAL_NONE] = "none",
		[REFUSAL_CPUS] = "cpus",
		[REFUSAL_SMT] = "smt",
		[REFUSAL_TOPOLOGY] = "topology",
		[REFUSAL_MEMORY] = "memory",
		[REFUSAL_HUGEPAGES] = "hugepages",
		[REFUSAL_EMPTY_SHARED_POOL] = "empty_shared_pool",
		[REFUSAL_POD_BUDGET] = "pod_budget",
		[REFUSAL_LAST_SHARED_CPU] = "last_shared_cpu",
		[REFUSAL_STATE] = "state",
		[REFUSAL_SPEC] = "spec",
	};

	_Static_assert(ARRAY_SIZE(names) == REFUSAL_NR, "a name for each refusal");
	return names[refusal];
}

const char *change_kind_name(enum change_kind kind)
{
	static const char *const names[] = {
		[CHANGE_NONE] = "none",
		[CHANGE_CONTAINER_CPUS] = "container_cpus",
		[CHANGE_POD_CPUS] = "pod_cpus",
		[CHANGE_CONTAINER_MEMORY] = "container_memory",
		[CHANGE_POD_MEMORY] = "pod_memory",
		[CHANGE_PAGE_SIZE] = "page_size",
		[CHANGE_POD_LEAVES] = "pod_leaves",
		[CHANGE_ALIGN_POLICY] = "topology_manager_policy",
		[CHANGE_ALIGN_SCOPE] = "topology_manager_scope",
		[CHANGE_ANY_CORES] = "without_full_pcpus_only",
		[CHANGE_REPAIRED] = "compatibility_repaired",
	};

	_Static_assert(ARRAY_SIZE(names) == CHANGE_KIND_NR, "a name for each kind");
	return names[kind];
}

const char *refusal_remedy(enum refusal refusal)
{
	static const char *const remedies[] = {
		[REFUSAL_NONE] = "",
		[REFUSAL_CPUS] = "ask for fewer CPUs, remove a pod that holds some, or reserve "
				 "fewer with reservedSystemCPUs",
		[REFUSAL_SMT] = "ask for no more whole cores than are free, or turn the option "
				"full-pcpus-only off",
		[REFUSAL_TOPOLOGY] =
			"ask for no more than the NUMA nodes below have free, remove a "
			"pod from them, or relax topologyManagerPolicy",
		[REFUSAL_MEMORY] = "ask for less memory, remove a pod that holds some, or lower "
				   "reservedMemory",
		[REFUSAL_HUGEPAGES] = "ask for fewer huge pages, or let the kernel allocate more: "
				      "/sys/devices/system/node/node*/hugepages/*/nr_hugepages",
		[REFUSAL_EMPTY_SHARED_POOL] =
			"raise the pod's spec.resources, or lower the requests of its "
			"exclusive containers",
		[REFUSAL_POD_BUDGET] = "raise the CPUs of the pod's spec.resources, or lower the "
				       "requests of its containers",
		[REFUSAL_LAST_SHARED_CPU] = "ask for fewer CPUs, or first remove the containers on "
					    "the shared pool",
		[REFUSAL_STATE] = "make stateDirectory writable and give it free space; 'pinfold "
				  "state show' names the problem",
		[REFUSAL_SPEC] =
			"correct the document; the agent reads it again when its file is written",
	};

	_Static_assert(ARRAY_SIZE(remedies) == REFUSAL_NR, "a remedy for each refusal");
	return remedies[refusal];
}
