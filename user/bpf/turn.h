/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that count must be exchanged at one instant: two generations side by side
 * would count an event twice, and none would lose it. So each generation has a number,
 * the map `turns` says for each CPU which one counts, and passing it on is done on that
 * CPU itself, between two of its events (bpf/carry.bpf.c).
 */
#ifndef BPF_TURN_H
#define BPF_TURN_H

#include <stdint.h>

#define TURNS_MAP "turns"

/* The number for the next generation, by the map of those before. -errno. */
int turn_next(int turns_fd, uint32_t *ret_turn);
/* Give out the number `turn`, so that no later generation gets it. */
int turn_take(int turns_fd, uint32_t turn);

struct turn_change {
	int turns_fd;
	uint32_t turn, nr_cpus;
	/* Counters, index slot * nr_cpus + cpu; -1, or the same map twice: nothing to carry over. */
	int before_fd, now_fd;
};

/*
 * Pass the turn on, on all CPUs, with the counts of as many slots as both maps have. On
 * failure some CPUs may have been passed on; calling it again does the others.
 */
int turn_begin(const struct turn_change *change);

#endif
