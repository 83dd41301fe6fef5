// SPDX-License-Identifier: Apache-2.0
/* Numbers and CPU lists as Go's strconv and Kubernetes' cpuset package parse them. */
#include <errno.h>
#include <string.h>

#include "core/go_text.h"

int go_parse_int(const char *text, size_t len, int64_t *ret_number)
{
	size_t pos = len && (text[0] == '-' || text[0] == '+');
	int sign = pos && text[0] == '-' ? -1 : 1;
	bool overflows = false;
	int64_t number = 0;

	if (pos == len)
		return -EINVAL;
	for (; pos < len; pos++) {
		if (text[pos] < '0' || text[pos] > '9')
			return -EINVAL;
		/* Counting away from zero reaches INT64_MIN, whose negation does not exist. */
		overflows |= __builtin_mul_overflow(number, 10, &number) ||
			     __builtin_add_overflow(number, sign * (text[pos] - '0'), &number);
	}
	if (overflows)
		return -ERANGE;
	*ret_number = number;
	return 0;
}

/* "3" or "3-5". A second '-' belongs to the second number, which is then below the first. */
static int add_element(const char *text, size_t len, struct cpuset *set)
{
	const char *dash = memchr(text, '-', len);
	size_t first_len = dash ? (size_t)(dash - text) : len;
	int64_t first, last;
	int r = go_parse_int(text, first_len, &first);

	if (r < 0)
		return r;
	last = first;
	if (dash)
		r = go_parse_int(dash + 1, len - first_len - 1, &last);
	if (r < 0)
		return r;
	if (first > last)
		return -EINVAL;
	if (last >= CPUSET_MAX)
		return -ERANGE;
	for (int64_t cpu = first; cpu <= last; cpu++)
		cpuset_add(set, (unsigned int)cpu);
	return 0;
}

int go_parse_cpus(const char *text, size_t len, struct cpuset *ret_set)
{
	struct cpuset set = CPUSET_EMPTY;
	const char *end = text + len;

	while (len) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		int r = add_element(text, (size_t)((comma ? comma : end) - text), &set);

		if (r < 0)
			return r;
		if (!comma)
			break;
		text = comma + 1;
	}
	*ret_set = set;
	return 0;
}
