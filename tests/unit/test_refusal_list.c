// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The list of refused pods: which document a row belongs to, and what makes a refusal new. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_world.h"
#include "ctl/refusals.h"

static struct refusals refusals;

static int set_up(void **state)
{
	return refusals_init(&refusals);
}

static int tear_down(void **state)
{
	refusals_fini(&refusals);
	return 0;
}

static struct decision decision_of(enum refusal refusal, const char *message,
				   const char *suggestion)
{
	struct decision decision = {.refusal = refusal};

	snprintf(decision.message, sizeof(decision.message), "%s", message);
	snprintf(decision.suggestion, sizeof(decision.suggestion), "%s", suggestion);
	return decision;
}

/* A document without a pod; "" = without a name. */
static struct source_pod document(const char *file, unsigned int line, const char *name)
{
	return (struct source_pod){.file = file, .line = line, .name = name};
}

static bool note(const struct source_pod *source, const char *name, const char *message)
{
	const struct decision decision = decision_of(REFUSAL_SPEC, message, "");

	return refusals_note(&refusals, source, name, &decision);
}

static void documents_without_a_name_are_told_by_file_and_line(void **state)
{
	const struct source_pod pods[] = {document("a.yaml", 1, ""), document("a.yaml", 2, ""),
					  document("b.yaml", 1, "")};
	struct refused_pod *rows[3];

	for (size_t i = 0; i < 3; i++)
		assert_true(note(&pods[i], "", "no"));
	assert_int_equal(refusals.nr, 3);
	for (size_t i = 0; i < 3; i++) {
		rows[i] = refusals_find(&refusals, "", pods[i].file, pods[i].line);
		assert_non_null(rows[i]);
		assert_string_equal(rows[i]->file, pods[i].file);
		assert_int_equal(rows[i]->line, pods[i].line);
	}
	assert_null(refusals_find(&refusals, "", "b.yaml", 2));
	/* Two of them are scanned again. */
	refusals_forget(&refusals, &pods[1], 2);
	assert_int_equal(refusals.nr, 2);
	assert_null(refusals_find(&refusals, "", "a.yaml", 1));
	assert_non_null(refusals_find(&refusals, "", "a.yaml", 2));
}

/* A document that cannot be read may still name its pod, wherever it is. */
static void a_name_is_enough(void **state)
{
	const struct source_pod here = document("a.yaml", 1, "default/a");
	const struct source_pod there[] = {document("b.yaml", 7, "default/a"),
					   document("a.yaml", 1, "default/b")};

	assert_true(note(&here, "default/a", "no"));
	refusals_forget(&refusals, &there[0], 1);
	assert_int_equal(refusals.nr, 1);
	refusals_forget(&refusals, &there[1], 1);
	assert_int_equal(refusals.nr, 0);
}

/* Its pod may be admitted long since; then nothing else drops the row. */
static void a_document_that_can_be_read_again_is_not_refused(void **state)
{
	const struct source_pod broken = document("a.yaml", 1, "default/a");
	struct pod_spec *spec = fake_pod("a", "main", 1000, true);
	struct source_pod pods[] = {document("a.yaml", 1, ""), broken};

	pods[0].spec = spec;
	assert_true(note(&broken, "default/a", "no"));
	/* Another document of this name still cannot be read. */
	refusals_forget(&refusals, pods, 2);
	assert_int_equal(refusals.nr, 1);
	refusals_forget(&refusals, pods, 1);
	assert_int_equal(refusals.nr, 0);
	pod_spec_free(spec);
}

static void the_same_answer_is_not_new_but_its_suggestion_is(void **state)
{
	struct decision decision = decision_of(REFUSAL_CPUS, "too few CPUs", "fits with 4");
	struct pod_spec *spec = fake_pod("a", "main", 1000, true);
	struct source_pod source = document("a.yaml", 1, "");
	const struct refused_pod *row;

	source.spec = spec;
	assert_true(refusals_note(&refusals, &source, "default/a", &decision));
	decision = decision_of(REFUSAL_CPUS, "too few CPUs", "fits with 3");
	source.line = 5;
	assert_false(refusals_note(&refusals, &source, "default/a", &decision));
	row = refusals_find(&refusals, "default/a", "", 0);
	assert_string_equal(row->decision.suggestion, "fits with 3");
	assert_int_equal(row->line, 5);
	assert_int_equal(refusals.nr_ever[REFUSAL_CPUS], 1);
	/* another answer, another document */
	decision = decision_of(REFUSAL_CPUS, "no CPU is free", "");
	decision.available = 1;
	assert_true(refusals_note(&refusals, &source, "default/a", &decision));
	spec->containers->request.cpu_mcpu = 2000;
	assert_true(refusals_note(&refusals, &source, "default/a", &decision));
	assert_false(refusals_note(&refusals, &source, "default/a", &decision));
	assert_int_equal(refusals.nr_ever[REFUSAL_CPUS], 3);
	assert_int_equal(refusals.nr, 1);
	pod_spec_free(spec);
}

/* Each number and each reason counts, and how they are worded does not. */
static void an_answer_is_compared_by_its_data(void **state)
{
	const struct decision first = decision_of(REFUSAL_CPUS, "too few", "");
	const struct decision worded = decision_of(REFUSAL_CPUS, "not enough", "fits with 2");
	struct decision others[11];

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = first;
	others[0].refusal = REFUSAL_SMT;
	others[1].wanted = 4;
	others[2].available = 3;
	others[3].is_memory = true;
	others[4].page_bytes = 4096;
	others[5].is_both = true;
	others[6].is_resize = true;
	snprintf(others[7].container, sizeof(others[7].container), "b");
	others[8].admitted = true;
	others[9].cpu_result = first.cpu_result + 1;
	others[10].memory_result = first.memory_result + 1;
	assert_true(decision_equal(&first, &worded));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(decision_equal(&first, &others[i]));
}

/* What cannot be read has no numbers. */
static void a_document_is_compared_by_what_is_wrong_with_it(void **state)
{
	const struct source_pod source = document("a.yaml", 1, "");

	assert_true(note(&source, "", "line 1: no"));
	assert_false(note(&source, "", "line 1: no"));
	assert_true(note(&source, "", "line 2: no"));
}

/* Neither the earlier one nor this one has said anything. */
static void an_unreadable_document_is_new_once(void **state)
{
	const struct source_pod source = document("a.yaml", 1, "default/a");

	assert_true(note(&source, "default/a", "line 1: what is that"));
	assert_false(note(&source, "default/a", "line 1: what is that"));
	assert_int_equal(refusals.nr_ever[REFUSAL_SPEC], 1);
}

static void a_refusal_may_only_be_counted(void **state)
{
	refusals_count(&refusals, REFUSAL_CPUS);
	refusals_count(&refusals, REFUSAL_CPUS);
	assert_int_equal(refusals.nr_ever[REFUSAL_CPUS], 2);
	assert_int_equal(refusals.nr, 0);
}

static void an_unwritable_state_file_has_a_remedy(void **state)
{
	struct decision decision;

	refusals_say_unsaved(&decision, -ENOSPC);
	assert_int_equal(decision.refusal, REFUSAL_STATE);
	assert_int_equal(decision.wanted, -1);
	assert_int_equal(decision.available, -1);
	assert_string_equal(decision.reason, "UnexpectedAdmissionError");
	assert_string_equal(decision.message,
			    "the state file cannot be written: No space left on device; no new pod "
			    "is admitted until it can be");
	assert_string_equal(decision.suggestion,
			    "make stateDirectory writable and give it free space");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(documents_without_a_name_are_told_by_file_and_line),
		TEST(a_name_is_enough),
		TEST(a_document_that_can_be_read_again_is_not_refused),
		TEST(the_same_answer_is_not_new_but_its_suggestion_is),
		TEST(an_answer_is_compared_by_its_data),
		TEST(a_document_is_compared_by_what_is_wrong_with_it),
		TEST(an_unreadable_document_is_new_once),
		TEST(a_refusal_may_only_be_counted),
		TEST(an_unwritable_state_file_has_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
