// SPDX-License-Identifier: Apache-2.0
/*
 * Ring of events, list of drift, and the rate limit of the journal. The ring
 * holds rows by value: no ownership, and its size is the agent's to know.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/audit.h"
#include "lib/log.h"

#define JOURNAL_WINDOW_NS (60ULL * 1000000000ULL)

void audit_init(struct audit *audit, const struct clock_port *clock)
{
	memset(audit, 0, sizeof(*audit));
	audit->clock = clock;
}

/* FNV-1a, 64 bit: identifies a culprit well enough for a rate limit. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

static uint64_t culprit_key(const struct event_row *event)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	hash = hash_text(hash, event->kind);
	hash = hash_text(hash, event->comm);
	hash = hash_text(hash, event->cgroup);
	return hash ? hash : 1;
}

/* May this culprit have a journal line now? *ret_suppressed = lines it was denied before. */
static bool journal_allows(struct audit *audit, const struct event_row *event,
			   uint32_t *ret_suppressed)
{
	uint64_t key = culprit_key(event), now = audit->clock->now_ns(audit->clock->self);
	struct audit_culprit *slot = &audit->culprits[key % AUDIT_CULPRIT];

	if (slot->key == key && now - slot->window_start_ns < JOURNAL_WINDOW_NS) {
		slot->suppressed++;
		return false;
	}
	*ret_suppressed = slot->key == key ? slot->suppressed : 0;
	*slot = (struct audit_culprit){.key = key, .window_start_ns = now};
	return true;
}

static enum log_level level_of(const struct event_row *event)
{
	static const char *const warnings[] = {"deny", "audit",	 "drift",
					       "pin",  "refuse", "finding"};

	for (size_t i = 0; i < ARRAY_SIZE(warnings); i++)
		if (!strcmp(event->kind, warnings[i]))
			return LOG_LEVEL_WARN;
	return LOG_LEVEL_INFO;
}

static void write_journal(struct audit *audit, const struct event_row *event)
{
	char kind[48], pod[ROW_PATH_MAX + 16], pid[32], target[ROW_PATH_MAX + 16];
	const char *const fields[] = {kind, pod, pid, target, NULL};
	uint32_t suppressed = 0;

	if (event->pid && !journal_allows(audit, event, &suppressed))
		return;
	snprintf(kind, sizeof(kind), "PINFOLD_EVENT=%s", event->kind);
	snprintf(pod, sizeof(pod), "PINFOLD_POD=%s", event->pod);
	snprintf(pid, sizeof(pid), "PINFOLD_CULPRIT_PID=%u", event->pid);
	snprintf(target, sizeof(target), "PINFOLD_TARGET=%s", event->target);
	if (event->pid)
		log_fields(level_of(event), fields, "%s: %s (pid %u, cgroup /%s) on %s: %s%s",
			   event->kind, event->comm, event->pid, event->cgroup, event->target,
			   event->detail, suppressed ? " (more of the same were not logged)" : "");
	else
		log_fields(level_of(event), fields, "%s: %s%s%s%s%s%s%s", event->kind, event->pod,
			   *event->pod && *event->container ? "/" : "",
			   *event->pod ? event->container : "", *event->pod ? ": " : "",
			   event->target, *event->target ? ": " : "", event->detail);
}

void audit_event(struct audit *audit, const struct event_row *event)
{
	struct event_row *row = &audit->ring[audit->next_sequence % AUDIT_RING];

	*row = *event;
	row->sequence = audit->next_sequence++;
	row->time_ns = audit->clock->wall_ns(audit->clock->self);
	write_journal(audit, row);
}

uint32_t audit_nr(const struct audit *audit)
{
	return audit->next_sequence < AUDIT_RING ? (uint32_t)audit->next_sequence : AUDIT_RING;
}

const struct event_row *audit_at(const struct audit *audit, uint32_t index)
{
	if (index >= audit_nr(audit))
		return NULL;
	return &audit->ring[(audit->next_sequence - audit_nr(audit) + index) % AUDIT_RING];
}

struct drift_row *audit_open_drift(struct audit *audit, const char *path, const char *attribute)
{
	for (uint32_t i = 0; i < audit->nr_drift; i++) {
		struct drift_row *row = &audit->drift[i];

		if (!row->repaired_ns && !strcmp(row->path, path) &&
		    !strcmp(row->attribute, attribute))
			return row;
	}
	return NULL;
}

/* Make room: the oldest closed row goes, else the oldest. */
static void drop_one(struct audit *audit)
{
	uint32_t victim = 0;

	for (uint32_t i = 0; i < audit->nr_drift; i++)
		if (audit->drift[i].repaired_ns) {
			victim = i;
			break;
		}
	memmove(&audit->drift[victim], &audit->drift[victim + 1],
		(audit->nr_drift - victim - 1) * sizeof(audit->drift[0]));
	audit->nr_drift--;
}

struct drift_row *audit_drift(struct audit *audit, const char *path, const char *attribute)
{
	struct drift_row *row = audit_open_drift(audit, path, attribute);

	if (row)
		return row;
	if (audit->nr_drift == AUDIT_DRIFT)
		drop_one(audit);
	row = &audit->drift[audit->nr_drift++];
	*row = (struct drift_row){.since_ns = audit->clock->wall_ns(audit->clock->self)};
	snprintf(row->path, sizeof(row->path), "%s", path);
	snprintf(row->attribute, sizeof(row->attribute), "%s", attribute);
	snprintf(row->cause, sizeof(row->cause), "unknown");
	snprintf(row->action, sizeof(row->action), "none");
	return row;
}

void audit_close_drift(struct audit *audit, struct drift_row *row, const char *action)
{
	row->repaired_ns = audit->clock->wall_ns(audit->clock->self);
	snprintf(row->action, sizeof(row->action), "%s", action);
}

uint32_t audit_nr_open_drift(const struct audit *audit, const char *attribute)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < audit->nr_drift; i++)
		nr += !audit->drift[i].repaired_ns &&
		      (!attribute || !strcmp(audit->drift[i].attribute, attribute));
	return nr;
}
