/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods and containers that others made, as the last scan of the node found them: kept for the
 * report, compared with the last complete scan for events, and judged for findings. Nothing is
 * decided for them, and nothing is written to them.
 */
#ifndef CTL_DISCOVERED_H
#define CTL_DISCOVERED_H

#include "kubelet/discovery.h"

struct controller;

struct discovered {
	struct discovery last; /* owned */
	/* Owned: the last one before `last` that was complete; later ones are compared with it. */
	struct discovery complete;
	bool has_complete;
	uint64_t found_ns; /* when `last` arrived; 0 = no scan has ended yet */
};

void discovered_fini(struct discovered *discovered);

/* Take over what a scan found; see discovery_sink. */
void ctl_take_discovery(struct controller *controller, struct discovery *found);
/*
 * If the node is to be scanned: true, with a sentence, while what is known of it is nothing,
 * incomplete or outdated.
 */
bool ctl_lacks_discovery(const struct controller *controller, char *reason, size_t size);

#endif
