// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The list of findings: one row per name, the latest words, and a bound. */
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

/* The rows of this name that say just this. */
static unsigned int nr_of(const char *name, const char *message, const char *remedy)
{
	unsigned int nr = 0;

	for (uint32_t i = 0; i < findings.nr; i++)
		nr += !strcmp(findings.rows[i].name, name) &&
		      !strcmp(findings.rows[i].message, message) &&
		      !strcmp(findings.rows[i].remedy, remedy);
	return nr;
}

static void a_finding_has_one_row(void **state)
{
	findings_put(&findings, "a", "one", "do this");
	findings_put(&findings, "b", "two", "do that");
	findings_put(&findings, "a", "one", "do this");
	assert_int_equal(findings.nr, 2);
	assert_int_equal(nr_of("a", "one", "do this"), 1);
	assert_int_equal(nr_of("b", "two", "do that"), 1);
}

static void the_latest_words_replace_the_earlier_ones(void **state)
{
	findings_put(&findings, "a", "one", "do this");
	findings_put(&findings, "b", "two", "do that");
	findings_put(&findings, "a", "three", "do this");
	assert_int_equal(nr_of("a", "three", "do this"), 1);
	findings_put(&findings, "a", "three", "do something else");
	assert_int_equal(nr_of("a", "three", "do something else"), 1);
	findings_update(&findings, "a", "four", "do nothing");
	assert_int_equal(nr_of("a", "four", "do nothing"), 1);
	findings_update(&findings, "c", "five", "wait");
	assert_int_equal(nr_of("c", "five", "wait"), 1);
	assert_int_equal(findings.nr, 3);
	assert_int_equal(nr_of("b", "two", "do that"), 1);
}

static void a_name_may_occur_several_times(void **state)
{
	findings_add(&findings, "a", "one", "do this");
	findings_add(&findings, "a", "one", "do this");
	findings_add(&findings, "a", "two", "do this");
	assert_int_equal(findings.nr, 3);
	assert_int_equal(nr_of("a", "one", "do this"), 2);
}

static void only_what_is_cleared_is_gone(void **state)
{
	findings_put(&findings, "a", "one", "do this");
	findings_put(&findings, "b", "two", "do that");
	findings_put(&findings, "c", "three", "wait");
	findings_clear(&findings, "b");
	findings_clear(&findings, "unknown");
	assert_int_equal(findings.nr, 2);
	assert_int_equal(nr_of("a", "one", "do this"), 1);
	assert_int_equal(nr_of("c", "three", "wait"), 1);
	/* Its row is not found where it was. */
	findings_clear(&findings, "c");
	findings_clear(&findings, "c");
	assert_int_equal(findings.nr, 1);
	assert_int_equal(nr_of("a", "one", "do this"), 1);
}

static void a_full_list_drops_further_findings(void **state)
{
	char name[16];

	for (unsigned int i = 0; i < MAX_FINDINGS + 3; i++) {
		snprintf(name, sizeof(name), "%u", i);
		findings_put(&findings, name, "one", "do this");
	}
	assert_int_equal(findings.nr, MAX_FINDINGS);
	snprintf(name, sizeof(name), "%u", MAX_FINDINGS - 1);
	assert_int_equal(nr_of(name, "one", "do this"), 1);
	findings_put(&findings, "0", "two", "do this");
	assert_int_equal(nr_of("0", "two", "do this"), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_finding_has_one_row),
		TEST(the_latest_words_replace_the_earlier_ones),
		TEST(a_name_may_occur_several_times),
		TEST(only_what_is_cleared_is_gone),
		TEST(a_full_list_drops_further_findings),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
