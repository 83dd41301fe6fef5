// SPDX-License-Identifier: Apache-2.0
/* Texts that several objects show. */
#include "core/quantity.h"
#include "format/view_private.h"

const char *cpus_text(struct arena *arena, const struct cpuset *cpus)
{
	size_t size = cpuset_format(cpus, NULL, 0) + 1;
	char *list = arena_array(arena, size, 1);

	if (!list)
		return "";
	cpuset_format(cpus, list, size);
	return list;
}

const char *memory_name(struct arena *arena, uint64_t page_bytes)
{
	char pages[24];

	if (!page_bytes)
		return "memory";
	quantity_format_binary(page_bytes, pages, sizeof(pages));
	return arena_printf(arena, "hugepages-%s", pages);
}

const char *memory_type(struct arena *arena, const struct memory_manager *manager, uint32_t type)
{
	char name[MEMORY_NAME_MAX];

	memory_type_name(manager, type, name, sizeof(name));
	return arena_printf(arena, "%s", name);
}
