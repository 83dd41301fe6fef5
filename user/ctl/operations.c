// SPDX-License-Identifier: Apache-2.0
/*
 * The list of operations that run in the kernel. chains.c has the chains that they stop,
 * waits.c reports them, and controller.c handles their end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/operations.h"

struct operation *operations_find(const struct operations *operations, const char *uid)
{
	for (uint32_t i = 0; i < operations->nr; i++)
		if (!strcmp(operations->rows[i].step.uid, uid))
			return &operations->rows[i];
	return NULL;
}

struct operation *operations_find_at(const struct operations *operations, const char *path)
{
	for (uint32_t i = 0; i < operations->nr; i++)
		if (!strcmp(operations->rows[i].step.path, path))
			return &operations->rows[i];
	return NULL;
}

bool operations_repairs(const struct operations *operations, const char *path, enum group_file file)
{
	for (uint32_t i = 0; i < operations->nr; i++) {
		const struct operation *operation = &operations->rows[i];

		if (operation->is_repair && operation->step.file == file &&
		    !strcmp(operation->step.path, path))
			return true;
	}
	return false;
}

int operations_reserve(struct operations *operations)
{
	struct operation *grown;

	if (operations->nr < operations->max)
		return 0;
	grown = realloc(operations->rows, (operations->max + 8) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	operations->rows = grown;
	operations->max += 8;
	return 0;
}

struct operation *operations_begin(struct operations *operations, enum operation_kind kind,
				   const struct step *step, uint64_t now_ns)
{
	struct operation *operation = &operations->rows[operations->nr++];

	*operation = (struct operation){
		.kind = kind,
		.step = *step,
		.since_ns = now_ns,
	};
	operation->step.old = NULL;
	operation->step.value = step->value ? strdup(step->value) : NULL;
	return operation;
}

void operations_end(struct operations *operations, struct operation *operation)
{
	free(operation->step.value);
	*operation = operations->rows[--operations->nr];
}

void operations_fini(struct operations *operations)
{
	while (operations->nr)
		operations_end(operations, &operations->rows[0]);
	free(operations->rows);
}
