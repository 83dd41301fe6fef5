// SPDX-License-Identifier: Apache-2.0
/* The list of metrics, and the arithmetic of their series. */
#include <stdio.h>

#include "format/metrics.h"

#define METRIC(variable, metric, kind, unit_name, label_names, text, ...) \
	.variable = {metric, METRIC_##kind, unit_name, text},
const struct metric_families metric_families = {
#include "format/metric_list.h"
};
#undef METRIC

#define METRIC(variable, metric, kind, unit_name, label_names, text, ...) \
	{&metric_families.variable, label_names, {__VA_ARGS__}},
static const struct metric table[] = {
#include "format/metric_list.h"
};
#undef METRIC

static const struct {
	const char *name; /* behind "per" */
	enum metrics_level level;
} things[PER_NR] = {
	[PER_NODE] = {"node", METRICS_NODE},
	[PER_NUMA_NODE] = {"NUMA node", METRICS_NODE},
	[PER_HUGEPAGES] = {"size of huge pages", METRICS_NODE},
	[PER_FEATURE] = {"feature", METRICS_NODE},
	[PER_HOOK] = {"hook", METRICS_NODE},
	[PER_PROGRAM] = {"program", METRICS_NODE},
	[PER_MAP] = {"map", METRICS_NODE},
	[PER_FINDING] = {"finding", METRICS_NODE},
	[PER_POD] = {"pod", METRICS_POD},
	[PER_EXCLUSIVE_POD] = {"exclusive pod", METRICS_POD},
	[PER_CONTAINER] = {"container", METRICS_CONTAINER},
};

const struct metric *metrics_table(size_t *ret_nr)
{
	*ret_nr = ARRAY_SIZE(table);
	return table;
}

uint64_t metric_count(const struct metric *metric, const uint64_t *population,
		      enum metrics_level level)
{
	uint64_t count = 0;

	for (size_t per = 0; per < PER_NR; per++)
		if (things[per].level <= level)
			count += metric->series[per] * population[per];
	return count;
}

uint64_t metrics_budget(const uint64_t *population, enum metrics_level level)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		sum += metric_count(&table[i], population, level);
	return sum;
}

enum metrics_level metric_level(const struct metric *metric)
{
	enum metrics_level lowest = METRICS_CONTAINER;

	for (size_t per = 0; per < PER_NR; per++)
		if (metric->series[per] && things[per].level < lowest)
			lowest = things[per].level;
	return lowest;
}

void metric_formula(const struct metric *metric, char ret_text[METRIC_FORMULA_MAX])
{
	const char *separator = "";
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t per = 0; per < PER_NR && used < METRIC_FORMULA_MAX; per++) {
		if (!metric->series[per])
			continue;
		used += (size_t)snprintf(ret_text + used, METRIC_FORMULA_MAX - used, "%s%u%s%s",
					 separator, metric->series[per],
					 per == PER_NODE ? "" : " per ",
					 per == PER_NODE ? "" : things[per].name);
		separator = " + ";
	}
}
