/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the BPF backend. They identify cgroups by number; here the numbers are resolved to
 * names, which may take long. Events are reported in order of arrival, so later events wait
 * for an earlier one without a name.
 */
#ifndef CTL_CULPRITS_H
#define CTL_CULPRITS_H

#include "format/event.h"
#include "format/rows.h"

struct controller;

#define MAX_UNNAMED 256

/* The cgroups of an event. */
enum event_name { NAME_CULPRIT, NAME_CLIENT, NAME_TARGET, NAME_NR };

/* An event whose cgroups have not been named yet. */
struct unnamed {
	struct event_record event;
	uint64_t since_ns, wall_ns;
	/* "" = the event has no such cgroup. If it has gone or cannot be found, the name says so. */
	char names[NAME_NR][ROW_PATH_MAX];
	bool is_known[NAME_NR];
	uint32_t nr_named; /* how many of these */
};

struct culprits {
	uint32_t nr;
	struct unnamed *rows; /* owned, [MAX_UNNAMED], oldest first; NULL before the first use */
};

void culprits_fini(struct culprits *culprits);
/* An event has arrived: report it at once, or when its culprit has a name. */
void ctl_hear_event(struct controller *controller, const struct event_record *event);
/* Names may have been resolved: report the events that waited for them. */
void ctl_name_culprits(struct controller *controller);
/* Report all waiting events without names. Only culprits_fini may follow. */
void ctl_give_up_culprits(struct controller *controller);

#endif
