// SPDX-License-Identifier: Apache-2.0
/* Direct changes, one write or one group at a time. apply.c reads them back. */
#include "cgroup/change.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cgroup/remove.h"
#include "lib/file.h"

/* --- write ------------------------------------------------------------------------------------ */

int change_explain(const char *path, const char *name, const char *value, int err,
		   char error[GROUP_ERROR_MAX])
{
	const char *cause = strerror(-err), *remedy = "see the kernel log";

	switch (err) {
	case -ENOENT:
		cause = "the group or its file does not exist";
		remedy = "enable the controller in the parent's cgroup.subtree_control";
		break;
	case -EPERM:
		cause = "denied although the file's mode permits it";
		remedy =
			"pinfold's guard or another security module forbids it: register the agent "
			"as an actor, or run 'pinfold guard release'";
		break;
	case -EACCES:
		cause = "not permitted";
		remedy = "run as root of the initial user namespace";
		break;
	case -EINVAL:
	case -ERANGE:
		cause = "the kernel rejects this value";
		remedy =
			strncmp(name, "cpuset.", 7)
				? "it is out of range; check the pod's requests and limits"
				: "name only CPUs or memory nodes that the parent and this machine "
				  "have";
		break;
	case -ENOSPC:
		cause = "processes would have no CPU or memory node left";
		remedy = "move the processes out first";
		break;
	case -EBUSY:
		cause = "the group or its tasks forbid it now";
		remedy = "check for processes in inner groups and for SCHED_DEADLINE tasks";
		break;
	}
	return failure(error, err, "%s/%s: cannot write '%s': %s; %s", path, name, value, cause,
		       remedy);
}

static int refuse_empty(int fd, const char *path, const char *name, char *error)
{
	int populated = dir_populated(fd);

	if (populated == 0)
		return 0;
	/*
	 * Treat an unknown state as populated: kernels up to 6.12 return ENOSPC, but 7.2
	 * would accept the write.
	 */
	return failure(
		error, -EINVAL,
		"%s/%s: refusing to write an empty list: the group has processes, which would "
		"run on the parent's whole set; write the parent's list instead",
		path, name);
}

int change_write(const struct dir *dir, const char *path, enum group_file file, const char *value,
		 char error[GROUP_ERROR_MAX])
{
	const char *name = group_file_name(file);
	int fd cleanup_close = -1;
	int err = dir_open_group(dir, path, &fd);

	if (err)
		return failure(error, err, "%s: cannot open the group to write %s: %s", path, name,
			       dir_open_cause(err));
	if (!*value && (file == GROUP_CPUSET_CPUS || file == GROUP_CPUSET_MEMS)) {
		err = refuse_empty(fd, path, name, error);
		if (err)
			return err;
	}
	err = file_write_text(fd, name, value);
	return err ? change_explain(path, name, value, err, error) : 0;
}

/* --- remove ----------------------------------------------------------------------------------- */

/* Is the group a valid partition? If so, set its CPUs. */
static bool is_partition(int fd, struct cpuset *ret_cpus)
{
	char *state cleanup_free = NULL;

	if (file_read_line(fd, "cpuset.cpus.partition", &state))
		return false;
	if (strcmp(state, "root") && strcmp(state, "isolated"))
		return false;
	return !dir_read_list(fd, "cpuset.cpus", ret_cpus);
}

#define RETURN_WAIT_MS 100

#define RETURN_POLL_MS 5

/*
 * The CPUs of a removed partition are returned by a work item (css offline). The
 * preceding write of "member" returns them immediately on all tested kernels; this
 * function verifies it before the CPUs are granted again.
 */
static int await_return(int parent_fd, const struct cpuset *cpus)
{
	const struct timespec pause = {.tv_nsec = RETURN_POLL_MS * 1000000L};
	struct cpuset effective;

	for (int waited_ms = 0; waited_ms <= RETURN_WAIT_MS; waited_ms += RETURN_POLL_MS) {
		int err = dir_read_list(parent_fd, "cpuset.cpus.effective", &effective);

		if (err || cpuset_is_subset(cpus, &effective))
			return err == -ENOENT ? 0 : err;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int remove_group(const struct dir *dir, const char *path, int fd, char *error)
{
	char parent[GROUP_PATH_MAX];
	struct cpuset cpus, offline;
	int parent_fd cleanup_close = -1;
	const char *name;
	bool partition = is_partition(fd, &cpus);
	int err = dir_split(path, parent, sizeof(parent), &name);

	if (!err)
		err = dir_open_group(dir, parent, &parent_fd);
	if (!err && partition)
		err = file_write_text(fd, "cpuset.cpus.partition", "member");
	if (err)
		return failure(error, err, "%s: cannot remove the group: %s", path, strerror(-err));
	err = remove_tree(parent_fd, name, fd, path, error);
	if (err || !partition)
		return err;
	dir_offline(dir, &cpus, &offline);
	cpuset_subtract(&cpus, &offline);
	err = await_return(parent_fd, &cpus);
	return err ? failure(error, err,
			     "%s: removed, but its CPUs are not back in the parent's "
			     "cpuset.cpus.effective after %d ms",
			     path, RETURN_WAIT_MS)
		   : 0;
}

int change_remove(const struct dir *dir, const char *path, char error[GROUP_ERROR_MAX])
{
	int fd cleanup_close = -1;
	int err = dir_open_group(dir, path, &fd);

	if (err == -ENOENT)
		return 0;
	if (err)
		return failure(error, err, "%s: cannot open the group: %s", path, strerror(-err));
	if (dir_populated(fd) > 0)
		return failure(error, -EBUSY,
			       "%s: still has processes; it is removed when the last one ends",
			       path);
	return remove_group(dir, path, fd, error);
}
