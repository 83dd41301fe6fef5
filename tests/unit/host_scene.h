/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of the host's groups on the directory of cgroup_scene.h, with two groups of the host.
 * Include it after cgroup_port_scene.h or systemd_scene.h, whose groups it uses.
 */
#ifndef TESTS_HOST_SCENE_H
#define TESTS_HOST_SCENE_H

#include "cgroup/host.h"

#define BOOT "boot-1"

static struct host *host;
static struct host_report report;
static int pass_result, state_fd;

static inline void on_passed(void *self, int result, const struct host_report *found)
{
	pass_result = result;
	report = *found;
}

static const struct host_sink sink = {.passed = on_passed};

static inline struct host *open_host(const char *boot_id)
{
	const struct host_options host_options = {
		.groups = groups, .state_fd = state_fd, .boot_id = boot_id};
	struct host *opened = NULL;

	assert_int_equal(host_open(&host_options, &opened), 0);
	host_listen(opened, &sink);
	return opened;
}

static inline int open_host_scene(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/state", root);
	if (mkdir(path, 0700))
		return -errno;
	state_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_group("system.slice", "\n", "0-15\n", true);
	put_group("user.slice", "\n", "0-15\n", true);
	host = open_host(BOOT);
	return 0;
}

static inline void close_host_scene(void)
{
	host_close(host);
	close(state_fd);
}

static inline int pass_of(struct host *of, enum host_mode mode, const char *allowed,
			  const char *exclusive)
{
	const struct cpuset rest = cpuset_of_text(allowed);
	struct host_request request = {
		.mode = mode,
		.taken = cpuset_of_text("0-15"),
		.exclusive = cpuset_of_text(exclusive),
	};
	const struct host_port host_calls = host_port(of);

	cpuset_subtract(&request.taken, &rest);
	report = (struct host_report){0};
	pass_result = -EAGAIN;
	assert_int_equal(host_calls.pass(host_calls.self, &request), 0);
	return pass_result;
}

static inline void expect_list(const char *group, const char *list)
{
	char name[128], wanted[64];
	struct cpuset now;

	snprintf(name, sizeof(name), "cg/%s/cpuset.cpus", group);
	now = cpuset_of_text(get(name));
	cpuset_format(&now, wanted, sizeof(wanted));
	assert_string_equal(wanted, list);
}

#endif
