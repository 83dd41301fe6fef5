// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts who takes time on CPUs that one container has exclusively: interrupts, kernel threads
 * and tasks of others. Changes nothing.
 *
 * Being attached costs time on every CPU of the machine, so the agent attaches these programs
 * only while some CPU is exclusive. On other CPUs each program ends after one lookup.
 *
 * Time is counted once: that of a hard interrupt is subtracted from the softirq, the thread or
 * the task that it interrupts, and that of a softirq from the thread or task. The owner's tasks
 * and the idle CPU are nobody's disturbance, but an interrupt is counted whoever it interrupts,
 * even if the owner's own system call caused it.
 *
 * Not counted: other interrupt vectors (NMI, irq_work, thermal events), what firmware and
 * hypervisor take, and the time between the interrupt and the first of these programs. On
 * PREEMPT_RT a softirq may be preempted, and is charged with what preempted it.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <arch.h>
#include <pinfold/noise.h>

#include "compat.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Indexed by CPU, of all possible CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, struct noise_cpu);
} noise_cpus SEC(".maps");

/*
 * Strangers, for the agent. If the buffer is full, one is not told, and the agent's next walk over
 * all tasks finds it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16384);
} noise_strangers SEC(".maps");

/* The agent wants to be told; it sets this at any time. */
bool tells_strangers;

/* A CPU tells of one stranger in this time, so that many switches do not wake the agent as often. */
#define TELL_NS 10000000ULL

/* What identifies an entry of a table. */
struct identity {
	__u64 id;
	__u64 name[2];
	__u32 source, table;
};

static __always_inline struct noise_cpu *exclusive_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct noise_cpu *here = bpf_map_lookup_elem(&noise_cpus, &cpu);

	return here && *(volatile __u32 *)&here->owner.epoch ? here : NULL;
}

static __always_inline struct noise_entry *entry_at(struct noise_cpu *here, __u32 index)
{
	__u64 at = index;

	/* clang would leave out the mask, which is all that the verifier believes */
	barrier_var(at);
	return &here->entries[at & (NOISE_ENTRIES - 1)];
}

static __always_inline void empty_entry(struct noise_cpu *here, __u32 index, __u32 source)
{
	struct noise_entry *entry = entry_at(here, index);

	*entry = (struct noise_entry){.epoch = here->epoch, .source = source};
}

/* --- entries --------------------------------------------------------------------------------- */

static __always_inline void add_time(struct noise_entry *entry, __u64 ns)
{
	/* an interrupt that was counted in between */
	if ((__s64)ns < 0)
		ns = 0;
	entry->total_ns += ns;
	if (ns > entry->longest_ns)
		entry->longest_ns = ns;
}

/*
 * The place of an entry, which is taken if it is empty. A table that is full answers with the
 * entry of all others, so nothing is lost but their names. Interrupts are off, so no program
 * looks at half an entry.
 */
static __noinline __u32 place_of(struct noise_cpu *here, struct identity *wanted)
{
	__u64 hash = (wanted->id ^ wanted->name[0] ^ wanted->name[1]) * 0x9e3779b97f4a7c15ULL;
	__u32 source = wanted->source;

	hash >>= 32;
	for (__u32 i = 0; i < NOISE_TABLE; i++) {
		__u32 index = wanted->table + ((hash + i) & (NOISE_TABLE - 1));
		struct noise_entry *entry = entry_at(here, index);
		__u64 *name = (__u64 *)entry->name;

		if (entry->epoch != here->epoch) {
			arch_bump_ordered(&here->sequence);
			empty_entry(here, index, source);
			entry->id = wanted->id;
			name[0] = wanted->name[0];
			name[1] = wanted->name[1];
			arch_bump_ordered(&here->sequence);
			return index;
		}
		if (entry->id == wanted->id && entry->source == source &&
		    name[0] == wanted->name[0] && name[1] == wanted->name[1])
			return index;
	}
	return NOISE_OTHERS + source;
}

/* --- threads and tasks ----------------------------------------------------------------------- */

static __always_inline __u64 id_at(struct cgroup *cgroup, __u32 level)
{
	if (level > (__u32)BPF_CORE_READ(cgroup, level))
		return 0;
	return BPF_CORE_READ(ancestor_of(cgroup, level), kn, id);
}

static __always_inline __u32 source_of_cgroup(const struct noise_owner *owner,
					      struct cgroup *cgroup)
{
	if (id_at(cgroup, owner->level) == owner->cgroup_id)
		return NOISE_SOURCE_NR;
	if (id_at(cgroup, owner->pod_level) == owner->pod_cgroup_id)
		return NOISE_POD_SIBLING;
	if (id_at(cgroup, owner->root_level) == owner->root_cgroup_id)
		return NOISE_OTHER_POD;
	return NOISE_HOST_TASK;
}

/* NOISE_SOURCE_NR: it does not disturb. The last answer is kept, which is mostly the owner. */
static __always_inline __u32 source_of(struct noise_cpu *here, struct task_struct *task)
{
	struct cgroup *cgroup;
	__u64 serial;

	if (!task->pid)
		return NOISE_SOURCE_NR;
	if (task->flags & PF_KTHREAD)
		return NOISE_KTHREAD;
	serial = task->cgroups->dfl_cgrp->self.serial_nr;
	if (here->is_seen && here->seen_serial == serial)
		return here->seen_source;
	cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	here->seen_source = source_of_cgroup(&here->owner, cgroup);
	here->seen_serial = serial;
	here->is_seen = true;
	return here->seen_source;
}

static __always_inline __u32 running_source(struct noise_cpu *here)
{
	if (here->running == NOISE_NOBODY)
		return NOISE_SOURCE_NR;
	return entry_at(here, here->running)->source;
}

static __always_inline __u32 place_of_task(struct noise_cpu *here, struct task_struct *task,
					   __u32 source)
{
	struct identity identity = {.source = source, .table = NOISE_KTHREADS};

	if (source != NOISE_KTHREAD) {
		identity.table = NOISE_TASKS;
		identity.id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	}
	bpf_probe_read_kernel_str(identity.name, sizeof(identity.name), task->comm);
	return place_of(here, &identity);
}

/* A thread that the kernel binds to this CPU belongs here; tasks of pods are kept off by cpusets. */
static __always_inline void tell_stranger(struct noise_cpu *here, struct task_struct *task,
					  __u32 source, __u64 now)
{
	struct noise_stranger *stranger;

	if ((source != NOISE_HOST_TASK && source != NOISE_KTHREAD) || !tells_strangers ||
	    (task->flags & PF_NO_SETAFFINITY) || now - here->told_ns < TELL_NS)
		return;
	stranger = bpf_ringbuf_reserve(&noise_strangers, sizeof(*stranger), 0);
	if (!stranger)
		return;
	here->told_ns = now;
	stranger->time_ns = now;
	stranger->pid = task->pid;
	stranger->cpu = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(stranger, 0);
}

/*
 * From now on `task`, of this source, has the CPU. Whoever had it is charged with the time
 * since, without the interrupts in it. Interrupts are off.
 */
static __noinline int change_hands(struct noise_cpu *here, struct task_struct *task, __u32 source)
{
	__u64 now = bpf_ktime_get_ns(), taken = here->hard_ns + here->soft_ns;
	__u32 place = NOISE_NOBODY;

	if (source != NOISE_SOURCE_NR)
		place = place_of_task(here, task, source);
	arch_bump_ordered(&here->sequence);
	if (here->running != NOISE_NOBODY)
		add_time(entry_at(here, here->running),
			 now - here->since_ns - (taken - here->since_taken_ns));
	if (place != NOISE_NOBODY) {
		struct noise_entry *entry = entry_at(here, place);

		entry->count++;
		entry->pid = task->pid;
		here->since_ns = now;
		here->since_taken_ns = taken;
	}
	here->running = place;
	arch_bump_ordered(&here->sequence);
	tell_stranger(here, task, source, now);
	return 0;
}

/*
 * The CPU has a new owner: all entries of an earlier epoch count as empty. Those with a fixed
 * place are emptied here, so softirqs, which interrupts may interrupt, need not.
 */
static __noinline int begin_epoch(struct noise_cpu *here)
{
	__u32 epoch = *(volatile __u32 *)&here->owner.epoch;

	/* the owner is read after its epoch; the agent writes it before */
	arch_order_loads(&here->sequence);
	arch_bump_ordered(&here->sequence);
	here->epoch = epoch;
	here->running = NOISE_NOBODY;
	here->is_seen = false;
	here->hard_start_ns = 0;
	here->soft_start_ns = 0;
	for (__u32 i = 0; i < NOISE_SOFTIRQS; i++)
		empty_entry(here, NOISE_VECTORS + i, NOISE_SOFTIRQ);
	for (__u32 i = 0; i < NOISE_SOURCE_NR; i++) {
		empty_entry(here, NOISE_FIXED + i, i);
		empty_entry(here, NOISE_OTHERS + i, i);
	}
	arch_bump_ordered(&here->sequence);
	return 0;
}

/*
 * Hook: every context switch, under the run queue lock with interrupts off; not sleepable.
 * Reads the next task; writes this CPU's record. Between tasks of the owner and the idle task
 * it does not even read a clock.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(noise_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct noise_cpu *here = exclusive_cpu();
	__u32 source;

	if (!here)
		return 0;
	if (here->epoch != here->owner.epoch)
		begin_epoch(here);
	source = source_of(here, next);
	if (source != NOISE_SOURCE_NR || here->running != NOISE_NOBODY)
		change_hands(here, next, source);
	return 0;
}

/* --- hard interrupts ------------------------------------------------------------------------- */

/*
 * An interrupt begins; interrupts are off, and stay so until it ends. A task that had the CPU
 * before it was exclusive, or that has changed its cgroup since it got it, is noticed here:
 * alone on its CPU it may not be switched for hours.
 */
static __always_inline int enter_hard(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct noise_cpu *here = exclusive_cpu();
	__u32 source;

	if (!here)
		return 0;
	if (here->epoch != here->owner.epoch)
		begin_epoch(here);
	source = source_of(here, current);
	if (source != running_source(here))
		change_hands(here, current, source);
	here->hard_start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void leave_hard(struct noise_cpu *here, __u32 place, __u64 now)
{
	struct noise_entry *entry = entry_at(here, place);
	__u64 ns = now - here->hard_start_ns;

	here->hard_start_ns = 0;
	here->hard_ns += ns;
	entry->count++;
	add_time(entry, ns);
}

/* Began before the programs were attached, or before the CPU had this owner: not counted. */
static __always_inline bool has_begun(const struct noise_cpu *here, __u64 start_ns)
{
	return start_ns && here->epoch == here->owner.epoch;
}

static __always_inline int leave_vector(__u32 source)
{
	struct noise_cpu *here = exclusive_cpu();

	if (here && has_begun(here, here->hard_start_ns))
		leave_hard(here, NOISE_FIXED + source, bpf_ktime_get_ns());
	return 0;
}

/*
 * Hooks: the beginning and end of each handler of an interrupt line, with interrupts off; not
 * sleepable. Several handlers may share a line.
 */
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(noise_irq_entry, int irq, struct irqaction *action)
{
	return enter_hard();
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(noise_irq_exit, int irq, struct irqaction *action, int ret)
{
	struct identity identity = {.id = irq, .source = NOISE_HARDIRQ, .table = NOISE_HARDIRQS};
	struct noise_cpu *here = exclusive_cpu();
	__u64 now;

	if (!here || !has_begun(here, here->hard_start_ns))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_probe_read_kernel_str(identity.name, sizeof(identity.name),
				  BPF_CORE_READ(action, name));
	leave_hard(here, place_of(here, &identity), now);
	return 0;
}

/*
 * Hooks: the beginning and end of vectors that have no line, only on x86-64, with interrupts
 * off; not sleepable. Elsewhere they are not loaded, and what they would count is unknown.
 */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(noise_timer_entry, int vector)
{
	return enter_hard();
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(noise_timer_exit, int vector)
{
	return leave_vector(NOISE_TIMER);
}

SEC("tp_btf/reschedule_entry")
int BPF_PROG(noise_reschedule_entry, int vector)
{
	return enter_hard();
}

SEC("tp_btf/reschedule_exit")
int BPF_PROG(noise_reschedule_exit, int vector)
{
	return leave_vector(NOISE_RESCHEDULE);
}

SEC("tp_btf/call_function_entry")
int BPF_PROG(noise_call_entry, int vector)
{
	return enter_hard();
}

SEC("tp_btf/call_function_exit")
int BPF_PROG(noise_call_exit, int vector)
{
	return leave_vector(NOISE_CALL_FUNCTION);
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(noise_call_one_entry, int vector)
{
	return enter_hard();
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(noise_call_one_exit, int vector)
{
	return leave_vector(NOISE_CALL_FUNCTION);
}

/* --- softirqs -------------------------------------------------------------------------------- */

/* The time, and what hard interrupts had taken by exactly then: they may come at any point here. */
static __always_inline __u64 clock_and_taken(struct noise_cpu *here, __u64 *ret_taken_ns)
{
	volatile __u64 *hard_ns = &here->hard_ns;
	__u64 now = 0;

	for (int i = 0; i < 4; i++) {
		*ret_taken_ns = *hard_ns;
		now = bpf_ktime_get_ns();
		if (*hard_ns == *ret_taken_ns)
			break;
	}
	return now;
}

/*
 * Hooks: the beginning and end of one softirq's work, with softirqs off and interrupts on, in
 * an interrupt's tail or in ksoftirqd; not sleepable.
 */
SEC("tp_btf/softirq_entry")
int BPF_PROG(noise_softirq_entry, unsigned int vector)
{
	struct noise_cpu *here = exclusive_cpu();

	if (here && here->epoch == here->owner.epoch)
		here->soft_start_ns = clock_and_taken(here, &here->soft_taken_ns);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(noise_softirq_exit, unsigned int vector)
{
	struct noise_cpu *here = exclusive_cpu();
	struct noise_entry *entry;
	__u64 taken, now, ns;

	if (!here || vector >= NOISE_SOFTIRQS || !has_begun(here, here->soft_start_ns))
		return 0;
	now = clock_and_taken(here, &taken);
	ns = now - here->soft_start_ns - (taken - here->soft_taken_ns);
	here->soft_start_ns = 0;
	/* four interrupts in a row, each between the two reads */
	if ((__s64)ns < 0)
		ns = 0;
	here->soft_ns += ns;
	entry = entry_at(here, NOISE_VECTORS + vector);
	entry->count++;
	add_time(entry, ns);
	return 0;
}
