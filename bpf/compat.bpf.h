/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Differences between kernels, in one place; each shim says which kernels differ. Include
 * vmlinux.h and the libbpf headers before this file.
 */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include <arch.h>

/* linux/magic.h, linux/stat.h, linux/fs.h, linux/sched.h: constants that BTF does not contain. */
#define CGROUP2_SUPER_MAGIC  0x63677270
#define BPF_FS_MAGIC	     0xcafe4a11
#define MS_REMOUNT	     0x20
#define MS_BIND		     0x1000
#define MS_PROPAGATION	     (0xfUL << 17) /* MS_UNBINDABLE, MS_PRIVATE, MS_SLAVE, MS_SHARED */
#define S_IFMT		     0170000
#define S_IFDIR		     0040000
#define MNT_DETACH	     0x2
#define FMODE_WRITE	     0x2
#define MAY_WRITE	     0x2
#define MAY_OPEN	     0x20
#define PF_IO_WORKER	     0x00000010
#define PF_KTHREAD	     0x00200000
#define PF_NO_SETAFFINITY    0x04000000
#define PTRACE_MODE_ATTACH   0x2
#define PTRACE_MODE_READ_FS  0x9 /* PTRACE_MODE_READ_FSCREDS */
#define CLONE_INTO_CGROUP    0x200000000ULL
#define TASK_ON_RQ_MIGRATING 2
#define EPERM		     1
#define ENOMEM		     12

/*
 * Which way the usual event takes: clang then saves registers on the other one. libbpf has these
 * since 1.5.
 */
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

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
 * cgroup.ancestors[] (6.1 and later): pointers from the root down, with the cgroup itself at
 * [level]. Read at a computed offset, because CO-RE does not relocate a variable index into a
 * flexible array.
 */
static __always_inline struct cgroup *ancestor_of(struct cgroup *cgrp, __u32 level)
{
	struct cgroup *ancestor = NULL;
	__u64 at = (__u64)cgrp + bpf_core_field_offset(struct cgroup, ancestors);

	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), (void *)(at + level * sizeof(ancestor)));
	return ancestor;
}

/*
 * Is `task` a copy of the current task that fork has not completed yet? It gets its own struct
 * pid when it becomes visible, and no two tasks share one, so this is true of such a copy
 * only. The number of the system call would not tell: an io_uring thread has that of its
 * creator, and task work runs on the way out of any system call.
 */
static __always_inline bool is_own_fork(struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();

	return task->pid != current->pid && task->thread_pid == current->thread_pid;
}

/* The destination of a migration of `task` in progress, whichever task does it; NULL = none. */
static __always_inline struct cgroup *migration_of(struct task_struct *task)
{
	struct css_set *to = BPF_CORE_READ(task, cgroups, mg_dst_cset);

	return to ? BPF_CORE_READ(to, dfl_cgrp) : NULL;
}

/*
 * The bytes that the current task passes to write(2), the one system call it is in; false for any other
 * call.
 */
static __always_inline bool find_written(const char **ret_bytes, __u64 *ret_nr)
{
	void *registers = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());

	*ret_bytes = (const char *)arch_call_argument_2(registers);
	*ret_nr = arch_call_argument_3(registers);
	return arch_call_number(registers) == ARCH_NR_WRITE;
}

/*
 * Is the current task in process_madvise(2)? A worker of io_uring has the registers of whatever call made
 * it, and io_uring has no such request. Task work that runs on the way out of the call is taken for it.
 */
static __always_inline bool is_advising(void)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (current->flags & (PF_KTHREAD | PF_IO_WORKER))
		return false;
	return arch_call_number((void *)bpf_task_pt_regs(current)) == ARCH_NR_PROCESS_MADVISE;
}

/*
 * Since 6.15, the release that renamed kernfs_node.parent, whoever has CAP_PERFMON may look at the memory
 * of another process although a security module has refused it.
 */
static __always_inline bool may_look_if_refused(void)
{
	return bpf_core_field_exists(((struct kernfs_node___since_6_15 *)NULL)->__parent);
}

/* The mount that the system has in place of `mnt`, which is a part of it. */
static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	return (void *)((__u64)mnt - bpf_core_field_offset(struct mount, mnt));
}

/* Is the task on its way from one run queue to another? task_struct.on_rq is a u8 since 7.2. */
static __always_inline bool is_migrating(struct task_struct *task)
{
	struct task_struct___until_7_1 *before = (void *)task;
	__u32 on_rq = 0;

	bpf_core_read(&on_rq, bpf_core_field_size(before->on_rq), &before->on_rq);
	return on_rq == TASK_ON_RQ_MIGRATING;
}

#endif
