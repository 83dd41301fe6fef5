// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * What the controller makes of a scan of the node: rows, events for what came and went, findings
 * that end with their cause, and an agent that is not ready while it does not know the node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observer_scene.h"

static struct discovery found;

static struct controller *start_mode(enum run_mode mode)
{
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &fake_groups,
					       .store = &fake_store};
	struct controller *controller = observer_new(mode, &ports);

	assert_int_equal(controller_start(controller), 0);
	/* No manifests are scanned: an observer grants nothing, so it need not know them. */
	return controller;
}

static struct controller *start_observer(void)
{
	return start_mode(MODE_OBSERVE);
}

static void add(const char *path, uint64_t id)
{
	struct discovered_cgroup *row;

	assert_int_equal(discovery_add(&found, path, &row), 0);
	kubepods_parse(path, &row->name);
	row->cgroup_id = id;
}

static void add_named(const char *path, uint64_t id, const char *pod, const char *container)
{
	struct discovered_cgroup *row;

	add(path, id);
	row = &found.rows[found.nr - 1];
	row->names = DISCOVERED_NAMES_READ;
	row->namespace = strdup("shop");
	row->pod = strdup(pod);
	row->container = container ? strdup(container) : NULL;
}

/* Everything added since; the controller takes it. */
static void deliver(struct controller *controller)
{
	const struct discovery_sink *sink = &controller_sinks(controller)->discovery;

	sink->discovered(sink->self, &found);
	assert_int_equal(found.nr, 0);
	assert_null(found.rows);
}

/* Number of events of this kind whose detail is this. */
static unsigned int nr_events(struct controller *controller, const char *kind, const char *detail)
{
	struct json_object *events = query(controller, "event");
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *row = json_object_array_get_idx(events, i);
		const char *said = json_object_get_string(json_object_object_get(row, "detail"));

		nr += !strcmp(json_object_get_string(json_object_object_get(row, "kind")), kind) &&
		      (!detail || !strcmp(said, detail));
	}
	json_object_put(events);
	return nr;
}

/* The sequence number of the last event of this kind with this detail. */
static int64_t sequence_of(struct controller *controller, const char *kind, const char *detail)
{
	struct json_object *events = query(controller, "event");
	int64_t sequence = -1;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *row = json_object_array_get_idx(events, i);
		struct json_object *number = json_object_object_get(row, "sequence");

		if (!strcmp(json_object_get_string(json_object_object_get(row, "kind")), kind) &&
		    !strcmp(json_object_get_string(json_object_object_get(row, "detail")), detail))
			sequence = json_object_get_int64(number);
	}
	json_object_put(events);
	return sequence;
}

static bool is_ready(struct controller *controller, const char *why)
{
	const struct faces_port *faces = controller_faces(controller);
	char reason[512] = "";
	bool ready = faces->ready(faces->self, reason, sizeof(reason));

	if (!ready && !strstr(reason, why))
		fail_msg("'%s' is not in '%s'", why, reason);
	return ready;
}

static void what_came_and_went_is_an_event(void **state)
{
	struct controller *controller = start_observer();

	add("kubepods/poda", 1);
	add("kubepods/podb", 2);
	deliver(controller);
	/* At the start everything is new. */
	assert_int_equal(nr_events(controller, "discover", NULL), 0);
	assert_int_equal(nr_rows(controller, "discovery"), 2);
	add("kubepods/podb", 2);
	add("kubepods/podc", 3);
	deliver(controller);
	assert_int_equal(nr_events(controller, "vanish", "pod kubepods/poda"), 1);
	assert_int_equal(nr_events(controller, "discover", "pod kubepods/podc"), 1);
	assert_int_equal(nr_events(controller, "discover", NULL), 1);
	/* Another cgroup of the same name is another pod. */
	add("kubepods/podb", 4);
	add("kubepods/podc", 3);
	deliver(controller);
	assert_int_equal(nr_events(controller, "vanish", "pod kubepods/podb"), 1);
	assert_int_equal(nr_events(controller, "discover", "pod kubepods/podb"), 1);
	/* The old one went before the new one came. */
	assert_true(sequence_of(controller, "vanish", "pod kubepods/podb") >= 0);
	assert_true(sequence_of(controller, "vanish", "pod kubepods/podb") <
		    sequence_of(controller, "discover", "pod kubepods/podb"));
	/* The last one went after another one came in front of it. */
	add("kubepods/podb", 4);
	add("kubepods/podbb", 5);
	deliver(controller);
	assert_int_equal(nr_events(controller, "discover", "pod kubepods/podbb"), 1);
	assert_int_equal(nr_events(controller, "vanish", "pod kubepods/podc"), 1);
	controller_free(controller);
}

static const char *text_of(struct json_object *rows, size_t i, const char *key)
{
	return json_object_get_string(
		json_object_object_get(json_object_array_get_idx(rows, i), key));
}

static void names_are_shown_and_told(void **state)
{
	static const char path[] = "kubepods/podb/3f4e5d6c7b8a9988776655443322110"
				   "0ffeeddccbbaa00112233445566778899";
	struct controller *controller = start_observer();
	struct json_object *rows;
	size_t last;

	add("docker", 1);
	add("kubepods/poda", 2);
	found.rows[1].names = DISCOVERED_NAMES_UNKNOWN;
	deliver(controller);
	rows = query(controller, "discovery");
	assert_string_equal(text_of(rows, 0, "names"), "none");
	assert_string_equal(text_of(rows, 1, "names"), "unknown");
	assert_null(text_of(rows, 1, "pod"));
	json_object_put(rows);
	add_named(path, 3, "web-0", "nginx");
	deliver(controller);
	rows = query(controller, "discovery");
	assert_string_equal(text_of(rows, 0, "names"), "read");
	assert_string_equal(text_of(rows, 0, "namespace"), "shop");
	assert_string_equal(text_of(rows, 0, "pod"), "web-0");
	assert_string_equal(text_of(rows, 0, "container"), "nginx");
	json_object_put(rows);
	rows = query(controller, "event");
	last = json_object_array_length(rows) - 1;
	assert_string_equal(text_of(rows, last, "kind"), "discover");
	assert_string_equal(text_of(rows, last, "pod"), "shop/web-0");
	assert_string_equal(text_of(rows, last, "container"), "nginx");
	assert_string_equal(text_of(rows, last - 1, "kind"), "vanish");
	assert_null(text_of(rows, last - 1, "pod"));
	json_object_put(rows);
	controller_free(controller);
}

static void what_was_not_read_did_not_vanish(void **state)
{
	struct controller *controller = start_observer();

	add("kubepods/poda", 1);
	deliver(controller);
	found.is_incomplete = true;
	strcpy(found.problem, "cannot open /kubepods: Permission denied");
	deliver(controller);
	assert_int_equal(nr_events(controller, "vanish", NULL), 0);
	assert_int_equal(nr_findings(controller, "discovery_incomplete", "Permission denied"), 1);
	add("kubepods/poda", 1);
	deliver(controller);
	assert_int_equal(nr_events(controller, "discover", NULL), 0);
	assert_int_equal(nr_findings(controller, "discovery_incomplete", ""), 0);
	controller_free(controller);
}

/* What came and went meanwhile is told by the next scan that read everything. */
static void an_incomplete_scan_hides_no_change(void **state)
{
	struct controller *controller = start_observer();

	add("kubepods/poda", 1);
	add("kubepods/podb", 2);
	deliver(controller);
	for (int i = 0; i < 2; i++) {
		add("kubepods/podc", 3);
		found.is_incomplete = true;
		strcpy(found.problem, "cannot open /kubepods: Permission denied");
		deliver(controller);
	}
	assert_int_equal(nr_rows(controller, "discovery"), 1);
	assert_int_equal(nr_events(controller, "vanish", NULL), 0);
	add("kubepods/podb", 2);
	add("kubepods/podc", 3);
	deliver(controller);
	assert_int_equal(nr_events(controller, "vanish", NULL), 1);
	assert_int_equal(nr_events(controller, "vanish", "pod kubepods/poda"), 1);
	assert_int_equal(nr_events(controller, "discover", NULL), 1);
	assert_int_equal(nr_events(controller, "discover", "pod kubepods/podc"), 1);
	/* and once only */
	add("kubepods/podb", 2);
	add("kubepods/podc", 3);
	deliver(controller);
	assert_int_equal(nr_events(controller, "vanish", NULL), 1);
	assert_int_equal(nr_events(controller, "discover", NULL), 1);
	controller_free(controller);
}

/* If the first scan was incomplete, the first complete one is the start. */
static void an_incomplete_start_makes_no_events(void **state)
{
	struct controller *controller = start_observer();

	found.is_incomplete = true;
	strcpy(found.problem, "cannot open /kubepods: Permission denied");
	deliver(controller);
	add("kubepods/poda", 1);
	deliver(controller);
	assert_int_equal(nr_events(controller, "discover", NULL), 0);
	deliver(controller);
	assert_int_equal(nr_events(controller, "vanish", "pod kubepods/poda"), 1);
	controller_free(controller);
}

static void events_of_one_scan_are_limited(void **state)
{
	struct controller *controller = start_observer();
	char path[64];

	deliver(controller);
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "kubepods/pod%03u", i);
		add(path, i);
	}
	deliver(controller);
	assert_int_equal(nr_events(controller, "discover", NULL), 64);
	assert_int_equal(nr_rows(controller, "discovery"), 100);
	controller_free(controller);
}

static void an_unknown_node_is_not_ready(void **state)
{
	struct controller *controller = start_observer();

	assert_false(is_ready(controller, "have not been read yet"));
	deliver(controller);
	assert_true(is_ready(controller, ""));
	fake->now_ns += 29 * SECOND_NS;
	assert_true(is_ready(controller, ""));
	fake->now_ns += SECOND_NS;
	assert_false(is_ready(controller, "last read 30 s ago"));
	deliver(controller);
	assert_true(is_ready(controller, ""));
	found.is_incomplete = true;
	strcpy(found.problem, "cannot open /kubepods: Permission denied");
	deliver(controller);
	assert_false(is_ready(controller, "Permission denied"));
	controller_free(controller);
}

/* An agent that allocates looks for nobody else's pods, and does not wait for them. */
static void without_discovery_nothing_is_lacking(void **state)
{
	struct controller *controller = start_controller();

	scan(controller, NULL, 0);
	assert_true(is_ready(controller, ""));
	assert_int_equal(nr_rows(controller, "discovery"), 0);
	controller_free(controller);
}

/* What an agent that enforces would miss is no fault of a node that is only observed. */
static void an_observed_node_has_no_findings_of_ours(void **state)
{
	struct controller *controller;
	struct json_object *node;

	config.partitions = PARTITIONS_OFF;
	controller = start_observer();
	deliver(controller);
	controller_tick(controller);
	node = query(controller, "node");
	assert_int_equal(json_object_array_length(json_object_object_get(node, "findings")), 0);
	json_object_put(node);
	controller_free(controller);
}

#define STATE(policy)                                                                  \
	"{\"policyName\":\"" policy "\",\"defaultCpuSet\":\"0-1\",\"entries\":{\"u\":" \
	"{\"c\":\"2-3\"}},\"checksum\":0}"

/* A scan that found this state file; NULL = none. */
static void deliver_state(struct controller *controller, const char *text)
{
	strcpy(found.cpu_file.path, "/var/lib/kubelet/cpu_manager_state");
	if (text)
		assert_int_equal(discovery_read_state(&found, text, strlen(text)), 0);
	deliver(controller);
}

static void guarding_without_a_plan_is_a_finding(void **state)
{
	struct controller *controller = start_mode(MODE_GUARD);

	deliver_state(controller, NULL);
	assert_int_equal(nr_findings(controller, "guard_without_plan", "does not exist"), 1);
	assert_true(is_ready(controller, ""));
	deliver_state(controller, STATE("static"));
	assert_int_equal(nr_findings(controller, "guard_without_plan", ""), 0);
	assert_true(is_ready(controller, ""));
	deliver_state(controller, STATE("none"));
	assert_int_equal(nr_findings(controller, "guard_without_plan", "is none"), 1);
	controller_free(controller);
}

/* A file that cannot be used is not one that does not exist: what the kubelet decided is unknown. */
static void a_plan_that_cannot_be_read_is_unknown(void **state)
{
	struct controller *controller = start_mode(MODE_GUARD);
	const char *before = STATE("static");

	deliver_state(controller, "{");
	assert_int_equal(nr_findings(controller, "guard_without_plan", ""), 0);
	assert_int_equal(nr_findings(controller, "kubelet_state_unusable", ""), 1);
	assert_false(is_ready(controller, "the kubelet's state file cannot be used"));
	/* What it said before is known. */
	assert_int_equal(discovery_keep_state(&found, before, strlen(before)), 0);
	deliver_state(controller, "{");
	assert_int_equal(nr_findings(controller, "guard_without_plan", ""), 0);
	assert_true(is_ready(controller, ""));
	controller_free(controller);
}

/* The value of `key` in the row of this CPU; NULL = null. */
static const char *cpu_says(struct json_object *cpus, size_t cpu, const char *key)
{
	struct json_object *row = json_object_array_get_idx(cpus, cpu);

	assert_int_equal(json_object_get_int64(json_object_object_get(row, "cpu")), cpu);
	return json_object_get_string(json_object_object_get(row, key));
}

static void the_kubelets_cpus_have_its_owners(void **state)
{
	struct controller *controller = start_mode(MODE_GUARD);
	struct json_object *cpus;

	deliver_state(controller, STATE("static"));
	cpus = query(controller, "cpu");
	assert_string_equal(cpu_says(cpus, 2, "state"), "exclusive");
	assert_string_equal(cpu_says(cpus, 3, "owner"), "u/c");
	assert_string_equal(cpu_says(cpus, 3, "in_shared_pool"), "false");
	assert_string_equal(cpu_says(cpus, 1, "in_shared_pool"), "true");
	/* neither in the default set nor an entry's */
	assert_string_equal(cpu_says(cpus, 4, "in_shared_pool"), "false");
	assert_null(cpu_says(cpus, 4, "owner"));
	json_object_put(cpus);
	deliver_state(controller, NULL);
	cpus = query(controller, "cpu");
	assert_null(cpu_says(cpus, 3, "owner"));
	json_object_put(cpus);
	controller_free(controller);
}

/* With pod-level managers a pod has CPUs, and its containers have some of them. */
static void a_pods_cpus_are_its_containers_or_shared_in_it(void **state)
{
	struct controller *controller = start_mode(MODE_GUARD);
	struct json_object *cpus;

	deliver_state(controller,
		      "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{"
		      "\"p\":{\"a\":\"4\",\"b\":\"5\"},\"q\":{\"c\":\"7\"}},\"podEntries\":{"
		      "\"p\":{\"cpuSet\":\"3-5\"},\"q\":{\"cpuSet\":\"6-7\"}},\"checksum\":0}");
	cpus = query(controller, "cpu");
	assert_string_equal(cpu_says(cpus, 3, "state"), "pod_shared");
	assert_string_equal(cpu_says(cpus, 3, "owner"), "p");
	assert_string_equal(cpu_says(cpus, 4, "state"), "exclusive");
	assert_string_equal(cpu_says(cpus, 4, "owner"), "p/a");
	assert_string_equal(cpu_says(cpus, 5, "owner"), "p/b");
	assert_string_equal(cpu_says(cpus, 6, "owner"), "q");
	assert_string_equal(cpu_says(cpus, 7, "state"), "exclusive");
	assert_string_equal(cpu_says(cpus, 7, "owner"), "q/c");
	json_object_put(cpus);
	controller_free(controller);
}

static void a_containers_cpus_stand_beside_the_kubelets(void **state)
{
	struct controller *controller = start_mode(MODE_GUARD);
	struct json_object *rows, *row;

	add("kubepods/podu/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 2);
	found.rows[0].names = DISCOVERED_NAMES_READ;
	found.rows[0].namespace = strdup("shop");
	found.rows[0].pod = strdup("web-0");
	found.rows[0].container = strdup("c");
	found.rows[0].effective_cpus = strdup("0-1");
	deliver_state(controller, STATE("static"));
	rows = query(controller, "discovery");
	row = json_object_array_get_idx(rows, 0);
	assert_string_equal(json_object_get_string(json_object_object_get(row, "container")), "c");
	assert_string_equal(json_object_get_string(json_object_object_get(row, "kubelet_cpus")),
			    "2-3");
	assert_int_equal(nr_findings(controller, "cpus_differ_from_kubelet", "gives it CPUs 2-3"),
			 1);
	json_object_put(rows);
	/* The owner has the pod's names, where they are known. */
	rows = query(controller, "cpu");
	assert_string_equal(cpu_says(rows, 3, "owner"), "shop/web-0/c");
	assert_string_equal(cpu_says(rows, 3, "owner_uid"), "u");
	json_object_put(rows);
	controller_free(controller);
}

/* An observer does not need a kubelet. */
static void observing_without_a_kubelet_is_fine(void **state)
{
	struct controller *controller = start_observer();

	deliver_state(controller, NULL);
	assert_int_equal(nr_findings(controller, "guard_without_plan", ""), 0);
	deliver_state(controller, "{");
	assert_true(is_ready(controller, ""));
	controller_free(controller);
}

/* The form of the path says all of this. */
static void what_a_path_says_is_shown(void **state)
{
	struct controller *controller = start_observer();
	struct json_object *rows;

	add("kubepods/poda", 1);
	found.rows[0].name = (struct kubepods_name){.kind = KUBEPODS_POD, .uid = "a"};
	add("kubepods/poda/1", 2);
	found.rows[1].name = (struct kubepods_name){.kind = KUBEPODS_CONTAINER,
						    .uid = "a",
						    .id = "1",
						    .has_qos = true,
						    .qos = QOS_BURSTABLE,
						    .runtime = RUNTIME_CRIO,
						    .is_systemd = true};
	deliver(controller);
	rows = query(controller, "discovery");
	assert_null(text_of(rows, 0, "qos"));
	assert_null(text_of(rows, 0, "runtime"));
	assert_null(text_of(rows, 0, "id"));
	assert_string_equal(text_of(rows, 0, "driver"), "cgroupfs");
	assert_string_equal(text_of(rows, 1, "qos"), "Burstable");
	assert_string_equal(text_of(rows, 1, "runtime"), "cri-o");
	assert_string_equal(text_of(rows, 1, "id"), "1");
	assert_string_equal(text_of(rows, 1, "driver"), "systemd");
	json_object_put(rows);
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(what_came_and_went_is_an_event),
		TEST(names_are_shown_and_told),
		TEST(what_a_path_says_is_shown),
		TEST(what_was_not_read_did_not_vanish),
		TEST(an_incomplete_scan_hides_no_change),
		TEST(an_incomplete_start_makes_no_events),
		TEST(events_of_one_scan_are_limited),
		TEST(an_unknown_node_is_not_ready),
		TEST(without_discovery_nothing_is_lacking),
		TEST(an_observed_node_has_no_findings_of_ours),
		TEST(guarding_without_a_plan_is_a_finding),
		TEST(a_plan_that_cannot_be_read_is_unknown),
		TEST(the_kubelets_cpus_have_its_owners),
		TEST(a_pods_cpus_are_its_containers_or_shared_in_it),
		TEST(a_containers_cpus_stand_beside_the_kubelets),
		TEST(observing_without_a_kubelet_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
