// SPDX-License-Identifier: Apache-2.0
/* The ring buffer's reader and the wording of events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <pinfold/abi.h>

#include "bpf/events.h"

/* Cgroups whose suppressed events one sweep reports; the others wait for the next. */
#define SWEEP_MAX 64

struct event_reader {
	struct event_setup setup;
	struct ring_buffer *ring;
};

static const char *const aspect_names[ASPECT_NR] = {
	[ASPECT_CPUSET_FILES] = "cpuset_files",
	[ASPECT_AFFINITY] = "affinity",
	[ASPECT_CGROUP_MOVES] = "cgroup_moves",
};

static const char *const action_names[ACTION_NR] = {
	[ACTION_ALLOW] = "allow",
	[ACTION_AUDIT] = "audit",
	[ACTION_DENY] = "deny",
};

static const char *const hook_words[HOOK_NR] = {
	[HOOK_FILE_PERMISSION] = "write",     [HOOK_FILE_OPEN] = "open for writing",
	[HOOK_INODE_PERMISSION] = "",	      [HOOK_INODE_MKDIR] = "make cgroup",
	[HOOK_INODE_RMDIR] = "remove cgroup", [HOOK_TASK_SETSCHEDULER] = "",
};

static const char *kind_name(const struct event *event)
{
	switch (event->kind) {
	case EVENT_GUARD:
		return event->action == ACTION_DENY ? "deny" : "audit";
	case EVENT_DRIFT:
		return "drift";
	case EVENT_MOVE:
		return "move";
	case EVENT_ATTEMPT:
		return "pin";
	case EVENT_MKDIR:
		return "mkdir";
	case EVENT_RMDIR:
		return "rmdir";
	case EVENT_RELEASE:
		return "release";
	case EVENT_POPULATED:
		return event->value ? "populated" : "empty";
	case EVENT_ATTACH:
		return "attach";
	case EVENT_SUPPRESSED:
		return "suppressed";
	default:
		return "unknown";
	}
}

static void word_guard(const struct event *event, char *detail, size_t size)
{
	/* a child made elsewhere leaves the cgroup its maker is in: that one is the target */
	if (event->hook == HOOK_INODE_PERMISSION) {
		snprintf(detail, size, "clone3 %s the cgroup",
			 event->target_cgroup == event->writer_cgroup ? "out of" : "into");
		return;
	}
	if (event->hook != HOOK_TASK_SETSCHEDULER) {
		snprintf(detail, size, "%s %.*s", hook_words[event->hook % HOOK_NR], EVENT_FILE_LEN,
			 event->file);
		return;
	}
	snprintf(detail, size, "%s of pid %u",
		 event->aspect == ASPECT_AFFINITY ? "change affinity or policy" : "move",
		 event->target_pid);
}

static void word_attempt(const struct event *event, uint32_t mask_words, char *detail, size_t size)
{
	struct cpuset wanted = CPUSET_EMPTY;
	char list[ROW_DETAIL_MAX / 2];
	size_t len;

	wanted.nr_words = mask_words < EVENT_MASK_WORDS ? mask_words : EVENT_MASK_WORDS;
	memcpy(wanted.words, event->mask, wanted.nr_words * sizeof(wanted.words[0]));
	len = cpuset_format(&wanted, list, sizeof(list));
	snprintf(detail, size, "pin pid %u to CPUs %s%s (%u wanted): %s", event->target_pid, list,
		 len >= sizeof(list) || (event->flags & EVENT_CUT) ? "…" : "", event->value,
		 event->error ? strerror(-event->error) : "trimmed to what is allowed");
}

static void word_detail(const struct event *event, uint32_t mask_words, char *detail, size_t size)
{
	switch (event->kind) {
	case EVENT_GUARD:
		word_guard(event, detail, size);
		break;
	case EVENT_DRIFT:
		snprintf(detail, size, "%.*s = '%.*s'", EVENT_FILE_LEN, event->file, EVENT_TEXT_LEN,
			 event->text);
		break;
	case EVENT_MOVE:
		if (event->from_cgroup == event->target_cgroup)
			snprintf(detail, size, "pid %u moved out", event->target_pid);
		else
			snprintf(detail, size, "pid %u moved in from cgroup %llu",
				 event->target_pid, (unsigned long long)event->from_cgroup);
		break;
	case EVENT_ATTEMPT:
		word_attempt(event, mask_words, detail, size);
		break;
	case EVENT_SUPPRESSED:
		snprintf(detail, size, "%u events over the limit of %d a second", event->value,
			 EVENT_BUDGET_PER_S);
		break;
	default:
		snprintf(detail, size, "%.*s", EVENT_TEXT_LEN, event->text);
		break;
	}
}

void event_translate(const struct event *event, uint32_t mask_words, struct kernel_event *ret_event)
{
	bool has_aspect = event->kind <= EVENT_ATTEMPT && event->aspect < ASPECT_NR;

	*ret_event = (struct kernel_event){
		.pid = event->tgid,
		.cgroup_id = event->writer_cgroup,
		.target_id = event->target_cgroup,
		.suppressed = event->suppressed,
	};
	snprintf(ret_event->kind, sizeof(ret_event->kind), "%s", kind_name(event));
	snprintf(ret_event->aspect, sizeof(ret_event->aspect), "%s",
		 has_aspect ? aspect_names[event->aspect] : "");
	snprintf(ret_event->action, sizeof(ret_event->action), "%s",
		 event->action < ACTION_NR ? action_names[event->action] : "");
	memcpy(ret_event->comm, event->comm, sizeof(ret_event->comm));
	ret_event->comm[sizeof(ret_event->comm) - 1] = '\0';
	word_detail(event, mask_words, ret_event->detail, sizeof(ret_event->detail));
}

static int take_event(void *context, void *data, size_t size)
{
	struct event_reader *reader = context;
	struct kernel_event event;

	if (size < sizeof(struct event))
		return 0;
	event_translate(data, reader->setup.mask_words, &event);
	reader->setup.sink.event(reader->setup.sink.self, &event);
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
 * Take the entry out, so that a program which adds to it at the same time begins
 * a new one: counted once, in this report or in the next.
 */
static bool take_suppressed(const struct event_reader *reader, __u64 cgroup, __u64 now_ns,
			    __u32 *ret_nr)
{
	struct event_budget budget;

	if (bpf_map_lookup_elem(reader->setup.budgets_fd, &cgroup, &budget) || !budget.suppressed ||
	    now_ns - budget.window_ns < 1000000000ULL ||
	    bpf_map_lookup_and_delete_elem(reader->setup.budgets_fd, &cgroup, &budget))
		return false;
	*ret_nr = budget.suppressed;
	return budget.suppressed > 0;
}

void events_sweep(struct event_reader *reader)
{
	struct timespec now;
	__u64 cgroup, next, now_ns, taken[SWEEP_MAX];
	__u32 counts[SWEEP_MAX];
	uint32_t nr = 0;
	bool first = true;

	if (clock_gettime(CLOCK_BOOTTIME, &now))
		return;
	now_ns = (__u64)now.tv_sec * 1000000000ULL + (__u64)now.tv_nsec;
	while (nr < SWEEP_MAX &&
	       !bpf_map_get_next_key(reader->setup.budgets_fd, first ? NULL : &cgroup, &next)) {
		/* a key taken out would start the walk over: step on before taking */
		if (!first && take_suppressed(reader, cgroup, now_ns, &counts[nr]))
			taken[nr++] = cgroup;
		cgroup = next;
		first = false;
	}
	if (nr < SWEEP_MAX && !first && take_suppressed(reader, cgroup, now_ns, &counts[nr]))
		taken[nr++] = cgroup;
	for (uint32_t i = 0; i < nr; i++) {
		struct event event = {
			.kind = EVENT_SUPPRESSED,
			.writer_cgroup = taken[i] & ~BUDGET_LIFE,
			.value = counts[i],
			.target_slot = SLOT_NONE,
		};
		struct kernel_event row;

		event_translate(&event, reader->setup.mask_words, &row);
		reader->setup.sink.event(reader->setup.sink.self, &row);
	}
}
