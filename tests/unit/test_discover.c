// SPDX-License-Identifier: Apache-2.0
// LIBS: discover kubelet format core lib
/*
 * A scan of trees made of plain directories and files: what is found, what is read of it, what
 * is not entered, and which change makes another scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "discover/discover.h"
#include "discover/scan.h"
#include "lib/file.h"
#include "lib/worker.h"

#define UID	"0e8c1f5e-6f61-4c77-a0d2-1f5f3a6d9b42"
#define UID_	"0e8c1f5e_6f61_4c77_a0d2_1f5f3a6d9b42"
#define ID	"3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define ID_TAIL "4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define POD	"kubepods/burstable/pod" UID
#define KUBELET "/var/lib/kubelet"
#define TASKS	"/run/containerd/io.containerd.runtime.v2.task/k8s.io"
#define STORAGE "/run/containers/storage/overlay-containers"

struct scene {
	char root[64];
	struct discovery_sink sink;
	struct discovery found; /* the last report */
	unsigned int nr_reports;
	struct discover *discover;
	sd_event *event;
	bool watches_cpusets;
};

static void keep_report(void *self, struct discovery *found)
{
	struct scene *scene = self;

	discovery_fini(&scene->found);
	scene->found = *found;
	*found = (struct discovery){0};
	scene->nr_reports++;
}

/* Make a path below the root with all its parents. */
static void make(struct scene *scene, const char *path)
{
	char name[512];

	snprintf(name, sizeof(name), "%s%s", scene->root, path);
	for (char *at = name + strlen(scene->root) + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(name, 0755);
		*at = '/';
	}
	mkdir(name, 0755);
}

static void put(struct scene *scene, const char *path, const char *text)
{
	char name[512];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", scene->root, path);
	file = fopen(name, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void cgroup(struct scene *scene, const char *path)
{
	char name[512];

	snprintf(name, sizeof(name), PINFOLD_CGROUP_MOUNT "/%s", path);
	make(scene, name);
}

static void attribute(struct scene *scene, const char *path, const char *file, const char *text)
{
	char name[512];

	snprintf(name, sizeof(name), PINFOLD_CGROUP_MOUNT "/%s/%s", path, file);
	put(scene, name, text);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (!scene)
		return -1;
	strcpy(scene->root, "/tmp/pinfold-discover-XXXXXX");
	if (!mkdtemp(scene->root))
		return -1;
	scene->sink = (struct discovery_sink){scene, keep_report};
	make(scene, PINFOLD_CGROUP_MOUNT);
	make(scene, KUBELET);
	*state = scene;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	discover_close(scene->discover);
	sd_event_unref(scene->event);
	discovery_fini(&scene->found);
	nftw(scene->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(scene);
	return 0;
}

static void open_room(struct scene *scene, sd_event *event)
{
	char kubelet_dir[128], runtime_dir[128];
	struct discover_options options = {
		.event = event,
		.root = scene->root,
		.kubelet_dir = kubelet_dir,
		.runtime_dir = runtime_dir,
		.watches_cpusets = scene->watches_cpusets,
		.sink = &scene->sink,
	};

	snprintf(kubelet_dir, sizeof(kubelet_dir), "%s" KUBELET, scene->root);
	snprintf(runtime_dir, sizeof(runtime_dir), "%s/run", scene->root);
	assert_int_equal(discover_open(&options, &scene->discover), 0);
}

static void scan(struct scene *scene)
{
	if (!scene->discover)
		open_room(scene, NULL);
	assert_int_equal(discover_scan(scene->discover), 0);
}

static const struct discovered_cgroup *find(struct scene *scene, const char *path)
{
	for (uint32_t i = 0; i < scene->found.nr; i++)
		if (!strcmp(scene->found.rows[i].path, path))
			return &scene->found.rows[i];
	fail_msg("%s was not found", path);
	return NULL;
}

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

static void process(struct scene *scene, const char *pid, const char *comm)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s", pid);
	make(scene, path);
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	put(scene, path, comm);
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

/* --- the kubelet's file and the host's tasks -------------------------------------------------- */

#define STATE(cpus)                                                              \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"" UID \
	"\":{\"c\":\"" cpus "\"}},\"checksum\":0}"

static void the_kubelets_state_is_read(void **state)
{
	struct scene *scene = *state;

	put(scene, KUBELET "/cpu_manager_state", STATE("2-3"));
	scan(scene);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_READ);
	assert_int_equal(scene->found.state.containers.nr, 1);
	put(scene, KUBELET "/cpu_manager_state", "{");
	scan(scene);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_UNUSABLE);
	assert_string_not_equal(scene->found.cpu_file.problem, "");
}

/* What the kubelet decided stands, whatever somebody does to its file; only its absence is news. */
static void an_unusable_state_leaves_the_one_before(void **state)
{
	static const char *const damaged[] = {"", "{\"policyName\":\"static\",\"defa", STATE("2-")};
	struct scene *scene = *state;
	char path[256];

	snprintf(path, sizeof(path), "%s" KUBELET "/cpu_manager_state", scene->root);
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		put(scene, KUBELET "/cpu_manager_state", STATE("2-3"));
		scan(scene);
		assert_false(scene->found.cpu_file.is_kept);
		put(scene, KUBELET "/cpu_manager_state", damaged[i]);
		for (int again = 0; again < 2; again++) {
			scan(scene);
			assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_UNUSABLE);
			assert_true(scene->found.cpu_file.is_kept);
			assert_int_equal(scene->found.state.containers.nr, 1);
			assert_string_equal(scene->found.state.containers.entries[0].list, "2-3");
		}
	}
	assert_int_equal(unlink(path), 0);
	scan(scene);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_ABSENT);
	assert_false(discovery_has_state(&scene->found));
	put(scene, KUBELET "/cpu_manager_state", "{");
	scan(scene);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_UNUSABLE);
	assert_false(discovery_has_state(&scene->found));
}

#define MEMORY                                                                                   \
	"{\"policyName\":\"Static\",\"machineState\":{},\"entries\":{\"" UID "\":{\"postgres\":" \
	"[{\"numaAffinity\":[0],\"type\":\"memory\",\"size\":1}]}},\"checksum\":0}"

static void the_memory_managers_state_is_read(void **state)
{
	struct scene *scene = *state;

	put(scene, KUBELET "/memory_manager_state", MEMORY);
	scan(scene);
	assert_int_equal(scene->found.memory_file.presence, KUBELET_STATE_READ);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_ABSENT);
	assert_int_equal(scene->found.memory.containers.nr, 1);
	put(scene, KUBELET "/memory_manager_state", "{");
	put(scene, KUBELET "/cpu_manager_state", "{");
	scan(scene);
	assert_int_equal(scene->found.memory_file.presence, KUBELET_STATE_UNUSABLE);
	assert_true(scene->found.memory_file.is_kept);
	assert_int_equal(scene->found.memory.containers.nr, 1);
	/* What the one file said is nothing that the other one says. */
	assert_false(scene->found.cpu_file.is_kept);
}

static void a_state_that_is_no_file_is_unusable(void **state)
{
	struct scene *scene = *state;

	make(scene, KUBELET "/cpu_manager_state");
	scan(scene);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_UNUSABLE);
	assert_non_null(strstr(scene->found.cpu_file.problem, "Is a directory"));
}

/* This process stands for a service that may run on the first CPU it has. */
static void host_tasks_on_exclusive_cpus_are_counted(void **state)
{
	struct scene *scene = *state;
	char text[256], pid[32];
	cpu_set_t mask;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	while (!CPU_ISSET(cpu, &mask))
		cpu++;
	snprintf(text, sizeof(text), STATE("%d"), cpu);
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	put(scene, KUBELET "/cpu_manager_state", text);
	cgroup(scene, "system.slice/ssh.service");
	attribute(scene, "system.slice/ssh.service", "cgroup.threads", pid);
	/* a container's tasks, and those of other slices, are not the host's */
	cgroup(scene, "system.slice/docker-" ID ".scope");
	attribute(scene, "system.slice/docker-" ID ".scope", "cgroup.threads", pid);
	cgroup(scene, "system.slices");
	attribute(scene, "system.slices", "cgroup.threads", pid);
	scan(scene);
	assert_int_equal(scene->found.host_tasks.nr, 1);
	assert_int_equal(scene->found.host_tasks.pid, getpid());
	assert_string_equal(scene->found.host_tasks.cgroup, "system.slice/ssh.service");
	assert_true(cpuset_has(&scene->found.host_tasks.cpus, (unsigned int)cpu));
	/* A file that cannot be used does not make them anybody's. */
	put(scene, KUBELET "/cpu_manager_state", "{");
	scan(scene);
	assert_int_equal(scene->found.host_tasks.nr, 1);
	/* Without exclusive CPUs nobody is on them. */
	put(scene, KUBELET "/cpu_manager_state",
	    "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":0}");
	scan(scene);
	assert_int_equal(scene->found.host_tasks.nr, 0);
}

/* A second is 20 times as long as this scan, so the next one begins then. */
static void a_slow_scan_is_followed_by_a_pause(void **state)
{
	static const struct {
		uint64_t took_ms, passed_ms, wanted_ms;
	} cases[] = {
		{0, 0, 100},	   {1, 0, 100},	       {50, 0, 950},	    {50, 900, 100},
		{50, 5000, 100},   {1000, 0, 10000},   {1000, 9000, 1000},  {8000, 0, 10000},
		{60000, 0, 10000}, {60000, 9950, 100}, {60000, 10000, 100},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(discover_pause_usec(cases[i].took_ms * 1000,
						     cases[i].passed_ms * 1000),
				 cases[i].wanted_ms * 1000);
}

/* The pause after a scan and the settling time pass on the clock; only the order is tested. */
static void wait_for_report(struct scene *scene, unsigned int nr)
{
	for (int i = 0; i < 600 && scene->nr_reports < nr; i++)
		assert_true(sd_event_run(scene->event, 100000) >= 0);
	assert_true(scene->nr_reports >= nr);
}

static void changes_make_another_scan(void **state)
{
	struct scene *scene = *state;
	unsigned int nr;
	char path[256];

	assert_int_equal(sd_event_new(&scene->event), 0);
	open_room(scene, scene->event);
	assert_int_equal(discover_scan(scene->discover), 0);
	assert_int_equal(scene->found.nr, 0);
	/* Level by level: each level is watched as soon as it was seen. */
	cgroup(scene, "kubepods");
	wait_for_report(scene, 2);
	cgroup(scene, POD);
	while (!scene->found.nr)
		wait_for_report(scene, scene->nr_reports + 1);
	cgroup(scene, POD "/" ID);
	while (scene->found.nr < 2)
		wait_for_report(scene, scene->nr_reports + 1);
	snprintf(path, sizeof(path), "%s" PINFOLD_CGROUP_MOUNT "/" POD "/" ID, scene->root);
	assert_int_equal(rmdir(path), 0);
	while (scene->found.nr == 2)
		wait_for_report(scene, scene->nr_reports + 1);
	put(scene, KUBELET "/new", STATE("2-3"));
	nr = scene->nr_reports;
	snprintf(path, sizeof(path), "%s" KUBELET "/new", scene->root);
	{
		char to[256];

		snprintf(to, sizeof(to), "%s" KUBELET "/cpu_manager_state", scene->root);
		assert_int_equal(rename(path, to), 0);
	}
	wait_for_report(scene, nr + 1);
	assert_int_equal(scene->found.cpu_file.presence, KUBELET_STATE_READ);
}

/* A scan that was due would come after the settling time, much earlier than this. */
static void expect_no_report(struct scene *scene)
{
	const unsigned int nr = scene->nr_reports;

	for (int i = 0; i < 5; i++)
		assert_true(sd_event_run(scene->event, 100000) >= 0);
	assert_int_equal(scene->nr_reports, nr);
}

static void who_writes_a_cpuset_makes_another_scan(void **state)
{
	struct scene *scene = *state;
	const char *file = "cpuset.cpus";
	struct discovery_port port;

	cgroup(scene, "kubepods");
	cgroup(scene, POD);
	cgroup(scene, POD "/" ID);
	attribute(scene, POD "/" ID, file, "0-15\n");
	attribute(scene, POD "/" ID, "memory.events", "oom 0\n");
	assert_int_equal(sd_event_new(&scene->event), 0);
	scene->watches_cpusets = true;
	open_room(scene, scene->event);
	assert_int_equal(discover_scan(scene->discover), 0);
	assert_string_equal(find(scene, POD "/" ID)->cpus, "0-15");
	/* A container that is short of memory is no news. */
	attribute(scene, POD "/" ID, "memory.events", "oom 1\n");
	expect_no_report(scene);
	attribute(scene, POD "/" ID, file, "2-3\n");
	while (strcmp(find(scene, POD "/" ID)->cpus, "2-3"))
		wait_for_report(scene, scene->nr_reports + 1);
	while (sd_event_run(scene->event, 0) > 0)
		;
	port = discover_port(scene->discover);
	port.scan_soon(port.self);
	wait_for_report(scene, scene->nr_reports + 1);
}

static void cpusets_are_watched_only_if_asked_for(void **state)
{
	struct scene *scene = *state;

	cgroup(scene, "kubepods");
	cgroup(scene, POD);
	cgroup(scene, POD "/" ID);
	attribute(scene, POD "/" ID, "cpuset.cpus", "0-15\n");
	assert_int_equal(sd_event_new(&scene->event), 0);
	open_room(scene, scene->event);
	assert_int_equal(discover_scan(scene->discover), 0);
	attribute(scene, POD "/" ID, "cpuset.cpus", "2-3\n");
	expect_no_report(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
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
		TEST(the_kubelets_state_is_read),
		TEST(an_unusable_state_leaves_the_one_before),
		TEST(the_memory_managers_state_is_read),
		TEST(a_state_that_is_no_file_is_unusable),
		TEST(host_tasks_on_exclusive_cpus_are_counted),
		TEST(a_slow_scan_is_followed_by_a_pause),
		TEST(changes_make_another_scan),
		TEST(who_writes_a_cpuset_makes_another_scan),
		TEST(cpusets_are_watched_only_if_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
