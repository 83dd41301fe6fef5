// SPDX-License-Identifier: Apache-2.0
/*
 * pinfoldd: the sequence of starting and ending. What each step does is in user/agent. Only
 * this file and that folder see every room.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "lib/crash.h"
#include "lib/heap.h"
#include "lib/log.h"
#include "lib/worker.h"

/*
 * How long the loop waits for a call that a thread makes for it, so that fast calls complete
 * at once, in order. At a start nobody is served yet, so it may wait for slow ones too.
 */
#define GRACE_NS       20000000ULL
#define START_GRACE_NS 5000000000ULL

/* Those that read on their own threads tell the controller what they have found. */
static void listen_to_readers(struct agent *agent)
{
	if (agent->pressure)
		pressure_reader_listen(agent->pressure,
				       &controller_sinks(agent->controller)->pressure);
	if (agent->resident)
		numa_stat_listen(agent->resident, &controller_sinks(agent->controller)->resident);
	if (agent->cpusets)
		cpuset_writer_listen(agent->cpusets, &controller_sinks(agent->controller)->cpuset);
	if (agent->irqs)
		irqs_listen(agent->irqs, agent->event, &controller_sinks(agent->controller)->irq);
	if (agent->noise)
		noise_counter_listen(agent->noise, agent->event,
				     &(struct noise_corrector){agent->strangers,
							       agent->strangers ? strangers_correct
										: NULL},
				     &controller_sinks(agent->controller)->noise);
	if (agent->strangers)
		strangers_listen(agent->strangers, &controller_sinks(agent->controller)->stranger);
	if (agent->host_groups)
		host_listen(agent->host_groups, &controller_sinks(agent->controller)->host);
	if (agent->members)
		member_mover_listen(agent->members, &controller_sinks(agent->controller)->member);
}

static int serve(struct agent *agent)
{
	int r, status;

	r = instance_take(settings_config(agent)->runtime_directory, &agent->instance);
	if (r)
		return r == -EBUSY ? EXIT_INSTANCE : EXIT_OTHER;
	if (build_read_identity(agent) || build_read_machine(agent))
		return EXIT_OTHER;
	r = settings_check(agent, &agent->settings[agent->current]);
	if (!r)
		r = beside_check(agent);
	if (r)
		return settings_exit_status(r);
	settings_tell_mode(agent);
	r = worker_pool_new(WORKER_THREADS, &agent->pool);
	if (r) {
		log_err(r, "cannot create the pool of threads");
		return EXIT_OTHER;
	}
	worker_pool_set_grace(agent->pool, START_GRACE_NS);
	agent->store.pool = agent->pool;
	store_open(&agent->store, settings_config(agent)->state_directory);
	if (build_open_groups(agent, &status))
		return status;
	build_keep_originals(agent);
	agent->store_port = store_port(&agent->store);
	if (loop_open(agent))
		return EXIT_OTHER;
	if (build_open_kernel(agent))
		return EXIT_OTHER;
	build_open_pressure(agent);
	build_open_resident(agent);
	build_open_noise(agent);
	build_open_irqs(agent);
	build_open_strangers(agent);
	build_open_host(agent);
	build_open_members(agent);
	if (build_open_cpusets(agent))
		return EXIT_OTHER;
	r = build_new_controller(agent);
	if (r)
		return settings_exit_status(r);
	own_cpus_apply(agent);
	agent->store.sink = &controller_sinks(agent->controller)->store;
	r = controller_start(agent->controller);
	if (r)
		return r == -EINTR ? loop_end_start() : EXIT_OTHER;
	listen_to_readers(agent);
	worker_pool_set_grace(agent->pool, GRACE_NS);
	if (groups_watch(agent->groups, agent->event, &controller_sinks(agent->controller)->groups))
		return EXIT_OTHER;
	if (agent->kernel && bpf_backend_watch(agent->kernel, agent->event,
					       &controller_sinks(agent->controller)->kernel))
		return EXIT_OTHER;
	if (build_start_sources(agent) || build_start_runtime(agent) ||
	    build_start_discovery(agent) || build_start_server(agent))
		return EXIT_OTHER;
	manager_tell_ready(agent);
	manager_tell_status(agent);
	r = sd_event_loop(agent->event);
	return r < 0 ? EXIT_OTHER : r;
}

static void take_down(struct agent *agent, int status)
{
	server_close(agent->server);
	/* What a thread in the kernel uses must stay until the process ends. */
	if (worker_pool_free(agent->pool) > 0) {
		log_warn(0, "stopping while operations wait in the kernel; the process exits when "
			    "they return");
		_exit(status);
	}
	manifests_free(agent->manifests);
	discover_close(agent->discover);
	source_close(agent->runtime);
	kubepods_close(agent->kubepods);
	controller_free(agent->controller);
	bpf_backend_close(agent->kernel);
	pressure_reader_close(agent->pressure);
	numa_stat_close(agent->resident);
	noise_counter_close(agent->noise);
	irqs_close(agent->irqs);
	strangers_close(agent->strangers);
	host_close(agent->host_groups);
	cpuset_writer_close(agent->cpusets);
	member_mover_close(agent->members);
	groups_close(agent->groups);
	store_close(&agent->store);
	machine_fini(&agent->machine);
	sd_event_source_unref(agent->wake);
	sd_event_source_unref(agent->tick);
	sd_event_source_unref(agent->work);
	sd_event_source_unref(agent->watchdog);
	sd_event_source_unref(agent->sigterm);
	sd_event_source_unref(agent->sigint);
	sd_event_source_unref(agent->sighup);
	sd_event_unref(agent->event);
	if (agent->stop_fd >= 0)
		close(agent->stop_fd);
	instance_release(&agent->instance);
}

int main(int argc, char **argv)
{
	struct agent agent = {
		.instance = INSTANCE_CLOSED,
		.store = {.dir_fd = -1},
		.clock = {NULL, clock_now, clock_wall, clock_cpu},
		.loop = {&agent, loop_wake},
		.stop_fd = -1,
	};
	enum log_level level;
	int r, status;

	heap_set_up();
	if (options_parse(argc, argv, &agent.options, &status))
		return status;
	if (log_level_parse(agent.options.log_level, &level)) {
		fprintf(stderr,
			"pinfoldd: invalid --log-level '%s': expected err, warn, info or "
			"debug\n",
			agent.options.log_level);
		return EXIT_USAGE;
	}
	log_open("pinfoldd", level);
	crash_arm();
	r = settings_load(&agent.options, &agent.settings[0].config);
	if (r) {
		if (agent.options.task != TASK_UNINSTALL)
			return settings_exit_status(r);
		config_default(&agent.settings[0].config);
		log_warn(0, "uninstall: using the default directories; files in other "
			    "directories that the configuration named remain");
	}
	if (agent.options.task == TASK_CHECK_CONFIG) {
		status = dry_run_check_config(&agent);
	} else if (agent.options.task == TASK_DRY_RUN) {
		status = dry_run_print(&agent);
	} else if (geteuid() != 0) {
		log_err(0, "pinfoldd needs root to write cgroups and load BPF programs; run it "
			   "as root, or use --dry-run or 'pinfold simulate', which do not need it");
		status = EXIT_NOT_ROOT;
	} else if (namespace_enter_host(&agent)) {
		status = EXIT_KERNEL_LACKS;
	} else {
		status = agent.options.task == TASK_UNINSTALL ? uninstall_run(&agent)
							      : serve(&agent);
	}
	take_down(&agent, status);
	return status;
}
