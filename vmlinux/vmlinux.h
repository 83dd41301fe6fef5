/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types our BPF programs read, and nothing else.
 *
 * Written by hand: every access is relocated when a program is loaded, so a
 * struct names only the fields we use, in any order, and a build needs no BTF
 * of the machine it runs on. vmlinux/check compares this file with a kernel's
 * real BTF; it reads the lines below, so one member per line, and these marks:
 *
 *   optional   a member some kernels lack; read it behind bpf_core_field_exists()
 *   NAME___x   a flavour: one of several shapes of struct NAME. A kernel must
 *              have at least one of the shapes, unless all are marked optional
 *
 * Bitfields are not declared here: they are not relocated by plain access.
 */
#ifndef VMLINUX_VMLINUX_H
#define VMLINUX_VMLINUX_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u32 __wsum;

typedef _Bool bool;
typedef __s32 s32;
typedef __u8 u8;
typedef __u16 u16;
typedef __u16 u16;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef int pid_t;
typedef unsigned short umode_t;
typedef unsigned int fmode_t;

enum {
	false = 0,
	true = 1,
};

#ifndef NULL
#define NULL ((void *)0)
#endif

/* --- user-space interface of the kernel: numbers, never relocated ---------- */

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

#define BPF_ANY	    0
#define BPF_NOEXIST 1
#define BPF_EXIST   2

#define BPF_F_NO_PREALLOC 1U
#define BPF_F_RDONLY_PROG 128U
#define BPF_F_MMAPABLE	  1024U

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1ULL

#define BPF_RB_NO_WAKEUP    1ULL
#define BPF_RB_FORCE_WAKEUP 2ULL

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* --- tasks and the scheduler ------------------------------------------------ */

struct sched_info {
	unsigned long long run_delay;	 /* ns waited, all waits that are over */
	unsigned long long last_arrival; /* rq clock, ns: when it last got a CPU */
	unsigned long long last_queued;	 /* rq clock, ns; 0: not waiting */
};

struct task_struct;
struct rlimit;

struct rt_rq {
	unsigned int rt_nr_running; /* real-time tasks that run or wait, even while they are throttled */
};

struct rq {
	u64 clock;		 /* ns */
	unsigned int nr_running; /* tasks that run or wait, without the idle task */
	struct rt_rq rt;
	struct task_struct *curr;
};

struct cfs_rq {
	struct rq *rq;
	u64 throttled_clock_pelt_time; /* optional: CONFIG_CFS_BANDWIDTH */
	u64 throttled_clock_self_time; /* optional: 6.6 and later */
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* CONFIG_FAIR_GROUP_SCHED */
};

struct thread_info {
	u32 cpu;
};

struct cpumask {
	unsigned long bits[1]; /* really NR_CPUS long */
};

struct task_struct {
	struct thread_info thread_info; /* CONFIG_THREAD_INFO_IN_TASK */
	unsigned int __state;		/* 0: runnable */
	unsigned int flags;
	pid_t pid;
	pid_t tgid;
	char comm[16];
	u64 start_boottime; /* ns */
	struct sched_entity se;
	struct sched_info sched_info;
	struct css_set *cgroups;
	struct task_struct *group_leader;
	struct pid *thread_pid; /* its maker's until it has its own, late in a fork */
};

struct task_struct___until_7_1 {
	int on_rq;
};

struct task_struct___since_7_2 {
	u8 on_rq;
};

/* --- interrupts (noise) ------------------------------------------------------ */

struct irqaction {
	const char *name;
};

/* --- cgroups ----------------------------------------------------------------- */

struct kernfs_node {
	const char *name;
	u64 id;
	void *priv;
};

struct kernfs_node___until_6_14 {
	struct kernfs_node *parent;
};

struct kernfs_node___since_6_15 {
	struct kernfs_node *__parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup_subsys_state {
	u64 serial_nr; /* unique for as long as the machine runs */
};

/* They depend on what is configured: without cpusets, for example, all others are one less. */
enum cgroup_subsys_id {
	cpuset_cgrp_id = 0,
	cpu_cgrp_id = 1,
	io_cgrp_id = 3,
	memory_cgrp_id = 4,
	pids_cgrp_id = 11,
};

/* Without CONFIG_CFS_BANDWIDTH it has no members. */
struct cfs_bandwidth {
	u64 throttled_time; /* ns; optional */
	u64 quota;	    /* ns, ~0 without one; optional */
	s64 period;	    /* ns; optional */
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
	int idle;	      /* optional: CONFIG_FAIR_GROUP_SCHED */
	unsigned long shares; /* optional: the same */
};

struct page_counter {
	unsigned long min; /* all in pages */
	unsigned long low;
	unsigned long high;
	unsigned long max;
};

struct mem_cgroup { /* optional: CONFIG_MEMCG */
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct page_counter swap;
	bool oom_group;
	unsigned long zswap_max; /* pages; optional: CONFIG_ZSWAP */
	bool zswap_writeback;	 /* optional: the same, 6.8 and later */
};

/* nodemask_t, which has no name in BTF. */
struct ___nodemask { /* optional */
	unsigned long bits[1]; /* really MAX_NUMNODES long */
};

struct cpuset {
	struct cgroup_subsys_state css;
	struct ___nodemask mems_allowed; /* as the file has it */
};

/* cpumask_var_t: a pointer with CONFIG_CPUMASK_OFFSTACK, which a kernel for many CPUs has. */
struct cpuset___pointer {
	struct cpumask *cpus_allowed; /* as the file has it */
};

struct cpuset___inline {
	struct cpumask cpus_allowed[1];
};

enum psi_states {
	PSI_NONIDLE = 6, /* 7 with CONFIG_IRQ_TIME_ACCOUNTING */
};

struct psi_group_cpu {
	u32 state_mask;	 /* bits by enum psi_states */
	u32 times[7];	 /* ns, by enum psi_states; really NR_PSI_STATES long */
	u64 state_start; /* ns of the scheduler's clock */
};

struct seqcount {
	unsigned int sequence; /* odd during a write */
};

/* Later kernels have one for all groups of a CPU, which no type leads to. */
struct psi_group_cpu___seq {
	struct seqcount seq; /* optional */
};

struct psi_group {
	bool enabled;
	struct psi_group_cpu *pcpu; /* per CPU */
	u64 avg_total[6];	    /* ns, by enum psi_states: up to avg_last_update */
	u64 avg_last_update;	    /* ns of the scheduler's clock */
	u64 avg_next_update;	    /* the same */
};

/* Two ways in which BTF describes the array of arrays: 6.1 and 6.12 have the first, 7.2 the second. */
struct psi_group___flat {
	u64 total[6]; /* as avg_total, up to now or less; those of other aggregators follow */
};

struct psi_group___nested {
	u64 total[2][6]; /* the same, by aggregator; really longer */
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	int nr_descendants; /* that are not removed */
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct psi_group *psi;		       /* NULL with psi=0 */
	struct cgroup_subsys_state *subsys[1]; /* by cgroup_subsys_id, really longer; or NULL */
	struct cgroup *ancestors[];	       /* [level] is the cgroup itself */
};

/* Which controllers its children have, by cgroup_subsys_id. */
struct cgroup___control_u16 {
	u16 subtree_control;
};

struct cgroup___control_u32 {
	u32 subtree_control;
};

struct css_set {
	struct cgroup *dfl_cgrp;
	struct css_set *mg_dst_cset; /* while its tasks migrate: where to; else NULL */
};

/* --- maps --------------------------------------------------------------------- */

struct bpf_array {
	void *pptrs[0]; /* of a per-CPU array: per CPU, one for each key */
};

/* --- files -------------------------------------------------------------------- */

struct qstr {
	const unsigned char *name;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	struct dentry *s_root;
};

struct inode {
	umode_t i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	void *i_private;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct list_head {
	struct list_head *next;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct list_head mnt_mounts; /* those on it, through their mnt_child */
	struct list_head mnt_child;
	struct list_head mnt_share; /* circular, of the mounts that share */
	int mnt_id;
	int mnt_group_id; /* 0: not shared */
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	fmode_t f_mode; /* only FMODE_WRITE (2) means the same everywhere */
	struct inode *f_inode;
};

/* --- registers of a system call (guard) --------------------------------------- */

struct pt_regs___amd64 {
	unsigned long si;
	unsigned long dx;
	unsigned long orig_ax; /* the call's number */
};

struct pt_regs___arm64 {
	u64 regs[31]; /* the call's number is in the ninth */
};

/* --- writes to cgroup files (guard and watch) -------------------------------- */

struct kernfs_open_file {
	struct kernfs_node *kn;
};

/* --- Unix sockets (watch) ------------------------------------------------------ */

struct sock;

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr; /* optional: CONFIG_UNIX may be a module */
};

#pragma clang attribute pop

#endif
