// SPDX-License-Identifier: Apache-2.0
/*
 * Matches the manifest of a pod that was taken over without one. To move a running pod only
 * because its record was invented would harm it for nothing: containers are matched by name,
 * and if each is entitled to as much as it has, nothing moves.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/admission.h"
#include "ctl/lookup.h"
#include "kubelet/import.h"

bool adopt_is_wanted(const struct ledger_pod *pod)
{
	const char *namespace = pod->spec->namespace;

	return pod->state == POD_ENDING && (!strcmp(namespace, KUBELET_IMPORT_NAMESPACE) ||
					    !strcmp(namespace, REBUILT_NAMESPACE));
}

/* Every container that has CPUs must be in the new spec, or its CPUs would be lost. */
static bool names_all(const struct ledger_pod *pod, const struct pod_spec *spec)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		bool named = false;

		for (uint32_t j = 0; j < spec->nr_containers && !named; j++)
			named = !strcmp(pod->grants[i].container, spec->containers[j].name);
		if (!named && pod->grants[i].isolation != ISOLATION_HOST)
			return false;
	}
	return true;
}

/* How many exclusive CPUs admission would give to this container. */
static uint32_t count_exclusive(const struct ledger *ledger, const struct ledger_pod *pod,
				uint32_t index)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);

	if (pod->spec->has_pod_resources && !ledger_policy(ledger)->pod_level_managers)
		return 0;
	/* A budget that is not a whole number of CPUs has no bubble to take slices from. */
	if (cpu_is_bubble_pod(manager, pod->spec, pod->qos) && !pod->has_bubble)
		return 0;
	return cpu_exclusive_count(manager, pod->spec, pod->qos, index);
}

/* Compute the grant of this container; true if it equals what the container has. */
static bool fill_grant(const struct ledger *ledger, const struct ledger_pod *known,
		       const struct ledger_pod *pod, uint32_t index, struct grant *grant)
{
	const struct container_spec *spec = &pod->spec->containers[index];
	const struct grant *held = ledger_find_grant(known, spec->name);
	uint32_t wanted = count_exclusive(ledger, pod, index);
	struct memory_request memory = {0};

	*grant = (struct grant){
		.kind = spec->kind, .isolation = ISOLATION_HOST, .cpus = &cpuset_none};
	snprintf(grant->container, sizeof(grant->container), "%s", spec->name);
	if (held) {
		grant->mems = held->mems;
		grant->cpus = held->cpus;
		grant->baseline = held->baseline;
	}
	if (memory_is_pinned(ledger_memory_manager(ledger), pod->spec, pod->qos))
		memory_container_request(ledger_memory_manager(ledger), pod->spec, index, &memory);
	if (memory.types && !grant->mems)
		return false;
	if (wanted) {
		grant->isolation = ISOLATION_CONTAINER;
		return cpuset_count(grant->cpus) == wanted;
	}
	if (pod->has_bubble) {
		grant->isolation = ISOLATION_POD;
		return !cpuset_is_empty(grant->cpus);
	}
	return cpuset_is_empty(grant->cpus);
}

static bool fill_pod(const struct ledger *ledger, const struct ledger_pod *known,
		     struct ledger_pod *pod)
{
	const struct cpu_manager *manager = ledger_cpu_manager(ledger);

	pod->qos = pod_qos(pod->spec);
	pod->has_bubble = cpu_is_bubble_pod(manager, pod->spec, pod->qos) &&
			  cpu_bubble_count(pod->spec, pod->qos);
	pod->bubble = known->bubble;
	pod->bubble_baseline = known->bubble_baseline;
	if (pod->has_bubble != known->has_bubble || !names_all(known, pod->spec))
		return false;
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		if (!fill_grant(ledger, known, pod, i, &pod->grants[i]))
			return false;
	return true;
}

/* The ledger applies its usual checks: counts, overlaps, memory that fits. */
static int replace(struct ledger *ledger, const struct ledger_pod *pod)
{
	const struct ledger_pod *restored;
	char error[256];
	int r = ledger_begin(ledger);

	if (r)
		return r;
	r = ledger_remove(ledger, pod->spec->uid);
	if (!r)
		r = ledger_restore(ledger, pod, error, sizeof(error));
	restored = r ? NULL : ledger_find(ledger, pod->spec->uid);
	/* The detail is set if its memory could not be kept unchanged. */
	if (restored && !*restored->detail)
		return 0;
	ledger_abort(ledger);
	return r == -ENOMEM ? r : -ENOTSUP;
}

int adopt_prepare(struct ledger *ledger, const struct ledger_pod *known,
		  const struct pod_spec *spec)
{
	struct pod_spec *copy cleanup_pod_spec = pod_spec_copy(spec);
	struct grant *grants cleanup_free = calloc(spec->nr_containers + 1, sizeof(*grants));
	struct ledger_pod pod = {
		.spec = copy, .state = POD_RUNNING, .nr_grants = spec->nr_containers};

	if (!copy || !grants)
		return -ENOMEM;
	pod.grants = grants;
	return fill_pod(ledger, known, &pod) ? replace(ledger, &pod) : -ENOTSUP;
}
