/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moves of tasks, and changes to processes from outside of their container. A part of guard.bpf.c,
 * which has the types and maps, and judges.
 */
#ifndef GUARD_TASKS_BPF_H
#define GUARD_TASKS_BPF_H

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
	if (aspect == ASPECT_DEBUGGING && !is_agent)
		op.right |= RIGHT_TRACE;
	op.is_unheeded = hook == HOOK_PTRACE_ACCESS_CHECK && aspect == ASPECT_MEMORY_MOVES &&
			 may_look_if_refused();
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
 * monitoring agents do all the time in /proc, takes PTRACE_MODE_READ and does not concern the guard.
 *
 * process_madvise(2), which swaps the memory of another process out, takes the same mode as opening
 * /proc/PID/maps, so the number of the system call tells the two apart. /proc/PID/stat, which everybody
 * reads, takes another mode and leaves after two comparisons. Runs with the target's alloc_lock held.
 */
static __always_inline int check_trace(struct task_struct *task, unsigned int mode)
{
	if (mode & PTRACE_MODE_ATTACH)
		return check_process(task, HOOK_PTRACE_ACCESS_CHECK, ASPECT_DEBUGGING);
	if (mode != PTRACE_MODE_READ_FS || !is_advising())
		return 0;
	return check_process(task, HOOK_PTRACE_ACCESS_CHECK, ASPECT_MEMORY_MOVES);
}

#endif
