// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF side's picture of the ledger. Its groups are those of the wanted tree, and what
 * lies around the workload root.
 */
#include <errno.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "lib/log.h"

#define MAX_SURROUNDINGS 256

/* NUMA nodes (indexes) that these CPUs lie on. */
static node_mask_t nodes_of(const struct topology *topology, const struct cpuset *cpus)
{
	node_mask_t mask = 0;

	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		if (cpuset_intersects(&topology->nodes.cpus[i], cpus))
			mask |= 1ULL << i;
	return mask;
}

/*
 * Where memory is near for a group: the nodes it was given, which need not be those of
 * its CPUs. A container on unrestricted memory has it near where it runs.
 */
static node_mask_t near_nodes(const struct controller *controller, const struct group *group,
			      const struct cpuset *cpus)
{
	const struct topology *topology = controller->topology;
	const struct ledger_pod *pod = ledger_find(controller->ledger, group->uid);
	const struct grant *grant = pod ? ledger_find_grant(pod, group->container) : NULL;
	node_mask_t mems = grant ? grant->mems : 0, mask = 0;

	if (!mems)
		return nodes_of(topology, cpus);
	/* over nodes with CPUs, as the BPF side numbers them */
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		if (mems >> topology->memory_index[i] & 1)
			mask |= 1ULL << i;
	return mask;
}

static void free_published(struct published *published, uint32_t nr)
{
	for (uint32_t i = 0; published && i < nr; i++)
		free(published[i].path);
	free(published);
}

void publisher_fini(struct publisher *publisher)
{
	free_published(publisher->rows, publisher->nr);
}

void publisher_end_release(struct publisher *publisher)
{
	publisher->ends_release = true;
}

const struct managed_group *ctl_published(const struct controller *controller, const char *path)
{
	for (uint32_t i = 0; i < controller->publisher.nr; i++)
		if (!strcmp(controller->publisher.rows[i].path, path))
			return &controller->publisher.rows[i].managed;
	return NULL;
}

/*
 * -EINPROGRESS: its pod waits in the kernel, or somebody holds its directory. What was known
 * of it stands: left out, it would lose the guard for as long as somebody makes us wait.
 */
static bool fill_managed(struct controller *controller, const struct group *group,
			 struct managed_group *ret_managed)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct managed_group *before = NULL;
	struct group_status status;
	int r = groups->status(groups->self, group->path, &status);

	if (r == -EINPROGRESS) {
		controller->publisher.is_unsure = true;
		before = ctl_published(controller, group->path);
		if (before)
			*ret_managed = *before;
		return before;
	}
	if (r) {
		if (r != -ENOENT)
			log_warn(r, "ctl: %s is not guarded, ignoring until the next look",
				 group->path);
		return false;
	}
	*ret_managed = (struct managed_group){
		.cgroup_id = status.cgroup_id,
		.level = status.level,
		.scope = MANAGED_TREE,
		.is_container = group->role == GROUP_CONTAINER,
		.cpus = status.effective_cpus,
		.nodes = near_nodes(controller, group, &status.effective_cpus),
	};
	return true;
}

/* All managed groups, and behind them room for those around. NULL = out of memory. */
static struct managed_group *fill_policy(struct controller *controller, struct published *published,
					 uint32_t *ret_nr)
{
	uint32_t nr_groups = controller->desired.nr_groups, nr = 0;
	struct managed_group *managed cleanup_free =
		calloc(nr_groups + MAX_SURROUNDINGS, sizeof(*managed));

	controller->publisher.is_unsure = false;
	for (uint32_t i = 0; managed && i < nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];

		if (!fill_managed(controller, group, &managed[nr]))
			continue;
		published[nr].managed = managed[nr];
		published[nr].path = strdup(group->path);
		if (!published[nr++].path)
			return NULL;
	}
	*ret_nr = nr;
	return TAKE_PTR(managed);
}

void ctl_publish(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct groups_port *groups = controller->ports.groups;
	const struct config *config = controller->options.config;
	uint32_t nr_desired = controller->desired.nr_groups;
	struct managed_group *managed cleanup_free = NULL;
	struct published *published;
	struct kernel_policy policy = {0};
	uint32_t nr_managed = 0, nr_around = 0;
	int r;

	if (!kernel)
		return;
	published = calloc(nr_desired + 1, sizeof(*published));
	if (published)
		managed = fill_policy(controller, published, &nr_managed);
	if (!managed) {
		free_published(published, nr_desired);
		log_err(-ENOMEM, "ctl: the guard keeps its last policy");
		controller->publisher.is_stale = true;
		return;
	}
	if (groups->surroundings &&
	    groups->surroundings(groups->self, managed + nr_managed, MAX_SURROUNDINGS, &nr_around))
		nr_around = 0;
	policy.groups = managed;
	policy.nr_groups = nr_managed + nr_around;
	/*
	 * No other actors: below pinfold.slice no runtime and no kubelet has business, and a
	 * cgroup named like a unit would be enough to pass for one.
	 */
	ledger_exclusive(controller->ledger, &policy.protected_cpus);
	policy.cpuset_files = config->enforcement.cpuset_files;
	policy.affinity = config->enforcement.affinity;
	policy.cgroup_moves = config->enforcement.cgroup_moves;
	if (config->mode == MODE_OBSERVE)
		policy.cpuset_files = policy.affinity = policy.cgroup_moves = ENFORCEMENT_OFF;
	policy.runtime_writes_deny = config->runtime_writes == RUNTIME_WRITES_DENY;
	policy.pid1_writes_cpusets = controller->layout.systemd;
	policy.guards_siblings = controller->layout.root_partition;
	policy.guard_expiry_ns = config->guard_expiry_ns;
	policy.ends_release = controller->publisher.ends_release;
	r = kernel->publish(kernel->self, &policy);
	controller->publisher.is_stale = r;
	if (!r) {
		controller->publisher.ends_release = false;
		free_published(controller->publisher.rows, controller->publisher.nr);
		controller->publisher.rows = TAKE_PTR(published);
		controller->publisher.nr = nr_managed;
	}
	free_published(published, nr_managed);
	if (controller->publisher.is_unsure)
		wakes_schedule(&controller->wakes, WAKES_RETRY_NS);
	if (r)
		findings_put(&controller->findings, "guard_policy_old",
			     "the BPF side could not be told of the last change",
			     "see the log; the agent tries again with each look");
	else
		findings_clear(&controller->findings, "guard_policy_old");
}
