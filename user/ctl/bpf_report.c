// SPDX-License-Identifier: Apache-2.0
/* Asks each port that loads BPF objects; an object whose port is absent gets a row that says so. */
#include "ctl/bpf_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "ctl/internal.h"
#include "format/bpf_inventory.h"
#include "format/view_objects.h"
#include "format/views.h"

static void add_absent(const struct controller *controller, const char *object,
		       struct bpf_inventory *inventory)
{
	const enum run_mode mode = controller->options.config->mode;
	char why[64] = "it could not be loaded; see the agent's log";

	if (!run_mode_writes(mode))
		snprintf(why, sizeof(why), "it is not loaded in mode %s", run_mode_name(mode));
	bpf_inventory_add_missing(inventory, object, why);
}

static void list_all(struct controller *controller, struct bpf_inventory *inventory)
{
	const struct controller_ports *ports = &controller->ports;

	if (!ports->kernel)
		return;
	/* The first, because it says whether run times are measured. */
	ports->kernel->list(ports->kernel->self, inventory);
	if (ports->pressure)
		ports->pressure->list(ports->pressure->self, inventory);
	else
		add_absent(controller, "pressure", inventory);
	if (ports->noise)
		ports->noise->list(ports->noise->self, inventory);
	else
		add_absent(controller, "noise", inventory);
}

struct json_object *ctl_report_progs(struct controller *controller)
{
	struct bpf_inventory inventory cleanup_bpf_inventory = {0};

	list_all(controller, &inventory);
	return inventory.error ? NULL
			       : view_progs(inventory.progs, inventory.nr_progs,
					    cpuset_count_common(&controller->topology->all,
								&controller->online));
}

struct json_object *ctl_report_maps(struct controller *controller)
{
	struct bpf_inventory inventory cleanup_bpf_inventory = {0};

	list_all(controller, &inventory);
	return inventory.error ? NULL : view_maps(inventory.maps, inventory.nr_maps);
}

/* Those that are loaded. */
static size_t list_usage(const struct bpf_inventory *inventory, struct view_usage_prog *usages)
{
	size_t nr = 0;

	for (size_t i = 0; i < inventory->nr_progs; i++) {
		const struct prog_row *row = &inventory->progs[i];

		if (row->id)
			usages[nr++] = (struct view_usage_prog){
				.id = row->id,
				.name = row->name,
				.object = row->object,
				.hook = *row->hook ? row->hook : NULL,
				.run_time_ns = row->run_time_ns,
				.run_count = row->run_count,
			};
	}
	return nr;
}

struct json_object *ctl_report_usage(struct controller *controller)
{
	struct bpf_inventory inventory cleanup_bpf_inventory = {0};
	struct view_usage_prog *programs cleanup_free = NULL;
	const struct process_port *process = controller->ports.process;
	struct view_usage usage = {
		.cpus = cpuset_count(&controller->topology->all),
		.agent_ns = -1,
		.agent_memory_bytes = -1,
	};
	struct process_usage own;

	list_all(controller, &inventory);
	programs = calloc(inventory.nr_progs + 1, sizeof(*programs));
	if (inventory.error || !programs)
		return NULL;
	usage.programs = programs;
	usage.nr_programs = list_usage(&inventory, programs);
	usage.time_ns = clock_now_ns(controller->ports.clock);
	if (process && !process->usage(process->self, &own)) {
		usage.agent_ns = (int64_t)own.cpu_ns;
		usage.agent_memory_bytes = (int64_t)own.resident_bytes;
	}
	return view_usage(&usage);
}
