/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pressure by CPU and NUMA node, and of the last second: the objects "pressure_numa" and
 * "pressure_second" of GET /v1/…, and the answer to POST /v1/pressure/cpu.
 */
#ifndef CTL_PRESSURE_CPU_REPORT_H
#define CTL_PRESSURE_CPU_REPORT_H

struct controller;
struct json_object;
struct ledger_pod;

/* Each returns NULL = no memory; the caller owns the result. */
struct json_object *ctl_report_pressure_numa(struct controller *controller);
/* Whoever asks makes the agent read each second for some seconds. */
struct json_object *ctl_report_pressure_second(struct controller *controller);
/* One container of the pod, or the pod and all of them if `container` is NULL. */
struct json_object *ctl_report_pressure_cpus_of(struct controller *controller,
						const struct ledger_pod *pod,
						const char *container);

#endif
