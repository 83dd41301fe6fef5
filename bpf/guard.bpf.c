// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * guard: denies, or only records, operations that cross the border of a managed cgroup.
 *
 * Each hook exists twice around one body: lsm/X if `bpf` is among the active security modules,
 * fmod_ret/security_X otherwise; the loader takes one set, never both. The kernel skips an
 * fmod_ret program, which allows the call, while another instance of it is preempted on the
 * same CPU; the loader reports that.
 *
 * What is denied (the border rule): writes from outside to the cpuset, cpu, memory and
 * membership files of managed cgroups, moves in and out, and changes from outside to a container's
 * processes: their affinity, priorities and limits, where their memory is, and attaching to
 * them. Inside its own container a task may do anything except write the container's own cpuset,
 * cpu and memory files. Attaching to the agent is guarded as well.
 *
 * Not covered: a move out of a container whose target has the same effective CPUs and memory
 * nodes does not reach task_setscheduler on 6.12 and later (watch reports it). File creation
 * needs no hook, because cgroup2 does not permit it.
 *
 * Context: all hooks run in the calling task, not sleepable, without locks of the guard.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include <pinfold/guard_modes.h>

#include "event.bpf.h"
#include "policy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GUARD_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} guard_counters SEC(".maps");

/* The cpuset files of a new cgroup that a runtime has already written. */
struct first_write {
	__u64 cgroup;
	char file[FILE_NAME_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct first_write);
	__type(value, __u8);
} first_writes SEC(".maps");

/*
 * The operation that the thread began last, for the hook that is called in its course. No hook
 * is called at its end, so this alone decides nothing: a write to a membership file counts
 * only while the kernel itself says that a task is being moved there, and a fork only until
 * its first permission check or the next such write.
 */
struct errand {
	__u64 destination; /* cgroup whose membership file it wrote last; 0 = none */
	__u32 clones;	   /* forks into a cgroup whose permission check has not come yet */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct errand);
} errands SEC(".maps");

/* Everything known about one operation on a managed cgroup when it is judged. */
struct guarded_operation {
	const struct guard_config *config;
	struct cgroup *caller_cgrp;
	struct place caller, target;
	__u32 hook;
	__u32 aspect;
	__u32 right; /* the right that would allow it */
	__u32 target_pid;
	char name[FILE_NAME_LEN];
};

static __always_inline const struct guard_config *read_config(void)
{
	__u32 zero = 0;
	const struct guard_config *config = bpf_map_lookup_elem(&guard_config, &zero);

	/* there is nothing to guard before the first policy */
	return config && config->generation ? config : NULL;
}

/*
 * Set the fields of `op` that describe the current task. The caller zeroes `op` before and
 * fills in the rest.
 */
static __always_inline void begin_operation(struct guarded_operation *op, __u32 hook,
					    const struct guard_config *config)
{
	op->config = config;
	op->hook = hook;
	op->caller_cgrp = cgroup_of(bpf_get_current_task_btf());
	find_place(op->caller_cgrp, config, &op->caller);
}

static __always_inline void count_operation(__u32 hook, __u32 action)
{
	__u32 index = hook * ACTION_NR + action;
	__u64 *counter = bpf_map_lookup_elem(&guard_counters, &index);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

static __always_inline __u32 mode_of(const struct guard_config *config, __u32 aspect)
{
	__u32 mode = guard_mode_of(config, aspect), zero = 0;
	__u64 *heartbeat;

	if (mode != GUARD_ENFORCE || !config->expiry_ns)
		return mode;
	heartbeat = bpf_map_lookup_elem(&guard_heartbeat, &zero);
	if (heartbeat && bpf_ktime_get_ns() > *heartbeat + config->expiry_ns)
		return GUARD_AUDIT;
	return mode;
}

static __noinline void report_operation(const struct guarded_operation *op, __u32 action)
{
	struct event *event = begin_event(EVENT_GUARD, op->caller.id, op->caller.id);

	if (!event)
		return;
	event->aspect = op->aspect;
	event->action = action;
	event->hook = op->hook;
	event->target_cgroup = op->target.id;
	event->target_slot = op->target.slot;
	event->target_pid = op->target_pid;
	event->error = action == ACTION_DENY ? -EPERM : 0;
	__builtin_memcpy(event->file, op->name, sizeof(op->name));
	send_event(event);
}

/*
 * A runtime's first write to each cpuset file of a new cgroup is part of creating a container
 * and is allowed; opening the file does not count as a write.
 */
static __always_inline bool is_first_write(const struct guarded_operation *op)
{
	struct first_write key = {.cgroup = op->target.id};
	__u8 written = 1;

	if (op->hook == HOOK_FILE_OPEN)
		return true;
	__builtin_memcpy(key.file, op->name, sizeof(key.file));
	return bpf_map_update_elem(&first_writes, &key, &written, BPF_NOEXIST) == 0;
}

/*
 * Judge an operation that crosses a border: 0 or -EPERM. Fails open: an event that cannot be
 * sent changes nothing, and without a readable policy this function is not called.
 */
static __noinline int judge(const struct guarded_operation *op)
{
	__u32 rights = rights_of_current(op->caller_cgrp, op->config);
	__u32 mode = mode_of(op->config, op->aspect);

	if (op->target.self_test)
		/* closed by design: this cgroup exists to show that the guard denies */
		return rights & RIGHT_AGENT ? 0 : -EPERM;
	if (mode == GUARD_OFF || (rights & op->right) ||
	    (op->right == RIGHT_CPUSET && (rights & RIGHT_CPUSET_FIRST) && is_first_write(op))) {
		count_operation(op->hook, ACTION_ALLOW);
		return 0;
	}
	if (mode == GUARD_AUDIT) {
		count_operation(op->hook, ACTION_AUDIT);
		/* record the write that follows an open instead of the open */
		if (op->hook != HOOK_FILE_OPEN)
			report_operation(op, ACTION_AUDIT);
		return 0;
	}
	count_operation(op->hook, ACTION_DENY);
	report_operation(op, ACTION_DENY);
	return -EPERM;
}

/*
 * Does the caller stay inside its border? In a tree whose containers are not known yet (a
 * container between its creation and its entry into the policy), the caller's own cgroup is
 * the border, so a starting container is not blocked.
 */
static __always_inline bool stays_inside(const struct guarded_operation *op, struct cgroup *target,
					 bool delegated)
{
	if (op->target.border)
		return op->caller.border == op->target.border &&
		       (delegated || op->target.id != op->target.border);
	return op->caller.tree && is_within(target, op->caller.id, op->caller.level) &&
	       (delegated || op->target.id != op->caller.id);
}

/* Does the guard cover files of this class in this place? */
static __always_inline bool is_guarded(const struct place *target, __u64 class)
{
	switch (class & ~FILE_DELEGATED) {
	case FILE_CPUSET:
		return target->tree || target->self || target->overlap;
	case FILE_CONTROL:
	case FILE_MEMORY:
		return target->tree || target->self;
	default:
		/*
		 * Moves by the host outside managed trees, for example into the root cgroup,
		 * are the host's business. So are the controllers that it enables for the root
		 * cgroup's children: the kernel does not disable a controller that a child
		 * passes on (EBUSY), and the file of that child is in the tree. And so is the
		 * memory that it reclaims from the whole machine.
		 */
		return target->tree;
	}
}

static __always_inline __u32 right_for(__u64 class)
{
	switch (class & ~FILE_DELEGATED) {
	case FILE_CPUSET:
		return RIGHT_CPUSET;
	case FILE_CONTROL:
	case FILE_MEMORY:
	case FILE_RECLAIM:
	case FILE_CONTROLLERS:
		return RIGHT_CONTROL;
	case FILE_MEMBERS:
		return RIGHT_MOVES;
	default:
		return RIGHT_LIFE;
	}
}

static __always_inline __u32 aspect_for(__u64 class)
{
	class &= ~FILE_DELEGATED;
	return class == FILE_MEMBERS || class == FILE_LIFE ? ASPECT_CGROUP_MOVES
							   : ASPECT_CPUSET_FILES;
}

/* Returns false if there is no memory for it. */
static __always_inline bool begin_errand(__u64 destination, bool clones)
{
	struct errand *errand = bpf_task_storage_get(&errands, bpf_get_current_task_btf(), NULL,
						     BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!errand)
		return false;
	errand->destination = destination;
	errand->clones = clones;
	return true;
}

/*
 * The current task is about to move a task, but begin_errand failed, so the hook called in its
 * course would not know the destination. Judge it here, as a move out of the caller's cgroup.
 * Fails closed, with the errno of the missing resource, for a task in a managed cgroup, unless
 * its rights or the mode permit any move; it is counted as a move. Fails open outside: most
 * moves by other tasks do not concern managed cgroups, and the guard must not make forks of
 * the host fail. Of these, only a clone3 into a container is missed, because a write to a
 * container's files is judged as such; it is counted as an event that was not reported.
 */
static __always_inline int judge_unfollowed(struct guarded_operation *op)
{
	op->aspect = ASPECT_CGROUP_MOVES;
	op->right = RIGHT_MOVES;
	if (!op->caller.tree) {
		count_event(EVENTS_LOST);
		return 0;
	}
	op->target = op->caller;
	return judge(op) ? -ENOMEM : 0;
}

/* Judge a write by the current task to file `name` of `cgrp`. */
static __always_inline int judge_file(struct cgroup *cgrp, struct guarded_operation *op,
				      __u64 class)
{
	op->aspect = aspect_for(class);
	op->right = right_for(class);
	find_place(cgrp, op->config, &op->target);
	if (op->hook == HOOK_FILE_PERMISSION && (class & ~FILE_DELEGATED) == FILE_MEMBERS &&
	    !begin_errand(op->target.id, false) && op->caller.tree)
		return judge_unfollowed(op);
	if (!is_guarded(&op->target, class))
		return 0;
	if (!op->target.self_test && stays_inside(op, cgrp, class & FILE_DELEGATED))
		return 0;
	return judge(op);
}

/*
 * A file on cgroup2, given by an open file. Other files leave after two loads and a
 * comparison, because file_permission runs on every read and write of the machine. Name and
 * cgroup are taken from the inode's kernfs node, because the dentry of a file that was opened
 * by handle may have neither. Fails open if a read of kernel memory fails: the name is then
 * empty and matches no guarded file.
 */
static __always_inline int check_file(struct file *file, __u32 hook)
{
	const struct guard_config *config;
	struct guarded_operation op;
	struct kernfs_node *kn;
	__u64 class;

	if (file->f_inode->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	config = read_config();
	if (!config)
		return 0;
	__builtin_memset(&op, 0, sizeof(op));
	kn = file->f_inode->i_private;
	bpf_probe_read_kernel_str(op.name, sizeof(op.name), BPF_CORE_READ(kn, name));
	class = classify_file(op.name);
	if (class == FILE_OTHER)
		return 0;
	begin_operation(&op, hook, config);
	return judge_file(BPF_CORE_READ(parent_of(kn), priv), &op, class);
}

/*
 * Every read and write. The only hook that also covers descriptors opened before the guard was
 * attached.
 */
static __always_inline int check_permission(struct file *file, int mask)
{
	return mask & MAY_WRITE ? check_file(file, HOOK_FILE_PERMISSION) : 0;
}

/* Every open. Denying the open as well fails earlier and gives a clearer error. */
static __always_inline int check_open(struct file *file)
{
	return file->f_mode & FMODE_WRITE ? check_file(file, HOOK_FILE_OPEN) : 0;
}

/* Every fork and thread creation. Those that name a cgroup reach check_clone next. */
static __always_inline int check_fork(__u64 clone_flags)
{
	const struct guard_config *config;
	struct guarded_operation op;

	if (!(clone_flags & CLONE_INTO_CGROUP))
		return 0;
	config = read_config();
	if (!config || begin_errand(0, true))
		return 0;
	__builtin_memset(&op, 0, sizeof(op));
	__builtin_memcpy(op.name, "cgroup.procs", sizeof("cgroup.procs"));
	begin_operation(&op, HOOK_INODE_PERMISSION, config);
	return judge_unfollowed(&op);
}

/* Is this the first permission check of a fork that the current task has begun? */
static __always_inline bool take_clone(void)
{
	struct errand *errand = bpf_task_storage_get(&errands, bpf_get_current_task_btf(), NULL, 0);

	if (!errand || !errand->clones)
		return false;
	errand->clones = 0;
	return true;
}

/*
 * clone3(CLONE_INTO_CGROUP): the kernel checks write permission on cgroup.procs of the
 * destination, then of the ancestor that it shares with the caller's cgroup, without opening
 * them. The child leaves the caller's cgroup and enters the other, so both borders count. Runs
 * for every component of every path, nearly always with an execute mask, and then returns
 * after one comparison. Fails open like check_file.
 */
static __always_inline int check_clone(struct inode *inode, int mask)
{
	const struct guard_config *config;
	struct kernfs_node *kn;
	struct guarded_operation op;
	struct cgroup *cgrp;

	if ((mask & (MAY_WRITE | MAY_OPEN)) != MAY_WRITE)
		return 0;
	if (inode->i_sb->s_magic != CGROUP2_SUPER_MAGIC || !take_clone())
		return 0;
	config = read_config();
	if (!config)
		return 0;
	kn = inode->i_private;
	cgrp = BPF_CORE_READ(parent_of(kn), priv);
	__builtin_memset(&op, 0, sizeof(op));
	begin_operation(&op, HOOK_INODE_PERMISSION, config);
	op.aspect = ASPECT_CGROUP_MOVES;
	op.right = RIGHT_MOVES;
	__builtin_memcpy(op.name, "cgroup.procs", sizeof("cgroup.procs"));
	find_place(cgrp, config, &op.target);
	if (!op.target.tree) {
		if (!op.caller.tree)
			return 0;
		/* it leaves the managed cgroups: the managed end is the caller's */
		op.target = op.caller;
	} else if (!op.target.self_test && stays_inside(&op, cgrp, true)) {
		return 0;
	}
	return judge(&op);
}

static __always_inline int check_directory(struct kernfs_node *kn, struct dentry *dentry,
					   __u32 hook)
{
	const struct guard_config *config = read_config();
	struct guarded_operation op;
	struct cgroup *cgrp;

	if (!config)
		return 0;
	cgrp = BPF_CORE_READ(kn, priv);
	__builtin_memset(&op, 0, sizeof(op));
	begin_operation(&op, hook, config);
	op.aspect = ASPECT_CGROUP_MOVES;
	find_place(cgrp, config, &op.target);
	if (!op.target.tree)
		return 0;
	/* a new child of the caller's own cgroup is inside; that cgroup itself is not */
	if (stays_inside(&op, cgrp, hook == HOOK_INODE_MKDIR))
		return 0;
	op.right = hook == HOOK_INODE_MKDIR ? RIGHT_MOVES : RIGHT_LIFE;
	bpf_probe_read_kernel_str(op.name, sizeof(op.name), BPF_CORE_READ(dentry, d_name.name));
	return judge(&op);
}

/* Creation of a cgroup below `dir`. Fails open like check_file. */
static __always_inline int check_mkdir(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	return check_directory(dir->i_private, dentry, HOOK_INODE_MKDIR);
}

/* Removal of the cgroup behind `dentry`. Fails open like check_file. */
static __always_inline int check_rmdir(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	return check_directory(BPF_CORE_READ(dentry, d_inode, i_private), dentry, HOOK_INODE_RMDIR);
}

/* May the current task, which is not an actor, move the target to `destination`? */
static __always_inline bool is_inner_move(const struct guarded_operation *op,
					  const struct place *destination)
{
	if (op->target.border)
		return op->caller.border == op->target.border &&
		       destination->border == op->target.border;
	/*
	 * a task from outside: it may not be moved into a container, not even by the container
	 * itself
	 */
	if (!op->target.tree)
		return !destination->tree;
	return op->caller.id == op->target.id && destination->tree && !destination->border;
}

static __always_inline bool is_inner_change(const struct guarded_operation *op)
{
	if (op->target.border)
		return op->caller.border == op->target.border;
	return !op->target.tree || op->caller.id == op->target.id;
}

static __always_inline int check_change(struct task_struct *task, const struct guard_config *config)
{
	struct guarded_operation op = {};

	begin_operation(&op, HOOK_TASK_SETSCHEDULER, config);
	find_place(cgroup_of(task), config, &op.target);
	op.aspect = ASPECT_AFFINITY;
	op.right = RIGHT_TASKS;
	op.target_pid = task->pid;
	return is_inner_change(&op) ? 0 : judge(&op);
}

static __always_inline int check_move(struct task_struct *task, struct cgroup *to,
				      const struct guard_config *config)
{
	struct guarded_operation op = {};
	struct place destination;

	begin_operation(&op, HOOK_TASK_SETSCHEDULER, config);
	find_place(cgroup_of(task), config, &op.target);
	find_place(to, config, &destination);
	op.aspect = ASPECT_CGROUP_MOVES;
	op.right = RIGHT_MOVES;
	op.target_pid = task->pid;
	return is_inner_move(&op, &destination) ? 0 : judge(&op);
}

/*
 * Is the current task moving a task to `to`, and not another task at the same moment? If so,
 * it wrote the membership file of that cgroup last. A task mistaken for the mover is only
 * judged more strictly: is_inner_move permits nothing that is_inner_change does not.
 */
static __always_inline bool is_mover(struct cgroup *to)
{
	struct errand *errand = bpf_task_storage_get(&errands, bpf_get_current_task_btf(), NULL, 0);

	return errand && errand->destination && errand->destination == id_of(to);
}

/*
 * Affinity, policy and parameters of a task, and migrations: `task` is still in the cgroup it
 * comes from. check_clone has already judged the child of a fork. Fails open for kernel
 * threads, because the kernel's own work must not fail.
 */
static __always_inline int check_task(struct task_struct *task)
{
	const struct guard_config *config = read_config();
	struct cgroup *to;

	if (!config || (BPF_CORE_READ(bpf_get_current_task_btf(), flags) & PF_KTHREAD))
		return 0;
	if (is_own_fork(task))
		return 0;
	to = migration_of(task);
	return to && is_mover(to) ? check_move(task, to, config) : check_change(task, config);
}

/*
 * Judge what the current task does to another process, whose task is at address `task`: 0 or
 * -EPERM. A target outside the managed cgroups leaves before anything about the caller is
 * looked up, except for the agent, to which nobody attaches. Fails open for kernel threads, like
 * check_task. Global, like enter_level: several hooks share it.
 */
__noinline int judge_process(__u64 task, __u32 hook, __u32 aspect)
{
	const struct guard_config *config = read_config();
	struct guarded_operation op = {};
	bool is_agent;

	if (!config || !task || (BPF_CORE_READ(bpf_get_current_task_btf(), flags) & PF_KTHREAD))
		return 0;
	find_place(cgroup_of((struct task_struct *)task), config, &op.target);
	is_agent = aspect == ASPECT_DEBUGGING &&
		   (rights_of_process((struct task_struct *)task) & RIGHT_AGENT);
	if (!op.target.tree && !is_agent)
		return 0;
	begin_operation(&op, hook, config);
	op.aspect = aspect;
	op.right = RIGHT_TASKS;
	op.target_pid = BPF_CORE_READ((struct task_struct *)task, pid);
	return !is_agent && is_inner_change(&op) ? 0 : judge(&op);
}

/* What a process does to itself leaves after one comparison. */
static __always_inline int check_process(struct task_struct *task, __u32 hook, __u32 aspect)
{
	struct task_struct *plain = NULL;

	if ((__u32)task->tgid == bpf_get_current_pid_tgid() >> 32)
		return 0;
	bpf_probe_read_kernel(&plain, sizeof(plain), &task);
	/* the verifier knows only that the result of a global function is a number */
	return judge_process((__u64)plain, hook, aspect) ? -EPERM : 0;
}

/*
 * migrate_pages(2) and move_pages(2), also if the latter only asks where pages are. The kernel
 * calls no hook when it moves memory itself, as after a write to cpuset.mems.
 */
static __always_inline int check_memory(struct task_struct *task)
{
	return check_process(task, HOOK_TASK_MOVEMEMORY, ASPECT_MEMORY_MOVES);
}

/*
 * setpriority(2), ioprio_set(2), and prlimit(2) if it sets a limit. The last runs with the
 * target's alloc_lock held.
 */
static __always_inline int check_priority(struct task_struct *task, __u32 hook)
{
	return check_process(task, hook, ASPECT_PRIORITIES);
}

/*
 * What the kernel permits only to those who may trace the process: ptrace(2) itself, access to
 * its memory, pidfd_getfd(2), /proc/PID/stack and others. To look at a process, as ps and
 * monitoring agents do all the time in /proc, takes PTRACE_MODE_READ and leaves after one
 * comparison. Runs with the target's alloc_lock held.
 */
static __always_inline int check_trace(struct task_struct *task, unsigned int mode)
{
	if (!(mode & PTRACE_MODE_ATTACH))
		return 0;
	return check_process(task, HOOK_PTRACE_ACCESS_CHECK, ASPECT_DEBUGGING);
}

/* --- the hooks, twice ------------------------------------------------------------------------ */

/* `ret` is the result of earlier programs: a refusal is never turned into a permission. */

SEC("lsm/file_permission")
int BPF_PROG(lsm_file_perm, struct file *file, int mask, int ret)
{
	return ret ? ret : check_permission(file, mask);
}

SEC("fmod_ret/security_file_permission")
int BPF_PROG(mod_file_perm, struct file *file, int mask, int ret)
{
	return ret ? ret : check_permission(file, mask);
}

SEC("lsm/file_open")
int BPF_PROG(lsm_file_open, struct file *file, int ret)
{
	return ret ? ret : check_open(file);
}

SEC("fmod_ret/security_file_open")
int BPF_PROG(mod_file_open, struct file *file, int ret)
{
	return ret ? ret : check_open(file);
}

SEC("lsm/task_alloc")
int BPF_PROG(lsm_fork, struct task_struct *task, __u64 clone_flags, int ret)
{
	return ret ? ret : check_fork(clone_flags);
}

SEC("fmod_ret/security_task_alloc")
int BPF_PROG(mod_fork, struct task_struct *task, __u64 clone_flags, int ret)
{
	return ret ? ret : check_fork(clone_flags);
}

SEC("lsm/inode_permission")
int BPF_PROG(lsm_clone, struct inode *inode, int mask, int ret)
{
	return ret ? ret : check_clone(inode, mask);
}

SEC("fmod_ret/security_inode_permission")
int BPF_PROG(mod_clone, struct inode *inode, int mask, int ret)
{
	return ret ? ret : check_clone(inode, mask);
}

SEC("lsm/inode_mkdir")
int BPF_PROG(lsm_mkdir, struct inode *dir, struct dentry *dentry, umode_t mode, int ret)
{
	return ret ? ret : check_mkdir(dir, dentry);
}

SEC("fmod_ret/security_inode_mkdir")
int BPF_PROG(mod_mkdir, struct inode *dir, struct dentry *dentry, umode_t mode, int ret)
{
	return ret ? ret : check_mkdir(dir, dentry);
}

SEC("lsm/inode_rmdir")
int BPF_PROG(lsm_rmdir, struct inode *dir, struct dentry *dentry, int ret)
{
	return ret ? ret : check_rmdir(dir, dentry);
}

SEC("fmod_ret/security_inode_rmdir")
int BPF_PROG(mod_rmdir, struct inode *dir, struct dentry *dentry, int ret)
{
	return ret ? ret : check_rmdir(dir, dentry);
}

SEC("lsm/task_setscheduler")
int BPF_PROG(lsm_task_sched, struct task_struct *task, int ret)
{
	return ret ? ret : check_task(task);
}

SEC("fmod_ret/security_task_setscheduler")
int BPF_PROG(mod_task_sched, struct task_struct *task, int ret)
{
	return ret ? ret : check_task(task);
}

SEC("lsm/task_movememory")
int BPF_PROG(lsm_memory, struct task_struct *task, int ret)
{
	return ret ? ret : check_memory(task);
}

SEC("fmod_ret/security_task_movememory")
int BPF_PROG(mod_memory, struct task_struct *task, int ret)
{
	return ret ? ret : check_memory(task);
}

SEC("lsm/task_setnice")
int BPF_PROG(lsm_nice, struct task_struct *task, int nice, int ret)
{
	return ret ? ret : check_priority(task, HOOK_TASK_SETNICE);
}

SEC("fmod_ret/security_task_setnice")
int BPF_PROG(mod_nice, struct task_struct *task, int nice, int ret)
{
	return ret ? ret : check_priority(task, HOOK_TASK_SETNICE);
}

SEC("lsm/task_setioprio")
int BPF_PROG(lsm_ioprio, struct task_struct *task, int ioprio, int ret)
{
	return ret ? ret : check_priority(task, HOOK_TASK_SETIOPRIO);
}

SEC("fmod_ret/security_task_setioprio")
int BPF_PROG(mod_ioprio, struct task_struct *task, int ioprio, int ret)
{
	return ret ? ret : check_priority(task, HOOK_TASK_SETIOPRIO);
}

SEC("lsm/task_setrlimit")
int BPF_PROG(lsm_limit, struct task_struct *task, unsigned int resource, struct rlimit *limit,
	     int ret)
{
	return ret ? ret : check_priority(task, HOOK_TASK_SETRLIMIT);
}

SEC("fmod_ret/security_task_setrlimit")
int BPF_PROG(mod_limit, struct task_struct *task, unsigned int resource, struct rlimit *limit,
	     int ret)
{
	return ret ? ret : check_priority(task, HOOK_TASK_SETRLIMIT);
}

SEC("lsm/ptrace_access_check")
int BPF_PROG(lsm_trace, struct task_struct *task, unsigned int mode, int ret)
{
	return ret ? ret : check_trace(task, mode);
}

SEC("fmod_ret/security_ptrace_access_check")
int BPF_PROG(mod_trace, struct task_struct *task, unsigned int mode, int ret)
{
	return ret ? ret : check_trace(task, mode);
}
