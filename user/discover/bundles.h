/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to this room: whom containers belong to, from the OCI bundles that containerd and CRI-O
 * keep. A bundle is written once, when its container is created, so it is read once and remembered
 * for as long as scans find the container. Only the thread of the scan that runs uses this.
 */
#ifndef DISCOVER_BUNDLES_H
#define DISCOVER_BUNDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/bundle.h"
#include "format/kubepods.h"
#include "format/rows.h"

/* The command line and the environment of a container are in the file too. */
#define BUNDLE_MAX_BYTES (1 << 20)
/* Files that one scan reads; the next one continues. A node has some hundred containers. */
#define BUNDLES_MAX_READS 512

struct bundles_row {
	char id[KUBEPODS_ID_MAX];
	struct bundle bundle;
};

struct bundles_list {
	uint32_t nr, max;
	struct bundles_row *rows; /* owned */
};

struct bundles {
	const char *state_dir;	       /* borrowed; "" = nothing is read */
	struct bundles_list known;     /* ascending by id: those of the last scan */
	struct bundles_list collected; /* in no order: those of the scan that runs */
	uint32_t nr_reads, nr_left; /* of the scan that runs: files, and those for the next one */
	char problem
		[ROW_DETAIL_MAX]; /* of the scan that runs: the first file that is not a bundle */
};

void bundles_begin(struct bundles *bundles);
/*
 * The bundle of a container, each of which may be asked for once in a scan. NULL = not known: there
 * is none, it cannot be read, or this scan has read enough. Valid until the next call.
 */
const struct bundle *bundles_find(struct bundles *bundles, const char *id);
/* Forget the containers that this scan did not ask for. */
void bundles_end(struct bundles *bundles);
void bundles_fini(struct bundles *bundles);

#endif
