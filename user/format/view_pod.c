// SPDX-License-Identifier: Apache-2.0
/* Pods and containers: what they were granted, and what the kernel says of them. */
#include <string.h>

#include "format/object_table.h"
#include "format/view_private.h"

/* --- pods ------------------------------------------------------------------------------------- */

static const struct field_desc named_grant_fields[] = {
	TEXT(named_grant_row, name, "container", HEAD, "Name of the container."),
	ENUM(named_grant_row, kind, NULL, HEAD | BARE, KIND_HELP, container_kind_name,
	     CONTAINER_KIND_NR),
	ENUM(named_grant_row, isolation, NULL, HEAD, ISOLATION_HELP, isolation_name, ISOLATION_NR),
};
DESCRIBE_PART(named_grant_row, named_grant_fields);

struct pod_container_row {
	struct named_grant_row grant;
	const struct cpuset *cpus, *mems;
	int64_t cpu_request_mcpu, memory_request_bytes;
	struct container_use_row use;
};

static const struct field_desc pod_container_fields[] = {
	PART(pod_container_row, grant, named_grant_row),
	CPUS(pod_container_row, cpus, NULL, HEAD, "CPUs it may run on."),
	CPUS(pod_container_row, mems, NULL, HEAD, "NUMA nodes it may use."),
	COUNT(pod_container_row, cpu_request_mcpu, "request mcpu", HEAD | OR_NULL,
	      "Requested thousandths of a CPU."),
	BYTES(pod_container_row, memory_request_bytes, "memory", HEAD | OR_NULL,
	      "Requested memory."),
	PART(pod_container_row, use, container_use_row),
};
static DESCRIBE_PART(pod_container_row, pod_container_fields);

static const struct field_desc pod_fields[] = {
	TEXT(view_pod, namespace, "pod", HEAD, "Namespace of the pod."),
	TEXT(view_pod, name, NULL, HEAD | BARE | SLASH, "Name of the pod."),
	ENUM(view_pod, qos, NULL, HEAD, "QoS class.", qos_class_name, QOS_NR),
	ENUM(view_pod, state, NULL, HEAD,
	     "ending: its source dropped it, but its processes still hold their CPUs; waiting: "
	     "its cgroups are not made yet, or a step waits in the kernel or for the CPUs of "
	     "another pod; failed: its cgroups could not be set to the grant, and the agent "
	     "tries again; unknown: they cannot be read. Only a running agent reports the last "
	     "three.",
	     pod_condition_name, CONDITION_NR),
	WORD(view_pod, scope, NULL, HEAD,
	     "Whether it holds one bubble or its containers hold CPUs separately.", "pod",
	     "container"),
	TEXT(view_pod, uid, NULL, LINE, "Identity of the pod."),
	CPUS(view_pod, bubble, NULL, LINE | OR_NULL, "All CPUs of the pod, under pod scope."),
	CPUS(view_pod, exclusive, NULL, 0, "CPUs that its containers hold exclusively."),
	CPUS(view_pod, pool, NULL, 0, "CPUs that its other containers share."),
	CPUS(view_pod, held, NULL, HIDDEN,
	     "All CPUs that are kept for it, including those of ended init containers."),
	COUNT(view_pod, cpu_request_mcpu, "request mcpu", LINE,
	      "Sum of the requests in thousandths of a CPU."),
	COUNT(view_pod, cpu_limit_mcpu, "limit mcpu", OR_NULL,
	      "Sum of the limits; null = a container has none."),
	BYTES(view_pod, memory_request_bytes, "memory request", 0, "Sum of the memory requests."),
	BYTES(view_pod, memory_limit_bytes, "memory limit", OR_NULL,
	      "Sum of the memory limits; null = a container has none."),
	TEXT(view_pod, detail, NULL, LINE | OR_NULL,
	     "Why it is not running, or why a changed document was not accepted."),
	LIST(view_pod, containers, pod_container_row, NULL, BARE, "Its containers."),
};
DESCRIBE(view_pod, pod_fields, "pod", "A pod and its grant.", .is_list = true);

const struct cpuset *grant_mems(struct arena *arena, const struct ledger *ledger,
				const struct grant *grant)
{
	const struct topology *topology = ledger_topology(ledger);
	node_mask_t all = topology->nr_memory_nodes >= 64
				  ? ~(node_mask_t)0
				  : ((node_mask_t)1 << topology->nr_memory_nodes) - 1;
	struct cpuset mems = CPUSET_EMPTY;

	topology_mems_of_mask(topology, grant->mems ? grant->mems : all, &mems);
	return arena_copy(arena, &mems, sizeof(mems));
}

const struct pod_problem *problem_of(const struct ledger_pod *pod,
				     const struct pod_problem *problems, size_t nr_problems)
{
	for (size_t i = 0; i < nr_problems && pod->state == POD_RUNNING; i++)
		if (!strcmp(problems[i].uid, pod->spec->uid))
			return &problems[i];
	return NULL;
}

/* All that its containers of one isolation hold together. */
static const struct cpuset *cpus_of(struct arena *arena, const struct ledger_pod *pod,
				    enum isolation isolation)
{
	struct cpuset cpus = CPUSET_EMPTY;

	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == isolation)
			cpuset_union(&cpus, pod->grants[i].cpus);
	}
	return arena_copy(arena, &cpus, sizeof(cpus));
}

static const struct container_use *use_of(const struct pods_observed *observed, const char *uid,
					  const char *container)
{
	static const struct container_use none = {.state = USE_NO_CGROUP};

	for (size_t i = 0; i < observed->nr_uses; i++) {
		const struct container_use *use = &observed->uses[i];

		if (!strcmp(use->uid, uid) && !strcmp(use->container, container))
			return use;
	}
	return &none;
}

static struct container_use_row use_row_of(struct arena *arena, const struct ledger *ledger,
					   const struct ledger_pod *pod, uint32_t i,
					   const struct pods_observed *observed)
{
	const struct container_spec *spec = &pod->spec->containers[i];
	const struct use_subject subject = {
		.isolation = pod->grants[i].isolation,
		.nr_cpus = cpuset_count(ledger_effective(ledger, &pod->grants[i])),
		.cpu_limit_mcpu = spec->limit.cpu_mcpu,
	};

	if (!observed || !observed->uses)
		return container_use_unknown;
	return container_use_row_of(arena, &subject, use_of(observed, pod->spec->uid, spec->name));
}

enum pod_condition condition_of(const struct ledger_pod *pod, const struct pod_problem *problem)
{
	if (problem)
		return problem->condition;
	return pod->state == POD_ENDING ? CONDITION_ENDING : CONDITION_RUNNING;
}

static void fill_pod(struct arena *arena, const struct ledger *ledger, const struct ledger_pod *pod,
		     const struct pods_observed *observed, struct view_pod *row)
{
	const struct pod_problem *problem =
		observed ? problem_of(pod, observed->problems, observed->nr_problems) : NULL;
	const struct pod_totals totals = pod_totals(pod->spec);

	*row = (struct view_pod){
		.namespace = pod->spec->namespace,
		.name = pod->spec->name,
		.qos = pod->qos,
		.state = condition_of(pod, problem),
		.scope = pod->has_bubble ? "pod" : "container",
		.uid = pod->spec->uid,
		.bubble = pod->has_bubble ? pod->bubble : NULL,
		.exclusive = cpus_of(arena, pod, ISOLATION_CONTAINER),
		.pool = cpus_of(arena, pod, ISOLATION_POD),
		.held = pod->held,
		.cpu_request_mcpu = totals.cpu_request_mcpu,
		.cpu_limit_mcpu = totals.cpu_limit_mcpu,
		.memory_request_bytes = totals.memory_request_bytes,
		.memory_limit_bytes = totals.memory_limit_bytes,
		.detail = given(problem ? problem->detail : pod->detail),
		.containers = arena_array(arena, pod->nr_grants, sizeof(*row->containers)),
	};
	for (uint32_t i = 0; row->containers && i < pod->nr_grants; i++) {
		const struct resources *request = &pod->spec->containers[i].request;
		const struct grant *grant = &pod->grants[i];

		row->containers[row->nr_containers++] = (struct pod_container_row){
			.grant = {grant->container, grant->kind, grant->isolation},
			.cpus = ledger_effective(ledger, grant),
			.mems = grant_mems(arena, ledger, grant),
			.cpu_request_mcpu = request->cpu_mcpu,
			.memory_request_bytes = request->memory_bytes,
			.use = use_row_of(arena, ledger, pod, i, observed),
		};
	}
}

struct view_pod *pod_rows(struct arena *arena, const struct ledger *ledger,
			  const struct pods_observed *observed, size_t *ret_nr)
{
	uint32_t nr = ledger_nr_pods(ledger);
	struct view_pod *rows = arena_array(arena, nr, sizeof(*rows));

	for (uint32_t i = 0; rows && i < nr; i++)
		fill_pod(arena, ledger, ledger_pod_at(ledger, i), observed, &rows[i]);
	*ret_nr = rows ? nr : 0;
	return rows;
}

struct json_object *view_pods(const struct ledger *ledger, const struct pods_observed *observed)
{
	struct arena arena cleanup_arena = {0};
	size_t nr;
	const struct view_pod *rows = pod_rows(&arena, ledger, observed, &nr);

	return view_finish(&arena, &view_pod_desc, rows, nr);
}

/* --- containers ------------------------------------------------------------------------------- */

static const struct field_desc container_fields[] = {
	TEXT(view_container, namespace, "container", HEAD, "Namespace of the pod."),
	TEXT(view_container, pod, NULL, HEAD | BARE | SLASH, "Name of the pod."),
	TEXT(view_container, container, NULL, HEAD | BARE | SLASH, "Name of the container."),
	TEXT(view_container, uid, NULL, HIDDEN, "Identity of the pod."),
	ENUM(view_container, kind, NULL, HEAD, KIND_HELP, container_kind_name, CONTAINER_KIND_NR),
	ENUM(view_container, isolation, NULL, HEAD, ISOLATION_HELP, isolation_name, ISOLATION_NR),
	CPUS(view_container, cpus, NULL, LINE, "CPUs decided."),
	TEXT(view_container, effective_cpus, "effective", OR_NULL,
	     "CPUs it has according to the "
	     "kernel."),
	TEXT(view_container, partition, NULL, OR_NULL,
	     "cpuset.cpus.partition according to the kernel: isolated, member, or invalid with the "
	     "kernel's reason."),
	CPUS(view_container, mems, NULL, 0, "NUMA nodes decided."),
	TEXT(view_container, effective_mems, "effective", OR_NULL,
	     "NUMA nodes it has according to the kernel."),
	TEXT(view_container, cpu_max, "cpu.max", OR_NULL, "Quota and period decided."),
	COUNT(view_container, cpu_weight, "cpu.weight", OR_NULL, "Weight decided."),
	TEXT(view_container, memory_max, "memory.max", OR_NULL, "Limit decided."),
	COUNT(view_container, processes, NULL, LINE | OR_NULL, "Processes in it now."),
	SECONDS(view_container, run_ns, "run_seconds", "run", OR_NULL, "CPU time since its start."),
	SECONDS(view_container, wait_ns, "wait_seconds", "wait", OR_NULL,
		"Time that its tasks were runnable but did not run."),
	COUNT(view_container, migrations_within_node, "migrations within node", OR_NULL,
	      "Moves between CPUs of one NUMA node."),
	COUNT(view_container, migrations_across_nodes, "across nodes", OR_NULL,
	      "Moves between NUMA nodes."),
	SECONDS(view_container, cause_ns[WAIT_OWN_QUOTA], "wait_own_quota_seconds",
		"waited for own quota", LINE | OR_NULL,
		"Part of wait_seconds: its cgroup or one above was throttled."),
	SECONDS(view_container, cause_ns[WAIT_OWN_CONTAINER], "wait_own_container_seconds",
		"own container", OR_NULL, "Part of wait_seconds: its own tasks had the CPU."),
	SECONDS(view_container, cause_ns[WAIT_POD_SIBLING], "wait_pod_sibling_seconds",
		"pod sibling", OR_NULL,
		"Part of wait_seconds: another container of its pod had the CPU."),
	SECONDS(view_container, cause_ns[WAIT_OTHER_POD], "wait_other_pod_seconds", "other pod",
		OR_NULL, "Part of wait_seconds: another pod had the CPU."),
	SECONDS(view_container, cause_ns[WAIT_HOST], "wait_host_seconds", "host", OR_NULL,
		"Part of wait_seconds: a task of no container had the CPU."),
	SECONDS(view_container, cause_ns[WAIT_KERNEL], "wait_kernel_seconds", "kernel", OR_NULL,
		"Part of wait_seconds: a kernel thread had the CPU."),
	SECONDS(view_container, cause_ns[WAIT_IDLE], "wait_idle_seconds", "idle", OR_NULL,
		"Part of wait_seconds: nobody had the CPU, which still had to wake up."),
	SECONDS(view_container, cause_ns[WAIT_UNATTRIBUTED], "wait_unattributed_seconds",
		"unattributed", OR_NULL, "Part of wait_seconds: the cause is not known."),
	TEXT(view_container, cgroup, NULL, LINE | OR_NULL, "Path below the cgroup mount."),
};
DESCRIBE(view_container, container_fields, "container",
	 "A container: the decision and the values in the kernel.", .is_list = true);

static const struct group *desired_of(const struct group_tree *desired, const char *uid,
				      const char *container)
{
	for (uint32_t i = 0; desired && i < desired->nr_groups; i++) {
		const struct group *group = &desired->groups[i];

		if (group->role == GROUP_CONTAINER && !strcmp(group->uid, uid) &&
		    !strcmp(group->container, container))
			return group;
	}
	return NULL;
}

const struct view_container view_container_unknown = {
	.processes = -1,
	.run_ns = -1,
	.wait_ns = -1,
	.migrations_within_node = -1,
	.migrations_across_nodes = -1,
	.cause_ns = {[0 ... WAIT_CAUSE_NR - 1] = -1},
};

static const struct view_container *observed_of(const struct view_container *rows, size_t nr_rows,
						const char *uid, const char *container)
{
	for (size_t i = 0; i < nr_rows; i++) {
		if (!strcmp(rows[i].uid, uid) && !strcmp(rows[i].container, container))
			return &rows[i];
	}
	return &view_container_unknown;
}

/* What was decided, beside what was observed. */
static void fill_container(struct arena *arena, const struct ledger *ledger,
			   const struct ledger_pod *pod, const struct grant *grant,
			   const struct group *group, struct view_container *row)
{
	const char *weight = group ? group->files[GROUP_CPU_WEIGHT] : NULL;

	row->namespace = pod->spec->namespace;
	row->pod = pod->spec->name;
	row->container = grant->container;
	row->uid = pod->spec->uid;
	row->kind = grant->kind;
	row->isolation = grant->isolation;
	row->cpus = ledger_effective(ledger, grant);
	row->mems = grant_mems(arena, ledger, grant);
	row->cpu_max = group ? group->files[GROUP_CPU_MAX] : NULL;
	row->cpu_weight = weight ? strtoll(weight, NULL, 10) : -1;
	row->memory_max = group ? group->files[GROUP_MEMORY_MAX] : NULL;
	if (!row->cgroup && group)
		row->cgroup = group->path;
}

struct json_object *view_containers(const struct ledger *ledger, const struct group_tree *desired,
				    const struct view_container *observed, size_t nr_observed)
{
	struct arena arena cleanup_arena = {0};
	struct view_container *rows;
	size_t nr = 0;

	rows = arena_array(&arena, count_containers(ledger), sizeof(*rows));
	for (uint32_t i = 0; rows && i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);
		const char *uid = pod->spec->uid;

		for (uint32_t c = 0; c < pod->nr_grants; c++) {
			const struct grant *grant = &pod->grants[c];

			rows[nr] = *observed_of(observed, nr_observed, uid, grant->container);
			fill_container(&arena, ledger, pod, grant,
				       desired_of(desired, uid, grant->container), &rows[nr++]);
		}
	}
	return view_finish(&arena, &view_container_desc, rows, nr);
}
