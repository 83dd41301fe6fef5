// SPDX-License-Identifier: Apache-2.0
/*
 * The directory: watch, have it scanned on a thread, and report everything at once.
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
#include "lib/worker.h"
#include "source/entry.h"
#include "source/scan.h"

/* Several events of one change (write, chmod, rename) make one scan. */
#define SETTLE_USEC (50 * 1000ULL)
#define SCAN_KEY    "manifests"
/* Should an event get lost, and for a directory that is not there yet. */
#define RESCAN_USEC (15 * 1000000ULL)

#define WATCH_MASK                                                                          \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY | IN_ATTRIB | \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

/* What happened to a file while a scan owned the table. */
struct mark {
	char *name;
	bool is_stale;
	bool knows_writing; /* `writing` replaces what was known before */
	bool writing;
};

struct manifests {
	sd_event *event;	  /* borrowed; NULL = no watch */
	struct worker_pool *pool; /* borrowed; NULL = scans run on the loop */
	sd_event_source *watch, *settle, *rescan;
	const struct source_sink *sink;
	char *directory;
	dev_t watched_device;
	ino_t watched_inode;
	char problem[320];	  /* of the directory, as last logged */
	bool complete;		  /* of the last report */
	bool is_late;		  /* the scan that runs is; the sink was told so */
	bool again, again_always; /* asked for meanwhile; always = report in any case */
	bool lost_marks;	  /* there were too many, or no memory for them */
	uint32_t nr_marks;
	struct mark marks[MANIFESTS_MAX_FILES];
	struct table *table; /* NULL = a scan that runs owns it */
};

static void drop_marks(struct manifests *manifests)
{
	for (uint32_t i = 0; i < manifests->nr_marks; i++)
		free(manifests->marks[i].name);
	manifests->nr_marks = 0;
	manifests->lost_marks = false;
}

void manifests_free(struct manifests *manifests)
{
	if (!manifests)
		return;
	sd_event_source_disable_unref(manifests->watch);
	sd_event_source_disable_unref(manifests->settle);
	sd_event_source_disable_unref(manifests->rescan);
	drop_marks(manifests);
	table_free(manifests->table);
	free(manifests->directory);
	free(manifests);
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
#define cleanup_report cleanup(report_fini)

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
		     "%s %s appears in %s (line %u) and in %s (line %u); the older one, in %s, "
		     "is used; remove one of them",
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

/* Items that are not refused so far, in this order; `sorted` has room for all items. */
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

static int collect(const struct table *table, struct report *report)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr_entries; i++)
		nr += table->entries[i]->manifest.nr_documents;
	report->items = calloc(nr + 1, sizeof(*report->items));
	report->pods = calloc(nr + 1, sizeof(*report->pods));
	if (!report->items || !report->pods)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->nr_entries; i++) {
		const struct entry *entry = table->entries[i];

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
	struct report report cleanup_report = {0};
	struct item **sorted cleanup_free = NULL;
	int err = collect(manifests->table, &report);

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
			.namespace = item->document->namespace,
			.pod = item->document->pod,
		};
	}
	manifests->complete = complete;
	manifests->sink->scanned(manifests->sink->self, report.pods, report.nr_items, complete);
	return 0;
}

/* --- scanning --------------------------------------------------------------------------------- */

/* Log what keeps us from reading once, and that it is over once. */
static void tell_problem(struct manifests *manifests, const char *problem)
{
	if (strcmp(manifests->problem, problem) == 0)
		return;
	snprintf(manifests->problem, sizeof(manifests->problem), "%s", problem);
	if (*problem)
		log_warn(0, "manifests: %s: %s; keeping the pods known so far",
			 manifests->directory, problem);
	else
		log_info("manifests: %s can be read again", manifests->directory);
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

static int start_scan(struct manifests *manifests, bool always, bool wants_watch);
static void watch_directory(struct manifests *manifests, int fd);
static void take_marks(struct manifests *manifests);

static int tell_result(struct manifests *manifests, const struct manifest_scan *scan)
{
	if (scan->has_problem)
		tell_problem(manifests, scan->problem);
	for (uint32_t i = 0; i < manifests->table->nr_entries; i++) {
		struct entry *entry = manifests->table->entries[i];

		if (entry->changed)
			tell_notes(entry);
		entry->changed = false;
	}
	if (!scan->always && !scan->changed && scan->complete == manifests->complete)
		return 0;
	return send_report(manifests, scan->complete);
}

/* Watch first, then list: what comes in between would be seen by neither. */
static int watch_and_scan(struct manifests *manifests, const struct manifest_scan *scan)
{
	manifests->watched_device = scan->status.st_dev;
	manifests->watched_inode = scan->status.st_ino;
	watch_directory(manifests, scan->fd);
	return start_scan(manifests, scan->always, false);
}

/* Take the table back, and what came of the scan. */
static int end_scan(struct manifest_scan *scan, int result)
{
	struct manifests *manifests = scan->manifests;

	manifests->table = TAKE_PTR(scan->table);
	take_marks(manifests);
	if (result)
		return result;
	return scan->needs_watch ? watch_and_scan(manifests, scan) : tell_result(manifests, scan);
}

static void tell_late(struct manifests *manifests, bool is_late)
{
	const struct source_sink *sink = manifests->sink;

	if (manifests->is_late != is_late && sink->waiting)
		sink->waiting(sink->self, is_late);
	manifests->is_late = is_late;
}

static void scan_ended(struct worker_job *job, int result)
{
	struct manifest_scan *scan = (struct manifest_scan *)job;
	struct manifests *manifests = scan->manifests;
	bool always;
	int err = end_scan(scan, result);

	if (!err && manifests->table && manifests->again) {
		always = manifests->again_always;
		manifests->again = manifests->again_always = false;
		err = start_scan(manifests, always, true);
	}
	if (err)
		log_err(err, "manifests: %s, waiting for the next scan", manifests->directory);
	/* Unless the next one waits as well. */
	if (manifests->table)
		tell_late(manifests, false);
}

static int start_scan(struct manifests *manifests, bool always, bool wants_watch)
{
	struct manifest_scan *scan = calloc(1, sizeof(*scan));
	int err;

	if (!scan)
		return -ENOMEM;
	*scan = (struct manifest_scan){
		.job = {.run = scan_run, .completed = scan_ended, .release = scan_release},
		.manifests = manifests,
		.directory = manifests->directory,
		.table = TAKE_PTR(manifests->table),
		.always = always,
		.wants_watch = manifests->event && wants_watch,
		.fd = -1,
	};
	if (manifests->watch) {
		scan->watched_device = manifests->watched_device;
		scan->watched_inode = manifests->watched_inode;
	}
	err = worker_run(manifests->pool, SCAN_KEY, &scan->job);
	if (err == -EINPROGRESS) {
		tell_late(manifests, true);
		return 0;
	}
	err = end_scan(scan, err);
	scan_release(&scan->job);
	return err;
}

/* While one runs, it is repeated once after it: the one that runs may have missed a change. */
static int scan(struct manifests *manifests, bool always)
{
	if (manifests->table)
		return start_scan(manifests, always, true);
	manifests->again = true;
	manifests->again_always |= always;
	return 0;
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

/* Nobody is known to write any more. */
static void clear_writing(struct manifests *manifests)
{
	for (uint32_t i = 0; i < manifests->nr_marks; i++)
		manifests->marks[i].writing = false;
	if (!manifests->table) {
		manifests->lost_marks = true;
		return;
	}
	for (uint32_t i = 0; i < manifests->table->nr_entries; i++)
		manifests->table->entries[i]->writing = false;
}

static struct mark *want_mark(struct manifests *manifests, const char *name)
{
	struct mark *mark;

	for (uint32_t i = 0; i < manifests->nr_marks; i++)
		if (!strcmp(manifests->marks[i].name, name))
			return &manifests->marks[i];
	if (manifests->nr_marks == MANIFESTS_MAX_FILES)
		return NULL;
	mark = &manifests->marks[manifests->nr_marks];
	*mark = (struct mark){.name = strdup(name)};
	if (!mark->name)
		return NULL;
	manifests->nr_marks++;
	return mark;
}

/* The event in a mark, for when the table is back. */
static void note_mark(struct manifests *manifests, const struct inotify_event *change)
{
	struct mark *mark = want_mark(manifests, change->name);

	if (!mark) {
		manifests->lost_marks = true;
		return;
	}
	if (!(change->mask & IN_ATTRIB)) {
		mark->knows_writing = true;
		mark->writing = change->mask & IN_MODIFY;
	}
	mark->is_stale |= (change->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0;
}

static void take_marks(struct manifests *manifests)
{
	/* A closing may be among what was lost. */
	for (uint32_t i = 0; manifests->lost_marks && i < manifests->table->nr_entries; i++)
		manifests->table->entries[i]->writing = false;
	for (uint32_t i = 0; i < manifests->nr_marks; i++) {
		const struct mark *mark = &manifests->marks[i];
		struct entry *entry;

		if (table_want(manifests->table, mark->name, &entry))
			continue;
		if (mark->knows_writing)
			entry->writing = mark->writing;
		entry->stale |= mark->is_stale;
	}
	drop_marks(manifests);
}

/* An event about one file. True = it is being written, the time to look is its closing. */
static bool note_file(struct manifests *manifests, const struct inotify_event *change)
{
	struct entry *entry;

	if (scan_ignores(change->name) || (change->mask & IN_ISDIR))
		return false;
	if (!manifests->table) {
		note_mark(manifests, change);
		return change->mask & IN_MODIFY;
	}
	if (table_want(manifests->table, change->name, &entry) < 0)
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
		clear_writing(manifests);
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
		log_warn(err, "manifests: cannot watch %s; scanning it every 15 s instead",
			 manifests->directory);
	/* Whoever wrote while we were not watching is unknown, and so is when he ends. */
	clear_writing(manifests);
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

int manifests_new(sd_event *event, struct worker_pool *pool, const char *directory,
		  const struct source_sink *sink, struct manifests **ret_manifests)
{
	struct manifests *manifests cleanup_manifests = calloc(1, sizeof(*manifests));
	int err;

	if (!manifests)
		return -ENOMEM;
	manifests->event = event;
	manifests->pool = pool;
	manifests->sink = sink;
	manifests->directory = strdup(directory);
	manifests->table = calloc(1, sizeof(*manifests->table));
	if (!manifests->directory || !manifests->table)
		return -ENOMEM;
	err = event ? add_timers(manifests) : 0;
	if (err)
		return err;
	*ret_manifests = TAKE_PTR(manifests);
	return 0;
}
