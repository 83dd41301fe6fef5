// SPDX-License-Identifier: Apache-2.0
/*
 * Manages units: starts them, sets properties, stops them (systemd_bus.h), and keeps the
 * scopes that wait for their first process (noted.h). As without systemd, apply.c reads
 * values back.
 */
#include "cgroup/systemd.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cgroup/change.h"
#include "cgroup/noted.h"
#include "cgroup/systemd_bus.h"
#include "cgroup/value.h"
#include "lib/file.h"
#include "lib/log.h"

#define UNIT_MAX 256

struct systemd {
	struct systemd_bus bus;
	struct noted noted;
};

/* --- names and values ------------------------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

static bool is_scope(const char *path)
{
	return has_suffix(path, ".scope");
}

/*
 * systemd derives the parent "a.slice" from the name "a-b.slice"; at another path it
 * would be another unit.
 */
static bool slice_fits(const char *unit, const char *slice)
{
	const char *dash = strrchr(unit, '-');
	size_t len;

	if (!dash)
		return !strcmp(slice, "-.slice");
	len = (size_t)(dash - unit);
	return !strncmp(slice, unit, len) && !strcmp(slice + len, ".slice");
}

int systemd_unit_of(const char *path, char *ret_unit, char *ret_slice, size_t size)
{
	char parent[GROUP_PATH_MAX];
	const char *unit, *slash, *slice = "-.slice";

	if (dir_split(path, parent, sizeof(parent), &unit))
		return -EINVAL;
	if (*parent) {
		slash = strrchr(parent, '/');
		slice = slash ? slash + 1 : parent;
	}
	if (strlen(unit) >= size || strlen(slice) >= size)
		return -ENAMETOOLONG;
	if (!has_suffix(slice, ".slice"))
		return -EINVAL;
	if (!is_scope(unit) && (!has_suffix(unit, ".slice") || !slice_fits(unit, slice)))
		return -EINVAL;
	memcpy(ret_unit, unit, strlen(unit) + 1);
	memcpy(ret_slice, slice, strlen(slice) + 1);
	return 0;
}

size_t systemd_mask(const struct cpuset *set, uint8_t *ret_mask, size_t size)
{
	size_t bytes = 0;

	memset(ret_mask, 0, size);
	cpuset_for_each (cpu, set) {
		if (cpu / 8 >= size)
			break;
		ret_mask[cpu / 8] |= (uint8_t)(1u << (cpu % 8));
		bytes = cpu / 8 + 1;
	}
	return bytes;
}

int systemd_quota(const char *cpu_max, uint64_t *ret_usec_per_sec, uint64_t *ret_period_usec)
{
	uint64_t quota, period;

	if (value_cpu_max(cpu_max, &quota, &period))
		return -EINVAL;
	*ret_period_usec = period;
	*ret_usec_per_sec = quota == UINT64_MAX ? UINT64_MAX
						: (uint64_t)((__uint128_t)quota * 1000000 / period);
	return 0;
}

/* --- properties ------------------------------------------------------------------------------- */

static int append_mask(sd_bus_message *message, const char *property, const char *list)
{
	uint8_t mask[CPUSET_MAX / 8];
	struct cpuset set;
	size_t bytes;
	int err = cpuset_parse(list, strlen(list), &set);

	if (err)
		return err;
	bytes = systemd_mask(&set, mask, sizeof(mask));
	err = sd_bus_message_open_container(message, 'r', "sv");
	if (err >= 0)
		err = sd_bus_message_append(message, "s", property);
	if (err >= 0)
		err = sd_bus_message_open_container(message, 'v', "ay");
	if (err >= 0)
		err = sd_bus_message_append_array(message, 'y', mask, bytes);
	if (err >= 0)
		err = sd_bus_message_close_container(message);
	if (err >= 0)
		err = sd_bus_message_close_container(message);
	return err;
}

static int append_quota(sd_bus_message *message, const char *value)
{
	uint64_t per_sec, period;
	int err = systemd_quota(value, &per_sec, &period);

	if (err)
		return err;
	return sd_bus_message_append(message, "(sv)(sv)", "CPUQuotaPerSecUSec", "t", per_sec,
				     "CPUQuotaPeriodUSec", "t", period);
}

/* Append the property for a file, if it has one. */
static int append_file(sd_bus_message *message, enum group_file file, const char *value)
{
	uint64_t number;

	switch (file) {
	case GROUP_CPUSET_CPUS:
		return append_mask(message, "AllowedCPUs", value);
	case GROUP_CPUSET_MEMS:
		return append_mask(message, "AllowedMemoryNodes", value);
	case GROUP_CPU_WEIGHT:
		if (value_number(value, &number))
			return -EINVAL;
		return sd_bus_message_append(message, "(sv)", "CPUWeight", "t", number);
	case GROUP_CPU_MAX:
		return append_quota(message, value);
	case GROUP_MEMORY_MAX:
		if (value_number(value, &number))
			return -EINVAL;
		return sd_bus_message_append(message, "(sv)", "MemoryMax", "t", number);
	case GROUP_CPUSET_PARTITION:
	case GROUP_FREEZE:
	case GROUP_MEMBERS:
	case GROUP_ATTRIBUTE_NR:
		break;
	}
	return 0;
}

static bool has_property(enum group_file file)
{
	return file != GROUP_CPUSET_PARTITION && file != GROUP_FREEZE;
}

/* Call SetUnitProperties for this boot only; our state file keeps what must survive a reboot. */
static int set_property(struct systemd_session *session, const char *unit, enum group_file file,
			const char *value, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = systemd_new_call(session, "SetUnitProperties", &message);

	if (err >= 0)
		err = sd_bus_message_append(message, "sb", unit, 1);
	if (err >= 0)
		err = sd_bus_message_open_container(message, 'a', "(sv)");
	if (err >= 0)
		err = append_file(message, file, value);
	if (err >= 0)
		err = sd_bus_message_close_container(message);
	if (err < 0)
		return failure(error, err,
			       "%s: cannot express '%s' for %s as a systemd property: %s", unit,
			       value, group_file_name(file), strerror(-err));
	return systemd_call(session, message, unit, SYSTEMD_LEASE, NULL, error);
}

/*
 * Write the file directly if systemd did not set the exact value: some properties are
 * rounded (CPUQuota), and the guard may permit writes to cpuset files only to us.
 */
static int ensure_file(struct groups *groups, const char *path, enum group_file file,
		       const char *value, char *error)
{
	char *seen cleanup_free = NULL;
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, path, &fd);

	if (!err)
		err = file_read_line(fd, group_file_name(file), &seen);
	if (!err && value_equal(file, value, seen, groups->page_bytes))
		return 0;
	return change_write(&groups->dir, path, file, value, error);
}

/* --- the manager ------------------------------------------------------------------------------ */

static int systemd_open(struct groups *groups, char *error)
{
	struct systemd_session *session;
	int err;

	groups->systemd = calloc(1, sizeof(*groups->systemd));
	if (!groups->systemd)
		return failure(error, -ENOMEM, "no memory");
	systemd_bus_init(&groups->systemd->bus, groups->dir.root_fd);
	noted_init(&groups->systemd->noted);
	err = systemd_take_session(&groups->systemd->bus, error, &session);
	if (!err)
		systemd_return_session(&groups->systemd->bus, session);
	return err;
}

static void systemd_close(struct groups *groups)
{
	if (!groups->systemd)
		return;
	systemd_bus_fini(&groups->systemd->bus);
	noted_fini(&groups->systemd->noted);
	free(groups->systemd);
}

static int systemd_add_noted(struct groups *groups, struct group_tree *tree)
{
	return groups->systemd ? noted_copy_missing(&groups->systemd->noted, tree) : 0;
}

/* Whether the kernel has the group; an error with a message if that cannot be told. */
static int find_group(struct groups *groups, const char *path, bool *ret_exists, char *error)
{
	int fd cleanup_close = -1;
	const int err = dir_open_group(&groups->dir, path, &fd);

	if (err && err != -ENOENT)
		return failure(error, err, "cannot open %s: %s", path, dir_open_cause(err));
	*ret_exists = !err;
	return 0;
}

static int name_unit(const char *path, char *ret_unit, char *ret_slice, char *error)
{
	int err = systemd_unit_of(path, ret_unit, ret_slice, UNIT_MAX);

	return err ? failure(error, err,
			     "%s is not a valid path for a systemd unit: a-b.slice must be in a.slice, "
			     "and containers are scopes",
			     path)
		   : 0;
}

static int start_slice(struct systemd_session *session, const char *unit, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	bool exists = false;
	int err = systemd_new_call(session, "StartTransientUnit", &message);

	if (err >= 0)
		err = sd_bus_message_append(message, "ssa(sv)a(sa(sv))", unit, "fail", 1,
					    "Description", "s", "pinfold", 0);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	err = systemd_call(session, message, unit, SYSTEMD_JOB | SYSTEMD_LEASE, &exists, error);
	/*
	 * A unit with this name is already loaded, from an administrator's unit file or
	 * from an earlier run: start it.
	 */
	return exists ? systemd_call_unit(session, "StartUnit", unit, SYSTEMD_JOB | SYSTEMD_LEASE,
					  error)
		      : err;
}

static int systemd_create(struct groups *groups, const struct step *step, char *error)
{
	char unit[UNIT_MAX], slice[UNIT_MAX];
	struct systemd_session *session;
	bool exists = false;
	int err = name_unit(step->path, unit, slice, error);

	if (!err)
		err = find_group(groups, step->path, &exists, error);
	if (err || exists)
		return err;
	if (is_scope(unit)) {
		err = noted_add(&groups->systemd->noted, step, error);
		return err ? err : MANAGER_DEFERRED;
	}
	err = systemd_take_session(&groups->systemd->bus, error, &session);
	if (err)
		return err;
	err = start_slice(session, unit, error);
	systemd_return_session(&groups->systemd->bus, session);
	return err;
}

/*
 * Write the file first. A value that the kernel rejects must not become a property,
 * because systemd would try to write it again at each reload.
 */
static int write_unit(struct groups *groups, const struct step *step, const char *unit, char *error)
{
	struct systemd_session *session;
	int err = ensure_file(groups, step->path, step->file, step->value, error);

	if (!has_property(step->file) || (err && err != -ENOENT))
		return err;
	/*
	 * The file may not exist yet: systemd enables a controller only when a property
	 * needs it.
	 */
	err = systemd_take_session(&groups->systemd->bus, error, &session);
	if (err)
		return err;
	err = set_property(session, unit, step->file, step->value, error);
	systemd_return_session(&groups->systemd->bus, session);
	return err ? err : ensure_file(groups, step->path, step->file, step->value, error);
}

static int systemd_write(struct groups *groups, const struct step *step, char *error)
{
	bool noted = noted_has(&groups->systemd->noted, step->path), exists = true;
	char unit[UNIT_MAX], slice[UNIT_MAX];
	int err = name_unit(step->path, unit, slice, error);

	if (!err && noted)
		err = find_group(groups, step->path, &exists, error);
	if (!err && exists)
		err = write_unit(groups, step, unit, error);
	if (!err && noted)
		err = noted_set(&groups->systemd->noted, step, error);
	return err || exists ? err : MANAGER_DEFERRED;
}

int systemd_reset_cpus(struct groups *groups, const char *path, char *error)
{
	char unit[UNIT_MAX], slice[UNIT_MAX];
	struct systemd_session *session;
	int err = name_unit(path, unit, slice, error);

	if (!err)
		err = systemd_take_session(&groups->systemd->bus, error, &session);
	if (err)
		return err;
	err = set_property(session, unit, GROUP_CPUSET_CPUS, "", error);
	systemd_return_session(&groups->systemd->bus, session);
	return err;
}

int systemd_reload(struct groups *groups, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	struct systemd_session *session;
	int err = systemd_take_session(&groups->systemd->bus, error, &session);

	if (err)
		return err;
	err = systemd_new_call(session, "Reload", &message);
	err = err < 0 ? failure(error, err, "cannot ask systemd: %s", strerror(-err))
		      : systemd_call(session, message, "units", SYSTEMD_LEASE, NULL, error);
	systemd_return_session(&groups->systemd->bus, session);
	return err;
}

/*
 * A group whose name is not a unit name was not created by systemd; the guard's self-test
 * uses one.
 */
static bool is_directory_only(const char *path)
{
	return strchr(path, '/') && !is_scope(path) && !has_suffix(path, ".slice");
}

/* Stopping a slice stops everything in it, so verify first that it is empty. */
static int systemd_remove(struct groups *groups, const struct step *step, char *error)
{
	char unit[UNIT_MAX], slice[UNIT_MAX];
	struct systemd_session *session;
	int fd cleanup_close = -1;
	int err;

	if (is_directory_only(step->path))
		return change_remove(&groups->dir, step->path, error);
	err = name_unit(step->path, unit, slice, error);
	if (err)
		return err;
	err = dir_open_group(&groups->dir, step->path, &fd);
	if (err && err != -ENOENT)
		return failure(error, err, "cannot open %s: %s", step->path, dir_open_cause(err));
	if (err) {
		noted_drop(&groups->systemd->noted, step->path);
		return 0;
	}
	if (dir_populated(fd) != 0)
		return failure(error, -EBUSY,
			       "%s: still has processes; it is removed when the last one ends",
			       step->path);
	(void)file_write_text(fd, "cpuset.cpus.partition", "member");
	err = systemd_take_session(&groups->systemd->bus, error, &session);
	/*
	 * Process 1 may always end processes and remove a cgroup, but with a unit gone it writes the
	 * files of the slices above it, and of those beside it, again.
	 */
	if (!err) {
		err = systemd_call_unit(session, "StopUnit", unit, SYSTEMD_JOB | SYSTEMD_LEASE,
					error);
		systemd_return_session(&groups->systemd->bus, session);
	}
	if (err)
		log_debug("cgroup: %s; removing the directory if it is left", error);
	noted_drop(&groups->systemd->noted, step->path);
	/* Remove what systemd did not know or left behind. */
	return change_remove(&groups->dir, step->path, error);
}

static int append_scope(sd_bus_message *message, const char *unit, const char *slice, pid_t pid,
			const struct group *noted)
{
	int err = sd_bus_message_append(message, "ss", unit, "fail");

	if (err >= 0)
		err = sd_bus_message_open_container(message, 'a', "(sv)");
	/* Without CollectMode a failed scope would keep its name and block the next run. */
	if (err >= 0)
		err = sd_bus_message_append(message, "(sv)(sv)(sv)(sv)(sv)", "Description", "s",
					    "pinfold container", "Slice", "s", slice, "Delegate",
					    "b", 1, "CollectMode", "s", "inactive-or-failed",
					    "PIDs", "au", 1, (uint32_t)pid);
	for (int file = 0; err >= 0 && file < GROUP_FILE_NR; file++)
		if (noted->files[file])
			err = append_file(message, file, noted->files[file]);
	if (err >= 0)
		err = sd_bus_message_close_container(message);
	if (err >= 0)
		err = sd_bus_message_append(message, "a(sa(sv))", 0);
	return err;
}

/* The scope exists now: ensure that each noted value is in effect. */
static int check_scope(struct groups *groups, const char *path, const struct group *noted,
		       char *error)
{
	int err = 0;

	for (int file = 0; !err && file < GROUP_FILE_NR; file++)
		if (noted->files[file])
			err = ensure_file(groups, path, file, noted->files[file], error);
	return err;
}

static int try_scope(struct systemd_session *session, const char *unit, const char *slice,
		     pid_t pid, const struct group *noted, bool *ret_exists, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = systemd_new_call(session, "StartTransientUnit", &message);

	if (err >= 0)
		err = append_scope(message, unit, slice, pid, noted);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	return systemd_call(session, message, unit, SYSTEMD_JOB | SYSTEMD_LEASE, ret_exists, error);
}

#define SCOPE_TRIES    10
#define SCOPE_PAUSE_NS 20000000L

static int start_scope(struct groups *groups, struct systemd_session *session, const char *path,
		       pid_t pid, char *error)
{
	struct group_tree notes cleanup_tree = {0};
	const struct group *noted;
	const struct timespec pause = {.tv_nsec = SCOPE_PAUSE_NS};
	char unit[UNIT_MAX], slice[UNIT_MAX];
	bool exists = true;
	int err = name_unit(path, unit, slice, error);

	if (err)
		return err;
	err = noted_find(&groups->systemd->noted, path, &notes);
	if (err)
		return failure(error, err, "%s: no memory", path);
	noted = group_tree_find(&notes, path);
	if (!noted)
		return failure(error, -ENOENT,
			       "%s: not a container that pinfold holds; is its pod admitted?",
			       path);
	/* A scope that has just ended keeps its name until systemd has garbage-collected it. */
	for (int i = 0; exists && i < SCOPE_TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		exists = false;
		err = try_scope(session, unit, slice, pid, noted, &exists, error);
	}
	/* Keep the note: after the last process has ended, the next one needs it again. */
	return err ? err : check_scope(groups, path, noted, error);
}

static int attach(struct systemd_session *session, const char *unit, pid_t pid, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = systemd_new_call(session, "AttachProcessesToUnit", &message);

	if (err >= 0)
		err = sd_bus_message_append(message, "ssau", unit, "", 1, (uint32_t)pid);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	return systemd_call(session, message, unit, SYSTEMD_LEASE, NULL, error);
}

static int systemd_join(struct groups *groups, const char *path, pid_t pid, char *error)
{
	char unit[UNIT_MAX], slice[UNIT_MAX];
	struct systemd_session *session;
	bool exists;
	int err = name_unit(path, unit, slice, error);

	if (!err)
		err = find_group(groups, path, &exists, error);
	if (!err)
		err = systemd_take_session(&groups->systemd->bus, error, &session);
	if (err)
		return err;
	err = exists ? attach(session, unit, pid, error)
		     : start_scope(groups, session, path, pid, error);
	systemd_return_session(&groups->systemd->bus, session);
	return err;
}

void systemd_set_lease(struct systemd *systemd, const struct lease_port *port)
{
	lease_set_port(&systemd->bus.lease, port);
}

const struct manager manager_systemd = {
	.name = "systemd",
	.open = systemd_open,
	.close = systemd_close,
	.create = systemd_create,
	.write = systemd_write,
	.remove = systemd_remove,
	.join = systemd_join,
	.add_noted = systemd_add_noted,
};
