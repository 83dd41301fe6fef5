/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the agent: the members of faces_port with these names. */
#ifndef CTL_REPORT_H
#define CTL_REPORT_H

#include "ctl/ports.h"

/* report.c: the objects of GET /v1/<object> */
int ctl_query(void *self, const char *object, struct json_object **ret_json);
/* measure.c: the page of metrics */
int ctl_metrics(void *self, bool openmetrics, struct text *out);

#endif
