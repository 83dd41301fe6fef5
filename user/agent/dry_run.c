// SPDX-License-Identifier: Apache-2.0
/* --check-config and --dry-run: what an agent would do, without changing anything. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "agent/agent.h"
#include "lib/log.h"
#include "lib/text.h"

/* Cgroups need not exist before the debugger does, but one that never will is a slip of the pen. */
static void tell_debuggers(const struct agent *agent)
{
	const struct cgroup_list *list = &settings_config(agent)->enforcement.debuggers;
	const char *root = agent->options.root;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < list->nr; i++) {
		snprintf(path, sizeof(path), "%s%s%s", strcmp(root, "/") ? root : "",
			 PINFOLD_CGROUP_MOUNT, list->paths[i]);
		if (access(path, F_OK) && errno == ENOENT)
			log_info("%s: enforcement.debuggers: cgroup %s does not exist; debuggers "
				 "may attach from it as soon as it is made",
				 agent->options.config_file, list->paths[i]);
	}
}

int dry_run_check_config(struct agent *agent)
{
	struct config_unbuilt options[CONFIG_UNBUILT_NR];
	int r;

	if (build_read_machine(agent))
		return EXIT_OTHER;
	r = settings_check(agent, &agent->settings[agent->current]);
	if (r)
		return settings_exit_status(r);
	settings_tell_mode(agent);
	config_list_unbuilt(settings_config(agent), options);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].is_asked)
			log_warn(0, "%s: %s; %s", agent->options.config_file, options[i].message,
				 CONFIG_UNBUILT_REMEDY);
	}
	tell_debuggers(agent);
	printf("%s: the configuration is valid on this machine\n", agent->options.config_file);
	return EXIT_DONE;
}

int dry_run_print(struct agent *agent)
{
	struct text out cleanup_text = {0};
	int r, status;

	if (build_read_machine(agent) || build_read_identity(agent))
		return EXIT_OTHER;
	r = settings_check(agent, &agent->settings[agent->current]);
	if (r)
		return settings_exit_status(r);
	if (build_open_groups(agent, &status))
		return status;
	agent->store.dir_fd = open(settings_config(agent)->state_directory,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	agent->store_port = store_port(&agent->store);
	r = build_new_controller(agent);
	if (r)
		return settings_exit_status(r);
	if (loop_open(agent) || controller_start(agent->controller) || build_start_sources(agent))
		return EXIT_OTHER;
	r = controller_print_plan(agent->controller, &out);
	if (r)
		return EXIT_OTHER;
	fputs(out.data ? out.data : "", stdout);
	return EXIT_DONE;
}
