// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Where containers ran, as the agent reports it: since they are counted, and in a window of the
 * last seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "placement_scene.h"

static void each_cpu_says_where_it_is_and_how_much_ran_there(void **state)
{
	struct json_object *list, *row, *place;

	(void)state;
	run_ns[2] = 6 * S;
	run_ns[8] = 3 * S;
	outside_ns[8] = 3 * S;
	run_ns[16] = 1 * S;
	wait_ns[2] = 5 * S;
	switches[2] = 6;
	switches[16] = 1;
	preemptions[2] = 4;
	migrations[2] = 3;
	list = query(controller, "placement");
	assert_int_equal(json_object_array_length(list), 2);
	row = row_of(list, "one");
	assert_string_equal(member(row, "state"), "counted");
	assert_string_equal(member(row, "cpus"), "2-3");
	assert_string_equal(member(row, "mems"), "0-1");
	assert_string_equal(member(row, "effective_cpus"), "2-3");
	assert_string_equal(member(row, "effective_mems"), "0");
	assert_string_equal(member(row, "isolation"), "container");
	assert_string_equal(member(row, "run_seconds"), "10.000000000");
	assert_string_equal(member(row, "outside_seconds"), "3.000000000");
	assert_string_equal(member(row, "switches"), "7");
	assert_string_equal(member(row, "preemptions"), "9");
	assert_string_equal(member(row, "migrations_thread"), "10");
	assert_string_equal(member(row, "migrations_core"), "11");
	assert_string_equal(member(row, "migrations_llc"), "12");
	assert_string_equal(member(row, "migrations_numa"), "13");
	assert_int_equal(json_object_array_length(json_object_object_get(row, "places")), 3);
	place = item_of(row, "places", "cpu", "2");
	assert_string_equal(member(place, "wait_seconds"), "5.000000000");
	assert_string_equal(member(place, "switches"), "6");
	assert_string_equal(member(place, "preemptions"), "4");
	assert_string_equal(member(place, "migrations"), "3");
	assert_string_equal(member(place, "numa"), "0");
	assert_string_equal(member(place, "granted"), "true");
	assert_string_equal(member(place, "local"), "true");
	assert_string_equal(member(place, "run_percent"), "60.00");
	place = item_of(row, "places", "cpu", "8");
	assert_string_equal(member(place, "numa"), "1");
	assert_string_equal(member(place, "granted"), "false");
	assert_string_equal(member(place, "local"), "false");
	assert_string_equal(member(place, "outside_seconds"), "3.000000000");
	place = item_of(row, "places", "cpu", "16");
	assert_string_equal(member(place, "numa"), "null");
	assert_string_equal(member(place, "local"), "null");
	json_object_put(list);
}

/* A spinner on CPU 2 is moved to CPU 3: since its start both have it, in the window only one. */
static void the_window_shows_where_it_runs_now(void **state)
{
	struct json_object *list, *row;

	(void)state;
	run_ns[2] = 100 * S;
	/* CPU 0 had its part before. */
	run_ns[0] = 15 * S;
	tick_after(100);
	tick_after(10);
	tick_after(10);
	run_ns[3] = 15 * S;
	fake->now_ns += 5 * S;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "window_seconds"), "15.000000000");
	assert_string_equal(member(row, "window_run_seconds"), "15.000000000");
	assert_string_equal(member(item_of(row, "places", "cpu", "3"), "window_percent"), "100.00");
	assert_string_equal(member(item_of(row, "places", "cpu", "2"), "window_percent"), "0.00");
	assert_string_equal(member(item_of(row, "places", "cpu", "0"), "window_percent"), "0.00");
	assert_string_equal(member(item_of(row, "places", "cpu", "2"), "run_percent"), "76.92");
	/* On CPU 0 again: it counts once. */
	run_ns[0] += S;
	json_object_put(list);
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "window_run_seconds"), "16.000000000");
	json_object_put(list);
}

/* All of what ran on a CPU that is new since the window began ran in the window. */
static void a_cpu_may_come_within_the_window(void **state)
{
	struct json_object *list, *row;

	(void)state;
	nr_cpus = CPUS - 1;
	run_ns[2] = S;
	tick_after(20);
	nr_cpus = CPUS;
	run_ns[CPUS - 1] = 3 * S;
	fake->now_ns += 6 * S;
	list = query(controller, "placement");
	row = item_of(row_of(list, "one"), "places", "cpu", "16");
	assert_string_equal(member(row, "window_run_seconds"), "3.000000000");
	json_object_put(list);
}

/* Its memory is on nodes without CPUs: no CPU is farther from it than another. */
static void without_nodes_every_cpu_is_local(void **state)
{
	struct publisher *publisher = &controller->publisher;
	struct json_object *list;

	(void)state;
	for (uint32_t i = 0; i < publisher->nr; i++)
		publisher->rows[i].managed.nodes = 0;
	run_ns[8] = S;
	list = query(controller, "placement");
	assert_string_equal(member(item_of(row_of(list, "one"), "places", "cpu", "8"), "local"),
			    "true");
	json_object_put(list);
}

static void the_window_has_what_was_outside_and_far(void **state)
{
	struct json_object *list, *row;

	(void)state;
	run_ns[8] = outside_ns[8] = 50 * S;
	run_ns[9] = remote_ns[9] = 7 * S;
	tick_after(20);
	run_ns[8] = outside_ns[8] = 52 * S;
	run_ns[9] = remote_ns[9] = 10 * S;
	fake->now_ns += 6 * S;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "outside_seconds"), "52.000000000");
	assert_string_equal(member(row, "remote_seconds"), "10.000000000");
	assert_string_equal(member(row, "run_seconds"), "62.000000000");
	assert_string_equal(member(row, "window_outside_seconds"), "2.000000000");
	assert_string_equal(member(row, "window_remote_seconds"), "3.000000000");
	assert_string_equal(member(item_of(row, "places", "cpu", "9"), "window_percent"), "50.00");
	json_object_put(list);
}

static void expect_no_window(struct json_object *row)
{
	assert_string_equal(member(row, "window_seconds"), "null");
	assert_string_equal(member(row, "window_run_seconds"), "null");
	assert_string_equal(member(row, "window_outside_seconds"), "null");
	assert_string_equal(member(row, "window_remote_seconds"), "null");
}

/* Without this, a burst between two reads would look like the whole truth. */
static void a_window_has_a_least_length(void **state)
{
	struct json_object *list, *row;

	(void)state;
	run_ns[2] = S;
	tick_after(20);
	fake->now_ns += S / 2;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "run_seconds"), "1.000000000");
	expect_no_window(row);
	assert_string_equal(member(item_of(row, "places", "cpu", "2"), "window_run_seconds"),
			    "null");
	assert_string_equal(member(item_of(row, "places", "cpu", "2"), "window_percent"), "null");
	json_object_put(list);
	fake->now_ns += S / 2;
	list = query(controller, "placement");
	assert_string_equal(member(row_of(list, "one"), "window_seconds"), "1.000000000");
	json_object_put(list);
	fake->now_ns -= S / 2;
	/* Ticks each second do not begin a new window each second. */
	for (int i = 0; i < 9; i++)
		tick_after(1);
	list = query(controller, "placement");
	assert_string_equal(member(row_of(list, "one"), "window_seconds"), "9.500000000");
	json_object_put(list);
}

/* What the end of an open interval was estimated too long is not shown as more than all. */
static void no_share_is_more_than_the_whole(void **state)
{
	struct json_object *list;

	(void)state;
	tick_after(20);
	run_ns[2] = 10 * S + 1000;
	fake->now_ns += 10 * S;
	list = query(controller, "placement");
	assert_string_equal(member(item_of(row_of(list, "one"), "places", "cpu", "2"),
				   "window_percent"),
			    "100.00");
	json_object_put(list);
}

static void counters_that_began_anew_show_no_negative_time(void **state)
{
	struct json_object *list, *row;

	(void)state;
	run_ns[2] = 50 * S;
	tick_after(20);
	run_ns[2] = 2 * S;
	fake->now_ns += 10 * S;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "window_run_seconds"), "0.000000000");
	assert_string_equal(member(row, "run_seconds"), "2.000000000");
	json_object_put(list);
}

/* One CPU less and another more: the slot was given up, and counts from 0 on both. */
static void a_cpu_that_began_anew_shows_no_negative_time(void **state)
{
	struct json_object *list, *row;

	(void)state;
	run_ns[2] = 5 * S;
	tick_after(20);
	run_ns[2] = 2 * S;
	run_ns[3] = 10 * S;
	fake->now_ns += 10 * S;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "window_run_seconds"), "10.000000000");
	json_object_put(list);
}

/* Samples have the run time modulo 71 minutes. */
static void a_window_goes_on_where_samples_wrap(void **state)
{
	const uint64_t wrap_ns = (1ULL << 32) * 1000;
	struct json_object *list, *row;

	(void)state;
	run_ns[2] = wrap_ns - 3 * S;
	run_ns[3] = 5 * wrap_ns;
	tick_after(20);
	run_ns[2] += 10 * S;
	run_ns[3] += 4 * S;
	fake->now_ns += 10 * S;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "window_run_seconds"), "14.000000000");
	assert_string_equal(member(item_of(row, "places", "cpu", "2"), "window_percent"), "100.00");
	assert_string_equal(member(item_of(row, "places", "cpu", "3"), "window_percent"), "40.00");
	json_object_put(list);
}

static void a_container_that_is_not_counted_is_unknown(void **state)
{
	struct json_object *list, *row;

	(void)state;
	tick_after(20);
	tick_after(20);
	list = query(controller, "placement");
	row = row_of(list, "two");
	assert_string_equal(member(row, "state"), "unknown");
	assert_string_equal(member(row, "run_seconds"), "null");
	assert_string_equal(member(row, "outside_seconds"), "null");
	assert_string_equal(member(row, "remote_seconds"), "null");
	expect_no_window(row);
	assert_string_equal(member(row, "effective_cpus"), "4-5");
	json_object_put(list);
	run_ns[2] = S;
	hides_cpus = true;
	list = query(controller, "placement");
	assert_string_equal(member(row_of(list, "one"), "state"), "unknown");
	json_object_put(list);
	controller_free(controller);
	controller = start_node(NULL);
	scan(controller, pods, 2);
	tick_after(20);
	list = query(controller, "placement");
	assert_string_equal(member(row_of(list, "one"), "state"), "unknown");
	json_object_put(list);
}

/* Only "two" has counters, which is published after the other one. */
static int usage_of_two(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	struct group_status status;

	if (fake_status(NULL, "pinfold.slice/poduid-b/two", &status) ||
	    status.cgroup_id != cgroup_id)
		return -ENOENT;
	return usage_of_one(self, published_id, ret_usage);
}

static void one_that_is_not_counted_hides_no_other(void **state)
{
	struct group_status status;
	struct json_object *list;

	(void)state;
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-a/one", &status), 0);
	published_id = status.cgroup_id;
	kernel.usage = usage_of_two;
	tick_after(20);
	run_ns[2] += S;
	fake->now_ns += 5 * S;
	list = query(controller, "placement");
	assert_string_equal(member(row_of(list, "two"), "window_run_seconds"), "1.000000000");
	expect_no_window(row_of(list, "one"));
	json_object_put(list);
}

static void expect_window(const char *seconds)
{
	struct json_object *list = query(controller, "placement");

	assert_string_equal(member(row_of(list, "one"), "window_seconds"), seconds);
	json_object_put(list);
}

/* While nothing is known, samples before that must not look like the last seconds. */
static void a_gap_in_the_counters_begins_a_new_window(void **state)
{
	(void)state;
	tick_after(20);
	tick_after(10);
	hides_cpus = true;
	tick_after(10);
	hides_cpus = false;
	fake->now_ns += 5 * S;
	expect_window("null");
	fake->now_ns += 5 * S;
	controller_tick(controller);
	fake->now_ns += 5 * S;
	expect_window("5.000000000");
}

static unsigned int nr_usages;

static int counted_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	nr_usages++;
	return usage_of_one(self, cgroup_id, ret_usage);
}

/* Those of the look at the counters, which comes more often, are not among them. */
static unsigned int usages_of_tick(void)
{
	ctl_count_node_waits(controller);
	nr_usages = 0;
	controller_tick(controller);
	return nr_usages;
}

/* The first tick takes samples, and then each tick after ten seconds, or half of one less. */
static void containers_are_sampled_every_ten_seconds(void **state)
{
	(void)state;
	controller_free(controller);
	controller = start_node(&kernel);
	kernel.usage = counted_usage;
	/* Of the pods and the root nothing is shown. */
	assert_int_equal(usages_of_tick(), 2);
	fake->now_ns += 9 * S + S / 2 - 1;
	assert_int_equal(usages_of_tick(), 0);
	fake->now_ns++;
	assert_int_equal(usages_of_tick(), 2);
}

static int usage_of_all(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	nr_usages++;
	return fake_usage(self, cgroup_id, ret_usage);
}

static void read_metrics(void)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_non_null(strstr(page.data, "pinfold_cpu_wait_seconds_total{"));
}

/* A page reads no counter while a look is at most 2.5 s old, and looks itself when it is older. */
static void pages_share_a_look_at_the_counters(void **state)
{
	(void)state;
	config.metrics.level = METRICS_CONTAINER;
	controller_free(controller);
	controller = start_node(&kernel);
	kernel.usage = usage_of_all;
	controller_tick(controller);
	ctl_count_node_waits(controller);
	nr_usages = 0;
	fake->now_ns += 2 * S;
	read_metrics();
	assert_int_equal(nr_usages, 0);
	fake->now_ns += S / 2;
	read_metrics();
	assert_int_equal(nr_usages, 2);
	fake->now_ns += S;
	read_metrics();
	assert_int_equal(nr_usages, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_cpu_says_where_it_is_and_how_much_ran_there),
		TEST(the_window_shows_where_it_runs_now),
		TEST(a_cpu_may_come_within_the_window),
		TEST(without_nodes_every_cpu_is_local),
		TEST(the_window_has_what_was_outside_and_far),
		TEST(a_window_has_a_least_length),
		TEST(no_share_is_more_than_the_whole),
		TEST(counters_that_began_anew_show_no_negative_time),
		TEST(a_cpu_that_began_anew_shows_no_negative_time),
		TEST(a_window_goes_on_where_samples_wrap),
		TEST(a_container_that_is_not_counted_is_unknown),
		TEST(one_that_is_not_counted_hides_no_other),
		TEST(a_gap_in_the_counters_begins_a_new_window),
		TEST(containers_are_sampled_every_ten_seconds),
		TEST(pages_share_a_look_at_the_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
