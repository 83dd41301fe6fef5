// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* The guard's configuration as it was set and as the kernel has it; no kernel needed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/in_force.h"

static struct guard_config policy(__u32 cpuset_files, __u32 affinity, __u32 cgroup_moves)
{
	return (struct guard_config){
		.generation = 7,
		.expiry_ns = 1000,
		.aspect_modes = {cpuset_files, affinity, cgroup_moves},
		.managed_levels = 6,
		.actor_levels = 1,
		.pid1_rights = RIGHTS_SYSTEM,
		.sibling_level = 1,
	};
}

static void differs_is(const struct guard_config *expected, const struct guard_config *found,
		       const char *words)
{
	char text[320] = "untouched";

	assert_int_equal(guard_config_differs(expected, found, text, sizeof(text)), *words != 0);
	assert_string_equal(text, words);
}

static void test_the_same(void **state)
{
	struct guard_config set = policy(GUARD_ENFORCE, GUARD_AUDIT, GUARD_OFF);

	differs_is(&set, &set, "");
}

static void test_each_field_is_named(void **state)
{
	struct guard_config set = policy(GUARD_ENFORCE, GUARD_AUDIT, GUARD_OFF), found;

	found = set, found.aspect_modes[ASPECT_CPUSET_FILES] = GUARD_OFF;
	differs_is(&set, &found, "cpusetFiles off instead of enforce");
	found = set, found.aspect_modes[ASPECT_AFFINITY] = GUARD_ENFORCE;
	differs_is(&set, &found, "affinity enforce instead of audit");
	found = set, found.aspect_modes[ASPECT_CGROUP_MOVES] = 9;
	differs_is(&set, &found, "cgroupMoves unknown instead of off");
	found = set, found.expiry_ns = 1;
	differs_is(&set, &found, "expiry 1 instead of 1000");
	found = set, found.pid1_rights |= RIGHT_CPUSET;
	differs_is(&set, &found, "rights of process 1 0x3d instead of 0x3c");
	found = set, found.later_modes = 2u << GUARD_LATER_SHIFT(ASPECT_NR);
	differs_is(&set, &found, "modes of unknown aspects 0x2 instead of 0");
	found = set, found.managed_levels = 0;
	differs_is(&set, &found, "levels of managed cgroups 0 instead of 0x6");
	found = set, found.actor_levels = 3;
	differs_is(&set, &found, "levels of actors 0x3 instead of 0x1");
	found = set, found.sibling_level = 0;
	differs_is(&set, &found, "level of siblings 0 instead of 1");
	found = set, found.generation = 0;
	differs_is(&set, &found, "generation 0 instead of 7");
}

/* No byte of the structure may be changed unnoticed. */
static void test_every_byte_is_compared(void **state)
{
	struct guard_config set = policy(GUARD_ENFORCE, GUARD_ENFORCE, GUARD_ENFORCE);

	for (size_t i = 0; i < sizeof(set); i++) {
		struct guard_config found = set;
		char text[320];

		((unsigned char *)&found)[i] ^= 0x40;
		assert_true(guard_config_differs(&set, &found, text, sizeof(text)));
	}
}

static void test_words_are_cut(void **state)
{
	struct guard_config set = policy(GUARD_ENFORCE, GUARD_ENFORCE, GUARD_ENFORCE);
	struct guard_config found = {0};

	for (size_t size = 2; size < 320; size++) {
		char text[321];

		memset(text, 'x', sizeof(text));
		assert_true(guard_config_differs(&set, &found, text, size));
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], 'x');
	}
}

static struct guard_config policy_of(const __u32 modes[ASPECT_NR])
{
	struct guard_config config = policy(GUARD_OFF, GUARD_OFF, GUARD_OFF);

	for (__u32 aspect = 0; aspect < ASPECT_NR; aspect++)
		guard_set_mode(&config, aspect, modes[aspect]);
	return config;
}

/* To the next combination of modes; false after the last one. */
static bool count_up(__u32 modes[ASPECT_NR])
{
	for (__u32 aspect = 0; aspect < ASPECT_NR; aspect++) {
		if (++modes[aspect] < GUARD_MODE_NR)
			return true;
		modes[aspect] = GUARD_OFF;
	}
	return false;
}

/* Setting one mode changes no other and nothing else, whatever was there before. */
static void test_modes_are_set_one_by_one(void **state)
{
	for (__u32 aspect = 0; aspect < ASPECT_NR; aspect++) {
		for (__u32 mode = 0; mode < GUARD_MODE_NR; mode++) {
			struct guard_config config;

			memset(&config, 0xff, sizeof(config));
			guard_set_mode(&config, aspect, mode);
			assert_int_equal(guard_mode_of(&config, aspect), mode);
			for (__u32 other = 0; other < ASPECT_NR; other++)
				assert_true(other == aspect || guard_mode_of(&config, other) >= 3);
			assert_int_equal(config.pid1_rights, 0xffff);
			assert_int_equal(config.released, 0xffffffff);
		}
	}
}

static void test_release_and_back(void **state)
{
	__u32 modes[ASPECT_NR] = {0};

	do {
		struct guard_config set = policy_of(modes), config = set;

		release_make(&config);
		assert_true(release_stands(&config));
		for (__u32 aspect = 0; aspect < ASPECT_NR; aspect++)
			assert_int_equal(guard_mode_of(&config, aspect),
					 modes[aspect] == GUARD_ENFORCE ? GUARD_AUDIT
									: modes[aspect]);
		/* a second release does not forget what the first took away */
		release_make(&config);
		release_end(&config);
		assert_memory_equal(&config, &set, sizeof(set));
		release_end(&config);
		assert_memory_equal(&config, &set, sizeof(set));
	} while (count_up(modes));
}

static void test_a_release_is_not_a_difference(void **state)
{
	struct guard_config set = policy(GUARD_ENFORCE, GUARD_AUDIT, GUARD_ENFORCE), found = set;
	struct guard_config expected;

	release_make(&found);
	expected = guard_config_expected(&set, &found);
	differs_is(&expected, &found, "");
	/* more than a release takes away is one */
	found.aspect_modes[ASPECT_CPUSET_FILES] = GUARD_OFF;
	expected = guard_config_expected(&set, &found);
	differs_is(&expected, &found, "cpusetFiles off instead of audit");
	/* and modes without the mark are one */
	found.aspect_modes[ASPECT_CPUSET_FILES] = GUARD_AUDIT;
	found.released = 0;
	expected = guard_config_expected(&set, &found);
	differs_is(&expected, &found,
		   "cpusetFiles audit instead of enforce, cgroupMoves audit instead of enforce");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same),
		cmocka_unit_test(test_each_field_is_named),
		cmocka_unit_test(test_every_byte_is_compared),
		cmocka_unit_test(test_words_are_cut),
		cmocka_unit_test(test_modes_are_set_one_by_one),
		cmocka_unit_test(test_release_and_back),
		cmocka_unit_test(test_a_release_is_not_a_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
