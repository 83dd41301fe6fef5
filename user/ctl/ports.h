/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller needs from the world, as function tables. Each adapter
 * fills one; tests fill them with fakes. All calls come from the one event-loop
 * thread, none may block longer than its comment says.
 *
 * What may wait in the kernel answers -EINPROGRESS after a short grace: it goes on, and
 * the sink tells how it ended. Nobody can call it back, so the controller asks for one
 * such thing at a time in each chain of steps (a pod's, the root's).
 */
#ifndef CTL_PORTS_H
#define CTL_PORTS_H

#include <sys/types.h>

#include "core/plan/plan.h"
#include "format/config.h"
#include "format/event.h"
#include "format/rows.h"

struct json_object;
struct text;

/* --- clock ------------------------------------------------------------------------------------ */
struct clock_port {
	void *self;
	uint64_t (*now_ns)(void *self);	 /* CLOCK_MONOTONIC */
	uint64_t (*wall_ns)(void *self); /* CLOCK_REALTIME */
};

/* --- the loop: main ---------------------------------------------------------------------------- */
struct loop_port {
	void *self;
	/* Call controller_wake once, delay_ns from now; a nearer wake already asked for stands. */
	void (*wake)(void *self, uint64_t delay_ns);
};

/* --- the machine: user/machine ------------------------------------------------------------------ */
struct machine_port {
	void *self;
	/*
	 * Memory nodes with the huge pages the kernel has free now; free_pages UINT64_MAX =
	 * could not be told. `ret_nodes` has room for TOPOLOGY_MAX_NODES; returns how many.
	 */
	uint32_t (*free_pages)(void *self, struct topology_node *ret_nodes);
};

/* --- cgroups: user/cgroup --------------------------------------------------------------------- */
#define GROUP_ERROR_MAX 320

/* What the kernel says about one group beyond the files that are ours. */
struct group_status {
	uint64_t cgroup_id; /* inode number of the directory */
	uint32_t level;	    /* depth: 1 = directly below the mount's root */
	struct cpuset effective_cpus, effective_mems;
	bool populated;
	bool is_root_partition; /* and a valid one */
	char partition[128];	/* cpuset.cpus.partition for people, "" when there is none */
	uint64_t usage_usec, throttled_usec, nr_throttled; /* cpu.stat */
};

/* What keeps every cgroup from being reached or written. */
struct group_obstacle {
	char message[ROW_DETAIL_MAX], remedy[ROW_DETAIL_MAX];
};

enum managed_scope { MANAGED_TREE, MANAGED_SELF, MANAGED_OVERLAP };

struct managed_group {
	uint64_t cgroup_id;
	uint32_t level;
	enum managed_scope scope;
	bool is_container;  /* has a slot: counted, and the border of the border rule */
	struct cpuset cpus; /* its CPUs; for placement */
	uint64_t nodes;	    /* NUMA node indexes its memory is near on; for placement */
};

struct groups_port {
	void *self;
	/* "systemd" or "cgroupfs"; how plan_layout is to be filled. */
	void (*layout)(void *self, struct plan_layout *ret_layout);
	/*
	 * Is the hierarchy we hold the one that everybody sees, and may it be written? A few
	 * system calls. -EXDEV = something is mounted over it, -EROFS = read-only, or another
	 * negative errno, with the obstacle.
	 */
	int (*check)(void *self, struct group_obstacle *ret_obstacle);
	/*
	 * The tree below the workload root as it is now; -ENOENT = no root yet.
	 * -EINPROGRESS: sink.looked tells when another call takes what was found; that may
	 * be older than what was changed in between. A pod for which something goes on is
	 * `unseen`: a look at it would wait for the same.
	 */
	int (*read_tree)(void *self, struct group_tree *ret_tree);
	/* The files of one group into `group`, whose path is given; as in observe. -ENOENT = gone. */
	int (*read_group)(void *self, struct group *group);
	/*
	 * Do one step and read it back. 0 = the kernel now has the value (as a set, for CPU
	 * lists). Negative errno with a sentence in `error` (file, value, cause, remedy):
	 * -EREMOTEIO = accepted by write(2) but not in force (invalid partition, empty
	 * intersection). -EINPROGRESS: sink.completed tells the end.
	 */
	int (*apply)(void *self, const struct step *step, char error[GROUP_ERROR_MAX]);
	/* -EINPROGRESS: something goes on for its pod, and nothing can be told until it ends. */
	int (*status)(void *self, const char *path, struct group_status *ret_status);
	/*
	 * Process ids of the group and everything below. *ret_pids is owned by the caller.
	 * -EINPROGRESS: cannot be told now.
	 */
	int (*tasks)(void *self, const char *path, pid_t **ret_pids, uint32_t *ret_nr);
	/*
	 * Move process `pid`, still the one `pidfd` refers to, into the group (`pinfold run`).
	 * Under systemd this is where the container's scope comes to be. -ESRCH = gone.
	 * -EINPROGRESS: sink.completed tells the end.
	 */
	int (*join)(void *self, const char *path, pid_t pid, int pidfd,
		    char error[GROUP_ERROR_MAX]);
	/* End every process of the group and below (cgroup.kill). -EINPROGRESS as for join. */
	int (*kill)(void *self, const char *path);
	/*
	 * User tasks outside the workload root that a root partition would push onto the
	 * reserved CPUs; and is machine.slice or a container scope outside populated?
	 * -EINPROGRESS: cannot be told now.
	 */
	int (*outsiders)(void *self, uint32_t *ret_nr_tasks, char *ret_populated_scope,
			 size_t size);
	/*
	 * Cgroups around the workload root that the guard covers in part: its ancestors
	 * (MANAGED_SELF) and their other children (MANAGED_OVERLAP). *ret_nr <= max.
	 */
	int (*surroundings)(void *self, struct managed_group *ret_groups, uint32_t max,
			    uint32_t *ret_nr);
	/*
	 * Path of a cgroup by its id, for naming culprits; -ENOENT when it is gone.
	 * -EINPROGRESS: a name is being looked up; sink.named tells when to ask again.
	 */
	int (*path_of)(void *self, uint64_t cgroup_id, char *ret_path, size_t size);
	/*
	 * Watch the tree's files for foreign writes and lost partitions; again after each plan.
	 * -EINPROGRESS: one that is new could not be opened yet, call again.
	 */
	int (*rewatch)(void *self, const struct group_tree *tree);
	/* Where in the kernel what goes on at `path` waits ("" = the look); "" = not known. */
	void (*waits_in)(void *self, const char *path, char *ret_text, size_t size);
};

/* The cgroup room calls back through this: "look again at this group". */
struct groups_sink {
	void *self;
	void (*changed)(void *self, const char *path, const char *file);
	void (*populated)(void *self, const char *path, bool populated);
	/* CPUs went off or came back, perhaps; these are online now. */
	void (*hotplug)(void *self, const struct cpuset *online);
	/* What answered -EINPROGRESS for this path has ended. */
	void (*completed)(void *self, const char *path, int result, const char *error);
	/* A look that answered -EINPROGRESS has ended. */
	void (*looked)(void *self);
	/* A path_of that answered -EINPROGRESS has ended. May be NULL. */
	void (*named)(void *self);
};

/* --- kernel side: user/bpf -------------------------------------------------------------------- */
/* A unit with rights against the guard, known by its parent cgroup and its name. */
struct actor_unit {
	uint64_t parent_id;
	uint32_t level;	 /* of the unit: the parent's + 1 */
	char name[64];	 /* "containerd.service" */
	bool is_runtime; /* else kubelet-like: everything but cpuset files */
};

struct kernel_policy {
	uint32_t nr_groups;
	const struct managed_group *groups; /* borrowed for the call */
	uint32_t nr_actors;
	const struct actor_unit *actors; /* borrowed for the call */
	struct cpuset protected_cpus;	 /* exclusively granted */
	enum enforcement cpuset_files, affinity, cgroup_moves;
	bool runtime_writes_deny;
	/*
	 * Where systemd makes our cgroups it writes their files again, with the values we gave
	 * it, at each daemon-reload: PID 1 may, and drift catches it if it writes others.
	 */
	bool pid1_writes_cpusets;
	/* The cpusets of all other top-level cgroups, those to come included. */
	bool guards_siblings;
	uint64_t guard_expiry_ns; /* 0 = never */
	/* At a start and a reload: an operator's release ends here. Else it outlives the policy. */
	bool ends_release;
};

/* Counters of one container since its slot was given, open interval included. */
struct usage {
	uint64_t run_local_ns, run_remote_ns, run_outside_ns;
	uint64_t wait_ns, wait_own_quota_ns;
	uint64_t switches;
	uint64_t migrations_core, migrations_llc, migrations_numa;
	uint64_t nr_cpus;	/* length of run_ns */
	const uint64_t *run_ns; /* per CPU id; borrowed until the next call; NULL = not kept */
};

/* How the guard stands, as the last self-test found it. */
enum guard_state {
	GUARD_INACTIVE,
	GUARD_PARTIAL,
	GUARD_ACTIVE,
	GUARD_UNKNOWN, /* it could not be tested */
	GUARD_STATE_NR
};

/* What in the kernel somebody else changed, and was put right. */
enum guard_mending {
	MENDED_CONFIG, /* modes, expiry, rights and levels in force; the kernel's switch */
	MENDED_PINS,   /* lost, or something else in their place */
	MENDED_NR
};

struct guard_status {
	enum guard_state state;
	char mechanism[16]; /* "lsm", "fmod_ret" or "" */
	char reason[ROW_DETAIL_MAX], remedy[ROW_DETAIL_MAX];
	uint64_t recursion_misses;
	/* As the kernel has them now; all off where there is no guard. */
	enum enforcement cpuset_files, affinity, cgroup_moves;
	/* By `pinfold guard release`. It stands: nothing is denied until somebody ends it. */
	bool released;
	/* The kernel calls no program and cannot be made to; `reason` says why. */
	bool is_switched_off;
	uint64_t nr_mended[MENDED_NR];		/* since the start */
	char mended[MENDED_NR][ROW_DETAIL_MAX]; /* the last time: what differed */
	/* Pins that cannot be put back, and why; "" = none. The guard then ends with the agent. */
	char unpinned[ROW_DETAIL_MAX];
	/* A map of ours that another process froze: it cannot be written any more. "" = none. */
	char frozen_map[32];
};

/* Counters of what the hooks did. */
struct hook_count {
	char hook[24];
	uint64_t counts[ACTION_NR]; /* by enum event_action */
};

struct kernel_port {
	void *self;
	/* Load, attach, pin, or adopt what is pinned; may take seconds under emulation. */
	int (*start)(void *self);
	/* Enter this process into the pinned actors before its first cgroup write. */
	int (*enter_actor)(void *self);
	/* Publish; complete set, generation last. Slots of groups not in the set are freed. */
	int (*publish)(void *self, const struct kernel_policy *policy);
	/*
	 * Try a forbidden write in the test cgroup at this path, which is made and stays; then
	 * guard_status is fresh. -EINPROGRESS: sink.tested tells the end, and no other
	 * self-test may be asked for before.
	 */
	int (*self_test)(void *self, const char *test_cgroup);
	/* Where in the kernel the self-test waits; "" = not known. */
	void (*self_test_waits_in)(void *self, char *ret_text, size_t size);
	void (*guard_status)(void *self, struct guard_status *ret_status);
	int (*usage)(void *self, uint64_t cgroup_id, struct usage *ret_usage); /* -ENOENT */
	/*
	 * Each second: heartbeat for guardExpiry, a look at recursion_misses, and what is in
	 * force compared with what was set and put right; guard_status tells what was.
	 */
	void (*tick)(void *self);
	/* Rows are owned by the port, valid until the next call. */
	uint32_t (*features)(void *self, const struct feature_row **ret_rows);
	uint32_t (*programs)(void *self, const struct prog_row **ret_rows);
	uint32_t (*hook_counts)(void *self, const struct hook_count **ret_counts);
	uint64_t (*events_lost)(void *self);
};

struct kernel_sink {
	void *self;
	/* Something happened; culprit and target are ids, which the controller names. */
	void (*event)(void *self, const struct event_record *event);
	/* Parts that start() had not waited for are in force now: publish to them. May be NULL. */
	void (*completed)(void *self);
	/* The self-test that answered -EINPROGRESS has ended. May be NULL. */
	void (*tested)(void *self);
};

/* --- sources ---------------------------------------------------------------------------------- */
/* A source tells the whole truth each time: everything it names now. */
struct source_pod {
	const struct pod_spec *spec; /* NULL: the document was refused */
	const char *file;	     /* below the manifests directory */
	unsigned int line;
	const char *error; /* when spec is NULL: line, field, reason and remedy in a sentence */
	const char *name;  /* namespace/name as far as it is known, or "" */
};

struct source_sink {
	void *self;
	/* `complete` false = the directory could not be read whole: nothing may be dropped. */
	void (*scanned)(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete);
	/* A look at the directory waits in the kernel, or no longer does. May be NULL. */
	void (*waiting)(void *self, bool is_waiting);
};

/* --- persistence ------------------------------------------------------------------------------ */
struct store_port {
	void *self;
	/* -ENOENT = first start. *ret_data is owned by the caller. */
	int (*load)(void *self, char **ret_data, size_t *ret_len);
	/*
	 * Atomic: the old or the new record survives a crash. -EINPROGRESS: sink.saved tells
	 * the end, and no other save may be asked for before.
	 */
	int (*save)(void *self, const char *data, size_t len);
	/* Move an unreadable state file aside under a name that says when; keeps at most 5. */
	int (*set_aside)(void *self, char *ret_name, size_t size);
	/*
	 * A sentence when nothing can be saved, now or ever (which directory, why), else NULL;
	 * valid until the next call. A few system calls.
	 */
	const char *(*problem)(void *self);
	/* Where in the kernel the save waits; "" = not known. */
	void (*waits_in)(void *self, char *ret_text, size_t size);
};

struct store_sink {
	void *self;
	/* The save that answered -EINPROGRESS has ended. */
	void (*saved)(void *self, int result);
};

/* --- faces: what user/serve asks of the controller -------------------------------------------- */
struct answer_sink {
	void *self;
	/* *takes* json. */
	void (*answered)(void *self, uint64_t request, unsigned int status,
			 struct json_object *json);
};

struct faces_port {
	void *self;
	/*
	 * The object behind GET /v1/<object>; *ret_json is owned by the caller.
	 * -ENOENT = no such object.
	 */
	int (*query)(void *self, const char *object, struct json_object **ret_json);
	/*
	 * POST /v1/<object>/<command> with a JSON body (may be NULL), from a peer that the
	 * socket has identified. Answers with *ret_json (owned by the caller) and an HTTP
	 * status in *ret_status; an error body is {"error": …}. -EINPROGRESS: the answer
	 * comes through the answer_sink, under the number `request`.
	 */
	int (*command)(void *self, uint64_t request, const char *object, const char *command,
		       struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
		       unsigned int *ret_status);
	/* Where late answers go; borrowed. NULL = nobody takes them any more. */
	void (*listen)(void *self, const struct answer_sink *sink);
	/*
	 * Nobody waits for this answer any more, and none comes; why it is late, in a
	 * sentence. What the kernel has begun for it goes on.
	 */
	void (*withdraw)(void *self, uint64_t request, char *ret_why, size_t size);
	/* The page of metrics in either format. */
	int (*metrics)(void *self, bool openmetrics, struct text *out);
	/* Live and ready; a sentence when not. */
	bool (*healthy)(void *self, char *reason, size_t size);
	bool (*ready)(void *self, char *reason, size_t size);
};

#endif
