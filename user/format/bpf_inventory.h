/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is loaded into the kernel's BPF, for `pinfold prog`: lists that grow, because a row that is
 * left out would look like a program that is not loaded.
 */
#ifndef FORMAT_BPF_INVENTORY_H
#define FORMAT_BPF_INVENTORY_H

#include "format/rows.h"

struct bpf_inventory {
	bool is_timed;	   /* the kernel measures run times */
	bool without_maps; /* nobody asks for the maps, whose entries take long to count */
	int error;	   /* -ENOMEM = rows are missing; 0 */
	uint32_t nr_progs, nr_maps;
	struct prog_row *progs; /* owned, as the maps */
	struct map_row *maps;
};

/*
 * An empty row at the end, whose figures are unknown (-1). It moves when the next one is added.
 * NULL: no memory, which `error` records.
 */
struct prog_row *bpf_inventory_add_prog(struct bpf_inventory *inventory);
struct map_row *bpf_inventory_add_map(struct bpf_inventory *inventory);
/* A row for an object that is not loaded, which says why. */
void bpf_inventory_add_missing(struct bpf_inventory *inventory, const char *object,
			       const char *reason);
/* Free the rows; the inventory is empty afterwards. */
void bpf_inventory_fini(struct bpf_inventory *inventory);
#define cleanup_bpf_inventory cleanup(bpf_inventory_fini)

#endif
