// SPDX-License-Identifier: Apache-2.0
/*
 * pressure history: the last 10 minutes or 24 hours of one pod or container, as a table and, below
 * it, a line for each resource in which the height of a character is the largest share of its time.
 */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"

#define COLUMNS	  60
#define LEVELS	  8
#define SECOND_NS 1000000000ULL

/* --- drawing ------------------------------------------------------------------------------------- */

/* Can the terminal show other characters than ASCII? */
static bool is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", NULL);
	bool answer;

	if (!locale)
		return false;
	answer = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return answer;
}

/* The span in columns of equal length, which ends with the newest sample or gap. */
struct axis {
	uint64_t begin_ns, column_ns;
};

static struct axis axis_of(struct json_object *samples, enum pressure_span span)
{
	const uint64_t length_ns = (span == PRESSURE_SPAN_10M ? 600 : 86400) * SECOND_NS;
	struct view_history_sample newest;

	object_read(&view_history_sample_desc,
		    json_object_array_get_idx(samples, json_object_array_length(samples) - 1),
		    &newest);
	return (struct axis){newest.time_ns - length_ns, length_ns / COLUMNS};
}

/* The largest share of each column; -1 = nothing is known of it. Returns the largest of all. */
static double largest_shares(struct json_object *samples, const struct axis *axis,
			     enum pressure_kind kind, double ret_shares[COLUMNS])
{
	double largest = -1;

	for (int i = 0; i < COLUMNS; i++)
		ret_shares[i] = -1;
	for (size_t i = 0; i < json_object_array_length(samples); i++) {
		struct view_history_sample sample;
		uint64_t column;
		double share;

		object_read(&view_history_sample_desc, json_object_array_get_idx(samples, i),
			    &sample);
		if (sample.pressure_length_ns <= 0 || sample.time_ns <= axis->begin_ns)
			continue;
		column = (sample.time_ns - axis->begin_ns - 1) / axis->column_ns;
		if (column >= COLUMNS)
			continue;
		share = (double)sample.waited_ns[kind] / (double)sample.pressure_length_ns;
		if (share > 1)
			share = 1;
		if (share > ret_shares[column])
			ret_shares[column] = share;
		if (share > largest)
			largest = share;
	}
	return largest;
}

static const char *character_of(double share, bool utf8)
{
	static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	const int level = share < 1 ? (int)(share * LEVELS) : LEVELS - 1;

	if (share < 0)
		return " ";
	return utf8 ? blocks[level] : ascii[level];
}

static void draw_line(struct json_object *samples, const struct axis *axis, const char *resource,
		      enum pressure_kind kind, struct text *text)
{
	const bool utf8 = is_utf8();
	double shares[COLUMNS];
	const double largest = largest_shares(samples, axis, kind, shares);

	text_printf(text, "%-6s some  |", resource);
	for (int i = 0; i < COLUMNS; i++)
		text_append(text, character_of(shares[i], utf8));
	if (largest < 0)
		text_append(text, "|  not known\n");
	else
		text_printf(text, "|  at most %.2f %%\n", largest * 100);
}

static void explain_nothing(const struct view_history *row, struct text *text)
{
	if (row->state == HISTORY_LEFT_OUT)
		text_printf(text,
			    "\tthe agent keeps no history of it: all %ju histories are in "
			    "use; one becomes free when another pod or container ends\n",
			    (uintmax_t)row->histories_max);
	else
		text_printf(text, "\tno samples yet; the first %s\n",
			    row->span == PRESSURE_SPAN_10M ? "ones take some seconds"
							   : "one takes a minute or two");
}

static void draw(struct json_object *json, struct text *text)
{
	struct json_object *samples =
		object_list(&view_history_desc, json, &view_history_sample_desc);
	struct view_history row;
	struct axis axis;

	object_read(&view_history_desc, json, &row);
	if (!samples || !json_object_array_length(samples)) {
		explain_nothing(&row, text);
		return;
	}
	axis = axis_of(samples, row.span);
	text_printf(text, "\n%s in columns of %llu s; gaps are blank:\n",
		    row.span == PRESSURE_SPAN_10M ? "10 minutes" : "24 hours",
		    (unsigned long long)(axis.column_ns / SECOND_NS));
	draw_line(samples, &axis, "cpu", PRESSURE_CPU_SOME, text);
	draw_line(samples, &axis, "memory", PRESSURE_MEMORY_SOME, text);
	draw_line(samples, &axis, "io", PRESSURE_IO_SOME, text);
}

/* --- the command --------------------------------------------------------------------------------- */

static int parse_span(struct session *session, const char *word, enum pressure_span *ret_span)
{
	if (!strcmp(word, "10m"))
		*ret_span = PRESSURE_SPAN_10M;
	else if (!strcmp(word, "24h"))
		*ret_span = PRESSURE_SPAN_24H;
	else
		return out_fail(session, STATUS_USAGE, "invalid span '%.60s': expected 10m or 24h",
				word);
	return STATUS_DONE;
}

static int parse(struct session *session, int argc, char **argv, struct container_ref *ref,
		 enum pressure_span *span)
{
	int r = ref_parse_pod(session, &argc, &argv, &ref->pod);

	for (; !r && argc; argc -= 2, argv += 2) {
		const bool is_container = is_prefix(argv[0], "container");

		if (!is_container && !is_prefix(argv[0], "span"))
			return unexpected(session, argv[0], "container NAME, span { 10m | 24h }");
		if (argc < 2)
			return out_fail(session, STATUS_USAGE, "a value is missing after '%.60s'",
					argv[0]);
		if (is_container)
			ref->container = argv[1];
		else
			r = parse_span(session, argv[1], span);
	}
	return r;
}

static int ask(struct session *session, const struct container_ref *ref, enum pressure_span span,
	       struct json_object **ret_json)
{
	char name[2 * POD_NAME_MAX + 8];
	const struct view_history_request request = {
		ref->pod.uid ? ref->pod.uid : ref_text(&ref->pod, name, sizeof(name)),
		ref->container, span};
	struct json_object *body cleanup_json =
		object_json(&view_history_request_desc, &request, 1);

	if (!body)
		return out_no_memory(session);
	return source_ask(session, "/v1/pressure/history", json_object_to_json_string(body),
			  ret_json);
}

int pressure_history(struct session *session, int argc, char **argv)
{
	enum pressure_span span = PRESSURE_SPAN_10M;
	struct json_object *json cleanup_json = NULL;
	struct text text cleanup_text = {0};
	struct container_ref ref = {0};
	int r = parse(session, argc, argv, &ref, &span);

	if (!r)
		r = ask(session, &ref, span, &json);
	if (r)
		return r;
	if (session->options.json)
		return out_object(session, &view_history_desc, TAKE_PTR(json));
	object_render(&view_history_desc, json, &text);
	draw(json, &text);
	return text.error ? out_no_memory(session) : out_text(session, "history", text.data);
}
