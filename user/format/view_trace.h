/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of explanations: hints of each provider and what came of them, the steps
 * by which CPUs came, memory per node. For view_explain.c only.
 */
#ifndef FORMAT_VIEW_TRACE_H
#define FORMAT_VIEW_TRACE_H

#include "format/view_private.h"

extern const struct object_desc hints_row_desc;
/* `trace` NULL or not aligned = none. */
struct hints_row hints_of(struct arena *arena, const struct ledger *ledger,
			  const struct trace *trace);

/* Where the exclusive CPUs of a container come from, one sentence each. */
struct step_row {
	const char *step;
};
extern const struct object_desc step_row_desc;
/*
 * How grant `index` of the pod came to its CPUs, in sentences in the order of the decision; the
 * arena owns them. NULL for a grant that is not exclusive. `is_same` = deciding the pod again
 * gives the same CPUs.
 */
struct step_row *steps_of(struct arena *arena, const struct ledger *ledger,
			  const struct ledger_pod *pod, uint32_t index, const struct trace *trace,
			  bool is_same, size_t *ret_nr);

/* One row per NUMA node and type of memory; none when memory is not pinned. */
extern const struct object_desc pinned_row_desc;
struct pinned_row *pinned_rows(struct arena *arena, const struct ledger *ledger, size_t *ret_nr);

#endif
