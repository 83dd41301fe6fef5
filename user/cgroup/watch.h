/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Look again": inotify on the files of our groups and on processes coming and
 * going, uevents for CPUs. Independent of BPF, so it also works where BPF does
 * not. Says what may have changed, never what it is now; our own writes are
 * signalled too.
 */
#ifndef CGROUP_WATCH_H
#define CGROUP_WATCH_H

#include <systemd/sd-event.h>

#include "cgroup/manager.h"

/* Calls back from `event`'s loop through `sink` (borrowed, both outlive the watch). */
int watch_open(const struct dir *dir, sd_event *event, const struct groups_sink *sink,
	       struct watch **ret_watch);
void watch_close(struct watch *watch);

/*
 * Watch exactly the groups of this tree. Groups that do not exist (yet) are
 * passed over. -ENOSPC: the user's inotify watches are used up
 * (fs.inotify.max_user_watches); what fitted is watched. Of a pod for which something
 * goes on, what is watched stays so and nothing is added.
 */
int watch_tree(struct watch *watch, struct groups *groups, const struct group_tree *tree);

/* Is this uevent (NUL-separated words, `len` bytes) about a CPU going on- or offline? Pure. */
bool watch_is_cpu_event(const char *data, size_t len);

#endif
