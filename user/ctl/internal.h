/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller and its parts. Each part's type, and what may be done with it, is in the
 * header of its name: a function that begins with the part's name takes the part alone; one
 * that begins with ctl_ takes the controller, because it works on several. A part changes
 * its own members only; others are read, or changed by their functions. The files form a
 * stack (tests/check/circles): nothing here calls controller.c, which calls all.
 */
#ifndef CTL_INTERNAL_H
#define CTL_INTERNAL_H

#include "ctl/admission.h"
#include "ctl/chains.h"
#include "ctl/clock.h"
#include "ctl/controller.h"
#include "ctl/culprits.h"
#include "ctl/dirty.h"
#include "ctl/drift.h"
#include "ctl/event_log.h"
#include "ctl/findings.h"
#include "ctl/guard.h"
#include "ctl/look.h"
#include "ctl/lookup.h"
#include "ctl/operations.h"
#include "ctl/publisher.h"
#include "ctl/reconcile.h"
#include "ctl/record.h"
#include "ctl/runs.h"
#include "ctl/tier.h"
#include "ctl/waits.h"
#include "ctl/wakes.h"

struct controller {
	const struct topology *topology;
	const struct policy *policy;
	struct controller_options options;
	struct controller_ports ports;
	struct cpuset online; /* as last read */
	bool started;

	struct ledger *ledger;
	struct plan_layout layout;
	/* What we last wrote, so that a difference can be told from a change of ours. */
	struct group_tree desired;

	/* Know nothing of the others. */
	struct findings findings;
	struct event_log events;
	struct wakes wakes;
	struct dirty dirty;
	struct operations operations;
	struct chains chains;

	/* What is known of the kernel, and what it is told. */
	struct look look;
	struct drift drift;
	struct culprits culprits;
	struct waits waits;
	struct publisher publisher;
	struct guard guard;
	struct tier tier;

	/* What was decided and asked for. */
	struct record record;
	struct runs runs;
	struct reconciler reconciler;
	struct admission admission;

	/* How others reach the controller. */
	struct source_sink source_sink;
	struct groups_sink groups_sink;
	struct kernel_sink kernel_sink;
	struct store_sink store_sink;
	struct faces_port faces;
};

#endif
