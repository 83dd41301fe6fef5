/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller needs from the world, as function tables. Each adapter fills one; tests
 * fill them with fakes. All calls come from the single event-loop thread, and none may block
 * longer than its comment says.
 *
 * A call that may block in the kernel returns -EINPROGRESS after a short time. The operation
 * then continues, and the sink reports its result. It cannot be cancelled, so the controller
 * starts only one such operation at a time in each chain of steps (a pod's or the root's).
 */
#ifndef CTL_PORTS_H
#define CTL_PORTS_H

#include <sys/types.h>

#include <pinfold/noise.h>
#include <pinfold/pressure.h>

#include "core/plan/plan.h"
#include "ctl/host_ports.h"
#include "ctl/workload_ports.h"
#include "format/affinity.h"
#include "format/config.h"
#include "format/event.h"
#include "format/latency.h"
#include "format/resident_report.h"
#include "format/rows.h"

struct bpf_inventory;
struct json_object;
struct text;

/* --- clock ------------------------------------------------------------------------------------ */
struct clock_port {
	void *self;
	uint64_t (*now_ns)(void *self);	 /* CLOCK_MONOTONIC */
	uint64_t (*wall_ns)(void *self); /* CLOCK_REALTIME */
	uint64_t (*cpu_ns)(void *self);	 /* CLOCK_THREAD_CPUTIME_ID */
};

/* --- the agent's own cost: user/agent/process.c ------------------------------------------------ */
struct process_usage {
	uint64_t cpu_ns; /* of all threads, in user space and in the kernel */
	uint64_t resident_bytes, virtual_bytes;
	uint64_t nr_fds, max_fds;
	uint64_t started_ns; /* CLOCK_REALTIME; the same in each answer */
};

struct process_port {
	void *self;
	/* 0 or a negative errno; then nothing is known. */
	int (*usage)(void *self, struct process_usage *ret_usage);
};

/* --- the loop: main ---------------------------------------------------------------------------- */
struct loop_port {
	void *self;
	/*
	 * Call controller_wake once, delay_ns from now, unless an earlier wake is already
	 * scheduled.
	 */
	void (*wake)(void *self, uint64_t delay_ns);
};

/* --- the machine: user/machine ------------------------------------------------------------------ */
struct machine_port {
	void *self;
	/*
	 * Memory nodes with the huge pages that are free in the kernel now; free_pages is
	 * UINT64_MAX if unknown. `ret_nodes` has room for TOPOLOGY_MAX_NODES; returns the
	 * number.
	 */
	uint32_t (*free_pages)(void *self, struct topology_node *ret_nodes);
};

/* --- cgroups: user/cgroup --------------------------------------------------------------------- */
/* The state of a group beyond the files that pinfold writes. */
struct group_status {
	uint64_t cgroup_id;	  /* inode number of the directory */
	uint32_t level;		  /* depth: 1 = directly below the mount's root */
	struct cpuset cpus, mems; /* cpuset.cpus and cpuset.mems themselves */
	struct cpuset effective_cpus, effective_mems;
	bool populated;
	bool is_root_partition; /* and it is valid */
	bool is_member;		/* neither that nor one that is invalid */
	char partition[128]; /* cpuset.cpus.partition as text for operators, "" if there is none */
	uint64_t usage_usec, throttled_usec, nr_throttled; /* cpu.stat */
};

/* A condition that prevents reading or writing any cgroup. */
struct group_obstacle {
	char message[ROW_DETAIL_MAX], remedy[ROW_DETAIL_MAX];
};

enum managed_scope {
	MANAGED_TREE,
	MANAGED_SELF,
	MANAGED_OVERLAP,
	MANAGED_COUNTED, /* measured and not guarded: a container runtime's */
};

struct managed_group {
	uint64_t cgroup_id;
	uint32_t level;
	enum managed_scope scope;
	bool is_container;	   /* has a slot: is counted, and is a border if it is guarded */
	uint64_t pod;		   /* equal for the groups of one pod */
	const struct cpuset *cpus; /* granted to it, for placement; NULL = none. Borrowed */
	uint64_t nodes;		   /* indexes of the NUMA nodes with near memory; for placement */
};

/* The limits in a group's files, as numbers. A file that is missing or damaged limits nothing. */
struct group_limits {
	int64_t cpu_weight;	  /* 0 = unknown */
	int64_t quota_mcpu;	  /* RESOURCE_UNSET = none */
	int64_t memory_max_bytes; /* 0 = none */
};

struct groups_port {
	void *self;
	/* Fill plan_layout for "systemd" or "cgroupfs". */
	void (*layout)(void *self, struct plan_layout *ret_layout);
	/*
	 * Check that the hierarchy in use is the one mounted for everybody, and that it is
	 * writable. Costs a few system calls. -EXDEV = something is mounted over it, -EROFS =
	 * read-only, or another negative errno, with the obstacle.
	 */
	int (*check)(void *self, struct group_obstacle *ret_obstacle);
	/*
	 * Read the tree below the workload root; -ENOENT = there is no root yet. -EINPROGRESS:
	 * sink.looked reports when another call returns the result, which may then be older
	 * than changes made in between. A pod with a running operation is marked `unseen`,
	 * because reading it would block for the same reason.
	 */
	int (*read_tree)(void *self, struct group_tree *ret_tree);
	/*
	 * Block until a read_tree in progress has ended, at most `limit_ns`, so that the next
	 * call returns its result. 0, -ETIMEDOUT, or -EINTR if the agent is to stop. For a
	 * start only: nothing else is served meanwhile.
	 */
	int (*await_tree)(void *self, uint64_t limit_ns);
	/* Read the files of one group into `group`, whose path is set. -ENOENT = gone. */
	int (*read_group)(void *self, struct group *group);
	/* What the files of a group that was read say. */
	void (*limits)(void *self, const struct group *group, struct group_limits *ret_limits);
	/*
	 * Carry out one step and read it back. 0 = the kernel now has the value (as a set, for
	 * CPU lists). Otherwise a negative errno and a sentence in `error` (file, value,
	 * cause, remedy): -EREMOTEIO = accepted by write(2) but not in force (invalid
	 * partition, empty intersection). -EINPROGRESS: sink.completed reports the end.
	 */
	int (*apply)(void *self, const struct step *step, char error[GROUP_ERROR_MAX]);
	/*
	 * -ENOENT: there is no such cgroup. -EINPROGRESS: an operation on its pod is running, and the
	 * status is unknown until it ends.
	 */
	int (*status)(void *self, const char *path, struct group_status *ret_status);
	/*
	 * The id of any cgroup below the mount, "" = of the mount itself. -ENOENT = there is none;
	 * -EINPROGRESS as for status.
	 */
	int (*id_of)(void *self, const char *path, uint64_t *ret_cgroup_id);
	/*
	 * Process ids of the group and its descendants. The caller owns *ret_pids.
	 * -EINPROGRESS: unknown at present.
	 */
	int (*tasks)(void *self, const char *path, pid_t **ret_pids, uint32_t *ret_nr);
	/*
	 * The affinities of the threads of the group and its descendants, in the caller's memory;
	 * nothing in it is to be freed. -EINPROGRESS: unknown at present.
	 */
	int (*affinities)(void *self, const char *path, struct affinities *ret_affinities);
	/*
	 * Move process `pid`, if `pidfd` still refers to it, into the group (`pinfold run`).
	 * Under systemd this creates the container's scope. -ESRCH = the process is gone.
	 * -EINPROGRESS: sink.completed reports the end.
	 */
	int (*join)(void *self, const char *path, pid_t pid, int pidfd,
		    char error[GROUP_ERROR_MAX]);
	/*
	 * Kill every process of the group and its descendants (cgroup.kill). -EINPROGRESS as
	 * for join.
	 */
	int (*kill)(void *self, const char *path);
	/*
	 * Count the user tasks outside the workload root that a root partition would push onto
	 * the reserved CPUs, and find a populated machine.slice or container scope outside.
	 * -EINPROGRESS: unknown at present.
	 */
	int (*outsiders)(void *self, uint32_t *ret_nr_tasks, char *ret_populated_scope,
			 size_t size);
	/*
	 * Cgroups around the workload root that the guard covers in part: its ancestors
	 * (MANAGED_SELF) and their other children (MANAGED_OVERLAP), but not those of a kubelet's
	 * pods. *ret_nr <= max. NULL = the port knows none.
	 */
	int (*surroundings)(void *self, struct managed_group *ret_groups, uint32_t max,
			    uint32_t *ret_nr);
	/*
	 * Path of a cgroup by its id, to name culprits; -ENOENT if it is gone. -EINPROGRESS:
	 * the name is being looked up; sink.named reports when to ask again.
	 */
	int (*path_of)(void *self, uint64_t cgroup_id, char *ret_path, size_t size);
	/*
	 * Watch the tree's files for writes by other processes and for invalid partitions;
	 * call it after each plan. -EINPROGRESS: a new one could not be opened yet, call
	 * again.
	 */
	int (*rewatch)(void *self, const struct group_tree *tree);
	/*
	 * The kernel function in which the operation at `path` ("" = the look) is blocked; ""
	 * = unknown.
	 */
	void (*waits_in)(void *self, const char *path, char *ret_text, size_t size);
};

/* Notifications of the cgroup room: compare this group again. */
struct groups_sink {
	void *self;
	void (*changed)(void *self, const char *path, const char *file);
	void (*populated)(void *self, const char *path, bool populated);
	/* CPUs may have gone offline or come online; these are online now. */
	void (*hotplug)(void *self, const struct cpuset *online);
	/* An operation at this path that returned -EINPROGRESS has ended. */
	void (*completed)(void *self, const char *path, int result, const char *error);
	/* A look that returned -EINPROGRESS has ended. */
	void (*looked)(void *self);
	/* A path_of that returned -EINPROGRESS has ended. May be NULL. */
	void (*named)(void *self);
};

/* --- the rights of process 1: user/bpf/backend_lease.c ------------------------------------------ */
struct lease_port {
	void *self;
	/*
	 * Until `until_ns` (CLOCK_MONOTONIC; 0 = no longer) the guard lets process 1 change managed
	 * cgroups, because it does so for the agent. May be called from any thread; one system call.
	 * 0 or a negative errno.
	 */
	int (*set)(void *self, uint64_t until_ns);
};

/* --- BPF backend: user/bpf -------------------------------------------------------------------- */
/* A cgroup that may attach to containers' processes, and no more; known by its parent and its name. */
struct actor_unit {
	uint64_t parent_id;
	uint32_t level; /* of the cgroup itself, that is, the parent's + 1 */
	char name[64];	/* "debug.service" */
};

struct kernel_policy {
	uint32_t nr_groups;
	const struct managed_group *groups; /* borrowed for the call */
	uint32_t nr_actors;
	const struct actor_unit *actors; /* borrowed for the call */
	struct cpuset protected_cpus;	 /* CPUs granted exclusively */
	enum enforcement modes[ASPECT_NR];
	/* Guard the cpusets of all other top-level cgroups, including those created later. */
	bool guards_siblings;
	uint64_t guard_expiry_ns; /* 0 = never */
	/*
	 * Set at a start and a reload, which end an operator's release. Otherwise it remains
	 * in force.
	 */
	bool ends_release;
	/*
	 * Not every group could be read, and what an earlier agent published is still in force:
	 * groups that no policy of this agent has named stay managed, guarded and counted.
	 */
	bool keeps_others;
	/* Nothing is managed any more. Without this, a policy without groups is refused. */
	bool may_be_empty;
};

/* Counters of one container since its slot was assigned, including the open interval. */
struct usage {
	uint64_t run_local_ns, run_remote_ns, run_outside_ns;
	uint64_t wait_ns[WAIT_CAUSE_NR]; /* by enum wait_cause; their sum is all its waiting */
	uint64_t switches, preemptions;
	uint64_t migrations_thread, migrations_core, migrations_llc, migrations_numa;
	uint64_t nr_cpus; /* length of the arrays */
	/*
	 * By CPU id, borrowed until the next call: all run time, the part of it on CPUs that
	 * were not the container's, and the part on its own CPUs far from its memory; the waits
	 * there, of all causes, the switches, the preemptions, and the migrations, of all kinds, that
	 * the CPU carried out. NULL = not known.
	 */
	const uint64_t *run_ns, *outside_ns, *remote_ns, *cpu_wait_ns, *cpu_switches;
	const uint64_t *cpu_preemptions, *cpu_migrations;
};

/* The state of the guard according to the last self-test. */
enum guard_state {
	GUARD_INACTIVE,
	GUARD_PARTIAL,
	GUARD_ACTIVE,
	GUARD_UNKNOWN, /* it could not be tested */
	GUARD_STATE_NR
};

/* Changes by other processes that the agent reverts. */
enum guard_mending {
	MENDED_CONFIG, /* modes, expiry, rights and levels in force; kernel.ftrace_enabled */
	MENDED_PINS,   /* missing pins, or other objects in their place */
	MENDED_NR
};

struct guard_status {
	enum guard_state state;
	char mechanism[16]; /* "lsm", "fmod_ret" or "" */
	char reason[ROW_DETAIL_MAX], remedy[ROW_DETAIL_MAX];
	uint64_t recursion_misses;
	/* The kernel cannot run the programs, whatever the agent does; `reason` says why. */
	bool is_impossible;
	/* As read from the kernel; all off if there is no guard, or if they cannot be read. */
	enum enforcement modes[ASPECT_NR];
	bool is_unread; /* `modes`; `reason` says why */
	/* By `pinfold guard release`. Nothing is denied until an operator ends the release. */
	bool released;
	/* The kernel does not call the programs, and this cannot be changed; `reason` says why. */
	bool is_switched_off;
	uint64_t nr_mended[MENDED_NR];		/* since the start */
	char mended[MENDED_NR][ROW_DETAIL_MAX]; /* what differed the last time */
	/* Pins that cannot be restored, and why. The guard then ends with the agent. */
	bool is_unpinned;
	char unpinned[ROW_DETAIL_MAX];
	/*
	 * Times for which the agent stood still, since its start: how often, how long in all, how
	 * long the last time, and how long of that the guard only recorded (guardExpiry).
	 */
	uint64_t nr_outages, outage_ns, last_outage_ns, last_expired_ns;
	/* The programs that keep others from the guard's own pins and mounts are not in force, and why. */
	bool is_unprotected;
	char unprotected[ROW_DETAIL_MAX];
	/* A map that another process froze, so that it cannot be written any more; "" = none. */
	char frozen_map[32];
};

/* Number of operations that a hook judged. */
struct hook_count {
	char hook[24];
	uint64_t counts[ACTION_NR]; /* by enum event_action */
};

/* The observer's slots for containers, and what it could not count for want of space. */
struct observer_space {
	uint32_t nr_slots, nr_used;
	uint32_t nr_unmeasured; /* containers that have no slot now */
	uint64_t nr_refused;	/* containers, since the observer was loaded */
	uint64_t nr_forgotten;	/* tasks whose record another task took over */
	uint64_t nr_wrapped; /* histograms with a sum that 64 bits did not hold, since the start */
};

struct kernel_port {
	void *self;
	/*
	 * Load, attach and pin, or adopt what is pinned; may take seconds under emulation. -EPROTO =
	 * what is pinned is of a newer version, which must not be replaced. Any other negative errno:
	 * the agent goes on without programs, and `features` says which are missing and why.
	 */
	int (*start)(void *self);
	/*
	 * Register this process as an actor before its first write to a cgroup. With a negative errno
	 * a pinned guard denies its writes.
	 */
	int (*enter_actor)(void *self);
	/*
	 * Publish the complete set, generation last. Slots of groups that are not in it are
	 * freed. -EINVAL: there are no groups in it, and it does not say that it may be empty.
	 */
	int (*publish)(void *self, const struct kernel_policy *policy);
	/*
	 * Attempt a forbidden write in the test cgroup at this path, which is created and
	 * kept; guard_status is then up to date. -EINPROGRESS: sink.tested reports the end,
	 * and no other self-test may be started before.
	 */
	int (*self_test)(void *self, const char *test_cgroup);
	/* The kernel function in which the self-test is blocked; "" = unknown. */
	void (*self_test_waits_in)(void *self, char *ret_text, size_t size);
	void (*guard_status)(void *self, struct guard_status *ret_status);
	/* The counters of one container, open intervals included. -ENOENT = it has none; -ENOMEM. */
	int (*usage)(void *self, uint64_t cgroup_id, struct usage *ret_usage);
	/* The waits of one container that are over, since its slot was assigned. -ENOENT. */
	int (*latency)(void *self, uint64_t cgroup_id, struct latency *ret_latency);
	/*
	 * Call each second: heartbeat for guardExpiry, check of recursion_misses, and
	 * comparison of the configuration in force with the one that was set. Differences are
	 * reverted and reported by guard_status.
	 */
	void (*tick)(void *self);
	/* Rows are owned by the port, valid until the next call. */
	uint32_t (*features)(void *self, const struct feature_row **ret_rows);
	/* Those that are in force. */
	uint32_t (*programs)(void *self, const struct prog_row **ret_rows);
	/*
	 * Add all objects with their programs and maps, also objects that are not loaded; says
	 * whether run times are measured. Walks maps, so it is not for every scrape.
	 */
	void (*list)(void *self, struct bpf_inventory *inventory);
	/* Of the hooks of a guard in force, except those whose counters cannot be read. */
	uint32_t (*hook_counts)(void *self, const struct hook_count **ret_counts);
	/*
	 * What is lost without any other trace: EVENTS_LOST and later ones. -ENOENT: no object in
	 * force counts it; another negative errno: it cannot be read.
	 */
	int (*events_lost)(void *self, enum event_counter what, uint64_t *ret_nr);
	/* -EAGAIN: the observer is not loaded. */
	int (*observer_space)(void *self, struct observer_space *ret_space);
	/* MANAGED_COUNTED groups of the policy in force that maxContainers left no room for. May be NULL. */
	uint32_t (*groups_left_out)(void *self);
};

struct kernel_sink {
	void *self;
	/* An event; culprit and target are cgroup ids, which the controller resolves to names. */
	void (*event)(void *self, const struct event_record *event);
	/* BPF objects that start() did not wait for are in force now: publish to them. May be NULL. */
	void (*completed)(void *self);
	/* The self-test that returned -EINPROGRESS has ended. May be NULL. */
	void (*tested)(void *self);
};

/* --- pressure: user/bpf/pressure.c -------------------------------------------------------------- */
/* What to read: the input members of the rows and cells are set. */
struct pressure_wanted {
	uint32_t nr_rows, nr_cells;
	const struct pressure_row *rows;
	const struct pressure_cell *cells;
};

struct pressure_port {
	void *self;
	/*
	 * Read the pressure of the cgroups that these rows name, in any order, and what their
	 * cells ask for, at most PRESSURE_CELLS_MAX; borrowed for the call. 0 = sink.sampled gets
	 * the result, perhaps before this call returns. -EBUSY: an earlier pass has not ended yet.
	 * Of more cgroups than the port was made for the first ones are read.
	 */
	int (*sample)(void *self, const struct pressure_wanted *wanted);
	/* Add the program and its maps. */
	void (*list)(void *self, struct bpf_inventory *inventory);
	/* The kernel function in which the pass is blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct pressure_sink {
	void *self;
	/*
	 * One row for each cgroup asked for, by ascending id, and the cells that they refer to;
	 * borrowed for the call. A cgroup for which there was no room has no row. With a negative
	 * errno as the result there are no rows.
	 */
	void (*sampled)(void *self, int result, const struct pressure_row *rows, uint32_t nr,
			const struct pressure_cell *cells);
};

/* --- resident memory: user/cgroup/numa_stat.c ---------------------------------------------------- */
struct resident_port {
	void *self;
	/*
	 * Read how much memory the cgroups at these paths have on each NUMA node. 0 = sink.sampled
	 * gets the result, in the same order, perhaps before this call returns. -EBUSY: an earlier
	 * pass has not ended yet. -ENOMEM.
	 */
	int (*sample)(void *self, const char *const *paths, uint32_t nr);
	/* The kernel function in which the pass is blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct resident_sink {
	void *self;
	/*
	 * A pass has ended. A negative errno: nothing could be read, and the report is empty.
	 * Otherwise the receiver may move the rows out of the report, which is freed after the call.
	 */
	void (*sampled)(void *self, int result, struct resident_report *report);
};

/* --- noise: user/bpf/noise.c -------------------------------------------------------------------- */
/* An exclusive CPU and whose it is; `owner.epoch` is the port's. */
struct noise_grant {
	uint32_t cpu;
	struct noise_owner owner;
};

enum noise_state {
	NOISE_OFF,     /* no CPU is exclusive, so nothing is attached */
	NOISE_LOADING, /* a thread is loading and attaching the programs */
	NOISE_COUNTING,
	NOISE_ENDING, /* a thread is detaching them */
	NOISE_FAILED, /* they could not be loaded; tried again once no CPU was exclusive */
	NOISE_STATE_NR
};

struct noise_port {
	void *self;
	/*
	 * Count on these CPUs and no others; ascending, without duplicates. A CPU whose owner
	 * is another cgroup than before begins with 0. The first CPU has the programs loaded
	 * and attached by a thread, and the last one has them detached. -ERANGE: a CPU that
	 * the machine cannot have; nothing changes then.
	 */
	int (*watch)(void *self, const struct noise_grant *grants, uint32_t nr);
	enum noise_state (*state)(void *self);
	/* Can this kernel count this source? Valid while counting. */
	bool (*counts)(void *self, enum noise_source source);
	/*
	 * Who disturbed the CPU since the cgroup has it, including whoever runs there now; in
	 * no order. Entries are complete, softirqs have the kernel's names. ret_entries has
	 * room for NOISE_READ_MAX. -ENODATA: it is not counted for that cgroup.
	 */
	int (*read)(void *self, uint32_t cpu, uint64_t cgroup_id, struct noise_entry *ret_entries,
		    uint32_t *ret_nr);
	/*
	 * Tell sink.stranger of tasks that get an exclusive CPU, or do not; at any time, whether or not
	 * anything is counted. It is only a hint: some are not told, see untold.
	 */
	void (*tell_strangers)(void *self, bool wanted);
	/* Those that were not told since the start, for lack of room. */
	uint64_t (*untold)(void *self);
	/* Add the programs and maps, or why they are not loaded now. */
	void (*list)(void *self, struct bpf_inventory *inventory);
};

struct noise_sink {
	void *self;
	/* A task that is not the owner's, and could be moved, has got an exclusive CPU. */
	void (*stranger)(void *self, const struct noise_stranger *stranger);
};

/* --- cpusets of others: user/cgroup/cpuset_writer.c ---------------------------------------------- */
/* A value for a cpuset file of a cgroup that another program made. */
struct cpuset_write {
	char path[GROUP_PATH_MAX]; /* below the mount */
	uint64_t cgroup_id;	   /* another cgroup at this path is left alone */
	enum group_file file;	   /* GROUP_CPUSET_CPUS or GROUP_CPUSET_MEMS */
	struct cpuset value;
	/*
	 * Set by the port: 0 = the file has the value now; -ECANCELED = it was left alone; else a negative
	 * errno and a sentence.
	 */
	int result;
	char error[GROUP_ERROR_MAX];
};

struct cpuset_port {
	void *self;
	/*
	 * Write these files, in order, and read them back; *takes* the rows, which were allocated.
	 * 0 = sink.written gets them with their results, perhaps before this call returns. -EBUSY: an
	 * earlier call has not ended yet, and nothing is written. -ENOMEM.
	 */
	int (*write)(void *self, struct cpuset_write *rows, uint32_t nr);
	/* Rows of a call that has not ended, and that are not written yet, are to be left alone. */
	void (*cancel)(void *self);
	/* The kernel function in which the writes are blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct cpuset_sink {
	void *self;
	/* The writes have ended; the rows are freed after the call. */
	void (*written)(void *self, const struct cpuset_write *rows, uint32_t nr);
};

/* --- persistence ------------------------------------------------------------------------------ */
struct store_port {
	void *self;
	/* -ENOENT = first start. The caller owns *ret_data. */
	int (*load)(void *self, char **ret_data, size_t *ret_len);
	/*
	 * Atomic: after a crash either the old or the new record exists. -EINPROGRESS:
	 * sink.saved reports the end, and no other save may be started before.
	 */
	int (*save)(void *self, const char *data, size_t len);
	/* Rename an unusable state file to a name with the time; keeps at most 5 of them. */
	int (*set_aside)(void *self, char *ret_name, size_t size);
	/*
	 * A sentence (which directory, why) if nothing can be saved at present, otherwise
	 * NULL; valid until the next call. Costs a few system calls.
	 */
	const char *(*problem)(void *self);
	/* The kernel function in which the save is blocked; "" = unknown. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct store_sink {
	void *self;
	/* The save that returned -EINPROGRESS has ended. */
	void (*saved)(void *self, int result);
};

/* --- faces: what user/serve calls in the controller ------------------------------------------- */
struct answer_sink {
	void *self;
	/* *takes* json. */
	void (*answered)(void *self, uint64_t request, unsigned int status,
			 struct json_object *json);
};

/* Borrowed until the next call. The version is another one whenever the bytes are. */
struct face_page {
	const char *data;
	size_t len;
	uint64_t version;
};

struct faces_port {
	void *self;
	/*
	 * The object behind GET /v1/<object>; the caller owns *ret_json. -ENOENT = unknown
	 * object. "event/NUMBER" = the events from this sequence number on.
	 */
	int (*query)(void *self, const char *object, struct json_object **ret_json);
	/*
	 * POST /v1/<object>/<command> with a JSON body (may be NULL), from a peer that the
	 * socket has identified. Sets *ret_json (owned by the caller) and the HTTP status
	 * *ret_status; the body of an error is {"error": …}. -EINPROGRESS: the answer is sent
	 * later through the answer_sink, with the number `request`.
	 */
	int (*command)(void *self, uint64_t request, const char *object, const char *command,
		       struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
		       unsigned int *ret_status);
	/* The receiver of late answers; borrowed. NULL = there is no receiver any more. */
	void (*listen)(void *self, const struct answer_sink *sink);
	/*
	 * The client no longer waits for this answer, and none will be sent. `ret_why` says in
	 * a sentence why it is late. Operations that have begun continue.
	 */
	void (*withdraw)(void *self, uint64_t request, char *ret_why, size_t size);
	/* The page of metrics in one of the two formats. */
	int (*metrics)(void *self, bool openmetrics, struct text *out);
	/*
	 * The NUMA nodes and what is available of them (format/node_topology.h), as JSON. -ENOENT = the
	 * agent grants nothing, so it does not know.
	 */
	int (*topology)(void *self, struct text *out);
	/* The page for people, as HTML (format/page.h). -ENOENT = it is switched off. */
	int (*page)(void *self, struct face_page *ret_page);
	/* Live and ready; `reason` is a sentence if not. */
	bool (*healthy)(void *self, char *reason, size_t size);
	bool (*ready)(void *self, char *reason, size_t size);
};

#endif
