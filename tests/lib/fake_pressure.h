/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pressure of cgroups as a test says it is. A pass ends at once, or when the test says.
 */
#ifndef TESTS_FAKE_PRESSURE_H
#define TESTS_FAKE_PRESSURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ports.h"
#include "format/bpf_inventory.h"

#define FAKE_PRESSURE_ROWS  64
#define FAKE_PRESSURE_CPUS  1024
#define FAKE_PRESSURE_CELLS PRESSURE_CELLS_MAX

static struct {
	const struct pressure_sink *sink;
	/* What the kernel has, of all cgroups alike but for `of`. */
	struct pressure_row all, of;
	int error;  /* of the call */
	int result; /* of the pass */
	bool is_slow;
	uint32_t room; /* for so many cgroups; 0 = for all */
	struct pressure_row rows[FAKE_PRESSURE_ROWS];
	uint32_t nr;
	struct pressure_cell cells[FAKE_PRESSURE_CELLS];
	uint32_t nr_cells;
	/* What the kernel has of each CPU, for all cgroups; `cells` and `read_ns` are in the rows. */
	uint32_t cpus[FAKE_PRESSURE_CPUS][PRESSURE_CPU_KIND_NR];
	unsigned int nr_passes;
} fake_pressure;

static inline int fake_pressure_compare(const void *left, const void *right)
{
	const struct pressure_row *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static inline void fake_pressure_end(void)
{
	fake_pressure.sink->sampled(fake_pressure.sink->self, fake_pressure.result,
				    fake_pressure.rows, fake_pressure.result ? 0 : fake_pressure.nr,
				    fake_pressure.cells);
}

static inline void fake_pressure_fill(const struct pressure_row *wanted, struct pressure_row *row)
{
	const bool is_of = wanted->cgroup_id == fake_pressure.of.cgroup_id;

	*row = is_of ? fake_pressure.of : fake_pressure.all;
	row->cgroup_id = wanted->cgroup_id;
	row->first_cell = wanted->first_cell;
	row->nr_cells = wanted->nr_cells;
	if (!row->nr_cells || row->state != PRESSURE_MEASURED)
		row->cells = PRESSURE_CELLS_UNREAD;
	for (uint32_t i = 0; i < row->nr_cells; i++) {
		struct pressure_cell *cell = &fake_pressure.cells[row->first_cell + i];

		memcpy(cell->time_ns, fake_pressure.cpus[cell->cpu], sizeof(cell->time_ns));
	}
}

static inline int fake_pressure_sample(void *self, const struct pressure_wanted *wanted)
{
	if (fake_pressure.error)
		return fake_pressure.error;
	if (wanted->nr_rows > FAKE_PRESSURE_ROWS || wanted->nr_cells > FAKE_PRESSURE_CELLS)
		abort();
	memcpy(fake_pressure.cells, wanted->cells, wanted->nr_cells * sizeof(*wanted->cells));
	for (uint32_t i = 0; i < wanted->nr_rows; i++)
		fake_pressure_fill(&wanted->rows[i], &fake_pressure.rows[i]);
	fake_pressure.nr = wanted->nr_rows;
	if (fake_pressure.room && fake_pressure.nr > fake_pressure.room)
		fake_pressure.nr = fake_pressure.room;
	qsort(fake_pressure.rows, fake_pressure.nr, sizeof(*fake_pressure.rows),
	      fake_pressure_compare);
	fake_pressure.nr_cells = wanted->nr_cells;
	fake_pressure.nr_passes++;
	if (!fake_pressure.is_slow)
		fake_pressure_end();
	return 0;
}

static inline void fake_pressure_waits_in(void *self, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "cgroup_iter_seq_start");
}

static inline void fake_pressure_list(void *self, struct bpf_inventory *inventory)
{
	*bpf_inventory_add_prog(inventory) =
		(struct prog_row){.object = "pressure", .name = "read_pressure"};
	*bpf_inventory_add_map(inventory) =
		(struct map_row){.name = "pressure_rows", .objects = "pressure", .used = -1};
}

static const struct pressure_port fake_pressure_port = {
	.sample = fake_pressure_sample,
	.list = fake_pressure_list,
	.waits_in = fake_pressure_waits_in,
};

#endif
