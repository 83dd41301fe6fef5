/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy maps of guard and watch, written so that there is never less than
 * the old policy or the new one in force: what is new comes in, the switch is
 * thrown, what is old goes out, the generation is written last.
 */
#ifndef BPF_POLICY_H
#define BPF_POLICY_H

#include <stdbool.h>
#include <sys/types.h>

#include <pinfold/abi.h>

#include "core/cpuset.h"
#include "ctl/ports.h"

/* Descriptors, borrowed from a part; -1 = there is no such map. */
struct policy_maps {
	int managed, actors, actor_tasks, config, heartbeat;
	int watch_masks, slot_masks;
	uint32_t mask_words; /* of 64 CPUs */
	uint32_t nr_slots;
};

/*
 * The configuration that was set last, without a release: what `set` is in the calls
 * below, and what the kernel's is compared with. Begin with what is in the kernel.
 */
int policy_read(const struct policy_maps *maps, struct guard_config *ret_config);
/* Write `set` again; a release that stands in the kernel stays. */
int policy_rewrite(const struct policy_maps *maps, const struct guard_config *set);

/*
 * Publish the whole policy; slots[i] belongs to policy->groups[i] (SLOT_NONE = no
 * slot). `online` are the CPUs that are up. -EINVAL for a level beyond
 * MANAGED_LEVELS_MAX or too long a unit name, before anything is written; else the
 * errno of the map that refused, with at least the old policy still in force. A release
 * stays in force unless the policy ends it.
 */
int policy_publish(const struct policy_maps *maps, const struct kernel_policy *policy,
		   const uint32_t *slots, const struct cpuset *online, struct guard_config *set);

/* Remove from `managed` what the policy does not name: all there is to do without a guard and watch. */
int policy_drop_groups(const struct policy_maps *maps, const struct kernel_policy *policy);

/* The slot that the cgroup has in `managed`, or SLOT_NONE. */
uint32_t policy_slot(const struct policy_maps *maps, uint64_t cgroup_id);
/* Set used[slot] for every slot that a cgroup has there. */
int policy_mark_slots(const struct policy_maps *maps, bool *used, uint32_t nr_slots);

/* Make process `pid` the agent; earlier agents lose their rights. -ESRCH: no such process. */
int policy_enter_agent(const struct policy_maps *maps, pid_t pid);

/* Sign of life for guardExpiry. */
int policy_heartbeat(const struct policy_maps *maps);

/*
 * Put one cgroup under the guard as its self-test, in place of any earlier one;
 * the modes in force do not matter to it. It stays whatever is published meanwhile.
 */
int policy_self_test(const struct policy_maps *maps, uint64_t cgroup_id, uint32_t level,
		     struct guard_config *set);

#endif
