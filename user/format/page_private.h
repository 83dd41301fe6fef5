/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page that are drawings rather than tables. */
#ifndef FORMAT_PAGE_PRIVATE_H
#define FORMAT_PAGE_PRIVATE_H

#include "format/page.h"

/* page_map.c: the CPUs by NUMA node and core, coloured by owner, and below them the owners. */
void page_append_map(struct json_object *cpus, struct text *text);
/* page_waits.c: the containers that waited most, each as a bar that is divided by cause. */
void page_append_waits(struct json_object *containers, struct text *text);
/* page_history.c: the last ten minutes of pods as lines that end at `end_ns`. */
void page_append_history(struct json_object *histories, uint64_t end_ns, struct text *text);

#endif
