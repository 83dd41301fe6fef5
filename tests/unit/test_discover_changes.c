// SPDX-License-Identifier: Apache-2.0
// LIBS: discover kubelet format core lib
/*
 * What a scan reads besides the cgroups (the kubelet's files and the host's tasks), when the next
 * one begins, and which change makes another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>

#include "discover_scene.h"
#include "lib/worker.h"

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
