// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* Who gets a slot of the observer when there are fewer than containers, and what is counted of the others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "bpf/backend_private.h"
#include "bpf/observe_maps.h"

#define CPUS  2
#define SLOTS 4 /* for three containers */
#define MANY  300

/* The maps of the guard are not there, so the backend gives out slots and does no more. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	errno = ENOENT;
	return -1;
}

static struct scene {
	struct observe_counter counters[SLOTS * CPUS];
	struct observe_cpu cpus[CPUS];
	struct observe_slot slots[SLOTS];
	uint64_t masks[SLOTS], pods[SLOTS], released[SLOTS];
	struct observe_control control;
	struct bpf_object_handle handle;
	struct observer observer;
	struct bpf_backend backend;
} scene;

static int set_up(void **state)
{
	memset(&scene, 0, sizeof(scene));
	scene.control =
		(struct observe_control){.nr_cpus = CPUS, .nr_slots = SLOTS, .mask_words = 1};
	scene.observer = (struct observer){.handle = &scene.handle,
					   .counters = scene.counters,
					   .cpus = scene.cpus,
					   .slots = scene.slots,
					   .masks = scene.masks,
					   .pods = scene.pods,
					   .released = scene.released,
					   .control = &scene.control};
	scene.backend.sizes = (struct bpf_object_sizes){.nr_slots = SLOTS, .mask_words = 1};
	scene.backend.maps.config = scene.backend.maps.managed = -1;
	scene.backend.objects.instances[BPF_OBJECT_OBSERVE].state = &scene.observer;
	return 0;
}

static int tear_down(void **state)
{
	free(scene.observer.refused);
	free(scene.backend.slots);
	return 0;
}

static uint64_t nr_refused(void)
{
	struct observer_space space;

	assert_int_equal(backend_observer_space(&scene.backend, &space), 0);
	return space.nr_refused;
}

static uint32_t nr_unmeasured(void)
{
	struct observer_space space;

	assert_int_equal(backend_observer_space(&scene.backend, &space), 0);
	return space.nr_unmeasured;
}

static bool has_slot(uint64_t id)
{
	uint32_t slot;

	return !observe_find(&scene.observer, id, &slot);
}

/* Containers with these ids; from `counted` on they are a runtime's. */
static void publish(const uint64_t *ids, uint32_t nr, uint32_t counted)
{
	struct managed_group groups[MANY] = {0};
	struct kernel_policy policy = {.groups = groups, .nr_groups = nr, .may_be_empty = true};

	for (uint32_t i = 0; i < nr; i++)
		groups[i] = (struct managed_group){
			.cgroup_id = ids[i],
			.level = 3,
			.is_container = true,
			.scope = i < counted ? MANAGED_TREE : MANAGED_COUNTED,
		};
	assert_int_equal(backend_publish(&scene.backend, &policy), 0);
}

static void all_have_one_if_there_are_enough(void **state)
{
	publish((uint64_t[]){10, 11, 12}, 3, 3);
	assert_true(has_slot(10) && has_slot(11) && has_slot(12));
	assert_int_equal(nr_refused(), 0);
}

/* Policies are published all the time. */
static void each_without_one_is_counted_once(void **state)
{
	const uint64_t ids[] = {10, 11, 12, 13, 14};

	publish(ids, 5, 5);
	assert_int_equal(nr_refused(), 2);
	publish(ids, 5, 5);
	assert_int_equal(nr_refused(), 2);
	/* it has ended, and another one came */
	publish((uint64_t[]){10, 11, 12, 13, 15}, 5, 5);
	assert_int_equal(nr_refused(), 3);
	/* one that has waited gets the slot that is free now */
	publish((uint64_t[]){10, 11, 13}, 3, 3);
	assert_true(has_slot(13));
	assert_int_equal(nr_refused(), 3);
}

/* However many they are: nobody is left out of the count. */
static void very_many_are_counted(void **state)
{
	uint64_t ids[MANY];

	for (uint32_t i = 0; i < MANY; i++)
		ids[i] = 10 + i;
	publish(ids, MANY, MANY);
	assert_int_equal(nr_refused(), MANY - (SLOTS - 1));
	publish(ids, MANY, MANY);
	assert_int_equal(nr_refused(), MANY - (SLOTS - 1));
}

/* A runtime's containers are measured where the agent's own leave room, and keep what they have. */
static void a_runtimes_container_yields_its_slot(void **state)
{
	publish((uint64_t[]){20, 21, 22}, 3, 0);
	assert_true(has_slot(20) && has_slot(21) && has_slot(22));
	publish((uint64_t[]){10, 20, 21, 22}, 4, 1);
	assert_true(has_slot(10) && has_slot(20) && has_slot(21));
	assert_false(has_slot(22));
	assert_int_equal(nr_refused(), 1);
	publish((uint64_t[]){10, 11, 12, 20, 21, 22}, 6, 3);
	assert_true(has_slot(10) && has_slot(11) && has_slot(12));
	assert_int_equal(nr_refused(), 3);
}

/* The agent's own come first, also if they are named last. */
static void own_containers_claim_first(void **state)
{
	struct managed_group groups[] = {
		{.cgroup_id = 20, .level = 3, .is_container = true, .scope = MANAGED_COUNTED},
		{.cgroup_id = 10, .level = 3, .is_container = true, .scope = MANAGED_TREE},
		{.cgroup_id = 11, .level = 3, .is_container = true, .scope = MANAGED_TREE},
		{.cgroup_id = 12, .level = 3, .is_container = true, .scope = MANAGED_TREE},
	};
	struct kernel_policy policy = {.groups = groups, .nr_groups = 4, .may_be_empty = true};

	assert_int_equal(backend_publish(&scene.backend, &policy), 0);
	assert_true(has_slot(10) && has_slot(11) && has_slot(12));
	assert_false(has_slot(20));
	assert_int_equal(scene.backend.slots[0], SLOT_NONE);
	assert_int_equal(nr_refused(), 1);
}

/* Until its next switch a CPU may add to a slot that was released, however long that was held. */
static void the_slot_that_rested_longest_is_next(void **state)
{
	uint32_t first, second, next;

	publish((uint64_t[]){10, 11, 12}, 3, 3);
	publish((uint64_t[]){10, 12}, 2, 2);
	publish((uint64_t[]){10, 12, 13}, 3, 3); /* has the slot of 11 */
	assert_int_equal(observe_find(&scene.observer, 10, &first), 0);
	assert_int_equal(observe_find(&scene.observer, 13, &second), 0);
	publish((uint64_t[]){10, 12}, 2, 2);
	publish((uint64_t[]){12}, 1, 1);
	publish((uint64_t[]){12, 14}, 2, 2);
	assert_int_equal(observe_find(&scene.observer, 14, &next), 0);
	assert_int_equal(next, second);
	publish((uint64_t[]){12, 14, 15}, 3, 3);
	assert_int_equal(observe_find(&scene.observer, 15, &next), 0);
	assert_int_equal(next, first);
}

/* As long as it has no slot, however long ago it was refused. */
static void who_has_none_is_unmeasured_until_it_gets_one(void **state)
{
	const uint64_t ids[] = {10, 11, 12, 13, 14};

	publish(ids, 3, 3);
	assert_int_equal(nr_unmeasured(), 0);
	publish(ids, 5, 5);
	assert_int_equal(nr_unmeasured(), 2);
	publish(ids, 5, 5);
	assert_int_equal(nr_unmeasured(), 2);
	/* one ends, another one gets its slot, and the last one still waits */
	publish((uint64_t[]){10, 11, 13, 14}, 4, 4);
	assert_true(has_slot(13));
	assert_int_equal(nr_unmeasured(), 1);
	publish((uint64_t[]){10, 11, 13}, 3, 3);
	assert_int_equal(nr_unmeasured(), 0);
	assert_int_equal(nr_refused(), 2);
}

/* Each CPU counts those whose record it took over. */
static void tasks_that_were_forgotten_are_added_up(void **state)
{
	struct observer_space space;

	assert_int_equal(backend_observer_space(&scene.backend, &space), 0);
	assert_int_equal(space.nr_forgotten, 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		scene.cpus[cpu].forgotten = 3 + cpu;
	assert_int_equal(backend_observer_space(&scene.backend, &space), 0);
	assert_int_equal(space.nr_forgotten, 7);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_have_one_if_there_are_enough),
		TEST(who_has_none_is_unmeasured_until_it_gets_one),
		TEST(tasks_that_were_forgotten_are_added_up),
		TEST(each_without_one_is_counted_once),
		TEST(very_many_are_counted),
		TEST(a_runtimes_container_yields_its_slot),
		TEST(own_containers_claim_first),
		TEST(the_slot_that_rested_longest_is_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
