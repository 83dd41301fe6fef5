// SPDX-License-Identifier: Apache-2.0
#include "ctl/guard_report.h"

#include <stdio.h>

#include "ctl/internal.h"
#include "format/views.h"
#include "format/words.h"
#include "lib/text.h"

/* The modes in the map say nothing while no program is called. */
static enum enforcement mode_in_force(const struct guard_status *status, enum aspect aspect)
{
	return status->state == GUARD_INACTIVE ? ENFORCEMENT_OFF : status->modes[aspect];
}

/* "" = the mode is the one that was asked for, and nothing weakens it. */
static const char *find_reason(const struct guard_status *status, enum aspect aspect,
			       enum enforcement asked)
{
	const enum enforcement in_force = mode_in_force(status, aspect);

	if (status->is_unread)
		return status->reason;
	if (status->state != GUARD_ACTIVE && asked == ENFORCEMENT_ENFORCE && in_force == asked)
		return status->reason;
	if (in_force == asked)
		return "";
	if (status->state == GUARD_INACTIVE)
		return status->reason;
	if (aspect == ASPECT_GUARD_FILES && status->is_unprotected)
		return status->unprotected;
	if (status->released)
		return "an operator has released the guard; end the release with `pinfold guard arm`";
	return "another process changed it; the agent reverts it within a second";
}

struct json_object *ctl_report_guard(struct controller *controller)
{
	struct guard_status status = {.state = GUARD_INACTIVE,
				      .reason = "no BPF programs are loaded"};
	struct guard_row rows[ASPECT_NR] = {0};

	ctl_guard_status(controller, &status);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++) {
		const enum enforcement asked =
			config_guard_mode(controller->options.config, aspect);
		struct guard_row *row = &rows[aspect];

		row->protection = aspect_option(aspect);
		row->asked = enforcement_name(asked);
		row->in_force = status.is_unread ? NULL
						 : enforcement_name(mode_in_force(&status, aspect));
		text_copy(row->reason, sizeof(row->reason), find_reason(&status, aspect, asked));
	}
	return view_guard(rows, ASPECT_NR);
}
