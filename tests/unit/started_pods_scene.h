/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node of node_scene.h with a started controller that has scanned two pods. A test makes them in
 * its set-up. Include it after cmocka.
 */
#ifndef TESTS_STARTED_PODS_SCENE_H
#define TESTS_STARTED_PODS_SCENE_H

#include "node_scene.h"

static struct controller *controller;
static struct pod_spec *pods[2];

static inline int tear_down_pods(void **state)
{
	controller_free(controller);
	free_pods(pods, 2);
	return tear_down(state);
}

#endif
