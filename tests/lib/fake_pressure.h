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

#define FAKE_PRESSURE_ROWS 64

static struct {
	const struct pressure_sink *sink;
	/* What the kernel has, of all cgroups alike but for `of`. */
	struct pressure_row all, of;
	int error;  /* of the call */
	int result; /* of the pass */
	bool is_slow;
	struct pressure_row rows[FAKE_PRESSURE_ROWS];
	uint32_t nr;
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
				    fake_pressure.rows,
				    fake_pressure.result ? 0 : fake_pressure.nr);
}

static inline int fake_pressure_sample(void *self, const uint64_t *cgroup_ids, uint32_t nr)
{
	if (fake_pressure.error)
		return fake_pressure.error;
	if (nr > FAKE_PRESSURE_ROWS)
		abort();
	for (uint32_t i = 0; i < nr; i++) {
		fake_pressure.rows[i] = cgroup_ids[i] == fake_pressure.of.cgroup_id
						? fake_pressure.of
						: fake_pressure.all;
		fake_pressure.rows[i].cgroup_id = cgroup_ids[i];
	}
	qsort(fake_pressure.rows, nr, sizeof(*fake_pressure.rows), fake_pressure_compare);
	fake_pressure.nr = nr;
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
		(struct map_row){.name = "pressure_rows", .objects = "pressure"};
}

static const struct pressure_port fake_pressure_port = {
	.sample = fake_pressure_sample,
	.list = fake_pressure_list,
	.waits_in = fake_pressure_waits_in,
};

#endif
