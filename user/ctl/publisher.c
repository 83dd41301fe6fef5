// SPDX-License-Identifier: Apache-2.0
/*
 * The policy that is published to the BPF side: the groups that are measured, of which those of
 * the desired tree are guarded as well, and the cgroups around the workload root.
 */
#include <errno.h>
#include <string.h>

#include <pinfold/abi.h>

#include "ctl/internal.h"
#include "ctl/publisher.h"
#include "lib/log.h"
#include "lib/text.h"

#define MAX_SURROUNDINGS 256

/* NUMA nodes (indexes) that contain these CPUs. */
static node_mask_t nodes_of(const struct topology *topology, const struct cpuset *cpus)
{
	node_mask_t mask = 0;

	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		if (cpuset_intersects(&topology->nodes.cpus[i], cpus))
			mask |= 1ULL << i;
	return mask;
}

/*
 * The NUMA nodes on which memory is near for a group: those it was granted, which may differ
 * from those of its CPUs. For a container with unrestricted memory, the nodes it runs on.
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
	/* count only nodes with CPUs, because the BPF side numbers these */
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		if (mems >> topology->memory_index[i] & 1)
			mask |= 1ULL << i;
	return mask;
}

/* Nothing is dropped for lack of a policy that is known to be complete. */
static bool keeps_others(const struct publisher *publisher)
{
	return publisher->nr_unread && !publisher->is_whole;
}

static void free_published(struct published *published, uint32_t nr)
{
	for (uint32_t i = 0; published && i < nr; i++)
		free(published[i].path);
	free(published);
}

static void free_cpus(struct granted_cpus *cpus)
{
	while (cpus) {
		struct granted_cpus *next = cpus->next;

		free(cpus);
		cpus = next;
	}
}

static void free_cpusp(struct granted_cpus **cpus)
{
	free_cpus(*cpus);
}
#define cleanup_granted_cpus cleanup(free_cpusp)

/* The same CPUs in the list, where they are added if they are not there. NULL = no memory. */
static const struct cpuset *share_cpus(struct granted_cpus **list, const struct cpuset *cpus)
{
	struct granted_cpus *granted;

	for (granted = *list; granted; granted = granted->next)
		if (cpuset_equal(&granted->cpus, cpus))
			return &granted->cpus;
	granted = malloc(sizeof(*granted));
	if (!granted)
		return NULL;
	*granted = (struct granted_cpus){*list, *cpus};
	*list = granted;
	return &granted->cpus;
}

void publisher_fini(struct publisher *publisher)
{
	free_published(publisher->rows, publisher->nr);
	free_cpus(publisher->cpus);
}

void publisher_end_release(struct publisher *publisher)
{
	publisher->ends_release = true;
}

uint64_t ctl_cgroup_id(const struct controller *controller, const char *path,
		       const struct group_status *status)
{
	const struct managed_group *published;
	uint32_t cursor = 0;

	if (status)
		return status->cgroup_id;
	published = ctl_published_next(controller, path, &cursor);
	return published ? published->cgroup_id : 0;
}

const struct managed_group *ctl_published_next(const struct controller *controller,
					       const char *path, uint32_t *cursor)
{
	const struct publisher *publisher = &controller->publisher;

	for (uint32_t i = 0; i < publisher->nr; i++) {
		uint32_t at = (*cursor + i) % publisher->nr;

		if (!strcmp(publisher->rows[at].path, path)) {
			*cursor = at;
			return &publisher->rows[at].managed;
		}
	}
	return NULL;
}

/*
 * The CPUs that count as the group's: those that were granted. The kernel may have others in
 * force, because of drift that is not repaired, and then the tasks run outside their grant.
 */
static struct cpuset own_cpus(const struct group *group, const struct group_status *status)
{
	struct cpuset granted = cpuset_of_text(group->files[GROUP_CPUSET_CPUS]);

	return cpuset_is_empty(&granted) ? status->effective_cpus : granted;
}

static void note_unread(struct publisher *publisher, const char *path)
{
	if (!publisher->nr_unread++)
		text_copy(publisher->unread, sizeof(publisher->unread), path);
}

/*
 * A group that cannot be read (-EINPROGRESS: an operation on its pod is blocked in the kernel, or
 * another process holds the lock of its directory) is published as it was last time: without that it
 * would be unguarded for as long as somebody blocks the read. An agent that has just begun has
 * published nothing yet; it then leaves in force what its predecessor published (keeps_others). What
 * is only counted does not make the guard's policy incomplete. -ENOENT: it is not published.
 */
static int fill_managed(struct controller *controller, const struct group *group, bool is_foreign,
			struct granted_cpus **list, struct managed_group *ret_managed)
{
	const struct groups_port *groups = controller->ports.groups;
	const struct managed_group *before = NULL;
	struct group_status status;
	struct cpuset cpus;
	uint32_t cursor = 0;
	int r = groups->status(groups->self, group->path, &status);

	if (r == -ENOENT)
		return r;
	if (r) {
		if (r == -EINPROGRESS)
			controller->publisher.is_waiting = true;
		else
			log_warn(r,
				 "ctl: cannot read %s, so the BPF programs cover it as before, if "
				 "they did, until the next reconcile",
				 group->path);
		if (!is_foreign)
			note_unread(&controller->publisher, group->path);
		before = ctl_published_next(controller, group->path, &cursor);
		if (!before)
			return -ENOENT;
		*ret_managed = *before;
		ret_managed->cpus = share_cpus(list, before->cpus);
		return ret_managed->cpus ? 0 : -ENOMEM;
	}
	cpus = own_cpus(group, &status);
	*ret_managed = (struct managed_group){
		.cgroup_id = status.cgroup_id,
		.level = status.level,
		.scope = is_foreign ? MANAGED_COUNTED : MANAGED_TREE,
		.is_container = group->role == GROUP_CONTAINER,
		.pod = ctl_pod_number(group->uid),
		.cpus = share_cpus(list, &cpus),
		.nodes = near_nodes(controller, group, &cpus),
	};
	return ret_managed->cpus ? 0 : -ENOMEM;
}

/*
 * A kubelet's containers: who writes their cpusets is watched, and no more. The map has room for
 * at least as many as there may be containers of ours.
 */
static uint32_t add_watched(const struct controller *controller, struct managed_group *managed)
{
	const struct kubelet_drift *drift = &controller->kubelet_drift;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < drift->nr && nr < controller->options.config->max_containers; i++)
		if (drift->containers[i].level < MANAGED_LEVELS_MAX)
			managed[nr++] = (struct managed_group){
				.cgroup_id = drift->containers[i].cgroup_id,
				.level = drift->containers[i].level,
				.scope = MANAGED_SELF,
			};
	return nr;
}

/* Where a cgroup is in the policy. */
struct policy_row {
	uint64_t cgroup_id;
	uint32_t at;
};

static int by_cgroup(const void *left, const void *right)
{
	const struct policy_row *a = left, *b = right;

	if (a->cgroup_id != b->cgroup_id)
		return a->cgroup_id > b->cgroup_id ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

/*
 * A runtime may name one cgroup for several containers, or that of a pod. The first one has it: whoever
 * keeps figures by cgroup has one row for each. -ENOMEM.
 */
static int drop_repeated(struct managed_group *managed, struct published *published, uint32_t *nr)
{
	struct policy_row *rows cleanup_free = calloc(*nr + 1, sizeof(*rows));
	uint32_t nr_kept = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < *nr; i++)
		rows[i] = (struct policy_row){managed[i].cgroup_id, i};
	qsort(rows, *nr, sizeof(*rows), by_cgroup);
	for (uint32_t i = 1; i < *nr; i++)
		if (rows[i].cgroup_id == rows[i - 1].cgroup_id) {
			free(published[rows[i].at].path);
			published[rows[i].at].path = NULL;
		}
	for (uint32_t i = 0; i < *nr; i++) {
		if (!published[i].path)
			continue;
		managed[nr_kept] = managed[i];
		published[nr_kept++] = published[i];
	}
	/* what moved is not owned twice */
	for (uint32_t i = nr_kept; i < *nr; i++)
		published[i].path = NULL;
	*nr = nr_kept;
	return 0;
}

/* All managed groups, followed by space for those around the root. NULL = out of memory. */
static struct managed_group *fill_policy(struct controller *controller, struct published *published,
					 struct granted_cpus **list, uint32_t *ret_nr)
{
	const struct measured_groups *measured = &controller->measured;
	uint32_t nr_groups = measured->tree.nr_groups, nr = 0;
	struct managed_group *managed cleanup_free = calloc(
		nr_groups + controller->kubelet_drift.nr + MAX_SURROUNDINGS, sizeof(*managed));

	controller->publisher.nr_unread = 0;
	controller->publisher.is_waiting = false;
	for (uint32_t i = 0; managed && i < nr_groups; i++) {
		const struct group *group = &measured->tree.groups[i];
		int r = fill_managed(controller, group, measured_is_foreign(measured, i), list,
				     &managed[nr]);

		if (r == -ENOENT)
			continue;
		if (r)
			return NULL;
		published[nr].managed = managed[nr];
		published[nr].path = strdup(group->path);
		if (!published[nr++].path)
			return NULL;
	}
	if (!managed || drop_repeated(managed, published, &nr))
		return NULL;
	*ret_nr = nr;
	return TAKE_PTR(managed);
}

/* What is denied, and to whom: all of the policy but the groups and the actors. */
static void fill_rules(const struct controller *controller, struct kernel_policy *policy)
{
	const struct config *config = controller->options.config;

	ledger_exclusive(controller->ledger, &policy->protected_cpus);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		policy->modes[aspect] = config_guard_mode(config, aspect);
	policy->guards_siblings = controller->layout.root_partition;
	policy->guard_expiry_ns = config->guard_expiry_ns;
	policy->ends_release = controller->publisher.ends_release;
	policy->keeps_others = keeps_others(&controller->publisher);
	/* Modes observe and guard make no cgroups. Otherwise all being gone is a fault, for example of a mount. */
	policy->may_be_empty = !run_mode_writes(config->mode);
}

/* Of a state that may last as long as another process holds a lock. */
static void tell_unread(struct controller *controller)
{
	const struct publisher *publisher = &controller->publisher;

	findings_update_if(
		&controller->findings, FINDING_GUARD_POLICY_PARTIAL, keeps_others(publisher),
		"end the process that holds the cgroup's directory, if the finding "
		"operation_waiting or the log names one; the agent tries again",
		"%u %s not been readable since the agent started, first %.80s: the guard keeps "
		"everything there that the previous agent guarded, also cgroups of pods that have "
		"ended",
		publisher->nr_unread, publisher->nr_unread == 1 ? "cgroup has" : "cgroups have",
		publisher->unread);
}

/* Of the policy in force. */
static void tell_left_out(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const uint32_t nr = kernel->groups_left_out ? kernel->groups_left_out(kernel->self) : 0;

	findings_update_if(
		&controller->findings, FINDING_GROUPS_LEFT_OUT, nr,
		"raise maxContainers in the configuration and restart the agent",
		"%u %s of a container runtime's pods %s not measured, because maxContainers leaves no "
		"room in the BPF programs' map of cgroups; pods of pinfold are guarded and measured",
		nr, nr == 1 ? "cgroup" : "cgroups", nr == 1 ? "is" : "are");
}

void ctl_publish(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct groups_port *groups = controller->ports.groups;
	uint32_t nr_groups = controller->measured.tree.nr_groups;
	struct granted_cpus *cpus cleanup_granted_cpus = NULL;
	struct managed_group *managed cleanup_free = NULL;
	struct published *published;
	struct actor_unit actors[CONFIG_DEBUGGERS_MAX];
	struct kernel_policy policy = {.actors = actors};
	uint32_t nr_managed = 0, nr_watched, nr_around = 0;
	int r;

	if (!kernel)
		return;
	/*
	 * Until the first look at the cgroups has ended, which may take long, the desired tree is
	 * empty, and publishing it would end the guard that an earlier agent left. The look
	 * publishes when it ends.
	 */
	if (!controller->reconciler.has_compared)
		return;
	/* What is not managed any more ends its counters with this policy. */
	ctl_count_node_waits(controller);
	published = calloc(nr_groups + 1, sizeof(*published));
	if (published)
		managed = fill_policy(controller, published, &cpus, &nr_managed);
	if (!managed) {
		free_published(published, nr_groups);
		log_err(-ENOMEM,
			"ctl: cannot publish the policy; the guard keeps the previous one");
		controller->publisher.is_stale = true;
		return;
	}
	nr_watched = add_watched(controller, managed + nr_managed);
	/* Around the cgroups of a kubelet nothing is ours. */
	if (groups->surroundings && !config_repairs_kubelet(controller->options.config) &&
	    groups->surroundings(groups->self, managed + nr_managed + nr_watched, MAX_SURROUNDINGS,
				 &nr_around))
		nr_around = 0;
	policy.groups = managed;
	policy.nr_groups = nr_managed + nr_watched + nr_around;
	/*
	 * There are no actors but those that the configuration names: no runtime and no kubelet has a
	 * task below pinfold.slice, and any cgroup with the name of a unit could impersonate one.
	 */
	(void)ctl_find_debuggers(controller);
	policy.nr_actors = ctl_list_debuggers(controller, actors);
	fill_rules(controller, &policy);
	r = kernel->publish(kernel->self, &policy);
	controller->publisher.is_stale = r;
	if (!r) {
		controller->publisher.ends_release = false;
		controller->publisher.is_whole |= !controller->publisher.nr_unread;
		free_published(controller->publisher.rows, controller->publisher.nr);
		free_cpus(controller->publisher.cpus);
		controller->publisher.rows = TAKE_PTR(published);
		controller->publisher.cpus = TAKE_PTR(cpus);
		controller->publisher.nr = nr_managed;
		ctl_keep_ended(controller);
	}
	free_published(published, nr_managed);
	tell_unread(controller);
	tell_left_out(controller);
	if (controller->publisher.is_waiting)
		wakes_schedule(&controller->wakes, WAKES_RETRY_NS);
	findings_put_if(&controller->findings, FINDING_GUARD_POLICY_OLD, r,
			"see the log; the agent retries with each reconcile",
			"the last change could not be published to the BPF programs");
}

void ctl_publish_appeared(struct controller *controller)
{
	const struct measured_groups *measured = &controller->measured;
	const struct groups_port *groups = controller->ports.groups;
	uint32_t cursor = 0;

	/* What could not be published is published again by the next reconcile. */
	if (!controller->ports.kernel || controller->publisher.is_stale)
		return;
	if (ctl_find_debuggers(controller)) {
		ctl_publish(controller);
		return;
	}
	for (uint32_t i = measured->nr_own; i < measured->tree.nr_groups; i++) {
		const struct group *group = &measured->tree.groups[i];
		struct group_status status;

		if (group->role != GROUP_CONTAINER ||
		    ctl_published_next(controller, group->path, &cursor) ||
		    groups->status(groups->self, group->path, &status))
			continue;
		ctl_publish(controller);
		return;
	}
}
