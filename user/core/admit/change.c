// SPDX-License-Identifier: Apache-2.0
/* Describes and applies a change that would admit a pod. suggest.c finds the changes. */
#include <stdio.h>
#include <string.h>
#include "core/admit/change.h"
#include "core/quantity.h"

/* --- text ------------------------------------------------------------------------------------- */

/* Write "memory" or "hugepages-2Mi"; also for a page size that no node has. */
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
	const char *ending = pod->state == POD_ENDING ? " (it is ending)" : "";
	uint32_t nr_held = cpuset_count(pod->held);

	if (is_memory || !nr_held)
		snprintf(text, size, "fits after pod %.63s/%.253s leaves%s", pod->spec->namespace,
			 pod->spec->name, ending);
	else
		snprintf(text, size, "fits after pod %.63s/%.253s leaves (it holds %u CPU%s%s)",
			 pod->spec->namespace, pod->spec->name, nr_held, nr_held == 1 ? "" : "s",
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
		snprintf(text, size, "fits with %u CPU%s for container %s", change->cpus,
			 change->cpus == 1 ? "" : "s", change->container);
		break;
	case CHANGE_POD_CPUS:
		snprintf(text, size, "fits with a pod budget of %u CPU%s", change->cpus,
			 change->cpus == 1 ? "" : "s");
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

/* --- application ------------------------------------------------------------------------------ */

/* The requested amount of this memory type; NULL = not specified. */
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

/* Request pages of another size, in addition to what is already requested of that size. */
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
