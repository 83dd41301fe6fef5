// SPDX-License-Identifier: Apache-2.0
/*
 * One state file, always replaced as a whole. An unusable file is set aside under a name that
 * contains the time; at most five of them are kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include <pinfold/names.h>

#include "ctl/store.h"
#include "lib/crash.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

#define ASIDE_PREFIX PINFOLD_STATE_FILE ".bad-"
/* No cgroup's path begins with a slash. */
#define STATE_KEY "/state"

/* A save is useless if the directory's path no longer leads to it. */
static const char *problem(void *self)
{
	struct store *store = self;
	struct stat held, seen;
	struct statvfs about;

	if (store->dir_fd < 0)
		return store->problem;
	*store->problem = '\0';
	if (stat(store->path, &seen) || fstat(store->dir_fd, &held) ||
	    fstatvfs(store->dir_fd, &about))
		snprintf(store->problem, sizeof(store->problem), "stateDirectory %.120s: %s",
			 store->path, strerror(errno));
	else if (seen.st_dev != held.st_dev || seen.st_ino != held.st_ino)
		snprintf(store->problem, sizeof(store->problem),
			 "stateDirectory %.120s: the path now names another directory; restart "
			 "pinfoldd, or unmount what covers it",
			 store->path);
	else if (about.f_flag & ST_RDONLY)
		snprintf(store->problem, sizeof(store->problem), "stateDirectory %.120s: %s",
			 store->path, strerror(EROFS));
	return *store->problem ? store->problem : NULL;
}

static int load(void *self, char **ret_data, size_t *ret_len)
{
	struct store *store = self;

	if (store->dir_fd < 0)
		return -ENOENT;
	return file_read_all(store->dir_fd, PINFOLD_STATE_FILE, STORE_MAX_BYTES, ret_data, ret_len);
}

/* An fsync may take long, and forever on a frozen file system. */
struct save_job {
	struct worker_job job; /* first */
	const struct store *store;
	int dir_fd; /* owned by the store, which remains open while a save runs */
	size_t len;
	char data[];
};

static int run_save(struct worker_job *job)
{
	const struct save_job *save = (const struct save_job *)job;
	int r;

	crash_point("state_before_write");
	r = file_replace(save->dir_fd, PINFOLD_STATE_FILE, save->data, save->len);
	crash_point("state_after_rename");
	return r;
}

static void save_ended(struct worker_job *job, int result)
{
	const struct store_sink *sink = ((const struct save_job *)job)->store->sink;

	if (sink)
		sink->saved(sink->self, result);
}

static int save(void *self, const char *data, size_t len)
{
	struct save_job *job cleanup_free = NULL;
	struct store *store = self;
	int r;

	if (problem(store))
		return -EROFS;
	job = malloc(sizeof(*job) + len);
	if (!job)
		return -ENOMEM;
	*job = (struct save_job){
		.job = {.run = run_save, .completed = save_ended},
		.store = store,
		.dir_fd = store->dir_fd,
		.len = len,
	};
	memcpy(job->data, data, len);
	r = worker_run(store->pool, STATE_KEY, &job->job);
	if (r == -EINPROGRESS)
		(void)TAKE_PTR(job);
	return r;
}

static void waits_in(void *self, char *ret_text, size_t size)
{
	struct store *store = self;

	worker_where(store->pool, STATE_KEY, ret_text, size);
}

/*
 * If not all names are known, nothing is removed. The oldest file sorts first, because the names
 * contain the time with a fixed number of digits.
 */
static void drop_oldest(int dir_fd)
{
	DIR *dir cleanup_dir = NULL;
	char oldest_file[256] = "";
	const struct dirent *entry;
	unsigned int nr = 0;
	int r;

	if (file_open_dir(dir_fd, ".", &dir))
		return;
	while ((r = file_next_entry(dir, &entry)) > 0) {
		if (strncmp(entry->d_name, ASIDE_PREFIX, strlen(ASIDE_PREFIX)))
			continue;
		nr++;
		if (!*oldest_file || strcmp(entry->d_name, oldest_file) < 0)
			snprintf(oldest_file, sizeof(oldest_file), "%s", entry->d_name);
	}
	if (!r && nr > STORE_SET_ASIDE)
		unlinkat(dir_fd, oldest_file, 0);
}

static int set_aside(void *self, char *ret_name, size_t size)
{
	struct store *store = self;
	struct timespec now;
	struct tm utc;
	char name[64];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	snprintf(name, sizeof(name), "%s%04d%02d%02dT%02d%02d%02d.%09ld", ASIDE_PREFIX,
		 utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
		 utc.tm_sec, now.tv_nsec);
	if (renameat(store->dir_fd, PINFOLD_STATE_FILE, store->dir_fd, name))
		return -errno;
	drop_oldest(store->dir_fd);
	snprintf(ret_name, size, "%s", name);
	return 0;
}

/* Create the missing parent directories of `path`, with the usual mode. */
static int make_parents(const char *path)
{
	char parent[PATH_MAX];

	if (strlen(path) >= sizeof(parent))
		return -ENAMETOOLONG;
	strcpy(parent, path);
	/* text: it is a path, which is made part by part */
	for (char *slash = parent; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(parent, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Keeps the sentence for later callers, and logs it. */
static int refuse(struct store *store, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(struct store *store, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(store->problem, sizeof(store->problem), format, args);
	va_end(args);
	return log_err(0, "state: %s", store->problem), error;
}

int store_open(struct store *store, const char *path)
{
	char problem[FILE_PROBLEM_MAX];
	int r;

	store->dir_fd = -1;
	snprintf(store->path, sizeof(store->path), "%s", path);
	r = make_parents(path);
	if (r)
		return refuse(store, r,
			      "cannot create the parent directories of stateDirectory %.90s: %s",
			      path, strerror(-r));
	r = file_open_private_dir(path, &store->dir_fd, problem);
	if (r)
		return refuse(store, r, "stateDirectory %.90s %s", path, problem);
	return 0;
}

void store_close(struct store *store)
{
	if (store->dir_fd >= 0)
		close(store->dir_fd);
	store->dir_fd = -1;
}

static bool is_state(const char *name)
{
	static const char *const files[] = {
		PINFOLD_STATE_FILE,
		/* left by a replacement that a crash interrupted */
		"." PINFOLD_STATE_FILE ".tmp",
		"." PINFOLD_ORIGINALS_FILE ".tmp",
		"." PINFOLD_IRQS_FILE ".tmp",
		"." PINFOLD_HOST_FILE ".tmp",
		/* left by earlier versions, which had it here */
		PINFOLD_STRANGERS_FILE,
		"." PINFOLD_STRANGERS_FILE ".tmp",
		PINFOLD_IRQBALANCE_FILE,
		"." PINFOLD_IRQBALANCE_FILE ".tmp",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(name, files[i]))
			return true;
	return !strncmp(name, ASIDE_PREFIX, strlen(ASIDE_PREFIX));
}

/* What keeps a directory that this file is left in. */
static void say_kept(const char *path, const char *file)
{
	if (!strcmp(file, PINFOLD_ORIGINALS_FILE))
		log_warn(0,
			 "state: %s remains with the original values; run the uninstall again when "
			 "the remaining processes have ended",
			 path);
	else if (!strcmp(file, PINFOLD_IRQS_FILE))
		log_warn(0,
			 "state: %s remains with the original masks of interrupts; run the "
			 "uninstall again",
			 path);
	else if (!strcmp(file, PINFOLD_HOST_FILE))
		log_warn(0,
			 "state: %s remains with the names of the host's groups that have a CPU "
			 "list; run the uninstall again",
			 path);
	else
		log_warn(0, "state: %s remains: it contains '%s', which is not pinfold's", path,
			 file);
}

void store_remove(struct store *store, const char *path, unsigned int kept)
{
	char other_file[256];
	int r;

	if (store->dir_fd < 0)
		return;
	if (!(kept & STORE_KEEP_ORIGINALS))
		unlinkat(store->dir_fd, PINFOLD_ORIGINALS_FILE, 0);
	if (!(kept & STORE_KEEP_IRQS))
		unlinkat(store->dir_fd, PINFOLD_IRQS_FILE, 0);
	if (!(kept & STORE_KEEP_HOST))
		unlinkat(store->dir_fd, PINFOLD_HOST_FILE, 0);
	r = file_remove_directory(store->dir_fd, path, is_state, other_file, sizeof(other_file));
	if (r == -ENOTEMPTY)
		say_kept(path, other_file);
	else if (r)
		log_warn(r, "state: %s remains, but contains no pinfold files", path);
	store_close(store);
}

struct store_port store_port(struct store *store)
{
	return (struct store_port){
		.self = store,
		.load = load,
		.save = save,
		.set_aside = set_aside,
		.problem = problem,
		.waits_in = waits_in,
	};
}
