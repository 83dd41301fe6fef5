// SPDX-License-Identifier: Apache-2.0
/*
 * One scan of the directory: open, list, look at each file. It runs on a thread and touches
 * only what it owns; what came of it is told by manifests.c.
 */
#include "source/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/file.h"

/* --- the table -------------------------------------------------------------------------------- */

void table_free(struct table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->nr_entries; i++)
		entry_free(table->entries[i]);
	free(table);
}

static uint32_t position_of(const struct table *table, const char *name, bool *ret_found)
{
	uint32_t low = 0, high = table->nr_entries;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(table->entries[middle]->name, name);

		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = false;
	return low;
}

int table_want(struct table *table, const char *name, struct entry **ret_entry)
{
	bool found;
	uint32_t at = position_of(table, name, &found);
	struct entry *entry;

	if (found) {
		*ret_entry = table->entries[at];
		return 0;
	}
	if (table->nr_entries == MANIFESTS_MAX_FILES)
		return -ENOSPC;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->name = strdup(name);
	if (!entry->name) {
		free(entry);
		return -ENOMEM;
	}
	memmove(&table->entries[at + 1], &table->entries[at],
		(table->nr_entries - at) * sizeof(table->entries[0]));
	table->entries[at] = entry;
	table->nr_entries++;
	*ret_entry = entry;
	return 0;
}

static void drop_entry(struct table *table, uint32_t at)
{
	entry_free(table->entries[at]);
	table->nr_entries--;
	memmove(&table->entries[at], &table->entries[at + 1],
		(table->nr_entries - at) * sizeof(table->entries[0]));
}

bool scan_ignores(const char *name)
{
	size_t len = strlen(name);

	return name[0] == '.' || name[len - 1] == '~' ||
	       (len >= 4 && strcmp(name + len - 4, ".tmp") == 0);
}

/* --- scanning --------------------------------------------------------------------------------- */

static void set_problem(struct manifest_scan *scan, const char *problem)
{
	scan->has_problem = true;
	snprintf(scan->problem, sizeof(scan->problem), "%s", problem);
}

/* The directory's descriptor, or -1 when it is not there or not to be trusted. */
static int open_directory(struct manifest_scan *scan)
{
	int fd cleanup_close =
		open(scan->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *distrust;

	if (fd < 0 || fstat(fd, &scan->status) < 0) {
		set_problem(scan, strerror(errno));
		return -1;
	}
	distrust = entry_distrust(&scan->status);
	if (distrust) {
		set_problem(scan, distrust);
		return -1;
	}
	return TAKE_FD(fd);
}

/* Mark the files that are there. False = not all of them could be listed. */
static int list_files(struct manifest_scan *scan, int directory_fd)
{
	DIR *directory cleanup_dir = NULL;
	const struct dirent *found;
	bool complete = true;
	int r = file_open_dir(directory_fd, ".", &directory);

	if (r) {
		set_problem(scan, strerror(-r));
		scan->complete = false;
		return 0;
	}
	while ((r = file_next_entry(directory, &found)) > 0) {
		struct entry *entry;
		int err;

		if (scan_ignores(found->d_name))
			continue;
		err = table_want(scan->table, found->d_name, &entry);
		if (err == -ENOMEM)
			return err;
		if (err)
			complete = false;
		else
			entry->seen = true;
	}
	if (r || !complete)
		set_problem(scan, r ? strerror(-r) : "more than 1024 files");
	scan->complete = complete && !r;
	return 0;
}

/* Look at every entry; tells whether anything is other than before. */
static int refresh_entries(struct manifest_scan *scan, int directory_fd)
{
	const bool listed = scan->complete;
	struct table *table = scan->table;

	for (uint32_t i = 0; i < table->nr_entries;) {
		struct entry *entry = table->entries[i];
		enum entry_result result = ENTRY_GONE;
		int err = 0;

		if (entry->seen)
			err = entry_refresh(entry, directory_fd, &table->clock, &result);
		else if (!listed)
			result = ENTRY_UNKNOWN;
		if (err)
			return err;
		entry->seen = false;
		/* Not yet read at all: nobody can say which pods it names. */
		if (result == ENTRY_UNKNOWN && !entry->read)
			scan->complete = false;
		entry->changed = result == ENTRY_CHANGED;
		scan->changed |= result == ENTRY_CHANGED || (result == ENTRY_GONE && entry->read);
		if (result == ENTRY_GONE)
			drop_entry(table, i);
		else
			i++;
	}
	return 0;
}

int scan_run(struct worker_job *job)
{
	struct manifest_scan *scan = (struct manifest_scan *)job;
	int fd cleanup_close = open_directory(scan);
	int err;

	if (fd < 0)
		return 0;
	if (scan->wants_watch && (scan->watched_device != scan->status.st_dev ||
				  scan->watched_inode != scan->status.st_ino)) {
		scan->needs_watch = true;
		scan->fd = TAKE_FD(fd);
		return 0;
	}
	err = list_files(scan, fd);
	if (!err && scan->complete)
		set_problem(scan, "");
	return err ? err : refresh_entries(scan, fd);
}

void scan_release(struct worker_job *job)
{
	struct manifest_scan *scan = (struct manifest_scan *)job;

	cleanup_close_fd(&scan->fd);
	table_free(scan->table);
	free(scan);
}
