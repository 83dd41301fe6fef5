/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to systemd over sd-bus, and calls that wait for the job they start. Steps of
 * different pods run on different threads, and sd-bus has no locks: a thread takes a session,
 * makes its calls, and returns it.
 */
#ifndef CGROUP_SYSTEMD_BUS_H
#define CGROUP_SYSTEMD_BUS_H

#include <pthread.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cgroup/lease.h"
#include "lib/cleanup.h"

struct systemd_session;

/* What a call to systemd needs besides its answer. */
enum systemd_need {
	SYSTEMD_JOB = 1,   /* the end of the job that it returns */
	SYSTEMD_LEASE = 2, /* rights of process 1 to move processes and to write files of cgroups */
};

struct systemd_bus {
	int root_fd; /* root directory of systemd's socket; borrowed */
	struct lease lease;
	pthread_mutex_t lock; /* of the idle sessions; never held across a call to systemd */
	struct systemd_session *idle;
};

static inline void systemd_unref_message(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
}
#define cleanup_message cleanup(systemd_unref_message)
#define cleanup_error	cleanup(sd_bus_error_free)

void systemd_bus_init(struct systemd_bus *bus, int root_fd);
/* Closes the idle sessions; none may be taken any more. */
void systemd_bus_fini(struct systemd_bus *bus);

/*
 * Errors are negative errno values, with a sentence in `error` (failure.h). A session is
 * connected when it is taken; systemd closes connections when it re-executes itself.
 */
int systemd_take_session(struct systemd_bus *bus, char *error,
			 struct systemd_session **ret_session);
void systemd_return_session(struct systemd_bus *bus, struct systemd_session *session);

/* A message to the manager object, to be filled in. The caller owns *ret_message. */
int systemd_new_call(struct systemd_session *session, const char *method,
		     sd_bus_message **ret_message);
/*
 * Send a message about `unit`; `needs` are of enum systemd_need. With a job, wait until it has ended,
 * at most 5 s: -ETIMEDOUT, and -ECANCELED if the job did not succeed. With a lease, return only when
 * systemd has done what it queued, because it writes files of cgroups after its answer. After a failure
 * *ret_exists (may be NULL) tells whether a unit with this name is already loaded.
 */
int systemd_call(struct systemd_session *session, sd_bus_message *message, const char *unit,
		 unsigned int needs, bool *ret_exists, char *error);
/*
 * Start, stop or reset a unit, with a method that takes "unit, mode" and returns a job,
 * or only "unit".
 */
int systemd_call_unit(struct systemd_session *session, const char *method, const char *unit,
		      unsigned int needs, char *error);

#endif
