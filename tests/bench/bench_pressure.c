// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What reading the pressure of 1,000 cgroups costs: one pass of the iterator, as the agent does
 * it every two seconds, without and with the state of eight CPUs for each, and beside it what
 * three files for each of them cost to read. The cgroups are empty, so this is the cost of finding
 * and copying the figures. On a machine with fewer CPUs each of them is read several times.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/cgroup_mount.h"
#include "bench.h"
#include "bpf/pressure.h"
#include "lib/file.h"
#include "lib/log.h"

#define NR_CGROUPS 1000
#define NR_CPUS	   8

struct scene {
	char root[560];
	int root_fd;
	struct pressure_row rows[NR_CGROUPS];
	struct pressure_cell cells[NR_CGROUPS * NR_CPUS];
	struct pressure_wanted wanted;
	struct pressure_port port;
	uint32_t nr_measured, nr_with_cells; /* of the last pass */
};

static void name_cgroup(int number, char ret_name[16])
{
	snprintf(ret_name, 16, "c%d", number);
}

static int make_cgroups(struct scene *scene)
{
	char name[16];
	struct stat stat;

	if (mkdir(scene->root, 0755) && errno != EEXIST)
		return -errno;
	scene->root_fd = open(scene->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scene->root_fd < 0)
		return -errno;
	for (int i = 0; i < NR_CGROUPS; i++) {
		name_cgroup(i, name);
		if ((mkdirat(scene->root_fd, name, 0755) && errno != EEXIST) ||
		    fstatat(scene->root_fd, name, &stat, 0))
			return -errno;
		scene->rows[i].cgroup_id = stat.st_ino;
	}
	return 0;
}

static void remove_cgroups(const struct scene *scene)
{
	char name[16];

	for (int i = 0; i < NR_CGROUPS; i++) {
		name_cgroup(i, name);
		unlinkat(scene->root_fd, name, AT_REMOVEDIR);
	}
	rmdir(scene->root);
}

static void take(void *self, int result, const struct pressure_row *rows, uint32_t nr,
		 const struct pressure_cell *cells)
{
	struct scene *scene = self;

	scene->nr_measured = scene->nr_with_cells = 0;
	for (uint32_t i = 0; !result && i < nr; i++) {
		scene->nr_measured += rows[i].state == PRESSURE_MEASURED;
		scene->nr_with_cells += rows[i].cells == PRESSURE_CELLS_READ;
	}
}

static void want_cells(struct scene *scene)
{
	const uint32_t nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);

	for (uint32_t i = 0; i < NR_CGROUPS; i++) {
		scene->rows[i].first_cell = i * NR_CPUS;
		scene->rows[i].nr_cells = NR_CPUS;
	}
	for (uint32_t i = 0; i < NR_CGROUPS * NR_CPUS; i++)
		scene->cells[i].cpu = i % NR_CPUS % nr_cpus;
	scene->wanted.nr_cells = NR_CGROUPS * NR_CPUS;
}

static void pass(void *arg)
{
	struct scene *scene = arg;

	scene->port.sample(scene->port.self, &scene->wanted);
}

static void read_files(void *arg)
{
	static const char *const files[] = {"cpu.pressure", "memory.pressure", "io.pressure"};
	const struct scene *scene = arg;
	char path[64], name[16], text[256];

	for (int i = 0; i < NR_CGROUPS; i++) {
		name_cgroup(i, name);
		for (size_t file = 0; file < ARRAY_SIZE(files); file++) {
			int fd cleanup_close = -1;

			snprintf(path, sizeof(path), "%s/%s", name, files[file]);
			fd = openat(scene->root_fd, path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && read(fd, text, sizeof(text)) < 0)
				return;
		}
	}
}

static int measure(struct scene *scene)
{
	/* The more containers, the more cells there are room for, also on a machine with two CPUs. */
	const struct pressure_options options = {.root_dir = scene->root,
						 .max_containers = NR_CGROUPS * NR_CPUS};
	struct pressure_reader *reader cleanup_pressure_reader = NULL;
	const struct pressure_sink sink = {scene, take};
	int r = pressure_reader_open(&options, &reader);

	if (r)
		return r;
	pressure_reader_listen(reader, &sink);
	scene->port = pressure_reader_port(reader);
	scene->wanted = (struct pressure_wanted){
		.nr_rows = NR_CGROUPS, .rows = scene->rows, .cells = scene->cells};
	pass(scene);
	if (scene->nr_measured != NR_CGROUPS)
		return log_err(-ENODATA, "bench: the kernel measures the pressure of %u of %d",
			       scene->nr_measured, NR_CGROUPS);
	bench_run("pressure_pass", "{\"cgroups\": 1000}", pass, scene);
	want_cells(scene);
	pass(scene);
	if (scene->nr_with_cells != NR_CGROUPS)
		return log_err(-ENODATA, "bench: the pressure per CPU of %u of %d could be read",
			       scene->nr_with_cells, NR_CGROUPS);
	bench_run("pressure_pass_per_cpu", "{\"cgroups\": 1000, \"cpus\": 8}", pass, scene);
	bench_run("pressure_files", "{\"cgroups\": 1000}", read_files, scene);
	return 0;
}

int main(void)
{
	static struct scene scene = {.root_fd = -1};
	char mount[512];
	int r;

	log_open("bench", LOG_LEVEL_WARN);
	if (cgroup_mount_path(mount, sizeof(mount)))
		return -log_err(-ENOENT, "bench: needs a cgroup2 mount") ? 1 : 0;
	snprintf(scene.root, sizeof(scene.root), "%s/pinfold-bench-pressure", mount);
	r = make_cgroups(&scene);
	if (!r)
		r = measure(&scene);
	else
		log_err(r, "bench: make cgroups below %s", scene.root);
	remove_cgroups(&scene);
	cleanup_close_fd(&scene.root_fd);
	return r ? 1 : 0;
}
