/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the guard notes of writes. A part of guard.bpf.c, which removes the notes of a cgroup when it is
 * gone. The map is not LRU: whoever fills it would decide what is forgotten. What there is no room for is
 * counted, and denies more instead of less.
 */
#ifndef GUARD_NOTES_BPF_H
#define GUARD_NOTES_BPF_H

#include "event.bpf.h"
#include "value_text.bpf.h"

/*
 * What process 1 wrote last to the files of managed cgroups while it acted for the agent, unless somebody
 * else with the right to has written there since. systemd writes all files of a unit again when a unit
 * beside or below it starts or ends, or at a reload, with nobody who asks for a change; it may repeat this.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192); /* set at load from maxContainers */
	__type(key, struct written_file);
	__type(value, struct written_text);
} pid1_writes SEC(".maps");

/* What process 1 writes now, which it does with one thread. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct text_parse);
} pid1_text SEC(".maps");

/* What was noted before must not remain: the file has another text now. */
static __always_inline void note_written(const struct written_file *file,
					 const struct written_text *text)
{
	if (!bpf_map_update_elem(&pid1_writes, file, text, BPF_ANY))
		return;
	count_event(EVENTS_NO_TEXT);
	bpf_map_delete_elem(&pid1_writes, file);
}

#endif
