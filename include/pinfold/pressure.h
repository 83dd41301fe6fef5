/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's pressure stall information (PSI) of one cgroup, as bpf/pressure.bpf.c
 * reads it. The map is not pinned, so it may differ between versions of the agent.
 */
#ifndef PINFOLD_PRESSURE_H
#define PINFOLD_PRESSURE_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

/*
 * "Some": at least one task waits for the resource while it could run otherwise. "Full": no
 * task runs. In the order of the kernel's enum psi_states (include/linux/psi_types.h), the
 * same from 6.1 to 7.2; what newer kernels count besides comes later.
 */
enum pressure_kind {
	PRESSURE_IO_SOME,
	PRESSURE_IO_FULL,
	PRESSURE_MEMORY_SOME,
	PRESSURE_MEMORY_FULL,
	PRESSURE_CPU_SOME,
	PRESSURE_CPU_FULL,
	PRESSURE_KIND_NR,
};

enum pressure_state {
	PRESSURE_UNKNOWN,    /* it was not read, or the cgroup is gone */
	PRESSURE_MEASURED,   /* the figures below are the kernel's */
	PRESSURE_OFF,	     /* the kernel was booted with psi=0, or built so */
	PRESSURE_OFF_CGROUP, /* 0 was written to the cgroup's cgroup.pressure */
	PRESSURE_STATE_NR,
};

struct pressure_row {
	__u64 cgroup_id;
	__u32 state; /* enum pressure_state */
	__u32 reserved;
	/* What the cgroup's files show as "total". Reading such a file brings it up to date. */
	__u64 total_ns[PRESSURE_KIND_NR];
	/*
	 * When the kernel last updated its averages and when the next update is due, in ns of
	 * its scheduler's clock, and the totals that the averages have seen. It updates them
	 * every two seconds while tasks of the cgroup are active, and once afterwards, so the
	 * difference between two updates covers the time between them, whoever reads the
	 * files meanwhile. But an update that is late by more than a period leaves a part of
	 * the totals to the next ones (update_averages in kernel/sched/psi.c).
	 */
	__u64 updated_ns;
	__u64 due_ns;
	__u64 updated_total_ns[PRESSURE_KIND_NR];
};
_Static_assert(sizeof(struct pressure_row) == 128, "the same on both sides");

/* Steps of the binary search among the rows: no reader may ask for more cgroups. */
#define PRESSURE_SEARCH_STEPS 16
#define PRESSURE_ROWS_MAX     ((1u << PRESSURE_SEARCH_STEPS) - 1)

#endif
