// SPDX-License-Identifier: Apache-2.0
/* Builds what the agent consists of, one function for each step of a start. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "agent/agent.h"
#include "lib/file.h"
#include "lib/log.h"

/* Below the 90 s that systemd gives a service to start. */
#define START_WAIT_NS 30000000000ULL

int build_read_identity(struct agent *agent)
{
	char *boot_id cleanup_free = NULL;
	struct utsname name;
	int r;

	if (uname(&name))
		return log_err(-errno, "uname");
	snprintf(agent->kernel_release, sizeof(agent->kernel_release), "%.64s", name.release);
	snprintf(agent->host, sizeof(agent->host), "%.64s", name.nodename);
	r = file_read_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &boot_id);
	if (r)
		return log_err(r, "cannot read the boot id");
	snprintf(agent->boot_id, sizeof(agent->boot_id), "%s", boot_id);
	return 0;
}

int build_read_machine(struct agent *agent)
{
	char error[MACHINE_ERROR_MAX] = "";
	int r;

	r = machine_read(agent->options.topology ? agent->options.topology : "live",
			 agent->options.root, error, sizeof(error), &agent->machine);
	if (r)
		return log_err(0, "machine: %s", *error ? error : strerror(-r)), r;
	agent->pages = (struct pages){agent->options.root, agent->machine.topology};
	agent->machine_port = pages_port(&agent->pages);
	return 0;
}

static bool is_observing(const struct agent *agent)
{
	return !run_mode_writes(settings_config(agent)->mode);
}

static bool repairs_kubelet(const struct agent *agent)
{
	return config_repairs_kubelet(settings_config(agent));
}

static bool pins_kubepods(const struct agent *agent)
{
	return config_pins_kubepods(settings_config(agent));
}

/* Of a container runtime, whose containers' cpusets others may write. */
static bool is_plugin(const struct agent *agent)
{
	return !is_observing(agent) && *settings_config(agent)->sources.nri;
}

int build_open_groups(struct agent *agent, int *ret_status)
{
	const struct groups_options options = {
		.root = agent->options.root,
		.workload_root = PINFOLD_WORKLOAD_ROOT,
		.purpose = agent->options.task != TASK_UNINSTALL && is_observing(agent)
				   ? DIR_TO_OBSERVE
				   : DIR_TO_MANAGE,
		.may_write = agent->options.task == TASK_UNINSTALL ||
			     (agent->options.task == TASK_SERVE &&
			      settings_config(agent)->mode == MODE_ALLOCATE),
		/* An observer changes nothing that an uninstall should set back. */
		.without_originals =
			agent->options.task == TASK_SERVE &&
			(is_observing(agent) || originals_are_kept(agent->store.dir_fd)),
		.wait_ns = START_WAIT_NS,
		.pool = agent->pool,
	};
	enum dir_problem problem = DIR_FINE;
	char error[GROUP_ERROR_MAX] = "";
	int r;

	r = groups_open(&options, &agent->groups, &problem, error);
	if (r) {
		/* Without a problem of the machine it is one of the moment, as is an unreadable file. */
		const bool stays = problem != DIR_FINE && problem != DIR_UNREADABLE;

		*ret_status = stays ? EXIT_KERNEL_LACKS : EXIT_OTHER;
		log_err(0, "cgroup: %s%s%s", problem == DIR_FINE ? "" : dir_problem_name(problem),
			problem == DIR_FINE ? "" : ": ", error);
		return r;
	}
	agent->groups_port = groups_port(agent->groups);
	return 0;
}

void build_keep_originals(struct agent *agent)
{
	const struct originals *originals = groups_originals(agent->groups);
	int r = 0;

	if (originals && agent->store.dir_fd >= 0)
		r = originals_keep(agent->store.dir_fd, originals);
	if (r)
		log_warn(r, "state: cannot save the original values; an uninstall cannot restore "
			    "them");
}

/*
 * Did an earlier agent leave programs in force? They are then taken over with all enforcement
 * off, because otherwise they would go on denying what nobody is there to allow.
 */
static bool is_pinned(void)
{
	return !access(PINFOLD_BPFFS_DIR, F_OK);
}

int build_open_kernel(struct agent *agent)
{
	const struct bpf_backend_options options = {
		.topology = agent->machine.topology,
		.possible = &agent->machine.possible,
		.max_containers = settings_config(agent)->max_containers,
		.bpffs_dir = PINFOLD_BPFFS_DIR,
		.load_later = true,
		.pool = agent->pool,
		.identity = PINFOLD_VERSION " " PINFOLD_REVISION,
		.runtime_dir_fd = agent->instance.dir_fd,
	};
	struct lease_port lease;
	int r;

	if (is_observing(agent) && !is_pinned() && !repairs_kubelet(agent))
		return 0;
	if (agent->options.no_bpf || bpf_backend_open(&options, &agent->kernel)) {
		r = guard_end_earlier(PINFOLD_BPFFS_DIR);
		/* Whoever only observes goes on: it makes no pods that the guard could be in the way of. */
		return is_observing(agent) ? 0 : r;
	}
	agent->kernel_port = bpf_backend_port(agent->kernel);
	lease = bpf_backend_lease_port(agent->kernel);
	groups_set_lease(agent->groups, &lease);
	return 0;
}

void build_open_pressure(struct agent *agent)
{
	/* A runtime's pods are outside the workload root. */
	const struct pressure_options options = {
		.root_dir = config_has_runtime(settings_config(agent)) ? PINFOLD_CGROUP_MOUNT
								       : PINFOLD_CGROUP_MOUNT
				    "/" PINFOLD_WORKLOAD_ROOT,
		.max_containers = settings_config(agent)->max_containers,
		.pool = agent->pool,
	};

	if (agent->options.no_bpf || is_observing(agent))
		return;
	if (!pressure_reader_open(&options, &agent->pressure))
		agent->pressure_port = pressure_reader_port(agent->pressure);
}

void build_open_noise(struct agent *agent)
{
	const struct noise_options options = {
		.possible = &agent->machine.possible,
		/* the cores of a machine that is only described are not those of this one */
		.topology = agent->options.topology ? NULL : agent->machine.topology,
		.pool = agent->pool,
	};

	/* The state of an earlier agent may have exclusive CPUs, for which programs would be loaded. */
	if (agent->options.no_bpf || is_observing(agent))
		return;
	if (!noise_counter_open(&options, &agent->noise))
		agent->noise_port = noise_counter_port(agent->noise);
}

void build_open_resident(struct agent *agent)
{
	const struct numa_stat_options options = {
		.groups = agent->groups,
		.topology = agent->machine.topology,
		.pool = agent->pool,
	};

	/* The kernel's NUMA nodes are not those of a machine that is only described. */
	if (!agent->options.topology && !numa_stat_open(&options, &agent->resident))
		agent->resident_port = numa_stat_port(agent->resident);
}

void build_open_irqs(struct agent *agent)
{
	const struct irqs_options options = {
		.root = agent->options.root,
		.state_fd = agent->store.dir_fd,
		.boot_id = agent->boot_id,
		.pool = agent->pool,
	};

	/* The interrupts of a machine that is only described are not those of this one. */
	if (!agent->options.topology && !irqs_open(&options, &agent->irqs))
		agent->irq_port = irqs_port(agent->irqs);
}

void build_open_strangers(struct agent *agent)
{
	const struct strangers_options options = {
		.root = agent->options.root,
		.run_fd = agent->instance.dir_fd,
		.boot_id = agent->boot_id,
		.pool = agent->pool,
	};

	/* Elsewhere the tasks, or the CPUs, are not those of this machine. */
	if (agent->options.topology || is_observing(agent) || strcmp(agent->options.root, "/"))
		return;
	if (!strangers_open(&options, &agent->strangers))
		agent->stranger_port = strangers_port(agent->strangers);
}

int build_open_cpusets(struct agent *agent)
{
	const struct cpuset_writer_options options = {.groups = agent->groups, .pool = agent->pool};
	int r;

	if (!repairs_kubelet(agent) && !pins_kubepods(agent) && !is_plugin(agent))
		return 0;
	r = cpuset_writer_open(&options, &agent->cpusets);
	if (!r)
		agent->cpuset_port = cpuset_writer_port(agent->cpusets);
	return r;
}

/* The room that scans is opened after the controller, which its scans go to. */
static void scan_soon(void *self)
{
	const struct agent *agent = self;
	struct discovery_port port;

	if (!agent->discover)
		return;
	port = discover_port(agent->discover);
	port.scan_soon(port.self);
}

void build_open_host(struct agent *agent)
{
	const struct host_options options = {
		.groups = agent->groups,
		.state_fd = agent->store.dir_fd,
		.boot_id = agent->boot_id,
		.pool = agent->pool,
	};

	/* The CPUs of a machine that is only described are not those of its groups. */
	if (agent->options.topology || is_observing(agent))
		return;
	if (!host_open(&options, &agent->host_groups))
		agent->host_port = host_port(agent->host_groups);
}

void build_open_members(struct agent *agent)
{
	const struct member_options options = {.groups = agent->groups};

	if (agent->options.topology || is_observing(agent))
		return;
	if (!member_mover_open(&options, &agent->members))
		agent->member_port = member_mover_port(agent->members);
}

static int answer_runtime(void *self, uint32_t request, const struct runtime_answer *answer)
{
	const struct agent *agent = self;

	if (agent->kubepods)
		return kubepods_answer(agent->kubepods, request, answer);
	return source_answer(agent->runtime, request, answer);
}

static void ask_again(void *self, const char *container_id)
{
	const struct agent *agent = self;

	if (agent->kubepods)
		kubepods_ask_again(agent->kubepods, container_id);
}

/* A scan of the node is for the controller, and for the source that takes its containers for pods. */
static void tell_found(void *self, struct discovery *found)
{
	struct agent *agent = self;
	const struct discovery_sink *sink = &controller_sinks(agent->controller)->discovery;

	if (agent->kubepods)
		kubepods_discovered(agent->kubepods, found);
	sink->discovered(sink->self, found);
}

static void tell_written(void *self, const struct cpuset_write *rows, uint32_t nr)
{
	const struct agent *agent = self;

	kubepods_written(agent->kubepods, rows, nr);
}

int build_new_controller(struct agent *agent)
{
	int r = process_note_start(agent);
	const struct controller_options options =
		settings_controller_options(agent, settings_config(agent));
	const struct controller_ports ports = {
		.clock = &agent->clock,
		.loop = &agent->loop,
		.groups = &agent->groups_port,
		.kernel = agent->kernel ? &agent->kernel_port : NULL,
		.process = agent->started_ns ? &agent->process_port : NULL,
		.pressure = agent->pressure ? &agent->pressure_port : NULL,
		.resident = agent->resident ? &agent->resident_port : NULL,
		.noise = agent->noise ? &agent->noise_port : NULL,
		.irq = agent->irqs ? &agent->irq_port : NULL,
		.stranger = agent->strangers ? &agent->stranger_port : NULL,
		.host = agent->host_groups ? &agent->host_port : NULL,
		.store = &agent->store_port,
		.runtime = &agent->runtime_port,
		.members = agent->members ? &agent->member_port : NULL,
		.cpusets = agent->cpusets ? &agent->cpuset_port : NULL,
		.discovery = agent->cpusets ? &agent->discovery_port : NULL,
		/* of a machine that is only described nobody knows what is free */
		.machine = agent->options.topology ? NULL : &agent->machine_port,
	};
	char error[512] = "";

	if (r)
		log_warn(
			r,
			"agent: cannot read its own start time, so metrics of the process are missing");
	agent->runtime_port = (struct runtime_port){
		.self = agent,
		.answer = answer_runtime,
		.cannot_refuse = pins_kubepods(agent),
		.has_no_kinds = pins_kubepods(agent),
		.ask_soon = pins_kubepods(agent) ? scan_soon : NULL,
		.ask_again = pins_kubepods(agent) ? ask_again : NULL,
	};
	agent->discovery_port = (struct discovery_port){agent, scan_soon};
	agent->process_port = (struct process_port){agent, process_usage};
	r = controller_new(agent->machine.topology, &agent->settings[agent->current].policy,
			   &options, &ports, error, sizeof(error), &agent->controller);
	if (r)
		log_err(0, "config: %s", *error ? error : strerror(-r));
	else if (agent->options.task == TASK_SERVE && !agent->pressure && !agent->options.no_bpf &&
		 !is_observing(agent))
		controller_finding(agent->controller, FINDING_PRESSURE_ABSENT,
				   "the BPF program that reads pressure could not be loaded",
				   "see the log; everything else works");
	return r;
}

int build_start_sources(struct agent *agent)
{
	const char *directory = settings_config(agent)->sources.manifest_directory;
	int r;

	/* Who only observes a node need not have made the directory. */
	if (!*directory || (is_observing(agent) && access(directory, F_OK)))
		return 0;
	/* The pods of this mode are the kubelet's. */
	if (settings_config(agent)->mode == MODE_GUARD)
		return 0;
	r = manifests_new(agent->event, agent->pool, directory,
			  &controller_sinks(agent->controller)->source, &agent->manifests);
	if (r)
		return log_err(r, "source: cannot watch the manifests directory %s", directory);
	return manifests_scan(agent->manifests);
}

int build_start_discovery(struct agent *agent)
{
	const struct discover_options options = {
		.event = agent->event,
		.pool = agent->pool,
		.root = agent->options.root,
		.kubelet_dir = settings_config(agent)->sources.kubelet_directory,
		.runtime_dir = settings_config(agent)->sources.runtime_state_directory,
		.watches_cpusets = repairs_kubelet(agent) || pins_kubepods(agent),
		.sink = &agent->discovery_sink,
	};
	int r;

	if (!is_observing(agent) && !pins_kubepods(agent))
		return 0;
	agent->discovery_sink = (struct discovery_sink){agent, tell_found};
	r = discover_open(&options, &agent->discover);
	if (!r)
		r = discover_scan(agent->discover);
	return r ? log_err(r, "discover: cannot scan the cgroups") : 0;
}

static void tell_runtime(void *data, const struct plugin_status *status)
{
	struct agent *agent = data;

	if (status->state == PLUGIN_READY)
		controller_clear_finding(agent->controller, FINDING_RUNTIME_NOT_CONNECTED);
	else
		controller_finding(agent->controller, FINDING_RUNTIME_NOT_CONNECTED,
				   status->message, status->remedy);
}

static int start_kubepods(struct agent *agent)
{
	const struct kubepods_options options = {
		.clock = &agent->clock,
		.sink = &controller_sinks(agent->controller)->runtime,
		.cpusets = &agent->cpuset_port,
		.discovery = &agent->discovery_port,
	};
	int r = kubepods_open(&options, &agent->kubepods);

	if (r)
		return log_err(r, "kubepods: cannot follow the containers of the node");
	agent->cpuset_sink = (struct cpuset_sink){agent, tell_written};
	cpuset_writer_listen(agent->cpusets, &agent->cpuset_sink);
	return 0;
}

int build_start_runtime(struct agent *agent)
{
	const struct source_options options = {
		.event = agent->event,
		.socket = settings_config(agent)->sources.nri,
		.sink = &controller_sinks(agent->controller)->runtime,
		.changed = tell_runtime,
		.data = agent,
	};
	int r;

	if (is_observing(agent))
		return 0;
	if (pins_kubepods(agent))
		return start_kubepods(agent);
	if (!*options.socket)
		return 0;
	r = source_open(&options, &agent->runtime);
	return r ? log_err(r, "nri: cannot use the socket %s", options.socket) : 0;
}

int build_start_server(struct agent *agent)
{
	const struct server_options options = {
		.metrics_address = settings_config(agent)->metrics.listen,
		.runtime_dir_fd = agent->instance.dir_fd,
		.runtime_dir = settings_config(agent)->runtime_directory,
		.socket_name = PINFOLD_SOCKET_FILE,
	};

	return server_open(&options, controller_faces(agent->controller), agent->event,
			   &agent->server);
}
