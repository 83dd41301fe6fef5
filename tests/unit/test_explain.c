// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/*
 * Every reason a pod can be refused for, with a scene that is refused for it.
 * Every change that the refusal names is carried out, as data, on a ledger made
 * anew, and the pod must then be admitted. tests/data/refusals has all that is
 * said of each scene.
 *
 * What is covered is counted by the enumerations of the core: a reason, a cause
 * or a kind of change that is added without a scene here fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../lib/golden.h"
#include "memory_scene.h"

/* --- machines --------------------------------------------------------------------------------- */

struct shape {
	uint32_t nodes, cores, threads; /* cores per node */
	int64_t gib;			/* per node, besides the pages */
	uint64_t pages;			/* of 2Mi, per node */
	uint64_t kernel_free;		/* of them; UNKNOWN */
	uint32_t nodes_per_socket;
};

static struct topology *machine_of(struct shape shape)
{
	uint32_t nr_cores = shape.nodes * shape.cores, nr = nr_cores * shape.threads;
	struct topology_node nodes[TOPOLOGY_MAX_NODES] = {{0}};
	struct topology_cpu *cpus = calloc(nr, sizeof(*cpus));
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = nr,
		.nodes = nodes,
		.nr_nodes = shape.nodes,
		TOPOLOGY_COUNT_ALL,
	};
	struct topology *topology = NULL;
	char error[256] = "";

	assert_non_null(cpus);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t core = i % nr_cores, node = core / shape.cores;

		cpus[i] = (struct topology_cpu){

			.id = i,
			.core = core,
			.node = node,
			.socket = node / shape.nodes_per_socket,
			.uncore = node,
		};
	}
	for (uint32_t i = 0; i < shape.nodes; i++)
		nodes[i] = (struct topology_node){
			.id = i,
			.memory_bytes = (uint64_t)(shape.gib * GIB) + shape.pages * PAGE_2M,
			.nr_hugepages = shape.pages != 0,
			.hugepages = {{PAGE_2M, shape.pages, shape.kernel_free}},
		};
	if (topology_new(&facts, error, sizeof(error), &topology))
		fail_msg("machine: %s", error);
	free(cpus);
	return topology;
}

#define UNKNOWN UINT64_MAX

/* --- scenes ----------------------------------------------------------------------------------- */

#define KIND(kind)    (1U << CHANGE_##kind)
#define MAX_RESIDENTS 4

/* A node with pods, and a further pod that is refused. */
struct scene {
	const char *name;
	struct shape shape;
	const char *reserved;
	void (*set_policy)(struct policy *policy);
	/* The existing pods: their specs in order, NULL-terminated; and the new pod. */
	struct pod_spec *(*resident)(unsigned int index);
	struct pod_spec *(*comes)(void);
	enum refusal refusal;
	enum cpu_result cpu_result;
	enum memory_result memory_result;
	unsigned int kinds; /* exactly these changes are found */
};

struct stage {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
};

static void stage_open(const struct scene *scene, struct stage *stage)
{
	struct decision decision;

	stage->topology = machine_of(scene->shape);
	stage->policy = strict_policy(scene->reserved);
	stage->policy.may_empty_shared_pool = true;
	if (scene->set_policy)
		scene->set_policy(&stage->policy);
	stage->ledger = scene_ledger(stage->topology, &stage->policy);
	if (scene->shape.kernel_free != UNKNOWN)
		ledger_set_kernel_free(stage->ledger, stage->topology->memory_nodes,
				       stage->topology->nr_memory_nodes);
	for (unsigned int i = 0; scene->resident; i++) {
		struct pod_spec *spec cleanup_pod_spec = scene->resident(i);

		if (!spec)
			break;
		assert_int_equal(admit_pod(stage->ledger, spec, &decision), 0);
		if (!decision.admitted)
			fail_msg("%s: resident %s: %s", scene->name, spec->uid, decision.message);
	}
}

static void stage_close(struct stage *stage)
{
	ledger_free(stage->ledger);
	topology_free(stage->topology);
}

/* The same node under the changed policy, with the same pods on the same CPUs and nodes. */
static struct decision carry_out(const struct scene *scene, const struct stage *stage,
				 const struct pod_spec *spec, const struct change *change)
{
	struct pod_spec *changed cleanup_pod_spec = pod_spec_copy(spec);
	struct ledger *ledger cleanup_ledger = NULL;
	struct policy policy = stage->policy;
	struct decision decision;
	char error[256] = "";

	change_policy(change, &policy);
	change_apply(change, changed);
	ledger = scene_ledger(stage->topology, &policy);
	if (scene->shape.kernel_free != UNKNOWN)
		ledger_set_kernel_free(ledger, stage->topology->memory_nodes,
				       stage->topology->nr_memory_nodes);
	for (uint32_t i = 0; i < ledger_nr_pods(stage->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(stage->ledger, i);

		if (change->kind == CHANGE_POD_LEAVES && !strcmp(pod->spec->uid, change->uid))
			continue;
		if (ledger_restore(ledger, pod, error, sizeof(error)))
			fail_msg("%s: restore %s: %s", scene->name, pod->spec->uid, error);
	}
	assert_int_equal(admit_pod(ledger, changed, &decision), 0);
	assert_sound(ledger);
	return decision;
}

/* The amount that the change modifies, as requested; NULL = not an amount. */
static int64_t *asked_for(struct pod_spec *spec, const struct change *change)
{
	struct resources *resources = &spec->request;

	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (!strcmp(spec->containers[i].name, change->container))
			resources = &spec->containers[i].request;
	}
	switch (change->kind) {
	case CHANGE_CONTAINER_CPUS:
	case CHANGE_POD_CPUS:
		return &resources->cpu_mcpu;
	case CHANGE_CONTAINER_MEMORY:
	case CHANGE_POD_MEMORY:
		return change->page_bytes ? &resources->hugepages[0].bytes
					  : &resources->memory_bytes;
	default:
		return NULL;
	}
}

/* One step nearer to the request, which must be refused; false = there is none. */
static bool step_nearer(const struct stage *stage, struct pod_spec *spec, struct change *change)
{
	bool whole = stage->policy.cpu_options.full_pcpus_only;
	const int64_t *asked = asked_for(spec, change);
	int64_t value, step;

	if (!asked)
		return false;
	if (change->kind == CHANGE_CONTAINER_CPUS || change->kind == CHANGE_POD_CPUS) {
		step = whole ? stage->topology->cpus_per_core : 1;
		value = *asked / 1000 - change->cpus;
		change->cpus += (uint32_t)(value > 0 ? step : -step);
	} else {
		step = change->page_bytes ? (int64_t)change->page_bytes : MIB;
		value = *asked - (int64_t)change->bytes;
		change->bytes += (uint64_t)(value > 0 ? step : -step);
	}
	return value > step || -value > step;
}

/* --- what is covered -------------------------------------------------------------------------- */

struct coverage {
	unsigned int refusal[REFUSAL_NR], kind[CHANGE_KIND_NR];
	unsigned int cpu_result[CPU_RESULT_NR], memory_result[MEMORY_RESULT_NR];
};

static void check_trace(const struct scene *scene, const struct stage *stage,
			const struct decision *decision)
{
	const struct trace *trace = &decision->trace;

	assert_int_equal(trace->is_aligned, stage->policy.align != ALIGN_NONE);
	if (!trace->is_aligned)
		return;
	assert_int_equal(trace->policy, stage->policy.align);
	if ((decision->refusal == REFUSAL_TOPOLOGY) == trace->merged.admitted)
		fail_msg("%s: the trace has another outcome than the decision", scene->name);
	for (uint32_t i = 0; i < trace->nr_providers; i++) {
		const struct trace_provider *provider = &trace->providers[i];

		assert_true(provider->resource[0]);
		assert_true(provider->nr_listed <= provider->nr_hints);
		assert_true(provider->nr_preferred <= provider->nr_hints);
		assert_int_equal(provider->nr_hints != 0, provider->opinion == TRACE_HINTS ||
								  provider->opinion == TRACE_KEEPS);
	}
}

/* The change works, and if it is an amount, no nearer amount does. */
static void check_change(const struct scene *scene, const struct stage *stage,
			 struct pod_spec *spec, struct change change)
{
	struct decision decision = carry_out(scene, stage, spec, &change);

	assert_true(change.text[0]);
	if (!decision.admitted)
		fail_msg("%s: '%s' does not work: %s", scene->name, change.text, decision.message);
	if (step_nearer(stage, spec, &change) && carry_out(scene, stage, spec, &change).admitted)
		fail_msg("%s: '%s' is not the nearest", scene->name, change.text);
}

static void check_refusal(const struct scene *scene, const struct decision *decision)
{
	if (decision->admitted)
		fail_msg("%s: is admitted", scene->name);
	if (decision->refusal != scene->refusal || decision->cpu_result != scene->cpu_result ||
	    decision->memory_result != scene->memory_result)
		fail_msg("%s: refused for %s, %s, %s: %s", scene->name,
			 refusal_name(decision->refusal), cpu_result_name(decision->cpu_result),
			 memory_result_name(decision->memory_result), decision->message);
}

/* --- what is said ----------------------------------------------------------------------------- */

static char *account;
static size_t account_len;
static FILE *account_file;

static void write_provider(const struct trace_provider *provider)
{
	fprintf(account_file, "  %s: %s", provider->resource,
		trace_opinion_name(provider->opinion));
	if (provider->wanted >= 0)
		fprintf(account_file, " for %lld%s", (long long)provider->wanted,
			provider->is_bytes ? " bytes" : " CPUs");
	if (provider->opinion == TRACE_HINTS)
		fprintf(account_file,
			", %s%u and %u preferred:", provider->is_exact ? "" : "some of ",
			provider->nr_hints, provider->nr_preferred);
	for (uint32_t i = 0; i < provider->nr_listed; i++)
		fprintf(account_file, " %#llx%s", (unsigned long long)provider->hints[i].nodes,
			provider->hints[i].preferred ? "*" : "");
	fprintf(account_file, "\n");
}

static void write_trace(const struct trace *trace)
{
	const struct hint *hint = &trace->merged.hint;

	if (!trace->is_aligned)
		return;
	fprintf(account_file, "aligned by %s, ", align_policy_name(trace->policy));
	if (trace->container == UINT32_MAX)
		fprintf(account_file, "the pod as a whole: ");
	else
		fprintf(account_file, "container %u: ", trace->container);
	if (hint->any)
		fprintf(account_file, "any nodes");
	else
		fprintf(account_file, "nodes %#llx", (unsigned long long)hint->nodes);
	fprintf(account_file, "%s, %s\n", hint->preferred ? "*" : "",
		trace->merged.admitted ? "admitted" : "not admitted");
	for (uint32_t i = 0; i < trace->nr_providers; i++)
		write_provider(&trace->providers[i]);
}

/* All of a refusal that an operator or a program is told, but its enumerators. */
static void write_account(const char *name, const struct decision *decision)
{
	fprintf(account_file, "# %s\n%s", name, decision->reason);
	if (decision->container[0])
		fprintf(account_file, " of %s", decision->container);
	fprintf(account_file, ": %lld wanted, %lld available", (long long)decision->wanted,
		(long long)decision->available);
	if (decision->is_memory)
		fprintf(account_file, ", bytes in pages of %llu",
			(unsigned long long)decision->page_bytes);
	fprintf(account_file, "%s\n%s\n", decision->is_both ? ", CPUs and memory" : "",
		decision->message);
	if (decision->change.kind) {
		assert_string_equal(decision->suggestion, decision->change.text);
		fprintf(account_file, "- %s\n", decision->suggestion);
	}
	for (uint32_t i = 0; i < decision->nr_others; i++)
		fprintf(account_file, "- %s\n", decision->others[i].text);
	write_trace(&decision->trace);
	fprintf(account_file, "\n");
}

static int open_account(void **state)
{
	(void)state;
	account_file = open_memstream(&account, &account_len);
	return !account_file;
}

static int close_account(void **state)
{
	(void)state;
	free(account);
	return 0;
}

static void play(const struct scene *scene, struct coverage *coverage)
{
	struct pod_spec *spec cleanup_pod_spec = scene->comes();
	unsigned int kinds = 0;
	struct decision decision;
	struct stage stage;

	stage_open(scene, &stage);
	assert_int_equal(admit_pod(stage.ledger, spec, &decision), 0);
	check_refusal(scene, &decision);
	write_account(scene->name, &decision);
	check_trace(scene, &stage, &decision);
	for (uint32_t i = 0; i <= decision.nr_others && decision.change.kind; i++) {
		const struct change *change = i ? &decision.others[i - 1] : &decision.change;

		check_change(scene, &stage, spec, *change);
		kinds |= 1U << change->kind;
		coverage->kind[change->kind]++;
	}
	if (kinds != scene->kinds)
		fail_msg("%s: kinds of changes %#x, not %#x; nearest: %s", scene->name, kinds,
			 scene->kinds, decision.suggestion);
	coverage->refusal[decision.refusal]++;
	coverage->cpu_result[decision.cpu_result]++;
	coverage->memory_result[decision.memory_result]++;
	stage_close(&stage);
}

/* --- policies --------------------------------------------------------------------------------- */

static void whole_cores(struct policy *policy)
{
	policy->cpu_options.full_pcpus_only = true;
}

static void keep_last(struct policy *policy)
{
	policy->may_empty_shared_pool = false;
}

static void restricted(struct policy *policy)
{
	policy->align = ALIGN_RESTRICTED;
}

static void single_pod(struct policy *policy)
{
	policy->align = ALIGN_SINGLE_NUMA_NODE;
	policy->scope = ALIGN_SCOPE_POD;
}

static void best_effort_pod(struct policy *policy)
{
	policy->align = ALIGN_BEST_EFFORT;
	policy->scope = ALIGN_SCOPE_POD;
}

static void restricted_pod(struct policy *policy)
{
	policy->align = ALIGN_RESTRICTED;
	policy->scope = ALIGN_SCOPE_POD;
}

static void memory_static(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
}

static void memory_best_effort(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_BEST_EFFORT;
}

static void memory_restricted(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_RESTRICTED;
}

static void memory_single(struct policy *policy)
{
	policy->memory = MEMORY_POLICY_STATIC;
	policy->align = ALIGN_SINGLE_NUMA_NODE;
}

static void memory_best_effort_pod(struct policy *policy)
{
	memory_best_effort(policy);
	policy->scope = ALIGN_SCOPE_POD;
}

static void memory_restricted_pod(struct policy *policy)
{
	memory_restricted(policy);
	policy->scope = ALIGN_SCOPE_POD;
}

/* The kubelet never returns here, because it distributes groups but has counted CPUs. */
static void kubelet_hangs(struct policy *policy)
{
	policy->compatibility = COMPATIBILITY_KUBELET_1_36;
	policy->cpu_options.full_pcpus_only = true;
	policy->cpu_options.distribute_across_numa = true;
}

static void kubelet_spreads(struct policy *policy)
{
	policy->compatibility = COMPATIBILITY_KUBELET_1_36;
	policy->cpu_options.distribute_across_numa = true;
}

static void kubelet_best_effort(struct policy *policy)
{
	memory_best_effort(policy);
	policy->compatibility = COMPATIBILITY_KUBELET_1_36;
}

static void kubelet_best_effort_pod(struct policy *policy)
{
	kubelet_best_effort(policy);
	policy->scope = ALIGN_SCOPE_POD;
}

/* --- pods ------------------------------------------------------------------------------------- */

static struct pod_spec *pod_with(const char *uid, int64_t cpus, int64_t bytes)
{
	struct pod_spec *spec = guaranteed_pod(uid, cpus);
	struct container_spec *container = &spec->containers[0];

	container->request.memory_bytes = container->limit.memory_bytes = bytes;
	return spec;
}

static struct pod_spec *four_cpus(unsigned int index)
{
	return index ? NULL : guaranteed_pod("a", 4);
}

static struct pod_spec *web(unsigned int index)
{
	return index ? NULL : burstable_pod("web");
}

static struct pod_spec *five(void)
{
	return guaranteed_pod("p", 5);
}

static struct pod_spec *three(void)
{
	return guaranteed_pod("p", 3);
}

static struct pod_spec *four(void)
{
	return guaranteed_pod("p", 4);
}

static struct pod_spec *seven(void)
{
	return guaranteed_pod("p", 7);
}

static struct pod_spec *six_there(unsigned int index)
{
	return index ? NULL : guaranteed_pod("a", 6);
}

/* All of the shared pool, while nobody needs it. */
static struct pod_spec *seven_there(unsigned int index)
{
	return index ? NULL : guaranteed_pod("a", 7);
}

static struct pod_spec *one_each(unsigned int index)
{
	const char *const uids[] = {"a", "b", "c"};

	return index < ARRAY_SIZE(uids) ? guaranteed_pod(uids[index], 1) : NULL;
}

static struct pod_spec *one(void)
{
	return guaranteed_pod("p", 1);
}

static struct pod_spec *needs_shared(void)
{
	return burstable_pod("p");
}

/* Both nodes half taken. */
static struct pod_spec *four_on_each(unsigned int index)
{
	return index > 1 ? NULL : guaranteed_pod(index ? "b" : "a", 4);
}

static struct pod_spec *six(void)
{
	return guaranteed_pod("p", 6);
}

static struct pod_spec *two_of_five(void)
{
	struct pod_spec *spec = guaranteed_pod("p", 5);

	add_container(spec, "second", CONTAINER_APP, 5000, 5000);
	return spec;
}

static struct pod_spec *budget(int64_t cpus, int64_t exclusive, bool shares)
{
	struct pod_spec *spec = scene_pod("p");

	set_budget(spec, cpus);
	if (shares)
		add_container(spec, "side", CONTAINER_SIDECAR, RESOURCE_UNSET, RESOURCE_UNSET);
	add_container(spec, "main", CONTAINER_APP, exclusive * 1000, exclusive * 1000);
	return spec;
}

static struct pod_spec *budget_too_large(void)
{
	return budget(10, 4, true);
}

static struct pod_spec *budget_of_two(void)
{
	return budget(2, 1, false);
}

static struct pod_spec *budget_used_up(void)
{
	return budget(4, 4, true);
}

static struct pod_spec *budget_too_small(void)
{
	struct pod_spec *spec = budget(4, 3, false);

	add_container(spec, "second", CONTAINER_APP, 2000, 2000);
	return spec;
}

static struct pod_spec *twelve_gib(unsigned int index)
{
	return index ? NULL : pod_with("a", 1, 12 * GIB);
}

static struct pod_spec *six_gib(void)
{
	return pod_with("p", 1, 6 * GIB);
}

static struct pod_spec *ten_gib(void)
{
	return pod_with("p", 1, 10 * GIB);
}

static struct pod_spec *six_and_seven(unsigned int index)
{
	return index > 1 ? NULL : pod_with(index ? "b" : "a", 1, (index ? 7 : 6) * GIB);
}

static struct pod_spec *three_gib(void)
{
	return pod_with("p", 1, 3 * GIB);
}

/* 6 GiB on node 0; 2 CPUs of node 1 */
static struct pod_spec *seven_and_cpus(unsigned int index)
{
	if (index > 1)
		return NULL;
	return index ? pod_with("b", 3, 2 * GIB) : pod_with("a", 1, 7 * GIB);
}

/* Most memory of both nodes that have CPUs. */
static struct pod_spec *seven_gib_on_each(unsigned int index)
{
	return index > 1 ? NULL : pod_with(index ? "b" : "a", 1, 7 * GIB);
}

static struct pod_spec *two_cpus_three_gib(void)
{
	return pod_with("p", 2, 3 * GIB);
}

/* Only node 2 has two CPUs; then most of its memory is taken. */
static struct pod_spec *seven_gib_beside(unsigned int index)
{
	return index ? NULL : pod_with("a", 2, 7 * GIB);
}

static struct pod_spec *two_cpus_ten_gib(void)
{
	return pod_with("p", 2, 10 * GIB);
}

/* Nodes 0 and 1 keep most of their CPUs, but each serves a pod alone. */
static struct pod_spec *six_gib_on_each(unsigned int index)
{
	return index > 1 ? NULL : pod_with(index ? "b" : "a", 2, 6 * GIB);
}

static struct pod_spec *twelve_cpus_ten_gib(void)
{
	return pod_with("p", 12, 10 * GIB);
}

/* Most memory of node 0, most pages of node 1, all CPUs of node 2. */
static struct pod_spec *each_lacks_one(unsigned int index)
{
	struct pod_spec *spec;

	if (index > 2)
		return NULL;
	if (index != 1)
		return index ? pod_with("c", 4, GIB) : pod_with("a", 1, 7 * GIB);
	spec = pod_with("b", 2, 4 * GIB);
	ask_pages(&spec->containers[0], PAGE_2M, 1536 * MIB);
	return spec;
}

static struct pod_spec *two_cpus_three_gib_and_pages(void)
{
	struct pod_spec *spec = two_cpus_three_gib();

	ask_pages(&spec->containers[0], PAGE_2M, GIB);
	return spec;
}

static struct pod_spec *seven_gib_there(unsigned int index)
{
	return index ? NULL : pod_with("a", 1, 7 * GIB);
}

static struct pod_spec *fourteen_cpus_three_gib(void)
{
	return pod_with("p", 14, 3 * GIB);
}

static struct pod_spec *with_pages(uint64_t page_bytes, int64_t bytes)
{
	struct pod_spec *spec = pod_with("p", 1, GIB);

	ask_pages(&spec->containers[0], page_bytes, bytes);
	return spec;
}

static struct pod_spec *many_pages(void)
{
	return with_pages(PAGE_2M, 5 * GIB);
}

static struct pod_spec *few_pages(void)
{
	return with_pages(PAGE_2M, 512 * MIB);
}

static struct pod_spec *unknown_pages(void)
{
	return with_pages(PAGE_1G, 2 * GIB);
}

static struct pod_spec *pages_held(unsigned int index)
{
	struct pod_spec *spec;

	if (index)
		return NULL;
	spec = with_pages(PAGE_2M, GIB);
	snprintf(spec->uid, sizeof(spec->uid), "a");
	snprintf(spec->name, sizeof(spec->name), "a");
	return spec;
}

/* All CPUs of node 0; on node 1 three quarters of the pages */
static struct pod_spec *cpus_and_pages_apart(unsigned int index)
{
	struct pod_spec *spec;

	if (index > 1)
		return NULL;
	spec = index ? pod_with("b", 1, GIB) : pod_with("a", 3, GIB);
	if (index)
		ask_pages(&spec->containers[0], PAGE_2M, 1536 * MIB);
	return spec;
}

static struct pod_spec *two_cpus_and_pages(void)
{
	struct pod_spec *spec = pod_with("p", 2, GIB);

	ask_pages(&spec->containers[0], PAGE_2M, GIB);
	return spec;
}

/* Pod level: 8 GiB of memory for the pod, `bytes` of them exclusively `main`'s. */
static struct pod_spec *memory_budget(int64_t bytes, enum container_kind kind)
{
	struct pod_spec *spec = budget(6, 2, kind == CONTAINER_SIDECAR);
	struct container_spec *container = &spec->containers[spec->nr_containers - 1];

	spec->request.memory_bytes = spec->limit.memory_bytes = 8 * GIB;
	container->request.memory_bytes = container->limit.memory_bytes = bytes;
	return spec;
}

static struct pod_spec *memory_used_up(void)
{
	return memory_budget(8 * GIB, CONTAINER_SIDECAR);
}

static struct pod_spec *memory_budget_too_large(void)
{
	struct pod_spec *spec = memory_budget(2 * GIB, CONTAINER_SIDECAR);

	spec->request.memory_bytes = spec->limit.memory_bytes = 20 * GIB;
	return spec;
}

/* An exclusive sidecar has all of the memory when a shared init container comes. */
static struct pod_spec *nothing_for_init(void)
{
	struct pod_spec *spec = scene_pod("p");
	struct container_spec *side;

	set_budget(spec, 6);
	spec->request.memory_bytes = spec->limit.memory_bytes = 8 * GIB;
	side = add_container(spec, "side", CONTAINER_SIDECAR, 2000, 2000);
	side->request.memory_bytes = side->limit.memory_bytes = 8 * GIB;
	add_container(spec, "setup", CONTAINER_INIT, RESOURCE_UNSET, RESOURCE_UNSET);
	return spec;
}

static struct pod_spec *init_over_budget(void)
{
	struct pod_spec *spec = scene_pod("p");
	struct container_spec *setup;

	set_budget(spec, 6);
	spec->request.memory_bytes = spec->limit.memory_bytes = 8 * GIB;
	setup = add_container(spec, "setup", CONTAINER_INIT, 2000, 2000);
	setup->request.memory_bytes = setup->limit.memory_bytes = 9 * GIB;
	add_container(spec, "main", CONTAINER_APP, 2000, 2000);
	return spec;
}

static struct pod_spec *thirty(void)
{
	return guaranteed_pod("p", 30);
}

static struct pod_spec *fourteen(void)
{
	return guaranteed_pod("p", 14);
}

static struct pod_spec *two_gib_there(unsigned int index)
{
	return index ? NULL : pod_with("a", 1, 2 * GIB);
}

/* Its sidecar requests nothing, and the kubelet still searches for nodes. */
static struct pod_spec *shared_beside(void)
{
	return budget(4, 2, true);
}

/* CPUs of both nodes, so the pod is aligned to both although one would suffice for `main`. */
static struct pod_spec *large_init(void)
{
	struct pod_spec *spec = scene_pod("p");
	struct container_spec *setup = add_container(spec, "setup", CONTAINER_INIT, 6000, 6000);

	setup->request.memory_bytes = setup->limit.memory_bytes = 11 * GIB;
	setup = add_container(spec, "main", CONTAINER_APP, 6000, 6000);
	setup->request.memory_bytes = setup->limit.memory_bytes = 8 * GIB;
	return spec;
}

/* Beyond what counts and sets of CPUs are made for; odd, even, and 2 when cut to 32 bits. */
static struct pod_spec *nine_thousand(void)
{
	return guaranteed_pod("p", 9000);
}

static struct pod_spec *more_than_32_bits(void)
{
	return guaranteed_pod("p", 4294967298);
}

/* --- the scenes themselves -------------------------------------------------------------------- */

static const struct scene scenes[] = {
	{"thousands of CPUs",
	 {1, 16, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 NULL,
	 NULL,
	 nine_thousand,
	 REFUSAL_CPUS,
	 CPU_NOT_ENOUGH,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS)},
	{"billions of CPUs on whole cores",
	 {1, 8, 2, 8, 0, UNKNOWN, 1},
	 "0,8",
	 whole_cores,
	 NULL,
	 more_than_32_bits,
	 REFUSAL_SMT,
	 CPU_SMT_NO_FREE_CORES,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS)},
	{"thousands of CPUs on one node",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 restricted,
	 NULL,
	 nine_thousand,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS)},
	{"too many CPUs",
	 {1, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 NULL,
	 four_cpus,
	 five,
	 REFUSAL_CPUS,
	 CPU_NOT_ENOUGH,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(POD_LEAVES)},
	{"one CPU too many",
	 {1, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 NULL,
	 one_each,
	 one,
	 REFUSAL_CPUS,
	 CPU_NOT_ENOUGH,
	 MEMORY_OK,
	 KIND(POD_LEAVES)},
	{"a budget for one CPU",
	 {1, 2, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 best_effort_pod,
	 NULL,
	 budget_of_two,
	 REFUSAL_CPUS,
	 CPU_NOT_ENOUGH,
	 MEMORY_OK,
	 KIND(POD_CPUS)},
	{"no multiple of a core",
	 {1, 4, 2, 8, 0, UNKNOWN, 1},
	 "0,4",
	 whole_cores,
	 NULL,
	 three,
	 REFUSAL_SMT,
	 CPU_SMT_NOT_MULTIPLE,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(ANY_CORES)},
	{"no free cores",
	 {1, 4, 2, 8, 0, UNKNOWN, 1},
	 "0,4",
	 whole_cores,
	 four_cpus,
	 four,
	 REFUSAL_SMT,
	 CPU_SMT_NO_FREE_CORES,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(POD_LEAVES)},
	{"no free core at all",
	 {1, 4, 2, 8, 0, UNKNOWN, 1},
	 "0,4",
	 whole_cores,
	 six_there,
	 four,
	 REFUSAL_SMT,
	 CPU_SMT_NO_FREE_CORES,
	 MEMORY_OK,
	 KIND(POD_LEAVES)},
	{"fewer nodes would do",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 restricted,
	 four_on_each,
	 six,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(ALIGN_POLICY) | KIND(POD_LEAVES)},
	/* The first of two pods that hold the same amount is on a node that is too small anyway. */
	{"one of them is in the way",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0-3",
	 restricted,
	 four_on_each,
	 six,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(POD_LEAVES)},
	{"the pod on one node",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 single_pod,
	 NULL,
	 two_of_five,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(ALIGN_POLICY) | KIND(ALIGN_SCOPE)},
	{"budget on one node",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 single_pod,
	 NULL,
	 budget_too_large,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(POD_CPUS) | KIND(ALIGN_POLICY) | KIND(ALIGN_SCOPE)},
	{"budget used up",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 best_effort_pod,
	 NULL,
	 budget_used_up,
	 REFUSAL_EMPTY_SHARED_POOL,
	 CPU_EMPTY_POD_POOL,
	 MEMORY_OK,
	 KIND(POD_CPUS) | KIND(CONTAINER_CPUS)},
	{"budget used up, aligned",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 restricted_pod,
	 NULL,
	 budget_used_up,
	 REFUSAL_TOPOLOGY,
	 CPU_EMPTY_POD_POOL,
	 MEMORY_OK,
	 KIND(POD_CPUS) | KIND(CONTAINER_CPUS) | KIND(ALIGN_SCOPE)},
	{"budget too small",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 best_effort_pod,
	 NULL,
	 budget_too_small,
	 REFUSAL_POD_BUDGET,
	 CPU_NOT_ENOUGH,
	 MEMORY_OK,
	 KIND(POD_CPUS) | KIND(CONTAINER_CPUS)},
	{"the last shared CPU",
	 {1, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 keep_last,
	 web,
	 seven,
	 REFUSAL_LAST_SHARED_CPU,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(POD_LEAVES)},
	{"the only shared CPU",
	 {1, 2, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 keep_last,
	 web,
	 one,
	 REFUSAL_LAST_SHARED_CPU,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(POD_LEAVES)},
	{"no shared CPU is left",
	 {1, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 keep_last,
	 seven_there,
	 needs_shared,
	 REFUSAL_LAST_SHARED_CPU,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(POD_LEAVES)},

	{"too much memory",
	 {2, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 memory_static,
	 twelve_gib,
	 six_gib,
	 REFUSAL_MEMORY,
	 CPU_OK,
	 MEMORY_NO_DEFAULT,
	 KIND(CONTAINER_MEMORY) | KIND(POD_LEAVES)},
	{"nodes that do not combine",
	 {2, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 memory_restricted,
	 six_and_seven,
	 three_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_NO_DEFAULT,
	 KIND(CONTAINER_MEMORY) | KIND(POD_LEAVES)},
	{"more nodes than one",
	 {2, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 memory_single,
	 NULL,
	 ten_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_NO_DEFAULT_PREFERRED,
	 KIND(CONTAINER_MEMORY) | KIND(ALIGN_POLICY)},
	{"nothing in common",
	 {2, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 memory_single,
	 seven_and_cpus,
	 two_cpus_three_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_MEMORY) | KIND(CONTAINER_CPUS) | KIND(ALIGN_POLICY) | KIND(POD_LEAVES)},
	{"nothing in common but for pages",
	 {2, 4, 1, 8, 1024, UNKNOWN, 1},
	 "0",
	 memory_single,
	 cpus_and_pages_apart,
	 two_cpus_and_pages,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_MEMORY) | KIND(ALIGN_POLICY) | KIND(POD_LEAVES)},
	/* The numbers of the refusal do not say that the other node has five CPUs. */
	{"far fewer CPUs beside the memory",
	 {2, 16, 1, 8, 0, UNKNOWN, 1},
	 "16-26",
	 memory_single,
	 seven_gib_there,
	 fourteen_cpus_three_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_MEMORY) | KIND(CONTAINER_CPUS) | KIND(ALIGN_POLICY) | KIND(POD_LEAVES)},
	{"CPUs of two nodes beside the memory",
	 {3, 4, 1, 8, 0, UNKNOWN, 1},
	 "0,8-10",
	 memory_single,
	 seven_gib_on_each,
	 two_cpus_three_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_MEMORY) | KIND(CONTAINER_CPUS) | KIND(ALIGN_POLICY) | KIND(POD_LEAVES)},
	{"memory of two nodes beside the CPUs",
	 {3, 4, 1, 8, 0, UNKNOWN, 1},
	 "0-2,4-6",
	 memory_restricted,
	 seven_gib_beside,
	 two_cpus_ten_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_MEMORY) | KIND(ALIGN_POLICY)},
	{"memory and CPUs of two nodes each",
	 {4, 8, 1, 8, 0, UNKNOWN, 1},
	 "16-22,24-30",
	 memory_restricted,
	 six_gib_on_each,
	 twelve_cpus_ten_gib,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(ALIGN_POLICY)},
	{"each node lacks something else",
	 {3, 4, 1, 8, 1024, UNKNOWN, 1},
	 "0",
	 memory_single,
	 each_lacks_one,
	 two_cpus_three_gib_and_pages,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_OK,
	 KIND(CONTAINER_MEMORY) | KIND(ALIGN_POLICY) | KIND(POD_LEAVES)},
	{"too many pages",
	 {2, 4, 1, 8, 1024, UNKNOWN, 1},
	 "0",
	 memory_best_effort,
	 NULL,
	 many_pages,
	 REFUSAL_HUGEPAGES,
	 CPU_OK,
	 MEMORY_NO_EXTENSION,
	 KIND(CONTAINER_MEMORY)},
	{"pages held by others",
	 {1, 4, 1, 8, 512, UNKNOWN, 1},
	 "0",
	 memory_static,
	 pages_held,
	 few_pages,
	 REFUSAL_HUGEPAGES,
	 CPU_OK,
	 MEMORY_NO_DEFAULT,
	 KIND(POD_LEAVES)},
	{"pages the kernel has not",
	 {1, 4, 1, 8, 512, 10, 1},
	 "0",
	 memory_static,
	 NULL,
	 few_pages,
	 REFUSAL_HUGEPAGES,
	 CPU_OK,
	 MEMORY_NO_DEFAULT,
	 KIND(CONTAINER_MEMORY)},
	{"pages the kernel has not, on nodes of a group",
	 {2, 4, 1, 8, 512, 10, 1},
	 "0-2",
	 memory_best_effort,
	 twelve_gib,
	 two_cpus_and_pages,
	 REFUSAL_HUGEPAGES,
	 CPU_OK,
	 MEMORY_GROUP,
	 KIND(CONTAINER_MEMORY)},
	{"a page size that is not there",
	 {1, 4, 1, 8, 2048, UNKNOWN, 1},
	 "0",
	 memory_static,
	 NULL,
	 unknown_pages,
	 REFUSAL_HUGEPAGES,
	 CPU_OK,
	 MEMORY_NO_DEFAULT,
	 KIND(PAGE_SIZE)},
	{"memory budget too large",
	 {2, 8, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 memory_best_effort_pod,
	 NULL,
	 memory_budget_too_large,
	 REFUSAL_MEMORY,
	 CPU_OK,
	 MEMORY_NO_EXTENSION,
	 KIND(POD_MEMORY)},
	{"memory budget used up",
	 {2, 8, 1, 16, 0, UNKNOWN, 1},
	 "0",
	 memory_best_effort_pod,
	 NULL,
	 memory_used_up,
	 REFUSAL_EMPTY_SHARED_POOL,
	 CPU_OK,
	 MEMORY_EMPTY_POOL,
	 KIND(POD_MEMORY) | KIND(CONTAINER_MEMORY)},
	{"no memory for the init container",
	 {2, 8, 1, 16, 0, UNKNOWN, 1},
	 "0",
	 memory_best_effort_pod,
	 NULL,
	 nothing_for_init,
	 REFUSAL_EMPTY_SHARED_POOL,
	 CPU_OK,
	 MEMORY_EMPTY_INIT_POOL,
	 KIND(POD_MEMORY) | KIND(CONTAINER_MEMORY)},
	{"an init container over the budget",
	 {2, 8, 1, 16, 0, UNKNOWN, 1},
	 "0",
	 memory_restricted_pod,
	 NULL,
	 init_over_budget,
	 REFUSAL_TOPOLOGY,
	 CPU_OK,
	 MEMORY_INIT_OVER_BUDGET,
	 KIND(POD_MEMORY) | KIND(CONTAINER_MEMORY) | KIND(ALIGN_SCOPE)},
	{"the kubelet's endless loop",
	 {5, 5, 2, 8, 0, UNKNOWN, 1},
	 "3,43,46",
	 kubelet_hangs,
	 NULL,
	 thirty,
	 REFUSAL_CPUS,
	 CPU_HANG,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(REPAIRED)},
	{"the kubelet's own accounts",
	 {8, 3, 1, 8, 0, UNKNOWN, 2},
	 "1,5-6,10,14,17-18,20",
	 kubelet_spreads,
	 NULL,
	 fourteen,
	 REFUSAL_CPUS,
	 CPU_ACCOUNTING_TOO_FEW,
	 MEMORY_OK,
	 KIND(CONTAINER_CPUS) | KIND(REPAIRED)},
	{"the kubelet and a shared container",
	 {2, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 kubelet_best_effort,
	 two_gib_there,
	 shared_beside,
	 REFUSAL_MEMORY,
	 CPU_OK,
	 MEMORY_GROUP,
	 KIND(REPAIRED) | KIND(POD_LEAVES)},
	{"the kubelet extends",
	 {2, 4, 1, 8, 0, UNKNOWN, 1},
	 "0",
	 kubelet_best_effort_pod,
	 NULL,
	 large_init,
	 REFUSAL_MEMORY,
	 CPU_OK,
	 MEMORY_NO_EXTENSION_PREFERRED,
	 KIND(CONTAINER_MEMORY) | KIND(REPAIRED)},
};

static struct coverage coverage;

static void is_explained(void **state)
{
	play(*state, &coverage);
}

/* Set by code outside the core, or by no known input, with the reason. */
static const char *const without_scene[REFUSAL_NR] = {
	[REFUSAL_NONE] = "is none",
	[REFUSAL_STATE] = "the controller's: no change of the pod helps",
	[REFUSAL_SPEC] = "the source's: there is no pod to change",
};

static const char *const no_cpu_scene[CPU_RESULT_NR] = {
	[CPU_FAILED] = "the kubelet has it, and nothing leads there",
	[CPU_ACCOUNTING_TOO_MANY] = "in kubelet-1.36 only, and no input is known to lead there",
};

/* Runs last, after all scenes above. */
static void every_enumerator_is_covered(void **state)
{
	(void)state;
	for (int i = 0; i < REFUSAL_NR; i++) {
		assert_non_null(refusal_remedy((enum refusal)i));
		assert_int_equal(refusal_remedy((enum refusal)i)[0] != 0, i != REFUSAL_NONE);
		if (!coverage.refusal[i] == !without_scene[i])
			fail_msg("refusal %s: %u scenes", refusal_name((enum refusal)i),
				 coverage.refusal[i]);
	}
	for (int i = 0; i < CPU_RESULT_NR; i++) {
		if (!coverage.cpu_result[i] == !no_cpu_scene[i])
			fail_msg("CPU manager's %s: %u scenes", cpu_result_name((enum cpu_result)i),
				 coverage.cpu_result[i]);
	}
	for (int i = 0; i < MEMORY_RESULT_NR; i++) {
		if (!coverage.memory_result[i])
			fail_msg("memory manager's %s: no scene",
				 memory_result_name((enum memory_result)i));
	}
	for (int i = CHANGE_NONE + 1; i < CHANGE_KIND_NR; i++) {
		if (!coverage.kind[i])
			fail_msg("change %s: no scene", change_kind_name((enum change_kind)i));
	}
}

static void all_is_said_as_recorded(void **state)
{
	(void)state;
	assert_int_equal(fclose(account_file), 0);
	golden_compare("tests/data/refusals", account);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(scenes) + 2];

	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++)
		tests[i] = (struct CMUnitTest){.name = scenes[i].name,
					       .test_func = is_explained,
					       .initial_state = (void *)&scenes[i]};
	tests[ARRAY_SIZE(scenes)] = (struct CMUnitTest){.name = "nothing is left out",
							.test_func = every_enumerator_is_covered};
	tests[ARRAY_SIZE(scenes) + 1] =
		(struct CMUnitTest)cmocka_unit_test(all_is_said_as_recorded);
	return cmocka_run_group_tests(tests, open_account, close_account);
}
