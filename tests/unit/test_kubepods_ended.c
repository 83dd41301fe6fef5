// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Containers that were found below kubepods and have ended: an init container leaves its CPUs to the next
 * one of its pod, and one that crashed keeps them. Nothing says which of the two it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kubepods_scene.h"

/* --- while the agent is down --------------------------------------------------------------------- */

static void an_init_container_may_end_while_the_agent_is_down(void **state)
{
	const uint64_t init = start_in(A, QOS_GUARANTEED, "excl-init", 12000);
	uint64_t app;

	settle();
	stop(init);
	app = start_in(A, QOS_GUARANTEED, "excl-app", 12000);
	restart_agent();
	settle();
	assert_string_equal(cpus_of(app), "2-5,8-15");
}

/* The next one is not there yet when the agent is back. */
static void the_next_one_may_begin_later(void **state)
{
	const uint64_t init = start_in(A, QOS_GUARANTEED, "excl-init", 12000);
	uint64_t app;

	settle();
	stop(init);
	restart_agent();
	settle();
	app = start_in(A, QOS_GUARANTEED, "excl-app", 12000);
	settle();
	assert_string_equal(cpus_of(app), "2-5,8-15");
}

/* Between two runs it looks like an init container, but nothing of its pod takes its place. */
static void one_that_crashed_keeps_its_cpus_over_a_restart(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t other, again;

	settle();
	stop(first);
	restart_agent();
	settle();
	start_in(A, QOS_GUARANTEED, "debug", 0);
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	again = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(other), "4-5");
	assert_string_equal(cpus_of(again), "2-3");
}

static void one_of_two_that_crashed_keeps_its_cpus_over_a_restart(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	const uint64_t second = start_in(A, QOS_GUARANTEED, "excl-b", 2000);
	uint64_t other, again;

	settle();
	assert_string_equal(cpus_of(first), "2-3");
	assert_string_equal(cpus_of(second), "4-5");
	stop(first);
	restart_agent();
	settle();
	other = start_in(B, QOS_GUARANTEED, "excl-other", 2000);
	settle();
	again = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(other), "6-7");
	assert_string_equal(cpus_of(again), "2-3");
}

/* The agent that is back never saw the two together. */
static void they_may_crash_in_turn(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	const uint64_t second = start_in(A, QOS_GUARANTEED, "excl-b", 2000);
	uint64_t other, again;

	settle();
	stop(first);
	restart_agent();
	settle();
	stop(second);
	start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	other = start_in(B, QOS_GUARANTEED, "excl-other", 2000);
	settle();
	again = start_in(A, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	assert_string_equal(cpus_of(other), "6-7");
	assert_string_equal(cpus_of(again), "4-5");
}

/* --- ephemeral containers ------------------------------------------------------------------------ */

/* As `kubectl debug` does while it waits to be started again. */
static void an_ephemeral_container_takes_nobodys_place(void **state)
{
	const uint64_t first = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t other, again;

	settle();
	assert_string_equal(cpus_of(first), "2-3");
	stop(first);
	settle();
	start_in(A, QOS_GUARANTEED, "debug", 0);
	settle();
	other = start_in(B, QOS_GUARANTEED, "excl-b", 2000);
	settle();
	again = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	assert_string_equal(cpus_of(other), "4-5");
	assert_string_equal(cpus_of(again), "2-3");
}

/* Whoever looks at an init container does not make it one of two that belong together. */
static void an_ephemeral_container_is_no_company(void **state)
{
	const uint64_t init = start_in(A, QOS_GUARANTEED, "excl-init", 12000);
	uint64_t app, other;

	settle();
	start_in(A, QOS_GUARANTEED, "debug", 0);
	settle();
	stop(init);
	app = start_in(A, QOS_GUARANTEED, "excl-app", 2000);
	settle();
	other = start_in(B, QOS_GUARANTEED, "excl-b", 10000);
	settle();
	assert_string_equal(cpus_of(app), "2-3");
	assert_string_equal(cpus_of(other), "4-5,8-15");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(an_init_container_may_end_while_the_agent_is_down),
		TEST(the_next_one_may_begin_later),
		TEST(one_that_crashed_keeps_its_cpus_over_a_restart),
		TEST(one_of_two_that_crashed_keeps_its_cpus_over_a_restart),
		TEST(they_may_crash_in_turn),
		TEST(an_ephemeral_container_takes_nobodys_place),
		TEST(an_ephemeral_container_is_no_company),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
