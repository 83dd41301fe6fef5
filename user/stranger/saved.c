// SPDX-License-Identifier: Apache-2.0
#include "stranger/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "format/boot_file.h"
#include "lib/file.h"

/* keys: of the file of original affinities */

/* --- writing ------------------------------------------------------------------------------------- */

/* A task in the file, which has one or two of each. */
struct saved {
	const struct cpuset *original, *written;
	uint64_t row[3]; /* thread, start, since */
};

static void add_saved(struct saved *rows, uint32_t *nr, const struct stranger_task *task,
		      const struct cpuset *original, const struct cpuset *written)
{
	if (written)
		rows[(*nr)++] = (struct saved){
			original,
			written,
			{(uint64_t)task->thread, task->start_ticks, task->since_ticks},
		};
}

static void add_task(struct saved *rows, uint32_t *nr, const struct stranger_task *task)
{
	add_saved(rows, nr, task, task->original, task->written);
	/* After a crash a restored affinity differs from what was written, so nobody owns it. */
	if (task->target != task->new_original)
		add_saved(rows, nr, task, task->new_original, task->target);
}

/* The sets are each kept once, so their addresses say which rows belong together. */
static int by_sets(const void *left, const void *right)
{
	const struct saved *a = left, *b = right;

	if (a->original != b->original)
		return a->original < b->original ? -1 : 1;
	if (a->written != b->written)
		return a->written < b->written ? -1 : 1;
	return (a->row[0] > b->row[0]) - (a->row[0] < b->row[0]);
}

static void emit_rows(struct emitter *emitter, const struct saved *rows, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const bool begins = !i || rows[i].original != rows[i - 1].original ||
				    rows[i].written != rows[i - 1].written;

		if (begins && i) {
			emit_close(emitter);
			emit_close(emitter);
		}
		if (begins) {
			emit_map(emitter, NULL);
			emit_cpuset(emitter, "original", rows[i].original);
			emit_cpuset(emitter, "written", rows[i].written);
			emit_list(emitter, "tasks");
		}
		emit_row(emitter, NULL, rows[i].row, ARRAY_SIZE(rows[i].row));
	}
	if (nr) {
		emit_close(emitter);
		emit_close(emitter);
	}
}

void stranger_saved_encode(const struct stranger_table *table, const char *boot_id,
			   struct text *out)
{
	struct saved *rows cleanup_free = calloc(2 * (size_t)table->nr + 1, sizeof(*rows));
	struct emitter emitter;
	uint32_t nr = 0;

	if (!rows) {
		out->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < table->nr; i++)
		add_task(rows, &nr, &table->tasks[i]);
	qsort(rows, nr, sizeof(*rows), by_sets);
	boot_file_begin(&emitter, out, boot_id, "affinities");
	emit_rows(&emitter, rows, nr);
	boot_file_end(&emitter);
}

/* --- reading ------------------------------------------------------------------------------------- */

static int read_set(const struct yaml_value *map, const char *key, struct format_error *error,
		    struct cpuset *ret_set)
{
	const struct yaml_value *member = yaml_need(map, key, error);

	return member && !boot_file_read_cpus(member, key, error, ret_set) ? 0 : -EBADMSG;
}

static int read_sets(const struct yaml_value *map, struct format_error *error,
		     struct stranger_table *table, struct stranger_task *ret_task)
{
	struct cpuset original, written;

	if (read_set(map, "original", error, &original) ||
	    read_set(map, "written", error, &written))
		return -EBADMSG;
	ret_task->original = stranger_table_keep(table, &original);
	ret_task->written = stranger_table_keep_written(table, &written);
	return ret_task->original && ret_task->written ? 0 : -ENOMEM;
}

static int read_row(const struct yaml_value *row, struct format_error *error, uint64_t numbers[3])
{
	uint32_t nr = 0;

	if (yaml_read_list(row, "tasks", error))
		return -EBADMSG;
	yaml_for_each(number, row)
	{
		if (nr == 3 || yaml_read_uint(number, "tasks", error, nr ? 0 : 1,
					      nr ? INT64_MAX : INT32_MAX, &numbers[nr]))
			break;
		nr++;
	}
	if (nr != 3 || row->nr_children != 3) {
		yaml_refuse(row, "tasks", error, "it is not a thread, its start and a time");
		return -EBADMSG;
	}
	return 0;
}

static int decode_affinity(const struct yaml_value *map, struct format_error *error, void *self)
{
	struct stranger_table *table = self;
	struct stranger_task common = {0};
	const struct yaml_value *tasks;
	uint64_t numbers[3];
	int r;

	r = read_sets(map, error, table, &common);
	if (r)
		return r;
	tasks = yaml_need(map, "tasks", error);
	if (!tasks || yaml_read_list(tasks, "tasks", error))
		return -EBADMSG;
	yaml_for_each(row, tasks)
	{
		struct stranger_task *task;

		r = read_row(row, error, numbers);
		if (r)
			return r;
		task = stranger_table_add(table);
		if (!task)
			return -ENOMEM;
		*task = common;
		task->thread = (pid_t)numbers[0];
		task->start_ticks = numbers[1];
		task->since_ticks = numbers[2];
	}
	return 0;
}

int stranger_saved_decode(const char *data, size_t len, const char *boot_id,
			  struct format_error *error, struct stranger_table *ret_table)
{
	struct stranger_table table cleanup_stranger_table = {0};
	int r = boot_file_decode(data, len, boot_id, "affinities", error, decode_affinity, &table);

	if (r)
		return r;
	stranger_table_sort(&table);
	*ret_table = table;
	table = (struct stranger_table){0};
	return 0;
}

int stranger_saved_save(int dir_fd, const char *boot_id, const struct stranger_table *table)
{
	struct text text cleanup_text = {0};

	if (dir_fd < 0)
		return -EROFS;
	stranger_saved_encode(table, boot_id, &text);
	if (text.error)
		return text.error;
	/* Nobody could read it again. */
	if (text.len > BOOT_FILE_MAX_BYTES)
		return -EFBIG;
	return file_replace(dir_fd, PINFOLD_STRANGERS_FILE, text.data, text.len);
}

/* --- the note ------------------------------------------------------------------------------------ */

/*
 * The file is one page, so that a note needs no room on the disk. A free page begins with what no text
 * does, and the rest of it are newlines. So half a note, which a crash during the write may leave, has no
 * end, and nobody who reads it takes it for one.
 */
#define PAGE_BYTES 4096
#define FREE	   '}'

struct stranger_note {
	int fd; /* owned */
	bool has_page;
	bool is_taken;
	struct text text;     /* its memory is kept, so that no note needs any */
	struct emitter begun; /* after what all notes begin with */
	size_t begun_len;
};

static int put(int fd, const char *bytes, size_t len)
{
	const ssize_t nr = pwrite(fd, bytes, len, 0);

	if (nr < 0)
		return -errno;
	return (size_t)nr == len ? 0 : -EIO;
}

/* What an older agent left is shorter or longer than the page. */
static int free_page(struct stranger_note *note)
{
	char page[PAGE_BYTES];
	int r;

	memset(page, '\n', sizeof(page));
	page[0] = FREE;
	r = put(note->fd, page, sizeof(page));
	if (!r && !note->has_page && ftruncate(note->fd, sizeof(page)))
		r = -errno;
	if (!r)
		note->has_page = true;
	return r;
}

static bool has_earlier(const struct stranger_note *note)
{
	char first = FREE;

	return pread(note->fd, &first, 1, 0) < 0 || first != FREE;
}

int stranger_note_open(int dir_fd, const char *boot_id, struct stranger_note **ret_note)
{
	struct stranger_note *note cleanup_stranger_note = NULL;
	int fd cleanup_close = dir_fd < 0 ? -1
					  : openat(dir_fd, PINFOLD_STRANGERS_NOTE,
						   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return dir_fd < 0 ? -EROFS : -errno;
	note = calloc(1, sizeof(*note));
	if (!note)
		return -ENOMEM;
	note->fd = -1;
	if (!text_begin(&note->text, PAGE_BYTES))
		return -ENOMEM;
	boot_file_begin(&note->begun, &note->text, boot_id, "affinities");
	note->begun_len = note->text.len;
	note->fd = TAKE_FD(fd);
	/* Without room for its page it counts as taken: whoever drops it tries again. */
	note->is_taken = has_earlier(note) || free_page(note);
	*ret_note = TAKE_PTR(note);
	return 0;
}

void stranger_note_close(struct stranger_note *note)
{
	if (!note)
		return;
	text_fini(&note->text);
	if (note->fd >= 0)
		close(note->fd);
	free(note);
}

static int encode_note(struct stranger_note *note, const struct stranger_task *task)
{
	struct emitter emitter = note->begun;
	struct saved rows[2];
	uint32_t nr = 0;

	note->text.len = note->begun_len;
	add_task(rows, &nr, task);
	emit_rows(&emitter, rows, nr);
	boot_file_end(&emitter);
	if (note->text.error)
		return note->text.error;
	return note->text.len <= PAGE_BYTES ? 0 : -EFBIG;
}

int stranger_note_write(struct stranger_note *note, const struct stranger_task *task)
{
	int r;

	if (!note)
		return -EROFS;
	/* What an earlier note names may be in no file yet, so it is not overwritten. */
	if (note->is_taken)
		return -EBUSY;
	r = encode_note(note, task);
	if (r)
		return r;
	note->is_taken = true;
	r = put(note->fd, note->text.data, note->text.len);
	if (r)
		stranger_note_drop(note);
	return r;
}

void stranger_note_drop(struct stranger_note *note)
{
	/* If it cannot be dropped, tasks are corrected by walks. */
	if (note && note->is_taken && !free_page(note))
		note->is_taken = false;
}

/* --- loading ------------------------------------------------------------------------------------- */

static int load_file(int dir_fd, const char *boot_id, struct format_error *error,
		     struct stranger_table *ret_table)
{
	char *data cleanup_free = NULL;
	size_t len;
	int r = file_read_all(dir_fd, PINFOLD_STRANGERS_FILE, BOOT_FILE_MAX_BYTES, &data, &len);

	if (!r && !len)
		r = -ENOENT;
	return r ? r : stranger_saved_decode(data, len, boot_id, error, ret_table);
}

/* Older agents cut the file to the length of the note, and emptied it to drop the note. */
static int load_note(int dir_fd, const char *boot_id, struct stranger_table *ret_table)
{
	char *data cleanup_free = NULL;
	struct format_error ignored = {0};
	size_t len;
	int r = file_read_all(dir_fd, PINFOLD_STRANGERS_NOTE, BOOT_FILE_MAX_BYTES, &data, &len);

	if (!r && (!len || data[0] == FREE))
		r = -ENOENT;
	return r ? r : stranger_saved_decode(data, len, boot_id, &ignored, ret_table);
}

/* The task of the note may be in the file as well, with the same original. */
static int add_noted(struct stranger_table *table, const struct stranger_table *note)
{
	for (uint32_t i = 0; i < note->nr; i++) {
		const struct stranger_task *noted = &note->tasks[i];
		struct stranger_task *task = stranger_table_add(table);

		if (!task)
			return -ENOMEM;
		task->thread = noted->thread;
		task->start_ticks = noted->start_ticks;
		task->since_ticks = noted->since_ticks;
		task->original = stranger_table_keep(table, noted->original);
		task->written = stranger_table_keep_written(table, noted->written);
		if (!task->original || !task->written)
			return -ENOMEM;
	}
	stranger_table_sort(table);
	return 0;
}

int stranger_saved_load(int dir_fd, const char *boot_id, struct format_error *error,
			struct stranger_table *ret_table)
{
	struct stranger_table table cleanup_stranger_table = {0};
	struct stranger_table note cleanup_stranger_table = {0};
	int r;

	if (dir_fd < 0)
		return -ENOENT;
	r = load_file(dir_fd, boot_id, error, &table);
	/* A crash may leave half of an older agent's note, but then nothing was corrected yet. */
	if (!load_note(dir_fd, boot_id, &note) && (!r || r == -ENOENT || r == -ESTALE))
		r = add_noted(&table, &note);
	if (r)
		return r;
	*ret_table = table;
	table = (struct stranger_table){0};
	return 0;
}
