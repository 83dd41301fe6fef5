/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drift: a difference between the kernel and the ledger that pinfold did not cause. The list also
 * has the differences from what a kubelet decided, which kubelet_drift.h judges.
 */
#ifndef CTL_DRIFT_H
#define CTL_DRIFT_H

#include "ctl/drift_list.h"
#include "ctl/operations.h"
#include "ctl/round.h"

struct controller;

/* Bounds of how long drift was in force: 1 ms, and so on, four times as long each, up to 17 minutes. */
#define DRIFT_BUCKETS	      12
#define DRIFT_FIRST_BUCKET_NS 1000000ULL

struct drift {
	struct drift_list list;
	bool repairs_once; /* the next round repairs drift even if the policy only audits */
	bool is_repairing; /* the current round is that one */
	/* By attribute, since the start; see drift_count_named(). */
	uint64_t nr_detected[GROUP_ATTRIBUTE_NR][CAUSE_NR];
	uint64_t nr_repaired[GROUP_ATTRIBUTE_NR], nr_failed[GROUP_ATTRIBUTE_NR];
	uint64_t nr_exposed[DRIFT_BUCKETS], exposed_ns; /* until the agent repaired it */
};

/*
 * Count what was detected and has its cause now, or has had none for five seconds. A counter cannot be
 * corrected, and a drift is usually detected a moment before its culprit is known.
 */
void drift_count_named(struct drift *drift);
/* It was detected and repaired without a row, because nobody can tell who caused it. */
void drift_count_rewritten(struct drift *drift, enum group_file file);

/* An operator's request: the next round repairs drift, whatever the policy. */
void drift_request_repair(struct drift *drift);
/* Call these before and after the steps of a round that compares everything. */
void drift_begin_round(struct drift *drift);
void drift_end_round(struct drift *drift);
/* Does this step undo a change by another process? */
bool ctl_is_drift(struct controller *controller, const struct round *round,
		  const struct step *step);
/*
 * The drift row if this step undoes drift; new drift also raises an event. NULL = the step
 * carries out a change of the ledger.
 */
struct drift_row *ctl_find_drift(struct controller *controller, const struct round *round,
				 const struct step *step);
/*
 * Only `enforce` repairs drift; audit and off leave it in place and report it. It is the mode of
 * the aspect under which the guard judges writes to this file.
 */
bool ctl_may_repair(const struct controller *controller, enum group_file file);
/* The step succeeded: this drift is repaired. */
void ctl_note_repair(struct controller *controller, const struct step *step, struct drift_row *row);
/*
 * Close rows without a step in the plan: another process has undone the change. The plan is of a look that
 * began then, which says nothing about rows opened since. And it may have seen what a repair wrote before
 * the agent is told of its end, so a row that is being repaired stays open.
 */
void drift_close_gone(struct drift *drift, const struct plan *plan, uint64_t began_ns,
		      const struct operations *operations);

/*
 * A file of a container of a kubelet differs from what that decided: open its row, which an event may
 * have opened, with its culprit. NULL = that was done before. Its end has ACTION_REPAIR if the agent wrote it;
 * a write that failed leaves it open.
 */
struct drift_row *drift_open_kubelets(struct drift *drift, const char *path, enum group_file file);
void drift_close_kubelets(struct drift *drift, const char *path, enum group_file file,
			  uint32_t action);
void drift_fail_kubelets(struct drift *drift, enum group_file file);

/*
 * A process was moved over the border of the cgroup `path`: its row, which one open row is for all
 * such processes. It is closed when none is left. Each attempt to move one back is counted.
 */
struct drift_row *drift_open_members(struct drift *drift, const char *path);
void drift_close_members(struct drift *drift, const char *path, uint32_t action);
void drift_count_members(struct drift *drift, bool is_repaired);

/*
 * The culprit's name arrives through the ring buffer, the change itself through inotify or a
 * resync. Whichever comes first opens the row, and the other completes it. An event that was heard
 * more than five seconds after the change was found is about another one, which is still to be found.
 */
void drift_name_culprit(struct drift *drift, const struct event_row *event, uint64_t heard_ns);

#endif
