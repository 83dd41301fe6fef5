/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that drive the cgroup room on a real kernel, inside a guest, and
 * print TAP. What the room says is compared with what the kernel's files and
 * procfs say, read here by hand. The scene: two containers of one pod below a root
 * partition, on the shape of 16 CPUs and two nodes.
 */
#ifndef GUEST_CGROUP_SCENE_H
#define GUEST_CGROUP_SCENE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/apply.h"
#include "cgroup/port.h"
#include "lib/cleanup.h"

#define MOUNT "/sys/fs/cgroup/"

static unsigned int nr_checks, nr_failed;

__attribute__((format(printf, 2, 3))) static inline void check(bool holds, const char *format, ...)
{
	va_list args;

	nr_checks++;
	nr_failed += !holds;
	printf("%s %u - ", holds ? "ok" : "not ok", nr_checks);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

/* --- the kernel, by hand ---------------------------------------------------------------------- */

static inline const char *read_text(const char *path)
{
	static char buffers[4][8192];
	static unsigned int turn;
	char *text = buffers[turn++ % 4];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(buffers[0]) - 1);

	if (fd >= 0)
		close(fd);
	if (len < 0)
		return "(unreadable)";
	text[len] = '\0';
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

static inline const char *kernel_has(const char *group, const char *file)
{
	char path[1024];

	snprintf(path, sizeof(path), MOUNT "%s/%s", group, file);
	return read_text(path);
}

static inline int write_by_hand(const char *group, const char *file, const char *value)
{
	char path[1024];
	int fd, err = 0;

	snprintf(path, sizeof(path), MOUNT "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static inline const char *allowed_list(pid_t pid)
{
	static char list[256];
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	line = strstr(read_text(path), "Cpus_allowed_list:");
	if (!line || sscanf(line, "Cpus_allowed_list: %255s", list) != 1)
		return "(none)";
	return list;
}

static inline const char *cgroup_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	return read_text(path);
}

static inline bool kernel_at_most(int major, int minor)
{
	struct utsname name;
	int a = 0, b = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &a, &b);
	return a < major || (a == major && b <= minor);
}

/* Waits for a state to come, however loaded the machine is. */
static inline bool eventually(bool (*holds)(void))
{
	for (unsigned int i = 0; i < 1200; i++) {
		if (holds())
			return true;
		usleep(100000);
	}
	return false;
}

/* A child that only sleeps, on one CPU if `cpu` >= 0; *ret_pidfd is its pidfd. */
static inline pid_t start_sleeper(int cpu, int *ret_pidfd)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	if (cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		check(sched_setaffinity(pid, sizeof(set), &set) == 0, "a process on CPU %d", cpu);
	}
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pid;
}

static inline void end_sleeper(pid_t pid, int pidfd)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pidfd);
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct groups *groups;
static struct groups_port port;
static char sentence[GROUP_ERROR_MAX];

static inline int do_step(enum step_kind kind, enum group_role role, const char *path,
			  enum group_file file, const char *value)
{
	struct step step = {.kind = kind, .role = role, .file = file, .value = (char *)value};
	int err;

	snprintf(step.path, sizeof(step.path), "%s", path);
	sentence[0] = '\0';
	err = port.apply(port.self, &step, sentence);
	if (err)
		printf("# %s\n", sentence);
	return err;
}

static inline int create(enum group_role role, const char *path)
{
	return do_step(STEP_CREATE, role, path, 0, NULL);
}

static inline int put(const char *path, enum group_file file, const char *value)
{
	return do_step(STEP_WRITE, GROUP_CONTAINER, path, file, value);
}

static inline int drop(const char *path)
{
	return do_step(STEP_REMOVE, GROUP_CONTAINER, path, 0, NULL);
}

static inline int open_groups(void)
{
	struct groups_options options = {
		.root = "/", .workload_root = "pinfold.slice", .may_write = true};
	enum dir_problem problem;
	int err = groups_open(&options, &groups, &problem, sentence);

	if (err)
		printf("# %s: %s\n", dir_problem_name(problem), sentence);
	else
		port = groups_port(groups);
	return err;
}

/* The names of the three levels in the layout in force. */
static char pod[256], first[512], second[512];

static inline void name_groups(bool systemd)
{
	snprintf(pod, sizeof(pod), "pinfold.slice/%s", systemd ? "pinfold-pod1.slice" : "pod1");
	snprintf(first, sizeof(first), "%s/%s", pod, systemd ? "pinfold-1-a.scope" : "a");
	snprintf(second, sizeof(second), "%s/%s", pod, systemd ? "pinfold-1-b.scope" : "b");
}

/* CPUs 0 and 1 stay with the host; a has 4-7, b the rest. */
static inline void build_tree(void)
{
	check(create(GROUP_ROOT, "pinfold.slice") == 0, "the workload root is made");
	check(put("pinfold.slice", GROUP_CPUSET_MEMS, "0-1") == 0, "its memory nodes");
	check(put("pinfold.slice", GROUP_CPUSET_CPUS, "2-15") == 0, "its CPUs");
	check(put("pinfold.slice", GROUP_CPUSET_PARTITION, "root") == 0, "it is a partition");
	check(!strcmp(kernel_has("pinfold.slice", "cpuset.cpus.partition"), "root"),
	      "the kernel says that it is a valid partition root");
	check(create(GROUP_POD, pod) == 0, "the pod's group is made");
	check(put(pod, GROUP_CPUSET_MEMS, "0-1") == 0, "the pod's memory nodes");
	check(put(pod, GROUP_CPUSET_CPUS, "2-15") == 0, "the pod's CPUs");
	check(create(GROUP_CONTAINER, first) == 0, "container a is made");
	check(put(first, GROUP_CPUSET_MEMS, "0") == 0, "a's memory nodes");
	check(put(first, GROUP_CPUSET_CPUS, "4,5,6,7") == 0, "a's CPUs");
	check(put(first, GROUP_CPU_MAX, "max 100000") == 0, "a has no quota");
	check(create(GROUP_CONTAINER, second) == 0, "container b is made");
	check(put(second, GROUP_CPUSET_MEMS, "0-1") == 0, "b's memory nodes");
	check(put(second, GROUP_CPUSET_CPUS, "2-3,8-15") == 0, "b's CPUs");
	check(put(second, GROUP_CPU_WEIGHT, "59") == 0, "b's weight");
	check(put(second, GROUP_CPU_MAX, "150000 100000") == 0, "b's quota");
	check(put(second, GROUP_MEMORY_MAX, "100000000") == 0, "b's memory limit, not whole pages");
}

static inline void check_files(void)
{
	check(!strcmp(kernel_has(first, "cpuset.cpus"), "4-7"), "kernel: a has CPUs 4-7");
	check(!strcmp(kernel_has(first, "cpuset.cpus.effective"), "4-7"), "kernel: and runs there");
	check(!strcmp(kernel_has(first, "cpuset.mems.effective"), "0"), "kernel: a is on node 0");
	check(!strcmp(kernel_has(first, "cpu.max"), "max 100000"), "kernel: a is not throttled");
}

static inline void check_second_files(void)
{
	check(!strcmp(kernel_has(second, "cpuset.cpus.effective"), "2-3,8-15"), "kernel: b's CPUs");
	check(!strcmp(kernel_has(second, "cpu.weight"), "59"), "kernel: b's weight");
	check(!strcmp(kernel_has(second, "cpu.max"), "150000 100000"), "kernel: b's quota");
	check(atoll(kernel_has(second, "memory.max")) / 4096 == 100000000 / 4096,
	      "kernel: b's memory limit in whole pages");
}

static inline void want(struct group_tree *tree, enum group_role role, const char *path,
			const char *const files[GROUP_FILE_NR])
{
	struct group *group = group_tree_add(tree, role, path);

	for (int file = 0; file < GROUP_FILE_NR; file++)
		group->files[file] = files[file] ? strdup(files[file]) : NULL;
}

/* What was applied is what is there: else the agent would write the same thing for ever. */
static inline void test_plan_settles(void)
{
	static const char *const root[GROUP_FILE_NR] = {"0-1", "2-15", "root"};
	static const char *const both[GROUP_FILE_NR] = {"0-1", "2-15"};
	static const char *const a[GROUP_FILE_NR] = {"0", "4-7", NULL, NULL, "max 100000"};
	static const char *const b[GROUP_FILE_NR] = {"0-1",	      "2-3,8-15",  NULL, "59",
						     "150000 100000", "100000000", "0"};
	struct group_tree desired cleanup_tree = {0};
	struct group_tree observed cleanup_tree = {0};
	struct plan plan cleanup_plan = {0};

	want(&desired, GROUP_ROOT, "pinfold.slice", root);
	want(&desired, GROUP_POD, pod, both);
	want(&desired, GROUP_CONTAINER, first, a);
	want(&desired, GROUP_CONTAINER, second, b);
	check(port.read_tree(port.self, &observed) == 0 &&
		      plan_make(&desired, &observed, &plan) == 0 && plan.nr_steps == 0,
	      "nothing is left to do (%u steps)", plan.nr_steps);
	for (uint32_t i = 0; i < plan.nr_steps; i++)
		printf("# %d %s %d '%s' was '%s'\n", plan.steps[i].kind, plan.steps[i].path,
		       plan.steps[i].file, plan.steps[i].value, plan.steps[i].old);
}

static inline void test_host_is_pushed_aside(void)
{
	int fd;
	pid_t pid = start_sleeper(-1, &fd);
	cpu_set_t set;

	check(!strcmp(allowed_list(pid), "0-1"), "a host task has the reserved CPUs only (%s)",
	      allowed_list(pid));
	CPU_ZERO(&set);
	CPU_SET(5, &set);
	check(sched_setaffinity(pid, sizeof(set), &set) < 0 && errno == EINVAL,
	      "it cannot be pinned onto an exclusive CPU");
	end_sleeper(pid, fd);
}

static inline void test_refused_values(void)
{
	check(put(first, GROUP_CPUSET_CPUS, "0-1") == -EREMOTEIO &&
		      strstr(sentence, "parent's set"),
	      "a list that misses the parent's is found out");
	check(put(first, GROUP_CPUSET_CPUS, "1-4") == -EREMOTEIO && strstr(sentence, "only 2-4"),
	      "a list that is partly missed is found out");
	check(put(first, GROUP_CPUSET_CPUS, "900") == -EINVAL || strstr(sentence, "900"),
	      "a CPU that does not exist is refused");
	check(put(first, GROUP_CPUSET_MEMS, "7") < 0 && strstr(sentence, "cpuset.mems"),
	      "a memory node that does not exist is refused");
	check(put(second, GROUP_CPU_MAX, "10 100000") < 0 && strstr(sentence, "cpu.max"),
	      "a quota below the kernel's least is refused");
	check(put("pinfold.slice/none.slice/none.scope", GROUP_CPUSET_CPUS, "4") < 0,
	      "a group that is not there is refused");
	check(put(first, GROUP_CPUSET_MEMS, "0") == 0, "the right memory node again");
	check(put(first, GROUP_CPUSET_CPUS, "4-7") == 0, "the right CPUs again");
}

static inline bool lists_pid(const char *path, pid_t pid)
{
	pid_t *pids cleanup_free = NULL;
	uint32_t nr = 0;

	if (port.tasks(port.self, path, &pids, &nr))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static inline void test_join(pid_t pid, int pidfd)
{
	char where[600];
	int other_fd;
	pid_t other;

	check(port.join(port.self, first, pid, pidfd, sentence) == 0, "a process joins a %s",
	      sentence);
	snprintf(where, sizeof(where), "0::/%s", first);
	check(!strcmp(cgroup_of(pid), where), "kernel: it is there (%s)", cgroup_of(pid));
	check(!strcmp(allowed_list(pid), "4-7"),
	      "kernel: it may run on all of 4-7, though it came pinned to one CPU (%s)",
	      allowed_list(pid));
	check(lists_pid(first, pid) && lists_pid("pinfold.slice", pid), "it is listed");
	check(!lists_pid(second, pid), "and not in b");

	other = start_sleeper(-1, &other_fd);
	check(port.join(port.self, first, other, pidfd, sentence) == -ESRCH,
	      "a pid that is not the pidfd's process is not moved");
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	check(port.join(port.self, first, other, other_fd, sentence) == -ESRCH,
	      "a process that has ended is not moved");
	close(other_fd);
}

static inline void test_populated(pid_t pid)
{
	struct group_tree tree cleanup_tree = {0};
	struct group_status status;
	struct stat info;
	char path[600], found[GROUP_PATH_MAX] = "";
	struct group *group;

	check(put(first, GROUP_CPUSET_CPUS, "") == -EINVAL, "an empty list is refused");
	check(!strcmp(kernel_has(first, "cpuset.cpus"), "4-7"), "kernel: and was not written");
	check(drop(first) == -EBUSY, "a populated group is not removed");
	check(lists_pid(first, pid), "its process lives");
	check(port.status(port.self, first, &status) == 0, "status of a");
	snprintf(path, sizeof(path), MOUNT "%s", first);
	stat(path, &info);
	check(status.cgroup_id == info.st_ino && status.level == 3 && status.populated &&
		      cpuset_count(&status.effective_cpus) == 4,
	      "status agrees with the kernel");
	check(port.path_of(port.self, info.st_ino, found, sizeof(found)) == 0 &&
		      !strcmp(found, first),
	      "the id leads back to the path (%s)", found);
	check(port.path_of(port.self, 999999999, found, sizeof(found)) == -ENOENT,
	      "an id that is nobody's leads nowhere");
	check(port.read_tree(port.self, &tree) == 0, "the tree is read");
	group = group_tree_find(&tree, first);
	check(group && group->populated && group->role == GROUP_CONTAINER &&
		      !strcmp(group->files[GROUP_CPUSET_CPUS], "4-7"),
	      "it shows a as it is");
	check(group && !strcmp(group->uid, "1") && !strcmp(group->container, "a"),
	      "and whose it is");
	check(tree.nr_groups == 4 && tree.groups[0].role == GROUP_ROOT &&
		      tree.groups[1].role == GROUP_POD,
	      "it shows four groups, parents first (%u)", tree.nr_groups);
}

static inline void test_inner_groups(pid_t pid)
{
	struct group_tree tree cleanup_tree = {0};
	char inner[600], path[700], text[16];

	snprintf(inner, sizeof(inner), "%s/inner", first);
	snprintf(path, sizeof(path), MOUNT "%s", inner);
	check(mkdir(path, 0755) == 0, "the workload makes a group of its own");
	snprintf(text, sizeof(text), "%d", (int)pid);
	check(write_by_hand(inner, "cgroup.procs", text) == 0, "and moves into it");
	check(port.read_tree(port.self, &tree) == 0 && tree.nr_groups == 4,
	      "it is not ours to observe");
	check(lists_pid(first, pid), "its process is still listed with a");
}

/* The plan of TAP, and the program's exit status. */
static inline int finish_checks(void)
{
	printf("1..%u\n", nr_checks);
	return nr_failed || !nr_checks ? 1 : 0;
}

#endif
