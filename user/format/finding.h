/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of findings, each once with its name. Code compares the kinds; the name is what JSON,
 * plain text, the log and the metric pinfold_finding_info show, and it never changes.
 *
 * docs/man/pinfoldd.8 says what each means and what to do about it; tests/check/manual compares
 * the two.
 */
#ifndef FORMAT_FINDING_H
#define FORMAT_FINDING_H

/* X(KIND, name) */
#define FINDINGS(X)                                                     \
	/* The state file, and the grants. */                           \
	X(STATE_NOT_WRITABLE, state_not_writable)                       \
	X(STATE_SET_ASIDE, state_set_aside)                             \
	X(GRANT_LOST, grant_lost)                                       \
	X(GRANTS_LOST, grants_lost)                                     \
	X(MACHINE_CHANGED, machine_changed)                             \
	X(CPUS_CHANGED, cpus_changed)                                   \
	X(REFUSALS_NOT_LISTED, refusals_not_listed)                     \
	/* Cgroups. */                                                  \
	X(CGROUPS_OUT_OF_REACH, cgroups_out_of_reach)                   \
	X(CGROUPS_NOT_WATCHED, cgroups_not_watched)                     \
	X(CGROUPS_LEFT, cgroups_left)                                   \
	X(MEMBERS_CONTESTED, members_contested)                         \
	X(MEMBERS_NOT_REPAIRED, members_not_repaired)                   \
	X(OPERATION_WAITING, operation_waiting)                         \
	/* Partitions. */                                               \
	X(TIER1_NOT_IN_USE, tier1_not_in_use)                           \
	X(TIER1_NOT_HELD, tier1_not_held)                               \
	X(TIER1I_NOT_IN_USE, tier1i_not_in_use)                         \
	X(TIER1I_NOT_HELD, tier1i_not_held)                             \
	/* Container runtimes. */                                       \
	X(RUNTIME_BEHIND, runtime_behind)                               \
	X(RUNTIME_CPUSET_CONTESTED, runtime_cpuset_contested)           \
	X(RUNTIME_CPUS_DIFFER, runtime_cpus_differ)                     \
	X(RUNTIME_NOT_CONNECTED, runtime_not_connected)                 \
	X(RUNTIME_PODS_REMAIN, runtime_pods_remain)                     \
	/* The BPF programs and the guard. */                           \
	X(KERNEL_SIDE_ABSENT, kernel_side_absent)                       \
	X(GUARD_NOT_ACTIVE, guard_not_active)                           \
	X(GUARD_NOT_PINNED, guard_not_pinned)                           \
	X(GUARD_RELEASED, guard_released)                               \
	X(GUARD_CHANGED, guard_changed)                                 \
	X(GUARD_PINS, guard_pins)                                       \
	X(GUARD_FROZEN, guard_frozen)                                   \
	X(GUARD_FILES_UNPROTECTED, guard_files_unprotected)             \
	X(GUARD_POLICY_OLD, guard_policy_old)                           \
	X(GUARD_POLICY_PARTIAL, guard_policy_partial)                   \
	X(GROUPS_LEFT_OUT, groups_left_out)                             \
	X(AGENT_OUTAGE, agent_outage)                                   \
	/* What is measured. */                                         \
	X(PRESSURE_ABSENT, pressure_absent)                             \
	X(PRESSURE_OFF, pressure_off)                                   \
	X(PRESSURE_OFF_CGROUP, pressure_off_cgroup)                     \
	X(PRESSURE_LEFT_OUT, pressure_left_out)                         \
	X(CPU_PRESSURE_LEFT_OUT, cpu_pressure_left_out)                 \
	X(NOISE_ABSENT, noise_absent)                                   \
	/* Tasks of the host, interrupts and strangers. */              \
	X(HOST_GROUPS_UNKNOWN, host_groups_unknown)                     \
	X(HOST_GROUPS_FOREIGN, host_groups_foreign)                     \
	X(HOST_GROUPS_NOT_HELD, host_groups_not_held)                   \
	X(HOST_ORIGINALS_UNUSABLE, host_originals_unusable)             \
	X(HOST_TASKS_UNCONFINED, host_tasks_unconfined)                 \
	X(IRQS_ON_EXCLUSIVE_CPUS, irqs_on_exclusive_cpus)               \
	X(IRQS_UNKNOWN, irqs_unknown)                                   \
	X(IRQ_ORIGINALS_UNUSABLE, irq_originals_unusable)               \
	X(IRQBALANCE_CONTENDS, irqbalance_contends)                     \
	X(IRQBALANCE_NOT_RELEASED, irqbalance_not_released)             \
	X(STRANGERS_ON_EXCLUSIVE_CPUS, strangers_on_exclusive_cpus)     \
	X(STRANGERS_CONTENDED, strangers_contended)                     \
	X(STRANGERS_UNKNOWN, strangers_unknown)                         \
	X(STRANGERS_UNSAVED, strangers_unsaved)                         \
	/* Pods of a kubelet, in modes observe and guard. */            \
	X(DISCOVERY_INCOMPLETE, discovery_incomplete)                   \
	X(CGROUP_NAME_UNKNOWN, cgroup_name_unknown)                     \
	X(KUBELET_STATE_UNUSABLE, kubelet_state_unusable)               \
	X(KUBELET_MEMORY_STATE_UNUSABLE, kubelet_memory_state_unusable) \
	X(DEFAULT_CPUS_EMPTY, default_cpus_empty)                       \
	X(EXCLUSIVE_CPUS_SHARED, exclusive_cpus_shared)                 \
	X(CPUS_DIFFER_FROM_KUBELET, cpus_differ_from_kubelet)           \
	X(MEMS_DIFFER_FROM_KUBELET, mems_differ_from_kubelet)           \
	X(HOST_TASKS_ON_EXCLUSIVE_CPUS, host_tasks_on_exclusive_cpus)   \
	X(GUARD_WITHOUT_PLAN, guard_without_plan)                       \
	X(KUBELET_CPUSET_CONTESTED, kubelet_cpuset_contested)           \
	X(KUBELET_CPUSET_LEFT, kubelet_cpuset_left)                     \
	X(KUBELET_CPUSET_NOT_REPAIRED, kubelet_cpuset_not_repaired)     \
	/* Options that have no effect in this version. */              \
	X(NRI_NOT_BUILT, nri_not_built)                                 \
	X(RUNTIME_WRITES_NOT_BUILT, runtime_writes_not_built)           \
	X(KUBELET_REPAIR_NOT_BUILT, kubelet_repair_not_built)           \
	/* Reported by the inspector when no agent runs. */             \
	X(AGENT_DOWN, agent_down)

enum finding {
#define FINDING_KIND(kind, name) FINDING_##kind,
	FINDINGS(FINDING_KIND)
#undef FINDING_KIND
		FINDING_NR
};

/* "tier1_not_held" */
const char *finding_name(enum finding kind);

#endif
