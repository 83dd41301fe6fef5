// SPDX-License-Identifier: Apache-2.0
// LIBS: core lib
/* Who is a stranger, which CPUs it gets, and how often it is corrected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/stranger/stranger.h"
#include "scene.h"

#define S 1000000000ULL

static void targets_spare_exclusive_cpus(void **state)
{
	static const struct {
		const char *exclusive, *allowed, *online, *original, *target;
	} rows[] = {
		{"4-7", "0-3", "0-7", "0-7", "0-3"},
		{"4-7", "0-3", "0-7", "2-5", "2-3"},
		{"4-7", "0-3", "0-7", "0-1", "0-1"},
		{"4-7", "0-3", "0-7", "5", "0-3"},
		{"", "0-7", "0-7", "0-7", "0-7"},
		/* What is offline stays for the time when it is online again. */
		{"4-7", "0-2", "0-2,4-7", "0-7", "0-3"},
		/* But the kernel does not accept a mask of offline CPUs only. */
		{"4-7", "0-2", "0-2,4-7", "3-5", "0-2"},
		/* No CPU is left for anybody else: no mask would be better. */
		{"0-7", "", "0-7", "0-7", "0-7"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct stranger_cpus cpus = {cpus_of(rows[i].exclusive),
						   cpus_of(rows[i].allowed),
						   cpus_of(rows[i].online)};
		const struct cpuset original = cpus_of(rows[i].original);
		struct cpuset target;

		stranger_target(&cpus, &original, &target);
		assert_cpus(&target, rows[i].target);
	}
}

/* CPUs 4-7 of 0-7 are exclusive, 4-5 of them to the container that a row calls the owner. */
static void decisions_follow_the_facts(void **state)
{
	static const struct {
		enum stranger_kind kind;
		const char *affinity, *own, *original, *written;
		bool repairs, may_contend;
		enum stranger_action action;
		const char *new_original, *target;
	} rows[] = {
		/* Tasks that we never changed. */
		{STRANGER_TASK, "0-3", NULL, NULL, NULL, true, true, STRANGER_ABSENT, NULL, NULL},
		{STRANGER_TASK, "0-7", NULL, NULL, NULL, true, true, STRANGER_WRITE, "0-7", "0-3"},
		{STRANGER_TASK, "6", NULL, NULL, NULL, true, true, STRANGER_WRITE, "6", "0-3"},
		{STRANGER_KTHREAD, "0-7", NULL, NULL, NULL, true, true, STRANGER_WRITE, "0-7",
		 "0-3"},
		/* A pause after a refusal of the kernel is no sign of an opponent. */
		{STRANGER_TASK, "0-7", NULL, NULL, NULL, true, false, STRANGER_WRITE, "0-7", "0-3"},
		/* Nothing is moved where strangers are only reported. */
		{STRANGER_TASK, "0-7", NULL, NULL, NULL, false, true, STRANGER_LEAVE, NULL, NULL},
		/* Nobody can move these, or should. */
		{STRANGER_BOUND, "5", NULL, NULL, NULL, true, true, STRANGER_LEAVE, NULL, NULL},
		{STRANGER_BOUND, "2", NULL, NULL, NULL, true, true, STRANGER_ABSENT, NULL, NULL},
		{STRANGER_POD, "4-6", "4-5", NULL, NULL, true, true, STRANGER_LEAVE, NULL, NULL},
		/* The owner is never one. */
		{STRANGER_POD, "4-5", "4-5", NULL, NULL, true, true, STRANGER_ABSENT, NULL, NULL},
		{STRANGER_POD, "4", "4-5", NULL, NULL, true, true, STRANGER_ABSENT, NULL, NULL},
		/* It has what we wrote. */
		{STRANGER_TASK, "0-3", NULL, "0-7", "0-3", true, true, STRANGER_KEEP, NULL, NULL},
		{STRANGER_TASK, "0-1", NULL, "0-7", "0-1", true, true, STRANGER_WRITE, "0-7",
		 "0-3"},
		{STRANGER_TASK, "0-3", NULL, "0-7", "0-3", false, true, STRANGER_WRITE, "0-7",
		 "0-7"},
		/* Another process set it back. */
		{STRANGER_TASK, "0-7", NULL, "0-7", "0-3", true, true, STRANGER_REVERT, "0-7",
		 "0-3"},
		{STRANGER_TASK, "2-5", NULL, "0-7", "0-3", true, true, STRANGER_REVERT, "2-5",
		 "2-3"},
		{STRANGER_TASK, "0-7", NULL, "0-7", "0-3", true, false, STRANGER_WAIT, NULL, NULL},
		{STRANGER_TASK, "0-7", NULL, "0-7", "0-3", false, true, STRANGER_LEAVE, NULL, NULL},
		/* Another process chose allowed CPUs: that is its business. */
		{STRANGER_TASK, "2", NULL, "0-7", "0-1", true, true, STRANGER_FORGET, NULL, NULL},
		{STRANGER_TASK, "2", NULL, "0-7", "0-3", true, true, STRANGER_NARROWED, NULL, NULL},
		/* A cpuset may hide the rest of what we wrote, which is still to be undone. */
		{STRANGER_TASK, "2", NULL, "0-3", "2-3", true, true, STRANGER_NARROWED, NULL, NULL},
		{STRANGER_TASK, "2", NULL, "0-7", "0-3", false, true, STRANGER_NARROWED, NULL,
		 NULL},
		/* It was moved into a container meanwhile. */
		{STRANGER_POD, "4-5", "4-5", "0-7", "0-3", true, true, STRANGER_FORGET, NULL, NULL},
	};
	const struct stranger_cpus cpus = {cpus_of("4-7"), cpus_of("0-3"), cpus_of("0-7")};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct cpuset affinity = cpus_of(rows[i].affinity);
		const struct cpuset own = cpus_of(rows[i].own ? rows[i].own : "");
		const struct cpuset before = cpus_of(rows[i].original ? rows[i].original : "");
		const struct cpuset written = cpus_of(rows[i].written ? rows[i].written : "");
		const struct stranger_facts facts = {
			.kind = rows[i].kind,
			.affinity = &affinity,
			.own = rows[i].own ? &own : NULL,
			.original = rows[i].original ? &before : NULL,
			.written = rows[i].written ? &written : NULL,
			.repairs = rows[i].repairs,
			.may_contend = rows[i].may_contend,
		};
		struct cpuset original = CPUSET_EMPTY, target = CPUSET_EMPTY;

		if (stranger_decide(&cpus, &facts, &original, &target) != rows[i].action)
			fail_msg("row %zu", i);
		assert_cpus(&original, rows[i].new_original ? rows[i].new_original : "");
		assert_cpus(&target, rows[i].target ? rows[i].target : "");
	}
}

/* What we wrote names a CPU that went offline, which the kernel no longer shows. */
static void offline_cpus_are_no_foreign_change(void **state)
{
	const struct stranger_cpus cpus = {cpus_of("4-7"), cpus_of("0-2"), cpus_of("0-2,4-7")};
	const struct cpuset affinity = cpus_of("0-2"), original = cpus_of("0-7"),
			    written = cpus_of("0-3");
	const struct stranger_facts facts = {.kind = STRANGER_TASK,
					     .affinity = &affinity,
					     .original = &original,
					     .written = &written,
					     .repairs = true};
	struct cpuset new_original, target;

	assert_int_equal(stranger_decide(&cpus, &facts, &new_original, &target), STRANGER_KEEP);
}

/* The kernel may show a CPU that came online before we were told. */
static void cpus_that_come_are_no_foreign_change(void **state)
{
	const struct stranger_cpus cpus = {cpus_of("4-7"), cpus_of("0-2"), cpus_of("0-2,4-7")};
	const struct cpuset original = cpus_of("0-7"), written = cpus_of("0-3"),
			    less = cpus_of("0-2");
	const struct cpuset ours = cpus_of("0-3"), part = cpus_of("1,3"), foreign = cpus_of("0-3");
	struct stranger_facts facts = {
		.kind = STRANGER_TASK, .original = &original, .repairs = true};
	struct cpuset new_original, target;

	facts.affinity = &ours;
	facts.written = &written;
	assert_int_equal(stranger_decide(&cpus, &facts, &new_original, &target), STRANGER_KEEP);
	facts.affinity = &part;
	assert_int_equal(stranger_decide(&cpus, &facts, &new_original, &target), STRANGER_NARROWED);
	facts.affinity = &foreign;
	facts.written = &less;
	assert_int_equal(stranger_decide(&cpus, &facts, &new_original, &target), STRANGER_FORGET);
}

/* Without an online CPU of ours the kernel has given the task others, which are no original. */
static void the_kernels_own_choice_is_no_foreign_change(void **state)
{
	const struct stranger_cpus cpus = {cpus_of("7"), cpus_of("0-5"), cpus_of("0-5,7")};
	const struct cpuset affinities[] = {cpus_of("0-5,7"), cpus_of("0-3")};
	const struct cpuset before = cpus_of("6-7"), written = cpus_of("6");

	for (size_t i = 0; i < sizeof(affinities) / sizeof(*affinities); i++) {
		struct stranger_facts facts = {.kind = STRANGER_TASK,
					       .affinity = &affinities[i],
					       .original = &before,
					       .written = &written,
					       .repairs = true};
		struct cpuset original = CPUSET_EMPTY, target = CPUSET_EMPTY;

		assert_int_equal(stranger_decide(&cpus, &facts, &original, &target),
				 STRANGER_WRITE);
		assert_cpus(&original, "6-7");
		assert_cpus(&target, "0-5");
		facts.repairs = false;
		assert_int_equal(stranger_decide(&cpus, &facts, &original, &target),
				 STRANGER_WRITE);
		assert_cpus(&target, "6-7");
	}
}

/* A mask that would not change is not written again and again. */
static void nothing_is_written_without_an_allowed_cpu(void **state)
{
	const struct stranger_cpus cpus = {cpus_of("0-7"), CPUSET_EMPTY, cpus_of("0-7")};
	const struct cpuset affinity = cpus_of("0-7");
	const struct stranger_facts facts = {
		.kind = STRANGER_TASK, .affinity = &affinity, .repairs = true};
	struct cpuset original, target;

	assert_int_equal(stranger_decide(&cpus, &facts, &original, &target), STRANGER_LEAVE);
}

/* The number of corrections of a task that is set back at once, in this time. */
static unsigned int corrections_in(uint64_t step_ns, uint64_t duration_ns)
{
	struct stranger_pause pause = {0};
	unsigned int nr = 0;

	for (uint64_t now = S; now < S + duration_ns; now += step_ns) {
		if (!stranger_may_contend(&pause, now))
			continue;
		stranger_note_revert(&pause, now);
		nr++;
	}
	return nr;
}

static void an_opponent_is_met_ever_more_rarely(void **state)
{
	/* Three at once, then after 1, 2, 4, 8, 16, 32 and 64 s, and so on. */
	assert_int_equal(corrections_in(S / 100, S / 10), 3);
	assert_int_equal(corrections_in(S / 100, S + S / 2), 4);
	assert_int_equal(corrections_in(S / 100, 64 * S), 9);
	assert_int_equal(corrections_in(S / 100, 64 * S + 640 * S) - 9, 10);
}

/* The third correction in a row, at 1000 s, is followed by a pause of one second. */
static struct stranger_pause corrected(void)
{
	struct stranger_pause pause = {0};

	for (unsigned int i = 0; i < STRANGER_PATIENCE; i++) {
		assert_false(stranger_is_contended(&pause));
		assert_true(stranger_may_contend(&pause, 1000 * S));
		stranger_note_revert(&pause, 1000 * S);
	}
	assert_true(stranger_is_contended(&pause));
	return pause;
}

static void a_pause_ends_when_it_says(void **state)
{
	const struct stranger_pause pause = corrected();

	assert_false(stranger_may_contend(&pause, 1000 * S));
	assert_false(stranger_may_contend(&pause, 1001 * S - 1));
	assert_true(stranger_may_contend(&pause, 1001 * S));
}

static void corrections_are_forgotten_two_minutes_after_the_pause(void **state)
{
	struct stranger_pause pause = corrected();

	stranger_note_calm(&pause, 1121 * S - 1);
	assert_true(stranger_is_contended(&pause));
	stranger_note_calm(&pause, 1121 * S);
	assert_false(stranger_is_contended(&pause));
	assert_true(stranger_may_contend(&pause, 1121 * S));
}

/* Such a pause follows a refusal of the kernel, which calm says nothing about. */
static void a_pause_without_corrections_is_not_forgotten(void **state)
{
	struct stranger_pause pause = {.until_ns = 1000 * S};

	stranger_note_calm(&pause, 999 * S);
	assert_false(stranger_may_contend(&pause, 999 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_spare_exclusive_cpus),
		cmocka_unit_test(decisions_follow_the_facts),
		cmocka_unit_test(offline_cpus_are_no_foreign_change),
		cmocka_unit_test(cpus_that_come_are_no_foreign_change),
		cmocka_unit_test(the_kernels_own_choice_is_no_foreign_change),
		cmocka_unit_test(nothing_is_written_without_an_allowed_cpu),
		cmocka_unit_test(an_opponent_is_met_ever_more_rarely),
		cmocka_unit_test(a_pause_ends_when_it_says),
		cmocka_unit_test(corrections_are_forgotten_two_minutes_after_the_pause),
		cmocka_unit_test(a_pause_without_corrections_is_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
