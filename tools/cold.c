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
#include "world.h"

/* --- from the state file ---------------------------------------------------------------------- */

static struct json_object *cold_node(const struct world *world)
{
	struct finding_row finding = {
		.name = "agent_down",
		.message = "the agent does not run; this is the state file's word",
		.remedy = "start pinfoldd",
	};
	struct utsname name;
	/* where the options name what to look at no agent was asked: none is missing either */
	struct node_row row = {
		.source = world->is_named ? "options" : "state",
		.mode = run_mode_name(world->config->mode),
		.workload_root = PINFOLD_WORKLOAD_ROOT,
		.ready = world->is_named ? -1 : 0,
		.nr_findings = world->is_named ? 0 : 1,
		.findings = &finding,
	};

	if (world->machine.live && !uname(&name))
		row.kernel = name.release;
	return view_node(world->ledger, &row);
}

static struct json_object *cold_policy(const struct world *world)
{
	return view_policy(world->config, world->config_file, &world->config->policy,
			   ledger_reserved(world->ledger));
}

static struct json_object *cold_state(const struct world *world)
{
	const struct state *state = world->state.decoded;
	struct state_row row = {
		.file = world->state.file,
		.present = world->state.present,
		.writable = -1,
		.version = state ? STATE_VERSION : -1,
		.boot_id = state ? state->boot_id : NULL,
		.written_ns = world->state.written_ns,
		.nr_pods = state ? (int64_t)state->nr_pods : -1,
		.nr_containers = state ? 0 : -1,
		.problem = *world->state.problem ? world->state.problem : NULL,
	};

	for (uint32_t i = 0; state && i < state->nr_pods; i++)
		row.nr_containers += state->pods[i].pod.nr_grants;
	return view_state(&row);
}

static struct json_object *cold_containers(const struct world *world)
{
	return view_containers(world->ledger, NULL, NULL, 0);
}

static struct json_object *cold_cpus(const struct world *world)
{
	return view_cpus(world->ledger);
}

static struct json_object *cold_pods(const struct world *world)
{
	return view_pods(world->ledger, NULL, 0);
}

static struct json_object *cold_explanations(const struct world *world)
{
	return world_explain(world, NULL, 0);
}

static const struct {
	const char *noun;
	struct json_object *(*build)(const struct world *world);
	unsigned int flags;
} builders[] = {
	{"node", cold_node, WORLD_POLICY_OF_STATE},
	{"cpu", cold_cpus, WORLD_POLICY_OF_STATE},
	{"pod", cold_pods, WORLD_POLICY_OF_STATE},
	{"explain", cold_explanations, WORLD_POLICY_OF_STATE},
	{"container", cold_containers, WORLD_POLICY_OF_STATE},
	{"policy", cold_policy, WORLD_POLICY_OF_STATE},
	{"state", cold_state, WORLD_POLICY_OF_STATE | WORLD_DAMAGED_STATE},
};

/* Not asked for by name, the state file is all there is to go by. */
static int say_source(struct session *session, const char *noun)
{
	cleanup_free char *file = NULL, *socket = NULL;
	bool present;
	int r;

	if (session->options.given)
		return STATUS_DONE;
	r = world_find_state(session, &file, &present);
	if (r)
		return r;
	socket = source_socket(session);
	if (!present)
		return out_fail(session, STATUS_UNREACHABLE,
				"%s: no agent listens on %s and there is no state file %s; start "
				"pinfoldd, or name another place with -S or --socket",
				noun, socket ? socket : "its socket", file);
	out_note("no agent listens on %s; this is from %s", socket ? socket : "its socket", file);
	return STATUS_DONE;
}

static int fetch_from_state(struct session *session, size_t i, struct json_object **ret_json)
{
	struct world world cleanup(world_fini) = {0};
	struct json_object *json;
	int r;

	r = say_source(session, builders[i].noun);
	if (!r)
		r = world_open(session, builders[i].flags, &world);
	if (r)
		return r;
	json = builders[i].build(&world);
	if (!json)
		return out_no_memory(session);
	*ret_json = json;
	return STATUS_DONE;
}

int cold_fetch(struct session *session, const char *noun, struct json_object **ret_json)
{
	cleanup_free char *socket = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(builders); i++) {
		if (!strcmp(builders[i].noun, noun))
			return fetch_from_state(session, i, ret_json);
	}
	if (!strcmp(noun, "prog"))
		return pins_fetch_progs(session, ret_json);
	if (!strcmp(noun, "feature"))
		return pins_fetch_features(session, ret_json);
	socket = source_socket(session);
	return out_fail(session, STATUS_UNREACHABLE,
			"no agent listens on %s, and only a running agent can say this (%s)",
			socket ? socket : "its socket", noun);
}
