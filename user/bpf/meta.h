/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map `meta`, which says for each part what is pinned: of which ABI, attached how, with
 * which digest. All parts share it. No program uses it.
 */
#ifndef BPF_META_H
#define BPF_META_H

#include <pinfold/abi.h>

#include "bpf/inherit.h"

#define PIN_META "meta"

/*
 * The map that is pinned below `pin_dir`, or one that was moved, or a new one; it is pinned
 * afterwards. What was wrong with the pin is added to the report. The caller owns *ret_fd.
 */
int meta_open(const char *pin_dir, const struct inherited *inherited, struct pins_report *report,
	      int *ret_fd);
int meta_read(int meta_fd, enum part_id id, struct part_meta *ret_meta);
/* `digest` 0: the part is not whole. Nothing to do where there is no map (-1). */
int meta_write(int meta_fd, enum part_id id, enum mechanism mechanism, uint64_t digest);
/* -ESTALE: a part is of a newer ABI. Parts share maps, so that makes all untouchable for us. */
int meta_check_version(int meta_fd);
/* The same of what is pinned below `pin_dir`; 0 when nothing is. */
int meta_check_pinned(const char *pin_dir);

#endif
