// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger's content to text. Its counterpart is state_read.c; a field
 * written here and not read there fails the round trip of the unit test.
 */
#include "format/state.h"

#include <inttypes.h>

#include "format/config.h"
#include "format/resources.h"
#include "format/state_private.h"
#include "lib/hash.h"

/* keys: of the state file, whose versions outlive those of the JSON */

uint64_t state_checksum(const char *data, size_t len)
{
	return hash_add(HASH_START, data, len);
}

static void write_container(struct emitter *emitter, const struct topology *topology,
			    const struct container_spec *container, const struct grant *grant)
{
	struct cpuset mems;

	topology_mems_of_mask(topology, grant->mems, &mems);
	emit_map(emitter, NULL);
	emit_text(emitter, "name", container->name);
	emit_text(emitter, "kind", container_kind_name(container->kind));
	resources_emit(emitter, "requests", &container->request);
	resources_emit(emitter, "limits", &container->limit);
	emit_text(emitter, "isolation", isolation_name(grant->isolation));
	emit_cpuset(emitter, "cpus", grant->cpus);
	if (!cpuset_equal(grant->baseline, grant->cpus) && !cpuset_is_empty(grant->baseline))
		emit_cpuset(emitter, "baseline", grant->baseline);
	emit_cpuset(emitter, "mems", &mems);
	emit_close(emitter);
}

static void write_pod(struct emitter *emitter, const struct topology *topology,
		      const struct ledger_pod *pod)
{
	const struct pod_spec *spec = pod->spec;

	emit_map(emitter, NULL);
	emit_text(emitter, "uid", spec->uid);
	emit_text(emitter, "namespace", spec->namespace);
	emit_text(emitter, "name", spec->name);
	emit_text(emitter, "state", pod_state_name(pod->state));
	emit_text(emitter, "detail", pod->is_change_refused ? "" : pod->detail);
	if (spec->is_of_runtime)
		emit_text(emitter, "runtime_class", qos_class_name(spec->stated_qos));
	if (spec->has_pod_resources) {
		emit_map(emitter, "resources");
		resources_emit(emitter, "requests", &spec->request);
		resources_emit(emitter, "limits", &spec->limit);
		emit_close(emitter);
	}
	resources_emit(emitter, "overhead", &spec->overhead);
	if (pod->has_bubble)
		emit_cpuset(emitter, "bubble", pod->bubble);
	if (pod->has_bubble && !cpuset_equal(pod->bubble_baseline, pod->bubble))
		emit_cpuset(emitter, "bubble_baseline", pod->bubble_baseline);
	emit_cpuset(emitter, "held", pod->held);
	emit_list(emitter, "containers");
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		write_container(emitter, topology, &spec->containers[i], &pod->grants[i]);
	emit_close(emitter);
	emit_close(emitter);
}

static void write_content(struct emitter *emitter, const struct ledger *ledger, const char *boot_id)
{
	const struct topology *topology = ledger_topology(ledger);
	const struct policy *policy = ledger_policy(ledger);
	struct cpuset nodes = CPUSET_EMPTY;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		cpuset_add(&nodes, topology->memory_nodes[i].id);
	emit_text(emitter, "boot_id", boot_id);
	emit_cpuset(emitter, "cpus", &topology->all);
	emit_cpuset(emitter, "nodes", &nodes);
	emit_cpuset(emitter, "reserved", ledger_reserved(ledger));
	emit_cpuset(emitter, "shared_pool", ledger_shared_pool(ledger));
	config_emit_policy(emitter, "policy", policy);
	emit_cpuset(emitter, "excluded", &policy->excluded);
	emit_list(emitter, "pods");
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		write_pod(emitter, topology, ledger_pod_at(ledger, i));
	emit_close(emitter);
}

int state_version(const struct ledger *ledger)
{
	for (uint32_t i = 0; i < ledger_nr_pods(ledger); i++)
		if (ledger_pod_at(ledger, i)->spec->is_of_runtime)
			return 2;
	return 1;
}

void state_encode(const struct ledger *ledger, const char *boot_id, struct text *out)
{
	struct text content cleanup_text = {0};
	struct emitter emitter;

	emit_begin(&emitter, &content, EMIT_JSON);
	write_content(&emitter, ledger, boot_id);
	emit_end(&emitter);
	if (content.error) {
		out->error = content.error;
		return;
	}
	text_printf(out, STATE_HEAD "%d" STATE_SUM "%016" PRIx64 STATE_CONTENT,
		    state_version(ledger), state_checksum(content.data, content.len));
	text_append_len(out, content.data, content.len);
	text_append(out, STATE_TAIL);
}
