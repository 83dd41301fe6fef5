// SPDX-License-Identifier: Apache-2.0
/*
 * Publishes a policy: assigns each container its slot, and writes the maps that all objects
 * read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/backend_private.h"
#include "bpf/fitting.h"
#include "lib/file.h"
#include "lib/log.h"

#define ONLINE_FILE "/sys/devices/system/cpu/online"

int backend_enter_actor(void *self)
{
	struct bpf_backend *backend = self;
	int r = backend->maps.actor_tasks < 0 ? 0 : policy_enter_agent(&backend->maps, getpid());

	/* One that an earlier agent left concerns no call of this one. */
	if (!r)
		r = backend_set_lease(backend, 0);
	return r ? log_err(r, "bpf: cannot enter the agent among the guard's actors") : 0;
}

static uint32_t find_free(const bool *used, uint32_t nr_slots)
{
	for (uint32_t slot = 1; slot < nr_slots; slot++)
		if (!used[slot])
			return slot;
	return SLOT_NONE;
}

/*
 * Without an observer each container keeps its slot, because programs of an earlier agent may
 * use it for counting until they are exchanged. A new container gets an unused slot.
 */
static int keep_slots(struct bpf_backend *backend, const struct kernel_policy *policy)
{
	uint32_t nr_slots = backend->sizes.nr_slots;
	bool *used cleanup_free = calloc(nr_slots, sizeof(*used));
	int r;

	if (!used)
		return -ENOMEM;
	r = backend->maps.managed < 0 ? 0 : policy_mark_slots(&backend->maps, used, nr_slots);
	for (uint32_t i = 0; !r && i < policy->nr_groups; i++)
		if (policy->groups[i].is_container && backend->maps.managed >= 0)
			backend->slots[i] =
				policy_slot(&backend->maps, policy->groups[i].cgroup_id);
	for (uint32_t i = 0; !r && i < policy->nr_groups; i++) {
		if (!policy->groups[i].is_container || backend->slots[i] < nr_slots)
			continue;
		backend->slots[i] = find_free(used, nr_slots);
		if (backend->slots[i] < nr_slots)
			used[backend->slots[i]] = true;
	}
	return r;
}

/*
 * A counted container gives its slot up where the agent's own ones need it. Those that have a slot keep it
 * before others get one, so that counters go on.
 */
static void yield_slots(struct bpf_backend *backend, const struct kernel_policy *policy)
{
	uint32_t room = fitting_counted_slots(policy, backend->sizes.nr_slots - 1);
	struct observer *observer = backend_observer(backend);

	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		const struct managed_group *group = &policy->groups[i];
		uint32_t slot;

		if (!group->is_container || group->scope != MANAGED_COUNTED ||
		    observe_find(observer, group->cgroup_id, &slot))
			continue;
		if (room)
			room--;
		else
			(void)observe_release(observer, group->cgroup_id);
	}
}

/* The agent's own containers first, whatever order they come in. */
static void claim_of_scope(struct bpf_backend *backend, const struct kernel_policy *policy,
			   bool is_counted)
{
	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		const struct managed_group *group = &policy->groups[i];
		const struct observe_group observed = {.cgroup_id = group->cgroup_id,
						       .level = group->level,
						       .pod = group->pod,
						       .nodes = group->nodes,
						       .cpus = group->cpus,
						       .is_only_counted = is_counted};

		if (group->is_container && (group->scope == MANAGED_COUNTED) == is_counted &&
		    observe_claim(backend_observer(backend), &observed, &backend->slots[i]))
			backend->slots[i] = SLOT_NONE;
	}
}

/*
 * A container without a free slot is guarded but not counted; the observer counts such
 * containers.
 */
static int claim_slots(struct bpf_backend *backend, const struct kernel_policy *policy)
{
	const struct earlier_groups *earlier = &backend->earlier;
	uint64_t *ids cleanup_free = calloc(policy->nr_groups + earlier->nr + 1, sizeof(*ids));
	uint32_t *slots = realloc(backend->slots, (policy->nr_groups + 1) * sizeof(*slots));
	uint32_t nr_ids = 0;

	if (slots)
		backend->slots = slots;
	if (!slots || !ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->nr_groups; i++) {
		slots[i] = SLOT_NONE;
		if (policy->groups[i].is_container)
			ids[nr_ids++] = policy->groups[i].cgroup_id;
	}
	if (!backend_observer(backend))
		return keep_slots(backend, policy);
	for (uint32_t i = 0; i < earlier->nr; i++)
		ids[nr_ids++] = earlier->ids[i];
	observe_retain(backend_observer(backend), ids, nr_ids);
	yield_slots(backend, policy);
	claim_of_scope(backend, policy, false);
	claim_of_scope(backend, policy, true);
	return 0;
}

static void read_online(struct cpuset *ret_online)
{
	char *list cleanup_free = NULL;

	*ret_online = CPUSET_EMPTY;
	if (!file_read_line(AT_FDCWD, ONLINE_FILE, &list))
		cpuset_parse(list, strlen(list), ret_online);
}

static int publish(struct bpf_backend *backend, const struct kernel_policy *policy)
{
	struct cpuset online;
	struct policy_extras extras = {
		.online = &online, .earlier = &backend->earlier, .heartbeat = &backend->heartbeat};
	int r = claim_slots(backend, policy);

	extras.slots = backend->slots;
	if (!r && backend->maps.config >= 0) {
		read_online(&online);
		r = policy_publish(&backend->maps, policy, &extras, &backend->set);
	} else if (!r && backend->maps.managed >= 0) {
		r = policy_drop_groups(&backend->maps, policy, &backend->earlier);
	}
	return r;
}

int backend_publish(void *self, const struct kernel_policy *policy)
{
	struct bpf_backend *backend = self;
	struct fitting fitting cleanup_fitting = {0};
	struct kernel_policy fitted = *policy;
	int before = backend->publish_error, r = policy_validate(policy);

	if (!r && backend->maps.managed >= 0)
		r = policy_update_earlier(&backend->maps, policy, &backend->earlier);
	if (!r && backend->maps.managed >= 0)
		r = policy_make_room(&backend->maps, policy, &backend->earlier, &fitting);
	if (!r && fitting.groups) {
		fitted.groups = fitting.groups;
		fitted.nr_groups = fitting.nr_groups;
	}
	/* nothing may say that it is in force: not the agent, and not the inspector without one */
	if (backend->status.is_unprotected)
		fitted.modes[ASPECT_GUARD_FILES] = ENFORCEMENT_OFF;
	if (!r)
		r = publish(backend, &fitted);
	if (!r)
		backend->nr_left_out = fitting.nr_left_out;
	backend->publish_error = r;
	backend_note_frozen(backend, r);
	if (r == -E2BIG && r != before)
		log_err(0,
			"bpf: cannot publish the policy: it has %u groups, which is more than "
			"maxContainers allows; raise maxContainers and restart pinfoldd",
			policy->nr_groups);
	else if (r && r != before)
		log_err(r, "bpf: cannot publish a policy of %u groups", policy->nr_groups);
	return r;
}

uint32_t backend_groups_left_out(void *self)
{
	const struct bpf_backend *backend = self;

	return backend->nr_left_out;
}
