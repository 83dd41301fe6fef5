/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log of every context switch and of every migration of a queued task, in their order. */
#ifndef TESTS_SWITCH_LOG_H
#define TESTS_SWITCH_LOG_H

#define SWITCH_LOG_RECORDS (1u << 19)

/* Neither a kernel thread nor the idle task: user. */
enum logged_kind { LOGGED_USER, LOGGED_KERNEL, LOGGED_IDLE };

struct switch_record {
	__u64 clock;	    /* of the CPU's run queue, ns */
	__u64 queued;	    /* of next, on the same clock: since when it waits; 0 = it does not */
	__u64 run_delay_ns; /* of next, all its waits that are over */
	__u64 throttled_ns; /* of next's queue */
	__u32 prev, next;   /* pids; of a migration prev is the CPU that the task is given to */
	__u32 cpu;	    /* of a migration the one that the task leaves */
	__u8 prev_kind, next_kind; /* enum logged_kind */
	__u8 is_migration;
	__u8 is_delayed; /* of a migration: the task sleeps, but is still queued (6.12 and later) */
};

#endif
