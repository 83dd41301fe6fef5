// SPDX-License-Identifier: Apache-2.0
/*
 * memory process: on which NUMA nodes the pages of one process are.
 *
 * libnuma says which nodes have memory, and /proc/PID/numa_maps what the process has of it. Its
 * numa_move_pages() without targets would tell that page by page, but to the kernel a question is a
 * move: it asks security_task_movememory(), by which our own guard protects the containers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>

#include "format/numa_maps.h"
#include "inspect.h"
#include "lib/file.h"
#include "lib/text.h"

/* Kernels limit pids to this. */
#define PID_LIMIT (1 << 22)

struct process {
	uint32_t pid;
	char name[32];
	struct numa_maps_node nodes[NUMA_MAPS_NODES];
};

static int parse_pid(struct session *session, const char *word, uint32_t *ret_pid)
{
	char *end;
	unsigned long pid = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end || !pid || pid > PID_LIMIT)
		return out_fail(session, STATUS_USAGE,
				"invalid process '%.60s': expected its number, e.g. 'memory "
				"process 4242'",
				word);
	*ret_pid = (uint32_t)pid;
	return STATUS_DONE;
}

static int fail_process(struct session *session, const struct process *process, int error)
{
	if (error == -EACCES || error == -EPERM)
		return out_fail(session, STATUS_PERMISSION,
				"cannot read the memory map of process %u: only root and users "
				"who may trace the process can read it; run pinfold as root",
				process->pid);
	return out_fail(session, STATUS_FAILED, "cannot read /proc/%u/numa_maps: %s", process->pid,
			strerror(-error));
}

/* A kernel without NUMA has no such file. */
static int fail_missing(struct session *session, const struct process *process)
{
	if (*process->name)
		return out_fail(session, STATUS_UNSUPPORTED,
				"this kernel does not report where the memory of a process is: "
				"/proc/%u/numa_maps does not exist (CONFIG_NUMA)",
				process->pid);
	return out_fail(session, STATUS_INPUT, "there is no process %u", process->pid);
}

/* "" if there is no such process. */
static void read_name(struct process *process)
{
	char path[64], *name cleanup_free = NULL;

	snprintf(path, sizeof(path), "/proc/%u/comm", process->pid);
	if (!file_read_line(AT_FDCWD, path, &name))
		text_copy(process->name, sizeof(process->name), name);
}

/* 0 or -errno, -ENOENT: there is no such file. The file may have a line for each of 65,530 mappings. */
static int read_maps(struct process *process)
{
	char path[64], *line cleanup_free = NULL;
	FILE *file cleanup_file = NULL;
	size_t size = 0;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%u/numa_maps", process->pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (!r && getline(&line, &size, file) > 0)
		r = numa_maps_add(line, process->nodes);
	if (!r && ferror(file))
		r = errno ? -errno : -EIO;
	return r;
}

static struct json_object *rows_of(const struct process *process)
{
	struct view_process_memory *rows cleanup_free = calloc(NUMA_MAPS_NODES, sizeof(*rows));
	size_t nr = 0;

	if (!rows)
		return NULL;
	for (uint32_t id = 0; id < NUMA_MAPS_NODES; id++) {
		const struct numa_maps_node *node = &process->nodes[id];
		const bool has_memory = numa_node_size64((int)id, NULL) > 0;

		if (has_memory || node->bytes || node->hugetlb_bytes)
			rows[nr++] = (struct view_process_memory){
				.pid = process->pid,
				.name = process->name,
				.numa = id,
				.bytes = node->bytes,
				.hugetlb_bytes = node->hugetlb_bytes,
			};
	}
	return view_process_memories(rows, nr);
}

int memory_process(struct session *session, int argc, char **argv)
{
	struct process *process cleanup_free = calloc(1, sizeof(*process));
	int r;

	if (!process)
		return out_no_memory(session);
	if (argc != 1)
		return unexpected(session, argc ? argv[1] : "",
				  argc ? "no more arguments" : "the number of a process");
	r = parse_pid(session, argv[0], &process->pid);
	if (r)
		return r;
	read_name(process);
	if (numa_available() < 0)
		return out_fail(session, STATUS_UNSUPPORTED, "this kernel has no NUMA");
	r = read_maps(process);
	if (r == -ENOENT || r == -ESRCH)
		return fail_missing(session, process);
	if (r)
		return fail_process(session, process, r);
	return out_object(session, &view_process_memory_desc, rows_of(process));
}
