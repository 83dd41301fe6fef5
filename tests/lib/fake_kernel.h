/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BPF backend that a test can break: what it answers, and what it was asked.
 * Include it after fake_world.h, whose BPF backend never fails and forgets all.
 */
#ifndef TESTS_FAKE_KERNEL_H
#define TESTS_FAKE_KERNEL_H

#include "fake_world.h"

#define FAKE_MANAGED 64

static struct fake_side {
	/* What a test asks for. */
	struct guard_status guard;
	int start_error, enter_error, publish_error, usage_error, latency_error;
	uint64_t uncounted;   /* a cgroup that has no counters */
	uint32_t nr_left_out; /* of the policy */
	int self_test_answer; /* -EINPROGRESS: it goes on until fake_end_self_test */

	/* What happened. */
	unsigned int nr_starts, nr_entered, nr_published, nr_self_tests, nr_ticks;
	char self_test_path[GROUP_PATH_MAX];
	struct kernel_policy policy; /* the last; its groups point at `groups` */
	struct managed_group groups[FAKE_MANAGED];
	struct actor_unit actors[CONFIG_DEBUGGERS_MAX];
} fake_side;

static inline int side_start(void *self)
{
	fake_side.nr_starts++;
	return fake_side.start_error;
}

static inline int side_enter(void *self)
{
	fake_side.nr_entered++;
	return fake_side.enter_error;
}

static inline int side_publish(void *self, const struct kernel_policy *policy)
{
	fake_side.nr_published++;
	if (fake_side.publish_error)
		return fake_side.publish_error;
	if (policy->nr_groups > FAKE_MANAGED)
		abort();
	fake_side.policy = *policy;
	memcpy(fake_side.groups, policy->groups, policy->nr_groups * sizeof(*policy->groups));
	fake_side.policy.groups = fake_side.groups;
	memcpy(fake_side.actors, policy->actors, policy->nr_actors * sizeof(*policy->actors));
	fake_side.policy.actors = fake_side.actors;
	memcpy(fake_side.guard.modes, policy->modes, sizeof(policy->modes));
	return 0;
}

static inline int side_self_test(void *self, const char *test_cgroup)
{
	fake_side.nr_self_tests++;
	snprintf(fake_side.self_test_path, sizeof(fake_side.self_test_path), "%s", test_cgroup);
	return fake_side.self_test_answer;
}

static inline void side_self_test_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "fake_fork");
}

/* The one that goes on has ended; what it found is fake_side.guard. */
static inline void fake_end_self_test(struct controller *controller)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;

	fake_side.self_test_answer = 0;
	sink->tested(sink->self);
}

static inline void side_guard_status(void *self, struct guard_status *ret_status)
{
	*ret_status = fake_side.guard;
}

static inline int side_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	if (fake_side.usage_error)
		return fake_side.usage_error;
	if (cgroup_id == fake_side.uncounted)
		return -ENOENT;
	/* Different figures, so that none is taken for another. */
	*ret_usage = (struct usage){
		.run_local_ns = 1000000001,
		.run_remote_ns = 2000000002,
		.run_outside_ns = 4000000004,
		.wait_ns =
			{
				[WAIT_UNATTRIBUTED] = 8000000008,
				[WAIT_OWN_CONTAINER] = 16000000016,
				[WAIT_POD_SIBLING] = 17000000017,
				[WAIT_OTHER_POD] = 18000000018,
				[WAIT_HOST] = 19000000019,
				[WAIT_KERNEL] = 20000000020,
				[WAIT_IDLE] = 21000000021,
				[WAIT_OWN_QUOTA] = 22000000022,
			},
		.switches = 32,
		.preemptions = 24,
		.migrations_thread = 48,
		.migrations_core = 64,
		.migrations_llc = 128,
		.migrations_numa = 256,
	};
	return 0;
}

/* 3 us, 30 us and 8 s among others; the sum is that of no such waits, but different again. */
static inline int side_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	if (fake_side.usage_error || fake_side.latency_error)
		return fake_side.usage_error ? fake_side.usage_error : fake_side.latency_error;
	if (cgroup_id == fake_side.uncounted)
		return -ENOENT;
	*ret_latency = (struct latency){.counts = {[0] = 1,
						   [1] = 20,
						   [2] = 300,
						   [5] = 4000,
						   [19] = 50000,
						   [20] = 60000,
						   [21] = 70000,
						   [22] = 80000,
						   [23] = 90000},
					.sum_ns = 9000000009,
					.longest_ns = 8000000008};
	return 0;
}

static inline void side_tick(void *self)
{
	fake_side.nr_ticks++;
}

static inline uint32_t side_features(void *self, const struct feature_row **ret_rows)
{
	static const struct feature_row rows[] = {
		{.name = "btf", .state = FEATURE_YES},
		{.name = "bpf_lsm", .state = FEATURE_NO, .error = EOPNOTSUPP},
		{.name = "observe", .state = FEATURE_UNKNOWN},
	};

	*ret_rows = rows;
	return ARRAY_SIZE(rows);
}

static inline uint32_t side_programs(void *self, const struct prog_row **ret_rows)
{
	static const struct prog_row rows[] = {
		{.name = "on_file_permission",
		 .type = "lsm",
		 .object = "guard",
		 .attached = true,
		 .run_time_ns = 1500000000,
		 .run_count = 7},
		{.name = "on_switch",
		 .type = "tp_btf",
		 .object = "observe",
		 .run_time_ns = 250000000,
		 .run_count = 9},
	};

	*ret_rows = rows;
	return ARRAY_SIZE(rows);
}

static inline void side_list(void *self, struct bpf_inventory *inventory)
{
	const struct prog_row *rows;

	inventory->is_timed = true;
	for (uint32_t i = 0, nr = side_programs(self, &rows); i < nr; i++)
		*bpf_inventory_add_prog(inventory) = rows[i];
	*bpf_inventory_add_map(inventory) = (struct map_row){.name = "managed",
							     .type = "hash",
							     .objects = "guard,watch",
							     .used = 7,
							     .max_entries = 1024};
}

static inline uint32_t side_hook_counts(void *self, const struct hook_count **ret_counts)
{
	static const struct hook_count counts[] = {
		{"file_permission", {11, 12, 13}},
		{"task_setaffinity", {21, 22, 23}},
	};

	*ret_counts = counts;
	return ARRAY_SIZE(counts);
}

static inline int side_events_lost(void *self, enum event_counter what, uint64_t *ret_nr)
{
	static const uint64_t counts[EVENTS_NR] = {
		[EVENTS_LOST] = 5,	[EVENTS_NO_ERRAND] = 6, [EVENTS_NO_SUBJECT] = 7,
		[EVENTS_NO_BUDGET] = 8, [EVENTS_NO_TEXT] = 10,
	};

	*ret_nr = counts[what];
	return 0;
}

static inline uint32_t side_groups_left_out(void *self)
{
	return fake_side.nr_left_out;
}

static inline int side_observer_space(void *self, struct observer_space *ret_space)
{
	*ret_space = (struct observer_space){.nr_slots = 256,
					     .nr_used = 6,
					     .nr_unmeasured = 2,
					     .nr_refused = 3,
					     .nr_forgotten = 4,
					     .nr_wrapped = 2};
	return 0;
}

static const struct kernel_port fake_side_port = {
	.start = side_start,
	.enter_actor = side_enter,
	.publish = side_publish,
	.self_test = side_self_test,
	.self_test_waits_in = side_self_test_waits_in,
	.guard_status = side_guard_status,
	.usage = side_usage,
	.latency = side_latency,
	.tick = side_tick,
	.features = side_features,
	.programs = side_programs,
	.list = side_list,
	.hook_counts = side_hook_counts,
	.events_lost = side_events_lost,
	.observer_space = side_observer_space,
	.groups_left_out = side_groups_left_out,
};

/* As after a start that went well. */
static inline void fake_side_reset(void)
{
	fake_side = (struct fake_side){.guard = {.state = GUARD_ACTIVE, .mechanism = "lsm"}};
}

#endif
