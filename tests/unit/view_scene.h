/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small node whose objects are built, and the comparison of an object with its description
 * and with the record in tests/data/views, as JSON and as plain text. Include after cmocka.h.
 */
#ifndef VIEW_SCENE_H
#define VIEW_SCENE_H

#include "../lib/golden.h"
#include "../lib/object_check.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "scene.h"

#define POD_DB .namespace = "prod", .pod = "db", .uid = "u1"

static inline int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* JSON does not know an order of keys, so that the files have them sorted. */
static inline struct json_object *sorted(struct json_object *json)
{
	struct json_object *copy;
	const char *keys[64];
	size_t nr = 0;

	if (json_object_is_type(json, json_type_array)) {
		copy = json_object_new_array();
		for (size_t i = 0; i < json_object_array_length(json); i++)
			json_object_array_add(copy, sorted(json_object_array_get_idx(json, i)));
		return copy;
	}
	if (!json_object_is_type(json, json_type_object))
		return json_object_get(json);
	copy = json_object_new_object();
	json_object_object_foreach (json, name, ignored) {
		(void)ignored;
		assert_in_range(nr, 0, ARRAY_SIZE(keys) - 1);
		keys[nr++] = name;
	}
	qsort(keys, nr, sizeof(*keys), by_name);
	for (size_t i = 0; i < nr; i++)
		json_object_object_add(copy, keys[i],
				       sorted(json_object_object_get(json, keys[i])));
	return copy;
}

/* As it was recorded, by the name of the case. */
static inline void compare(const char *name, const struct object_desc *desc,
			   struct json_object *json)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			  JSON_C_TO_STRING_NOSLASHESCAPE;
	struct json_object *canonical = sorted(json);
	struct text text cleanup_text = {0};
	char path[96];

	snprintf(path, sizeof(path), "tests/data/views/%s.json", name);
	text_printf(&text, "%s\n", json_object_to_json_string_ext(canonical, flags));
	assert_int_equal(text.error, 0);
	golden_compare(path, text.data);
	json_object_put(canonical);
	if (!desc)
		return;
	text_fini(&text);
	object_render(desc, json, &text);
	assert_int_equal(text.error, 0);
	snprintf(path, sizeof(path), "tests/data/views/%s.txt", name);
	golden_compare(path, text.data ? text.data : "");
}

static inline void check(const char *name, const struct object_desc *desc, struct json_object *json)
{
	struct json_object *again;
	char error[200] = "";

	assert_non_null(json);
	if (object_check(desc, json, error, sizeof(error)))
		fail_msg("%s", error);
	/* what goes over the wire is what was checked */
	again = json_tokener_parse(json_object_to_json_string(json));
	assert_non_null(again);
	assert_int_equal(object_check(desc, again, error, sizeof(error)), 0);
	json_object_put(again);
	compare(name, desc, json);
}

static inline struct json_object *at(struct json_object *json, const char *path)
{
	struct json_object *found = NULL;

	if (json_pointer_get(json, path, &found))
		fail_msg("no %s in %s", path, json_object_to_json_string(json));
	return found;
}

static inline void expect(struct json_object *json, const char *path, const char *wanted)
{
	struct json_object *found = at(json, path);

	assert_string_equal(found ? json_object_get_string(found) : "null", wanted);
}

/* 16 CPUs, 2 nodes; CPU i and i + 8 are one core. One exclusive pod, one sharing one. */
struct stage {
	struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	struct decision refused;
};

/* As scene.h makes them, but in namespace "prod" and with a uid unlike the name. */
static inline struct decision add_pod(struct stage *stage, struct pod_spec *spec)
{
	snprintf(spec->uid, sizeof(spec->uid), "uid-%.32s", spec->name);
	snprintf(spec->namespace, sizeof(spec->namespace), "prod");
	return admit_and_free(stage->ledger, spec);
}

static inline int open_stage(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	assert_non_null(stage);
	stage->topology = scene_machine(2, 1, 4, 2);
	stage->policy = strict_policy("0,8");
	stage->ledger = scene_ledger(stage->topology, &stage->policy);
	assert_true(add_pod(stage, guaranteed_pod("db", 4)).admitted);
	assert_true(add_pod(stage, burstable_pod("web")).admitted);
	stage->refused = add_pod(stage, guaranteed_pod("big", 14));
	assert_false(stage->refused.admitted);
	*state = stage;
	return 0;
}

static inline int close_stage(void **state)
{
	struct stage *stage = *state;

	ledger_free(stage->ledger);
	topology_free(stage->topology);
	free(stage);
	return 0;
}

#endif
