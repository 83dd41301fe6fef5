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

static const struct clock_port test_clock = {NULL, now, wall};

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
	struct event_row event = {.record = EVENT_RECORD(EVENT_SUPPRESSED)};
	uint32_t last = EVENT_LOG_ROWS - 1;

	assert_int_equal(event_log_nr(&events), 0);
	assert_null(event_log_at(&events, 0));
	for (uint32_t i = 0; i < EVENT_LOG_ROWS; i++) {
		event.record.nr_suppressed = i;
		wall_ns++;
		record(&event);
	}
	assert_int_equal(event_log_nr(&events), EVENT_LOG_ROWS);
	assert_int_equal(event_log_at(&events, 0)->sequence, 0);
	assert_int_equal(event_log_at(&events, 0)->record.nr_suppressed, 0);
	assert_int_equal(event_log_at(&events, 0)->time_ns, 7 * S + 1);
	assert_int_equal(event_log_at(&events, last)->sequence, last);
	assert_int_equal(event_log_at(&events, last)->record.nr_suppressed, last);
	assert_null(event_log_at(&events, EVENT_LOG_ROWS));
	event.record.nr_suppressed = 9999;
	record(&event);
	assert_int_equal(event_log_nr(&events), EVENT_LOG_ROWS);
	assert_int_equal(event_log_at(&events, 0)->sequence, 1);
	assert_int_equal(event_log_at(&events, last)->record.nr_suppressed, 9999);
	assert_int_equal(event_log_at(&events, last)->sequence, EVENT_LOG_ROWS);
	assert_null(event_log_at(&events, EVENT_LOG_ROWS));
}

/* Whoever asks again names the last event it knows, and gets the later ones alone. */
static void an_event_is_found_by_its_number(void **state)
{
	const struct event_row event = {.record = EVENT_RECORD(EVENT_SUPPRESSED)};

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
	};

	log_open("test", LOG_LEVEL_INFO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
