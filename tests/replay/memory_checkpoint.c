// SPDX-License-Identifier: Apache-2.0
/*
 * Kind memory_checkpoint: the kubelet's memory_manager_state. The state is put
 * into a file as text first, so that it comes in through the same reader as
 * files do; then each layout's text, checksum and bytes are compared.
 *
 * Kind memory_restore: what kubelet 1.37 makes of a file. The refusal must be equal, or
 * else the bytes that it writes afterwards.
 */
#include <stdio.h>
#include <string.h>

#include "kubelet/memory_state.h"
#include "lib/cleanup.h"
#include "replay.h"

static const struct kubelet any_kubelet = {KUBELET_ANY, true, "Static"};

static enum kubelet_memory_layout layout_of(const char *name)
{
	int layout = 0;

	while (layout < KUBELET_MEMORY_LAYOUT_NR &&
	       strcmp(kubelet_memory_layout_name((enum kubelet_memory_layout)layout), name) != 0)
		layout++;
	return (enum kubelet_memory_layout)layout;
}

/* The state as given, in a layout 3, which is the one that holds everything. */
static char *wrap(struct json_object *given)
{
	struct json_object *data = json_object_new_object(), *file = json_object_new_object();
	const char *text;
	uint32_t sum = 2166136261U;
	char *result;

	json_object_object_add(data, "policyName", json_object_new_string("Static"));
	json_object_object_foreach (given, name, value)
		json_object_object_add(data, name, json_object_get(value));
	text = json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN);
	for (const char *c = "(string)"; *c; c++)
		sum = (sum ^ (unsigned char)*c) * 16777619U;
	for (const char *c = text; *c; c++)
		sum = (sum ^ (unsigned char)*c) * 16777619U;
	json_object_object_add(file, "data", json_object_new_string(text));
	json_object_object_add(file, "dataChecksum", json_object_new_int64(sum));
	result = strdup(json_object_to_json_string(file));
	json_object_put(data);
	json_object_put(file);
	return result;
}

static enum outcome check_reading(struct replay *replay, const char *file,
				  enum kubelet_memory_layout layout,
				  const struct kubelet_memory_state *wanted)
{
	struct kubelet_memory_state state cleanup_kubelet_memory_state = {0};
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char *again cleanup_free = NULL;
	char error[256] = "";

	if (kubelet_memory_state_read(file, strlen(file), &any_kubelet, &state, &fault, error,
				      sizeof(error)))
		return replay_fail(replay, "reading: %s (%s)", error, kubelet_fault_name(fault));
	if (state.layout != layout)
		return replay_fail(replay, "read as %s", kubelet_memory_layout_name(state.layout));
	if (state.containers.nr != wanted->containers.nr ||
	    (layout >= KUBELET_MEMORY_V2 ? wanted->pods.nr : 0) != state.pods.nr)
		return replay_fail(replay, "reading lost entries");
	if (kubelet_memory_state_write(&state, layout, &again) || strcmp(again, file) != 0)
		return replay_fail(replay, "read and written again it is another file");
	return OUTCOME_PASSED;
}

enum outcome replay_memory_checkpoint(struct replay *replay, struct json_object *line)
{
	struct kubelet_memory_state state cleanup_kubelet_memory_state = {0};
	struct json_object *want = field_of(line, "want");
	enum kubelet_memory_layout layout = layout_of(field_text(line, "format", ""));
	char *given cleanup_free = NULL, *file cleanup_free = NULL, *hashed cleanup_free = NULL;
	const char *wanted = field_text(want, "file", "");
	enum kubelet_fault fault;
	char error[256] = "";
	uint32_t sum;

	replay->kubelet_rules = true;
	given = wrap(field_of(line, "state"));
	if (layout == KUBELET_MEMORY_LAYOUT_NR || !given ||
	    kubelet_memory_state_read(given, strlen(given), &any_kubelet, &state, &fault, error,
				      sizeof(error)))
		return replay_fail(replay, "the case itself: %s", error);
	if (kubelet_memory_state_hashed(&state, layout, &hashed, &sum) ||
	    kubelet_memory_state_write(&state, layout, &file))
		return replay_fail(replay, "no memory");
	if (strcmp(hashed, field_text(want, "hashed", "")) != 0)
		return replay_fail(replay, "hashed text: want '%.1500s', got '%.1500s'",
				   field_text(want, "hashed", ""), hashed);
	if (sum != field_int(want, "checksum", -1))
		return replay_fail(replay, "checksum: want %lld, got %u",
				   (long long)field_int(want, "checksum", -1), sum);
	if (strcmp(file, wanted) != 0)
		return replay_fail(replay, "file: want '%.1500s', got '%.1500s'", wanted, file);
	return check_reading(replay, wanted, layout, &state);
}

enum outcome replay_memory_restore(struct replay *replay, struct json_object *line)
{
	struct kubelet_memory_state state cleanup_kubelet_memory_state = {0};
	const struct kubelet kubelet = {KUBELET_1_37, field_bool(line, "pod_level_managers"),
					"Static"};
	const char *found = field_text(line, "checkpoint", "");
	struct json_object *want = field_of(line, "want");
	const char *refusal = field_text(want, "start_error", "none");
	const char *raw = field_text(want, "raw", ""), *wanted = field_text(want, "file", "");
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char *file cleanup_free = NULL;
	char error[256] = "";
	int r = kubelet_memory_state_read(found, strlen(found), &kubelet, &state, &fault, error,
					  sizeof(error));

	if (strcmp(kubelet_fault_name(fault), refusal) != 0)
		return replay_fail(replay, "want %s, got %s (%s)", refusal,
				   kubelet_fault_name(fault), error);
	if (r < 0)
		return replay_says_reason(raw, error) && error[0]
			       ? OUTCOME_PASSED
			       : replay_fail(replay, "want %s, got %s", raw, error);
	if (kubelet_memory_state_write(&state, KUBELET_MEMORY_V3, &file))
		return replay_fail(replay, "no memory");
	if (strcmp(file, wanted) != 0)
		return replay_fail(replay, "file: want '%.1500s', got '%.1500s'", wanted, file);
	return OUTCOME_PASSED;
}
