// SPDX-License-Identifier: Apache-2.0
/*
 * Why a pod has what it has, or has nothing: ledger, cgroup tree and refusals
 * put into sentences and numbers. What options did is read off the CPUs
 * themselves, so it holds after a restart too; how nodes were chosen is found by
 * the core, which decides once more inside a transaction that it takes back.
 */
#include "format/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/view_account.h"
#include "format/view_build.h"
#include "lib/text.h"

/* Groups of a level named one by one in a sentence; the rest is an ellipsis. */
#define MAX_NAMED 12

/* What explains one pod; refusal NULL = none, pod NULL = not in the ledger. */
struct subject {
	struct ledger *ledger;
	const struct group_tree *desired;
	const struct ledger_pod *pod;
	const struct refusal_row *refusal;
	const struct pod_problem *problem; /* NULL = the pod is held */
	/* How each container would come by its CPUs now; NULL = not to be found out. */
	const struct account *accounts;
	bool is_same; /* and that is what it has */
};

/* --- CPUs in places --------------------------------------------------------------------------- */

/* Ids in list form; not a cpuset, because ids of cores may be any number. */
static void put_ids(struct build *build, struct json_object *object, const char *key,
		    const struct topology_level *level, const struct cpuset *cpus)
{
	cleanup_text struct text text = {0};

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
	build->failed |= text.error;
	build_put_text(build, object, key, text.data ? text.data : "");
}

static uint32_t count_groups(const struct topology_level *level, const struct cpuset *cpus)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < level->nr; i++)
		nr += cpuset_intersects(&level->cpus[i], cpus);
	return nr;
}

/* All threads of the cores these CPUs lie on. */
static void widen_to_cores(const struct topology *topology, const struct cpuset *cpus,
			   struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < topology->cores.nr; i++) {
		if (cpuset_intersects(&topology->cores.cpus[i], cpus))
			cpuset_union(ret_cpus, &topology->cores.cpus[i]);
	}
}

/* "NUMA node 0: 4, 1: 4": how many of the CPUs each group has. */
static void describe_spread(struct text *text, const char *title,
			    const struct topology_level *level, const struct cpuset *cpus)
{
	uint32_t nr = 0;

	text_append(text, title);
	for (uint32_t i = 0; i < level->nr; i++) {
		unsigned int common = cpuset_count_common(&level->cpus[i], cpus);

		if (!common)
			continue;
		if (nr++ == MAX_NAMED) {
			text_append(text, ", …");
			return;
		}
		text_printf(text, "%s %u: %u", nr > 1 ? "," : "", level->ids[i], common);
	}
}

/* Fewest NUMA nodes of this machine that have as many CPUs, taken or not. */
static uint32_t fewest_nodes(const struct topology *topology, uint32_t nr_cpus)
{
	bool taken[TOPOLOGY_MAX_NODES] = {false};
	uint32_t nr = 0, sum = 0;

	while (sum < nr_cpus && nr < topology->nodes.nr) {
		uint32_t best = TOPOLOGY_MAX_NODES;

		for (uint32_t i = 0; i < topology->nodes.nr; i++) {
			if (!taken[i] &&
			    (best == TOPOLOGY_MAX_NODES ||
			     topology->nodes.nr_cpus[i] > topology->nodes.nr_cpus[best]))
				best = i;
		}
		taken[best] = true;
		sum += topology->nodes.nr_cpus[best];
		nr++;
	}
	return nr;
}

/* --- containers ------------------------------------------------------------------------------- */

/* Why the CPU manager gives it none of its own; the order is that of cpu_exclusive_count(). */
static void say_why_shared(struct text *text, const struct subject *subject, uint32_t index)
{
	const struct policy *policy = ledger_policy(subject->ledger);
	const struct pod_spec *spec = subject->pod->spec;
	const struct resources *request = &spec->containers[index].request;
	const struct resources *limit = &spec->containers[index].limit;
	const long long mcpu = (long long)request->cpu_mcpu;

	text_append(text, "has no CPUs of its own: ");
	if (policy->cpu != CPU_POLICY_STATIC)
		text_append(text, "cpuManagerPolicy is none");
	else if (subject->pod->qos != QOS_GUARANTEED)
		text_printf(text,
			    "the pod is %s, and only in a Guaranteed one, whose CPU and memory "
			    "limits equal the requests, containers get them",
			    qos_class_name(subject->pod->qos));
	else if (spec->has_pod_resources && !policy->pod_level_managers)
		text_append(text, "the pod has resources as a whole, and pod level managers are "
				  "off");
	else if (request->cpu_mcpu <= 0)
		text_append(text, "it requests no CPU");
	else if (spec->has_pod_resources && request->cpu_mcpu != limit->cpu_mcpu)
		text_append(text, "its CPU limit does not equal its request");
	else if (spec->has_pod_resources &&
		 (request->memory_bytes <= 0 || request->memory_bytes != limit->memory_bytes))
		text_append(text, "it has no memory limit that equals its request");
	else if (mcpu % 1000)
		text_printf(text, "it requests %lldm, which is no whole number of CPUs", mcpu);
	else
		text_append(text, "its grant is older than the policy that would give it some");
}

static uint32_t nr_in_pod_pool(const struct ledger_pod *pod)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < pod->nr_grants; i++)
		nr += pod->grants[i].isolation == ISOLATION_POD;
	return nr;
}

static void say_why(struct text *text, const struct subject *subject, uint32_t index)
{
	const struct ledger_pod *pod = subject->pod;
	const struct grant *grant = &pod->grants[index];

	switch (grant->isolation) {
	case ISOLATION_CONTAINER:
		text_printf(text,
			    "holds %u CPUs alone: a Guaranteed pod, a whole number of CPUs "
			    "and cpuManagerPolicy static",
			    cpuset_count(&grant->cpus));
		if (pod->has_bubble)
			text_printf(text, "; they come out of the pod's bubble of %u",
				    cpuset_count(&pod->bubble));
		if (grant->kind == CONTAINER_INIT)
			text_append(text,
				    "; when it has ended the pod's later containers use them");
		break;
	case ISOLATION_POD:
		say_why_shared(text, subject, index);
		text_printf(text, "; containers in what the pod's bubble has left: %u",
			    nr_in_pod_pool(pod));
		break;
	default:
		say_why_shared(text, subject, index);
		text_printf(text, "; containers of all pods in the node's shared pool: %u",
			    ledger_nr_host_containers(subject->ledger));
		break;
	}
}

static const struct group *find_group(const struct subject *subject, enum group_role role,
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

static void put_quotas(struct build *build, struct json_object *object,
		       const struct subject *subject, const struct grant *grant)
{
	const struct group *own = find_group(subject, GROUP_CONTAINER, grant->container);
	const struct group *level = find_group(subject, GROUP_SHARED, "");

	/* only what lies below the level is bound by it */
	if (!own || !level || strncmp(own->path, level->path, strlen(level->path)))
		level = NULL;
	build_put_text(build, object, "cpu_max", quota_of(own));
	build_put_text(build, object, "level_cpu_max", quota_of(level));
	build_put_text(build, object, "pod_cpu_max", quota_of(find_group(subject, GROUP_POD, "")));
}

/* Under pod scope the first account is everybody's. */
static void put_account(struct build *build, struct json_object *object,
			const struct subject *subject, uint32_t index)
{
	const struct policy *policy = ledger_policy(subject->ledger);
	const struct account *account = subject->accounts;

	if (account && policy->scope == ALIGN_SCOPE_CONTAINER)
		account += index;
	build_put(build, object, "steps",
		  account_steps(build, subject->ledger, subject->pod, index, account,
				!account || subject->is_same));
	if (subject->pod->grants[index].isolation == ISOLATION_HOST)
		account = NULL;
	account_put_hints(build, object, subject->ledger, account);
}

static struct json_object *one_container(struct build *build, const struct subject *subject,
					 uint32_t index)
{
	const struct topology *topology = ledger_topology(subject->ledger);
	const struct grant *grant = &subject->pod->grants[index];
	const struct cpuset *cpus = ledger_effective(subject->ledger, grant);
	const bool exclusive = grant->isolation == ISOLATION_CONTAINER;
	static const char *const pools[ISOLATION_NR] = {
		[ISOLATION_HOST] = "node", [ISOLATION_POD] = "pod", [ISOLATION_CONTAINER] = NULL};
	struct json_object *object = build_object(build);
	cleanup_text struct text why = {0};
	struct cpuset siblings;

	widen_to_cores(topology, cpus, &siblings);
	cpuset_subtract(&siblings, cpus);
	say_why(&why, subject, index);
	build->failed |= why.error;
	build_put_text(build, object, "name", grant->container);
	build_put_text(build, object, "kind", container_kind_name(grant->kind));
	build_put_text(build, object, "isolation", isolation_name(grant->isolation));
	build_put_text(build, object, "pool", pools[grant->isolation]);
	build_put_text(build, object, "why", why.data);
	build_put_set(build, object, "cpus", cpus);
	build_put_int(build, object, "nr_cpus", cpuset_count(cpus));
	put_ids(build, object, "cores", &topology->cores, cpus);
	put_ids(build, object, "uncores", &topology->uncores, cpus);
	put_ids(build, object, "numa", &topology->nodes, cpus);
	put_ids(build, object, "sockets", &topology->sockets, cpus);
	build_put_answer(build, object, "whole_cores", exclusive ? cpuset_is_empty(&siblings) : -1);
	build_put_set(build, object, "siblings", exclusive ? &siblings : NULL);
	build_put_mems(build, object, "mems", subject->ledger, grant);
	put_quotas(build, object, subject, grant);
	put_account(build, object, subject, index);
	return object;
}

static struct json_object *containers(struct build *build, const struct subject *subject)
{
	struct json_object *array = build_array(build);

	for (uint32_t i = 0; subject->pod && i < subject->pod->nr_grants; i++)
		build_push(build, array, one_container(build, subject, i));
	return array;
}

/* The kubelet's quotas, kept in its compatibility mode, bind the whole pod. */
static struct json_object *warnings(struct build *build, const struct subject *subject)
{
	struct json_object *array = build_array(build);
	const struct ledger_pod *pod = subject->pod;
	const char *quota = pod ? quota_of(find_group(subject, GROUP_POD, "")) : NULL;
	cleanup_text struct text text = {0};

	if (!quota || !strncmp(quota, "max", 3))
		return array;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_CONTAINER)
			text_printf(&text, "%s%s", text.len ? ", " : "", pod->grants[i].container);
	}
	build->failed |= text.error;
	if (text.len) {
		struct json_object *object = build_object(build);
		cleanup_text struct text warning = {0};

		text_printf(
			&warning,
			"the pod's cpu.max %s binds %s too: what the other containers use can "
			"throttle the exclusive CPUs; compatibility: repaired sets no such quota",
			quota, text.data);
		build->failed |= warning.error;
		build_put_text(build, object, "message", warning.data);
		build_push(build, array, object);
	}
	return array;
}

/* --- options ---------------------------------------------------------------------------------- */

static void push_option(struct build *build, struct json_object *array, const char *option,
			const char *value, const char *rule, const char *outcome)
{
	struct json_object *object = build_object(build);

	build_put_text(build, object, "option", option);
	build_put_text(build, object, "value", value);
	build_put_text(build, object, "rule", rule);
	build_put_given(build, object, "outcome", outcome);
	build_push(build, array, object);
}

static void push_cpu_options(struct build *build, struct json_object *array,
			     const struct subject *subject, const struct cpuset *held)
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
		 "exclusive CPUs come as whole cores only"},
		{on->distribute_across_numa, "distribute-cpus-across-numa", "CPUs per NUMA node",
		 &topology->nodes, "what needs several NUMA nodes is spread evenly over them"},
		{on->align_by_socket, "align-by-socket", "CPUs per socket", &topology->sockets,
		 "NUMA nodes of one socket count as near as one node"},
		{on->distribute_across_cores, "distribute-cpus-across-cores", "CPUs per core",
		 &topology->cores, "exclusive CPUs take as many cores as they can"},
		{on->strict_reservation, "strict-cpu-reservation", NULL, NULL,
		 "the reserved CPUs are in no pool and in no grant"},
		{on->prefer_uncore, "prefer-align-cpus-by-uncorecache", "CPUs per uncore cache",
		 &topology->uncores, "few last-level caches are preferred"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		cleanup_text struct text outcome = {0};

		if (!options[i].on)
			continue;
		if (options[i].level && !cpuset_is_empty(held))
			describe_spread(&outcome, options[i].title, options[i].level, held);
		build->failed |= outcome.error;
		push_option(build, array, options[i].name, "true", options[i].rule, outcome.data);
	}
}

static void push_alignment(struct build *build, struct json_object *array,
			   const struct subject *subject, const struct cpuset *held)
{
	static const char *const rules[ALIGN_NR] = {
		[ALIGN_NONE] = "NUMA nodes are not looked at when a pod is admitted",
		[ALIGN_BEST_EFFORT] = "the fewest NUMA nodes are preferred, others are taken",
		[ALIGN_RESTRICTED] = "the fewest NUMA nodes that could hold it, or refused",
		[ALIGN_SINGLE_NUMA_NODE] = "one NUMA node, or refused",
	};
	const struct topology *topology = ledger_topology(subject->ledger);
	const struct policy *policy = ledger_policy(subject->ledger);
	cleanup_text struct text outcome = {0};

	if (!cpuset_is_empty(held)) {
		describe_spread(&outcome, "CPUs per NUMA node", &topology->nodes, held);
		text_printf(&outcome, "; %u node%s used, %u could hold them",
			    count_groups(&topology->nodes, held),
			    count_groups(&topology->nodes, held) == 1 ? "" : "s",
			    fewest_nodes(topology, cpuset_count(held)));
	}
	build->failed |= outcome.error;
	push_option(build, array, "topologyManagerPolicy", align_policy_name(policy->align),
		    rules[policy->align], outcome.data);
	if (policy->align != ALIGN_NONE)
		push_option(build, array, "topologyManagerScope", align_scope_name(policy->scope),
			    policy->scope == ALIGN_SCOPE_POD ? "the pod is aligned as a whole"
							     : "each container is aligned alone",
			    NULL);
}

/* Only where CPUs are held or were asked for; a pod in the shared pool has no say in them. */
static struct json_object *options(struct build *build, const struct subject *subject)
{
	const struct policy *policy = ledger_policy(subject->ledger);
	struct json_object *array = build_array(build);
	struct cpuset held = CPUSET_EMPTY;

	if (subject->pod)
		held = subject->pod->held;
	push_option(build, array, "cpuManagerPolicy", cpu_policy_name(policy->cpu),
		    policy->cpu == CPU_POLICY_STATIC
			    ? "containers of Guaranteed pods that ask for whole CPUs get them alone"
			    : "every container runs in the shared pool",
		    NULL);
	if (policy->cpu != CPU_POLICY_STATIC || (subject->pod && cpuset_is_empty(&held)))
		return array;
	push_cpu_options(build, array, subject, &held);
	push_alignment(build, array, subject, &held);
	return array;
}

/* --- refusals --------------------------------------------------------------------------------- */

/* Where CPUs that could still be granted alone lie. */
static struct json_object *free_nodes(struct build *build, const struct subject *subject)
{
	const struct topology *topology = ledger_topology(subject->ledger);
	struct json_object *array = build_array(build);
	struct cpuset free = *ledger_shared_pool(subject->ledger);

	cpuset_subtract(&free, ledger_reserved(subject->ledger));
	for (uint32_t n = 0; subject->refusal && n < topology->nodes.nr; n++) {
		struct json_object *object = build_object(build);
		struct cpuset here = topology->nodes.cpus[n];
		uint32_t nr_whole = 0;

		cpuset_intersect(&here, &free);
		for (uint32_t i = 0; i < topology->cores.nr; i++)
			nr_whole += cpuset_is_subset(&topology->cores.cpus[i], &here);
		build_put_int(build, object, "numa", topology->nodes.ids[n]);
		build_put_int(build, object, "cpus", topology->nodes.nr_cpus[n]);
		build_put_int(build, object, "nr_free", cpuset_count(&here));
		build_put_int(build, object, "nr_free_cores", nr_whole);
		build_put_set(build, object, "free", &here);
		build_push(build, array, object);
	}
	return array;
}

static void put_refusal(struct build *build, struct json_object *object,
			const struct refusal_row *refusal)
{
	static const struct decision none = {.wanted = -1, .available = -1};
	const struct decision *decision = refusal ? refusal->decision : &none;

	build_put_given(build, object, "reason", decision->reason);
	build_put_text(build, object, "refusal", refusal ? refusal_name(decision->refusal) : NULL);
	build_put_given(build, object, "container", decision->container);
	build_put_known(build, object, "wanted", decision->wanted);
	build_put_known(build, object, "available", decision->available);
	build_put_given(build, object, "message", decision->message);
	build_put_given(build, object, "suggestion", decision->suggestion);
	build_put_text(build, object, "remedy", refusal ? refusal_remedy(decision->refusal) : NULL);
	build_put_text(build, object, "file", refusal ? refusal->file : NULL);
	build_put_known(build, object, "line",
			refusal && refusal->line ? (int64_t)refusal->line : -1);
}

/* --- pods ------------------------------------------------------------------------------------- */

static void say_summary(struct text *text, const struct subject *subject)
{
	const struct ledger_pod *pod = subject->pod;
	uint32_t nr_exclusive = 0;

	for (uint32_t i = 0; i < pod->nr_grants; i++)
		nr_exclusive += pod->grants[i].isolation == ISOLATION_CONTAINER;
	text_printf(text,
		    "CPUs that no other pod has: %u; containers with CPUs of their own: %u of %u",
		    cpuset_count(&pod->held), nr_exclusive, pod->nr_grants);
	if (subject->refusal)
		text_append(text, "; a changed document was refused, this grant stays in force");
}

static void put_pod(struct build *build, struct json_object *object, const struct subject *subject)
{
	const struct ledger_pod *pod = subject->pod;
	const struct refusal_row *refusal = subject->refusal;
	const struct pod_problem *problem = subject->problem;
	const char *state = pod ? pod_state_name(pod->state) : NULL;
	const char *detail = pod ? pod->detail : NULL;
	cleanup_text struct text summary = {0};

	if (pod)
		say_summary(&summary, subject);
	build->failed |= summary.error;
	build_put_text(build, object, "namespace", pod ? pod->spec->namespace : refusal->namespace);
	build_put_text(build, object, "name", pod ? pod->spec->name : refusal->name);
	build_put_text(build, object, "uid", pod ? pod->spec->uid : refusal->uid);
	build_put_text(build, object, "outcome", pod ? "admitted" : "refused");
	build_put_text(build, object, "qos", pod ? qos_class_name(pod->qos) : NULL);
	build_put_text(build, object, "state", problem ? problem->state : state);
	build_put_text(build, object, "grant", summary.data);
	build_put_given(build, object, "detail", problem ? problem->detail : detail);
	build_put_set(build, object, "bubble", pod && pod->has_bubble ? &pod->bubble : NULL);
	build_put_set(build, object, "held", pod ? &pod->held : NULL);
}

static struct json_object *one_explanation(struct build *build, const struct subject *subject)
{
	struct json_object *object = build_object(build);

	put_pod(build, object, subject);
	put_refusal(build, object, subject->refusal);
	build_put(build, object, "warnings", warnings(build, subject));
	build_put(build, object, "containers", containers(build, subject));
	build_put(build, object, "options", options(build, subject));
	account_put_changes(build, object, subject->refusal ? subject->refusal->decision : NULL);
	account_put_hints(build, object, subject->ledger,
			  subject->refusal ? &subject->refusal->decision->account : NULL);
	build_put(build, object, "nodes", free_nodes(build, subject));
	build_put(build, object, "memory",
		  subject->refusal ? account_memory(build, subject->ledger) : build_array(build));
	return object;
}

/* A pod of the ledger: how it comes by its CPUs is found by deciding again. */
static struct json_object *explain_pod(struct build *build, struct subject *subject)
{
	char uid[POD_UID_MAX]; /* the pod itself is put away meanwhile */
	uint32_t nr = subject->pod->nr_grants;
	struct account *accounts cleanup_free = calloc(nr ? nr : 1, sizeof(*accounts));
	int r = -ENOMEM;

	memcpy(uid, subject->pod->spec->uid, sizeof(uid));
	if (accounts)
		r = explain_grant(subject->ledger, uid, accounts, &subject->is_same);
	if (!r)
		subject->accounts = accounts;
	/* A transaction that is open belongs to somebody else: then nothing is known. */
	build->failed |= r == -ENOMEM;
	subject->pod = ledger_find(subject->ledger, uid);
	return one_explanation(build, subject);
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
	struct build build = {0};
	struct json_object *array = build_array(&build);

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		struct subject subject = {
			.ledger = ledger, .desired = desired, .pod = ledger_pod_at(ledger, i)};

		subject.problem = build_problem_of(subject.pod, problems, nr_problems);
		for (size_t k = 0; k < nr_refusals && !subject.refusal; k++) {
			if (is_same(subject.pod, &refusals[k]))
				subject.refusal = &refusals[k];
		}
		build_push(&build, array, explain_pod(&build, &subject));
	}
	for (size_t k = 0; k < nr_refusals; k++) {
		const struct subject subject = {
			.ledger = ledger, .desired = desired, .refusal = &refusals[k]};

		if (!pod_of(ledger, &refusals[k]))
			build_push(&build, array, one_explanation(&build, &subject));
	}
	return build_finish(&build, array);
}
