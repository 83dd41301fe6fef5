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
#define EPERM		    1

#define __NR_clone3 435 /* the same on every architecture and for 32-bit callers */

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

/* Number of the system call the current task is in; meaningless in kernel threads. */
static __always_inline long current_syscall(void)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());

	return (long)BPF_CORE_READ(regs, orig_ax);
}

/*
 * Is the current system call one that changes affinity, policy or parameters
 * of a task? x86-64 numbers and those of 32-bit callers; no number of the one
 * table is a write or a splice in the other, so they need not be told apart.
 */
static __always_inline bool in_sched_syscall(void)
{
	switch (current_syscall()) {
	case 142: /* sched_setparam */
	case 144: /* sched_setscheduler */
	case 203: /* sched_setaffinity */
	case 314: /* sched_setattr */
	case 154: /* sched_setparam, 32 bit */
	case 156: /* sched_setscheduler, 32 bit */
	case 241: /* sched_setaffinity, 32 bit */
	case 351: /* sched_setattr, 32 bit */
		return true;
	}
	return false;
}

#endif
