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
#include <sys/utsname.h>

#include "bench_switch.h"

enum variant { NONE, EMPTY, OBSERVE, SLOT, NR_VARIANTS };

static const char *const variant_names[NR_VARIANTS] = {"none", "empty", "observe", "slot"};

struct bench {
	struct switch_scene scene;
	int nr_rounds, nr_switches;
	double switch_ns[NR_VARIANTS][MAX_ROUNDS];
	double program_ns[NR_VARIANTS][MAX_ROUNDS];
};

/* --- runs with each variant attached ------------------------------------------------------------- */

static int attach(const struct bench *bench, enum variant variant, struct attached *attached)
{
	*attached = (struct attached){.prog_fd = -1, .link_fd = -1};
	if (variant == NONE)
		return 0;
	return variant == EMPTY ? attach_empty(attached)
				: attach_observer(&bench->scene, variant == SLOT, attached);
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

int main(int argc, char **argv)
{
	static struct bench bench;
	char mount[512], group[600];
	int r;

	log_open("bench_sched", LOG_LEVEL_WARN);
	bench.nr_rounds = argc > 1 ? atoi(argv[1]) : 21;
	bench.nr_switches = argc > 2 ? atoi(argv[2]) : 50000;
	if (bench.nr_rounds < 1 || bench.nr_rounds > MAX_ROUNDS || bench.nr_switches < 100) {
		fprintf(stderr, "usage: bench_sched [ROUNDS 1-%d [SWITCHES >= 100]]\n", MAX_ROUNDS);
		return 2;
	}
	if (switch_scene_open(&bench.scene, mount, group))
		return 1;
	r = run_all(&bench);
	switch_scene_close(mount, group);
	if (r)
		return 1;
	print_all(&bench);
	return 0;
}
