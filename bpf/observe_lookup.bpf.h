/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which slot a task counts for: that of the nearest cgroup above it that has one. What was
 * found is kept per CPU until a slot or a mask changes.
 */
#ifndef OBSERVE_LOOKUP_BPF_H
#define OBSERVE_LOOKUP_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <arch.h>

#include "compat.bpf.h"
#include "managed.bpf.h"
#include "observe_maps.bpf.h"
#include "slots.bpf.h"

/* What is found for the idle task without looking. */
const struct observe_lookup found_nothing = {.slot = SLOT_HOST};

/*
 * The slot of the cgroup's ancestor at `level`, which may be itself.
 *
 * A global function, here and below, is verified once by itself, not again on every
 * path of every caller: with the loop's body in line the verifier would take 48,000
 * instructions, a second under emulation. Such functions take numbers and pointers to
 * plain memory only, hence the address.
 */
__noinline __u32 slot_at(__u64 cgroup, __u32 level)
{
	struct cgroup *ancestor = ancestor_of((struct cgroup *)cgroup, level);
	__u64 id = BPF_CORE_READ(ancestor, kn, id);
	struct managed *entry = bpf_map_lookup_elem(&managed, &id);

	/* an inode number used again at another depth is another cgroup */
	if (!entry || entry->slot == SLOT_NONE || entry->level != level)
		return SLOT_HOST;
	return entry->slot;
}

/* The slot of the nearest cgroup at a level where containers are; theirs inherit it. */
static __always_inline __u32 find_slot(__u64 cgroup)
{
	__u32 levels = control.levels;
	__u32 depth = BPF_CORE_READ((struct cgroup *)cgroup, level);
	__u32 nearest = SLOT_HOST;

	/* from the root down: upwards the verifier takes four times as long */
	for (__u32 level = 1; level < MANAGED_LEVELS_MAX && level <= depth; level++) {
		if (levels & (1U << level)) {
			__u32 slot = slot_at(cgroup, level);

			nearest = slot != SLOT_HOST ? slot : nearest;
		}
	}
	return nearest;
}

static __always_inline bool is_outside(__u32 slot, __u32 cpu)
{
	__u32 key = slot * mask_words + (cpu >> 6);
	__u64 *word = bpf_map_lookup_elem(&slot_masks, &key);

	return word && !(*word >> (cpu & 63) & 1);
}

/* The slot, with SLOT_OUTSIDE, in the lower half; its pod in the upper one. */
__noinline __u64 look_up(__u64 cgroup, __u32 cpu)
{
	__u32 slot = find_slot(cgroup);
	__u64 found = slot;
	struct observe_slot *entry;

	if (slot == SLOT_HOST)
		return SLOT_HOST;
	if (is_outside(slot, cpu))
		found |= SLOT_OUTSIDE;
	entry = bpf_map_lookup_elem(&observe_slots, &slot);
	return entry ? found | (__u64)entry->pod << 32 : found;
}

/*
 * Zeroes answer for the root cgroup only, whose serial number is 0, and rightly: it has no
 * slot. Masks and slots are written before the generation, so they are read after it.
 */
__noinline int forget_lookups(__u32 cpu, __u32 generation)
{
	struct observe_cpu *here = record_of(cpu);

	if (!here)
		return 0;
	for (int i = 0; i < OBSERVE_LOOKUPS; i++)
		here->lookups[i] = (struct observe_lookup){0};
	here->generation = generation;
	arch_order_loads(&here->sequence);
	return 0;
}

/* The slot of a task, with SLOT_OUTSIDE by the mask of the CPU that asks, and its pod. */
static __always_inline struct observe_lookup *slot_of(struct observe_cpu *here, __u32 cpu,
						      struct task_struct *task)
{
	struct cgroup *cgroup = task->cgroups->dfl_cgrp;
	__u64 serial = cgroup->self.serial_nr;
	struct observe_lookup *lookup = &here->lookups[serial & (OBSERVE_LOOKUPS - 1)];
	__u32 generation = *(volatile __u32 *)&control.generation;
	__u64 address, found;

	if (unlikely(here->generation != generation))
		forget_lookups(cpu, generation);
	if (likely(lookup->serial == serial))
		return lookup;
	/* The task may be moved meanwhile: what is kept under a number is of the cgroup that has it. */
	bpf_probe_read_kernel(&address, sizeof(address), &task->cgroups->dfl_cgrp);
	serial = BPF_CORE_READ((struct cgroup *)address, self.serial_nr);
	lookup = &here->lookups[serial & (OBSERVE_LOOKUPS - 1)];
	found = look_up(address, cpu);
	lookup->slot = found;
	lookup->pod = found >> 32;
	lookup->serial = serial;
	return lookup;
}

#endif
