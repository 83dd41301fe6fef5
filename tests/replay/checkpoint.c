// SPDX-License-Identifier: Apache-2.0
/*
 * Kind checkpoint: the kubelet's cpu_manager_state. With a state in the case the
 * bytes written must be equal; with a text in the case it is read, and what was
 * read, or the refusal, must be equal. Both directions must also agree.
 */
#include <errno.h>
#include <string.h>

#include "kubelet/cpu_state.h"
#include "replay.h"

static int fill_entries(struct json_object *pods, bool nested, struct kubelet_entries *ret_entries)
{
	if (!pods)
		return 0;
	json_object_object_foreach (pods, pod, value) {
		if (!nested) {
			if (kubelet_entries_add(ret_entries, pod, "",
						json_object_get_string(value)))
				return -ENOMEM;
			continue;
		}
		json_object_object_foreach (value, container, list) {
			if (kubelet_entries_add(ret_entries, pod, container,
						json_object_get_string(list)))
				return -ENOMEM;
		}
	}
	kubelet_entries_sort(ret_entries);
	for (uint32_t i = 0; i < ret_entries->nr; i++) {
		struct kubelet_entry *entry = &ret_entries->entries[i];

		if (cpuset_parse(entry->list, strlen(entry->list), &entry->cpus) < 0)
			return -EINVAL;
	}
	return 0;
}

static int fill_state(struct json_object *object, struct kubelet_cpu_state *ret_state)
{
	const char *list = field_text(object, "default", "");
	int r;

	ret_state->policy = strdup("static");
	ret_state->default_list = strdup(list);
	if (!ret_state->policy || !ret_state->default_list)
		return -ENOMEM;
	if (cpuset_parse(list, strlen(list), &ret_state->default_cpus) < 0)
		return -EINVAL;
	r = fill_entries(field_of(object, "entries"), true, &ret_state->containers);
	return r < 0 ? r : fill_entries(field_of(object, "pod_entries"), false, &ret_state->pods);
}

static bool same_entries(const struct kubelet_entries *a, const struct kubelet_entries *b)
{
	if (a->nr != b->nr)
		return false;
	for (uint32_t i = 0; i < a->nr; i++) {
		const struct kubelet_entry *x = &a->entries[i], *y = &b->entries[i];

		if (strcmp(x->pod, y->pod) || strcmp(x->container, y->container) ||
		    !cpuset_equal(&x->cpus, &y->cpus))
			return false;
	}
	return true;
}

/* Read `text` and compare with the state or the refusal wanted. */
static enum outcome play_read(struct replay *replay, const char *text,
			      const struct kubelet *kubelet, struct json_object *want)
{
	struct kubelet_cpu_state got cleanup_kubelet_cpu_state = {0},
				     wanted cleanup_kubelet_cpu_state = {0};
	const char *refusal = field_text(want, "start_error", "none");
	const char *raw = field_text(want, "raw", "");
	enum kubelet_fault fault = KUBELET_FAULT_NONE;
	char error[256] = "";
	int r;

	r = kubelet_cpu_state_read(text, strlen(text), kubelet, &got, &fault, error, sizeof(error));
	if (strcmp(kubelet_fault_name(fault), refusal) != 0)
		return replay_fail(replay, "want %s, got %s (%s)", refusal,
				   kubelet_fault_name(fault), error);
	if (r < 0 && !replay_says_reason(raw, error))
		return replay_fail(replay, "want %s, got %s", raw, error);
	if (r < 0)
		return error[0] ? OUTCOME_PASSED
				: replay_fail(replay, "refused without a sentence");
	if (fill_state(want, &wanted) < 0)
		return replay_fail(replay, "the case has no valid state to compare with");
	if (!cpuset_equal(&got.default_cpus, &wanted.default_cpus) ||
	    !same_entries(&got.containers, &wanted.containers) ||
	    !same_entries(&got.pods, &wanted.pods))
		return replay_fail(replay, "read %u containers and %u pods, or their CPUs differ",
				   got.containers.nr, got.pods.nr);
	return OUTCOME_PASSED;
}

static enum outcome play_write(struct replay *replay, struct json_object *line,
			       const struct kubelet *kubelet, struct json_object *want)
{
	struct kubelet_cpu_state state cleanup_kubelet_cpu_state = {0};
	char *text cleanup_free = NULL;
	const char *file = field_text(want, "file", "");

	if (fill_state(field_of(line, "state"), &state) < 0)
		return replay_fail(replay, "the case has no valid state");
	if (kubelet_cpu_state_write(&state, kubelet, &text) < 0)
		return replay_fail(replay, "out of memory");
	if (strcmp(text, file) != 0)
		return replay_fail(replay, "want %s, got %s", file, text);
	return play_read(replay, text, kubelet, want);
}

enum outcome replay_checkpoint(struct replay *replay, struct json_object *line)
{
	struct json_object *want = field_of(line, "want");
	const char *found = field_text(line, "checkpoint", NULL);
	struct kubelet kubelet = {
		.release = replay->compatibility == COMPATIBILITY_KUBELET_1_37 ? KUBELET_1_37
									       : KUBELET_1_36,
		.pod_level = field_bool(line, "pod_level_managers"),
		.policy = "static",
	};

	if (!want)
		return replay_fail(replay, "the case lacks want");
	return found ? play_read(replay, found, &kubelet, want)
		     : play_write(replay, line, &kubelet, want);
}
