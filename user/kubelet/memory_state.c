// SPDX-License-Identifier: Apache-2.0
/*
 * memory_manager_state from structure to bytes; reading is in memory_state_read.c.
 *
 * As with the CPU state, the checksum is over a dump of the kubelet's Go object.
 */
#include "kubelet/memory_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kubelet/state_file.h"

/* --- ownership -------------------------------------------------------------------------------- */

static void blocks_fini(struct kubelet_memory_entry *entry)
{
	for (uint32_t i = 0; i < entry->nr_blocks; i++) {
		free(entry->blocks[i].type);
		free(entry->blocks[i].nodes);
	}
	free(entry->blocks);
	free(entry->pod);
	free(entry->container);
}

void kubelet_memory_entries_fini(struct kubelet_memory_entries *entries)
{
	for (uint32_t i = 0; i < entries->nr; i++)
		blocks_fini(&entries->entries[i]);
	free(entries->entries);
	*entries = (struct kubelet_memory_entries){0};
}

void kubelet_memory_state_fini(struct kubelet_memory_state *state)
{
	for (uint32_t i = 0; i < state->nr_nodes; i++) {
		for (uint32_t j = 0; j < state->nodes[i].nr_tables; j++)
			free(state->nodes[i].tables[j].type);
		free(state->nodes[i].tables);
		free(state->nodes[i].cells);
	}
	free(state->nodes);
	free(state->policy);
	kubelet_memory_entries_fini(&state->containers);
	kubelet_memory_entries_fini(&state->pods);
	*state = (struct kubelet_memory_state){0};
}

/* --- the dump under the checksum -------------------------------------------------------------- */

static void append_ids(struct text *text, const uint32_t *ids, uint32_t nr, const char *separator)
{
	text_append(text, "[");
	for (uint32_t i = 0; i < nr; i++)
		text_printf(text, "%s%u", i ? separator : "", ids[i]);
	text_append(text, "]");
}

static void dump_node(struct text *text, const struct kubelet_memory_node *node)
{
	text_printf(text,
		    "%u:<*>{NumberOfAssignments:(int)%" PRId64
		    " MemoryMap:(map[v1.ResourceName]*state.MemoryTable)map[",
		    node->id, node->nr_assignments);
	for (uint32_t i = 0; i < node->nr_tables; i++) {
		const struct kubelet_memory_table *table = &node->tables[i];

		text_printf(text,
			    "%s%s:<*>{TotalMemSize:(uint64)%" PRIu64
			    " SystemReserved:(uint64)%" PRIu64 " Allocatable:(uint64)%" PRIu64
			    " Reserved:(uint64)%" PRIu64 " Free:(uint64)%" PRIu64 "}",
			    i ? " " : "", table->type, table->total_bytes,
			    table->system_reserved_bytes, table->allocatable_bytes,
			    table->reserved_bytes, table->free_bytes);
	}
	text_append(text, "] Cells:([]int)");
	append_ids(text, node->cells, node->nr_cells, " ");
	text_append(text, "}");
}

static void dump_blocks(struct text *text, const struct kubelet_memory_entry *entry)
{
	text_append(text, "[");
	for (uint32_t i = 0; i < entry->nr_blocks; i++) {
		const struct kubelet_memory_block *block = &entry->blocks[i];

		text_printf(text, "%s{NUMAAffinity:([]int)", i ? " " : "");
		append_ids(text, block->nodes, block->nr_nodes, " ");
		text_printf(text, " Type:(v1.ResourceName)%s Size:(uint64)%" PRIu64 "}",
			    block->type, block->bytes);
	}
	text_append(text, "]");
}

static bool is_first_of_pod(const struct kubelet_memory_entries *entries, uint32_t index)
{
	return index == 0 ||
	       strcmp(entries->entries[index].pod, entries->entries[index - 1].pod) != 0;
}

static void dump_containers(struct text *text, const struct kubelet_memory_entries *entries)
{
	text_append(text, "map[");
	for (uint32_t i = 0; i < entries->nr; i++) {
		const struct kubelet_memory_entry *entry = &entries->entries[i];
		bool first = is_first_of_pod(entries, i);

		if (first)
			text_printf(text, "%s%s:map[", i ? "] " : "", entry->pod);
		if (entry->is_bare)
			continue;
		text_printf(text, "%s%s:", first ? "" : " ", entry->container);
		dump_blocks(text, entry);
	}
	text_append(text, entries->nr ? "]]" : "]");
}

static void dump_pods(struct text *text, const struct kubelet_memory_entries *entries)
{
	text_append(text, " PodEntries:(state.PodMemoryAssignments)map[");
	for (uint32_t i = 0; i < entries->nr; i++) {
		text_printf(text, "%s%s:{MemoryBlocks:([]state.Block)", i ? " " : "",
			    entries->entries[i].pod);
		dump_blocks(text, &entries->entries[i]);
		text_append(text, "}");
	}
	text_append(text, "]");
}

static int dump_object(const struct kubelet_memory_state *state, enum kubelet_memory_layout layout,
		       char **ret_text)
{
	struct text text cleanup_text = {0};

	text_printf(&text,
		    "(*state.MemoryManagerCheckpoint%s){PolicyName:(string)%s "
		    "MachineState:(state.NUMANodeMap)map[",
		    layout == KUBELET_MEMORY_V1_NAMED ? "V1" : "", state->policy);
	for (uint32_t i = 0; i < state->nr_nodes; i++) {
		text_append(&text, i ? " " : "");
		dump_node(&text, &state->nodes[i]);
	}
	text_append(&text, "] Entries:(state.ContainerMemoryAssignments)");
	dump_containers(&text, &state->containers);
	if (layout == KUBELET_MEMORY_V2)
		dump_pods(&text, &state->pods);
	text_append(&text, " Checksum:(checksum.Checksum)0}");
	return text_take(&text, ret_text);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Go sorts the keys of a map of numbers as strings: 0, 1, 10, 2. */
static int compare_as_text(const void *a, const void *b)
{
	const struct kubelet_memory_node *const *x = a, *const *y = b;
	char first[16], second[16];

	snprintf(first, sizeof(first), "%u", (*x)->id);
	snprintf(second, sizeof(second), "%u", (*y)->id);
	return strcmp(first, second);
}

static void append_node(struct text *text, const struct kubelet_memory_node *node)
{
	text_printf(text, "\"%u\":{\"numberOfAssignments\":%" PRId64 ",\"memoryMap\":{", node->id,
		    node->nr_assignments);
	for (uint32_t i = 0; i < node->nr_tables; i++) {
		const struct kubelet_memory_table *table = &node->tables[i];

		text_append(text, i ? "," : "");
		kubelet_append_string(text, table->type);
		text_printf(text,
			    ":{\"total\":%" PRIu64 ",\"systemReserved\":%" PRIu64
			    ",\"allocatable\":%" PRIu64 ",\"reserved\":%" PRIu64
			    ",\"free\":%" PRIu64 "}",
			    table->total_bytes, table->system_reserved_bytes,
			    table->allocatable_bytes, table->reserved_bytes, table->free_bytes);
	}
	text_append(text, "},\"cells\":");
	append_ids(text, node->cells, node->nr_cells, ",");
	text_append(text, "}");
}

static void append_blocks(struct text *text, const struct kubelet_memory_entry *entry)
{
	text_append(text, "[");
	for (uint32_t i = 0; i < entry->nr_blocks; i++) {
		const struct kubelet_memory_block *block = &entry->blocks[i];

		text_printf(text, "%s{\"numaAffinity\":", i ? "," : "");
		append_ids(text, block->nodes, block->nr_nodes, ",");
		text_append(text, ",\"type\":");
		kubelet_append_string(text, block->type);
		text_printf(text, ",\"size\":%" PRIu64 "}", block->bytes);
	}
	text_append(text, "]");
}

static void append_containers(struct text *text, const struct kubelet_memory_entries *entries)
{
	text_append(text, ",\"entries\":{");
	for (uint32_t i = 0; i < entries->nr; i++) {
		const struct kubelet_memory_entry *entry = &entries->entries[i];
		bool first = is_first_of_pod(entries, i);

		if (first) {
			text_append(text, i ? "}," : "");
			kubelet_append_string(text, entry->pod);
			text_append(text, ":{");
		}
		if (entry->is_bare)
			continue;
		text_append(text, first ? "" : ",");
		kubelet_append_string(text, entry->container);
		text_append(text, ":");
		append_blocks(text, entry);
	}
	text_append(text, "}}");
}

static void append_pods(struct text *text, const struct kubelet_memory_entries *entries)
{
	text_append(text, ",\"podEntries\":{");
	for (uint32_t i = 0; i < entries->nr; i++) {
		text_append(text, i ? "," : "");
		kubelet_append_string(text, entries->entries[i].pod);
		text_append(text, ":{\"memoryBlocks\":");
		append_blocks(text, &entries->entries[i]);
		text_append(text, "}");
	}
	text_append(text, "}");
}

/* The object up to its checksum, without the closing brace. */
static int append_content(struct text *text, const struct kubelet_memory_state *state,
			  bool with_pods)
{
	const struct kubelet_memory_node **order cleanup_free =
		calloc(state->nr_nodes + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < state->nr_nodes; i++)
		order[i] = &state->nodes[i];
	qsort(order, state->nr_nodes, sizeof(*order), compare_as_text);
	text_append(text, "{\"policyName\":");
	kubelet_append_string(text, state->policy);
	text_append(text, ",\"machineState\":{");
	for (uint32_t i = 0; i < state->nr_nodes; i++) {
		text_append(text, i ? "," : "");
		append_node(text, order[i]);
	}
	text_append(text, "}");
	if (state->containers.nr)
		append_containers(text, &state->containers);
	if (with_pods && state->pods.nr)
		append_pods(text, &state->pods);
	return 0;
}

static int data_of(const struct kubelet_memory_state *state, char **ret_text)
{
	struct text text cleanup_text = {0};
	int r = append_content(&text, state, true);

	if (r < 0)
		return r;
	text_append(&text, "}");
	return text_take(&text, ret_text);
}

int kubelet_memory_state_hashed(const struct kubelet_memory_state *state,
				enum kubelet_memory_layout layout, char **ret_text,
				uint32_t *ret_sum)
{
	char *text cleanup_free = NULL, *data cleanup_free = NULL;
	int r;

	if (layout != KUBELET_MEMORY_V3) {
		r = dump_object(state, layout, &text);
	} else {
		r = data_of(state, &data);
		if (r == 0 && asprintf(&text, "(string)%s", data) < 0) {
			text = NULL;
			r = -ENOMEM;
		}
	}
	if (r < 0)
		return r;
	*ret_sum = kubelet_sum(KUBELET_SUM_START, text);
	*ret_text = TAKE_PTR(text);
	return 0;
}

int kubelet_memory_sum(const struct kubelet_memory_state *state, enum kubelet_memory_layout layout,
		       uint32_t *ret_sum)
{
	char *text cleanup_free = NULL;

	return kubelet_memory_state_hashed(state, layout, &text, ret_sum);
}

int kubelet_memory_state_write(const struct kubelet_memory_state *state,
			       enum kubelet_memory_layout layout, char **ret_text)
{
	bool is_v3 = layout == KUBELET_MEMORY_V3;
	struct text text cleanup_text = {0};
	char *data cleanup_free = NULL;
	uint32_t sum;
	int r = kubelet_memory_sum(state, is_v3 ? KUBELET_MEMORY_V1 : layout, &sum);

	if (r == 0)
		r = append_content(&text, state, layout == KUBELET_MEMORY_V2);
	if (r < 0)
		return r;
	text_printf(&text, ",\"checksum\":%u", sum);
	if (is_v3) {
		r = data_of(state, &data);
		if (r < 0)
			return r;
		r = kubelet_append_data(&text, data);
		if (r < 0)
			return r;
	}
	text_append(&text, "}");
	return text_take(&text, ret_text);
}

const char *kubelet_memory_layout_name(enum kubelet_memory_layout layout)
{
	static const char *const names[] = {
		[KUBELET_MEMORY_V1] = "v1",
		[KUBELET_MEMORY_V1_NAMED] = "v1n",
		[KUBELET_MEMORY_V2] = "v2",
		[KUBELET_MEMORY_V3] = "v3",
	};

	_Static_assert(ARRAY_SIZE(names) == KUBELET_MEMORY_LAYOUT_NR, "a name for each layout");
	return names[layout];
}
