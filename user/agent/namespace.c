// SPDX-License-Identifier: Apache-2.0
/*
 * Kubernetes gives a container the host's cgroup namespace only together with all other rights
 * (privileged: true), so an agent with fewer rights enters it itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "agent/agent.h"
#include "lib/file.h"
#include "lib/log.h"

#define HOST_NAMESPACE "/proc/1/ns/cgroup"

int namespace_enter_host(const struct agent *agent)
{
	int fd cleanup_close = -1;

	if (!agent->options.host_cgroups)
		return 0;
	fd = open(HOST_NAMESPACE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return log_err(-errno, "cannot open " HOST_NAMESPACE
				       " for --host-cgroups; the agent needs the host's PID "
				       "namespace (hostPID) and CAP_SYS_PTRACE");
	if (setns(fd, CLONE_NEWCGROUP))
		return log_err(-errno, "cannot enter the cgroup namespace of process 1 for "
				       "--host-cgroups; the agent needs CAP_SYS_ADMIN");
	return 0;
}
