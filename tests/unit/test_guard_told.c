// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What the controller tells of the guard: the mode in force, a release, a change. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/guard.h"
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

static void tick(uint64_t seconds)
{
	fake->now_ns += seconds * 1000000000;
	controller_tick(controller);
}

/* The configuration asks for this mode, and the kernel has it. */
static void ask_and_have(enum aspect aspect, enum enforcement mode)
{
	config.enforcement.guard[aspect] = mode;
	fake_side.guard.modes[aspect] = mode;
}

static void test_the_mode_in_force_is_reported(void **state)
{
	static const char *const modes[] = {"off", "audit", "enforce"};

	for (enum enforcement mode = 0; mode < ENFORCEMENT_NR; mode++) {
		fake_side.guard.modes[ASPECT_CPUSET_FILES] = mode;
		node_says(modes[mode], mode == ENFORCEMENT_ENFORCE ? "0 1 2" : "0 1");
		expect_metric(controller,
			      mode == ENFORCEMENT_ENFORCE
				      ? "pinfold_guard_enforcing{aspect=\"cpuset_files\"} 1\n"
				      : "pinfold_guard_enforcing{aspect=\"cpuset_files\"} 0\n");
		expect_metric(controller, "pinfold_guard_enforcing{aspect=\"affinity\"} 1\n");
	}
	fake_side.guard.state = GUARD_PARTIAL;
	node_says("partial", "0 1 2");
	fake_side.guard.modes[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	node_says("audit", "0 1");
	fake_side.guard.state = GUARD_INACTIVE;
	node_says("absent", "0 1");
	expect_metric(controller, "pinfold_guard_enforcing{aspect=\"affinity\"} 0\n");
}

static void test_a_release_and_its_end_are_reported(void **state)
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

static void test_a_change_is_reported_and_reverted(void **state)
{
	uint32_t nr_published = fake_side.nr_published;

	tick(3600);
	assert_int_equal(fake_side.nr_published, nr_published);
	snprintf(fake_side.guard.mended[MENDED_CONFIG], ROW_DETAIL_MAX, "expiry 1 instead of 0");
	fake_side.guard.nr_mended[MENDED_CONFIG] = 1;
	tick(1);
	assert_int_equal(fake_side.nr_published, nr_published + 1);
	assert_true(has_finding("guard_changed", "expiry 1 instead of 0"));
	assert_int_equal(nr_events("finding", "expiry 1 instead of 0"), 1);
	expect_metric(controller, "pinfold_guard_mended_total{what=\"config\"} 1\n");
	expect_metric(controller, "pinfold_guard_mended_total{what=\"pins\"} 0\n");
	tick(1);
	assert_int_equal(fake_side.nr_published, nr_published + 1);
	assert_int_equal(nr_events("finding", "expiry 1 instead of 0"), 1);
	/* A quarter of an hour after the change, to the second. */
	tick(15 * 60 - 2);
	assert_true(has_finding("guard_changed", "expiry"));
	tick(1);
	assert_false(has_finding("guard_changed", ""));
}

static void test_changed_pins_are_reported(void **state)
{
	uint32_t nr_published = fake_side.nr_published;

	snprintf(fake_side.guard.mended[MENDED_PINS], ROW_DETAIL_MAX, "maps/managed lost");
	fake_side.guard.nr_mended[MENDED_PINS] = 1;
	tick(1);
	assert_true(has_finding("guard_pins", "maps/managed lost"));
	assert_int_equal(nr_events("finding", "maps/managed lost"), 1);
	expect_metric(controller, "pinfold_guard_mended_total{what=\"pins\"} 1\n");
	/* A pin holds a map, and changes nothing in it. */
	assert_int_equal(fake_side.nr_published, nr_published);
	fake_side.guard.is_unpinned = true;
	snprintf(fake_side.guard.unpinned, ROW_DETAIL_MAX, "maps/managed: why not");
	tick(1);
	assert_true(has_finding("guard_not_pinned", "why not"));
	fake_side.guard.is_unpinned = false;
	tick(1);
	assert_false(has_finding("guard_not_pinned", ""));
}

static void test_an_outage_is_reported_afterwards(void **state)
{
	tick(1);
	expect_metric(controller, "pinfold_agent_outage_seconds_total 0.000000000\n");
	fake_side.guard.nr_outages = 1;
	fake_side.guard.outage_ns = fake_side.guard.last_outage_ns = 7900000000;
	tick(1);
	assert_true(has_finding("agent_outage", "stood still for 7 s; the guard stayed in force"));
	assert_int_equal(nr_events("finding", "stood still for 7 s"), 1);
	expect_metric(controller, "pinfold_agent_outage_seconds_total 7.900000000\n");
	tick(15 * 60 - 1);
	assert_true(has_finding("agent_outage", "7 s"));
	/* another one, which was longer than guardExpiry, begins the quarter of an hour again */
	fake_side.guard.nr_outages = 2;
	fake_side.guard.last_outage_ns = 30000000000;
	fake_side.guard.last_expired_ns = 20000000000;
	tick(1);
	assert_true(has_finding("agent_outage", "30 s, of which the guard only recorded for 20 s"));
	tick(15 * 60 - 1);
	assert_true(has_finding("agent_outage", "30 s"));
	tick(1);
	assert_false(has_finding("agent_outage", ""));
	assert_int_equal(nr_events("finding", "stood still"), 2);
}

static const char *not_ready_because(void)
{
	const struct faces_port *faces = controller_faces(controller);
	static char reason[ROW_DETAIL_MAX];

	*reason = '\0';
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	return reason;
}

static bool is_ready(void)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[256];

	return faces->ready(faces->self, reason, sizeof(reason));
}

/* Its end is not waited for, and there is one at a time. */
static void test_a_blocked_self_test_delays_nothing(void **state)
{
	uint32_t nr = fake_side.nr_self_tests;

	fake_side.self_test_answer = -EINPROGRESS;
	tick(60);
	assert_int_equal(fake_side.nr_self_tests, nr + 1);
	expect_metric(controller, "pinfold_operations_waiting 1\n");
	node_says("enforce", "0 1 2");
	tick(2);
	assert_true(has_finding("operation_waiting",
				"the guard has waited 2 s for its self-test in "
				"pinfold.slice/pinfold-selftest (in fake_fork)"));
	tick(60);
	assert_int_equal(fake_side.nr_self_tests, nr + 1);
	fake_end_self_test(controller);
	assert_false(has_finding("operation_waiting", ""));
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	tick(60);
	assert_int_equal(fake_side.nr_self_tests, nr + 2);
}

/* What is in force is not what was tested: no minute is waited for. */
static void test_a_change_is_followed_by_a_self_test(void **state)
{
	uint32_t nr = fake_side.nr_self_tests;

	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr);
	fake_side.guard.nr_mended[MENDED_CONFIG] = 1;
	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr + 1);
	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr + 1);
	fake_side.self_test_answer = -EINPROGRESS;
	fake_side.guard.nr_mended[MENDED_CONFIG] = 2;
	tick(1);
	fake_side.guard.nr_mended[MENDED_CONFIG] = 3;
	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr + 2);
	fake_end_self_test(controller);
	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr + 3);
}

static void test_a_guard_switched_off_is_not_ready(void **state)
{
	uint32_t nr = fake_side.nr_self_tests;

	scan(controller, NULL, 0);
	assert_true(is_ready());
	fake_side.guard.is_switched_off = true;
	fake_side.guard.state = GUARD_INACTIVE;
	snprintf(fake_side.guard.reason, ROW_DETAIL_MAX, "a switch is off");
	snprintf(fake_side.guard.remedy, ROW_DETAIL_MAX, "switch it on");
	tick(1);
	assert_string_equal(not_ready_because(), "a switch is off");
	node_says("absent", "0 1");
	assert_true(has_finding("guard_not_active", "a switch is off"));
	assert_true(has_finding("guard_not_active", "switch it on"));
	/* where nothing is to be denied nothing promised is broken */
	for (unsigned int aspects = 0; aspects < 1u << ASPECT_NR; aspects++) {
		for (int aspect = 0; aspect < ASPECT_NR; aspect++)
			ask_and_have(aspect, aspects >> aspect & 1 ? ENFORCEMENT_ENFORCE
								   : ENFORCEMENT_AUDIT);
		assert_int_equal(is_ready(), !aspects);
	}
	/* one that stays off is not tried before its time */
	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr);
	fake_side.guard.is_switched_off = false;
	fake_side.guard.state = GUARD_ACTIVE;
	tick(1);
	assert_int_equal(fake_side.nr_self_tests, nr + 1);
	assert_true(is_ready());
}

static void test_a_frozen_map_is_reported_with_its_remedy(void **state)
{
	scan(controller, NULL, 0);
	assert_true(is_ready());
	snprintf(fake_side.guard.frozen_map, sizeof(fake_side.guard.frozen_map), "managed");
	tick(1);
	assert_false(is_ready());
	assert_non_null(strstr(not_ready_because(), "froze the BPF map managed"));
	assert_true(has_finding("guard_frozen", "froze the BPF map managed"));
	assert_true(has_finding("guard_frozen", "restart pinfoldd"));
	*fake_side.guard.frozen_map = '\0';
	tick(1);
	assert_true(is_ready());
	assert_false(has_finding("guard_frozen", ""));
}

static void test_unprotected_files_are_reported(void **state)
{
	scan(controller, NULL, 0);
	fake_side.guard.is_unprotected = true;
	snprintf(fake_side.guard.unprotected, sizeof(fake_side.guard.unprotected),
		 "the kernel refuses it: Invalid argument");
	tick(1);
	assert_true(has_finding("guard_files_unprotected", "Invalid argument"));
	assert_true(is_ready());
	fake_side.guard.is_unprotected = false;
	tick(1);
	assert_false(has_finding("guard_files_unprotected", ""));
}

static void test_nobody_misses_a_protection_that_is_off(void **state)
{
	config.enforcement.guard[ASPECT_GUARD_FILES] = ENFORCEMENT_OFF;
	fake_side.guard.is_unprotected = true;
	snprintf(fake_side.guard.unprotected, sizeof(fake_side.guard.unprotected), "refused");
	tick(1);
	assert_false(has_finding("guard_files_unprotected", ""));
}

/* The guard stays in force, so nothing promised is broken; but nobody knows that it denies. */
static void test_a_guard_that_cannot_be_tested_is_unknown(void **state)
{
	scan(controller, NULL, 0);
	fake_side.self_test_answer = -EINPROGRESS;
	tick(60);
	tick(4);
	node_says("enforce", "0 1 2");
	tick(1);
	node_says("unknown", "0 1");
	assert_true(has_finding("guard_not_active", "it is unknown whether the guard denies"));
	assert_true(
		has_finding("guard_not_active", "the finding operation_waiting names the place"));
	expect_metric(controller, "pinfold_guard_active 0\n");
	expect_metric(controller, "pinfold_guard_enforcing{aspect=\"affinity\"} 0\n");
	assert_true(is_ready());
	fake_end_self_test(controller);
	node_says("enforce", "0 1 2");
	assert_false(has_finding("guard_not_active", ""));
	expect_metric(controller, "pinfold_guard_active 1\n");
}

/* One that never denied is not made unknown by a test that does not end. */
static void test_a_guard_known_to_be_inactive_remains_so(void **state)
{
	fake_side.guard.state = GUARD_INACTIVE;
	fake_side.self_test_answer = -EINPROGRESS;
	tick(60);
	tick(10);
	node_says("absent", "0 1");
}

/* Neither the guard nor a pod waits for the manifests' disk. */
static void test_a_blocked_scan_is_reported(void **state)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;

	sink->waiting(sink->self, true);
	tick(2);
	assert_true(has_finding("operation_waiting",
				"every change to a manifest has waited 2 s for a "
				"scan of manifestDirectory"));
	expect_metric(controller, "pinfold_operations_waiting 1\n");
	tick(60);
	node_says("enforce", "0 1 2");
	sink->waiting(sink->self, false);
	tick(1);
	assert_false(has_finding("operation_waiting", ""));
}

/* One wait ends and another becomes the longest: the finding stays, its remedy does not. */
static void test_the_remedy_is_that_of_the_longest_wait(void **state)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct pod_spec *pod = fake_pod("a", "exclusive", 4000, true);

	fake->slow_save = true;
	scan(controller, &pod, 1);
	tick(1);
	sink->waiting(sink->self, true);
	tick(4);
	assert_true(has_finding("operation_waiting", "check the disk of stateDirectory"));
	fake_end_save(controller, 0);
	tick(1);
	assert_true(has_finding("operation_waiting", "check the disk of manifestDirectory"));
	sink->waiting(sink->self, false);
	pod_spec_free(pod);
}

/* A wait of something else is no reason to leave the guard untested. */
static void test_the_self_test_does_not_wait_for_others(void **state)
{
	struct pod_spec *pod = fake_pod("a", "exclusive", 4000, true);
	uint32_t nr = fake_side.nr_self_tests;

	fake->slow_save = true;
	scan(controller, &pod, 1);
	tick(2);
	assert_true(has_finding("operation_waiting", "state file"));
	tick(60);
	assert_int_equal(fake_side.nr_self_tests, nr + 1);
	fake_end_save(controller, 0);
	pod_spec_free(pod);
}

/* What the first self-test found is told with the start, and no minute later. */
static void test_a_guard_that_denies_nothing_is_told_at_the_start(void **state)
{
	controller_free(controller);
	fake_side_reset();
	fake_side.guard.state = GUARD_INACTIVE;
	controller = start_node(&fake_side_port);
	assert_true(has_finding("guard_not_active", ""));
}

/* The test makes a cgroup. Where nothing is to be denied, a guard without a test is no finding. */
static void test_an_observer_does_not_test_the_guard(void **state)
{
	controller_free(controller);
	fake_side_reset();
	fake_side.guard.state = GUARD_UNKNOWN;
	config.mode = MODE_OBSERVE;
	controller = start_node(&fake_side_port);
	tick(60);
	fake_side.guard.nr_mended[MENDED_CONFIG] = 1;
	tick(1);
	assert_true(has_finding("guard_changed", ""));
	tick(60);
	assert_int_equal(fake_side.nr_self_tests, 0);
	assert_false(has_finding("guard_not_active", ""));
}

/* It asks for no protection, so it misses none. */
static void test_an_observer_does_not_miss_the_protection_of_its_files(void **state)
{
	controller_free(controller);
	fake_side_reset();
	fake_side.guard.is_unprotected = true;
	snprintf(fake_side.guard.unprotected, sizeof(fake_side.guard.unprotected), "refused");
	controller = start_node(&fake_side_port);
	assert_true(has_finding("guard_files_unprotected", "refused"));
	config.mode = MODE_OBSERVE;
	tick(1);
	assert_false(has_finding("guard_files_unprotected", ""));
}

/* The start tells the policy once, whatever was put back while the programs were loaded. */
static void test_a_change_before_the_start_is_not_published_over(void **state)
{
	controller_free(controller);
	fake_side_reset();
	fake_side.guard.nr_mended[MENDED_CONFIG] = 1;
	controller = start_node(&fake_side_port);
	assert_true(has_finding("guard_changed", ""));
	assert_int_equal(fake_side.nr_published, 1);
}

/* No pod of the ledger, and not left over from one. */
static void test_the_cgroup_of_the_self_test_is_kept(void **state)
{
	static const char path[] = "pinfold.slice/pinfold-selftest";
	struct step step = {.kind = STEP_CREATE, .role = GROUP_POD};
	char error[GROUP_ERROR_MAX];

	memcpy(step.path, path, sizeof(path));
	assert_int_equal(fake_create(&step, error), 0);
	controller_wake(controller);
	assert_non_null(fake_find(path));
}

/* Nothing is known of a guard that no programs make, and nothing is reported of it. */
static void test_without_programs_there_is_no_status(void **state)
{
	struct guard_status status = {.state = GUARD_PARTIAL};
	char reason[64] = "untouched";

	controller_free(controller);
	controller = start_node(NULL);
	assert_false(ctl_guard_status(controller, &status));
	assert_int_equal(status.state, GUARD_PARTIAL);
	assert_false(ctl_lacks_guard(controller, reason, sizeof(reason)));
	assert_string_equal(reason, "untouched");
	assert_false(has_finding("guard_not_active", ""));
}

/* --- readiness: the modes that the configuration asks for ---------------------------------------------- */

/* What a release does to the modes in force. */
static void release_guard(void)
{
	fake_side.guard.released = true;
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		if (fake_side.guard.modes[aspect] == ENFORCEMENT_ENFORCE)
			fake_side.guard.modes[aspect] = ENFORCEMENT_AUDIT;
}

static void test_a_released_guard_is_not_ready(void **state)
{
	scan(controller, NULL, 0);
	assert_true(is_ready());
	release_guard();
	assert_non_null(strstr(not_ready_because(), "released the guard"));
	assert_non_null(strstr(not_ready_because(), "pinfold guard arm"));
	fake_side.guard.released = false;
	memcpy(fake_side.guard.modes, config.enforcement.guard, sizeof(fake_side.guard.modes));
	assert_true(is_ready());
	/* Where nothing is to be denied, a release takes nothing away. */
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		ask_and_have(aspect, ENFORCEMENT_AUDIT);
	release_guard();
	tick(1);
	assert_true(has_finding("guard_released", "pinfold guard arm"));
	assert_true(is_ready());
}

/* An inspector that does not know the last aspect releases the others and leaves its mode. */
static void test_a_release_counts_whatever_the_modes_say(void **state)
{
	scan(controller, NULL, 0);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		ask_and_have(aspect, ENFORCEMENT_OFF);
	ask_and_have(ASPECT_GUARD_FILES, ENFORCEMENT_ENFORCE);
	assert_true(is_ready());
	fake_side.guard.released = true;
	assert_non_null(strstr(not_ready_because(), "released the guard"));
}

static void test_each_mode_is_compared_with_the_configuration(void **state)
{
	char expected[128];

	scan(controller, NULL, 0);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++) {
		for (enum enforcement asked = 0; asked < ENFORCEMENT_NR; asked++) {
			for (enum enforcement found = 0; found < ENFORCEMENT_NR; found++) {
				ask_and_have(aspect, asked);
				fake_side.guard.modes[aspect] = found;
				assert_int_equal(is_ready(), asked == found);
				if (asked == found)
					continue;
				snprintf(expected, sizeof(expected), "%s %s instead of %s",
					 aspect_option(aspect), enforcement_name(found),
					 enforcement_name(asked));
				assert_non_null(strstr(not_ready_because(), expected));
			}
		}
		ask_and_have(aspect, ENFORCEMENT_ENFORCE);
	}
}

/* All of them fit, so the operator learns at once what to look for. */
static void test_all_modes_that_differ_are_named(void **state)
{
	struct text expected cleanup_text = {0};

	scan(controller, NULL, 0);
	text_printf(&expected, "the guard is not in the mode asked for: ");
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++) {
		ask_and_have(aspect, ENFORCEMENT_ENFORCE);
		fake_side.guard.modes[aspect] = ENFORCEMENT_AUDIT;
		text_printf(&expected, "%s%s audit instead of enforce", aspect ? ", " : "",
			    aspect_option(aspect));
	}
	assert_string_equal(not_ready_because(), expected.data);
}

/* Its programs are not there, so its mode is off, which a finding of its own says. */
static void test_a_protection_that_the_kernel_refuses_is_no_other_mode(void **state)
{
	scan(controller, NULL, 0);
	fake_side.guard.is_unprotected = true;
	snprintf(fake_side.guard.unprotected, sizeof(fake_side.guard.unprotected), "refused");
	fake_side.guard.modes[ASPECT_GUARD_FILES] = ENFORCEMENT_OFF;
	assert_true(is_ready());
	fake_side.guard.modes[ASPECT_AFFINITY] = ENFORCEMENT_OFF;
	assert_non_null(strstr(not_ready_because(), "affinity off instead of enforce"));
	assert_null(strstr(not_ready_because(), "guardFiles"));
}

static void lose_guard(bool is_impossible)
{
	fake_side.guard = (struct guard_status){
		.state = GUARD_INACTIVE, .is_impossible = is_impossible, .reason = "no memory"};
}

static void test_a_missing_guard_is_not_ready_where_the_kernel_could_run_it(void **state)
{
	scan(controller, NULL, 0);
	lose_guard(true);
	assert_true(is_ready());
	tick(1);
	assert_true(has_finding("guard_not_active", "no memory"));
	lose_guard(false);
	assert_non_null(strstr(not_ready_because(), "no memory"));
	/* where nothing is to be denied nothing promised is broken */
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		config.enforcement.guard[aspect] = ENFORCEMENT_AUDIT;
	assert_true(is_ready());
}

/* Loaded, in the right mode, and yet the self-test's write passed. */
static void test_a_guard_that_denies_nothing_is_not_ready(void **state)
{
	scan(controller, NULL, 0);
	fake_side.guard.state = GUARD_INACTIVE;
	snprintf(fake_side.guard.reason, ROW_DETAIL_MAX, "the self-test was not denied");
	assert_non_null(strstr(not_ready_because(), "the self-test was not denied"));
	fake_side.guard.state = GUARD_PARTIAL;
	assert_true(is_ready());
}

static void test_modes_that_cannot_be_read_are_not_ready(void **state)
{
	scan(controller, NULL, 0);
	fake_side.guard.state = GUARD_UNKNOWN;
	fake_side.guard.is_unread = true;
	memset(fake_side.guard.modes, 0, sizeof(fake_side.guard.modes));
	snprintf(fake_side.guard.reason, ROW_DETAIL_MAX, "the map cannot be read");
	assert_string_equal(not_ready_because(), "the map cannot be read");
}

/* An observer asks for no mode: what differs from off is the guard of an earlier agent. */
static void test_an_observer_asks_for_no_guard(void **state)
{
	char reason[ROW_DETAIL_MAX];

	controller_free(controller);
	fake_side_reset();
	config.mode = MODE_OBSERVE;
	controller = start_node(&fake_side_port);
	scan(controller, NULL, 0);
	assert_int_equal(fake_side.guard.modes[ASPECT_AFFINITY], ENFORCEMENT_OFF);
	assert_false(ctl_lacks_guard(controller, reason, sizeof(reason)));
	lose_guard(false);
	assert_false(ctl_lacks_guard(controller, reason, sizeof(reason)));
}

/* --- what is asked for and what is in force, side by side ---------------------------------------------- */

/* One protection's row; the two modes are "null" where they cannot be told. */
static void expect_modes(enum aspect aspect, const char *asked, const char *in_force,
			 const char *reason)
{
	struct json_object *rows = query(controller, "guard"), *row;

	assert_int_equal(json_object_array_length(rows), ASPECT_NR);
	row = json_object_array_get_idx(rows, aspect);
	assert_string_equal(member(row, "protection"), aspect_option(aspect));
	assert_string_equal(member(row, "asked"), asked);
	assert_string_equal(member(row, "in_force"), in_force);
	assert_non_null(strstr(member(row, "reason"), reason));
	json_object_put(rows);
}

static void test_modes_asked_for_and_in_force_are_listed(void **state)
{
	config.enforcement.guard[ASPECT_PRIORITIES] = ENFORCEMENT_OFF;
	fake_side.guard.modes[ASPECT_PRIORITIES] = ENFORCEMENT_OFF;
	expect_modes(ASPECT_CPUSET_FILES, "enforce", "enforce", "null");
	expect_modes(ASPECT_DEBUGGING, "audit", "audit", "null");
	expect_modes(ASPECT_PRIORITIES, "off", "off", "null");
	release_guard();
	expect_modes(ASPECT_CPUSET_FILES, "enforce", "audit", "pinfold guard arm");
	expect_modes(ASPECT_DEBUGGING, "audit", "audit", "null");
	fake_side.guard.released = false;
	expect_modes(ASPECT_CPUSET_FILES, "enforce", "audit", "reverts it within a second");
	expect_modes(ASPECT_PRIORITIES, "off", "off", "null");
}

static void test_a_mode_that_is_not_in_force_says_why(void **state)
{
	snprintf(fake_side.guard.reason, ROW_DETAIL_MAX, "why not");
	fake_side.guard.state = GUARD_PARTIAL;
	expect_modes(ASPECT_AFFINITY, "enforce", "enforce", "why not");
	expect_modes(ASPECT_DEBUGGING, "audit", "audit", "null");
	fake_side.guard.state = GUARD_UNKNOWN;
	expect_modes(ASPECT_AFFINITY, "enforce", "enforce", "why not");
	fake_side.guard.is_unread = true;
	expect_modes(ASPECT_AFFINITY, "enforce", "null", "why not");
	fake_side.guard.is_unread = false;
	fake_side.guard.state = GUARD_INACTIVE;
	expect_modes(ASPECT_AFFINITY, "enforce", "off", "why not");
	expect_modes(ASPECT_DEBUGGING, "audit", "off", "why not");
	fake_side.guard.state = GUARD_ACTIVE;
	fake_side.guard.is_unprotected = true;
	snprintf(fake_side.guard.unprotected, ROW_DETAIL_MAX, "refused");
	fake_side.guard.modes[ASPECT_GUARD_FILES] = ENFORCEMENT_OFF;
	expect_modes(ASPECT_GUARD_FILES, "enforce", "off", "refused");
	expect_modes(ASPECT_AFFINITY, "enforce", "enforce", "null");
}

static void test_without_programs_no_mode_is_in_force(void **state)
{
	controller_free(controller);
	controller = start_node(NULL);
	expect_modes(ASPECT_AFFINITY, "enforce", "off", "no BPF programs");
	config.mode = MODE_OBSERVE;
	expect_modes(ASPECT_AFFINITY, "off", "off", "null");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_mode_in_force_is_reported),
		TEST(test_a_release_and_its_end_are_reported),
		TEST(test_a_release_ends_with_a_start_and_a_reload),
		TEST(test_a_change_is_reported_and_reverted),
		TEST(test_changed_pins_are_reported),
		TEST(test_an_outage_is_reported_afterwards),
		TEST(test_a_blocked_self_test_delays_nothing),
		TEST(test_a_change_is_followed_by_a_self_test),
		TEST(test_a_frozen_map_is_reported_with_its_remedy),
		TEST(test_unprotected_files_are_reported),
		TEST(test_nobody_misses_a_protection_that_is_off),
		TEST(test_a_guard_switched_off_is_not_ready),
		TEST(test_a_guard_that_cannot_be_tested_is_unknown),
		TEST(test_a_guard_known_to_be_inactive_remains_so),
		TEST(test_a_blocked_scan_is_reported),
		TEST(test_the_remedy_is_that_of_the_longest_wait),
		TEST(test_the_self_test_does_not_wait_for_others),
		TEST(test_a_guard_that_denies_nothing_is_told_at_the_start),
		TEST(test_an_observer_does_not_test_the_guard),
		TEST(test_an_observer_does_not_miss_the_protection_of_its_files),
		TEST(test_a_change_before_the_start_is_not_published_over),
		TEST(test_the_cgroup_of_the_self_test_is_kept),
		TEST(test_without_programs_there_is_no_status),
		TEST(test_a_released_guard_is_not_ready),
		TEST(test_a_release_counts_whatever_the_modes_say),
		TEST(test_each_mode_is_compared_with_the_configuration),
		TEST(test_all_modes_that_differ_are_named),
		TEST(test_a_protection_that_the_kernel_refuses_is_no_other_mode),
		TEST(test_a_missing_guard_is_not_ready_where_the_kernel_could_run_it),
		TEST(test_a_guard_that_denies_nothing_is_not_ready),
		TEST(test_modes_that_cannot_be_read_are_not_ready),
		TEST(test_an_observer_asks_for_no_guard),
		TEST(test_modes_asked_for_and_in_force_are_listed),
		TEST(test_a_mode_that_is_not_in_force_says_why),
		TEST(test_without_programs_no_mode_is_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
