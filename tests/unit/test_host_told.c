// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* The controller's side of the host's cgroups: which CPUs are asked for and when, and what is found. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_host.h"
#include "lib/text.h"
#include "two_pods_scene.h"

static struct controller *start_with(enum host_tasks host_tasks, enum run_mode mode)
{
	struct controller *controller;

	changed = config;
	changed.host_tasks = host_tasks;
	changed.mode = mode;
	controller = make_node_with(
		(struct controller_ports){.kernel = &fake_side_port, .host = &fake_host_port});
	fake_host.sink = &controller_sinks(controller)->host;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static struct controller *start_shared(void)
{
	return start_with(HOST_TASKS_SHARED, MODE_ALLOCATE);
}

static int set_up_shared(void **state)
{
	memset(&fake_host, 0, sizeof(fake_host));
	return set_up_pods(state);
}

#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_shared, tear_down_pods)

static void expect_request(enum host_mode mode, const char *taken, const char *exclusive)
{
	char text[128];

	assert_int_equal(fake_host.request.mode, mode);
	cpuset_format(&fake_host.request.taken, text, sizeof(text));
	assert_string_equal(text, taken);
	cpuset_format(&fake_host.request.exclusive, text, sizeof(text));
	assert_string_equal(text, exclusive);
}

static void lists_follow_the_ledger(void **state)
{
	struct controller *controller = start_shared();

	tick(controller, 1);
	/* Where all CPUs are the host's, no group needs a list. */
	expect_request(HOST_RESTORE, "", "");
	scan(controller, pods, 2);
	controller_wake(controller);
	expect_request(HOST_CONFINE, "2-5", "2-5");
	scan(controller, &pods[1], 1);
	controller_wake(controller);
	expect_request(HOST_RESTORE, "", "");
	controller_free(controller);
}

static void offline_cpus_are_not_taken(void **state)
{
	struct controller *controller = start_shared();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	struct cpuset online = topology->all;

	scan(controller, pods, 1);
	cpuset_remove(&online, 9);
	sink->hotplug(sink->self, &online);
	tick(controller, 1);
	expect_request(HOST_CONFINE, "2-5", "2-5");
	controller_free(controller);
}

/* With isolcpus= pools have fewer CPUs, and the host has as many as before. */
static void isolated_cpus_are_not_taken(void **state)
{
	struct controller *controller;

	policy.excluded = cpuset_of_text("14-15");
	controller = start_shared();
	tick(controller, 1);
	expect_request(HOST_RESTORE, "", "");
	scan(controller, pods, 1);
	tick(controller, 1);
	expect_request(HOST_CONFINE, "2-5", "2-5");
	controller_free(controller);
	policy.excluded = CPUSET_EMPTY;
}

static void only_shared_confines(void **state)
{
	static const struct {
		enum host_tasks host_tasks;
		enum run_mode mode;
		unsigned int nr_passes;
	} rows[] = {
		{HOST_TASKS_FREE, MODE_ALLOCATE, 1},
		{HOST_TASKS_RESERVED, MODE_ALLOCATE, 1},
		{HOST_TASKS_SHARED, MODE_OBSERVE, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct controller *controller = start_with(rows[i].host_tasks, rows[i].mode);

		fake_host.nr_passes = 0;
		scan(controller, pods, 1);
		tick(controller, 120);
		/* With nothing left to be undone, one pass was enough. */
		assert_int_equal(fake_host.nr_passes, rows[i].nr_passes);
		assert_int_equal(fake_host.request.mode, HOST_RESTORE);
		controller_free(controller);
	}
}

/* Beside the partition a group that cannot be emptied must not have the pods' CPUs. */
static void a_partition_leaves_the_reserved_cpus(void **state)
{
	struct controller *controller = start_shared();
	char error[256], text[64];

	scan(controller, pods, 1);
	tick(controller, 1);
	expect_request(HOST_CONFINE, "2-5", "2-5");
	assert_true(cpuset_is_empty(&fake_host.request.rest));
	changed.host_tasks = HOST_TASKS_RESERVED;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	tick(controller, 1);
	assert_int_equal(fake_host.request.mode, HOST_RESTORE);
	cpuset_format(&fake_host.request.rest, text, sizeof(text));
	assert_string_equal(text, "0-1");
	controller_free(controller);
}

static void new_groups_are_looked_for(void **state)
{
	struct controller *controller = start_shared();

	/* A scan that admits a pod begins one. */
	scan(controller, pods, 1);
	fake_host.nr_passes = 0;
	tick(controller, 9);
	assert_int_equal(fake_host.nr_passes, 0);
	tick(controller, 1);
	assert_int_equal(fake_host.nr_passes, 1);
	controller_free(controller);
}

static void one_pass_at_a_time(void **state)
{
	struct controller *controller = start_shared();

	fake_host.is_slow = true;
	tick(controller, 1);
	scan(controller, pods, 1);
	tick(controller, 20);
	assert_int_equal(fake_host.nr_passes, 1);
	assert_int_equal(nr_findings(controller, "operation_waiting", "the host's groups"), 1);
	assert_true(node_has(controller, "a pass over them (in cpuset_mutex)"));
	assert_true(node_has(controller, "may run on exclusive CPUs until the pass ends"));
	fake_host_end();
	tick(controller, 1);
	assert_int_equal(fake_host.nr_passes, 2);
	expect_request(HOST_CONFINE, "2-5", "2-5");
	controller_free(controller);
}

static void what_escapes_is_found(void **state)
{
	struct controller *controller = start_shared();

	fake_host.report = (struct host_report){
		.nr_held = 2,
		.nr_foreign = 2,
		.foreign = "docker",
		.why_foreign = "it belongs to somebody",
		.nr_processes = 1,
		.nr_kthreads = 30,
		.nr_failed = 1,
		.failure = "user.slice/cpuset.cpus: no",
	};
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "host_groups_foreign",
				     "docker (and 1 more) may run on the exclusive CPUs 2-5: it "
				     "belongs to somebody"),
			 1);
	assert_int_equal(nr_findings(controller, "host_tasks_unconfined",
				     "1 process and 30 kernel threads of the root cgroup"),
			 1);
	assert_int_equal(
		nr_findings(controller, "host_groups_not_held", "user.slice/cpuset.cpus: no"), 1);
	/* What could not be counted is as it was. */
	fake_host.report = (struct host_report){.nr_held = 2, .count_error = -EMFILE};
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "host_groups_foreign", ""), 0);
	assert_int_equal(nr_findings(controller, "host_tasks_unconfined", ""), 1);
	fake_host.report = (struct host_report){.nr_held = 2};
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "host_groups_foreign", ""), 0);
	assert_int_equal(nr_findings(controller, "host_tasks_unconfined", ""), 0);
	assert_int_equal(nr_findings(controller, "host_groups_not_held", ""), 0);
	controller_free(controller);
}

static void failures_are_found(void **state)
{
	struct controller *controller = start_shared();

	fake_host.report = (struct host_report){.error = -EROFS};
	scan(controller, pods, 1);
	tick(controller, 1);
	assert_int_equal(nr_findings(controller, "host_originals_unusable", "Read-only"), 1);
	fake_host.report = (struct host_report){.error = -EBADMSG, .problem = "host.json:1:2: no"};
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "host_originals_unusable", "host.json:1:2"), 1);
	fake_host.result = -EIO;
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "host_groups_unknown", "Input/output"), 1);
	fake_host.error = -ENOMEM;
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "host_groups_unknown", "memory"), 1);
	fake_host.error = fake_host.result = 0;
	fake_host.report = (struct host_report){0};
	tick(controller, 10);
	assert_int_equal(nr_findings(controller, "host_groups_unknown", ""), 0);
	assert_int_equal(nr_findings(controller, "host_originals_unusable", ""), 0);
	controller_free(controller);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SHARED_TEST(lists_follow_the_ledger),
		SHARED_TEST(offline_cpus_are_not_taken),
		SHARED_TEST(isolated_cpus_are_not_taken),
		SHARED_TEST(only_shared_confines),
		SHARED_TEST(a_partition_leaves_the_reserved_cpus),
		SHARED_TEST(new_groups_are_looked_for),
		SHARED_TEST(one_pass_at_a_time),
		SHARED_TEST(what_escapes_is_found),
		SHARED_TEST(failures_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
