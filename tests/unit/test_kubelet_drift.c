// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * When the cpuset of a kubelet's container is put back: at once after a stranger, after a grace for
 * the kubelet's side, and never where the kubelet may mean it. The node has container postgres of
 * pod shop/db-0 with CPUs 2-3 of its own, and nginx of shop/web-0 on the shared pool.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_kernel.h"
#include "ctl/backoff.h"
#include "ctl/kubelet_drift.h"
#include "observer_scene.h"

#define ID	  "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa0011223344556677889"
#define OWN	  "kubepods/poddb/1" ID
#define SHARED	  "kubepods/podweb/2" ID
#define OWN_ID	  11
#define SHARED_ID 22

#define PLAN(shared, own)                                                           \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"" shared "\",\"entries\":{" \
	"\"db\":{\"postgres\":\"" own "\"}},\"checksum\":0}"

static const char *plan, *memory, *own_cpus, *shared_cpus, *own_mems;
static bool is_nameless, has_own;
static char stored[2][32]; /* what the port wrote */

/* --- a node that does what it is told ------------------------------------------------------------- */

static struct {
	unsigned int nr_calls, nr_rows, nr_cancelled;
	struct cpuset_write last;
	int result; /* of each row */
	int error;  /* of the call */
	bool is_late;
	struct cpuset_write *rows; /* of the call that is late */
	uint32_t nr_late;
	unsigned int nr_scans; /* that were asked for */
	const struct cpuset_sink *sink;
} port;

static void end_writes(struct cpuset_write *rows, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		rows[i].result = port.result;
		snprintf(rows[i].error, sizeof(rows[i].error), "%s", port.result ? "no way" : "");
		if (port.result)
			continue;
		if (rows[i].file == GROUP_CPUSET_MEMS) {
			cpuset_format(&rows[i].value, stored[0], sizeof(stored[0]));
			own_mems = stored[0];
			continue;
		}
		cpuset_format(&rows[i].value, stored[1], sizeof(stored[1]));
		*(rows[i].cgroup_id == OWN_ID ? &own_cpus : &shared_cpus) = stored[1];
	}
	port.sink->written(port.sink->self, rows, nr);
	free(rows);
}

static int write_cpusets(void *self, struct cpuset_write *rows, uint32_t nr)
{
	port.nr_calls++;
	port.nr_rows += nr;
	port.last = rows[nr - 1];
	if (port.error) {
		free(rows);
		return port.error;
	}
	if (port.is_late) {
		port.rows = rows;
		port.nr_late = nr;
		return 0;
	}
	end_writes(rows, nr);
	return 0;
}

static void cancel(void *self)
{
	port.nr_cancelled++;
}

static void where(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "cpuset_write_resmask");
}

static void scan_soon(void *self)
{
	port.nr_scans++;
}

static const struct cpuset_port cpuset_port = {NULL, write_cpusets, cancel, where};
static const struct discovery_port discovery_port = {NULL, scan_soon};

static struct controller *start_as(enum run_mode mode, enum kubelet_enforcement kubelet)
{
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &fake_groups,
					       .kernel = &fake_side_port,
					       .store = &fake_store,
					       .cpusets = &cpuset_port,
					       .discovery = &discovery_port};
	struct controller *controller;

	config.enforcement.kubelet = kubelet;
	memset(&port, 0, sizeof(port));
	fake_side_reset();
	plan = PLAN("0-1,4-15", "2-3");
	memory = NULL;
	own_cpus = "2-3";
	shared_cpus = "0-1,4-15";
	own_mems = "";
	is_nameless = false;
	has_own = true;
	controller = observer_new(mode, &ports);
	port.sink = &controller_sinks(controller)->cpuset;
	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static void add(struct discovery *found, const char *path, uint64_t id, const char *pod,
		const char *container, const char *cpus, const char *mems)
{
	struct discovered_cgroup *row;

	assert_int_equal(discovery_add(found, path, &row), 0);
	kubepods_parse(path, &row->name);
	assert_int_equal(row->name.kind, KUBEPODS_CONTAINER);
	row->cgroup_id = id;
	row->cpus = strdup(cpus);
	row->effective_cpus = strdup(cpus);
	row->mems = strdup(mems);
	if (is_nameless)
		return;
	row->names = DISCOVERED_NAMES_READ;
	row->namespace = strdup("shop");
	row->pod = strdup(pod);
	row->container = strdup(container);
}

/* The node as it is now, some time after the scan before. */
static void look(struct controller *controller, uint64_t passed_ns)
{
	const struct discovery_sink *sink = &controller_sinks(controller)->discovery;
	struct discovery found cleanup_discovery = {0};
	const char *before = PLAN("0-1,4-15", "2-3");

	fake->now_ns += passed_ns;
	if (has_own)
		add(&found, OWN, OWN_ID, "db-0", "postgres", own_cpus, own_mems);
	add(&found, SHARED, SHARED_ID, "web-0", "nginx", shared_cpus, "");
	if (plan)
		assert_int_equal(discovery_read_state(&found, plan, strlen(plan)), 0);
	if (found.cpu_file.presence == KUBELET_STATE_UNUSABLE)
		assert_int_equal(discovery_keep_state(&found, before, strlen(before)), 0);
	if (memory)
		assert_int_equal(discovery_read_memory(&found, memory, strlen(memory)), 0);
	sink->discovered(sink->self, &found);
}

/* A node that is as the kubelet wants it. */
static struct controller *start(void)
{
	struct controller *controller = start_as(MODE_GUARD, KUBELET_REPAIR);

	look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	return controller;
}

/* The kernel tells who wrote cpuset.cpus of this cgroup. Its unit is one of fake_world's groups. */
static void hear_of(struct controller *controller, uint64_t id, enum group_file file, uint32_t pid,
		    const char *unit, const char *comm)
{
	const struct kernel_sink *sink = &controller_sinks(controller)->kernel;
	struct event_record event = EVENT_RECORD(EVENT_DRIFT);
	struct fake_group *group = &fake->groups[fake_slot(unit)];

	snprintf(group->path, sizeof(group->path), "%s", unit);
	event.aspect = ASPECT_CPUSET_FILES;
	event.attribute = file;
	event.pid = pid;
	event.culprit_id = fake_slot(unit) + 1;
	event.target_id = id;
	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	sink->event(sink->self, &event);
}

static void hear(struct controller *controller, uint64_t id, const char *unit, const char *comm)
{
	hear_of(controller, id, GROUP_CPUSET_CPUS, 77, unit, comm);
}

static const char *cell(struct json_object *row, const char *key)
{
	return json_object_get_string(json_object_object_get(row, key));
}

static unsigned int nr_events_of(struct controller *controller, const char *kind)
{
	struct json_object *events = query(controller, "event");
	unsigned int nr = 0;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *row = json_object_array_get_idx(events, i);

		if (strcmp(cell(row, "kind"), kind))
			continue;
		/* Whatever is told of these containers is told with their names. */
		if (strcmp(kind, "start"))
			assert_non_null(cell(row, "container"));
		nr++;
	}
	json_object_put(events);
	return nr;
}

/* --- strangers ------------------------------------------------------------------------------------ */

static void what_a_stranger_changed_is_put_back(void **state)
{
	struct controller *controller = start();
	struct json_object *rows;

	own_cpus = "0-15";
	hear(controller, OWN_ID, "user.slice", "bash");
	look(controller, SECOND_NS);
	/* One scan may have read an old plan and a new value; the other one is asked for. */
	assert_int_equal(port.nr_calls, 0);
	assert_true(port.nr_scans > 0);
	look(controller, SECOND_NS / 10);
	assert_int_equal(port.nr_rows, 1);
	assert_string_equal(port.last.path, OWN);
	assert_int_equal(port.last.cgroup_id, OWN_ID);
	assert_int_equal(port.last.file, GROUP_CPUSET_CPUS);
	assert_string_equal(own_cpus, "2-3");
	look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	rows = query(controller, "drift");
	assert_int_equal(json_object_array_length(rows), 1);
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "comm"), "bash");
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "cgroup"), OWN);
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "found"), "0-15");
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "action"), "repair");
	json_object_put(rows);
	assert_int_equal(nr_events_of(controller, "drift"), 2);
	assert_int_equal(nr_events_of(controller, "repair"), 1);
	controller_free(controller);
}

/* A kernel without fentry says of nobody who it was. */
/* As when the agent starts: the programs of the one before tell of a container that no scan has seen. */
static void a_writer_before_the_first_scan_is_the_culprit(void **state)
{
	struct controller *controller = start_as(MODE_GUARD, KUBELET_REPAIR);
	struct json_object *rows, *event;

	own_cpus = "0-15";
	snprintf(fake->groups[OWN_ID - 1].path, sizeof(fake->groups[0].path), OWN);
	hear(controller, OWN_ID, "user.slice", "bash");
	look(controller, 0);
	look(controller, KUBELET_GRACE_NS + SECOND_NS);
	look(controller, SECOND_NS);
	assert_string_equal(own_cpus, "2-3");
	rows = query(controller, "drift");
	assert_int_equal(json_object_array_length(rows), 1);
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "comm"), "bash");
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "found"), "0-15");
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "action"), "repair");
	json_object_put(rows);
	rows = query(controller, "event");
	event = json_object_array_get_idx(rows, json_object_array_length(rows) - 2);
	assert_string_equal(cell(event, "kind"), "drift");
	assert_string_equal(cell(event, "comm"), "bash");
	assert_string_equal(cell(event, "pid"), "77");
	assert_string_equal(cell(event, "cgroup"), "user.slice");
	json_object_put(rows);
	expect_metric(controller,
		      "pinfold_drift_detected_total{attribute=\"cpus\",cause=\"user\"} 1\n");
	controller_free(controller);
}

static void who_it_was_need_not_be_known(void **state)
{
	struct controller *controller = start();

	shared_cpus = "0-15";
	look(controller, SECOND_NS);
	look(controller, SECOND_NS / 10);
	assert_string_equal(shared_cpus, "0-1,4-15");
	assert_int_equal(port.nr_rows, 1);
	controller_free(controller);
}

static void a_difference_that_ends_by_itself_is_left_alone(void **state)
{
	struct controller *controller = start();

	own_cpus = "0-15";
	look(controller, SECOND_NS);
	own_cpus = "2-3";
	look(controller, SECOND_NS);
	own_cpus = "0-15";
	look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	assert_int_equal(nr_rows(controller, "drift"), 0);
	controller_free(controller);
}

static void two_writers_are_a_finding_and_the_agent_slows_down(void **state)
{
	struct controller *controller = start();
	unsigned int nr = 0;

	/* Ten minutes with somebody who writes it again at once. */
	for (unsigned int i = 0; i < 600; i++) {
		if (!strcmp(own_cpus, "2-3")) {
			own_cpus = "0-15";
			hear(controller, OWN_ID, "user.slice/tuner.service", "tuner");
		}
		look(controller, SECOND_NS);
		if (nr < 3 && port.nr_calls == 3)
			assert_true(i < 20);
		nr = port.nr_calls;
	}
	assert_in_range(nr, 8, 14);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested",
				     "tuner (pid 77) of user.slice/tuner.service"),
			 1);
	/* It gives up. */
	own_cpus = "2-3";
	look(controller, SECOND_NS);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested", ""), 1);
	look(controller, BACKOFF_QUIET_NS);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested", ""), 0);
	controller_free(controller);
}

/* Whom it was that wrote the second time, nothing has told. */
static void several_that_are_contested_are_counted(void **state)
{
	struct controller *controller = start();

	for (unsigned int i = 0; i < 60; i++) {
		own_cpus = shared_cpus = "0-15";
		look(controller, SECOND_NS);
	}
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested",
				     "last by an unknown process"),
			 1);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested", "; and 1 more"), 1);
	has_own = false;
	look(controller, SECOND_NS);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested", "nginx of pod"), 1);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_contested", "more"), 0);
	controller_free(controller);
}

static void a_container_that_ends_leaves_nothing_open(void **state)
{
	struct controller *controller = start();
	struct json_object *rows, *row;

	own_cpus = "0-15";
	port.result = -EROFS;
	for (int i = 0; i < 2; i++)
		look(controller, SECOND_NS);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", "no way"), 1);
	rows = query(controller, "drift");
	assert_int_equal(json_object_array_length(rows), 1);
	assert_string_equal(cell(json_object_array_get_idx(rows, 0), "open"), "true");
	json_object_put(rows);
	/* The next write ends after the container. */
	port.is_late = true;
	for (int i = 0; i < 4; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 2);
	has_own = false;
	look(controller, SECOND_NS);
	rows = query(controller, "drift");
	assert_int_equal(json_object_array_length(rows), 1);
	row = json_object_array_get_idx(rows, 0);
	assert_string_equal(cell(row, "open"), "false");
	assert_string_equal(cell(row, "action"), "none");
	json_object_put(rows);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", ""), 0);
	end_writes(port.rows, port.nr_late);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", ""), 0);
	assert_int_equal(nr_events_of(controller, "repair"), 0);
	controller_free(controller);
}

static void a_write_that_fails_is_told_and_tried_again(void **state)
{
	struct controller *controller = start();

	port.result = -EROFS;
	own_cpus = "0-15";
	for (int i = 0; i < 2; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", "no way"), 1);
	assert_int_equal(nr_events_of(controller, "repair"), 0);
	port.result = 0;
	for (int i = 0; i < 4; i++)
		look(controller, SECOND_NS);
	assert_string_equal(own_cpus, "2-3");
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", ""), 0);
	controller_free(controller);
}

static void a_failure_is_over_when_somebody_else_puts_it_back(void **state)
{
	struct controller *controller = start();

	port.result = -EROFS;
	own_cpus = "0-15";
	for (int i = 0; i < 2; i++)
		look(controller, SECOND_NS);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", "no way"), 1);
	own_cpus = "2-3";
	look(controller, SECOND_NS);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", ""), 0);
	controller_free(controller);
}

static void one_pass_at_a_time(void **state)
{
	struct controller *controller = start();

	port.is_late = true;
	own_cpus = "0-15";
	for (int i = 0; i < 5; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", "cpuset_write_resmask"), 1);
	end_writes(port.rows, port.nr_late);
	controller_tick(controller);
	assert_int_equal(nr_findings(controller, "operation_waiting", ""), 0);
	port.is_late = false;
	/* A call that could not begin anything leaves nothing behind. */
	own_cpus = "0-15";
	port.error = -ENOMEM;
	for (int i = 0; i < 5; i++)
		look(controller, SECOND_NS);
	port.error = 0;
	look(controller, SECOND_NS);
	assert_string_equal(own_cpus, "2-3");
	controller_free(controller);
}

/* The kubelet decides otherwise while a pass writes what it decided before. */
static void a_pass_ends_with_its_plan(void **state)
{
	struct controller *controller = start();

	port.is_late = true;
	own_cpus = "0-15";
	for (int i = 0; i < 3; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(port.nr_cancelled, 0);
	plan = PLAN("0-1,6-15", "2-5");
	look(controller, SECOND_NS);
	assert_int_equal(port.nr_cancelled, 1);
	/* The row was written before it could be left alone; that is no repair of the new plan. */
	end_writes(port.rows, port.nr_late);
	assert_int_equal(nr_events_of(controller, "repair"), 0);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", ""), 0);
	port.is_late = false;
	look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	controller_free(controller);
}

/* What was left alone is neither done nor failed. */
static void a_row_that_was_left_alone_is_tried_again(void **state)
{
	struct controller *controller = start();

	own_cpus = "0-15";
	port.result = -ECANCELED;
	for (int i = 0; i < 2; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_not_repaired", ""), 0);
	port.result = 0;
	look(controller, SECOND_NS);
	assert_string_equal(own_cpus, "2-3");
	controller_free(controller);
}

/* --- the kubelet's side --------------------------------------------------------------------------- */

/* The kernel keeps what was written while no agent ran, and tells it before the first scan. */
static void the_runtime_may_write_to_what_no_scan_has_seen(void **state)
{
	struct controller *controller = start();
	const size_t nr = nr_rows(controller, "event");

	hear(controller, 4711, "system.slice/containerd.service", "runc");
	assert_int_equal(nr_rows(controller, "event"), nr);
	assert_int_equal(nr_rows(controller, "drift"), 0);
	hear(controller, 4711, "user.slice", "bash");
	assert_int_equal(nr_rows(controller, "event"), nr + 1);
	controller_free(controller);
}

/* The runtime freezes to kill and to update; nothing compares it later. */
static void a_freeze_by_systemd_is_told(void **state)
{
	struct controller *controller = start();
	const size_t nr = nr_rows(controller, "event");

	hear_of(controller, OWN_ID, GROUP_FREEZE, 77, "system.slice/containerd.service", "runc");
	hear_of(controller, 4711, GROUP_FREEZE, 77, "system.slice/containerd.service", "runc");
	assert_int_equal(nr_rows(controller, "event"), nr);
	hear_of(controller, OWN_ID, GROUP_FREEZE, 1, "init.scope", "systemd");
	assert_int_equal(nr_rows(controller, "event"), nr + 1);
	hear_of(controller, 4711, GROUP_FREEZE, 1, "init.scope", "systemd");
	assert_int_equal(nr_rows(controller, "event"), nr + 2);
	controller_free(controller);
}

static void the_runtime_may_write_and_is_compared_later(void **state)
{
	struct controller *controller = start();

	/* It writes first, and the state file follows. */
	own_cpus = "4-5";
	hear(controller, OWN_ID, "system.slice/containerd.service", "runc");
	for (int i = 0; i < 14; i++)
		look(controller, SECOND_NS);
	plan = PLAN("0-3,6-15", "4-5");
	shared_cpus = "0-3,6-15";
	for (int i = 0; i < 30; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	assert_int_equal(nr_rows(controller, "drift"), 0);
	assert_int_equal(nr_events_of(controller, "drift"), 0);
	controller_free(controller);
}

static void what_the_runtime_wrote_and_the_kubelet_did_not_decide_is_put_back_once(void **state)
{
	struct controller *controller = start();

	own_cpus = "4-5";
	hear(controller, OWN_ID, "system.slice/containerd.service", "runc");
	for (int i = 0; i < 15; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	look(controller, SECOND_NS);
	look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	assert_string_equal(own_cpus, "2-3");
	/* It comes back: who is right is not decided by writing. */
	look(controller, SECOND_NS);
	own_cpus = "4-5";
	hear(controller, OWN_ID, "system.slice/containerd.service", "runc");
	for (int i = 0; i < 60; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 1);
	assert_string_equal(own_cpus, "4-5");
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_left",
				     "runc (pid 77) of system.slice/containerd.service"),
			 1);
	/* With another plan it begins anew. */
	plan = PLAN("0-1,6-15", "2-5");
	shared_cpus = "0-1,6-15";
	for (int i = 0; i < 20; i++)
		look(controller, SECOND_NS);
	assert_string_equal(own_cpus, "2-5");
	assert_int_equal(nr_findings(controller, "kubelet_cpuset_left", ""), 0);
	controller_free(controller);
}

static void a_new_plan_is_carried_out_by_the_kubelet(void **state)
{
	struct controller *controller = start();

	plan = PLAN("0-1,6-15", "2-5");
	for (int i = 0; i < 10; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	own_cpus = "2-5";
	shared_cpus = "0-1,6-15";
	for (int i = 0; i < 30; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	controller_free(controller);
}

/* As after a restart of the agent, before which somebody wrote. */
static void what_never_matched_waits_for_the_kubelet(void **state)
{
	struct controller *controller = start_as(MODE_GUARD, KUBELET_REPAIR);

	own_cpus = "0-15";
	shared_cpus = "0-15";
	for (int i = 0; i < 14; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	for (int i = 0; i < 30; i++)
		look(controller, SECOND_NS);
	assert_string_equal(own_cpus, "2-3");
	/* Of a container without an entry nobody knows that the kubelet follows the default set. */
	assert_string_equal(shared_cpus, "0-15");
	assert_int_equal(port.nr_rows, 1);
	controller_free(controller);
}

/* The kubelet leaves shared containers on CPUs that it gives away while no shared one is left. */
static void an_overlap_of_the_kubelet_is_not_fought(void **state)
{
	struct controller *controller = start();

	plan = PLAN("", "0-15");
	own_cpus = "0-15";
	for (int i = 0; i < 60; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_calls, 0);
	assert_int_equal(nr_findings(controller, "exclusive_cpus_shared", ""), 1);
	controller_free(controller);
}

static void without_a_plan_that_is_sure_nothing_is_written(void **state)
{
	static const char *const plans[] = {
		NULL, "{", "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":0}",
		/* what the containers of such a pod share is not in the file */
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{},"
		"\"podEntries\":{\"db\":{\"cpuSet\":\"2-3\"},\"web\":{\"cpuSet\":\"4-5\"}},"
		"\"checksum\":0}"};

	for (size_t i = 0; i <= ARRAY_SIZE(plans); i++) {
		struct controller *controller = start();

		if (i < ARRAY_SIZE(plans))
			plan = plans[i];
		else
			is_nameless = true;
		own_cpus = shared_cpus = "0-15";
		for (int j = 0; j < 60; j++)
			look(controller, SECOND_NS);
		assert_int_equal(port.nr_calls, 0);
		assert_int_equal(nr_rows(controller, "drift"), 0);
		controller_free(controller);
	}
}

#define MEMORY_ON_1                                                                         \
	"{\"policyName\":\"Static\",\"machineState\":{},\"entries\":{\"db\":{\"postgres\":" \
	"[{\"numaAffinity\":[1],\"type\":\"memory\",\"size\":4096}]}},\"checksum\":0}"

static void memory_nodes_are_put_back_as_well(void **state)
{
	struct controller *controller = start_as(MODE_GUARD, KUBELET_REPAIR);

	memory = MEMORY_ON_1;
	own_mems = "1";
	look(controller, SECOND_NS);
	own_mems = "0-1";
	look(controller, SECOND_NS);
	look(controller, SECOND_NS);
	assert_string_equal(own_mems, "1");
	assert_int_equal(port.last.file, GROUP_CPUSET_MEMS);
	assert_int_equal(port.nr_rows, 1);
	controller_free(controller);
}

/* Memory may take long to move, and the CPUs of no container wait for that. */
static void memory_nodes_come_last(void **state)
{
	struct controller *controller = start_as(MODE_GUARD, KUBELET_REPAIR);

	memory = MEMORY_ON_1;
	own_mems = "1";
	look(controller, SECOND_NS);
	own_mems = "0-1";
	own_cpus = shared_cpus = "0-15";
	port.is_late = true;
	for (int i = 0; i < 2; i++)
		look(controller, SECOND_NS);
	assert_int_equal(port.nr_late, 3);
	assert_int_equal(port.rows[0].file, GROUP_CPUSET_CPUS);
	assert_int_equal(port.rows[1].file, GROUP_CPUSET_CPUS);
	assert_int_equal(port.rows[2].file, GROUP_CPUSET_MEMS);
	end_writes(port.rows, port.nr_late);
	controller_free(controller);
}

/* --- what may be done at all ---------------------------------------------------------------------- */

static void it_is_only_reported_unless_asked_for(void **state)
{
	static const struct {
		enum run_mode mode;
		enum kubelet_enforcement kubelet;
	} ways[] = {
		{MODE_GUARD, KUBELET_REPORT},
		{MODE_OBSERVE, KUBELET_REPAIR},
		{MODE_OBSERVE, KUBELET_REPORT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct controller *controller = start_as(ways[i].mode, ways[i].kubelet);

		look(controller, SECOND_NS);
		own_cpus = shared_cpus = "0-15";
		for (int j = 0; j < 60; j++)
			look(controller, SECOND_NS);
		assert_int_equal(port.nr_calls, 0);
		assert_int_equal(nr_findings(controller, "cpus_differ_from_kubelet", ""), 1);
		controller_free(controller);
	}
}

/* The BPF programs say who writes these cgroups. They deny nobody anything. */
static void containers_are_watched_and_not_guarded(void **state)
{
	struct controller *controller = start();

	assert_int_equal(fake_side.policy.nr_groups, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fake_side.groups[i].scope, MANAGED_SELF);
		assert_false(fake_side.groups[i].is_container);
		assert_int_equal(fake_side.groups[i].level, 3);
	}
	assert_int_equal(fake_side.groups[0].cgroup_id, OWN_ID);
	assert_int_equal(fake_side.groups[1].cgroup_id, SHARED_ID);
	for (enum aspect aspect = 0; aspect < ASPECT_NR; aspect++)
		assert_int_equal(fake_side.policy.modes[aspect], ENFORCEMENT_OFF);
	controller_free(controller);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_stranger_changed_is_put_back),
		TEST(a_writer_before_the_first_scan_is_the_culprit),
		TEST(who_it_was_need_not_be_known),
		TEST(a_difference_that_ends_by_itself_is_left_alone),
		TEST(two_writers_are_a_finding_and_the_agent_slows_down),
		TEST(several_that_are_contested_are_counted),
		TEST(a_container_that_ends_leaves_nothing_open),
		TEST(a_write_that_fails_is_told_and_tried_again),
		TEST(a_failure_is_over_when_somebody_else_puts_it_back),
		TEST(one_pass_at_a_time),
		TEST(a_pass_ends_with_its_plan),
		TEST(a_row_that_was_left_alone_is_tried_again),
		TEST(the_runtime_may_write_and_is_compared_later),
		TEST(what_the_runtime_wrote_and_the_kubelet_did_not_decide_is_put_back_once),
		TEST(a_new_plan_is_carried_out_by_the_kubelet),
		TEST(what_never_matched_waits_for_the_kubelet),
		TEST(an_overlap_of_the_kubelet_is_not_fought),
		TEST(without_a_plan_that_is_sure_nothing_is_written),
		TEST(memory_nodes_are_put_back_as_well),
		TEST(memory_nodes_come_last),
		TEST(the_runtime_may_write_to_what_no_scan_has_seen),
		TEST(a_freeze_by_systemd_is_told),
		TEST(it_is_only_reported_unless_asked_for),
		TEST(containers_are_watched_and_not_guarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
