/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of the agent as data: what each is, and how many series it has on a node of a given
 * size. The page itself is written elsewhere, from the same list (metric_list.h).
 */
#ifndef FORMAT_METRICS_H
#define FORMAT_METRICS_H

#include "format/config.h"
#include "format/exposition.h"

/* What a metric may have series for. */
enum metric_per {
	PER_NODE,
	PER_NUMA_NODE,
	PER_HUGEPAGES, /* sizes of huge pages, counted on each NUMA node that has some */
	PER_FEATURE,   /* of the kernel, as `pinfold feature` lists them */
	PER_HOOK,      /* of the guard */
	PER_PROGRAM,   /* BPF programs, as `pinfold prog` lists them */
	PER_MAP,       /* hash maps of the BPF programs, as `pinfold prog maps` lists them */
	PER_FINDING,   /* names of findings that apply */
	PER_POD,
	PER_EXCLUSIVE_POD, /* pods with exclusive CPUs, which are counted as pods too */
	PER_CONTAINER,
	PER_NR
};

/* The family of each metric, by its first word in the list, for those who write the page. */
#define METRIC(variable, ...) struct metric_family variable;
struct metric_families {
#include "format/metric_list.h"
};
#undef METRIC
extern const struct metric_families metric_families;

struct metric {
	const struct metric_family *family;
	const char *labels; /* in the page's order, with ", " between them; NULL = none */
	uint32_t series[PER_NR];
};

/* All metrics, in the order of the page. */
const struct metric *metrics_table(size_t *ret_nr);

/*
 * The most series that the metric has at this level. A page has fewer where a value cannot be read.
 * `population`: PER_NR numbers, how many of each a node has; one of PER_NODE.
 */
uint64_t metric_count(const struct metric *metric, const uint64_t *population,
		      enum metrics_level level);
/* The same of all metrics together. */
uint64_t metrics_budget(const uint64_t *population, enum metrics_level level);
/* The lowest level at which the metric has series. */
enum metrics_level metric_level(const struct metric *metric);

#define METRIC_FORMULA_MAX 64
/* "4 per NUMA node", "1 per pod + 1 per container"; what is per node is a plain number. */
void metric_formula(const struct metric *metric, char ret_text[METRIC_FORMULA_MAX]);

#endif
