// SPDX-License-Identifier: Apache-2.0
/*
 * Rebuilds the ledger from live cgroups when a start finds no usable state file. Running pods
 * keep their CPUs: each populated pod becomes a pod in state "ending" with exactly the CPUs
 * that the kernel shows, until its last process ends, or until a source names it and it is
 * decided properly. The requests are unknown, so they are invented such that the same CPUs,
 * quotas and memory limits follow from them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/recover.h"
#include "lib/log.h"

/* Below the 90 s that systemd gives a service to start. */
#define AWAIT_TREE_NS 30000000000ULL

struct found {
	const struct group *group;
	struct cpuset cpus;
};

struct finder {
	struct controller *controller;
	const struct group_tree *tree;
	struct found *found; /* populated containers with a CPU list */
	uint32_t nr;
	struct cpuset pool; /* the node's shared pool as shown by the kernel; may be empty */
};

static void collect(struct finder *finder)
{
	for (uint32_t i = 0; i < finder->tree->nr_groups; i++) {
		const struct group *group = &finder->tree->groups[i];
		const char *text = group->files[GROUP_CPUSET_CPUS];
		struct found *found = &finder->found[finder->nr];

		if (group->role != GROUP_CONTAINER || !group->populated || !text || !*text ||
		    cpuset_parse(text, strlen(text), &found->cpus))
			continue;
		found->group = group;
		finder->nr++;
	}
}

static struct group_limits limits_of(const struct controller *controller, const struct group *group)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_limits limits;

	groups->limits(groups->self, group, &limits);
	return limits;
}

/* An exclusive container requested as many CPUs as it has, which its weight shows. */
static bool has_exclusive_weight(const struct controller *controller, const struct found *found)
{
	const uint64_t wanted = plan_cpu_weight(1000 * (int64_t)cpuset_count(&found->cpus));

	return limits_of(controller, found->group).cpu_weight == (int64_t)wanted;
}

/*
 * The shared pool is the list that contains exactly the CPUs that no other list has. With two
 * lists this is true of both, so a container with the weight of its CPUs is not taken for the
 * pool.
 */
static void find_pool(struct finder *finder)
{
	struct controller *controller = finder->controller;

	for (uint32_t i = 0; i < finder->nr; i++) {
		struct cpuset rest = controller->topology->all;

		if (has_exclusive_weight(controller, &finder->found[i]))
			continue;
		cpuset_subtract(&rest, &controller->policy->excluded);
		if (controller->policy->cpu_options.strict_reservation)
			cpuset_subtract(&rest, ledger_reserved(controller->ledger));
		for (uint32_t j = 0; j < finder->nr; j++)
			if (!cpuset_equal(&finder->found[i].cpus, &finder->found[j].cpus))
				cpuset_subtract(&rest, &finder->found[j].cpus);
		if (cpuset_equal(&rest, &finder->found[i].cpus)) {
			finder->pool = rest;
			return;
		}
	}
}

/* Several requests result in the same weight: return the smallest. */
static int64_t request_of_weight(int64_t weight)
{
	int64_t low = 1, high = 262144LL * 1000 / 1024;

	while (low < high) {
		int64_t middle = (low + high) / 2;

		if ((int64_t)plan_cpu_weight(middle) < weight)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Invent a request that results in exactly these CPUs, or in a share of the pool, and in the
 * limits that are in force: the loss of its record must not affect the pod. An exclusive
 * container needs a memory limit; if it has none, set one above the machine's memory.
 */
static void invent_request(const struct controller *controller, struct container_spec *spec,
			   const struct found *found, bool exclusive)
{
	const struct group_limits limits = limits_of(controller, found->group);
	const int64_t memory_bytes = limits.memory_max_bytes;

	spec->kind = CONTAINER_APP;
	snprintf(spec->name, sizeof(spec->name), "%s", found->group->container);
	if (exclusive) {
		spec->request.cpu_mcpu = 1000 * (int64_t)cpuset_count(&found->cpus);
		spec->request.memory_bytes = memory_bytes ? memory_bytes : 1LL << 50;
		spec->limit = spec->request;
		return;
	}
	/* It requests no memory, so the pod is Burstable and no exclusive CPU results. */
	spec->request.cpu_mcpu = request_of_weight(limits.cpu_weight);
	spec->limit.cpu_mcpu = limits.quota_mcpu;
	spec->limit.memory_bytes = memory_bytes ? memory_bytes : RESOURCE_UNSET;
	if (spec->limit.cpu_mcpu != RESOURCE_UNSET && spec->request.cpu_mcpu > spec->limit.cpu_mcpu)
		spec->request.cpu_mcpu = spec->limit.cpu_mcpu;
}

/* The part of the pod's limit beyond its containers': overhead, or containers that ended. */
static void invent_overhead(const struct controller *controller, struct pod_spec *spec,
			    const struct group *group)
{
	int64_t whole = limits_of(controller, group).memory_max_bytes;
	int64_t sum = pod_totals(spec).memory_limit_bytes;

	if (sum != RESOURCE_UNSET && whole > sum)
		spec->overhead.memory_bytes = whole - sum;
}

static uint32_t count_containers(const struct finder *finder, const char *uid)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < finder->nr; i++)
		nr += !strcmp(finder->found[i].group->uid, uid);
	return nr;
}

/* Unit names contain '_' instead of the '-' of a uid; uids of pods do not contain '_'. */
static void copy_uid(const struct controller *controller, const char *uid, char *ret_uid)
{
	snprintf(ret_uid, POD_UID_MAX, "%s", uid);
	for (char *at = ret_uid; controller->layout.systemd && *at; at++)
		if (*at == '_') /* text: it is changed, and decides nothing */
			*at = '-';
}

static int fill_pod(const struct finder *finder, const struct group *group, struct ledger_pod *pod)
{
	const char *uid = group->uid;
	uint32_t nr = count_containers(finder, uid), at = 0;

	if (ledger_pod_allocate(pod, nr))
		return -ENOMEM;
	copy_uid(finder->controller, uid, pod->spec->uid);
	snprintf(pod->spec->name, sizeof(pod->spec->name), "%s", pod->spec->uid);
	snprintf(pod->spec->namespace, sizeof(pod->spec->namespace), REBUILT_NAMESPACE);
	pod->spec->request = pod->spec->limit = pod->spec->overhead = RESOURCES_UNSET;
	for (uint32_t i = 0; i < finder->nr; i++) {
		const struct found *found = &finder->found[i];
		bool exclusive = !cpuset_equal(&found->cpus, &finder->pool);
		struct grant *grant = &pod->grants[at];

		if (strcmp(found->group->uid, uid))
			continue;
		invent_request(finder->controller, &pod->spec->containers[at], found, exclusive);
		grant->kind = CONTAINER_APP;
		grant->isolation = exclusive ? ISOLATION_CONTAINER : ISOLATION_HOST;
		snprintf(grant->container, sizeof(grant->container), "%s", found->group->container);
		if (exclusive)
			grant->cpus = &found->cpus;
		at++;
	}
	pod->spec->nr_containers = pod->nr_grants = nr;
	invent_overhead(finder->controller, pod->spec, group);
	pod->state = POD_ENDING;
	snprintf(pod->detail, sizeof(pod->detail),
		 "it was found running, without a record in the state file");
	return 0;
}

static void restore_pod(struct finder *finder, const struct group *group)
{
	struct controller *controller = finder->controller;
	char error[200] = "";
	struct ledger_pod pod = {0};
	int r = fill_pod(finder, group, &pod);

	if (!r)
		r = ledger_restore(controller->ledger, &pod, error, sizeof(error));
	if (r)
		findings_put(&controller->findings, FINDING_GRANT_LOST,
			     "the agent decides it again when a source names it",
			     "pod %.60s runs, but cannot keep its CPUs: %s", group->uid,
			     *error ? error : strerror(-r));
	else
		log_warn(0, "state: pod %s was found running and keeps its CPUs", group->uid);
	pod_spec_free(pod.spec);
	free(pod.grants);
}

/*
 * Another process may hold the lock of a cgroup. A later look is postponed then, but a
 * start without a record is not: whoever is not found here loses its CPUs to others. The
 * agent does not end at once either, because its successor would meet the same lock.
 */
static int read_live_tree(struct controller *controller, struct group_tree *ret_tree)
{
	const struct groups_port *groups = controller->ports.groups;
	char where[160] = "";
	int r = groups->read_tree(groups->self, ret_tree);

	if (r == -EINPROGRESS) {
		groups->waits_in(groups->self, "", where, sizeof(where));
		log_warn(0,
			 "state: reading the live cgroups is blocked in the kernel%s%s; waiting "
			 "up to %llu s",
			 *where ? ": " : "", where, AWAIT_TREE_NS / 1000000000);
		r = groups->await_tree(groups->self, AWAIT_TREE_NS);
		if (r == -EINTR)
			return r;
		if (!r)
			r = groups->read_tree(groups->self, ret_tree);
	}
	if (r == -ENOENT)
		return 0;
	return r ? log_err(r, "state: cannot read the live cgroups") : 0;
}

int ctl_rebuild(struct controller *controller)
{
	struct group_tree tree cleanup_tree = {0};
	struct found *found cleanup_free = NULL;
	struct finder finder = {.controller = controller, .tree = &tree};
	int r;

	r = read_live_tree(controller, &tree);
	if (r)
		return r;
	found = calloc(tree.nr_groups + 1, sizeof(*found));
	if (!found)
		return log_err(-ENOMEM, "state: cannot rebuild the grants from the live cgroups");
	finder.found = found;
	collect(&finder);
	find_pool(&finder);
	for (uint32_t i = 0; i < tree.nr_groups; i++)
		if (tree.groups[i].role == GROUP_POD &&
		    count_containers(&finder, tree.groups[i].uid))
			restore_pod(&finder, &tree.groups[i]);
	return 0;
}
