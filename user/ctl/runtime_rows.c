// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of the runtime's containers and sandboxes, and the creations that wait for a
 * save. Nothing here decides anything.
 */
#include <stdlib.h>
#include <string.h>

#include "ctl/internal.h"
#include "ctl/runtime_private.h"
#include "lib/text.h"

void runtime_rows_drop_waiting(struct runtimes *runtimes, uint32_t index)
{
	pod_spec_free(runtimes->waiting[index].pod);
	runtimes->nr_waiting--;
	memmove(&runtimes->waiting[index], &runtimes->waiting[index + 1],
		(runtimes->nr_waiting - index) * sizeof(runtimes->waiting[0]));
}

/* NULL = no memory. */
static void *add_row(void **rows, uint32_t *nr, uint32_t *max, size_t size)
{
	void *grown;

	if (*nr == *max) {
		grown = realloc(*rows, (*max + 64) * size);
		if (!grown)
			return NULL;
		*rows = grown;
		*max += 64;
	}
	return memset((char *)*rows + (*nr)++ * size, 0, size);
}

struct runtime_row *runtime_rows_find(const struct runtimes *runtimes, const char *id)
{
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		if (!strcmp(runtimes->rows[i].id, id))
			return &runtimes->rows[i];
	return NULL;
}

struct runtime_row *runtime_rows_note(struct runtimes *runtimes, const char *id, const char *pod_id,
				      const char *uid, const char *name)
{
	struct runtime_row *row = runtime_rows_find(runtimes, id);

	if (!row) {
		row = add_row((void **)&runtimes->rows, &runtimes->nr_rows, &runtimes->max_rows,
			      sizeof(*row));
		if (!row)
			return NULL;
		row->serial = ++runtimes->last_serial;
	}
	text_copy(row->id, sizeof(row->id), id);
	text_copy(row->pod_id, sizeof(row->pod_id), pod_id);
	text_copy(row->uid, sizeof(row->uid), uid);
	text_copy(row->name, sizeof(row->name), name);
	return row;
}

void runtime_rows_set_cgroup(const struct runtimes *runtimes, const char *id, const char *cgroup)
{
	struct runtime_row *row = runtime_rows_find(runtimes, id);
	bool is_known = cgroup && strlen(cgroup) < sizeof(row->cgroup);

	if (row)
		text_copy(row->cgroup, sizeof(row->cgroup), is_known ? cgroup : "");
}

void runtime_rows_drop(struct runtimes *runtimes, struct runtime_row *row)
{
	*row = runtimes->rows[--runtimes->nr_rows];
}

void runtime_rows_note_sandbox(struct runtimes *runtimes, const char *id, const char *uid)
{
	struct runtime_sandbox *sandbox;

	for (uint32_t i = 0; i < runtimes->nr_sandboxes; i++)
		if (!strcmp(runtimes->sandboxes[i].id, id))
			return;
	sandbox = add_row((void **)&runtimes->sandboxes, &runtimes->nr_sandboxes,
			  &runtimes->max_sandboxes, sizeof(*sandbox));
	if (!sandbox)
		return;
	text_copy(sandbox->id, sizeof(sandbox->id), id);
	text_copy(sandbox->uid, sizeof(sandbox->uid), uid);
}

bool runtime_rows_has_sandbox(const struct runtimes *runtimes, const char *uid)
{
	for (uint32_t i = 0; i < runtimes->nr_sandboxes; i++)
		if (!strcmp(runtimes->sandboxes[i].uid, uid))
			return true;
	return false;
}

bool ctl_runtime_names(const struct controller *controller, const char *uid)
{
	const struct runtimes *runtimes = &controller->runtimes;

	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		if (!strcmp(runtimes->rows[i].uid, uid))
			return true;
	return false;
}

bool runtime_rows_has_instance(const struct runtimes *runtimes, const char *uid, const char *name)
{
	for (uint32_t i = 0; i < runtimes->nr_rows; i++)
		if (!strcmp(runtimes->rows[i].uid, uid) && !strcmp(runtimes->rows[i].name, name))
			return true;
	return false;
}
