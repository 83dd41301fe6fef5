// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * guard: denies, or only records, what crosses the border of a managed cgroup.
 *
 * Each hook exists twice around one body: lsm/X where `bpf` is among the running
 * security modules, fmod_ret/security_X elsewhere; the loader takes one set, never
 * both. fmod_ret programs are skipped, which allows the call, while another
 * instance was preempted inside one on the same CPU; the loader reports that.
 *
 * What is denied (the border rule): writes by strangers to the cpuset, cpu and
 * membership files of managed cgroups, moves in and out, affinity changes of a
 * container's tasks from outside. Inside its own container a task does as it
 * likes, except with the container's own cpuset and cpu files.
 *
 * Not covered: a move out of a container whose target has the same effective
 * CPUs and memory nodes does not reach task_setscheduler on 6.12 and later
 * (watch reports it); file creation needs no hook, cgroup2 has none.
 *
 * Context: all hooks run in the calling task, not sleepable, no lock of ours.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include <pinfold/abi.h>

#include "event.bpf.h"
#include "policy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GUARD_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} guard_counters SEC(".maps");

/* Which cpuset files of a new cgroup a runtime has written already. */
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
 * What the thread began last, for the hook that meets the rest of it. No hook tells
 * when it is over, so this alone decides nothing: a write of a membership file counts
 * while the kernel itself says that it takes a task there, and a fork until its first
 * question or the next such write.
 */
struct errand {
	__u64 destination; /* cgroup whose membership file it wrote last; 0 = none */
	__u32 clones;	   /* forks into a cgroup that it has not asked about yet */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct errand);
} errands SEC(".maps");

/* Everything known about one operation on a managed cgroup before it is judged. */
struct operation {
	const struct guard_config *config;
	struct cgroup *caller_cgrp;
	struct place caller, target;
	__u32 hook;
	__u32 aspect;
	__u32 right; /* that would allow it */
	__u32 target_pid;
	char name[FILE_NAME_LEN];
};

static __always_inline const struct guard_config *read_config(void)
{
	__u32 zero = 0;
	const struct guard_config *config = bpf_map_lookup_elem(&guard_config, &zero);

	/* before the first policy there is nothing to guard */
	return config && config->generation ? config : NULL;
}

/* The current task's side of `op`, which is zeroed; the caller fills in the rest. */
static __always_inline void begin_operation(struct operation *op, __u32 hook,
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
	__u32 mode = config->modes[aspect & 3], zero = 0;
	__u64 *heartbeat;

	if (mode != GUARD_ENFORCE || !config->expiry_ns)
		return mode;
	heartbeat = bpf_map_lookup_elem(&guard_heartbeat, &zero);
	if (heartbeat && bpf_ktime_get_ns() > *heartbeat + config->expiry_ns)
		return GUARD_AUDIT;
	return mode;
}

static __noinline void report_operation(const struct operation *op, __u32 action)
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
 * The first write of a runtime to each cpuset file of a new cgroup is part of
 * creating a container and passes; opening the file does not count as one.
 */
static __always_inline bool is_first_write(const struct operation *op)
{
	struct first_write key = {.cgroup = op->target.id};
	__u8 written = 1;

	if (op->hook == HOOK_FILE_OPEN)
		return true;
	__builtin_memcpy(key.file, op->name, sizeof(key.file));
	return bpf_map_update_elem(&first_writes, &key, &written, BPF_NOEXIST) == 0;
}

/*
 * Judge an operation that crosses a border: 0 or -EPERM.
 * Fails open: an event that cannot be sent changes nothing, and a policy that
 * cannot be read never gets here.
 */
static __noinline int judge(const struct operation *op)
{
	__u32 rights = rights_of_current(op->caller_cgrp, op->config);
	__u32 mode = mode_of(op->config, op->aspect);

	if (op->target.self_test)
		/* closed by design: this cgroup exists to show that we can say no */
		return rights & RIGHT_AGENT ? 0 : -EPERM;
	if (mode == GUARD_OFF || (rights & op->right) ||
	    (op->right == RIGHT_CPUSET && (rights & RIGHT_CPUSET_FIRST) && is_first_write(op))) {
		count_operation(op->hook, ACTION_ALLOW);
		return 0;
	}
	if (mode == GUARD_AUDIT) {
		count_operation(op->hook, ACTION_AUDIT);
		/* the write that follows an open is the thing to record */
		if (op->hook != HOOK_FILE_OPEN)
			report_operation(op, ACTION_AUDIT);
		return 0;
	}
	count_operation(op->hook, ACTION_DENY);
	report_operation(op, ACTION_DENY);
	return -EPERM;
}

/*
 * Does the caller stay inside its border? In a tree whose containers are not
 * known yet (a container between creation and its entry into the policy) the
 * caller's own cgroup is the border, so that a new container's first breath is
 * not denied.
 */
static __always_inline bool stays_inside(const struct operation *op, struct cgroup *target,
					 bool delegated)
{
	if (op->target.border)
		return op->caller.border == op->target.border &&
		       (delegated || op->target.id != op->target.border);
	return op->caller.tree && is_within(target, op->caller.id, op->caller.level) &&
	       (delegated || op->target.id != op->caller.id);
}

/* Is a file of this class in this place ours to guard? */
static __always_inline bool is_guarded(const struct place *target, __u64 class)
{
	switch (class & ~FILE_DELEGATED) {
	case FILE_CPUSET:
		return target->tree || target->self || target->overlap;
	case FILE_CONTROL:
		return target->tree || target->self;
	default:
		/*
		 * The host's own moves, into the root cgroup for one, are the host's. So is what
		 * it lets the root cgroup's children have: the kernel takes no controller away
		 * that a child passes on (EBUSY), and the file that says so is in the tree.
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

/* False when there is no memory for it. */
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
 * The current task is about to take a task somewhere, and the hook that meets it would not
 * know: judged here, as a move out of the caller's cgroup. Fails closed, with the errno of
 * what is short, for a task in what is managed, unless its rights or the mode permit any
 * move; counted as one. Fails open outside: a stranger's moves are mostly not ours, and the
 * host's forks must not fail on us. Of those only clone3 into a container is lost, a write
 * to its files is judged as such; counted as an event that was not told.
 */
static __always_inline int judge_unfollowed(struct operation *op)
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
static __always_inline int judge_file(struct cgroup *cgrp, struct operation *op, __u64 class)
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
 * A file on cgroup2, by way of an open file. Everything that is no cgroup file
 * leaves after two loads and a comparison, because file_permission runs on every
 * read and write of the machine. Name and cgroup are those of the inode's kernfs
 * node: the dentry of a file that was opened by handle may have neither. Fails open
 * when a read of kernel memory fails: the name is then empty and no file of ours.
 */
static __always_inline int check_file(struct file *file, __u32 hook)
{
	const struct guard_config *config;
	struct operation op;
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

/* Every read and write; the one hook that also meets descriptors opened before us. */
static __always_inline int check_permission(struct file *file, int mask)
{
	return mask & MAY_WRITE ? check_file(file, HOOK_FILE_PERMISSION) : 0;
}

/* Every open; denies earlier and so with a clearer message. */
static __always_inline int check_open(struct file *file)
{
	return file->f_mode & FMODE_WRITE ? check_file(file, HOOK_FILE_OPEN) : 0;
}

/* Every fork and thread; those that name a cgroup ask about it next, by check_clone. */
static __always_inline int check_fork(__u64 clone_flags)
{
	const struct guard_config *config;
	struct operation op;

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

/* Is this the first question of a fork that the current task has begun? */
static __always_inline bool take_clone(void)
{
	struct errand *errand = bpf_task_storage_get(&errands, bpf_get_current_task_btf(), NULL, 0);

	if (!errand || !errand->clones)
		return false;
	errand->clones = 0;
	return true;
}

/*
 * clone3(CLONE_INTO_CGROUP): the kernel asks for write permission on cgroup.procs
 * of the destination, then of the ancestor it shares with the maker's cgroup, without
 * opening them. The child leaves its maker's cgroup as it enters the other, so both
 * borders count. Runs for every component of every path, nearly always with an execute
 * mask: out after one comparison. Fails open like check_file.
 */
static __always_inline int check_clone(struct inode *inode, int mask)
{
	const struct guard_config *config;
	struct kernfs_node *kn;
	struct operation op;
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
		/* out of what is managed: the end of it that is ours */
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
	struct operation op;
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
	/* a new child of one's own cgroup is inside; one's own cgroup itself is not */
	if (stays_inside(&op, cgrp, hook == HOOK_INODE_MKDIR))
		return 0;
	op.right = hook == HOOK_INODE_MKDIR ? RIGHT_MOVES : RIGHT_LIFE;
	bpf_probe_read_kernel_str(op.name, sizeof(op.name), BPF_CORE_READ(dentry, d_name.name));
	return judge(&op);
}

/* A new cgroup below `dir`. Fails open like check_file. */
static __always_inline int check_mkdir(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	return check_directory(dir->i_private, dentry, HOOK_INODE_MKDIR);
}

/* An end of the cgroup behind `dentry`. Fails open like check_file. */
static __always_inline int check_rmdir(struct inode *dir, struct dentry *dentry)
{
	if (dir->i_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return 0;
	return check_directory(BPF_CORE_READ(dentry, d_inode, i_private), dentry, HOOK_INODE_RMDIR);
}

/* May the current task, which is no actor, take the target to `destination`? */
static __always_inline bool is_inner_move(const struct operation *op,
					  const struct place *destination)
{
	if (op->target.border)
		return op->caller.border == op->target.border &&
		       destination->border == op->target.border;
	/* a stranger's task: not into a container, not even by the container's own */
	if (!op->target.tree)
		return !destination->tree;
	return op->caller.id == op->target.id && destination->tree && !destination->border;
}

static __always_inline bool is_inner_change(const struct operation *op)
{
	if (op->target.border)
		return op->caller.border == op->target.border;
	return !op->target.tree || op->caller.id == op->target.id;
}

static __always_inline int check_change(struct task_struct *task, const struct guard_config *config)
{
	struct operation op = {};

	begin_operation(&op, HOOK_TASK_SETSCHEDULER, config);
	find_place(cgroup_of(task), config, &op.target);
	op.aspect = ASPECT_AFFINITY;
	op.right = RIGHT_AFFINITY;
	op.target_pid = task->pid;
	return is_inner_change(&op) ? 0 : judge(&op);
}

static __always_inline int check_move(struct task_struct *task, struct cgroup *to,
				      const struct guard_config *config)
{
	struct operation op = {};
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
 * Is it the current task that takes a task to `to`, and not somebody else at the same
 * moment? Then it wrote the membership file of that cgroup last. Taken for the mover by
 * mistake it would be held to a stricter rule: is_inner_move permits nothing that
 * is_inner_change does not.
 */
static __always_inline bool is_mover(struct cgroup *to)
{
	struct errand *errand = bpf_task_storage_get(&errands, bpf_get_current_task_btf(), NULL, 0);

	return errand && errand->destination && errand->destination == id_of(to);
}

/*
 * Affinity, policy and parameters of a task, and migrations: `task` is still in
 * the cgroup it comes from. The child of a fork has been judged by check_clone.
 * Fails open for kernel threads: the kernel's own work must not fail on us.
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

/* --- the hooks, twice ------------------------------------------------------------------------ */

/* `ret` is what programs before us said: a refusal is never turned into a permission. */

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
