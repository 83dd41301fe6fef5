// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal with termios and a few escape sequences that every terminal since the VT220 knows;
 * ncurses would bring a database of all the others into a tool that must start in a rescue image.
 *
 * A signal that ends the process is handled at once, whatever the process waits for, because an
 * agent may take half a minute to answer. The handler calls only what is async-signal-safe.
 * Output is written in one piece, so that a pipe has whole documents however the process ends.
 */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define ENTER_SCREEN  "\033[?1049h\033[?25l" /* alternate screen, no cursor */
#define LEAVE_SCREEN  "\033[?25h\033[?1049l"
#define REVERSE	      "\033[7m"
#define NORMAL	      "\033[0m"
#define HOME	      "\033[H"
#define CLEAR_LINE    "\033[2K"
#define CLEAR_TO_END  "\033[J"
#define TAB_COLUMNS   8
#define NS_PER_SECOND 1000000000
#define LEAST_ROWS    2

/* Handlers read it: they are installed when the rest is set, and look at `is_entered` first. */
static struct {
	volatile sig_atomic_t is_entered; /* the screen is ours */
	bool has_keys;			  /* stdin is a terminal, too */
	struct termios before, raw;
} terminal;

static volatile sig_atomic_t must_redraw;

bool terminal_is_screen(void)
{
	const char *type = getenv("TERM");

	return isatty(STDOUT_FILENO) && type && *type && strcmp(type, "dumb") != 0;
}

bool terminal_has_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	return terminal_is_screen() && !(no_color && *no_color);
}

/* --- entering and leaving, also in handlers --------------------------------------------------- */

/* A handler can do nothing about a terminal that is gone. */
static void write_escapes(const char *escapes, size_t len)
{
	ssize_t n;

	do
		n = write(STDOUT_FILENO, escapes, len);
	while (n < 0 && errno == EINTR);
}

/* A terminal that is not the one of our session has no background for us: ENOTTY. */
static bool is_in_background(void)
{
	const pid_t foreground = tcgetpgrp(STDOUT_FILENO);

	return foreground > 0 && foreground != getpgrp();
}

/*
 * The kernel stops a job in the background that changes the modes of its terminal, even to what they
 * are, and repeats the call when the job goes on. So the call returns in the foreground, or with EIO
 * where no shell could bring the process there.
 */
static int wait_for_foreground(void)
{
	struct termios modes;

	if (!is_in_background())
		return 0;
	if (tcgetattr(STDOUT_FILENO, &modes) || tcsetattr(STDOUT_FILENO, TCSANOW, &modes))
		return -errno;
	return 0;
}

/* A signal between two of the calls has the handler undo more than was done, which is harmless. */
static int enter(void)
{
	const int r = wait_for_foreground();

	if (r)
		return r;
	terminal.is_entered = true;
	if (terminal.has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.raw);
	write_escapes(ENTER_SCREEN, strlen(ENTER_SCREEN));
	return 0;
}

/* In the background the terminal is the shell's, which has restored it. */
static void leave(void)
{
	if (!terminal.is_entered || is_in_background())
		return;
	write_escapes(LEAVE_SCREEN, strlen(LEAVE_SCREEN));
	if (terminal.has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	terminal.is_entered = false;
}

static void handle_end(int signal)
{
	(void)signal;
	leave();
	_exit(0);
}

/*
 * Stop as if the signal were not handled. Unlike SIGSTOP, the kernel ignores it in an orphaned
 * process group, in which no shell could continue the process.
 */
static void stop(void)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	struct sigaction ours;
	sigset_t stops, before;

	sigaction(SIGTSTP, &usual, &ours);
	raise(SIGTSTP);
	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	/* here the process stops, and here it goes on */
	sigprocmask(SIG_UNBLOCK, &stops, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigaction(SIGTSTP, &ours, NULL);
}

/*
 * Ctrl-Z: the shell gets its terminal back until the process goes on, and terminal_draw() enters the
 * screen again, for which it may have to wait. The flag is for a poll that has returned: the shell may
 * have read the key. SIGWINCH is for the next one, and remains pending until terminal_wait() lets it in.
 */
static void handle_stop(int signal)
{
	const int saved_errno = errno;

	(void)signal;
	leave();
	stop();
	must_redraw = true;
	raise(SIGWINCH);
	errno = saved_errno;
}

static void handle_resize(int signal)
{
	(void)signal;
	must_redraw = true;
}

/* What the caller of the process ignores, as nohup does, remains ignored. */
static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;

	if (sigaction(signal, NULL, &before) || before.sa_handler == SIG_IGN)
		return;
	sigfillset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

void terminal_open(bool is_screen)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t resized;

	terminal.has_keys = is_screen && !tcgetattr(STDIN_FILENO, &terminal.before);
	terminal.raw = terminal.before;
	terminal.raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	terminal.raw.c_cc[VMIN] = 1;
	terminal.raw.c_cc[VTIME] = 0;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		handle(ends[i], handle_end);
	if (!is_screen)
		return;
	handle(SIGTSTP, handle_stop);
	/* only terminal_wait() lets it in, which therefore cannot miss it */
	sigemptyset(&resized);
	sigaddset(&resized, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resized, NULL);
	handle(SIGWINCH, handle_resize);
	/* a failure is that of terminal_draw() as well, which returns it */
	(void)enter();
}

void terminal_close(void)
{
	leave();
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* The next byte if there is one at once, as within an escape sequence; 0 = none. */
static char next_byte(void)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte = 0;

	if (poll(&fd, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) != 1)
		byte = 0;
	return byte;
}

/*
 * The key behind an ESC; 0 = one that means nothing. Arrows are ESC [ and a letter, or ESC O and a
 * letter in the keypad's other mode; a letter or ~ ends the longer ones, too.
 */
static int read_sequence(void)
{
	char byte = next_byte();

	if (byte != '[' && byte != 'O')
		return 0;
	do
		byte = next_byte();
	while (byte && (byte < '@' || byte > '~'));
	if (byte == 'D')
		return KEY_LEFT;
	return byte == 'C' ? KEY_RIGHT : 0;
}

/* A key; 0 = one that means nothing; TERMINAL_CLOSED. */
static int read_key(void)
{
	unsigned char byte;
	const ssize_t n = read(STDIN_FILENO, &byte, 1);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return TERMINAL_CLOSED;
	return byte == '\033' ? read_sequence() : byte;
}

int terminal_wait(int64_t deadline_ms)
{
	/* of stdout only errors are wanted: they say that its reader is gone, or that it is closed */
	struct pollfd fds[] = {{.fd = STDOUT_FILENO},
			       {.fd = terminal.has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
	sigset_t all_open;

	sigprocmask(SIG_SETMASK, NULL, &all_open);
	sigdelset(&all_open, SIGWINCH);
	for (;;) {
		const int64_t now = clock_ms(), left = deadline_ms > now ? deadline_ms - now : 0;
		const struct timespec timeout = {left / 1000, left % 1000 * (NS_PER_SECOND / 1000)};
		const int r = ppoll(fds, 2, &timeout, &all_open);

		if (must_redraw) {
			must_redraw = false;
			return TERMINAL_REDRAW;
		}
		if (!r)
			return TERMINAL_TIMEOUT;
		if (r < 0)
			continue;
		if (fds[0].revents)
			return TERMINAL_CLOSED;
		if (fds[1].revents) {
			const int key = read_key();

			if (key)
				return key;
		}
	}
}

/* --- drawing ---------------------------------------------------------------------------------- */

void terminal_size(unsigned int *ret_rows, unsigned int *ret_columns)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size = (struct winsize){0};
	*ret_rows = size.ws_row ? size.ws_row : 24;
	*ret_columns = size.ws_col ? size.ws_col : 80;
}

int terminal_write(const char *text, size_t len)
{
	while (len) {
		const ssize_t n = write(STDOUT_FILENO, text, len);

		if (n >= 0) {
			text += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};

			poll(&fd, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* Up to `columns` of a line, without its end. Error texts may have bytes of others in them. */
static void append_line(struct text *frame, const char *line, size_t len, unsigned int columns)
{
	const char *end = line + len;

	for (unsigned int column = 0; line < end && column < columns; column++) {
		uint32_t character;
		const unsigned int bytes = text_decode(line, &character);

		if (*line == '\t') {
			/* the loop adds the last blank's column */
			for (; (column + 1) % TAB_COLUMNS && column + 1 < columns; column++)
				text_append(frame, " ");
			text_append(frame, " ");
		} else if (!bytes || text_is_control(character)) {
			text_append(frame, "?");
		} else {
			text_append_len(frame, line, bytes);
		}
		line += bytes ? bytes : 1;
	}
}

static unsigned int count_lines(const char *text)
{
	unsigned int nr = 0;

	for (; *text; text = strchrnul(text, '\n'), text += *text == '\n')
		nr++;
	return nr;
}

int terminal_draw(const char *text, int nr_highlighted)
{
	struct text frame cleanup_text = {0};
	unsigned int nr_lines = count_lines(text), rows, columns, nr_shown;
	int r = terminal.is_entered && !is_in_background() ? 0 : enter();

	if (r)
		return r;
	terminal_size(&rows, &columns);
	rows = rows < LEAST_ROWS ? LEAST_ROWS : rows;
	nr_shown = nr_lines <= rows ? nr_lines : rows - 1;
	text_append(&frame, HOME);
	for (unsigned int i = 0; i < nr_shown; i++) {
		const char *end = strchrnul(text, '\n');
		const bool is_highlighted = (int)i == nr_highlighted && terminal_has_colours();

		/* the line is cleared first: behind its last column that would clear this one */
		text_printf(&frame, "%s" CLEAR_LINE "%s", i ? "\n" : "",
			    is_highlighted ? REVERSE : "");
		append_line(&frame, text, (size_t)(end - text), columns);
		text_append(&frame, is_highlighted ? NORMAL : "");
		text = *end ? end + 1 : end;
	}
	if (nr_shown < nr_lines) {
		char more[40];
		const int len =
			snprintf(more, sizeof(more), "(%u more lines)", nr_lines - nr_shown);

		text_append(&frame, "\n" CLEAR_LINE);
		append_line(&frame, more, (size_t)len, columns);
	}
	/* below the last line; on that line the next column may be the one before the cursor */
	if (nr_lines < rows)
		text_append(&frame, "\n" CLEAR_TO_END);
	return frame.error ? frame.error : terminal_write(frame.data, frame.len);
}
