// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "ctl/clock.h"
#include "ctl/drift_list.h"
#include "lib/text.h"

void drift_list_init(struct drift_list *list, const struct clock_port *clock)
{
	memset(list, 0, sizeof(*list));
	list->clock = clock;
}

struct drift_row *drift_list_find_open(struct drift_list *list, const char *path,
				       enum group_file file)
{
	for (uint32_t i = 0; i < list->nr_rows; i++) {
		struct drift_row *row = &list->rows[i];

		if (!row->repaired_ns && row->attribute == file && !strcmp(row->path, path))
			return row;
	}
	return NULL;
}

/* The oldest closed row, or the oldest row if all are open. */
static struct drift_row *find_victim(struct drift_list *list)
{
	for (uint32_t i = 0; i < list->nr_rows; i++)
		if (list->rows[i].repaired_ns)
			return &list->rows[i];
	return &list->rows[0];
}

struct drift_row *drift_list_victim(struct drift_list *list, const char *path, enum group_file file)
{
	return list->nr_rows == DRIFT_LIST_ROWS && !drift_list_find_open(list, path, file)
		       ? find_victim(list)
		       : NULL;
}

static void drop_one(struct drift_list *list)
{
	struct drift_row *victim = find_victim(list);
	const size_t nr_behind = list->nr_rows - (size_t)(victim - list->rows) - 1;

	list->has_dropped_open |= !victim->repaired_ns;
	memmove(victim, victim + 1, nr_behind * sizeof(*victim));
	list->nr_rows--;
}

struct drift_row *drift_list_open(struct drift_list *list, const char *path, enum group_file file)
{
	struct drift_row *row = drift_list_find_open(list, path, file);

	if (row)
		return row;
	if (list->nr_rows == DRIFT_LIST_ROWS)
		drop_one(list);
	row = &list->rows[list->nr_rows++];
	*row = (struct drift_row){
		.attribute = file,
		.cause = CAUSE_UNKNOWN,
		.since_ns = list->clock->wall_ns(list->clock->self),
		.opened_ns = clock_now_ns(list->clock),
		.action = ACTION_NONE,
	};
	text_copy(row->path, sizeof(row->path), path);
	return row;
}

void drift_list_close(struct drift_list *list, struct drift_row *row, uint32_t action)
{
	row->repaired_ns = list->clock->wall_ns(list->clock->self);
	row->action = action;
}

uint32_t drift_list_nr_open(const struct drift_list *list, enum group_file file)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < list->nr_rows; i++)
		nr += !list->rows[i].repaired_ns && list->rows[i].attribute == file;
	return nr;
}
