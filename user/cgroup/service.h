/* SPDX-License-Identifier: Apache-2.0 */
/* The unit in which systemd runs the agent. */
#ifndef CGROUP_SERVICE_H
#define CGROUP_SERVICE_H

#include "ctl/ports.h"

/*
 * Have systemd stop PINFOLD_SERVICE, also one that waits to be started again, and wait until it has
 * ended: systemd kills an agent that does not exit in time, and starts no other. `root` is that of
 * the machine's files. 0 also if systemd is not process 1 or does not know the unit, or if the caller
 * belongs to it. Another errno, with a sentence in `error`: the agent may still run.
 */
int service_stop(const char *root, char error[GROUP_ERROR_MAX]);

#endif
