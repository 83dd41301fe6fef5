// SPDX-License-Identifier: Apache-2.0
/* event: decisions and what others attempted, so far or as it comes; and drift as it comes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/event.h"
#include "inspect.h"
#include "lib/text.h"

/* A number of at least 1; reported. */
static int parse_number(struct session *session, const char *name, const char *word,
			int64_t *ret_value)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(word, &end, 10);
	if (errno || end == word || *end || value < 1)
		return out_fail(session, STATUS_USAGE,
				"invalid %s '%.60s': expected a number, "
				"at least 1",
				name, word);
	*ret_value = value;
	return STATUS_DONE;
}

struct event_filter {
	uint64_t since_ns; /* 0 = all */
	int64_t last;	   /* 0 = all */
	int64_t count;	   /* of a watch; 0 = no end */
	const char *kind;
	const char *other_kind; /* also wanted, or NULL */
	bool by_pod;
	struct pod_ref pod;
	char pod_name[2 * POD_NAME_MAX];
};

static bool event_wanted(struct json_object *item, const void *data)
{
	const struct event_filter *filter = data;
	struct view_event event;

	object_read(&view_event_desc, item, &event);
	if (event.time_ns < filter->since_ns)
		return false;
	if (filter->kind && !is_same_text(event.kind, filter->kind) &&
	    !is_same_text(event.kind, filter->other_kind))
		return false;
	return !filter->by_pod || is_same_text(event.pod, filter->pod_name);
}

/* So many seconds ago; 1 ns after 1970 began for what was before, because 0 means that there is no time. */
static uint64_t time_before(int64_t seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (seconds >= now.tv_sec)
		return 1;
	return (uint64_t)(now.tv_sec - seconds) * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Which words a command takes. */
enum event_word {
	WORD_SINCE = 1 << 0,
	WORD_LAST = 1 << 1,
	WORD_COUNT = 1 << 2,
	WORD_KIND = 1 << 3,
	WORD_POD = 1 << 4,
};

static const struct {
	const char *word, *expected;
	enum event_word bit;
} filter_words[] = {
	{"since", "since N", WORD_SINCE}, {"last", "last N", WORD_LAST},
	{"count", "count N", WORD_COUNT}, {"kind", "kind KIND", WORD_KIND},
	{"pod", "pod POD", WORD_POD},
};

static int expected_words(struct session *session, const char *word, unsigned int words)
{
	char expected[96] = "";
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(filter_words); i++) {
		if (words & filter_words[i].bit)
			at += (size_t)snprintf(expected + at, sizeof(expected) - at, "%s%s",
					       at ? ", " : "", filter_words[i].expected);
	}
	return unexpected(session, word, expected);
}

static int parse_pod(struct session *session, int *argc, char ***argv, struct event_filter *filter)
{
	int r;

	filter->by_pod = true;
	r = ref_parse_pod(session, argc, argv, &filter->pod);
	if (!r && filter->pod.uid)
		return out_fail(session, STATUS_USAGE,
				"events identify pods by name; write 'pod [NAMESPACE/]NAME'");
	ref_text(&filter->pod, filter->pod_name, sizeof(filter->pod_name));
	return r;
}

static int parse_kind(struct session *session, const char *value, struct event_filter *filter)
{
	struct text names cleanup_text = {0};

	if (event_is_kind_name(value)) {
		filter->kind = value;
		return STATUS_DONE;
	}
	event_append_kind_names(&names);
	return out_fail(session, STATUS_USAGE, "invalid kind '%.60s': expected one of %s", value,
			names.data ? names.data : "the kinds of events");
}

static int parse_value(struct session *session, enum event_word bit, const char *value,
		       struct event_filter *filter)
{
	int64_t seconds;
	int r;

	switch (bit) {
	case WORD_SINCE:
		r = parse_number(session, "since", value, &seconds);
		if (!r)
			filter->since_ns = time_before(seconds);
		return r;
	case WORD_LAST:
		return parse_number(session, "last", value, &filter->last);
	case WORD_COUNT:
		return parse_number(session, "count", value, &filter->count);
	default:
		return parse_kind(session, value, filter);
	}
}

/* One of `words` and its value, eaten from the front. */
static int parse_event_word(struct session *session, int *argc, char ***argv, unsigned int words,
			    struct event_filter *filter)
{
	const char *word = (*argv)[0];
	size_t i = 0;

	while (i < ARRAY_SIZE(filter_words) &&
	       (!(words & filter_words[i].bit) || !is_prefix(word, filter_words[i].word)))
		i++;
	if (i == ARRAY_SIZE(filter_words))
		return expected_words(session, word, words);
	if (filter_words[i].bit == WORD_POD) {
		--*argc;
		++*argv;
		return parse_pod(session, argc, argv, filter);
	}
	if (*argc < 2)
		return expected_words(session, word, words);
	*argc -= 2;
	*argv += 2;
	return parse_value(session, filter_words[i].bit, (*argv)[-1], filter);
}

static int parse_event_words(struct session *session, int argc, char **argv, unsigned int words,
			     struct event_filter *filter)
{
	int r = STATUS_DONE;

	while (argc && !r)
		r = parse_event_word(session, &argc, &argv, words, filter);
	return r;
}

static int event_show(struct session *session, int argc, char **argv)
{
	struct json_object *all cleanup_json = NULL, *some cleanup_json = NULL;
	struct event_filter filter = {0};
	int64_t length;
	int r;

	r = parse_event_words(session, argc, argv, WORD_SINCE | WORD_LAST | WORD_KIND | WORD_POD,
			      &filter);
	if (!r)
		r = fetch_noun(session, "event", &all);
	if (r)
		return r;
	some = json_filter(all, event_wanted, &filter);
	if (!some)
		return out_no_memory(session);
	length = (int64_t)json_object_array_length(some);
	if (filter.last && length > filter.last)
		json_object_array_del_idx(some, 0, (size_t)(length - filter.last));
	return out_object(session, &view_event_desc, TAKE_PTR(some));
}

static int follow(struct session *session, const struct event_filter *filter)
{
	const struct event_watch watch = {
		.is_wanted = event_wanted,
		.data = filter,
		.begins_in_log = filter->since_ns != 0,
		.count = filter->count,
	};

	return watch_events(session, &watch);
}

static int event_watch(struct session *session, int argc, char **argv)
{
	struct event_filter filter = {0};
	int r = parse_event_words(session, argc, argv,
				  WORD_SINCE | WORD_COUNT | WORD_KIND | WORD_POD, &filter);

	return r ? r : follow(session, &filter);
}

int drift_watch(struct session *session, int argc, char **argv)
{
	struct event_filter filter = {0};
	int r = parse_event_words(session, argc, argv, WORD_SINCE | WORD_COUNT | WORD_POD, &filter);

	filter.kind = "drift";
	filter.other_kind = "repair";
	return r ? r : follow(session, &filter);
}

static const struct command event_commands[] = {
	{"show", "list", "[since N] [last N] [kind KIND] [pod POD]",
	 "Show decisions, attempts, drift and repairs, oldest first; since takes seconds.",
	 event_show},
	{"watch", NULL, "[since N] [count N] [kind KIND] [pod POD]",
	 "Print events as they occur, one per line, until SIGINT or until "
	 "N are printed.",
	 event_watch},
	{0},
};

const struct noun noun_event = {
	.name = "event",
	.help = "Decisions, and changes that others attempted.",
	.commands = event_commands,
};
