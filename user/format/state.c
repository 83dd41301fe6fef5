// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger's content to text. Its counterpart is state_read.c; a field
 * written here and not read there fails the round trip of the unit test.
 */
#include "format/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/config.h"
#include "format/resources.h"
#include "format/state_private.h"
#include "lib/hash.h"

/* keys: of the state file, whose versions outlive those of the JSON */

struct writer {
	struct emitter emitter;
	const struct ledger *ledger;
	char list[CPUSET_TEXT_MAX];
};

uint64_t state_checksum(const char *data, size_t len)
{
	return hash_add(HASH_START, data, len);
}

static void write_set(struct writer *writer, const char *key, const struct cpuset *set)
{
	cpuset_format(set, writer->list, sizeof(writer->list));
	emit_text(&writer->emitter, key, writer->list);
}

static void write_mems(struct writer *writer, node_mask_t mems)
{
	struct cpuset ids;

	topology_mems_of_mask(ledger_topology(writer->ledger), mems, &ids);
	write_set(writer, "mems", &ids);
}

static void write_container(struct writer *writer, const struct container_spec *container,
			    const struct grant *grant)
{
	struct emitter *emitter = &writer->emitter;

	emit_map(emitter, NULL);
	emit_text(emitter, "name", container->name);
	emit_text(emitter, "kind", container_kind_name(container->kind));
	resources_emit(emitter, "requests", &container->request);
	resources_emit(emitter, "limits", &container->limit);
	emit_text(emitter, "isolation", isolation_name(grant->isolation));
	write_set(writer, "cpus", grant->cpus);
	if (!cpuset_equal(grant->baseline, grant->cpus) && !cpuset_is_empty(grant->baseline))
		write_set(writer, "baseline", grant->baseline);
	write_mems(writer, grant->mems);
	emit_close(emitter);
}

static void write_pod(struct writer *writer, const struct ledger_pod *pod)
{
	const struct pod_spec *spec = pod->spec;
	struct emitter *emitter = &writer->emitter;

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
		write_set(writer, "bubble", pod->bubble);
	if (pod->has_bubble && !cpuset_equal(pod->bubble_baseline, pod->bubble))
		write_set(writer, "bubble_baseline", pod->bubble_baseline);
	write_set(writer, "held", pod->held);
	emit_list(emitter, "containers");
	for (uint32_t i = 0; i < pod->nr_grants; i++)
		write_container(writer, &spec->containers[i], &pod->grants[i]);
	emit_close(emitter);
	emit_close(emitter);
}

static void write_content(struct writer *writer, const char *boot_id, struct text *out)
{
	const struct topology *topology = ledger_topology(writer->ledger);
	struct emitter *emitter = &writer->emitter;
	struct cpuset nodes = CPUSET_EMPTY;

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++)
		cpuset_add(&nodes, topology->memory_nodes[i].id);
	emit_begin(emitter, out, EMIT_JSON);
	emit_text(emitter, "boot_id", boot_id);
	write_set(writer, "cpus", &topology->all);
	write_set(writer, "nodes", &nodes);
	write_set(writer, "reserved", ledger_reserved(writer->ledger));
	write_set(writer, "shared_pool", ledger_shared_pool(writer->ledger));
	config_emit_policy(emitter, "policy", ledger_policy(writer->ledger));
	write_set(writer, "excluded", &ledger_policy(writer->ledger)->excluded);
	emit_list(emitter, "pods");
	for (uint32_t i = 0; i < ledger_nr_pods(writer->ledger); i++)
		write_pod(writer, ledger_pod_at(writer->ledger, i));
	emit_close(emitter);
	emit_end(emitter);
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
	struct writer *writer cleanup_free = malloc(sizeof(*writer));

	if (!writer) {
		out->error = -ENOMEM;
		return;
	}
	writer->ledger = ledger;
	write_content(writer, boot_id, &content);
	if (content.error) {
		out->error = content.error;
		return;
	}
	text_printf(out, STATE_HEAD "%d" STATE_SUM "%016" PRIx64 STATE_CONTENT,
		    state_version(ledger), state_checksum(content.data, content.len));
	text_append_len(out, content.data, content.len);
	text_append(out, STATE_TAIL);
}
