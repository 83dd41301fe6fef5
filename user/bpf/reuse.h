/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that are being loaded take over of the maps in force. */
#ifndef BPF_REUSE_H
#define BPF_REUSE_H

#include <bpf/libbpf.h>

#include "bpf/inherit.h"

/*
 * Before the load: have `object` use the maps in force that are as we would make them, content
 * and all. One that was frozen is left, and named in the report.
 */
int reuse_maps(struct bpf_object *object, const char *pin_dir, const struct inherited *inherited,
	       struct pins_report *report);
/*
 * After the load: a map `fd` called `name` that is not the one in force (which has another size,
 * or is frozen) starts with its predecessor's content, so that the new programs guard from
 * their first instruction. What does not fit any more is written by the next publication.
 */
int reuse_content(const char *pin_dir, const struct inherited *inherited, const char *name, int fd);

#endif
