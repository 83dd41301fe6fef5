// SPDX-License-Identifier: Apache-2.0
/* --uninstall: removes everything that pinfold created. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "agent/agent.h"
#include "cgroup/service.h"
#include "lib/log.h"

static bool load_originals(struct agent *agent, struct originals *ret_originals)
{
	struct format_error error;
	char sentence[FORMAT_ERROR_TEXT_MAX];
	int r;

	if (agent->store.dir_fd < 0)
		return false;
	r = originals_load(agent->store.dir_fd, &error, ret_originals);
	if (r == -EBADMSG)
		log_warn(0, "state: %s; the original values are not restored",
			 format_error_text(&error, PINFOLD_ORIGINALS_FILE, sentence,
					   sizeof(sentence)));
	else if (r && r != -ENOENT)
		log_warn(r, "state: cannot read %s; the original values are not restored",
			 PINFOLD_ORIGINALS_FILE);
	return !r;
}

/* Cgroups as they were before us; -EPERM while programs of the guard are still there. */
static int uninstall_groups(struct agent *agent, const struct originals *originals,
			    uint32_t *ret_nr_left, char *error)
{
	int r;

	/* Unpinned programs end when the kernel's workqueue lets them go, a little later. */
	for (int attempt = 0; attempt < 50; attempt++) {
		r = groups_uninstall(agent->groups, originals, ret_nr_left, error);
		/* Of very many nested groups one pass removes a part. */
		if (r != -EPERM && r != -EAGAIN)
			break;
		usleep(100000);
	}
	return r;
}

/*
 * What cannot be restored is reported, and keeps nobody from being rid of the rest. Without the
 * state directory nobody knows whether masks are ours.
 */
static int uninstall_irqs(struct agent *agent)
{
	const struct irqs_options options = {
		.root = agent->options.root,
		.state_fd = agent->store.dir_fd,
		.boot_id = agent->boot_id,
	};
	int r = build_read_identity(agent);

	if (!r)
		r = build_read_machine(agent);
	if (agent->store.dir_fd < 0) {
		log_warn(0, "uninstall: masks of interrupts cannot be restored without the state "
			    "directory; if they were steered, restart the machine");
		return 0;
	}
	return r ? r : irqs_restore(&options, agent->machine.topology);
}

/*
 * The same for the affinities of tasks that were kept off exclusive CPUs, which are in the runtime
 * directory; uninstall_irqs, which reads the machine, went before.
 * While a partition exists, what we wrote to a task may be hidden behind its cpuset, so this is
 * called again when the groups are gone. -ENODATA: the machine is unknown, so nothing was tried.
 */
static int uninstall_strangers(struct agent *agent)
{
	const struct strangers_options options = {
		.root = agent->options.root,
		.run_fd = agent->instance.dir_fd,
		.boot_id = agent->boot_id,
	};
	const struct groups_port groups = groups_port(agent->groups);
	struct plan_layout layout;

	if (!agent->machine.topology)
		return -ENODATA;
	groups.layout(groups.self, &layout);
	return strangers_restore(&options, agent->machine.topology, layout.root);
}

/*
 * The workload root must be gone: beside its partition the groups could not get their CPUs.
 * -ENODATA: it is unknown whether the lists are of this boot, so nothing was tried.
 */
static int uninstall_host(struct agent *agent)
{
	const struct host_options options = {
		.groups = agent->groups,
		.state_fd = agent->store.dir_fd,
		.boot_id = agent->boot_id,
	};

	if (agent->store.dir_fd < 0)
		return 0;
	return *agent->boot_id ? host_restore(&options) : -ENODATA;
}

int uninstall_run(struct agent *agent)
{
	const struct config *config = settings_config(agent);
	struct originals originals cleanup_originals = {0};
	char error[GROUP_ERROR_MAX] = "";
	bool has_originals;
	uint32_t nr_left = 0;
	int r, pin_error, irq_error, stranger_error, host_error, status;

	if (service_stop(agent->options.root, error))
		log_warn(0, "uninstall: the service is not stopped: %s", error);
	r = instance_stop(config->runtime_directory);
	if (!r)
		r = instance_take(config->runtime_directory, &agent->instance);
	if (r)
		return r == -EBUSY ? EXIT_INSTANCE : EXIT_OTHER;
	pin_error = bpf_backend_remove(PINFOLD_BPFFS_DIR);
	if (pin_error)
		log_warn(pin_error, "uninstall: the pins below %s remain", PINFOLD_BPFFS_DIR);
	if (build_open_groups(agent, &status))
		return status;
	store_open(&agent->store, config->state_directory);
	irq_error = uninstall_irqs(agent);
	uninstall_strangers(agent);
	has_originals = load_originals(agent, &originals);
	r = uninstall_groups(agent, has_originals ? &originals : groups_originals(agent->groups),
			     &nr_left, error);
	if (r) {
		log_err(0, "uninstall: %s; the state is kept for another attempt", error);
		return EXIT_OTHER;
	}
	host_error = uninstall_host(agent);
	stranger_error = uninstall_strangers(agent);
	if (nr_left)
		log_warn(0,
			 "uninstall: the processes of %u cgroup%s are still running; the cgroups "
			 "and the controllers they use remain until these end",
			 nr_left, nr_left == 1 ? "" : "s");
	store_remove(&agent->store, config->state_directory,
		     (nr_left && has_originals ? STORE_KEEP_ORIGINALS : 0) |
			     (irq_error ? STORE_KEEP_IRQS : 0) |
			     (host_error ? STORE_KEEP_HOST : 0));
	/* Otherwise the original affinities stay there for another attempt. */
	if (!stranger_error)
		instance_remove(&agent->instance, config->runtime_directory);
	if (irq_error) {
		log_err(irq_error, "uninstall: some interrupts keep their masks; run it again, or "
				   "restart the machine, which resets them");
		return EXIT_OTHER;
	}
	if (stranger_error) {
		log_err(stranger_error, "uninstall: some tasks keep the CPUs that they were moved "
					"to; run it again, or restart them");
		return EXIT_OTHER;
	}
	if (host_error) {
		log_err(host_error,
			"uninstall: some cgroups of the host keep their CPU lists; run it "
			"again, or restart the machine");
		return EXIT_OTHER;
	}
	if (pin_error) {
		log_err(pin_error,
			"uninstall: BPF programs remain below %s; run it again, or restart "
			"the machine",
			PINFOLD_BPFFS_DIR);
		return EXIT_OTHER;
	}
	log_info("uninstalled; %s and the pods' manifests were left in place",
		 agent->options.config_file);
	return EXIT_DONE;
}
