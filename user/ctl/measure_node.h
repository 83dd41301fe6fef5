/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the page of metrics. Each writes its families, or none where nothing is known. */
#ifndef CTL_MEASURE_NODE_H
#define CTL_MEASURE_NODE_H

#include "format/exposition.h"

struct controller;

/* Memory by NUMA node, type and state, and the huge pages that others took. */
void measure_node_memory(struct controller *controller, struct exposition *page);
/* What the BPF programs had no room for. There is a kernel port. */
void measure_node_losses(struct controller *controller, struct exposition *page);
/* How full the maps of the BPF programs are. */
void measure_node_maps(struct controller *controller, struct exposition *page);
/* The observer's slots, and what it could not count. */
void measure_node_observer(struct controller *controller, struct exposition *page);
/* What the agent's process costs. */
void measure_node_agent(struct controller *controller, struct exposition *page);

#endif
