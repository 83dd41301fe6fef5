// SPDX-License-Identifier: Apache-2.0
/* The waits of a pod or container by length, as bars: the longest one fills the line. */
#include <stdio.h>

#include "inspect.h"

#define BAR_COLUMNS 40

static int64_t count_of(struct json_object *buckets, size_t i)
{
	struct view_latency_bucket bucket;

	object_read(&view_latency_bucket_desc, json_object_array_get_idx(buckets, i), &bucket);
	return (int64_t)bucket.count;
}

/* Columns for `count` of at most `most`: at least one if there is anything to see. */
static unsigned int bar_columns(int64_t count, int64_t most)
{
	unsigned int columns = (unsigned int)((double)count / (double)most * BAR_COLUMNS + 0.5);

	return count && !columns ? 1 : columns;
}

static void draw_bar(struct text *text, unsigned int columns)
{
	text_append(text, "|");
	for (unsigned int i = 0; i < BAR_COLUMNS; i++)
		text_append(text, i < columns ? "*" : " ");
	text_append(text, "|\n");
}

static void draw_bucket(struct json_object *json, int64_t most, struct text *text)
{
	struct text bound cleanup_text = {0};
	struct view_latency_bucket bucket;

	object_read(&view_latency_bucket_desc, json, &bucket);
	if (bucket.up_to_ns < 0)
		text_append(&bound, "more");
	else
		object_append_seconds(&bound, (double)bucket.up_to_ns / 1e9);
	text_printf(text, "%10s  %12lld  ", bound.data ? bound.data : "", (long long)bucket.count);
	draw_bar(text, bar_columns((int64_t)bucket.count, most));
}

static void draw_head(const struct view_latency *row, struct text *text)
{
	text_append_shown(text, row->namespace ? row->namespace : "-");
	text_append(text, "/");
	text_append_shown(text, row->pod ? row->pod : "-");
	if (row->container) {
		text_append(text, "/");
		text_append_shown(text, row->container);
	}
	if (row->count <= 0) {
		text_append(text, ": no wait is over yet\n");
		return;
	}
	text_printf(text, ": %lld wait%s, the longest ", (long long)row->count,
		    row->count == 1 ? "" : "s");
	object_append_seconds(text, (double)row->longest_ns / 1e9);
	text_append(text, "\n");
}

void histogram_draw(struct json_object *json, struct text *text)
{
	struct json_object *buckets =
		object_list(&view_latency_desc, json, &view_latency_bucket_desc);
	const size_t nr = buckets ? json_object_array_length(buckets) : 0;
	size_t first = nr, last = 0;
	struct view_latency row;
	int64_t most = 0;

	object_read(&view_latency_desc, json, &row);
	draw_head(&row, text);
	for (size_t i = 0; i < nr; i++) {
		const int64_t count = count_of(buckets, i);

		if (!count)
			continue;
		first = first < nr ? first : i;
		last = i;
		most = count > most ? count : most;
	}
	if (!most)
		return;
	text_printf(text, "%10s  %12s\n", "up to", "waits");
	for (size_t i = first; i <= last; i++)
		draw_bucket(json_object_array_get_idx(buckets, i), most, text);
}
