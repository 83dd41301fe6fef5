// SPDX-License-Identifier: Apache-2.0
/*
 * The loop around --watch and `top`: take figures, show them, wait. A failure is shown like
 * figures are, and the next turn may succeed: an agent that restarts comes back. Only words that
 * are wrong remain so.
 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"

#define USUAL_PERIOD_MS 2000
#define LEAST_PERIOD_S	0.1
#define MOST_PERIOD_S	86400
#define MOST_TURNS	1000000

/* --- options ---------------------------------------------------------------------------------- */

/* Milliseconds; 0 = not such a time. */
static int64_t parse_period(const char *word, int64_t usual_ms)
{
	char *end;
	double seconds;

	if (!word)
		return usual_ms;
	seconds = strtod(word, &end);
	/* also false for "nan" */
	if (end == word || *end || !(seconds >= LEAST_PERIOD_S && seconds <= MOST_PERIOD_S))
		return 0;
	return (int64_t)(seconds * 1000 + 0.5);
}

/* How many turns; 0 = without end, -1 = not such a number. */
static long parse_count(const char *word)
{
	char *end;
	long count;

	if (!word)
		return 0;
	errno = 0;
	count = strtol(word, &end, 10);
	return errno || end == word || *end || count < 1 || count > MOST_TURNS ? -1 : count;
}

static int check_values(struct session *session)
{
	const struct options *options = &session->options;

	if (!parse_period(options->period, USUAL_PERIOD_MS))
		return out_fail(session, STATUS_USAGE,
				"invalid --watch '%.60s': expected seconds from 0.1 to 86400",
				options->period);
	if (parse_count(options->count) < 0)
		return out_fail(session, STATUS_USAGE,
				"invalid --count '%.60s': expected a number from 1 to 1000000",
				options->count);
	return STATUS_DONE;
}

bool live_is_view(const struct noun *noun, const struct command *command)
{
	for (size_t i = 0; i < ARRAY_SIZE(noun->views) && noun->views[i]; i++)
		if (!strcmp(command->name, noun->views[i]))
			return true;
	return !strcmp(command->name, "show");
}

int live_check(struct session *session, const struct noun *noun, const struct command *command)
{
	const struct options *options = &session->options;
	const bool is_top = !strcmp(command->name, "top");
	const bool is_live = is_top || (noun->live && !strcmp(command->name, noun->live));
	const bool is_watched = options->watch && live_is_view(noun, command);
	/* as the user wrote it */
	const bool is_wordless = noun->bare && command == noun->commands;
	const char *blank = is_wordless ? "" : " ", *word = is_wordless ? "" : command->name;

	if (options->watch && !is_live && !is_watched)
		return out_fail(session, STATUS_USAGE,
				"--watch is not an option of '%s%s%s': it repeats the commands "
				"'show' and 'top', and those of 'pressure' except 'history'",
				noun->name, blank, word);
	if (options->count && !is_live && !is_watched)
		return out_fail(session, STATUS_USAGE,
				"--count is not an option of '%s%s%s': it belongs to 'top', to "
				"'pressure watch' and to commands with --watch",
				noun->name, blank, word);
	if (options->sort && !is_top)
		return out_fail(session, STATUS_USAGE,
				"--sort is not an option of '%s%s%s': it belongs to 'top'",
				noun->name, blank, word);
	if (session->nested && (is_live || is_watched))
		return out_fail(
			session, STATUS_USAGE,
			"a batch cannot contain 'top', 'watch' or --watch: they do not end");
	return check_values(session);
}

void live_title(struct text *title, const char *noun, const char *command, int argc, char **argv)
{
	text_printf(title, "pinfold %s %s", noun, command);
	for (int i = 0; i < argc; i++)
		text_printf(title, " %s", argv[i]);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void append_clock(struct text *text)
{
	const time_t now = time(NULL);
	char buffer[40];
	struct tm utc;

	if (gmtime_r(&now, &utc) && strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%SZ", &utc))
		text_append(text, buffer);
}

static int show_screen(struct live *live, int64_t period_ms, const struct text *said)
{
	struct text screen cleanup_text = {0};
	unsigned int rows, columns;
	int nr_lines = 0;

	terminal_size(&rows, &columns);
	append_clock(&screen);
	text_printf(&screen, "  every %g s: %s\n", (double)period_ms / 1000, live->title);
	text_printf(&screen, "q quit  space refresh%s%s\n", live->keys ? "  " : "",
		    live->keys ? live->keys : "");
	text_append(&screen, said->data ? said->data : "");
	for (const char *c = screen.data; c && *c; c++)
		nr_lines += *c == '\n';
	if (live->draw)
		live->draw(live, columns, &screen);
	if (screen.error)
		return screen.error;
	return terminal_draw(screen.data, live->draw ? nr_lines : -1);
}

/* Without a screen: an empty line before each block but the first, and documents are lines. */
static int show_block(struct session *session, struct live *live, unsigned int columns,
		      bool *is_first, const struct text *said)
{
	struct text block cleanup_text = {0};
	int r = 0;

	text_append(&block, said->data ? said->data : "");
	if (live->draw)
		live->draw(live, columns, &block);
	if (block.error || !block.len)
		return block.error;
	if (!*is_first && !session->options.json)
		r = terminal_write("\n", 1);
	*is_first = false;
	return r ? r : terminal_write(block.data, block.len);
}

/* New figures, and what was said of them; failures and notes as well if they go to a screen. */
static int take(struct session *session, struct live *live, bool is_screen, struct text *said)
{
	int status;

	text_fini(said);
	out_redirect(said, is_screen ? said : NULL);
	status = live->take(live, session);
	out_result(session);
	out_redirect(NULL, NULL);
	return status;
}

/* Until the next turn; false = there is none, because of a key or because nobody reads. */
static bool wait_for_turn(struct live *live, bool is_screen, int64_t period_ms,
			  const struct text *said)
{
	const int64_t deadline_ms = clock_ms() + period_ms;

	for (;;) {
		const int event = terminal_wait(deadline_ms);

		if (event == TERMINAL_CLOSED || event == 'q' || event == 'Q')
			return false;
		if (event == TERMINAL_TIMEOUT || event == ' ')
			return true;
		if (event > 0 && live->key)
			live->key(live, event);
		if (is_screen && show_screen(live, period_ms, said))
			return false;
	}
}

/* The last figures, or the error that ended the loop, remain where the screen was. */
static void leave_behind(struct session *session, struct live *live, int status,
			 const struct text *said)
{
	unsigned int rows, columns;
	bool is_first = true;

	terminal_size(&rows, &columns);
	if (status == STATUS_USAGE)
		fputs(said->data ? said->data : "", stderr);
	else
		show_block(session, live, columns, &is_first, said);
}

int live_run(struct session *session, struct live *live)
{
	const bool is_screen = !session->options.json && terminal_is_screen();
	const int64_t period_ms = parse_period(session->options.period,
					       live->usual_ms ? live->usual_ms : USUAL_PERIOD_MS);
	const long count = parse_count(session->options.count);
	struct text said cleanup_text = {0};
	bool is_first = true;
	int status, r;
	long nr = 0;

	terminal_open(is_screen);
	for (;;) {
		status = take(session, live, is_screen, &said);
		nr++;
		r = is_screen ? show_screen(live, period_ms, &said)
			      : show_block(session, live, 0, &is_first, &said);
		if (status == STATUS_USAGE || r || nr == count ||
		    !wait_for_turn(live, is_screen, period_ms, &said))
			break;
	}
	terminal_close();
	if (is_screen && (status == STATUS_USAGE || nr == count))
		leave_behind(session, live, status, &said);
	if (r && r != -EPIPE)
		return out_fail(session, STATUS_FAILED, "writing to stdout failed: %s",
				strerror(-r));
	/* whoever asks for a number of turns also wants to know how the last one went */
	return status == STATUS_USAGE || nr == count ? status : STATUS_DONE;
}

/* --- watch ------------------------------------------------------------------------------------ */

struct watched_command {
	const struct command *command;
	int argc;
	char **argv;
};

static int take_watched(struct live *live, struct session *session)
{
	const struct watched_command *watched = live->data;

	return watched->command->run(session, watched->argc, watched->argv);
}

int live_watch(struct session *session, const struct noun *noun, const struct command *command,
	       int argc, char **argv)
{
	struct watched_command watched = {.command = command, .argc = argc, .argv = argv};
	struct text title cleanup_text = {0};
	struct live live = {.take = take_watched, .data = &watched};

	live_title(&title, noun->name, command->name, argc, argv);
	if (title.error)
		return out_no_memory(session);
	live.title = title.data;
	return live_run(session, &live);
}
