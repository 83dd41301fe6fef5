// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Starts with what an earlier life left, reloads, dry runs: what is brought back,
 * what is told, and what is refused whole.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kubelet/import.h"
#include "format/state.h"
#include "lib/log.h"
#include "lib/text.h"
#include "mixed_pod.h"
#include "node_scene.h"

/* --- the state file ---------------------------------------------------------------------------------- */

/* As after a reboot with these CPUs only. */
static struct topology *machine_of(uint32_t nr_cpus)
{
	struct topology_cpu cpus[16];
	struct topology_facts facts = {.cpus = cpus, .nr_cpus = nr_cpus, TOPOLOGY_COUNT_ALL};
	struct topology *smaller = NULL;
	char error[256];

	for (uint32_t i = 0; i < nr_cpus; i++)
		cpus[i] = (struct topology_cpu){i, i / 2 * 2, i / 8, i / 8, i / 8};
	assert_int_equal(topology_new(&facts, error, sizeof(error), &smaller), 0);
	return smaller;
}

static void a_changed_machine_is_reported(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	controller_free(controller);
	topology_free(topology);
	topology = machine_of(12);
	controller = start_node(NULL);
	assert_int_equal(
		nr_findings(controller, "machine_changed", "had CPUs 0-15, now it has 0-11"), 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	/* The same machine is no news. */
	fake->has_state = false;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	controller_free(controller);
	controller = start_node(NULL);
	assert_int_equal(nr_findings(controller, "machine_changed", ""), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The checksum covers the second line alone, so the version can be raised in place. */
static void the_state_of_a_newer_agent_is_not_changed(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);
	uint32_t nr_groups;
	char *version;

	scan(controller, pods, 1);
	nr_groups = fake->nr_groups;
	controller_free(controller);
	version = strstr(fake->state, "\"version\":");
	assert_non_null(version);
	version = strchr(version, '1');
	assert_non_null(version);
	*version = '9';
	controller = make_node(&fake_side_port);
	assert_int_equal(controller_start(controller), -EPROTO);
	assert_int_equal(fake->nr_aside, 0);
	assert_true(fake->has_state);
	assert_int_equal(fake->nr_groups, nr_groups);
	assert_int_equal(fake_side.nr_starts, 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static int load_error;

static int failing_load(void *self, char **ret_data, size_t *ret_len)
{
	return load_error;
}

static int failing_set_aside(void *self, char *ret_name, size_t size)
{
	return -EROFS;
}

static struct controller *start_with(const struct store_port *store)
{
	const struct controller_ports ports = {
		.clock = &fake_clock, .loop = &fake_loop, .groups = &groups, .store = store};
	struct controller *controller = NULL;
	char error[256];

	assert_int_equal(controller_new(topology, &policy, &options, &ports, error, sizeof(error),
					&controller),
			 0);
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static void a_state_that_cannot_be_read_is_set_aside(void **state)
{
	struct store_port store = fake_store;
	struct controller *controller;

	store.load = failing_load;
	load_error = -EIO;
	controller = start_with(&store);
	assert_int_equal(fake->nr_aside, 1);
	assert_int_equal(nr_findings(controller, "state_set_aside", "Input/output error"), 1);
	assert_int_equal(nr_findings(controller, "state_set_aside",
				     "the agent renamed it to state.json.bad-1"),
			 1);
	controller_free(controller);
	/* Even that may fail; the agent lives on all the same. */
	store.set_aside = failing_set_aside;
	controller = start_with(&store);
	assert_int_equal(nr_findings(controller, "state_set_aside", "nor could it be renamed"), 1);
	controller_free(controller);
	/* No file at all is a first start, and nothing to tell. */
	load_error = -ENOENT;
	controller = start_with(&store);
	assert_int_equal(nr_findings(controller, "state_set_aside", ""), 0);
	controller_free(controller);
}

static void a_damaged_state_is_rebuilt_from_what_runs(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	populate(true);
	controller_free(controller);
	fake->state[fake->state_len / 2] ^= 1;
	controller = start_node(NULL);
	assert_int_equal(fake->nr_aside, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-3");
	controller_free(controller);
	free_pods(pods, 1);
}

/* --- pods found running without a record -------------------------------------------------------------- */

static void expect_pod(struct controller *controller, const char *key, const char *wanted)
{
	struct json_object *pods = query(controller, "pod");

	assert_int_equal(json_object_array_length(pods), 1);
	assert_string_equal(member(json_object_array_get_idx(pods, 0), key), wanted);
	json_object_put(pods);
}

static void limits_are_found_as_they_are_in_force(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "web", 500, false)};
	struct controller *controller = start_node(NULL);

	pods[0]->containers->limit.cpu_mcpu = 1500;
	pods[0]->containers->limit.memory_bytes = 256 << 20;
	pods[0]->overhead.memory_bytes = 16 << 20;
	pods[0]->overhead.cpu_mcpu = 0;
	scan(controller, pods, 1);
	assert_string_equal(file_of("web", GROUP_CPU_MAX), "150000 100000");
	populate(true);
	controller_free(controller);
	fake->has_state = false;
	controller = start_node(NULL);
	expect_pod(controller, "namespace", "recovered");
	expect_pod(controller, "state", "ending");
	expect_pod(controller, "detail",
		   "it was found running, without a record in the state file");
	assert_string_equal(file_of("web", GROUP_CPU_MAX), "150000 100000");
	assert_string_equal(file_of("web", GROUP_MEMORY_MAX), "268435456");
	assert_string_equal(group_of(GROUP_POD, "uid-a")->files[GROUP_MEMORY_MAX], "285212672");
	controller_free(controller);
	free_pods(pods, 1);
}

/*
 * Only the cgroups tell what runs, so a start waits for their lock where a later look
 * would be postponed.
 */
static void a_start_without_a_record_waits_for_the_cgroups(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	populate(true);
	controller_free(controller);
	fake->has_state = false;
	fake->slow_look = true;
	controller = start_node(NULL);
	assert_int_not_equal(fake->awaited_ns, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	expect_pod(controller, "detail",
		   "it was found running, without a record in the state file");
	controller_free(controller);
	free_pods(pods, 1);
}

/* An agent that does not know who runs where would give CPUs of running pods to others. */
static void a_start_without_a_record_ends_if_the_cgroups_stay_blocked(void **state)
{
	struct controller *controller;

	fake->slow_look = fake->stuck_look = true;
	controller = make_node(&fake_side_port);
	assert_int_equal(controller_start(controller), -ETIMEDOUT);
	assert_int_equal(fake->nr_groups, 0);
	assert_int_equal(fake_side.nr_starts, 0);
	controller_free(controller);
}

/* Empty groups and odd files make no pod. */
static void only_running_pods_are_found(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 2);
	controller_free(controller);
	fake->has_state = false;
	controller = start_node(NULL);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 2);
}

static void two_on_the_same_cpus_cannot_both_keep_them(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 2);
	populate(true);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-3");
	controller_free(controller);
	fake->has_state = false;
	controller = start_node(NULL);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_int_equal(nr_findings(controller, "grant_lost", "runs, but cannot keep its CPUs"),
			 1);
	controller_free(controller);
	free_pods(pods, 2);
}

static void systemd_layout(void *self, struct plan_layout *ret_layout)
{
	*ret_layout = (struct plan_layout){.root = "pinfold.slice", .systemd = true};
}

/* A unit's name has '_' where the uid has '-'. */
static void uids_of_units_are_translated(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller;

	groups.layout = systemd_layout;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	populate(true);
	controller_free(controller);
	/* The cgroup room tells uids as they stand in the name of the unit. */
	for (uint32_t i = 0; i < fake->nr_groups; i++)
		if (*fake_at(i)->uid)
			strcpy(fake_at(i)->uid, "uid_a");
	fake->has_state = false;
	controller = start_node(NULL);
	expect_pod(controller, "uid", "uid-a");
	controller_free(controller);
	free_pods(pods, 1);
}

static void cgroups_that_cannot_be_read_stop_the_start(void **state)
{
	struct controller *controller = make_node(NULL);

	fake->read_error = -EIO;
	assert_int_equal(controller_start(controller), -EIO);
	controller_free(controller);
}

/* --- a manifest for what was taken over ------------------------------------------------------------------ */

/* A state as `pinfold state import kubelet` leaves it: pods that wait for their manifest. */
static void import_state(struct pod_spec *const *specs, uint32_t nr)
{
	struct controller *controller = start_node(NULL);
	struct pod_spec **renamed = calloc(nr, sizeof(*renamed));

	assert_non_null(renamed);
	for (uint32_t i = 0; i < nr; i++) {
		renamed[i] = pod_spec_copy(specs[i]);
		strcpy(renamed[i]->namespace, KUBELET_IMPORT_NAMESPACE);
		strcpy(renamed[i]->name, specs[i]->uid);
	}
	scan(controller, renamed, nr);
	populate(true);
	scan(controller, NULL, 0);
	controller_free(controller);
	free_pods(renamed, nr);
	free(renamed);
}

static void an_imported_pod_takes_its_manifest(void **state)
{
	struct pod_spec *pods[] = {fake_pod("z", "gone", 2000, true),
				   fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller;

	import_state(pods, 2);
	controller = start_node(NULL);
	assert_int_equal(nr_rows(controller, "pod"), 2);
	populate(false);
	/* z is gone; a stays where it is although lower CPUs are free now. */
	populate(true);
	fake_find("pinfold.slice/poduid-z")->populated = false;
	scan(controller, pods + 1, 1);
	expect_pod(controller, "namespace", "default");
	expect_pod(controller, "name", "a");
	expect_pod(controller, "state", "running");
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "4-5");
	controller_free(controller);
	free_pods(pods, 2);
}

/* A manifest that does not name what holds CPUs would lose them: it is decided anew. */
static void another_container_is_another_decision(void **state)
{
	struct pod_spec *pods[] = {fake_pod("z", "gone", 2000, true),
				   fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller;

	import_state(pods, 2);
	controller = start_node(NULL);
	strcpy(pods[1]->containers->name, "renamed");
	fake_find("pinfold.slice/poduid-z")->populated = false;
	scan(controller, pods + 1, 1);
	expect_pod(controller, "name", "a");
	assert_string_equal(file_of("renamed", GROUP_CPUSET_CPUS), "2-3");
	controller_free(controller);
	free_pods(pods, 2);
}

/* Of two containers, each with whole CPUs or a part of one, and without a limit beyond. */
static struct pod_spec *pod_of_two(uint32_t first_mcpu, uint32_t second_mcpu)
{
	struct pod_spec *spec = fake_pod("a", "one", first_mcpu, true);
	struct container_spec *containers = calloc(2, sizeof(*containers));

	assert_non_null(containers);
	containers[0] = containers[1] = spec->containers[0];
	strcpy(containers[1].name, "two");
	containers[1].request.cpu_mcpu = containers[1].limit.cpu_mcpu = second_mcpu;
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = 2;
	return spec;
}

/* The manifest of an imported pod has lost its second container; a pod before it has ended. */
static void expect_without_second(uint32_t second_mcpu, const char *cpus)
{
	struct pod_spec *pods[] = {fake_pod("z", "gone", 2000, true),
				   pod_of_two(2000, second_mcpu)};
	struct controller *controller;

	import_state(pods, 2);
	controller = start_node(NULL);
	fake_find("pinfold.slice/poduid-z")->populated = false;
	pods[1]->nr_containers = 1;
	scan(controller, pods + 1, 1);
	expect_pod(controller, "name", "a");
	assert_string_equal(file_of("uid-a/one", GROUP_CPUSET_CPUS), cpus);
	controller_free(controller);
	free_pods(pods, 2);
}

/* Nothing is lost with it, so nothing moves. */
static void a_container_without_cpus_may_be_missing(void **state)
{
	expect_without_second(500, "4-5");
}

/* Its CPUs would belong to nobody. */
static void a_container_with_cpus_may_not(void **state)
{
	expect_without_second(2000, "2-3");
}

/* A pod that a source had named is no imported one, whatever its namespace. */
static void a_running_pod_is_not_taken_over(void **state)
{
	struct pod_spec *pods[] = {fake_pod("z", "gone", 2000, true),
				   fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);

	strcpy(pods[1]->namespace, KUBELET_IMPORT_NAMESPACE);
	scan(controller, pods, 2);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "4-5");
	scan(controller, pods + 1, 1);
	/* Another kind of container: decided anew, so the free CPUs below are taken. */
	pods[1]->containers->kind = CONTAINER_SIDECAR;
	scan(controller, pods + 1, 1);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-3");
	controller_free(controller);
	free_pods(pods, 2);
}

static void an_imported_bubble_keeps_its_slices(void **state)
{
	struct pod_spec *pods[] = {fake_pod("z", "gone", 2000, true),
				   mixed_pod("bubble", "one", 2000, 4000)};
	struct controller *controller;

	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	import_state(pods, 2);
	controller = start_node(NULL);
	fake_find("pinfold.slice/poduid-z")->populated = false;
	assert_string_equal(file_of("one", GROUP_CPUSET_CPUS), "4-5");
	assert_string_equal(file_of("rest", GROUP_CPUSET_CPUS), "6-7");
	scan(controller, pods + 1, 1);
	expect_pod(controller, "namespace", "default");
	expect_pod(controller, "bubble", "4-7");
	assert_string_equal(file_of("one", GROUP_CPUSET_CPUS), "4-5");
	assert_string_equal(file_of("rest", GROUP_CPUSET_CPUS), "6-7");
	controller_free(controller);
	/* Without pod-level resources it is another pod: decided anew. */
	import_state(pods, 2);
	controller = start_node(NULL);
	fake_find("pinfold.slice/poduid-z")->populated = false;
	pods[1]->has_pod_resources = false;
	pods[1]->request = pods[1]->limit = RESOURCES_UNSET;
	scan(controller, pods + 1, 1);
	expect_pod(controller, "bubble", "null");
	controller_free(controller);
	free_pods(pods, 2);
}

/* --- reload ------------------------------------------------------------------------------------------------ */

static void a_reload_is_accepted_as_a_whole_or_refused(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(&fake_side_port);
	struct policy next = policy;
	char error[256] = "";

	scan(controller, pods, 1);
	/* The CPUs it holds would be reserved. */
	cpuset_parse("0-3", 3, &next.reserved_list);
	assert_int_equal(controller_reload(controller, &next, &options, error, sizeof(error)),
			 -EBUSY);
	assert_non_null(strstr(error, "pod default/a would lose its grant: "));
	assert_int_equal(cpuset_count(controller_reserved(controller)), 2);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-3");
	/* What no machine can do. */
	cpuset_parse("0-99", 4, &next.reserved_list);
	assert_int_equal(controller_reload(controller, &next, &options, error, sizeof(error)),
			 -EINVAL);
	assert_string_not_equal(error, "");
	assert_int_equal(cpuset_count(controller_reserved(controller)), 2);
	/* A reservation that spares it is in force at once, for the shared pool and the file. */
	cpuset_parse("0-1,14-15", 9, &next.reserved_list);
	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	assert_int_equal(controller_reload(controller, &next, &options, error, sizeof(error)), 0);
	assert_int_equal(cpuset_count(controller_reserved(controller)), 4);
	assert_non_null(strstr(fake->state, "0-1,14-15"));
	{
		struct json_object *shown = query(controller, "policy");

		assert_string_equal(member(shown, "reserved_system_cpus"), "0-1,14-15");
		json_object_put(shown);
	}
	assert_int_equal(fake_side.policy.modes[ASPECT_CPUSET_FILES], ENFORCEMENT_AUDIT);
	assert_string_equal(fake_find("pinfold.slice")->files[GROUP_CPUSET_CPUS], "2-13");
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-9");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-9");
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_reload_is_in_the_log(void **state)
{
	struct controller *controller = start_node(NULL);
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *events;
	char error[256];

	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	events = query(controller, "event");
	assert_int_equal(json_object_array_length(events), 2);
	assert_string_equal(member(json_object_array_get_idx(events, 0), "kind"), "start");
	assert_string_equal(member(json_object_array_get_idx(events, 1), "kind"), "reload");
	assert_string_equal(member(json_object_array_get_idx(events, 1), "detail"),
			    "a new configuration is in force");
	json_object_put(events);
	events = query(controller, "event/1");
	assert_int_equal(json_object_array_length(events), 1);
	assert_string_equal(member(json_object_array_get_idx(events, 0), "kind"), "reload");
	json_object_put(events);
	events = query(controller, "event/2");
	assert_int_equal(json_object_array_length(events), 0);
	json_object_put(events);
	assert_int_equal(faces->query(faces->self, "event/", &events), -ENOENT);
	assert_int_equal(faces->query(faces->self, "event/-1", &events), -ENOENT);
	assert_int_equal(faces->query(faces->self, "event/1x", &events), -ENOENT);
	assert_int_equal(faces->query(faces->self, "event/99999999999999999999", &events), -ENOENT);
	assert_int_equal(faces->query(faces->self, "node/1", &events), -ENOENT);
	assert_int_equal(faces->query(faces->self, "even/1", &events), -ENOENT);
	assert_int_equal(faces->query(faces->self, "drift/1", &events), -ENOENT);
	/* Whatever failed before, a number of any digits is one. */
	errno = ERANGE;
	events = query(controller, "event/9876543210");
	assert_int_equal(json_object_array_length(events), 0);
	json_object_put(events);
	assert_int_equal(faces->query(faces->self, "eve", &events), -ENOENT);
	controller_free(controller);
}

/* --- dry run ------------------------------------------------------------------------------------------------- */

static void a_dry_run_prints_and_touches_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct text plan cleanup_text = {0}, nothing cleanup_text = {0}, change cleanup_text = {0};
	struct controller *controller;

	options.dry_run = true;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	assert_int_equal(controller_print_plan(controller, &plan), 0);
	assert_non_null(strstr(plan.data, "create pinfold.slice\n"));
	assert_non_null(strstr(plan.data, "create pinfold.slice/poduid-a/exclusive\n"));
	assert_non_null(
		strstr(plan.data, "write pinfold.slice/poduid-a/exclusive/cpuset.cpus 2-3\n"));
	assert_int_equal(fake->nr_groups, 0);
	assert_false(fake->has_state);
	assert_int_equal(fake_side.nr_starts, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	/* What is as it should be has no plan; what is not says what it was. */
	options.dry_run = false;
	controller = start_node(NULL);
	scan(controller, pods, 1);
	assert_int_equal(controller_print_plan(controller, &nothing), 0);
	assert_string_equal(nothing.data, "nothing to do\n");
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	assert_int_equal(controller_print_plan(controller, &change), 0);
	assert_string_equal(change.data, "write pinfold.slice/poduid-a/exclusive/cpuset.cpus 2-3 "
					 "was 2-15\n");
	fake->read_error = -EIO;
	assert_int_equal(controller_print_plan(controller, &change), -EIO);
	fake->read_error = 0;
	controller_free(controller);
	free_pods(pods, 1);
}

/* A damaged state is not moved by somebody who only looks. */
static void a_dry_run_sets_nothing_aside(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start_node(NULL);

	scan(controller, pods, 1);
	controller_free(controller);
	fake->state[fake->state_len / 2] ^= 1;
	options.dry_run = true;
	controller = start_node(NULL);
	assert_int_equal(fake->nr_aside, 0);
	assert_true(fake->has_state);
	assert_int_equal(nr_findings(controller, "state_set_aside", ""), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

/* It writes nothing, so it misses nothing. */
static void a_dry_run_needs_no_writable_state(void **state)
{
	struct controller *controller;

	fake->save_error = -EPERM;
	for (int dry_run = 0; dry_run <= 1; dry_run++) {
		options.dry_run = dry_run;
		controller = start_node(NULL);
		assert_int_equal(nr_findings(controller, "state_not_writable", ""), !dry_run);
		controller_free(controller);
	}
}

/* Until the first save has ended, the store alone says whether it can be written. */
static void a_writable_state_is_no_finding(void **state)
{
	struct controller *controller;

	fake->slow_save = true;
	controller = start_node(NULL);
	assert_int_equal(nr_findings(controller, "state_not_writable", ""), 0);
	controller_free(controller);
}

static void observing_changes_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller;

	config.mode = MODE_OBSERVE;
	controller = start_node(&fake_side_port);
	scan(controller, pods, 1);
	assert_int_equal(fake->nr_groups, 0);
	assert_int_equal(fake_side.nr_starts, 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_policy_that_does_not_fit_the_machine_is_refused(void **state)
{
	const struct controller_ports ports = {
		.clock = &fake_clock, .loop = &fake_loop, .groups = &groups, .store = &fake_store};
	struct controller *controller = NULL;
	char error[256] = "";

	cpuset_parse("0-99", 4, &policy.reserved_list);
	assert_int_equal(controller_new(topology, &policy, &options, &ports, error, sizeof(error),
					&controller),
			 -EINVAL);
	assert_null(controller);
	assert_string_not_equal(error, "");
	controller_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_node, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_changed_machine_is_reported),
		TEST(the_state_of_a_newer_agent_is_not_changed),
		TEST(a_state_that_cannot_be_read_is_set_aside),
		TEST(limits_are_found_as_they_are_in_force),
		TEST(a_start_without_a_record_waits_for_the_cgroups),
		TEST(a_start_without_a_record_ends_if_the_cgroups_stay_blocked),
		TEST(only_running_pods_are_found),
		TEST(two_on_the_same_cpus_cannot_both_keep_them),
		TEST(uids_of_units_are_translated),
		TEST(cgroups_that_cannot_be_read_stop_the_start),
		TEST(an_imported_pod_takes_its_manifest),
		TEST(another_container_is_another_decision),
		TEST(a_container_without_cpus_may_be_missing),
		TEST(a_container_with_cpus_may_not),
		TEST(a_running_pod_is_not_taken_over),
		TEST(an_imported_bubble_keeps_its_slices),
		TEST(a_reload_is_accepted_as_a_whole_or_refused),
		TEST(a_reload_is_in_the_log),
		TEST(a_dry_run_prints_and_touches_nothing),
		TEST(a_dry_run_sets_nothing_aside),
		TEST(a_dry_run_needs_no_writable_state),
		TEST(a_writable_state_is_no_finding),
		TEST(a_damaged_state_is_rebuilt_from_what_runs),
		TEST(observing_changes_nothing),
		TEST(a_policy_that_does_not_fit_the_machine_is_refused),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
