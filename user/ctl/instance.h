/* SPDX-License-Identifier: Apache-2.0 */
/* One agent per runtime directory: the directory's own safety, and the lock in it. */
#ifndef CTL_INSTANCE_H
#define CTL_INSTANCE_H

struct instance {
	int dir_fd;  /* owned; the runtime directory, also where the socket is bound; -1 = closed */
	int lock_fd; /* owned; -1 = not held. The kernel drops the lock when its holder dies */
};

#define INSTANCE_CLOSED ((struct instance){.dir_fd = -1, .lock_fd = -1})

/*
 * Take the runtime directory `path`, made with mode 0700 when missing, and its
 * lock. A directory of somebody else's, or writable by others, is refused and
 * never changed: a socket there could be replaced under us. Failures are logged.
 * 0, -EBUSY when another agent holds the lock, -EPERM for an unsafe directory,
 * or another negative errno; then *ret_instance is untouched.
 */
int instance_take(const char *path, struct instance *ret_instance);
void instance_release(struct instance *instance);

/*
 * End the agent that holds the lock of `path`: asked first (SIGTERM), made to when it has
 * not gone after ten seconds (SIGKILL). 0 also when there is none. -EBUSY: it does not
 * go, or nobody can tell who holds it. Failures are logged.
 */
int instance_stop(const char *path);
/*
 * Remove what agents leave in the runtime directory, the lock last, and the directory.
 * What stays is logged with its reason. The instance is released.
 */
void instance_remove(struct instance *instance, const char *path);

#endif
