// SPDX-License-Identifier: Apache-2.0
/*
 * The invariants that hold for every ledger outside a transaction, checked on the plain
 * records. The ledger checks them before it restores a pod; tests and recovery check them
 * after each step.
 */
#include "core/ledger/ledger_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct violation_report {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static int violated(const struct violation_report *report,
							  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(report->text, report->size, format, args);
	va_end(args);
	return -EUCLEAN;
}

static int check_shape(const struct ledger_pod *pod, const struct violation_report *report)
{
	const char *uid = pod->spec->uid;

	if (pod->nr_grants != pod->spec->nr_containers)
		return violated(report, "pod %s has %u grants for %u containers", uid,
				pod->nr_grants, pod->spec->nr_containers);
	if (pod->qos != pod_qos(pod->spec))
		return violated(report, "pod %s is recorded as %s but its spec says %s", uid,
				qos_class_name(pod->qos), qos_class_name(pod_qos(pod->spec)));
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct container_spec *spec = &pod->spec->containers[i];
		const struct grant *grant = &pod->grants[i];

		if (strcmp(grant->container, spec->name) || grant->kind != spec->kind)
			return violated(report, "pod %s: grant %u is for container '%s', not '%s'",
					uid, i, grant->container, spec->name);
	}
	return 0;
}

static int check_grant(const struct ledger_pod *pod, const struct grant *grant,
		       const struct violation_report *report)
{
	const char *uid = pod->spec->uid;
	bool is_empty = cpuset_is_empty(grant->cpus);

	if (grant->isolation >= ISOLATION_NR)
		return violated(report, "pod %s container %s: invalid isolation %d", uid,
				grant->container, grant->isolation);
	if ((grant->isolation == ISOLATION_HOST) != is_empty)
		return violated(report, "pod %s container %s: isolation %s, but it has %u CPUs",
				uid, grant->container, isolation_name(grant->isolation),
				cpuset_count(grant->cpus));
	if (grant->isolation == ISOLATION_POD && !pod->has_bubble)
		return violated(report,
				"pod %s container %s runs on a pod's shared pool, but the "
				"pod has no CPUs",
				uid, grant->container);
	return 0;
}

static int check_slices(const struct ledger_pod *pod, const struct violation_report *report)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!cpuset_is_subset(pod->grants[i].cpus, pod->held))
			return violated(report,
					"pod %s container %s has CPUs that its pod does not hold",
					pod->spec->uid, pod->grants[i].container);
	}
	return 0;
}

/*
 * May two containers of a pod have a CPU in common, where `first` comes before `second`?
 * An ordinary init container ends before app containers start and only borrows its CPUs:
 * from those that later containers get and, as in the kubelet, also from the pod's shared
 * pool, on which an earlier sidecar may already run. It never borrows from exclusive
 * sidecars.
 */
static bool may_overlap(const struct grant *first, const struct grant *second)
{
	if (first->isolation == ISOLATION_POD && second->isolation == ISOLATION_POD)
		return true;
	if (first->kind == CONTAINER_INIT)
		return true;
	return second->kind == CONTAINER_INIT && first->isolation == ISOLATION_POD;
}

static int check_overlaps(const struct ledger_pod *pod, const struct violation_report *report)
{
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		for (uint32_t j = i + 1; j < pod->nr_grants; j++) {
			const struct grant *a = &pod->grants[i], *b = &pod->grants[j];

			if (!may_overlap(a, b) && cpuset_intersects(a->cpus, b->cpus))
				return violated(report, "pod %s: containers %s and %s share CPUs",
						pod->spec->uid, a->container, b->container);
		}
	}
	return 0;
}

static bool is_whole_count(const struct cpuset *cpus, int64_t request_mcpu)
{
	return (int64_t)cpuset_count(cpus) * 1000 == request_mcpu;
}

static int check_counts(const struct ledger_pod *pod, const struct violation_report *report)
{
	if (pod->has_bubble && !is_whole_count(pod->bubble, pod->spec->request.cpu_mcpu))
		return violated(report, "pod %s holds %u CPUs for a budget of %lldm",
				pod->spec->uid, cpuset_count(pod->bubble),
				(long long)pod->spec->request.cpu_mcpu);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];
		int64_t mcpu = pod->spec->containers[i].request.cpu_mcpu;

		if (grant->isolation == ISOLATION_CONTAINER && !is_whole_count(grant->cpus, mcpu))
			return violated(report, "pod %s container %s holds %u CPUs for %lldm",
					pod->spec->uid, grant->container, cpuset_count(grant->cpus),
					(long long)mcpu);
	}
	return 0;
}

static int check_held(const struct cpu_manager *manager, const struct ledger_pod *pod,
		      const struct violation_report *report)
{
	struct cpuset held = pod->has_bubble ? *pod->bubble : CPUSET_EMPTY;
	char list[64];

	for (uint32_t i = 0; i < pod->nr_grants && !pod->has_bubble; i++)
		cpuset_union(&held, pod->grants[i].cpus);
	if (!cpuset_equal(&held, pod->held))
		return violated(report, "pod %s: what it holds is not the sum of its grants",
				pod->spec->uid);
	if (!cpuset_is_subset(&held, &manager->usable)) {
		cpuset_subtract(&held, &manager->usable);
		cpuset_format(&held, list, sizeof(list));
		return violated(
			report,
			"pod %s holds CPUs that pods may not use or that no longer exist: %s",
			pod->spec->uid, list);
	}
	if (cpuset_intersects(&held, &manager->reserved))
		return violated(report, "pod %s holds reserved CPUs", pod->spec->uid);
	return 0;
}

int ledger_check_pod(const struct cpu_manager *manager, const struct ledger_pod *pod, char *error,
		     size_t error_size)
{
	const struct violation_report report = {error, error_size};
	int r = check_shape(pod, &report);

	for (uint32_t i = 0; !r && i < pod->nr_grants; i++)
		r = check_grant(pod, &pod->grants[i], &report);
	if (r || compatibility_is_kubelet(manager->policy->compatibility))
		return r;
	/*
	 * The kubelet takes cores of different sizes whole, even if only a part belongs
	 * to the pod.
	 */
	r = check_slices(pod, &report);
	if (!r)
		r = check_overlaps(pod, &report);
	if (!r)
		r = check_counts(pod, &report);
	if (!r)
		r = check_held(manager, pod, &report);
	return r;
}

static int check_pools(const struct cpu_manager *manager, const struct cpuset *shared,
		       const struct cpuset *held, const struct violation_report *report)
{
	struct cpuset pool, all;

	if (cpuset_intersects(shared, held))
		return violated(report, "the shared pool holds CPUs that are granted exclusively");
	if (!manager->policy->cpu_options.strict_reservation &&
	    !cpuset_is_subset(&manager->reserved, shared))
		return violated(report, "reserved CPUs are missing from the shared pool");
	cpu_initial_pool(manager, &pool);
	all = *shared;
	cpuset_union(&all, held);
	if (!cpuset_equal(&all, &pool))
		return violated(report, "shared pool and grants make %u CPUs, but pods may use %u",
				cpuset_count(&all), cpuset_count(&pool));
	return 0;
}

/* Nothing that a resize did took away a CPU of the admission. */
static int check_baselines(const struct ledger_pod *pod, const struct violation_report *report)
{
	if (pod->has_bubble && !cpuset_is_subset(pod->bubble_baseline, pod->bubble))
		return violated(report, "pod %s does not have all CPUs of its admission",
				pod->spec->uid);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (!cpuset_is_subset(pod->grants[i].baseline, pod->grants[i].cpus))
			return violated(
				report,
				"pod %s container %s does not have all CPUs of its admission",
				pod->spec->uid, pod->grants[i].container);
	}
	return 0;
}

int ledger_check_pods(const struct cpu_manager *manager, struct ledger_pod *const *pods,
		      uint32_t nr_pods, const struct cpuset *shared, char *error, size_t error_size)
{
	const struct violation_report report = {error, error_size};
	struct cpuset held = CPUSET_EMPTY;
	int r;

	for (uint32_t i = 0; i < nr_pods; i++) {
		const struct ledger_pod *pod = pods[i];

		r = ledger_check_pod(manager, pod, error, error_size);

		if (r)
			return r;
		if (i && strcmp(pods[i - 1]->spec->uid, pod->spec->uid) >= 0)
			return violated(&report, "pods are not ascending by uid at %s",
					pod->spec->uid);
		if (!compatibility_is_kubelet(manager->policy->compatibility) &&
		    cpuset_intersects(&held, pod->held))
			return violated(&report, "pod %s holds CPUs of another pod",
					pod->spec->uid);
		cpuset_union(&held, pod->held);
	}
	if (compatibility_is_kubelet(manager->policy->compatibility))
		return 0;
	r = check_pools(manager, shared, &held, &report);
	for (uint32_t i = 0; !r && i < nr_pods; i++)
		r = check_baselines(pods[i], &report);
	return r;
}
