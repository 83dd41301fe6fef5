/* SPDX-License-Identifier: Apache-2.0 */
/* The objects "placement" and "cpu_use" of GET /v1/…, and the answer to POST /v1/container/placement. */
#ifndef CTL_PLACEMENT_REPORT_H
#define CTL_PLACEMENT_REPORT_H

struct controller;
struct json_object;

struct ledger_pod;

/* Rows of places and affinities in the answer about all containers. */
#define PLACEMENT_ROWS_MAX 8192

/* Each returns NULL = no memory; the caller owns the result. */
/*
 * All containers. Those whose places do not fit into PLACEMENT_ROWS_MAX have only their totals: on a
 * large machine the rows of all would be tens of megabytes.
 */
struct json_object *ctl_report_placement(struct controller *controller);
/* One container of the pod, or all if `container` is NULL, with all rows. */
struct json_object *ctl_report_placement_of(struct controller *controller,
					    const struct ledger_pod *pod, const char *container);
/* How much all containers together used each CPU in the last seconds; reads no affinities. */
struct json_object *ctl_report_cpu_use(struct controller *controller);

#endif
