// SPDX-License-Identifier: Apache-2.0
/*
 * Records how nodes were chosen. It runs after the choice and lists the hints again,
 * because the decision itself does not list all of them.
 */
#include "core/admit/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/assign.h"
#include "core/quantity.h"

const char *trace_opinion_name(enum trace_opinion opinion)
{
	static const char *const names[] = {
		[TRACE_NO_OPINION] = "any nodes will do",
		[TRACE_IMPOSSIBLE] = "no nodes will do",
		[TRACE_KEEPS] = "keeps its nodes",
		[TRACE_HINTS] = "hints",
	};

	_Static_assert(ARRAY_SIZE(names) == TRACE_OPINION_NR, "a name for each opinion");
	return names[opinion];
}

static void list_hints(struct trace_provider *provider, const struct hint *hints, uint32_t nr,
		       bool preferred)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (hints[i].preferred != preferred)
			continue;
		provider->nr_preferred += preferred;
		if (provider->nr_listed < TRACE_MAX_HINTS)
			provider->hints[provider->nr_listed++] = hints[i];
	}
}

static void fill_hints(struct trace_provider *provider, const struct hint *hints, uint32_t nr)
{
	provider->opinion = nr ? TRACE_HINTS : TRACE_IMPOSSIBLE;
	provider->nr_hints = nr;
	list_hints(provider, hints, nr, true);
	list_hints(provider, hints, nr, false);
}

static int trace_cpus(const struct assignment *assignment, struct trace_provider *provider)
{
	const struct topology *topology = ledger_topology(assignment->ledger);
	const struct cpu_offer *offer = &assignment->offers.cpu;
	struct hint *hints cleanup_free = NULL;
	uint32_t nr = 0;
	int r;

	*provider = (struct trace_provider){.wanted = -1, .is_exact = true};
	snprintf(provider->resource, sizeof(provider->resource), "cpu");
	if (offer->opinion == CPU_NO_OPINION)
		return 0;
	provider->opinion = TRACE_IMPOSSIBLE;
	if (offer->opinion == CPU_IMPOSSIBLE)
		return 0;
	r = cpu_offer_list(offer, &hints, &nr);
	if (r)
		return r;
	for (uint32_t i = 0; i < nr; i++)
		hints[i].nodes = topology_to_memory_mask(topology, hints[i].nodes);
	provider->wanted = cpu_asked(assignment->pod->spec, assignment->container, offer->request);
	provider->is_exact = topology->nodes.nr <= CPU_LIST_NODES;
	fill_hints(provider, hints, nr);
	return 0;
}

static void trace_unknown_pages(const struct memory_offer *offer, struct trace *trace)
{
	struct trace_provider *provider = &trace->providers[trace->nr_providers++];
	char size[24];

	*provider = (struct trace_provider){
		.opinion = TRACE_IMPOSSIBLE,
		.wanted = (int64_t)offer->request.unknown_bytes,
		.is_bytes = true,
		.is_exact = true,
	};
	quantity_format_binary(offer->request.unknown_page_bytes, size, sizeof(size));
	snprintf(provider->resource, sizeof(provider->resource), "hugepages-%s", size);
}

/* All types have the same hints, but the merge treats each as a separate list. */
static int trace_memory(const struct memory_offer *offer, struct trace *trace)
{
	const struct memory_manager *manager = offer->manager;
	struct hint *hints cleanup_free = NULL;
	uint32_t nr = 0;
	int r = memory_offer_list(offer, &hints, &nr);

	if (r)
		return r;
	memory_for_each_type(type, offer->request.types)
	{
		struct trace_provider *provider = &trace->providers[trace->nr_providers++];

		*provider = (struct trace_provider){
			.wanted = (int64_t)offer->request.bytes[type],
			.is_bytes = true,
			.is_exact = manager->topology->nr_memory_nodes <= MEMORY_EXACT_NODES,
		};
		memory_type_name(manager, type, provider->resource, sizeof(provider->resource));
		if (offer->opinion == MEMORY_OFFERS) {
			fill_hints(provider, hints, nr);
		} else if (offer->opinion == MEMORY_KEEPS) {
			fill_hints(provider, &offer->kept, 1);
			provider->opinion = TRACE_KEEPS;
		} else if (offer->opinion == MEMORY_IMPOSSIBLE) {
			provider->opinion = TRACE_IMPOSSIBLE;
		}
	}
	if (offer->request.is_unknown)
		trace_unknown_pages(offer, trace);
	return 0;
}

/* Record the latest alignment, before anything is allocated. */
static int trace_alignment(const struct assignment *assignment, struct trace *trace)
{
	int r;

	trace->is_aligned = true;
	trace->container = assignment->container;
	trace->policy = ledger_policy(assignment->ledger)->align;
	trace->merged = assignment->alignment;
	trace->nr_providers = 1;
	r = trace_cpus(assignment, &trace->providers[0]);
	if (r)
		return r;
	return trace_memory(&assignment->offers.memory, trace);
}

/*
 * Assign a pod and record how nodes were chosen: container i at index i * stride, the pod
 * as a whole at index 0. Stride 0 keeps only the last alignment.
 */
static int assign_traced(struct assignment *assignment, struct trace *traces, uint32_t stride)
{
	while (assign_is_open(assignment)) {
		uint32_t index = assignment->is_whole ? 0 : assignment->nr_done * stride;
		int r = assign_align(assignment);

		if (!r && assignment->is_aligned)
			r = trace_alignment(assignment, &traces[index]);
		if (r)
			return r;
		assign_allocate(assignment);
	}
	return 0;
}

int trace_request(struct ledger *ledger, const struct pod_spec *spec, struct trace *ret_trace)
{
	struct cpu_reuse reuse = {.uid = ""};
	struct assignment assignment;
	int r = ledger_begin(ledger);

	if (r)
		return r;
	*ret_trace = (struct trace){.is_aligned = false};
	r = assign_new(&assignment, ledger, spec, &reuse);
	if (!r)
		r = assign_traced(&assignment, ret_trace, 0);
	ledger_abort(ledger);
	return r;
}

static bool has_same_grants(const struct ledger_pod *a, const struct ledger_pod *b)
{
	for (uint32_t i = 0; i < a->nr_grants; i++) {
		if (a->grants[i].isolation != b->grants[i].isolation ||
		    a->grants[i].mems != b->grants[i].mems ||
		    !cpuset_equal(a->grants[i].cpus, b->grants[i].cpus))
			return false;
	}
	return cpuset_equal(a->held, b->held);
}

int trace_grant(struct ledger *ledger, const char *uid, struct trace *traces, bool *ret_same)
{
	/* Without a commit it stays as it is, although the transaction removes the pod. */
	const struct ledger_pod *was = ledger_find(ledger, uid);
	struct cpu_reuse reuse = {.uid = ""};
	struct assignment assignment;
	int r;

	if (!was)
		return -ENOENT;
	r = ledger_begin(ledger);
	if (r)
		return r;
	memset(traces, 0, was->nr_grants * sizeof(*traces));
	r = assign_new(&assignment, ledger, was->spec, &reuse);
	if (!r)
		r = assign_traced(&assignment, traces, 1);
	if (!r)
		*ret_same = !assignment.outcome && has_same_grants(was, assignment.pod);
	ledger_abort(ledger);
	return r;
}
