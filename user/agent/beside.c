// SPDX-License-Identifier: Apache-2.0
/*
 * Two allocators on one node give the same CPU to two containers, and each takes back what the
 * other wrote. Whoever comes second has to notice: the kubelet cannot, so the agent does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "lib/file.h"
#include "lib/log.h"

static int judge(const char *path, const struct discovery *found)
{
	if (found->cpu_file.presence == KUBELET_STATE_UNUSABLE)
		return log_err(
			-EBUSY,
			"refusing to allocate: cannot use %s, so a kubelet may allocate CPUs "
			"as well: %s; remove the file if no kubelet runs here, or use mode: "
			"guard or observe",
			path, found->cpu_file.problem);
	if (discovery_is_static(found))
		return log_err(
			-EBUSY,
			"refusing to allocate: by %s the kubelet of this node allocates CPUs "
			"(policy static); drain the node, set cpuManagerPolicy: none in the "
			"kubelet's configuration and remove the file, or use mode: guard or "
			"observe",
			path);
	return 0;
}

int beside_check(const struct agent *agent)
{
	const struct config *config = settings_config(agent);
	struct discovery found cleanup_discovery = {0};
	char path[CONFIG_PATH_MAX + 32];
	char *data cleanup_free = NULL;
	size_t len;
	int r;

	if (config->mode != MODE_ALLOCATE || !*config->sources.kubelet_directory)
		return 0;
	snprintf(path, sizeof(path), "%s/cpu_manager_state", config->sources.kubelet_directory);
	r = file_read_path(path, KUBELET_STATE_MAX_BYTES, &data, &len);
	if (r == -ENOENT)
		return 0;
	if (!r)
		r = discovery_read_state(&found, data, len);
	if (r && settings_exit_status(r) != EXIT_CONFIG)
		return log_err(r, "cannot read %s", path);
	if (r) {
		found.cpu_file.presence = KUBELET_STATE_UNUSABLE;
		snprintf(found.cpu_file.problem, sizeof(found.cpu_file.problem), "%s",
			 strerror(-r));
	}
	return judge(path, &found);
}
