/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of sd_notify(3), without its wait: where the manager does not read, because
 * it waits in the kernel itself, libsystemd would stand in sendmsg(2) until it does.
 */
#ifndef LIB_NOTIFY_H
#define LIB_NOTIFY_H

/*
 * Tell whoever NOTIFY_SOCKET names, lines of "NAME=value"; 0 also where it names nobody. Never
 * waits: -EAGAIN = the manager's queue is full, and nothing was told. Any thread.
 */
int notify_manager(const char *lines);

#endif
