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
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "policy", &policy);
	return r ? r : out_object(session, &view_policy_desc, policy);
}

/* As the agent would read it here: the file alone, then against the machine. */
static int policy_validate(struct session *session, int argc, char **argv)
{
	struct machine machine cleanup(machine_fini) = {0};
	cleanup_free struct config *config = NULL;
	cleanup_ledger struct ledger *ledger = NULL;
	struct config_unbuilt options[CONFIG_UNBUILT_NR];
	int r;

	if (argc != 2 || !is_prefix(argv[0], "file"))
		return out_fail(session, STATUS_USAGE, "write 'policy validate file FILE'");
	r = world_read_machine(session, &machine);
	if (!r)
		r = world_read_config(session, argv[1], &config);
	if (!r)
		r = world_check_config(session, argv[1], &machine, config);
	if (!r)
		r = world_new_ledger(session, argv[1], machine.topology, &config->policy, &ledger);
	if (r)
		return r;
	config_list_unbuilt(config, options);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].is_asked)
			out_note("%s: %s; %s", argv[1], options[i].message, CONFIG_UNBUILT_REMEDY);
	}
	return out_object(session, &view_policy_desc,
			  view_policy(config, argv[1], &config->policy, ledger_reserved(ledger)));
}

static const struct command policy_commands[] = {
	{"show", "list", "", "The configuration in force.", policy_show},
	{"validate", NULL, "file FILE",
	 "Would the agent take this file on this machine (or on that of --topology)?",
	 policy_validate},
	{"diff", NULL, "file FILE", "What the pods that run would get under this file.",
	 simulate_policy},
	{0},
};

const struct noun noun_policy = {
	.name = "policy",
	.help = "The configuration in force, and checking another one.",
	.commands = policy_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE,
};

/* --- state ------------------------------------------------------------------------------------ */

static int state_show(struct session *session, int argc, char **argv)
{
	struct json_object *state = NULL;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = source_fetch(session, "state", &state);
	return r ? r : out_object(session, &view_state_desc, state);
}

/* The file there is to look at; without one *ret_file is not set. Reported. */
static int need_state(struct session *session, char **ret_file)
{
	cleanup_free char *file = NULL;
	bool present;
	int r = world_find_state(session, &file, &present);

	if (r)
		return r;
	if (!present && session->options.topology)
		return out_fail(session, STATUS_UNREACHABLE,
				"machine '%.60s' has no state here; name a file with --state",
				session->options.topology);
	if (!present)
		return out_fail(session, STATUS_UNREACHABLE,
				"%s: there is no state file; name another with --state", file);
	*ret_file = TAKE_PTR(file);
	return STATUS_DONE;
}

/* Every field, every pod against the machine, every invariant of the ledger. */
static int state_verify(struct session *session, int argc, char **argv)
{
	struct world world cleanup(world_fini) = {0};
	cleanup_free char *file = NULL;
	char error[256];
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	/* first: without a state its policy is not known, and another would be judged */
	r = need_state(session, &file);
	if (!r)
		r = world_open(session, WORLD_POLICY_OF_STATE, &world);
	if (r)
		return r;
	if (ledger_check(world.ledger, error, sizeof(error)))
		return out_fail(session, STATUS_FINDING, "%s: %s", world.state.file, error);
	if (world.state.nr_left_out)
		return out_fail(session, STATUS_FINDING,
				"%s: %u of %u pods do not fit this machine and policy",
				world.state.file, world.state.nr_left_out,
				world.state.decoded->nr_pods);
	return out_object(session, &view_pod_desc, view_pods(world.ledger, NULL, 0));
}

static int state_dump(struct session *session, int argc, char **argv)
{
	cleanup_free char *file = NULL, *data = NULL;
	size_t len;
	int r;

	if (argc)
		return unexpected(session, argv[0], "nothing more");
	r = need_state(session, &file);
	if (!r)
		r = source_read(session, file, STATE_MAX_BYTES, &data, &len);
	if (r)
		return r;
	if (!session->options.json)
		return out_text(session, "state", data);
	session->result = json_tokener_parse(data);
	session->has_result = true;
	if (!session->result)
		return out_fail(session, STATUS_INPUT, "%s: no JSON; see 'pinfold state verify'",
				file);
	return STATUS_DONE;
}

static const struct command state_commands[] = {
	{"show", "list", "", "The state file: when written, by which boot, how many pods.",
	 state_show},
	{"verify", NULL, "", "Check it whole, and against the machine; shows its pods.",
	 state_verify},
	{"dump", NULL, "", "The file as it is.", state_dump},
	{"import", NULL, "kubelet FILE…",
	 "Take a node over from a kubelet's state files; the agent must not run.", state_import},
	{0},
};

const struct noun noun_state = {
	.name = "state",
	.help = "What the agent remembers across restarts.",
	.commands = state_commands,
	.options = OPTION_TOPOLOGY | OPTION_CONFIG | OPTION_STATE | OPTION_DRY_RUN,
	.changing = {"import"},
};
