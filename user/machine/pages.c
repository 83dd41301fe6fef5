// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers are read again for each call, because anybody may use huge pages at any
 * time, and an outdated number could cause a wrong decision.
 */
#include "machine/pages.h"

#include <fcntl.h>

#include "lib/file.h"
#include "machine/sysfs.h"

/* Copy the sizes that existed when the topology was read; pods cannot request others. */
static void copy_free(const struct topology_node *now, struct topology_node *node)
{
	for (uint32_t i = 0; i < node->nr_hugepages; i++) {
		struct hugepages *pages = &node->hugepages[i];

		pages->free_pages = UINT64_MAX;
		for (uint32_t j = 0; j < now->nr_hugepages; j++)
			if (now->hugepages[j].size_bytes == pages->size_bytes)
				pages->free_pages = now->hugepages[j].free_pages;
	}
}

static uint32_t free_pages(void *self, struct topology_node *ret_nodes)
{
	const struct pages *pages = self;
	const struct topology *topology = pages->topology;
	int root_fd cleanup_close = open(pages->root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (uint32_t i = 0; i < topology->nr_memory_nodes; i++) {
		struct topology_node now = {.id = topology->memory_nodes[i].id};

		ret_nodes[i] = topology->memory_nodes[i];
		if (root_fd < 0 || sysfs_read_hugepages(root_fd, &now) < 0)
			now.nr_hugepages = 0;
		copy_free(&now, &ret_nodes[i]);
	}
	return topology->nr_memory_nodes;
}

struct machine_port pages_port(struct pages *pages)
{
	return (struct machine_port){.self = pages, .free_pages = free_pages};
}
