/* SPDX-License-Identifier: Apache-2.0 */
/* The object "noise" of GET /v1/noise. */
#ifndef CTL_NOISE_REPORT_H
#define CTL_NOISE_REPORT_H

struct controller;
struct json_object;

/* Both return NULL = no memory; the caller owns the result. */
struct json_object *ctl_report_noise(struct controller *controller);
/* Without looking up a name, which may have to wait: names that are not in memory are left out. */
struct json_object *ctl_report_noise_from_memory(struct controller *controller);

#endif
