// SPDX-License-Identifier: Apache-2.0
// LIBS: core
// COVERS: user/core/cpuset.c:cpuset_parse,parse_element,parse_id,skip_blanks,is_blank
// COVERS: user/core/cpuset.c:cpuset_format,end_of_run
/* CPU lists: what parses, prints and parses again to the same set. */
#include "core/cpuset.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[CPUSET_TEXT_MAX];
	struct cpuset set, again;
	char small[8];
	size_t len;

	if (cpuset_parse((const char *)data, size, &set) < 0)
		return 0;
	len = cpuset_format(&set, text, sizeof(text));
	FUZZ_CHECK(len < sizeof(text));
	FUZZ_CHECK(cpuset_parse(text, len, &again) == 0);
	FUZZ_CHECK(cpuset_equal(&set, &again));
	FUZZ_CHECK(cpuset_format(&set, small, sizeof(small)) == len);
	return 0;
}
