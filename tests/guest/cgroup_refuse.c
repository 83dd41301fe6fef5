// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* Machines whose cgroups cannot be ours: each is named, none is touched. */
#include "cgroup_scene.h"

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

int main(void)
{
	test_named_refusals();
	return finish_checks();
}
