/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One event from program to agent: budget, reserve, fill in who did it, submit.
 * What does not get through is counted, once, under its reason.
 */
#ifndef EVENT_BPF_H
#define EVENT_BPF_H

#include "maps.bpf.h"

#define NS_PER_S 1000000000ULL

/* Atomic although per CPU: a program may be preempted in here by another on the same CPU. */
static __always_inline void count_event(__u32 what)
{
	__u64 *counter = bpf_map_lookup_elem(&event_counters, &what);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

/*
 * Take one event from the budget of `cgroup`. The window and its count are not updated
 * together: two CPUs at the turn of a second may let a few more through, which is harmless.
 */
static __always_inline bool take_budget(__u64 cgroup, __u64 now_ns)
{
	struct event_budget *budget = bpf_map_lookup_elem(&event_budgets, &cgroup);

	if (!budget) {
		struct event_budget first = {.window_ns = now_ns, .passed = 1};

		/* never over what another CPU has begun to count in */
		bpf_map_update_elem(&event_budgets, &cgroup, &first, BPF_NOEXIST);
		return true;
	}
	if (now_ns - budget->window_ns >= NS_PER_S) {
		budget->window_ns = now_ns;
		budget->passed = 0;
	}
	if (__sync_fetch_and_add(&budget->passed, 1) >= EVENT_BUDGET_PER_S) {
		__sync_fetch_and_add(&budget->suppressed, 1);
		return false;
	}
	return true;
}

/*
 * How many events of `cgroup` take_budget() has refused since somebody asked. Each is
 * handed out once: to the one CPU whose exchange takes the number, or to the agent, which
 * takes the entry out (user/bpf/events.c). Two that read and then subtract would both
 * hand it out and leave a number below zero.
 */
static __always_inline __u32 take_suppressed(__u64 cgroup)
{
	struct event_budget *budget = bpf_map_lookup_elem(&event_budgets, &cgroup);

	/* only who may find something writes to the shared line */
	if (!budget || !*(volatile __u32 *)&budget->suppressed)
		return 0;
	return __sync_lock_test_and_set(&budget->suppressed, 0);
}

/*
 * Reserve an event charged to the budget of cgroup `charged`, all fields zero
 * except who, when and which policy. NULL: over budget or buffer full, counted.
 * The caller submits what it gets.
 */
static __always_inline struct event *begin_event(__u32 kind, __u64 charged, __u64 writer)
{
	__u64 now_ns = bpf_ktime_get_boot_ns(), ids = bpf_get_current_pid_tgid();
	struct guard_config *config;
	struct event *event;
	__u32 zero = 0;

	if (!take_budget(charged, now_ns)) {
		count_event(EVENTS_SUPPRESSED);
		return NULL;
	}
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
	/* not before there is an event to tell it */
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
