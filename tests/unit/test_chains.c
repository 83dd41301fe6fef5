// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Chains that stopped: when each is tried again, and whose CPUs are kept from whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/chains.h"

#define MS 1000000ULL

static struct chains chains;
static struct operations operations;

static int set_up(void **state)
{
	chains = (struct chains){0};
	operations = (struct operations){0};
	return 0;
}

static int tear_down(void **state)
{
	chains_fini(&chains);
	operations_fini(&operations);
	return 0;
}

static struct step step_of(const char *uid, char *old, char *value)
{
	struct step step = {
		.kind = STEP_WRITE,
		.file = GROUP_CPUSET_CPUS,
		.role = GROUP_CONTAINER,
		.old = old,
		.value = value,
	};

	snprintf(step.uid, sizeof(step.uid), "%s", uid);
	return step;
}

static void delays_double_up_to_a_limit(void **state)
{
	const struct step step = step_of("a", NULL, NULL);
	uint64_t expected_ns = 100 * MS, limit_ns = 30000 * MS;

	for (int i = 0; i < 12; i++) {
		const struct retry *retry = chains_fail(&chains, &step, -EIO, "no", 5 * MS);

		assert_non_null(retry);
		assert_int_equal(retry->progress, CHAIN_FAILED);
		assert_int_equal(retry->delay_ns, expected_ns);
		assert_int_equal(retry->due_ns, 5 * MS + expected_ns);
		expected_ns = expected_ns * 2 < limit_ns ? expected_ns * 2 : limit_ns;
	}
	/* A try that did a part of the work is soon made again. */
	assert_int_equal(chains_fail(&chains, &step, -EAGAIN, "part", 0)->delay_ns, 2000 * MS);
	assert_int_equal(chains.nr_retries, 1);
}

static void a_round_retries_due_chains(void **state)
{
	const struct step late = step_of("late", NULL, NULL), due = step_of("due", NULL, NULL);
	const struct step goes_on = step_of("goes on", NULL, NULL);

	chains_fail(&chains, &due, -EIO, "no", 0);
	chains_fail(&chains, &goes_on, -EIO, "no", 0);
	chains_fail(&chains, &late, -EIO, "no", 50 * MS);
	chains_begin_round(&chains, 100 * MS);
	assert_int_equal(chains_find(&chains, "due")->progress, CHAIN_TRIED);
	assert_int_equal(chains_find(&chains, "late")->progress, CHAIN_PUT_OFF);
	assert_int_equal(operations_reserve(&operations), 0);
	operations_begin(&operations, OPERATION_STEP, &goes_on, 100 * MS);
	chains_end_round(&chains, &operations);
	assert_null(chains_find(&chains, "due"));
	assert_non_null(chains_find(&chains, "late"));
	assert_non_null(chains_find(&chains, "goes on"));
}

/* It waits for CPUs, however long its own failure had put it off before. */
static void a_held_chain_is_due_in_the_next_round(void **state)
{
	const struct step step = step_of("a", NULL, NULL);

	chains_fail(&chains, &step, -EIO, "no", 50 * MS);
	chains_wait(&chains, &step, "waits");
	chains_begin_round(&chains, 0);
	assert_int_equal(chains_find(&chains, "a")->progress, CHAIN_TRIED);
}

static void a_chain_without_steps_is_dropped(void **state)
{
	const struct step gone = step_of("gone", NULL, NULL);
	struct step steps[] = {
		step_of("kept", NULL, NULL), step_of("other", NULL, NULL),
		gone, /* not in the plan */
	};
	const struct plan plan = {.nr_steps = 2, .steps = steps};
	const struct retry *kept;

	chains_fail(&chains, &gone, -EIO, "no", 0);
	kept = chains_wait(&chains, &steps[0], "waits");
	assert_non_null(kept);
	assert_ptr_equal(kept, chains_find(&chains, "kept"));
	assert_int_equal(chains_find(&chains, "kept")->progress, CHAIN_HELD);
	chains_forget_done(&chains, &plan);
	assert_null(chains_find(&chains, "gone"));
	assert_non_null(chains_find(&chains, "kept"));
}

static void held_cpus_are_withheld_from_other_chains_only(void **state)
{
	char two[] = "2", three[] = "3", two_three[] = "2-3";
	const struct step owner = step_of("b", two, two_three), same = step_of("a", two, two_three);
	const struct step has_it = step_of("b", three, two_three);
	struct step other;
	struct cpuset cpus = cpuset_of_text("3-4"), shared;
	const struct held_cpus *holder;

	assert_null(chains_find_holder(&chains, &owner, &shared));
	chains_hold(&chains, "a", &cpus);
	holder = chains_find_holder(&chains, &owner, &shared);
	assert_non_null(holder);
	assert_string_equal(holder->uid, "a");
	cpus = cpuset_of_text("3");
	assert_true(cpuset_equal(&shared, &cpus));
	/* Its own chain may have them, and who has them already gains nothing. */
	assert_null(chains_find_holder(&chains, &same, &shared));
	assert_null(chains_find_holder(&chains, &has_it, &shared));
	/* Other files and other groups than containers give nobody a CPU. */
	other = owner;
	other.file = GROUP_CPUSET_MEMS;
	assert_false(chains_is_cpu_step(&other));
	assert_null(chains_find_holder(&chains, &other, &shared));
	other = owner;
	other.role = GROUP_ROOT;
	assert_false(chains_is_cpu_step(&other));
	other = owner;
	other.kind = STEP_REMOVE;
	assert_false(chains_is_cpu_step(&other));
	assert_true(chains_is_cpu_step(&owner));
	/* Of one chain it is one row. */
	cpus = cpuset_of_text("2");
	chains_hold(&chains, "a", &cpus);
	assert_int_equal(chains.nr_held, 1);
	assert_non_null(chains_find_holder(&chains, &has_it, &shared));
	chains_release(&chains);
	assert_null(chains_find_holder(&chains, &owner, &shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(delays_double_up_to_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_round_retries_due_chains, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_held_chain_is_due_in_the_next_round, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_chain_without_steps_is_dropped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(held_cpus_are_withheld_from_other_chains_only,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
