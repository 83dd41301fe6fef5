/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pods whose pressure and run time grow in passes of two seconds, and their history as the
 * agent tells it.
 */
#ifndef PINFOLD_HISTORY_SCENE_H
#define PINFOLD_HISTORY_SCENE_H

#include <errno.h>
#include <stdint.h>

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

static inline int count_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
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
static inline uint64_t wall_now(void *self)
{
	return fake->now_ns + 1000000 * S;
}

static const struct clock_port clock_port = {
	.now_ns = fake_now, .wall_ns = wall_now, .cpu_ns = fake_cpu};

/* space_of: NULL = as the fake has it. */
static inline struct controller *
start_counting_with(int (*usage_of)(void *self, uint64_t cgroup_id, struct usage *ret_usage),
		    int (*space_of)(void *self, struct observer_space *ret_space))
{
	struct controller *controller;

	kernel = fake_side_port;
	kernel.usage = usage_of;
	if (space_of)
		kernel.observer_space = space_of;
	controller = make_node_with(
		(struct controller_ports){.kernel = &kernel, .pressure = &fake_pressure_port});
	controller->ports.clock = &clock_port;
	fake_pressure.sink = &controller_sinks(controller)->pressure;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static inline struct controller *start_counting(void)
{
	return start_counting_with(count_usage, NULL);
}

static inline int set_up_history(void **state)
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
static inline void pass(struct controller *controller)
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

static inline void pass_times(struct controller *controller, int nr)
{
	for (int i = 0; i < nr; i++)
		pass(controller);
}

static inline uint64_t id_of(enum group_role role, const char *name)
{
	struct group_status status;
	char path[GROUP_PATH_MAX];

	snprintf(path, sizeof(path), "%s", group_of(role, name)->path);
	assert_int_equal(fake_status(NULL, path, &status), 0);
	return status.cgroup_id;
}

static inline struct json_object *ask(struct controller *controller, const char *pod,
				      const char *container, enum pressure_span span,
				      unsigned int wanted)
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
static inline void expect_no_pressure(size_t i)
{
	assert_int_equal(nr_shares[i], 0);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		assert_int_equal(samples[i].waited_ns[kind], -1);
	assert_int_equal(samples[i].pressure_length_ns, -1);
}

static inline void expect_no_usage(size_t i)
{
	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		assert_int_equal(samples[i].cause_ns[cause], -1);
	assert_int_equal(samples[i].run_ns, -1);
}

static inline int count_shares(struct json_object *sample)
{
	static const char *const shares[] = {"cpu_some",    "cpu_full", "memory_some",
					     "memory_full", "io_some",	"io_full"};
	int nr = 0;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		nr += strcmp(member(sample, shares[i]), "null") != 0;
	return nr;
}

/* Read them into `samples`. */
static inline void read_history(struct controller *controller, const char *pod,
				const char *container, enum pressure_span span)
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

static inline void read_fine(struct controller *controller, const char *pod, const char *container)
{
	read_history(controller, pod, container, PRESSURE_SPAN_10M);
}
#define HISTORY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_history, tear_down_pods)

#endif
