// SPDX-License-Identifier: Apache-2.0
/* Pods and containers that others made, as a scan of the node found them. */
#include "format/object_table.h"
#include "format/view_private.h"

static const struct field_desc discovery_fields[] = {
	WORD(view_discovery, kind, "discovery", HEAD,
	     "pod, container, or sandbox (the pause container, which the kubelet does not pin).",
	     "pod", "container", "sandbox"),
	TEXT(view_discovery, namespace, "pod", HEAD | OR_NULL,
	     "Namespace of the pod; null, as for the following, unless names is read."),
	TEXT(view_discovery, pod, NULL, HEAD | BARE | SLASH | OR_NULL, "Name of the pod."),
	TEXT(view_discovery, container, "container", HEAD | OR_NULL,
	     "Name of the container; null for a pod and a sandbox."),
	TEXT(view_discovery, id, NULL, HEAD | OR_NULL,
	     "The runtime's id of the container; null for a pod."),
	TEXT(view_discovery, uid, NULL, HEAD | OR_NULL,
	     "Uid of the pod, or podman's id of it; null if the container has no pod."),
	TEXT(view_discovery, qos, NULL, HEAD | OR_NULL,
	     "QoS class by the level below kubepods; null outside a kubelet's tree."),
	TEXT(view_discovery, runtime, NULL, HEAD | OR_NULL,
	     "containerd, cri-o, podman or docker, by the form of the cgroup's name; null for a "
	     "pod."),
	TEXT(view_discovery, driver, NULL, HEAD, "systemd or cgroupfs, by the same."),
	TEXT(view_discovery, cpus, NULL, LINE | OR_NULL,
	     "cpuset.cpus; \"\" = not restricted here; null, as for the following, = there is no "
	     "such file."),
	TEXT(view_discovery, effective_cpus, "effective", OR_NULL, "CPUs that are in force."),
	TEXT(view_discovery, kubelet_cpus, "kubelet", OR_NULL,
	     "CPUs that the kubelet's static policy gives to the container, as its state file "
	     "lists them; null if that is unknown, or if it is not a kubelet's container."),
	TEXT(view_discovery, mems, NULL, OR_NULL, "cpuset.mems."),
	TEXT(view_discovery, effective_mems, "effective", OR_NULL, "NUMA nodes in force."),
	TEXT(view_discovery, cpu_max, "cpu.max", OR_NULL, "Quota and period."),
	COUNT(view_discovery, cpu_request_mcpu, "request mcpu", OR_NULL,
	      "CPUs that the container requested when it was made, in thousandths, by the shares in "
	      "the runtime's file; null if that file was not read, or states no more than 2."),
	COUNT(view_discovery, cpu_weight, "cpu.weight", OR_NULL, "Weight."),
	TEXT(view_discovery, memory_max, "memory.max", OR_NULL, "Limit in bytes, or max."),
	COUNT(view_discovery, tasks, NULL, LINE | OR_NULL,
	      "Threads and processes in it and below it."),
	SECONDS(view_discovery, run_ns, "run_seconds", "run", OR_NULL,
		"CPU time since it was made, by cpu.stat."),
	SECONDS(view_discovery, throttled_ns, "throttled_seconds", "throttled", OR_NULL,
		"Time in which its quota kept it from running, by cpu.stat."),
	WORD(view_discovery, names, NULL, LINE,
	     "Whether the names are known: none, because no kubelet made it; unknown, because the "
	     "runtime's file could not be found or read; or read.",
	     "none", "unknown", "read"),
	TEXT(view_discovery, cgroup, NULL, 0, "Path below the cgroup mount."),
};
DESCRIBE(view_discovery, discovery_fields, "discovery",
	 "A pod or container that others made, found by its cgroup. Only an agent with mode: "
	 "observe or guard looks for them.",
	 .is_list = true);

struct json_object *view_discoveries(const struct view_discovery *rows, size_t nr_rows)
{
	return object_json(&view_discovery_desc, rows, nr_rows);
}
