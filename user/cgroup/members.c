// SPDX-License-Identifier: Apache-2.0
/*
 * A pid is written only after a pidfd of the process and its start time were compared. The kernel takes
 * the number all the same, so both are compared once more afterwards: a process that is alive then was
 * alive at the write, and its number was nobody else's.
 */
#include "cgroup/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup/jobs.h"
#include "cgroup/tasks.h"
#include "format/group_path.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/worker.h"

/* Of a process whose container is not known. Paths of groups do not begin with a slash. */
#define NOWHERE_KEY "/members"
/* A family with more processes, or one that forks faster than it is moved, is moved in part. */
#define FAMILY_MAX 64
#define PASSES_MAX 8

struct member_mover {
	struct member_options options;
	const struct member_sink *sink;
};

struct move_job {
	struct worker_job job; /* first */
	const struct member_mover *mover;
	struct member_move move;
	char found_in[GROUP_PATH_MAX]; /* where the process was */
};

/* The processes that were moved: the first one, and its descendants. */
struct family {
	pid_t pids[FAMILY_MAX];
	uint32_t nr;
	pid_t session; /* of a stranger; 0 = a member's, which may have several */
};

/* --- one process ------------------------------------------------------------------------------ */

/* A pidfd of the process that began at that time. -ESRCH: it has ended. */
static int open_process(const struct dir *dir, pid_t pid, uint64_t start_ticks, int *ret_fd)
{
	int fd cleanup_close = (int)syscall(SYS_pidfd_open, pid, 0);
	struct proc_stat stat;

	/* The number is now that of a thread: EINVAL, and since Linux 6.16 ENOENT. */
	if (fd < 0)
		return errno == EINVAL || errno == ENOENT ? -ESRCH : -errno;
	if (tasks_read_stat(dir, pid, &stat) || stat.start_ticks != start_ticks ||
	    !tasks_is_alive(fd))
		return -ESRCH;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* `id` 0 = whichever cgroup has the path. */
static int write_pid(const struct dir *dir, const char *path, uint64_t id, pid_t pid)
{
	int fd cleanup_close = -1;
	uint64_t found;
	char text[16];
	int r = dir_open_group(dir, path, &fd);

	if (!r && id)
		r = dir_group_id(fd, &found);
	if (!r && id && found != id)
		r = -ENOENT;
	if (r)
		return r;
	snprintf(text, sizeof(text), "%d", (int)pid);
	r = file_write_text(fd, "cgroup.procs", text);
	return r == -ENODEV ? -ENOENT : r;
}

/* --- where to --------------------------------------------------------------------------------- */

/* The path of the cgroup now. Where nobody may ask by number, the last one that is known. */
static int find_path(const struct move_job *job, uint64_t id, const char *known,
		     char ret_path[GROUP_PATH_MAX])
{
	const struct member_options *options = &job->mover->options;
	int r = options->path_of(&options->groups->dir, id, ret_path, GROUP_PATH_MAX);

	if (!r || r == -ENOENT || !*known)
		return r;
	text_copy(ret_path, GROUP_PATH_MAX, known);
	return 0;
}

/* Is it in the cgroup, and if it has gone, nowhere? */
static bool is_in(const struct move_job *job, uint64_t id, const char *known)
{
	char path[GROUP_PATH_MAX];

	return !find_path(job, id, known, path) && group_path_is_in(job->found_in, path);
}

/* 0 = it is still where it was moved to; -EALREADY, -EAGAIN as in struct member_move. */
static int check_place(const struct move_job *job)
{
	const struct member_move *move = &job->move;

	if (move->home_id && is_in(job, move->home_id, move->home))
		return -EALREADY;
	if (move->inside_id && is_in(job, move->inside_id, move->inside))
		return 0;
	if (group_path_is_in(job->found_in, job->mover->options.groups->workload_root))
		return -EAGAIN;
	/* A stranger has left, and a member is outside, wherever that is now. */
	return move->home_id ? 0 : -EALREADY;
}

/* systemd removes a container's cgroup when its last process has left, and then makes it anew. */
static int go_home(const struct move_job *job, char *ret_to, char *error)
{
	struct groups *groups = job->mover->options.groups;
	const struct member_move *move = &job->move;
	char path[GROUP_PATH_MAX];
	int r = find_path(job, move->home_id, move->home, path);

	if (r == -ENOENT && *move->home) {
		text_copy(path, sizeof(path), move->home);
		r = 0;
	}
	if (r)
		return failure(error, r, "process %u: cannot find its container: %s", move->pid,
			       strerror(-r));
	r = groups->manager->join(groups, path, (pid_t)move->pid, error);
	if (!r)
		text_copy(ret_to, GROUP_PATH_MAX, path);
	return r;
}

/* Is it this cgroup that takes nobody? Any other error may be gone the next time. */
static bool has_no_place(int error)
{
	return error == -ENOENT || error == -EBUSY || error == -EOPNOTSUPP;
}

/* The first of these that takes it; *ret_to is that. */
static int write_back(const struct move_job *job, char *ret_to, char *error)
{
	const struct dir *dir = &job->mover->options.groups->dir;
	const struct member_move *move = &job->move;
	char path[GROUP_PATH_MAX];
	int r = find_path(job, move->from_id, "", path);

	if (!r)
		r = write_pid(dir, path, move->from_id, (pid_t)move->pid);
	if (!r)
		text_copy(ret_to, GROUP_PATH_MAX, path);
	if (!r || r == -ESRCH)
		return r;
	failure(error, r, "process %u: cannot move it back into the cgroup it was in: %s",
		move->pid, strerror(-r));
	if (move->home_id)
		return go_home(job, ret_to, error);
	if (!has_no_place(r))
		return r;
	/*
	 * Its cgroup has gone, or takes no processes any more. The root always does, and none of its
	 * limits is a container's.
	 */
	r = write_pid(dir, "", 0, (pid_t)move->pid);
	if (r)
		return failure(error, r, "process %u: cannot move it into the root cgroup: %s",
			       move->pid, strerror(-r));
	*ret_to = '\0';
	return 0;
}

static int check_moved(const struct move_job *job, int pidfd, const char *to, char *error)
{
	const struct dir *dir = &job->mover->options.groups->dir;
	const struct member_move *move = &job->move;
	char now[GROUP_PATH_MAX];
	struct proc_stat stat;
	int r;

	if (!tasks_is_alive(pidfd) || tasks_read_stat(dir, (pid_t)move->pid, &stat) ||
	    stat.start_ticks != move->start_ticks)
		return -ESRCH;
	r = tasks_cgroup_of(dir, (pid_t)move->pid, now, sizeof(now));
	if (r)
		return failure(error, r, "process %u: cannot read its cgroup back: %s", move->pid,
			       strerror(-r));
	if (strcmp(now, to))
		return failure(error, -EREMOTEIO,
			       "process %u: moved to /%s, but the kernel reports it in /%s: "
			       "another program moves it",
			       move->pid, to, now);
	return 0;
}

/* --- its children ----------------------------------------------------------------------------- */

static bool is_of_family(const struct family *family, pid_t pid)
{
	for (uint32_t i = 0; i < family->nr; i++)
		if (family->pids[i] == pid)
			return true;
	return false;
}

/* Was it born there, of one that was moved back, after that one had come? */
static bool move_child(const struct move_job *job, const char *to, pid_t pid,
		       const struct family *family)
{
	const struct dir *dir = &job->mover->options.groups->dir;
	struct proc_stat stat;
	int pidfd cleanup_close = -1;

	if (is_of_family(family, pid) || tasks_read_stat(dir, pid, &stat) ||
	    !is_of_family(family, stat.parent) || stat.start_ticks < job->move.moved_ticks ||
	    (family->session && stat.session != family->session))
		return false;
	return !open_process(dir, pid, stat.start_ticks, &pidfd) && !write_pid(dir, to, 0, pid);
}

/*
 * One whose parent has ended has another parent now, and is not found; but that may be the stranger, if
 * it is process 1 or, like a container's shim, a subreaper. What a runtime starts in the container has a
 * session of its own, so of a stranger only those in its session go with it. As those that are moved bear no
 * more children there, a pass that finds none is the last.
 */
static uint32_t move_children(const struct move_job *job, const char *to)
{
	const struct dir *dir = &job->mover->options.groups->dir;
	struct family family = {.pids = {(pid_t)job->move.pid}, .nr = 1};
	uint32_t nr_before = 0;
	struct proc_stat stat;

	if (job->move.pid == 1 || tasks_read_stat(dir, (pid_t)job->move.pid, &stat))
		return 0;
	family.session = job->move.home_id ? 0 : stat.session;
	for (uint32_t pass = 0; pass < PASSES_MAX && family.nr > nr_before; pass++) {
		pid_t *pids cleanup_free = NULL;
		uint32_t nr = 0;

		nr_before = family.nr;
		if (tasks_of_group(dir, job->found_in, &pids, &nr))
			break;
		for (uint32_t i = 0; i < nr && family.nr < FAMILY_MAX; i++)
			if (move_child(job, to, pids[i], &family))
				family.pids[family.nr++] = pids[i];
	}
	return family.nr - 1;
}

/* --- the port --------------------------------------------------------------------------------- */

static int run_move(struct worker_job *base)
{
	struct move_job *job = (struct move_job *)base;
	const struct groups *groups = job->mover->options.groups;
	struct member_move *move = &job->move;
	int pidfd cleanup_close = -1;
	int r;

	if (!groups->may_write)
		return failure(move->error, -EROFS, "the agent changes no cgroups in this mode");
	r = open_process(&groups->dir, (pid_t)move->pid, move->start_ticks, &pidfd);
	if (r && r != -ESRCH)
		return failure(move->error, r, "process %u: cannot open it: %s", move->pid,
			       strerror(-r));
	if (!r)
		r = tasks_cgroup_of(&groups->dir, (pid_t)move->pid, job->found_in,
				    sizeof(job->found_in));
	if (r)
		return tasks_is_alive(pidfd) && r != -ESRCH
			       ? failure(move->error, r, "process %u: cannot read its cgroup: %s",
					 move->pid, strerror(-r))
			       : -ESRCH;
	r = check_place(job);
	if (!r)
		r = write_back(job, move->to, move->error);
	if (!r)
		r = check_moved(job, pidfd, move->to, move->error);
	if (!r)
		move->nr_children = move_children(job, move->to);
	return r;
}

static void move_ended(struct worker_job *base, int result)
{
	struct move_job *job = (struct move_job *)base;
	const struct member_sink *sink = job->mover->sink;

	job->move.result = result;
	if (sink)
		sink->ended(sink->self, &job->move);
}

static void key_of(const struct member_move *move, char ret_key[GROUP_PATH_MAX])
{
	const char *path = *move->home ? move->home : move->inside;

	jobs_chain_of(*path ? path : NOWHERE_KEY, ret_key);
}

static int begin_move(void *self, const struct member_move *move)
{
	struct member_mover *mover = self;
	struct move_job *job = calloc(1, sizeof(*job));
	char key[GROUP_PATH_MAX];

	if (!job)
		return -ENOMEM;
	job->job = (struct worker_job){.run = run_move, .completed = move_ended};
	job->mover = mover;
	job->move = *move;
	key_of(move, key);
	return worker_begin(mover->options.groups->pool, key, &job->job);
}

static void waits_in(void *self, const struct member_move *move, char *ret_text, size_t size)
{
	const struct member_mover *mover = self;
	char key[GROUP_PATH_MAX];

	key_of(move, key);
	worker_where(mover->options.groups->pool, key, ret_text, size);
}

int member_mover_open(const struct member_options *options, struct member_mover **ret_mover)
{
	struct member_mover *mover = calloc(1, sizeof(*mover));

	if (!mover)
		return log_err(-ENOMEM, "cgroup: cannot create the mover of processes");
	mover->options = *options;
	if (!mover->options.path_of)
		mover->options.path_of = dir_path_of;
	*ret_mover = mover;
	return 0;
}

void member_mover_close(struct member_mover *mover)
{
	free(mover);
}

void member_mover_listen(struct member_mover *mover, const struct member_sink *sink)
{
	mover->sink = sink;
}

struct member_port member_mover_port(struct member_mover *mover)
{
	return (struct member_port){.self = mover, .restore = begin_move, .waits_in = waits_in};
}
