// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * What the cgroup room changes without systemd, on a plain directory: groups made
 * and removed, processes moved and ended, everything undone. Each refusal says what
 * failed, why, and what to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup/change.h"
#include "cgroup/tasks.h"
#include "cgroup/value.h"
#include "cgroup/watch.h"
#include "cgroup_scene.h"
#include "lib/log.h"

static struct groups *groups;
static struct groups_port port;

static int open_change(void **state)
{
	int r = set_up(state);

	if (r || geteuid())
		return r;
	put("sys/devices/system/cpu/possible", "0-15\n");
	put("sys/devices/system/node/has_memory", "0-1\n");
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	groups = open_fake(true);
	port = groups_port(groups);
	return 0;
}

static int close_change(void **state)
{
	groups_close(groups);
	groups = NULL;
	return tear_down(state);
}

static int do_step(enum step_kind kind, const char *path, enum group_file file, const char *value,
		   char *error)
{
	struct step step = {.kind = kind, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	error[0] = '\0';
	return port.apply(port.self, &step, error);
}

/* A plain directory must be emptied before it can be removed, unlike a cgroup. */
static void empty_directory(const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	assert_int_equal(nftw(whole, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(mkdir(whole, 0755), 0);
}

/* --- making ------------------------------------------------------------------------------------------ */

static void group_is_created_with_its_controllers(void **state)
{
	char error[GROUP_ERROR_MAX];

	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice/poda", 0, NULL, error), 0);
	assert_true(exists("cg/pinfold.slice/poda"));
	/* The plain file contains only the last write; the kernel would enable all three. */
	assert_string_equal(get("cg/pinfold.slice/cgroup.subtree_control"), "+memory");
	/* Repeating it is not a failure. */
	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice/poda", 0, NULL, error), 0);
	expect_failure(-ENOENT, do_step(STEP_CREATE, "none/x", 0, NULL, error), error,
		       "none/x: cannot open its parent");
	expect_failure(-EINVAL, do_step(STEP_CREATE, "pinfold.slice/..", 0, NULL, error), error,
		       "cannot open its parent");
	put("cg/pinfold.slice/cgroup.controllers", "cpu memory\n");
	expect_failure(-EOPNOTSUPP, do_step(STEP_CREATE, "pinfold.slice/podb", 0, NULL, error),
		       error, "pinfold.slice has no cpuset controller: its parent must have");
	assert_false(exists("cg/pinfold.slice/podb"));
	expect_failure(-EINVAL, do_step(STEP_KIND_NR, "x", 0, NULL, error), error,
		       "invalid kind of step");
}

/* --- what a refused write means ---------------------------------------------------------------------- */

static void each_refusal_has_a_remedy(void **state)
{
	static const struct {
		int err;
		const char *file, *part;
	} rows[] = {
		{-ENOENT, "cpuset.cpus",
		 "the group or its file does not exist; enable the controller in the parent's"},
		{-EPERM, "cpuset.cpus",
		 "denied although the file's mode permits it; pinfold's guard or another"},
		{-EACCES, "cpuset.cpus", "not permitted; run as root"},
		{-EINVAL, "cpuset.cpus", "name only CPUs or memory nodes"},
		{-EINVAL, "cpu.max", "rejects this value; it is out of range"},
		{-ERANGE, "cpu.weight", "check the pod's requests and limits"},
		{-ENOSPC, "cpuset.cpus", "move the processes out first"},
		{-EBUSY, "cpuset.cpus",
		 "the group or its tasks forbid it now; check for processes in inner groups and for "
		 "SCHED_DEADLINE"},
		{-EIO, "cpuset.cpus", "Input/output error; see the kernel log"},
	};
	char error[GROUP_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		expect_failure(rows[i].err,
			       change_explain("a/b", rows[i].file, "value", rows[i].err, error),
			       error, rows[i].part);
		assert_ptr_equal(strstr(error, "a/b/cp"), error);
		assert_non_null(strstr(error, ": cannot write 'value': "));
	}
}

static void values_are_read_back(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	put("cg/pinfold.slice/g/cpu.weight", "");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPU_WEIGHT, "77", error), 0);
	/* A plain file keeps the end of its old content, which looks like a foreign value. */
	put("cg/pinfold.slice/g/cpu.weight", "1000");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPU_WEIGHT, "77", error), error,
		       "pinfold.slice/g/cpu.weight: wrote '77', but the kernel has '7700'");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_MEMS, "0", error), 0);
	put("cg/pinfold.slice/g/cpuset.mems.effective", "1\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_MEMS, "0", error), error,
		       "cpuset.mems.effective is 1 although 0 was written");
}

/* An empty list would give its processes the parent's whole set. */
static void populated_group_keeps_its_lists(void **state)
{
	char error[GROUP_ERROR_MAX] = "";

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	expect_failure(-EINVAL,
		       change_write(&groups->dir, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error),
		       error, "pinfold.slice/g/cpuset.cpus: refusing to write an empty list");
	expect_failure(-EINVAL,
		       change_write(&groups->dir, "pinfold.slice/g", GROUP_CPUSET_MEMS, "", error),
		       error, "pinfold.slice/g/cpuset.mems: refusing to write an empty list");
	assert_string_equal(get("cg/pinfold.slice/g/cpuset.mems"), "0\n");
	/* For the other files the kernel defines what an empty value means. */
	assert_int_equal(change_write(&groups->dir, "pinfold.slice/g", GROUP_MEMORY_MAX, "", error),
			 0);
	assert_string_equal(get("cg/pinfold.slice/g/memory.max"), "\nax\n");
	put("cg/pinfold.slice/g/cgroup.events", "populated 0\n");
	assert_int_equal(
		change_write(&groups->dir, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error), 0);
	assert_string_equal(get("cg/pinfold.slice/g/cpuset.cpus"), "\n-7\n");
}

static void a_write_that_fails_is_explained(void **state)
{
	char error[GROUP_ERROR_MAX] = "", path[128];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/g/cpu.max", root);
	assert_int_equal(unlink(path), 0);
	expect_failure(-ENOENT, do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPU_MAX, "max", error),
		       error, "pinfold.slice/g/cpu.max: cannot write 'max': the group or its file");
}

/* An empty list means the parent's list. */
static void empty_list_means_the_parents_list(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "2-15\n", false);
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "", error), 0);
}

/* CPUs of child partitions still belong to the group; other missing CPUs do not. */
static void cpus_of_child_partitions_are_not_missing(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "4-5\n", false);
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-9", error),
		       error, "cpuset.cpus.effective is only 4-5 of the 4-9 that was written");
	put_group("pinfold.slice/g/a", "6-7\n", "6-7\n", false);
	put_group("pinfold.slice/g/b", "8-9\n", "8-9\n", false);
	put("cg/pinfold.slice/g/a/cpuset.cpus.partition", "root\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-9", error),
		       error, "is only 4-5 of the 4-9");
	put("cg/pinfold.slice/g/b/cpuset.cpus.partition", "isolated\n");
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-9", error),
			 0);
}

/* A message has room for this much of a list. */
static void long_list_is_truncated(void **state)
{
	char error[GROUP_ERROR_MAX], list[512] = "0";
	static const char cut[] = "is only none of the 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,"
				  "32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,62,6... that was";

	/* With 66 CPUs it is one character too long. */
	for (int cpu = 2; cpu <= 66; cpu += 2)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", cpu);
	put("sys/devices/system/cpu/online", "0-119\n");
	put_group("pinfold.slice/g", "", "\n", false);
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, list, error),
		       error, cut);
}

static void overlapping_sibling_is_named(void **state)
{
	char error[GROUP_ERROR_MAX];

	/* Neither the parent nor the group itself nor a group with other CPUs is the obstacle. */
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	put_group("pinfold.slice/other", "8-9\n", "8-9\n", false);
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root invalid (x)\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "not valid: x; the parent must be a partition root");
	/* Only a CPU list can make the partition invalid. */
	assert_int_equal(do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_MEMS, "0", error), 0);
	put("cg/pinfold.slice/other/cpuset.cpus", "7-9\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error,
		       "not valid: x; pinfold.slice/other has cpuset.cpus 7-9, which overlaps");
	put_group("system.slice", "0-3\n", "0-3\n", true);
	put("cg/pinfold.slice/cpuset.cpus.partition", "root invalid (y)\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice", GROUP_CPUSET_CPUS, "2-15", error),
		       error, "not valid: y; system.slice has cpuset.cpus 0-3, which overlaps");
	/* A plain file keeps the end of its old content. */
	put("cg/pinfold.slice/other/cpuset.cpus", "8-9\n");
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "member\n");
	expect_failure(
		-EREMOTEIO,
		do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_PARTITION, "root", error),
		error, "cpuset.cpus.partition: not valid: it stayed 'rooter'; the parent must");
}

static void list_can_invalidate_a_partition(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "", "4-7\n", false);
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root invalid (Parent is not valid)\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "not valid: Parent is not valid");
	put("cg/pinfold.slice/g/cpuset.cpus.partition", "root invalid\n");
	expect_failure(-EREMOTEIO,
		       do_step(STEP_WRITE, "pinfold.slice/g", GROUP_CPUSET_CPUS, "4-7", error),
		       error, "the kernel gives no reason");
}

/* --- removing ------------------------------------------------------------------------------------------ */

static void group_is_removed_with_its_subtree(void **state)
{
	char error[GROUP_ERROR_MAX];

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	expect_failure(-EBUSY, do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), error,
		       "still has processes");
	assert_true(exists("cg/pinfold.slice/g"));
	empty_directory("pinfold.slice/g");
	assert_int_equal(do_step(STEP_CREATE, "pinfold.slice/g", 0, NULL, error), 0);
	put("cg/pinfold.slice/g/inner/leaf/x", "");
	/*
	 * A file in a plain directory is in the way as a cgroup's never are; it looks as if
	 * somebody made groups inside all the time.
	 */
	expect_failure(-EAGAIN, do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), error,
		       "pinfold.slice/g: cannot remove the group");
	empty_directory("pinfold.slice/g");
	put("cg/pinfold.slice/g/inner/leaf/x", "");
	empty_directory("pinfold.slice/g/inner/leaf");
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), 0);
	assert_false(exists("cg/pinfold.slice/g"));
	assert_true(exists("cg/pinfold.slice"));
	/* A group that does not exist counts as removed. */
	assert_int_equal(do_step(STEP_REMOVE, "pinfold.slice/g", 0, NULL, error), 0);
}

/* --- joining --------------------------------------------------------------------------------------------- */

/* A waiting child, used as the process that joins. */
static pid_t make_child(int *ret_pidfd)
{
	pid_t child = fork();

	if (!child) {
		/* A child that the test forgets must not wait forever. */
		alarm(60);
		for (;;)
			pause();
	}
	*ret_pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(*ret_pidfd >= 0);
	return child;
}

static void end_child(pid_t child, int pidfd)
{
	int status;

	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(pidfd);
}

static void show_process(pid_t pid, unsigned int flags, const char *cgroup)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (a ) b) S 1 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n", pid, flags);
	put(name, text);
	snprintf(name, sizeof(name), "proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "1:name=systemd:/x\n0::/%s\n", cgroup);
	put(name, text);
}

static void process_joins_and_may_use_the_whole_grant(void **state)
{
	cpu_set_t narrow, all;
	char error[GROUP_ERROR_MAX] = "", text[16], name[64];
	pid_t child;
	int pidfd;

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	child = make_child(&pidfd);
	show_process(child, 0, "pinfold.slice/g");
	assert_int_equal(sched_getaffinity(child, sizeof(all), &all), 0);
	CPU_ZERO(&narrow);
	for (size_t cpu = 0; !CPU_COUNT(&narrow); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &narrow);
	assert_int_equal(sched_setaffinity(child, sizeof(narrow), &narrow), 0);
	assert_int_equal(port.join(port.self, "pinfold.slice/g", child, pidfd, error), 0);
	snprintf(text, sizeof(text), "%d", child);
	assert_string_equal(get("cg/pinfold.slice/g/cgroup.procs"), text);
	/* Without cgroup v1 there is only this line. */
	snprintf(name, sizeof(name), "proc/%d/cgroup", child);
	put(name, "0::/pinfold.slice/g\n");
	assert_int_equal(port.join(port.self, "pinfold.slice/g", child, pidfd, error), 0);
	/* Its previous affinity does not restrict its grant. */
	assert_int_equal(sched_getaffinity(child, sizeof(narrow), &narrow), 0);
	assert_true(CPU_EQUAL(&narrow, &all));
	end_child(child, pidfd);
}

static void failed_join_is_reported(void **state)
{
	char error[GROUP_ERROR_MAX] = "", name[128];
	pid_t child;
	int pidfd;

	put_group("pinfold.slice/g", "4-7\n", "4-7\n", false);
	child = make_child(&pidfd);
	show_process(child, 0x00200000, "pinfold.slice/g");
	expect_failure(-EINVAL, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "is a kernel thread");
	show_process(child, 0, "elsewhere");
	expect_failure(-EREMOTEIO, port.join(port.self, "pinfold.slice/g", child, pidfd, error),
		       error, "but the kernel reports it in /elsewhere");
	/* Moved, but its cgroup cannot be read back. */
	snprintf(name, sizeof(name), "proc/%d/cgroup", child);
	put(name, "1:name=systemd:/x\n");
	expect_failure(-EPROTO, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "cannot read its cgroup back");
	snprintf(name, sizeof(name), "%s/proc/%d/cgroup", root, child);
	assert_int_equal(unlink(name), 0);
	expect_failure(-ENOENT, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "cannot read its cgroup back");
	expect_failure(-ENOENT, port.join(port.self, "pinfold.slice/no", child, pidfd, error),
		       error, "cannot open the group to join");
	/* The pid must refer to the process of the pidfd. */
	expect_failure(-ESRCH, port.join(port.self, "pinfold.slice/g", getpid(), pidfd, error),
		       error, "has ended; nothing was moved");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	put("cg/pinfold.slice/g/cgroup.procs", "");
	expect_failure(-ESRCH, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "has ended; nothing was moved");
	assert_string_equal(get("cg/pinfold.slice/g/cgroup.procs"), "");
	end_child(child, pidfd);
	/* Nothing is moved in read-only mode either. */
	groups_close(groups);
	groups = open_fake(false);
	port = groups_port(groups);
	child = make_child(&pidfd);
	expect_failure(-EROFS, port.join(port.self, "pinfold.slice/g", child, pidfd, error), error,
		       "the agent changes no cgroups in this mode");
	end_child(child, pidfd);
}

static void a_stat_line_is_read_from_its_end(void **state)
{
	unsigned int flags = 0;
	uint64_t start = 0;

	assert_int_equal(tasks_parse_stat("5 (x) y) R 1 2 3 4 5 77 6 7 8 9 10 11 12 13 14 15 16 17 "
					  "4711 1 2",
					  &flags, &start),
			 0);
	assert_int_equal(flags, 77);
	assert_int_equal(start, 4711);
	assert_int_equal(tasks_parse_stat("5 x R 1 2", &flags, &start), -EINVAL);
	assert_int_equal(tasks_parse_stat("5 (x) R 1 2", &flags, &start), -EINVAL);
	assert_int_equal(flags, 77);
}

static void all_processes_end_at_once(void **state)
{
	put_group("pinfold.slice/g", "4-7\n", "4-7\n", true);
	put("cg/pinfold.slice/g/cgroup.kill", "");
	assert_int_equal(port.kill(port.self, "pinfold.slice/g"), 0);
	assert_string_equal(get("cg/pinfold.slice/g/cgroup.kill"), "1");
	assert_int_equal(port.kill(port.self, "pinfold.slice/none"), -ENOENT);
}

/* --- the whole undone ---------------------------------------------------------------------------------- */

/* A plain directory with empty files, so that written values have no old tail. */
static void put_populated(const char *path)
{
	static const char *const files[] = {"cpuset.cpus", "cpuset.mems", "cpu.max",
					    "cpu.weight",  "memory.max",  "cpuset.cpus.partition"};
	char name[128];

	put_group(path, "4-7\n", "4-7\n", true);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(name, sizeof(name), "cg/%.80s/%s", path, files[i]);
		put(name, "");
	}
}

static void uninstall_lifts_limits_of_populated_groups(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left = 99;

	put_populated("pinfold.slice");
	put_populated("pinfold.slice/poda");
	put_populated("pinfold.slice/poda/main");
	put("cg/pinfold.slice/poda/gone/x", "");
	empty_directory("pinfold.slice/poda/gone");
	put("cg/pinfold.slice/poda/gone/cgroup.events", "populated 0\n");
	/*
	 * The empty group cannot be removed here because it contains a file; the others
	 * are still reported.
	 */
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), -EAGAIN);
	assert_non_null(strstr(error, "pinfold.slice/poda/gone: cannot remove the group"));
	assert_int_equal(nr_left, 3);
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpuset.cpus"), "0-15");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpuset.mems"), "0-1");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpu.max"), "max 100000");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpu.weight"), "100");
	assert_string_equal(get("cg/pinfold.slice/poda/main/memory.max"), "max");
	assert_string_equal(get("cg/pinfold.slice/poda/main/cpuset.cpus.partition"), "member");
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus"), "0-15");
	assert_string_equal(get("cg/pinfold.slice/cpuset.cpus.partition"), "member");
}

static void uninstall_without_groups_succeeds(void **state)
{
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left = 99;

	empty_directory("pinfold.slice");
	put("cg/pinfold.slice/cgroup.events", "populated 0\n");
	assert_true(groups_uninstall(groups, NULL, &nr_left, error) < 0);
	assert_int_equal(nr_left, 0);
	empty_directory("pinfold.slice");
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/cg/pinfold.slice", root);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), 0);
	assert_int_equal(nr_left, 0);
}

static void uninstall_needs_the_possible_cpus(void **state)
{
	char error[GROUP_ERROR_MAX] = "", path[128];
	uint32_t nr_left;

	put_populated("pinfold.slice");
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/possible", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(groups_uninstall(groups, NULL, &nr_left, error), -ENOENT);
	assert_non_null(
		strstr(error, "pinfold.slice: cannot widen it, /sys/devices/system/cpu/possible"));
	/* The other limits are still lifted. */
	assert_string_equal(get("cg/pinfold.slice/memory.max"), "max");
}

/* --- what was there before -------------------------------------------------------------------------------- */

static void original_values_are_restored(void **state)
{
	struct original items[] = {
		{.path = "", .file = "cgroup.subtree_control", .value = (char *)"memory pids"},
		{.path = "gone", .file = "cpuset.cpus", .value = (char *)"1"},
		{.path = "pinfold.slice", .file = "cpuset.cpus", .value = (char *)"0-3"},
		{.path = "pinfold.slice", .file = "cpu.weight", .value = (char *)"100"},
		{.path = "pinfold.slice", .file = "directory", .value = (char *)"1"},
		{.path = "pinfold.slice", .file = "memory.max", .value = (char *)"55"},
	};
	const struct originals originals = {ARRAY_SIZE(items), items};
	char error[GROUP_ERROR_MAX] = "";
	uint32_t nr_left;

	put("cg/cgroup.subtree_control", "cpuset memory pids\n");
	put_populated("pinfold.slice");
	put("cg/pinfold.slice/directory/x", "");
	assert_int_equal(groups_uninstall(groups, &originals, &nr_left, error), -EISDIR);
	assert_non_null(strstr(error, "pinfold.slice/directory: cannot put back '1'"));
	/* Only controllers that were off before are disabled; the file contains the last write. */
	assert_memory_equal(get("cg/cgroup.subtree_control"), "-cpuset", 7);
	assert_memory_equal(get("cg/pinfold.slice/cpuset.cpus"), "0-3", 3);
	assert_string_equal(get("cg/pinfold.slice/cpu.weight"), "100");
	/* A failure does not prevent the others from being restored. */
	assert_memory_equal(get("cg/pinfold.slice/memory.max"), "55", 2);
}

static void existing_values_are_captured(void **state)
{
	struct originals originals cleanup(originals_fini) = {0};
	char path[128];

	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put("cg/pinfold.slice/cpuset.mems", "0-1\n");
	/* A missing file has no value to restore. */
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/cpu.weight", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(originals_capture(groups, &originals), 0);
	assert_int_equal(originals.nr, GROUP_FILE_NR);
	assert_string_equal(originals.items[0].path, "");
	assert_string_equal(originals.items[0].file, "cgroup.subtree_control");
	assert_string_equal(originals.items[0].value, "cpuset cpu memory");
	for (uint32_t i = 1; i < originals.nr; i++) {
		assert_string_equal(originals.items[i].path, "pinfold.slice");
		assert_string_not_equal(originals.items[i].file, "cpu.weight");
		if (!strcmp(originals.items[i].file, "cpuset.mems"))
			assert_string_equal(originals.items[i].value, "0-1");
		if (!strcmp(originals.items[i].file, "cpuset.cpus"))
			assert_string_equal(originals.items[i].value, "2-15");
	}
	/* A partial file would restore only some values. */
	put("cg/pinfold.slice/cpu.weight/x", "");
	assert_int_equal(originals_capture(groups, &originals), -EISDIR);
	assert_int_equal(originals.nr, GROUP_FILE_NR);
}

/* A later start would capture our own values. */
static void original_values_are_saved_once(void **state)
{
	struct original items[] = {
		{.path = "", .file = "cgroup.subtree_control", .value = (char *)"memory"}};
	const struct originals first = {1, items}, second = {0, NULL};
	struct originals loaded cleanup(originals_fini) = {0};
	struct format_error problem = {0};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(originals_load(fd, &problem, &loaded), -ENOENT);
	assert_int_equal(originals_keep(fd, &first), 0);
	assert_int_equal(originals_keep(fd, &second), 0);
	assert_int_equal(originals_load(fd, &problem, &loaded), 0);
	assert_int_equal(loaded.nr, 1);
	assert_string_equal(loaded.items[0].value, "memory");
	close(fd);
}

/* --- controllers ------------------------------------------------------------------------------------------- */

static void unreadable_controllers_are_reported(void **state)
{
	struct groups_options again = {.root = root,
				       .workload_root = "pinfold.slice",
				       .layout = GROUPS_LAYOUT_CGROUPFS,
				       .may_write = true};
	struct groups *none = NULL;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX] = "", path[128];

	snprintf(path, sizeof(path), "%s/cg/cgroup.subtree_control", root);
	assert_int_equal(unlink(path), 0);
	assert_true(groups_open(&again, &none, &problem, error) < 0);
	assert_int_equal(problem, DIR_CPUSET_NOT_ENABLED);
	assert_non_null(strstr(error, "the root cgroup: cannot read its controllers"));
	assert_null(none);
}

static void unreadable_machine_is_refused(void **state)
{
	static const char *const files[][2] = {
		{"cg/cgroup.controllers", "cannot read /cg/cgroup.controllers"},
		{"proc/self/mountinfo", "cannot read /proc/self/mountinfo"},
	};
	struct dir dir = DIR_CLOSED;
	enum dir_problem problem;
	char error[GROUP_ERROR_MAX], path[128];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		*error = '\0';
		snprintf(path, sizeof(path), "%s/%s", root, files[i][0]);
		assert_int_equal(unlink(path), 0);
		expect_failure(-EIO, dir_open(root, DIR_TO_MANAGE, &dir, &problem, error), error,
			       files[i][1]);
		assert_int_equal(problem, DIR_UNREADABLE);
		assert_int_equal(dir.mount_fd, -1);
	}
}

static void malformed_process_lists_are_read_partially(void **state)
{
	pid_t *pids = NULL;
	uint32_t nr = 0;

	put_group("pinfold.slice/g", "", "4-7\n", true);
	put("cg/pinfold.slice/g/cgroup.procs", "12\nodd\n13\n");
	assert_int_equal(port.tasks(port.self, "pinfold.slice/g", &pids, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(pids[0], 12);
	free(pids);
}

/* --- watching ------------------------------------------------------------------------------------------------ */

static char told[512];

static void on_changed(void *self, const char *path, const char *file)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s/%s ", path, file);
}

static void on_populated(void *self, const char *path, bool populated)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s=%d ", path, populated);
}

/* Wait until something is reported, or longer than even a loaded machine needs. */
static const char *listen_for(sd_event *event, const char *wanted)
{
	*told = '\0';
	for (int i = 0; i < 200 && !strstr(told, wanted); i++)
		sd_event_run(event, 50000);
	return told;
}

static void population_changes_are_reported(void **state)
{
	const struct groups_sink sink = {.changed = on_changed, .populated = on_populated};
	struct group_tree tree cleanup(group_tree_fini) = {0};
	sd_event *event = NULL;
	char path[128];

	put_group("pinfold.slice/poda/main", "4-7\n", "4-7\n", false);
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	assert_int_equal(port.read_tree(port.self, &tree), 0);
	/* A group of the tree that does not exist (yet) is skipped. */
	assert_non_null(group_tree_add(&tree, GROUP_POD, "pinfold.slice/podnone"));
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(groups_watch(groups, event, &sink), 0);
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	/* Listed twice, watched once. */
	assert_int_equal(port.rewatch(port.self, &tree), 0);
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/podb", root);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_string_equal(listen_for(event, "pinfold.slice/ "), "pinfold.slice/ ");
	put("cg/pinfold.slice/poda/main/cgroup.events", "populated 1\n");
	assert_string_equal(listen_for(event, "="), "pinfold.slice/poda/main=1 ");
	put("cg/pinfold.slice/poda/main/memory.max", "1\n");
	assert_non_null(
		strstr(listen_for(event, "memory.max"), "pinfold.slice/poda/main/memory.max "));
	/* Groups that a workload creates inside its container are not read. */
	put("cg/pinfold.slice/poda/main/inner/x", "");
	put("cg/pinfold.slice/poda/cpu.max", "1\n");
	assert_null(strstr(listen_for(event, "cpu.max"), "main/ "));
	snprintf(path, sizeof(path), "%s/cg/pinfold.slice/poda/main", root);
	assert_int_equal(nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_non_null(strstr(listen_for(event, "poda/main/ "), "pinfold.slice/poda/main/ "));
	groups_close(groups);
	groups = open_fake(true);
	sd_event_unref(event);
}

/* --- names of culprits ------------------------------------------------------------------------------------ */

static void a_plain_directory_has_no_cgroup_ids(void **state)
{
	char path[64] = "untouched";

	assert_true(port.path_of(port.self, 1, path, sizeof(path)) < 0);
	assert_string_equal(path, "untouched");
}

static void layout_is_reported(void **state)
{
	struct plan_layout layout;

	port.layout(port.self, &layout);
	assert_string_equal(layout.root, "pinfold.slice");
	assert_false(layout.systemd);
	assert_false(layout.root_partition);
}

static void the_manager_follows_process_one(void **state)
{
	struct groups *other;
	struct groups_port other_port;
	struct plan_layout layout;

	other = open_as(GROUPS_LAYOUT_AUTO, false);
	other_port = groups_port(other);
	other_port.layout(other_port.self, &layout);
	assert_false(layout.systemd);
	groups_close(other);
	put("run/systemd/system/x", "");
	other = open_as(GROUPS_LAYOUT_AUTO, false);
	other_port = groups_port(other);
	other_port.layout(other_port.self, &layout);
	assert_true(layout.systemd);
	groups_close(other);
}

static void the_port_reads_through(void **state)
{
	struct group group = {.path = "pinfold.slice"}, none = {.path = "none"};
	struct managed_group around[4];
	struct group_status status;
	char scope[64];
	pid_t *pids = NULL;
	uint32_t nr = 0;

	put_group("system.slice", "", "0-1\n", true);
	put("cg/pinfold.slice/cgroup.procs", "12\n");
	assert_int_equal(port.read_group(port.self, &group), 0);
	assert_string_equal(group.files[GROUP_CPUSET_CPUS], "2-15");
	for (int file = 0; file < GROUP_FILE_NR; file++)
		free(group.files[file]);
	assert_int_equal(port.read_group(port.self, &none), -ENOENT);
	assert_int_equal(port.status(port.self, "pinfold.slice", &status), 0);
	assert_int_equal(cpuset_count(&status.effective_cpus), 14);
	assert_int_equal(cpuset_count(&status.effective_mems), 1);
	assert_int_equal(port.tasks(port.self, "pinfold.slice", &pids, &nr), 0);
	assert_int_equal(nr, 1);
	free(pids);
	assert_int_equal(port.surroundings(port.self, around, 4, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(port.outsiders(port.self, &nr, scope, sizeof(scope)), 0);
	assert_int_equal(nr, 0);
}

static void foreign_scopes_are_known_by_name(void **state)
{
	static const char *const foreign[] = {
		"machine.slice",
		"kubepods",
		"kubepods.slice",
		"docker",
		"lxc",
		"libpod_parent",
		"system.slice/docker-1.scope",
		"a/b/crio-2.scope",
		"cri-containerd-3.scope",
		"x/libpod-4.scope",
		"machine-qemu.scope",
		"lxc.payload.a",
		"nspawn-b",
	};
	static const char *const ours[] = {"system.slice", "user.slice/docker", "a/kubepods",
					   "mydocker-1.scope", "machine"};

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		assert_true(tasks_is_foreign_scope(foreign[i]));
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		assert_false(tasks_is_foreign_scope(ours[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_change, close_change)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_line_is_read_from_its_end),
		cmocka_unit_test(foreign_scopes_are_known_by_name),
		TEST(group_is_created_with_its_controllers),
		TEST(each_refusal_has_a_remedy),
		TEST(values_are_read_back),
		TEST(populated_group_keeps_its_lists),
		TEST(a_write_that_fails_is_explained),
		TEST(empty_list_means_the_parents_list),
		TEST(cpus_of_child_partitions_are_not_missing),
		TEST(long_list_is_truncated),
		TEST(overlapping_sibling_is_named),
		TEST(existing_values_are_captured),
		TEST(list_can_invalidate_a_partition),
		TEST(group_is_removed_with_its_subtree),
		TEST(process_joins_and_may_use_the_whole_grant),
		TEST(failed_join_is_reported),
		TEST(all_processes_end_at_once),
		TEST(uninstall_lifts_limits_of_populated_groups),
		TEST(uninstall_without_groups_succeeds),
		TEST(uninstall_needs_the_possible_cpus),
		TEST(original_values_are_restored),
		TEST(original_values_are_saved_once),
		TEST(unreadable_controllers_are_reported),
		TEST(unreadable_machine_is_refused),
		TEST(malformed_process_lists_are_read_partially),
		TEST(population_changes_are_reported),
		TEST(a_plain_directory_has_no_cgroup_ids),
		TEST(layout_is_reported),
		TEST(the_manager_follows_process_one),
		TEST(the_port_reads_through),
	};
	size_t nr_pure = 2;

	log_open("test", LOG_LEVEL_ERR);
	/* The room refuses to write for anybody except root, whatever the directory. */
	return _cmocka_run_group_tests("tests", tests, geteuid() ? nr_pure : ARRAY_SIZE(tests),
				       NULL, NULL);
}
