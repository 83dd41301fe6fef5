// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * Which groups the guard's map has after a policy was published, and which pauses between two
 * heartbeats count as outages. The maps are behind the calls of libbpf; all others accept everything.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/fitting.h"
#include "bpf/policy.h"

enum { MANAGED_FD = 100, CONFIG_FD, HEARTBEAT_FD, ACTORS_FD };

/* The map with the rights of cgroups. */
static struct {
	uint32_t nr;
	struct actor_key keys[4];
	struct actor entries[4];
} units;

static uint32_t unit_at(const void *key)
{
	uint32_t at = 0;

	while (at < units.nr && memcmp(&units.keys[at], key, sizeof(units.keys[at])))
		at++;
	return at;
}

static int write_unit(const void *key, const void *value)
{
	uint32_t at = unit_at(key);

	assert_true(at < sizeof(units.keys) / sizeof(units.keys[0]));
	memcpy(&units.keys[at], key, sizeof(units.keys[at]));
	memcpy(&units.entries[at], value, sizeof(units.entries[at]));
	units.nr += at == units.nr;
	return 0;
}

static int delete_unit(const void *key)
{
	uint32_t at = unit_at(key);

	assert_true(at < units.nr);
	units.nr--;
	units.keys[at] = units.keys[units.nr];
	units.entries[at] = units.entries[units.nr];
	return 0;
}

static int next_unit(const void *key, void *next_key)
{
	uint32_t at = key ? unit_at(key) + 1 : 0;

	if (at >= units.nr) {
		errno = ENOENT;
		return -1;
	}
	memcpy(next_key, &units.keys[at], sizeof(units.keys[at]));
	return 0;
}

/* The entry of the map with the heartbeat. */
static __u64 beat_ns;
static bool is_beat_refused;

#define ENTRIES 8

static struct {
	uint32_t nr;
	__u64 ids[ENTRIES];
	struct managed entries[ENTRIES];
	__u64 refused; /* an id that cannot be added; 0 = none */
} map;

static uint32_t index_of(__u64 id)
{
	uint32_t at = 0;

	while (at < map.nr && map.ids[at] != id)
		at++;
	return at;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	__u64 id;
	uint32_t at;

	if (fd == HEARTBEAT_FD && is_beat_refused) {
		errno = EPERM;
		return -1;
	}
	if (fd == HEARTBEAT_FD)
		memcpy(&beat_ns, value, sizeof(beat_ns));
	if (fd == ACTORS_FD)
		return write_unit(key, value);
	if (fd != MANAGED_FD)
		return 0;
	memcpy(&id, key, sizeof(id));
	at = index_of(id);
	if (at == ENTRIES || id == map.refused) {
		errno = E2BIG;
		return -1;
	}
	map.ids[at] = id;
	memcpy(&map.entries[at], value, sizeof(map.entries[at]));
	map.nr += at == map.nr;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint32_t at;
	__u64 id;

	if (fd == HEARTBEAT_FD) {
		memcpy(value, &beat_ns, sizeof(beat_ns));
		return 0;
	}
	if (fd == CONFIG_FD) {
		memset(value, 0, sizeof(struct guard_config));
		return 0;
	}
	memcpy(&id, key, sizeof(id));
	at = index_of(id);
	if (fd != MANAGED_FD || at == map.nr) {
		errno = ENOENT;
		return -1;
	}
	memcpy(value, &map.entries[at], sizeof(map.entries[at]));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	uint32_t at;
	__u64 id;

	if (fd == ACTORS_FD)
		return delete_unit(key);
	assert_int_equal(fd, MANAGED_FD);
	memcpy(&id, key, sizeof(id));
	at = index_of(id);
	assert_true(at < map.nr);
	map.nr--;
	map.ids[at] = map.ids[map.nr];
	map.entries[at] = map.entries[map.nr];
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next_key)
{
	uint32_t at = 0;
	__u64 id;

	if (fd == ACTORS_FD)
		return next_unit(key, next_key);
	if (key) {
		memcpy(&id, key, sizeof(id));
		at = index_of(id) + 1;
	}
	if (fd != MANAGED_FD || at >= map.nr) {
		errno = ENOENT;
		return -1;
	}
	memcpy(next_key, &map.ids[at], sizeof(map.ids[at]));
	return 0;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *info_len)
{
	((struct bpf_map_info *)info)->max_entries = ENTRIES;
	return 0;
}

static const struct policy_maps maps = {
	.managed = MANAGED_FD,
	.actors = ACTORS_FD,
	.actor_tasks = -1,
	.config = CONFIG_FD,
	.heartbeat = HEARTBEAT_FD,
	.watch_masks = -1,
	.slot_masks = -1,
};

static struct earlier_groups earlier;
static struct heartbeat heartbeat;
static struct guard_config set;

/* Groups are at level 1, those that an earlier agent published at level 3. */
static void begin_with(const __u64 *ids, uint32_t nr)
{
	memset(&map, 0, sizeof(map));
	memset(&units, 0, sizeof(units));
	memset(&set, 0, sizeof(set));
	heartbeat = (struct heartbeat){0};
	for (uint32_t i = 0; i < nr; i++) {
		map.ids[i] = ids[i];
		map.entries[i] = (struct managed){.kind = MANAGED_KIND_TREE, .level = 3};
	}
	map.nr = nr;
}

static int end(void **state)
{
	earlier_groups_fini(&earlier);
	return 0;
}

/* The policy has groups `first` to `last`; none if `last` is smaller. */
static int publish(__u64 first, __u64 last, bool keeps_others, bool may_be_empty)
{
	static const uint32_t slots[ENTRIES];
	struct managed_group groups[ENTRIES] = {0};
	struct kernel_policy policy = {
		.groups = groups,
		.keeps_others = keeps_others,
		.may_be_empty = may_be_empty,
	};
	const struct cpuset online = CPUSET_EMPTY;
	const struct policy_extras extras = {slots, &online, &earlier, &heartbeat};
	int r;

	for (__u64 id = first; id <= last; id++) {
		groups[policy.nr_groups].scope = MANAGED_TREE;
		groups[policy.nr_groups].level = 1;
		groups[policy.nr_groups++].cgroup_id = id;
	}
	r = policy_update_earlier(&maps, &policy, &earlier);
	return r ? r : policy_publish(&maps, &policy, &extras, &set);
}

static bool has(__u64 id)
{
	return index_of(id) < map.nr;
}

static void the_map_has_what_the_policy_names(void **state)
{
	begin_with((__u64[]){50, 51}, 2);
	assert_int_equal(publish(1, 3, false, false), 0);
	assert_int_equal(map.nr, 3);
	assert_true(has(1) && has(2) && has(3));
	assert_int_equal(set.managed_levels, 1U << 1);
	assert_int_equal(publish(2, 2, false, false), 0);
	assert_int_equal(map.nr, 1);
	assert_true(has(2));
}

/* As long as a cgroup cannot be read, pods begin and end all the same. */
static void an_incomplete_policy_keeps_only_what_an_earlier_agent_published(void **state)
{
	begin_with((__u64[]){50, 51}, 2);
	assert_int_equal(publish(1, 2, true, false), 0);
	assert_true(has(1) && has(2) && has(50) && has(51));
	assert_int_equal(set.managed_levels, 1U << 1 | 1U << 3);
	for (__u64 id = 2; id < 40; id++) {
		assert_int_equal(publish(id, id + 1, true, false), 0);
		assert_true(has(id) && has(id + 1) && has(50) && has(51));
		assert_int_equal(map.nr, 4);
	}
	assert_int_equal(publish(1, 1, false, false), 0);
	assert_int_equal(map.nr, 1);
	assert_int_equal(set.managed_levels, 1U << 1);
}

/* A group of the earlier agent that can be read after all is this agent's from then on. */
static void a_group_that_was_read_is_dropped_when_it_leaves(void **state)
{
	begin_with((__u64[]){50, 51, 52}, 3);
	assert_int_equal(publish(51, 51, true, false), 0);
	assert_int_equal(map.nr, 3);
	assert_int_equal(publish(1, 1, true, false), 0);
	assert_true(has(1) && has(50) && !has(51) && has(52));
}

/* What a failed publication has written is not taken for the earlier agent's. */
static void a_failed_publication_leaves_nothing_to_keep(void **state)
{
	begin_with((__u64[]){50}, 1);
	map.refused = 3;
	assert_int_equal(publish(1, 3, true, false), -E2BIG);
	assert_true(has(1) && has(2) && has(50));
	map.refused = 0;
	assert_int_equal(publish(3, 3, true, false), 0);
	assert_int_equal(map.nr, 2);
	assert_true(has(3) && has(50));
}

static void an_empty_policy_must_be_meant(void **state)
{
	begin_with((__u64[]){50}, 1);
	assert_int_equal(publish(1, 2, false, false), 0);
	assert_int_equal(publish(1, 0, false, false), -EINVAL);
	assert_true(has(1) && has(2));
	assert_int_equal(set.managed_levels, 1U << 1);
	assert_int_equal(publish(1, 0, false, true), 0);
	assert_int_equal(map.nr, 0);
}

/* A runtime has filled the map with cgroups that are only counted. */
static void what_is_counted_makes_room_for_what_is_guarded(void **state)
{
	static const uint32_t slots[ENTRIES];
	struct managed_group groups[ENTRIES] = {0};
	struct kernel_policy policy = {.groups = groups, .nr_groups = 6};
	const struct cpuset online = CPUSET_EMPTY;
	const struct policy_extras extras = {
		.slots = slots, .online = &online, .earlier = &earlier, .heartbeat = &heartbeat};
	struct fitting fitting cleanup_fitting = {0};

	begin_with((__u64[]){60, 61, 62, 63, 64, 65, 66, 67}, ENTRIES);
	for (uint32_t i = 0; i < ENTRIES; i++)
		map.entries[i].kind = MANAGED_KIND_NONE;
	for (uint32_t i = 0; i < 6; i++)
		groups[i] = (struct managed_group){
			.cgroup_id = i < 3 ? 60 + i : i, .level = 1, .scope = MANAGED_TREE};
	for (uint32_t i = 0; i < 3; i++)
		groups[i].scope = MANAGED_COUNTED;
	assert_int_equal(policy_update_earlier(&maps, &policy, &earlier), 0);
	assert_int_equal(policy_publish(&maps, &policy, &extras, &set), -E2BIG);
	assert_int_equal(policy_make_room(&maps, &policy, &earlier, &fitting), 0);
	/* One place is the self-test's. */
	assert_int_equal(fitting.nr_left_out, 0);
	assert_int_equal(map.nr, 3);
	assert_int_equal(policy_publish(&maps, &policy, &extras, &set), 0);
	assert_true(has(3) && has(4) && has(5));
	assert_true(has(60) && has(61) && has(62));
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

/* `ago_s` seconds after the last heartbeat in the map */
static void beat(uint64_t ago_s, uint64_t expiry_s)
{
	__u64 before = beat_ns;

	beat_ns -= ago_s * 1000000000;
	assert_int_equal(policy_heartbeat(&maps, expiry_s * 1000000000, &heartbeat), 0);
	assert_true(beat_ns >= before);
}

static void a_long_pause_between_heartbeats_is_an_outage(void **state)
{
	const uint64_t second = 1000000000;

	heartbeat = (struct heartbeat){0};
	/* the first ever, and one after an earlier agent, whose end is no outage */
	beat_ns = 0;
	assert_int_equal(policy_heartbeat(&maps, second, &heartbeat), 0);
	assert_int_equal(heartbeat.nr_outages, 0);
	heartbeat = (struct heartbeat){0};
	beat(100, 0);
	assert_int_equal(heartbeat.nr_outages, 0);
	beat(4, 0);
	assert_int_equal(heartbeat.nr_outages, 0);
	beat(6, 0);
	assert_int_equal(heartbeat.nr_outages, 1);
	assert_int_equal(heartbeat.last_ns / second, 6);
	assert_int_equal(heartbeat.last_expired_ns, 0);
	beat(8, 60);
	assert_int_equal(heartbeat.last_expired_ns, 0);
	/* a shorter one if the guard expired meanwhile, also before this agent began */
	beat(3, 2);
	assert_int_equal(heartbeat.nr_outages, 3);
	assert_int_equal(heartbeat.last_expired_ns / second, 1);
	assert_int_equal(heartbeat.outage_ns / second, 17);
	heartbeat = (struct heartbeat){0};
	beat(30, 10);
	assert_int_equal(heartbeat.nr_outages, 1);
	assert_int_equal(heartbeat.last_expired_ns / second, 20);
}

static void an_outage_counts_once_although_its_end_cannot_be_written(void **state)
{
	heartbeat = (struct heartbeat){.has_begun = true};
	beat(1, 0);
	beat_ns -= 9000000000ULL;
	is_beat_refused = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(policy_heartbeat(&maps, 0, &heartbeat), -EPERM);
	is_beat_refused = false;
	assert_int_equal(heartbeat.nr_outages, 0);
	assert_int_equal(policy_heartbeat(&maps, 0, &heartbeat), 0);
	assert_int_equal(heartbeat.nr_outages, 1);
	assert_int_equal(heartbeat.last_ns / 1000000000, 9);
}

/* --- cgroups with rights -------------------------------------------------------------------------- */

static int publish_actors(const struct actor_unit *actors, uint32_t nr)
{
	static const uint32_t slots[ENTRIES];
	const struct kernel_policy policy = {
		.actors = actors,
		.nr_actors = nr,
		.may_be_empty = true,
	};
	const struct cpuset online = CPUSET_EMPTY;
	const struct policy_extras extras = {slots, &online, &earlier, &heartbeat};

	return policy_publish(&maps, &policy, &extras, &set);
}

static void an_actor_may_only_attach(void **state)
{
	const struct actor_unit unit = {7, 3, "some.service"};

	begin_with(NULL, 0);
	assert_int_equal(publish_actors(&unit, 1), 0);
	assert_int_equal(units.nr, 1);
	assert_int_equal(units.keys[0].parent_id, 7);
	assert_string_equal(units.keys[0].name, "some.service");
	assert_int_equal(units.entries[0].rights, RIGHT_TRACE);
	assert_int_equal(units.entries[0].level, 3);
	assert_int_equal(set.actor_levels, 1U << 3);
}

/* Its parent was made anew, or the list is another one. */
static void an_actor_that_is_not_named_any_more_has_no_rights(void **state)
{
	const struct actor_unit before[] = {{7, 2, "gdb.service"}, {1, 1, "debug.slice"}};
	const struct actor_unit after = {8, 2, "gdb.service"};

	begin_with(NULL, 0);
	assert_int_equal(publish_actors(before, 2), 0);
	assert_int_equal(units.nr, 2);
	assert_int_equal(set.actor_levels, 1U << 1 | 1U << 2);
	assert_int_equal(publish_actors(&after, 1), 0);
	assert_int_equal(units.nr, 1);
	assert_int_equal(units.keys[0].parent_id, 8);
	assert_int_equal(publish_actors(NULL, 0), 0);
	assert_int_equal(units.nr, 0);
	assert_int_equal(set.actor_levels, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_map_has_what_the_policy_names),
		TEST(an_incomplete_policy_keeps_only_what_an_earlier_agent_published),
		TEST(a_group_that_was_read_is_dropped_when_it_leaves),
		TEST(a_failed_publication_leaves_nothing_to_keep),
		TEST(an_empty_policy_must_be_meant),
		TEST(what_is_counted_makes_room_for_what_is_guarded),
		TEST(a_long_pause_between_heartbeats_is_an_outage),
		TEST(an_outage_counts_once_although_its_end_cannot_be_written),
		TEST(an_actor_may_only_attach),
		TEST(an_actor_that_is_not_named_any_more_has_no_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
