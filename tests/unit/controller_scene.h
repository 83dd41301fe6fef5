/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of 16 CPUs with CPUs 0 and 1 reserved, a controller on the fake world,
 * and questions to both. For tests of the controller; include it after cmocka.
 */
#ifndef TESTS_CONTROLLER_SCENE_H
#define TESTS_CONTROLLER_SCENE_H

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "../lib/fake_world.h"
#include "lib/text.h"

static struct topology *topology;

/* --- a machine, a policy, pods ------------------------------------------------------------------- */

static struct config config;
static struct policy policy;

static inline void make_machine(void)
{
	struct topology_cpu cpus[16];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		TOPOLOGY_COUNT_ALL,
	};
	char error[256];

	/* two sockets, four cores each, two threads: siblings are neighbours */
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){i, i / 2 * 2, i / 8, i / 8, i / 8};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
}

static inline int set_up(void **state)
{
	fake_world_make();
	make_machine();
	config_default(&config);
	config.policy.cpu = CPU_POLICY_STATIC;
	config.policy.cpu_options.strict_reservation = true;
	config.policy.has_reserved_list = true;
	cpuset_parse("0-1", 3, &config.policy.reserved_list);
	policy = config.policy;
	return 0;
}

static inline int tear_down(void **state)
{
	topology_free(topology);
	fake_world_clear();
	return 0;
}

/* The BPF backend of the next controller; NULL = none. */
static const struct kernel_port *scene_kernel;
/* The container runtime's; NULL = none. */
static const struct runtime_port *scene_runtime;
static const char *scene_boot_id = "boot";

static inline struct controller *start_controller(void)
{
	const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = scene_boot_id,
		.revision = "test",
	};
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &fake_groups,
					       .kernel = scene_kernel,
					       .store = &fake_store,
					       .runtime = scene_runtime};
	struct controller *controller = NULL;
	char error[256] = "";

	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static inline void scan(struct controller *controller, struct pod_spec *const *specs, uint32_t nr)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct source_pod *pods = calloc(nr + 1, sizeof(*pods));

	assert_non_null(pods);
	for (uint32_t i = 0; i < nr; i++)
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = i + 1, .name = ""};
	sink->scanned(sink->self, pods, nr, true);
	free(pods);
	controller_wake(controller);
}

/* CPUs went off or came back: these are online now. */
static inline void tell_online(struct controller *controller, const char *list)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	struct cpuset online;

	assert_int_equal(cpuset_parse(list, strlen(list), &online), 0);
	fake->wake_ns = 0;
	sink->hotplug(sink->self, &online);
	/* Whatever it was, cgroups are looked at. */
	assert_true(fake->wake_ns);
}

static inline struct json_object *query(struct controller *controller, const char *object)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;

	assert_int_equal(faces->query(faces->self, object, &json), 0);
	return json;
}

static inline size_t nr_rows(struct controller *controller, const char *object)
{
	struct json_object *json = query(controller, object);
	size_t nr = json_object_array_length(json);

	json_object_put(json);
	return nr;
}

/* The first group of this role whose path has `needle` in it; NULL = none. */
static inline struct fake_group *group_of(enum group_role role, const char *needle)
{
	for (uint32_t i = 0; i < fake->nr_groups; i++)
		if (fake_at(i)->role == role && strstr(fake_at(i)->path, needle))
			return fake_at(i);
	return NULL;
}

static inline const char *file_of(const char *needle, enum group_file file)
{
	const struct fake_group *group = group_of(GROUP_CONTAINER, needle);

	return group ? group->files[file] : NULL;
}

/* Somebody else writes the file of every container whose path has `needle` in it. */
static inline void tamper(const char *needle, enum group_file file, const char *value)
{
	for (uint32_t i = 0; i < fake->nr_groups; i++)
		if (fake_at(i)->role == GROUP_CONTAINER && strstr(fake_at(i)->path, needle))
			strcpy(fake_at(i)->files[file], value);
}

static inline void populate(bool populated)
{
	for (uint32_t i = 0; i < fake->nr_groups; i++)
		fake_at(i)->populated = populated;
}

static inline void free_pods(struct pod_spec **specs, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		pod_spec_free(specs[i]);
}

/* --- who shares CPUs ------------------------------------------------------------------------------ */

/* After each step: a container that is called exclusive shares no CPU with anybody. */
static inline void look_for_overlap(const struct step *step)
{
	for (uint32_t i = 0; i < fake->nr_groups; i++) {
		const struct fake_group *owner = fake_at(i);
		struct cpuset own = cpuset_of_text(owner->files[GROUP_CPUSET_CPUS]), other;

		if (owner->role != GROUP_CONTAINER || !strstr(owner->path, "exclusive"))
			continue;
		for (uint32_t j = 0; j < fake->nr_groups; j++) {
			if (j == i || fake_at(j)->role != GROUP_CONTAINER)
				continue;
			other = cpuset_of_text(fake_at(j)->files[GROUP_CPUSET_CPUS]);
			if (cpuset_intersects(&own, &other))
				fake->overlap_seen = true;
		}
	}
}

/* As set_up; the test asserts that fake->overlap_seen stays false. */
static inline int watch_overlap(void **state)
{
	int r = set_up(state);

	fake->on_step = look_for_overlap;
	return r;
}

/* --- what the controller says -------------------------------------------------------------------- */

/* The n-th refusal's member as text, "null" for null. */
static inline void expect_refusal(struct controller *controller, size_t n, const char *key,
				  const char *wanted)
{
	struct json_object *json = query(controller, "refusal"), *value = NULL;
	const char *found;

	assert_true(n < json_object_array_length(json));
	json_object_object_get_ex(json_object_array_get_idx(json, n), key, &value);
	found = value ? json_object_get_string(value) : "null";
	assert_string_equal(found, wanted);
	json_object_put(json);
}

/* Findings of this name whose message has `part` in it. */
static inline unsigned int nr_findings(struct controller *controller, const char *name,
				       const char *part)
{
	struct json_object *node = query(controller, "node");
	struct json_object *findings = json_object_object_get(node, "findings");
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *row = json_object_array_get_idx(findings, i);

		nr += !strcmp(json_object_get_string(json_object_object_get(row, "name")), name) &&
		      strstr(json_object_get_string(json_object_object_get(row, "message")), part);
	}
	json_object_put(node);
	return nr;
}

/* Is `part` in the object "node": in a message, or in a remedy? */
static inline bool node_has(struct controller *controller, const char *part)
{
	struct json_object *node = query(controller, "node");
	bool has = strstr(json_object_to_json_string(node), part);

	json_object_put(node);
	return has;
}

/* How often `part` is on the page of metrics. */
static inline unsigned int nr_series(struct controller *controller, const char *part)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	unsigned int nr = 0;

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	for (const char *at = strstr(page.data, part); at; at = strstr(at + 1, part))
		nr++;
	return nr;
}

static inline void expect_metric(struct controller *controller, const char *line)
{
	if (!nr_series(controller, line))
		fail_msg("the page of metrics lacks %s", line);
}

#endif
