/* SPDX-License-Identifier: Apache-2.0 */
/* Is what was promised held? One answer for /readyz, the node's report and each pod. */
#ifndef CTL_READY_H
#define CTL_READY_H

#include "core/ledger/ledger.h"
#include "format/views.h"

struct controller;

/* How a pod stands, and its word in `pinfold pod show` and the metrics. */
enum pod_condition {
	CONDITION_RUNNING,
	CONDITION_ENDING,
	CONDITION_WAITING,
	CONDITION_FAILED,
	CONDITION_UNKNOWN,
	CONDITION_NR
};
const char *ready_condition_name(enum pod_condition condition);

enum pod_condition ctl_pod_condition(const struct controller *controller,
				     const struct ledger_pod *pod);
/*
 * The pods that are not held, or not known to be, and why; the rows borrow the
 * pods' uids. `ret_problems` has room for as many as the ledger has pods; returns how many.
 */
uint32_t ctl_pod_problems(const struct controller *controller, struct pod_problem *ret_problems);

/* faces_port.ready; `reason` is written only when it is not. */
bool ctl_is_ready(void *self, char *reason, size_t size);

#endif
