/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to POST /v1/pressure/history, and what the page for people draws of the same samples. */
#ifndef CTL_HISTORY_REPORT_H
#define CTL_HISTORY_REPORT_H

#include "core/ledger/ledger.h"
#include "format/rows.h"

struct controller;
struct json_object;

/*
 * The samples of a pod, or of its container if that is not "", and the gaps between them; without
 * any if it has no ring. The caller owns the result; NULL = no memory.
 */
struct json_object *ctl_report_history(struct controller *controller, const struct ledger_pod *pod,
				       const char *container, enum pressure_span span);

/*
 * Of the pods that waited most in the last ten minutes, longest first: an array of at most
 * PAGE_HISTORIES_MAX histories, whose samples are sums over PAGE_HISTORY_SAMPLE_NS. The caller owns
 * the result; NULL = no memory.
 */
struct json_object *ctl_report_histories(struct controller *controller);

#endif
