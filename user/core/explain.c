// SPDX-License-Identifier: Apache-2.0
/*
 * The nearest change that would admit a refused pod.
 *
 * Every suggestion has been tried: the change is applied to a copy of the
 * request, placed on the real ledger inside a transaction, and aborted. The
 * number of tries is bounded; no suggestion is better than an untried one.
 */
#include "core/admit_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Each try costs about as much as an admission. */
#define MAX_TRIES 24

void change_apply(const struct change *change, struct pod_spec *spec)
{
	int64_t mcpu = (int64_t)change->cpus * 1000;

	if (change->kind == CHANGE_POD_CPUS) {
		spec->request.cpu_mcpu = mcpu;
		spec->limit.cpu_mcpu = mcpu;
	}
	for (uint32_t i = 0; change->kind == CHANGE_CONTAINER_CPUS && i < spec->nr_containers;
	     i++) {
		if (strcmp(spec->containers[i].name, change->container))
			continue;
		spec->containers[i].request.cpu_mcpu = mcpu;
		spec->containers[i].limit.cpu_mcpu = mcpu;
	}
}

struct search {
	struct ledger *ledger;
	const struct pod_spec *spec;
	uint32_t nr_tries;
	bool found;
	int error;
	struct change change;
};

static bool is_over(const struct search *search)
{
	return search->found || search->error || search->nr_tries >= MAX_TRIES;
}

/* As if the policy said so: alignment decides only where CPUs come from, never what is held. */
static int place_under(struct ledger *ledger, const struct pod_spec *spec, enum align_policy align,
		       struct decision *decision)
{
	const struct policy *policy = ledger_policy(ledger);
	struct policy *other cleanup_free = malloc(sizeof(*other));
	int r;

	if (!other)
		return -ENOMEM;
	*other = *policy;
	other->align = align;
	ledger_use_policy(ledger, other);
	r = admit_place(ledger, spec, decision);
	ledger_use_policy(ledger, policy);
	return r;
}

static int place_changed(struct search *search, const struct change *change, bool *ret_admitted)
{
	struct pod_spec *spec cleanup_pod_spec = pod_spec_copy(search->spec);
	struct decision decision = {.wanted = -1, .available = -1};
	int r;

	if (!spec)
		return -ENOMEM;
	change_apply(change, spec);
	if (change->kind == CHANGE_POD_LEAVES) {
		r = ledger_remove(search->ledger, change->uid);
		if (r)
			return r;
	}
	if (change->kind == CHANGE_ALIGN_POLICY)
		r = place_under(search->ledger, spec, change->align, &decision);
	else
		r = admit_place(search->ledger, spec, &decision);
	if (!r)
		*ret_admitted = decision.admitted;
	return r;
}

static void try_change(struct search *search, const struct change *change)
{
	bool admitted = false;

	if (is_over(search))
		return;
	search->nr_tries++;
	search->error = ledger_begin(search->ledger);
	if (search->error)
		return;
	search->error = place_changed(search, change, &admitted);
	ledger_abort(search->ledger);
	if (admitted && !search->error) {
		search->found = true;
		search->change = *change;
	}
}

/* Down from the most that can fit: one by one first, then by halves to reach the small ones. */
static void try_fewer(struct search *search, struct change change, uint32_t from, uint32_t step)
{
	uint32_t cpus = from / step * step;

	for (uint32_t i = 0; cpus && !is_over(search); i++) {
		change.cpus = cpus;
		try_change(search, &change);
		if (i < MAX_TRIES / 3)
			cpus -= step;
		else
			cpus = cpus / 2 / step * step;
	}
}

static void try_more(struct search *search, struct change change, uint32_t from, uint32_t step)
{
	uint32_t cpus = (from + step - 1) / step * step;

	for (uint32_t i = 0; i < 4 && !is_over(search); i++, cpus += step) {
		change.cpus = cpus;
		try_change(search, &change);
	}
}

struct candidate {
	uint32_t nr_held;
	const char *uid;
};

static int compare_held(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->nr_held != y->nr_held)
		return x->nr_held < y->nr_held ? -1 : 1;
	return strcmp(x->uid, y->uid);
}

/* The smallest pod whose leaving is enough. */
static void try_departures(struct search *search, uint32_t nr_missing)
{
	uint32_t nr_pods = ledger_nr_pods(search->ledger), nr = 0;
	struct candidate *candidates cleanup_free = NULL;

	if (is_over(search) || !nr_pods)
		return;
	candidates = calloc(nr_pods, sizeof(*candidates));
	if (!candidates) {
		search->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < nr_pods; i++) {
		const struct ledger_pod *pod = ledger_pod_at(search->ledger, i);
		uint32_t nr_held = cpuset_count(&pod->held);

		if ((nr_held || (pod->memory && !nr_missing)) && nr_held >= nr_missing &&
		    strcmp(pod->spec->uid, search->spec->uid))
			candidates[nr++] = (struct candidate){nr_held, pod->spec->uid};
	}
	qsort(candidates, nr, sizeof(candidates[0]), compare_held);
	for (uint32_t i = 0; i < nr && !is_over(search); i++) {
		struct change change = {.kind = CHANGE_POD_LEAVES};

		snprintf(change.uid, sizeof(change.uid), "%s", candidates[i].uid);
		try_change(search, &change);
	}
}

static void describe(const struct search *search, struct decision *decision)
{
	const struct change *change = &search->change;
	char *text = decision->suggestion;
	size_t size = sizeof(decision->suggestion);
	const struct ledger_pod *pod;

	decision->change = *change;
	switch (change->kind) {
	case CHANGE_CONTAINER_CPUS:
		snprintf(text, size, "fits with %u CPUs for container %s", change->cpus,
			 change->container);
		break;
	case CHANGE_POD_CPUS:
		snprintf(text, size, "fits with a pod budget of %u CPUs", change->cpus);
		break;
	case CHANGE_POD_LEAVES:
		pod = ledger_find(search->ledger, change->uid);
		if (decision->is_memory)
			snprintf(text, size, "fits after pod %.63s/%.253s leaves",
				 pod->spec->namespace, pod->spec->name);
		else
			snprintf(text, size,
				 "fits after pod %.63s/%.253s leaves, which holds %u CPUs",
				 pod->spec->namespace, pod->spec->name, cpuset_count(&pod->held));
		break;
	case CHANGE_ALIGN_POLICY:
		snprintf(text, size, "fits under topologyManagerPolicy %s",
			 align_policy_name(change->align));
		break;
	default:
		break;
	}
}

/* The container to shrink when the pod as a whole takes too much: its largest. */
static const struct container_spec *largest_container(const struct pod_spec *spec)
{
	const struct container_spec *largest = &spec->containers[0];

	for (uint32_t i = 1; i < spec->nr_containers; i++) {
		if (spec->containers[i].request.cpu_mcpu > largest->request.cpu_mcpu)
			largest = &spec->containers[i];
	}
	return largest;
}

/* What to change: the container that failed, or the budget when the pod as a whole did. */
static struct change change_of(const struct search *search, const struct decision *decision,
			       bool is_bubble, uint32_t *ret_cpus)
{
	struct change change = {.kind = CHANGE_CONTAINER_CPUS};
	const struct container_spec *largest;

	*ret_cpus = (uint32_t)decision->wanted;
	if (decision->container[0]) {
		memcpy(change.container, decision->container, sizeof(change.container));
		return change;
	}
	if (is_bubble) {
		change.kind = CHANGE_POD_CPUS;
		return change;
	}
	largest = largest_container(search->spec);
	memcpy(change.container, largest->name, sizeof(change.container));
	*ret_cpus = largest->request.cpu_mcpu > 0 ? (uint32_t)(largest->request.cpu_mcpu / 1000)
						  : 0;
	return change;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* CPUs are not what is short: another policy, or a pod that leaves. */
static int explain_memory(struct search *search, struct decision *decision)
{
	struct change change = {.kind = CHANGE_ALIGN_POLICY, .align = ALIGN_BEST_EFFORT};

	if (decision->refusal == REFUSAL_TOPOLOGY)
		try_change(search, &change);
	try_departures(search, 0);
	if (search->found)
		describe(search, decision);
	return search->error;
}

int explain_refusal(struct ledger *ledger, const struct pod_spec *spec, struct decision *decision)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);
	struct search search = {.ledger = ledger, .spec = spec};
	uint32_t step = manager->policy->cpu_options.full_pcpus_only &&
					manager->topology->cpus_per_core
				? manager->topology->cpus_per_core
				: 1;
	bool is_bubble = cpu_is_bubble_pod(manager, spec, pod_qos(spec));
	uint32_t budget = spec->request.cpu_mcpu > 0 ? (uint32_t)(spec->request.cpu_mcpu / 1000)
						     : 0;
	uint32_t cpus, missing, most;
	struct change change;

	if (decision->is_memory)
		return explain_memory(&search, decision);
	change = change_of(&search, decision, is_bubble, &cpus);
	missing = decision->wanted > decision->available
			  ? (uint32_t)(decision->wanted - decision->available)
			  : 0;
	switch (decision->refusal) {
	case REFUSAL_TOPOLOGY:
		/* the alignment found the pod's own pool empty */
		if (is_bubble && !cpu_pod_pool_is_enough(manager, spec, pod_qos(spec)))
			try_more(&search, change, budget + 1, step);
		break;
	case REFUSAL_SMT:
		if (cpus % step)
			try_more(&search, change, cpus + 1, step);
		break;
	case REFUSAL_EMPTY_SHARED_POOL:
	case REFUSAL_POD_BUDGET:
		change.kind = CHANGE_POD_CPUS;
		try_more(&search, change, budget + (decision->container[0] ? missing : 1), step);
		break;
	default:
		break;
	}
	most = decision->available >= 0 && decision->refusal != REFUSAL_LAST_SHARED_CPU
		       ? (uint32_t)decision->available
		       : cpus;
	if (decision->refusal != REFUSAL_EMPTY_SHARED_POOL && cpus)
		try_fewer(&search, change_of(&search, decision, is_bubble, &cpus),
			  smaller(cpus - 1, most), step);
	if (decision->refusal == REFUSAL_TOPOLOGY) {
		change = (struct change){.kind = CHANGE_ALIGN_POLICY, .align = ALIGN_BEST_EFFORT};
		try_change(&search, &change);
	}
	try_departures(&search, missing);
	if (search.found)
		describe(&search, decision);
	return search.error;
}
