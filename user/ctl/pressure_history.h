/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pressure of one cgroup in the last five minutes. From the kernel's totals it computes
 * the share of a window during which tasks waited. Unlike the averages in the cgroup's files,
 * which decay exponentially, a share belongs to exactly the seconds that it names.
 *
 * Two clocks are involved, both in ns: `updated` times are the kernel's scheduler clock, and
 * `now` is CLOCK_MONOTONIC.
 */
#ifndef CTL_PRESSURE_HISTORY_H
#define CTL_PRESSURE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include <pinfold/pressure.h>

/* The kernel's own period (PSI_FREQ in kernel/sched/psi.c). */
#define PRESSURE_PERIOD_NS     (2 * 1000000000ULL)
#define PRESSURE_LONGEST_NS    (300 * 1000000000ULL)
#define PRESSURE_HISTORY_LIMIT 76

/* Totals are in microseconds modulo 2^32: no total grows by 71 minutes in what is kept. */
struct pressure_point {
	uint64_t time_ns;
	uint32_t total_us[PRESSURE_KIND_NR];
};

/* All zero = empty. */
struct pressure_history {
	uint64_t seen_ns;   /* when the newest point arrived */
	uint64_t looked_ns; /* when the kernel's figures were last looked at */
	uint64_t since_ns;  /* the first point since which everything is known */
	bool is_active;	    /* something waited between the two newest points */
	/* Of the newest point: its totals, the kernel's figures, and what its update left to the next ones. */
	uint64_t newest_ns[PRESSURE_KIND_NR];
	uint64_t due_ns;
	uint64_t updated_total_ns[PRESSURE_KIND_NR];
	uint64_t left_ns[PRESSURE_KIND_NR];
	uint32_t nr;
	struct pressure_point points[PRESSURE_HISTORY_LIMIT]; /* oldest first */
};

/* Add the kernel's figures. Nothing happens if it has not updated them since the last call. */
void pressure_history_add(struct pressure_history *history, uint64_t now_ns,
			  const struct pressure_row *row);

/*
 * The share of the last `window_ns`, in hundredths of a percent: 0 to 10000. If less is known,
 * it is the share of what is known; -1 if that is less than a second. window_ns is at most
 * PRESSURE_LONGEST_NS.
 */
int pressure_history_share(const struct pressure_history *history, uint64_t now_ns,
			   uint64_t window_ns, enum pressure_kind kind);

/*
 * The latest moment of the kernel's clock whose totals no later update changes, two periods before
 * now, and these totals, which never fall. Unless nothing is known of that moment; then false. The
 * totals of two moments can be compared if `history->since_ns` is the same.
 */
bool pressure_history_settled(const struct pressure_history *history, uint64_t now_ns,
			      uint64_t *ret_time_ns, uint64_t ret_total_ns[PRESSURE_KIND_NR]);

#endif
