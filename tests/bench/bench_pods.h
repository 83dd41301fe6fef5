/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of a bench, which includes ../lib/fake_world.h before. */
#ifndef BENCH_PODS_H
#define BENCH_PODS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_CONTAINERS 3 /* of each pod */

/* Every fourth pod has CPUs of its own, three for its first container. */
static inline struct pod_spec *bench_pod(int i)
{
	static const char *const names[BENCH_CONTAINERS] = {"main", "proxy", "logs"};
	struct container_spec *containers = calloc(BENCH_CONTAINERS, sizeof(*containers));
	struct pod_spec *spec;
	char name[32];

	snprintf(name, sizeof(name), "pod-%03d", i);
	spec = fake_pod(name, "main", i % 4 ? 100 : 3000, i % 4 == 0);
	if (!containers) {
		fprintf(stderr, "bench: no memory\n");
		exit(1);
	}
	for (int c = 0; c < BENCH_CONTAINERS; c++) {
		containers[c] = spec->containers[0];
		strcpy(containers[c].name, names[c]);
		if (c) {
			containers[c].request.cpu_mcpu = 100;
			containers[c].limit = i % 4 ? RESOURCES_UNSET : containers[c].request;
		}
	}
	free(spec->containers);
	spec->containers = containers;
	spec->nr_containers = BENCH_CONTAINERS;
	return spec;
}

#endif
