// SPDX-License-Identifier: Apache-2.0
/* The help text, generated from the tables of the session's nouns. */
#include <stdio.h>
#include <string.h>

#include "inspect.h"

static const struct {
	const char *word; /* in the arguments of a command, with what stands around it there */
	const char *name, *meaning;
} definitions[] = {
	{"POD CONTAINER", "CONTAINER", "the name of a container of the pod"},
	{"POD [CONTAINER", "CONTAINER", "the name of a container of the pod"},
	{"| CONTAINER", "CONTAINER", "POD container NAME"},
	{"POD", "POD", "{ [NAMESPACE/]NAME | name [NAMESPACE/]NAME | uid UID }"},
	{"CPUS", "CPUS", "CPU list in the kernel's format, e.g. 0-3,8"},
	{"CMD", "CMD", "a program and its arguments"},
	{"N", "N", "a number, at least 1"},
	{"COUNT", "COUNT", "a number from 0 to 1000000"},
	{"KIND", "KIND", "kind of event, e.g. deny, drift, admit"},
	{"PREFIX", "PREFIX", "prefix of a metric's name"},
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

static bool has_command(const struct noun *noun, const char *name)
{
	for (const struct command *command = noun->commands; command->name; command++) {
		if (!strcmp(command->name, name))
			return true;
	}
	return false;
}

static void append_definitions(struct text *text, const struct noun *noun)
{
	struct text args cleanup_text = {0};

	for (const struct command *command = noun->commands; command->name; command++)
		text_printf(&args, "%s ", command->args);
	for (size_t i = 0; i < ARRAY_SIZE(definitions) && args.data; i++) {
		if (!has_word(args.data, definitions[i].word))
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
	if (noun->options & OPTION_WAIT)
		text_append(text, " | --wait SECONDS");
	if (noun->options & OPTION_OUTPUT)
		text_append(text, " |\n                    --output FILE | --redact | --no-redact |"
				  " --force");
	if (has_command(noun, "show"))
		text_append(text, " |\n                    -w[SECONDS] | --count N");
	if (has_command(noun, "top"))
		text_append(text, " | --sort KEY");
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
	struct text text cleanup_text = {0};

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

/* "Only 'drift repair', … change anything."; tests/check/inspector compares the manual with it. */
static void append_changing(const struct noun *const *nouns, struct text *text)
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
	const struct noun *const *nouns = session->nouns;
	struct text text cleanup_text = {0};

	text_append(&text, "Usage: pinfold [OPTIONS] OBJECT { COMMAND | help }\n"
			   "       pinfold [OPTIONS] batch file FILE\n"
			   "       pinfold version\n\n       OBJECT :=\n");
	for (int i = 0; nouns[i]; i++)
		text_printf(&text, "         %-10s %s\n", nouns[i]->name, nouns[i]->help);
	text_append(&text,
		    "\n       OPTIONS :=\n"
		    "         -j, --json       print JSON, one document per call\n"
		    "         -p, --pretty     print indented JSON\n"
		    "         -d, --debug      print more details to stderr\n"
		    "         -w, --watch[=SECONDS]\n"
		    "                          repeat a 'show' command, or refresh 'top', "
		    "by default every 2 s\n"
		    "         --count N        end after N times\n"
		    "         --sort KEY       order the rows of 'top' by this key of its JSON\n"
		    "         -S, --root DIR   look for all files of pinfold below DIR\n"
		    "         --socket FILE    use this socket of the agent\n"
		    "         --bpffs DIR      use the BPF objects pinned in DIR\n"
		    "         -V, --version    same as 'version'\n"
		    "         -h, --help       print this text\n");
	append_changing(nouns, &text);
	text_append(
		&text,
		"       Words may be abbreviated as long as they are unique.\n"
		"       Exit status: 0 success, 1 finding or refusal, 2 usage error, 3 agent or\n"
		"       state unreachable, 4 permission denied, 5 input rejected, 6 not supported\n"
		"       on this machine, 7 failure.\n");
	return give_help(session, &text);
}

/* tests/check/inspector compares completion and manual with it. */
int help_all(struct session *session)
{
	const struct noun *const *nouns = session->nouns;
	struct text text cleanup_text = {0};

	for (int i = 0; nouns[i]; i++) {
		for (const struct command *command = nouns[i]->commands; command->name; command++) {
			bool wordless = nouns[i]->bare && command == nouns[i]->commands;

			text_printf(&text, "%s\t%s%s%s\t%s\n", nouns[i]->name,
				    wordless ? "" : command->name, command->synonym ? "|" : "",
				    command->synonym ? command->synonym : "", command->args);
		}
	}
	return give_help(session, &text);
}
