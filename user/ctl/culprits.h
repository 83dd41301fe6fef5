/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the kernel side. Cgroups are ids there; here they get their names back, which
 * may take long. Events are told in the order in which they came, so those behind one that
 * has no names yet wait too.
 */
#ifndef CTL_CULPRITS_H
#define CTL_CULPRITS_H

#include "format/event.h"
#include "format/rows.h"

struct controller;

#define MAX_UNNAMED 256

/* An event whose cgroups have no names yet. */
struct unnamed {
	struct event_record event;
	uint64_t since_ns, wall_ns;
	char culprit[ROW_PATH_MAX], target[ROW_PATH_MAX];
	uint32_t nr_named; /* of these two */
};

struct culprits {
	uint32_t nr;
	struct unnamed *rows; /* owned, [MAX_UNNAMED], oldest first; NULL before the first */
};

void culprits_fini(struct culprits *culprits);
/* Something happened: told at once, or once its culprit has a name. */
void ctl_hear_event(struct controller *controller, const struct event_record *event);
/* Names may be known now: tell what waited for them. */
void ctl_name_culprits(struct controller *controller);
/* Tell what waits for a name without it. */
void ctl_give_up_culprits(struct controller *controller);

#endif
