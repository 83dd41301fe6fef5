/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the cgroup room: the object behind the port, and the function table of the
 * manager that owns the upper levels. A cgroup subtree must have a single writer: where
 * PID 1 is systemd, it creates our slices and scopes (manager_systemd); elsewhere we
 * create directories (manager_cgroupfs).
 */
#ifndef CGROUP_MANAGER_H
#define CGROUP_MANAGER_H

#include "cgroup/dir.h"
#include "cgroup/kubelets.h"
#include "cgroup/originals.h"

/*
 * open and close run on the loop's thread. All others may run on any thread and for
 * different pods concurrently, so a manager must lock its own state.
 */
struct manager {
	const char *name; /* "cgroupfs", "systemd" */
	int (*open)(struct groups *groups, char *error);
	void (*close)(struct groups *groups);
	/*
	 * Apply one step without reading it back; apply.c does that. Creating a group
	 * that exists and removing one that does not exist succeed. MANAGER_DEFERRED: the
	 * step is recorded and takes effect when the group's first process joins.
	 */
	int (*create)(struct groups *groups, const struct step *step, char *error);
	int (*write)(struct groups *groups, const struct step *step, char *error);
	int (*remove)(struct groups *groups, const struct step *step, char *error);
	/* Move the process into the group, creating the group if it does not exist yet. */
	int (*join)(struct groups *groups, const char *path, pid_t pid, char *error);
	/* Add groups that are recorded but not yet in the kernel to an observed tree. */
	int (*add_noted)(struct groups *groups, struct group_tree *tree);
};

#define MANAGER_DEFERRED 1

extern const struct manager manager_cgroupfs;
extern const struct manager manager_systemd;

struct watch;
struct systemd;
struct worker_pool;
struct tree_scan;
struct name;
struct opened;
struct outsiders;

struct groups {
	struct dir dir;
	char workload_root[128];
	bool may_write;
	uint64_t page_bytes;
	struct originals originals; /* as of groups_open */
	const struct manager *manager;
	struct systemd *systemd;	/* NULL with manager_cgroupfs */
	struct watch *watch;		/* NULL until watched */
	struct kubelets_known kubelets; /* used by scans, of which there is one at a time */
	/* Used by the loop's thread only: */
	struct worker_pool *pool;	/* borrowed; NULL = everything runs synchronously */
	const struct groups_sink *sink; /* borrowed; NULL until watched */
	struct tree_scan *scan;		/* the last scan; NULL before the first one */
	bool scan_is_fresh;		/* it ended late and has not been fetched yet */
	struct name *name;		/* found late and not fetched yet, or NULL */
	struct outsiders *outsiders;	/* likewise */
	struct opened *opened;		/* groups that were opened late, the newest first; owned */
};

#endif
