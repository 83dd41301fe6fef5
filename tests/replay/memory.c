// SPDX-License-Identifier: Apache-2.0
/*
 * Kind memory_seq: pods through topology alignment and the memory manager, step
 * by step, with the state of every node and the counters a kubelet would show.
 *
 * Recorded cases are played by the kubelet's rules whatever the mode, without a
 * transaction, because the kubelet has none. A case that says "compatibility":
 * "repaired" is not recorded: its answers follow from the repaired rules, and
 * here a refused pod gives back all it got.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memory_case.h"

struct player {
	struct replay *replay;
	struct memory_case *memory;
	struct memory_reuse reuse;
	bool repaired;
	bool pod_level;
	enum align_scope scope;
	bool prefer_closest;
	struct json_object *metrics;
};

/* --- counters --------------------------------------------------------------------------------- */

static void count(struct player *player, const char *name, int64_t nr)
{
	struct json_object *old = field_of(player->metrics, name);

	if (!player->pod_level && !strncmp(name, "resource_manager_", 17))
		return;
	if (nr || !strncmp(name, "container_aligned", 17))
		json_object_object_add(player->metrics, name,
				       json_object_new_int64(json_object_get_int64(old) + nr));
}

static void count_aligned(struct player *player, bool success, int64_t nr)
{
	char name[128];

	snprintf(name, sizeof(name), "container_aligned_compute_resources_%scount{%s,numa_node}",
		 success ? "" : "failure_", player->scope == ALIGN_SCOPE_POD ? "pod" : "container");
	count(player, name, nr);
}

static void count_start(struct player *player)
{
	if (player->memory->policy.align == ALIGN_NONE)
		return;
	for (int scope = 0; scope < ALIGN_SCOPE_NR; scope++) {
		player->scope = (enum align_scope)scope;
		count_aligned(player, true, 0);
		count_aligned(player, false, 0);
	}
}

/* --- allocation ------------------------------------------------------------------------------- */

static enum memory_result allocate(struct player *player, struct memory_pod *pod, uint32_t index,
				   const struct hint *hint, char *text, size_t size)
{
	struct memory_case *memory = player->memory;
	bool is_there = pod->blocks->containers[index].present;
	struct memory_shortage shortage;
	struct memory_request request;
	enum memory_result result = memory_allocate(&memory->manager, &memory->state, pod, index,
						    hint, &player->reuse, &shortage);

	text[0] = '\0';
	if (!memory_is_pinned(&memory->manager, pod->spec, pod->qos))
		return MEMORY_OK;
	count(player, "memory_manager_pinning_requests_total", 1);
	memory_container_request(&memory->manager, pod->spec, index, &request);
	if (result) {
		memory_result_text(&memory->manager, result, &shortage, text, size);
		count(player, "memory_manager_pinning_errors_total", 1);
		count(player, "resource_manager_allocation_errors_total{memory,node}", 1);
	} else if (!is_there) {
		count(player, "resource_manager_allocations_total{memory,node}",
		      __builtin_popcount(request.types));
		count(player, "resource_manager_container_assignments{memory,node_exclusive}", 1);
	}
	return result;
}

static void count_division(struct player *player, const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		const struct container_spec *container = &spec->containers[i];
		bool exclusive = memory_is_exclusive(container);

		count(player, "resource_manager_allocations_total{memory,pod}", 1);
		count(player,
		      exclusive ? "resource_manager_container_assignments{memory,pod_exclusive}"
				: "resource_manager_container_assignments{memory,pod_shared}",
		      1);
		if (exclusive || container->kind != CONTAINER_APP)
			count(player, "memory_manager_pinning_requests_total", 1);
	}
}

static enum memory_result allocate_pod(struct player *player, struct memory_pod *pod,
				       const struct hint *hint, char *text, size_t size)
{
	struct memory_case *memory = player->memory;
	struct memory_shortage shortage;
	enum memory_result result =
		memory_allocate_pod(&memory->manager, &memory->state, pod, hint, &shortage);

	text[0] = '\0';
	if (!memory_is_pinned(&memory->manager, pod->spec, pod->qos))
		return MEMORY_OK;
	count(player, "memory_manager_pinning_requests_total", 1);
	if (result) {
		memory_result_text(&memory->manager, result, &shortage, text, size);
		count(player, "memory_manager_pinning_errors_total", 1);
		count(player, "resource_manager_allocation_errors_total{memory,pod}", 1);
		return result;
	}
	count_division(player, pod->spec);
	return MEMORY_OK;
}

static const char *reason_of(enum memory_result result)
{
	bool is_budget = result == MEMORY_EMPTY_POOL || result == MEMORY_EMPTY_INIT_POOL ||
			 result == MEMORY_INIT_OVER_BUDGET;

	return is_budget ? "EmptyPodSharedPoolError" : "UnexpectedAdmissionError";
}

/* --- admission -------------------------------------------------------------------------------- */

static void put_text(struct json_object *object, const char *name, const char *text)
{
	json_object_object_add(object, name, json_object_new_string(text));
}

static void refuse_merge(struct player *player, const struct pod_spec *spec,
			 struct json_object *answer)
{
	const char *message = "Resources cannot be allocated with Topology locality";

	if (spec->has_pod_resources && player->pod_level)
		message =
			player->scope == ALIGN_SCOPE_POD
				? "Pod Scope pod with pod-level resources failed admission under "
				  "pod-scope topology manager"
				: "Pod Scope pod with pod-level resources failed admission with a "
				  "container-level topology manager";
	put_text(answer, "reason", "TopologyAffinityError");
	put_text(answer, "message", message);
	count(player, "topology_manager_admission_errors_total", 1);
	if (player->memory->policy.align == ALIGN_SINGLE_NUMA_NODE)
		count_aligned(player, false, 1);
}

static void refuse_result(struct player *player, enum memory_result result, const char *text,
			  struct json_object *answer)
{
	char message[320];

	if (!strcmp(reason_of(result), "UnexpectedAdmissionError"))
		snprintf(message, sizeof(message), "Allocate failed due to %s, which is unexpected",
			 text);
	else
		snprintf(message, sizeof(message), "%s", text);
	put_text(answer, "reason", reason_of(result));
	put_text(answer, "message", message);
	if (player->memory->policy.align != ALIGN_NONE)
		count(player, "topology_manager_admission_errors_total", 1);
}

static void offer(struct player *player, struct memory_pod *pod, uint32_t index,
		  struct memory_offer *ret_offer)
{
	struct memory_case *memory = player->memory;

	if (index == UINT32_MAX)
		memory_offer_pod(&memory->manager, &memory->state, pod, &player->reuse, ret_offer);
	else
		memory_offer_container(&memory->manager, &memory->state, pod, index, &player->reuse,
				       ret_offer);
}

/* Merge what the second provider and the memory manager say; false = refused. */
static bool align(struct player *player, struct memory_pod *pod, uint32_t index,
		  struct json_object *extra, struct json_object *merged, struct hint *ret_hint)
{
	const struct topology *topology = player->memory->topology;
	const char *name = index == UINT32_MAX ? "" : pod->spec->containers[index].name;
	struct hint_list lists[MEMORY_MAX_TYPES + MEMORY_CASE_LISTS];
	struct hint *hints cleanup_free = NULL, *others[MEMORY_CASE_LISTS] = {NULL};
	struct align_problem problem = {
		.policy = player->memory->policy.align,
		.prefer_closest = player->prefer_closest,
		.nr_nodes = topology->nr_memory_nodes,
		.distances = topology->distances,
		.lists = lists,
	};
	struct alignment alignment = {.admitted = false};
	struct memory_offer memory;
	uint32_t nr = 0, nr_others;
	int r;

	nr_others = memory_case_lists(topology, field_of(extra, name), lists, others);
	r = nr_others == UINT32_MAX ? -E2BIG : 0;
	if (!r) {
		offer(player, pod, index, &memory);
		r = memory_offer_list(&memory, &hints, &nr);
	}
	if (!r) {
		problem.nr_lists =
			nr_others + memory_offer_lists(&memory, hints, nr, lists + nr_others);
		r = align_merge(&problem, &alignment);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(others); i++)
		free(others[i]);
	if (r)
		return false;
	json_object_array_add(merged, memory_case_merged(topology, name, &alignment.hint,
							 alignment.admitted));
	*ret_hint = alignment.hint;
	return alignment.admitted;
}

static bool place_each(struct player *player, struct memory_pod *pod, const struct hint *hint,
		       struct json_object *extra, struct json_object *merged,
		       struct json_object *answer)
{
	struct hint own = {.any = true};

	for (uint32_t i = 0; i < pod->spec->nr_containers; i++) {
		enum memory_result result;
		char text[256];

		if (hint) {
			own = *hint;
		} else if (merged && !align(player, pod, i, extra, merged, &own)) {
			refuse_merge(player, pod->spec, answer);
			return false;
		}
		result = allocate(player, pod, i, &own, text, sizeof(text));
		if (result) {
			refuse_result(player, result, text, answer);
			return false;
		}
		if (merged && !hint && player->memory->policy.align == ALIGN_SINGLE_NUMA_NODE)
			count_aligned(player, true, 1);
	}
	return true;
}

static bool place_whole(struct player *player, struct memory_pod *pod, struct json_object *extra,
			struct json_object *merged, struct json_object *answer)
{
	struct hint hint;
	bool placed = true;

	if (!align(player, pod, UINT32_MAX, extra, merged, &hint)) {
		refuse_merge(player, pod->spec, answer);
		return false;
	}
	if (pod->spec->has_pod_resources && player->pod_level) {
		char text[256];
		enum memory_result result = allocate_pod(player, pod, &hint, text, sizeof(text));

		if (result)
			refuse_result(player, result, text, answer);
		placed = !result;
	} else {
		placed = place_each(player, pod, &hint, extra, merged, answer);
	}
	if (placed && player->memory->policy.align == ALIGN_SINGLE_NUMA_NODE)
		count_aligned(player, true, 1);
	return placed;
}

static void admit(struct player *player, struct memory_pod *pod, struct json_object *step,
		  struct json_object *answer)
{
	bool none = player->memory->policy.align == ALIGN_NONE;
	struct json_object *extra = field_of(step, "extra");
	struct json_object *merged = none ? NULL : json_object_new_array();
	bool admitted;

	count(player, "topology_manager_admission_requests_total", 1);
	if (none || player->scope == ALIGN_SCOPE_CONTAINER)
		admitted = place_each(player, pod, NULL, extra, merged, answer);
	else
		admitted = place_whole(player, pod, extra, merged, answer);
	if (!admitted && player->repaired)
		memory_remove_pod(&player->memory->manager, &player->memory->state, pod);
	json_object_object_add(answer, "admit", json_object_new_boolean(admitted));
	json_object_object_add(answer, "merged", merged);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void play_hints(struct player *player, struct memory_pod *pod, uint32_t index,
		       struct json_object *answer)
{
	struct hint *hints cleanup_free = NULL;
	struct memory_offer memory;
	uint32_t nr = 0;

	offer(player, pod, index, &memory);
	if (memory_offer_list(&memory, &hints, &nr))
		return;
	json_object_object_add(answer, "hints", memory_case_hints(&memory, hints, nr));
}

static void play_allocate(struct player *player, struct memory_pod *pod, uint32_t index,
			  struct json_object *step, struct json_object *answer)
{
	struct hint hint = memory_case_hint(player->memory->topology, field_of(step, "hint"));
	enum memory_result result;
	char text[256];

	if (index != UINT32_MAX) {
		result = allocate(player, pod, index, &hint, text, sizeof(text));
	} else {
		result = allocate_pod(player, pod, &hint, text, sizeof(text));
		if (result)
			put_text(answer, "reason", reason_of(result));
	}
	put_text(answer, "err", text);
}

/* Repaired restarts may come to another machine and tell what became of each pod. */
static void play_restart(struct player *player, struct json_object *step,
			 struct json_object *answer)
{
	struct memory_case *memory = player->memory;
	const struct memory_blocks *blocks[MEMORY_CASE_PODS];

	player->reuse = (struct memory_reuse){.uid = ""};
	if (player->repaired) {
		const char *error = memory_case_restart(memory, step, answer);

		if (error)
			put_text(answer, "err", error);
		return;
	}
	for (uint32_t i = 0; i < memory->nr_pods; i++)
		blocks[i] = memory->pods[i].pod.blocks;
	put_text(answer, "err",
		 memory_check_state(&memory->manager, &memory->state, blocks, memory->nr_pods)
			 ? "[memorymanager] the expected machine state is different from the real "
			   "one"
			 : "");
}

static void play_pod_step(struct player *player, const char *op, struct json_object *step,
			  struct json_object *answer)
{
	struct memory_case *memory = player->memory;
	struct memory_pod *pod = memory_case_pod(memory, field_text(step, "pod", ""));
	uint32_t index = pod ? memory_case_container(pod, field_text(step, "c", NULL)) : UINT32_MAX;

	if (!pod)
		return;
	if (!strcmp(op, "hints") || !strcmp(op, "pod_hints"))
		return play_hints(player, pod, index, answer);
	if (!strcmp(op, "alloc") || !strcmp(op, "alloc_pod"))
		play_allocate(player, pod, index, step, answer);
	else if (!strcmp(op, "admit"))
		admit(player, pod, step, answer);
	else if (!strcmp(op, "start"))
		memory_started(&memory->manager, &memory->state, pod, index);
	else if (!strcmp(op, "remove"))
		memory_remove(&memory->manager, &memory->state, pod, index);
	else if (!strcmp(op, "remove_pod"))
		memory_remove_pod(&memory->manager, &memory->state, pod);
	else
		put_text(answer, "unknown", op);
	json_object_object_add(answer, "blocks", memory_case_blocks(memory, pod));
	json_object_object_add(answer, "state", memory_case_state(memory));
}

static enum outcome differ(struct replay *replay, const char *what, struct json_object *want,
			   struct json_object *got)
{
	return replay_fail(replay, "%s: want %.1700s, got %.1700s", what,
			   json_object_to_json_string(want), json_object_to_json_string(got));
}

static enum outcome play_steps(struct player *player, struct json_object *line,
			       struct json_object *want)
{
	struct json_object *ops = field_of(line, "ops"), *answers = field_of(want, "ops");

	for (size_t i = 0; i < json_object_array_length(ops); i++) {
		struct json_object *step = json_object_array_get_idx(ops, i);
		struct json_object *wanted = json_object_array_get_idx(answers, i);
		struct json_object *answer = json_object_new_object();
		const char *op = field_text(step, "op", "");
		char what[64];

		if (!strcmp(op, "restart"))
			play_restart(player, step, answer);
		else
			play_pod_step(player, op, step, answer);
		snprintf(what, sizeof(what), "step %zu (%s)", i, op);
		if (!json_object_equal(wanted, answer)) {
			differ(player->replay, what, wanted, answer);
			json_object_put(answer);
			return OUTCOME_FAILED;
		}
		json_object_put(answer);
	}
	if (field_of(want, "metrics") &&
	    !json_object_equal(field_of(want, "metrics"), player->metrics))
		return differ(player->replay, "metrics", field_of(want, "metrics"),
			      player->metrics);
	return OUTCOME_PASSED;
}

static const char *configure(struct player *player, struct json_object *line, char *error,
			     size_t size)
{
	struct json_object *topology = field_of(line, "topology");
	struct json_object *options = field_of(topology, "options");
	uint32_t max_nodes = 0;

	player->pod_level = field_bool(line, "pod_level");
	if (options) {
		json_object_object_foreach (options, name, value) {
			if (align_option_set(name, json_object_get_string(value),
					     &player->prefer_closest, &max_nodes, error, size))
				return error;
		}
	}
	if (topology)
		count_start(player);
	player->scope = !strcmp(field_text(topology, "scope", ""), "pod") ? ALIGN_SCOPE_POD
									  : ALIGN_SCOPE_CONTAINER;
	return NULL;
}

enum outcome replay_memory_seq(struct replay *replay, struct json_object *line)
{
	struct memory_case *memory cleanup_memory_case = NULL;
	struct player *player cleanup_free = calloc(1, sizeof(*player));
	struct json_object *want = field_of(line, "want");
	const char *start = field_text(want, "error", NULL), *failure;
	enum outcome outcome;
	char error[256] = "";

	if (!player)
		return replay_fail(replay, "no memory");
	player->repaired = !strcmp(field_text(line, "compatibility", ""), "repaired");
	replay->kubelet_rules = !player->repaired;
	failure = memory_case_new(line, player->repaired, error, sizeof(error), &memory);
	if (failure || start) {
		/* Sentences of our own are held to the words that matter. */
		bool same = failure && start &&
			    (player->repaired ? strstr(failure, start) != NULL
					      : !strcmp(failure, start));

		return same ? OUTCOME_PASSED
			    : replay_fail(replay, "start: want '%s', got '%s'", start ? start : "",
					  failure ? failure : "");
	}
	player->replay = replay;
	player->memory = memory;
	player->metrics = json_object_new_object();
	failure = configure(player, line, error, sizeof(error));
	outcome = failure ? replay_fail(replay, "start: %s", failure)
			  : play_steps(player, line, want);
	json_object_put(player->metrics);
	return outcome;
}
