// SPDX-License-Identifier: Apache-2.0
// LIBS: ctl kubelet format core lib
/*
 * Where the memory of containers is, as the agent reports it: when it is read, which nodes are
 * local, and that what nobody knows is not 0.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/fake_resident.h"
#include "lib/text.h"
#include "mixed_pod.h"
#include "started_pods_scene.h"

static int set_up_pods(void **state)
{
	if (set_up_node(state))
		return -1;
	memset(&fake_resident, 0, sizeof(fake_resident));
	fake_resident.topology = topology;
	pods[0] = fake_pod("a", "exclusive", 2000, true);
	pods[1] = fake_pod("b", "web", 500, false);
	controller = make_node_with((struct controller_ports){.resident = &fake_resident_port});
	fake_resident.sink = &controller_sinks(controller)->resident;
	assert_int_equal(controller_start(controller), 0);
	scan(controller, pods, 2);
	return 0;
}

static void tick_after(uint64_t ns)
{
	fake->now_ns += ns;
	controller_tick(controller);
}

/* "pod/container numa local anon file kernel state", a line each. */
static void expect_rows(const char *wanted)
{
	static const char *const keys[] = {"numa",	 "local",	 "anon_bytes",
					   "file_bytes", "kernel_bytes", "state"};
	struct json_object *rows = query(controller, "memory");
	struct text text cleanup_text = {0};

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		text_append(&text, member(row, "pod"));
		text_append(&text, "/");
		text_append(&text, member(row, "container"));
		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			text_append(&text, " ");
			text_append(&text, member(row, keys[j]));
		}
		text_append(&text, "\n");
	}
	json_object_put(rows);
	assert_string_equal(text.data, wanted);
}

static void expect_metrics(const char *wanted)
{
	const struct faces_port *faces = controller_faces(controller);
	struct text page cleanup_text = {0}, found cleanup_text = {0};

	assert_int_equal(faces->metrics(faces->self, false, &page), 0);
	for (const char *line = page.data; *line;) {
		const char *end = strchrnul(line, '\n');

		if (!strncmp(line, "pinfold_pod_memory_bytes{", 25))
			text_printf(&found, "%.*s\n", (int)(end - line), line);
		line = *end ? end + 1 : end;
	}
	assert_string_equal(found.data ? found.data : "", wanted);
}

#define SERIES(pod, placement)                                                                  \
	"pinfold_pod_memory_bytes{namespace=\"default\",pod=\"" pod "\",placement=\"" placement \
	"\"} "

static void memory_is_local_where_it_was_granted_or_where_the_cpus_are(void **state)
{
	(void)state;
	tick_after(S);
	/* One has CPUs of the first node, the other one of both. */
	expect_rows("a/exclusive 0 true 4096 4096 4096 read\n"
		    "a/exclusive 1 false 8192 8192 8192 read\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
	expect_metrics(
		SERIES("a", "local_numa") "12288\n" SERIES("a", "remote_numa") "24576\n" SERIES(
			"b", "local_numa") "73728\n" SERIES("b", "remote_numa") "0\n");
}

static void expect_hugetlb(size_t i, const char *numa, const char *bytes)
{
	struct json_object *rows = query(controller, "memory");
	struct json_object *row = json_object_array_get_idx(rows, i);

	assert_non_null(row);
	assert_string_equal(member(row, "numa"), numa);
	assert_string_equal(member(row, "hugetlb_bytes"), bytes);
	json_object_put(rows);
}

/* They have a row where there is nothing else, and are not in the sums of the pods. */
static void huge_pages_are_apart(void **state)
{
	(void)state;
	fake_resident.empty = "exclusive";
	fake_resident.hugetlb_bytes = 2 << 20;
	tick_after(S);
	/* Without the controller they are not known. */
	expect_hugetlb(0, "0", "null");
	expect_hugetlb(1, "0", "null");
	fake_resident.has_hugetlb = true;
	tick_after(10 * S);
	expect_hugetlb(0, "0", "0");
	expect_hugetlb(1, "1", "2097152");
	expect_hugetlb(3, "1", "2097152");
	expect_metrics(SERIES("a", "local_numa") "0\n" SERIES("a", "remote_numa") "0\n" SERIES(
		"b", "local_numa") "73728\n" SERIES("b", "remote_numa") "0\n");
}

static void expect_unknown(void)
{
	expect_rows("a/exclusive null null null null null unknown\n"
		    "b/web null null null null null unknown\n");
	expect_metrics("");
}

static void it_is_read_every_ten_seconds(void **state)
{
	(void)state;
	expect_unknown();
	for (int i = 0; i < 30; i++)
		tick_after(S);
	assert_int_equal(fake_resident.nr_passes, 3);
	/* A tick may come half a second early. */
	tick_after(S / 2 - 1);
	assert_int_equal(fake_resident.nr_passes, 3);
	tick_after(1);
	assert_int_equal(fake_resident.nr_passes, 4);
}

static void one_pass_at_a_time(void **state)
{
	struct json_object *node;

	(void)state;
	fake_resident.is_slow = true;
	for (int i = 0; i < 12; i++)
		tick_after(S);
	assert_int_equal(fake_resident.nr_passes, 1);
	expect_unknown();
	node = query(controller, "node");
	assert_non_null(strstr(json_object_to_json_string(node),
			       "the read of the containers' memory has waited 11 s for "
			       "their memory.numa_stat (in mem_cgroup_flush_stats)"));
	json_object_put(node);
	assert_true(node_has(controller, "on which NUMA nodes their memory is stays unknown"));
	fake_resident_end();
	fake_resident.is_slow = false;
	tick_after(S);
	assert_int_equal(fake_resident.nr_passes, 2);
	node = query(controller, "node");
	assert_null(strstr(json_object_to_json_string(node), "mem_cgroup_flush_stats"));
	json_object_put(node);
}

static void old_figures_are_not_shown(void **state)
{
	(void)state;
	tick_after(S);
	fake_resident.error = -ENOMEM;
	tick_after(29 * S);
	expect_metrics(
		SERIES("a", "local_numa") "12288\n" SERIES("a", "remote_numa") "24576\n" SERIES(
			"b", "local_numa") "73728\n" SERIES("b", "remote_numa") "0\n");
	tick_after(S);
	expect_rows("a/exclusive 0 true 4096 4096 4096 read\n"
		    "a/exclusive 1 false 8192 8192 8192 read\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
	tick_after(1);
	expect_unknown();
	fake_resident.error = 0;
	tick_after(10 * S);
	assert_int_equal(fake_resident.nr_passes, 3);
	expect_metrics(
		SERIES("a", "local_numa") "12288\n" SERIES("a", "remote_numa") "24576\n" SERIES(
			"b", "local_numa") "73728\n" SERIES("b", "remote_numa") "0\n");
}

static void a_failed_pass_keeps_the_figures(void **state)
{
	(void)state;
	tick_after(S);
	fake_resident.result = -EIO;
	tick_after(10 * S);
	assert_int_equal(fake_resident.nr_passes, 2);
	expect_rows("a/exclusive 0 true 4096 4096 4096 read\n"
		    "a/exclusive 1 false 8192 8192 8192 read\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
}

/* The pass before has figures of three pods, of which any one may have left. */
static void figures_are_found_again_when_a_pod_has_left(void **state)
{
	static const char *const figures[] = {
		"a/exclusive 0 true 4096 4096 4096 read\n"
		"a/exclusive 1 false 8192 8192 8192 read\n",
		"b/web 0 true 8192 8192 8192 read\n"
		"b/web 1 true 16384 16384 16384 read\n",
		"c/web 0 true 12288 12288 12288 read\n"
		"c/web 1 true 24576 24576 24576 read\n",
	};
	struct pod_spec *all[] = {pods[0], pods[1], fake_pod("c", "web", 500, false)};

	(void)state;
	for (uint32_t gone = 0; gone < ARRAY_SIZE(all); gone++) {
		struct pod_spec *others[] = {all[!gone], all[gone < 2 ? 2 : 1]};
		char wanted[512];

		scan(controller, all, 3);
		tick_after(10 * S);
		scan(controller, others, 2);
		snprintf(wanted, sizeof(wanted), "%s%s", figures[!gone], figures[gone < 2 ? 2 : 1]);
		expect_rows(wanted);
	}
	free_pods(&all[2], 1);
}

/* A node that should have its memory is shown, another one only if it has some. */
static void a_container_without_memory_has_its_local_nodes(void **state)
{
	(void)state;
	fake_resident.empty = "exclusive";
	tick_after(S);
	expect_rows("a/exclusive 0 true 0 0 0 read\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
}

static void a_container_that_cannot_be_read_leaves_its_pod_unknown(void **state)
{
	(void)state;
	fake_resident.unread = "exclusive";
	fake_resident.unread_error = -EOPNOTSUPP;
	tick_after(S);
	expect_rows("a/exclusive null null null null null unsupported\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
	expect_metrics(SERIES("b", "local_numa") "73728\n" SERIES("b", "remote_numa") "0\n");
	fake_resident.unread_error = -ENOENT;
	tick_after(10 * S);
	expect_rows("a/exclusive null null null null null unknown\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
}

/* The cgroups of a pod are there until the next reconcile. */
static void a_released_pod_has_no_figures(void **state)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod left = {.spec = pods[1], .file = "pods.yaml", .name = ""};

	(void)state;
	tick_after(S);
	sink->scanned(sink->self, &left, 1, true);
	assert_non_null(group_of(GROUP_CONTAINER, "exclusive"));
	expect_rows("b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
}

/* And so is the container that a changed pod had before. */
static void a_container_without_a_grant_is_local_where_it_runs(void **state)
{
	const struct source_sink *sink = &controller_sinks(controller)->source;
	const struct source_pod changed[] = {
		{.spec = pods[0], .file = "pods.yaml", .line = 1, .name = ""},
		{.spec = pods[1], .file = "pods.yaml", .line = 2, .name = ""},
	};

	(void)state;
	tick_after(S);
	snprintf(pods[1]->containers->name, sizeof(pods[1]->containers->name), "next");
	sink->scanned(sink->self, changed, ARRAY_SIZE(changed), true);
	expect_rows("a/exclusive 0 true 4096 4096 4096 read\n"
		    "a/exclusive 1 false 8192 8192 8192 read\n"
		    "b/web 0 true 8192 8192 8192 read\n"
		    "b/web 1 true 16384 16384 16384 read\n");
}

/* The memory behind a full list of cgroups is not of the list. */
static void every_container_of_a_full_tree_is_read(void **state)
{
	struct pod_spec *full[NR_FULL_TREE_PODS];

	(void)state;
	make_full_tree(full);
	scan(controller, full, NR_FULL_TREE_PODS);
	tick_after(10 * S);
	assert_int_equal(fake->nr_groups, 16);
	assert_int_equal(nr_rows(controller, "memory"), 2 * (NR_FULL_TREE_PODS + 2));
	free_pods(full, NR_FULL_TREE_PODS);
}

/* --- pods of others --------------------------------------------------------------------------- */

static struct discovery found;

static struct discovered_cgroup *discover(const char *path, uint64_t id, const char *uid,
					  const char *pod, const char *container)
{
	struct discovered_cgroup *row;

	assert_int_equal(discovery_add(&found, path, &row), 0);
	row->name.kind = container ? KUBEPODS_CONTAINER : KUBEPODS_POD;
	row->cgroup_id = id;
	text_copy(row->name.uid, sizeof(row->name.uid), uid);
	if (!pod)
		return row;
	row->names = DISCOVERED_NAMES_READ;
	row->namespace = strdup("default");
	row->pod = strdup(pod);
	row->container = container ? strdup(container) : NULL;
	return row;
}

static void deliver(void)
{
	const struct discovery_sink *sink = &controller_sinks(controller)->discovery;

	sink->discovered(sink->self, &found);
}

#define OWN_ROWS                                    \
	"a/exclusive 0 true 4096 4096 4096 read\n"  \
	"a/exclusive 1 false 8192 8192 8192 read\n" \
	"b/web 0 true 8192 8192 8192 read\n"        \
	"b/web 1 true 16384 16384 16384 read\n"
#define OWN_SERIES                                                                                 \
	SERIES("a", "local_numa")                                                                  \
	"12288\n" SERIES("a", "remote_numa") "24576\n" SERIES("b", "local_numa") "73728\n" SERIES( \
		"b", "remote_numa") "0\n"

/* Local are the nodes of cpuset.mems, or without it those of its CPUs, or without these all. */
static void a_discovered_containers_memory_is_shown(void **state)
{
	struct discovered_cgroup *row;

	(void)state;
	discover("kubepods/podx", 1, "x", "x", NULL);
	row = discover("kubepods/podx/1", 2, "x", "x", "bound");
	row->effective_cpus = strdup("0-7");
	row->mems = strdup("1");
	row = discover("kubepods/podx/2", 3, "x", "x", "pinned");
	row->effective_cpus = strdup("0");
	row->mems = strdup("");
	discover("kubepods/podx/3", 4, "x", "x", "free");
	row = discover("kubepods/pody/1", 5, "y", "y", "first");
	row->effective_cpus = strdup("8");
	row->mems = strdup("0");
	deliver();
	tick_after(S);
	expect_rows(OWN_ROWS "x/bound 0 false 12288 12288 12288 read\n"
			     "x/bound 1 true 24576 24576 24576 read\n"
			     "x/pinned 0 true 16384 16384 16384 read\n"
			     "x/pinned 1 false 32768 32768 32768 read\n"
			     "x/free 0 true 20480 20480 20480 read\n"
			     "x/free 1 true 40960 40960 40960 read\n"
			     "y/first 0 true 24576 24576 24576 read\n"
			     "y/first 1 false 49152 49152 49152 read\n");
	/* 3 uses each: 6, 4 and 15 pages are local, 3 and 8 are not; of the other pod 6 and 12. */
	expect_metrics(
		OWN_SERIES
			SERIES("x", "local_numa") "307200\n" SERIES("x", "remote_numa") "135168\n" SERIES(
				"y", "local_numa") "73728\n" SERIES("y", "remote_numa") "147456\n");
	deliver();
	expect_rows(OWN_ROWS);
	expect_metrics(OWN_SERIES);
}

/* A series without names would be one for all of them. */
static void a_container_without_names_is_left_out(void **state)
{
	(void)state;
	discover("docker/1", 1, "", NULL, "unnamed");
	discover("kubepods/podx/1", 2, "x", NULL, "unnamed")->names = DISCOVERED_NAMES_UNKNOWN;
	discover("kubepods/pody/1", 3, "y", "y", "named");
	/* Gone before its number was read. */
	discover("kubepods/podz/1", 0, "z", "z", "gone");
	deliver();
	tick_after(S);
	/* The fourth that is read: nobody could be told of the memory of docker/1. */
	expect_rows(OWN_ROWS "y/named 0 true 16384 16384 16384 read\n"
			     "y/named 1 true 32768 32768 32768 read\n");
	expect_metrics(
		OWN_SERIES SERIES("y", "local_numa") "147456\n" SERIES("y", "remote_numa") "0\n");
}

/* The sum of the others would be too small. */
static void a_pod_with_a_container_without_names_has_no_series(void **state)
{
	(void)state;
	discover("kubepods/podx/1", 2, "x", "x", "named");
	discover("kubepods/podx/2", 3, "x", NULL, "unnamed")->names = DISCOVERED_NAMES_UNKNOWN;
	discover("kubepods/pody/1", 4, "y", "y", "named");
	deliver();
	tick_after(S);
	expect_metrics(
		OWN_SERIES SERIES("y", "local_numa") "184320\n" SERIES("y", "remote_numa") "0\n");
}

/* Two series with the same labels would make the whole page invalid. */
static void of_pods_with_one_name_the_newest_has_the_series(void **state)
{
	(void)state;
	discover("kubepods/podx/1", 9, "x", "same", "new");
	discover("kubepods/pody/1", 5, "y", "same", "old");
	discover("kubepods/podz/1", 20, "z", "a", "of_ours");
	deliver();
	tick_after(S);
	/* 9 pages on node 0 and 18 on node 1 */
	expect_metrics(OWN_SERIES SERIES("same", "local_numa") "110592\n" SERIES(
		"same", "remote_numa") "0\n");
}

#define SERIES_IN(namespace, pod, placement)                              \
	"pinfold_pod_memory_bytes{namespace=\"" namespace "\",pod=\"" pod \
							  "\",placement=\"" placement "\"} "

/* Whatever the order in which they are found. */
static void pods_are_listed_by_their_names(void **state)
{
	static const struct {
		const char *path, *uid, *namespace, *pod;
		uint64_t id;
	} rows[] = {
		{"kubepods/p1/1", "1", "web", "b", 5},	 {"kubepods/p2/1", "2", "db", "b", 7},
		{"kubepods/p3/1", "3", "web", "z", 8},	 {"kubepods/p4/1", "4", "web", "b", 9},
		{"kubepods/p5/1", "5", "cache", "b", 6},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct discovered_cgroup *row =
			discover(rows[i].path, rows[i].id, rows[i].uid, rows[i].pod, "c");

		free(row->namespace);
		row->namespace = strdup(rows[i].namespace);
	}
	deliver();
	tick_after(S);
	/* Nine pages for the first that is read after the two of the agent, nine more for the next. */
	expect_metrics(OWN_SERIES SERIES_IN("cache", "b", "local_numa") "258048\n" SERIES_IN("cache", "b", "remote_numa") "0\n" SERIES_IN("db", "b", "local_numa") "147456\n" SERIES_IN(
		"db", "b",
		"remote_numa") "0\n" SERIES_IN("web", "b",
					       "local_numa") "221184\n" SERIES_IN("web", "b",
										  "remote_numa") "0\n" SERIES_IN("web",
														 "z",
														 "local_numa") "184320\n" SERIES_IN("web",
																		    "z",
																		    "remote_numa") "0\n");
}

static void discover_pods(unsigned int nr_containers, unsigned int each)
{
	for (unsigned int i = 0; i < nr_containers; i++) {
		char path[64], pod[16];

		snprintf(pod, sizeof(pod), "p%03u", i / each);
		snprintf(path, sizeof(path), "kubepods/%s/%u", pod, i % each);
		discover(path, i + 1, pod, pod, "c");
	}
}

/* Without a pod in the ledger, and without a whole pod below the limit. */
static void a_pod_beyond_the_limit_is_left_out(void **state)
{
	(void)state;
	scan(controller, NULL, 0);
	discover_pods(1025, 1025);
	deliver();
	tick_after(S);
	assert_int_equal(nr_rows(controller, "memory"), 0);
	expect_metrics("");
}

/* The sandbox of the last pod is not one more container. */
static void up_to_the_limit_all_are_shown(void **state)
{
	(void)state;
	discover_pods(1024, 2);
	discover("kubepods/p511/sandbox", 2000, "p511", "p511", NULL)->name.kind = KUBEPODS_SANDBOX;
	deliver();
	tick_after(S);
	/* on two nodes each */
	assert_int_equal(nr_rows(controller, "memory"), 2 * (2 + 1024));
}

/* --- pods of a runtime ------------------------------------------------------------------------- */

static void create_in(const char *uid, const char *name, const char *id, const char *cgroup)
{
	const struct runtime_sink *sink = &controller_sinks(controller)->runtime;
	struct pod_spec pod = {.namespace = "default",
			       .name = "r",
			       .is_of_runtime = true,
			       .stated_qos = QOS_BURSTABLE,
			       .request = RESOURCES_UNSET,
			       .limit = RESOURCES_UNSET,
			       .overhead = RESOURCES_UNSET};
	struct container_spec spec = {
		.kind = CONTAINER_APP, .request = RESOURCES_UNSET, .limit = RESOURCES_UNSET};
	const struct runtime_pod sandbox = {.id = "sandbox", .spec = &pod};
	const struct runtime_container container = {
		.id = id, .pod = &sandbox, .spec = &spec, .cpus = "", .cgroup = cgroup};

	text_copy(pod.uid, sizeof(pod.uid), uid);
	text_copy(spec.name, sizeof(spec.name), name);
	sink->created(sink->self, 1, &container);
}

static void create(const char *name, const char *id, const char *cgroup)
{
	create_in("r", name, id, cgroup);
}

/* They are read in the order of the pods: the agent's own first. */
static void a_runtimes_containers_memory_is_shown(void **state)
{
	(void)state;
	create("web", "1", "kubepods/podr/1");
	create("log", "2", "kubepods/podr/2");
	tick_after(S);
	expect_rows(OWN_ROWS "r/web 0 true 12288 12288 12288 read\n"
			     "r/web 1 true 24576 24576 24576 read\n"
			     "r/log 0 true 16384 16384 16384 read\n"
			     "r/log 1 true 32768 32768 32768 read\n");
	expect_metrics(
		OWN_SERIES SERIES("r", "local_numa") "258048\n" SERIES("r", "remote_numa") "0\n");
}

/* The pod at the limit would have a sum that is too small. Those of a runtime are not limited. */
static void beyond_the_limit_whole_pods_are_left_out(void **state)
{
	char id[16], cgroup[64];

	(void)state;
	discover_pods(1026, 3);
	deliver();
	for (int i = 0; i < 64; i++) {
		snprintf(id, sizeof(id), "%d", i);
		snprintf(cgroup, sizeof(cgroup), "kubepods/podr/%d", i);
		create("web", id, cgroup);
	}
	tick_after(S);
	/* on two nodes each */
	assert_int_equal(nr_rows(controller, "memory"), 2 * (2 + 64 + 1023));
}

/* The runtime keeps the container that was restarted until a kubelet removes it. */
static void a_container_that_has_ended_is_left_out(void **state)
{
	(void)state;
	create("web", "1", "kubepods/podr/ended");
	create("web", "2", "kubepods/podr/2");
	fake_resident.unread = "ended";
	fake_resident.unread_error = -ENOENT;
	tick_after(S);
	expect_rows(OWN_ROWS "r/web 0 true 16384 16384 16384 read\n"
			     "r/web 1 true 32768 32768 32768 read\n");
	expect_metrics(
		OWN_SERIES SERIES("r", "local_numa") "147456\n" SERIES("r", "remote_numa") "0\n");
	fake_resident.unread_error = -EIO;
	tick_after(10 * S);
	expect_metrics(OWN_SERIES);
}

/* The uid of a pod is in its manifest, where a runtime's pod may have it from. */
static void a_runtime_adds_nothing_to_a_pod_of_a_manifest(void **state)
{
	(void)state;
	create_in("uid-b", "web", "1", "kubepods/podr/1");
	tick_after(S);
	expect_rows(OWN_ROWS);
}

static void a_container_whose_cgroup_is_not_known_leaves_its_pod_unknown(void **state)
{
	(void)state;
	create("web", "1", "kubepods/podr/1");
	create("log", "2", NULL);
	tick_after(S);
	expect_rows(OWN_ROWS "r/web 0 true 12288 12288 12288 read\n"
			     "r/web 1 true 24576 24576 24576 read\n"
			     "r/log null null null null null unknown\n");
	expect_metrics(OWN_SERIES);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_pods, tear_down_pods)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_is_local_where_it_was_granted_or_where_the_cpus_are),
		TEST(huge_pages_are_apart),
		TEST(it_is_read_every_ten_seconds),
		TEST(one_pass_at_a_time),
		TEST(old_figures_are_not_shown),
		TEST(a_failed_pass_keeps_the_figures),
		TEST(figures_are_found_again_when_a_pod_has_left),
		TEST(a_container_without_memory_has_its_local_nodes),
		TEST(a_container_that_cannot_be_read_leaves_its_pod_unknown),
		TEST(a_released_pod_has_no_figures),
		TEST(a_container_without_a_grant_is_local_where_it_runs),
		TEST(every_container_of_a_full_tree_is_read),
		TEST(a_discovered_containers_memory_is_shown),
		TEST(a_container_without_names_is_left_out),
		TEST(a_pod_with_a_container_without_names_has_no_series),
		TEST(pods_are_listed_by_their_names),
		TEST(a_pod_beyond_the_limit_is_left_out),
		TEST(up_to_the_limit_all_are_shown),
		TEST(beyond_the_limit_whole_pods_are_left_out),
		TEST(a_runtimes_containers_memory_is_shown),
		TEST(a_container_that_has_ended_is_left_out),
		TEST(a_runtime_adds_nothing_to_a_pod_of_a_manifest),
		TEST(a_container_whose_cgroup_is_not_known_leaves_its_pod_unknown),
		TEST(of_pods_with_one_name_the_newest_has_the_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
