// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Passes the turn (turn.bpf.h) from the programs that count to their successors, CPU by
 * CPU, with what was counted if the successors have other maps. Never attached: the
 * agent has it run once on each CPU.
 *
 * Context: an interrupt that the agent sends to the CPU, or its own system call with
 * preemption off. Neither comes in the middle of an event that is being counted there,
 * so an event before it is the old programs' and one after it the new programs'.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <pinfold/abi.h>

#include "turn.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 nr_cpus = 1;
const volatile __u32 nr_slots = 0;	  /* to carry over; 0: the new programs have the same map */
const volatile bool is_before_v3 = false; /* `before` holds struct observe_counter_v2 */
const volatile bool is_before_v4 = false; /* `before` holds counters without latencies */
const volatile bool is_before_v5 = false; /* `before` holds struct observe_counter_v4, also if
					     is_before_v4 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_counter);
} before SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct observe_counter);
} now SEC(".maps");

/* A wait whose causes were not counted has only the quota's. */
static __always_inline void carry_v2(struct observe_counter *to,
				     const struct observe_counter_v2 *from)
{
	__u64 quota = from->wait_quota_ns;

	__sync_fetch_and_add(&to->run_ns, from->run_ns);
	__sync_fetch_and_add(&to->outside_ns, from->outside_ns);
	__sync_fetch_and_add(&to->switches, from->switches);
	__sync_fetch_and_add(&to->migrations_core, from->migrations_core);
	__sync_fetch_and_add(&to->migrations_llc, from->migrations_llc);
	__sync_fetch_and_add(&to->migrations_numa, from->migrations_numa);
	__sync_fetch_and_add(&to->wait_ns[WAIT_OWN_QUOTA], quota);
	__sync_fetch_and_add(&to->wait_ns[WAIT_UNATTRIBUTED], from->wait_ns - quota);
}

static __always_inline void carry_latencies(struct observe_counter *to, __u64 latency_ns,
					    __u64 longest_ns, const __u64 *latencies)
{
	__sync_fetch_and_add(&to->latency_ns, latency_ns);
	if (to->longest_ns < longest_ns)
		to->longest_ns = longest_ns;
	for (int bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
		__sync_fetch_and_add(&to->latencies[bucket], latencies[bucket]);
}

/* Preemptions and migrations within a core begin with 0; the latter were migrations_core. */
static __always_inline void carry_v4(struct observe_counter *to,
				     const struct observe_counter_v4 *from)
{
	__sync_fetch_and_add(&to->run_ns, from->run_ns);
	__sync_fetch_and_add(&to->outside_ns, from->outside_ns);
	__sync_fetch_and_add(&to->switches, from->switches);
	__sync_fetch_and_add(&to->migrations_core, from->migrations_core);
	__sync_fetch_and_add(&to->migrations_llc, from->migrations_llc);
	__sync_fetch_and_add(&to->migrations_numa, from->migrations_numa);
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		__sync_fetch_and_add(&to->wait_ns[cause], from->wait_ns[cause]);
	if (!is_before_v4)
		carry_latencies(to, from->latency_ns, from->longest_ns, from->latencies);
}

static __always_inline void carry_counter(struct observe_counter *to,
					  const struct observe_counter *from)
{
	__sync_fetch_and_add(&to->run_ns, from->run_ns);
	__sync_fetch_and_add(&to->outside_ns, from->outside_ns);
	__sync_fetch_and_add(&to->switches, from->switches);
	__sync_fetch_and_add(&to->preemptions, from->preemptions);
	__sync_fetch_and_add(&to->migrations_thread, from->migrations_thread);
	__sync_fetch_and_add(&to->migrations_core, from->migrations_core);
	__sync_fetch_and_add(&to->migrations_llc, from->migrations_llc);
	__sync_fetch_and_add(&to->migrations_numa, from->migrations_numa);
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		__sync_fetch_and_add(&to->wait_ns[cause], from->wait_ns[cause]);
	carry_latencies(to, from->latency_ns, from->longest_ns, from->latencies);
}

/*
 * Nobody writes the old counters of this CPU any more, and nobody the new ones yet: the turn is
 * nobody's meanwhile, because another CPU counts a wait on this one when it moves a task.
 */
static long carry_slot(__u32 slot, void *context)
{
	__u32 key = slot * nr_cpus + *(__u32 *)context;
	void *from = bpf_map_lookup_elem(&before, &key);
	struct observe_counter *to = bpf_map_lookup_elem(&now, &key);

	if (!from || !to)
		return 0;
	if (is_before_v3)
		carry_v2(to, from);
	else if (is_before_v5)
		carry_v4(to, from);
	else
		carry_counter(to, from);
	return 0;
}

/* Its argument is the CPU: the one it runs on, or one that is offline. Done once, however often run. */
SEC("raw_tp")
int begin_turn(__u64 *arguments)
{
	__u32 cpu = arguments[0];
	__u32 *current_turn = bpf_map_lookup_elem(&turns, &cpu);

	if (!current_turn || *current_turn == turn)
		return 0;
	*(volatile __u32 *)current_turn = TURN_OF_NOBODY;
	bpf_loop(nr_slots, carry_slot, &cpu, 0);
	*(volatile __u32 *)current_turn = turn;
	return 0;
}
