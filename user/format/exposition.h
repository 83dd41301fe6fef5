/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text a Prometheus server reads: exposition format 0.0.4 and OpenMetrics
 * 1.0, from the same calls. Pure text building: names and values come from the
 * caller, a family is opened once and its samples follow.
 */
#ifndef FORMAT_EXPOSITION_H
#define FORMAT_EXPOSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM, METRIC_TYPE_NR };

/* As a page's line TYPE has it. */
const char *metric_type_name(enum metric_type type);

/* What one family is; `name` of a counter ends in _total, `unit` is its plural suffix or NULL. */
struct metric_family {
	const char *name;
	enum metric_type type;
	const char *unit;
	const char *help;
};

#define EXPOSITION_BOUNDS    32
#define EXPOSITION_BOUND_MAX 32

/* The bound of a histogram's bucket, and how it was written last. */
struct exposition_bound {
	double bound;
	char text[EXPOSITION_BOUND_MAX]; /* "" = not yet */
};

struct exposition {
	struct text *out; /* borrowed; errors stick there */
	bool openmetrics;
	const struct metric_family *family;
	struct text row; /* owned: the labels of the row, as they stand in a line, without braces */
	uint64_t nr_series;
	struct exposition_bound bounds[EXPOSITION_BOUNDS]; /* by bucket, modulo */
};

struct metric_label {
	const char *name, *value;
};

#define LABELS(...) ((const struct metric_label[]){__VA_ARGS__, {NULL, NULL}})
#define NO_LABELS   ((const struct metric_label[]){{NULL, NULL}})

/* Begin a page in `out`, which is borrowed until exposition_fini(). */
void exposition_init(struct exposition *exposition, struct text *out, bool openmetrics);
void exposition_fini(struct exposition *exposition);
#define cleanup_exposition cleanup(exposition_fini)
/* HELP, TYPE (and UNIT): once per family, before its samples; `family` outlives them. Ends the row. */
void exposition_family(struct exposition *exposition, const struct metric_family *family);
/*
 * Begin a row: samples that differ in their last labels only. Until the next row or family, each has
 * these labels before its own.
 */
void exposition_row(struct exposition *exposition, const struct metric_label *labels);
/* Labels end with a NULL name; values are escaped here. Exact for counts beyond 2^53. */
void exposition_count(struct exposition *exposition, const struct metric_label *labels,
		      uint64_t value);
/* Nanoseconds as seconds without losing digits. */
void exposition_seconds(struct exposition *exposition, const struct metric_label *labels,
			uint64_t nanoseconds);

/* A histogram in seconds: bounds ascending, +Inf is implied; counts are per bucket. */
struct metric_histogram {
	const double *bounds;
	uint32_t nr_bounds;
	const uint64_t *counts; /* [nr_bounds + 1] */
	uint64_t sum_ns;
};
/* The buckets, cumulated here, and the sum and the count of the family; a row of its own. */
void exposition_histogram(struct exposition *exposition, const struct metric_label *labels,
			  const struct metric_histogram *histogram);
/* OpenMetrics ends with "# EOF". */
void exposition_finish(struct exposition *exposition);

#define EXPOSITION_TYPE_TEXT	    "text/plain; version=0.0.4; charset=utf-8"
#define EXPOSITION_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

#endif
