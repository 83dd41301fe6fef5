// SPDX-License-Identifier: Apache-2.0
/*
 * There are two sinks: the journal with fields, and lines on stderr. The sink is chosen
 * once. Each message is a single write, so lines of different threads never mix.
 */
#include "lib/log.h"
#include "lib/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define MESSAGE_MAX 2048
#define FIELDS_MAX  32

static const struct {
	const char *name;
	int priority; /* of syslog(3) */
} levels[LOG_LEVEL_NR] = {
	[LOG_LEVEL_ERR] = {"err", 3},
	[LOG_LEVEL_WARN] = {"warn", 4},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_DEBUG] = {"debug", 7},
};

/* Process-wide, like stderr itself; written only by log_open and log_set_level. */
static const char *program_name = "pinfold";
static enum log_level threshold = LOG_LEVEL_INFO;
static bool to_journal;

/* systemd sets JOURNAL_STREAM to "device:inode" of the stream that it passed to us. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat info;

	if (!stream || sscanf(stream, "%llu:%llu", &device, &inode) != 2)
		return false;
	return fstat(STDERR_FILENO, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

void log_open(const char *program, enum log_level level)
{
	program_name = program;
	threshold = level;
	to_journal = stderr_is_journal();
}

void log_set_level(enum log_level level)
{
	threshold = level;
}

int log_level_parse(const char *name, enum log_level *ret_level)
{
	for (int level = 0; level < LOG_LEVEL_NR; level++) {
		if (strcmp(name, levels[level].name) == 0) {
			*ret_level = level;
			return 0;
		}
	}
	return -EINVAL;
}

static void send_journal(enum log_level level, const char *const *fields, const char *message)
{
	char text[MESSAGE_MAX + sizeof("MESSAGE=")], priority[16], identifier[80];
	struct iovec parts[FIELDS_MAX + 3];
	int nr_parts = 0;

	snprintf(text, sizeof(text), "MESSAGE=%s", message);
	snprintf(priority, sizeof(priority), "PRIORITY=%d", levels[level].priority);
	snprintf(identifier, sizeof(identifier), "SYSLOG_IDENTIFIER=%s", program_name);
	parts[nr_parts++] = (struct iovec){text, strlen(text)};
	parts[nr_parts++] = (struct iovec){priority, strlen(priority)};
	parts[nr_parts++] = (struct iovec){identifier, strlen(identifier)};
	for (int i = 0; fields && fields[i] && i < FIELDS_MAX; i++)
		parts[nr_parts++] = (struct iovec){(char *)fields[i], strlen(fields[i])};
	sd_journal_sendv(parts, nr_parts);
}

static void send_stderr(enum log_level level, const char *message)
{
	char line[MESSAGE_MAX + 128];
	int len = snprintf(line, sizeof(line), "%s: %s: %s\n", program_name, levels[level].name,
			   message);
	ssize_t done;

	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	/* A failure to write to stderr cannot be reported. */
	done = write(STDERR_FILENO, line, len);
	(void)done;
}

__attribute__((format(printf, 4, 0))) static void send_line(enum log_level level, int code,
							    const char *const *fields,
							    const char *format, va_list args)
{
	char message[MESSAGE_MAX];
	int saved = errno, len;

	if (level > threshold)
		return;
	len = vsnprintf(message, sizeof(message), format, args);
	if (len >= 0 && len < (int)sizeof(message) && code < 0)
		snprintf(message + len, sizeof(message) - len, ": %s", strerror(-code));
	/* names in it are external input and must not forge lines or terminal escape sequences */
	text_hide_controls(message);
	if (to_journal)
		send_journal(level, fields, message);
	else
		send_stderr(level, message);
	errno = saved;
}

int log_line(enum log_level level, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(level, code, NULL, format, args);
	va_end(args);
	return code;
}

int log_fields(enum log_level level, const char *const *fields, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(level, 0, fields, format, args);
	va_end(args);
	return 0;
}
