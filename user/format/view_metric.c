// SPDX-License-Identifier: Apache-2.0
/* The agent's metrics: what each is, and how many series a page has. */
#include <string.h>

#include "format/metrics.h"
#include "format/object_table.h"
#include "format/view_private.h"

#define SERIES_HELP "How many series it has; without more words for the node."

struct view_metric {
	const char *name;
	enum metric_type type;
	const char *unit, *labels;
	enum metrics_level level;
	const char *series, *help;
};

static const struct field_desc metric_fields[] = {
	TEXT(view_metric, name, NULL, 0, "Name of the metric."),
	ENUM(view_metric, type, NULL, 0, "Its type.", metric_type_name, METRIC_TYPE_NR),
	TEXT(view_metric, unit, NULL, OR_NULL, "Its unit; null if it is a plain number."),
	ENUM(view_metric, level, NULL, 0, "The lowest metrics.level at which it has series.",
	     metrics_level_name, METRICS_LEVEL_NR),
	TEXT(view_metric, series, NULL, 0, SERIES_HELP),
	TEXT(view_metric, labels, NULL, OR_NULL, "Its labels, in the order of the page."),
	TEXT(view_metric, help, "meaning", 0, "What it measures, as the page says it."),
};
DESCRIBE(view_metric, metric_fields, "metric", "A metric of the agent.", .is_list = true,
	 .layout = OBJECT_TABLE);

static const char *formula_of(struct arena *arena, const struct metric *metric)
{
	char formula[METRIC_FORMULA_MAX];

	metric_formula(metric, formula);
	return arena_printf(arena, "%s", formula);
}

struct json_object *view_metrics(const char *prefix)
{
	struct arena arena cleanup_arena = {0};
	size_t nr_metrics, nr = 0;
	const struct metric *metrics = metrics_table(&nr_metrics);
	struct view_metric *rows = arena_array(&arena, nr_metrics, sizeof(*rows));

	if (!rows)
		return NULL;
	for (size_t i = 0; i < nr_metrics; i++) {
		const struct metric *metric = &metrics[i];

		if (strncmp(metric->family->name, prefix, strlen(prefix)))
			continue;
		rows[nr++] = (struct view_metric){.name = metric->family->name,
						  .type = metric->family->type,
						  .unit = metric->family->unit,
						  .labels = metric->labels,
						  .level = metric_level(metric),
						  .series = formula_of(&arena, metric),
						  .help = metric->family->help};
	}
	return view_finish(&arena, &view_metric_desc, rows, nr);
}

struct budget_row {
	const char *metric, *formula;
	uint64_t series;
};

/* A member for each of enum metric_per but the node. */
struct view_budget {
	uint64_t numa_nodes, hugepages, features, hooks, programs, maps, findings;
	uint64_t pods, exclusive_pods, containers;
	uint64_t level_node, level_pod, level_container;
	struct budget_row *metrics;
	size_t nr_metrics;
};

static const struct field_desc row_fields[] = {
	TEXT(budget_row, metric, NULL, 0, "Name of the metric."),
	COUNT(budget_row, series, NULL, 0, "Its series at the level container."),
	TEXT(budget_row, formula, NULL, 0, SERIES_HELP),
};
DESCRIBE_PART(budget_row, row_fields, .layout = OBJECT_TABLE);

static const struct field_desc budget_fields[] = {
	COUNT(view_budget, level_node, "level node", HEAD, "Series with metrics.level: node."),
	COUNT(view_budget, level_pod, "level pod", HEAD, "Series with metrics.level: pod."),
	COUNT(view_budget, level_container, "level container", HEAD,
	      "Series with metrics.level: container."),
	COUNT(view_budget, numa_nodes, "numa nodes", LINE, "NUMA nodes that were assumed."),
	COUNT(view_budget, hugepages, NULL, 0,
	      "Sizes of huge pages that were assumed, counted on each NUMA node."),
	COUNT(view_budget, pods, NULL, 0, "Pods that were assumed."),
	COUNT(view_budget, exclusive_pods, "exclusive pods", 0,
	      "Pods among them that have exclusive CPUs."),
	COUNT(view_budget, containers, NULL, 0, "Containers that were assumed, of all pods."),
	COUNT(view_budget, features, NULL, LINE, "Kernel features that the agent reports."),
	COUNT(view_budget, hooks, NULL, 0, "Hooks of the guard."),
	COUNT(view_budget, programs, NULL, 0, "BPF programs of the agent."),
	COUNT(view_budget, maps, NULL, 0, "Hash maps of these programs."),
	COUNT(view_budget, findings, NULL, 0, "Names of findings that apply at a time."),
	LIST(view_budget, metrics, budget_row, NULL, 0, "The series of each metric."),
};
DESCRIBE(view_budget, budget_fields, "budget",
	 "How many series the page of metrics has at most on a node of a given size.");

static struct budget_row *budget_rows(struct arena *arena, const uint64_t *population,
				      size_t *ret_nr)
{
	size_t nr;
	const struct metric *metrics = metrics_table(&nr);
	struct budget_row *rows = arena_array(arena, nr, sizeof(*rows));

	for (size_t i = 0; rows && i < nr; i++)
		rows[i] = (struct budget_row){
			metrics[i].family->name, formula_of(arena, &metrics[i]),
			metric_count(&metrics[i], population, METRICS_CONTAINER)};
	*ret_nr = rows ? nr : 0;
	return rows;
}

struct json_object *view_budget(const uint64_t *population)
{
	struct arena arena cleanup_arena = {0};
	const struct view_budget row = {
		.numa_nodes = population[PER_NUMA_NODE],
		.hugepages = population[PER_HUGEPAGES],
		.features = population[PER_FEATURE],
		.hooks = population[PER_HOOK],
		.programs = population[PER_PROGRAM],
		.maps = population[PER_MAP],
		.findings = population[PER_FINDING],
		.pods = population[PER_POD],
		.exclusive_pods = population[PER_EXCLUSIVE_POD],
		.containers = population[PER_CONTAINER],
		.level_node = metrics_budget(population, METRICS_NODE),
		.level_pod = metrics_budget(population, METRICS_POD),
		.level_container = metrics_budget(population, METRICS_CONTAINER),
	};
	struct view_budget *kept = arena_copy(&arena, &row, sizeof(row));

	if (!kept)
		return NULL;
	kept->metrics = budget_rows(&arena, population, &kept->nr_metrics);
	return view_finish(&arena, &view_budget_desc, kept, 1);
}
