// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * Without systemd: what is written, read back, watched and refused below a root
 * partition, and what an uninstall leaves.
 */
#include "cgroup_scene.h"

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

static void on_hotplug(void *self, const struct cpuset *online)
{
	if (cpuset_has(online, 15))
		heard.cpu_on = true;
	else
		heard.cpu_off = true;
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
	heard.cpu_on = false;
	write_cpu_online("1");
	check(wait_for(event, &heard.cpu_on), "and coming back");
	check(!strcmp(kernel_has("pinfold.slice", "cpuset.cpus.partition"), "root"),
	      "kernel: the partition has lived through it");
}

static void test_watch(pid_t pid, int pidfd)
{
	struct group_tree tree cleanup_tree = {0};
	sd_event *event = NULL;

	check(sd_event_new(&event) >= 0 && groups_watch(groups, event, &sink) == 0, "a watch");
	check(port.read_tree(port.self, &tree) == 0 && port.rewatch(port.self, &tree) == 0,
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

/* --- the end ---------------------------------------------------------------------------------- */

static bool is_empty(void)
{
	return strstr(kernel_has(first, "cgroup.events"), "populated 0");
}

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
	check(eventually(is_empty), "its group is empty");
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
	struct group_tree tree cleanup_tree = {0};
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
	check(port.read_tree(port.self, &tree) == -ENOENT, "there is no workload root yet");
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

int main(void)
{
	name_groups(false);
	drive_cgroupfs();
	return finish_checks();
}
