// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Pressure by CPU and NUMA node, of the last second, and the waits beside it: what a pass asks for,
 * what the agent answers, and what it adds up over all containers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_scene.h"

/* What each CPU does in the next pass, of each cgroup. */
static void grow(uint32_t cpu, uint64_t active_ns, uint64_t some_ns)
{
	fake_pressure.cpus[cpu][PRESSURE_ACTIVE] += (uint32_t)active_ns;
	fake_pressure.cpus[cpu][PRESSURE_CPU_SOME] += (uint32_t)some_ns;
}

/* A pass after so long, in which CPU 2 has a task that waits all the time. */
static void pass_after(struct controller *controller, uint64_t passed_ns)
{
	grow(2, passed_ns, passed_ns);
	grow(3, passed_ns / 2, 0);
	fake->now_ns += passed_ns;
	fake_pressure.all.read_ns = fake->now_ns;
	controller_tick(controller);
}

static struct controller *start(void)
{
	struct controller *controller = start_counting();

	fake_pressure.all.cells = PRESSURE_CELLS_READ;
	fake_pressure.all.read_ns = fake->now_ns;
	scan(controller, pods, 2);
	return controller;
}

static struct json_object *ask_cpus(struct controller *controller, const char *pod,
				    const char *container, unsigned int wanted)
{
	const struct view_pressure_cpu_request request = {pod, container};
	struct json_object *body = object_json(&view_pressure_cpu_request_desc, &request, 1);
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *json = NULL;
	unsigned int status = 0;

	assert_int_equal(faces->command(faces->self, 1, "pressure", "cpu", body, 1, &json, &status),
			 0);
	assert_int_equal(status, wanted);
	json_object_put(body);
	return json;
}

static const struct pressure_row *row_of(uint64_t cgroup_id)
{
	for (uint32_t i = 0; i < fake_pressure.nr; i++)
		if (fake_pressure.rows[i].cgroup_id == cgroup_id)
			return &fake_pressure.rows[i];
	return NULL;
}

/* The first row that has these values. */
static struct json_object *find(struct json_object *rows, const char *container, const char *key,
				const char *value, const char *resource)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		char text[64];

		snprintf(text, sizeof(text), "%s", member(row, key));
		if (!strcmp(member(row, "container"), container) && !strcmp(text, value) &&
		    !strcmp(member(row, "resource"), resource))
			return row;
	}
	fail_msg("no row %s %s=%s %s", container, key, value, resource);
	return NULL;
}

/* The cpuset of a pod's own cgroup is the pool; its CPUs are those of its containers. */
static void a_pass_asks_for_the_cpus_of_the_grants(void **state)
{
	struct controller *controller = start();
	const struct pressure_row *container, *pod;

	pass_after(controller, 2 * S);
	container = row_of(id_of(GROUP_CONTAINER, "exclusive"));
	pod = row_of(id_of(GROUP_POD, "uid-a"));
	assert_non_null(container);
	assert_non_null(pod);
	assert_int_equal(container->nr_cells, 4);
	assert_int_equal(pod->nr_cells, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(fake_pressure.cells[pod->first_cell + i].cpu,
				 fake_pressure.cells[container->first_cell + i].cpu);
	/* The smallest grants come first. */
	assert_true(row_of(id_of(GROUP_CONTAINER, "web"))->first_cell > container->first_cell);
	controller_free(controller);
}

/* As if the smaller grant were a container of a runtime. */
static void a_runtimes_cpus_come_last(void **state)
{
	struct controller *controller = start();
	const uint64_t id = id_of(GROUP_CONTAINER, "exclusive");

	for (uint32_t i = 0; i < controller->publisher.nr; i++)
		if (controller->publisher.rows[i].managed.cgroup_id == id)
			controller->publisher.rows[i].managed.scope = MANAGED_COUNTED;
	pass_after(controller, 2 * S);
	assert_true(row_of(id_of(GROUP_CONTAINER, "web"))->first_cell < row_of(id)->first_cell);
	controller_free(controller);
}

static void a_load_is_shown_on_its_cpu(void **state)
{
	struct controller *controller = start();
	struct json_object *rows;

	for (int i = 0; i < 8; i++)
		pass_after(controller, 2 * S);
	rows = ask_cpus(controller, "default/a", "exclusive", 200);
	assert_int_equal(json_object_array_length(rows), 4 * 3);
	assert_string_equal(member(find(rows, "exclusive", "cpu", "2", "cpu"), "some_10"),
			    "100.00");
	assert_string_equal(member(find(rows, "exclusive", "cpu", "3", "cpu"), "some_10"), "0.00");
	assert_string_equal(member(find(rows, "exclusive", "cpu", "2", "memory"), "some_10"),
			    "0.00");
	assert_string_equal(member(find(rows, "exclusive", "cpu", "2", "cpu"), "some_seconds"),
			    "14.000000000");
	json_object_put(rows);
	rows = ask_cpus(controller, "uid-a", NULL, 200);
	assert_int_equal(json_object_array_length(rows), 2 * 4 * 3);
	json_object_put(rows);
	json_object_put(ask_cpus(controller, "default/a", "none", 404));
	json_object_put(ask_cpus(controller, NULL, NULL, 400));
	/* Two thirds of the time that was active. */
	rows = query(controller, "pressure_numa");
	assert_string_equal(member(find(rows, "exclusive", "numa", "0", "cpu"), "some_10"),
			    "66.67");
	assert_string_equal(member(find(rows, "null", "numa", "0", "cpu"), "missed_seconds"),
			    "0.000000000");
	json_object_put(rows);
	controller_free(controller);
}

/* Nothing is shown as 0 that is not known. */
static void what_is_not_known_has_no_figures(void **state)
{
	static const struct {
		enum pressure_state state;
		enum pressure_cells cells;
		const char *word;
	} cases[] = {
		{PRESSURE_UNKNOWN, PRESSURE_CELLS_UNREAD, "unknown"},
		{PRESSURE_OFF, PRESSURE_CELLS_UNREAD, "off"},
		{PRESSURE_OFF_CGROUP, PRESSURE_CELLS_UNREAD, "off_cgroup"},
		{PRESSURE_MEASURED, PRESSURE_CELLS_TORN, "unknown"},
		{PRESSURE_MEASURED, PRESSURE_CELLS_UNREADABLE, "unreadable"},
	};
	struct controller *controller = start();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_object *rows, *row;

		fake_pressure.all.state = cases[i].state;
		fake_pressure.all.cells = cases[i].cells;
		pass_after(controller, 2 * S);
		rows = query(controller, "pressure_numa");
		row = find(rows, "exclusive", "numa", "null", "cpu");
		assert_string_equal(member(row, "state"), cases[i].word);
		assert_string_equal(member(row, "some_10"), "null");
		assert_string_equal(member(row, "some_seconds"), "null");
		json_object_put(rows);
		rows = query(controller, "pressure_second");
		row = find(rows, "exclusive", "state", cases[i].word, "cpu");
		assert_string_equal(member(row, "some"), "null");
		json_object_put(rows);
	}
	controller_free(controller);
}

static void time_that_was_missed_is_told(void **state)
{
	struct controller *controller = start();
	struct json_object *rows;

	pass_after(controller, 2 * S);
	pass_after(controller, 2 * S);
	pass_after(controller, 6 * S);
	fake_pressure.all.state = PRESSURE_OFF_CGROUP;
	pass_after(controller, 2 * S);
	fake_pressure.all.state = PRESSURE_MEASURED;
	pass_after(controller, 2 * S);
	rows = query(controller, "pressure_numa");
	assert_string_equal(member(find(rows, "exclusive", "numa", "0", "cpu"), "missed_seconds"),
			    "10.000000000");
	assert_string_equal(member(find(rows, "exclusive", "numa", "0", "cpu"), "known_seconds"),
			    "2.000000000");
	json_object_put(rows);
	controller_free(controller);
}

/* A pod that ends takes its figures with it. */
static void a_pod_that_is_gone_has_no_rows(void **state)
{
	struct controller *controller = start();
	struct json_object *rows;

	pass_after(controller, 2 * S);
	scan(controller, pods, 1);
	tick(controller, 40);
	rows = query(controller, "pressure_numa");
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		assert_string_equal(member(json_object_array_get_idx(rows, i), "pod"), "a");
	json_object_put(rows);
	json_object_put(ask_cpus(controller, "default/b", NULL, 404));
	controller_free(controller);
}

/* Only while somebody asks is there a pass each second. */
static void a_second_is_read_on_request(void **state)
{
	struct controller *controller = start();
	struct json_object *rows;
	unsigned int nr_passes;

	pass_after(controller, 2 * S);
	nr_passes = fake_pressure.nr_passes;
	pass_after(controller, S);
	assert_int_equal(fake_pressure.nr_passes, nr_passes);
	rows = query(controller, "pressure_second");
	assert_string_equal(member(find(rows, "exclusive", "resource", "cpu", "cpu"),
				   "window_seconds"),
			    "null");
	json_object_put(rows);
	pass_after(controller, S);
	nr_passes = fake_pressure.nr_passes;
	pass_after(controller, S);
	assert_int_equal(fake_pressure.nr_passes, nr_passes + 1);
	rows = query(controller, "pressure_second");
	assert_string_equal(member(find(rows, "exclusive", "resource", "cpu", "cpu"), "some"),
			    "66.67");
	json_object_put(rows);
	for (int i = 0; i < 4; i++)
		pass_after(controller, S);
	nr_passes = fake_pressure.nr_passes;
	for (int i = 0; i < 4; i++)
		pass_after(controller, S);
	assert_int_equal(fake_pressure.nr_passes, nr_passes + 2);
	controller_free(controller);
}

/* 30 ms in two seconds, whether the kernel measures pressure or not; tasks of both containers. */
static void waits_stand_beside_pressure_that_is_off(void **state)
{
	struct controller *controller = start_counting();
	struct json_object *rows;

	scan(controller, pods, 2);
	fake_pressure.all.state = PRESSURE_OFF;
	pass_times(controller, 11);
	rows = query(controller, "pressure");
	assert_string_equal(member(find(rows, "exclusive", "resource", "cpu", "cpu"),
				   "task_wait_10"),
			    "0.015000000");
	assert_string_equal(member(find(rows, "exclusive", "resource", "cpu", "cpu"), "some_10"),
			    "null");
	assert_string_equal(member(find(rows, "null", "resource", "cpu", "cpu"), "task_wait_60"),
			    "0.015000000");
	assert_string_equal(member(find(rows, "exclusive", "resource", "io", "io"), "task_wait_10"),
			    "null");
	json_object_put(rows);
	/* Without the observer nobody knows. */
	counted.unknown = id_of(GROUP_CONTAINER, "exclusive");
	pass_times(controller, 6);
	rows = query(controller, "pressure");
	assert_string_equal(
		member(find(rows, "exclusive", "resource", "cpu", "cpu"), "task_wait_10"), "null");
	json_object_put(rows);
	controller_free(controller);
}

/* --- waits by node ------------------------------------------------------------------------------- */

#define NR_CPUS 17 /* the machine has 16; one came later */

static uint64_t cpu_wait_ns[NR_CPUS];
static bool has_observer;
static uint64_t unreadable; /* the id of a container; 0 = none */

static int usage_by_cpu(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	int r = count_usage(self, cgroup_id, ret_usage);

	if (cgroup_id == unreadable)
		return -EIO;
	ret_usage->nr_cpus = NR_CPUS;
	ret_usage->cpu_wait_ns = cpu_wait_ns;
	return r;
}

static unsigned int nr_spaces; /* how often it was asked for, once with each look */

static int space_of(void *self, struct observer_space *ret_space)
{
	nr_spaces++;
	*ret_space = (struct observer_space){.nr_slots = 256};
	return has_observer ? 0 : -EAGAIN;
}

static void expect_waits(struct controller *controller, const char *node_0, const char *node_1)
{
	char line[128];

	/* A page shows what the last look at the counters read. */
	fake->now_ns += 3 * S;
	snprintf(line, sizeof(line), "\npinfold_numa_cpu_wait_seconds_total{numa_node=\"0\"} %s\n",
		 node_0);
	assert_int_equal(nr_series(controller, line), 1);
	snprintf(line, sizeof(line), "\npinfold_numa_cpu_wait_seconds_total{numa_node=\"1\"} %s\n",
		 node_1);
	assert_int_equal(nr_series(controller, line), 1);
}

static void waits_of_nodes_never_fall(void **state)
{
	struct controller *controller = start_counting();

	kernel.usage = usage_by_cpu;
	kernel.observer_space = space_of;
	/* As if it had not been loaded at the start either. */
	has_observer = false;
	node_waits_fini(&controller->node_waits);
	cpu_wait_ns[0] = 100 * S;
	scan(controller, pods, 1);
	tick(controller, 12);
	assert_int_equal(nr_series(controller, "\npinfold_numa_cpu_wait_seconds_total"), 0);
	/* What was waited before the agent began is not in it. */
	has_observer = true;
	expect_waits(controller, "0.000000000", "0.000000000");
	cpu_wait_ns[0] += 2 * S;
	cpu_wait_ns[15] += S;
	cpu_wait_ns[16] += 7 * S; /* on no node that is known */
	expect_waits(controller, "2.000000000", "1.000000000");
	/* A slot that is given anew begins with 0. */
	memset(cpu_wait_ns, 0, sizeof(cpu_wait_ns));
	cpu_wait_ns[0] = S / 2;
	expect_waits(controller, "2.500000000", "1.000000000");
	/* The last waits of a container count when it ends. */
	cpu_wait_ns[8] += 3 * S;
	scan(controller, pods, 0);
	tick(controller, 40);
	cpu_wait_ns[8] += 5 * S;
	expect_waits(controller, "2.500000000", "4.000000000");
	controller_free(controller);
}

/* As if the observer had not been loaded at the start. */
static struct controller *start_without_observer(void)
{
	struct controller *controller = start_counting();

	kernel.usage = usage_by_cpu;
	kernel.observer_space = space_of;
	has_observer = false;
	node_waits_fini(&controller->node_waits);
	memset(cpu_wait_ns, 0, sizeof(cpu_wait_ns));
	return controller;
}

static void expect_rate(struct controller *controller, const char *key, const char *wanted)
{
	struct json_object *rows = query(controller, "numa");

	assert_string_equal(member(json_object_array_get_idx(rows, 0), key), wanted);
	json_object_put(rows);
}

/* The window begins ten to twenty seconds ago, so a load that ended is forgotten. */
static void the_wait_rate_of_a_node_is_of_the_last_seconds(void **state)
{
	struct controller *controller = start_without_observer();

	scan(controller, pods, 1);
	expect_rate(controller, "wait_percent", "null");
	has_observer = true;
	fake->now_ns += 3 * S;
	expect_rate(controller, "wait_seconds", "0.000000000");
	expect_rate(controller, "wait_percent", "null");
	cpu_wait_ns[0] += 6 * S;
	fake->now_ns += 4 * S;
	expect_rate(controller, "wait_percent", "150.00");
	expect_rate(controller, "window_seconds", "4.000000000");
	cpu_wait_ns[0] += 6 * S;
	for (int i = 0; i < 5; i++)
		pass_after(controller, 4 * S);
	expect_rate(controller, "wait_seconds", "12.000000000");
	expect_rate(controller, "wait_percent", "0.00");
	controller_free(controller);
}

/* The programs that an earlier agent loaded have counted on. */
static void waits_before_a_restart_do_not_count(void **state)
{
	struct controller *controller = start_counting();

	kernel.usage = usage_by_cpu;
	kernel.observer_space = space_of;
	has_observer = true;
	memset(cpu_wait_ns, 0, sizeof(cpu_wait_ns));
	scan(controller, pods, 1);
	tick(controller, 12);
	cpu_wait_ns[0] = 100 * S;
	expect_waits(controller, "100.000000000", "0.000000000");
	controller_free(controller);
	controller = start_counting_with(usage_by_cpu, space_of);
	tick(controller, 1);
	expect_waits(controller, "0.000000000", "0.000000000");
	cpu_wait_ns[0] += S;
	expect_waits(controller, "1.000000000", "0.000000000");
	controller_free(controller);
}

static void unreadable_waits_are_counted_later(void **state)
{
	struct controller *controller = start_without_observer();

	cpu_wait_ns[0] = 100 * S;
	scan(controller, pods, 1);
	has_observer = true;
	unreadable = id_of(GROUP_CONTAINER, "exclusive");
	tick(controller, 12);
	/* Nobody knows yet what it had before. */
	assert_int_equal(nr_series(controller, "\npinfold_numa_cpu_wait_seconds_total"), 0);
	unreadable = 0;
	expect_waits(controller, "0.000000000", "0.000000000");
	unreadable = id_of(GROUP_CONTAINER, "exclusive");
	cpu_wait_ns[0] += S;
	expect_waits(controller, "0.000000000", "0.000000000");
	unreadable = 0;
	expect_waits(controller, "1.000000000", "0.000000000");
	controller_free(controller);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_history, tear_down_pods)

/* What each container has waited on CPU 0; without an id, nothing is counted of it. */
static struct {
	uint64_t id, wait_ns[NR_CPUS];
} each[4];

static int usage_of_each(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	int r = count_usage(self, cgroup_id, ret_usage);

	ret_usage->cpu_wait_ns = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(each); i++)
		if (each[i].id == cgroup_id) {
			ret_usage->nr_cpus = NR_CPUS;
			ret_usage->cpu_wait_ns = each[i].wait_ns;
		}
	return r;
}

static void waits_of_each_container_count_from_its_own(void **state)
{
	struct controller *controller = start_without_observer();
	struct pod_spec *specs[ARRAY_SIZE(each)];
	uint64_t id;

	kernel.usage = usage_of_each;
	memset(each, 0, sizeof(each));
	for (uint32_t i = 0; i < ARRAY_SIZE(each); i++) {
		static const char *const names[] = {"c0", "c1", "c2", "c3"};

		specs[i] = fake_pod(names[i], names[i], 500, false);
	}
	scan(controller, specs, 3);
	for (uint32_t i = 0; i < 3; i++) {
		each[i].id = id_of(GROUP_CONTAINER, specs[i]->containers->name);
		each[i].wait_ns[0] = (i + 1) * 10 * S;
	}
	has_observer = true;
	expect_waits(controller, "0.000000000", "0.000000000");
	for (uint32_t i = 0; i < 3; i++)
		each[i].wait_ns[0] += S;
	expect_waits(controller, "3.000000000", "0.000000000");
	scan(controller, specs, 4);
	each[3].id = id_of(GROUP_CONTAINER, "c3");
	each[3].wait_ns[0] = 5 * S;
	expect_waits(controller, "8.000000000", "0.000000000");
	/* What is not counted any more is forgotten, and is new when it is counted again. */
	id = each[3].id;
	each[3].id = 0;
	expect_waits(controller, "8.000000000", "0.000000000");
	each[3].id = id;
	each[3].wait_ns[0] = 6 * S;
	expect_waits(controller, "14.000000000", "0.000000000");
	controller_free(controller);
	free_pods(specs, ARRAY_SIZE(specs));
}

/* A mark is set every ten seconds, and a window begins with the last but one. */
static void a_window_of_waits_begins_with_a_mark(void **state)
{
	static const struct {
		uint64_t passed_s, window_s;
	} looks[] = {{0, 0}, {1, 1}, {9, 10}, {5, 15}, {5, 10}, {5, 15}, {5, 10}};
	struct controller *controller = start_without_observer();

	scan(controller, pods, 1);
	has_observer = true;
	/* As on a machine that has just booted. */
	fake->now_ns = S;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		const struct node_waits *waits = &controller->node_waits;
		const uint64_t *from_ns = NULL;

		cpu_wait_ns[0] += looks[i].passed_s * S;
		fake->now_ns += looks[i].passed_s * S;
		ctl_count_node_waits(controller);
		assert_int_equal(node_waits_window(waits, &from_ns), looks[i].window_s * S);
		assert_int_equal(!from_ns, !looks[i].window_s);
		if (from_ns)
			assert_int_equal(waits->total_ns[0] - from_ns[0], looks[i].window_s * S);
	}
	controller_free(controller);
}

/* Whether or not a look could tell anything, the next one is not due at once. */
static void expect_one_look(struct controller *controller)
{
	fake->now_ns += 3 * S;
	nr_spaces = 0;
	ctl_follow_node_waits(controller);
	ctl_follow_node_waits(controller);
	assert_int_equal(nr_spaces, 1);
	assert_false(controller->node_waits.has_begun);
}

static void a_look_that_cannot_begin_is_not_repeated_at_once(void **state)
{
	struct controller *controller = start_without_observer();
	uint32_t nr;

	scan(controller, pods, 1);
	has_observer = true;
	/* Before anything is published. */
	nr = controller->publisher.nr;
	controller->publisher.nr = 0;
	expect_one_look(controller);
	controller->publisher.nr = nr;
	unreadable = id_of(GROUP_CONTAINER, "exclusive");
	expect_one_look(controller);
	unreadable = 0;
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pass_asks_for_the_cpus_of_the_grants),
		TEST(a_runtimes_cpus_come_last),
		TEST(a_load_is_shown_on_its_cpu),
		TEST(what_is_not_known_has_no_figures),
		TEST(time_that_was_missed_is_told),
		TEST(a_pod_that_is_gone_has_no_rows),
		TEST(a_second_is_read_on_request),
		TEST(waits_stand_beside_pressure_that_is_off),
		TEST(waits_of_nodes_never_fall),
		TEST(the_wait_rate_of_a_node_is_of_the_last_seconds),
		TEST(waits_of_each_container_count_from_its_own),
		TEST(a_window_of_waits_begins_with_a_mark),
		TEST(a_look_that_cannot_begin_is_not_repeated_at_once),
		TEST(waits_before_a_restart_do_not_count),
		TEST(unreadable_waits_are_counted_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
