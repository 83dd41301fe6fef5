// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What others write to the cpusets of a runtime's containers is put back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime_repair_scene.h"

static void a_cpuset_that_another_wrote_is_put_back(void **state)
{
	tick_for(20);
	assert_int_equal(port.nr_writes, 0);
	write_cpus("0-15");
	/* The runtime may be about to write what it was told. */
	tick_for(4);
	assert_has("0-15");
	tick_for(3);
	assert_has("2-3");
	assert_int_equal(nr_repaired(), 1);
	assert_int_equal(controller->drift.nr_detected[GROUP_CPUSET_CPUS][CAUSE_UNKNOWN], 1);
	tick_for(20);
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(nr_repaired(), 1);
	assert_false(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
}

/* Whoever wrote it may have done so through the runtime, with an answer that was lost. */
static void the_next_answer_repeats_the_cpus(void **state)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	sink->stopped(sink->self, 3, "other");
	assert_int_equal(told.nr_changes, 0);
	write_cpus("0-15");
	tick_for(7);
	sink->stopped(sink->self, 4, "other");
	assert_int_equal(told.nr_changes, 1);
	assert_string_equal(told.cpus, "2-3");
	sink->stopped(sink->self, 5, "other");
	assert_int_equal(told.nr_changes, 1);
}

static void an_operator_may_leave_it(void **state)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	write_cpus("0-15");
	tick_for(20);
	assert_int_equal(port.nr_writes, 0);
	assert_true(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
}

static void whoever_insists_is_named_and_put_back_more_rarely(void **state)
{
	for (int i = 0; i < 200; i++) {
		write_cpus("0-15");
		tick_for(1);
	}
	assert_true(port.nr_writes >= 4);
	assert_true(port.nr_writes <= 12);
	assert_true(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
	tick_for(600);
	assert_has("2-3");
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
	assert_false(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
}

static void a_write_that_fails_is_tried_again(void **state)
{
	port.error = -EROFS;
	write_cpus("0-15");
	tick_for(12);
	assert_true(port.nr_writes >= 1);
	assert_int_equal(nr_repaired(), 0);
	assert_true(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
	port.error = 0;
	tick_for(70);
	assert_has("2-3");
	assert_int_equal(nr_repaired(), 1);
	assert_false(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
}

/* The kernel holds the write up: one at a time, and whoever asks is told. */
static void a_write_that_is_late_is_waited_for(void **state)
{
	struct waiting waiting = {0};

	port.is_late = true;
	write_cpus("0-15");
	tick_for(20);
	assert_int_equal(port.nr_writes, 1);
	ctl_longest_wait(controller, &waiting);
	assert_int_equal(waiting.kind, WAIT_FOR_CPUSETS);
	end_writes(TAKE_PTR(port.rows), port.nr_rows);
	tick_for(1);
	assert_has("2-3");
	assert_int_equal(nr_repaired(), 1);
}

/* CPUs that others got meanwhile are not given back to it, not even for a moment. */
static void what_others_own_now_is_not_put_back(void **state)
{
	struct runtime_row *row = runtime_rows_find(&controller->runtimes, "1");

	/* As one that shared, and has not been told yet that its pool is smaller. */
	*row->uid = *row->name = '\0';
	write_cpus("0-15");
	tick_for(20);
	assert_int_equal(port.nr_writes, 0);
	assert_true(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
}

/* The runtime writes what the container's row was told. */
static void carry_out(void)
{
	char list[64];

	cpuset_format(&row_of("1")->told, list, sizeof(list));
	write_cpus(list);
}

static void assert_has_told(void)
{
	const struct cpuset has = cpuset_of_text(fake_find(CGROUP)->files[GROUP_CPUSET_CPUS]);

	assert_true(cpuset_equal(&has, &row_of("1")->told));
}

/* The container shares from now on. */
static void make_sharer(void)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	sink->pod_stopped(sink->self, "a");
	create(7, "s", "1", 0, CGROUP);
	/* Without a change of it, because it is the one that is created. */
	sink->stopped(sink->self, 8, "other");
	carry_out();
	tick_for(2);
}

/*
 * The kernel holds a write up, and meanwhile another pod gets some of its CPUs. The runtime takes them
 * away from the container, then the old write ends.
 */
static void a_late_write_does_not_leave_cpus_of_a_new_owner(void **state)
{
	struct cpuset before;

	make_sharer();
	write_cpus("0-1");
	port.is_late = true;
	tick_for(8);
	assert_non_null(port.rows);
	before = row_of("1")->told;
	create(9, "b", "2", 2000, NULL);
	tick_for(1);
	assert_false(cpuset_equal(&row_of("1")->told, &before));
	/* What has not been written yet is left alone. */
	assert_true(port.nr_cancels >= 1);
	carry_out();
	port.is_late = false;
	end_writes(TAKE_PTR(port.rows), port.nr_rows);
	/* At once, and nobody is blamed. */
	assert_has_told();
	assert_int_equal(port.nr_writes, 2);
	assert_int_equal(row_of("1")->pause.nr_reverts, 0);
	tick_for(5);
	assert_int_equal(port.nr_writes, 2);
	assert_int_equal(controller->runtimes.writing_since_ns, 0);
}

/* What was cancelled was not written, so there is nothing to correct. */
static void what_was_left_alone_is_not_corrected(void **state)
{
	make_sharer();
	write_cpus("0-1");
	port.is_late = true;
	tick_for(8);
	create(9, "b", "2", 2000, NULL);
	carry_out();
	port.is_late = false;
	port.error = -ECANCELED;
	end_writes(TAKE_PTR(port.rows), port.nr_rows);
	port.error = 0;
	tick_for(10);
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(nr_repaired(), 0);
}

/* A difference from what it was told before says nothing about what it was told now. */
static void new_cpus_have_their_own_patience(void **state)
{
	make_sharer();
	write_cpus("0-1");
	tick_for(5);
	assert_int_equal(port.nr_writes, 0);
	/* The runtime needs a while for the answer. */
	create(9, "b", "2", 2000, NULL);
	tick_for(4);
	assert_int_equal(port.nr_writes, 0);
	tick_for(4);
	assert_int_equal(port.nr_writes, 1);
	assert_has_told();
}

/* What was put back is not in force any more, nor was it ever told. */
static void what_was_told_since_is_no_repair(void **state)
{
	make_sharer();
	write_cpus("0-1");
	tick_for(6);
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(nr_repaired(), 0);
	create(9, "b", "2", 2000, NULL);
	carry_out();
	tick_for(10);
	assert_int_equal(nr_repaired(), 0);
}

/* It was read once between an answer and the runtime's write. */
static void what_is_right_again_is_not_written(void **state)
{
	create_many();
	tick_for(20);
	write_cpus("0-15");
	for (int i = 0; i < 30 && !row_of("1")->differs_ns; i++)
		tick_for(1);
	assert_int_not_equal(row_of("1")->differs_ns, 0);
	write_cpus("2-3");
	tick_for(30);
	assert_int_equal(port.nr_writes, 0);
	assert_int_equal(nr_repaired(), 0);
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
}

/* Its next reading may take a while. */
static void one_write_is_enough(void **state)
{
	create_many();
	write_cpus("0-15");
	tick_for(40);
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(nr_repaired(), 1);
	assert_has("2-3");
}

/* Nobody is blamed for a write that the kernel refuses, and it is not repeated each second. */
static void a_write_that_fails_is_no_contest(void **state)
{
	port.error = -EROFS;
	write_cpus("0-15");
	tick_for(60);
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
	assert_true(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
	assert_in_range(port.nr_writes, 4, 12);
}

/* An ancestor has fewer CPUs: its own file is as it should be. */
static int limited_status(void *self, const char *path, struct group_status *ret_status)
{
	int r = status_of(self, path, ret_status);

	if (!r && !strcmp(path, CGROUP))
		ret_status->effective_cpus = cpuset_of_text("2");
	return r;
}

static void what_an_ancestor_limits_is_not_written(void **state)
{
	groups.status = limited_status;
	tick_for(60);
	assert_int_equal(port.nr_writes, 0);
	assert_true(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
	/* What another writes there is put back nevertheless, and that is all. */
	write_cpus("2");
	tick_for(60);
	assert_has("2-3");
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(nr_repaired(), 1);
}

/* Also if none of our writes was ever seen in force. */
static void the_finding_names_the_file(void **state)
{
	insist();
	assert_int_equal(nr_repaired(), 0);
	assert_non_null(strstr(message_of(FINDING_RUNTIME_CPUSET_CONTESTED),
			       "keeps writing cpuset.cpus of"));
}

static void a_contest_ends_when_an_operator_leaves_it(void **state)
{
	insist();
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_OFF;
	tick_for(1);
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
}

static void a_contest_ends_with_the_session(void **state)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	insist();
	sink->ended(sink->self);
	tick_for(1);
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
}

/* Where containers are found, another file tells this. */
static void the_contest_of_found_containers_is_left_alone(void **state)
{
	*config.sources.nri = '\0';
	ctl_runtime_contested(controller, "1", GROUP_CPUSET_CPUS, 5);
	tick_for(1);
	assert_true(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
}

/* A container that has ended has no CPUs that anybody could have seen. */
static void what_has_ended_is_no_repair(void **state)
{
	write_cpus("0-15");
	tick_for(6);
	assert_int_equal(port.nr_writes, 1);
	unknown_path = CGROUP;
	unknown_error = -ENOENT;
	tick_for(5);
	assert_int_equal(nr_repaired(), 0);
	/* Nor is it when there is another one. */
	unknown_path = NULL;
	tick_for(5);
	assert_int_equal(nr_repaired(), 0);
}

/* It says nothing about the write that its status is not known now. */
static void a_repair_is_told_when_its_status_is_known_again(void **state)
{
	write_cpus("0-15");
	tick_for(6);
	unknown_path = CGROUP;
	tick_for(5);
	assert_int_equal(nr_repaired(), 0);
	unknown_path = NULL;
	tick_for(1);
	assert_int_equal(nr_repaired(), 1);
}

/* The other program is gone, although an ancestor limits the container. */
static void a_contest_ends_below_an_ancestor_that_limits(void **state)
{
	insist();
	groups.status = limited_status;
	tick_for(600);
	assert_has("2-3");
	assert_false(has_finding(FINDING_RUNTIME_CPUSET_CONTESTED));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_cpuset_that_another_wrote_is_put_back),
		TEST(the_next_answer_repeats_the_cpus),
		TEST(an_operator_may_leave_it),
		TEST(whoever_insists_is_named_and_put_back_more_rarely),
		TEST(a_write_that_fails_is_tried_again),
		TEST(a_write_that_is_late_is_waited_for),
		TEST(what_others_own_now_is_not_put_back),
		TEST(a_late_write_does_not_leave_cpus_of_a_new_owner),
		TEST(what_was_left_alone_is_not_corrected),
		TEST(new_cpus_have_their_own_patience),
		TEST(what_was_told_since_is_no_repair),
		TEST(what_is_right_again_is_not_written),
		TEST(one_write_is_enough),
		TEST(a_write_that_fails_is_no_contest),
		TEST(what_an_ancestor_limits_is_not_written),
		TEST(the_finding_names_the_file),
		TEST(a_contest_ends_when_an_operator_leaves_it),
		TEST(a_contest_ends_with_the_session),
		TEST(the_contest_of_found_containers_is_left_alone),
		TEST(what_has_ended_is_no_repair),
		TEST(a_repair_is_told_when_its_status_is_known_again),
		TEST(a_contest_ends_below_an_ancestor_that_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
