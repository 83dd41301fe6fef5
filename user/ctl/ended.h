/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the containers of a pod had counted when they ended. The observer's counters end with their
 * container, so the sum of a pod would go back each time one of its containers ends or is restarted.
 * An agent that is restarted begins without these counts.
 */
#ifndef CTL_ENDED_H
#define CTL_ENDED_H

#include "ctl/counters.h"

struct controller;

struct ended_pod {
	uint64_t pod; /* as struct managed_group has it */
	struct usage usage;
	struct latency latency;
	bool is_in_ledger; /* while the released ones are dropped */
};

struct ended_pods {
	uint32_t nr, max;
	struct ended_pod
		*rows; /* owned; pods of the ledger of which a container has ended, by `pod` */
};

void ended_fini(struct ended_pods *ended);

/* Add what all of a usage is but its arrays by CPU. */
void ended_add_usage(struct usage *sum, const struct usage *usage);
/*
 * Keep what containers had at the last look that are not published any more, or have no slot any more. Call
 * it after each publication, which a look precedes.
 */
void ctl_keep_ended(struct controller *controller);
/* NULL = no container of the pod has ended. Borrowed until the next publication. */
const struct ended_pod *ctl_ended(const struct controller *controller, const char *uid);

#endif
