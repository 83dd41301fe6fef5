// SPDX-License-Identifier: Apache-2.0
/*
 * The builders of what the core decides: core structs -> json-c objects as
 * view_fields.c describes them. They decide nothing and read nothing but
 * their arguments.
 */
#include "format/views.h"

#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "core/quantity.h"
#include "format/config.h"
#include "format/view_account.h"
#include "format/view_build.h"

static const struct cpuset nothing = CPUSET_EMPTY;

/* --- pods and containers ---------------------------------------------------------------------- */

void build_put_mems(struct build *build, struct json_object *object, const char *key,
		    const struct ledger *ledger, const struct grant *grant)
{
	const struct topology *topology = ledger_topology(ledger);
	node_mask_t all = topology->nr_memory_nodes >= 64
				  ? ~(node_mask_t)0
				  : ((node_mask_t)1 << topology->nr_memory_nodes) - 1;
	struct cpuset mems = CPUSET_EMPTY;

	topology_mems_of_mask(topology, grant->mems ? grant->mems : all, &mems);
	build_put_set(build, object, key, &mems);
}

static struct json_object *pod_container(struct build *build, const struct ledger *ledger,
					 const struct ledger_pod *pod, uint32_t index)
{
	const struct grant *grant = &pod->grants[index];
	struct json_object *object = build_object(build);

	build_put_text(build, object, "name", grant->container);
	build_put_text(build, object, "kind", container_kind_name(grant->kind));
	build_put_text(build, object, "isolation", isolation_name(grant->isolation));
	build_put_set(build, object, "cpus", ledger_effective(ledger, grant));
	build_put_mems(build, object, "mems", ledger, grant);
	build_put_known(build, object, "cpu_request_mcpu",
			pod->spec->containers[index].request.cpu_mcpu);
	build_put_known(build, object, "memory_request_bytes",
			pod->spec->containers[index].request.memory_bytes);
	return object;
}

const struct pod_problem *build_problem_of(const struct ledger_pod *pod,
					   const struct pod_problem *problems, size_t nr_problems)
{
	for (size_t i = 0; i < nr_problems && pod->state == POD_RUNNING; i++)
		if (!strcmp(problems[i].uid, pod->spec->uid))
			return &problems[i];
	return NULL;
}

/* What the pod holds alone: its bubble, or its containers' exclusive CPUs. */
static void exclusive_of(const struct ledger_pod *pod, struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_CONTAINER)
			cpuset_union(ret_cpus, &pod->grants[i].cpus);
	}
}

static void pod_pool_of(const struct ledger_pod *pod, struct cpuset *ret_cpus)
{
	*ret_cpus = CPUSET_EMPTY;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_POD)
			cpuset_union(ret_cpus, &pod->grants[i].cpus);
	}
}

static struct json_object *one_pod(struct build *build, const struct ledger *ledger,
				   const struct ledger_pod *pod, const struct pod_problem *problem)
{
	const struct pod_totals totals = pod_totals(pod->spec);
	struct json_object *object = build_object(build);
	struct json_object *containers = build_array(build);
	struct cpuset set;

	build_put_text(build, object, "uid", pod->spec->uid);
	build_put_text(build, object, "namespace", pod->spec->namespace);
	build_put_text(build, object, "name", pod->spec->name);
	build_put_text(build, object, "qos", qos_class_name(pod->qos));
	build_put_text(build, object, "state",
		       problem ? problem->state : pod_state_name(pod->state));
	build_put_text(build, object, "scope", pod->has_bubble ? "pod" : "container");
	build_put_set(build, object, "bubble", pod->has_bubble ? &pod->bubble : NULL);
	exclusive_of(pod, &set);
	build_put_set(build, object, "exclusive", &set);
	pod_pool_of(pod, &set);
	build_put_set(build, object, "pool", &set);
	build_put_set(build, object, "held", &pod->held);
	build_put_int(build, object, "cpu_request_mcpu", totals.cpu_request_mcpu);
	build_put_known(build, object, "cpu_limit_mcpu", totals.cpu_limit_mcpu);
	build_put_int(build, object, "memory_request_bytes", totals.memory_request_bytes);
	build_put_known(build, object, "memory_limit_bytes", totals.memory_limit_bytes);
	build_put_given(build, object, "detail", problem ? problem->detail : pod->detail);
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		build_push(build, containers, pod_container(build, ledger, pod, i));
	build_put(build, object, "containers", containers);
	return object;
}

static struct json_object *all_pods(struct build *build, const struct ledger *ledger,
				    const struct pod_problem *problems, size_t nr_problems)
{
	struct json_object *array = build_array(build);

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		build_push(build, array,
			   one_pod(build, ledger, pod,
				   build_problem_of(pod, problems, nr_problems)));
	}
	return array;
}

struct json_object *view_pods(const struct ledger *ledger, const struct pod_problem *problems,
			      size_t nr_problems)
{
	struct build build = {0};
	struct json_object *array = all_pods(&build, ledger, problems, nr_problems);

	return build_finish(&build, array);
}

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

static const struct observed_container *observed_of(const struct observed_container *rows,
						    size_t nr_rows, const char *uid,
						    const char *container)
{
	static const struct observed_container unknown = {
		.nr_processes = -1,
		.run_ns = -1,
		.wait_ns = -1,
		.nr_migrations_node = -1,
		.nr_migrations_across = -1,
	};

	for (size_t i = 0; i < nr_rows; i++) {
		if (!strcmp(rows[i].uid, uid) && !strcmp(rows[i].container, container))
			return &rows[i];
	}
	return &unknown;
}

static void put_group_files(struct build *build, struct json_object *object,
			    const struct group *group)
{
	const char *weight = group ? group->files[GROUP_CPU_WEIGHT] : NULL;
	const char *memory = group ? group->files[GROUP_MEMORY_MAX] : NULL;

	build_put_text(build, object, "cpu_max", group ? group->files[GROUP_CPU_MAX] : NULL);
	build_put_known(build, object, "cpu_weight", weight ? strtoll(weight, NULL, 10) : -1);
	build_put_text(build, object, "memory_max", memory);
}

static void put_observed(struct build *build, struct json_object *object,
			 const struct observed_container *row, const struct group *group)
{
	build_put_text(build, object, "effective_cpus", row->effective_cpus);
	build_put_text(build, object, "effective_mems", row->effective_mems);
	build_put_known(build, object, "processes", row->nr_processes);
	build_put_seconds(build, object, "run_seconds", row->run_ns);
	build_put_seconds(build, object, "wait_seconds", row->wait_ns);
	build_put_known(build, object, "migrations_within_node", row->nr_migrations_node);
	build_put_known(build, object, "migrations_across_nodes", row->nr_migrations_across);
	build_put_text(build, object, "cgroup",
		       row->cgroup ? row->cgroup : (group ? group->path : NULL));
}

static struct json_object *one_container(struct build *build, const struct ledger *ledger,
					 const struct ledger_pod *pod, const struct grant *grant,
					 const struct group *group)
{
	struct json_object *object = build_object(build);

	build_put_text(build, object, "namespace", pod->spec->namespace);
	build_put_text(build, object, "pod", pod->spec->name);
	build_put_text(build, object, "container", grant->container);
	build_put_text(build, object, "uid", pod->spec->uid);
	build_put_text(build, object, "kind", container_kind_name(grant->kind));
	build_put_text(build, object, "isolation", isolation_name(grant->isolation));
	build_put_set(build, object, "cpus", ledger_effective(ledger, grant));
	build_put_mems(build, object, "mems", ledger, grant);
	put_group_files(build, object, group);
	return object;
}

struct json_object *view_containers(const struct ledger *ledger, const struct group_tree *desired,
				    const struct observed_container *observed, size_t nr_observed)
{
	struct build build = {0};
	struct json_object *array = build_array(&build);

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		for (uint32_t c = 0; c < pod->nr_grants; c++) {
			const struct grant *grant = &pod->grants[c];
			const char *uid = pod->spec->uid;
			const struct group *group = desired_of(desired, uid, grant->container);
			struct json_object *object =
				one_container(&build, ledger, pod, grant, group);

			put_observed(&build, object,
				     observed_of(observed, nr_observed, uid, grant->container),
				     group);
			build_push(&build, array, object);
		}
	}
	return build_finish(&build, array);
}

/* --- CPUs and the node ------------------------------------------------------------------------ */

enum cpu_state { CPU_SHARED, CPU_RESERVED, CPU_EXCLUSIVE, CPU_POD_SHARED, CPU_EXCLUDED };

static const char *const cpu_state_names[] = {
	[CPU_SHARED] = "shared",	 [CPU_RESERVED] = "reserved", [CPU_EXCLUSIVE] = "exclusive",
	[CPU_POD_SHARED] = "pod_shared", [CPU_EXCLUDED] = "excluded",
};

/* Whose CPU is it? One pass per pod, so that 1024 CPUs x 250 pods stay cheap. */
struct cpu_owner {
	enum cpu_state state;
	const struct ledger_pod *pod;
	const struct grant *grant; /* NULL: the pod as a whole */
};

static void mark(struct cpu_owner *owners, const struct topology *topology,
		 const struct cpuset *cpus, const struct cpu_owner *owner)
{
	cpuset_for_each (cpu, cpus) {
		if (cpu < topology->nr_cpu_ids)
			owners[cpu] = *owner;
	}
}

static void mark_pod(struct cpu_owner *owners, const struct topology *topology,
		     const struct ledger_pod *pod)
{
	struct cpu_owner owner = {.state = CPU_EXCLUSIVE, .pod = pod};

	mark(owners, topology, &pod->held, &owner);
	owner.state = CPU_POD_SHARED;
	if (pod->has_bubble)
		mark(owners, topology, &pod->bubble, &owner);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_POD)
			mark(owners, topology, &pod->grants[i].cpus, &owner);
	}
	owner.state = CPU_EXCLUSIVE;
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		owner.grant = &pod->grants[i];
		if (owner.grant->isolation == ISOLATION_CONTAINER)
			mark(owners, topology, &owner.grant->cpus, &owner);
	}
}

static struct cpu_owner *find_owners(const struct ledger *ledger)
{
	const struct topology *topology = ledger_topology(ledger);
	struct cpu_owner *owners = calloc(topology->nr_cpu_ids + 1, sizeof(*owners));
	const struct cpu_owner reserved = {.state = CPU_RESERVED};
	const struct cpu_owner excluded = {.state = CPU_EXCLUDED};

	if (!owners)
		return NULL;
	mark(owners, topology, &ledger_policy(ledger)->excluded, &excluded);
	mark(owners, topology, ledger_reserved(ledger), &reserved);
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		mark_pod(owners, topology, ledger_pod_at(ledger, i));
	return owners;
}

static void put_owner(struct build *build, struct json_object *object,
		      const struct cpu_owner *owner)
{
	char name[2 * POD_NAME_MAX + POD_CONTAINER_NAME];

	if (!owner->pod) {
		build_put(build, object, "owner", NULL);
		build_put(build, object, "owner_uid", NULL);
		return;
	}
	snprintf(name, sizeof(name), "%s/%s%s%s", owner->pod->spec->namespace,
		 owner->pod->spec->name, owner->grant ? "/" : "",
		 owner->grant ? owner->grant->container : "");
	build_put_text(build, object, "owner", name);
	build_put_text(build, object, "owner_uid", owner->pod->spec->uid);
}

static struct json_object *one_cpu(struct build *build, const struct ledger *ledger,
				   unsigned int cpu, const struct cpu_owner *owner)
{
	const struct topology *topology = ledger_topology(ledger);
	struct json_object *object = build_object(build);

	build_put_int(build, object, "cpu", cpu);
	build_put_int(build, object, "core", topology->cores.ids[topology->core_of[cpu]]);
	build_put_int(build, object, "uncore", topology->uncores.ids[topology->uncore_of[cpu]]);
	build_put_int(build, object, "numa", topology->nodes.ids[topology->node_of[cpu]]);
	build_put_int(build, object, "socket", topology->sockets.ids[topology->socket_of[cpu]]);
	build_put_text(build, object, "state", cpu_state_names[owner->state]);
	build_put_bool(build, object, "in_shared_pool",
		       cpuset_has(ledger_shared_pool(ledger), cpu));
	put_owner(build, object, owner);
	return object;
}

struct json_object *view_cpus(const struct ledger *ledger)
{
	cleanup_free struct cpu_owner *owners = find_owners(ledger);
	struct build build = {.failed = !owners};
	struct json_object *array = build_array(&build);

	if (owners) {
		cpuset_for_each (cpu, &ledger_topology(ledger)->all)
			build_push(&build, array, one_cpu(&build, ledger, cpu, &owners[cpu]));
	}
	return build_finish(&build, array);
}

static void put_part(struct build *build, struct json_object *object, const char *key,
		     const struct cpuset *node, const struct cpuset *part)
{
	struct cpuset common = *node;

	cpuset_intersect(&common, part);
	build_put_set(build, object, key, &common);
}

/* Per NUMA node: what it has and who holds it. */
static struct json_object *numa_nodes(struct build *build, const struct ledger *ledger)
{
	const struct topology *topology = ledger_topology(ledger);
	struct json_object *array = build_array(build);
	struct cpuset exclusive;

	ledger_exclusive(ledger, &exclusive);
	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		const struct topology_node *node = &topology->memory_nodes[i];
		struct json_object *object = build_object(build);
		const struct cpuset *cpus = &nothing;

		for (uint32_t n = 0; n < topology->nodes.nr; n++) {
			if (topology->nodes.ids[n] == node->id)
				cpus = &topology->nodes.cpus[n];
		}
		build_put_int(build, object, "numa", node->id);
		build_put_set(build, object, "cpus", cpus);
		put_part(build, object, "reserved", cpus, ledger_reserved(ledger));
		put_part(build, object, "shared", cpus, ledger_shared_pool(ledger));
		put_part(build, object, "exclusive", cpus, &exclusive);
		build_put_int(build, object, "memory_bytes", (int64_t)node->memory_bytes);
		build_push(build, array, object);
	}
	return array;
}

static void put_machine(struct build *build, struct json_object *object,
			const struct topology *topology)
{
	build_put_int(build, object, "cpus", cpuset_count(&topology->all));
	build_put_int(build, object, "cores", topology->cores.nr);
	build_put_int(build, object, "uncores", topology->uncores.nr);
	build_put_int(build, object, "numa_nodes", topology->nodes.nr);
	build_put_int(build, object, "sockets", topology->sockets.nr);
}

static void put_pools(struct build *build, struct json_object *object, const struct ledger *ledger)
{
	struct cpuset exclusive;

	ledger_exclusive(ledger, &exclusive);
	build_put_set(build, object, "shared_pool", ledger_shared_pool(ledger));
	build_put_set(build, object, "reserved", ledger_reserved(ledger));
	build_put_set(build, object, "exclusive", &exclusive);
	build_put_set(build, object, "excluded", &ledger_policy(ledger)->excluded);
}

static struct json_object *findings(struct build *build, const struct node_row *row)
{
	struct json_object *array = build_array(build);

	for (size_t i = 0; i < row->nr_findings; i++) {
		struct json_object *object = build_object(build);

		build_put_text(build, object, "name", row->findings[i].name);
		build_put_text(build, object, "message", row->findings[i].message);
		build_put_given(build, object, "remedy", row->findings[i].remedy);
		build_push(build, array, object);
	}
	return array;
}

static int64_t count_containers(const struct ledger *ledger)
{
	int64_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		nr += ledger_pod_at(ledger, i)->nr_grants;
	return nr;
}

struct json_object *view_node(const struct ledger *ledger, const struct node_row *row)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_int(&build, object, "schema_version", PINFOLD_SCHEMA_VERSION);
	build_put_text(&build, object, "source", row->source);
	build_put_text(&build, object, "mode", row->mode);
	build_put_answer(&build, object, "ready", row->ready);
	build_put_given(&build, object, "not_ready", row->not_ready);
	build_put_text(&build, object, "kernel", row->kernel);
	put_machine(&build, object, ledger_topology(ledger));
	put_pools(&build, object, ledger);
	build_put_int(&build, object, "pods", ledger_nr_pods(ledger));
	build_put_int(&build, object, "containers", count_containers(ledger));
	build_put_text(&build, object, "hierarchy", row->hierarchy);
	build_put_text(&build, object, "workload_root", row->workload_root);
	build_put_text(&build, object, "partition", row->partition);
	build_put_text(&build, object, "guard", row->guard);
	build_put_text(&build, object, "tiers", row->tiers);
	build_put(&build, object, "nodes", numa_nodes(&build, ledger));
	build_put(&build, object, "findings", findings(&build, row));
	return build_finish(&build, object);
}

/* --- policy ----------------------------------------------------------------------------------- */

static struct json_object *cpu_options(struct build *build, const struct cpu_options *options)
{
	struct json_object *array = build_array(build);

	if (options->full_pcpus_only)
		build_push_text(build, array, "full-pcpus-only");
	if (options->distribute_across_numa)
		build_push_text(build, array, "distribute-cpus-across-numa");
	if (options->align_by_socket)
		build_push_text(build, array, "align-by-socket");
	if (options->distribute_across_cores)
		build_push_text(build, array, "distribute-cpus-across-cores");
	if (options->strict_reservation)
		build_push_text(build, array, "strict-cpu-reservation");
	if (options->prefer_uncore)
		build_push_text(build, array, "prefer-align-cpus-by-uncorecache");
	return array;
}

static struct json_object *memory_reservations(struct build *build, const struct policy *policy)
{
	struct json_object *array = build_array(build);

	for (uint32_t i = 0; i < policy->nr_memory_reservations; i++) {
		const struct memory_reservation *reservation = &policy->memory_reservations[i];
		struct json_object *object = build_object(build);
		char type[40] = "memory", size[28];

		if (reservation->size_bytes) {
			quantity_format_binary(reservation->size_bytes, size, sizeof(size));
			snprintf(type, sizeof(type), "hugepages-%s", size);
		}
		build_put_int(build, object, "numa", reservation->node_id);
		build_put_text(build, object, "type", type);
		build_put_int(build, object, "bytes", (int64_t)reservation->bytes);
		build_push(build, array, object);
	}
	return array;
}

static struct json_object *enforcements(struct build *build, const struct config *config)
{
	const struct {
		const char *what;
		enum enforcement level;
	} rows[] = {
		{"cpusetFiles", config->enforcement.cpuset_files},
		{"affinity", config->enforcement.affinity},
		{"cgroupMoves", config->enforcement.cgroup_moves},
		{"strangers", config->enforcement.strangers},
		{"irqMasks", config->enforcement.irq_masks},
	};
	struct json_object *array = build_array(build);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_object *object = build_object(build);

		build_put_text(build, object, "what", rows[i].what);
		build_put_text(build, object, "level", enforcement_name(rows[i].level));
		build_push(build, array, object);
	}
	return array;
}

struct json_object *view_policy(const struct config *config, const char *file,
				const struct policy *policy, const struct cpuset *reserved)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_text(&build, object, "file", file);
	build_put_text(&build, object, "mode", run_mode_name(config->mode));
	build_put_text(&build, object, "compatibility", compatibility_name(policy->compatibility));
	build_put_text(&build, object, "cpu_manager_policy", cpu_policy_name(policy->cpu));
	build_put(&build, object, "cpu_manager_policy_options",
		  cpu_options(&build, &policy->cpu_options));
	build_put_set(&build, object, "reserved_system_cpus",
		      policy->has_reserved_list ? &policy->reserved_list : NULL);
	build_put_int(&build, object, "reserved_mcpu", policy->reserved_mcpu);
	build_put_set(&build, object, "reserved", reserved);
	build_put_set(&build, object, "excluded", &policy->excluded);
	build_put_text(&build, object, "topology_manager_policy", align_policy_name(policy->align));
	build_put_text(&build, object, "topology_manager_scope",
		       policy->scope == ALIGN_SCOPE_POD ? "pod" : "container");
	build_put_bool(&build, object, "prefer_closest_numa_nodes", policy->prefer_closest_nodes);
	build_put_known(&build, object, "max_allowable_numa_nodes",
			policy->max_nodes ? (int64_t)policy->max_nodes : -1);
	build_put_text(&build, object, "memory_manager_policy",
		       policy->memory == MEMORY_POLICY_STATIC ? "Static" : "None");
	build_put(&build, object, "reserved_memory", memory_reservations(&build, policy));
	build_put_bool(&build, object, "pod_level_managers", policy->pod_level_managers);
	build_put_text(&build, object, "host_tasks", host_tasks_name(config_host_tasks(config)));
	build_put_text(&build, object, "partitions", partitions_name(config->partitions));
	build_put_text(&build, object, "interrupts", interrupts_name(config->interrupts));
	build_put_text(&build, object, "runtime_writes",
		       runtime_writes_name(config->runtime_writes));
	build_put(&build, object, "enforcement", enforcements(&build, config));
	return build_finish(&build, object);
}

/* --- refusals --------------------------------------------------------------------------------- */

static struct json_object *one_refusal(struct build *build, const struct refusal_row *row)
{
	const struct decision *decision = row->decision;
	struct json_object *object = build_object(build);

	build_put_text(build, object, "namespace", row->namespace);
	build_put_text(build, object, "name", row->name);
	build_put_text(build, object, "uid", row->uid);
	build_put_given(build, object, "container", decision->container);
	build_put_text(build, object, "refusal", refusal_name(decision->refusal));
	build_put_text(build, object, "reason", decision->reason);
	build_put_text(build, object, "message", decision->message);
	build_put_given(build, object, "suggestion", decision->suggestion);
	build_put_known(build, object, "wanted", decision->wanted);
	build_put_known(build, object, "available", decision->available);
	build_put_text(build, object, "file", row->file);
	build_put_known(build, object, "line", row->line ? (int64_t)row->line : -1);
	account_put_changes(build, object, decision);
	return object;
}

static struct json_object *all_refusals(struct build *build, const struct refusal_row *rows,
					size_t nr_rows)
{
	struct json_object *array = build_array(build);

	for (size_t i = 0; i < nr_rows; i++)
		build_push(build, array, one_refusal(build, &rows[i]));
	return array;
}

struct json_object *view_refusals(const struct refusal_row *rows, size_t nr_rows)
{
	struct build build = {0};
	struct json_object *array = all_refusals(&build, rows, nr_rows);

	return build_finish(&build, array);
}

/* --- simulate --------------------------------------------------------------------------------- */

/* Keys are `when` for the CPUs, and `when`_… for the rest. */
static void put_facts(struct build *build, struct json_object *object, const char *when,
		      const struct container_facts *facts)
{
	char key[32];

	build_put_set(build, object, when, facts ? &facts->cpus : NULL);
	snprintf(key, sizeof(key), "%s_mems", when);
	build_put_set(build, object, key, facts ? &facts->mems : NULL);
	snprintf(key, sizeof(key), "%s_isolation", when);
	build_put_text(build, object, key, facts ? facts->isolation : NULL);
	snprintf(key, sizeof(key), "%s_cpu_max", when);
	build_put_given(build, object, key, facts ? facts->cpu_max : NULL);
}

static struct json_object *changes(struct build *build, const struct simulate_row *row)
{
	struct json_object *array = build_array(build);

	for (size_t i = 0; i < row->nr_changes; i++) {
		const struct change_row *change = &row->changes[i];
		struct json_object *object = build_object(build);

		build_put_text(build, object, "namespace", change->namespace);
		build_put_text(build, object, "pod", change->pod);
		build_put_text(build, object, "container", change->container);
		put_facts(build, object, "before", change->before);
		put_facts(build, object, "after", change->after);
		build_push(build, array, object);
	}
	return array;
}

static struct json_object *expects(struct build *build, const struct simulate_row *row)
{
	struct json_object *array = build_array(build);

	for (size_t i = 0; i < row->nr_expects; i++) {
		const struct expect_row *expect = &row->expects[i];
		struct json_object *object = build_object(build);

		build_put_text(build, object, "file", expect->file);
		build_put_int(build, object, "line", expect->line);
		build_put_bool(build, object, "met", expect->met);
		build_put_text(build, object, "expect", expect->text);
		build_put_given(build, object, "found", expect->found);
		build_push(build, array, object);
	}
	return array;
}

struct json_object *view_ledger(const char *state)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_int(&build, object, "schema_version", PINFOLD_SCHEMA_VERSION);
	build_put_text(&build, object, "state", state);
	return build_finish(&build, object);
}

struct json_object *view_simulate(const struct ledger *ledger, const struct simulate_row *row)
{
	struct build build = {0};
	struct json_object *object = build_object(&build);

	build_put_int(&build, object, "schema_version", PINFOLD_SCHEMA_VERSION);
	build_put_text(&build, object, "topology", row->topology);
	put_machine(&build, object, ledger_topology(ledger));
	put_pools(&build, object, ledger);
	build_put(&build, object, "pods", all_pods(&build, ledger, NULL, 0));
	build_put(&build, object, "refusals",
		  all_refusals(&build, row->refusals, row->nr_refusals));
	build_put(&build, object, "changes", changes(&build, row));
	build_put(&build, object, "expects", expects(&build, row));
	build_put(&build, object, "nodes", numa_nodes(&build, ledger));
	build_put_capacity(&build, object, ledger);
	return build_finish(&build, object);
}
