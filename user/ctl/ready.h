/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is everything that was promised in force? One answer for /readyz, the node's report and each
 * pod.
 */
#ifndef CTL_READY_H
#define CTL_READY_H

#include "core/ledger/ledger.h"
#include "format/views.h"
#include "format/words.h"

struct controller;

/* Never CONDITION_NR. A pod that ends is ENDING whatever became of its cgroups. */
enum pod_condition ctl_pod_condition(const struct controller *controller,
				     const struct ledger_pod *pod);
/*
 * The pods that are not enforced, or of which that is unknown, with the reason; the rows
 * borrow the pods' uids. `ret_problems` has room for as many rows as the ledger has pods;
 * returns the number.
 */
uint32_t ctl_pod_problems(const struct controller *controller, struct pod_problem *ret_problems);

/* faces_port.ready; `reason` is written only if the agent is not ready. */
bool ctl_is_ready(void *self, char *reason, size_t size);

#endif
