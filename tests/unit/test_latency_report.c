// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * How long tasks waited, as the agent reports it: a pod is the sum of its containers, and what
 * is not counted is not 0.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/log.h"
#include "started_pods_scene.h"

/* A pod with two containers, and one with a single container. */
static int set_up_pods(void **state)
{
	struct container_spec *containers = calloc(2, sizeof(*containers));
	int r = set_up_node(state);

	assert_non_null(containers);
	pods[0] = fake_pod("a", "one", 1000, true);
	pods[1] = fake_pod("b", "single", 1000, true);
	containers[0] = containers[1] = pods[0]->containers[0];
	strcpy(containers[1].name, "two");
	free(pods[0]->containers);
	pods[0]->containers = containers;
	pods[0]->nr_containers = 2;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 2);
	return r;
}

/* The row of a container, or of the pod itself (NULL); borrowed from `list`. */
static struct json_object *find_row(struct json_object *list, const char *pod,
				    const char *container)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (!strcmp(member(row, "pod"), pod) &&
		    !strcmp(member(row, "container"), container ? container : "null"))
			return row;
	}
	fail_msg("no row for %s/%s", pod, container ? container : "");
	return NULL;
}

static struct json_object *bucket_of(struct json_object *row, size_t bucket)
{
	struct json_object *buckets = NULL;

	assert_true(json_object_object_get_ex(row, "buckets", &buckets));
	assert_int_equal(json_object_array_length(buckets), 24);
	return json_object_array_get_idx(buckets, bucket);
}

static uint64_t count_of(struct json_object *row, size_t bucket)
{
	return strtoull(member(bucket_of(row, bucket), "count"), NULL, 10);
}

static void expect_bounds(struct json_object *row, size_t bucket, const char *above,
			  const char *up_to)
{
	assert_string_equal(member(bucket_of(row, bucket), "above_seconds"), above);
	assert_string_equal(member(bucket_of(row, bucket), "up_to_seconds"), up_to);
}

static void a_container_has_quantiles_with_both_bounds(void **state)
{
	struct json_object *list = query(controller, "latency"), *row;

	(void)state;
	assert_int_equal(json_object_array_length(list), 5);
	row = find_row(list, "a", "two");
	assert_string_equal(member(row, "state"), "counted");
	assert_string_equal(member(row, "count"), "354321");
	assert_string_equal(member(row, "p50_least_seconds"), "1.073741824");
	assert_string_equal(member(row, "p50_seconds"), "2.147483648");
	assert_string_equal(member(row, "p90_least_seconds"), "4.294967296");
	assert_string_equal(member(row, "p90_seconds"), "8.000000008");
	assert_string_equal(member(row, "p999_least_seconds"), "4.294967296");
	assert_string_equal(member(row, "p999_seconds"), "8.000000008");
	assert_string_equal(member(row, "longest_seconds"), "8.000000008");
	assert_string_equal(member(row, "sum_seconds"), "9.000000009");
	assert_int_equal(count_of(row, 5), 4000);
	expect_bounds(row, 0, "0.000000000", "0.000001024");
	expect_bounds(row, 1, "0.000001024", "0.000002048");
	expect_bounds(row, 22, "2.147483648", "4.294967296");
	expect_bounds(row, 23, "4.294967296", "null");
	json_object_put(list);
}

static void a_pod_is_the_sum_of_its_containers(void **state)
{
	struct json_object *list = query(controller, "latency"), *row;

	(void)state;
	row = find_row(list, "a", NULL);
	assert_string_equal(member(row, "count"), "708642");
	assert_string_equal(member(row, "longest_seconds"), "8.000000008");
	assert_string_equal(member(row, "sum_seconds"), "18.000000018");
	assert_int_equal(count_of(row, 0), 2);
	assert_int_equal(count_of(row, 23), 180000);
	assert_string_equal(member(find_row(list, "b", NULL), "count"), "354321");
	json_object_put(list);
}

static void expect_unknown(struct json_object *row)
{
	struct json_object *buckets = NULL;

	assert_string_equal(member(row, "state"), "unknown");
	assert_string_equal(member(row, "count"), "null");
	assert_string_equal(member(row, "p99_seconds"), "null");
	assert_string_equal(member(row, "longest_seconds"), "null");
	assert_string_equal(member(row, "sum_seconds"), "null");
	assert_true(json_object_object_get_ex(row, "buckets", &buckets));
	assert_int_equal(json_object_array_length(buckets), 0);
}

/* As one that found no free slot. */
static void a_container_that_is_not_counted_leaves_its_pod_unknown(void **state)
{
	struct group_status two;
	struct json_object *list;

	(void)state;
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-a/two", &two), 0);
	fake_side.uncounted = two.cgroup_id;
	list = query(controller, "latency");
	expect_unknown(find_row(list, "a", "two"));
	expect_unknown(find_row(list, "a", NULL));
	assert_string_equal(member(find_row(list, "a", "one"), "state"), "counted");
	assert_string_equal(member(find_row(list, "b", NULL), "state"), "counted");
	json_object_put(list);
}

static int fail_to_read_tree(void *self, struct group_tree *ret_tree)
{
	return -EIO;
}

/* Its cgroups remain in the desired tree until that can be made anew. */
static void a_pod_that_left_has_no_rows(void **state)
{
	struct json_object *list;

	(void)state;
	groups.read_tree = fail_to_read_tree;
	scan(controller, pods, 1);
	list = query(controller, "latency");
	assert_int_equal(json_object_array_length(list), 3);
	find_row(list, "a", NULL);
	json_object_put(list);
}

/* Its cgroup could not be published, so the BPF side does not count in it. */
static void a_container_that_is_not_published_is_not_counted(void **state)
{
	struct json_object *list;

	(void)state;
	controller_free(controller);
	unknown_path = "pinfold.slice/poduid-a/two";
	controller = start_node(&fake_side_port);
	scan(controller, pods, 2);
	list = query(controller, "latency");
	expect_unknown(find_row(list, "a", "two"));
	assert_string_equal(member(find_row(list, "a", "one"), "state"), "counted");
	json_object_put(list);
}

/* It has ended, as init containers do; its pod is the sum of the others. */
static void a_container_without_a_cgroup_does_not_count(void **state)
{
	static const char *const paths[] = {"pinfold.slice/poduid-a/one",
					    "pinfold.slice/poduid-a/two"};
	struct json_object *list;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		controller_free(controller);
		unknown_path = paths[i];
		unknown_error = -ENOENT;
		controller = start_node(&fake_side_port);
		scan(controller, pods, 2);
		list = query(controller, "latency");
		expect_unknown(find_row(list, "a", i ? "two" : "one"));
		assert_string_equal(member(find_row(list, "a", i ? "one" : "two"), "state"),
				    "counted");
		assert_string_equal(member(find_row(list, "a", NULL), "state"), "counted");
		assert_string_equal(member(find_row(list, "a", NULL), "count"),
				    member(find_row(list, "a", i ? "one" : "two"), "count"));
		json_object_put(list);
	}
}

/* None has begun. */
static void a_pod_without_any_cgroup_is_unknown(void **state)
{
	struct json_object *list;

	(void)state;
	controller_free(controller);
	unknown_path = "pinfold.slice/poduid-b/single";
	unknown_error = -ENOENT;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 2);
	list = query(controller, "latency");
	expect_unknown(find_row(list, "b", NULL));
	json_object_put(list);
}

static void without_bpf_nothing_is_counted(void **state)
{
	struct json_object *list;

	(void)state;
	controller_free(controller);
	controller = start_node(NULL);
	scan(controller, pods, 2);
	list = query(controller, "latency");
	expect_unknown(find_row(list, "a", "one"));
	json_object_put(list);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_pods, tear_down_pods)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_has_quantiles_with_both_bounds),
		TEST(a_pod_is_the_sum_of_its_containers),
		TEST(a_container_that_is_not_counted_leaves_its_pod_unknown),
		TEST(a_pod_that_left_has_no_rows),
		TEST(a_container_that_is_not_published_is_not_counted),
		TEST(a_container_without_a_cgroup_does_not_count),
		TEST(a_pod_without_any_cgroup_is_unknown),
		TEST(without_bpf_nothing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
