// SPDX-License-Identifier: Apache-2.0
/*
 * Why a pod has what it has, or has nothing: ledger, cgroup tree and refusals
 * put into sentences and numbers. What options did is read off the CPUs
 * themselves, so it holds after a restart too; how nodes were chosen is found by
 * the core, which decides once more inside a transaction that it takes back.
 */
#include <errno.h>
#include <string.h>

#include "format/object_table.h"
#include "format/view_trace.h"

/* Groups of a level named one by one in a sentence; the rest is an ellipsis. */
#define MAX_NAMED 12

/* --- the object ------------------------------------------------------------------------------- */

struct explain_container_row {
	struct named_grant_row grant;
	const char *pool, *why;
	const struct cpuset *cpus;
	uint32_t nr_cpus;
	const char *cores, *uncores, *numa, *sockets;
	int whole_cores;
	const struct cpuset *siblings, *mems;
	const char *cpu_max, *level_cpu_max, *pod_cpu_max;
	struct step_row *steps;
	size_t nr_steps;
	struct hints_row hints;
};

static const struct field_desc explain_container_fields[] = {
	PART(explain_container_row, grant, named_grant_row),
	WORD(explain_container_row, pool, "shares the pool of the", HEAD | OR_NULL,
	     "The pool it shares; null = none.", "node", "pod"),
	TEXT(explain_container_row, why, NULL, LINE | BARE, "Why that isolation."),
	CPUS(explain_container_row, cpus, NULL, LINE, "CPUs it may run on."),
	COUNT(explain_container_row, nr_cpus, "count", 0, "Number of these CPUs."),
	TEXT(explain_container_row, cores, NULL, 0, "Cores of these CPUs, as a list of ids."),
	TEXT(explain_container_row, uncores, "uncore caches", 0, "Last-level caches, likewise."),
	TEXT(explain_container_row, numa, NULL, 0, "NUMA nodes, likewise."),
	TEXT(explain_container_row, sockets, NULL, 0, "Packages, likewise."),
	ANSWER(explain_container_row, whole_cores, "whole cores", LINE | OR_NULL,
	       "It holds all threads of its cores; null = it has no exclusive CPUs."),
	CPUS(explain_container_row, siblings, "siblings of others", OR_NULL,
	     "Threads of its cores that it does not hold; null as above."),
	CPUS(explain_container_row, mems, NULL, LINE, "NUMA nodes whose memory it may use."),
	TEXT(explain_container_row, cpu_max, "cpu.max", OR_NULL, "Its quota and period."),
	TEXT(explain_container_row, level_cpu_max, "of the pod's shared level", OR_NULL,
	     "Quota of the cgroup above the sharing containers of its pod; null = there is none."),
	TEXT(explain_container_row, pod_cpu_max, "of the pod", OR_NULL, "Quota of the pod."),
	LIST(explain_container_row, steps, step_row, NULL, BARE,
	     "How its exclusive CPUs were selected; empty = it has none."),
	PART(explain_container_row, hints, hints_row),
};
static DESCRIBE_PART(explain_container_row, explain_container_fields);

struct option_row {
	const char *option, *value, *rule, *outcome;
};

static const struct field_desc option_fields[] = {
	TEXT(option_row, option, NULL, HEAD, "Name in the configuration."),
	TEXT(option_row, value, NULL, HEAD | BARE, "Value in force."),
	TEXT(option_row, rule, NULL, HEAD | BARE, "What it requires."),
	TEXT(option_row, outcome, NULL, LINE | BARE | OR_NULL,
	     "Its effect on the CPUs that this pod holds; null = nothing to count."),
};
static DESCRIBE_PART(option_row, option_fields);

/* What is free on a NUMA node. */
struct free_row {
	uint32_t numa, cpus, nr_free, nr_free_cores;
	const struct cpuset *free;
};

static const struct field_desc free_fields[] = {
	COUNT(free_row, numa, "numa", 0, "Id of the NUMA node."),
	COUNT(free_row, cpus, NULL, 0, "Number of its CPUs."),
	COUNT(free_row, nr_free, "free", 0, "Number of CPUs that could be granted exclusively."),
	COUNT(free_row, nr_free_cores, "whole cores", 0,
	      "Number of cores that are free with all their threads."),
	CPUS(free_row, free, "free cpus", 0, "The free CPUs."),
};
static DESCRIBE_PART(free_row, free_fields, .layout = OBJECT_TABLE);

struct warning_row {
	const char *message;
};

static const struct field_desc warning_fields[] = {
	TEXT(warning_row, message, "warning", HEAD, "What may go wrong, and why."),
};
static DESCRIBE_PART(warning_row, warning_fields);

static const struct field_desc explain_fields[] = {
	TEXT(view_explain, namespace, "pod", HEAD | OR_NULL,
	     "Namespace of the pod; null = its document does not specify it."),
	TEXT(view_explain, name, NULL, HEAD | BARE | SLASH | OR_NULL,
	     "Name of the pod; null = its document does not specify it."),
	TEXT(view_explain, uid, NULL, HIDDEN | OR_NULL, "Identity of the pod."),
	WORD(view_explain, outcome, NULL, HEAD | BARE,
	     "admitted with a reason: a changed document was refused, and the old grant remains "
	     "in force.",
	     "admitted", "refused"),
	TEXT(view_explain, qos, NULL, HEAD | OR_NULL,
	     "QoS class; null = refused, which also applies to state, grant, bubble and held."),
	TEXT(view_explain, state, NULL, HEAD | OR_NULL, "As in pod."),
	TEXT(view_explain, reason, NULL, HEAD | OR_NULL,
	     "The kubelet's reason for the refusal; null = not refused, which also applies to "
	     "those below."),
	TEXT(view_explain, refusal, "kind", HEAD | OR_NULL,
	     "pinfold's kind of refusal, as in "
	     "the metrics."),
	TEXT(view_explain, container, NULL, HEAD | OR_NULL, "The container that does not fit."),
	COUNT(view_explain, wanted, NULL, HEAD | OR_NULL, "Amount that was requested."),
	COUNT(view_explain, available, NULL, HEAD | OR_NULL, "Amount that is available."),
	UNIT(view_explain),
	TEXT(view_explain, grant, NULL, LINE | BARE | OR_NULL, "What it holds, as a sentence."),
	TEXT(view_explain, message, NULL, LINE | BARE | OR_NULL,
	     "Why it is refused, with the numbers."),
	TEXT(view_explain, suggestion, NULL, LINE | OR_NULL,
	     "The nearest change that fits; it was tried when the pod was refused."),
	TEXT(view_explain, remedy, NULL, LINE | OR_NULL, "What else an operator can do."),
	TEXT(view_explain, file, NULL, LINE | OR_NULL, "File of the refused document."),
	COUNT(view_explain, line, NULL, OR_NULL, "Line in which it begins."),
	TEXT(view_explain, detail, NULL, LINE | OR_NULL, "Why it is not running."),
	CPUS(view_explain, bubble, NULL, LINE | OR_NULL, "All CPUs of the pod, under pod scope."),
	CPUS(view_explain, held, NULL, OR_NULL, "All CPUs that are kept for it."),
	PART(view_explain, changes, changes_row),
	LIST(view_explain, warnings, warning_row, NULL, BARE, "What may go wrong."),
	LIST(view_explain, containers, explain_container_row, NULL, BARE,
	     "Its containers; empty if it is refused."),
	PART(view_explain, hints, hints_row),
	LIST(view_explain, options, option_row, NULL, BARE,
	     "Options in force that influenced "
	     "the decision."),
	LIST(view_explain, nodes, free_row, "free now", 0, "Free CPUs, if something is refused."),
	LIST(view_explain, memory, pinned_row, "memory now", 0,
	     "Memory per NUMA node and type, if something is refused and memory is pinned."),
};
DESCRIBE(view_explain, explain_fields, "explain", "Why a pod has its CPUs, or why it has none.",
	 .is_list = true);

/* What explains one pod; refusal NULL = none, pod NULL = not in the ledger. */
struct explained_pod {
	struct arena *arena;
	const struct ledger *ledger;
	const struct group_tree *desired;
	const struct ledger_pod *pod;
	const struct refusal_row *refusal;
	const struct pod_problem *problem; /* NULL = the pod is held */
	/* How each container would come by its CPUs now; NULL = not to be found out. */
	const struct trace *traces;
	bool is_same; /* and that is what it has */
};

/* --- CPUs in places --------------------------------------------------------------------------- */

/* Ids in list form; not a cpuset, because ids of cores may be any number. */
static const char *ids_of(struct arena *arena, const struct topology_level *level,
			  const struct cpuset *cpus)
{
	struct text text cleanup_text = {0};

	for (uint32_t i = 0; i < level->nr; i++) {
		uint32_t last = i;

		if (!cpuset_intersects(&level->cpus[i], cpus))
			continue;
		while (last + 1 < level->nr && level->ids[last + 1] == level->ids[last] + 1 &&
		       cpuset_intersects(&level->cpus[last + 1], cpus))
			last++;
		text_printf(&text, "%s%u", text.len ? "," : "", level->ids[i]);
		if (last > i)
			text_printf(&text, "-%u", level->ids[last]);
		i = last;
	}
	return arena_text(arena, &text);
}

static uint32_t count_groups(const struct topology_level *level, const struct cpuset *cpus)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < level->nr; i++)
		nr += cpuset_intersects(&level->cpus[i], cpus);
	return nr;
}

/* "NUMA node 0: 4, 1: 4": how many of the CPUs each group has. */
static const char *spread_of(struct arena *arena, const char *title,
			     const struct topology_level *level, const struct cpuset *cpus)
{
	struct text text cleanup_text = {0};
	uint32_t nr = 0;

	text_append(&text, title);
	for (uint32_t i = 0; i < level->nr && nr <= MAX_NAMED; i++) {
		unsigned int common = cpuset_count_common(&level->cpus[i], cpus);

		if (common && nr++ == MAX_NAMED)
			text_append(&text, ", …");
		else if (common)
			text_printf(&text, "%s %u: %u", nr > 1 ? "," : "", level->ids[i], common);
	}
	return arena_text(arena, &text);
}

/* --- containers ------------------------------------------------------------------------------- */

/* Why the CPU manager gives it none of its own; the order is that of cpu_exclusive_count(). */
static const char *why_shared(const struct explained_pod *subject, uint32_t index)
{
	const struct policy *policy = ledger_policy(subject->ledger);
	const struct pod_spec *spec = subject->pod->spec;
	const struct resources *request = &spec->containers[index].request;
	const struct resources *limit = &spec->containers[index].limit;

	if (policy->cpu != CPU_POLICY_STATIC)
		return "cpuManagerPolicy is none";
	if (subject->pod->qos != QOS_GUARANTEED)
		return arena_printf(subject->arena,
				    "the pod is %s, and only containers of Guaranteed pods, "
				    "whose CPU and memory limits equal the requests, get them",
				    qos_class_name(subject->pod->qos));
	if (spec->has_pod_resources && !policy->pod_level_managers)
		return "the pod has pod-level resources, and pod-level managers are off";
	if (request->cpu_mcpu <= 0)
		return "it requests no CPU";
	if (spec->has_pod_resources && request->cpu_mcpu != limit->cpu_mcpu)
		return "its CPU limit does not equal its request";
	if (spec->has_pod_resources &&
	    (request->memory_bytes <= 0 || request->memory_bytes != limit->memory_bytes))
		return "it has no memory limit that equals its request";
	if (request->cpu_mcpu % 1000)
		return arena_printf(subject->arena,
				    "it requests %lldm, which is not a whole number of CPUs",
				    (long long)request->cpu_mcpu);
	return "its grant is older than the policy under which it would get them";
}

static uint32_t nr_in_pod_pool(const struct ledger_pod *pod)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < pod->nr_grants; i++)
		nr += pod->grants[i].isolation == ISOLATION_POD;
	return nr;
}

static const char *why_of(const struct explained_pod *subject, uint32_t index)
{
	const struct ledger_pod *pod = subject->pod;
	const struct grant *grant = &pod->grants[index];
	const char *bubble = "";

	switch (grant->isolation) {
	case ISOLATION_CONTAINER:
		if (pod->has_bubble)
			bubble = arena_printf(subject->arena,
					      "; they are part of the pod's bubble of %u",
					      cpuset_count(pod->bubble));
		return arena_printf(subject->arena,
				    "holds %u exclusive CPUs: the pod is Guaranteed, it requests "
				    "a whole number of CPUs and cpuManagerPolicy is static%s%s",
				    cpuset_count(grant->cpus), bubble,
				    grant->kind == CONTAINER_INIT ? "; after it ends, later "
								    "containers of the pod use "
								    "them"
								  : "");
	case ISOLATION_POD:
		return arena_printf(subject->arena,
				    "has no exclusive CPUs: %s; containers that share the rest "
				    "of the pod's bubble: %u",
				    why_shared(subject, index), nr_in_pod_pool(pod));
	default:
		return arena_printf(subject->arena,
				    "has no exclusive CPUs: %s; containers of all pods in the "
				    "node's shared pool: %u",
				    why_shared(subject, index),
				    ledger_nr_host_containers(subject->ledger));
	}
}

static const struct group *find_group(const struct explained_pod *subject, enum group_role role,
				      const char *container)
{
	for (uint32_t i = 0; subject->desired && i < subject->desired->nr_groups; i++) {
		const struct group *group = &subject->desired->groups[i];

		if (group->role == role && !strcmp(group->uid, subject->pod->spec->uid) &&
		    !strcmp(group->container, container))
			return group;
	}
	return NULL;
}

static const char *quota_of(const struct group *group)
{
	return group ? group->files[GROUP_CPU_MAX] : NULL;
}

static void fill_quotas(const struct explained_pod *subject, const struct grant *grant,
			struct explain_container_row *row)
{
	const struct group *own = find_group(subject, GROUP_CONTAINER, grant->container);
	const struct group *level = find_group(subject, GROUP_SHARED, "");

	/* only what lies below the level is bound by it */
	if (!own || !level || strncmp(own->path, level->path, strlen(level->path)))
		level = NULL;
	row->cpu_max = quota_of(own);
	row->level_cpu_max = quota_of(level);
	row->pod_cpu_max = quota_of(find_group(subject, GROUP_POD, ""));
}

/* Under pod scope the first trace is everybody's. */
static void fill_account(const struct explained_pod *subject, uint32_t index,
			 struct explain_container_row *row)
{
	const struct policy *policy = ledger_policy(subject->ledger);
	const struct trace *trace = subject->traces;

	if (trace && policy->scope == ALIGN_SCOPE_CONTAINER)
		trace += index;
	row->steps = steps_of(subject->arena, subject->ledger, subject->pod, index, trace,
			      !trace || subject->is_same, &row->nr_steps);
	if (row->grant.isolation != ISOLATION_HOST)
		row->hints = hints_of(subject->arena, subject->ledger, trace);
}

static void fill_container(const struct explained_pod *subject, uint32_t index,
			   struct explain_container_row *row)
{
	static const char *const pools[ISOLATION_NR] = {
		[ISOLATION_HOST] = "node", [ISOLATION_POD] = "pod", [ISOLATION_CONTAINER] = NULL};
	const struct topology *topology = ledger_topology(subject->ledger);
	const struct grant *grant = &subject->pod->grants[index];
	const struct cpuset *cpus = ledger_effective(subject->ledger, grant);
	struct arena *arena = subject->arena;
	struct cpuset siblings;

	*row = (struct explain_container_row){
		.grant = {grant->container, grant->kind, grant->isolation},
		.pool = pools[grant->isolation],
		.why = why_of(subject, index),
		.cpus = cpus,
		.nr_cpus = cpuset_count(cpus),
		.cores = ids_of(arena, &topology->cores, cpus),
		.uncores = ids_of(arena, &topology->uncores, cpus),
		.numa = ids_of(arena, &topology->nodes, cpus),
		.sockets = ids_of(arena, &topology->sockets, cpus),
		.whole_cores = -1,
		.mems = grant_mems(arena, subject->ledger, grant),
	};
	if (grant->isolation == ISOLATION_CONTAINER) {
		topology_cores_of_cpus(topology, cpus, &siblings);
		cpuset_subtract(&siblings, cpus);
		row->whole_cores = cpuset_is_empty(&siblings);
		row->siblings = arena_copy(arena, &siblings, sizeof(siblings));
	}
	fill_quotas(subject, grant, row);
	fill_account(subject, index, row);
}

/* The kubelet's quotas, kept in its compatibility mode, bind the whole pod. */
static const char *warning_of(const struct explained_pod *subject)
{
	const struct ledger_pod *pod = subject->pod;
	const char *quota = pod ? quota_of(find_group(subject, GROUP_POD, "")) : NULL;
	struct text bound cleanup_text = {0};

	if (!quota || !strncmp(quota, "max", 3))
		return NULL;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_CONTAINER)
			text_printf(&bound, "%s%s", bound.len ? ", " : "",
				    pod->grants[i].container);
	}
	if (!bound.len)
		return NULL;
	return arena_printf(
		subject->arena,
		"the pod's cpu.max %s also limits %s: other containers can throttle the "
		"exclusive CPUs; compatibility: repaired sets no such quota",
		quota, arena_text(subject->arena, &bound));
}

/* --- options ---------------------------------------------------------------------------------- */

/* The CPU policy, its six options, alignment and its scope. */
#define MAX_OPTIONS 9

static void push_option(struct view_explain *row, const char *option, const char *value,
			const char *rule, const char *outcome)
{
	row->options[row->nr_options++] = (struct option_row){option, value, rule, outcome};
}

static void push_cpu_options(struct view_explain *row, const struct explained_pod *subject,
			     const struct cpuset *held)
{
	const struct topology *topology = ledger_topology(subject->ledger);
	const struct cpu_options *on = &ledger_policy(subject->ledger)->cpu_options;
	const struct {
		bool on;
		const char *name, *title;
		const struct topology_level *level;
		const char *rule;
	} options[] = {
		{on->full_pcpus_only, "full-pcpus-only", "CPUs per core", &topology->cores,
		 "exclusive CPUs are granted as whole cores only"},
		{on->distribute_across_numa, "distribute-cpus-across-numa", "CPUs per NUMA node",
		 &topology->nodes,
		 "containers that need several NUMA nodes are spread evenly "
		 "over them"},
		{on->align_by_socket, "align-by-socket", "CPUs per socket", &topology->sockets,
		 "the NUMA nodes of one socket are treated like one node"},
		{on->distribute_across_cores, "distribute-cpus-across-cores", "CPUs per core",
		 &topology->cores, "exclusive CPUs are spread over as many cores as possible"},
		{on->strict_reservation, "strict-cpu-reservation", NULL, NULL,
		 "the reserved CPUs belong to no pool and no grant"},
		{on->prefer_uncore, "prefer-align-cpus-by-uncorecache", "CPUs per uncore cache",
		 &topology->uncores, "CPUs on as few last-level caches as possible are preferred"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const bool is_counted = options[i].level && !cpuset_is_empty(held);

		if (options[i].on)
			push_option(row, options[i].name, "true", options[i].rule,
				    is_counted ? spread_of(subject->arena, options[i].title,
							   options[i].level, held)
					       : NULL);
	}
}

static void push_alignment(struct view_explain *row, const struct explained_pod *subject,
			   const struct cpuset *held)
{
	static const char *const rules[ALIGN_NR] = {
		[ALIGN_NONE] = "admission does not consider NUMA nodes",
		[ALIGN_BEST_EFFORT] = "the fewest NUMA nodes are preferred but not required",
		[ALIGN_RESTRICTED] = "the fewest NUMA nodes that could hold it are required",
		[ALIGN_SINGLE_NUMA_NODE] = "one NUMA node is required",
	};
	const struct topology *topology = ledger_topology(subject->ledger);
	const struct policy *policy = ledger_policy(subject->ledger);
	const uint32_t nr_used = count_groups(&topology->nodes, held);
	const char *outcome = NULL;

	if (!cpuset_is_empty(held))
		outcome = arena_printf(subject->arena, "%s; %u node%s used, %u could hold them",
				       spread_of(subject->arena, "CPUs per NUMA node",
						 &topology->nodes, held),
				       nr_used, nr_used == 1 ? "" : "s",
				       topology_fewest_nodes(topology, cpuset_count(held)));
	push_option(row, "topologyManagerPolicy", align_policy_name(policy->align),
		    rules[policy->align], outcome);
	if (policy->align != ALIGN_NONE)
		push_option(row, "topologyManagerScope", align_scope_name(policy->scope),
			    policy->scope == ALIGN_SCOPE_POD ? "the pod is aligned as a whole"
							     : "each container is aligned "
							       "separately",
			    NULL);
}

/* Only where CPUs are held or were asked for; a pod in the shared pool has no say in them. */
static void fill_options(struct view_explain *row, const struct explained_pod *subject)
{
	const struct policy *policy = ledger_policy(subject->ledger);
	struct cpuset held = CPUSET_EMPTY;

	if (subject->pod)
		held = *subject->pod->held;
	row->options = arena_array(subject->arena, MAX_OPTIONS, sizeof(*row->options));
	if (!row->options)
		return;
	push_option(row, "cpuManagerPolicy", cpu_policy_name(policy->cpu),
		    policy->cpu == CPU_POLICY_STATIC
			    ? "containers of Guaranteed pods that request whole CPUs get them "
			      "exclusively"
			    : "every container runs in the shared pool",
		    NULL);
	if (policy->cpu != CPU_POLICY_STATIC || (subject->pod && cpuset_is_empty(&held)))
		return;
	push_cpu_options(row, subject, &held);
	push_alignment(row, subject, &held);
}

/* --- refusals --------------------------------------------------------------------------------- */

/* Where CPUs that could still be granted alone lie. */
static void fill_free(struct view_explain *row, const struct explained_pod *subject)
{
	const struct topology *topology = ledger_topology(subject->ledger);
	struct cpuset free = *ledger_shared_pool(subject->ledger);

	cpuset_subtract(&free, ledger_reserved(subject->ledger));
	row->nodes = arena_array(subject->arena, topology->nodes.nr, sizeof(*row->nodes));
	for (uint32_t n = 0; row->nodes && n < topology->nodes.nr; n++) {
		struct cpuset here = topology->nodes.cpus[n];
		uint32_t nr_whole = 0;

		cpuset_intersect(&here, &free);
		for (uint32_t i = 0; i < topology->cores.nr; i++)
			nr_whole += cpuset_is_subset(&topology->cores.cpus[i], &here);
		row->nodes[row->nr_nodes++] = (struct free_row){
			.numa = topology->nodes.ids[n],
			.cpus = topology->nodes.nr_cpus[n],
			.nr_free = cpuset_count(&here),
			.nr_free_cores = nr_whole,
			.free = arena_copy(subject->arena, &here, sizeof(here)),
		};
	}
}

static void fill_refusal(struct view_explain *row, const struct explained_pod *subject)
{
	const struct refusal_row *refusal = subject->refusal;
	const struct decision *decision = refusal->decision;

	row->reason = given(decision->reason);
	row->refusal = refusal_name(decision->refusal);
	row->container = given(decision->container);
	row->wanted = decision->wanted;
	row->available = decision->available;
	row->unit = unit_of(decision);
	row->message = given(decision->message);
	row->suggestion = given(decision->suggestion);
	row->remedy = refusal_remedy(decision->refusal);
	row->file = refusal->file;
	row->line = refusal->line;
	row->changes = changes_of(subject->arena, decision);
	row->hints = hints_of(subject->arena, subject->ledger, &decision->trace);
	row->memory = pinned_rows(subject->arena, subject->ledger, &row->nr_memory);
	fill_free(row, subject);
}

/* --- pods ------------------------------------------------------------------------------------- */

static const char *summary_of(const struct explained_pod *subject)
{
	const struct ledger_pod *pod = subject->pod;
	uint32_t nr_exclusive = 0;

	for (uint32_t i = 0; i < pod->nr_grants; i++)
		nr_exclusive += pod->grants[i].isolation == ISOLATION_CONTAINER;
	return arena_printf(
		subject->arena,
		"CPUs held by this pod alone: %u; containers with exclusive CPUs: %u of %u%s",
		cpuset_count(pod->held), nr_exclusive, pod->nr_grants,
		subject->refusal ? "; a changed document was refused, and this grant remains in "
				   "force"
				 : "");
}

static void fill_pod(struct view_explain *row, const struct explained_pod *subject)
{
	const struct ledger_pod *pod = subject->pod;
	const struct pod_problem *problem = subject->problem;

	row->namespace = pod->spec->namespace;
	row->name = pod->spec->name;
	row->uid = pod->spec->uid;
	row->outcome = "admitted";
	row->qos = qos_class_name(pod->qos);
	row->state = pod_condition_name(condition_of(pod, problem));
	row->grant = summary_of(subject);
	row->detail = given(problem ? problem->detail : pod->detail);
	row->bubble = pod->has_bubble ? pod->bubble : NULL;
	row->held = pod->held;
	row->containers = arena_array(subject->arena, pod->nr_grants, sizeof(*row->containers));
	for (uint32_t i = 0; row->containers && i < pod->nr_grants; i++)
		fill_container(subject, i, &row->containers[row->nr_containers++]);
}

static void fill_explanation(const struct explained_pod *subject, struct view_explain *row)
{
	const struct warning_row warning = {warning_of(subject)};

	*row = (struct view_explain){.wanted = -1, .available = -1, .outcome = "refused"};
	if (subject->pod) {
		fill_pod(row, subject);
	} else {
		row->namespace = subject->refusal->namespace;
		row->name = subject->refusal->name;
		row->uid = subject->refusal->uid;
	}
	if (subject->refusal)
		fill_refusal(row, subject);
	if (warning.message) {
		row->warnings = arena_copy(subject->arena, &warning, sizeof(warning));
		row->nr_warnings = row->warnings != NULL;
	}
	fill_options(row, subject);
}

/* How the pod would come by its CPUs now is found by deciding again. */
static void find_traces(struct ledger *ledger, struct explained_pod *subject)
{
	char uid[POD_UID_MAX]; /* the pod itself is put away meanwhile */
	struct trace *traces =
		arena_array(subject->arena, subject->pod->nr_grants, sizeof(*traces));
	int r = -ENOMEM;

	memcpy(uid, subject->pod->spec->uid, sizeof(uid));
	if (traces)
		r = trace_grant(ledger, uid, traces, &subject->is_same);
	if (!r)
		subject->traces = traces;
	/* A transaction that is open belongs to somebody else: then nothing is known. */
	subject->arena->failed |= r == -ENOMEM;
}

static bool is_same(const struct ledger_pod *pod, const struct refusal_row *refusal)
{
	if (refusal->uid)
		return !strcmp(refusal->uid, pod->spec->uid);
	return refusal->name && !strcmp(refusal->name, pod->spec->name) &&
	       !strcmp(refusal->namespace, pod->spec->namespace);
}

static const struct ledger_pod *pod_of(const struct ledger *ledger,
				       const struct refusal_row *refusal)
{
	if (refusal->uid)
		return ledger_find(ledger, refusal->uid);
	return refusal->name ? ledger_find_name(ledger, refusal->namespace, refusal->name) : NULL;
}

struct json_object *view_explains(struct ledger *ledger, const struct group_tree *desired,
				  const struct refusal_row *refusals, size_t nr_refusals,
				  const struct pod_problem *problems, size_t nr_problems)
{
	struct arena arena cleanup_arena = {0};
	const uint32_t nr_pods = ledger_nr_pods(ledger);
	struct view_explain *rows = arena_array(&arena, nr_pods + nr_refusals, sizeof(*rows));
	struct explained_pod *subjects =
		arena_array(&arena, nr_pods + nr_refusals, sizeof(*subjects));
	size_t nr = 0;

	if (!rows || !subjects)
		return NULL;
	/* All are decided again before the first is described: rows point into the ledger. */
	for (uint32_t i = 0; i < nr_pods; i++) {
		subjects[i].arena = &arena;
		subjects[i].pod = ledger_pod_at(ledger, i);
		find_traces(ledger, &subjects[i]);
	}
	for (uint32_t i = 0; i < nr_pods; i++) {
		struct explained_pod *subject = &subjects[nr++];

		subject->pod = ledger_pod_at(ledger, i);
		subject->problem = problem_of(subject->pod, problems, nr_problems);
		for (size_t k = 0; k < nr_refusals && !subject->refusal; k++) {
			if (is_same(subject->pod, &refusals[k]))
				subject->refusal = &refusals[k];
		}
	}
	for (size_t k = 0; k < nr_refusals; k++) {
		if (!pod_of(ledger, &refusals[k]))
			subjects[nr++].refusal = &refusals[k];
	}
	for (size_t i = 0; i < nr; i++) {
		subjects[i].arena = &arena;
		subjects[i].ledger = ledger;
		subjects[i].desired = desired;
		fill_explanation(&subjects[i], &rows[i]);
	}
	return view_finish(&arena, &view_explain_desc, rows, nr);
}
