// SPDX-License-Identifier: Apache-2.0
/*
 * The directory: watch, list, look at each file, and report everything at once.
 * What one file means is entry.c's; what it means together (the same pod in two
 * files) is decided here.
 */
#include "source/manifests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "lib/file.h"
#include "lib/log.h"
#include "source/entry.h"

/* Several events of one change (write, chmod, rename) make one scan. */
#define SETTLE_USEC (50 * 1000ULL)
/* Should an event get lost, and for a directory that is not there yet. */
#define RESCAN_USEC (15 * 1000000ULL)

#define WATCH_MASK                                                                          \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY | IN_ATTRIB | \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

struct manifests {
	sd_event *event; /* borrowed; NULL = no watch */
	sd_event_source *watch, *settle, *rescan;
	const struct source_sink *sink;
	char *directory;
	dev_t watched_device;
	ino_t watched_inode;
	char problem[320]; /* of the directory, as last logged */
	uint64_t clock;	   /* ages of documents */
	bool complete;	   /* of the last report */
	uint32_t nr_entries;
	struct entry *entries[MANIFESTS_MAX_FILES]; /* ascending by name */
};

void manifests_free(struct manifests *manifests)
{
	if (!manifests)
		return;
	sd_event_source_disable_unref(manifests->watch);
	sd_event_source_disable_unref(manifests->settle);
	sd_event_source_disable_unref(manifests->rescan);
	for (uint32_t i = 0; i < manifests->nr_entries; i++)
		entry_free(manifests->entries[i]);
	free(manifests->directory);
	free(manifests);
}

/* --- entries ---------------------------------------------------------------------------------- */

static uint32_t position_of(const struct manifests *manifests, const char *name, bool *ret_found)
{
	uint32_t low = 0, high = manifests->nr_entries;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(manifests->entries[middle]->name, name);

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

/* -ENOSPC: the directory has more files than we look at. */
static int want_entry(struct manifests *manifests, const char *name, struct entry **ret_entry)
{
	bool found;
	uint32_t at = position_of(manifests, name, &found);
	struct entry *entry;

	if (found) {
		*ret_entry = manifests->entries[at];
		return 0;
	}
	if (manifests->nr_entries == MANIFESTS_MAX_FILES)
		return -ENOSPC;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->name = strdup(name);
	if (!entry->name) {
		free(entry);
		return -ENOMEM;
	}
	memmove(&manifests->entries[at + 1], &manifests->entries[at],
		(manifests->nr_entries - at) * sizeof(manifests->entries[0]));
	manifests->entries[at] = entry;
	manifests->nr_entries++;
	*ret_entry = entry;
	return 0;
}

static void drop_entry(struct manifests *manifests, uint32_t at)
{
	entry_free(manifests->entries[at]);
	manifests->nr_entries--;
	memmove(&manifests->entries[at], &manifests->entries[at + 1],
		(manifests->nr_entries - at) * sizeof(manifests->entries[0]));
}

static bool is_ignored(const char *name)
{
	size_t len = strlen(name);

	return name[0] == '.' || name[len - 1] == '~' ||
	       (len >= 4 && strcmp(name + len - 4, ".tmp") == 0);
}

/* --- the report ------------------------------------------------------------------------------- */

/* One document on its way to the sink. */
struct item {
	const struct entry *entry;
	const struct manifest_document *document;
	uint64_t since;
	uint32_t index; /* in the report */
	char *error;	/* owned; NULL = it stands */
};

struct report {
	uint32_t nr_items;
	struct item *items;
	struct source_pod *pods;
};

static void report_fini(struct report *report)
{
	for (uint32_t i = 0; i < report->nr_items; i++)
		free(report->items[i].error);
	free(report->items);
	free(report->pods);
}

static int add_item(struct report *report, const struct entry *entry, uint32_t index)
{
	const struct manifest_document *document = &entry->manifest.documents[index];
	struct item *item = &report->items[report->nr_items];
	char sentence[FORMAT_ERROR_TEXT_MAX];

	*item = (struct item){
		.entry = entry,
		.document = document,
		.since = entry->since[index],
		.index = report->nr_items,
	};
	report->nr_items++;
	if (document->spec)
		return 0;
	item->error = strdup(format_error_text(&document->error, NULL, sentence, sizeof(sentence)));
	return item->error ? 0 : -ENOMEM;
}

static int compare_ages(const struct item *a, const struct item *b)
{
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_names(const void *left, const void *right)
{
	const struct item *a = *(const struct item *const *)left;
	const struct item *b = *(const struct item *const *)right;
	int order = strcmp(a->document->name, b->document->name);

	return order ? order : compare_ages(a, b);
}

static int compare_uids(const void *left, const void *right)
{
	const struct item *a = *(const struct item *const *)left;
	const struct item *b = *(const struct item *const *)right;
	int order = strcmp(a->document->spec->uid, b->document->spec->uid);

	return order ? order : compare_ages(a, b);
}

static int refuse_twin(struct item *item, const struct item *first, const char *what)
{
	char *sentence = NULL;

	if (asprintf(&sentence,
		     "%s %s stands in %s (line %u) and in %s (line %u); the older one, in %s, is "
		     "kept, remove one of them",
		     what,
		     strcmp(what, "pod") == 0 ? item->document->name : item->document->spec->uid,
		     first->entry->name, first->document->line, item->entry->name,
		     item->document->line, first->entry->name) < 0)
		return -ENOMEM;
	free(item->error);
	item->error = sentence;
	return 0;
}

static int compare_item_ages(const void *left, const void *right)
{
	return compare_ages(*(const struct item *const *)left, *(const struct item *const *)right);
}

/* Items that are no refusal yet, in this order; `sorted` has room for all items. */
static uint32_t sort_sound(struct report *report, struct item **sorted,
			   int (*compare)(const void *, const void *))
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < report->nr_items; i++)
		if (report->items[i].document->spec && !report->items[i].error)
			sorted[nr++] = &report->items[i];
	qsort(sorted, nr, sizeof(struct item *), compare);
	return nr;
}

/* Of items with an equal key the oldest stands. */
static int refuse_twins(struct report *report, struct item **sorted,
			int (*compare)(const void *, const void *), const char *what)
{
	uint32_t nr = sort_sound(report, sorted, compare);
	const struct item *first = NULL;

	for (uint32_t i = 0; i < nr; i++) {
		bool by_name = compare == compare_names;
		bool twin = first &&
			    (by_name ? strcmp(first->document->name, sorted[i]->document->name) == 0
				     : strcmp(first->document->spec->uid,
					      sorted[i]->document->spec->uid) == 0);
		int err = twin ? refuse_twin(sorted[i], first, what) : 0;

		if (err)
			return err;
		if (!twin)
			first = sorted[i];
	}
	return 0;
}

static int collect(const struct manifests *manifests, struct report *report)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < manifests->nr_entries; i++)
		nr += manifests->entries[i]->manifest.nr_documents;
	report->items = calloc(nr + 1, sizeof(*report->items));
	report->pods = calloc(nr + 1, sizeof(*report->pods));
	if (!report->items || !report->pods)
		return -ENOMEM;
	for (uint32_t i = 0; i < manifests->nr_entries; i++) {
		const struct entry *entry = manifests->entries[i];

		for (uint32_t j = 0; j < entry->manifest.nr_documents; j++) {
			int err = add_item(report, entry, j);

			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * Beyond the limit the youngest are refused, so that a flood of files moves no pod. What
 * the first scan after a start finds is of one age and goes by file name and line.
 */
static int refuse_excess(struct report *report, struct item **sorted)
{
	uint32_t nr = sort_sound(report, sorted, compare_item_ages);

	for (uint32_t i = MANIFESTS_MAX_PODS; i < nr; i++) {
		if (asprintf(&sorted[i]->error, "more than %d pods in the directory; remove some",
			     MANIFESTS_MAX_PODS) < 0) {
			sorted[i]->error = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

static int send_report(struct manifests *manifests, bool complete)
{
	struct report report cleanup(report_fini) = {0};
	struct item **sorted cleanup_free = NULL;
	int err = collect(manifests, &report);

	if (err)
		return err;
	sorted = calloc(report.nr_items + 1, sizeof(struct item *));
	if (!sorted)
		return -ENOMEM;
	err = refuse_twins(&report, sorted, compare_names, "pod");
	if (!err)
		err = refuse_twins(&report, sorted, compare_uids, "uid");
	if (!err)
		err = refuse_excess(&report, sorted);
	if (err)
		return err;
	for (uint32_t i = 0; i < report.nr_items; i++) {
		const struct item *item = &report.items[i];

		report.pods[i] = (struct source_pod){
			.spec = item->error ? NULL : item->document->spec,
			.file = item->entry->name,
			.line = item->document->line,
			.error = item->error,
			.name = item->document->name,
		};
	}
	manifests->complete = complete;
	manifests->sink->scanned(manifests->sink->self, report.pods, report.nr_items, complete);
	return 0;
}

/* --- scanning --------------------------------------------------------------------------------- */

static void watch_directory(struct manifests *manifests, int fd);

/* Log what keeps us from reading once, and that it is over once. */
static void tell_problem(struct manifests *manifests, const char *problem)
{
	if (strcmp(manifests->problem, problem) == 0)
		return;
	snprintf(manifests->problem, sizeof(manifests->problem), "%s", problem);
	if (*problem)
		log_warn(0, "manifests: %s: %s; pods known so far stay", manifests->directory,
			 problem);
	else
		log_info("manifests: %s is read again", manifests->directory);
}

/* The directory's descriptor, or -1 when it is not there or not to be trusted. */
static int open_directory(struct manifests *manifests)
{
	int fd cleanup_close =
		open(manifests->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *distrust;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		tell_problem(manifests, strerror(errno));
		return -1;
	}
	distrust = entry_distrust(&status);
	if (distrust) {
		tell_problem(manifests, distrust);
		return -1;
	}
	if (manifests->event && (!manifests->watch || manifests->watched_device != status.st_dev ||
				 manifests->watched_inode != status.st_ino)) {
		manifests->watched_device = status.st_dev;
		manifests->watched_inode = status.st_ino;
		watch_directory(manifests, fd);
	}
	return TAKE_FD(fd);
}

/* Mark the files that are there. False = not all of them could be listed. */
static int list_files(struct manifests *manifests, int directory_fd, bool *ret_complete)
{
	DIR *directory cleanup_dir = NULL;
	bool complete = true;
	int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (!directory) {
		tell_problem(manifests, strerror(errno));
		if (fd >= 0)
			close(fd);
		*ret_complete = false;
		return 0;
	}
	for (;;) {
		struct dirent *found;
		struct entry *entry;
		int err;

		errno = 0;
		found = readdir(directory);
		if (!found)
			break;
		if (is_ignored(found->d_name))
			continue;
		err = want_entry(manifests, found->d_name, &entry);
		if (err == -ENOMEM)
			return err;
		if (err)
			complete = false;
		else
			entry->seen = true;
	}
	if (errno || !complete)
		tell_problem(manifests, errno ? strerror(errno) : "more than 1024 files");
	*ret_complete = complete && !errno;
	return 0;
}

/* What was accepted although something of it was left out. */
static void tell_notes(const struct entry *entry)
{
	for (uint32_t i = 0; i < entry->manifest.nr_documents; i++) {
		const struct manifest_document *document = &entry->manifest.documents[i];

		if (document->spec && *document->note)
			log_info("manifests: %s:%u: %s: %s", entry->name, document->line,
				 document->name, document->note);
	}
}

/* Look at every entry; tells whether anything is other than before. */
static int refresh_entries(struct manifests *manifests, int directory_fd, bool *complete,
			   bool *ret_changed)
{
	const bool listed = *complete;
	bool changed = false;

	for (uint32_t i = 0; i < manifests->nr_entries;) {
		struct entry *entry = manifests->entries[i];
		enum entry_result result = ENTRY_GONE;
		int err = 0;

		if (entry->seen)
			err = entry_refresh(entry, directory_fd, &manifests->clock, &result);
		else if (!listed)
			result = ENTRY_UNKNOWN;
		if (err)
			return err;
		entry->seen = false;
		/* Not yet read at all: nobody can say which pods it names. */
		if (result == ENTRY_UNKNOWN && !entry->read)
			*complete = false;
		if (result == ENTRY_CHANGED)
			tell_notes(entry);
		changed = changed || result == ENTRY_CHANGED ||
			  (result == ENTRY_GONE && entry->read);
		if (result == ENTRY_GONE)
			drop_entry(manifests, i);
		else
			i++;
	}
	*ret_changed = changed;
	return 0;
}

static int scan(struct manifests *manifests, bool always)
{
	int fd cleanup_close = open_directory(manifests);
	bool complete = false, changed = false;
	int err;

	if (fd >= 0) {
		err = list_files(manifests, fd, &complete);
		if (!err && complete)
			tell_problem(manifests, "");
		if (!err)
			err = refresh_entries(manifests, fd, &complete, &changed);
		if (err)
			return err;
	}
	if (!always && !changed && complete == manifests->complete)
		return 0;
	return send_report(manifests, complete);
}

int manifests_scan(struct manifests *manifests)
{
	return scan(manifests, true);
}

/* --- events ----------------------------------------------------------------------------------- */

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manifests *manifests = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (scan(manifests, false) < 0)
		log_err(-ENOMEM, "manifests: %s, waiting for the next scan", manifests->directory);
	return 0;
}

static int on_rescan(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manifests *manifests = userdata;

	sd_event_source_set_time_relative(source, RESCAN_USEC);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	if (scan(manifests, false) < 0)
		log_err(-ENOMEM, "manifests: %s, waiting for the next scan", manifests->directory);
	return 0;
}

static void scan_soon(struct manifests *manifests)
{
	int enabled = SD_EVENT_OFF;

	/* Not put off by further events: a busy writer must not starve the rest. */
	sd_event_source_get_enabled(manifests->settle, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time_relative(manifests->settle, SETTLE_USEC);
	sd_event_source_set_enabled(manifests->settle, SD_EVENT_ONESHOT);
}

/* An event about one file. True = it is being written, the time to look is its closing. */
static bool note_file(struct manifests *manifests, const struct inotify_event *change)
{
	struct entry *entry;

	if (is_ignored(change->name) || (change->mask & IN_ISDIR) ||
	    want_entry(manifests, change->name, &entry) < 0)
		return false;
	entry->writing = (change->mask & IN_MODIFY) ||
			 (entry->writing && (change->mask & IN_ATTRIB));
	if (change->mask & (IN_CLOSE_WRITE | IN_MOVED_TO))
		entry->stale = true;
	return entry->writing;
}

static int on_change(sd_event_source *source, const struct inotify_event *change, void *userdata)
{
	struct manifests *manifests = userdata;

	/* The directory itself went: what comes in its place needs a watch, whatever its number. */
	if (change->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT))
		manifests->watched_inode = 0;
	/* A closing may be among what was lost. */
	if (change->mask & IN_Q_OVERFLOW)
		for (uint32_t i = 0; i < manifests->nr_entries; i++)
			manifests->entries[i]->writing = false;
	if (change->len && note_file(manifests, change))
		return 0;
	scan_soon(manifests);
	return 0;
}

static void watch_directory(struct manifests *manifests, int fd)
{
	int err;

	manifests->watch = sd_event_source_disable_unref(manifests->watch);
	/* By descriptor: the name may lead elsewhere by now. */
	err = sd_event_add_inotify_fd(manifests->event, &manifests->watch, fd, WATCH_MASK,
				      on_change, manifests);
	if (err < 0)
		log_warn(err, "manifests: no watch on %s, falling back to a look each 15 s",
			 manifests->directory);
	/* Whoever wrote while we were not watching is unknown, and so is when he ends. */
	for (uint32_t i = 0; i < manifests->nr_entries; i++)
		manifests->entries[i]->writing = false;
}

static int add_timers(struct manifests *manifests)
{
	int err = sd_event_add_time_relative(manifests->event, &manifests->settle, CLOCK_MONOTONIC,
					     SETTLE_USEC, 0, on_settled, manifests);

	if (err >= 0)
		err = sd_event_source_set_enabled(manifests->settle, SD_EVENT_OFF);
	if (err >= 0)
		err = sd_event_add_time_relative(manifests->event, &manifests->rescan,
						 CLOCK_MONOTONIC, RESCAN_USEC, 0, on_rescan,
						 manifests);
	return err < 0 ? err : 0;
}

int manifests_new(sd_event *event, const char *directory, const struct source_sink *sink,
		  struct manifests **ret_manifests)
{
	struct manifests *manifests cleanup_manifests = calloc(1, sizeof(*manifests));
	int err;

	if (!manifests)
		return -ENOMEM;
	manifests->event = event;
	manifests->sink = sink;
	manifests->directory = strdup(directory);
	if (!manifests->directory)
		return -ENOMEM;
	err = event ? add_timers(manifests) : 0;
	if (err)
		return err;
	*ret_manifests = TAKE_PTR(manifests);
	return 0;
}
