// SPDX-License-Identifier: Apache-2.0
/* SIGHUP: a new configuration. */
#include <errno.h>
#include <stdio.h>

#include "agent/agent.h"
#include "lib/log.h"
#include "lib/notify.h"

/*
 * The new file is validated whole first; what would break a running pod refuses
 * it. The controller borrows configuration and policy, so there are two places
 * for them, used in turn: one in force, one to try.
 */
int reload_on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct agent *agent = data;
	struct settings *next = &agent->settings[!agent->current];
	struct controller_options options;
	char field[FORMAT_FIELD_MAX];
	char error[512] = "", line[64];
	int r;

	snprintf(line, sizeof(line), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(clock_now(NULL) / 1000));
	notify_manager(line);
	r = settings_load(&agent->options, &next->config);
	if (!r && config_needs_restart(settings_config(agent), &next->config, field))
		r = log_err(-EBUSY,
			    "reload refused, the old configuration stays in force: %s takes "
			    "effect only after a restart",
			    field);
	if (!r) {
		r = settings_check(agent, next);
		if (r)
			log_err(0, "reload refused, the old configuration stays in force");
	}
	if (!r) {
		options = settings_controller_options(agent, &next->config);
		r = controller_reload(agent->controller, &next->policy, &options, error,
				      sizeof(error));
		if (r)
			log_err(0, "reload refused, the old configuration stays in force: %s",
				error);
	}
	if (!r) {
		agent->current = !agent->current;
		own_cpus_apply(agent);
		if (agent->manifests)
			manifests_scan(agent->manifests);
		if (agent->runtime)
			source_connect(agent->runtime);
		log_info("configuration reloaded");
	}
	manager_tell_ready(agent);
	return 0;
}
