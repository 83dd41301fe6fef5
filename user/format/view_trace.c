// SPDX-License-Identifier: Apache-2.0
/*
 * How a decision came about, in sentences and numbers: what the core wrote down
 * (core/admit/trace.h) and what the CPUs themselves show.
 */
#include <stdarg.h>

#include "format/object_table.h"
#include "format/view_trace.h"

/* --- hints ------------------------------------------------------------------------------------ */

struct hint_row {
	const char *resource;
	int64_t wanted;
	const char *answer;
	uint32_t sets;
	int64_t preferred;
	bool complete;
	const char *nodes;
};

static const struct field_desc hint_fields[] = {
	TEXT(hint_row, resource, NULL, 0, "cpu, memory, or huge pages of one size."),
	COUNT(hint_row, wanted, NULL, OR_NULL, "CPUs or bytes requested; null = nothing."),
	TEXT(hint_row, answer, NULL, 0,
	     "hints, any nodes will do, no nodes will do, or keeps its nodes."),
	COUNT(hint_row, sets, NULL, OR_NULL,
	      "Number of sets of NUMA nodes that would suffice; null = no hints."),
	COUNT(hint_row, preferred, NULL, OR_NULL,
	      "Number of these that have no more nodes than it needs."),
	ANSWER(hint_row, complete, NULL, 0,
	       "All sets were considered; no = the machine has too many, and only the best were."),
	TEXT(hint_row, nodes, NULL, OR_NULL, "The sets, preferred ones first, eight at most."),
};
static DESCRIBE_PART(hint_row, hint_fields, .layout = OBJECT_TABLE);

struct merge_row {
	const char *nodes;
	bool preferred, admitted;
	const char *policy, *test;
};

static const struct field_desc merge_fields[] = {
	TEXT(merge_row, nodes, "hints merged to nodes", HEAD | OR_NULL,
	     "NUMA nodes that result from all hints together; null = any."),
	ANSWER(merge_row, preferred, "preferred by all", HEAD,
	       "Every provider prefers exactly these."),
	ANSWER(merge_row, admitted, NULL, HEAD, "The policy admits them."),
	TEXT(merge_row, policy, NULL, HIDDEN, "topologyManagerPolicy."),
	TEXT(merge_row, test, NULL, LINE | BARE, "The policy's criterion."),
};
static DESCRIBE_PART(merge_row, merge_fields);

static const struct field_desc hints_fields[] = {
	LIST(hints_row, hints, hint_row, NULL, 0,
	     "The nodes that each provider could use; empty = nothing is aligned."),
	OBJECT(hints_row, merge, merge_row, NULL, BARE | OR_NULL,
	       "The result; null = nothing is aligned."),
};
DESCRIBE_PART(hints_row, hints_fields);

static const char *nodes_text(struct arena *arena, const struct topology *topology,
			      node_mask_t nodes)
{
	struct cpuset ids;

	topology_mems_of_mask(topology, nodes, &ids);
	return cpus_text(arena, &ids);
}

/* "0 preferred; 1 preferred; 0-1; …" */
static const char *sets_text(struct arena *arena, const struct topology *topology,
			     const struct trace_provider *provider)
{
	struct text text cleanup_text = {0};

	for (uint32_t i = 0; i < provider->nr_listed; i++)
		text_printf(&text, "%s%s%s", i ? "; " : "",
			    nodes_text(arena, topology, provider->hints[i].nodes),
			    provider->hints[i].preferred ? " preferred" : "");
	if (provider->nr_hints > provider->nr_listed || !provider->is_exact)
		text_append(&text, "; …");
	return arena_text(arena, &text);
}

static struct hint_row hint_of(struct arena *arena, const struct topology *topology,
			       const struct trace_provider *provider)
{
	const bool has_hints = provider->nr_hints != 0;

	return (struct hint_row){
		.resource = provider->resource,
		.wanted = provider->wanted,
		.answer = trace_opinion_name(provider->opinion),
		.sets = provider->nr_hints,
		.preferred = has_hints ? (int64_t)provider->nr_preferred : -1,
		.complete = provider->is_exact,
		.nodes = has_hints ? sets_text(arena, topology, provider) : NULL,
	};
}

/* The test of the policy that the merged hint passed or failed. */
static const char *outcome_of(const struct trace *trace)
{
	const struct alignment *merged = &trace->merged;

	switch (trace->policy) {
	case ALIGN_BEST_EFFORT:
		return merged->hint.preferred ? "every provider prefers these nodes"
					      : "best-effort admits nodes that not every "
						"provider prefers";
	case ALIGN_SINGLE_NUMA_NODE:
		return merged->admitted ? "every provider can use the same single node"
					: "single-numa-node requires one node that every "
					  "provider can use";
	case ALIGN_RESTRICTED:
		return merged->admitted
			       ? "every provider prefers these nodes"
			       : "restricted requires nodes that every provider prefers: the "
				 "same nodes, and no more than an empty machine would need";
	default:
		return "nothing is aligned";
	}
}

struct hints_row hints_of(struct arena *arena, const struct ledger *ledger,
			  const struct trace *trace)
{
	const struct topology *topology = ledger_topology(ledger);
	struct merge_row merge;
	struct hints_row row = {0};

	if (!trace || !trace->is_aligned)
		return row;
	merge = (struct merge_row){
		.preferred = trace->merged.hint.preferred,
		.admitted = trace->merged.admitted,
		.policy = align_policy_name(trace->policy),
		.test = outcome_of(trace),
	};
	if (!trace->merged.hint.any)
		merge.nodes = nodes_text(arena, topology, trace->merged.hint.nodes);
	row.merge = arena_copy(arena, &merge, sizeof(merge));
	row.hints = arena_array(arena, trace->nr_providers, sizeof(*row.hints));
	for (uint32_t i = 0; row.hints && i < trace->nr_providers; i++)
		row.hints[row.nr_hints++] = hint_of(arena, topology, &trace->providers[i]);
	return row;
}

/* --- steps ------------------------------------------------------------------------------------ */

static const struct field_desc step_fields[] = {
	TEXT(step_row, step, NULL, HEAD | BARE, "One step, in order."),
};
DESCRIBE_PART(step_row, step_fields);

/* That others are there now, the candidates, the set with its remainder, the slice or the reuse. */
#define MAX_STEPS 5

struct steps {
	struct arena *arena;
	struct step_row *rows;
	size_t nr;
};

__attribute__((format(printf, 2, 3))) static void push_step(struct steps *steps, const char *format,
							    ...)
{
	struct text text cleanup_text = {0};
	va_list args;

	va_start(args, format);
	text_vprintf(&text, format, args);
	va_end(args);
	if (steps->rows)
		steps->rows[steps->nr++].step = arena_text(steps->arena, &text);
}

/* The words and the CPUs; nothing where there are none of these. */
static const char *with_cpus(struct arena *arena, const char *words, const struct cpuset *cpus)
{
	return cpuset_is_empty(cpus) ? ""
				     : arena_printf(arena, "%s%s", words, cpus_text(arena, cpus));
}

static const char *cpus_or_none(struct arena *arena, const struct cpuset *cpus)
{
	return cpuset_is_empty(cpus) ? "none" : cpus_text(arena, cpus);
}

/* What was there to choose from, and what was not, with the reason. */
static void push_candidates(struct steps *steps, const struct ledger *ledger,
			    const struct ledger_pod *pod)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpuset free = *ledger_shared_pool(ledger), others;
	struct cpuset apart = manager->topology->all;

	cpuset_subtract(&free, ledger_reserved(ledger));
	cpuset_union(&free, pod->held);
	ledger_exclusive(ledger, &others);
	cpuset_subtract(&others, pod->held);
	cpuset_subtract(&apart, &manager->usable);
	push_step(steps, "candidates %u: %s; excluding the reserved %s%s%s", cpuset_count(&free),
		  cpus_or_none(steps->arena, &free),
		  cpus_or_none(steps->arena, ledger_reserved(ledger)),
		  with_cpus(steps->arena, ", other pods' ", &others),
		  with_cpus(steps->arena, ", those isolated by the kernel ", &apart));
}

/* Whole members of a level, taken out of `rest` and named. */
static void say_whole(struct arena *arena, struct text *text, const char *what,
		      const struct topology_level *level, struct cpuset *rest)
{
	struct cpuset whole = CPUSET_EMPTY;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < level->nr; i++) {
		if (level->nr_cpus[i] < 2 || !cpuset_is_subset(&level->cpus[i], rest))
			continue;
		cpuset_union(&whole, &level->cpus[i]);
		nr++;
	}
	if (nr)
		text_printf(text, "%s%u whole %s%s (%s)", text->len ? ", " : "", nr, what,
			    nr == 1 ? "" : "s", cpus_text(arena, &whole));
	cpuset_subtract(rest, &whole);
}

/* What a set is made of, the largest things first. */
static const char *made_of(struct arena *arena, const struct topology *topology,
			   const struct cpuset *cpus)
{
	struct text parts cleanup_text = {0};
	struct cpuset rest = *cpus;
	unsigned int nr;

	say_whole(arena, &parts, "NUMA node", &topology->nodes, &rest);
	if (topology->uncores.nr > topology->nodes.nr)
		say_whole(arena, &parts, "uncore cache", &topology->uncores, &rest);
	say_whole(arena, &parts, "core", &topology->cores, &rest);
	nr = cpuset_count(&rest);
	if (nr)
		text_printf(&parts, "%s%u CPU%s (%s)", parts.len ? ", " : "", nr,
			    nr == 1 ? "" : "s", cpus_text(arena, &rest));
	return parts.len ? arena_text(arena, &parts) : "none";
}

/* CPUs of the nodes that alignment settled on; false = on none. */
static bool find_aligned(const struct ledger *ledger, const struct grant *grant,
			 const struct trace *trace, struct cpuset *ret_cpus)
{
	const struct topology *topology = ledger_topology(ledger);
	node_mask_t nodes = trace && trace->is_aligned ? trace->merged.hint.nodes : 0;

	*ret_cpus = CPUSET_EMPTY;
	if (grant->affinity.known) {
		topology_cpus_of_nodes(topology, grant->affinity.nodes, ret_cpus);
		return true;
	}
	if (!nodes || trace->merged.hint.any)
		return false;
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (nodes >> topology->memory_index[i] & 1)
			cpuset_union(ret_cpus, &topology->nodes.cpus[i]);
	}
	return true;
}

/* Ids of the nodes all of whose CPUs are aligned. */
static const char *aligned_nodes(struct arena *arena, const struct topology *topology,
				 const struct cpuset *aligned)
{
	struct text text cleanup_text = {0};

	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		if (cpuset_is_subset(&topology->nodes.cpus[i], aligned))
			text_printf(&text, "%s%u", text.len ? "," : " ", topology->nodes.ids[i]);
	}
	return arena_text(arena, &text);
}

/* A set that was taken from the node: first where it is aligned, the rest from anywhere. */
static void push_takes(struct steps *steps, const struct topology *topology,
		       const struct cpuset *cpus, const struct cpuset *aligned)
{
	struct cpuset there = *cpus, elsewhere = *cpus;

	cpuset_intersect(&there, aligned);
	cpuset_subtract(&elsewhere, aligned);
	push_step(steps, "aligned to NUMA node%s: %s",
		  aligned_nodes(steps->arena, topology, aligned),
		  made_of(steps->arena, topology, &there));
	if (!cpuset_is_empty(&elsewhere))
		push_step(steps,
			  "the rest from other NUMA nodes, because the aligned ones had no more: "
			  "%s",
			  made_of(steps->arena, topology, &elsewhere));
}

static void push_slice(struct steps *steps, const struct topology *topology,
		       const struct ledger_pod *pod, uint32_t index)
{
	struct cpuset before = CPUSET_EMPTY;

	for (uint32_t i = 0; i < index; i++) {
		if (pod->grants[i].isolation == ISOLATION_CONTAINER &&
		    pod->grants[i].kind != CONTAINER_INIT)
			cpuset_union(&before, pod->grants[i].cpus);
	}
	push_step(steps, "its slice of the bubble: %s%s",
		  made_of(steps->arena, topology, pod->grants[index].cpus),
		  with_cpus(steps->arena, "; excluding earlier containers' ", &before));
}

/* What an ordinary init container left, and this one has now. */
static void push_reuse(struct steps *steps, const struct ledger_pod *pod, uint32_t index)
{
	struct cpuset left = CPUSET_EMPTY;

	for (uint32_t i = 0; i < index; i++) {
		if (pod->grants[i].kind == CONTAINER_INIT)
			cpuset_union(&left, pod->grants[i].cpus);
	}
	cpuset_intersect(&left, pod->grants[index].cpus);
	if (!cpuset_is_empty(&left))
		push_step(steps, "of these, released by init containers: %s",
			  cpus_text(steps->arena, &left));
}

struct step_row *steps_of(struct arena *arena, const struct ledger *ledger,
			  const struct ledger_pod *pod, uint32_t index, const struct trace *trace,
			  bool is_same, size_t *ret_nr)
{
	struct steps steps = {arena, arena_array(arena, MAX_STEPS, sizeof(*steps.rows)), 0};
	const struct topology *topology = ledger_topology(ledger);
	const struct grant *grant = &pod->grants[index];
	const struct cpuset *taken = pod->has_bubble ? pod->bubble : grant->cpus;
	struct cpuset aligned;

	*ret_nr = 0;
	if (grant->isolation != ISOLATION_CONTAINER)
		return NULL;
	if (!is_same)
		push_step(&steps, "decided when other pods were present; it would get other CPUs "
				  "now");
	push_candidates(&steps, ledger, pod);
	if (find_aligned(ledger, grant, trace, &aligned))
		push_takes(&steps, topology, taken, &aligned);
	else
		push_step(&steps, "packed, no NUMA node preferred: %s",
			  made_of(arena, topology, taken));
	if (pod->has_bubble)
		push_slice(&steps, topology, pod, index);
	else
		push_reuse(&steps, pod, index);
	*ret_nr = steps.nr;
	return steps.rows;
}

/* --- memory ----------------------------------------------------------------------------------- */

struct pinned_row {
	uint32_t numa;
	const char *type;
	/* < 0 = not known: sums of a reservation larger than its node wrap around in kubelet-1.36 */
	int64_t total_bytes, reserved_bytes, granted_bytes, free_bytes, kernel_free_bytes;
	const char *used_with;
};

static const struct field_desc pinned_fields[] = {
	COUNT(pinned_row, numa, NULL, 0, "Id of the NUMA node."),
	TEXT(pinned_row, type, NULL, 0, "memory, or huge pages of one size."),
	BYTES(pinned_row, total_bytes, "total", OR_NULL, "What the node has."),
	BYTES(pinned_row, reserved_bytes, "reserved", OR_NULL, "Of these, reservedMemory."),
	BYTES(pinned_row, granted_bytes, "granted", OR_NULL, "Pinned for pods."),
	BYTES(pinned_row, free_bytes, "free", OR_NULL, "What could be granted."),
	BYTES(pinned_row, kernel_free_bytes, "kernel's free", OR_NULL,
	      "Huge pages that the kernel has free; null = not known."),
	TEXT(pinned_row, used_with, "used with", OR_NULL,
	     "The nodes that it is used with: only itself, or its group; null = it is not used."),
};
DESCRIBE_PART(pinned_row, pinned_fields, .layout = OBJECT_TABLE);

static struct pinned_row pinned_of(struct arena *arena, const struct ledger *ledger, uint32_t index,
				   uint32_t type)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_node *node = &ledger_memory_state(ledger)->nodes[index];

	return (struct pinned_row){
		.numa = manager->topology->memory_nodes[index].id,
		.type = memory_type(arena, manager, type),
		.total_bytes = (int64_t)manager->total_bytes[index][type],
		.reserved_bytes = (int64_t)manager->reserved_bytes[index][type],
		.granted_bytes =
			(int64_t)(manager->allocatable_bytes[index][type] - node->free_bytes[type]),
		.free_bytes = (int64_t)node->free_bytes[type],
		.kernel_free_bytes = (int64_t)manager->kernel_free_bytes[index][type],
		.used_with = node->nr_assignments
				     ? nodes_text(arena, manager->topology, node->cells)
				     : NULL,
	};
}

struct pinned_row *pinned_rows(struct arena *arena, const struct ledger *ledger, size_t *ret_nr)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const uint32_t nr_nodes = manager->topology->nr_memory_nodes;
	struct pinned_row *rows = NULL;

	*ret_nr = 0;
	if (manager->policy->memory == MEMORY_POLICY_STATIC)
		rows = arena_array(arena, (size_t)nr_nodes * manager->nr_types, sizeof(*rows));
	for (uint32_t i = 0; rows && i < nr_nodes; i++) {
		for (uint32_t type = 0; type < manager->nr_types; type++) {
			if (manager->types[i] >> type & 1)
				rows[(*ret_nr)++] = pinned_of(arena, ledger, i, type);
		}
	}
	return rows;
}
