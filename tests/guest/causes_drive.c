// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * Is what the observer says of the causes and of the lengths of waits true? Tasks of containers and of the
 * host compete in several ways; a log of all switches and migrations meanwhile is replayed
 * by a model that shares nothing with the observer: for each wait it goes back through the
 * whole log of the CPU. All tasks are stopped before and after, so both have seen the same
 * waits, however long the machine takes. Runs as root.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <pinfold/abi.h>

#include "causes_loads.h"
#include "lib/log.h"
#include "switch_log.skel.h"

DEFINE_CLEANUP(struct switch_log, log_closep, switch_log__destroy);
#define cleanup_log cleanup(log_closep)

/* Most of what two shares of a container's waiting may differ by. */
#define TOLERANCE 0.01

/* --- the model ------------------------------------------------------------------------------------ */

struct expected {
	uint64_t wait_ns[WAIT_CAUSE_NR];
	/*
	 * Beside them. With a quota, of what was not throttled the log cannot say who had it,
	 * unless it was the container itself.
	 */
	uint64_t unclear_ns;
	/*
	 * A task that a kernel since 6.12 moves while it sleeps counts as waiting from then on,
	 * for the kernel too. Nobody waits, so the observer does not follow the tasks of the host.
	 */
	uint64_t asleep_ns;
	uint64_t older_ns[WAIT_CAUSE_NR]; /* than what a CPU keeps, so it may be unattributed */
	struct latency latency;		  /* whole waits, wherever they took place */
	uint64_t migrations_numa;
};

static struct expected expected[NR_WHERE];
static int64_t before[SWITCH_LOG_RECORDS]; /* the switch before on that CPU; -1 = none */

static struct task *find_task(uint32_t pid)
{
	return pid < MAX_PIDS && task_of[pid] ? &tasks[task_of[pid] - 1] : NULL;
}

static enum wait_cause classify(enum where waiter, uint32_t pid, uint8_t kind)
{
	const struct task *task = find_task(pid);
	enum where owner = task ? task->where : HOST;

	if (kind == LOGGED_IDLE)
		return WAIT_IDLE;
	if (kind == LOGGED_KERNEL)
		return WAIT_KERNEL;
	if (owner == HOST)
		return WAIT_HOST;
	if (owner == waiter)
		return WAIT_OWN_CONTAINER;
	return groups[owner].pod == groups[waiter].pod ? WAIT_POD_SIBLING : WAIT_OTHER_POD;
}

/*
 * Who had the CPU from `from` to `until`, the instant of record `index` on it. What lies beyond the
 * last OBSERVE_INTERVALS switches of that CPU goes to `ret_older`: the observer keeps so many
 * intervals, and a switch ends one of them at most.
 */
static void replay_wait(const struct switch_record *records, int64_t index, enum where waiter,
			uint64_t from, uint64_t until, uint64_t ret_parts[WAIT_CAUSE_NR],
			uint64_t ret_older[WAIT_CAUSE_NR])
{
	const struct switch_record *record = &records[index];
	int64_t last = before[index];
	uint32_t pid = record->prev, nr_switches = 0;
	uint8_t kind = record->prev_kind;

	if (record->is_migration) {
		if (last < 0) {
			ret_parts[WAIT_UNATTRIBUTED] += until - from;
			return;
		}
		pid = records[last].next;
		kind = records[last].next_kind;
	}
	for (;;) {
		uint64_t start = last < 0 ? 0 : records[last].clock, *parts;

		if (start < from)
			start = from;
		parts = nr_switches++ < OBSERVE_INTERVALS ? ret_parts : ret_older;
		parts[classify(waiter, pid, kind)] += until - start;
		until = start;
		if (until <= from)
			return;
		pid = records[last].prev;
		kind = records[last].prev_kind;
		last = before[last];
	}
}

static void add_wait(const struct switch_record *records, int64_t index, struct task *task,
		     uint64_t wait)
{
	const struct switch_record *record = &records[index];
	struct expected *sum = &expected[task->where];
	uint64_t parts[WAIT_CAUSE_NR] = {0}, older[WAIT_CAUSE_NR] = {0}, quota = 0, left;

	replay_wait(records, index, task->where, record->clock - wait, record->clock, parts, older);
	if (task->cpu == record->cpu && record->throttled_ns > task->throttled_ns)
		quota = record->throttled_ns - task->throttled_ns;
	if (!quota) {
		for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
			bool is_host = cause == WAIT_HOST || cause == WAIT_KERNEL ||
				       cause == WAIT_IDLE;

			*(task->was_delayed && is_host ? &sum->asleep_ns : &sum->wait_ns[cause]) +=
				parts[cause];
			sum->older_ns[cause] += older[cause];
		}
		return;
	}
	quota = quota < wait ? quota : wait;
	left = wait - quota;
	sum->wait_ns[WAIT_OWN_QUOTA] += quota;
	parts[WAIT_OWN_CONTAINER] += older[WAIT_OWN_CONTAINER];
	if (parts[WAIT_OWN_CONTAINER] > left)
		parts[WAIT_OWN_CONTAINER] = left;
	sum->wait_ns[WAIT_OWN_CONTAINER] += parts[WAIT_OWN_CONTAINER];
	sum->unclear_ns += left - parts[WAIT_OWN_CONTAINER];
}

/* What the kernel has added to the task's waits since, and what it is about to add. */
static uint64_t wait_at(const struct switch_record *record, struct task *task)
{
	uint64_t wait = 0;

	if (record->run_delay_ns > task->run_delay_ns)
		wait = record->run_delay_ns - task->run_delay_ns;
	task->run_delay_ns = record->run_delay_ns;
	if (!record->is_migration && record->queued && record->clock > record->queued) {
		wait += record->clock - record->queued;
		task->run_delay_ns += record->clock - record->queued;
	}
	return wait;
}

/* A wait is over if the task has got a CPU, not if it was only moved. */
static void add_length(const struct switch_record *record, struct task *task, uint64_t wait)
{
	struct latency *latency = &expected[task->where].latency;
	uint32_t bucket = 0;

	task->waited_ns += wait;
	if (record->is_migration)
		return;
	wait = task->waited_ns;
	task->waited_ns = 0;
	if (!wait && !record->queued)
		return;
	while (wait > latency_bound(bucket))
		bucket++;
	latency->counts[bucket]++;
	latency->sum_ns += wait;
	if (wait > latency->longest_ns)
		latency->longest_ns = wait;
}

/*
 * The records before a task's first one only tell where it ran last, and what its queue had been
 * throttled by then, which the observer knows as well. Returns how many switches are missing: on
 * some machines not every one is traced.
 */
static uint64_t replay(const struct switch_record *records, uint64_t nr)
{
	static int64_t last[ABI_CPUS_MAX];
	uint64_t nr_missing = 0;

	memset(expected, 0, sizeof(expected));
	memset(last, 0xff, sizeof(last));
	for (uint64_t i = 0; i < nr; i++) {
		const struct switch_record *record = &records[i];
		struct task *task = find_task(record->next);
		uint64_t wait;

		before[i] = last[record->cpu];
		if (!record->is_migration) {
			nr_missing += before[i] >= 0 && records[before[i]].next != record->prev;
			last[record->cpu] = (int64_t)i;
		}
		if (!task)
			continue;
		if (i >= task->first_record) {
			expected[task->where].migrations_numa +=
				record->is_migration &&
				topology.node_of[record->cpu] != topology.node_of[record->prev];
			wait = wait_at(record, task);
			add_length(record, task, wait);
			if (wait && task->where != HOST)
				add_wait(records, (int64_t)i, task, wait);
		}
		task->cpu = record->is_migration ? UINT32_MAX : record->cpu;
		task->throttled_ns = record->throttled_ns;
		task->was_delayed = record->is_migration && record->is_delayed;
	}
	return nr_missing;
}

/* --- one load --------------------------------------------------------------------------------------- */

static const char *const cause_names[WAIT_CAUSE_NR] = {
	"unattributed", "own_container", "pod_sibling", "other_pod",
	"host",		"kernel",	 "idle",	"own_quota",
};

static void compare(const char *load, enum where where, const struct observe_usage *first,
		    const struct observe_usage *last)
{
	const struct expected *sum = &expected[where];
	double total = (double)(sum->unclear_ns + sum->asleep_ns), counted = 0, worst = 0,
	       older = 0;
	enum wait_cause worst_cause = WAIT_UNATTRIBUTED;

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		total += (double)(sum->wait_ns[cause] + sum->older_ns[cause]);
		older += (double)sum->older_ns[cause];
	}
	if (total == 0) {
		printf("# %s, %s: nothing waited\n", load, groups[where].name);
		if (where > OTHER)
			check(false, "%s, %s: somebody waits", load, groups[where].name);
		return;
	}
	for (enum wait_cause cause = 0; cause < WAIT_CAUSE_NR; cause++) {
		double ours = (double)(last->wait_ns[cause] - first->wait_ns[cause]);
		double least = (double)sum->wait_ns[cause], most = least, difference = 0;

		if (cause != WAIT_OWN_QUOTA && cause != WAIT_OWN_CONTAINER)
			most += (double)sum->unclear_ns;
		if (cause == WAIT_HOST || cause == WAIT_KERNEL || cause == WAIT_IDLE)
			most += (double)sum->asleep_ns;
		most += cause == WAIT_UNATTRIBUTED ? older : (double)sum->older_ns[cause];
		if (ours < least)
			difference = (least - ours) / total;
		else if (ours > most)
			difference = (ours - most) / total;
		counted += ours;
		printf("# %s, %s: %s %.2f ms, the log %.2f to %.2f ms\n", load, groups[where].name,
		       cause_names[cause], ours / 1e6, least / 1e6, most / 1e6);
		if (difference > worst) {
			worst = difference;
			worst_cause = cause;
		}
	}
	check(counted > 0.999 * total && counted < 1.001 * total,
	      "%s, %s: the sum of the causes, %.1f ms, is the log's %.1f ms", load,
	      groups[where].name, counted / 1e6, total / 1e6);
	check(worst <= TOLERANCE, "%s, %s: each cause within %.0f point (most: %s by %.2f)", load,
	      groups[where].name, TOLERANCE * 100, cause_names[worst_cause], worst * 100);
	check((double)(last->wait_ns[WAIT_UNATTRIBUTED] - first->wait_ns[WAIT_UNATTRIBUTED]) <=
		      TOLERANCE * total + older,
	      "%s, %s: no more than %.0f %% is unattributed, and what is older than %d switches, %.2f ms",
	      load, groups[where].name, TOLERANCE * 100, OBSERVE_INTERVALS, older / 1e6);
}

/* Where the log has all switches, each bucket of the observer is as that of the log. */
static void compare_lengths(const char *load, enum where where, const struct latency *first,
			    const struct latency *last, uint64_t nr_missing)
{
	const struct latency *ours = &expected[where].latency;
	uint64_t differences = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		const uint64_t counted = last->counts[i] - first->counts[i];

		differences += counted > ours->counts[i] ? counted - ours->counts[i]
							 : ours->counts[i] - counted;
		if (counted || ours->counts[i])
			printf("# %s, %s: %llu waits in bucket %u, the log %llu\n", load,
			       groups[where].name, (unsigned long long)counted, i,
			       (unsigned long long)ours->counts[i]);
	}
	check(differences <= nr_missing, "%s, %s: %llu waits, by length as in the log", load,
	      groups[where].name, (unsigned long long)latency_count(ours));
	check(nr_missing || (last->sum_ns - first->sum_ns == ours->sum_ns &&
			     last->longest_ns >= ours->longest_ns),
	      "%s, %s: their sum, %.3f ms, is the log's %.3f ms, and none is longer than %.3f ms",
	      load, groups[where].name, (double)(last->sum_ns - first->sum_ns) / 1e6,
	      (double)ours->sum_ns / 1e6, (double)last->longest_ns / 1e6);
}

/* What the observer has counted by now. */
struct reading {
	struct observe_usage usages[NR_WHERE];
	struct latency latencies[NR_WHERE];
};

static bool read_one(struct observer *observer, enum where where, struct reading *ret_reading)
{
	return !observe_usage(observer, groups[where].id, &ret_reading->usages[where]) &&
	       !observe_latency(observer, groups[where].id, &ret_reading->latencies[where]);
}

/* Of those that have ended, what was read then remains. */
static bool read_all(struct observer *observer, struct reading *ret_reading)
{
	for (enum where where = DATABASE; where < NR_WHERE; where++)
		if (groups[where].id && !read_one(observer, where, ret_reading))
			return false;
	return true;
}

static bool claim(struct observer *observer, enum where where, uint32_t *ret_slot)
{
	const struct observe_group group = {.cgroup_id = groups[where].id,
					    .level = 3,
					    .pod = groups[where].pod,
					    .cpus = &topology.all};

	return !observe_claim(observer, &group, ret_slot);
}

/* Tasks that never sleep are queued whenever they are moved, so the log has all of their moves. */
static void compare_moves(const char *load, enum where where, const struct observe_usage *first,
			  const struct observe_usage *last)
{
	uint64_t ours = last->migrations_numa - first->migrations_numa;

	check(ours && ours == expected[where].migrations_numa,
	      "%s, %s: %llu moves from node to node, the log %llu", load, groups[where].name,
	      (unsigned long long)ours, (unsigned long long)expected[where].migrations_numa);
}

static bool is_possible(const struct load *load)
{
	const char *missing = NULL;

	if (load->quota && !has_quota)
		missing = "there is no cpu controller";
	else if (load->needs_nodes && !has_nodes)
		missing = "there is one NUMA node";
	if (missing)
		printf("# not tested, because %s: %s\n", missing, load->name);
	return !missing;
}

/* Let the tasks from this one on work, one after the other: so that their first waits are not longer
 * than the observer can explain. */
static void begin_tasks(struct switch_log *skeleton, int first)
{
	uint64_t nr_records;

	for (int i = first; i < nr_tasks; i++) {
		tasks[i].run_delay_ns = read_run_delay(tasks[i].pid);
		tasks[i].cpu = UINT32_MAX;
	}
	nr_records = __atomic_load_n(&skeleton->bss->nr_records, __ATOMIC_ACQUIRE);
	for (int i = first; i < nr_tasks; i++)
		tasks[i].first_record = nr_records;
	for (int i = first; i < nr_tasks; i++) {
		kill(tasks[i].pid, SIGCONT);
		pause_us(5000);
	}
}

/* The kernel may keep the cgroup for a moment after its last task. */
static bool remove_group(const struct group *group)
{
	for (int i = 0; i < 1000; i++) {
		if (!rmdir(group->path))
			return true;
		if (errno != EBUSY)
			return false;
		pause_us(10000);
	}
	return false;
}

static bool has_nothing(const struct reading *reading, enum where where)
{
	const struct observe_usage *usage = &reading->usages[where];

	return !observe_wait_ns(usage) && !usage->switches && !usage->preemptions &&
	       !(usage->run_local_ns + usage->run_remote_ns + usage->run_outside_ns) &&
	       !latency_count(&reading->latencies[where]);
}

/*
 * End a container, and begin it anew as `next`, while the others go on. There is one slot more than
 * there are containers, so the second time it gets the slot that it had first.
 */
static bool restart(struct observer *observer, struct switch_log *skeleton, const struct load *load,
		    enum where where, enum where next, struct reading *first, struct reading *last)
{
	const int nr_before = nr_tasks;
	uint32_t slot;

	end_tasks_of(where);
	if (!read_one(observer, where, last) || !remove_group(&groups[where]) ||
	    observe_release(observer, groups[where].id))
		return false;
	groups[where].id = 0;
	if (make_group(&groups[next]) || !claim(observer, next, &slot) ||
	    !read_one(observer, next, first))
		return false;
	check(has_nothing(first, next), "%s: %s begins with 0, in slot %u", load->name,
	      groups[next].name, slot);
	for (size_t i = 0; i < ARRAY_SIZE(load->crowds); i++)
		if (load->crowds[i].where == DATABASE && !add_crowd(&load->crowds[i], next))
			return false;
	if (!await_stop(nr_before) || !read_one(observer, next, first))
		return false;
	begin_tasks(skeleton, nr_before);
	return true;
}

/* Other loads have the container as if it had never been another one. */
static void forget_restarts(void)
{
	for (enum where where = SECOND_DATABASE; where <= THIRD_DATABASE; where++) {
		if (groups[where].id)
			groups[DATABASE].id = groups[where].id;
		groups[where].id = 0;
	}
}

static void run_load(struct observer *observer, struct switch_log *skeleton,
		     const struct switch_record *records, const struct load *load)
{
	uint64_t nr, io_stalled_us = read_io_stalled_us(DATABASE);
	uint64_t nr_receptions = read_receptions();
	struct reading first, last;

	__atomic_store_n(&skeleton->bss->nr_records, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&skeleton->bss->is_on, 1, __ATOMIC_RELEASE);
	if (load->quota && write_file(groups[DATABASE].path, "cpu.max", load->quota))
		return check(false, "%s: set cpu.max", load->name);
	if (!add_tasks(load) || !read_all(observer, &first)) {
		end_tasks();
		return check(false, "%s: start the tasks", load->name);
	}
	begin_tasks(skeleton, 0);
	pass_window(load);
	if (load->restarts) {
		check(restart(observer, skeleton, load, DATABASE, SECOND_DATABASE, &first, &last),
		      "%s: it is restarted", load->name);
		pass_window(load);
		check(restart(observer, skeleton, load, SECOND_DATABASE, THIRD_DATABASE, &first,
			      &last),
		      "%s: and once more", load->name);
		pass_window(load);
	}
	signal_all(SIGSTOP);
	check(await_stop(0) && read_all(observer, &last), "%s: all tasks stop", load->name);
	if (load->writes && has_disk) {
		io_stalled_us = read_io_stalled_us(DATABASE) - io_stalled_us;
		check(io_stalled_us > 0, "%s: they waited for the disk, %.1f ms", load->name,
		      (double)io_stalled_us / 1e3);
	}
	if (load->has_packets) {
		nr_receptions = read_receptions() - nr_receptions;
		check(nr_receptions > 10, "%s: CPU %u received %llu times", load->name, first_cpu,
		      (unsigned long long)nr_receptions);
	}
	__atomic_store_n(&skeleton->bss->is_on, 0, __ATOMIC_RELEASE);
	pause_us(1000);
	nr = __atomic_load_n(&skeleton->bss->nr_records, __ATOMIC_ACQUIRE);
	check(nr > 100 && nr <= SWITCH_LOG_RECORDS, "%s: the log holds all %llu records",
	      load->name, (unsigned long long)nr);
	if (nr <= SWITCH_LOG_RECORDS) {
		uint64_t nr_missing = replay(records, nr);

		if (nr_missing)
			printf("# %s: %llu switches were not traced\n", load->name,
			       (unsigned long long)nr_missing);
		for (int i = DATABASE; i < (load->restarts ? NR_WHERE : OTHER + 1); i++) {
			compare(load->name, (enum where)i, &first.usages[i], &last.usages[i]);
			compare_lengths(load->name, (enum where)i, &first.latencies[i],
					&last.latencies[i], nr_missing);
		}
		if (load->has_kernel)
			check(expected[DATABASE].wait_ns[WAIT_KERNEL] > 0,
			      "%s: the kernel's threads kept a container waiting, %.2f ms",
			      load->name, (double)expected[DATABASE].wait_ns[WAIT_KERNEL] / 1e6);
		for (int i = DATABASE; load->needs_nodes && i <= OTHER; i++)
			if (i != SIDECAR)
				compare_moves(load->name, (enum where)i, &first.usages[i],
					      &last.usages[i]);
	}
	end_tasks();
	forget_restarts();
	if (load->quota)
		write_file(groups[DATABASE].path, "cpu.max", "max 100000");
}

/* --- the run ------------------------------------------------------------------------------------- */

static bool prepare(void)
{
	unsigned int cpus[CPUSET_MAX], nr = 0;

	if (places_open(&topology) || find_mount())
		return log_err(-ENOENT, "test: needs sysfs and a cgroup2 mount") == 0;
	cpuset_for_each (cpu, &topology.all)
		cpus[nr++] = cpu;
	driver_cpu = cpus[0];
	first_cpu = cpus[nr - 1];
	second_cpu = cpus[nr > 1 ? nr - 2 : 0];
	cpuset_for_each (cpu, &topology.all) {
		if (cpu == driver_cpu || topology.node_of[cpu] == topology.node_of[first_cpu])
			continue;
		far_cpu = cpu;
		has_nodes = true;
	}
	has_disk = !chdir("/disk");
	if (!flood_receive() || !flood_steer((int)first_cpu))
		return log_err(-errno, "test: needs packets over the loopback device") == 0;
	return !make_groups() && !set_cpus(0, driver_cpu, false);
}

static struct observer *open_observer(void)
{
	const struct observe_setup setup = {.topology = &topology, .max_containers = OTHER + 1};
	struct observer *observer cleanup_observer = NULL;
	uint32_t slot;

	if (observe_open(&setup, &observer))
		return NULL;
	for (enum where where = DATABASE; where <= OTHER; where++)
		if (!claim(observer, where, &slot))
			return NULL;
	return TAKE_PTR(observer);
}

static const struct switch_record *open_log(struct switch_log *skeleton)
{
	size_t size = SWITCH_LOG_RECORDS * sizeof(struct switch_record);
	void *memory;

	if (switch_log__load(skeleton) || switch_log__attach(skeleton))
		return NULL;
	memory = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(skeleton->maps.records), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
	struct observer *observer cleanup_observer = NULL;
	struct switch_log *skeleton cleanup_log = NULL;
	const struct switch_record *records;

	log_open("causes-test", LOG_LEVEL_INFO);
	if (!prepare())
		return 1;
	observer = open_observer();
	skeleton = switch_log__open();
	records = observer && skeleton ? open_log(skeleton) : NULL;
	if (!records)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		if (argc > 1 && strcmp(argv[1], loads[i].name))
			continue;
		if (is_possible(&loads[i]))
			run_load(observer, skeleton, records, &loads[i]);
	}
	remove_groups();
	flood_steer(-1);
	printf("1..%d\n", nr_passed + nr_failed);
	return nr_failed ? 1 : 0;
}
