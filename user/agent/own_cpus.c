// SPDX-License-Identifier: Apache-2.0
/* Keeps the agent's own threads on the reserved CPUs. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "lib/file.h"
#include "lib/log.h"

void own_cpus_apply(const struct agent *agent)
{
	const struct cpuset *reserved = controller_reserved(agent->controller);
	DIR *threads cleanup_dir = opendir("/proc/self/task");
	const struct dirent *entry;
	cpu_set_t *mask;
	int r = threads ? 0 : -errno;

	if (cpuset_is_empty(reserved))
		return;
	mask = CPU_ALLOC(CPUSET_MAX);
	if (!mask)
		return;
	CPU_ZERO_S(CPU_ALLOC_SIZE(CPUSET_MAX), mask);
	cpuset_for_each (cpu, reserved)
		CPU_SET_S(cpu, CPU_ALLOC_SIZE(CPUSET_MAX), mask);
	while (threads && (r = file_next_entry(threads, &entry)) > 0) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0 && sched_setaffinity(thread, CPU_ALLOC_SIZE(CPUSET_MAX), mask) &&
		    errno != ESRCH)
			log_warn(-errno, "cannot move to the reserved CPUs; continuing");
	}
	if (r < 0)
		log_warn(r, "cannot list the agent's threads to move them to the reserved CPUs; "
			    "continuing");
	CPU_FREE(mask);
}
