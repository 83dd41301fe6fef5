// SPDX-License-Identifier: Apache-2.0
/*
 * Life cycle of the controller: creation, start, wakes, ticks and notifications by the ports.
 * This file is the top of the room: modules do not call each other upwards, so the
 * consequences of the end of an operation, a save or a self-test are combined here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/apply.h"
#include "ctl/command.h"
#include "ctl/internal.h"
#include "ctl/pressure_report.h"
#include "ctl/ready.h"
#include "ctl/recover.h"
#include "ctl/report.h"
#include "lib/log.h"

#define RESYNC_NS (10ULL * 1000000000ULL)

static void find_unbuilt(struct controller *controller)
{
	struct config_unbuilt options[CONFIG_UNBUILT_NR];

	config_list_unbuilt(controller->options.config, options);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		findings_put_if(&controller->findings, options[i].finding, options[i].is_asked,
				CONFIG_UNBUILT_REMEDY, "%s", options[i].message);
}

/* --- notifications of the cgroup room ---------------------------------------------------------- */

static void on_group_changed(void *self, const char *path, const char *file)
{
	struct controller *controller = self;

	log_debug("ctl: %s/%s was written", path, file);
	dirty_mark_path(&controller->dirty, path);
	wakes_request_resync(&controller->wakes);
}

static void on_group_populated(void *self, const char *path, bool populated)
{
	struct controller *controller = self;

	log_debug("ctl: %s is %s", path, populated ? "populated" : "empty");
	if (!populated)
		wakes_request_resync(&controller->wakes);
}

static void on_group_completed(void *self, const char *path, int result, const char *error)
{
	struct controller *controller = self;
	struct operation *operation = operations_find_at(&controller->operations, path);

	if (!operation)
		return;
	look_note(&controller->look, operation->kind, &operation->step, result);
	/* The guard and the watch may have skipped the pod meanwhile. */
	dirty_mark_groups(&controller->dirty);
	/* text: what the port leaves to the errno is worded here */
	if (!*error && result)
		error = strerror(-result);
	if (operation->kind == OPERATION_STEP)
		ctl_end_step(controller, operation, result, error);
	else if (operation->kind == OPERATION_JOIN)
		ctl_end_join(controller, operation, result, error);
	else if (result)
		log_warn(0, "ctl: %s", error);
	operations_end(&controller->operations, operation);
	ctl_tell_waits(controller);
	wakes_schedule(&controller->wakes, 0);
}

static void on_named(void *self)
{
	ctl_name_culprits(self);
}

static void on_looked(void *self)
{
	struct controller *controller = self;

	wakes_schedule(&controller->wakes, 0);
}

static void tell_ledger(const struct controller *controller, struct ledger *ledger)
{
	struct cpuset offline = controller->topology->all;

	cpuset_subtract(&offline, &controller->online);
	ledger_set_offline(ledger, &offline);
}

/* New pods get online CPUs only; those that were refused may fit now. */
static void use_online(struct controller *controller, const struct cpuset *online)
{
	const bool came_back = !cpuset_is_subset(online, &controller->online);

	controller->online = *online;
	tell_ledger(controller, controller->ledger);
	if (came_back)
		ctl_decide_refused(controller);
}

/* "; CPU 1 of the reserved CPUs 0-1 is offline"; "" = they are all online. */
static void word_reserved_offline(const struct controller *controller, char *text, size_t size)
{
	const struct cpuset *reserved = ledger_reserved(controller->ledger);
	struct cpuset offline = *reserved;
	char all[96], gone[96];
	bool several;

	*text = '\0';
	cpuset_subtract(&offline, &controller->online);
	if (cpuset_is_empty(&offline))
		return;
	several = cpuset_count(&offline) > 1;
	cpuset_format(reserved, all, sizeof(all));
	cpuset_format(&offline, gone, sizeof(gone));
	if (cpuset_equal(&offline, reserved))
		snprintf(text, size, "; all reserved CPUs, %.60s, are offline", all);
	else
		snprintf(text, size, "; CPU%s %.40s of the reserved CPUs %.40s %s offline",
			 several ? "s" : "", gone, all, several ? "are" : "is");
}

static void on_hotplug(void *self, const struct cpuset *online)
{
	struct controller *controller = self;
	char then[96], now[96], reserved[128];

	if (cpuset_equal(&controller->online, online)) {
		/* A CPU may have gone offline and come back; its partition may be invalid now. */
		wakes_request_resync(&controller->wakes);
		return;
	}
	use_online(controller, online);
	cpuset_format(&controller->topology->all, then, sizeof(then));
	cpuset_format(&controller->online, now, sizeof(now));
	word_reserved_offline(controller, reserved, sizeof(reserved));
	findings_put_if(&controller->findings, FINDING_CPUS_CHANGED,
			!cpuset_equal(&controller->topology->all, &controller->online),
			*reserved ? "bring the reserved CPUs online: without them pinfoldd may "
				    "refuse to start again"
				  : "restart pinfoldd once the intended CPUs are online",
			"CPUs %.60s were online when the agent started, now CPUs %.60s are%s", then,
			now, reserved);
	/* The value to be written for a grant, and the one in force, may have changed. */
	dirty_mark_ledger(&controller->dirty);
	wakes_schedule(&controller->wakes, 0);
}

/* --- notifications of the other ports ------------------------------------------------------------- */

static void on_scanned(void *self, const struct source_pod *pods, uint32_t nr_pods, bool complete)
{
	ctl_admit_scanned(self, pods, nr_pods, complete);
}

static void on_waiting(void *self, bool is_waiting)
{
	struct controller *controller = self;

	controller->waits.scan_since_ns = is_waiting ? clock_now_ns(controller->ports.clock) : 0;
}

static void on_state_saved(void *self, int result)
{
	struct controller *controller = self;

	ctl_end_save(controller, result);
	ctl_admission_resume(controller, result);
	ctl_runtime_resume(controller, result);
	ctl_tell_waits(controller);
	/* Pause before a retry, or a disk that fails slowly would be kept busy all the time. */
	wakes_schedule(&controller->wakes, result ? WAKES_RETRY_NS : 0);
}

static void on_kernel_event(void *self, const struct event_record *event)
{
	ctl_hear_event(self, event);
}

static void on_kernel_completed(void *self)
{
	struct controller *controller = self;

	ctl_publish(controller);
	/* Changes made while the watch was absent raised no event. */
	wakes_schedule(&controller->wakes, 0);
}

static void on_guard_tested(void *self)
{
	ctl_end_guard_test(self);
}

static void on_pressure_sampled(void *self, int result, const struct pressure_row *rows,
				uint32_t nr, const struct pressure_cell *cells)
{
	if (!ctl_end_pressure(self, result, rows, nr, cells))
		ctl_add_pressure_samples(self);
	ctl_tell_pressure(self);
}

static void on_resident_sampled(void *self, int result, struct resident_report *report)
{
	ctl_end_resident(self, result, report);
}

static void on_irqs_passed(void *self, int result, struct irq_report *report)
{
	ctl_end_irq_pass(self, result, report);
}

static void on_irq_written(void *self, const struct irq_writer *writer)
{
	ctl_irq_written(self, writer);
}

static void on_stranger_seen(void *self, const struct noise_stranger *stranger)
{
	ctl_see_stranger(self, stranger);
}

static void on_strangers_walked(void *self, int result, struct stranger_report *report)
{
	ctl_end_stranger_walk(self, result, report);
}

static void on_host_passed(void *self, int result, const struct host_report *report)
{
	ctl_end_host_pass(self, result, report);
}

static void on_discovered(void *self, struct discovery *found)
{
	struct controller *controller = self;

	ctl_take_discovery(controller, found);
	if (ctl_judge_kubelet_drift(controller))
		ctl_publish(controller);
}

static void on_cpusets_written(void *self, const struct cpuset_write *rows, uint32_t nr)
{
	struct controller *controller = self;

	if (config_repairs_kubelet(controller->options.config))
		ctl_end_kubelet_repair(controller, rows, nr);
	else
		ctl_runtime_end_repair(controller, rows, nr);
}

static void on_member_ended(void *self, const struct member_move *move)
{
	ctl_end_member_move(self, move);
}

/* --- health -------------------------------------------------------------------------------------- */

static bool is_healthy(void *self, char *reason, size_t size)
{
	snprintf(reason, size, "ok");
	return true;
}

/* --- life ---------------------------------------------------------------------------------------- */

static void fill_sinks(struct controller *controller)
{
	controller->sinks.source = (struct source_sink){controller, on_scanned, on_waiting};
	controller->sinks.groups = (struct groups_sink){
		controller,	    on_group_changed, on_group_populated, on_hotplug,
		on_group_completed, on_looked,	      on_named,
	};
	controller->sinks.store = (struct store_sink){controller, on_state_saved};
	controller->sinks.kernel = (struct kernel_sink){controller, on_kernel_event,
							on_kernel_completed, on_guard_tested};
	controller->sinks.pressure = (struct pressure_sink){controller, on_pressure_sampled};
	controller->sinks.resident = (struct resident_sink){controller, on_resident_sampled};
	controller->sinks.irq = (struct irq_sink){controller, on_irqs_passed, on_irq_written};
	controller->sinks.noise = (struct noise_sink){controller, on_stranger_seen};
	controller->sinks.stranger = (struct stranger_sink){controller, on_strangers_walked};
	controller->sinks.host = (struct host_sink){controller, on_host_passed};
	controller->sinks.discovery = (struct discovery_sink){controller, on_discovered};
	controller->sinks.cpuset = (struct cpuset_sink){controller, on_cpusets_written};
	controller->sinks.member = (struct member_sink){controller, on_member_ended};
	controller->sinks.runtime = (struct runtime_sink){
		controller,	     ctl_runtime_synchronized, ctl_runtime_created,
		ctl_runtime_resized, ctl_runtime_updated,      ctl_runtime_stopped,
		ctl_runtime_removed, ctl_runtime_pod_stopped,  ctl_runtime_ended,
		ctl_runtime_pinned,  ctl_runtime_rewritten,    ctl_runtime_contested,
		ctl_runtime_retried,
	};
	controller->faces = (struct faces_port){
		.self = controller,
		.query = ctl_query,
		.command = ctl_command,
		.listen = ctl_listen,
		.withdraw = ctl_withdraw,
		.metrics = ctl_metrics,
		.topology = ctl_topology,
		.page = ctl_page,
		.healthy = is_healthy,
		.ready = ctl_is_ready,
	};
}

int controller_new(const struct topology *topology, const struct policy *policy,
		   const struct controller_options *options, const struct controller_ports *ports,
		   char *error, size_t error_size, struct controller **ret_controller)
{
	struct controller *controller = NULL;
	int r;

	r = policy_check(policy, topology, error, error_size);
	if (r)
		return r;
	controller = calloc(1, sizeof(*controller));
	if (!controller)
		return -ENOMEM;
	controller->topology = topology;
	controller->online = topology->all;
	controller->policy = policy;
	controller->options = *options;
	controller->ports = *ports;
	record_init(&controller->record);
	stranger_init(&controller->strangers);
	r = admission_init(&controller->admission);
	if (!r)
		r = ledger_new(topology, policy, error, error_size, &controller->ledger);
	if (r) {
		controller_free(controller);
		return r;
	}
	wakes_init(&controller->wakes, ports->loop, ports->clock);
	event_log_init(&controller->events, ports->clock);
	drift_list_init(&controller->drift.list, ports->clock);
	fill_sinks(controller);
	*ret_controller = controller;
	return 0;
}

void controller_free(struct controller *controller)
{
	if (!controller)
		return;
	runtime_fini(&controller->runtimes);
	admission_fini(&controller->admission);
	chains_fini(&controller->chains);
	operations_fini(&controller->operations);
	look_fini(&controller->look);
	ctl_give_up_culprits(controller);
	culprits_fini(&controller->culprits);
	runs_fini(&controller->runs);
	publisher_fini(&controller->publisher);
	placement_fini(&controller->placements);
	counters_fini(&controller->counters);
	ended_fini(&controller->ended);
	node_waits_fini(&controller->node_waits);
	pressure_fini(&controller->pressures);
	pressure_samples_fini(&controller->samples);
	resident_fini(&controller->resident);
	noise_fini(&controller->noise);
	irq_fini(&controller->steering);
	stranger_fini(&controller->strangers);
	discovered_fini(&controller->discovered);
	kubelet_drift_fini(&controller->kubelet_drift);
	members_fini(&controller->members);
	record_fini(&controller->record);
	page_fini(&controller->page);
	group_tree_fini(&controller->desired);
	measured_fini(&controller->measured);
	ledger_free(controller->ledger);
	free(controller);
}

const struct controller_sinks *controller_sinks(const struct controller *controller)
{
	return &controller->sinks;
}

const struct faces_port *controller_faces(struct controller *controller)
{
	return &controller->faces;
}

void controller_finding(struct controller *controller, enum finding kind, const char *message,
			const char *remedy)
{
	findings_put(&controller->findings, kind, remedy, "%s", message);
}

void controller_clear_finding(struct controller *controller, enum finding kind)
{
	findings_clear(&controller->findings, kind);
}

int controller_start(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	int r;

	controller->ports.groups->layout(controller->ports.groups->self, &controller->layout);
	r = ctl_recover(controller);
	if (r)
		return r;
	if (controller->options.dry_run)
		return 0;
	if (kernel) {
		r = kernel->start(kernel->self);
		if (r == -EPROTO)
			return r;
		/* Before the first write to a cgroup, because a pinned guard would deny it. */
		if (!r)
			r = kernel->enter_actor(kernel->self);
		if (r) {
			controller->ports.kernel = NULL;
			guard_lose(&controller->guard);
			findings_put(&controller->findings, FINDING_KERNEL_SIDE_ABSENT,
				     "see `pinfold feature` and the log; the agent still applies "
				     "and repairs cpusets",
				     "the BPF programs could not be loaded");
		}
	}
	find_unbuilt(controller);
	ctl_check_reach(controller);
	ctl_choose_tier(controller);
	dirty_mark_ledger(&controller->dirty);
	publisher_end_release(&controller->publisher);
	ctl_reconcile(controller);
	ctl_test_guard(controller);
	controller->started = true;
	event_log_record(&controller->events, &EVENT_RECORD(EVENT_START));
	return 0;
}

void controller_wake(struct controller *controller)
{
	struct wake wake = wakes_begin(&controller->wakes);

	ctl_reconcile_dirty(controller);
	ctl_admission_sweep(controller);
	ctl_reconcile(controller);
	ctl_steer_interrupts(controller);
	ctl_confine_host(controller);
	ctl_find_strangers(controller);
	ctl_runtime_check(controller);
	wakes_end(&controller->wakes, &wake);
}

void controller_tick(struct controller *controller)
{
	uint64_t now = clock_now_ns(controller->ports.clock);

	if (controller->ports.kernel) {
		controller->ports.kernel->tick(controller->ports.kernel->self);
		ctl_tell_guard(controller);
	}
	ctl_tell_waits(controller);
	ctl_test_guard_again(controller);
	if (ctl_decide_tier(controller))
		ctl_reconcile(controller);
	ctl_check_reach(controller);
	ctl_check_state(controller);
	ctl_publish_appeared(controller);
	ctl_follow_kubelet_drift(controller);
	ctl_follow_members(controller);
	ctl_runtime_verify(controller);
	ctl_runtime_repair(controller);
	ctl_runtime_offer(controller);
	ctl_sample_placement(controller);
	ctl_follow_node_waits(controller);
	ctl_sample_pressure(controller);
	ctl_sample_resident(controller);
	ctl_tell_noise(controller);
	ctl_steer_interrupts(controller);
	ctl_confine_host(controller);
	ctl_find_strangers(controller);
	/* Not every change in the kernel raises an event: cpuset.cpus.effective raises none. */
	if (now - controller->reconciler.resynced_ns >= RESYNC_NS)
		controller_wake(controller);
}

/* Copy the pods to a second ledger under another policy. -EBUSY: a pod does not fit. */
static int copy_ledger(const struct controller *controller, const struct policy *policy,
		       char *error, size_t error_size, struct ledger **ret_ledger)
{
	struct ledger *ledger cleanup_ledger = NULL;
	char why[256] = "";
	int r;

	r = ledger_new(controller->topology, policy, error, error_size, &ledger);
	if (r)
		return r;
	for (uint32_t i = 0; i < ledger_nr_pods(controller->ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(controller->ledger, i);

		r = ledger_restore(ledger, pod, why, sizeof(why));
		if (r) {
			snprintf(error, error_size, "pod %s/%s would lose its grant: %s",
				 pod->spec->namespace, pod->spec->name, *why ? why : strerror(-r));
			return -EBUSY;
		}
	}
	tell_ledger(controller, ledger);
	*ret_ledger = TAKE_PTR(ledger);
	return 0;
}

/*
 * The new policy is accepted if every running pod keeps its grant under it. The new ledger
 * then replaces the old one as a whole.
 */
int controller_reload(struct controller *controller, const struct policy *policy,
		      const struct controller_options *options, char *error, size_t error_size)
{
	struct ledger *ledger;
	int r;

	r = policy_check(policy, controller->topology, error, error_size);
	if (!r)
		r = copy_ledger(controller, policy, error, error_size, &ledger);
	if (r)
		return r;
	ledger_free(controller->ledger);
	controller->ledger = ledger;
	controller->policy = policy;
	controller->options = *options;
	dirty_mark_ledger(&controller->dirty);
	publisher_end_release(&controller->publisher);
	ctl_save_state(controller);
	find_unbuilt(controller);
	ctl_choose_tier(controller);
	ctl_reconcile(controller);
	event_log_record(&controller->events, &EVENT_RECORD(EVENT_RELOAD));
	return 0;
}

const struct cpuset *controller_reserved(const struct controller *controller)
{
	return ledger_reserved(controller->ledger);
}

bool controller_wants_scan(const struct controller *controller)
{
	/* While the state is being written, another scan could not grant anything. */
	return controller->admission.wants_scan && !controller->record.saving_since_ns;
}

int controller_print_plan(struct controller *controller, struct text *out)
{
	return ctl_print_plan(controller, out);
}
