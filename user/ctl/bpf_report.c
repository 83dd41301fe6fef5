// SPDX-License-Identifier: Apache-2.0
/* Asks each port that loads BPF objects; an object whose port is absent gets a row that says so. */
#include "ctl/bpf_report.h"

#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "format/views.h"

static void add_absent(const struct controller *controller, const char *object,
		       struct bpf_inventory *inventory)
{
	struct prog_row *row = &inventory->progs[inventory->nr_progs];

	if (inventory->nr_progs == INVENTORY_PROGS_MAX)
		return;
	inventory->nr_progs++;
	*row = (struct prog_row){.run_time_ns = -1, .run_count = -1, .memory_bytes = -1};
	snprintf(row->object, sizeof(row->object), "%s", object);
	snprintf(row->reason, sizeof(row->reason), "%s",
		 controller->options.config->mode == MODE_OBSERVE
			 ? "it is not loaded in mode observe"
			 : "it could not be loaded; see the agent's log");
}

/* The caller frees it. NULL = no memory. */
static struct bpf_inventory *list_all(struct controller *controller)
{
	const struct controller_ports *ports = &controller->ports;
	struct bpf_inventory *inventory = calloc(1, sizeof(*inventory));

	if (!inventory || !ports->kernel)
		return inventory;
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
	return inventory;
}

struct json_object *ctl_report_progs(struct controller *controller)
{
	struct bpf_inventory *inventory cleanup_free = list_all(controller);

	return inventory ? view_progs(inventory->progs, inventory->nr_progs) : NULL;
}

struct json_object *ctl_report_maps(struct controller *controller)
{
	struct bpf_inventory *inventory cleanup_free = list_all(controller);

	return inventory ? view_maps(inventory->maps, inventory->nr_maps) : NULL;
}
