// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * Is what the observer counts true? Real tasks in real cgroups, its numbers against the
 * kernel's own (cpu.stat, schedstat). Runs as root in a guest; on any machine with cgroup2
 * for a quick look, without the quota there.
 */
#include "observe_scene.h"

static bool within(double value, double expected, double part)
{
	double difference = value > expected ? value - expected : expected - value;

	return difference <= expected * part;
}

/* The number after `key` in a file of "key value" lines; -1 when there is none. */
static double read_key(const char *directory, const char *name, const char *key)
{
	char path[800], word[128];
	FILE *file cleanup_file = NULL;
	double value;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	while (file && fscanf(file, "%127s %lf", word, &value) == 2)
		if (!strcmp(word, key))
			return value;
	return -1;
}

/* Make the CPU switch: a mask is looked at when a task gets the CPU. */
static void visit(unsigned int cpu)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	pin_self(cpu);
	nanosleep(&moment, NULL);
	pin_self(cpus[0]);
}

/* ns all tasks have waited, as the kernel itself keeps it. */
static double schedstat_wait_ns(const struct tasks *tasks)
{
	double sum = 0, run, wait;

	for (int i = 0; i < tasks->nr; i++) {
		char path[64];
		FILE *file cleanup_file = NULL;

		snprintf(path, sizeof(path), "/proc/%d/schedstat", tasks->pids[i]);
		file = fopen(path, "re");
		if (file && fscanf(file, "%lf %lf", &run, &wait) == 2)
			sum += wait;
	}
	return sum;
}

/* Two busy tasks on a CPU each, one of them in a cgroup below the container's. */
static void test_run_time(struct observer *observer)
{
	struct group group, below;
	struct tasks tasks = {.nr = 0};
	struct cpuset own = CPUSET_EMPTY, first = CPUSET_EMPTY;
	struct observe_usage first_usage, before, usage, after;
	double kernel_before, least, most, ran;
	uint64_t there;

	if (make_group(&group, GROUP_ROOT "/pod/run", 3) ||
	    make_group(&below, GROUP_ROOT "/pod/run/below", 4))
		return check(false, "make cgroups");
	cpuset_add(&first, cpus[4 % nr_cpus]);
	own = first;
	cpuset_add(&own, cpus[5 % nr_cpus]);
	claim(observer, &group, &own);
	first_usage = read_usage(observer, &group);
	kernel_before = read_key(group.path, "cpu.stat", "usage_usec") * 1000;
	add_task(&tasks, &group, 4, 1);
	add_task(&tasks, &below, 5, 1);
	pass_time(4);
	least = read_key(group.path, "cpu.stat", "usage_usec") * 1000 - kernel_before;
	usage = read_usage(observer, &group);
	most = read_key(group.path, "cpu.stat", "usage_usec") * 1000 - kernel_before;
	ran = run_ns(&usage) - run_ns(&first_usage);
	/* the kernel's figure of a task that runs is as old as its last tick, which emulation delays */
	check(least > 1e8 && ran > 0.98 * least && ran < 1.02 * most,
	      "run time %.1f ms so far is the kernel's %.1f to %.1f ms within 2 %%", ran / 1e6,
	      least / 1e6, most / 1e6);
	check((double)(usage.run_ns[cpus[4 % nr_cpus]] + usage.run_ns[cpus[5 % nr_cpus]]) >
		      0.98 * run_ns(&usage),
	      "all of it on the two CPUs");
	check(usage.run_ns[cpus[4 % nr_cpus]] > 100000000 &&
		      usage.run_ns[cpus[5 % nr_cpus]] > 100000000,
	      "the task in a cgroup below counts with the container");
	check((double)usage.run_outside_ns < 0.02 * run_ns(&usage), "nearly none outside (%.1f ms)",
	      (double)usage.run_outside_ns / 1e6);

	/* the second CPU is no longer its own: what runs there from now on is outside */
	claim(observer, &group, &first);
	visit(cpus[5 % nr_cpus]);
	before = read_usage(observer, &group);
	there = before.run_ns[cpus[5 % nr_cpus]];
	pass_time(3);
	end_tasks(&tasks);
	after = read_usage(observer, &group);
	ran = run_ns(&after) - run_ns(&first_usage);
	most = read_key(group.path, "cpu.stat", "usage_usec") * 1000 - kernel_before;
	check(most > 1e8 && within(ran, most, 0.01),
	      "at the end run time %.1f ms is the kernel's %.1f ms within 1 %%", ran / 1e6,
	      most / 1e6);
	there = after.run_ns[cpus[5 % nr_cpus]] - there;
	check(there > 100000000ULL && within((double)(after.run_outside_ns - before.run_outside_ns),
					     (double)there, 0.02),
	      "what runs on a CPU taken from the mask is outside (%.0f of %.0f ms there)",
	      (double)(after.run_outside_ns - before.run_outside_ns) / 1e6, (double)there / 1e6);
	check(observe_release(observer, group.id) == 0, "its slot is taken back");
}

static void move_tasks(const struct tasks *tasks, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	for (int i = 0; i < tasks->nr; i++)
		sched_setaffinity(tasks->pids[i], sizeof(set), &set);
}

/*
 * Several tasks on one CPU, against what the kernel says of each. When they are
 * sent to and fro between two CPUs, most of them while they queue, a wait that
 * was begun on one and ends on the other must be counted whole. The kernel is asked
 * before and after each reading of ours, because time passes between two questions.
 */
static void check_wait(struct observer *observer, const char *name, unsigned int nr_tasks,
		       bool to_and_fro)
{
	char path[128];
	struct group group;
	struct tasks tasks = {.nr = 0};
	struct observe_usage before, usage;
	double least, most, waited;

	snprintf(path, sizeof(path), GROUP_ROOT "/pod/%s", name);
	if (make_group(&group, path, 3))
		return check(false, "make cgroup");
	claim(observer, &group, &topology.all);
	for (unsigned int i = 0; i < nr_tasks; i++)
		add_task(&tasks, &group, 5, 1);
	pass_time(1); /* they enter the cgroup */
	most = -schedstat_wait_ns(&tasks);
	before = read_usage(observer, &group);
	least = -schedstat_wait_ns(&tasks);
	for (int i = 0; i < 100; i++) {
		pass_time(0.04);
		if (to_and_fro)
			move_tasks(&tasks, cpus[(i % 2 ? 5 : 6) % nr_cpus]);
	}
	least += schedstat_wait_ns(&tasks);
	usage = read_usage(observer, &group);
	most += schedstat_wait_ns(&tasks);
	end_tasks(&tasks);
	waited = (double)(observe_wait_ns(&usage) - observe_wait_ns(&before));
	check(waited > 1e9, "%s: %u tasks wait", name, nr_tasks);
	check(waited > 0.97 * least && waited < 1.03 * most,
	      "%s: wait %.1f ms is the kernel's %.1f to %.1f ms within 3 %%", name, waited / 1e6,
	      least / 1e6, most / 1e6);
	check(usage.wait_ns[WAIT_OWN_QUOTA] == 0, "%s: none of it by a quota", name);
	check(usage.switches > before.switches, "%s: switches are counted", name);
	observe_release(observer, group.id);
}

/* Two CPUs of different nodes if there are any; false on a machine with one node. */
static bool pick_far_apart(unsigned int *ret_a, unsigned int *ret_b)
{
	*ret_a = cpus[0];
	*ret_b = cpus[nr_cpus - 1];
	return topology.node_of[*ret_a] != topology.node_of[*ret_b];
}

#define NR_MOVES 60

static void test_migrations(struct observer *observer)
{
	struct group group;
	struct tasks tasks = {.nr = 0};
	struct observe_usage before, usage;
	unsigned int a, b;
	bool far = pick_far_apart(&a, &b);
	uint64_t near_moves, far_moves;

	if (make_group(&group, GROUP_ROOT "/pod/move", 3))
		return check(false, "make cgroup");
	claim(observer, &group, &topology.all);
	add_task(&tasks, &group, 0, 1);
	pass_time(0.5);
	before = read_usage(observer, &group);
	for (int i = 0; i < NR_MOVES; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i % 2 ? a : b, &set);
		sched_setaffinity(tasks.pids[0], sizeof(set), &set);
		pass_time(0.01);
	}
	usage = read_usage(observer, &group);
	end_tasks(&tasks);
	near_moves = usage.migrations_thread + usage.migrations_core + usage.migrations_llc -
		     before.migrations_thread - before.migrations_core - before.migrations_llc;
	far_moves = usage.migrations_numa - before.migrations_numa;
	check((far ? far_moves : near_moves) == NR_MOVES && (far ? near_moves : far_moves) == 0,
	      "%d moves between %s: %llu within a node, %llu across", NR_MOVES,
	      far ? "two nodes" : "CPUs of one node", (unsigned long long)near_moves,
	      (unsigned long long)far_moves);
	observe_release(observer, group.id);
}

/* Another CPU of the core of `cpu`; -1 = the machine has no SMT. */
static int sibling_of(unsigned int cpu)
{
	for (unsigned int i = 0; i < nr_cpus; i++)
		if (cpus[i] != cpu && topology.core_of[cpus[i]] == topology.core_of[cpu])
			return (int)cpus[i];
	return -1;
}

/* A task goes to and fro between the two CPUs of a core, and then to another core and back. */
static void test_migrations_within_a_core(struct observer *observer)
{
	const unsigned int own = cpus[nr_cpus - 1];
	const int sibling = sibling_of(own);
	struct group group;
	struct tasks tasks = {.nr = 0};
	struct observe_usage before, within, usage;

	if (sibling < 0) {
		printf("# no SMT: migrations within a core are not tested\n");
		return;
	}
	if (make_group(&group, GROUP_ROOT "/pod/sibling", 3))
		return check(false, "make cgroup");
	claim(observer, &group, &topology.all);
	add_task(&tasks, &group, nr_cpus - 1, 1);
	pass_time(0.5);
	before = read_usage(observer, &group);
	for (int i = 0; i < NR_MOVES; i++) {
		move_tasks(&tasks, i % 2 ? own : (unsigned int)sibling);
		pass_time(0.01);
	}
	within = read_usage(observer, &group);
	move_tasks(&tasks, cpus[0]);
	pass_time(0.01);
	move_tasks(&tasks, own);
	pass_time(0.01);
	usage = read_usage(observer, &group);
	end_tasks(&tasks);
	check(within.migrations_thread - before.migrations_thread == NR_MOVES &&
		      within.migrations_core == before.migrations_core &&
		      within.migrations_llc == before.migrations_llc &&
		      within.migrations_numa == before.migrations_numa,
	      "%d moves between the CPUs of a core: %llu within it", NR_MOVES,
	      (unsigned long long)(within.migrations_thread - before.migrations_thread));
	check(usage.migrations_thread == within.migrations_thread &&
		      usage.migrations_core + usage.migrations_llc + usage.migrations_numa ==
			      within.migrations_core + within.migrations_llc +
				      within.migrations_numa + 2,
	      "two moves to another core and back are none of them");
	observe_release(observer, group.id);
}

static int count_tasks(const struct group *group)
{
	char path[800];
	FILE *file cleanup_file = NULL;
	int nr = 0, pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group->path);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		nr++;
	return nr;
}

/* How often the kernel says that the tasks lost a CPU against their will. */
static double count_involuntary(const struct tasks *tasks)
{
	double sum = 0, nr;

	for (int i = 0; i < tasks->nr; i++) {
		char path[64], line[256];
		FILE *file cleanup_file = NULL;

		snprintf(path, sizeof(path), "/proc/%d/status", tasks->pids[i]);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "nonvoluntary_ctxt_switches: %lf", &nr) == 1)
				sum += nr;
	}
	return sum;
}

/*
 * Two busy tasks on one CPU take it from each other. Their numbers are read before and after ours,
 * because they go on meanwhile.
 */
static void test_preemptions(struct observer *observer)
{
	struct group group;
	struct tasks tasks = {.nr = 0};
	struct observe_usage before, usage;
	double least, most, ours;

	if (make_group(&group, GROUP_ROOT "/pod/preempt", 3))
		return check(false, "make cgroup");
	claim(observer, &group, &topology.all);
	add_task(&tasks, &group, 3, 1);
	add_task(&tasks, &group, 3, 1);
	while (count_tasks(&group) < tasks.nr)
		pass_time(0.05);
	pass_time(0.5); /* and each has had its CPU since */
	most = -count_involuntary(&tasks);
	before = read_usage(observer, &group);
	least = -count_involuntary(&tasks);
	pass_time(3);
	least += count_involuntary(&tasks);
	usage = read_usage(observer, &group);
	most += count_involuntary(&tasks);
	end_tasks(&tasks);
	ours = (double)(usage.preemptions - before.preemptions);
	check(least > 20, "two busy tasks on one CPU are preempted (%.0f times)", least);
	check(ours >= 0.99 * least && ours <= most,
	      "preemptions %.0f are the kernel's %.0f to %.0f within 1 %%", ours, least, most);
	check(usage.preemptions <= usage.switches, "no more than switches");
	observe_release(observer, group.id);
}

/*
 * A quota at the container, or at the pod above it: both are its own. Tasks that
 * share a CPU all wait while their queue is throttled, also over several periods.
 * Both numbers are taken from when all tasks are there: the queue is throttled before.
 */
static void check_quota(struct observer *observer, const char *name, bool at_pod, int nr_tasks)
{
	char pod[128], container[160];
	struct group above, group;
	struct tasks tasks = {.nr = 0};
	struct observe_usage before, usage;
	double throttled_ns, quota_ns;

	snprintf(pod, sizeof(pod), GROUP_ROOT "/%s", name);
	snprintf(container, sizeof(container), "%s/container", pod);
	if (make_group(&above, pod, 2) ||
	    write_file(above.path, "cgroup.subtree_control", "+cpu") ||
	    make_group(&group, container, 3) ||
	    write_file((at_pod ? &above : &group)->path, "cpu.max", "20000 100000"))
		return check(false, "make a cgroup with a quota");
	claim(observer, &group, &topology.all);
	for (int i = 0; i < nr_tasks; i++)
		add_task(&tasks, &group, 7, 1);
	while (count_tasks(&group) < nr_tasks)
		pass_time(0.05);
	pass_time(0.5); /* and each has had its CPU once */
	before = read_usage(observer, &group);
	throttled_ns =
		-read_key((at_pod ? &above : &group)->path, "cpu.stat", "throttled_usec") * 1000;
	pass_time(5);
	usage = read_usage(observer, &group);
	throttled_ns +=
		read_key((at_pod ? &above : &group)->path, "cpu.stat", "throttled_usec") * 1000;
	end_tasks(&tasks);
	quota_ns = (double)(usage.wait_ns[WAIT_OWN_QUOTA] - before.wait_ns[WAIT_OWN_QUOTA]);
	check(quota_ns > 0, "quota %s: %.1f ms of %.1f ms waiting", name, quota_ns / 1e6,
	      (double)(observe_wait_ns(&usage) - observe_wait_ns(&before)) / 1e6);
	check(within(quota_ns, nr_tasks * throttled_ns, 0.15),
	      "quota %s: %d times the %.1f ms of the kernel", name, nr_tasks, throttled_ns / 1e6);
	observe_release(observer, group.id);
}

static void test_slots(struct observer *observer)
{
	struct observe_group group = {.level = 3, .cpus = &topology.all};
	struct observe_status status;
	uint32_t first = 0, slot = 0;
	int r = 0;

	observe_retain(observer, NULL, 0);
	for (uint32_t i = 0; !r && i < MAX_CONTAINERS; i++) {
		group.cgroup_id = 1000000 + i;
		r = observe_claim(observer, &group, &slot);
		if (i == 0)
			first = slot;
	}
	check(r == 0, "%d containers get a slot", MAX_CONTAINERS);
	group.cgroup_id = 2000000;
	check(observe_claim(observer, &group, &slot) == -ENOSPC &&
		      observe_claim(observer, &group, &slot) == -ENOSPC,
	      "the next one gets none, also when asked for again");
	observe_status(observer, &status);
	check(status.exhausted == 1 && status.nr_used == MAX_CONTAINERS,
	      "and that is counted once");
	check(observe_release(observer, 1000000) == 0 &&
		      observe_release(observer, 1000000) == -ENOENT,
	      "a slot is taken back once");
	check(observe_claim(observer, &group, &slot) == 0 && slot == first, "and given again");
	group.level = 32;
	group.cgroup_id = 3000000;
	check(observe_claim(observer, &group, &slot) == -EINVAL, "level 32 is refused");
	observe_retain(observer, NULL, 0);
}

int main(void)
{
	struct observer *observer cleanup_observer = NULL;
	struct observe_setup setup = {.topology = &topology, .max_containers = MAX_CONTAINERS};

	log_open("observe-test", LOG_LEVEL_INFO);
	if (!prepare() || observe_open(&setup, &observer))
		return 1;
	test_run_time(observer);
	check_wait(observer, "queue", 3, false);
	check_wait(observer, "moved", 4, true);
	test_migrations(observer);
	test_migrations_within_a_core(observer);
	test_preemptions(observer);
	if (write_file(mount_path, "cgroup.subtree_control", "+cpu") == 0) {
		check_quota(observer, "own", false, 1);
		check_quota(observer, "above", true, 1);
		check_quota(observer, "many", false, 6);
	} else {
		printf("# no cpu controller in %s: the quota is not tested\n", mount_path);
	}
	test_slots(observer);
	return finish();
}
