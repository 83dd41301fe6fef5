// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Which modes of enforcement are published with the policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node_scene.h"

static void expect_modes(enum enforcement cpuset_files, enum enforcement affinity,
			 enum enforcement cgroup_moves)
{
	assert_int_equal(fake_side.policy.cpuset_files, cpuset_files);
	assert_int_equal(fake_side.policy.affinity, affinity);
	assert_int_equal(fake_side.policy.cgroup_moves, cgroup_moves);
}

/* Each aspect has its own mode. */
static void the_configured_modes_are_published(void **state)
{
	for (int i = 0; i < ENFORCEMENT_NR; i++) {
		const enum enforcement modes[] = {i, (i + 1) % ENFORCEMENT_NR,
						  (i + 2) % ENFORCEMENT_NR};

		config.enforcement.cpuset_files = modes[0];
		config.enforcement.affinity = modes[1];
		config.enforcement.cgroup_moves = modes[2];
		controller_free(start_node(&fake_side_port));
		expect_modes(modes[0], modes[1], modes[2]);
	}
}

static void an_observer_enforces_nothing(void **state)
{
	config.mode = MODE_OBSERVE;
	config.enforcement.cpuset_files = config.enforcement.affinity =
		config.enforcement.cgroup_moves = ENFORCEMENT_ENFORCE;
	controller_free(start_node(&fake_side_port));
	expect_modes(ENFORCEMENT_OFF, ENFORCEMENT_OFF, ENFORCEMENT_OFF);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_configured_modes_are_published),
		TEST(an_observer_enforces_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
