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
 * cpu and memory files. Attaching to the agent is guarded as well. So are the guard's pins, which
 * keep it in force without an agent, and the mounts of bpffs and cgroup2.
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

#include "policy.bpf.h"
#include "guard_notes.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GUARD_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} guard_counters SEC(".maps");

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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_FILES_MAX);
	__type(key, struct guard_file_key);
	__type(value, __u32);
} guard_files SEC(".maps");

/* Everything known about one operation on a managed cgroup when it is judged. */
struct guarded_operation {
	const struct guard_config *config;
	struct cgroup *caller_cgrp;
	struct place caller, target;
	__u32 hook;
	__u32 aspect;
	__u32 right; /* the right that would allow it, or several, of which one suffices */
	__u32 class; /* enum file_class of a file, or 0 */
	__u32 target_pid;
	__u32 nr_below;	  /* cgroups below the target, of a file */
	bool is_unheeded; /* root may go on although it is refused, so it is only recorded */
	__u64 cgrp;	  /* its address, of a file */
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

	/* an older inspector does not know the aspect, but its release must open the pins as well */
	if (aspect == ASPECT_GUARD_FILES && (config->released & GUARD_RELEASED))
		return mode == GUARD_OFF ? GUARD_OFF : GUARD_AUDIT;
	if (mode != GUARD_ENFORCE || !config->expiry_ns)
		return mode;
	heartbeat = bpf_map_lookup_elem(&guard_heartbeat, &zero);
	if (heartbeat && bpf_ktime_get_ns() > *heartbeat + config->expiry_ns)
		return GUARD_AUDIT;
	return mode;
}

static __noinline void report_operation(const struct guarded_operation *op, __u32 action)
{
	__u64 charged = op->caller.border ? op->caller.border : op->caller.id;
	struct event *event = begin_event(EVENT_GUARD, charged, op->caller.id);

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

static __always_inline void name_file(const struct guarded_operation *op,
				      struct written_file *ret_file)
{
	ret_file->cgroup = op->target.id;
	__builtin_memcpy(ret_file->name, op->name, sizeof(ret_file->name));
}

#include "guard_repeat.bpf.h"

/*
 * Judge an operation that crosses a border: 0 or -EPERM. Fails open: an event that cannot be
 * sent changes nothing, and without a readable policy this function is not called.
 */
static __noinline int judge(const struct guarded_operation *op)
{
	__u32 rights = rights_of_current(op->caller_cgrp, op->config);
	__u32 mode = mode_of(op->config, op->aspect);

	if (op->target.self_test)
		/*
		 * Closed by design: this cgroup exists to show that the guard denies. But it must not
		 * keep systemd from removing the workload root at a shutdown.
		 */
		return rights & (RIGHT_AGENT | (op->right & RIGHT_LIFE)) ? 0 : -EPERM;
	if ((rights & op->right) && sets_value(op))
		note_text(op);
	/* also where nothing is denied, because the watch is told */
	if (!(rights & op->right) && is_repetition(op))
		mode = GUARD_OFF;
	if (mode == GUARD_ENFORCE && op->is_unheeded)
		mode = GUARD_AUDIT;
	if (mode == GUARD_OFF || (rights & op->right)) {
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
	case FILE_FREEZE:
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
	switch (class) {
	case FILE_MEMBERS:
	case FILE_FREEZE:
	case FILE_LIFE:
		return ASPECT_CGROUP_MOVES;
	default:
		return ASPECT_CPUSET_FILES;
	}
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
 * container's files is judged as such; it is counted.
 */
static __always_inline int judge_unfollowed(struct guarded_operation *op)
{
	op->aspect = ASPECT_CGROUP_MOVES;
	op->right = RIGHT_MOVES;
	if (!op->caller.tree) {
		count_event(EVENTS_NO_ERRAND);
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
	op->class = class & ~FILE_DELEGATED;
	op->nr_below = BPF_CORE_READ(cgrp, nr_descendants);
	op->cgrp = (__u64)cgrp;
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
 * The first question about a file, before anything is called: other files leave after three loads and a
 * comparison, because the hooks run on every read, write and open of the machine
 * (tests/unit/test_hook_path.c counts the instructions).
 */
static __always_inline bool is_on_cgroup2(struct file *file)
{
	return file->f_inode->i_sb->s_magic == CGROUP2_SUPER_MAGIC;
}

/*
 * A file on cgroup2, given by an open file. Name and cgroup are taken from the inode's kernfs node,
 * because the dentry of a file that was opened by handle may have neither. Fails open if a read of
 * kernel memory fails: the name is then empty and matches no guarded file.
 */
static __always_inline int check_file(struct file *file, __u32 hook)
{
	const struct guard_config *config = read_config();
	struct guarded_operation op;
	struct kernfs_node *kn;
	__u64 class;

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
	if (!(mask & MAY_WRITE) || !is_on_cgroup2(file))
		return 0;
	return check_file(file, HOOK_FILE_PERMISSION);
}

/*
 * Every open. Denying the open as well fails earlier and gives a clearer error; but what process 1 may
 * write depends on the text.
 */
static __always_inline int check_open(struct file *file)
{
	if (!(file->f_mode & FMODE_WRITE) || !is_on_cgroup2(file) || is_process_1())
		return 0;
	return check_file(file, HOOK_FILE_OPEN);
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

#include "guard_own.bpf.h"
#include "guard_tasks.bpf.h"

/* --- what is forgotten ----------------------------------------------------------------------- */

/*
 * After each rmdir of a cgroup, in the task that does it, with the lock of the tracepoint's path. One
 * look-up in a hash for each name of a guarded file, some microseconds. Not at the release, which memory
 * that is still charged to the cgroup may put off for days.
 */
SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(group_gone, struct cgroup *cgrp)
{
	struct written_file file = {.cgroup = id_of(untyped(cgrp))};

	if (BPF_CORE_READ(cgrp, root, hierarchy_id) != 0)
		return 0;
	for (__u32 i = 0; i < NR_GUARDED_FILES; i++) {
		__builtin_memcpy(file.name, guarded_files[i].name, sizeof(file.name));
		bpf_map_delete_elem(&pid1_writes, &file);
	}
	return 0;
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

SEC("lsm/inode_unlink")
int BPF_PROG(lsm_unlink, struct inode *dir, struct dentry *dentry, int ret)
{
	return ret ? ret : check_unlink(dir, dentry);
}

SEC("fmod_ret/security_inode_unlink")
int BPF_PROG(mod_unlink, struct inode *dir, struct dentry *dentry, int ret)
{
	return ret ? ret : check_unlink(dir, dentry);
}

SEC("lsm/inode_rename")
int BPF_PROG(lsm_rename, struct inode *old_dir, struct dentry *old_dentry, struct inode *new_dir,
	     struct dentry *new_dentry, int ret)
{
	return ret ? ret : check_rename(old_dir, old_dentry, new_dir, new_dentry);
}

SEC("fmod_ret/security_inode_rename")
int BPF_PROG(mod_rename, struct inode *old_dir, struct dentry *old_dentry, struct inode *new_dir,
	     struct dentry *new_dentry, unsigned int flags, int ret)
{
	return ret ? ret : check_rename(old_dir, old_dentry, new_dir, new_dentry);
}

SEC("lsm/sb_mount")
int BPF_PROG(lsm_mount, const char *dev_name, const struct path *path, const char *type,
	     unsigned long flags, void *data, int ret)
{
	return ret ? ret : check_mount(path, flags);
}

SEC("fmod_ret/security_sb_mount")
int BPF_PROG(mod_mount, const char *dev_name, const struct path *path, const char *type,
	     unsigned long flags, void *data, int ret)
{
	return ret ? ret : check_mount(path, flags);
}

SEC("lsm/move_mount")
int BPF_PROG(lsm_move_mount, const struct path *from, const struct path *to, int ret)
{
	return ret ? ret : check_move_mount(from, to);
}

SEC("fmod_ret/security_move_mount")
int BPF_PROG(mod_move_mount, const struct path *from, const struct path *to, int ret)
{
	return ret ? ret : check_move_mount(from, to);
}

SEC("lsm/sb_umount")
int BPF_PROG(lsm_umount, struct vfsmount *mnt, int flags, int ret)
{
	return ret ? ret : check_umount(mnt, flags);
}

SEC("fmod_ret/security_sb_umount")
int BPF_PROG(mod_umount, struct vfsmount *mnt, int flags, int ret)
{
	return ret ? ret : check_umount(mnt, flags);
}

SEC("lsm/sb_remount")
int BPF_PROG(lsm_remount, struct super_block *sb, void *options, int ret)
{
	return ret ? ret : check_remount(sb);
}

SEC("fmod_ret/security_sb_remount")
int BPF_PROG(mod_remount, struct super_block *sb, void *options, int ret)
{
	return ret ? ret : check_remount(sb);
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
