/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the first half of an operation tells the second one. A part of watch.bpf.c. */
#ifndef WATCH_SUBJECT_BPF_H
#define WATCH_SUBJECT_BPF_H

#include "event.bpf.h"

/*
 * State that the first half of an operation passes to the second half in the same thread: from
 * fentry of cgroup_attach_task to its fexit, and from fentry of security_task_setscheduler to
 * the fexit of sched_setaffinity. The reader zeroes `pid`, so that a leftover of an incomplete
 * operation is not used.
 */
struct event_subject {
	__u64 cgroup, tree, border;
	__u32 slot;
	__u32 pid; /* 0 = empty */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct event_subject);
} subjects SEC(".maps");

/* NULL: there is no memory, so nobody will report the operation, which is counted. */
static __always_inline struct event_subject *make_subject(void)
{
	struct event_subject *subject = bpf_task_storage_get(&subjects, bpf_get_current_task_btf(),
							     NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!subject)
		count_event(EVENTS_NO_SUBJECT);
	return subject;
}

#endif
