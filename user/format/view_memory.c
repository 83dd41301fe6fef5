// SPDX-License-Identifier: Apache-2.0
/* On which NUMA nodes the memory of containers, and of one process, is. */
#include "format/object_table.h"
#include "format/view_private.h"
#include "format/views.h"

static const struct field_desc memory_fields[] = {
	TEXT(view_memory, namespace, NULL, 0, "Namespace of the pod."),
	TEXT(view_memory, pod, NULL, SLASH, "Name of the pod."),
	TEXT(view_memory, container, NULL, SLASH, "Name of the container."),
	TEXT(view_memory, uid, NULL, HIDDEN, "Identity of the pod."),
	COUNT(view_memory, numa, NULL, OR_NULL,
	      "NUMA node; a container has a row for each node that has memory of it, or should. Null "
	      "in the only row of a container whose memory is not known."),
	ANSWER(view_memory, local, NULL, OR_NULL,
	       "Whether the container was granted memory there, or, with unrestricted memory, has "
	       "CPUs there."),
	BYTES(view_memory, anon_bytes, "anon", OR_NULL,
	      "Anonymous memory: heap, stacks, private mappings."),
	BYTES(view_memory, file_bytes, "file", OR_NULL,
	      "Page cache, with shared memory and tmpfs; charged to whoever touched a page first."),
	BYTES(view_memory, kernel_bytes, "kernel", OR_NULL, "Page tables, kernel stacks and slab."),
	BYTES(view_memory, hugetlb_bytes, "hugetlb", OR_NULL,
	      "Huge pages of hugetlbfs of all sizes, which are not in the former; null if its cgroup "
	      "does not have the hugetlb controller, or the kernel is older than 5.16."),
	WORD(view_memory, state, NULL, 0,
	     "Whether the figures are known: unknown until the first read, up to ten seconds after "
	     "the start of a container, and if reads fail; unsupported without the memory "
	     "controller.",
	     [RESIDENT_UNKNOWN] = "unknown", [RESIDENT_UNSUPPORTED] = "unsupported",
	     [RESIDENT_READ] = "read"),
};
DESCRIBE(view_memory, memory_fields, "memory",
	 "How much memory a container has on each NUMA node, from memory.numa_stat, and its huge "
	 "pages of hugetlbfs, from hugetlb.*.numa_stat.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_memories(const struct view_memory *rows, size_t nr_rows)
{
	return object_json(&view_memory_desc, rows, nr_rows);
}

static const struct field_desc process_memory_fields[] = {
	COUNT(view_process_memory, pid, NULL, 0, "The process."),
	TEXT(view_process_memory, name, NULL, OR_NULL, "Its name."),
	COUNT(view_process_memory, numa, NULL, 0,
	      "NUMA node; there is a row for each that has memory, whether or not the process has any "
	      "of it."),
	BYTES(view_process_memory, bytes, "pages", 0,
	      "Resident pages, transparent huge pages among them. Pages that processes share are "
	      "those of each."),
	BYTES(view_process_memory, hugetlb_bytes, "hugetlb", 0,
	      "Huge pages of hugetlbfs, which are not in the former."),
};
DESCRIBE(view_process_memory, process_memory_fields, "process_memory",
	 "How many resident pages a process has on each NUMA node, from /proc/PID/numa_maps.",
	 .is_list = true, .layout = OBJECT_TABLE);

struct json_object *view_process_memories(const struct view_process_memory *rows, size_t nr_rows)
{
	return object_json(&view_process_memory_desc, rows, nr_rows);
}
