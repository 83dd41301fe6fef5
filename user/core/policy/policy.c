// SPDX-License-Identifier: Apache-2.0
/*
 * Decides which combinations of options are valid and explains why the others are not.
 *
 * The exclusions and their order are those of kubelet v1.36
 * (cpumanager/policy_options.go); the messages are our own and always name the remedy.
 * user/format/config parses the files.
 */
#include "core/policy/policy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct policy policy_default(void)
{
	return (struct policy){
		.compatibility = COMPATIBILITY_REPAIRED,
		.cpu = CPU_POLICY_STATIC,
		.align = ALIGN_NONE,
		.scope = ALIGN_SCOPE_CONTAINER,
		.memory = MEMORY_POLICY_NONE,
		.pod_level_managers = true,
	};
}

__attribute__((format(printf, 4, 5))) static enum policy_problem
report(enum policy_problem problem, char *error, size_t error_size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, error_size, format, args);
	va_end(args);
	return problem;
}

enum option_level { LEVEL_STABLE, LEVEL_BETA, LEVEL_ALPHA };

struct option_entry {
	const char *name;
	enum option_level level;
	size_t offset; /* of its bool in struct cpu_options */
};

static const struct option_entry option_table[] = {
	{"full-pcpus-only", LEVEL_STABLE, offsetof(struct cpu_options, full_pcpus_only)},
	{"distribute-cpus-across-numa", LEVEL_BETA,
	 offsetof(struct cpu_options, distribute_across_numa)},
	{"align-by-socket", LEVEL_ALPHA, offsetof(struct cpu_options, align_by_socket)},
	{"distribute-cpus-across-cores", LEVEL_ALPHA,
	 offsetof(struct cpu_options, distribute_across_cores)},
	{"strict-cpu-reservation", LEVEL_STABLE, offsetof(struct cpu_options, strict_reservation)},
	{"prefer-align-cpus-by-uncorecache", LEVEL_STABLE,
	 offsetof(struct cpu_options, prefer_uncore)},
};

static const struct option_entry *find_option(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
		if (!strcmp(option_table[i].name, name))
			return &option_table[i];
	}
	return NULL;
}

/* Go's strconv.ParseBool. */
static bool parse_bool(const char *text, bool *ret_value)
{
	static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
	static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!strcmp(text, yes[i]) || !strcmp(text, no[i])) {
			*ret_value = !strcmp(text, yes[i]);
			return true;
		}
	}
	return false;
}

enum policy_problem policy_set_cpu_option(struct cpu_options *options, const char *name,
					  const char *value, struct policy_gates gates, char *error,
					  size_t error_size)
{
	const struct option_entry *entry = find_option(name);
	bool on;

	if (!entry)
		return report(POLICY_OPTION_UNKNOWN, error, error_size,
			      "cpuManagerPolicyOptions: unknown option '%.64s'; expected one of "
			      "full-pcpus-only, distribute-cpus-across-numa, align-by-socket, "
			      "distribute-cpus-across-cores, strict-cpu-reservation, "
			      "prefer-align-cpus-by-uncorecache",
			      name);
	if (entry->level == LEVEL_ALPHA && !gates.alpha)
		return report(POLICY_OPTION_ALPHA_DISABLED, error, error_size,
			      "cpuManagerPolicyOptions: '%s' is an alpha option; turn on the "
			      "feature gate CPUManagerPolicyAlphaOptions or remove it",
			      name);
	if (entry->level == LEVEL_BETA && !gates.beta)
		return report(POLICY_OPTION_BETA_DISABLED, error, error_size,
			      "cpuManagerPolicyOptions: '%s' is a beta option; turn on the "
			      "feature gate CPUManagerPolicyBetaOptions or remove it",
			      name);
	if (!parse_bool(value, &on))
		return report(
			POLICY_OPTION_BAD_VALUE, error, error_size,
			"cpuManagerPolicyOptions: invalid value '%.32s' for %s: expected \"true\" or \"false\"",
			value, name);

	*(bool *)((char *)options + entry->offset) = on;
	return POLICY_FINE;
}

struct exclusion {
	const char *one, *other, *why;
};

static const struct exclusion exclusions[] = {
	{"full-pcpus-only", "distribute-cpus-across-cores",
	 "one keeps the threads of a core together, the other spreads over cores"},
	{"distribute-cpus-across-numa", "distribute-cpus-across-cores",
	 "each sets another order of taking CPUs"},
	{"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores",
	 "one packs into a cache, the other spreads over cores"},
	{"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa",
	 "one packs into a cache, the other spreads over NUMA nodes"},
};

static bool is_on(const struct cpu_options *options, const char *name)
{
	return *(const bool *)((const char *)options + find_option(name)->offset);
}

void policy_options_text(const struct cpu_options *options, char buffer[POLICY_OPTIONS_TEXT_MAX])
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(option_table); i++) {
		if (is_on(options, option_table[i].name))
			used += (size_t)snprintf(buffer + used, POLICY_OPTIONS_TEXT_MAX - used,
						 "%s%s", used ? "," : "", option_table[i].name);
	}
}

enum policy_problem policy_check_options(const struct policy *policy,
					 const struct topology *topology, char *error,
					 size_t error_size)
{
	const struct cpu_options *options = &policy->cpu_options;

	for (size_t i = 0; i < ARRAY_SIZE(exclusions); i++) {
		const struct exclusion *ex = &exclusions[i];

		if (is_on(options, ex->one) && is_on(options, ex->other))
			return report(POLICY_OPTION_CONFLICT, error, error_size,
				      "cpuManagerPolicyOptions: %s and %s exclude each other (%s); "
				      "set one of them to \"false\"",
				      ex->one, ex->other, ex->why);
	}
	if (!options->align_by_socket)
		return POLICY_FINE;
	if (policy->align == ALIGN_SINGLE_NUMA_NODE)
		return report(POLICY_OPTION_NEEDS_OTHER_ALIGN, error, error_size,
			      "cpuManagerPolicyOptions: align-by-socket contradicts "
			      "topologyManagerPolicy single-numa-node; use restricted or "
			      "best-effort, or remove the option");
	if (topology->num_sockets > topology->num_nodes)
		return report(POLICY_OPTION_TOPOLOGY, error, error_size,
			      "cpuManagerPolicyOptions: align-by-socket needs whole NUMA nodes in "
			      "a socket, but this machine has %u sockets in %u NUMA nodes; remove "
			      "the option",
			      topology->num_sockets, topology->num_nodes);
	return POLICY_FINE;
}

uint32_t policy_reserved_count(const struct policy *policy)
{
	int64_t count;

	if (policy->has_reserved_list)
		return cpuset_count(&policy->reserved_list);
	if (policy->reserved_mcpu <= 0)
		return 0;
	count = policy->reserved_mcpu / 1000 + (policy->reserved_mcpu % 1000 != 0);
	/* More than any machine has; policy_check reports it. */
	return count > CPUSET_MAX ? CPUSET_MAX + 1 : (uint32_t)count;
}

void policy_exclude(struct policy *policy, const struct cpuset *special)
{
	policy->excluded = *special;
	if (policy->has_reserved_list)
		cpuset_subtract(&policy->excluded, &policy->reserved_list);
}

void policy_usable_cpus(const struct policy *policy, const struct topology *topology,
			struct cpuset *ret_cpus)
{
	struct cpuset excluded = policy->excluded;

	if (policy->has_reserved_list)
		cpuset_subtract(&excluded, &policy->reserved_list);
	*ret_cpus = topology->all;
	cpuset_subtract(ret_cpus, &excluded);
}

static enum policy_problem check_reserved_list(const struct policy *policy,
					       const struct topology *topology, char *error,
					       size_t error_size)
{
	struct cpuset unknown = policy->reserved_list;

	cpuset_subtract(&unknown, &topology->all);
	if (cpuset_is_empty(&unknown))
		return POLICY_FINE;
	return report(POLICY_RESERVED_UNKNOWN_CPU, error, error_size,
		      "reservedSystemCPUs: CPU %u is not an online CPU of this machine; remove it "
		      "or bring it online",
		      cpuset_next(&unknown, 0));
}

static enum policy_problem check_reservation(const struct policy *policy,
					     const struct topology *topology, char *error,
					     size_t error_size)
{
	uint32_t count = policy_reserved_count(policy);
	struct cpuset usable;

	if (policy->has_reserved_list) {
		enum policy_problem problem =
			check_reserved_list(policy, topology, error, error_size);

		if (problem)
			return problem;
	}
	if (!count)
		return report(
			POLICY_RESERVED_NONE, error, error_size,
			"cpuManagerPolicy static needs CPUs kept for the system, but none are "
			"reserved; set reservedSystemCPUs, or cpu in kubeReserved or "
			"systemReserved");
	policy_usable_cpus(policy, topology, &usable);
	if (count >= cpuset_count(&usable))
		return report(
			POLICY_RESERVED_TOO_MANY, error, error_size,
			"%s: %u CPUs reserved, but pods may use only %u (of %u, without "
			"isolcpus= and nohz_full= CPUs), so none would be left; reserve fewer",
			policy->has_reserved_list ? "reservedSystemCPUs"
						  : "kubeReserved and systemReserved",
			count, cpuset_count(&usable), cpuset_count(&topology->all));
	return POLICY_FINE;
}

int policy_check(const struct policy *policy, const struct topology *topology, char *error,
		 size_t error_size)
{
	enum policy_problem problem;

	if (policy->cpu != CPU_POLICY_STATIC)
		return 0;
	problem = policy_check_options(policy, topology, error, error_size);
	if (!problem)
		problem = check_reservation(policy, topology, error, error_size);
	return problem ? -EINVAL : 0;
}

const char *const cpu_policy_names[CPU_POLICY_NR] = {
	[CPU_POLICY_NONE] = "none",
	[CPU_POLICY_STATIC] = "static",
};

const char *cpu_policy_name(enum cpu_policy policy)
{
	return cpu_policy_names[policy];
}

const char *const align_policy_names[ALIGN_NR] = {
	[ALIGN_NONE] = "none",
	[ALIGN_BEST_EFFORT] = "best-effort",
	[ALIGN_RESTRICTED] = "restricted",
	[ALIGN_SINGLE_NUMA_NODE] = "single-numa-node",
};

const char *align_policy_name(enum align_policy policy)
{
	return align_policy_names[policy];
}

const char *const align_scope_names[ALIGN_SCOPE_NR] = {
	[ALIGN_SCOPE_CONTAINER] = "container",
	[ALIGN_SCOPE_POD] = "pod",
};

const char *align_scope_name(enum align_scope scope)
{
	return align_scope_names[scope];
}

const char *const compatibility_names[COMPATIBILITY_NR] = {
	[COMPATIBILITY_REPAIRED] = "repaired",
	[COMPATIBILITY_KUBELET_1_36] = "kubelet-1.36",
	[COMPATIBILITY_KUBELET_1_37] = "kubelet-1.37",
	[COMPATIBILITY_IMPROVED] = "improved",
};

const char *compatibility_name(enum compatibility compatibility)
{
	return compatibility_names[compatibility];
}

bool compatibility_is_kubelet(enum compatibility compatibility)
{
	return compatibility == COMPATIBILITY_KUBELET_1_36 ||
	       compatibility == COMPATIBILITY_KUBELET_1_37;
}

const char *policy_problem_name(enum policy_problem problem)
{
	static const char *const names[] = {
		[POLICY_FINE] = "fine",
		[POLICY_OPTION_UNKNOWN] = "option-unknown",
		[POLICY_OPTION_BAD_VALUE] = "option-bad-value",
		[POLICY_OPTION_ALPHA_DISABLED] = "option-alpha-disabled",
		[POLICY_OPTION_BETA_DISABLED] = "option-beta-disabled",
		[POLICY_OPTION_CONFLICT] = "option-conflict",
		[POLICY_OPTION_NEEDS_OTHER_ALIGN] = "option-needs-other-tm-policy",
		[POLICY_OPTION_TOPOLOGY] = "option-topology-unsupported",
		[POLICY_RESERVED_NONE] = "reserved-none",
		[POLICY_RESERVED_UNKNOWN_CPU] = "reserved-unknown-cpu",
		[POLICY_RESERVED_TOO_MANY] = "reserved-too-many",
	};

	_Static_assert(ARRAY_SIZE(names) == POLICY_PROBLEM_NR, "a name for each problem");
	return names[problem];
}
