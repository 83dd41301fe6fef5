// SPDX-License-Identifier: Apache-2.0
/*
 * Facts file to topology. Shape and range of each number are checked here,
 * what they mean together by topology_new.
 */
#include "format/facts.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/quantity.h"

/* keys: of a file that describes a machine, which a person may write */

#define CPU_COLUMNS 5

struct facts {
	struct format_error *error;
	struct topology_facts input;
	struct topology_cpu *cpus;
	struct topology_node *nodes;
	uint32_t *distances;
};

static void facts_fini(struct facts *facts)
{
	free(facts->cpus);
	free(facts->nodes);
	free(facts->distances);
}
#define cleanup_facts cleanup(facts_fini)

/* A list of between `least` and `most` numbers, each at most `max`. */
static int read_row(const struct yaml_value *row, const char *field, struct format_error *error,
		    unsigned int least, unsigned int most, uint64_t max, uint64_t *ret_numbers)
{
	char child_field[FORMAT_FIELD_MAX];
	unsigned int column = 0;
	int err = yaml_read_list(row, field, error);

	if (err)
		return err;
	if (row->nr_children < least || row->nr_children > most)
		return yaml_refuse(row, field, error, "%u numbers; expected %u%s", row->nr_children,
				   least, least < most ? " or more" : "");
	yaml_for_each(child, row)
	{
		err = yaml_read_uint(child, format_field(child_field, "%s[%u]", field, column),
				     error, 0, max, &ret_numbers[column]);
		if (err)
			return err;
		column++;
	}
	return 0;
}

static int read_cpus(struct facts *facts, const struct yaml_value *list)
{
	char field[FORMAT_FIELD_MAX];
	int err = yaml_read_list(list, "cpus", facts->error);

	if (err)
		return err;
	if (list->nr_children == 0 || list->nr_children > CPUSET_MAX)
		return yaml_refuse(list, "cpus", facts->error,
				   "%u CPUs; expected 1 to %d, one row each", list->nr_children,
				   CPUSET_MAX);
	facts->cpus = calloc(list->nr_children, sizeof(*facts->cpus));
	if (!facts->cpus)
		return -ENOMEM;
	yaml_for_each(child, list)
	{
		uint64_t row[CPU_COLUMNS];

		format_field(field, "cpus[%zu]", facts->input.nr_cpus);
		err = read_row(child, field, facts->error, CPU_COLUMNS, CPU_COLUMNS,
			       TOPOLOGY_MAX_ID, row);
		if (err)
			return err;
		facts->cpus[facts->input.nr_cpus++] =
			(struct topology_cpu){row[0], row[1], row[2], row[3], row[4]};
	}
	facts->input.cpus = facts->cpus;
	return 0;
}

static int read_hugepages(struct facts *facts, const struct yaml_value *list, const char *field,
			  struct topology_node *node)
{
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_list(list, field, facts->error);

	if (err)
		return err;
	if (list->nr_children > TOPOLOGY_MAX_HUGEPAGES)
		return yaml_refuse(list, field, facts->error, "more than %d page sizes",
				   TOPOLOGY_MAX_HUGEPAGES);
	yaml_for_each(child, list)
	{
		uint64_t row[3] = {0, 0, UINT64_MAX};

		format_field(child_field, "%s[%u]", field, node->nr_hugepages);
		err = read_row(child, child_field, facts->error, 2, 3, 1ULL << 40, row);
		if (err)
			return err;
		if (row[0] == 0 || row[0] > 1ULL << 30 || row[1] > (1ULL << 52) / row[0])
			return yaml_refuse(child, child_field, facts->error,
					   "expected a page size in KiB above 0 and a number of "
					   "pages, together at most 4 Ei");
		node->hugepages[node->nr_hugepages++] =
			(struct hugepages){row[0] * 1024, row[1], row[2]};
	}
	return 0;
}

static int read_memory(struct facts *facts, const struct yaml_value *value, const char *field,
		       struct topology_node *node)
{
	char shown[FORMAT_SHOW_MAX];
	int64_t bytes;

	if (value->kind != YAML_TEXT || quantity_parse(value->text, value->len, &bytes) < 0)
		return yaml_refuse(value, field, facts->error,
				   "invalid amount of memory '%s': expected bytes, or a quantity "
				   "such as 64Gi",
				   value->kind == YAML_TEXT ? format_show(value->text, value->len,
									  shown, sizeof(shown))
							    : yaml_kind_name(value->kind));
	node->memory_bytes = bytes;
	return 0;
}

static int read_node(struct facts *facts, const struct yaml_value *map, const char *field,
		     struct topology_node *node)
{
	char child_field[FORMAT_FIELD_MAX];
	bool has_id = false;
	uint64_t id = 0;
	int err = yaml_read_map(map, field, facts->error);

	if (err)
		return err;
	yaml_for_each(child, map)
	{
		format_member(child_field, field, child->key);
		if (strcmp(child->key, "id") == 0) {
			/* Ids become members of cpuset.mems, which is a set like that of CPUs. */
			err = yaml_read_uint(child, child_field, facts->error, 0, CPUSET_MAX - 1,
					     &id);
			has_id = true;
		} else if (strcmp(child->key, "memory") == 0) {
			err = read_memory(facts, child, child_field, node);
		} else if (strcmp(child->key, "hugepages") == 0) {
			err = read_hugepages(facts, child, child_field, node);
		} else {
			err = yaml_refuse(child, child_field, facts->error,
					  "unknown key; expected id, memory or hugepages");
		}
		if (err)
			return err;
	}
	node->id = id;
	return has_id ? 0 : yaml_refuse(map, field, facts->error, "id is missing");
}

static int read_nodes(struct facts *facts, const struct yaml_value *list)
{
	char field[FORMAT_FIELD_MAX];
	int err = yaml_read_list(list, "nodes", facts->error);

	if (err)
		return err;
	if (list->nr_children > TOPOLOGY_MAX_NODES)
		return yaml_refuse(list, "nodes", facts->error,
				   "%u nodes; at most %d are "
				   "supported",
				   list->nr_children, TOPOLOGY_MAX_NODES);
	facts->nodes = calloc(list->nr_children + 1, sizeof(*facts->nodes));
	if (!facts->nodes)
		return -ENOMEM;
	yaml_for_each(child, list)
	{
		struct topology_node *node = &facts->nodes[facts->input.nr_nodes];

		format_field(field, "nodes[%zu]", facts->input.nr_nodes);
		err = read_node(facts, child, field, node);
		if (err)
			return err;
		facts->input.nr_nodes++;
	}
	facts->input.nodes = facts->nodes;
	return 0;
}

static int read_distances(struct facts *facts, const struct yaml_value *list)
{
	const size_t nr = facts->input.nr_nodes;
	char field[FORMAT_FIELD_MAX];
	size_t line = 0;
	int err = yaml_read_list(list, "distances", facts->error);

	if (err)
		return err;
	if (nr == 0 || list->nr_children != nr)
		return yaml_refuse(list, "distances", facts->error,
				   "%u rows, but `nodes` has %zu entries; give one row and one "
				   "column for each",
				   list->nr_children, nr);
	facts->distances = calloc(nr * nr, sizeof(*facts->distances));
	if (!facts->distances)
		return -ENOMEM;
	yaml_for_each(child, list)
	{
		uint64_t row[TOPOLOGY_MAX_NODES];

		format_field(field, "distances[%zu]", line);
		err = read_row(child, field, facts->error, nr, nr, 65535, row);
		if (err)
			return err;
		for (size_t i = 0; i < nr; i++)
			facts->distances[line * nr + i] = row[i];
		line++;
	}
	facts->input.distances = facts->distances;
	return 0;
}

static const struct {
	const char *name;
	size_t offset; /* in struct topology_facts */
} counts[] = {
	{"num_cpus", offsetof(struct topology_facts, num_cpus)},
	{"num_cores", offsetof(struct topology_facts, num_cores)},
	{"num_sockets", offsetof(struct topology_facts, num_sockets)},
	{"num_numa", offsetof(struct topology_facts, num_nodes)},
	{"num_uncore", offsetof(struct topology_facts, num_uncores)},
};

static uint32_t *count_of(struct topology_facts *facts, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (strcmp(counts[i].name, name) == 0)
			return (uint32_t *)((char *)facts + counts[i].offset);
	return NULL;
}

static bool is_known_key(const char *key)
{
	static const char *const keys[] = {"cpus", "nodes", "distances", "kind", "topo"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static int read_counts(struct facts *facts, const struct yaml_value *root)
{
	yaml_for_each(child, root)
	{
		uint32_t *count = count_of(&facts->input, child->key);
		uint64_t number;
		int err;

		if (!count && !is_known_key(child->key))
			return yaml_refuse(child, child->key, facts->error,
					   "unknown key; expected cpus, nodes, distances or "
					   "num_{cpus,cores,sockets,numa,uncore}");
		if (!count || yaml_is_null(child))
			continue;
		err = yaml_read_uint(child, child->key, facts->error, 0, TOPOLOGY_MAX_ID, &number);
		if (err)
			return err;
		*count = number;
	}
	return 0;
}

static int read_facts(struct facts *facts, const struct yaml_value *root)
{
	const struct yaml_value *cpus = yaml_get(root, "cpus");
	const struct yaml_value *nodes = yaml_get(root, "nodes");
	const struct yaml_value *distances = yaml_get(root, "distances");
	int err = yaml_read_map(root, NULL, facts->error);

	if (err)
		return err;
	if (!cpus)
		return yaml_refuse(root, "cpus", facts->error,
				   "this list is missing; give a row [cpu, core, socket, numa, "
				   "uncore] for each CPU");
	err = read_counts(facts, root);
	if (!err)
		err = read_cpus(facts, cpus);
	if (!err && nodes)
		err = read_nodes(facts, nodes);
	if (!err && distances)
		err = read_distances(facts, distances);
	return err;
}

int facts_parse(const char *data, size_t len, struct format_error *error,
		struct topology **ret_topology)
{
	struct yaml_tree *tree cleanup_yaml = NULL;
	struct facts facts cleanup_facts = {
		.error = error,
		.input = {TOPOLOGY_COUNT_ALL},
	};
	char sentence[FORMAT_MESSAGE_MAX];
	int err = yaml_parse_one(data, len, &YAML_LIMITS, error, &tree);

	if (!err)
		err = read_facts(&facts, tree->root);
	if (err)
		return err;
	err = topology_new(&facts.input, sentence, sizeof(sentence), ret_topology);
	if (err == -EINVAL)
		format_error_set(error, 0, 0, NULL, "%s", sentence);
	return err;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void emit_counts(struct emitter *emitter, const struct topology *topology)
{
	emit_number(emitter, "num_cpus", topology->num_cpus);
	emit_number(emitter, "num_cores", topology->num_cores);
	emit_number(emitter, "num_sockets", topology->num_sockets);
	emit_number(emitter, "num_numa", topology->num_nodes);
	emit_number(emitter, "num_uncore", topology->num_uncores);
}

static void emit_node(struct emitter *emitter, const struct topology_node *node)
{
	emit_map(emitter, NULL);
	emit_number(emitter, "id", node->id);
	emit_number(emitter, "memory", node->memory_bytes);
	emit_list(emitter, "hugepages");
	for (uint32_t i = 0; i < node->nr_hugepages; i++) {
		const struct hugepages *pages = &node->hugepages[i];
		bool known = pages->free_pages != UINT64_MAX;

		emit_row(emitter, NULL,
			 (uint64_t[]){pages->size_bytes / 1024, pages->total_pages,
				      pages->free_pages},
			 known ? 3 : 2);
	}
	emit_close(emitter);
	emit_close(emitter);
}

static void emit_distances(struct emitter *emitter, const struct topology *topology)
{
	const uint32_t nr = topology->nr_memory_nodes;
	uint64_t row[TOPOLOGY_MAX_NODES];

	emit_list(emitter, "distances");
	for (uint32_t i = 0; i < nr; i++) {
		for (uint32_t j = 0; j < nr; j++)
			row[j] = topology->distances[i * nr + j];
		emit_row(emitter, NULL, row, nr);
	}
	emit_close(emitter);
}

void facts_render(const struct topology *topology, struct text *out)
{
	struct emitter emitter;

	emit_begin(&emitter, out, EMIT_JSON);
	emit_list(&emitter, "cpus");
	cpuset_for_each (cpu, &topology->all) {
		const uint64_t row[CPU_COLUMNS] = {
			cpu,
			topology->cores.ids[topology->core_of[cpu]],
			topology->sockets.ids[topology->socket_of[cpu]],
			topology->nodes.ids[topology->node_of[cpu]],
			topology->uncores.ids[topology->uncore_of[cpu]],
		};

		emit_row(&emitter, NULL, row, CPU_COLUMNS);
	}
	emit_close(&emitter);
	emit_counts(&emitter, topology);
	emit_list(&emitter, "nodes");
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		emit_node(&emitter, &topology->memory_nodes[i]);
	emit_close(&emitter);
	if (topology->distances)
		emit_distances(&emitter, topology);
	emit_end(&emitter);
	text_append(out, "\n");
}
