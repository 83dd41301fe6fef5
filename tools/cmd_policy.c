// SPDX-License-Identifier: Apache-2.0
/* policy and state: what the agent goes by, and what it remembers. */
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "simulation.h"

/* --- policy ----------------------------------------------------------------------------------- */

static int policy_show(struct session *session, int argc, char **argv)
{
	struct json_object *policy = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "policy", &policy);
	return r ? r : out_object(session, &view_policy_desc, policy);
}

/* As the agent would read it here: the file alone, then against the machine. */
static int policy_validate(struct session *session, int argc, char **argv)
{
	struct machine machine cleanup_machine = {0};
	struct config *config cleanup_free = NULL;
	struct ledger *ledger cleanup_ledger = NULL;
	struct config_unbuilt options[CONFIG_UNBUILT_NR];
	const char *unbuilt_mode;
	int r;

	if (argc != 2 || !is_prefix(argv[0], "file"))
		return out_fail(session, STATUS_USAGE,
				"invalid arguments: expected 'policy "
				"validate file FILE'");
	r = snapshot_read_machine(session, &machine);
	if (!r)
		r = snapshot_read_config(session, argv[1], &config);
	if (!r)
		r = snapshot_check_config(session, argv[1], &machine, config);
	if (!r)
		r = snapshot_new_ledger(session, argv[1], machine.topology, &config->policy,
					&ledger);
	if (r)
		return r;
	unbuilt_mode = config_unbuilt_mode(config);
	if (unbuilt_mode)
		out_note("%s: %s", argv[1], unbuilt_mode);
	config_list_unbuilt(config, options);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].is_asked)
			out_note("%s: %s; %s", argv[1], options[i].message, CONFIG_UNBUILT_REMEDY);
	}
	return out_object(session, &view_policy_desc,
			  view_policy(config, argv[1], &config->policy, ledger_reserved(ledger)));
}

static const struct command policy_commands[] = {
	{"show", "list", "", "Show the configuration in force.", policy_show},
	{"validate", NULL, "file FILE",
	 "Check whether the agent would accept this file on this machine, or on --topology.",
	 policy_validate},
	{"diff", NULL, "file FILE", "Show what the running pods would get under this file.",
	 simulate_policy},
	{0},
};

const struct noun noun_policy = {
	.name = "policy",
	.help = "The configuration in force, and checks of another one.",
	.commands = policy_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- state ------------------------------------------------------------------------------------ */

static int state_show(struct session *session, int argc, char **argv)
{
	struct json_object *state = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = fetch_noun(session, "state", &state);
	return r ? r : out_object(session, &view_state_desc, state);
}

/* The file there is to look at; without one *ret_file is not set. Reported. */
static int need_state(struct session *session, char **ret_file)
{
	char *file cleanup_free = NULL;
	bool present;
	int r = snapshot_find_state(session, &file, &present);

	if (r)
		return r;
	if (!present && session->options.topology)
		return out_fail(session, STATUS_UNREACHABLE,
				"no state is known for machine '%.60s'; name a state file with "
				"--state",
				session->options.topology);
	if (!present)
		return out_fail(session, STATUS_UNREACHABLE,
				"there is no state file %s; name another with --state", file);
	*ret_file = TAKE_PTR(file);
	return STATUS_DONE;
}

/* Every field, every pod against the machine, every invariant of the ledger. */
static int state_verify(struct session *session, int argc, char **argv)
{
	struct snapshot snapshot cleanup_snapshot = {0};
	char *file cleanup_free = NULL;
	char error[256];
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	/* first: without a state its policy is not known, and another would be judged */
	r = need_state(session, &file);
	if (!r)
		r = snapshot_open(session, SNAPSHOT_POLICY_OF_STATE, &snapshot);
	if (r)
		return r;
	if (ledger_check(snapshot.ledger, error, sizeof(error)))
		return out_fail(session, STATUS_FINDING, "%s: %s", snapshot.state.file, error);
	if (snapshot.state.nr_left_out)
		return out_fail(session, STATUS_FINDING,
				"%s: %u of %u pods do not fit this machine and policy",
				snapshot.state.file, snapshot.state.nr_left_out,
				snapshot.state.decoded->nr_pods);
	return out_object(session, &view_pod_desc, view_pods(snapshot.ledger, NULL));
}

static int state_dump(struct session *session, int argc, char **argv)
{
	char *file cleanup_free = NULL, *data cleanup_free = NULL;
	size_t len;
	int r;

	if (argc)
		return unexpected(session, argv[0], "no more arguments");
	r = need_state(session, &file);
	if (!r)
		r = source_read(session, file, STATE_MAX_BYTES, &data, &len);
	if (r)
		return r;
	if (!session->options.json)
		return out_text(session, "state", data); /* key: not used without -j */
	session->result = json_tokener_parse(data);
	session->has_result = true;
	if (!session->result)
		return out_fail(session, STATUS_INPUT,
				"%s is not valid JSON; see 'pinfold state "
				"verify'",
				file);
	return STATUS_DONE;
}

static const struct command state_commands[] = {
	{"show", "list", "", "Show when the state file was written, its boot and its pods.",
	 state_show},
	{"verify", NULL, "", "Check the state file and compare it with the machine.", state_verify},
	{"dump", NULL, "", "Print the file unchanged.", state_dump},
	{"import", NULL, "kubelet FILE…",
	 "Take over a node from a kubelet's state files; the agent must be stopped.", state_import},
	{0},
};

const struct noun noun_state = {
	.name = "state",
	.help = "The state that the agent keeps across restarts.",
	.commands = state_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE | OPTION_DRY_RUN,
	.changing = {"import"},
};
