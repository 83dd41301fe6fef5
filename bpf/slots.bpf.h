/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The CPUs of each container, for the objects that need them; pinned like managed.bpf.h. */
#ifndef SLOTS_BPF_H
#define SLOTS_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* slots * mask_words, set at load */
	__type(key, __u32);
	__type(value, __u64);
} slot_masks SEC(".maps");

/* 64-bit words that the possible CPUs need, <= ABI_MASK_WORDS_MAX. */
const volatile __u32 mask_words = 1;

#endif
