// SPDX-License-Identifier: Apache-2.0
/* The configuration in force and the policy it makes on this machine. */
#include "format/config.h"
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/words.h"

#include "core/quantity.h"

struct memory_reservation_row {
	uint32_t numa;
	const char *type;
	uint64_t bytes;
};

static const struct field_desc memory_reservation_fields[] = {
	COUNT(memory_reservation_row, numa, NULL, 0, "Id of the NUMA node."),
	TEXT(memory_reservation_row, type, NULL, 0, "memory or hugepages-<size>."),
	BYTES(memory_reservation_row, bytes, NULL, 0, "Kept for the system."),
};
static DESCRIBE_PART(memory_reservation_row, memory_reservation_fields, .layout = OBJECT_TABLE);

struct enforcement_row {
	const char *what;
	const char *level;
};

static const struct field_desc enforcement_fields[] = {
	TEXT(enforcement_row, what, "enforcement", 0, "Aspect of the guard."),
	WORD(enforcement_row, level, NULL, 0,
	     "Denied and recorded, allowed and recorded, or neither; of kubelet, whether what "
	     "differs is put back, or only reported.",
	     "enforce", "audit", "off", "repair", "report"),
};
static DESCRIBE_PART(enforcement_row, enforcement_fields, .layout = OBJECT_TABLE);

struct view_policy {
	const char *file, *mode, *compatibility;
	const char *cpu_manager_policy;
	const char *const *cpu_manager_policy_options;
	size_t nr_cpu_manager_policy_options;
	const struct cpuset *reserved_system_cpus, *reserved, *excluded;
	int64_t reserved_mcpu;
	const char *topology_manager_policy;
	enum align_scope topology_manager_scope;
	bool prefer_closest_numa_nodes;
	uint32_t max_allowable_numa_nodes;
	enum memory_policy memory_manager_policy;
	bool pod_level_managers;
	const char *host_tasks, *partitions, *interrupts, *runtime_writes;
	struct memory_reservation_row *reserved_memory;
	size_t nr_reserved_memory;
	const char *const *debuggers;
	size_t nr_debuggers;
	const struct enforcement_row *enforcement;
	size_t nr_enforcement;
};

static const struct field_desc policy_fields[] = {
	TEXT(view_policy, file, "policy", HEAD | OR_NULL, "The source of the configuration."),
	TEXT(view_policy, mode, NULL, HEAD | OR_NULL, "allocate, guard or observe."),
	TEXT(view_policy, compatibility, NULL, HEAD, "Whether the kubelet's defects are repaired."),
	TEXT(view_policy, cpu_manager_policy, "cpuManagerPolicy", LINE, "cpuManagerPolicy."),
	TEXTS(view_policy, cpu_manager_policy_options, "options", 0,
	      "Names of the options that are set."),
	CPUS(view_policy, reserved_system_cpus, "reservedSystemCPUs", LINE | OR_NULL,
	     "The list as configured."),
	COUNT(view_policy, reserved_mcpu, "kubeReserved and systemReserved mcpu", 0,
	      "Sum of kubeReserved and systemReserved."),
	CPUS(view_policy, reserved, NULL, OR_NULL, "CPUs that are actually reserved."),
	CPUS(view_policy, excluded, NULL, 0, "CPUs that are never granted."),
	TEXT(view_policy, topology_manager_policy, "topologyManagerPolicy", LINE,
	     "topologyManagerPolicy."),
	WORD(view_policy, topology_manager_scope, "scope", 0, "topologyManagerScope.",
	     [ALIGN_SCOPE_CONTAINER] = "container", [ALIGN_SCOPE_POD] = "pod"),
	ANSWER(view_policy, prefer_closest_numa_nodes, "prefer closest", 0,
	       "prefer-closest-numa-nodes."),
	COUNT(view_policy, max_allowable_numa_nodes, "max nodes", OR_NULL,
	      "max-allowable-numa-nodes; null = no limit."),
	WORD(view_policy, memory_manager_policy, "memoryManagerPolicy", LINE,
	     "memoryManagerPolicy.", [MEMORY_POLICY_NONE] = "None",
	     [MEMORY_POLICY_STATIC] = "Static"),
	ANSWER(view_policy, pod_level_managers, "pod level managers", 0,
	       "Pods with pod-level resources get exclusive CPUs."),
	TEXT(view_policy, host_tasks, "hostTasks", LINE | OR_NULL, "hostTasks."),
	TEXT(view_policy, partitions, NULL, OR_NULL, "partitions."),
	TEXT(view_policy, interrupts, NULL, OR_NULL, "interrupts."),
	TEXT(view_policy, runtime_writes, "runtimeWrites", OR_NULL, "runtimeWrites."),
	TEXTS(view_policy, debuggers, NULL, LINE,
	      "Cgroups from which debuggers may attach to processes of containers."),
	LIST(view_policy, reserved_memory, memory_reservation_row, "reservedMemory", 0,
	     "reservedMemory."),
	LIST(view_policy, enforcement, enforcement_row, NULL, BARE, "Per aspect of the guard."),
};
DESCRIBE(view_policy, policy_fields, "policy", "The configuration in force.");

#define MAX_CPU_OPTIONS 6

/* Names of the options that are on, as the configuration has them. */
static size_t list_options(const struct cpu_options *options, const char *names[MAX_CPU_OPTIONS])
{
	const struct {
		bool on;
		const char *name;
	} all[MAX_CPU_OPTIONS] = {
		{options->full_pcpus_only, "full-pcpus-only"},
		{options->distribute_across_numa, "distribute-cpus-across-numa"},
		{options->align_by_socket, "align-by-socket"},
		{options->distribute_across_cores, "distribute-cpus-across-cores"},
		{options->strict_reservation, "strict-cpu-reservation"},
		{options->prefer_uncore, "prefer-align-cpus-by-uncorecache"},
	};
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].on)
			names[nr++] = all[i].name;
	}
	return nr;
}

static void fill_reservations(struct arena *arena, const struct policy *policy,
			      struct view_policy *row)
{
	row->reserved_memory =
		arena_array(arena, policy->nr_memory_reservations, sizeof(*row->reserved_memory));
	for (uint32_t i = 0; row->reserved_memory && i < policy->nr_memory_reservations; i++) {
		const struct memory_reservation *reservation = &policy->memory_reservations[i];

		row->reserved_memory[row->nr_reserved_memory++] = (struct memory_reservation_row){
			.numa = reservation->node_id,
			.type = memory_name(arena, reservation->size_bytes),
			.bytes = reservation->bytes,
		};
	}
}

/* Returns how many there are; `rows` has room for each aspect of the guard and three more. */
static size_t fill_enforcement(const struct config *config, struct enforcement_row *rows)
{
	size_t nr = 0;

	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		rows[nr++] = (struct enforcement_row){
			aspect_option(aspect),
			enforcement_name(config->enforcement.guard[aspect]),
		};
	rows[nr++] = (struct enforcement_row){"strangers",
					      enforcement_name(config->enforcement.strangers)};
	rows[nr++] = (struct enforcement_row){"irqMasks",
					      enforcement_name(config->enforcement.irq_masks)};
	rows[nr++] = (struct enforcement_row){
		"kubelet", kubelet_enforcement_name(config->enforcement.kubelet)};
	return nr;
}

struct json_object *view_policy(const struct config *config, const char *file,
				const struct policy *policy, const struct cpuset *reserved)
{
	struct enforcement_row enforcement[ASPECT_NR + 3];
	struct arena arena cleanup_arena = {0};
	const char *options[MAX_CPU_OPTIONS], *debuggers[CONFIG_DEBUGGERS_MAX];
	struct view_policy row = {
		.file = file,
		.mode = run_mode_name(config->mode),
		.compatibility = compatibility_name(policy->compatibility),
		.cpu_manager_policy = cpu_policy_name(policy->cpu),
		.cpu_manager_policy_options = options,
		.nr_cpu_manager_policy_options = list_options(&policy->cpu_options, options),
		.reserved_system_cpus = policy->has_reserved_list ? &policy->reserved_list : NULL,
		.reserved_mcpu = policy->reserved_mcpu,
		.reserved = reserved,
		.excluded = &policy->excluded,
		.topology_manager_policy = align_policy_name(policy->align),
		.topology_manager_scope = policy->scope,
		.prefer_closest_numa_nodes = policy->prefer_closest_nodes,
		.max_allowable_numa_nodes = policy->max_nodes,
		.memory_manager_policy = policy->memory,
		.pod_level_managers = policy->pod_level_managers,
		.host_tasks = host_tasks_name(config_host_tasks(config)),
		.partitions = partitions_name(config->partitions),
		.interrupts = interrupts_name(config->interrupts),
		.runtime_writes = runtime_writes_name(config->runtime_writes),
		.debuggers = debuggers,
		.nr_debuggers = config->enforcement.debuggers.nr,
		.enforcement = enforcement,
		.nr_enforcement = fill_enforcement(config, enforcement),
	};

	for (uint32_t i = 0; i < config->enforcement.debuggers.nr; i++)
		debuggers[i] = config->enforcement.debuggers.paths[i];
	fill_reservations(&arena, policy, &row);
	return view_finish(&arena, &view_policy_desc, &row, 1);
}
