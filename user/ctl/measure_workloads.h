/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the page of metrics that is about pods and containers. */
#ifndef CTL_MEASURE_WORKLOADS_H
#define CTL_MEASURE_WORKLOADS_H

#include "format/exposition.h"

struct controller;

/* As much of it as `metrics.level` asks for. 0 or -ENOMEM; then the page is not complete. */
int ctl_measure_workloads(struct controller *controller, struct exposition *page);

#endif
