// SPDX-License-Identifier: Apache-2.0
#include "cgroup/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "cgroup/failure.h"
#include "cgroup/systemd_bus.h"
#include "lib/file.h"

/* A job's wait is 5 s (systemd_bus.c); systemd gives a service 90 s unless the unit says otherwise. */
#define STOP_TRIES 20

/* A command of the unit itself, such as ExecStopPost=, would wait for its own end. */
static bool caller_is_in_unit(void)
{
	char *unit cleanup_free = NULL;

	return sd_pid_get_unit(0, &unit) >= 0 && !strcmp(unit, PINFOLD_SERVICE);
}

/* "replace", because a start may be queued, which a stop is to take the place of. */
static int ask_stop(struct systemd_session *session, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = systemd_new_call(session, "StopUnit", &message);

	if (err >= 0)
		err = sd_bus_message_append(message, "ss", PINFOLD_SERVICE, "replace");
	if (err < 0)
		return failure(error, err, PINFOLD_SERVICE ": cannot ask systemd: %s",
			       strerror(-err));
	return systemd_call(session, message, PINFOLD_SERVICE, SYSTEMD_JOB, NULL, error);
}

int service_stop(const char *root, char error[GROUP_ERROR_MAX])
{
	int root_fd cleanup_close = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct systemd_session *session;
	struct systemd_bus bus;
	int r;

	if (root_fd < 0)
		return failure(error, -errno, "cannot open %s: %s", root, strerror(errno));
	if (faccessat(root_fd, "run/systemd/system", F_OK, 0) || caller_is_in_unit())
		return 0;
	systemd_bus_init(&bus, root_fd);
	r = systemd_take_session(&bus, error, &session);
	if (!r) {
		/* Asked again while the unit stops, systemd answers with the same job. */
		for (int i = 0; i < STOP_TRIES; i++) {
			r = ask_stop(session, error);
			if (r != -ETIMEDOUT)
				break;
		}
		systemd_return_session(&bus, session);
	}
	systemd_bus_fini(&bus);
	return r == -ENOENT ? 0 : r;
}
