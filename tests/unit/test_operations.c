// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The list of operations: whatever their number, each is found until it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "ctl/operations.h"

#define NR 20

static struct operations operations;

static int set_up(void **state)
{
	operations = (struct operations){0};
	return 0;
}

static int tear_down(void **state)
{
	operations_fini(&operations);
	return 0;
}

/* Begin a write in the cgroup of pod i. */
static struct operation *begin(unsigned int i)
{
	char value[] = "2-5", old[] = "2-15";
	struct step step = {.kind = STEP_WRITE, .value = value, .old = old};

	snprintf(step.path, sizeof(step.path), "pinfold.slice/pod%u", i);
	snprintf(step.uid, sizeof(step.uid), "%u", i);
	assert_int_equal(operations_reserve(&operations), 0);
	return operations_begin(&operations, OPERATION_STEP, &step, 7);
}

static bool is_found(unsigned int i)
{
	struct operation *by_uid, *by_path;
	char path[64], uid[16];

	snprintf(path, sizeof(path), "pinfold.slice/pod%u", i);
	snprintf(uid, sizeof(uid), "%u", i);
	by_uid = operations_find(&operations, uid);
	by_path = operations_find_at(&operations, path);
	assert_ptr_equal(by_uid, by_path);
	return by_uid;
}

static void each_is_found_until_it_ends(void **state)
{
	for (unsigned int i = 0; i < NR; i++) {
		assert_false(is_found(i));
		begin(i);
	}
	for (unsigned int i = 0; i < NR; i++)
		assert_true(is_found(i));
	/* In an order that is not that of their begin. */
	for (unsigned int i = 0; i < NR; i++) {
		unsigned int which = i * 7 % NR;
		char uid[16];

		snprintf(uid, sizeof(uid), "%u", which);
		operations_end(&operations, operations_find(&operations, uid));
		assert_false(is_found(which));
		assert_int_equal(operations.nr, NR - 1 - i);
	}
}

/* The plan that the step belongs to may be freed before the operation ends. */
static void the_step_is_copied(void **state)
{
	const struct operation *operation = begin(1);

	assert_string_equal(operation->step.value, "2-5");
	assert_null(operation->step.old);
	assert_int_equal(operation->since_ns, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_is_found_until_it_ends),
		TEST(the_step_is_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
