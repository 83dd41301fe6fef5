// SPDX-License-Identifier: Apache-2.0
// LIBS: discover kubelet format core lib
/*
 * A scan of the tree of cgroups: what is found, what is read of it, what is not entered, and what
 * it is called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "discover_scene.h"

static void a_containers_files_are_read(void **state)
{
	static const char path[] = POD "/" ID;
	struct scene *scene = *state;
	const struct discovered_cgroup *row;

	cgroup(scene, path);
	attribute(scene, path, "cpuset.cpus", "2-3\n");
	attribute(scene, path, "cpuset.cpus.effective", "2\n");
	attribute(scene, path, "cpuset.mems", "\n");
	attribute(scene, path, "cpuset.mems.effective", "0-1\n");
	attribute(scene, path, "cpu.weight", "79\n");
	attribute(scene, path, "cpu.max", "200000 100000\n");
	attribute(scene, path, "memory.max", "max\n");
	attribute(scene, path, "pids.current", "5\n");
	attribute(scene, path, "cpu.stat",
		  "usage_usec 1500\nuser_usec 1\nthrottled_usec 20\nnr_bursts 0\n");
	scan(scene);
	assert_int_equal(scene->found.nr, 2);
	assert_false(scene->found.is_incomplete);
	assert_string_equal(scene->found.problem, "");
	row = find(scene, path);
	assert_int_equal(row->name.kind, KUBEPODS_CONTAINER);
	assert_string_equal(row->name.uid, UID);
	assert_string_equal(row->cpus, "2-3");
	assert_string_equal(row->effective_cpus, "2");
	assert_string_equal(row->mems, "");
	assert_string_equal(row->effective_mems, "0-1");
	assert_int_equal(row->cpu_weight, 79);
	assert_string_equal(row->cpu_max, "200000 100000");
	assert_string_equal(row->memory_max, "max");
	assert_int_equal(row->tasks, 5);
	assert_int_equal(row->run_ns, 1500000);
	assert_int_equal(row->throttled_ns, 20000);
}

static void online_cpus_are_read(void **state)
{
	struct scene *scene = *state;
	char list[16];

	scan(scene);
	assert_true(cpuset_is_empty(&scene->found.online));
	make(scene, "/sys/devices/system/cpu");
	put(scene, "/sys/devices/system/cpu/online", "0-1,3\n");
	scan(scene);
	cpuset_format(&scene->found.online, list, sizeof(list));
	assert_string_equal(list, "0-1,3");
}

/* A controller that is not enabled has no files, which is no error. */
static void what_has_no_file_is_unknown(void **state)
{
	struct scene *scene = *state;
	const struct discovered_cgroup *row;

	cgroup(scene, POD);
	scan(scene);
	row = find(scene, POD);
	assert_int_equal(row->name.kind, KUBEPODS_POD);
	assert_null(row->cpus);
	assert_null(row->cpu_max);
	assert_int_equal(row->cpu_weight, -1);
	assert_int_equal(row->tasks, -1);
	assert_int_equal(row->run_ns, -1);
	assert_false(scene->found.is_incomplete);
	assert_string_equal(scene->found.problem, "");
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_ABSENT);
}

static void both_drivers_and_all_runtimes_are_walked(void **state)
{
	static const char *const paths[] = {
		"docker/" ID,
		"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_ ".slice",
		"kubepods.slice/kubepods-pod" UID_ ".slice",
		"kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
		POD,
		POD "/crio-" ID,
		"libpod_parent/" ID,
		"machine.slice/libpod-" ID ".scope",
		"system.slice/docker-" ID ".scope",
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		cgroup(scene, paths[i]);
	cgroup(scene, "system.slice/ssh.service");
	cgroup(scene, "kubepods/burstable/pod" UID "/crio-conmon-" ID);
	scan(scene);
	assert_int_equal(scene->found.nr, ARRAY_SIZE(paths));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_string_equal(scene->found.rows[i].path, paths[i]);
	assert_int_equal(scene->found.nr_unknown, 0);
}

/* A container may nest what looks like pods, and pinfold shows its own pods itself. */
static void containers_and_our_own_root_are_not_entered(void **state)
{
	struct scene *scene = *state;

	cgroup(scene, POD "/" ID "/kubepods/pod" UID "/" ID);
	cgroup(scene, "pinfold.slice/kubepods/pod" UID);
	scan(scene);
	assert_int_equal(scene->found.nr, 2);
}

static void unknown_names_are_counted(void **state)
{
	struct scene *scene = *state;

	cgroup(scene, "kubepods/burstable/nopod/" ID);
	cgroup(scene, POD "/short");
	scan(scene);
	assert_int_equal(scene->found.nr, 1);
	assert_int_equal(scene->found.nr_unknown, 2);
}

static void nesting_beyond_the_limit_is_told(void **state)
{
	struct scene *scene = *state;
	char path[SCAN_MAX_DEPTH * 2 + 16] = "a";

	for (int i = 0; i < SCAN_MAX_DEPTH + 2; i++)
		strcat(path, "/a");
	cgroup(scene, path);
	cgroup(scene, POD);
	scan(scene);
	assert_true(scene->found.is_incomplete);
	assert_non_null(strstr(scene->found.problem, "nested too deeply"));
	find(scene, POD);
}

static void a_missing_tree_is_told(void **state)
{
	struct scene *scene = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s" PINFOLD_CGROUP_MOUNT, scene->root);
	assert_int_equal(rmdir(path), 0);
	scan(scene);
	assert_int_equal(scene->nr_reports, 1);
	assert_true(scene->found.is_incomplete);
	assert_non_null(strstr(scene->found.problem, "cannot open"));
	assert_int_equal(scene->found.nr, 0);
}

/* One process named pause, perhaps in crun's child cgroup, and nothing beside it. */
static void the_pause_container_is_the_sandbox(void **state)
{
	static const struct {
		const char *own, *child;
		enum kubepods_kind kind;
	} cases[] = {
		{"77\n", NULL, KUBEPODS_SANDBOX},     {"", "77\n", KUBEPODS_SANDBOX},
		{"78\n", NULL, KUBEPODS_CONTAINER},   {"77\n78\n", NULL, KUBEPODS_CONTAINER},
		{"77\n", "78\n", KUBEPODS_CONTAINER}, {"", NULL, KUBEPODS_CONTAINER},
		{"79\n", NULL, KUBEPODS_CONTAINER},
	};
	static const char path[] = POD "/" ID;
	struct scene *scene = *state;

	process(scene, "77", "pause\n");
	process(scene, "78", "pauser\n");
	cgroup(scene, path);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		attribute(scene, path, "cgroup.procs", cases[i].own);
		cgroup(scene, POD "/" ID "/container");
		attribute(scene, path, "container/cgroup.procs",
			  cases[i].child ? cases[i].child : "");
		scan(scene);
		assert_int_equal(find(scene, path)->name.kind, cases[i].kind);
	}
}

/* --- names ------------------------------------------------------------------------------------ */

/* What containerd states of a container, without the rest of its bundle. */
static void write_bundle(struct scene *scene, const char *directory, const char *id,
			 const char *kind, const char *uid, const char *container)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), "%s/%s", directory, id);
	make(scene, path);
	strcat(path, "/config.json");
	snprintf(text, sizeof(text),
		 "{\"annotations\": {\"io.kubernetes.cri.container-type\": \"%s\","
		 "\"io.kubernetes.cri.container-name\": \"%s\","
		 "\"io.kubernetes.cri.sandbox-name\": \"web-0\","
		 "\"io.kubernetes.cri.sandbox-namespace\": \"shop\","
		 "\"io.kubernetes.cri.sandbox-uid\": \"%s\"},"
		 "\"linux\": {\"resources\": {\"cpu\": {\"shares\": 1536}}}}\n",
		 kind, container, uid);
	put(scene, path, text);
}

static void assert_named(struct scene *scene, const char *path, const char *container)
{
	const struct discovered_cgroup *row = find(scene, path);

	assert_int_equal(row->names, DISCOVERED_NAMES_READ);
	assert_string_equal(row->namespace, "shop");
	assert_string_equal(row->pod, "web-0");
	if (container)
		assert_string_equal(row->container, container);
	else
		assert_null(row->container);
}

static void assert_unnamed(struct scene *scene, const char *path, enum discovered_names names)
{
	const struct discovered_cgroup *row = find(scene, path);

	assert_int_equal(row->names, names);
	assert_null(row->namespace);
	assert_null(row->pod);
	assert_null(row->container);
}

/* A pod has no bundle; its containers name it. The sandbox is one by its bundle, without a process. */
static void containerd_names_pods_and_containers(void **state)
{
	static const char sandbox[] = "44" ID_TAIL;
	struct scene *scene = *state;

	cgroup(scene, POD "/" ID);
	cgroup(scene, POD "/44" ID_TAIL);
	write_bundle(scene, TASKS, ID, "container", UID, "nginx");
	write_bundle(scene, TASKS, sandbox, "sandbox", UID, "");
	scan(scene);
	assert_named(scene, POD "/" ID, "nginx");
	assert_named(scene, POD "/44" ID_TAIL, NULL);
	assert_int_equal(find(scene, POD "/44" ID_TAIL)->name.kind, KUBEPODS_SANDBOX);
	assert_named(scene, POD, NULL);
	/* The weight, to which several requests round, does not tell it. Only a container has one. */
	assert_int_equal(find(scene, POD "/" ID)->cpu_request_mcpu, 1500);
	assert_int_equal(find(scene, POD "/44" ID_TAIL)->cpu_request_mcpu, RESOURCE_UNSET);
	assert_int_equal(find(scene, POD)->cpu_request_mcpu, RESOURCE_UNSET);
}

/* Of containerd, of the containerd in k3s and rke2, and of CRI-O. */
static void each_layout_of_a_runtime_is_found(void **state)
{
	static const char *const directories[] = {
		TASKS,
		"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io",
		STORAGE,
	};
	struct scene *scene = *state;
	char path[256];

	cgroup(scene, POD "/" ID);
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", directories[i], ID);
		make(scene, path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		bool is_storage = !strcmp(directories[i], STORAGE);
		char directory[256], file[640];

		/* A new room, because one remembers what it has read. */
		discover_close(scene->discover);
		scene->discover = NULL;
		scan(scene);
		assert_unnamed(scene, POD "/" ID, DISCOVERED_NAMES_UNKNOWN);
		snprintf(directory, sizeof(directory), "%s/" ID "%s", directories[i],
			 is_storage ? "/userdata" : "");
		make(scene, directory);
		write_bundle(scene, directory, "", "container", UID, "nginx");
		scan(scene);
		assert_named(scene, POD "/" ID, "nginx");
		snprintf(file, sizeof(file), "%s%s/config.json", scene->root, directory);
		assert_int_equal(unlink(file), 0);
	}
}

/* Unknown is not none: a kubelet's container has names, and those of podman and docker do not. */
static void names_that_are_not_known_differ_from_none(void **state)
{
	static const char path[] = POD "/" ID;
	struct scene *scene = *state;

	cgroup(scene, path);
	cgroup(scene, "docker/" ID);
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
	assert_unnamed(scene, POD, DISCOVERED_NAMES_UNKNOWN);
	assert_unnamed(scene, "docker/" ID, DISCOVERED_NAMES_NONE);
	/* of another pod, and without a name */
	write_bundle(scene, TASKS, ID, "container", "another-pod", "nginx");
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
	put(scene, TASKS "/" ID "/config.json", "{");
	discover_close(scene->discover);
	scene->discover = NULL;
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
	/* What was damaged is read again. */
	write_bundle(scene, TASKS, ID, "container", UID, "nginx");
	scan(scene);
	assert_named(scene, path, "nginx");
}

/* The file of a container is never written again, so a running container keeps its name. */
static void a_bundle_is_read_once(void **state)
{
	static const char path[] = POD "/" ID;
	struct scene *scene = *state;
	char file[256];

	cgroup(scene, path);
	write_bundle(scene, TASKS, ID, "container", UID, "nginx");
	scan(scene);
	snprintf(file, sizeof(file), "%s" TASKS "/" ID "/config.json", scene->root);
	assert_int_equal(unlink(file), 0);
	scan(scene);
	assert_named(scene, path, "nginx");
	snprintf(file, sizeof(file), "%s" PINFOLD_CGROUP_MOUNT "/%s", scene->root, path);
	assert_int_equal(rmdir(file), 0);
	scan(scene);
	/* Forgotten with the container. */
	cgroup(scene, path);
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
}

/* One scan reads so many files, and the next one reads the others. */
static void a_scan_reads_a_limited_number_of_bundles(void **state)
{
	struct scene *scene = *state;
	uint32_t nr_named = 0;
	char id[KUBEPODS_ID_MAX], path[256];

	for (int i = 0; i <= BUNDLES_MAX_READS; i++) {
		snprintf(id, sizeof(id), "%064x", (unsigned int)i);
		snprintf(path, sizeof(path), POD "/%s", id);
		cgroup(scene, path);
		write_bundle(scene, TASKS, id, "container", UID, "nginx");
	}
	scan(scene);
	for (uint32_t i = 0; i < scene->found.nr; i++)
		nr_named += scene->found.rows[i].names == DISCOVERED_NAMES_READ;
	/* with the pod */
	assert_int_equal(nr_named, BUNDLES_MAX_READS + 1);
	scan(scene);
	for (uint32_t i = 0; i < scene->found.nr; i++)
		assert_int_equal(scene->found.rows[i].names, DISCOVERED_NAMES_READ);
}

/* What must not block or fill the memory: a FIFO, a link and a file that is too large. */
static void a_file_that_is_no_bundle_is_not_read(void **state)
{
	static const char path[] = POD "/" ID;
	struct scene *scene = *state;
	char file[256], other[256];

	cgroup(scene, path);
	write_bundle(scene, TASKS, ID, "container", UID, "nginx");
	snprintf(file, sizeof(file), "%s" TASKS "/" ID "/config.json", scene->root);
	snprintf(other, sizeof(other), "%s/other", scene->root);
	assert_int_equal(truncate(file, BUNDLE_MAX_BYTES + 1), 0);
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
	write_bundle(scene, TASKS, ID, "container", UID, "nginx");
	assert_int_equal(rename(file, other), 0);
	assert_int_equal(symlink(other, file), 0);
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	scan(scene);
	assert_unnamed(scene, path, DISCOVERED_NAMES_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_containers_files_are_read),
		TEST(online_cpus_are_read),
		TEST(what_has_no_file_is_unknown),
		TEST(both_drivers_and_all_runtimes_are_walked),
		TEST(containers_and_our_own_root_are_not_entered),
		TEST(unknown_names_are_counted),
		TEST(nesting_beyond_the_limit_is_told),
		TEST(a_missing_tree_is_told),
		TEST(the_pause_container_is_the_sandbox),
		TEST(containerd_names_pods_and_containers),
		TEST(each_layout_of_a_runtime_is_found),
		TEST(names_that_are_not_known_differ_from_none),
		TEST(a_bundle_is_read_once),
		TEST(a_scan_reads_a_limited_number_of_bundles),
		TEST(a_file_that_is_no_bundle_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
