/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How full the hash maps of the BPF programs are, for the page of metrics. The kernel keeps no count
 * that a program may read of most of them, so all entries are read; that takes long, and is done at most
 * every ten seconds.
 */
#ifndef CTL_MAP_SPACE_H
#define CTL_MAP_SPACE_H

#include <stdint.h>

#include "format/rows.h"

struct controller;

#define MAP_SPACE_ROWS 32

/* Maps of one name, as two versions of an object have them, are one row. */
struct map_space_row {
	char name[ROW_NAME_MAX];
	uint64_t nr_used, max_entries;
};

struct map_space {
	uint64_t counted_ns; /* 0 = never */
	uint32_t nr;
	struct map_space_row rows[MAP_SPACE_ROWS];
};

/* Borrowed until the next call; no rows without BPF programs. */
const struct map_space *ctl_map_space(struct controller *controller);

#endif
