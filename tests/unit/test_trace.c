// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* What a trace says about the choice of nodes: each provider's hints, and the result. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/admit/trace.h"
#include "scene.h"

#define PAGE_2M (UINT64_C(2) << 20)

/* `nr` nodes of 8 GiB and 1 GiB of pages; the inner ones have four CPUs, the outer ones none. */
static struct topology *machine(uint32_t nr)
{
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{0}};
	struct topology_cpu cpus[4 * TOPOLOGY_MAX_NODES];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = (size_t)(nr - 2) * 4,
		.nodes = nodes,
		.nr_nodes = nr,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256];

	for (uint32_t i = 0; i < nr; i++)
		nodes[i] = (struct topology_node){
			.id = i * 2,
			.memory_bytes = (uint64_t)(9 * GIB),
			.nr_hugepages = 1,
			.hugepages = {{PAGE_2M, 512, UINT64_MAX}},
		};
	for (uint32_t i = 0; i < facts.nr_cpus; i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = (i / 4 + 1) * 2, .socket = i / 4};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	return topology;
}

struct stage {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct trace trace;
};

static void open_stage(struct stage *stage, uint32_t nr_nodes, enum align_policy align,
		       enum align_scope scope)
{
	stage->topology = machine(nr_nodes);
	stage->policy = strict_policy("0");
	stage->policy.memory = MEMORY_POLICY_STATIC;
	stage->policy.align = align;
	stage->policy.scope = scope;
	stage->ledger = scene_ledger(stage->topology, &stage->policy);
}

static void close_stage(struct stage *stage)
{
	assert_int_equal(ledger_begin(stage->ledger), 0);
	ledger_abort(stage->ledger);
	assert_sound(stage->ledger);
	ledger_free(stage->ledger);
	topology_free(stage->topology);
}

/* Takes `spec`. */
static void trace(struct stage *stage, struct pod_spec *spec)
{
	memset(&stage->trace, 0x55, sizeof(stage->trace));
	assert_int_equal(trace_request(stage->ledger, spec, &stage->trace), 0);
	assert_null(ledger_find(stage->ledger, spec->uid));
	pod_spec_free(spec);
}

static struct pod_spec *pod_of(int64_t cpus, int64_t gib, uint64_t page_bytes, int64_t pages_gib)
{
	struct pod_spec *spec = guaranteed_pod("p", cpus);
	struct resources *request = &spec->containers[0].request;

	request->memory_bytes = gib * GIB;
	if (page_bytes) {
		request->hugepages[0].size_bytes = page_bytes;
		request->hugepages[0].bytes = pages_gib * GIB;
		request->nr_hugepages = 1;
	}
	spec->containers[0].limit = *request;
	return spec;
}

static void assert_provider(const struct trace_provider *provider, const char *resource,
			    enum trace_opinion opinion, int64_t wanted, uint32_t nr_hints,
			    uint32_t nr_preferred)
{
	assert_string_equal(provider->resource, resource);
	assert_int_equal(provider->opinion, opinion);
	assert_int_equal(provider->wanted, wanted);
	assert_int_equal(provider->is_bytes, strcmp(resource, "cpu") != 0);
	assert_int_equal(provider->nr_hints, nr_hints);
	assert_int_equal(provider->nr_preferred, nr_preferred);
	assert_int_equal(provider->nr_listed,
			 nr_hints < TRACE_MAX_HINTS ? nr_hints : TRACE_MAX_HINTS);
	assert_true(provider->is_exact);
}

static void assert_listed(const struct trace_provider *provider, const node_mask_t *nodes)
{
	for (uint32_t i = 0; i < provider->nr_listed; i++) {
		assert_int_equal(provider->hints[i].nodes, nodes[i]);
		assert_int_equal(provider->hints[i].preferred, i < provider->nr_preferred);
	}
}

/* Preferred hints come first; all are counted, and the first eight are listed. */
static void hints_are_listed_over_memory_nodes(void **state)
{
	const node_mask_t of_cpus[] = {4, 6}, of_memory[] = {1, 2, 4, 8, 3, 5, 9, 6};
	struct stage stage;

	(void)state;
	open_stage(&stage, 4, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	/* CPU 0 is reserved, so only the second node with CPUs has four. */
	trace(&stage, pod_of(4, 2, PAGE_2M, 1));
	assert_true(stage.trace.is_aligned);
	assert_int_equal(stage.trace.container, 0);
	assert_int_equal(stage.trace.policy, ALIGN_SINGLE_NUMA_NODE);
	assert_int_equal(stage.trace.nr_providers, 3);
	assert_provider(&stage.trace.providers[0], "cpu", TRACE_HINTS, 4, 2, 1);
	assert_listed(&stage.trace.providers[0], of_cpus);
	assert_provider(&stage.trace.providers[1], "memory", TRACE_HINTS, 2 * GIB, 15, 4);
	assert_listed(&stage.trace.providers[1], of_memory);
	assert_provider(&stage.trace.providers[2], "hugepages-2Mi", TRACE_HINTS, GIB, 15, 4);
	assert_listed(&stage.trace.providers[2], of_memory);
	assert_true(stage.trace.merged.admitted);
	assert_int_equal(stage.trace.merged.hint.nodes, 4);
	close_stage(&stage);
}

static void opinions_other_than_hints(void **state)
{
	struct pod_spec *spec;
	struct stage stage;

	(void)state;
	open_stage(&stage, 4, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
	/* Whoever is not pinned has no opinion, and no memory to be listed. */
	spec = scene_pod("p");
	add_container(spec, "main", CONTAINER_APP, 100, RESOURCE_UNSET);
	trace(&stage, spec);
	assert_int_equal(stage.trace.container, UINT32_MAX);
	assert_int_equal(stage.trace.nr_providers, 1);
	assert_provider(&stage.trace.providers[0], "cpu", TRACE_NO_OPINION, -1, 0, 0);
	assert_true(stage.trace.merged.admitted);
	close_stage(&stage);
	/* Too much for the machine, by any resource; numbers as requested. */
	open_stage(&stage, 4, ALIGN_RESTRICTED, ALIGN_SCOPE_CONTAINER);
	trace(&stage, pod_of(100000, 100, UINT64_C(16) << 30, 16));
	assert_int_equal(stage.trace.nr_providers, 3);
	assert_provider(&stage.trace.providers[0], "cpu", TRACE_IMPOSSIBLE, 100000, 0, 0);
	assert_provider(&stage.trace.providers[1], "memory", TRACE_IMPOSSIBLE, 100 * GIB, 0, 0);
	assert_provider(&stage.trace.providers[2], "hugepages-16Gi", TRACE_IMPOSSIBLE, 16 * GIB, 0,
			0);
	assert_false(stage.trace.merged.admitted);
	close_stage(&stage);
	/* A budget that its exclusive container exhausts leaves nothing for the other one. */
	open_stage(&stage, 4, ALIGN_RESTRICTED, ALIGN_SCOPE_POD);
	spec = pod_of(2, 4, 0, 0);
	set_budget(spec, 2);
	spec->request.memory_bytes = spec->limit.memory_bytes = 4 * GIB;
	add_container(spec, "shares", CONTAINER_APP, RESOURCE_UNSET, RESOURCE_UNSET);
	trace(&stage, spec);
	assert_int_equal(stage.trace.nr_providers, 2);
	assert_provider(&stage.trace.providers[0], "cpu", TRACE_IMPOSSIBLE, -1, 0, 0);
	assert_provider(&stage.trace.providers[1], "memory", TRACE_IMPOSSIBLE, 4 * GIB, 0, 0);
	close_stage(&stage);
	/* Nothing is aligned, so there is nothing to say. */
	open_stage(&stage, 4, ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	trace(&stage, pod_of(2, 1, 0, 0));
	assert_false(stage.trace.is_aligned);
	assert_int_equal(stage.trace.nr_providers, 0);
	close_stage(&stage);
}

/* Large machines list some hints only, and say so. */
static void brief_lists_are_not_exact(void **state)
{
	(void)state;
	for (uint32_t nr = 16; nr <= 20; nr++) {
		struct stage stage;

		open_stage(&stage, nr, ALIGN_BEST_EFFORT, ALIGN_SCOPE_CONTAINER);
		trace(&stage, pod_of(2, 1, 0, 0));
		assert_int_equal(stage.trace.providers[0].is_exact, nr - 2 <= CPU_LIST_NODES);
		assert_int_equal(stage.trace.providers[1].is_exact, nr <= MEMORY_EXACT_NODES);
		close_stage(&stage);
	}
}

/* The last container that is aligned is the one that a refusal is about. */
static void a_request_traces_its_last_choice(void **state)
{
	struct pod_spec *spec = pod_of(2, 1, 0, 0);
	struct stage stage;

	(void)state;
	open_stage(&stage, 4, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	add_container(spec, "large", CONTAINER_APP, 5000, 5000);
	add_container(spec, "last", CONTAINER_APP, 1000, 1000);
	trace(&stage, spec);
	assert_int_equal(stage.trace.container, 1);
	assert_int_equal(stage.trace.providers[0].wanted, 5);
	assert_false(stage.trace.merged.admitted);
	close_stage(&stage);
}

static struct pod_spec *pod_of_two(const char *uid)
{
	struct pod_spec *spec = guaranteed_pod(uid, 2);

	add_container(spec, "second", CONTAINER_APP, 1000, 1000);
	return spec;
}

/* Would a pod get the same again, next to the pods that are there now? */
static void a_grant_is_compared_with_a_new_one(void **state)
{
	struct trace traces[2];
	struct stage stage;
	bool same = false;

	(void)state;
	open_stage(&stage, 4, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_CONTAINER);
	assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), -ENOENT);
	assert_true(admit_and_free(stage.ledger, guaranteed_pod("other", 3)).admitted);
	assert_true(admit_and_free(stage.ledger, pod_of_two("p")).admitted);
	for (int i = 0; i < 2; i++) {
		const struct ledger_pod *pod;

		same = i;
		memset(traces, 0x55, sizeof(traces));
		assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), 0);
		assert_int_equal(same, !i);
		for (uint32_t j = 0; j < 2; j++) {
			assert_true(traces[j].is_aligned);
			assert_int_equal(traces[j].container, j);
			assert_int_equal(traces[j].nr_providers, 2);
			assert_int_equal(traces[j].providers[0].wanted, 2 - j);
			assert_int_equal(traces[j].merged.hint.nodes, i ? 2 : 4);
		}
		/* The grant itself stays. */
		pod = ledger_find(stage.ledger, "p");
		assert_cpus(pod->held, "4-6");
		assert_int_equal(pod->grants[0].mems, 4);
		if (!i)
			assert_int_equal(ledger_remove(stage.ledger, "other"), 0);
	}
	assert_int_equal(ledger_begin(stage.ledger), 0);
	assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), -EBUSY);
	assert_int_equal(trace_request(stage.ledger, ledger_find(stage.ledger, "p")->spec,
				       &stage.trace),
			 -EBUSY);
	ledger_abort(stage.ledger);
	close_stage(&stage);
}

/* With pod scope there is one choice, and memory alone may make the difference. */
static void a_grant_of_memory_is_compared(void **state)
{
	struct trace traces[1];
	struct stage stage;

	(void)state;
	open_stage(&stage, 4, ALIGN_SINGLE_NUMA_NODE, ALIGN_SCOPE_POD);
	for (int i = 0; i < 2; i++) {
		struct pod_spec *spec = pod_of(1, 8, 0, 0);
		bool same = i;

		spec->containers[0].request.cpu_mcpu = spec->containers[0].limit.cpu_mcpu = 500;
		snprintf(spec->uid, sizeof(spec->uid), "%s", i ? "p" : "other");
		assert_true(admit_and_free(stage.ledger, spec).admitted);
		if (!i)
			continue;
		assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), 0);
		assert_true(same);
		assert_int_equal(traces[0].container, UINT32_MAX);
		assert_int_equal(traces[0].merged.hint.nodes, 2);
		assert_int_equal(ledger_remove(stage.ledger, "other"), 0);
		assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), 0);
		assert_false(same);
		assert_int_equal(traces[0].merged.hint.nodes, 1);
	}
	close_stage(&stage);
}

/* A pod that would be refused now would not get what it has. */
static void a_grant_that_would_be_refused(void **state)
{
	struct trace traces[1];
	struct stage stage;
	bool same = false;

	(void)state;
	open_stage(&stage, 4, ALIGN_BEST_EFFORT, ALIGN_SCOPE_CONTAINER);
	stage.policy.may_empty_shared_pool = true;
	assert_true(admit_and_free(stage.ledger, guaranteed_pod("p", 7)).admitted);
	assert_true(admit_and_free(stage.ledger, burstable_pod("shares")).admitted);
	assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), 0);
	assert_true(same);
	/* Now it would take the last CPU from a container that shares. */
	stage.policy.may_empty_shared_pool = false;
	assert_int_equal(trace_grant(stage.ledger, "p", traces, &same), 0);
	assert_false(same);
	close_stage(&stage);
}

/* Would the pod get what this record says, in place of what the ledger has of it? */
static bool is_same_as(struct stage *stage, const struct ledger_pod *record)
{
	char uid[POD_UID_MAX], error[256] = "";
	struct trace traces[2];
	bool same = false;

	snprintf(uid, sizeof(uid), "%s", record->spec->uid);
	assert_int_equal(ledger_begin(stage->ledger), 0);
	assert_int_equal(ledger_remove(stage->ledger, uid), 0);
	if (ledger_restore(stage->ledger, record, error, sizeof(error)))
		fail_msg("restore: %s", error);
	ledger_commit(stage->ledger);
	memset(traces, 0x55, sizeof(traces));
	assert_int_equal(trace_grant(stage->ledger, uid, traces, &same), 0);
	assert_int_equal(traces[0].is_aligned, stage->policy.align != ALIGN_NONE);
	return same;
}

/* The same CPUs are another grant if another container has them, or has them in another way. */
static void a_grant_is_compared_container_by_container(void **state)
{
	struct pod_spec *spec = guaranteed_pod("p", 1);
	struct ledger_pod record;
	struct grant grants[2];
	struct stage stage;

	(void)state;
	open_stage(&stage, 4, ALIGN_NONE, ALIGN_SCOPE_CONTAINER);
	add_container(spec, "second", CONTAINER_APP, 1000, 1000);
	assert_true(admit_and_free(stage.ledger, spec).admitted);
	record = record_of(ledger_find(stage.ledger, "p"), grants);
	assert_true(is_same_as(&stage, &record));
	free(record.sets);
	record = record_of(ledger_find(stage.ledger, "p"), grants);
	grants[0].cpus = ledger_find(stage.ledger, "p")->grants[1].cpus;
	grants[1].cpus = ledger_find(stage.ledger, "p")->grants[0].cpus;
	assert_false(is_same_as(&stage, &record));
	free(record.sets);
	close_stage(&stage);
	/* A budget that its only container has for itself, or as the pod's pool. */
	open_stage(&stage, 4, ALIGN_BEST_EFFORT, ALIGN_SCOPE_POD);
	spec = guaranteed_pod("p", 2);
	set_budget(spec, 2);
	assert_true(admit_and_free(stage.ledger, spec).admitted);
	record = record_of(ledger_find(stage.ledger, "p"), grants);
	assert_int_equal(grants[0].isolation, ISOLATION_CONTAINER);
	assert_true(is_same_as(&stage, &record));
	free(record.sets);
	record = record_of(ledger_find(stage.ledger, "p"), grants);
	grants[0].isolation = ISOLATION_POD;
	assert_false(is_same_as(&stage, &record));
	free(record.sets);
	close_stage(&stage);
}

static void opinions_have_names(void **state)
{
	(void)state;
	assert_string_equal(trace_opinion_name(TRACE_NO_OPINION), "any nodes will do");
	assert_string_equal(trace_opinion_name(TRACE_HINTS), "hints");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hints_are_listed_over_memory_nodes),
		cmocka_unit_test(opinions_other_than_hints),
		cmocka_unit_test(brief_lists_are_not_exact),
		cmocka_unit_test(a_request_traces_its_last_choice),
		cmocka_unit_test(a_grant_is_compared_with_a_new_one),
		cmocka_unit_test(a_grant_of_memory_is_compared),
		cmocka_unit_test(a_grant_that_would_be_refused),
		cmocka_unit_test(a_grant_is_compared_container_by_container),
		cmocka_unit_test(opinions_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
