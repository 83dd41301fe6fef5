/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller and its modules. Each module's type and functions are in the header of its
 * name. A function that begins with the module's name takes only that module; one that begins
 * with ctl_ takes the controller, because it works on several modules. A module changes only
 * its own members; others are read, or changed by calling their functions (docs/architecture.md
 * names the exceptions). The files form a
 * stack (tests/check/circles): nothing here calls controller.c, which calls them all.
 */
#ifndef CTL_INTERNAL_H
#define CTL_INTERNAL_H

#include "ctl/admission.h"
#include "ctl/chains.h"
#include "ctl/clock.h"
#include "ctl/controller.h"
#include "ctl/counters.h"
#include "ctl/ended.h"
#include "ctl/culprits.h"
#include "ctl/debuggers.h"
#include "ctl/dirty.h"
#include "ctl/discovered.h"
#include "ctl/drift.h"
#include "ctl/event_log.h"
#include "ctl/findings.h"
#include "ctl/guard.h"
#include "ctl/host.h"
#include "ctl/irq.h"
#include "ctl/kubelet_drift.h"
#include "ctl/look.h"
#include "ctl/lookup.h"
#include "ctl/map_space.h"
#include "ctl/measured.h"
#include "ctl/members.h"
#include "ctl/noise.h"
#include "ctl/operations.h"
#include "ctl/page.h"
#include "ctl/placement.h"
#include "ctl/node_waits.h"
#include "ctl/pressure.h"
#include "ctl/pressure_samples.h"
#include "ctl/publisher.h"
#include "ctl/reconcile.h"
#include "ctl/record.h"
#include "ctl/resident.h"
#include "ctl/runs.h"
#include "ctl/runtime.h"
#include "ctl/stranger.h"
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
	/* The values last written: they distinguish drift from the agent's own changes. */
	struct group_tree desired;
	struct measured_groups measured;

	/* These do not know any other module. */
	struct findings findings;
	struct event_log events;
	struct wakes wakes;
	struct dirty dirty;
	struct operations operations;
	struct chains chains;

	/* The known state of the kernel, and what is published to it. */
	struct look look;
	struct drift drift;
	struct culprits culprits;
	struct waits waits;
	struct debuggers debuggers;
	struct publisher publisher;
	struct guard guard;
	struct tier tier;
	struct placements placements;
	struct counters counters;
	struct ended_pods ended;
	struct node_waits node_waits;
	struct map_space map_space;
	struct pressures pressures;
	struct pressure_samples samples;
	struct resident resident;
	struct noise noise;
	struct steering steering;
	struct strangers_known strangers;
	struct host_groups host;
	struct discovered discovered;
	struct kubelet_drift kubelet_drift;
	struct members members;

	/* Decisions and requests. */
	struct record record;
	struct runs runs;
	struct reconciler reconciler;
	struct admission admission;
	struct runtimes runtimes;

	struct page_copy page; /* for people */

	/* The interfaces that other rooms call. */
	struct controller_sinks sinks;
	struct faces_port faces;
};

#endif
