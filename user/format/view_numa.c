// SPDX-License-Identifier: Apache-2.0
/* The NUMA nodes: who holds and awaits their CPUs and memory, and how far they are from each other. */
#include "core/capacity/capacity.h"
#include "format/object_table.h"
#include "format/view_private.h"

static const struct field_desc memory_fields[] = {
	TEXT(numa_memory_row, type, NULL, 0, "memory, or hugepages-SIZE."),
	BYTES(numa_memory_row, total_bytes, "total", 0,
	      "What the node has. That of ordinary memory includes the huge pages."),
	BYTES(numa_memory_row, reserved_bytes, "reserved", 0, "Kept for the system."),
	BYTES(numa_memory_row, granted_bytes, "granted", 0,
	      "Promised to containers; always 0 without a memory manager policy."),
	BYTES(numa_memory_row, free_bytes, "free", 0, "What can still be promised."),
	BYTES(numa_memory_row, kernel_free_bytes, "free in the kernel", OR_NULL,
	      "Huge pages that nobody uses now; null for ordinary memory, and without an agent."),
	BYTES(numa_memory_row, missing_bytes, "missing", OR_NULL,
	      "Huge pages that could be promised, but are used by others; null as above."),
};
static DESCRIBE_PART(numa_memory_row, memory_fields, .layout = OBJECT_TABLE);

static const struct field_desc distance_fields[] = {
	COUNT(view_numa_distance, numa, NULL, 0, "The other NUMA node, or the same."),
	COUNT(view_numa_distance, distance, NULL, 0,
	      "How far its memory is, by the firmware: 10 is the node itself, 20 is twice as far."),
};
DESCRIBE_PART(view_numa_distance, distance_fields);

static const struct field_desc container_fields[] = {
	TEXT(view_numa_container, namespace, NULL, 0, "Namespace of the pod."),
	TEXT(view_numa_container, pod, NULL, 0, "Name of the pod."),
	TEXT(view_numa_container, container, NULL, 0, "Name of the container."),
	ENUM(view_numa_container, isolation, NULL, 0, ISOLATION_HELP, isolation_name, ISOLATION_NR),
	CPUS(view_numa_container, cpus, NULL, 0, "Its CPUs on the node."),
	ANSWER(view_numa_container, memory, NULL, 0,
	       "Whether memory of the node was granted to it."),
};
static DESCRIBE_PART(view_numa_container, container_fields, .layout = OBJECT_TABLE);

static const struct field_desc numa_fields[] = {
	COUNT(view_numa, numa, NULL, HEAD, "Id of the NUMA node."),
	CPUS(view_numa, cpus, NULL, HEAD, "All its CPUs; none for a node that has only memory."),
	CPUS(view_numa, reserved, NULL, LINE, "CPUs kept for the system."),
	CPUS(view_numa, shared, NULL, 0, "CPUs in the shared pool."),
	CPUS(view_numa, exclusive, NULL, 0, "CPUs granted exclusively."),
	COUNT(view_numa, free_cores, "free cores", LINE, "Cores whose CPUs could all be granted."),
	COUNT(view_numa, largest_request, "largest request", 0,
	      "The most exclusive CPUs that one container can still get from this node alone; memory "
	      "is ignored."),
	SECONDS(view_numa, wait_ns, "wait_seconds", "waited", LINE | OR_NULL,
		"How long tasks of containers were runnable on its CPUs while others had them, since the "
		"agent's start; tasks that wait at the same time add up."),
	PERCENT(view_numa, wait_percent, "wait rate", OR_NULL,
		"What of that fell into the window, as a share of the window: 150 % are three tasks that "
		"waited half of the time."),
	SECONDS(view_numa, window_ns, "window_seconds", "window", OR_NULL,
		"Length of the window, which ended at most four seconds ago: usually 10 to 20 seconds."),
	LIST(view_numa, memory, numa_memory_row, NULL, BARE, "Its memory, by type."),
	LIST(view_numa, containers, view_numa_container, "containers", 0,
	     "Containers that were granted CPUs or memory of the node. One on several nodes is on each; "
	     "one on the node's shared pool without granted memory is on none."),
	LIST(view_numa, distances, view_numa_distance, NULL, HIDDEN,
	     "To each node, by ascending id; empty if the firmware does not say."),
};
DESCRIBE(view_numa, numa_fields, "numa", "A NUMA node, and who holds its CPUs and memory.",
	 .is_list = true);

/* `now` NULL = the kernel was not asked. */
static void fill_memory(struct arena *arena, const struct ledger *ledger, uint32_t index,
			const struct topology_node *now, struct view_numa *row)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_state *state = ledger_memory_state(ledger);
	struct numa_memory_row *rows = arena_array(arena, manager->nr_types, sizeof(*rows));

	row->memory = rows;
	memory_for_each_type(type, rows ? manager->types[index] : 0)
	{
		struct numa_memory_row *memory = &rows[row->nr_memory++];
		const struct memory_figures figures = memory_figures(manager, state, index, type);
		const int64_t kernel = now ? topology_free_hugepages(now, manager->page_bytes[type])
					   : -1;

		*memory = (struct numa_memory_row){
			.type = memory_type(arena, manager, type),
			.total_bytes = manager->total_bytes[index][type],
			.reserved_bytes = figures.reserved_bytes,
			.granted_bytes = figures.granted_bytes,
			.free_bytes = figures.free_bytes,
			.kernel_free_bytes = kernel,
			.missing_bytes = kernel,
		};
		if (kernel >= 0)
			memory->missing_bytes = (uint64_t)kernel < memory->free_bytes
							? (int64_t)memory->free_bytes - kernel
							: 0;
	}
}

static void fill_distances(struct arena *arena, const struct topology *topology, uint32_t index,
			   struct view_numa *row)
{
	const uint32_t nr = topology->nr_memory_nodes;
	struct view_numa_distance *rows = arena_array(arena, nr, sizeof(*rows));

	if (!rows || !topology->distances)
		return;
	for (uint32_t i = 0; i < nr; i++)
		rows[i] = (struct view_numa_distance){
			.numa = topology->memory_nodes[i].id,
			.distance = topology->distances[index * nr + i],
		};
	row->distances = rows;
	row->nr_distances = nr;
}

static bool is_on(const struct grant *grant, const struct cpuset *cpus, uint32_t index)
{
	return grant->mems >> index & 1 || cpuset_count_common(grant->cpus, cpus);
}

static size_t count_on(const struct ledger *ledger, const struct cpuset *cpus, uint32_t index)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		for (uint32_t j = 0; j < pod->nr_grants; j++)
			nr += is_on(&pod->grants[j], cpus, index);
	}
	return nr;
}

static void fill_containers(struct arena *arena, const struct ledger *ledger, uint32_t index,
			    struct view_numa *row)
{
	struct view_numa_container *rows =
		arena_array(arena, count_on(ledger, row->cpus, index), sizeof(*rows));

	row->containers = rows;
	for (uint32_t i = 0; rows && i < ledger_nr_pods(ledger); i++) {
		const struct ledger_pod *pod = ledger_pod_at(ledger, i);

		for (uint32_t j = 0; j < pod->nr_grants; j++) {
			const struct grant *grant = &pod->grants[j];

			if (is_on(grant, row->cpus, index))
				rows[row->nr_containers++] = (struct view_numa_container){
					.namespace = pod->spec->namespace,
					.pod = pod->spec->name,
					.container = grant->container,
					.isolation = grant->isolation,
					.cpus = common_cpus(arena, grant->cpus, row->cpus),
					.memory = grant->mems >> index & 1,
				};
		}
	}
}

/* `waits` is by index of the nodes that have CPUs; NULL = nobody counts. */
static void fill_waits(const struct topology *topology, const struct numa_wait *waits,
		       struct view_numa *row)
{
	row->wait_ns = row->window_ns = row->wait_percent = -1;
	for (uint32_t i = 0; waits && i < topology->nodes.nr; i++) {
		const struct numa_wait *wait = &waits[i];

		if (topology->nodes.ids[i] != row->numa)
			continue;
		row->wait_ns = wait->total_ns;
		row->window_ns = wait->window_ns;
		if (wait->window_ns > 0)
			row->wait_percent = (int)((double)wait->window_wait_ns /
							  (double)wait->window_ns * 10000 +
						  0.5);
	}
}

static void fill_capacity(const struct capacity *capacity, struct view_numa *row)
{
	for (uint32_t i = 0; i < capacity->nr_nodes; i++)
		if (capacity->nodes[i].id == row->numa) {
			row->free_cores = capacity->nodes[i].nr_free_cores;
			row->largest_request = capacity->nodes[i].largest_request;
		}
}

struct json_object *view_numas(const struct ledger *ledger, const struct topology_node *now,
			       const struct numa_wait *waits)
{
	const struct topology *topology = ledger_topology(ledger);
	struct arena arena cleanup_arena = {0};
	struct view_numa *rows = arena_array(&arena, topology->nr_memory_nodes + 1, sizeof(*rows));
	struct capacity capacity;
	const struct numa_row *nodes;
	size_t nr;

	nodes = numa_rows(&arena, ledger, &nr);
	if (!rows || !nodes)
		return NULL;
	capacity_measure(ledger, &capacity);
	for (uint32_t i = 0; i < nr; i++) {
		rows[i] = (struct view_numa){
			.numa = nodes[i].numa,
			.cpus = nodes[i].cpus,
			.reserved = nodes[i].reserved,
			.shared = nodes[i].shared,
			.exclusive = nodes[i].exclusive,
		};
		fill_capacity(&capacity, &rows[i]);
		fill_memory(&arena, ledger, i, now ? &now[i] : NULL, &rows[i]);
		fill_waits(topology, waits, &rows[i]);
		fill_distances(&arena, topology, i, &rows[i]);
		fill_containers(&arena, ledger, i, &rows[i]);
	}
	return view_finish(&arena, &view_numa_desc, rows, nr);
}
