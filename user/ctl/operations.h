/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls into the kernel that have not returned yet. An operation suspends the chain of its
 * pod, or of the workload root, until it ends; each uid has at most one. The chain is compared
 * again afterwards, whatever the result was.
 */
#ifndef CTL_OPERATIONS_H
#define CTL_OPERATIONS_H

#include "core/plan/plan.h"
#include "format/rows.h"

enum operation_kind { OPERATION_STEP, OPERATION_JOIN, OPERATION_KILL };

struct operation {
	enum operation_kind kind;
	struct step step; /* join and kill: path and uid only; value is owned, may be NULL */
	uint64_t since_ns;
	bool is_repair; /* the step repairs drift that is still open */
	uint64_t run;	/* join: the id of the request that waits for it */
	bool is_told;	/* operators were told that it waits, with this sentence */
	char told[ROW_DETAIL_MAX];
};

struct operations {
	uint32_t nr, max;
	struct operation *rows; /* owned, in no order */
};

void operations_fini(struct operations *operations);
/* The operation of this uid's chain ("" = the root's); NULL = none. */
struct operation *operations_find(const struct operations *operations, const char *uid);
/* The operation at this cgroup; NULL = none. */
struct operation *operations_find_at(const struct operations *operations, const char *path);
/* Is drift of this file being repaired? */
bool operations_repairs(const struct operations *operations, const char *path,
			enum group_file file);

/* Reserve memory for one more, so that operations_begin cannot fail. -ENOMEM. */
int operations_reserve(struct operations *operations);
/*
 * Copies the step, except for its old value. The result is borrowed until the next call that begins
 * or ends an operation.
 */
struct operation *operations_begin(struct operations *operations, enum operation_kind kind,
				   const struct step *step, uint64_t now_ns);
void operations_end(struct operations *operations, struct operation *operation);

#endif
