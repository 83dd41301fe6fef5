/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of the ledger, with what each container ran and waited in the last minute. */
#ifndef CTL_POD_REPORT_H
#define CTL_POD_REPORT_H

struct controller;
struct json_object;

/* The caller owns the result; NULL = no memory. */
struct json_object *ctl_report_pods(struct controller *controller);

#endif
