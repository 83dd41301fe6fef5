/* SPDX-License-Identifier: Apache-2.0 */
/* Applies one plan step through the manager and verifies the result by reading it back. */
#ifndef CGROUP_APPLY_H
#define CGROUP_APPLY_H

#include "cgroup/manager.h"

/* Implements groups_port.apply. */
int apply_step(struct groups *groups, const struct step *step, char error[GROUP_ERROR_MAX]);

#endif
