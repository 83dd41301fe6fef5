/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change notification: inotify on the files and the population of our groups, and uevents
 * for CPUs. It is independent of BPF and therefore works without it. An event tells what
 * may have changed and never its new value; our own writes are reported too.
 */
#ifndef CGROUP_WATCH_H
#define CGROUP_WATCH_H

#include <systemd/sd-event.h>

#include "cgroup/manager.h"

/* Calls `sink` from the loop of `event`. Both are borrowed and must outlive the watch. */
int watch_open(const struct dir *dir, sd_event *event, const struct groups_sink *sink,
	       struct watch **ret_watch);
void watch_close(struct watch *watch);

/* Report which CPUs are online; until that is done, changes before watch_open are unknown. */
void watch_tell_online(struct watch *watch);

/*
 * Watch exactly the groups of this tree. Groups that do not exist yet are skipped. If an
 * operation on a pod is in progress, its existing watches are kept and none are added.
 * -ENOSPC: the user's inotify watches are exhausted (fs.inotify.max_user_watches); the
 * groups that fit are watched, and the next call tries the rest again.
 */
int watch_tree(struct watch *watch, struct groups *groups, const struct group_tree *tree);

/*
 * Does this uevent (NUL-separated words, `len` bytes) report a CPU going online or
 * offline? Pure.
 */
bool watch_is_cpu_event(const char *data, size_t len);

#endif
