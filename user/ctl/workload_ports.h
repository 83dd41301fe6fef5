/* SPDX-License-Identifier: Apache-2.0 */
/* A part of ctl/ports.h: from where the controller knows of pods and containers. */
#ifndef CTL_WORKLOAD_PORTS_H
#define CTL_WORKLOAD_PORTS_H

#include "core/plan/plan.h"
#include "core/pod/pod.h"
#include "kubelet/discovery.h"

/* --- sources ---------------------------------------------------------------------------------- */
/* A pod of a source. A source reports its complete contents each time. */
struct source_pod {
	const struct pod_spec *spec; /* NULL: the document was refused */
	const char *file;	     /* relative to the manifests directory */
	unsigned int line;
	const char *error; /* if spec is NULL: a sentence with line, field, reason and remedy */
	const char *name;  /* namespace/name as far as known, or "" */
	/* If spec is NULL: the parts of the name; "" or NULL = unknown. */
	const char *namespace, *pod;
};

struct source_sink {
	void *self;
	/* `complete` false = the directory was not read completely: no pod may be dropped. */
	void (*scanned)(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete);
	/* A scan of the directory is blocked in the kernel, or no longer is. May be NULL. */
	void (*waiting)(void *self, bool is_waiting);
};

/* --- members of containers: user/cgroup/members.c -------------------------------------------------- */
/* A process that somebody without the right moved over the border of a managed cgroup. */
struct member_move {
	uint32_t pid;	      /* of the process, in the initial pid namespace */
	uint64_t start_ticks; /* its start time: another process with this pid is left alone */
	uint64_t moved_ticks; /* when it was moved; both since the boot, in 1/100 s */
	uint64_t from_id;     /* the cgroup that it was in */
	/* The container whose member it is; 0 = none, it is a stranger. The path is as last known, or "". */
	uint64_t home_id;
	char home[GROUP_PATH_MAX];
	/* The managed cgroup that it was brought into, likewise; 0 = it was taken out of all. */
	uint64_t inside_id;
	char inside[GROUP_PATH_MAX];
	/*
	 * Set by the port: 0 = it was moved to `to`; -ESRCH = the process has ended; -EALREADY = it is
	 * no longer where it was moved to, or back; -EAGAIN = it is in another managed cgroup, of which
	 * another move will tell; -ENOENT = its container has gone; else a negative errno and a sentence.
	 */
	int result;
	uint32_t nr_children; /* that were moved with it */
	char to[GROUP_PATH_MAX];
	char error[GROUP_ERROR_MAX];
};

struct member_port {
	void *self;
	/*
	 * Move the process back: into the cgroup that it was in; if that has gone, a member into its
	 * container and a stranger into the root cgroup. Children that were born since then where it
	 * was moved to go with it. Nothing is changed unless the process is still there. 0 =
	 * sink.ended gets the result, perhaps before this call returns. -EBUSY: an operation on the
	 * pod has not ended yet. -ENOMEM.
	 */
	int (*restore)(void *self, const struct member_move *move);
	/* The kernel function in which such a call is blocked; "" = unknown. */
	void (*waits_in)(void *self, const struct member_move *move, char *ret_text, size_t size);
};

struct member_sink {
	void *self;
	/* The call has ended; the move is freed after this one. */
	void (*ended)(void *self, const struct member_move *move);
};

/* --- container runtime: user/runtime ------------------------------------------------------------ */
/* A sandbox of a pod. When it is made anew, a pod has two of them for a while. */
struct runtime_pod {
	const char *id;
	const struct pod_spec *spec; /* without containers; NULL: not valid */
	const char *error;	     /* if spec is NULL: a sentence */
	bool is_stopped;	     /* its sandbox has no process any more */
};

struct runtime_container {
	const char *id;
	const struct runtime_pod *pod; /* never NULL; without an id: its sandbox is not listed */
	const struct container_spec *spec; /* NULL: not valid */
	const char *error;		   /* if spec is NULL: a sentence */
	/* CPUs and memory nodes that the runtime has recorded for it; "" = none, NULL likewise. */
	const char *cpus, *mems;
	const char *cgroup; /* its path below the mount; NULL = not known */
};

/* All sandboxes, and the containers that have not exited. */
struct runtime_snapshot {
	const struct runtime_pod *pods;
	uint32_t nr_pods;
	const struct runtime_container *containers;
	uint32_t nr_containers;
};

/* Other CPUs for a container that exists, and the NUMA nodes of its memory; NULL = as they are. */
struct runtime_change {
	const char *container_id, *cpus, *mems;
};

struct runtime_answer {
	const char *cpus; /* of the container that is created; "" = none */
	const char *mems; /* of the same, as in runtime_change */
	const struct runtime_change *changes;
	uint32_t nr_changes;
	const char *refusal; /* a creation or an update fails with this sentence; NULL = neither */
	/* The CPUs for containers that are not decided yet; NULL = unknown. */
	const char *shared_cpus;
};

struct runtime_port {
	void *self;
	/*
	 * Answer a request. -ENOTCONN, -ENOENT: nobody waits for this answer any more. The
	 * runtime carries out the changes in order, before it goes on with the request; a
	 * change that fails is not reported.
	 */
	int (*answer)(void *self, uint32_t request, const struct runtime_answer *answer);
	/* The containers run before they are created here: one that is refused shares. */
	bool cannot_refuse;
	/*
	 * Nobody says which containers are init containers, so they are told by when they run. One that
	 * was removed has another one in its place, or is taken for an init container.
	 */
	bool has_no_kinds;
	/* Changes are due to containers: ask for them soon. NULL = nobody can be made to ask. */
	void (*ask_soon)(void *self);
	/*
	 * There is more room than when this container was refused: call sink.retried for it later.
	 * NULL = whoever was refused cannot be decided again.
	 */
	void (*ask_again)(void *self, const char *container_id);
};

/*
 * A runtime waits for the answer to each `request`, for some seconds and with all pods of the
 * node; without one it goes on as if there were no plugin. Everything is borrowed for the call.
 */
struct runtime_sink {
	void *self;
	/* A session began. What was known of the runtime before does not count any more. */
	void (*synchronized)(void *self, uint32_t request, const struct runtime_snapshot *snapshot);
	void (*created)(void *self, uint32_t request, const struct runtime_container *container);
	/*
	 * The runtime is about to change a container, which then has the amounts of its spec. They
	 * are as before unless it `states_amounts`. It carries out the changes of others in the
	 * answer first, and that of this container last.
	 */
	void (*resized)(void *self, uint32_t request, const struct runtime_container *container,
			bool states_amounts);
	/* It has carried this out. Not called if it could not. */
	void (*updated)(void *self, const char *container_id);
	void (*stopped)(void *self, uint32_t request, const char *container_id);
	void (*removed)(void *self, const char *container_id);
	/* The sandbox and its containers have no processes any more. May come twice. */
	void (*pod_stopped)(void *self, const char *pod_id);
	/* The session has ended: its requests cannot be answered any more. */
	void (*ended)(void *self);
	/*
	 * Where nobody can be asked before a container starts: it has its CPUs now, and its tasks had
	 * run for this long, in CPU time, when it was found.
	 */
	void (*pinned)(void *self, const char *container_id, uint64_t run_ns);
	/* Another program wrote this file of a container; the value is written again. */
	void (*rewritten)(void *self, const char *container_id, enum group_file file,
			  const struct cpuset *value);
	/*
	 * Call after each scan: of all files that others write again and again, the one that was put back
	 * most often, and how often; NULL = there is none.
	 */
	void (*contested)(void *self, const char *container_id, enum group_file file,
			  uint32_t nr_reverts);
	/* As runtime_port.ask_again wanted. If it is refused once more, nothing is said or changed. */
	void (*retried)(void *self, uint32_t request, const struct runtime_container *container);
};

/* --- discovery: user/discover ------------------------------------------------------------------- */
struct discovery_port {
	void *self;
	/* Scan again, not at once, and not so often that scans take much of the time. */
	void (*scan_soon)(void *self);
};

struct discovery_sink {
	void *self;
	/*
	 * Everything that a scan of the node found. The receiver may take the content, and then
	 * leaves an empty discovery.
	 */
	void (*discovered)(void *self, struct discovery *found);
};

#endif
