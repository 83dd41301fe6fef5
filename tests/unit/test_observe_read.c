// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * The observer's reader on memory laid out as the kernel would: the open
 * interval, the two clocks, values that never go back, a record in the middle
 * of a change. What only a kernel can answer is tests/guest/observe's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/observe_maps.h"
#include "lib/clock.h"

#define CPUS  4
#define SLOTS 3
#define GROUP 4711 /* has slot 2 */

static struct scene {
	struct observe_counter counters[SLOTS * CPUS];
	struct observe_cpu cpus[CPUS];
	struct observe_slot slots[SLOTS];
	struct observe_control control;
	struct observe_shown shown[SLOTS];
	struct topology topology;
	uint32_t node_of[CPUS];
	struct observer observer;
} scene;

/* CPUs 0 and 1 on node 0, 2 and 3 on node 1; run queue clocks are 1000 s ahead. */
#define CLOCK_AHEAD 1000000000000ULL

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.control = (struct observe_control){.nr_cpus = CPUS, .nr_slots = SLOTS};
	scene.slots[2] = (struct observe_slot){.cgroup_id = GROUP, .nodes = 1, .level = 3};
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		cpuset_add(&scene.topology.all, cpu);
		scene.node_of[cpu] = cpu / 2;
		scene.cpus[cpu].monotonic_ns = clock_monotonic_ns() + cpu * 1000;
		scene.cpus[cpu].clock = clock_monotonic_ns() + CLOCK_AHEAD;
	}
	/* this pair was taken with a long break between its two clocks */
	scene.cpus[3].monotonic_ns += 700000000;
	scene.topology.node_of = scene.node_of;
	scene.topology.nr_cpu_ids = CPUS;
	scene.topology.nodes.nr = 2;
	scene.observer = (struct observer){.topology = &scene.topology,
					   .counters = scene.counters,
					   .cpus = scene.cpus,
					   .slots = scene.slots,
					   .control = &scene.control,
					   .shown = scene.shown};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		free(scene.shown[slot].settled);
		free(scene.shown[slot].floors);
	}
	free(scene.observer.given.run_ns);
	free(scene.observer.given.floors);
	return 0;
}

static struct observe_counter *counter(unsigned int cpu)
{
	return &scene.counters[2 * CPUS + cpu];
}

static struct observe_usage read_usage(void)
{
	struct observe_usage usage;

	assert_int_equal(observe_usage(&scene.observer, GROUP, &usage), 0);
	return usage;
}

/* The slot has been running on the CPU for so long. */
static void run_since(unsigned int cpu, uint64_t ago_ns, uint32_t flags)
{
	scene.cpus[cpu].slot = 2 | flags;
	scene.cpus[cpu].start_clock = clock_monotonic_ns() + CLOCK_AHEAD - ago_ns;
}

static void test_sums(void **state)
{
	struct observe_usage usage;

	(void)state;
	*counter(0) = (struct observe_counter){.run_ns = 100,
					       .wait_ns = {[WAIT_OWN_QUOTA] = 3, [WAIT_HOST] = 4}};
	*counter(1) = (struct observe_counter){
		.run_ns = 10, .outside_ns = 4, .switches = 5, .wait_ns = {[WAIT_HOST] = 16}};
	*counter(2) =
		(struct observe_counter){.run_ns = 1000, .migrations_core = 1, .preemptions = 4};
	*counter(3) = (struct observe_counter){
		.migrations_llc = 2, .migrations_numa = 3, .migrations_thread = 5};
	usage = read_usage();
	assert_int_equal(usage.run_local_ns, 106);
	assert_int_equal(usage.run_outside_ns, 4);
	assert_int_equal(usage.run_remote_ns, 1000);
	assert_int_equal(usage.wait_ns[WAIT_OWN_QUOTA], 3);
	assert_int_equal(usage.wait_ns[WAIT_HOST], 20);
	assert_int_equal(observe_wait_ns(&usage), 23);
	assert_int_equal(usage.switches, 5);
	assert_int_equal(usage.preemptions, 4);
	assert_int_equal(usage.migrations_thread, 5);
	assert_int_equal(usage.migrations_core, 1);
	assert_int_equal(usage.migrations_llc, 2);
	assert_int_equal(usage.migrations_numa, 3);
	assert_int_equal(usage.nr_cpus, CPUS);
	assert_int_equal(usage.run_ns[2], 1000);
	assert_int_equal(usage.cpu_wait_ns[0], 7);
	assert_int_equal(usage.cpu_wait_ns[1], 16);
	assert_int_equal(usage.cpu_wait_ns[3], 0);
	assert_int_equal(usage.cpu_wait_ns[2], 0);
	assert_int_equal(usage.cpu_switches[1], 5);
	assert_int_equal(usage.cpu_switches[0], 0);
	assert_int_equal(usage.cpu_preemptions[2], 4);
	assert_int_equal(usage.cpu_preemptions[3], 0);
	assert_int_equal(usage.cpu_migrations[2], 1);
	assert_int_equal(usage.cpu_migrations[3], 10);
	assert_int_equal(usage.cpu_migrations[0], 0);
	/* the sum of a CPU's causes is not added to what was read before */
	assert_int_equal(read_usage().cpu_wait_ns[0], 7);
}

/* Each CPU by itself: all of it, what was outside, and what was far from the memory. */
static void test_each_cpu(void **state)
{
	struct observe_usage usage;

	(void)state;
	*counter(1) = (struct observe_counter){.run_ns = 10, .outside_ns = 4};
	*counter(2) = (struct observe_counter){.run_ns = 1000, .outside_ns = 300};
	usage = read_usage();
	assert_int_equal(usage.run_ns[0], 0);
	assert_int_equal(usage.run_ns[1], 10);
	assert_int_equal(usage.outside_ns[1], 4);
	assert_int_equal(usage.remote_ns[1], 0);
	assert_int_equal(usage.run_ns[2], 1000);
	assert_int_equal(usage.outside_ns[2], 300);
	assert_int_equal(usage.remote_ns[2], 700);
	/* It gets memory there, so that CPU is not far any more. */
	scene.slots[2].nodes = 3;
	usage = read_usage();
	assert_int_equal(usage.remote_ns[2], 0);
	assert_int_equal(usage.outside_ns[2], 300);
}

/* The sum is all that it ran, whatever nodes were near when; and each part only grows. */
static void test_other_nodes_divide_only_what_comes_later(void **state)
{
	struct observe_usage usage;

	(void)state;
	scene.slots[2].nodes = 3;
	*counter(0) = (struct observe_counter){.run_ns = 1000};
	*counter(2) = (struct observe_counter){.run_ns = 10, .outside_ns = 4};
	usage = read_usage();
	assert_int_equal(usage.run_local_ns, 1006);
	assert_int_equal(usage.run_remote_ns, 0);
	/* Only the second node is near from now on. */
	scene.slots[2].nodes = 2;
	usage = read_usage();
	assert_int_equal(usage.run_local_ns, 1006);
	assert_int_equal(usage.run_remote_ns, 0);
	counter(0)->run_ns += 50;
	counter(2)->run_ns += 900;
	usage = read_usage();
	assert_int_equal(usage.run_local_ns, 1906);
	assert_int_equal(usage.run_remote_ns, 50);
	/* And both again. */
	scene.slots[2].nodes = 3;
	usage = read_usage();
	counter(0)->run_ns += 7;
	usage = read_usage();
	assert_int_equal(usage.run_local_ns, 1913);
	assert_int_equal(usage.run_remote_ns, 50);
	assert_int_equal(usage.run_outside_ns, 4);
}

/* The new clock and the old instant would make each open interval longer by the age of the pair. */
static void test_a_pair_in_the_middle_of_a_change_is_left_out(void **state)
{
	(void)state;
	scene.cpus[2].sequence = 1;
	scene.cpus[2].clock += 1000000000ULL;
	run_since(0, 100000000ULL, 0);
	assert_in_range(read_usage().run_local_ns, 99900000ULL, 200000000ULL);
}

/* A lone task keeps its CPU without a switch: all that passes between two looks is its own. */
static void test_lone_task_has_its_whole_cpu(void **state)
{
	struct observe_usage usage;
	uint64_t began, first, passed;

	(void)state;
	run_since(1, 5000000000ULL, 0);
	began = clock_monotonic_ns();
	first = read_usage().run_ns[1];
	scene.observer.has_offset = false; /* as after a long time: look for it again */
	usage = read_usage();
	passed = clock_monotonic_ns() - began;
	assert_true(usage.run_ns[1] > first);
	assert_true(usage.run_ns[1] - first <= passed);
	assert_int_equal(usage.outside_ns[1], 0);
}

/* The mask said that the CPU is not the group's when the task got it. */
static void test_open_interval_outside_of_one_cpu(void **state)
{
	struct observe_usage usage;

	(void)state;
	*counter(2) = (struct observe_counter){.run_ns = 50, .outside_ns = 20};
	run_since(2, 2000000000ULL, SLOT_OUTSIDE);
	usage = read_usage();
	assert_int_equal(usage.run_ns[2] - usage.outside_ns[2], 30);
	assert_int_equal(usage.remote_ns[2], 30);
}

static void test_open_interval(void **state)
{
	struct observe_usage usage;

	(void)state;
	counter(0)->run_ns = 50;
	run_since(0, 3000000000ULL, 0);
	run_since(1, 2000000000ULL, SLOT_OUTSIDE);
	usage = read_usage();
	/* within what the two calls of the clock and the smallest pair allow */
	assert_in_range(usage.run_local_ns, 2999900000ULL, 3100000000ULL);
	assert_in_range(usage.run_outside_ns, 1999900000ULL, 2100000000ULL);
	assert_int_equal(usage.run_remote_ns, 0);
}

static void test_other_slot_is_not_open(void **state)
{
	(void)state;
	run_since(0, 3000000000ULL, 0);
	scene.cpus[0].slot = 1;
	assert_int_equal(read_usage().run_local_ns, 0);
}

static void test_never_back(void **state)
{
	struct observe_usage first, second;
	uint64_t shown;

	(void)state;
	run_since(0, 1000000000ULL, 0);
	first = read_usage();
	shown = first.run_ns[0];
	/* it ended, and by the kernel's clock it was a little shorter than estimated */
	counter(0)->run_ns = shown - 5000;
	scene.cpus[0].slot = SLOT_HOST;
	second = read_usage();
	assert_int_equal(second.run_local_ns, first.run_local_ns);
	assert_int_equal(second.run_ns[0], shown);
	assert_int_equal(second.outside_ns[0], 0);
	counter(0)->run_ns = shown + 5000;
	assert_int_equal(read_usage().run_local_ns, shown + 5000);
}

/* Of several CPUs, only those whose counters have not reached what was shown are remembered. */
static void test_floors_go_when_counters_reach_them(void **state)
{
	uint64_t shown[CPUS];

	(void)state;
	counter(0)->run_ns = 7000;
	run_since(1, 1000000000ULL, 0);
	run_since(3, 2000000000ULL, SLOT_OUTSIDE);
	memcpy(shown, read_usage().run_ns, sizeof(shown));
	assert_int_equal(scene.shown[2].nr_floors, 2);
	scene.cpus[1].slot = scene.cpus[3].slot = SLOT_HOST;
	counter(1)->run_ns = shown[1] - 100;
	*counter(3) =
		(struct observe_counter){.run_ns = shown[3] + 50, .outside_ns = shown[3] + 50};
	assert_int_equal(read_usage().run_ns[1], shown[1]);
	assert_int_equal(scene.shown[2].nr_floors, 1);
	run_since(0, 500000000ULL, 0);
	read_usage();
	assert_int_equal(scene.shown[2].nr_floors, 2);
	scene.cpus[0].slot = SLOT_HOST;
	/* A counter that was not touched since is remembered as long as it says less. */
	*counter(1) = (struct observe_counter){0};
	assert_int_equal(read_usage().run_ns[1], shown[1]);
	counter(0)->run_ns += 2000000000ULL;
	counter(1)->run_ns = shown[1];
	assert_int_equal(read_usage().run_ns[1], shown[1]);
	assert_int_equal(scene.shown[2].nr_floors, 0);
	assert_int_equal(read_usage().run_ns[3], shown[3] + 50);
}

static void test_outside_of_one_cpu_never_goes_back(void **state)
{
	uint64_t shown;

	(void)state;
	run_since(1, 1000000000ULL, SLOT_OUTSIDE);
	shown = read_usage().outside_ns[1];
	/* It ended a little earlier than estimated, and the mask has the CPU now. */
	*counter(1) = (struct observe_counter){.run_ns = shown - 5000, .outside_ns = shown - 5000};
	scene.cpus[1].slot = SLOT_HOST;
	assert_int_equal(read_usage().outside_ns[1], shown);
}

static void test_new_owner_starts_low(void **state)
{
	struct observe_usage usage;

	(void)state;
	counter(0)->run_ns = 5000;
	assert_int_equal(read_usage().run_local_ns, 5000);
	scene.slots[2].cgroup_id = GROUP + 1;
	counter(0)->run_ns = 10;
	assert_int_equal(observe_usage(&scene.observer, GROUP, &usage), -ENOENT);
	assert_int_equal(observe_usage(&scene.observer, GROUP + 1, &usage), 0);
	assert_int_equal(usage.run_local_ns, 10);
}

/* Such as a runtime's container that had to yield its slot to one of ours. */
static void test_an_owner_that_comes_again_starts_low(void **state)
{
	(void)state;
	run_since(0, 4000, 0);
	counter(0)->run_ns = 5000;
	counter(1)->run_ns = 3000;
	assert_true(read_usage().run_local_ns >= 8000);
	scene.cpus[0].slot = SLOT_HOST;
	scene.slots[2].claims++;
	counter(0)->run_ns = 10;
	counter(1)->run_ns = 0;
	assert_int_equal(read_usage().run_local_ns, 10);
	assert_int_equal(read_usage().run_ns[0], 10);
}

static void test_change_in_progress(void **state)
{
	(void)state;
	counter(0)->run_ns = 9;
	run_since(0, 1000000000ULL, 0);
	scene.cpus[0].sequence = 1; /* and stays so: the reader must come back all the same */
	assert_int_equal(read_usage().run_local_ns, 9);
}

static void test_latency(void **state)
{
	struct latency latency;

	(void)state;
	*counter(0) = (struct observe_counter){
		.switches = 3, .latency_ns = 9, .longest_ns = 8, .latencies = {[0] = 2}};
	*counter(1) = (struct observe_counter){
		.switches = 1, .latency_ns = 5000, .longest_ns = 5000, .latencies = {[3] = 1}};
	*counter(3) = (struct observe_counter){
		.switches = 7, .latency_ns = 1, .longest_ns = 1, .latencies = {[0] = 1, [23] = 4}};
	scene.counters[1 * CPUS] = (struct observe_counter){.switches = 1, .latencies = {[0] = 99}};
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(latency.counts[0], 3);
	assert_int_equal(latency.counts[3], 1);
	assert_int_equal(latency.counts[23], 4);
	assert_int_equal(latency_count(&latency), 8);
	assert_int_equal(latency.sum_ns, 5010);
	assert_int_equal(latency.longest_ns, 5000);
	assert_int_equal(observe_latency(&scene.observer, GROUP + 1, &latency), -ENOENT);
	assert_int_equal(latency.sum_ns, 5010);
}

/* A sum that more than 64 bits would hold goes back, which is counted; another owner begins with 0. */
static void test_wrapped_latency(void **state)
{
	struct latency latency;

	(void)state;
	*counter(0) = (struct observe_counter){
		.switches = 3, .latency_ns = UINT64_MAX - 10, .latencies = {[0] = 2}};
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(scene.observer.nr_wrapped, 0);
	counter(0)->latency_ns += 20;
	counter(0)->latencies[0]++;
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(scene.observer.nr_wrapped, 1);
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(scene.observer.nr_wrapped, 1);
	/* two CPUs together */
	*counter(1) = (struct observe_counter){.switches = 1, .latency_ns = UINT64_MAX - 5};
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(scene.observer.nr_wrapped, 2);
	/* a bucket */
	counter(0)->latencies[0] = 0;
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(scene.observer.nr_wrapped, 3);
	scene.slots[2].claims++;
	*counter(0) = *counter(1) = (struct observe_counter){0};
	assert_int_equal(observe_latency(&scene.observer, GROUP, &latency), 0);
	assert_int_equal(scene.observer.nr_wrapped, 3);
}

static void test_nodes(void **state)
{
	struct observe_node nodes[2];

	(void)state;
	*counter(1) = (struct observe_counter){.run_ns = 10, .wait_ns = {[WAIT_UNATTRIBUTED] = 1}};
	*counter(2) = (struct observe_counter){.run_ns = 20, .wait_ns = {[WAIT_UNATTRIBUTED] = 2}};
	*counter(3) = (struct observe_counter){.run_ns = 30, .wait_ns = {[WAIT_UNATTRIBUTED] = 3}};
	observe_nodes(&scene.observer, nodes);
	assert_int_equal(nodes[0].run_ns, 10);
	assert_int_equal(nodes[0].wait_ns, 1);
	assert_int_equal(nodes[1].run_ns, 50);
	assert_int_equal(nodes[1].wait_ns, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sums, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_cpu, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_nodes_divide_only_what_comes_later,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_pair_in_the_middle_of_a_change_is_left_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_open_interval, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lone_task_has_its_whole_cpu, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_open_interval_outside_of_one_cpu, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_other_slot_is_not_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_never_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_floors_go_when_counters_reach_them, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_outside_of_one_cpu_never_goes_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_new_owner_starts_low, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_owner_that_comes_again_starts_low, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_change_in_progress, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_latency, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrapped_latency, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nodes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
