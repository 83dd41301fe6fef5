// SPDX-License-Identifier: Apache-2.0
/*
 * Words to command, and the help, both from the nouns' tables. An abbreviation
 * that fits two rows is an error, so adding a row never changes what an old
 * script does.
 */
#include <stdio.h>
#include <string.h>

#include "inspect.h"

const struct noun *const nouns[] = {
	&noun_node,  &noun_cpu,	    &noun_pod,	  &noun_container, &noun_policy,   &noun_drift,
	&noun_event, &noun_feature, &noun_prog,	  &noun_state,	   &noun_simulate, &noun_run,
	&noun_guard, &noun_metrics, &noun_schema, &noun_version,   &noun_batch,	   &noun_help,
	NULL,
};

bool is_prefix(const char *word, const char *name)
{
	return *word && !strncmp(word, name, strlen(word));
}

int unexpected(struct session *session, const char *word, const char *expected)
{
	return out_fail(session, STATUS_USAGE, "what is '%.60s'? expected here: %s", word,
			expected);
}

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
				 "'%.60s' fits several %s: %s; write more of it", match->word, what,
				 match->names.data ? match->names.data : "");
	return -unexpected(session, match->word, expected);
}

static const struct noun *find_noun(struct session *session, const char *word, int *ret_status)
{
	cleanup_text struct text names = {0}, expected = {0};
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
	cleanup_text struct text names = {0}, expected = {0};
	struct match match = {.word = word};
	int row, i;

	for (i = 0; noun->commands[i].name; i++) {
		const struct command *command = &noun->commands[i];

		/* two names of one row are no ambiguity */
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
	static const char *const names[] = {"--topology", "--config", "--state", "--dry-run"};
	unsigned int dry_run = session->options.dry_run ? OPTION_DRY_RUN : 0;
	unsigned int wrong = (session->options.given | dry_run) & ~noun->options;

	if (!wrong)
		return STATUS_DONE;
	return out_fail(session, STATUS_USAGE, "%s is not an option of '%s'; see 'pinfold %s help'",
			names[__builtin_ctz(wrong)], noun->name, noun->name);
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
	return noun->commands[row].run(session, argc - eaten, argv + eaten);
}

int dispatch(struct session *session, int argc, char **argv)
{
	const struct noun *noun;
	int status = STATUS_USAGE;

	if (!argc)
		return out_fail(
			session, STATUS_USAGE,
			"an object is missing: pinfold [OPTIONS] OBJECT { COMMAND | help }; "
			"'pinfold help' lists them");
	noun = find_noun(session, argv[0], &status);
	return noun ? dispatch_noun(session, noun, argc - 1, argv + 1) : status;
}

/* --- help ------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *meaning;
} definitions[] = {
	{"CONTAINER", "POD container NAME"},
	{"POD", "{ [NAMESPACE/]NAME | name [NAMESPACE/]NAME | uid UID }"},
	{"CPUS", "CPU list as the kernel writes it, e.g. 0-3,8"},
	{"CMD", "a program and its arguments"},
	{"N", "a number from 1"},
	{"KIND", "kind of event, e.g. deny, drift, admit"},
	{"PREFIX", "beginning of a metric's name"},
	{"OBJECT", NULL},
};

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool starts = at == text || strchr(" [{|/", at[-1]);

		if (starts && (!at[len] || strchr(" ]}|…", at[len])))
			return true;
	}
	return false;
}

static void append_usage(struct text *text, const struct noun *noun, const struct command *command)
{
	text_printf(text, "pinfold [OPTIONS] %s", noun->name);
	if (noun->bare && command == noun->commands)
		; /* needs no word of its own */
	else if (command->synonym)
		text_printf(text, " { %s | %s }", command->name, command->synonym);
	else
		text_printf(text, " %s", command->name);
	text_printf(text, "%s%s\n", *command->args ? " " : "", command->args);
}

static void append_definitions(struct text *text, const struct noun *noun)
{
	cleanup_text struct text args = {0};

	for (const struct command *command = noun->commands; command->name; command++)
		text_printf(&args, "%s ", command->args);
	for (size_t i = 0; i < ARRAY_SIZE(definitions) && args.data; i++) {
		if (!definitions[i].meaning || !has_word(args.data, definitions[i].name))
			continue;
		text_printf(text, "       %s := %s\n", definitions[i].name, definitions[i].meaning);
		/* a meaning may use the next names */
		text_printf(&args, "%s ", definitions[i].meaning);
	}
	text_append(text,
		    "       OPTIONS := { -j | -p | -d | -S DIR | --socket FILE | --bpffs DIR");
	if (noun->options & OPTION_TOPOLOGY)
		text_append(text,
			    " |\n                    --topology { live | FILE.xml | FILE.json |"
			    " SYNTHETIC }");
	if (noun->options & OPTION_CONFIG)
		text_append(text, " | --config FILE");
	if (noun->options & OPTION_STATE)
		text_append(text, " | --state FILE");
	if (noun->options & OPTION_DRY_RUN)
		text_append(text, " | --dry-run");
	text_append(text, " }\n");
}

static int give_help(struct session *session, struct text *text)
{
	if (text->error)
		return out_no_memory(session);
	if (session->options.json)
		return out_null(session);
	fputs(text->data, stdout);
	return STATUS_DONE;
}

int help_noun(struct session *session, const struct noun *noun)
{
	cleanup_text struct text text = {0};

	for (const struct command *command = noun->commands; command->name; command++) {
		text_append(&text, command == noun->commands ? "Usage: " : "       ");
		append_usage(&text, noun, command);
	}
	text_printf(&text, "       pinfold %s help\n\n       %s\n\n", noun->name, noun->help);
	for (const struct command *command = noun->commands; command->name; command++)
		text_printf(&text, "       %-10s %s\n", command->name, command->help);
	text_append(&text, "\n");
	append_definitions(&text, noun);
	return give_help(session, &text);
}

/* "Only 'drift repair', … change anything.": the manual is held against it. */
static void append_changing(struct text *text)
{
	const char *separator = "\n       Only";

	for (int i = 0; nouns[i]; i++) {
		const struct noun *noun = nouns[i];

		for (const char *const *word = noun->changing; *word; word++) {
			bool wordless = noun->bare && !strcmp(*word, noun->commands[0].name);

			text_printf(text, "%s '%s%s%s'", separator, noun->name, wordless ? "" : " ",
				    wordless ? "" : *word);
			separator = ",";
		}
	}
	text_append(text, " change anything.\n");
}

int help_general(struct session *session)
{
	cleanup_text struct text text = {0};

	text_append(&text, "Usage: pinfold [OPTIONS] OBJECT { COMMAND | help }\n"
			   "       pinfold [OPTIONS] batch file FILE\n"
			   "       pinfold version\n\n       OBJECT :=\n");
	for (int i = 0; nouns[i]; i++)
		text_printf(&text, "         %-10s %s\n", nouns[i]->name, nouns[i]->help);
	text_append(&text, "\n       OPTIONS :=\n"
			   "         -j, --json       JSON on stdout, one document per call\n"
			   "         -p, --pretty     the same, indented\n"
			   "         -d, --debug      say more on stderr\n"
			   "         -S, --root DIR   look for all files of pinfold below DIR\n"
			   "         --socket FILE    the agent's socket\n"
			   "         --bpffs DIR      where the BPF objects are pinned\n"
			   "         -V, --version    as 'version'\n"
			   "         -h, --help       this text\n");
	append_changing(&text);
	text_append(
		&text,
		"       Words may be shortened as long as they fit one name only.\n"
		"       Exit status: 0 done, 1 finding or refusal, 2 usage, 3 agent or state\n"
		"       unreachable, 4 not permitted, 5 input rejected, 6 not supported on this\n"
		"       machine, 7 failed.\n");
	return give_help(session, &text);
}

/* One line per command, "NOUN<tab>COMMANDS<tab>ARGS": completion and manual are held against it. */
void help_all(struct text *text)
{
	for (int i = 0; nouns[i]; i++) {
		for (const struct command *command = nouns[i]->commands; command->name; command++) {
			bool wordless = nouns[i]->bare && command == nouns[i]->commands;

			text_printf(text, "%s\t%s%s%s\t%s\n", nouns[i]->name,
				    wordless ? "" : command->name, command->synonym ? "|" : "",
				    command->synonym ? command->synonym : "", command->args);
		}
	}
}

static int help_run(struct session *session, int argc, char **argv)
{
	int status = STATUS_USAGE;
	const struct noun *noun;

	if (!argc)
		return help_general(session);
	if (argc > 1)
		return unexpected(session, argv[1], "nothing more");
	noun = find_noun(session, argv[0], &status);
	return noun ? help_noun(session, noun) : status;
}

static int help_list(struct session *session, int argc, char **argv)
{
	cleanup_text struct text text = {0};

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	help_all(&text);
	return give_help(session, &text);
}

static const struct command help_commands[] = {
	{"object", NULL, "[OBJECT]", "What can be asked of an object; without one, of which.",
	 help_run},
	{"all", NULL, "", "Every command, one per line, for scripts.", help_list},
	{0},
};

const struct noun noun_help = {
	.name = "help",
	.help = "This help, or that of an object.",
	.commands = help_commands,
	.bare = true,
};
