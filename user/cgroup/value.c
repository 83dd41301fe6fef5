// SPDX-License-Identifier: Apache-2.0
/* Compares the contents of control files by meaning. Reads no files and knows no groups. */
#include "cgroup/value.h"

#include <errno.h>
#include <string.h>

/* Documentation/admin-guide/cgroup-v2.rst: the default period. */
#define CPU_MAX_PERIOD_USEC 100000

static int parse_number(const char *text, char **ret_end, uint64_t *ret_number)
{
	unsigned long long number;

	if (!strncmp(text, "max", 3)) {
		*ret_number = UINT64_MAX;
		*ret_end = (char *)text + 3;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, ret_end, 10);
	if (errno)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

int value_number(const char *text, uint64_t *ret_number)
{
	uint64_t number;
	char *end;

	if (parse_number(text, &end, &number) || (*end && strcmp(end, "\n")))
		return -EINVAL;
	*ret_number = number;
	return 0;
}

int value_cpu_max(const char *text, uint64_t *ret_quota_usec, uint64_t *ret_period_usec)
{
	uint64_t quota, period = CPU_MAX_PERIOD_USEC;
	char *end;

	if (parse_number(text, &end, &quota))
		return -EINVAL;
	if (*end == ' ' && (value_number(end + 1, &period) || !period || period == UINT64_MAX))
		return -EINVAL;
	if (*end && *end != ' ' && *end != '\n')
		return -EINVAL;
	*ret_quota_usec = quota;
	*ret_period_usec = period;
	return 0;
}

/* 0 = "max", or there is no such number. */
static int64_t number_of(const char *text)
{
	uint64_t number;

	return text && !value_number(text, &number) && number <= INT64_MAX ? (int64_t)number : 0;
}

static int64_t quota_mcpu_of(const char *text)
{
	uint64_t quota_usec, period_usec, mcpu;

	if (!text || value_cpu_max(text, &quota_usec, &period_usec) || quota_usec == UINT64_MAX ||
	    !period_usec || __builtin_mul_overflow(quota_usec, 1000, &mcpu) || mcpu > INT64_MAX)
		return RESOURCE_UNSET;
	return (int64_t)(mcpu / period_usec);
}

void value_limits(const struct group *group, struct group_limits *ret_limits)
{
	*ret_limits = (struct group_limits){
		.cpu_weight = number_of(group->files[GROUP_CPU_WEIGHT]),
		.quota_mcpu = quota_mcpu_of(group->files[GROUP_CPU_MAX]),
		.memory_max_bytes = number_of(group->files[GROUP_MEMORY_MAX]),
	};
}

static bool same_list(const char *wanted, const char *seen)
{
	struct cpuset a, b;

	return !cpuset_parse(wanted, strlen(wanted), &a) && !cpuset_parse(seen, strlen(seen), &b) &&
	       cpuset_equal(&a, &b);
}

static bool same_cpu_max(const char *wanted, const char *seen)
{
	uint64_t quota_a, period_a, quota_b, period_b;

	if (value_cpu_max(wanted, &quota_a, &period_a) || value_cpu_max(seen, &quota_b, &period_b))
		return false;
	/* Without a quota the period has no effect. */
	return quota_a == quota_b && (quota_a == UINT64_MAX || period_a == period_b);
}

static bool same_memory(const char *wanted, const char *seen, uint64_t page_bytes)
{
	uint64_t a, b;

	if (value_number(wanted, &a) || value_number(seen, &b))
		return false;
	/* The kernel counts pages: it rounds the limit down and shows the rounded value. */
	return a == b || (a != UINT64_MAX && b != UINT64_MAX && a / page_bytes == b / page_bytes);
}

bool value_equal(enum group_file file, const char *wanted, const char *seen, uint64_t page_bytes)
{
	uint64_t a, b;

	switch (file) {
	case GROUP_CPUSET_MEMS:
	case GROUP_CPUSET_CPUS:
		return same_list(wanted, seen);
	case GROUP_CPU_MAX:
		return same_cpu_max(wanted, seen);
	case GROUP_MEMORY_MAX:
		return same_memory(wanted, seen, page_bytes);
	case GROUP_CPU_WEIGHT:
		return !value_number(wanted, &a) && !value_number(seen, &b) && a == b;
	case GROUP_CPUSET_PARTITION:
	case GROUP_FREEZE:
	case GROUP_MEMBERS:
	case GROUP_ATTRIBUTE_NR:
		break;
	}
	return !strcmp(wanted, seen);
}

bool value_partition_invalid(const char *text, char *ret_reason, size_t size)
{
	const char *invalid = strstr(text, " invalid");
	const char *open, *close;
	size_t len = 0;

	if (!invalid)
		return false;
	open = strchr(invalid, '(');
	close = open ? strrchr(open, ')') : NULL;
	if (close)
		len = (size_t)(close - open - 1);
	if (len >= size)
		len = size - 1;
	if (len)
		memcpy(ret_reason, open + 1, len);
	ret_reason[len] = '\0';
	return true;
}

enum effective value_effective(const struct cpuset *wanted, const struct cpuset *effective,
			       const struct cpuset *absent)
{
	struct cpuset missing = *wanted;

	if (!cpuset_is_subset(effective, wanted))
		return EFFECTIVE_FOREIGN;
	cpuset_subtract(&missing, effective);
	if (absent)
		cpuset_subtract(&missing, absent);
	return cpuset_is_empty(&missing) ? EFFECTIVE_WHOLE : EFFECTIVE_LESS;
}
