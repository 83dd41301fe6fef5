// SPDX-License-Identifier: Apache-2.0
// LIBS: cgroup format core lib
/*
 * Moving a process back over the border of a container: where to, only if it is still where the move put
 * it, never another process with its number, and with the children that were born there.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

#include "cgroup/manager.h"
#include "cgroup/members.h"
#include "cgroup_scene.h"
#include "lib/file.h"
#include "lib/worker.h"
#include "refused_calls.h"

#define MAIN  "pinfold.slice/poda/main"
#define INNER "pinfold.slice/poda/main/inner"
#define OTHER "pinfold.slice/podb/other"
#define HOST  "user.slice/shell"
#define AWAY  "user.slice/away"
#define START 9
#define MOVED 500
#define GONE  1 /* no directory has this inode */
/* Cgroups that are removed as soon as their path was asked for; the second one is then made anew. */
#define GOING	(1ULL << 62)
#define RENEWED (GOING + 1)

static struct groups *groups;
static struct member_mover *mover;
static pid_t child, offspring[70];
static pid_t subject; /* the process that is to be moved: the child, unless a test says otherwise */
static const char *lands_in; /* where the kernel has the child after a write; NULL = where it was */
static int path_error;	     /* what asking for a path by number answers */
static bool ends_at_write;   /* the child is killed before it is written */
static unsigned int start_at_write; /* the start time that its number has after that */
static pthread_mutex_t *gate;	    /* held while nobody gets a path */
static unsigned int nr_ended;
static struct member_move ended;

/* --- a kernel that moves ------------------------------------------------------------------------ */

static uint64_t id_of(const char *path)
{
	char name[128];

	snprintf(name, sizeof(name), "cg/%s", path);
	return inode_of(name);
}

static pid_t session = 5; /* of those that are shown */

static void show(pid_t pid, pid_t parent, unsigned int start_ticks, const char *path)
{
	char name[64], text[GROUP_PATH_MAX + 16];

	snprintf(name, sizeof(name), "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (a) S %d 0 %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0 1\n",
		 pid, parent, session, start_ticks);
	put(name, text);
	snprintf(name, sizeof(name), "proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "0::/%s\n", path);
	put(name, text);
}

/* The question where the process was comes right before the write, and where it is was read before. */
static int path_of(const struct dir *dir, uint64_t id, char *ret_path, size_t size)
{
	static const char *const paths[] = {MAIN, INNER, OTHER, HOST, AWAY};

	if (gate)
		pthread_mutex_lock(gate);
	if (gate)
		pthread_mutex_unlock(gate);
	if (lands_in)
		show(subject, 1, start_at_write, lands_in);
	if (ends_at_write) {
		kill(child, SIGKILL);
		waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT);
	}
	if (path_error)
		return path_error;
	if (id == GOING) {
		snprintf(ret_path, size, "user.slice/going");
		return 0;
	}
	if (id == RENEWED) {
		snprintf(ret_path, size, HOST);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (id_of(paths[i]) == id) {
			snprintf(ret_path, size, "%s", paths[i]);
			return 0;
		}
	return -ENOENT;
}

static void note_end(void *self, const struct member_move *move)
{
	nr_ended++;
	ended = *move;
}

static const struct member_sink sink = {NULL, note_end};

static pid_t fork_idle(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* A child that the test forgets must not wait forever. */
	alarm(60);
	for (;;)
		pause();
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- the scene ---------------------------------------------------------------------------------- */

static void open_mover_with(bool may_write, int (*asked)(const struct dir *dir, uint64_t id,
							 char *ret_path, size_t size))
{
	struct member_options options = {.path_of = asked};

	groups = open_fake(may_write);
	options.groups = groups;
	assert_int_equal(member_mover_open(&options, &mover), 0);
	member_mover_listen(mover, &sink);
}

static void open_mover(bool may_write)
{
	open_mover_with(may_write, path_of);
}

static void close_mover(void)
{
	member_mover_close(mover);
	groups_close(groups);
}

static int set_up_mover(void **state)
{
	if (set_up(state))
		return -1;
	put_pod();
	put_group(OTHER, "", "4-7\n", true);
	put_group(HOST, "", "0-1\n", true);
	put_group(AWAY, "", "0-1\n", true);
	subject = child = fork_idle();
	lands_in = NULL;
	path_error = 0;
	ends_at_write = false;
	start_at_write = START;
	gate = NULL;
	nr_ended = 0;
	open_mover(true);
	return 0;
}

static int tear_down_mover(void **state)
{
	close_mover();
	end_process(child);
	for (size_t i = 0; i < ARRAY_SIZE(offspring); i++) {
		if (offspring[i])
			end_process(offspring[i]);
		offspring[i] = 0;
	}
	return tear_down(state);
}

static struct member_move member_move(void)
{
	return (struct member_move){.pid = (uint32_t)subject,
				    .start_ticks = START,
				    .moved_ticks = MOVED,
				    .from_id = id_of(INNER),
				    .home_id = id_of(MAIN),
				    .home = MAIN};
}

static struct member_move stranger_move(void)
{
	return (struct member_move){.pid = (uint32_t)subject,
				    .start_ticks = START,
				    .moved_ticks = MOVED,
				    .from_id = id_of(HOST),
				    .inside_id = id_of(MAIN),
				    .inside = MAIN};
}

static int restore_shown(struct member_move move)
{
	struct member_port port = member_mover_port(mover);
	unsigned int nr_before = nr_ended;

	assert_int_equal(port.restore(port.self, &move), 0);
	assert_int_equal(nr_ended, nr_before + 1);
	assert_int_equal(ended.pid, move.pid);
	return ended.result;
}

/* The child is in `found`, and a write gets it to `to`. */
static int restore(struct member_move move, const char *found, const char *to)
{
	show(subject, 1, START, found);
	lands_in = to;
	return restore_shown(move);
}

/* The last process that was written there; 0 = none. */
static pid_t written(const char *path)
{
	char name[GROUP_PATH_MAX + 600], *text cleanup_free = NULL;

	snprintf(name, sizeof(name), "%s/cg/%s/cgroup.procs", root, path);
	assert_int_equal(file_read_line(AT_FDCWD, name, &text), 0);
	return (pid_t)strtol(text, NULL, 10);
}

static void expect_untouched(void)
{
	static const char *const paths[] = {MAIN, INNER, OTHER, HOST, AWAY, "."};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(written(paths[i]), 0);
}

/* --- where to ----------------------------------------------------------------------------------- */

static void a_member_goes_where_it_was(void **state)
{
	assert_int_equal(restore(member_move(), AWAY, INNER), 0);
	assert_string_equal(ended.to, INNER);
	assert_int_equal(written(INNER), child);
	assert_int_equal(written(MAIN), 0);
}

static void a_member_whose_place_has_gone_goes_into_its_container(void **state)
{
	struct member_move move = member_move();

	move.from_id = GONE;
	assert_int_equal(restore(move, AWAY, MAIN), 0);
	assert_string_equal(ended.to, MAIN);
	assert_int_equal(written(MAIN), child);
}

/* systemd removes the cgroup with its last process; joining makes it anew where it was. */
static void a_member_whose_container_is_made_anew_goes_there(void **state)
{
	struct member_move move = member_move();

	move.from_id = move.home_id = GONE;
	assert_int_equal(restore(move, AWAY, MAIN), 0);
	assert_string_equal(ended.to, MAIN);
	assert_int_equal(written(MAIN), child);
}

/* The path may be an old one, of which the number is asked. */
static void a_container_is_found_by_its_number(void **state)
{
	struct member_move move = member_move();

	move.from_id = GONE;
	snprintf(move.home, sizeof(move.home), "%s", OTHER);
	assert_int_equal(restore(move, AWAY, MAIN), 0);
	assert_int_equal(written(MAIN), child);
	assert_int_equal(written(OTHER), 0);
}

static void a_member_whose_container_cannot_be_written_stays(void **state)
{
	refuse_some("write", NULL, EBUSY, 0, 2);
	assert_int_equal(restore(member_move(), AWAY, MAIN), -EBUSY);
	refuse_nothing();
	assert_true(*ended.error);
	expect_untouched();
}

static void a_stranger_goes_where_it_was(void **state)
{
	assert_int_equal(restore(stranger_move(), INNER, HOST), 0);
	assert_string_equal(ended.to, HOST);
	assert_int_equal(written(HOST), child);
}

static void a_stranger_whose_place_has_gone_goes_into_the_root(void **state)
{
	struct member_move move = stranger_move();

	move.from_id = GONE;
	snprintf(move.to, sizeof(move.to), "set by the port");
	assert_int_equal(restore(move, MAIN, ""), 0);
	assert_string_equal(ended.to, "");
	assert_int_equal(written("."), child);
}

static void a_stranger_whose_place_is_going_goes_into_the_root(void **state)
{
	struct member_move move = stranger_move();

	/* before it is opened */
	move.from_id = GOING;
	assert_int_equal(restore(move, MAIN, ""), 0);
	assert_int_equal(written("."), child);
	put("cg/cgroup.procs", "0\n");
	move.from_id = RENEWED;
	assert_int_equal(restore(move, MAIN, ""), 0);
	assert_int_equal(written(HOST), 0);
	assert_int_equal(written("."), child);
	/* and after */
	put("cg/cgroup.procs", "0\n");
	refuse_some("write", NULL, ENODEV, 0, 1);
	assert_int_equal(restore(stranger_move(), MAIN, ""), 0);
	refuse_nothing();
	assert_int_equal(written("."), child);
}

/* It has children of its own now, for example, and therefore no processes. */
static void a_stranger_whose_place_takes_nobody_goes_into_the_root(void **state)
{
	static const int errors[] = {EBUSY, EOPNOTSUPP};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		put("cg/cgroup.procs", "0\n");
		refuse_some("write", NULL, errors[i], 0, 1);
		assert_int_equal(restore(stranger_move(), MAIN, ""), 0);
		refuse_nothing();
		assert_int_equal(written(HOST), 0);
		assert_int_equal(written("."), child);
	}
}

/* The cgroup is a user's, for example, and the agent lacks the capability to write there. */
static void a_stranger_whose_place_cannot_be_written_stays(void **state)
{
	refuse_some("write", NULL, EACCES, 0, 1);
	assert_int_equal(restore(stranger_move(), MAIN, ""), -EACCES);
	refuse_nothing();
	assert_non_null(strstr(ended.error, "cannot move it back into the cgroup it was in"));
	expect_untouched();
	/* Nor if it cannot even be opened. */
	refuse("openat2", HOST, EACCES);
	assert_int_equal(restore(stranger_move(), MAIN, ""), -EACCES);
	refuse_nothing();
	expect_untouched();
	/* Nor if the root, too, takes nobody. */
	refuse_some("write", NULL, EBUSY, 0, 2);
	assert_int_equal(restore(stranger_move(), MAIN, ""), -EBUSY);
	refuse_nothing();
	assert_non_null(strstr(ended.error, "cannot move it into the root cgroup"));
	expect_untouched();
}

/* On a machine without cgroups the paths that are known have to do. */
static void by_default_the_kernel_is_asked_for_paths(void **state)
{
	close_mover();
	open_mover_with(true, NULL);
	show(child, 1, START, AWAY);
	assert_int_equal(restore_shown(member_move()), -EREMOTEIO);
	assert_int_equal(written(MAIN), child);
}

static void from_another_container_it_goes_back(void **state)
{
	struct member_move move = member_move();

	move.inside_id = id_of(OTHER);
	assert_int_equal(restore(move, OTHER, INNER), 0);
	assert_int_equal(written(INNER), child);
}

/* Without the capability to open a cgroup by its number, the last path that is known serves. */
static void where_numbers_cannot_be_asked_the_known_path_serves(void **state)
{
	path_error = -EPERM;
	assert_int_equal(restore(member_move(), AWAY, MAIN), 0);
	assert_string_equal(ended.to, MAIN);
	assert_int_equal(written(MAIN), child);
	/* Nobody knows where the stranger came from, which is no reason to take its limits from it. */
	assert_int_equal(restore(stranger_move(), MAIN, ""), -EPERM);
	assert_int_equal(written("."), 0);
}

static void of_a_container_that_has_gone_nothing_is_left_to_do(void **state)
{
	struct member_move move = member_move();

	move.from_id = move.home_id = GONE;
	*move.home = '\0';
	assert_int_equal(restore(move, AWAY, NULL), -ENOENT);
	expect_untouched();
}

/* --- what is left alone ------------------------------------------------------------------------- */

static void another_process_with_the_number_is_left_alone(void **state)
{
	struct member_move move = member_move();

	move.start_ticks = START - 1;
	assert_int_equal(restore(move, AWAY, INNER), -ESRCH);
	assert_string_equal(ended.error, "");
	expect_untouched();
}

static void *wait_at_gate(void *tid)
{
	*(pid_t *)tid = (pid_t)syscall(SYS_gettid);
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/* Since Linux 6.16 pidfd_open(2) has another error for it. */
static void a_thread_with_the_number_is_left_alone(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	_Atomic pid_t tid = 0;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	gate = &lock;
	assert_int_equal(pthread_create(&thread, NULL, wait_at_gate, (void *)&tid), 0);
	while (!tid)
		sched_yield();
	subject = tid;
	assert_int_equal(restore(member_move(), AWAY, INNER), -ESRCH);
	assert_string_equal(ended.error, "");
	/* Which of them it has is a matter of the kernel. */
	for (size_t i = 0; i < 2; i++) {
		refuse("pidfd_open", NULL, i ? EINVAL : ENOENT);
		assert_int_equal(restore(member_move(), AWAY, INNER), -ESRCH);
		refuse_nothing();
	}
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	gate = NULL;
	expect_untouched();
}

static void a_process_that_cannot_be_opened_is_left_alone(void **state)
{
	refuse("pidfd_open", NULL, EMFILE);
	assert_int_equal(restore(member_move(), AWAY, INNER), -EMFILE);
	refuse_nothing();
	assert_non_null(strstr(ended.error, "cannot open it"));
	expect_untouched();
}

static void a_process_that_is_nobody_knows_where_is_left_alone(void **state)
{
	char name[64];

	show(child, 1, START, AWAY);
	snprintf(name, sizeof(name), "proc/%d/cgroup", child);
	put(name, "nonsense\n");
	assert_int_equal(restore_shown(member_move()), -EPROTO);
	assert_non_null(strstr(ended.error, "cannot read its cgroup"));
	expect_untouched();
}

/* What was written may have been another process, which is not told as a repair. */
static void a_process_that_ends_at_the_write_is_told_as_ended(void **state)
{
	start_at_write = START + 1;
	assert_int_equal(restore(member_move(), AWAY, INNER), -ESRCH);
	start_at_write = START;
	refuse_some("write", NULL, ESRCH, 0, 1);
	assert_int_equal(restore(member_move(), AWAY, INNER), -ESRCH);
	assert_string_equal(ended.error, "");
	assert_int_equal(nr_refused(), 1);
	refuse_nothing();
	assert_int_equal(written(MAIN), 0);
	ends_at_write = true;
	assert_int_equal(restore(member_move(), AWAY, INNER), -ESRCH);
}

static void a_process_that_has_ended_is_left_alone(void **state)
{
	struct member_move move = member_move();

	/* It has ended, and nobody has waited for it yet. */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(restore(move, AWAY, INNER), -ESRCH);
	waitpid(child, NULL, 0);
	assert_int_equal(restore(move, AWAY, INNER), -ESRCH);
	expect_untouched();
}

static void what_is_no_longer_there_is_left_alone(void **state)
{
	struct member_move move = stranger_move();

	assert_int_equal(restore(member_move(), INNER, NULL), -EALREADY);
	assert_int_equal(restore(member_move(), MAIN, NULL), -EALREADY);
	assert_int_equal(restore(move, AWAY, NULL), -EALREADY);
	/* In another container: the event of that move follows, or it was lawful. */
	assert_int_equal(restore(member_move(), OTHER, NULL), -EAGAIN);
	assert_int_equal(restore(move, OTHER, NULL), -EAGAIN);
	/* A name that only begins like it. */
	assert_int_equal(restore(move, "pinfold.slice/poda/main2", NULL), -EAGAIN);
	/* Nobody is in a cgroup that has gone, but perhaps in one that was made there anew. */
	move.inside_id = GONE;
	assert_int_equal(restore(move, AWAY, NULL), -EALREADY);
	assert_int_equal(restore(move, MAIN, NULL), -EAGAIN);
	expect_untouched();
}

static void an_agent_that_writes_nothing_moves_nobody(void **state)
{
	close_mover();
	open_mover(false);
	assert_int_equal(restore(member_move(), AWAY, INNER), -EROFS);
	expect_untouched();
}

static void another_mover_that_was_faster_is_told(void **state)
{
	const int r = restore(member_move(), AWAY, AWAY);

	expect_failure(-EREMOTEIO, r, ended.error, "another program moves it");
}

/* --- children ----------------------------------------------------------------------------------- */

/* One was born there, and bore one; one is of somebody else, and one older than the move. */
static void children_that_were_born_there_go_with_it(void **state)
{
	char list[160], name[64];

	for (size_t i = 0; i < 3; i++)
		offspring[i] = fork_idle();
	show(offspring[0], child, MOVED, MAIN);
	show(offspring[1], offspring[0], MOVED + 1, MAIN);
	show(offspring[2], child, MOVED - 1, MAIN);
	snprintf(list, sizeof(list), "%d\n%d\n%d\n%d\n%d\n", getpid(), offspring[2], offspring[1],
		 child, offspring[0]);
	show(getpid(), 1, MOVED + 7, MAIN);
	snprintf(name, sizeof(name), "cg/%s/cgroup.procs", MAIN);
	put(name, list);
	assert_int_equal(restore(stranger_move(), MAIN, HOST), 0);
	assert_int_equal(ended.nr_children, 2);
	/* the grandchild is the last, because the list has it before its parent */
	assert_int_equal(written(HOST), offspring[1]);
}

/* The runtime started it in the container, and whoever started it there has ended. */
static void a_child_in_another_session_stays(void **state)
{
	char list[64], name[64];

	offspring[0] = fork_idle();
	session = 6;
	show(offspring[0], child, MOVED, MAIN);
	session = 5;
	snprintf(list, sizeof(list), "%d\n%d\n", child, offspring[0]);
	snprintf(name, sizeof(name), "cg/%s/cgroup.procs", MAIN);
	put(name, list);
	assert_int_equal(restore(stranger_move(), MAIN, HOST), 0);
	assert_int_equal(ended.nr_children, 0);
	assert_int_equal(written(HOST), child);
}

/* The container's list of its processes, in this order. */
static void list_processes(const pid_t *pids, size_t nr)
{
	char list[1024] = "", name[64];
	size_t len = 0;

	for (size_t i = 0; i < nr; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%d\n", pids[i]);
	assert_true(len < sizeof(list));
	snprintf(name, sizeof(name), "cg/%s/cgroup.procs", AWAY);
	put(name, list);
}

/* They have sessions as they like. */
static void children_of_a_member_go_with_it_from_any_session(void **state)
{
	offspring[0] = fork_idle();
	session = 6;
	show(offspring[0], child, MOVED, AWAY);
	session = 5;
	list_processes(offspring, 1);
	assert_int_equal(restore(member_move(), AWAY, INNER), 0);
	assert_int_equal(ended.nr_children, 1);
	assert_int_equal(written(INNER), offspring[0]);
}

static void a_child_that_has_ended_and_one_without_a_parent_stay(void **state)
{
	offspring[0] = fork_idle();
	offspring[1] = fork_idle();
	assert_int_equal(kill(offspring[0], SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)offspring[0], &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	show(offspring[0], child, MOVED, AWAY);
	/* its parent is in another pid namespace */
	show(offspring[1], 0, MOVED, AWAY);
	list_processes(offspring, 2);
	assert_int_equal(restore(member_move(), AWAY, INNER), 0);
	assert_int_equal(ended.nr_children, 0);
	assert_int_equal(written(INNER), child);
}

/* In the worst order of the list, each pass finds one generation. */
static void of_many_generations_eight_go(void **state)
{
	pid_t last_first[10];

	for (size_t i = 0; i < ARRAY_SIZE(last_first); i++) {
		offspring[i] = fork_idle();
		show(offspring[i], i ? offspring[i - 1] : child, MOVED, AWAY);
		last_first[ARRAY_SIZE(last_first) - 1 - i] = offspring[i];
	}
	list_processes(last_first, ARRAY_SIZE(last_first));
	assert_int_equal(restore(member_move(), AWAY, INNER), 0);
	assert_int_equal(ended.nr_children, 8);
}

static void of_very_many_children_some_go(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(offspring); i++) {
		offspring[i] = fork_idle();
		show(offspring[i], child, MOVED, AWAY);
	}
	list_processes(offspring, ARRAY_SIZE(offspring));
	assert_int_equal(restore(member_move(), AWAY, INNER), 0);
	assert_int_equal(ended.nr_children, 63);
}

/* What lost its parent is process 1's, which did not bear it. */
static void process_1_goes_without_children(void **state)
{
	offspring[0] = fork_idle();
	show(offspring[0], 1, MOVED, AWAY);
	list_processes(offspring, 1);
	subject = 1;
	assert_int_equal(restore(member_move(), AWAY, INNER), 0);
	assert_int_equal(ended.nr_children, 0);
	assert_int_equal(written(INNER), 1);
}

/* --- waiting ------------------------------------------------------------------------------------ */

static void a_move_waits_for_the_one_before_it_in_the_same_pod(void **state)
{
	static const char in_queue[] = "the queue of a thread pool of size 1";
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct member_port port = member_mover_port(mover);
	struct member_move first = member_move(), second = stranger_move(),
			   elsewhere = stranger_move(), nowhere = stranger_move(),
			   other = stranger_move();
	struct pollfd has_ended = {.events = POLLIN};
	char text[128];

	snprintf(elsewhere.inside, sizeof(elsewhere.inside), "%s", OTHER);
	*nowhere.inside = '\0';
	snprintf(other.inside, sizeof(other.inside), "pinfold.slice/podc/main");
	show(child, 1, START, AWAY);
	assert_int_equal(worker_pool_new(1, &groups->pool), 0);
	worker_pool_set_grace(groups->pool, 0);
	has_ended.fd = worker_pool_fd(groups->pool);
	pthread_mutex_lock(&lock);
	gate = &lock;
	assert_int_equal(port.restore(port.self, &first), 0);
	assert_int_equal(port.restore(port.self, &second), -EBUSY);
	assert_int_equal(port.restore(port.self, &elsewhere), 0);
	assert_int_equal(port.restore(port.self, &elsewhere), -EBUSY);
	assert_int_equal(port.restore(port.self, &nowhere), 0);
	assert_int_equal(port.restore(port.self, &nowhere), -EBUSY);
	port.waits_in(port.self, &elsewhere, text, sizeof(text));
	assert_string_equal(text, in_queue);
	port.waits_in(port.self, &nowhere, text, sizeof(text));
	assert_string_equal(text, in_queue);
	/* Nobody waits for this one. */
	port.waits_in(port.self, &other, text, sizeof(text));
	assert_string_equal(text, "");
	pthread_mutex_unlock(&lock);
	while (nr_ended < 3 && poll(&has_ended, 1, 10000) == 1)
		worker_pool_dispatch(groups->pool);
	assert_int_equal(nr_ended, 3);
	assert_int_equal(worker_pool_free(groups->pool), 0);
	groups->pool = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_mover, tear_down_mover)
		TEST(a_member_goes_where_it_was),
		TEST(a_member_whose_place_has_gone_goes_into_its_container),
		TEST(a_member_whose_container_is_made_anew_goes_there),
		TEST(a_container_is_found_by_its_number),
		TEST(a_member_whose_container_cannot_be_written_stays),
		TEST(a_stranger_goes_where_it_was),
		TEST(a_stranger_whose_place_has_gone_goes_into_the_root),
		TEST(a_stranger_whose_place_is_going_goes_into_the_root),
		TEST(a_stranger_whose_place_takes_nobody_goes_into_the_root),
		TEST(a_stranger_whose_place_cannot_be_written_stays),
		TEST(by_default_the_kernel_is_asked_for_paths),
		TEST(from_another_container_it_goes_back),
		TEST(where_numbers_cannot_be_asked_the_known_path_serves),
		TEST(of_a_container_that_has_gone_nothing_is_left_to_do),
		TEST(another_process_with_the_number_is_left_alone),
		TEST(a_thread_with_the_number_is_left_alone),
		TEST(a_process_that_cannot_be_opened_is_left_alone),
		TEST(a_process_that_is_nobody_knows_where_is_left_alone),
		TEST(a_process_that_ends_at_the_write_is_told_as_ended),
		TEST(a_process_that_has_ended_is_left_alone),
		TEST(what_is_no_longer_there_is_left_alone),
		TEST(an_agent_that_writes_nothing_moves_nobody),
		TEST(another_mover_that_was_faster_is_told),
		TEST(children_that_were_born_there_go_with_it),
		TEST(a_child_in_another_session_stays),
		TEST(children_of_a_member_go_with_it_from_any_session),
		TEST(a_child_that_has_ended_and_one_without_a_parent_stay),
		TEST(of_many_generations_eight_go),
		TEST(of_very_many_children_some_go),
		TEST(process_1_goes_without_children),
		TEST(a_move_waits_for_the_one_before_it_in_the_same_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
