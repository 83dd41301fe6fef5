// SPDX-License-Identifier: Apache-2.0
/* The recent past of a pod or container: what tasks waited for, what they ran, and gaps. */
#include <pinfold/abi.h>
#include <pinfold/pressure.h>

#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

static const struct field_desc request_fields[] = {
	TEXT(view_history_request, pod, NULL, 0,
	     "namespace/name, name in namespace default, or uid."),
	TEXT(view_history_request, container, NULL, OR_NULL,
	     "Name of the container; null for the pod as a whole."),
	WORD(view_history_request, span, NULL, 0,
	     "How far back.", [PRESSURE_SPAN_10M] = "10m", [PRESSURE_SPAN_24H] = "24h"),
};
DESCRIBE(view_history_request, request_fields, "history request",
	 "The request for the recent past of a pod or container.");

#define WAITED	       "Time in which at least one of its tasks waited for "
#define NONE_RAN(what) "Time in which tasks waited for " what " and none ran."
#define PART_OF	       "Time that its tasks were runnable but did not run because "

static const struct field_desc sample_fields[] = {
	TIME(view_history_sample, time_ns, "until", 0, "When it ended."),
	SECONDS(view_history_sample, length_ns, "seconds", "length", 0,
		"How long it took. For a minute of which only a part is known, that part."),
	WORD(view_history_sample, kind, NULL, 0,
	     "gap: nothing is known of this time, because the agent did not run, the pressure "
	     "could not be read for more than 15 s, or the container was restarted.",
	     [HISTORY_SAMPLE] = "sample", [HISTORY_GAP] = "gap"),
	PERCENT(view_history_sample, cpu_some, "cpu some", OR_NULL,
		"Share of the time in which at least one of its tasks waited for a CPU."),
	PERCENT(view_history_sample, cpu_full, "full", OR_NULL | SLASH,
		"Share of the time in which tasks waited for a CPU and none ran."),
	PERCENT(view_history_sample, memory_some, "memory some", OR_NULL, "The same for memory."),
	PERCENT(view_history_sample, memory_full, "full", OR_NULL | SLASH, "The same for memory."),
	PERCENT(view_history_sample, io_some, "io some", OR_NULL, "The same for IO."),
	PERCENT(view_history_sample, io_full, "full", OR_NULL | SLASH, "The same for IO."),
	SECONDS(view_history_sample, pressure_length_ns, "pressure_seconds", NULL, OR_NULL | HIDDEN,
		"The time that the shares refer to: that between updates of the kernel, which are settled after four seconds."),
	SECONDS(view_history_sample, waited_ns[PRESSURE_CPU_SOME], "cpu_some_seconds", NULL,
		OR_NULL | HIDDEN, WAITED "a CPU."),
	SECONDS(view_history_sample, waited_ns[PRESSURE_CPU_FULL], "cpu_full_seconds", NULL,
		OR_NULL | HIDDEN, NONE_RAN("a CPU")),
	SECONDS(view_history_sample, waited_ns[PRESSURE_MEMORY_SOME], "memory_some_seconds", NULL,
		OR_NULL | HIDDEN, WAITED "memory."),
	SECONDS(view_history_sample, waited_ns[PRESSURE_MEMORY_FULL], "memory_full_seconds", NULL,
		OR_NULL | HIDDEN, NONE_RAN("memory")),
	SECONDS(view_history_sample, waited_ns[PRESSURE_IO_SOME], "io_some_seconds", NULL,
		OR_NULL | HIDDEN, WAITED "IO."),
	SECONDS(view_history_sample, waited_ns[PRESSURE_IO_FULL], "io_full_seconds", NULL,
		OR_NULL | HIDDEN, NONE_RAN("IO")),
	SECONDS(view_history_sample, run_ns, "run_seconds", "run", OR_NULL, "CPU time."),
	SECONDS(view_history_sample, cause_ns[WAIT_OWN_QUOTA], "wait_own_quota_seconds",
		"own quota", OR_NULL, PART_OF "its cgroup or one above was throttled."),
	SECONDS(view_history_sample, cause_ns[WAIT_OWN_CONTAINER], "wait_own_container_seconds",
		"own container", OR_NULL, PART_OF "its own tasks had the CPU."),
	SECONDS(view_history_sample, cause_ns[WAIT_POD_SIBLING], "wait_pod_sibling_seconds",
		"pod sibling", OR_NULL, PART_OF "another container of its pod had the CPU."),
	SECONDS(view_history_sample, cause_ns[WAIT_OTHER_POD], "wait_other_pod_seconds",
		"other pod", OR_NULL, PART_OF "another pod had the CPU."),
	SECONDS(view_history_sample, cause_ns[WAIT_HOST], "wait_host_seconds", "host", OR_NULL,
		PART_OF "a task of no container had the CPU."),
	SECONDS(view_history_sample, cause_ns[WAIT_KERNEL], "wait_kernel_seconds", "kernel",
		OR_NULL, PART_OF "a kernel thread had the CPU."),
	SECONDS(view_history_sample, cause_ns[WAIT_IDLE], "wait_idle_seconds", "idle", OR_NULL,
		PART_OF "nobody had the CPU, which still had to wake up."),
	SECONDS(view_history_sample, cause_ns[WAIT_UNATTRIBUTED], "wait_unattributed_seconds",
		"unattributed", OR_NULL, PART_OF "of a cause that is not known."),
};
DESCRIBE_PART(view_history_sample, sample_fields, .layout = OBJECT_TABLE);

static const struct field_desc history_fields[] = {
	TEXT(view_history, namespace, "history", HEAD, "Namespace of the pod."),
	TEXT(view_history, pod, NULL, HEAD | BARE | SLASH, "Name of the pod."),
	TEXT(view_history, container, NULL, HEAD | BARE | SLASH | OR_NULL,
	     "Name of the container; null for the pod as a whole, whose run time and waits are the "
	     "sums of its containers'."),
	TEXT(view_history, uid, NULL, HIDDEN, "Identity of the pod."),
	WORD(view_history, span, NULL, HEAD, "How far back: 10m in samples of 2 s, 24h in minutes.",
	     [PRESSURE_SPAN_10M] = "10m", [PRESSURE_SPAN_24H] = "24h"),
	WORD(view_history, state, NULL, HIDDEN,
	     "awaited: the next pass over the cgroups begins it. left_out: the agent already keeps "
	     "as many histories as it can; one is kept of this pod or container as soon as another "
	     "one ends.",
	     [HISTORY_KEPT] = "kept", [HISTORY_AWAITED] = "awaited",
	     [HISTORY_LEFT_OUT] = "left_out"),
	BYTES(view_history, memory_bytes, "memory", HEAD,
	      "What the agent has allocated for the history of this pod or container, of both "
	      "spans."),
	COUNT(view_history, histories, NULL, HEAD,
	      "Pods and containers of which a history is kept."),
	COUNT(view_history, histories_max, NULL, HIDDEN,
	      "Pods and containers of which one can be kept."),
	BYTES(view_history, histories_bytes, "in", HEAD, "What it has allocated for all of them."),
	LIST(view_history, samples, view_history_sample, NULL, BARE,
	     "Samples and the gaps between them, oldest first."),
};
DESCRIBE(view_history, history_fields, "history",
	 "The pressure, run time and waits of a pod or container in the last 10 minutes or 24 "
	 "hours.");

struct json_object *view_history(const struct view_history *row)
{
	return object_json(&view_history_desc, row, 1);
}
