/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who had the CPU during a wait: from running totals if the task has a snapshot of them, and
 * otherwise from the intervals of the CPU. docs/architecture.md has how the causes are found.
 */
#ifndef OBSERVE_CAUSES_BPF_H
#define OBSERVE_CAUSES_BPF_H

#include "observe_maps.bpf.h"

/* A task's wait on one CPU, or that part of it that is explained now. */
struct task_wait {
	__u32 cpu, slot, pod;
	__u64 from, until;
};

/* Branches would be mispredicted, so two comparisons are subtracted: other, sibling, own. */
static __always_inline __u32 class_of(const struct task_wait *waiting, __u32 kind, __u32 pod,
				      __u32 slot)
{
	return (kind - (pod == waiting->pod) - (slot == waiting->slot)) & (WAIT_CAUSE_NR - 1);
}

/* A way back through the intervals of a CPU: who ran from `start` to `until` is of class `open`. */
struct wait_walk {
	struct task_wait waiting;
	__u64 start, until;
	__u32 open;
};

/* Count the part in `open`, and go on to the interval that is `back` before the open one. */
static __always_inline bool walk_to(struct wait_walk *walk, struct observe_cpu *here,
				    struct observe_counter *counter, __u32 back)
{
	__u64 index = (here->next_interval - back) & (OBSERVE_INTERVALS - 1);
	struct observe_interval *interval = &here->intervals[index];
	__u64 from = walk->waiting.from;
	__u64 begin = walk->start > from ? walk->start : from;

	counter->wait_ns[walk->open & (WAIT_CAUSE_NR - 1)] += walk->until - begin;
	walk->until = begin;
	if (begin <= from)
		return false;
	walk->start = interval->start_clock;
	walk->open = class_of(&walk->waiting, interval->kind, interval->pod, interval->slot);
	return true;
}

/*
 * How many intervals are passed in line. Almost all waits end within them. The others are
 * passed by bpf_loop, which costs more for each; but the verifier does not have to follow
 * every turn, as it does for a loop.
 */
#define INTERVALS_NEAR 32

/* The context holds plain numbers, which every kernel's verifier can follow; hence the lookups. */
static long walk_far(__u32 i, void *context)
{
	struct wait_walk *walk = context;
	struct observe_cpu *here = record_of(walk->waiting.cpu);
	struct observe_counter *counter = counter_of(walk->waiting.slot, walk->waiting.cpu);

	return !here || !counter || !walk_to(walk, here, counter, INTERVALS_NEAR + 1 + i);
}

/*
 * Who ran, from the intervals of the CPU: the open one, of class `open`, then those that are
 * over, backwards. What is older than they reach is unattributed.
 */
__noinline int walk_intervals(struct task_wait *waiting, __u32 open)
{
	struct observe_counter *counter;
	struct observe_cpu *here;
	struct wait_walk walk;

	if (!waiting)
		return 0;
	here = record_of(waiting->cpu);
	counter = counter_of(waiting->slot, waiting->cpu);
	if (!here || !counter)
		return 0;
	walk = (struct wait_walk){.waiting = *waiting,
				  .start = here->since_clock,
				  .until = waiting->until,
				  .open = open};
	for (__u32 back = 1; back <= INTERVALS_NEAR; back++)
		if (!walk_to(&walk, here, counter, back))
			return 0;
	bpf_loop(OBSERVE_INTERVALS - INTERVALS_NEAR, walk_far, &walk, 0);
	counter->wait_ns[WAIT_UNATTRIBUTED] += walk.until - waiting->from;
	return 0;
}

static __always_inline __u32 units(__u64 ns)
{
	return ns >> UNIT_SHIFT;
}

/* Move up to `most` ns of what is left to a cause. */
static __always_inline __u64 take_part(struct observe_counter *counter, __u32 cause, __u64 left,
				       __u64 most)
{
	__u64 part = most < left ? most : left;

	counter->wait_ns[cause] += part;
	return left - part;
}

/*
 * Who ran, from the totals of the CPU since the task left it at left_clock. Without a quota's
 * part that is exact. With it, own run time still is, because a queue does not run while it is
 * throttled; of the others the part that ran during the throttling is not known. False: the
 * totals are not those of the snapshot (a slot given out anew, another generation of maps).
 */
static __always_inline bool explain_by_totals(struct observe_cpu *here,
					      struct observe_counter *counter,
					      struct task_record *record,
					      const struct task_wait *waiting)
{
	__u64 own = counter->run_ns - record->own_ns;
	__u64 pods = here->pods_ns - record->pods_ns;
	__u64 *total = pod_total(waiting->pod, waiting->cpu);
	__u64 left = waiting->until - waiting->from, pod;

	if (!total)
		return false;
	pod = *total - record->pod_ns;
	if (own > pod || pod > pods || pods > waiting->until - record->left_clock)
		return false;
	left = take_part(counter, WAIT_OWN_CONTAINER, left, own);
	left = take_part(counter, WAIT_POD_SIBLING, left, pod - own);
	left = take_part(counter, WAIT_OTHER_POD, left, pods - pod);
	left = take_part(counter, WAIT_HOST, left,
			 (__u64)(units(here->host_ns) - record->host_units) << UNIT_SHIFT);
	left = take_part(counter, WAIT_KERNEL, left,
			 (__u64)(units(here->kernel_ns) - record->kernel_units) << UNIT_SHIFT);
	counter->wait_ns[WAIT_IDLE] += left;
	return true;
}

/* Throttled time that fell between two arrivals on one CPU is the quota's share. */
static __always_inline __u64 quota_part(const struct task_record *record, __u32 cpu,
					__u64 throttled, __u64 wait)
{
	__u64 part = throttled - record->throttled_ns;

	if (record->cpu != cpu || (__s64)part <= 0)
		return 0;
	return part < wait ? part : wait;
}

/*
 * A wait on one CPU from `waiting->from` to `until`, while whoever has the CPU last is of
 * class `open`. The quota's part is taken to be the first of it.
 *
 * A task that slept through a throttling and then waited for another reason is charged to the
 * quota, up to that wait; one that waited on a CPU it had not been on before is not charged.
 */
static __always_inline void explain(struct observe_cpu *here, struct observe_counter *counter,
				    struct task_record *record, struct task_wait *waiting,
				    __u32 open, __u64 throttled)
{
	__u64 quota = quota_part(record, waiting->cpu, throttled, waiting->until - waiting->from);
	bool has_totals = record->left_clock == waiting->from && record->cpu == waiting->cpu &&
			  record->slot == waiting->slot;

	if (quota) {
		counter->wait_ns[WAIT_OWN_QUOTA] += quota;
		waiting->from += quota;
	}
	/* whoever had the CPU last may have had it during the throttling alone */
	if (here->since_clock <= waiting->from && !(quota && has_totals)) {
		counter->wait_ns[open & (WAIT_CAUSE_NR - 1)] += waiting->until - waiting->from;
		return;
	}
	if (!has_totals || !explain_by_totals(here, counter, record, waiting))
		walk_intervals(waiting, open);
}

#endif
