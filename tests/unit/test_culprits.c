// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Events that wait for the name of a culprit: their order, the repair, the end of the agent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "ctl/culprits.h"
#include "lib/log.h"
#include "node_scene.h"

/* An event about two cgroups with these numbers; 0 = there is none. */
static struct event_record event_of(uint32_t kind, uint64_t culprit, uint64_t target)
{
	struct event_record event = EVENT_RECORD(kind);

	event.aspect = ASPECT_CPUSET_FILES;
	event.pid = 77;
	event.culprit_id = culprit;
	event.target_id = target;
	snprintf(event.comm, sizeof(event.comm), "culprit");
	return event;
}

static struct event_record denied(uint64_t culprit, const char *file)
{
	struct event_record event = event_of(EVENT_GUARD, culprit, 0);

	event.action = ACTION_DENY;
	event.guard.hook = HOOK_FILE_OPEN;
	snprintf(event.guard.file, sizeof(event.guard.file), "%s", file);
	return event;
}

static void tell(struct controller *controller, const struct event_record *event)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;

	sink->event(sink->self, event);
}

/* A later event that names no cgroup could be reported at once. */
static void no_event_overtakes_another(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record first = denied(id_of_path("pinfold.slice"), "first");
	struct event_record second = EVENT_RECORD(EVENT_UNJUDGED);
	size_t nr = nr_rows(controller, "event");
	struct json_object *list;

	second.nr_unjudged = 3;
	fake->slow_name = true;
	tell(controller, &first);
	tell(controller, &second);
	assert_int_equal(nr_rows(controller, "event"), nr);
	fake_end_name(controller);
	list = query(controller, "event");
	assert_int_equal(json_object_array_length(list), nr + 2);
	assert_string_equal(member(json_object_array_get_idx(list, nr), "kind"), "deny");
	assert_string_equal(member(json_object_array_get_idx(list, nr + 1), "kind"), "drift");
	json_object_put(list);
	controller_free(controller);
}

/* While no look succeeds, the event is all that says which cgroup was changed. */
static void a_named_target_is_repaired_although_looks_fail(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event;

	scan(controller, pods, 1);
	event = event_of(EVENT_DRIFT, id_of_path("pinfold.slice"),
			 id_of_path("pinfold.slice/poduid-a/exclusive"));
	event.attribute = GROUP_CPUSET_CPUS;
	fake->slow_name = true;
	tell(controller, &event);
	fake->read_error = -EIO;
	controller_wake(controller);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake->slow_name = false;
	fake->wake_ns = 0;
	fake_end_name(controller);
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

/* A write to a file of a cgroup by the process with this pid. */
static void tell_write(struct controller *controller, uint32_t pid, uint64_t target,
		       const char *file, const char *text)
{
	struct event_record event = event_of(EVENT_DRIFT, id_of_path("pinfold.slice"), target);

	event.pid = pid;
	if (!strcmp(file, "cpuset.cpus"))
		event.attribute = GROUP_CPUSET_CPUS;
	if (!strcmp(file, "cpuset.mems"))
		event.attribute = GROUP_CPUSET_MEMS;
	event.write.is_controllers = !strcmp(file, "cgroup.subtree_control");
	snprintf(event.write.file, sizeof(event.write.file), "%s", file);
	snprintf(event.write.text, sizeof(event.write.text), "%s", text);
	tell(controller, &event);
}

/* A cgroup that the agent did not make. Returns its number. */
static uint64_t make_outside(uint64_t id, const char *path)
{
	snprintf(fake->groups[id - 1].path, sizeof(fake->groups[0].path), "%s", path);
	return id;
}

/* As it does for kubepods.slice when a kubelet starts: no attack, and nobody asked for it. */
static void a_reset_by_systemd_is_not_told(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	size_t nr = nr_rows(controller, "event"), nr_drift = nr_rows(controller, "drift");
	struct event_record event;

	make_outside(FAKE_GROUPS, "system.slice");
	tell_write(controller, 1, FAKE_GROUPS, "cpuset.cpus", "");
	tell_write(controller, 1, FAKE_GROUPS, "cpuset.mems", "");
	tell_write(controller, 1, FAKE_GROUPS, "cgroup.subtree_control", "-cpu");
	assert_int_equal(nr_rows(controller, "event"), nr);
	assert_int_equal(nr_rows(controller, "drift"), nr_drift);
	/* A list, somebody else, and a cgroup of ours. */
	tell_write(controller, 1, FAKE_GROUPS, "cpuset.cpus", "0-15");
	tell_write(controller, 77, FAKE_GROUPS, "cpuset.cpus", "");
	tell_write(controller, 1, id_of_path("pinfold.slice"), "cpuset.cpus", "");
	tell_write(controller, 1, id_of_path("pinfold.slice"), "cgroup.subtree_control", "-cpu");
	assert_int_equal(nr_rows(controller, "event"), nr + 4);
	/* One that is gone may have been ours. */
	tell_write(controller, 1, FAKE_GROUPS - 1, "cpuset.cpus", "");
	assert_int_equal(nr_rows(controller, "event"), nr + 5);
	/* Somebody who is no kubelet asked for it. */
	event = event_of(EVENT_DRIFT, id_of_path("pinfold.slice"), FAKE_GROUPS);
	event.pid = 1;
	event.attribute = GROUP_CPUSET_CPUS;
	event.client.pid = 77;
	event.client.cgroup_id = id_of_path("pinfold.slice");
	tell(controller, &event);
	assert_int_equal(nr_rows(controller, "event"), nr + 6);
	/* A kubelet did. */
	event.client.cgroup_id = make_outside(FAKE_GROUPS - 2, "system.slice/kubelet.service");
	tell(controller, &event);
	assert_int_equal(nr_rows(controller, "event"), nr + 6);
	controller_free(controller);
}

static void systemd_empties_another_file_and_that_is_told(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	size_t nr = nr_rows(controller, "event");

	make_outside(FAKE_GROUPS, "system.slice");
	tell_write(controller, 1, FAKE_GROUPS, "cpu.max", "");
	assert_int_equal(nr_rows(controller, "event"), nr + 1);
	controller_free(controller);
}

/* Then the agent has written those lists. */
static void with_shared_host_tasks_an_emptied_list_is_told(void **state)
{
	struct config shared = config;
	struct controller *controller;
	size_t nr;

	shared.host_tasks = HOST_TASKS_SHARED;
	options.config = &shared;
	controller = start_node(&fake_side_port);
	nr = nr_rows(controller, "event");
	make_outside(FAKE_GROUPS, "system.slice");
	tell_write(controller, 1, FAKE_GROUPS, "cpuset.cpus", "");
	assert_int_equal(nr_rows(controller, "event"), nr + 1);
	controller_free(controller);
}

static void expect_named(struct controller *controller, const char *culprit)
{
	struct json_object *list = query(controller, "event"), *last;

	last = json_object_array_get_idx(list, json_object_array_length(list) - 1);
	assert_string_equal(member(last, "kind"), "deny");
	assert_string_equal(member(last, "cgroup"), culprit);
	assert_string_equal(member(last, "target"), "null");
	json_object_put(list);
}

static void an_event_names_only_the_cgroups_that_it_has(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record event = denied(id_of_path("pinfold.slice"), "first");
	char unknown[64];

	tell(controller, &event);
	expect_named(controller, "pinfold.slice");
	fake->slow_name = true;
	/* One more than may wait, so the first of them is told without its name. */
	for (int i = 0; i <= MAX_UNNAMED; i++)
		tell(controller, &event);
	snprintf(unknown, sizeof(unknown), "(name not known, id %llu)",
		 (unsigned long long)event.culprit_id);
	expect_named(controller, unknown);
	controller_free(controller);
}

/* What is written to the journal while the controller is freed. */
static void read_journal_of_end(struct controller *controller, char *ret_text, size_t size)
{
	FILE *file = tmpfile();
	int stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	size_t len;

	assert_non_null(file);
	assert_true(stderr_fd >= 0);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	controller_free(controller);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	rewind(file);
	len = fread(ret_text, 1, size - 1, file);
	ret_text[len] = '\0';
	fclose(file);
}

static void events_without_a_name_are_reported_at_the_end(void **state)
{
	struct controller *controller = start_node(&fake_side_port);
	struct event_record first = denied(id_of_path("pinfold.slice"), "first");
	struct event_record second = denied(first.culprit_id, "second");
	char journal[2048], unknown[64];
	const char *line;

	/* The journal has one line for each culprit and minute. */
	snprintf(second.comm, sizeof(second.comm), "another");
	fake->slow_name = true;
	tell(controller, &first);
	tell(controller, &second);
	snprintf(unknown, sizeof(unknown), "(name not known, id %llu)",
		 (unsigned long long)first.culprit_id);
	read_journal_of_end(controller, journal, sizeof(journal));
	line = strstr(journal, "first");
	assert_non_null(line);
	assert_non_null(strstr(journal, unknown));
	line = strstr(line, "second");
	assert_non_null(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_event_overtakes_another, set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_named_target_is_repaired_although_looks_fail,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(a_reset_by_systemd_is_not_told, set_up_node,
						tear_down),
		cmocka_unit_test_setup_teardown(systemd_empties_another_file_and_that_is_told,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(with_shared_host_tasks_an_emptied_list_is_told,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(an_event_names_only_the_cgroups_that_it_has,
						set_up_node, tear_down),
		cmocka_unit_test_setup_teardown(events_without_a_name_are_reported_at_the_end,
						set_up_node, tear_down),
	};

	log_open("test", LOG_LEVEL_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
