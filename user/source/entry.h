/* SPDX-License-Identifier: Apache-2.0 */
/* Private to this room: one file of the manifests directory and what it held last. */
#ifndef SOURCE_ENTRY_H
#define SOURCE_ENTRY_H

#include <sys/stat.h>

#include "format/manifest.h"

/* If all of these are as before, so is the content. */
struct entry_identity {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

struct entry {
	char *name;
	bool seen;    /* in the scan that is under way */
	bool writing; /* modified and not closed since: keep what we have */
	bool stale;   /* closed or put here since: time stamps are too coarse to show it */
	bool changed; /* by the last scan, which has not been told yet */
	bool read;    /* `manifest` holds a version of it */
	struct entry_identity identity;
	struct manifest manifest;
	/* [manifest.nr_documents]: age of each document's name, smaller is older. */
	uint64_t *since;
};

/* Free an entry with its name and its manifest. */
void entry_free(struct entry *entry);

/* May a manifest (or their directory) with this status be trusted? NULL, or why not. */
const char *entry_distrust(const struct stat *status);

enum entry_result {
	ENTRY_SAME,
	ENTRY_CHANGED,
	ENTRY_GONE,    /* not there any more, or a directory: no manifest */
	ENTRY_UNKNOWN, /* could not be read now; what it held stays */
};

/*
 * Look at the file below `directory_fd`. `clock` counts on for each new name.
 * -ENOMEM is the only error; a file that is refused holds one refused document.
 */
int entry_refresh(struct entry *entry, int directory_fd, uint64_t *clock,
		  enum entry_result *ret_result);

#endif
