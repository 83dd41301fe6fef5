// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the message of a refusal: the rule, who requested how much, and what is
 * available. For a failed alignment it determines whether the CPUs, the memory or the
 * combination of both is the cause. suggest.c finds the changes that would help,
 * and change.c words them.
 */
#include "core/admit/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/quantity.h"

/* The reason that the kubelet would set in the pod's status. */
static const char *kubelet_reason(enum refusal refusal)
{
	switch (refusal) {
	case REFUSAL_SMT:
		return "SMTAlignmentError";
	case REFUSAL_TOPOLOGY:
		return "TopologyAffinityError";
	case REFUSAL_EMPTY_SHARED_POOL:
		return "EmptyPodSharedPoolError";
	default:
		return "UnexpectedAdmissionError";
	}
}

/* Fill in a refusal with a message; `container` may be "". */
__attribute__((format(printf, 4, 5))) static void refuse_pod(struct decision *decision,
							     enum refusal refusal,
							     const char *container,
							     const char *format, ...)
{
	va_list args;

	decision->admitted = false;
	decision->refusal = refusal;
	snprintf(decision->reason, sizeof(decision->reason), "%s", kubelet_reason(refusal));
	snprintf(decision->container, sizeof(decision->container), "%s", container);
	va_start(args, format);
	vsnprintf(decision->message, sizeof(decision->message), format, args);
	va_end(args);
}

/* "container NAME asks for 9223372036854775807 exclusive CPUs" */
#define ASKED_MAX (POD_CONTAINER_NAME + 64)

/* A buffer to which text is appended; text that does not fit is truncated. */
struct text_buffer {
	char *data;
	size_t size, used;
};

static void append(struct text_buffer *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct text_buffer *text, const char *format, ...)
{
	size_t left = text->size - text->used;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->data + text->used, left, format, args);
	va_end(args);
	text->used += (size_t)len < left ? (size_t)len : left - 1;
}

/* Append " 0,2-3", followed by `what`. */
static void append_nodes(struct text_buffer *text, const struct topology *topology,
			 node_mask_t nodes, const char *what)
{
	char list[256]; /* a list of 64 ids with ten digits each is truncated */
	struct cpuset ids;

	topology_mems_of_mask(topology, nodes, &ids);
	cpuset_format(&ids, list, sizeof(list));
	append(text, " %s%s", list, what);
}

/* The name of a container; "" = the pod as a whole. */
static const char *container_name(const struct ledger_pod *pod, uint32_t container)
{
	return container == UINT32_MAX ? "" : pod->grants[container].container;
}

/* Write "container db" or "the pod", for the container or pod that made the request. */
static void name_asker(const char *container, char *buffer, size_t size)
{
	if (*container)
		snprintf(buffer, size, "container %s", container);
	else
		snprintf(buffer, size, "the pod");
}

/* Write "container db asks for 2 exclusive CPUs". */
static void say_asked(const char *container, long long wanted, char *buffer, size_t size)
{
	char asker[POD_CONTAINER_NAME + 16];

	name_asker(container, asker, sizeof(asker));
	snprintf(buffer, size, "%s asks for %lld exclusive CPU%s", asker, wanted,
		 wanted == 1 ? "" : "s");
}

static void refuse_count(const struct ledger *ledger, const struct ledger_pod *pod,
			 const char *asked, const char *container, struct decision *decision)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct cpuset held, offline = *ledger_shared_pool(ledger);
	char offline_text[32] = "";

	ledger_exclusive(ledger, &held);
	cpuset_subtract(&held, pod->held);
	/* Of the free ones: what a pod holds is counted there. */
	cpuset_subtract(&offline, &manager->reserved);
	cpuset_intersect(&offline, &manager->offline);
	if (!cpuset_is_empty(&offline))
		snprintf(offline_text, sizeof(offline_text), ", %u offline",
			 cpuset_count(&offline));
	refuse_pod(decision, REFUSAL_CPUS, container,
		   "%s, but only %lld %s free (of %u CPUs: %u reserved, %u held by other pods%s)",
		   asked, (long long)decision->available, decision->available == 1 ? "is" : "are",
		   cpuset_count(&manager->usable), cpuset_count(&manager->reserved),
		   cpuset_count(&held), offline_text);
}

static void refuse_empty_pod_pool(const struct ledger *ledger, const struct ledger_pod *pod,
				  const char *container, struct decision *decision)
{
	const uint32_t nr_offline =
		pod->has_bubble
			? cpuset_count_common(pod->bubble, &ledger_cpu_manager(ledger)->offline)
			: 0;

	if (nr_offline)
		refuse_pod(decision, REFUSAL_EMPTY_SHARED_POOL, container,
			   "%u of the %lld CPUs of the pod's budget %s offline, and its exclusive "
			   "containers leave none of the others for its other containers",
			   nr_offline, (long long)decision->wanted, nr_offline == 1 ? "is" : "are");
	else
		refuse_pod(
			decision, REFUSAL_EMPTY_SHARED_POOL, container,
			"the pod's exclusive containers use its whole budget of %lld CPUs and leave "
			"none for its other containers",
			(long long)decision->wanted);
}

static void refuse_cpus(const struct assignment *assignment, struct decision *decision)
{
	const struct ledger *ledger = assignment->ledger;
	const struct ledger_pod *pod = assignment->pod;
	const struct cpu_shortage *shortage = &assignment->cpu_shortage;
	enum cpu_result result = assignment->cpu_result;
	const struct topology *topology = ledger_topology(ledger);
	const char *container = container_name(pod, shortage->container);
	const long long wanted = cpu_asked(pod->spec, shortage->container, shortage->wanted);
	char asked[ASKED_MAX];

	say_asked(container, wanted, asked, sizeof(asked));
	decision->cpu_result = result;
	decision->wanted = wanted;
	decision->available = shortage->available;
	switch (result) {
	case CPU_SMT_NOT_MULTIPLE:
		return refuse_pod(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s, which is not a multiple of %u, the number of threads "
			"per core",
			asked, topology->cpus_per_core);
	case CPU_SMT_NO_FREE_CORES:
		return refuse_pod(
			decision, REFUSAL_SMT, container,
			"full-pcpus-only: %s, but only %u %s free on cores without a reserved "
			"thread",
			asked, shortage->available, shortage->available == 1 ? "is" : "are");
	case CPU_EMPTY_POD_POOL:
		return refuse_empty_pod_pool(ledger, pod, container, decision);
	case CPU_BELOW_BASELINE:
		refuse_pod(decision, REFUSAL_CPUS, container,
			   "%s, but a resize in place keeps %u: those of the admission%s", asked,
			   shortage->available,
			   *container ? "" : ", and those of its exclusive containers");
		snprintf(decision->reason, sizeof(decision->reason),
			 "prohibitedCPUAllocationError");
		return;
	case CPU_NOT_ENOUGH:
		/* A budget that is to grow itself comes from the node. */
		if (pod->has_bubble && *container)
			return refuse_pod(decision, REFUSAL_POD_BUDGET, container,
					  "%s, but the pod's budget of %u has %u left for it",
					  asked, cpuset_count(pod->bubble), shortage->available);
		return refuse_count(ledger, pod, asked, container, decision);
	default:
		return refuse_pod(
			decision, REFUSAL_CPUS, container,
			"%s and %u are free, but the kubelet's algorithm fails in this case (%s); "
			"set compatibility: repaired",
			asked, shortage->available, cpu_result_name(result));
	}
}

/* Append "0: 6 of 16, 1: 2 of 16": free and total CPUs per node, for as many nodes as fit. */
static void describe_nodes(const struct topology *topology, const struct cpu_offer *offer,
			   struct text_buffer *text)
{
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		size_t before = text->used;

		append(text, "%s%u: %u of %u", i ? ", " : "", topology->nodes.ids[i],
		       offer->available[i], topology->nodes.nr_cpus[i]);
		/* The text is full, so this node may have been cut. */
		if (text->used == text->size - 1) {
			text->data[before] = '\0';
			return;
		}
	}
}

/* The number of CPUs on the `nr_nodes` nodes that offer the most. */
static uint32_t most_on_nodes(const struct topology *topology, const struct cpu_offer *offer,
			      uint32_t nr_nodes)
{
	uint32_t sum = offer->nr_reusable;
	node_mask_t taken = 0;

	for (uint32_t n = 0; n < nr_nodes; n++) {
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

/* The CPUs alone cannot be aligned. */
static void refuse_cpu_alignment(const struct assignment *assignment, struct decision *decision)
{
	const struct topology *topology = ledger_topology(assignment->ledger);
	const struct policy *policy = ledger_policy(assignment->ledger);
	const struct ledger_pod *pod = assignment->pod;
	const struct cpu_offer *offer = &assignment->offers.cpu;
	uint32_t container = assignment->container;
	const char *name = container_name(pod, container);
	uint32_t nr_nodes = policy->align == ALIGN_SINGLE_NUMA_NODE ? 1 : offer->min_nodes;
	char asker[POD_CONTAINER_NAME + 16], asked[ASKED_MAX], nodes[256];
	struct text_buffer text = {nodes, sizeof(nodes), 0};

	if (offer->opinion != CPU_OFFERS) {
		name_asker(name, asker, sizeof(asker));
		decision->cpu_result = CPU_EMPTY_POD_POOL;
		decision->wanted =
			cpu_asked(pod->spec, UINT32_MAX, cpu_bubble_count(pod->spec, pod->qos));
		refuse_pod(
			decision, REFUSAL_TOPOLOGY, name,
			"topologyManagerPolicy %s: no NUMA nodes satisfy %s: its exclusive containers "
			"use its whole budget of %lld CPUs and leave none for the others",
			align_policy_name(policy->align), asker, (long long)decision->wanted);
		return;
	}
	describe_nodes(topology, offer, &text);
	decision->wanted = cpu_asked(pod->spec, container, offer->request);
	decision->available = most_on_nodes(topology, offer, nr_nodes);
	say_asked(name, decision->wanted, asked, sizeof(asked));
	refuse_pod(decision, REFUSAL_TOPOLOGY, name,
		   "topologyManagerPolicy %s: %s on %u NUMA node%s, but no %s has more than %lld "
		   "free CPU%s; free by node: %s",
		   align_policy_name(policy->align), asked, nr_nodes, nr_nodes == 1 ? "" : "s",
		   nr_nodes == 1 ? "node" : "such set of nodes", (long long)decision->available,
		   decision->available == 1 ? "" : "s", nodes);
}

/* Append " 0,2 alone 4-5 as one group": how nodes are in use, which limits further requests. */
static void describe_groups(const struct ledger *ledger, struct text_buffer *text)
{
	const struct topology *topology = ledger_topology(ledger);
	const struct memory_state *state = ledger_memory_state(ledger);
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

		if (!(cells & (cells - 1)) || (seen & cells))
			continue;
		seen |= cells;
		append_nodes(text, topology, cells, " as one group");
	}
}

/* Is enough memory free, but on nodes that the group rule does not allow to be combined? */
static bool is_rule_of_groups(enum memory_result result, const struct memory_shortage *shortage)
{
	return result == MEMORY_GROUP || (shortage->available_bytes >= shortage->wanted_bytes &&
					  shortage->kernel_free_bytes >= shortage->wanted_bytes);
}

/* Append "memory, hugepages-2Mi". */
static void describe_types(const struct memory_manager *manager, struct text_buffer *text)
{
	for (uint32_t i = 0; i < manager->nr_types; i++) {
		char name[MEMORY_NAME_MAX];

		memory_type_name(manager, i, name, sizeof(name));
		append(text, "%s%s", i ? ", " : "", name);
	}
}

static void say_shortage(const struct ledger *ledger, enum memory_result result,
			 const struct memory_shortage *shortage, struct text_buffer *text)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	char type[MEMORY_NAME_MAX], why[192];
	const unsigned long long wanted = shortage->wanted_bytes;
	const bool one_node = !(shortage->nodes & (shortage->nodes - 1));

	if (shortage->unknown_page_bytes) {
		quantity_format_binary(shortage->unknown_page_bytes, type, sizeof(type));
		append(text,
		       "asks for %llu bytes of hugepages-%s, a page size that no NUMA node has; "
		       "available: ",
		       wanted, type);
		return describe_types(manager, text);
	}
	memory_type_name(manager, shortage->type, type, sizeof(type));
	memory_result_text(manager, result, shortage, why, sizeof(why));
	append(text, "asks for %llu bytes of %s; NUMA node%s", wanted, type, one_node ? "" : "s");
	append_nodes(text, manager->topology, shortage->nodes, "");
	append(text, " %s %llu bytes not granted", one_node ? "has" : "have",
	       (unsigned long long)shortage->available_bytes);
	if (shortage->kernel_free_bytes != MEMORY_NOT_KNOWN)
		append(text, ", the kernel has %llu bytes free",
		       (unsigned long long)shortage->kernel_free_bytes);
	append(text, " (%s)", why);
	if (!is_rule_of_groups(result, shortage))
		return;
	append(text,
	       "; a node serves either requests that need no other node or one fixed group of "
	       "nodes; in use:");
	describe_groups(ledger, text);
}

/* Name the request and what is available; the numbers of the decision are bytes. */
static void refuse_memory(const struct assignment *assignment, enum refusal refusal,
			  enum memory_result result, const struct memory_shortage *shortage,
			  struct decision *decision)
{
	const struct ledger *ledger = assignment->ledger;
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct ledger_pod *pod = assignment->pod;
	const char *container = container_name(pod, shortage->container);
	char asker[POD_CONTAINER_NAME + 16], sentence[DECISION_TEXT_MAX] = "";
	struct text_buffer text = {sentence, sizeof(sentence), 0};

	name_asker(container, asker, sizeof(asker));
	if (refusal == REFUSAL_TOPOLOGY)
		append(&text, "topologyManagerPolicy %s: ",
		       align_policy_name(ledger_policy(ledger)->align));
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
		say_shortage(ledger, result, shortage, &text);
	}
	refuse_pod(decision, refusal, container, "%s", sentence);
}

/* Append "4294967296 bytes of memory, 8388608 bytes of hugepages-2Mi". */
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
 * Find the single nodes that have enough CPUs, and the first memory type of which none of
 * them has enough. Returns MEMORY_MAX_TYPES if there is no such type, or no node with
 * enough CPUs.
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

/* CPUs and memory can each be aligned, but not on the same nodes. */
static void refuse_together(const struct assignment *assignment, struct decision *decision)
{
	const struct topology *topology = ledger_topology(assignment->ledger);
	const struct policy *policy = ledger_policy(assignment->ledger);
	const struct cpu_offer *cpu = &assignment->offers.cpu;
	const struct memory_offer *memory = &assignment->offers.memory;
	const char *container = container_name(assignment->pod, assignment->container);
	char asked[ASKED_MAX], sentence[DECISION_TEXT_MAX] = "";
	struct text_buffer text = {sentence, sizeof(sentence), 0};
	node_mask_t nodes;
	uint32_t scarce = type_that_rules_out(topology, cpu, memory, &nodes);
	uint32_t first = (uint32_t)__builtin_ctz(memory->request.types);
	uint32_t type = scarce < MEMORY_MAX_TYPES ? scarce : first;

	say_asked(container, cpu->request, asked, sizeof(asked));
	decision->is_memory = true;
	decision->is_both = true;
	decision->page_bytes = memory->manager->page_bytes[type];
	decision->wanted = (int64_t)memory->request.bytes[type];
	append(&text, "topologyManagerPolicy %s: %s and ", align_policy_name(policy->align), asked);
	append_request(&text, memory);
	append(&text, "; each alone would fit, but no nodes have both");
	if (scarce < MEMORY_MAX_TYPES) {
		const bool one_node = !(nodes & (nodes - 1));
		char name[MEMORY_NAME_MAX];

		memory_type_name(memory->manager, scarce, name, sizeof(name));
		append(&text, ": the CPUs are on NUMA node%s", one_node ? "" : "s");
		append_nodes(&text, topology, nodes, "");
		append(&text, ", %s enough %s free",
		       one_node ? "which does not have" : "none of which has", name);
	}
	refuse_pod(decision, REFUSAL_TOPOLOGY, container, "%s", sentence);
}

/*
 * A resize in place keeps the NUMA nodes of the CPUs that are held, and those of the memory, so
 * the only question is what is free there. The same holds for a container that joins its pod.
 */
static void refuse_kept_alignment(const struct assignment *assignment, struct decision *decision)
{
	const struct topology *topology = ledger_topology(assignment->ledger);
	const struct cpu_offer *offer = &assignment->offers.cpu;
	const char *name = container_name(assignment->pod, assignment->container);
	char asked[ASKED_MAX], nodes[256] = "";
	struct text_buffer text = {nodes, sizeof(nodes), 0};

	decision->wanted = cpu_asked(assignment->pod->spec, assignment->container, offer->request);
	decision->available = offer->nr_reusable;
	for (node_mask_t rest = offer->required; rest; rest &= rest - 1)
		decision->available += offer->available[__builtin_ctzll(rest)];
	append_nodes(&text, topology, topology_to_memory_mask(topology, offer->required), "");
	say_asked(name, decision->wanted, asked, sizeof(asked));
	refuse_pod(decision, REFUSAL_TOPOLOGY, name,
		   "topologyManagerPolicy %s: %s, but %s keeps the NUMA nodes of its "
		   "%u CPU%s, and%s %s %u more free",
		   align_policy_name(ledger_policy(assignment->ledger)->align), asked,
		   assignment->is_resize ? "a resize in place" : "a pod that runs",
		   offer->nr_reusable, offer->nr_reusable == 1 ? "" : "s", nodes,
		   offer->required & (offer->required - 1) ? "have" : "has",
		   (uint32_t)decision->available - offer->nr_reusable);
}

/* Try memory first, then CPUs. If each can be aligned alone, the combination is the cause. */
static int refuse_unaligned(const struct assignment *assignment, struct decision *decision)
{
	const struct memory_offer *memory = &assignment->offers.memory;
	bool one_node = ledger_policy(assignment->ledger)->align == ALIGN_SINGLE_NUMA_NODE;
	enum memory_result result = MEMORY_OK;
	struct memory_shortage shortage;
	bool cpus_fit;
	int r;

	if (memory->opinion != MEMORY_NO_OPINION)
		result = memory_probe(memory, one_node ? 1 : 0, &shortage);
	if (result) {
		refuse_memory(assignment, REFUSAL_TOPOLOGY, result, &shortage, decision);
		return 0;
	}
	r = offers_align_cpus(assignment->ledger, &assignment->offers, &cpus_fit);
	if (r)
		return r;
	if (cpus_fit)
		refuse_together(assignment, decision);
	else
		refuse_cpu_alignment(assignment, decision);
	return 0;
}

static enum refusal memory_refusal(const struct assignment *assignment)
{
	const struct memory_shortage *shortage = &assignment->memory_shortage;

	if (assignment->memory_result >= MEMORY_EMPTY_POOL)
		return REFUSAL_EMPTY_SHARED_POOL;
	return shortage->type || shortage->unknown_page_bytes ? REFUSAL_HUGEPAGES : REFUSAL_MEMORY;
}

static void refuse_last_shared_cpu(const struct assignment *assignment, struct decision *decision)
{
	uint32_t nr_sharing = ledger_nr_host_containers(assignment->ledger);

	decision->wanted = cpuset_count(assignment->pod->held);
	decision->available = decision->wanted ? decision->wanted - 1 : 0;
	if (decision->wanted)
		refuse_pod(
			decision, REFUSAL_LAST_SHARED_CPU, "",
			"the pod's %lld exclusive CPU%s would take the rest of the shared pool, on "
			"which %u container%s",
			(long long)decision->wanted, decision->wanted == 1 ? "" : "s", nr_sharing,
			nr_sharing == 1 ? " runs" : "s run");
	else
		refuse_pod(
			decision, REFUSAL_LAST_SHARED_CPU, "",
			"the pod's containers need the shared pool, but all of its CPUs are granted "
			"exclusively");
}

int refuse_assignment(const struct assignment *assignment, struct decision *decision)
{
	switch (assignment->outcome) {
	case ASSIGN_UNALIGNED:
		if (assignment->is_resize ||
		    (assignment->is_joining && assignment->offers.cpu.nr_reusable)) {
			refuse_kept_alignment(assignment, decision);
			break;
		}
		return refuse_unaligned(assignment, decision);
	case ASSIGN_NO_CPUS:
		refuse_cpus(assignment, decision);
		break;
	case ASSIGN_NO_MEMORY:
		refuse_memory(assignment, memory_refusal(assignment), assignment->memory_result,
			      &assignment->memory_shortage, decision);
		break;
	case ASSIGN_LAST_SHARED_CPU:
		refuse_last_shared_cpu(assignment, decision);
		break;
	case ASSIGN_OK:
		break;
	}
	return 0;
}

void refuse_other_kind(const struct ledger_pod *pod, uint32_t index,
		       const struct container_spec *wanted, struct decision *decision)
{
	const struct grant *grant = &pod->grants[index];
	const uint32_t nr = cpuset_count(grant->cpus);
	char asked[32] = "no";

	if (wanted->request.cpu_mcpu > 0)
		snprintf(asked, sizeof(asked), "%lldm", (long long)wanted->request.cpu_mcpu);
	decision->available = nr;
	if (nr)
		refuse_pod(decision, REFUSAL_CPUS, grant->container,
			   "container %s asks for %s CPU, which would put it on the shared pool, "
			   "but a resize in place keeps its %u exclusive CPU%s",
			   grant->container, asked, nr, nr == 1 ? "" : "s");
	else
		refuse_pod(decision, REFUSAL_CPUS, grant->container,
			   "container %s asks for %s CPU, which would be exclusive, but it shares, "
			   "and a resize in place keeps it on the shared pool",
			   grant->container, asked);
	snprintf(decision->reason, sizeof(decision->reason), "inconsistentCPUAllocationError");
}

void refuse_memory_resize(const struct ledger_pod *pod, uint32_t index, struct decision *decision)
{
	const char *container = pod->grants[index].container;

	refuse_pod(
		decision, REFUSAL_MEMORY, container,
		"container %s asks for other memory, but its memory is pinned to NUMA nodes, and a "
		"resize in place keeps it; create the pod anew",
		container);
	snprintf(decision->reason, sizeof(decision->reason), "inconsistentMemoryAllocationError");
}
