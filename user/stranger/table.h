/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks that a walk has to remember: those whose affinity was changed, and those that may run
 * on exclusive CPUs. Many tasks have few different affinities, so each set is kept once.
 */
#ifndef STRANGER_TABLE_H
#define STRANGER_TABLE_H

#include "format/stranger_report.h"
#include "lib/cleanup.h"

/*
 * Beyond this many, further tasks are reported but not moved, and what their makers left to them is
 * not restored before there is room. A file with so many can be read again.
 */
#define STRANGER_MAX_HELD (1U << 15)

struct stranger_set; /* a set of CPUs, kept once in its table */

struct stranger_task {
	pid_t thread, process;
	/* Start of the thread, in clock ticks since boot: the id may be given to another one. */
	uint64_t start_ticks;
	enum stranger_kind kind;
	enum stranger_state state;
	char comm[STRANGER_COMM_LEN];
	char *cgroup; /* owned; NULL = not known */
	/* The sets belong to the table. */
	const struct cpuset *affinity;
	/* Both NULL unless we changed its affinity: what it was, and what we wrote last. */
	const struct cpuset *original, *written;
	/*
	 * The same as the last walk found it, if that walk changed it: a child that the task made
	 * between the look and the write began with these. Both NULL otherwise.
	 */
	const struct cpuset *past_original, *past_written;
	/* Children that were made since then began with what we wrote. */
	uint64_t since_ticks;
	struct stranger_pause pause;
	int error;
	/* Of the walk that runs: what to write; NULL = nothing. */
	const struct cpuset *target, *new_original;
};

struct stranger_table {
	uint32_t nr, capacity;
	struct stranger_task *tasks; /* owned; by thread once it is sorted */
	struct stranger_set *sets;   /* owned */
};

void stranger_table_fini(struct stranger_table *table);
#define cleanup_stranger_table cleanup(stranger_table_fini)
/* Add a task without any data; NULL = no memory. Pointers to others become invalid. */
struct stranger_task *stranger_table_add(struct stranger_table *table);
/*
 * Add a task whose sets are the table's and whose cgroup is not known, or replace the one with its
 * id. The table stays sorted. NULL = no memory. Pointers to others become invalid.
 */
struct stranger_task *stranger_table_put(struct stranger_table *table,
					 const struct stranger_task *task);
/* Remove the task that was added last. */
void stranger_table_drop(struct stranger_table *table);
/* The table's copy of a set; NULL = no memory, or there is no `set`. */
const struct cpuset *stranger_table_keep(struct stranger_table *table, const struct cpuset *set);
/* The same for one that was written to a task, but not to restore it. */
const struct cpuset *stranger_table_keep_written(struct stranger_table *table,
						 const struct cpuset *set);
void stranger_table_sort(struct stranger_table *table);

/*
 * The task with this thread id in a sorted table. A table that was read from the file may have two,
 * because a crash may leave what was written before or after it; then the one that fits `affinity`
 * is preferred. NULL = there is none.
 */
const struct stranger_task *stranger_table_find(const struct stranger_table *table, pid_t thread,
						const struct cpuset *affinity,
						const struct cpuset *online);
/*
 * Did we write this affinity to any task, or had we until the last walk? Those that the table has no more
 * count too, until the next walk begins a new table.
 */
bool stranger_table_wrote(const struct stranger_table *table, const struct cpuset *affinity,
			  const struct cpuset *online);
/* The number of tasks whose affinity was changed by us. */
uint32_t stranger_table_nr_held(const struct stranger_table *table);

/* Is this affinity what we wrote to the task, as far as these CPUs are online? */
bool stranger_is_as_written(const struct stranger_task *task, const struct cpuset *affinity,
			    const struct cpuset *online);
/* The same for what we had written until the last walk changed it. */
bool stranger_is_as_past(const struct stranger_task *task, const struct cpuset *affinity,
			 const struct cpuset *online);

#endif
