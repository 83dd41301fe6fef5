// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
/* Both exposition formats, to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/exposition.h"

static const struct metric_family requests = {
	.name = "pinfold_things_total",
	.type = METRIC_COUNTER,
	.help = "Things, by \"kind\"\nand more.",
};
static const struct metric_family duration = {
	.name = "pinfold_wait_seconds",
	.type = METRIC_HISTOGRAM,
	.unit = "seconds",
	.help = "Waiting.",
};

static void write_all(struct text *out, bool openmetrics)
{
	static const double bounds[] = {0.001, 1};
	static const uint64_t counts[] = {2, 0, 1};
	const struct metric_histogram histogram = {bounds, 2, counts, 2500000001ULL};
	struct exposition exposition cleanup_exposition;

	exposition_init(&exposition, out, openmetrics);
	exposition_family(&exposition, &requests);
	exposition_count(&exposition, LABELS({"kind", "a\\b\"c\nd"}, {"x", "y"}),
			 18446744073709551615ULL);
	exposition_seconds(&exposition, NO_LABELS, 1500000000ULL);
	exposition_family(&exposition, &duration);
	exposition_histogram(&exposition, LABELS({"pod", "p"}), &histogram);
	exposition_finish(&exposition);
	assert_int_equal(exposition.nr_series, 7);
}

static void plain_text(void **state)
{
	struct text out cleanup_text = {0};

	write_all(&out, false);
	assert_string_equal(out.data,
			    "# HELP pinfold_things_total Things, by \"kind\"\\nand more.\n"
			    "# TYPE pinfold_things_total counter\n"
			    "pinfold_things_total{kind=\"a\\\\b\\\"c\\nd\",x=\"y\"} "
			    "18446744073709551615\n"
			    "pinfold_things_total 1.500000000\n"
			    "# HELP pinfold_wait_seconds Waiting.\n"
			    "# TYPE pinfold_wait_seconds histogram\n"
			    "pinfold_wait_seconds_bucket{pod=\"p\",le=\"0.001\"} 2\n"
			    "pinfold_wait_seconds_bucket{pod=\"p\",le=\"1\"} 2\n"
			    "pinfold_wait_seconds_bucket{pod=\"p\",le=\"+Inf\"} 3\n"
			    "pinfold_wait_seconds_sum{pod=\"p\"} 2.500000001\n"
			    "pinfold_wait_seconds_count{pod=\"p\"} 3\n");
}

static void openmetrics_text(void **state)
{
	struct text out cleanup_text = {0};

	write_all(&out, true);
	assert_non_null(strstr(out.data, "# TYPE pinfold_things counter\n"));
	assert_non_null(strstr(out.data, "# HELP pinfold_things Things, by \\\"kind\\\"\\n"));
	assert_non_null(strstr(out.data, "\npinfold_things_total 1.500000000\n"));
	assert_non_null(strstr(out.data, "# UNIT pinfold_wait_seconds seconds\n"));
	assert_string_equal(out.data + out.len - 6, "# EOF\n");
}

static const struct metric_family moves = {
	.name = "pinfold_moves_total",
	.type = METRIC_COUNTER,
	.help = "Moves.",
};

/* The labels of a row stand before those of each sample, and end with the row, a histogram and a family. */
static void rows_of_samples(void **state)
{
	static const double bounds[] = {1};
	static const uint64_t counts[] = {0, 3};
	const struct metric_histogram histogram = {bounds, 1, counts, 0};
	struct text out cleanup_text = {0};
	struct exposition exposition cleanup_exposition;

	exposition_init(&exposition, &out, false);
	exposition_family(&exposition, &moves);
	exposition_row(&exposition, LABELS({"pod", "long \"name\""}, {"container", "c"}));
	exposition_count(&exposition, LABELS({"span", "core"}), 1);
	exposition_seconds(&exposition, LABELS({"span", "numa"}), 2);
	exposition_count(&exposition, NO_LABELS, 3);
	exposition_row(&exposition, LABELS({"pod", "p"}));
	exposition_count(&exposition, NO_LABELS, 4);
	exposition_row(&exposition, NO_LABELS);
	exposition_count(&exposition, LABELS({"span", "core"}), 5);
	exposition_row(&exposition, LABELS({"pod", "p"}));
	exposition_family(&exposition, &duration);
	exposition_histogram(&exposition, LABELS({"pod", "q"}), &histogram);
	exposition_count(&exposition, NO_LABELS, 6);
	exposition_finish(&exposition);
	assert_int_equal(exposition.nr_series, 10);
	assert_string_equal(
		out.data,
		"# HELP pinfold_moves_total Moves.\n"
		"# TYPE pinfold_moves_total counter\n"
		"pinfold_moves_total{pod=\"long \\\"name\\\"\",container=\"c\",span=\"core\"} 1\n"
		"pinfold_moves_total{pod=\"long \\\"name\\\"\",container=\"c\",span=\"numa\"} "
		"0.000000002\n"
		"pinfold_moves_total{pod=\"long \\\"name\\\"\",container=\"c\"} 3\n"
		"pinfold_moves_total{pod=\"p\"} 4\n"
		"pinfold_moves_total{span=\"core\"} 5\n"
		"# HELP pinfold_wait_seconds Waiting.\n"
		"# TYPE pinfold_wait_seconds histogram\n"
		"pinfold_wait_seconds_bucket{pod=\"q\",le=\"1\"} 0\n"
		"pinfold_wait_seconds_bucket{pod=\"q\",le=\"+Inf\"} 3\n"
		"pinfold_wait_seconds_sum{pod=\"q\"} 0.000000000\n"
		"pinfold_wait_seconds_count{pod=\"q\"} 3\n"
		"pinfold_wait_seconds 6\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text),
		cmocka_unit_test(openmetrics_text),
		cmocka_unit_test(rows_of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
