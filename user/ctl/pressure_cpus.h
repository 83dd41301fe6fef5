/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pressure of one cgroup on each CPU of its grant, on each of their NUMA nodes and on all of
 * them together, in the last five minutes and since it is counted. Pure: it reads no clock.
 *
 * The kernel keeps the time of a CPU in 32 bits of ns, which wrap after 4.29 s. If two reads are
 * further apart than that, the time between them is unknown: it counts as missed and never as 0.
 *
 * A node has the mean of its CPUs, weighted by how long the cgroup was active on each between two
 * reads, which is how the kernel computes the pressure of a cgroup from all CPUs of the machine.
 */
#ifndef CTL_PRESSURE_CPUS_H
#define CTL_PRESSURE_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include <pinfold/pressure.h>

#include "core/topology/topology.h"

/* Earlier reads that are kept for the windows. */
#define PRESSURE_CPUS_POINTS 22

/* A CPU, a NUMA node, or all CPUs together. */
struct pressure_part {
	/* Ids below CPUSET_MAX; -1 = none: a node has no CPU, and all together have neither. */
	int32_t cpu : 15, node : 15;
	bool is_read : 1; /* at least once, also in the last read */
	/* Of a CPU: what the kernel said last. */
	uint32_t last_ns[PRESSURE_CPU_KIND_NR];
	/* Since it is counted: how long it was, how long it could not be, and what was waited. */
	uint64_t known_ns, missed_ns;
	uint64_t waited_ns[PRESSURE_CPU_KIND_NR]; /* active: of a node, the sum of its CPUs */
};
_Static_assert(CPUSET_MAX <= 1 << 14, "an id has 15 bits with its sign");
/* A large node has 16,384 of them. */
_Static_assert(sizeof(struct pressure_part) == 104, "docs/performance.md has what a CPU takes");

/* Between the last read and the one before. */
struct pressure_last {
	uint64_t passed_ns, known_ns; /* known: of all CPUs together, whose time was waited */
	uint64_t waited_ns[PRESSURE_KIND_NR];
};

/*
 * All CPUs are read at the same time, so the times of earlier reads are kept once, and so is what is
 * known of the CPUs. What was waited until then is in `values`, 16 bits for each part and kind.
 */
struct pressure_cpus {
	bool is_cut; /* it was not measured after the last read */
	uint32_t nr_cpus, nr_parts;
	uint64_t read_ns;  /* the last read, which the parts have; 0 = none yet */
	uint64_t known_ns; /* of a CPU that was there from the beginning */
	struct pressure_last last;
	/* Earlier reads, oldest first, and which row of `values` each of them has. */
	uint32_t nr_points;
	uint64_t times_ns[PRESSURE_CPUS_POINTS];
	uint8_t rows[PRESSURE_CPUS_POINTS]; /* all of them: those that are free come last */
	uint16_t *values;		    /* [PRESSURE_CPUS_POINTS] rows, behind the parts */
	struct pressure_part parts[];	    /* CPUs, ascending; nodes, ascending; all together */
};

/*
 * Count exactly these CPUs from now on. What is known of a CPU or node that remains is kept; what
 * leaves is forgotten, and begins anew if it returns. -ENOMEM: as before.
 */
int pressure_cpus_follow(struct pressure_cpus **cpus, const struct topology *topology,
			 const struct pressure_cell *cells, uint32_t nr);

/* Add what was read of the same CPUs, in the same order. */
void pressure_cpus_add(struct pressure_cpus *cpus, uint64_t read_ns,
		       const struct pressure_cell *cells);

/* The kernel does not measure at present: whatever the next read shows, the time until then is missed. */
void pressure_cpus_cut(struct pressure_cpus *cpus);

/* All CPUs together. */
const struct pressure_part *pressure_cpus_whole(const struct pressure_cpus *cpus);

/*
 * The share of the `window_ns` before the last read in which tasks waited, in hundredths of a
 * percent: 0 to 10000. Missed time is left out of it. -1 if less than half a second is known. The
 * part is one of these CPUs'.
 */
int pressure_cpus_share(const struct pressure_cpus *cpus, const struct pressure_part *part,
			uint64_t window_ns, enum pressure_kind kind);

/*
 * How long the window between the last two reads is: 0.5 to 1.6 s, or 0 if they are further
 * apart, or if something was missed.
 */
uint64_t pressure_cpus_second(const struct pressure_cpus *cpus);
/* The share of that window for all CPUs together, as above. */
int pressure_cpus_second_share(const struct pressure_cpus *cpus, enum pressure_kind kind);

#endif
