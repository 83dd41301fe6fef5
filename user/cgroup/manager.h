/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the cgroup room: the object behind the port, and the function table
 * of who owns the upper levels. The kernel wants one writer per subtree: where
 * PID 1 is systemd it makes our slices and scopes (manager_systemd), elsewhere
 * we make directories (manager_cgroupfs).
 */
#ifndef CGROUP_MANAGER_H
#define CGROUP_MANAGER_H

#include "cgroup/dir.h"
#include "cgroup/originals.h"

/*
 * open and close run on the loop's thread. All others run on any thread, for different pods
 * at the same time: a manager locks what it keeps.
 */
struct manager {
	const char *name; /* "cgroupfs", "systemd" */
	int (*open)(struct groups *groups, char *error);
	void (*close)(struct groups *groups);
	/*
	 * Carry out one step, without reading it back; apply.c does that. A group that
	 * exists already is no failure to create, one that is gone none to remove.
	 * MANAGER_DEFERRED: noted, takes hold when the group's first process joins.
	 */
	int (*create)(struct groups *groups, const struct step *step, char *error);
	int (*write)(struct groups *groups, const struct step *step, char *error);
	int (*remove)(struct groups *groups, const struct step *step, char *error);
	/* Put the process into the group, making the group where it does not exist yet. */
	int (*join)(struct groups *groups, const char *path, pid_t pid, char *error);
	/* Add groups that are noted but not in the kernel yet to an observed tree. */
	int (*add_noted)(struct groups *groups, struct group_tree *tree);
};

#define MANAGER_DEFERRED 1

extern const struct manager manager_cgroupfs;
extern const struct manager manager_systemd;

struct watch;
struct systemd;
struct worker_pool;
struct look;

struct groups {
	struct dir dir;
	char workload_root[128];
	bool may_write;
	uint64_t page_bytes;
	struct originals originals; /* as it was when we opened */
	const struct manager *manager;
	struct systemd *systemd; /* NULL with manager_cgroupfs */
	struct watch *watch;	 /* NULL until watched */
	/* The loop's thread only: */
	struct worker_pool *pool;	/* borrowed; NULL = everything runs at once */
	const struct groups_sink *sink; /* borrowed; NULL until watched */
	struct look *look;		/* the last one; NULL before it */
	bool look_is_fresh;		/* it ended late and nobody has taken it yet */
};

#endif
