/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files about a container runtime and private to them. Each calls only those
 * above it:
 *
 *   runtime_rows.c         the tables of containers, sandboxes and waiting requests
 *   runtime_verify.c       the CPUs that containers have
 *   runtime_answer.c       the CPUs that containers are to have, and the answers
 *   runtime_repair.c       those that others wrote, put back
 *   runtime_decide.c       the decision on one container
 *   runtime.c              creation, resize, stop and removal
 *   runtime_synchronize.c  the begin and the end of a session
 */
#ifndef CTL_RUNTIME_PRIVATE_H
#define CTL_RUNTIME_PRIVATE_H

#include "core/admit/admit.h"
#include "ctl/runtime.h"
#include "format/event.h"

/* --- runtime_rows.c --------------------------------------------------------------------------- */

/* NULL = not known. */
struct runtime_row *runtime_rows_find(const struct runtimes *runtimes, const char *id);
/* Adds the container, or changes its row. NULL = no memory. Rows may move. */
struct runtime_row *runtime_rows_note(struct runtimes *runtimes, const char *id, const char *pod_id,
				      const char *uid, const char *name);
/* Notes where its cgroup is, if the container has a row; NULL, or too long = that is not known. */
void runtime_rows_set_cgroup(const struct runtimes *runtimes, const char *id, const char *cgroup);
/* Takes the row out; the last one is moved to its place. */
void runtime_rows_drop(struct runtimes *runtimes, struct runtime_row *row);
/* A sandbox for which there is no memory is not noted. */
void runtime_rows_note_sandbox(struct runtimes *runtimes, const char *id, const char *uid);
bool runtime_rows_has_sandbox(const struct runtimes *runtimes, const char *uid);
/* Is there any container with this name in a pod with this uid? */
bool runtime_rows_has_instance(const struct runtimes *runtimes, const char *uid, const char *name);
/* Frees its pod. The order of the others stays. */
void runtime_rows_drop_waiting(struct runtimes *runtimes, uint32_t index);

/* --- runtime_verify.c ------------------------------------------------------------------------- */

/* The runtime writes a while after the answer, and has other requests before. */
#define RUNTIME_PATIENCE_NS (5 * 1000000000ULL)

/*
 * Does the agent put back what others write? Only where it can write these cgroups, and where the
 * configuration does not leave it to the operator.
 */
bool ctl_runtime_may_repair(const struct controller *controller);

/* Reads what the container has now, and compares it with what the runtime was told. */
void ctl_runtime_read(const struct controller *controller, struct runtime_row *row);

/* What the runtime was told of this file; empty = nothing. */
struct cpuset ctl_runtime_told(const struct controller *controller, const struct runtime_row *row,
			       enum group_file file);
static inline uint32_t runtime_file_bit(enum group_file file)
{
	return UINT32_C(1) << file;
}

/* The runtime was told these. Writes of what it was told before, and that have not begun, are left out. */
void ctl_runtime_note_told(const struct controller *controller, struct runtime_row *row,
			   const struct cpuset *cpus, node_mask_t nodes);

/* --- runtime_answer.c ------------------------------------------------------------------------- */

/* NULL also if the pod is of another source, whatever its uid. */
const struct ledger_pod *ctl_runtime_pod(const struct controller *controller, const char *uid);
/* NULL = none. Whichever source the pod is of: a container is its pod's uid and its name. */
const struct grant *ctl_runtime_grant(const struct controller *controller, const char *uid,
				      const char *name);
/* Has another source named this container as well, and first? Then its grant is that one's business. */
bool ctl_runtime_is_others(const struct controller *controller, const char *uid, const char *name);
bool ctl_runtime_is_exclusive(const struct controller *controller, const char *uid,
			      const char *name);
/* A failure is logged and returned. */
int ctl_runtime_send(struct controller *controller, uint32_t request,
		     const struct runtime_answer *answer);
/*
 * Answers with all changes that are due. `created_id` is the container that is being created,
 * or NULL; a change of `always_id` is included although the runtime was told the same before.
 * A failure is logged.
 */
void ctl_runtime_answer(struct controller *controller, uint32_t request, const char *created_id,
			const char *always_id);

/* Was it told CPUs that are exclusive to others now? `exclusive`: those of all pods. */
bool ctl_runtime_is_behind(const struct controller *controller, const struct runtime_row *row,
			   const struct cpuset *exclusive);

/* Does whoever is refused share, as configured or because it runs already? */
bool ctl_runtime_shares_refused(const struct controller *controller);

/* --- runtime_decide.c ------------------------------------------------------------------------- */

/* Can it be decided at all? False with an error to show. */
bool runtime_decide_is_valid(const struct runtime_container *container, const char **ret_error);
/* What a container is told that is not valid, and one whose grant failed with an errno. */
void runtime_decide_invalid(struct decision *decision, const char *error);
void runtime_decide_failed(struct decision *decision, int error);
/*
 * 0: the decision says what became of it. -EINPROGRESS: it is decided again when the save has
 * ended.
 */
int ctl_runtime_decide(struct controller *controller, const struct pod_spec *pod,
		       const struct container_spec *container, struct decision *decision);
/*
 * Does the ledger have this valid container, and can its amounts be decided on? Amounts that no
 * kubelet states, such as other shares alone, would make its pod look like one with pod-level
 * resources.
 */
bool ctl_runtime_can_resize(const struct controller *controller,
			    const struct runtime_container *container);
/*
 * As ctl_runtime_decide(), for other amounts of such a container. A refusal leaves it as it is.
 */
int ctl_runtime_decide_resize(struct controller *controller, const struct pod_spec *pod,
			      const struct container_spec *container, struct decision *decision);
/* Counts and records what became of a resize: nothing if the container's CPUs were `before`. */
void ctl_runtime_note_resize(struct controller *controller, const struct pod_spec *pod,
			     const char *container, const struct cpuset *before);
/* Records it as one that shares; a failure is logged. */
void ctl_runtime_share(struct controller *controller, const struct pod_spec *pod,
		       const struct container_spec *container);
/* The pod is shown as running, with the reason why its cgroups are not ours. */
int ctl_runtime_note_running(struct controller *controller, const char *uid);
/* What has changed in the ledger is to be saved, published and applied to the other pods. */
void ctl_runtime_follow_up(struct controller *controller);
void ctl_runtime_record(struct controller *controller, struct event_record event,
			const struct pod_spec *pod, const char *container);
/* `then` is what becomes of the container instead; "" = nothing. */
void ctl_runtime_record_refusal(struct controller *controller, const struct pod_spec *pod,
				const char *container, const struct decision *decision,
				const char *then);

/* --- runtime.c -------------------------------------------------------------------------------- */

/* Releases the pod's CPUs, if the pod is in the ledger and of a runtime. */
void ctl_runtime_end_pod(struct controller *controller, const char *uid);
/*
 * Call before a container is decided, where nobody says which ones are init containers: the one that was
 * alone in its pod, and has ended while nobody was listening, leaves its CPUs to this one.
 */
void ctl_runtime_end_predecessor(struct controller *controller, const struct pod_spec *pod,
				 const struct container_spec *container);

#endif
