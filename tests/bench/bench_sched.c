// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What counting costs at a context switch: two processes on one CPU hand a byte
 * back and forth through pipes, so that nearly all the time is switching. What
 * counts is the CPU time of the two, so that other load does not; the variants
 * take turns, because the machine's mood changes slower than that.
 *
 *   none      nothing is attached
 *   empty     a tp_btf/sched_switch program that only returns
 *   observe   the observer, the two processes belong to no container
 *   slot      the observer, the two processes belong to a container
 *
 * The second number is the kernel's own mean run time of the program
 * (bpf_stats), taken in separate runs because taking it costs time too. Both are
 * also given above the empty program of the same round, which is what counting
 * itself costs; docs/performance.md has the figures.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../lib/cgroup_mount.h"
#include "../lib/places.h"
#include "bpf/observe.h"
#include "lib/file.h"
#include "lib/log.h"

enum variant { NONE, EMPTY, OBSERVE, SLOT, NR_VARIANTS };

static const char *const variant_names[NR_VARIANTS] = {"none", "empty", "observe", "slot"};

#define MAX_ROUNDS 200

struct bench {
	struct topology topology;
	uint64_t cgroup_id;
	uint32_t level;
	int nr_rounds, nr_switches;
	double switch_ns[NR_VARIANTS][MAX_ROUNDS];
	double program_ns[NR_VARIANTS][MAX_ROUNDS];
};

/* --- the load ----------------------------------------------------------------------------------- */

static void echo_bytes(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			break;
	_exit(0);
}

static double cpu_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* CPU time in ns per switch, or negative errno */
static double ping_pong(int nr_switches)
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
	int prog_fd, link_fd; /* empty */
	struct observer *observer;
};

static int attach_empty(struct attached *attached)
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

static int attach_observer(struct bench *bench, enum variant variant, struct attached *attached)
{
	const struct observe_setup setup = {.topology = &bench->topology, .max_containers = 1024};
	const struct observe_group group = {
		.cgroup_id = bench->cgroup_id, .level = bench->level, .cpus = &bench->topology.all};
	uint32_t slot;
	int r = observe_open(&setup, &attached->observer);

	if (r || variant == OBSERVE)
		goto out;
	r = observe_claim(attached->observer, &group, &slot);
out:
	if (r)
		return r;
	attached->prog_fd =
		bpf_prog_get_fd_by_id(observe_handle(attached->observer)->programs[0].id);
	return attached->prog_fd < 0 ? -errno : 0;
}

static int attach(struct bench *bench, enum variant variant, struct attached *attached)
{
	*attached = (struct attached){.prog_fd = -1, .link_fd = -1};
	if (variant == NONE)
		return 0;
	return variant == EMPTY ? attach_empty(attached)
				: attach_observer(bench, variant, attached);
}

static void detach(struct attached *attached)
{
	if (attached->link_fd >= 0)
		close(attached->link_fd);
	if (attached->prog_fd >= 0)
		close(attached->prog_fd);
	observe_close(attached->observer);
}

/* --- a container's cgroup to be in ------------------------------------------------------------------ */

static int join(const char *directory)
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

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(const double *values, int nr, double q)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, values, (size_t)nr * sizeof(*values));
	qsort(sorted, (size_t)nr, sizeof(*sorted), compare);
	return sorted[(int)(q * (nr - 1) + 0.5)];
}

static void print_line(const char *name, const char *variant, const double *values, int nr)
{
	struct utsname system;

	uname(&system);
	printf("{\"name\": \"%s\", \"params\": {\"variant\": \"%s\", \"kernel\": \"%s\"}, "
	       "\"unit\": \"ns\", \"median\": %.1f, \"p99\": %.1f, \"n\": %d}\n",
	       name, variant, system.release, quantile(values, nr, 0.5), quantile(values, nr, 0.99),
	       nr);
}

/* --- runs ---------------------------------------------------------------------------------------------- */

static int run_once(struct bench *bench, enum variant variant, int round)
{
	struct attached attached;
	int r = attach(bench, variant, &attached);

	if (!r) {
		bench->switch_ns[variant][round] = ping_pong(bench->nr_switches);
		r = bench->switch_ns[variant][round] < 0 ? -EIO : 0;
	}
	detach(&attached);
	return r ? log_err(r, "bench: variant '%s'", variant_names[variant]) : 0;
}

static int run_with_stats(struct bench *bench, enum variant variant, int round)
{
	int stats_fd cleanup_close = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct bpf_prog_info info = {0};
	struct attached attached;
	__u32 len = sizeof(info);
	int r;

	if (stats_fd < 0)
		return log_err(-errno, "bench: switch on bpf_stats");
	r = attach(bench, variant, &attached);
	if (!r) {
		ping_pong(bench->nr_switches);
		r = bpf_obj_get_info_by_fd(attached.prog_fd, &info, &len);
	}
	if (!r && info.run_cnt)
		bench->program_ns[variant][round] = (double)info.run_time_ns / info.run_cnt;
	detach(&attached);
	return r ? log_err(r, "bench: statistics of '%s'", variant_names[variant]) : 0;
}

static int run_all(struct bench *bench)
{
	int r = 0;

	for (int round = 0; !r && round < bench->nr_rounds; round++) {
		/* the order changes, so that no variant always follows the same one */
		for (int i = 0; !r && i < NR_VARIANTS; i++)
			r = run_once(bench, (enum variant)((i + round) % NR_VARIANTS), round);
		for (int i = EMPTY; !r && i < NR_VARIANTS; i++)
			r = run_with_stats(bench, (enum variant)i, round);
	}
	return r;
}

static void print_all(const struct bench *bench)
{
	double above[MAX_ROUNDS];

	for (int i = 0; i < NR_VARIANTS; i++)
		print_line("sched_switch", variant_names[i], bench->switch_ns[i], bench->nr_rounds);
	for (int i = OBSERVE; i < NR_VARIANTS; i++) {
		for (int round = 0; round < bench->nr_rounds; round++)
			above[round] = bench->switch_ns[i][round] - bench->switch_ns[EMPTY][round];
		print_line("sched_switch_above_empty", variant_names[i], above, bench->nr_rounds);
	}
	for (int i = EMPTY; i < NR_VARIANTS; i++)
		print_line("sched_switch_bpf_stats", variant_names[i], bench->program_ns[i],
			   bench->nr_rounds);
	for (int i = OBSERVE; i < NR_VARIANTS; i++) {
		for (int round = 0; round < bench->nr_rounds; round++)
			above[round] =
				bench->program_ns[i][round] - bench->program_ns[EMPTY][round];
		print_line("sched_switch_bpf_stats_above_empty", variant_names[i], above,
			   bench->nr_rounds);
	}
}

static int pin_to_last_cpu(void)
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

int main(int argc, char **argv)
{
	static struct bench bench;
	char mount[512], group[600];
	struct stat status;
	int r;

	log_open("bench_sched", LOG_LEVEL_WARN);
	bench.nr_rounds = argc > 1 ? atoi(argv[1]) : 21;
	bench.nr_switches = argc > 2 ? atoi(argv[2]) : 50000;
	if (bench.nr_rounds < 1 || bench.nr_rounds > MAX_ROUNDS || bench.nr_switches < 100) {
		fprintf(stderr, "usage: bench_sched [ROUNDS 1-%d [SWITCHES >= 100]]\n", MAX_ROUNDS);
		return 2;
	}
	if (places_open(&bench.topology) || pin_to_last_cpu() ||
	    cgroup_mount_path(mount, sizeof(mount)))
		return -log_err(-ENOENT, "bench: needs sysfs and a cgroup2 mount") ? 1 : 0;
	snprintf(group, sizeof(group), "%s/pinfold-bench", mount);
	if ((mkdir(group, 0755) && errno != EEXIST) || stat(group, &status) || join(group)) {
		log_err(-errno, "bench: make and enter cgroup '%s' (run as root)", group);
		return 1;
	}
	bench.cgroup_id = status.st_ino;
	bench.level = 1;
	r = run_all(&bench);
	join(mount);
	rmdir(group);
	if (r)
		return 1;
	print_all(&bench);
	return 0;
}
