// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf ctl kubelet format core lib
/* A map that is full of what is only counted still has room for what the guard holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/fitting.h"

static const struct managed_group groups[] = {
	{.cgroup_id = 1, .scope = MANAGED_TREE},
	{.cgroup_id = 2, .scope = MANAGED_TREE, .is_container = true},
	{.cgroup_id = 11, .scope = MANAGED_COUNTED, .is_container = true},
	{.cgroup_id = 12, .scope = MANAGED_COUNTED, .is_container = true},
	{.cgroup_id = 13, .scope = MANAGED_COUNTED, .is_container = true},
	{.cgroup_id = 3, .scope = MANAGED_OVERLAP},
};
static const struct kernel_policy policy = {.groups = groups, .nr_groups = 6};

static void expect_ids(const struct fitting *fitting, const uint64_t *ids, uint32_t nr)
{
	assert_int_equal(fitting->nr_groups, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(fitting->groups[i].cgroup_id, ids[i]);
	assert_int_equal(fitting->nr_left_out, policy.nr_groups - nr);
}

static void what_fits_is_left_alone(void **state)
{
	static const struct fitting_entry entries[] = {{1, false}, {11, true}, {90, false}};
	struct fitting fitting;

	assert_int_equal(fitting_choose(&policy, entries, 3, 7, &fitting), 0);
	assert_null(fitting.groups);
	assert_int_equal(fitting.nr_dropped, 0);
	assert_int_equal(fitting.nr_left_out, 0);
	fitting_fini(&fitting);
}

static void counted_groups_give_way(void **state)
{
	/* Full of what a runtime had; 12 is still there, 80 and 81 have ended. */
	static const struct fitting_entry entries[] = {
		{12, true}, {80, true}, {81, true}, {11, true}};
	static const uint64_t one[] = {1, 2, 11, 3}, none[] = {1, 2, 3};
	struct fitting fitting;

	assert_int_equal(fitting_choose(&policy, entries, 4, 4, &fitting), 0);
	expect_ids(&fitting, one, 4);
	assert_int_equal(fitting.nr_dropped, 3);
	assert_int_equal(fitting.dropped[0], 12);
	assert_int_equal(fitting.dropped[1], 80);
	assert_int_equal(fitting.dropped[2], 81);
	fitting_fini(&fitting);
	assert_int_equal(fitting_choose(&policy, entries, 4, 3, &fitting), 0);
	expect_ids(&fitting, none, 3);
	assert_int_equal(fitting.nr_dropped, 4);
	fitting_fini(&fitting);
}

static void what_is_counted_stays_counted(void **state)
{
	static const struct fitting_entry entries[] = {
		{1, false}, {2, false}, {3, false}, {13, true}};
	static const uint64_t kept[] = {1, 2, 13, 3};
	struct fitting fitting;

	assert_int_equal(fitting_choose(&policy, entries, 4, 4, &fitting), 0);
	expect_ids(&fitting, kept, 4);
	assert_int_equal(fitting.nr_dropped, 0);
	fitting_fini(&fitting);
}

/* What the guard held stays until the new policy is in force, and takes its place until then. */
static void the_guards_entries_keep_their_places(void **state)
{
	static const struct fitting_entry entries[] = {{1, false}, {70, false}, {71, false}};
	static const uint64_t kept[] = {1, 2, 11, 3};
	struct fitting fitting;

	assert_int_equal(fitting_choose(&policy, entries, 3, 6, &fitting), 0);
	expect_ids(&fitting, kept, 4);
	assert_int_equal(fitting.nr_dropped, 0);
	fitting_fini(&fitting);
}

static void own_containers_have_the_first_slots(void **state)
{
	assert_int_equal(fitting_counted_slots(&policy, 3), 2);
	assert_int_equal(fitting_counted_slots(&policy, 1), 0);
	assert_int_equal(fitting_counted_slots(&policy, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_left_alone),
		cmocka_unit_test(counted_groups_give_way),
		cmocka_unit_test(what_is_counted_stays_counted),
		cmocka_unit_test(the_guards_entries_keep_their_places),
		cmocka_unit_test(own_containers_have_the_first_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
