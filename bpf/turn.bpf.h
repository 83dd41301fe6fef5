/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which generation of programs counts. While an object is exchanged, the old and the new
 * programs are attached side by side. On each CPU exactly one generation has the turn, and
 * bpf/carry.bpf.c passes it on.
 *
 * Only for programs that run with interrupts off: the turn of their CPU then cannot change
 * between the checks of the old and the new program in the same event.
 */
#ifndef TURN_BPF_H
#define TURN_BPF_H

/* Shared by all generations, even if their other maps have changed. See pinfold/abi.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs + 1, set at load */
	__type(key, __u32);
	__type(value, __u32);
} turns SEC(".maps");

/* No generation gets so far. */
#define TURN_OF_NOBODY 0xffffffffu

/* The number of this generation, set at load; no earlier generation has it. */
const volatile __u32 turn = 0;

static __always_inline bool has_turn(__u32 cpu)
{
	__u32 *current_turn = bpf_map_lookup_elem(&turns, &cpu);

	return current_turn && *(volatile __u32 *)current_turn == turn;
}

#endif
