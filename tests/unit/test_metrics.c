// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/*
 * The list of metrics says of each what the recorded pages show: its order, its labels, and how
 * many series it has; and the table of docs/metrics.md is made of it. test_metrics_page compares these pages with the agent's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../lib/golden.h"
#include "format/metrics.h"
#include "lib/text.h"

/* The node of page.prom, counted by hand in test_metrics_page.c. */
static const uint64_t recorded[PER_NR] = {
	[PER_HUGEPAGES] = 1, [PER_NODE] = 1,	      [PER_NUMA_NODE] = 2, [PER_FEATURE] = 3,
	[PER_HOOK] = 2,	     [PER_PROGRAM] = 4,	      [PER_MAP] = 1,	   [PER_FINDING] = 2,
	[PER_POD] = 4,	     [PER_EXCLUSIVE_POD] = 2, [PER_CONTAINER] = 6,
};

static char *read_page(const char *path)
{
	size_t len;

	return data_read(path, &len);
}

/* Does this line have a sample of the metric? A histogram's have suffixes. */
static bool is_sample_of(const char *line, const struct metric *metric)
{
	static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
	size_t len = strlen(metric->family->name);

	if (strncmp(line, metric->family->name, len))
		return false;
	for (size_t i = 0; metric->family->type == METRIC_HISTOGRAM && i < ARRAY_SIZE(suffixes);
	     i++)
		if (!strncmp(line + len, suffixes[i], strlen(suffixes[i])))
			return true;
	return line[len] == '{' || line[len] == ' ';
}

static uint64_t count_samples(const char *page, const struct metric *metric)
{
	uint64_t count = 0;

	for (const char *line = page; *line; line = strchrnul(line, '\n') + 1)
		count += is_sample_of(line, metric);
	return count;
}

/* What the page says of itself. */
static uint64_t told_series(const char *page)
{
	static const char name[] = "pinfold_scrape_series ";

	for (const char *line = page; *line; line = strchrnul(line, '\n') + 1)
		if (!strncmp(line, name, strlen(name)))
			return strtoull(line + strlen(name), NULL, 10);
	return 0;
}

static void each_metric_has_the_series_of_the_page(void **state)
{
	char *page = read_page("tests/data/metrics/page.prom");
	uint64_t all = 0;
	size_t nr;
	const struct metric *metrics = metrics_table(&nr);

	for (size_t i = 0; i < nr; i++) {
		uint64_t count = count_samples(page, &metrics[i]);

		if (count != metric_count(&metrics[i], recorded, METRICS_CONTAINER))
			fail_msg("%s has %ju series", metrics[i].family->name, (uintmax_t)count);
		all += count;
	}
	assert_int_equal(metrics_budget(recorded, METRICS_CONTAINER), all);
	assert_int_equal(all, told_series(page));
	free(page);
}

/* Its agent has no BPF programs, so some metrics are missing, and it stops at the level of pods. */
static void a_level_leaves_series_out(void **state)
{
	static const uint64_t small[PER_NR] = {
		[PER_HUGEPAGES] = 1, [PER_NODE] = 1, [PER_NUMA_NODE] = 2,
		[PER_FINDING] = 1,   [PER_POD] = 1,  [PER_CONTAINER] = 1,
	};
	char *page = read_page("tests/data/metrics/no-bpf.prom");
	size_t nr, nr_found = 0;
	const struct metric *metrics = metrics_table(&nr);

	for (size_t i = 0; i < nr; i++) {
		uint64_t count = count_samples(page, &metrics[i]);

		if (metric_level(&metrics[i]) == METRICS_CONTAINER)
			assert_int_equal(count, 0);
		if (!count)
			continue;
		nr_found++;
		assert_int_equal(count, metric_count(&metrics[i], small, METRICS_POD));
	}
	assert_true(nr_found > 10);
	free(page);
}

/* The line's labels without their values: "namespace, pod". A bucket's bound is no label of ours. */
static void labels_of_line(const char *line, struct text *text)
{
	const char *end = strchrnul(line, '\n'), *at = strchr(line, '{');

	while (at && at < end) {
		const char *name = at + 1, *equals = strchr(name, '=');

		if (strncmp(name, "le=", 3)) {
			text_append(text, text->len ? ", " : "");
			text_append_len(text, name, (size_t)(equals - name));
		}
		/* no recorded value has a quote in it */
		at = strchr(equals + 2, '"') + 1;
		if (*at != ',')
			break;
	}
}

static void labels_are_those_of_the_page(void **state)
{
	char *page = read_page("tests/data/metrics/page.prom");
	size_t nr;
	const struct metric *metrics = metrics_table(&nr);

	for (size_t i = 0; i < nr; i++)
		for (const char *line = page; *line; line = strchrnul(line, '\n') + 1) {
			struct text labels cleanup_text = {0};

			if (!is_sample_of(line, &metrics[i]))
				continue;
			labels_of_line(line, &labels);
			assert_string_equal(labels.data ? labels.data : "",
					    metrics[i].labels ? metrics[i].labels : "");
		}
	free(page);
}

static void the_order_is_that_of_the_page(void **state)
{
	char *page = read_page("tests/data/metrics/page.prom"), line[128];
	const char *last = page;
	size_t nr;
	const struct metric *metrics = metrics_table(&nr);

	for (size_t i = 0; i < nr; i++) {
		const char *found;

		snprintf(line, sizeof(line), "# TYPE %s %s\n", metrics[i].family->name,
			 metric_type_name(metrics[i].family->type));
		found = strstr(page, line);
		assert_non_null(found);
		assert_true(found > last);
		last = found;
	}
	free(page);
}

static void formulas_can_be_read(void **state)
{
	static const struct {
		uint32_t series[PER_NR];
		const char *formula;
	} rows[] = {
		{{[PER_NODE] = 6}, "6"},
		{{[PER_NUMA_NODE] = 4}, "4 per NUMA node"},
		{{[PER_POD] = 1, [PER_CONTAINER] = 2}, "1 per pod + 2 per container"},
		{{0}, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct metric metric = {.labels = NULL};
		char formula[METRIC_FORMULA_MAX];

		memcpy(metric.series, rows[i].series, sizeof(metric.series));
		metric_formula(&metric, formula);
		assert_string_equal(formula, rows[i].formula);
	}
}

/* --- docs/metrics.md ------------------------------------------------------------------------ */

#define TABLE_BEGIN "<!-- table -->\n"
#define TABLE_END   "<!-- end of the table -->\n"

static void write_table(struct text *text)
{
	size_t nr;
	const struct metric *metrics = metrics_table(&nr);

	text_append(text,
		    "| name | type | labels | unit | meaning |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < nr; i++) {
		const struct metric_family *family = metrics[i].family;

		/* a column's end would be read in it */
		assert_null(strchr(family->help, '|'));
		text_printf(text, "| `%s` | %s | %s%s| %s%s| %s |\n", family->name,
			    metric_type_name(family->type),
			    metrics[i].labels ? metrics[i].labels : "",
			    metrics[i].labels ? " " : "", family->unit ? family->unit : "",
			    family->unit ? " " : "", family->help);
	}
}

/* The rest of the page is written by hand. */
static void the_reference_has_the_table_of_the_list(void **state)
{
	char *read = read_page("docs/metrics.md");
	struct text page cleanup_text = {0}, text cleanup_text = {0};
	const char *begin, *end;

	text_append(&page, read);
	free(read);
	assert_int_equal(page.error, 0);
	begin = strstr(page.data, TABLE_BEGIN);
	end = strstr(page.data, TABLE_END);
	assert_non_null(begin);
	assert_true(end > begin);
	begin += strlen(TABLE_BEGIN);
	text_append_len(&text, page.data, (size_t)(begin - page.data));
	write_table(&text);
	text_append(&text, end);
	assert_int_equal(text.error, 0);
	golden_compare("docs/metrics.md", text.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_metric_has_the_series_of_the_page),
		cmocka_unit_test(a_level_leaves_series_out),
		cmocka_unit_test(labels_are_those_of_the_page),
		cmocka_unit_test(the_order_is_that_of_the_page),
		cmocka_unit_test(formulas_can_be_read),
		cmocka_unit_test(the_reference_has_the_table_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
