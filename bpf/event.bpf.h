/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One event from a program to the agent: check the budget, reserve, record the culprit,
 * submit. Each lost event is counted once, under its reason.
 */
#ifndef EVENT_BPF_H
#define EVENT_BPF_H

#include "maps.bpf.h"

#define NS_PER_S 1000000000ULL

/*
 * Atomic although per CPU, because a program may be preempted here by another one on the same
 * CPU.
 */
static __always_inline void count_event(__u32 what)
{
	__u64 *counter = bpf_map_lookup_elem(&event_counters, &what);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

/*
 * The window and its count are not updated together: at the turn of a second, two CPUs may let
 * a few more events through, which is harmless.
 */
static __always_inline bool take_from(struct event_budget *budget, __u64 now_ns)
{
	if (now_ns - budget->window_ns >= NS_PER_S) {
		budget->window_ns = now_ns;
		budget->passed = 0;
	}
	return __sync_fetch_and_add(&budget->passed, 1) < EVENT_BUDGET_PER_S;
}

/* Of a cgroup that has no entry and gets none, because so many others have one. */
static __always_inline bool take_shared(__u64 now_ns)
{
	__u32 zero = 0;
	struct event_budget *budget = bpf_map_lookup_elem(&shared_budget, &zero);

	if (budget && take_from(budget, now_ns))
		return true;
	count_event(EVENTS_NO_BUDGET);
	return false;
}

/* Take one event from the budget of `cgroup`. A refusal is counted. */
static __always_inline bool take_budget(__u64 cgroup, __u64 now_ns)
{
	struct event_budget *budget = bpf_map_lookup_elem(&event_budgets, &cgroup);

	if (!budget) {
		struct event_budget first = {.window_ns = now_ns, .passed = 1};

		/* BPF_NOEXIST: do not overwrite an entry that another CPU has just created */
		if (!bpf_map_update_elem(&event_budgets, &cgroup, &first, BPF_NOEXIST))
			return true;
		budget = bpf_map_lookup_elem(&event_budgets, &cgroup);
		if (!budget)
			return take_shared(now_ns);
	}
	if (take_from(budget, now_ns))
		return true;
	__sync_fetch_and_add(&budget->suppressed, 1);
	count_event(EVENTS_SUPPRESSED);
	return false;
}

/*
 * The number of events of `cgroup` that take_budget() has refused since the last call. Each is
 * reported once: to the one CPU whose atomic exchange gets the number, or to the agent, which
 * removes the entry (user/bpf/events.c). If two CPUs read and then subtracted, both would
 * report it and leave a negative number.
 */
static __always_inline __u32 take_suppressed(__u64 cgroup)
{
	struct event_budget *budget = bpf_map_lookup_elem(&event_budgets, &cgroup);

	/* write to the shared cache line only if there may be something to take */
	if (!budget || !*(volatile __u32 *)&budget->suppressed)
		return 0;
	return __sync_lock_test_and_set(&budget->suppressed, 0);
}

/*
 * Reserve an event charged to the budget of cgroup `charged`. All fields are zero except the
 * culprit, the time and the policy generation. NULL: over budget or buffer full, which is
 * counted. The caller submits the event.
 */
static __always_inline struct event *begin_event(__u32 kind, __u64 charged, __u64 writer)
{
	__u64 now_ns = bpf_ktime_get_boot_ns(), ids = bpf_get_current_pid_tgid();
	struct guard_config *config;
	struct event *event;
	__u32 zero = 0;

	if (!take_budget(charged, now_ns))
		return NULL;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count_event(EVENTS_LOST);
		return NULL;
	}
	__builtin_memset(event, 0, sizeof(*event));
	config = bpf_map_lookup_elem(&guard_config, &zero);
	event->generation = config ? config->generation : 0;
	event->time_ns = now_ns;
	event->kind = kind;
	event->hook = HOOK_NONE;
	event->writer_cgroup = writer;
	event->pid = (__u32)ids;
	event->tgid = ids >> 32;
	/* take the number only once there is an event to report it */
	event->suppressed = take_suppressed(charged);
	event->target_slot = SLOT_NONE;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	return event;
}

static __always_inline void send_event(struct event *event)
{
	bpf_ringbuf_submit(event, 0);
	count_event(EVENTS_SENT);
}

#endif
