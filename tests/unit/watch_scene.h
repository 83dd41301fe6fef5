/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's side of strangers: a node whose walks end as a test says. Pod "a" has four
 * exclusive CPUs, 2 to 5 of 16, and pod "b" shares. Include it after cmocka.
 */
#ifndef TESTS_WATCH_SCENE_H
#define TESTS_WATCH_SCENE_H

#include "../lib/fake_noise.h"
#include "../lib/fake_stranger.h"
#include "two_pods_scene.h"

static inline struct controller *start(enum enforcement enforcement)
{
	struct controller *controller;

	changed = config;
	changed.enforcement.strangers = enforcement;
	controller = make_node_with((struct controller_ports){.kernel = &fake_side_port,
							      .noise = &fake_noise_port,
							      .stranger = &fake_stranger_port});
	fake_stranger.sink = &controller_sinks(controller)->stranger;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static inline int set_up_watch(void **state)
{
	memset(&fake_stranger, 0, sizeof(fake_stranger));
	fake_noise_reset();
	return set_up_pods(state);
}

static inline void show_rows(void)
{
	fake_stranger.rows = fake_stranger_rows;
	fake_stranger.nr = ARRAY_SIZE(fake_stranger_rows);
}

static inline const char *of_row(struct json_object *rows, const char *pid, const char *key)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(member(row, "pid"), pid))
			return member(row, key);
	}
	return "no row";
}

static inline void see(struct controller *controller, uint32_t pid, uint64_t ago_ns)
{
	const struct noise_sink *sink = &controller_sinks(controller)->noise;
	const struct noise_stranger stranger = {.time_ns = fake->now_ns - ago_ns, .pid = pid};

	sink->stranger(sink->self, &stranger);
}

static inline bool has_tier(struct controller *controller)
{
	struct json_object *node = query(controller, "node");
	const bool is_listed = strchr(member(node, "tiers"), '3') != NULL;

	json_object_put(node);
	return is_listed;
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up_watch, tear_down_pods)

#endif
