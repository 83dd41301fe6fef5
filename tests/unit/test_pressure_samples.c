// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The history of pods and containers: what is added to it pass by pass, what leaves a gap, whose
 * it is after a restart, and what the agent answers.
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_pressure.h"
#include "ctl/internal.h"
#include "format/view_objects.h"
#include "format/views.h"
#include "mixed_pod.h"
#include "two_pods_scene.h"

#define MS 1000000ULL

/* What every container has run and waited for the host so far, but for the cgroup `of`. */
static struct {
	uint64_t run_ns, wait_ns;
	uint64_t of, of_run_ns;
	uint64_t unknown;
} counted;

static int count_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	uint64_t run_ns;

	if (cgroup_id == counted.unknown)
		return -ENOENT;
	/* A quarter of the run time each far from its memory and on the CPUs of others. */
	run_ns = cgroup_id == counted.of ? counted.of_run_ns : counted.run_ns;
	*ret_usage = (struct usage){
		.run_local_ns = run_ns / 2,
		.run_remote_ns = run_ns / 4,
		.run_outside_ns = run_ns / 4,
		.wait_ns =
			{
				[WAIT_UNATTRIBUTED] = counted.wait_ns / 2,
				[WAIT_HOST] = counted.wait_ns,
			},
	};
	return 0;
}

static struct kernel_port kernel;

/* The wall clock is ahead of CLOCK_MONOTONIC. */
static uint64_t wall_now(void *self)
{
	return fake->now_ns + 1000000 * S;
}

static const struct clock_port clock_port = {.now_ns = fake_now, .wall_ns = wall_now, .cpu_ns = fake_cpu};

static struct controller *start_counting(void)
{
	struct controller *controller;

	kernel = fake_side_port;
	kernel.usage = count_usage;
	controller = make_node_with(
		(struct controller_ports){.kernel = &kernel, .pressure = &fake_pressure_port});
	controller->ports.clock = &clock_port;
	fake_pressure.sink = controller_pressure_sink(controller);
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static int set_up_history(void **state)
{
	memset(&counted, 0, sizeof(counted));
	memset(&fake_pressure, 0, sizeof(fake_pressure));
	fake_pressure.all.state = PRESSURE_MEASURED;
	fake_pressure.all.updated_ns = 100 * S;
	if (set_up_pods(state))
		return -1;
	/* Long after the node started. */
	fake->now_ns += 1000 * S;
	return 0;
}

/*
 * Two seconds in which every container ran one second, waited 20 ms for the host and 10 ms for
 * nobody knows whom, and every cgroup waited half of the time for IO.
 */
static void pass(struct controller *controller)
{
	fake->now_ns += 2 * S;
	counted.run_ns += S;
	counted.of_run_ns += S;
	counted.wait_ns += 20 * MS;
	fake_pressure.all.updated_ns += 2 * S;
	fake_pressure.all.updated_total_ns[PRESSURE_IO_SOME] += S;
	fake_pressure.all.total_ns[PRESSURE_IO_SOME] += S;
	controller_tick(controller);
}

static void pass_times(struct controller *controller, int nr)
{
	for (int i = 0; i < nr; i++)
		pass(controller);
}

static uint64_t id_of(enum group_role role, const char *name)
{
	struct group_status status;
	char path[GROUP_PATH_MAX];

	snprintf(path, sizeof(path), "%s", group_of(role, name)->path);
	assert_int_equal(fake_status(NULL, path, &status), 0);
	return status.cgroup_id;
}

static struct json_object *ask(struct controller *controller, const char *pod,
			       const char *container, enum pressure_span span, unsigned int wanted)
{
	const struct view_history_request request = {pod, container, span};
	struct json_object *body = object_json(&view_history_request_desc, &request, 1);
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;
	unsigned int status = 0;

	assert_int_equal(
		faces->command(faces->self, 1, "pressure", "history", body, 1, &json, &status), 0);
	if (status != wanted)
		fail_msg("status %u instead of %u: %s", status, wanted,
			 json_object_to_json_string(json));
	json_object_put(body);
	return json;
}

static struct view_history_sample samples[2 * PRESSURE_RING_MINUTES];
static int nr_shares[2 * PRESSURE_RING_MINUTES]; /* that are not null */
static size_t nr_samples, nr_gaps;

/* Unknown is not 0. */
static void expect_no_pressure(size_t i)
{
	assert_int_equal(nr_shares[i], 0);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		assert_int_equal(samples[i].waited_ns[kind], -1);
	assert_int_equal(samples[i].pressure_length_ns, -1);
}

static void expect_no_usage(size_t i)
{
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		assert_int_equal(samples[i].cause_ns[cause], -1);
	assert_int_equal(samples[i].run_ns, -1);
}

static int count_shares(struct json_object *sample)
{
	static const char *const shares[] = {"cpu_some",    "cpu_full", "memory_some",
					     "memory_full", "io_some",	"io_full"};
	int nr = 0;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		nr += strcmp(member(sample, shares[i]), "null") != 0;
	return nr;
}

/* Read them into `samples`. */
static void read_history(struct controller *controller, const char *pod, const char *container,
			 enum pressure_span span)
{
	struct json_object *json = ask(controller, pod, container, span, 200);
	struct json_object *list = object_list(&view_history_desc, json, &view_history_sample_desc);

	nr_samples = json_object_array_length(list);
	nr_gaps = 0;
	for (size_t i = 0; i < nr_samples; i++) {
		object_read(&view_history_sample_desc, json_object_array_get_idx(list, i),
			    &samples[i]);
		nr_shares[i] = count_shares(json_object_array_get_idx(list, i));
		nr_gaps += samples[i].kind == HISTORY_GAP;
	}
	json_object_put(json);
}

static void read_fine(struct controller *controller, const char *pod, const char *container)
{
	read_history(controller, pod, container, PRESSURE_SPAN_10M);
}

/* --- what is added ------------------------------------------------------------------------------- */

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

/* --- gaps ---------------------------------------------------------------------------------------- */

static void passes_that_fail(struct controller *controller, int nr)
{
	fake_pressure.result = -EIO;
	pass_times(controller, nr);
	fake_pressure.result = 0;
}

static void after_a_pass_that_fails_the_sample_is_longer(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	passes_that_fail(controller, 1);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 4 + 1 + 2);
	assert_int_equal(nr_gaps, 0);
	assert_int_equal(samples[4].length_ns, 4 * S);
	assert_int_equal(samples[4].run_ns, 2 * S);
	controller_free(controller);
}

static void passes_that_keep_failing_are_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	passes_that_fail(controller, 8);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	/* Four samples; the failed passes and the first one after them; two samples. */
	assert_int_equal(nr_samples, 4 + 1 + 2);
	assert_int_equal(nr_gaps, 1);
	assert_int_equal(samples[4].kind, HISTORY_GAP);
	assert_int_equal(samples[4].length_ns, 18 * S);
	expect_no_usage(4);
	expect_no_pressure(4);
	assert_int_equal(samples[5].run_ns, S);
	controller_free(controller);
}

static void minutes_without_a_sample_are_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 2 * 30);
	passes_that_fail(controller, 5 * 30);
	pass_times(controller, 2 * 30);
	read_history(controller, "a", "exclusive", PRESSURE_SPAN_24H);
	assert_int_equal(nr_gaps, 1);
	for (size_t i = 0; i < nr_samples; i++)
		if (samples[i].kind == HISTORY_GAP)
			assert_in_range(samples[i].length_ns, 4 * 60 * S, 5 * 60 * S);
	controller_free(controller);
}

/* Where only the pressure is known, the kernel's period is the length of a sample. */
static void up_to_a_second_is_not_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 6);
	fake_pressure.all.updated_ns -= S;
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(samples[nr_samples - 1].length_ns, S);
	assert_int_equal(nr_gaps, 0);
	fake_pressure.all.updated_ns -= S + 2 * MS;
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 1);
	controller_free(controller);
}

static void a_late_pass_is_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	fake->now_ns += 15 * S;
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 5);
	assert_int_equal(nr_gaps, 0);
	assert_int_equal(samples[4].length_ns, 17 * S);
	fake->now_ns += 15 * S + 1;
	pass(controller);
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 7);
	assert_int_equal(nr_gaps, 1);
	assert_int_equal(samples[5].kind, HISTORY_GAP);
	controller_free(controller);
}

/* After a pass that took long the agent pauses, and what grows meanwhile is known all the same. */
static void a_long_pause_is_a_long_sample(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 3);
	fake_pressure.is_slow = true;
	pass(controller);
	fake->now_ns += S;
	fake_pressure_end();
	fake_pressure.is_slow = false;
	pass_times(controller, 9);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 0);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 0);
	/* After a pass that took a second the next one begins not before 20 s have passed. */
	assert_int_equal(nr_samples, 2 + 1 + 3);
	assert_int_equal(samples[2].length_ns, 3 * S);
	assert_int_equal(samples[3].length_ns, 20 * S);
	assert_int_equal(samples[3].run_ns, 10 * S);
	controller_free(controller);
}

static void the_time_since_the_last_sample_may_be_a_gap(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	fake->now_ns += 5 * S;
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 0);
	fake->now_ns++;
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_gaps, 1);
	assert_int_equal(samples[nr_samples - 1].time_ns, wall_now(NULL));
	assert_int_equal(samples[nr_samples - 1].length_ns, 5 * S + 1);
	controller_free(controller);
}

static void what_is_not_measured_is_not_known(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	fake_pressure.all.state = PRESSURE_OFF;
	pass_times(controller, 5);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 4);
	assert_int_equal(samples[3].run_ns, S);
	expect_no_pressure(3);
	fake_pressure.all.state = PRESSURE_MEASURED;
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 5);
	read_fine(controller, "a", "exclusive");
	expect_no_usage(nr_samples - 1);
	assert_int_equal(samples[nr_samples - 1].waited_ns[PRESSURE_IO_SOME], S);
	/* Nor is the sum of its pod. */
	read_fine(controller, "a", NULL);
	assert_int_equal(samples[nr_samples - 1].run_ns, -1);
	assert_int_equal(samples[nr_samples - 1].waited_ns[PRESSURE_IO_SOME], S);
	controller_free(controller);
}

static void counters_that_begin_anew_are_not_a_sample(void **state)
{
	struct controller *controller = start_counting();

	scan(controller, pods, 1);
	pass_times(controller, 5);
	counted.of = id_of(GROUP_CONTAINER, "exclusive");
	counted.of_run_ns = 0;
	pass(controller);
	pass(controller);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 6);
	assert_int_equal(samples[4].run_ns, -1);
	assert_int_equal(samples[5].run_ns, S);
	read_fine(controller, "a", NULL);
	assert_int_equal(samples[4].run_ns, -1);
	assert_int_equal(samples[5].run_ns, S);
	controller_free(controller);
}

/* --- who has a ring ------------------------------------------------------------------------------ */

static void pods_come_and_go(void **state)
{
	struct controller *controller = start_counting();
	struct pod_spec *only_b[] = {pods[1]};

	scan(controller, pods, 2);
	pass_times(controller, 5);
	assert_int_equal(controller->samples.nr, 4);
	assert_non_null(pressure_samples_find(&controller->samples, "uid-a", ""));
	scan(controller, only_b, 1);
	pass_times(controller, 5);
	assert_int_equal(controller->samples.nr, 2);
	assert_null(pressure_samples_find(&controller->samples, "uid-a", ""));
	assert_null(pressure_samples_find(&controller->samples, "uid-a", "exclusive"));
	/* The others keep what they have. */
	read_fine(controller, "b", "web");
	assert_int_equal(nr_samples, 9);
	assert_int_equal(nr_gaps, 0);
	/* A pod that comes again begins anew. */
	scan(controller, pods, 2);
	pass_times(controller, 3);
	read_fine(controller, "a", "exclusive");
	assert_int_equal(nr_samples, 2);
	read_fine(controller, "b", "web");
	assert_int_equal(nr_samples, 12);
	controller_free(controller);
}

/* 0 where a sanitizer has replaced the allocator, which then counts nothing. */
static size_t nr_allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* 250 pods of one container each: what a ring costs, and that passes add nothing to it. */
static void memory_is_bounded(void **state)
{
	enum { NR = 250 };
	struct pressure_samples *all;
	struct controller *controller = start_counting();
	struct group_tree before = controller->desired;
	size_t begin, full, expected = 2 * NR * sizeof(struct sampled_group);

	memset(&controller->desired, 0, sizeof(controller->desired));
	for (int i = 0; i < 2 * NR; i++) {
		struct group *group = group_tree_add(&controller->desired,
						     i % 2 ? GROUP_CONTAINER : GROUP_POD, "x");

		assert_non_null(group);
		snprintf(group->uid, sizeof(group->uid), "uid-%d", i / 2);
		snprintf(group->container, sizeof(group->container), "%s", i % 2 ? "main" : "");
	}
	begin = nr_allocated();
	ctl_add_pressure_samples(controller);
	full = nr_allocated();
	all = &controller->samples;
	assert_int_equal(all->nr, 2 * NR);
	if (begin)
		assert_in_range(full - begin, expected, expected + expected / 100);
	print_message("# %d rings take %zu bytes, %zu each\n", 2 * NR, full - begin,
		      (full - begin) / (2 * NR));
	for (int i = 0; i < 100; i++) {
		fake->now_ns += 2 * S;
		ctl_add_pressure_samples(controller);
	}
	assert_int_equal(nr_allocated(), full);
	group_tree_fini(&controller->desired);
	ctl_add_pressure_samples(controller);
	assert_int_equal(all->nr, 0);
	assert_true(nr_allocated() <= begin + 1000);
	controller->desired = before;
	controller_free(controller);
}

/*
 * The desired tree of the tests below has only the root and what they add. Of a pod only its
 * number matters.
 */
static void want_nothing(struct controller *controller)
{
	group_tree_fini(&controller->desired);
	assert_non_null(group_tree_add(&controller->desired, GROUP_ROOT, "root"));
}

static void want(struct controller *controller, enum group_role role, const char *path,
		 uint32_t pod, const char *container)
{
	struct group *group = group_tree_add(&controller->desired, role, path);

	assert_non_null(group);
	snprintf(group->uid, sizeof(group->uid), "uid-%u", pod);
	snprintf(group->container, sizeof(group->container), "%s", container);
}

static void want_pod(struct controller *controller, uint32_t pod)
{
	want(controller, GROUP_POD, "x", pod, "");
}

static void sample(struct controller *controller)
{
	fake->now_ns += 2 * S;
	ctl_add_pressure_samples(controller);
}

static void want_pods(struct controller *controller, uint32_t first, uint32_t end)
{
	want_nothing(controller);
	for (uint32_t i = first; i < end; i++)
		want_pod(controller, i);
	sample(controller);
}

static const struct sampled_group *ring_of(const struct controller *controller, uint32_t pod,
					   const char *container)
{
	char uid[POD_UID_MAX];

	snprintf(uid, sizeof(uid), "uid-%u", pod);
	return pressure_samples_find(&controller->samples, uid, container);
}

static void rings_follow_their_pods(void **state)
{
	struct controller *controller = start_counting();
	const struct pressure_samples *all = &controller->samples;
	struct group_tree before = controller->desired;
	const struct sampled_group *second, *third, *fourth;

	memset(&controller->desired, 0, sizeof(controller->desired));
	want_pods(controller, 0, 3);
	second = ring_of(controller, 1, "");
	third = ring_of(controller, 2, "");
	/* The first one leaves. */
	want_pods(controller, 1, 3);
	assert_int_equal(all->nr, 2);
	assert_null(ring_of(controller, 0, ""));
	assert_ptr_equal(ring_of(controller, 1, ""), second);
	assert_ptr_equal(ring_of(controller, 2, ""), third);
	/* Another one comes after them. */
	want_pods(controller, 1, 4);
	assert_int_equal(all->nr, 3);
	assert_ptr_equal(ring_of(controller, 1, ""), second);
	assert_ptr_equal(ring_of(controller, 2, ""), third);
	fourth = ring_of(controller, 3, "");
	assert_non_null(fourth);
	/* The one in the middle leaves. */
	want_nothing(controller);
	want_pod(controller, 1);
	want_pod(controller, 3);
	sample(controller);
	assert_int_equal(all->nr, 2);
	assert_ptr_equal(ring_of(controller, 1, ""), second);
	assert_ptr_equal(ring_of(controller, 3, ""), fourth);
	/* As many others take their places. */
	want_pods(controller, 4, 6);
	assert_int_equal(all->nr, 2);
	assert_null(ring_of(controller, 1, ""));
	assert_non_null(ring_of(controller, 4, ""));
	assert_non_null(ring_of(controller, 5, ""));
	/* The last one leaves. */
	want_pods(controller, 4, 5);
	assert_int_equal(all->nr, 1);
	want_pods(controller, 5, 5);
	assert_int_equal(all->nr, 0);
	group_tree_fini(&controller->desired);
	controller->desired = before;
	controller_free(controller);
}

static void rings_follow_their_containers(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before = controller->desired;
	const struct sampled_group *first, *last;

	memset(&controller->desired, 0, sizeof(controller->desired));
	want_nothing(controller);
	want_pod(controller, 0);
	want(controller, GROUP_CONTAINER, "x", 0, "first");
	want(controller, GROUP_CONTAINER, "x", 0, "last");
	sample(controller);
	first = ring_of(controller, 0, "first");
	last = ring_of(controller, 0, "last");
	assert_string_equal(first->container, "first");
	assert_string_equal(last->container, "last");
	/* One between them takes nobody's. */
	want_nothing(controller);
	want_pod(controller, 0);
	want(controller, GROUP_CONTAINER, "x", 0, "first");
	want(controller, GROUP_CONTAINER, "x", 0, "new");
	want(controller, GROUP_CONTAINER, "x", 0, "last");
	sample(controller);
	assert_int_equal(controller->samples.nr, 4);
	assert_ptr_equal(ring_of(controller, 0, "first"), first);
	assert_ptr_equal(ring_of(controller, 0, "last"), last);
	assert_non_null(ring_of(controller, 0, "new"));
	group_tree_fini(&controller->desired);
	controller->desired = before;
	controller_free(controller);
}

static enum history_state state_of(struct controller *controller, const char *pod)
{
	struct json_object *json = ask(controller, pod, NULL, PRESSURE_SPAN_10M, 200);
	struct view_history row;

	object_read(&view_history_desc, json, &row);
	assert_int_equal(row.histories_max, PRESSURE_SAMPLES_MAX);
	json_object_put(json);
	return row.state;
}

/* A pod without a ring, first because no pass has been made, then because there is none left. */
static void why_there_is_no_history(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before;

	scan(controller, pods, 1);
	assert_int_equal(state_of(controller, "a"), HISTORY_AWAITED);
	before = controller->desired;
	memset(&controller->desired, 0, sizeof(controller->desired));
	want_pods(controller, 0, PRESSURE_SAMPLES_MAX);
	assert_int_equal(state_of(controller, "a"), HISTORY_LEFT_OUT);
	group_tree_fini(&controller->desired);
	controller->desired = before;
	ctl_add_pressure_samples(controller);
	assert_int_equal(state_of(controller, "a"), HISTORY_KEPT);
	controller_free(controller);
}

static void more_groups_than_rings_are_left_out(void **state)
{
	struct controller *controller = start_counting();
	const struct pressure_samples *all = &controller->samples;
	struct group_tree before = controller->desired;

	memset(&controller->desired, 0, sizeof(controller->desired));
	want_pods(controller, 3, 3 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr, PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 0);
	/* New ones that come last get none. */
	want_pods(controller, 3, 5 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr, PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 2);
	want_pods(controller, 3, 4 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 1);
	/* New ones that come first take nobody's ring. */
	for (int i = 0; i < 3; i++) {
		want_pods(controller, 0, 3 + PRESSURE_SAMPLES_MAX);
		assert_int_equal(all->nr, PRESSURE_SAMPLES_MAX);
		assert_int_equal(all->nr_left_out, 3);
		assert_null(pressure_samples_find(all, "uid-2", ""));
		assert_non_null(pressure_samples_find(all, "uid-1026", ""));
	}
	/* When others have left there is room. */
	want_pods(controller, 0, 1 + PRESSURE_SAMPLES_MAX);
	assert_int_equal(all->nr_left_out, 1);
	assert_non_null(pressure_samples_find(all, "uid-1", ""));
	assert_null(pressure_samples_find(all, "uid-2", ""));
	assert_null(pressure_samples_find(all, "uid-1026", ""));
	group_tree_fini(&controller->desired);
	controller->desired = before;
	controller_free(controller);
}

static void only_pods_and_containers_take_a_ring(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before = controller->desired;

	memset(&controller->desired, 0, sizeof(controller->desired));
	want_pods(controller, 0, PRESSURE_SAMPLES_MAX - 1);
	/* Its uid is that of the first pod. */
	want(controller, GROUP_SHARED, "x", 0, "");
	want_pod(controller, PRESSURE_SAMPLES_MAX);
	sample(controller);
	assert_int_equal(controller->samples.nr, PRESSURE_SAMPLES_MAX);
	assert_int_equal(controller->samples.nr_left_out, 0);
	assert_non_null(ring_of(controller, PRESSURE_SAMPLES_MAX, ""));
	group_tree_fini(&controller->desired);
	controller->desired = before;
	controller_free(controller);
}

/* Pod 0 and the second container of pod 1 come too late to have a ring. */
static void those_without_a_ring_change_no_others(void **state)
{
	struct controller *controller = start_counting();
	struct group_tree before;
	const char *path;

	scan(controller, pods, 1);
	path = group_of(GROUP_CONTAINER, "exclusive")->path;
	before = controller->desired;
	memset(&controller->desired, 0, sizeof(controller->desired));
	for (int i = 0; i < 3; i++) {
		want_nothing(controller);
		if (i)
			want_pod(controller, 0);
		want_pod(controller, 1);
		want(controller, GROUP_CONTAINER, path, 1, "first");
		if (i)
			want(controller, GROUP_CONTAINER, path, 1, "second");
		for (uint32_t pod = 2; pod < PRESSURE_SAMPLES_MAX; pod++)
			want_pod(controller, pod);
		sample(controller);
		assert_int_equal(controller->samples.nr, PRESSURE_SAMPLES_MAX);
	}
	assert_int_equal(controller->samples.nr_left_out, 2);
	assert_int_equal(ring_of(controller, 1, "first")->last.cgroup_id,
			 id_of(GROUP_CONTAINER, "exclusive"));
	assert_int_equal(ring_of(controller, 1, "first")->ring.newest_ns, fake->now_ns);
	/* What the second one ran is not known, and so the pod's sum is not. */
	assert_int_equal(ring_of(controller, 1, "")->ring.newest_ns, 0);
	group_tree_fini(&controller->desired);
	controller->desired = before;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_history, tear_down_pods)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_pass_adds_a_sample),
		TEST(shares_are_shown),
		TEST(a_pod_is_the_sum_of_its_containers),
		TEST(a_sum_needs_all_containers_that_run),
		TEST(the_kernel_updates_at_other_moments),
		TEST(minutes_are_added_up),
		TEST(sums_are_what_the_totals_grew_by),
		TEST(after_a_pass_that_fails_the_sample_is_longer),
		TEST(passes_that_keep_failing_are_a_gap),
		TEST(minutes_without_a_sample_are_a_gap),
		TEST(up_to_a_second_is_not_a_gap),
		TEST(a_late_pass_is_a_gap),
		TEST(a_long_pause_is_a_long_sample),
		TEST(the_time_since_the_last_sample_may_be_a_gap),
		TEST(what_is_not_measured_is_not_known),
		TEST(counters_that_begin_anew_are_not_a_sample),
		TEST(pods_come_and_go),
		TEST(memory_is_bounded),
		TEST(rings_follow_their_pods),
		TEST(rings_follow_their_containers),
		TEST(more_groups_than_rings_are_left_out),
		TEST(only_pods_and_containers_take_a_ring),
		TEST(those_without_a_ring_change_no_others),
		TEST(why_there_is_no_history),
		TEST(who_is_not_there_has_no_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
