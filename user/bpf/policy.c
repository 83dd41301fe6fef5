// SPDX-License-Identifier: Apache-2.0
/*
 * Fills the policy maps. Programs read them at the same time: single entries change
 * atomically, and only `guard_config` connects them. If the agent dies at any point here, too
 * much is guarded, but never too little.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include <pinfold/guard_modes.h>

#include "bpf/fitting.h"
#include "bpf/in_force.h"
#include "bpf/policy.h"
#include "lib/clock.h"
#include "lib/proc_stat.h"

int policy_read(const struct policy_maps *maps, struct guard_config *ret_config)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(maps->config, &zero, ret_config) ? -errno : 0;
}

static int write_config(const struct policy_maps *maps, const struct guard_config *config)
{
	__u32 zero = 0;

	return bpf_map_update_elem(maps->config, &zero, config, BPF_ANY) ? -errno : 0;
}

/* The inspector may release the guard at any moment: check immediately before overwriting it. */
int policy_rewrite(const struct policy_maps *maps, const struct guard_config *set)
{
	struct guard_config found, expected;
	int r = policy_read(maps, &found);

	if (r)
		return r;
	expected = guard_config_expected(set, &found);
	return write_config(maps, &expected);
}

/* Make `config` the configuration that is set. */
static int set_config(const struct policy_maps *maps, const struct guard_config *config,
		      bool ends_release, struct guard_config *set)
{
	int r = ends_release ? write_config(maps, config) : policy_rewrite(maps, config);

	if (!r)
		*set = *config;
	return r;
}

/* --- translation of the new policy -------------------------------------------------------------- */

static __u32 mode_of(enum enforcement enforcement)
{
	static const __u32 modes[ENFORCEMENT_NR] = {
		[ENFORCEMENT_OFF] = GUARD_OFF,
		[ENFORCEMENT_AUDIT] = GUARD_AUDIT,
		[ENFORCEMENT_ENFORCE] = GUARD_ENFORCE,
	};

	return modes[enforcement];
}

static struct managed translate_group(const struct managed_group *group, uint32_t slot)
{
	static const __u32 kinds[] = {
		[MANAGED_TREE] = MANAGED_KIND_TREE,
		[MANAGED_SELF] = MANAGED_KIND_SELF,
		[MANAGED_OVERLAP] = MANAGED_KIND_OVERLAP,
		[MANAGED_COUNTED] = MANAGED_KIND_NONE,
	};

	return (struct managed){
		.kind = kinds[group->scope],
		.level = group->level,
		.slot = group->is_container ? slot : SLOT_NONE,
		.flags = group->is_container && group->scope == MANAGED_TREE ? MANAGED_BORDER : 0,
	};
}

static struct actor_key unit_key(const struct actor_unit *unit)
{
	struct actor_key key = {.parent_id = unit->parent_id};

	memccpy(key.name, unit->name, '\0', sizeof(key.name) - 1);
	return key;
}

int policy_validate(const struct kernel_policy *policy)
{
	/* Nothing may be guarded by mistake, so an empty policy must be meant. */
	if (!policy->nr_groups && !policy->may_be_empty)
		return -EINVAL;
	for (uint32_t i = 0; i < policy->nr_groups; i++)
		if (policy->groups[i].level >= MANAGED_LEVELS_MAX)
			return -EINVAL;
	for (uint32_t i = 0; i < policy->nr_actors; i++)
		if (!policy->actors[i].level || policy->actors[i].level >= MANAGED_LEVELS_MAX ||
		    !policy->actors[i].name[0] ||
		    strnlen(policy->actors[i].name, ACTOR_NAME_MAX) == ACTOR_NAME_MAX)
			return -EINVAL;
	return 0;
}

/* --- adding entries ------------------------------------------------------------------------------- */

/* No set has no CPU. */
static int write_mask(int map_fd, uint32_t first, uint32_t words, const struct cpuset *set)
{
	for (uint32_t i = 0; i < words; i++) {
		__u32 index = first + i;
		__u64 word = set && i < set->nr_words ? set->words[i] : 0;

		if (bpf_map_update_elem(map_fd, &index, &word, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int write_masks(const struct policy_maps *maps, const struct kernel_policy *policy,
		       const struct policy_extras *extras)
{
	const uint32_t *slots = extras->slots;
	int r = 0;

	if (maps->watch_masks >= 0)
		r = write_mask(maps->watch_masks, 0, maps->mask_words, &policy->protected_cpus);
	if (!r && maps->watch_masks >= 0)
		r = write_mask(maps->watch_masks, maps->mask_words, maps->mask_words,
			       extras->online);
	for (uint32_t i = 0; !r && maps->slot_masks >= 0 && i < policy->nr_groups; i++)
		if (policy->groups[i].is_container && slots[i] < maps->nr_slots)
			r = write_mask(maps->slot_masks, slots[i] * maps->mask_words,
				       maps->mask_words, policy->groups[i].cpus);
	return r;
}

static int add_groups(const struct policy_maps *maps, const struct kernel_policy *policy,
		      const uint32_t *slots, __u32 *ret_levels)
{
	__u32 levels = 0;

	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		const struct managed_group *group = &policy->groups[i];
		struct managed entry = translate_group(group, slots[i]);
		__u64 id = group->cgroup_id;

		if (bpf_map_update_elem(maps->managed, &id, &entry, BPF_ANY))
			return -errno;
		levels |= 1U << group->level;
	}
	*ret_levels = levels;
	return 0;
}

static int add_actors(const struct policy_maps *maps, const struct kernel_policy *policy,
		      __u32 *ret_levels)
{
	__u32 levels = 0;

	for (uint32_t i = 0; i < policy->nr_actors; i++) {
		const struct actor_unit *unit = &policy->actors[i];
		struct actor_key key = unit_key(unit);
		struct actor actor = {RIGHTS_DEBUGGER, unit->level};

		if (bpf_map_update_elem(maps->actors, &key, &actor, BPF_ANY))
			return -errno;
		levels |= 1U << unit->level;
	}
	*ret_levels = levels;
	return 0;
}

/* --- removing entries ----------------------------------------------------------------------------- */

/*
 * Collect the keys first and delete them afterwards, because deleting during a walk of a hash
 * restarts the walk.
 */
static int collect_keys(int map_fd, size_t key_size, void **ret_keys, uint32_t *ret_nr)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	char *keys cleanup_free = NULL;
	uint32_t nr = 0;

	if (bpf_obj_get_info_by_fd(map_fd, &info, &len))
		return -errno;
	keys = calloc(info.max_entries, key_size);
	if (!keys)
		return -ENOMEM;
	while (nr < info.max_entries &&
	       !bpf_map_get_next_key(map_fd, nr ? keys + (nr - 1) * key_size : NULL,
				     keys + nr * key_size))
		nr++;
	*ret_keys = TAKE_PTR(keys);
	*ret_nr = nr;
	return 0;
}

static bool is_group(const struct kernel_policy *policy, __u64 id)
{
	for (uint32_t i = 0; i < policy->nr_groups; i++)
		if (policy->groups[i].cgroup_id == id)
			return true;
	return false;
}

static bool is_unit(const struct kernel_policy *policy, const struct actor_key *key)
{
	for (uint32_t i = 0; i < policy->nr_actors; i++) {
		struct actor_key unit = unit_key(&policy->actors[i]);

		if (!memcmp(&unit, key, sizeof(unit)))
			return true;
	}
	return false;
}

void earlier_groups_fini(struct earlier_groups *earlier)
{
	free(earlier->ids);
	*earlier = (struct earlier_groups){0};
}

static bool is_earlier(const struct earlier_groups *earlier, uint64_t id)
{
	for (uint32_t i = 0; i < earlier->nr; i++)
		if (earlier->ids[i] == id)
			return true;
	return false;
}

int policy_update_earlier(const struct policy_maps *maps, const struct kernel_policy *policy,
			  struct earlier_groups *earlier)
{
	uint32_t nr = 0;

	if (!policy->keeps_others) {
		earlier_groups_fini(earlier);
		earlier->is_read = true;
		return 0;
	}
	if (!earlier->is_read) {
		void *ids = NULL;
		int r = collect_keys(maps->managed, sizeof(__u64), &ids, &earlier->nr);

		if (r)
			return r;
		earlier->ids = ids;
		earlier->is_read = true;
	}
	for (uint32_t i = 0; i < earlier->nr; i++)
		if (!is_group(policy, earlier->ids[i]))
			earlier->ids[nr++] = earlier->ids[i];
	earlier->nr = nr;
	return 0;
}

/*
 * The level of a group that stays although the policy does not name it: that of an earlier agent,
 * or the cgroup of a self-test, which may be running. 0 = it does not stay.
 */
static __u32 kept_levels(const struct policy_maps *maps, const struct earlier_groups *earlier,
			 __u64 id)
{
	struct managed entry;

	if (bpf_map_lookup_elem(maps->managed, &id, &entry))
		return 0;
	if (!(entry.flags & MANAGED_SELFTEST) && !is_earlier(earlier, id))
		return 0;
	return 1U << entry.level;
}

/* Adds to `levels` the levels of groups that remain although the policy does not name them. */
static int drop_groups(const struct policy_maps *maps, const struct kernel_policy *policy,
		       const struct earlier_groups *earlier, __u32 *levels)
{
	void *ids cleanup_free = NULL;
	uint32_t nr = 0;
	int r = collect_keys(maps->managed, sizeof(__u64), &ids, &nr);

	for (uint32_t i = 0; !r && i < nr; i++) {
		const __u64 id = ((__u64 *)ids)[i];
		__u32 kept = is_group(policy, id) ? 0 : kept_levels(maps, earlier, id);

		*levels |= kept;
		if (!kept && !is_group(policy, id) && bpf_map_delete_elem(maps->managed, &id) &&
		    errno != ENOENT)
			r = -errno;
	}
	return r;
}

/*
 * One place is the self-test's. An entry of an earlier agent stays while its policy is not known to be
 * replaced, whatever its kind.
 */
int policy_make_room(const struct policy_maps *maps, const struct kernel_policy *policy,
		     const struct earlier_groups *earlier, struct fitting *ret_fitting)
{
	struct fitting fitting cleanup_fitting = {0};
	struct fitting_entry *entries cleanup_free = NULL;
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	void *ids cleanup_free = NULL;
	uint32_t nr = 0;
	int r = bpf_obj_get_info_by_fd(maps->managed, &info, &len) ? -errno : 0;

	if (!r)
		r = collect_keys(maps->managed, sizeof(__u64), &ids, &nr);
	if (r)
		return r;
	entries = calloc(nr + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct managed entry;

		entries[i].id = ((__u64 *)ids)[i];
		entries[i].is_counted =
			!is_earlier(earlier, entries[i].id) &&
			!bpf_map_lookup_elem(maps->managed, &entries[i].id, &entry) &&
			entry.kind == MANAGED_KIND_NONE;
	}
	r = fitting_choose(policy, entries, nr, info.max_entries - 1, &fitting);
	for (uint32_t i = 0; !r && i < fitting.nr_dropped; i++)
		if (bpf_map_delete_elem(maps->managed, &fitting.dropped[i]) && errno != ENOENT)
			r = -errno;
	if (r)
		return r;
	*ret_fitting = fitting;
	fitting = (struct fitting){0};
	return 0;
}

int policy_drop_groups(const struct policy_maps *maps, const struct kernel_policy *policy,
		       const struct earlier_groups *earlier)
{
	__u32 levels = 0;
	int r = policy_validate(policy);

	return r ? r : drop_groups(maps, policy, earlier, &levels);
}

static int drop_units(const struct policy_maps *maps, const struct kernel_policy *policy)
{
	void *units cleanup_free = NULL;
	uint32_t nr = 0;
	int r = collect_keys(maps->actors, sizeof(struct actor_key), &units, &nr);

	for (uint32_t i = 0; !r && i < nr; i++)
		if (!is_unit(policy, (struct actor_key *)units + i) &&
		    bpf_map_delete_elem(maps->actors, (struct actor_key *)units + i) &&
		    errno != ENOENT)
			r = -errno;
	return r;
}

/* --- slots ----------------------------------------------------------------------------------------- */

uint32_t policy_slot(const struct policy_maps *maps, uint64_t cgroup_id)
{
	struct managed entry;
	__u64 id = cgroup_id;

	return bpf_map_lookup_elem(maps->managed, &id, &entry) ? SLOT_NONE : entry.slot;
}

int policy_mark_slots(const struct policy_maps *maps, bool *used, uint32_t nr_slots)
{
	void *ids cleanup_free = NULL;
	uint32_t nr = 0;
	int r = collect_keys(maps->managed, sizeof(__u64), &ids, &nr);

	for (uint32_t i = 0; !r && i < nr; i++) {
		uint32_t slot = policy_slot(maps, ((__u64 *)ids)[i]);

		if (slot < nr_slots)
			used[slot] = true;
	}
	return r;
}

/* --- publication ------------------------------------------------------------------------------------ */

int policy_publish(const struct policy_maps *maps, const struct kernel_policy *policy,
		   const struct policy_extras *extras, struct guard_config *set)
{
	struct guard_config config = *set;
	__u32 managed_levels = 0, actor_levels = 0;
	int r = policy_validate(policy);

	if (!r)
		r = write_masks(maps, policy, extras);
	if (!r)
		r = add_groups(maps, policy, extras->slots, &managed_levels);
	if (!r)
		r = add_actors(maps, policy, &actor_levels);
	if (r)
		return r;
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		guard_set_mode(&config, aspect, mode_of(policy->modes[aspect]));
	config.expiry_ns = policy->guard_expiry_ns;
	config.pid1_rights = RIGHTS_PID1;
	config.sibling_level = policy->guards_siblings ? 1 : 0;
	config.managed_levels |= managed_levels;
	config.actor_levels |= actor_levels;
	/* the guard is inactive at generation 0: the first policy activates it */
	config.generation = config.generation ? config.generation : 1;
	r = policy_heartbeat(maps, set->expiry_ns, extras->heartbeat);
	if (!r)
		r = set_config(maps, &config, policy->ends_release, set);
	if (!r)
		r = drop_groups(maps, policy, extras->earlier, &managed_levels);
	/* Actors are known without a look, so an entry that nobody published ends here in any case. */
	if (!r)
		r = drop_units(maps, policy);
	if (r)
		return r;
	config.managed_levels = managed_levels;
	config.actor_levels = actor_levels;
	config.generation++;
	return set_config(maps, &config, false, set);
}

static void count_outage(struct heartbeat *heartbeat, uint64_t pause_ns, uint64_t expiry_ns)
{
	uint64_t expired_ns = expiry_ns && pause_ns > expiry_ns ? pause_ns - expiry_ns : 0;

	if (!expired_ns && (!heartbeat->has_begun || pause_ns < OUTAGE_NS))
		return;
	heartbeat->nr_outages++;
	heartbeat->outage_ns += pause_ns;
	heartbeat->last_ns = pause_ns;
	heartbeat->last_expired_ns = expired_ns;
}

int policy_heartbeat(const struct policy_maps *maps, uint64_t expiry_ns,
		     struct heartbeat *heartbeat)
{
	__u64 now_ns = clock_monotonic_ns(), before_ns;
	__u32 zero = 0;

	if (bpf_map_lookup_elem(maps->heartbeat, &zero, &before_ns))
		before_ns = 0;
	if (bpf_map_update_elem(maps->heartbeat, &zero, &now_ns, BPF_ANY))
		return -errno;
	/* not earlier: after a failed write the same outage would count again */
	if (before_ns && before_ns < now_ns)
		count_outage(heartbeat, now_ns - before_ns, expiry_ns);
	heartbeat->has_begun = true;
	return 0;
}

int policy_write_lease(int map_fd, uint64_t until_ns)
{
	__u64 value = until_ns;
	__u32 zero = 0;

	return bpf_map_update_elem(map_fd, &zero, &value, BPF_ANY) ? -errno : 0;
}

int policy_read_lease(int map_fd, uint64_t *ret_until_ns)
{
	__u32 zero = 0;
	__u64 value;

	if (bpf_map_lookup_elem(map_fd, &zero, &value))
		return -errno;
	*ret_until_ns = value;
	return 0;
}

/* --- the agent ---------------------------------------------------------------------------------------- */

int policy_enter_agent(const struct policy_maps *maps, pid_t pid)
{
	struct actor_task agent = {.rights = RIGHTS_AGENT};
	void *tasks cleanup_free = NULL;
	__u32 tgid = (__u32)pid;
	struct proc_stat stat;
	char path[32];
	uint32_t nr;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	r = proc_stat_read(AT_FDCWD, path, &stat);
	if (r)
		return r == -ENOENT ? -ESRCH : r;
	agent.start_ticks = stat.start_ticks;
	if (bpf_map_update_elem(maps->actor_tasks, &tgid, &agent, BPF_ANY))
		r = -errno;
	if (!r)
		r = collect_keys(maps->actor_tasks, sizeof(__u32), &tasks, &nr);
	for (uint32_t i = 0; !r && i < nr; i++)
		if (((__u32 *)tasks)[i] != tgid &&
		    bpf_map_delete_elem(maps->actor_tasks, (__u32 *)tasks + i) && errno != ENOENT)
			r = -errno;
	return r;
}

static int drop_self_tests(const struct policy_maps *maps)
{
	void *ids cleanup_free = NULL;
	uint32_t nr = 0;
	int r = collect_keys(maps->managed, sizeof(__u64), &ids, &nr);

	for (uint32_t i = 0; !r && i < nr; i++) {
		__u64 *id = (__u64 *)ids + i;
		struct managed entry;

		if (!bpf_map_lookup_elem(maps->managed, id, &entry) &&
		    (entry.flags & MANAGED_SELFTEST) && bpf_map_delete_elem(maps->managed, id))
			r = -errno;
	}
	return r;
}

int policy_self_test(const struct policy_maps *maps, uint64_t cgroup_id, uint32_t level,
		     struct guard_config *set)
{
	struct managed entry = {MANAGED_KIND_TREE, level, SLOT_NONE, MANAGED_SELFTEST};
	struct guard_config config = *set;
	__u64 id = cgroup_id;
	int r;

	if (level >= MANAGED_LEVELS_MAX)
		return -EINVAL;
	r = drop_self_tests(maps);
	if (r)
		return r;
	if (bpf_map_update_elem(maps->managed, &id, &entry, BPF_ANY))
		return -errno;
	config.generation = config.generation ? config.generation : 1;
	config.managed_levels |= 1U << level;
	return set_config(maps, &config, false, set);
}
