// SPDX-License-Identifier: Apache-2.0
/*
 * One table per level of the file: a key, its type, its place in struct config.
 * Reading, the kubelet import and writing all walk the same tables, so a field
 * cannot be readable but not shown.
 */
#include "format/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <pinfold/names.h>

#include "core/quantity.h"
#include "format/resources.h"

struct reader {
	struct format_error *error;
	struct config *config;
	bool kubelet; /* a kubelet's own file: only its fields, unknown keys ignored */
};

struct key;

struct key_type {
	int (*read)(struct reader *reader, const struct yaml_value *value, const char *field,
		    const struct key *key);
	void (*emit)(struct emitter *emitter, const struct config *config, const struct key *key);
};

enum key_flag {
	KEY_KUBELET = 1 << 0, /* KubeletConfiguration has it */
	KEY_POLICY = 1 << 1,  /* part of struct policy: stands in the state file */
};

struct key {
	const char *name;
	const struct key_type *type;
	size_t offset; /* of the value in struct config */
	unsigned int flags;
	const char *const *words;  /* type word */
	uint32_t max;		   /* word: how many; count, text: the largest, the size */
	const struct key *members; /* group; ends with a NULL name */
};

#define AT(field) offsetof(struct config, field)

static void *place(const struct reader *reader, const struct key *key)
{
	return (char *)reader->config + key->offset;
}

static const void *value_of(const struct config *config, const struct key *key)
{
	return (const char *)config + key->offset;
}

/* --- words ------------------------------------------------------------------------------------ */

static const char *const run_mode_words[MODE_NR] = {"allocate", "guard", "observe"};
static const char *const enforcement_words[ENFORCEMENT_NR] = {"off", "audit", "enforce"};
static const char *const host_tasks_words[HOST_TASKS_NR] = {"auto", "reserved", "shared", "free"};
static const char *const partitions_words[PARTITIONS_NR] = {"auto", "isolated", "off"};
static const char *const interrupts_words[INTERRUPTS_NR] = {"leave", "steer"};
static const char *const runtime_writes_words[RUNTIME_WRITES_NR] = {"repair", "deny"};
static const char *const metrics_level_words[METRICS_LEVEL_NR] = {"node", "pod", "container"};
static const char *const compatibility_words[COMPATIBILITY_NR] = {
	[COMPATIBILITY_REPAIRED] = "repaired",
	[COMPATIBILITY_KUBELET_1_36] = "kubelet-1.36",
};
static const char *const cpu_policy_words[CPU_POLICY_NR] = {
	[CPU_POLICY_NONE] = "none",
	[CPU_POLICY_STATIC] = "static",
};
/* Capital letters as the kubelet writes them here, and only here. */
static const char *const memory_policy_words[MEMORY_POLICY_NR] = {
	[MEMORY_POLICY_NONE] = "None",
	[MEMORY_POLICY_STATIC] = "Static",
};
static const char *const align_words[ALIGN_NR] = {
	[ALIGN_NONE] = "none",
	[ALIGN_BEST_EFFORT] = "best-effort",
	[ALIGN_RESTRICTED] = "restricted",
	[ALIGN_SINGLE_NUMA_NODE] = "single-numa-node",
};
static const char *const scope_words[ALIGN_SCOPE_NR] = {
	[ALIGN_SCOPE_CONTAINER] = "container",
	[ALIGN_SCOPE_POD] = "pod",
};

const char *run_mode_name(enum run_mode mode)
{
	return run_mode_words[mode];
}

const char *enforcement_name(enum enforcement enforcement)
{
	return enforcement_words[enforcement];
}

const char *host_tasks_name(enum host_tasks tasks)
{
	return host_tasks_words[tasks];
}

const char *partitions_name(enum partitions partitions)
{
	return partitions_words[partitions];
}

const char *interrupts_name(enum interrupts interrupts)
{
	return interrupts_words[interrupts];
}

const char *runtime_writes_name(enum runtime_writes writes)
{
	return runtime_writes_words[writes];
}

const char *metrics_level_name(enum metrics_level level)
{
	return metrics_level_words[level];
}

static int read_word(struct reader *reader, const struct yaml_value *value, const char *field,
		     const struct key *key)
{
	/* All enums of struct config begin at 0, so their type is unsigned int. */
	return yaml_read_word(value, field, reader->error, key->words, key->max,
			      place(reader, key));
}

static void emit_word(struct emitter *emitter, const struct config *config, const struct key *key)
{
	const unsigned int *word = value_of(config, key);

	emit_text(emitter, key->name, key->words[*word]);
}

static const struct key_type word_type = {read_word, emit_word};

/* --- plain types ------------------------------------------------------------------------------ */

static int read_flag(struct reader *reader, const struct yaml_value *value, const char *field,
		     const struct key *key)
{
	return yaml_read_bool(value, field, reader->error, place(reader, key));
}

static void emit_flag(struct emitter *emitter, const struct config *config, const struct key *key)
{
	const bool *flag = value_of(config, key);

	emit_bool(emitter, key->name, *flag);
}

static const struct key_type flag_type = {read_flag, emit_flag};

static int read_count(struct reader *reader, const struct yaml_value *value, const char *field,
		      const struct key *key)
{
	uint32_t *count = place(reader, key);
	uint64_t number;
	int err = yaml_read_uint(value, field, reader->error, 1, key->max, &number);

	if (!err)
		*count = number;
	return err;
}

static void emit_count(struct emitter *emitter, const struct config *config, const struct key *key)
{
	const uint32_t *count = value_of(config, key);

	emit_number(emitter, key->name, *count);
}

static const struct key_type count_type = {read_count, emit_count};

static bool has_dot_dot(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

/* An absolute path; "" only where the table says that it switches something off. */
static int read_path(struct reader *reader, const struct yaml_value *value, const char *field,
		     const struct key *key, bool may_be_empty)
{
	char path[CONFIG_PATH_MAX], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, path, key->max);

	if (err)
		return err;
	if ((path[0] != '/' || has_dot_dot(path)) && !(may_be_empty && !path[0]))
		return yaml_refuse(value, field, reader->error,
				   "'%s' is not an absolute path without \"..\"; begin it with /",
				   format_show(path, strlen(path), shown, sizeof(shown)));
	memcpy(place(reader, key), path, strlen(path) + 1);
	return 0;
}

static int read_directory(struct reader *reader, const struct yaml_value *value, const char *field,
			  const struct key *key)
{
	return read_path(reader, value, field, key, false);
}

static int read_optional_path(struct reader *reader, const struct yaml_value *value,
			      const char *field, const struct key *key)
{
	return read_path(reader, value, field, key, true);
}

static void emit_string(struct emitter *emitter, const struct config *config, const struct key *key)
{
	emit_text(emitter, key->name, value_of(config, key));
}

static const struct key_type directory_type = {read_directory, emit_string};
static const struct key_type optional_path_type = {read_optional_path, emit_string};

/* "127.0.0.1:9417", "[::1]:9417": numbers only, a name could mean another address tomorrow. */
static bool is_listen_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[CONFIG_LISTEN_MAX];
	unsigned char address[16];
	size_t len;
	unsigned long port = 0;

	if (!colon || colon == text || !colon[1] || strlen(colon + 1) > 5)
		return false;
	for (const char *digit = colon + 1; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		port = port * 10 + (*digit - '0');
	}
	if (port == 0 || port > 65535)
		return false;
	len = colon - text;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] != '[')
		return inet_pton(AF_INET, host, address) == 1;
	if (host[len - 1] != ']')
		return false;
	host[len - 1] = '\0';
	return inet_pton(AF_INET6, host + 1, address) == 1;
}

static int read_listen(struct reader *reader, const struct yaml_value *value, const char *field,
		       const struct key *key)
{
	char listen[CONFIG_LISTEN_MAX], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, listen, sizeof(listen));

	if (err)
		return err;
	if (*listen && !is_listen_address(listen))
		return yaml_refuse(value, field, reader->error,
				   "'%s' is not ADDRESS:PORT; write 127.0.0.1:9417, [::1]:9417 or "
				   "\"\" for none",
				   format_show(listen, strlen(listen), shown, sizeof(shown)));
	memcpy(place(reader, key), listen, strlen(listen) + 1);
	return 0;
}

static const struct key_type listen_type = {read_listen, emit_string};

/* --- durations -------------------------------------------------------------------------------- */

static const struct {
	const char *unit;
	uint64_t ns;
} units[] = {
	{"h", 3600000000000ULL}, {"ms", 1000000}, {"m", 60000000000ULL},
	{"s", 1000000000},	 {"us", 1000},	  {"ns", 1},
};

#define LONGEST_DURATION_NS (365ULL * 24 * 3600000000000ULL)

/* Go's form with whole numbers: "90s", "1h30m", and "0". */
static bool parse_duration(const char *text, uint64_t *ret_ns)
{
	uint64_t total = 0;

	if (strcmp(text, "0") == 0) {
		*ret_ns = 0;
		return true;
	}
	if (!*text)
		return false;
	while (*text) {
		uint64_t number = 0;
		size_t unit = 0;

		if (*text < '0' || *text > '9')
			return false;
		for (; *text >= '0' && *text <= '9' && number <= LONGEST_DURATION_NS; text++)
			number = number * 10 + (*text - '0');
		while (unit < ARRAY_SIZE(units) &&
		       strncmp(text, units[unit].unit, strlen(units[unit].unit)) != 0)
			unit++;
		if (unit == ARRAY_SIZE(units) || number > LONGEST_DURATION_NS / units[unit].ns)
			return false;
		total += number * units[unit].ns;
		text += strlen(units[unit].unit);
		if (total > LONGEST_DURATION_NS)
			return false;
	}
	*ret_ns = total;
	return true;
}

static int read_duration(struct reader *reader, const struct yaml_value *value, const char *field,
			 const struct key *key)
{
	char text[32], shown[FORMAT_SHOW_MAX];
	int err = yaml_read_text(value, field, reader->error, text, sizeof(text));

	if (err)
		return err;
	if (parse_duration(text, place(reader, key)))
		return 0;
	return yaml_refuse(value, field, reader->error,
			   "'%s' is not a duration of at most a year; write 0, 90s, 5m or 1h30m",
			   format_show(text, strlen(text), shown, sizeof(shown)));
}

static void emit_duration(struct emitter *emitter, const struct config *config,
			  const struct key *key)
{
	const uint64_t *ns = value_of(config, key);
	char text[32] = "0";
	size_t best = 0;

	/* The coarsest unit that says it exactly. */
	for (size_t i = 0; *ns && i < ARRAY_SIZE(units); i++)
		if (*ns % units[i].ns == 0 &&
		    (*ns % units[best].ns != 0 || units[i].ns > units[best].ns))
			best = i;
	if (*ns)
		snprintf(text, sizeof(text), "%" PRIu64 "%s", *ns / units[best].ns,
			 units[best].unit);
	emit_text(emitter, key->name, text);
}

static const struct key_type duration_type = {read_duration, emit_duration};

/* --- the kubelet's types ---------------------------------------------------------------------- */

static int read_reserved_cpus(struct reader *reader, const struct yaml_value *value,
			      const char *field, const struct key *key)
{
	struct policy *policy = &reader->config->policy;
	char shown[FORMAT_SHOW_MAX];
	int err;

	if (value->kind != YAML_TEXT)
		return yaml_refuse(value, field, reader->error,
				   "this is %s where a CPU list is wanted; write \"0-1,32\"",
				   yaml_kind_name(value->kind));
	err = cpuset_parse(value->text, value->len, &policy->reserved_list);
	if (err)
		return yaml_refuse(
			value, field, reader->error,
			"'%s' is not a CPU list%s; write ids and ranges as in \"0-1,32\"",
			format_show(value->text, value->len, shown, sizeof(shown)),
			err == -ERANGE ? " (an id is above 8191)" : "");
	policy->has_reserved_list = !cpuset_is_empty(&policy->reserved_list);
	return 0;
}

static void emit_reserved_cpus(struct emitter *emitter, const struct config *config,
			       const struct key *key)
{
	char *list cleanup_free = malloc(CPUSET_TEXT_MAX);

	if (!list) {
		emitter->out->error = -ENOMEM;
		return;
	}
	cpuset_format(&config->policy.reserved_list, list, CPUSET_TEXT_MAX);
	emit_text(emitter, key->name, list);
}

static const struct key_type reserved_cpus_type = {read_reserved_cpus, emit_reserved_cpus};

static int read_reservation(struct reader *reader, const struct yaml_value *value,
			    const char *field, const struct key *key)
{
	struct resources resources = RESOURCES_UNSET;
	int err = resources_read_list(value, field, "pid", reader->error, &resources);

	if (!err)
		*(struct resources *)place(reader, key) = resources;
	return err;
}

static void emit_reservation(struct emitter *emitter, const struct config *config,
			     const struct key *key)
{
	resources_emit(emitter, key->name, value_of(config, key));
}

static const struct key_type reservation_type = {read_reservation, emit_reservation};

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

static int read_cpu_options(struct reader *reader, const struct yaml_value *value,
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

static const struct key_type cpu_options_type = {read_cpu_options, emit_cpu_options};

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

static int read_align_options(struct reader *reader, const struct yaml_value *value,
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
					  "no such option; known are prefer-closest-numa-nodes and "
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

static const struct key_type align_options_type = {read_align_options, emit_align_options};

/* --- reservedMemory --------------------------------------------------------------------------- */

static int add_reservation(struct reader *reader, const struct yaml_value *value, const char *field,
			   uint32_t node_id, uint64_t size_bytes, int64_t bytes)
{
	struct policy *policy = &reader->config->policy;

	if (bytes == 0)
		return yaml_refuse(value, field, reader->error,
				   "0 reserves nothing; give an amount or remove the line");
	for (uint32_t i = 0; i < policy->nr_memory_reservations; i++)
		if (policy->memory_reservations[i].node_id == node_id &&
		    policy->memory_reservations[i].size_bytes == size_bytes)
			return yaml_refuse(value, field, reader->error,
					   "NUMA node %u has this reservation already; keep one",
					   node_id);
	if (policy->nr_memory_reservations == POLICY_MAX_RESERVATIONS)
		return yaml_refuse(value, field, reader->error, "more than %d reservations",
				   POLICY_MAX_RESERVATIONS);
	policy->memory_reservations[policy->nr_memory_reservations++] =
		(struct memory_reservation){node_id, size_bytes, bytes};
	return 0;
}

static int read_node_limits(struct reader *reader, const struct yaml_value *limits,
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

static int read_node_reservation(struct reader *reader, const struct yaml_value *entry,
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
					      "unknown key; an entry has numaNode and limits");
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

static int read_reserved_memory(struct reader *reader, const struct yaml_value *value,
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

static const struct key_type reserved_memory_type = {read_reserved_memory, emit_reserved_memory};

/* --- the one feature gate that decides allocations -------------------------------------------- */

#define POD_LEVEL_GATE "PodLevelResourceManagers"

static int read_gates(struct reader *reader, const struct yaml_value *value, const char *field,
		      const struct key *key)
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
		} else if (!reader->kubelet) {
			return yaml_refuse(child, child_field, reader->error,
					   "this gate means nothing here; only " POD_LEVEL_GATE
					   " does, remove the line");
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

static const struct key_type gates_type = {read_gates, emit_gates};

/* --- groups and the tables -------------------------------------------------------------------- */

static int read_members(struct reader *reader, const struct yaml_value *map, const char *field,
			const struct key *keys, unsigned int wanted_flags);
static void emit_members(struct emitter *emitter, const struct config *config,
			 const struct key *keys, unsigned int wanted_flags);

static int read_group(struct reader *reader, const struct yaml_value *value, const char *field,
		      const struct key *key)
{
	return read_members(reader, value, field, key->members, 0);
}

static void emit_group(struct emitter *emitter, const struct config *config, const struct key *key)
{
	emit_map(emitter, key->name);
	emit_members(emitter, config, key->members, 0);
	emit_close(emitter);
}

static const struct key_type group_type = {read_group, emit_group};

#define WORD(key_name, field, names, key_flags)                                                    \
	{                                                                                          \
		.name = (key_name), .type = &word_type, .offset = AT(field), .flags = (key_flags), \
		.words = (names), .max = ARRAY_SIZE(names)                                         \
	}
#define KEY(key_name, key_type_, field, key_flags)                             \
	{                                                                      \
		.name = (key_name), .type = &(key_type_), .offset = AT(field), \
		.flags = (key_flags)                                           \
	}
#define TEXT_KEY(key_name, key_type_, field)                                   \
	{                                                                      \
		.name = (key_name), .type = &(key_type_), .offset = AT(field), \
		.max = sizeof(((struct config *)0)->field)                     \
	}
#define GROUP(key_name, keys)                                              \
	{                                                                  \
		.name = (key_name), .type = &group_type, .members = (keys) \
	}

static const struct key enforcement_keys[] = {
	WORD("cpusetFiles", enforcement.cpuset_files, enforcement_words, 0),
	WORD("affinity", enforcement.affinity, enforcement_words, 0),
	WORD("cgroupMoves", enforcement.cgroup_moves, enforcement_words, 0),
	WORD("strangers", enforcement.strangers, enforcement_words, 0),
	WORD("irqMasks", enforcement.irq_masks, enforcement_words, 0),
	{0},
};

static const struct key source_keys[] = {
	TEXT_KEY("manifestDirectory", optional_path_type, sources.manifest_directory),
	KEY("kubepods", flag_type, sources.kubepods, 0),
	TEXT_KEY("nri", optional_path_type, sources.nri),
	{0},
};

static const struct key metrics_keys[] = {
	TEXT_KEY("listen", listen_type, metrics.listen),
	WORD("level", metrics.level, metrics_level_words, 0),
	{0},
};

static const struct key top_keys[] = {
	WORD("mode", mode, run_mode_words, 0),
	WORD("cpuManagerPolicy", policy.cpu, cpu_policy_words, KEY_KUBELET | KEY_POLICY),
	KEY("cpuManagerPolicyOptions", cpu_options_type, policy, KEY_KUBELET | KEY_POLICY),
	KEY("reservedSystemCPUs", reserved_cpus_type, policy, KEY_KUBELET | KEY_POLICY),
	KEY("kubeReserved", reservation_type, kube_reserved, KEY_KUBELET | KEY_POLICY),
	KEY("systemReserved", reservation_type, system_reserved, KEY_KUBELET),
	WORD("topologyManagerPolicy", policy.align, align_words, KEY_KUBELET | KEY_POLICY),
	WORD("topologyManagerScope", policy.scope, scope_words, KEY_KUBELET | KEY_POLICY),
	KEY("topologyManagerPolicyOptions", align_options_type, policy, KEY_KUBELET | KEY_POLICY),
	WORD("memoryManagerPolicy", policy.memory, memory_policy_words, KEY_KUBELET | KEY_POLICY),
	KEY("reservedMemory", reserved_memory_type, policy, KEY_KUBELET | KEY_POLICY),
	KEY("featureGates", gates_type, policy, KEY_KUBELET | KEY_POLICY),
	WORD("compatibility", policy.compatibility, compatibility_words, KEY_POLICY),
	GROUP("enforcement", enforcement_keys),
	WORD("hostTasks", host_tasks, host_tasks_words, 0),
	WORD("partitions", partitions, partitions_words, 0),
	WORD("interrupts", interrupts, interrupts_words, 0),
	WORD("runtimeWrites", runtime_writes, runtime_writes_words, 0),
	KEY("guardExpiry", duration_type, guard_expiry_ns, 0),
	{.name = "maxContainers",
	 .type = &count_type,
	 .offset = AT(max_containers),
	 .max = CONFIG_MAX_CONTAINERS},
	GROUP("sources", source_keys),
	GROUP("metrics", metrics_keys),
	TEXT_KEY("stateDirectory", directory_type, state_directory),
	TEXT_KEY("runtimeDirectory", directory_type, runtime_directory),
	{0},
};

/* --- walking the tables ----------------------------------------------------------------------- */

#define LONGEST_KEY 40

/* How many letters to change, add or drop to make `b` of `a`; keys are short. */
static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int row[LONGEST_KEY + 1];
	size_t len_a = strlen(a), len_b = strlen(b);

	if (len_a > LONGEST_KEY || len_b > LONGEST_KEY)
		return LONGEST_KEY;
	for (size_t j = 0; j <= len_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			unsigned int change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[len_b];
}

static int refuse_key(struct reader *reader, const struct yaml_value *value, const char *field,
		      const struct key *keys)
{
	const struct key *nearest = NULL;
	unsigned int best = 4; /* more than three slips is another word */

	for (const struct key *key = keys; key->name; key++) {
		unsigned int distance = edit_distance(value->key, key->name);

		if (distance < best) {
			best = distance;
			nearest = key;
		}
	}
	format_error_set(reader->error, value->key_line, value->key_column, field,
			 "unknown key; %s%s%s", nearest ? "did you mean '" : "remove it",
			 nearest ? nearest->name : "",
			 nearest ? "'?" : " (a kubelet's own file is read with --kubelet-config)");
	return -EINVAL;
}

static const struct key *find_key(const struct key *keys, const char *name,
				  unsigned int wanted_flags)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return (keys->flags & wanted_flags) == wanted_flags ? keys : NULL;
	return NULL;
}

static int read_members(struct reader *reader, const struct yaml_value *map, const char *field,
			const struct key *keys, unsigned int wanted_flags)
{
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_map(map, field, reader->error);

	if (err)
		return err;
	yaml_for_each(child, map)
	{
		const struct key *key = find_key(keys, child->key, wanted_flags);

		format_member(child_field, field, child->key);
		if (!key && reader->kubelet)
			continue;
		if (!key)
			return refuse_key(reader, child, child_field, keys);
		/* A key without a value is a line not yet filled in: the default stays. */
		if (yaml_is_null(child))
			continue;
		err = key->type->read(reader, child, child_field, key);
		if (err)
			return err;
	}
	return 0;
}

static void emit_members(struct emitter *emitter, const struct config *config,
			 const struct key *keys, unsigned int wanted_flags)
{
	for (; keys->name; keys++)
		if ((keys->flags & wanted_flags) == wanted_flags)
			keys->type->emit(emitter, config, keys);
}

/* --- the public face -------------------------------------------------------------------------- */

void config_default(struct config *ret_config)
{
	*ret_config = (struct config){
		.mode = MODE_ALLOCATE,
		.policy = policy_default(),
		.kube_reserved = RESOURCES_UNSET,
		.system_reserved = RESOURCES_UNSET,
		.enforcement = {ENFORCEMENT_ENFORCE, ENFORCEMENT_ENFORCE, ENFORCEMENT_ENFORCE,
				ENFORCEMENT_ENFORCE, ENFORCEMENT_ENFORCE},
		.max_containers = 1024,
		.sources = {.manifest_directory = PINFOLD_MANIFEST_DIR},
		.metrics = {.listen = PINFOLD_METRICS_ADDRESS, .level = METRICS_CONTAINER},
		.state_directory = PINFOLD_STATE_DIR,
		.runtime_directory = PINFOLD_RUNTIME_DIR,
	};
}

enum host_tasks config_host_tasks(const struct config *config)
{
	if (config->host_tasks != HOST_TASKS_AUTO)
		return config->host_tasks;
	return config->policy.cpu_options.strict_reservation ? HOST_TASKS_RESERVED
							     : HOST_TASKS_SHARED;
}

static int64_t cpu_of(const struct resources *resources)
{
	return resources->cpu_mcpu == RESOURCE_UNSET ? 0 : resources->cpu_mcpu;
}

/* What no single field shows. */
static int finish(struct reader *reader, const struct yaml_value *root)
{
	struct config *config = reader->config;
	const struct yaml_value *at = yaml_get(root, "hostTasks");

	/* Each is below 2^63 / 1000; together they may pass it, and mean "more than any machine". */
	if (__builtin_add_overflow(cpu_of(&config->kube_reserved), cpu_of(&config->system_reserved),
				   &config->policy.reserved_mcpu))
		return yaml_refuse(root, "kubeReserved.cpu", reader->error,
				   "together with systemReserved.cpu this is too large");
	if (config->host_tasks == HOST_TASKS_RESERVED &&
	    !config->policy.cpu_options.strict_reservation)
		return yaml_refuse(at ? at : root, "hostTasks", reader->error,
				   "'reserved' needs a strict reservation, or pods of the shared "
				   "pool would lose the reserved CPUs they may use; set "
				   "cpuManagerPolicyOptions.strict-cpu-reservation to \"true\" or "
				   "hostTasks to shared");
	return 0;
}

static int parse(const char *data, size_t len, bool kubelet, struct format_error *error,
		 struct config *config)
{
	const struct yaml_limits limits = {CONFIG_MAX_BYTES, 16, 1U << 14};
	struct yaml_tree *tree cleanup_yaml = NULL;
	struct config *changed cleanup_free = malloc(sizeof(*changed));
	struct reader reader = {error, changed, kubelet};
	size_t used;
	int err;

	if (!changed)
		return -ENOMEM;
	*changed = *config;
	err = yaml_parse(data, len, 1, &limits, error, &tree, &used);
	if (err)
		return err;
	if (used < len) {
		format_error_set(error, 0, 0, NULL, "more than one document; one is wanted here");
		return -EINVAL;
	}
	if (!tree->root || yaml_is_null(tree->root))
		return 0;
	err = read_members(&reader, tree->root, "", top_keys, kubelet ? KEY_KUBELET : 0);
	if (!err)
		err = finish(&reader, tree->root);
	if (!err)
		*config = *changed;
	return err;
}

int config_parse(const char *data, size_t len, struct format_error *error, struct config *config)
{
	return parse(data, len, false, error, config);
}

int config_import_kubelet(const char *data, size_t len, struct format_error *error,
			  struct config *config)
{
	return parse(data, len, true, error, config);
}

void config_render(const struct config *config, enum emit_style style, struct text *out)
{
	struct emitter emitter;

	emit_begin(&emitter, out, style);
	emit_members(&emitter, config, top_keys, 0);
	emit_end(&emitter);
}

void config_emit_policy(struct emitter *emitter, const char *key, const struct policy *policy)
{
	struct config *config cleanup_free = malloc(sizeof(*config));

	if (!config) {
		emitter->out->error = -ENOMEM;
		return;
	}
	config_default(config);
	config->policy = *policy;
	if (policy->reserved_mcpu)
		config->kube_reserved.cpu_mcpu = policy->reserved_mcpu;
	emit_map(emitter, key);
	emit_members(emitter, config, top_keys, KEY_POLICY);
	emit_close(emitter);
}

int config_read_policy(const struct yaml_value *map, const char *field, struct format_error *error,
		       struct policy *ret_policy)
{
	struct config *config cleanup_free = malloc(sizeof(*config));
	struct reader reader = {error, config, false};
	int err;

	if (!config)
		return -ENOMEM;
	config_default(config);
	err = read_members(&reader, map, field, top_keys, KEY_POLICY);
	if (!err)
		err = finish(&reader, map);
	if (!err)
		*ret_policy = config->policy;
	return err;
}
