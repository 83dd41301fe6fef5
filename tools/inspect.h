/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inspector's own contract: a command line is words; a noun has a table of
 * commands; a command makes one object, text or failure in its session. The
 * tables in cmd_*.c are the only place that lists commands: help, completion
 * and the check of the manual come from them.
 */
#ifndef TOOLS_INSPECT_H
#define TOOLS_INSPECT_H

#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>

#include "format/view_objects.h"
#include "format/views.h"
#include "lib/json.h"
#include "lib/text.h"
#include "words.h"

/* Exit codes; 255 is never used. `run` has its own: see cmd_run.c. */
enum status {
	STATUS_DONE = 0,
	STATUS_FINDING = 1, /* a finding, a refusal, an expectation not met */
	STATUS_USAGE = 2,
	STATUS_UNREACHABLE = 3, /* neither agent nor state */
	STATUS_PERMISSION = 4,
	STATUS_INPUT = 5,	/* input rejected */
	STATUS_UNSUPPORTED = 6, /* not on this machine */
	STATUS_FAILED = 7,	/* I/O, kernel */
};

/* Options only some nouns take; bit = position in the table of names in dispatch.c. */
enum noun_option {
	OPTION_TOPOLOGY = 1 << 0,
	OPTION_CONFIG = 1 << 1,
	OPTION_STATE = 1 << 2,
	OPTION_DRY_RUN = 1 << 3,
	OPTION_WAIT = 1 << 4,
	OPTION_OUTPUT = 1 << 5,
	OPTION_REDACT = 1 << 6,
	OPTION_NO_REDACT = 1 << 7,
	OPTION_FORCE = 1 << 8,
};

struct options {
	bool json, pretty, debug;
	bool help, version;
	const char *root;   /* -S: every path of ours is looked for below it */
	const char *socket; /* NULL = the usual place below root; so below */
	const char *bpffs;
	const char *topology, *config, *state;
	bool dry_run;
	const char *wait;   /* seconds */
	const char *output; /* NULL = a name with the time */
	bool watch;	    /* the command is repeated, */
	const char *period; /* after so many seconds; NULL = the usual time */
	const char *count;  /* so many times; NULL = until something ends it */
	const char *sort;   /* key by which `top` orders its rows; NULL = the usual one */
	unsigned int given; /* of enum noun_option: those that name what to look at */
	unsigned int flags; /* of enum noun_option: the others */
};

/* One command line being worked on. All of it is borrowed but result and owned. */
struct session {
	const struct noun *const *nouns; /* what can be asked of: ends with NULL */
	struct options options;
	bool nested;		    /* a line of a batch */
	const char *place;	    /* "FILE:LINE" of the script's line at work, or NULL */
	bool has_result;	    /* JSON mode: the command gave its object */
	struct json_object *result; /* NULL may be JSON null */
};

struct command {
	const char *name;    /* NULL ends a table; the first row is the default */
	const char *synonym; /* "list" of "show", or NULL */
	const char *args;    /* as the manual writes them: "[CPUS]", "file FILE", or "" */
	const char *help;    /* one sentence */
	/* Words after the command's own. Returns enum status, or run's own codes. */
	int (*run)(struct session *session, int argc, char **argv);
};

struct noun {
	const char *name;
	const char *help;
	const struct command *commands;
	unsigned int options; /* of enum noun_option */
	/*
	 * The first command needs no word of its own ("simulate FILE", "run POD …"):
	 * what is not a whole command name is its argument.
	 */
	bool bare;
	const char *changing[3]; /* commands that change anything; ends with NULL */
	const char *views[3];	 /* those that --watch repeats as it does "show"; ends with NULL */
	const char *live;	 /* the one that repeats itself as "top" does, or NULL */
};

extern const struct noun noun_node, noun_cpu, noun_numa, noun_pod, noun_container, noun_policy,
	noun_drift, noun_pressure, noun_latency, noun_memory, noun_noise, noun_irq, noun_stranger,
	noun_discovery, noun_event, noun_feature, noun_prog, noun_topology, noun_state,
	noun_simulate, noun_run, noun_guard, noun_metrics, noun_bundle, noun_schema, noun_version,
	noun_batch, noun_help;

/* --- out.c: what a command says --------------------------------------------------------------- */

/* Takes `json`; NULL = no memory, reported. Returns STATUS_DONE or STATUS_FAILED. */
int out_object(struct session *session, const struct object_desc *desc, struct json_object *json);
/* The page of metrics as a text, which support bundles read again. */
#define KEY_METRICS "metrics" /* key: of a text, which has no table */
/* Text as it is in plain mode; {key: text} in JSON mode. */
int out_text(struct session *session, const char *key, const char *string);
/* JSON null; in plain mode nothing. */
int out_null(struct session *session);
/*
 * A failure: "Error: …" on stderr, or {"error": …} on stdout in JSON mode.
 * Returns `status`. The sentence names the thing, the value, the cause and the remedy.
 */
int out_fail(struct session *session, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Something to know that is not a failure; stderr in every mode, so stdout stays one document. */
void out_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * From now on plain text and JSON go to `text`, and failures in plain mode and notes to `errors`,
 * instead of to stdout and stderr; NULL = to those again. Both are borrowed.
 */
void out_redirect(struct text *text, struct text *errors);
/*
 * Append a document and the end of its line. Strings have DEL and C1 as \u00NN, which JSON permits
 * and json-c does not do: a terminal acts on them.
 */
void out_append_json(struct json_object *json, bool is_pretty, struct text *text);
/* Print the document that JSON mode collected and forget it; there may be none. */
void out_result(struct session *session);
/* Print what JSON mode collected; returns `status`, or STATUS_FAILED when stdout failed. */
int out_finish(struct session *session, int status);
/* out_fail() for lack of memory; returns STATUS_FAILED. */
int out_no_memory(struct session *session);

/* "what is 'xyz'?": words where none, or other ones, are expected. */
int unexpected(struct session *session, const char *word, const char *expected);

/* --- help.c: out of the nouns' tables ---------------------------------------------------------- */

/* What `pinfold help` and `pinfold help NOUN` print. Return enum status. */
int help_general(struct session *session);
int help_noun(struct session *session, const struct noun *noun);
/* One line per command, "NOUN<tab>COMMANDS<tab>ARGS". */
int help_all(struct session *session);

/* --- dispatch.c: words -> command ------------------------------------------------------------- */

/* Everything after the options: OBJECT [COMMAND [ARGS]]. */
int dispatch(struct session *session, int argc, char **argv);
/* The noun that `word` stands for; NULL with *ret_status set when it is none, reported. */
const struct noun *dispatch_find_noun(struct session *session, const char *word, int *ret_status);

/* --- line.c: options and words ---------------------------------------------------------------- */

/* One line; argv[0] is the program's name. Changes argv's order. */
int dispatch_line(struct session *session, int argc, char **argv);

/* --- client.c: the agent's socket ------------------------------------------------------------- */

#define CLIENT_MAX_ANSWER (64 << 20) /* 8192 CPUs and 65536 events are about 20 MiB */
#define CLIENT_TIMEOUT_S  30

struct answer_text {
	unsigned int status; /* HTTP */
	struct text body;
};
/* Free the body. */
void answer_fini(struct answer_text *answer);
#define cleanup_answer cleanup(answer_fini)

/*
 * One request on a connection of its own, made by the calling process: the
 * agent takes the peer's pid for the asker's. `body` NULL = GET, else POST.
 * -ENOENT, -ECONNREFUSED: nobody listens; -EACCES, -EPERM: not allowed;
 * -ETIMEDOUT; -ECONNRESET: the peer closed before the answer was complete; -EPROTO: the answer is no
 * HTTP; -EFBIG.
 */
int client_ask(const char *socket, const char *path, const char *body,
	       struct answer_text *ret_answer);
/* Enum status for an HTTP status >= 300. */
enum status client_status(unsigned int http_status);

/* --- source.c: the agent, and files ----------------------------------------------------------- */

/* A path of ours below the root given with -S; freed by the caller, NULL = no memory. */
char *source_path(const struct session *session, const char *path);
/* The same for the agent's socket: the one that was named, else its usual place. */
char *source_socket(const struct session *session);

/*
 * The object behind a noun as the running agent gives it; where nobody listens
 * *ret_json is NULL, and nothing is said. Other failures are reported here and *ret_json
 * untouched. Returns enum status.
 */
int source_ask_noun(struct session *session, const char *noun, struct json_object **ret_json);
/*
 * What the running agent says, for what only adds to an answer: where nobody
 * listens or it does not know the noun *ret_json is NULL, and nothing is said.
 * source_add does not ask when another machine, configuration or state was named.
 */
int source_try(struct session *session, const char *noun, struct json_object **ret_json);
int source_add(struct session *session, const char *noun, struct json_object **ret_json);
/* Any path of the agent's; that nobody listens is a failure. POST when `body` is not NULL. */
int source_ask(struct session *session, const char *path, const char *body,
	       struct json_object **ret_json);
/* The same; what the agent cannot do yet (503) is asked again until so many seconds are over. */
int source_ask_until(struct session *session, const char *path, const char *body,
		     unsigned int wait_s, struct json_object **ret_json);
/* The same for an answer that is no JSON. */
int source_ask_text(struct session *session, const char *path, struct answer_text *ret_answer);
/* Read a file of the user's, bounded; reported. */
int source_read(struct session *session, const char *file, size_t max_bytes, char **ret_data,
		size_t *ret_len);

/*
 * For those who ask again and again: an array, or a negative errno, and nothing is said. -EPROTO
 * and -EAGAIN: an answer came, but not this one.
 */
int source_poll(const struct session *session, const char *path, struct json_object **ret_json);

/* --- ref.c: typed references ------------------------------------------------------------------ */

/* POD := { [NAMESPACE/]NAME | name [NAMESPACE/]NAME | uid UID }. Borrows the words. */
struct pod_ref {
	const char *uid; /* or the name: */
	char namespace[POD_NAME_MAX];
	char name[POD_NAME_MAX];
};
/* CONTAINER := POD container NAME */
struct container_ref {
	struct pod_ref pod;
	const char *container; /* NULL = all of the pod */
};
/* Eats words from the front; reported. */
int ref_parse_pod(struct session *session, int *argc, char ***argv, struct pod_ref *ret_ref);
/* Takes all words, POD or CONTAINER; reported. */
int ref_parse_container(struct session *session, int argc, char **argv,
			struct container_ref *ret_ref);
/* NULL is nobody's uid or name. */
bool ref_matches(const struct pod_ref *ref, const char *uid, const char *namespace,
		 const char *name);
/* A CPU list with at least one CPU; reported. */
int ref_parse_cpus(struct session *session, const char *word, struct cpuset *ret_cpus);
/* out_fail(): no such `what`; `container` NULL = the pod itself. Returns STATUS_INPUT. */
int ref_missing(struct session *session, const char *what, const struct pod_ref *ref,
		const char *container);
/* out_fail(): the pod has no rows, `missing` says why. Returns STATUS_INPUT. */
int ref_no_rows(struct session *session, const struct pod_ref *ref, const char *missing);
const char *ref_text(const struct pod_ref *ref, char *buffer, size_t size);
/* Texts as object_read gives them: either may be NULL, and then they differ. */
static inline bool is_same_text(const char *one, const char *other)
{
	return one && other && !strcmp(one, other);
}

/* A new array of the members of `array` for which keep() is true; NULL = no memory. */
struct json_object *json_filter(struct json_object *array,
				bool (*keep)(struct json_object *item, const void *data),
				const void *data);

/* --- map.c ------------------------------------------------------------------------------------ */

struct map_request {
	struct json_object *cpus; /* the array of `cpu show` */
	struct json_object *uses; /* the agent's array of cpu_use; NULL = not known */
	bool is_coloured;
};

/* One picture of the machine. -EPROTO: there are no such CPUs. -ENOMEM. */
int map_draw(const struct map_request *request, struct text *text);

/* --- histogram.c ------------------------------------------------------------------------------ */

/*
 * Text with a line and a bar for each length of waits, from a row of `latency show` whose waits
 * are counted. No colours and no characters but ASCII.
 */
void histogram_draw(struct json_object *row, struct text *text);

/* --- cmd_history.c, cmd_pressure.c, cmd_memory.c ------------------------------------------------ */

/*
 * The commands `pressure history`, `pressure cpu`, `pressure watch` and `memory process`; each
 * returns enum status.
 */
int pressure_history(struct session *session, int argc, char **argv);
int pressure_cpu(struct session *session, int argc, char **argv);
int pressure_watch(struct session *session, int argc, char **argv);
int memory_process(struct session *session, int argc, char **argv);

/* --- cmd_cost.c ------------------------------------------------------------------------------- */

/* The command `prog cost`; returns enum status. */
int prog_cost(struct session *session, int argc, char **argv);

/* The source revision this was built from. revision.c */
extern const char program_revision[];

/* --- offline.c: without the agent ---------------------------------------------------------------- */

/* As fetch_noun, from state file, machine and pins. */
int offline_fetch(struct session *session, const char *noun, struct json_object **ret_json);

/* --- fetch.c ---------------------------------------------------------------------------------- */

/*
 * The object behind a noun: from the agent; when nobody listens, from the state
 * file and the machine, which is said on stderr. Failures are reported here and
 * *ret_json untouched. Returns enum status.
 */
int fetch_noun(struct session *session, const char *noun, struct json_object **ret_json);

/* --- watch.c: events as they come -------------------------------------------------------------- */

struct event_watch {
	bool (*is_wanted)(struct json_object *event, const void *data);
	const void *data;
	bool begins_in_log; /* with the events that the agent has already */
	int64_t count;	    /* end after so many events; 0 = never */
};

/*
 * Print each event that is wanted on a line, until a signal, the count, or the end of whoever reads
 * stdout. What was lost, and that the agent does not answer or was restarted, is a line as well.
 * Returns enum status.
 */
int watch_events(struct session *session, const struct event_watch *watch);
/* 'drift watch', which is part of 'event watch'. cmd_event.c */
int drift_watch(struct session *session, int argc, char **argv);

/* --- select.c: some of a noun's objects --------------------------------------------------------- */

struct selection {
	const struct object_desc *desc;
	bool (*keep)(struct json_object *item, const void *data);
	/* As fetch_noun; NULL = that for the noun of `desc`. */
	int (*fetch)(struct session *session, struct json_object **ret_json);
};

/* A command without arguments: show what keep(item, NULL) selects; STATUS_FINDING if anything. */
int select_findings(struct session *session, const struct selection *selection, int argc,
		    char **argv);
/* A command with [CPUS]: show all, or what keep() selects with this struct cpuset. */
int select_of_cpus(struct session *session, const struct selection *selection, int argc,
		   char **argv);

#endif
