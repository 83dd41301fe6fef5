// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Two programs that write the cpuset of a container that was found below kubepods: the agent does not
 * insist at full speed, and says that there is another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kubepods_scene.h"

#define SECOND_NS 1000000000ULL

static void overwrite(uint64_t id)
{
	strcpy(container_with(id)->cpus, "0-15");
}

/* The other one writes again whenever the agent has written. Returns how often that was. */
static uint32_t fight(uint64_t id, uint64_t duration_ns)
{
	const uint64_t end_ns = fake->now_ns + duration_ns;
	uint32_t nr = 0;

	while (fake->now_ns < end_ns) {
		if (strcmp(cpus_of(id), "0-15") != 0) {
			overwrite(id);
			nr++;
		}
		fake->now_ns += SECOND_NS / 10;
		scan_node();
		end_writes();
	}
	return nr;
}

static void pass(uint64_t duration_ns)
{
	fake->now_ns += duration_ns;
	settle();
}

static bool is_told(void)
{
	return nr_findings(controller, "runtime_cpuset_contested", "") > 0;
}

static void the_agent_slows_down_and_tells(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);
	uint32_t nr;

	settle();
	nr = fight(owner, 20 * SECOND_NS);
	/* Three at once, and then after 1, 2, 4 and 8 seconds. */
	assert_in_range(nr, 6, 8);
	assert_int_equal(nr_findings(controller, "runtime_cpuset_contested", "cpuset.cpus"), 1);
	assert_int_equal(nr_findings(controller, "runtime_cpuset_contested", "excl"), 1);
	assert_in_range(fight(owner, 640 * SECOND_NS), 8, 16);
}

static void it_does_not_give_up(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	settle();
	fight(owner, 200 * SECOND_NS);
	pass(64 * SECOND_NS);
	assert_string_equal(cpus_of(owner), "2-3");
}

static void what_is_over_is_forgotten(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	settle();
	fight(owner, 3 * SECOND_NS);
	pass(64 * SECOND_NS);
	assert_true(is_told());
	pass(200 * SECOND_NS);
	assert_false(is_told());
	/* And the next write is put back at once. */
	overwrite(owner);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_false(is_told());
}

/* The runtime writes the file with each update of a container. */
static void a_few_writes_are_put_back_at_once(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	settle();
	for (int i = 0; i < 2; i++) {
		overwrite(owner);
		settle();
		assert_string_equal(cpus_of(owner), "2-3");
		assert_false(is_told());
	}
	overwrite(owner);
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
}

/* Others get CPUs that the container has to leave: that waits for nothing. */
static void a_new_value_is_written_at_once(void **state)
{
	const uint64_t shared = start_in(A, QOS_BURSTABLE, "web", 500);
	uint64_t owner;

	settle();
	fight(shared, 20 * SECOND_NS);
	owner = start_in(B, QOS_GUARANTEED, "excl", 2000);
	scan_node();
	end_writes();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(shared), "4-15");
}

static void the_finding_ends_with_the_container(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl", 2000);

	settle();
	fight(owner, 3 * SECOND_NS);
	assert_true(is_told());
	stop(owner);
	settle();
	assert_false(is_told());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(the_agent_slows_down_and_tells), TEST(it_does_not_give_up),
		TEST(what_is_over_is_forgotten),      TEST(a_few_writes_are_put_back_at_once),
		TEST(a_new_value_is_written_at_once), TEST(the_finding_ends_with_the_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
