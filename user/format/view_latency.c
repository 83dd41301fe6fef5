// SPDX-License-Identifier: Apache-2.0
/* How long tasks waited for a CPU: quantiles, and the histogram that they come from. */
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

static const struct field_desc bucket_fields[] = {
	SECONDS(view_latency_bucket, above_ns, "above_seconds", NULL, 0,
		"Its waits are longer than this; 0 for the first one, which has waits of no time, "
		"too."),
	SECONDS(view_latency_bucket, up_to_ns, "up_to_seconds", NULL, OR_NULL,
		"Its longest possible wait; null for the last one, which has no bound."),
	COUNT(view_latency_bucket, count, NULL, 0, "The number of its waits."),
};
DESCRIBE_PART(view_latency_bucket, bucket_fields);

#define MOST                                                                               \
	" of the waits were no longer than this: the upper bound of their bucket, or the " \
	"longest wait."
#define LEAST "The lower bound of the same; the true value is between the two."

static const struct field_desc latency_fields[] = {
	TEXT(view_latency, namespace, NULL, 0, "Namespace of the pod."),
	TEXT(view_latency, pod, NULL, SLASH, "Name of the pod."),
	TEXT(view_latency, container, NULL, OR_NULL | SLASH | IDENTITY,
	     "Name of the container; null for the pod as a whole, the sum of its containers."),
	TEXT(view_latency, uid, NULL, HIDDEN | IDENTITY, "Identity of the pod."),
	COUNT(view_latency, count, "waits", OR_NULL | TOTAL,
	      "Waits that are over, since the container is counted."),
	SECONDS(view_latency, p50_ns, "p50_seconds", "p50<=", OR_NULL, "Half" MOST),
	SECONDS(view_latency, p50_least_ns, "p50_least_seconds", NULL, OR_NULL | HIDDEN, LEAST),
	SECONDS(view_latency, p90_ns, "p90_seconds", "p90<=", OR_NULL, "90 %" MOST),
	SECONDS(view_latency, p90_least_ns, "p90_least_seconds", NULL, OR_NULL | HIDDEN, LEAST),
	SECONDS(view_latency, p99_ns, "p99_seconds", "p99<=", OR_NULL, "99 %" MOST),
	SECONDS(view_latency, p99_least_ns, "p99_least_seconds", NULL, OR_NULL | HIDDEN, LEAST),
	SECONDS(view_latency, p999_ns, "p999_seconds", "p99.9<=", OR_NULL, "99.9 %" MOST),
	SECONDS(view_latency, p999_least_ns, "p999_least_seconds", NULL, OR_NULL | HIDDEN, LEAST),
	SECONDS(view_latency, longest_ns, "longest_seconds", "longest", OR_NULL,
		"The longest wait; exact."),
	SECONDS(view_latency, sum_ns, "sum_seconds", "waiting", OR_NULL | HIDDEN | TOTAL | RANK,
		"The sum of all waits; exact."),
	LIST(view_latency, buckets, view_latency_bucket, NULL, HIDDEN,
	     "The histogram, by ascending length; empty if it is not known."),
	WORD(view_latency, state, NULL, 0,
	     "Whether the waits are counted: unknown while the observer is being loaded, if it "
	     "could not be, or if it has no free slot for the container, and for a pod if that is "
	     "so of one of its containers.",
	     [LATENCY_UNKNOWN] = "unknown", [LATENCY_COUNTED] = "counted"),
};
DESCRIBE(view_latency, latency_fields, "latency",
	 "How long the tasks of a pod or container waited for a CPU, from the wakeup, or from "
	 "losing the CPU, until they ran. A wait that is not over is not in it.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_latencies(const struct view_latency *rows, size_t nr_rows)
{
	return object_json(&view_latency_desc, rows, nr_rows);
}
