// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* When the ledger is written to the state file, and what is known of the file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/admit/admit.h"
#include "ctl/internal.h"
#include "lib/log.h"
#include "node_scene.h"

#define NR_PODS 8

static struct controller *controller;
static struct record *record;
static struct pod_spec *pods[NR_PODS];

static int start_scene(void **state)
{
	int r = set_up_node(state);

	if (r)
		return r;
	for (uint32_t i = 0; i < NR_PODS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "pod-%u", i);
		pods[i] = fake_pod(name, "web", 500, false);
	}
	controller = start_node(NULL);
	record = &controller->record;
	return 0;
}

static int end_scene(void **state)
{
	controller_free(controller);
	free_pods(pods, NR_PODS);
	return tear_down(state);
}

/* The ledger changes behind the back of admission, which would write it at once. */
static void hold_pod(uint32_t i)
{
	struct decision decision;

	assert_int_equal(admit_pod(controller->ledger, pods[i], &decision), 0);
	assert_true(decision.admitted);
}

static void change_pod(uint32_t i, const char *detail)
{
	assert_int_equal(ledger_set_state(controller->ledger, pods[i]->uid, POD_ENDING, detail), 0);
}

/* Begin a save that takes long, and let it end well. */
static void save_slowly(void)
{
	fake->slow_save = true;
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	fake->slow_save = false;
	ctl_end_save(controller, 0);
	fake->is_saving = false;
}

static bool file_has(const char *text)
{
	return memmem(fake->state, fake->state_len, text, strlen(text));
}

/* --- what is written ------------------------------------------------------------------------------ */

static void a_record_that_is_durable_is_not_written_again(void **state)
{
	uint64_t nr;

	hold_pod(0);
	save_slowly();
	nr = record->nr_written;
	assert_int_equal(ctl_save_state(controller), 0);
	assert_int_equal(record->nr_written, nr);
}

static void every_change_is_written(void **state)
{
	hold_pod(0);
	change_pod(0, "gone");
	save_slowly();
	/* A record of the same length. */
	change_pod(0, "left");
	assert_int_equal(ctl_save_state(controller), 0);
	assert_true(file_has("left"));
	/* One that is much longer than the one before. */
	save_slowly();
	for (uint32_t i = 1; i < NR_PODS; i++)
		hold_pod(i);
	assert_int_equal(ctl_save_state(controller), 0);
	for (uint32_t i = 1; i < NR_PODS; i++)
		assert_true(file_has(pods[i]->uid));
}

/* It need not be asked for: the end of a save that was late leads to another one if necessary. */
static void a_change_during_a_save_follows_it(void **state)
{
	uint64_t nr;

	hold_pod(0);
	fake->slow_save = true;
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	change_pod(0, "meanwhile");
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	fake->slow_save = false;
	fake_end_save(controller, 0);
	ctl_admission_sweep(controller);
	assert_true(file_has("meanwhile"));
	/* Once. */
	nr = record->nr_written;
	ctl_admission_sweep(controller);
	assert_int_equal(record->nr_written, nr);
}

static void a_dry_run_writes_nothing(void **state)
{
	uint64_t nr = record->nr_written;

	controller->options.dry_run = true;
	hold_pod(0);
	assert_int_equal(ctl_save_state(controller), 0);
	assert_int_equal(record->nr_written, nr);
	assert_false(file_has(pods[0]->uid));
}

static void a_start_that_finds_nothing_to_do_writes_nothing(void **state)
{
	controller_wake(controller);
	assert_int_equal(record->nr_written, 0);
	assert_true(record->is_writable);
	assert_string_equal(record->problem, "");
}

/* --- whether it can be written ------------------------------------------------------------------- */

static void a_problem_is_known_until_a_write_succeeds(void **state)
{
	assert_string_equal(record->problem, "");
	fake->save_error = -ENOSPC;
	assert_int_equal(ctl_save_state(controller), -ENOSPC);
	assert_false(record->is_writable);
	assert_string_equal(record->problem, "No space left on device");
	fake->save_error = 0;
	assert_int_equal(ctl_save_state(controller), 0);
	assert_true(record->is_writable);
	assert_string_equal(record->problem, "");
}

static void only_a_file_that_becomes_writable_is_mended(void **state)
{
	fake->slow_save = true;
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	ctl_end_save(controller, 0);
	fake->is_saving = false;
	/* It was writable before. */
	assert_false(record_take_mended(record));
	hold_pod(0);
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	ctl_end_save(controller, -EIO);
	fake->is_saving = false;
	assert_false(record_take_mended(record));
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	ctl_end_save(controller, -EIO);
	fake->is_saving = false;
	assert_false(record_take_mended(record));
	assert_int_equal(ctl_save_state(controller), -EINPROGRESS);
	ctl_end_save(controller, 0);
	fake->is_saving = false;
	/* To be acted upon once. */
	assert_true(record_take_mended(record));
	assert_false(record_take_mended(record));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_scene, end_scene)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_record_that_is_durable_is_not_written_again),
		TEST(every_change_is_written),
		TEST(a_change_during_a_save_follows_it),
		TEST(a_dry_run_writes_nothing),
		TEST(a_start_that_finds_nothing_to_do_writes_nothing),
		TEST(a_problem_is_known_until_a_write_succeeds),
		TEST(only_a_file_that_becomes_writable_is_mended),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
