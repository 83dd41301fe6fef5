// SPDX-License-Identifier: Apache-2.0
#include "format/node_topology.h"

#include <inttypes.h>
#include <stdio.h>

/* keys: of NodeResourceTopology, which Kubernetes defines */

#define ZONE_NAME_MAX 24

static void write_zone_name(char name[ZONE_NAME_MAX], const struct topology_node *node)
{
	snprintf(name, ZONE_NAME_MAX, "node-%" PRIu32, node->id);
}

static void write_attribute(struct emitter *emitter, const char *name, const char *value)
{
	emit_map(emitter, NULL);
	emit_text(emitter, "name", name);
	emit_text(emitter, "value", value);
	emit_close(emitter);
}

/* Quantities are text, because a number of JSON need not hold 64 bits. */
static void write_quantity(struct emitter *emitter, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	emit_text(emitter, key, text);
}

static void write_resource(struct emitter *emitter, const char *name, uint64_t capacity,
			   uint64_t allocatable, uint64_t available)
{
	emit_map(emitter, NULL);
	emit_text(emitter, "name", name);
	write_quantity(emitter, "capacity", capacity);
	write_quantity(emitter, "allocatable", allocatable);
	write_quantity(emitter, "available", available);
	emit_close(emitter);
}

/*
 * The CPUs of a zone. Reserved CPUs are never granted exclusively, even if the shared pool uses
 * them too, so no aligned container can get them. Those that are offline may come back.
 */
static void write_cpus(struct emitter *emitter, const struct ledger *ledger,
		       const struct cpuset *cpus)
{
	struct cpuset allocatable = *cpus, available, exclusive;

	cpuset_subtract(&allocatable, ledger_reserved(ledger));
	cpuset_subtract(&allocatable, &ledger_policy(ledger)->excluded);
	ledger_exclusive(ledger, &exclusive);
	available = allocatable;
	cpuset_subtract(&available, &exclusive);
	cpuset_subtract(&available, &ledger_cpu_manager(ledger)->withheld);
	write_resource(emitter, "cpu", cpuset_count(cpus), cpuset_count(&allocatable),
		       cpuset_count(&available));
}

static void write_memory(struct emitter *emitter, const struct ledger *ledger, uint32_t index)
{
	const struct memory_manager *manager = ledger_memory_manager(ledger);
	const struct memory_node *node = &ledger_memory_state(ledger)->nodes[index];

	memory_for_each_type(type, manager->types[index])
	{
		char name[MEMORY_NAME_MAX];

		memory_type_name(manager, type, name, sizeof(name));
		write_resource(emitter, name, manager->total_bytes[index][type],
			       manager->allocatable_bytes[index][type], node->free_bytes[type]);
	}
}

static void write_costs(struct emitter *emitter, const struct topology *topology, uint32_t index)
{
	const uint32_t nr = topology->nr_memory_nodes;

	if (!topology->distances)
		return;
	emit_list(emitter, "costs");
	for (uint32_t i = 0; i < nr; i++) {
		char name[ZONE_NAME_MAX];

		write_zone_name(name, &topology->memory_nodes[i]);
		emit_map(emitter, NULL);
		emit_text(emitter, "name", name);
		emit_number(emitter, "value", topology->distances[index * nr + i]);
		emit_close(emitter);
	}
	emit_close(emitter);
}

static void write_zone(struct emitter *emitter, const struct ledger *ledger, uint32_t index)
{
	const struct topology *topology = ledger_topology(ledger);
	char name[ZONE_NAME_MAX];

	write_zone_name(name, &topology->memory_nodes[index]);
	emit_map(emitter, NULL);
	emit_text(emitter, "name", name);
	emit_text(emitter, "type", "Node");
	write_costs(emitter, topology, index);
	emit_list(emitter, "resources");
	for (uint32_t i = 0; i < topology->nodes.nr; i++)
		if (topology->memory_index[i] == index)
			write_cpus(emitter, ledger, &topology->nodes.cpus[i]);
	write_memory(emitter, ledger, index);
	emit_close(emitter);
	emit_close(emitter);
}

void node_topology_write(const struct ledger *ledger, const char *node, enum emit_style style,
			 struct text *out)
{
	const struct policy *policy = ledger_policy(ledger);
	struct emitter emitter;

	emit_begin(&emitter, out, style);
	emit_text(&emitter, "apiVersion", "topology.node.k8s.io/v1alpha2");
	emit_text(&emitter, "kind", "NodeResourceTopology");
	emit_map(&emitter, "metadata");
	emit_text(&emitter, "name", node);
	emit_close(&emitter);
	/* Schedulers decide by these two; the values are the kubelet's. */
	emit_list(&emitter, "attributes");
	write_attribute(&emitter, "topologyManagerPolicy", align_policy_name(policy->align));
	write_attribute(&emitter, "topologyManagerScope", align_scope_name(policy->scope));
	emit_close(&emitter);
	emit_list(&emitter, "zones");
	for (uint32_t i = 0; i < ledger_topology(ledger)->nr_memory_nodes; i++)
		write_zone(&emitter, ledger, i);
	emit_close(&emitter);
	emit_end(&emitter);
}
