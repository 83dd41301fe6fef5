// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the kernel's pressure stall information of many cgroups in one walk, instead of
 * opening, reading and parsing three files for each of them.
 *
 * User space writes the ids of the cgroups it asks for into the rows, in ascending order, and
 * runs the iterator over the workload root. It prints nothing: an iterator over cgroups cannot
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

/* Rows in use. */
__u32 nr_rows = 0;

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
	return 0;
}
