// SPDX-License-Identifier: Apache-2.0
/* What must hold for one decision, a grant or a refusal, if the rule is short. */
#include "rules_private.h"

static uint32_t nodes_touched(const struct stage *stage, const struct bits *cpus,
			      node_mask_t *ret_nodes)
{
	uint32_t nr = 0;

	*ret_nodes = 0;
	for (uint32_t i = 0; i < stage->hardware->nr_nodes; i++) {
		struct bits node = cpus_of_node(stage, stage->hardware->nodes[i].id);

		if (!bits_common(&node, cpus))
			continue;
		*ret_nodes |= (node_mask_t)1 << i;
		nr++;
	}
	return nr;
}

/* The smallest number of nodes with this many CPUs, held or not. */
static uint32_t fewest_nodes(const struct stage *stage, uint32_t nr_cpus)
{
	uint32_t counts[TOPOLOGY_MAX_NODES], nr = 0, sum = 0;

	for (uint32_t i = 0; i < stage->hardware->nr_nodes; i++) {
		struct bits node = cpus_of_node(stage, stage->hardware->nodes[i].id);

		counts[i] = bits_count(&node);
	}
	while (sum < nr_cpus && nr < stage->hardware->nr_nodes) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < stage->hardware->nr_nodes; i++) {
			if (counts[i] > counts[most])
				most = i;
		}
		sum += counts[most];
		counts[most] = 0;
		nr++;
	}
	return nr;
}

/* On no more nodes than the policy guarantees, and with memory on the nodes of the CPUs. */
static void check_nodes(struct stage *stage, const char *who, const struct bits *cpus,
			node_mask_t mems)
{
	bool single = stage->policy.align == ALIGN_SINGLE_NUMA_NODE;
	uint32_t most = single ? 1 : fewest_nodes(stage, bits_count(cpus)), nr;
	node_mask_t nodes;

	if (!bits_count(cpus))
		return;
	stage->coverage->feature[FEATURE_ALIGNED]++;
	nr = nodes_touched(stage, cpus, &nodes);
	if (nr > most)
		complain(stage, "alignment: %s has CPUs of %u nodes, %u are enough", who, nr, most);
	if (mems && (nodes & ~mems))
		complain(stage, "alignment: %s has CPUs on nodes %#llx and memory on %#llx", who,
			 (unsigned long long)nodes, (unsigned long long)mems);
	if (single && __builtin_popcountll(mems) > 1)
		complain(stage, "alignment: %s has memory of several nodes", who);
}

static bool has_init(const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		if (spec->containers[i].kind == CONTAINER_INIT)
			return true;
	}
	return false;
}

/* A resize aligns only what grows; the rest was aligned under the policy of its time. */
static bool has_grown(const struct ledger_pod *pod, uint32_t index, const struct pod_before *was)
{
	const struct cpuset *cpus = pod->grants[index].cpus;

	return !was->is_resize || cpuset_count(cpus) > cpuset_count(was->grants[index].cpus);
}

static bool pod_has_grown(const struct ledger_pod *pod, const struct pod_before *was)
{
	bool has = !was->is_resize;

	if (pod->has_bubble)
		return has || cpuset_count(pod->bubble) > cpuset_count(was->bubble);
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		has |= has_grown(pod, i, was);
	return has;
}

static void check_alignment(struct stage *stage, const struct ledger_pod *pod,
			    const struct pod_before *was)
{
	const struct policy *policy = &stage->policy;
	struct bits all = bits_of(pod->held);
	node_mask_t mems = 0;

	if ((policy->align != ALIGN_RESTRICTED && policy->align != ALIGN_SINGLE_NUMA_NODE) ||
	    policy->cpu_options.align_by_socket)
		return;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		mems |= pod->grants[i].mems;
	if (policy->scope == ALIGN_SCOPE_POD) {
		/* Later containers may not be able to use the CPUs that init containers leave. */
		if (pod_has_grown(pod, was) && (pod->has_bubble || !has_init(pod->spec)))
			check_nodes(stage, pod->spec->uid, &all, mems);
		return;
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		struct bits cpus = bits_of(pod->grants[i].cpus);

		if (has_grown(pod, i, was))
			check_nodes(stage, pod->grants[i].container, &cpus, pod->grants[i].mems);
	}
}

/* A resize of something else: cores may have had another size when this was decided. */
static bool keeps_count(const struct pod_before *was, const struct cpuset *old,
			const struct cpuset *cpus)
{
	return was->is_resize && cpuset_count(old) == cpuset_count(cpus);
}

/* full-pcpus-only: whole cores, counted by the average core as the kubelet does. */
static void check_whole_cores(struct stage *stage, const struct ledger_pod *pod,
			      const struct pod_before *was)
{
	uint32_t per_core = stage->topology->num_cpus / stage->topology->num_cores;
	struct bits cpus = bits_of(pod->bubble);

	if (!stage->policy.cpu_options.full_pcpus_only)
		return;
	if (bits_count(&cpus) % per_core && !keeps_count(was, was->bubble, pod->bubble))
		complain(stage, "cores: pod %s holds a part of a core", pod->spec->uid);
	for (uint32_t i = 0; i < pod->nr_grants && !pod->has_bubble; i++) {
		cpus = bits_of(pod->grants[i].cpus);
		if (bits_count(&cpus) % per_core &&
		    !(was->is_resize && keeps_count(was, was->grants[i].cpus, pod->grants[i].cpus)))
			complain(stage, "cores: pod %s container %s holds a part of a core",
				 pod->spec->uid, pod->grants[i].container);
	}
}

/* Is it a resize after which the pod has no more CPUs than before? */
static bool takes_none(const struct pod_before *was, const struct ledger_pod *pod)
{
	uint32_t nr_before = cpuset_count(was->bubble);

	for (uint32_t i = 0; !pod->has_bubble && i < was->nr; i++) {
		if (was->grants[i].isolation == ISOLATION_CONTAINER)
			nr_before += cpuset_count(was->grants[i].cpus);
	}
	return was->is_resize && cpuset_count(pod->held) <= nr_before;
}

void check_admitted(struct stage *stage, const struct pod_spec *spec,
		    const struct cpuset *candidates, const struct pod_before *was)
{
	const struct ledger_pod *pod = ledger_find(stage->ledger, spec->uid);
	struct bits given, allowed = bits_of(candidates);

	if (!pod)
		return complain(stage, "promise: pod %s is admitted and not there", spec->uid);
	if (!pod_spec_equal(pod->spec, spec))
		complain(stage, "promise: pod %s is admitted with another request", spec->uid);
	if (!rules_hold_cpus(stage))
		return;
	given = bits_of(pod->held);
	if (!bits_within(&given, &allowed))
		complain(stage, "candidates: pod %s was given a CPU that was none", spec->uid);
	if (!compatibility_is_kubelet(stage->policy.compatibility) && !takes_none(was, pod) &&
	    cpuset_is_empty(ledger_shared_pool(stage->ledger)) &&
	    ledger_nr_host_containers(stage->ledger))
		complain(stage, "shared pool: the last CPU was given away to pod %s", spec->uid);
	check_whole_cores(stage, pod, was);
	check_alignment(stage, pod, was);
	check_resized(stage, spec, was);
}

void check_refused(struct stage *stage, const struct pod_spec *spec,
		   const struct decision *decision, const struct pod_before *was)
{
	const struct policy *policy = &stage->policy;
	struct bits shared = bits_of(ledger_shared_pool(stage->ledger)), free, mine = {{0}};
	const struct ledger_pod *old = ledger_find(stage->ledger, spec->uid);
	struct cpuset candidates;
	uint32_t wanted = 0, nr_host = ledger_nr_host_containers(stage->ledger);

	if (!decision->reason[0] || !decision->message[0])
		complain(stage, "refusal: pod %s is refused without a word", spec->uid);
	if (policy->align != ALIGN_NONE || policy->cpu_options.full_pcpus_only ||
	    spec->has_pod_resources || has_init(spec) || !rules_hold_cpus(stage) ||
	    (policy->memory == MEMORY_POLICY_STATIC && is_guaranteed(spec)))
		return;
	rules_candidates(stage, spec->uid, &candidates);
	free = bits_of(&candidates);
	for (uint32_t i = 0; old && i < old->nr_grants; i++)
		nr_host -= old->grants[i].isolation == ISOLATION_HOST;
	if (old)
		mine = bits_of(old->held);
	bits_add(&shared, &mine);
	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		wanted += entitled_cpus(stage, spec, i);
		nr_host += !entitled_cpus(stage, spec, i);
	}
	if (wanted > bits_count(&free) || is_below_baseline(stage, spec, was))
		return;
	if (!compatibility_is_kubelet(policy->compatibility) && nr_host &&
	    wanted == bits_count(&shared))
		return;
	complain(stage, "refusal: pod %s wants %u CPUs, %u are free, and it is refused (%s)",
		 spec->uid, wanted, bits_count(&free), decision->message);
}
