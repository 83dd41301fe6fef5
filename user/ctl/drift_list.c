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

/* Drop the oldest closed row, or the oldest row if all are open. */
static void drop_one(struct drift_list *list)
{
	uint32_t victim = 0;

	for (uint32_t i = 0; i < list->nr_rows; i++)
		if (list->rows[i].repaired_ns) {
			victim = i;
			break;
		}
	list->has_dropped_open |= !list->rows[victim].repaired_ns;
	memmove(&list->rows[victim], &list->rows[victim + 1],
		(list->nr_rows - victim - 1) * sizeof(list->rows[0]));
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
