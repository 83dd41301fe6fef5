// SPDX-License-Identifier: Apache-2.0
/*
 * A change that would admit a pod, as data: what it says, and carrying it out.
 * Which change does is explain.c's subject.
 */
#include <stdio.h>
#include <string.h>

#include "core/admit_private.h"
#include "core/quantity.h"

/* --- words ------------------------------------------------------------------------------------ */

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
		[REFUSAL_CPUS] = "ask for fewer CPUs, let a pod leave that holds some, or reserve "
				 "fewer with reservedSystemCPUs",
		[REFUSAL_SMT] = "ask for whole cores of those that are free, or turn the option "
				"full-pcpus-only off",
		[REFUSAL_TOPOLOGY] = "ask for no more than the NUMA nodes below have free, let a "
				     "pod leave there, or relax topologyManagerPolicy",
		[REFUSAL_MEMORY] = "ask for less memory, let a pod leave that holds some, or lower "
				   "reservedMemory",
		[REFUSAL_HUGEPAGES] = "ask for fewer hugepages, or let the kernel have more: "
				      "/sys/devices/system/node/node*/hugepages/*/nr_hugepages",
		[REFUSAL_EMPTY_SHARED_POOL] = "raise the pod's own spec.resources, or give its "
					      "exclusive containers less",
		[REFUSAL_POD_BUDGET] = "raise the CPUs of the pod's own spec.resources, or give "
				       "its containers fewer",
		[REFUSAL_LAST_SHARED_CPU] = "ask for fewer CPUs, or let the containers of the "
					    "shared pool leave first",
		[REFUSAL_STATE] = "make stateDirectory writable and give it free space; 'pinfold "
				  "state show' names the problem",
		[REFUSAL_SPEC] = "mend the document; it is read again when its file is written",
	};

	_Static_assert(ARRAY_SIZE(remedies) == REFUSAL_NR, "a remedy for each refusal");
	return remedies[refusal];
}

/* "memory", "hugepages-2Mi": also for a size no node has. */
static void name_memory(uint64_t page_bytes, char *buffer, size_t size)
{
	char pages[24];

	quantity_format_binary(page_bytes, pages, sizeof(pages));
	if (page_bytes)
		snprintf(buffer, size, "hugepages-%s", pages);
	else
		snprintf(buffer, size, "memory");
}

static void say_departure(const struct ledger *ledger, bool is_memory, const char *uid, char *text,
			  size_t size)
{
	const struct ledger_pod *pod = ledger_find(ledger, uid);
	const char *ending = pod->state == POD_ENDING ? ", which is ending" : "";
	uint32_t nr_held = cpuset_count(&pod->held);

	if (is_memory || !nr_held)
		snprintf(text, size, "fits after pod %.63s/%.253s leaves%s", pod->spec->namespace,
			 pod->spec->name, ending);
	else
		snprintf(text, size, "fits after pod %.63s/%.253s leaves, which holds %u CPUs%s",
			 pod->spec->namespace, pod->spec->name, nr_held,
			 *ending ? " and is ending" : "");
}

void change_say(const struct ledger *ledger, bool is_memory, const struct change *change,
		char *text, size_t size)
{
	char bytes[24], type[MEMORY_NAME_MAX], other[MEMORY_NAME_MAX];

	quantity_format_binary(change->bytes, bytes, sizeof(bytes));
	name_memory(change->page_bytes, type, sizeof(type));
	name_memory(change->to_page_bytes, other, sizeof(other));
	switch (change->kind) {
	case CHANGE_CONTAINER_CPUS:
		snprintf(text, size, "fits with %u CPUs for container %s", change->cpus,
			 change->container);
		break;
	case CHANGE_POD_CPUS:
		snprintf(text, size, "fits with a pod budget of %u CPUs", change->cpus);
		break;
	case CHANGE_CONTAINER_MEMORY:
		snprintf(text, size, "fits with %llu bytes (%s) of %s for container %s",
			 (unsigned long long)change->bytes, bytes, type, change->container);
		break;
	case CHANGE_POD_MEMORY:
		snprintf(text, size, "fits with a pod budget of %llu bytes (%s) of %s",
			 (unsigned long long)change->bytes, bytes, type);
		break;
	case CHANGE_PAGE_SIZE:
		snprintf(text, size, "fits with %s instead of %s", other, type);
		break;
	case CHANGE_POD_LEAVES:
		say_departure(ledger, is_memory, change->uid, text, size);
		break;
	case CHANGE_ALIGN_POLICY:
		snprintf(text, size, "fits under topologyManagerPolicy %s",
			 align_policy_name(change->align));
		break;
	case CHANGE_ALIGN_SCOPE:
		snprintf(text, size, "fits under topologyManagerScope %s",
			 align_scope_name(change->scope));
		break;
	case CHANGE_ANY_CORES:
		snprintf(text, size, "fits with the option full-pcpus-only turned off");
		break;
	case CHANGE_REPAIRED:
		snprintf(text, size, "fits under compatibility %s",
			 compatibility_name(COMPATIBILITY_REPAIRED));
		break;
	default:
		break;
	}
}

/* --- carrying out ----------------------------------------------------------------------------- */

/* How much of this memory is asked for; NULL = not specified. */
int64_t *change_amount(struct resources *resources, uint64_t page_bytes)
{
	if (!page_bytes)
		return resources->memory_bytes < 0 ? NULL : &resources->memory_bytes;
	for (uint32_t i = 0; i < resources->nr_hugepages; i++) {
		if (resources->hugepages[i].size_bytes == page_bytes)
			return &resources->hugepages[i].bytes;
	}
	return NULL;
}

static void set_amount(struct resources *resources, const struct change *change)
{
	int64_t *amount = change_amount(resources, change->page_bytes);

	if (amount)
		*amount = (int64_t)change->bytes;
}

/* Pages of another size; what is asked of that one already is added to. */
static void change_pages(struct resources *resources, const struct change *change)
{
	int64_t *from = change_amount(resources, change->page_bytes);
	int64_t *to = change_amount(resources, change->to_page_bytes);

	if (!from)
		return;
	if (to) {
		*to += *from;
		*from = 0;
		return;
	}
	for (uint32_t i = 0; i < resources->nr_hugepages; i++) {
		if (resources->hugepages[i].size_bytes == change->page_bytes)
			resources->hugepages[i].size_bytes = change->to_page_bytes;
	}
}

static void change_resources(const struct change *change, struct resources *resources)
{
	int64_t mcpu = (int64_t)change->cpus * 1000;

	switch (change->kind) {
	case CHANGE_CONTAINER_CPUS:
	case CHANGE_POD_CPUS:
		resources->cpu_mcpu = mcpu;
		break;
	case CHANGE_CONTAINER_MEMORY:
	case CHANGE_POD_MEMORY:
		set_amount(resources, change);
		break;
	case CHANGE_PAGE_SIZE:
		change_pages(resources, change);
		break;
	default:
		break;
	}
}

void change_apply(const struct change *change, struct pod_spec *spec)
{
	bool pod = change->kind == CHANGE_POD_CPUS || change->kind == CHANGE_POD_MEMORY;
	bool all = change->kind == CHANGE_PAGE_SIZE;

	if (pod || all) {
		change_resources(change, &spec->request);
		change_resources(change, &spec->limit);
	}
	for (uint32_t i = 0; i < spec->nr_containers && !pod; i++) {
		if (!all && strcmp(spec->containers[i].name, change->container))
			continue;
		change_resources(change, &spec->containers[i].request);
		change_resources(change, &spec->containers[i].limit);
	}
}

void change_policy(const struct change *change, struct policy *policy)
{
	if (change->kind == CHANGE_ALIGN_POLICY)
		policy->align = change->align;
	else if (change->kind == CHANGE_ALIGN_SCOPE)
		policy->scope = change->scope;
	else if (change->kind == CHANGE_ANY_CORES)
		policy->cpu_options.full_pcpus_only = false;
	else if (change->kind == CHANGE_REPAIRED)
		policy->compatibility = COMPATIBILITY_REPAIRED;
}
