// SPDX-License-Identifier: Apache-2.0
#include "gather.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "clock.h"
#include "format/kubepods.h"
#include "lib/cleanup.h"
#include "lib/file.h"

extern char **environ;

/* --- commands --------------------------------------------------------------------------------- */

static int start(char *const argv[], int stdout_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, stdout_fd, STDOUT_FILENO);
	if (!r)
		r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (!r)
		r = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Until the writer has closed it; 0, or why that was not waited for. */
static int read_output(int fd, int64_t timeout_ms, struct text *output)
{
	const int64_t deadline_ms = clock_ms() + timeout_ms;
	char buffer[16 * 1024];

	for (;;) {
		struct pollfd readable = {.fd = fd, .events = POLLIN};
		const int64_t left_ms = deadline_ms - clock_ms();
		ssize_t n = left_ms > 0 ? poll(&readable, 1, (int)left_ms) : 0;

		if (!n)
			return -ETIMEDOUT;
		if (n > 0)
			n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : output->error;
		text_append_len(output, buffer, (size_t)n);
		if (output->len > GATHER_MAX_BYTES)
			return -EFBIG;
	}
}

/* Not waited for if it is killed: it may be where the kernel does not let it end. */
static int end(pid_t pid, int result, int *ret_status)
{
	int status;

	if (result) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, WNOHANG);
		return result;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

int gather_command(char *const argv[], int64_t timeout_ms, struct text *output, int *ret_status)
{
	int read_fd cleanup_close = -1, write_fd cleanup_close = -1;
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	read_fd = ends[0];
	write_fd = ends[1];
	r = start(argv, write_fd, &pid);
	if (r)
		return r;
	close(TAKE_FD(write_fd));
	return end(pid, read_output(read_fd, timeout_ms, output), ret_status);
}

/* --- cgroups ---------------------------------------------------------------------------------- */

static int add_text(struct json_object *object, const char *key, const char *value)
{
	struct json_object *string = json_object_new_string(value);

	if (string && !json_object_object_add(object, key, string))
		return 0;
	json_object_put(string);
	return -ENOMEM;
}

/* The files that pinfold decides by or writes; those that are not there are left out. */
static struct json_object *read_cgroup(const char *path)
{
	static const char *const files[] = {
		"cgroup.type",
		"cgroup.controllers",
		"cgroup.subtree_control",
		"cgroup.events",
		"cgroup.freeze",
		"cgroup.pressure",
		"cpuset.cpus",
		"cpuset.cpus.effective",
		"cpuset.cpus.exclusive",
		"cpuset.cpus.partition",
		"cpuset.mems",
		"cpuset.mems.effective",
		"cpu.max",
		"cpu.weight",
		"cpu.stat",
		"memory.min",
		"memory.low",
		"memory.high",
		"memory.max",
		"memory.current",
		"pids.current",
	};
	struct json_object *object = json_object_new_object();
	int fd cleanup_close = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; object && i < ARRAY_SIZE(files); i++) {
		char *value cleanup_free = NULL;

		if (file_read_line(fd, files[i], &value))
			continue;
		if (!add_text(object, files[i], value))
			continue;
		json_object_put(object);
		object = NULL;
	}
	return object;
}

static bool is_managed(const char *path)
{
	const size_t len = strlen(PINFOLD_WORKLOAD_ROOT);

	return !strncmp(path, PINFOLD_WORKLOAD_ROOT, len) && (!path[len] || path[len] == '/');
}

/* Cgroups within a container are its own business, unless pinfold manages the container. */
static bool is_wanted(const char *path)
{
	struct kubepods_name name;
	const enum kubepods_kind kind = kubepods_parse(path, &name);

	return is_managed(path) || (kind != KUBEPODS_NONE && kind != KUBEPODS_INSIDE);
}

static int add_cgroups(FTS *walk, size_t mount_len, struct json_object *all, size_t *ret_left_out)
{
	size_t nr = 0, nr_left_out = 0;

	for (FTSENT *entry = fts_read(walk); entry; entry = fts_read(walk)) {
		const char *path = entry->fts_path + mount_len;
		struct json_object *values;

		path += *path == '/';
		if (entry->fts_info != FTS_D || !is_wanted(path))
			continue;
		if (nr == GATHER_MAX_CGROUPS) {
			nr_left_out++;
			continue;
		}
		values = read_cgroup(entry->fts_path);
		if (!values || json_object_object_add(all, path, values)) {
			json_object_put(values);
			return -ENOMEM;
		}
		nr++;
	}
	*ret_left_out = nr_left_out;
	return 0;
}

/* NULL = no memory. */
static struct json_object *walk_cgroups(const char *mount, size_t *ret_left_out)
{
	struct json_object *all = json_object_new_object();
	/* a cgroup that ends meanwhile is an entry without values */
	FTS *walk = fts_open((char *[]){(char *)mount, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int r = -ENOMEM;

	if (all && walk)
		r = add_cgroups(walk, strlen(mount), all, ret_left_out);
	if (walk)
		fts_close(walk);
	if (!r)
		return all;
	json_object_put(all);
	return NULL;
}

/* To `fd`: the number that is left out, the end of the line, and the document. */
static int write_cgroups(int fd, const char *mount)
{
	size_t nr_left_out = 0;
	struct json_object *all = walk_cgroups(mount, &nr_left_out);

	if (!all || dprintf(fd, "%zu\n", nr_left_out) < 0)
		return 1;
	return json_object_to_fd(fd, all, JSON_C_TO_STRING_PLAIN) ? 1 : 0;
}

int gather_cgroups(const char *mount, int64_t timeout_ms, struct json_object **ret_json,
		   size_t *ret_left_out)
{
	int read_fd cleanup_close = -1, write_fd cleanup_close = -1;
	struct text output cleanup_text = {0};
	int ends[2], status, r;
	char *document;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	read_fd = ends[0];
	write_fd = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(write_cgroups(write_fd, mount));
	close(TAKE_FD(write_fd));
	r = end(pid, read_output(read_fd, timeout_ms, &output), &status);
	if (r)
		return r;
	if (status)
		return -ENOMEM;
	*ret_left_out = strtoul(output.data, &document, 10);
	*ret_json = json_tokener_parse(document);
	return *ret_json ? 0 : -ENOMEM;
}

struct json_object *gather_kernel(void)
{
	struct json_object *object = json_object_new_object();
	struct utsname name;

	if (!object || uname(&name))
		return object;
	if (!add_text(object, "sysname", name.sysname) &&
	    !add_text(object, "release", name.release) &&
	    !add_text(object, "version", name.version) && /* key: of uname(2) */
	    !add_text(object, "machine", name.machine))
		return object;
	json_object_put(object);
	return NULL;
}
