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
 * What runs on another thread of an exclusive CPU's core takes no time from the owner but slows it
 * down. It is counted apart, by that thread, while both have their CPUs; interrupts are in both.
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
#include "noise_tell.bpf.h"

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
 * Indexed by CPU * `nr_siblings` and up: of a CPU that shares its core with exclusive CPUs of others,
 * a record for each of these.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, struct noise_cpu);
} noise_siblings SEC(".maps");

/* Other threads of a core, at most. */
const volatile __u32 nr_siblings = 0;

/* What identifies an entry of a table. */
struct identity {
	__u64 id;
	__u64 name[2];
	__u32 source, table;
};

static __always_inline struct noise_cpu *this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&noise_cpus, &cpu);
}

/* The agent may change it at any time; 0 = there is no owner. */
static __always_inline __u32 epoch_of_owner(const struct noise_cpu *here)
{
	return *(volatile __u32 *)&here->owner.epoch;
}

static __always_inline struct noise_cpu *exclusive_cpu(void)
{
	struct noise_cpu *here = this_cpu();

	return here && epoch_of_owner(here) ? here : NULL;
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
 *
 * A global function is verified once by itself. In line, the verifier would follow the loop on
 * every path of every program: 136,000 instead of 50,000 instructions in all (6.18, two threads a core).
 */
__noinline __u32 place_of(struct noise_cpu *here, struct identity *wanted)
{
	__u32 source;
	__u64 hash;

	if (!here || !wanted)
		return NOISE_OTHERS;
	source = wanted->source;
	hash = (wanted->id ^ wanted->name[0] ^ wanted->name[1]) * 0x9e3779b97f4a7c15ULL;
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
static __noinline int begin_epoch(struct noise_cpu *here, __u32 epoch)
{
	/* the owner is read after its epoch; the agent writes it before */
	arch_order_loads(&here->sequence);
	arch_bump_ordered(&here->sequence);
	here->epoch = epoch;
	here->running = NOISE_NOBODY;
	here->since_ns = 0;
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

/* --- siblings -------------------------------------------------------------------------------- */

/* Of an exclusive CPU: for those that share its core. */
static __always_inline void keep_owner_time(struct noise_cpu *here, bool runs)
{
	__u32 share = *(volatile __u32 *)&here->share;

	if (!share)
		return;
	if (here->shared != share) {
		here->owner_time = 0;
		/* whoever sees the share sees its time */
		arch_bump_ordered(&here->sequence);
		here->shared = share;
		arch_bump_ordered(&here->sequence);
	}
	if ((here->owner_time & 1) != runs)
		*(volatile __u64 *)&here->owner_time =
			noise_owner_time(here->owner_time, bpf_ktime_get_ns(), runs);
}

/*
 * change_hands() for a record of a sibling. A stay counts when it is over and the owner has run in
 * it. The other CPU may have read its clock before we did and write later, so its time may seem to
 * go back.
 */
static __noinline int change_sibling(struct noise_cpu *here, struct task_struct *task, __u32 source,
				     __u64 owner_ns)
{
	__u64 ns = owner_ns - here->since_ns;
	__u32 place = NOISE_NOBODY;

	if ((__s64)ns < 0)
		ns = 0;
	if (source != NOISE_SOURCE_NR)
		place = place_of_task(here, task, source);
	arch_bump_ordered(&here->sequence);
	if (here->running != NOISE_NOBODY && ns) {
		struct noise_entry *entry = entry_at(here, here->running);

		entry->count++;
		add_time(entry, ns);
	}
	if (place != NOISE_NOBODY)
		entry_at(here, place)->pid = task->pid;
	here->since_ns += ns;
	here->running = place;
	arch_bump_ordered(&here->sequence);
	return 0;
}

/* The task has this CPU from now on, or may have changed its cgroup since it has it. */
static __noinline int see_sibling(struct noise_cpu *here, struct task_struct *task, bool is_switch)
{
	__u32 other_cpu = here->other, share = epoch_of_owner(here), source;
	struct noise_cpu *other = bpf_map_lookup_elem(&noise_cpus, &other_cpu);

	/* its owner's time begins anew when something happens there */
	if (!share || !other || *(volatile __u32 *)&other->shared != share)
		return 0;
	arch_order_loads(&here->sequence);
	if (here->epoch != share)
		begin_epoch(here, share);
	source = source_of(here, task);
	if (is_switch ? source == NOISE_SOURCE_NR && here->running == NOISE_NOBODY
		      : source == running_source(here))
		return 0;
	change_sibling(here, task, source,
		       noise_owner_ns(*(volatile __u64 *)&other->owner_time, bpf_ktime_get_ns()));
	return 0;
}

static __always_inline void see_siblings(const struct noise_cpu *here, struct task_struct *task,
					 bool is_switch)
{
	__u32 first = bpf_get_smp_processor_id() * nr_siblings;

	if (!*(volatile __u32 *)&here->has_siblings)
		return;
	for (__u32 i = 0; i < nr_siblings && i < NOISE_SIBLINGS_MAX; i++) {
		__u32 index = first + i;
		struct noise_cpu *record = bpf_map_lookup_elem(&noise_siblings, &index);

		if (record)
			see_sibling(record, task, is_switch);
	}
}

/* --- switches -------------------------------------------------------------------------------- */

static __always_inline void switch_owned(struct noise_cpu *here, struct task_struct *next)
{
	__u32 epoch = epoch_of_owner(here), source;

	if (!epoch)
		return;
	if (here->epoch != epoch)
		begin_epoch(here, epoch);
	source = source_of(here, next);
	if (source != NOISE_SOURCE_NR || here->running != NOISE_NOBODY)
		change_hands(here, next, source);
	keep_owner_time(here, source == NOISE_SOURCE_NR && next->pid);
}

/*
 * Hook: every context switch, under the run queue lock with interrupts off; not sleepable.
 * Reads the next task; writes this CPU's records. Between tasks of the owner and the idle task
 * it does not even read a clock, unless others may run on the same core.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(noise_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct noise_cpu *here = this_cpu();

	if (!here)
		return 0;
	switch_owned(here, next);
	see_siblings(here, next, true);
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
	struct noise_cpu *here = this_cpu();
	__u32 epoch, source;

	if (!here)
		return 0;
	see_siblings(here, current, false);
	epoch = epoch_of_owner(here);
	if (!epoch)
		return 0;
	if (here->epoch != epoch)
		begin_epoch(here, epoch);
	source = source_of(here, current);
	if (source != running_source(here))
		change_hands(here, current, source);
	keep_owner_time(here, source == NOISE_SOURCE_NR && current->pid);
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
