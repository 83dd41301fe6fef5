// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The controller against a fake world: admission, drift, the state file. A child
 * dies at any call of a port and the next controller finds what was left. After
 * each step the world is looked at: no exclusive container ever shares a CPU with
 * anybody.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "lib/log.h"
#include "lib/text.h"

static void admits_and_applies(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	assert_int_equal(nr_rows(controller, "pod"), 2);
	assert_true(fake->has_state);
	controller_free(controller);
	free_pods(pods, 2);
}

/* Simulations of the running node begin with it. */
static void the_ledger_is_served_as_a_state(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	struct json_object *ledger, *text;

	scan(controller, pods, 1);
	ledger = query(controller, "ledger");
	assert_true(json_object_object_get_ex(ledger, "state", &text));
	assert_int_equal(json_object_get_string_len(text), fake->state_len);
	assert_memory_equal(json_object_get_string(text), fake->state, fake->state_len);
	json_object_put(ledger);
	controller_free(controller);
	free_pods(pods, 1);
}

/* For schedulers: what is left of the reserved 0-1, and of the pod's 2-5. */
static void what_is_available_is_told(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	struct text before cleanup_text = {0}, after cleanup_text = {0},
			   observed cleanup_text = {0};

	assert_int_equal(faces->topology(faces->self, &before), 0);
	scan(controller, pods, 1);
	assert_int_equal(faces->topology(faces->self, &after), 0);
	assert_non_null(strstr(before.data, "\"allocatable\":\"6\",\"available\":\"6\""));
	assert_non_null(strstr(after.data, "\"allocatable\":\"6\",\"available\":\"2\""));
	config.mode = MODE_OBSERVE;
	assert_int_equal(faces->topology(faces->self, &observed), -ENOENT);
	config.mode = MODE_ALLOCATE;
	controller_free(controller);
	free_pods(pods, 1);
}

static void releases_what_no_source_names(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	scan(controller, pods + 1, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	assert_null(file_of("exclusive", GROUP_CPUSET_CPUS));
	controller_free(controller);
	free_pods(pods, 2);
}

static void an_ending_pod_keeps_its_cpus(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	populate(true);
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	/* A restart does not change that. */
	controller = start_controller();
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	populate(false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void an_unreadable_directory_ends_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;

	scan(controller, pods, 1);
	sink->scanned(sink->self, NULL, 0, false);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_damaged_document_ends_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod damaged = {
		.file = "pods.yaml", .line = 3, .error = "line 3: no", .name = "default/a"};

	scan(controller, pods, 1);
	sink->scanned(sink->self, &damaged, 1, true);
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void drift_is_repaired_and_recorded(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	struct json_object *drift;

	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	sink->changed(sink->self, "pinfold.slice/x", "cpuset.cpus");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	drift = query(controller, "drift");
	assert_int_equal(json_object_array_length(drift), 1);
	json_object_put(drift);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Not even a whole look that fails is in the way of a container known to be touched. */
static void a_touched_container_comes_first(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	struct json_object *drift, *action;

	scan(controller, pods, 2);
	strcpy(fake_find("pinfold.slice/poduid-a/exclusive")->files[GROUP_CPUSET_CPUS], "2-15");
	strcpy(fake_find("pinfold.slice/poduid-b/web")->files[GROUP_CPUSET_CPUS], "2-15");
	sink->changed(sink->self, "pinfold.slice/poduid-a/exclusive", "cpuset.cpus");
	sink->changed(sink->self, "pinfold.slice/poduid-none/gone", "cpuset.cpus");
	fake->read_error = -EIO;
	controller_wake(controller);
	fake->read_error = 0;
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "2-15");
	drift = query(controller, "drift");
	assert_int_equal(json_object_array_length(drift), 1);
	assert_true(
		json_object_object_get_ex(json_object_array_get_idx(drift, 0), "action", &action));
	assert_string_equal(json_object_get_string(action), "repair");
	json_object_put(drift);
	/* What nobody told of is found by the whole look. */
	controller_wake(controller);
	assert_string_equal(file_of("web", GROUP_CPUSET_CPUS), "6-15");
	controller_free(controller);
	free_pods(pods, 2);
}

static void audit_records_and_leaves_it(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller;

	config.enforcement.guard[ASPECT_CPUSET_FILES] = ENFORCEMENT_AUDIT;
	controller = start_controller();
	scan(controller, pods, 1);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-15");
	assert_int_equal(nr_rows(controller, "drift"), 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_state_that_cannot_be_written_admits_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	char reason[256];

	fake->save_error = -ENOSPC;
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	/* Space again: the next look admits it without being asked. */
	fake->save_error = 0;
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_true(faces->ready(faces->self, reason, sizeof(reason)));
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_foreign_state_directory_is_said_at_once(void **state)
{
	struct controller *controller;
	const struct faces_port *faces;
	char reason[256];

	fake->save_error = -EPERM;
	controller = start_controller();
	faces = controller_faces(controller);
	scan(controller, NULL, 0);
	assert_false(faces->ready(faces->self, reason, sizeof(reason)));
	assert_non_null(strstr(reason, "the directory is not ours"));
	controller_free(controller);
}

static void a_failing_step_stops_its_pod_only(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();

	fake->apply_error = -EIO;
	scan(controller, pods, 1);
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "exclusive")->path);
	tamper("exclusive", GROUP_CPUSET_CPUS, "");
	scan(controller, pods, 2);
	assert_string_equal(file_of("exclusive-too", GROUP_CPUSET_CPUS), "6-7");
	fake->apply_error = 0;
	fake->now_ns += 60ULL * 1000000000ULL;
	controller_wake(controller);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 2);
}

static void a_damaged_state_is_set_aside(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	controller_free(controller);
	fake->state[fake->state_len / 2] ^= 1;
	controller = start_controller();
	assert_int_equal(fake->nr_aside, 1);
	scan(controller, pods, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("exclusive", GROUP_CPUSET_CPUS), "2-5");
	controller_free(controller);
	free_pods(pods, 1);
}

static void what_runs_keeps_its_cpus_without_a_state(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false),
				   fake_pod("c", "exclusive-too", 4000, true)};
	struct controller *controller = start_controller();
	char weight[FAKE_VALUE];

	scan(controller, pods, 2);
	populate(true);
	snprintf(weight, sizeof(weight), "%s", file_of("uid-b", GROUP_CPU_WEIGHT));
	controller_free(controller);
	fake->has_state = false;
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 2);
	/* Nor do they feel it otherwise: 64 MiB, no quota, the weight of 500m. */
	assert_string_equal(file_of("uid-a", GROUP_MEMORY_MAX), "67108864");
	assert_string_equal(file_of("uid-a", GROUP_CPU_MAX), "max 100000");
	assert_string_equal(file_of("uid-b", GROUP_MEMORY_MAX), "max");
	assert_string_equal(file_of("uid-b", GROUP_CPU_MAX), "max 100000");
	assert_string_equal(file_of("uid-b", GROUP_CPU_WEIGHT), weight);
	/* A source that names only others takes nothing from them. */
	scan(controller, pods + 2, 1);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("uid-c", GROUP_CPUSET_CPUS), "6-9");
	assert_false(fake->overlap_seen);
	/* Named again, they are decided properly. */
	scan(controller, pods, 3);
	assert_int_equal(nr_rows(controller, "pod"), 3);
	assert_string_equal(file_of("uid-a", GROUP_CPUSET_CPUS), "2-5");
	assert_string_equal(file_of("uid-b", GROUP_CPUSET_CPUS), "10-15");
	controller_free(controller);
	free_pods(pods, 3);
}

/* Lower CPUs are free, and a decision anew would take them. */
static void a_manifest_found_again_moves_nothing(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("c", "exclusive-too", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	scan(controller, pods + 1, 1);
	populate(true);
	controller_free(controller);
	fake->has_state = false;
	controller = start_controller();
	scan(controller, pods + 1, 1);
	assert_int_equal(nr_rows(controller, "pod"), 1);
	assert_string_equal(file_of("uid-c", GROUP_CPUSET_CPUS), "6-9");
	controller_free(controller);
	/* the real spec is in the state now */
	controller = start_controller();
	scan(controller, pods + 1, 1);
	assert_string_equal(file_of("uid-c", GROUP_CPUSET_CPUS), "6-9");
	controller_free(controller);
	/* another size: it keeps what it has */
	fake->has_state = false;
	controller = start_controller();
	pods[1]->containers->request.cpu_mcpu = pods[1]->containers->limit.cpu_mcpu = 5000;
	scan(controller, pods + 1, 1);
	assert_string_equal(file_of("uid-c", GROUP_CPUSET_CPUS), "2,6-9");
	controller_free(controller);
	free_pods(pods, 2);
}

/* --- limits ---------------------------------------------------------------------------------------- */

#define MS 1000000ULL

/* Let the loop turn until `end_ns`; somebody writes into `path` each millisecond. Time spent looking. */
static uint64_t write_without_end(struct controller *controller, const char *path, uint64_t end_ns)
{
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	uint64_t spent_ns = 0;

	while (fake->now_ns < end_ns) {
		uint64_t began_ns;

		fake->now_ns += MS;
		sink->changed(sink->self, path, "cgroup.procs");
		if (!fake->wake_ns || fake->wake_ns > fake->now_ns)
			continue;
		fake->wake_ns = 0;
		began_ns = fake->now_ns;
		controller_wake(controller);
		spent_ns += fake->now_ns - began_ns;
	}
	return spent_ns;
}

static void writing_without_end_costs_little(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false)};
	struct controller *controller = start_controller();
	const struct groups_sink *sink = &controller_sinks(controller)->groups;
	uint64_t spent_ns, began_ns;

	scan(controller, pods, 2);
	fake->look_ns = 4 * MS;
	/* The first is looked at when it comes. */
	fake->wake_ns = 0;
	sink->changed(sink->self, "pinfold.slice/poduid-a/exclusive", "cpuset.cpus");
	assert_int_equal(fake->wake_ns, fake->now_ns);
	spent_ns = write_without_end(controller, "pinfold.slice/poduid-a/exclusive",
				     fake->now_ns + 100000 * MS);
	/* A twentieth of 100 s, and what may be spent at once. */
	assert_in_range(spent_ns, 4000 * MS, 5600 * MS);
	/* Whoever else is tampered with meanwhile waits for a look, not for the end of it. */
	tamper("web", GROUP_CPUSET_CPUS, "2-15");
	began_ns = fake->now_ns;
	while (strcmp(file_of("web", GROUP_CPUSET_CPUS), "6-15")) {
		assert_true(fake->now_ns - began_ns < 1000 * MS);
		write_without_end(controller, "pinfold.slice/poduid-a/exclusive",
				  fake->now_ns + MS);
	}
	/* It ends, and time makes good for what it cost. */
	fake->now_ns += 60000 * MS;
	fake->wake_ns = 0;
	sink->changed(sink->self, "pinfold.slice/poduid-b/web", "cpuset.cpus");
	assert_int_equal(fake->wake_ns, fake->now_ns);
	controller_free(controller);
	free_pods(pods, 2);
}

static void each_lost_grant_is_reported(void **state)
{
	struct pod_spec *pods[] = {
		fake_pod("a", "exclusive", 1000, true), fake_pod("b", "exclusive", 1000, true),
		fake_pod("c", "exclusive", 1000, true), fake_pod("d", "exclusive", 1000, true),
		fake_pod("e", "exclusive", 1000, true), fake_pod("f", "exclusive", 1000, true),
		fake_pod("g", "exclusive", 1000, true), fake_pod("h", "exclusive", 1000, true),
		fake_pod("i", "exclusive", 1000, true), fake_pod("j", "exclusive", 1000, true),
		fake_pod("k", "exclusive", 1000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	controller_free(controller);
	/* Their CPUs are kept for the system from now on. */
	cpuset_parse("0-13", 4, &policy.reserved_list);
	controller = start_controller();
	assert_int_equal(nr_findings(controller, "grant_lost",
				     "default/a could not keep its grant: pod uid-a "),
			 1);
	assert_int_equal(nr_findings(controller, "grant_lost",
				     "default/b could not keep its grant: pod uid-b "),
			 1);
	assert_int_equal(nr_findings(controller, "grants_lost", ""), 0);
	controller_free(controller);
	/* As many as are named: there are no others. */
	policy = config.policy;
	controller = start_controller();
	scan(controller, pods, 8);
	controller_free(controller);
	cpuset_parse("0-13", 4, &policy.reserved_list);
	controller = start_controller();
	assert_int_equal(nr_findings(controller, "grant_lost", ""), 8);
	assert_int_equal(nr_findings(controller, "grants_lost", ""), 0);
	controller_free(controller);
	/* Many of them leave room for other findings. */
	policy = config.policy;
	controller = start_controller();
	scan(controller, pods, 9);
	controller_free(controller);
	cpuset_parse("0-13", 4, &policy.reserved_list);
	controller = start_controller();
	assert_int_equal(nr_findings(controller, "grant_lost", ""), 8);
	assert_int_equal(
		nr_findings(controller, "grants_lost", "1 more pod could not keep its grant"), 1);
	controller_free(controller);
	policy = config.policy;
	controller = start_controller();
	scan(controller, pods, 11);
	assert_int_equal(nr_rows(controller, "pod"), 11);
	controller_free(controller);
	cpuset_parse("0-13", 4, &policy.reserved_list);
	controller = start_controller();
	assert_int_equal(nr_findings(controller, "grant_lost", ""), 8);
	assert_int_equal(nr_findings(controller, "grants_lost",
				     "3 more pods could not keep their grants"),
			 1);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* --- what arrives from outside ---------------------------------------------------------------------- */

static void a_changed_machine_is_reported_completely(void **state)
{
	struct controller *controller = start_controller();

	tell_online(controller, "0-15");
	assert_int_equal(nr_findings(controller, "cpus_changed", ""), 0);
	tell_online(controller, "0-2,4-11,13-15");
	assert_int_equal(nr_findings(controller, "cpus_changed",
				     "CPUs 0-15 were online when the agent started, now CPUs "
				     "0-2,4-11,13-15 are"),
			 1);
	tell_online(controller, "0-2,4-15");
	assert_int_equal(nr_findings(controller, "cpus_changed", "now CPUs 0-2,4-15 are"), 1);
	/* As it was: nothing to tell. */
	tell_online(controller, "0-15");
	assert_int_equal(nr_findings(controller, "cpus_changed", ""), 0);
	controller_free(controller);
}

/* The kernel would let it run on all of the root's CPUs, those of other pods among them. */
static void a_grant_that_is_offline_is_replaced(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "exclusive", 2000, true),
				   fake_pod("c", "shared", 1000, false)};
	struct controller *controller = start_controller();

	scan(controller, pods, 3);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "2-5");
	tell_online(controller, "0-1,6-15");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "8-15");
	assert_string_equal(file_of("uid-b/", GROUP_CPUSET_CPUS), "6-7");
	assert_string_equal(file_of("uid-c/", GROUP_CPUSET_CPUS), "8-15");
	/* It is nobody's drift, and the ledger keeps the grant. */
	controller_wake(controller);
	assert_int_equal(nr_rows(controller, "drift"), 0);
	scan(controller, pods, 3);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "8-15");
	/* It runs on what is there of its own, and needs nothing else. */
	tell_online(controller, "0-2,6-15");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "2-5");
	/* With the pool offline, too, there is nothing better. */
	tell_online(controller, "0-1,6-7");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "2-5");
	tell_online(controller, "0-1,6-8");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "8-15");
	tell_online(controller, "0-15");
	controller_wake(controller);
	assert_string_equal(file_of("uid-a/", GROUP_CPUSET_CPUS), "2-5");
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
	free_pods(pods, 3);
}

/* A release that the full disk kept from the file must not come back with the next start. */
static void a_save_is_repeated_after_a_full_disk(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 1);
	fake->save_error = -ENOSPC;
	scan(controller, pods, 0);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	assert_int_equal(nr_findings(controller, "state_not_writable", ""), 1);
	fake->save_error = 0;
	controller_wake(controller);
	assert_int_equal(nr_findings(controller, "state_not_writable", ""), 0);
	controller_free(controller);
	controller = start_controller();
	assert_int_equal(nr_rows(controller, "pod"), 0);
	controller_free(controller);
	free_pods(pods, 1);
}

static void a_write_without_effect_is_detected(void **state)
{
	static const struct {
		const char *name, *option;
	} findings[] = {
		{"runtime_writes_not_built", "runtimeWrites: deny"},
		{"kubelet_repair_not_built", "enforcement.kubelet: repair without mode guard has"},
	};
	const struct config plain = config;
	const struct controller_options options = {
		.config = &config, .config_file = "", .boot_id = "boot"};
	struct controller *controller = start_controller();
	char error[256];

	for (size_t i = 0; i < ARRAY_SIZE(findings); i++)
		assert_int_equal(nr_findings(controller, findings[i].name, ""), 0);
	config.runtime_writes = RUNTIME_WRITES_DENY;
	config.enforcement.kubelet = KUBELET_REPAIR;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++)
		assert_int_equal(nr_findings(controller, findings[i].name, findings[i].option), 1);
	config = plain;
	assert_int_equal(controller_reload(controller, &policy, &options, error, sizeof(error)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++)
		assert_int_equal(nr_findings(controller, findings[i].name, ""), 0);
	controller_free(controller);
}

static void metrics_page_is_whole(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true)};
	struct controller *controller = start_controller();
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	scan(controller, pods, 1);
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"exclusive\"} 4\n"));
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"reserved\"} 2\n"));
	assert_non_null(strstr(page.data, "pinfold_cpus{state=\"shared\"} 10\n"));
	assert_non_null(strstr(page.data, "pinfold_admissions_total{result=\"admitted\","
					  "reason=\"none\"} 1\n"));
	controller_free(controller);
	free_pods(pods, 1);
}

/* A slice of a bubble is the pod's, not the node's; and every option that is on is named. */
static void metrics_tell_bubbles_and_options(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "bubble", 2000, true)};
	struct controller *controller;
	const struct faces_port *faces;
	struct text page cleanup_text = {0};

	pods[0]->has_pod_resources = true;
	pods[0]->request = pods[0]->limit = pods[0]->containers[0].limit;
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	policy.cpu_options = (struct cpu_options){.full_pcpus_only = true,
						  .distribute_across_numa = true,
						  .align_by_socket = true,
						  .strict_reservation = true};
	controller = start_controller();
	faces = controller_faces(controller);
	scan(controller, pods, 1);
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_non_null(strstr(page.data,
			       "pinfold_policy_info{policy=\"static\",scope=\"pod\","
			       "topology_policy=\"restricted\",options=\"full-pcpus-only,"
			       "distribute-cpus-across-numa,align-by-socket,"
			       "strict-cpu-reservation\"} 1\n"));
	assert_non_null(
		strstr(page.data, "pinfold_containers{assignment_type=\"pod_exclusive\"} 1\n"));
	assert_non_null(strstr(page.data,
			       "pinfold_container_assignments_total{resource_name=\"cpu\","
			       "assignment_type=\"pod_exclusive\"} 1\n"));
	assert_non_null(strstr(page.data,
			       "pinfold_container_assignments_total{resource_name=\"cpu\","
			       "assignment_type=\"node_exclusive\"} 0\n"));
	controller_free(controller);
	free_pods(pods, 1);
}

/* What dies with the process is the controller; the world stays. */
static void story(void)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false),
				   fake_pod("c", "exclusive-too", 2000, true)};
	struct controller *controller = start_controller();

	scan(controller, pods, 2);
	scan(controller, pods, 3);
	scan(controller, pods + 1, 2);
	scan(controller, pods, 3);
	controller_free(controller);
	free_pods(pods, 3);
}

static int run_story_with(int calls)
{
	pid_t child;
	int status;

	fake_world_reset();
	fake->on_step = look_for_overlap;
	fake->calls_left = calls;
	child = fork();
	if (!child) {
		story();
		_exit(0);
	}
	waitpid(child, &status, 0);
	fake->calls_left = -1;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void every_call_may_be_the_last(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 4000, true),
				   fake_pod("b", "web", 500, false),
				   fake_pod("c", "exclusive-too", 2000, true)};
	int calls = 1, status;

	do {
		struct controller *controller;
		struct cpuset a = CPUSET_EMPTY, c = CPUSET_EMPTY, web = CPUSET_EMPTY;

		status = run_story_with(calls);
		assert_true(status == 0 || status == FAKE_DEATH);
		controller = start_controller();
		scan(controller, pods, 3);
		assert_int_equal(nr_rows(controller, "pod"), 3);
		cpuset_parse(file_of("uid-a", GROUP_CPUSET_CPUS),
			     strlen(file_of("uid-a", GROUP_CPUSET_CPUS)), &a);
		cpuset_parse(file_of("uid-c", GROUP_CPUSET_CPUS),
			     strlen(file_of("uid-c", GROUP_CPUSET_CPUS)), &c);
		cpuset_parse(file_of("web", GROUP_CPUSET_CPUS),
			     strlen(file_of("web", GROUP_CPUSET_CPUS)), &web);
		assert_int_equal(cpuset_count(&web), 8);
		assert_int_equal(cpuset_count(&a) + cpuset_count(&c), 6);
		assert_false(fake->overlap_seen);
		controller_free(controller);
		calls++;
	} while (status == FAKE_DEATH);
	print_message("died at each of %d calls\n", calls - 2);
	assert_true(calls > 30);
	free_pods(pods, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(admits_and_applies, watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(the_ledger_is_served_as_a_state, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_available_is_told, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(releases_what_no_source_names, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(an_ending_pod_keeps_its_cpus, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(an_unreadable_directory_ends_nothing, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_document_ends_nothing, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(drift_is_repaired_and_recorded, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_touched_container_comes_first, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(audit_records_and_leaves_it, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_state_that_cannot_be_written_admits_nothing,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_foreign_state_directory_is_said_at_once,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_failing_step_stops_its_pod_only, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_state_is_set_aside, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(what_runs_keeps_its_cpus_without_a_state,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_manifest_found_again_moves_nothing, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(writing_without_end_costs_little, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(each_lost_grant_is_reported, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_changed_machine_is_reported_completely,
						watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(a_grant_that_is_offline_is_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_save_is_repeated_after_a_full_disk, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(a_write_without_effect_is_detected, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(metrics_page_is_whole, watch_overlap, tear_down),
		cmocka_unit_test_setup_teardown(metrics_tell_bubbles_and_options, watch_overlap,
						tear_down),
		cmocka_unit_test_setup_teardown(every_call_may_be_the_last, watch_overlap,
						tear_down),
	};

	log_open("test", getenv("PINFOLD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
