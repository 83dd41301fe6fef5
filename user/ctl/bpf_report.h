/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of `pinfold prog`: what pinfold has loaded into the kernel's BPF. */
#ifndef CTL_BPF_REPORT_H
#define CTL_BPF_REPORT_H

struct controller;
struct json_object;

/* The caller owns the result; NULL = no memory. Empty on a machine without BPF. */
struct json_object *ctl_report_progs(struct controller *controller);
struct json_object *ctl_report_maps(struct controller *controller);
/* What these programs and the agent itself have used so far. */
struct json_object *ctl_report_usage(struct controller *controller);

#endif
