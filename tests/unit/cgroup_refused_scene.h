/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of the cgroup room while the kernel refuses calls: the room names what failed, why
 * and what to do, leaves the rest as it was, and takes the slower way where there is one.
 * Include after cmocka, once.
 */
#ifndef TESTS_CGROUP_REFUSED_SCENE_H
#define TESTS_CGROUP_REFUSED_SCENE_H

#include "refused_calls.h"

#include "cgroup/manager.h"
#include "cgroup_port_scene.h"
#include "lib/file.h"

static inline int open_scene(void **state)
{
	int r = set_up(state);

	refuse_nothing();
	if (r || geteuid())
		return r;
	put_group("pinfold.slice", "2-15\n", "2-15\n", false);
	put_group("pinfold.slice/poda", "4-7\n", "4-7\n", false);
	groups = open_fake(true);
	port = groups_port(groups);
	files_go_with_their_group = true;
	return 0;
}

static inline int close_scene(void **state)
{
	refuse_nothing();
	files_go_with_their_group = false;
	mount_flags = 0;
	groups_close(groups);
	groups = NULL;
	return tear_down(state);
}

/* One test on a port that is opened for it, with no call refused at first. */
#define REFUSED_TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

#endif
