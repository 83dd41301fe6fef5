/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up /proc, with the affinities of its tasks in a table in place of the kernel, and walks
 * over it. Process 1 is init, process 50 the owner of the exclusive CPUs. Include it after cmocka.
 */
#ifndef TESTS_STRANGER_SCENE_H
#define TESTS_STRANGER_SCENE_H

#include <fcntl.h>

#include <pinfold/names.h>

#include "lib/file.h"
#include "root_scene.h"
#include "stranger/procs.h"
#include "stranger/saved.h"
#include "stranger/strangers.h"

#define BOOT	  "11111111-2222-3333-4444-555555555555"
#define S	  1000000000ULL
#define KTHREAD	  "2129984"  /* PF_KTHREAD and others */
#define BOUND	  "69238848" /* and PF_NO_SETAFFINITY */
#define USER	  "4194560"
#define MAX_TASKS 128
#define ROOT	  "pinfold.slice"
#define OWNER	  ROOT "/pod1/db"

static int run_fd;
static struct strangers *strangers;
static struct stranger_report report;
static int result;
static uint64_t now_ns, ticks;

/* --- the kernel ---------------------------------------------------------------------------------- */

static struct {
	pid_t thread;
	struct cpuset cpus;
	struct cpuset asked; /* what the last write asked for, with CPUs that do not exist */
	int error;
	unsigned int nr_writes, nr_tries;
} tasks[MAX_TASKS];
/* The answer to each question for the affinity of process 20. */
static int get_error;
/* Those of the kernel, and of the request, which may be behind it. */
static struct cpuset online, known_online;

static inline unsigned int index_of(pid_t thread)
{
	for (unsigned int i = 0; i < MAX_TASKS; i++)
		if (tasks[i].thread == thread)
			return i;
	return MAX_TASKS;
}

/* What a crash at the first write of a walk would leave. */
static char *crashed_file;
static size_t crashed_len;

/* What happens between the look at a task and the write to it; once. */
static pid_t write_to;
static void (*before_write)(void);

static inline int get_cpus(void *self, pid_t thread, struct cpuset *ret_cpus)
{
	const unsigned int i = index_of(thread);

	if (i == MAX_TASKS)
		return -ESRCH;
	if (get_error && thread == 20)
		return get_error;
	*ret_cpus = tasks[i].cpus;
	cpuset_intersect(ret_cpus, &online);
	return 0;
}

static inline int set_cpus(void *self, pid_t thread, const struct cpuset *cpus)
{
	const unsigned int i = index_of(thread);
	const struct cpuset all = cpuset_of_text("0-7");

	if (i == MAX_TASKS)
		return -ESRCH;
	if (write_to == thread) {
		write_to = 0;
		before_write();
	}
	if (!crashed_file)
		file_read_all(run_fd, PINFOLD_STRANGERS_FILE, 65536, &crashed_file, &crashed_len);
	tasks[i].nr_tries++;
	tasks[i].asked = *cpus;
	if (tasks[i].error)
		return tasks[i].error;
	tasks[i].nr_writes++;
	tasks[i].cpus = *cpus;
	cpuset_intersect(&tasks[i].cpus, &all);
	return 0;
}

static inline uint64_t get_ticks(void *self)
{
	return ticks;
}

static const struct affinity_calls calls = {.get = get_cpus, .set = set_cpus, get_ticks};

static inline void put_thread(pid_t process, pid_t thread, const char *comm, pid_t parent,
			      const char *flags, uint64_t start, const char *cpus)
{
	const unsigned int i = index_of(thread) < MAX_TASKS ? index_of(thread) : index_of(0);
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)process, (int)thread);
	snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 %s 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n",
		 (int)thread, comm, (int)parent, flags, (unsigned long long)start);
	put(path, text);
	assert_true(i < MAX_TASKS);
	tasks[i].thread = thread;
	tasks[i].nr_writes = tasks[i].nr_tries = 0;
	tasks[i].cpus = cpuset_of_text(cpus);
}

static inline void put_process(pid_t process, const char *comm, pid_t parent, const char *flags,
			       uint64_t start, const char *cgroup, const char *cpus)
{
	char path[64], text[128];

	put_thread(process, process, comm, parent, flags, start, cpus);
	snprintf(path, sizeof(path), "proc/%d/cgroup", (int)process);
	snprintf(text, sizeof(text), "0::/%s\n", cgroup);
	put(path, text);
}

static inline void end_process(pid_t process)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%d", root, (int)process);
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	tasks[index_of(process)].thread = 0;
}

static inline void expect_cpus(pid_t thread, const char *wanted)
{
	char text[128];

	cpuset_format(&tasks[index_of(thread)].cpus, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static inline void write_from_outside(pid_t thread, const char *cpus)
{
	tasks[index_of(thread)].cpus = cpuset_of_text(cpus);
}

/* --- walks --------------------------------------------------------------------------------------- */

static inline void on_walked(void *self, int error, struct stranger_report *walked)
{
	stranger_report_fini(&report);
	result = error;
	report = *walked;
	*walked = (struct stranger_report){0};
}

static const struct stranger_sink sink = {.walked = on_walked};

static inline void open_room(void)
{
	const struct strangers_options options = {
		.root = root, .run_fd = run_fd, .boot_id = BOOT, .calls = &calls};

	assert_int_equal(strangers_open(&options, &strangers), 0);
	strangers_listen(strangers, &sink);
}

static inline void restart(void)
{
	strangers_close(strangers);
	open_room();
}

/* A walk a second later. The owner has the exclusive CPUs; of CPUs 0-7 the others are allowed. */
static inline void walk(enum stranger_mode mode, const char *exclusive)
{
	struct stranger_owner owner = {.path = OWNER, .cpus = cpuset_of_text(exclusive)};
	struct stranger_request request = {.mode = mode,
					   .workload_root = ROOT,
					   .nr_owners = 1,
					   .owners = &owner,
					   .now_ns = now_ns += S};
	const struct stranger_port port = strangers_port(strangers);

	ticks += 100;
	request.cpus.exclusive = owner.cpus;
	request.cpus.online = request.cpus.allowed = known_online;
	cpuset_subtract(&request.cpus.allowed, &owner.cpus);
	assert_int_equal(port.walk(port.self, &request), 0);
	assert_int_equal(result, 0);
}

static inline void repair(const char *exclusive)
{
	walk(STRANGER_REPAIR, exclusive);
}

static inline const struct stranger_row *row_of(pid_t thread)
{
	for (uint32_t i = 0; i < report.nr; i++)
		if (report.rows[i].thread == thread)
			return &report.rows[i];
	return NULL;
}

static inline void expect_state(pid_t thread, enum stranger_state state)
{
	assert_non_null(row_of(thread));
	assert_int_equal(row_of(thread)->state, state);
}

static inline bool has_file(void)
{
	return !faccessat(run_fd, PINFOLD_STRANGERS_FILE, F_OK, 0);
}

static inline int set_up(void **state)
{
	memset(tasks, 0, sizeof(tasks));
	online = known_online = cpuset_of_text("0-7");
	get_error = 0;
	now_ns = S;
	ticks = 1000;
	if (make_root("strangers"))
		return -1;
	put("proc/uptime", "1 1\n");
	put("state/x", "");
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/state", root);
		run_fd = open(path, O_DIRECTORY | O_CLOEXEC);
	}
	put_process(1, "systemd", 0, USER, 1, "init.scope", "0-7");
	put_process(50, "postgres", 1, USER, 50, OWNER "/inner", "4-5");
	open_room();
	return 0;
}

static inline int tear_down(void **state)
{
	strangers_close(strangers);
	stranger_report_fini(&report);
	free(crashed_file);
	crashed_file = NULL;
	close(run_fd);
	return remove_root();
}

/* The walk's write to this thread is preceded by this. */
static inline void meanwhile(pid_t thread, void (*act)(void))
{
	write_to = thread;
	before_write = act;
}

static inline int uninstall(void)
{
	const struct strangers_options options = {
		.root = root, .run_fd = run_fd, .boot_id = BOOT, .calls = &calls};
	struct topology topology = {.all = cpuset_of_text("0-7")};

	return strangers_restore(&options, &topology, ROOT);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
