// SPDX-License-Identifier: Apache-2.0
/*
 * batch: command lines from a file, one after another, until one fails. In JSON
 * the whole is one array of {"command": [words], "output": what it gave}.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"

#define MAX_LINE_BYTES 65536
#define MAX_WORDS      4096

struct batch_line {
	char *words[MAX_WORDS + 2]; /* [0] is the program's name */
	int nr_words;
};

/*
 * One logical line: a backslash at the end continues it. 1 = a line, 0 = the end,
 * -E2BIG = too long or not text, another errno = the file cannot be read. Reads no
 * further than the bound: what is named may have no end.
 */
static int read_line(FILE *file, struct text *text, unsigned int *number)
{
	int byte;

	text_fini(text);
	*text = (struct text){0};
	++*number;
	errno = 0;
	while ((byte = getc(file)) != EOF) {
		if (byte == '\\') {
			int next = getc(file);

			if (next == '\n') {
				++*number;
				continue;
			}
			ungetc(next, file);
		}
		if (!byte || text->len >= MAX_LINE_BYTES)
			return -E2BIG;
		text_append_len(text, &(char){(char)byte}, 1);
		if (text->error)
			return text->error;
		if (byte == '\n')
			return 1;
	}
	if (ferror(file))
		return errno ? -errno : -EIO;
	return text->len ? 1 : 0;
}

/* Takes nothing; adds what the line gave. */
static int collect(struct json_object *all, const struct batch_line *line, struct session *one)
{
	struct json_object *entry = json_object_new_object(), *words = json_object_new_array();

	for (int i = 1; i < line->nr_words; i++)
		json_object_array_add(words, json_object_new_string(line->words[i]));
	json_object_object_add(entry, "command", words);
	json_object_object_add(entry, "output", one->result);
	one->result = NULL;
	return json_object_array_add(all, entry) ? -ENOMEM : 0;
}

static int do_line(struct session *session, struct batch_line *line, struct json_object *all)
{
	struct session one = {.nouns = session->nouns, .options = session->options, .nested = true};
	/* getopt permutes its argument */
	char **words = malloc((size_t)(line->nr_words + 1) * sizeof(*words));
	int status;

	if (!words)
		return out_no_memory(session);
	memcpy(words, line->words, (size_t)(line->nr_words + 1) * sizeof(*words));
	status = dispatch_line(&one, line->nr_words, words);
	free(words);
	fflush(stdout);
	if (all && collect(all, line, &one))
		status = out_no_memory(session);
	json_object_put(one.result);
	return status;
}

static int run_lines(struct session *session, FILE *file, const char *name, struct json_object *all)
{
	struct text text cleanup_text = {0};
	struct batch_line *line cleanup_free = calloc(1, sizeof(*line));
	unsigned int number = 0, nr_done = 0;
	int r;

	if (!line)
		return out_no_memory(session);
	while ((r = read_line(file, &text, &number)) > 0) {
		int status;

		r = words_cut(text.data, line->words + 1, MAX_WORDS);
		if (r < 0)
			return out_fail(session, STATUS_INPUT, "%s:%u: %s", name, number,
					r == -E2BIG ? "more than 4096 words"
						    : "unterminated quote");
		if (!r)
			continue;
		line->words[0] = (char *)"pinfold";
		line->nr_words = r + 1;
		status = do_line(session, line, all);
		if (status) {
			if (!session->options.json)
				fprintf(stderr, "Error: %s:%u: stopped here\n", name, number);
			return status;
		}
		nr_done++;
	}
	if (r == -ENOMEM)
		return out_no_memory(session);
	if (r != -E2BIG && r)
		return out_fail(session, STATUS_INPUT, "cannot read %s: %s", name, strerror(-r));
	if (r)
		return out_fail(session, STATUS_INPUT,
				"%s:%u: the line is longer than %d bytes or contains a NUL byte",
				name, number, MAX_LINE_BYTES);
	if (!session->options.json)
		printf("processed %u command%s\n", nr_done, nr_done == 1 ? "" : "s");
	return STATUS_DONE;
}

static int batch_file(struct session *session, int argc, char **argv)
{
	struct json_object *all;
	bool is_stdin;
	FILE *file;
	int status;

	if (argc != 1)
		return out_fail(session, STATUS_USAGE,
				"invalid arguments: expected 'batch file "
				"FILE', or '-' as FILE for stdin");
	if (session->nested)
		return out_fail(session, STATUS_USAGE, "a batch cannot contain another batch");
	is_stdin = !strcmp(argv[0], "-");
	file = is_stdin ? stdin : fopen(argv[0], "re");
	if (!file)
		return out_fail(session, errno == EACCES ? STATUS_PERMISSION : STATUS_INPUT,
				"%s: %s", argv[0], strerror(errno));
	all = session->options.json ? json_object_new_array() : NULL;
	status = run_lines(session, file, argv[0], all);
	if (!is_stdin)
		fclose(file);
	/* a failure of the batch itself is its last output */
	if (all && session->has_result)
		json_object_array_add(all, session->result);
	if (all) {
		session->result = all;
		session->has_result = true;
	}
	return status;
}

static const struct command batch_commands[] = {
	{"file", NULL, "FILE", "Run the commands of FILE, one per line, until one fails.",
	 batch_file},
	{0},
};

const struct noun noun_batch = {
	.name = "batch",
	.help = "Several commands in one call.",
	.commands = batch_commands,
};
