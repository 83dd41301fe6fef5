// SPDX-License-Identifier: Apache-2.0
/*
 * What a refusal says: which rule, who asked for how much, what there is. It
 * finds nothing out that the deciding code did not; changes that would help are
 * explain.c's subject.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/admit_private.h"
#include "core/memory_private.h"
#include "core/quantity.h"

/* Text that grows up to its end; what does not fit is left out. */
struct text_buffer {
	char *data;
	size_t size, used;
};

static void append(struct text_buffer *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct text_buffer *text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->data + text->used, text->size - text->used, format, args);
	va_end(args);
	if (len > 0)
		text->used += (size_t)len < text->size - text->used ? (size_t)len
								    : text->size - text->used - 1;
}

/* " 0,2-3" and `what` after it. */
static void append_nodes(struct text_buffer *text, const struct topology *topology,
			 node_mask_t nodes, const char *what)
{
	char list[256]; /* 64 ids of up to ten digits are cut, not overrun */
	struct cpuset ids;

	topology_mems_of_mask(topology, nodes, &ids);
	cpuset_format(&ids, list, sizeof(list));
	append(text, " %s%s", list, what);
}

/* "container db" or "the pod": who asked. */
static void name_asker(const struct ledger_pod *pod, uint32_t container, char *buffer, size_t size)
{
	if (container < pod->nr_grants)
		snprintf(buffer, size, "container %s", pod->grants[container].container);
	else
		snprintf(buffer, size, "the pod");
}

static void refuse_count(const struct ledger *ledger, const struct ledger_pod *pod,
			 const char *asker, const char *container, struct decision *decision)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpuset held;

	ledger_exclusive(ledger, &held);
	cpuset_subtract(&held, &pod->held);
	refuse_pod(
		decision, REFUSAL_CPUS, container,
		"%s asks for %lld exclusive CPUs, %lld are free: of %u CPUs %u are reserved and %u "
		"held by other pods",
		asker, (long long)decision->wanted, (long long)decision->available,
		cpuset_count(&manager->usable), cpuset_count(&manager->reserved),
		cpuset_count(&held));
}

void refuse_result(const struct ledger *ledger, const struct ledger_pod *pod,
		   enum cpu_result result, const struct cpu_shortage *shortage,
		   struct decision *decision)
{
	const struct topology *topology = ledger_topology(ledger);
	bool is_container = shortage->container < pod->nr_grants;
	const char *container = is_container ? pod->grants[shortage->container].container : "";
	const long long wanted = cpu_asked(pod->spec, shortage->container, shortage->wanted);
	char asker[POD_CONTAINER_NAME + 16];

	name_asker(pod, shortage->container, asker, sizeof(asker));
	decision->cpu_result = result;
	decision->wanted = wanted;
	decision->available = shortage->available;
	switch (result) {
	case CPU_SMT_NOT_MULTIPLE:
		return refuse_pod(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s asks for %lld exclusive CPUs, which is no multiple "
			"of %u, the threads of a core",
			asker, wanted, topology->cpus_per_core);
	case CPU_SMT_NO_FREE_CORES:
		return refuse_pod(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s asks for %lld exclusive CPUs, %u are free on cores "
			"without a reserved thread",
			asker, wanted, shortage->available);
	case CPU_EMPTY_POD_POOL:
		return refuse_pod(
			decision, REFUSAL_EMPTY_SHARED_POOL, container,
			"the pod's budget of %lld CPUs goes to its exclusive containers whole; "
			"its other containers would have none",
			wanted);
	case CPU_NOT_ENOUGH:
		if (is_container && pod->has_bubble)
			return refuse_pod(
				decision, REFUSAL_POD_BUDGET, container,
				"%s asks for %lld exclusive CPUs, but the pod's budget of %u "
				"has %u left for it",
				asker, wanted, cpuset_count(&pod->bubble), shortage->available);
		return refuse_count(ledger, pod, asker, container, decision);
	default:
		return refuse_pod(
			decision, REFUSAL_CPUS, container,
			"%s asks for %lld exclusive CPUs and %u are free, but the kubelet's own "
			"algorithm fails here (%s); compatibility: repaired does not",
			asker, wanted, shortage->available, cpu_result_name(result));
	}
}

/* "0: 6 of 16, 1: 2 of 16": free and all CPUs per node, as many nodes as there is room for. */
static void describe_nodes(const struct topology *topology, const struct cpu_offer *offer,
			   char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (uint32_t i = 0; i < topology->nodes.nr && used + 40 < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%u: %u of %u",
					 i ? ", " : "", topology->nodes.ids[i], offer->available[i],
					 topology->nodes.nr_cpus[i]);
}

/* CPUs of the `nr_nodes` nodes that offer most. */
static uint32_t most_on_nodes(const struct topology *topology, const struct cpu_offer *offer,
			      uint32_t nr_nodes)
{
	uint32_t sum = offer->nr_reusable;
	node_mask_t taken = 0;

	for (uint32_t n = 0; n < nr_nodes && n < topology->nodes.nr; n++) {
		uint32_t best = TOPOLOGY_MAX_NODES;

		for (uint32_t i = 0; i < topology->nodes.nr; i++) {
			if (!(taken >> i & 1) && (best == TOPOLOGY_MAX_NODES ||
						  offer->available[i] > offer->available[best]))
				best = i;
		}
		taken |= (node_mask_t)1 << best;
		sum += offer->available[best];
	}
	return sum;
}

void refuse_alignment(const struct placing *placing, const struct cpu_offer *offer,
		      uint32_t container)
{
	const struct topology *topology = ledger_topology(placing->ledger);
	const struct policy *policy = ledger_policy(placing->ledger);
	const struct ledger_pod *pod = placing->pod;
	struct decision *decision = placing->decision;
	const char *name = container < pod->nr_grants ? pod->grants[container].container : "";
	uint32_t nr_nodes = policy->align == ALIGN_SINGLE_NUMA_NODE ? 1 : offer->min_nodes;
	char asker[POD_CONTAINER_NAME + 16], nodes[256];

	name_asker(pod, container, asker, sizeof(asker));
	if (offer->opinion != CPU_OFFERS) {
		decision->cpu_result = CPU_EMPTY_POD_POOL;
		decision->wanted =
			cpu_asked(pod->spec, UINT32_MAX, cpu_bubble_count(pod->spec, pod->qos));
		refuse_pod(decision, REFUSAL_TOPOLOGY, name,
			   "topologyManagerPolicy %s: no NUMA nodes satisfy %s: its exclusive "
			   "containers leave nothing of its budget of %lld CPUs to the others",
			   align_policy_name(policy->align), asker, (long long)decision->wanted);
		return;
	}
	describe_nodes(topology, offer, nodes, sizeof(nodes));
	decision->wanted = cpu_asked(pod->spec, container, offer->request);
	decision->available = most_on_nodes(topology, offer, nr_nodes);
	refuse_pod(decision, REFUSAL_TOPOLOGY, name,
		   "topologyManagerPolicy %s: %s asks for %lld exclusive CPUs on %u NUMA node%s, "
		   "but "
		   "at most %lld are free so; free by node: %s",
		   align_policy_name(policy->align), asker, (long long)decision->wanted, nr_nodes,
		   nr_nodes == 1 ? "" : "s", (long long)decision->available, nodes);
}

/* "0,2 alone, 4-5 together": how nodes are in use, which limits who may join them. */
static void describe_groups(const struct placing *placing, struct text_buffer *text)
{
	const struct topology *topology = ledger_topology(placing->ledger);
	const struct memory_state *state = ledger_memory_state(placing->ledger);
	node_mask_t alone = 0, seen = 0;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		const struct memory_node *node = &state->nodes[i];

		if (node->nr_assignments && !(node->cells & (node->cells - 1)))
			alone |= (node_mask_t)1 << i;
	}
	if (alone)
		append_nodes(text, topology, alone, " alone");
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		node_mask_t cells = state->nodes[i].cells;

		if (!state->nodes[i].nr_assignments || !(cells & (cells - 1)) || (seen & cells))
			continue;
		seen |= cells;
		append_nodes(text, topology, cells, " as one group");
	}
}

/* Enough is free, but the rule of groups keeps the nodes that have it apart. */
static bool is_rule_of_groups(enum memory_result result, const struct memory_shortage *shortage)
{
	return result == MEMORY_GROUP || (shortage->available_bytes >= shortage->wanted_bytes &&
					  shortage->kernel_free_bytes >= shortage->wanted_bytes);
}

/* "memory, hugepages-2Mi" */
static void describe_types(const struct memory_manager *manager, struct text_buffer *text)
{
	for (uint32_t i = 0; i < manager->nr_types; i++) {
		char name[MEMORY_NAME_MAX];

		memory_type_name(manager, i, name, sizeof(name));
		append(text, "%s%s", i ? ", " : "", name);
	}
}

static void say_shortage(const struct placing *placing, enum memory_result result,
			 const struct memory_shortage *shortage, struct text_buffer *text)
{
	const struct memory_manager *manager = ledger_memory_manager(placing->ledger);
	char type[MEMORY_NAME_MAX], why[192];
	const unsigned long long wanted = shortage->wanted_bytes;
	const bool one_node = shortage->nodes && !(shortage->nodes & (shortage->nodes - 1));

	if (shortage->unknown_page_bytes) {
		quantity_format_binary(shortage->unknown_page_bytes, type, sizeof(type));
		append(text,
		       "asks for %llu bytes of hugepages-%s, a page size that no NUMA node has; "
		       "there are: ",
		       wanted, type);
		return describe_types(manager, text);
	}
	memory_type_name(manager, shortage->type, type, sizeof(type));
	memory_result_text(manager, result, shortage, why, sizeof(why));
	append(text, "asks for %llu bytes of %s; NUMA node%s", wanted, type, one_node ? "" : "s");
	append_nodes(text, manager->topology, shortage->nodes, "");
	append(text, " %s %llu not granted", one_node ? "has" : "have",
	       (unsigned long long)shortage->available_bytes);
	if (shortage->kernel_free_bytes != MEMORY_NOT_KNOWN)
		append(text, ", the kernel has %llu of them free",
		       (unsigned long long)shortage->kernel_free_bytes);
	append(text, " (%s)", why);
	if (!is_rule_of_groups(result, shortage))
		return;
	append(text, "; a node serves either those that need no other node or one fixed group of "
		     "nodes, and in use are:");
	describe_groups(placing, text);
}

/* Who asks for how much, and what there is; the numbers of the decision are bytes. */
void refuse_memory(const struct placing *placing, enum refusal refusal, enum memory_result result,
		   const struct memory_shortage *shortage)
{
	const struct memory_manager *manager = ledger_memory_manager(placing->ledger);
	const struct ledger_pod *pod = placing->pod;
	struct decision *decision = placing->decision;
	const char *container = shortage->container < pod->nr_grants
					? pod->grants[shortage->container].container
					: "";
	char asker[POD_CONTAINER_NAME + 16], sentence[DECISION_TEXT_MAX] = "";
	struct text_buffer text = {sentence, sizeof(sentence), 0};

	name_asker(pod, shortage->container, asker, sizeof(asker));
	if (refusal == REFUSAL_TOPOLOGY)
		append(&text, "topologyManagerPolicy %s: ",
		       align_policy_name(ledger_policy(placing->ledger)->align));
	append(&text, "%s ", asker);
	decision->is_memory = true;
	decision->memory_result = result;
	decision->page_bytes = shortage->unknown_page_bytes ? shortage->unknown_page_bytes
							    : manager->page_bytes[shortage->type];
	decision->wanted = (int64_t)shortage->wanted_bytes;
	decision->available = (int64_t)shortage->available_bytes;
	if (result >= MEMORY_EMPTY_POOL) {
		char why[192];

		memory_result_text(manager, result, shortage, why, sizeof(why));
		append(&text, "asks for %llu bytes and its budget has %llu: %s",
		       (unsigned long long)shortage->wanted_bytes,
		       (unsigned long long)shortage->available_bytes, why);
	} else {
		say_shortage(placing, result, shortage, &text);
	}
	refuse_pod(decision, refusal, container, "%s", sentence);
}

/* Is it memory that alignment fails for? Then it is refused with its numbers. */
bool refuse_memory_alignment(const struct placing *placing, const struct memory_offer *offer)
{
	const struct policy *policy = ledger_policy(placing->ledger);
	struct memory_shortage shortage;
	enum memory_result result =
		memory_probe(offer, policy->align == ALIGN_SINGLE_NUMA_NODE ? 1 : 0, &shortage);

	if (result)
		refuse_memory(placing, REFUSAL_TOPOLOGY, result, &shortage);
	return result != MEMORY_OK;
}

/* "4294967296 bytes of memory, 8388608 bytes of hugepages-2Mi" */
static void append_request(struct text_buffer *text, const struct memory_offer *memory)
{
	const char *comma = "";

	memory_for_each_type(type, memory->request.types)
	{
		char name[MEMORY_NAME_MAX];

		memory_type_name(memory->manager, type, name, sizeof(name));
		append(text, "%s%llu bytes of %s", comma,
		       (unsigned long long)memory->request.bytes[type], name);
		comma = ", ";
	}
}

/*
 * Single nodes the CPUs could take, and the first type of memory that none of
 * them has enough of; MEMORY_MAX_TYPES = no one type, or no node alone has the CPUs.
 */
static uint32_t type_that_rules_out(const struct topology *topology, const struct cpu_offer *cpu,
				    const struct memory_offer *memory, node_mask_t *ret_nodes)
{
	uint32_t lacking = memory->request.types;
	node_mask_t nodes = 0;

	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		node_mask_t node = (node_mask_t)1 << topology->memory_index[i];

		if (!cpu_offer_has(cpu, (node_mask_t)1 << i))
			continue;
		nodes |= node;
		lacking &= memory_offer_lacking(memory, node);
	}
	*ret_nodes = nodes;
	return nodes && lacking ? (uint32_t)__builtin_ctz(lacking) : MEMORY_MAX_TYPES;
}

/* Each has a set of nodes, but they have none in common. */
void refuse_together(const struct placing *placing, const struct cpu_offer *cpu,
		     const struct memory_offer *memory, uint32_t container)
{
	const struct topology *topology = ledger_topology(placing->ledger);
	const struct policy *policy = ledger_policy(placing->ledger);
	const struct ledger_pod *pod = placing->pod;
	struct decision *decision = placing->decision;
	char asker[POD_CONTAINER_NAME + 16], sentence[DECISION_TEXT_MAX] = "";
	struct text_buffer text = {sentence, sizeof(sentence), 0};
	node_mask_t nodes;
	uint32_t scarce = type_that_rules_out(topology, cpu, memory, &nodes);
	uint32_t types = memory->request.types, first = types ? (uint32_t)__builtin_ctz(types) : 0;
	uint32_t type = scarce < MEMORY_MAX_TYPES ? scarce : first;

	name_asker(pod, container, asker, sizeof(asker));
	decision->is_memory = true;
	decision->is_both = true;
	decision->page_bytes = memory->manager->page_bytes[type];
	decision->wanted = (int64_t)memory->request.bytes[type];
	append(&text, "topologyManagerPolicy %s: %s asks for %u exclusive CPUs and ",
	       align_policy_name(policy->align), asker, cpu->request);
	append_request(&text, memory);
	append(&text, "; each alone would find NUMA nodes, but no nodes have both");
	if (scarce < MEMORY_MAX_TYPES) {
		char name[MEMORY_NAME_MAX];

		memory_type_name(memory->manager, scarce, name, sizeof(name));
		append(&text, ": the CPUs are on NUMA nodes");
		append_nodes(&text, topology, nodes, "");
		append(&text, ", none of which has enough %s free", name);
	}
	refuse_pod(decision, REFUSAL_TOPOLOGY,
		   container < pod->nr_grants ? pod->grants[container].container : "", "%s",
		   sentence);
}
