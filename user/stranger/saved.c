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

static void emit_set(struct emitter *emitter, const char *key, const struct cpuset *set)
{
	char list[CPUSET_TEXT_MAX];

	cpuset_format(set, list, sizeof(list));
	emit_text(emitter, key, list);
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
			emit_set(emitter, "original", rows[i].original);
			emit_set(emitter, "written", rows[i].written);
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
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct stranger_task *task = &table->tasks[i];

		add_saved(rows, &nr, task, task->original, task->written);
		/* After a crash a restored affinity differs from what was written, so nobody owns it. */
		if (task->target != task->new_original)
			add_saved(rows, &nr, task, task->new_original, task->target);
	}
	qsort(rows, nr, sizeof(*rows), by_sets);
	boot_file_begin(&emitter, out, boot_id, "affinities");
	emit_rows(&emitter, rows, nr);
	boot_file_end(&emitter);
}

/* --- reading ------------------------------------------------------------------------------------- */

static int read_set(const struct yaml_value *map, const char *key, struct format_error *error,
		    struct stranger_table *table, const struct cpuset **ret_set)
{
	const struct yaml_value *member = yaml_need(map, key, error);
	struct cpuset set;

	if (!member || boot_file_read_cpus(member, key, error, &set))
		return -EBADMSG;
	*ret_set = stranger_table_keep(table, &set);
	return *ret_set ? 0 : -ENOMEM;
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

static int decode_affinity(const struct yaml_value *map, struct format_error *error,
			   struct stranger_table *table)
{
	const struct cpuset *original = NULL, *written = NULL;
	const struct yaml_value *tasks;
	uint64_t numbers[3];
	int r;

	r = read_set(map, "original", error, table, &original);
	if (!r)
		r = read_set(map, "written", error, table, &written);
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
		task->thread = (pid_t)numbers[0];
		task->start_ticks = numbers[1];
		task->since_ticks = numbers[2];
		task->original = original;
		task->written = written;
	}
	return 0;
}

int stranger_saved_decode(const char *data, size_t len, const char *boot_id,
			  struct format_error *error, struct stranger_table *ret_table)
{
	struct stranger_table table cleanup(stranger_table_fini) = {0};
	struct yaml_tree *tree cleanup_yaml = NULL;
	const struct yaml_value *affinities;
	int r;

	r = boot_file_parse(data, len, boot_id, "affinities", error, &tree, &affinities);
	yaml_for_each(affinity, r ? NULL : affinities)
	{
		r = decode_affinity(affinity, error, &table);
		if (r)
			break;
	}
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

int stranger_saved_open_note(int dir_fd, int *ret_fd)
{
	const int fd = dir_fd < 0 ? -1
				  : openat(dir_fd, PINFOLD_STRANGERS_NOTE,
					   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return dir_fd < 0 ? -EROFS : -errno;
	*ret_fd = fd;
	return 0;
}

/* What an earlier note names may be in no file yet, so it is not overwritten. */
int stranger_saved_note(int note_fd, const char *boot_id, const struct stranger_task *task)
{
	struct stranger_task copy = *task;
	const struct stranger_table table = {.nr = 1, .tasks = &copy};
	struct text text cleanup_text = {0};
	struct stat status;

	if (note_fd < 0)
		return -EROFS;
	if (fstat(note_fd, &status))
		return -errno;
	if (status.st_size)
		return -EBUSY;
	stranger_saved_encode(&table, boot_id, &text);
	if (text.error)
		return text.error;
	return pwrite(note_fd, text.data, text.len, 0) == (ssize_t)text.len ? 0 : -EIO;
}

void stranger_saved_drop_note(int note_fd)
{
	/* If it cannot be dropped, tasks are corrected by walks. */
	if (note_fd >= 0 && ftruncate(note_fd, 0))
		return;
}

static int load_file(int dir_fd, const char *name, const char *boot_id, struct format_error *error,
		     struct stranger_table *ret_table)
{
	char *data cleanup_free = NULL;
	size_t len;
	int r = file_read_all(dir_fd, name, BOOT_FILE_MAX_BYTES, &data, &len);

	if (!r && !len)
		r = -ENOENT;
	return r ? r : stranger_saved_decode(data, len, boot_id, error, ret_table);
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
		task->written = stranger_table_keep(table, noted->written);
		if (!task->original || !task->written)
			return -ENOMEM;
	}
	stranger_table_sort(table);
	return 0;
}

int stranger_saved_load(int dir_fd, const char *boot_id, struct format_error *error,
			struct stranger_table *ret_table)
{
	struct stranger_table table cleanup(stranger_table_fini) = {0};
	struct stranger_table note cleanup(stranger_table_fini) = {0};
	struct format_error ignored = {0};
	int r;

	if (dir_fd < 0)
		return -ENOENT;
	r = load_file(dir_fd, PINFOLD_STRANGERS_FILE, boot_id, error, &table);
	/* A crash may leave half a note, but then nothing was corrected yet. */
	if (!load_file(dir_fd, PINFOLD_STRANGERS_NOTE, boot_id, &ignored, &note) &&
	    (!r || r == -ENOENT || r == -ESTALE))
		r = add_noted(&table, &note);
	if (r)
		return r;
	*ret_table = table;
	table = (struct stranger_table){0};
	return 0;
}
