/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The original affinities, in a file of the state directory. It is written before the first
 * affinity is, so that after a crash each can be restored. While affinities are being written it
 * names what a task had before and what it is to have, because a crash may leave either. Ids of
 * tasks mean something in one boot only.
 */
#ifndef STRANGER_SAVED_H
#define STRANGER_SAVED_H

#include "stranger/table.h"

struct format_error;
struct text;

/* Convert the tasks that were changed, or are about to be, to the file's text and back. */
void stranger_saved_encode(const struct stranger_table *table, const char *boot_id,
			   struct text *out);
/*
 * -EBADMSG with `error` filled for invalid text, -ESTALE for that of another boot, -ENOMEM.
 * *ret_table is then unchanged; otherwise it is sorted, and its tasks have nothing but thread,
 * times, original and what was written.
 */
int stranger_saved_decode(const char *data, size_t len, const char *boot_id,
			  struct format_error *error, struct stranger_table *ret_table);

/* Replace the file below `dir_fd` and wait for the disk. Negative errno. */
int stranger_saved_save(int dir_fd, const char *boot_id, const struct stranger_table *table);
/* As decode; -ENOENT = there is no file. */
int stranger_saved_load(int dir_fd, const char *boot_id, struct format_error *error,
			struct stranger_table *ret_table);

#endif
