// SPDX-License-Identifier: Apache-2.0
/*
 * Lets the manager apply a step and reads back what it wrote. A successful write does not
 * prove anything: the kernel reports an invalid partition only when the file is read, and
 * if a CPU list does not intersect the parent's, the kernel silently uses the parent's
 * whole set (6.1 to 7.2).
 */
#include "cgroup/apply.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cgroup/value.h"
#include "lib/file.h"
/* Space for a list in a message; longer lists are truncated. */
#define LIST_SHOWN_MAX 96

static const char *shown_list(const struct cpuset *set, char *buffer)
{
	size_t len = cpuset_format(set, buffer, LIST_SHOWN_MAX);

	if (len >= LIST_SHOWN_MAX)
		memcpy(buffer + LIST_SHOWN_MAX - 4, "...", 4);
	return len ? buffer : "none";
}

/* --- read back -------------------------------------------------------------------------------- */

/* Which list of the sibling overlaps; NULL = none. Linux before 6.7 has only the first one. */
static const char *find_list(int parent_fd, const char *sibling, const struct cpuset *cpus,
			     struct cpuset *ret_overlap)
{
	static const char *const names[] = {"cpuset.cpus", "cpuset.cpus.exclusive"};
	char file[NAME_MAX + 32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(file, sizeof(file), "%s/%s", sibling, names[i]);
		if (!dir_read_list(parent_fd, file, ret_overlap) &&
		    cpuset_intersects(ret_overlap, cpus))
			return names[i];
	}
	return NULL;
}

/* A sibling, and which of its lists overlaps. */
struct overlap {
	char sibling[GROUP_PATH_MAX];
	const char *file;
	struct cpuset cpus;
};

/*
 * Up to Linux 6.12 a partition is invalid if a sibling's list overlaps with it. Find the
 * first such sibling, for the message. It is never changed, because it belongs to
 * somebody else.
 */
static bool find_overlap(const struct dir *dir, const char *path, const struct cpuset *cpus,
			 struct overlap *ret_overlap)
{
	char parent[GROUP_PATH_MAX];
	const char *name;
	int fd cleanup_close = -1;
	DIR *entries cleanup_dir = NULL;
	const struct dirent *entry;

	if (dir_split(path, parent, sizeof(parent), &name) || dir_open_group(dir, parent, &fd) ||
	    file_open_dir(fd, ".", &entries))
		return false;
	while (file_next_entry(entries, &entry) > 0) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, name))
			continue;
		ret_overlap->file =
			find_list(dirfd(entries), entry->d_name, cpus, &ret_overlap->cpus);
		if (!ret_overlap->file)
			continue;
		return (size_t)snprintf(ret_overlap->sibling, sizeof(ret_overlap->sibling),
					"%s%s%s", parent, *parent ? "/" : "",
					entry->d_name) < sizeof(ret_overlap->sibling);
	}
	return false;
}

static int explain_invalid(const struct dir *dir, int fd, const char *path, const char *seen,
			   char *error)
{
	char reason[96], list[LIST_SHOWN_MAX];
	struct overlap overlap;
	struct cpuset cpus;

	if (!value_partition_invalid(seen, reason, sizeof(reason)))
		snprintf(reason, sizeof(reason), "it stayed '%.64s'", seen);
	if (!dir_read_list(fd, "cpuset.cpus", &cpus) && find_overlap(dir, path, &cpus, &overlap))
		return failure(
			error, -EREMOTEIO,
			"%s/cpuset.cpus.partition: not valid: %s; %s has %s %s, which overlaps; "
			"remove it there (AllowedCPUs= of a unit, or the file)",
			path, *reason ? reason : "the kernel gives no reason", overlap.sibling,
			overlap.file, shown_list(&overlap.cpus, list));
	return failure(
		error, -EREMOTEIO,
		"%s/cpuset.cpus.partition: not valid: %s; the parent must be a partition root "
		"and keep a CPU for its own processes",
		path, *reason ? reason : "the kernel gives no reason");
}

static int check_partition(struct groups *groups, const struct step *step, int fd, char *error)
{
	char *seen cleanup_free = NULL;
	int err = file_read_line(fd, "cpuset.cpus.partition", &seen);

	if (err)
		return failure(error, err, "%s/cpuset.cpus.partition: cannot read it back: %s",
			       step->path, strerror(-err));
	if (!strcmp(seen, step->value))
		return 0;
	explain_invalid(&groups->dir, fd, step->path, seen, error);
	/*
	 * Do not leave it as "root invalid": the kernel makes such a partition valid by
	 * itself once the obstacle is gone, and moves the host's tasks away at an
	 * unexpected time.
	 */
	if (strcmp(step->value, "member"))
		(void)file_write_text(fd, "cpuset.cpus.partition", "member");
	return -EREMOTEIO;
}

/*
 * CPUs of child partitions are rightly missing from this group's effective set. One that cannot be
 * listed makes the write fail, as if its CPUs were missing for another reason.
 */
static void add_child_partitions(int fd, struct cpuset *set)
{
	DIR *entries cleanup_dir = NULL;
	const struct dirent *entry;

	if (file_open_dir(fd, ".", &entries))
		return;
	while (file_next_entry(entries, &entry) > 0) {
		char file[sizeof(entry->d_name) + 32];
		char *state cleanup_free = NULL;
		struct cpuset cpus;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/cpuset.cpus.partition", entry->d_name);
		if (file_read_line(dirfd(entries), file, &state) ||
		    (strcmp(state, "root") && strcmp(state, "isolated")))
			continue;
		snprintf(file, sizeof(file), "%s/cpuset.cpus", entry->d_name);
		if (!dir_read_list(dirfd(entries), file, &cpus))
			cpuset_union(set, &cpus);
	}
}

static int check_effective(struct groups *groups, const struct step *step, int fd, char *error)
{
	bool cpus = step->file == GROUP_CPUSET_CPUS;
	const char *name = cpus ? "cpuset.cpus.effective" : "cpuset.mems.effective";
	struct cpuset wanted, effective, absent = CPUSET_EMPTY;
	char want_list[LIST_SHOWN_MAX], have_list[LIST_SHOWN_MAX];
	int err = cpuset_parse(step->value, strlen(step->value), &wanted);

	if (err || cpuset_is_empty(&wanted))
		return err;
	err = dir_read_list(fd, name, &effective);
	if (err)
		return failure(error, err, "%s/%s: cannot read it back: %s", step->path, name,
			       strerror(-err));
	if (cpus) {
		dir_offline(&groups->dir, &wanted, &absent);
		add_child_partitions(fd, &absent);
	}
	shown_list(&wanted, want_list);
	switch (value_effective(&wanted, &effective, &absent)) {
	case EFFECTIVE_WHOLE:
		return 0;
	case EFFECTIVE_FOREIGN:
		return failure(
			error, -EREMOTEIO,
			"%s/%s is %s although %s was written: the parent has none of these, so "
			"the kernel used the parent's set; widen the parent first",
			step->path, name, shown_list(&effective, have_list), want_list);
	case EFFECTIVE_LESS:
		break;
	}
	return failure(error, -EREMOTEIO,
		       "%s/%s is only %s of the %s that was written: the parent does not have the "
		       "rest, or a sibling's partition holds it",
		       step->path, name, shown_list(&effective, have_list), want_list);
}

/* A new list can make a partition invalid although the write(2) succeeds. */
static int check_still_valid(struct groups *groups, const struct step *step, int fd, char *error)
{
	char *state cleanup_free = NULL;

	if (file_read_line(fd, "cpuset.cpus.partition", &state) || !strstr(state, " invalid"))
		return 0;
	return explain_invalid(&groups->dir, fd, step->path, state, error);
}

static int check_write(struct groups *groups, const struct step *step, char *error)
{
	const char *name = group_file_name(step->file);
	char *seen cleanup_free = NULL;
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, step->path, &fd);

	if (!err && step->file == GROUP_CPUSET_PARTITION)
		return check_partition(groups, step, fd, error);
	if (!err)
		err = file_read_line(fd, name, &seen);
	if (err)
		return failure(error, err, "%s/%s: cannot read it back: %s", step->path, name,
			       strerror(-err));
	if (!value_equal(step->file, step->value, seen, groups->page_bytes))
		return failure(
			error, -EREMOTEIO,
			"%s/%s: wrote '%s', but the kernel has '%.96s': another program writes this "
			"file, or the kernel rounded the value",
			step->path, name, step->value, seen);
	if (step->file == GROUP_CPUSET_CPUS && check_still_valid(groups, step, fd, error))
		return -EREMOTEIO;
	if (step->file == GROUP_CPUSET_CPUS || step->file == GROUP_CPUSET_MEMS)
		return check_effective(groups, step, fd, error);
	return 0;
}

/* --- one step --------------------------------------------------------------------------------- */

int apply_step(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX])
{
	int err;

	if (!groups->may_write)
		return failure(error, -EROFS, "%s: the agent changes no cgroups in this mode",
			       step->path);
	switch (step->kind) {
	case STEP_CREATE:
		err = groups->manager->create(groups, step, error);
		return err == MANAGER_DEFERRED ? 0 : err;
	case STEP_WRITE:
		err = groups->manager->write(groups, step, error);
		if (err)
			return err == MANAGER_DEFERRED ? 0 : err;
		return check_write(groups, step, error);
	case STEP_REMOVE:
		return groups->manager->remove(groups, step, error);
	case STEP_KIND_NR:
		break;
	}
	return failure(error, -EINVAL, "%s: invalid kind of step: %d", step->path, step->kind);
}
