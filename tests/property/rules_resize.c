// SPDX-License-Identifier: Apache-2.0
/* What must hold of a resize in place. */
#include "rules_private.h"

static bool has_same_names(const struct ledger_pod *pod, const struct pod_spec *spec)
{
	if (pod->nr_grants != spec->nr_containers ||
	    pod->spec->has_pod_resources != spec->has_pod_resources)
		return false;
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (strcmp(pod->grants[i].container, spec->containers[i].name) ||
		    pod->grants[i].kind != spec->containers[i].kind)
			return false;
	}
	return true;
}

/* Is everything but the CPUs equal? */
static bool has_same_rest(const struct ledger_pod *pod, const struct pod_spec *spec)
{
	struct pod_spec *copy cleanup_pod_spec = pod_spec_copy(spec);

	if (!copy)
		abort();
	copy->request.cpu_mcpu = pod->spec->request.cpu_mcpu;
	copy->limit.cpu_mcpu = pod->spec->limit.cpu_mcpu;
	copy->overhead = pod->spec->overhead;
	for (uint32_t i = 0; i < copy->nr_containers; i++) {
		copy->containers[i].request.cpu_mcpu = pod->spec->containers[i].request.cpu_mcpu;
		copy->containers[i].limit.cpu_mcpu = pod->spec->containers[i].limit.cpu_mcpu;
	}
	return pod_spec_equal(copy, pod->spec);
}

/* Since a reload a pod with a budget may get a bubble that it did not get before, or none. */
static bool is_other_policy(const struct stage *stage, const struct pod_spec *spec)
{
	const struct known_pod *known = &stage->known[name_of(spec->uid)];
	bool was_one = known->align != ALIGN_NONE && known->scope == ALIGN_SCOPE_POD;
	bool is_one_now = stage->policy.align != ALIGN_NONE &&
			  stage->policy.scope == ALIGN_SCOPE_POD;

	return spec->has_pod_resources && was_one != is_one_now;
}

static bool is_resize(const struct stage *stage, const struct ledger_pod *pod,
		      const struct pod_spec *spec)
{
	if (!has_same_names(pod, spec) || cpuset_is_empty(pod->held) || !is_guaranteed(spec) ||
	    pod_spec_equal(pod->spec, spec) || pod->has_bubble != !!bubble_cpus(stage, spec))
		return false;
	if (is_other_policy(stage, spec))
		return false;
	if (stage->policy.memory == MEMORY_POLICY_STATIC && !has_same_rest(pod, spec))
		return false;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if ((pod->grants[i].isolation == ISOLATION_CONTAINER) !=
		    !!entitled_cpus(stage, spec, i))
			return false;
	}
	return true;
}

struct pod_before before_decision(const struct stage *stage, const struct pod_spec *spec)
{
	const struct ledger_pod *pod = ledger_find(stage->ledger, spec->uid);
	struct pod_before was = {.bubble = &cpuset_none, .bubble_baseline = &cpuset_none};
	struct ledger_pod copy;

	if (!pod)
		return was;
	was.is_resize = is_resize(stage, pod, spec);
	copy = *pod;
	copy.sets = NULL;
	copy.grants = calloc(pod->nr_grants + 1, sizeof(*copy.grants));
	if (!copy.grants)
		abort();
	memcpy(copy.grants, pod->grants, pod->nr_grants * sizeof(*copy.grants));
	if (ledger_pod_own_sets(&copy))
		abort();
	was.sets = copy.sets;
	was.bubble = copy.bubble;
	was.bubble_baseline = copy.bubble_baseline;
	was.nr = copy.nr_grants;
	was.grants = copy.grants;
	return was;
}

void before_fini(struct pod_before *was)
{
	free(was->grants);
	free(was->sets);
}

static void check_sets(struct stage *stage, const char *who, const struct cpuset *was,
		       const struct cpuset *baseline, const struct cpuset *is)
{
	struct bits old = bits_of(was), now = bits_of(is), first = bits_of(baseline);

	if (!bits_within(&first, &now))
		complain(stage, "resize: %s has lost a CPU of its admission", who);
	if (bits_count(&now) >= bits_count(&old) && !bits_within(&old, &now))
		complain(stage, "resize: %s grows and has lost a CPU", who);
	if (bits_count(&now) < bits_count(&old) && !bits_within(&now, &old))
		complain(stage, "resize: %s shrinks and has got a CPU", who);
}

void check_resized(struct stage *stage, const struct pod_spec *spec, const struct pod_before *was)
{
	const struct ledger_pod *pod = ledger_find(stage->ledger, spec->uid);

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct bits cpus = bits_of(grant->cpus), baseline = bits_of(grant->baseline);

		if (grant->isolation != ISOLATION_CONTAINER)
			continue;
		if (was->is_resize)
			check_sets(stage, grant->container, was->grants[i].cpus,
				   was->grants[i].baseline, grant->cpus);
		else if (!was->nr && !bits_equal(&cpus, &baseline))
			complain(stage, "resize: %s was admitted with other CPUs than it has",
				 grant->container);
	}
	if (was->is_resize && pod->has_bubble)
		check_sets(stage, spec->uid, was->bubble, was->bubble_baseline, pod->bubble);
}

bool is_below_baseline(const struct stage *stage, const struct pod_spec *spec,
		       const struct pod_before *was)
{
	for (uint32_t i = 0; was->is_resize && i < was->nr; i++) {
		if (entitled_cpus(stage, spec, i) < cpuset_count(was->grants[i].baseline))
			return true;
	}
	return false;
}
