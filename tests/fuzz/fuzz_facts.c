// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
// COVERS: user/format/facts.c
/* Facts files: what is accepted renders, reads back and renders the same. */
#include <string.h>

#include "format/facts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct topology *topology cleanup_topology = NULL, *again cleanup_topology = NULL;
	struct text first cleanup_text = {0}, second cleanup_text = {0};
	struct format_error error = {0};

	if (facts_parse((const char *)data, size, &error, &topology) < 0) {
		FUZZ_CHECK(*error.message && !topology);
		return 0;
	}
	FUZZ_CHECK(!cpuset_is_empty(&topology->all));
	facts_render(topology, &first);
	FUZZ_CHECK(!first.error);
	FUZZ_CHECK(facts_parse(first.data, first.len, &error, &again) == 0);
	facts_render(again, &second);
	FUZZ_CHECK(!second.error && strcmp(first.data, second.data) == 0);
	return 0;
}
