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

/* What the kernel counts for a cgroup on each CPU: the kinds above, and when it was active. */
#define PRESSURE_ACTIVE	     PRESSURE_KIND_NR /* a task of it ran or waited for something there */
#define PRESSURE_CPU_KIND_NR (PRESSURE_KIND_NR + 1)

/* Is what the cells of a row say what the kernel says? */
enum pressure_cells {
	PRESSURE_CELLS_UNREAD, /* there are none, or the row was not measured */
	PRESSURE_CELLS_READ,
	PRESSURE_CELLS_TORN,	   /* one of them changed at each try to read it */
	PRESSURE_CELLS_UNREADABLE, /* this kernel's state of a CPU, or its clock, cannot be found */
};

/*
 * A cgroup on one CPU. The times are in ns modulo 2^32, as the kernel keeps them, up to the moment
 * of the read: what happens at that moment is included. They wrap after 4.29 s, so two reads that
 * are further apart cannot be compared.
 */
struct pressure_cell {
	__u32 cpu; /* input */
	__u32 time_ns[PRESSURE_CPU_KIND_NR];
};
_Static_assert(sizeof(struct pressure_cell) == 32, "the same on both sides");

/* In place of a time: this kernel has no quotas, or the cgroup was not read. */
#define PRESSURE_THROTTLED_UNKNOWN (~0ULL)

struct pressure_row {
	__u64 cgroup_id;
	__u32 state;	  /* enum pressure_state */
	__u32 cells;	  /* enum pressure_cells */
	__u32 first_cell; /* input: its cells among all */
	__u32 nr_cells;	  /* input */
	__u64 read_ns;	  /* CLOCK_MONOTONIC, of the cells */
	/*
	 * How long its quota kept it from running, in ns, as `throttled_usec` of cpu.stat; 0 without the
	 * controller. Also known where pressure is not; else PRESSURE_THROTTLED_UNKNOWN, which is also the input.
	 */
	__u64 throttled_ns;
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
_Static_assert(sizeof(struct pressure_row) == 152, "the same on both sides");

/* Steps of the binary search among the rows: no reader may ask for more cgroups. */
#define PRESSURE_SEARCH_STEPS 16
#define PRESSURE_ROWS_MAX     ((1u << PRESSURE_SEARCH_STEPS) - 1)

/*
 * So many cells are read in one pass at most: 2,048 cgroups with eight CPUs each. It holds
 * cgroup_mutex for the pass, which takes 0.1 us for each of them.
 */
#define PRESSURE_CELLS_MAX 16384

/* CPUs that can be found; others have no cells. The most that Linux supports. */
#define PRESSURE_CPUS_MAX 8192

#endif
