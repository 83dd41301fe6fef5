/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load of the benches that measure a context switch: two processes on one CPU hand a byte back
 * and forth. And what of ours may be attached meanwhile.
 */
#ifndef BENCH_SWITCH_H
#define BENCH_SWITCH_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../lib/cgroup_mount.h"
#include "../lib/places.h"
#include "bpf/observe.h"
#include "lib/file.h"
#include "lib/log.h"

#define MAX_ROUNDS 200

/* The container that the two processes are in, if they are to be counted as one. */
struct switch_scene {
	struct topology topology;
	uint64_t cgroup_id;
	uint32_t level;
};

/* --- the load ----------------------------------------------------------------------------------- */

static inline void echo_bytes(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			break;
	_exit(0);
}

static inline double cpu_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* CPU time in ns per switch, or negative errno */
static inline double ping_pong(int nr_switches)
{
	double before = cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);
	int there[2], back[2];
	char byte = 0;
	pid_t child;

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		echo_bytes(there[0], back[1]);
	}
	for (int i = 0; i < nr_switches; i += 2)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			break;
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
	waitpid(child, NULL, 0);
	return (cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN) - before) / nr_switches;
}

/* --- what is attached ----------------------------------------------------------------------------- */

struct attached {
	int prog_fd, link_fd; /* -1 = none */
	struct observer *observer;
};

static inline int attach_empty(struct attached *attached)
{
	/* return 0; */
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP);

	if (id < 0)
		return id;
	options.attach_btf_id = (__u32)id;
	attached->prog_fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "bench_empty", "GPL", code,
					  ARRAY_SIZE(code), &options);
	if (attached->prog_fd < 0)
		return -errno;
	attached->link_fd = bpf_raw_tracepoint_open(NULL, attached->prog_fd);
	return attached->link_fd < 0 ? -errno : 0;
}

static inline int attach_observer(const struct switch_scene *scene, bool is_container,
				  struct attached *attached)
{
	const struct observe_setup setup = {.topology = &scene->topology, .max_containers = 1024};
	const struct observe_group group = {
		.cgroup_id = scene->cgroup_id, .level = scene->level, .cpus = &scene->topology.all};
	uint32_t slot;
	int r = observe_open(&setup, &attached->observer);

	if (r || !is_container)
		goto out;
	r = observe_claim(attached->observer, &group, &slot);
out:
	if (r)
		return r;
	attached->prog_fd =
		bpf_prog_get_fd_by_id(observe_handle(attached->observer)->programs[0].id);
	return attached->prog_fd < 0 ? -errno : 0;
}

static inline void detach(struct attached *attached)
{
	if (attached->link_fd >= 0)
		close(attached->link_fd);
	if (attached->prog_fd >= 0)
		close(attached->prog_fd);
	observe_close(attached->observer);
}

/* --- a container's cgroup to be in ------------------------------------------------------------------ */

static inline int join(const char *directory)
{
	char path[700];
	FILE *file cleanup_file = NULL;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	return fprintf(file, "%d\n", getpid()) < 0 || fflush(file) ? -errno : 0;
}

/* --- statistics -------------------------------------------------------------------------------------- */

static inline int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static inline double quantile(const double *values, int nr, double q)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, values, (size_t)nr * sizeof(*values));
	qsort(sorted, (size_t)nr, sizeof(*sorted), compare);
	return sorted[(int)(q * (nr - 1) + 0.5)];
}

/* --- one CPU --- */

static inline int pin_to_last_cpu(void)
{
	cpu_set_t allowed;
	int last = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	CPU_ZERO(&allowed);
	CPU_SET(last, &allowed);
	return sched_setaffinity(0, sizeof(allowed), &allowed) ? -errno : 0;
}

/* Makes a cgroup and puts this process into it. Errors are logged. */
static inline int switch_scene_open(struct switch_scene *scene, char ret_mount[512],
				    char ret_group[600])
{
	struct stat status;

	if (places_open(&scene->topology) || pin_to_last_cpu() || cgroup_mount_path(ret_mount, 512))
		return log_err(-ENOENT, "bench: needs sysfs and a cgroup2 mount");
	snprintf(ret_group, 600, "%s/pinfold-bench", ret_mount);
	if ((mkdir(ret_group, 0755) && errno != EEXIST) || stat(ret_group, &status) ||
	    join(ret_group))
		return log_err(-errno, "bench: make and enter cgroup '%s' (run as root)",
			       ret_group);
	scene->cgroup_id = status.st_ino;
	scene->level = 1;
	return 0;
}

static inline void switch_scene_close(const char *mount, const char *group)
{
	join(mount);
	rmdir(group);
}

#endif
