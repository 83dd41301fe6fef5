// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/* Containers of a runtime whose memory is pinned: what it is answered, and what is adopted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/internal.h"
#include "runtime_scene.h"

/* Two nodes with ids 0 and 2, 8 CPUs and 8 GiB each, but for the memory of the first one. */
static void make_nodes(uint64_t first_bytes)
{
	struct topology_node nodes[2] = {{.id = 0, .memory_bytes = first_bytes},
					 {.id = 2, .memory_bytes = 8 * GIB}};
	struct topology_cpu cpus[16];
	struct topology_facts facts = {
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.nodes = nodes,
		.nr_nodes = ARRAY_SIZE(nodes),
		TOPOLOGY_COUNT_ALL,
	};
	char error[256];

	topology_free(topology);
	for (uint32_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct topology_cpu){
			.id = i, .core = i, .node = i / 8 * 2, .socket = i / 8};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &topology), 0);
}

static int set_up_memory(void **state)
{
	if (set_up(state))
		return -1;
	make_nodes(8 * GIB);
	config.policy.memory = MEMORY_POLICY_STATIC;
	config.policy.align = ALIGN_SINGLE_NUMA_NODE;
	policy = config.policy;
	return 0;
}

/* --- answers ------------------------------------------------------------------------------------ */

static void a_container_is_answered_its_nodes(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(mems_at("excl-1"), "0");
	create(controller, "b", "main", "excl-2", 4000);
	assert_string_equal(cpus_at("excl-2"), "8-11");
	assert_string_equal(mems_at("excl-2"), "2");
	/* No memory is promised to a Burstable pod. */
	create(controller, "c", "web", "burst-1", 500);
	assert_string_equal(mems_at("burst-1"), "");
	controller_free(controller);
}

/* It shrinks, which does not concern its memory. */
static void others_keep_their_nodes(void **state)
{
	struct controller *controller = start();

	create(controller, "c", "web", "burst-1", 500);
	set_mems("burst-1", "0,2");
	create(controller, "a", "main", "excl-1", 4000);
	assert_string_equal(cpus_at("burst-1"), "6-15");
	assert_string_equal(mems_at("burst-1"), "0,2");
	controller_free(controller);
}

/* Whatever nodes were asked for, it has its own. */
static void an_update_states_the_nodes_again(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	set_mems("excl-1", "0,2");
	update_otherwise(controller, ++node.request, "excl-1");
	assert_string_equal(mems_at("excl-1"), "0");
	controller_free(controller);
}

static void a_resize_keeps_the_nodes(void **state)
{
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	resize(controller, "a", "main", "excl-1", 5000);
	end_update(controller);
	assert_string_equal(cpus_at("excl-1"), "2-6");
	assert_string_equal(mems_at("excl-1"), "0");
	controller_free(controller);
}

/* They do not wait for the runtime to say that it has carried out the resize. */
static void nodes_of_a_resize_are_told_once(void **state)
{
	struct controller *controller;

	config.runtime_refusals = RUNTIME_REFUSALS_SHARE;
	controller = start();
	fake->save_error = -EIO;
	create(controller, "a", "main", "c", 4000);
	assert_string_equal(mems_at("c"), "");
	fake->save_error = 0;
	resize(controller, "a", "main", "c", 4000);
	assert_string_equal(cpus_at("c"), "2-5");
	assert_string_equal(mems_at("c"), "0");
	end_update(controller);
	set_mems("c", "as told");
	stop(controller, "unknown");
	assert_string_equal(mems_at("c"), "as told");
	controller_free(controller);
}

static int status_with_nodes(void *self, const char *path, struct group_status *ret_status)
{
	const int r = fake_status(self, path, ret_status);
	const char *mems = r ? "" : fake_find(path)->files[GROUP_CPUSET_MEMS];

	cpuset_parse(mems, strlen(mems), &ret_status->effective_mems);
	return r;
}

static void tick_for(struct controller *controller, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		fake->now_ns += 1000000000ULL;
		controller_tick(controller);
	}
}

/* The runtime does not say that it could not write them. */
static void other_nodes_than_it_was_told_are_found(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {.id = "excl-1",
						    .pod = &sandbox,
						    .spec = &spec,
						    .cpus = "",
						    .cgroup = "kubepods/poda/1"};
	struct fake_group *group = &fake->groups[fake_slot(container.cgroup)];
	struct controller *controller = start();
	struct groups_port groups = fake_groups;

	groups.status = status_with_nodes;
	controller->ports.groups = &groups;
	snprintf(group->path, sizeof(group->path), "%s", container.cgroup);
	strcpy(group->files[GROUP_CPUSET_CPUS], "2-5");
	strcpy(group->files[GROUP_CPUSET_MEMS], "0,2");
	snprintf(node.creating, sizeof(node.creating), "%s", container.id);
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
	assert_string_equal(mems_at("excl-1"), "0");
	tick_for(controller, 4);
	assert_int_equal(nr_findings(controller, "runtime_cpus_differ", ""), 0);
	tick_for(controller, 2);
	assert_int_equal(nr_findings(controller, "runtime_cpus_differ",
				     "1 container of the runtime has other memory nodes than the "
				     "runtime was told; the first is main of pod default/a, which "
				     "was given 0 and has 0,2"),
			 1);
	strcpy(group->files[GROUP_CPUSET_MEMS], "0");
	tick_for(controller, 1);
	assert_int_equal(nr_findings(controller, "runtime_cpus_differ", ""), 0);
	controller_free(controller);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct container_spec spec = container_of("main", 2000);
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &sandbox, .spec = &spec, .cpus = "", .mems = ""};
	struct controller *controller = start();

	spec.request.memory_bytes = spec.limit.memory_bytes = 9 * GIB;
	snprintf(node.creating, sizeof(node.creating), "excl-1");
	node.request++;
	sink_of(controller)->created(controller, node.request, &container);
	assert_non_null(strstr(node.refusal, "pinfold: TopologyAffinityError"));
	assert_non_null(strstr(node.refusal, "bytes of memory"));
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
}

/* --- a new session ------------------------------------------------------------------------------ */

static struct controller *meet(const char *cpus, const char *mems)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &sandbox, .spec = &spec, .cpus = cpus, .mems = mems};
	struct controller *controller = start();

	put_container("excl-1", cpus);
	set_mems("excl-1", mems);
	synchronize(controller, &sandbox, 1, &container, 1);
	return controller;
}

static void nodes_of_a_running_container_are_adopted(void **state)
{
	struct controller *controller = meet("12-15", "2");

	assert_string_equal(cpus_at("excl-1"), "12-15");
	assert_string_equal(mems_at("excl-1"), "2");
	controller_free(controller);
	fake_world_clear();
	fake_world_make();
	/* As with CPUs, whether they are well aligned does not matter any more. */
	controller = meet("12-15", "0,2");
	assert_string_equal(cpus_at("excl-1"), "12-15");
	assert_string_equal(mems_at("excl-1"), "0,2");
	controller_free(controller);
}

/* They say nothing of its memory, which is then near the CPUs that it keeps. */
static void without_nodes_the_cpus_are_adopted(void **state)
{
	static const char *const mems[] = {"", "x", "7"};

	for (size_t i = 0; i < ARRAY_SIZE(mems); i++) {
		struct controller *controller = meet("12-15", mems[i]);

		assert_string_equal(cpus_at("excl-1"), "12-15");
		assert_string_equal(mems_at("excl-1"), "2");
		controller_free(controller);
		fake_world_clear();
		fake_world_make();
	}
}

static void a_restart_brings_the_nodes_back(void **state)
{
	const struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &sandbox, .spec = &spec, .cpus = "2-5", .mems = "0,2"};
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	controller_free(controller);
	controller = start_controller();
	/* Somebody changed the runtime's record meanwhile. */
	set_mems("excl-1", "0,2");
	synchronize(controller, &sandbox, 1, &container, 1);
	assert_string_equal(cpus_at("excl-1"), "2-5");
	assert_string_equal(mems_at("excl-1"), "0");
	controller_free(controller);
}

/* Nothing is decided of it: there is no kubelet that could have stated these amounts. */
static void memory_that_no_longer_fits_is_said_in_a_new_session_too(void **state)
{
	struct pod_spec pod = pod_of("a", QOS_GUARANTEED);
	const struct container_spec spec = container_of("main", 4000);
	const struct runtime_pod sandbox = {.id = "a", .spec = &pod};
	const struct runtime_container container = {
		.id = "excl-1", .pod = &sandbox, .spec = &spec, .cpus = "2-5", .mems = "0"};
	struct controller *controller = start();

	create(controller, "a", "main", "excl-1", 4000);
	controller_free(controller);
	make_nodes(GIB / 2);
	controller = start_controller();
	pod.has_pod_resources = true;
	synchronize(controller, &sandbox, 1, &container, 1);
	assert_string_equal(pod_member(controller, "a", "held"), "2-5");
	assert_non_null(strstr(pod_member(controller, "a", "detail"),
			       "memory no longer fits its NUMA nodes"));
	controller_free(controller);
}

/* What "c" is told when a session begins with these recorded nodes; it shares, and has the CPUs of the pool. */
static void expect_told(const struct pod_spec *pod, const char *mems, const char *cpus,
			const char *wanted_mems)
{
	const struct container_spec spec = container_of("main", 1500);
	const struct runtime_pod sandbox = {.id = "a", .spec = pod};
	const struct runtime_container container = {
		.id = "c", .pod = &sandbox, .spec = &spec, .cpus = "2-15", .mems = mems};
	struct controller *controller = start();

	put_container("c", "nothing");
	set_mems("c", mems);
	synchronize(controller, &sandbox, 1, &container, 1);
	assert_string_equal(cpus_at("c"), cpus);
	assert_string_equal(mems_at("c"), wanted_mems);
	controller_free(controller);
	fake_world_clear();
	fake_world_make();
}

static void nodes_are_told_only_if_they_differ(void **state)
{
	const struct pod_spec pinned = pod_of("a", QOS_GUARANTEED),
			      unpinned = pod_of("a", QOS_BURSTABLE);

	expect_told(&pinned, "0", "nothing", "0");
	expect_told(&pinned, "", "2-15", "0");
	/* It is pinned to none. */
	expect_told(&unpinned, "0,2", "nothing", "0,2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_is_answered_its_nodes),
		TEST(others_keep_their_nodes),
		TEST(an_update_states_the_nodes_again),
		TEST(a_resize_keeps_the_nodes),
		TEST(nodes_of_a_resize_are_told_once),
		TEST(other_nodes_than_it_was_told_are_found),
		TEST(what_does_not_fit_is_refused),
		TEST(nodes_of_a_running_container_are_adopted),
		TEST(without_nodes_the_cpus_are_adopted),
		TEST(a_restart_brings_the_nodes_back),
		TEST(memory_that_no_longer_fits_is_said_in_a_new_session_too),
		TEST(nodes_are_told_only_if_they_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
