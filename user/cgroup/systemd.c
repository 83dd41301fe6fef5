// SPDX-License-Identifier: Apache-2.0
/*
 * Manages units over sd-bus: starts them, sets properties, stops them, and keeps track of
 * the scopes that wait for their first process. As without systemd, apply.c reads values
 * back.
 */
#include "cgroup/systemd.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "cgroup/change.h"
#include "cgroup/value.h"
#include "lib/file.h"
#include "lib/log.h"

#define UNIT_MAX       256
#define JOB_WAIT_USEC  5000000
#define CALL_WAIT_USEC 5000000

#define BUS_NAME    "org.freedesktop.systemd1"
#define BUS_PATH    "/org/freedesktop/systemd1"
#define BUS_MANAGER "org.freedesktop.systemd1.Manager"
/*
 * systemctl uses this socket as root. It needs no D-Bus daemon, which small machines may
 * not have.
 */
#define PRIVATE_SOCKET "/run/systemd/private"

/* A connection to systemd, used by one thread at a time: sd-bus has no locks. */
struct systemd_session {
	struct systemd_session *next; /* among the idle ones */
	int root_fd;		      /* root directory of systemd's socket; borrowed */
	sd_bus *bus;
	/* The pending job and its result ("done", "failed", …). */
	char job[128];
	char job_result[32];
};

/* Steps of different pods run on different threads, so the lock protects the fields below it. */
struct systemd {
	int root_fd;	      /* root directory of systemd's socket; borrowed */
	pthread_mutex_t lock; /* never held across a call to systemd or the kernel */
	struct systemd_session *idle;
	/* Scopes that have no process yet: path, role, owner and future values. */
	struct group_tree noted;
};

static void message_unref(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
}
#define cleanup_message cleanup(message_unref)
#define cleanup_error	cleanup(sd_bus_error_free)

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
	size_t len = dash ? (size_t)(dash - unit) : 0;

	if (!dash)
		return !strcmp(slice, "-.slice");
	return strlen(slice) == len + 6 && !strncmp(slice, unit, len) &&
	       !strcmp(slice + len, ".slice");
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

/* --- bus -------------------------------------------------------------------------------------- */

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
	struct systemd_session *session = userdata;
	const char *path, *unit, *result;
	uint32_t id;

	if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0)
		return 0;
	if (!strcmp(path, session->job))
		snprintf(session->job_result, sizeof(session->job_result), "%s", result);
	return 0;
}

static int open_private(int root_fd, sd_bus **ret_bus)
{
	char address[80];
	sd_bus *bus = NULL;
	int err = sd_bus_new(&bus);

	snprintf(address, sizeof(address), "unix:path=/proc/self/fd/%d" PRIVATE_SOCKET, root_fd);
	if (err >= 0)
		err = sd_bus_set_address(bus, address);
	if (err >= 0)
		err = sd_bus_start(bus);
	if (err < 0) {
		sd_bus_unref(bus);
		return err;
	}
	*ret_bus = bus;
	return 0;
}

static int connect_bus(struct systemd_session *session, char *error)
{
	sd_bus *bus = NULL;
	int err = open_private(session->root_fd, &bus);

	if (err < 0) {
		err = sd_bus_open_system(&bus);
		/* A client of the system bus must subscribe to receive signals. */
		if (err >= 0)
			err = sd_bus_call_method(bus, BUS_NAME, BUS_PATH, BUS_MANAGER, "Subscribe",
						 NULL, NULL, NULL);
	}
	if (err >= 0)
		err = sd_bus_match_signal(bus, NULL, NULL, BUS_PATH, BUS_MANAGER, "JobRemoved",
					  on_job_removed, session);
	if (err < 0) {
		sd_bus_unref(bus);
		return failure(error, err,
			       "cannot reach systemd (%s, then the system bus): %s; it owns the "
			       "cgroups here because it is process 1",
			       PRIVATE_SOCKET, strerror(-err));
	}
	sd_bus_set_method_call_timeout(bus, CALL_WAIT_USEC);
	sd_bus_close_unref(session->bus);
	session->bus = bus;
	return 0;
}

/* Ensure that the connection works; systemd closes it when it re-executes itself. */
static int have_bus(struct systemd_session *session, char *error)
{
	if (session->bus) {
		/* Process pending messages, which may include a disconnect. */
		while (sd_bus_process(session->bus, NULL) > 0)
			;
		if (sd_bus_is_open(session->bus) > 0)
			return 0;
	}
	return connect_bus(session, error);
}

static void free_session(struct systemd_session *session)
{
	sd_bus_close_unref(session->bus);
	free(session);
}
DEFINE_CLEANUP(struct systemd_session, free_sessionp, free_session);
#define cleanup_session cleanup(free_sessionp)

/* Take an idle session or open a new one; return it with return_session. */
static int take_session(struct systemd *systemd, char *error, struct systemd_session **ret_session)
{
	struct systemd_session *session cleanup_session = NULL;
	int err;

	pthread_mutex_lock(&systemd->lock);
	session = systemd->idle;
	if (session)
		systemd->idle = session->next;
	pthread_mutex_unlock(&systemd->lock);
	if (!session)
		session = calloc(1, sizeof(*session));
	if (session)
		session->root_fd = systemd->root_fd;
	err = session ? have_bus(session, error) : failure(error, -ENOMEM, "no memory");
	if (err)
		return err;
	*ret_session = TAKE_PTR(session);
	return 0;
}

static void return_session(struct systemd *systemd, struct systemd_session *session)
{
	pthread_mutex_lock(&systemd->lock);
	session->next = systemd->idle;
	systemd->idle = session;
	pthread_mutex_unlock(&systemd->lock);
}

static int new_call(struct systemd_session *session, const char *method,
		    sd_bus_message **ret_message)
{
	return sd_bus_message_new_method_call(session->bus, ret_message, BUS_NAME, BUS_PATH,
					      BUS_MANAGER, method);
}

static uint64_t monotonic_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Wait until the job that `reply` names has ended. -ECANCELED if it did not succeed. */
static int await_job(struct systemd_session *session, sd_bus_message *reply, const char *unit,
		     char *error)
{
	uint64_t deadline = monotonic_usec() + JOB_WAIT_USEC;
	const char *job;
	int err = sd_bus_message_read(reply, "o", &job);

	if (err < 0)
		return failure(error, err, "%s: systemd's reply contains no job", unit);
	snprintf(session->job, sizeof(session->job), "%s", job);
	session->job_result[0] = '\0';
	while (!session->job_result[0]) {
		uint64_t now = monotonic_usec();

		err = sd_bus_process(session->bus, NULL);
		if (err < 0)
			return failure(
				error, err,
				"%s: lost the connection to systemd while waiting for its job: %s",
				unit, strerror(-err));
		if (err > 0)
			continue;
		if (now >= deadline)
			return failure(error, -ETIMEDOUT,
				       "%s: systemd's job has not ended after "
				       "%d s; see: systemctl list-jobs",
				       unit, JOB_WAIT_USEC / 1000000);
		err = sd_bus_wait(session->bus, deadline - now);
		if (err < 0 && err != -EINTR)
			return failure(error, err, "%s: cannot wait for systemd: %s", unit,
				       strerror(-err));
	}
	if (strcmp(session->job_result, "done"))
		return failure(error, -ECANCELED,
			       "%s: systemd's job ended with '%s'; see: "
			       "systemctl status %s",
			       unit, session->job_result, unit);
	return 0;
}

/*
 * Send a message and wait for its job if there is one. After a failure *ret_exists (may
 * be NULL) tells whether a unit with this name is already loaded.
 */
static int call(struct systemd_session *session, sd_bus_message *message, const char *unit,
		bool job, bool *ret_exists, char *error)
{
	sd_bus_error bus_error cleanup_error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply cleanup_message = NULL;
	int err = sd_bus_call(session->bus, message, CALL_WAIT_USEC, &bus_error, &reply);

	if (err < 0) {
		if (ret_exists)
			*ret_exists = sd_bus_error_has_name(&bus_error, BUS_NAME ".UnitExists");
		return failure(error, err, "%s: systemd refuses %s: %s", unit,
			       sd_bus_message_get_member(message),
			       bus_error.message ? bus_error.message : strerror(-err));
	}
	return job ? await_job(session, reply, unit, error) : 0;
}

/*
 * Start, stop or reset a unit, with a method that takes "unit, mode" and returns a job,
 * or only "unit".
 */
static int call_unit(struct systemd_session *session, const char *method, const char *unit,
		     bool job, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = new_call(session, method, &message);

	if (err >= 0)
		err = job ? sd_bus_message_append(message, "ss", unit, "fail")
			  : sd_bus_message_append(message, "s", unit);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	return call(session, message, unit, job, NULL, error);
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

/* Append the property for a file. cpuset.cpus.partition has no property. */
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
	case GROUP_FILE_NR:
		break;
	}
	return 0;
}

/*
 * Call SetUnitProperties for this boot only; our state file keeps what must survive a
 * reboot. The second call ensures that systemd has processed its queue of cgroups to
 * realise before the file is read.
 */
static int set_property(struct systemd_session *session, const char *unit, enum group_file file,
			const char *value, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = new_call(session, "SetUnitProperties", &message);

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
	err = call(session, message, unit, false, NULL, error);
	if (err)
		return err;
	(void)sd_bus_call_method(session->bus, BUS_NAME, BUS_PATH, "org.freedesktop.DBus.Peer",
				 "Ping", NULL, NULL, NULL);
	return 0;
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

/* --- noted scopes ----------------------------------------------------------------------------- */

static void drop_note(struct systemd *systemd, const char *path)
{
	struct group *group;

	pthread_mutex_lock(&systemd->lock);
	group = group_tree_find(&systemd->noted, path);
	if (group) {
		for (int file = 0; file < GROUP_FILE_NR; file++)
			free(group->files[file]);
		*group = systemd->noted.groups[--systemd->noted.nr_groups];
	}
	pthread_mutex_unlock(&systemd->lock);
}

static int note(struct systemd *systemd, const struct step *step, char *error)
{
	struct group *group;
	int err = 0;

	pthread_mutex_lock(&systemd->lock);
	if (!group_tree_find(&systemd->noted, step->path)) {
		group = group_tree_add(&systemd->noted, step->role, step->path);
		if (group) {
			memcpy(group->uid, step->uid, sizeof(group->uid));
			memcpy(group->container, step->container, sizeof(group->container));
		} else {
			err = failure(error, -ENOMEM, "%s: no memory", step->path);
		}
	}
	pthread_mutex_unlock(&systemd->lock);
	return err ? err : MANAGER_DEFERRED;
}

static bool is_noted(struct systemd *systemd, const char *path)
{
	bool found;

	pthread_mutex_lock(&systemd->lock);
	found = group_tree_find(&systemd->noted, path);
	pthread_mutex_unlock(&systemd->lock);
	return found;
}

/* Record the value for a noted scope; has no effect on other groups. */
static int note_value(struct systemd *systemd, const struct step *step, char *error)
{
	char *value = strdup(step->value);
	struct group *group;

	if (!value)
		return failure(error, -ENOMEM, "%s: no memory", step->path);
	pthread_mutex_lock(&systemd->lock);
	group = group_tree_find(&systemd->noted, step->path);
	if (group) {
		char *before = group->files[step->file];

		group->files[step->file] = value;
		value = before;
	}
	pthread_mutex_unlock(&systemd->lock);
	free(value);
	return 0;
}

static int copy_note(const struct group *noted, struct group_tree *tree)
{
	struct group *group = group_tree_add(tree, noted->role, noted->path);

	if (!group)
		return -ENOMEM;
	memcpy(group->uid, noted->uid, sizeof(group->uid));
	memcpy(group->container, noted->container, sizeof(group->container));
	for (int file = 0; file < GROUP_FILE_NR; file++) {
		if (!noted->files[file])
			continue;
		group->files[file] = strdup(noted->files[file]);
		if (!group->files[file])
			return -ENOMEM;
	}
	return 0;
}

static int systemd_add_noted(struct groups *groups, struct group_tree *tree)
{
	struct systemd *systemd = groups->systemd;
	int err = 0;

	if (!systemd)
		return 0;
	pthread_mutex_lock(&systemd->lock);
	for (uint32_t i = systemd->noted.nr_groups; !err && i-- > 0;)
		if (!group_tree_find(tree, systemd->noted.groups[i].path))
			err = copy_note(&systemd->noted.groups[i], tree);
	pthread_mutex_unlock(&systemd->lock);
	return err;
}

/* Copy a noted group into a tree of one group; the tree is empty if the group is not noted. */
static int find_note(struct systemd *systemd, const char *path, struct group_tree *ret_tree)
{
	const struct group *group;
	int err = 0;

	pthread_mutex_lock(&systemd->lock);
	group = group_tree_find(&systemd->noted, path);
	if (group)
		err = copy_note(group, ret_tree);
	pthread_mutex_unlock(&systemd->lock);
	return err;
}

/* --- the manager ------------------------------------------------------------------------------ */

static int systemd_open(struct groups *groups, char *error)
{
	struct systemd_session *session;
	int err;

	groups->systemd = calloc(1, sizeof(*groups->systemd));
	if (!groups->systemd)
		return failure(error, -ENOMEM, "no memory");
	groups->systemd->root_fd = groups->dir.root_fd;
	pthread_mutex_init(&groups->systemd->lock, NULL);
	err = take_session(groups->systemd, error, &session);
	if (!err)
		return_session(groups->systemd, session);
	return err;
}

static void systemd_close(struct groups *groups)
{
	if (!groups->systemd)
		return;
	for (struct systemd_session *session = groups->systemd->idle, *next; session;
	     session = next) {
		next = session->next;
		free_session(session);
	}
	group_tree_fini(&groups->systemd->noted);
	pthread_mutex_destroy(&groups->systemd->lock);
	free(groups->systemd);
	groups->systemd = NULL;
}

static bool in_kernel(struct groups *groups, const char *path)
{
	int fd cleanup_close = -1;

	return dir_open_group(&groups->dir, path, &fd) == 0;
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
	int err = new_call(session, "StartTransientUnit", &message);

	if (err >= 0)
		err = sd_bus_message_append(message, "ssa(sv)a(sa(sv))", unit, "fail", 1,
					    "Description", "s", "pinfold", 0);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	err = call(session, message, unit, true, &exists, error);
	/*
	 * A unit with this name is already loaded, from an administrator's unit file or
	 * from an earlier run: start it.
	 */
	return exists ? call_unit(session, "StartUnit", unit, true, error) : err;
}

static int systemd_create(struct groups *groups, const struct step *step, char *error)
{
	char unit[UNIT_MAX], slice[UNIT_MAX];
	struct systemd_session *session;
	int err = name_unit(step->path, unit, slice, error);

	if (err || in_kernel(groups, step->path))
		return err;
	if (is_scope(unit))
		return note(groups->systemd, step, error);
	err = take_session(groups->systemd, error, &session);
	if (err)
		return err;
	err = start_slice(session, unit, error);
	return_session(groups->systemd, session);
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

	if (step->file == GROUP_CPUSET_PARTITION || (err && err != -ENOENT))
		return err;
	/*
	 * The file may not exist yet: systemd enables a controller only when a property
	 * needs it.
	 */
	err = take_session(groups->systemd, error, &session);
	if (err)
		return err;
	err = set_property(session, unit, step->file, step->value, error);
	return_session(groups->systemd, session);
	return err ? err : ensure_file(groups, step->path, step->file, step->value, error);
}

static int systemd_write(struct groups *groups, const struct step *step, char *error)
{
	bool noted = is_noted(groups->systemd, step->path), deferred;
	char unit[UNIT_MAX], slice[UNIT_MAX];
	int err = name_unit(step->path, unit, slice, error);

	if (err)
		return err;
	deferred = noted && !in_kernel(groups, step->path);
	if (!deferred)
		err = write_unit(groups, step, unit, error);
	if (!err && noted)
		err = note_value(groups->systemd, step, error);
	return !err && deferred ? MANAGER_DEFERRED : err;
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
	if (dir_open_group(&groups->dir, step->path, &fd)) {
		drop_note(groups->systemd, step->path);
		return 0;
	}
	if (dir_populated(fd) != 0)
		return failure(error, -EBUSY,
			       "%s: still has processes; it is removed when the last one ends",
			       step->path);
	(void)file_write_text(fd, "cpuset.cpus.partition", "member");
	err = take_session(groups->systemd, error, &session);
	if (!err) {
		err = call_unit(session, "StopUnit", unit, true, error);
		return_session(groups->systemd, session);
	}
	if (err && in_kernel(groups, step->path))
		log_debug("cgroup: %s; removing the directory", error);
	drop_note(groups->systemd, step->path);
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
	for (int file = 0; err >= 0 && noted && file < GROUP_FILE_NR; file++)
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

	for (int file = 0; !err && noted && file < GROUP_FILE_NR; file++)
		if (noted->files[file])
			err = ensure_file(groups, path, file, noted->files[file], error);
	return err;
}

static int try_scope(struct systemd_session *session, const char *unit, const char *slice,
		     pid_t pid, const struct group *noted, bool *ret_exists, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = new_call(session, "StartTransientUnit", &message);

	if (err >= 0)
		err = append_scope(message, unit, slice, pid, noted);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	return call(session, message, unit, true, ret_exists, error);
}

#define SCOPE_TRIES    10
#define SCOPE_PAUSE_NS 20000000L

static int start_scope(struct groups *groups, struct systemd_session *session, const char *path,
		       pid_t pid, char *error)
{
	struct group_tree notes cleanup(group_tree_fini) = {0};
	const struct group *noted;
	const struct timespec pause = {.tv_nsec = SCOPE_PAUSE_NS};
	char unit[UNIT_MAX], slice[UNIT_MAX];
	bool exists = true;
	int err = name_unit(path, unit, slice, error);

	if (err)
		return err;
	err = find_note(groups->systemd, path, &notes);
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
	int err = new_call(session, "AttachProcessesToUnit", &message);

	if (err >= 0)
		err = sd_bus_message_append(message, "ssau", unit, "", 1, (uint32_t)pid);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	return call(session, message, unit, false, NULL, error);
}

static int systemd_join(struct groups *groups, const char *path, pid_t pid, char *error)
{
	char unit[UNIT_MAX], slice[UNIT_MAX];
	struct systemd_session *session;
	int err = name_unit(path, unit, slice, error);

	if (!err)
		err = take_session(groups->systemd, error, &session);
	if (err)
		return err;
	err = in_kernel(groups, path) ? attach(session, unit, pid, error)
				      : start_scope(groups, session, path, pid, error);
	return_session(groups->systemd, session);
	return err;
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
