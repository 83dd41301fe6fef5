/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose agent has begun, with a kernel that counts. Include after cmocka.h. */
#ifndef STARTED_NODE_SCENE_H
#define STARTED_NODE_SCENE_H

#include "node_scene.h"

static struct controller *controller;

static inline int start(void **state)
{
	if (set_up_node(state))
		return -1;
	controller = start_node(&fake_side_port);
	return 0;
}

static inline int stop(void **state)
{
	controller_free(controller);
	return tear_down(state);
}

#endif
