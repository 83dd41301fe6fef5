/* SPDX-License-Identifier: Apache-2.0 */
/* Drift: the kernel differs from the ledger and we did not do it. */
#ifndef CTL_DRIFT_H
#define CTL_DRIFT_H

#include "ctl/drift_list.h"
#include "ctl/round.h"

struct controller;

struct drift {
	struct drift_list list;
	bool repairs_once; /* the next round repairs it even where the policy only audits */
	bool is_repairing; /* this is that round */
	uint64_t nr_detected[GROUP_FILE_NR]; /* by attribute, ever */
	uint64_t nr_repaired[GROUP_FILE_NR], nr_failed[GROUP_FILE_NR];
};

/* An operator's word: the next round repairs, whatever the policy says. */
void drift_request_repair(struct drift *drift);
/* Around the steps of a round that compares everything. */
void drift_begin_round(struct drift *drift);
void drift_end_round(struct drift *drift);
/*
 * Does this step undo drift? Then it is noted, with an event if it is new. NULL = no, the
 * step does what the ledger says.
 */
struct drift_row *ctl_find_drift(struct controller *controller, const struct round *round,
				 const struct step *step);
/* Only `enforce` repairs what others changed; audit and off leave it and say so. */
bool ctl_may_repair(const struct controller *controller);
/* The step was done: this drift is repaired. */
void ctl_note_repair(struct controller *controller, const struct step *step, struct drift_row *row);
/* Rows that the plan no longer speaks of were undone by whoever made them. */
void drift_close_gone(struct drift *drift, const struct plan *plan);

/*
 * The culprit's name arrives by the ring buffer, the change itself by inotify or
 * resync: whichever comes first opens the row, the other completes it.
 */
void drift_name_culprit(struct drift *drift, const struct event_row *event);

#endif
