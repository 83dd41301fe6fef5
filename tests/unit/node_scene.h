/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A controller whose cgroups and BPF backend a test can break: the scene of
 * controller_scene.h with fake_kernel.h behind it. Include it after cmocka.
 */
#ifndef TESTS_NODE_SCENE_H
#define TESTS_NODE_SCENE_H

#include "../lib/fake_kernel.h"
#include "controller_scene.h"

#define S 1000000000ULL

static struct groups_port groups;
static struct controller_options options;
static char foreign_scope[64];
static bool partition_invalid;
static const char *unknown_path; /* of this group nothing can be told now, */
static int unknown_error;	 /* for this reason */

static inline int outsiders(void *self, uint32_t *ret_nr, char *ret_scope, size_t size)
{
	*ret_nr = 3;
	snprintf(ret_scope, size, "%s", foreign_scope);
	return 0;
}

/* The kernel takes the write and says later that it is not valid. */
static inline int status_of(void *self, const char *path, struct group_status *ret_status)
{
	bool is_root = !strcmp(path, "pinfold.slice");
	int r = fake_status(self, path, ret_status);

	if (unknown_path && !strcmp(path, unknown_path))
		return unknown_error;
	if (!r && partition_invalid && is_root) {
		ret_status->is_root_partition = false;
		snprintf(ret_status->partition, sizeof(ret_status->partition),
			 "root invalid (Cpu list in cpuset.cpus not exclusive)");
	}
	return r;
}

static inline int set_up_node(void **state)
{
	fake_side_reset();
	*foreign_scope = '\0';
	partition_invalid = false;
	unknown_path = NULL;
	unknown_error = -EINPROGRESS;
	groups = fake_groups;
	groups.outsiders = outsiders;
	groups.status = status_of;
	options = (struct controller_options){.config = &config,
					      .config_file = "",
					      .kernel_release = "6.1.0",
					      .boot_id = "boot",
					      .revision = "test"};
	return set_up(state);
}

/* A controller that is not started: with these ports, and those of the node. */
static inline struct controller *make_node_with(struct controller_ports ports)
{
	struct controller *controller = NULL;
	char error[256] = "";

	ports.clock = &fake_clock;
	ports.loop = &fake_loop;
	ports.groups = &groups;
	ports.store = &fake_store;
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	return controller;
}

static inline struct controller *make_node(const struct kernel_port *kernel)
{
	return make_node_with((struct controller_ports){.kernel = kernel});
}

static inline struct controller *start_node(const struct kernel_port *kernel)
{
	struct controller *controller = make_node(kernel);

	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static inline const char *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("there is no member %s", key);
	return value ? json_object_get_string(value) : "null";
}

static inline uint64_t id_of_path(const char *path)
{
	struct group_status status;

	assert_int_equal(fake_status(NULL, path, &status), 0);
	return status.cgroup_id;
}

/* A group of somebody else's, so that a culprit lives somewhere. */
static inline uint64_t make_stranger(const char *path)
{
	struct step step = {.kind = STEP_CREATE};
	char error[GROUP_ERROR_MAX];

	snprintf(step.path, sizeof(step.path), "%s", path);
	assert_int_equal(fake_create(&step, error), 0);
	return id_of_path(path);
}

#endif
