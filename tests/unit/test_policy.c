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

	/* even when the value is false, as in the kubelet */
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
	policy.reserved_mcpu = 8000;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	policy.reserved_mcpu = INT64_MAX;
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	policy = strict_policy("0,9");
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "CPU 9"));
	policy = strict_policy("0-7");
	assert_int_equal(policy_check(&policy, topology, error, sizeof(error)), -EINVAL);
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
		cmocka_unit_test(exclusions_are_named),
		cmocka_unit_test(align_by_socket_conditions),
		cmocka_unit_test(reservations),
		cmocka_unit_test(excluded_cpus_are_not_usable_unless_listed),
		cmocka_unit_test(names_are_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
