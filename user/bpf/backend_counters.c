// SPDX-License-Identifier: Apache-2.0
/* Reads what the programs counted: their own run time, refusals, lost events, CPU time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/backend_private.h"
#include "lib/file.h"

static const char *const hook_names[HOOK_NR] = {
	[HOOK_FILE_PERMISSION] = "file_permission",
	[HOOK_FILE_OPEN] = "file_open",
	[HOOK_INODE_PERMISSION] = "inode_permission",
	[HOOK_INODE_MKDIR] = "inode_mkdir",
	[HOOK_INODE_RMDIR] = "inode_rmdir",
	[HOOK_TASK_SETSCHEDULER] = "task_setscheduler",
};

static void read_program(int fd, uint32_t id, struct prog_row *row)
{
	int own cleanup_close = fd < 0 ? bpf_prog_get_fd_by_id(id) : -1;
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	row->id = id;
	if (bpf_obj_get_info_by_fd(fd < 0 ? own : fd, &info, &len))
		return;
	if (!row->name[0])
		snprintf(row->name, sizeof(row->name), "%s", info.name);
	row->run_time_ns = info.run_time_ns;
	row->run_count = info.run_cnt;
	row->recursion_misses = info.recursion_misses;
}

uint64_t backend_recursion_misses(const struct bpf_backend *backend)
{
	const struct bpf_object_handle *guard = backend_guard(backend);
	uint64_t misses = 0;

	for (uint32_t i = 0; guard && i < guard->nr_programs; i++) {
		struct prog_row row = {0};

		read_program(guard->programs[i].prog_fd, guard->programs[i].id, &row);
		misses += row.recursion_misses;
	}
	return misses;
}

/* "fmod_ret/security_file_open" → "fmod_ret" */
static void fill_type(struct prog_row *row, const char *section)
{
	snprintf(row->type, sizeof(row->type), "%.*s", (int)strcspn(section, "/"), section);
}

static uint32_t list_object(const struct bpf_object_handle *handle, struct prog_row *rows)
{
	uint32_t nr = handle ? handle->nr_programs : 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct bpf_object_program *program = &handle->programs[i];

		rows[i] = (struct prog_row){.attached = true, .pinned = true};
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", program->name);
		snprintf(rows[i].object, sizeof(rows[i].object), "%s", handle->name);
		fill_type(&rows[i], program->section);
		read_program(program->prog_fd, program->id, &rows[i]);
	}
	return nr;
}

uint32_t backend_programs(void *self, const struct prog_row **ret_rows)
{
	struct bpf_backend *backend = self;
	uint32_t nr = 0;

	for (enum bpf_object_id id = 0; id < BPF_OBJECT_NR; id++)
		nr += list_object(bpf_objects_handle(&backend->objects, id),
				  backend->programs + nr);
	*ret_rows = backend->programs;
	return nr;
}

/* The sum of a per-CPU counter over all CPUs; 0 if it cannot be read. */
static uint64_t read_counter(int map_fd, __u32 index)
{
	int nr_cpus = libbpf_num_possible_cpus();
	uint64_t *values cleanup_free = nr_cpus > 0 ? calloc((size_t)nr_cpus, sizeof(*values))
						    : NULL;
	uint64_t sum = 0;

	if (!values || map_fd < 0 || bpf_map_lookup_elem(map_fd, &index, values))
		return 0;
	for (int i = 0; i < nr_cpus; i++)
		sum += values[i];
	return sum;
}

uint32_t backend_hook_counts(void *self, const struct hook_count **ret_counts)
{
	struct bpf_backend *backend = self;
	int fd = bpf_object_map_fd(backend_guard(backend), "guard_counters");

	for (uint32_t i = 0; i < HOOK_NR; i++) {
		snprintf(backend->hooks[i].hook, sizeof(backend->hooks[i].hook), "%s",
			 hook_names[i]);
		for (uint32_t action = 0; action < ACTION_NR; action++)
			backend->hooks[i].counts[action] = read_counter(fd, i * ACTION_NR + action);
	}
	*ret_counts = backend->hooks;
	return HOOK_NR;
}

uint64_t backend_events_lost(void *self)
{
	const struct bpf_backend *backend = self;

	return read_counter(bpf_objects_map_fd(&backend->objects, "event_counters"), EVENTS_LOST);
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
		.migrations_core = usage.migrations_core,
		.migrations_llc = usage.migrations_llc,
		.migrations_numa = usage.migrations_numa,
		.nr_cpus = usage.nr_cpus,
		.run_ns = usage.run_ns,
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
