// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/*
 * Every reason a pod can be refused for, with a scene that is refused for it.
 * Every change that the refusal names is carried out, as data, on a ledger made
 * anew, and the pod must then be admitted. tests/data/refusals has all that is
 * said of each scene.
 *
 * What is covered is counted by the enumerations of the core: a reason, a cause
 * or a kind of change that is added without a scene fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../lib/golden.h"
#include "explain_scenes.h"

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
