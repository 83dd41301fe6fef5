// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the kernel's pressure stall information of many cgroups in one walk, instead of
 * opening, reading and parsing three files for each of them.
 *
 * User space writes the ids of the cgroups it asks for into the rows, in ascending order, and
 * the CPUs that it wants of each into the cells, and runs the iterator over the workload root. It prints nothing: an iterator over cgroups cannot
 * resume, so output beyond its buffer of 32 KiB would end the walk.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <pinfold/pressure.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, struct pressure_row);
} pressure_rows SEC(".maps");

/* What the rows refer to; the CPU of each is input. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, __u32);
	__type(value, struct pressure_cell);
} pressure_cells SEC(".maps");

/* Holds nothing: find_cpus compares its addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pressure_probe SEC(".maps");

/* Rows in use. */
__u32 nr_rows = 0;

/* Where a CPU's copy of per-CPU data is, from the address that all share; 0 = not known. */
__u32 nr_cpus = 0;
__u64 cpu_offsets[PRESSURE_CPUS_MAX] = {0};

/*
 * Scheduler's clock less CLOCK_MONOTONIC. The clock of a run queue is at most a tick late, so the
 * largest difference of a pass is the best. User space begins each pass with none.
 */
bool has_clock_offset = false;
__s64 clock_offset_ns = 0;

/* The iterator's context is part of the kernel's ABI for BPF programs, so it is not relocated. */
struct cgroup_visit {
	struct bpf_iter_meta *meta;
	struct cgroup *cgroup; /* NULL after the last one */
};

static __always_inline struct pressure_row *find_row(__u64 cgroup_id)
{
	__u32 low = 0, high = nr_rows;

	for (int i = 0; i <= PRESSURE_SEARCH_STEPS && low < high; i++) {
		__u32 middle = (low + high) / 2;
		struct pressure_row *row = bpf_map_lookup_elem(&pressure_rows, &middle);

		if (!row)
			return NULL;
		if (row->cgroup_id == cgroup_id)
			return row;
		if (row->cgroup_id < cgroup_id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Of PSI_AVGS, the first aggregator: those that the cgroup's files show. */
static __always_inline void read_totals(struct psi_group *psi, struct pressure_row *row)
{
	struct psi_group___nested *nested = (void *)psi;
	struct psi_group___flat *flat = (void *)psi;

	if (bpf_core_field_exists(nested->total))
		BPF_CORE_READ_INTO(&row->total_ns, nested, total);
	else
		BPF_CORE_READ_INTO(&row->total_ns, flat, total);
}

/* --- per CPU ------------------------------------------------------------------------------------- */

/* A pointer as a number, which the verifier cannot compute with otherwise. */
static volatile __u64 address = 0;

static __always_inline __u64 number_of(const void *pointer)
{
	*(const void *volatile *)&address = pointer;
	return address;
}

static long find_cpu(__u32 cpu, const __u64 *base)
{
	__u32 key = 0;
	const void *here = bpf_map_lookup_percpu_elem(&pressure_probe, &key, cpu);

	if (here && cpu < PRESSURE_CPUS_MAX)
		cpu_offsets[cpu] = number_of(here) - *base;
	return 0;
}

/*
 * Fills cpu_offsets. The kernel's own table, __per_cpu_offset, has a name only with
 * CONFIG_KALLSYMS_ALL. User space runs this once at load; it is never attached.
 */
SEC("raw_tp")
int find_cpus(void *unused)
{
	__u64 map = number_of(&pressure_probe);
	__u64 base = 0;

	bpf_probe_read_kernel(&base, sizeof(base),
			      (void *)(map + bpf_core_field_offset(struct bpf_array, pptrs)));
	if (base)
		bpf_loop(nr_cpus, find_cpu, &base, 0);
	return 0;
}

/* Returns false if the clock cannot be found: without CONFIG_FAIR_GROUP_SCHED. */
static __always_inline bool read_clock(__u64 *monotonic_ns, __u64 *clock_ns)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__s64 offset_ns;

	if (!bpf_core_field_exists(current->se.cfs_rq))
		return false;
	*monotonic_ns = bpf_ktime_get_ns();
	offset_ns = (__s64)(BPF_CORE_READ(current, se.cfs_rq, rq, clock) - *monotonic_ns);
	if (!has_clock_offset || offset_ns > clock_offset_ns) {
		clock_offset_ns = offset_ns;
		has_clock_offset = true;
	}
	*clock_ns = *monotonic_ns + clock_offset_ns;
	return true;
}

/* What the scheduler writes of struct psi_group_cpu: its first cache line on every kernel. */
#define STATE_WORDS 8
#define STATE_BYTES (STATE_WORDS * sizeof(__u64))
#define STATE_TRIES 4

struct cpu_state {
	__u64 words[STATE_WORDS];
};

static __always_inline bool is_same(const struct cpu_state *a, const struct cpu_state *b)
{
	__u64 difference = 0;

	for (int i = 0; i < STATE_WORDS; i++)
		difference |= a->words[i] ^ b->words[i];
	return !difference;
}

#define STATE_OFFSET(member)		bpf_core_field_offset(struct psi_group_cpu, member)
#define STATE_PART(state, offset, type) (*(const type *)((const void *)(state) + (offset)))

/* Was the state written while it was read? Some kernels say so in the group itself. */
static __always_inline bool is_written(const struct cpu_state *state)
{
	struct psi_group_cpu___seq *group = NULL;

	if (!bpf_core_field_exists(group->seq))
		return false;
	return STATE_PART(state, bpf_core_field_offset(struct psi_group_cpu___seq, seq), __u32) & 1;
}

/*
 * A reader cannot make the scheduler wait, so two reads that agree have to do. Where a CPU stands
 * still in the middle of a write, as a virtual one may, both have the same half of it: user space
 * then finds a time that grew by more than time has passed, and does not count it (pressure_cpus.c).
 */
static __always_inline bool read_state(__u64 from, struct cpu_state *ret_state)
{
	struct cpu_state again;

	for (int i = 0; i < STATE_TRIES; i++) {
		if (bpf_probe_read_kernel(ret_state, STATE_BYTES, (void *)from) ||
		    bpf_probe_read_kernel(&again, STATE_BYTES, (void *)from))
			return false;
		if (is_same(ret_state, &again) && !is_written(ret_state))
			return true;
	}
	return false;
}

/* The times as get_recent_times in kernel/sched/psi.c computes them: with the open interval. */
static __always_inline void fill_cell(const struct cpu_state *state, __u64 clock_ns,
				      struct pressure_cell *cell)
{
	const __u32 mask = STATE_PART(state, STATE_OFFSET(state_mask), __u32);
	const __u64 start_ns = STATE_PART(state, STATE_OFFSET(state_start), __u64);
	const __u32 open_ns = clock_ns > start_ns ? (__u32)(clock_ns - start_ns) : 0;
	const __u32 active = bpf_core_enum_value(enum psi_states, PSI_NONIDLE);

	for (__u32 kind = 0; kind < PRESSURE_KIND_NR; kind++)
		cell->time_ns[kind] =
			STATE_PART(state, STATE_OFFSET(times) + kind * sizeof(__u32), __u32) +
			(mask >> kind & 1 ? open_ns : 0);
	cell->time_ns[PRESSURE_ACTIVE] =
		STATE_PART(state, STATE_OFFSET(times) + active * sizeof(__u32), __u32) +
		(mask >> active & 1 ? open_ns : 0);
}

/* Does this kernel's struct end where this program expects it to? */
static __always_inline bool is_readable(void)
{
	const __u32 active = bpf_core_enum_value(enum psi_states, PSI_NONIDLE);

	return STATE_OFFSET(state_mask) + sizeof(__u32) <= STATE_BYTES &&
	       STATE_OFFSET(state_start) + sizeof(__u64) <= STATE_BYTES &&
	       STATE_OFFSET(times) + (active + 1) * sizeof(__u32) <= STATE_BYTES;
}

struct cell_walk {
	__u64 pcpu, clock_ns;
	__u32 first, state; /* enum pressure_cells */
};

static long read_cell(__u32 i, struct cell_walk *walk)
{
	__u32 at = walk->first + i;
	struct pressure_cell *cell = bpf_map_lookup_elem(&pressure_cells, &at);
	struct cpu_state state;
	__u32 cpu;

	walk->state = PRESSURE_CELLS_UNREADABLE;
	if (!cell)
		return 1;
	cpu = cell->cpu;
	if (cpu >= PRESSURE_CPUS_MAX || !cpu_offsets[cpu])
		return 1;
	walk->state = PRESSURE_CELLS_TORN;
	if (!read_state(walk->pcpu + cpu_offsets[cpu], &state))
		return 1;
	fill_cell(&state, walk->clock_ns, cell);
	walk->state = PRESSURE_CELLS_READ;
	return 0;
}

static __always_inline void read_cells(struct psi_group *psi, struct pressure_row *row)
{
	struct cell_walk walk = {
		.pcpu = (__u64)BPF_CORE_READ(psi, pcpu),
		.first = row->first_cell,
		.state = PRESSURE_CELLS_UNREADABLE,
	};

	if (is_readable() && read_clock(&row->read_ns, &walk.clock_ns))
		bpf_loop(row->nr_cells, read_cell, &walk, 0);
	row->cells = walk.state;
}

/* --- the quota ---------------------------------------------------------------------------------- */

/*
 * What cpu.stat shows as throttled_usec. To read that file, the kernel brings all counters of the cgroup
 * up to date first, and this one needs none of it.
 */
static __always_inline __u64 read_throttled(struct cgroup *cgrp)
{
	const __u64 at = (__u64)cgrp + bpf_core_field_offset(struct cgroup, subsys) +
			 bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(void *);
	struct cfs_bandwidth *bandwidth = NULL;
	__u64 state = 0, throttled_ns = 0;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id) ||
	    !bpf_core_field_exists(bandwidth->throttled_time))
		return PRESSURE_THROTTLED_UNKNOWN;
	bpf_probe_read_kernel(&state, sizeof(state), (void *)at);
	if (!state)
		return 0;
	bpf_probe_read_kernel(
		&throttled_ns, sizeof(throttled_ns),
		(void *)(state - bpf_core_field_offset(struct task_group, css) +
			 bpf_core_field_offset(struct task_group, cfs_bandwidth) +
			 bpf_core_field_offset(struct cfs_bandwidth, throttled_time)));
	return throttled_ns;
}

/* --- the walk ------------------------------------------------------------------------------------ */

/*
 * Called for each cgroup below the root of the walk, in process context, with cgroup_mutex held.
 * About 0.2 us, and 0.1 us for each cell.
 */
SEC("iter/cgroup")
int read_pressure(struct cgroup_visit *visit)
{
	struct cgroup *cgrp = visit->cgroup;
	struct psi_group *psi = NULL;
	struct pressure_row *row;

	if (!cgrp)
		return 0;
	row = find_row(BPF_CORE_READ(cgrp, kn, id));
	if (!row)
		return 0;
	row->throttled_ns = read_throttled(cgrp);
	/* Without CONFIG_PSI the struct has no members. */
	if (bpf_core_field_exists(psi->enabled))
		psi = BPF_CORE_READ(cgrp, psi);
	if (!psi) {
		row->state = PRESSURE_OFF;
		return 0;
	}
	row->updated_ns = BPF_CORE_READ(psi, avg_last_update);
	row->due_ns = BPF_CORE_READ(psi, avg_next_update);
	BPF_CORE_READ_INTO(&row->updated_total_ns, psi, avg_total);
	read_totals(psi, row);
	row->state = BPF_CORE_READ(psi, enabled) ? PRESSURE_MEASURED : PRESSURE_OFF_CGROUP;
	if (row->state == PRESSURE_MEASURED && row->nr_cells)
		read_cells(psi, row);
	return 0;
}
