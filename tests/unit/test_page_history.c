// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Of which pods the page draws the last ten minutes, and that they are what the inspector prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/history_report.h"
#include "format/page.h"
#include "history_scene.h"

#define NR_PODS (PAGE_HISTORIES_MAX + 5)

/* The pod whose container has the largest id waits longest. */
static int count_by_id(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	*ret_usage = (struct usage){
		.run_local_ns = counted.run_ns,
		.wait_ns = {[WAIT_HOST] = counted.wait_ns * cgroup_id},
	};
	return 0;
}

/* And here the one with the smallest. */
static int count_by_falling_id(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	return count_by_id(self, FAKE_GROUPS + 1 - cgroup_id, ret_usage);
}

static struct view_history read_one(struct json_object *all, size_t i)
{
	struct view_history history;

	object_read(&view_history_desc, json_object_array_get_idx(all, i), &history);
	return history;
}

static struct json_object *samples_of(struct json_object *history)
{
	return object_list(&view_history_desc, history, &view_history_sample_desc);
}

static void those_that_waited_longest_come_first(void **state)
{
	struct controller *controller = start_counting_with(count_by_id, NULL);
	struct pod_spec *many[NR_PODS];
	struct json_object *all;
	uint64_t before = UINT64_MAX;

	for (int i = 0; i < NR_PODS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "pod-%d", i);
		many[i] = fake_pod(name, name, 10, false);
	}
	scan(controller, many, NR_PODS);
	pass_times(controller, 20);
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), PAGE_HISTORIES_MAX);
	for (size_t i = 0; i < PAGE_HISTORIES_MAX; i++) {
		const struct view_history history = read_one(all, i);
		const uint64_t id = id_of(GROUP_CONTAINER, history.pod);

		assert_null(history.container);
		assert_true(id < before);
		before = id;
	}
	/* Those that are left out waited less. */
	for (int i = 0; i < NR_PODS; i++)
		assert_true(id_of(GROUP_CONTAINER, many[i]->name) >= before ||
			    !strstr(json_object_to_json_string(all), many[i]->uid));
	json_object_put(all);
	controller_free(controller);
	free_pods(many, NR_PODS);
}

/* Waits for memory count as well, so they change no order if they are the same. */
static void the_order_is_that_of_all_waits(void **state)
{
	struct pod_spec *both[] = {fake_pod("pod-k", "pod-k", 10, false),
				   fake_pod("pod-l", "pod-l", 10, false)};

	for (int i = 0; i < 2; i++) {
		struct controller *controller =
			start_counting_with(i ? count_by_falling_id : count_by_id, NULL);
		uint64_t ids[2], memory_ns;
		struct json_object *all;

		scan(controller, both, 2);
		ids[0] = id_of(GROUP_CONTAINER, "pod-k");
		ids[1] = id_of(GROUP_CONTAINER, "pod-l");
		/* more than one of them waits for CPUs, and less than the other */
		memory_ns = 10 * MS * (ids[0] + ids[1]);
		if (i)
			memory_ns = 20 * MS * (FAKE_GROUPS + 1) - memory_ns;
		for (int j = 0; j < 20; j++) {
			fake_pressure.all.updated_total_ns[PRESSURE_MEMORY_SOME] += memory_ns;
			fake_pressure.all.total_ns[PRESSURE_MEMORY_SOME] += memory_ns;
			pass(controller);
			fake_pressure.all.updated_total_ns[PRESSURE_IO_SOME] = 0;
			fake_pressure.all.total_ns[PRESSURE_IO_SOME] = 0;
		}
		all = ctl_report_histories(controller);
		assert_int_equal(json_object_array_length(all), 2);
		assert_string_equal(read_one(all, 0).pod,
				    (ids[0] > ids[1]) == !i ? "pod-k" : "pod-l");
		json_object_put(all);
		controller_free(controller);
	}
	free_pods(both, 2);
}

/* Its containers have histories as well, but are not drawn. */
static void a_pod_with_several_containers_is_drawn_once(void **state)
{
	struct controller *controller = start_counting();
	struct pod_spec *mixed[] = {mixed_pod("m", "exclusive", 1000, 2000)};
	struct json_object *all;

	scan(controller, mixed, 1);
	pass_times(controller, 20);
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), 1);
	json_object_put(all);
	controller_free(controller);
	free_pods(mixed, 1);
}

static void nobody_who_did_not_wait_is_drawn(void **state)
{
	struct controller *controller = start_counting();
	struct json_object *all;

	scan(controller, pods, 2);
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), 0);
	json_object_put(all);
	controller_free(controller);
}

static int count_no_waits(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	*ret_usage = (struct usage){.run_local_ns = counted.run_ns};
	return 0;
}

/* For whom or what it waited, nobody knows. */
static int count_unattributed(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	*ret_usage = (struct usage){.run_local_ns = counted.run_ns,
				    .wait_ns = {[WAIT_UNATTRIBUTED] = counted.wait_ns}};
	return 0;
}

static void every_wait_and_nothing_else_makes_a_pod_one_that_waited(void **state)
{
	static int (*const usages[])(void *self, uint64_t cgroup_id, struct usage *ret_usage) = {
		count_no_waits, count_unattributed};

	for (size_t i = 0; i < ARRAY_SIZE(usages); i++) {
		struct controller *controller = start_counting_with(usages[i], NULL);
		struct json_object *all;

		scan(controller, pods, 1);
		for (int j = 0; j < 20; j++) {
			pass(controller);
			fake_pressure.all.updated_total_ns[PRESSURE_IO_SOME] = 0;
			fake_pressure.all.total_ns[PRESSURE_IO_SOME] = 0;
		}
		all = ctl_report_histories(controller);
		assert_int_equal(json_object_array_length(all), i);
		json_object_put(all);
		controller_free(controller);
	}
}

/* How long tasks waited for a CPU is not known, only that some did. */
static void pressure_alone_makes_a_pod_one_that_waited(void **state)
{
	struct controller *controller = start_counting();
	struct json_object *all;

	scan(controller, pods, 1);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	for (int i = 0; i < 20; i++) {
		fake_pressure.all.updated_total_ns[PRESSURE_CPU_SOME] += MS;
		fake_pressure.all.total_ns[PRESSURE_CPU_SOME] += MS;
		pass(controller);
		fake_pressure.all.updated_total_ns[PRESSURE_IO_SOME] = 0;
		fake_pressure.all.total_ns[PRESSURE_IO_SOME] = 0;
	}
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), 1);
	json_object_put(all);
	controller_free(controller);
}

static void the_first_sample_makes_a_pod_one_that_waited(void **state)
{
	struct controller *controller = start_counting();
	struct json_object *all;

	scan(controller, pods, 1);
	pass_times(controller, 2);
	read_fine(controller, "a", NULL);
	assert_int_equal(nr_samples, 1);
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), 1);
	json_object_put(all);
	controller_free(controller);
}

static void pods_that_waited_the_same_are_drawn_in_the_order_of_their_uids(void **state)
{
	struct controller *controller = start_counting();
	struct pressure_samples *kept = &controller->samples;
	struct sampled_group *first;
	struct json_object *all;

	scan(controller, pods, 2);
	pass_times(controller, 20);
	/* As if the first pod were of a runtime: those are measured last. */
	first = kept->groups[0];
	assert_string_equal(first->uid, "uid-a");
	memmove(&kept->groups[0], &kept->groups[1],
		(kept->nr - 1) * sizeof(struct sampled_group *));
	kept->groups[kept->nr - 1] = first;
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), 2);
	assert_string_equal(read_one(all, 0).pod, "a");
	json_object_put(all);
	controller_free(controller);
}

/* The samples are longer, and together they are the same time, run time, waits and pressure. */
static void the_sums_are_those_of_the_history(void **state)
{
	struct controller *controller = start_counting();
	struct view_history_sample fine = {0}, merged = {0};
	struct json_object *all, *list;

	scan(controller, pods, 1);
	pass_times(controller, 400);
	read_fine(controller, "a", NULL);
	assert_int_equal(nr_samples, PRESSURE_RING_FINE);
	for (size_t i = 0; i < nr_samples; i++) {
		fine.length_ns += samples[i].length_ns;
		fine.pressure_length_ns += samples[i].pressure_length_ns;
		fine.run_ns += samples[i].run_ns;
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			fine.cause_ns[cause] += samples[i].cause_ns[cause];
		fine.waited_ns[PRESSURE_IO_SOME] += samples[i].waited_ns[PRESSURE_IO_SOME];
	}
	all = ctl_report_histories(controller);
	assert_int_equal(json_object_array_length(all), 1);
	list = samples_of(json_object_array_get_idx(all, 0));
	assert_in_range(json_object_array_length(list), 60, 61);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct view_history_sample sample;

		object_read(&view_history_sample_desc, json_object_array_get_idx(list, i), &sample);
		assert_int_equal(sample.kind, HISTORY_SAMPLE);
		assert_in_range(sample.length_ns, S, PAGE_HISTORY_SAMPLE_NS);
		merged.length_ns += sample.length_ns;
		merged.pressure_length_ns += sample.pressure_length_ns;
		merged.run_ns += sample.run_ns;
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
			merged.cause_ns[cause] += sample.cause_ns[cause];
		merged.waited_ns[PRESSURE_IO_SOME] += sample.waited_ns[PRESSURE_IO_SOME];
	}
	assert_int_equal(merged.length_ns, fine.length_ns);
	assert_int_equal(merged.pressure_length_ns, fine.pressure_length_ns);
	assert_int_equal(merged.run_ns, fine.run_ns);
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		assert_int_equal(merged.cause_ns[cause], fine.cause_ns[cause]);
	assert_int_equal(merged.waited_ns[PRESSURE_IO_SOME], fine.waited_ns[PRESSURE_IO_SOME]);
	json_object_put(all);
	controller_free(controller);
}

/* For how long something is not known, and when the last gap ended. */
struct unknown {
	int64_t gaps_ns, usage_ns, pressure_ns;
	uint64_t gap_end_ns;
};

static struct unknown unknown_of(const struct view_history_sample *rows, size_t nr)
{
	struct unknown unknown = {0};

	for (size_t i = 0; i < nr; i++) {
		if (rows[i].kind == HISTORY_GAP) {
			unknown.gaps_ns += rows[i].length_ns;
			unknown.gap_end_ns = rows[i].time_ns;
		} else if (rows[i].run_ns < 0) {
			unknown.usage_ns += rows[i].length_ns;
		} else if (rows[i].pressure_length_ns < 0) {
			unknown.pressure_ns += rows[i].length_ns;
		}
	}
	return unknown;
}

/* What the page draws of the only pod that waited. Returns the number of samples and gaps. */
static size_t read_drawn(struct controller *controller, struct unknown *ret_unknown)
{
	struct view_history_sample drawn[2 * PRESSURE_RING_FINE];
	struct json_object *all = ctl_report_histories(controller), *list;
	size_t nr;

	assert_int_equal(json_object_array_length(all), 1);
	list = samples_of(json_object_array_get_idx(all, 0));
	nr = json_object_array_length(list);
	for (size_t i = 0; i < nr; i++)
		object_read(&view_history_sample_desc, json_object_array_get_idx(list, i),
			    &drawn[i]);
	json_object_put(all);
	*ret_unknown = unknown_of(drawn, nr);
	return nr;
}

/* Most of ten seconds, of which all is one sample of the page, are still to come. */
static void pass_until_ten_seconds_begin(struct controller *controller)
{
	do
		pass(controller);
	while (fake->now_ns % PAGE_HISTORY_SAMPLE_NS >= 2 * S);
}

static void expect_unknown_as_in_the_history(struct controller *controller)
{
	struct unknown fine, drawn;

	read_fine(controller, "a", NULL);
	fine = unknown_of(samples, nr_samples);
	read_drawn(controller, &drawn);
	assert_true(fine.gaps_ns + fine.pressure_ns > 0);
	assert_int_equal(drawn.gaps_ns, fine.gaps_ns);
	assert_int_equal(drawn.gap_end_ns, fine.gap_end_ns);
	assert_int_equal(drawn.usage_ns, fine.usage_ns);
	assert_int_equal(drawn.pressure_ns, fine.pressure_ns);
}

static void what_is_unknown_within_ten_seconds_stays_unknown(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 10);
	pass_until_ten_seconds_begin(controller);
	fake_pressure.all.state = PRESSURE_OFF;
	pass_times(controller, 2);
	expect_unknown_as_in_the_history(controller);
	/* Now nothing at all is known of two passes. */
	pass_until_ten_seconds_begin(controller);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass(controller);
	counted.unknown = 0;
	pass_times(controller, 2);
	expect_unknown_as_in_the_history(controller);
	controller_free(controller);
}

/* Where only the pressure is known, the kernel's period is the length of a sample. */
static void up_to_a_second_does_not_part_what_is_drawn(void **state)
{
	struct controller *controller = start_counting();
	struct unknown unknown;
	size_t nr;

	scan(controller, pods, 1);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 10);
	pass_until_ten_seconds_begin(controller);
	nr = read_drawn(controller, &unknown);
	fake_pressure.all.updated_ns -= S;
	pass(controller);
	assert_int_equal(read_drawn(controller, &unknown), nr);
	assert_int_equal(unknown.gaps_ns, 0);
	controller_free(controller);
}

/* Nothing is put into a gap, and what is not known is not 0. */
static void gaps_stay_gaps(void **state)
{
	struct controller *controller = start_counting();
	struct json_object *all, *list;
	size_t nr_merged_gaps = 0, nr_without_usage = 0;

	scan(controller, pods, 1);
	pass_times(controller, 20);
	fake_pressure.result = -EIO;
	pass_times(controller, 20);
	fake_pressure.result = 0;
	pass_times(controller, 20);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 11);
	all = ctl_report_histories(controller);
	list = samples_of(json_object_array_get_idx(all, 0));
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct view_history_sample sample;

		object_read(&view_history_sample_desc, json_object_array_get_idx(list, i), &sample);
		if (sample.kind == HISTORY_GAP) {
			nr_merged_gaps++;
			assert_in_range(sample.length_ns, 40 * S, 44 * S);
		}
		nr_without_usage += sample.kind == HISTORY_SAMPLE && sample.run_ns < 0;
	}
	assert_int_equal(nr_merged_gaps, 1);
	assert_in_range(nr_without_usage, 2, 4);
	json_object_put(all);
	controller_free(controller);
}

static void the_page_has_the_lines(void **state)
{
	struct controller *controller = start_counting();
	const struct faces_port *faces = controller_faces(controller);
	struct face_page page;

	scan(controller, pods, 2);
	pass_times(controller, 20);
	assert_int_equal(faces->page(faces->self, &page), 0);
	assert_non_null(strstr(page.data, "<polyline class=line-io "));
	assert_non_null(strstr(page.data, "waited for IO 50% on average, 50% at most"));
	assert_non_null(strstr(page.data, "ran 0.5 on average, 0.5 at most"));
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HISTORY_TEST(those_that_waited_longest_come_first),
		HISTORY_TEST(nobody_who_did_not_wait_is_drawn),
		HISTORY_TEST(the_order_is_that_of_all_waits),
		HISTORY_TEST(a_pod_with_several_containers_is_drawn_once),
		HISTORY_TEST(every_wait_and_nothing_else_makes_a_pod_one_that_waited),
		HISTORY_TEST(pressure_alone_makes_a_pod_one_that_waited),
		HISTORY_TEST(the_first_sample_makes_a_pod_one_that_waited),
		HISTORY_TEST(pods_that_waited_the_same_are_drawn_in_the_order_of_their_uids),
		HISTORY_TEST(the_sums_are_those_of_the_history),
		HISTORY_TEST(what_is_unknown_within_ten_seconds_stays_unknown),
		HISTORY_TEST(up_to_a_second_does_not_part_what_is_drawn),
		HISTORY_TEST(gaps_stay_gaps),
		HISTORY_TEST(the_page_has_the_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
