// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * Drives the cgroup room on a real kernel, inside a guest. Prints TAP. What the
 * room says is compared with what the kernel's files and procfs say, read here
 * by hand.
 *
 * usage: cgroup_drive cgroupfs | systemd
 */
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

__attribute__((format(printf, 2, 3))) static void check(bool holds, const char *format, ...)
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

static const char *read_text(const char *path)
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

static const char *kernel_has(const char *group, const char *file)
{
	char path[1024];

	snprintf(path, sizeof(path), MOUNT "%s/%s", group, file);
	return read_text(path);
}

static int write_by_hand(const char *group, const char *file, const char *value)
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

static const char *allowed_list(pid_t pid)
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

static const char *cgroup_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	return read_text(path);
}

static bool kernel_at_most(int major, int minor)
{
	struct utsname name;
	int a = 0, b = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &a, &b);
	return a < major || (a == major && b <= minor);
}

/* A child that only sleeps, on one CPU if `cpu` >= 0; *ret_pidfd is its pidfd. */
static pid_t start_sleeper(int cpu, int *ret_pidfd)
{
	pid_t pid = fork();

	if (pid == 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		if (cpu >= 0) {
			CPU_SET(cpu, &set);
			sched_setaffinity(0, sizeof(set), &set);
		}
		for (;;)
			pause();
	}
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	usleep(50000);
	return pid;
}

static void end_sleeper(pid_t pid, int pidfd)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pidfd);
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct groups *groups;
static struct groups_port port;
static char sentence[GROUP_ERROR_MAX];

static int do_step(enum step_kind kind, enum group_role role, const char *path,
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

static int create(enum group_role role, const char *path)
{
	return do_step(STEP_CREATE, role, path, 0, NULL);
}

static int put(const char *path, enum group_file file, const char *value)
{
	return do_step(STEP_WRITE, GROUP_CONTAINER, path, file, value);
}

static int drop(const char *path)
{
	return do_step(STEP_REMOVE, GROUP_CONTAINER, path, 0, NULL);
}

static int open_groups(void)
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

static void name_groups(bool systemd)
{
	snprintf(pod, sizeof(pod), "pinfold.slice/%s", systemd ? "pinfold-pod1.slice" : "pod1");
	snprintf(first, sizeof(first), "%s/%s", pod, systemd ? "pinfold-1-a.scope" : "a");
	snprintf(second, sizeof(second), "%s/%s", pod, systemd ? "pinfold-1-b.scope" : "b");
}

/* CPUs 0 and 1 stay with the host; a has 4-7, b the rest. */
static void build_tree(void)
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

static void check_files(void)
{
	check(!strcmp(kernel_has(first, "cpuset.cpus"), "4-7"), "kernel: a has CPUs 4-7");
	check(!strcmp(kernel_has(first, "cpuset.cpus.effective"), "4-7"), "kernel: and runs there");
	check(!strcmp(kernel_has(first, "cpuset.mems.effective"), "0"), "kernel: a is on node 0");
	check(!strcmp(kernel_has(first, "cpu.max"), "max 100000"), "kernel: a is not throttled");
}

static void check_second_files(void)
{
	check(!strcmp(kernel_has(second, "cpuset.cpus.effective"), "2-3,8-15"), "kernel: b's CPUs");
	check(!strcmp(kernel_has(second, "cpu.weight"), "59"), "kernel: b's weight");
	check(!strcmp(kernel_has(second, "cpu.max"), "150000 100000"), "kernel: b's quota");
	check(atoll(kernel_has(second, "memory.max")) / 4096 == 100000000 / 4096,
	      "kernel: b's memory limit in whole pages");
}

static void want(struct group_tree *tree, enum group_role role, const char *path,
		 const char *const files[GROUP_FILE_NR])
{
	struct group *group = group_tree_add(tree, role, path);

	for (int file = 0; file < GROUP_FILE_NR; file++)
		group->files[file] = files[file] ? strdup(files[file]) : NULL;
}

/* What was applied is what is there: else the agent would write the same thing for ever. */
static void test_plan_settles(void)
{
	static const char *const root[] = {"0-1", "2-15", "root", NULL, NULL, NULL};
	static const char *const both[] = {"0-1", "2-15", NULL, NULL, NULL, NULL};
	static const char *const a[] = {"0", "4-7", NULL, NULL, "max 100000", NULL};
	static const char *const b[] = {"0-1", "2-3,8-15",	NULL,
					"59",  "150000 100000", "100000000"};
	struct group_tree desired cleanup(group_tree_fini) = {0};
	struct group_tree observed cleanup(group_tree_fini) = {0};
	struct plan plan cleanup(plan_fini) = {0};

	want(&desired, GROUP_ROOT, "pinfold.slice", root);
	want(&desired, GROUP_POD, pod, both);
	want(&desired, GROUP_CONTAINER, first, a);
	want(&desired, GROUP_CONTAINER, second, b);
	check(port.observe(port.self, &observed) == 0 &&
		      plan_make(&desired, &observed, &plan) == 0 && plan.nr_steps == 0,
	      "nothing is left to do (%u steps)", plan.nr_steps);
	for (uint32_t i = 0; i < plan.nr_steps; i++)
		printf("# %d %s %d '%s' was '%s'\n", plan.steps[i].kind, plan.steps[i].path,
		       plan.steps[i].file, plan.steps[i].value, plan.steps[i].old);
}

static void test_host_is_pushed_aside(void)
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

static void test_refused_values(void)
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

static bool lists_pid(const char *path, pid_t pid)
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

static void test_join(pid_t pid, int pidfd)
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

static void test_populated(pid_t pid)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
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
	check(port.observe(port.self, &tree) == 0, "the tree is read");
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

static void test_inner_groups(pid_t pid)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
	char inner[600], path[700], text[16];

	snprintf(inner, sizeof(inner), "%s/inner", first);
	snprintf(path, sizeof(path), MOUNT "%s", inner);
	check(mkdir(path, 0755) == 0, "the workload makes a group of its own");
	snprintf(text, sizeof(text), "%d", (int)pid);
	check(write_by_hand(inner, "cgroup.procs", text) == 0, "and moves into it");
	check(port.observe(port.self, &tree) == 0 && tree.nr_groups == 4,
	      "it is not ours to observe");
	check(lists_pid(first, pid), "its process is still listed with a");
}

/* --- watching --------------------------------------------------------------------------------- */

static struct {
	char path[GROUP_PATH_MAX], file[64];
	char want_path[GROUP_PATH_MAX], want_file[64];
	bool seen, emptied, cpu_off, cpu_on;
} heard;

static void on_changed(void *self, const char *path, const char *file)
{
	if (!strcmp(path, heard.want_path) && !strcmp(file, heard.want_file))
		heard.seen = true;
}

static void on_populated(void *self, const char *path, bool populated)
{
	if (!strcmp(path, first) && !populated)
		heard.emptied = true;
}

static void on_hotplug(void *self, unsigned int cpu, bool online)
{
	if (cpu == 15 && !online)
		heard.cpu_off = true;
	if (cpu == 15 && online)
		heard.cpu_on = true;
}

static const struct groups_sink sink = {
	.changed = on_changed, .populated = on_populated, .hotplug = on_hotplug};

/* Let the loop run until *done or for three seconds. */
static bool wait_for(sd_event *event, const bool *done)
{
	for (int i = 0; i < 300 && !*done; i++)
		sd_event_run(event, 10000);
	return *done;
}

static void expect_change(const char *path, const char *file)
{
	snprintf(heard.want_path, sizeof(heard.want_path), "%s", path);
	snprintf(heard.want_file, sizeof(heard.want_file), "%s", file);
	heard.seen = false;
}

static void write_cpu_online(const char *value)
{
	int fd = open("/sys/devices/system/cpu/cpu15/online", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, 1) != 1)
		printf("# cpu15/online: %s\n", strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void test_hotplug(sd_event *event)
{
	write_cpu_online("0");
	check(wait_for(event, &heard.cpu_off), "CPU 15 going off is heard");
	check(put(second, GROUP_CPUSET_CPUS, "2-3,8-15") == 0,
	      "a list with an offline CPU is no failure");
	write_cpu_online("1");
	check(wait_for(event, &heard.cpu_on), "and coming back");
	check(!strcmp(kernel_has("pinfold.slice", "cpuset.cpus.partition"), "root"),
	      "kernel: the partition has lived through it");
}

static void test_watch(pid_t pid, int pidfd)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
	sd_event *event = NULL;

	check(sd_event_new(&event) >= 0 && groups_watch(groups, event, &sink) == 0, "a watch");
	check(port.observe(port.self, &tree) == 0 && port.rewatch(port.self, &tree) == 0,
	      "watches the tree");
	check(port.rewatch(port.self, &tree) == 0, "and again");
	expect_change(second, "cpuset.cpus");
	check(write_by_hand(second, "cpuset.cpus", "2-15") == 0, "somebody widens b");
	check(wait_for(event, &heard.seen), "it is heard");
	check(put(second, GROUP_CPUSET_CPUS, "2-3,8-15") == 0, "b is put right");
	expect_change(pod, "");
	mkdir(MOUNT "pinfold.slice/none", 0755);
	expect_change("pinfold.slice", "");
	check(wait_for(event, &heard.seen), "a stranger's new group is heard");
	rmdir(MOUNT "pinfold.slice/none");
	test_hotplug(event);
	if (kernel_at_most(6, 12)) {
		mkdir(MOUNT "intruder", 0755);
		expect_change("pinfold.slice", "cpuset.cpus.partition");
		check(write_by_hand("intruder", "cpuset.cpus", "4-7") == 0,
		      "a sibling takes CPUs of the partition");
		check(wait_for(event, &heard.seen), "the lost partition is heard (%s)",
		      kernel_has("pinfold.slice", "cpuset.cpus.partition"));
		rmdir(MOUNT "intruder");
		check(put("pinfold.slice", GROUP_CPUSET_PARTITION, "member") == 0 &&
			      put("pinfold.slice", GROUP_CPUSET_PARTITION, "root") == 0,
		      "and made anew when the sibling is gone");
	}
	end_sleeper(pid, pidfd);
	check(wait_for(event, &heard.emptied), "the end of a's last process is heard");
	groups_close(groups);
	sd_event_unref(event);
	check(open_groups() == 0, "a restart finds the hierarchy");
}

/* --- partitions that cannot be ---------------------------------------------------------------- */

static void test_overlap(void)
{
	check(put("pinfold.slice", GROUP_CPUSET_PARTITION, "member") == 0, "a member again");
	mkdir(MOUNT "intruder", 0755);
	check(write_by_hand("intruder", "cpuset.cpus", "6-9") == 0, "a sibling has CPUs 6-9");
	if (kernel_at_most(6, 12)) {
		check(put("pinfold.slice", GROUP_CPUSET_PARTITION, "root") == -EREMOTEIO &&
			      strstr(sentence, "intruder") && strstr(sentence, "6-9"),
		      "the partition is refused, naming the sibling");
		check(!strcmp(kernel_has("pinfold.slice", "cpuset.cpus.partition"), "member"),
		      "kernel: and is not left half made");
		check(!strcmp(kernel_has("intruder", "cpuset.cpus"), "6-9"),
		      "kernel: the sibling was not touched");
	} else {
		check(put("pinfold.slice", GROUP_CPUSET_PARTITION, "root") == 0,
		      "this kernel takes the CPUs from the sibling");
	}
	rmdir(MOUNT "intruder");
	check(put("pinfold.slice", GROUP_CPUSET_PARTITION, "root") == 0, "without it all is well");
	check(put(first, GROUP_CPUSET_PARTITION, "root") == -EREMOTEIO,
	      "a partition below a group that is none is found out");
	check(!strcmp(kernel_has(first, "cpuset.cpus.partition"), "member"),
	      "kernel: and is not left half made");
}

static void test_outsiders(void)
{
	uint32_t nr = 0;
	char scope[128] = "", text[16];
	int fd;
	pid_t pid;

	check(port.outsiders(port.self, &nr, scope, sizeof(scope)) == 0 && nr >= 2 && nr < 100,
	      "user tasks outside are counted, kernel threads not (%u)", nr);
	check(!*scope, "no container scope outside (%s)", scope);
	pid = start_sleeper(-1, &fd);
	snprintf(text, sizeof(text), "%d", (int)pid);
	mkdir(MOUNT "machine.slice", 0755);
	write_by_hand("machine.slice", "cgroup.procs", text);
	check(port.outsiders(port.self, &nr, scope, sizeof(scope)) == 0 &&
		      !strcmp(scope, "machine.slice"),
	      "a populated machine.slice is named");
	end_sleeper(pid, fd);
	rmdir(MOUNT "machine.slice");
}

static void test_surroundings(void)
{
	static struct managed_group around[64];
	uint32_t nr = 0;
	struct stat info;

	stat(MOUNT, &info);
	check(port.surroundings(port.self, around, 64, &nr) == 0 && nr >= 1 &&
		      around[0].cgroup_id == info.st_ino && around[0].scope == MANAGED_SELF,
	      "the root cgroup is around us (%u)", nr);
	stat(MOUNT "pinfold.slice", &info);
	for (uint32_t i = 0; i < nr; i++)
		check(around[i].cgroup_id != info.st_ino, "the workload root is not");
}

/* --- machines that cannot be ours ------------------------------------------------------------- */

/* Opens in a child after `prepare`; the exit status is the problem it was given. */
static int problem_after(bool (*prepare)(void))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct groups_options options = {
			.root = "/", .workload_root = "pinfold.slice", .may_write = true};
		enum dir_problem problem = DIR_FINE;
		struct groups *other = NULL;

		if (!prepare())
			_exit(99);
		if (groups_open(&options, &other, &problem, sentence))
			printf("# %s: %s\n", dir_problem_name(problem), sentence);
		fflush(stdout);
		_exit(problem);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static bool have_own_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool have_own_cgroups(void)
{
	mkdir(MOUNT "container", 0755);
	return write_by_hand("container", "cgroup.procs", "0") == 0 &&
	       unshare(CLONE_NEWCGROUP) == 0;
}

static bool have_own_cgroup_mount(void)
{
	return have_own_cgroups() && have_own_mounts() &&
	       umount2("/sys/fs/cgroup", MNT_DETACH) == 0 &&
	       mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL) == 0;
}

static bool have_read_only(void)
{
	return have_own_mounts() &&
	       mount(NULL, "/sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

static bool have_part(void)
{
	return have_own_mounts() && mkdir(MOUNT "part", 0755) == 0 &&
	       mount(MOUNT "part", "/mnt", NULL, MS_BIND, NULL) == 0 &&
	       umount2("/sys/fs/cgroup", MNT_DETACH) == 0;
}

static bool have_no_mount(void)
{
	return have_own_mounts() && umount2("/sys/fs/cgroup", MNT_DETACH) == 0;
}

static bool have_no_rights(void)
{
	return setresuid(65534, 65534, 65534) == 0;
}

static void test_named_refusals(void)
{
	mkdir("/mnt", 0755);
	check(problem_after(have_own_cgroups) == DIR_OWN_NAMESPACE, "a cgroup namespace is named");
	check(problem_after(have_own_cgroup_mount) == DIR_OWN_NAMESPACE,
	      "also with a mount of its own");
	check(problem_after(have_read_only) == DIR_READ_ONLY, "a read-only mount is named");
	check(problem_after(have_part) == DIR_PARTIAL_MOUNT, "a part of the hierarchy is named");
	check(problem_after(have_no_mount) == DIR_NOT_MOUNTED, "no mount is named");
	check(problem_after(have_no_rights) == DIR_NOT_PERMITTED, "not being root is named");
	rmdir(MOUNT "container");
	rmdir(MOUNT "part");
}

/* --- the end ---------------------------------------------------------------------------------- */

static void test_uninstall(const struct originals *before)
{
	uint32_t nr_left = 0;
	int fd;
	pid_t pid = start_sleeper(-1, &fd);

	check(port.join(port.self, first, pid, fd, sentence) == 0, "a process in a %s", sentence);
	check(groups_uninstall(groups, NULL, &nr_left, sentence) == 0 && nr_left == 3,
	      "uninstall leaves the populated ones (%u) %s", nr_left, sentence);
	check(!strcmp(kernel_has("pinfold.slice", "cpuset.cpus.partition"), "member"),
	      "kernel: no partition any more");
	check(!strcmp(allowed_list(pid), "0-15"), "kernel: the process may run everywhere (%s)",
	      allowed_list(pid));
	check(port.kill(port.self, "pinfold.slice") == 0, "kill");
	check(waitpid(pid, NULL, 0) == pid, "the process has ended");
	close(fd);
	usleep(200000);
	check(groups_uninstall(groups, before, &nr_left, sentence) == 0 && nr_left == 0,
	      "uninstall takes the rest %s", sentence);
	check(access(MOUNT "pinfold.slice", F_OK) < 0, "kernel: nothing is left");
	check(!strcmp(allowed_list(getpid()), "0-15"), "kernel: the host has its CPUs again");
}

static void drive_cgroupfs(void)
{
	struct groups_options look = {.root = "/", .workload_root = "pinfold.slice"};
	struct groups *witness cleanup_groups = NULL;
	char enabled_before[256];
	enum dir_problem problem;
	struct group_tree tree cleanup(group_tree_fini) = {0};
	struct plan_layout layout;
	const struct originals *before;
	int fd;
	pid_t pid;

	snprintf(enabled_before, sizeof(enabled_before), "%s",
		 kernel_has("", "cgroup.subtree_control"));
	check(groups_open(&look, &witness, &problem, sentence) == 0 &&
		      !strcmp(kernel_has("", "cgroup.subtree_control"), enabled_before),
	      "looking changes nothing");
	check(open_groups() == 0, "the hierarchy is found");
	if (!groups)
		return;
	port.layout(port.self, &layout);
	check(!layout.systemd && !strcmp(layout.root, "pinfold.slice"), "without systemd");
	before = groups_originals(witness);
	check(before->nr == 1 && !strcmp(before->items[0].value, enabled_before),
	      "the controllers enabled before us are remembered ('%s')", enabled_before);
	check(port.observe(port.self, &tree) == -ENOENT, "there is no workload root yet");
	test_named_refusals();
	test_outsiders();
	build_tree();
	check_files();
	check_second_files();
	test_plan_settles();
	test_surroundings();
	test_host_is_pushed_aside();
	test_refused_values();
	pid = start_sleeper(0, &fd);
	test_join(pid, fd);
	test_populated(pid);
	test_inner_groups(pid);
	test_watch(pid, fd);
	test_overlap();
	check(drop(first) == 0, "a is removed with the group inside it");
	check(drop(first) == 0, "removing it twice is no failure");
	check(create(GROUP_CONTAINER, first) == 0 && put(first, GROUP_CPUSET_CPUS, "4-7") == 0,
	      "a is made again");
	test_uninstall(before);
	check(!strcmp(kernel_has("", "cgroup.subtree_control"), enabled_before),
	      "kernel: controllers are as they were (%s)",
	      kernel_has("", "cgroup.subtree_control"));
	groups_close(groups);
}

/* --- systemd ---------------------------------------------------------------------------------- */

static bool systemctl(const char *command)
{
	char line[256];

	snprintf(line, sizeof(line), "systemctl %s >/dev/null", command);
	return system(line) == 0;
}

/* "4-7" of "AllowedCPUs=4-7" as systemd remembers it. */
static const char *property(const char *unit, const char *name)
{
	static char value[256];
	char line[256];
	FILE *pipe;
	size_t len;

	snprintf(line, sizeof(line), "systemctl show --value -p %s %s", name, unit);
	pipe = popen(line, "re");
	len = pipe ? fread(value, 1, sizeof(value) - 1, pipe) : 0;
	if (pipe)
		pclose(pipe);
	value[len] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return value;
}

/* A value that the kernel refused must not wait in systemd for the next reload. */
static void test_properties_are_true(void)
{
	static const char unit[] = "pinfold-1-a.scope";

	check(!strcmp(property(unit, "AllowedCPUs"), "4-7"), "systemd: AllowedCPUs of a (%s)",
	      property(unit, "AllowedCPUs"));
	check(put(first, GROUP_CPUSET_CPUS, "") == -EINVAL, "an empty list is refused");
	check(put(first, GROUP_CPUSET_CPUS, "900") < 0, "a CPU that does not exist is refused");
	check(!strcmp(property(unit, "AllowedCPUs"), "4-7"), "systemd: AllowedCPUs as before (%s)",
	      property(unit, "AllowedCPUs"));
	check(!strcmp(property(unit, "Delegate"), "yes"), "systemd: a is delegated");
	check(!strcmp(property("pinfold.slice", "AllowedCPUs"), "2-15"),
	      "systemd: AllowedCPUs of the root");
	check(!strcmp(property("pinfold-1-b.scope", "CPUQuotaPerSecUSec"), "1.500000s"),
	      "systemd: the quota of b (%s)", property("pinfold-1-b.scope", "CPUQuotaPerSecUSec"));
}

static void test_reload(pid_t pid)
{
	check(systemctl("daemon-reload"), "systemctl daemon-reload");
	check(systemctl("set-property --runtime pinfold-1-a.scope CPUWeight=77"),
	      "and a change of another property");
	usleep(500000);
	check_files();
	check(!strcmp(kernel_has("pinfold.slice", "cpuset.cpus.partition"), "root"),
	      "kernel: the partition has lived through it");
	check(!strcmp(allowed_list(pid), "4-7"), "kernel: the process too (%s)", allowed_list(pid));
	check(put(first, GROUP_CPUSET_CPUS, "4-6") == 0, "a is changed after the reload");
	check(systemctl("daemon-reload"), "systemctl daemon-reload");
	usleep(500000);
	check(!strcmp(kernel_has(first, "cpuset.cpus"), "4-6"),
	      "kernel: systemd does not put the old value back (%s)",
	      kernel_has(first, "cpuset.cpus"));
	check(put(first, GROUP_CPUSET_CPUS, "4-7") == 0, "a is put right");
}

static void test_noted(void)
{
	struct group_tree tree cleanup(group_tree_fini) = {0};
	const struct group *group;

	check(port.observe(port.self, &tree) == 0 && tree.nr_groups == 4,
	      "the tree has four groups");
	group = group_tree_find(&tree, first);
	check(group && !group->populated && group->files[GROUP_CPUSET_CPUS] &&
		      !strcmp(group->files[GROUP_CPUSET_CPUS], "4,5,6,7"),
	      "a waits for its first process, with its values");
	check(!strcmp(kernel_has(first, "cpuset.cpus"), "(unreadable)"),
	      "kernel: a scope without a process cannot be");
}

static void drive_systemd(void)
{
	struct plan_layout layout;
	uint32_t nr_left = 0;
	int fd, fd_b;
	pid_t pid, pid_b;

	check(open_groups() == 0, "the hierarchy is found");
	if (!groups)
		return;
	port.layout(port.self, &layout);
	check(layout.systemd, "with systemd");
	build_tree();
	test_plan_settles();
	test_noted();
	test_host_is_pushed_aside();
	pid = start_sleeper(0, &fd);
	test_join(pid, fd);
	check_files();
	pid_b = start_sleeper(0, &fd_b);
	check(port.join(port.self, second, pid_b, fd_b, sentence) == 0, "b starts too %s",
	      sentence);
	check_second_files();
	test_plan_settles();
	check(!strcmp(read_text("/proc/1/comm"), "systemd") &&
		      systemctl("is-active pinfold.slice") &&
		      systemctl("is-active pinfold-1-a.scope"),
	      "systemd knows the units");
	test_populated(pid);
	test_properties_are_true();
	test_reload(pid);
	test_refused_values();
	end_sleeper(pid_b, fd_b);
	end_sleeper(pid, fd);
	usleep(500000);
	check(!strcmp(kernel_has(first, "cgroup.procs"), "(unreadable)"),
	      "the scope goes with its last process");
	pid = start_sleeper(0, &fd);
	check(port.join(port.self, first, pid, fd, sentence) == 0 &&
		      !strcmp(allowed_list(pid), "4-7"),
	      "the next process starts it again (%s) %s", allowed_list(pid), sentence);
	end_sleeper(pid, fd);
	usleep(500000);
	check(create(GROUP_CONTAINER, first) == 0 && put(first, GROUP_CPUSET_CPUS, "8-9") == 0,
	      "it is given other CPUs while it waits");
	pid = start_sleeper(0, &fd);
	check(port.join(port.self, first, pid, fd, sentence) == 0 &&
		      !strcmp(allowed_list(pid), "8-9"),
	      "and started again, with its new CPUs (%s) %s", allowed_list(pid), sentence);
	check(drop(pod) == -EBUSY, "the pod is not removed under a process");
	end_sleeper(pid, fd);
	usleep(500000);
	check(drop(pod) == 0, "the pod is removed");
	check(!systemctl("is-active pinfold-pod1.slice"), "systemd has forgotten it");
	check(groups_uninstall(groups, groups_originals(groups), &nr_left, sentence) == 0 &&
		      nr_left == 0,
	      "uninstall %s", sentence);
	check(access(MOUNT "pinfold.slice", F_OK) < 0, "kernel: nothing is left");
	check(!strcmp(allowed_list(getpid()), "0-15"), "kernel: the host has its CPUs again (%s)",
	      allowed_list(getpid()));
	groups_close(groups);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	name_groups(!strcmp(argv[1], "systemd"));
	if (!strcmp(argv[1], "systemd"))
		drive_systemd();
	else
		drive_cgroupfs();
	printf("1..%u\n", nr_checks);
	printf("%u passed, %u failed, 0 skipped\n", nr_checks - nr_failed, nr_failed);
	return nr_failed ? 1 : 0;
}
