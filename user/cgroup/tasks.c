// SPDX-License-Identifier: Apache-2.0
/*
 * Reads cgroup.procs and cgroup.threads. A pid is trusted only while a pidfd confirms that it still refers
 * to the same process.
 */
#include "cgroup/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/file.h"

/* include/linux/sched.h: the flag of kernel threads, in field 9 of /proc/PID/stat. */
#define PF_KTHREAD 0x00200000

#define WALK_DEPTH_MAX 32

/* --- lists ------------------------------------------------------------------------------------ */

struct pids {
	const char *file; /* of each group, in which the ids are */
	pid_t *pids;
	uint32_t nr, capacity;
	uint32_t nr_hidden; /* outside our pid namespace */
};

static int pids_add(struct pids *pids, pid_t pid)
{
	if (pids->nr == TASKS_MAX)
		return -E2BIG;
	if (pids->nr == pids->capacity) {
		uint32_t capacity = pids->capacity ? pids->capacity * 2 : 64;
		pid_t *bigger = realloc(pids->pids, capacity * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		pids->pids = bigger;
		pids->capacity = capacity;
	}
	pids->pids[pids->nr++] = pid;
	return 0;
}

static int read_pids(int fd, struct pids *pids)
{
	char *text cleanup_free = NULL;
	int err = file_read_line(fd, pids->file, &text);

	/*
	 * The processes of a threaded group are listed in its domain root; a dying group
	 * has none.
	 */
	if (err == -EOPNOTSUPP || err == -ENODEV || err == -ENOENT)
		return 0;
	if (err)
		return err;
	for (char *at = text; *at;) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		/* 0 stands for a process outside our pid namespace, which has no pid here. */
		pids->nr_hidden += pid == 0;
		if (pid > 0)
			err = pids_add(pids, (pid_t)pid);
		if (err)
			return err;
		at = end + strspn(end, "\n");
	}
	return 0;
}

/* A group was removed; any other error says nothing of what it has. */
static bool has_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

/* Called for each group with its path. The traversal descends only if it returns true. */
typedef bool (*visit_func)(void *self, int fd, const char *path, int *ret_err);

static int walk(int fd, const char *path, unsigned int depth, visit_func visit, void *self)
{
	DIR *entries cleanup_dir = NULL;
	const struct dirent *entry;
	int err = 0;

	if (!visit(self, fd, path, &err) || err || !depth)
		return err;
	err = file_open_dir(fd, ".", &entries);
	if (err)
		return err == -ENOENT ? 0 : err;
	while ((err = file_next_entry(entries, &entry)) > 0) {
		char child[GROUP_PATH_MAX];
		int child_fd cleanup_close = -1;

		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		if ((size_t)snprintf(child, sizeof(child), "%s%s%s", path, *path ? "/" : "",
				     entry->d_name) >= sizeof(child))
			continue;
		child_fd = openat(dirfd(entries), entry->d_name,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child_fd >= 0)
			err = walk(child_fd, child, depth - 1, visit, self);
		else
			err = has_gone(-errno) ? 0 : -errno;
		if (err)
			break;
	}
	return err;
}

static bool visit_collect(void *self, int fd, const char *path, int *ret_err)
{
	*ret_err = read_pids(fd, self);
	return true;
}

/* On failure *pids owns nothing. */
static int collect(struct groups *groups, const char *path, struct pids *pids)
{
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, path, &fd);

	if (!err)
		err = walk(fd, path, WALK_DEPTH_MAX, visit_collect, pids);
	if (err)
		free(pids->pids);
	return err;
}

int tasks_list(struct groups *groups, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	struct pids pids = {.file = "cgroup.procs"};
	int err = collect(groups, path, &pids);

	if (err)
		return err;
	*ret_pids = pids.pids;
	*ret_nr = pids.nr;
	return 0;
}

int tasks_of_group(const struct dir *dir, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	struct pids pids = {.file = "cgroup.procs"};
	int fd cleanup_close = -1;
	int err = dir_open_group(dir, path, &fd);

	if (!err)
		err = read_pids(fd, &pids);
	if (err) {
		free(pids.pids);
		return err;
	}
	*ret_pids = pids.pids;
	*ret_nr = pids.nr;
	return 0;
}

int tasks_threads(struct groups *groups, const char *path, pid_t **ret_threads, uint32_t *ret_nr,
		  uint32_t *ret_nr_hidden)
{
	struct pids pids = {.file = "cgroup.threads"};
	int err = collect(groups, path, &pids);

	if (err)
		return err;
	*ret_threads = pids.pids;
	*ret_nr = pids.nr;
	*ret_nr_hidden = pids.nr_hidden;
	return 0;
}

int tasks_kill(struct groups *groups, const char *path)
{
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, path, &fd);

	return err ? err : file_write_text(fd, "cgroup.kill", "1");
}

/* --- joining ---------------------------------------------------------------------------------- */

int tasks_read_stat(const struct dir *dir, pid_t pid, struct proc_stat *ret_stat)
{
	char name[32];

	snprintf(name, sizeof(name), "proc/%d/stat", (int)pid);
	return proc_stat_read(dir->root_fd, name, ret_stat);
}

bool tasks_is_alive(int pidfd)
{
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 0;
}

/*
 * Does the pidfd refer to this pid (in our pid namespace)? A value of -1 means that it
 * has exited.
 */
static bool means_pid(int pidfd, pid_t pid)
{
	char *text cleanup_free = NULL;
	const char *line;
	char name[48];

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", pidfd);
	if (file_read_line(AT_FDCWD, name, &text))
		return false;
	line = strstr(text, "\nPid:");
	return line && strtol(line + 5, NULL, 10) == pid;
}

int tasks_cgroup_of(const struct dir *dir, pid_t pid, char *ret_path, size_t size)
{
	char *text cleanup_free = NULL;
	const char *line;
	char name[32];
	int err;

	snprintf(name, sizeof(name), "proc/%d/cgroup", (int)pid);
	err = file_read_line(dir->root_fd, name, &text);
	if (err)
		return err;
	line = !strncmp(text, "0::/", 4) ? text : strstr(text, "\n0::/");
	if (!line)
		return -EPROTO;
	line = strchr(line, '/') + 1;
	if ((size_t)snprintf(ret_path, size, "%.*s", (int)strcspn(line, "\n"), line) >= size)
		return -ENAMETOOLONG;
	return 0;
}

/*
 * Reset a CPU affinity that the process already had (for example from taskset in a
 * shell). The kernel keeps the part that intersects with the cpuset, so the container
 * would run on less than its grant. A mask of all ones stands for the whole cpuset, even
 * after later changes (since 6.2).
 */
static int widen_affinity(pid_t pid)
{
	unsigned long mask[CPUSET_MAX / (8 * sizeof(unsigned long))];

	memset(mask, 0xff, sizeof(mask));
	return syscall(SYS_sched_setaffinity, pid, sizeof(mask), mask) < 0 ? -errno : 0;
}

static int check_joined(struct groups *groups, const char *path, pid_t pid, char *error)
{
	char now[GROUP_PATH_MAX];
	int err = tasks_cgroup_of(&groups->dir, pid, now, sizeof(now));

	if (err)
		return failure(error, err, "process %d: cannot read its cgroup back: %s", (int)pid,
			       strerror(-err));
	if (strcmp(now, path))
		return failure(error, -EREMOTEIO,
			       "process %d: moved to %s, but the kernel reports it in /%s: another "
			       "program moves it",
			       (int)pid, path, now);
	err = widen_affinity(pid);
	if (err && err != -ESRCH)
		return failure(error, err,
			       "process %d: in %s, but its affinity cannot be widened: %s",
			       (int)pid, path, strerror(-err));
	return 0;
}

int tasks_join(struct groups *groups, const char *path, pid_t pid, int pidfd,
	       char error[GROUP_ERROR_MAX])
{
	struct proc_stat before, after;
	int err;

	if (!groups->may_write)
		return failure(error, -EROFS, "%s: the agent changes no cgroups in this mode",
			       path);
	if (!means_pid(pidfd, pid) || !tasks_is_alive(pidfd) ||
	    tasks_read_stat(&groups->dir, pid, &before))
		return failure(error, -ESRCH, "process %d has ended; nothing was moved", (int)pid);
	if (before.flags & PF_KTHREAD)
		return failure(error, -EINVAL, "process %d is a kernel thread", (int)pid);
	err = groups->manager->join(groups, path, pid, error);
	if (err)
		return err;
	/* The process is alive after the move, so the pid cannot have been reused in between. */
	if (!tasks_is_alive(pidfd) || tasks_read_stat(&groups->dir, pid, &after) ||
	    after.start_ticks != before.start_ticks)
		return failure(error, -ESRCH, "process %d ended while it was moved into %s",
			       (int)pid, path);
	return check_joined(groups, path, pid, error);
}

/* --- outsiders -------------------------------------------------------------------------------- */

/* Group names used by container and virtual machine managers. */
static const char *const foreign_prefixes[] = {
	"docker-", "libpod-", "crio-", "cri-containerd-", "machine-", "lxc.payload", "nspawn-",
};
static const char *const foreign_groups[] = {
	"machine.slice", "docker", "libpod_parent", "lxc", "kubepods", "kubepods.slice",
};

bool tasks_is_foreign_scope(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(foreign_groups); i++)
		if (!strcmp(path, foreign_groups[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(foreign_prefixes); i++)
		if (!strncmp(name, foreign_prefixes[i], strlen(foreign_prefixes[i])))
			return true;
	return false;
}

struct census {
	struct groups *groups;
	uint32_t nr_tasks;
	char *scope;
	size_t scope_size;
};

static bool visit_outsider(void *self, int fd, const char *path, int *ret_err)
{
	struct census *census = self;
	struct pids pids = {.file = "cgroup.procs"};

	if (!strcmp(path, census->groups->workload_root))
		return false;
	if (!*census->scope && tasks_is_foreign_scope(path)) {
		const int populated = dir_populated(fd);

		if (populated > 0)
			snprintf(census->scope, census->scope_size, "%s", path);
		else if (populated < 0 && !has_gone(populated))
			*ret_err = populated;
	}
	if (!*ret_err)
		*ret_err = read_pids(fd, &pids);
	for (uint32_t i = 0; !*ret_err && i < pids.nr; i++) {
		struct proc_stat stat;

		/* Do not count kernel threads; ignore processes that have ended. */
		if (!tasks_read_stat(&census->groups->dir, pids.pids[i], &stat))
			census->nr_tasks += !(stat.flags & PF_KTHREAD);
	}
	free(pids.pids);
	return true;
}

int tasks_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		    size_t size)
{
	struct census census = {.groups = groups, .scope = ret_populated_scope, .scope_size = size};
	int err;

	*ret_populated_scope = '\0';
	err = walk(groups->dir.mount_fd, "", WALK_DEPTH_MAX, visit_outsider, &census);
	if (!err)
		*ret_nr_tasks = census.nr_tasks;
	return err;
}
