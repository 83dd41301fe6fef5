/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file: text to struct config and back. Field names are those
 * of KubeletConfiguration where the kubelet has the field. What the machine
 * allows is policy_check's question, asked later with the topology at hand.
 */
#ifndef FORMAT_CONFIG_H
#define FORMAT_CONFIG_H

#include <pinfold/abi.h>

#include "core/pod/pod.h"
#include "core/policy/policy.h"
#include "format/emit.h"
#include "format/finding.h"
#include "format/yaml.h"

#define CONFIG_MAX_BYTES (1U << 18)
#define CONFIG_PATH_MAX	 192
/* A socket's path has 107 bytes, and its file name must fit too. */
#define CONFIG_RUNTIME_PATH_MAX 88
#define CONFIG_LISTEN_MAX	64
#define CONFIG_MAX_CONTAINERS	8192
#define CONFIG_DEBUGGERS_MAX	16

enum run_mode { MODE_ALLOCATE, MODE_GUARD, MODE_OBSERVE, MODE_NR };
enum enforcement { ENFORCEMENT_OFF, ENFORCEMENT_AUDIT, ENFORCEMENT_ENFORCE, ENFORCEMENT_NR };
enum host_tasks {
	HOST_TASKS_AUTO, /* follows the reservation: see config_host_tasks */
	HOST_TASKS_RESERVED,
	HOST_TASKS_SHARED,
	HOST_TASKS_FREE,
	HOST_TASKS_NR
};
enum partitions { PARTITIONS_AUTO, PARTITIONS_ISOLATED, PARTITIONS_OFF, PARTITIONS_NR };
enum interrupts { INTERRUPTS_LEAVE, INTERRUPTS_STEER, INTERRUPTS_NR };
/* What becomes of a runtime's container that cannot have the CPUs it is entitled to. */
enum runtime_refusals { RUNTIME_REFUSALS_DENY, RUNTIME_REFUSALS_SHARE, RUNTIME_REFUSALS_NR };
/* What becomes of a cpuset that differs from what a kubelet decided (mode guard). */
enum kubelet_enforcement { KUBELET_REPORT, KUBELET_REPAIR, KUBELET_ENFORCEMENT_NR };
enum runtime_writes { RUNTIME_WRITES_REPAIR, RUNTIME_WRITES_DENY, RUNTIME_WRITES_NR };
enum metrics_level { METRICS_NODE, METRICS_POD, METRICS_CONTAINER, METRICS_LEVEL_NR };

/* Each from the root of the cgroups, with a slash at the beginning and none at the end. */
struct cgroup_list {
	uint32_t nr;
	char paths[CONFIG_DEBUGGERS_MAX][CONFIG_PATH_MAX];
};

struct config {
	enum run_mode mode;
	/* All of it but `excluded`, which the machine tells. */
	struct policy policy;
	struct resources kube_reserved, system_reserved;
	/*
	 * evictionHard's memory.available: nobody is evicted here, but the kubelet counts it
	 * to what reservedMemory must sum up to. In bytes, or in thousandths of a percent of
	 * the machine's memory when that is not 0.
	 */
	struct {
		int64_t bytes;
		uint32_t percent_thousandths;
	} eviction_memory;
	struct {
		enum enforcement guard[ASPECT_NR], strangers, irq_masks;
		enum kubelet_enforcement kubelet;
		/* Cgroups, there or not, from which containers' processes may be attached to. */
		struct cgroup_list debuggers;
	} enforcement;
	enum host_tasks host_tasks;
	enum partitions partitions;
	enum interrupts interrupts;
	enum runtime_writes runtime_writes;
	enum runtime_refusals runtime_refusals;
	uint64_t guard_expiry_ns; /* 0 = never */
	uint32_t max_containers;
	struct {
		char manifest_directory[CONFIG_PATH_MAX]; /* "" = off */
		bool kubepods;
		char nri[CONFIG_PATH_MAX];		 /* socket; "" = off */
		char kubelet_directory[CONFIG_PATH_MAX]; /* has its state file; "" = off */
		/* Has the state directories of container runtimes; "" = off. */
		char runtime_state_directory[CONFIG_PATH_MAX];
	} sources;
	struct {
		char listen[CONFIG_LISTEN_MAX]; /* ADDRESS:PORT or [ADDRESS]:PORT; "" = off */
		enum metrics_level level;
		bool page; /* HTML for people at / of the same address */
	} metrics;
	char state_directory[CONFIG_PATH_MAX];
	char runtime_directory[CONFIG_RUNTIME_PATH_MAX];
};

/* Every option as it is where the file does not set it. */
void config_default(struct config *ret_config);

/*
 * Lay the file's fields over `config` (defaults, or an import). Unknown keys
 * are errors. -EINVAL with `error`, -ENOMEM; `config` is untouched on failure.
 * An empty file changes nothing.
 */
int config_parse(const char *data, size_t len, struct format_error *error, struct config *config);

/*
 * The same for a file that is not ours but has some of our fields, those that `fields`
 * lists up to a NULL: all others are ignored, and so are gates and signals not known here.
 */
int config_parse_fields(const char *data, size_t len, const char *const *fields,
			struct format_error *error, struct config *config);

/*
 * Would the agent take this configuration on this machine? The one answer for its
 * start, a reload, --check-config and the inspector. `special` are CPUs the kernel
 * was told to leave alone. *ret_policy is the configuration's with what the machine
 * adds; it may be the configuration's own. -EINVAL with a sentence (size >= 512) that
 * names the field, or -ENOMEM.
 */
int config_check(const struct config *config, const struct topology *topology,
		 const struct cpuset *special, struct policy *ret_policy, char *error,
		 size_t error_size);

/*
 * Options that are accepted, because a kubelet's or a later file may carry them, and do
 * nothing yet: the words of the running agent's finding and of --check-config.
 */
struct config_unbuilt {
	bool is_asked;
	enum finding finding;
	char message[96];
};

#define CONFIG_UNBUILT_NR     3
#define CONFIG_UNBUILT_REMEDY "remove it from the configuration, or do without what it asks"

/* Which of the options that this version accepts, but does not follow, are asked for. */
void config_list_unbuilt(const struct config *config,
			 struct config_unbuilt ret_options[CONFIG_UNBUILT_NR]);

/*
 * What the configured mode promises by its name and the agent does not do, as a sentence; NULL =
 * nothing.
 */
const char *config_unbuilt_mode(const struct config *config);

/* The effective configuration, all fields; config_parse reads it back to an equal one. */
void config_render(const struct config *config, enum emit_style style, struct text *out);

/*
 * Does `next` change a field that takes effect at a start only? Then `ret_field`
 * names the first, as the file does; else it is "". True also when that could
 * not be found out for want of memory.
 */
bool config_needs_restart(const struct config *now, const struct config *next,
			  char ret_field[FORMAT_FIELD_MAX]);

/* Never AUTO: reserved under a strict reservation, else free, which changes nothing of the host's. */
enum host_tasks config_host_tasks(const struct config *config);

/* The deciding fields alone, as a mapping under `key` (`reserved_mcpu` as kubeReserved). */
void config_emit_policy(struct emitter *emitter, const char *key, const struct policy *policy);
/* And back; starts from policy_default(). -EINVAL with `error`. */
int config_read_policy(const struct yaml_value *map, const char *field, struct format_error *error,
		       struct policy *ret_policy);

/*
 * Does an agent in this mode make or write cgroups, load BPF programs, or change anything else of
 * the machine?
 */
bool run_mode_writes(enum run_mode mode);
/* The mode that the guard is to have: off in run modes that change nothing. */
enum enforcement config_guard_mode(const struct config *config, enum aspect aspect);
/*
 * Does the agent write the cpusets of containers that a kubelet made, and load BPF programs to learn
 * who else does? In mode guard only, although run_mode_writes() says that it changes nothing else.
 */
bool config_repairs_kubelet(const struct config *config);
/* Does the agent write the cpusets of containers that it finds below kubepods? In mode allocate only. */
bool config_pins_kubepods(const struct config *config);
/* Are the pods of a container runtime among those that it decides on, however it learns of them? */
bool config_has_runtime(const struct config *config);
/* -EINVAL, and *ret_mode untouched, if no mode has this name. */
int run_mode_parse(const char *name, enum run_mode *ret_mode);
/* Each value by its word in the configuration file; never NULL for a valid one. */
const char *run_mode_name(enum run_mode mode);
const char *enforcement_name(enum enforcement enforcement);
const char *host_tasks_name(enum host_tasks tasks);
const char *partitions_name(enum partitions partitions);
const char *interrupts_name(enum interrupts interrupts);
const char *kubelet_enforcement_name(enum kubelet_enforcement enforcement);
const char *runtime_writes_name(enum runtime_writes writes);
const char *runtime_refusals_name(enum runtime_refusals refusals);
const char *metrics_level_name(enum metrics_level level);

#endif
