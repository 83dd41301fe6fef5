/* SPDX-License-Identifier: Apache-2.0 */
/* One agent per runtime directory: the permissions of the directory, and the lock in it. */
#ifndef CTL_INSTANCE_H
#define CTL_INSTANCE_H

struct instance {
	int dir_fd;  /* owned; the runtime directory, also where the socket is bound; -1 = closed */
	int lock_fd; /* owned; -1 = not held. The kernel drops the lock when its holder dies */
};

#define INSTANCE_CLOSED ((struct instance){.dir_fd = -1, .lock_fd = -1})

/*
 * Create the runtime directory `path` with mode 0700 if it is missing, and take its lock. A
 * directory that has another owner or is writable by others is refused and never changed,
 * because a socket in it could be replaced. Failures are logged. 0, -EBUSY if another agent
 * holds the lock, -EPERM for an unsafe directory, or another negative errno; *ret_instance is
 * then unchanged.
 */
int instance_take(const char *path, struct instance *ret_instance);
void instance_release(struct instance *instance);

/*
 * Stop the agent that holds the lock of `path`: first with SIGTERM, and with SIGKILL if it has
 * not exited after ten seconds. 0 also if there is none, or if it is in another pid namespace:
 * instance_take then returns -EBUSY. -EBUSY: it does not exit, not even after SIGKILL. Failures
 * are logged.
 */
int instance_stop(const char *path);
/*
 * Remove the files of agents from the runtime directory, the lock last, and then the
 * directory. Whatever cannot be removed is logged with the reason. The instance is released.
 */
void instance_remove(struct instance *instance, const char *path);

#endif
