/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: fills struct store_port with files. */
#ifndef CTL_STORE_H
#define CTL_STORE_H

#include "ctl/ports.h"
#include "format/config.h"

/* State of 1024 containers on 8192 CPUs stays below this. */
#define STORE_MAX_BYTES (64 * 1024 * 1024)
#define STORE_SET_ASIDE 5

struct worker_pool;

struct store {
	int dir_fd; /* owned; -1 = the directory cannot be used: every save fails */
	char path[CONFIG_PATH_MAX];
	char problem[256]; /* why nothing can be saved, in a sentence */
	/* Both borrowed, set by the owner. NULL: a save runs at once; nobody is told. */
	struct worker_pool *pool;
	const struct store_sink *sink;
};

/* `path` is made with mode 0700 when missing. Failures are logged; the store then refuses saves. */
int store_open(struct store *store, const char *path);
void store_close(struct store *store);
/*
 * Remove all that agents have ever left in `path`, and the directory; with `keep_originals`
 * all but the before-values, which a later uninstall needs. What stays is logged with its
 * reason. The store is closed; one that could not be opened has said so.
 */
void store_remove(struct store *store, const char *path, bool keep_originals);
/* Port over a store, which outlives it. */
struct store_port store_port(struct store *store);

#endif
