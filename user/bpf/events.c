// SPDX-License-Identifier: Apache-2.0
/* Reads the ring buffer: converts the kernel's bytes to typed records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <pinfold/abi.h>

#include "bpf/events.h"
#include "lib/clock.h"
#include "lib/text.h"

/* Cgroups whose suppressed events one sweep reports; the rest follow with the next sweep. */
#define SWEEP_MAX 64
/* Start times of processes are in 1/100 s since the boot. */
#define NS_PER_TICK 10000000ULL

struct event_reader {
	struct event_setup setup;
	struct ring_buffer *ring;
};

/* --- from the ring buffer to the record ------------------------------------------------------- */

/*
 * The managed file that a write to `file` changes: the file itself, or one whose name is a
 * prefix of it, as cpu.weight.nice sets cpu.weight. Of two such names the longer one is used.
 */
static enum group_file attribute_of(const char *file)
{
	enum group_file found = GROUP_ATTRIBUTE_NR;
	size_t longest = 0;

	for (enum group_file i = 0; i < GROUP_FILE_NR; i++) {
		const char *name = group_file_name(i);
		const size_t len = strlen(name);

		if (len > longest && !strncmp(file, name, len) &&
		    (!file[len] || file[len] == '.')) {
			found = i;
			longest = len;
		}
	}
	return found;
}

static void read_guard(const struct event *event, struct event_record *record)
{
	record->guard.hook = event->hook < HOOK_NR ? event->hook : HOOK_NONE;
	record->guard.target_pid = event->target_pid;
	text_copy(record->guard.file, sizeof(record->guard.file), event->file);
}

static void read_attempt(const struct event *event, struct event_record *record)
{
	record->attempt.target_pid = event->target_pid;
	record->attempt.nr_wanted = event->value;
	record->attempt.error = event->error;
	record->attempt.is_cut = event->flags & EVENT_CUT;
	/* The programs zero an event first, so words beyond the machine's CPUs are 0. */
	memcpy(record->attempt.wanted, event->mask, sizeof(record->attempt.wanted));
}

static void read_move(const struct event *event, struct event_record *record)
{
	record->move.target_pid = event->target_pid;
	record->move.start_ticks = event->move.start_ticks;
	record->move.moved_ticks = event->time_ns / NS_PER_TICK;
	record->move.from_id = event->from_cgroup;
	record->move.to_id = event->move.to_cgroup;
	record->move.from_border_id = event->move.from_border;
	record->move.to_border_id = event->move.to_border;
}

static void read_arguments(const struct event *event, struct event_record *record)
{
	switch (event->kind) {
	case EVENT_GUARD:
		read_guard(event, record);
		break;
	case EVENT_DRIFT:
		text_copy(record->write.file, sizeof(record->write.file), event->file);
		text_copy(record->write.text, sizeof(record->write.text), event->text);
		record->attribute = attribute_of(record->write.file);
		record->write.is_controllers =
			!strcmp(record->write.file, "cgroup.subtree_control");
		break;
	case EVENT_MOVE:
		read_move(event, record);
		break;
	case EVENT_ATTEMPT:
		read_attempt(event, record);
		break;
	case EVENT_SUPPRESSED:
		record->nr_suppressed = event->value;
		break;
	default:
		record->life.is_populated = event->value;
		text_copy(record->life.path, sizeof(record->life.path), event->text);
		break;
	}
}

void event_read(const struct event *event, struct event_record *ret_record)
{
	/* The buffer is pinned, so another version may have written events with unknown numbers. */
	struct event_record record =
		EVENT_RECORD(event->kind < EVENT_KIND_NR ? event->kind : EVENT_NONE);

	if (record.kind <= EVENT_ATTEMPT && event->aspect < ASPECT_NR)
		record.aspect = event->aspect;
	record.action = event->action < ACTION_NR ? event->action : ACTION_UNKNOWN;
	record.pid = event->tgid;
	record.culprit_id = event->writer_cgroup;
	record.target_id = event->target_cgroup;
	record.suppressed = event->suppressed;
	text_copy(record.comm, sizeof(record.comm), event->comm);
	read_arguments(event, &record);
	*ret_record = record;
}

/* --- whom process 1 acted for ------------------------------------------------------------------ */

#define CLIENT_WINDOW_NS 5000000000ULL

static bool is_recent(const struct pid1_client *client, __u64 now_ns)
{
	return client->time_ns && client->time_ns <= now_ns &&
	       now_ns - client->time_ns < CLIENT_WINDOW_NS;
}

void event_name_client(const struct pid1_clients *clients, uint64_t time_ns,
		       struct event_record *record)
{
	const struct pid1_client *found = NULL;

	for (uint32_t i = 0; i < PID1_CLIENTS; i++) {
		const struct pid1_client *client = &clients->rows[i];

		if (!is_recent(client, time_ns) || client->pid == 1)
			continue;
		if (found && found->pid != client->pid)
			return;
		found = client;
	}
	if (!found)
		return;
	record->client.pid = found->pid;
	record->client.cgroup_id = found->cgroup;
	text_copy(record->client.comm, sizeof(record->client.comm), found->comm);
}

static void name_client(const struct event_reader *reader, const struct event *event,
			struct event_record *record)
{
	struct pid1_clients clients;
	__u32 zero = 0;
	int fd;

	if (record->pid != 1)
		return;
	fd = bpf_objects_map_fd(reader->setup.objects, "pid1_clients");
	if (fd >= 0 && !bpf_map_lookup_elem(fd, &zero, &clients))
		event_name_client(&clients, event->time_ns, record);
}

/* --- the reader ------------------------------------------------------------------------------- */

static int take_event(void *context, void *data, size_t size)
{
	struct event_reader *reader = context;
	struct event_record record;

	if (size < sizeof(struct event))
		return 0;
	event_read(data, &record);
	name_client(reader, data, &record);
	reader->setup.sink.event(reader->setup.sink.self, &record);
	return 0;
}

int events_open(const struct event_setup *setup, struct event_reader **ret_reader)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->setup = *setup;
	reader->ring = ring_buffer__new(setup->events_fd, take_event, reader, NULL);
	if (!reader->ring) {
		int r = -errno;

		free(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

void events_close(struct event_reader *reader)
{
	if (!reader)
		return;
	ring_buffer__free(reader->ring);
	free(reader);
}

int events_fd(const struct event_reader *reader)
{
	return ring_buffer__epoll_fd(reader->ring);
}

int events_dispatch(struct event_reader *reader)
{
	return ring_buffer__consume(reader->ring);
}

/*
 * Remove the entry if it is of an earlier second, which makes room for other cgroups. A program that adds
 * to it at the same time creates a new one, so each event is counted once, in this report or the next.
 */
static bool take_suppressed(const struct event_reader *reader, __u64 cgroup, __u64 now_ns,
			    __u32 *ret_nr)
{
	struct event_budget budget;

	if (bpf_map_lookup_elem(reader->setup.budgets_fd, &cgroup, &budget) ||
	    now_ns < budget.window_ns + 1000000000ULL ||
	    bpf_map_lookup_and_delete_elem(reader->setup.budgets_fd, &cgroup, &budget))
		return false;
	*ret_nr = budget.suppressed;
	return budget.suppressed > 0;
}

void events_sweep(struct event_reader *reader)
{
	const __u64 now_ns = clock_read_ns(CLOCK_BOOTTIME);
	__u64 cgroup, next, taken[SWEEP_MAX];
	__u32 counts[SWEEP_MAX];
	uint32_t nr = 0;
	bool first = true;

	while (nr < SWEEP_MAX &&
	       !bpf_map_get_next_key(reader->setup.budgets_fd, first ? NULL : &cgroup, &next)) {
		/* deleting the current key would restart the walk, so advance before deleting */
		if (!first && take_suppressed(reader, cgroup, now_ns, &counts[nr]))
			taken[nr++] = cgroup;
		cgroup = next;
		first = false;
	}
	if (nr < SWEEP_MAX && !first && take_suppressed(reader, cgroup, now_ns, &counts[nr]))
		taken[nr++] = cgroup;
	for (uint32_t i = 0; i < nr; i++) {
		struct event_record record = EVENT_RECORD(EVENT_SUPPRESSED);

		record.action = ACTION_ALLOW;
		record.culprit_id = taken[i] & ~(BUDGET_LIFE | BUDGET_MOVES);
		record.nr_suppressed = counts[i];
		reader->setup.sink.event(reader->setup.sink.self, &record);
	}
}
