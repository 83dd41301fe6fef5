/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of a container runtime: what the runtime reports becomes grants, and grants become
 * answers. The runtime makes the cgroups and writes their cpusets; here only what others write there is
 * put back. Where no runtime calls, user/runtime/kubepods.c takes its part, for containers that it finds. When a
 * container is created, its exclusive CPUs and its memory nodes are durable before the runtime learns
 * of them. One that has neither waits for nothing, because the next Synchronize brings it back.
 * Nor does the answer to Synchronize wait: the runtime records the CPUs of grants made there,
 * and the next Synchronize adopts them, unless somebody else was given them before it.
 *
 * A resize in place is decided as in core/admit/resize.h, and its record is durable before the
 * answer. What a container gives up is given to nobody in the same answer, because the runtime
 * changes the container last.
 *
 * A container keeps its grant over restarts: it is released when the last instance with its
 * name is removed, or when the pod's last sandbox has stopped.
 */
#ifndef CTL_RUNTIME_H
#define CTL_RUNTIME_H

#include "core/stranger/stranger.h"
#include "ctl/ports.h"

#define RUNTIME_ID_MAX	    129 /* runtimes use 64 digits */
#define RUNTIME_CGROUP_MAX  512 /* the kubelet's are below 250 */
#define RUNTIME_MAX_WAITING 64	/* a runtime sends one request at a time */

struct controller;

/* A container that the runtime has. */
struct runtime_row {
	char id[RUNTIME_ID_MAX], pod_id[RUNTIME_ID_MAX];
	char uid[POD_UID_MAX], name[POD_CONTAINER_NAME]; /* "": it is not in the ledger */
	char cgroup[RUNTIME_CGROUP_MAX]; /* its path below the mount; "" = not known */
	struct cpuset told;		 /* the CPUs that the runtime was told; empty = none */
	bool is_told_own;		 /* and they were exclusive then */
	node_mask_t told_nodes;		 /* and the memory nodes; 0 = none */
	/* In the answer to its update: told once the runtime has carried it out; empty = none. */
	struct cpuset answered;
	bool is_answered_own;
	uint64_t serial;     /* later containers have higher ones */
	uint64_t differs_ns; /* since when it has others than it was told; 0 = it has them */
	struct cpuset found, found_mems;      /* in force when it was read last */
	bool has_other_cpus, has_other_nodes; /* than it was told, then */
	uint64_t cgroup_id;		      /* then */
	/* Bits are files, as they were read last: with what it was told, and with anything else. */
	uint32_t right_files, wrong_files;
	/* Others write its cpuset: bits are files that were put back and not seen right since. */
	struct stranger_pause pause;
	uint32_t put_back;
	enum group_file contested_file;
	struct stranger_pause failing; /* its file cannot be written */
	uint32_t corrected;   /* the same of files that get over a write of what was told before */
	bool is_to_be_stated; /* in the next answer, although the runtime was told it before */
	bool is_short; /* it was refused what it asks for, so it shares or has its former size */
};

struct runtime_sandbox {
	char id[RUNTIME_ID_MAX], uid[POD_UID_MAX];
};

/* A creation or a resize whose grant is being written to the state file. */
struct runtime_waiting {
	uint32_t request;
	uint64_t since_ns;
	char id[RUNTIME_ID_MAX], pod_id[RUNTIME_ID_MAX], cgroup[RUNTIME_CGROUP_MAX];
	struct pod_spec *pod; /* owned */
	struct container_spec container;
	bool is_resize;
	bool is_retry; /* a resize as well, perhaps from the shared pool to exclusive CPUs */
};

struct runtimes {
	bool is_synchronized;
	uint32_t nr_rows, max_rows;
	struct runtime_row *rows; /* owned, in no order */
	uint64_t last_serial;
	uint32_t verified;	   /* counts on; the row after the one that was verified last */
	uint64_t writing_since_ns; /* cpusets are being put back; 0 = none are */
	uint64_t unpinned_ns;	   /* CPU time that containers had run when they were found */
	uint64_t nr_offers; /* admission.nr_offers when the refused ones were last told of room */
	uint32_t nr_sandboxes, max_sandboxes;
	struct runtime_sandbox *sandboxes; /* owned, in no order */
	uint32_t nr_waiting;
	struct runtime_waiting waiting[RUNTIME_MAX_WAITING];
};

void runtime_fini(struct runtimes *runtimes);

/* The members of runtime_sink. */
void ctl_runtime_synchronized(void *self, uint32_t request,
			      const struct runtime_snapshot *snapshot);
void ctl_runtime_created(void *self, uint32_t request, const struct runtime_container *container);
void ctl_runtime_resized(void *self, uint32_t request, const struct runtime_container *container,
			 bool states_amounts);
void ctl_runtime_updated(void *self, const char *container_id);
void ctl_runtime_stopped(void *self, uint32_t request, const char *container_id);
void ctl_runtime_removed(void *self, const char *container_id);
void ctl_runtime_pod_stopped(void *self, const char *pod_id);
void ctl_runtime_ended(void *self);
void ctl_runtime_pinned(void *self, const char *container_id, uint64_t run_ns);
void ctl_runtime_rewritten(void *self, const char *container_id, enum group_file file,
			   const struct cpuset *value);
void ctl_runtime_contested(void *self, const char *container_id, enum group_file file,
			   uint32_t nr_reverts);
void ctl_runtime_retried(void *self, uint32_t request, const struct runtime_container *container);

/* Does the runtime have a container of this pod, whichever source the pod is of? */
bool ctl_runtime_names(const struct controller *controller, const char *uid);
/*
 * If room was made since the last call: have the runtime ask again about the containers that were
 * refused, where it can. Call after each release and each second.
 */
void ctl_runtime_offer(struct controller *controller);
/* A save of the state has ended: decide again what waited for it. */
void ctl_runtime_resume(struct controller *controller, int result);
/*
 * Raise or clear the finding about containers that were last told CPUs which are exclusive to
 * others now. pinfold cannot call the runtime, so that lasts until its next request.
 */
void ctl_runtime_check(struct controller *controller);
/*
 * Call each second: compares some containers with what the runtime was told, all of them in turn,
 * and raises or clears the finding about those that have had others for seconds.
 */
void ctl_runtime_verify(struct controller *controller);
/* Call after that: has cpusets put back that others wrote, if that is configured. */
void ctl_runtime_repair(struct controller *controller);
/* What it had written has ended. */
void ctl_runtime_end_repair(struct controller *controller, const struct cpuset_write *rows,
			    uint32_t nr);

#endif
