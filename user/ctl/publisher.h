/* SPDX-License-Identifier: Apache-2.0 */
/* What the BPF side is told of the ledger and of the cgroups. */
#ifndef CTL_PUBLISHER_H
#define CTL_PUBLISHER_H

#include "ctl/ports.h"

struct controller;

/* What the kernel side was last told of a group. */
struct published {
	char *path; /* owned */
	struct managed_group managed;
};

struct publisher {
	uint32_t nr;
	struct published *rows; /* owned, in the order of the tree */
	bool is_stale;		/* the kernel side could not be told of the last change */
	bool is_unsure;		/* it was told what was known before of a group that waits */
	bool ends_release;	/* with the next policy: the agent started or was told to reload */
};

void publisher_fini(struct publisher *publisher);
/* With the next policy an operator's release ends. */
void publisher_end_release(struct publisher *publisher);
/* The whole policy, as it is now. A finding while it cannot be told. */
void ctl_publish(struct controller *controller);
/*
 * What the kernel side was last told of the group at `path`; NULL if it was told of none.
 * Borrowed until the next publication.
 */
const struct managed_group *ctl_published(const struct controller *controller, const char *path);

#endif
