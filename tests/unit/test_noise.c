// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller's side of noise: which CPUs it has counted and for whom, and what is shown
 * where nothing is counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_noise.h"
#include "ctl/internal.h"
#include "ctl/noise_report.h"
#include "lib/text.h"
#include "mixed_pod.h"
#include "node_scene.h"

#define NR_SOURCES 10

static struct pod_spec *pods[2];

static struct controller *start_with(const struct noise_port *noise)
{
	struct controller *controller = make_node_with(
		(struct controller_ports){.kernel = &fake_side_port, .noise = noise});

	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static int set_up_noise(void **state)
{
	fake_noise_reset();
	pods[0] = fake_pod("a", "exclusive", 2000, true);
	pods[1] = fake_pod("b", "web", 500, false);
	return set_up_node(state);
}

static int tear_down_noise(void **state)
{
	free_pods(pods, 2);
	return tear_down(state);
}

static struct group_status status_at(enum group_role role, const char *name)
{
	struct group_status status;

	assert_int_equal(fake_status(NULL, group_of(role, name)->path, &status), 0);
	return status;
}

/* The row of a source, which must be the only one on its CPU. */
static void expect_row(struct controller *controller, const char *source, const char *key,
		       const char *wanted)
{
	struct json_object *rows = query(controller, "noise");
	const char *found = NULL, *cpu = "";

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (strcmp(member(row, "source"), source) || !strcmp(member(row, "cpu"), cpu))
			continue;
		cpu = member(row, "cpu");
		found = member(row, key);
		assert_string_equal(found, wanted);
	}
	assert_non_null(found);
	json_object_put(rows);
}

/* --- what is watched ------------------------------------------------------------------------------- */

static void only_exclusive_cpus_are_watched(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);
	struct group_status container;

	scan(controller, &pods[1], 1);
	controller_tick(controller);
	assert_int_equal(fake_noise.nr_calls, 0);
	scan(controller, pods, 2);
	controller_tick(controller);
	assert_int_equal(fake_noise.nr_calls, 1);
	assert_int_equal(fake_noise.nr, 2);
	container = status_at(GROUP_CONTAINER, "exclusive");
	for (uint32_t i = 0; i < 2; i++) {
		const struct noise_owner *owner = &fake_noise.grants[i].owner;

		assert_true(cpuset_has(&container.effective_cpus, fake_noise.grants[i].cpu));
		assert_int_equal(owner->cgroup_id, container.cgroup_id);
		assert_int_equal(owner->level, container.level);
		assert_int_equal(owner->pod_cgroup_id, status_at(GROUP_POD, "uid-a").cgroup_id);
		assert_int_equal(owner->root_cgroup_id, status_at(GROUP_ROOT, "").cgroup_id);
	}
	assert_true(fake_noise.grants[0].cpu < fake_noise.grants[1].cpu);
	controller_free(controller);
}

static void what_has_not_changed_is_not_said_again(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 2);
	for (int i = 0; i < 20; i++) {
		fake->now_ns += S;
		controller_tick(controller);
	}
	assert_int_equal(fake_noise.nr_calls, 1);
	controller_free(controller);
}

static void nothing_is_watched_when_the_pod_is_gone(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 2);
	controller_tick(controller);
	assert_int_equal(fake_noise.nr, 2);
	scan(controller, &pods[1], 1);
	controller_wake(controller);
	controller_tick(controller);
	assert_int_equal(fake_noise.nr, 0);
	assert_int_equal(fake_noise.nr_calls, 2);
	assert_int_equal(nr_rows(controller, "noise"), 0);
	controller_free(controller);
}

/* The containers of a pod's own pool share its CPUs, so nobody has them exclusively. */
static void a_pods_pool_is_not_watched(void **state)
{
	struct controller *controller;
	struct pod_spec *spec = mixed_pod("bubble", "alone", 1000, 3000);
	struct json_object *rows;

	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	controller = start_with(&fake_noise_port);
	scan(controller, &spec, 1);
	controller_tick(controller);
	rows = query(controller, "container");
	assert_string_equal(member(json_object_array_get_idx(rows, 1), "isolation"), "pod");
	json_object_put(rows);
	assert_int_equal(fake_noise.nr, 1);
	assert_int_equal(fake_noise.grants[0].owner.cgroup_id,
			 status_at(GROUP_CONTAINER, "alone").cgroup_id);
	controller_free(controller);
	free_pods(&spec, 1);
}

/* An init container's CPUs are used again: none of the two is a stranger to the other's. */
static void cpus_that_containers_share_belong_to_the_pod(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);
	struct pod_spec *spec = fake_pod("twice", "app", 2000, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));

	assert_non_null(containers);
	containers[0] = containers[1] = spec->containers[0];
	strcpy(containers[0].name, "setup");
	containers[0].kind = CONTAINER_INIT;
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
	scan(controller, &spec, 1);
	controller_tick(controller);
	assert_int_equal(fake_noise.nr, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(fake_noise.grants[i].owner.cgroup_id,
				 status_at(GROUP_POD, "uid-twice").cgroup_id);
	fake_noise_add(NOISE_TIMER, "", 1, 500000000);
	expect_row(controller, "timer", "container", "null");
	assert_int_equal(nr_rows(controller, "noise"), 2);
	assert_int_equal(nr_series(controller, "source=\"timer\"} 1.000000000\n"), 1);
	controller_free(controller);
	free_pods(&spec, 1);
}

/* --- what is shown --------------------------------------------------------------------------------- */

static void figures_are_shown_with_their_source(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);
	struct noise_entry *entry;

	scan(controller, pods, 2);
	controller_tick(controller);
	fake_noise_add(NOISE_HARDIRQ, "eth0", 4, 4000)->id = 33;
	fake_noise_add(NOISE_SOFTIRQ, "NET_RX", 5, 1500000000);
	entry = fake_noise_add(NOISE_OTHER_POD, "thief", 1, 70);
	entry->pid = 4242;
	entry->id = status_at(GROUP_CONTAINER, "web").cgroup_id;
	assert_int_equal(nr_rows(controller, "noise"), 2 * 3);
	expect_row(controller, "softirq", "seconds", "1.500000000");
	expect_row(controller, "softirq", "longest_seconds", "0.750000000");
	expect_row(controller, "softirq", "count", "5");
	expect_row(controller, "softirq", "name", "NET_RX");
	expect_row(controller, "softirq", "irq", "null");
	expect_row(controller, "softirq", "pod", "a");
	expect_row(controller, "softirq", "container", "exclusive");
	expect_row(controller, "softirq", "state", "counted");
	expect_row(controller, "hardirq", "irq", "33");
	expect_row(controller, "hardirq", "cgroup", "null");
	expect_row(controller, "other_pod", "pid", "4242");
	expect_row(controller, "other_pod", "cgroup", group_of(GROUP_CONTAINER, "web")->path);
	controller_free(controller);
}

/* What runs on another thread of the core is told with whose it is, besides what took the CPU. */
static void a_sibling_is_shown_with_its_thread(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);
	struct noise_entry *entry;

	scan(controller, pods, 2);
	controller_tick(controller);
	fake_noise_add(NOISE_HOST_TASK, "bash", 1, 1000);
	entry = fake_noise_add(NOISE_SMT_SIBLING, "thief", 3, 1500000000);
	entry->sibling = 7;
	entry->by = NOISE_OTHER_POD;
	entry->id = status_at(GROUP_CONTAINER, "web").cgroup_id;
	assert_int_equal(nr_rows(controller, "noise"), 2 * 2);
	expect_row(controller, "smt_sibling", "sibling", "7");
	expect_row(controller, "smt_sibling", "by", "other_pod");
	expect_row(controller, "smt_sibling", "cgroup", group_of(GROUP_CONTAINER, "web")->path);
	expect_row(controller, "smt_sibling", "seconds", "1.500000000");
	expect_row(controller, "host_task", "sibling", "null");
	expect_row(controller, "host_task", "by", "null");
	assert_int_equal(nr_series(controller, "source=\"smt_sibling\"} 3.000000000\n"), 1);
	assert_int_equal(nr_series(controller, "source=\"other_pod\"} 0.000000000\n"), 1);
	/* of a kernel thread the number is no cgroup's */
	fake_noise.entries[1].by = NOISE_KTHREAD;
	expect_row(controller, "smt_sibling", "by", "kthread");
	expect_row(controller, "smt_sibling", "cgroup", "null");
	controller_free(controller);
}

static void a_cgroup_is_named_when_its_name_is_known(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);
	char path[GROUP_PATH_MAX];

	scan(controller, pods, 2);
	controller_tick(controller);
	snprintf(path, sizeof(path), "%s", group_of(GROUP_CONTAINER, "web")->path);
	fake_noise_add(NOISE_OTHER_POD, "thief", 1, 70)->id =
		status_at(GROUP_CONTAINER, "web").cgroup_id;
	fake->slow_name = true;
	expect_row(controller, "other_pod", "cgroup", "null");
	fake_end_name(controller);
	expect_row(controller, "other_pod", "cgroup", path);
	/* and stays named, however long another lookup takes */
	fake->naming = 1;
	expect_row(controller, "other_pod", "cgroup", path);
	fake->naming = 0;
	controller_free(controller);
}

static void those_that_have_no_place_have_no_name(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 1);
	controller_tick(controller);
	fake_noise_add(NOISE_HARDIRQ, "", 9, 900);
	expect_row(controller, "hardirq", "name", "null");
	expect_row(controller, "hardirq", "irq", "null");
	expect_row(controller, "hardirq", "count", "9");
	controller_free(controller);
}

/* The name of a process is what the process says; entries of 16 bytes may have no end. */
static void a_name_of_full_length_is_shown(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 1);
	controller_tick(controller);
	fake_noise_add(NOISE_KTHREAD, "0123456789abcdef", 1, 1);
	expect_row(controller, "kthread", "name", "0123456789abcdef");
	controller_free(controller);
}

static void the_most_time_comes_first(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);
	static const char *const wanted[] = {"kthread", "timer", "softirq"};
	struct json_object *rows;

	scan(controller, pods, 1);
	controller_tick(controller);
	fake_noise_add(NOISE_TIMER, "", 1, 20);
	fake_noise_add(NOISE_SOFTIRQ, "RCU", 90, 3);
	fake_noise_add(NOISE_KTHREAD, "kworker/2:1", 1, 500);
	rows = query(controller, "noise");
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(member(json_object_array_get_idx(rows, i), "source"),
				    wanted[i % 3]);
	json_object_put(rows);
	controller_free(controller);
}

/* --- what is not known ------------------------------------------------------------------------------ */

static void expect_uncounted(enum noise_state state, const char *shown)
{
	struct controller *controller = start_with(&fake_noise_port);

	fake_noise.state = state;
	scan(controller, pods, 1);
	controller_tick(controller);
	assert_int_equal(nr_rows(controller, "noise"), 2 * NR_SOURCES);
	expect_row(controller, "kthread", "state", shown);
	expect_row(controller, "kthread", "count", "null");
	expect_row(controller, "kthread", "seconds", "null");
	assert_int_equal(nr_series(controller, "\npinfold_noise_seconds_total{"), 0);
	controller_free(controller);
}

static void what_is_being_loaded_is_not_shown_as_nothing(void **state)
{
	expect_uncounted(NOISE_LOADING, "loading");
}

static void what_could_not_be_loaded_is_not_shown_as_nothing(void **state)
{
	expect_uncounted(NOISE_FAILED, "unknown");
}

/* Without published cgroups the port is told of no CPU and stays off. */
static void what_was_never_asked_for_is_not_being_loaded(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 1);
	fake_noise.state = NOISE_OFF;
	expect_row(controller, "kthread", "state", "unknown");
	controller_free(controller);
}

static void without_bpf_it_is_unknown(void **state)
{
	struct controller *controller = start_with(NULL);

	scan(controller, pods, 1);
	controller_tick(controller);
	expect_row(controller, "timer", "state", "unknown");
	assert_int_equal(nr_series(controller, "pinfold_noise_"), 0);
	controller_free(controller);
}

static void a_source_that_the_kernel_lacks_is_said(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 1);
	controller_tick(controller);
	fake_noise.lacks[NOISE_TIMER] = true;
	fake_noise_add(NOISE_KTHREAD, "kworker/2:1", 1, 500);
	assert_int_equal(nr_rows(controller, "noise"), 2 * 2);
	expect_row(controller, "timer", "state", "unsupported");
	expect_row(controller, "timer", "seconds", "null");
	expect_row(controller, "kthread", "state", "counted");
	assert_int_equal(nr_series(controller, "source=\"timer\""), 0);
	assert_int_equal(nr_series(controller, "\npinfold_noise_seconds_total{"), NR_SOURCES - 1);
	controller_free(controller);
}

static void a_failure_is_a_finding_until_it_is_over(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 1);
	fake_noise.state = NOISE_FAILED;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "noise_absent", ""), 1);
	fake_noise.state = NOISE_COUNTING;
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "noise_absent", ""), 0);
	controller_free(controller);
}

/* --- the page --------------------------------------------------------------------------------------- */

static void a_pods_time_is_the_sum_of_its_cpus(void **state)
{
	struct controller *controller = start_with(&fake_noise_port);

	scan(controller, pods, 2);
	controller_tick(controller);
	fake_noise_add(NOISE_SOFTIRQ, "RCU", 1, 250000000);
	fake_noise_add(NOISE_SOFTIRQ, "TIMER", 1, 500000000);
	assert_int_equal(nr_series(controller,
				   "pinfold_noise_seconds_total{namespace=\"default\",pod=\"a\","
				   "source=\"softirq\"} 1.500000000\n"),
			 1);
	assert_int_equal(nr_series(controller,
				   "pinfold_noise_seconds_total{namespace=\"default\",pod=\"a\","
				   "source=\"kthread\"} 0"),
			 1);
	assert_int_equal(nr_series(controller, "\npinfold_noise_seconds_total{"), NR_SOURCES);
	/* Without one of its CPUs the sum would be one that decreased. */
	fake_noise.unread = (int)fake_noise.grants[1].cpu;
	assert_int_equal(nr_series(controller, "\npinfold_noise_seconds_total{"), 0);
	controller_free(controller);
}

/* --- names for the page for people -------------------------------------------------------------- */

static unsigned int nr_lookups;

static int counted_path_of(void *self, uint64_t cgroup_id, char *ret_path, size_t size)
{
	nr_lookups++;
	if (cgroup_id == 100)
		return -ENOENT;
	snprintf(ret_path, size, "host/%ju", (uintmax_t)cgroup_id);
	return 0;
}

static unsigned int nr_named_rows(struct controller *controller)
{
	struct json_object *rows = ctl_report_noise_from_memory(controller);
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(rows); i++)
		nr += strcmp(member(json_object_array_get_idx(rows, i), "cgroup"), "null") != 0;
	json_object_put(rows);
	return nr;
}

/* Anybody may ask for the page, and a look-up may hold the loop. One has no name any more. */
static void a_report_from_memory_learns_a_name_each_second(void **state)
{
	struct controller *controller;

	groups.path_of = counted_path_of;
	controller = start_with(&fake_noise_port);
	scan(controller, pods, 1);
	controller_tick(controller);
	for (uint64_t id = 99; id < 104; id++)
		fake_noise_add(NOISE_HOST_TASK, "spinner", 1, 500)->id = id;
	nr_lookups = 0;
	for (int i = 0; i < 20; i++)
		assert_int_equal(nr_named_rows(controller), 0);
	assert_int_equal(nr_lookups, 0);
	/* One of them, and then nothing, because nobody has asked since. */
	controller_tick(controller);
	controller_tick(controller);
	assert_int_equal(nr_lookups, 1);
	nr_lookups = 0;
	for (unsigned int i = 1; i <= 10; i++) {
		nr_named_rows(controller);
		controller_tick(controller);
		assert_true(nr_lookups <= i);
	}
	/* Each of the two CPUs has the four. */
	assert_int_equal(nr_named_rows(controller), 2 * 4);
	/* What nobody asks for any more is not looked up. */
	controller_tick(controller);
	nr_lookups = 0;
	controller_tick(controller);
	assert_int_equal(nr_lookups, 0);
	controller_free(controller);
}

/* Whatever the order in which names are asked for. */
static void the_number_after_the_last_one_is_looked_up_next(void **state)
{
	static const uint64_t orders[][3] = {{7, 3, 5}, {3, 5, 7}, {5, 7, 3}};
	static const struct {
		uint64_t tried, next;
	} cases[] = {{0, 3}, {2, 3}, {3, 5}, {4, 5}, {5, 7}, {6, 7}, {7, 3}, {8, 3}};
	static struct noise noise;

	for (size_t i = 0; i < ARRAY_SIZE(cases) * ARRAY_SIZE(orders); i++) {
		const uint64_t *ids = orders[i % ARRAY_SIZE(orders)];

		noise = (struct noise){.tried = cases[i / ARRAY_SIZE(orders)].tried};
		for (size_t j = 0; j < ARRAY_SIZE(orders[0]); j++)
			assert_null(noise_cgroup_in_memory(&noise, ids[j]));
		assert_int_equal(noise.wanted, cases[i / ARRAY_SIZE(orders)].next);
	}
	noise = (struct noise){.names = {{.cgroup_id = 7, .path = "a"}}};
	assert_string_equal(noise_cgroup_in_memory(&noise, 7), "a");
	assert_int_equal(noise.wanted, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_noise, tear_down_noise)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_exclusive_cpus_are_watched),
		TEST(what_has_not_changed_is_not_said_again),
		TEST(nothing_is_watched_when_the_pod_is_gone),
		TEST(a_pods_pool_is_not_watched),
		TEST(cpus_that_containers_share_belong_to_the_pod),
		TEST(figures_are_shown_with_their_source),
		TEST(a_sibling_is_shown_with_its_thread),
		TEST(a_cgroup_is_named_when_its_name_is_known),
		TEST(those_that_have_no_place_have_no_name),
		TEST(a_name_of_full_length_is_shown),
		TEST(the_most_time_comes_first),
		TEST(what_is_being_loaded_is_not_shown_as_nothing),
		TEST(what_could_not_be_loaded_is_not_shown_as_nothing),
		TEST(what_was_never_asked_for_is_not_being_loaded),
		TEST(without_bpf_it_is_unknown),
		TEST(a_source_that_the_kernel_lacks_is_said),
		TEST(a_failure_is_a_finding_until_it_is_over),
		TEST(a_pods_time_is_the_sum_of_its_cpus),
		TEST(a_report_from_memory_learns_a_name_each_second),
		TEST(the_number_after_the_last_one_is_looked_up_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
