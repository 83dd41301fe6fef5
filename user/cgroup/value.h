/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares values that were written with values that the kernel shows. Each control file
 * may show a value differently: reordered lists, sizes rounded to pages, default periods.
 * Pure.
 */
#ifndef CGROUP_VALUE_H
#define CGROUP_VALUE_H

#include "core/plan/plan.h"
#include "ctl/ports.h"

/* Do both texts mean the same to the kernel? Invalid text equals nothing. */
bool value_equal(enum group_file file, const char *wanted, const char *seen, uint64_t page_bytes);

/* cpu.max as numbers; quota UINT64_MAX = "max". -EINVAL. */
int value_cpu_max(const char *text, uint64_t *ret_quota_usec, uint64_t *ret_period_usec);
/* A count or "max" (UINT64_MAX): memory.max, cpu.weight. -EINVAL. */
int value_number(const char *text, uint64_t *ret_number);

/* The limits of a group that was read. */
void value_limits(const struct group *group, struct group_limits *ret_limits);

/*
 * Is this the text of an invalid partition, "root invalid (reason)"? If so, copies the
 * reason to ret_reason ("" if the kernel gives none, as 6.12 often does).
 */
bool value_partition_invalid(const char *text, char *ret_reason, size_t size);

/*
 * How cpuset.*.effective relates to a list that was written. EFFECTIVE_FOREIGN: it
 * contains CPUs outside the wanted set, because the kernel silently uses the parent's
 * whole set if the intersection with it is empty.
 */
enum effective { EFFECTIVE_WHOLE, EFFECTIVE_LESS, EFFECTIVE_FOREIGN };

/*
 * `absent` (may be NULL) are CPUs that cannot be effective: offline, or taken by child
 * partitions.
 */
enum effective value_effective(const struct cpuset *wanted, const struct cpuset *effective,
			       const struct cpuset *absent);

#endif
