// SPDX-License-Identifier: Apache-2.0
/*
 * The traversal needs only two descriptors, whatever the depth of the tree: it descends
 * into the first group that cannot be removed and returns to the parent once that group
 * has no children. No name is needed for this, because the parent is read again from the
 * start and the emptied group is now a leaf.
 */
#include "cgroup/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "cgroup/dir.h"
#include "lib/file.h"

/* Additional steps beyond those that the existing groups need. */
#define SPARE_STEPS 64
/* The limit of one pass, which takes up to half a second; the next pass continues. */
#define STEPS_MAX 4096

#define MORE_ARE_LEFT                                                                             \
	"it contains more groups than one pass removes, or somebody keeps creating groups; stop " \
	"what creates them, and the next pass removes the rest"

struct removal {
	const char *path; /* of the top, for messages */
	int fd;		  /* the current group */
	unsigned int depth;
	uint64_t nr_removed;
	uint64_t *steps_left;
	char name[NAME_MAX + 1]; /* the last group that could not be removed */
};

static bool take_step(struct removal *walk)
{
	if (!*walk->steps_left)
		return false;
	(*walk->steps_left)--;
	return true;
}

static int resists(const struct removal *walk, int code, const char *why, char *error)
{
	return failure(error, code,
		       "%s: cannot remove the group '%.64s' %u level%s below it (%llu removed so "
		       "far): %s",
		       walk->path, walk->name, walk->depth + 1, walk->depth ? "s" : "",
		       (unsigned long long)walk->nr_removed, why);
}

static int out_of_steps(const struct removal *walk, char *error)
{
	return resists(walk, -EAGAIN, MORE_ARE_LEFT, error);
}

/*
 * Remove every child that is a leaf. Returns 1 if a child could not be removed, with its
 * name in the walk, and 0 if no child is left.
 */
static int remove_leaves(struct removal *walk, char *error)
{
	DIR *entries cleanup_dir = NULL;
	const struct dirent *entry;
	int err = file_open_dir(walk->fd, ".", &entries);

	/* Somebody else removed the current group. */
	if (err)
		return err == -ENOENT ? 0 : resists(walk, err, strerror(-err), error);
	while ((err = file_next_entry(entries, &entry)) > 0) {
		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		snprintf(walk->name, sizeof(walk->name), "%s", entry->d_name);
		if (!unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR)) {
			walk->nr_removed++;
			if (!take_step(walk))
				return out_of_steps(walk, error);
		} else if (errno == EBUSY || errno == ENOTEMPTY) {
			return 1;
		} else if (errno != ENOENT && errno != ENODEV) {
			return resists(walk, -errno, strerror(errno), error);
		}
	}
	return err ? resists(walk, err, strerror(-err), error) : 0;
}

/* Descend into the group that could not be removed, if it has children and no processes. */
static int descend(struct removal *walk, char *error)
{
	int child = -1;
	int err = dir_open_below(walk->fd, walk->name, &child);

	if (err == -ENOENT)
		return 0;
	if (err)
		return resists(walk, err == -EXDEV ? -EBUSY : err, dir_open_cause(err), error);
	if (dir_populated(child) > 0) {
		close(child);
		return resists(walk, -EBUSY, "it has processes", error);
	}
	close(walk->fd);
	walk->fd = child;
	walk->depth++;
	return 0;
}

static int ascend(struct removal *walk, char *error)
{
	int parent = openat(walk->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (parent < 0)
		return resists(walk, -errno, strerror(errno), error);
	close(walk->fd);
	walk->fd = parent;
	walk->depth--;
	return 0;
}

int remove_inside(int fd, const char *path, uint64_t *steps_left, char error[GROUP_ERROR_MAX])
{
	struct removal walk = {.path = path, .steps_left = steps_left};
	int result;

	walk.fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (walk.fd < 0)
		return failure(error, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	for (;;) {
		result = remove_leaves(&walk, error);
		if (result < 0 || (!result && !walk.depth))
			break;
		if (result && !take_step(&walk))
			result = out_of_steps(&walk, error);
		else
			result = result ? descend(&walk, error) : ascend(&walk, error);
		if (result)
			break;
	}
	close(walk.fd);
	return result;
}

static uint64_t steps_for(int fd)
{
	char *text cleanup_free = NULL;
	uint64_t nr;

	if (file_read_line(fd, "cgroup.stat", &text) ||
	    dir_flat_value(text, "nr_descendants", &nr) || nr > STEPS_MAX)
		return STEPS_MAX;
	return 2 * nr + SPARE_STEPS < STEPS_MAX ? 2 * nr + SPARE_STEPS : STEPS_MAX;
}

int remove_tree(int parent_fd, const char *name, int fd, const char *path,
		char error[GROUP_ERROR_MAX])
{
	uint64_t steps_left = steps_for(fd);

	for (;;) {
		int err = remove_inside(fd, path, &steps_left, error);

		if (err)
			return err;
		if (!unlinkat(parent_fd, name, AT_REMOVEDIR) || errno == ENOENT)
			return 0;
		if (errno != EBUSY && errno != ENOTEMPTY)
			return failure(error, -errno, "%s: cannot remove the group: %s", path,
				       strerror(errno));
		if (dir_populated(fd) > 0)
			return failure(error, -EBUSY,
				       "%s: cannot remove the group: a process has joined it",
				       path);
		/* A group was created inside in the meantime. */
		if (!steps_left--)
			return failure(error, -EAGAIN,
				       "%s: cannot remove the group: " MORE_ARE_LEFT, path);
	}
}
