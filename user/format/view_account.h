/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of explanations: changes that were found to fit, hints of each provider
 * and what came of them, the steps by which CPUs came, memory per node. Shared by
 * the builders of views.h only.
 */
#ifndef FORMAT_VIEW_ACCOUNT_H
#define FORMAT_VIEW_ACCOUNT_H

#include "core/admit.h"
#include "format/view_build.h"

/* "unit", "change" and "others" of a refusal; NULL = none, then null and nothing. */
void account_put_changes(struct build *build, struct json_object *object,
			 const struct decision *decision);

/* "hints" and "merge": how nodes were chosen; NULL or not aligned = none and null. */
void account_put_hints(struct build *build, struct json_object *object, const struct ledger *ledger,
		       const struct account *account);

/* Where the exclusive CPUs of a container come from, one sentence each. */
struct json_object *account_steps(struct build *build, const struct ledger *ledger,
				  const struct ledger_pod *pod, uint32_t index,
				  const struct account *account, bool is_same);

/* One object per NUMA node and type of memory; none when memory is not pinned. */
struct json_object *account_memory(struct build *build, const struct ledger *ledger);

#endif
