/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine, configuration and ledger, put together without the agent: what the
 * inspector shows without an agent and what simulate changes.
 */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include "format/config.h"
#include "format/state.h"
#include "inspect.h"
#include "machine/machine.h"

/* The state file as it was found, or as the agent would write it now. */
struct snapshot_state {
	char *file;	       /* or the agent's socket */
	struct state *decoded; /* NULL = absent or not usable */
	bool present;
	int64_t written_ns;		     /* -1 = not known */
	char problem[FORMAT_ERROR_TEXT_MAX]; /* why it is not usable */
	uint32_t nr_left_out;		     /* pods that do not fit machine or policy */
};

struct snapshot {
	bool is_named;	      /* an option names machine, configuration or state */
	const char *topology; /* "live" or what --topology said */
	struct machine machine;
	char *config_file;     /* NULL = none was there: defaults */
	struct config *config; /* its policy has `excluded` filled from the machine */
	struct snapshot_state state;
	struct ledger *ledger; /* borrows machine.topology and config->policy */
};

enum snapshot_flag {
	/* decide by the policy the state file was written under, unless --config says another */
	SNAPSHOT_POLICY_OF_STATE = 1 << 0,
	/* a damaged state file is shown, not a failure */
	SNAPSHOT_DAMAGED_STATE = 1 << 1,
	/* what the running agent holds, where neither --topology nor --state says otherwise */
	SNAPSHOT_OF_AGENT = 1 << 2,
};

/*
 * All of it: machine (--topology, else this one), configuration (--config, else
 * this machine's own), the pods of the state file (--state, else this machine's
 * own, if there is one, in the stateDirectory of that configuration). Pods that do
 * not fit are left out with a note.
 * Reported; enum status.
 */
int snapshot_open(struct session *session, unsigned int flags, struct snapshot *ret_snapshot);
void snapshot_fini(struct snapshot *snapshot);
#define cleanup_snapshot cleanup(snapshot_fini)

/* Defaults, and over them what `file` says (NULL = nothing). Reported; freed with free(). */
int snapshot_read_config(struct session *session, const char *file, struct config **ret_config);
/* As config_check; what the machine adds goes into the configuration's own policy. Reported. */
int snapshot_check_config(struct session *session, const char *file, const struct machine *machine,
			  struct config *config);
/* As policy_check and ledger_new; `config_file` is only named. Reported. */
int snapshot_new_ledger(struct session *session, const char *config_file,
			const struct topology *topology, const struct policy *policy,
			struct ledger **ret_ledger);
/*
 * Where the state is that belongs to the options given, and whether there is one: a
 * file that cannot be looked at counts as there. Needs neither machine nor agent; the
 * file is freed by the caller. Reported.
 */
int snapshot_find_state(struct session *session, char **ret_file, bool *ret_present);
/* The file under the configuration's `directory`, below -S; freed by the caller. Reported. */
int snapshot_path(struct session *session, const char *directory, const char *file,
		  char **ret_path);
/* Its pods and these refusals; quotas are those the agent would write. NULL = no memory. */
struct json_object *snapshot_explain(const struct snapshot *snapshot,
				     const struct refusal_row *refusals, size_t nr_refusals);
int snapshot_read_machine(struct session *session, struct machine *ret_machine);

/* `state import`. import.c */
int state_import(struct session *session, int argc, char **argv);

#endif
