// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf core lib
/*
 * Which threads of a core are counted as disturbing its exclusive CPUs, and what is read of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/noise_siblings.h"

#define NR_CPUS 8

static struct topology *topology;
static struct noise_siblings siblings;
static struct noise_owner owners[NR_CPUS];
static uint32_t number;

/* Threads of a core are side by side. */
static void make_machine(uint32_t threads)
{
	struct topology_cpu cpus[NR_CPUS];
	const struct topology_facts facts = {.cpus = cpus, .nr_cpus = NR_CPUS, TOPOLOGY_COUNT_ALL};
	char error[256];

	for (uint32_t i = 0; i < NR_CPUS; i++)
		cpus[i] = (struct topology_cpu){.id = i, .core = i / threads};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
	assert_int_equal(noise_siblings_init(&siblings, topology, NR_CPUS), 0);
	memset(owners, 0, sizeof(owners));
	number = 100;
}

static int tear_down(void **state)
{
	noise_siblings_fini(&siblings);
	topology_free(topology);
	topology = NULL;
	return 0;
}

static void own(uint32_t cpu, uint64_t cgroup_id)
{
	owners[cpu] =
		(struct noise_owner){.cgroup_id = cgroup_id, .epoch = cgroup_id ? ++number : 0};
	noise_siblings_follow(&siblings, owners, &number);
}

/* The share as which `sibling` counts what it does to `cpu`; 0 = it does not count. */
static uint32_t share_of(uint32_t sibling, uint32_t cpu)
{
	for (uint32_t i = 0; i < siblings.nr; i++) {
		const uint32_t index = sibling * siblings.nr + i;
		uint32_t other = NOISE_NO_CPU,
			 share = noise_siblings_share(&siblings, index, &other);

		if (other == cpu)
			return share;
		if (other == NOISE_NO_CPU)
			assert_int_equal(share, 0);
	}
	return 0;
}

static uint32_t nr_shares(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < NR_CPUS * siblings.nr; i++) {
		uint32_t other;

		nr += noise_siblings_share(&siblings, i, &other) != 0;
	}
	return nr;
}

/* --- which are counted ---------------------------------------------------------------------------- */

static void the_other_thread_of_an_exclusive_cpu_is_counted(void **state)
{
	make_machine(2);
	assert_int_equal(siblings.nr, 1);
	assert_int_equal(nr_shares(), 0);
	own(2, 7);
	assert_int_equal(nr_shares(), 1);
	assert_int_not_equal(share_of(3, 2), 0);
	assert_int_equal(siblings.shares[2].number, share_of(3, 2));
	own(2, 0);
	assert_int_equal(nr_shares(), 0);
	assert_int_equal(siblings.shares[2].number, 0);
}

static void a_core_of_one_owner_is_not_counted(void **state)
{
	make_machine(2);
	own(2, 7);
	own(3, 7);
	assert_int_equal(nr_shares(), 0);
}

static void two_owners_of_a_core_disturb_each_other(void **state)
{
	make_machine(2);
	own(4, 7);
	own(5, 8);
	assert_int_equal(nr_shares(), 2);
	assert_int_not_equal(share_of(4, 5), 0);
	assert_int_not_equal(share_of(5, 4), 0);
	assert_int_not_equal(share_of(4, 5), share_of(5, 4));
}

/* What was counted for the owner before is not the next one's. */
static void another_owner_has_another_share(void **state)
{
	uint32_t before;

	make_machine(2);
	own(2, 7);
	before = share_of(3, 2);
	noise_siblings_follow(&siblings, owners, &number);
	assert_int_equal(share_of(3, 2), before);
	own(2, 8);
	assert_true(share_of(3, 2) > before);
}

/* Meanwhile nobody has kept the time of the owner. */
static void a_thread_that_is_given_back_begins_another_share(void **state)
{
	uint32_t before;

	make_machine(2);
	own(2, 7);
	before = share_of(3, 2);
	own(3, 7);
	own(3, 0);
	assert_true(share_of(3, 2) > before);
}

static void another_owner_of_the_sibling_goes_on(void **state)
{
	uint32_t before;

	make_machine(2);
	own(2, 7);
	before = share_of(3, 2);
	own(3, 9);
	assert_int_equal(share_of(3, 2), before);
}

static void every_thread_of_a_core_is_counted(void **state)
{
	make_machine(4);
	assert_int_equal(siblings.nr, 3);
	own(1, 7);
	own(2, 7);
	/* threads 0 and 3 disturb both, and the two do not disturb each other */
	assert_int_equal(nr_shares(), 4);
	assert_int_equal(share_of(0, 1), share_of(3, 1));
	assert_int_equal(share_of(0, 2), share_of(3, 2));
	assert_int_equal(share_of(1, 2), 0);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t index = noise_siblings_index(&siblings, 2, i);
		uint32_t other;

		noise_siblings_share(&siblings, index, &other);
		assert_int_equal(other, 2);
		assert_int_equal(index / 3, siblings.others[2 * 3 + i]);
	}
}

static void more_threads_than_there_is_room_for_are_left_out(void **state)
{
	make_machine(8);
	assert_int_equal(siblings.nr, NOISE_SIBLINGS_MAX);
	own(0, 7);
	assert_int_equal(nr_shares(), NOISE_SIBLINGS_MAX);
	own(7, 8);
	for (uint32_t i = 0; i < NOISE_SIBLINGS_MAX; i++)
		(void)noise_siblings_index(&siblings, 7, i);
}

static void without_smt_nothing_is_counted(void **state)
{
	make_machine(1);
	own(2, 7);
	assert_int_equal(siblings.nr, 0);
	assert_int_equal(siblings.shares[2].number, 0);
}

static void unknown_cores_are_not_counted(void **state)
{
	make_machine(2);
	noise_siblings_fini(&siblings);
	assert_int_equal(noise_siblings_init(&siblings, NULL, NR_CPUS), 0);
	own(2, 7);
	assert_int_equal(siblings.nr, 0);
}

/* --- the owner's time ------------------------------------------------------------------------------ */

static void the_owners_time_is_one_word(void **state)
{
	uint64_t word = 0;

	assert_int_equal(noise_owner_ns(word, 1000), 0);
	word = noise_owner_time(word, 1000, true);
	assert_int_equal(noise_owner_ns(word, 1000), 0);
	assert_int_equal(noise_owner_ns(word, 1500), 500);
	assert_int_equal(noise_owner_time(word, 1200, true), word);
	word = noise_owner_time(word, 1501, false);
	assert_int_equal(noise_owner_ns(word, 9999), 501);
	assert_int_equal(noise_owner_time(word, 9999, false), word);
	word = noise_owner_time(word, 20000, true);
	assert_int_equal(noise_owner_ns(word, 20000), 501);
	word = noise_owner_time(word, 20009, false);
	assert_int_equal(noise_owner_ns(word, 0), 510);
}

/* --- what is read ---------------------------------------------------------------------------------- */

static struct noise_cpu record;

static struct noise_entry *put(uint32_t at, uint32_t source, uint64_t total_ns)
{
	record.entries[at] = (struct noise_entry){.epoch = 5,
						  .source = source,
						  .count = total_ns != 0,
						  .total_ns = total_ns,
						  .longest_ns = total_ns};
	return &record.entries[at];
}

static uint32_t read_record(uint64_t owner_ns, struct noise_entry *ret_entries)
{
	return noise_siblings_read(&record, 3, owner_ns, ret_entries);
}

static void clear_record(void)
{
	memset(&record, 0, sizeof(record));
	record.epoch = 5;
	record.running = NOISE_NOBODY;
}

static void entries_are_those_of_the_share(void **state)
{
	struct noise_entry entries[NOISE_SIBLING_ENTRIES];

	clear_record();
	assert_int_equal(read_record(1000, entries), 0);
	put(NOISE_TASKS, NOISE_HOST_TASK, 30);
	put(NOISE_TASKS + 1, NOISE_OTHER_POD, 40)->epoch = 4;
	assert_int_equal(read_record(1000, entries), 1);
	assert_int_equal(entries[0].source, NOISE_SMT_SIBLING);
	assert_int_equal(entries[0].by, NOISE_HOST_TASK);
	assert_int_equal(entries[0].sibling, 3);
	assert_int_equal(entries[0].total_ns, 30);
}

/* A task alone on its thread may not be switched for hours. */
static void the_open_stay_is_counted_while_the_owner_runs(void **state)
{
	struct noise_entry entries[NOISE_SIBLING_ENTRIES];

	clear_record();
	put(NOISE_TASKS, NOISE_HOST_TASK, 0);
	record.running = NOISE_TASKS;
	record.since_ns = 100;
	/* the owner has not run since, or seems to have run less */
	assert_int_equal(read_record(100, entries), 0);
	assert_int_equal(read_record(90, entries), 0);
	assert_int_equal(read_record(170, entries), 1);
	assert_int_equal(entries[0].count, 1);
	assert_int_equal(entries[0].total_ns, 70);
	assert_int_equal(entries[0].longest_ns, 70);
	put(NOISE_TASKS, NOISE_HOST_TASK, 500);
	assert_int_equal(read_record(170, entries), 1);
	assert_int_equal(entries[0].count, 2);
	assert_int_equal(entries[0].total_ns, 570);
	assert_int_equal(entries[0].longest_ns, 500);
	/* the record itself is unchanged */
	assert_int_equal(record.entries[NOISE_TASKS].total_ns, 500);
}

static void no_more_entries_are_read_than_there_is_room_for(void **state)
{
	struct noise_entry entries[NOISE_SIBLING_ENTRIES];

	clear_record();
	for (uint32_t i = 0; i < NOISE_ENTRIES; i++)
		put(i, NOISE_HOST_TASK, 1);
	assert_int_equal(read_record(0, entries), NOISE_SIBLING_ENTRIES);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_other_thread_of_an_exclusive_cpu_is_counted),
		TEST(a_core_of_one_owner_is_not_counted),
		TEST(two_owners_of_a_core_disturb_each_other),
		TEST(another_owner_has_another_share),
		TEST(a_thread_that_is_given_back_begins_another_share),
		TEST(another_owner_of_the_sibling_goes_on),
		TEST(every_thread_of_a_core_is_counted),
		TEST(more_threads_than_there_is_room_for_are_left_out),
		TEST(without_smt_nothing_is_counted),
		TEST(unknown_cores_are_not_counted),
		cmocka_unit_test(the_owners_time_is_one_word),
		cmocka_unit_test(entries_are_those_of_the_share),
		cmocka_unit_test(the_open_stay_is_counted_while_the_owner_runs),
		cmocka_unit_test(no_more_entries_are_read_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
