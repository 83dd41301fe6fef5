// SPDX-License-Identifier: Apache-2.0
/*
 * Waits as bars, the longest first. The bars are SVG: the page's security policy permits no style
 * that is not known beforehand, and the width of a rectangle is not one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#include "format/object_html.h"
#include "format/page_private.h"
#include "format/view_objects.h"
#include "format/views.h"

#define BARS_MAX  20
#define BAR_WIDTH 1000

/* Whom to blame first: what can be changed in the pod, then its neighbours, then the machine. */
static const enum wait_cause order[WAIT_CAUSE_NR] = {
	WAIT_OWN_QUOTA, WAIT_OWN_CONTAINER, WAIT_POD_SIBLING, WAIT_OTHER_POD,
	WAIT_HOST,	WAIT_KERNEL,	    WAIT_IDLE,	      WAIT_UNATTRIBUTED,
};

/* As the table of containers calls it. */
static const char *title_of(enum wait_cause cause)
{
	for (size_t i = 0; i < view_container_desc.nr_fields; i++) {
		const struct field_desc *field = &view_container_desc.fields[i];

		if (field->offset == offsetof(struct view_container, cause_ns[cause]))
			return field->title ? field->title : field->key;
	}
	return "";
}

static int by_wait(const void *left, const void *right)
{
	const struct view_container *a = left, *b = right;

	return (a->wait_ns < b->wait_ns) - (a->wait_ns > b->wait_ns);
}

static void append_seconds(struct text *text, int64_t ns)
{
	object_append_seconds(text, (double)ns / 1e9);
}

static void append_legend(struct text *text)
{
	text_append(text, "<ul class=legend>");
	for (size_t i = 0; i < WAIT_CAUSE_NR; i++) {
		text_printf(text, "<li><i class=\"swatch cause%d\"></i> ", (int)order[i]);
		html_append(text, title_of(order[i]));
	}
	text_append(text, "</ul>\n");
}

/* `most_ns` is as wide as the bar can be. */
static void append_bar(const struct view_container *row, int64_t most_ns, struct text *text)
{
	double x = 0;

	text_printf(text,
		    "<svg viewBox=\"0 0 %d 1\" preserveAspectRatio=none aria-hidden=true "
		    "focusable=false>",
		    BAR_WIDTH);
	for (size_t i = 0; i < WAIT_CAUSE_NR; i++) {
		const int64_t ns = row->cause_ns[order[i]];
		const double width = ns > 0 ? (double)ns * BAR_WIDTH / (double)most_ns : 0;

		if (width <= 0)
			continue;
		text_printf(text, "<rect class=cause%d x=\"%.1f\" width=\"%.1f\" height=1><title>",
			    (int)order[i], x, width);
		html_append(text, title_of(order[i]));
		text_append(text, " ");
		append_seconds(text, ns);
		text_append(text, "</title></rect>");
		x += width;
	}
	text_append(text, "</svg>");
}

static void append_row(const struct view_container *row, int64_t most_ns, struct text *text)
{
	text_append(text, "<li><b>");
	html_append(text, row->namespace ? row->namespace : "");
	text_append(text, "/");
	html_append(text, row->pod ? row->pod : "");
	text_append(text, "/");
	html_append(text, row->container ? row->container : "");
	text_append(text, "</b> <span>waited ");
	append_seconds(text, row->wait_ns);
	text_append(text, ", ran ");
	append_seconds(text, row->run_ns > 0 ? row->run_ns : 0);
	text_append(text, "</span>");
	append_bar(row, most_ns, text);
	text_append(text, "\n");
}

void page_append_waits(struct json_object *containers, struct text *text)
{
	size_t nr = json_object_array_length(containers), nr_shown = 0;
	struct view_container *rows cleanup_free = calloc(nr + 1, sizeof(*rows));

	if (!rows) {
		text->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < nr; i++)
		object_read(&view_container_desc, json_object_array_get_idx(containers, i),
			    &rows[i]);
	qsort(rows, nr, sizeof(*rows), by_wait);
	while (nr_shown < nr && nr_shown < BARS_MAX && rows[nr_shown].wait_ns > 0)
		nr_shown++;
	if (!nr_shown) {
		text_append(text, "<p class=none>No container waited, or none is observed.</p>\n");
		return;
	}
	append_legend(text);
	text_append(text, "<ol class=bars>\n");
	for (size_t i = 0; i < nr_shown; i++)
		append_row(&rows[i], rows[0].wait_ns, text);
	text_append(text, "</ol>\n");
	if (nr > nr_shown)
		text_printf(text,
			    "<p class=more>Shown are the %zu of %zu containers that waited longest "
			    "since their start.</p>\n",
			    nr_shown, nr);
}
