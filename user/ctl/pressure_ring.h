/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent past of one pod or container: the last ten minutes in samples of about two seconds,
 * and the last 24 hours in samples of a minute, each the exact sum of those samples that ended in
 * it. Pure: it reads no clock and calls nothing, and a ring never allocates.
 *
 * A sample says what grew while it lasted. What is not known, because a pass was the first one or
 * came too late after the one before, is not in any sample: there is a gap then, and nothing is put
 * into it.
 *
 * Of the last ten minutes it also has the run time on CPUs that were not granted. Minutes do not
 * have it.
 *
 * Lengths and pressure are stored in units of 2 ms in 16 bits, run time and waits in units of 10 us
 * in 32 bits. Rests of less than a unit are carried to the next sample, so sums agree with the
 * totals to a unit. A larger pressure than 131 s, which a minute never has, is stored as that. The
 * unit of run time and waits is larger from 10737 s on, which in a minute takes 178 tasks that run,
 * or that wait, all the time: the error of a sample is less than a part in 2^22, and its rest is
 * carried. A minute is the sum of its samples to a part in 2^17. No number of tasks is too large.
 */
#ifndef CTL_PRESSURE_RING_H
#define CTL_PRESSURE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <pinfold/abi.h>
#include <pinfold/pressure.h>

#include "format/rows.h"

#define PRESSURE_RING_FINE    300
#define PRESSURE_RING_MINUTES 1440

/* What is known of one cgroup at one moment. All zero = nothing. */
struct pressure_totals {
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t cgroup_id; /* counters of different cgroups cannot be compared */
	bool has_usage;
	uint64_t run_ns, wait_ns[WAIT_CAUSE_NR];
	uint64_t outside_ns; /* part of run_ns: on CPUs that were not granted */
	bool has_pressure;
	uint64_t since_ns; /* the kernel's clock: nothing before it is known of the pressure … */
	uint64_t until_ns; /* … and this is the moment that the following totals belong to */
	uint64_t waited_ns[PRESSURE_KIND_NR];
};

/* What grew between two moments, and how long that took; a length of 0 = not known. */
struct pressure_growth {
	uint64_t usage_ns; /* the length for run time and waits */
	uint64_t run_ns, wait_ns[WAIT_CAUSE_NR];
	uint64_t outside_ns;  /* part of run_ns; 0 in what is read of a minute */
	uint64_t pressure_ns; /* the length for pressure, which the kernel updates when it wants */
	uint64_t waited_ns[PRESSURE_KIND_NR];
};

/* As stored; see above for the units. */
struct pressure_sample {
	uint32_t time_ms;	  /* of its end, modulo 2^32 */
	uint16_t usage, pressure; /* lengths */
	uint16_t waited[PRESSURE_KIND_NR];
	uint32_t run, wait[WAIT_CAUSE_NR];
};
_Static_assert(sizeof(struct pressure_sample) == 56, "docs/performance.md has the formula");

/* Where the next sample goes, and how many there are. */
struct pressure_ring_end {
	uint32_t next, nr;
};

/* All zero = empty. */
struct pressure_ring {
	uint64_t newest_ns;	       /* the end of the newest sample; 0 = none */
	struct pressure_growth rest;   /* what is not in a sample yet: less than a unit of each */
	struct pressure_sample minute; /* the sum of the minute that has not ended */
	struct pressure_ring_end fine_end, minutes_end;
	struct pressure_sample fine[PRESSURE_RING_FINE];
	uint32_t outside[PRESSURE_RING_FINE]; /* of fine; stored as run is */
	struct pressure_sample minutes[PRESSURE_RING_MINUTES];
};

/* A sample as it is read. */
struct pressure_reading {
	uint64_t time_ns; /* of its end; that of a minute is the minute's end */
	struct pressure_growth growth;
};

/*
 * What grew from `before` to `now`. Nothing of it is known if they are more than `longest_ns`
 * apart or belong to different cgroups; nor are the figures of which one went back.
 */
void pressure_ring_growth(const struct pressure_totals *before, const struct pressure_totals *now,
			  uint64_t longest_ns, struct pressure_growth *ret_growth);

/*
 * Add what grew until `now_ns`, which is later than at any call before. Growth of which nothing
 * is known leaves a gap.
 */
void pressure_ring_add(struct pressure_ring *ring, uint64_t now_ns,
		       const struct pressure_growth *growth);

/* So many readings a span has at most. */
uint32_t pressure_ring_room(enum pressure_span span);
/*
 * The samples that ended within the span before `now_ns`, oldest first; a minute that has not
 * ended is not among them. ret_readings has room for pressure_ring_room(). Returns the number.
 */
uint32_t pressure_ring_read(const struct pressure_ring *ring, enum pressure_span span,
			    uint64_t now_ns, struct pressure_reading *ret_readings);

/*
 * The run time and waits of the samples that ended in the `window_ns` before `now_ns`; usage_ns is
 * how long these samples were, for gaps are left out. Nothing is said of pressure. A window is at
 * most the span of ten minutes.
 */
void pressure_ring_sum(const struct pressure_ring *ring, uint64_t window_ns, uint64_t now_ns,
		       struct pressure_growth *ret_sum);

#endif
