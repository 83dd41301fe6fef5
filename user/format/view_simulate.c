// SPDX-License-Identifier: Apache-2.0
/* What would happen: the machine afterwards, what changes on it, and what still fits. */
#include <pinfold/names.h>

#include "core/capacity/capacity.h"
#include "format/object_table.h"
#include "format/view_private.h"

/* --- changes, expectations -------------------------------------------------------------------- */

struct moved_row {
	const char *namespace, *pod, *container;
	const struct cpuset *before, *after, *before_mems, *after_mems;
	const char *before_isolation, *after_isolation, *before_cpu_max, *after_cpu_max;
};

static const struct field_desc moved_fields[] = {
	TEXT(moved_row, namespace, NULL, 0, "Namespace of the pod."),
	TEXT(moved_row, pod, NULL, SLASH, "Name of the pod."),
	TEXT(moved_row, container, NULL, SLASH, "Name of the container."),
	CPUS(moved_row, before, NULL, OR_NULL, "Its CPUs before; null = none."),
	CPUS(moved_row, after, NULL, OR_NULL, "Its CPUs after; null = none."),
	CPUS(moved_row, before_mems, "mems before", OR_NULL,
	     "NUMA nodes whose memory it could use."),
	CPUS(moved_row, after_mems, "mems after", OR_NULL, "The same after."),
	TEXT(moved_row, before_isolation, "isolation before", OR_NULL,
	     "Isolation of the CPUs before: exclusive (container), the pod's pool (pod) or the "
	     "node's (host)."),
	TEXT(moved_row, after_isolation, "isolation after", OR_NULL, "The same after."),
	TEXT(moved_row, before_cpu_max, "cpu.max before", OR_NULL, "Its quota and period before."),
	TEXT(moved_row, after_cpu_max, "cpu.max after", OR_NULL, "The same after."),
};
static DESCRIBE_PART(moved_row, moved_fields, .layout = OBJECT_TABLE);

static struct moved_row moved_of(const struct container_change *change)
{
	struct moved_row row = {
		.namespace = change->namespace, .pod = change->pod, .container = change->container};

	if (change->before) {
		row.before = &change->before->cpus;
		row.before_mems = &change->before->mems;
		row.before_isolation = change->before->isolation;
		row.before_cpu_max = given(change->before->cpu_max);
	}
	if (change->after) {
		row.after = &change->after->cpus;
		row.after_mems = &change->after->mems;
		row.after_isolation = change->after->isolation;
		row.after_cpu_max = given(change->after->cpu_max);
	}
	return row;
}

static const struct field_desc expect_fields[] = {
	TEXT(expect_row, file, NULL, 0, "The script."),
	COUNT(expect_row, line, NULL, 0, "Line in it."),
	ANSWER(expect_row, met, NULL, 0, "It holds."),
	TEXT(expect_row, expect, NULL, 0, "What was expected."),
	TEXT(expect_row, found, NULL, OR_NULL, "What was found instead."),
};
static DESCRIBE_PART(expect_row, expect_fields, .layout = OBJECT_TABLE);

/* --- what still fits -------------------------------------------------------------------------- */

static const struct field_desc capacity_fields[] = {
	COUNT(capacity, largest_request, "largest aligned request", LINE,
	      "The most exclusive CPUs a container can still get from one NUMA node."),
	COUNT(capacity, conceivable_request, "if all free CPUs were together", 0,
	      "The same if the free CPUs were gathered on as few nodes as possible."),
	COUNT(capacity, fragmentation_percent, "fragmentation percent", 0,
	      "By how much the former falls short of the latter."),
};
static DESCRIBE_PART(capacity, capacity_fields);

static const struct field_desc capacity_node_fields[] = {
	COUNT_AS(capacity_node, id, "numa", "numa", 0, "Id of the NUMA node."),
	COUNT(capacity_node, nr_cpus, "cpus", 0, "Number of its CPUs."),
	COUNT(capacity_node, nr_reserved, "reserved", 0, "Number of CPUs kept for the system."),
	COUNT(capacity_node, nr_shared, "shared", 0, "Number of CPUs in the shared pool."),
	COUNT(capacity_node, nr_exclusive, "exclusive", 0, "Number of CPUs granted exclusively."),
	COUNT(capacity_node, nr_free_cores, "free cores", 0,
	      "Number of cores that could be granted with all their threads."),
	COUNT(capacity_node, largest_request, "largest request", 0,
	      "The most exclusive CPUs a container can still get from this node alone."),
};
static DESCRIBE_PART(capacity_node, capacity_node_fields, .layout = OBJECT_TABLE);

struct memory_row {
	uint32_t numa;
	const char *type;
	/* < 0 = not known: in kubelet-1.36 mode a figure may have wrapped around */
	int64_t total_bytes, reserved_bytes, allocated_bytes, free_bytes;
};

static const struct field_desc memory_fields[] = {
	COUNT(memory_row, numa, "memory numa", 0, "Id of the NUMA node."),
	TEXT(memory_row, type, NULL, 0, "memory, or hugepages- and their size."),
	BYTES(memory_row, total_bytes, "total", 0,
	      "The node's total; for memory, including huge pages."),
	BYTES(memory_row, reserved_bytes, "reserved", OR_NULL,
	      "Kept for the system; null = memory is not pinned, which also applies to those "
	      "below."),
	BYTES(memory_row, allocated_bytes, "allocated", OR_NULL, "Granted to pods."),
	BYTES(memory_row, free_bytes, "free", OR_NULL, "Available for grants."),
};
static DESCRIBE_PART(memory_row, memory_fields, .layout = OBJECT_TABLE);

/* --- simulate --------------------------------------------------------------------------------- */

struct view_simulate {
	int schema_version;
	const char *topology;
	struct machine_row machine;
	struct capacity capacity;
	struct view_pod *pods;
	size_t nr_pods;
	struct view_refusal *refusals;
	size_t nr_refusals;
	struct moved_row *changes;
	size_t nr_changes;
	const struct expect_row *expects;
	size_t nr_expects;
	struct numa_row *nodes;
	size_t nr_nodes;
	const struct capacity_node *totals;
	size_t nr_totals;
	struct memory_row *memory;
	size_t nr_memory;
};

static const struct field_desc simulate_fields[] = {
	SCHEMA_VERSION(view_simulate),
	TEXT(view_simulate, topology, "simulated", HEAD,
	     "The machine, as given on the command line."),
	PART(view_simulate, machine, machine_row),
	PART(view_simulate, capacity, capacity),
	LIST(view_simulate, pods, view_pod, NULL, BARE, "Pods admitted."),
	LIST(view_simulate, refusals, view_refusal, NULL, BARE, "Pods refused."),
	LIST(view_simulate, changes, moved_row, NULL, 0,
	     "Existing containers that the steps would change."),
	LIST(view_simulate, expects, expect_row, NULL, 0, "Expectations of the script."),
	LIST(view_simulate, nodes, numa_row, NULL, BARE, "Per NUMA node."),
	LIST(view_simulate, totals, capacity_node, NULL, BARE, "The same in numbers."),
	LIST(view_simulate, memory, memory_row, NULL, BARE, "Its memory by type."),
};
DESCRIBE(view_simulate, simulate_fields, "simulate", "The predicted effect of changes.");

static size_t fill_pinned(struct arena *arena, const struct ledger *ledger, uint32_t index,
			  struct memory_row *rows)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_node *node = &ledger_memory_state(ledger)->nodes[index];
	size_t nr = 0;

	for (uint32_t type = 0; type < manager->nr_types; type++) {
		if (!(manager->types[index] >> type & 1))
			continue;
		rows[nr++] = (struct memory_row){
			.numa = manager->topology->memory_nodes[index].id,
			.type = memory_type(arena, manager, type),
			.total_bytes = (int64_t)manager->total_bytes[index][type],
			.reserved_bytes = (int64_t)manager->reserved_bytes[index][type],
			.allocated_bytes = (int64_t)(manager->allocatable_bytes[index][type] -
						     node->free_bytes[type]),
			.free_bytes = (int64_t)node->free_bytes[type],
		};
	}
	return nr;
}

/* Nobody keeps a book of it, so there are totals alone. */
static size_t fill_unpinned(struct arena *arena, const struct topology_node *node,
			    struct memory_row *rows)
{
	for (uint32_t i = 0; i <= node->nr_hugepages; i++) {
		const struct hugepages *size = i ? &node->hugepages[i - 1] : NULL;
		const uint64_t bytes = size ? size->total_pages * size->size_bytes
					    : node->memory_bytes;

		rows[i] = (struct memory_row){
			.numa = node->id,
			.type = memory_name(arena, size ? size->size_bytes : 0),
			.total_bytes = (int64_t)bytes,
			.reserved_bytes = -1,
			.allocated_bytes = -1,
			.free_bytes = -1,
		};
	}
	return node->nr_hugepages + 1;
}

static void fill_memory(struct arena *arena, const struct ledger *ledger,
			struct view_simulate *simulate)
{
	const struct topology *topology = ledger_topology(ledger);
	const bool is_pinned = ledger_policy(ledger)->memory == MEMORY_POLICY_STATIC;
	struct memory_row *rows =
		arena_array(arena, topology->nr_memory_nodes * MEMORY_MAX_TYPES, sizeof(*rows));

	simulate->memory = rows;
	for (uint32_t i = 0; rows && i < topology->nr_memory_nodes; i++)
		simulate->nr_memory +=
			is_pinned ? fill_pinned(arena, ledger, i, &rows[simulate->nr_memory])
				  : fill_unpinned(arena, &topology->memory_nodes[i],
						  &rows[simulate->nr_memory]);
}

struct json_object *view_simulate(const struct ledger *ledger, const struct simulate_row *row)
{
	struct arena arena cleanup_arena = {0};
	struct view_simulate simulate = {
		.schema_version = PINFOLD_SCHEMA_VERSION,
		.topology = row->topology,
		.machine = machine_of(&arena, ledger),
		.changes = arena_array(&arena, row->nr_changes, sizeof(*simulate.changes)),
		.expects = row->expects,
		.nr_expects = row->nr_expects,
		.totals = simulate.capacity.nodes,
	};

	capacity_measure(ledger, &simulate.capacity);
	simulate.nr_totals = simulate.capacity.nr_nodes;
	simulate.pods = pod_rows(&arena, ledger, NULL, &simulate.nr_pods);
	simulate.refusals =
		refusal_rows(&arena, row->refusals, row->nr_refusals, &simulate.nr_refusals);
	for (size_t i = 0; simulate.changes && i < row->nr_changes; i++)
		simulate.changes[simulate.nr_changes++] = moved_of(&row->changes[i]);
	simulate.nodes = numa_rows(&arena, ledger, &simulate.nr_nodes);
	fill_memory(&arena, ledger, &simulate);
	return view_finish(&arena, &view_simulate_desc, &simulate, 1);
}
