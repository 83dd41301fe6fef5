/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the policy maps of guard and watch such that at every moment at least the old or the
 * new policy is in force: new entries are added, the configuration is switched, old entries
 * are removed, and the generation is written last.
 */
#ifndef BPF_POLICY_H
#define BPF_POLICY_H

#include <stdbool.h>
#include <sys/types.h>

#include <pinfold/abi.h>

#include "core/cpuset.h"
#include "ctl/ports.h"

/* Descriptors, borrowed from an object; -1 = there is no such map. */
struct policy_maps {
	int managed, actors, actor_tasks, config, heartbeat;
	int watch_masks, slot_masks;
	uint32_t mask_words; /* of 64 CPUs */
	uint32_t nr_slots;
};

/*
 * The groups that an earlier agent published and that no policy of this one has named yet. They
 * are read from the map once, so the number only decreases. Begin with {0}.
 */
struct earlier_groups {
	bool is_read;
	uint32_t nr;
	uint64_t *ids; /* owned */
};

void earlier_groups_fini(struct earlier_groups *earlier);
/*
 * Call before each publication, and before anything of it is written: at the first call the map
 * holds only what an earlier agent published. Then drops what the policy names, and everything if
 * the policy is complete. 0, -ENOMEM, or the errno of the map; `earlier` is unchanged on failure.
 */
int policy_update_earlier(const struct policy_maps *maps, const struct kernel_policy *policy,
			  struct earlier_groups *earlier);

struct fitting;

/*
 * Call before each publication, after policy_update_earlier(): says which groups have room in `managed`, and
 * removes entries that are only counted where the others need their places. 0, -ENOMEM, or the errno of the
 * map.
 */
int policy_make_room(const struct policy_maps *maps, const struct kernel_policy *policy,
		     const struct earlier_groups *earlier, struct fitting *ret_fitting);

/* A pause of the agent at least this long is reported: it looks each second. */
#define OUTAGE_NS (5ULL * 1000000000ULL)

/*
 * The agent's heartbeat in the kernel, which tells it afterwards that it stood still: frozen,
 * stopped, or without CPU time. Begin with {0}.
 */
struct heartbeat {
	bool has_begun; /* the previous one was this agent's */
	uint64_t nr_outages, outage_ns;
	uint64_t last_ns,
		last_expired_ns; /* of the last outage; how long the guard only recorded */
};

/* What the backend adds to a policy. All borrowed for the call. */
struct policy_extras {
	const uint32_t *slots;		      /* of policy->groups[i]; SLOT_NONE = no slot */
	const struct cpuset *online;	      /* the CPUs that are online */
	const struct earlier_groups *earlier; /* stay managed beside the policy's groups */
	struct heartbeat *heartbeat;
};

/*
 * The configuration that was set last, without a release. It is the argument `set` of the
 * calls below, and the kernel's configuration is compared with it. Initialise it from the
 * kernel.
 */
int policy_read(const struct policy_maps *maps, struct guard_config *ret_config);
/* Write `set` again; a release in the kernel is preserved. */
int policy_rewrite(const struct policy_maps *maps, const struct guard_config *set);

/*
 * -EINVAL for a level above MANAGED_LEVELS_MAX, a unit name that is too long, or no groups in a
 * policy that does not say that it may be empty.
 */
int policy_validate(const struct kernel_policy *policy);

/*
 * Publish the whole policy. The errors of policy_validate, before anything is written; otherwise the
 * errno of the map update that failed, with at least the old policy still in force. A release
 * remains in force unless the policy ends it.
 */
int policy_publish(const struct policy_maps *maps, const struct kernel_policy *policy,
		   const struct policy_extras *extras, struct guard_config *set);

/*
 * Remove entries of `managed` that neither the policy nor `earlier` names. This is sufficient
 * without guard and watch. The errors of policy_validate, or the errno of the map.
 */
int policy_drop_groups(const struct policy_maps *maps, const struct kernel_policy *policy,
		       const struct earlier_groups *earlier);

/* The slot of the cgroup in `managed`, or SLOT_NONE. */
uint32_t policy_slot(const struct policy_maps *maps, uint64_t cgroup_id);
/* Set used[slot] for every slot that is assigned to a cgroup. */
int policy_mark_slots(const struct policy_maps *maps, bool *used, uint32_t nr_slots);

/* Make process `pid` the agent; earlier agents lose their rights. -ESRCH: no such process. */
int policy_enter_agent(const struct policy_maps *maps, pid_t pid);

/*
 * Heartbeat for guardExpiry, and count an outage since the one before. An earlier agent's is
 * counted only if the guard expired (`expiry_ns`, 0 = never) before this one began.
 */
int policy_heartbeat(const struct policy_maps *maps, uint64_t expiry_ns,
		     struct heartbeat *heartbeat);

/* The map guard_lease; from any thread. */
int policy_write_lease(int map_fd, uint64_t until_ns);
int policy_read_lease(int map_fd, uint64_t *ret_until_ns);

/*
 * Put one cgroup under the guard for its self-test, replacing any earlier one; the modes in
 * force do not apply to it. It remains there whatever is published meanwhile.
 */
int policy_self_test(const struct policy_maps *maps, uint64_t cgroup_id, uint32_t level,
		     struct guard_config *set);

#endif
