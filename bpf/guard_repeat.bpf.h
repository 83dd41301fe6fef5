/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What process 1 may write without a lease, because it changes nothing: a value that is in force, the text
 * that it last wrote to the same file while it acted for the agent, or what takes nothing from a container.
 * A part of guard.bpf.c, which has the types and maps.
 */
#ifndef GUARD_REPEAT_BPF_H
#define GUARD_REPEAT_BPF_H

#include "guard_force.bpf.h"

/* A write to a file whose text can be repeated: what it does is to set a value. */
static __always_inline bool sets_value(const struct guarded_operation *op)
{
	return op->hook == HOOK_FILE_PERMISSION &&
	       (op->class == FILE_CPUSET || op->class == FILE_CONTROL || op->class == FILE_MEMORY);
}

/*
 * What process 1 writes, in the map, or NULL: for a text that is too long, and for all ways to write but
 * write(2), which systemd uses. The line feed at its end is left out: the kernel takes no notice of it.
 */
static __always_inline struct text_parse *read_text(void)
{
	__u32 zero = 0;
	struct text_parse *parse = bpf_map_lookup_elem(&pid1_text, &zero);
	const char *bytes;
	__u64 nr, last;
	char *text;

	if (!parse || !find_written(&bytes, &nr) || nr > TEXT_BYTES)
		return NULL;
	__builtin_memset(&parse->text, 0, sizeof(parse->text));
	if (bpf_probe_read_user(&parse->text, nr, bytes))
		return NULL;
	text = (char *)&parse->text;
	last = nr - 1;
	/* otherwise clang compares `nr` with 0, from which the verifier learns nothing */
	barrier_var(last);
	if (last < TEXT_BYTES && text[last] == '\n')
		text[last] = '\0';
	return parse;
}

/* The operation is allowed by a right. */
static __noinline int note_text(const struct guarded_operation *op)
{
	struct text_parse *parse = is_process_1() ? read_text() : NULL;
	struct written_file file;

	name_file(op, &file);
	if (parse)
		note_written(&file, &parse->text);
	else
		bpf_map_delete_elem(&pid1_writes, &file);
	return 0;
}

static __always_inline bool is_equal(const struct written_text *a, const struct written_text *b)
{
	__u64 differences = 0;

	for (__u32 i = 0; i < TEXT_WORDS; i++)
		differences |= a->words[i] ^ b->words[i];
	return !differences;
}

/*
 * Does process 1 write what changes nothing for a container, whoever asked for it: a value that stands
 * there, no CPUs for a sibling of the workload root, a controller more, or one less that no child has or
 * of a cgroup without children, the end of a freeze?
 */
static __noinline int changes_nothing(const struct guarded_operation *op)
{
	struct text_parse *parse = read_text();
	struct written_text *before;
	struct written_file file;

	if (!parse)
		return false;
	switch (op->class) {
	case FILE_CONTROLLERS:
		return !op->nr_below || !has_minus(&parse->text) ||
		       disables_nothing(op->cgrp, &parse->text);
	case FILE_FREEZE:
		return is_character(&parse->text, '0');
	case FILE_CPUSET:
		if (op->target.overlap && is_empty(&parse->text))
			return true;
		break;
	}
	name_file(op, &file);
	before = bpf_map_lookup_elem(&pid1_writes, &file);
	if (before && is_equal(before, &parse->text))
		return true;
	return is_in_force(op->cgrp, op->name, parse);
}

/* Tell the watch, for the write that is about to follow. */
static __always_inline void note_unchanged(const struct guarded_operation *op, bool unchanged)
{
	struct written_file file = {};
	__u32 zero = 0;

	if (unchanged)
		name_file(op, &file);
	bpf_map_update_elem(&pid1_unchanged, &zero, &file, BPF_ANY);
}

static __always_inline bool is_repetition(const struct guarded_operation *op)
{
	bool unchanged;

	if (!is_process_1() || op->hook != HOOK_FILE_PERMISSION)
		return false;
	if (!sets_value(op) && op->class != FILE_CONTROLLERS && op->class != FILE_FREEZE)
		return false;
	unchanged = changes_nothing(op);
	note_unchanged(op, unchanged);
	return unchanged;
}

#endif
