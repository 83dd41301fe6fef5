/* SPDX-License-Identifier: Apache-2.0 */
/* The pods that a source names and the ledger does not hold, each with its decision. */
#ifndef CTL_REFUSALS_H
#define CTL_REFUSALS_H

#include "core/admit/admit.h"
#include "ctl/ports.h"

#define MAX_REFUSED 256

struct refused_pod {
	char name[POD_NAME_MAX * 2]; /* namespace/name as far as known */
	char file[ROW_PATH_MAX];
	unsigned int line;
	struct pod_spec *spec; /* owned; NULL: the document itself is wrong */
	struct decision decision;
};

struct refusals {
	uint32_t nr;
	struct refused_pod *rows; /* owned, [MAX_REFUSED] */
	/* Refused in the last scan when the list was full; they wait for the next one. */
	uint32_t nr_unlisted;
	uint64_t nr_ever[REFUSAL_NR]; /* refused, by reason */
};

/* -ENOMEM. */
int refusals_init(struct refusals *refusals);
void refusals_fini(struct refusals *refusals);

/* By its name, or where no name is known by its place; NULL = not refused. */
struct refused_pod *refusals_find(const struct refusals *refusals, const char *name,
				  const char *file, unsigned int line);
/* Remember the refusal. True = it is news: another answer, or another document. */
bool refusals_note(struct refusals *refusals, const struct source_pod *source, const char *name,
		   const struct decision *decision);
/* The last row takes its place. */
void refusals_drop(struct refusals *refusals, struct refused_pod *refused);
/* Drop those that a scan of the sources does not name any more. */
void refusals_forget(struct refusals *refusals, const struct source_pod *pods, uint32_t nr_pods);

#endif
