// SPDX-License-Identifier: Apache-2.0
/*
 * Life of the controller: made, started, woken, ticked. What it does on each of
 * these occasions is in admission.c, reconcile.c, publish.c and recover.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "lib/log.h"

uint64_t now_ns(const struct controller *controller)
{
	return controller->ports.clock->now_ns(controller->ports.clock->self);
}

void want_wake(struct controller *controller, uint64_t delay_ns)
{
	controller->ports.loop->wake(controller->ports.loop->self, delay_ns);
}

static void count_looks(struct controller *controller, uint64_t cost_ns)
{
	uint64_t now = now_ns(controller);
	uint64_t good = (now - controller->look_counted_ns) / LOOK_SHARE;

	controller->look_debt_ns -= good < controller->look_debt_ns ? good
								    : controller->look_debt_ns;
	controller->look_debt_ns += cost_ns;
	controller->look_counted_ns = now;
}

void want_look(struct controller *controller)
{
	uint64_t gap_ns = 0;

	count_looks(controller, 0);
	if (controller->look_debt_ns > LOOK_BURST_NS)
		gap_ns = (controller->look_debt_ns - LOOK_BURST_NS) * LOOK_SHARE;
	controller->others_wrote = true;
	want_wake(controller, gap_ns < LOOK_LONGEST_GAP_NS ? gap_ns : LOOK_LONGEST_GAP_NS);
}

void pod_label(const struct pod_spec *spec, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s/%s", spec->namespace, spec->name);
}

const struct group *desired_group(const struct controller *controller, const char *uid,
				  const char *container)
{
	for (uint32_t i = 0; i < controller->desired.nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];
		enum group_role role = *container ? GROUP_CONTAINER : GROUP_POD;

		if (group->role == role && !strcmp(group->uid, uid) &&
		    (!*container || !strcmp(group->container, container)))
			return group;
	}
	return NULL;
}

static struct finding_row *find_finding(struct controller *controller, const char *name)
{
	for (uint32_t i = 0; i < controller->nr_findings; i++)
		if (!strcmp(controller->findings[i].name, name))
			return &controller->findings[i];
	return NULL;
}

void add_finding(struct controller *controller, const char *name, const char *message,
		 const char *remedy)
{
	struct finding_row *row;

	if (controller->nr_findings == MAX_FINDINGS)
		return;
	log_warn(0, "finding %s: %s (%s)", name, message, remedy);
	row = &controller->findings[controller->nr_findings++];
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

void controller_finding(struct controller *controller, const char *name, const char *message,
			const char *remedy)
{
	struct finding_row *row = find_finding(controller, name);

	if (row && !strcmp(row->message, message)) {
		snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
		return;
	}
	controller_clear_finding(controller, name);
	add_finding(controller, name, message, remedy);
}

void controller_update_finding(struct controller *controller, const char *name, const char *message,
			       const char *remedy)
{
	struct finding_row *row = find_finding(controller, name);

	if (!row) {
		add_finding(controller, name, message, remedy);
		return;
	}
	snprintf(row->message, sizeof(row->message), "%s", message);
	snprintf(row->remedy, sizeof(row->remedy), "%s", remedy);
}

void controller_clear_finding(struct controller *controller, const char *name)
{
	struct finding_row *row = find_finding(controller, name);

	if (row)
		*row = controller->findings[--controller->nr_findings];
}

void find_unbuilt(struct controller *controller)
{
	struct config_unbuilt options[CONFIG_UNBUILT_NR];

	config_list_unbuilt(controller->options.config, options);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].is_asked)
			controller_finding(controller, options[i].finding, options[i].message,
					   CONFIG_UNBUILT_REMEDY);
		else
			controller_clear_finding(controller, options[i].finding);
	}
}

void controller_note(struct controller *controller, const char *kind, const char *detail)
{
	struct event_row event = {0};

	snprintf(event.kind, sizeof(event.kind), "%s", kind);
	snprintf(event.action, sizeof(event.action), "none");
	snprintf(event.detail, sizeof(event.detail), "%s", detail);
	audit_event(&controller->audit, &event);
}

/* --- what the cgroup room tells ---------------------------------------------------------------- */

static void on_group_changed(void *self, const char *path, const char *file)
{
	struct controller *controller = self;

	log_debug("ctl: %s/%s was written", path, file);
	touch(controller, path);
	want_look(controller);
}

static void on_group_populated(void *self, const char *path, bool populated)
{
	struct controller *controller = self;

	log_debug("ctl: %s is %s", path, populated ? "populated" : "empty");
	if (!populated)
		want_look(controller);
}

static void on_hotplug(void *self, const struct cpuset *online)
{
	struct controller *controller = self;
	char message[ROW_DETAIL_MAX], then[96], now[96];

	if (cpuset_equal(&controller->online, online)) {
		/* One may have gone and come back: its partition may not have. */
		want_look(controller);
		return;
	}
	controller->online = *online;
	cpuset_format(&controller->topology->all, then, sizeof(then));
	cpuset_format(&controller->online, now, sizeof(now));
	snprintf(message, sizeof(message),
		 "the agent read a machine with CPUs %.80s online, now they are %.80s", then, now);
	if (cpuset_equal(&controller->topology->all, &controller->online))
		controller_clear_finding(controller, "cpus_changed");
	else
		controller_finding(controller, "cpus_changed", message,
				   "restart pinfoldd when the machine is as you want it");
	want_wake(controller, 0);
}

/* --- health -------------------------------------------------------------------------------------- */

static bool is_healthy(void *self, char *reason, size_t size)
{
	snprintf(reason, size, "ok");
	return true;
}

/* --- life ---------------------------------------------------------------------------------------- */

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
	controller->cpuset_files = options->config->enforcement.cpuset_files;
	controller->state_writable = true;
	controller->refused = calloc(MAX_REFUSED, sizeof(*controller->refused));
	r = controller->refused
		    ? ledger_new(topology, policy, error, error_size, &controller->ledger)
		    : -ENOMEM;
	if (r) {
		controller_free(controller);
		return r;
	}
	audit_init(&controller->audit, ports->clock);
	controller->source_sink = (struct source_sink){controller, admission_scanned};
	controller->groups_sink = (struct groups_sink){
		controller, on_group_changed,	on_group_populated,
		on_hotplug, on_group_completed, on_looked,
	};
	controller->store_sink = (struct store_sink){controller, on_state_saved};
	controller->kernel_sink =
		(struct kernel_sink){controller, on_kernel_event, on_kernel_completed};
	controller->faces = (struct faces_port){
		.self = controller,
		.query = report_query,
		.command = command_run,
		.listen = command_listen,
		.withdraw = command_withdraw,
		.metrics = measure_page,
		.healthy = is_healthy,
		.ready = is_ready,
	};
	*ret_controller = controller;
	return 0;
}

void controller_free(struct controller *controller)
{
	if (!controller)
		return;
	for (uint32_t i = 0; i < controller->nr_refused; i++)
		pod_spec_free(controller->refused[i].spec);
	free(controller->refused);
	free(controller->retries);
	free(controller->held);
	operations_free(controller);
	runs_free(controller);
	pod_spec_free(controller->deferred.spec);
	text_fini(&controller->saving);
	text_fini(&controller->durable);
	group_tree_fini(&controller->desired);
	group_tree_fini(&controller->observed);
	ledger_free(controller->ledger);
	free(controller);
}

const struct source_sink *controller_source_sink(struct controller *controller)
{
	return &controller->source_sink;
}

const struct groups_sink *controller_groups_sink(struct controller *controller)
{
	return &controller->groups_sink;
}

const struct kernel_sink *controller_kernel_sink(struct controller *controller)
{
	return &controller->kernel_sink;
}

const struct faces_port *controller_faces(struct controller *controller)
{
	return &controller->faces;
}

const struct store_sink *controller_store_sink(struct controller *controller)
{
	return &controller->store_sink;
}

int controller_start(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	int r;

	controller->ports.groups->layout(controller->ports.groups->self, &controller->layout);
	r = state_recover(controller);
	if (r)
		return r;
	if (controller->options.dry_run)
		return 0;
	if (kernel) {
		r = kernel->start(kernel->self);
		if (r == -EPROTO)
			return r;
		/* Before the first write to a cgroup: a pinned guard would deny us too. */
		if (!r)
			r = kernel->enter_actor(kernel->self);
		if (r) {
			controller->ports.kernel = NULL;
			controller_finding(controller, "kernel_side_absent",
					   "the BPF programs could not be loaded",
					   "see `pinfold feature` and the log; cpusets still hold");
		}
	}
	find_unbuilt(controller);
	check_reach(controller);
	choose_tier(controller);
	controller->ledger_changed = true;
	controller->ends_release = true;
	reconcile(controller);
	test_guard(controller);
	controller->started = true;
	controller_note(controller, "start", "the agent is up");
	return 0;
}

void controller_wake(struct controller *controller)
{
	bool for_others = controller->others_wrote;
	uint64_t began_ns = now_ns(controller);

	controller->others_wrote = false;
	reconcile_touched(controller);
	admission_sweep(controller);
	reconcile(controller);
	if (for_others)
		count_looks(controller, now_ns(controller) - began_ns);
}

void controller_tick(struct controller *controller)
{
	uint64_t now = now_ns(controller);

	if (controller->ports.kernel) {
		controller->ports.kernel->tick(controller->ports.kernel->self);
		look_at_guard(controller);
	}
	operations_tell(controller);
	/* It makes a cgroup, which would wait for what a waiting operation waits for. */
	if (now - controller->last_self_test_ns >= SELF_TEST_NS && !controller->has_told_waiting)
		test_guard(controller);
	check_reach(controller);
	state_check(controller);
	/* Not every change of the kernel's has an event: cpuset.cpus.effective has none. */
	if (now - controller->last_resync_ns >= RESYNC_NS)
		controller_wake(controller);
}
