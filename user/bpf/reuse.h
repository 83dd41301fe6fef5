/* SPDX-License-Identifier: Apache-2.0 */
/* Which maps in force are reused by programs that are being loaded. */
#ifndef BPF_REUSE_H
#define BPF_REUSE_H

#include <bpf/libbpf.h>

#include "bpf/bpf_object.h"
#include "bpf/inherit.h"

/*
 * Before the load: let `object` use the maps in force that have the expected properties,
 * including their content. A frozen map is not used, and is added to the report.
 */
int reuse_maps(struct bpf_object *object, const char *pin_dir, const struct inherited *inherited,
	       struct pins_report *report);
/*
 * The same for a map that the programs address as memory, which is made here if none is
 * in force.
 */
int reuse_memory(const struct bpf_object_memory *memory, const char *pin_dir,
		 const struct inherited *inherited, struct pins_report *report);
/*
 * After the load: if the map `fd` called `name` is not the one in force (which has another
 * size, or is frozen), copy the content of its predecessor, so that the new programs guard
 * from their first instruction. Content that no longer fits is written by the next
 * publication.
 */
int reuse_content(const char *pin_dir, const struct inherited *inherited, const char *name, int fd);

#endif
