// SPDX-License-Identifier: Apache-2.0
/*
 * The manager for machines without systemd: our groups are directories that nobody else
 * creates. It applies steps; apply.c reads them back.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cgroup/change.h"
#include "cgroup/manager.h"
#include "lib/file.h"
#include "lib/log.h"

/*
 * The kernel does not disable a controller of a group while a child has it enabled for
 * its own children. The workload root therefore enables the controllers right away,
 * before there is a pod, so that nobody can disable them in the root cgroup.
 */
static int pass_controllers_on(struct groups *groups, char *error)
{
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, groups->workload_root, &fd);

	if (err)
		return failure(error, err, "%s: cannot open the group: %s", groups->workload_root,
			       dir_open_cause(err));
	return dir_enable_controllers(fd, groups->workload_root, error);
}

/*
 * If the workload root exists and cannot enable them, creating the first pod fails, not
 * the start.
 */
static int cgroupfs_open(struct groups *groups, char *error)
{
	int err = pass_controllers_on(groups, error);

	if (err && err != -ENOENT)
		log_warn(err, "cgroup: %s", error);
	return 0;
}

static void cgroupfs_close(struct groups *groups)
{
}

static int cgroupfs_create(struct groups *groups, const struct step *step, char *error)
{
	char parent[GROUP_PATH_MAX];
	int fd cleanup_close = -1;
	const char *name;
	int err = dir_split(step->path, parent, sizeof(parent), &name);

	if (!err)
		err = dir_open_group(&groups->dir, parent, &fd);
	if (err)
		return failure(error, err, "%s: cannot open its parent: %s", step->path,
			       dir_open_cause(err));
	err = dir_enable_controllers(fd, parent, error);
	if (err)
		return err;
	if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
		return failure(error, -errno, "%s: cannot create the group: %s", step->path,
			       errno == EAGAIN
				       ? "an ancestor has reached its limit of cgroups; raise its "
					 "cgroup.max.descendants or cgroup.max.depth"
				       : strerror(errno));
	return strcmp(step->path, groups->workload_root) ? 0 : pass_controllers_on(groups, error);
}

static int cgroupfs_write(struct groups *groups, const struct step *step, char *error)
{
	return change_write(&groups->dir, step->path, step->file, step->value, error);
}

static int cgroupfs_remove(struct groups *groups, const struct step *step, char *error)
{
	return change_remove(&groups->dir, step->path, error);
}

static int cgroupfs_join(struct groups *groups, const char *path, pid_t pid, char *error)
{
	int fd cleanup_close = -1;
	char text[16];
	int err = dir_open_group(&groups->dir, path, &fd);

	if (err)
		return failure(error, err, "%s: cannot open the group to join: %s", path,
			       strerror(-err));
	snprintf(text, sizeof(text), "%d", (int)pid);
	err = file_write_text(fd, "cgroup.procs", text);
	if (err == -EBUSY)
		return failure(
			error, err,
			"%s: cannot accept process %d: the container has enabled controllers for "
			"inner cgroups, so its own group may not have processes "
			"(no-internal-process rule); empty its cgroup.subtree_control",
			path, (int)pid);
	return err ? change_explain(path, "cgroup.procs", text, err, error) : 0;
}

static int cgroupfs_add_noted(struct groups *groups, struct group_tree *tree)
{
	return 0;
}

const struct manager manager_cgroupfs = {
	.name = "cgroupfs",
	.open = cgroupfs_open,
	.close = cgroupfs_close,
	.create = cgroupfs_create,
	.write = cgroupfs_write,
	.remove = cgroupfs_remove,
	.join = cgroupfs_join,
	.add_noted = cgroupfs_add_noted,
};
