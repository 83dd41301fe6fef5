// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller's side of strangers: for which CPUs tasks are looked at and when, and what is shown
 * and found.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch_scene.h"

static void walks_follow_the_ledger(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	char text[128];

	/* The first one restores what an earlier agent left; then nobody could be a stranger. */
	tick(controller, 30);
	assert_int_equal(fake_stranger.nr_walks, 1);
	scan(controller, pods, 2);
	controller_wake(controller);
	assert_int_equal(fake_stranger.nr_walks, 2);
	assert_int_equal(fake_stranger.request.mode, STRANGER_REPAIR);
	cpuset_format(&fake_stranger.request.cpus.exclusive, text, sizeof(text));
	assert_string_equal(text, "2-5");
	cpuset_format(&fake_stranger.request.cpus.allowed, text, sizeof(text));
	assert_string_equal(text, "0-1,6-15");
	assert_int_equal(fake_stranger.request.nr_owners, 1);
	assert_non_null(strstr(fake_stranger.owner.path, "exclusive"));
	cpuset_format(&fake_stranger.owner.cpus, text, sizeof(text));
	assert_string_equal(text, "2-5");
	fake_stranger.counts.nr_held = 3;
	tick(controller, 5);
	assert_int_equal(fake_stranger.nr_walks, 7);
	/* What was moved has to be restored, however long it takes. */
	scan(controller, &pods[1], 1);
	controller_wake(controller);
	assert_true(cpuset_is_empty(&fake_stranger.request.cpus.exclusive));
	fake_stranger.counts.nr_held = 0;
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	tick(controller, 30);
	assert_int_equal(fake_stranger.nr_walks, 0);
	controller_free(controller);
}

/* Somebody may have been made while a walk wrote, whatever else there is to do. */
static void a_walk_that_wrote_is_followed_by_another(void **state)
{
	static const struct stranger_report wrote[] = {{.nr_moved = 1}, {.nr_restored = 1}};

	for (size_t i = 0; i < ARRAY_SIZE(wrote); i++) {
		struct controller *controller = start(ENFORCEMENT_OFF);

		fake_stranger.nr_walks = 0;
		fake_stranger.counts = wrote[i];
		tick(controller, 1);
		assert_int_equal(fake_stranger.nr_walks, 1);
		fake_stranger.counts = (struct stranger_report){0};
		tick(controller, 70);
		assert_int_equal(fake_stranger.nr_walks, 2);
		controller_free(controller);
	}
}

/* When their cpuset grows again nobody is told, but that is no reason to look all the time. */
static void narrowed_tasks_are_looked_at_once_a_minute(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.counts.nr_held = fake_stranger.counts.nr_narrowed = 3;
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	tick(controller, 180);
	assert_int_equal(fake_stranger.nr_walks, 3);
	/* One that can be restored is not kept waiting. */
	fake_stranger.counts.nr_narrowed = 2;
	tick(controller, 60);
	fake_stranger.nr_walks = 0;
	tick(controller, 10);
	assert_int_equal(fake_stranger.nr_walks, 10);
	fake_stranger.counts.nr_narrowed = 3;
	scan(controller, pods, 1);
	tick(controller, 1);
	fake_stranger.nr_walks = 0;
	tick(controller, 10);
	assert_int_equal(fake_stranger.nr_walks, 10);
	controller_free(controller);
}

/* Nobody knows then whether there is anything to restore. */
static void a_walk_that_failed_is_repeated(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.nr_walks = 0;
	fake_stranger.result = -EIO;
	tick(controller, 1);
	fake_stranger.result = 0;
	tick(controller, 120);
	assert_int_equal(fake_stranger.nr_walks, 2);
	assert_int_equal(nr_findings(controller, "strangers_unknown", ""), 0);
	controller_free(controller);
}

/* Their own tasks inherit what is written to processes of the runtime. */
static void cpus_of_a_runtimes_pods_are_not_looked_at(void **state)
{
	const struct container_spec main_container = {.name = "main",
						      .kind = CONTAINER_APP,
						      .request = {4000, 1 << 30},
						      .limit = {4000, 1 << 30}};
	const struct pod_spec pod = {.uid = "r",
				     .name = "r",
				     .namespace = "default",
				     .is_of_runtime = true,
				     .stated_qos = QOS_GUARANTEED,
				     .request = RESOURCES_UNSET,
				     .limit = RESOURCES_UNSET,
				     .overhead = RESOURCES_UNSET};
	const struct runtime_pod sandbox = {.id = "r", .spec = &pod};
	const struct runtime_container container = {
		.id = "main", .pod = &sandbox, .spec = &main_container, .cpus = ""};
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	char text[128];

	controller_sinks(controller)->runtime.created(controller, 1, &container);
	scan(controller, pods, 2);
	controller_wake(controller);
	cpuset_format(&fake_stranger.request.cpus.exclusive, text, sizeof(text));
	assert_string_equal(text, "6-9");
	cpuset_format(&fake_stranger.request.cpus.allowed, text, sizeof(text));
	assert_string_equal(text, "0-1,10-15");
	/* Noise is counted on them, too, and who is seen there is walked for neither. */
	fake_stranger.nr_walks = 0;
	controller_sinks(controller)
		->noise.stranger(controller, &(struct noise_stranger){
						     .time_ns = fake->now_ns, .pid = 1, .cpu = 2});
	assert_int_equal(fake_stranger.nr_walks, 0);
	fake->now_ns += S;
	controller_sinks(controller)
		->noise.stranger(controller, &(struct noise_stranger){
						     .time_ns = fake->now_ns, .pid = 1, .cpu = 6});
	assert_int_equal(fake_stranger.nr_walks, 1);
	controller_free(controller);
}

/* A walk of 200 ms is followed by the next one 4 s later. */
static void walks_take_a_twentieth_of_a_cpu(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.counts.cost_ns = S / 5;
	scan(controller, pods, 1);
	controller_wake(controller);
	fake_stranger.nr_walks = 0;
	tick(controller, 400);
	assert_in_range(fake_stranger.nr_walks, 90, 101);
	controller_free(controller);
}

/* A walk may fail after it has looked at all tasks. */
static void failed_walks_take_no_more(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.counts.cost_ns = S / 5;
	fake_stranger.result = -EIO;
	scan(controller, pods, 1);
	controller_wake(controller);
	fake_stranger.nr_walks = 0;
	tick(controller, 400);
	assert_in_range(fake_stranger.nr_walks, 90, 101);
	controller_free(controller);
}

/* Nothing is overwritten, so the version that wrote the file can still restore what it names. */
static void a_file_that_is_too_long_is_named_with_the_remedy(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.result = -EFBIG;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_unknown",
				     "strangers.json in runtimeDirectory is larger than 4 MiB"),
			 1);
	controller_free(controller);
}

static void one_walk_at_a_time(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	tick(controller, 1);
	fake_stranger.is_slow = true;
	scan(controller, pods, 1);
	controller_wake(controller);
	/* It may take some seconds. */
	tick(controller, 4);
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	tick(controller, 1);
	expect_metric(controller, "pinfold_operations_waiting 1\n");
	tick(controller, 15);
	assert_int_equal(fake_stranger.nr_walks, 2);
	assert_int_equal(nr_findings(controller, "operation_waiting", "the search for strangers"),
			 1);
	assert_true(node_has(controller, "a walk over the tasks (in proc_pid_readdir)"));
	assert_true(
		node_has(controller, "other tasks may run on exclusive CPUs until the walk ends"));
	fake_stranger_end();
	tick(controller, 1);
	assert_int_equal(fake_stranger.nr_walks, 3);
	controller_free(controller);
}

static void the_option_decides_what_a_walk_may_do(void **state)
{
	static const struct {
		enum enforcement enforcement;
		enum run_mode mode;
		enum stranger_mode wanted;
	} rows[] = {
		{ENFORCEMENT_OFF, MODE_ALLOCATE, STRANGER_OBSERVE},
		{ENFORCEMENT_AUDIT, MODE_ALLOCATE, STRANGER_OBSERVE},
		{ENFORCEMENT_ENFORCE, MODE_ALLOCATE, STRANGER_REPAIR},
		{ENFORCEMENT_ENFORCE, MODE_OBSERVE, STRANGER_OBSERVE},
	};
	struct controller *controller = start(ENFORCEMENT_OFF);
	char error[256];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		changed.enforcement.strangers = rows[i].enforcement;
		changed.mode = rows[i].mode;
		assert_int_equal(
			controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
		tick(controller, 1);
		assert_int_equal(fake_stranger.request.mode, rows[i].wanted);
	}
	controller_free(controller);
}

/* It is no finding where nobody asked for it, but it is shown, with what would help. */
static void without_the_option_they_are_shown_only(void **state)
{
	struct controller *controller = start(ENFORCEMENT_OFF);

	show_rows();
	scan(controller, pods, 1);
	controller_wake(controller);
	fake_stranger.nr_walks = 0;
	tick(controller, 180);
	assert_int_equal(fake_stranger.nr_walks, 3);
	assert_int_equal(nr_rows(controller, "stranger"), ARRAY_SIZE(fake_stranger_rows));
	assert_int_equal(nr_findings(controller, "strangers_on_exclusive_cpus", ""), 0);
	controller_free(controller);
}

static void strangers_are_shown(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	struct json_object *rows;

	show_rows();
	scan(controller, pods, 1);
	tick(controller, 1);
	rows = query(controller, "stranger");
	assert_string_equal(of_row(rows, "20", "state"), "moved");
	assert_string_equal(of_row(rows, "20", "cause"), "default");
	assert_string_equal(of_row(rows, "20", "unit"), "ssh.service");
	assert_string_equal(of_row(rows, "20", "origin"), "user");
	assert_string_equal(of_row(rows, "10", "origin"), "kernel");
	assert_string_equal(of_row(rows, "20", "remedy"), "null");
	assert_string_equal(of_row(rows, "31", "unit"), "session-1.scope");
	assert_string_equal(of_row(rows, "10", "unit"), "null");
	assert_string_equal(of_row(rows, "31", "cause"), "chosen");
	assert_string_equal(of_row(rows, "31", "original"), "null");
	assert_string_equal(of_row(rows, "10", "kind"), "bound");
	assert_non_null(strstr(of_row(rows, "10", "remedy"), "interrupts: steer"));
	assert_non_null(strstr(of_row(rows, "40", "remedy"), "pinfold drift show"));
	assert_string_equal(of_row(rows, "50", "cause"), "set_back");
	assert_string_equal(of_row(rows, "50", "set_back"), "7");
	assert_non_null(strstr(of_row(rows, "60", "remedy"), "busy"));
	json_object_put(rows);
	/* The one that may be moved and the one that could not be; the others are told elsewhere. */
	assert_int_equal(nr_findings(controller, "strangers_on_exclusive_cpus",
				     "2 tasks may run on exclusive CPUs without belonging there; "
				     "the first is thread 31 (pinned), CPUs 2"),
			 1);
	assert_int_equal(nr_findings(controller, "strangers_contended",
				     "thread 50 (fighter) in cgroup /system.slice/fighter.service"),
			 1);
	fake_stranger.nr = 1;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_on_exclusive_cpus", ""), 0);
	assert_int_equal(nr_findings(controller, "strangers_contended", ""), 0);
	controller_free(controller);
}

static void audit_tells_what_would_help(void **state)
{
	struct controller *controller = start(ENFORCEMENT_AUDIT);
	struct json_object *rows;

	show_rows();
	scan(controller, pods, 1);
	tick(controller, 1);
	rows = query(controller, "stranger");
	assert_non_null(strstr(of_row(rows, "31", "remedy"), "strangers: enforce"));
	json_object_put(rows);
	controller_free(controller);
}

static void obstacles_are_found(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	show_rows();
	scan(controller, pods, 1);
	fake_stranger.counts.error = -EROFS;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_unsaved", "Read-only"), 1);
	fake_stranger.counts.error = 0;
	fake_stranger.result = -EACCES;
	tick(controller, 1);
	assert_int_equal(nr_rows(controller, "stranger"), 0);
	assert_int_equal(nr_findings(controller, "strangers_unknown", "Permission denied"), 1);
	fake_stranger.result = 0;
	tick(controller, 1);
	assert_int_equal(nr_rows(controller, "stranger"), ARRAY_SIZE(fake_stranger_rows));
	assert_int_equal(nr_findings(controller, "strangers_unknown", ""), 0);
	assert_int_equal(nr_findings(controller, "strangers_unsaved", ""), 0);
	fake_stranger.error = -ENOMEM;
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "strangers_unknown", "memory"), 1);
	controller_free(controller);
}

static void walks_are_counted(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	scan(controller, pods, 1);
	controller_wake(controller);
	show_rows();
	fake_stranger.counts = (struct stranger_report){.nr_moved = 3,
							.nr_restored = 2,
							.nr_failed = 1,
							.nr_reverted = 4,
							.cost_ns = S / 1000};
	tick(controller, 2);
	expect_metric(controller, "\npinfold_stranger_moves_total{result=\"moved\"} 6\n");
	expect_metric(controller, "\npinfold_stranger_moves_total{result=\"restored\"} 4\n");
	expect_metric(controller, "\npinfold_stranger_moves_total{result=\"failed\"} 2\n");
	expect_metric(controller, "\npinfold_stranger_set_back_total 8\n");
	expect_metric(controller, "\npinfold_stranger_walk_cpu_seconds_total 0.002000000\n");
	expect_metric(controller, "\npinfold_strangers{state=\"contended\"} 1\n");
	controller_free(controller);
}

static void moves_are_an_event(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	struct json_object *rows, *found = NULL;

	fake_stranger.counts = (struct stranger_report){
		.nr_moved = 3, .nr_held = 3, .first = {.thread = 20, .comm = "sshd"}};
	scan(controller, pods, 1);
	tick(controller, 1);
	rows = query(controller, "event");
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		if (!strcmp(member(json_object_array_get_idx(rows, i), "kind"), "stranger"))
			found = json_object_array_get_idx(rows, i);
	assert_non_null(found);
	assert_string_equal(member(found, "comm"), "sshd");
	assert_string_equal(member(found, "detail"),
			    "3 tasks were moved off the exclusive CPUs 2-5; this is the first");
	json_object_put(rows);
	controller_free(controller);
}

static void a_stranger_that_is_seen_is_walked_for_at_once(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	scan(controller, pods, 1);
	tick(controller, 1);
	assert_true(fake_noise.tells_strangers);
	show_rows();
	fake_stranger.nr_walks = 0;
	fake->now_ns += S / 2;
	fake_stranger.counts = (struct stranger_report){
		.nr_moved = 1, .cost_ns = S / 500, .wrote_ns = fake->now_ns + S / 20000};
	see(controller, 20, S / 4000);
	assert_int_equal(fake_stranger.nr_walks, 1);
	/* It ran for 0.3 ms. */
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_bucket{le=\"0.0002\"} 0\n");
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_bucket{le=\"0.0004\"} 1\n");
	expect_metric(controller, "\npinfold_stranger_exposure_seconds_count 1\n");
	/* Whoever is met ever more rarely, or cannot be moved, is seen all the time. */
	fake->now_ns += S / 2;
	see(controller, 50, 0);
	see(controller, 60, 0);
	assert_int_equal(fake_stranger.nr_walks, 1);
	expect_metric(controller, "\npinfold_stranger_seen_total 3\n");
	/* A walk of 2 ms is followed by the next one 40 ms later. */
	see(controller, 21, 0);
	assert_int_equal(fake_stranger.nr_walks, 2);
	fake->now_ns += S / 50;
	see(controller, 22, 0);
	assert_int_equal(fake_stranger.nr_walks, 2);
	fake->now_ns += S / 50;
	see(controller, 23, 0);
	assert_int_equal(fake_stranger.nr_walks, 3);
	controller_free(controller);
}

/* The walk may have passed it already. */
static void a_stranger_seen_during_a_walk_gets_another_one(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);

	fake_stranger.is_slow = true;
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_int_equal(fake_stranger.nr_walks, 1);
	fake->now_ns += S / 10;
	see(controller, 20, 0);
	fake_stranger_end();
	assert_int_equal(fake_stranger.nr_walks, 2);
	fake->now_ns += S / 10;
	fake_stranger_end();
	fake->now_ns += S / 10;
	assert_int_equal(fake_stranger.nr_walks, 2);
	controller_free(controller);
}

static void tier_3_is_in_force_while_strangers_are_moved(void **state)
{
	struct controller *controller = start(ENFORCEMENT_ENFORCE);
	char error[256];

	assert_false(has_tier(controller));
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_true(has_tier(controller));
	fake_stranger.counts.error = -EROFS;
	tick(controller, 1);
	assert_false(has_tier(controller));
	fake_stranger.counts.error = 0;
	fake_stranger.result = -EACCES;
	tick(controller, 1);
	assert_false(has_tier(controller));
	fake_stranger.result = 0;
	tick(controller, 1);
	assert_true(has_tier(controller));
	changed.enforcement.strangers = ENFORCEMENT_AUDIT;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	tick(controller, 1);
	assert_false(has_tier(controller));
	controller_free(controller);
}

static void nobody_is_told_without_enforcement(void **state)
{
	struct controller *controller = start(ENFORCEMENT_AUDIT);

	tick(controller, 1);
	assert_false(fake_noise.tells_strangers);
	controller_free(controller);
}

static void without_the_port_there_is_nothing(void **state)
{
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	tick(controller, 20);
	assert_int_equal(nr_rows(controller, "stranger"), 0);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(walks_follow_the_ledger),
		ROW(a_walk_that_wrote_is_followed_by_another),
		ROW(narrowed_tasks_are_looked_at_once_a_minute),
		ROW(a_walk_that_failed_is_repeated),
		ROW(cpus_of_a_runtimes_pods_are_not_looked_at),
		ROW(walks_take_a_twentieth_of_a_cpu),
		ROW(failed_walks_take_no_more),
		ROW(a_file_that_is_too_long_is_named_with_the_remedy),
		ROW(one_walk_at_a_time),
		ROW(the_option_decides_what_a_walk_may_do),
		ROW(without_the_option_they_are_shown_only),
		ROW(strangers_are_shown),
		ROW(audit_tells_what_would_help),
		ROW(obstacles_are_found),
		ROW(walks_are_counted),
		ROW(moves_are_an_event),
		ROW(a_stranger_that_is_seen_is_walked_for_at_once),
		ROW(a_stranger_seen_during_a_walk_gets_another_one),
		ROW(tier_3_is_in_force_while_strangers_are_moved),
		ROW(nobody_is_told_without_enforcement),
		ROW(without_the_port_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
