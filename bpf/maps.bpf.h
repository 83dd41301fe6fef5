/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps that guard and watch share. Pinned by name: the object that is loaded first creates
 * them, the others reuse them, and they outlive the agent.
 */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include <pinfold/abi.h>

#include "managed.bpf.h"

#define FILE_NAME_LEN 24

struct written_file {
	__u64 cgroup;
	char name[FILE_NAME_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct actor_key);
	__type(value, struct actor);
} actors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct actor_task);
} actor_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct guard_config);
} guard_config SEC(".maps");

/* CLOCK_MONOTONIC of the agent's last heartbeat; separate from the policy, which it outlives. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} guard_heartbeat SEC(".maps");

/* Until when process 1 acts for the agent. An old deadline that stays behind ends by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} guard_lease SEC(".maps");

/*
 * The file to which process 1 writes what changes nothing, as the guard has judged: then the watch, which
 * only sees the file as it is afterwards, reports no drift. The cgroup is 0 at other times.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct written_file);
} pid1_unchanged SEC(".maps");

/* From the programs to the agent. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/*
 * Not LRU: a cgroup whose entry another one pushed out would have a fresh budget. The agent removes
 * entries of an earlier second (user/bpf/events.c).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct event_budget);
} event_budgets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_budget);
} shared_budget SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENTS_NR);
	__type(key, __u32);
	__type(value, __u64);
} event_counters SEC(".maps");

#endif
