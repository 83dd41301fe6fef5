/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the list of all that is loaded, for `pinfold prog`. Asks the kernel about descriptors
 * that its callers hold; what it does not answer stays unknown.
 */
#ifndef BPF_INVENTORY_H
#define BPF_INVENTORY_H

#include <stdbool.h>

#include <bpf/libbpf.h>

#include "format/bpf_inventory.h"

/* `section` as in the object file: "lsm/file_open". Neither attached nor pinned yet. */
void inventory_fill_prog(struct prog_row *row, const char *object, const char *name,
			 const char *section, int fd, bool is_timed);

/* A map that is listed already gets another user. `name` NULL: as the kernel calls it. */
void inventory_add_map(struct bpf_inventory *inventory, const char *object, const char *name,
		       int fd, bool is_pinned);
/* All maps of a program, also those that libbpf made for its constants. */
void inventory_add_maps_of(struct bpf_inventory *inventory, const char *object, int prog_fd,
			   bool is_pinned);
/* All that is loaded of an object that is not pinned. `why_not_attached` is "" if it is attached. */
void inventory_add_object(struct bpf_inventory *inventory, const char *name,
			  const struct bpf_object *object, const char *why_not_attached);

#endif
