// SPDX-License-Identifier: Apache-2.0
/*
 * One kind of job, with room for what any of them is given and finds. A job shares
 * with the loop's thread the descriptors of struct groups, which never change, and
 * the manager, which has a lock.
 */
#include "cgroup/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cgroup/apply.h"
#include "cgroup/observe.h"
#include "cgroup/tasks.h"
#include "lib/file.h"
#include "lib/worker.h"

#define MAX_AROUND 256
/* No group's path begins with a slash. */
#define LOOK_KEY      "/look"
#define OUTSIDERS_KEY "/outsiders"
#define TASKS_KEY     "/tasks"

struct look {
	struct group_tree tree;
	struct managed_group around[MAX_AROUND];
	uint32_t nr_around;
	int result; /* of observing the tree */
};

struct group_job {
	struct worker_job job; /* first */
	struct groups *groups;
	char path[GROUP_PATH_MAX];
	struct step step; /* apply: a copy that owns its value */
	pid_t pid;	  /* join */
	int pidfd;	  /* join; owned */
	char error[GROUP_ERROR_MAX];
	/* what it found; owned */
	pid_t *pids;
	uint32_t nr;
	char scope[GROUP_PATH_MAX];
	struct look *look;
};

static void look_free(struct look *look)
{
	group_tree_fini(&look->tree);
	free(look);
}

static void job_free(struct group_job *job)
{
	free(job->step.value);
	free(job->pids);
	if (job->pidfd >= 0)
		close(job->pidfd);
	if (job->look)
		look_free(job->look);
	free(job);
}
DEFINE_CLEANUP(struct group_job, job_freep, job_free);
#define cleanup_job cleanup(job_freep)

static void release(struct worker_job *job)
{
	job_free((struct group_job *)job);
}

/* A result that nobody waits for any more. */
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
	job->pidfd = -1;
	snprintf(job->path, sizeof(job->path), "%s", path);
	return job;
}

/* Runs it. What it found stays with *job, unless it goes on: then *job is NULL. */
static int run_job(const char *key, struct group_job **job)
{
	int err = worker_run((*job)->groups->pool, key, &(*job)->job);

	if (err == -EINPROGRESS)
		*job = NULL;
	return err;
}

/* "root/pod/container" -> "root/pod" */
static void chain_of(const char *path, char ret_key[GROUP_PATH_MAX])
{
	const char *slash = strchr(path, '/');
	size_t len = strlen(path);

	slash = slash ? strchr(slash + 1, '/') : NULL;
	if (slash)
		len = (size_t)(slash - path);
	snprintf(ret_key, GROUP_PATH_MAX, "%.*s", (int)len, path);
}

/* Runs it in its chain, with its sentence for a failure. */
static int run_in_chain(struct group_job **job, char *error)
{
	char key[GROUP_PATH_MAX];
	int err;

	chain_of((*job)->path, key);
	err = run_job(key, job);
	if (err && *job && error)
		memcpy(error, (*job)->error, GROUP_ERROR_MAX);
	return err;
}

/* --- what changes something ------------------------------------------------------------------- */

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
		return failure(error, -errno, "process %d: cannot keep hold of it: %s", (int)pid,
			       strerror(errno));
	return run_in_chain(&job, error);
}

static int run_kill(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;
	int err = tasks_kill(job->groups, job->path);

	return err ? failure(job->error, err, "%s: cannot end its processes: %s", job->path,
			     strerror(-err))
		   : 0;
}

int jobs_kill(struct groups *groups, const char *path)
{
	struct group_job *job cleanup_job = job_new(groups, path, run_kill, tell_sink);

	return job ? run_in_chain(&job, NULL) : -ENOMEM;
}

/* --- looking ---------------------------------------------------------------------------------- */

static bool chain_is_busy(struct groups *groups, const char *path)
{
	return worker_is_busy(groups->pool, path);
}

/*
 * Listing a directory takes its lock, which whoever makes or removes a cgroup in it
 * holds while waiting for cgroup_mutex: so the whole look is a job. Where we are that one
 * ourselves, the pod is left out, so that it does not keep the look from the others.
 */
static int run_look(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	job->look->result = observe_tree(job->groups, chain_is_busy, &job->look->tree);
	if (observe_surroundings(job->groups, job->look->around, MAX_AROUND, &job->look->nr_around))
		job->look->nr_around = 0;
	return 0;
}

static void keep_look(struct groups *groups, struct look *look)
{
	if (groups->look)
		look_free(groups->look);
	groups->look = look;
}

static void look_ended(struct worker_job *base, int result)
{
	struct group_job *job = (struct group_job *)base;
	struct groups *groups = job->groups;

	keep_look(groups, TAKE_PTR(job->look));
	groups->look_is_fresh = true;
	if (groups->sink)
		groups->sink->looked(groups->sink->self);
}

int jobs_observe(struct groups *groups, struct group_tree *ret_tree)
{
	struct group_job *job cleanup_job = NULL;
	struct look *look = groups->look;
	int err;

	if (!groups->look_is_fresh) {
		if (worker_is_busy(groups->pool, LOOK_KEY))
			return -EINPROGRESS;
		job = job_new(groups, "", run_look, look_ended);
		if (job)
			job->look = calloc(1, sizeof(*job->look));
		if (!job || !job->look)
			return -ENOMEM;
		err = run_job(LOOK_KEY, &job);
		if (err)
			return err;
		look = job->look;
		keep_look(groups, TAKE_PTR(job->look));
	}
	groups->look_is_fresh = false;
	if (look->result)
		return look->result;
	*ret_tree = look->tree;
	look->tree = (struct group_tree){0};
	return 0;
}

int jobs_surroundings(struct groups *groups, struct managed_group *ret_groups, uint32_t max,
		      uint32_t *ret_nr)
{
	const struct look *look = groups->look;

	if (!look)
		return observe_surroundings(groups, ret_groups, max, ret_nr);
	*ret_nr = look->nr_around < max ? look->nr_around : max;
	memcpy(ret_groups, look->around, *ret_nr * sizeof(*ret_groups));
	return 0;
}

int jobs_open(struct groups *groups, const char *path, int *ret_fd)
{
	char key[GROUP_PATH_MAX];

	chain_of(path, key);
	if (worker_is_busy(groups->pool, key)) {
		int err = dir_open_cached(&groups->dir, path, ret_fd);

		return err == -EAGAIN ? -EINPROGRESS : err;
	}
	return dir_open_group(&groups->dir, path, ret_fd);
}

void jobs_fini(struct groups *groups)
{
	keep_look(groups, NULL);
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

	/* One that waits is enough: a face that is asked again must not pile them up. */
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

static int run_outsiders(struct worker_job *base)
{
	struct group_job *job = (struct group_job *)base;

	return tasks_outsiders(job->groups, &job->nr, job->scope, sizeof(job->scope));
}

int jobs_outsiders(struct groups *groups, uint32_t *ret_nr_tasks, char *ret_populated_scope,
		   size_t size)
{
	struct group_job *job cleanup_job = NULL;
	int err;

	if (worker_is_busy(groups->pool, OUTSIDERS_KEY))
		return -EINPROGRESS;
	job = job_new(groups, "", run_outsiders, drop);
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

	chain_of(path, key);
	worker_where(groups->pool, *path ? key : LOOK_KEY, ret_text, size);
}
