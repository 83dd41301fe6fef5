/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files about containers that were found below kubepods and private to them. Each calls
 * only those above it:
 *
 *   kubepods_rows.c   the containers and pods that the scans find
 *   kubepods_files.c  the cpusets that are to be written, and those that others wrote
 *   kubepods.c        what the controller is asked, and its answers
 */
#ifndef RUNTIME_KUBEPODS_PRIVATE_H
#define RUNTIME_KUBEPODS_PRIVATE_H

#include "core/stranger/stranger.h"
#include "runtime/found.h"
#include "runtime/kubepods.h"

enum progress {
	CONTAINER_NEW,	 /* the controller does not know it */
	CONTAINER_ASKED, /* its request is open */
	CONTAINER_KNOWN,
};

enum container_file { FILE_CPUS, FILE_MEMS, FILE_NR };

struct cpuset_file {
	struct cpuset found;  /* at the last scan; empty = nothing */
	struct cpuset wanted; /* empty = as it is */
	bool was_written;     /* it had the wanted value once, so another one is somebody's */
	bool is_repair;	      /* what somebody wrote is being put back */
	bool has_failed;      /* which was logged */
	/* Between two repairs. A new value does not wait, because others may get these CPUs. */
	struct stranger_pause pause;
};

struct container {
	uint64_t cgroup_id; /* not used again by the kernel before the next boot */
	char id[KUBEPODS_ID_MAX], uid[POD_UID_MAX], path[GROUP_PATH_MAX];
	struct found_request request;
	enum progress progress;
	struct cpuset_file files[FILE_NR];
	int64_t run_ns; /* CPU time at the last scan before its CPUs were written; -1 = unknown */
	uint32_t nr_scans; /* since its files were last written */
	bool is_alive;	   /* its cgroup exists */
	bool had_company;  /* another container of the pod ran at the same time */
	bool is_decided;   /* the controller has answered for it once */
	bool is_resized;   /* its amounts are others than the controller knows */
	bool is_due_again; /* it was refused, and there is more room now */
	bool is_missing;   /* when it was last written, there was no such cgroup or file */
};

struct kubepods {
	struct kubepods_options options;
	uint32_t nr, max;
	struct container *containers; /* owned */
	uint32_t nr_pods, max_pods;
	char (*pods)[POD_UID_MAX]; /* owned: those that the controller knows */

	bool is_synchronized;
	bool wants_changes;		/* what is due to any container is to be asked for */
	bool is_asking;			/* the controller is being called */
	uint32_t request, last_request; /* 0 = none is open */
	/* Of the container that the open request is about; "" = about none. */
	char asked_id[KUBEPODS_ID_MAX], asked_uid[POD_UID_MAX];
	char late_uid[POD_UID_MAX]; /* a pod that ended while its request was open; "" = none */

	/* Of the last answer: for containers that are not decided yet; empty = unknown. */
	struct cpuset shared;

	bool is_writing;
	uint32_t nr_queued, max_queued;
	struct cpuset_write *queue; /* owned */
};

/* --- kubepods_rows.c -------------------------------------------------------------------------- */

/* Room for one more element of an array. -ENOMEM. */
int kubepods_rows_grow(void **array, uint32_t nr, uint32_t *max, size_t size);
/* NULL = not known. */
struct container *kubepods_rows_find(struct kubepods *kubepods, const char *id);
struct container *kubepods_rows_find_cgroup(struct kubepods *kubepods, uint64_t cgroup_id);
/* Takes the row out; the last one is moved to its place. */
void kubepods_rows_drop(struct kubepods *kubepods, struct container *container);
/* Is the container of this pod? */
bool kubepods_rows_is_of(const struct container *container, const char *uid);
/* Such a one runs beside others, or while they are down, and takes nobody's place. */
bool kubepods_rows_is_ephemeral(const struct container *container);
/* Notes what a scan found. Of a complete one, what is missing has ended. -ENOMEM. */
int kubepods_rows_take(struct kubepods *kubepods, const struct discovery *found, bool is_complete);

/* --- kubepods_files.c ------------------------------------------------------------------------- */

/* The controller's notes and the files may differ from now on, so everything is told anew. */
void kubepods_files_start_over(struct kubepods *kubepods, int error);
/* What a container is to have, after all that is queued; NULL or "" = as it is. -ENOMEM. */
int kubepods_files_set(struct kubepods *kubepods, struct container *container, const char *cpus,
		       const char *mems);
/*
 * Whoever is not decided yet shares meanwhile, or it would run on exclusive CPUs of others. It leaves the
 * CPUs that are shared no more before somebody gets them, and gets others after they were left. -ENOMEM.
 */
int kubepods_files_leave(struct kubepods *kubepods, const struct cpuset *shared);
int kubepods_files_share(struct kubepods *kubepods);
/* Begins to write the queue, unless an earlier part of it is still being written. */
void kubepods_files_flush(struct kubepods *kubepods);
/* A write has ended. */
void kubepods_files_end_write(struct kubepods *kubepods, const struct cpuset_write *row);
/* After a scan: queue again what another program wrote, and what could not be written. -ENOMEM. */
int kubepods_files_repair(struct kubepods *kubepods);
/* After a scan: tell the controller of the file that is fought about most. */
void kubepods_files_tell_contested(struct kubepods *kubepods);

#endif
