// SPDX-License-Identifier: Apache-2.0
/*
 * Each finding is one function over the whole discovery. What is compared is
 * cpuset.cpus.effective, because that is what the kernel enforces; cpuset.cpus may be empty, or
 * cut by a parent.
 */
#include "kubelet/compare.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/text.h"

/* Ids are shown as the runtimes' tools show them. */
#define SHORT_ID 12
/* A list of CPUs in a sentence, cut if it is longer. */
#define LIST_MAX 64

struct judge {
	const struct discovery *discovery;
	/* By row; the CPUs in force. */
	struct cpuset *effective;
	/* By CPU: the entry that has it exclusively; NULL = none. */
	const struct kubelet_entry **owners;
	struct discovery_verdict *verdict;
};

static void write_list(const struct cpuset *cpus, char list[LIST_MAX])
{
	size_t len = cpuset_format(cpus, list, LIST_MAX);

	if (!len)
		snprintf(list, LIST_MAX, "none");
	else if (len >= LIST_MAX)
		memcpy(list + LIST_MAX - 4, "...", 4);
}

/* The first case of a finding is the one that it names. */
static void __attribute__((format(printf, 4, 5)))
tell(struct judge *judge, enum discovery_finding finding, const char *remedy, const char *format,
     ...)
{
	struct finding_row *row = &judge->verdict->rows[finding];
	va_list args;

	judge->verdict->is_found[finding] = true;
	va_start(args, format);
	vsnprintf(row->message, sizeof(row->message), format, args);
	va_end(args);
	text_copy(row->remedy, sizeof(row->remedy), remedy);
}

static void tell_others(struct judge *judge, enum discovery_finding finding, uint32_t nr)
{
	struct finding_row *row = &judge->verdict->rows[finding];
	size_t len = strlen(row->message);

	if (nr > 1)
		snprintf(row->message + len, sizeof(row->message) - len, "; and %u more", nr - 1);
}

/*
 * "container nginx of pod shop/web-0 (containerd 0123456789ab)", or, without names, "containerd
 * container 0123456789ab of pod UID". Long names are cut, because the sentence has to fit.
 */
static void name_container(const struct discovered_cgroup *row, char *text, size_t size)
{
	const struct kubepods_name *name = &row->name;

	if (row->container)
		snprintf(text, size, "container %.40s of pod %.32s/%.40s (%s %.*s)", row->container,
			 row->namespace, row->pod, kubepods_runtime_name(name->runtime), SHORT_ID,
			 name->id);
	else
		snprintf(text, size, "%s container %.*s%s%.*s",
			 kubepods_runtime_name(name->runtime), SHORT_ID, name->id,
			 *name->uid ? " of pod " : "", name->has_qos ? POD_UID_MAX : SHORT_ID,
			 name->uid);
}

/* --- what was not read ------------------------------------------------------------------------ */

static void judge_bounds(struct judge *judge)
{
	const struct discovery *discovery = judge->discovery;

	if (discovery->is_incomplete)
		tell(judge, FOUND_CUT, "see the log; pinfoldd reads the cgroups again every 10 s",
		     "not all cgroups could be read: %.250s", discovery->problem);
	else if (discovery->nr_left_out)
		tell(judge, FOUND_CUT, "report this, if the node really runs that many",
		     "%u pods and containers beyond the first %u are not shown or checked",
		     discovery->nr_left_out, discovery->nr);
}

static void judge_names(struct judge *judge)
{
	const struct discovery *discovery = judge->discovery;

	if (!discovery->nr_unknown)
		return;
	tell(judge, FOUND_UNKNOWN_NAME,
	     "report the name with the runtime and its version; what is in the cgroup is not "
	     "checked",
	     "cgroup %.200s is where pods or containers are, but its name has "
	     "no known form",
	     discovery->unknown);
	tell_others(judge, FOUND_UNKNOWN_NAME, discovery->nr_unknown);
}

static void judge_file(struct judge *judge, enum discovery_finding finding,
		       const struct discovered_file *file)
{
	if (file->presence == KUBELET_STATE_UNUSABLE)
		tell(judge, finding,
		     "look at the kubelet's log; it refuses to start with a damaged file, and "
		     "makes a new one if the node is drained and the file removed",
		     "cannot use %.96s: %.150s%s", file->path, file->problem,
		     file->is_kept ? "; the pods are compared with its last usable contents" : "");
}

/* --- the kubelet's static policy -------------------------------------------------------------- */

static void judge_default(struct judge *judge)
{
	const struct discovery *discovery = judge->discovery;

	if (cpuset_is_empty(&discovery->state.default_cpus))
		tell(judge, FOUND_DEFAULT_EMPTY,
		     "set reservedSystemCPUs, or let fewer pods ask for exclusive CPUs",
		     "the default CPU set in %.200s is empty: containers without exclusive CPUs "
		     "have none",
		     discovery->cpu_file.path);
}

/* Entries of one pod may share CPUs: a container takes over those of an init container. */
static void note_owners(struct judge *judge, const struct kubelet_entries *entries)
{
	for (uint32_t i = 0; i < entries->nr; i++)
		cpuset_for_each (cpu, &entries->entries[i].cpus)
			if (!judge->owners[cpu])
				judge->owners[cpu] = &entries->entries[i];
}

/* The CPUs of this container that another pod's entries have; ret_owner has the first. */
static struct cpuset find_foreign(const struct judge *judge, uint32_t i,
				  const struct kubelet_entry **ret_owner)
{
	const struct discovered_cgroup *row = &judge->discovery->rows[i];
	struct cpuset foreign = CPUSET_EMPTY;

	cpuset_for_each (cpu, &judge->effective[i]) {
		const struct kubelet_entry *owner = judge->owners[cpu];

		if (!owner || !strcmp(owner->pod, row->name.uid))
			continue;
		if (cpuset_is_empty(&foreign))
			*ret_owner = owner;
		cpuset_add(&foreign, cpu);
	}
	return foreign;
}

static void judge_overlap(struct judge *judge)
{
	const struct discovery *discovery = judge->discovery;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < discovery->nr; i++) {
		const struct kubelet_entry *owner = NULL;
		struct cpuset foreign;
		char name[192], list[LIST_MAX];

		if (discovery->rows[i].name.kind != KUBEPODS_CONTAINER)
			continue;
		foreign = find_foreign(judge, i, &owner);
		if (!owner || nr++)
			continue;
		write_list(&foreign, list);
		name_container(&discovery->rows[i], name, sizeof(name));
		tell(judge, FOUND_EXCLUSIVE_SHARED,
		     "find out what wrote its cpuset.cpus or started it without the kubelet; restart "
		     "the pod, or give the container other CPUs (--cpuset-cpus)",
		     "%s may use CPUs %s, which the kubelet gave to %s%.40s%s%.40s alone", name,
		     list, *owner->container ? "container " : "", owner->container,
		     *owner->container ? " of pod " : "pod ", owner->pod);
	}
	tell_others(judge, FOUND_EXCLUSIVE_SHARED, nr);
}

/*
 * The kubelet's file keeps a CPU that went offline, while cpuset.cpus.effective loses it, so
 * only CPUs that are online are compared.
 */
static struct cpuset leave_online(const struct discovery *discovery, const struct cpuset *cpus)
{
	struct cpuset left = *cpus;

	if (!cpuset_is_empty(&discovery->online))
		cpuset_intersect(&left, &discovery->online);
	return left;
}

static bool is_same_online(const struct discovery *discovery, const struct cpuset *a,
			   const struct cpuset *b)
{
	const struct cpuset left = leave_online(discovery, a), right = leave_online(discovery, b);

	return cpuset_equal(&left, &right);
}

/*
 * Did the kubelet give these CPUs to this container, in one of the ways that it has? Without a
 * name it may be any container of its pod.
 */
static bool is_given(const struct discovery *discovery, const struct discovered_cgroup *row,
		     const struct cpuset *cpus)
{
	const struct kubelet_cpu_state *state = &discovery->state;
	const struct kubelet_entry *own = discovery_entry(discovery, row);

	if (own)
		return is_same_online(discovery, cpus, &own->cpus);
	if (is_same_online(discovery, cpus, &state->default_cpus))
		return true;
	for (uint32_t i = 0; !row->container && i < state->containers.nr; i++)
		if (!strcmp(state->containers.entries[i].pod, row->name.uid) &&
		    is_same_online(discovery, cpus, &state->containers.entries[i].cpus))
			return true;
	/* The containers of a pod with its own entry share what its exclusive ones leave. */
	for (uint32_t i = 0; i < state->pods.nr; i++)
		if (!strcmp(state->pods.entries[i].pod, row->name.uid) &&
		    cpuset_is_subset(cpus, &state->pods.entries[i].cpus))
			return true;
	return false;
}

static void tell_difference(struct judge *judge, uint32_t i)
{
	static const char remedy[] =
		"the kubelet corrects a new container within 10 s; if this stays, find out what "
		"writes its cpuset.cpus and restart the pod";
	const struct discovered_cgroup *row = &judge->discovery->rows[i];
	const struct kubelet_entry *own = discovery_entry(judge->discovery, row);
	char name[192], list[LIST_MAX], owned[LIST_MAX];

	write_list(&judge->effective[i], list);
	name_container(row, name, sizeof(name));
	if (own) {
		write_list(&own->cpus, owned);
		tell(judge, FOUND_CPUS_DIFFER, remedy,
		     "%s runs on CPUs %s, and the kubelet's state file gives it CPUs %s", name,
		     list, owned);
		return;
	}
	tell(judge, FOUND_CPUS_DIFFER, remedy,
	     "%s runs on CPUs %s, which the kubelet's state file gives neither to %s nor to the "
	     "shared pool",
	     name, list, row->container ? "it" : "a container of that pod");
}

static void judge_difference(struct judge *judge)
{
	const struct discovery *discovery = judge->discovery;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < discovery->nr; i++) {
		const struct discovered_cgroup *row = &discovery->rows[i];

		/* Containers that the kubelet did not start are not in its file. */
		if (row->name.kind != KUBEPODS_CONTAINER || !row->name.has_qos ||
		    !row->effective_cpus || is_given(discovery, row, &judge->effective[i]) || nr++)
			continue;
		tell_difference(judge, i);
	}
	tell_others(judge, FOUND_CPUS_DIFFER, nr);
}

/*
 * Containers without an entry may use all nodes, so only those with one are compared, and only if
 * their name is known.
 */
static void judge_nodes(struct judge *judge)
{
	const struct discovery *discovery = judge->discovery;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < discovery->nr; i++) {
		const struct discovered_cgroup *row = &discovery->rows[i];
		struct cpuset given, nodes = cpuset_of_text(row->effective_mems);
		char name[192], is[LIST_MAX], wanted[LIST_MAX];

		if (row->name.kind != KUBEPODS_CONTAINER || !row->effective_mems ||
		    !discovery_given_nodes(discovery, row, &given) ||
		    cpuset_equal(&given, &nodes) || nr++)
			continue;
		write_list(&nodes, is);
		write_list(&given, wanted);
		name_container(row, name, sizeof(name));
		tell(judge, FOUND_NODES_DIFFER,
		     "find out what writes its cpuset.mems and restart the pod, as memory may stay "
		     "on other nodes",
		     "%s may use memory of NUMA nodes %s, and the kubelet's state file gives it %s",
		     name, is, wanted);
	}
	tell_others(judge, FOUND_NODES_DIFFER, nr);
}

static void judge_host_tasks(struct judge *judge)
{
	const struct discovered_tasks *tasks = &judge->discovery->host_tasks;
	char list[LIST_MAX];

	if (!tasks->nr)
		return;
	write_list(&tasks->cpus, list);
	tell(judge, FOUND_HOST_TASKS,
	     "set AllowedCPUs= of system.slice and user.slice to CPUs that no container has, or "
	     "isolate the pods' CPUs",
	     "%u task%s of system.slice and user.slice may run on exclusive CPUs %s, for example "
	     "%.16s (pid %u) in %.110s",
	     tasks->nr, tasks->nr == 1 ? "" : "s", list, tasks->comm, tasks->pid, tasks->cgroup);
}

/* --- all of it -------------------------------------------------------------------------------- */

static const enum finding kinds[FOUND_NR] = {
	[FOUND_CUT] = FINDING_DISCOVERY_INCOMPLETE,
	[FOUND_UNKNOWN_NAME] = FINDING_CGROUP_NAME_UNKNOWN,
	[FOUND_STATE_UNUSABLE] = FINDING_KUBELET_STATE_UNUSABLE,
	[FOUND_MEMORY_UNUSABLE] = FINDING_KUBELET_MEMORY_STATE_UNUSABLE,
	[FOUND_DEFAULT_EMPTY] = FINDING_DEFAULT_CPUS_EMPTY,
	[FOUND_EXCLUSIVE_SHARED] = FINDING_EXCLUSIVE_CPUS_SHARED,
	[FOUND_CPUS_DIFFER] = FINDING_CPUS_DIFFER_FROM_KUBELET,
	[FOUND_NODES_DIFFER] = FINDING_MEMS_DIFFER_FROM_KUBELET,
	[FOUND_HOST_TASKS] = FINDING_HOST_TASKS_ON_EXCLUSIVE_CPUS,
};

int discovery_compare(const struct discovery *discovery, struct discovery_verdict *ret_verdict)
{
	struct cpuset *effective cleanup_free = calloc(discovery->nr + 1, sizeof(*effective));
	const struct kubelet_entry **owners cleanup_free = calloc(CPUSET_MAX, sizeof(*owners));
	struct judge judge = {discovery, effective, owners, ret_verdict};

	if (!effective || !owners)
		return -ENOMEM;
	*ret_verdict = (struct discovery_verdict){0};
	for (uint32_t i = 0; i < FOUND_NR; i++)
		ret_verdict->rows[i].kind = kinds[i];
	for (uint32_t i = 0; i < discovery->nr; i++)
		effective[i] = cpuset_of_text(discovery->rows[i].effective_cpus);
	judge_bounds(&judge);
	judge_names(&judge);
	judge_file(&judge, FOUND_STATE_UNUSABLE, &discovery->cpu_file);
	judge_file(&judge, FOUND_MEMORY_UNUSABLE, &discovery->memory_file);
	judge_nodes(&judge);
	if (!discovery_is_static(discovery))
		return 0;
	note_owners(&judge, &discovery->state.containers);
	note_owners(&judge, &discovery->state.pods);
	judge_default(&judge);
	judge_overlap(&judge);
	judge_difference(&judge);
	judge_host_tasks(&judge);
	return 0;
}
