// SPDX-License-Identifier: Apache-2.0
/*
 * Kind hint_merge: hints of several providers into one. Compared with the
 * kubelet's own answer whatever the mode, including its limit of eight nodes and
 * its sentences for wrong options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/align/align.h"
#include "replay.h"

#define KUBELET_MAX_NODES 8
#define MAX_LISTS	  64

struct merge_case {
	struct align_problem problem;
	uint32_t ids[TOPOLOGY_MAX_NODES]; /* ascending */
	uint32_t distances[TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES];
	struct hint_list lists[MAX_LISTS];
	struct hint *owned[MAX_LISTS];
};

static const struct hint no_opinion = HINT_NO_OPINION, impossible = HINT_IMPOSSIBLE;

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Recorded masks are over node ids. */
static node_mask_t indexes_of(const struct merge_case *merge, uint64_t id_mask)
{
	node_mask_t mask = 0;

	for (unsigned int i = 0; i < merge->problem.nr_nodes; i++)
		mask |= (node_mask_t)(id_mask >> merge->ids[i] & 1) << i;
	return mask;
}

static uint64_t ids_of(const struct merge_case *merge, node_mask_t mask)
{
	uint64_t id_mask = 0;

	for (unsigned int i = 0; i < merge->problem.nr_nodes; i++)
		id_mask |= (uint64_t)(mask >> i & 1) << merge->ids[i];
	return id_mask;
}

static void add_list(struct merge_case *merge, struct json_object *hints)
{
	struct hint_list *list = &merge->lists[merge->problem.nr_lists];
	size_t nr = json_object_array_length(hints);
	struct hint *owned = calloc(nr + 1, sizeof(*owned));

	merge->owned[merge->problem.nr_lists++] = owned;
	for (size_t i = 0; owned && i < nr; i++) {
		struct json_object *hint = json_object_array_get_idx(hints, i);
		struct json_object *mask = json_object_array_get_idx(hint, 0);

		owned[i].any = mask == NULL;
		owned[i].nodes = indexes_of(merge, json_object_get_uint64(mask));
		owned[i].preferred = json_object_get_int(json_object_array_get_idx(hint, 1)) != 0;
	}
	*list = (struct hint_list){(uint32_t)nr, owned};
}

/* False when there are too many resources. */
static bool add_provider(struct merge_case *merge, struct json_object *provider)
{
	struct hint_list *lists = merge->lists;
	uint32_t *nr_lists = &merge->problem.nr_lists;

	if (*nr_lists == MAX_LISTS)
		return false;
	if (!provider || json_object_object_length(provider) == 0) {
		lists[(*nr_lists)++] = (struct hint_list){1, &no_opinion};
		return true;
	}
	json_object_object_foreach (provider, resource, hints) {
		(void)resource;
		if (*nr_lists == MAX_LISTS)
			return false;
		if (!hints)
			lists[(*nr_lists)++] = (struct hint_list){1, &no_opinion};
		else if (json_object_array_length(hints) == 0)
			lists[(*nr_lists)++] = (struct hint_list){1, &impossible};
		else
			add_list(merge, hints);
	}
	return true;
}

/* False when a node is beyond a mask of ids. */
static bool fill_machine(struct merge_case *merge, struct json_object *line)
{
	struct json_object *numa = field_of(line, "numa"), *rows = field_of(line, "distances");
	unsigned int nr = (unsigned int)json_object_array_length(numa);

	if (nr > TOPOLOGY_MAX_NODES)
		return false;
	merge->problem.nr_nodes = nr;
	for (unsigned int i = 0; i < nr; i++)
		merge->ids[i] = (uint32_t)json_object_get_int(json_object_array_get_idx(numa, i));
	qsort(merge->ids, nr, sizeof(merge->ids[0]), compare_ids);
	for (unsigned int i = 0; rows && i < nr; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		for (unsigned int j = 0; j < nr; j++)
			merge->distances[i * nr + j] =
				(uint32_t)json_object_get_int(json_object_array_get_idx(row, j));
	}
	merge->problem.distances = rows ? merge->distances : NULL;
	return !nr || merge->ids[nr - 1] < 64;
}

static enum align_policy policy_of(const char *name)
{
	for (int policy = 0; policy < ALIGN_NR; policy++) {
		if (strcmp(align_policy_name((enum align_policy)policy), name) == 0)
			return (enum align_policy)policy;
	}
	return ALIGN_NR;
}

/* What the kubelet says when it refuses to start so configured; "" when it starts. */
static void configure(struct merge_case *merge, struct json_object *line, char *error, size_t size)
{
	struct json_object *options = field_of(line, "options");
	uint32_t max_nodes = KUBELET_MAX_NODES;

	error[0] = '\0';
	if (merge->problem.policy == ALIGN_NONE)
		return;
	if (options) {
		json_object_object_foreach (options, name, value) {
			if (align_option_set(name, json_object_get_string(value),
					     &merge->problem.prefer_closest, &max_nodes, error,
					     size) < 0)
				return;
		}
	}
	if (merge->problem.nr_nodes > max_nodes)
		snprintf(error, size, "unsupported on machines with more than %u NUMA Nodes",
			 max_nodes);
}

static enum outcome compare(struct replay *replay, const struct merge_case *merge,
			    const struct alignment *got, struct json_object *want)
{
	struct json_object *hint = field_of(want, "hint");
	struct json_object *mask = json_object_array_get_idx(hint, 0);
	uint64_t nodes = ids_of(merge, got->hint.nodes);
	bool preferred = json_object_get_int(json_object_array_get_idx(hint, 1)) != 0;

	if (!got->exact)
		return replay_fail(replay, "the answer is said not to be exact");
	if (got->hint.any != (mask == NULL) || (mask && nodes != json_object_get_uint64(mask)) ||
	    got->hint.preferred != preferred || got->admitted != field_bool(want, "admit"))
		return replay_fail(replay, "want %s, got mask %#llx any %d preferred %d admit %d",
				   json_object_to_json_string_ext(want, JSON_C_TO_STRING_PLAIN),
				   (unsigned long long)nodes, got->hint.any, got->hint.preferred,
				   got->admitted);
	return OUTCOME_PASSED;
}

static enum outcome play(struct replay *replay, struct json_object *line, struct merge_case *merge)
{
	struct json_object *want = field_of(line, "want"), *providers = field_of(line, "providers");
	const char *refusal = field_text(want, "error", "");
	struct alignment alignment;
	char error[256];
	int r;

	merge->problem.lists = merge->lists;
	merge->problem.policy = policy_of(field_text(line, "policy", ""));
	if (!want || merge->problem.policy == ALIGN_NR || !field_of(line, "numa"))
		return replay_fail(replay, "the case lacks want, numa or a known policy");
	if (!fill_machine(merge, line))
		return replay_fail(replay, "more than %d NUMA nodes, or an id beyond 63",
				   TOPOLOGY_MAX_NODES);
	configure(merge, line, error, sizeof(error));
	if (error[0] || refusal[0])
		return strcmp(error, refusal) == 0
			       ? OUTCOME_PASSED
			       : replay_fail(replay, "want error '%s', got '%s'", refusal, error);
	for (size_t i = 0; providers && i < json_object_array_length(providers); i++) {
		if (!add_provider(merge, json_object_array_get_idx(providers, i)))
			return replay_fail(replay, "more than %d resources", MAX_LISTS);
	}
	r = align_merge(&merge->problem, &alignment);
	if (r < 0)
		return replay_fail(replay, "merging failed: %s", strerror(-r));
	return compare(replay, merge, &alignment, want);
}

enum outcome replay_hint_merge(struct replay *replay, struct json_object *line)
{
	struct merge_case *merge = calloc(1, sizeof(*merge));
	enum outcome outcome;

	if (!merge)
		return replay_fail(replay, "out of memory");
	replay->kubelet_rules = true;
	outcome = play(replay, line, merge);
	for (uint32_t i = 0; i < merge->problem.nr_lists; i++)
		free(merge->owned[i]);
	free(merge);
	return outcome;
}
