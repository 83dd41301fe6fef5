/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what the kernel shows what we wrote? Each control file has its own way of
 * saying the same thing: lists in another order, pages, default periods. Pure.
 */
#ifndef CGROUP_VALUE_H
#define CGROUP_VALUE_H

#include "core/plan.h"

/* Do both texts mean the same to the kernel? Unreadable text equals nothing. */
bool value_equal(enum group_file file, const char *wanted, const char *seen, uint64_t page_bytes);

/* cpu.max as numbers; quota UINT64_MAX = "max". -EINVAL. */
int value_cpu_max(const char *text, uint64_t *ret_quota_usec, uint64_t *ret_period_usec);
/* A count or "max" (UINT64_MAX): memory.max, cpu.weight. -EINVAL. */
int value_number(const char *text, uint64_t *ret_number);

/*
 * The reason in "root invalid (reason)": copied to ret_reason ("" when the
 * kernel gives none, as 6.12 often does) and true; false for a valid state.
 */
bool value_partition_invalid(const char *text, char *ret_reason, size_t size);

/*
 * What cpuset.*.effective says of a list we wrote.
 * EFFECTIVE_FOREIGN: it holds CPUs outside the wanted set, because an empty
 * intersection with the parent gives the parent's whole set, silently.
 */
enum effective { EFFECTIVE_WHOLE, EFFECTIVE_LESS, EFFECTIVE_FOREIGN };

/* `absent` are CPUs that no group can have (offline) or that child partitions hold; may be NULL. */
enum effective value_effective(const struct cpuset *wanted, const struct cpuset *effective,
			       const struct cpuset *absent);

#endif
