// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* What each pass adds to the history of pods and containers, and what the agent answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_scene.h"

static void each_pass_adds_a_sample(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 2);
	/* The first pass has nothing to compare with; pressure is settled after two periods. */
	pass_times(controller, 11);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 10);
	assert_int_equal(nr_gaps, 0);
	for (size_t i = 0; i < nr_samples; i++) {
		assert_int_equal(samples[i].length_ns, 2 * S);
		assert_int_equal(samples[i].run_ns, S);
		assert_int_equal(samples[i].cause_ns[WAIT_HOST], 20 * MS);
		assert_int_equal(samples[i].cause_ns[WAIT_KERNEL], 0);
		if (i)
			assert_int_equal(samples[i].time_ns - samples[i - 1].time_ns, 2 * S);
		if (i < 2) {
			assert_int_equal(samples[i].waited_ns[PRESSURE_IO_SOME], -1);
			continue;
		}
		assert_int_equal(samples[i].pressure_length_ns, 2 * S);
		assert_int_equal(samples[i].waited_ns[PRESSURE_IO_SOME], S);
		assert_int_equal(samples[i].waited_ns[PRESSURE_IO_FULL], 0);
	}
	assert_int_equal(nr_shares[9], 6);
	assert_int_equal(samples[9].time_ns, wall_now(NULL));
	controller_free(controller);
}

static void shares_are_shown(void **state)
{
	struct controller *controller = start_counting();
	struct json_object *json;
	char text[16];

	scan(controller, pods, 1);
	pass_times(controller, 11);
	json = ask(controller, "uid-a", NULL, PRESSURE_SPAN_10M, 200);
	snprintf(text, sizeof(text), "%s", member(json, "span"));
	assert_string_equal(text, "10m");
	assert_string_equal(member(json, "container"), "null");
	json_object_put(json);
	json = ask(controller, "a", "exclusive", PRESSURE_SPAN_10M, 200);
	assert_string_equal(
		member(json_object_array_get_idx(
			       object_list(&view_history_desc, json, &view_history_sample_desc), 9),
		       "io_some"),
		"50.00");
	json_object_put(json);
	controller_free(controller);
}

/* The pressure is the pod's own; run time and waits are the sums of its containers'. */
static void a_pod_is_the_sum_of_its_containers(void **state)
{
	struct pod_spec *full[NR_FULL_TREE_PODS];
	struct controller *controller = start_counting();
	size_t nr_containers;

	make_full_tree(full);
	nr_containers = full[0]->nr_containers;
	assert_true(nr_containers > 1);
	scan(controller, full, NR_FULL_TREE_PODS);
	pass_times(controller, 6);
	read_fine(controller, "m", NULL);
	assert_int_equal(nr_samples, 5);
	for (size_t i = 0; i < nr_samples; i++) {
		assert_int_equal(samples[i].run_ns, nr_containers * S);
		assert_int_equal(samples[i].cause_ns[WAIT_HOST], nr_containers * 20 * MS);
		assert_int_equal(samples[i].cause_ns[WAIT_UNATTRIBUTED], nr_containers * 10 * MS);
	}
	assert_int_equal(samples[4].waited_ns[PRESSURE_IO_SOME], S);
	read_fine(controller, "p5", NULL);
	assert_int_equal(samples[4].run_ns, S);
	controller_free(controller);
	free_pods(full, NR_FULL_TREE_PODS);
}

/* A container's path in the last publication: with another first character it has no cgroup. */
static char *published_path(struct controller *controller, const char *container)
{
	const struct group *group = lookup_group(&controller->desired, "uid-m", container);
	struct publisher *publisher = &controller->publisher;

	assert_non_null(group);
	for (uint32_t i = 0; i < publisher->nr; i++)
		if (!strcmp(publisher->rows[i].path, group->path))
			return publisher->rows[i].path;
	fail_msg("%s is not published", container);
	return NULL;
}

static void a_sum_needs_all_containers_that_run(void **state)
{
	struct pod_spec *full[NR_FULL_TREE_PODS];
	struct controller *controller = start_counting();
	size_t nr_containers;
	char *path, begin;

	make_full_tree(full);
	nr_containers = full[0]->nr_containers;
	scan(controller, full, NR_FULL_TREE_PODS);
	pass_times(controller, 3);
	/* One has no counters: the sum of the others is not the pod's. */
	counted.unknown = id_of(GROUP_CONTAINER, full[0]->containers[0].name);
	pass(controller);
	counted.unknown = 0;
	pass_times(controller, 2);
	read_fine(controller, "m", NULL);
	assert_int_equal(nr_samples, 5);
	assert_int_equal(samples[1].run_ns, nr_containers * S);
	assert_int_equal(samples[2].run_ns, -1);
	assert_int_equal(samples[3].run_ns, -1);
	assert_int_equal(samples[4].run_ns, nr_containers * S);
	/* One that ends leaves a gap, and then the others are all. */
	path = published_path(controller, full[0]->containers[0].name);
	begin = *path;
	*path = '-';
	pass_times(controller, 2);
	read_fine(controller, "m", NULL);
	assert_int_equal(nr_samples, 7);
	assert_int_equal(samples[5].run_ns, -1);
	assert_int_equal(samples[6].run_ns, (nr_containers - 1) * S);
	/* So does one that starts. */
	*path = begin;
	pass_times(controller, 2);
	read_fine(controller, "m", NULL);
	assert_int_equal(nr_samples, 9);
	assert_int_equal(samples[7].run_ns, -1);
	assert_int_equal(samples[8].run_ns, nr_containers * S);
	/* A minute has the waits of just the passes whose run time it has. */
	pass_times(controller, 60);
	read_history(controller, "m", NULL, PRESSURE_SPAN_24H);
	assert_in_range(nr_samples, 2, 3);
	for (size_t i = 0; i < nr_samples; i++)
		assert_int_equal(samples[i].cause_ns[WAIT_HOST], samples[i].run_ns / 50);
	controller_free(controller);
	free_pods(full, NR_FULL_TREE_PODS);
}

/* Two passes see one update, and the one after it comes early: nothing counts twice. */
static void the_kernel_updates_at_other_moments(void **state)
{
	struct controller *controller = start_counting();
	int64_t waited_ns = 0, length_ns = 0;

	scan(controller, pods, 1);
	pass_times(controller, 5);
	for (int i = 0; i < 10; i++) {
		fake->now_ns += 2 * S;
		controller_tick(controller);
		fake_pressure.all.updated_ns -= 100 * MS;
		pass(controller);
	}
	pass_times(controller, 5);
	read_fine(controller, "a", "exclusive");
	for (size_t i = 0; i < nr_samples; i++) {
		if (samples[i].pressure_length_ns < 0)
			continue;
		waited_ns += samples[i].waited_ns[PRESSURE_IO_SOME];
		length_ns += samples[i].pressure_length_ns;
	}
	/* From the first update to two periods before now. */
	assert_int_equal(length_ns, (5 - 1 + 10 + 5 - 2) * 2 * S - 10 * 100 * MS);
	assert_int_equal(waited_ns, (5 - 1 + 10 + 5 - 2) * S);
	controller_free(controller);
}

static void minutes_are_added_up(void **state)
{
	struct controller *controller = start_counting();
	int64_t run_ns = 0;

	scan(controller, pods, 1);
	pass_times(controller, 4 * 30);
	read_history(controller, "a", "exclusive", PRESSURE_SPAN_24H);
	assert_in_range(nr_samples, 3, 4);
	for (size_t i = 0; i < nr_samples; i++)
		run_ns += samples[i].run_ns;
	/* All but the first pass, and the minute that has not ended. */
	assert_in_range((uint64_t)run_ns, 90 * S - 1, 119 * S);
	assert_int_equal(samples[1].run_ns, 30 * S);
	assert_int_equal(samples[1].length_ns, 60 * S);
	assert_int_equal(nr_gaps, 0);
	controller_free(controller);
}

static void sums_are_what_the_totals_grew_by(void **state)
{
	struct controller *controller = start_counting();
	int64_t run_ns = 0, waited_ns = 0;

	scan(controller, pods, 1);
	pass_times(controller, 101);
	/* Nothing more happens until all is settled. */
	for (int i = 0; i < 4; i++) {
		fake->now_ns += 2 * S;
		controller_tick(controller);
	}
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 104);
	for (size_t i = 0; i < nr_samples; i++) {
		run_ns += samples[i].run_ns;
		if (samples[i].waited_ns[PRESSURE_IO_SOME] > 0)
			waited_ns += samples[i].waited_ns[PRESSURE_IO_SOME];
	}
	assert_int_equal(run_ns, 100 * S);
	/* The first pass is the beginning of what is known. */
	assert_int_equal(waited_ns, 100 * S);
	controller_free(controller);
}

/* --- answers ------------------------------------------------------------------------------------- */

static void who_is_not_there_has_no_history(void **state)
{
	const struct faces_port *faces;
	struct controller *controller = start_counting();
	struct json_object *json = NULL;
	unsigned int status = 0;

	scan(controller, pods, 1);
	json_object_put(ask(controller, "nobody", NULL, PRESSURE_SPAN_10M, 404));
	json_object_put(ask(controller, "a", "nobody", PRESSURE_SPAN_10M, 404));
	faces = controller_faces(controller);
	assert_int_equal(
		faces->command(faces->self, 1, "pressure", "history", NULL, 1, &json, &status), 0);
	assert_int_equal(status, 400);
	json_object_put(json);
	/* Before the first pass it is empty, and takes no memory. */
	read_fine(controller, "a", NULL);
	assert_int_equal(nr_samples, 0);
	json = ask(controller, "a", NULL, PRESSURE_SPAN_10M, 200);
	assert_string_equal(member(json, "memory_bytes"), "0");
	json_object_put(json);
	pass(controller);
	json = ask(controller, "a", NULL, PRESSURE_SPAN_10M, 200);
	assert_int_equal(atoi(member(json, "memory_bytes")), sizeof(struct sampled_group));
	json_object_put(json);
	controller_free(controller);
}

/* A body of another version, or of nobody's program, may lack the span or ask for one there is not. */
static void the_span_is_one_of_those_there_are(void **state)
{
	static const char *const bodies[] = {
		"{\"pod\": \"default/a\"}",
		"{\"pod\": \"default/a\", \"span\": null}",
		"{\"pod\": \"default/a\", \"span\": \"1h\"}",
		"{\"pod\": \"default/a\", \"span\": 1}",
	};
	struct controller *controller = start_counting();
	const struct faces_port *faces = controller_faces(controller);

	scan(controller, pods, 1);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct json_object *body = json_tokener_parse(bodies[i]), *json = NULL;
		unsigned int status = 0;

		assert_non_null(body);
		assert_int_equal(faces->command(faces->self, 1, "pressure", "history", body, 1,
						&json, &status),
				 0);
		assert_int_equal(status, 400);
		assert_string_equal(member(json, "error"),
				    "pressure history: \"span\" must be \"10m\" or \"24h\"");
		json_object_put(json);
		json_object_put(body);
	}
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HISTORY_TEST(each_pass_adds_a_sample),
		HISTORY_TEST(shares_are_shown),
		HISTORY_TEST(a_pod_is_the_sum_of_its_containers),
		HISTORY_TEST(a_sum_needs_all_containers_that_run),
		HISTORY_TEST(the_kernel_updates_at_other_moments),
		HISTORY_TEST(minutes_are_added_up),
		HISTORY_TEST(sums_are_what_the_totals_grew_by),
		HISTORY_TEST(who_is_not_there_has_no_history),
		HISTORY_TEST(the_span_is_one_of_those_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
