/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of pressure, and what is said where the kernel does not measure it. */
#ifndef CTL_PRESSURE_REPORT_H
#define CTL_PRESSURE_REPORT_H

#include "ctl/ports.h"
#include "format/view_objects.h"

struct controller;
struct json_object;

/* The two figures of a resource: some of its tasks waited for it, or all of them did. */
struct pressure_kinds {
	enum pressure_kind some, full;
};
extern const struct pressure_kinds pressure_report_kinds[PRESSURE_RESOURCE_NR];

/* The caller owns the result; NULL = no memory. */
struct json_object *ctl_report_pressure(struct controller *controller);
/* Raise or clear the findings; called after each pass. */
void ctl_tell_pressure(struct controller *controller);

#endif
