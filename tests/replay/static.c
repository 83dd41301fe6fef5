// SPDX-License-Identifier: Apache-2.0
/*
 * Kind static (and its start-only form): the CPU manager step by step, without
 * the ledger above it, because the recorded steps include states that the
 * ledger does not allow.
 */
#include <stdio.h>
#include <string.h>

#include "pods.h"

struct player {
	struct replay *replay;
	const struct topology *topology;
	struct policy policy;
	struct cpu_manager manager;
	struct cpuset shared;
	struct cpu_reuse reuse;
	size_t nr_pods;
	struct ledger_pod *pods; /* room for every pod that the case names */
	char wanted[CPUSET_TEXT_MAX], got[CPUSET_TEXT_MAX];
};

static void free_player(struct player *player)
{
	for (size_t i = 0; i < player->nr_pods; i++) {
		pod_spec_free(player->pods[i].spec);
		free(player->pods[i].grants);
		free(player->pods[i].sets);
	}
	free(player->pods);
	free(player);
}
DEFINE_CLEANUP(struct player, free_playerp, free_player);
#define cleanup_player cleanup(free_playerp)

static struct ledger_pod *find_pod(struct player *player, const char *uid)
{
	for (size_t i = 0; i < player->nr_pods; i++) {
		if (!strcmp(player->pods[i].spec->uid, uid))
			return &player->pods[i];
	}
	return NULL;
}

static uint32_t find_container(const struct ledger_pod *pod, const char *name)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!strcmp(pod->grants[i].container, name))
			return i;
	}
	return UINT32_MAX;
}

/* A state may name containers that the pod does not have: they are added, asking for nothing. */
static bool add_pod(struct player *player, const char *uid, struct json_object *object,
		    struct json_object *entries)
{
	uint32_t extra = entries ? (uint32_t)json_object_object_length(entries) : 0;
	struct ledger_pod *pod = &player->pods[player->nr_pods];

	pod->spec = read_pod(object, uid, extra);
	if (!pod->spec)
		return false;
	player->nr_pods++;
	pod->qos = pod_qos(pod->spec);
	pod->grants = calloc(pod->spec->nr_containers + extra + 1, sizeof(*pod->grants));
	if (!pod->grants)
		return false;
	for (uint32_t i = 0; i < pod->spec->nr_containers; i++) {
		memcpy(pod->grants[i].container, pod->spec->containers[i].name,
		       sizeof(pod->grants[i].container));
		pod->grants[i].kind = pod->spec->containers[i].kind;
	}
	pod->nr_grants = pod->spec->nr_containers;
	return !ledger_pod_own_sets(pod);
}

static struct grant *add_phantom(struct ledger_pod *pod, const char *name)
{
	struct container_spec *container = &pod->spec->containers[pod->spec->nr_containers++];
	struct grant *grant = &pod->grants[pod->nr_grants++];

	snprintf(container->name, sizeof(container->name), "%s", name);
	memcpy(grant->container, container->name, sizeof(grant->container));
	container->kind = grant->kind = CONTAINER_APP;
	container->request = container->limit = RESOURCES_UNSET;
	return ledger_pod_own_sets(pod) ? NULL : grant;
}

static bool restore_entries(struct ledger_pod *pod, struct json_object *entries,
			    struct cpuset *assigned)
{
	json_object_object_foreach (entries, name, text) {
		uint32_t index = find_container(pod, name);
		struct grant *grant = index == UINT32_MAX ? add_phantom(pod, name)
							  : &pod->grants[index];

		(void)text;
		if (!grant || !field_cpus(entries, name, ledger_pod_edit(pod, grant->cpus)))
			return false;
		grant->isolation = ISOLATION_CONTAINER;
		cpuset_union(ledger_pod_edit(pod, pod->held), grant->cpus);
		cpuset_union(assigned, grant->cpus);
	}
	return true;
}

static size_t nr_members(struct json_object *object)
{
	return object ? (size_t)json_object_object_length(object) : 0;
}

static bool read_pods(struct player *player, struct json_object *line, struct json_object *entries,
		      struct json_object *bubbles)
{
	struct json_object *pods = field_of(line, "pods");

	player->pods = calloc(nr_members(pods) + nr_members(entries) + nr_members(bubbles) + 1,
			      sizeof(*player->pods));
	if (!player->pods)
		return false;
	if (pods) {
		json_object_object_foreach (pods, uid, object) {
			if (!add_pod(player, uid, object, field_of(entries, uid)))
				return false;
		}
	}
	if (entries) {
		json_object_object_foreach (entries, uid, object) {
			if (!find_pod(player, uid) && !add_pod(player, uid, NULL, object))
				return false;
		}
	}
	if (bubbles) {
		json_object_object_foreach (bubbles, uid, text) {
			(void)text;
			if (!find_pod(player, uid) && !add_pod(player, uid, NULL, NULL))
				return false;
		}
	}
	return true;
}

static bool read_reuse(struct player *player, struct json_object *line)
{
	struct json_object *reuse = field_of(line, "reuse");

	if (!reuse)
		return true;
	json_object_object_foreach (reuse, uid, text) {
		(void)text;
		if (!field_copy(uid, player->reuse.uid, sizeof(player->reuse.uid)) ||
		    !field_cpus(reuse, uid, &player->reuse.cpus))
			return false;
	}
	return true;
}

/* NULL, or what the kubelet would not start with. */
static const char *read_state(struct player *player, struct json_object *line)
{
	struct json_object *state = field_of(line, "state");
	struct json_object *entries = field_of(state, "entries");
	struct json_object *bubbles = field_of(state, "pod_entries");
	struct cpuset assigned = CPUSET_EMPTY, bubble = CPUSET_EMPTY;
	enum cpu_state_problem problem;

	if (!read_pods(player, line, entries, bubbles) || !read_reuse(player, line) ||
	    (state && !field_cpus(state, "default", &player->shared)))
		return "unreadable state";
	if (entries) {
		json_object_object_foreach (entries, uid, object) {
			if (!restore_entries(find_pod(player, uid), object, &assigned))
				return "unreadable state";
		}
	}
	if (bubbles) {
		json_object_object_foreach (bubbles, uid, text) {
			struct ledger_pod *pod = find_pod(player, uid);

			(void)text;
			if (!pod || !field_cpus(bubbles, uid, ledger_pod_edit(pod, pod->bubble)))
				return "unreadable state";
			pod->has_bubble = true;
			*ledger_pod_edit(pod, pod->held) = *pod->bubble;
			cpuset_union(&bubble, pod->bubble);
		}
	}
	if (field_bool(line, "no_start"))
		return NULL;
	problem = cpu_validate_state(&player->manager, &player->shared, &assigned,
				     entries && json_object_object_length(entries) > 0,
				     player->policy.pod_level_managers ? &bubble : NULL);
	return problem ? cpu_state_problem_name(problem) : NULL;
}

static bool expect_text(struct player *player, size_t step, const char *what, const char *wanted,
			const char *got)
{
	if (!wanted && !got)
		return true;
	if (wanted && got && !strcmp(wanted, got))
		return true;
	replay_fail(player->replay, "step %zu: %s: want '%.1500s', got '%.1500s'", step, what,
		    wanted ? wanted : "(none)", got ? got : "(none)");
	return false;
}

static bool expect_cpus(struct player *player, size_t step, const char *what,
			struct json_object *want, const struct cpuset *got)
{
	const char *wanted = field_text(want, what, NULL);

	if (got)
		cpuset_format(got, player->got, sizeof(player->got));
	return expect_text(player, step, what, wanted, got ? player->got : NULL);
}

static bool expect_hints(struct player *player, size_t step, struct json_object *want,
			 const struct cpu_offer *offer)
{
	struct hint *hints cleanup_free = NULL;
	struct json_object *wanted;
	size_t nr_wanted;
	uint32_t nr = 0;

	json_object_object_get_ex(want, "hints", &wanted);
	if (!wanted || offer->opinion == CPU_NO_OPINION)
		return expect_text(player, step, "hints", wanted ? "some" : "null",
				   offer->opinion == CPU_NO_OPINION ? "null" : "some");
	nr_wanted = json_object_array_length(wanted);
	if (cpu_offer_list(offer, &hints, &nr))
		return expect_text(player, step, "hints", "some", "more nodes than can be listed");
	for (size_t i = 0; i < nr && i < nr_wanted; i++) {
		struct json_object *pair = json_object_array_get_idx(wanted, i);
		char got[32], expected[32];

		snprintf(got, sizeof(got), "%llx %d",
			 (unsigned long long)ids_of_nodes(player->topology, hints[i].nodes),
			 hints[i].preferred);
		snprintf(expected, sizeof(expected), "%.20s %d",
			 json_object_get_string(json_object_array_get_idx(pair, 0)),
			 json_object_get_int(json_object_array_get_idx(pair, 1)));
		if (!expect_text(player, step, "hint", expected, got))
			return false;
	}
	snprintf(player->wanted, sizeof(player->wanted), "%zu", nr_wanted);
	snprintf(player->got, sizeof(player->got), "%u", nr);
	return expect_text(player, step, "number of hints", player->wanted, player->got);
}

static bool expect_containers(struct player *player, size_t step, struct json_object *want,
			      const struct ledger_pod *pod, bool granted)
{
	struct json_object *containers = field_of(want, "containers");

	for (uint32_t i = 0; granted && i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		if (!expect_cpus(player, step, grant->container, containers,
				 grant->isolation == ISOLATION_HOST ? NULL : grant->cpus))
			return false;
	}
	return true;
}

static const char *error_name(enum cpu_result result)
{
	return result ? cpu_result_name(result) : NULL;
}

static bool play_allocate(struct player *player, size_t step, struct json_object *object,
			  struct json_object *want, struct ledger_pod *pod, uint32_t index)
{
	struct cpu_affinity affinity = read_affinity(player->topology, field_of(object, "hint"));
	const struct grant *grant = &pod->grants[index];
	struct cpu_shortage shortage;
	enum cpu_result result = cpu_allocate(&player->manager, &player->shared, pod, index,
					      &affinity, &player->reuse, &shortage);

	return expect_text(player, step, "error", field_text(want, "error", NULL),
			   error_name(result)) &&
	       (result || expect_cpus(player, step, "cpus", want,
				      grant->isolation == ISOLATION_HOST ? NULL : grant->cpus)) &&
	       expect_cpus(player, step, "default", want, &player->shared);
}

static bool play_allocate_pod(struct player *player, size_t step, struct json_object *object,
			      struct json_object *want, struct ledger_pod *pod)
{
	struct cpu_affinity affinity = read_affinity(player->topology, field_of(object, "hint"));
	struct cpu_shortage shortage;
	enum cpu_result result =
		cpu_allocate_pod(&player->manager, &player->shared, pod, &affinity, &shortage);
	const struct cpuset *bubble = pod->has_bubble ? pod->bubble : NULL;

	return expect_text(player, step, "error", field_text(want, "error", NULL),
			   error_name(result)) &&
	       expect_cpus(player, step, "pod_cpus", want, bubble) &&
	       expect_containers(player, step, want, pod, !result) &&
	       expect_cpus(player, step, "default", want, &player->shared);
}

static bool play_hints(struct player *player, size_t step, struct json_object *want,
		       const struct ledger_pod *pod, uint32_t index)
{
	struct cpu_offer offer;

	if (index == UINT32_MAX)
		cpu_offer_pod(&player->manager, &player->shared, pod, &player->reuse, &offer);
	else
		cpu_offer_container(&player->manager, &player->shared, pod, index, &player->reuse,
				    &offer);
	return expect_hints(player, step, want, &offer);
}

static bool play_step(struct player *player, size_t step, struct json_object *object,
		      struct json_object *want)
{
	const char *op = field_text(object, "op", "");
	struct ledger_pod *pod = find_pod(player, field_text(object, "pod", ""));
	uint32_t index = pod ? find_container(pod, field_text(object, "container", ""))
			     : UINT32_MAX;

	if (!strcmp(op, "remove")) {
		if (pod && index != UINT32_MAX)
			cpu_remove(&player->shared, pod, index);
		return expect_cpus(player, step, "default", want, &player->shared);
	}
	if (!pod)
		return expect_text(player, step, "pod", field_text(object, "pod", ""), NULL);
	if (!strcmp(op, "pod_hints"))
		return play_hints(player, step, want, pod, UINT32_MAX);
	if (!strcmp(op, "allocate_pod"))
		return play_allocate_pod(player, step, object, want, pod);
	if (index == UINT32_MAX)
		return expect_text(player, step, "container", field_text(object, "container", ""),
				   NULL);
	if (!strcmp(op, "hints"))
		return play_hints(player, step, want, pod, index);
	if (!strcmp(op, "allocate"))
		return play_allocate(player, step, object, want, pod, index);
	return expect_text(player, step, "op", op, NULL);
}

static const char *start(struct player *player, struct json_object *line)
{
	const char *failure;
	char error[256];

	failure = read_policy(player->replay, line, player->topology, &player->policy);
	if (failure)
		return failure;
	if (player->policy.has_reserved_list &&
	    !cpuset_is_subset(&player->policy.reserved_list, &player->topology->all))
		return "reserved-unknown-cpu";
	if (cpu_manager_init(&player->manager, player->topology, &player->policy, error,
			     sizeof(error)))
		return "reserve-failed";
	return read_state(player, line);
}

static enum outcome play(struct player *player, struct json_object *line)
{
	struct json_object *want = replay_want(player->replay, line);
	struct json_object *steps = field_of(line, "steps"), *answers = field_of(want, "steps");
	const char *failure = start(player, line);
	struct cpuset allocatable = player->topology->all;
	size_t nr = steps ? json_object_array_length(steps) : 0;

	if (!expect_text(player, 0, "start_error", field_text(want, "start_error", NULL), failure))
		return OUTCOME_FAILED;
	if (failure)
		return OUTCOME_PASSED;
	cpuset_subtract(&allocatable, &player->manager.reserved);
	if (!expect_cpus(player, 0, "reserved", want, &player->manager.reserved))
		return OUTCOME_FAILED;
	if (!field_bool(line, "no_start") &&
	    (!expect_cpus(player, 0, "start_default", want, &player->shared) ||
	     !expect_cpus(player, 0, "allocatable", want, &allocatable)))
		return OUTCOME_FAILED;
	for (size_t i = 0; i < nr; i++) {
		if (!play_step(player, i, json_object_array_get_idx(steps, i),
			       json_object_array_get_idx(answers, i)))
			return OUTCOME_FAILED;
	}
	return OUTCOME_PASSED;
}

enum outcome replay_static(struct replay *replay, struct json_object *line)
{
	struct player *player cleanup_player = calloc(1, sizeof(*player));

	if (!player)
		return replay_fail(replay, "no memory");
	player->replay = replay;
	player->topology = replay_topology(replay, line);
	if (!player->topology || !replay_want(replay, line))
		return replay_fail(replay, "the case lacks topo or want");
	return play(player, line);
}
