/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of cgroup_scene.h, and the port of the cgroup room, opened on it to change
 * groups without systemd. Include after cmocka.
 */
#ifndef TESTS_CGROUP_PORT_SCENE_H
#define TESTS_CGROUP_PORT_SCENE_H

#include "cgroup_scene.h"
#include "lib/log.h"

/* The room refuses to write for anybody except root, whatever the directory. */
#define RUN_AS_ROOT(tests) \
	_cmocka_run_group_tests("tests", tests, geteuid() ? 0 : ARRAY_SIZE(tests), NULL, NULL)

static struct groups *groups;
static struct groups_port port;

static inline int open_port(void **state)
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

static inline int close_port(void **state)
{
	groups_close(groups);
	groups = NULL;
	return tear_down(state);
}

static inline int do_step(enum step_kind kind, const char *path, enum group_file file,
			  const char *value, char *error)
{
	struct step step = {.kind = kind, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	error[0] = '\0';
	return port.apply(port.self, &step, error);
}

/* A plain directory must be emptied before it can be removed, unlike a cgroup. */
static inline void empty_directory(const char *path)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s/cg/%s", root, path);
	assert_int_equal(nftw(whole, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(mkdir(whole, 0755), 0);
}

/* What procfs would say of it, with a name that is hard to parse. */
static inline void show_process(pid_t pid, unsigned int flags, const char *cgroup)
{
	char name[64], text[2 * GROUP_PATH_MAX];

	snprintf(name, sizeof(name), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (a ) b) S 1 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 1\n", pid, flags);
	put(name, text);
	snprintf(name, sizeof(name), "proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "1:name=systemd:/x\n0::/%s\n", cgroup);
	put(name, text);
}

/* One test on a port that is opened for it. */
#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, open_port, close_port)

#endif
