// SPDX-License-Identifier: Apache-2.0
/* Tells systemd, the service manager, that the agent is ready, how it is and that it lives. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "agent/agent.h"
#include "lib/notify.h"

void manager_tell_ready(struct agent *agent)
{
	agent->owes_ready = notify_manager("READY=1") == -EAGAIN;
}

void manager_tell_status(struct agent *agent)
{
	const struct faces_port *faces = controller_faces(agent->controller);
	char status[sizeof(agent->status)] = "", line[sizeof(status) + sizeof("STATUS=")];

	if (faces->ready(faces->self, status, sizeof(status)))
		snprintf(status, sizeof(status), "holding");
	if (!strcmp(status, agent->status))
		return;
	snprintf(line, sizeof(line), "STATUS=%s", status);
	if (notify_manager(line) != -EAGAIN)
		memcpy(agent->status, status, sizeof(status));
}

/*
 * Fed by this loop and by nothing else: no thread may vouch for it. sd_event_set_watchdog()
 * would wait for a systemd that does not read.
 */
static int on_watchdog(sd_event_source *source, uint64_t usec, void *data)
{
	const struct agent *agent = data;

	notify_manager("WATCHDOG=1");
	sd_event_source_set_time_relative(source, agent->watchdog_usec);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int manager_open_watchdog(struct agent *agent)
{
	uint64_t limit_usec;
	int r = sd_watchdog_enabled(0, &limit_usec);

	if (r <= 0)
		return r;
	agent->watchdog_usec = limit_usec / 3;
	return sd_event_add_time_relative(agent->event, &agent->watchdog, CLOCK_MONOTONIC, 0, 1000,
					  on_watchdog, agent);
}
