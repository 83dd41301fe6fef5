/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is in force in a cgroup: the values behind its files and the controllers of its children, read from
 * the kernel's structs. What cannot be read, or is not known here, counts as different from what is
 * written. A part of guard.bpf.c.
 */
#ifndef GUARD_FORCE_BPF_H
#define GUARD_FORCE_BPF_H

#include "value_text.bpf.h"

/* 64-bit words that the possible CPUs need, <= ABI_MASK_WORDS_MAX. */
const volatile __u32 guard_mask_words = 1;

enum value_file {
	VALUE_NONE, /* not known here */
	VALUE_CPUS,
	VALUE_MEMS,
	VALUE_IDLE,
	VALUE_WEIGHT,
	VALUE_QUOTA,
	VALUE_MEMORY, /* and the following */
	VALUE_MIN = VALUE_MEMORY,
	VALUE_LOW,
	VALUE_HIGH,
	VALUE_LIMIT,
	VALUE_SWAP,
	VALUE_OOM_GROUP,
	VALUE_ZSWAP,
	VALUE_WRITEBACK,
};

struct valued_file {
	char name[FILE_NAME_LEN]; /* compared as three words, NUL-padded */
	__u64 file;
};

static const struct valued_file valued_files[] = {
	{"cpuset.cpus", VALUE_CPUS},
	{"cpuset.mems", VALUE_MEMS},
	{"cpu.idle", VALUE_IDLE},
	{"cpu.weight", VALUE_WEIGHT},
	{"cpu.max", VALUE_QUOTA},
	{"memory.min", VALUE_MIN},
	{"memory.low", VALUE_LOW},
	{"memory.high", VALUE_HIGH},
	{"memory.max", VALUE_LIMIT},
	{"memory.swap.max", VALUE_SWAP},
	{"memory.oom.group", VALUE_OOM_GROUP},
	{"memory.zswap.max", VALUE_ZSWAP},
	{"memory.zswap.writeback", VALUE_WRITEBACK},
};

/* By the three words of its name. A global function, which the verifier goes through once. */
__noinline __u32 value_file_of(__u64 first, __u64 second, __u64 third)
{
	for (__u32 i = 0; i < sizeof(valued_files) / sizeof(valued_files[0]); i++) {
		const __u64 *entry = (const void *)valued_files[i].name;

		if (first == entry[0] && second == entry[1] && third == entry[2])
			return valued_files[i].file;
	}
	return VALUE_NONE;
}

/* --- reading ------------------------------------------------------------------------------------- */

/* The id of a controller, which depends on the kernel's configuration; 0xff if it has none. */
#define NO_CONTROLLER 0xff
#define CONTROLLER_ID(name)                                                \
	(bpf_core_enum_value_exists(enum cgroup_subsys_id, name)           \
		 ? (__u32)bpf_core_enum_value(enum cgroup_subsys_id, name) \
		 : NO_CONTROLLER)

/* Where the state of a controller is for the cgroup at address `cgrp`; 0 = it has none. */
static __always_inline __u64 state_of(__u64 cgrp, __u32 id)
{
	__u64 state = 0;

	if (id != NO_CONTROLLER)
		bpf_probe_read_kernel(&state, sizeof(state),
				      (void *)(cgrp + bpf_core_field_offset(struct cgroup, subsys) +
					       id * sizeof(void *)));
	return state;
}

static __always_inline __u64 read_u64(__u64 at)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)at);
	return value;
}

static __always_inline __u8 read_u8(__u64 at)
{
	__u8 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)at);
	return value;
}

/* --- cpuset -------------------------------------------------------------------------------------- */

static __always_inline bool has_cpus(__u64 set, struct text_parse *parse)
{
	struct cpuset___inline *inside = NULL;
	struct cpuset___pointer *behind = NULL;

	if (bpf_core_field_exists(behind->cpus_allowed))
		return lists_bits(parse,
				  read_u64(set + bpf_core_field_offset(struct cpuset___pointer,
								       cpus_allowed)),
				  guard_mask_words);
	if (bpf_core_field_exists(inside->cpus_allowed))
		return lists_bits(parse,
				  set + bpf_core_field_offset(struct cpuset___inline, cpus_allowed),
				  guard_mask_words);
	return false;
}

static __always_inline bool has_mems(__u64 set, struct text_parse *parse)
{
	struct cpuset *type = NULL;

	return lists_bits(parse, set + bpf_core_field_offset(struct cpuset, mems_allowed),
			  bpf_core_field_size(type->mems_allowed) / sizeof(__u64));
}

static __always_inline bool is_cpuset_in_force(__u64 cgrp, __u32 file, struct text_parse *parse)
{
	__u64 state = state_of(cgrp, CONTROLLER_ID(cpuset_cgrp_id));

	if (!state)
		return false;
	state -= bpf_core_field_offset(struct cpuset, css);
	return file == VALUE_CPUS ? has_cpus(state, parse) : has_mems(state, parse);
}

/* --- cpu ----------------------------------------------------------------------------------------- */

#define SHARES_SHIFT 10 /* of 64-bit kernels */
#define QUOTA_NONE   (~0ULL)
#define NS_PER_US    1000ULL

static __always_inline bool has_quota(__u64 group, const struct text_parse *parse)
{
	__u64 at = group + bpf_core_field_offset(struct task_group, cfs_bandwidth), quota;
	struct cfs_bandwidth *type = NULL;

	if (!bpf_core_field_exists(type->quota))
		return false;
	quota = parse->values[0] == VALUE_MAX ? QUOTA_NONE : parse->values[0] * NS_PER_US;
	if (quota != read_u64(at + bpf_core_field_offset(struct cfs_bandwidth, quota)))
		return false;
	return parse->nr == 1 ||
	       parse->values[1] * NS_PER_US ==
		       read_u64(at + bpf_core_field_offset(struct cfs_bandwidth, period));
}

static __always_inline bool is_cpu_in_force(__u64 cgrp, __u32 file, const struct text_parse *parse)
{
	__u64 group = state_of(cgrp, CONTROLLER_ID(cpu_cgrp_id));
	struct task_group *type = NULL;

	if (!group)
		return false;
	group -= bpf_core_field_offset(struct task_group, css);
	if (file == VALUE_QUOTA)
		return has_quota(group, parse);
	if (parse->nr != 1 || !bpf_core_field_exists(type->idle) ||
	    !bpf_core_field_exists(type->shares))
		return false;
	if (file == VALUE_IDLE)
		return parse->values[0] ==
		       (__u32)read_u64(group + bpf_core_field_offset(struct task_group, idle));
	/* as the kernel computes them of a weight */
	return parse->values[0] <= 10000 &&
	       ((parse->values[0] * 1024 + 50) / 100) << SHARES_SHIFT ==
		       read_u64(group + bpf_core_field_offset(struct task_group, shares));
}

/* --- memory -------------------------------------------------------------------------------------- */

/* No limit: this or more, whatever the size of a page. */
#define PAGES_NONE (~0ULL >> 17)

/* Only the values that a new cgroup has are known: others depend on the size of a page. */
static __always_inline bool is_memory_in_force(__u64 cgrp, __u32 file,
					       const struct text_parse *parse)
{
	__u64 group = state_of(cgrp, CONTROLLER_ID(memory_cgrp_id)), value = parse->values[0];
	struct mem_cgroup *type = NULL;
	__u64 at;

	if (!group || parse->nr != 1 || !bpf_core_type_exists(struct mem_cgroup))
		return false;
	group -= bpf_core_field_offset(struct mem_cgroup, css);
	at = group + bpf_core_field_offset(struct mem_cgroup, memory);
	switch (file) {
	case VALUE_MIN:
		return !value && !read_u64(at + bpf_core_field_offset(struct page_counter, min));
	case VALUE_LOW:
		return !value && !read_u64(at + bpf_core_field_offset(struct page_counter, low));
	case VALUE_HIGH:
		at += bpf_core_field_offset(struct page_counter, high);
		break;
	case VALUE_SWAP:
		at = group + bpf_core_field_offset(struct mem_cgroup, swap);
		/* fallthrough */
	case VALUE_LIMIT:
		at += bpf_core_field_offset(struct page_counter, max);
		break;
	case VALUE_OOM_GROUP:
		return value ==
		       read_u8(group + bpf_core_field_offset(struct mem_cgroup, oom_group));
	case VALUE_WRITEBACK:
		return bpf_core_field_exists(type->zswap_writeback) &&
		       value == read_u8(group +
					bpf_core_field_offset(struct mem_cgroup, zswap_writeback));
	case VALUE_ZSWAP:
		if (!bpf_core_field_exists(type->zswap_max))
			return false;
		at = group + bpf_core_field_offset(struct mem_cgroup, zswap_max);
		break;
	default:
		return false;
	}
	return value == VALUE_MAX && read_u64(at) >= PAGES_NONE;
}

/* --- what the guard asks ------------------------------------------------------------------------- */

/* Has the file `name` of the cgroup at address `cgrp` the value already that the text states? */
static __noinline bool is_in_force(__u64 cgrp, const char name[FILE_NAME_LEN],
				   struct text_parse *parse)
{
	const __u64 *words = (const void *)name;
	__u32 file = value_file_of(words[0], words[1], words[2]);

	if (file == VALUE_NONE || !cgrp)
		return false;
	if (file == VALUE_CPUS || file == VALUE_MEMS)
		return is_cpuset_in_force(cgrp, file, parse);
	if (!parse_words(parse))
		return false;
	return file < VALUE_MEMORY ? is_cpu_in_force(cgrp, file, parse)
				   : is_memory_in_force(cgrp, file, parse);
}

static __always_inline __u32 controller_id(__u32 controller)
{
	switch (controller) {
	case CONTROLLER_CPUSET:
		return CONTROLLER_ID(cpuset_cgrp_id);
	case CONTROLLER_CPU:
		return CONTROLLER_ID(cpu_cgrp_id);
	case CONTROLLER_IO:
		return CONTROLLER_ID(io_cgrp_id);
	case CONTROLLER_MEMORY:
		return CONTROLLER_ID(memory_cgrp_id);
	case CONTROLLER_PIDS:
		return CONTROLLER_ID(pids_cgrp_id);
	default:
		return NO_CONTROLLER;
	}
}

/* The controllers that the children of `cgrp` have, by their id: a u16 until 6.16 or later, now a u32. */
static __always_inline __u32 controllers_below(__u64 cgrp)
{
	struct cgroup___control_u16 *before = (void *)cgrp;
	struct cgroup___control_u32 *after = (void *)cgrp;
	__u32 enabled = ~0U;
	__u16 few;

	if (bpf_core_field_exists(after->subtree_control))
		bpf_core_read(&enabled, sizeof(enabled), &after->subtree_control);
	else if (bpf_core_field_exists(before->subtree_control) &&
		 !bpf_core_read(&few, sizeof(few), &before->subtree_control))
		enabled = few;
	return enabled;
}

/*
 * Does the text only disable a controller that no child has? One that a privileged writer enables in the
 * next moment is taken away nevertheless; the look that follows its write puts it back.
 */
static __always_inline bool disables_nothing(__u64 cgrp, const struct written_text *text)
{
	__u32 id = controller_id(disabled_controller(text));

	return cgrp && id < 32 && !(controllers_below(cgrp) >> id & 1);
}

#endif
