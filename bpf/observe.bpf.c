// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts, per container and CPU, the time its tasks ran, waited and were sent
 * from CPU to CPU. Changes nothing.
 *
 * Every context switch of the machine passes here, so the rules are: leave at
 * once between two tasks of the host; the run queue's own clock instead of
 * reading one; no hook on wakeups, because the scheduler already keeps since
 * when a task waits; one writer per counter, so no atomics; a task's slot is
 * found again in a few words per CPU. docs/performance.md has what it costs.
 *
 * Known limits. A wait is counted when it ends, on the CPU where it ends. A
 * task that was already running when its cgroup got a slot, or another mask,
 * counts by it from its next switch on. Time taken by interrupts counts as the
 * running task's.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <arch.h>
#include <pinfold/abi.h>

#include "compat.bpf.h"
#include "managed.bpf.h"
#include "slots.bpf.h"
#include "turn.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Sizes; the maps below get theirs from the same numbers before load. */
const volatile __u32 nr_cpus = 1;
const volatile __u32 task_mask = 0; /* entries of observe_tasks - 1, a power of two - 1 */

/*
 * Two maps of one entry each, which the programs address as memory: everything else waits
 * for the CPU's record, and a lookup would take longer than what is done with it. The
 * agent makes both and gives them to libbpf in the place of its own, `cpus` with as many
 * records as there are CPUs (user/bpf/observe.c), so each has a section to itself.
 */
struct observe_cpu cpus[ABI_CPUS_MAX];
struct observe_control control SEC(".data");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_counter);
} observe_counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_place);
} observe_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_slot);
} observe_slots SEC(".maps");

/*
 * What the scheduler's own running totals were when a task last got a CPU.
 * An array indexed by pid rather than task storage: no allocation under the run
 * queue lock and a third of the cost. Two live tasks that share an entry only
 * lose precision (see account_wait), and each such loss is counted. The size is
 * a power of two, so that no record lies across two cache lines.
 */
struct task_record {
	__u32 pid;
	__u32 cpu;
	__u64 run_delay_ns; /* including the wait that ended then */
	__u64 throttled_ns; /* of its queue on that CPU */
	__u64 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_record);
} observe_tasks SEC(".maps");

#define CALIBRATE_NS 1000000000ULL

/*
 * clang moves the arithmetic on the address to before the comparison, where the verifier
 * does not know the bound yet; it cannot move it across the asm.
 */
static __always_inline struct observe_cpu *record_of(__u32 cpu)
{
	__u64 index = cpu;

	if (index >= nr_cpus)
		return NULL;
	__asm__ volatile("" : "+r"(index));
	return &cpus[index];
}

static __always_inline struct observe_counter *counter_of(__u32 slot, __u32 cpu)
{
	__u32 key = slot * nr_cpus + cpu;

	return bpf_map_lookup_elem(&observe_counters, &key);
}

/*
 * The slot of the cgroup's ancestor at `level`, which may be itself.
 *
 * A global function, here and below, is verified once by itself, not again on every
 * path of every caller: with the loop's body in line the verifier would take 48,000
 * instructions, a second under emulation. Such functions take numbers and pointers to
 * plain memory only, hence the address.
 */
__noinline __u32 slot_at(__u64 cgroup, __u32 level)
{
	struct cgroup *ancestor = ancestor_of((struct cgroup *)cgroup, level);
	__u64 id = BPF_CORE_READ(ancestor, kn, id);
	struct managed *entry = bpf_map_lookup_elem(&managed, &id);

	/* an inode number used again at another depth is another cgroup */
	if (!entry || entry->slot == SLOT_NONE || entry->level != level)
		return SLOT_HOST;
	return entry->slot;
}

/* The slot of the nearest cgroup at a level where containers are; theirs inherit it. */
static __always_inline __u32 find_slot(__u64 cgroup)
{
	__u32 levels = control.levels;
	__u32 depth = BPF_CORE_READ((struct cgroup *)cgroup, level);
	__u32 nearest = SLOT_HOST;

	/* from the root down: upwards the verifier takes four times as long */
	for (__u32 level = 1; level < MANAGED_LEVELS_MAX && level <= depth; level++) {
		if (levels & (1U << level)) {
			__u32 slot = slot_at(cgroup, level);

			nearest = slot != SLOT_HOST ? slot : nearest;
		}
	}
	return nearest;
}

static __always_inline bool is_outside(__u32 slot, __u32 cpu)
{
	__u32 key = slot * mask_words + (cpu >> 6);
	__u64 *word = bpf_map_lookup_elem(&slot_masks, &key);

	return word && !(*word >> (cpu & 63) & 1);
}

__noinline __u32 look_up(__u64 cgroup, __u32 cpu)
{
	__u32 slot = find_slot(cgroup);

	return slot != SLOT_HOST && is_outside(slot, cpu) ? slot | SLOT_OUTSIDE : slot;
}

/*
 * Zeroes answer for the root cgroup only, whose serial number is 0, and rightly: it has no
 * slot. Masks and slots are written before the generation, so they are read after it.
 */
__noinline int forget_lookups(__u32 cpu, __u32 generation)
{
	struct observe_cpu *here = record_of(cpu);

	if (!here)
		return 0;
	for (int i = 0; i < OBSERVE_LOOKUPS; i++)
		here->lookups[i] = (struct observe_lookup){0};
	here->generation = generation;
	arch_order_loads(&here->sequence);
	return 0;
}

/* The slot of a task, with SLOT_OUTSIDE by the mask of the CPU that asks. */
static __always_inline __u32 slot_of(struct observe_cpu *here, __u32 cpu, struct task_struct *task)
{
	struct cgroup *cgroup = task->cgroups->dfl_cgrp;
	__u64 serial = cgroup->self.serial_nr;
	struct observe_lookup *lookup = &here->lookups[serial & (OBSERVE_LOOKUPS - 1)];
	__u32 generation = *(volatile __u32 *)&control.generation;
	__u64 address;

	if (here->generation != generation)
		forget_lookups(cpu, generation);
	if (lookup->serial == serial)
		return lookup->slot;
	bpf_probe_read_kernel(&address, sizeof(address), &task->cgroups->dfl_cgrp);
	lookup->slot = look_up(address, cpu);
	lookup->serial = serial;
	return lookup->slot;
}

/*
 * How long this task's queue has been throttled, by its own cgroup's quota or
 * one above. Before 6.6 the kernel keeps it only on the load-tracking clock,
 * which runs slower than time while a CPU runs below its full speed.
 */
static __always_inline __u64 throttled_total(struct cfs_rq *queue)
{
	if (bpf_core_field_exists(queue->throttled_clock_self_time))
		return queue->throttled_clock_self_time;
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return queue->throttled_clock_pelt_time;
	return 0;
}

/*
 * The wait that ends now: since last_queued, which is still set when the switch
 * is traced. A task pulled to another CPU while queued has had its wait so far
 * folded into run_delay, before the migration is traced; the growth of run_delay
 * since we last saw the task gives that part back, exactly.
 *
 * Throttled time that fell between two arrivals on one CPU is the quota's share.
 * A task that slept through a throttling and then waited for another reason is
 * charged to the quota, up to that wait; one that waited on a CPU it had not
 * been on before is not charged.
 */
static __always_inline void account_wait(struct observe_cpu *here, struct observe_counter *counter,
					 struct task_struct *task, __u32 cpu, __u64 clock)
{
	__u64 queued = task->sched_info.last_queued;
	__u64 delay = task->sched_info.run_delay;
	__u64 wait = queued && clock > queued ? clock - queued : 0;
	__u64 throttled = throttled_total(task->se.cfs_rq);
	__u32 pid = task->pid;
	__u32 key = pid & task_mask;
	struct task_record *record = bpf_map_lookup_elem(&observe_tasks, &key);

	if (!record)
		return;
	if (record->pid == pid) {
		__u64 arrived = task->sched_info.last_arrival;
		__u64 folded = delay - record->run_delay_ns;

		/* A pid used again, or a torn entry: no task waits longer than it was away. */
		if (arrived && (__s64)folded > 0 && (__s64)folded <= (__s64)(clock - arrived))
			wait += folded;
		if (record->cpu == cpu && (__s64)(throttled - record->throttled_ns) > 0) {
			__u64 quota = throttled - record->throttled_ns;

			counter->wait_quota_ns += quota < wait ? quota : wait;
		}
	} else {
		here->forgotten += record->pid != 0;
		record->pid = pid;
	}
	counter->wait_ns += wait;
	record->cpu = cpu;
	record->run_delay_ns = delay + (queued && clock > queued ? clock - queued : 0);
	record->throttled_ns = throttled;
}

static __always_inline void close_interval(struct observe_counter *counter, __u32 slot, __u64 ran)
{
	if ((__s64)ran < 0)
		return;
	counter->run_ns += ran;
	if (slot & SLOT_OUTSIDE)
		counter->outside_ns += ran;
}

/* Two tasks of one container, which is most switches of a busy one, find its counter once. */
static __always_inline void count_switch(struct observe_cpu *here, __u32 slot,
					 struct task_struct *next, __u32 cpu, __u64 clock)
{
	struct observe_counter *counter = NULL;
	__u32 left = here->slot;

	if (left != SLOT_HOST) {
		counter = counter_of(left & ~SLOT_OUTSIDE, cpu);
		if (counter)
			close_interval(counter, left, clock - here->start_clock);
	}
	here->slot = slot;
	here->start_clock = clock;
	if (slot == SLOT_HOST)
		return;
	if ((slot ^ left) & ~SLOT_OUTSIDE)
		counter = counter_of(slot & ~SLOT_OUTSIDE, cpu);
	if (!counter)
		return;
	counter->switches++;
	account_wait(here, counter, next, cpu, clock);
}

static __always_inline void pair_clocks(struct observe_cpu *here, __u64 clock)
{
	if (clock - here->clock > CALIBRATE_NS) {
		here->clock = clock;
		here->monotonic_ns = bpf_ktime_get_ns();
	}
}

/*
 * Hook: every context switch, under the run queue lock with interrupts off, on
 * the CPU that switches; not sleepable. Reads prev, next and the run queue;
 * writes this CPU's record and counters. Changes nothing, so there is no
 * failing open or closed: what cannot be counted is left out.
 *
 * No interval of the host is counted, so between two of its tasks nothing is to be
 * written but the clocks. They are paired in front of kernel threads only, the idle task
 * among them: one runs on some CPU every few seconds at least.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(observe_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = prev->thread_info.cpu;
	struct observe_cpu *here = record_of(cpu);
	__u32 slot = SLOT_HOST;
	bool is_kernel = next->flags & PF_KTHREAD;
	__u64 clock;

	if (!here)
		return 0;
	/* the idle task is in the root cgroup; it is asked for most often */
	if (!is_kernel || next->pid)
		slot = slot_of(here, cpu, next);
	if (here->slot == SLOT_HOST && slot == SLOT_HOST && !is_kernel)
		return 0;
	if (!has_turn(cpu))
		return 0;
	/* updated by the scheduler just before this; prev's queue is always this CPU's */
	clock = prev->se.cfs_rq->rq->clock;
	/* odd while the record changes: take_sample() in user/bpf/observe_read.c reads it again */
	arch_bump_ordered(&here->sequence);
	count_switch(here, slot, next, cpu, clock);
	pair_clocks(here, clock);
	arch_bump_ordered(&here->sequence);
	return 0;
}

/*
 * Hook: a task is given to another CPU, waking or queued; interrupts off, on
 * any CPU, the task's own record still says where it comes from. Reads the
 * places of both CPUs; writes the migrations of the CPU it runs on, which nobody
 * else writes.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(observe_migrate, struct task_struct *task, int target)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 to_cpu = target, from_cpu = task->thread_info.cpu;
	struct observe_cpu *here = record_of(cpu);
	struct observe_place *from, *to;
	struct observe_counter *counter;
	__u32 slot;

	if (!here || !has_turn(cpu))
		return 0;
	slot = slot_of(here, cpu, task) & ~SLOT_OUTSIDE;
	if (slot == SLOT_HOST || from_cpu == to_cpu)
		return 0;
	from = bpf_map_lookup_elem(&observe_places, &from_cpu);
	to = bpf_map_lookup_elem(&observe_places, &to_cpu);
	counter = counter_of(slot, cpu);
	if (!from || !to || !counter)
		return 0;
	if (from->node != to->node)
		counter->migrations_numa++;
	else if (from->llc != to->llc)
		counter->migrations_llc++;
	else
		counter->migrations_core++;
	return 0;
}
