// SPDX-License-Identifier: Apache-2.0
/*
 * Words to command, from the tables of the session's nouns. An abbreviation
 * that fits two rows is an error, so adding a row never changes what an old
 * script does.
 */
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "live.h"

/* --- matching --------------------------------------------------------------------------------- */

/* Candidates so far, for the sentence. */
struct match {
	const char *word;
	int found, nr_found; /* row, how many rows */
	struct text names;   /* what fits, or all when nothing does */
};

static void consider(struct match *match, int row, const char *name)
{
	if (!is_prefix(match->word, name))
		return;
	/* the whole name wins over longer ones it begins */
	if (!strcmp(match->word, name)) {
		match->found = row;
		match->nr_found = -1;
	} else if (match->nr_found >= 0) {
		match->found = row;
		match->nr_found++;
		text_printf(&match->names, "%s%s", match->nr_found > 1 ? ", " : "", name);
	}
}

/* Row, or a negative enum status after reporting. */
static int conclude(struct session *session, struct match *match, const char *what,
		    const char *expected)
{
	if (match->nr_found == 1 || match->nr_found < 0)
		return match->found;
	if (match->nr_found > 1)
		return -out_fail(session, STATUS_USAGE,
				 "ambiguous abbreviation '%.60s': it matches the %s %s; write "
				 "more letters",
				 match->word, what, match->names.data ? match->names.data : "");
	return -unexpected(session, match->word, expected);
}

const struct noun *dispatch_find_noun(struct session *session, const char *word, int *ret_status)
{
	const struct noun *const *nouns = session->nouns;
	struct text names cleanup_text = {0}, expected cleanup_text = {0};
	struct match match = {.word = word};
	int row;

	for (int i = 0; nouns[i]; i++) {
		consider(&match, i, nouns[i]->name);
		text_printf(&expected, "%s%s", i ? ", " : "", nouns[i]->name);
	}
	names = match.names;
	row = conclude(session, &match, "objects", expected.data ? expected.data : "an object");
	if (row < 0) {
		*ret_status = -row;
		return NULL;
	}
	return nouns[row];
}

/* Row of the command, its count for "help"; a negative enum status after reporting. */
static int find_command(struct session *session, const struct noun *noun, const char *word)
{
	struct text names cleanup_text = {0}, expected cleanup_text = {0};
	struct match match = {.word = word};
	int row, i;

	for (i = 0; noun->commands[i].name; i++) {
		const struct command *command = &noun->commands[i];

		/* two names of one row are not ambiguous */
		if (command->synonym &&
		    (!is_prefix(word, command->name) || !strcmp(word, command->synonym)))
			consider(&match, i, command->synonym);
		consider(&match, i, command->name);
		text_printf(&expected, "%s%s%s, ", command->name, command->synonym ? ", " : "",
			    command->synonym ? command->synonym : "");
	}
	consider(&match, i, "help");
	text_append(&expected, "help");
	names = match.names;
	row = conclude(session, &match, "commands", expected.data ? expected.data : "help");
	return row;
}

/* In a bare noun only a whole name is a command: FILE and POD may begin like one. */
static int find_whole(const struct noun *noun, int argc, char **argv)
{
	int i;

	for (i = 0; noun->commands[i].name; i++) {
		if (!strcmp(argv[0], noun->commands[i].name))
			return i;
	}
	return argc == 1 && !strcmp(argv[0], "help") ? i : -1;
}

static int check_options(struct session *session, const struct noun *noun)
{
	static const char *const names[] = {"--topology", "--config",	 "--state",
					    "--dry-run",  "--wait",	 "--output",
					    "--redact",	  "--no-redact", "--force"};
	unsigned int dry_run = session->options.dry_run ? OPTION_DRY_RUN : 0;
	unsigned int wrong = (session->options.given | session->options.flags | dry_run) &
			     ~noun->options;

	if (!wrong)
		return STATUS_DONE;
	return out_fail(session, STATUS_USAGE, "%s is not an option of '%s'; see 'pinfold %s help'",
			names[__builtin_ctz(wrong)], noun->name, noun->name);
}

static int run_command(struct session *session, const struct noun *noun,
		       const struct command *command, int argc, char **argv)
{
	if (live_check(session, noun, command))
		return STATUS_USAGE;
	/* `top` repeats itself */
	if (session->options.watch && live_is_view(noun, command))
		return live_watch(session, noun, command, argc, argv);
	return command->run(session, argc, argv);
}

static int dispatch_noun(struct session *session, const struct noun *noun, int argc, char **argv)
{
	int row = 0, eaten = 0;

	if (check_options(session, noun))
		return STATUS_USAGE;
	if (argc && noun->bare) {
		row = find_whole(noun, argc, argv);
		eaten = row >= 0;
		row = row < 0 ? 0 : row;
	} else if (argc) {
		row = find_command(session, noun, argv[0]);
		eaten = 1;
	}
	if (row < 0)
		return -row;
	if (!noun->commands[row].name)
		return help_noun(session, noun);
	return run_command(session, noun, &noun->commands[row], argc - eaten, argv + eaten);
}

int dispatch(struct session *session, int argc, char **argv)
{
	const struct noun *noun;
	int status = STATUS_USAGE;

	if (!argc)
		return out_fail(
			session, STATUS_USAGE,
			"an object is missing: expected pinfold [OPTIONS] OBJECT { COMMAND | "
			"help }; see 'pinfold help'");
	noun = dispatch_find_noun(session, argv[0], &status);
	return noun ? dispatch_noun(session, noun, argc - 1, argv + 1) : status;
}
