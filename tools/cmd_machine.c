// SPDX-License-Identifier: Apache-2.0
/* node, cpu and numa: the machine, and whom its CPUs and memory are for. */
#include <errno.h>
#include <string.h>

#include "core/cpuset.h"
#include "inspect.h"
#include "terminal.h"

/* --- node ------------------------------------------------------------------------------------- */

static int node_show(struct session *session, int argc, char **argv)
{
	struct json_object *node = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "node", &node);
	return r ? r : out_object(session, &view_node_desc, node);
}

/* A script that checks a node needs to tell "no" from "unknown", whatever the cause. */
#define CHECK_UNKNOWN 2

/*
 * An agent that only observes or compares has promised nothing that could fail to be in force: if
 * it is not ready, it has not read everything, so its list of findings may be incomplete.
 */
static int judge_node(const struct view_node *node)
{
	if (!node->ready &&
	    (is_same_text(node->mode, "observe") || is_same_text(node->mode, "guard")))
		return CHECK_UNKNOWN;
	return node->nr_findings || !node->ready ? STATUS_FINDING : STATUS_DONE;
}

static int node_check(struct session *session, int argc, char **argv)
{
	struct json_object *node = NULL;
	struct view_node row;
	int r, status;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "node", &node);
	if (r)
		return CHECK_UNKNOWN;
	object_read(&view_node_desc, node, &row);
	status = judge_node(&row);
	r = out_object(session, &view_node_desc, node);
	return r ? CHECK_UNKNOWN : status;
}

static const struct command node_commands[] = {
	{"show", "list", "", "Show the machine, its pools, the mode, and the tiers in force.",
	 node_show},
	{"check", NULL, "",
	 "Show the same; exit with 1 if there is a finding, or with 2 if "
	 "that is unknown.",
	 node_check},
	{0},
};

const struct noun noun_node = {
	.name = "node",
	.help = "The machine, its pools, its mode and its health.",
	.commands = node_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- cpu -------------------------------------------------------------------------------------- */

static bool cpu_wanted(struct json_object *item, const void *data)
{
	struct view_cpu cpu;

	object_read(&view_cpu_desc, item, &cpu);
	return cpu.cpu < CPUSET_MAX && cpuset_has(data, cpu.cpu);
}

/* Every asked CPU must exist: a typing error would else look like an empty answer. */
static int select_cpus(struct session *session, const char *word, struct json_object *all,
		       struct json_object **ret_some)
{
	struct json_object *some cleanup_json = NULL;
	struct cpuset wanted;
	int r;

	r = ref_parse_cpus(session, word, &wanted);
	if (r)
		return r;
	some = json_filter(all, cpu_wanted, &wanted);
	if (!some)
		return out_no_memory(session);
	if (json_object_array_length(some) != cpuset_count(&wanted))
		return out_fail(session, STATUS_INPUT,
				"invalid CPU list '%.60s': this machine does not have all of "
				"these CPUs",
				word);
	*ret_some = TAKE_PTR(some);
	return STATUS_DONE;
}

static int cpu_show(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL;
	struct json_object *some = NULL;
	int r;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	r = fetch_noun(session, "cpu", &all);
	if (r || !argc)
		return r ? r : out_object(session, &view_cpu_desc, TAKE_PTR(all));
	r = select_cpus(session, argv[0], all, &some);
	return r ? r : out_object(session, &view_cpu_desc, some);
}

static int cpu_owner(struct session *session, int argc, char **argv)
{
	if (!argc)
		return out_fail(session, STATUS_USAGE,
				"a CPU list is missing; write e.g. 'cpu owner 2-5'");
	return cpu_show(session, argc, argv);
}

static int cpu_map(struct session *session, int argc, char **argv)
{
	struct json_object *cpus cleanup_json = NULL, *uses cleanup_json = NULL;
	struct map_request request = {.is_coloured = !session->options.json &&
						     terminal_has_colours()};
	struct text text cleanup_text = {0};
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "cpu", &cpus);
	if (!r)
		r = source_add(session, "cpu_use", &uses);
	if (r)
		return r;
	request.cpus = cpus;
	request.uses = uses;
	r = map_draw(&request, &text);
	if (r == -EPROTO)
		return out_fail(session, STATUS_FAILED, "the list of CPUs is invalid");
	if (r)
		return out_no_memory(session);
	return out_text(session, "map", text.data);
}

static const struct command cpu_commands[] = {
	{"show", "list", "[CPUS]", "Show each CPU with its location, its use and its owner.",
	 cpu_show},
	{"owner", NULL, "CPUS", "Show who holds these CPUs.", cpu_owner},
	{"map", NULL, "",
	 "Draw the machine on one screen: who may use each CPU, and how "
	 "much containers use it.",
	 cpu_map},
	{0},
};

const struct noun noun_cpu = {
	.name = "cpu",
	.help = "CPUs, their locations and their owners.",
	.commands = cpu_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- numa ------------------------------------------------------------------------------------- */

static bool numa_wanted(struct json_object *item, const void *data)
{
	struct view_numa row;

	object_read(&view_numa_desc, item, &row);
	return row.numa == *(const uint32_t *)data;
}

/* The node must exist, as above. */
static int select_node(struct session *session, const char *word, struct json_object *all,
		       struct json_object **ret_some)
{
	struct json_object *some;
	struct cpuset wanted;
	uint32_t id;

	/* An id as in a list of nodes, of which there is one. */
	if (cpuset_parse(word, strlen(word), &wanted) || cpuset_count(&wanted) != 1 ||
	    strpbrk(word, ",-"))
		return out_fail(
			session, STATUS_USAGE,
			"invalid NUMA node '%.60s': expected its number, e.g. 'numa show 1'", word);
	id = cpuset_next(&wanted, 0);
	some = json_filter(all, numa_wanted, &id);
	if (!some)
		return out_no_memory(session);
	*ret_some = some;
	if (!json_object_array_length(some)) {
		json_object_put(some);
		return out_fail(session, STATUS_INPUT,
				"this machine has no NUMA node %u; see 'pinfold numa show'", id);
	}
	return STATUS_DONE;
}

static int numa_show(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL;
	struct json_object *some = NULL;
	int r;

	if (argc > 1)
		return unexpected(session, argv[1], "no more arguments");
	r = fetch_noun(session, "numa", &all);
	if (r || !argc)
		return r ? r : out_object(session, &view_numa_desc, TAKE_PTR(all));
	r = select_node(session, argv[0], all, &some);
	return r ? r : out_object(session, &view_numa_desc, some);
}

/* A line for each node, as numactl --hardware draws it. */
static void draw_distances(struct json_object *nodes, struct text *text)
{
	const size_t nr = json_object_array_length(nodes);
	struct view_numa_distance to;
	struct view_numa row;

	text_printf(text, "numa");
	for (size_t i = 0; i < nr; i++) {
		object_read(&view_numa_desc, json_object_array_get_idx(nodes, i), &row);
		text_printf(text, " %4u", row.numa);
	}
	for (size_t i = 0; i < nr; i++) {
		struct json_object *node = json_object_array_get_idx(nodes, i);
		struct json_object *list =
			object_list(&view_numa_desc, node, &view_numa_distance_desc);
		const size_t nr_known = list ? json_object_array_length(list) : 0;

		object_read(&view_numa_desc, node, &row);
		text_printf(text, "\n%4u", row.numa);
		for (size_t j = 0; j < nr; j++) {
			if (j >= nr_known) {
				text_append(text, "    -");
				continue;
			}
			object_read(&view_numa_distance_desc, json_object_array_get_idx(list, j),
				    &to);
			text_printf(text, " %4u", to.distance);
		}
	}
	text_printf(text, "\n");
}

static bool has_distances(struct json_object *nodes)
{
	struct json_object *first = json_object_array_get_idx(nodes, 0);
	struct json_object *list =
		first ? object_list(&view_numa_desc, first, &view_numa_distance_desc) : NULL;

	return list && json_object_array_length(list);
}

static int numa_distance(struct session *session, int argc, char **argv)
{
	struct json_object *nodes cleanup_json = NULL;
	struct text text cleanup_text = {0};
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "numa", &nodes);
	if (r)
		return r;
	if (session->options.json)
		return out_object(session, &view_numa_desc, TAKE_PTR(nodes));
	if (!has_distances(nodes))
		return out_fail(
			session, STATUS_FAILED,
			"the distances between NUMA nodes are not known: the firmware has no "
			"table of them, or the topology was described without it");
	draw_distances(nodes, &text);
	if (text.error)
		return out_no_memory(session);
	return out_text(session, "distances", text.data); /* key: of a text, which has no table */
}

static const struct command numa_commands[] = {
	{"show", "list", "[NODE]",
	 "Show each NUMA node with its CPUs, its memory and its containers, and how long tasks wait.",
	 numa_show},
	{"distance", NULL, "", "Draw how far the nodes are from each other.", numa_distance},
	{0},
};

const struct noun noun_numa = {
	.name = "numa",
	.help = "The NUMA nodes, their CPUs, their memory and their distances.",
	.commands = numa_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};
