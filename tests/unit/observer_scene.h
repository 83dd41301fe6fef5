/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of a node whose pods it did not create: it scans, and grants nothing. */
#ifndef PINFOLD_OBSERVER_SCENE_H
#define PINFOLD_OBSERVER_SCENE_H

#include "controller_scene.h"

#define SECOND_NS 1000000000ULL

/* Not yet started, so that a test can take its sinks first. */
static inline struct controller *observer_new(enum run_mode mode,
					      const struct controller_ports *ports)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "test",
		.discovers = true,
	};
	struct controller *controller = NULL;
	char error[256] = "";

	config.mode = mode;
	assert_int_equal(controller_new(topology, &policy, &options, ports, error, sizeof(error),
					&controller),
			 0);
	return controller;
}

#endif
