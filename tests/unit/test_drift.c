// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What counts as drift and what is the agent's own change, and who is named as its cause.
 * test_drift_rows.c has the rows themselves.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/drift.h"
#include "lib/log.h"
#include "node_scene.h"

#define A_PATH "pinfold.slice/poduid-a/exclusive"

static void expect_drift(struct controller *controller, size_t index, const char *key,
			 const char *wanted)
{
	struct json_object *list = query(controller, "drift");

	assert_true(index < json_object_array_length(list));
	assert_string_equal(member(json_object_array_get_idx(list, index), key), wanted);
	json_object_put(list);
}

static void reload(struct controller *controller)
{
	char error[256];

	policy = config.policy;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
}

/* --- drift or the agent's own change ---------------------------------------------------------- */

/* What an observing agent wants was never written, so nobody has changed it. */
static void values_that_were_never_written_have_not_drifted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "other", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct fake_group *group;

	scan(controller, pods, 2);
	controller_free(controller);
	/* Another process leaves a value in one cgroup, and the other is not there yet. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake_remove("pinfold.slice/poduid-b/other");
	config.mode = MODE_OBSERVE;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	group = group_of(GROUP_POD, "poduid-b");
	assert_non_null(group);
	{
		struct step step = {.kind = STEP_CREATE, .role = GROUP_CONTAINER};
		char error[GROUP_ERROR_MAX];

		snprintf(step.path, sizeof(step.path), "pinfold.slice/poduid-b/other");
		snprintf(step.uid, sizeof(step.uid), "uid-b");
		snprintf(step.container, sizeof(step.container), "other");
		assert_int_equal(fake_create(&step, error), 0);
	}
	tamper("other", GROUP_CPUSET_CPUS, "2-15");
	config.mode = MODE_ALLOCATE;
	reload(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("other", GROUP_CPUSET_CPUS), "6-7");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* A cgroup that is made again has no old value that could have been changed. */
static void a_removed_cgroup_has_not_drifted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	fake_remove(A_PATH);
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* More pods than the list of drift has rows; the last one is called "last". */
static struct pod_spec *many[DRIFT_LIST_ROWS + 8];

static void make_many(void)
{
	char name[16];

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		many[i] = fake_pod(name, i + 1 < ARRAY_SIZE(many) ? "web" : "last", 10, false);
	}
}

/* The list forgets the oldest of too many rows; auditing must not write their files for that. */
static void audit_leaves_more_drift_than_the_list_has_rows(void **state)
{
	struct controller *controller;

	make_many();
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(NULL);
	scan(controller, many, ARRAY_SIZE(many));
	tamper("web", GROUP_CPUSET_CPUS, "2-3");
	for (int look = 0; look < 3; look++)
		controller_wake(controller);
	for (uint32_t i = 0; i < fake->nr_groups; i++)
		if (strstr(fake_at(i)->path, "/web"))
			assert_string_equal(fake_at(i)->files[GROUP_CPUSET_CPUS], "2-3");
	assert_int_equal(nr_rows(controller, "drift"), DRIFT_LIST_ROWS);
	controller_free(controller);
	free_pods(many, ARRAY_SIZE(many));
}

static bool refuses_memory_of_last(const struct step *step)
{
	return step->file == GROUP_MEMORY_MAX && strstr(step->path, "/last");
}

/* What the agent itself could not write yet is written nevertheless. */
static void a_forgotten_row_hides_no_failed_step(void **state)
{
	struct controller *controller;

	make_many();
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	many[ARRAY_SIZE(many) - 1]->containers->limit.memory_bytes = 64 << 20;
	controller = start_node(NULL);
	fake->refuses = refuses_memory_of_last;
	scan(controller, many, ARRAY_SIZE(many));
	tamper("last", GROUP_MEMORY_MAX, "max");
	tamper("web", GROUP_CPUSET_CPUS, "2-3");
	for (int look = 0; look < 3; look++)
		controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), DRIFT_LIST_ROWS);
	assert_string_equal(file_of("last", GROUP_MEMORY_MAX), "max");
	fake->refuses = NULL;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_string_equal(file_of("last", GROUP_MEMORY_MAX), "67108864");
	controller_free(controller);
	free_pods(many, ARRAY_SIZE(many));
}

static bool refuses_cpus(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_CPUSET_CPUS;
}

static size_t nr_rows_of(struct controller *controller, const char *path)
{
	struct json_object *list = query(controller, "drift");
	size_t nr = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++)
		nr += strstr(member(json_object_array_get_idx(list, i), "cgroup"), path) != NULL;
	json_object_put(list);
	return nr;
}

/* An agent that repairs writes everything, so it need not guess what has drifted. */
static void a_forgotten_row_makes_no_drift_of_a_value_never_written(void **state)
{
	struct controller *controller;

	make_many();
	controller = start_node(NULL);
	scan(controller, many, ARRAY_SIZE(many));
	fake->refuses = refuses_cpus;
	tamper("web", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	fake->refuses = NULL;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	config.mode = MODE_OBSERVE;
	reload(controller);
	tamper("last", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	assert_string_equal(file_of("last", GROUP_CPUSET_CPUS), "2-3");
	config.mode = MODE_ALLOCATE;
	reload(controller);
	assert_string_equal(file_of("last", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(nr_rows_of(controller, "/last"), 0);
	controller_free(controller);
	free_pods(many, ARRAY_SIZE(many));
}

static bool refuses_memory(const struct step *step)
{
	return step->kind == STEP_WRITE && step->file == GROUP_MEMORY_MAX;
}

/* A step that failed says nothing about the other files of its pod. */
static void a_failed_step_hides_no_drift(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(&fake_side_port);
	fake->refuses = refuses_memory;
	scan(controller, pods, 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("exclusive", GROUP_MEMORY_MAX), "");
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "attribute", "cpus");
	expect_drift(controller, 0, "action", "audit");
	/* What failed is written as soon as it can be: it is not drift. */
	fake->refuses = NULL;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_MEMORY_MAX), "67108864");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

/*
 * A slow kernel: the first write of the pod waits, so the others were not carried out when the
 * cgroups are next looked at. Nobody else has changed them.
 */
static void audit_writes_what_a_waiting_step_delayed(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(&fake_side_port);
	snprintf(fake->slow_path, sizeof(fake->slow_path), "uid-a");
	fake->slow_file = GROUP_CPUSET_MEMS;
	scan(controller, pods, 1);
	assert_true(fake->has_step);
	controller_wake(controller);
	*fake->slow_path = '\0';
	/* The kernel has values of its own in files that were never written. */
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_CPU_WEIGHT], "100");
	strcpy(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "max");
	fake_end_step(controller, 0);
	controller_wake(controller);
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "67108864");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	/* From now on it is drift, for as long as it lasts. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	for (int look = 0; look < 3; look++)
		controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void resize(struct controller *controller, struct pod_spec **pods, int64_t cpu_mcpu)
{
	pods[0]->containers->request.cpu_mcpu = cpu_mcpu;
	pods[0]->containers->limit.cpu_mcpu = cpu_mcpu;
	scan(controller, pods, 1);
}

/* Auditing: its CPUs have drifted, and then the kernel refuses those of a resize to five. */
static struct controller *start_with_drift_and_refused_resize(struct pod_spec **pods)
{
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	expect_drift(controller, 0, "wanted", "2-5");
	fake->refuses = refuses_cpus;
	resize(controller, pods, 5000);
	return controller;
}

/* The file differs from an older value, too: that is drift, and yet the new one is written. */
static void audit_writes_what_the_ledger_has_changed(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with_drift_and_refused_resize(pods);

	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	fake->refuses = NULL;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-6");
	controller_free(controller);
	free_pods(pods, 1);
}

/* The value before the last change is wanted again, which is a change as well. */
static void audit_writes_a_change_that_was_taken_back(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_with_drift_and_refused_resize(pods);

	fake->refuses = NULL;
	fake->now_ns += 60 * S;
	resize(controller, pods, 4000);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_repair_may_succeed_at_the_second_attempt(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	strcpy(fake->apply_path, A_PATH);
	fake->apply_error = -EIO;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	expect_drift(controller, 0, "action", "none");
	expect_drift(controller, 0, "repaired_ns", "null");
	fake->apply_error = 0;
	fake->now_ns += 60 * S;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "action", "repair");
	controller_free(controller);
	free_pods(pods, 1);
}

/* The pod's new manifest has no such container: its CPUs are taken from it for another pod. */
static void a_container_that_is_not_wanted_has_not_drifted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "web", 500, false),
				   fake_pod("b", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	populate(true);
	snprintf(pods[0]->containers->name, sizeof(pods[0]->containers->name), "next");
	scan(controller, pods, 2);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("next", GROUP_CPUSET_CPUS), "6-15");
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* With all CPUs reserved or exclusive, nothing is wanted of a shared container's list. */
static void a_list_that_is_managed_from_now_on_has_not_drifted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "web", 500, false),
				   fake_pod("b", "exclusive", 1000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2");
	cpuset_parse("0-1,3-15", 8, &config.policy.reserved_list);
	reload(controller);
	tamper("web", GROUP_CPUSET_CPUS, "4-5");
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "4-5");
	cpuset_parse("0-1", 3, &config.policy.reserved_list);
	reload(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "3-15");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* --- causes ----------------------------------------------------------------------------------- */

static void partitioned_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .root_partition = true};
}

/* The kernel may end a partition without anybody's write. */
static void a_partition_ended_by_a_write_has_its_culprit(void **state)
{
	struct controller *controller;
	struct event_record event = EVENT_RECORD(EVENT_DRIFT);
	const struct kernel_sink *sink;
	struct fake_group *group;
	struct step step = {.kind = STEP_CREATE, .path = "user.slice"};
	struct group_status status;
	char error[GROUP_ERROR_MAX];

	groups.layout = partitioned_layout;
	controller = start_node(&fake_side_port);
	scan(controller, NULL, 0);
	group = group_of(GROUP_ROOT, "pinfold.slice");
	assert_string_equal(group->files[GROUP_CPUSET_PARTITION], "root");
	strcpy(group->files[GROUP_CPUSET_PARTITION], "member");
	controller_wake(controller);
	expect_drift(controller, 0, "attribute", "partition");
	expect_drift(controller, 0, "cause", "kernel");
	assert_int_equal(fake_create(&step, error), 0);
	assert_int_equal(fake_status(NULL, "user.slice", &status), 0);
	event.attribute = GROUP_CPUSET_PARTITION;
	event.pid = 77;
	event.culprit_id = status.cgroup_id;
	assert_int_equal(fake_status(NULL, "pinfold.slice", &status), 0);
	event.target_id = status.cgroup_id;
	sink = &controller_sinks(controller)->kernel;
	sink->event(sink->self, &event);
	expect_drift(controller, 0, "cause", "user");
	sink->event(sink->self, &event);
	group = group_of(GROUP_ROOT, "pinfold.slice");
	strcpy(group->files[GROUP_CPUSET_PARTITION], "member");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 2);
	expect_drift(controller, 1, "found", "member");
	expect_drift(controller, 1, "cause", "user");
	controller_free(controller);
}

/* Without the event, the kernel would be the cause: it may end a partition without anybody's write. */
static void an_event_during_a_look_waits_for_the_next(void **state)
{
	struct controller *controller;
	struct event_record event = EVENT_RECORD(EVENT_DRIFT);
	const struct kernel_sink *sink;
	struct fake_group *group;
	struct group_status status;

	groups.layout = partitioned_layout;
	controller = start_node(&fake_side_port);
	sink = &controller_sinks(controller)->kernel;
	scan(controller, NULL, 0);
	fake->slow_look = true;
	controller_wake(controller);
	fake->now_ns += S;
	group = group_of(GROUP_ROOT, "pinfold.slice");
	strcpy(group->files[GROUP_CPUSET_PARTITION], "member");
	assert_int_equal(fake_status(NULL, "pinfold.slice", &status), 0);
	event.attribute = GROUP_CPUSET_PARTITION;
	event.pid = 77;
	event.target_id = event.culprit_id = status.cgroup_id;
	sink->event(sink->self, &event);
	for (int i = 0; i < 3; i++) {
		fake->now_ns += S;
		if (fake->look == FAKE_LOOKING)
			fake_end_look(controller);
		controller_wake(controller);
	}
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "found", "member");
	expect_drift(controller, 0, "cause", "user");
	expect_drift(controller, 0, "action", "repair");
	controller_free(controller);
	group_tree_fini(&fake_seen);
}

/* --- figures ---------------------------------------------------------------------------------- */

#define DETECTED(cause) "pinfold_drift_detected_total{attribute=\"cpus\",cause=\"" cause "\"} "

/* Who wrote: a task of this cgroup of the host. */
static void tell_writer(struct controller *controller, const char *cgroup, const char *container)
{
	struct event_record event = EVENT_RECORD(EVENT_DRIFT);
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;
	struct step step = {.kind = STEP_CREATE};
	struct group_status status;
	char error[GROUP_ERROR_MAX];

	text_copy(step.path, sizeof(step.path), cgroup);
	assert_int_equal(fake_create(&step, error), 0);
	assert_int_equal(fake_status(NULL, cgroup, &status), 0);
	event.attribute = GROUP_CPUSET_CPUS;
	event.pid = 77;
	event.culprit_id = status.cgroup_id;
	assert_int_equal(fake_status(NULL, group_of(GROUP_CONTAINER, container)->path, &status), 0);
	event.target_id = status.cgroup_id;
	sink->event(sink->self, &event);
}

/* Differences are repaired at once, and what caused them is told afterwards, if at all. */
static void drift_is_counted_by_cause_once_it_is_known(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_node(&fake_side_port);

	fake->now_ns += 100 * S;
	scan(controller, pods, 2);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	tamper("web", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	expect_metric(controller,
		      "pinfold_drift_repaired_total{attribute=\"cpus\",result=\"ok\"} 2\n");
	expect_metric(controller, DETECTED("user") "0\n");
	expect_metric(controller, DETECTED("unknown") "0\n");
	tell_writer(controller, "user.slice", "exclusive");
	expect_metric(controller, DETECTED("user") "1\n");
	expect_metric(controller, DETECTED("unknown") "0\n");
	fake->now_ns += 5 * S;
	expect_metric(controller, DETECTED("user") "1\n");
	expect_metric(controller, DETECTED("unknown") "1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* The kernel's event is often heard before the change is seen; nobody told of the change before it. */
static void an_event_that_comes_first_names_the_change_to_come(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	fake->now_ns += 6 * S;
	expect_metric(controller, DETECTED("unknown") "1\n");
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-4");
	tell_writer(controller, "user.slice", "exclusive");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 2);
	expect_drift(controller, 0, "found", "2-3");
	expect_drift(controller, 0, "cause", "unknown");
	expect_drift(controller, 1, "found", "2-4");
	expect_drift(controller, 1, "cause", "user");
	fake->now_ns += 6 * S;
	expect_metric(controller, DETECTED("user") "1\n");
	expect_metric(controller, DETECTED("unknown") "1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* It is told when its names are known, and belongs to what was seen when it was heard. */
static void an_event_may_wait_long_for_its_names(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	fake->slow_name = true;
	tell_writer(controller, "user.slice", "exclusive");
	controller_wake(controller);
	fake->now_ns += 60 * S;
	fake->slow_name = false;
	fake_end_name(controller);
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "found", "2-3");
	expect_drift(controller, 0, "cause", "user");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* No difference follows the event: the file has the value that is wanted. */
static void a_write_of_what_is_wanted_leaves_nothing_open(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_node(&fake_side_port);

	scan(controller, pods, 1);
	tell_writer(controller, "user.slice", "exclusive");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "action", "none");
	expect_metric(controller, "pinfold_drift_open{attribute=\"cpus\"} 0\n");
	/* Nor does it name what somebody else does to the file later. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 2);
	expect_drift(controller, 1, "cause", "unknown");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* A look that began before the change does not see it, which says nothing. */
static void a_look_that_began_before_closes_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;
	const struct groups_sink *sink;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(&fake_side_port);
	sink = &controller_sinks(controller)->groups;
	scan(controller, pods, 1);
	fake->slow_look = true;
	controller_wake(controller);
	fake->now_ns += S;
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	sink->changed(sink->self, A_PATH, "cpuset.cpus");
	controller_wake(controller);
	tell_writer(controller, "user.slice", "exclusive");
	for (int i = 0; i < 3; i++) {
		fake->now_ns += S;
		if (fake->look == FAKE_LOOKING)
			fake_end_look(controller);
		controller_wake(controller);
	}
	assert_int_equal(nr_rows(controller, "drift"), 1);
	expect_drift(controller, 0, "repaired_ns", "null");
	fake->now_ns += 6 * S;
	expect_metric(controller, DETECTED("user") "1\n");
	expect_metric(controller, DETECTED("unknown") "0\n");
	controller_free(controller);
	group_tree_fini(&fake_seen);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Only what the agent repaired counts, from when it was found. */
static void exposure_ends_with_the_repair(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	fake->now_ns += 7 * S;
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-5");
	controller_wake(controller);
	expect_metric(controller, "pinfold_drift_exposure_seconds_count 0\n");
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	controller_wake(controller);
	fake->now_ns += 3 * S;
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_ENFORCE;
	reload(controller);
	controller_wake(controller);
	expect_metric(controller, "pinfold_drift_exposure_seconds_bucket{le=\"1.024\"} 0\n");
	expect_metric(controller, "pinfold_drift_exposure_seconds_bucket{le=\"4.096\"} 1\n");
	expect_metric(controller, "pinfold_drift_exposure_seconds_sum 3.000000000\n");
	expect_metric(controller, "pinfold_drift_exposure_seconds_count 1\n");
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_that_were_never_written_have_not_drifted),
		TEST(a_removed_cgroup_has_not_drifted),
		TEST(audit_leaves_more_drift_than_the_list_has_rows),
		TEST(a_forgotten_row_hides_no_failed_step),
		TEST(a_forgotten_row_makes_no_drift_of_a_value_never_written),
		TEST(a_failed_step_hides_no_drift),
		TEST(audit_writes_what_a_waiting_step_delayed),
		TEST(audit_writes_what_the_ledger_has_changed),
		TEST(audit_writes_a_change_that_was_taken_back),
		TEST(a_repair_may_succeed_at_the_second_attempt),
		TEST(a_container_that_is_not_wanted_has_not_drifted),
		TEST(a_list_that_is_managed_from_now_on_has_not_drifted),
		TEST(a_partition_ended_by_a_write_has_its_culprit),
		TEST(drift_is_counted_by_cause_once_it_is_known),
		TEST(an_event_that_comes_first_names_the_change_to_come),
		TEST(an_event_may_wait_long_for_its_names),
		TEST(an_event_during_a_look_waits_for_the_next),
		TEST(a_look_that_began_before_closes_nothing),
		TEST(a_write_of_what_is_wanted_leaves_nothing_open),
		TEST(exposure_ends_with_the_repair),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
