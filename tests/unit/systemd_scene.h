/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager that asks systemd, against one that answers over the real protocol. Include after
 * cmocka.h.
 */
#ifndef SYSTEMD_SCENE_H
#define SYSTEMD_SCENE_H

#include "cgroup/systemd.h"
#include "fake_systemd.h"

#define POD   "pinfold.slice/pinfold-poda.slice"
#define SCOPE POD "/pinfold-a-main.scope"

static struct groups *groups;
static struct groups_port port;

static inline void open_groups(bool may_write)
{
	groups_close(groups);
	groups = open_as(GROUPS_LAYOUT_SYSTEMD, may_write);
	port = groups_port(groups);
}

static inline int set_up_systemd(void **state)
{
	int r = set_up(state);

	/* Never use the machine's own bus if the private socket is not found. */
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
	if (r)
		return r;
	fake_systemd_start("run/systemd/private");
	open_groups(true);
	return 0;
}

static inline int tear_down_systemd(void **state)
{
	groups_close(groups);
	groups = NULL;
	fake_systemd_stop();
	return tear_down(state);
}

static inline int do_step(enum step_kind kind, enum group_role role, const char *path,
			  enum group_file file, const char *value, char *error)
{
	struct step step = {.kind = kind, .role = role, .file = file, .value = (char *)value};

	snprintf(step.path, sizeof(step.path), "%s", path);
	if (role != GROUP_ROOT)
		strcpy(step.uid, "a");
	if (role == GROUP_CONTAINER)
		strcpy(step.container, "main");
	error[0] = '\0';
	return port.apply(port.self, &step, error);
}

static inline void create(enum group_role role, const char *path)
{
	char error[GROUP_ERROR_MAX];

	if (do_step(STEP_CREATE, role, path, 0, NULL, error))
		fail_msg("%s", error);
}

static inline void write_file(enum group_role role, const char *path, enum group_file file,
			      const char *value)
{
	char error[GROUP_ERROR_MAX];

	if (do_step(STEP_WRITE, role, path, file, value, error))
		fail_msg("%s", error);
}

#endif
