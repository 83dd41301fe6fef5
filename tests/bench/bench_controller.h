/* SPDX-License-Identifier: Apache-2.0 */
/* A controller for a bench, started on a node that does not exist. */
#ifndef BENCH_CONTROLLER_H
#define BENCH_CONTROLLER_H

#include <stdio.h>
#include <stdlib.h>

#include "ctl/controller.h"

/* Borrows all arguments for the life of the controller. A failure ends the program. */
static inline struct controller *bench_controller_start(const struct topology *topology,
							const struct policy *policy,
							const struct config *config,
							const struct controller_ports *ports)
{
	const struct controller_options options = {
		.config = config,
		.config_file = "",
		.kernel_release = "6.12",
		.boot_id = "boot",
		.revision = "bench",
		.host = "node",
	};
	struct controller *controller;
	char error[256] = "";

	if (controller_new(topology, policy, &options, ports, error, sizeof(error), &controller) ||
	    controller_start(controller)) {
		fprintf(stderr, "bench: the controller cannot be started: %s\n", error);
		exit(1);
	}
	return controller;
}

#endif
