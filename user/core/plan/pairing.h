/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this folder: groups of both trees are paired by sorted path instead of linear search,
 * because a tree may be as large as maxContainers allows.
 */
#ifndef CORE_PLAN_PAIRING_H
#define CORE_PLAN_PAIRING_H

#include "core/plan/plan.h"

struct pairing {
	uint32_t nr;
	const struct group **sorted; /* owned; the groups are the tree's */
};

/* 0 or -ENOMEM. The caller frees `sorted`. */
int pairing_make(const struct group_tree *tree, struct pairing *ret_pairing);
/* The group of this path; NULL = the tree has none. */
const struct group *pairing_find(const struct pairing *pairing, const char *path);

#endif
