// SPDX-License-Identifier: Apache-2.0
#include "format/words.h"

#include <stdio.h>
#include <string.h>

#include "format/config.h"
#include "lib/cleanup.h"

const char *aspect_name(uint32_t aspect)
{
	static const char *const names[ASPECT_NR] = {
		[ASPECT_CPUSET_FILES] = "cpuset_files", [ASPECT_AFFINITY] = "affinity",
		[ASPECT_CGROUP_MOVES] = "cgroup_moves", [ASPECT_MEMORY_MOVES] = "memory_moves",
		[ASPECT_PRIORITIES] = "priorities",	[ASPECT_DEBUGGING] = "debugging",
		[ASPECT_GUARD_FILES] = "guard_files",
	};

	return aspect < ASPECT_NR ? names[aspect] : "";
}

const char *aspect_option(enum aspect aspect)
{
	static const char *const names[ASPECT_NR] = {
		[ASPECT_CPUSET_FILES] = "cpusetFiles", [ASPECT_AFFINITY] = "affinity",
		[ASPECT_CGROUP_MOVES] = "cgroupMoves", [ASPECT_MEMORY_MOVES] = "memoryMoves",
		[ASPECT_PRIORITIES] = "priorities",    [ASPECT_DEBUGGING] = "debugging",
		[ASPECT_GUARD_FILES] = "guardFiles",
	};

	return names[aspect];
}

const char *action_name(uint32_t action)
{
	static const char *const names[ACTION_WORDS_NR] = {
		[ACTION_ALLOW] = "allow", [ACTION_AUDIT] = "audit",   [ACTION_DENY] = "deny",
		[ACTION_NONE] = "none",	  [ACTION_REPAIR] = "repair", [ACTION_UNKNOWN] = "",
	};

	return action < ACTION_WORDS_NR ? names[action] : "";
}

/* The kernel's modes are the configuration's: one table names both. */
_Static_assert((int)GUARD_OFF == ENFORCEMENT_OFF && (int)GUARD_AUDIT == ENFORCEMENT_AUDIT &&
		       (int)GUARD_ENFORCE == ENFORCEMENT_ENFORCE &&
		       (int)GUARD_MODE_NR == ENFORCEMENT_NR,
	       "a mode of the guard is a value of enum enforcement");

const char *guard_mode_name(uint32_t mode)
{
	return mode < GUARD_MODE_NR ? enforcement_name(mode) : "unknown";
}

const char *bpf_object_name(enum bpf_object_id id)
{
	static const char *const names[BPF_OBJECT_NR] = {
		[BPF_OBJECT_GUARD] = "guard",
		[BPF_OBJECT_WATCH] = "watch",
		[BPF_OBJECT_OBSERVE] = "observe",
	};

	return id < BPF_OBJECT_NR && names[id] ? names[id] : "";
}

const char *event_counter_map(enum event_counter counter)
{
	static const char *const names[EVENTS_NR] = {
		[EVENTS_LOST] = "events",	  [EVENTS_NO_ERRAND] = "errands",
		[EVENTS_NO_SUBJECT] = "subjects", [EVENTS_NO_BUDGET] = "event_budgets",
		[EVENTS_NO_TEXT] = "pid1_writes",
	};

	return counter < EVENTS_NR && names[counter] ? names[counter] : "";
}

const char *mechanism_name(enum mechanism mechanism)
{
	static const char *const names[] = {
		[MECHANISM_NONE] = "",
		[MECHANISM_LSM] = "lsm",
		[MECHANISM_FMOD_RET] = "fmod_ret",
	};

	return mechanism < sizeof(names) / sizeof(*names) ? names[mechanism] : "";
}

const char *attribute_name(enum group_file file)
{
	static const char *const names[] = {
		[GROUP_CPUSET_MEMS] = "mems",
		[GROUP_CPUSET_CPUS] = "cpus",
		[GROUP_CPUSET_PARTITION] = "partition",
		[GROUP_CPU_WEIGHT] = "weight",
		[GROUP_CPU_MAX] = "quota",
		[GROUP_MEMORY_MAX] = "memory",
		[GROUP_FREEZE] = "freeze",
		[GROUP_MEMBERS] = "members",
	};
	_Static_assert(ARRAY_SIZE(names) == GROUP_ATTRIBUTE_NR, "a name for each file");

	return names[file];
}

const char *drift_cause_name(enum drift_cause cause)
{
	static const char *const names[CAUSE_NR] = {
		[CAUSE_UNKNOWN] = "unknown", [CAUSE_SYSTEMD] = "systemd",
		[CAUSE_RUNTIME] = "runtime", [CAUSE_KUBELET] = "kubelet",
		[CAUSE_USER] = "user",	     [CAUSE_KERNEL] = "kernel",
	};

	return names[cause];
}

const char *wait_cause_name(enum wait_cause cause)
{
	static const char *const names[] = {
		[WAIT_OWN_QUOTA] = "own_quota",
		[WAIT_OWN_CONTAINER] = "own_container",
		[WAIT_POD_SIBLING] = "pod_sibling",
		[WAIT_OTHER_POD] = "other_pod",
		[WAIT_HOST] = "host",
		[WAIT_KERNEL] = "kernel",
		[WAIT_IDLE] = "idle",
		[WAIT_UNATTRIBUTED] = "unattributed",
	};
	_Static_assert(ARRAY_SIZE(names) == WAIT_CAUSE_NR, "a name for each cause");

	return names[cause];
}

const char *pod_condition_name(enum pod_condition condition)
{
	static const char *const problems[CONDITION_NR] = {
		[CONDITION_WAITING] = "waiting",
		[CONDITION_FAILED] = "failed",
		[CONDITION_UNKNOWN] = "unknown",
	};

	if (condition == CONDITION_RUNNING)
		return pod_state_name(POD_RUNNING);
	if (condition == CONDITION_ENDING)
		return pod_state_name(POD_ENDING);
	return problems[condition];
}

const char *noise_source_name(enum noise_source source)
{
	static const char *const names[NOISE_SOURCE_NR] = {
		[NOISE_HARDIRQ] = "hardirq",
		[NOISE_SOFTIRQ] = "softirq",
		[NOISE_TIMER] = "timer",
		[NOISE_RESCHEDULE] = "reschedule",
		[NOISE_CALL_FUNCTION] = "call_function",
		[NOISE_KTHREAD] = "kthread",
		[NOISE_HOST_TASK] = "host_task",
		[NOISE_POD_SIBLING] = "pod_sibling",
		[NOISE_OTHER_POD] = "other_pod",
		[NOISE_SMT_SIBLING] = "smt_sibling",
	};

	return names[source];
}

/* Is a component of the path called that? A name that only contains it may be anybody's. */
static bool is_below_unit(const char *cgroup, const char *unit)
{
	const size_t len = strlen(unit);

	for (const char *at = cgroup; (at = strstr(at, unit)); at += len)
		if ((at == cgroup || at[-1] == '/') && (at[len] == '/' || !at[len]))
			return true;
	return false;
}

enum drift_cause drift_cause_of(uint32_t pid, const char *cgroup)
{
	static const struct {
		const char *unit;
		enum drift_cause cause;
	} units[] = {
		{"kubelet.service", CAUSE_KUBELET},
		{"containerd.service", CAUSE_RUNTIME},
		{"crio.service", CAUSE_RUNTIME},
		{"docker.service", CAUSE_RUNTIME},
		/* The kubelet and its runtime in one. */
		{"k3s.service", CAUSE_RUNTIME},
		{"k3s-agent.service", CAUSE_RUNTIME},
		{"rke2-server.service", CAUSE_RUNTIME},
		{"rke2-agent.service", CAUSE_RUNTIME},
	};

	if (pid == 1)
		return CAUSE_SYSTEMD;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (is_below_unit(cgroup, units[i].unit))
			return units[i].cause;
	return CAUSE_USER;
}

const char *irq_state_name(enum irq_state state)
{
	static const char *const names[IRQ_STATE_NR] = {
		[IRQ_STATE_ALLOWED] = "allowed",
		[IRQ_STATE_STEERED] = "steered",
		[IRQ_STATE_MANAGED] = "managed",
		[IRQ_STATE_EXCLUSIVE] = "exclusive",
	};

	return names[state];
}

const char *stranger_state_name(enum stranger_state state)
{
	static const char *const names[STRANGER_STATE_NR] = {
		[STRANGER_STATE_MOVED] = "moved",	  [STRANGER_STATE_REACHES] = "reaches",
		[STRANGER_STATE_BOUND] = "bound",	  [STRANGER_STATE_CPUSET] = "cpuset",
		[STRANGER_STATE_CONTENDED] = "contended", [STRANGER_STATE_FAILED] = "failed",
	};

	return names[state];
}

static bool is_unit(const char *name, size_t len)
{
	static const char *const suffixes[] = {".service", ".scope", ".slice"};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const size_t suffix = strlen(suffixes[i]);

		if (len > suffix && !strncmp(name + len - suffix, suffixes[i], suffix))
			return true;
	}
	return false;
}

void cgroup_unit(const char *cgroup, char *unit, size_t size)
{
	const char *name = cgroup;

	*unit = '\0';
	while (name && *name) {
		const size_t len = strcspn(name, "/");

		if (is_unit(name, len))
			snprintf(unit, size, "%.*s", (int)len, name);
		name += len + strspn(name + len, "/");
	}
}
