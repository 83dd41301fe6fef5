// SPDX-License-Identifier: Apache-2.0
/*
 * Compares each second what is in force with what the agent set: the switch of the kernel that
 * disables the programs, the guard's configuration, the pins, and the programs' count of calls
 * that they missed. Reverts what another process changed.
 */
#include <errno.h>
#include <stdio.h>

#include "bpf/backend_private.h"
#include "bpf/ftrace.h"
#include "bpf/in_force.h"
#include "lib/log.h"

void backend_mend_switch(struct bpf_backend *backend)
{
	int r = ftrace_mend(FTRACE_FILE);

	if (r > 0) {
		log_warn(0, "guard: " FTRACE_SYSCTL " was 0; the agent set it to 1");
		backend_say_mended(backend, MENDED_CONFIG, FTRACE_SYSCTL " 0 instead of 1");
	}
	if (r < 0 && backend->switch_error != r)
		log_err(r, "guard: cannot set " FTRACE_SYSCTL " to 1");
	backend->switch_error = r < 0 ? r : 0;
}

void backend_say_inherited(struct bpf_backend *backend)
{
	struct pins_report report = {0};

	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		struct bpf_object_handle *handle = bpf_objects_handle(&backend->objects, id);

		if (!handle)
			continue;
		pins_report_add(&report, &handle->inherited);
		handle->inherited = (struct pins_report){0};
	}
	backend_say_pins(backend, &report);
}

/* Revert a configuration that another process wrote, unless it is a release. */
static void mend_config(struct bpf_backend *backend)
{
	struct guard_config found, expected;
	char text[ROW_DETAIL_MAX];
	int r;

	if (!backend_guard(backend) || policy_read(&backend->maps, &found))
		return;
	expected = guard_config_expected(&backend->set, &found);
	if (!guard_config_differs(&expected, &found, text, sizeof(text)))
		return;
	r = policy_rewrite(&backend->maps, &backend->set);
	if (!r)
		backend_say_mended(backend, MENDED_CONFIG, text);
	else if (r != backend->config_error)
		log_err(r, "bpf: cannot restore the guard's configuration, which has %s", text);
	backend->config_error = r;
	backend_note_frozen(backend, r);
}

void backend_mend_files(struct bpf_backend *backend)
{
	int map_fd = bpf_objects_map_fd(&backend->objects, "guard_files");
	bool mended = false;
	int r;

	if (map_fd < 0 || !backend->options.bpffs_dir)
		return;
	r = guard_files_update(&backend->files, map_fd, backend->options.bpffs_dir,
			       backend->options.cgroup_dir, &mended);
	if (r && r != backend->files_error)
		log_err(r, "bpf: cannot tell the guard which pins and mounts it protects");
	backend->files_error = r;
	backend_note_frozen(backend, r);
	if (mended)
		backend_say_mended(backend, MENDED_CONFIG, "entries of guard_files lost");
}

/*
 * Restore pins that another process removed or replaced: without them the guard remains in
 * force, but ends with the agent. Not while the loading thread pins maps with the same names.
 */
static void restore_pins(struct bpf_backend *backend)
{
	const char *pin_dir = backend->options.bpffs_dir;
	struct pins_report report = {0};
	int mounted;

	if (backend->load.running || !bpf_objects_any(&backend->objects))
		return;
	mounted = pins_mount(pin_dir);
	if (mounted > 0)
		pins_report_wrong(&report, "bpffs", "unmounted");
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++)
		if (bpf_objects_handle(&backend->objects, id))
			bpf_object_restore_pins(bpf_objects_handle(&backend->objects, id), pin_dir,
						&report);
	if (mounted == -EXDEV && report.nr_failed)
		snprintf(report.failed, sizeof(report.failed),
			 "no bpffs is mounted for %s, and a mount by the agent would end with it",
			 pin_dir);
	backend_say_pins(backend, &report);
}

/*
 * Some calls were not judged, and it is unknown which. Every managed file must therefore be
 * compared again, which this event requests from the controller.
 */
static void say_skipped(struct bpf_backend *backend, uint64_t nr)
{
	struct event_record event = EVENT_RECORD(EVENT_UNJUDGED);

	log_warn(0, "guard: %llu calls were allowed because a program was preempted",
		 (unsigned long long)nr);
	event.aspect = ASPECT_CPUSET_FILES;
	event.action = ACTION_ALLOW;
	event.nr_unjudged = nr;
	backend_relay_event(backend, &event);
	if (backend->status.state == GUARD_ACTIVE)
		backend_update_guard_status(backend);
}

void backend_tick(void *self)
{
	struct bpf_backend *backend = self;
	const uint64_t before = backend->status.recursion_misses;
	uint64_t misses = before;

	/* what cannot be read this time is read the next time, and told then */
	backend_recursion_misses(backend, &misses);
	backend->status.recursion_misses = misses;
	if (backend->maps.heartbeat >= 0)
		backend_note_frozen(backend,
				    policy_heartbeat(&backend->maps, backend->set.expiry_ns,
						     &backend->heartbeat));
	/* the counters of reloaded programs start at zero */
	if (misses > before)
		say_skipped(backend, misses - before);
	if (backend_guard(backend))
		backend_mend_switch(backend);
	mend_config(backend);
	backend_mend_lease(backend);
	restore_pins(backend);
	backend_mend_files(backend);
	if (backend->reader)
		events_sweep(backend->reader);
}
