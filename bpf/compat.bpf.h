/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What moved between kernels, in one place; each shim says which kernels differ.
 * Expects vmlinux.h and the libbpf headers to be included before it.
 */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

/* linux/magic.h, include/linux/fs.h, include/linux/sched.h: numbers that are not in BTF. */
#define CGROUP2_SUPER_MAGIC 0x63677270
#define FMODE_WRITE	    0x2
#define MAY_WRITE	    0x2
#define MAY_OPEN	    0x20
#define PF_KTHREAD	    0x00200000
#define CLONE_INTO_CGROUP   0x200000000ULL
#define EPERM		    1
#define ENOMEM		    12

/* kernfs_node.parent became RCU-protected and was renamed in 6.15. */
static __always_inline struct kernfs_node *parent_of(struct kernfs_node *kn)
{
	struct kernfs_node___until_6_14 *before = (void *)kn;
	struct kernfs_node___since_6_15 *after = (void *)kn;

	if (bpf_core_field_exists(after->__parent))
		return BPF_CORE_READ(after, __parent);
	return BPF_CORE_READ(before, parent);
}

/*
 * cgroup.ancestors[] (6.1 and later): pointers from the root down, the cgroup
 * itself at [level]. Read with a computed offset because a variable index into
 * a flexible array is not something CO-RE relocates.
 */
static __always_inline struct cgroup *ancestor_of(struct cgroup *cgrp, __u32 level)
{
	struct cgroup *ancestor = NULL;
	__u64 at = (__u64)cgrp + bpf_core_field_offset(struct cgroup, ancestors);

	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), (void *)(at + level * sizeof(ancestor)));
	return ancestor;
}

/*
 * Is `task` a copy of the current task that fork has not finished? It gets its own struct pid
 * when it becomes visible, and no two tasks share one; so nobody else meets a task for which
 * this holds. System call numbers say nothing here: a thread of io_uring has those of its
 * maker, and work queued to a task runs on its way out of any call.
 */
static __always_inline bool is_own_fork(struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();

	return task->pid != current->pid && task->thread_pid == current->thread_pid;
}

/* Where `task` is being taken by a migration in progress, whoever does it; NULL = nowhere. */
static __always_inline struct cgroup *migration_of(struct task_struct *task)
{
	struct css_set *to = BPF_CORE_READ(task, cgroups, mg_dst_cset);

	return to ? BPF_CORE_READ(to, dfl_cgrp) : NULL;
}

#endif
