// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Strangers that were seen on an exclusive CPU, how long they stayed, what a walk is asked for and
 * when, and what an operator is told to do.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch_scene.h"

#define MS (S / 1000)
#define US (S / 1000000)

/* --- what a walk is asked for -------------------------------------------------------------------- */

static void expect_set(const struct cpuset *found, const char *wanted)
{
	char text[128];

	cpuset_format(found, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void offline_cpus_are_allowed_to_nobody(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	scan(controller, pods, 2);
	tick(controller, 1);
	assert_string_equal(fake_stranger.request.workload_root, "pinfold.slice");
	expect_set(&fake_stranger.request.cpus.online, "0-15");
	expect_set(&fake_stranger.request.cpus.allowed, "0-1,6-15");
	fake_stranger.nr_walks = 0;
	/* Who was moved there is moved again, without delay. */
	tell_online(controller, "0-13");
	controller_wake(controller);
	assert_int_equal(fake_stranger.nr_walks, 1);
	expect_set(&fake_stranger.request.cpus.online, "0-13");
	expect_set(&fake_stranger.request.cpus.exclusive, "2-5");
	expect_set(&fake_stranger.request.cpus.allowed, "0-1,6-13");
	controller_free(controller);
}

/* Where nothing was moved, this is all that the walk is for. */
static void strangers_of_released_cpus_are_shown_no_more(void **state)
{
	struct controller *controller = start(ENFORCEMENT_AUDIT);

	show_rows();
	scan(controller, pods, 2);
	tick(controller, 1);
	assert_int_equal(nr_rows(controller, "stranger"), ARRAY_SIZE(fake_stranger_rows));
	fake_stranger.nr = 0;
	scan(controller, &pods[1], 1);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "stranger"), 0);
	controller_free(controller);
}

/* --- when ---------------------------------------------------------------------------------------- */

static void walks_for_what_was_seen_have_a_pause(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	scan(controller, pods, 1);
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	fake->now_ns += S / 2;
	see(controller, 20, 0);
	assert_int_equal(fake_stranger.nr_walks, 1);
	fake->now_ns += 10 * MS - 1;
	see(controller, 21, 0);
	assert_int_equal(fake_stranger.nr_walks, 1);
	fake->now_ns += 1;
	see(controller, 22, 0);
	assert_int_equal(fake_stranger.nr_walks, 2);
	controller_free(controller);
}

static void a_walk_that_failed_is_not_repeated_for_what_is_seen(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	scan(controller, pods, 1);
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	fake_stranger.result = -EIO;
	fake->now_ns += S / 2;
	see(controller, 20, 0);
	assert_int_equal(fake_stranger.nr_walks, 1);
	fake->now_ns += 10 * MS;
	see(controller, 21, 0);
	assert_int_equal(fake_stranger.nr_walks, 1);
	fake->now_ns += S;
	see(controller, 22, 0);
	assert_int_equal(fake_stranger.nr_walks, 2);
	controller_free(controller);
}

static void a_walk_that_wrote_is_not_followed_at_once(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.counts.nr_moved = 1;
	scan(controller, pods, 1);
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	fake->now_ns += 900 * MS - 1;
	controller_wake(controller);
	assert_int_equal(fake_stranger.nr_walks, 0);
	fake->now_ns += 1;
	controller_wake(controller);
	assert_int_equal(fake_stranger.nr_walks, 1);
	controller_free(controller);
}

/* What is held has to be restored, so it is not forgotten with the report. */
static void a_walk_that_failed_forgets_nobody_who_is_held(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.counts.nr_held = 3;
	tick(controller, 1);
	fake_stranger.result = -EIO;
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	tick(controller, 3);
	assert_int_equal(fake_stranger.nr_walks, 3);
	fake_stranger.result = 0;
	fake_stranger.counts.nr_narrowed = 3;
	tick(controller, 1);
	/* When only cpusets that grow could help, once a minute is enough. */
	fake_stranger.result = -EIO;
	tick(controller, 60);
	fake_stranger.nr_walks = 0;
	tick(controller, 59);
	assert_int_equal(fake_stranger.nr_walks, 0);
	tick(controller, 1);
	assert_int_equal(fake_stranger.nr_walks, 1);
	controller_free(controller);
}

/* It may have been moved, and set back since. */
static void who_was_moved_and_is_seen_is_walked_for(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	show_rows();
	scan(controller, pods, 1);
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	fake->now_ns += S / 2;
	see(controller, 20, 0);
	assert_int_equal(fake_stranger.nr_walks, 1);
	controller_free(controller);
}

static void tier_3_waits_for_the_first_walk(void **state)
{
	struct controller *controller;

	fake_stranger.is_slow = true;
	controller = start(ENFORCEMENT_ENFORCE);
	controller_wake(controller);
	assert_int_equal(fake_stranger.nr_walks, 1);
	assert_false(has_tier(controller));
	fake_stranger_end();
	assert_true(has_tier(controller));
	controller_free(controller);
}

/* --- how long ------------------------------------------------------------------------------------ */

/* Thread 20 gets an exclusive CPU now, and the walk for it writes so much later. */
static void expose(struct controller *controller, uint64_t exposed_ns)
{
	fake->now_ns += 100 * S;
	fake_stranger.nr = 1;
	fake_stranger.counts =
		(struct stranger_report){.nr_moved = 1, .wrote_ns = fake->now_ns + exposed_ns};
	see(controller, 20, 0);
}

static void exposure_is_counted_in_buckets_that_double(void **state)
{
	static const struct {
		uint64_t exposed_ns;
		const char *line; /* of the first bucket that has it */
	} rows[] = {
		{0, "_bucket{le=\"0.0001\"} 1\n"},
		{100 * US, "_bucket{le=\"0.0001\"} 2\n"},
		{100 * US + 1, "_bucket{le=\"0.0002\"} 3\n"},
		{200 * US, "_bucket{le=\"0.0002\"} 4\n"},
		{819200 * US, "_bucket{le=\"0.8192\"} 5\n"},
		{819200 * US + 1, "_bucket{le=\"+Inf\"} 6\n"},
		{1000 * S, "_bucket{le=\"+Inf\"} 7\n"},
	};
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	char line[128];

	scan(controller, pods, 1);
	show_rows();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		expose(controller, rows[i].exposed_ns);
		snprintf(line, sizeof(line), "\npinfold_stranger_exposure_seconds%s", rows[i].line);
		expect_metric(controller, line);
	}
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_bucket{le=\"0.0001\"} 2\n");
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_bucket{le=\"0.4096\"} 4\n");
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_bucket{le=\"0.8192\"} 5\n");
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_sum 1001.638800002\n");
	controller_free(controller);
}

/* Nobody knows how long it stayed, or it is still there. */
static void only_who_was_moved_by_the_walk_was_exposed(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	scan(controller, pods, 1);
	tick(controller, 1);
	show_rows();
	/* The walk finds thread 31, but does not move it. */
	fake->now_ns += S;
	fake_stranger.counts =
		(struct stranger_report){.nr_moved = 1, .wrote_ns = fake->now_ns + MS};
	see(controller, 31, 0);
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_count 0\n");
	/* The walk only restores others; thread 20 was moved before. */
	fake->now_ns += S;
	fake_stranger.counts =
		(struct stranger_report){.nr_restored = 1, .wrote_ns = fake->now_ns + MS};
	see(controller, 20, 0);
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_count 0\n");
	/* It gets the CPU after the walk has written, so it is walked for again. */
	fake_stranger.is_slow = true;
	tick(controller, 1);
	fake_stranger.counts =
		(struct stranger_report){.nr_moved = 1, .wrote_ns = fake->now_ns + MS};
	fake->now_ns += 20 * MS;
	see(controller, 20, 0);
	fake_stranger.nr_walks = 0;
	fake_stranger_end();
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_count 0\n");
	assert_int_equal(fake_stranger.nr_walks, 1);
	controller_free(controller);
}

/* --- what an operator is told -------------------------------------------------------------------- */

static void expect_member(struct controller *controller, const char *pid, const char *key,
			  const char *wanted)
{
	struct json_object *rows = query(controller, "stranger");

	assert_string_equal(of_row(rows, pid, key), wanted);
	json_object_put(rows);
}

static void each_state_has_its_remedy(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	/* Not in the order of their states, so that no remedy is that of the row before. */
	const struct stranger_row rows[] = {fake_stranger_rows[STRANGER_STATE_CONTENDED],
					    fake_stranger_rows[STRANGER_STATE_MOVED],
					    fake_stranger_rows[STRANGER_STATE_REACHES]};

	fake_stranger.rows = rows;
	fake_stranger.nr = ARRAY_SIZE(rows);
	scan(controller, pods, 1);
	tick(controller, 1);
	expect_member(controller, "50", "remedy",
		      "find out what calls sched_setaffinity(2) for it: the task itself, or a "
		      "program that manages it");
	expect_member(controller, "20", "remedy", "null");
	expect_member(
		controller, "31", "remedy",
		"reserve CPUs for the host: no CPU is reserved or shared, so the task cannot be "
		"moved");
	expect_member(controller, "20", "exclusive_cpus", "null");
	expect_member(controller, "31", "exclusive_cpus", "2");
	fake_stranger.counts.error = -EROFS;
	tick(controller, 1);
	expect_member(controller, "31", "remedy",
		      "make runtimeDirectory writable: see the finding strangers_unsaved");
	controller_free(controller);
}

/* As soon as its corrections wait; of several the one that was corrected most often. */
static void the_worst_opponent_is_named(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	struct stranger_row rows[] = {fake_stranger_rows[STRANGER_STATE_CONTENDED],
				      fake_stranger_rows[STRANGER_STATE_MOVED]};

	fake_stranger.rows = rows;
	fake_stranger.nr = ARRAY_SIZE(rows);
	rows[0].nr_reverts = STRANGER_PATIENCE - 1;
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_contended", ""), 0);
	rows[0].nr_reverts = STRANGER_PATIENCE;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_contended",
				     "thread 50 (fighter) in cgroup /system.slice/fighter.service; "
				     "the agent corrected it 3 times"),
			 1);
	rows[1].nr_reverts = STRANGER_PATIENCE + 1;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_contended", "thread 20 (sshd)"), 1);
	rows[1].cgroup = NULL;
	rows[0].nr_reverts = STRANGER_PATIENCE + 2;
	rows[0].cgroup = NULL;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_contended",
				     "thread 50 (fighter) in cgroup unknown"),
			 1);
	controller_free(controller);
}

/* A task that is about to reach exclusive CPUs, or did, reaches none now. */
static void only_who_reaches_cpus_is_told(void **state)
{
	struct controller *controller = start(ENFORCEMENT_AUDIT);
	struct stranger_row rows[] = {fake_stranger_rows[STRANGER_STATE_REACHES],
				      fake_stranger_rows[STRANGER_STATE_FAILED]};
	struct json_object *node, *findings;
	const char *remedy = "";

	fake_stranger.rows = rows;
	fake_stranger.nr = 2;
	rows[1].exclusive = (char *)"";
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_on_exclusive_cpus",
				     "1 task may run on exclusive CPUs without belonging there; "
				     "the first is thread 31 (pinned), CPUs 2"),
			 1);
	node = query(controller, "node");
	findings = json_object_object_get(node, "findings");
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *row = json_object_array_get_idx(findings, i);

		if (!strcmp(member(row, "name"), "strangers_on_exclusive_cpus"))
			remedy = member(row, "remedy");
	}
	assert_string_equal(remedy, "set 'enforcement: {strangers: enforce}'");
	json_object_put(node);
	rows[0].exclusive = (char *)"";
	tick(controller, 1);
	tick(controller, 60);
	assert_int_equal(nr_findings(controller, "strangers_on_exclusive_cpus", ""), 0);
	controller_free(controller);
}

static void the_event_names_the_first_task_that_moved(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	struct json_object *events, *found = NULL;

	fake_stranger.counts = (struct stranger_report){
		.nr_moved = 1, .nr_held = 1, .first = {.thread = 20, .comm = "sshd"}};
	scan(controller, pods, 1);
	tick(controller, 1);
	events = query(controller, "event");
	for (size_t i = 0; i < json_object_array_length(events); i++)
		if (!strcmp(member(json_object_array_get_idx(events, i), "kind"), "stranger"))
			found = json_object_array_get_idx(events, i);
	assert_non_null(found);
	assert_string_equal(member(found, "pid"), "20");
	assert_string_equal(member(found, "action"), "repair");
	json_object_put(events);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(offline_cpus_are_allowed_to_nobody),
		ROW(strangers_of_released_cpus_are_shown_no_more),
		ROW(walks_for_what_was_seen_have_a_pause),
		ROW(a_walk_that_failed_is_not_repeated_for_what_is_seen),
		ROW(a_walk_that_wrote_is_not_followed_at_once),
		ROW(a_walk_that_failed_forgets_nobody_who_is_held),
		ROW(who_was_moved_and_is_seen_is_walked_for),
		ROW(tier_3_waits_for_the_first_walk),
		ROW(exposure_is_counted_in_buckets_that_double),
		ROW(only_who_was_moved_by_the_walk_was_exposed),
		ROW(each_state_has_its_remedy),
		ROW(the_worst_opponent_is_named),
		ROW(only_who_reaches_cpus_is_told),
		ROW(the_event_names_the_first_task_that_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
