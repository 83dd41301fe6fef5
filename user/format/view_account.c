// SPDX-License-Identifier: Apache-2.0
/*
 * How a decision came about, in sentences and numbers: what the core wrote down
 * (core/account.h) and what the CPUs themselves show.
 */
#include "format/view_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"
#include "lib/text.h"

/* --- changes ---------------------------------------------------------------------------------- */

static bool is_cpus(const struct change *change)
{
	return change->kind == CHANGE_CONTAINER_CPUS || change->kind == CHANGE_POD_CPUS;
}

static bool is_memory(const struct change *change)
{
	return change->kind == CHANGE_CONTAINER_MEMORY || change->kind == CHANGE_POD_MEMORY;
}

static void put_resource(struct build *build, struct json_object *object, const char *key,
			 bool given, uint64_t page_bytes)
{
	cleanup_text struct text name = {0};
	char pages[24];

	quantity_format_binary(page_bytes, pages, sizeof(pages));
	if (page_bytes)
		text_printf(&name, "hugepages-%s", pages);
	else
		text_append(&name, "memory");
	build->failed |= name.error;
	build_put_text(build, object, key, given ? name.data : NULL);
}

/* The field of the configuration and its new value; NULL = the change is no policy's. */
static const char *option_of(const struct change *change, const char **ret_value)
{
	switch (change->kind) {
	case CHANGE_ALIGN_POLICY:
		*ret_value = align_policy_name(change->align);
		return "topologyManagerPolicy";
	case CHANGE_ALIGN_SCOPE:
		*ret_value = align_scope_name(change->scope);
		return "topologyManagerScope";
	case CHANGE_ANY_CORES:
		*ret_value = "false";
		return "full-pcpus-only";
	case CHANGE_REPAIRED:
		*ret_value = compatibility_name(COMPATIBILITY_REPAIRED);
		return "compatibility";
	default:
		*ret_value = NULL;
		return NULL;
	}
}

static struct json_object *one_change(struct build *build, const struct change *change)
{
	struct json_object *object = build_object(build);
	const bool is_size = change->kind == CHANGE_PAGE_SIZE;
	const char *value, *option = option_of(change, &value);

	build_put_text(build, object, "suggestion", change->text);
	build_put_text(build, object, "kind", change_kind_name(change->kind));
	build_put_given(build, object, "container", change->container);
	build_put_given(build, object, "uid", change->uid);
	build_put_known(build, object, "cpus", is_cpus(change) ? (int64_t)change->cpus : -1);
	build_put_known(build, object, "bytes", is_memory(change) ? (int64_t)change->bytes : -1);
	put_resource(build, object, "resource", is_memory(change) || is_size,
		     is_size ? change->to_page_bytes : change->page_bytes);
	put_resource(build, object, "instead_of", is_size, change->page_bytes);
	build_put_text(build, object, "option", option);
	build_put_text(build, object, "value", value);
	return object;
}

void account_put_changes(struct build *build, struct json_object *object,
			 const struct decision *decision)
{
	struct json_object *others = build_array(build);
	const char *unit = NULL;

	if (decision && decision->wanted >= 0)
		unit = decision->is_memory ? "bytes" : "CPUs";
	build_put_text(build, object, "unit", unit);
	build_put(build, object, "change",
		  decision && decision->change.kind ? one_change(build, &decision->change) : NULL);
	for (uint32_t i = 0; decision && i < decision->nr_others; i++)
		build_push(build, others, one_change(build, &decision->others[i]));
	build_put(build, object, "others", others);
}

/* --- hints ------------------------------------------------------------------------------------ */

static void append_nodes(struct text *text, const struct topology *topology, node_mask_t nodes)
{
	char list[256]; /* 64 ids of three digits */
	struct cpuset ids;

	topology_mems_of_mask(topology, nodes, &ids);
	cpuset_format(&ids, list, sizeof(list));
	text_append(text, list);
}

/* "0 preferred; 1 preferred; 0-1; …" */
static void list_hints(struct text *text, const struct topology *topology,
		       const struct account_provider *provider)
{
	for (uint32_t i = 0; i < provider->nr_listed; i++) {
		text_append(text, i ? "; " : "");
		append_nodes(text, topology, provider->hints[i].nodes);
		text_append(text, provider->hints[i].preferred ? " preferred" : "");
	}
	if (provider->nr_hints > provider->nr_listed || !provider->is_exact)
		text_append(text, "; …");
}

static struct json_object *one_provider(struct build *build, const struct topology *topology,
					const struct account_provider *provider)
{
	struct json_object *object = build_object(build);
	const bool has_hints = provider->nr_hints != 0;
	cleanup_text struct text sets = {0};

	list_hints(&sets, topology, provider);
	build->failed |= sets.error;
	build_put_text(build, object, "resource", provider->resource);
	build_put_known(build, object, "wanted", provider->wanted);
	build_put_text(build, object, "answer", account_opinion_name(provider->opinion));
	build_put_known(build, object, "sets", has_hints ? (int64_t)provider->nr_hints : -1);
	build_put_known(build, object, "preferred",
			has_hints ? (int64_t)provider->nr_preferred : -1);
	build_put_bool(build, object, "complete", provider->is_exact);
	build_put_text(build, object, "nodes", has_hints ? sets.data : NULL);
	return object;
}

/* The test of the policy that the merged hint passed or failed. */
static const char *outcome_of(const struct account *account)
{
	const struct alignment *merged = &account->merged;

	switch (account->policy) {
	case ALIGN_BEST_EFFORT:
		return merged->hint.preferred ? "every provider prefers these nodes"
					      : "best-effort takes what is not preferred by all";
	case ALIGN_SINGLE_NUMA_NODE:
		return merged->admitted ? "every provider can do with one node, the same"
					: "single-numa-node admits only one node, the same for all";
	case ALIGN_RESTRICTED:
		return merged->admitted
			       ? "every provider prefers these nodes"
			       : "restricted admits only what every provider prefers: the same "
				 "nodes, and no more than it would need of an empty machine";
	default:
		return "nothing is aligned";
	}
}

static struct json_object *merge_of(struct build *build, const struct topology *topology,
				    const struct account *account)
{
	struct json_object *object = build_object(build);
	cleanup_text struct text nodes = {0};

	append_nodes(&nodes, topology, account->merged.hint.nodes);
	build->failed |= nodes.error;
	build_put_text(build, object, "nodes", account->merged.hint.any ? NULL : nodes.data);
	build_put_bool(build, object, "preferred", account->merged.hint.preferred);
	build_put_bool(build, object, "admitted", account->merged.admitted);
	build_put_text(build, object, "policy", align_policy_name(account->policy));
	build_put_text(build, object, "test", outcome_of(account));
	return object;
}

void account_put_hints(struct build *build, struct json_object *object, const struct ledger *ledger,
		       const struct account *account)
{
	const struct topology *topology = ledger_topology(ledger);
	struct json_object *hints = build_array(build);
	const bool is_aligned = account && account->is_aligned;

	for (uint32_t i = 0; is_aligned && i < account->nr_providers; i++)
		build_push(build, hints, one_provider(build, topology, &account->providers[i]));
	build_put(build, object, "hints", hints);
	build_put(build, object, "merge", is_aligned ? merge_of(build, topology, account) : NULL);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void push_step(struct build *build, struct json_object *array, struct text *step)
{
	struct json_object *object = build_object(build);

	build->failed |= step->error;
	build_put_text(build, object, "step", step->data);
	build_push(build, array, object);
	text_fini(step);
}

static void append_set(struct text *text, const struct cpuset *cpus)
{
	static const char none[] = "none";
	size_t len = cpuset_format(cpus, NULL, 0);
	cleanup_free char *list = malloc(len + 1);

	if (!list) {
		text->error = -ENOMEM;
		return;
	}
	cpuset_format(cpus, list, len + 1);
	text_append(text, len ? list : none);
}

/* What was there to choose from, and what was not, with the reason. */
static void say_candidates(struct text *text, const struct ledger *ledger,
			   const struct ledger_pod *pod)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpuset free = *ledger_shared_pool(ledger), others;
	struct cpuset apart = manager->topology->all;

	cpuset_subtract(&free, ledger_reserved(ledger));
	cpuset_union(&free, &pod->held);
	ledger_exclusive(ledger, &others);
	cpuset_subtract(&others, &pod->held);
	cpuset_subtract(&apart, &manager->usable);
	text_printf(text, "candidates %u: ", cpuset_count(&free));
	append_set(text, &free);
	text_append(text, "; not the reserved ");
	append_set(text, ledger_reserved(ledger));
	if (!cpuset_is_empty(&others)) {
		text_append(text, ", not other pods' ");
		append_set(text, &others);
	}
	if (!cpuset_is_empty(&apart)) {
		text_append(text, ", not those the kernel keeps apart ");
		append_set(text, &apart);
	}
}

/* Whole members of a level, taken out of `rest` and named; false = there is none. */
static void say_whole(struct text *text, const char *what, const struct topology_level *level,
		      struct cpuset *rest)
{
	struct cpuset whole = CPUSET_EMPTY;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < level->nr; i++) {
		if (level->nr_cpus[i] < 2 || !cpuset_is_subset(&level->cpus[i], rest))
			continue;
		cpuset_union(&whole, &level->cpus[i]);
		nr++;
	}
	if (!nr)
		return;
	text_printf(text, "%s%u whole %s%s (", text->len ? ", " : "", nr, what, nr == 1 ? "" : "s");
	append_set(text, &whole);
	text_append(text, ")");
	cpuset_subtract(rest, &whole);
}

/* What a set is made of, the largest things first. */
static void say_made_of(struct text *text, const struct topology *topology,
			const struct cpuset *cpus)
{
	cleanup_text struct text parts = {0};
	struct cpuset rest = *cpus;

	say_whole(&parts, "NUMA node", &topology->nodes, &rest);
	if (topology->uncores.nr > topology->nodes.nr)
		say_whole(&parts, "uncore cache", &topology->uncores, &rest);
	say_whole(&parts, "core", &topology->cores, &rest);
	if (!cpuset_is_empty(&rest)) {
		text_printf(&parts, "%s%u CPU%s (", parts.len ? ", " : "", cpuset_count(&rest),
			    cpuset_count(&rest) == 1 ? "" : "s");
		append_set(&parts, &rest);
		text_append(&parts, ")");
	}
	text->error |= parts.error;
	text_append(text, parts.data ? parts.data : "none");
}

/* CPUs of the nodes that alignment settled on; false = on none. */
static bool find_aligned(const struct ledger *ledger, const struct grant *grant,
			 const struct account *account, struct cpuset *ret_cpus)
{
	const struct topology *topology = ledger_topology(ledger);
	node_mask_t nodes = account && account->is_aligned ? account->merged.hint.nodes : 0;

	*ret_cpus = CPUSET_EMPTY;
	if (grant->affinity.known) {
		topology_cpus_of_nodes(topology, grant->affinity.nodes, ret_cpus);
		return true;
	}
	if (!nodes || account->merged.hint.any)
		return false;
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (nodes >> topology->memory_index[i] & 1)
			cpuset_union(ret_cpus, &topology->nodes.cpus[i]);
	}
	return true;
}

static void say_aligned(struct text *text, const struct topology *topology,
			const struct cpuset *aligned)
{
	uint32_t nr = 0;

	text_append(text, "aligned to NUMA node");
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (!cpuset_is_subset(&topology->nodes.cpus[i], aligned))
			continue;
		text_printf(text, "%s%u", nr++ ? "," : " ", topology->nodes.ids[i]);
	}
}

/* A set that was taken from the node: first where it is aligned, the rest from anywhere. */
static void push_takes(struct build *build, struct json_object *array, const struct ledger *ledger,
		       const struct cpuset *cpus, const struct cpuset *aligned)
{
	const struct topology *topology = ledger_topology(ledger);
	struct cpuset there = *cpus, elsewhere = *cpus;
	struct text step = {0};

	if (aligned) {
		cpuset_intersect(&there, aligned);
		cpuset_subtract(&elsewhere, aligned);
		say_aligned(&step, topology, aligned);
		text_append(&step, ": ");
	} else {
		elsewhere = CPUSET_EMPTY;
		text_append(&step, "packed, no NUMA node preferred: ");
	}
	say_made_of(&step, topology, &there);
	push_step(build, array, &step);
	if (cpuset_is_empty(&elsewhere))
		return;
	text_append(&step, "the remainder from other NUMA nodes, the aligned ones had no more: ");
	say_made_of(&step, topology, &elsewhere);
	push_step(build, array, &step);
}

static void push_slice(struct build *build, struct json_object *array, const struct ledger *ledger,
		       const struct ledger_pod *pod, uint32_t index)
{
	struct text step = {0};
	struct cpuset before = CPUSET_EMPTY;

	for (uint32_t i = 0; i < index; i++) {
		if (pod->grants[i].isolation == ISOLATION_CONTAINER &&
		    pod->grants[i].kind != CONTAINER_INIT)
			cpuset_union(&before, &pod->grants[i].cpus);
	}
	text_append(&step, "its slice of the bubble: ");
	say_made_of(&step, ledger_topology(ledger), &pod->grants[index].cpus);
	if (!cpuset_is_empty(&before)) {
		text_append(&step, "; not what containers before it have, ");
		append_set(&step, &before);
	}
	push_step(build, array, &step);
}

/* What an ordinary init container left, and this one has now. */
static void push_reuse(struct build *build, struct json_object *array, const struct ledger_pod *pod,
		       uint32_t index)
{
	struct cpuset left = CPUSET_EMPTY;
	struct text step = {0};

	for (uint32_t i = 0; i < index; i++) {
		if (pod->grants[i].kind == CONTAINER_INIT)
			cpuset_union(&left, &pod->grants[i].cpus);
	}
	cpuset_intersect(&left, &pod->grants[index].cpus);
	if (cpuset_is_empty(&left))
		return;
	text_append(&step, "of these, left by init containers: ");
	append_set(&step, &left);
	push_step(build, array, &step);
}

struct json_object *account_steps(struct build *build, const struct ledger *ledger,
				  const struct ledger_pod *pod, uint32_t index,
				  const struct account *account, bool is_same)
{
	const struct grant *grant = &pod->grants[index];
	struct json_object *array = build_array(build);
	struct cpuset aligned;
	struct text step = {0};
	bool is_aligned;

	if (grant->isolation != ISOLATION_CONTAINER)
		return array;
	is_aligned = find_aligned(ledger, grant, account, &aligned);
	if (!is_same) {
		text_append(&step, "decided when other pods were there: now it would get others");
		push_step(build, array, &step);
	}
	say_candidates(&step, ledger, pod);
	push_step(build, array, &step);
	push_takes(build, array, ledger, pod->has_bubble ? &pod->bubble : &grant->cpus,
		   is_aligned ? &aligned : NULL);
	if (pod->has_bubble)
		push_slice(build, array, ledger, pod, index);
	else
		push_reuse(build, array, pod, index);
	return array;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Sums of a reservation larger than its node wrap around in kubelet-1.36: null. */
static void put_bytes(struct build *build, struct json_object *object, const char *key,
		      uint64_t bytes)
{
	build_put_known(build, object, key, bytes > INT64_MAX ? -1 : (int64_t)bytes);
}

static struct json_object *one_memory(struct build *build, const struct ledger *ledger,
				      uint32_t index, uint32_t type)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_node *node = &ledger_memory_state(ledger)->nodes[index];
	uint64_t kernel_free = manager->kernel_free_bytes[index][type];
	struct json_object *object = build_object(build);
	cleanup_text struct text group = {0};
	char name[MEMORY_NAME_MAX];

	memory_type_name(manager, type, name, sizeof(name));
	append_nodes(&group, manager->topology, node->cells);
	build->failed |= group.error;
	build_put_int(build, object, "numa", manager->topology->memory_nodes[index].id);
	build_put_text(build, object, "type", name);
	put_bytes(build, object, "total_bytes", manager->total_bytes[index][type]);
	put_bytes(build, object, "reserved_bytes", manager->reserved_bytes[index][type]);
	put_bytes(build, object, "granted_bytes",
		  manager->allocatable_bytes[index][type] - node->free_bytes[type]);
	put_bytes(build, object, "free_bytes", node->free_bytes[type]);
	put_bytes(build, object, "kernel_free_bytes", kernel_free);
	build_put_text(build, object, "used_with", node->nr_assignments ? group.data : NULL);
	return object;
}

struct json_object *account_memory(struct build *build, const struct ledger *ledger)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	struct json_object *array = build_array(build);

	if (manager->policy->memory != MEMORY_POLICY_STATIC)
		return array;
	for (uint32_t i = 0; i < manager->topology->nr_memory_nodes; i++) {
		for (uint32_t type = 0; type < manager->nr_types; type++) {
			if (manager->types[i] >> type & 1)
				build_push(build, array, one_memory(build, ledger, i, type));
		}
	}
	return array;
}
