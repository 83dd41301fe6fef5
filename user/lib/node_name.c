// SPDX-License-Identifier: Apache-2.0
#include "lib/node_name.h"

#include <ctype.h>
#include <stddef.h>

bool node_name_is_valid(const char *name)
{
	char before = '.';
	size_t len = 0;

	for (; name[len]; before = name[len++]) {
		const bool is_inner = name[len] == '-' || name[len] == '.';

		if (!is_inner && !islower((unsigned char)name[len]) &&
		    !isdigit((unsigned char)name[len]))
			return false;
		if ((name[len] == '.' && (before == '.' || before == '-')) ||
		    (name[len] == '-' && before == '.'))
			return false;
	}
	return len && len < NODE_NAME_MAX && before != '.' && before != '-';
}
