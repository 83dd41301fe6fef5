// SPDX-License-Identifier: Apache-2.0
/*
 * Machine, configuration and ledger, put together without the agent. Reads
 * only; each failure is reported here, where file and value are known.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <pinfold/names.h>

#include "lib/file.h"
#include "snapshot.h"

void snapshot_fini(struct snapshot *snapshot)
{
	ledger_free(snapshot->ledger);
	state_free(snapshot->state.decoded);
	free(snapshot->state.file);
	machine_fini(&snapshot->machine);
	free(snapshot->config);
	free(snapshot->config_file);
	*snapshot = (struct snapshot){0};
}

int snapshot_path(struct session *session, const char *directory, const char *file, char **ret_path)
{
	char *joined cleanup_free = NULL;
	char *path = NULL;

	if (asprintf(&joined, "%s%s%s", directory, *file ? "/" : "", file) >= 0)
		path = source_path(session, joined);
	if (!path)
		return out_no_memory(session);
	*ret_path = path;
	return STATUS_DONE;
}

static const char *topology_of(const struct session *session)
{
	return session->options.topology ? session->options.topology : "live";
}

static bool is_this_machine(const struct session *session)
{
	return !strcmp(topology_of(session), "live");
}

int snapshot_read_machine(struct session *session, struct machine *ret_machine)
{
	const char *root = session->options.root ? session->options.root : "/";
	char error[MACHINE_ERROR_MAX];
	int r;

	r = machine_read(topology_of(session), root, error, sizeof(error), ret_machine);
	if (r == -ENOMEM)
		return out_no_memory(session);
	return r ? out_fail(session, STATUS_INPUT, "%s", error) : STATUS_DONE;
}

static int lay_over(struct session *session, const char *file, struct config *config)
{
	char text[FORMAT_ERROR_TEXT_MAX];
	char *data cleanup_free = NULL;
	struct format_error error;
	size_t len;
	int r;

	r = source_read(session, file, CONFIG_MAX_BYTES, &data, &len);
	if (r)
		return r;
	r = config_parse(data, len, &error, config);
	if (r == -EINVAL)
		return out_fail(session, STATUS_INPUT, "%s",
				format_error_text(&error, file, text, sizeof(text)));
	return r ? out_no_memory(session) : STATUS_DONE;
}

int snapshot_read_config(struct session *session, const char *file, struct config **ret_config)
{
	struct config *config cleanup_free = malloc(sizeof(*config));
	int r = STATUS_DONE;

	if (!config)
		return out_no_memory(session);
	config_default(config);
	if (file)
		r = lay_over(session, file, config);
	if (r)
		return r;
	*ret_config = TAKE_PTR(config);
	return STATUS_DONE;
}

static int report_policy(struct session *session, const char *file, int error, const char *sentence)
{
	if (error == -ENOMEM)
		return out_no_memory(session);
	return error ? out_fail(session, STATUS_INPUT, "%s: %s",
				file ? file : "built-in defaults (no --config FILE given)",
				sentence)
		     : STATUS_DONE;
}

int snapshot_check_config(struct session *session, const char *file, const struct machine *machine,
			  struct config *config)
{
	struct cpuset special;
	char error[512] = "";
	int r;

	machine_special_cpus(machine, &special);
	r = config_check(config, machine->topology, &special, &config->policy, error,
			 sizeof(error));
	return report_policy(session, file, r, error);
}

int snapshot_new_ledger(struct session *session, const char *config_file,
			const struct topology *topology, const struct policy *policy,
			struct ledger **ret_ledger)
{
	char error[512] = "";
	int r;

	r = policy_check(policy, topology, error, sizeof(error));
	if (!r)
		r = ledger_new(topology, policy, error, sizeof(error), ret_ledger);
	if (!r)
		ledger_set_kernel_free(*ret_ledger, topology->memory_nodes,
				       topology->nr_memory_nodes);
	return report_policy(session, config_file, r, error);
}

/* The usual file counts only for the machine it belongs to; NULL = none is there. */
static int find_config(struct session *session, char **ret_file)
{
	const char *named = session->options.config;
	char *file cleanup_free = NULL;

	*ret_file = NULL;
	if (!named && !is_this_machine(session))
		return STATUS_DONE;
	file = named ? strdup(named) : source_path(session, PINFOLD_CONFIG_FILE);
	if (!file)
		return out_no_memory(session);
	if (named || !faccessat(AT_FDCWD, file, F_OK, 0) || errno != ENOENT)
		*ret_file = TAKE_PTR(file);
	return STATUS_DONE;
}

/* --- state ------------------------------------------------------------------------------------ */

static int64_t modified_ns(const char *file)
{
	struct stat status;

	if (stat(file, &status))
		return -1;
	return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

/* The state of this machine says nothing about another one. */
static int find_state(struct session *session, const struct config *config,
		      struct snapshot_state *state)
{
	int r;

	state->written_ns = -1;
	/* "none" is for simulating on this machine as if nothing ran */
	if (session->options.state && !strcmp(session->options.state, "none")) {
		state->file = strdup("none");
		return state->file ? STATUS_DONE : out_no_memory(session);
	}
	if (session->options.state) {
		state->present = true;
		state->file = strdup(session->options.state);
		return state->file ? STATUS_DONE : out_no_memory(session);
	}
	r = snapshot_path(session, config->state_directory, PINFOLD_STATE_FILE, &state->file);
	if (r)
		return r;
	state->present = is_this_machine(session) &&
			 (!faccessat(AT_FDCWD, state->file, F_OK, 0) || errno != ENOENT);
	return STATUS_DONE;
}

int snapshot_find_state(struct session *session, char **ret_file, bool *ret_present)
{
	struct config *config cleanup_free = NULL;
	char *config_file cleanup_free = NULL;
	struct snapshot_state state = {0};
	int r = find_config(session, &config_file);

	if (!r)
		r = snapshot_read_config(session, config_file, &config);
	if (!r)
		r = find_state(session, config, &state);
	if (r)
		return r;
	*ret_file = state.file;
	*ret_present = state.present;
	return STATUS_DONE;
}

/* The agent's own word where one answers: *ret_data stays NULL where none does. */
static int ask_agent(struct session *session, struct snapshot_state *state, char **ret_data)
{
	struct json_object *ledger cleanup_json = NULL;
	char *data cleanup_free = NULL, *socket cleanup_free = NULL;
	struct view_ledger row;
	int r = source_try(session, "ledger", &ledger);

	if (r || !ledger)
		return r;
	object_read(&view_ledger_desc, ledger, &row);
	data = strdup(row.state ? row.state : "");
	socket = source_socket(session);
	if (!data || !socket)
		return out_no_memory(session);
	free(state->file);
	state->file = TAKE_PTR(socket);
	state->present = true;
	*ret_data = TAKE_PTR(data);
	return STATUS_DONE;
}

static int read_state(struct session *session, unsigned int flags, struct snapshot *snapshot)
{
	struct snapshot_state *state = &snapshot->state;
	char *data cleanup_free = NULL;
	struct format_error error;
	size_t len;
	int r;

	r = find_state(session, snapshot->config, state);
	if (!r && (flags & SNAPSHOT_OF_AGENT) && snapshot->machine.live && !session->options.state)
		r = ask_agent(session, state, &data);
	if (r || !state->present)
		return r;
	if (data)
		len = strlen(data);
	else
		r = source_read(session, state->file, STATE_MAX_BYTES, &data, &len);
	if (r)
		return r;
	state->written_ns = modified_ns(state->file);
	r = state_decode(data, len, snapshot->machine.topology, &error, &state->decoded);
	if (r == -ENOMEM)
		return out_no_memory(session);
	if (!r)
		return STATUS_DONE;
	format_error_text(&error, state->file, state->problem, sizeof(state->problem));
	return flags & SNAPSHOT_DAMAGED_STATE
		       ? STATUS_DONE
		       : out_fail(session, STATUS_INPUT, "%s", state->problem);
}

static int restore_pod(struct ledger *ledger, const struct state_pod *pod, char *error,
		       size_t error_size)
{
	int r;

	if (*pod->problem) {
		snprintf(error, error_size, "%s", pod->problem);
		return -EINVAL;
	}
	r = ledger_begin(ledger);
	if (r)
		return r;
	r = ledger_restore(ledger, &pod->pod, error, error_size);
	if (r)
		ledger_abort(ledger);
	else
		ledger_commit(ledger);
	return r;
}

static int restore_pods(struct session *session, struct snapshot *snapshot)
{
	const struct state *state = snapshot->state.decoded;

	for (uint32_t i = 0; state && i < state->nr_pods; i++) {
		const struct pod_spec *spec = state->pods[i].pod.spec;
		char error[256] = "";
		int r = restore_pod(snapshot->ledger, &state->pods[i], error, sizeof(error));

		if (r == -ENOMEM)
			return out_no_memory(session);
		if (!r)
			continue;
		snapshot->state.nr_left_out++;
		out_note("%s: ignoring pod %s/%s: %s", snapshot->state.file, spec->namespace,
			 spec->name, error);
	}
	return STATUS_DONE;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int open_parts(struct session *session, unsigned int flags, struct snapshot *snapshot)
{
	const char *policy_file;
	struct cpuset special;
	int r;

	snapshot->is_named = session->options.given;
	snapshot->topology = topology_of(session);
	r = snapshot_read_machine(session, &snapshot->machine);
	if (r)
		return r;
	r = find_config(session, &snapshot->config_file);
	if (r)
		return r;
	r = snapshot_read_config(session, snapshot->config_file, &snapshot->config);
	if (r)
		return r;
	r = read_state(session, flags, snapshot);
	if (r)
		return r;
	policy_file = snapshot->config_file;
	if ((flags & SNAPSHOT_POLICY_OF_STATE) && snapshot->state.decoded &&
	    !session->options.config) {
		snapshot->config->policy = snapshot->state.decoded->policy;
		machine_special_cpus(&snapshot->machine, &special);
		policy_exclude(&snapshot->config->policy, &special);
		policy_file = snapshot->state.file;
	} else {
		r = snapshot_check_config(session, policy_file, &snapshot->machine,
					  snapshot->config);
		if (r)
			return r;
	}
	r = snapshot_new_ledger(session, policy_file, snapshot->machine.topology,
				&snapshot->config->policy, &snapshot->ledger);
	return r ? r : restore_pods(session, snapshot);
}

struct json_object *snapshot_explain(const struct snapshot *snapshot,
				     const struct refusal_row *refusals, size_t nr_refusals)
{
	/* names of cgroups do not matter here, what would be written to them does */
	const struct plan_layout layout = {.root = PINFOLD_WORKLOAD_ROOT};
	struct group_tree desired = {0};
	struct json_object *json;

	if (plan_desired(snapshot->ledger, &layout, NULL, &desired))
		return NULL;
	json = view_explains(snapshot->ledger, &desired, refusals, nr_refusals, NULL, 0);
	group_tree_fini(&desired);
	return json;
}

int snapshot_open(struct session *session, unsigned int flags, struct snapshot *ret_snapshot)
{
	int r;

	*ret_snapshot = (struct snapshot){0};
	r = open_parts(session, flags, ret_snapshot);
	if (r)
		snapshot_fini(ret_snapshot);
	return r;
}
