// SPDX-License-Identifier: Apache-2.0
/*
 * The part of the page of metrics that is about the machine's memory and about the agent itself:
 * what it can still count, and what it costs.
 */
#include <stdio.h>

#include "ctl/internal.h"
#include "ctl/measure_node.h"
#include "format/metrics.h"
#include "format/words.h"

/* --- memory of the NUMA nodes ------------------------------------------------------------------ */

static void write_memory_of(const struct ledger *ledger, uint32_t index, struct exposition *page)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_state *state = ledger_memory_state(ledger);
	char id[16];

	snprintf(id, sizeof(id), "%u", ledger_topology(ledger)->memory_nodes[index].id);
	memory_for_each_type(type, manager->types[index])
	{
		const struct memory_figures figures = memory_figures(manager, state, index, type);
		const struct {
			const char *name;
			uint64_t bytes;
		} states[] = {
			{"reserved", figures.reserved_bytes},
			{"granted", figures.granted_bytes},
			{"free", figures.free_bytes},
		};
		char name[MEMORY_NAME_MAX];

		memory_type_name(manager, type, name, sizeof(name));
		for (size_t i = 0; i < ARRAY_SIZE(states); i++)
			exposition_count(page,
					 LABELS({"numa_node", id}, {"type", name},
						{"state", states[i].name}),
					 states[i].bytes);
	}
}

static void write_missing_of(const struct ledger *ledger, uint32_t index,
			     const struct topology_node *now, struct exposition *page)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_node *node = &ledger_memory_state(ledger)->nodes[index];
	char id[16];

	snprintf(id, sizeof(id), "%u", now->id);
	memory_for_each_type(type, manager->types[index])
	{
		int64_t kernel = topology_free_hugepages(now, manager->page_bytes[type]);
		char name[MEMORY_NAME_MAX];

		if (kernel < 0)
			continue;
		memory_type_name(manager, type, name, sizeof(name));
		exposition_count(page, LABELS({"numa_node", id}, {"type", name}),
				 node->free_bytes[type] > (uint64_t)kernel
					 ? node->free_bytes[type] - (uint64_t)kernel
					 : 0);
	}
}

static bool has_hugepages(const struct ledger *ledger)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);

	for (uint32_t i = 0; i < ledger_topology(ledger)->nr_memory_nodes; i++)
		if (manager->types[i] & ~1U)
			return true;
	return false;
}

void measure_node_memory(struct controller *controller, struct exposition *page)
{
	const struct machine_port *machine = controller->ports.machine;
	const struct ledger *ledger = controller->ledger;
	const uint32_t nr = ledger_topology(ledger)->nr_memory_nodes;
	struct topology_node now[TOPOLOGY_MAX_NODES];

	/* without a memory manager there is no account of it */
	if (!ledger_memory_manager(ledger)->nr_types)
		return;
	exposition_family(page, &metric_families.numa_memory);
	for (uint32_t i = 0; i < nr; i++)
		write_memory_of(ledger, i, page);
	if (!machine || !has_hugepages(ledger))
		return;
	machine->free_pages(machine->self, now);
	exposition_family(page, &metric_families.hugepages_missing);
	for (uint32_t i = 0; i < nr; i++)
		write_missing_of(ledger, i, &now[i], page);
}

/* --- the agent ----------------------------------------------------------------------------------- */

void measure_node_losses(struct controller *controller, struct exposition *page)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	const struct noise_port *noise = controller->ports.noise;

	exposition_family(page, &metric_families.events_lost);
	for (enum event_counter what = EVENTS_LOST; what < EVENTS_NR; what++) {
		const char *map = event_counter_map(what);
		uint64_t nr;

		if (*map && !kernel->events_lost(kernel->self, what, &nr))
			exposition_count(page, LABELS({"map", map}), nr);
	}
	if (noise)
		exposition_count(page, LABELS({"map", "noise_strangers"}),
				 noise->untold(noise->self));
}

void measure_node_maps(struct controller *controller, struct exposition *page)
{
	const struct map_space *space = ctl_map_space(controller);

	if (space->nr)
		exposition_family(page, &metric_families.map_entries);
	for (uint32_t i = 0; i < space->nr; i++) {
		const struct map_space_row *row = &space->rows[i];

		exposition_count(page, LABELS({"map", row->name}, {"state", "used"}), row->nr_used);
		exposition_count(page, LABELS({"map", row->name}, {"state", "free"}),
				 row->max_entries > row->nr_used ? row->max_entries - row->nr_used
								 : 0);
	}
}

/* `space` is NULL if the observer is not loaded. */
static void write_not_measured(const struct controller *controller,
			       const struct observer_space *space, struct exposition *page)
{
	if (!space && !controller->ports.pressure)
		return;
	exposition_family(page, &metric_families.not_measured);
	if (space)
		exposition_count(page, LABELS({"what", "usage"}), space->nr_unmeasured);
	if (!controller->ports.pressure)
		return;
	exposition_count(page, LABELS({"what", "history"}), controller->samples.nr_left_out);
	exposition_count(page, LABELS({"what", "cpu_pressure"}),
			 controller->pressures.nr_without_cpus);
}

static void write_space(const struct observer_space *space, struct exposition *page)
{
	exposition_family(page, &metric_families.slots);
	exposition_count(page, LABELS({"state", "used"}), space->nr_used);
	exposition_count(page, LABELS({"state", "free"}), space->nr_slots - space->nr_used);
	exposition_family(page, &metric_families.observer_lost);
	exposition_count(page, LABELS({"what", "containers"}), space->nr_refused);
	exposition_count(page, LABELS({"what", "tasks"}), space->nr_forgotten);
	exposition_count(page, LABELS({"what", "histograms"}), space->nr_wrapped);
}

void measure_node_observer(struct controller *controller, struct exposition *page)
{
	const struct kernel_port *kernel = controller->ports.kernel;
	struct observer_space space;
	const bool is_loaded = kernel && !kernel->observer_space(kernel->self, &space);

	if (is_loaded)
		write_space(&space, page);
	write_not_measured(controller, is_loaded ? &space : NULL, page);
}

void measure_node_agent(struct controller *controller, struct exposition *page)
{
	const struct process_port *process = controller->ports.process;
	struct process_usage usage;

	if (!process || process->usage(process->self, &usage))
		return;
	exposition_family(page, &metric_families.process_cpu);
	exposition_seconds(page, NO_LABELS, usage.cpu_ns);
	exposition_family(page, &metric_families.process_resident);
	exposition_count(page, NO_LABELS, usage.resident_bytes);
	exposition_family(page, &metric_families.process_virtual);
	exposition_count(page, NO_LABELS, usage.virtual_bytes);
	exposition_family(page, &metric_families.process_open_fds);
	exposition_count(page, NO_LABELS, usage.nr_fds);
	exposition_family(page, &metric_families.process_max_fds);
	exposition_count(page, NO_LABELS, usage.max_fds);
	exposition_family(page, &metric_families.process_start);
	exposition_seconds(page, NO_LABELS, usage.started_ns);
}
