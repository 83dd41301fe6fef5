// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger: pods in ascending order of uid, the shared pool, and transactions.
 *
 * A transaction saves the shared pool and, for each pod it touches, the record that it
 * replaces. Committed records are never modified in place, so abort only restores
 * pointers, and a commit lets each record keep equal sets of CPUs once. ledger_check.c
 * checks the invariants.
 */
#include "core/ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/ledger/ledger_check.h"

struct undo {
	struct ledger_pod *before; /* NULL = the pod did not exist */
	struct ledger_pod *after;  /* NULL = the pod was removed */
};

struct ledger {
	const struct topology *topology;
	const struct policy *policy;
	struct cpu_manager cpu;
	struct memory_manager memory;
	struct cpuset shared;
	struct memory_state memory_state; /* used only if memory is pinned */
	uint32_t nr_pods, capacity;
	struct ledger_pod **pods;
	bool is_open;
	struct cpuset shared_before;
	struct memory_state memory_before;
	uint32_t nr_undo, undo_capacity;
	struct undo *undo;
};

static void free_pod(struct ledger_pod *pod)
{
	if (!pod)
		return;
	pod_spec_free(pod->spec);
	free(pod->grants);
	free(pod->sets);
	memory_blocks_free(pod->memory);
	free(pod);
}
DEFINE_CLEANUP(struct ledger_pod, free_podp, free_pod);
#define cleanup_ledger_pod cleanup(free_podp)

/* It can be written, whatever `pod` is: each of its sets has a place of its own. */
static struct ledger_pod *copy_pod(const struct ledger_pod *pod)
{
	struct ledger_pod *copy cleanup_ledger_pod = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *pod;
	copy->sets = NULL;
	copy->spec = pod_spec_copy(pod->spec);
	copy->grants = malloc((pod->nr_grants ? pod->nr_grants : 1) * sizeof(*copy->grants));
	copy->memory = pod->memory ? memory_blocks_copy(pod->memory) : NULL;
	if (!copy->spec || !copy->grants || (pod->memory && !copy->memory))
		return NULL;
	memcpy(copy->grants, pod->grants, pod->nr_grants * sizeof(*copy->grants));
	if (ledger_pod_own_sets(copy))
		return NULL;
	return TAKE_PTR(copy);
}

static bool pins_memory(const struct ledger *ledger)
{
	return ledger->policy->memory == MEMORY_POLICY_STATIC;
}

int ledger_new(const struct topology *topology, const struct policy *policy, char *error,
	       size_t error_size, struct ledger **ret_ledger)
{
	struct ledger *ledger cleanup_ledger = calloc(1, sizeof(*ledger));
	int r;

	if (!ledger)
		return -ENOMEM;
	ledger->topology = topology;
	ledger->policy = policy;
	r = cpu_manager_init(&ledger->cpu, topology, policy, error, error_size);
	if (r)
		return r;
	cpu_initial_pool(&ledger->cpu, &ledger->shared);
	ledger->memory.topology = topology;
	ledger->memory.policy = policy;
	if (pins_memory(ledger)) {
		r = memory_manager_init(&ledger->memory, topology, policy, error, error_size);
		if (r)
			return r;
		memory_initial_state(&ledger->memory, &ledger->memory_state);
	}
	*ret_ledger = TAKE_PTR(ledger);
	return 0;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	ledger_abort(ledger);
	for (uint32_t i = 0; i < ledger->nr_pods; i++)
		free_pod(ledger->pods[i]);
	free(ledger->pods);
	free(ledger->undo);
	free(ledger);
}

const struct topology *ledger_topology(const struct ledger *ledger)
{
	return ledger->topology;
}

const struct policy *ledger_policy(const struct ledger *ledger)
{
	return ledger->policy;
}

void ledger_use_policy(struct ledger *ledger, const struct policy *policy)
{
	ledger->policy = policy;
	ledger->cpu.policy = policy;
	ledger->memory.policy = policy;
}

const struct memory_manager *ledger_memory_manager(const struct ledger *ledger)
{
	return &ledger->memory;
}

const struct memory_state *ledger_memory_state(const struct ledger *ledger)
{
	return &ledger->memory_state;
}

struct memory_state *ledger_edit_memory_state(struct ledger *ledger)
{
	return &ledger->memory_state;
}

void ledger_set_kernel_free(struct ledger *ledger, const struct topology_node *nodes,
			    uint32_t nr_nodes)
{
	if (pins_memory(ledger))
		memory_set_kernel_free(&ledger->memory, nodes, nr_nodes);
}

void ledger_set_offline(struct ledger *ledger, const struct cpuset *offline)
{
	cpu_set_offline(&ledger->cpu, offline);
}

struct memory_pod ledger_memory_pod(const struct ledger_pod *pod)
{
	return (struct memory_pod){.spec = pod->spec, .qos = pod->qos, .blocks = pod->memory};
}

const struct cpu_manager *ledger_cpu_manager(const struct ledger *ledger)
{
	return &ledger->cpu;
}

const struct cpuset *ledger_reserved(const struct ledger *ledger)
{
	return &ledger->cpu.reserved;
}

const struct cpuset *ledger_shared_pool(const struct ledger *ledger)
{
	return &ledger->shared;
}

void ledger_exclusive(const struct ledger *ledger, struct cpuset *ret_cpus)
{
	/* By the invariant, the exclusive CPUs are the initial pool without the shared pool. */
	cpu_initial_pool(&ledger->cpu, ret_cpus);
	cpuset_subtract(ret_cpus, &ledger->shared);
}

void ledger_cpu_states(const struct ledger *ledger, struct cpu_states *ret_states)
{
	*ret_states =
		(struct cpu_states){.reserved = ledger->cpu.reserved, .shared = ledger->shared};
	cpuset_subtract(&ret_states->shared, &ret_states->reserved);
	ledger_exclusive(ledger, &ret_states->exclusive);
	for (uint32_t i = 0; i < ledger->nr_pods; i++) {
		const struct ledger_pod *pod = ledger->pods[i];

		for (uint32_t j = 0; j < pod->nr_grants; j++) {
			if (pod->grants[j].isolation == ISOLATION_POD)
				cpuset_union(&ret_states->pod_shared, pod->grants[j].cpus);
		}
	}
	cpuset_subtract(&ret_states->exclusive, &ret_states->pod_shared);
}

uint32_t ledger_nr_pods(const struct ledger *ledger)
{
	return ledger->nr_pods;
}

const struct ledger_pod *ledger_pod_at(const struct ledger *ledger, uint32_t index)
{
	return ledger->pods[index];
}

/* The position of `uid`, or where it would be inserted. */
static uint32_t find_position(const struct ledger *ledger, const char *uid, bool *ret_found)
{
	uint32_t low = 0, high = ledger->nr_pods;

	*ret_found = false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(ledger->pods[middle]->spec->uid, uid);

		if (!order) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct ledger_pod *ledger_find(const struct ledger *ledger, const char *uid)
{
	bool found;
	uint32_t position = find_position(ledger, uid, &found);

	return found ? ledger->pods[position] : NULL;
}

const struct ledger_pod *ledger_find_name(const struct ledger *ledger, const char *namespace,
					  const char *name)
{
	const struct ledger_pod *found = NULL;

	for (uint32_t i = 0; i < ledger->nr_pods; i++) {
		const struct pod_spec *spec = ledger->pods[i]->spec;

		if (strcmp(spec->namespace, namespace) || strcmp(spec->name, name))
			continue;
		/* A recreated pod has a new uid while its predecessor is still ending. */
		if (!found || ledger->pods[i]->state == POD_RUNNING)
			found = ledger->pods[i];
	}
	return found;
}

const struct cpuset *ledger_effective(const struct ledger *ledger, const struct grant *grant)
{
	return grant->isolation == ISOLATION_HOST ? &ledger->shared : grant->cpus;
}

uint32_t ledger_nr_host_containers(const struct ledger *ledger)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ledger->nr_pods; i++) {
		for (uint32_t j = 0; j < ledger->pods[i]->nr_grants; j++)
			nr += ledger->pods[i]->grants[j].isolation == ISOLATION_HOST;
	}
	return nr;
}

int ledger_begin(struct ledger *ledger)
{
	if (ledger->is_open)
		return -EBUSY;
	ledger->is_open = true;
	ledger->shared_before = ledger->shared;
	if (pins_memory(ledger))
		ledger->memory_before = ledger->memory_state;
	return 0;
}

void ledger_commit(struct ledger *ledger)
{
	/* A record that was edited twice is the `before` of a later step. */
	for (uint32_t i = 0; i < ledger->nr_undo; i++)
		if (ledger->undo[i].after)
			ledger_pod_share_sets(ledger->undo[i].after);
	for (uint32_t i = 0; i < ledger->nr_undo; i++)
		free_pod(ledger->undo[i].before);
	ledger->nr_undo = 0;
	ledger->is_open = false;
}

static void take_out(struct ledger *ledger, uint32_t position)
{
	ledger->nr_pods--;
	memmove(&ledger->pods[position], &ledger->pods[position + 1],
		(ledger->nr_pods - position) * sizeof(ledger->pods[0]));
}

/* The caller must have reserved room. */
static void put_in(struct ledger *ledger, uint32_t position, struct ledger_pod *pod)
{
	memmove(&ledger->pods[position + 1], &ledger->pods[position],
		(ledger->nr_pods - position) * sizeof(ledger->pods[0]));
	ledger->pods[position] = pod;
	ledger->nr_pods++;
}

/* In reverse order, so that the array never needs more room than it had before. */
static void undo_step(struct ledger *ledger, const struct undo *undo)
{
	const struct ledger_pod *known = undo->after ? undo->after : undo->before;
	bool found;
	uint32_t position = find_position(ledger, known->spec->uid, &found);

	if (undo->after && undo->before) {
		ledger->pods[position] = undo->before;
	} else if (undo->after) {
		take_out(ledger, position);
	} else {
		put_in(ledger, position, undo->before);
	}
	free_pod(undo->after);
}

void ledger_abort(struct ledger *ledger)
{
	if (!ledger->is_open)
		return;
	while (ledger->nr_undo)
		undo_step(ledger, &ledger->undo[--ledger->nr_undo]);
	ledger->shared = ledger->shared_before;
	if (pins_memory(ledger))
		ledger->memory_state = ledger->memory_before;
	ledger->is_open = false;
}

static int grow(void **array, uint32_t *capacity, uint32_t wanted, size_t item_size)
{
	uint32_t next = *capacity ? *capacity * 2 : 16;
	void *grown;

	if (wanted <= *capacity)
		return 0;
	grown = realloc(*array, next * item_size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = next;
	return 0;
}

/* Allocate everything before the first change, so that the changes cannot fail. */
static int reserve_room(struct ledger *ledger, bool new_pod)
{
	int r = grow((void **)&ledger->undo, &ledger->undo_capacity, ledger->nr_undo + 1,
		     sizeof(ledger->undo[0]));

	if (!r && new_pod)
		r = grow((void **)&ledger->pods, &ledger->capacity, ledger->nr_pods + 1,
			 sizeof(ledger->pods[0]));
	return r;
}

static void push_undo(struct ledger *ledger, struct ledger_pod *before, struct ledger_pod *after)
{
	ledger->undo[ledger->nr_undo++] = (struct undo){before, after};
}

/* Takes ownership of `pod`, on success only. */
static int insert_pod(struct ledger *ledger, struct ledger_pod *pod)
{
	bool found;
	uint32_t position = find_position(ledger, pod->spec->uid, &found);
	int r;

	if (found)
		return -EEXIST;
	r = reserve_room(ledger, true);
	if (r)
		return r;
	push_undo(ledger, NULL, pod);
	put_in(ledger, position, pod);
	return 0;
}

struct ledger_pod *ledger_new_pod(struct ledger *ledger, const struct pod_spec *spec)
{
	struct ledger_pod *pod cleanup_ledger_pod = calloc(1, sizeof(*pod));

	if (!pod)
		return NULL;
	pod->spec = pod_spec_copy(spec);
	pod->grants = calloc(spec->nr_containers ? spec->nr_containers : 1, sizeof(*pod->grants));
	if (!pod->spec || !pod->grants)
		return NULL;
	pod->qos = pod_qos(spec);
	if (memory_is_pinned(&ledger->memory, spec, pod->qos)) {
		pod->memory = memory_blocks_new(spec->nr_containers);
		if (!pod->memory)
			return NULL;
	}
	pod->nr_grants = spec->nr_containers;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		memcpy(pod->grants[i].container, spec->containers[i].name,
		       sizeof(pod->grants[i].container));
		pod->grants[i].kind = spec->containers[i].kind;
	}
	if (ledger_pod_own_sets(pod))
		return NULL;
	if (insert_pod(ledger, pod))
		return NULL;
	return TAKE_PTR(pod);
}

struct ledger_pod *ledger_edit_pod(struct ledger *ledger, const char *uid)
{
	bool found;
	uint32_t position = find_position(ledger, uid, &found);
	struct ledger_pod *copy;

	if (!found || reserve_room(ledger, false))
		return NULL;
	copy = copy_pod(ledger->pods[position]);
	if (!copy)
		return NULL;
	push_undo(ledger, ledger->pods[position], copy);
	ledger->pods[position] = copy;
	return copy;
}

struct cpuset *ledger_edit_shared_pool(struct ledger *ledger)
{
	return &ledger->shared;
}

/* Returns true if this opened a transaction for the next change; end_if_own() ends it. */
static bool begin_if_closed(struct ledger *ledger)
{
	return !ledger_begin(ledger);
}

static int end_if_own(struct ledger *ledger, bool own, int r)
{
	if (own && r)
		ledger_abort(ledger);
	else if (own)
		ledger_commit(ledger);
	return r;
}

static int remove_pod(struct ledger *ledger, const char *uid)
{
	bool found;
	uint32_t position = find_position(ledger, uid, &found);
	struct ledger_pod *pod;
	int r;

	if (!found)
		return -ENOENT;
	r = reserve_room(ledger, false);
	if (r)
		return r;
	pod = ledger->pods[position];
	cpuset_union(&ledger->shared, pod->held);
	if (pod->memory)
		memory_uncharge(&ledger->memory, &ledger->memory_state, pod->memory);
	push_undo(ledger, pod, NULL);
	take_out(ledger, position);
	return 0;
}

int ledger_remove(struct ledger *ledger, const char *uid)
{
	bool own = begin_if_closed(ledger);

	return end_if_own(ledger, own, remove_pod(ledger, uid));
}

static int set_state(struct ledger *ledger, const char *uid, enum pod_state state,
		     const char *detail, bool is_change_refused)
{
	bool own;
	struct ledger_pod *pod;

	if (!ledger_find(ledger, uid))
		return -ENOENT;
	own = begin_if_closed(ledger);
	pod = ledger_edit_pod(ledger, uid);
	if (!pod)
		return end_if_own(ledger, own, -ENOMEM);
	pod->state = state;
	pod->is_change_refused = is_change_refused;
	snprintf(pod->detail, sizeof(pod->detail), "%s", detail ? detail : "");
	return end_if_own(ledger, own, 0);
}

int ledger_set_state(struct ledger *ledger, const char *uid, enum pod_state state,
		     const char *detail)
{
	return set_state(ledger, uid, state, detail, false);
}

int ledger_note_refused_change(struct ledger *ledger, const char *uid, const char *detail)
{
	return set_state(ledger, uid, POD_RUNNING, detail, true);
}

/* The uid of a pod that has one of these CPUs; for messages only. */
static const char *find_holder(const struct ledger *ledger, const struct cpuset *cpus)
{
	for (uint32_t i = 0; i < ledger->nr_pods; i++) {
		if (cpuset_intersects(ledger->pods[i]->held, cpus))
			return ledger->pods[i]->spec->uid;
	}
	return "none, the CPU is reserved or does not exist";
}

static int check_restorable(const struct ledger *ledger, const struct ledger_pod *pod, char *error,
			    size_t error_size)
{
	struct cpuset missing = *pod->held;
	int r = ledger_check_pod(&ledger->cpu, pod, error, error_size);

	if (r)
		return -EINVAL;
	cpuset_subtract(&missing, &ledger->shared);
	if (cpuset_is_empty(&missing))
		return 0;
	snprintf(error, error_size, "pod %s held CPU %u, which is not free now; holder: %s",
		 pod->spec->uid, cpuset_next(&missing, 0), find_holder(ledger, &missing));
	return -EINVAL;
}

/*
 * Was the pod's budget allocated as a whole? The policy may have been different at that
 * time, so the record decides: a bubble shows it, and so does a shared container with
 * memory nodes, which it can only have from a budget. If the record shows neither, the
 * current policy decides.
 */
static bool was_placed_whole(const struct ledger *ledger, const struct ledger_pod *pod)
{
	const struct pod_spec *spec = pod->spec;

	if (pod->has_bubble || !spec->has_pod_resources)
		return pod->has_bubble;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!memory_is_exclusive(&spec->containers[i]))
			return pod->grants[i].mems;
	}
	/* A request for whole CPUs would have created a bubble. */
	if (ledger->policy->cpu == CPU_POLICY_STATIC && cpu_bubble_count(spec, pod->qos))
		return false;
	return memory_is_whole(&ledger->memory, spec);
}

/*
 * Blocks follow from the request and the nodes, so nothing else is recorded. If the
 * machine has changed, the pod continues: its memory is extended, moved or no longer
 * pinned, and the pod's detail says so.
 */
static int restore_memory(struct ledger *ledger, struct ledger_pod *pod)
{
	struct memory_pod memory;
	enum memory_restored restored;

	if (!memory_is_pinned(&ledger->memory, pod->spec, pod->qos))
		return 0;
	pod->memory = memory_blocks_new(pod->nr_grants);
	if (!pod->memory)
		return -ENOMEM;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		pod->memory->containers[i].nodes = pod->grants[i].mems;
	memory = ledger_memory_pod(pod);
	memory_rebuild(&ledger->memory, &memory, was_placed_whole(ledger, pod));
	restored = memory_restore(&ledger->memory, &ledger->memory_state, &memory, false);
	for (uint32_t i = 0; i < pod->nr_grants && restored != MEMORY_KEPT; i++)
		pod->grants[i].mems = memory_container_nodes(pod->memory, i);
	if (restored != MEMORY_KEPT)
		snprintf(pod->detail, sizeof(pod->detail),
			 "memory no longer fits its NUMA nodes: %s",
			 memory_restored_name(restored));
	return 0;
}

/*
 * A record without a baseline is of a pod that was never resized, or found without its history.
 * One that is not a part of the CPUs says nothing about them.
 */
static void fill_baseline(const struct cpuset *cpus, struct cpuset *baseline)
{
	if (cpuset_is_empty(baseline) || !cpuset_is_subset(baseline, cpus))
		*baseline = *cpus;
}

static void fill_baselines(struct ledger_pod *pod)
{
	fill_baseline(pod->bubble, ledger_pod_edit(pod, pod->bubble_baseline));
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct cpuset *baseline = ledger_pod_edit(pod, grant->baseline);

		if (grant->isolation == ISOLATION_CONTAINER)
			fill_baseline(grant->cpus, baseline);
		else
			*baseline = CPUSET_EMPTY;
	}
}

static int restore_pod(struct ledger *ledger, const struct ledger_pod *given, char *error,
		       size_t error_size)
{
	struct ledger_pod *pod cleanup_ledger_pod = copy_pod(given);
	struct cpuset *held;
	int r;

	if (!pod)
		return -ENOMEM;
	pod->qos = pod_qos(pod->spec);
	memory_blocks_free(TAKE_PTR(pod->memory));
	fill_baselines(pod);
	held = ledger_pod_edit(pod, pod->held);
	*held = pod->has_bubble ? *pod->bubble : CPUSET_EMPTY;
	for (uint32_t i = 0; i < pod->nr_grants && !pod->has_bubble; i++)
		cpuset_union(held, pod->grants[i].cpus);
	r = check_restorable(ledger, pod, error, error_size);
	if (!r)
		r = restore_memory(ledger, pod);
	if (r)
		return r;
	r = insert_pod(ledger, pod);
	if (r)
		return r;
	cpuset_subtract(&ledger->shared, pod->held);
	TAKE_PTR(pod);
	return 0;
}

int ledger_restore(struct ledger *ledger, const struct ledger_pod *pod, char *error,
		   size_t error_size)
{
	bool own;

	if (ledger_find(ledger, pod->spec->uid)) {
		snprintf(error, error_size, "pod %s is in the ledger already", pod->spec->uid);
		return -EEXIST;
	}
	own = begin_if_closed(ledger);
	return end_if_own(ledger, own, restore_pod(ledger, pod, error, error_size));
}

int ledger_check(const struct ledger *ledger, char *error, size_t error_size)
{
	return ledger_check_pods(&ledger->cpu, ledger->pods, ledger->nr_pods, &ledger->shared,
				 error, error_size);
}
