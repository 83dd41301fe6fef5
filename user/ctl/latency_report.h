/* SPDX-License-Identifier: Apache-2.0 */
/* The object "latency" of GET /v1/latency. */
#ifndef CTL_LATENCY_REPORT_H
#define CTL_LATENCY_REPORT_H

struct controller;
struct json_object;

/* NULL = no memory. The caller owns the result. */
struct json_object *ctl_report_latency(struct controller *controller);

#endif
