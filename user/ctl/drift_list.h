/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of drift for `pinfold drift`: which managed files differ from the ledger or did,
 * and who changed them. A row is open while the file differs.
 */
#ifndef CTL_DRIFT_LIST_H
#define CTL_DRIFT_LIST_H

#include "ctl/ports.h"

#define DRIFT_LIST_ROWS 128

struct drift_list {
	const struct clock_port *clock;
	bool has_dropped_open; /* since the start; the file may differ still */
	uint32_t nr_rows;
	struct drift_row rows[DRIFT_LIST_ROWS]; /* newest last; closed ones are dropped first */
};

/* An empty list; the clock is borrowed for its life. */
void drift_list_init(struct drift_list *list, const struct clock_port *clock);

/* The open row of this cgroup and file, or NULL. */
struct drift_row *drift_list_find_open(struct drift_list *list, const char *path,
				       enum group_file file);
/* The row that drift_list_open() would drop to have room for this one; NULL = it drops none. Borrowed. */
struct drift_row *drift_list_victim(struct drift_list *list, const char *path,
				    enum group_file file);
/* Open a row, or return the open one; sets since_ns. Never NULL: a full list drops a row. */
struct drift_row *drift_list_open(struct drift_list *list, const char *path, enum group_file file);
/* Close the row: the file was repaired (ACTION_REPAIR), or no longer differs (ACTION_NONE). */
void drift_list_close(struct drift_list *list, struct drift_row *row, uint32_t action);
uint32_t drift_list_nr_open(const struct drift_list *list, enum group_file file);

#endif
