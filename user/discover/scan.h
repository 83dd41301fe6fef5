/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this room: one scan of the cgroup tree. It runs on a thread, because a process that
 * makes a cgroup holds the lock of its parent's directory, and opens everything for reading only.
 */
#ifndef DISCOVER_SCAN_H
#define DISCOVER_SCAN_H

#include "discover/bundles.h"
#include "kubelet/discovery.h"
#include "lib/worker.h"

struct discover;

/* A node has some hundred cgroups; containers are not entered. */
#define SCAN_MAX_VISITS 65536
#define SCAN_MAX_DEPTH	24
#define SCAN_MAX_TASKS	262144

enum scan_file { SCAN_CPU_STATE, SCAN_MEMORY_STATE, SCAN_FILE_NR };

/* What a state file contained when it last could be used; owned. NULL = never, or it is absent. */
struct scan_kept {
	char *data;
	size_t len;
};

struct node_scan {
	struct worker_job job; /* first */
	struct discover *discover;
	/* Constant for the life of the room, so a thread may read them. */
	const char *cgroup_dir, *proc_dir, *online_file, *kubelet_dir; /* kubelet_dir "" = none */
	int inotify_fd;						       /* -1 = nothing is watched */
	bool watches_cpusets;	 /* the files of containers as well */
	struct bundles *bundles; /* nobody else uses them while a scan runs */

	struct scan_kept kept[SCAN_FILE_NR]; /* handed from scan to scan */

	/* Its output. */
	struct discovery found; /* owned, until the result is taken */
	int watch_error;	/* the errno of the first watch that could not be added, 0 = none */
};

/* The job's functions `run` and `release`. */
int cgroup_scan_run(struct worker_job *job);
void cgroup_scan_release(struct worker_job *job);

#endif
