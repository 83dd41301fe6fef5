/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF programs and user space share: keys and values of maps, events,
 * enums. Sizes and the last member's offset are asserted on both sides.
 *
 * Pinned maps outlive the agent, so a change of any layout or meaning here
 * raises ABI_VERSION; see ABI_OLDEST for an agent that meets a newer version.
 */
#ifndef PINFOLD_ABI_H
#define PINFOLD_ABI_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#include <stddef.h>
#endif

#define ABI_VERSION 5

/*
 * The oldest version whose agent can take over what this version has pinned, as after a
 * downgrade. It exchanges the programs on the maps in force, so a map that both versions have
 * must mean the same to it; of a map with another layout it makes its own. Where that is not
 * so, raise this to ABI_VERSION: an older agent then refuses to start and changes nothing.
 *
 * Agents before 5 do not enter themselves before they change pins, which guardFiles denies.
 */
#define ABI_OLDEST 5

#define ABI_ASSERT(type, size, last, offset)                               \
	_Static_assert(sizeof(type) == (size), #type " has another size"); \
	_Static_assert(__builtin_offsetof(type, last) == (offset), #type " has another layout")

/* Only containers have a slot; other managed cgroups have none. */
#define SLOT_NONE 0xffffffffu

/* Masks are words of 64 CPUs; the kernel's own limit on x86-64 is 8192 CPUs. */
#define ABI_CPUS_MAX	   8192
#define ABI_MASK_WORDS_MAX (ABI_CPUS_MAX / 64)

/* ============================ guard and watch: policy ========================================= */

/* Which part of the promise an operation touches; each has its own mode. */
enum aspect {
	ASPECT_CPUSET_FILES, /* cpuset.*, cpu.*, memory limits, cgroup.subtree_control of managed cgroups */
	ASPECT_AFFINITY,     /* affinity and policy of a managed container's tasks */
	ASPECT_CGROUP_MOVES, /* who is in a managed cgroup, and its life */
	ASPECT_MEMORY_MOVES, /* on which NUMA nodes the memory of a container's processes is */
	ASPECT_PRIORITIES,   /* nice values, I/O priorities and resource limits of its processes */
	ASPECT_DEBUGGING,    /* attaching to its processes, and to the agent */
	ASPECT_GUARD_FILES,  /* the guard's pins, and the mounts that they and the cgroups are on */
	ASPECT_NR,
};

/* The modes of these aspects are a word each; see guard_modes.h for those of later ones. */
#define ASPECTS_WITH_WORD 3

enum guard_mode {
	GUARD_OFF,     /* neither denied nor recorded */
	GUARD_AUDIT,   /* allowed and recorded */
	GUARD_ENFORCE, /* denied and recorded */
	GUARD_MODE_NR,
};

enum managed_kind {
	MANAGED_KIND_NONE, /* not guarded; it may be counted */
	MANAGED_KIND_TREE, /* this cgroup and all below */
	MANAGED_KIND_SELF, /* its own control files only: the root, ancestors of a workload root */
	MANAGED_KIND_OVERLAP, /* its own cpuset files only: siblings of a workload root */
	MANAGED_KIND_NR,
};

/* A container's own cgroup: the border of the border rule. Only with MANAGED_KIND_TREE. */
#define MANAGED_BORDER (1u << 0)
/* The guard's self-test: denied to everybody but the agent, whatever the modes say. */
#define MANAGED_SELFTEST (1u << 1)

/* Managed roots sit at most this deep; a level is the index in the kernel's cgroup.ancestors[]. */
#define MANAGED_LEVELS_MAX 32

/* map `managed`: cgroup id (inode number of its directory) -> */
struct managed {
	__u32 kind;  /* enum managed_kind */
	__u32 level; /* the cgroup's depth; the root is 0 */
	__u32 slot;  /* the container's slot, or SLOT_NONE */
	__u32 flags; /* MANAGED_BORDER, MANAGED_SELFTEST */
};
ABI_ASSERT(struct managed, 16, flags, 12);

/* Rights of actors. */
#define RIGHT_CPUSET (1u << 0) /* write cpuset.* of managed cgroups */
/* bit 1 allowed a runtime to write each cpuset file of a cgroup once: never again */
#define RIGHT_CONTROL (1u << 2) /* write cpu.*, memory.*, cgroup.freeze, .subtree_control, .type */
#define RIGHT_MOVES   (1u << 3) /* create cgroups, put tasks in and take them out */
#define RIGHT_TASKS   (1u << 4) /* what the aspects about containers' tasks concern */
#define RIGHT_LIFE    (1u << 5) /* cgroup.kill, rmdir */
#define RIGHT_AGENT   (1u << 6) /* is the agent: its writes are no drift */
#define RIGHT_TRACE   (1u << 7) /* attach to containers' tasks; never to the agent */
#define RIGHTS_AGENT \
	(RIGHT_CPUSET | RIGHT_CONTROL | RIGHT_MOVES | RIGHT_TASKS | RIGHT_LIFE | RIGHT_AGENT)
/* whoever manages cgroups, except for their cpuset files */
#define RIGHTS_SYSTEM (RIGHT_CONTROL | RIGHT_MOVES | RIGHT_TASKS | RIGHT_LIFE)
/* cgroups that enforcement.debuggers names */
#define RIGHTS_DEBUGGER RIGHT_TRACE

/* PID 1 at any time, and in addition while it carries out what the agent asked for: guard_lease */
#define RIGHTS_PID1	  RIGHT_LIFE
#define RIGHTS_PID1_LEASE (RIGHTS_SYSTEM | RIGHT_CPUSET)

/*
 * map `guard_lease`, one entry: until when the init process has RIGHTS_PID1_LEASE, in ns of
 * CLOCK_MONOTONIC; 0 = it does not. The agent's leases are shorter than this, and programs take no
 * notice of a longer one.
 */
#define GUARD_LEASE_MAX_NS 10000000000ULL

#define ACTOR_NAME_MAX 64

/*
 * map `actors`: an actor is a cgroup known by its parent and its name, so a
 * restarted unit (a new cgroup, a new id) keeps its rights with nobody there
 * to tell. Everything below that cgroup has them too.
 */
struct actor_key {
	__u64 parent_id;
	char name[ACTOR_NAME_MAX]; /* NUL-padded */
};
ABI_ASSERT(struct actor_key, 72, name, 8);

struct actor {
	__u32 rights;
	__u32 level; /* of the actor's cgroup: parent's level + 1 */
};
ABI_ASSERT(struct actor, 8, level, 4);

/* map `actor_tasks`: thread group id (initial pid namespace) -> */
struct actor_task {
	__u32 rights;
	__u32 reserved;
	__u64 start_ticks; /* start time since boot in 1/100 s: a reused pid is nobody */
};
ABI_ASSERT(struct actor_task, 16, start_ticks, 8);

/* guard_config.released: an operator's release stands. Below it two bits for the mode of each aspect. */
#define GUARD_RELEASED		     (1u << 31)
#define GUARD_RELEASED_SHIFT(aspect) (2 * (aspect))

/* map `guard_config`, one entry. `generation` changes with every new policy and is written last. */
struct guard_config {
	__u64 generation;
	__u64 expiry_ns; /* no heartbeat for so long: enforce becomes audit; 0 = never */
	union {
		__u32 modes[4]; /* for programs, which mask the index with 3 for the verifier */
		struct {
			__u32 aspect_modes[ASPECTS_WITH_WORD]; /* enum guard_mode */
			/*
			 * 0, or GUARD_RELEASED and the modes an operator's release took away. Between
			 * inspector and agent; programs do not look. The word was 0 in every policy
			 * before it had this meaning, so ABI_VERSION has not moved.
			 */
			__u32 released;
		};
	};
	__u32 managed_levels; /* bit n: a managed cgroup at level n exists */
	__u32 actor_levels;   /* bit n: an actor's cgroup at level n exists */
	__u16 pid1_rights;    /* of the init process at any time, wherever its cgroup is */
	/*
	 * The modes of the later aspects, two bits each. These bits were 0 in every policy before
	 * they had this meaning, that is GUARD_OFF, and no right of process 1 to programs that read
	 * both halves as one word. So ABI_VERSION has not moved.
	 */
	__u16 later_modes;
	/*
	 * Depth of the workload root, 0 = none: every other cgroup of that depth, made now or
	 * later, is its sibling, whose cpuset could take the root's CPUs. Only depth 1, where
	 * all have the same parent.
	 */
	__u32 sibling_level;
};
ABI_ASSERT(struct guard_config, 48, sibling_level, 44);

/*
 * map `guard_files`: what ASPECT_GUARD_FILES protects -> marks. Mounts are known by the numbers
 * that /proc/PID/mountinfo has for them, which no other mount of the machine has at that time.
 */
enum guard_file_kind {
	GUARD_FILE_DIRECTORY, /* of pins: its device and inode number */
	GUARD_FILE_SUPER,     /* a file system: its device */
	GUARD_FILE_MOUNT,     /* a mount's number */
	/* 3 was the number of a peer group, which changes with the propagation: never again */
};

struct guard_file_key {
	__u32 kind; /* enum guard_file_kind */
	__u32 dev;  /* as the kernel has it: major << 20 | minor; 0 = none */
	__u64 id;
};
ABI_ASSERT(struct guard_file_key, 16, id, 8);

#define GUARD_FILE_OURS	 (1u << 0) /* pins, the file system with them, or with the cgroups */
#define GUARD_FILE_HOLDS (1u << 1) /* such a file system is mounted on it */
#define GUARD_FILE_ABOVE (1u << 2) /* or further below it */
#define GUARD_FILES_MAX	 64

/* ============================ guard and watch: events and counters ============================ */

enum event_kind {
	EVENT_NONE,
	EVENT_GUARD,   /* an operation the guard denied or audited */
	EVENT_DRIFT,   /* somebody else wrote a managed file, successfully; text = what */
	EVENT_MOVE,    /* somebody else moved a task across a container's border, successfully */
	EVENT_ATTEMPT, /* sched_setaffinity onto protected CPUs from outside; mask = wanted */
	EVENT_MKDIR,   /* cgroup life cycle below managed roots; text = path */
	EVENT_RMDIR,
	EVENT_RELEASE,	  /* the cgroup is gone for good: its slot can be used again */
	EVENT_POPULATED,  /* value = 1 or 0 */
	EVENT_ATTACH,	  /* a task was moved into it */
	EVENT_SUPPRESSED, /* value = events of writer_cgroup not reported; made in user space */
	EVENT_KIND_NR,
};

enum event_action {
	ACTION_ALLOW,
	ACTION_AUDIT,
	ACTION_DENY,
	ACTION_NR,
};

enum guard_hook {
	HOOK_FILE_PERMISSION,
	HOOK_FILE_OPEN,
	HOOK_INODE_PERMISSION, /* clone3(CLONE_INTO_CGROUP) */
	HOOK_INODE_MKDIR,
	HOOK_INODE_RMDIR,
	HOOK_TASK_SETSCHEDULER,
	HOOK_TASK_MOVEMEMORY, /* migrate_pages, move_pages */
	HOOK_TASK_SETNICE,
	HOOK_TASK_SETIOPRIO,
	HOOK_TASK_SETRLIMIT,
	HOOK_PTRACE_ACCESS_CHECK,
	HOOK_INODE_UNLINK,
	HOOK_INODE_RENAME,
	HOOK_SB_MOUNT, /* mount(2) */
	HOOK_MOVE_MOUNT,
	HOOK_SB_UMOUNT,
	HOOK_SB_REMOUNT,
	HOOK_NR,
	HOOK_NONE = HOOK_NR, /* events of watch */
};

#define EVENT_COMM_LEN	 16
#define EVENT_FILE_LEN	 32
#define EVENT_TEXT_LEN	 256
#define EVENT_MASK_WORDS (EVENT_TEXT_LEN / 8)

/* The mask or the text was longer than the event holds. */
#define EVENT_CUT (1u << 0)

/*
 * EVENT_MOVE: what it takes to move the task back. These bytes were 0 in every such event before they
 * had this meaning, and 0 asks for nothing; earlier agents do not look. So ABI_VERSION has not moved.
 */
struct event_move {
	__u64 start_ticks; /* as in struct actor_task; 0 = not known, or not a whole process was moved */
	__u64 to_cgroup;
	__u64 from_border; /* the container that it left, 0 = none */
	__u64 to_border;   /* the container that it entered, 0 = none */
};
ABI_ASSERT(struct event_move, 32, to_border, 24);

struct event {
	__u64 time_ns;	     /* CLOCK_BOOTTIME */
	__u64 generation;    /* of the policy in force */
	__u64 writer_cgroup; /* id of the cgroup of the task that did it */
	__u64 target_cgroup; /* what it was done to; 0 = not known */
	__u64 from_cgroup;   /* EVENT_MOVE: where the task was */
	__u32 kind;	     /* enum event_kind */
	__u32 aspect;	     /* enum aspect */
	__u32 action;	     /* enum event_action */
	__u32 hook;	     /* enum guard_hook */
	__u32 pid;	     /* thread that did it, initial pid namespace */
	__u32 tgid;
	__s32 error;	   /* 0 or negative errno: what the caller got */
	__u32 suppressed;  /* earlier events of this cgroup that were only counted */
	__u32 target_pid;  /* task it was done to; 0 = none */
	__u32 target_slot; /* the container's slot, or SLOT_NONE */
	__u32 value;	   /* EVENT_POPULATED, EVENT_SUPPRESSED; EVENT_ATTEMPT: wanted CPUs */
	__u32 flags;	   /* EVENT_CUT */
	char comm[EVENT_COMM_LEN];
	char file[EVENT_FILE_LEN]; /* file or, for mkdir and rmdir, directory name */
	union {
		char text[EVENT_TEXT_LEN];
		__u64 mask[EVENT_MASK_WORDS];
		struct event_move move;
	};
};
ABI_ASSERT(struct event, 392, text, 136);

/* map `pid1_clients`, one entry: the last processes that connected to process 1 or the system bus. */
#define PID1_CLIENTS 16 /* a power of two */

struct pid1_client {
	__u64 time_ns; /* CLOCK_BOOTTIME; 0 = none, or being written */
	__u64 cgroup;  /* its id */
	__u32 pid;     /* thread group id, initial pid namespace */
	char comm[EVENT_COMM_LEN];
	__u32 reserved;
};
ABI_ASSERT(struct pid1_client, 40, reserved, 36);

struct pid1_clients {
	__u32 next; /* modulo PID1_CLIENTS, the oldest */
	__u32 reserved;
	struct pid1_client rows[PID1_CLIENTS];
};
ABI_ASSERT(struct pid1_clients, 648, rows, 8);

/* Events one cgroup may put into the ring buffer per second; the rest is counted. */
#define EVENT_BUDGET_PER_S 10

/*
 * map `event_budgets`: cgroup id -> ; a cgroup's life has a budget of its own, so
 * that a container flooding with refused writes does not hide its own end; so have the moves of
 * processes that it makes, which only the agent can undo. Cgroups for which there
 * is no room in it have one budget together, the only entry of map `shared_budget`.
 */
#define BUDGET_LIFE  (1ULL << 63)
#define BUDGET_MOVES (1ULL << 62)
struct event_budget {
	__u64 window_ns;  /* start of the current second */
	__u32 passed;	  /* in this second */
	__u32 suppressed; /* since the last event that passed */
};
ABI_ASSERT(struct event_budget, 16, suppressed, 12);

/* map `guard_counters`, per CPU: index hook * ACTION_NR + action, of operations on managed cgroups */
#define GUARD_COUNTERS (HOOK_NR * ACTION_NR)

/* map `event_counters`, per CPU; from EVENTS_LOST on, what is lost without any other trace */
enum event_counter {
	EVENTS_SENT,
	EVENTS_SUPPRESSED, /* over the budget of their cgroup, which an event reports later */
	EVENTS_LOST,	   /* the ring buffer was full */
	EVENTS_NO_ERRAND,  /* no memory to follow a clone3 */
	EVENTS_NO_SUBJECT, /* no memory to follow a move or a sched_setaffinity */
	EVENTS_NO_BUDGET,  /* over the budget of cgroups that have none of their own */
	/* 6 counted a runtime's first writes without room, of which there were none: never again */
	EVENTS_NO_TEXT = 7, /* no room to note a text of process 1, which may then not repeat it */
	EVENTS_NR,
};

/* map `watch_counters`, per CPU: index enum event_kind, counted before the budget */

/*
 * map `watch_masks`: the protected CPUs, then the online CPUs, each as many words
 * as the possible CPUs need. map `slot_masks`, mmapable: a container's CPUs, index
 * slot * words + word. Both in the order of the kernel's cpumask.
 */

/* ============================ BPF objects and their pins ======================================= */

/* One object each; `meta` is pinned beside maps/ and links/. */
enum bpf_object_id {
	BPF_OBJECT_GUARD,
	BPF_OBJECT_WATCH,
	BPF_OBJECT_OBSERVE,
	BPF_OBJECT_NR = 8, /* room for later objects without a new layout */
};

/* How the guard's programs are attached. */
enum mechanism {
	MECHANISM_NONE,
	MECHANISM_LSM,
	MECHANISM_FMOD_RET,
};

/* map `meta`: enum bpf_object_id -> what is pinned; abi_version 0 = nothing, or not whole */
struct bpf_object_meta {
	__u32 abi_version;
	__u16 mechanism; /* enum mechanism, 0 where there is only one way */
	/* ABI_OLDEST of the agent that wrote it; 0 if it did not know the member: none older */
	__u16 abi_oldest;
	__u64 digest; /* of the programs, their constants and the map sizes */
};
ABI_ASSERT(struct bpf_object_meta, 16, digest, 8);

/*
 * map `turns`: CPU id -> the number of the generation of programs that counts there; behind
 * the CPUs, the number that was given out last. The same map for every version.
 */

/* ============================ observe: counters =============================================== */
/* (section of bpf/observe.bpf.c) */

/*
 * A slot is a container that is counted; slots are given out from 1. Slot 0 is
 * all other tasks of the machine; their time is not counted.
 */
#define SLOT_HOST 0u

/*
 * Who had the CPU that a runnable task waited for, seen from that task. The order of the
 * three kinds of container lets a program subtract its two comparisons (observe.bpf.c).
 */
enum wait_cause {
	WAIT_UNATTRIBUTED, /* not known; zeroed memory says this */
	WAIT_OWN_CONTAINER,
	WAIT_POD_SIBLING, /* another container of its pod */
	WAIT_OTHER_POD,
	WAIT_HOST,	/* a task of no container */
	WAIT_KERNEL,	/* a kernel thread */
	WAIT_IDLE,	/* nobody: the CPU was still to be woken, or kept idle */
	WAIT_OWN_QUOTA, /* whoever ran: its cgroup or one above was throttled */
	WAIT_CAUSE_NR,
};

/*
 * Waits by their length: bucket n counts those of up to 2^(LATENCY_FIRST_SHIFT + n) ns that are
 * longer than those of the bucket before it. The last bucket counts all longer ones, too.
 */
#define LATENCY_BUCKETS	    24
#define LATENCY_FIRST_SHIFT 10

/*
 * map `observe_counters`, mmapable: index slot * nr_cpus + cpu -> six cache lines.
 * All times are ns of the run queue clock. Written under the lock of that CPU's run queue,
 * so by one at a time; but a migration is counted by the CPU that sends the task away.
 *
 * The last line is written seldom, and what it has is not 0 only if run_ns or switches are not
 * either: who wants to know whether anything was counted need not touch it.
 */
struct observe_counter {
	__u64 run_ns;
	__u64 migrations_thread; /* of a task to another CPU of the same core */
	__u64 switches;		 /* a task of the slot got this CPU */
	__u64 migrations_core;	 /* to another core of the same last-level cache */
	__u64 migrations_llc;	 /* of the same NUMA node, another last-level cache */
	__u64 migrations_numa;	 /* of another NUMA node */
	/*
	 * Waits from the wakeup, or from the switch that took the CPU away, until a task of the
	 * slot got this CPU. A wait that went on over several CPUs counts once, where it ended.
	 */
	__u64 latency_ns;		  /* their sum */
	__u64 longest_ns;		  /* the longest of them */
	__u64 wait_ns[WAIT_CAUSE_NR];	  /* runnable and not running here, waits that are over */
	__u64 latencies[LATENCY_BUCKETS]; /* how many; 64 bits do not wrap */
	__u64 outside_ns;		  /* part of run_ns: this CPU was not in the slot's mask */
	/*
	 * A task of the slot lost this CPU although it could have run on: to another task, because
	 * its cgroup was throttled, or by sched_yield(). These are the kernel's involuntary
	 * switches but for a task that is preempted on its way to sleep.
	 */
	__u64 preemptions;
	__u64 reserved[6];
};
ABI_ASSERT(struct observe_counter, 384, reserved, 336);

/* The same in ABI version 4, where migrations_core are also those within a core. */
struct observe_counter_v4 {
	__u64 run_ns, outside_ns, switches, migrations_core, migrations_llc, migrations_numa;
	__u64 latency_ns, longest_ns, wait_ns[WAIT_CAUSE_NR], latencies[LATENCY_BUCKETS];
};
ABI_ASSERT(struct observe_counter_v4, 320, latencies, 128);

/* In ABI version 3 a counter ended before `latencies`; the two words before wait_ns were 0. */
#define OBSERVE_COUNTER_V3_SIZE 128

/* The same in ABI versions 1 and 2, whose counts are carried over. */
struct observe_counter_v2 {
	__u64 run_ns;
	__u64 outside_ns;
	__u64 wait_ns;
	__u64 wait_quota_ns; /* part of wait_ns */
	__u64 switches;
	__u64 migrations_core;
	__u64 migrations_llc;
	__u64 migrations_numa;
};
ABI_ASSERT(struct observe_counter_v2, 64, migrations_numa, 56);

/* Flag beside a slot: this CPU is not in its mask. */
#define SLOT_OUTSIDE (1u << 31)

/* A cgroup's slot as a CPU last found it, in one generation of slots and masks. */
struct observe_lookup {
	__u64 serial; /* the kernel's number of the cgroup, never used again; the root's is 0 */
	__u32 slot;   /* and SLOT_OUTSIDE */
	__u32 pod;    /* of that slot */
};

#define OBSERVE_LOOKUPS 8 /* a power of two */

/* What had a CPU from `start_clock` until the next interval began. */
struct observe_interval {
	__u64 start_clock;
	__u32 slot;
	__u16 pod;
	__u16 kind; /* enum wait_cause as a task of another pod sees it */
};

#define OBSERVE_INTERVALS 1024 /* a power of two */

/*
 * map `observe_cpus`, mmapable, one entry: an array by CPU id of what runs there now, so
 * that a reader can add the interval that is still open. `sequence` is odd during a change.
 *
 * The totals and intervals explain waits, so they are kept up only while a task of some
 * container waits: a boundary between two tasks of the host at another time is left out.
 */
struct observe_cpu {
	__u32 sequence;
	__u32 slot;	     /* of the running task, and SLOT_OUTSIDE */
	__u64 start_clock;   /* up to when running time is counted; nothing for SLOT_HOST */
	__u64 since_clock;   /* since when tasks of one container, or of one kind, have the CPU */
	__u32 generation;    /* of the slots and masks that the lookups were made by */
	__u32 pod;	     /* of the running task */
	__u64 next_interval; /* modulo OBSERVE_INTERVALS, the oldest */
	__u64 host_ns, kernel_ns,
		pods_ns; /* that tasks of no container, kernel threads, containers ran */
	struct observe_lookup lookups[OBSERVE_LOOKUPS];
	__u64 clock;	    /* one instant on this CPU's run queue clock … */
	__u64 monotonic_ns; /* … and on CLOCK_MONOTONIC; taken again every second or so */
	__u64 forgotten;    /* tasks, also ended ones, whose record another task took over */
	__u64 reserved[5];
	struct observe_interval intervals[OBSERVE_INTERVALS]; /* that are over */
};
ABI_ASSERT(struct observe_cpu, 16640, intervals, 256);

/* map `observe_places`, mmapable: CPU id -> */
struct observe_place {
	__u32 node; /* any number that is equal for CPUs of one NUMA node */
	__u32 llc;  /* the same for one last-level cache */
	__u32 core; /* and for one core */
	__u32 reserved;
};
ABI_ASSERT(struct observe_place, 16, reserved, 12);

/* map `observe_slots`, mmapable: slot -> whose it is; programs read the pod alone. */
struct observe_slot {
	__u64 cgroup_id; /* 0 = free */
	__u64 nodes;	 /* bit n: memory on NUMA node n is local to it */
	__u32 level;	 /* depth of the cgroup; the root is 0 */
	__u32 pod;	 /* a number below nr_slots, not 0, equal for containers of one pod */
	__u64 claims;	 /* how often the slot was given out */
};
ABI_ASSERT(struct observe_slot, 32, claims, 24);

/* map `observe_pods`: index pod * nr_cpus + cpu -> ns that the pod's containers ran */

/* map `observe_control`, mmapable, one entry: what changes when slots do. */
struct observe_control {
	__u32 version;	  /* ABI_VERSION; 0 = not set up */
	__u32 generation; /* of the slots and their pods, and of `slot_masks`; written last */
	__u32 levels;	  /* bit n: a cgroup with a slot is at level n */
	__u32 nr_cpus;	  /* possible CPU ids */
	__u32 nr_slots;	  /* including slot 0 */
	__u32 mask_words;
	__u64 exhausted; /* containers that found no free slot */
};
ABI_ASSERT(struct observe_control, 32, exhausted, 24);

/* ============================ end of observe ================================================== */

#endif
