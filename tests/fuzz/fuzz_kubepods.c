// SPDX-License-Identifier: Apache-2.0
// LIBS: format core lib
// COVERS: user/format/kubepods.c
/* Cgroup paths: bounded ids, no ids without a pod or container, and a path that is cut short. */
#include <string.h>

#include "format/kubepods.h"
#include "fuzz.h"

static void check_name(const struct kubepods_name *name)
{
	const bool is_inside = name->kind == KUBEPODS_CONTAINER || name->kind == KUBEPODS_INSIDE;

	FUZZ_CHECK(name->kind < KUBEPODS_KIND_NR && name->kind != KUBEPODS_SANDBOX);
	FUZZ_CHECK(kubepods_kind_name(name->kind) && kubepods_runtime_name(name->runtime));
	FUZZ_CHECK(memchr(name->uid, '\0', sizeof(name->uid)));
	FUZZ_CHECK(memchr(name->id, '\0', sizeof(name->id)));
	FUZZ_CHECK(is_inside == (*name->id != '\0'));
	FUZZ_CHECK(is_inside == (name->runtime != RUNTIME_UNKNOWN));
	FUZZ_CHECK(name->kind != KUBEPODS_POD || *name->uid);
	FUZZ_CHECK(!strpbrk(name->uid, "/_. ") && !strpbrk(name->id, "/_. "));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[1024];
	struct kubepods_name name, parent;
	char *slash;

	if (size >= sizeof(path) - 16)
		return 0;
	memcpy(path, data, size);
	path[size] = '\0';
	kubepods_parse(path, &name);
	check_name(&name);
	slash = strrchr(path, '/');
	/* Of what is inside a container the container itself, or more of what is inside, is above. */
	if (name.kind == KUBEPODS_INSIDE && slash && slash[1]) {
		*slash = '\0';
		kubepods_parse(path, &parent);
		FUZZ_CHECK(!strcmp(parent.id, name.id) || strchr(path, '('));
		*slash = '/';
	}
	strcat(path, " (deleted)");
	FUZZ_CHECK(kubepods_parse(path, &name) == KUBEPODS_NONE);
	return 0;
}
