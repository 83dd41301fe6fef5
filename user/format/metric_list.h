/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric of the agent, once: METRIC(VARIABLE, NAME, TYPE, UNIT, LABELS, HELP, SERIES...), in
 * the order of the page. Whoever includes this file defines METRIC first: the families, which are the
 * members of metric_families, and the table of format/metrics.h come from these lines. SERIES says how
 * many series there are for each of what enum metric_per lists.
 *
 * The table of docs/metrics.md is made of this list; `make golden` writes it. tests/unit/test_metrics.c
 * compares the list with that table and with the recorded page.
 */
METRIC(build_info, "pinfold_build_info", GAUGE, NULL, "version, revision, libbpf, mode",
       "Version of the agent; always 1.", [PER_NODE] = 1)
METRIC(feature_info, "pinfold_feature_info", GAUGE, NULL, "feature, state",
       "Kernel features and whether they are available; always 1.", [PER_FEATURE] = 1)
METRIC(policy_info, "pinfold_policy_info", GAUGE, NULL, "policy, scope, topology_policy, options",
       "Policy in force; always 1.", [PER_NODE] = 1)
METRIC(cpus, "pinfold_cpus", GAUGE, NULL, "state", "CPUs by state.", [PER_NODE] = 7)
METRIC(numa_cpus, "pinfold_numa_cpus", GAUGE, NULL, "numa_node, state",
       "CPUs by NUMA node and state.", [PER_NUMA_NODE] = 4)
METRIC(pool_cpus, "pinfold_pool_cpus", GAUGE, NULL, "pool",
       "CPUs of the pools, in which containers without exclusive CPUs run.", [PER_NODE] = 2)
METRIC(numa_containers, "pinfold_numa_containers", GAUGE, NULL, "numa_node",
       "Containers with CPUs of their own or of their pod, or granted memory, on the node.",
       [PER_NUMA_NODE] = 1)
METRIC(numa_cpu_wait, "pinfold_numa_cpu_wait_seconds_total", COUNTER, "seconds", "numa_node",
       "Time that tasks of containers waited for a CPU of the node, added up over tasks.",
       [PER_NUMA_NODE] = 1)
METRIC(numa_memory, "pinfold_numa_memory_bytes", GAUGE, "bytes", "numa_node, type, state",
       "Memory of NUMA nodes by type and state; the states add up to what can be used.",
       [PER_NUMA_NODE] = 3, [PER_HUGEPAGES] = 3)
METRIC(hugepages_missing, "pinfold_numa_hugepages_missing_bytes", GAUGE, "bytes", "numa_node, type",
       "Huge pages that are free in the ledger but not in the kernel, because others use them.",
       [PER_HUGEPAGES] = 1)
METRIC(containers, "pinfold_containers", GAUGE, NULL, "assignment_type",
       "Containers with a grant, by where their CPUs come from.", [PER_NODE] = 4)
METRIC(assignments, "pinfold_container_assignments_total", COUNTER, NULL,
       "resource_name, assignment_type",
       "Containers that were granted CPUs since the start, by where the CPUs come from.",
       [PER_NODE] = 4)
METRIC(allocations, "resource_manager_allocations_total", COUNTER, NULL, "resource_name, source",
       "Allocations of resources, by whether they come from the pod or from the node.",
       [PER_NODE] = 4)
METRIC(allocation_errors, "resource_manager_allocation_errors_total", COUNTER, NULL,
       "resource_name, source",
       "Allocations that failed, by whether they were to come from the pod or from the node.",
       [PER_NODE] = 4)
METRIC(aligned_allocations, "pinfold_aligned_allocations_total", COUNTER, NULL,
       "scope, boundary, result",
       "Allocations of exclusive CPUs, by whether a boundary of the machine divides them.",
       [PER_NODE] = 16)
METRIC(resizes, "pinfold_resizes_total", COUNTER, NULL, "result",
       "Resizes in place of exclusive CPUs, by result.", [PER_NODE] = 2)
METRIC(admissions, "pinfold_admissions_total", COUNTER, NULL, "result, reason",
       "Admission decisions on pods, by result and reason.", [PER_NODE] = 11)
METRIC(refused_pods, "pinfold_refused_pods", GAUGE, NULL, "listed",
       "Pods that are refused at present, by whether they are listed with the reason.",
       [PER_NODE] = 2)
METRIC(runtime_unpinned, "pinfold_runtime_unpinned_seconds_total", COUNTER, "seconds", NULL,
       "CPU time that containers of sources.kubepods had run before their CPUs were written.",
       [PER_NODE] = 1)
METRIC(admission_duration, "pinfold_admission_duration_seconds", HISTOGRAM, "seconds", NULL,
       "Time to decide a pod, or a runtime's container, and make the decision durable.",
       [PER_NODE] = 17)
METRIC(state_writes, "pinfold_state_writes_total", COUNTER, NULL, "result",
       "Writes of the state file.", [PER_NODE] = 2)
METRIC(state_restore, "pinfold_state_restore_total", COUNTER, NULL, "result",
       "What the start made of the state file.", [PER_NODE] = 4)
METRIC(drift_detected, "pinfold_drift_detected_total", COUNTER, NULL, "attribute, cause",
       "Differences between the kernel and the ledger that the agent did not cause.",
       [PER_NODE] = 48)
METRIC(drift_repaired, "pinfold_drift_repaired_total", COUNTER, NULL, "attribute, result",
       "Attempts to repair drift.", [PER_NODE] = 16)
METRIC(drift_open, "pinfold_drift_open", GAUGE, NULL, "attribute",
       "Differences that are not repaired yet.", [PER_NODE] = 8)
METRIC(drift_exposure, "pinfold_drift_exposure_seconds", HISTOGRAM, "seconds", NULL,
       "How long differences lasted that the agent repaired.", [PER_NODE] = 14)
METRIC(guard_up, "pinfold_guard_active", GAUGE, NULL, NULL,
       "1 while the guard is active; 0 if it is inactive, partial or unknown.", [PER_NODE] = 1)
METRIC(guard_enforcing, "pinfold_guard_enforcing", GAUGE, NULL, "aspect",
       "1 while the guard denies, by aspect; read from the kernel.", [PER_NODE] = ASPECT_NR)
METRIC(guard_mended, "pinfold_guard_mended_total", COUNTER, NULL, "what",
       "Changes to the guard by other processes that the agent reverted.", [PER_NODE] = 2)
METRIC(guard_missed, "pinfold_guard_missed_calls_total", COUNTER, NULL, NULL,
       "Calls that the guard did not judge, because the kernel skipped a preempted program of it.",
       [PER_NODE] = 1)
METRIC(agent_outage, "pinfold_agent_outage_seconds_total", COUNTER, "seconds", NULL,
       "Time for which the agent stood still, such as stopped or frozen.", [PER_NODE] = 1)
METRIC(enforcement_actions, "pinfold_enforcement_actions_total", COUNTER, NULL, "hook, action",
       "Operations on managed cgroups and tasks that the guard judged.", [PER_HOOK] = 3)
METRIC(program_seconds, "pinfold_bpf_program_run_seconds_total", COUNTER, "seconds", "program",
       "Time spent in pinfold's BPF programs; grows only while kernel.bpf_stats_enabled is 1.",
       [PER_PROGRAM] = 1)
METRIC(program_runs, "pinfold_bpf_program_runs_total", COUNTER, NULL, "program",
       "Runs of pinfold's BPF programs; grows only while kernel.bpf_stats_enabled is 1.",
       [PER_PROGRAM] = 1)
METRIC(map_entries, "pinfold_bpf_map_entries", GAUGE, NULL, "map, state",
       "Entries of the BPF programs' hash maps, used and free.", [PER_MAP] = 2)
METRIC(events_lost, "pinfold_bpf_events_lost_total", COUNTER, NULL, "map",
       "What the BPF programs could not report, follow or note, by the map that had no room for it.",
       [PER_NODE] = 6)
METRIC(groups_left_out, "pinfold_bpf_groups_left_out", GAUGE, NULL, NULL,
       "Cgroups of a runtime's containers that have no room in the BPF programs' map.",
       [PER_NODE] = 1)
METRIC(slots, "pinfold_observer_slots", GAUGE, NULL, "state",
       "Places for containers in the maps of the observer, by state.", [PER_NODE] = 2)
METRIC(observer_lost, "pinfold_observer_lost_total", COUNTER, NULL, "what",
       "Containers without a slot, tasks whose record was taken over, and histograms that wrapped.",
       [PER_NODE] = 3)
METRIC(not_measured, "pinfold_not_measured", GAUGE, NULL, "what",
       "Pods and containers of which something is not measured for want of room, by what it is.",
       [PER_NODE] = 3)
METRIC(irqs, "pinfold_irqs", GAUGE, NULL, "state",
       "Interrupts and masks of kernel work, by whether they reach exclusive CPUs.", [PER_NODE] = 4)
METRIC(irq_writes, "pinfold_irq_writes_total", COUNTER, NULL, "result",
       "Masks of interrupts and kernel work that were written, by result.", [PER_NODE] = 3)
METRIC(irq_foreign, "pinfold_irq_foreign_changes_total", COUNTER, NULL, NULL,
       "Changes by other processes to masks that the agent had written.", [PER_NODE] = 1)
METRIC(irq_fired, "pinfold_exclusive_cpu_interrupts_total", COUNTER, NULL, NULL,
       "Interrupts of devices that fired on CPUs while they were exclusive.", [PER_NODE] = 1)
METRIC(strangers, "pinfold_strangers", GAUGE, NULL, "state",
       "Tasks that may run on exclusive CPUs without belonging there, or are kept off, by state.",
       [PER_NODE] = 6)
METRIC(stranger_moves, "pinfold_stranger_moves_total", COUNTER, NULL, "result",
       "Affinities of strangers that were written, by result.", [PER_NODE] = 3)
METRIC(stranger_set_back, "pinfold_stranger_set_back_total", COUNTER, NULL, NULL,
       "Corrections of strangers whose affinity another process had set back.", [PER_NODE] = 1)
METRIC(stranger_seen, "pinfold_stranger_seen_total", COUNTER, NULL, NULL,
       "Strangers that were seen to get an exclusive CPU; one per CPU and 10 ms.", [PER_NODE] = 1)
METRIC(stranger_exposure, "pinfold_stranger_exposure_seconds", HISTOGRAM, "seconds", NULL,
       "Time from when a stranger was seen on an exclusive CPU until it was moved.",
       [PER_NODE] = 17)
METRIC(stranger_walks, "pinfold_stranger_walks_total", COUNTER, NULL, NULL,
       "Walks over the tasks of the machine.", [PER_NODE] = 1)
METRIC(stranger_walk_time, "pinfold_stranger_walk_cpu_seconds_total", COUNTER, "seconds", NULL,
       "CPU time of these walks.", [PER_NODE] = 1)
METRIC(operations_waiting, "pinfold_operations_waiting", GAUGE, NULL, NULL,
       "Operations that have not returned from the kernel yet.", [PER_NODE] = 1)
METRIC(operation_wait, "pinfold_operation_longest_wait_seconds", GAUGE, "seconds", NULL,
       "Time that the longest blocked operation has spent in the kernel so far.", [PER_NODE] = 1)
METRIC(readiness, "pinfold_ready", GAUGE, NULL, NULL,
       "1 while everything that was promised is enforced, as /readyz reports.", [PER_NODE] = 1)
METRIC(pods, "pinfold_pods", GAUGE, NULL, "state", "Pods in the ledger, by state.", [PER_NODE] = 5)
METRIC(findings, "pinfold_findings", GAUGE, NULL, NULL,
       "Conditions that an operator should know about; `pinfold node show` lists them.",
       [PER_NODE] = 1)
METRIC(finding_info, "pinfold_finding_info", GAUGE, NULL, "name",
       "Names of the findings that apply at present; always 1.", [PER_FINDING] = 1)
METRIC(pod_cpu, "pinfold_pod_cpu_seconds_total", COUNTER, "seconds", "namespace, pod, placement",
       "CPU time of a pod by where it ran.", [PER_POD] = 3)
METRIC(migrations, "pinfold_pod_migrations_total", COUNTER, NULL, "namespace, pod, span",
       "Migrations of a pod's tasks between CPUs, by the boundary they crossed.", [PER_POD] = 4)
METRIC(preemptions, "pinfold_pod_preemptions_total", COUNTER, NULL, "namespace, pod",
       "How often a pod's tasks lost a CPU although they could have run on.", [PER_POD] = 1)
METRIC(runqueue_latency, "pinfold_runqueue_latency_seconds", HISTOGRAM, "seconds", "namespace, pod",
       "Waits of a pod's tasks for a CPU that are over, by length.", [PER_POD] = 14)
METRIC(container_info, "pinfold_container_info", GAUGE, NULL,
       "namespace, pod, container, uid, qos, assignment_type, cpus, mems, cgroup",
       "What a container was granted, and its cgroup; always 1.", [PER_CONTAINER] = 1)
METRIC(cpu_wait, "pinfold_cpu_wait_seconds_total", COUNTER, "seconds",
       "namespace, pod, container, cause",
       "Time that tasks were runnable but did not run, by who had the CPU instead.",
       [PER_CONTAINER] = 8)
METRIC(throttled, "pinfold_throttled_seconds_total", COUNTER, "seconds",
       "namespace, pod, container",
       "Time a container's cgroup was throttled by its own quota, summed over CPUs.",
       [PER_CONTAINER] = 1)
METRIC(pressure_cpu_waiting, "pinfold_pressure_cpu_waiting_seconds_total", COUNTER, "seconds",
       "namespace, pod, container", "Time in which at least one task waited for a CPU (PSI some).",
       [PER_POD] = 1, [PER_CONTAINER] = 1)
METRIC(pressure_cpu_stalled, "pinfold_pressure_cpu_stalled_seconds_total", COUNTER, "seconds",
       "namespace, pod, container", "Time in which tasks waited for a CPU and none ran (PSI full).",
       [PER_POD] = 1, [PER_CONTAINER] = 1)
METRIC(pressure_memory_waiting, "pinfold_pressure_memory_waiting_seconds_total", COUNTER, "seconds",
       "namespace, pod, container", "Time in which at least one task waited for memory (PSI some).",
       [PER_POD] = 1, [PER_CONTAINER] = 1)
METRIC(pressure_memory_stalled, "pinfold_pressure_memory_stalled_seconds_total", COUNTER, "seconds",
       "namespace, pod, container",
       "Time in which tasks waited for memory and none ran (PSI full).", [PER_POD] = 1,
       [PER_CONTAINER] = 1)
METRIC(pressure_io_waiting, "pinfold_pressure_io_waiting_seconds_total", COUNTER, "seconds",
       "namespace, pod, container", "Time in which at least one task waited for IO (PSI some).",
       [PER_POD] = 1, [PER_CONTAINER] = 1)
METRIC(pressure_io_stalled, "pinfold_pressure_io_stalled_seconds_total", COUNTER, "seconds",
       "namespace, pod, container", "Time in which tasks waited for IO and none ran (PSI full).",
       [PER_POD] = 1, [PER_CONTAINER] = 1)
METRIC(pod_memory, "pinfold_pod_memory_bytes", GAUGE, "bytes", "namespace, pod, placement",
       "Memory of a pod by whether its containers were granted memory on the NUMA node where it is.",
       [PER_POD] = 2)
METRIC(noise, "pinfold_noise_seconds_total", COUNTER, "seconds", "namespace, pod, source",
       "Time that others took on CPUs that containers of the pod have exclusively, by source.",
       [PER_EXCLUSIVE_POD] = 10)
METRIC(process_cpu, "process_cpu_seconds_total", COUNTER, "seconds", NULL,
       "CPU time of the agent, in user space and in the kernel.", [PER_NODE] = 1)
METRIC(process_resident, "process_resident_memory_bytes", GAUGE, "bytes", NULL,
       "Resident memory of the agent.", [PER_NODE] = 1)
METRIC(process_virtual, "process_virtual_memory_bytes", GAUGE, "bytes", NULL,
       "Address space of the agent.", [PER_NODE] = 1)
METRIC(process_open_fds, "process_open_fds", GAUGE, NULL, NULL,
       "File descriptors that the agent has open.", [PER_NODE] = 1)
METRIC(process_max_fds, "process_max_fds", GAUGE, NULL, NULL,
       "File descriptors that the agent may have open.", [PER_NODE] = 1)
METRIC(process_start, "process_start_time_seconds", GAUGE, "seconds", NULL,
       "When the agent was started, since the epoch.", [PER_NODE] = 1)
METRIC(scrape_duration, "pinfold_scrape_duration_seconds", GAUGE, "seconds", NULL,
       "Time to build this page up to this line.", [PER_NODE] = 1)
METRIC(scrape_series, "pinfold_scrape_series", GAUGE, NULL, NULL,
       "Series on this page.", [PER_NODE] = 1)
