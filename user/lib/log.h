/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging: to the journal with structured fields if stderr is connected to it, otherwise
 * to stderr as plain text. Each failure is logged once, by the first room that knows the
 * object and may log (adapters, ctl, main, tools); core, format and lib never log.
 */
#ifndef LIB_LOG_H
#define LIB_LOG_H

enum log_level { LOG_LEVEL_ERR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_NR };

/*
 * Set the program name and the level above which lines are dropped, and choose the sink
 * from JOURNAL_STREAM. Call this once.
 */
void log_open(const char *program, enum log_level level);
void log_set_level(enum log_level level);
/* Parse err, warn, info or debug. Returns -EINVAL for any other name. */
int log_level_parse(const char *name, enum log_level *ret_level);

/*
 * Log and return `code` (0 or negative errno), so that a failure is one
 * statement: return log_err(-errno, "cgroup: write '%s' to %s", …). A code
 * below zero adds ": <strerror>" to the line.
 */
int log_line(enum log_level level, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define log_err(code, ...)  log_line(LOG_LEVEL_ERR, code, __VA_ARGS__)
#define log_warn(code, ...) log_line(LOG_LEVEL_WARN, code, __VA_ARGS__)
#define log_info(...)	    log_line(LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define log_debug(...)	    log_line(LOG_LEVEL_DEBUG, 0, __VA_ARGS__)

/* Like log_line, with journal fields "NAME=value" (NULL-terminated array; ignored on stderr). */
int log_fields(enum log_level level, const char *const *fields, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
