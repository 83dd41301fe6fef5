// SPDX-License-Identifier: Apache-2.0
/*
 * The members that a line of each kind must have. The families rely on it: json-c aborts when the
 * length of anything but an array is asked for, and a loop over steps that are not there compares
 * nothing and would pass.
 */
#include <string.h>

#include "lib/cleanup.h"
#include "replay.h"

struct member {
	const char *kind, *name;
	enum json_type type;
	enum json_type element; /* of an array; null = any */
	bool is_optional;
};

#define HAS(kind, name, type)                           \
	{                                               \
		kind, name, type, json_type_null, false \
	}
#define MAY_HAVE(kind, name, type)                     \
	{                                              \
		kind, name, type, json_type_null, true \
	}
#define ARRAY(kind, name, element)                          \
	{                                                   \
		kind, name, json_type_array, element, false \
	}
#define MAY_HAVE_ARRAY(kind, name, element)                \
	{                                                  \
		kind, name, json_type_array, element, true \
	}

static const struct member members[] = {
	HAS("topology", "topo", json_type_string),
	ARRAY("topology", "cpus", json_type_array),
	MAY_HAVE_ARRAY("topology", "nodes", json_type_object),
	HAS("take_packed", "topo", json_type_string),
	HAS("take_packed", "available", json_type_string),
	HAS("take_packed", "num", json_type_int),
	HAS("take_packed", "want", json_type_object),
	HAS("take_distributed", "topo", json_type_string),
	HAS("take_distributed", "available", json_type_string),
	HAS("take_distributed", "num", json_type_int),
	HAS("take_distributed", "want", json_type_object),
	HAS("resize_packed", "topo", json_type_string),
	HAS("resize_packed", "available", json_type_string),
	HAS("resize_packed", "baseline", json_type_string),
	HAS("resize_packed", "current", json_type_string),
	HAS("resize_packed", "num", json_type_int),
	HAS("resize_packed", "want", json_type_object),
	HAS("resize_distributed", "topo", json_type_string),
	HAS("resize_distributed", "available", json_type_string),
	HAS("resize_distributed", "baseline", json_type_string),
	HAS("resize_distributed", "current", json_type_string),
	HAS("resize_distributed", "num", json_type_int),
	HAS("resize_distributed", "want", json_type_object),
	HAS("static", "topo", json_type_string),
	ARRAY("static", "steps", json_type_object),
	HAS("static", "want", json_type_object),
	HAS("admit", "topo", json_type_string),
	HAS("admit", "pods", json_type_object),
	ARRAY("admit", "steps", json_type_object),
	HAS("admit", "want", json_type_object),
	MAY_HAVE("checkpoint", "checkpoint", json_type_string),
	MAY_HAVE("checkpoint", "state", json_type_object),
	HAS("checkpoint", "want", json_type_object),
	HAS("hint_merge", "policy", json_type_string),
	ARRAY("hint_merge", "numa", json_type_int),
	MAY_HAVE_ARRAY("hint_merge", "distances", json_type_array),
	/* a provider without an opinion is null */
	MAY_HAVE_ARRAY("hint_merge", "providers", json_type_null),
	HAS("hint_merge", "want", json_type_object),
	ARRAY("memory_seq", "nodes", json_type_object),
	HAS("memory_seq", "pods", json_type_object),
	ARRAY("memory_seq", "ops", json_type_object),
	HAS("memory_seq", "want", json_type_object),
	ARRAY("memory_reserved", "numa", json_type_int),
	ARRAY("memory_reserved", "reservations", json_type_object),
	HAS("memory_reserved", "node_allocatable_reservation", json_type_object),
	HAS("memory_reserved", "want", json_type_object),
	HAS("memory_checkpoint", "format", json_type_string),
	HAS("memory_checkpoint", "state", json_type_object),
	HAS("memory_checkpoint", "want", json_type_object),
	HAS("memory_restore", "checkpoint", json_type_string),
	HAS("memory_restore", "want", json_type_object),
};

static bool has_elements(struct json_object *array, enum json_type type)
{
	size_t nr = json_object_array_length(array);

	for (size_t i = 0; i < nr; i++) {
		if (!json_object_is_type(json_object_array_get_idx(array, i), type))
			return false;
	}
	return true;
}

static bool has_member(struct json_object *line, const struct member *member)
{
	struct json_object *value = field_of(line, member->name);

	if (!value)
		return member->is_optional;
	if (!json_object_is_type(value, member->type))
		return false;
	return member->type != json_type_array || member->element == json_type_null ||
	       has_elements(value, member->element);
}

/* One answer for each step, unless the case is one that does not start. */
static bool has_answers(struct json_object *line, const char *steps, const char *want)
{
	struct json_object *wanted = field_of(line, want), *answers = field_of(wanted, steps);

	if (!wanted || field_of(wanted, "error") || field_of(wanted, "start_error"))
		return true;
	return json_object_is_type(answers, json_type_array) &&
	       has_elements(answers, json_type_object) &&
	       json_object_array_length(answers) == json_object_array_length(field_of(line, steps));
}

bool replay_has_shape(struct replay *replay, const char *kind, struct json_object *line)
{
	static const char *const steps[] = {"steps", "ops"};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (strcmp(members[i].kind, kind) || has_member(line, &members[i]))
			continue;
		replay_fail(replay, "the case lacks a valid '%s'", members[i].name);
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (!field_of(line, steps[i]) || (has_answers(line, steps[i], "want") &&
						  has_answers(line, steps[i], "want_fixed")))
			continue;
		replay_fail(replay, "the case needs one answer for each of its %s", steps[i]);
		return false;
	}
	return true;
}
