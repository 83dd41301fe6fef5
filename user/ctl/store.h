/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: implements struct store_port with files. */
#ifndef CTL_STORE_H
#define CTL_STORE_H

#include "ctl/ports.h"
#include "format/config.h"

/* The state of 1024 containers on 8192 CPUs is smaller than this. */
#define STORE_MAX_BYTES (64 * 1024 * 1024)
#define STORE_SET_ASIDE 5

struct worker_pool;

struct store {
	int dir_fd; /* owned; -1 = the directory cannot be used: every save fails */
	char path[CONFIG_PATH_MAX];
	char problem[256]; /* a sentence that says why nothing can be saved */
	/*
	 * Both are borrowed and set by the owner. NULL: a save runs synchronously, without
	 * notification.
	 */
	struct worker_pool *pool;
	const struct store_sink *sink;
};

/*
 * Creates `path` with mode 0700 if it is missing. Failures are logged; the store then refuses
 * saves.
 */
int store_open(struct store *store, const char *path);
void store_close(struct store *store);
/*
 * Remove all files of agents from `path`, and the directory; but of those that a later uninstall
 * needs, keep the ones in `kept`, a set of STORE_KEEP_. Whatever remains is logged with the
 * reason. The store is closed; one that could not be opened has already logged why.
 */
enum {
	STORE_KEEP_ORIGINALS = 1, /* the original values of cgroups */
	STORE_KEEP_IRQS = 2,	  /* the original masks of interrupts */
	STORE_KEEP_HOST = 4,	  /* which groups of the host have our CPU list */
};
/*
 * For an uninstall: remove the agent's files except those `kept` (a mask of the above), then the
 * directory, which was opened as `path`. Files of others keep it. What remains is logged. Closes
 * the store.
 */
void store_remove(struct store *store, const char *path, unsigned int kept);
/* The port of a store; the store must outlive it. */
struct store_port store_port(struct store *store);

#endif
