// SPDX-License-Identifier: Apache-2.0
/*
 * The refreshing view of a noun's rows, like top(1): ordered, with rates since the last refresh.
 * The table is that of `show` (format/object_top.h); only a running agent has such figures.
 */
#include <time.h>

#include "format/object_top.h"
#include "lib/clock.h"
#include "live.h"

#define NS_PER_SECOND 1000000000LL

struct view {
	const struct noun_rows *rows;
	struct pod_ref ref;
	bool is_one; /* only the pod that `ref` names */
	bool is_current;
	struct object_top top;
	struct text keys;
};

static void view_fini(struct view *view)
{
	object_top_fini(&view->top);
	text_fini(&view->keys);
}
#define cleanup_view cleanup(view_fini)

static bool pod_wanted(struct json_object *item, const void *ref)
{
	struct view_pod row;

	object_read(&view_pod_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.name);
}

int top_no_rows(struct session *session, const struct noun_rows *rows, const struct pod_ref *ref)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	char buffer[2 * POD_NAME_MAX + 8];
	int r;

	if (!rows->may_be_none)
		return ref_no_rows(session, ref, rows->missing);
	r = fetch_noun(session, "pod", &all);
	if (r)
		return r;
	some = json_filter(all, pod_wanted, ref);
	if (!some)
		return out_no_memory(session);
	if (!json_object_array_length(some))
		return ref_missing(session, "pod", ref, NULL);
	out_note("pod %s %s", ref_text(ref, buffer, sizeof(buffer)), rows->missing);
	return STATUS_DONE;
}

/* Rows of an agent that does not answer are not shown, but the next rates begin with them. */
static int take(struct live *live, struct session *session)
{
	struct view *view = live->data;
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	int r;

	view->is_current = false;
	r = fetch_noun(session, view->rows->desc->name, &all);
	if (r)
		return r;
	some = view->is_one ? json_filter(all, view->rows->is_wanted, &view->ref)
			    : json_object_get(all);
	if (!some || object_top_take(&view->top, some, (int64_t)clock_monotonic_ns()))
		return out_no_memory(session);
	/* it may have some the next time */
	if (view->is_one && !json_object_array_length(some))
		r = top_no_rows(session, view->rows, &view->ref);
	if (r)
		return r;
	view->is_current = true;
	return STATUS_DONE;
}

static void draw(const struct live *live, unsigned int columns, struct text *text)
{
	const struct view *view = live->data;

	if (view->is_current)
		object_top_render(&view->top, columns, text);
}

static void name_keys(struct live *live)
{
	struct view *view = live->data;

	text_fini(&view->keys);
	text_append(&view->keys, "< > sort column: ");
	object_top_append_sort(&view->top, &view->keys);
	text_printf(&view->keys, "%s  R reverse", view->top.is_reversed ? " reversed" : "");
	live->keys = view->keys.data;
}

static void key(struct live *live, int key)
{
	struct view *view = live->data;

	if (key == '<' || key == KEY_LEFT)
		object_top_sort_by_next(&view->top, false);
	else if (key == '>' || key == KEY_RIGHT)
		object_top_sort_by_next(&view->top, true);
	else if (key == 'R' || key == 'r')
		object_top_reverse(&view->top);
	name_keys(live);
}

static int sort(struct session *session, struct object_top *top)
{
	struct text keys cleanup_text = {0};

	if (!session->options.sort || !object_top_sort_by(top, session->options.sort))
		return STATUS_DONE;
	object_top_append_keys(top, &keys);
	return out_fail(session, STATUS_USAGE, "invalid --sort '%.60s': expected one of %s",
			session->options.sort, keys.data ? keys.data : "the keys");
}

int top_run(struct session *session, const struct noun_rows *rows, int argc, char **argv)
{
	struct view view cleanup_view = {.rows = rows, .is_one = argc};
	struct live live = {.take = take, .draw = draw, .key = key, .data = &view};
	struct text title cleanup_text = {0};
	int r;

	if (session->options.json)
		return out_fail(session, STATUS_USAGE,
				"'%s top' does not print JSON; use '%s show --watch', and "
				"compute rates from its totals",
				rows->desc->name, rows->desc->name);
	live_title(&title, rows->desc->name, "top", argc, argv);
	r = argc ? ref_parse_pod(session, &argc, &argv, &view.ref) : STATUS_DONE;
	if (!r && argc)
		r = unexpected(session, argv[0], "no more arguments");
	object_top_init(&view.top, rows->desc);
	if (!r)
		r = sort(session, &view.top);
	if (r)
		return r;
	name_keys(&live);
	if (title.error || view.keys.error)
		return out_no_memory(session);
	live.title = title.data;
	return live_run(session, &live);
}
