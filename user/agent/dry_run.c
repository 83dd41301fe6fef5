// SPDX-License-Identifier: Apache-2.0
/* --check-config and --dry-run: what an agent would do, without changing anything. */
#include <fcntl.h>
#include <stdio.h>

#include "agent/agent.h"
#include "lib/log.h"
#include "lib/text.h"

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
