// SPDX-License-Identifier: Apache-2.0
/*
 * The static policy as in kubelet v1.36: eligibility, allocation, removal and the
 * division of a pod's bubble.
 *
 * take_*.c chooses the CPUs of a take, admit.c handles whole pods, ledger.c rolls back,
 * and cpu_offer.c computes the hints.
 *
 * Cost: at most four takes per allocation, and for a bubble one more per container (at
 * most POD_MAX_CONTAINERS). All other loops visit each container or socket once. No
 * memory is allocated.
 */
#include "core/cpu/cpu.h"

#include "core/cpu/take.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *cpu_result_name(enum cpu_result result)
{
	static const char *const names[] = {
		[CPU_OK] = "ok",
		[CPU_NOT_ENOUGH] = "not-enough-cpus",
		[CPU_FAILED] = "failed",
		[CPU_ACCOUNTING_TOO_FEW] = "accounting-too-few",
		[CPU_ACCOUNTING_TOO_MANY] = "accounting-too-many",
		[CPU_HANG] = "hang",
		[CPU_SMT_NOT_MULTIPLE] = "smt-not-multiple",
		[CPU_SMT_NO_FREE_CORES] = "smt-no-free-cores",
		[CPU_EMPTY_POD_POOL] = "empty-pod-shared-pool",
		[CPU_BELOW_BASELINE] = "below-baseline",
	};

	_Static_assert(ARRAY_SIZE(names) == CPU_RESULT_NR, "a name for each result");
	return names[result];
}

static bool is_improved(const struct cpu_manager *manager)
{
	return manager->policy->compatibility == COMPATIBILITY_IMPROVED;
}

/* Take `nr` CPUs from `free` as the policy demands, from at least `min_nodes` nodes if possible. */
static enum cpu_result take_on_nodes(const struct cpu_manager *manager, const struct cpuset *free,
				     uint32_t nr, uint32_t min_nodes, struct cpuset *ret_cpus)
{
	static const enum cpu_result results[TAKE_STATUS_NR] = {
		[TAKE_OK] = CPU_OK,
		[TAKE_NOT_ENOUGH] = CPU_NOT_ENOUGH,
		[TAKE_TOO_FEW] = CPU_ACCOUNTING_TOO_FEW,
		[TAKE_TOO_MANY] = CPU_ACCOUNTING_TOO_MANY,
		[TAKE_HANG] = CPU_HANG,
	};
	struct take_options options = take_options_of(manager->policy, manager->topology);

	options.min_nodes = min_nodes;
	if (manager->policy->cpu_options.distribute_across_numa)
		return results[take_distributed(manager->topology, free, nr, &options, ret_cpus)];
	return results[take_packed(manager->topology, free, nr, &options, ret_cpus)];
}

static enum cpu_result take_cpus(const struct cpu_manager *manager, const struct cpuset *free,
				 uint32_t nr, struct cpuset *ret_cpus)
{
	return take_on_nodes(manager, free, nr, 0, ret_cpus);
}

int cpu_manager_init(struct cpu_manager *manager, const struct topology *topology,
		     const struct policy *policy, char *error, size_t error_size)
{
	uint32_t count = policy_reserved_count(policy);

	*manager = (struct cpu_manager){.topology = topology, .policy = policy};
	policy_usable_cpus(policy, topology, &manager->usable);
	if (policy->has_reserved_list)
		manager->reserved = policy->reserved_list;
	else if (count && take_cpus(manager, &manager->usable, count, &manager->reserved))
		count = CPUSET_MAX + 1;
	if (cpuset_count(&manager->reserved) != count ||
	    !cpuset_is_subset(&manager->reserved, &topology->all)) {
		snprintf(error, error_size,
			 "cannot reserve %u CPUs of the %u this machine offers; reserve fewer",
			 policy_reserved_count(policy), cpuset_count(&manager->usable));
		return -EINVAL;
	}
	/* full-pcpus-only cannot use a core that is partly reserved. */
	topology_cores_of_cpus(topology, &manager->reserved, &manager->reserved_cores);
	return 0;
}

void cpu_initial_pool(const struct cpu_manager *manager, struct cpuset *ret_cpus)
{
	*ret_cpus = manager->usable;
	if (manager->policy->cpu_options.strict_reservation)
		cpuset_subtract(ret_cpus, &manager->reserved);
}

static bool equal_and_positive(int64_t request, int64_t limit)
{
	return request > 0 && request == limit;
}

/*
 * Cap counts that exceed any machine, so the sum over 128 containers does not overflow.
 * The remainder modulo the number of threads per core (up to 8) is preserved.
 */
static uint32_t cut_count(int64_t cpus)
{
	const int64_t period = 840; /* a multiple of 1 to 8 */

	if (cpus <= CPUSET_MAX)
		return (uint32_t)cpus;
	return CPUSET_MAX + 1 + (uint32_t)((cpus - CPUSET_MAX - 1) % period);
}

int64_t cpu_asked(const struct pod_spec *spec, uint32_t container, uint32_t counted)
{
	const struct resources *request = container < spec->nr_containers
						  ? &spec->containers[container].request
						  : &spec->request;

	if (counted <= CPUSET_MAX || request->cpu_mcpu / 1000 < counted)
		return counted;
	return request->cpu_mcpu / 1000;
}

uint32_t cpu_exclusive_count(const struct cpu_manager *manager, const struct pod_spec *spec,
			     enum qos_class qos, uint32_t index)
{
	const struct resources *request = &spec->containers[index].request;
	const struct resources *limit = &spec->containers[index].limit;

	if (manager->policy->cpu != CPU_POLICY_STATIC || qos != QOS_GUARANTEED)
		return 0;
	if (manager->policy->pod_level_managers && spec->has_pod_resources &&
	    (!equal_and_positive(request->cpu_mcpu, limit->cpu_mcpu) ||
	     !equal_and_positive(request->memory_bytes, limit->memory_bytes)))
		return 0;
	if (request->cpu_mcpu <= 0 || request->cpu_mcpu % 1000 != 0)
		return 0;
	return cut_count(request->cpu_mcpu / 1000);
}

bool cpu_is_bubble_pod(const struct cpu_manager *manager, const struct pod_spec *spec,
		       enum qos_class qos)
{
	const struct policy *policy = manager->policy;

	return policy->cpu == CPU_POLICY_STATIC && policy->pod_level_managers &&
	       spec->has_pod_resources && policy->align != ALIGN_NONE &&
	       policy->scope == ALIGN_SCOPE_POD && qos == QOS_GUARANTEED;
}

uint32_t cpu_bubble_count(const struct pod_spec *spec, enum qos_class qos)
{
	int64_t mcpu = spec->request.cpu_mcpu;

	if (!spec->has_pod_resources || qos != QOS_GUARANTEED || mcpu <= 0 || mcpu % 1000 != 0)
		return 0;
	return cut_count(mcpu / 1000);
}

void cpu_set_offline(struct cpu_manager *manager, const struct cpuset *offline)
{
	if (compatibility_is_kubelet(manager->policy->compatibility))
		return;
	manager->offline = manager->withheld = *offline;
	if (manager->policy->cpu_options.full_pcpus_only)
		topology_cores_of_cpus(manager->topology, offline, &manager->withheld);
}

void cpu_grantable(const struct cpu_manager *manager, const struct cpuset *shared,
		   struct cpuset *ret_cpus)
{
	*ret_cpus = *shared;
	cpuset_subtract(ret_cpus, &manager->reserved);
	cpuset_subtract(ret_cpus, &manager->withheld);
}

static enum cpu_result refuse(enum cpu_result result, struct cpu_shortage *ret_shortage,
			      uint32_t wanted, uint32_t available)
{
	ret_shortage->wanted = wanted;
	ret_shortage->available = available;
	return result;
}

/*
 * full-pcpus-only requires a whole number of cores and that many free CPUs on cores
 * without a reserved thread. The kubelet does not count `reusable` CPUs (may be NULL);
 * improved does.
 */
static enum cpu_result check_whole_cores(const struct cpu_manager *manager,
					 const struct cpuset *shared, const struct cpuset *reusable,
					 uint32_t nr, struct cpu_shortage *ret_shortage)
{
	uint32_t per_core = manager->topology->cpus_per_core;
	struct cpuset cpus = *shared;
	uint32_t available;

	if (!manager->policy->cpu_options.full_pcpus_only)
		return CPU_OK;
	if (reusable && is_improved(manager))
		cpuset_union(&cpus, reusable);
	cpuset_subtract(&cpus, &manager->reserved_cores);
	cpuset_subtract(&cpus, &manager->withheld);
	available = cpuset_count(&cpus);
	if (per_core && nr % per_core != 0)
		return refuse(CPU_SMT_NOT_MULTIPLE, ret_shortage, nr, available);
	if (nr > available)
		return refuse(CPU_SMT_NO_FREE_CORES, ret_shortage, nr, available);
	return CPU_OK;
}

/* Add the rest of every socket that has one of these CPUs. */
static void widen_to_sockets(const struct topology *topology, struct cpuset *cpus)
{
	const struct topology_level *sockets = &topology->sockets;
	const struct cpuset given = *cpus;

	for (uint32_t i = 0; i < sockets->nr; i++) {
		if (cpuset_intersects(&sockets->cpus[i], &given))
			cpuset_union(cpus, &sockets->cpus[i]);
	}
}

/* An allocation in progress. */
struct allocation {
	const struct cpu_manager *manager;
	struct cpuset free, taken;
	uint32_t wanted, min_nodes;
};

/*
 * Take the CPUs that are still needed from `among`, or as many as it has.
 *
 * The kubelet defects that kubelet-1.36 mode reproduces can return more CPUs than
 * requested, or CPUs that were not candidates, so the subtraction must not wrap.
 */
static enum cpu_result take_among(struct allocation *allocation, const struct cpuset *among,
				  bool all)
{
	uint32_t nr_taken = cpuset_count(&allocation->taken), nr_there;
	uint32_t nr = allocation->wanted > nr_taken ? allocation->wanted - nr_taken : 0;
	struct cpuset cpus = allocation->free, part;
	enum cpu_result result;

	cpuset_intersect(&cpus, among);
	nr_there = cpuset_count(&cpus);
	result = take_on_nodes(allocation->manager, &cpus, all || nr < nr_there ? nr : nr_there,
			       allocation->min_nodes, &part);
	if (result)
		return result;
	cpuset_union(&allocation->taken, &part);
	cpuset_subtract(&allocation->free, &part);
	return CPU_OK;
}

/*
 * The candidate CPUs of the affinity. With align-by-socket the kubelet uses whole sockets
 * even if the nodes suffice, and may therefore choose CPUs outside these nodes.
 */
static void affinity_cpus(const struct allocation *allocation, const struct cpu_affinity *affinity,
			  struct cpuset *ret_cpus)
{
	const struct cpu_manager *manager = allocation->manager;

	topology_cpus_of_nodes(manager->topology, affinity->nodes, ret_cpus);
	if (!manager->policy->cpu_options.align_by_socket)
		return;
	if (!is_improved(manager) ||
	    cpuset_count_common(ret_cpus, &allocation->free) < allocation->wanted)
		widen_to_sockets(manager->topology, ret_cpus);
}

/*
 * Take `nr` CPUs, first from the affinity's nodes and then from anywhere, and remove them
 * from the shared pool. `reusable` CPUs are candidates although they are not in the pool.
 * Improved takes them before other CPUs that are equally good, because no other pod can
 * use them until this pod ends.
 */
static enum cpu_result allocate_cpus(const struct cpu_manager *manager, struct cpuset *shared,
				     uint32_t nr, const struct cpu_affinity *affinity,
				     const struct cpuset *reusable, struct cpuset *ret_cpus,
				     struct cpu_shortage *ret_shortage)
{
	struct allocation allocation = {manager, CPUSET_EMPTY, CPUSET_EMPTY, nr, 0};
	bool reuse_first = is_improved(manager) && reusable && !cpuset_is_empty(reusable);
	bool aligns = affinity && affinity->known;
	enum cpu_result result = CPU_OK;
	struct cpuset cpus, both;
	uint32_t nr_free;

	cpu_grantable(manager, shared, &allocation.free);
	if (reusable)
		cpuset_union(&allocation.free, reusable);
	cpuset_subtract(&allocation.free, &manager->withheld);
	nr_free = cpuset_count(&allocation.free);
	if (aligns) {
		affinity_cpus(&allocation, affinity, &cpus);
		allocation.min_nodes = (uint32_t)__builtin_popcountll(affinity->nodes);
	}
	if (aligns && reuse_first) {
		both = cpus;
		cpuset_intersect(&both, reusable);
		result = take_among(&allocation, &both, false);
	}
	if (!result && aligns)
		result = take_among(&allocation, &cpus, false);
	allocation.min_nodes = 0;
	if (!result && reuse_first)
		result = take_among(&allocation, reusable, false);
	if (!result) {
		cpus = allocation.free;
		result = take_among(&allocation, &cpus, true);
	}
	if (result)
		return refuse(result, ret_shortage, nr, nr_free);
	cpuset_subtract(shared, &allocation.taken);
	*ret_cpus = allocation.taken;
	return CPU_OK;
}

static struct cpuset *reuse_of(struct cpu_reuse *reuse, const char *uid)
{
	if (strcmp(reuse->uid, uid)) {
		snprintf(reuse->uid, sizeof(reuse->uid), "%s", uid);
		reuse->cpus = CPUSET_EMPTY;
	}
	return &reuse->cpus;
}

/* An ordinary init container leaves its CPUs to the pod; any other container keeps them. */
static void update_reuse(struct cpu_reuse *reuse, const char *uid, const struct grant *grant)
{
	struct cpuset *cpus = reuse_of(reuse, uid);

	if (grant->kind == CONTAINER_INIT)
		cpuset_union(cpus, grant->cpus);
	else
		cpuset_subtract(cpus, grant->cpus);
}

enum cpu_result cpu_allocate(const struct cpu_manager *manager, struct cpuset *shared,
			     struct ledger_pod *pod, uint32_t index,
			     const struct cpu_affinity *affinity, struct cpu_reuse *reuse,
			     struct cpu_shortage *ret_shortage)
{
	uint32_t nr = cpu_exclusive_count(manager, pod->spec, pod->qos, index);
	struct grant *grant = &pod->grants[index];
	const struct cpuset *reusable = strcmp(reuse->uid, pod->spec->uid) ? NULL : &reuse->cpus;
	enum cpu_result result;

	*ret_shortage = (struct cpu_shortage){.container = index};
	if (!nr || (pod->spec->has_pod_resources && !manager->policy->pod_level_managers))
		return CPU_OK;
	result = check_whole_cores(manager, shared, reusable, nr, ret_shortage);
	if (result)
		return result;
	if (grant->isolation == ISOLATION_HOST) {
		result = allocate_cpus(manager, shared, nr, affinity, reusable,
				       ledger_pod_edit(pod, grant->cpus), ret_shortage);
		if (result)
			return result;
		grant->isolation = ISOLATION_CONTAINER;
		*ledger_pod_edit(pod, grant->baseline) = *grant->cpus;
		cpuset_union(ledger_pod_edit(pod, pod->held), grant->cpus);
	}
	update_reuse(reuse, pod->spec->uid, grant);
	return CPU_OK;
}

/* `grants` as far as they are known; NULL = all containers are to be in the bubble. */
static bool is_enough(const struct cpu_manager *manager, const struct pod_spec *spec,
		      enum qos_class qos, const struct grant *grants)
{
	uint32_t total = cpu_bubble_count(spec, qos);
	bool has_shared = false;
	uint32_t exclusive = 0;

	for (uint32_t i = 0; i < spec->nr_containers; i++) {
		uint32_t nr = cpu_exclusive_count(manager, spec, qos, i);

		if (grants && grants[i].isolation == ISOLATION_HOST)
			continue;
		if (spec->containers[i].kind == CONTAINER_INIT) {
			if (!nr && exclusive >= total)
				return false;
		} else if (nr) {
			exclusive += nr;
		} else {
			has_shared = true;
		}
	}
	return !has_shared || exclusive < total;
}

bool cpu_pod_pool_is_enough(const struct cpu_manager *manager, const struct pod_spec *spec,
			    enum qos_class qos)
{
	return is_enough(manager, spec, qos, NULL);
}

bool cpu_bubble_is_enough(const struct cpu_manager *manager, const struct ledger_pod *pod)
{
	return is_enough(manager, pod->spec, pod->qos, pod->grants);
}

static void grant_set(struct ledger_pod *pod, uint32_t index, enum isolation isolation,
		      const struct cpuset *cpus)
{
	struct grant *grant = &pod->grants[index];

	grant->isolation = isolation;
	*ledger_pod_edit(pod, grant->cpus) = *cpus;
	*ledger_pod_edit(pod, grant->baseline) = isolation == ISOLATION_CONTAINER ? *cpus
										  : CPUSET_EMPTY;
}

/*
 * Assign slices of the bubble in container order. Sidecars and app containers keep their
 * slices; an ordinary init container only borrows its slice. The remaining CPUs form the
 * pod's shared pool. Without `store` nothing is changed and the result only tells whether
 * the bubble is large enough. `only` is a container, or UINT32_MAX = all of them.
 */
static enum cpu_result divide_bubble(const struct cpu_manager *manager, struct ledger_pod *pod,
				     uint32_t only, bool store, struct cpu_shortage *ret_shortage)
{
	struct cpuset left = *pod->bubble;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		uint32_t nr = cpu_exclusive_count(manager, pod->spec, pod->qos, i);
		const enum container_kind kind = pod->grants[i].kind;
		struct cpuset slice;
		enum cpu_result result;

		if (only != UINT32_MAX && i != only)
			continue;
		if (!nr) {
			if (store && kind == CONTAINER_INIT)
				grant_set(pod, i, ISOLATION_POD, &left);
			continue;
		}
		result = take_cpus(manager, &left, nr, &slice);
		if (result) {
			ret_shortage->container = i;
			return refuse(result, ret_shortage, nr, cpuset_count(&left));
		}
		if (store)
			grant_set(pod, i, ISOLATION_CONTAINER, &slice);
		if (kind != CONTAINER_INIT)
			cpuset_subtract(&left, &slice);
	}
	for (uint32_t i = 0; store && i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_HOST && (only == UINT32_MAX || i == only))
			grant_set(pod, i, ISOLATION_POD, &left);
	}
	return CPU_OK;
}

static void clear_grants(struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		grant_set(pod, i, ISOLATION_HOST, &CPUSET_EMPTY);
}

static enum cpu_result allocate_bubble(const struct cpu_manager *manager, struct cpuset *shared,
				       struct ledger_pod *pod, uint32_t only,
				       const struct cpu_affinity *affinity,
				       struct cpu_shortage *ret_shortage)
{
	uint32_t total = cpu_bubble_count(pod->spec, pod->qos);
	struct cpuset bubble;
	enum cpu_result result;

	*ret_shortage = (struct cpu_shortage){.container = UINT32_MAX};
	if (!total)
		return CPU_OK;
	if (only == UINT32_MAX && !cpu_pod_pool_is_enough(manager, pod->spec, pod->qos))
		return refuse(CPU_EMPTY_POD_POOL, ret_shortage, total, 0);
	result = check_whole_cores(manager, shared, NULL, total, ret_shortage);
	if (result)
		return result;
	result = allocate_cpus(manager, shared, total, affinity, NULL, &bubble, ret_shortage);
	if (result)
		return result;
	/* What the containers had of their own, they get no more. */
	if (!pod->has_bubble)
		cpuset_union(shared, pod->held);
	pod->has_bubble = true;
	*ledger_pod_edit(pod, pod->bubble) = bubble;
	*ledger_pod_edit(pod, pod->bubble_baseline) = bubble;
	*ledger_pod_edit(pod, pod->held) = bubble;
	/*
	 * The kubelet first stores the bubble and then all containers' sets at once.
	 * After a failure the sets are therefore unchanged, even those from an earlier
	 * bubble.
	 */
	result = divide_bubble(manager, pod, only, false, ret_shortage);
	if (result)
		return result;
	clear_grants(pod);
	return divide_bubble(manager, pod, only, true, ret_shortage);
}

enum cpu_result cpu_allocate_pod(const struct cpu_manager *manager, struct cpuset *shared,
				 struct ledger_pod *pod, const struct cpu_affinity *affinity,
				 struct cpu_shortage *ret_shortage)
{
	return allocate_bubble(manager, shared, pod, UINT32_MAX, affinity, ret_shortage);
}

enum cpu_result cpu_begin_bubble(const struct cpu_manager *manager, struct cpuset *shared,
				 struct ledger_pod *pod, uint32_t index,
				 const struct cpu_affinity *affinity,
				 struct cpu_shortage *ret_shortage)
{
	return allocate_bubble(manager, shared, pod, index, affinity, ret_shortage);
}

static bool has_assignment(const struct ledger_pod *pod)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation != ISOLATION_HOST)
			return true;
	}
	return false;
}

void cpu_remove(struct cpuset *shared, struct ledger_pod *pod, uint32_t index)
{
	struct cpuset released = *pod->grants[index].cpus;
	struct cpuset *held = ledger_pod_edit(pod, pod->held);

	if (pod->grants[index].isolation == ISOLATION_HOST)
		return;
	grant_set(pod, index, ISOLATION_HOST, &CPUSET_EMPTY);
	if (pod->has_bubble) {
		if (has_assignment(pod))
			return;
		cpuset_union(shared, pod->bubble);
		pod->has_bubble = false;
		*ledger_pod_edit(pod, pod->bubble) = CPUSET_EMPTY;
		*ledger_pod_edit(pod, pod->bubble_baseline) = CPUSET_EMPTY;
		*held = CPUSET_EMPTY;
		return;
	}
	*held = CPUSET_EMPTY;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		cpuset_union(held, pod->grants[i].cpus);
	cpuset_subtract(&released, held);
	cpuset_union(shared, &released);
}

const char *cpu_state_problem_name(enum cpu_state_problem problem)
{
	static const char *const names[] = {
		[CPU_STATE_FINE] = "fine",
		[CPU_STATE_DEFAULT_EMPTY] = "state-default-empty",
		[CPU_STATE_RESERVED_IN_DEFAULT] = "state-reserved-in-default",
		[CPU_STATE_RESERVED_MISSING] = "state-reserved-missing",
		[CPU_STATE_OVERLAP] = "state-overlap",
		[CPU_STATE_CPUS_DIFFER] = "state-cpus-differ",
	};

	_Static_assert(ARRAY_SIZE(names) == CPU_STATE_PROBLEM_NR, "a name for each problem");
	return names[problem];
}

enum cpu_state_problem cpu_validate_state(const struct cpu_manager *manager, struct cpuset *shared,
					  const struct cpuset *assigned, bool has_assignments,
					  const struct cpuset *bubbles)
{
	struct cpuset all, known;

	cpu_initial_pool(manager, &all);
	if (cpuset_is_empty(shared)) {
		if (has_assignments)
			return CPU_STATE_DEFAULT_EMPTY;
		*shared = all;
		return CPU_STATE_FINE;
	}
	if (manager->policy->cpu_options.strict_reservation) {
		if (cpuset_intersects(&manager->reserved, shared))
			return CPU_STATE_RESERVED_IN_DEFAULT;
	} else if (!cpuset_is_subset(&manager->reserved, shared)) {
		return CPU_STATE_RESERVED_MISSING;
	}
	if (cpuset_intersects(assigned, shared))
		return CPU_STATE_OVERLAP;
	known = *shared;
	cpuset_union(&known, assigned);
	if (bubbles)
		cpuset_union(&known, bubbles);
	return cpuset_equal(&known, &all) ? CPU_STATE_FINE : CPU_STATE_CPUS_DIFFER;
}
