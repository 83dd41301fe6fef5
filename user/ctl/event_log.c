// SPDX-License-Identifier: Apache-2.0
/*
 * The ring of events and the rate limit for the journal. The ring stores rows by value, so
 * there is no ownership, and its size is fixed.
 */
#include <string.h>

#include "ctl/event_log.h"
#include "lib/hash.h"
#include "lib/log.h"

#define JOURNAL_WINDOW_NS (60ULL * 1000000000ULL)

void event_log_init(struct event_log *log, const struct clock_port *clock)
{
	memset(log, 0, sizeof(*log));
	log->clock = clock;
	log->began_ns = clock->wall_ns(clock->self);
}

/* Identifies a culprit well enough for a rate limit. */
static uint64_t culprit_key(const struct event_row *event)
{
	const struct event_record *record = &event->record;
	uint64_t hash = HASH_START;

	hash = hash_add(hash, &record->kind, sizeof(record->kind));
	hash = hash_add(hash, &record->action, sizeof(record->action));
	hash = hash_add(hash, record->comm, strlen(record->comm));
	hash = hash_add(hash, event->cgroup, strlen(event->cgroup));
	return hash ? hash : 1;
}

/* May this culprit have a journal line now? *ret_suppressed = lines suppressed before. */
static bool journal_allows(struct event_log *log, const struct event_row *event,
			   uint32_t *ret_suppressed)
{
	uint64_t key = culprit_key(event), now = log->clock->now_ns(log->clock->self);
	struct event_log_culprit *slot = &log->culprits[key % EVENT_LOG_CULPRITS];

	if (slot->key == key && now - slot->window_start_ns < JOURNAL_WINDOW_NS) {
		slot->suppressed++;
		return false;
	}
	*ret_suppressed = slot->key == key ? slot->suppressed : 0;
	*slot = (struct event_log_culprit){.key = key, .window_start_ns = now};
	return true;
}

static void write_journal(struct event_log *log, const struct event_row *event)
{
	struct event_journal journal;
	const char *const fields[] = {journal.kind, journal.pod, journal.pid, journal.target, NULL};
	uint32_t suppressed = 0;

	if (event->record.pid && !journal_allows(log, event, &suppressed))
		return;
	event_journal(event, suppressed, &journal);
	log_fields(event_is_warning(&event->record) ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, fields, "%s",
		   journal.message);
}

/* --- what is only counted in an earlier row --------------------------------------------------- */

/*
 * What is denied or changed is always a row: it is why the log is read. Looking into a process is
 * what monitors do all day.
 */
static bool may_be_merged(const struct event_record *record)
{
	return record->kind == EVENT_SUPPRESSED ||
	       (record->kind == EVENT_GUARD && record->action == ACTION_AUDIT &&
		record->aspect == ASPECT_DEBUGGING);
}

static bool is_same_culprit(const struct event_row *a, const struct event_row *b)
{
	return may_be_merged(&a->record) && a->record.kind == b->record.kind &&
	       !strcmp(a->record.comm, b->record.comm) && !strcmp(a->cgroup, b->cgroup);
}

/* By the same culprit. The process that it was done to is not compared: a target has many. */
static bool is_same_operation(const struct event_row *a, const struct event_row *b)
{
	if (strcmp(a->target, b->target))
		return false;
	return a->record.kind != EVENT_GUARD ||
	       (a->record.pid == b->record.pid && a->record.guard.hook == b->record.guard.hook);
}

/* Also one that seems to be later, but not if the wall clock was set back by much. */
static bool is_of_last_hour(const struct event_row *row, uint64_t now_ns)
{
	const uint64_t apart_ns = now_ns > row->time_ns ? now_ns - row->time_ns
							: row->time_ns - now_ns;

	return apart_ns < EVENT_LOG_MERGE_NS;
}

/* The row in which the event is only counted; NULL = it becomes a row itself. */
static struct event_row *find_counting(struct event_log *log, const struct event_row *event,
				       uint64_t now_ns)
{
	const uint64_t oldest = log->next_sequence - event_log_nr(log);
	struct event_row *latest = NULL;
	uint32_t nr_rows = 0;

	if (!may_be_merged(&event->record))
		return NULL;
	for (uint64_t sequence = log->next_sequence; sequence-- > oldest;) {
		struct event_row *row = &log->ring[sequence % EVENT_LOG_ROWS];

		if (!is_same_culprit(row, event) || !is_of_last_hour(row, now_ns))
			continue;
		if (is_same_operation(row, event))
			return row;
		latest = latest ? latest : row;
		nr_rows++;
	}
	return nr_rows >= EVENT_LOG_CALLER_ROWS ? latest : NULL;
}

static void count_in(struct event_row *row, const struct event_row *event, uint64_t now_ns)
{
	if (event->record.kind == EVENT_SUPPRESSED)
		row->record.nr_suppressed += event->record.nr_suppressed;
	else
		row->record.suppressed += 1 + event->record.suppressed;
	row->last_ns = now_ns;
}

void event_log_add(struct event_log *log, const struct event_row *event)
{
	const uint64_t now_ns = event->time_ns ? event->time_ns
					       : log->clock->wall_ns(log->clock->self);
	struct event_row *row = find_counting(log, event, now_ns);

	if (row) {
		count_in(row, event, now_ns);
		write_journal(log, event);
		return;
	}
	row = &log->ring[log->next_sequence % EVENT_LOG_ROWS];
	*row = *event;
	row->log_ns = log->began_ns;
	row->sequence = log->next_sequence++;
	row->time_ns = now_ns;
	write_journal(log, row);
}

void event_log_record(struct event_log *log, const struct event_record *record)
{
	const struct event_row row = {.record = *record};

	event_log_add(log, &row);
}

uint32_t event_log_nr(const struct event_log *log)
{
	return log->next_sequence < EVENT_LOG_ROWS ? (uint32_t)log->next_sequence : EVENT_LOG_ROWS;
}

const struct event_row *event_log_at(const struct event_log *log, uint32_t index)
{
	if (index >= event_log_nr(log))
		return NULL;
	return &log->ring[(log->next_sequence - event_log_nr(log) + index) % EVENT_LOG_ROWS];
}

uint32_t event_log_find(const struct event_log *log, uint64_t sequence)
{
	const uint32_t nr = event_log_nr(log);
	const uint64_t oldest = log->next_sequence - nr;

	if (sequence >= log->next_sequence)
		return nr;
	return sequence > oldest ? (uint32_t)(sequence - oldest) : 0;
}
