// SPDX-License-Identifier: Apache-2.0
/*
 * Types of the fields that decide allocations: CPU lists, reservations, maps of options
 * whose values are texts, feature gates. Names and forms are those of KubeletConfiguration,
 * so that a line can be copied.
 */
#include "format/config_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/go_text.h"
#include "core/quantity.h"
#include "format/resources.h"

/* --- the kubelet's types ---------------------------------------------------------------------- */

static int read_reserved_cpus(struct config_reader *reader, const struct yaml_value *value,
			      const char *field, const struct key *key)
{
	struct policy *policy = &reader->config->policy;
	char shown[FORMAT_SHOW_MAX];
	int err;

	if (value->kind != YAML_TEXT)
		return yaml_refuse(value, field, reader->error,
				   "expected a CPU list such as \"0-1,32\", not %s",
				   yaml_kind_name(value->kind));
	err = go_parse_cpus(value->text, value->len, &policy->reserved_list);
	/* In our own file there may be blanks beside the commas. */
	if (err == -EINVAL && !reader->fields)
		err = cpuset_parse(value->text, value->len, &policy->reserved_list);
	if (err)
		return yaml_refuse(
			value, field, reader->error,
			"invalid CPU list '%s'%s: expected ids and ranges as in \"0-1,32\"",
			format_show(value->text, value->len, shown, sizeof(shown)),
			err == -ERANGE ? " (an id is above 8191)" : "");
	policy->has_reserved_list = !cpuset_is_empty(&policy->reserved_list);
	return 0;
}

static void emit_reserved_cpus(struct emitter *emitter, const struct config *config,
			       const struct key *key)
{
	emit_cpuset(emitter, key->name, &config->policy.reserved_list);
}

const struct key_type config_reserved_cpus = {read_reserved_cpus, emit_reserved_cpus};

static int read_reservation(struct config_reader *reader, const struct yaml_value *value,
			    const char *field, const struct key *key)
{
	struct resources resources = RESOURCES_UNSET;
	int err = resources_read_list(value, field, "pid", reader->error, &resources);

	if (!err)
		*(struct resources *)member_of(reader, key) = resources;
	return err;
}

static void emit_reservation(struct emitter *emitter, const struct config *config,
			     const struct key *key)
{
	resources_emit(emitter, key->name, value_of(config, key));
}

const struct key_type config_reservation = {read_reservation, emit_reservation};

static const struct {
	const char *name;
	size_t offset;
} cpu_option_table[] = {
	{"full-pcpus-only", offsetof(struct cpu_options, full_pcpus_only)},
	{"distribute-cpus-across-numa", offsetof(struct cpu_options, distribute_across_numa)},
	{"align-by-socket", offsetof(struct cpu_options, align_by_socket)},
	{"distribute-cpus-across-cores", offsetof(struct cpu_options, distribute_across_cores)},
	{"strict-cpu-reservation", offsetof(struct cpu_options, strict_reservation)},
	{"prefer-align-cpus-by-uncorecache", offsetof(struct cpu_options, prefer_uncore)},
};

static int read_cpu_options(struct config_reader *reader, const struct yaml_value *value,
			    const char *field, const struct key *key)
{
	/* All six are offered here whatever the kubelet's feature gates say. */
	const struct policy_gates gates = {.alpha = true, .beta = true};
	struct cpu_options options = {0};
	char child_field[FORMAT_FIELD_MAX], sentence[FORMAT_MESSAGE_MAX], text[16];
	int err = yaml_read_map(value, field, reader->error);

	if (err)
		return err;
	yaml_for_each(child, value)
	{
		const char *message = sentence;

		format_member(child_field, field, child->key);
		err = yaml_read_text(child, child_field, reader->error, text, sizeof(text));
		if (err)
			return err;
		if (policy_set_cpu_option(&options, child->key, text, gates, sentence,
					  sizeof(sentence)) == POLICY_FINE)
			continue;
		/* The field says where already. */
		if (strncmp(sentence, "cpuManagerPolicyOptions: ", 25) == 0)
			message += 25;
		return yaml_refuse(child, child_field, reader->error, "%s", message);
	}
	reader->config->policy.cpu_options = options;
	return 0;
}

static void emit_cpu_options(struct emitter *emitter, const struct config *config,
			     const struct key *key)
{
	const char *options = (const char *)&config->policy.cpu_options;

	emit_map(emitter, key->name);
	for (size_t i = 0; i < ARRAY_SIZE(cpu_option_table); i++)
		if (*(const bool *)(options + cpu_option_table[i].offset))
			emit_text(emitter, cpu_option_table[i].name, "true");
	emit_close(emitter);
}

const struct key_type config_cpu_options = {read_cpu_options, emit_cpu_options};

/* The kubelet's maps hold texts, so "true" in quotes is right here and nowhere else. */
static int read_option_bool(const struct yaml_value *value, const char *field,
			    struct format_error *error, bool *ret_bool)
{
	static const char *const words[] = {"false", "true"};
	unsigned int word;
	int err = yaml_read_word(value, field, error, words, ARRAY_SIZE(words), &word);

	if (!err)
		*ret_bool = word == 1;
	return err;
}

static int read_align_options(struct config_reader *reader, const struct yaml_value *value,
			      const char *field, const struct key *key)
{
	struct policy *policy = &reader->config->policy;
	char child_field[FORMAT_FIELD_MAX];
	uint64_t number;
	int err = yaml_read_map(value, field, reader->error);

	policy->prefer_closest_nodes = false;
	policy->max_nodes = 0;
	if (err)
		return err;
	yaml_for_each(child, value)
	{
		format_member(child_field, field, child->key);
		if (strcmp(child->key, "prefer-closest-numa-nodes") == 0) {
			err = read_option_bool(child, child_field, reader->error,
					       &policy->prefer_closest_nodes);
		} else if (strcmp(child->key, "max-allowable-numa-nodes") == 0) {
			err = yaml_read_uint(child, child_field, reader->error, 0,
					     TOPOLOGY_MAX_NODES, &number);
			if (!err)
				policy->max_nodes = number;
		} else {
			err = yaml_refuse(child, child_field, reader->error,
					  "unknown option; expected prefer-closest-numa-nodes or "
					  "max-allowable-numa-nodes");
		}
		if (err)
			return err;
	}
	return 0;
}

static void emit_align_options(struct emitter *emitter, const struct config *config,
			       const struct key *key)
{
	char number[16];

	emit_map(emitter, key->name);
	if (config->policy.prefer_closest_nodes)
		emit_text(emitter, "prefer-closest-numa-nodes", "true");
	if (config->policy.max_nodes) {
		snprintf(number, sizeof(number), "%u", config->policy.max_nodes);
		emit_text(emitter, "max-allowable-numa-nodes", number);
	}
	emit_close(emitter);
}

const struct key_type config_align_options = {read_align_options, emit_align_options};

/* --- reservedMemory --------------------------------------------------------------------------- */

static int add_reservation(struct config_reader *reader, const struct yaml_value *value,
			   const char *field, uint32_t node_id, uint64_t size_bytes, int64_t bytes)
{
	struct policy *policy = &reader->config->policy;

	if (bytes == 0)
		return yaml_refuse(value, field, reader->error,
				   "0 reserves nothing; give an amount or remove the line");
	for (uint32_t i = 0; i < policy->nr_memory_reservations; i++)
		if (policy->memory_reservations[i].node_id == node_id &&
		    policy->memory_reservations[i].size_bytes == size_bytes)
			return yaml_refuse(value, field, reader->error,
					   "NUMA node %u already has this reservation; remove "
					   "one of them",
					   node_id);
	if (policy->nr_memory_reservations == POLICY_MAX_RESERVATIONS)
		return yaml_refuse(value, field, reader->error, "more than %d reservations",
				   POLICY_MAX_RESERVATIONS);
	policy->memory_reservations[policy->nr_memory_reservations++] =
		(struct memory_reservation){node_id, size_bytes, bytes};
	return 0;
}

static int read_node_limits(struct config_reader *reader, const struct yaml_value *limits,
			    const char *field, uint32_t node_id)
{
	struct resources resources = RESOURCES_UNSET;
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_map(limits, field, reader->error);

	if (err)
		return err;
	yaml_for_each(child, limits)
	{
		if (strcmp(child->key, "memory") != 0 &&
		    strncmp(child->key, "hugepages-", strlen("hugepages-")) != 0)
			return yaml_refuse(child, format_member(child_field, field, child->key),
					   reader->error,
					   "this cannot be reserved per NUMA node; use memory or "
					   "hugepages-<size>");
	}
	err = resources_read_list(limits, field, NULL, reader->error, &resources);
	if (!err && resources.memory_bytes != RESOURCE_UNSET)
		err = add_reservation(reader, limits, field, node_id, 0, resources.memory_bytes);
	for (uint32_t i = 0; !err && i < resources.nr_hugepages; i++)
		err = add_reservation(reader, limits, field, node_id,
				      resources.hugepages[i].size_bytes,
				      resources.hugepages[i].bytes);
	return err;
}

static int read_node_reservation(struct config_reader *reader, const struct yaml_value *entry,
				 const char *field)
{
	const struct yaml_value *node, *limits;
	char child_field[FORMAT_FIELD_MAX];
	uint64_t node_id;
	int err = yaml_read_map(entry, field, reader->error);

	if (err)
		return err;
	yaml_for_each(child, entry) if (
		strcmp(child->key, "numaNode") != 0 &&
		strcmp(child->key, "limits") !=
			0) return yaml_refuse(child, format_member(child_field, field, child->key),
					      reader->error,
					      "unknown key; expected numaNode or limits");
	node = yaml_get(entry, "numaNode");
	limits = yaml_get(entry, "limits");
	if (!node || !limits)
		return yaml_refuse(entry, field, reader->error, "%s is missing",
				   node ? "limits" : "numaNode");
	err = yaml_read_uint(node, format_member(child_field, field, "numaNode"), reader->error, 0,
			     CPUSET_MAX - 1, &node_id);
	if (err)
		return err;
	return read_node_limits(reader, limits, format_member(child_field, field, "limits"),
				node_id);
}

static int read_reserved_memory(struct config_reader *reader, const struct yaml_value *value,
				const char *field, const struct key *key)
{
	char child_field[FORMAT_FIELD_MAX];
	unsigned int index = 0;
	int err = yaml_read_list(value, field, reader->error);

	if (err)
		return err;
	reader->config->policy.nr_memory_reservations = 0;
	yaml_for_each(child, value)
	{
		format_field(child_field, "%s[%u]", field, index++);
		err = read_node_reservation(reader, child, child_field);
		if (err)
			return err;
	}
	return 0;
}

/* The entries from `first` on that fit into one mapping of their node; returns the next. */
static uint32_t gather_node(const struct policy *policy, uint32_t first,
			    struct resources *resources)
{
	const uint32_t node_id = policy->memory_reservations[first].node_id;
	uint32_t i;

	for (i = first; i < policy->nr_memory_reservations; i++) {
		const struct memory_reservation *entry = &policy->memory_reservations[i];

		if (entry->node_id != node_id || resources->nr_hugepages == POD_MAX_HUGEPAGES)
			break;
		if (!entry->size_bytes) {
			resources->memory_bytes = entry->bytes;
			continue;
		}
		resources->hugepages[resources->nr_hugepages].size_bytes = entry->size_bytes;
		resources->hugepages[resources->nr_hugepages++].bytes = entry->bytes;
	}
	return i;
}

static void emit_reserved_memory(struct emitter *emitter, const struct config *config,
				 const struct key *key)
{
	const struct policy *policy = &config->policy;

	emit_list(emitter, key->name);
	for (uint32_t i = 0, next; i < policy->nr_memory_reservations; i = next) {
		struct resources resources = RESOURCES_UNSET;

		next = gather_node(policy, i, &resources);
		emit_map(emitter, NULL);
		emit_number(emitter, "numaNode", policy->memory_reservations[i].node_id);
		resources_emit(emitter, "limits", &resources);
		emit_close(emitter);
	}
	emit_close(emitter);
}

const struct key_type config_reserved_memory = {read_reserved_memory, emit_reserved_memory};

/* --- the one feature gate that decides allocations -------------------------------------------- */

#define POD_LEVEL_GATE "PodLevelResourceManagers"

static int read_gates(struct config_reader *reader, const struct yaml_value *value,
		      const char *field, const struct key *key)
{
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_map(value, field, reader->error);

	if (err)
		return err;
	yaml_for_each(child, value)
	{
		format_member(child_field, field, child->key);
		if (strcmp(child->key, POD_LEVEL_GATE) == 0) {
			err = yaml_read_bool(child, child_field, reader->error,
					     &reader->config->policy.pod_level_managers);
			if (err)
				return err;
		} else if (!reader->fields) {
			return yaml_refuse(child, child_field, reader->error,
					   "this feature gate has no effect; only " POD_LEVEL_GATE
					   " is supported, remove the line");
		}
	}
	return 0;
}

static void emit_gates(struct emitter *emitter, const struct config *config, const struct key *key)
{
	emit_map(emitter, key->name);
	emit_bool(emitter, POD_LEVEL_GATE, config->policy.pod_level_managers);
	emit_close(emitter);
}

const struct key_type config_gates = {read_gates, emit_gates};

/* --- evictionHard ----------------------------------------------------------------------------- */

#define EVICTION_SIGNAL "memory.available"

/* "5%", "12.5%": up to three places. */
static bool parse_percent(const char *text, uint32_t *ret_thousandths)
{
	uint32_t value = 0, scale = 1000;
	bool has_dot = false;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text && *text != '%'; text++) {
		if (*text == '.' && !has_dot) {
			has_dot = true;
			continue;
		}
		if (*text < '0' || *text > '9' || (has_dot && scale == 1) || value > 100000)
			return false;
		value = value * 10 + (uint32_t)(*text - '0');
		if (has_dot)
			scale /= 10;
	}
	if (strcmp(text, "%") != 0 || (uint64_t)value * scale > 100000)
		return false;
	*ret_thousandths = value * scale;
	return true;
}

static int read_threshold(struct config_reader *reader, const struct yaml_value *value,
			  const char *field)
{
	struct config *config = reader->config;
	char text[32], shown[FORMAT_SHOW_MAX];
	uint32_t thousandths = 0;
	int64_t bytes = 0;
	int err = yaml_read_text(value, field, reader->error, text, sizeof(text));

	if (err)
		return err;
	if (!parse_percent(text, &thousandths) && quantity_parse(text, strlen(text), &bytes))
		return yaml_refuse(value, field, reader->error,
				   "invalid threshold '%s': expected an amount or a percentage, "
				   "such as \"100Mi\" or \"5%%\"",
				   format_show(text, strlen(text), shown, sizeof(shown)));
	/* All of it or nothing: the kubelet takes both for "no threshold". */
	if (thousandths == 100000)
		thousandths = 0;
	config->eviction_memory.bytes = bytes;
	config->eviction_memory.percent_thousandths = thousandths;
	return 0;
}

/* The other signals evict for reasons that are none of ours; given at all, no default stands. */
static int read_eviction(struct config_reader *reader, const struct yaml_value *value,
			 const char *field, const struct key *key)
{
	static const char *const others[] = {
		"nodefs.available",
		"nodefs.inodesFree",
		"imagefs.available",
		"imagefs.inodesFree",
		"containerfs.available",
		"containerfs.inodesFree",
		"allocatableMemory.available",
		"pid.available",
	};
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_map(value, field, reader->error);

	if (err)
		return err;
	reader->config->eviction_memory.bytes = 0;
	reader->config->eviction_memory.percent_thousandths = 0;
	yaml_for_each(child, value)
	{
		bool known = false;

		format_member(child_field, field, child->key);
		for (size_t i = 0; i < ARRAY_SIZE(others); i++)
			known |= strcmp(child->key, others[i]) == 0;
		if (strcmp(child->key, EVICTION_SIGNAL) == 0)
			err = read_threshold(reader, child, child_field);
		else if (!known && !reader->fields)
			err = yaml_refuse(child, child_field, reader->error,
					  "unknown signal; only " EVICTION_SIGNAL " is supported");
		if (err)
			return err;
	}
	return 0;
}

static void emit_eviction(struct emitter *emitter, const struct config *config,
			  const struct key *key)
{
	const uint32_t thousandths = config->eviction_memory.percent_thousandths;
	char text[32];

	emit_map(emitter, key->name);
	if (thousandths)
		snprintf(text, sizeof(text), "%u.%03u%%", thousandths / 1000, thousandths % 1000);
	else
		quantity_format_binary((uint64_t)config->eviction_memory.bytes, text, sizeof(text));
	emit_text(emitter, EVICTION_SIGNAL, text);
	emit_close(emitter);
}

const struct key_type config_eviction = {read_eviction, emit_eviction};
