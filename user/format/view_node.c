// SPDX-License-Identifier: Apache-2.0
/* The machine: its CPUs and who holds them, its pools, and the health of the agent. */
#include <string.h>

#include <pinfold/names.h>

#include "format/object_table.h"
#include "format/view_private.h"

/* --- CPUs ------------------------------------------------------------------------------------- */

static const struct field_desc cpu_fields[] = {
	COUNT(view_cpu, cpu, NULL, 0, "Id of the CPU."),
	COUNT(view_cpu, core, NULL, 0, "Its core."),
	COUNT(view_cpu, uncore, NULL, 0, "Its last-level cache."),
	COUNT(view_cpu, numa, NULL, 0, "Its NUMA node."),
	COUNT(view_cpu, socket, NULL, 0, "Its package."),
	WORD(view_cpu, state, NULL, 0, "Its use.", [CPU_RESERVED] = "reserved",
	     [CPU_SHARED] = "shared", [CPU_EXCLUSIVE] = "exclusive",
	     [CPU_POD_SHARED] = "pod_shared", [CPU_EXCLUDED] = "excluded"),
	ANSWER(view_cpu, in_shared_pool, "pool", 0, "Containers without exclusive CPUs run here."),
	TEXT(view_cpu, owner, NULL, OR_NULL,
	     "namespace/pod/container that holds it, or namespace/pod. In mode guard and observe it "
	     "is the one to which the kubelet gave the CPU, with the pod's uid in place of "
	     "namespace/pod where the names are unknown."),
	TEXT(view_cpu, owner_uid, NULL, OR_NULL | HIDDEN, "uid of the pod that holds it."),
};
DESCRIBE(view_cpu, cpu_fields, "cpu", "A CPU, its location in the machine and its owner.",
	 .is_list = true, .layout = OBJECT_TABLE);

/* `rows` by the id of the CPU. One pass per pod, so that 1024 CPUs x 250 pods stay cheap. */
static void mark(struct view_cpu *rows, const struct topology *topology, const struct cpuset *cpus,
		 enum cpu_state state, const char *owner, const char *owner_uid)
{
	cpuset_for_each (cpu, cpus) {
		if (cpu >= topology->nr_cpu_ids)
			continue;
		rows[cpu].state = state;
		rows[cpu].owner = owner;
		rows[cpu].owner_uid = owner_uid;
	}
}

static void mark_pod(struct arena *arena, struct view_cpu *rows, const struct topology *topology,
		     const struct ledger_pod *pod)
{
	const char *uid = pod->spec->uid;
	const char *name = arena_printf(arena, "%s/%s", pod->spec->namespace, pod->spec->name);

	mark(rows, topology, pod->held, CPU_EXCLUSIVE, name, uid);
	if (pod->has_bubble)
		mark(rows, topology, pod->bubble, CPU_POD_SHARED, name, uid);
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		if (pod->grants[i].isolation == ISOLATION_POD)
			mark(rows, topology, pod->grants[i].cpus, CPU_POD_SHARED, name, uid);
	}
	for (uint32_t i = 0; i < pod->nr_grants; i++) {
		const struct grant *grant = &pod->grants[i];

		if (grant->isolation == ISOLATION_CONTAINER)
			mark(rows, topology, grant->cpus, CPU_EXCLUSIVE,
			     arena_printf(arena, "%s/%s", name, grant->container), uid);
	}
}

/* By the id of the CPU, with what the ledger says of each. */
static struct view_cpu *cpu_rows(struct arena *arena, const struct ledger *ledger)
{
	const struct topology *topology = ledger_topology(ledger);
	struct view_cpu *rows = arena_array(arena, topology->nr_cpu_ids + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	mark(rows, topology, &topology->all, CPU_SHARED, NULL, NULL);
	mark(rows, topology, &ledger_policy(ledger)->excluded, CPU_EXCLUDED, NULL, NULL);
	mark(rows, topology, ledger_reserved(ledger), CPU_RESERVED, NULL, NULL);
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		mark_pod(arena, rows, topology, ledger_pod_at(ledger, i));
	return rows;
}

static struct json_object *finish_cpus(struct arena *arena, const struct topology *topology,
				       struct view_cpu *rows, const struct cpuset *shared)
{
	size_t nr = 0;

	/* ids may have holes: what is there moves together, nr never passes the id */
	cpuset_for_each (cpu, &topology->all) {
		struct view_cpu row = rows[cpu];

		row.cpu = cpu;
		row.core = topology->cores.ids[topology->core_of[cpu]];
		row.uncore = topology->uncores.ids[topology->uncore_of[cpu]];
		row.numa = topology->nodes.ids[topology->node_of[cpu]];
		row.socket = topology->sockets.ids[topology->socket_of[cpu]];
		row.in_shared_pool = cpuset_has(shared, cpu);
		rows[nr++] = row;
	}
	return view_finish(arena, &view_cpu_desc, rows, nr);
}

struct json_object *view_cpus(const struct ledger *ledger)
{
	struct arena arena cleanup_arena = {0};
	struct view_cpu *rows = cpu_rows(&arena, ledger);

	return rows ? finish_cpus(&arena, ledger_topology(ledger), rows, ledger_shared_pool(ledger))
		    : NULL;
}

static const char *claim_owner(struct arena *arena, const struct cpu_claim *claim)
{
	const char *pod = claim->uid;

	if (claim->pod)
		pod = arena_printf(arena, "%s/%s", claim->namespace, claim->pod);
	return *claim->container ? arena_printf(arena, "%s/%s", pod, claim->container) : pod;
}

struct json_object *view_kubelet_cpus(const struct ledger *ledger, const struct cpu_claim *claims,
				      size_t nr_claims, const struct cpuset *shared)
{
	const struct topology *topology = ledger_topology(ledger);
	struct arena arena cleanup_arena = {0};
	struct view_cpu *rows = cpu_rows(&arena, ledger);

	if (!rows)
		return NULL;
	for (size_t i = 0; i < nr_claims; i++) {
		const struct cpu_claim *claim = &claims[i];

		mark(rows, topology, claim->cpus,
		     *claim->container ? CPU_EXCLUSIVE : CPU_POD_SHARED, claim_owner(&arena, claim),
		     claim->uid);
	}
	return finish_cpus(&arena, topology, rows, shared);
}

/* --- what node and simulate share ------------------------------------------------------------- */

static const struct field_desc numa_fields[] = {
	COUNT(numa_row, numa, "numa", 0, "Id of the NUMA node."),
	BYTES(numa_row, memory_bytes, "memory", 0, "Memory, hugepages included."),
	CPUS(numa_row, cpus, NULL, 0, "All its CPUs."),
	CPUS(numa_row, reserved, NULL, 0, "CPUs kept for the system."),
	CPUS(numa_row, shared, NULL, 0, "CPUs in the shared pool."),
	CPUS(numa_row, exclusive, NULL, 0, "CPUs granted exclusively."),
};
DESCRIBE_PART(numa_row, numa_fields, .layout = OBJECT_TABLE);

static const struct field_desc machine_fields[] = {
	COUNT(machine_row, cpus, NULL, LINE, "Hardware threads."),
	COUNT(machine_row, cores, NULL, 0, "Cores (SMT groups)."),
	COUNT(machine_row, uncores, "uncore caches", 0, "Last-level caches."),
	COUNT(machine_row, numa_nodes, "numa nodes", 0, "NUMA nodes with CPUs."),
	COUNT(machine_row, sockets, NULL, 0, "Packages."),
	CPUS(machine_row, shared_pool, "shared pool", LINE,
	     "CPUs of containers without exclusive ones."),
	CPUS(machine_row, reserved, NULL, LINE,
	     "CPUs kept for the system; part of the shared pool unless the reservation is strict."),
	CPUS(machine_row, exclusive, NULL, 0, "All CPUs granted exclusively."),
	CPUS(machine_row, excluded, NULL, 0,
	     "CPUs that are never granted: isolcpus= and nohz_full= unless listed."),
};
DESCRIBE_PART(machine_row, machine_fields);

const struct cpuset *common_cpus(struct arena *arena, const struct cpuset *a,
				 const struct cpuset *b)
{
	struct cpuset cpus = *a;

	cpuset_intersect(&cpus, b);
	return arena_copy(arena, &cpus, sizeof(cpus));
}

struct machine_row machine_of(struct arena *arena, const struct ledger *ledger)
{
	const struct topology *topology = ledger_topology(ledger);
	struct cpuset exclusive;

	ledger_exclusive(ledger, &exclusive);
	return (struct machine_row){
		.cpus = cpuset_count(&topology->all),
		.cores = topology->cores.nr,
		.uncores = topology->uncores.nr,
		.numa_nodes = topology->nodes.nr,
		.sockets = topology->sockets.nr,
		.shared_pool = ledger_shared_pool(ledger),
		.reserved = ledger_reserved(ledger),
		.exclusive = arena_copy(arena, &exclusive, sizeof(exclusive)),
		.excluded = &ledger_policy(ledger)->excluded,
	};
}

/* Per NUMA node: what it has and who holds it. */
struct numa_row *numa_rows(struct arena *arena, const struct ledger *ledger, size_t *ret_nr)
{
	static const struct cpuset nothing = CPUSET_EMPTY;
	const struct topology *topology = ledger_topology(ledger);
	struct numa_row *rows = arena_array(arena, topology->nr_memory_nodes, sizeof(*rows));
	struct cpuset exclusive;

	ledger_exclusive(ledger, &exclusive);
	for (uint32_t i = 0; rows && i < topology->nr_memory_nodes; i++) {
		const struct topology_node *node = &topology->memory_nodes[i];
		const struct cpuset *cpus = &nothing;

		for (uint32_t n = 0; n < topology->nodes.nr; n++) {
			if (topology->nodes.ids[n] == node->id)
				cpus = &topology->nodes.cpus[n];
		}
		rows[i] = (struct numa_row){
			.numa = node->id,
			.memory_bytes = node->memory_bytes,
			.cpus = cpus,
			.reserved = common_cpus(arena, cpus, ledger_reserved(ledger)),
			.shared = common_cpus(arena, cpus, ledger_shared_pool(ledger)),
			.exclusive = common_cpus(arena, cpus, &exclusive),
		};
	}
	*ret_nr = rows ? topology->nr_memory_nodes : 0;
	return rows;
}

/* --- the node --------------------------------------------------------------------------------- */

static const struct field_desc finding_fields[] = {
	NAME_AS(finding_row, kind, "name", "finding", HEAD, "A short, stable name.", finding_name,
		FINDING_NR),
	TEXT(finding_row, message, NULL, BARE, "The condition and its cause."),
	TEXT(finding_row, remedy, NULL, OR_NULL | LINE, "What to do about it."),
};
DESCRIBE_PART(finding_row, finding_fields);

static const struct field_desc node_fields[] = {
	SCHEMA_VERSION(view_node),
	WORD(view_node, source, "node  source", HEAD,
	     "The source of this information: the running agent, the state file if no agent "
	     "answers, the options, or a simulation.",
	     "agent", "state", "options", "simulate"),
	TEXT(view_node, mode, NULL, HEAD | OR_NULL, "allocate, guard or observe."),
	ANSWER(view_node, ready, NULL, HEAD | OR_NULL,
	       "Everything that the agent decided is in force, according to its last read of the "
	       "kernel."),
	TEXT(view_node, not_ready, "not ready", LINE | OR_NULL,
	     "Why it is not ready, as in /readyz."),
	TEXT(view_node, kernel, NULL, HEAD | OR_NULL, "Kernel release."),
	PART(view_node, machine, machine_row),
	COUNT(view_node, pods, NULL, LINE, "Pods in the ledger."),
	COUNT(view_node, containers, NULL, 0, "Containers in the ledger."),
	TEXT(view_node, hierarchy, NULL, LINE | OR_NULL,
	     "The program that makes the cgroups: systemd or the agent itself (cgroupfs)."),
	TEXT(view_node, workload_root, "workload root", OR_NULL, "The cgroup above all pods."),
	TEXT(view_node, partition, NULL, OR_NULL,
	     "cpuset.cpus.partition of the workload root, as read back from the kernel."),
	TEXT(view_node, guard, NULL, OR_NULL,
	     "The mode in force in the kernel if the last self-test was denied; otherwise "
	     "absent, partial or unknown."),
	TEXT(view_node, tiers, NULL, OR_NULL, "Mechanisms in force."),
	LIST(view_node, nodes, numa_row, NULL, BARE, "Per NUMA node."),
	LIST(view_node, findings, finding_row, NULL, BARE,
	     "Conditions that an operator should "
	     "know about."),
};
DESCRIBE(view_node, node_fields, "node",
	 "The machine, its pools, the mode and the health of the agent.");

struct json_object *view_node(const struct ledger *ledger, const struct view_node *said)
{
	struct arena arena cleanup_arena = {0};
	struct view_node node = *said;

	node.schema_version = PINFOLD_SCHEMA_VERSION;
	node.not_ready = given(said->not_ready);
	node.machine = machine_of(&arena, ledger);
	node.pods = ledger_nr_pods(ledger);
	node.containers = count_containers(ledger);
	node.nodes = numa_rows(&arena, ledger, &node.nr_nodes);
	return view_finish(&arena, &view_node_desc, &node, 1);
}
