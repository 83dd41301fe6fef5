/* SPDX-License-Identifier: Apache-2.0 */
/* The object of `pinfold guard mode`: what is asked for and what is in force, for each protection. */
#ifndef CTL_GUARD_REPORT_H
#define CTL_GUARD_REPORT_H

struct controller;
struct json_object;

/* The caller owns the result; NULL = no memory. */
struct json_object *ctl_report_guard(struct controller *controller);

#endif
