// SPDX-License-Identifier: Apache-2.0
/*
 * In-place resize (KEP-5554): another number of CPUs for a pod that runs. A container that grows
 * keeps all of its CPUs and gets others close to them; one that shrinks stays within its CPUs and
 * keeps its baseline, those of its admission. resize.c in core/admit aligns, orders the steps of
 * a pod and explains refusals.
 *
 * Cost: at most two takes for each container or bubble that changes.
 */
#include "core/cpu/cpu.h"

#include "core/cpu/take.h"

static enum cpu_result refuse(enum cpu_result result, struct cpu_shortage *ret_shortage,
			      uint32_t available)
{
	ret_shortage->available = available;
	return result;
}

/* What has `cpus`, of which it keeps `kept` when it shrinks, and may grow out of `pool`. */
struct resizing {
	const struct cpuset *cpus, *kept, *pool;
	bool is_slice; /* of a bubble */
};

/*
 * Take as the policy demands. A container whose CPUs are not whole groups, as after a change of
 * the policy, can end with too many or too few in a distributed take. It is then taken packed.
 */
static enum take_status take_by_policy(const struct cpu_manager *manager, const struct cpuset *held,
				       const struct cpuset *pool, uint32_t nr,
				       struct cpuset *ret_cpus)
{
	const struct take_options options = take_options_of(manager->policy, manager->topology);

	if (manager->policy->cpu_options.distribute_across_numa &&
	    take_distributed_near(manager->topology, held, pool, nr, &options, ret_cpus) == TAKE_OK)
		return TAKE_OK;
	return take_packed_near(manager->topology, held, pool, nr, &options, ret_cpus);
}

/* Add CPUs of `pool` to `held` until there are `nr`, those in `first` before the others. */
static enum cpu_result take_near(const struct cpu_manager *manager, const struct cpuset *held,
				 const struct cpuset *first, const struct cpuset *pool, uint32_t nr,
				 struct cpuset *ret_cpus)
{
	struct cpuset kept = *held, some = *first;
	uint32_t nr_first;

	if (!cpuset_is_subset(pool, first)) {
		cpuset_intersect(&some, pool);
		cpuset_subtract(&some, held);
		nr_first = cpuset_count(held) + cpuset_count(&some);
		if (take_by_policy(manager, held, &some, nr < nr_first ? nr : nr_first, &kept))
			return CPU_NOT_ENOUGH;
	}
	return take_by_policy(manager, &kept, pool, nr, ret_cpus) ? CPU_NOT_ENOUGH : CPU_OK;
}

/* full-pcpus-only requires a whole number of cores; how a bubble is divided does not matter. */
static enum cpu_result check_size(const struct cpu_manager *manager,
				  const struct resizing *resizing, uint32_t nr,
				  struct cpu_shortage *ret_shortage)
{
	bool whole_cores = manager->policy->cpu_options.full_pcpus_only && !resizing->is_slice;
	uint32_t per_core = manager->topology->cpus_per_core;
	uint32_t nr_kept = cpuset_count(resizing->kept), available;
	struct cpuset within = *resizing->pool;

	if (nr < nr_kept)
		return refuse(CPU_BELOW_BASELINE, ret_shortage, nr_kept);
	cpuset_union(&within, resizing->cpus);
	available = cpuset_count(&within);
	if (whole_cores && per_core && nr % per_core)
		return refuse(CPU_SMT_NOT_MULTIPLE, ret_shortage, available);
	if (nr <= available)
		return CPU_OK;
	return refuse(whole_cores ? CPU_SMT_NO_FREE_CORES : CPU_NOT_ENOUGH, ret_shortage,
		      available);
}

static enum cpu_result choose(const struct cpu_manager *manager, const struct resizing *resizing,
			      uint32_t nr, const struct cpu_affinity *affinity,
			      struct cpu_shortage *ret_shortage, struct cpuset *ret_cpus)
{
	enum cpu_result result = check_size(manager, resizing, nr, ret_shortage);
	bool grows = nr > cpuset_count(resizing->cpus);
	const struct cpuset *pool = grows ? resizing->pool : resizing->cpus;
	struct cpuset first = *pool, aligned;

	if (result)
		return result;
	/* What went offline is given up first. A CPU outside the node's pool is not a candidate. */
	cpuset_subtract(&first, &manager->withheld);
	if (grows && affinity && affinity->known) {
		topology_cpus_of_nodes(manager->topology, affinity->nodes, &aligned);
		cpuset_intersect(&first, &aligned);
	}
	return take_near(manager, grows ? resizing->cpus : resizing->kept, &first, pool, nr,
			 ret_cpus);
}

/*
 * Take out of `cpus` what container `index` must not share with others of its pod. An ordinary init
 * container ends before the app containers start, so it only avoids the sidecars before it.
 */
static void subtract_others(const struct ledger_pod *pod, uint32_t index, struct cpuset *cpus)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *other = &pod->grants[i];
		bool is_before = i < index;

		if (i == index || other->isolation != ISOLATION_CONTAINER)
			continue;
		if (is_before ? other->kind == CONTAINER_INIT
			      : pod->grants[index].kind == CONTAINER_INIT)
			continue;
		cpuset_subtract(cpus, other->cpus);
	}
}

void cpu_growable(const struct cpu_manager *manager, const struct cpuset *shared,
		  const struct ledger_pod *pod, uint32_t index, struct cpuset *ret_cpus)
{
	struct cpuset left = *pod->held;

	cpu_grantable(manager, shared, ret_cpus);
	if (index < pod->nr_grants) {
		cpuset_subtract(&left, pod->grants[index].cpus);
		cpuset_subtract(&left, &manager->withheld);
		subtract_others(pod, index, &left);
		cpuset_union(ret_cpus, &left);
	}
	if (manager->policy->cpu_options.full_pcpus_only)
		cpuset_subtract(ret_cpus, &manager->reserved_cores);
}

/* What the pod holds has become `held`: the difference comes from the shared pool or goes there. */
static void update_held(struct cpuset *shared, struct ledger_pod *pod, const struct cpuset *held)
{
	struct cpuset released = *pod->held;

	cpuset_subtract(&released, held);
	cpuset_subtract(shared, held);
	cpuset_union(shared, &released);
	*ledger_pod_edit(pod, pod->held) = *held;
}

enum cpu_result cpu_resize(const struct cpu_manager *manager, struct cpuset *shared,
			   struct ledger_pod *pod, uint32_t index,
			   const struct cpu_affinity *affinity, struct cpu_shortage *ret_shortage)
{
	uint32_t nr = cpu_exclusive_count(manager, pod->spec, pod->qos, index);
	const struct grant *grant = &pod->grants[index];
	struct cpuset pool, cpus, held = CPUSET_EMPTY;
	const struct resizing resizing = {
		.cpus = grant->cpus, .kept = grant->baseline, .pool = &pool};
	enum cpu_result result;

	*ret_shortage = (struct cpu_shortage){.wanted = nr, .container = index};
	if (nr == cpuset_count(grant->cpus))
		return CPU_OK;
	cpu_growable(manager, shared, pod, index, &pool);
	result = choose(manager, &resizing, nr, affinity, ret_shortage, &cpus);
	if (result)
		return result;
	*ledger_pod_edit(pod, grant->cpus) = cpus;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		cpuset_union(&held, pod->grants[i].cpus);
	update_held(shared, pod, &held);
	return CPU_OK;
}

enum cpu_result cpu_resize_bubble(const struct cpu_manager *manager, struct cpuset *shared,
				  struct ledger_pod *pod, const struct cpu_affinity *affinity,
				  struct cpu_shortage *ret_shortage)
{
	uint32_t nr = cpu_bubble_count(pod->spec, pod->qos);
	struct cpuset pool, bubble, kept = *pod->bubble_baseline;
	const struct resizing resizing = {.cpus = pod->bubble, .kept = &kept, .pool = &pool};
	enum cpu_result result;

	*ret_shortage = (struct cpu_shortage){.wanted = nr, .container = UINT32_MAX};
	if (nr == cpuset_count(pod->bubble))
		return CPU_OK;
	/* A slice that grew may have CPUs beyond the baseline, and it must not lose them. */
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_CONTAINER)
			cpuset_union(&kept, pod->grants[i].cpus);
	}
	cpu_growable(manager, shared, pod, UINT32_MAX, &pool);
	result = choose(manager, &resizing, nr, affinity, ret_shortage, &bubble);
	if (result)
		return result;
	*ledger_pod_edit(pod, pod->bubble) = bubble;
	update_held(shared, pod, &bubble);
	return CPU_OK;
}

enum cpu_result cpu_resize_slice(const struct cpu_manager *manager, struct ledger_pod *pod,
				 uint32_t index, struct cpu_shortage *ret_shortage)
{
	uint32_t nr = cpu_exclusive_count(manager, pod->spec, pod->qos, index);
	const struct grant *grant = &pod->grants[index];
	struct cpuset pool = *pod->bubble, cpus;
	const struct resizing resizing = {
		.cpus = grant->cpus, .kept = grant->baseline, .pool = &pool, .is_slice = true};
	enum cpu_result result;

	*ret_shortage = (struct cpu_shortage){.wanted = nr, .container = index};
	if (nr == cpuset_count(grant->cpus))
		return CPU_OK;
	subtract_others(pod, index, &pool);
	result = choose(manager, &resizing, nr, NULL, ret_shortage, &cpus);
	if (!result)
		*ledger_pod_edit(pod, grant->cpus) = cpus;
	return result;
}

/* What a container that shares its pod's bubble has of it. */
static void find_share(const struct ledger_pod *pod, uint32_t index, struct cpuset *ret_cpus)
{
	const bool is_init = pod->grants[index].kind == CONTAINER_INIT;

	*ret_cpus = *pod->bubble;
	for (uint32_t i = 0; i < (is_init ? index : pod->nr_grants); i++) {
		const struct grant *other = &pod->grants[i];

		if (other->isolation == ISOLATION_CONTAINER && other->kind != CONTAINER_INIT)
			cpuset_subtract(ret_cpus, other->cpus);
	}
}

/*
 * Has each container that shares the bubble a CPU of it, and one that is online? What was offline as
 * a whole before container `index` came is not that one's doing.
 */
static bool leaves_shares(const struct cpu_manager *manager, const struct ledger_pod *pod,
			  uint32_t index)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		struct cpuset cpus;

		if (grant->isolation != ISOLATION_POD)
			continue;
		find_share(pod, i, &cpus);
		if (i == index || !cpuset_is_subset(grant->cpus, &manager->offline))
			cpuset_subtract(&cpus, &manager->offline);
		if (cpuset_is_empty(&cpus))
			return false;
	}
	return true;
}

enum cpu_result cpu_join_bubble(const struct cpu_manager *manager, struct ledger_pod *pod,
				uint32_t index, const struct cpuset *slice,
				struct cpu_shortage *ret_shortage)
{
	uint32_t nr = cpu_exclusive_count(manager, pod->spec, pod->qos, index);
	struct grant *grant = &pod->grants[index];
	struct cpuset pool = *pod->bubble, cpus = CPUSET_EMPTY;
	const struct resizing resizing = {
		.cpus = &CPUSET_EMPTY, .kept = &CPUSET_EMPTY, .pool = &pool, .is_slice = true};
	enum cpu_result result = CPU_OK;

	*ret_shortage = (struct cpu_shortage){.wanted = nr, .container = index};
	subtract_others(pod, index, &pool);
	if (nr && slice && (cpuset_count(slice) != nr || !cpuset_is_subset(slice, &pool))) {
		result = refuse(CPU_NOT_ENOUGH, ret_shortage, cpuset_count(&pool));
	} else if (nr && slice) {
		cpus = *slice;
	} else if (nr) {
		cpuset_subtract(&pool, &manager->withheld);
		result = choose(manager, &resizing, nr, NULL, ret_shortage, &cpus);
	}
	if (result)
		return result;
	grant->isolation = nr ? ISOLATION_CONTAINER : ISOLATION_POD;
	*ledger_pod_edit(pod, grant->cpus) = cpus;
	if (!leaves_shares(manager, pod, index)) {
		grant->isolation = ISOLATION_HOST;
		*ledger_pod_edit(pod, grant->cpus) = CPUSET_EMPTY;
		*ret_shortage = (struct cpu_shortage){.wanted = cpuset_count(pod->bubble),
						      .container = UINT32_MAX};
		return CPU_EMPTY_POD_POOL;
	}
	*ledger_pod_edit(pod, grant->baseline) = cpus;
	cpu_resize_finish(pod);
	return CPU_OK;
}

void cpu_resize_finish(struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		if (grant->isolation == ISOLATION_POD)
			find_share(pod, i, ledger_pod_edit(pod, grant->cpus));
	}
}
