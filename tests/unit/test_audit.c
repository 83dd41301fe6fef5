// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl format core lib
/* The ring of events, the list of drift, and the journal that no culprit can flood. */
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

#include "ctl/audit.h"
#include "lib/log.h"

#define S 1000000000ULL

static uint64_t monotonic_ns, wall_ns;
static struct audit audit;

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
	audit_init(&audit, &test_clock);
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
	audit_event(&audit, event);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	rewind(file);
	len = fread(journal, 1, sizeof(journal) - 1, file);
	journal[len] = '\0';
	fclose(file);
	return journal;
}

static void an_event_is_one_line(void **state)
{
	struct event_row deny = {.kind = "deny",
				 .pid = 12,
				 .comm = "bash",
				 .cgroup = "user.slice",
				 .target = "pinfold.slice/poda/x",
				 .detail = "open for writing"};
	struct event_row refuse = {.kind = "refuse",
				   .pod = "default/a",
				   .container = "x",
				   .target = "t",
				   .detail = "no room"};
	struct event_row start = {.kind = "start", .container = "not shown", .detail = "it is up"};

	assert_string_equal(record(&deny), "test: warn: deny: bash (pid 12, cgroup /user.slice) on "
					   "pinfold.slice/poda/x: open for writing\n");
	assert_string_equal(record(&refuse), "test: warn: refuse: default/a/x: t: no room\n");
	assert_string_equal(record(&start), "test: info: start: it is up\n");
	*refuse.container = *refuse.target = '\0';
	assert_string_equal(record(&refuse), "test: warn: refuse: default/a: no room\n");
}

/* What an operator may have to act on is a warning; the rest is not. */
static void levels_follow_the_kind(void **state)
{
	static const char *const warnings[] = {"deny", "audit",	 "drift",
					       "pin",  "refuse", "finding"};
	static const char *const others[] = {"admit", "release", "repair", "start", "reload"};
	struct event_row event = {.detail = "x"};

	for (size_t i = 0; i < ARRAY_SIZE(warnings); i++) {
		strcpy(event.kind, warnings[i]);
		assert_ptr_equal(strstr(record(&event), "test: warn: "), journal);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		strcpy(event.kind, others[i]);
		assert_ptr_equal(strstr(record(&event), "test: info: "), journal);
	}
}

static void a_culprit_has_one_line_a_minute(void **state)
{
	struct event_row event = {
		.kind = "deny", .pid = 12, .comm = "bash", .cgroup = "a", .detail = "x"};

	assert_null(strstr(record(&event), "more of the same"));
	for (int i = 0; i < 3; i++)
		assert_string_equal(record(&event), "");
	/* Another process of the same name in the same place is the same culprit. */
	event.pid = 13;
	assert_string_equal(record(&event), "");
	/* Another kind, another command, another place are not. */
	strcpy(event.kind, "audit");
	assert_string_not_equal(record(&event), "");
	strcpy(event.comm, "sh");
	assert_string_not_equal(record(&event), "");
	strcpy(event.cgroup, "b");
	assert_string_not_equal(record(&event), "");
	/* Nobody's doing is never too much. */
	event.pid = 0;
	assert_string_not_equal(record(&event), "");
	assert_string_not_equal(record(&event), "");
	/* After a minute it is told again, with what was left out. */
	event = (struct event_row){
		.kind = "deny", .pid = 12, .comm = "bash", .cgroup = "a", .detail = "x"};
	monotonic_ns += 60 * S - 1;
	assert_string_equal(record(&event), "");
	monotonic_ns += 1;
	assert_non_null(strstr(record(&event), "(more of the same were not logged)"));
	monotonic_ns += 60 * S;
	assert_string_not_equal(record(&event), "");
	assert_null(strstr(journal, "more of the same"));
	/* All of them are in the ring. */
	assert_int_equal(audit_nr(&audit), 13);
}

/* --- the ring --------------------------------------------------------------------------------------- */

static void the_ring_forgets_the_oldest(void **state)
{
	struct event_row event = {.kind = "admit"};

	assert_int_equal(audit_nr(&audit), 0);
	assert_null(audit_at(&audit, 0));
	for (uint32_t i = 0; i < AUDIT_RING; i++) {
		snprintf(event.detail, sizeof(event.detail), "%u", i);
		wall_ns++;
		record(&event);
	}
	assert_int_equal(audit_nr(&audit), AUDIT_RING);
	assert_int_equal(audit_at(&audit, 0)->sequence, 0);
	assert_string_equal(audit_at(&audit, 0)->detail, "0");
	assert_int_equal(audit_at(&audit, 0)->time_ns, 7 * S + 1);
	assert_int_equal(audit_at(&audit, AUDIT_RING - 1)->sequence, AUDIT_RING - 1);
	assert_null(audit_at(&audit, AUDIT_RING));
	strcpy(event.detail, "new");
	record(&event);
	assert_int_equal(audit_nr(&audit), AUDIT_RING);
	assert_int_equal(audit_at(&audit, 0)->sequence, 1);
	assert_string_equal(audit_at(&audit, AUDIT_RING - 1)->detail, "new");
	assert_int_equal(audit_at(&audit, AUDIT_RING - 1)->sequence, AUDIT_RING);
	assert_null(audit_at(&audit, AUDIT_RING));
}

/* --- drift ------------------------------------------------------------------------------------------ */

static void drift_is_open_until_it_is_closed(void **state)
{
	struct drift_row *row = audit_drift(&audit, "a/b", "cpus");

	assert_string_equal(row->path, "a/b");
	assert_string_equal(row->attribute, "cpus");
	assert_string_equal(row->cause, "unknown");
	assert_string_equal(row->action, "none");
	assert_int_equal(row->since_ns, 7 * S);
	assert_int_equal(row->repaired_ns, 0);
	/* The same is one row; another file, another group are others. */
	assert_ptr_equal(audit_drift(&audit, "a/b", "cpus"), row);
	assert_ptr_equal(audit_open_drift(&audit, "a/b", "cpus"), row);
	assert_null(audit_open_drift(&audit, "a/b", "mems"));
	assert_null(audit_open_drift(&audit, "a", "cpus"));
	assert_ptr_not_equal(audit_drift(&audit, "a/b", "mems"), row);
	assert_ptr_not_equal(audit_drift(&audit, "a", "cpus"), row);
	assert_int_equal(audit_nr_open_drift(&audit, NULL), 3);
	assert_int_equal(audit_nr_open_drift(&audit, "cpus"), 2);
	assert_int_equal(audit_nr_open_drift(&audit, "mems"), 1);
	assert_int_equal(audit_nr_open_drift(&audit, "quota"), 0);
	wall_ns += S;
	audit_close_drift(&audit, row, "repair");
	assert_int_equal(row->repaired_ns, 8 * S);
	assert_string_equal(row->action, "repair");
	assert_null(audit_open_drift(&audit, "a/b", "cpus"));
	assert_int_equal(audit_nr_open_drift(&audit, "cpus"), 1);
	/* It happens again: another row. */
	assert_ptr_not_equal(audit_drift(&audit, "a/b", "cpus"), row);
	assert_int_equal(audit.nr_drift, 4);
}

/* Fill the list; the row of this index, if any, is closed. */
static void fill(int closed)
{
	for (int i = 0; i < AUDIT_DRIFT; i++) {
		struct drift_row *row;
		char path[16];

		snprintf(path, sizeof(path), "%d", i);
		row = audit_drift(&audit, path, "cpus");
		if (i == closed)
			audit_close_drift(&audit, row, "repair");
	}
	assert_int_equal(audit.nr_drift, AUDIT_DRIFT);
}

static void closed_drift_ages_out_first(void **state)
{
	fill(5);
	assert_string_equal(audit_drift(&audit, "new", "cpus")->path, "new");
	assert_int_equal(audit.nr_drift, AUDIT_DRIFT);
	assert_string_equal(audit.drift[0].path, "0");
	assert_string_equal(audit.drift[4].path, "4");
	assert_string_equal(audit.drift[5].path, "6");
	assert_string_equal(audit.drift[AUDIT_DRIFT - 2].path, "127");
	assert_string_equal(audit.drift[AUDIT_DRIFT - 1].path, "new");
	/* With none closed the oldest has to go. */
	audit_drift(&audit, "newer", "cpus");
	assert_int_equal(audit.nr_drift, AUDIT_DRIFT);
	assert_string_equal(audit.drift[0].path, "1");
	assert_string_equal(audit.drift[AUDIT_DRIFT - 1].path, "newer");
}

/* Of several closed ones the first, which is the oldest. */
static void the_oldest_closed_drift_goes(void **state)
{
	fill(9);
	audit_close_drift(&audit, &audit.drift[20], "repair");
	audit_drift(&audit, "new", "cpus");
	assert_string_equal(audit.drift[9].path, "10");
	assert_string_equal(audit.drift[19].path, "20");
	assert_true(audit.drift[19].repaired_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_event_is_one_line, set_up),
		cmocka_unit_test_setup(levels_follow_the_kind, set_up),
		cmocka_unit_test_setup(a_culprit_has_one_line_a_minute, set_up),
		cmocka_unit_test_setup(the_ring_forgets_the_oldest, set_up),
		cmocka_unit_test_setup(drift_is_open_until_it_is_closed, set_up),
		cmocka_unit_test_setup(closed_drift_ages_out_first, set_up),
		cmocka_unit_test_setup(the_oldest_closed_drift_goes, set_up),
	};

	log_open("test", LOG_LEVEL_INFO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
