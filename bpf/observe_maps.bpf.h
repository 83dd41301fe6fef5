/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the observer keeps per CPU, slot, pod and task, and how its programs reach it. */
#ifndef OBSERVE_MAPS_BPF_H
#define OBSERVE_MAPS_BPF_H

#include <bpf/bpf_helpers.h>
#include <pinfold/abi.h>

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

/*
 * clang moves the arithmetic on the address to before the comparison, where the verifier
 * does not know the bound yet; it cannot move it across the asm. The first one keeps it from
 * comparing one copy of the number and using another, which 6.1 does not see through.
 */
static __always_inline struct observe_cpu *record_of(__u32 cpu)
{
	__u64 index = cpu;

	__asm__ volatile("" : "+r"(index));
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

static __always_inline __u64 *pod_total(__u32 pod, __u32 cpu)
{
	__u32 key = pod * nr_cpus + cpu;

	return bpf_map_lookup_elem(&observe_pods, &key);
}

static __always_inline struct task_record *record_of_task(__u32 pid)
{
	__u32 key = pid & task_mask;

	return bpf_map_lookup_elem(&observe_tasks, &key);
}

#endif
