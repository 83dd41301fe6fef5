// SPDX-License-Identifier: Apache-2.0
/*
 * One table per level of the file: a key, its type, its place in struct config.
 * Reading and writing walk the same tables, so a field cannot be readable but not
 * shown.
 */
#include "format/config_private.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <pinfold/names.h>

#define AT(field) offsetof(struct config, field)

/* --- words ------------------------------------------------------------------------------------ */

static const char *const run_mode_words[MODE_NR] = {"allocate", "guard", "observe"};
static const char *const enforcement_words[ENFORCEMENT_NR] = {"off", "audit", "enforce"};
static const char *const host_tasks_words[HOST_TASKS_NR] = {"auto", "reserved", "shared", "free"};
static const char *const partitions_words[PARTITIONS_NR] = {"auto", "isolated", "off"};
static const char *const interrupts_words[INTERRUPTS_NR] = {"leave", "steer"};
static const char *const kubelet_words[KUBELET_ENFORCEMENT_NR] = {"report", "repair"};
static const char *const runtime_writes_words[RUNTIME_WRITES_NR] = {"repair", "deny"};
static const char *const runtime_refusals_words[RUNTIME_REFUSALS_NR] = {"deny", "share"};
static const char *const metrics_level_words[METRICS_LEVEL_NR] = {"node", "pod", "container"};
/* Capital letters as the kubelet writes them here, and only here. */
static const char *const memory_policy_words[MEMORY_POLICY_NR] = {
	[MEMORY_POLICY_NONE] = "None",
	[MEMORY_POLICY_STATIC] = "Static",
};
const char *run_mode_name(enum run_mode mode)
{
	return run_mode_words[mode];
}

bool run_mode_writes(enum run_mode mode)
{
	return mode == MODE_ALLOCATE;
}

int run_mode_parse(const char *name, enum run_mode *ret_mode)
{
	for (enum run_mode mode = 0; mode < MODE_NR; mode++) {
		if (strcmp(name, run_mode_words[mode]))
			continue;
		*ret_mode = mode;
		return 0;
	}
	return -EINVAL;
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

enum enforcement config_guard_mode(const struct config *config, enum aspect aspect)
{
	return run_mode_writes(config->mode) ? config->enforcement.guard[aspect] : ENFORCEMENT_OFF;
}

bool config_repairs_kubelet(const struct config *config)
{
	return config->mode == MODE_GUARD && config->enforcement.kubelet == KUBELET_REPAIR;
}

bool config_pins_kubepods(const struct config *config)
{
	return config->mode == MODE_ALLOCATE && config->sources.kubepods;
}

bool config_has_runtime(const struct config *config)
{
	return *config->sources.nri || config_pins_kubepods(config);
}

const char *kubelet_enforcement_name(enum kubelet_enforcement enforcement)
{
	return kubelet_words[enforcement];
}

const char *runtime_writes_name(enum runtime_writes writes)
{
	return runtime_writes_words[writes];
}

const char *runtime_refusals_name(enum runtime_refusals refusals)
{
	return runtime_refusals_words[refusals];
}

const char *metrics_level_name(enum metrics_level level)
{
	return metrics_level_words[level];
}

/* --- groups and the tables -------------------------------------------------------------------- */

static int read_members(struct config_reader *reader, const struct yaml_value *map,
			const char *field, const struct key *keys, unsigned int wanted_flags);
static void emit_members(struct emitter *emitter, const struct config *config,
			 const struct key *keys, unsigned int wanted_flags);

static int read_group(struct config_reader *reader, const struct yaml_value *value,
		      const char *field, const struct key *key)
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

#define WORD(key_name, field, names, key_flags)                                  \
	{                                                                        \
		.name = (key_name), .type = &config_word, .offset = AT(field),   \
		.flags = (key_flags), .words = (names), .max = ARRAY_SIZE(names) \
	}
#define KEY(key_name, key_type_, field, key_flags)                             \
	{                                                                      \
		.name = (key_name), .type = &(key_type_), .offset = AT(field), \
		.flags = (key_flags)                                           \
	}
#define TEXT_KEY(key_name, key_type_, field, key_flags)                          \
	{                                                                        \
		.name = (key_name), .type = &(key_type_), .offset = AT(field),   \
		.flags = (key_flags), .max = sizeof(((struct config *)0)->field) \
	}
#define GROUP(key_name, keys)                                              \
	{                                                                  \
		.name = (key_name), .type = &group_type, .members = (keys) \
	}

static const struct key enforcement_keys[] = {
	/* The names are those of aspect_option(). */
	WORD("cpusetFiles", enforcement.guard[ASPECT_CPUSET_FILES], enforcement_words, 0),
	WORD("affinity", enforcement.guard[ASPECT_AFFINITY], enforcement_words, 0),
	WORD("cgroupMoves", enforcement.guard[ASPECT_CGROUP_MOVES], enforcement_words, 0),
	WORD("memoryMoves", enforcement.guard[ASPECT_MEMORY_MOVES], enforcement_words, 0),
	WORD("priorities", enforcement.guard[ASPECT_PRIORITIES], enforcement_words, 0),
	WORD("debugging", enforcement.guard[ASPECT_DEBUGGING], enforcement_words, 0),
	WORD("guardFiles", enforcement.guard[ASPECT_GUARD_FILES], enforcement_words, 0),
	WORD("strangers", enforcement.strangers, enforcement_words, 0),
	WORD("irqMasks", enforcement.irq_masks, enforcement_words, 0),
	WORD("kubelet", enforcement.kubelet, kubelet_words, KEY_RESTART),
	KEY("debuggers", config_cgroups, enforcement.debuggers, 0),
	{0},
};

static const struct key source_keys[] = {
	TEXT_KEY("manifestDirectory", config_optional_path, sources.manifest_directory,
		 KEY_RESTART),
	KEY("kubepods", config_flag, sources.kubepods, KEY_RESTART),
	TEXT_KEY("nri", config_optional_path, sources.nri, KEY_RESTART),
	TEXT_KEY("kubeletDirectory", config_optional_path, sources.kubelet_directory, KEY_RESTART),
	TEXT_KEY("runtimeStateDirectory", config_optional_path, sources.runtime_state_directory,
		 KEY_RESTART),
	{0},
};

static const struct key metrics_keys[] = {
	TEXT_KEY("listen", config_listen, metrics.listen, KEY_RESTART),
	WORD("level", metrics.level, metrics_level_words, 0),
	KEY("page", config_flag, metrics.page, 0),
	{0},
};

static const struct key top_keys[] = {
	WORD("mode", mode, run_mode_words, KEY_RESTART),
	WORD("cpuManagerPolicy", policy.cpu, cpu_policy_names, KEY_POLICY),
	KEY("cpuManagerPolicyOptions", config_cpu_options, policy, KEY_POLICY),
	KEY("reservedSystemCPUs", config_reserved_cpus, policy, KEY_POLICY),
	KEY("kubeReserved", config_reservation, kube_reserved, KEY_POLICY),
	KEY("systemReserved", config_reservation, system_reserved, 0),
	KEY("evictionHard", config_eviction, eviction_memory, 0),
	WORD("topologyManagerPolicy", policy.align, align_policy_names, KEY_POLICY),
	WORD("topologyManagerScope", policy.scope, align_scope_names, KEY_POLICY),
	KEY("topologyManagerPolicyOptions", config_align_options, policy, KEY_POLICY),
	WORD("memoryManagerPolicy", policy.memory, memory_policy_words, KEY_POLICY),
	KEY("reservedMemory", config_reserved_memory, policy, KEY_POLICY),
	KEY("featureGates", config_gates, policy, KEY_POLICY),
	WORD("compatibility", policy.compatibility, compatibility_names, KEY_POLICY),
	GROUP("enforcement", enforcement_keys),
	WORD("hostTasks", host_tasks, host_tasks_words, 0),
	WORD("partitions", partitions, partitions_words, 0),
	WORD("interrupts", interrupts, interrupts_words, 0),
	WORD("runtimeWrites", runtime_writes, runtime_writes_words, 0),
	WORD("runtimeRefusals", runtime_refusals, runtime_refusals_words, 0),
	KEY("guardExpiry", config_duration, guard_expiry_ns, 0),
	{.name = "maxContainers",
	 .type = &config_count,
	 .offset = AT(max_containers),
	 .flags = KEY_RESTART,
	 .max = CONFIG_MAX_CONTAINERS},
	GROUP("sources", source_keys),
	GROUP("metrics", metrics_keys),
	TEXT_KEY("stateDirectory", config_directory, state_directory, KEY_RESTART),
	TEXT_KEY("runtimeDirectory", config_directory, runtime_directory, KEY_RESTART),
	{0},
};

/* --- walking the tables ----------------------------------------------------------------------- */

static int refuse_key(struct config_reader *reader, const struct yaml_value *value,
		      const char *field, const struct key *keys)
{
	const struct key *nearest = NULL;
	unsigned int best = FORMAT_SLIPS_MAX + 1;

	for (const struct key *key = keys; key->name; key++) {
		unsigned int distance = format_slips(value->key, key->name);

		if (distance < best) {
			best = distance;
			nearest = key;
		}
	}
	format_error_set(reader->error, value->key_line, value->key_column, field,
			 "unknown key; %s%s%s", nearest ? "did you mean '" : "remove it",
			 nearest ? nearest->name : "",
			 nearest ? "'?" : " (to read a kubelet's own file, use --kubelet-config)");
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

static bool is_listed(const char *const *fields, const char *name)
{
	for (; *fields; fields++)
		if (!strcmp(*fields, name))
			return true;
	return false;
}

static int read_members(struct config_reader *reader, const struct yaml_value *map,
			const char *field, const struct key *keys, unsigned int wanted_flags)
{
	char child_field[FORMAT_FIELD_MAX];
	int err = yaml_read_map(map, field, reader->error);

	if (err)
		return err;
	yaml_for_each(child, map)
	{
		const struct key *key = find_key(keys, child->key, wanted_flags);

		if (reader->fields && !is_listed(reader->fields, child->key))
			continue;
		format_member(child_field, field, child->key);
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
		.eviction_memory = {.bytes = 100LL << 20},
		.enforcement = {.guard = {[ASPECT_CPUSET_FILES] = ENFORCEMENT_ENFORCE,
					  [ASPECT_AFFINITY] = ENFORCEMENT_ENFORCE,
					  [ASPECT_CGROUP_MOVES] = ENFORCEMENT_ENFORCE,
					  [ASPECT_MEMORY_MOVES] = ENFORCEMENT_ENFORCE,
					  [ASPECT_PRIORITIES] = ENFORCEMENT_ENFORCE,
					  [ASPECT_DEBUGGING] = ENFORCEMENT_AUDIT,
					  [ASPECT_GUARD_FILES] = ENFORCEMENT_ENFORCE},
				.irq_masks = ENFORCEMENT_ENFORCE},
		.max_containers = 1024,
		.sources = {.manifest_directory = PINFOLD_MANIFEST_DIR,
			    .kubelet_directory = PINFOLD_KUBELET_DIR,
			    .runtime_state_directory = PINFOLD_RUNTIMES_DIR},
		.metrics = {.listen = PINFOLD_METRICS_ADDRESS,
			    .level = METRICS_CONTAINER,
			    .page = true},
		.state_directory = PINFOLD_STATE_DIR,
		.runtime_directory = PINFOLD_RUNTIME_DIR,
	};
}

/* As the text that is shown, so that the types need no third function. */
static void show_value(const struct config *config, const struct key *key, struct text *out)
{
	struct emitter emitter;

	emit_begin(&emitter, out, EMIT_JSON);
	key->type->emit(&emitter, config, key);
	emit_end(&emitter);
}

static bool is_same(const struct config *a, const struct config *b, const struct key *key)
{
	struct text text_a cleanup_text = {0};
	struct text text_b cleanup_text = {0};

	show_value(a, key, &text_a);
	show_value(b, key, &text_b);
	return !text_a.error && !text_b.error && !strcmp(text_a.data, text_b.data);
}

static bool changes_fixed(const struct config *now, const struct config *next,
			  const struct key *keys, const char *field,
			  char ret_field[FORMAT_FIELD_MAX])
{
	for (; keys->name; keys++) {
		format_member(ret_field, field, keys->name);
		if ((keys->flags & KEY_RESTART) && !is_same(now, next, keys))
			return true;
		if (keys->members && changes_fixed(now, next, keys->members, keys->name, ret_field))
			return true;
	}
	*ret_field = '\0';
	return false;
}

bool config_needs_restart(const struct config *now, const struct config *next,
			  char ret_field[FORMAT_FIELD_MAX])
{
	return changes_fixed(now, next, top_keys, "", ret_field);
}

enum host_tasks config_host_tasks(const struct config *config)
{
	if (config->host_tasks != HOST_TASKS_AUTO)
		return config->host_tasks;
	return config->policy.cpu_options.strict_reservation ? HOST_TASKS_RESERVED
							     : HOST_TASKS_FREE;
}

static int64_t cpu_of(const struct resources *resources)
{
	return resources->cpu_mcpu == RESOURCE_UNSET ? 0 : resources->cpu_mcpu;
}

/* What no single field shows. */
static int finish(struct config_reader *reader, const struct yaml_value *root)
{
	struct config *config = reader->config;
	const struct yaml_value *at = yaml_get(root, "hostTasks");

	/* Each is below 2^63 / 1000; together they may pass it, and mean "more than any machine". */
	if (__builtin_add_overflow(cpu_of(&config->kube_reserved), cpu_of(&config->system_reserved),
				   &config->policy.reserved_mcpu))
		return yaml_refuse(root, "kubeReserved.cpu", reader->error,
				   "the sum with systemReserved.cpu is too large");
	if (config->host_tasks == HOST_TASKS_RESERVED &&
	    !config->policy.cpu_options.strict_reservation)
		return yaml_refuse(at ? at : root, "hostTasks", reader->error,
				   "'reserved' needs a strict reservation, because pods of the "
				   "shared pool may use the reserved CPUs otherwise; set "
				   "cpuManagerPolicyOptions.strict-cpu-reservation to \"true\" "
				   "or hostTasks to shared");
	return 0;
}

int config_parse_fields(const char *data, size_t len, const char *const *fields,
			struct format_error *error, struct config *config)
{
	const struct yaml_limits limits = {CONFIG_MAX_BYTES, 16, 1U << 14};
	struct yaml_tree *tree cleanup_yaml = NULL;
	struct config *changed cleanup_free = malloc(sizeof(*changed));
	struct config_reader reader = {error, changed, fields};
	size_t used;
	int err;

	if (!changed)
		return -ENOMEM;
	*changed = *config;
	err = yaml_parse(data, len, 1, &limits, error, &tree, &used);
	if (err)
		return err;
	if (used < len) {
		format_error_set(error, 0, 0, NULL, "more than one document; expected one");
		return -EINVAL;
	}
	if (!tree->root || yaml_is_null(tree->root))
		return 0;
	err = read_members(&reader, tree->root, "", top_keys, 0);
	if (!err)
		err = finish(&reader, tree->root);
	if (!err)
		*config = *changed;
	return err;
}

int config_parse(const char *data, size_t len, struct format_error *error, struct config *config)
{
	return config_parse_fields(data, len, NULL, error, config);
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
	struct config_reader reader = {error, config, NULL};
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
