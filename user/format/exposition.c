// SPDX-License-Identifier: Apache-2.0
/*
 * Exposition formats of Prometheus. The two differ in little: OpenMetrics drops
 * _total from a counter's family name, adds UNIT lines and ends with EOF.
 */
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

void exposition_fini(struct exposition *exposition)
{
	text_fini(&exposition->row);
}

/* Help text escapes backslash and newline, that of OpenMetrics the quote as well. */
static void append_help(struct text *out, const char *string, bool quote)
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

static void end_row(struct exposition *exposition)
{
	exposition->row.len = 0;
}

void exposition_family(struct exposition *exposition, const struct metric_family *family)
{
	struct text *out = exposition->out;
	int len;

	exposition->family = family;
	end_row(exposition);
	len = (int)family_name_length(exposition);
	text_printf(out, "# HELP %.*s ", len, family->name);
	append_help(out, family->help, exposition->openmetrics);
	text_printf(out, "\n# TYPE %.*s %s\n", len, family->name, type_names[family->type]);
	if (exposition->openmetrics && family->unit)
		text_printf(out, "# UNIT %.*s %s\n", len, family->name, family->unit);
}

/* --- samples ------------------------------------------------------------------------------------- */

/*
 * A page of a node full of containers has some 20,000 samples, and printf took half of its time. So a
 * sample asks for room once, its pieces are copied and its numbers formatted here, and what the samples
 * of a row have in common is put together once.
 */

/* 18446744073709551615, and a line's blank and end; as seconds, of which the point makes one more. */
#define NUMBER_MAX 24
/* {…,le="…"} */
#define BOUND_ROOM (EXPOSITION_BOUND_MAX + 8)

/* Each byte of a value may be escaped, and a label has four bytes around its name and value. */
static size_t labels_room(const struct metric_label *labels)
{
	size_t room = 0;

	for (; labels->name; labels++)
		room += strlen(labels->name) + 2 * strlen(labels->value) + 4;
	return room;
}

static char *put(char *to, const char *string)
{
	return stpcpy(to, string);
}

static char *put_value(char *to, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			*to++ = '\\';
		*to++ = *value == '\n' ? 'n' : *value;
	}
	return to;
}

static char *put_number(char *to, uint64_t number)
{
	char digits[20];
	unsigned int nr = 0;

	do
		digits[nr++] = (char)('0' + number % 10);
	while (number /= 10);
	while (nr)
		*to++ = digits[--nr];
	return to;
}

/* With nine digits behind the point. */
static char *put_seconds(char *to, uint64_t nanoseconds)
{
	uint32_t rest = (uint32_t)(nanoseconds % 1000000000);

	to = put_number(to, nanoseconds / 1000000000);
	*to++ = '.';
	for (int i = 8; i >= 0; i--, rest /= 10)
		to[i] = (char)('0' + rest % 10);
	return to + 9;
}

static char *put_label(char *to, const char *name, const char *value)
{
	to = put(to, name);
	*to++ = '=';
	*to++ = '"';
	to = put_value(to, value);
	*to++ = '"';
	*to++ = ',';
	return to;
}

static char *put_labels(char *to, const struct metric_label *labels)
{
	for (; labels->name; labels++)
		to = put_label(to, labels->name, labels->value);
	return to;
}

void exposition_row(struct exposition *exposition, const struct metric_label *labels)
{
	struct text *row = &exposition->row;
	char *to;

	end_row(exposition);
	to = text_begin(row, labels_room(labels));
	if (to)
		text_end(row, put_labels(to, labels));
	else
		exposition->out->error = row->error;
}

/* `bound` NULL = the sample is not a bucket. */
static void write_sample(struct exposition *exposition, const char *suffix,
			 const struct metric_label *labels, const char *bound,
			 char *(*put_it)(char *to, uint64_t number), uint64_t number)
{
	const struct text *row = &exposition->row;
	const char *name = exposition->family->name;
	const size_t room = strlen(name) + strlen(suffix) + row->len + labels_room(labels) +
			    BOUND_ROOM + NUMBER_MAX;
	char *begin, *to = text_begin(exposition->out, room);

	exposition->nr_series++;
	if (!to)
		return;
	to = put(to, name);
	to = put(to, suffix);
	begin = to;
	*to++ = '{';
	if (row->len)
		to = mempcpy(to, row->data, row->len);
	to = put_labels(to, labels);
	if (bound)
		to = put_label(to, "le", bound);
	/* There is a comma behind each label. */
	if (to == begin + 1)
		to = begin;
	else
		to[-1] = '}';
	*to++ = ' ';
	to = put_it(to, number);
	*to++ = '\n';
	text_end(exposition->out, to);
}

void exposition_count(struct exposition *exposition, const struct metric_label *labels,
		      uint64_t value)
{
	write_sample(exposition, "", labels, NULL, put_number, value);
}

void exposition_seconds(struct exposition *exposition, const struct metric_label *labels,
			uint64_t nanoseconds)
{
	write_sample(exposition, "", labels, NULL, put_seconds, nanoseconds);
}

/* --- histograms ---------------------------------------------------------------------------------- */

/* The histograms of a family have the same bounds, so a bound is formatted for the first one. */
static const char *bound_text(struct exposition *exposition, uint32_t index, double bound)
{
	struct exposition_bound *kept = &exposition->bounds[index % EXPOSITION_BOUNDS];

	if (!*kept->text || kept->bound < bound || kept->bound > bound) {
		/* as many digits as a power of two has that is up to 2^30 ns */
		snprintf(kept->text, sizeof(kept->text), "%.10g", bound);
		kept->bound = bound;
	}
	return kept->text;
}

void exposition_histogram(struct exposition *exposition, const struct metric_label *labels,
			  const struct metric_histogram *histogram)
{
	uint64_t total = 0;

	exposition_row(exposition, labels);
	for (uint32_t i = 0; i < histogram->nr_bounds; i++) {
		total += histogram->counts[i];
		write_sample(exposition, "_bucket", NO_LABELS,
			     bound_text(exposition, i, histogram->bounds[i]), put_number, total);
	}
	total += histogram->counts[histogram->nr_bounds];
	write_sample(exposition, "_bucket", NO_LABELS, "+Inf", put_number, total);
	write_sample(exposition, "_sum", NO_LABELS, NULL, put_seconds, histogram->sum_ns);
	write_sample(exposition, "_count", NO_LABELS, NULL, put_number, total);
	end_row(exposition);
}

void exposition_finish(struct exposition *exposition)
{
	if (exposition->openmetrics)
		text_append(exposition->out, "# EOF\n");
}
