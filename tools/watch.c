// SPDX-License-Identifier: Apache-2.0
/*
 * Events as they come. The agent is asked each second for those after the last one known, on a
 * connection of its own each time, so a watcher holds nothing in the agent: one that reads slowly
 * finds that the log, a ring, has overwritten what it did not read, and says how many that were.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "inspect.h"
#include "lib/clock.h"
#include "terminal.h"

#define PAUSE_MS 1000

struct position {
	bool is_known;
	uint64_t log_ns, sequence; /* of the last event read */
};

struct follower {
	struct session *session;
	const struct event_watch *watch;
	struct position at;
	bool is_unreachable;
	bool is_skipping; /* the events that were there before the watch began */
	bool is_unread;	  /* whoever read stdout is gone */
	int64_t nr_shown;
};

static int show(struct follower *follower, const struct object_desc *desc, struct json_object *json)
{
	struct text text cleanup_text = {0};
	int r;

	if (!json)
		return out_no_memory(follower->session);
	/* an event is a line, also with --pretty */
	if (follower->session->options.json)
		out_append_json(json, false, &text);
	else
		object_render_line(desc, json, &text);
	if (text.error)
		return out_no_memory(follower->session);
	r = terminal_write(text.data, text.len);
	follower->is_unread = r == -EPIPE;
	if (r && !follower->is_unread)
		return out_fail(follower->session, STATUS_FAILED, "writing to stdout failed: %s",
				strerror(-r));
	return STATUS_DONE;
}

static int note(struct follower *follower, enum watch_note watch, int64_t nr_lost,
		const char *detail)
{
	struct json_object *json cleanup_json = view_watch(&(struct view_watch){
		.time_ns = clock_read_ns(CLOCK_REALTIME),
		.watch = watch,
		.nr_lost = nr_lost,
		.detail = detail,
	});
	return show(follower, &view_watch_desc, json);
}

static int note_lost(struct follower *follower, uint64_t nr)
{
	char detail[96];

	snprintf(detail, sizeof(detail), "the agent overwrote %ju event%s before %s read",
		 (uintmax_t)nr, nr == 1 ? "" : "s", nr == 1 ? "it was" : "they were");
	return note(follower, WATCH_LOST, (int64_t)nr, detail);
}

/* `rows` begin with the last event read, or with the oldest that the log still has. */
static bool is_other_log(const struct follower *follower, struct json_object *rows)
{
	struct view_event first;

	if (!follower->at.is_known)
		return false;
	/* the log that has the last event does not answer with nothing */
	if (!json_object_array_length(rows))
		return true;
	object_read(&view_event_desc, json_object_array_get_idx(rows, 0), &first);
	return first.log_ns != follower->at.log_ns;
}

/* Also if nobody sees what would be shown. */
static bool has_enough(const struct follower *follower)
{
	return follower->is_unread ||
	       (follower->watch->count && follower->nr_shown == follower->watch->count);
}

static int take_event(struct follower *follower, struct json_object *json)
{
	const struct event_watch *watch = follower->watch;
	struct position *at = &follower->at;
	const uint64_t next = at->is_known ? at->sequence + 1 : 0;
	struct view_event event;
	int r = STATUS_DONE;

	object_read(&view_event_desc, json, &event);
	if (at->is_known && event.sequence <= at->sequence)
		return STATUS_DONE;
	*at = (struct position){true, event.log_ns, event.sequence};
	if (follower->is_skipping)
		return STATUS_DONE;
	if (event.sequence > next)
		r = note_lost(follower, event.sequence - next);
	if (r || !watch->is_wanted(json, watch->data))
		return r;
	follower->nr_shown++;
	return show(follower, &view_event_desc, json);
}

static int take_events(struct follower *follower, struct json_object *rows)
{
	int r = STATUS_DONE;

	for (size_t i = 0; i < json_object_array_length(rows) && !r && !has_enough(follower); i++)
		r = take_event(follower, json_object_array_get_idx(rows, i));
	return r;
}

static void path_of_next(const struct follower *follower, char *path, size_t size)
{
	snprintf(path, size, "/v1/event/%ju", (uintmax_t)follower->at.sequence);
}

static int note_failure(struct follower *follower, int error)
{
	char detail[160];

	if (follower->is_unreachable)
		return STATUS_DONE;
	follower->is_unreachable = true;
	snprintf(detail, sizeof(detail), "the agent does not answer (%s); trying again each second",
		 strerror(-error));
	return note(follower, WATCH_UNREACHABLE, -1, detail);
}

static int ask_again(struct follower *follower)
{
	struct json_object *rows cleanup_json = NULL;
	const bool was_unreachable = follower->is_unreachable;
	char path[64];
	int r;

	path_of_next(follower, path, sizeof(path));
	r = source_poll(follower->session, path, &rows);
	if (r)
		return note_failure(follower, r);
	follower->is_unreachable = false;
	if (is_other_log(follower, rows)) {
		follower->at = (struct position){0};
		r = note(follower, WATCH_RESTARTED, -1,
			 "the agent was restarted; its event log begins anew");
		/* from its beginning, not from a number of the log before */
		return r ? r : ask_again(follower);
	}
	if (was_unreachable)
		r = note(follower, WATCH_BACK, -1, "the agent answers again");
	return r ? r : take_events(follower, rows);
}

/* The events so far: from the oldest to be shown on, or all of them to be skipped. */
static int begin(struct follower *follower)
{
	struct json_object *rows cleanup_json = NULL;
	int r = source_ask(follower->session, "/v1/event/0", NULL, &rows);
	struct view_event first;

	if (r)
		return r;
	if (!json_object_is_type(rows, json_type_array))
		return out_fail(follower->session, STATUS_FAILED,
				"the agent's answer to /v1/event/0 is not a valid array");
	/* what was overwritten before the watch began is not lost to it */
	if (json_object_array_length(rows)) {
		object_read(&view_event_desc, json_object_array_get_idx(rows, 0), &first);
		follower->at = (struct position){first.sequence > 0, first.log_ns,
						 first.sequence - (first.sequence > 0)};
	}
	follower->is_skipping = !follower->watch->begins_in_log;
	r = take_events(follower, rows);
	follower->is_skipping = false;
	return r;
}

int watch_events(struct session *session, const struct event_watch *watch)
{
	struct follower follower = {.session = session, .watch = watch};
	int r;

	if (session->nested)
		return out_fail(session, STATUS_USAGE,
				"a batch cannot contain 'watch', which prints more than one "
				"document; run it by itself");
	terminal_open(false);
	r = begin(&follower);
	while (!r && !has_enough(&follower) &&
	       terminal_wait(clock_ms() + PAUSE_MS) != TERMINAL_CLOSED)
		r = ask_again(&follower);
	return r;
}
