// SPDX-License-Identifier: Apache-2.0
/* The configuration: read, checked against the machine, and handed to the controller. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "agent/agent.h"
#include "kubelet/config.h"
#include "lib/file.h"
#include "lib/log.h"

typedef int config_reader(const char *data, size_t len, struct format_error *error,
			  struct config *config);

static int read_config_file(const char *path, config_reader *reader, struct config *config)
{
	char *data cleanup_free = NULL;
	struct format_error error;
	char text[FORMAT_ERROR_TEXT_MAX];
	size_t len;
	int r;

	r = file_read_path(path, CONFIG_MAX_BYTES, &data, &len);
	if (r)
		return log_err(r, "config: cannot read %s", path);
	r = reader(data, len, &error, config);
	if (r == -ENOMEM)
		return log_err(r, "config: %s", path);
	if (r) {
		log_err(0, "config: %s", format_error_text(&error, path, text, sizeof(text)));
		return r;
	}
	return 0;
}

int settings_load(const struct agent_options *options, struct config *ret_config)
{
	struct config config;
	int r;

	config_default(&config);
	if (options->kubelet_config) {
		r = read_config_file(options->kubelet_config, kubelet_config_import, &config);
		if (r)
			return r;
	}
	if (!options->config_given && access(options->config_file, F_OK) && errno == ENOENT) {
		log_info("config: %s is not there, taking the built-in defaults",
			 options->config_file);
	} else {
		r = read_config_file(options->config_file, config_parse, &config);
		if (r)
			return r;
	}
	if (options->mode)
		run_mode_parse(options->mode, &config.mode);
	*ret_config = config;
	return 0;
}

int settings_exit_status(int err)
{
	switch (err) {
	case -EINVAL: /* what it says is wrong, or it is not a file */
	case -EBUSY:  /* another allocator is configured */
	case -ENOENT:
	case -ENOTDIR:
	case -EISDIR:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -EFBIG:
	case -EACCES:
	case -EPERM:
		return EXIT_CONFIG;
	default:
		return EXIT_OTHER;
	}
}

/* Reserved CPUs that the machine has, but not now. */
static bool reserves_offline(const struct agent *agent, const struct policy *policy)
{
	return policy->has_reserved_list &&
	       !cpuset_is_subset(&policy->reserved_list, &agent->machine.topology->all) &&
	       cpuset_is_subset(&policy->reserved_list, &agent->machine.possible);
}

int settings_check(const struct agent *agent, struct settings *settings)
{
	struct cpuset special;
	char error[512] = "";
	int r;

	machine_special_cpus(&agent->machine, &special);
	r = config_check(&settings->config, agent->machine.topology, &special, &settings->policy,
			 error, sizeof(error));
	if (!r)
		return 0;
	log_err(0, "config: %s", *error ? error : strerror(-r));
	return r == -EINVAL && reserves_offline(agent, &settings->config.policy) ? -EAGAIN : r;
}

void settings_tell_mode(const struct agent *agent)
{
	const char *unbuilt = config_unbuilt_mode(settings_config(agent));

	if (unbuilt)
		log_warn(0, "config: %s", unbuilt);
}

const struct config *settings_config(const struct agent *agent)
{
	return &agent->settings[agent->current].config;
}

struct controller_options settings_controller_options(const struct agent *agent,
						      const struct config *config)
{
	return (struct controller_options){
		.config = config,
		.config_file = agent->options.config_file,
		.kernel_release = agent->kernel_release,
		.host = agent->host,
		.boot_id = agent->boot_id,
		.revision = PINFOLD_REVISION,
		.libbpf = bpf_backend_libbpf(),
		.discovers = agent->options.task == TASK_SERVE &&
			     (config->mode != MODE_ALLOCATE || config_pins_kubepods(config)),
		.dry_run = agent->options.task == TASK_DRY_RUN,
	};
}
