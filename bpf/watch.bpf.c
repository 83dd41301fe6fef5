// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * watch: reports operations on managed cgroups to the agent. It never denies.
 *
 *   life cycle  cgroups below managed trees: created, populated, removed, released
 *   drift       successful writes to managed cpuset and cpu files by others, and freezes
 *   moves       tasks moved across a container's border by others
 *   attempts    sched_setaffinity onto protected CPUs from outside, with result
 *   clients     processes that connect to process 1, which then acts for them
 *
 * Life cycle needs only tracepoints; the rest needs fentry and fexit, which some kernels lack:
 * the loader then leaves those programs out.
 *
 * Context: none sleeps. The life cycle tracepoints may run with css_set_lock held and
 * interrupts off, so they only do look-ups and use the ring buffer.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include <pinfold/abi.h>

#include "event.bpf.h"
#include "policy.bpf.h"
#include "slots.bpf.h"
#include "watch_subject.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2); /* 2 * mask_words, set at load */
	__type(key, __u32);
	__type(value, __u64);
} watch_masks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_KIND_NR);
	__type(key, __u32);
	__type(value, __u64);
} watch_counters SEC(".maps");

static __always_inline const struct guard_config *read_config(void)
{
	__u32 zero = 0;
	const struct guard_config *config = bpf_map_lookup_elem(&guard_config, &zero);

	return config && config->generation ? config : NULL;
}

static __always_inline void count_kind(__u32 kind)
{
	__u64 *counter = bpf_map_lookup_elem(&watch_counters, &kind);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

static __always_inline __u64 writer_id(void)
{
	return id_of(cgroup_of(bpf_get_current_task_btf()));
}

static __always_inline __u32 writer_rights(const struct guard_config *config)
{
	return rights_of_current(cgroup_of(bpf_get_current_task_btf()), config);
}

static __always_inline bool is_agent(const struct guard_config *config)
{
	return writer_rights(config) & RIGHT_AGENT;
}

#include "watch_clients.bpf.h"

/* --- life cycle ------------------------------------------------------------------------------ */

/*
 * Below a container's border all events are charged to the container, so a container that
 * creates cgroups in a loop cannot flood the buffer; elsewhere each cgroup has its own budget.
 * The agent's own operations are not reported, but `by_caller` is false for state changes that
 * are merely noticed in the context of the current task.
 */
static __always_inline int report_life(__u32 kind, struct cgroup *cgrp, const char *path,
				       __u32 value, bool by_caller)
{
	const struct guard_config *config = read_config();
	struct event *event;
	struct place place;

	/* cgroup v1 hierarchies have ids above 0 */
	if (!config || BPF_CORE_READ(cgrp, root, hierarchy_id) != 0)
		return 0;
	find_place(untyped(cgrp), config, &place);
	if (!place.tree || place.self_test || (by_caller && is_agent(config)))
		return 0;
	count_kind(kind);
	event = begin_event(kind, BUDGET_LIFE | (place.border ? place.border : place.id),
			    writer_id());
	if (!event)
		return 0;
	event->target_cgroup = place.id;
	event->target_slot = place.slot;
	event->value = value;
	if (bpf_probe_read_kernel_str(event->text, sizeof(event->text), path) ==
	    sizeof(event->text))
		event->flags |= EVENT_CUT;
	send_event(event);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(life_mkdir, struct cgroup *cgrp, const char *path)
{
	return report_life(EVENT_MKDIR, cgrp, path, 0, true);
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(life_rmdir, struct cgroup *cgrp, const char *path)
{
	return report_life(EVENT_RMDIR, cgrp, path, 0, true);
}

/* Runs in a kernel worker, after the last reference is dropped: there is no culprit. */
SEC("tp_btf/cgroup_release")
int BPF_PROG(life_release, struct cgroup *cgrp, const char *path)
{
	return report_life(EVENT_RELEASE, cgrp, path, 0, false);
}

/* Runs for the cgroup and for each ancestor whose state changes with it. */
SEC("tp_btf/cgroup_notify_populated")
int BPF_PROG(life_populated, struct cgroup *cgrp, const char *path, int populated)
{
	return report_life(EVENT_POPULATED, cgrp, path, populated, false);
}

/* Not for clone3(CLONE_INTO_CGROUP) and fork; also for a move to the task's present cgroup. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(life_attach, struct cgroup *cgrp, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	return report_life(EVENT_ATTACH, cgrp, path, 0, true);
}

/*
 * Whose budget pays for what the current task did: that of its container, whatever cgroups that makes
 * for itself, or that of its own cgroup.
 */
static __always_inline __u64 charged_id(const struct guard_config *config)
{
	struct place writer;

	find_place(cgroup_of(bpf_get_current_task_btf()), config, &writer);
	return writer.border ? writer.border : writer.id;
}

/* --- drift ----------------------------------------------------------------------------------- */

/*
 * Does a container arrange its own cgroups? That is its business below its own one, and there for
 * what the guard leaves to it: a systemd in a container enables controllers at each start.
 */
static __always_inline bool is_own_business(const struct place *place, __u64 class,
					    const struct guard_config *config)
{
	struct place writer;

	if (!place->border || (place->id == place->border && !(class & FILE_DELEGATED)))
		return false;
	find_place(cgroup_of(bpf_get_current_task_btf()), config, &writer);
	return writer.border == place->border;
}

/*
 * Does a write to cgroup.subtree_control disable a controller that pinfold needs? Enabling
 * more is what a kubelet does at each start. A text that is too long to be parsed counts as
 * disabling.
 */
static __always_inline bool takes_controller(const char *buf, unsigned long nbytes)
{
	char text[64] = {};

	if (nbytes > sizeof(text) || bpf_probe_read_kernel(text, nbytes, buf))
		return true;
	for (__u32 i = 0; i + 2 < sizeof(text); i++)
		if (text[i] == '-' && ((text[i + 1] == 'c' && text[i + 2] == 'p') ||
				       (text[i + 1] == 'm' && text[i + 2] == 'e')))
			return true;
	return false;
}

/* Is it anything but the end of a freeze? systemd ends freezes that there are not. */
static __always_inline bool freezes(const char *buf)
{
	char text[2] = {};

	return bpf_probe_read_kernel(text, sizeof(text), buf) || text[0] != '0' || text[1];
}

static __always_inline bool is_watched(const struct place *place, __u64 class, const char *buf,
				       unsigned long nbytes)
{
	switch (class & ~FILE_DELEGATED) {
	case FILE_CPUSET:
		return place->tree || place->self || place->overlap;
	case FILE_CONTROL:
		return place->tree || place->self;
	case FILE_FREEZE:
		return (place->tree || place->self) && freezes(buf);
	case FILE_CONTROLLERS:
		return place->tree || (place->self && takes_controller(buf, nbytes));
	default:
		/*
		 * systemd writes all memory files of a unit whenever it writes one, so they would
		 * fill the log; the look compares memory.max.
		 */
		return false;
	}
}

/*
 * The agent writes itself, or asks process 1 to write and holds a lease for it meanwhile. What others ask
 * of process 1 at that time is found by the look that follows each call of the agent.
 */
static __always_inline bool is_for_agent(const struct guard_config *config)
{
	return is_agent(config) || (is_process_1() && lease_is_open());
}

/* Has the guard found that this write of process 1 changes nothing? Whatever it found is used up. */
static __always_inline bool is_unchanged(__u64 cgroup, const char name[FILE_NAME_LEN])
{
	const __u64 *words = (const void *)name, *noted;
	struct written_file *file;
	__u32 zero = 0;
	bool same;

	if (!is_process_1())
		return false;
	file = bpf_map_lookup_elem(&pid1_unchanged, &zero);
	if (!file)
		return false;
	noted = (const void *)file->name;
	same = file->cgroup == cgroup && words[0] == noted[0] && words[1] == noted[1] &&
	       words[2] == noted[2];
	file->cgroup = 0;
	return same;
}

/*
 * Runs after every write to a cgroup file. It is the only place with file, text and result
 * together, and is reached only for cgroup files. For some files the handler has cut the text
 * at its first separator, so only that part is shown.
 */
SEC("fexit/cgroup_file_write")
int BPF_PROG(drift_write, struct kernfs_open_file *of, char *buf, unsigned long nbytes,
	     long long off, long written)
{
	const struct guard_config *config = read_config();
	char name[FILE_NAME_LEN] = {};
	struct kernfs_node *kn;
	struct cgroup *cgrp;
	struct place place;
	struct event *event;
	__u64 class;

	if (!config || written <= 0)
		return 0;
	kn = BPF_CORE_READ(of, kn);
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(kn, name));
	class = classify_file(name);
	if (class == FILE_OTHER)
		return 0;
	cgrp = BPF_CORE_READ(parent_of(kn), priv);
	if (BPF_CORE_READ(cgrp, root, hierarchy_id) != 0)
		return 0;
	find_place(cgrp, config, &place);
	if (!is_watched(&place, class, buf, nbytes) || place.self_test ||
	    is_own_business(&place, class, config) || is_for_agent(config) ||
	    is_unchanged(place.id, name))
		return 0;
	count_kind(EVENT_DRIFT);
	event = begin_event(EVENT_DRIFT, charged_id(config), writer_id());
	if (!event)
		return 0;
	event->aspect = class == FILE_FREEZE ? ASPECT_CGROUP_MOVES : ASPECT_CPUSET_FILES;
	event->target_cgroup = place.id;
	event->target_slot = place.slot;
	__builtin_memcpy(event->file, name, sizeof(name));
	if (bpf_probe_read_kernel_str(event->text, sizeof(event->text), buf) == sizeof(event->text))
		event->flags |= EVENT_CUT;
	send_event(event);
	return 0;
}

/* --- moves ----------------------------------------------------------------------------------- */

static __always_inline void save_subject(struct task_struct *task)
{
	const struct guard_config *config = read_config();
	struct event_subject *subject;
	struct place place;

	if (!config)
		return;
	subject = make_subject();
	if (!subject)
		return;
	find_place(cgroup_of(task), config, &place);
	subject->cgroup = place.id;
	subject->tree = place.tree;
	subject->border = place.border;
	subject->slot = place.slot;
	subject->pid = BPF_CORE_READ(task, pid);
}

/* Before the migration the task is still in the cgroup it comes from. */
SEC("fentry/cgroup_attach_task")
int BPF_PROG(move_before, struct cgroup *cgrp, struct task_struct *leader)
{
	save_subject(leader);
	return 0;
}

SEC("fexit/cgroup_attach_task")
int BPF_PROG(move_after, struct cgroup *cgrp, struct task_struct *leader, bool threadgroup,
	     int result)
{
	const struct guard_config *config = read_config();
	struct event_subject *from;
	struct place to;
	struct event *event;
	__u32 pid;

	from = bpf_task_storage_get(&subjects, bpf_get_current_task_btf(), NULL, 0);
	if (!config || !from || !from->pid)
		return 0;
	pid = from->pid;
	from->pid = 0;
	if (result || BPF_CORE_READ(cgrp, root, hierarchy_id) != 0)
		return 0;
	find_place(untyped(cgrp), config, &to);
	if (to.self_test || (to.border == from->border && !to.tree == !from->tree) ||
	    (writer_rights(config) & RIGHT_MOVES))
		return 0;
	count_kind(EVENT_MOVE);
	event = begin_event(EVENT_MOVE, BUDGET_MOVES | charged_id(config), writer_id());
	if (!event)
		return 0;
	event->aspect = ASPECT_CGROUP_MOVES;
	/* the managed end of the move; between managed trees, the destination */
	event->target_cgroup = to.tree ? to.id : from->cgroup;
	event->from_cgroup = from->cgroup;
	event->target_slot = to.border ? to.slot : from->slot;
	event->target_pid = pid;
	event->move.to_cgroup = to.id;
	event->move.from_border = from->border;
	event->move.to_border = to.border;
	/* a thread that is moved alone leaves its process where it is, so nobody moves that */
	if (threadgroup)
		event->move.start_ticks = BPF_CORE_READ(leader, start_boottime) / 10000000;
	send_event(event);
	return 0;
}

/* --- attempts -------------------------------------------------------------------------------- */

static __always_inline __u64 mask_word(void *map, __u32 index)
{
	__u64 *word = bpf_map_lookup_elem(map, &index);

	return word ? *word : 0;
}

/* Properties of a requested affinity mask. */
struct wish {
	bool foreign; /* contains a protected CPU that does not belong to the container */
	bool all;     /* contains every online CPU: the usual way to request no restriction */
	__u32 cpus;
};

static __always_inline void read_wish(struct cpumask *mask, __u32 slot, struct wish *ret_wish)
{
	__builtin_memset(ret_wish, 0, sizeof(*ret_wish));
	ret_wish->all = true;
	for (__u32 i = 0; i < ABI_MASK_WORDS_MAX; i++) {
		__u64 wanted = 0, protected, online, own;

		if (i >= mask_words)
			break;
		bpf_probe_read_kernel(&wanted, sizeof(wanted), (__u64 *)mask + i);
		protected = mask_word(&watch_masks, i);
		online = mask_word(&watch_masks, mask_words + i);
		own = slot == SLOT_NONE ? 0 : mask_word(&slot_masks, slot * mask_words + i);
		if (wanted & protected & ~own)
			ret_wish->foreign = true;
		if (online & ~wanted)
			ret_wish->all = false;
		/* BPF has no population count: add up adjacent bits in place */
		wanted -= (wanted >> 1) & 0x5555555555555555ULL;
		wanted = (wanted & 0x3333333333333333ULL) + ((wanted >> 2) & 0x3333333333333333ULL);
		wanted = (wanted + (wanted >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
		ret_wish->cpus += (wanted * 0x0101010101010101ULL) >> 56;
	}
}

static __always_inline void copy_mask(struct event *event, struct cpumask *mask)
{
	for (__u32 i = 0; i < EVENT_MASK_WORDS; i++) {
		if (i >= mask_words)
			break;
		bpf_probe_read_kernel(&event->mask[i], sizeof(__u64), (__u64 *)mask + i);
	}
	if (mask_words > EVENT_MASK_WORDS)
		event->flags |= EVENT_CUT;
}

/*
 * The task of a sched_setaffinity, which is not an argument of that function. Also runs for
 * tasks that migrate, which have a subject already, and for the child of a fork.
 */
SEC("fentry/security_task_setscheduler")
int BPF_PROG(attempt_before, struct task_struct *task)
{
	if (!is_own_fork(task) && !migration_of(task))
		save_subject(task);
	return 0;
}

/*
 * The requested affinity and the result: -EINVAL if a partition or cpuset leaves none of the
 * requested CPUs, -EPERM from the guard, 0 if the kernel reduced the mask to what is allowed.
 */
SEC("fexit/sched_setaffinity")
int BPF_PROG(attempt_after, pid_t pid, struct cpumask *mask, long result)
{
	const struct guard_config *config = read_config();
	struct event_subject *subject;
	struct event *event;
	struct wish wish;

	subject = bpf_task_storage_get(&subjects, bpf_get_current_task_btf(), NULL, 0);
	if (!config || !subject || !subject->pid)
		return 0;
	read_wish(mask, subject->slot, &wish);
	pid = subject->pid;
	subject->pid = 0;
	if (!wish.foreign || (wish.all && !result) || is_agent(config))
		return 0;
	count_kind(EVENT_ATTEMPT);
	event = begin_event(EVENT_ATTEMPT, charged_id(config), writer_id());
	if (!event)
		return 0;
	event->aspect = ASPECT_AFFINITY;
	event->action = result ? ACTION_DENY : ACTION_ALLOW;
	event->error = result;
	event->target_cgroup = subject->cgroup;
	event->target_slot = subject->slot;
	event->target_pid = pid;
	event->value = wish.cpus;
	copy_mask(event, mask);
	send_event(event);
	return 0;
}
