/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structs that the tables of objects are bound to, for those who read an object
 * of the interface (object_read): a member is a key of the JSON. What text, sets and
 * lists point at belongs to somebody else.
 */
#ifndef FORMAT_VIEW_OBJECTS_H
#define FORMAT_VIEW_OBJECTS_H

#include <pinfold/abi.h>
#include <pinfold/noise.h>
#include <pinfold/pressure.h>

#include "core/admit/admit.h"
#include "format/rows.h"
#include "format/stranger_report.h"
#include "format/words.h"

/* --- parts ------------------------------------------------------------------------------------ */

/* The machine in numbers, and its pools. */
struct machine_row {
	uint32_t cpus, cores, uncores, numa_nodes, sockets;
	const struct cpuset *shared_pool, *reserved, *exclusive, *excluded;
};

/* Behind the fields of a refusal, wherever one is shown. */
struct changes_row {
	const struct change_row *change;
	struct change_row *others;
	size_t nr_others;
};

/* How nodes were chosen: of a container, or of a refused pod. */
struct hints_row {
	struct hint_row *hints;
	size_t nr_hints;
	const struct merge_row *merge;
};

/* --- objects ---------------------------------------------------------------------------------- */

enum cpu_state { CPU_RESERVED, CPU_SHARED, CPU_EXCLUSIVE, CPU_POD_SHARED, CPU_EXCLUDED };

struct view_cpu {
	uint32_t cpu, core, uncore, numa, socket;
	enum cpu_state state;
	bool in_shared_pool;
	const char *owner, *owner_uid;
};

/* One type of a NUMA node's memory, in bytes; -1 = not known. */
struct numa_memory_row {
	const char *type;
	uint64_t total_bytes, reserved_bytes, granted_bytes, free_bytes;
	int64_t kernel_free_bytes, missing_bytes;
};

struct view_numa_distance {
	uint32_t numa, distance;
};

/* A container that was granted CPUs or memory of a NUMA node. */
struct view_numa_container {
	const char *namespace, *pod, *container;
	enum isolation isolation;
	const struct cpuset *cpus; /* of the node */
	bool memory;
};

struct view_numa {
	uint32_t numa;
	const struct cpuset *cpus, *reserved, *shared, *exclusive;
	uint32_t free_cores, largest_request;
	struct numa_memory_row *memory;
	size_t nr_memory;
	int64_t wait_ns, window_ns; /* -1 = not known, as the following */
	int wait_percent;	    /* of the window */
	const struct view_numa_distance *distances;
	size_t nr_distances;
	const struct view_numa_container *containers;
	size_t nr_containers;
};

struct view_node {
	int schema_version;
	/* "agent", "state", "options", "simulate": who says this */
	const char *source;
	const char *mode;	   /* "allocate", "guard", "observe" */
	int ready;		   /* 1, 0; -1 = not known */
	const char *not_ready;	   /* why it is 0; NULL = nobody says */
	const char *kernel;	   /* release */
	const char *hierarchy;	   /* who makes our cgroups: "systemd", "cgroupfs" */
	const char *workload_root; /* "pinfold.slice" */
	const char *partition;	   /* "root", "member", or the kernel's "root invalid (…)" */
	const char *guard;	   /* the mode in force, "partial", "absent" or "unknown" */
	const char *tiers;	   /* mechanisms in force: "0 1 2" */
	struct machine_row machine;
	uint32_t pods, containers;
	struct numa_row *nodes;
	size_t nr_nodes;
	const struct finding_row *findings;
	size_t nr_findings;
};

struct view_pod {
	const char *namespace, *name;
	enum qos_class qos;
	enum pod_condition state;
	const char *scope, *uid;
	const struct cpuset *bubble, *exclusive, *pool, *held;
	int64_t cpu_request_mcpu, cpu_limit_mcpu, memory_request_bytes, memory_limit_bytes;
	const char *detail;
	struct pod_container_row *containers;
	size_t nr_containers;
};
struct view_container {
	const char *namespace, *pod, *container, *uid;
	enum container_kind kind;
	enum isolation isolation;
	const struct cpuset *cpus, *mems;
	const char *effective_cpus, *effective_mems; /* text of cpuset.*.effective */
	const char *partition;			     /* text of cpuset.cpus.partition */
	const char *cpu_max, *memory_max;
	int64_t cpu_weight;
	/* -1 = not known, all of them; since the container's start */
	int64_t processes, run_ns, wait_ns, migrations_within_node, migrations_across_nodes;
	int64_t cause_ns[WAIT_CAUSE_NR]; /* parts of wait_ns, by enum wait_cause */
	const char *cgroup;		 /* relative to the cgroup mount */
};

enum placement_state { PLACEMENT_UNKNOWN, PLACEMENT_COUNTED, PLACEMENT_STATE_NR };

/* Tasks of a container with the same affinity. */
struct view_placement_affinity {
	const struct cpuset *cpus;
	uint32_t tasks;
	int narrower; /* than the effective cpuset; -1 = not known */
	uint32_t task;
};

/* A CPU on which a container ran. */
struct view_placement_cpu {
	uint32_t cpu;
	int64_t numa; /* as the following, -1 = not known */
	int granted, local;
	int64_t run_ns, outside_ns, wait_ns, switches, preemptions, migrations;
	int run_percent; /* of all its run time */
	int64_t window_run_ns;
	int window_percent; /* of the window */
};

/* Where a container may run, where its tasks want to, and where they did; -1 = not known. */
struct view_placement {
	const char *namespace, *pod, *container, *uid;
	enum isolation isolation;
	enum placement_state state;
	const char *cpus, *mems; /* as they are written to the cpuset; NULL = not restricted */
	const struct cpuset *effective_cpus, *effective_mems;
	int64_t run_ns, outside_ns, remote_ns;
	int64_t switches, preemptions;
	int64_t migrations_thread, migrations_core, migrations_llc, migrations_numa;
	int64_t window_ns, window_run_ns, window_outside_ns, window_remote_ns;
	int64_t tasks, narrower_tasks, tasks_left_out, places_left_out;
	size_t nr_affinities, nr_places;
	const struct view_placement_affinity *affinities;
	const struct view_placement_cpu *places;
};

/* Whose placement is asked for: the body of POST /v1/container/placement. */
struct view_placement_request {
	const char *pod, *container; /* container NULL = all of the pod */
};

/* How much of a CPU all containers together had. */
struct view_cpu_use {
	uint32_t cpu;
	int64_t run_ns, window_ns;
};

/* Totals of the agent and of its BPF programs at one moment; -1 = not known. */
struct view_usage_prog {
	uint32_t id;
	const char *name, *object, *hook; /* hook: NULL = none */
	int64_t run_time_ns, run_count;
};
struct view_usage {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpus;
	int64_t agent_ns, agent_memory_bytes;
	struct view_usage_prog *programs;
	size_t nr_programs;
};
/* What they grew by from one moment to another; -1 = not known, percentages in hundredths. */
struct view_cost_prog {
	const char *name, *object, *hook;
	int64_t runs_per_second, ns_per_run, ns_per_second;
	int machine_percent;
};
struct view_cost {
	int64_t measured_ns;
	uint32_t cpus;
	int64_t agent_ns_per_second;
	int agent_percent;
	int64_t agent_memory_bytes, programs_ns_per_second;
	int programs_percent;
	struct view_cost_prog *programs;
	size_t nr_programs;
};

struct view_refusal {
	const char *namespace, *name, *uid;
	const char *reason, *refusal, *container;
	int64_t wanted, available;
	const char *unit, *message, *suggestion, *file;
	unsigned int line;
	struct changes_row changes;
};
struct view_explain {
	const char *namespace, *name, *uid;
	const char *outcome, *qos, *state;
	const char *reason, *refusal, *container;
	int64_t wanted, available;
	const char *unit, *grant, *message, *suggestion, *remedy, *file;
	unsigned int line;
	const char *detail;
	const struct cpuset *bubble, *held;
	struct changes_row changes;
	const struct warning_row *warnings;
	size_t nr_warnings;
	struct explain_container_row *containers;
	size_t nr_containers;
	struct hints_row hints;
	struct option_row *options;
	size_t nr_options;
	struct free_row *nodes;
	size_t nr_nodes;
	struct pinned_row *memory;
	size_t nr_memory;
};

struct view_drift {
	const char *cgroup, *attribute, *wanted, *found, *action, *cause;
	bool open;
	uint64_t since_ns, repaired_ns;
	int64_t lasted_ns; /* -1 = not known: still open, or the clock was set back meanwhile */
	uint32_t pid;
	const char *comm, *writer_cgroup;
};

enum pressure_resource { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, PRESSURE_RESOURCE_NR };

/* Pressure on one resource; of the pod itself if `container` is NULL. */
struct view_pressure {
	const char *namespace, *pod, *container, *uid;
	enum pressure_resource resource;
	enum pressure_state state;
	/* Hundredths of a percent of the last 10, 60 and 300 s; -1 = not known */
	int some_10, some_60, some_300, full_10, full_60, full_300;
	int64_t some_ns, full_ns; /* -1 = not known */
	/* ns that its tasks waited for a CPU in each second of the last 10, 60 and 300; -1 = not known */
	int64_t task_wait_10_ns, task_wait_60_ns, task_wait_300_ns;
	const char *remedy; /* NULL = it is measured, or will be known soon */
};

enum pressure_part_state {
	PRESSURE_PART_UNKNOWN,
	PRESSURE_PART_MEASURED,
	PRESSURE_PART_OFF,
	PRESSURE_PART_OFF_CGROUP,
	PRESSURE_PART_LEFT_OUT,
	PRESSURE_PART_UNREADABLE,
	PRESSURE_PART_STATE_NR
};

/*
 * Pressure on one resource on one CPU or on the CPUs of one NUMA node, which has no `cpu`; of the pod
 * itself if `container` is NULL. -1 = not known.
 */
struct view_pressure_part {
	const char *namespace, *pod, *container, *uid;
	int64_t cpu, numa;
	enum pressure_resource resource;
	enum pressure_part_state state;
	int some_10, some_60, some_300, full_10, full_60, full_300; /* as in view_pressure */
	int64_t some_ns, full_ns, active_ns, known_ns, missed_ns;
};

/* In the last second; -1 = not known. */
struct view_pressure_second {
	const char *namespace, *pod, *container, *uid;
	enum pressure_resource resource;
	enum pressure_part_state state;
	int64_t window_ns;
	int some, full;
};

/* What the body of POST /v1/pressure/cpu asks for. */
struct view_pressure_cpu_request {
	const char *pod, *container; /* container NULL = the pod itself and all of its containers */
};

enum history_state { HISTORY_KEPT, HISTORY_AWAITED, HISTORY_LEFT_OUT, HISTORY_STATE_NR };
enum history_kind { HISTORY_SAMPLE, HISTORY_GAP, HISTORY_KIND_NR };

/* A sample of the recent past, or a gap; -1 = not known. */
struct view_history_sample {
	uint64_t time_ns;  /* of its end */
	int64_t length_ns; /* for run time and waits; of a gap, its own */
	enum history_kind kind;
	/* Hundredths of a percent of pressure_length_ns */
	int cpu_some, cpu_full, memory_some, memory_full, io_some, io_full;
	int64_t pressure_length_ns;
	int64_t waited_ns[PRESSURE_KIND_NR]; /* by enum pressure_kind */
	int64_t run_ns;
	int64_t cause_ns[WAIT_CAUSE_NR]; /* by enum wait_cause */
};

/* The recent past of a pod, or of the container if that is not NULL. */
struct view_history {
	const char *namespace, *pod, *container, *uid;
	enum pressure_span span;
	enum history_state state;
	uint64_t memory_bytes, histories, histories_max, histories_bytes;
	size_t nr_samples;
	const struct view_history_sample *samples; /* oldest first */
};

/* What the body of POST /v1/pressure/history asks for. */
struct view_history_request {
	const char *pod, *container; /* container NULL = the pod itself */
	enum pressure_span span;
};

enum latency_state { LATENCY_UNKNOWN, LATENCY_COUNTED, LATENCY_STATE_NR };

/* Waits of more than above_ns, and of up to up_to_ns; -1 = however long. */
struct view_latency_bucket {
	int64_t above_ns, up_to_ns;
	uint64_t count;
};

/* How long tasks waited for a CPU; of all containers of the pod if `container` is NULL. */
struct view_latency {
	const char *namespace, *pod, *container, *uid;
	int64_t count; /* as the following: -1 = not known */
	/* Between which two values a quantile is; also -1 if nothing waited */
	int64_t p50_ns, p90_ns, p99_ns, p999_ns;
	int64_t p50_least_ns, p90_least_ns, p99_least_ns, p999_least_ns;
	int64_t longest_ns, sum_ns;
	size_t nr_buckets;
	const struct view_latency_bucket *buckets;
	enum latency_state state;
};

enum resident_state { RESIDENT_UNKNOWN, RESIDENT_UNSUPPORTED, RESIDENT_READ, RESIDENT_STATE_NR };

/* A container's memory on one NUMA node; -1 = not known. */
struct view_memory {
	const char *namespace, *pod, *container, *uid;
	int64_t numa;
	int local;
	int64_t anon_bytes, file_bytes, kernel_bytes, hugetlb_bytes;
	enum resident_state state;
};

/* Pages of a process on one NUMA node. */
struct view_process_memory {
	uint32_t pid;
	const char *name; /* NULL = not known */
	uint32_t numa;
	uint64_t bytes, hugetlb_bytes;
};

enum noise_row_state {
	NOISE_ROW_COUNTED,
	NOISE_ROW_LOADING,
	NOISE_ROW_UNSUPPORTED,
	NOISE_ROW_UNKNOWN,
	NOISE_ROW_STATE_NR
};

/* A source of disturbance of one exclusive CPU. */
struct view_noise {
	uint32_t cpu;
	const char *namespace, *pod, *container, *uid;
	enum noise_source source;
	int64_t irq;	 /* -1 = it is not an interrupt line */
	int64_t sibling; /* -1 = it was on the CPU itself */
	const char *by;	 /* NULL likewise */
	const char *name, *cgroup;
	uint32_t pid;
	int64_t count, total_ns, longest_ns; /* -1 = not known */
	enum noise_row_state state;
};

struct view_irq {
	enum irq_kind kind;
	int64_t irq; /* -1 = not an interrupt */
	const char *name;
	enum irq_state state;
	/* CPU lists; NULL = unknown, or none */
	const char *affinity, *effective, *original, *exclusive_cpus;
	int64_t fired; /* -1 = not an interrupt */
	const char *remedy;
};

struct view_stranger {
	uint32_t pid, process;
	const char *name;
	enum stranger_kind kind;
	enum stranger_state state;
	enum stranger_cause cause;
	enum drift_cause origin;
	const char *cgroup, *unit;
	/* CPU lists; NULL = none */
	const char *affinity, *original, *exclusive_cpus;
	uint32_t set_back;
	const char *remedy;
};

/* Of a pod or container that others made. What is NULL or -1 is not known. */
struct view_discovery {
	const char *kind, *namespace, *pod, *container, *names, *id, *uid, *qos, *runtime, *driver;
	const char *cpus, *effective_cpus, *kubelet_cpus, *mems, *effective_mems, *cpu_max,
		*memory_max;
	int64_t cpu_request_mcpu, cpu_weight, tasks, run_ns, throttled_ns;
	const char *cgroup; /* relative to the cgroup mount */
};

struct view_event {
	uint64_t time_ns, log_ns, sequence;
	const char *kind, *action, *aspect;
	uint32_t pid;
	const char *comm, *cgroup;
	uint32_t client_pid;
	const char *client_comm, *client_cgroup, *target, *pod, *container;
	uint32_t suppressed;
	uint64_t last_ns; /* 0 = none */
	const char *detail;
};

/* What a watch has to say besides the events. */
enum watch_note { WATCH_LOST, WATCH_RESTARTED, WATCH_UNREACHABLE, WATCH_BACK, WATCH_NOTE_NR };

struct view_watch {
	uint64_t time_ns;
	enum watch_note watch;
	int64_t nr_lost; /* -1 = it is about something else */
	const char *detail;
};

struct view_feature {
	const char *name;
	enum feature_state state;
	int error_number; /* errno */
	const char *error, *reason, *remedy;
};

struct view_ledger {
	int schema_version;
	const char *state;
};

/* What a process asks for that wants to be moved: the body of POST /v1/run. */
struct view_run_request {
	const char *pod, *container;
};

struct view_bundle_member {
	const char *name;
	uint64_t bytes;
};

struct view_bundle_gap {
	const char *name, *reason;
};

struct view_bundle {
	const char *file; /* NULL in the bundle itself */
	uint64_t created_ns;
	bool redacted;
	const char *version, *revision;
	int schema_version;
	size_t nr_members, nr_missing;
	struct view_bundle_member *members;
	struct view_bundle_gap *missing;
};

struct view_error {
	const char *error;
};

#endif
