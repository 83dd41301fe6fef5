// SPDX-License-Identifier: Apache-2.0
/*
 * The BPF side's picture of the ledger, and what comes back from it. Cgroups are
 * ids there; here they get their names back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/internal.h"
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

static bool fill_managed(struct controller *controller, const struct group *group,
			 struct managed_group *ret_managed)
{
	const struct groups_port *groups = controller->ports.groups;
	struct group_status status;
	int r = groups->status(groups->self, group->path, &status);

	if (r) {
		/* The end of what goes on publishes anew. */
		if (r != -ENOENT && r != -EINPROGRESS)
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

void publish_policy(struct controller *controller)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct groups_port *groups = controller->ports.groups;
	const struct config *config = controller->options.config;
	cleanup_free struct managed_group *managed = NULL;
	struct kernel_policy policy = {0};
	uint32_t nr = 0, nr_around = 0;
	int r;

	if (!kernel)
		return;
	managed = calloc(controller->desired.nr_groups + MAX_SURROUNDINGS, sizeof(*managed));
	if (!managed) {
		log_err(-ENOMEM, "ctl: the guard keeps its last policy");
		controller->policy_stale = true;
		return;
	}
	for (uint32_t i = 0; i < controller->desired.nr_groups; i++)
		nr += fill_managed(controller, &controller->desired.groups[i], &managed[nr]);
	if (groups->surroundings &&
	    !groups->surroundings(groups->self, managed + nr, MAX_SURROUNDINGS, &nr_around))
		nr += nr_around;
	policy.groups = managed;
	policy.nr_groups = nr;
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
	policy.ends_release = controller->ends_release;
	r = kernel->publish(kernel->self, &policy);
	controller->policy_stale = r;
	if (!r)
		controller->ends_release = false;
	if (r)
		controller_finding(controller, "guard_policy_old",
				   "the BPF side could not be told of the last change",
				   "see the log; the agent tries again with each look");
	else
		controller_clear_finding(controller, "guard_policy_old");
}

bool container_of_path(const struct controller *controller, const char *path, char *ret_pod,
		       size_t size, const char **ret_container)
{
	for (uint32_t i = 0; i < controller->desired.nr_groups; i++) {
		const struct group *group = &controller->desired.groups[i];
		size_t len = strlen(group->path);
		const struct ledger_pod *pod;

		if (group->role != GROUP_CONTAINER || strncmp(path, group->path, len) ||
		    (path[len] && path[len] != '/'))
			continue;
		pod = ledger_find(controller->ledger, group->uid);
		if (!pod)
			return false;
		pod_label(pod->spec, ret_pod, size);
		*ret_container = group->container;
		return true;
	}
	return false;
}

static void name_cgroup(struct controller *controller, uint64_t id, char *ret_path, size_t size)
{
	const struct groups_port *groups = controller->ports.groups;

	if (!id)
		*ret_path = '\0';
	else if (groups->path_of(groups->self, id, ret_path, size))
		snprintf(ret_path, size, "(gone, id %llu)", (unsigned long long)id);
	else if (!*ret_path)
		snprintf(ret_path, size, "/");
}

/* "cpuset.cpus" -> "cpus", as drift rows call it; NULL = none of the files we own. */
static const char *attribute_of(const char *file)
{
	const char *best = NULL;
	size_t longest = 0;

	/* "cpuset.cpus" begins "cpuset.cpus.partition" too: the longest name wins. */
	for (enum group_file i = 0; i < GROUP_FILE_NR; i++) {
		size_t len = strlen(group_file_name(i));

		if (len > longest && !strncmp(file, group_file_name(i), len)) {
			best = attribute_name(i);
			longest = len;
		}
	}
	return best;
}

/* Who may this be, by where it lives. */
static const char *cause_of(const struct kernel_event *event, const char *cgroup)
{
	if (event->pid == 1)
		return "systemd";
	if (strstr(cgroup, "kubelet.service"))
		return "kubelet";
	if (strstr(cgroup, "containerd.service") || strstr(cgroup, "crio.service") ||
	    strstr(cgroup, "docker.service"))
		return "runtime";
	return "user";
}

/*
 * The culprit's name arrives by the ring buffer, the change itself by inotify or
 * resync: whichever comes first opens the row, the other completes it.
 */
static void name_culprit(struct controller *controller, const struct kernel_event *event,
			 const struct event_row *row)
{
	const char *attribute = attribute_of(event->detail);
	struct drift_row *drift = NULL;

	if (!attribute)
		return;
	for (uint32_t i = controller->audit.nr_drift; i-- > 0 && !drift;) {
		struct drift_row *candidate = &controller->audit.drift[i];

		if (!candidate->pid && !strcmp(candidate->path, row->target) &&
		    !strcmp(candidate->attribute, attribute))
			drift = candidate;
	}
	if (!drift)
		drift = audit_drift(&controller->audit, row->target, attribute);
	drift->pid = event->pid;
	memcpy(drift->comm, event->comm, sizeof(drift->comm));
	snprintf(drift->cgroup, sizeof(drift->cgroup), "%s", row->cgroup);
	snprintf(drift->cause, sizeof(drift->cause), "%s", cause_of(event, row->cgroup));
}

/*
 * Life of cgroups below ours. What a workload makes or joins below its own
 * container concerns nobody; a group that went or became empty may end a pod.
 */
static bool is_life_cycle(const char *kind, bool *ret_matters)
{
	static const struct {
		const char *kind;
		bool matters;
	} kinds[] = {
		{"mkdir", false}, {"attach", false}, {"populated", false},
		{"empty", true},  {"rmdir", true},   {"release", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kind, kinds[i].kind)) {
			*ret_matters = kinds[i].matters;
			return true;
		}
	return false;
}

void on_kernel_event(void *self, const struct kernel_event *event)
{
	struct controller *controller = self;
	struct event_row row = {.pid = event->pid, .suppressed = event->suppressed};
	const char *container = "";
	bool matters;

	if (is_life_cycle(event->kind, &matters)) {
		if (matters)
			want_look(controller);
		return;
	}
	snprintf(row.kind, sizeof(row.kind), "%s", event->kind);
	snprintf(row.aspect, sizeof(row.aspect), "%s", event->aspect);
	snprintf(row.action, sizeof(row.action), "%s", event->action);
	memcpy(row.comm, event->comm, sizeof(row.comm));
	name_cgroup(controller, event->cgroup_id, row.cgroup, sizeof(row.cgroup));
	name_cgroup(controller, event->target_id, row.target, sizeof(row.target));
	if (container_of_path(controller, row.target, row.pod, sizeof(row.pod), &container))
		snprintf(row.container, sizeof(row.container), "%s", container);
	snprintf(row.detail, sizeof(row.detail), "%s", event->detail);
	if (!strcmp(event->kind, "drift")) {
		name_culprit(controller, event, &row);
		touch(controller, row.target);
		want_look(controller);
	}
	audit_event(&controller->audit, &row);
}

void on_kernel_completed(void *self)
{
	struct controller *controller = self;

	publish_policy(controller);
	/* what happened while the watch was not there had no event */
	want_wake(controller, 0);
}
