// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
// COVERS: tools/dispatch.c
// COVERS: tools/help.c
// COVERS: tools/ref.c
/*
 * The inspector's words: from a line to one command of one object, or one
 * sentence that says what was expected. Objects and commands are stand-ins that
 * read a POD and do nothing; the real ones act.
 */
#include <stdio.h>

static int print_nothing(const char *string, FILE *file);
#define fputs print_nothing
#include "../../tools/help.c"
#undef fputs
#include "../../tools/dispatch.c"
#include "../../tools/cmd_help.c"
#include "../../tools/ref.c"
#include "../../tools/words.c"
#include "fuzz.h"

#define MAX_WORDS 24

static int nr_failures, nr_runs;

static int print_nothing(const char *string, FILE *file)
{
	FUZZ_CHECK(*string);
	return 0;
}

int out_fail(struct session *session, enum status status, const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	FUZZ_CHECK(vsnprintf(sentence, sizeof(sentence), format, args) > 0);
	va_end(args);
	nr_failures++;
	return (int)status;
}

int unexpected(struct session *session, const char *word, const char *expected)
{
	return out_fail(session, STATUS_USAGE, "%s: %s", word, expected);
}

int out_null(struct session *session)
{
	return STATUS_DONE;
}

int out_no_memory(struct session *session)
{
	return out_fail(session, STATUS_FAILED, "no memory");
}

/* No command is repeated here; check/live does that with real ones. */
int live_check(struct session *session, const struct noun *noun, const struct command *command)
{
	return STATUS_DONE;
}

bool live_is_view(const struct noun *noun, const struct command *command)
{
	return true;
}

int live_watch(struct session *session, const struct noun *noun, const struct command *command,
	       int argc, char **argv)
{
	return command->run(session, argc, argv);
}

static bool keep_pod(struct json_object *item, const void *ref)
{
	struct view_pod row;

	object_read(&view_pod_desc, item, &row);
	return ref_matches(ref, row.uid, row.namespace, row.name);
}

static int run_show(struct session *session, int argc, char **argv)
{
	struct json_object *all = json_tokener_parse(
		"[{\"namespace\": \"default\", \"name\": \"db\", \"uid\": \"u-1\"}, "
		"{\"namespace\": \"a\", \"name\": \"db\", \"uid\": \"u-2\"}, {}]");
	struct json_object *kept;
	struct pod_ref ref;
	char text[600];
	int before = argc, status;

	nr_runs++;
	if (!argc) {
		json_object_put(all);
		return STATUS_DONE;
	}
	status = ref_parse_pod(session, &argc, &argv, &ref);
	FUZZ_CHECK((status == STATUS_DONE) == (nr_failures == 0));
	if (!status) {
		FUZZ_CHECK(argc < before && argc >= 0);
		FUZZ_CHECK(*ref_text(&ref, text, sizeof(text)));
		kept = json_filter(all, keep_pod, &ref);
		FUZZ_CHECK(kept && json_object_array_length(kept) < 3);
		json_object_put(kept);
	}
	json_object_put(all);
	return status;
}

static const struct command commands[] = {
	{"show", "list", "[POD]", "Show them.", run_show},
	{"shared", NULL, "", "Begins as show does.", run_show},
	{"repair", NULL, "CPUS", "Mend.", run_show},
	{0},
};

#define NOUN(word, options_, bare_)                            \
	const struct noun noun_##word = {.name = #word,        \
					 .help = "A " #word,   \
					 .commands = commands, \
					 .options = options_,  \
					 .bare = bare_}
NOUN(node, 0, false);
NOUN(cpu, 0, false);
NOUN(pod, 0, false);
NOUN(container, 0, false);
NOUN(policy, OPTION_CONFIG, false);
NOUN(drift, 0, false);
NOUN(event, 0, false);
NOUN(feature, 0, false);
NOUN(prog, 0, false);
NOUN(state, OPTION_STATE, false);
NOUN(simulate, OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE, true);
NOUN(run, 0, true);
NOUN(guard, 0, false);
NOUN(metrics, 0, false);
NOUN(schema, 0, false);
NOUN(version, 0, false);
NOUN(batch, 0, false);

static const struct noun *const nouns[] = {
	&noun_node,  &noun_cpu,	    &noun_pod,	  &noun_container, &noun_policy,   &noun_drift,
	&noun_event, &noun_feature, &noun_prog,	  &noun_state,	   &noun_simulate, &noun_run,
	&noun_guard, &noun_metrics, &noun_schema, &noun_version,   &noun_batch,	   &noun_help,
	NULL,
};

/* The first byte: which options were given; the rest: the line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session session = {.nouns = nouns};
	char *words[MAX_WORDS + 1];
	char *text;
	int nr, status;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	session.options.json = data[0] & 8;
	/* half of all lines without options, most objects take none */
	session.options.given = data[0] & 16 ? data[0] & 7 : 0;
	nr_failures = nr_runs = 0;
	nr = words_cut(text, words, MAX_WORDS);
	if (nr >= 0) {
		status = dispatch(&session, nr, words);
		/* one sentence for a failure, none for success; one command at most */
		FUZZ_CHECK(nr_failures == (status != STATUS_DONE));
		FUZZ_CHECK(nr_runs <= 1);
		FUZZ_CHECK(status == STATUS_DONE || status == STATUS_USAGE);
	}
	free(text);
	return 0;
}
