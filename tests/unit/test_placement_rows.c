// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Which containers and CPUs a report of placement has, where tasks want to run, and what is said of
 * those of which nothing is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "placement_scene.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
