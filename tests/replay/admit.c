// SPDX-License-Identifier: Apache-2.0
/*
 * Kind admit: whole pods through alignment and the CPU manager, with memory_policy
 * Static also through the memory manager.
 *
 * Two ways. In repaired mode cases go through the ledger as in the agent: after a
 * refusal the shared pool must be what it was, while the kubelet's record shows
 * what its missing transaction left lying about. In kubelet-1.36 mode, and where
 * its defects decide what follows (a pod admitted twice, whatever came of the
 * first time: its init containers' CPUs are remembered; a bubble lost because it
 * could not be divided), the case is played by the
 * kubelet's rules: no transaction, and what a refused pod was given is swept
 * before the next step. A case that states its compatibility is never played by
 * other rules than these.
 *
 * Beside admit and remove_pod there is `restart`: the ledger is built anew from
 * its state file. Steps may come with `gauges`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/admit/admit.h"
#include "core/admit/assign.h"
#include "core/admit/refuse.h"
#include "format/state.h"
#include "pods.h"

struct player {
	struct replay *replay;
	struct json_object *line;
	const struct topology *topology;
	struct policy policy;
	struct ledger *ledger;
	bool kubelet_rules;
	bool needs_kubelet_rules; /* found on the way */
	struct cpu_reuse reuse;	  /* kubelet's rules: it outlives an admission */
	char got[CPUSET_TEXT_MAX];
};

static void free_player(struct player *player)
{
	ledger_free(player->ledger);
	free(player);
}
DEFINE_CLEANUP(struct player, free_playerp, free_player);
#define cleanup_player cleanup(free_playerp)

static bool expect(struct player *player, size_t step, const char *what, const char *wanted,
		   const char *got)
{
	if (!strcmp(wanted ? wanted : "(none)", got ? got : "(none)"))
		return true;
	replay_fail(player->replay, "step %zu: %s: want '%.1500s', got '%.1500s'", step, what,
		    wanted ? wanted : "(none)", got ? got : "(none)");
	return false;
}

static bool expect_cpus(struct player *player, size_t step, const char *what,
			struct json_object *want, const struct cpuset *got)
{
	if (got)
		cpuset_format(got, player->got, sizeof(player->got));
	return expect(player, step, what, field_text(want, what, NULL), got ? player->got : NULL);
}

static bool expect_affinity(struct player *player, size_t step, struct json_object *want,
			    const struct grant *grant)
{
	char got[32];

	snprintf(got, sizeof(got), "%llx",
		 (unsigned long long)ids_of_nodes(player->topology, grant->affinity.nodes));
	return expect(player, step, "affinity",
		      field_text(field_of(want, "affinity"), grant->container, NULL),
		      grant->affinity.known ? got : NULL);
}

static bool expect_grants(struct player *player, size_t step, struct json_object *want,
			  const struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		if (!expect_cpus(player, step, grant->container, field_of(want, "containers"),
				 grant->isolation == ISOLATION_HOST ? NULL : grant->cpus) ||
		    !expect_affinity(player, step, want, grant))
			return false;
	}
	return expect_cpus(player, step, "pod_cpus", want, pod->has_bubble ? pod->bubble : NULL);
}

/* NUMA ids by container; recorded cases have no memory to tell of. */
static bool expect_mems(struct player *player, size_t step, struct json_object *want,
			const struct ledger_pod *pod)
{
	struct json_object *mems = field_of(want, "mems");
	struct cpuset ids;

	for (uint32_t i = 0; mems && i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		topology_mems_of_mask(player->topology, grant->mems, &ids);
		if (!expect_cpus(player, step, grant->container, mems, grant->mems ? &ids : NULL))
			return false;
	}
	return true;
}

static bool remove_containers(struct player *player, const char *uid)
{
	struct ledger_pod *pod;

	if (!ledger_find(player->ledger, uid) || ledger_begin(player->ledger))
		return false;
	pod = ledger_edit_pod(player->ledger, uid);
	for (uint32_t i = 0; pod && i < pod->nr_grants; i++)
		cpu_remove(ledger_edit_shared_pool(player->ledger), pod, i);
	if (pod && pod->memory) {
		struct memory_pod memory = ledger_memory_pod(pod);

		memory_remove_pod(ledger_memory_manager(player->ledger),
				  ledger_edit_memory_state(player->ledger), &memory);
	}
	ledger_commit(player->ledger);
	return pod != NULL;
}

/*
 * As the kubelet: what is there stays, also what was given before a refusal. A pod
 * that comes again meets the sets for reuse of its first try: four recorded cases
 * show that the managers of the recording lived on (the affinities are still there).
 */
static int admit_as_kubelet(struct player *player, const struct pod_spec *spec,
			    struct decision *ret_decision)
{
	struct decision decision = {.wanted = -1, .available = -1};
	const struct ledger_pod *known = ledger_find(player->ledger, spec->uid);
	struct assignment assignment;
	struct ledger_pod *pod;
	int r = ledger_begin(player->ledger);

	if (r)
		return r;
	pod = known ? ledger_edit_pod(player->ledger, spec->uid)
		    : ledger_new_pod(player->ledger, spec);
	r = -ENOMEM;
	if (pod) {
		assign_begin(&assignment, player->ledger, pod, &player->reuse);
		r = assign_finish(&assignment);
	}
	decision.admitted = !r && !assignment.outcome;
	if (!r && assignment.outcome)
		r = refuse_assignment(&assignment, &decision);
	ledger_commit(player->ledger);
	*ret_decision = decision;
	return r;
}

/* What the manager that refused said; NULL when alignment did. */
static const char *error_of(const struct decision *decision)
{
	if (decision->memory_result)
		return memory_result_name(decision->memory_result);
	return decision->cpu_result ? cpu_result_name(decision->cpu_result) : NULL;
}

/* The kubelet's reason says it all unless it is the one for what nobody expected. */
static bool expect_refusal(struct player *player, size_t step, struct json_object *want,
			   const struct decision *decision)
{
	const char *error = field_text(want, "error", NULL);
	bool is_named = error || !strcmp(decision->reason, "UnexpectedAdmissionError");

	return expect(player, step, "reason", field_text(want, "reason", NULL), decision->reason) &&
	       (!is_named || expect(player, step, "error", error, error_of(decision)));
}

static bool was_asked_before(const struct player *player, size_t step, const char *uid)
{
	struct json_object *steps = field_of(player->line, "steps");

	for (size_t i = 0; i < step; i++) {
		struct json_object *earlier = json_object_array_get_idx(steps, i);

		if (!strcmp(field_text(earlier, "op", ""), "admit") &&
		    !strcmp(field_text(earlier, "pod", ""), uid))
			return true;
	}
	return false;
}

static bool play_admit(struct player *player, size_t step, const char *uid,
		       struct json_object *want)
{
	struct json_object *object = field_of(field_of(player->line, "pods"), uid);
	struct pod_spec *spec cleanup_pod_spec = read_pod(object, uid, 0);
	struct cpuset before = *ledger_shared_pool(player->ledger);
	struct decision decision;
	int r;

	if (!spec)
		return expect(player, step, "memory", "enough", "none");
	r = player->kubelet_rules ? admit_as_kubelet(player, spec, &decision)
				  : admit_pod(player->ledger, spec, &decision);
	if (r)
		return expect(player, step, "result", "a decision", "an error");
	if (was_asked_before(player, step, uid) ||
	    (!decision.admitted && decision.refusal == REFUSAL_POD_BUDGET))
		player->needs_kubelet_rules = true;
	if (!expect(player, step, "admit", field_bool(want, "admit") ? "true" : "false",
		    decision.admitted ? "true" : "false"))
		return false;
	if (!decision.admitted && !player->kubelet_rules)
		return expect_refusal(player, step, want, &decision) &&
		       expect(player, step, "pool after the refusal", "unchanged",
			      cpuset_equal(&before, ledger_shared_pool(player->ledger))
				      ? "unchanged"
				      : "changed");
	if (!expect_cpus(player, step, "default", want, ledger_shared_pool(player->ledger)))
		return false;
	if (decision.admitted)
		return expect_grants(player, step, want, ledger_find(player->ledger, uid)) &&
		       expect_mems(player, step, want, ledger_find(player->ledger, uid));
	remove_containers(player, uid);
	return expect_refusal(player, step, want, &decision);
}

static bool play_remove(struct player *player, size_t step, const char *uid,
			struct json_object *want)
{
	if (player->kubelet_rules) {
		remove_containers(player, uid);
	} else {
		int r = ledger_remove(player->ledger, uid);

		/* a vector also removes pods that were refused */
		if (r && r != -ENOENT)
			return expect(player, step, "removal", "done", strerror(-r));
	}
	return expect_cpus(player, step, "default", want, ledger_shared_pool(player->ledger));
}

/* A new ledger out of the state file of the old one. */
static bool play_restart(struct player *player, size_t step, struct json_object *want)
{
	struct state *state cleanup_state = NULL;
	struct text text cleanup_text = {0};
	struct format_error problem = {0};
	char error[256] = "";

	state_encode(player->ledger, "boot", &text);
	if (text.error || state_decode(text.data, text.len, player->topology, &problem, &state))
		return expect(player, step, "state file", "readable", problem.message);
	ledger_free(player->ledger);
	player->ledger = NULL;
	if (ledger_new(player->topology, &player->policy, error, sizeof(error), &player->ledger))
		return expect(player, step, "restart", "a ledger", error);
	for (uint32_t i = 0; i < state->nr_pods; i++) {
		if (ledger_restore(player->ledger, &state->pods[i].pod, error, sizeof(error)))
			return expect(player, step, "restart", "the pod", error);
	}
	return expect_cpus(player, step, "default", want, ledger_shared_pool(player->ledger));
}

static bool expect_count(struct player *player, size_t step, struct json_object *want,
			 const char *name, uint32_t got)
{
	char wanted[32], text[32];

	snprintf(wanted, sizeof(wanted), "%lld", (long long)field_int(want, name, -1));
	snprintf(text, sizeof(text), "%u", got);
	return expect(player, step, name, wanted, text);
}

static bool expect_states(struct player *player, size_t step, struct json_object *want,
			  const struct cpu_states *states, const struct cpuset *among)
{
	return expect_count(player, step, want, "exclusive",
			    cpuset_count_common(&states->exclusive, among)) &&
	       expect_count(player, step, want, "pod_shared",
			    cpuset_count_common(&states->pod_shared, among)) &&
	       expect_count(player, step, want, "shared",
			    cpuset_count_common(&states->shared, among)) &&
	       expect_count(player, step, want, "reserved",
			    cpuset_count_common(&states->reserved, among));
}

static bool expect_gauges(struct player *player, size_t step, struct json_object *want)
{
	const struct topology *topology = player->topology;
	struct cpu_states states;

	if (!want)
		return true;
	ledger_cpu_states(player->ledger, &states);
	for (uint32_t i = 0; i < topology->nodes.nr; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", topology->nodes.ids[i]);
		if (!expect_states(player, step, field_of(field_of(want, "numa"), id), &states,
				   &topology->nodes.cpus[i]))
			return false;
	}
	return expect_states(player, step, want, &states, &topology->all);
}

static bool play_step(struct player *player, size_t step, struct json_object *object,
		      struct json_object *want)
{
	const char *op = field_text(object, "op", ""), *uid = field_text(object, "pod", "");
	bool played;

	if (!strcmp(op, "admit"))
		played = play_admit(player, step, uid, want);
	else if (!strcmp(op, "restart"))
		played = play_restart(player, step, want);
	else if (!strcmp(op, "remove_pod"))
		played = play_remove(player, step, uid, want);
	else
		played = expect(player, step, "op", op, NULL);
	return played && expect_gauges(player, step, field_of(want, "gauges"));
}

static enum outcome play(struct player *player)
{
	struct json_object *line = player->line;
	struct json_object *want = player->kubelet_rules ? field_of(line, "want")
							 : replay_want(player->replay, line);
	struct json_object *steps = field_of(line, "steps"), *answers = field_of(want, "steps");
	const char *failure = read_policy(player->replay, line, player->topology, &player->policy);
	char error[256];

	if (player->kubelet_rules && !compatibility_is_kubelet(player->policy.compatibility))
		player->policy.compatibility = COMPATIBILITY_KUBELET_1_36;
	if (failure ||
	    ledger_new(player->topology, &player->policy, error, sizeof(error), &player->ledger))
		return replay_fail(player->replay, "start: %s", failure ? failure : error);
	if (!expect_cpus(player, 0, "start_default", want, ledger_shared_pool(player->ledger)))
		return OUTCOME_FAILED;
	for (size_t i = 0; i < json_object_array_length(steps); i++) {
		if (!play_step(player, i, json_object_array_get_idx(steps, i),
			       json_object_array_get_idx(answers, i)))
			return OUTCOME_FAILED;
	}
	return OUTCOME_PASSED;
}

static enum outcome play_by(struct replay *replay, struct json_object *line, bool kubelet_rules,
			    bool *ret_needs_kubelet_rules)
{
	struct player *player cleanup_player = calloc(1, sizeof(*player));
	enum outcome outcome;

	if (!player)
		return replay_fail(replay, "no memory");
	player->replay = replay;
	player->line = line;
	player->kubelet_rules = kubelet_rules;
	player->topology = replay_topology(replay, line);
	if (!player->topology || !replay_want(replay, line))
		return replay_fail(replay, "the case lacks topo or want");
	outcome = play(player);
	*ret_needs_kubelet_rules = player->needs_kubelet_rules;
	return outcome;
}

enum outcome replay_admit(struct replay *replay, struct json_object *line)
{
	bool as_kubelet = compatibility_is_kubelet(replay->compatibility);
	bool needs_kubelet_rules = false;
	enum outcome outcome = play_by(replay, line, as_kubelet, &needs_kubelet_rules);

	if (as_kubelet || outcome != OUTCOME_FAILED || !needs_kubelet_rules ||
	    field_of(line, "compatibility"))
		return outcome;
	replay->why[0] = '\0';
	replay->kubelet_rules = true;
	return play_by(replay, line, true, &needs_kubelet_rules);
}
