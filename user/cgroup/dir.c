// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the cgroup2 hierarchy, rejects machines on which it cannot be used, naming the
 * problem, and opens groups beneath it. It writes only cgroup.subtree_control, and only
 * on request.
 */
#include "cgroup/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "lib/file.h"
#include "lib/kernfs.h"

/* Open component by component, if an old kernel or a seccomp filter does not offer openat2. */
static int open_walking(int base_fd, const char *path, int *ret_fd)
{
	int fd cleanup_close = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char copy[GROUP_PATH_MAX];
	char *rest = NULL;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, strlen(path) + 1);
	for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		int next;

		if (!strcmp(name, ".."))
			return -EXDEV;
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_beneath(int base_fd, const char *path, uint64_t resolve, int *ret_fd)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | resolve,
	};
	int fd = (int)syscall(SYS_openat2, base_fd, *path ? path : ".", &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_walking(base_fd, path, ret_fd);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int dir_open_group(const struct dir *dir, const char *path, int *ret_fd)
{
	if (path[0] == '/')
		return -EINVAL;
	return open_beneath(dir->mount_fd, path, 0, ret_fd);
}

int dir_open_cached(const struct dir *dir, const char *path, int *ret_fd)
{
	if (path[0] == '/')
		return -EINVAL;
	return open_beneath(dir->mount_fd, path, RESOLVE_CACHED, ret_fd);
}

int dir_read_list(int fd, const char *name, struct cpuset *ret_set)
{
	char *text cleanup_free = NULL;
	int err = file_read_line(fd, name, &text);

	return err ? err : cpuset_parse(text, strlen(text), ret_set);
}

int dir_online(const struct dir *dir, struct cpuset *ret_online)
{
	return dir_read_list(dir->root_fd, "sys/devices/system/cpu/online", ret_online);
}

void dir_offline(const struct dir *dir, const struct cpuset *wanted, struct cpuset *ret_offline)
{
	struct cpuset online;

	*ret_offline = CPUSET_EMPTY;
	if (dir_online(dir, &online))
		return;
	*ret_offline = *wanted;
	cpuset_subtract(ret_offline, &online);
}

const char *dir_open_cause(int err)
{
	return err == -EXDEV ? "something is mounted over it; unmount it" : strerror(-err);
}

/* Fill in the remedy and the message, and return the code. */
static int obstacle(struct group_obstacle *ret_obstacle, int code, const char *remedy,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
static int obstacle(struct group_obstacle *ret_obstacle, int code, const char *remedy,
		    const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret_obstacle->message, sizeof(ret_obstacle->message), format, args);
	va_end(args);
	snprintf(ret_obstacle->remedy, sizeof(ret_obstacle->remedy), "%s", remedy);
	return code;
}

/*
 * Our descriptor keeps working if something is mounted over its path, but container
 * runtimes, tools and a restarted agent look up the path.
 */
static int check_mount(const struct dir *dir, struct group_obstacle *ret_obstacle)
{
	struct stat held, seen;

	if (fstatat(dir->root_fd, dir->mount_path + 1, &seen, 0) || fstat(dir->mount_fd, &held))
		return obstacle(ret_obstacle, -errno, "mount the cgroup file system there again",
				"%s: cannot be looked up: %s", dir->mount_path, strerror(errno));
	if (seen.st_dev == held.st_dev && seen.st_ino == held.st_ino)
		return 0;
	return obstacle(ret_obstacle, -EXDEV,
			"unmount what covers it; if the cgroup file system was mounted again, "
			"restart pinfoldd",
			"%s: another file system is mounted over the cgroups", dir->mount_path);
}

int dir_check(const struct dir *dir, const char *root, struct group_obstacle *ret_obstacle)
{
	struct statvfs about;
	int fd cleanup_close = -1;
	int err = check_mount(dir, ret_obstacle);

	if (err)
		return err;
	if (fstatvfs(dir->mount_fd, &about))
		return obstacle(ret_obstacle, -errno, "see the kernel log",
				"%s: cannot be examined: %s", dir->mount_path, strerror(errno));
	if (dir->purpose == DIR_TO_MANAGE && (about.f_flag & ST_RDONLY))
		return obstacle(ret_obstacle, -EROFS, "remount it: mount -o remount,rw",
				"%s: the cgroup file system is read-only", dir->mount_path);
	if (dir_open_group(dir, root, &fd) == -EXDEV)
		return obstacle(ret_obstacle, -EXDEV, "unmount what covers it",
				"%s/%s: another file system is mounted over it", dir->mount_path,
				root);
	return 0;
}

int dir_split(const char *path, char *ret_parent, size_t size, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(ret_parent, path, len);
	ret_parent[len] = '\0';
	*ret_name = name;
	return 0;
}

int dir_open_below(int fd, const char *name, int *ret_fd)
{
	return open_beneath(fd, name, 0, ret_fd);
}

int dir_group_id(int group_fd, uint64_t *ret_id)
{
	struct stat info;

	if (fstat(group_fd, &info) < 0)
		return -errno;
	*ret_id = info.st_ino;
	return 0;
}

int dir_flat_value(const char *text, const char *key, uint64_t *ret_value)
{
	size_t len = strlen(key);

	for (const char *line = text; line;) {
		if (!strncmp(line, key, len) && line[len] == ' ') {
			char *end;
			unsigned long long value = strtoull(line + len + 1, &end, 10);

			if (end == line + len + 1 || (*end && *end != '\n'))
				return -EINVAL;
			*ret_value = value;
			return 0;
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return -ENOENT;
}

int dir_populated(int group_fd)
{
	char *text cleanup_free = NULL;
	uint64_t value;
	int err = file_read_line(group_fd, "cgroup.events", &text);

	if (!err)
		err = dir_flat_value(text, "populated", &value);
	return err ? err : value != 0;
}

bool dir_words_have(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += len) {
		bool starts = at == words || at[-1] == ' ';

		if (starts && (!at[len] || at[len] == ' ' || at[len] == '\n'))
			return true;
	}
	return false;
}

/*
 * /proc reports a removed group as its former path followed by " (deleted)". A group may
 * really have such a name, so compare the id of the group with that name.
 */
int dir_check_name(const struct dir *dir, const char *path, uint64_t cgroup_id)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), mark_len = sizeof(mark) - 1;
	int fd cleanup_close = -1;
	uint64_t id;
	int err;

	if (len < mark_len || strcmp(path + len - mark_len, mark))
		return 0;
	err = dir_open_group(dir, path, &fd);
	if (!err)
		err = dir_group_id(fd, &id);
	if (err)
		return err;
	return id == cgroup_id ? 0 : -ENOENT;
}

int dir_path_of(const struct dir *dir, uint64_t cgroup_id, char *ret_path, size_t size)
{
	char link[64], target[GROUP_PATH_MAX + MOUNT_PATH_MAX];
	int fd cleanup_close = -1;
	ssize_t len;
	const char *path;
	int err = kernfs_open(dir->mount_fd, cgroup_id, &fd);

	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	if (strncmp(target, dir->mount_path, strlen(dir->mount_path)))
		return -EXDEV;
	path = target + strlen(dir->mount_path);
	path += *path == '/';
	err = dir_check_name(dir, path, cgroup_id);
	if (err)
		return err;
	if (strlen(path) >= size)
		return -ENAMETOOLONG;
	snprintf(ret_path, size, "%s", path);
	return 0;
}

/* --- finding the hierarchy -------------------------------------------------------------------- */

/* Find out from /proc/cgroups why the root's cgroup.controllers has no cpuset. */
static void explain_no_cpuset(int root_fd, char *error)
{
	char *text cleanup_free = NULL;
	const char *line = NULL;
	unsigned int hierarchy, nr_cgroups, enabled;

	if (!file_read_line(root_fd, "proc/cgroups", &text))
		line = strstr(text, "\ncpuset\t");
	if (line && sscanf(line, " cpuset %u %u %u", &hierarchy, &nr_cgroups, &enabled) == 3) {
		if (!enabled) {
			failure(error, 0,
				"the cpuset controller is switched off: remove cgroup_disable=cpuset "
				"from the kernel's command line");
			return;
		}
		if (hierarchy) {
			failure(error, 0,
				"the cpuset controller is bound to a version 1 hierarchy (number %u) "
				"that is not mounted here; boot with cgroup_no_v1=all",
				hierarchy);
			return;
		}
	}
	failure(error, 0,
		"cgroup.controllers of the root cgroup has no cpuset: the kernel was built without "
		"CONFIG_CPUSETS, or has cgroup_disable=cpuset on its command line");
}

static enum dir_problem judge_root_cgroup(const struct dir *dir, char *error)
{
	char *controllers cleanup_free = NULL;
	int err;

	/* Every cgroup except the real root has cgroup.events. */
	if (faccessat(dir->mount_fd, "cgroup.events", F_OK, 0) == 0) {
		failure(error, 0,
			"%s is the root of a cgroup namespace, not of the machine: this is a "
			"container; run on the host or with the host's cgroup namespace",
			dir->mount_path);
		return DIR_OWN_NAMESPACE;
	}
	err = file_read_line(dir->mount_fd, "cgroup.controllers", &controllers);
	if (err) {
		failure(error, 0, "cannot read %s/cgroup.controllers: %s", dir->mount_path,
			strerror(-err));
		return DIR_UNREADABLE;
	}
	if (!dir_words_have(controllers, "cpuset")) {
		explain_no_cpuset(dir->root_fd, error);
		return DIR_NO_CPUSET;
	}
	return DIR_FINE;
}

static const int problem_errno[] = {
	[DIR_NOT_MOUNTED] = -ENODEV,	 [DIR_V1] = -EPROTONOSUPPORT,
	[DIR_HYBRID] = -EPROTONOSUPPORT, [DIR_PARTIAL_MOUNT] = -EXDEV,
	[DIR_OWN_NAMESPACE] = -EXDEV,	 [DIR_READ_ONLY] = -EROFS,
	[DIR_NO_CPUSET] = -EOPNOTSUPP,	 [DIR_CPUSET_NOT_ENABLED] = -EOPNOTSUPP,
	[DIR_NOT_PERMITTED] = -EPERM,	 [DIR_UNREADABLE] = -EIO,
};

/*
 * Each mount of a container has a line of up to 4 KiB, also in the namespace of the host, so a node
 * with many containers has more than a megabyte of them.
 */
#define MOUNTINFO_MAX (64U << 20)

static enum dir_problem open_hierarchy(const char *root, enum dir_purpose purpose, struct dir *dir,
				       char *error)
{
	char *mountinfo cleanup_free = NULL;
	struct mounts mounts;
	enum dir_problem problem;
	int err;

	dir->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dir->root_fd < 0 ? -errno
			       : file_read_kernel(dir->root_fd, "proc/self/mountinfo",
						  MOUNTINFO_MAX, &mountinfo);
	if (err) {
		failure(error, 0, "cannot read /proc/self/mountinfo: %s%s", strerror(-err),
			err == -ENOENT ? "; is procfs mounted?" : "");
		return DIR_UNREADABLE;
	}
	mounts_parse(mountinfo, &mounts);
	problem = mounts_judge(&mounts, purpose, error);
	if (problem)
		return problem;
	memcpy(dir->mount_path, mounts.v2_path, sizeof(dir->mount_path));
	dir->mount_fd =
		openat(dir->root_fd, mounts.v2_path + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->mount_fd < 0) {
		failure(error, 0, "cannot open the cgroup2 mount %s: %s", mounts.v2_path,
			strerror(errno));
		return DIR_UNREADABLE;
	}
	/* The criterion of sd_booted(), checked below the configurable root. */
	dir->systemd = faccessat(dir->root_fd, "run/systemd/system", F_OK, 0) == 0;
	return judge_root_cgroup(dir, error);
}

int dir_open(const char *root, enum dir_purpose purpose, struct dir *ret_dir,
	     enum dir_problem *ret_problem, char error[GROUP_ERROR_MAX])
{
	struct dir dir cleanup_dir_handle = DIR_CLOSED;
	enum dir_problem problem = open_hierarchy(root, purpose, &dir, error);

	*ret_problem = problem;
	if (problem)
		return problem_errno[problem];
	dir.purpose = purpose;
	*ret_dir = dir;
	dir = DIR_CLOSED;
	return 0;
}

void dir_close(struct dir *dir)
{
	if (dir->mount_fd >= 0)
		close(dir->mount_fd);
	if (dir->root_fd >= 0)
		close(dir->root_fd);
	*dir = DIR_CLOSED;
}

/* --- controllers ------------------------------------------------------------------------------ */

static const char *shown(const char *path)
{
	return *path ? path : "the root cgroup";
}

static int explain_not_enabled(const char *path, const char *controller, int err, char *error)
{
	switch (err) {
	case -EBUSY:
		return failure(error, err,
			       "%s: cannot enable %s for its children: it has processes itself "
			       "(no-internal-process rule); move them to a child group",
			       shown(path), controller);
	case -EINVAL:
		return failure(error, err,
			       "%s: the kernel refuses %s in cgroup.subtree_control; with "
			       "CONFIG_RT_GROUP_SCHED real-time processes outside the root cgroup "
			       "forbid the cpu controller",
			       shown(path), controller);
	case -EPERM:
	case -EACCES:
	case -EROFS:
		return failure(
			error, err,
			"%s: not permitted to enable %s in cgroup.subtree_control (%s); its owner "
			"must run there: echo +%s > cgroup.subtree_control",
			shown(path), controller, strerror(-err), controller);
	default:
		return failure(error, err, "%s: cannot write +%s to cgroup.subtree_control: %s",
			       shown(path), controller, strerror(-err));
	}
}

int dir_enable_controllers(int group_fd, const char *path, char error[GROUP_ERROR_MAX])
{
	/* cpuset is required; without the others a pod runs without weight and limits. */
	static const char *const wanted[] = {"cpuset", "cpu", "memory"};
	char *have cleanup_free = NULL, *enabled cleanup_free = NULL;
	int err = file_read_line(group_fd, "cgroup.controllers", &have);

	if (!err)
		err = file_read_line(group_fd, "cgroup.subtree_control", &enabled);
	if (err)
		return failure(error, err, "%s: cannot read its controllers: %s", shown(path),
			       strerror(-err));
	if (!dir_words_have(have, "cpuset"))
		return failure(error, -EOPNOTSUPP,
			       "%s has no cpuset controller: its parent must have +cpuset in "
			       "cgroup.subtree_control",
			       shown(path));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		char order[16];

		if (dir_words_have(enabled, wanted[i]) || !dir_words_have(have, wanted[i]))
			continue;
		snprintf(order, sizeof(order), "+%s", wanted[i]);
		err = file_write_text(group_fd, "cgroup.subtree_control", order);
		if (err && i == 0)
			return explain_not_enabled(path, wanted[i], err, error);
	}
	return 0;
}
