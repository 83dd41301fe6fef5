/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of enum values that several objects show: one table for each enum. They are
 * for people and for JSON; no code compares them.
 */
#ifndef FORMAT_WORDS_H
#define FORMAT_WORDS_H

#include <stddef.h>

#include <pinfold/abi.h>
#include <pinfold/noise.h>

#include "core/plan/plan.h"
#include "format/rows.h"
#include "format/stranger_report.h"

/* What became of an operation: the guard's answers (enum event_action), then the agent's. */
enum agent_action {
	ACTION_NONE = ACTION_NR,
	ACTION_REPAIR,
	ACTION_UNKNOWN, /* sent by a guard of another version */
	ACTION_WORDS_NR
};

/* The state of a pod as it is reported: its state in the ledger, or what keeps it from being held. */
enum pod_condition {
	CONDITION_RUNNING,
	CONDITION_ENDING,
	CONDITION_WAITING,
	CONDITION_FAILED,
	CONDITION_UNKNOWN,
	CONDITION_NR
};

/* Who changed a managed file, judged by where the process lives. */
enum drift_cause {
	CAUSE_UNKNOWN,
	CAUSE_SYSTEMD,
	CAUSE_RUNTIME,
	CAUSE_KUBELET,
	CAUSE_USER,
	CAUSE_KERNEL,
	CAUSE_NR
};

/* "cpuset_files"; "" for ASPECT_NR, which means none. */
const char *aspect_name(uint32_t aspect);
/* The option that sets the aspect's mode: "cpusetFiles". */
const char *aspect_option(enum aspect aspect);
/* "guard"; "" for a number that no BPF object has. */
const char *bpf_object_name(enum bpf_object_id id);
/* The map that had no room: "events"; "" for what is not lost. */
const char *event_counter_map(enum event_counter counter);
/* "lsm"; "" for MECHANISM_NONE. */
const char *mechanism_name(enum mechanism mechanism);
/* "deny", "repair"; "" for ACTION_UNKNOWN. */
const char *action_name(uint32_t action);
/* "off", "audit", "enforce"; "unknown" for a number that is not a mode. */
const char *guard_mode_name(uint32_t mode);
/* "cpus" for cpuset.cpus, "quota" for cpu.max. */
const char *attribute_name(enum group_file file);
const char *drift_cause_name(enum drift_cause cause);
/* "own_quota", as in the keys of the JSON and the labels of the metrics */
const char *wait_cause_name(enum wait_cause cause);
/* "waiting"; what both have in common is called as by pod_state_name() */
const char *pod_condition_name(enum pod_condition condition);
/* "hardirq", "host_task" */
const char *noise_source_name(enum noise_source source);
/* "allowed", "steered" */
const char *irq_state_name(enum irq_state state);
/* "moved", "reaches" */
const char *stranger_state_name(enum stranger_state state);

/*
 * The unit of systemd to which a cgroup belongs: the last one on its path, because units may make
 * cgroups. "" = none; `cgroup` may be NULL.
 */
void cgroup_unit(const char *cgroup, char *unit, size_t size);

/* Who a process may be: `pid`, in the cgroup of this path. */
enum drift_cause drift_cause_of(uint32_t pid, const char *cgroup);

#endif
