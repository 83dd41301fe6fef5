/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that repeat themselves: the loop around --watch and `top`. */
#ifndef TOOLS_LIVE_H
#define TOOLS_LIVE_H

#include "inspect.h"
#include "terminal.h"

/* What is repeated. */
struct live {
	const char *title; /* the words of the command, for the first line of a screen */
	const char *keys;  /* what the keys of key() do, or NULL */
	/*
	 * Take new figures. What it says through out.c is shown above what draw() appends.
	 * Returns enum status: a usage error ends the loop, all else may be over the next time.
	 */
	int (*take)(struct live *live, struct session *session);
	/*
	 * Append the figures, a line of column heads first, for this many columns; 0 = as wide as
	 * they are. NULL = take() says all.
	 */
	void (*draw)(const struct live *live, unsigned int columns, struct text *text);
	/* A byte or enum terminal_key that the loop does not know; NULL = none does anything. */
	void (*key)(struct live *live, int key);
	void *data;	  /* of the three */
	int64_t usual_ms; /* between two turns if --watch does not say; 0 = two seconds */
};

/* The words of a command line as live.title shows them. */
void live_title(struct text *title, const char *noun, const char *command, int argc, char **argv);

/* Does --watch repeat this command? */
bool live_is_view(const struct noun *noun, const struct command *command);

/* Are the options that the loop takes those of this command, and valid? Reported. */
int live_check(struct session *session, const struct noun *noun, const struct command *command);

/*
 * Until a signal or `q` ends it, or --count is reached: a screen where stdout is a terminal and
 * JSON is not asked for, otherwise one block or document after the other. Returns enum status;
 * with --count that of the last turn.
 */
int live_run(struct session *session, struct live *live);

/* The rows of a noun that is a list, and which of them belong to a pod (struct pod_ref). */
struct noun_rows {
	const struct object_desc *desc;
	bool (*is_wanted)(struct json_object *item, const void *ref);
	const char *missing; /* the end of the sentence about a pod without any */
	bool may_be_none;    /* a pod of the ledger may have none */
};
/*
 * The pod has no rows: a note if a pod of the ledger may have none, and else a failure, reported.
 * Returns enum status.
 */
int top_no_rows(struct session *session, const struct noun_rows *rows, const struct pod_ref *ref);
/* `top [POD]`: see top.c. */
int top_run(struct session *session, const struct noun_rows *rows, int argc, char **argv);

/* Repeat a command that shows something: --watch. */
int live_watch(struct session *session, const struct noun *noun, const struct command *command,
	       int argc, char **argv);

#endif
