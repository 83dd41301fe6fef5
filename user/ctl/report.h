/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the agent: the members of faces_port with these names. */
#ifndef CTL_REPORT_H
#define CTL_REPORT_H

#include "ctl/ports.h"

struct controller;

/* report.c: the objects of GET /v1/<object> */
int ctl_query(void *self, const char *object, struct json_object **ret_json);
/*
 * The object container. Without the number of processes, which is read on a thread for each of
 * them, it takes as long as a page of metrics. NULL = no memory.
 */
struct json_object *ctl_report_containers(struct controller *controller, bool with_processes);
/* The same object as pinfold topology export prints, named like the host. */
int ctl_topology(void *self, struct text *out);
/* page.c: the page for people */
int ctl_page(void *self, struct face_page *ret_page);
/* measure.c: the page of metrics */
int ctl_metrics(void *self, bool openmetrics, struct text *out);

#endif
