/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which generation of programs counts. While an object is exchanged the old programs
 * and the new ones are attached side by side; on each CPU exactly one generation has
 * the turn, and bpf/carry.bpf.c passes it on.
 *
 * Only for programs that run with interrupts off: there the turn of their CPU cannot
 * change between the old program's look and the new one's, in one and the same event.
 */
#ifndef TURN_BPF_H
#define TURN_BPF_H

/* Shared by all generations, whatever else their maps have become. See pinfold/abi.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs + 1, set at load */
	__type(key, __u32);
	__type(value, __u32);
} turns SEC(".maps");

/* The number of this generation, set at load; no earlier one has it. */
const volatile __u32 turn = 0;

static __always_inline bool has_turn(__u32 cpu)
{
	__u32 *current_turn = bpf_map_lookup_elem(&turns, &cpu);

	return current_turn && *(volatile __u32 *)current_turn == turn;
}

#endif
