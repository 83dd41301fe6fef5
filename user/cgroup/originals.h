/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The original values of files that pinfold changes outside its own groups, for a clean
 * uninstall. This concerns the root cgroup's subtree_control; the workload root belongs
 * to pinfold. The values are captured once, before the first write, and stored in a file
 * of the state directory that is never reconstructed.
 */
#ifndef CGROUP_ORIGINALS_H
#define CGROUP_ORIGINALS_H

#include "ctl/ports.h"

struct dir;
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

/* Free the values; nothing is written back. */
void originals_fini(struct originals *originals);
#define cleanup_originals cleanup(originals_fini)
/*
 * Read the original values. An existing workload root is captured too, because somebody
 * else created it.
 */
int originals_capture(const struct dir *dir, const char *workload_root,
		      struct originals *ret_originals);
#define ORIGINALS_MAX_BYTES (64 * 1024)

struct text;
struct format_error;

/*
 * Convert to the file's text and back. Decoding returns -ENOMEM, or -EBADMSG with `error`
 * filled for invalid text.
 */
void originals_encode(const struct originals *originals, struct text *out);
int originals_decode(const char *data, size_t len, struct format_error *error,
		     struct originals *ret_originals);

/* Did an earlier start save them in the state directory `dir_fd`? */
bool originals_are_kept(int dir_fd);

/*
 * Save the values, if there are any, in the state directory `dir_fd` unless the file exists: a
 * later start would capture values that pinfold has written. Returns 0 or a negative errno; logs
 * nothing.
 */
int originals_keep(int dir_fd, const struct originals *originals);

/*
 * Load the values that an earlier start saved. Returns -ENOENT if there is no file, or
 * -EBADMSG for a damaged file; `error` then says where, and *ret_originals is unchanged.
 */
int originals_load(int dir_fd, struct format_error *error, struct originals *ret_originals);

/*
 * Restore the values after groups_uninstall. Unchanged values are not written, and groups
 * that no longer exist are skipped. Continues after a failure and returns the errno and
 * message of the first one.
 */
int originals_restore(struct groups *groups, const struct originals *originals,
		      char error[GROUP_ERROR_MAX]);

#endif
