/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The original affinities, in a file of the runtime directory. It is written before the first
 * affinity is, so that after a crash each can be restored. While affinities are being written it
 * names what a task had before and what it is to have, because a crash may leave either. No affinity
 * survives a boot, so the file need not either: on a tmpfs no correction waits for a disk.
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

/* Replace the file below `dir_fd`. Negative errno; -EFBIG: it would be too long to be read again. */
int stranger_saved_save(int dir_fd, const char *boot_id, const struct stranger_table *table);
/*
 * The same for one task that is about to be corrected, in a file that is open and has a page already, so
 * that little is done before the correction. A note counts until it is dropped, which is when the file
 * has the task too. Without a note (NULL) nothing can be noted, and nothing is to be dropped.
 */
struct stranger_note;

/* What an earlier agent noted stays until it is dropped. -EROFS without a directory, or another errno. */
int stranger_note_open(int dir_fd, const char *boot_id, struct stranger_note **ret_note);
void stranger_note_close(struct stranger_note *note);
DEFINE_CLEANUP(struct stranger_note, stranger_note_closep, stranger_note_close);
#define cleanup_stranger_note cleanup(stranger_note_closep)
/* -EBUSY: there is an earlier note, or no page; -EFBIG: its sets are too long for the page. */
int stranger_note_write(struct stranger_note *note, const struct stranger_task *task);
void stranger_note_drop(struct stranger_note *note);

/* As decode, with the task of the note; -ENOENT = there is no file. */
int stranger_saved_load(int dir_fd, const char *boot_id, struct format_error *error,
			struct stranger_table *ret_table);

#endif
