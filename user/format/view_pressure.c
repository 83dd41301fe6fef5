// SPDX-License-Identifier: Apache-2.0
/* Pressure by CPU and by NUMA node, and of the last second. */
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

#define CONTAINER_HELP "Name of the container; null for the pod as a whole."
#define RESOURCE_WORDS [PRESSURE_CPU] = "cpu", [PRESSURE_MEMORY] = "memory", [PRESSURE_IO] = "io"
#define STATE_WORDS                                                                 \
	[PRESSURE_PART_UNKNOWN] = "unknown", [PRESSURE_PART_MEASURED] = "measured", \
	[PRESSURE_PART_OFF] = "off", [PRESSURE_PART_OFF_CGROUP] = "off_cgroup",     \
	[PRESSURE_PART_LEFT_OUT] = "left_out", [PRESSURE_PART_UNREADABLE] = "unreadable"
#define STATE_HELP                                                                              \
	"Whether it is known: off if the kernel was booted with psi=0, off_cgroup if "          \
	"cgroup.pressure is 0, left_out if the pods and containers of the node have more CPUs " \
	"than are read (16384 in all, the smallest grants first), unreadable if this kernel's " \
	"state of a CPU cannot be found, unknown if it was not read lately."

/* Each object has its own part of the CPUs between these. */
#define NAME_LINES                                                                    \
	TEXT(view_pressure_part, namespace, NULL, 0, "Namespace of the pod."),        \
		TEXT(view_pressure_part, pod, NULL, SLASH, "Name of the pod."),       \
		TEXT(view_pressure_part, container, NULL, OR_NULL | SLASH | IDENTITY, \
		     CONTAINER_HELP),                                                 \
		TEXT(view_pressure_part, uid, NULL, HIDDEN | IDENTITY, "Identity of the pod.")
#define PART_LINES                                                                                               \
	WORD(view_pressure_part, resource, NULL, IDENTITY, "What its tasks waited for.",                         \
	     RESOURCE_WORDS),                                                                                    \
		PERCENT(view_pressure_part, some_10, "some 10s", OR_NULL | RANK,                                 \
			"Share of the last 10 seconds in which a task waited for it there. Time that could "     \
			"not be counted is left out."),                                                          \
		PERCENT(view_pressure_part, some_60, "some 60s", OR_NULL,                                        \
			"The same for the last 60 seconds."),                                                    \
		PERCENT(view_pressure_part, some_300, "some 300s", OR_NULL,                                      \
			"The same for the last 300 seconds."),                                                   \
		PERCENT(view_pressure_part, full_10, "full 10s", OR_NULL,                                        \
			"Share of the last 10 seconds in which tasks waited for it there and none ran there."),  \
		PERCENT(view_pressure_part, full_60, "full 60s", OR_NULL | HIDDEN,                               \
			"The same for the last 60 seconds."),                                                    \
		PERCENT(view_pressure_part, full_300, "full 300s", OR_NULL | HIDDEN,                             \
			"The same for the last 300 seconds."),                                                   \
		SECONDS(view_pressure_part, some_ns, "some_seconds", "some", OR_NULL | TOTAL,                    \
			"Time in which a task waited, since the agent began to count."),                         \
		SECONDS(view_pressure_part, full_ns, "full_seconds", "full",                                     \
			OR_NULL | HIDDEN | TOTAL,                                                                \
			"Time in which tasks waited and none ran, since the agent began to count."),             \
		SECONDS(view_pressure_part, active_ns, "active_seconds", "active",                               \
			OR_NULL | TOTAL,                                                                         \
			"Time in which a task of it ran or waited for anything there; of a NUMA node, the sum "  \
			"of its CPUs."),                                                                         \
		SECONDS(view_pressure_part, known_ns, "known_seconds", "known", OR_NULL | HIDDEN,                \
			"Time that was counted."),                                                               \
		SECONDS(view_pressure_part, missed_ns, "missed_seconds", "missed", OR_NULL,                      \
			"Time that could not be counted, and of which no other figure has anything: the kernel " \
			"keeps the state of a CPU in 32 bits, which wrap after 4.29 seconds, and the agent was " \
			"held up for longer, or the kernel did not measure. Of a NUMA node also the time until " \
			"a CPU that was added is known."),                                                       \
		WORD(view_pressure_part, state, NULL, 0, STATE_HELP, STATE_WORDS)

static const struct field_desc cpu_fields[] = {
	NAME_LINES,
	COUNT(view_pressure_part, cpu, NULL, OR_NULL | IDENTITY,
	      "A CPU of its grant; null if none of them is known."),
	COUNT(view_pressure_part, numa, NULL, OR_NULL, "The NUMA node of the CPU."),
	PART_LINES,
};
const struct object_desc view_pressure_cpu_desc = {
	.name = "pressure_cpu",
	.help = "How long the tasks of a pod or container waited on each CPU of its grant, from the "
		"kernel's own state of that CPU (PSI).",
	TABLE(view_pressure_part, cpu_fields),
	.is_list = true,
	.layout = OBJECT_TABLE,
};

struct json_object *view_pressure_cpus(const struct view_pressure_part *rows, size_t nr_rows)
{
	return object_json(&view_pressure_cpu_desc, rows, nr_rows);
}

static const struct field_desc numa_fields[] = {
	NAME_LINES,
	COUNT(view_pressure_part, numa, NULL, OR_NULL | IDENTITY,
	      "A NUMA node of its CPUs; null if none of them is known."),
	PART_LINES,
};
const struct object_desc view_pressure_numa_desc = {
	.name = "pressure_numa",
	.help = "How long the tasks of a pod or container waited on the CPUs of its grant on each "
		"NUMA node: the mean of the CPUs, weighted by how long it was active on each, as the "
		"kernel computes pressure.",
	TABLE(view_pressure_part, numa_fields),
	.is_list = true,
	.layout = OBJECT_TABLE,
};

struct json_object *view_pressure_numas(const struct view_pressure_part *rows, size_t nr_rows)
{
	return object_json(&view_pressure_numa_desc, rows, nr_rows);
}

static const struct field_desc second_fields[] = {
	TEXT(view_pressure_second, namespace, NULL, 0, "Namespace of the pod."),
	TEXT(view_pressure_second, pod, NULL, SLASH, "Name of the pod."),
	TEXT(view_pressure_second, container, NULL, OR_NULL | SLASH | IDENTITY, CONTAINER_HELP),
	TEXT(view_pressure_second, uid, NULL, HIDDEN | IDENTITY, "Identity of the pod."),
	WORD(view_pressure_second, resource, NULL, IDENTITY, "What its tasks waited for.",
	     RESOURCE_WORDS),
	PERCENT(view_pressure_second, some, NULL, OR_NULL | RANK,
		"Share of the window in which at least one of its tasks waited for it, on the CPUs of "
		"its grant."),
	PERCENT(view_pressure_second, full, NULL, OR_NULL,
		"Share of the window in which tasks waited for it and none ran."),
	SECONDS(view_pressure_second, window_ns, "window_seconds", "window", OR_NULL,
		"Length of the window, which ends with the last read: about a second. Null until the "
		"agent has read twice, a second apart, which it only does while somebody asks."),
	WORD(view_pressure_second, state, NULL, 0, STATE_HELP, STATE_WORDS),
};
DESCRIBE(
	view_pressure_second, second_fields, "pressure_second",
	"How long the tasks of a pod or container waited in the last second, from the state of the "
	"CPUs of its grant.",
	.is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_pressure_seconds(const struct view_pressure_second *rows, size_t nr_rows)
{
	return object_json(&view_pressure_second_desc, rows, nr_rows);
}

static const struct field_desc request_fields[] = {
	TEXT(view_pressure_cpu_request, pod, NULL, 0,
	     "namespace/name, name in namespace default, or uid."),
	TEXT(view_pressure_cpu_request, container, NULL, OR_NULL,
	     "Name of the container; null for the pod and all of its containers."),
};
DESCRIBE(view_pressure_cpu_request, request_fields, "pressure cpu request",
	 "The request for the pressure on each CPU of a pod or container.");
