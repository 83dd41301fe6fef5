/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Look-ups that guard and watch share: which managed cgroups a cgroup belongs to, and which
 * rights a task has. Only reads the policy maps; guard decides, watch reports.
 */
#ifndef POLICY_BPF_H
#define POLICY_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* The position of a cgroup relative to the managed cgroups. */
struct place {
	__u64 id;
	__u64 tree;   /* innermost managed tree that it belongs to, 0 = none */
	__u64 border; /* innermost container that it belongs to, 0 = none */
	__u32 level;
	__u32 border_level;
	__u32 slot;	/* the container's */
	__u8 self;	/* managed itself: its own control files */
	__u8 overlap;	/* managed itself: its cpuset files */
	__u8 self_test; /* the guard's self-test cgroup */
	__u8 reserved;
};

static __always_inline __u64 id_of(struct cgroup *cgrp)
{
	return BPF_CORE_READ(cgrp, kn, id);
}

static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp);
}

/* Add one managed entry at `level` on the way from the root down to the cgroup of `place`. */
static __always_inline void enter_place(struct place *place, __u64 id, __u32 level,
					const struct managed *entry)
{
	/* another cgroup, at another depth, reuses the inode number */
	if (entry->level != level)
		return;
	if (entry->kind == MANAGED_KIND_TREE) {
		place->tree = id;
		if (entry->flags & MANAGED_SELFTEST)
			place->self_test = 1;
		if (entry->flags & MANAGED_BORDER) {
			place->border = id;
			place->border_level = level;
			place->slot = entry->slot;
		}
	} else if (level == place->level) {
		place->self = entry->kind == MANAGED_KIND_SELF;
		place->overlap = entry->kind == MANAGED_KIND_OVERLAP;
	}
}

/*
 * Process one level of the way from the root to the cgroup at address `cgrp`.
 *
 * A global function, here and below, is verified once, on its own. If it were inline, the body
 * of a loop would be verified again on every path of every hook: thousands of instructions
 * more each time, which under emulation takes the greater part of the agent's start. Such
 * functions only take pointers to plain memory, hence the address as a number.
 */
__noinline int enter_level(__u64 cgrp, __u32 level, struct place *ret_place)
{
	struct managed *entry;
	__u64 id = id_of(ancestor_of((struct cgroup *)cgrp, level));

	if (!ret_place)
		return 0;
	entry = bpf_map_lookup_elem(&managed, &id);
	if (entry)
		enter_place(ret_place, id, level, entry);
	return 0;
}

/*
 * The place of the cgroup at address `cgrp`; 0 = none. The caller must zero `*ret_place`. Only
 * levels with managed cgroups are examined: two or three look-ups, however deep the cgroup is.
 */
__noinline int find_place_at(__u64 cgrp, __u32 levels, struct place *ret_place)
{
	__u32 depth;

	if (!ret_place)
		return 0;
	ret_place->slot = SLOT_NONE;
	if (!cgrp)
		return 0;
	ret_place->id = id_of((struct cgroup *)cgrp);
	depth = ret_place->level = BPF_CORE_READ((struct cgroup *)cgrp, level);
	for (__u32 level = 0; level < MANAGED_LEVELS_MAX && level <= depth; level++)
		if (levels & (1u << level))
			enter_level(cgrp, level, ret_place);
	return 0;
}

static __always_inline void find_place(struct cgroup *cgrp, const struct guard_config *config,
				       struct place *ret_place)
{
	__builtin_memset(ret_place, 0, sizeof(*ret_place));
	find_place_at((__u64)cgrp, config->managed_levels, ret_place);
	/* A list of siblings would miss one that is created in the next moment. */
	if (config->sibling_level && ret_place->level == config->sibling_level &&
	    !ret_place->tree && !ret_place->self)
		ret_place->overlap = 1;
}

/*
 * Convert a program's pointer argument to a number, without the type that the verifier tracks:
 * a global function does not accept a typed pointer as a number.
 */
static __always_inline struct cgroup *untyped(struct cgroup *cgrp)
{
	struct cgroup *plain = NULL;

	bpf_probe_read_kernel(&plain, sizeof(plain), &cgrp);
	return plain;
}

/* Is `cgrp` the cgroup `id` at `level`, or below it? */
static __always_inline bool is_within(struct cgroup *cgrp, __u64 id, __u32 level)
{
	if (!id || !cgrp || (__u32)BPF_CORE_READ(cgrp, level) < level)
		return false;
	return id_of(ancestor_of(cgrp, level)) == id;
}

/* The rights from one level of the way from the root to the cgroup at address `cgrp`; level > 0. */
__noinline __u32 rights_of_level(__u64 cgrp, __u32 level)
{
	struct cgroup *candidate = ancestor_of((struct cgroup *)cgrp, level);
	struct actor_key key = {.parent_id = id_of(ancestor_of((struct cgroup *)cgrp, level - 1))};
	struct actor *actor;

	bpf_probe_read_kernel_str(key.name, sizeof(key.name), BPF_CORE_READ(candidate, kn, name));
	actor = bpf_map_lookup_elem(&actors, &key);
	return actor ? actor->rights : 0;
}

/* The rights of tasks in the cgroup at address `cgrp`: those of every actor's cgroup above it. */
__noinline __u32 rights_of_cgroup(__u64 cgrp, __u32 levels)
{
	__u32 depth = BPF_CORE_READ((struct cgroup *)cgrp, level), rights = 0;

	for (__u32 level = 1; level < MANAGED_LEVELS_MAX && level <= depth; level++)
		if (levels & (1u << level))
			rights |= rights_of_level(cgrp, level);
	return rights;
}

/* The rights that the process of `task` has by itself, wherever its cgroup is. */
static __always_inline __u32 rights_of_process(struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct actor_task *process = bpf_map_lookup_elem(&actor_tasks, &tgid);

	/* a process id that another process reuses has another start time */
	if (!process ||
	    process->start_ticks != BPF_CORE_READ(task, group_leader, start_boottime) / 10000000)
		return 0;
	return process->rights;
}

/*
 * Does process 1 carry out something that the agent asked for? Whoever has it do something else at
 * that moment is not told apart. Fails closed: without a lease process 1 is as everybody else.
 */
static __always_inline bool lease_is_open(void)
{
	__u32 zero = 0;
	__u64 *lease = bpf_map_lookup_elem(&guard_lease, &zero);
	__u64 until_ns = lease ? *(volatile __u64 *)lease : 0, now_ns;

	if (!until_ns)
		return false;
	now_ns = bpf_ktime_get_ns();
	return now_ns < until_ns && until_ns - now_ns <= GUARD_LEASE_MAX_NS;
}

static __always_inline bool is_process_1(void)
{
	return bpf_get_current_pid_tgid() >> 32 == 1;
}

/* The rights of the current task: through its process, through its cgroup, as the init process. */
static __always_inline __u32 rights_of_current(struct cgroup *cgrp,
					       const struct guard_config *config)
{
	__u32 rights = rights_of_process(bpf_get_current_task_btf());

	if (is_process_1()) {
		rights |= config->pid1_rights;
		if (lease_is_open())
			rights |= RIGHTS_PID1_LEASE;
	}
	if (cgrp && config->actor_levels)
		rights |= rights_of_cgroup((__u64)cgrp, config->actor_levels);
	return rights;
}

/* --- files ---------------------------------------------------------------------------------- */

enum file_class {
	FILE_OTHER,   /* not guarded */
	FILE_CPUSET,  /* where a container may run */
	FILE_CONTROL, /* would undo the placement, starve the container or hide its state */
	FILE_MEMORY,  /* memory limits and protections: would starve or stall the container */
	FILE_RECLAIM, /* swaps its pages out; the root cgroup has it too, for the whole machine */
	FILE_CONTROLLERS, /* the controllers of its children */
	FILE_MEMBERS,	  /* membership */
	FILE_FREEZE,	  /* stops all of it */
	FILE_LIFE,	  /* ends all of it */
};

/*
 * Files that the kernel hands over when a cgroup is delegated (/sys/kernel/cgroup/delegate).
 * Inside a container they belong to the container, also in its own directory.
 */
#define FILE_DELEGATED 0x80

struct guarded_file {
	char name[FILE_NAME_LEN]; /* compared as three words, NUL-padded */
	__u64 class;
};

static const struct guarded_file guarded_files[] = {
	{"cpuset.cpus", FILE_CPUSET},
	{"cpuset.mems", FILE_CPUSET},
	{"cpuset.cpus.partition", FILE_CPUSET},
	{"cpuset.cpus.exclusive", FILE_CPUSET},
	{"cgroup.procs", FILE_MEMBERS | FILE_DELEGATED},
	{"cgroup.threads", FILE_MEMBERS | FILE_DELEGATED},
	{"cgroup.subtree_control", FILE_CONTROLLERS | FILE_DELEGATED},
	{"cgroup.type", FILE_CONTROL},
	{"cgroup.max.depth", FILE_CONTROL},
	{"cgroup.max.descendants", FILE_CONTROL},
	{"cgroup.pressure", FILE_CONTROL},
	{"cpu.max", FILE_CONTROL},
	{"cpu.max.burst", FILE_CONTROL},
	{"cpu.weight", FILE_CONTROL},
	{"cpu.weight.nice", FILE_CONTROL},
	{"cpu.idle", FILE_CONTROL},
	{"cpu.uclamp.min", FILE_CONTROL},
	{"cpu.uclamp.max", FILE_CONTROL},
	{"memory.min", FILE_MEMORY},
	{"memory.low", FILE_MEMORY},
	{"memory.high", FILE_MEMORY},
	{"memory.max", FILE_MEMORY},
	{"memory.swap.high", FILE_MEMORY},
	{"memory.swap.max", FILE_MEMORY},
	{"memory.zswap.max", FILE_MEMORY},
	{"memory.zswap.writeback", FILE_MEMORY},
	{"memory.oom.group", FILE_MEMORY | FILE_DELEGATED},
	{"memory.reclaim", FILE_RECLAIM | FILE_DELEGATED},
	{"cgroup.kill", FILE_LIFE},
	{"cgroup.freeze", FILE_FREEZE},
};

#define NR_GUARDED_FILES (sizeof(guarded_files) / sizeof(guarded_files[0]))

/*
 * enum file_class, or'ed with FILE_DELEGATED, of the file `name`, which is NUL-padded. Not a
 * global function: with one, the verifier of 6.1 took a branch of judge() for dead code, and
 * what that branch allowed was denied.
 */
static __always_inline __u32 classify_file(const char name[FILE_NAME_LEN])
{
	const __u64 *words = (const void *)name;

	for (__u32 i = 0; i < NR_GUARDED_FILES; i++) {
		const __u64 *entry = (const void *)guarded_files[i].name;

		if (words[0] == entry[0] && words[1] == entry[1] && words[2] == entry[2])
			return guarded_files[i].class;
	}
	return FILE_OTHER;
}

#endif
