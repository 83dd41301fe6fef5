// SPDX-License-Identifier: Apache-2.0
/*
 * The document: its sections in order, each with a drawing or a table. Style and script are in
 * page.css and page.js; tools/page-assets makes a header of them and their hashes.
 */
#include "format/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <pinfold/names.h>

#include "format/object_html.h"
#include "format/page_private.h"
#include "format/view_objects.h"
#include "format/view_private.h"
#include "format/views.h"
#include "lib/json.h"
#include "page_assets.h"

/* Rows of noise of a large node are thousands, and nearly all of them say nothing. */
#define NOISE_ROWS_MAX 100

#define HISTORY_HELP                                                                                   \
	"How much of the time tasks of a pod waited, and how many CPUs they ran on or would have run " \
	"on, in samples of 10 seconds."

const struct object_desc *const page_descs[PAGE_OBJECT_NR] = {
	[PAGE_DISCOVERY] = &view_discovery_desc,
	[PAGE_NODE] = &view_node_desc,
	[PAGE_CPU] = &view_cpu_desc,
	[PAGE_POD] = &view_pod_desc,
	[PAGE_CONTAINER] = &view_container_desc,
	[PAGE_HISTORY] = &view_history_desc,
	[PAGE_REFUSAL] = &view_refusal_desc,
	[PAGE_PRESSURE] = &view_pressure_desc,
	[PAGE_NOISE] = &view_noise_desc,
	[PAGE_DRIFT] = &view_drift_desc,
};

/* A page that somehow gets text of others as mark-up still runs no script and loads nothing. */
const char page_security_policy[] =
	"default-src 'none'; style-src 'sha256-" PAGE_STYLE_SHA256
	"'; script-src 'sha256-" PAGE_SCRIPT_SHA256
	"'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static size_t count(struct json_object *rows)
{
	return json_object_is_type(rows, json_type_array) ? json_object_array_length(rows) : 0;
}

/* --- choosing rows ---------------------------------------------------------------------------- */

/* How much a row says; < 0 = it has no place on the page. */
typedef int64_t rank_function(struct json_object *row);

static int64_t rank_equally(struct json_object *row)
{
	return 0;
}

/* Of its containers there are several times as many rows; those are the inspector's. */
static int64_t rank_pods_only(struct json_object *row)
{
	struct view_pressure pressure;

	object_read(&view_pressure_desc, row, &pressure);
	return pressure.container ? -1 : 0;
}

static int64_t rank_by_time(struct json_object *row)
{
	struct view_noise noise;

	object_read(&view_noise_desc, row, &noise);
	return noise.total_ns > 0 ? noise.total_ns : -1;
}

struct ranked_row {
	int64_t rank;
	size_t index; /* of the row; rows of one rank keep their order */
};

static int by_rank(const void *left, const void *right)
{
	const struct ranked_row *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/*
 * Up to `max` of the rows, the highest ranks first, for the caller to put; *ret_nr is how many there
 * were to choose from. NULL = no memory.
 */
static struct json_object *choose(struct json_object *rows, rank_function *rank, size_t max,
				  size_t *ret_nr)
{
	struct json_object *chosen cleanup_json = json_object_new_array();
	struct ranked_row *ranked cleanup_free = calloc(count(rows) + 1, sizeof(*ranked));
	size_t nr = 0;

	if (!chosen || !ranked)
		return NULL;
	for (size_t i = 0; i < count(rows); i++) {
		ranked[nr] = (struct ranked_row){rank(json_object_array_get_idx(rows, i)), i};
		nr += ranked[nr].rank >= 0;
	}
	qsort(ranked, nr, sizeof(*ranked), by_rank);
	for (size_t i = 0; i < nr && i < max; i++) {
		struct json_object *row = json_object_array_get_idx(rows, ranked[i].index);

		if (json_object_array_add(chosen, json_object_get(row))) {
			json_object_put(row);
			return NULL;
		}
	}
	*ret_nr = nr;
	return TAKE_PTR(chosen);
}

/* --- sections --------------------------------------------------------------------------------- */

struct section {
	enum page_object object;
	const char *id, *title;
	rank_function *rank;
	size_t rows_max;
	const char *none; /* what it means that there are no rows; NULL = leave the section out */
};

static const struct section sections[] = {
	{PAGE_REFUSAL, "refused", "Refused pods", rank_equally, PAGE_ROWS_MAX,
	 "No refused pod is known."},
	{PAGE_POD, "pods", "Pods", rank_equally, PAGE_ROWS_MAX, "No pod is known."},
	{PAGE_CONTAINER, "containers", "Containers", rank_equally, PAGE_ROWS_MAX,
	 "No container is known."},
	{PAGE_DISCOVERY, "discovery", "Pods and containers of others", rank_equally, PAGE_ROWS_MAX,
	 NULL},
	{PAGE_PRESSURE, "pressure", "Pressure", rank_pods_only, PAGE_ROWS_MAX,
	 "No pressure is known."},
	{PAGE_NOISE, "noise", "Noise", rank_by_time, NOISE_ROWS_MAX,
	 "Nothing was seen to disturb an exclusive CPU, or nothing is counted."},
	{PAGE_DRIFT, "drift", "Drift", rank_equally, PAGE_ROWS_MAX, "No drift is known."},
};

static void open_section(const char *id, const char *title, const char *help, struct text *text)
{
	text_printf(text, "<section id=%s>\n<h2>%s</h2>\n<p class=help>", id, title);
	html_append(text, help);
	text_append(text, "</p>\n");
}

static void append_section(const struct section *section, struct json_object *rows,
			   struct text *text)
{
	const struct object_desc *desc = page_descs[section->object];
	size_t nr;
	struct json_object *chosen cleanup_json =
		choose(rows, section->rank, section->rows_max, &nr);

	if (!chosen) {
		text->error = -ENOMEM;
		return;
	}
	if (!nr && !section->none)
		return;
	open_section(section->id, section->title, desc->help, text);
	if (!nr)
		text_printf(text, "<p class=none>%s</p>\n", section->none);
	object_html_table(desc, chosen, text);
	if (nr > section->rows_max)
		text_printf(text,
			    "<p class=more>These are %zu of %zu rows; <code>pinfold %s show</code> "
			    "lists all.</p>\n",
			    section->rows_max, nr, desc->name);
	text_append(text, "</section>\n");
}

static void append_findings(struct json_object *node, struct text *text)
{
	struct json_object *findings = object_list(&view_node_desc, node, &finding_row_desc);

	if (!count(findings))
		return;
	text_append(text, "<section id=findings>\n<h2>Findings</h2>\n");
	for (size_t i = 0; i < count(findings); i++) {
		text_append(text, "<article class=finding>");
		object_html_facts(&finding_row_desc, json_object_array_get_idx(findings, i), text);
		text_append(text, "</article>\n");
	}
	text_append(text, "</section>\n");
}

static void append_node(struct json_object *node, struct text *text)
{
	open_section("node", "Node", view_node_desc.help, text);
	object_html_facts(&view_node_desc, node, text);
	object_html_table(&numa_row_desc, object_list(&view_node_desc, node, &numa_row_desc), text);
	text_append(text, "</section>\n");
}

/* --- the top ---------------------------------------------------------------------------------- */

static size_t count_open_drift(struct json_object *rows)
{
	size_t nr = 0;

	for (size_t i = 0; i < count(rows); i++) {
		struct view_drift drift;

		object_read(&view_drift_desc, json_object_array_get_idx(rows, i), &drift);
		nr += drift.open;
	}
	return nr;
}

struct tile {
	const char *id; /* of the section it leads to */
	size_t nr;
	const char *one, *many;
	bool is_bad; /* if there is any */
};

static void append_tile(const struct tile *tile, struct text *text)
{
	text_printf(text, "<a href=\"#%s\"%s><b>%zu</b> %s</a>\n", tile->id,
		    tile->is_bad && tile->nr ? " class=bad" : "", tile->nr,
		    tile->nr == 1 ? tile->one : tile->many);
}

static void append_state(const struct page *page, struct text *text)
{
	struct view_node node;

	object_read(&view_node_desc, page->objects[PAGE_NODE], &node);
	text_printf(text, "<p class=\"state %s\">", node.ready > 0 ? "good" : "bad");
	if (node.ready > 0)
		text_append(text, "Ready: everything that the agent decided is in force.");
	else
		html_append(text, node.not_ready ? node.not_ready : "Not ready.");
	text_append(text, "</p>\n");
}

/* What deserves a look, in numbers that lead to their sections. */
static void append_tiles(const struct page *page, struct text *text)
{
	const size_t nr_findings =
		count(object_list(&view_node_desc, page->objects[PAGE_NODE], &finding_row_desc));
	const struct tile tiles[] = {
		{nr_findings ? "findings" : "node", nr_findings, "finding", "findings", true},
		{"map", count(page->objects[PAGE_CPU]), "CPU", "CPUs", false},
		{"pods", count(page->objects[PAGE_POD]), "pod", "pods", false},
		{"containers", count(page->objects[PAGE_CONTAINER]), "container", "containers",
		 false},
		{"refused", count(page->objects[PAGE_REFUSAL]), "refused pod", "refused pods",
		 true},
		{"drift", count_open_drift(page->objects[PAGE_DRIFT]), "open drift", "open drift",
		 true},
	};

	text_append(text, "<nav>\n");
	for (size_t i = 0; i < ARRAY_SIZE(tiles); i++)
		append_tile(&tiles[i], text);
	text_append(text, "</nav>\n");
}

static void append_time(uint64_t time_ns, struct text *text)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char buffer[40];
	struct tm utc;

	if (gmtime_r(&seconds, &utc) && strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M:%S", &utc))
		text_printf(text, "<time datetime=\"%.10sT%sZ\">%s UTC</time>", buffer, buffer + 11,
			    buffer);
}

static void append_head(const struct page *page, struct text *text)
{
	text_append(text, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
			  "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
			  "<meta name=color-scheme content=\"light dark\">\n<title>pinfold ");
	html_append(text, page->host);
	text_append(text, "</title>\n<style>" PAGE_STYLE "</style>\n</head>\n<body>\n<header>"
			  "<h1>pinfold <span>");
	html_append(text, page->host);
	/* The script fills it; without one, people reload. */
	text_append(text, "</span></h1><div id=tools></div></header>\n");
}

void page_render(const struct page *page, struct text *text)
{
	append_head(page, text);
	text_append(text, "<main>\n");
	append_state(page, text);
	append_tiles(page, text);
	append_findings(page->objects[PAGE_NODE], text);
	open_section("map", "CPUs", view_cpu_desc.help, text);
	page_append_map(page->objects[PAGE_CPU], text);
	text_append(text, "</section>\n<section id=waits>\n<h2>Waits by cause</h2>\n"
			  "<p class=help>How long the tasks of a container were runnable but did "
			  "not run, and who had the CPU meanwhile.</p>\n");
	page_append_waits(page->objects[PAGE_CONTAINER], text);
	text_append(text, "</section>\n");
	open_section("history", "The last 10 minutes", HISTORY_HELP, text);
	page_append_history(page->objects[PAGE_HISTORY], page->written_ns, text);
	text_append(text, "</section>\n");
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		append_section(&sections[i], page->objects[sections[i].object], text);
	append_node(page->objects[PAGE_NODE], text);
	text_append(text, "<footer>pinfold " PINFOLD_VERSION ", as of ");
	append_time(page->written_ns, text);
	text_append(text,
		    "</footer>\n</main>\n<script>" PAGE_SCRIPT "</script>\n</body>\n</html>\n");
}
