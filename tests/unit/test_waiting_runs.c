// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* "pinfold run" while its pod, its process or the kill of an init container waits. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "waiting_scene.h"

static void a_join_under_way_is_answered_at_its_end(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 2);
	fake->slow_join = true;
	assert_int_equal(run(controller, 7, "default/a", "exclusive", &status), -EINPROGRESS);
	assert_string_equal(fake->joining, "pinfold.slice/poduid-a/exclusive");
	fake->slow_join = false;
	assert_int_equal(run(controller, 8, "default/w", "web", &status), 0);
	assert_int_equal(status, 200);
	fake_end_join(controller, 0);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_request, 7);
	assert_int_equal(answered_status, 200);
	assert_non_null(strstr(answered_text, "exclusive"));
	/* The same, and it fails. */
	fake->slow_join = true;
	assert_int_equal(run(controller, 9, "default/a", "exclusive", &status), -EINPROGRESS);
	fake_end_join(controller, -ESRCH);
	assert_int_equal(answered_status, 500);
	assert_non_null(strstr(answered_text, "injected at the end"));
	end(controller, pods, 2);
}

/* What is longer than any name there can be is not cut to one that there is. */
static void a_longer_name_is_another_container(void **state)
{
	char name[POD_CONTAINER_NAME], longer[POD_CONTAINER_NAME + 3];
	unsigned int status = 0;
	struct controller *controller;
	struct pod_spec *pods[1];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(longer, sizeof(longer), "%syy", name);
	pods[0] = fake_pod("a", name, 500, false);
	controller = start_controller();
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", name, &status), 0);
	assert_int_equal(status, 200);
	assert_int_equal(run(controller, 2, "default/a", longer, &status), 0);
	assert_int_equal(status, 404);
	end(controller, pods, 1);
}

/* An init container and one that follows it. */
static struct pod_spec *init_pod(void)
{
	struct pod_spec *spec = fake_pod("a", "exclusive", 4000, true);

	spec->containers = realloc(spec->containers, 2 * sizeof(*spec->containers));
	assert_non_null(spec->containers);
	spec->containers[1] = spec->containers[0];
	spec->containers[0].kind = CONTAINER_INIT;
	strcpy(spec->containers[0].name, "init");
	spec->nr_containers = 2;
	return spec;
}

static void a_run_waits_for_its_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	be_slow_with("uid-a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 3, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	/* Once. */
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	end(controller, pods, 1);
}

/* The first of its steps has ended, and the next follows in the next round. */
static void a_run_waits_for_the_rest_of_the_chain(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	be_slow_with("uid-a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	be_fast();
	fake_end_step(controller, 0);
	assert_null(group_of(GROUP_CONTAINER, "exclusive"));
	assert_int_equal(run(controller, 3, "default/a", "exclusive", &status), -EINPROGRESS);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	end(controller, pods, 1);
}

/* Its CPUs are another pod's until that one has left them. */
static void a_run_waits_for_cpus_of_others(void **state)
{
	struct pod_spec *pods[] = {fake_pod("w", "web", 500, false),
				   fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	unsigned int status = 0;
	char why[512];

	scan(controller, pods, 1);
	be_slow_with("uid-w", GROUP_CPUSET_CPUS);
	scan(controller, pods, 2);
	assert_int_equal(run(controller, 3, "default/a", "exclusive", &status), -EINPROGRESS);
	controller_wake(controller);
	assert_int_equal(nr_answers, 0);
	assert_int_equal(run(controller, 4, "default/a", "exclusive", &status), -EINPROGRESS);
	faces->withdraw(faces->self, 4, why, sizeof(why));
	assert_non_null(strstr(why, "waits for CPUs 2-5, which pod default/w still has"));
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	end(controller, pods, 2);
}

static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* The process of a request that has no answer is held no longer than the agent lives. */
static void a_request_ends_with_the_agent(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int nr = nr_descriptors(), status = 0;

	scan(controller, pods, 1);
	fake->slow_join = true;
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	assert_int_equal(nr_descriptors(), nr + 1);
	controller_free(controller);
	assert_int_equal(nr_descriptors(), nr);
	free_pods(pods, 1);
}

/* The sanitizer sees to it that the answer is freed. */
static void an_answer_that_nobody_takes_is_dropped(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	fake->slow_join = true;
	listener = NULL;
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	listener = &answers;
	fake_end_join(controller, 0);
	assert_int_equal(nr_answers, 0);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	end(controller, pods, 1);
}

/* Whatever happens to the pod meanwhile, and whatever is tried again: one answer, at the end. */
static void a_join_is_answered_at_its_end_though_the_pod_ends(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};

	for (int is_populated = 0; is_populated <= 1; is_populated++) {
		struct controller *controller = start_controller();
		unsigned int status = 0;

		scan(controller, pods, 1);
		populate(is_populated);
		fake->slow_join = true;
		assert_int_equal(run(controller, 1, "default/a", "exclusive", &status),
				 -EINPROGRESS);
		scan(controller, NULL, 0);
		controller_wake(controller);
		assert_int_equal(nr_answers, 0);
		fake_end_join(controller, 0);
		assert_int_equal(nr_answers, 1);
		if (is_populated) {
			assert_int_equal(answered_status, 200);
		} else {
			assert_int_equal(answered_status, 404);
			assert_non_null(strstr(answered_text,
					       "the process has joined exclusive, but "
					       "its pod ended meanwhile"));
		}
		controller_free(controller);
		fake_world_reset();
	}
	free_pods(pods, 1);
}

static void a_run_waits_for_the_look_after_its_grant(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	fake->slow_look = true;
	scan(controller, pods, 1);
	assert_int_equal(fake->look, FAKE_LOOKING);
	/* It has no cgroup yet, and will have one. */
	assert_int_equal(run(controller, 1, "default/a", "init", &status), -EINPROGRESS);
	fake->slow_look = false;
	end_look(controller);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(answered_status, 200);
	end(controller, pods, 1);
}

/* Nothing tells when it will have one. */
static void without_a_look_there_is_no_cgroup_to_join(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	fake->read_error = -EIO;
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	assert_int_equal(status, 503);
	end(controller, pods, 1);
}

/* The pod that is asked for, not the one that has waited longest. */
static void who_stops_waiting_is_told_of_the_own_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("w", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	unsigned int status = 0;
	char why[512];

	scan(controller, pods, 2);
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	fake->now_ns += 9 * SECOND;
	fake->slow_join = true;
	assert_int_equal(run(controller, 1, "default/w", "web", &status), -EINPROGRESS);
	faces->withdraw(faces->self, 1, why, sizeof(why));
	assert_non_null(strstr(why, "pod default/w has waited 0 s"));
	fake_end_join(controller, 0);
	fake_end_step(controller, 0);
	end(controller, pods, 2);
}

static void systemd_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .systemd = true};
}

/* A scope that came to be in a wake is looked at in the next, at once. */
static void a_new_scope_asks_for_a_wake(void **state)
{
	static struct groups_port groups;
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	const struct controller_ports ports = {
		.clock = &fake_clock, .loop = &fake_loop, .groups = &groups, .store = &fake_store};
	static const struct controller_options options = {.config = &config,
							  .config_file = "",
							  .kernel_release = "6.1",
							  .boot_id = "boot",
							  .revision = "test"};
	struct controller *controller = NULL;
	unsigned int status = 0;
	char error[256];

	groups = fake_groups;
	groups.layout = systemd_layout;
	assert_int_equal(controller_new(topology, &policy, &options, &ports, error, sizeof(error),
					&controller),
			 0);
	assert_int_equal(controller_start(controller), 0);
	be_slow_with("uid_a", GROUP_FILE_NR);
	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), -EINPROGRESS);
	be_fast();
	fake_end_step(controller, 0);
	fake->wake_ns = 0;
	controller_wake(controller);
	assert_int_equal(answered_status, 200);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	end(controller, pods, 1);
}

static void a_client_that_gives_up_gets_the_reason(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	unsigned int status = 0;
	char why[512];

	scan(controller, pods, 1);
	fake->slow_join = true;
	assert_int_equal(run(controller, 4, "default/a", "exclusive", &status), -EINPROGRESS);
	fake->now_ns += 9 * SECOND;
	faces->withdraw(faces->self, 4, why, sizeof(why));
	assert_non_null(strstr(why, "pod default/a has waited 9 s for a process to "
				    "join pinfold.slice/poduid-a/exclusive"));
	/* It ends all the same, and nobody is told. */
	fake_end_join(controller, 0);
	assert_int_equal(nr_answers, 0);
	/* Another one, that had not begun. */
	be_slow_with("uid-a", GROUP_CPUSET_CPUS);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_int_equal(run(controller, 5, "default/a", "exclusive", &status), -EINPROGRESS);
	faces->withdraw(faces->self, 5, why, sizeof(why));
	assert_non_null(strstr(why, "cpuset.cpus"));
	be_fast();
	fake_end_step(controller, 0);
	controller_wake(controller);
	assert_int_equal(nr_answers, 0);
	assert_string_equal(fake->joining, "");
	end(controller, pods, 1);
}

static void a_slow_kill_comes_before_the_join(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	assert_true(group_of(GROUP_CONTAINER, "init")->populated);
	fake->slow_kill = true;
	assert_int_equal(run(controller, 2, "default/a", "exclusive", &status), -EINPROGRESS);
	assert_false(group_of(GROUP_CONTAINER, "exclusive")->populated);
	expect_metric(controller, "pinfold_operations_waiting 1\n");
	fake->wake_ns = 0;
	fake_end_kill(controller);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	controller_wake(controller);
	assert_int_equal(answered_status, 200);
	assert_false(group_of(GROUP_CONTAINER, "init")->populated);
	assert_true(group_of(GROUP_CONTAINER, "exclusive")->populated);
	end(controller, pods, 1);
}

/* While nobody can tell whether an init container runs, nothing starts beside it. */
static void an_unknown_init_container_is_not_taken_for_ended(void **state)
{
	static const char *const others[] = {"exclusive", "init"};
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		fake->status_error = -EIO;
		assert_int_equal(run(controller, 1, "default/a", others[i], &status), 0);
		assert_int_equal(status, 503);
		fake->status_error = -EINPROGRESS;
		assert_int_equal(run(controller, 2, "default/a", others[i], &status), -EINPROGRESS);
		fake->status_error = 0;
		nr_answers = 0;
		controller_wake(controller);
		assert_int_equal(nr_answers, 1);
		assert_int_equal(answered_status, 200);
		populate(false);
	}
	end(controller, pods, 1);
}

static void a_kill_that_is_done_at_once_is_not_waited_for(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	assert_int_equal(run(controller, 2, "default/a", "exclusive", &status), 0);
	assert_int_equal(status, 200);
	assert_false(group_of(GROUP_CONTAINER, "init")->populated);
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	end(controller, pods, 1);
}

static void an_empty_init_container_is_not_waited_for(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	fake->slow_kill = true;
	assert_int_equal(run(controller, 1, "default/a", "exclusive", &status), 0);
	assert_int_equal(status, 200);
	end(controller, pods, 1);
}

/* As one that fails at once: the log has it, and it is not tried without end. */
static void a_kill_that_fails_late_is_tried_once(void **state)
{
	struct pod_spec *pods[] = {init_pod()};
	struct controller *controller = start_controller();
	unsigned int status = 0;

	scan(controller, pods, 1);
	assert_int_equal(run(controller, 1, "default/a", "init", &status), 0);
	fake->slow_kill = true;
	assert_int_equal(run(controller, 2, "default/a", "exclusive", &status), -EINPROGRESS);
	fake_tell_end(controller, fake->killing, -EIO);
	controller_wake(controller);
	assert_int_equal(answered_status, 200);
	expect_metric(controller, "pinfold_operations_waiting 0\n");
	end(controller, pods, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_join_under_way_is_answered_at_its_end, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_longer_name_is_another_container, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_its_pod, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_the_rest_of_the_chain, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_cpus_of_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_that_gives_up_gets_the_reason, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_ends_with_the_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_that_nobody_takes_is_dropped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_join_is_answered_at_its_end_though_the_pod_ends,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_the_look_after_its_grant, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_look_there_is_no_cgroup_to_join, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(who_stops_waiting_is_told_of_the_own_pod, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_new_scope_asks_for_a_wake, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unknown_init_container_is_not_taken_for_ended,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_kill_that_is_done_at_once_is_not_waited_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_init_container_is_not_waited_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_kill_that_fails_late_is_tried_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_slow_kill_comes_before_the_join, set_up,
						tear_down),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
