// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The rows of drift without an agent: which row belongs to which file, when it ends, which write an
 * event of the kernel explains, and what is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/drift.h"
#include "node_scene.h"

static uint64_t wall_ns;

static uint64_t wall(void *self)
{
	return wall_ns++;
}

static const struct clock_port test_clock = {.now_ns = wall, .wall_ns = wall};
/* The row behind the list looks open: nobody may find it there. */
static struct {
	struct drift drift;
	struct drift_row behind;
} memory;
static struct drift *const drift = &memory.drift;

static int set_up_rows(void **state)
{
	wall_ns = 1;
	memset(&memory, 0, sizeof(memory));
	drift_list_init(&drift->list, &test_clock);
	return 0;
}

static struct step step_of(enum step_kind kind, const char *path, enum group_file file)
{
	struct step step = {.kind = kind, .file = file};

	snprintf(step.path, sizeof(step.path), "%s", path);
	return step;
}

static void a_row_is_closed_when_no_step_writes_its_file(void **state)
{
	struct step steps[] = {
		step_of(STEP_WRITE, "a", GROUP_CPUSET_CPUS),
		step_of(STEP_WRITE, "b", GROUP_CPU_MAX),
		step_of(STEP_REMOVE, "c", GROUP_CPUSET_MEMS),
	};
	const struct plan plan = {ARRAY_SIZE(steps), steps};
	const struct {
		const char *path;
		enum group_file file;
		bool is_open;
	} rows[] = {
		{"a", GROUP_CPUSET_CPUS, true},	 {"b", GROUP_CPU_MAX, true},
		{"b", GROUP_CPUSET_CPUS, false}, {"a", GROUP_CPU_MAX, false},
		{"c", GROUP_CPUSET_MEMS, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		drift_list_open(&drift->list, rows[i].path, rows[i].file);
	drift_open_kubelets(drift, "k", GROUP_CPUSET_CPUS);
	drift_close_gone(drift, &plan, UINT64_MAX, &(struct operations){0});
	assert_non_null(drift_list_find_open(&drift->list, "k", GROUP_CPUSET_CPUS));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(!!drift_list_find_open(&drift->list, rows[i].path, rows[i].file),
				 rows[i].is_open);
}

static void a_closed_row_keeps_its_time(void **state)
{
	struct drift_row *row = drift_list_open(&drift->list, "a", GROUP_CPUSET_CPUS);
	uint64_t repaired_ns;

	drift_list_close(&drift->list, row, ACTION_REPAIR);
	repaired_ns = row->repaired_ns;
	drift_close_gone(drift, &(struct plan){0}, UINT64_MAX, &(struct operations){0});
	assert_int_equal(row->repaired_ns, repaired_ns);
	assert_int_equal(row->action, ACTION_REPAIR);
}

static void every_row_of_a_full_list_is_closed(void **state)
{
	char path[16];

	for (int i = 0; i < DRIFT_LIST_ROWS; i++) {
		snprintf(path, sizeof(path), "%d", i);
		drift_list_open(&drift->list, path, GROUP_CPUSET_CPUS);
	}
	drift_close_gone(drift, &(struct plan){0}, UINT64_MAX, &(struct operations){0});
	assert_int_equal(drift_list_nr_open(&drift->list, GROUP_CPUSET_CPUS), 0);
	for (size_t i = 0; i < sizeof(memory) - sizeof(struct drift_list); i++)
		assert_int_equal(((const char *)&memory)[sizeof(struct drift_list) + i], 0);
}

/* The kernel reports a write of `file` below `path`. */
static void name(const char *path, enum group_file file, uint32_t pid)
{
	struct event_row event = {.record = EVENT_RECORD(EVENT_DRIFT)};

	event.record.attribute = file;
	event.record.pid = pid;
	snprintf(event.target, sizeof(event.target), "%s", path);
	drift_name_culprit(drift, &event, wall_ns);
}

static void an_event_belongs_to_its_cgroup_and_file(void **state)
{
	struct drift_row *first = drift_list_open(&drift->list, "a", GROUP_CPUSET_CPUS);
	struct drift_row *second = drift_list_open(&drift->list, "b", GROUP_CPUSET_CPUS);
	struct drift_row *third = drift_list_open(&drift->list, "b", GROUP_CPU_MAX);

	name("a", GROUP_CPUSET_CPUS, 7);
	assert_int_equal(first->pid, 7);
	assert_int_equal(second->pid, 0);
	assert_int_equal(third->pid, 0);
	name("b", GROUP_CPUSET_CPUS, 8);
	assert_int_equal(second->pid, 8);
	assert_int_equal(third->pid, 0);
	assert_int_equal(drift->list.nr_rows, 3);
	name("c", GROUP_CPUSET_CPUS, 9);
	assert_int_equal(third->pid, 0);
	assert_int_equal(drift->list.nr_rows, 4);
	assert_string_equal(drift->list.rows[3].path, "c");
	assert_int_equal(drift->list.rows[3].pid, 9);
}

static void an_event_explains_the_newest_change(void **state)
{
	struct drift_row *old = drift_list_open(&drift->list, "a", GROUP_CPUSET_CPUS), *new;

	drift_list_close(&drift->list, old, ACTION_REPAIR);
	new = drift_list_open(&drift->list, "a", GROUP_CPUSET_CPUS);
	name("a", GROUP_CPUSET_CPUS, 7);
	assert_int_equal(new->pid, 7);
	assert_int_equal(old->pid, 0);
	/* Written again before it was repaired: the last culprit is the one that is shown. */
	name("a", GROUP_CPUSET_CPUS, 8);
	assert_int_equal(new->pid, 8);
	assert_int_equal(old->pid, 0);
	assert_int_equal(drift->list.nr_rows, 2);
}

static uint64_t nr_detected(enum drift_cause cause)
{
	return drift->nr_detected[GROUP_CPUSET_CPUS][cause];
}

/* What a full list drops is counted all the same. */
static void nothing_detected_is_lost_with_its_row(void **state)
{
	char path[16];

	for (int i = 0; i <= DRIFT_LIST_ROWS; i++) {
		snprintf(path, sizeof(path), "%d", i);
		drift_open_kubelets(drift, path, GROUP_CPUSET_CPUS);
	}
	assert_int_equal(nr_detected(CAUSE_UNKNOWN), 1);
	wall_ns += 5 * S;
	memset(&memory.behind, 1, sizeof(memory.behind));
	drift_count_named(drift);
	drift_count_named(drift);
	for (size_t i = 0; i < sizeof(memory.behind); i++)
		assert_int_equal(((const char *)&memory.behind)[i], 1);
	assert_int_equal(nr_detected(CAUSE_UNKNOWN), DRIFT_LIST_ROWS + 1);
}

static void close_kubelets(const char *path)
{
	drift_open_kubelets(drift, path, GROUP_CPUSET_CPUS);
	drift_close_kubelets(drift, path, GROUP_CPUSET_CPUS, ACTION_REPAIR);
}

/* The bounds are 1 ms, and so on, four times as long each; the last bucket has none. */
static void exposure_is_counted_up_to_each_bound(void **state)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < DRIFT_BUCKETS; i++) {
		const uint64_t bound_ns = DRIFT_FIRST_BUCKET_NS << 2 * i;
		const uint64_t times_ns[] = {bound_ns, bound_ns + 1};

		for (size_t j = 0; j < ARRAY_SIZE(times_ns); j++) {
			const struct drift_row *row =
				drift_open_kubelets(drift, "a", GROUP_CPUSET_CPUS);
			const uint32_t bucket = i + j < DRIFT_BUCKETS ? i + (uint32_t)j : i;
			const uint64_t nr = drift->nr_exposed[bucket];

			wall_ns = row->opened_ns + times_ns[j];
			drift_close_kubelets(drift, "a", GROUP_CPUSET_CPUS, ACTION_REPAIR);
			assert_int_equal(drift->nr_exposed[bucket], nr + 1);
			sum_ns += times_ns[j];
			assert_int_equal(drift->exposed_ns, sum_ns);
		}
	}
}

static uint64_t nr_with_cause(enum group_file file, uint32_t pid)
{
	return drift->nr_detected[file][drift_cause_of(pid, "")];
}

/* Two differences of one comparison, whose events come a moment later. */
static void a_full_list_drops_one_row_at_a_time(void **state)
{
	const uint64_t named = nr_with_cause(GROUP_CPUSET_CPUS, 7);
	char path[16];

	(void)state;
	for (int i = 0; i < DRIFT_LIST_ROWS; i++) {
		snprintf(path, sizeof(path), "%d", i);
		close_kubelets(path);
	}
	wall_ns += 60 * S;
	drift_count_named(drift);
	drift_open_kubelets(drift, "x", GROUP_CPUSET_CPUS);
	drift_open_kubelets(drift, "y", GROUP_CPUSET_CPUS);
	name("x", GROUP_CPUSET_CPUS, 7);
	name("y", GROUP_CPUSET_CPUS, 8);
	drift_count_named(drift);
	assert_int_equal(nr_detected(CAUSE_UNKNOWN), DRIFT_LIST_ROWS);
	assert_int_equal(nr_with_cause(GROUP_CPUSET_CPUS, 7), named + 2);
}

static void each_mover_of_a_cgroup_is_counted(void **state)
{
	struct drift_row *row = drift_open_members(drift, "a");

	(void)state;
	row->pid = 7;
	row->cause = CAUSE_USER;
	row = drift_open_members(drift, "a");
	row->pid = 8;
	row->cause = CAUSE_SYSTEMD;
	wall_ns += 60 * S;
	drift_count_named(drift);
	assert_int_equal(drift->nr_detected[GROUP_MEMBERS][CAUSE_USER], 1);
	assert_int_equal(drift->nr_detected[GROUP_MEMBERS][CAUSE_SYSTEMD], 1);
	drift_open_kubelets(drift, "k", GROUP_CPUSET_CPUS);
	name("k", GROUP_CPUSET_CPUS, 7);
	name("k", GROUP_CPUSET_CPUS, 1);
	assert_int_equal(nr_with_cause(GROUP_CPUSET_CPUS, 7), 1);
}

/* The end of the time in which a cause may become known: what is counted as unknown has none. */
static void an_event_names_no_change_of_long_ago(void **state)
{
	const uint64_t named = nr_with_cause(GROUP_CPUSET_CPUS, 7);
	struct drift_row *late, *old;

	(void)state;
	close_kubelets("late");
	close_kubelets("old");
	late = &drift->list.rows[0];
	old = &drift->list.rows[1];
	wall_ns = late->detected_ns + 5 * S - 1;
	name("late", GROUP_CPUSET_CPUS, 7);
	assert_int_equal(late->pid, 7);
	assert_int_equal(drift->list.nr_rows, 2);
	wall_ns = old->detected_ns + 5 * S;
	name("old", GROUP_CPUSET_CPUS, 7);
	assert_int_equal(old->pid, 0);
	assert_int_equal(drift->list.nr_rows, 3);
	drift_count_named(drift);
	assert_int_equal(nr_with_cause(GROUP_CPUSET_CPUS, 7), named + 1);
	assert_int_equal(nr_detected(CAUSE_UNKNOWN), 1);
}

/* The last one who wrote is shown, but the difference counts as that of whoever made it. */
static void who_writes_to_an_open_difference_did_not_make_it(void **state)
{
	const uint64_t named = nr_with_cause(GROUP_CPUSET_CPUS, 7);
	struct drift_row *row = drift_open_kubelets(drift, "a", GROUP_CPUSET_CPUS);

	(void)state;
	wall_ns += 60 * S;
	name("a", GROUP_CPUSET_CPUS, 7);
	assert_int_equal(row->pid, 7);
	drift_count_named(drift);
	assert_int_equal(nr_with_cause(GROUP_CPUSET_CPUS, 7), named);
	assert_int_equal(nr_detected(CAUSE_UNKNOWN), 1);
	assert_int_equal(drift->list.nr_rows, 1);
}

/* It is found once, though an event has opened its row. */
static void a_kubelets_difference_may_have_a_row_already(void **state)
{
	const uint64_t named = nr_with_cause(GROUP_CPUSET_CPUS, 7);
	struct drift_row *row;

	(void)state;
	name("a", GROUP_CPUSET_CPUS, 7);
	row = drift_open_kubelets(drift, "a", GROUP_CPUSET_CPUS);
	assert_ptr_equal(row, drift->list.rows);
	assert_int_equal(row->pid, 7);
	assert_true(row->is_kubelets);
	assert_null(drift_open_kubelets(drift, "a", GROUP_CPUSET_CPUS));
	drift_count_named(drift);
	assert_int_equal(nr_with_cause(GROUP_CPUSET_CPUS, 7), named + 1);
}

static void a_repaired_change_keeps_its_culprit(void **state)
{
	struct drift_row *old = drift_list_open(&drift->list, "a", GROUP_CPUSET_CPUS);

	name("a", GROUP_CPUSET_CPUS, 7);
	drift_list_close(&drift->list, old, ACTION_REPAIR);
	/* The next write, of which nothing has been seen yet. */
	name("a", GROUP_CPUSET_CPUS, 8);
	assert_int_equal(old->pid, 7);
	assert_int_equal(drift->list.nr_rows, 2);
	assert_int_equal(drift->list.rows[1].pid, 8);
	assert_int_equal(drift->list.rows[1].repaired_ns, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up_rows)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_list_drops_one_row_at_a_time),
		TEST(each_mover_of_a_cgroup_is_counted),
		TEST(a_row_is_closed_when_no_step_writes_its_file),
		TEST(a_closed_row_keeps_its_time),
		TEST(every_row_of_a_full_list_is_closed),
		TEST(an_event_belongs_to_its_cgroup_and_file),
		TEST(an_event_explains_the_newest_change),
		TEST(nothing_detected_is_lost_with_its_row),
		TEST(exposure_is_counted_up_to_each_bound),
		TEST(a_repaired_change_keeps_its_culprit),
		TEST(an_event_names_no_change_of_long_ago),
		TEST(who_writes_to_an_open_difference_did_not_make_it),
		TEST(a_kubelets_difference_may_have_a_row_already),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
