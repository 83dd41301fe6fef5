// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/*
 * What an agent answers to a watch of its events, one question after the other: the log; the log when
 * it has overwritten some of them; and the log of the agent that came after it. tests/check/golden
 * runs the inspector on what this records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/event.h"
#include "view_scene.h"

#define SECOND 1000000000ULL
/* tests/lib/still_machine.c begins at 1700000000. */
#define LOG_NS	   (1699999000 * SECOND)
#define NEW_LOG_NS (1700000002 * SECOND)

static const char target[] = "pinfold.slice/podb5e7aada-a54f-f78d-f17d-66326c00f477/main";

static struct event_row event(uint32_t kind, uint64_t sequence)
{
	const bool is_new = sequence < 3;
	struct event_row row = {
		.record = EVENT_RECORD(kind),
		.log_ns = is_new ? NEW_LOG_NS : LOG_NS,
		.sequence = sequence,
		.time_ns = (is_new ? NEW_LOG_NS : LOG_NS + 900 * SECOND) + sequence * SECOND / 10,
	};

	if (kind != EVENT_START)
		snprintf(row.pod, sizeof(row.pod), "prod/db");
	return row;
}

static struct event_row about_file(uint32_t kind, uint64_t sequence)
{
	struct event_row row = event(kind, sequence);

	row.record.attribute = GROUP_CPUSET_CPUS;
	snprintf(row.target, sizeof(row.target), "%s", target);
	snprintf(row.container, sizeof(row.container), "main");
	return row;
}

static struct event_row drift(uint64_t sequence)
{
	struct event_row row = about_file(EVENT_DIFFERENCE, sequence);

	row.record.aspect = ASPECT_CPUSET_FILES;
	row.record.pid = 813;
	snprintf(row.record.comm, sizeof(row.record.comm), "bash");
	snprintf(row.cgroup, sizeof(row.cgroup), "user.slice");
	snprintf(row.record.difference.wanted, sizeof(row.record.difference.wanted), "2-7");
	snprintf(row.record.difference.found, sizeof(row.record.difference.found), "0-63");
	return row;
}

static struct event_row repair(uint64_t sequence)
{
	struct event_row row = about_file(EVENT_REPAIR, sequence);

	row.record.action = ACTION_REPAIR;
	snprintf(row.record.value, sizeof(row.record.value), "2-7");
	return row;
}

static void save(const char *name, const struct event_row *rows, size_t nr)
{
	struct json_object *json = view_events(rows, nr);

	check(name, &view_event_desc, json);
	json_object_put(json);
}

static void a_log_is_recorded(void **state)
{
	const struct event_row rows[] = {event(EVENT_ADMIT, 3), drift(4), repair(5)};

	(void)state;
	save("events-log", rows, ARRAY_SIZE(rows));
}

static void what_was_overwritten_is_missing(void **state)
{
	const struct event_row rows[] = {drift(9), repair(10)};

	(void)state;
	save("events-overwritten", rows, ARRAY_SIZE(rows));
}

static void another_agent_begins_at_0(void **state)
{
	const struct event_row rows[] = {event(EVENT_START, 0), drift(1), repair(2)};

	(void)state;
	save("events-restarted", rows, ARRAY_SIZE(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_is_recorded),
		cmocka_unit_test(what_was_overwritten_is_missing),
		cmocka_unit_test(another_agent_begins_at_0),
	};

	return cmocka_run_group_tests_name("view_watched", tests, NULL, NULL);
}
