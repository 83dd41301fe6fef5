// SPDX-License-Identifier: Apache-2.0
/*
 * Where the files are is internal to the runtimes. A runtime that has them elsewhere is not an error:
 * its containers have no known names.
 */
#include "discover/bundles.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"
#include "lib/text.h"

/* Below the state directory, around the id. k3s and rke2 have their own containerd. */
static const struct layout {
	const char *before, *after;
} layouts[] = {
	{"containerd/io.containerd.runtime.v2.task/k8s.io", "config.json"},
	{"k3s/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json"},
	{"containers/storage/overlay-containers", "userdata/config.json"},
};

/* --- lists ------------------------------------------------------------------------------------ */

static int compare_ids(const void *left, const void *right)
{
	const struct bundles_row *a = left, *b = right;

	return strcmp(a->id, b->id);
}

static void list_fini(struct bundles_list *list)
{
	free(list->rows);
	*list = (struct bundles_list){0};
}

/* NULL = no memory. Rows may move. */
static struct bundles_row *list_add(struct bundles_list *list)
{
	if (list->nr == list->max) {
		const uint32_t max = list->max ? list->max * 2 : 64;
		struct bundles_row *rows = realloc(list->rows, max * sizeof(*rows));

		if (!rows)
			return NULL;
		list->rows = rows;
		list->max = max;
	}
	list->rows[list->nr] = (struct bundles_row){0};
	return &list->rows[list->nr++];
}

/* --- one file --------------------------------------------------------------------------------- */

static void note_problem(struct bundles *bundles, const char *path, int error)
{
	if (!*bundles->problem)
		snprintf(bundles->problem, sizeof(bundles->problem), "%.200s: %s", path,
			 error == -EINVAL ? "not a bundle's config.json" : strerror(-error));
}

/* -ENOENT: this runtime does not have the container. */
static int read_layout(struct bundles *bundles, const struct layout *layout, const char *id,
		       struct bundle *ret_bundle)
{
	char path[PATH_MAX], *data cleanup_free = NULL;
	size_t nr_bytes;
	int r;

	snprintf(path, sizeof(path), "%s/%s/%s/%s", bundles->state_dir, layout->before, id,
		 layout->after);
	r = file_read_all(AT_FDCWD, path, BUNDLE_MAX_BYTES, &data, &nr_bytes);
	if (!r)
		r = bundle_parse(data, nr_bytes, ret_bundle);
	if (r && r != -ENOENT)
		note_problem(bundles, path, r);
	return r;
}

static bool read_bundle(struct bundles *bundles, const char *id, struct bundle *ret_bundle)
{
	if (!*bundles->state_dir)
		return false;
	if (bundles->nr_reads == BUNDLES_MAX_READS) {
		bundles->nr_left++;
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		int r = read_layout(bundles, &layouts[i], id, ret_bundle);

		if (r == -ENOENT)
			continue;
		bundles->nr_reads++;
		return !r;
	}
	return false;
}

/* --- a scan ----------------------------------------------------------------------------------- */

void bundles_begin(struct bundles *bundles)
{
	bundles->collected.nr = 0;
	bundles->nr_reads = bundles->nr_left = 0;
	*bundles->problem = '\0';
}

const struct bundle *bundles_find(struct bundles *bundles, const char *id)
{
	struct bundles_row wanted = {0}, *row;
	const struct bundles_row *known = NULL;

	text_copy(wanted.id, sizeof(wanted.id), id);
	if (bundles->known.nr)
		known = bsearch(&wanted, bundles->known.rows, bundles->known.nr, sizeof(wanted),
				compare_ids);
	if (known)
		wanted = *known;
	else if (!read_bundle(bundles, id, &wanted.bundle))
		return NULL;
	row = list_add(&bundles->collected);
	if (!row)
		return NULL;
	*row = wanted;
	return &row->bundle;
}

void bundles_end(struct bundles *bundles)
{
	list_fini(&bundles->known);
	bundles->known = bundles->collected;
	bundles->collected = (struct bundles_list){0};
	if (bundles->known.nr)
		qsort(bundles->known.rows, bundles->known.nr, sizeof(bundles->known.rows[0]),
		      compare_ids);
}

void bundles_fini(struct bundles *bundles)
{
	list_fini(&bundles->known);
	list_fini(&bundles->collected);
}
