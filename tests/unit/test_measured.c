// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Which cgroups of a container runtime are measured, and that measuring guards none of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/internal.h"
#include "started_node_scene.h"

/* A cgroup of others, which is in no look at ours. */
static void make_cgroup(const char *path)
{
	struct fake_group *group = &fake->groups[fake_slot(path)];

	text_copy(group->path, sizeof(group->path), path);
	text_copy(group->files[GROUP_CPUSET_CPUS], FAKE_VALUE, "2-15");
}

static struct pod_spec made_pod(const char *uid, enum qos_class qos)
{
	struct pod_spec pod = {.namespace = "default",
			       .is_of_runtime = true,
			       .stated_qos = qos,
			       .request = RESOURCES_UNSET,
			       .limit = RESOURCES_UNSET,
			       .overhead = RESOURCES_UNSET};

	text_copy(pod.uid, sizeof(pod.uid), uid);
	text_copy(pod.name, sizeof(pod.name), uid);
	return pod;
}

static struct container_spec made_container(const char *name, int64_t mcpu)
{
	struct container_spec spec = {
		.kind = CONTAINER_APP, .request = RESOURCES_UNSET, .limit = RESOURCES_UNSET};

	spec.request.cpu_mcpu = spec.limit.cpu_mcpu = mcpu;
	spec.request.memory_bytes = spec.limit.memory_bytes = 1 << 20;
	text_copy(spec.name, sizeof(spec.name), name);
	return spec;
}

static void create_with(const char *uid, const char *name, const char *id, const char *cgroup,
			int64_t mcpu)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	const struct pod_spec pod = made_pod(uid, mcpu % 1000 ? QOS_BURSTABLE : QOS_GUARANTEED);
	const struct container_spec spec = made_container(name, mcpu);
	const struct runtime_pod sandbox = {.id = uid, .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = "", .cgroup = cgroup};

	sink->created(sink->self, 1, &container);
	controller_wake(controller);
}

static void create(const char *uid, const char *name, const char *id, const char *cgroup)
{
	create_with(uid, name, id, cgroup, 2000);
}

/* NULL = it was not published. */
static const struct managed_group *published(const char *path)
{
	const struct fake_group *group = fake_find(path);

	for (uint32_t i = 0; group && i < fake_side.policy.nr_groups; i++)
		if (fake_side.groups[i].cgroup_id == (uint64_t)(group - fake->groups) + 1)
			return &fake_side.groups[i];
	return NULL;
}

static void expect_cpus(const char *path, const char *list)
{
	const struct cpuset wanted = cpuset_of_text(list);

	assert_non_null(published(path));
	assert_true(cpuset_equal(published(path)->cpus, &wanted));
}

static void assert_counted(const char *path, bool is_container)
{
	assert_non_null(published(path));
	assert_int_equal(published(path)->scope, MANAGED_COUNTED);
	assert_int_equal(published(path)->is_container, is_container);
}

static void make_pod_a(void)
{
	make_cgroup("kubepods");
	make_cgroup("kubepods/poda");
	make_cgroup("kubepods/poda/1");
	create("a", "main", "1", "kubepods/poda/1");
}

static void a_runtimes_container_is_counted_and_not_guarded(void **state)
{
	make_pod_a();
	assert_counted("kubepods/poda/1", true);
	assert_counted("kubepods/poda", false);
	assert_counted("kubepods", false);
	/* As granted, whatever its file says. */
	expect_cpus("kubepods/poda/1", "2-3");
	/* Our own tree is guarded as before. */
	assert_int_equal(published("pinfold.slice")->scope, MANAGED_TREE);
}

static void it_is_counted_from_the_second_in_which_its_cgroup_appears(void **state)
{
	unsigned int nr_published;

	create("a", "main", "1", "kubepods/poda/1");
	controller_tick(controller);
	nr_published = fake_side.nr_published;
	controller_tick(controller);
	assert_int_equal(fake_side.nr_published, nr_published);
	make_cgroup("kubepods/poda/1");
	controller_tick(controller);
	assert_int_equal(fake_side.nr_published, nr_published + 1);
	assert_counted("kubepods/poda/1", true);
	/* And then it is known. */
	controller_tick(controller);
	assert_int_equal(fake_side.nr_published, nr_published + 1);
}

static void the_newest_instance_of_a_container_counts(void **state)
{
	make_pod_a();
	make_cgroup("kubepods/poda/2");
	create("a", "main", "2", "kubepods/poda/2");
	assert_counted("kubepods/poda/2", true);
	assert_null(published("kubepods/poda/1"));
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own + 3);
}

/* The last row takes the place of one that is dropped. */
static void the_newest_instance_counts_in_whatever_order_they_are_kept(void **state)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	make_pod_a();
	for (int i = 2; i < 5; i++) {
		char id[16], path[64];

		snprintf(id, sizeof(id), "%d", i);
		snprintf(path, sizeof(path), "kubepods/poda/%d", i);
		make_cgroup(path);
		create("a", "main", id, path);
	}
	sink->removed(sink->self, "1");
	assert_string_equal(controller->runtimes.rows[0].id, "4");
	create("b", "main", "5", "kubepods/podb/5");
	assert_counted("kubepods/poda/4", true);
	assert_null(published("kubepods/poda/2"));
	assert_null(published("kubepods/poda/3"));
}

/* More than a pod may have: it shares, and nobody knows what it was to have. */
static void a_container_without_a_grant_is_not_measured(void **state)
{
	char name[16], path[64];

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	for (int i = 0; i <= POD_MAX_CONTAINERS; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		snprintf(path, sizeof(path), "kubepods/poda/%d", i);
		create_with("a", name, name, path, 100);
	}
	assert_int_equal(controller->runtimes.nr_rows, POD_MAX_CONTAINERS + 1);
	/* With their pod and its root. */
	assert_int_equal(controller->measured.tree.nr_groups,
			 controller->measured.nr_own + 2 + POD_MAX_CONTAINERS);
}

static void what_is_measured_is_not_tried_again(void **state)
{
	make_pod_a();
	fake->wake_ns = 0;
	controller_wake(controller);
	assert_counted("kubepods/poda/1", true);
	assert_int_equal(fake->wake_ns, 0);
}

static void containers_of_several_pods_follow_their_pods(void **state)
{
	static const struct {
		const char *path;
		enum group_role role;
		const char *uid, *container;
	} wanted[] = {
		{"kubepods", GROUP_ROOT, "", ""},
		{"kubepods/poda", GROUP_POD, "a", ""},
		{"kubepods/poda/1", GROUP_CONTAINER, "a", "main"},
		{"kubepods/poda/3", GROUP_CONTAINER, "a", "side"},
		{"kubepods/podb", GROUP_POD, "b", ""},
		{"kubepods/podb/2", GROUP_CONTAINER, "b", "main"},
		{"other", GROUP_ROOT, "", ""},
		{"other/podc", GROUP_POD, "c", ""},
		{"other/podc/4", GROUP_CONTAINER, "c", "main"},
		{"kubepods/podd", GROUP_POD, "d", ""},
		{"kubepods/podd/5", GROUP_CONTAINER, "d", "main"},
	};
	const struct measured_groups *measured = &controller->measured;

	create("a", "main", "1", "kubepods/poda/1");
	create("b", "main", "2", "kubepods/podb/2");
	create("a", "side", "3", "kubepods/poda/3");
	create("c", "main", "4", "other/podc/4");
	/* Its root is there already, though not that of the pod before. */
	create("d", "main", "5", "kubepods/podd/5");
	assert_int_equal(measured->tree.nr_groups, measured->nr_own + ARRAY_SIZE(wanted));
	for (uint32_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct group *group = &measured->tree.groups[measured->nr_own + i];

		assert_string_equal(group->path, wanted[i].path);
		assert_int_equal(group->role, wanted[i].role);
		assert_string_equal(group->uid, wanted[i].uid);
		assert_string_equal(group->container, wanted[i].container);
		assert_true(measured_is_foreign(measured, measured->nr_own + i));
	}
	assert_false(measured_is_foreign(measured, measured->nr_own - 1));
}

static void assert_same_file(const struct group *a, const struct group *b, enum group_file file)
{
	assert_int_equal(!a->files[file], !b->files[file]);
	if (a->files[file])
		assert_string_equal(a->files[file], b->files[file]);
}

/* A copy of everything would be as large as the desired tree. */
static void own_groups_have_their_lists_and_no_other_file(void **state)
{
	const struct measured_groups *measured = &controller->measured;
	struct pod_spec *pod = fake_pod("own", "db", 4000, true);
	uint32_t nr_left_out = 0;

	scan(controller, &pod, 1);
	pod_spec_free(pod);
	assert_int_equal(controller->desired.nr_groups, 3);
	assert_int_equal(measured->nr_own, controller->desired.nr_groups);
	for (uint32_t i = 0; i < measured->nr_own; i++) {
		const struct group *group = &measured->tree.groups[i];
		const struct group *desired = &controller->desired.groups[i];

		assert_string_equal(group->path, desired->path);
		assert_int_equal(group->role, desired->role);
		assert_string_equal(group->uid, desired->uid);
		assert_string_equal(group->container, desired->container);
		assert_same_file(group, desired, GROUP_CPUSET_CPUS);
		assert_same_file(group, desired, GROUP_CPUSET_MEMS);
		for (enum group_file file = GROUP_CPUSET_CPUS + 1; file < GROUP_FILE_NR; file++) {
			assert_null(group->files[file]);
			nr_left_out += desired->files[file] != NULL;
		}
	}
	assert_true(nr_left_out);
}

/* What a runtime may say, and nobody can measure. */
static void a_cgroup_in_our_tree_too_deep_or_without_a_pod_is_left_alone(void **state)
{
	char deep[128] = "kubepods";

	for (int i = 0; i < 30; i++)
		text_copy(deep + strlen(deep), sizeof(deep) - strlen(deep), "/d");
	create_with("a", "main", "1", "pinfold.slice/podx/y", 100);
	create_with("b", "main", "2", "pinfold.slice", 100);
	create_with("c", "main", "3", "alone", 100);
	create_with("d", "main", "4", NULL, 100);
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own);
	create_with("e", "main", "5", deep, 100);
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own + 3);
	/* One level more, and in no cgroup of the pod before. */
	text_copy(deep + strlen(deep) - 1, sizeof(deep) - strlen(deep) + 1, "e/e");
	create_with("f", "main", "6", deep, 100);
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own + 3);
	/* Another name that begins the same is nobody's. */
	create_with("g", "main", "7", "pinfold.slices/podg/7", 100);
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own + 6);
	/* A pod that would be its own root, and one that shares its cgroup with another. */
	create_with("h", "main", "8", "k8s.io/8", 100);
	create_with("i", "main", "9", "pinfold.slices/podg/9", 100);
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own + 6);
	/* They do not keep others from being measured. */
	create_with("j", "main", "10", "pinfold.slices/podj/10", 100);
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own + 8);
}

static uint32_t nr_published(const char *path)
{
	const uint64_t id = (uint64_t)(fake_find(path) - fake->groups) + 1;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < fake_side.policy.nr_groups; i++)
		nr += fake_side.groups[i].cgroup_id == id;
	return nr;
}

/*
 * Whoever keeps figures by cgroup has one row for each. A runtime's plugin may say that several
 * containers are in one, also in that of their pod.
 */
static void a_cgroup_that_is_named_twice_is_published_once(void **state)
{
	make_pod_a();
	make_cgroup("kubepods/podb");
	make_cgroup("kubepods/podb/2");
	create("b", "main", "2", "kubepods/podb/2");
	create("b", "own", "3", "kubepods/podb/2");
	create("b", "others", "4", "kubepods/poda/1");
	create("b", "pods", "5", "kubepods/podb");
	assert_int_equal(nr_published("kubepods/poda/1"), 1);
	assert_int_equal(nr_published("kubepods/podb"), 1);
	assert_int_equal(nr_published("kubepods/podb/2"), 1);
	assert_counted("kubepods/podb", false);
	assert_counted("kubepods/podb/2", true);
}

/* The guard's policy is whole without it; the reading is repeated. */
static void one_that_cannot_be_read_now_does_not_make_the_guard_partial(void **state)
{
	make_pod_a();
	unknown_path = "kubepods/poda/1";
	create("b", "main", "2", "kubepods/podb/2");
	assert_int_equal(controller->publisher.nr_unread, 0);
	/* What was known stays. */
	assert_counted("kubepods/poda/1", true);
	expect_cpus("kubepods/poda/1", "2-3");
}

/* --- the CPUs that they have ----------------------------------------------------------------------- */

static void tick_for(unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		fake->now_ns += S;
		controller_tick(controller);
	}
}

static const char *finding_of(enum finding kind)
{
	for (uint32_t i = 0; i < controller->findings.nr; i++)
		if (controller->findings.rows[i].kind == kind)
			return controller->findings.rows[i].message;
	return NULL;
}

static void connect_runtime(void)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	sink->synchronized(sink->self, 1, &(struct runtime_snapshot){0});
}

/* It may have run for long before the agent met it. */
static void a_container_that_a_session_begins_with_is_counted(void **state)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	struct pod_spec pod = made_pod("a", QOS_GUARANTEED);
	struct container_spec spec = made_container("main", 2000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {.id = "1",
						    .pod = &sandbox,
						    .spec = &spec,
						    .cpus = "2-3",
						    .cgroup = "kubepods/poda/1"};

	make_cgroup("kubepods");
	make_cgroup("kubepods/poda");
	make_cgroup("kubepods/poda/1");
	sink->synchronized(sink->self, 1, &(struct runtime_snapshot){&sandbox, 1, &container, 1});
	controller_wake(controller);
	assert_counted("kubepods/poda/1", true);
	expect_cpus("kubepods/poda/1", "2-3");
}

static void write_cpus(const char *path, const char *list)
{
	text_copy(fake_find(path)->files[GROUP_CPUSET_CPUS], FAKE_VALUE, list);
}

static int take_any_answer(void *self, uint32_t request, const struct runtime_answer *answer)
{
	return 0;
}

static void other_cpus_than_the_runtime_was_told_are_found(void **state)
{
	static const struct runtime_port port = {.answer = take_any_answer};

	controller->ports.runtime = &port;
	connect_runtime();
	make_pod_a();
	/* The runtime takes its time. */
	tick_for(4);
	assert_null(finding_of(FINDING_RUNTIME_CPUS_DIFFER));
	tick_for(2);
	assert_string_equal(
		finding_of(FINDING_RUNTIME_CPUS_DIFFER),
		"1 container of the runtime has other CPUs than the runtime was told; the first "
		"is main of pod default/a, which was given 2-3 and has 2-15");
	write_cpus("kubepods/poda/1", "2-3");
	tick_for(1);
	assert_null(finding_of(FINDING_RUNTIME_CPUS_DIFFER));
	/* Less than it was told is no better. */
	write_cpus("kubepods/poda/1", "2");
	tick_for(6);
	assert_non_null(finding_of(FINDING_RUNTIME_CPUS_DIFFER));
	/* But nobody has a CPU that is offline. */
	tell_online(controller, "0-2,4-15");
	tick_for(1);
	assert_null(finding_of(FINDING_RUNTIME_CPUS_DIFFER));
}

/* Twenty containers take two seconds. */
static void many_containers_are_compared_in_turn(void **state)
{
	static const struct runtime_port port = {.answer = take_any_answer};
	char id[16], path[64];

	controller->ports.runtime = &port;
	connect_runtime();
	for (int i = 0; i < 20; i++) {
		snprintf(id, sizeof(id), "%d", i);
		snprintf(path, sizeof(path), "kubepods/poda/%d", i);
		make_cgroup(path);
		write_cpus(path, "4-15");
		create_with("a", id, id, path, 500);
	}
	tick_for(8);
	assert_non_null(strstr(finding_of(FINDING_RUNTIME_CPUS_DIFFER), "20 containers"));
}

/* Until the next look its cgroup is among those that are measured. */
static void a_container_that_was_removed_has_no_grant_to_show(void **state)
{
	static const char info[] = "pinfold_container_info{namespace=\"default\",pod=\"a\",";
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	uint32_t nr_measured;

	make_pod_a();
	make_cgroup("kubepods/poda/2");
	create("a", "side", "2", "kubepods/poda/2");
	assert_int_equal(nr_series(controller, info), 2);
	nr_measured = controller->measured.tree.nr_groups;
	sink->removed(sink->self, "2");
	assert_int_equal(controller->measured.tree.nr_groups, nr_measured);
	assert_int_equal(nr_series(controller, info), 1);
}

static void a_pod_that_ends_is_not_counted_any_more(void **state)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;

	make_pod_a();
	sink->pod_stopped(sink->self, "a");
	controller_wake(controller);
	assert_null(published("kubepods/poda/1"));
	assert_null(published("kubepods"));
	assert_int_equal(controller->measured.tree.nr_groups, controller->measured.nr_own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_runtimes_container_is_counted_and_not_guarded,
						start, stop),
		cmocka_unit_test_setup_teardown(
			it_is_counted_from_the_second_in_which_its_cgroup_appears, start, stop),
		cmocka_unit_test_setup_teardown(the_newest_instance_of_a_container_counts, start,
						stop),
		cmocka_unit_test_setup_teardown(
			the_newest_instance_counts_in_whatever_order_they_are_kept, start, stop),
		cmocka_unit_test_setup_teardown(a_container_without_a_grant_is_not_measured, start,
						stop),
		cmocka_unit_test_setup_teardown(what_is_measured_is_not_tried_again, start, stop),
		cmocka_unit_test_setup_teardown(containers_of_several_pods_follow_their_pods, start,
						stop),
		cmocka_unit_test_setup_teardown(own_groups_have_their_lists_and_no_other_file,
						start, stop),
		cmocka_unit_test_setup_teardown(
			a_cgroup_in_our_tree_too_deep_or_without_a_pod_is_left_alone, start, stop),
		cmocka_unit_test_setup_teardown(a_cgroup_that_is_named_twice_is_published_once,
						start, stop),
		cmocka_unit_test_setup_teardown(
			one_that_cannot_be_read_now_does_not_make_the_guard_partial, start, stop),
		cmocka_unit_test_setup_teardown(a_container_that_a_session_begins_with_is_counted,
						start, stop),
		cmocka_unit_test_setup_teardown(other_cpus_than_the_runtime_was_told_are_found,
						start, stop),
		cmocka_unit_test_setup_teardown(many_containers_are_compared_in_turn, start, stop),
		cmocka_unit_test_setup_teardown(a_container_that_was_removed_has_no_grant_to_show,
						start, stop),
		cmocka_unit_test_setup_teardown(a_pod_that_ends_is_not_counted_any_more, start,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
