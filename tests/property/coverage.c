// SPDX-License-Identifier: Apache-2.0
/* How often everything occurred: a run that never meets an option proves nothing of it. */
#include "property.h"

#include <stdio.h>

static const char *const option_names[OPTION_NR] = {
	[OPTION_FULL_PCPUS] = "full-pcpus-only",
	[OPTION_DISTRIBUTE_NUMA] = "distribute-cpus-across-numa",
	[OPTION_ALIGN_SOCKET] = "align-by-socket",
	[OPTION_DISTRIBUTE_CORES] = "distribute-cpus-across-cores",
	[OPTION_STRICT] = "strict-cpu-reservation",
	[OPTION_UNCORE] = "prefer-align-cpus-by-uncorecache",
	[OPTION_CPU_NONE] = "cpuManagerPolicy none",
	[OPTION_CPU_STATIC] = "cpuManagerPolicy static",
	[OPTION_RESERVED_LIST] = "reserved by list",
	[OPTION_RESERVED_COUNT] = "reserved by count",
	[OPTION_EXCLUDED] = "CPUs kept alone by the kernel",
	[OPTION_CLOSEST] = "prefer-closest-numa-nodes",
	[OPTION_MAX_NODES] = "max-allowable-numa-nodes",
	[OPTION_MEMORY_NONE] = "memoryManagerPolicy None",
	[OPTION_MEMORY_STATIC] = "memoryManagerPolicy Static",
	[OPTION_MEMORY_RESERVED] = "reservedMemory on several nodes",
	[OPTION_POD_LEVEL] = "PodLevelResourceManagers",
	[OPTION_POD_LEVEL_OFF] = "PodLevelResourceManagers off",
};

static const char *const event_names[EVENT_NR] = {
	[EVENT_ADMIT] = "new pod",
	[EVENT_CHANGE] = "changed pod",
	[EVENT_RESIZE] = "resized pod",
	[EVENT_AGAIN] = "same again",
	[EVENT_REMOVE] = "removal",
	[EVENT_ENDING] = "ending",
	[EVENT_ABORT] = "abort",
	[EVENT_RESTART] = "restart",
	[EVENT_STALE] = "stale record",
	[EVENT_OFFLINE] = "CPUs off and on",
	[EVENT_RELOAD] = "other alignment",
};

static const char *const feature_names[FEATURE_NR] = {
	[FEATURE_BUDGET] = "pod with a budget",
	[FEATURE_BUBBLE] = "bubble",
	[FEATURE_INIT] = "init container",
	[FEATURE_SIDECAR] = "sidecar",
	[FEATURE_INIT_REUSE] = "CPUs of an init container used again",
	[FEATURE_PAGES] = "huge pages",
	[FEATURE_GROUP] = "memory of several nodes",
	[FEATURE_ALIGNED] = "alignment checked",
	[FEATURE_SUGGESTION] = "suggestion carried out",
	[FEATURE_MIRRORED] = "encoded, decoded, recovered",
	[FEATURE_SIMULATED] = "simulated",
	[FEATURE_EPHEMERAL] = "ephemeral container",
	[FEATURE_KEPT_OFFLINE] = "pod kept when CPUs went",
	[FEATURE_LOST_OFFLINE] = "pod lost when CPUs went",
};

void cover_policy(struct coverage *coverage, const struct shape *shape, const struct policy *policy)
{
	const struct cpu_options *options = &policy->cpu_options;
	const bool on[OPTION_NR] = {
		[OPTION_FULL_PCPUS] = options->full_pcpus_only,
		[OPTION_DISTRIBUTE_NUMA] = options->distribute_across_numa,
		[OPTION_ALIGN_SOCKET] = options->align_by_socket,
		[OPTION_DISTRIBUTE_CORES] = options->distribute_across_cores,
		[OPTION_STRICT] = options->strict_reservation,
		[OPTION_UNCORE] = options->prefer_uncore,
		[OPTION_CPU_NONE] = policy->cpu == CPU_POLICY_NONE,
		[OPTION_CPU_STATIC] = policy->cpu == CPU_POLICY_STATIC,
		[OPTION_RESERVED_LIST] = policy->has_reserved_list,
		[OPTION_RESERVED_COUNT] = !policy->has_reserved_list,
		[OPTION_EXCLUDED] = !cpuset_is_empty(&policy->excluded),
		[OPTION_CLOSEST] = policy->prefer_closest_nodes,
		[OPTION_MAX_NODES] = policy->max_nodes,
		[OPTION_MEMORY_NONE] = policy->memory == MEMORY_POLICY_NONE,
		[OPTION_MEMORY_STATIC] = policy->memory == MEMORY_POLICY_STATIC,
		[OPTION_MEMORY_RESERVED] = policy->nr_memory_reservations > 1,
		[OPTION_POD_LEVEL] = policy->pod_level_managers,
		[OPTION_POD_LEVEL_OFF] = !policy->pod_level_managers,
	};

	/* Options have no effect under CPU policy none and do not count as covered there. */
	for (int i = 0; i < OPTION_NR; i++)
		coverage->option[i] += on[i] &&
				       (policy->cpu == CPU_POLICY_STATIC || i > OPTION_UNCORE);
	coverage->align[policy->align]++;
	coverage->scope[policy->scope]++;
	coverage->compatibility[policy->compatibility]++;
	coverage->nodes[shape->nr_nodes]++;
	coverage->threads[shape->threads]++;
	coverage->holes += shape->offline_percent != 0;
	coverage->uneven += shape->uneven_percent != 0;
	coverage->sparse += shape->node_stride > 1 || shape->cpu_stride > 1;
}

static void print_row(const char *name, uint64_t nr, uint64_t of)
{
	printf("#   %-40s %10llu  %5.1f %%\n", name, (unsigned long long)nr,
	       of ? 100.0 * (double)nr / (double)of : 0);
}

static void print_machines(const struct coverage *coverage)
{
	printf("# machines, of steps:\n#   NUMA nodes");
	for (uint32_t i = 1; i < ARRAY_SIZE(coverage->nodes); i++)
		printf("  %u: %llu", i, (unsigned long long)coverage->nodes[i]);
	printf("\n#   threads of a core");
	for (uint32_t i = 1; i < ARRAY_SIZE(coverage->threads); i++)
		printf("  %u: %llu", i, (unsigned long long)coverage->threads[i]);
	printf("\n");
	print_row("offline CPUs", coverage->holes, coverage->steps);
	print_row("cores of different size", coverage->uneven, coverage->steps);
	print_row("sparse ids", coverage->sparse, coverage->steps);
}

void coverage_print(const struct coverage *coverage)
{
	printf("# %llu steps in %llu sequences, %llu decisions\n",
	       (unsigned long long)coverage->steps, (unsigned long long)coverage->sequences,
	       (unsigned long long)coverage->admissions);
	print_row("admitted, of decisions", coverage->admitted, coverage->admissions);
	print_row("refused", coverage->refused, coverage->admissions);
	for (int i = REFUSAL_NONE + 1; i < REFUSAL_NR; i++)
		print_row(refusal_name(i), coverage->refusal[i], coverage->admissions);
	printf("# options and policies, of steps:\n");
	for (int i = 0; i < OPTION_NR; i++)
		print_row(option_names[i], coverage->option[i], coverage->steps);
	for (int i = 0; i < ALIGN_NR; i++)
		print_row(align_policy_name(i), coverage->align[i], coverage->steps);
	for (int i = 0; i < ALIGN_SCOPE_NR; i++)
		print_row(align_scope_name(i), coverage->scope[i], coverage->steps);
	for (int i = 0; i < COMPATIBILITY_NR; i++)
		print_row(compatibility_name(i), coverage->compatibility[i], coverage->steps);
	print_machines(coverage);
	printf("# events, of steps:\n");
	for (int i = 0; i < EVENT_NR; i++)
		print_row(event_names[i], coverage->event[i], coverage->steps);
	printf("# met, of steps:\n");
	for (int i = 0; i < FEATURE_NR; i++)
		print_row(feature_names[i], coverage->feature[i], coverage->steps);
	for (int i = CHANGE_NONE + 1; i < CHANGE_KIND_NR; i++)
		printf("#   suggestions of kind %d: %llu\n", i,
		       (unsigned long long)coverage->change[i]);
}

static bool is_at_least(const char *name, uint64_t nr, uint64_t percent, uint64_t of)
{
	if (nr * 100 >= percent * of && nr)
		return true;
	printf("# too seldom: %s, %llu of %llu, wanted %llu %%\n", name, (unsigned long long)nr,
	       (unsigned long long)of, (unsigned long long)percent);
	return false;
}

bool coverage_is_enough(const struct coverage *coverage)
{
	bool enough = is_at_least("admitted", coverage->admitted, 25, coverage->admissions);

	enough &= is_at_least("refused", coverage->refused, 25, coverage->admissions);
	for (int i = 0; i < OPTION_NR; i++)
		enough &= is_at_least(option_names[i], coverage->option[i], 2, coverage->steps);
	for (int i = 0; i < ALIGN_NR; i++)
		enough &= is_at_least(align_policy_name(i), coverage->align[i], 2, coverage->steps);
	for (int i = 0; i < ALIGN_SCOPE_NR; i++)
		enough &= is_at_least(align_scope_name(i), coverage->scope[i], 2, coverage->steps);
	for (int i = 0; i < COMPATIBILITY_NR; i++)
		enough &= is_at_least(compatibility_name(i), coverage->compatibility[i], 2,
				      coverage->steps);
	/* Every event and feature must occur at least once. */
	for (int i = 0; i < EVENT_NR; i++)
		enough &= is_at_least(event_names[i], coverage->event[i], 0, coverage->steps);
	for (int i = 0; i < FEATURE_NR; i++)
		enough &= is_at_least(feature_names[i], coverage->feature[i], 0, coverage->steps);
	return enough;
}
