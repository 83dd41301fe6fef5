// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The ring of events, and the journal that no culprit can flood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/event_log.h"
#include "lib/log.h"

#define S 1000000000ULL

static uint64_t monotonic_ns, wall_ns;
static struct event_log events;

static uint64_t now(void *self)
{
	return monotonic_ns;
}

static uint64_t wall(void *self)
{
	return wall_ns;
}

static const struct clock_port test_clock = {.now_ns = now, .wall_ns = wall};

static int set_up(void **state)
{
	monotonic_ns = 5 * S;
	wall_ns = 7 * S;
	event_log_init(&events, &test_clock);
	return 0;
}

/* --- the journal: what a record writes on stderr ------------------------------------------------- */

static char journal[4096];

/* Record one event and keep what that writes. */
static const char *record(const struct event_row *event)
{
	FILE *file = tmpfile();
	int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	size_t len;

	assert_non_null(file);
	assert_true(stderr_fd >= 0);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	event_log_add(&events, event);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	rewind(file);
	len = fread(journal, 1, sizeof(journal) - 1, file);
	journal[len] = '\0';
	fclose(file);
	return journal;
}

static struct event_row denied(uint32_t pid, const char *comm, const char *cgroup)
{
	struct event_row event = {.record = EVENT_RECORD(EVENT_GUARD), .target = "pinfold.slice/x"};

	event.record.action = ACTION_DENY;
	event.record.pid = pid;
	event.record.guard.hook = HOOK_FILE_OPEN;
	strcpy(event.record.guard.file, "cpuset.cpus");
	strcpy(event.record.comm, comm);
	strcpy(event.cgroup, cgroup);
	return event;
}

static void an_event_is_one_line(void **state)
{
	struct event_row deny = denied(12, "bash", "user.slice");
	struct event_row refuse = {.record = EVENT_RECORD(EVENT_REFUSE),
				   .pod = "default/a",
				   .container = "x",
				   .target = "t"};
	struct event_row repair = {.record = EVENT_RECORD(EVENT_REPAIR), .target = "a/b"};
	struct event_row start = {.record = EVENT_RECORD(EVENT_START), .container = "not shown"};

	strcpy(refuse.record.refusal.reason, "CPUs");
	strcpy(refuse.record.refusal.message, "no room");
	repair.record.attribute = GROUP_CPU_MAX;
	strcpy(repair.record.value, "max");
	assert_string_equal(record(&deny), "test: warn: deny: bash (pid 12, cgroup /user.slice) on "
					   "pinfold.slice/x: open for writing cpuset.cpus\n");
	assert_string_equal(record(&refuse), "test: warn: refuse: default/a/x: t: CPUs: no room\n");
	assert_string_equal(record(&repair),
			    "test: info: repair: a/b/cpu.max: restored to 'max'\n");
	assert_string_equal(record(&start), "test: info: start: the agent has started\n");
	*refuse.container = *refuse.target = '\0';
	assert_string_equal(record(&refuse), "test: warn: refuse: default/a: CPUs: no room\n");
}

/* What an operator may have to act on is a warning; the rest is not. */
static void levels_follow_the_kind(void **state)
{
	struct event_row warning = {.record = EVENT_RECORD(EVENT_FINDING)};
	struct event_row other = {.record = EVENT_RECORD(EVENT_RELOAD)};

	assert_ptr_equal(strstr(record(&warning), "test: warn: "), journal);
	assert_ptr_equal(strstr(record(&other), "test: info: "), journal);
}

static void a_culprit_gets_one_line_per_minute(void **state)
{
	struct event_row event = denied(12, "bash", "a");

	assert_null(strstr(record(&event), "more events of this kind"));
	for (int i = 0; i < 3; i++)
		assert_string_equal(record(&event), "");
	/* Another process of the same name in the same place is the same culprit. */
	event.record.pid = 13;
	assert_string_equal(record(&event), "");
	/* What came of it, another kind, another command, another place are not. */
	event.record.action = ACTION_AUDIT;
	assert_string_not_equal(record(&event), "");
	event.record.kind = EVENT_DRIFT;
	assert_string_not_equal(record(&event), "");
	strcpy(event.record.comm, "sh");
	assert_string_not_equal(record(&event), "");
	strcpy(event.cgroup, "b");
	assert_string_not_equal(record(&event), "");
	/* Nobody's doing is never too much. */
	event.record.pid = 0;
	assert_string_not_equal(record(&event), "");
	assert_string_not_equal(record(&event), "");
	/* After a minute it is told again, with what was left out. */
	event = denied(12, "bash", "a");
	monotonic_ns += 60 * S - 1;
	assert_string_equal(record(&event), "");
	monotonic_ns += 1;
	assert_non_null(strstr(record(&event), "(more events of this kind were not logged)"));
	monotonic_ns += 60 * S;
	assert_string_not_equal(record(&event), "");
	assert_null(strstr(journal, "more events of this kind"));
	/* All of them are in the ring. */
	assert_int_equal(event_log_nr(&events), 14);
}

/* --- the ring --------------------------------------------------------------------------------------- */

static void the_ring_overwrites_the_oldest(void **state)
{
	struct event_row event = {.record = EVENT_RECORD(EVENT_UNJUDGED)};
	uint32_t last = EVENT_LOG_ROWS - 1;

	assert_int_equal(event_log_nr(&events), 0);
	assert_null(event_log_at(&events, 0));
	for (uint32_t i = 0; i < EVENT_LOG_ROWS; i++) {
		event.record.nr_unjudged = i;
		wall_ns++;
		record(&event);
	}
	assert_int_equal(event_log_nr(&events), EVENT_LOG_ROWS);
	assert_int_equal(event_log_at(&events, 0)->sequence, 0);
	assert_int_equal(event_log_at(&events, 0)->record.nr_unjudged, 0);
	assert_int_equal(event_log_at(&events, 0)->time_ns, 7 * S + 1);
	assert_int_equal(event_log_at(&events, last)->sequence, last);
	assert_int_equal(event_log_at(&events, last)->record.nr_unjudged, last);
	assert_null(event_log_at(&events, EVENT_LOG_ROWS));
	event.record.nr_unjudged = 9999;
	record(&event);
	assert_int_equal(event_log_nr(&events), EVENT_LOG_ROWS);
	assert_int_equal(event_log_at(&events, 0)->sequence, 1);
	assert_int_equal(event_log_at(&events, last)->record.nr_unjudged, 9999);
	assert_int_equal(event_log_at(&events, last)->sequence, EVENT_LOG_ROWS);
	assert_null(event_log_at(&events, EVENT_LOG_ROWS));
}

/* Whoever asks again names the last event it knows, and gets the later ones alone. */
static void an_event_is_found_by_its_number(void **state)
{
	const struct event_row event = {.record = EVENT_RECORD(EVENT_UNJUDGED)};

	assert_int_equal(event_log_find(&events, 0), 0);
	assert_int_equal(event_log_find(&events, 5), 0);
	record(&event);
	record(&event);
	assert_int_equal(event_log_find(&events, 0), 0);
	assert_int_equal(event_log_find(&events, 1), 1);
	assert_int_equal(event_log_find(&events, 2), 2);
	assert_int_equal(event_log_find(&events, UINT64_MAX), 2);
	for (int i = 0; i < EVENT_LOG_ROWS + 5; i++)
		record(&event);
	/* The numbers 0 to 6 were overwritten: the oldest that is left comes first. */
	assert_int_equal(event_log_find(&events, 3), 0);
	assert_int_equal(event_log_find(&events, 7), 0);
	assert_int_equal(event_log_find(&events, 9), 2);
	assert_int_equal(event_log_at(&events, 2)->sequence, 9);
	assert_int_equal(event_log_find(&events, EVENT_LOG_ROWS + 7), EVENT_LOG_ROWS);
}

/* --- what is only counted ----------------------------------------------------------------------- */

/* `comm` traces a process of `target`. */
static struct event_row traced(const char *comm, const char *target)
{
	struct event_row event = {.record = EVENT_RECORD(EVENT_GUARD)};
	static uint32_t pid = 100;

	event.record.action = ACTION_AUDIT;
	event.record.aspect = ASPECT_DEBUGGING;
	event.record.pid = 12;
	event.record.guard.hook = HOOK_PTRACE_ACCESS_CHECK;
	event.record.guard.target_pid = pid++;
	strcpy(event.record.comm, comm);
	strcpy(event.cgroup, "system.slice");
	strcpy(event.target, target);
	return event;
}

static void record_traced(const char *comm, const char *target)
{
	const struct event_row event = traced(comm, target);

	record(&event);
}

static void a_repeated_audit_is_counted_in_one_row(void **state)
{
	struct event_row repeated = traced("monitor", "a");

	for (int i = 0; i < 1000; i++) {
		wall_ns += S;
		record_traced("monitor", "a");
		assert_int_equal(!*journal, i > 0);
	}
	assert_int_equal(event_log_nr(&events), 1);
	assert_int_equal(event_log_at(&events, 0)->time_ns, 8 * S);
	assert_int_equal(event_log_at(&events, 0)->record.suppressed, 999);
	assert_int_equal(event_log_at(&events, 0)->last_ns, wall_ns);
	/* What the budget of the programs has refused before it is counted as well. */
	repeated.record.suppressed = 5;
	record(&repeated);
	assert_int_equal(event_log_at(&events, 0)->record.suppressed, 1005);
	/* The journal says each minute that it goes on. */
	monotonic_ns += 60 * S;
	assert_non_null(strstr(record(&repeated), "more events of this kind"));
	assert_int_equal(event_log_nr(&events), 1);
	/* Another process, hook, target, culprit or place is another row. */
	repeated.record.pid++;
	record(&repeated);
	repeated.record.guard.hook = HOOK_FILE_OPEN;
	record(&repeated);
	strcpy(repeated.target, "b");
	record(&repeated);
	strcpy(repeated.record.comm, "gdb");
	record(&repeated);
	strcpy(repeated.cgroup, "user.slice");
	record(&repeated);
	assert_int_equal(event_log_nr(&events), 6);
}

/* A watcher hears again of what goes on for hours. */
static void after_an_hour_it_is_a_new_row(void **state)
{
	record_traced("monitor", "a");
	wall_ns += EVENT_LOG_MERGE_NS - 1;
	record_traced("monitor", "a");
	assert_int_equal(event_log_nr(&events), 1);
	wall_ns++;
	record_traced("monitor", "a");
	assert_int_equal(event_log_nr(&events), 2);
	assert_int_equal(event_log_at(&events, 1)->record.suppressed, 0);
	assert_int_equal(event_log_at(&events, 1)->last_ns, 0);
	record_traced("monitor", "a");
	assert_int_equal(event_log_at(&events, 0)->record.suppressed, 1);
	assert_int_equal(event_log_at(&events, 1)->record.suppressed, 1);
}

/* Rows from before the clock was set back are not of the last hour until it has caught up. */
static void a_clock_that_is_set_back_begins_a_new_row(void **state)
{
	wall_ns += 24 * EVENT_LOG_MERGE_NS;
	record_traced("monitor", "a");
	/* An event may be recorded after a later one. */
	wall_ns -= S;
	record_traced("monitor", "a");
	assert_int_equal(event_log_nr(&events), 1);
	wall_ns -= 24 * EVENT_LOG_MERGE_NS;
	record_traced("monitor", "a");
	record_traced("monitor", "a");
	assert_int_equal(event_log_nr(&events), 2);
	assert_int_equal(event_log_at(&events, 0)->record.suppressed, 1);
	assert_int_equal(event_log_at(&events, 1)->record.suppressed, 1);
	assert_int_equal(event_log_at(&events, 1)->time_ns, wall_ns);
}

/* However many containers somebody looks into, what others did stays in the log. */
static void a_caller_has_a_bounded_number_of_rows(void **state)
{
	struct event_row deny = denied(12, "bash", "user.slice");
	uint64_t counted = 0;
	char target[32];

	record(&deny);
	for (int i = 0; i < 3 * EVENT_LOG_ROWS; i++) {
		snprintf(target, sizeof(target), "pod%d", i);
		record_traced("monitor", target);
	}
	assert_int_equal(event_log_nr(&events), 1 + EVENT_LOG_CALLER_ROWS);
	assert_int_equal(event_log_at(&events, 0)->record.action, ACTION_DENY);
	for (uint32_t i = 0; i < event_log_nr(&events); i++)
		counted += event_log_at(&events, i)->record.suppressed;
	assert_int_equal(counted, 3 * EVENT_LOG_ROWS - EVENT_LOG_CALLER_ROWS);
	/* Another caller has rows of its own. */
	record_traced("gdb", "pod7");
	assert_int_equal(event_log_nr(&events), 2 + EVENT_LOG_CALLER_ROWS);
}

static void what_is_denied_or_changed_is_always_a_row(void **state)
{
	struct event_row deny = denied(12, "bash", "user.slice");
	struct event_row write = traced("bash", "a");

	for (int i = 0; i < 20; i++)
		record(&deny);
	assert_int_equal(event_log_nr(&events), 20);
	write.record.aspect = ASPECT_CPUSET_FILES;
	for (int i = 0; i < 2 * EVENT_LOG_CALLER_ROWS; i++)
		record(&write);
	assert_int_equal(event_log_nr(&events), 20 + 2 * EVENT_LOG_CALLER_ROWS);
	/* They leave the rows for debugging to it. */
	record_traced("bash", "a");
	record_traced("bash", "b");
	assert_int_equal(event_log_nr(&events), 22 + 2 * EVENT_LOG_CALLER_ROWS);
	/* What is denied or drifts is a row even if it is about debugging. */
	deny = traced("bash", "a");
	deny.record.action = ACTION_DENY;
	record(&deny);
	record(&deny);
	write = traced("bash", "a");
	write.record.kind = EVENT_DRIFT;
	record(&write);
	record(&write);
	assert_int_equal(event_log_nr(&events), 26 + 2 * EVENT_LOG_CALLER_ROWS);
}

/* Bursts beyond the budget of the programs are reported each second. */
static void the_sums_of_a_cgroup_add_up(void **state)
{
	struct event_row sum = {.record = EVENT_RECORD(EVENT_SUPPRESSED), .cgroup = "a"}, audit;

	sum.record.nr_suppressed = 7;
	record(&sum);
	/* By another process of the cgroup. */
	sum.record.pid = 13;
	record(&sum);
	assert_int_equal(event_log_nr(&events), 1);
	assert_int_equal(event_log_at(&events, 0)->record.nr_suppressed, 14);
	assert_int_equal(event_log_at(&events, 0)->last_ns, wall_ns);
	strcpy(sum.cgroup, "b");
	record(&sum);
	assert_int_equal(event_log_nr(&events), 2);
	/* An audit in the same cgroup is something else. */
	audit = traced("", "");
	strcpy(audit.cgroup, "b");
	record(&audit);
	assert_int_equal(event_log_nr(&events), 3);
	record(&sum);
	assert_int_equal(event_log_nr(&events), 3);
	assert_int_equal(event_log_at(&events, 1)->record.nr_suppressed, 14);
}

/* Numbers begin anew with each agent; the beginning of its log tells them apart. */
static void an_event_names_its_log(void **state)
{
	const struct event_row event = {.record = EVENT_RECORD(EVENT_START)};

	wall_ns = 9 * S;
	record(&event);
	assert_int_equal(event_log_at(&events, 0)->log_ns, 7 * S);
	event_log_init(&events, &test_clock);
	record(&event);
	assert_int_equal(event_log_at(&events, 0)->log_ns, 9 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_event_is_one_line, set_up),
		cmocka_unit_test_setup(levels_follow_the_kind, set_up),
		cmocka_unit_test_setup(a_culprit_gets_one_line_per_minute, set_up),
		cmocka_unit_test_setup(the_ring_overwrites_the_oldest, set_up),
		cmocka_unit_test_setup(an_event_is_found_by_its_number, set_up),
		cmocka_unit_test_setup(an_event_names_its_log, set_up),
		cmocka_unit_test_setup(a_repeated_audit_is_counted_in_one_row, set_up),
		cmocka_unit_test_setup(after_an_hour_it_is_a_new_row, set_up),
		cmocka_unit_test_setup(a_clock_that_is_set_back_begins_a_new_row, set_up),
		cmocka_unit_test_setup(a_caller_has_a_bounded_number_of_rows, set_up),
		cmocka_unit_test_setup(what_is_denied_or_changed_is_always_a_row, set_up),
		cmocka_unit_test_setup(the_sums_of_a_cgroup_add_up, set_up),
	};

	log_open("test", LOG_LEVEL_INFO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
