// SPDX-License-Identifier: Apache-2.0
/*
 * One task that got an exclusive CPU. The owner of the CPU waits until the new affinity is written, so
 * nothing before that takes memory, reads a file or looks at all tasks of the table.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "stranger/saved.h"
#include "stranger/walk_private.h"

/*
 * Is it a stranger that nobody knew, or one that another process set back? Of one that gets other CPUs
 * than before the file would have to name both; and one that has what was written to others is
 * probably a child of theirs, whose original only a walk finds.
 */
static bool is_simple(const struct stranger_task *task)
{
	return task->target && task->target != task->new_original &&
	       (!task->written ||
		(task->target == task->written && task->new_original == task->original));
}

static int look_at_seen(struct stranger_walk *walk, const struct noise_stranger *seen,
			struct stranger_task *task)
{
	const struct cpuset *online = &walk->request->cpus.online;
	const struct affinity_calls *calls = walk->context->calls;
	const struct stranger_task *known;
	struct cpuset affinity;
	int r = calls->get(calls->self, (pid_t)seen->pid, &affinity);

	if (r)
		return r;
	known = stranger_table_find(walk->before, (pid_t)seen->pid, &affinity, online);
	*task = (struct stranger_task){
		.thread = (pid_t)seen->pid,
		.process = (pid_t)seen->process,
		.start_ticks = seen->start_ns / (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK)),
		.kind = STRANGER_TASK,
		.affinity = stranger_table_keep(walk->now, &affinity),
	};
	if (!task->affinity || stranger_table_wrote(walk->before, &affinity, online))
		return -EAGAIN;
	r = known && known->start_ticks == task->start_ticks
		    ? stranger_walk_inherit(walk, known, task)
		    : 0;
	if (!r)
		r = stranger_walk_decide(walk, task);
	if (r)
		return r;
	return is_simple(task) ? 0 : -EAGAIN;
}

/* The walk that follows reads its name and its cgroup, because it finds none in the table. */
static void correct(struct stranger_walk *walk, const struct noise_stranger *seen,
		    struct stranger_task *task)
{
	if (!task->written && stranger_note_write(walk->context->note, task))
		return;
	task = stranger_table_put(walk->now, task);
	if (!task)
		return;
	crash_point("stranger-noted");
	stranger_walk_put(walk, task);
	task->target = NULL;
	crash_point("stranger-corrected");
	if (walk->report->first.thread)
		memcpy(walk->report->first.comm, seen->comm, sizeof(seen->comm));
	walk->report->error = stranger_walk_save(walk);
}

void stranger_correct(const struct stranger_context *context,
		      const struct stranger_request *request, const struct noise_stranger *seen,
		      struct stranger_table *table, struct stranger_report *ret_report)
{
	struct stranger_report report = {0};
	const uint64_t begun_ns = stranger_thread_time_ns();
	struct stranger_walk walk = {
		.context = context,
		.request = request,
		.before = table,
		.now = table,
		.report = &report,
		.nr_held = table->nr, /* at most */
		.begun_ticks = context->calls->now_ticks(context->calls->self),
	};
	struct stranger_task task = {0};

	if (!look_at_seen(&walk, seen, &task))
		correct(&walk, seen, &task);
	else
		report = (struct stranger_report){0};
	report.cost_ns = stranger_thread_time_ns() - begun_ns;
	*ret_report = report;
}
