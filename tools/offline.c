// SPDX-License-Identifier: Apache-2.0
/*
 * What can be said without the agent: the state file on top of machine and
 * configuration, and the pins of the BPF side.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <pinfold/names.h>

#include "pins.h"
#include "snapshot.h"

/* --- from the state file ---------------------------------------------------------------------- */

static struct json_object *offline_node(const struct snapshot *snapshot)
{
	struct finding_row finding = {
		.kind = FINDING_AGENT_DOWN,
		.message = "the agent is not running; this information is from the state file",
		.remedy = "start pinfoldd",
	};
	struct utsname name;
	/* where the options name what to look at no agent was asked: none is missing either */
	struct view_node row = {
		.source = snapshot->is_named ? "options" : "state",
		.mode = run_mode_name(snapshot->config->mode),
		.workload_root = PINFOLD_WORKLOAD_ROOT,
		.ready = snapshot->is_named ? -1 : 0,
		.nr_findings = snapshot->is_named ? 0 : 1,
		.findings = &finding,
	};

	if (snapshot->machine.live && !uname(&name))
		row.kernel = name.release;
	return view_node(snapshot->ledger, &row);
}

static struct json_object *offline_policy(const struct snapshot *snapshot)
{
	return view_policy(snapshot->config, snapshot->config_file, &snapshot->config->policy,
			   ledger_reserved(snapshot->ledger));
}

static struct json_object *offline_state(const struct snapshot *snapshot)
{
	const struct state *state = snapshot->state.decoded;
	struct view_state row = {
		.file = snapshot->state.file,
		.present = snapshot->state.present,
		.writable = -1,
		.version = state ? state_version(snapshot->ledger) : -1,
		.boot_id = state ? state->boot_id : NULL,
		.written_ns = snapshot->state.written_ns,
		.nr_pods = state ? (int64_t)state->nr_pods : -1,
		.nr_containers = state ? 0 : -1,
		.problem = *snapshot->state.problem ? snapshot->state.problem : NULL,
	};

	for (uint32_t i = 0; state && i < state->nr_pods; i++)
		row.nr_containers += state->pods[i].pod.nr_grants;
	return view_state(&row);
}

static struct json_object *offline_containers(const struct snapshot *snapshot)
{
	return view_containers(snapshot->ledger, NULL, NULL, 0);
}

static struct json_object *offline_cpus(const struct snapshot *snapshot)
{
	return view_cpus(snapshot->ledger);
}

static struct json_object *offline_numa_nodes(const struct snapshot *snapshot)
{
	return view_numas(snapshot->ledger, NULL, NULL);
}

static struct json_object *offline_pods(const struct snapshot *snapshot)
{
	return view_pods(snapshot->ledger, NULL);
}

static struct json_object *offline_explanations(const struct snapshot *snapshot)
{
	return snapshot_explain(snapshot, NULL, 0);
}

static const struct {
	const char *noun;
	struct json_object *(*build)(const struct snapshot *snapshot);
	unsigned int flags;
} builders[] = {
	{"node", offline_node, SNAPSHOT_POLICY_OF_STATE},
	{"cpu", offline_cpus, SNAPSHOT_POLICY_OF_STATE},
	{"numa", offline_numa_nodes, SNAPSHOT_POLICY_OF_STATE},
	{"pod", offline_pods, SNAPSHOT_POLICY_OF_STATE},
	{"explain", offline_explanations, SNAPSHOT_POLICY_OF_STATE},
	{"container", offline_containers, SNAPSHOT_POLICY_OF_STATE},
	{"policy", offline_policy, SNAPSHOT_POLICY_OF_STATE},
	{"state", offline_state, SNAPSHOT_POLICY_OF_STATE | SNAPSHOT_DAMAGED_STATE},
};

/* Not asked for by name, the state file is all there is to go by. */
static int say_source(struct session *session, const char *noun)
{
	char *file cleanup_free = NULL, *socket cleanup_free = NULL;
	bool present;
	int r;

	if (session->options.given)
		return STATUS_DONE;
	r = snapshot_find_state(session, &file, &present);
	if (r)
		return r;
	socket = source_socket(session);
	if (!present)
		return out_fail(session, STATUS_UNREACHABLE,
				"%s: no agent listens on %s and there is no state file %s; start "
				"pinfoldd, or set another location with -S or --socket",
				noun, socket ? socket : "its socket", file);
	out_note("no agent listens on %s; this information is from %s",
		 socket ? socket : "its socket", file);
	return STATUS_DONE;
}

static int fetch_from_state(struct session *session, size_t i, struct json_object **ret_json)
{
	struct snapshot snapshot cleanup_snapshot = {0};
	struct json_object *json;
	int r;

	r = say_source(session, builders[i].noun);
	if (!r)
		r = snapshot_open(session, builders[i].flags, &snapshot);
	if (r)
		return r;
	json = builders[i].build(&snapshot);
	if (!json)
		return out_no_memory(session);
	*ret_json = json;
	return STATUS_DONE;
}

int offline_fetch(struct session *session, const char *noun, struct json_object **ret_json)
{
	char *socket cleanup_free = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(builders); i++) {
		if (!strcmp(builders[i].noun, noun))
			return fetch_from_state(session, i, ret_json);
	}
	if (!strcmp(noun, "prog"))
		return pins_fetch_progs(session, ret_json);
	if (!strcmp(noun, "map"))
		return pins_fetch_maps(session, ret_json);
	if (!strcmp(noun, "feature"))
		return pins_fetch_features(session, ret_json);
	socket = source_socket(session);
	return out_fail(session, STATUS_UNREACHABLE,
			"no agent listens on %s, and only a running agent has this information "
			"(%s); start pinfoldd",
			socket ? socket : "its socket", noun);
}
