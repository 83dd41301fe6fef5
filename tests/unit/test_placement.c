// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Where containers may run, where their tasks want to run and where they ran, as the agent
 * reports it: since they are counted, and in a window of the last seconds.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "lib/log.h"
#include "mixed_pod.h"
#include "started_pods_scene.h"

#define CPUS 17 /* the machine has 16; one came later */

static struct kernel_port kernel;
static uint64_t run_ns[CPUS], outside_ns[CPUS], remote_ns[CPUS];
static uint64_t wait_ns[CPUS], switches[CPUS];
static uint64_t nr_cpus;
static bool hides_cpus;	      /* of the run time only the sum is known */
static uint64_t published_id; /* of container "one" */
static struct affinities affinities;
static int affinities_answer;

/* Only container "one" has counters. */
static int usage_of_one(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	struct usage usage = {.nr_cpus = nr_cpus,
			      .run_ns = hides_cpus ? NULL : run_ns,
			      .outside_ns = outside_ns,
			      .remote_ns = remote_ns,
			      .cpu_wait_ns = wait_ns,
			      .cpu_switches = switches,
			      .preemptions = 9,
			      .migrations_thread = 10,
			      .migrations_core = 11,
			      .migrations_llc = 12,
			      .migrations_numa = 13};
	struct group_status status;

	(void)self;
	if (fake_status(NULL, "pinfold.slice/poduid-a/one", &status) ||
	    status.cgroup_id != cgroup_id)
		return -ENOENT;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		usage.switches += switches[cpu];
		usage.run_outside_ns += outside_ns[cpu];
		usage.run_remote_ns += remote_ns[cpu];
		usage.run_local_ns += run_ns[cpu] - outside_ns[cpu] - remote_ns[cpu];
	}
	*ret_usage = usage;
	return 0;
}

static int given_affinities(void *self, const char *path, struct affinities *ret_affinities)
{
	(void)self;
	(void)path;
	if (!affinities_answer)
		*ret_affinities = affinities;
	return affinities_answer;
}

/* The kernel has put in force less than the memory nodes that were granted. */
static int status_on_node_0(void *self, const char *path, struct group_status *ret_status)
{
	int r = status_of(self, path, ret_status);

	if (!r)
		ret_status->effective_mems = cpuset_of_text("0");
	return r;
}

/* Two pods with a container of two exclusive CPUs each: CPUs 2-3 and 4-5, on node 0. */
static int set_up_pods(void **state)
{
	int r = set_up_node(state);

	memset(run_ns, 0, sizeof(run_ns));
	memset(outside_ns, 0, sizeof(outside_ns));
	memset(wait_ns, 0, sizeof(wait_ns));
	memset(switches, 0, sizeof(switches));
	memset(remote_ns, 0, sizeof(remote_ns));
	affinities = (struct affinities){0};
	affinities_answer = 0;
	nr_cpus = CPUS;
	hides_cpus = false;
	groups.affinities = given_affinities;
	groups.status = status_on_node_0;
	kernel = fake_side_port;
	kernel.usage = usage_of_one;
	pods[0] = fake_pod("a", "one", 2000, true);
	pods[1] = fake_pod("b", "two", 2000, true);
	controller = start_node(&kernel);
	scan(controller, pods, 2);
	return r;
}

/* The agent's tick, so many seconds later. */
static void tick_after(uint64_t seconds)
{
	fake->now_ns += seconds * S;
	controller_tick(controller);
}

static struct json_object *row_of(struct json_object *list, const char *container)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (!strcmp(member(row, "container"), container))
			return row;
	}
	fail_msg("no row for %s", container);
	return NULL;
}

/* The item of a list whose `key` is `value`; NULL = none. */
static struct json_object *item_of(struct json_object *row, const char *list, const char *key,
				   const char *value)
{
	struct json_object *items = json_object_object_get(row, list);

	for (size_t i = 0; i < json_object_array_length(items); i++)
		if (!strcmp(member(json_object_array_get_idx(items, i), key), value))
			return json_object_array_get_idx(items, i);
	return NULL;
}

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

/* The guard does not cover it yet, so nothing is counted of it. */
static void a_container_that_is_not_published_is_unknown(void **state)
{
	struct json_object *list;

	(void)state;
	controller_free(controller);
	unknown_path = "pinfold.slice/poduid-a/one";
	run_ns[2] = S;
	controller = start_node(&kernel);
	scan(controller, pods, 2);
	list = query(controller, "placement");
	assert_string_equal(member(row_of(list, "one"), "state"), "unknown");
	assert_string_equal(member(row_of(list, "one"), "cpus"), "2-3");
	json_object_put(list);
}

static void only_containers_have_a_row(void **state)
{
	struct pod_spec *full[NR_FULL_TREE_PODS];
	struct json_object *list;

	(void)state;
	make_full_tree(full);
	scan(controller, full, NR_FULL_TREE_PODS);
	list = query(controller, "placement");
	assert_int_equal(json_object_array_length(list), NR_FULL_TREE_PODS + 2);
	json_object_put(list);
	/* The desired tree has a pod that left until the next reconcile. */
	assert_int_equal(ledger_remove(controller->ledger, "uid-p2"), 0);
	list = query(controller, "placement");
	assert_int_equal(json_object_array_length(list), NR_FULL_TREE_PODS + 1);
	json_object_put(list);
	free_pods(full, NR_FULL_TREE_PODS);
}

static void affinities_are_compared_with_the_cpuset_in_force(void **state)
{
	const struct cpuset whole = cpuset_of_text("2-3"), part = cpuset_of_text("3");
	struct json_object *list, *row, *item;

	(void)state;
	affinity_add(&affinities, 100, &whole);
	affinity_add(&affinities, 101, &whole);
	affinity_add(&affinities, 102, &part);
	affinities.nr_left_out = 7;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "tasks"), "3");
	assert_string_equal(member(row, "narrower_tasks"), "1");
	assert_string_equal(member(row, "tasks_left_out"), "7");
	item = item_of(row, "affinities", "cpus", "2-3");
	assert_string_equal(member(item, "tasks"), "2");
	assert_string_equal(member(item, "narrower"), "false");
	item = item_of(row, "affinities", "cpus", "3");
	assert_string_equal(member(item, "narrower"), "true");
	assert_string_equal(member(item, "task"), "102");
	json_object_put(list);
	/* Its cpuset was narrowed, too: then the task does not keep itself from anything. */
	tamper("uid-a/one", GROUP_CPUSET_CPUS, "3");
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "cpus"), "2-3");
	assert_string_equal(member(row, "effective_cpus"), "3");
	assert_string_equal(member(row, "narrower_tasks"), "0");
	json_object_put(list);
}

static void what_cannot_be_read_is_not_known(void **state)
{
	struct json_object *list, *row;

	(void)state;
	affinities_answer = -EINPROGRESS;
	unknown_path = "pinfold.slice/poduid-a/one";
	run_ns[2] = S;
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "tasks"), "null");
	assert_string_equal(member(row, "tasks_left_out"), "null");
	assert_string_equal(member(row, "narrower_tasks"), "null");
	assert_string_equal(member(row, "effective_cpus"), "null");
	/* Its counters are found by the id that was published. */
	assert_string_equal(member(row, "run_seconds"), "1.000000000");
	json_object_put(list);
	affinities_answer = 0;
	affinity_add(&affinities, 100, &(struct cpuset){0});
	list = query(controller, "placement");
	row = row_of(list, "one");
	assert_string_equal(member(row, "tasks"), "1");
	assert_string_equal(member(row, "narrower_tasks"), "null");
	assert_string_equal(
		member(json_object_array_get_idx(json_object_object_get(row, "affinities"), 0),
		       "narrower"),
		"null");
	json_object_put(list);
}

/* --- one pod, all pods, each CPU ---------------------------------------------------------------- */

static struct json_object *placement_of(const char *pod, const char *container,
					unsigned int wanted_status)
{
	const struct view_placement_request request = {pod, container};
	struct json_object *body = object_json(&view_placement_request_desc, &request, 1);
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;
	unsigned int status = 0;

	assert_int_equal(faces->command(faces->self, 1, "container", "placement", body, 1, &json,
					&status),
			 0);
	assert_int_equal(status, wanted_status);
	json_object_put(body);
	return json;
}

static void a_pod_or_a_container_can_be_asked_for(void **state)
{
	struct json_object *json;

	(void)state;
	json = placement_of("default/b", NULL, 200);
	assert_int_equal(json_object_array_length(json), 1);
	assert_string_equal(member(json_object_array_get_idx(json, 0), "container"), "two");
	json_object_put(json);
	json = placement_of("uid-a", "one", 200);
	assert_int_equal(json_object_array_length(json), 1);
	assert_string_equal(member(json_object_array_get_idx(json, 0), "container"), "one");
	json_object_put(json);
	json_object_put(placement_of("a", "two", 404));
	json_object_put(placement_of("none", NULL, 404));
	json_object_put(placement_of(NULL, NULL, 400));
}

static uint64_t run_everywhere[CPUSET_MAX], nothing_everywhere[CPUSET_MAX];

static int usage_everywhere(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	(void)self;
	(void)cgroup_id;
	*ret_usage = (struct usage){.run_local_ns = CPUSET_MAX,
				    .nr_cpus = CPUSET_MAX,
				    .run_ns = run_everywhere,
				    .outside_ns = nothing_everywhere,
				    .remote_ns = nothing_everywhere};
	return 0;
}

static size_t nr_items(struct json_object *row, const char *list)
{
	return json_object_array_length(json_object_object_get(row, list));
}

/* The loop serves nobody else while it makes an answer, and the inspector has to read it. */
static void the_answer_about_all_is_bounded(void **state)
{
	const struct cpuset whole = cpuset_of_text("2-3");
	struct json_object *json;
	size_t nr = 0, nr_left_out = 0;

	(void)state;
	for (int cpu = 0; cpu < CPUSET_MAX; cpu++)
		run_everywhere[cpu] = 1;
	kernel.usage = usage_everywhere;
	affinity_add(&affinities, 100, &whole);
	json = query(controller, "placement");
	assert_int_equal(json_object_array_length(json), 2);
	for (int i = 0; i < 2; i++) {
		struct json_object *row = json_object_array_get_idx(json, (size_t)i);

		nr += nr_items(row, "places") + nr_items(row, "affinities");
		nr_left_out +=
			json_object_get_uint64(json_object_object_get(row, "places_left_out"));
		/* The totals are small. */
		assert_string_equal(member(row, "state"), "counted");
	}
	assert_true(nr <= 8192);
	assert_int_equal(nr_left_out, CPUSET_MAX);
	json_object_put(json);
	for (int i = 0; i < 2; i++) {
		struct json_object *row;

		json = placement_of(i ? "b" : "a", NULL, 200);
		row = json_object_array_get_idx(json, 0);
		assert_int_equal(nr_items(row, "places"), CPUSET_MAX);
		assert_int_equal(nr_items(row, "affinities"), 1);
		assert_string_equal(member(row, "places_left_out"), "0");
		json_object_put(json);
	}
}

static struct json_object *use_of(struct json_object *list, const char *cpu)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (!strcmp(member(json_object_array_get_idx(list, i), "cpu"), cpu))
			return json_object_array_get_idx(list, i);
	fail_msg("no row for CPU %s", cpu);
	return NULL;
}

static int usage_of_both(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	(void)cgroup_id;
	return usage_of_one(self, published_id, ret_usage);
}

/* Both containers ran on CPU 2, in windows of 20 seconds. */
static void the_use_of_a_cpu_is_the_sum_of_its_containers(void **state)
{
	struct group_status status;
	struct json_object *list;

	(void)state;
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-a/one", &status), 0);
	published_id = status.cgroup_id;
	/* Before there is a window nothing is known, which is not the same as no use. */
	list = query(controller, "cpu_use");
	assert_int_equal(json_object_array_length(list), 0);
	json_object_put(list);
	kernel.usage = usage_of_both;
	run_ns[2] = 100 * S;
	tick_after(20);
	tick_after(10);
	run_ns[2] += 5 * S;
	run_ns[16] += S;
	fake->now_ns += 10 * S;
	list = query(controller, "cpu_use");
	/* All CPUs of the machine, and the one that came later. */
	assert_int_equal(json_object_array_length(list), CPUS);
	assert_string_equal(member(use_of(list, "2"), "run_seconds"), "10.000000000");
	assert_string_equal(member(use_of(list, "2"), "window_seconds"), "20.000000000");
	assert_string_equal(member(use_of(list, "3"), "run_seconds"), "0.000000000");
	assert_string_equal(member(use_of(list, "16"), "run_seconds"), "2.000000000");
	json_object_put(list);
	/* Only one of them is counted. */
	kernel.usage = usage_of_one;
	list = query(controller, "cpu_use");
	assert_string_equal(member(use_of(list, "2"), "run_seconds"), "5.000000000");
	json_object_put(list);
	controller_free(controller);
	controller = start_node(NULL);
	list = query(controller, "cpu_use");
	assert_int_equal(json_object_array_length(list), 0);
	json_object_put(list);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_pods, tear_down_pods)

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
		TEST(a_container_that_is_not_published_is_unknown),
		TEST(only_containers_have_a_row),
		TEST(affinities_are_compared_with_the_cpuset_in_force),
		TEST(what_cannot_be_read_is_not_known),
		TEST(a_pod_or_a_container_can_be_asked_for),
		TEST(the_answer_about_all_is_bounded),
		TEST(the_use_of_a_cpu_is_the_sum_of_its_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
