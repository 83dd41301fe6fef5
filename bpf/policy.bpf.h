/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who is inside what, and who may do what: the questions guard and watch both
 * ask. Pure look-ups in the policy maps; deciding is guard's, telling is watch's.
 */
#ifndef POLICY_BPF_H
#define POLICY_BPF_H

#include "compat.bpf.h"
#include "maps.bpf.h"

/* Where a cgroup stands. */
struct place {
	__u64 id;
	__u64 tree;   /* innermost managed tree around it or itself, 0 = none */
	__u64 border; /* innermost container around it or itself, 0 = none */
	__u32 level;
	__u32 border_level;
	__u32 slot;	/* the container's */
	__u8 self;	/* managed by itself: its own control files */
	__u8 overlap;	/* managed by itself: its cpuset files */
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

/* Take one managed entry at `level` on the way from the root down to `place`. */
static __always_inline void enter_place(struct place *place, __u64 id, __u32 level,
					const struct managed *entry)
{
	/* an inode number used again at another depth is another cgroup */
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
 * Take what is managed at one level of the way from the root to the cgroup at
 * address `cgrp`.
 *
 * A global function, here and below, is verified once by itself: in line the body of
 * a loop would be verified again on every path of every hook, thousands of instructions
 * more each time, which under emulation is the greater part of the agent's start.
 * Such functions take pointers to plain memory only, hence the address as a number.
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
 * Where the cgroup at address `cgrp` stands; 0 = nowhere. `*ret_place` must be
 * zeroed by the caller. Only levels that hold managed cgroups are looked at: two
 * or three look-ups however deep the cgroup lies.
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
	/* A list of siblings would miss the one that is made in the next moment. */
	if (config->sibling_level && ret_place->level == config->sibling_level &&
	    !ret_place->tree && !ret_place->self)
		ret_place->overlap = 1;
}

/*
 * A pointer that came as a program's argument, stripped of what the verifier
 * knows about it: a global function takes no typed pointer for a number.
 */
static __always_inline struct cgroup *untyped(struct cgroup *cgrp)
{
	struct cgroup *plain = NULL;

	bpf_probe_read_kernel(&plain, sizeof(plain), &cgrp);
	return plain;
}

/* Is cgroup `cgrp` the cgroup `id` at `level`, or below it? */
static __always_inline bool is_within(struct cgroup *cgrp, __u64 id, __u32 level)
{
	if (!id || !cgrp || (__u32)BPF_CORE_READ(cgrp, level) < level)
		return false;
	return id_of(ancestor_of(cgrp, level)) == id;
}

/* Rights by one level of the way from the root to the cgroup at address `cgrp`, level > 0. */
__noinline __u32 rights_of_level(__u64 cgrp, __u32 level)
{
	struct cgroup *candidate = ancestor_of((struct cgroup *)cgrp, level);
	struct actor_key key = {.parent_id = id_of(ancestor_of((struct cgroup *)cgrp, level - 1))};
	struct actor *actor;

	bpf_probe_read_kernel_str(key.name, sizeof(key.name), BPF_CORE_READ(candidate, kn, name));
	actor = bpf_map_lookup_elem(&actors, &key);
	return actor ? actor->rights : 0;
}

/* Rights of tasks in the cgroup at address `cgrp`: of every actor's cgroup around it. */
__noinline __u32 rights_of_cgroup(__u64 cgrp, __u32 levels)
{
	__u32 depth = BPF_CORE_READ((struct cgroup *)cgrp, level), rights = 0;

	for (__u32 level = 1; level < MANAGED_LEVELS_MAX && level <= depth; level++)
		if (levels & (1u << level))
			rights |= rights_of_level(cgrp, level);
	return rights;
}

/* Rights of the current task: by its process, by its cgroup, as the init process. */
static __always_inline __u32 rights_of_current(struct cgroup *cgrp,
					       const struct guard_config *config)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, rights = 0;
	struct actor_task *process = bpf_map_lookup_elem(&actor_tasks, &tgid);

	if (process &&
	    process->start_ticks == BPF_CORE_READ(task, group_leader, start_boottime) / 10000000)
		rights |= process->rights;
	if (tgid == 1)
		rights |= config->pid1_rights;
	if (cgrp && config->actor_levels)
		rights |= rights_of_cgroup((__u64)cgrp, config->actor_levels);
	return rights;
}

/* --- files ---------------------------------------------------------------------------------- */

enum file_class {
	FILE_OTHER,	  /* not ours */
	FILE_CPUSET,	  /* where a container may run */
	FILE_CONTROL,	  /* what would undo it, starve it or hide how it fares */
	FILE_CONTROLLERS, /* what its children can be given */
	FILE_MEMBERS,	  /* who is inside */
	FILE_LIFE,	  /* freezing and killing all of it */
};

#define FILE_NAME_LEN 24

/*
 * Files the kernel gives to whom a cgroup is delegated (/sys/kernel/cgroup/delegate);
 * inside a container they belong to the container, also in its own directory.
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
	{"cgroup.kill", FILE_LIFE},
	{"cgroup.freeze", FILE_LIFE},
};

#define NR_GUARDED_FILES (sizeof(guarded_files) / sizeof(guarded_files[0]))

/*
 * enum file_class, or'ed with FILE_DELEGATED, of the file `name`, which is NUL-padded.
 * Not a global function: the verifier of 6.1 then takes a branch of judge() for dead
 * and denies a runtime's first write (tests/guest/guard shows it).
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
