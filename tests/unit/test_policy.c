// SPDX-License-Identifier: Apache-2.0
// LIBS: core
/* Options, their exclusions, and reservations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene.h"

#include <errno.h>

static const struct policy_gates all_gates = {.alpha = true, .beta = true};

static void options_by_name(void **state)
{
	struct cpu_options options = {0};
	char error[256];

	assert_int_equal(policy_set_cpu_option(&options, "full-pcpus-only", "true", all_gates,
					       error, sizeof(error)),
			 POLICY_FINE);
	assert_true(options.full_pcpus_only);
	assert_int_equal(policy_set_cpu_option(&options, "full-pcpus-only", "F", all_gates, error,
					       sizeof(error)),
			 POLICY_FINE);
	assert_false(options.full_pcpus_only);
	assert_int_equal(policy_set_cpu_option(&options, "full-pcpus-only", "yes", all_gates, error,
					       sizeof(error)),
			 POLICY_OPTION_BAD_VALUE);
	assert_non_null(strstr(error, "'yes'"));
	assert_int_equal(policy_set_cpu_option(&options, "fast", "true", all_gates, error,
					       sizeof(error)),
			 POLICY_OPTION_UNKNOWN);
	assert_non_null(strstr(error, "'fast'"));
}

static void gates_close_options(void **state)
{
	struct cpu_options options = {0};
	char error[256];

	/* even if the value is false, as in the kubelet */
	assert_int_equal(policy_set_cpu_option(&options, "align-by-socket", "false",
					       (struct policy_gates){.beta = true}, error,
					       sizeof(error)),
			 POLICY_OPTION_ALPHA_DISABLED);
	assert_int_equal(policy_set_cpu_option(&options, "distribute-cpus-across-numa", "true",
					       (struct policy_gates){.alpha = true}, error,
					       sizeof(error)),
			 POLICY_OPTION_BETA_DISABLED);
	assert_int_equal(policy_set_cpu_option(&options, "strict-cpu-reservation", "true",
					       (struct policy_gates){0}, error, sizeof(error)),
			 POLICY_FINE);
}

/* Each name sets and lists its own option and is subject to the feature gate of its level. */
static void each_option_is_its_own(void **state)
{
	static const struct {
		const char *name;
		struct policy_gates gates;
		struct cpu_options options;
	} cases[] = {
		{"full-pcpus-only", {0}, {.full_pcpus_only = true}},
		{"distribute-cpus-across-numa", {.beta = true}, {.distribute_across_numa = true}},
		{"align-by-socket", {.alpha = true}, {.align_by_socket = true}},
		{"distribute-cpus-across-cores",
		 {.alpha = true},
		 {.distribute_across_cores = true}},
		{"strict-cpu-reservation", {0}, {.strict_reservation = true}},
		{"prefer-align-cpus-by-uncorecache", {0}, {.prefer_uncore = true}},
	};
	static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
	static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};
	struct cpu_options all = {0};
	char all_names[POLICY_OPTIONS_TEXT_MAX] = "";
	char text[POLICY_OPTIONS_TEXT_MAX], error[256];

	policy_options_text(&all, text);
	assert_string_equal(text, "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_options options = {0};

		for (size_t j = 0; j < ARRAY_SIZE(yes); j++) {
			assert_int_equal(policy_set_cpu_option(&options, cases[i].name, yes[j],
							       cases[i].gates, error,
							       sizeof(error)),
					 POLICY_FINE);
			assert_memory_equal(&options, &cases[i].options, sizeof(options));
			policy_options_text(&options, text);
			assert_string_equal(text, cases[i].name);
			assert_int_equal(policy_set_cpu_option(&options, cases[i].name, no[j],
							       cases[i].gates, error,
							       sizeof(error)),
					 POLICY_FINE);
			assert_memory_equal(&options, &(struct cpu_options){0}, sizeof(options));
		}
		assert_int_equal(policy_set_cpu_option(&all, cases[i].name, "true", all_gates,
						       error, sizeof(error)),
				 POLICY_FINE);
		snprintf(all_names + strlen(all_names), sizeof(all_names) - strlen(all_names),
			 "%s%s", i ? "," : "", cases[i].name);
	}
	policy_options_text(&all, text);
	assert_string_equal(text, all_names);
}

static void assert_conflict(const struct topology *topology, const struct cpu_options *options,
			    const char *one, const char *other)
{
	struct policy policy = strict_policy("0");
	char error[256] = "";

	policy.cpu_options = *options;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, one));
	assert_non_null(strstr(error, other));
}

static void exclusions_are_named(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 2, 4, 2);

	assert_conflict(topology,
			&(struct cpu_options){.full_pcpus_only = true,
					      .distribute_across_cores = true},
			"full-pcpus-only", "distribute-cpus-across-cores");
	assert_conflict(topology,
			&(struct cpu_options){.distribute_across_numa = true,
					      .distribute_across_cores = true},
			"distribute-cpus-across-numa", "distribute-cpus-across-cores");
	assert_conflict(topology,
			&(struct cpu_options){.prefer_uncore = true,
					      .distribute_across_cores = true},
			"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores");
	assert_conflict(topology,
			&(struct cpu_options){.prefer_uncore = true,
					      .distribute_across_numa = true},
			"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa");
}

static void align_by_socket_conditions(void **state)
{
	struct topology *wide cleanup_topology = scene_machine(1, 2, 4, 2);
	struct policy policy = strict_policy("0");
	char error[256];
	struct topology two_sockets = *wide;

	policy.cpu_options.align_by_socket = true;
	policy.align = ALIGN_RESTRICTED;
	assert_int_equal(policy_check(&policy, wide, error, sizeof(error)), 0);
	policy.align = ALIGN_SINGLE_NUMA_NODE;
	assert_int_equal(policy_check_options(&policy, wide, error, sizeof(error)),
			 POLICY_OPTION_NEEDS_OTHER_ALIGN);
	policy.align = ALIGN_BEST_EFFORT;
	two_sockets.num_sockets = 2;
	two_sockets.num_nodes = 2;
	assert_int_equal(policy_check_options(&policy, &two_sockets, error, sizeof(error)),
			 POLICY_FINE);
	two_sockets.num_sockets = 4;
	two_sockets.num_nodes = 2;
	assert_int_equal(policy_check_options(&policy, &two_sockets, error, sizeof(error)),
			 POLICY_OPTION_TOPOLOGY);
}

static void reservations(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 4, 2);
	struct policy policy = policy_default();
	char error[256] = "";

	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "reservedSystemCPUs"));
	policy.reserved_mcpu = 1001;
	assert_int_equal(policy_reserved_count(&policy), 2);
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), 0);
	policy.reserved_mcpu = 1;
	assert_int_equal(policy_reserved_count(&policy), 1);
	policy.reserved_mcpu = CPUSET_MAX * INT64_C(1000);
	assert_int_equal(policy_reserved_count(&policy), CPUSET_MAX);
	/* Any count above the size of every machine becomes CPUSET_MAX + 1. */
	policy.reserved_mcpu++;
	assert_int_equal(policy_reserved_count(&policy), CPUSET_MAX + 1);
	policy.reserved_mcpu = INT64_MAX;
	assert_int_equal(policy_reserved_count(&policy), CPUSET_MAX + 1);
	policy.reserved_mcpu = 8000;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	policy.reserved_mcpu = INT64_MAX;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "kubeReserved and systemReserved:"));
	policy = strict_policy("0,9");
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "CPU 9"));
	cpuset_remove(&topology->all, 0);
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "CPU 0"));
	cpuset_add(&topology->all, 0);
	policy = strict_policy("0-7");
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "reservedSystemCPUs:"));
	policy.cpu = CPU_POLICY_NONE;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), 0);
}

static void excluded_cpus_are_not_usable_unless_listed(void **state)
{
	struct topology *topology cleanup_topology = scene_machine(1, 1, 4, 2);
	struct policy policy = strict_policy("0,7");
	struct cpuset usable;
	char error[256] = "";

	policy.excluded = cpus_of("6-7");
	policy_usable_cpus(&policy, topology, &usable);
	assert_cpus(&usable, "0-5,7");
	policy.has_reserved_list = false;
	policy.reserved_mcpu = 6000;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "isolcpus"));
}

/* No pool uses isolated CPUs unless the user reserves them. */
static void special_cpus_are_excluded_unless_listed(void **state)
{
	struct policy policy = strict_policy("0,7");
	struct cpuset special = cpus_of("5-7");

	policy_exclude(&policy, &special);
	assert_cpus(&policy.excluded, "5-6");
	policy.has_reserved_list = false;
	policy_exclude(&policy, &special);
	assert_cpus(&policy.excluded, "5-7");
}

static void names_are_complete(void **state)
{
	for (int i = 0; i < POLICY_PROBLEM_NR; i++)
		assert_non_null(policy_problem_name(i));
	for (int i = 0; i < ALIGN_NR; i++)
		assert_non_null(align_policy_name(i));
	for (int i = 0; i < ALIGN_SCOPE_NR; i++)
		assert_non_null(align_scope_name(i));
	for (int i = 0; i < CPU_POLICY_NR; i++)
		assert_non_null(cpu_policy_name(i));
	for (int i = 0; i < COMPATIBILITY_NR; i++)
		assert_non_null(compatibility_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_by_name),
		cmocka_unit_test(gates_close_options),
		cmocka_unit_test(each_option_is_its_own),
		cmocka_unit_test(exclusions_are_named),
		cmocka_unit_test(align_by_socket_conditions),
		cmocka_unit_test(reservations),
		cmocka_unit_test(excluded_cpus_are_not_usable_unless_listed),
		cmocka_unit_test(special_cpus_are_excluded_unless_listed),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
