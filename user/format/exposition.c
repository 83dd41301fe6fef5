// SPDX-License-Identifier: Apache-2.0
/*
 * Exposition formats of Prometheus. The two differ in little: OpenMetrics drops
 * _total from a counter's family name, adds UNIT lines and ends with EOF.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/exposition.h"

static const char *const type_names[] = {
	[METRIC_GAUGE] = "gauge",
	[METRIC_COUNTER] = "counter",
	[METRIC_HISTOGRAM] = "histogram",
};
_Static_assert(ARRAY_SIZE(type_names) == METRIC_TYPE_NR, "a name for each metric type");

const char *metric_type_name(enum metric_type type)
{
	return type_names[type];
}

void exposition_init(struct exposition *exposition, struct text *out, bool openmetrics)
{
	*exposition = (struct exposition){.out = out, .openmetrics = openmetrics};
}

/* Help text escapes backslash and newline; label values the quote as well. */
static void append_escaped(struct text *out, const char *string, bool quote)
{
	const char *special = quote ? "\\\n\"" : "\\\n";

	for (;;) {
		size_t len = strcspn(string, special);

		text_append_len(out, string, len);
		string += len;
		if (!*string)
			return;
		if (*string == '\\')
			text_append(out, "\\\\");
		else
			text_append(out, *string == '\n' ? "\\n" : "\\\"");
		string++;
	}
}

static size_t family_name_length(const struct exposition *exposition)
{
	size_t len = strlen(exposition->family->name);

	if (exposition->openmetrics && exposition->family->type == METRIC_COUNTER && len > 6 &&
	    !strcmp(exposition->family->name + len - 6, "_total"))
		return len - 6;
	return len;
}

void exposition_family(struct exposition *exposition, const struct metric_family *family)
{
	struct text *out = exposition->out;
	int len;

	exposition->family = family;
	len = (int)family_name_length(exposition);
	text_printf(out, "# HELP %.*s ", len, family->name);
	append_escaped(out, family->help, exposition->openmetrics);
	text_printf(out, "\n# TYPE %.*s %s\n", len, family->name, type_names[family->type]);
	if (exposition->openmetrics && family->unit)
		text_printf(out, "# UNIT %.*s %s\n", len, family->name, family->unit);
}

static void begin_sample(struct exposition *exposition, const char *suffix,
			 const struct metric_label *labels, const char *bound)
{
	struct text *out = exposition->out;
	const char *separator = "{";

	text_append(out, exposition->family->name);
	text_append(out, suffix);
	for (; labels->name; labels++) {
		text_append(out, separator);
		text_append(out, labels->name);
		text_append(out, "=\"");
		append_escaped(out, labels->value, true);
		text_append(out, "\"");
		separator = ",";
	}
	if (bound) {
		text_printf(out, "%sle=\"%s\"", separator, bound);
		separator = ",";
	}
	text_append(out, *separator == ',' ? "} " : " ");
	exposition->nr_series++;
}

static void append_seconds(struct text *out, uint64_t nanoseconds)
{
	text_printf(out, "%" PRIu64 ".%09" PRIu64 "\n", nanoseconds / 1000000000,
		    nanoseconds % 1000000000);
}

void exposition_count(struct exposition *exposition, const struct metric_label *labels,
		      uint64_t value)
{
	begin_sample(exposition, "", labels, NULL);
	text_printf(exposition->out, "%" PRIu64 "\n", value);
}

void exposition_seconds(struct exposition *exposition, const struct metric_label *labels,
			uint64_t nanoseconds)
{
	begin_sample(exposition, "", labels, NULL);
	append_seconds(exposition->out, nanoseconds);
}

void exposition_histogram(struct exposition *exposition, const struct metric_label *labels,
			  const struct metric_histogram *histogram)
{
	uint64_t total = 0;
	char bound[32];

	for (uint32_t i = 0; i < histogram->nr_bounds; i++) {
		total += histogram->counts[i];
		/* as many digits as a power of two has that is up to 2^30 ns */
		snprintf(bound, sizeof(bound), "%.10g", histogram->bounds[i]);
		begin_sample(exposition, "_bucket", labels, bound);
		text_printf(exposition->out, "%" PRIu64 "\n", total);
	}
	total += histogram->counts[histogram->nr_bounds];
	begin_sample(exposition, "_bucket", labels, "+Inf");
	text_printf(exposition->out, "%" PRIu64 "\n", total);
	begin_sample(exposition, "_sum", labels, NULL);
	append_seconds(exposition->out, histogram->sum_ns);
	begin_sample(exposition, "_count", labels, NULL);
	text_printf(exposition->out, "%" PRIu64 "\n", total);
}

void exposition_finish(struct exposition *exposition)
{
	if (exposition->openmetrics)
		text_append(exposition->out, "# EOF\n");
}
