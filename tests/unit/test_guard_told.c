// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl format core lib
/* What the controller tells of the guard: the mode in force, a release, a change. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node_scene.h"
#include "lib/text.h"

static struct controller *controller;

static int start(void **state)
{
	set_up_node(state);
	controller = start_node(&fake_side_port);
	return 0;
}

static int stop(void **state)
{
	controller_free(controller);
	return tear_down(state);
}

static void node_says(const char *guard, const char *tiers)
{
	struct json_object *node = query(controller, "node");

	assert_string_equal(member(node, "guard"), guard);
	assert_string_equal(member(node, "tiers"), tiers);
	json_object_put(node);
}

/* Is there a finding of that name with that word in it? */
static bool has_finding(const char *name, const char *word)
{
	struct json_object *node = query(controller, "node"),
			   *rows = json_object_object_get(node, "findings");
	bool found = false;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(member(row, "name"), name))
			found = strstr(member(row, "message"), word) ||
				strstr(member(row, "remedy"), word);
	}
	json_object_put(node);
	return found;
}

static uint32_t nr_events(const char *kind, const char *word)
{
	struct json_object *rows = query(controller, "event");
	uint32_t nr = 0;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		nr += !strcmp(member(row, "kind"), kind) && strstr(member(row, "detail"), word);
	}
	json_object_put(rows);
	return nr;
}

static bool page_has(const char *line)
{
	const struct faces_port *faces = controller_faces(controller);
	cleanup_text struct text page = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	return strstr(page.data, line) != NULL;
}

static void tick(uint64_t seconds)
{
	fake->now_ns += seconds * 1000000000;
	controller_tick(controller);
}

static void test_the_mode_in_force_is_told(void **state)
{
	static const char *const modes[] = {"off", "audit", "enforce"};

	for (enum enforcement mode = 0; mode < ENFORCEMENT_NR; mode++) {
		fake_side.guard.cpuset_files = mode;
		node_says(modes[mode], mode == ENFORCEMENT_ENFORCE ? "0 1 2" : "0 1");
		assert_true(
			page_has(mode == ENFORCEMENT_ENFORCE
					 ? "pinfold_guard_enforcing{aspect=\"cpuset_files\"} 1\n"
					 : "pinfold_guard_enforcing{aspect=\"cpuset_files\"} 0\n"));
		assert_true(page_has("pinfold_guard_enforcing{aspect=\"affinity\"} 1\n"));
	}
	fake_side.guard.state = GUARD_PARTIAL;
	node_says("partial", "0 1 2");
	fake_side.guard.cpuset_files = ENFORCEMENT_AUDIT;
	node_says("audit", "0 1");
	fake_side.guard.state = GUARD_INACTIVE;
	node_says("absent", "0 1");
	assert_true(page_has("pinfold_guard_enforcing{aspect=\"affinity\"} 0\n"));
}

static void test_a_release_is_told_and_its_end(void **state)
{
	tick(1);
	assert_false(has_finding("guard_released", ""));
	fake_side.guard.released = true;
	tick(1);
	tick(1);
	assert_true(has_finding("guard_released", "pinfold guard arm"));
	assert_int_equal(nr_events("release", "has released"), 1);
	fake_side.guard.released = false;
	tick(1);
	assert_false(has_finding("guard_released", ""));
	assert_int_equal(nr_events("release", "has ended"), 1);
}

/* The start's policy ends a release, no later one does, a reload's does again. */
static void test_a_release_ends_with_a_start_and_a_reload(void **state)
{
	char error[256];

	assert_true(fake_side.policy.ends_release);
	fake_side.guard.nr_mended[MENDED_CONFIG]++;
	tick(1);
	assert_int_equal(fake_side.nr_published, 2);
	assert_false(fake_side.policy.ends_release);
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	assert_true(fake_side.policy.ends_release);
}

static void test_a_change_is_told_and_published_over(void **state)
{
	uint32_t nr_published = fake_side.nr_published;

	tick(1);
	assert_int_equal(fake_side.nr_published, nr_published);
	snprintf(fake_side.guard.mended[MENDED_CONFIG], ROW_DETAIL_MAX, "expiry 1 instead of 0");
	fake_side.guard.nr_mended[MENDED_CONFIG] = 1;
	tick(1);
	assert_int_equal(fake_side.nr_published, nr_published + 1);
	assert_true(has_finding("guard_changed", "expiry 1 instead of 0"));
	assert_int_equal(nr_events("finding", "expiry 1 instead of 0"), 1);
	assert_true(page_has("pinfold_guard_mended_total{what=\"config\"} 1\n"));
	assert_true(page_has("pinfold_guard_mended_total{what=\"pins\"} 0\n"));
	tick(1);
	assert_int_equal(fake_side.nr_published, nr_published + 1);
	assert_int_equal(nr_events("finding", "expiry 1 instead of 0"), 1);
	tick(14 * 60);
	assert_true(has_finding("guard_changed", "expiry"));
	tick(60);
	assert_false(has_finding("guard_changed", ""));
}

static void test_pins_are_told(void **state)
{
	snprintf(fake_side.guard.mended[MENDED_PINS], ROW_DETAIL_MAX, "maps/managed lost");
	fake_side.guard.nr_mended[MENDED_PINS] = 1;
	tick(1);
	assert_true(has_finding("guard_pins", "maps/managed lost"));
	assert_int_equal(nr_events("finding", "maps/managed lost"), 1);
	assert_true(page_has("pinfold_guard_mended_total{what=\"pins\"} 1\n"));
	snprintf(fake_side.guard.unpinned, ROW_DETAIL_MAX, "maps/managed: why not");
	tick(1);
	assert_true(has_finding("guard_not_pinned", "why not"));
	*fake_side.guard.unpinned = '\0';
	tick(1);
	assert_false(has_finding("guard_not_pinned", ""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_mode_in_force_is_told),
		TEST(test_a_release_is_told_and_its_end),
		TEST(test_a_release_ends_with_a_start_and_a_reload),
		TEST(test_a_change_is_told_and_published_over),
		TEST(test_pins_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
