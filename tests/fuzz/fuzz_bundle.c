// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
// COVERS: user/format/bundle.c
/* The config.json of OCI bundles: bounded printable names, and none without a kind. */
#include <string.h>

#include "format/bundle.h"
#include "fuzz.h"

static void check_name(const char *name, size_t size)
{
	const char *end = memchr(name, '\0', size);

	FUZZ_CHECK(end);
	for (const char *at = name; at < end; at++)
		FUZZ_CHECK(*at > ' ' && *at < 0x7f && !strchr("\"'/\\{},=", *at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bundle bundle = {.uid = "untouched"};

	if (bundle_parse((const char *)data, size, &bundle)) {
		FUZZ_CHECK(!strcmp(bundle.uid, "untouched"));
		return 0;
	}
	check_name(bundle.uid, sizeof(bundle.uid));
	check_name(bundle.namespace, sizeof(bundle.namespace));
	check_name(bundle.pod, sizeof(bundle.pod));
	check_name(bundle.container, sizeof(bundle.container));
	FUZZ_CHECK(bundle.kind == BUNDLE_CONTAINER || !*bundle.container);
	FUZZ_CHECK(bundle.kind != BUNDLE_UNSTATED || (!*bundle.uid && !*bundle.pod));
	return 0;
}
