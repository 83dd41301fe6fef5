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
};

struct source_sink {
	void *self;
	/* `complete` false = the directory was not read completely: no pod may be dropped. */
	void (*scanned)(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete);
	/* A scan of the directory is blocked in the kernel, or no longer is. May be NULL. */
	void (*waiting)(void *self, bool is_waiting);
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
