// SPDX-License-Identifier: Apache-2.0
#include "stranger/table.h"

#include <stdlib.h>
#include <string.h>

struct stranger_set {
	struct stranger_set *next;
	bool is_written; /* by us, to a task that the table has or had */
	struct cpuset set;
};

void stranger_table_fini(struct stranger_table *table)
{
	struct stranger_set *next;

	for (uint32_t i = 0; i < table->nr; i++)
		free(table->tasks[i].cgroup);
	free(table->tasks);
	for (struct stranger_set *set = table->sets; set; set = next) {
		next = set->next;
		free(set);
	}
	*table = (struct stranger_table){0};
}

struct stranger_task *stranger_table_add(struct stranger_table *table)
{
	struct stranger_task *task;

	if (table->nr == table->capacity) {
		const uint32_t capacity = table->capacity ? table->capacity * 2 : 64;
		struct stranger_task *bigger =
			realloc(table->tasks, capacity * sizeof(*table->tasks));

		if (!bigger)
			return NULL;
		table->tasks = bigger;
		table->capacity = capacity;
	}
	task = &table->tasks[table->nr++];
	*task = (struct stranger_task){0};
	return task;
}

struct stranger_task *stranger_table_put(struct stranger_table *table,
					 const struct stranger_task *task)
{
	struct stranger_task *at;
	uint32_t i = table->nr;

	while (i && table->tasks[i - 1].thread > task->thread)
		i--;
	if (i && table->tasks[i - 1].thread == task->thread) {
		at = &table->tasks[i - 1];
		free(at->cgroup);
	} else if (stranger_table_add(table)) {
		at = &table->tasks[i];
		memmove(at + 1, at, (table->nr - 1 - i) * sizeof(*at));
	} else {
		return NULL;
	}
	*at = *task;
	return at;
}

void stranger_table_drop(struct stranger_table *table)
{
	free(table->tasks[--table->nr].cgroup);
}

static struct stranger_set *keep(struct stranger_table *table, const struct cpuset *set)
{
	struct stranger_set *kept;

	if (!set)
		return NULL;
	for (kept = table->sets; kept; kept = kept->next)
		if (cpuset_equal(&kept->set, set))
			return kept;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = (struct stranger_set){.next = table->sets, .set = *set};
	table->sets = kept;
	return kept;
}

const struct cpuset *stranger_table_keep(struct stranger_table *table, const struct cpuset *set)
{
	const struct stranger_set *kept = keep(table, set);

	return kept ? &kept->set : NULL;
}

const struct cpuset *stranger_table_keep_written(struct stranger_table *table,
						 const struct cpuset *set)
{
	struct stranger_set *kept = keep(table, set);

	if (!kept)
		return NULL;
	kept->is_written = true;
	return &kept->set;
}

static int by_thread(const void *left, const void *right)
{
	const struct stranger_task *a = left, *b = right;

	return (a->thread > b->thread) - (a->thread < b->thread);
}

void stranger_table_sort(struct stranger_table *table)
{
	if (table->nr)
		qsort(table->tasks, table->nr, sizeof(*table->tasks), by_thread);
}

bool stranger_is_as_written(const struct stranger_task *task, const struct cpuset *affinity,
			    const struct cpuset *online)
{
	return task->written && stranger_shows(affinity, task->written, online);
}

bool stranger_is_as_past(const struct stranger_task *task, const struct cpuset *affinity,
			 const struct cpuset *online)
{
	return task->past_written && stranger_shows(affinity, task->past_written, online);
}

const struct stranger_task *stranger_table_find(const struct stranger_table *table, pid_t thread,
						const struct cpuset *affinity,
						const struct cpuset *online)
{
	const struct stranger_task wanted = {.thread = thread};
	const struct stranger_task *end = table->tasks + table->nr, *found;

	if (!table->nr)
		return NULL;
	found = bsearch(&wanted, table->tasks, table->nr, sizeof(*table->tasks), by_thread);
	if (!found)
		return NULL;
	while (found > table->tasks && found[-1].thread == thread)
		found--;
	for (const struct stranger_task *task = found; task < end && task->thread == thread; task++)
		if (stranger_is_as_written(task, affinity, online))
			return task;
	return found;
}

/* There are few sets and many tasks. */
bool stranger_table_wrote(const struct stranger_table *table, const struct cpuset *affinity,
			  const struct cpuset *online)
{
	for (const struct stranger_set *kept = table->sets; kept; kept = kept->next)
		if (kept->is_written && stranger_shows(affinity, &kept->set, online))
			return true;
	return false;
}

uint32_t stranger_table_nr_held(const struct stranger_table *table)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr; i++)
		nr += table->tasks[i].written != NULL;
	return nr;
}
