/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of a ledger, checked on its records. Other rooms call ledger_check() instead. */
#ifndef CORE_LEDGER_LEDGER_CHECK_H
#define CORE_LEDGER_LEDGER_CHECK_H

#include "core/cpu/cpu.h"
#include "core/grant/grant.h"

/*
 * Check the invariants of a single pod, which need not be in the ledger yet. Returns 0,
 * or -EUCLEAN with the first violation in `error`.
 */
must_check int ledger_check_pod(const struct cpu_manager *manager, const struct ledger_pod *pod,
				char *error, size_t error_size);

/* Check every pod, the pods against each other, and the shared pool (see ledger_check). */
must_check int ledger_check_pods(const struct cpu_manager *manager, struct ledger_pod *const *pods,
				 uint32_t nr_pods, const struct cpuset *shared, char *error,
				 size_t error_size);

#endif
