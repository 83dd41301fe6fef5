// SPDX-License-Identifier: Apache-2.0
/* Reads what the programs counted: their own run time, refusals, lost events, CPU time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/backend_private.h"
#include "bpf/inventory.h"
#include "format/words.h"
#include "lib/bpf_fd.h"
#include "lib/file.h"

static const char *const hook_names[HOOK_NR] = {
	[HOOK_FILE_PERMISSION] = "file_permission",
	[HOOK_FILE_OPEN] = "file_open",
	[HOOK_INODE_PERMISSION] = "inode_permission",
	[HOOK_INODE_MKDIR] = "inode_mkdir",
	[HOOK_INODE_RMDIR] = "inode_rmdir",
	[HOOK_TASK_SETSCHEDULER] = "task_setscheduler",
	[HOOK_TASK_MOVEMEMORY] = "task_movememory",
	[HOOK_TASK_SETNICE] = "task_setnice",
	[HOOK_TASK_SETIOPRIO] = "task_setioprio",
	[HOOK_TASK_SETRLIMIT] = "task_setrlimit",
	[HOOK_PTRACE_ACCESS_CHECK] = "ptrace_access_check",
	[HOOK_INODE_UNLINK] = "inode_unlink",
	[HOOK_INODE_RENAME] = "inode_rename",
	[HOOK_SB_MOUNT] = "sb_mount",
	[HOOK_MOVE_MOUNT] = "move_mount",
	[HOOK_SB_UMOUNT] = "sb_umount",
	[HOOK_SB_REMOUNT] = "sb_remount",
};

int backend_recursion_misses(const struct bpf_backend *backend, uint64_t *ret_misses)
{
	const struct bpf_object_handle *guard = backend_guard(backend);
	uint64_t misses = 0;

	for (uint32_t i = 0; guard && i < guard->nr_programs; i++) {
		struct bpf_fd_prog found;
		int r;

		/* a tracepoint denies nothing */
		if (!strncmp(guard->programs[i].section, "tp_btf/", strlen("tp_btf/")))
			continue;
		r = bpf_fd_read_prog(guard->programs[i].prog_fd, false, &found);
		if (r)
			return r;
		misses += found.recursion_misses;
	}
	*ret_misses = misses;
	return 0;
}

static bool is_timed(const struct bpf_backend *backend)
{
	return backend->stats_fd >= 0 || bpf_fd_is_timed();
}

static void fill_program(const struct bpf_backend *backend, const struct bpf_object_handle *handle,
			 const struct bpf_object_program *program, bool timed, struct prog_row *row)
{
	inventory_fill_prog(row, handle->name, program->name, program->section, program->prog_fd,
			    timed);
	row->attached = true;
	row->pinned = backend->options.bpffs_dir;
}

uint32_t backend_programs(void *self, const struct prog_row **ret_rows)
{
	struct bpf_backend *backend = self;
	const bool timed = is_timed(backend);
	uint32_t nr = 0;

	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_handle *handle = bpf_objects_handle(&backend->objects, id);

		for (uint32_t i = 0; handle && i < handle->nr_programs; i++)
			fill_program(backend, handle, &handle->programs[i], timed,
				     &backend->programs[nr++]);
	}
	*ret_rows = backend->programs;
	return nr;
}

static void list_object(const struct bpf_backend *backend, const struct bpf_object_handle *handle,
			struct bpf_inventory *inventory)
{
	const bool is_pinned = backend->options.bpffs_dir;

	for (uint32_t i = 0; i < handle->nr_programs; i++) {
		struct prog_row *row = bpf_inventory_add_prog(inventory);

		if (row)
			fill_program(backend, handle, &handle->programs[i], inventory->is_timed,
				     row);
	}
	for (uint32_t i = 0; i < handle->nr_maps; i++)
		inventory_add_map(inventory, handle->name, handle->maps[i].name, handle->maps[i].fd,
				  is_pinned);
	if (handle->meta_fd >= 0)
		inventory_add_map(inventory, handle->name, "meta", handle->meta_fd, is_pinned);
	for (uint32_t i = 0; i < handle->nr_programs; i++)
		inventory_add_maps_of(inventory, handle->name, handle->programs[i].prog_fd,
				      is_pinned);
}

void backend_list(void *self, struct bpf_inventory *inventory)
{
	const struct bpf_backend *backend = self;

	inventory->is_timed = is_timed(backend);
	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++) {
		const struct bpf_object_handle *handle = bpf_objects_handle(&backend->objects, id);

		if (handle)
			list_object(backend, handle, inventory);
		else if (bpf_object_row(id))
			bpf_inventory_add_missing(inventory, bpf_object_name(id),
						  backend->objects.rows[id].reason);
	}
}

/* The sum of a per-CPU counter over all CPUs. -ENOENT: there is no such map. */
static int read_counter(int map_fd, __u32 index, uint64_t *ret_sum)
{
	int nr_cpus = libbpf_num_possible_cpus();
	uint64_t *values cleanup_free = NULL;
	uint64_t sum = 0;

	if (map_fd < 0)
		return -ENOENT;
	if (nr_cpus < 0)
		return nr_cpus;
	values = calloc((size_t)nr_cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(map_fd, &index, values))
		return -errno;
	for (int i = 0; i < nr_cpus; i++)
		sum += values[i];
	*ret_sum = sum;
	return 0;
}

static int read_hook(int map_fd, uint32_t hook, struct hook_count *ret_count)
{
	int r = 0;

	snprintf(ret_count->hook, sizeof(ret_count->hook), "%s", hook_names[hook]);
	for (uint32_t action = 0; !r && action < ACTION_NR; action++)
		r = read_counter(map_fd, hook * ACTION_NR + action, &ret_count->counts[action]);
	return r;
}

uint32_t backend_hook_counts(void *self, const struct hook_count **ret_counts)
{
	struct bpf_backend *backend = self;
	int fd = bpf_object_map_fd(backend_guard(backend), "guard_counters");
	uint32_t nr = 0;

	for (uint32_t i = 0; i < HOOK_NR; i++)
		if (!read_hook(fd, i, &backend->hooks[nr]))
			nr++;
	*ret_counts = backend->hooks;
	return nr;
}

int backend_events_lost(void *self, enum event_counter what, uint64_t *ret_nr)
{
	const struct bpf_backend *backend = self;

	return read_counter(bpf_objects_map_fd(&backend->objects, "event_counters"), what, ret_nr);
}

int backend_observer_space(void *self, struct observer_space *ret_space)
{
	const struct bpf_backend *backend = self;
	const struct observer *observer = backend_observer(backend);
	struct observe_status status;

	if (!observer)
		return -EAGAIN;
	observe_status(observer, &status);
	*ret_space = (struct observer_space){
		.nr_slots = status.nr_slots,
		.nr_used = status.nr_used,
		.nr_unmeasured = status.nr_unmeasured,
		.nr_refused = status.exhausted,
		.nr_forgotten = status.forgotten,
		.nr_wrapped = status.wrapped,
	};
	return 0;
}

int backend_usage(void *self, uint64_t cgroup_id, struct usage *ret_usage)
{
	const struct bpf_backend *backend = self;
	struct observe_usage usage;
	int r = backend_observer(backend)
			? observe_usage(backend_observer(backend), cgroup_id, &usage)
			: -ENOENT;

	if (r)
		return r;
	*ret_usage = (struct usage){
		.run_local_ns = usage.run_local_ns,
		.run_remote_ns = usage.run_remote_ns,
		.run_outside_ns = usage.run_outside_ns,
		.switches = usage.switches,
		.preemptions = usage.preemptions,
		.migrations_thread = usage.migrations_thread,
		.migrations_core = usage.migrations_core,
		.migrations_llc = usage.migrations_llc,
		.migrations_numa = usage.migrations_numa,
		.nr_cpus = usage.nr_cpus,
		.run_ns = usage.run_ns,
		.outside_ns = usage.outside_ns,
		.remote_ns = usage.remote_ns,
		.cpu_wait_ns = usage.cpu_wait_ns,
		.cpu_switches = usage.cpu_switches,
		.cpu_preemptions = usage.cpu_preemptions,
		.cpu_migrations = usage.cpu_migrations,
	};
	memcpy(ret_usage->wait_ns, usage.wait_ns, sizeof(ret_usage->wait_ns));
	return 0;
}

int backend_latency(void *self, uint64_t cgroup_id, struct latency *ret_latency)
{
	const struct bpf_backend *backend = self;

	return backend_observer(backend)
		       ? observe_latency(backend_observer(backend), cgroup_id, ret_latency)
		       : -ENOENT;
}
