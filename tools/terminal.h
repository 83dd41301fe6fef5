/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal or pipe of a command that goes on until somebody ends it, and the signals that do. It
 * knows nothing of what is shown. One at a time: a process has one terminal.
 */
#ifndef TOOLS_TERMINAL_H
#define TOOLS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"

/* What terminal_wait() returns besides keys. */
enum terminal_event {
	TERMINAL_TIMEOUT = -1,
	TERMINAL_REDRAW = -2, /* the size changed, or the process was stopped and goes on */
	TERMINAL_CLOSED = -3, /* nobody reads stdout any more */
};

/* The arrow keys; other keys with a sequence of several bytes are ignored. */
enum terminal_key { KEY_LEFT = 256, KEY_RIGHT };

/* Is stdout a terminal on which a screen can be drawn? Not if TERM is unset or "dumb". */
bool terminal_is_screen(void);
/* And may text on it have colours? Not if NO_COLOR is set and not empty (https://no-color.org). */
bool terminal_has_colours(void);

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process with status 0, unless they
 * were ignored, and SIGPIPE is ignored. With `is_screen` keys are read one at a time without echo,
 * and an alternate screen is shown; every way out but SIGKILL restores what was there before. A job
 * of a shell stops here, and in terminal_draw(), until it is in the foreground.
 */
void terminal_open(bool is_screen);
/* Restore the screen. The signals remain as they are. */
void terminal_close(void);

/* Until a key (its byte, or enum terminal_key) or an event; deadline by CLOCK_MONOTONIC. */
int terminal_wait(int64_t deadline_ms);

/* 24 by 80 if the terminal does not say. */
void terminal_size(unsigned int *ret_rows, unsigned int *ret_columns);

/*
 * Draw as many lines of `text` as fit, each cut at the right edge; where lines are left out the
 * last one says how many. Line `nr_highlighted`, counted from 0, is drawn in reverse video;
 * -1 = none. Returns 0 or a negative errno; -EIO: in the background, and no shell to change that.
 */
int terminal_draw(const char *text, int nr_highlighted);

/* All of it to stdout, which may be a pipe. Returns 0 or a negative errno; -EPIPE: no reader. */
int terminal_write(const char *text, size_t len);

#endif
