// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The list of findings: one row per kind, the latest words, and a bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ctl/findings.h"
#include "lib/log.h"

static struct findings findings;

static int set_up(void **state)
{
	memset(&findings, 0, sizeof(findings));
	return 0;
}

/* The rows of this kind that say just this. */
static unsigned int nr_of(enum finding kind, const char *message, const char *remedy)
{
	unsigned int nr = 0;

	for (uint32_t i = 0; i < findings.nr; i++)
		nr += findings.rows[i].kind == kind && !strcmp(findings.rows[i].message, message) &&
		      !strcmp(findings.rows[i].remedy, remedy);
	return nr;
}

static void a_finding_has_one_row(void **state)
{
	findings_put(&findings, FINDING_GRANT_LOST, "do this", "one");
	findings_put(&findings, FINDING_CPUS_CHANGED, "do that", "two");
	findings_put(&findings, FINDING_GRANT_LOST, "do this", "one");
	assert_int_equal(findings.nr, 2);
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "one", "do this"), 1);
	assert_int_equal(nr_of(FINDING_CPUS_CHANGED, "two", "do that"), 1);
}

static void the_latest_words_replace_the_earlier_ones(void **state)
{
	findings_put(&findings, FINDING_GRANT_LOST, "do this", "one");
	findings_put(&findings, FINDING_CPUS_CHANGED, "do that", "two");
	findings_put(&findings, FINDING_GRANT_LOST, "do this", "three");
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "three", "do this"), 1);
	findings_put(&findings, FINDING_GRANT_LOST, "do something else", "three");
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "three", "do something else"), 1);
	findings_update(&findings, FINDING_GRANT_LOST, "do nothing", "four");
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "four", "do nothing"), 1);
	findings_update(&findings, FINDING_IRQS_UNKNOWN, "wait", "five");
	assert_int_equal(nr_of(FINDING_IRQS_UNKNOWN, "five", "wait"), 1);
	assert_int_equal(findings.nr, 3);
	assert_int_equal(nr_of(FINDING_CPUS_CHANGED, "two", "do that"), 1);
}

static void a_finding_follows_its_condition(void **state)
{
	findings_put_if(&findings, FINDING_GRANT_LOST, false, "do this", "%u pods", 1);
	findings_update_if(&findings, FINDING_CPUS_CHANGED, false, "do that", "%u CPUs", 1);
	assert_int_equal(findings.nr, 0);
	for (unsigned int i = 1; i <= 2; i++) {
		const char *const messages[] = {NULL, "1 of 2", "2 of 2"};

		findings_put_if(&findings, FINDING_GRANT_LOST, true, "do this", "%u of %d", i, 2);
		findings_update_if(&findings, FINDING_CPUS_CHANGED, true, "do that", "%u of %d", i,
				   2);
		assert_int_equal(nr_of(FINDING_GRANT_LOST, messages[i], "do this"), 1);
		assert_int_equal(nr_of(FINDING_CPUS_CHANGED, messages[i], "do that"), 1);
	}
	findings_put_if(&findings, FINDING_GRANT_LOST, false, "do this", "%u pods", 1);
	assert_int_equal(findings.nr, 1);
	findings_update_if(&findings, FINDING_CPUS_CHANGED, false, "do that", "%u CPUs", 1);
	assert_int_equal(findings.nr, 0);
}

static void a_kind_may_occur_several_times(void **state)
{
	findings_add(&findings, FINDING_GRANT_LOST, "do this", "one");
	findings_add(&findings, FINDING_GRANT_LOST, "do this", "one");
	findings_add(&findings, FINDING_GRANT_LOST, "do this", "two");
	assert_int_equal(findings.nr, 3);
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "one", "do this"), 2);
}

static void only_what_is_cleared_is_gone(void **state)
{
	findings_put(&findings, FINDING_GRANT_LOST, "do this", "one");
	findings_put(&findings, FINDING_CPUS_CHANGED, "do that", "two");
	findings_put(&findings, FINDING_IRQS_UNKNOWN, "wait", "three");
	findings_clear(&findings, FINDING_CPUS_CHANGED);
	findings_clear(&findings, FINDING_NOISE_ABSENT);
	assert_int_equal(findings.nr, 2);
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "one", "do this"), 1);
	assert_int_equal(nr_of(FINDING_IRQS_UNKNOWN, "three", "wait"), 1);
	/* Its row is not found where it was. */
	findings_clear(&findings, FINDING_IRQS_UNKNOWN);
	findings_clear(&findings, FINDING_IRQS_UNKNOWN);
	assert_int_equal(findings.nr, 1);
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "one", "do this"), 1);
}

static void every_kind_has_room(void **state)
{
	for (unsigned int i = 0; i < MAX_FINDINGS_ADDED; i++)
		findings_add(&findings, FINDING_GRANT_LOST, "do this", "one");
	for (enum finding kind = 0; kind < FINDING_NR; kind++)
		if (kind != FINDING_GRANT_LOST)
			findings_put(&findings, kind, "do this", "one");
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "one", "do this"), MAX_FINDINGS_ADDED);
	for (enum finding kind = 0; kind < FINDING_NR; kind++)
		assert_true(nr_of(kind, "one", "do this") >= 1);
}

static void a_full_list_drops_further_findings(void **state)
{
	for (unsigned int i = 0; i < MAX_FINDINGS + 3; i++)
		findings_add(&findings, i % 2 ? FINDING_GRANT_LOST : FINDING_CPUS_CHANGED,
			     "do this", "one");
	assert_int_equal(findings.nr, MAX_FINDINGS);
	findings_put(&findings, FINDING_IRQS_UNKNOWN, "do this", "one");
	assert_int_equal(nr_of(FINDING_IRQS_UNKNOWN, "one", "do this"), 0);
	findings_put(&findings, FINDING_GRANT_LOST, "do this", "two");
	assert_int_equal(nr_of(FINDING_GRANT_LOST, "two", "do this"), 1);
}

static void every_kind_has_a_name_of_its_own(void **state)
{
	for (enum finding a = 0; a < FINDING_NR; a++) {
		const char *name = finding_name(a);

		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(name));
		assert_true(*name);
		for (enum finding b = 0; b < a; b++)
			assert_string_not_equal(name, finding_name(b));
	}
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_finding_has_one_row),
		TEST(the_latest_words_replace_the_earlier_ones),
		TEST(a_finding_follows_its_condition),
		TEST(a_kind_may_occur_several_times),
		TEST(only_what_is_cleared_is_gone),
		TEST(every_kind_has_room),
		TEST(a_full_list_drops_further_findings),
		TEST(every_kind_has_a_name_of_its_own),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
