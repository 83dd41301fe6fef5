// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts, per container and CPU, the time its tasks ran, waited and were sent
 * from CPU to CPU, and who had the CPU that they waited for. Changes nothing.
 *
 * Every context switch of the machine passes here, so the rules are: leave at
 * once between two tasks of the host; the run queue's own clock instead of
 * reading one; no hook on wakeups, because the scheduler already keeps since
 * when a task waits; only the holder of a CPU's run queue lock writes its
 * counters, so no atomics; a task's slot is found again in a few words per CPU.
 * docs/performance.md has what it costs.
 *
 * A wait is counted by cause when it ends, or when the task is given to another CPU while
 * it waits, on the CPU where it waited. By length it is counted once, when it ends.
 * docs/architecture.md has how its causes are found.
 *
 * Known limits. A task that was already running when its cgroup got a slot, or another mask,
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

#include "observe_maps.bpf.h"
#include "observe_lookup.bpf.h"
#include "observe_latency.bpf.h"
#include "observe_causes.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CALIBRATE_NS 1000000000ULL

/* For how long running time may be left uncounted while one container has the CPU. */
#define UNCOUNTED_NS 1000000ULL

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

/* What a task of no container is to those that wait for its CPU. */
static __always_inline __u32 kind_of(__u32 flags, __u32 pid)
{
	if (!(flags & PF_KTHREAD))
		return WAIT_HOST;
	return pid ? WAIT_KERNEL : WAIT_IDLE;
}

/* --- intervals of a CPU ---------------------------------------------------------------------- */

/* Count the time until now for the task that has the CPU; `kind` is its, if of no container. */
static __always_inline void add_run_time(struct observe_cpu *here, struct observe_counter *counter,
					 __u32 cpu, __u32 kind, __u64 clock)
{
	__u64 ran = clock - here->start_clock;

	if ((__s64)ran < 0)
		return;
	here->start_clock = clock;
	if (here->slot == SLOT_HOST) {
		if (kind == WAIT_HOST)
			here->host_ns += ran;
		else if (kind == WAIT_KERNEL)
			here->kernel_ns += ran;
		return;
	}
	here->pods_ns += ran;
	if (counter) {
		__u64 *total = pod_total(here->pod, cpu);

		counter->run_ns += ran;
		if (here->slot & SLOT_OUTSIDE)
			counter->outside_ns += ran;
		if (total)
			*total += ran;
	}
}

/* A task of a container leaves the CPU and waits from now on. */
static __always_inline void take_snapshot(struct observe_cpu *here,
					  const struct observe_counter *counter,
					  struct task_struct *task, __u32 cpu, __u64 clock)
{
	__u32 pid = task->pid;
	struct task_record *record = record_of_task(pid);
	__u64 *total = pod_total(here->pod, cpu);

	if (!record || !total || record->pid != pid)
		return;
	record->cpu = cpu;
	record->slot = here->slot;
	record->left_clock = clock;
	record->own_ns = counter->run_ns;
	record->pod_ns = *total;
	record->pods_ns = here->pods_ns;
	record->host_units = units(here->host_ns);
	record->kernel_units = units(here->kernel_ns);
}

/*
 * The wait that ends now: since last_queued, which is still set when the switch is traced.
 * What a migration folded into run_delay, account_moved() has counted already.
 * Anything else that was folded is the beginning of this wait.
 */
static __always_inline void account_wait(struct observe_cpu *here, struct observe_counter *counter,
					 struct task_struct *task, struct task_wait *waiting,
					 __u32 open)
{
	__u64 queued = task->sched_info.last_queued;
	__u64 delay = task->sched_info.run_delay;
	__u64 throttled = throttled_total(task->se.cfs_rq);
	__u64 clock = waiting->until;
	__u32 pid = task->pid;
	struct task_record *record = record_of_task(pid);
	bool has_waited = queued && clock > queued;
	__u64 before = 0; /* the part of this wait that is counted by cause already */

	if (!record)
		return;
	if (record->pid == pid) {
		__u64 arrived = task->sched_info.last_arrival;
		__u64 folded = delay - record->run_delay_ns;

		if (record->cpu == NO_CPU)
			before = record->moved_ns;
		/* A pid used again, or a torn entry: no task waits longer than it was away. */
		if (!arrived || (__s64)folded <= 0 || (__s64)folded > (__s64)(clock - arrived))
			folded = 0;
		/* taken off its queue and put back there: one wait */
		if (folded && has_waited && record->cpu == waiting->cpu) {
			queued -= folded;
		} else {
			counter->wait_ns[WAIT_UNATTRIBUTED] += folded;
			before += folded;
		}
	} else {
		here->forgotten += record->pid != 0;
		record->pid = pid;
		record->cpu = NO_CPU;
		record->moved_ns = 0;
	}
	/* since 0 nobody waits: the task had been preempted on its way to sleep */
	if (queued || before)
		count_latency(counter, before + (has_waited ? clock - queued : 0));
	if (has_waited) {
		delay += clock - task->sched_info.last_queued;
		waiting->from = queued;
		explain(here, counter, record, waiting, open, throttled);
	}
	if (record->cpu == NO_CPU)
		record->left_clock = 0;
	record->cpu = waiting->cpu;
	record->run_delay_ns = delay;
	record->throttled_ns = throttled;
}

/* The next task gets the CPU: from here on another interval, unless it is of the same kind. */
static __always_inline void begin_interval(struct observe_cpu *here, __u32 left_kind,
					   const struct observe_lookup *next, __u32 next_kind,
					   __u64 clock)
{
	__u32 left = here->slot & ~SLOT_OUTSIDE;

	if (left != (next->slot & ~SLOT_OUTSIDE) || left_kind != next_kind) {
		struct observe_interval *interval =
			&here->intervals[here->next_interval & (OBSERVE_INTERVALS - 1)];

		interval->start_clock = here->since_clock;
		interval->slot = left;
		interval->pod = here->pod;
		interval->kind = left_kind;
		here->next_interval++;
		here->since_clock = clock;
	}
	here->slot = next->slot;
	here->pod = next->pod;
	here->start_clock = clock;
}

/* Two tasks of one container, which is most switches of a busy one, find its counter once. */
static __always_inline void count_switch(struct observe_cpu *here, __u32 cpu,
					 struct task_struct *prev, struct task_struct *next,
					 const struct observe_lookup *found, __u32 next_kind,
					 __u64 clock)
{
	struct observe_counter *counter = NULL;
	__u32 left = here->slot & ~SLOT_OUTSIDE, slot = found->slot & ~SLOT_OUTSIDE;
	__u32 kind = left != SLOT_HOST ? WAIT_OTHER_POD : kind_of(prev->flags, prev->pid);

	if (left != SLOT_HOST)
		counter = counter_of(left, cpu);
	add_run_time(here, counter, cpu, kind, clock);
	/* the condition by which the kernel, too, lets a wait begin */
	if (counter && prev->__state == 0) {
		counter->preemptions++;
		take_snapshot(here, counter, prev, cpu, clock);
	}
	if (slot != SLOT_HOST) {
		struct task_wait waiting = {
			.cpu = cpu, .slot = slot, .pod = found->pod, .until = clock};

		next_kind = WAIT_OTHER_POD;
		if (slot != left)
			counter = counter_of(slot, cpu);
		if (counter) {
			counter->switches++;
			account_wait(here, counter, next, &waiting,
				     class_of(&waiting, kind, here->pod, left));
		}
	}
	begin_interval(here, kind, found, next_kind, clock);
}

/* Updated by the scheduler just before a switch; prev's queue is always this CPU's. */
static __always_inline __u64 clock_of(struct task_struct *prev)
{
	return prev->se.cfs_rq->rq->clock;
}

static __always_inline void pair_clocks(struct observe_cpu *here, __u64 clock)
{
	if (clock - here->clock > CALIBRATE_NS) {
		here->clock = clock;
		here->monotonic_ns = bpf_ktime_get_ns();
	}
}

/* Where nothing else is to be written. */
static __always_inline void pair_clocks_alone(struct observe_cpu *here, __u32 cpu, __u64 clock)
{
	if (clock - here->clock <= CALIBRATE_NS || !has_turn(cpu))
		return;
	arch_bump_ordered(&here->sequence);
	pair_clocks(here, clock);
	arch_bump_ordered(&here->sequence);
}

/*
 * The usual switch of a busy container, which costs half of what count_switch() does: a task goes
 * to sleep, and another one of the container gets the CPU that it has waited for on this CPU,
 * where nobody but the container ran meanwhile. The running time of both is one interval, so it
 * is added when the interval ends; readers add an open one themselves.
 *
 * False, and nothing is written: any of this is not so.
 */
static __always_inline bool count_usual(struct observe_cpu *here, __u32 cpu,
					struct task_struct *prev, struct task_struct *next,
					const struct observe_lookup *found, __u64 clock)
{
	const __u64 queued = next->sched_info.last_queued;
	const __u64 waited = clock - queued;
	__u32 pid = next->pid;
	struct observe_counter *counter;
	struct task_record *record;
	__u64 delay;

	/* a task that is still runnable leaves a snapshot of the totals, so they must be whole */
	if (unlikely(found->slot != here->slot || found->pod != here->pod ||
		     found->slot == SLOT_HOST || !prev->__state))
		return false;
	if (unlikely(queued < here->since_clock || (__s64)waited <= 0 ||
		     clock - here->start_clock > UNCOUNTED_NS))
		return false;
	record = record_of_task(pid);
	if (unlikely(!record || record->pid != pid || record->cpu != cpu))
		return false;
	delay = next->sched_info.run_delay;
	if (unlikely(record->run_delay_ns != delay ||
		     record->throttled_ns != throttled_total(next->se.cfs_rq)))
		return false;
	counter = counter_of(found->slot & ~SLOT_OUTSIDE, cpu);
	if (unlikely(!counter))
		return false;
	arch_bump_ordered(&here->sequence);
	counter->switches++;
	counter->wait_ns[WAIT_OWN_CONTAINER] += waited;
	count_latency(counter, waited);
	record->run_delay_ns = delay + waited;
	arch_bump_ordered(&here->sequence);
	return true;
}

/*
 * Between two tasks of the host. While nobody waits, which the run queue's numbers of tasks
 * tell, no wait can span this instant, so who ran before is never asked for. Until 6.11 nr_running
 * leaves out real-time tasks while they are throttled, which wait nevertheless.
 */
static __always_inline bool is_left_out(struct task_struct *prev, struct task_struct *next,
					__u32 next_kind)
{
	struct rq *rq = prev->se.cfs_rq->rq;

	if (kind_of(prev->flags, prev->pid) == next_kind)
		return true;
	return rq->nr_running <= (next->pid != 0) && !rq->rt.rt_nr_running;
}

/*
 * Hook: every context switch, under the run queue lock with interrupts off, on
 * the CPU that switches; not sleepable. Reads prev, next and the run queue;
 * writes this CPU's record and counters. Changes nothing, so there is no
 * failing open or closed: what cannot be counted is left out.
 *
 * Between two tasks of the host nothing is to be written while nobody waits but the clocks.
 * They are paired in front of kernel threads only, the idle task among them: one runs on
 * some CPU every few seconds at least.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(observe_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = prev->thread_info.cpu;
	struct observe_cpu *here = record_of(cpu);
	const struct observe_lookup *found = &found_nothing;
	__u32 next_kind = kind_of(next->flags, next->pid);
	__u64 clock;

	if (unlikely(!here))
		return 0;
	/* the idle task is in the root cgroup; it is asked for most often */
	if (next_kind != WAIT_IDLE)
		found = slot_of(here, cpu, next);
	if (!(here->slot | found->slot) && is_left_out(prev, next, next_kind)) {
		if (next_kind != WAIT_HOST)
			pair_clocks_alone(here, cpu, clock_of(prev));
		return 0;
	}
	if (unlikely(!has_turn(cpu)))
		return 0;
	clock = clock_of(prev);
	if (likely(count_usual(here, cpu, prev, next, found, clock)))
		return 0;
	/* odd while the record changes: take_sample() in user/bpf/observe_read.c reads it again */
	arch_bump_ordered(&here->sequence);
	count_switch(here, cpu, prev, next, found, next_kind, clock);
	pair_clocks(here, clock);
	arch_bump_ordered(&here->sequence);
	return 0;
}

/*
 * What a task waited on the CPU that it is taken from. The kernel has just folded it into
 * run_delay. The lock of that CPU's run queue is held, and everybody who writes its record or
 * its counters of waiting holds it.
 */
static __always_inline void account_moved(struct task_struct *task, __u32 from_cpu,
					  const struct observe_lookup *found)
{
	struct rq *rq = task->se.cfs_rq->rq;
	struct task_struct *running = BPF_CORE_READ(task, se.cfs_rq, rq, curr);
	__u64 clock = rq->clock, delay = task->sched_info.run_delay, part = delay;
	__u32 kind = kind_of(BPF_CORE_READ(running, flags), BPF_CORE_READ(running, pid));
	struct task_wait waiting = {.cpu = from_cpu,
				    .slot = found->slot & ~SLOT_OUTSIDE,
				    .pod = found->pod,
				    .until = clock};
	struct observe_cpu *there = record_of(from_cpu);
	struct observe_counter *counter = counter_of(waiting.slot, from_cpu), *running_counter;
	__u32 pid = task->pid;
	struct task_record *record = record_of_task(pid);
	__u32 running_slot;

	if (!there || !counter || !record || !has_turn(from_cpu))
		return;
	if (record->pid == pid) {
		__u64 arrived = task->sched_info.last_arrival;

		part -= record->run_delay_ns;
		if (arrived && (__s64)part > (__s64)(clock - arrived))
			part = 0;
	} else {
		/* what part of it is new is known only of a task that never ran */
		if (task->sched_info.last_arrival)
			return;
		there->forgotten += record->pid != 0;
		record->pid = pid;
		record->cpu = NO_CPU;
		record->moved_ns = 0;
	}
	arch_bump_ordered(&there->sequence);
	running_slot = there->slot & ~SLOT_OUTSIDE;
	running_counter = NULL;
	if (running_slot != SLOT_HOST) {
		kind = WAIT_OTHER_POD;
		running_counter = counter_of(running_slot, from_cpu);
	}
	add_run_time(there, running_counter, from_cpu, kind, clock);
	if ((__s64)part <= 0 || part >= clock)
		part = 0;
	if (part) {
		waiting.from = clock - part;
		explain(there, counter, record, &waiting,
			class_of(&waiting, kind, there->pod, running_slot),
			throttled_total(task->se.cfs_rq));
	}
	/* of the throttling of its next queue only what follows its next arrival is known */
	record->moved_ns = part + (record->cpu == NO_CPU ? record->moved_ns : 0);
	record->cpu = NO_CPU;
	record->run_delay_ns = delay;
	arch_bump_ordered(&there->sequence);
}

/*
 * Hook: a task is given to another CPU, waking or queued; interrupts off, on
 * any CPU, the task's own record still says where it comes from. Reads the
 * places of both CPUs; writes the migrations of the CPU it runs on, which nobody
 * else writes, and if the task waited, the waits of the CPU it comes from.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(observe_migrate, struct task_struct *task, int target)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 to_cpu = target, from_cpu = task->thread_info.cpu;
	struct observe_cpu *here = record_of(cpu);
	const struct observe_lookup *found;
	struct observe_place *from, *to;
	struct observe_counter *counter;
	__u32 slot;

	if (!here || from_cpu == to_cpu)
		return 0;
	found = slot_of(here, cpu, task);
	slot = found->slot & ~SLOT_OUTSIDE;
	if (slot == SLOT_HOST)
		return 0;
	if (is_migrating(task))
		account_moved(task, from_cpu, found);
	if (!has_turn(cpu))
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
	else if (from->core != to->core)
		counter->migrations_core++;
	else
		counter->migrations_thread++;
	return 0;
}
