// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/* With systemd as process 1: slices and scopes over its bus, held across reloads. */
#include "cgroup_scene.h"

static bool systemctl(const char *command)
{
	char line[256];

	snprintf(line, sizeof(line), "systemctl %s >&2", command);
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

/* Systemd ends a scope some time after its last process. */
static bool scope_is_gone(void)
{
	return !strcmp(kernel_has(first, "cgroup.procs"), "(unreadable)") &&
	       !systemctl("is-active pinfold-1-a.scope");
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
	struct group_tree tree cleanup_tree = {0};
	const struct group *group;

	check(port.read_tree(port.self, &tree) == 0 && tree.nr_groups == 4,
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
	check(eventually(scope_is_gone), "the scope goes with its last process");
	pid = start_sleeper(0, &fd);
	check(port.join(port.self, first, pid, fd, sentence) == 0 &&
		      !strcmp(allowed_list(pid), "4-7"),
	      "the next process starts it again (%s) %s", allowed_list(pid), sentence);
	end_sleeper(pid, fd);
	check(eventually(scope_is_gone), "and goes again");
	check(create(GROUP_CONTAINER, first) == 0 && put(first, GROUP_CPUSET_CPUS, "8-9") == 0,
	      "it is given other CPUs while it waits");
	pid = start_sleeper(0, &fd);
	check(port.join(port.self, first, pid, fd, sentence) == 0 &&
		      !strcmp(allowed_list(pid), "8-9"),
	      "and started again, with its new CPUs (%s) %s", allowed_list(pid), sentence);
	check(drop(pod) == -EBUSY, "the pod is not removed under a process");
	end_sleeper(pid, fd);
	check(eventually(scope_is_gone), "the last process ends");
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

int main(void)
{
	name_groups(true);
	drive_systemd();
	return finish_checks();
}
