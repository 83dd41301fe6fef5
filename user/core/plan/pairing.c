// SPDX-License-Identifier: Apache-2.0
#include "core/plan/pairing.h"

#include <errno.h>
#include <string.h>

static int compare_groups(const void *a, const void *b)
{
	const struct group *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static int compare_path(const void *path, const void *group)
{
	return strcmp(path, (*(const struct group *const *)group)->path);
}

const struct group *pairing_find(const struct pairing *pairing, const char *path)
{
	const struct group **found;

	if (!pairing->nr)
		return NULL;
	found = bsearch(path, pairing->sorted, pairing->nr, sizeof(pairing->sorted[0]),
			compare_path);
	return found ? *found : NULL;
}

int pairing_make(const struct group_tree *tree, struct pairing *ret_pairing)
{
	struct pairing pairing = {.nr = tree->nr_groups};

	pairing.sorted = calloc(pairing.nr ? pairing.nr : 1, sizeof(pairing.sorted[0]));
	if (!pairing.sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_groups; i++)
		pairing.sorted[i] = &tree->groups[i];
	qsort(pairing.sorted, pairing.nr, sizeof(pairing.sorted[0]), compare_groups);
	*ret_pairing = pairing;
	return 0;
}
