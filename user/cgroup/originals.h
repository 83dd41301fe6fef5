/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before-values for a clean uninstall: what was on this machine before us. The
 * workload root is ours and needs none; what we change outside it is the root
 * cgroup's subtree_control. Captured once, before the first write; kept in a
 * file of the state directory that is never rebuilt by guessing.
 */
#ifndef CGROUP_ORIGINALS_H
#define CGROUP_ORIGINALS_H

#include "ctl/ports.h"

struct groups;

struct original {
	char path[GROUP_PATH_MAX]; /* "" = the root cgroup */
	char file[48];
	char *value; /* owned */
};

struct originals {
	uint32_t nr;
	struct original *items;
};

void originals_fini(struct originals *originals);
/* Read the before-values. An existing workload root is captured too: it was somebody's. */
int originals_capture(struct groups *groups, struct originals *ret_originals);
#define ORIGINALS_MAX_BYTES (64 * 1024)

struct text;
struct format_error;

/* The file's text and back. -EBADMSG with `error` filled for anything else; -ENOMEM. */
void originals_encode(const struct originals *originals, struct text *out);
int originals_decode(const char *data, size_t len, struct format_error *error,
		     struct originals *ret_originals);

/*
 * Keep them in the state directory `dir_fd`, unless the file is there: a later
 * start would read values of our own. 0 or negative errno; nothing is logged.
 */
int originals_keep(int dir_fd, const struct originals *originals);

/*
 * What an earlier start kept. -ENOENT when nothing was, -EBADMSG for a file that
 * is damaged: then `error` says where and *ret_originals is untouched.
 */
int originals_load(int dir_fd, struct format_error *error, struct originals *ret_originals);

/*
 * Put them back after groups_uninstall. Values that are as they were are not
 * written; a group that is gone is passed over. First failure's errno and
 * sentence; the rest is tried all the same.
 */
int originals_restore(struct groups *groups, const struct originals *originals,
		      char error[GROUP_ERROR_MAX]);

#endif
