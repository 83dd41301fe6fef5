// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller's side of pressure: which cgroups it asks for and when, to whom the figures
 * belong, and what is shown where there are none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_pressure.h"
#include "lib/log.h"
#include "lib/text.h"
#include "mixed_pod.h"
#include "two_pods_scene.h"

static struct controller *start_with(const struct kernel_port *kernel)
{
	struct controller *controller = make_node_with(
		(struct controller_ports){.kernel = kernel, .pressure = &fake_pressure_port});

	fake_pressure.sink = &controller_sinks(controller)->pressure;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static struct controller *start_with_pressure(void)
{
	return start_with(&fake_side_port);
}

static int set_up_pressure(void **state)
{
	memset(&fake_pressure, 0, sizeof(fake_pressure));
	fake_pressure.all.state = PRESSURE_MEASURED;
	fake_pressure.all.updated_ns = 100 * S;
	return set_up_pods(state);
}

/* Two seconds in which every cgroup waited for a CPU this many percent of the time. */
static void pass(struct controller *controller, unsigned int percent)
{
	fake->now_ns += 2 * S;
	fake_pressure.all.updated_ns += 2 * S;
	fake_pressure.all.updated_total_ns[PRESSURE_CPU_SOME] += 2 * S * percent / 100;
	fake_pressure.all.total_ns[PRESSURE_CPU_SOME] += 2 * S * percent / 100;
	controller_tick(controller);
}

static uint64_t id_of(const char *name)
{
	struct group_status status;
	char path[GROUP_PATH_MAX];

	snprintf(path, sizeof(path), "%s",
		 group_of(strncmp(name, "uid-", 4) ? GROUP_CONTAINER : GROUP_POD, name)->path);
	assert_int_equal(fake_status(NULL, path, &status), 0);
	return status.cgroup_id;
}

/* The row of a pod or container and a resource. */
static void expect_row(struct controller *controller, const char *pod, const char *container,
		       const char *resource, const char *key, const char *wanted)
{
	struct json_object *rows = query(controller, "pressure");
	const char *found = NULL;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(member(row, "pod"), pod) &&
		    !strcmp(member(row, "container"), container) &&
		    !strcmp(member(row, "resource"), resource))
			found = member(row, key);
	}
	assert_non_null(found);
	assert_string_equal(found, wanted);
	json_object_put(rows);
}

static void shares_and_totals_are_shown(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 2);
	for (int i = 0; i < 31; i++)
		pass(controller, 25);
	assert_int_equal(nr_rows(controller, "pressure"), 2 * 2 * 3);
	expect_row(controller, "a", "null", "cpu", "some_10", "25.00");
	expect_row(controller, "a", "exclusive", "cpu", "some_60", "25.00");
	expect_row(controller, "b", "web", "cpu", "some_300", "25.00");
	expect_row(controller, "b", "web", "cpu", "full_10", "0.00");
	expect_row(controller, "b", "web", "memory", "some_10", "0.00");
	expect_row(controller, "b", "web", "cpu", "some_seconds", "15.500000000");
	expect_row(controller, "b", "web", "io", "state", "measured");
	assert_int_equal(nr_series(controller,
				   "pinfold_pressure_cpu_waiting_seconds_total{namespace="
				   "\"default\",pod=\"b\",container=\"web\"} 15.500000000\n"),
			 1);
	/* Pods and containers: six families. */
	assert_int_equal(nr_series(controller, "\npinfold_pressure_"), 4 * 6);
	controller_free(controller);
}

static void each_resource_has_its_own_figures(void **state)
{
	static const char *const words[] = {"io", "io", "memory", "memory", "cpu", "cpu"};
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	pass(controller, 0);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		fake_pressure.all.updated_total_ns[kind] = fake_pressure.all.total_ns[kind] =
			(uint64_t)(kind + 1) * S / 10;
	pass(controller, 0);
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++) {
		char share[16], seconds[32];

		snprintf(share, sizeof(share), "%d.00", 5 * (kind + 1));
		snprintf(seconds, sizeof(seconds), "0.%d00000000", kind + 1);
		expect_row(controller, "a", "exclusive", words[kind],
			   kind % 2 ? "full_10" : "some_10", share);
		expect_row(controller, "a", "exclusive", words[kind],
			   kind % 2 ? "full_seconds" : "some_seconds", seconds);
	}
	controller_free(controller);
}

static void it_is_read_every_two_seconds(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	controller_tick(controller);
	assert_int_equal(fake_pressure.nr_passes, 1);
	for (uint32_t i = 0; i < fake_pressure.nr; i++)
		assert_true(fake_pressure.rows[i].cgroup_id != 0);
	for (int i = 0; i < 10; i++) {
		fake->now_ns += S;
		controller_tick(controller);
	}
	assert_int_equal(fake_pressure.nr_passes, 6);
	/* A tick may come early by half a second, and no more. */
	fake->now_ns += 3 * S / 2 - 1;
	controller_tick(controller);
	assert_int_equal(fake_pressure.nr_passes, 6);
	fake->now_ns++;
	controller_tick(controller);
	assert_int_equal(fake_pressure.nr_passes, 7);
	controller_free(controller);
}

static void what_is_not_measured_has_no_figures(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 2);
	expect_row(controller, "a", "exclusive", "cpu", "state", "unknown");
	expect_row(controller, "a", "exclusive", "cpu", "some_10", "null");
	fake_pressure.of.cgroup_id = id_of("web");
	fake_pressure.of.state = PRESSURE_OFF_CGROUP;
	pass(controller, 50);
	pass(controller, 50);
	expect_row(controller, "b", "web", "cpu", "state", "off_cgroup");
	expect_row(controller, "b", "web", "cpu", "some_10", "null");
	expect_row(controller, "b", "web", "cpu", "some_seconds", "null");
	expect_row(controller, "b", "web", "cpu", "full_seconds", "null");
	expect_row(controller, "b", "null", "cpu", "some_10", "50.00");
	assert_int_equal(nr_series(controller, "\npinfold_pressure_cpu_waiting"), 3);
	fake_pressure.all.state = PRESSURE_OFF;
	pass(controller, 50);
	expect_row(controller, "b", "null", "cpu", "state", "off");
	assert_int_equal(nr_series(controller, "\npinfold_pressure_cpu_waiting"), 0);
	controller_free(controller);
}

static void before_the_first_reconcile_there_are_no_rows(void **state)
{
	struct controller *controller = make_node(&fake_side_port);

	assert_int_equal(nr_rows(controller, "pressure"), 0);
	controller_free(controller);
}

/* What a finding says is to be done. */
static void expect_remedy(struct controller *controller, const char *name, const char *wanted)
{
	struct json_object *node = query(controller, "node");
	struct json_object *findings = json_object_object_get(node, "findings");
	const char *found = NULL;

	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *row = json_object_array_get_idx(findings, i);

		if (!strcmp(member(row, "name"), name))
			found = member(row, "remedy");
	}
	assert_non_null(found);
	assert_string_equal(found, wanted);
	json_object_put(node);
}

static void a_kernel_without_pressure_is_a_finding(void **state)
{
	struct controller *controller = start_with_pressure();

	/* Before the first pod there is only the workload root. */
	scan(controller, pods, 0);
	fake_pressure.all.state = PRESSURE_OFF;
	pass(controller, 0);
	assert_int_equal(nr_findings(controller, "pressure_off", "booted with psi=0"), 1);
	scan(controller, pods, 1);
	pass(controller, 0);
	assert_int_equal(nr_findings(controller, "pressure_off", "booted with psi=0"), 1);
	assert_int_equal(nr_findings(controller, "pressure_off_cgroup", ""), 0);
	expect_row(controller, "a", "exclusive", "io", "remedy", "boot with psi=1");
	fake_pressure.all.state = PRESSURE_MEASURED;
	pass(controller, 0);
	assert_int_equal(nr_findings(controller, "pressure_off", ""), 0);
	expect_row(controller, "a", "exclusive", "io", "remedy", "null");
	controller_free(controller);
}

static void a_cgroup_without_pressure_is_a_finding(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 2);
	fake_pressure.of.cgroup_id = id_of("web");
	fake_pressure.of.state = PRESSURE_OFF_CGROUP;
	pass(controller, 0);
	assert_int_equal(nr_findings(controller, "pressure_off_cgroup",
				     "container web of pod default/b is unknown"),
			 1);
	assert_int_equal(nr_findings(controller, "pressure_off", ""), 0);
	expect_row(controller, "b", "null", "cpu", "remedy", "null");
	/* the workload root, which has no row, is not among the others */
	fake_pressure.all.state = PRESSURE_OFF_CGROUP;
	pass(controller, 0);
	assert_int_equal(nr_findings(controller, "pressure_off_cgroup",
				     "of pod default/a and 3 other cgroups is unknown"),
			 1);
	fake_pressure.all.state = fake_pressure.of.state = PRESSURE_MEASURED;
	pass(controller, 0);
	assert_int_equal(nr_findings(controller, "pressure_off_cgroup", ""), 0);
	controller_free(controller);
}

static void a_pod_that_came_during_the_pass_is_not_counted(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	fake_pressure.all.state = PRESSURE_OFF_CGROUP;
	fake_pressure.is_slow = true;
	pass(controller, 0);
	scan(controller, pods, 2);
	fake_side.guard.modes[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	fake_pressure_end();
	assert_int_equal(nr_findings(controller, "pressure_off_cgroup",
				     "of pod default/a and 1 other cgroup is unknown"),
			 1);
	expect_remedy(controller, "pressure_off_cgroup",
		      "write 1 to /sys/fs/cgroup/pinfold.slice/poduid-a/cgroup.pressure");
	controller_free(controller);
}

/* Whoever follows the remedy must not be denied the write. */
static void the_remedy_takes_the_guard_into_account(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	fake_side.guard.modes[ASPECT_CPUSET_FILES] = ENFORCEMENT_ENFORCE;
	fake_pressure.all.state = PRESSURE_OFF_CGROUP;
	pass(controller, 0);
	expect_row(controller, "a", "null", "cpu", "remedy",
		   "run 'pinfold guard release', write 1 to "
		   "/sys/fs/cgroup/pinfold.slice/poduid-a/cgroup.pressure, "
		   "then run 'pinfold guard arm'");
	fake_side.guard.modes[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	expect_row(controller, "a", "null", "cpu", "remedy",
		   "write 1 to /sys/fs/cgroup/pinfold.slice/poduid-a/cgroup.pressure");
	controller_free(controller);
}

/* Two passes with so many percent of waiting; then the cgroup's figures are off for a while. */
static void expect_only_the_time_since(unsigned int percent)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	pass(controller, percent);
	pass(controller, percent);
	fake_pressure.all.state = PRESSURE_OFF_CGROUP;
	for (int i = 0; i < 10; i++)
		pass(controller, 0);
	fake_pressure.all.state = PRESSURE_MEASURED;
	pass(controller, 0);
	pass(controller, 10);
	expect_row(controller, "a", "exclusive", "cpu", "some_60", "10.00");
	controller_free(controller);
}

/* Nobody knows what happened meanwhile; the seconds since are all there are. */
static void a_cgroup_is_switched_on_again(void **state)
{
	expect_only_the_time_since(90);
}

/* Not even that nothing waited, although the totals are the same as before. */
static void what_was_before_is_forgotten(void **state)
{
	expect_only_the_time_since(0);
}

/* The history belongs to the cgroup, whoever else comes and goes. */
static void others_come_and_go(void **state)
{
	struct pod_spec *first[] = {pods[0]}, *second[] = {pods[1]};
	struct controller *controller = start_with_pressure();

	scan(controller, second, 1);
	pass(controller, 100);
	pass(controller, 100);
	scan(controller, pods, 2);
	expect_row(controller, "a", "exclusive", "cpu", "state", "unknown");
	expect_row(controller, "b", "web", "cpu", "some_10", "100.00");
	pass(controller, 0);
	pass(controller, 0);
	expect_row(controller, "a", "exclusive", "cpu", "some_10", "0.00");
	expect_row(controller, "b", "web", "cpu", "some_10", "33.33");
	scan(controller, first, 1);
	pass(controller, 60);
	assert_int_equal(nr_rows(controller, "pressure"), 2 * 3);
	expect_row(controller, "a", "exclusive", "cpu", "some_10", "30.00");
	controller_free(controller);
}

/* A walk that somebody blocks is one wait, is told, and delays nothing else. */
static void a_blocked_walk_is_told(void **state)
{
	struct controller *controller = start_with_pressure();
	char reason[512] = "";

	scan(controller, pods, 1);
	pass(controller, 40);
	pass(controller, 40);
	fake_pressure.is_slow = true;
	pass(controller, 0);
	assert_int_equal(fake_pressure.nr_passes, 3);
	for (int i = 0; i < 10; i++)
		pass(controller, 0);
	assert_int_equal(fake_pressure.nr_passes, 3);
	assert_int_equal(nr_findings(controller, "operation_waiting",
				     "the read of pressure has waited 20 s for a "
				     "walk over the cgroups (in cgroup_iter_seq_start)"),
			 1);
	assert_true(node_has(controller, "their pressure is unknown until the walk ends"));
	assert_true(controller_faces(controller)
			    ->ready(controller_faces(controller)->self, reason, sizeof(reason)));
	/* Nor does anybody know who waits meanwhile. */
	expect_row(controller, "a", "exclusive", "cpu", "state", "unknown");
	expect_row(controller, "a", "exclusive", "cpu", "some_10", "null");
	assert_int_equal(nr_series(controller, "\npinfold_pressure_"), 0);
	fake_pressure.is_slow = false;
	fake_pressure_end();
	expect_row(controller, "a", "exclusive", "cpu", "state", "measured");
	fake->now_ns += S;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	/* A pass that took so long is not repeated at once. */
	assert_int_equal(fake_pressure.nr_passes, 3);
	fake->now_ns += 10 * S;
	controller_tick(controller);
	assert_int_equal(fake_pressure.nr_passes, 4);
	controller_free(controller);
}

/* One that takes 100 ms each time takes a twentieth of it, and its figures are never too old. */
static void slow_passes_are_rare(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	fake_pressure.is_slow = true;
	for (int i = 0; i < 20; i++) {
		unsigned int nr = fake_pressure.nr_passes;

		pass(controller, 20);
		fake->now_ns += S / 2;
		if (fake_pressure.nr_passes > nr)
			fake_pressure_end();
		else
			expect_row(controller, "a", "exclusive", "cpu", "state", "measured");
	}
	assert_int_equal(fake_pressure.nr_passes, 5);
	controller_free(controller);
}

/* The workload root was removed: that is no failure, and nothing is known any more. */
static void without_a_root_there_is_nothing_to_read(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	pass(controller, 40);
	fake_pressure.result = -ENOENT;
	pass(controller, 40);
	expect_row(controller, "a", "exclusive", "cpu", "state", "unknown");
	fake_pressure.result = 0;
	pass(controller, 40);
	expect_row(controller, "a", "exclusive", "cpu", "state", "measured");
	controller_free(controller);
}

static void figures_that_cannot_be_read_any_more_are_unknown(void **state)
{
	struct controller *controller = start_with_pressure();

	scan(controller, pods, 1);
	for (int i = 0; i < 6; i++)
		pass(controller, 100);
	fake_pressure.result = -EIO;
	for (int i = 0; i < 5; i++) {
		pass(controller, 100);
		expect_row(controller, "a", "exclusive", "cpu", "some_10", "100.00");
	}
	pass(controller, 100);
	expect_row(controller, "a", "exclusive", "cpu", "state", "unknown");
	assert_int_equal(nr_series(controller, "\npinfold_pressure_"), 0);
	controller_free(controller);
}

static void figures_stay_if_a_pass_fails(void **state)
{
	struct controller *controller = start_with_pressure();
	unsigned int nr_before;

	scan(controller, pods, 1);
	for (int i = 0; i < 4; i++)
		pass(controller, 40);
	fake_pressure.result = -EIO;
	pass(controller, 40);
	expect_row(controller, "a", "exclusive", "cpu", "some_10", "40.00");
	fake_pressure.result = 0;
	fake_pressure.error = -E2BIG;
	pass(controller, 40);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	expect_row(controller, "a", "exclusive", "cpu", "state", "measured");
	fake_pressure.error = 0;
	nr_before = fake_pressure.nr_passes;
	pass(controller, 40);
	assert_int_equal(fake_pressure.nr_passes, nr_before + 1);
	expect_row(controller, "a", "exclusive", "cpu", "some_10", "40.00");
	controller_free(controller);
}

static void without_the_port_pressure_is_unknown(void **state)
{
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	fake->now_ns += 2 * S;
	controller_tick(controller);
	assert_int_equal(nr_rows(controller, "pressure"), 2 * 3);
	expect_row(controller, "a", "exclusive", "io", "state", "unknown");
	assert_int_equal(nr_series(controller, "\npinfold_pressure_"), 0);
	controller_free(controller);
	/* Without BPF nothing was published either. */
	controller = start_node(NULL);
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pressure"), 2 * 3);
	expect_row(controller, "a", "exclusive", "io", "state", "unknown");
	controller_free(controller);
}

/* Nor is there anything to ask for. */
static void nothing_is_read_until_cgroups_are_published(void **state)
{
	struct controller *controller = start_with(NULL);

	scan(controller, pods, 1);
	pass(controller, 40);
	assert_int_equal(fake_pressure.nr_passes, 0);
	controller_free(controller);
}

static void only_pods_and_containers_have_rows(void **state)
{
	struct controller *controller = start_with_pressure();
	struct pod_spec *full[NR_FULL_TREE_PODS];

	make_full_tree(full);
	scan(controller, full, NR_FULL_TREE_PODS);
	pass(controller, 40);
	pass(controller, 40);
	assert_int_equal(fake->nr_groups, 16);
	assert_non_null(group_of(GROUP_SHARED, ""));
	assert_int_equal(nr_rows(controller, "pressure"), (16 - 2) * 3);
	expect_row(controller, "m", "rest", "cpu", "some_10", "40.00");
	expect_row(controller, "p5", "web", "cpu", "some_10", "40.00");
	controller_free(controller);
	free_pods(full, NR_FULL_TREE_PODS);
}

/* Its cgroups go with the next reconcile. */
static void a_released_pod_has_no_rows(void **state)
{
	struct controller *controller = start_with_pressure();
	const struct source_sink *sink = &controller_sinks(controller)->source;

	scan(controller, pods, 1);
	pass(controller, 40);
	sink->scanned(sink->self, NULL, 0, true);
	assert_non_null(group_of(GROUP_POD, "uid-a"));
	assert_int_equal(nr_rows(controller, "pressure"), 0);
	controller_free(controller);
}

/* The reader has room for so many cgroups, and what is beyond is unknown: somebody must say so. */
static void cgroups_without_room_in_a_pass_are_told(void **state)
{
	struct controller *controller = start_with_pressure();
	uint32_t nr;

	scan(controller, pods, 2);
	pass(controller, 10);
	nr = fake_pressure.nr;
	assert_true(nr > 3);
	assert_int_equal(nr_findings(controller, "pressure_left_out", ""), 0);
	fake_pressure.room = nr - 2;
	pass(controller, 10);
	assert_int_equal(nr_findings(controller, "pressure_left_out", "of 2 cgroups"), 1);
	fake_pressure.room = nr - 1;
	pass(controller, 10);
	assert_int_equal(nr_findings(controller, "pressure_left_out", "of 1 cgroup "), 1);
	/* A pass that fails says nothing about room. */
	fake_pressure.result = -EIO;
	pass(controller, 10);
	assert_int_equal(nr_findings(controller, "pressure_left_out", "of 1 cgroup "), 1);
	fake_pressure.result = 0;
	fake_pressure.room = 0;
	pass(controller, 10);
	assert_int_equal(nr_findings(controller, "pressure_left_out", ""), 0);
	controller_free(controller);
}

/* Each of eight pods and its container take 1,022 of the 16,384 CPUs that are read. */
static void cgroups_without_room_for_their_cpus_are_told(void **state)
{
	struct pod_spec *many[9];
	struct controller *controller;

	topology_free(topology);
	topology = fake_machine(2, 256, 2);
	controller = start_with_pressure();
	for (uint32_t i = 0; i < ARRAY_SIZE(many); i++) {
		char name[] = {'a' + (char)i, '\0'};

		many[i] = fake_pod(name, "web", 100, false);
	}
	scan(controller, many, 8);
	pass(controller, 10);
	expect_metric(controller, "pinfold_not_measured{what=\"cpu_pressure\"} 0\n");
	assert_int_equal(nr_findings(controller, "cpu_pressure_left_out", ""), 0);
	scan(controller, many, 9);
	pass(controller, 10);
	pass(controller, 10);
	expect_metric(controller, "pinfold_not_measured{what=\"cpu_pressure\"} 2\n");
	assert_int_equal(nr_findings(controller, "cpu_pressure_left_out", "of 2 pods and"), 1);
	scan(controller, many, 8);
	pass(controller, 10);
	pass(controller, 10);
	expect_metric(controller, "pinfold_not_measured{what=\"cpu_pressure\"} 0\n");
	assert_int_equal(nr_findings(controller, "cpu_pressure_left_out", ""), 0);
	controller_free(controller);
	free_pods(many, ARRAY_SIZE(many));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_pressure, tear_down_pods)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shares_and_totals_are_shown),
		TEST(each_resource_has_its_own_figures),
		TEST(it_is_read_every_two_seconds),
		TEST(what_is_not_measured_has_no_figures),
		TEST(before_the_first_reconcile_there_are_no_rows),
		TEST(a_kernel_without_pressure_is_a_finding),
		TEST(cgroups_without_room_in_a_pass_are_told),
		TEST(cgroups_without_room_for_their_cpus_are_told),
		TEST(a_cgroup_without_pressure_is_a_finding),
		TEST(a_pod_that_came_during_the_pass_is_not_counted),
		TEST(the_remedy_takes_the_guard_into_account),
		TEST(a_cgroup_is_switched_on_again),
		TEST(what_was_before_is_forgotten),
		TEST(others_come_and_go),
		TEST(a_blocked_walk_is_told),
		TEST(slow_passes_are_rare),
		TEST(without_a_root_there_is_nothing_to_read),
		TEST(figures_that_cannot_be_read_any_more_are_unknown),
		TEST(figures_stay_if_a_pass_fails),
		TEST(without_the_port_pressure_is_unknown),
		TEST(nothing_is_read_until_cgroups_are_published),
		TEST(only_pods_and_containers_have_rows),
		TEST(a_released_pod_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
