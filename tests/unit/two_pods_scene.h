/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node of node_scene.h, an exclusive pod and one on the shared pool, for what the
 * controller does again and again while time passes. Include it after cmocka.
 */
#ifndef TESTS_TWO_PODS_SCENE_H
#define TESTS_TWO_PODS_SCENE_H

#include "node_scene.h"

/* What the next controller is configured with; set before it is made. */
static struct config changed;
static struct pod_spec *pods[2];

static inline int set_up_pods(void **state)
{
	int r = set_up_node(state);

	changed = config;
	options.config = &changed;
	pods[0] = fake_pod("a", "exclusive", 4000, true);
	pods[1] = fake_pod("b", "web", 500, false);
	return r;
}

static inline int tear_down_pods(void **state)
{
	free_pods(pods, 2);
	return tear_down(state);
}

static inline void tick(struct controller *controller, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		fake->now_ns += S;
		controller_tick(controller);
	}
}

#endif
