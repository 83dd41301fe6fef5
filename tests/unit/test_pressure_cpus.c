// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet core lib
/*
 * The arithmetic of pressure per CPU, against times of 64 bits that the kernel does not have: words
 * that wrap, passes that come too late, reads that are torn, CPUs that come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/pressure_cpus.h"
#include "random.h"
#include "scene.h"

#define MS 1000000ULL
#define S  (1000 * MS)

/* Two nodes of four CPUs: 0-3 and 4-7. */
#define CPUS 8

static struct topology *topology;
static struct pressure_cpus *cpus;
static struct pressure_cell cells[CPUS];
static uint32_t nr_cells;
static uint64_t truth[CPUS]
		     [PRESSURE_CPU_KIND_NR]; /* what the kernel's words are the lower half of */
static uint64_t now_ns;

static int set_up(void **state)
{
	topology = scene_machine(2, 1, 4, 1);
	cpus = NULL;
	/* The words wrap soon. */
	for (int cpu = 0; cpu < CPUS; cpu++)
		for (int kind = 0; kind < PRESSURE_CPU_KIND_NR; kind++)
			truth[cpu][kind] = (1ULL << 32) - 3 * S - (uint64_t)cpu;
	now_ns = 1000 * S;
	return 0;
}

static int tear_down(void **state)
{
	free(cpus);
	topology_free(topology);
	return 0;
}

static void want(const char *list)
{
	const struct cpuset set = cpus_of(list);

	nr_cells = 0;
	cpuset_for_each (cpu, &set)
		cells[nr_cells++].cpu = cpu;
	assert_int_equal(pressure_cpus_follow(&cpus, topology, cells, nr_cells), 0);
}

static void read_now(void)
{
	for (uint32_t i = 0; i < nr_cells; i++)
		for (int kind = 0; kind < PRESSURE_CPU_KIND_NR; kind++)
			cells[i].time_ns[kind] = (uint32_t)truth[cells[i].cpu][kind];
	pressure_cpus_add(cpus, now_ns, cells);
}

/* So long a CPU was active, and a task waited so long for it. */
static void grow(uint32_t cpu, uint64_t active_ns, uint64_t some_ns)
{
	truth[cpu][PRESSURE_ACTIVE] += active_ns;
	truth[cpu][PRESSURE_CPU_SOME] += some_ns;
}

static const struct pressure_part *part_of(int32_t cpu, int32_t node)
{
	for (uint32_t i = 0; i < cpus->nr_parts; i++)
		if (cpus->parts[i].cpu == cpu && (cpu >= 0 || cpus->parts[i].node == node))
			return &cpus->parts[i];
	return NULL;
}

static const struct pressure_part *cpu_part(int32_t cpu)
{
	return part_of(cpu, 0);
}

static int share(const struct pressure_part *part, uint64_t seconds)
{
	return pressure_cpus_share(cpus, part, seconds * S, PRESSURE_CPU_SOME);
}

static void a_word_that_wraps_goes_on(void **state)
{
	want("0");
	read_now();
	for (int i = 0; i < 10; i++) {
		now_ns += 2 * S;
		grow(0, 2 * S, S);
		read_now();
	}
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 10 * S);
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_ACTIVE], 20 * S);
	assert_int_equal(cpu_part(0)->known_ns, 20 * S);
	assert_int_equal(cpu_part(0)->missed_ns, 0);
	assert_int_equal(share(cpu_part(0), 10), 5000);
}

/* A whole turn of the word cannot be told from nothing. */
static void a_pass_that_comes_too_late_is_missed(void **state)
{
	want("0,4");
	read_now();
	now_ns += 2 * S;
	grow(0, 2 * S, S);
	read_now();
	now_ns += 5 * S;
	grow(0, 5 * S, 1ULL << 32);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], S);
	assert_int_equal(cpu_part(0)->known_ns, 2 * S);
	assert_int_equal(cpu_part(0)->missed_ns, 5 * S);
	assert_int_equal(part_of(-1, 0)->missed_ns, 5 * S);
	assert_int_equal(pressure_cpus_whole(cpus)->missed_ns, 5 * S);
	/* The share is that of the time that is known, not less. Points are rounded to 1.024 us. */
	assert_in_range(share(cpu_part(0), 10), 4999, 5001);
	assert_in_range(share(part_of(-1, 0), 10), 4999, 5001);
	now_ns += 2 * S;
	grow(0, 2 * S, 2 * S);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 3 * S);
	assert_int_equal(cpu_part(0)->known_ns, 4 * S);
	assert_int_equal(share(cpu_part(0), 2), 10000);
}

/* 4.2 s are the most that is told apart; the word's whole range would not leave room for its errors. */
static void a_pass_is_late_before_the_word_has_turned(void **state)
{
	want("0");
	read_now();
	now_ns += 42 * S / 10;
	grow(0, 42 * S / 10, 42 * S / 10);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 42 * S / 10);
	now_ns += (1ULL << 32) - 30 * MS;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 42 * S / 10);
	assert_int_equal(cpu_part(0)->missed_ns, (1ULL << 32) - 30 * MS);
}

static void time_in_which_nothing_was_measured_is_missed(void **state)
{
	want("0");
	read_now();
	now_ns += S;
	pressure_cpus_cut(cpus);
	now_ns += S;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 0);
	assert_int_equal(cpu_part(0)->missed_ns, 2 * S);
	assert_int_equal(cpu_part(0)->known_ns, 0);
	assert_int_equal(share(cpu_part(0), 10), -1);
	now_ns += S;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], S);
	assert_int_equal(cpu_part(0)->missed_ns, 2 * S);
}

static void a_cut_outlasts_a_change_of_the_cpus(void **state)
{
	want("0");
	read_now();
	pressure_cpus_cut(cpus);
	want("0-1");
	now_ns += S;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->known_ns, 0);
	assert_int_equal(cpu_part(0)->missed_ns, S);
}

/* A torn read is left to the next one, which has all of it. */
static void a_torn_read_is_left_out(void **state)
{
	want("0-1");
	read_now();
	now_ns += 2 * S;
	grow(0, 2 * S, 2 * S);
	grow(1, 2 * S, S);
	truth[1][PRESSURE_CPU_SOME] -= 2 * S; /* its words are half written */
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 0);
	assert_int_equal(cpu_part(0)->known_ns, 0);
	truth[1][PRESSURE_CPU_SOME] += 2 * S;
	now_ns += S;
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 2 * S);
	assert_int_equal(cpu_part(1)->waited_ns[PRESSURE_CPU_SOME], S);
	assert_int_equal(cpu_part(0)->known_ns, 3 * S);
	assert_int_equal(cpu_part(0)->missed_ns, 0);
	/* A pass that began before the last one ended says nothing new. */
	now_ns -= S;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->known_ns, 3 * S);
}

/* The end of an open interval is an estimate; what was counted stays, and is not counted twice. */
static void a_time_that_seems_to_fall_is_not_counted_twice(void **state)
{
	want("0");
	read_now();
	now_ns += 2 * S;
	grow(0, 2 * S, 2 * S);
	read_now();
	now_ns += 2 * S;
	truth[0][PRESSURE_CPU_SOME] -= 5 * MS;
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 2 * S);
	assert_int_equal(cpu_part(0)->known_ns, 4 * S);
	now_ns += 2 * S;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], 3 * S - 5 * MS);
}

/* As psi_avgs in the kernel: a CPU that was active twice as long counts twice. */
static void a_node_is_the_weighted_mean_of_its_cpus(void **state)
{
	want("0-1,4");
	read_now();
	now_ns += 2 * S;
	grow(0, 2 * S, 2 * S);
	grow(1, S, 0);
	grow(4, S, S / 2);
	read_now();
	assert_int_equal(part_of(-1, 0)->waited_ns[PRESSURE_CPU_SOME], 4 * S / 3);
	assert_int_equal(part_of(-1, 0)->waited_ns[PRESSURE_ACTIVE], 3 * S);
	assert_int_equal(part_of(-1, 1)->waited_ns[PRESSURE_CPU_SOME], S / 2);
	assert_int_equal(pressure_cpus_whole(cpus)->waited_ns[PRESSURE_CPU_SOME],
			 (4 * S + S / 2) / 4);
	assert_int_equal(share(part_of(-1, 0), 2), 6667);
	/* Nobody is active: nobody waits, and that is known. */
	now_ns += 2 * S;
	read_now();
	assert_int_equal(part_of(-1, 0)->waited_ns[PRESSURE_CPU_SOME], 4 * S / 3);
	assert_int_equal(part_of(-1, 0)->known_ns, 4 * S);
	assert_int_equal(share(part_of(-1, 0), 4), 3333);
}

static void a_cpu_that_leaves_is_forgotten(void **state)
{
	want("0-1,4");
	read_now();
	now_ns += 2 * S;
	grow(0, 2 * S, S);
	grow(1, 2 * S, S);
	grow(4, 2 * S, 2 * S);
	read_now();
	want("1-2");
	assert_null(cpu_part(0));
	assert_null(cpu_part(4));
	assert_null(part_of(-1, 1));
	assert_int_equal(cpu_part(1)->waited_ns[PRESSURE_CPU_SOME], S);
	assert_int_equal(part_of(-1, 0)->waited_ns[PRESSURE_CPU_SOME], S);
	now_ns += 2 * S;
	grow(0, 2 * S, 2 * S);
	grow(1, 2 * S, 0);
	read_now();
	/* The node does not know what happened on CPU 2, which nobody has read before. */
	assert_int_equal(part_of(-1, 0)->missed_ns, 2 * S);
	assert_int_equal(part_of(-1, 0)->known_ns, 2 * S);
	assert_int_equal(cpu_part(1)->known_ns, 4 * S);
	assert_int_equal(cpu_part(2)->known_ns, 0);
	assert_int_equal(cpu_part(2)->missed_ns, 0);
	/* It returns, and what it did meanwhile is nobody's. */
	want("0-2");
	now_ns += 2 * S;
	read_now();
	now_ns += 2 * S;
	grow(0, S, S);
	read_now();
	assert_int_equal(cpu_part(0)->waited_ns[PRESSURE_CPU_SOME], S);
	assert_int_equal(cpu_part(0)->known_ns, 2 * S);
}

static void the_same_cpus_keep_everything(void **state)
{
	const struct pressure_cpus *before;

	want("0-1");
	before = cpus;
	want("0-1");
	assert_ptr_equal(cpus, before);
}

/* A minute of waiting, then none: each window has its part of it, however long ago that was. */
static void windows_end_with_the_last_read(void **state)
{
	want("0");
	read_now();
	for (int i = 0; i < 30; i++) {
		now_ns += 2 * S;
		grow(0, 2 * S, 2 * S);
		read_now();
	}
	assert_int_equal(share(cpu_part(0), 10), 10000);
	assert_int_equal(share(cpu_part(0), 300), 10000);
	for (int seconds = 2; seconds <= 600; seconds += 2) {
		const int in_300 = seconds <= 240 ? 60 : 300 - seconds;

		now_ns += 2 * S;
		grow(0, 0, 0);
		read_now();
		if (seconds == 4)
			assert_in_range(share(cpu_part(0), 10), 5999, 6001);
		if (seconds >= 10)
			assert_int_equal(share(cpu_part(0), 10), 0);
		if (seconds == 30)
			assert_in_range(share(cpu_part(0), 60), 4998, 5001);
		if (seconds >= 72)
			assert_int_equal(share(cpu_part(0), 60), 0);
		/* Older points are up to 31 s apart, between which growth is taken to be even. */
		if (seconds >= 242 && seconds < 300)
			assert_in_range(share(cpu_part(0), 300) + 1000,
					in_300 * 10000 / 300 - 520 + 1000,
					in_300 * 10000 / 300 + 520 + 1000);
		if (seconds >= 332)
			assert_int_equal(share(cpu_part(0), 300), 0);
	}
	assert_true(cpus->nr_points <= PRESSURE_CPUS_POINTS);
}

static void a_second_is_what_two_reads_are_apart(void **state)
{
	want("0");
	read_now();
	assert_int_equal(pressure_cpus_second(cpus), 0);
	now_ns += 2 * S;
	read_now();
	assert_int_equal(pressure_cpus_second(cpus), 0);
	for (int i = 0; i < 100; i++) {
		uint64_t length_ns;

		now_ns += S + (uint64_t)i * MS;
		grow(0, S, i % 2 ? S : 0);
		read_now();
		length_ns = pressure_cpus_second(cpus);
		assert_in_range(length_ns, S + (uint64_t)i * MS - 2048,
				S + (uint64_t)i * MS + 2048);
		if (!(i % 2))
			assert_int_equal(pressure_cpus_second_share(cpus, PRESSURE_CPU_SOME), 0);
		else
			assert_true(pressure_cpus_second_share(cpus, PRESSURE_CPU_SOME) > 9000);
	}
	/* While nobody asks, passes are further apart. */
	now_ns += 2 * S;
	read_now();
	assert_int_equal(pressure_cpus_second(cpus), 0);
	now_ns += S;
	pressure_cpus_cut(cpus);
	read_now();
	assert_int_equal(pressure_cpus_second(cpus), 0);
}

/* However passes come: what is known is exact, and what is known and missed is all of the time. */
static void random_passes_lose_nothing_silently(void **state)
{
	struct chance chance = {number_from_environment("SEED", 7)};

	for (int round = 0; round < 200; round++) {
		uint64_t begin_ns, waited_ns = 0, missed_ns = 0;

		want("2");
		read_now();
		begin_ns = now_ns;
		for (int i = 0; i < 50; i++) {
			const uint64_t passed_ns =
				(chance_percent(&chance, 10) ? 43 : 1) * S / 10 +
				chance_next(&chance) %
					(chance_percent(&chance, 90) ? 4 * S : 9 * S);
			const uint64_t some_ns = chance_next(&chance) % (passed_ns + 1);
			const bool is_missed = passed_ns >= (1ULL << 32) - 40 * MS;

			now_ns += passed_ns;
			grow(2, passed_ns, some_ns);
			read_now();
			waited_ns += is_missed ? 0 : some_ns;
			missed_ns += is_missed ? passed_ns : 0;
		}
		assert_int_equal(cpu_part(2)->waited_ns[PRESSURE_CPU_SOME], waited_ns);
		assert_int_equal(cpu_part(2)->missed_ns, missed_ns);
		assert_int_equal(cpu_part(2)->known_ns + missed_ns, now_ns - begin_ns);
		free(cpus);
		cpus = NULL;
	}
}

/* --- windows, against all reads ------------------------------------------------------------------ */

/* What a part showed after each read since it is there. */
struct past {
	uint32_t nr;
	uint64_t time_ns[600], known_ns[600], waited_ns[600];
};

/* By CPU, then by node, then all together. */
#define PARTS (CPUS + 2 + 1)
static struct past pasts[PARTS];

static uint32_t past_of(const struct pressure_part *part)
{
	if (part->cpu >= 0)
		return (uint32_t)part->cpu;
	return part->node >= 0 ? CPUS + (uint32_t)part->node : CPUS + 2;
}

static void note_all(void)
{
	bool is_there[PARTS] = {0};

	for (uint32_t i = 0; i < cpus->nr_parts; i++) {
		const struct pressure_part *part = &cpus->parts[i];
		struct past *past = &pasts[past_of(part)];

		is_there[past_of(part)] = true;
		past->time_ns[past->nr] = now_ns;
		past->known_ns[past->nr] = part->known_ns;
		past->waited_ns[past->nr++] = part->waited_ns[PRESSURE_CPU_SOME];
	}
	for (uint32_t i = 0; i < PARTS; i++)
		if (!is_there[i])
			pasts[i].nr = 0;
}

/* -1 = less than half a second is known. */
static double share_of_past(const struct past *past, uint64_t seconds)
{
	const uint64_t begin_ns = now_ns - seconds * S;
	const uint32_t last = past->nr - 1;
	uint32_t at = last;
	double known, waited, part = 0;

	while (at && past->time_ns[at] > begin_ns)
		at--;
	if (past->time_ns[at] < begin_ns)
		part = (double)(begin_ns - past->time_ns[at]) /
		       (double)(past->time_ns[at + 1] - past->time_ns[at]);
	known = (double)(past->known_ns[last] - past->known_ns[at]);
	waited = (double)(past->waited_ns[last] - past->waited_ns[at]);
	if (part > 0) {
		known -= part * (double)(past->known_ns[at + 1] - past->known_ns[at]);
		waited -= part * (double)(past->waited_ns[at + 1] - past->waited_ns[at]);
	}
	return known < 0.5 * (double)S ? -1 : 10000 * waited / known;
}

static void compare(uint64_t seconds, double most)
{
	for (uint32_t i = 0; i < cpus->nr_parts; i++) {
		const double expected = share_of_past(&pasts[past_of(&cpus->parts[i])], seconds);
		const double difference = share(&cpus->parts[i], seconds) - expected;

		if (difference > most || difference < -most)
			fail_msg("part %u, %u s: %d, not %.2f", i, (unsigned int)seconds,
				 share(&cpus->parts[i], seconds), expected);
	}
}

static void grow_randomly(struct chance *chance, uint64_t passed_ns)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		const uint64_t some_ns =
			chance_percent(chance, 40) ? 0 : chance_next(chance) % (passed_ns + 1);

		grow(cpu, passed_ns, some_ns);
	}
}

/*
 * Between two points so far apart, growth that is not even differs from even growth by a quarter of
 * the distance at most.
 */
#define MOST(gap, seconds) ((gap) / 4.0 * 10000 / (seconds) + 1)

static void windows_are_those_of_all_reads(void **state)
{
	struct chance chance = {number_from_environment("SEED", 11)};

	memset(pasts, 0, sizeof(pasts));
	want("0-7");
	for (int i = 0; i < 600; i++) {
		const uint64_t passed_ns = 1950 * MS + chance_next(&chance) % (100 * MS);

		now_ns += passed_ns;
		grow_randomly(&chance, passed_ns);
		read_now();
		note_all();
		compare(10, 1);
		compare(60, MOST(11, 60));
		compare(300, MOST(31, 300));
	}
}

/* Each is compared where no point between two reads is missing. */
static void parts_that_come_and_go_have_their_own_windows(void **state)
{
	static const char *const lists[] = {"0-7", "0-3", "4-7", "1,5", "0-2,6", "3", "0-1,3-7"};
	struct chance chance = {number_from_environment("SEED", 12)};

	memset(pasts, 0, sizeof(pasts));
	for (int i = 0; i < 600; i++) {
		const bool is_late = chance_percent(&chance, 3);
		const uint64_t passed_ns =
			(is_late ? 5000 : 1950) * MS + chance_next(&chance) % (100 * MS);

		if (i == 0 || chance_percent(&chance, 5))
			want(lists[chance_next(&chance) % 7]);
		if (chance_percent(&chance, 3))
			pressure_cpus_cut(cpus);
		now_ns += passed_ns;
		grow_randomly(&chance, passed_ns);
		read_now();
		note_all();
		compare(10, 2);
	}
}

/* A CPU that joined has all of its time in each window, whatever points there were before. */
static void a_cpu_that_joins_has_its_whole_time(void **state)
{
	want("0");
	for (int i = 0; i < 200; i++) {
		now_ns += 2 * S;
		grow(0, 2 * S, 2 * S);
		read_now();
	}
	want("0-1");
	for (int i = 0; i < 100; i++) {
		now_ns += 2 * S;
		grow(0, 2 * S, 2 * S);
		/* It waits for ten seconds, and then no more. */
		grow(1, 2 * S, i && i <= 5 ? 2 * S : 0);
		read_now();
		assert_int_equal(share(cpu_part(0), 300), 10000);
		if (i > 5)
			assert_in_range(share(cpu_part(1), 300), 100000 / (2 * i) - 1,
					100000 / (2 * i) + 1);
	}
}

/* However passes come, no window loses a part of its time. */
static void reads_at_odd_distances_fit(void **state)
{
	static const uint64_t distances_ms[] = {300, 1000, 1110, 1500, 2000, 2900, 4100};
	struct chance chance = {number_from_environment("SEED", 13)};

	for (uint32_t round = 0; round < 40; round++) {
		want("2");
		for (int i = 0; i < 500; i++) {
			uint64_t passed_ns = distances_ms[round % 7] * MS;

			if (round >= 7)
				passed_ns = 200 * MS + chance_next(&chance) % (4000 * MS);
			now_ns += passed_ns;
			grow(2, passed_ns, passed_ns / 4);
			read_now();
			assert_true(cpus->nr_points <= PRESSURE_CPUS_POINTS);
			if (cpu_part(2)->known_ns < 10 * S)
				continue;
			assert_in_range(share(cpu_part(2), 10), 2499, 2501);
			assert_in_range(share(cpu_part(2), 60), 2499, 2501);
			assert_in_range(share(cpu_part(2), 300), 2499, 2501);
			if (cpu_part(2)->known_ns >= 300 * S)
				assert_true(now_ns - cpus->times_ns[0] >= 300 * S);
		}
		free(cpus);
		cpus = NULL;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_word_that_wraps_goes_on),
		TEST(a_pass_that_comes_too_late_is_missed),
		TEST(a_pass_is_late_before_the_word_has_turned),
		TEST(time_in_which_nothing_was_measured_is_missed),
		TEST(a_cut_outlasts_a_change_of_the_cpus),
		TEST(a_torn_read_is_left_out),
		TEST(a_time_that_seems_to_fall_is_not_counted_twice),
		TEST(a_node_is_the_weighted_mean_of_its_cpus),
		TEST(a_cpu_that_leaves_is_forgotten),
		TEST(the_same_cpus_keep_everything),
		TEST(windows_end_with_the_last_read),
		TEST(a_second_is_what_two_reads_are_apart),
		TEST(random_passes_lose_nothing_silently),
		TEST(windows_are_those_of_all_reads),
		TEST(parts_that_come_and_go_have_their_own_windows),
		TEST(a_cpu_that_joins_has_its_whole_time),
		TEST(reads_at_odd_distances_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
