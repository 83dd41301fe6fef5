// SPDX-License-Identifier: Apache-2.0
// LIBS: stranger format core lib
/*
 * One walk over all tasks of this machine, which only reports: if nobody touches the exclusive CPUs,
 * and if everybody may run on one. That is what audit costs on a node without a root partition; with
 * enforce, only the first walk meets everybody.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"
#include "lib/log.h"
#include "stranger/walk.h"

/* No machine has this CPU. */
#define NOWHERE (CPUSET_MAX - 1)

struct scene {
	struct stranger_context context;
	struct stranger_request request;
	struct stranger_table table;
	uint32_t nr_rows;
};

static void walk(void *arg)
{
	struct scene *scene = arg;
	struct stranger_report report = {0};

	if (stranger_walk(&scene->context, &scene->request, &scene->table, &report))
		abort();
	scene->nr_rows = report.nr;
	stranger_report_fini(&report);
}

static void measure(struct scene *scene, uint32_t exclusive)
{
	char params[64];

	scene->request.cpus.exclusive = CPUSET_EMPTY;
	cpuset_add(&scene->request.cpus.exclusive, exclusive);
	walk(scene);
	snprintf(params, sizeof(params), "{\"strangers\": %u}", scene->nr_rows);
	bench_run("stranger_walk", params, walk, scene);
}

int main(void)
{
	static struct scene scene = {
		.context = {.run_fd = -1, .boot_id = "", .calls = &affinity_system_calls},
		.request = {.mode = STRANGER_OBSERVE, .workload_root = "pinfold.slice"},
	};

	log_open("bench", LOG_LEVEL_WARN);
	scene.context.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scene.context.proc_fd < 0)
		return log_err(-errno, "bench: open /proc") ? 1 : 0;
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		cpuset_add(&scene.request.cpus.online, (unsigned int)cpu);
	for (int round = 0; round < 3; round++) {
		measure(&scene, NOWHERE);
		measure(&scene, 0);
	}
	stranger_table_fini(&scene.table);
	close(scene.context.proc_fd);
	return 0;
}
