/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map `meta`, which records for each object the ABI, the mechanism and the digest of what is
 * pinned. All objects share it. No program uses it.
 */
#ifndef BPF_META_H
#define BPF_META_H

#include <stdbool.h>

#include <pinfold/abi.h>

#include "bpf/inherit.h"

#define PIN_META "meta"

/*
 * Open the map pinned below `pin_dir`, or one whose pin was moved, or create one; it is pinned
 * afterwards. Wrong pins are added to the report. The caller owns *ret_fd.
 */
int meta_open(const char *pin_dir, const struct inherited *inherited, struct pins_report *report,
	      int *ret_fd);
int meta_read(int meta_fd, enum bpf_object_id id, struct bpf_object_meta *ret_meta);
/* `digest` 0: the object is incomplete. Does nothing if there is no map (-1). */
int meta_write(int meta_fd, enum bpf_object_id id, enum mechanism mechanism, uint64_t digest);
/* May this version take over what the agent that wrote the entry has pinned? */
bool meta_is_compatible(const struct bpf_object_meta *meta);
/*
 * -ESTALE: an object has a newer ABI that this version cannot take over. Objects share maps, so
 * none of them may be changed.
 */
int meta_check_version(int meta_fd);
/* The same for the pins below `pin_dir`; 0 if nothing is pinned. */
int meta_check_pinned(const char *pin_dir);
/* Clear the entry of an object that is no longer pinned. */
int meta_clear(int meta_fd, enum bpf_object_id id);
/* The map pinned below `pin_dir`, to be closed by the caller. -ENOENT. */
int meta_open_pinned(const char *pin_dir, int *ret_fd);

#endif
