// SPDX-License-Identifier: Apache-2.0
#include "cgroup/systemd_bus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/failure.h"
#include "lib/cleanup.h"
#include "lib/clock.h"

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
	struct lease *lease;	      /* borrowed */
	sd_bus *bus;
	/* The pending job and its result ("done", "failed", …). */
	char job[128];
	char job_result[32];
};

/* --- connections ------------------------------------------------------------------------------- */

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

int systemd_take_session(struct systemd_bus *bus, char *error, struct systemd_session **ret_session)
{
	struct systemd_session *session cleanup_session = NULL;
	int err;

	pthread_mutex_lock(&bus->lock);
	session = bus->idle;
	if (session)
		bus->idle = session->next;
	pthread_mutex_unlock(&bus->lock);
	if (!session)
		session = calloc(1, sizeof(*session));
	if (session)
		session->root_fd = bus->root_fd, session->lease = &bus->lease;
	err = session ? have_bus(session, error) : failure(error, -ENOMEM, "no memory");
	if (err)
		return err;
	*ret_session = TAKE_PTR(session);
	return 0;
}

void systemd_return_session(struct systemd_bus *bus, struct systemd_session *session)
{
	pthread_mutex_lock(&bus->lock);
	session->next = bus->idle;
	bus->idle = session;
	pthread_mutex_unlock(&bus->lock);
}

void systemd_bus_init(struct systemd_bus *bus, int root_fd)
{
	*bus = (struct systemd_bus){.root_fd = root_fd};
	pthread_mutex_init(&bus->lock, NULL);
	lease_init(&bus->lease);
}

void systemd_bus_fini(struct systemd_bus *bus)
{
	for (struct systemd_session *session = bus->idle, *next; session; session = next) {
		next = session->next;
		free_session(session);
	}
	lease_fini(&bus->lease);
	pthread_mutex_destroy(&bus->lock);
}

/* --- calls ------------------------------------------------------------------------------------- */

int systemd_new_call(struct systemd_session *session, const char *method,
		     sd_bus_message **ret_message)
{
	return sd_bus_message_new_method_call(session->bus, ret_message, BUS_NAME, BUS_PATH,
					      BUS_MANAGER, method);
}

/* Wait until the job that `reply` names has ended. -ECANCELED if it did not succeed. */
static int await_job(struct systemd_session *session, sd_bus_message *reply, const char *unit,
		     char *error)
{
	uint64_t deadline = clock_monotonic_usec() + JOB_WAIT_USEC;
	const char *job;
	int err = sd_bus_message_read(reply, "o", &job);

	if (err < 0)
		return failure(error, err, "%s: systemd's reply contains no job", unit);
	snprintf(session->job, sizeof(session->job), "%s", job);
	session->job_result[0] = '\0';
	while (!session->job_result[0]) {
		uint64_t now = clock_monotonic_usec();

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

static int call(struct systemd_session *session, sd_bus_message *message, const char *unit,
		unsigned int needs, bool *ret_exists, char *error)
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
	if (!(needs & SYSTEMD_JOB))
		return 0;
	if (needs & SYSTEMD_LEASE)
		lease_extend(session->lease);
	return await_job(session, reply, unit, error);
}

/*
 * systemd answers this when it has written what earlier calls queued: it empties its queue of cgroups
 * to realise before it takes the next message. A failure is not an error: whoever asks reads the result
 * from the kernel.
 */
static void await_queue(struct systemd_session *session)
{
	(void)sd_bus_call_method(session->bus, BUS_NAME, BUS_PATH, "org.freedesktop.DBus.Peer",
				 "Ping", NULL, NULL, NULL);
}

int systemd_call(struct systemd_session *session, sd_bus_message *message, const char *unit,
		 unsigned int needs, bool *ret_exists, char *error)
{
	int err;

	if (!(needs & SYSTEMD_LEASE))
		return call(session, message, unit, needs, ret_exists, error);
	lease_begin(session->lease);
	err = call(session, message, unit, needs, ret_exists, error);
	if (!err) {
		lease_extend(session->lease);
		await_queue(session);
	}
	lease_end(session->lease);
	return err;
}

int systemd_call_unit(struct systemd_session *session, const char *method, const char *unit,
		      unsigned int needs, char *error)
{
	sd_bus_message *message cleanup_message = NULL;
	int err = systemd_new_call(session, method, &message);

	if (err >= 0)
		err = needs & SYSTEMD_JOB ? sd_bus_message_append(message, "ss", unit, "fail")
					  : sd_bus_message_append(message, "s", unit);
	if (err < 0)
		return failure(error, err, "%s: cannot ask systemd: %s", unit, strerror(-err));
	return systemd_call(session, message, unit, needs, NULL, error);
}
