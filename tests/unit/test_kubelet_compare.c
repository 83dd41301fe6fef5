// SPDX-License-Identifier: Apache-2.0
// LIBS: kubelet format core lib
/* A discovery against the kubelet's state file: which differences are found, and which are none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kubelet/compare.h"

#define DB	"11111111-2222-3333-4444-555555555555"
#define WEB	"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define ID(one) one "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

struct scene {
	struct discovery discovery;
	struct discovery_verdict verdict;
};

/* A kubelet's file as of version 2; a checksum of 0 is accepted. */
static void read_state(struct scene *scene, const char *policy, const char *cpus,
		       const char *entries)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"policyName\":\"%s\",\"defaultCpuSet\":\"%s\",\"entries\":{%s},\"checksum\":0}",
		 policy, cpus, entries);
	assert_int_equal(discovery_read_state(&scene->discovery, text, strlen(text)), 0);
	strcpy(scene->discovery.cpu_file.path, "/var/lib/kubelet/cpu_manager_state");
}

static struct discovered_cgroup *add(struct scene *scene, enum kubepods_kind kind, const char *uid,
				     const char *id, const char *effective)
{
	struct discovered_cgroup *row = NULL;
	char path[64];

	snprintf(path, sizeof(path), "kubepods/%u", scene->discovery.nr);
	assert_int_equal(discovery_add(&scene->discovery, path, &row), 0);
	row->name.kind = kind;
	row->name.has_qos = true;
	row->name.runtime = RUNTIME_CONTAINERD;
	strcpy(row->name.uid, uid);
	strcpy(row->name.id, id);
	row->effective_cpus = effective ? strdup(effective) : NULL;
	return row;
}

static void compare(struct scene *scene)
{
	assert_int_equal(discovery_compare(&scene->discovery, &scene->verdict), 0);
}

/* Exactly these findings, as a set of bits. */
static void assert_found(struct scene *scene, unsigned int wanted)
{
	compare(scene);
	for (enum discovery_finding i = 0; i < FOUND_NR; i++) {
		const struct finding_row *row = &scene->verdict.rows[i];

		if (scene->verdict.is_found[i] != (wanted >> i & 1))
			fail_msg("%s: '%s'", finding_name(row->kind), row->message);
		assert_int_equal(*row->message != '\0', scene->verdict.is_found[i]);
		assert_int_equal(*row->remedy != '\0', scene->verdict.is_found[i]);
	}
}

static void assert_says(struct scene *scene, enum discovery_finding finding, const char *text)
{
	if (!strstr(scene->verdict.rows[finding].message, text))
		fail_msg("'%s' is not in '%s'", text, scene->verdict.rows[finding].message);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct scene));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	discovery_fini(&scene->discovery);
	free(scene);
	return 0;
}

static void assert_says_not(struct scene *scene, enum discovery_finding finding, const char *text)
{
	if (strstr(scene->verdict.rows[finding].message, text))
		fail_msg("'%s' is in '%s'", text, scene->verdict.rows[finding].message);
}

#define DB_ENTRY "\"" DB "\":{\"postgres\":\"2-3\"}"

static void what_the_kubelet_decided_is_no_finding(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	add(scene, KUBEPODS_POD, DB, "", "0-7");
	add(scene, KUBEPODS_SANDBOX, DB, ID("1"), "0-7");
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), "2-3");
	/* a container of the same pod without exclusive CPUs */
	add(scene, KUBEPODS_CONTAINER, DB, ID("3"), "0-1,4-7");
	add(scene, KUBEPODS_CONTAINER, WEB, ID("4"), "0-1,4-7");
	/* what has no processes of a container may have any CPUs */
	add(scene, KUBEPODS_POD, WEB, "", "0-7");
	add(scene, KUBEPODS_SANDBOX, WEB, ID("5"), "0-7");
	assert_found(scene, 0);
}

static void a_neighbour_on_exclusive_cpus_is_found(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), "2-3");
	add(scene, KUBEPODS_CONTAINER, WEB, ID("4"), "0-7");
	add(scene, KUBEPODS_CONTAINER, WEB, ID("5"), "3-4");
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED | 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "containerd container 40123456789a of pod " WEB);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "CPUs 2-3");
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "container postgres of pod " DB);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "; and 1 more");
	assert_says(scene, FOUND_CPUS_DIFFER, "CPUs 0-7");
}

/* The kubelet's file keeps an offline CPU, cpuset.cpus.effective loses it. */
static void an_offline_cpu_is_no_difference(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), "2");
	add(scene, KUBEPODS_CONTAINER, WEB, ID("4"), "0-1,4-6");
	scene->discovery.online = cpuset_of_text("0-2,4-6");
	assert_found(scene, 0);
	/* CPU 6 is online, so its lack is a difference. */
	add(scene, KUBEPODS_CONTAINER, WEB, ID("5"), "0-1,4-5");
	assert_found(scene, 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER, "container 50123456789a");
}

/* Podman and docker know nothing of the kubelet's file, but they can take its CPUs. */
static void a_container_of_nobody_is_only_compared_with_exclusive_cpus(void **state)
{
	struct scene *scene = *state;
	struct discovered_cgroup *row;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	row = add(scene, KUBEPODS_CONTAINER, "", ID("6"), "4");
	row->name.has_qos = false;
	assert_found(scene, 0);
	row = add(scene, KUBEPODS_CONTAINER, "", ID("7"), "3-4");
	row->name.has_qos = false;
	row->name.runtime = RUNTIME_DOCKER;
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED);
	assert_says_not(scene, FOUND_EXCLUSIVE_SHARED, "container 70123456789a of pod");
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "docker container 70123456789a may use CPUs 3,");
}

static void cpus_that_the_pod_was_not_given_are_found(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), "2");
	assert_found(scene, 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER,
		    "container 20123456789a of pod " DB " runs on CPUs 2,");
	assert_says_not(scene, FOUND_CPUS_DIFFER, " more");
	/* CPUs of another pod's entry are not this pod's, although some pod was given them. */
	add(scene, KUBEPODS_CONTAINER, WEB, ID("3"), "2-3");
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED | 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER, "container 20123456789a");
	assert_says(scene, FOUND_CPUS_DIFFER, "; and 1 more");
	assert_says_not(scene, FOUND_EXCLUSIVE_SHARED, " more");
}

/* A cgroup whose CPUs could not be read is not compared; one without any CPU is. */
static void only_cpus_that_were_read_are_compared(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	add(scene, KUBEPODS_CONTAINER, WEB, ID("2"), NULL);
	assert_found(scene, 0);
	add(scene, KUBEPODS_CONTAINER, WEB, ID("3"), "");
	assert_found(scene, 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER, "container 30123456789a");
	assert_says(scene, FOUND_CPUS_DIFFER, "runs on CPUs none,");
}

/* Several containers may take over CPUs of their pod; of several owners the first CPU's is named. */
static void the_owner_of_the_first_cpu_is_named(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,6-7",
		   "\"" DB "\":{\"init\":\"4-5\",\"main\":\"4-5\"},\"other\":{\"one\":\"2-3\"}");
	add(scene, KUBEPODS_CONTAINER, DB, ID("1"), "4-5");
	assert_found(scene, 0);
	add(scene, KUBEPODS_CONTAINER, WEB, ID("2"), "3-4");
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED | 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "CPUs 3-4, which the kubelet gave to");
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "container one of pod other alone");
}

/* A list of 63 characters is whole, a longer one ends in dots. */
static void lists_are_cut_at_their_limit(void **state)
{
	/* 63 characters, in any order; CPU 130 instead of 13 makes it 64 */
	static const char whole[] =
		"1000,100,102,104,106,108,110,112,114,116,118,120,122,124,126,13";
	char normal[CPUSET_TEXT_MAX], wanted[CPUSET_TEXT_MAX];

	(void)state;
	assert_int_equal(strlen(whole), 63);
	for (int more = 0; more < 2; more++) {
		struct scene other = {0};
		struct cpuset cpus = cpuset_of_text(whole);

		if (more) {
			cpuset_remove(&cpus, 13);
			cpuset_add(&cpus, 130);
		}
		cpuset_format(&cpus, normal, sizeof(normal));
		read_state(&other, "static", "0", DB_ENTRY);
		add(&other, KUBEPODS_CONTAINER, WEB, ID("2"), normal);
		assert_found(&other, 1 << FOUND_CPUS_DIFFER);
		snprintf(wanted, sizeof(wanted), "runs on CPUs %.*s%s, which", more ? 60 : 63,
			 normal, more ? "..." : "");
		assert_says(&other, FOUND_CPUS_DIFFER, wanted);
		discovery_fini(&other.discovery);
	}
}

/* Podman gives a pod an id like that of a container, and shows both in the same short form. */
static void a_pod_without_the_kubelet_has_a_short_id(void **state)
{
	struct scene *scene = *state;
	struct discovered_cgroup *row;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	row = add(scene, KUBEPODS_CONTAINER, ID("8"), ID("7"), "3");
	row->name.has_qos = false;
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED,
		    "container 70123456789a of pod 80123456789a may use CPUs 3,");
}

/* The kubelet 1.36 and later: containers of such a pod share what its exclusive ones leave. */
static void a_part_of_the_pods_own_cpus_is_given(void **state)
{
	struct scene *scene = *state;
	struct kubelet_entries *pods = &scene->discovery.state.pods;

	read_state(scene, "static", "0-1,6-7", "");
	assert_int_equal(kubelet_entries_add(pods, DB, "", "2-5"), 0);
	assert_int_equal(cpuset_parse("2-5", 3, &pods->entries[0].cpus), 0);
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), "3-5");
	assert_found(scene, 0);
	add(scene, KUBEPODS_CONTAINER, WEB, ID("4"), "5-6");
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED | 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "gave to pod " DB " alone");
	/* Neither a part of another pod's CPUs is given, nor one CPU more than the pod's own. */
	add(scene, KUBEPODS_CONTAINER, WEB, ID("5"), "4-5");
	add(scene, KUBEPODS_CONTAINER, DB, ID("6"), "5-6");
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED | 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER, "; and 2 more");
}

static struct discovered_cgroup *add_named(struct scene *scene, const char *uid, const char *id,
					   const char *effective, const char *container)
{
	struct discovered_cgroup *row = add(scene, KUBEPODS_CONTAINER, uid, id, effective);

	row->names = DISCOVERED_NAMES_READ;
	row->namespace = strdup("shop");
	row->pod = strdup("db-0");
	row->container = strdup(container);
	return row;
}

#define TWO_ENTRIES "\"" DB "\":{\"postgres\":\"2-3\",\"backup\":\"4\"}"

/* By name it is known which entry is whose; the default set is not enough for its owner. */
static void a_named_container_has_to_have_its_own_cpus(void **state)
{
	static const struct {
		const char *container, *effective;
		bool differs;
	} cases[] = {
		{"postgres", "2-3", false},  {"postgres", "4", true}, {"postgres", "0-1,5-7", true},
		{"postgres", "2", true},     {"backup", "4", false},  {"backup", "2-3", true},
		{"shell", "0-1,5-7", false}, {"shell", "4", true},
	};
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,5-7", TWO_ENTRIES);
	scene->discovery.online = cpuset_of_text("0-7");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct discovered_cgroup *row =
			add_named(scene, DB, ID("2"), cases[i].effective, cases[i].container);

		assert_found(scene, cases[i].differs ? 1U << FOUND_CPUS_DIFFER : 0);
		/* For the next case it is nobody's container. */
		row->name.kind = KUBEPODS_SANDBOX;
	}
}

static void an_offline_cpu_of_its_own_is_no_difference(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,5-7", TWO_ENTRIES);
	scene->discovery.online = cpuset_of_text("0-2,4-7");
	add_named(scene, DB, ID("2"), "2", "postgres");
	assert_found(scene, 0);
}

static void a_named_container_is_named_in_findings(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "0-1,5-7", TWO_ENTRIES);
	add_named(scene, DB, ID("2"), "0-1,5-7", "postgres");
	assert_found(scene, 1U << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER,
		    "container postgres of pod shop/db-0 (containerd 20123456789a) runs on CPUs "
		    "0-1,5-7, and the kubelet's state file gives it CPUs 2-3");
	add_named(scene, WEB, ID("3"), "2-3", "nginx");
	assert_found(scene, 1U << FOUND_CPUS_DIFFER | 1U << FOUND_EXCLUSIVE_SHARED);
	assert_says(scene, FOUND_EXCLUSIVE_SHARED, "container nginx of pod shop/db-0 (containerd ");
}

static void an_empty_default_set_is_found(void **state)
{
	struct scene *scene = *state;

	read_state(scene, "static", "", DB_ENTRY);
	assert_found(scene, 1 << FOUND_DEFAULT_EMPTY);
}

/* Under policy none the kubelet writes no cpuset, and its file has no CPUs. */
static void without_the_static_policy_nothing_is_compared(void **state)
{
	struct scene *scene = *state;

	add(scene, KUBEPODS_CONTAINER, WEB, ID("4"), "0-7");
	scene->discovery.host_tasks.nr = 1;
	assert_found(scene, 0);
	read_state(scene, "none", "", "");
	assert_found(scene, 0);
}

static void a_damaged_state_file_is_found(void **state)
{
	static const char *const damaged[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"policyName\":\"other\",\"defaultCpuSet\":\"0\",\"entries\":{},\"checksum\":0}",
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{},\"checksum\":1}",
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-\",\"entries\":{},\"checksum\":0}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct scene scene = {0};

		strcpy(scene.discovery.cpu_file.path, "/var/lib/kubelet/cpu_manager_state");
		assert_int_equal(
			discovery_read_state(&scene.discovery, damaged[i], strlen(damaged[i])), 0);
		assert_int_equal(scene.discovery.cpu_file.presence, KUBELET_STATE_UNUSABLE);
		add(&scene, KUBEPODS_CONTAINER, WEB, ID("4"), "0-7");
		assert_found(&scene, 1 << FOUND_STATE_UNUSABLE);
		assert_says(&scene, FOUND_STATE_UNUSABLE, "/var/lib/kubelet/cpu_manager_state: ");
		discovery_fini(&scene.discovery);
	}
}

static void assert_given(const struct scene *scene, const struct discovered_cgroup *row,
			 const char *wanted)
{
	const char *given = discovery_given(&scene->discovery, row);

	if (!wanted)
		assert_null(given);
	else
		assert_string_equal(given, wanted);
}

static void what_is_given_is_known_or_not(void **state)
{
	struct scene *scene = *state;
	struct discovered_cgroup *row;

	assert_given(scene, add_named(scene, DB, ID("1"), "2-3", "postgres"), NULL);
	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	assert_given(scene, add_named(scene, DB, ID("2"), "2-3", "postgres"), "2-3");
	assert_given(scene, add_named(scene, DB, ID("3"), "0-1", "exporter"), "0-1,4-7");
	/* Without a name it could be either. */
	assert_given(scene, add(scene, KUBEPODS_CONTAINER, DB, ID("4"), "2-3"), NULL);
	/* A pod without entries has only containers on the shared pool. */
	assert_given(scene, add(scene, KUBEPODS_CONTAINER, WEB, ID("5"), "0-1"), "0-1,4-7");
	assert_given(scene, add(scene, KUBEPODS_POD, WEB, "", "0-1"), NULL);
	assert_given(scene, add(scene, KUBEPODS_SANDBOX, WEB, ID("6"), "0-1"), NULL);
	row = add(scene, KUBEPODS_CONTAINER, "", ID("7"), "0-1");
	row->name.has_qos = false;
	assert_given(scene, row, NULL);
}

/* The memory manager's file as of layout 1, with a block for the container postgres of DB. */
#define MEMORY(policy, nodes)                                                                 \
	"{\"policyName\":\"" policy "\",\"machineState\":{},\"entries\":{\"" DB               \
	"\":{\"postgres\":[{\"numaAffinity\":[" nodes "],\"type\":\"memory\",\"size\":4096}," \
	"{\"numaAffinity\":[1],\"type\":\"hugepages-2Mi\",\"size\":0}]}},\"checksum\":0}"

static void read_memory(struct scene *scene, const char *text)
{
	assert_int_equal(discovery_read_memory(&scene->discovery, text, strlen(text)), 0);
	strcpy(scene->discovery.memory_file.path, "/var/lib/kubelet/memory_manager_state");
}

static void add_with_nodes(struct scene *scene, const char *id, const char *container,
			   const char *nodes)
{
	struct discovered_cgroup *row = container ? add_named(scene, DB, id, "0-7", container)
						  : add(scene, KUBEPODS_CONTAINER, DB, id, "0-7");

	row->effective_mems = strdup(nodes);
}

static void the_memory_managers_nodes_are_no_finding(void **state)
{
	struct scene *scene = *state;

	read_memory(scene, MEMORY("Static", "0"));
	assert_int_equal(scene->discovery.memory_file.presence, KUBELET_STATE_READ);
	/* the nodes of all its blocks */
	add_with_nodes(scene, ID("2"), "postgres", "0-1");
	/* without an entry, or a name, any nodes may be right */
	add_with_nodes(scene, ID("3"), "exporter", "0-3");
	add_with_nodes(scene, ID("4"), NULL, "0-3");
	assert_found(scene, 0);
}

static void other_nodes_than_the_memory_managers_are_found(void **state)
{
	struct scene *scene = *state;

	read_memory(scene, MEMORY("Static", "0"));
	add_with_nodes(scene, ID("2"), "postgres", "0-3");
	assert_found(scene, 1 << FOUND_NODES_DIFFER);
	assert_says(
		scene, FOUND_NODES_DIFFER,
		"container postgres of pod shop/db-0 (containerd 20123456789a) may use memory of "
		"NUMA nodes 0-3");
	assert_says(scene, FOUND_NODES_DIFFER, "gives it 0-1");
	/* Under policy None the entries are of another time. */
	kubelet_memory_state_fini(&scene->discovery.memory);
	read_memory(scene, MEMORY("None", "0"));
	assert_found(scene, 0);
}

static void a_damaged_memory_file_is_found(void **state)
{
	struct scene *scene = *state;
	const char *before = MEMORY("Static", "0");

	read_memory(scene, "{");
	assert_found(scene, 1 << FOUND_MEMORY_UNUSABLE);
	assert_says(scene, FOUND_MEMORY_UNUSABLE, "/var/lib/kubelet/memory_manager_state: ");
	assert_int_equal(discovery_keep_memory(&scene->discovery, before, strlen(before)), 0);
	add_with_nodes(scene, ID("2"), "postgres", "2");
	assert_found(scene, 1 << FOUND_MEMORY_UNUSABLE | 1 << FOUND_NODES_DIFFER);
}

static void an_unusable_file_is_compared_as_it_was(void **state)
{
	static const char now[] = "{";
	static const char before[] = "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-7\","
				     "\"entries\":{" DB_ENTRY "},\"checksum\":0}";
	struct scene *scene = *state;

	assert_int_equal(discovery_read_state(&scene->discovery, now, strlen(now)), 0);
	assert_int_equal(discovery_keep_state(&scene->discovery, before, strlen(before)), 0);
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), "2-3");
	assert_found(scene, 1 << FOUND_STATE_UNUSABLE);
	assert_says(scene, FOUND_STATE_UNUSABLE,
		    "; the pods are compared with its last usable contents");
	add(scene, KUBEPODS_CONTAINER, WEB, ID("4"), "0-7");
	assert_found(scene, 1 << FOUND_STATE_UNUSABLE | 1 << FOUND_EXCLUSIVE_SHARED |
				    1 << FOUND_CPUS_DIFFER);
}

static void what_was_not_read_is_found(void **state)
{
	struct scene *scene = *state;

	scene->discovery.nr_unknown = 3;
	strcpy(scene->discovery.unknown, "kubepods/podx/y");
	assert_found(scene, 1 << FOUND_UNKNOWN_NAME);
	assert_says(scene, FOUND_UNKNOWN_NAME, "kubepods/podx/y");
	assert_says(scene, FOUND_UNKNOWN_NAME, "and 2 more");
	scene->discovery.nr_unknown = 0;
	scene->discovery.is_incomplete = true;
	strcpy(scene->discovery.problem, "kubepods: Permission denied");
	assert_found(scene, 1 << FOUND_CUT);
	assert_says(scene, FOUND_CUT, "kubepods: Permission denied");
	/* The problem is the reason why rows are missing, so it is named. */
	scene->discovery.nr_left_out = 1;
	assert_found(scene, 1 << FOUND_CUT);
	assert_says(scene, FOUND_CUT, "kubepods: Permission denied");
	scene->discovery.nr_unknown = 1;
	assert_found(scene, 1 << FOUND_CUT | 1 << FOUND_UNKNOWN_NAME);
	assert_says_not(scene, FOUND_UNKNOWN_NAME, " more");
}

static void rows_beyond_the_limit_are_counted(void **state)
{
	struct scene *scene = *state;
	struct discovered_cgroup *row;

	for (uint32_t i = 0; i < DISCOVERY_MAX_ROWS; i++)
		assert_int_equal(discovery_add(&scene->discovery, "x", &row), 0);
	assert_int_equal(discovery_add(&scene->discovery, "x", &row), -ENOSPC);
	assert_int_equal(discovery_add(&scene->discovery, "x", &row), -ENOSPC);
	assert_found(scene, 1 << FOUND_CUT);
	assert_says(scene, FOUND_CUT, "2 pods and containers beyond the first 4096");
}

static void host_tasks_are_found_with_an_example(void **state)
{
	struct scene *scene = *state;
	struct discovered_tasks *tasks = &scene->discovery.host_tasks;

	read_state(scene, "static", "0-1,4-7", DB_ENTRY);
	*tasks = (struct discovered_tasks){.nr = 12, .pid = 4711};
	strcpy(tasks->comm, "sshd");
	strcpy(tasks->cgroup, "system.slice/ssh.service");
	cpuset_add(&tasks->cpus, 3);
	assert_found(scene, 1 << FOUND_HOST_TASKS);
	assert_says(scene, FOUND_HOST_TASKS, "12 tasks");
	assert_says(scene, FOUND_HOST_TASKS, "CPUs 3,");
	assert_says(scene, FOUND_HOST_TASKS, "sshd (pid 4711) in system.slice/ssh.service");
	tasks->nr = 1;
	assert_found(scene, 1 << FOUND_HOST_TASKS);
	assert_says(scene, FOUND_HOST_TASKS, "1 task of");
}

/* Nothing that a file or a cgroup can contain makes a sentence overflow. */
static void long_texts_are_cut(void **state)
{
	struct scene *scene = *state;
	char odd[CPUSET_TEXT_MAX], entry[600], name[400];
	struct cpuset every_second = CPUSET_EMPTY;

	for (unsigned int cpu = 1; cpu < 1000; cpu += 2)
		cpuset_add(&every_second, cpu);
	cpuset_format(&every_second, odd, sizeof(odd));
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(entry, sizeof(entry), "\"%.60s\":{\"%s\":\"1-9\"}", name, name);
	read_state(scene, "static", "0", entry);
	add(scene, KUBEPODS_CONTAINER, DB, ID("2"), odd);
	assert_found(scene, 1 << FOUND_EXCLUSIVE_SHARED | 1 << FOUND_CPUS_DIFFER);
	assert_says(scene, FOUND_CPUS_DIFFER, "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(what_the_kubelet_decided_is_no_finding),
		TEST(a_neighbour_on_exclusive_cpus_is_found),
		TEST(a_container_of_nobody_is_only_compared_with_exclusive_cpus),
		TEST(an_offline_cpu_is_no_difference),
		TEST(cpus_that_the_pod_was_not_given_are_found),
		TEST(only_cpus_that_were_read_are_compared),
		TEST(the_owner_of_the_first_cpu_is_named),
		TEST(lists_are_cut_at_their_limit),
		TEST(a_pod_without_the_kubelet_has_a_short_id),
		TEST(a_part_of_the_pods_own_cpus_is_given),
		TEST(a_named_container_has_to_have_its_own_cpus),
		TEST(an_offline_cpu_of_its_own_is_no_difference),
		TEST(a_named_container_is_named_in_findings),
		TEST(an_empty_default_set_is_found),
		TEST(without_the_static_policy_nothing_is_compared),
		TEST(a_damaged_state_file_is_found),
		TEST(what_is_given_is_known_or_not),
		TEST(the_memory_managers_nodes_are_no_finding),
		TEST(other_nodes_than_the_memory_managers_are_found),
		TEST(a_damaged_memory_file_is_found),
		TEST(an_unusable_file_is_compared_as_it_was),
		TEST(what_was_not_read_is_found),
		TEST(rows_beyond_the_limit_are_counted),
		TEST(host_tasks_are_found_with_an_example),
		TEST(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
