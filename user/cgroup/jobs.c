// SPDX-License-Identifier: Apache-2.0
/*
 * All jobs use one struct, with fields for the input and output of every kind. A job
 * shares with the loop's thread only the descriptors of struct groups, which never
 * change, and the manager, which has a lock.
 */
#include "cgroup/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cgroup/affinity.h"
#include "cgroup/apply.h"
#include "cgroup/read_tree.h"
#include "cgroup/tasks.h"
#include "lib/file.h"
#include "lib/worker.h"

#define MAX_AROUND 256
/* Keys of jobs without a group. No group's path begins with a slash. */
#define SCAN_KEY      "/scan"
#define OUTSIDERS_KEY "/outsiders"
#define TASKS_KEY     "/tasks"
#define NAME_KEY      "/name"
#define OPEN_KEY      "/open"
/* Descriptors of groups that are kept for who asks next. */
#define OPENED_MAX 64

struct tree_scan {
	struct group_tree tree;
	struct managed_group around[MAX_AROUND];
	uint32_t nr_around;
	int result; /* of reading the tree */
};

struct name {
	uint64_t id;
	int result;
	char path[GROUP_PATH_MAX];
};

struct outsiders {
	uint32_t nr;
	char scope[GROUP_PATH_MAX];
	int result;
};

struct group_job {
	struct worker_job job; /* first */
	struct groups *groups;
	char path[GROUP_PATH_MAX];
	struct step step; /* apply; a copy that owns its value */
	pid_t pid;	  /* join */
	int pidfd;	  /* join; owned */
	int fd;		  /* open; owned */
	char error[GROUP_ERROR_MAX];
	/* Its output; owned. */
	pid_t *pids;
	uint32_t nr;
	char scope[GROUP_PATH_MAX];
	struct affinities *affinities;
	struct tree_scan *scan;
	struct name *name;
};

static void scan_free(struct tree_scan *scan)
{
	group_tree_fini(&scan->tree);
	free(scan);
}

static void job_free(struct group_job *job)
{
	free(job->step.value);
	free(job->pids);
	free(job->affinities);
	cleanup_close_fd(&job->pidfd);
	cleanup_close_fd(&job->fd);
	if (job->scan)
		scan_free(job->scan);
	free(job->name);
	free(job);
}
DEFINE_CLEANUP(struct group_job, job_freep, job_free);
#define cleanup_job cleanup(job_freep)

static void release(struct worker_job *job)
{
	job_free((struct group_job *)job);
}

/* Discard a result that nobody waits for any more. */
static void drop(struct worker_job *job, int result)
{
}

static void tell_sink(struct worker_job *base, int result)
{
	struct group_job *job = (struct group_job *)base;
	const struct groups_sink *sink = job->groups->sink;

	if (sink)
		sink->completed(sink->self, job->path, result, job->error);
}

static struct group_job *job_new(struct groups *groups, const char *path,
				 int (*run)(struct worker_job *job),
				 void (*completed)(struct worker_job *job, int result))
{
	struct group_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct worker_job){.run = run, .completed = completed, .release = release};
	job->groups = groups;
	job->pidfd = job->fd = -1;
	snprintf(job->path, sizeof(job->path), "%s", path);
	return job;
}

/* Run the job. Its output stays in *job, unless the job continues; then *job becomes NULL. */
static int run_job(const char *key, struct group_job **job)
{
	int err = worker_run((*job)->groups->pool, key, &(*job)->job);

	if (err == -EINPROGRESS)
		*job = NULL;
	return err;
}

void jobs_chain_of(const char *path, char ret_key[GROUP_PATH_MAX])
{
	const char *slash = strchr(path, '/');
	size_t len = strlen(path);

	slash = slash ? strchr(slash + 1, '/') : NULL;
	if (slash)
		len = (size_t)(slash - path);
	snprintf(ret_key, GROUP_PATH_MAX, "%.*s", (int)len, path);
}

/* Run the job in its chain and copy its error message. */
static int run_in_chain(struct group_job **job, char *error)
{
	char key[GROUP_PATH_MAX];
	int err;

	jobs_chain_of((*job)->path, key);
	err = run_job(key, job);
	if (err && *job && error)
		memcpy(error, (*job)->error, GROUP_ERROR_MAX);
	return err;
}

/* --- groups that were opened late --------------------------------------------------------------- */

/* What an open that ended late has found. */
struct opened {
	struct opened *next; /* an older one; owned */
	int fd;		     /* owned; -1 = there is no such group */
	char path[GROUP_PATH_MAX];
};

static void opened_free(struct opened *opened)
{
	if (!opened)
		return;
	cleanup_close_fd(&opened->fd);
	free(opened);
}

/* Take what was found for this path out of the list; NULL = nothing. */
static struct opened *take_opened(struct groups *groups, const char *path)
{
	struct opened **at = &groups->opened, *found;

	while (*at && strcmp((*at)->path, path))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = TAKE_PTR(found->next);
	return found;
}

static void forget_opened(struct groups *groups, const char *path)
{
	opened_free(take_opened(groups, path));
}

static void drop_oldest(struct groups *groups)
{
	struct opened **at = &groups->opened;
	uint32_t nr = 0;

	for (; *at; at = &(*at)->next)
		if (++nr == OPENED_MAX)
			break;
	while (*at) {
		struct opened *opened = *at;

		*at = TAKE_PTR(opened->next);
		opened_free(opened);
	}
}

/* --- changes ---------------------------------------------------------------------------------- */

static int run_apply(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return apply_step(job->groups, &job->step, job->error);
}

int jobs_apply(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX])
{
	struct group_job *job cleanup_job = job_new(groups, step->path, run_apply, tell_sink);

	if (job) {
		job->step = *step;
		job->step.old = NULL;
		job->step.value = step->value ? strdup(step->value) : NULL;
	}
	if (!job || (step->value && !job->step.value))
		return failure(error, -ENOMEM, "%s: no memory", step->path);
	/* The group may be there from now on, or gone. */
	forget_opened(groups, step->path);
	return run_in_chain(&job, error);
}

static int run_join(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return tasks_join(job->groups, job->path, job->pid, job->pidfd, job->error);
}

int jobs_join(struct groups *groups, const char *path, pid_t pid, int pidfd,
	      char error[GROUP_ERROR_MAX])
{
	struct group_job *job cleanup_job = job_new(groups, path, run_join, tell_sink);

	if (!job)
		return failure(error, -ENOMEM, "%s: no memory", path);
	job->pid = pid;
	job->pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	if (job->pidfd < 0)
		return failure(error, -errno, "process %d: cannot duplicate its pidfd: %s",
			       (int)pid, strerror(errno));
	return run_in_chain(&job, error);
}

static int run_kill(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;
	int err = tasks_kill(job->groups, job->path);

	return err ? failure(job->error, err, "%s: cannot kill its processes: %s", job->path,
			     strerror(-err))
		   : 0;
}

int jobs_kill(struct groups *groups, const char *path)
{
	struct group_job *job cleanup_job = job_new(groups, path, run_kill, tell_sink);

	return job ? run_in_chain(&job, NULL) : -ENOMEM;
}

/* --- scans ------------------------------------------------------------------------------------ */

static bool chain_is_busy(struct groups *groups, const char *path)
{
	return worker_is_busy(groups->pool, path);
}

/*
 * Listing a directory takes its lock. A thread that creates or removes a cgroup in the
 * directory holds this lock while it waits for cgroup_mutex, so the whole scan runs as a
 * job. Pods with an operation of our own in progress are skipped, so they do not delay
 * the scan of the others.
 */
static int run_scan(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	job->scan->result = read_tree(job->groups, chain_is_busy, &job->scan->tree);
	/* Where that cannot be told, nobody is known to be around. */
	(void)read_surroundings(job->groups, job->scan->around, MAX_AROUND, &job->scan->nr_around);
	return 0;
}

static void keep_name(struct groups *groups, struct name *name)
{
	free(groups->name);
	groups->name = name;
}

static void keep_scan(struct groups *groups, struct tree_scan *scan)
{
	if (groups->scan)
		scan_free(groups->scan);
	groups->scan = scan;
}

static void scan_ended(struct worker_job *base, int result)
{
	struct group_job *job = (struct group_job *)base;
	struct groups *groups = job->groups;

	keep_scan(groups, TAKE_PTR(job->scan));
	groups->scan_is_fresh = true;
	if (groups->sink)
		groups->sink->looked(groups->sink->self);
}

int jobs_read_tree(struct groups *groups, struct group_tree *ret_tree)
{
	struct group_job *job cleanup_job = NULL;
	struct tree_scan *scan = groups->scan;
	int err;

	if (!groups->scan_is_fresh) {
		if (worker_is_busy(groups->pool, SCAN_KEY))
			return -EINPROGRESS;
		job = job_new(groups, "", run_scan, scan_ended);
		if (job)
			job->scan = calloc(1, sizeof(*job->scan));
		if (!job || !job->scan)
			return -ENOMEM;
		err = run_job(SCAN_KEY, &job);
		if (err)
			return err;
		scan = job->scan;
		keep_scan(groups, TAKE_PTR(job->scan));
	}
	groups->scan_is_fresh = false;
	if (scan->result)
		return scan->result;
	*ret_tree = scan->tree;
	scan->tree = (struct group_tree){0};
	return 0;
}

int jobs_await_tree(struct groups *groups, uint64_t limit_ns)
{
	return worker_await(groups->pool, SCAN_KEY, limit_ns);
}

int jobs_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
		      uint32_t *ret_nr)
{
	const struct tree_scan *scan = groups->scan;

	if (!scan)
		return read_surroundings(groups, ret_groups, max, ret_nr);
	*ret_nr = scan->nr_around < max ? scan->nr_around : max;
	memcpy(ret_groups, scan->around, *ret_nr * sizeof(*ret_groups));
	return 0;
}

static int run_open(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return dir_open_group(&job->groups->dir, job->path, &job->fd);
}

/*
 * On a machine where every open is late nobody would ever learn anything of a group, and a pod that
 * has ended would keep its CPUs. So the next who asks for this one gets it.
 */
static void open_ended(struct worker_job *base, int result)
{
	struct group_job *job = (struct group_job *)base;
	struct opened *opened;

	forget_opened(job->groups, job->path);
	if (result && result != -ENOENT)
		return;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return;
	drop_oldest(job->groups);
	opened->fd = TAKE_FD(job->fd);
	memcpy(opened->path, job->path, sizeof(opened->path));
	opened->next = job->groups->opened;
	job->groups->opened = opened;
}

/* false = nothing was found late, or a group that has been removed since. */
static bool use_opened(struct groups *groups, const char *path, int *ret_result, int *ret_fd)
{
	struct opened *opened = take_opened(groups, path);
	const bool is_absent = opened && opened->fd < 0;
	const bool is_usable = opened && (is_absent || dir_populated(opened->fd) >= 0);

	if (is_usable) {
		*ret_result = is_absent ? -ENOENT : 0;
		if (!is_absent)
			*ret_fd = TAKE_FD(opened->fd);
	}
	opened_free(opened);
	return is_usable;
}

/*
 * Looking up a name that is not in the dentry cache takes the lock of its directory, which may be
 * held, so a job does that. For cgroups that is each time: kernfs does not let names be looked up in
 * the cache alone (seen on Linux 6.18).
 */
int jobs_open(struct groups *groups, const char *path, int *ret_fd)
{
	struct group_job *job cleanup_job = NULL;
	char key[GROUP_PATH_MAX];
	int err = dir_open_cached(&groups->dir, path, ret_fd);

	if (err != -EAGAIN)
		return err;
	jobs_chain_of(path, key);
	if (worker_is_busy(groups->pool, key))
		return -EINPROGRESS;
	if (use_opened(groups, path, &err, ret_fd))
		return err;
	if (worker_is_busy(groups->pool, OPEN_KEY))
		return -EINPROGRESS;
	job = job_new(groups, path, run_open, open_ended);
	err = job ? run_job(OPEN_KEY, &job) : -ENOMEM;
	if (!err)
		*ret_fd = TAKE_FD(job->fd);
	return err;
}

void jobs_fini(struct groups *groups)
{
	keep_scan(groups, NULL);
	keep_name(groups, NULL);
	free(groups->outsiders);
	groups->outsiders = NULL;
	while (groups->opened)
		forget_opened(groups, groups->opened->path);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Looking up a directory that is not cached takes its parent's lock, which may be held. */
static int run_name(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;
	struct name *name = job->name;

	name->result = dir_path_of(&job->groups->dir, name->id, name->path, sizeof(name->path));
	return 0;
}

static void name_ended(struct worker_job *base, int result)
{
	struct group_job *job = (struct group_job *)base;
	struct groups *groups = job->groups;

	keep_name(groups, TAKE_PTR(job->name));
	if (groups->sink && groups->sink->named)
		groups->sink->named(groups->sink->self);
}

static int give_name(const struct name *name, char *ret_path, size_t size)
{
	if (name->result)
		return name->result;
	if (strlen(name->path) >= size)
		return -ENAMETOOLONG;
	memcpy(ret_path, name->path, strlen(name->path) + 1);
	return 0;
}

int jobs_path_of(struct groups *groups, uint64_t cgroup_id, char *ret_path, size_t size)
{
	struct group_job *job cleanup_job = NULL;
	int err;

	if (worker_is_busy(groups->pool, NAME_KEY))
		return -EINPROGRESS;
	if (groups->name && groups->name->id == cgroup_id) {
		err = give_name(groups->name, ret_path, size);
		keep_name(groups, NULL);
		return err;
	}
	job = job_new(groups, "", run_name, name_ended);
	if (job)
		job->name = calloc(1, sizeof(*job->name));
	if (!job || !job->name)
		return -ENOMEM;
	job->name->id = cgroup_id;
	err = run_job(NAME_KEY, &job);
	return err ? err : give_name(job->name, ret_path, size);
}

static int run_tasks(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return tasks_list(job->groups, job->path, &job->pids, &job->nr);
}

int jobs_tasks(struct groups *groups, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	struct group_job *job cleanup_job = NULL;
	int err;

	/* One waiting job is enough; repeated requests must not queue up. */
	if (worker_is_busy(groups->pool, TASKS_KEY))
		return -EINPROGRESS;
	job = job_new(groups, path, run_tasks, drop);
	err = job ? run_job(TASKS_KEY, &job) : -ENOMEM;
	if (err)
		return err;
	*ret_pids = TAKE_PTR(job->pids);
	*ret_nr = job->nr;
	return 0;
}

static int run_affinities(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return affinity_read(job->groups, job->path, job->affinities);
}

int jobs_affinities(struct groups *groups, const char *path, struct affinities *ret_affinities)
{
	struct group_job *job cleanup_job = NULL;
	int err = -ENOMEM;

	if (worker_is_busy(groups->pool, TASKS_KEY))
		return -EINPROGRESS;
	job = job_new(groups, path, run_affinities, drop);
	if (job)
		job->affinities = calloc(1, sizeof(*job->affinities));
	if (job && job->affinities)
		err = run_job(TASKS_KEY, &job);
	if (!err)
		*ret_affinities = *job->affinities;
	return err;
}

static int run_outsiders(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return tasks_outsiders(job->groups, &job->nr, job->scope, sizeof(job->scope));
}

/* On a loaded machine each count would be late, so the result of one that was is used. */
static void outsiders_ended(struct worker_job *base, int result)
{
	struct group_job *job = (struct group_job *)base;
	struct outsiders *outsiders = calloc(1, sizeof(*outsiders));

	free(job->groups->outsiders);
	job->groups->outsiders = outsiders;
	if (!outsiders)
		return;
	outsiders->nr = job->nr;
	outsiders->result = result;
	memcpy(outsiders->scope, job->scope, sizeof(outsiders->scope));
}

int jobs_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		   size_t size)
{
	struct outsiders *late cleanup_free = TAKE_PTR(groups->outsiders);
	struct group_job *job cleanup_job = NULL;
	int err;

	if (late) {
		if (late->result)
			return late->result;
		*ret_nr_tasks = late->nr;
		snprintf(ret_populated_scope, size, "%s", late->scope);
		return 0;
	}
	if (worker_is_busy(groups->pool, OUTSIDERS_KEY))
		return -EINPROGRESS;
	job = job_new(groups, "", run_outsiders, outsiders_ended);
	err = job ? run_job(OUTSIDERS_KEY, &job) : -ENOMEM;
	if (err)
		return err;
	*ret_nr_tasks = job->nr;
	snprintf(ret_populated_scope, size, "%s", job->scope);
	return 0;
}

void jobs_waits_in(struct groups *groups, const char *path, char *ret_text, size_t size)
{
	char key[GROUP_PATH_MAX];

	jobs_chain_of(path, key);
	worker_where(groups->pool, *path ? key : SCAN_KEY, ret_text, size);
}
