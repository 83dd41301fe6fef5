/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What process 1 may write without a lease, because it changes nothing: the text that it last wrote
 * to the same file while it acted for the agent. A part of guard.bpf.c, which has the types and maps.
 */
#ifndef GUARD_REPEAT_BPF_H
#define GUARD_REPEAT_BPF_H

/* A write to a file whose text can be repeated: what it does is to set a value. */
static __always_inline bool sets_value(const struct guarded_operation *op)
{
	return op->hook == HOOK_FILE_PERMISSION &&
	       (op->class == FILE_CPUSET || op->class == FILE_CONTROL || op->class == FILE_MEMORY);
}

/* Fails for a text that is too long, and for all ways to write but write(2), which systemd uses. */
static __always_inline bool read_text(struct written_text *ret_text)
{
	const char *bytes;
	__u64 nr;

	__builtin_memset(ret_text, 0, sizeof(*ret_text));
	if (!find_written(&bytes, &nr) || nr > sizeof(*ret_text))
		return false;
	return bpf_probe_read_user(ret_text, nr, bytes) == 0;
}

/* The operation is allowed by a right. */
static __noinline int note_text(const struct guarded_operation *op)
{
	struct written_file file;
	struct written_text text;

	name_file(op, &file);
	if (!is_process_1() || !read_text(&text))
		bpf_map_delete_elem(&pid1_writes, &file);
	else
		note_written(&file, &text);
	return 0;
}

static __always_inline bool is_equal(const struct written_text *a, const struct written_text *b)
{
	__u64 differences = 0;

	for (__u32 i = 0; i < TEXT_WORDS; i++)
		differences |= a->words[i] ^ b->words[i];
	return !differences;
}

static __always_inline bool has_minus(const struct written_text *text)
{
	const char *bytes = (const char *)text->words;

	for (__u32 i = 0; i < sizeof(*text); i++)
		if (bytes[i] == '-')
			return true;
	return false;
}

/*
 * Does process 1 write what changes nothing for a container, whoever asked for it: a value that stands
 * there, no CPUs for a sibling of the workload root, a controller more, or one less of a cgroup that has
 * no children, the end of a freeze?
 */
static __noinline int changes_nothing(const struct guarded_operation *op)
{
	struct written_file file;
	struct written_text text, *before;
	char first;

	if (!read_text(&text))
		return false;
	first = *(const char *)text.words;
	switch (op->class) {
	case FILE_CONTROLLERS:
		return !op->nr_below || !has_minus(&text);
	case FILE_FREEZE:
		return first == '0';
	case FILE_CPUSET:
		if (op->target.overlap && (!first || first == '\n'))
			return true;
		break;
	}
	name_file(op, &file);
	before = bpf_map_lookup_elem(&pid1_writes, &file);
	return before && is_equal(before, &text);
}

static __always_inline bool is_repetition(const struct guarded_operation *op)
{
	if (!is_process_1() || op->hook != HOOK_FILE_PERMISSION)
		return false;
	if (!sets_value(op) && op->class != FILE_CONTROLLERS && op->class != FILE_FREEZE)
		return false;
	return changes_nothing(op);
}

#endif
