// SPDX-License-Identifier: Apache-2.0
/* Asks each port that loads BPF objects; an object whose port is absent gets a row that says so. */
#include "ctl/bpf_report.h"

#include <stdio.h>

#include "ctl/internal.h"
#include "format/bpf_inventory.h"
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
	struct bpf_inventory inventory cleanup(bpf_inventory_fini) = {0};

	list_all(controller, &inventory);
	return inventory.error ? NULL : view_progs(inventory.progs, inventory.nr_progs);
}

struct json_object *ctl_report_maps(struct controller *controller)
{
	struct bpf_inventory inventory cleanup(bpf_inventory_fini) = {0};

	list_all(controller, &inventory);
	return inventory.error ? NULL : view_maps(inventory.maps, inventory.nr_maps);
}
