// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime ctl kubelet format core lib
/*
 * Containers that are found below kubepods while the state file is written slowly: nobody gets exclusive
 * CPUs before they are recorded, but whoever has some keeps them to itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kubepods_scene.h"

static void whoever_waits_for_a_save_shares(void **state)
{
	uint64_t first, shared, second;

	start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	settle();
	fake->slow_save = true;
	first = start_in(B, QOS_GUARANTEED, "late-b", 4000);
	settle();
	shared = start_in(C, QOS_BURSTABLE, "web", 500);
	second = start_in(C, QOS_BURSTABLE, "more", 500);
	assert_string_equal(cpus_of(first), "4-15");
	settle();
	assert_string_equal(cpus_of(shared), "4-15");
	assert_string_equal(cpus_of(second), "4-15");
	end_saves();
	settle();
	assert_string_equal(cpus_of(first), "4-7");
	assert_string_equal(cpus_of(shared), "8-15");
	assert_string_equal(cpus_of(second), "8-15");
}

/* Two owners come; the one that is recorded first must not meet the other one on its CPUs. */
static void they_leave_what_the_first_one_gets(void **state)
{
	uint64_t first, second, shared;

	settle();
	fake->slow_save = true;
	first = start_in(A, QOS_GUARANTEED, "a", 4000);
	scan_node();
	second = start_in(B, QOS_GUARANTEED, "b", 4000);
	shared = start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	assert_string_equal(cpus_of(first), "2-15");
	assert_string_equal(cpus_of(second), "2-15");
	fake_end_save(controller, 0);
	assert_non_null(node.rows);
	for (uint32_t i = 0; i < node.nr_rows; i++)
		if (node.rows[i].cgroup_id != first)
			assert_false(cpuset_has(&node.rows[i].value, 2));
	assert_int_equal(node.rows[node.nr_rows - 1].cgroup_id, first);
	end_saves();
	settle();
	assert_string_equal(cpus_of(first), "2-5");
	assert_string_equal(cpus_of(second), "6-9");
	assert_string_equal(cpus_of(shared), "10-15");
}

static void what_an_owner_leaves_is_for_them_later(void **state)
{
	const uint64_t owner = start_in(A, QOS_GUARANTEED, "excl-a", 2000);
	uint64_t shared;

	settle();
	resize(owner, 4);
	settle();
	assert_string_equal(cpus_of(owner), "2-5");
	fake->slow_save = true;
	resize(owner, 2);
	scan_node();
	shared = start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	assert_string_equal(cpus_of(shared), "6-15");
	end_saves();
	settle();
	assert_string_equal(cpus_of(owner), "2-3");
	assert_string_equal(cpus_of(shared), "4-15");
}

/* Has any pod just these CPUs exclusively? */
static bool anybody_holds(const char *cpus)
{
	struct json_object *json = query(controller, "pod"), *held;
	bool does = false;

	for (size_t i = 0; i < json_object_array_length(json); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(json, i), "held", &held))
			does |= !strcmp(json_object_get_string(held), cpus);
	json_object_put(json);
	return does;
}

/* The next agent finds it on the pool, which happens to have as many CPUs as it asks for. */
static void what_it_shares_is_not_taken_for_its_own(void **state)
{
	uint64_t shared, late;

	start_in(A, QOS_GUARANTEED, "excl-a", 10000);
	shared = start_in(C, QOS_BURSTABLE, "web", 500);
	settle();
	fake->slow_save = true;
	late = start_in(B, QOS_GUARANTEED, "late", 4000);
	settle();
	assert_string_equal(cpus_of(late), "4-7");
	fake->slow_save = fake->is_saving = false;
	restart_agent();
	settle();
	assert_string_equal(cpus_of(shared), "4-7");
	assert_false(anybody_holds("4-7"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(whoever_waits_for_a_save_shares),
		TEST(they_leave_what_the_first_one_gets),
		TEST(what_an_owner_leaves_is_for_them_later),
		TEST(what_it_shares_is_not_taken_for_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
