// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Logs what the scheduler does, for tests/guest/causes_drive.c. Shares no code with the
 * observer, whose numbers are compared with the log.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "compat.bpf.h"
#include "switch_log.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SWITCH_LOG_RECORDS);
	__type(key, __u32);
	__type(value, struct switch_record);
} records SEC(".maps");

struct sched_entity___since_6_12 {
	unsigned char sched_delayed;
} __attribute__((preserve_access_index));

/* Also those that found no room. */
__u64 nr_records = 0;
__u32 is_on = 0;

static __always_inline __u8 logged_kind(struct task_struct *task)
{
	if (!(task->flags & PF_KTHREAD))
		return LOGGED_USER;
	return task->pid ? LOGGED_KERNEL : LOGGED_IDLE;
}

/*
 * Both tracepoints hold the lock of the run queue in question, so the records of one CPU
 * are in its order.
 */
static __always_inline struct switch_record *add_record(void)
{
	__u32 key;
	__u64 index;

	if (!is_on)
		return NULL;
	index = __sync_fetch_and_add(&nr_records, 1);
	if (index >= SWITCH_LOG_RECORDS)
		return NULL;
	key = index;
	return bpf_map_lookup_elem(&records, &key);
}

static __always_inline void fill_next(struct switch_record *record, struct task_struct *task)
{
	struct cfs_rq *queue = task->se.cfs_rq;

	record->next = task->pid;
	record->next_kind = logged_kind(task);
	record->queued = task->sched_info.last_queued;
	record->run_delay_ns = task->sched_info.run_delay;
	if (bpf_core_field_exists(queue->throttled_clock_self_time))
		record->throttled_ns = queue->throttled_clock_self_time;
	else if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		record->throttled_ns = queue->throttled_clock_pelt_time;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(log_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct switch_record *record = add_record();

	if (!record)
		return 0;
	record->is_migration = false;
	record->cpu = prev->thread_info.cpu;
	record->clock = prev->se.cfs_rq->rq->clock;
	record->prev = prev->pid;
	record->prev_kind = logged_kind(prev);
	fill_next(record, next);
	return 0;
}

static __always_inline bool is_delayed(struct task_struct *task)
{
	struct sched_entity___since_6_12 *entity = (void *)&task->se;

	return bpf_core_field_exists(entity->sched_delayed) && BPF_CORE_READ(entity, sched_delayed);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(log_migration, struct task_struct *task, int target)
{
	struct switch_record *record;

	if (task->thread_info.cpu == (__u32)target || !is_migrating(task))
		return 0;
	record = add_record();
	if (!record)
		return 0;
	record->is_migration = true;
	record->is_delayed = is_delayed(task);
	record->cpu = task->thread_info.cpu;
	record->prev = target;
	record->clock = task->se.cfs_rq->rq->clock;
	fill_next(record, task);
	return 0;
}
