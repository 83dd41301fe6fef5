// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Which of many containers are written, for which of them the end of a write counts, and what is
 * remembered of one until it is read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime_repair_scene.h"

#define NR_WRONG 40 /* more than are written in one pass */

static const char *const shared_cpus = "8-9"; /* no container's own */

/* The kernel has in force what the file says, of the memory nodes as well. */
static int whole_status(void *self, const char *path, struct group_status *ret_status)
{
	int r = status_of(self, path, ret_status);

	if (!r)
		ret_status->effective_mems = ret_status->mems;
	return r;
}

static void write_mems(const char *path, const char *list)
{
	text_copy(fake_find(path)->files[GROUP_CPUSET_MEMS], FAKE_VALUE, list);
}

/* The container was told node 0, and has it. */
static void tell_node(void)
{
	groups.status = whole_status;
	row_of("1")->told_nodes = 1;
	write_mems(CGROUP, "0");
	tick_for(1);
}

static uint64_t nr_mems_repaired(void)
{
	return controller->drift.nr_repaired[GROUP_CPUSET_MEMS];
}

/* The kernel holds up a write of the container's CPUs. */
static void hold_up(void)
{
	port.is_late = true;
	write_cpus("0-15");
	tick_for(8);
	assert_int_equal(port.nr_writes, 1);
	assert_non_null(port.rows);
}

static void end_late(int error)
{
	port.is_late = false;
	port.error = error;
	end_writes(TAKE_PTR(port.rows), port.nr_rows);
	port.error = 0;
}

/* --- files -------------------------------------------------------------------------------------- */

static void memory_nodes_that_another_wrote_are_put_back(void **state)
{
	tell_node();
	write_mems(CGROUP, "1");
	tick_for(7);
	assert_string_equal(fake_find(CGROUP)->files[GROUP_CPUSET_MEMS], "0");
	assert_int_equal(nr_mems_repaired(), 1);
	assert_int_equal(nr_repaired(), 0);
	assert_int_equal(row_of("1")->pause.nr_reverts, 1);
}

static void two_files_that_are_written_together_count_once(void **state)
{
	tell_node();
	write_mems(CGROUP, "1");
	write_cpus("0-15");
	tick_for(7);
	assert_has("2-3");
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(nr_mems_repaired(), 1);
	assert_int_equal(nr_repaired(), 1);
	assert_int_equal(row_of("1")->pause.nr_reverts, 1);
}

/* What was read before the write ended says nothing about the file after it. */
static void a_repair_is_told_when_it_was_read_after_the_write(void **state)
{
	tell_node();
	write_mems(CGROUP, "1");
	hold_up();
	row_of("1")->right_files = runtime_file_bit(GROUP_CPUSET_CPUS) |
				   runtime_file_bit(GROUP_CPUSET_MEMS);
	end_late(0);
	ctl_runtime_repair(controller);
	assert_int_equal(nr_repaired(), 0);
	assert_int_equal(nr_mems_repaired(), 0);
	tick_for(1);
	assert_int_equal(nr_repaired(), 1);
	assert_int_equal(nr_mems_repaired(), 1);
}

/* What the runtime is told again is the same: it may have been different for a while. */
static void only_what_is_new_begins_anew(void **state)
{
	struct runtime_row *row = row_of("1");
	const struct cpuset cpus = row->told;

	tell_node();
	write_cpus("0-15");
	tick_for(2);
	assert_int_not_equal(row->differs_ns, 0);
	ctl_runtime_note_told(controller, row, &cpus, 1);
	assert_int_not_equal(row->differs_ns, 0);
	ctl_runtime_note_told(controller, row, &cpus, 2);
	assert_int_equal(row->told_nodes, 2);
	assert_int_equal(row->differs_ns, 0);
}

/* The runtime was told no memory nodes, so no others are right or wrong. */
static void a_file_that_nothing_was_told_of_is_not_judged(void **state)
{
	groups.status = whole_status;
	tick_for(1);
	assert_int_equal(row_of("1")->right_files, runtime_file_bit(GROUP_CPUSET_CPUS));
	write_mems(CGROUP, "1");
	tick_for(1);
	assert_int_equal(row_of("1")->right_files, runtime_file_bit(GROUP_CPUSET_CPUS));
	assert_int_equal(row_of("1")->wrong_files, 0);
}

/* --- which containers --------------------------------------------------------------------------- */

static int status_without_number(void *self, const char *path, struct group_status *ret_status)
{
	int r = status_of(self, path, ret_status);

	if (!r)
		ret_status->cgroup_id = 0;
	return r;
}

/* Another cgroup may have its path by the time of the write. */
static void a_cgroup_without_a_number_is_not_written(void **state)
{
	groups.status = status_without_number;
	write_cpus("0-15");
	tick_for(20);
	assert_int_equal(port.nr_writes, 0);
}

static void what_cannot_be_read_is_not_written(void **state)
{
	write_cpus("0-15");
	tick_for(4);
	unknown_path = CGROUP;
	tick_for(20);
	assert_int_equal(port.nr_writes, 0);
}

/* There may be another one with its path. */
static void what_has_ended_leaves_nothing_to_tell(void **state)
{
	tell_node();
	write_mems(CGROUP, "1");
	hold_up();
	unknown_path = CGROUP;
	unknown_error = -ENOENT;
	end_late(0);
	tick_for(2);
	unknown_path = NULL;
	tick_for(2);
	assert_int_equal(nr_mems_repaired(), 0);
	assert_int_equal(nr_repaired(), 0);
}

static void without_a_port_nothing_is_put_back(void **state)
{
	controller->ports.cpusets = NULL;
	write_cpus("0-15");
	tick_for(6);
	assert_has("0-15");
	assert_true(has_finding(FINDING_RUNTIME_CPUS_DIFFER));
}

static void create_wrong(void)
{
	const struct cpuset cpus = cpuset_of_text(shared_cpus);

	for (int i = 0; i < NR_WRONG; i++) {
		struct runtime_row *row;
		struct fake_group *group;
		char id[16];

		snprintf(id, sizeof(id), "wrong%d", i);
		row = runtime_rows_note(&controller->runtimes, id, "z", "", "");
		assert_non_null(row);
		row->told = cpus;
		row->told_nodes = 1;
		text_copy(row->cgroup, sizeof(row->cgroup), id);
		group = &fake->groups[fake_slot(id)];
		text_copy(group->path, sizeof(group->path), id);
		text_copy(group->files[GROUP_CPUSET_CPUS], FAKE_VALUE, shared_cpus);
		text_copy(group->files[GROUP_CPUSET_MEMS], FAKE_VALUE, "0");
	}
}

/* Others write these files of all of them, and nothing is put back until all of them were read. */
static void spoil(const char *cpus, const char *mems)
{
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	for (int i = 0; i < NR_WRONG; i++) {
		char id[16];

		snprintf(id, sizeof(id), "wrong%d", i);
		text_copy(fake_find(id)->files[GROUP_CPUSET_CPUS], FAKE_VALUE, cpus);
		write_mems(id, mems);
	}
	tick_for(20);
	assert_int_equal(port.nr_files, 0);
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_ENFORCE;
}

static void one_pass_has_room_for_both_files_of_a_container(void **state)
{
	groups.status = whole_status;
	create_wrong();
	spoil("0-15", "1");
	tick_for(1);
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(port.nr_files, 32);
	tick_for(2);
	assert_int_equal(port.nr_files, 2 * NR_WRONG);
}

static void one_pass_writes_single_files_as_long_as_two_would_fit(void **state)
{
	groups.status = whole_status;
	create_wrong();
	spoil("0-15", "0");
	tick_for(1);
	assert_int_equal(port.nr_writes, 1);
	assert_int_equal(port.nr_files, 31);
	tick_for(1);
	assert_int_equal(port.nr_files, NR_WRONG);
}

static void the_finding_names_the_container_that_was_put_back_most_often(void **state)
{
	const uint32_t reverts[][3] = {{3, 7, 5}, {7, 3, 5}, {5, 3, 7}, {7, 7, 7}};
	const char *const ids[] = {"1", "z0", "z1"}, *const worst[] = {"z0", "1", "z1", "1"};
	char wanted[64];

	create_many();
	*row_of("1")->name = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(reverts); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ids); j++)
			row_of(ids[j])->pause = (struct stranger_pause){
				.nr_reverts = reverts[i][j], .reverted_ns = fake->now_ns};
		ctl_runtime_repair(controller);
		snprintf(wanted, sizeof(wanted), "of container %s of pod", worst[i]);
		assert_non_null(strstr(message_of(FINDING_RUNTIME_CPUSET_CONTESTED), wanted));
		assert_non_null(
			strstr(message_of(FINDING_RUNTIME_CPUSET_CONTESTED), "back 7 times"));
	}
}

/* Its last reading was wrong, and that which is made before each write is not. */
static void a_reading_that_is_right_by_now_changes_no_finding(void **state)
{
	struct runtime_row *row = row_of("1");

	insist();
	write_cpus("2-3");
	tick_for(30);
	assert_true(stranger_may_contend(&row->pause, fake->now_ns));
	row->wrong_files = runtime_file_bit(GROUP_CPUSET_CPUS);
	row->differs_ns = 1;
	port.nr_writes = 0;
	ctl_runtime_repair(controller);
	assert_int_equal(port.nr_writes, 0);
	assert_non_null(strstr(message_of(FINDING_RUNTIME_CPUSET_CONTESTED),
			       "keeps writing cpuset.cpus of"));
}

/* --- the end of a write ------------------------------------------------------------------------- */

static void a_write_that_cannot_begin_is_tried_again(void **state)
{
	port.call_error = -EBUSY;
	write_cpus("0-15");
	tick_for(8);
	assert_true(port.nr_writes > 1);
	assert_int_equal(controller->runtimes.writing_since_ns, 0);
	port.call_error = 0;
	tick_for(2);
	assert_has("2-3");
	assert_int_equal(nr_repaired(), 1);
}

/* A session that has begun since has not read it yet. */
static void a_container_that_was_not_read_yet_is_found(void **state)
{
	hold_up();
	row_of("1")->cgroup_id = 0;
	end_late(0);
	assert_int_equal(row_of("1")->pause.nr_reverts, 1);
}

static void a_container_that_was_not_read_yet_is_corrected(void **state)
{
	struct runtime_row *row = row_of("1");

	/* as one that shares: 2 and 3 are the CPUs of the pod in the ledger */
	row->told = cpuset_of_text("8-11");
	*row->uid = *row->name = '\0';
	hold_up();
	row->cgroup_id = 0;
	row->told = cpuset_of_text("8-9");
	end_late(0);
	assert_int_equal(port.nr_writes, 2);
	assert_has("8-9");
}

static void another_cgroup_with_the_path_is_not_meant(void **state)
{
	hold_up();
	row_of("1")->cgroup_id++;
	end_late(0);
	assert_int_equal(row_of("1")->pause.nr_reverts, 0);
	tick_for(1);
	assert_int_equal(nr_repaired(), 0);
}

static void another_container_that_was_not_read_yet_is_not_meant(void **state)
{
	struct runtimes *runtimes = &controller->runtimes;
	struct runtime_row first;

	hold_up();
	assert_non_null(runtime_rows_note(runtimes, "z", "z", "", ""));
	first = runtimes->rows[0];
	runtimes->rows[0] = runtimes->rows[1];
	runtimes->rows[1] = first;
	end_late(0);
	assert_int_equal(row_of("z")->pause.nr_reverts, 0);
	assert_int_equal(row_of("1")->pause.nr_reverts, 1);
}

static void the_end_of_a_write_of_nobodys_cgroup_changes_nothing(void **state)
{
	create_many();
	port.is_late = true;
	write_cpus("0-15");
	tick_for(40);
	assert_non_null(port.rows);
	text_copy(row_of("1")->cgroup, sizeof(row_of("1")->cgroup), "elsewhere");
	end_late(0);
	assert_int_equal(row_of("1")->pause.nr_reverts, 0);
}

/* What it was told is no value to write, or not one that may be written. */
static void only_cpus_that_it_may_have_correct_a_late_write(void **state)
{
	static const struct {
		const char *told;
		int result;
	} cases[] = {{"", 0}, {"2-3", 0}, {"8-9", -ENOENT}, {"8-9", -ECANCELED}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct runtime_row *row = row_of("1");

		/* as one that shares: 2 and 3 are the CPUs of the pod in the ledger */
		row->told = cpuset_of_text("8-11");
		*row->uid = *row->name = '\0';
		port.nr_writes = 0;
		row->pause = row->failing = (struct stranger_pause){0};
		hold_up();
		row->told = cpuset_of_text(cases[i].told);
		end_late(cases[i].result);
		assert_int_equal(port.nr_writes, 1);
	}
}

/* It was not corrected, so what another wrote there later is put back like anything else. */
static void a_correction_that_could_not_begin_is_not_remembered(void **state)
{
	struct runtime_row *row = row_of("1");

	row->told = cpuset_of_text("8-11");
	*row->uid = *row->name = '\0';
	hold_up();
	row->told = cpuset_of_text("8-9");
	port.call_error = -EBUSY;
	end_late(0);
	port.call_error = 0;
	assert_int_equal(port.nr_writes, 2);
	assert_int_equal(controller->runtimes.writing_since_ns, 0);
	assert_has("8-11");
	assert_int_equal(row->pause.nr_reverts, 0);
	tick_for(8);
	assert_has("8-9");
	assert_int_equal(row->pause.nr_reverts, 1);
	assert_int_equal(nr_repaired(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_nodes_that_another_wrote_are_put_back),
		TEST(two_files_that_are_written_together_count_once),
		TEST(a_repair_is_told_when_it_was_read_after_the_write),
		TEST(only_what_is_new_begins_anew),
		TEST(a_file_that_nothing_was_told_of_is_not_judged),
		TEST(a_cgroup_without_a_number_is_not_written),
		TEST(what_cannot_be_read_is_not_written),
		TEST(what_has_ended_leaves_nothing_to_tell),
		TEST(without_a_port_nothing_is_put_back),
		TEST(one_pass_has_room_for_both_files_of_a_container),
		TEST(one_pass_writes_single_files_as_long_as_two_would_fit),
		TEST(the_finding_names_the_container_that_was_put_back_most_often),
		TEST(a_reading_that_is_right_by_now_changes_no_finding),
		TEST(a_write_that_cannot_begin_is_tried_again),
		TEST(a_container_that_was_not_read_yet_is_found),
		TEST(a_container_that_was_not_read_yet_is_corrected),
		TEST(another_cgroup_with_the_path_is_not_meant),
		TEST(another_container_that_was_not_read_yet_is_not_meant),
		TEST(the_end_of_a_write_of_nobodys_cgroup_changes_nothing),
		TEST(only_cpus_that_it_may_have_correct_a_late_write),
		TEST(a_correction_that_could_not_begin_is_not_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
