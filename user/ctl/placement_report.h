/* SPDX-License-Identifier: Apache-2.0 */
/* The object "placement" of GET /v1/placement. */
#ifndef CTL_PLACEMENT_REPORT_H
#define CTL_PLACEMENT_REPORT_H

struct controller;
struct json_object;

/* NULL = no memory. The caller owns the result. */
struct json_object *ctl_report_placement(struct controller *controller);

#endif
