// SPDX-License-Identifier: Apache-2.0
/* drift, event, feature, prog: lists of what was observed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inspect.h"

static int show_all(struct session *session, const struct object_desc *desc, int argc, char **argv)
{
	struct json_object *list = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, desc->name, &list);
	return r ? r : out_object(session, desc, list);
}

/* A number of at least 1; reported. */
static int parse_number(struct session *session, const char *name, const char *word,
			int64_t *ret_value)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(word, &end, 10);
	if (errno || end == word || *end || value < 1)
		return out_fail(session, STATUS_USAGE, "%s '%.60s': write a number from 1", name,
				word);
	*ret_value = value;
	return STATUS_DONE;
}

/* --- drift ------------------------------------------------------------------------------------ */

static int drift_show(struct session *session, int argc, char **argv)
{
	return show_all(session, &view_drift_desc, argc, argv);
}

static bool drift_is_open(struct json_object *item, const void *data)
{
	struct json_object *open;

	return json_object_object_get_ex(item, "open", &open) && json_object_get_boolean(open);
}

static int drift_check(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *all = NULL;
	struct json_object *open;
	bool found;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "drift", &all);
	if (r)
		return r;
	open = json_filter(all, drift_is_open, NULL);
	found = open && json_object_array_length(open);
	r = out_object(session, &view_drift_desc, open);
	return r ? r : (found ? STATUS_FINDING : STATUS_DONE);
}

static int drift_repair(struct session *session, int argc, char **argv)
{
	struct json_object *list = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_ask(session, "/v1/drift/repair", "{}", &list);
	return r ? r : out_object(session, &view_drift_desc, list);
}

static const struct command drift_commands[] = {
	{"show", "list", "",
	 "Where the kernel differs, or differed, from the ledger, and who did it.", drift_show},
	{"check", NULL, "", "What still differs; exit status 1 when anything does.", drift_check},
	{"repair", NULL, "", "Have the agent undo now what differs, also where it only audits.",
	 drift_repair},
	{0},
};

const struct noun noun_drift = {
	.name = "drift",
	.help = "Where the kernel differs from what was decided.",
	.commands = drift_commands,
	.changing = {"repair"},
};

/* --- event ------------------------------------------------------------------------------------ */

struct event_filter {
	int64_t since_ns; /* 0 = all */
	int64_t last;	  /* 0 = all */
	const char *kind;
	bool by_pod;
	struct pod_ref pod;
	char pod_name[2 * POD_NAME_MAX];
};

static bool event_wanted(struct json_object *item, const void *data)
{
	const struct event_filter *filter = data;
	struct json_object *time = NULL;

	json_object_object_get_ex(item, "time_ns", &time);
	if (filter->since_ns && json_object_get_int64(time) < filter->since_ns)
		return false;
	if (filter->kind && strcmp(json_text(item, "kind"), filter->kind))
		return false;
	return !filter->by_pod || !strcmp(json_text(item, "pod"), filter->pod_name);
}

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int parse_event_word(struct session *session, int *argc, char ***argv,
			    struct event_filter *filter)
{
	const char *word = (*argv)[0];
	int64_t seconds;
	int r;

	if (is_prefix(word, "pod")) {
		--*argc;
		++*argv;
		filter->by_pod = true;
		r = ref_parse_pod(session, argc, argv, &filter->pod);
		if (!r && filter->pod.uid)
			return out_fail(session, STATUS_USAGE,
					"events name pods by name; write pod [NAMESPACE/]NAME");
		ref_text(&filter->pod, filter->pod_name, sizeof(filter->pod_name));
		return r;
	}
	if (*argc < 2)
		return unexpected(session, word, "since N, last N, kind KIND, pod POD");
	*argc -= 2;
	*argv += 2;
	if (is_prefix(word, "since")) {
		r = parse_number(session, "since", (*argv)[-1], &seconds);
		if (!r)
			filter->since_ns = wall_ns() - seconds * 1000000000;
		return r;
	}
	if (is_prefix(word, "last"))
		return parse_number(session, "last", (*argv)[-1], &filter->last);
	if (!is_prefix(word, "kind"))
		return unexpected(session, word, "since N, last N, kind KIND, pod POD");
	filter->kind = (*argv)[-1];
	return STATUS_DONE;
}

static int event_show(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *all = NULL, *some = NULL;
	struct event_filter filter = {0};
	int64_t length;
	int r;

	while (argc) {
		r = parse_event_word(session, &argc, &argv, &filter);
		if (r)
			return r;
	}
	r = source_fetch(session, "event", &all);
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

static const struct command event_commands[] = {
	{"show", "list", "[since N] [last N] [kind KIND] [pod POD]",
	 "Decisions, attempts, drift and repairs, oldest first; since N seconds ago.", event_show},
	{0},
};

const struct noun noun_event = {
	.name = "event",
	.help = "The record of decisions and of what others tried.",
	.commands = event_commands,
};

/* --- feature and prog ------------------------------------------------------------------------- */

static int feature_show(struct session *session, int argc, char **argv)
{
	return show_all(session, &view_feature_desc, argc, argv);
}

static bool feature_is_missing(struct json_object *item, const void *data)
{
	return strcmp(json_text(item, "state"), "yes") != 0;
}

static int feature_check(struct session *session, int argc, char **argv)
{
	cleanup_json struct json_object *all = NULL;
	struct json_object *missing;
	bool found;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "feature", &all);
	if (r)
		return r;
	missing = json_filter(all, feature_is_missing, NULL);
	found = missing && json_object_array_length(missing);
	r = out_object(session, &view_feature_desc, missing);
	return r ? r : (found ? STATUS_FINDING : STATUS_DONE);
}

static const struct command feature_commands[] = {
	{"show", "list", "", "What this kernel can do: yes, no or unknown, why, and the remedy.",
	 feature_show},
	{"check", NULL, "", "What is missing or unknown; exit status 1 when anything is.",
	 feature_check},
	{0},
};

const struct noun noun_feature = {
	.name = "feature",
	.help = "What this kernel can do, and what is missing why.",
	.commands = feature_commands,
};

static int prog_show(struct session *session, int argc, char **argv)
{
	return show_all(session, &view_prog_desc, argc, argv);
}

static const struct command prog_commands[] = {
	{"show", "list", "", "Our BPF programs: attached, pinned, what they cost.", prog_show},
	{0},
};

const struct noun noun_prog = {
	.name = "prog",
	.help = "Our BPF programs.",
	.commands = prog_commands,
};
