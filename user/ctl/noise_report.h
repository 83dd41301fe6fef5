/* SPDX-License-Identifier: Apache-2.0 */
/* The object "noise" of GET /v1/noise. */
#ifndef CTL_NOISE_REPORT_H
#define CTL_NOISE_REPORT_H

struct controller;
struct json_object;

/* NULL = no memory. The caller owns the result. */
struct json_object *ctl_report_noise(struct controller *controller);

#endif
