// SPDX-License-Identifier: Apache-2.0
/*
 * Most tasks cost one system call: their affinity touches no exclusive CPU, and nobody wrote it.
 * Files of procfs are read only for the others.
 */
#include "stranger/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "stranger/saved.h"
#include "stranger/walk_private.h"

/* After the kernel refused an affinity, it is tried again. */
#define RETRY_NS (10 * 1000000000ULL)

/* --- what cannot be read ------------------------------------------------------------------------- */

/* Any other error says nothing about the task, so what is known of it stays as it is. */
static bool has_ended(int error)
{
	return error == -ENOENT || error == -ESRCH;
}

static void note_failed(struct stranger_task *task, int error)
{
	task->state = STRANGER_STATE_FAILED;
	task->error = error;
}

/* --- who a task is ------------------------------------------------------------------------------- */

/* Is the cgroup this one, or below it? Its path begins with a slash, the name of a group does not. */
static bool is_below(const char *cgroup, const char *group)
{
	const size_t len = strlen(group);

	return !strncmp(cgroup + 1, group, len) && (cgroup[1 + len] == '/' || !cgroup[1 + len]);
}

static const char *cgroup_of(struct stranger_walk *walk, pid_t process)
{
	if (walk->process == process)
		return walk->cgroup;
	walk->process = process;
	free(walk->cgroup);
	walk->cgroup_error = process_cgroup(walk->context->proc_fd, process, &walk->cgroup);
	if (walk->cgroup_error)
		walk->cgroup = NULL;
	return walk->cgroup;
}

/* What the container of this cgroup holds; NULL = nothing. */
static const struct cpuset *own_cpus(const struct stranger_walk *walk, const char *cgroup)
{
	for (uint32_t i = 0; cgroup && i < walk->request->nr_owners; i++)
		if (is_below(cgroup, walk->request->owners[i].path))
			return &walk->request->owners[i].cpus;
	return NULL;
}

static enum stranger_kind kind_of(const struct stranger_walk *walk, const struct thread_stat *stat,
				  const char *cgroup)
{
	/*
	 * A kernel thread may belong to a container too: vhost attaches those of its threads that
	 * are kernel threads, all before Linux 6.4, to the cgroup of the virtual machine.
	 */
	if (cgroup && is_below(cgroup, walk->request->workload_root))
		return STRANGER_POD;
	if (stat->is_kernel)
		return stat->is_bound ? STRANGER_BOUND : STRANGER_KTHREAD;
	/* Somebody whose cgroup is not known may belong to a container. */
	return cgroup ? STRANGER_TASK : STRANGER_POD;
}

/* --- what was known ------------------------------------------------------------------------------ */

static bool reaches_exclusive(const struct stranger_walk *walk, const struct cpuset *affinity)
{
	return cpuset_intersects(affinity, &walk->request->cpus.exclusive);
}

static bool is_as_written(const struct stranger_walk *walk, const struct stranger_task *task,
			  const struct cpuset *affinity)
{
	return stranger_is_as_written(task, affinity, &walk->request->cpus.online);
}

static int keep_sets(struct stranger_walk *walk, const struct cpuset *original,
		     const struct cpuset *written, struct stranger_task *task)
{
	task->original = stranger_table_keep(walk->now, original);
	task->written = stranger_table_keep_written(walk->now, written);
	return task->original && task->written ? 0 : -ENOMEM;
}

int stranger_walk_inherit(struct stranger_walk *walk, const struct stranger_task *known,
			  struct stranger_task *task)
{
	task->pause = known->pause;
	task->since_ticks = known->since_ticks;
	task->error = known->error;
	return known->written ? keep_sets(walk, known->original, known->written, task) : 0;
}

/* The task that may have made a new one, and whether it did so before the last walk changed it. */
struct maker {
	const struct stranger_task *known; /* NULL = nobody whose affinity we changed */
	bool is_past;
};

static int inherit_from_maker(struct stranger_walk *walk, const struct maker *maker,
			      struct stranger_task *task)
{
	const struct stranger_task *known = maker->known;

	task->since_ticks = known->since_ticks;
	return maker->is_past ? keep_sets(walk, known->past_original, known->past_written, task)
			      : keep_sets(walk, known->original, known->written, task);
}

static bool may_have_made(const struct stranger_walk *walk, const struct stranger_task *known,
			  const struct stranger_task *task, struct maker *ret_maker)
{
	const struct cpuset *online = &walk->request->cpus.online;
	const bool is_past = !stranger_is_as_written(known, task->affinity, online);

	if (task->start_ticks < known->since_ticks ||
	    (is_past && !stranger_is_as_past(known, task->affinity, online)))
		return false;
	*ret_maker = (struct maker){known, is_past};
	return true;
}

/*
 * A task begins with the affinity of the one that made it. If that one had what we wrote, so has
 * the new one, and its original is the same. Which thread of the parent it was is not known, and
 * the parent may have ended, so any task that had this affinity when the new one began will do.
 * One that another process gave exactly these CPUs cannot be told from it, and is restored as well.
 * The opposite mistake would leave every daemon that is started meanwhile narrow for ever.
 */
static struct maker maker_of(const struct stranger_walk *walk, const struct stranger_task *task,
			     pid_t parent)
{
	const pid_t thread = task->thread == task->process ? parent : task->process;
	const struct stranger_task *known = stranger_table_find(
		walk->before, thread, task->affinity, &walk->request->cpus.online);
	struct maker maker = {0};

	if (known && may_have_made(walk, known, task, &maker))
		return maker;
	for (uint32_t i = 0; i < walk->before->nr; i++)
		if (may_have_made(walk, &walk->before->tasks[i], task, &maker))
			break;
	return maker;
}

/* --- looking at one task ------------------------------------------------------------------------- */

/* Has its cgroup been read? Kernel threads may have none. */
static bool is_known_whose(const struct stranger_task *known)
{
	return known->cgroup || known->kind != STRANGER_TASK;
}

/* A task that has what we wrote needs no file, as long as nothing is to be written. */
static int copy_known(struct stranger_walk *walk, const struct stranger_task *known,
		      struct stranger_task *task)
{
	task->start_ticks = known->start_ticks;
	task->kind = known->kind;
	memcpy(task->comm, known->comm, sizeof(task->comm));
	if (known->cgroup) {
		task->cgroup = strdup(known->cgroup);
		if (!task->cgroup)
			return -ENOMEM;
	}
	return stranger_walk_inherit(walk, known, task);
}

/* The file that was read at the start may name a task twice, and has no affinity of it. */
static int carry_over(struct stranger_walk *walk, pid_t thread, int error)
{
	for (uint32_t i = 0; i < walk->before->nr; i++) {
		const struct stranger_task *known = &walk->before->tasks[i];
		struct stranger_task *task;

		if (known->thread != thread)
			continue;
		task = stranger_table_add(walk->now);
		if (!task)
			return -ENOMEM;
		task->thread = thread;
		task->process = known->process;
		task->affinity = stranger_table_keep(walk->now, known->affinity ? known->affinity
										: known->written);
		if (!task->affinity || copy_known(walk, known, task))
			return -ENOMEM;
		note_failed(task, error);
	}
	return 0;
}

/* 0, DROPPED, STAYS or -ENOMEM. */
static int identify(struct stranger_walk *walk, const struct stranger_task *known,
		    struct stranger_task *task)
{
	struct thread_stat stat;
	struct maker maker = {0};
	const char *cgroup;
	bool is_same;
	int r;

	/* What was read from the file is known by its times only. */
	if (known && *known->comm && is_known_whose(known) &&
	    is_as_written(walk, known, task->affinity))
		return copy_known(walk, known, task);
	r = thread_stat_read(walk->context->proc_fd, task->process, task->thread, &stat);
	if (r && (has_ended(r) || !known))
		return DROPPED;
	if (r) {
		if (copy_known(walk, known, task))
			return -ENOMEM;
		note_failed(task, r);
		return STAYS;
	}
	task->start_ticks = stat.start_ticks;
	memcpy(task->comm, stat.comm, sizeof(task->comm));
	is_same = known && known->start_ticks == stat.start_ticks;
	/* Of a child for which there was no room the original is still to be found. */
	if (is_same && (known->written || known->error != -ENOSPC)) {
		r = stranger_walk_inherit(walk, known, task);
	} else {
		maker = maker_of(walk, task, stat.parent);
		if (!maker.known && !reaches_exclusive(walk, task->affinity))
			return DROPPED;
		r = maker.known ? inherit_from_maker(walk, &maker, task) : 0;
	}
	if (r)
		return r;
	cgroup = cgroup_of(walk, task->process);
	if (!cgroup && task->written && !has_ended(walk->cgroup_error)) {
		note_failed(task, walk->cgroup_error);
		return STAYS;
	}
	task->kind = kind_of(walk, &stat, cgroup);
	/* The kernel refused to move it. */
	if (is_same && known->kind == STRANGER_BOUND)
		task->kind = STRANGER_BOUND;
	if (cgroup) {
		task->cgroup = strdup(cgroup);
		if (!task->cgroup)
			return -ENOMEM;
	}
	if (maker.known && task->kind != STRANGER_POD && walk->nr_held++ >= STRANGER_MAX_HELD) {
		task->original = task->written = NULL;
		note_failed(task, -ENOSPC);
		return STAYS;
	}
	return 0;
}

static enum stranger_state state_of_stranger(const struct stranger_task *task)
{
	if (task->kind == STRANGER_BOUND)
		return STRANGER_STATE_BOUND;
	if (task->kind == STRANGER_POD)
		return STRANGER_STATE_CPUSET;
	return STRANGER_STATE_REACHES;
}

static int plan_write(struct stranger_walk *walk, struct stranger_task *task,
		      const struct cpuset *original, const struct cpuset *target)
{
	if (!task->written && walk->nr_held >= STRANGER_MAX_HELD) {
		task->state = STRANGER_STATE_FAILED;
		task->error = -ENOSPC;
		return 0;
	}
	/* What the kernel refused is not tried at each walk. */
	if (task->error && !stranger_may_contend(&task->pause, walk->request->now_ns)) {
		task->state = STRANGER_STATE_FAILED;
		return 0;
	}
	walk->nr_held += !task->written;
	task->new_original = stranger_table_keep(walk->now, original);
	task->target = stranger_table_keep(walk->now, target);
	return task->new_original && task->target ? 0 : -ENOMEM;
}

static void forget(struct stranger_task *task)
{
	task->original = task->written = NULL;
	task->pause = (struct stranger_pause){0};
}

int stranger_walk_decide(struct stranger_walk *walk, struct stranger_task *task)
{
	const struct stranger_facts facts = {
		.kind = task->kind,
		.affinity = task->affinity,
		.own = own_cpus(walk, task->cgroup),
		.original = task->original,
		.written = task->written,
		.repairs = walk->request->mode == STRANGER_REPAIR,
		.may_contend = stranger_may_contend(&task->pause, walk->request->now_ns),
	};
	struct cpuset original, target;

	task->state = STRANGER_STATE_MOVED;
	switch (stranger_decide(&walk->request->cpus, &facts, &original, &target)) {
	case STRANGER_ABSENT:
	case STRANGER_FORGET:
		return DROPPED;
	case STRANGER_KEEP:
		task->error = 0;
		stranger_note_calm(&task->pause, walk->request->now_ns);
		return 0;
	case STRANGER_NARROWED:
		walk->report->nr_narrowed++;
		return 0;
	case STRANGER_LEAVE:
		task->state = state_of_stranger(task);
		return 0;
	case STRANGER_WAIT:
		task->state = STRANGER_STATE_CONTENDED;
		return 0;
	case STRANGER_REVERT:
		stranger_note_revert(&task->pause, walk->request->now_ns);
		walk->report->nr_reverted++;
		return plan_write(walk, task, &original, &target);
	case STRANGER_WRITE:
		return plan_write(walk, task, &original, &target);
	}
	return DROPPED;
}

static int look_at(void *self, pid_t process, pid_t thread)
{
	struct stranger_walk *walk = self;
	const struct stranger_task *known;
	struct stranger_task *task;
	struct cpuset affinity;
	int r;

	r = walk->context->calls->get(walk->context->calls->self, thread, &affinity);
	if (r)
		return has_ended(r) ? 0 : carry_over(walk, thread, r);
	known = stranger_table_find(walk->before, thread, &affinity, &walk->request->cpus.online);
	if (!known && !reaches_exclusive(walk, &affinity) &&
	    !stranger_table_wrote(walk->before, &affinity, &walk->request->cpus.online))
		return 0;
	task = stranger_table_add(walk->now);
	if (!task)
		return -ENOMEM;
	task->thread = thread;
	task->process = process;
	task->affinity = stranger_table_keep(walk->now, &affinity);
	if (!task->affinity)
		return -ENOMEM;
	r = identify(walk, known, task);
	if (!r)
		r = stranger_walk_decide(walk, task);
	if (r == DROPPED)
		stranger_table_drop(walk->now);
	return r < 0 ? r : 0;
}

/* --- writing ------------------------------------------------------------------------------------- */

/*
 * Since the look, the id may have been given to another task, and the task to a container. 0: it is
 * still the same, -ESRCH or -ENOENT: it is not, other errors: nobody knows.
 */
static int check_still(const struct stranger_walk *walk, const struct stranger_task *task)
{
	char *cgroup cleanup_free = NULL;
	struct thread_stat stat;
	int r = thread_stat_read(walk->context->proc_fd, task->process, task->thread, &stat);

	if (!r && stat.start_ticks != task->start_ticks)
		return -ESRCH;
	if (!r)
		r = process_cgroup(walk->context->proc_fd, task->process, &cgroup);
	if (r)
		return r;
	return is_below(cgroup, walk->request->workload_root) ? -ESRCH : 0;
}

static void fill_all(struct cpuset *cpus)
{
	memset(cpus->words, 0xff, sizeof(cpus->words));
	cpus->nr_words = CPUSET_MAX / CPUSET_WORD_BITS;
}

/*
 * An affinity of all CPUs is written as such, so that the task follows its cpuset and may use CPUs
 * that come later. Of a task that had all CPUs before another one came online, only those are known.
 */
static void widen_to_all(const struct stranger_walk *walk, struct cpuset *cpus)
{
	if (cpuset_is_subset(&walk->request->cpus.online, cpus))
		fill_all(cpus);
}

/*
 * A task may join a container between the last look and the write. What was written would then keep
 * it off CPUs that the container holds, or gets later, and nobody would undo it: the port that
 * joins tasks has widened its affinity before.
 */
static bool has_joined(const struct stranger_walk *walk, const struct stranger_task *task)
{
	char *cgroup cleanup_free = NULL;
	struct thread_stat stat;

	return !thread_stat_read(walk->context->proc_fd, task->process, task->thread, &stat) &&
	       stat.start_ticks == task->start_ticks &&
	       !process_cgroup(walk->context->proc_fd, task->process, &cgroup) &&
	       is_below(cgroup, walk->request->workload_root);
}

static void note_written(struct stranger_walk *walk, struct stranger_task *task)
{
	const bool is_restored = task->target == task->new_original;

	task->error = 0;
	task->past_original = task->original;
	task->past_written = task->written;
	if (is_restored) {
		walk->report->nr_restored++;
		forget(task);
		return;
	}
	walk->report->nr_moved++;
	if (!walk->report->first.thread) {
		walk->report->first.thread = task->thread;
		memcpy(walk->report->first.comm, task->comm, sizeof(task->comm));
	}
	if (!task->written)
		task->since_ticks = walk->begun_ticks;
	task->original = task->new_original;
	task->written = task->affinity = stranger_table_keep_written(walk->now, task->target);
	if (stranger_is_contended(&task->pause))
		task->state = STRANGER_STATE_CONTENDED;
}

void stranger_walk_put(struct stranger_walk *walk, struct stranger_task *task)
{
	const struct affinity_calls *calls = walk->context->calls;
	struct cpuset cpus = *task->target;
	int r;

	if (task->target == task->new_original)
		widen_to_all(walk, &cpus);
	r = calls->set(calls->self, task->thread, &cpus);
	walk->report->wrote_ns = clock_monotonic_ns();
	if (!r && has_joined(walk, task)) {
		fill_all(&cpus);
		calls->set(calls->self, task->thread, &cpus);
		forget(task);
		return;
	}
	if (!r) {
		note_written(walk, task);
		return;
	}
	if (r == -ESRCH) {
		forget(task);
		return;
	}
	/*
	 * The kernel lets nobody move it, although it does not say so in its flags. The same errno
	 * refuses a mask without an online CPU, such as the original of one that was moved.
	 */
	if (r == -EINVAL && task->kind == STRANGER_KTHREAD && !task->written &&
	    cpuset_intersects(task->target, &walk->request->cpus.online)) {
		task->kind = STRANGER_BOUND;
		task->state = STRANGER_STATE_BOUND;
		return;
	}
	if (task->error != r)
		log_debug("stranger: cannot move thread %d (%s): %s", (int)task->thread, task->comm,
			  strerror(-r));
	task->state = STRANGER_STATE_FAILED;
	task->error = r;
	task->pause.until_ns = walk->request->now_ns + RETRY_NS;
	walk->report->nr_failed++;
}

static void write_target(struct stranger_walk *walk, struct stranger_task *task)
{
	const int r = check_still(walk, task);

	if (!r)
		stranger_walk_put(walk, task);
	else if (has_ended(r))
		forget(task);
	else
		note_failed(task, r);
}

static bool has_targets(const struct stranger_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++)
		if (table->tasks[i].target)
			return true;
	return false;
}

/* A task that another process set back gets what the file has of it already. */
static bool is_file_complete(const struct stranger_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct stranger_task *task = &table->tasks[i];

		if (task->target &&
		    (task->target != task->written || task->new_original != task->original))
			return false;
	}
	return true;
}

int stranger_walk_save(const struct stranger_walk *walk)
{
	int r = stranger_saved_save(walk->context->run_fd, walk->context->boot_id, walk->now);

	if (!r)
		stranger_note_drop(walk->context->note);
	return r;
}

/* Nothing is written, because nobody could restore it. */
static void give_up(struct stranger_table *table)
{
	for (uint32_t i = 0; i < table->nr; i++) {
		struct stranger_task *task = &table->tasks[i];

		if (task->target && !task->written)
			task->state = STRANGER_STATE_REACHES;
		task->target = NULL;
	}
}

static void write_targets(struct stranger_walk *walk)
{
	for (uint32_t i = 0; i < walk->now->nr; i++) {
		struct stranger_task *task = &walk->now->tasks[i];

		if (task->target)
			write_target(walk, task);
		task->target = NULL;
	}
}

static void change(struct stranger_walk *walk)
{
	const bool is_complete = is_file_complete(walk->now);

	if (!has_targets(walk->now))
		return;
	if (!is_complete)
		walk->report->error = stranger_walk_save(walk);
	if (walk->report->error && walk->request->mode == STRANGER_REPAIR) {
		give_up(walk->now);
		return;
	}
	write_targets(walk);
	if (!walk->report->error && !is_complete)
		walk->report->error = stranger_walk_save(walk);
}

/* --- reporting ----------------------------------------------------------------------------------- */

static int list_of(const struct cpuset *set, char **ret_list)
{
	char list[CPUSET_TEXT_MAX];

	cpuset_format(set, list, sizeof(list));
	*ret_list = strdup(list);
	return *ret_list ? 0 : -ENOMEM;
}

static int describe(const struct stranger_walk *walk, const struct stranger_task *task,
		    struct stranger_row *row)
{
	struct cpuset reached = walk->request->cpus.exclusive;
	const struct cpuset *own = own_cpus(walk, task->cgroup);

	*row = (struct stranger_row){
		.thread = task->thread,
		.process = task->process,
		.kind = task->kind,
		.state = task->state,
		.nr_reverts = task->pause.nr_reverts,
		.error = task->error,
	};
	memcpy(row->comm, task->comm, sizeof(row->comm));
	if (own)
		cpuset_subtract(&reached, own);
	cpuset_intersect(&reached, task->affinity);
	if (task->cgroup) {
		row->cgroup = strdup(task->cgroup);
		if (!row->cgroup)
			return -ENOMEM;
	}
	if (task->original && list_of(task->original, &row->original))
		return -ENOMEM;
	if (list_of(task->affinity, &row->affinity))
		return -ENOMEM;
	return list_of(&reached, &row->exclusive);
}

/* What was restored, or has ended, is of no more interest. */
static bool is_shown(const struct stranger_task *task)
{
	return task->written || task->state != STRANGER_STATE_MOVED;
}

static int describe_all(const struct stranger_walk *walk)
{
	struct stranger_report *report = walk->report;

	report->rows = calloc(walk->now->nr + 1, sizeof(*report->rows));
	if (!report->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < walk->now->nr; i++)
		if (is_shown(&walk->now->tasks[i]) &&
		    describe(walk, &walk->now->tasks[i], &report->rows[report->nr++]))
			return -ENOMEM;
	report->nr_held = stranger_table_nr_held(walk->now);
	return 0;
}

uint64_t stranger_thread_time_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int stranger_walk(const struct stranger_context *context, const struct stranger_request *request,
		  struct stranger_table *table, struct stranger_report *ret_report)
{
	struct stranger_report report cleanup_stranger_report = {0};
	struct stranger_table now cleanup_stranger_table = {0};
	const uint64_t begun_ns = stranger_thread_time_ns();
	struct stranger_walk walk = {
		.context = context,
		.request = request,
		.before = table,
		.now = &now,
		.report = &report,
		.nr_held = stranger_table_nr_held(table),
		.begun_ticks = context->calls->now_ticks(context->calls->self),
	};
	int r;

	r = procs_walk(context->proc_fd, look_at, &walk);
	free(walk.cgroup);
	if (r)
		return r;
	stranger_table_sort(&now);
	change(&walk);
	r = describe_all(&walk);
	/* What was written has to be known, even if nobody can be told. */
	stranger_table_fini(table);
	*table = now;
	now = (struct stranger_table){0};
	if (r)
		return r;
	report.cost_ns = stranger_thread_time_ns() - begun_ns;
	*ret_report = report;
	report = (struct stranger_report){0};
	return 0;
}
