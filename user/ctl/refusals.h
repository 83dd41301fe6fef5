/* SPDX-License-Identifier: Apache-2.0 */
/* The pods that a source names but that are not in the ledger, each with its decision. */
#ifndef CTL_REFUSALS_H
#define CTL_REFUSALS_H

#include "core/admit/admit.h"
#include "ctl/ports.h"

#define MAX_REFUSED 256

struct refused_pod {
	char name[POD_NAME_MAX * 2]; /* namespace/name as far as known; "" = unknown */
	char namespace[POD_NAME_MAX], pod[POD_NAME_MAX]; /* the same in its parts */
	char file[ROW_PATH_MAX];
	unsigned int line;
	struct pod_spec *spec; /* owned; NULL: the document itself is invalid */
	struct decision decision;
};

struct refusals {
	uint32_t nr;
	struct refused_pod *rows; /* owned, [MAX_REFUSED] */
	/* Refused in the last scan while the list was full; they wait for the next scan. */
	uint32_t nr_unlisted;
	uint64_t nr_ever[REFUSAL_NR]; /* refusals since the start, by reason */
};

/* -ENOMEM. */
int refusals_init(struct refusals *refusals);
void refusals_fini(struct refusals *refusals);

/* By name, or by file and line if the name is unknown; NULL = not refused. */
struct refused_pod *refusals_find(const struct refusals *refusals, const char *name,
				  const char *file, unsigned int line);
/* Remember the refusal. True = it is new: another answer, or another document. */
bool refusals_note(struct refusals *refusals, const struct source_pod *source, const char *name,
		   const struct decision *decision);
/* Count a refusal that is not to be remembered, because nobody decides it again. */
void refusals_count(struct refusals *refusals, enum refusal refusal);
/* Fill in the refusal of whoever would need a state file that cannot be written. */
void refusals_say_unsaved(struct decision *ret_decision, int error_code);
/* Moves the last row into its place. */
void refusals_drop(struct refusals *refusals, struct refused_pod *refused);
/* Drop the refusals that a scan of the sources no longer names. */
void refusals_forget(struct refusals *refusals, const struct source_pod *pods, uint32_t nr_pods);

#endif
