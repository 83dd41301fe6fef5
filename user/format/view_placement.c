// SPDX-License-Identifier: Apache-2.0
/* Where a container may run, where its tasks want to run, and where they ran. */
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

static const struct field_desc affinity_fields[] = {
	CPUS(view_placement_affinity, cpus, NULL, 0,
	     "CPUs that these tasks may use. The kernel leaves out CPUs beyond the cpuset and those "
	     "that are offline."),
	COUNT(view_placement_affinity, tasks, NULL, 0, "How many tasks have this affinity."),
	ANSWER(view_placement_affinity, narrower, NULL, OR_NULL,
	       "Whether a CPU of the effective cpuset is missing. A program asked for this, and the "
	       "agent does not change it."),
	COUNT(view_placement_affinity, task, "one of them", 0, "The id of one of these tasks."),
};
static DESCRIBE_PART(view_placement_affinity, affinity_fields, .layout = OBJECT_TABLE);

static const struct field_desc cpu_fields[] = {
	COUNT(view_placement_cpu, cpu, NULL, 0, "The CPU."),
	COUNT(view_placement_cpu, numa, NULL, OR_NULL, "Its NUMA node."),
	ANSWER(view_placement_cpu, granted, NULL, 0, "Whether it is granted to the container now."),
	ANSWER(view_placement_cpu, local, NULL, OR_NULL,
	       "Whether the container is granted memory on its NUMA node, or, with unrestricted memory, "
	       "CPUs."),
	SECONDS(view_placement_cpu, run_ns, "run_seconds", "run", 0,
		"CPU time on it since the agent began to count it."),
	PERCENT(view_placement_cpu, run_percent, "of all", 0,
		"Its share of all CPU time of the container."),
	SECONDS(view_placement_cpu, outside_ns, "outside_seconds", "outside", 0,
		"Part of run_seconds: it was not granted at that time."),
	SECONDS(view_placement_cpu, wait_ns, "wait_seconds", "waited", OR_NULL,
		"How long its tasks were runnable on it while others had it; waits that are over."),
	COUNT(view_placement_cpu, switches, NULL, OR_NULL, "How often one of its tasks got it."),
	COUNT(view_placement_cpu, preemptions, NULL, OR_NULL,
	      "How often one of its tasks lost it although it could have run on."),
	COUNT(view_placement_cpu, migrations, NULL, OR_NULL,
	      "How often the kernel, while it ran on this CPU, gave one of its tasks to another CPU: "
	      "because it woke the task up or balanced the load. The task need not come from this CPU. "
	      "Those of CPUs on which the container never ran are only in the sums."),
	SECONDS(view_placement_cpu, window_run_ns, "window_run_seconds", "window", OR_NULL,
		"CPU time on it in the window."),
	PERCENT(view_placement_cpu, window_percent, "of it", OR_NULL,
		"The share of the window in which the container ran on it."),
};
DESCRIBE_PART(view_placement_cpu, cpu_fields, .layout = OBJECT_TABLE);

static const struct field_desc placement_fields[] = {
	TEXT(view_placement, namespace, "container", HEAD, "Namespace of the pod."),
	TEXT(view_placement, pod, NULL, HEAD | BARE | SLASH, "Name of the pod."),
	TEXT(view_placement, container, NULL, HEAD | BARE | SLASH, "Name of the container."),
	TEXT(view_placement, uid, NULL, HIDDEN, "Identity of the pod."),
	ENUM(view_placement, isolation, NULL, HEAD, ISOLATION_HELP, isolation_name, ISOLATION_NR),
	WORD(view_placement, state, NULL, HEAD,
	     "Whether its CPU time is counted: unknown while the observer is being loaded, if it "
	     "could not be, or if it has no free slot for the container.",
	     [PLACEMENT_UNKNOWN] = "unknown", [PLACEMENT_COUNTED] = "counted"),
	TEXT(view_placement, cpus, "CPUs", LINE | OR_NULL,
	     "CPUs that the agent writes to its cpuset; null = it is not restricted."),
	CPUS(view_placement, effective_cpus, "effective", OR_NULL,
	     "CPUs that its cpuset has according to the kernel."),
	TEXT(view_placement, mems, NULL, OR_NULL,
	     "NUMA nodes that the agent writes to its cpuset; null = it is not restricted."),
	CPUS(view_placement, effective_mems, "effective", OR_NULL,
	     "NUMA nodes that its cpuset has according to the kernel."),
	SECONDS(view_placement, run_ns, "run_seconds", "run", LINE | OR_NULL,
		"CPU time since the agent began to count it."),
	SECONDS(view_placement, outside_ns, "outside_seconds", "outside", OR_NULL,
		"Part of run_seconds: on CPUs that were not granted to it."),
	SECONDS(view_placement, remote_ns, "remote_seconds", "remote", OR_NULL,
		"Part of run_seconds: on its own CPUs, but on a NUMA node where it is granted no "
		"memory now."),
	COUNT(view_placement, switches, NULL, LINE | OR_NULL,
	      "How often one of its tasks got a CPU, since the agent began to count it."),
	COUNT(view_placement, preemptions, NULL, OR_NULL,
	      "How often one of its tasks lost a CPU although it could have run on: to another task, "
	      "because of a quota, or because it yielded."),
	COUNT(view_placement, migrations_thread, "migrations in a core", OR_NULL,
	      "How often a task was given to another CPU of the same core."),
	COUNT(view_placement, migrations_core, "in a cache", OR_NULL,
	      "How often to one of another core of the same last-level cache."),
	COUNT(view_placement, migrations_llc, "across caches", OR_NULL,
	      "How often to one of another last-level cache on the same NUMA node."),
	COUNT(view_placement, migrations_numa, "across NUMA nodes", OR_NULL,
	      "How often to one of another NUMA node."),
	SECONDS(view_placement, window_ns, "window_seconds", "window", LINE | OR_NULL,
		"Length of the window, which ends now: usually 10 to 20 seconds; null in a container's "
		"first second."),
	SECONDS(view_placement, window_run_ns, "window_run_seconds", "run", OR_NULL,
		"CPU time in the window."),
	SECONDS(view_placement, window_outside_ns, "window_outside_seconds", "outside", OR_NULL,
		"Part of window_run_seconds: on CPUs that were not granted to it."),
	SECONDS(view_placement, window_remote_ns, "window_remote_seconds", "remote", OR_NULL,
		"Part of window_run_seconds: on its own CPUs, but on a NUMA node where it is granted no "
		"memory now."),
	COUNT(view_placement, tasks, NULL, LINE | OR_NULL, "Tasks in affinities."),
	COUNT(view_placement, narrower_tasks, "narrower than the cpuset", OR_NULL,
	      "Those of them that may run on fewer CPUs than the effective cpuset has."),
	COUNT(view_placement, tasks_left_out, "left out", OR_NULL,
	      "Tasks that appear in no row of affinities: at most 4096 are asked, and at most "
	      "32 different affinities are kept."),
	COUNT(view_placement, places_left_out, "CPUs left out", OR_NULL,
	      "CPUs on which it ran that are missing in places. The answer about all containers has at "
	      "most 8192 rows of places and affinities; a container whose rows do not fit has "
	      "neither. Ask for its pod to see them."),
	LIST(view_placement, affinities, view_placement_affinity, NULL, 0,
	     "The affinities of its tasks."),
	LIST(view_placement, places, view_placement_cpu, "ran on", 0,
	     "The CPUs on which it ran, by ascending number."),
};
DESCRIBE(view_placement, placement_fields, "placement",
	 "Where a container may run, where its tasks want to run, and where they ran, since it is "
	 "counted and in the last seconds.",
	 .is_list = true);

struct json_object *view_placements(const struct view_placement *rows, size_t nr_rows)
{
	return object_json(&view_placement_desc, rows, nr_rows);
}

static const struct field_desc request_fields[] = {
	TEXT(view_placement_request, pod, NULL, 0,
	     "namespace/name, name in namespace default, or uid."),
	TEXT(view_placement_request, container, NULL, OR_NULL,
	     "Name of the container; null for all of the pod."),
};
DESCRIBE(view_placement_request, request_fields, "placement request",
	 "The request for the placement of a pod or container.");

static const struct field_desc use_fields[] = {
	COUNT(view_cpu_use, cpu, NULL, 0, "The CPU."),
	SECONDS(view_cpu_use, run_ns, "run_seconds", "run", 0,
		"CPU time of containers on it in the window. The windows of several containers differ "
		"a little: their shares are added up, so this may exceed the window."),
	SECONDS(view_cpu_use, window_ns, "window_seconds", "window", 0,
		"Length of the window, the longest of all containers, which ends now: usually 10 to 20 "
		"seconds."),
};
DESCRIBE(view_cpu_use, use_fields, "cpu_use",
	 "How much all containers together use a CPU; no rows while that is not known.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_cpu_uses(const struct view_cpu_use *rows, size_t nr_rows)
{
	return object_json(&view_cpu_use_desc, rows, nr_rows);
}
