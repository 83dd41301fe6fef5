// SPDX-License-Identifier: Apache-2.0
/*
 * memory_manager_state from bytes to structure.
 *
 * One pass reads everything a file may hold; which checksum fits then says what
 * the file is, and whether its pod entries can be believed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/go_text.h"
#include "kubelet/state_file.h"

static int unreadable(struct kubelet_reader *reader, const char *what)
{
	return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "%.80s is malformed", what);
}

static int read_size(struct kubelet_reader *reader, struct json_object *value, const char *what,
		     uint64_t *ret_bytes)
{
	*ret_bytes = 0;
	if (!value)
		return 0;
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return unreadable(reader, what);
	*ret_bytes = json_object_get_uint64(value);
	return 0;
}

static int check_list(struct kubelet_reader *reader, struct json_object *value, const char *what,
		      size_t max, uint32_t *ret_nr)
{
	*ret_nr = 0;
	if (!value)
		return 0;
	if (!json_object_is_type(value, json_type_array) || json_object_array_length(value) > max)
		return unreadable(reader, what);
	*ret_nr = (uint32_t)json_object_array_length(value);
	return 0;
}

/* The numbers are taken as they are: a group may name nodes that are gone. */
static int read_ids(struct kubelet_reader *reader, struct json_object *list, const char *what,
		    uint32_t **ret_ids, uint32_t *ret_nr)
{
	uint32_t nr, *ids;
	int r = check_list(reader, list, what, KUBELET_MEMORY_MAX_NODES, &nr);

	if (r < 0)
		return r;
	ids = calloc(nr + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	*ret_ids = ids;
	*ret_nr = nr;
	for (uint32_t i = 0; i < nr; i++) {
		struct json_object *value = json_object_array_get_idx(list, i);
		int64_t id = json_object_get_int64(value);

		if (!json_object_is_type(value, json_type_int) || id < 0 || id > INT32_MAX)
			return unreadable(reader, what);
		ids[i] = (uint32_t)id;
	}
	return 0;
}

static int read_table(struct kubelet_reader *reader, const char *type, struct json_object *value,
		      struct kubelet_memory_table *table)
{
	const struct {
		const char *name;
		uint64_t *bytes;
	} fields[] = {
		{"total", &table->total_bytes},
		{"systemReserved", &table->system_reserved_bytes},
		{"allocatable", &table->allocatable_bytes},
		{"reserved", &table->reserved_bytes},
		{"free", &table->free_bytes},
	};
	int r = kubelet_check_object(reader, value, type);

	for (size_t i = 0; i < ARRAY_SIZE(fields) && r == 0; i++)
		r = read_size(reader, kubelet_member(value, fields[i].name), fields[i].name,
			      fields[i].bytes);
	return r;
}

static int compare_tables(const void *a, const void *b)
{
	const struct kubelet_memory_table *x = a, *y = b;

	return strcmp(x->type, y->type);
}

static int read_tables(struct kubelet_reader *reader, struct json_object *map,
		       struct kubelet_memory_node *node)
{
	int r = kubelet_check_object(reader, map, "memoryMap");

	if (r < 0 || !map)
		return r;
	if (json_object_object_length(map) > KUBELET_MEMORY_MAX_TYPES)
		return unreadable(reader, "memoryMap");
	node->tables = calloc((size_t)json_object_object_length(map) + 1, sizeof(*node->tables));
	if (!node->tables)
		return -ENOMEM;
	json_object_object_foreach (map, type, value) {
		struct kubelet_memory_table *table = &node->tables[node->nr_tables++];

		table->type = strdup(type);
		if (!table->type)
			return -ENOMEM;
		r = read_table(reader, type, value, table);
		if (r < 0)
			return r;
	}
	qsort(node->tables, node->nr_tables, sizeof(*node->tables), compare_tables);
	return 0;
}

static int read_node(struct kubelet_reader *reader, const char *key, struct json_object *value,
		     struct kubelet_memory_node *node)
{
	struct json_object *assignments = kubelet_member(value, "numberOfAssignments");
	int64_t id;
	int r;

	/* Go would take a negative id as well, but no machine has such a node. */
	if (go_parse_int(key, strlen(key), &id) || id < 0 || id > INT32_MAX)
		return unreadable(reader, "a key of machineState");
	if (assignments && !json_object_is_type(assignments, json_type_int))
		return unreadable(reader, "numberOfAssignments");
	node->id = (uint32_t)id;
	node->nr_assignments = json_object_get_int64(assignments);
	r = read_ids(reader, kubelet_member(value, "cells"), "cells", &node->cells,
		     &node->nr_cells);
	return r < 0 ? r : read_tables(reader, kubelet_member(value, "memoryMap"), node);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct kubelet_memory_node *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int read_nodes(struct kubelet_reader *reader, struct json_object *map,
		      struct kubelet_memory_state *state)
{
	int r = kubelet_check_object(reader, map, "machineState");

	if (r < 0 || !map)
		return r;
	if (json_object_object_length(map) > KUBELET_MEMORY_MAX_NODES)
		return unreadable(reader, "machineState");
	state->nodes = calloc((size_t)json_object_object_length(map) + 1, sizeof(*state->nodes));
	if (!state->nodes)
		return -ENOMEM;
	json_object_object_foreach (map, key, value) {
		r = value ? kubelet_check_object(reader, value, key)
			  : unreadable(reader, "a node of machineState");
		if (r == 0)
			r = read_node(reader, key, value, &state->nodes[state->nr_nodes++]);
		if (r < 0)
			return r;
	}
	qsort(state->nodes, state->nr_nodes, sizeof(*state->nodes), compare_nodes);
	/* "1" and "+1" are one key to Go, which keeps the last of them. No kubelet writes that. */
	for (uint32_t i = 1; i < state->nr_nodes; i++) {
		if (state->nodes[i].id == state->nodes[i - 1].id)
			return unreadable(reader, "machineState, which has a node twice,");
	}
	return 0;
}

static int read_block(struct kubelet_reader *reader, struct json_object *value,
		      struct kubelet_memory_block *block)
{
	const char *type;
	int r = value ? kubelet_check_object(reader, value, "a block")
		      : unreadable(reader, "a block");

	if (r < 0)
		return r;
	type = kubelet_plain_string(kubelet_member(value, "type"));
	if (!type)
		return unreadable(reader, "the type of a block");
	block->type = strdup(type);
	if (!block->type)
		return -ENOMEM;
	r = read_ids(reader, kubelet_member(value, "numaAffinity"), "numaAffinity", &block->nodes,
		     &block->nr_nodes);
	return r < 0 ? r : read_size(reader, kubelet_member(value, "size"), "size", &block->bytes);
}

/* Grows at powers of two. The new entry is empty and owned by the list. */
static int new_entry(struct kubelet_reader *reader, struct kubelet_memory_entries *entries,
		     const char *pod, const char *container,
		     struct kubelet_memory_entry **ret_entry)
{
	struct kubelet_memory_entry *entry;

	if (entries->nr == KUBELET_STATE_MAX_ENTRIES)
		return kubelet_refuse(reader, KUBELET_FAULT_UNREADABLE, "more than %d entries",
				      KUBELET_STATE_MAX_ENTRIES);
	if ((entries->nr & (entries->nr - 1)) == 0) {
		entry = reallocarray(entries->entries, entries->nr ? 2 * (size_t)entries->nr : 1,
				     sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entries->entries = entry;
	}
	entry = &entries->entries[entries->nr++];
	*entry = (struct kubelet_memory_entry){.pod = strdup(pod), .container = strdup(container)};
	*ret_entry = entry;
	return entry->pod && entry->container ? 0 : -ENOMEM;
}

static int read_blocks(struct kubelet_reader *reader, struct json_object *list,
		       struct kubelet_memory_entry *entry)
{
	uint32_t nr;
	int r = check_list(reader, list, "a list of blocks",
			   KUBELET_MEMORY_MAX_TYPES * KUBELET_MEMORY_MAX_NODES, &nr);

	if (r < 0)
		return r;
	entry->blocks = calloc(nr + 1, sizeof(*entry->blocks));
	if (!entry->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && r == 0; i++)
		r = read_block(reader, json_object_array_get_idx(list, i),
			       &entry->blocks[entry->nr_blocks++]);
	return r;
}

static int read_pod(struct kubelet_reader *reader, const char *pod, struct json_object *containers,
		    struct kubelet_memory_entries *entries)
{
	struct kubelet_memory_entry *entry;
	int r = kubelet_check_object(reader, containers, pod);

	if (r < 0)
		return r;
	if (!containers || !json_object_object_length(containers)) {
		r = new_entry(reader, entries, pod, "", &entry);
		if (r == 0)
			entry->is_bare = true;
		return r;
	}
	json_object_object_foreach (containers, name, blocks) {
		r = new_entry(reader, entries, pod, name, &entry);
		if (r == 0)
			r = read_blocks(reader, blocks, entry);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct kubelet_memory_entry *x = a, *y = b;
	int order = strcmp(x->pod, y->pod);

	return order ? order : strcmp(x->container, y->container);
}

static void sort_entries(struct kubelet_memory_entries *entries)
{
	if (entries->nr)
		qsort(entries->entries, entries->nr, sizeof(*entries->entries), compare_entries);
}

static int read_containers(struct kubelet_reader *reader, struct json_object *map,
			   struct kubelet_memory_entries *entries)
{
	int r = kubelet_check_object(reader, map, "entries");

	if (r < 0 || !map)
		return r;
	json_object_object_foreach (map, pod, containers) {
		r = read_pod(reader, pod, containers, entries);
		if (r < 0)
			return r;
	}
	sort_entries(entries);
	return 0;
}

static int read_pods(struct kubelet_reader *reader, struct json_object *map,
		     struct kubelet_memory_entries *entries)
{
	int r = kubelet_check_object(reader, map, "podEntries");

	if (r < 0 || !map)
		return r;
	json_object_object_foreach (map, pod, value) {
		struct kubelet_memory_entry *entry;

		r = kubelet_check_object(reader, value, pod);
		if (r == 0)
			r = new_entry(reader, entries, pod, "", &entry);
		if (r == 0)
			r = read_blocks(reader, kubelet_member(value, "memoryBlocks"), entry);
		if (r < 0)
			return r;
	}
	sort_entries(entries);
	return 0;
}

static int read_content(struct kubelet_reader *reader, struct json_object *root, bool with_pods,
			struct kubelet_memory_state *state)
{
	const char *policy = kubelet_plain_string(kubelet_member(root, "policyName"));
	int r;

	if (!policy)
		return unreadable(reader, "policyName");
	state->policy = strdup(policy);
	if (!state->policy)
		return -ENOMEM;
	r = read_nodes(reader, kubelet_member(root, "machineState"), state);
	if (r == 0)
		r = read_containers(reader, kubelet_member(root, "entries"), &state->containers);
	if (r == 0 && with_pods)
		r = read_pods(reader, kubelet_member(root, "podEntries"), &state->pods);
	return r;
}

static int read_sum(struct kubelet_reader *reader, struct json_object *root, int64_t *ret_written)
{
	struct json_object *value = kubelet_member(root, "checksum");

	if (value &&
	    (!json_object_is_type(value, json_type_int) ||
	     (reader->kubelet->release == KUBELET_1_37 && json_object_get_int64(value) < 0)))
		return unreadable(reader, "checksum");
	*ret_written = json_object_get_int64(value);
	return 0;
}

/* Which of the layouts this checksum is of. */
static int find_layout(struct kubelet_reader *reader, struct json_object *root,
		       struct kubelet_memory_state *state)
{
	static const enum kubelet_memory_layout layouts[] = {KUBELET_MEMORY_V2, KUBELET_MEMORY_V1,
							     KUBELET_MEMORY_V1_NAMED};
	int64_t written = 0;
	uint32_t sum = 0;
	int r = read_sum(reader, root, &written);

	if (r < 0)
		return r;
	state->layout = KUBELET_MEMORY_V1;
	for (size_t i = 0; written && i < ARRAY_SIZE(layouts); i++) {
		r = kubelet_memory_sum(state, layouts[i], &sum);
		if (r < 0)
			return r;
		if (sum == written) {
			state->layout = layouts[i];
			written = 0;
		}
	}
	if (written)
		return kubelet_refuse_sum(reader, written);
	if (state->layout != KUBELET_MEMORY_V2)
		kubelet_memory_entries_fini(&state->pods);
	return 0;
}

static const char *const content_members[] = {"policyName",   "machineState",
					      "entries",      "podEntries",
					      "checksum",     "data",
					      "dataChecksum", NULL};

/* -EINVAL also when there is no such part: then the older layouts are tried. */
static int read_data(struct kubelet_reader *reader, struct json_object *root,
		     struct kubelet_memory_state *state)
{
	struct json_object *inner = NULL;
	int r = kubelet_read_data(reader, root, "memory manager", &inner);

	if (r < 0)
		return r;
	kubelet_note_unknown(reader, inner, content_members);
	r = read_content(reader, inner, true, state);
	json_object_put(inner);
	state->layout = KUBELET_MEMORY_V3;
	return r == -EINVAL
		       ? kubelet_put_before(reader,
					    "failed to deserialize memory manager checkpoint data")
		       : r;
}

static int read_older(struct kubelet_reader *reader, struct json_object *root,
		      struct kubelet_memory_state *state)
{
	int r;

	kubelet_memory_state_fini(state);
	r = read_content(reader, root, true, state);
	return r < 0 ? r : find_layout(reader, root, state);
}

/* Go decodes the whole file at once, so the types of the part that does not count matter. */
static int check_types(struct kubelet_reader *reader, struct json_object *root)
{
	struct kubelet_memory_state unused cleanup_kubelet_memory_state = {0};
	int64_t written;
	int r = read_content(reader, root, false, &unused);

	if (r == 0)
		r = read_sum(reader, root, &written);
	return r == -EINVAL ? kubelet_put_before(reader,
						 "failed to deserialize memory manager checkpoint")
			    : r;
}

/* A checksum of 0, or none, passes as layout 1. */
static int read_layout(struct kubelet_reader *reader, struct json_object *root,
		       enum kubelet_memory_layout layout, struct kubelet_memory_state *state)
{
	int64_t written = 0;
	uint32_t sum = 0;
	int r;

	kubelet_memory_state_fini(state);
	r = read_content(reader, root, layout == KUBELET_MEMORY_V2, state);
	if (r == 0)
		r = read_sum(reader, root, &written);
	state->layout = layout;
	if (r < 0 || (written == 0 && layout == KUBELET_MEMORY_V1))
		return r;
	r = kubelet_memory_sum(state, layout, &sum);
	if (r < 0 || sum == written)
		return r;
	return kubelet_refuse_sum(reader, written);
}

/* Layout 3, and only if the file has nothing of it those that 1.36 wrote. */
static int read_as_1_37(struct kubelet_reader *reader, struct json_object *root,
			struct kubelet_memory_state *state)
{
	int r = check_types(reader, root);

	if (r == 0)
		r = read_data(reader, root, state);
	if (r == -EINVAL && kubelet_has_data(root))
		return kubelet_put_before(reader, "could not load v3 checkpoint");
	if (r == -EINVAL)
		r = read_layout(reader, root, KUBELET_MEMORY_V2, state);
	if (r == -EINVAL)
		r = read_layout(reader, root, KUBELET_MEMORY_V1, state);
	if (r == 0 && !reader->kubelet->pod_level)
		kubelet_memory_entries_fini(&state->pods);
	return r;
}

static int read_as_release(struct kubelet_reader *reader, struct json_object *root,
			   struct kubelet_memory_state *state)
{
	enum kubelet_release release = reader->kubelet->release;
	int r = -EINVAL;

	if (release == KUBELET_1_37)
		return read_as_1_37(reader, root, state);
	if (release == KUBELET_ANY)
		r = read_data(reader, root, state);
	return r == -EINVAL ? read_older(reader, root, state) : r;
}

static int read_root(struct kubelet_reader *reader, struct json_object *root,
		     struct kubelet_memory_state *state)
{
	int r;

	kubelet_note_unknown(reader, root, content_members);
	r = read_as_release(reader, root, state);
	r = kubelet_judge_unknown(reader, r,
				  state->layout == KUBELET_MEMORY_V3 ||
					  json_object_get_int64(kubelet_member(root, "checksum")),
				  "3");
	return r < 0 ? r : kubelet_check_policy(reader, "[memorymanager] ", state->policy);
}

int kubelet_memory_state_read(const char *data, size_t len, const struct kubelet *kubelet,
			      struct kubelet_memory_state *ret_state, enum kubelet_fault *ret_fault,
			      char *error, size_t error_size)
{
	struct kubelet_memory_state state cleanup_kubelet_memory_state = {0};
	struct kubelet_reader reader = {
		.kubelet = kubelet, .error = error, .error_size = error_size};
	struct json_object *root = NULL;
	int r = kubelet_parse_json(&reader, data, len, &root);

	if (r == 0)
		r = read_root(&reader, root, &state);
	json_object_put(root);
	if (r < 0) {
		*ret_fault = reader.fault;
		return r;
	}
	/* If a later attempt succeeded, what the first ones said is of no use. */
	snprintf(error, error_size, "%s", reader.warning);
	*ret_state = state;
	state = (struct kubelet_memory_state){0};
	return 0;
}
