// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts, per container and CPU, the time its tasks ran, waited and were sent
 * from CPU to CPU, and who had the CPU that they waited for. Changes nothing.
 *
 * Every context switch of the machine passes here, so the rules are: leave at
 * once between two tasks of the host; the run queue's own clock instead of
 * reading one; no hook on wakeups, because the scheduler already keeps since
 * when a task waits; only the holder of a CPU's run queue lock writes its
 * counters, so no atomics; a task's slot is found again in a few words per CPU. docs/performance.md has what it costs.
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

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} observe_pods SEC(".maps");

/*
 * What the scheduler's own running totals were when a task last got a CPU; and, if it left
 * the CPU runnable, what had run there by then, so that who ran during its wait is a
 * difference, however long the wait is.
 *
 * An array indexed by pid rather than task storage: no allocation under the run
 * queue lock and a third of the cost. Two live tasks that share an entry only
 * lose precision, and each such loss is counted. One record is one cache line.
 */
struct task_record {
	__u32 pid;
	__u16 cpu;	    /* where it last got a CPU, or NO_CPU */
	__u16 slot;	    /* of the snapshot, as is everything below throttled_ns */
	__u64 run_delay_ns; /* including the wait that ended then */
	__u64 throttled_ns; /* of its queue on that CPU */
	union {
		__u64 left_clock; /* when it left the CPU: the beginning of its wait */
		__u64 moved_ns;	  /* with NO_CPU: what it has waited on other CPUs since it ran */
	};
	__u64 own_ns, pod_ns, pods_ns; /* that its slot, its pod, all pods had run on that CPU */
	__u32 host_units, kernel_units;
};
_Static_assert(sizeof(struct task_record) == 64, "one cache line");
_Static_assert(ABI_CPUS_MAX < 0xffff, "a CPU is a u16 in task_record");

#define NO_CPU 0xffff

/* Units of 1.024 us: a u32 of them wraps after 73 minutes, and no wait is that long. */
#define UNIT_SHIFT 10

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_record);
} observe_tasks SEC(".maps");

/* What is found for the idle task without looking. */
const struct observe_lookup found_nothing = {.slot = SLOT_HOST};

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

/* The slot, with SLOT_OUTSIDE, in the lower half; its pod in the upper one. */
__noinline __u64 look_up(__u64 cgroup, __u32 cpu)
{
	__u32 slot = find_slot(cgroup);
	__u64 found = slot;
	struct observe_slot *entry;

	if (slot == SLOT_HOST)
		return SLOT_HOST;
	if (is_outside(slot, cpu))
		found |= SLOT_OUTSIDE;
	entry = bpf_map_lookup_elem(&observe_slots, &slot);
	return entry ? found | (__u64)entry->pod << 32 : found;
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

/* The slot of a task, with SLOT_OUTSIDE by the mask of the CPU that asks, and its pod. */
static __always_inline struct observe_lookup *slot_of(struct observe_cpu *here, __u32 cpu,
						      struct task_struct *task)
{
	struct cgroup *cgroup = task->cgroups->dfl_cgrp;
	__u64 serial = cgroup->self.serial_nr;
	struct observe_lookup *lookup = &here->lookups[serial & (OBSERVE_LOOKUPS - 1)];
	__u32 generation = *(volatile __u32 *)&control.generation;
	__u64 address, found;

	if (here->generation != generation)
		forget_lookups(cpu, generation);
	if (lookup->serial == serial)
		return lookup;
	bpf_probe_read_kernel(&address, sizeof(address), &task->cgroups->dfl_cgrp);
	found = look_up(address, cpu);
	lookup->slot = found;
	lookup->pod = found >> 32;
	lookup->serial = serial;
	return lookup;
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

/* What a task of no container is to those that wait for its CPU. */
static __always_inline __u32 kind_of(__u32 flags, __u32 pid)
{
	if (!(flags & PF_KTHREAD))
		return WAIT_HOST;
	return pid ? WAIT_KERNEL : WAIT_IDLE;
}

/* --- lengths of waits ------------------------------------------------------------------------ */

/* How many bits a byte has below and with its highest 1. */
#define TWICE(n)    n, n
#define TIMES_4(n)  TWICE(n), TWICE(n)
#define TIMES_8(n)  TIMES_4(n), TIMES_4(n)
#define TIMES_16(n) TIMES_8(n), TIMES_8(n)
#define TIMES_32(n) TIMES_16(n), TIMES_16(n)
#define TIMES_64(n) TIMES_32(n), TIMES_32(n)
const __u8 bit_lengths[256] = {0,	    1,		 TWICE(2),    TIMES_4(3),  TIMES_8(4),
			       TIMES_16(5), TIMES_32(6), TIMES_64(7), TIMES_64(8), TIMES_64(8)};

/* clang knows that the index is below 256, the verifier does not: hence the asm. */
static __always_inline __u32 bit_length(__u32 byte)
{
	__u64 index = byte;

	__asm__ volatile("" : "+r"(index));
	return bit_lengths[index & 0xff];
}

/* A table, because BPF has no instruction that counts leading zeroes. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u64 units = (ns - (ns != 0)) >> LATENCY_FIRST_SHIFT; /* bounds are inclusive */

	if (units < 1U << 8)
		return bit_length(units);
	if (units < 1U << 16)
		return 8 + bit_length(units >> 8);
	if (units < 1U << (LATENCY_BUCKETS - 2))
		return 16 + bit_length(units >> 16);
	return LATENCY_BUCKETS - 1;
}

static __always_inline void count_latency(struct observe_counter *counter, __u64 ns)
{
	__u64 bucket = bucket_of(ns);

	__asm__ volatile("" : "+r"(bucket));
	if (bucket >= LATENCY_BUCKETS)
		return;
	__asm__ volatile("" : "+r"(bucket));
	counter->latencies[bucket]++;
	counter->latency_ns += ns;
	if (ns > counter->longest_ns)
		counter->longest_ns = ns;
}

/* --- causes of a wait ------------------------------------------------------------------------ */

/* A task's wait on one CPU, or that part of it that is explained now. */
struct waiting {
	__u32 cpu, slot, pod;
	__u64 from, until;
};

/* Branches would be mispredicted, so two comparisons are subtracted: other, sibling, own. */
static __always_inline __u32 class_of(const struct waiting *waiting, __u32 kind, __u32 pod,
				      __u32 slot)
{
	return (kind - (pod == waiting->pod) - (slot == waiting->slot)) & (WAIT_CAUSE_NR - 1);
}

/* A way back through the intervals of a CPU: who ran from `start` to `until` is of class `open`. */
struct walk {
	struct waiting waiting;
	__u64 start, until;
	__u32 open;
};

/* Count the part in `open`, and go on to the interval that is `back` before the open one. */
static __always_inline bool walk_to(struct walk *walk, struct observe_cpu *here,
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
#define INTERVALS_NEAR 128

/* The context holds plain numbers, which every kernel's verifier can follow; hence the lookups. */
static long walk_far(__u32 i, void *context)
{
	struct walk *walk = context;
	struct observe_cpu *here = record_of(walk->waiting.cpu);
	struct observe_counter *counter = counter_of(walk->waiting.slot, walk->waiting.cpu);

	return !here || !counter || !walk_to(walk, here, counter, INTERVALS_NEAR + 1 + i);
}

/*
 * Who ran, from the intervals of the CPU: the open one, of class `open`, then those that are
 * over, backwards. What is older than they reach is unattributed.
 */
__noinline int walk_intervals(struct waiting *waiting, __u32 open)
{
	struct observe_counter *counter;
	struct observe_cpu *here;
	struct walk walk;

	if (!waiting)
		return 0;
	here = record_of(waiting->cpu);
	counter = counter_of(waiting->slot, waiting->cpu);
	if (!here || !counter)
		return 0;
	walk = (struct walk){.waiting = *waiting,
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

static __always_inline __u64 *pod_total(__u32 pod, __u32 cpu)
{
	__u32 key = pod * nr_cpus + cpu;

	return bpf_map_lookup_elem(&observe_pods, &key);
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
					      const struct waiting *waiting)
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
				    struct task_record *record, struct waiting *waiting, __u32 open,
				    __u64 throttled)
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

static __always_inline struct task_record *record_of_task(__u32 pid)
{
	__u32 key = pid & task_mask;

	return bpf_map_lookup_elem(&observe_tasks, &key);
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
					 struct task_struct *task, struct waiting *waiting,
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
	if (counter && prev->__state == 0)
		take_snapshot(here, counter, prev, cpu, clock);
	if (slot != SLOT_HOST) {
		struct waiting waiting = {
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

static __always_inline void pair_clocks(struct observe_cpu *here, __u64 clock)
{
	if (clock - here->clock > CALIBRATE_NS) {
		here->clock = clock;
		here->monotonic_ns = bpf_ktime_get_ns();
	}
}

/*
 * Between two tasks of the host. While nobody waits, which the run queue's number of tasks
 * tells, no wait can span this instant, so who ran before it is never asked for.
 */
static __always_inline bool is_left_out(struct task_struct *prev, struct task_struct *next,
					__u32 next_kind)
{
	if (kind_of(prev->flags, prev->pid) == next_kind)
		return true;
	return prev->se.cfs_rq->rq->nr_running <= (next->pid != 0);
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
	bool is_left;
	__u64 clock;

	if (!here)
		return 0;
	/* the idle task is in the root cgroup; it is asked for most often */
	if (next_kind != WAIT_IDLE)
		found = slot_of(here, cpu, next);
	is_left = here->slot == SLOT_HOST && found->slot == SLOT_HOST &&
		  is_left_out(prev, next, next_kind);
	if (is_left && next_kind == WAIT_HOST)
		return 0;
	if (!has_turn(cpu))
		return 0;
	/* updated by the scheduler just before this; prev's queue is always this CPU's */
	clock = prev->se.cfs_rq->rq->clock;
	if (is_left && clock - here->clock <= CALIBRATE_NS)
		return 0;
	/* odd while the record changes: take_sample() in user/bpf/observe_read.c reads it again */
	arch_bump_ordered(&here->sequence);
	if (!is_left)
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
	struct waiting waiting = {.cpu = from_cpu,
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
	else
		counter->migrations_core++;
	return 0;
}
