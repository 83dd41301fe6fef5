// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * The whole page of metrics, to the byte, in both formats, of a node where
 * something of everything has happened: tests/data/metrics. A change there is a
 * change for users and belongs into docs/metrics.md as well; UPDATE_GOLDEN=1
 * writes the files anew, to be read before they are committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <pinfold/names.h>

#include "../lib/fake_kernel.h"
#include "../lib/fake_noise.h"
#include "../lib/fake_irq.h"
#include "../lib/fake_stranger.h"
#include "../lib/fake_pressure.h"
#include "../lib/fake_resident.h"
#include "../lib/golden.h"
#include "controller_scene.h"
#include "ctl/internal.h"
#include "lib/log.h"
#include "lib/text.h"
#include "mixed_pod.h"

#define MS 1000000ULL

/* A save takes time, so that admissions fall into different buckets. */
static uint64_t save_ns;
static uint64_t read_ns;
static unsigned int nr_files_read;

static int slow_save(void *self, const char *data, size_t len)
{
	fake->now_ns += save_ns;
	return fake_save(self, data, len);
}

static int throttled_status(void *self, const char *path, struct group_status *ret_status)
{
	int r = fake_status(self, path, ret_status);

	if (!r)
		ret_status->throttled_usec = 1250000;
	nr_files_read++;
	return r;
}

static int status_error;

static int late_status(void *self, const char *path, struct group_status *ret_status)
{
	return status_error ? status_error : throttled_status(self, path, ret_status);
}

#define MIB (1ULL << 20)

/* 64 huge pages of 2 MiB on the first node, none on the second. */
static const struct topology_node memory[] = {
	{.id = 0,
	 .memory_bytes = 4096 * MIB,
	 .nr_hugepages = 1,
	 .hugepages = {{.size_bytes = 2 * MIB, .total_pages = 64}}},
	{.id = 1, .memory_bytes = 2048 * MIB},
};

/* Somebody took some of the huge pages without asking. */
static uint64_t nr_free_pages;

static uint32_t free_pages(void *self, struct topology_node *ret_nodes)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(memory); i++)
		ret_nodes[i] = topology->memory_nodes[i];
	ret_nodes[0].hugepages[0].free_pages = nr_free_pages;
	/* A scrape takes time too. */
	fake->now_ns += read_ns;
	return ARRAY_SIZE(memory);
}

static const struct machine_port machine_port = {.free_pages = free_pages};

static int process_error;

static int usage_of_process(void *self, struct process_usage *ret_usage)
{
	*ret_usage = (struct process_usage){
		.cpu_ns = 1234567890,
		.resident_bytes = 9 * MIB,
		.virtual_bytes = 90 * MIB,
		.nr_fds = 61,
		.max_fds = 1024,
		.started_ns = 1700000000123456789,
	};
	return process_error;
}

static const struct process_port process_port = {.usage = usage_of_process};

static struct controller *make(bool with_kernel)
{
	static const struct controller_options options = {
		.config = &config,
		.config_file = "",
		.kernel_release = "6.1",
		.boot_id = "boot",
		.revision = "revision",
		.libbpf = "1.5",
	};
	static struct store_port store;
	static struct groups_port groups;
	const struct controller_ports ports = {.clock = &fake_clock,
					       .loop = &fake_loop,
					       .groups = &groups,
					       .kernel = with_kernel ? &fake_side_port : NULL,
					       .machine = &machine_port,
					       .process = &process_port,
					       .pressure = with_kernel ? &fake_pressure_port : NULL,
					       .resident = with_kernel ? &fake_resident_port : NULL,
					       .noise = with_kernel ? &fake_noise_port : NULL,
					       .irq = &fake_irq_port,
					       .stranger = &fake_stranger_port,
					       .store = &store};
	struct controller *controller = NULL;
	char error[256] = "";

	store = fake_store;
	store.save = slow_save;
	groups = fake_groups;
	groups.status = late_status;
	if (controller_new(topology, &policy, &options, &ports, error, sizeof(error), &controller))
		fail_msg("controller_new: %s", error);
	fake_pressure.sink = &controller_sinks(controller)->pressure;
	fake_resident.sink = &controller_sinks(controller)->resident;
	fake_irq.sink = &controller_sinks(controller)->irq;
	fake_stranger.sink = &controller_sinks(controller)->stranger;
	return controller;
}

static struct controller *start(bool with_kernel)
{
	struct controller *controller = make(with_kernel);

	assert_int_equal(controller_start(controller), 0);
	return controller;
}

static int set_up_page(void **state)
{
	fake_side_reset();
	memset(&fake_irq, 0, sizeof(fake_irq));
	fake_irq.rows = fake_irq_rows;
	fake_irq.nr = ARRAY_SIZE(fake_irq_rows);
	fake_irq.counts = (struct irq_report){.nr_written = 6,
					      .nr_refused = 2,
					      .nr_failed = 1,
					      .nr_foreign = 3,
					      .nr_fired = 1234};
	memset(&fake_stranger, 0, sizeof(fake_stranger));
	fake_stranger.rows = fake_stranger_rows;
	fake_stranger.nr = ARRAY_SIZE(fake_stranger_rows);
	fake_stranger.counts = (struct stranger_report){.nr_held = 2,
							.nr_moved = 5,
							.nr_restored = 3,
							.nr_failed = 1,
							.nr_reverted = 7,
							.cost_ns = 1234567};
	memset(&fake_pressure, 0, sizeof(fake_pressure));
	fake_pressure.all.state = PRESSURE_MEASURED;
	fake_pressure.all.throttled_ns = 2500000000;
	for (int kind = 0; kind < PRESSURE_KIND_NR; kind++)
		fake_pressure.all.total_ns[kind] = (uint64_t)(kind + 1) * 1000000001;
	memset(&fake_resident, 0, sizeof(fake_resident));
	fake_noise_reset();
	for (enum noise_source source = 0; source < NOISE_SOURCE_NR; source++)
		fake_noise_add(source, "", 1, (uint64_t)(source + 1) * 1000000001);
	save_ns = read_ns = 0;
	nr_free_pages = 50;
	status_error = process_error = 0;
	if (set_up(state))
		return -1;
	topology_free(topology);
	topology = fake_machine_with(2, 4, 2, memory);
	policy.memory = MEMORY_POLICY_STATIC;
	policy.nr_memory_reservations = 1;
	policy.memory_reservations[0] =
		(struct memory_reservation){.node_id = 0, .bytes = 100 * MIB};
	fake_resident.topology = topology;
	return 0;
}

/* --- what happens ---------------------------------------------------------------------------------- */

static void tell(struct controller *controller, struct pod_spec **specs, uint32_t nr,
		 const struct source_pod *wrong)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	struct source_pod pods[16];

	for (uint32_t i = 0; i < nr; i++)
		pods[i] = (struct source_pod){
			.spec = specs[i], .file = "pods.yaml", .line = i + 1, .name = ""};
	if (wrong)
		pods[nr++] = *wrong;
	sink->scanned(sink->self, pods, nr, true);
	controller_wake(controller);
}

/*
 * Admitted at once, and after the state was slow; one refused for want of CPUs, one
 * document that is wrong; one released; drift mended, mended in vain, and left open.
 */
static void play(struct controller *controller, struct pod_spec **pods)
{
	const struct source_pod wrong = {
		.file = "wrong.yaml", .line = 3, .error = "line 3: no", .name = "default/wrong"};

	/* Just within the first bucket, between two, and behind the last. */
	save_ns = 50000;
	tell(controller, pods, 3, &wrong);
	save_ns = 3 * MS;
	tell(controller, pods, 4, &wrong);
	save_ns = 500 * MS;
	tell(controller, pods, 5, &wrong);
	save_ns = 0;
	tell(controller, pods, 6, &wrong);
	/* The fourth leaves, and what it held is free. */
	pods[3] = pods[4];
	pods[4] = pods[5];
	pods[5] = pods[6];
	tell(controller, pods, 5, &wrong);
	/* Somebody writes a file; it is put back. */
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-15");
	tamper("web", GROUP_MEMORY_MAX, "4096");
	controller_wake(controller);
	/* And another one, which resists. */
	fake->apply_error = -EIO;
	strcpy(fake->apply_path, group_of(GROUP_CONTAINER, "exclusive")->path);
	tamper("exclusive", GROUP_CPUSET_CPUS, "2-9");
	controller_wake(controller);
	/* The state cannot be written any more. */
	fake->save_error = -ENOSPC;
	tell(controller, pods, 6, &wrong);
}

/* --- the page -------------------------------------------------------------------------------------- */

/* The version changes with each release and is not what this is about. */
static char *without_version(const char *page)
{
	static const char label[] = "{version=\"" PINFOLD_VERSION "\"";
	const char *at = strstr(page, label);
	char *shown;

	assert_non_null(at);
	if (asprintf(&shown, "%.*s{version=\"VERSION\"%s", (int)(at - page), page,
		     at + sizeof(label) - 1) < 0)
		abort();
	return shown;
}

static void check_page(struct controller *controller, bool openmetrics, const char *path)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	char *shown;

	assert_int_equal(faces->metrics(faces->self, openmetrics, &page), 0);
	shown = without_version(page.data);
	golden_compare(path, shown);
	free(shown);
}

static void the_page_is_as_recorded(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("b", "web", 500, false),
				   bubble_pod(4000),
				   fake_pod("c", "exclusive-too", 2000, true),
				   fake_pod("f", "tiny", 50, false),
				   fake_pod("d", "big", 12000, true),
				   fake_pod("e", "late", 100, false)};
	struct pod_spec *all[ARRAY_SIZE(pods)];
	struct controller *controller;

	memcpy(all, pods, sizeof(pods));
	policy.align = ALIGN_RESTRICTED;
	policy.scope = ALIGN_SCOPE_POD;
	cpuset_add(&policy.excluded, 15);
	controller = start(true);
	play(controller, pods);
	controller_tick(controller);
	read_ns = 2 * MS;
	check_page(controller, false, "tests/data/metrics/page.prom");
	check_page(controller, true, "tests/data/metrics/page.openmetrics");
	controller_free(controller);
	free_pods(all, ARRAY_SIZE(all));
}

/* Without BPF nothing is said about it, and nothing is said to be in force. */
static void without_bpf_its_families_are_absent(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller;

	config.metrics.level = METRICS_POD;
	controller = start(false);
	scan(controller, pods, 1);
	check_page(controller, false, "tests/data/metrics/no-bpf.prom");
	controller_free(controller);
	free_pods(pods, 1);
}

#define PRESSURE_SERIES                                                              \
	"pinfold_pressure_io_stalled_seconds_total{namespace=\"default\",pod=\"a\"," \
	"container="

static void levels_bound_the_series(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	static const struct {
		enum metrics_level level;
		bool pods, containers;
	} rows[] = {
		{METRICS_NODE, false, false},
		{METRICS_POD, true, false},
		{METRICS_CONTAINER, true, true},
	};
	struct controller *controller = start(true);
	const struct faces_port *faces = controller_faces(controller);

	scan(controller, pods, 1);
	controller_tick(controller);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text page cleanup_text = {0};

		config.metrics.level = rows[i].level;
		assert_int_equal(faces->metrics(faces->self, false, &page), 0);
		assert_int_equal(!!strstr(page.data, "pinfold_pod_cpu_seconds_total{"),
				 rows[i].pods);
		assert_int_equal(!!strstr(page.data, "pinfold_runqueue_latency_seconds_count{"),
				 rows[i].pods);
		assert_int_equal(!!strstr(page.data, "pinfold_throttled_seconds_total{"),
				 rows[i].containers);
		assert_int_equal(!!strstr(page.data, PRESSURE_SERIES "\"\"}"), rows[i].pods);
		assert_int_equal(!!strstr(page.data, PRESSURE_SERIES "\"exclusive\"}"),
				 rows[i].containers);
	}
	controller_free(controller);
	free_pods(pods, 1);
}

#define CPU_SERIES	 "pinfold_pod_cpu_seconds_total{"
#define WAIT_SERIES	 "pinfold_cpu_wait_seconds_total{"
#define THROTTLED_SERIES "pinfold_throttled_seconds_total{"
#define LATENCY_SERIES	 "pinfold_runqueue_latency_seconds_bucket{"

static void check_series(struct controller *controller, bool cpu, bool throttled)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_int_equal(!!strstr(page.data, CPU_SERIES), cpu);
	assert_int_equal(!!strstr(page.data, WAIT_SERIES), cpu);
	assert_int_equal(!!strstr(page.data, LATENCY_SERIES), cpu);
	assert_int_equal(!!strstr(page.data, THROTTLED_SERIES), throttled);
}

static void expect_throttled(struct controller *controller, const char *seconds,
			     unsigned int nr_files)
{
	char line[128];

	nr_files_read = 0;
	snprintf(line, sizeof(line),
		 THROTTLED_SERIES "namespace=\"default\",pod=\"a\",container=\"exclusive\"} %s\n",
		 seconds);
	expect_metric(controller, line);
	assert_int_equal(nr_files_read, nr_files);
}

/* Reading files of hundreds of containers would take longer than the whole page. */
static void the_throttled_time_is_that_of_the_last_pass(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);

	scan(controller, pods, 1);
	expect_throttled(controller, "1.250000000", 1);
	controller_tick(controller);
	expect_throttled(controller, "2.500000000", 0);
	/* Too old, then of a kernel that does not tell. */
	fake_pressure.error = -EBUSY;
	fake->now_ns += 60000 * MS;
	controller_tick(controller);
	expect_throttled(controller, "1.250000000", 1);
	fake_pressure.error = 0;
	fake_pressure.all.throttled_ns = PRESSURE_THROTTLED_UNKNOWN;
	fake->now_ns += 5000 * MS;
	controller_tick(controller);
	expect_throttled(controller, "1.250000000", 1);
	controller_free(controller);
	free_pods(pods, 1);
}

static void expect_preemptions(struct controller *controller, unsigned int nr)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "pinfold_pod_preemptions_total{namespace=\"default\",pod=\"a\"} %u\n", nr);
	expect_metric(controller, line);
}

/* A sum that goes back looks as if all that is left had happened just now. */
static void what_a_container_counted_stays_with_its_pod(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "one", 1000, true),
				   fake_pod("b", "other", 1000, true)};
	struct container_spec *containers = calloc(2, sizeof(*containers));
	struct controller *controller = start(true);
	const unsigned int of_one = 24; /* tests/lib/fake_kernel.h */

	assert_non_null(containers);
	containers[0] = containers[1] = pods[0]->containers[0];
	strcpy(containers[1].name, "two");
	free(pods[0]->containers);
	pods[0]->containers = containers;
	pods[0]->nr_containers = 2;
	scan(controller, pods, 2);
	controller_tick(controller);
	expect_preemptions(controller, 2 * of_one);
	/* Before anybody has noticed, and afterwards. */
	fake_remove("pinfold.slice/poduid-a/one");
	expect_preemptions(controller, 2 * of_one);
	for (int i = 0; i < 3; i++) {
		fake->now_ns += 2000 * MS;
		ctl_publish(controller);
		expect_preemptions(controller, 2 * of_one);
	}
	assert_int_equal(controller->ended.nr, 1);
	/* A pod that was released leaves nothing behind. */
	scan(controller, &pods[1], 1);
	ctl_publish(controller);
	assert_int_equal(controller->ended.nr, 0);
	controller_free(controller);
	free_pods(pods, 2);
}

/* 0 would look like a container that began again. */
static void unreadable_values_are_left_out(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);

	scan(controller, pods, 1);
	check_series(controller, true, true);
	fake_side.usage_error = -ENOENT;
	check_series(controller, false, true);
	fake_side.usage_error = 0;
	/* A pod has all of its series or none; its containers have what is known. */
	fake_side.latency_error = -ENOENT;
	assert_int_equal(nr_series(controller, CPU_SERIES), 0);
	assert_int_equal(nr_series(controller, LATENCY_SERIES), 0);
	assert_true(nr_series(controller, WAIT_SERIES) > 0);
	fake_side.latency_error = 0;
	/* What it counted belongs to its pod. */
	fake_remove("pinfold.slice/poduid-a/exclusive");
	assert_int_equal(nr_series(controller, WAIT_SERIES), 0);
	assert_int_equal(nr_series(controller, THROTTLED_SERIES), 0);
	assert_true(nr_series(controller, CPU_SERIES) > 0);
	fake_side.usage_error = -ENOENT;
	check_series(controller, false, false);
	controller_free(controller);
	free_pods(pods, 1);
}

#define MISSING "pinfold_numa_hugepages_missing_bytes{numa_node=\"0\",type=\"hugepages-2Mi\"}"

/* Up to all of them. */
static void huge_pages_that_others_took_are_counted(void **state)
{
	static const struct {
		uint64_t nr_free;
		const char *line;
	} rows[] = {{64, MISSING " 0\n"}, {63, MISSING " 2097152\n"}, {0, MISSING " 134217728\n"}};
	struct controller *controller = start(true);
	struct json_object *nodes;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		nr_free_pages = rows[i].nr_free;
		expect_metric(controller, rows[i].line);
	}
	nodes = query(controller, "numa");
	assert_non_null(strstr(json_object_to_json_string_ext(nodes, JSON_C_TO_STRING_PLAIN),
			       "\"type\":\"hugepages-2Mi\""));
	assert_non_null(strstr(json_object_to_json_string_ext(nodes, JSON_C_TO_STRING_PLAIN),
			       "\"kernel_free_bytes\":0"));
	json_object_put(nodes);
	controller_free(controller);
	/* Without the machine's port nobody knows. */
	controller = start_controller();
	assert_true(nr_series(controller, "pinfold_numa_memory_bytes{") > 0);
	assert_int_equal(nr_series(controller, "pinfold_numa_hugepages_missing_bytes"), 0);
	nodes = query(controller, "numa");
	assert_null(strstr(json_object_to_json_string_ext(nodes, JSON_C_TO_STRING_PLAIN),
			   "\"kernel_free_bytes\":0"));
	json_object_put(nodes);
	controller_free(controller);
}

static void without_huge_pages_none_can_be_missing(void **state)
{
	static const struct topology_node plain[] = {{.id = 0, .memory_bytes = 4096 * MIB},
						     {.id = 1, .memory_bytes = 2048 * MIB}};
	struct controller *controller;

	topology_free(topology);
	topology = fake_machine_with(2, 4, 2, plain);
	controller = start(true);
	assert_true(nr_series(controller, "pinfold_numa_memory_bytes{") > 0);
	assert_int_equal(nr_series(controller, "pinfold_numa_hugepages_missing_bytes"), 0);
	controller_free(controller);
}

static void what_is_not_known_of_the_agent_is_left_out(void **state)
{
	struct controller *controller = start(true);
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};

	process_error = -EMFILE;
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_null(strstr(page.data, "process_"));
	controller_free(controller);
}

/* `pinfold container show` of the only container */
static void check_container(struct controller *controller, bool has_time, bool has_files)
{
	const struct faces_port *faces = controller_faces(controller);
	struct json_object *rows = NULL, *row;

	assert_int_equal(faces->query(faces->self, "container", &rows), 0);
	row = json_object_array_get_idx(rows, 0);
	assert_int_equal(json_object_object_get(row, "run_seconds") != NULL, has_time);
	assert_int_equal(json_object_object_get(row, "wait_seconds") != NULL, has_time);
	assert_int_equal(json_object_object_get(row, "effective_cpus") != NULL, has_files);
	json_object_put(rows);
}

/* The observer counts on, whoever keeps us from the cgroup's files. */
static void a_blocked_cgroup_keeps_its_cpu_time(void **state)
{
	static const int errors[] = {-EINPROGRESS, -EIO};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);

	scan(controller, pods, 1);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		status_error = errors[i];
		check_series(controller, true, false);
		check_container(controller, true, false);
	}
	status_error = -ENOENT;
	check_container(controller, false, false);
	status_error = 0;
	check_series(controller, true, true);
	check_container(controller, true, true);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The sum of its other containers would look like a counter that went back. */
static void a_pod_with_an_unknown_container_has_no_sum(void **state)
{
	struct pod_spec *pods[] = {bubble_pod(4000), fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	struct group_status two;

	scan(controller, pods, 2);
	assert_int_equal(fake_status(NULL, "pinfold.slice/poduid-bubble/two", &two), 0);
	fake_side.uncounted = two.cgroup_id;
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	assert_null(strstr(page.data, CPU_SERIES "namespace=\"default\",pod=\"bubble\""));
	assert_non_null(strstr(page.data, CPU_SERIES "namespace=\"default\",pod=\"a\""));
	assert_non_null(strstr(page.data, WAIT_SERIES "namespace=\"default\",pod=\"bubble\","
						      "container=\"one\""));
	assert_null(strstr(page.data, WAIT_SERIES "namespace=\"default\",pod=\"bubble\","
						  "container=\"two\""));
	controller_free(controller);
	free_pods(pods, 2);
}

/* Under no id, and not under that of another cgroup. */
static void a_cgroup_that_was_never_read_is_not_counted(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);

	/* This kernel side would count anything. */
	fake_side.uncounted = UINT64_MAX;
	status_error = -EIO;
	scan(controller, pods, 1);
	check_series(controller, false, false);
	check_container(controller, false, false);
	controller_free(controller);
	free_pods(pods, 1);
}

/* Its cgroups are removed by the next look; until then nobody knows whose they are. */
static void a_pod_that_was_released_is_left_out(void **state)
{
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);
	const struct source_sink *sink = &controller_sinks(controller)->source;

	scan(controller, pods, 1);
	sink->scanned(sink->self, NULL, 0, true);
	assert_int_equal(nr_rows(controller, "pod"), 0);
	check_series(controller, false, false);
	controller_free(controller);
	free_pods(pods, 1);
}

/* The pod that ends keeps its CPUs while its processes run. Each name has one set of series. */
static void of_pods_with_one_name_the_newer_is_shown(void **state)
{
	static const char *const series[] = {
		CPU_SERIES "namespace=\"default\",pod=\"a\",placement=\"local_numa\"}",
		PRESSURE_SERIES "\"exclusive\"}",
		"pinfold_pod_memory_bytes{namespace=\"default\",pod=\"a\",placement=\"local_numa\"}",
		"pinfold_noise_seconds_total{namespace=\"default\",pod=\"a\",source=\"hardirq\"}",
	};
	struct pod_spec *pods[] = {fake_pod("a", "exclusive", 2000, true),
				   fake_pod("a", "exclusive", 2000, true)};
	struct controller *controller = start(true);

	snprintf(pods[1]->uid, sizeof(pods[1]->uid), "uid-newer");
	scan(controller, pods, 1);
	populate(true);
	scan(controller, &pods[1], 1);
	assert_int_equal(nr_rows(controller, "pod"), 2);
	fake->now_ns += 20 * 1000 * MS;
	controller_tick(controller);
	for (size_t i = 0; i < ARRAY_SIZE(series); i++)
		assert_int_equal(nr_series(controller, series[i]), 1);
	controller_free(controller);
	free_pods(pods, 2);
}

/* Nothing is wanted before the first look; and 16 cgroups fill what the tree has room for. */
static void any_number_of_cgroups_is_measured(void **state)
{
	struct pod_spec *pods[] = {bubble_pod(4000), bubble_pod(4000), bubble_pod(4000)};
	struct controller *controller;

	controller = make(true);
	check_series(controller, false, false);
	assert_int_equal(nr_rows(controller, "container"), 0);
	assert_int_equal(controller_start(controller), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		snprintf(pods[i]->uid, sizeof(pods[i]->uid), "uid-%zu", i);
	for (uint32_t i = 0; i < ARRAY_SIZE(pods); i++)
		snprintf(pods[i]->name, sizeof(pods[i]->name), "bubble-%u", i);
	scan(controller, pods, ARRAY_SIZE(pods));
	assert_int_equal(fake->nr_groups, 16);
	assert_int_equal(nr_rows(controller, "container"), 9);
	check_series(controller, true, true);
	controller_free(controller);
	free_pods(pods, ARRAY_SIZE(pods));
}

/* Two series with the same labels would make the whole page invalid. */
static void findings_of_one_name_have_one_series(void **state)
{
	static const char line[] = "\npinfold_finding_info{name=\"grant_lost\"} 1\n";
	struct controller *controller = start(true);
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0};
	const char *first;

	findings_add(&controller->findings, FINDING_GRANT_LOST, "one", "do this");
	findings_add(&controller->findings, FINDING_GRANT_LOST, "another", "do this");
	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	first = strstr(page.data, line);
	assert_non_null(first);
	assert_null(strstr(first + 1, line));
	controller_free(controller);
}

/* They are not the kernel side's, and noise's are loaded only while a CPU is exclusive. */
static void programs_of_pressure_and_noise_are_counted(void **state)
{
	struct controller *controller = start(true);

	expect_metric(controller, "pinfold_bpf_program_runs_total{program=\"read_pressure\"} 0\n");
	fake_noise.state = NOISE_OFF;
	assert_int_equal(nr_series(controller,
				   "pinfold_bpf_program_runs_total{program=\"noise_switch\"}"),
			 0);
	assert_int_equal(nr_series(controller, "program=\"\""), 0);
	fake_noise.state = NOISE_COUNTING;
	expect_metric(controller, "pinfold_bpf_program_runs_total{program=\"noise_switch\"} 0\n");
	expect_metric(controller,
		      "pinfold_bpf_program_run_seconds_total{program=\"noise_switch\"} 0.0");
	controller_free(controller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_page_is_as_recorded, set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(without_bpf_its_families_are_absent, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(levels_bound_the_series, set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(huge_pages_that_others_took_are_counted,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(without_huge_pages_none_can_be_missing, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_known_of_the_agent_is_left_out,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(the_throttled_time_is_that_of_the_last_pass,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(what_a_container_counted_stays_with_its_pod,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(unreadable_values_are_left_out, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(a_blocked_cgroup_keeps_its_cpu_time, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(a_pod_with_an_unknown_container_has_no_sum,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(a_cgroup_that_was_never_read_is_not_counted,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(a_pod_that_was_released_is_left_out, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(of_pods_with_one_name_the_newer_is_shown,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(any_number_of_cgroups_is_measured, set_up_page,
						tear_down),
		cmocka_unit_test_setup_teardown(programs_of_pressure_and_noise_are_counted,
						set_up_page, tear_down),
		cmocka_unit_test_setup_teardown(findings_of_one_name_have_one_series, set_up_page,
						tear_down),
	};

	/* What goes wrong here does so on purpose. */
	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
