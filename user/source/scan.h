/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this room: one scan of the manifests directory, which runs on a thread because
 * the disk may be slow, and the table of files that it brings up to date.
 */
#ifndef SOURCE_SCAN_H
#define SOURCE_SCAN_H

#include "lib/cleanup.h"
#include "lib/worker.h"
#include "source/entry.h"
#include "source/manifests.h"

/* What is known of the files. A scan that runs owns it. */
struct table {
	uint64_t clock; /* ages of documents */
	uint32_t nr_entries;
	struct entry *entries[MANIFESTS_MAX_FILES]; /* ascending by name */
};

/* Frees the entries as well; NULL is accepted. */
void table_free(struct table *table);
/* -ENOSPC: the directory has more files than we look at. */
int table_want(struct table *table, const char *name, struct entry **ret_entry);
/* Is a file of this name no manifest? */
bool scan_ignores(const char *name);

struct manifest_scan {
	struct worker_job job; /* first */
	struct manifests *manifests;
	const char *directory; /* never changes; stays while a scan runs */
	struct table *table;   /* owned, until the result is taken */
	bool always;	       /* report even if nothing changed */
	/* Stop at the open directory if it is not the one that is watched. */
	bool wants_watch;
	dev_t watched_device;
	ino_t watched_inode;

	/* Its output. */
	bool needs_watch; /* stopped there, with `fd` and `status` */
	int fd;		  /* owned */
	struct stat status;
	bool complete, changed;
	bool has_problem;  /* `problem` is news: why the directory cannot be read, "" = it can */
	char problem[320]; /* of the directory */
};

/* The job's functions `run` and `release`. */
int scan_run(struct worker_job *job);
void scan_release(struct worker_job *job);

#endif
