// SPDX-License-Identifier: Apache-2.0
/*
 * Writes control files and reads them back. A write that the kernel accepts is
 * no proof: an invalid partition says so only when read, and a CPU list that
 * misses the parent's gives the parent's whole set in silence (6.1 to 7.2).
 */
#include "cgroup/apply.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cgroup/remove.h"
#include "cgroup/value.h"
#include "lib/file.h"

/* Enough for any list in a sentence; longer ones are cut. */
#define LIST_SHOWN_MAX 96

static const char *shown_list(const struct cpuset *set, char *buffer)
{
	size_t len = cpuset_format(set, buffer, LIST_SHOWN_MAX);

	if (len >= LIST_SHOWN_MAX)
		memcpy(buffer + LIST_SHOWN_MAX - 4, "...", 4);
	return len ? buffer : "none";
}

static int read_list(int fd, const char *name, struct cpuset *ret_set)
{
	char *text cleanup_free = NULL;
	int err = file_read_line(fd, name, &text);

	return err ? err : cpuset_parse(text, strlen(text), ret_set);
}

/* --- write ------------------------------------------------------------------------------------ */

int apply_explain(const char *path, const char *name, const char *value, int err,
		  char error[GROUP_ERROR_MAX])
{
	const char *cause = strerror(-err), *remedy = "see the kernel log";

	switch (err) {
	case -ENOENT:
		cause = "the group or its file does not exist";
		remedy = "the parent's cgroup.subtree_control must have the controller";
		break;
	case -EPERM:
		cause = "denied, though we may write it by mode";
		remedy = "pinfold's guard or another security module holds it: the agent must be "
			 "entered as an actor (pinfold guard release opens it)";
		break;
	case -EACCES:
		cause = "not permitted";
		remedy = "run as root of the initial user namespace";
		break;
	case -EINVAL:
	case -ERANGE:
		cause = "the kernel does not take this value";
		remedy =
			strncmp(name, "cpuset.", 7)
				? "it is out of range; check the pod's requests and limits"
				: "it must name CPUs or memory nodes that the parent and this machine "
				  "have";
		break;
	case -ENOSPC:
		cause = "processes would have no CPU or memory node left";
		remedy = "move the processes out first";
		break;
	case -EBUSY:
		cause = "the group or its tasks forbid it now";
		remedy = "look for processes in inner groups and for SCHED_DEADLINE tasks";
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
	/* Could not tell counts as populated: kernels to 6.12 answer ENOSPC, 7.2 would obey. */
	return failure(error, -EINVAL,
		       "%s/%s: refusing to write an empty list, the group has processes and would "
		       "run on its parent's whole set; give it the parent's list instead",
		       path, name);
}

int apply_write(const struct dir *dir, const char *path, enum group_file file, const char *value,
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
	return err ? apply_explain(path, name, value, err, error) : 0;
}

/* --- read back -------------------------------------------------------------------------------- */

/*
 * A sibling whose own list overlaps makes a partition impossible up to 6.12.
 * Names the first one found; never changes it, it is somebody's decision.
 */
static bool find_overlap(const struct dir *dir, const char *path, const struct cpuset *cpus,
			 char *ret_sibling, size_t size, struct cpuset *ret_overlap)
{
	char parent[GROUP_PATH_MAX];
	const char *name;
	int fd;
	DIR *entries cleanup_dir = NULL;

	if (dir_split(path, parent, sizeof(parent), &name) || dir_open_group(dir, parent, &fd))
		return false;
	entries = fdopendir(fd);
	if (!entries) {
		close(fd);
		return false;
	}
	for (struct dirent *entry; (entry = readdir(entries));) {
		char file[sizeof(entry->d_name) + 16];

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, name))
			continue;
		snprintf(file, sizeof(file), "%s/cpuset.cpus", entry->d_name);
		if (read_list(fd, file, ret_overlap) || !cpuset_intersects(ret_overlap, cpus))
			continue;
		return (size_t)snprintf(ret_sibling, size, "%s%s%s", parent, *parent ? "/" : "",
					entry->d_name) < size;
	}
	return false;
}

static int explain_invalid(const struct dir *dir, int fd, const char *path, const char *seen,
			   char *error)
{
	char reason[96], sibling[GROUP_PATH_MAX], list[LIST_SHOWN_MAX];
	struct cpuset cpus, overlap;

	if (!value_partition_invalid(seen, reason, sizeof(reason)))
		snprintf(reason, sizeof(reason), "it stayed '%.64s'", seen);
	if (!read_list(fd, "cpuset.cpus", &cpus) &&
	    find_overlap(dir, path, &cpus, sibling, sizeof(sibling), &overlap))
		return failure(
			error, -EREMOTEIO,
			"%s/cpuset.cpus.partition: not valid: %s; %s has cpuset.cpus %s, which "
			"overlaps: remove it there (AllowedCPUs= of a unit, or the file)",
			path, *reason ? reason : "the kernel gives no reason", sibling,
			shown_list(&overlap, list));
	return failure(
		error, -EREMOTEIO,
		"%s/cpuset.cpus.partition: not valid: %s; the parent must be a partition root "
		"and keep a CPU of its own for its processes",
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
	 * Not left as "root invalid": the kernel makes such a partition valid by itself
	 * once the obstacle is gone, pushing the host's tasks aside when nobody expects it.
	 */
	if (strcmp(step->value, "member"))
		(void)file_write_text(fd, "cpuset.cpus.partition", "member");
	return -EREMOTEIO;
}

/* CPUs that child partitions hold leave this group's effective set, rightly. */
static void add_child_partitions(int fd, struct cpuset *set)
{
	DIR *entries cleanup_dir = NULL;

	if (dir_entries(fd, &entries))
		return;
	for (struct dirent *entry; (entry = readdir(entries));) {
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
		if (!read_list(dirfd(entries), file, &cpus))
			cpuset_union(set, &cpus);
	}
}

/* What of `wanted` no group can have now: CPUs that are offline. */
static void offline_of(const struct dir *dir, const struct cpuset *wanted, struct cpuset *ret_off)
{
	struct cpuset online;

	*ret_off = CPUSET_EMPTY;
	if (read_list(dir->root_fd, "sys/devices/system/cpu/online", &online))
		return;
	*ret_off = *wanted;
	cpuset_subtract(ret_off, &online);
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
	err = read_list(fd, name, &effective);
	if (err)
		return failure(error, err, "%s/%s: cannot read it back: %s", step->path, name,
			       strerror(-err));
	if (cpus) {
		offline_of(&groups->dir, &wanted, &absent);
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
			"the kernel gave the parent's set; widen the parent first",
			step->path, name, shown_list(&effective, have_list), want_list);
	case EFFECTIVE_LESS:
		break;
	}
	return failure(error, -EREMOTEIO,
		       "%s/%s is only %s of the %s that was written: the parent does not have the "
		       "rest, or a sibling's partition holds it",
		       step->path, name, shown_list(&effective, have_list), want_list);
}

/* A new list can cost a partition its validity; the write(2) succeeds all the same. */
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
			"%s/%s: wrote '%s', the kernel has '%.96s': somebody else writes this "
			"file, or the kernel rounded it",
			step->path, name, step->value, seen);
	if (step->file == GROUP_CPUSET_CPUS && check_still_valid(groups, step, fd, error))
		return -EREMOTEIO;
	if (step->file == GROUP_CPUSET_CPUS || step->file == GROUP_CPUSET_MEMS)
		return check_effective(groups, step, fd, error);
	return 0;
}

/* --- remove ----------------------------------------------------------------------------------- */

/* True with its CPUs when the group is a valid partition. */
static bool is_partition(int fd, struct cpuset *ret_cpus)
{
	char *state cleanup_free = NULL;

	if (file_read_line(fd, "cpuset.cpus.partition", &state))
		return false;
	if (strcmp(state, "root") && strcmp(state, "isolated"))
		return false;
	return !read_list(fd, "cpuset.cpus", ret_cpus);
}

#define RETURN_WAIT_MS 100
#define RETURN_POLL_MS 5

/*
 * CPUs of a removed partition come back from a work item (css offline); the
 * member write before makes that immediate in all kernels tried, and this
 * makes sure of it before anybody grants them anew.
 */
static int await_return(int parent_fd, const struct cpuset *cpus)
{
	const struct timespec pause = {.tv_nsec = RETURN_POLL_MS * 1000000L};
	struct cpuset effective;

	for (int waited_ms = 0; waited_ms <= RETURN_WAIT_MS; waited_ms += RETURN_POLL_MS) {
		int err = read_list(parent_fd, "cpuset.cpus.effective", &effective);

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
	offline_of(dir, &cpus, &offline);
	cpuset_subtract(&cpus, &offline);
	err = await_return(parent_fd, &cpus);
	return err ? failure(error, err,
			     "%s: removed, but its CPUs are not back in the parent's "
			     "cpuset.cpus.effective after %d ms",
			     path, RETURN_WAIT_MS)
		   : 0;
}

int apply_remove(const struct dir *dir, const char *path, char error[GROUP_ERROR_MAX])
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

/* --- one step --------------------------------------------------------------------------------- */

int apply_step(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX])
{
	int err;

	if (!groups->may_write)
		return failure(error, -EROFS, "%s: nothing is changed in this mode", step->path);
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
	return failure(error, -EINVAL, "%s: no such kind of step: %d", step->path, step->kind);
}
