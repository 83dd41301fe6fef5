// SPDX-License-Identifier: Apache-2.0
/*
 * SIGHUP: a new configuration. Its files are read by a thread, because their disk may be slow or
 * hang; the loop then checks the result and puts it in force.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/worker.h"

#define READ_KEY "configuration"

struct config_reading {
	struct worker_job job; /* first */
	struct agent *agent;
	struct config config;
};

/*
 * The new file is validated whole first; what would break a running pod refuses
 * it. The controller borrows configuration and policy, so there are two places
 * for them, used in turn: one in force, one to try.
 */
static int put_in_force(struct agent *agent, const struct config *config)
{
	struct settings *next = &agent->settings[!agent->current];
	struct controller_options options;
	char field[FORMAT_FIELD_MAX];
	char error[512] = "";
	int r;

	next->config = *config;
	if (config_needs_restart(settings_config(agent), &next->config, field))
		return log_err(-EBUSY,
			       "reload refused, the old configuration stays in force: %s takes "
			       "effect only after a restart",
			       field);
	r = settings_check(agent, next);
	if (r) {
		log_err(0, "reload refused, the old configuration stays in force");
		return r;
	}
	options = settings_controller_options(agent, &next->config);
	r = controller_reload(agent->controller, &next->policy, &options, error, sizeof(error));
	if (r) {
		log_err(0, "reload refused, the old configuration stays in force: %s", error);
		return r;
	}
	agent->current = !agent->current;
	return 0;
}

/* `result` is that of the reading, which has reported its failure. */
static void end_reload(struct agent *agent, int result, const struct config *config)
{
	if (!result && !put_in_force(agent, config)) {
		own_cpus_apply(agent);
		if (agent->manifests)
			manifests_scan(agent->manifests);
		if (agent->runtime)
			source_connect(agent->runtime);
		log_info("configuration reloaded");
	}
	manager_tell_ready(agent);
}

static int run_reading(struct worker_job *job)
{
	struct config_reading *reading = (struct config_reading *)job;

	return settings_load(&reading->agent->options, &reading->config);
}

static void begin_reading(struct agent *agent);

/* What was read may be older than a signal that came meanwhile, so it is read once more. */
static void reading_ended(struct worker_job *job, int result)
{
	struct config_reading *reading = (struct config_reading *)job;
	struct agent *agent = reading->agent;

	if (agent->reloads_again) {
		agent->reloads_again = false;
		begin_reading(agent);
	} else {
		end_reload(agent, result, &reading->config);
	}
}

static void begin_reading(struct agent *agent)
{
	struct config_reading *reading = calloc(1, sizeof(*reading));
	int r;

	if (!reading) {
		end_reload(agent, log_err(-ENOMEM, "reload"), NULL);
		return;
	}
	reading->agent = agent;
	reading->job = (struct worker_job){.run = run_reading, .completed = reading_ended};
	r = worker_run(agent->pool, READ_KEY, &reading->job);
	if (r == -EINPROGRESS) {
		log_warn(0, "reload: the configuration is not read yet; the old one stays in force "
			    "until it is");
		return;
	}
	end_reload(agent, r, &reading->config);
	free(reading);
}

int reload_on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct agent *agent = data;
	char line[64];

	snprintf(line, sizeof(line), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(clock_now(NULL) / 1000));
	notify_manager(line);
	if (worker_is_busy(agent->pool, READ_KEY))
		agent->reloads_again = true;
	else
		begin_reading(agent);
	return 0;
}
