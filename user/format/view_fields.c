// SPDX-License-Identifier: Apache-2.0
/*
 * What the objects of the interface consist of. The order of fields is the
 * order in plain text; a key, once released, keeps its meaning within a
 * schema version.
 */
#include "format/views.h"

#include <string.h>

#include <pinfold/names.h>

#define FIELDS(array) .nr_fields = ARRAY_SIZE(array), .fields = (array)
#define VALUES(...)   ((const char *const[]){__VA_ARGS__, NULL})

#define SCHEMA_VERSION_FIELD                                                          \
	{                                                                             \
		.key = "schema_version", .type = FIELD_COUNT, .flags = FIELD_HIDDEN,  \
		.help = "Version of this contract; fields are only added within one." \
	}

/* --- parts shared by node and simulate -------------------------------------------------------- */

static const struct field_desc numa_fields[] = {
	{"numa", "numa", FIELD_COUNT, 0, NULL, NULL, "Id of the NUMA node."},
	{"memory_bytes", "memory", FIELD_BYTES, 0, NULL, NULL, "Memory, hugepages included."},
	{"cpus", NULL, FIELD_CPULIST, 0, NULL, NULL, "All its CPUs."},
	{"reserved", NULL, FIELD_CPULIST, 0, NULL, NULL, "Those kept for the system."},
	{"shared", NULL, FIELD_CPULIST, 0, NULL, NULL, "Those in the shared pool."},
	{"exclusive", NULL, FIELD_CPULIST, 0, NULL, NULL, "Those granted exclusively."},
};

static const struct object_desc numa_desc = {
	.name = "numa",
	.help = "A NUMA node and who holds its CPUs.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(numa_fields),
};

/* clang-format off */
#define MACHINE_FIELDS                                                                             \
	{"cpus", NULL, FIELD_COUNT, FIELD_LINE, NULL, NULL, "Hardware threads."},                  \
	{"cores", NULL, FIELD_COUNT, 0, NULL, NULL, "Cores (SMT groups)."},                        \
	{"uncores", "uncore caches", FIELD_COUNT, 0, NULL, NULL, "Last-level caches."},            \
	{"numa_nodes", "numa nodes", FIELD_COUNT, 0, NULL, NULL, "NUMA nodes with CPUs."},         \
	{"sockets", NULL, FIELD_COUNT, 0, NULL, NULL, "Packages."}

#define POOL_FIELDS                                                                                \
	{"shared_pool", "shared pool", FIELD_CPULIST, FIELD_LINE, NULL, NULL,                      \
	 "CPUs of containers without exclusive ones."},                                            \
	{"reserved", NULL, FIELD_CPULIST, FIELD_LINE, NULL, NULL,                                  \
	 "CPUs kept for the system; part of the shared pool unless the reservation is strict."},   \
	{"exclusive", NULL, FIELD_CPULIST, 0, NULL, NULL, "All CPUs granted exclusively."},        \
	{"excluded", NULL, FIELD_CPULIST, 0, NULL, NULL,                                           \
	 "CPUs never given out: isolcpus= and nohz_full= unless listed."}
/* clang-format on */

/* --- node ------------------------------------------------------------------------------------- */

static const struct field_desc finding_fields[] = {
	{"name", "finding", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Short and stable."},
	{"message", NULL, FIELD_TEXT, FIELD_BARE, NULL, NULL, "What is the case and why."},
	{"remedy", NULL, FIELD_TEXT, FIELD_NULL | FIELD_LINE, NULL, NULL, "What to do about it."},
};

static const struct object_desc finding_desc = {
	.name = "finding",
	.help = "Something an operator should look at.",
	.version = 1,
	FIELDS(finding_fields),
};

static const struct field_desc node_fields[] = {
	SCHEMA_VERSION_FIELD,
	{"source", "node  source", FIELD_ENUM, FIELD_HEAD,
	 VALUES("agent", "state", "options", "simulate"), NULL,
	 "Who says this: the running agent, the state file where no agent answers, what the options "
	 "name, or a simulation."},
	{"mode", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "allocate, guard or observe."},
	{"ready", NULL, FIELD_BOOL, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "The agent holds what it decided, as the kernel was last read."},
	{"not_ready", "not ready", FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Why it is not ready, as /readyz says."},
	{"kernel", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL, "Kernel release."},
	MACHINE_FIELDS,
	POOL_FIELDS,
	{"pods", NULL, FIELD_COUNT, FIELD_LINE, NULL, NULL, "Pods in the ledger."},
	{"containers", NULL, FIELD_COUNT, 0, NULL, NULL, "Containers in the ledger."},
	{"hierarchy", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Who makes our cgroups: systemd or the agent itself (cgroupfs)."},
	{"workload_root", "workload root", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "The cgroup all pods live below."},
	{"partition", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "cpuset.cpus.partition of the workload root as the kernel reads it back."},
	{"guard", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "The mode in force in the kernel, when the last self-test was denied; else absent or partial."},
	{"tiers", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Mechanisms in force."},
	{"nodes", NULL, FIELD_LIST, FIELD_BARE, NULL, &numa_desc, "Per NUMA node."},
	{"findings", NULL, FIELD_LIST, FIELD_BARE, NULL, &finding_desc,
	 "What an operator should look at."},
};

const struct object_desc view_node_desc = {
	.name = "node",
	.help = "The machine, its pools, the mode and the health of the agent.",
	.version = 1,
	FIELDS(node_fields),
};

/* --- cpu -------------------------------------------------------------------------------------- */

static const struct field_desc cpu_fields[] = {
	{"cpu", NULL, FIELD_COUNT, 0, NULL, NULL, "Id of the CPU."},
	{"core", NULL, FIELD_COUNT, 0, NULL, NULL, "Its core."},
	{"uncore", NULL, FIELD_COUNT, 0, NULL, NULL, "Its last-level cache."},
	{"numa", NULL, FIELD_COUNT, 0, NULL, NULL, "Its NUMA node."},
	{"socket", NULL, FIELD_COUNT, 0, NULL, NULL, "Its package."},
	{"state", NULL, FIELD_ENUM, 0,
	 VALUES("reserved", "shared", "exclusive", "pod_shared", "excluded"), NULL,
	 "Whom it is for."},
	{"in_shared_pool", "pool", FIELD_BOOL, 0, NULL, NULL,
	 "Containers without exclusive CPUs run here."},
	{"owner", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "namespace/pod/container that holds it, or namespace/pod."},
	{"owner_uid", NULL, FIELD_TEXT, FIELD_NULL | FIELD_HIDDEN, NULL, NULL,
	 "uid of the pod that holds it."},
};

const struct object_desc view_cpu_desc = {
	.name = "cpu",
	.help = "A CPU, its place in the machine and its owner.",
	.version = 1,
	.is_list = true,
	.layout = OBJECT_TABLE,
	FIELDS(cpu_fields),
};

/* --- pod and container ------------------------------------------------------------------------ */

#define KIND_VALUES	 VALUES("init", "sidecar", "app")
#define ISOLATION_VALUES VALUES("host", "pod", "container")

static const struct field_desc pod_container_fields[] = {
	{"name", "container", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Name of the container."},
	{"kind", NULL, FIELD_ENUM, FIELD_HEAD | FIELD_BARE, KIND_VALUES, NULL,
	 "init, sidecar (init container that stays) or app."},
	{"isolation", NULL, FIELD_ENUM, FIELD_HEAD, ISOLATION_VALUES, NULL,
	 "Whose CPUs: its own (container), the pod's pool, the node's (host)."},
	{"cpus", NULL, FIELD_CPULIST, FIELD_HEAD, NULL, NULL, "CPUs it may run on."},
	{"mems", NULL, FIELD_CPULIST, FIELD_HEAD, NULL, NULL, "NUMA nodes it may use."},
	{"cpu_request_mcpu", "request mcpu", FIELD_COUNT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Requested thousandths of a CPU."},
	{"memory_request_bytes", "memory", FIELD_BYTES, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Requested memory."},
};

static const struct object_desc pod_container_desc = {
	.name = "pod container",
	.help = "What one container of the pod was granted.",
	.version = 1,
	FIELDS(pod_container_fields),
};

static const struct field_desc pod_fields[] = {
	{"namespace", "pod", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Namespace of the pod."},
	{"name", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, NULL, NULL,
	 "Name of the pod."},
	{"qos", NULL, FIELD_ENUM, FIELD_HEAD, VALUES("Guaranteed", "Burstable", "BestEffort"), NULL,
	 "QoS class."},
	{"state", NULL, FIELD_ENUM, FIELD_HEAD,
	 VALUES("running", "ending", "waiting", "failed", "unknown"), NULL,
	 "ending: its source dropped it, its processes still hold their CPUs; waiting: its cgroups are "
	 "not made yet, or a step waits in the kernel or for CPUs of another pod; failed: they cannot "
	 "be brought to what was granted, and the agent tries again; unknown: they cannot be read. The "
	 "last three come from a running agent only."},
	{"scope", NULL, FIELD_ENUM, FIELD_HEAD, VALUES("pod", "container"), NULL,
	 "Whether it holds one bubble or its containers hold CPUs one by one."},
	{"uid", NULL, FIELD_TEXT, FIELD_LINE, NULL, NULL, "Identity of the pod."},
	{"bubble", NULL, FIELD_CPULIST, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "All CPUs of the pod, under pod scope."},
	{"exclusive", NULL, FIELD_CPULIST, 0, NULL, NULL, "CPUs its containers hold alone."},
	{"pool", NULL, FIELD_CPULIST, 0, NULL, NULL, "CPUs its other containers share."},
	{"held", NULL, FIELD_CPULIST, FIELD_HIDDEN, NULL, NULL,
	 "All CPUs kept from others for it, those of ended init containers included."},
	{"cpu_request_mcpu", "request mcpu", FIELD_COUNT, FIELD_LINE, NULL, NULL,
	 "Sum of the requests in thousandths of a CPU."},
	{"cpu_limit_mcpu", "limit mcpu", FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "Sum of the limits, null when a container has none."},
	{"memory_request_bytes", "memory request", FIELD_BYTES, 0, NULL, NULL,
	 "Sum of the memory requests."},
	{"memory_limit_bytes", "memory limit", FIELD_BYTES, FIELD_NULL, NULL, NULL,
	 "Sum of the memory limits, null when a container has none."},
	{"detail", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Why it is not running, or why a changed document was not taken."},
	{"containers", NULL, FIELD_LIST, FIELD_BARE, NULL, &pod_container_desc, "Its containers."},
};

const struct object_desc view_pod_desc = {
	.name = "pod",
	.help = "A pod and what it was granted.",
	.version = 1,
	.is_list = true,
	FIELDS(pod_fields),
};

static const struct field_desc container_fields[] = {
	{"namespace", "container", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Namespace of the pod."},
	{"pod", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, NULL, NULL,
	 "Name of the pod."},
	{"container", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, NULL, NULL,
	 "Name of the container."},
	{"uid", NULL, FIELD_TEXT, FIELD_HIDDEN, NULL, NULL, "Identity of the pod."},
	{"kind", NULL, FIELD_ENUM, FIELD_HEAD, KIND_VALUES, NULL,
	 "init, sidecar (init container that stays) or app."},
	{"isolation", NULL, FIELD_ENUM, FIELD_HEAD, ISOLATION_VALUES, NULL,
	 "Whose CPUs: its own (container), the pod's pool, the node's (host)."},
	{"cpus", NULL, FIELD_CPULIST, FIELD_LINE, NULL, NULL, "CPUs decided."},
	{"effective_cpus", "effective", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "CPUs the kernel says it has."},
	{"mems", NULL, FIELD_CPULIST, 0, NULL, NULL, "NUMA nodes decided."},
	{"effective_mems", "effective", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "NUMA nodes the kernel says it has."},
	{"cpu_max", "cpu.max", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Quota and period decided."},
	{"cpu_weight", "cpu.weight", FIELD_COUNT, FIELD_NULL, NULL, NULL, "Weight decided."},
	{"memory_max", "memory.max", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Limit decided."},
	{"processes", NULL, FIELD_COUNT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Processes in it now."},
	{"run_seconds", "run", FIELD_SECONDS, FIELD_NULL, NULL, NULL, "CPU time since its start."},
	{"wait_seconds", "wait", FIELD_SECONDS, FIELD_NULL, NULL, NULL,
	 "Time its tasks were ready and did not run."},
	{"migrations_within_node", "migrations within node", FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "Moves between CPUs of one NUMA node."},
	{"migrations_across_nodes", "across nodes", FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "Moves between NUMA nodes."},
	{"cgroup", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Path below the cgroup mount."},
};

const struct object_desc view_container_desc = {
	.name = "container",
	.help = "A container: what was decided and what the kernel has.",
	.version = 1,
	.is_list = true,
	FIELDS(container_fields),
};

/* --- policy ----------------------------------------------------------------------------------- */

static const struct field_desc memory_reservation_fields[] = {
	{"numa", NULL, FIELD_COUNT, 0, NULL, NULL, "Id of the NUMA node."},
	{"type", NULL, FIELD_TEXT, 0, NULL, NULL, "memory or hugepages-<size>."},
	{"bytes", NULL, FIELD_BYTES, 0, NULL, NULL, "Kept for the system."},
};

static const struct object_desc memory_reservation_desc = {
	.name = "memory reservation",
	.help = "Memory of one kind kept for the system on one NUMA node.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(memory_reservation_fields),
};

static const struct field_desc enforcement_fields[] = {
	{"what", "enforcement", FIELD_TEXT, 0, NULL, NULL, "Aspect of the guard."},
	{"level", NULL, FIELD_ENUM, 0, VALUES("enforce", "audit", "off"), NULL,
	 "Denied and recorded, allowed and recorded, or neither."},
};

static const struct object_desc enforcement_desc = {
	.name = "enforcement",
	.help = "How one aspect is guarded.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(enforcement_fields),
};

static const struct field_desc policy_fields[] = {
	{"file", "policy", FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Where the configuration came from."},
	{"mode", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "allocate, guard or observe."},
	{"compatibility", NULL, FIELD_TEXT, FIELD_HEAD, NULL, NULL,
	 "Whether the kubelet's defects are repaired."},
	{"cpu_manager_policy", "cpuManagerPolicy", FIELD_TEXT, FIELD_LINE, NULL, NULL,
	 "cpuManagerPolicy."},
	{"cpu_manager_policy_options", "options", FIELD_TEXTS, 0, NULL, NULL,
	 "Names of the options that are on."},
	{"reserved_system_cpus", "reservedSystemCPUs", FIELD_CPULIST, FIELD_LINE | FIELD_NULL, NULL,
	 NULL, "The list as configured."},
	{"reserved_mcpu", "kubeReserved and systemReserved mcpu", FIELD_COUNT, 0, NULL, NULL,
	 "Sum of kubeReserved and systemReserved."},
	{"reserved", NULL, FIELD_CPULIST, FIELD_NULL, NULL, NULL, "CPUs in fact reserved."},
	{"excluded", NULL, FIELD_CPULIST, 0, NULL, NULL, "CPUs never given out."},
	{"topology_manager_policy", "topologyManagerPolicy", FIELD_TEXT, FIELD_LINE, NULL, NULL,
	 "topologyManagerPolicy."},
	{"topology_manager_scope", "scope", FIELD_ENUM, 0, VALUES("container", "pod"), NULL,
	 "topologyManagerScope."},
	{"prefer_closest_numa_nodes", "prefer closest", FIELD_BOOL, 0, NULL, NULL,
	 "prefer-closest-numa-nodes."},
	{"max_allowable_numa_nodes", "max nodes", FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "max-allowable-numa-nodes; null = no limit."},
	{"memory_manager_policy", "memoryManagerPolicy", FIELD_ENUM, FIELD_LINE,
	 VALUES("None", "Static"), NULL, "memoryManagerPolicy."},
	{"pod_level_managers", "pod level managers", FIELD_BOOL, 0, NULL, NULL,
	 "Pod-level resources get CPUs of their own."},
	{"host_tasks", "hostTasks", FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL, "hostTasks."},
	{"partitions", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "partitions."},
	{"interrupts", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "interrupts."},
	{"runtime_writes", "runtimeWrites", FIELD_TEXT, FIELD_NULL, NULL, NULL, "runtimeWrites."},
	{"reserved_memory", "reservedMemory", FIELD_LIST, 0, NULL, &memory_reservation_desc,
	 "reservedMemory."},
	{"enforcement", NULL, FIELD_LIST, FIELD_BARE, NULL, &enforcement_desc,
	 "Per aspect of the guard."},
};

const struct object_desc view_policy_desc = {
	.name = "policy",
	.help = "The configuration in force.",
	.version = 1,
	FIELDS(policy_fields),
};

/* --- state, drift, event ---------------------------------------------------------------------- */

static const struct field_desc state_fields[] = {
	{"file", "state", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Path of the state file."},
	{"present", NULL, FIELD_BOOL, FIELD_HEAD, NULL, NULL, "It is there and could be read."},
	{"writable", NULL, FIELD_BOOL, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "The last write succeeded; without it there are no new grants."},
	{"version", NULL, FIELD_COUNT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Version of its format."},
	{"written_ns", "written", FIELD_TIME, FIELD_NULL, NULL, NULL, "When it was written."},
	{"boot_id", "boot", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Boot that wrote it."},
	{"pods", NULL, FIELD_COUNT, FIELD_LINE | FIELD_NULL, NULL, NULL, "Pods in it."},
	{"containers", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL, "Containers in it."},
	{"problem", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Why it cannot be used."},
	{"set_aside", "set aside", FIELD_TEXTS, FIELD_LINE, NULL, NULL,
	 "Unusable files kept for inspection."},
};

const struct object_desc view_state_desc = {
	.name = "state",
	.help = "The state file.",
	.version = 1,
	FIELDS(state_fields),
};

static const struct field_desc drift_fields[] = {
	{"cgroup", "drift", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Where, below the cgroup mount."},
	{"attribute", NULL, FIELD_TEXT, FIELD_HEAD, NULL, NULL,
	 "cpus, mems, quota, weight, memory, partition or affinity."},
	{"open", NULL, FIELD_BOOL, FIELD_HEAD, NULL, NULL, "The kernel still differs."},
	{"since_ns", "since", FIELD_TIME, FIELD_HEAD, NULL, NULL, "When it was first seen."},
	{"repaired_ns", "repaired", FIELD_TIME, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "When it was undone."},
	{"wanted", NULL, FIELD_TEXT, FIELD_LINE, NULL, NULL, "What the ledger says."},
	{"found", NULL, FIELD_TEXT, 0, NULL, NULL, "What the kernel had."},
	{"action", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "What the agent did: repair, audit."},
	{"cause", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "systemd, runtime, kubelet, user, kernel or unknown."},
	{"pid", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL, "Process that changed it."},
	{"comm", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Its name."},
	{"writer_cgroup", "by", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Its cgroup."},
};

const struct object_desc view_drift_desc = {
	.name = "drift",
	.help = "Where the kernel differs, or differed, from the ledger.",
	.version = 1,
	.is_list = true,
	FIELDS(drift_fields),
};

static const struct field_desc event_fields[] = {
	{"time_ns", "time", FIELD_TIME, 0, NULL, NULL, "When."},
	{"sequence", NULL, FIELD_COUNT, FIELD_HIDDEN, NULL, NULL,
	 "Ascending without gaps while the agent lives."},
	{"kind", NULL, FIELD_TEXT, 0, NULL, NULL,
	 "admit, refuse, release, deny, audit, drift, repair, pin, start, stop, reload, …"},
	{"action", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "allow, audit, deny, move, repair."},
	{"aspect", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "cpuset_files, affinity, cgroup_moves, partition."},
	{"pid", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL, "Process that did it."},
	{"comm", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Its name."},
	{"cgroup", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Its cgroup."},
	{"target", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Managed cgroup or file."},
	{"pod", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Pod concerned, namespace/name."},
	{"container", NULL, FIELD_TEXT, FIELD_NULL | FIELD_SLASH, NULL, NULL,
	 "Container concerned."},
	{"suppressed", "more", FIELD_COUNT, 0, NULL, NULL,
	 "Events of the same culprit that were only counted."},
	{"detail", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "What exactly."},
};

const struct object_desc view_event_desc = {
	.name = "event",
	.help = "A decision, or something the guard or the watch saw.",
	.version = 1,
	.is_list = true,
	.layout = OBJECT_TABLE,
	FIELDS(event_fields),
};

/* --- feature, prog ---------------------------------------------------------------------------- */

static const struct field_desc feature_fields[] = {
	{"name", "feature", FIELD_TEXT, 0, NULL, NULL, "Ability of this machine."},
	{"state", NULL, FIELD_ENUM, 0, VALUES("no", "yes", "unknown"), NULL,
	 "Whether it is there; unknown = could not be told."},
	{"errno", NULL, FIELD_COUNT, FIELD_HIDDEN, NULL, NULL, "What the probe failed with."},
	{"error", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Its name."},
	{"reason", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "Why not, or why unknown."},
	{"remedy", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "What would bring it."},
};

const struct object_desc view_feature_desc = {
	.name = "feature",
	.help = "What this kernel and machine can do, and what is missing why.",
	.version = 1,
	.is_list = true,
	.layout = OBJECT_TABLE,
	FIELDS(feature_fields),
};

static const struct field_desc prog_fields[] = {
	{"id", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL, "The kernel's number of it."},
	{"name", NULL, FIELD_TEXT, 0, NULL, NULL, "Name of the program."},
	{"type", NULL, FIELD_TEXT, 0, NULL, NULL, "lsm, fmod_ret, tp_btf, fexit, iter, …"},
	{"part", NULL, FIELD_TEXT, 0, NULL, NULL, "Object it belongs to."},
	{"attached", NULL, FIELD_BOOL, 0, NULL, NULL, "It runs at its hook."},
	{"pinned", NULL, FIELD_BOOL, 0, NULL, NULL, "Its link outlives the agent."},
	{"run_time_ns", "run ns", FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "Time spent in it; null without kernel.bpf_stats_enabled."},
	{"run_count", "runs", FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "How often it ran; null as above."},
	{"recursion_misses", "missed", FIELD_COUNT, 0, NULL, NULL,
	 "How often the kernel skipped it."},
};

const struct object_desc view_prog_desc = {
	.name = "prog",
	.help = "Our BPF programs.",
	.version = 1,
	.is_list = true,
	.layout = OBJECT_TABLE,
	FIELDS(prog_fields),
};

/* --- refusal ---------------------------------------------------------------------------------- */

static const struct field_desc change_that_fits_fields[] = {
	{"suggestion", "or", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "The change in a sentence."},
	{"kind", NULL, FIELD_TEXT, FIELD_HIDDEN, NULL, NULL, "What is changed."},
	{"container", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "The container that asks for another amount; null = none."},
	{"uid", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "The pod that leaves; null = none."},
	{"cpus", NULL, FIELD_COUNT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "CPUs that are asked for then; null = as before, so the next."},
	{"bytes", NULL, FIELD_COUNT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "Bytes that are asked for then."},
	{"resource", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "The memory these bytes are of."},
	{"instead_of", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "The huge pages that are asked for now, where their size is changed."},
	{"option", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL,
	 "The field of the configuration; null = it is no change of the configuration."},
	{"value", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL, "Its new value."},
};

static const struct object_desc change_that_fits_desc = {
	.name = "change that fits",
	.help = "A change that was tried and admits the pod.",
	.version = 1,
	FIELDS(change_that_fits_fields),
};

/* Behind the fields of a refusal, wherever one is shown. */
#define UNIT_FIELD                                                                          \
	{                                                                                   \
		"unit", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_NULL, NULL, NULL, \
			"Of wanted and available: CPUs or bytes; null = these are none."    \
	}
#define CHANGE_FIELDS                                                                 \
	{"change",                                                                    \
	 NULL,                                                                        \
	 FIELD_OBJECT,                                                                \
	 FIELD_HIDDEN | FIELD_NULL,                                                   \
	 NULL,                                                                        \
	 &change_that_fits_desc,                                                      \
	 "The suggestion as data; null = there is none."},                            \
	{                                                                             \
		"others", NULL, FIELD_LIST, FIELD_BARE, NULL, &change_that_fits_desc, \
			"Changes of other kinds that were tried and fit as well."     \
	}

static const struct field_desc refusal_fields[] = {
	{"namespace", "pod", FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Namespace of the pod; null = its document does not say."},
	{"name", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH | FIELD_NULL, NULL, NULL,
	 "Name of the pod; null = its document does not say."},
	{"uid", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL, "Identity of the pod."},
	{"reason", "refused", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "The kubelet's word for it."},
	{"refusal", "kind", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Ours, as in the metrics."},
	{"container", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "The container that does not fit; null = the pod as a whole."},
	{"wanted", NULL, FIELD_COUNT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "How much was wanted, in the resource's unit."},
	{"available", NULL, FIELD_COUNT, FIELD_HEAD | FIELD_NULL, NULL, NULL, "How much there is."},
	UNIT_FIELD,
	{"message", NULL, FIELD_TEXT, FIELD_LINE | FIELD_BARE, NULL, NULL, "The whole sentence."},
	{"suggestion", "try", FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "The nearest change that fits: it was tried when the pod was refused."},
	{"file", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL, "Where it stands."},
	{"line", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL, "Line its document begins in."},
	CHANGE_FIELDS,
};

const struct object_desc view_refusal_desc = {
	.name = "refusal",
	.help = "A pod that was not admitted, and why.",
	.version = 1,
	.is_list = true,
	FIELDS(refusal_fields),
};

/* --- explain ---------------------------------------------------------------------------------- */

static const struct field_desc hint_fields[] = {
	{"resource", NULL, FIELD_TEXT, 0, NULL, NULL, "cpu, memory, or huge pages of one size."},
	{"wanted", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "CPUs or bytes asked for; null = nothing."},
	{"answer", NULL, FIELD_TEXT, 0, NULL, NULL,
	 "hints, any nodes will do, no nodes will do, or keeps its nodes."},
	{"sets", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "How many sets of NUMA nodes would do; null = no hints."},
	{"preferred", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL,
	 "How many of these have no more nodes than it needs."},
	{"complete", NULL, FIELD_BOOL, 0, NULL, NULL,
	 "All sets were looked at; no = the machine has too many, the best were."},
	{"nodes", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "The sets, preferred ones first, eight at most."},
};

static const struct object_desc hint_desc = {
	.name = "hints",
	.help = "Which sets of NUMA nodes would do for one resource.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(hint_fields),
};

static const struct field_desc merge_fields[] = {
	{"nodes", "hints merged to nodes", FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "NUMA nodes that came of all hints together; null = any."},
	{"preferred", "preferred by all", FIELD_BOOL, FIELD_HEAD, NULL, NULL,
	 "Every provider prefers exactly these."},
	{"admitted", NULL, FIELD_BOOL, FIELD_HEAD, NULL, NULL, "The policy admits that."},
	{"policy", NULL, FIELD_TEXT, FIELD_HIDDEN, NULL, NULL, "topologyManagerPolicy."},
	{"test", NULL, FIELD_TEXT, FIELD_LINE | FIELD_BARE, NULL, NULL,
	 "What the policy looks at."},
};

static const struct object_desc merge_desc = {
	.name = "merge",
	.help = "What came of the hints of all resources.",
	.version = 1,
	FIELDS(merge_fields),
};

static const struct field_desc step_fields[] = {
	{"step", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE, NULL, NULL, "One step, in order."},
};

static const struct object_desc step_desc = {
	.name = "step",
	.help = "How the CPUs of a container came.",
	.version = 1,
	FIELDS(step_fields),
};

/* How nodes were chosen: of a container, or of a refused pod. */
#define HINT_FIELDS                                                                      \
	{"hints",                                                                        \
	 NULL,                                                                           \
	 FIELD_LIST,                                                                     \
	 0,                                                                              \
	 NULL,                                                                           \
	 &hint_desc,                                                                     \
	 "What each provider would do with; none = nothing is aligned."},                \
	{                                                                                \
		"merge", NULL, FIELD_OBJECT, FIELD_BARE | FIELD_NULL, NULL, &merge_desc, \
			"What came of it; null = nothing is aligned."                    \
	}

static const struct field_desc explain_memory_fields[] = {
	{"numa", NULL, FIELD_COUNT, 0, NULL, NULL, "Id of the NUMA node."},
	{"type", NULL, FIELD_TEXT, 0, NULL, NULL, "memory, or huge pages of one size."},
	{"total_bytes", "total", FIELD_BYTES, FIELD_NULL, NULL, NULL, "What the node has."},
	{"reserved_bytes", "reserved", FIELD_BYTES, FIELD_NULL, NULL, NULL,
	 "Of these, reservedMemory."},
	{"granted_bytes", "granted", FIELD_BYTES, FIELD_NULL, NULL, NULL, "Pinned for pods."},
	{"free_bytes", "free", FIELD_BYTES, FIELD_NULL, NULL, NULL, "What could be granted."},
	{"kernel_free_bytes", "kernel's free", FIELD_BYTES, FIELD_NULL, NULL, NULL,
	 "Huge pages that the kernel has free; null = not known."},
	{"used_with", "used with", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "The nodes it is used with: itself alone, or its group; null = it is not used."},
};

static const struct object_desc explain_memory_desc = {
	.name = "memory",
	.help = "Memory of one type on a NUMA node.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(explain_memory_fields),
};

static const struct field_desc explain_container_fields[] = {
	{"name", "container", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Name of the container."},
	{"kind", NULL, FIELD_ENUM, FIELD_HEAD | FIELD_BARE, KIND_VALUES, NULL,
	 "init, sidecar (init container that stays) or app."},
	{"isolation", NULL, FIELD_ENUM, FIELD_HEAD, ISOLATION_VALUES, NULL,
	 "Whose CPUs: its own (container), the pod's pool, the node's (host)."},
	{"pool", "shares the pool of the", FIELD_ENUM, FIELD_HEAD | FIELD_NULL,
	 VALUES("node", "pod"), NULL, "The pool it shares; null = none."},
	{"why", NULL, FIELD_TEXT, FIELD_LINE | FIELD_BARE, NULL, NULL, "Why that isolation."},
	{"cpus", NULL, FIELD_CPULIST, FIELD_LINE, NULL, NULL, "CPUs it may run on."},
	{"nr_cpus", "count", FIELD_COUNT, 0, NULL, NULL, "How many these are."},
	{"cores", NULL, FIELD_TEXT, 0, NULL, NULL, "Cores they lie on, as a list of ids."},
	{"uncores", "uncore caches", FIELD_TEXT, 0, NULL, NULL, "Last-level caches, likewise."},
	{"numa", NULL, FIELD_TEXT, 0, NULL, NULL, "NUMA nodes, likewise."},
	{"sockets", NULL, FIELD_TEXT, 0, NULL, NULL, "Packages, likewise."},
	{"whole_cores", "whole cores", FIELD_BOOL, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "All threads of its cores are its own; null = it has no CPUs of its own."},
	{"siblings", "siblings not its own", FIELD_CPULIST, FIELD_NULL, NULL, NULL,
	 "Threads of its cores that are not its own; null as above."},
	{"mems", NULL, FIELD_CPULIST, FIELD_LINE, NULL, NULL,
	 "NUMA nodes whose memory it may use."},
	{"cpu_max", "cpu.max", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Its quota and period."},
	{"level_cpu_max", "of the pod's shared level", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "Quota of the level its pod's sharing containers are below; null = there is none."},
	{"pod_cpu_max", "of the pod", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Quota of the pod."},
	{"steps", NULL, FIELD_LIST, FIELD_BARE, NULL, &step_desc,
	 "How its own CPUs came; none = it has no CPUs of its own."},
	HINT_FIELDS,
};

static const struct object_desc explain_container_desc = {
	.name = "explained container",
	.help = "What one container runs on, where that lies, and why.",
	.version = 1,
	FIELDS(explain_container_fields),
};

static const struct field_desc explain_option_fields[] = {
	{"option", NULL, FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Name in the configuration."},
	{"value", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE, NULL, NULL, "Value in force."},
	{"rule", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE, NULL, NULL, "What it asks for."},
	{"outcome", NULL, FIELD_TEXT, FIELD_LINE | FIELD_BARE | FIELD_NULL, NULL, NULL,
	 "What came of it for the CPUs this pod holds; null = nothing to be counted."},
};

static const struct object_desc explain_option_desc = {
	.name = "option in force",
	.help = "An option of the policy that had a say.",
	.version = 1,
	FIELDS(explain_option_fields),
};

static const struct field_desc explain_node_fields[] = {
	{"numa", "numa", FIELD_COUNT, 0, NULL, NULL, "Id of the NUMA node."},
	{"cpus", NULL, FIELD_COUNT, 0, NULL, NULL, "How many CPUs it has."},
	{"nr_free", "free", FIELD_COUNT, 0, NULL, NULL, "How many could be granted alone."},
	{"nr_free_cores", "whole cores", FIELD_COUNT, 0, NULL, NULL,
	 "How many cores are free with all their threads."},
	{"free", "free cpus", FIELD_CPULIST, 0, NULL, NULL, "The free CPUs."},
};

static const struct object_desc explain_node_desc = {
	.name = "free cpus",
	.help = "What is free on a NUMA node.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(explain_node_fields),
};

static const struct field_desc explain_warning_fields[] = {
	{"message", "warning", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "What may go wrong, and why."},
};

static const struct object_desc explain_warning_desc = {
	.name = "warning",
	.help = "Something about a grant an operator should know.",
	.version = 1,
	FIELDS(explain_warning_fields),
};

static const struct field_desc explain_fields[] = {
	{"namespace", "pod", FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Namespace of the pod; null = its document does not say."},
	{"name", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH | FIELD_NULL, NULL, NULL,
	 "Name of the pod; null = its document does not say."},
	{"uid", NULL, FIELD_TEXT, FIELD_HIDDEN | FIELD_NULL, NULL, NULL, "Identity of the pod."},
	{"outcome", NULL, FIELD_ENUM, FIELD_HEAD | FIELD_BARE, VALUES("admitted", "refused"), NULL,
	 "admitted with a reason beside it: a changed document was refused, the old grant holds."},
	{"qos", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "QoS class; null = refused, and so for state, grant, bubble and held."},
	{"state", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL, "As in pod."},
	{"reason", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Of the refusal, the kubelet's word; null = nothing is refused, so those below."},
	{"refusal", "kind", FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Ours, as in the metrics."},
	{"container", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "The container that does not fit."},
	{"wanted", NULL, FIELD_COUNT, FIELD_HEAD | FIELD_NULL, NULL, NULL, "How much was wanted."},
	{"available", NULL, FIELD_COUNT, FIELD_HEAD | FIELD_NULL, NULL, NULL, "How much there is."},
	UNIT_FIELD,
	{"grant", NULL, FIELD_TEXT, FIELD_LINE | FIELD_BARE | FIELD_NULL, NULL, NULL,
	 "What it holds, in a sentence."},
	{"message", NULL, FIELD_TEXT, FIELD_LINE | FIELD_BARE | FIELD_NULL, NULL, NULL,
	 "Why it is refused, with the numbers."},
	{"suggestion", "try", FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "The nearest change that fits: it was tried when the pod was refused."},
	{"remedy", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "What else an operator can do."},
	{"file", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "Where the refused document stands."},
	{"line", NULL, FIELD_COUNT, FIELD_NULL, NULL, NULL, "Line it begins in."},
	{"detail", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL, "Why it is not running."},
	{"bubble", NULL, FIELD_CPULIST, FIELD_LINE | FIELD_NULL, NULL, NULL,
	 "All CPUs of the pod, under pod scope."},
	{"held", NULL, FIELD_CPULIST, FIELD_NULL, NULL, NULL, "All CPUs kept from others for it."},
	CHANGE_FIELDS,
	{"warnings", NULL, FIELD_LIST, FIELD_BARE, NULL, &explain_warning_desc,
	 "What may go wrong."},
	{"containers", NULL, FIELD_LIST, FIELD_BARE, NULL, &explain_container_desc,
	 "Its containers; none when it is refused."},
	HINT_FIELDS,
	{"options", NULL, FIELD_LIST, FIELD_BARE, NULL, &explain_option_desc,
	 "Options in force that had a say."},
	{"nodes", "free now", FIELD_LIST, 0, NULL, &explain_node_desc,
	 "CPUs that are free, where something is refused."},
	{"memory", "memory now", FIELD_LIST, 0, NULL, &explain_memory_desc,
	 "Memory per NUMA node and type, where something is refused and memory is pinned."},
};

const struct object_desc view_explain_desc = {
	.name = "explain",
	.help = "Why a pod has the CPUs it has, or why it has none.",
	.version = 1,
	.is_list = true,
	FIELDS(explain_fields),
};

static const struct field_desc ledger_fields[] = {
	SCHEMA_VERSION_FIELD,
	{"state", NULL, FIELD_TEXT, FIELD_HIDDEN, NULL, NULL,
	 "What the state file would hold now, as one text with its own checksum."},
};

const struct object_desc view_ledger_desc = {
	.name = "ledger",
	.help = "What the agent holds at this moment, for programs that decide on it.",
	.version = 1,
	FIELDS(ledger_fields),
};

/* --- simulate --------------------------------------------------------------------------------- */

static const struct field_desc change_fields[] = {
	{"namespace", NULL, FIELD_TEXT, 0, NULL, NULL, "Namespace of the pod."},
	{"pod", NULL, FIELD_TEXT, FIELD_SLASH, NULL, NULL, "Name of the pod."},
	{"container", NULL, FIELD_TEXT, FIELD_SLASH, NULL, NULL, "Name of the container."},
	{"before", NULL, FIELD_CPULIST, FIELD_NULL, NULL, NULL, "Its CPUs before; null = none."},
	{"after", NULL, FIELD_CPULIST, FIELD_NULL, NULL, NULL, "Its CPUs after; null = none."},
	{"before_mems", "mems before", FIELD_CPULIST, FIELD_NULL, NULL, NULL,
	 "NUMA nodes whose memory it might use."},
	{"after_mems", "mems after", FIELD_CPULIST, FIELD_NULL, NULL, NULL, "Likewise after."},
	{"before_isolation", "isolation before", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "Whose CPUs they were: its own (container), the pod's pool, the node's (host)."},
	{"after_isolation", "isolation after", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "Likewise after."},
	{"before_cpu_max", "cpu.max before", FIELD_TEXT, FIELD_NULL, NULL, NULL,
	 "Its quota and period before."},
	{"after_cpu_max", "cpu.max after", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Likewise after."},
};

static const struct object_desc change_desc = {
	.name = "change",
	.help = "A container that differs afterwards; all null after = it holds nothing any more.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(change_fields),
};

static const struct field_desc expect_fields[] = {
	{"file", NULL, FIELD_TEXT, 0, NULL, NULL, "The script."},
	{"line", NULL, FIELD_COUNT, 0, NULL, NULL, "Line in it."},
	{"met", NULL, FIELD_BOOL, 0, NULL, NULL, "It holds."},
	{"expect", NULL, FIELD_TEXT, 0, NULL, NULL, "What was expected."},
	{"found", NULL, FIELD_TEXT, FIELD_NULL, NULL, NULL, "What was found instead."},
};

static const struct object_desc expect_desc = {
	.name = "expect",
	.help = "An expectation of a script.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(expect_fields),
};

static const struct field_desc total_fields[] = {
	{"numa", "numa", FIELD_COUNT, 0, NULL, NULL, "Id of the NUMA node."},
	{"nr_cpus", "cpus", FIELD_COUNT, 0, NULL, NULL, "How many CPUs it has."},
	{"nr_reserved", "reserved", FIELD_COUNT, 0, NULL, NULL,
	 "How many are kept for the system."},
	{"nr_shared", "shared", FIELD_COUNT, 0, NULL, NULL, "How many are in the shared pool."},
	{"nr_exclusive", "exclusive", FIELD_COUNT, 0, NULL, NULL,
	 "How many are granted exclusively."},
	{"nr_free_cores", "free cores", FIELD_COUNT, 0, NULL, NULL,
	 "How many cores could be granted with all their threads."},
	{"largest_request", "largest request", FIELD_COUNT, 0, NULL, NULL,
	 "The most exclusive CPUs a container can still get from this node alone."},
};

static const struct object_desc total_desc = {
	.name = "node total",
	.help = "A NUMA node in numbers.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(total_fields),
};

static const struct field_desc memory_fields[] = {
	{"numa", "memory numa", FIELD_COUNT, 0, NULL, NULL, "Id of the NUMA node."},
	{"type", NULL, FIELD_TEXT, 0, NULL, NULL, "memory, or hugepages- and their size."},
	{"total_bytes", "total", FIELD_BYTES, 0, NULL, NULL,
	 "What the node has; of memory, huge pages included."},
	{"reserved_bytes", "reserved", FIELD_BYTES, FIELD_NULL, NULL, NULL,
	 "Kept for the system; null = memory is not pinned, so below."},
	{"allocated_bytes", "allocated", FIELD_BYTES, FIELD_NULL, NULL, NULL, "Granted to pods."},
	{"free_bytes", "free", FIELD_BYTES, FIELD_NULL, NULL, NULL, "Still to be granted."},
};

static const struct object_desc memory_desc = {
	.name = "node memory",
	.help = "One type of memory of a NUMA node.",
	.version = 1,
	.layout = OBJECT_TABLE,
	FIELDS(memory_fields),
};

static const struct field_desc simulate_fields[] = {
	SCHEMA_VERSION_FIELD,
	{"topology", "simulated", FIELD_TEXT, FIELD_HEAD, NULL, NULL,
	 "The machine, as given on the command line."},
	MACHINE_FIELDS,
	POOL_FIELDS,
	{"largest_request", "largest aligned request", FIELD_COUNT, FIELD_LINE, NULL, NULL,
	 "The most exclusive CPUs a container can still get from one NUMA node."},
	{"conceivable_request", "were all free CPUs together", FIELD_COUNT, 0, NULL, NULL,
	 "The same, had the free CPUs been gathered on as few nodes as can hold them."},
	{"fragmentation_percent", "fragmentation percent", FIELD_COUNT, 0, NULL, NULL,
	 "How much of the latter the former falls short of."},
	{"pods", NULL, FIELD_LIST, FIELD_BARE, NULL, &view_pod_desc, "Pods admitted."},
	{"refusals", NULL, FIELD_LIST, FIELD_BARE, NULL, &view_refusal_desc, "Pods refused."},
	{"changes", NULL, FIELD_LIST, 0, NULL, &change_desc,
	 "Containers that were there before and that the steps would change."},
	{"expects", NULL, FIELD_LIST, 0, NULL, &expect_desc, "Expectations of the script."},
	{"nodes", NULL, FIELD_LIST, FIELD_BARE, NULL, &numa_desc, "Per NUMA node."},
	{"totals", NULL, FIELD_LIST, FIELD_BARE, NULL, &total_desc, "The same in numbers."},
	{"memory", NULL, FIELD_LIST, FIELD_BARE, NULL, &memory_desc, "Its memory by type."},
};

const struct object_desc view_simulate_desc = {
	.name = "simulate",
	.help = "What would happen.",
	.version = 1,
	FIELDS(simulate_fields),
};

/* --- the rest --------------------------------------------------------------------------------- */

static const struct field_desc version_fields[] = {
	{"program", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE, NULL, NULL, "pinfold or pinfoldd."},
	{"version", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE, NULL, NULL, "Release."},
	{"revision", NULL, FIELD_TEXT, FIELD_LINE | FIELD_NULL, NULL, NULL, "Source revision."},
	{"libbpf_version", "libbpf", FIELD_TEXT, FIELD_NULL, NULL, NULL, "Version of libbpf."},
	{"schema_version", "schema", FIELD_COUNT, 0, NULL, NULL, "Version of the JSON contract."},
};

const struct object_desc view_version_desc = {
	.name = "version",
	.help = "Versions of the program and of its JSON.",
	.version = 1,
	FIELDS(version_fields),
};

static const struct field_desc run_fields[] = {
	{"namespace", "joined", FIELD_TEXT, FIELD_HEAD, NULL, NULL, "Namespace of the pod."},
	{"pod", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, NULL, NULL,
	 "Name of the pod."},
	{"container", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_BARE | FIELD_SLASH, NULL, NULL,
	 "Name of the container."},
	{"cgroup", NULL, FIELD_TEXT, FIELD_HEAD | FIELD_NULL, NULL, NULL,
	 "Where the process now is."},
};

const struct object_desc view_run_desc = {
	.name = "run",
	.help = "The answer to a process that asked to be moved into a container.",
	.version = 1,
	FIELDS(run_fields),
};

static const struct field_desc error_fields[] = {
	{"error", "Error:", FIELD_TEXT, FIELD_HEAD, NULL, NULL,
	 "What failed, with which value, why, and what to do."},
};

const struct object_desc view_error_desc = {
	.name = "error",
	.help = "A failure.",
	.version = 1,
	FIELDS(error_fields),
};

const struct object_desc *const view_descs[] = {
	&view_node_desc,
	&view_cpu_desc,
	&view_pod_desc,
	&view_refusal_desc,
	&view_explain_desc,
	&view_container_desc,
	&view_policy_desc,
	&view_drift_desc,
	&view_event_desc,
	&view_feature_desc,
	&view_prog_desc,
	&view_state_desc,
	&view_ledger_desc,
	&view_simulate_desc,
	&view_version_desc,
	&view_run_desc,
	NULL,
};

const struct object_desc *view_find(const char *name)
{
	for (const struct object_desc *const *desc = view_descs; *desc; desc++) {
		if (!strcmp((*desc)->name, name))
			return *desc;
	}
	return NULL;
}
