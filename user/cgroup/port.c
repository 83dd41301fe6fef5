// SPDX-License-Identifier: Apache-2.0
/* Creates the room's object and fills the controller's port with its functions. */
#include "cgroup/port.h"

#include <errno.h>
#include <string.h>

#include "cgroup/jobs.h"
#include "cgroup/read_tree.h"
#include "cgroup/status.h"
#include "cgroup/systemd.h"
#include "cgroup/value.h"
#include "cgroup/watch.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/worker.h"

/* --- open ------------------------------------------------------------------------------------- */

static const struct manager *choose_manager(const struct groups *groups, enum groups_layout layout)
{
	if (layout == GROUPS_LAYOUT_SYSTEMD)
		return &manager_systemd;
	if (layout == GROUPS_LAYOUT_CGROUPFS)
		return &manager_cgroupfs;
	return groups->dir.systemd ? &manager_systemd : &manager_cgroupfs;
}

/*
 * systemd enables controllers for the units that need them and disables all others, so
 * with systemd the root's subtree_control is left to it.
 */
static enum dir_problem prepare(struct groups *groups, char *error)
{
	int err;

	if (groups->manager == &manager_systemd)
		return DIR_FINE;
	if (geteuid() != 0) {
		failure(error, 0, "changing cgroups requires root, but the user id is %u",
			geteuid());
		return DIR_NOT_PERMITTED;
	}
	err = dir_enable_controllers(groups->dir.mount_fd, "", error);
	return err ? DIR_CPUSET_NOT_ENABLED : DIR_FINE;
}

#define CAPTURE_KEY "/originals"

/*
 * Whoever makes a cgroup in the workload root holds the lock of its directory, perhaps for long,
 * and a file that nobody has opened yet is looked up there. The job owns all that it uses,
 * because it may go on after a start that has given up.
 */
struct capture_job {
	struct worker_job job; /* first */
	struct dir dir;
	bool owns_dir; /* otherwise that of the groups, which wait for the job */
	char workload_root[128];
	struct originals originals;
	struct capture *capture; /* NULL = nobody waits for it any more */
};

/* What a start waits for. */
struct capture {
	struct originals originals;
	int error;
	bool has_ended;
};

static int run_capture(struct worker_job *base)
{
	struct capture_job *job = (struct capture_job *)base;

	return originals_capture(&job->dir, job->workload_root, &job->originals);
}

static void capture_ended(struct worker_job *base, int result)
{
	struct capture_job *job = (struct capture_job *)base;

	if (!job->capture)
		return;
	*job->capture =
		(struct capture){.originals = job->originals, .error = result, .has_ended = true};
	job->originals = (struct originals){0};
}

static void release_capture(struct worker_job *base)
{
	struct capture_job *job = (struct capture_job *)base;

	originals_fini(&job->originals);
	if (job->owns_dir)
		dir_close(&job->dir);
	free(job);
}

static int capture_originals(struct groups *groups, uint64_t wait_ns, char *error)
{
	struct capture_job *job = calloc(1, sizeof(*job));
	struct capture capture = {0};
	int err;

	if (!job)
		return failure(error, -ENOMEM, "no memory");
	job->job = (struct worker_job){
		.run = run_capture, .completed = capture_ended, .release = release_capture};
	job->dir = groups->dir;
	memcpy(job->workload_root, groups->workload_root, sizeof(job->workload_root));
	job->capture = &capture;
	err = worker_begin(groups->pool, CAPTURE_KEY, &job->job);
	if (err)
		return failure(error, err, "the original cgroup values are being read already");
	if (!capture.has_ended)
		err = worker_await(groups->pool, CAPTURE_KEY, wait_ns);
	if (!capture.has_ended) {
		job->capture = NULL;
		/* The thread reads on below it, however soon the groups are closed. */
		job->owns_dir = true;
		groups->dir = DIR_CLOSED;
		return failure(error, err == -EINTR ? -EINTR : -EBUSY,
			       "cannot read the original values of %s: another process holds the "
			       "lock of its directory; end that process and start pinfoldd again",
			       groups->workload_root);
	}
	groups->originals = capture.originals;
	return capture.error
		       ? failure(error, capture.error, "cannot read the original cgroup values: %s",
				 strerror(-capture.error))
		       : 0;
}

int groups_open(const struct groups_options *options, struct groups **ret_groups,
		enum dir_problem *ret_problem, char error[GROUP_ERROR_MAX])
{
	struct groups *groups cleanup_groups = calloc(1, sizeof(*groups));
	int err;

	*ret_problem = DIR_UNREADABLE;
	if (!groups)
		return failure(error, -ENOMEM, "no memory");
	groups->dir = DIR_CLOSED;
	groups->pool = options->pool;
	if ((size_t)snprintf(groups->workload_root, sizeof(groups->workload_root), "%s",
			     options->workload_root) >= sizeof(groups->workload_root) ||
	    strchr(options->workload_root, '/') || !*options->workload_root)
		return failure(error, -EINVAL,
			       "invalid workload root '%s': expected the name of a top-level group",
			       options->workload_root);
	groups->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	err = dir_open(options->root, options->purpose, &groups->dir, ret_problem, error);
	if (err)
		return err;
	groups->manager = choose_manager(groups, options->layout);
	/* This must precede the first write, which prepare() may perform. */
	err = options->without_originals ? 0 : capture_originals(groups, options->wait_ns, error);
	if (err)
		return err;
	groups->may_write = options->may_write;
	if (options->may_write) {
		*ret_problem = prepare(groups, error);
		if (*ret_problem)
			return *ret_problem == DIR_NOT_PERMITTED ? -EPERM : -EOPNOTSUPP;
		err = groups->manager->open(groups, error);
		if (err)
			return err;
	}
	*ret_groups = TAKE_PTR(groups);
	return 0;
}

void groups_close(struct groups *groups)
{
	if (!groups)
		return;
	watch_close(groups->watch);
	jobs_fini(groups);
	if (groups->manager)
		groups->manager->close(groups);
	originals_fini(&groups->originals);
	dir_close(&groups->dir);
	free(groups);
}

const struct originals *groups_originals(const struct groups *groups)
{
	return &groups->originals;
}

void groups_set_lease(struct groups *groups, const struct lease_port *port)
{
	if (groups->systemd)
		systemd_set_lease(groups->systemd, port);
}

int groups_watch(struct groups *groups, sd_event *event, const struct groups_sink *sink)
{
	int r;

	groups->sink = sink;
	r = watch_open(&groups->dir, event, sink, &groups->watch);
	if (!r)
		watch_tell_online(groups->watch);
	return r;
}

/* --- port ------------------------------------------------------------------------------------- */

static void port_layout(void *self, struct plan_layout *ret_layout)
{
	struct groups *groups = self;

	*ret_layout = (struct plan_layout){.systemd = groups->manager == &manager_systemd};
	memcpy(ret_layout->root, groups->workload_root, sizeof(ret_layout->root));
}

static int port_check(void *self, struct group_obstacle *ret_obstacle)
{
	struct groups *groups = self;

	return dir_check(&groups->dir, groups->workload_root, ret_obstacle);
}

static int port_read_tree(void *self, struct group_tree *ret_tree)
{
	return jobs_read_tree(self, ret_tree);
}

static int port_await_tree(void *self, uint64_t limit_ns)
{
	return jobs_await_tree(self, limit_ns);
}

static void port_limits(void *self, const struct group *group, struct group_limits *ret_limits)
{
	value_limits(group, ret_limits);
}

static int port_read_group(void *self, struct group *group)
{
	return read_group(self, group);
}

static int port_apply(void *self, const struct step *step, char error[GROUP_ERROR_MAX])
{
	return jobs_apply(self, step, error);
}

static int port_status(void *self, const char *path, struct group_status *ret_status)
{
	return groups_status(self, path, ret_status);
}

static int port_id_of(void *self, const char *path, uint64_t *ret_cgroup_id)
{
	return groups_id_of(self, path, ret_cgroup_id);
}

static int port_tasks(void *self, const char *path, pid_t **ret_pids, uint32_t *ret_nr)
{
	return jobs_tasks(self, path, ret_pids, ret_nr);
}

static int port_affinities(void *self, const char *path, struct affinities *ret_affinities)
{
	return jobs_affinities(self, path, ret_affinities);
}

static int port_join(void *self, const char *path, pid_t pid, int pidfd,
		     char error[GROUP_ERROR_MAX])
{
	return jobs_join(self, path, pid, pidfd, error);
}

static int port_kill(void *self, const char *path)
{
	return jobs_kill(self, path);
}

static int port_outsiders(void *self, uint32_t *ret_nr_tasks, char *ret_populated_scope,
			  size_t size)
{
	return jobs_outsiders(self, ret_nr_tasks, ret_populated_scope, size);
}

static int port_surroundings(void *self, struct managed_group *ret_groups, uint32_t max,
			     uint32_t *ret_nr)
{
	return jobs_surroundings(self, ret_groups, max, ret_nr);
}

static int port_path_of(void *self, uint64_t cgroup_id, char *ret_path, size_t size)
{
	return jobs_path_of(self, cgroup_id, ret_path, size);
}

static int port_rewatch(void *self, const struct group_tree *tree)
{
	struct groups *groups = self;

	return groups->watch ? watch_tree(groups->watch, groups, tree) : -ENOTCONN;
}

static void port_waits_in(void *self, const char *path, char *ret_text, size_t size)
{
	jobs_waits_in(self, path, ret_text, size);
}

struct groups_port groups_port(struct groups *groups)
{
	return (struct groups_port){
		.self = groups,
		.layout = port_layout,
		.check = port_check,
		.read_tree = port_read_tree,
		.await_tree = port_await_tree,
		.read_group = port_read_group,
		.limits = port_limits,
		.apply = port_apply,
		.status = port_status,
		.id_of = port_id_of,
		.tasks = port_tasks,
		.affinities = port_affinities,
		.join = port_join,
		.kill = port_kill,
		.outsiders = port_outsiders,
		.surroundings = port_surroundings,
		.path_of = port_path_of,
		.rewatch = port_rewatch,
		.waits_in = port_waits_in,
	};
}

/* --- uninstall -------------------------------------------------------------------------------- */

/* Keep the first failure and its message; the caller continues with the rest. */
static void keep_first(int *result, int err, char *error, const char *sentence)
{
	if (!err || *result)
		return;
	*result = err;
	memcpy(error, sentence, GROUP_ERROR_MAX);
}

/*
 * Remove all our limits. The lists contain all possible CPUs and nodes, because a CPU
 * that is offline now must not be missing when it comes back. An empty list would be
 * sufficient, but up to 6.12 the kernel rejects it for groups with processes (ENOSPC).
 */
static int widen(struct groups *groups, const struct group *group, char *error)
{
	static const struct {
		enum group_file file;
		const char *source; /* file below the configured root; NULL: use `value` */
		const char *value;
	} limits[] = {
		{GROUP_CPUSET_CPUS, "sys/devices/system/cpu/possible", NULL},
		{GROUP_CPUSET_MEMS, "sys/devices/system/node/has_memory", NULL},
		{GROUP_CPU_MAX, NULL, "max 100000"},
		{GROUP_CPU_WEIGHT, NULL, "100"},
		{GROUP_MEMORY_MAX, NULL, "max"},
	};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct step step = {
			.kind = STEP_WRITE, .role = group->role, .file = limits[i].file};
		char sentence[GROUP_ERROR_MAX] = "", *list cleanup_free = NULL;
		int err = 0;

		/* A file that does not exist imposes no limit. */
		if (!group->files[limits[i].file])
			continue;
		text_copy(step.path, sizeof(step.path), group->path);
		if (limits[i].source)
			err = file_read_line(groups->dir.root_fd, limits[i].source, &list);
		if (err)
			failure(sentence, err, "%s: cannot widen it, /%s: %s", group->path,
				limits[i].source, strerror(-err));
		step.value = list ? list : (char *)(uintptr_t)limits[i].value;
		if (!err)
			err = groups->manager->write(groups, &step, sentence);
		keep_first(&result, err == MANAGER_DEFERRED ? 0 : err, error, sentence);
	}
	return result;
}

static int to_member(struct groups *groups, const char *path, char *error)
{
	char *state cleanup_free = NULL;
	int fd cleanup_close = -1;
	int err = dir_open_group(&groups->dir, path, &fd);

	if (!err)
		err = file_read_line(fd, "cpuset.cpus.partition", &state);
	if (err == -ENOENT || (!err && !strcmp(state, "member")))
		return 0;
	if (!err)
		err = file_write_text(fd, "cpuset.cpus.partition", "member");
	return err ? failure(error, err, "%s: cannot make the partition a member: %s", path,
			     strerror(-err))
		   : 0;
}

static int remove_all(struct groups *groups, uint32_t *ret_nr_left, char *error)
{
	struct group_tree tree cleanup_tree = {0};
	char sentence[GROUP_ERROR_MAX] = "";
	int err = read_tree(groups, NULL, &tree), result = 0;

	*ret_nr_left = 0;
	if (err == -ENOENT)
		return 0;
	if (err)
		return failure(error, err, "cannot read the groups below %s: %s",
			       groups->workload_root, strerror(-err));
	/* The tree lists parents before children, so the reverse order starts at the leaves. */
	for (uint32_t i = tree.nr_groups; i-- > 0;)
		keep_first(&result, to_member(groups, tree.groups[i].path, sentence), error,
			   sentence);
	/* Parents first, because a child cannot have more than its parent. */
	for (uint32_t i = 0; i < tree.nr_groups; i++)
		if (tree.groups[i].populated)
			keep_first(&result, widen(groups, &tree.groups[i], sentence), error,
				   sentence);
	for (uint32_t i = tree.nr_groups; i-- > 0;) {
		struct step step = {.kind = STEP_REMOVE, .role = tree.groups[i].role};

		if (tree.groups[i].populated) {
			(*ret_nr_left)++;
			if (tree.groups[i].role == GROUP_CONTAINER)
				log_warn(
					0,
					"cgroup: %s is kept, without limits, because it has processes",
					tree.groups[i].path);
			continue;
		}
		text_copy(step.path, sizeof(step.path), tree.groups[i].path);
		err = groups->manager->remove(groups, &step, sentence);
		keep_first(&result, err, error, sentence);
	}
	return result;
}

int groups_uninstall(struct groups *groups, const struct originals *originals,
		     uint32_t *ret_nr_left, char error[GROUP_ERROR_MAX])
{
	char sentence[GROUP_ERROR_MAX] = "";
	int result = remove_all(groups, ret_nr_left, error);

	if (originals)
		keep_first(&result, originals_restore(groups, originals, sentence), error,
			   sentence);
	return result;
}
