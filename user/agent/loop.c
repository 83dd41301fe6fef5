// SPDX-License-Identifier: Apache-2.0
/* The event loop: timers, signals and the ends of jobs, and the clock and loop ports. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "agent/agent.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/worker.h"

void loop_wake(void *self, uint64_t delay_ns)
{
	struct agent *agent = self;
	uint64_t due = clock_now(NULL) + delay_ns;

	if (agent->wake_due_ns && agent->wake_due_ns <= due)
		return;
	agent->wake_due_ns = due;
	sd_event_source_set_time_relative(agent->wake, delay_ns / 1000);
	sd_event_source_set_enabled(agent->wake, SD_EVENT_ONESHOT);
}

static int on_wake(sd_event_source *source, uint64_t usec, void *data)
{
	struct agent *agent = data;

	agent->wake_due_ns = 0;
	if (agent->manifests && controller_wants_scan(agent->controller))
		manifests_scan(agent->manifests);
	controller_wake(agent->controller);
	return 0;
}

static int on_work(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct agent *agent = data;

	worker_pool_dispatch(agent->pool);
	return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *data)
{
	struct agent *agent = data;

	if (agent->owes_ready)
		manager_tell_ready(agent);
	controller_tick(agent->controller);
	if (agent->manifests && controller_wants_scan(agent->controller))
		manifests_scan(agent->manifests);
	manager_tell_status(agent);
	sd_event_source_set_time_relative(source, 1000000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct agent *agent = data;

	log_info("stopping on signal %u; cpusets, partition and guard stay in force",
		 info->ssi_signo);
	notify_manager("STOPPING=1");
	return sd_event_exit(agent->event, EXIT_DONE);
}

int loop_end_start(void)
{
	log_info("stopping on a signal before the start was complete; no cgroup was changed");
	notify_manager("STOPPING=1");
	return EXIT_DONE;
}

/* Nobody reads from it, so the signal stays pending for the loop. */
static int open_stop_fd(struct agent *agent)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	agent->stop_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (agent->stop_fd < 0)
		return -errno;
	if (agent->pool)
		worker_pool_set_stop(agent->pool, agent->stop_fd);
	return 0;
}

int loop_open(struct agent *agent)
{
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = open_stop_fd(agent);
	if (r >= 0)
		r = sd_event_default(&agent->event);
	if (r >= 0)
		r = sd_event_add_signal(agent->event, &agent->sigterm, SIGTERM, on_terminate,
					agent);
	if (r >= 0)
		r = sd_event_add_signal(agent->event, &agent->sigint, SIGINT, on_terminate, agent);
	if (r >= 0)
		r = sd_event_add_signal(agent->event, &agent->sighup, SIGHUP, reload_on_signal,
					agent);
	if (r >= 0)
		r = sd_event_add_time_relative(agent->event, &agent->wake, CLOCK_MONOTONIC, 0, 1,
					       on_wake, agent);
	if (r >= 0)
		r = sd_event_source_set_enabled(agent->wake, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(agent->event, &agent->tick, CLOCK_MONOTONIC, 1000000,
					       1000, on_tick, agent);
	if (r >= 0 && agent->pool)
		r = sd_event_add_io(agent->event, &agent->work, worker_pool_fd(agent->pool),
				    EPOLLIN, on_work, agent);
	/* What has ended is taken before the tick tells what waits. */
	if (r >= 0 && agent->pool)
		r = sd_event_source_set_priority(agent->work, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = manager_open_watchdog(agent);
	return r < 0 ? log_err(r, "event loop") : 0;
}
