/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who disturbs a CPU that one container has exclusively, as bpf/noise.bpf.c counts it. The
 * map is not pinned, so it may differ between versions of the agent.
 */
#ifndef PINFOLD_NOISE_H
#define PINFOLD_NOISE_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#include <stdbool.h>
#endif

enum noise_source {
	NOISE_HARDIRQ, /* an interrupt line, one handler of it */
	NOISE_SOFTIRQ,
	NOISE_TIMER,	     /* the interrupt of the CPU's own timer, the tick among others */
	NOISE_RESCHEDULE,    /* another CPU asks this one to look for a task to run */
	NOISE_CALL_FUNCTION, /* another CPU calls a function on this one */
	NOISE_KTHREAD,
	NOISE_HOST_TASK,   /* a user task of no pod */
	NOISE_POD_SIBLING, /* a task of another container of the owner's pod */
	NOISE_OTHER_POD,
	/* A task on another thread of the core while the owner ran; it took no time from this CPU. */
	NOISE_SMT_SIBLING,
	NOISE_SOURCE_NR,
};

/* In the kernel's order (include/linux/interrupt.h), the same from 6.1 to 7.2. */
#define NOISE_SOFTIRQS 10

/*
 * Where the entries of a CPU are: three tables in which an entry is found by its identity,
 * and fixed ones. What no longer fits into a table is counted in one entry without a name,
 * by its source.
 */
#define NOISE_TABLE    32
#define NOISE_ENTRIES  128
#define NOISE_HARDIRQS 0
#define NOISE_KTHREADS (NOISE_HARDIRQS + NOISE_TABLE)
#define NOISE_TASKS    (NOISE_KTHREADS + NOISE_TABLE)
#define NOISE_VECTORS  (NOISE_TASKS + NOISE_TABLE)	/* softirqs, by vector */
#define NOISE_FIXED    (NOISE_VECTORS + NOISE_SOFTIRQS) /* plus the source */
#define NOISE_OTHERS   (NOISE_FIXED + NOISE_SOURCE_NR)	/* plus the source */
_Static_assert(NOISE_OTHERS + NOISE_SOURCE_NR <= NOISE_ENTRIES, "every entry has a place");

/* Of none of the entries: the owner has the CPU, or it is idle. */
#define NOISE_NOBODY NOISE_ENTRIES

struct noise_entry {
	__u64 id; /* interrupt: its line; task: the id of its cgroup; otherwise 0 */
	__u64 count;
	__u64 total_ns;
	__u64 longest_ns;
	__u32 epoch;  /* of the owner for whom it counts; of any other epoch it is empty */
	__u32 source; /* enum noise_source */
	__u32 pid;    /* of a thread or task: the last one */
	/* Of NOISE_SMT_SIBLING, set by the reader: the sibling, and the source that the task is there. */
	__u16 sibling, by;
	char name[16]; /* of the interrupt, the thread or the task; "" = those without a place */
};
_Static_assert(sizeof(struct noise_entry) == 64, "the same on both sides");

/*
 * Whose the CPU is. The agent writes it: epoch 0, then the other members, then a new epoch,
 * which begins all figures anew.
 */
struct noise_owner {
	__u64 cgroup_id;
	__u64 pod_cgroup_id;
	__u64 root_cgroup_id;		    /* of all pods */
	__u32 level, pod_level, root_level; /* depth of these cgroups */
	__u32 epoch;			    /* 0 = nobody has the CPU exclusively */
};

/*
 * One CPU. Only programs on that CPU write below the owner. Those that run with interrupts off
 * make `sequence` odd while they change who runs or whose an entry is. Interrupts count into
 * their entries without it: each number is right by itself.
 */
struct noise_cpu {
	struct noise_owner owner;
	__u32 sequence;
	__u32 epoch;   /* of the figures below */
	__u32 running; /* the entry of the thread or task that has the CPU, or NOISE_NOBODY */
	__u32 is_seen; /* the source of the cgroup below has been found */
	__u64 seen_serial;
	__u64 seen_source;
	/* Times of CLOCK_MONOTONIC; 0 = not in an interrupt. */
	__u64 since_ns; /* when `running` got the CPU */
	__u64 hard_start_ns, soft_start_ns;
	/* Time in interrupts of each kind, without those that interrupted them. */
	__u64 hard_ns, soft_ns;
	/* What these were at the two beginnings above. */
	__u64 since_taken_ns, soft_taken_ns;
	__u64 told_ns; /* when the agent was told of a stranger on this CPU, or could not be */
	/*
	 * Of a CPU that is exclusive while other threads of its core are not its owner's. The agent
	 * writes `share`, a number that begins the owner's time anew; 0 = nobody asks for it.
	 */
	__u32 share, shared; /* `shared`: of the time below */
	__u64 owner_time;    /* see noise_owner_ns() */
	/* Written by the agent: this CPU has records in noise_siblings that are somebody's. */
	__u32 has_siblings;
	__u32 other; /* of a record in noise_siblings: the CPU whose owner it is about */
	__u64 untold; /* strangers of which the agent was not told, because the ring buffer was full */
	__u64 reserved[3];
	struct noise_entry entries[NOISE_ENTRIES];
};
_Static_assert(sizeof(struct noise_cpu) == 192 + sizeof(struct noise_entry) * NOISE_ENTRIES,
	       "the same on both sides");

/*
 * How long the owner has had a CPU by `now_ns`. One word, which its CPU alone writes, tells that to
 * other CPUs without a lock. If it is even, half of it is the time so far. If it is odd, the owner is
 * running, and half of it is when it would have begun to if it had never paused.
 */
static inline __u64 noise_owner_ns(__u64 word, __u64 now_ns)
{
	return word & 1 ? now_ns - (word >> 1) : word >> 1;
}

/* The word from now on, with the owner running or not. */
static inline __u64 noise_owner_time(__u64 word, __u64 now_ns, bool runs)
{
	bool ran = word & 1;

	return ran == runs ? word : (now_ns - (word >> 1)) << 1 | runs;
}

/*
 * A sibling is another thread of an exclusive CPU's core that is not its owner's. What runs there is
 * counted in a record of the same form, of which only programs on the sibling write what is below the
 * owner: `epoch` is the owner's share, and times are those of the owner. A task is in it as the
 * source that it would be on the owner's CPU.
 */
#define NOISE_SIBLINGS_MAX 3 /* of a CPU, on processors of up to four threads a core */

/* Only threads and tasks are counted there. */
#define NOISE_SIBLING_ENTRIES (2 * NOISE_TABLE + NOISE_SOURCE_NR)
/* Entries of one CPU and its siblings. */
#define NOISE_READ_MAX (NOISE_ENTRIES + NOISE_SIBLINGS_MAX * NOISE_SIBLING_ENTRIES)

/* A task that got an exclusive CPU without belonging there, and that could be moved. */
struct noise_stranger {
	__u64 time_ns;	/* CLOCK_MONOTONIC, when it got the CPU */
	__u64 start_ns; /* CLOCK_BOOTTIME, the start of the thread */
	__u32 pid;	/* of the thread */
	__u32 process;
	__u32 cpu;
	__u32 source; /* enum noise_source: NOISE_HOST_TASK is not below the workload root */
	char comm[16];
};
_Static_assert(sizeof(struct noise_stranger) == 48, "the same on both sides");

#endif
