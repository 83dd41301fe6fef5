// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What other programs cost that measure how long tasks wait for a CPU, beside ours: the CPU time per
 * context switch of two processes on one CPU (bench_switch.h), while one of these is at work. They
 * take turns in each round.
 *
 *   none, empty        nothing, and a tp_btf/sched_switch program that only returns
 *   observe, slot      the observer; the two belong to no container, or to one
 *   runqlat, cpudist   of libbpf-tools: histograms of waiting and of running
 *   perf               perf sched record: each switch and wakeup in a file
 *   bpftrace           runqlat.bt as a one-liner
 *
 * tools/guest/debian-program finds the peers. One that it cannot find, or that does not start here,
 * is reported as absent in a line of its own.
 */
#include <dirent.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <time.h>

#include "bench_switch.h"
#include "lib/clock.h"

enum variant { NONE, EMPTY, OBSERVE, SLOT, RUNQLAT, CPUDIST, PERF, BPFTRACE, NR_VARIANTS };

#define FIRST_PEER RUNQLAT
#define START_MS   30000
#define RECORD	   "/tmp/bench-peers.data"

static const char *const bpftrace_script =
	"tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new"
	" { @queued[args->pid] = nsecs; }"
	" tracepoint:sched:sched_switch {"
	" if (args->prev_state == 0) { @queued[args->prev_pid] = nsecs; }"
	" $from = @queued[args->next_pid];"
	" if ($from) { @us = hist((nsecs - $from) / 1000); }"
	" delete(@queued[args->next_pid]); }";

/* "PROGRAM" is where the program was found. */
static struct peer {
	const char *name, *arguments[8];
	char path[512]; /* "" = absent */
	const char *why;
} peers[NR_VARIANTS] = {
	[NONE] = {.name = "none"},
	[EMPTY] = {.name = "empty"},
	[OBSERVE] = {.name = "observe"},
	[SLOT] = {.name = "slot"},
	[RUNQLAT] = {.name = "runqlat", .arguments = {"runqlat", "3600"}},
	[CPUDIST] = {.name = "cpudist", .arguments = {"cpudist", "3600"}},
	/* the command starts as soon as perf records */
	[PERF] = {.name = "perf",
		  .arguments = {"perf", "sched", "record", "-o", RECORD, "sleep", "3600"}},
	[BPFTRACE] = {.name = "bpftrace", .arguments = {"bpftrace", "-e"}},
};

static struct switch_scene scene;
static int nr_rounds, nr_switches;
static double switch_ns[NR_VARIANTS][MAX_ROUNDS];
static cpu_set_t all_cpus;

static void find(struct peer *peer)
{
	char command[600];
	FILE *answer;

	snprintf(command, sizeof(command), "tools/guest/debian-program %s", peer->name);
	answer = popen(command, "re");
	if (!answer || !fgets(peer->path, sizeof(peer->path), answer))
		*peer->path = '\0';
	peer->path[strcspn(peer->path, "\n")] = '\0';
	if (answer && pclose(answer))
		*peer->path = '\0';
	if (!*peer->path)
		peer->why = "it cannot be fetched and is not installed";
}

/* --- a peer at work ------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

static __u32 newest_program(void)
{
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id))
		;
	return id;
}

/* While the kernel counts runs: has a program that is newer than this one run? */
static bool has_run_since(__u32 id)
{
	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);
		int fd cleanup_close = bpf_prog_get_fd_by_id(id);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.run_cnt)
			return true;
	}
	return false;
}

/* perf runs its command when it has begun to record. */
static bool has_child(pid_t pid)
{
	char path[64], line[16];
	FILE *file cleanup_file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	return file && fgets(line, sizeof(line), file);
}

static void run_peer(const struct peer *peer)
{
	const char *arguments[ARRAY_SIZE(peer->arguments) + 1] = {0};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC); /* # discards: its figures */

	memcpy(arguments, peer->arguments, sizeof(peer->arguments));
	if (peer == &peers[BPFTRACE])
		arguments[2] = bpftrace_script;
	setpgid(0, 0);
	/* on the other CPUs, too; and bpftrace looks for tracepoints where nothing may be mounted */
	sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
	if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	dup2(null_fd, 0);
	dup2(null_fd, 1);
	execv(peer->path, (char *const *)arguments);
	_exit(127);
}

static void stop_peer(pid_t pid)
{
	kill(-pid, SIGINT);
	for (int i = 0; i < 500 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 10);
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(RECORD);
}

/* Returns once it is at work. -ESRCH: it ended before; -ETIMEDOUT. */
static int start_peer(const struct peer *peer, pid_t *ret_pid)
{
	int stats_fd cleanup_close = bpf_enable_stats(BPF_STATS_RUN_TIME);
	const uint64_t until_ms = now_ms() + START_MS;
	const __u32 newest = newest_program();
	const pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		run_peer(peer);
	while (!(peer == &peers[PERF] ? has_child(pid) : has_run_since(newest))) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return -ESRCH;
		if (now_ms() > until_ms) {
			stop_peer(pid);
			return -ETIMEDOUT;
		}
		poll(NULL, 0, 5);
	}
	*ret_pid = pid;
	return 0;
}

/* --- runs ---------------------------------------------------------------------------------------- */

static int run_ours(enum variant variant, int round)
{
	struct attached attached = {.prog_fd = -1, .link_fd = -1};
	int r = 0;

	if (variant == EMPTY)
		r = attach_empty(&attached);
	else if (variant != NONE)
		r = attach_observer(&scene, variant == SLOT, &attached);
	if (!r) {
		switch_ns[variant][round] = ping_pong(nr_switches);
		r = switch_ns[variant][round] < 0 ? -EIO : 0;
	}
	detach(&attached);
	return r ? log_err(r, "bench: variant '%s'", peers[variant].name) : 0;
}

static int run_beside(enum variant variant, int round)
{
	struct peer *peer = &peers[variant];
	pid_t pid = 0;
	int r;

	if (!*peer->path)
		return 0;
	r = start_peer(peer, &pid);
	if (r && !round) {
		/* here it cannot work at all */
		*peer->path = '\0';
		peer->why = "it was started and did not begin to work";
		return 0;
	}
	if (r)
		return log_err(r, "bench: start %s again", peer->name);
	switch_ns[variant][round] = ping_pong(nr_switches);
	stop_peer(pid);
	return switch_ns[variant][round] < 0 ? -EIO : 0;
}

static int run_all(void)
{
	int r = 0;

	for (int round = 0; !r && round < nr_rounds; round++)
		/* the order changes, so that no variant always follows the same one */
		for (int i = 0; !r && i < NR_VARIANTS; i++) {
			enum variant variant = (enum variant)((i + round) % NR_VARIANTS);

			r = variant < FIRST_PEER ? run_ours(variant, round)
						 : run_beside(variant, round);
		}
	return r;
}

static void print_line(const char *name, enum variant variant, const double *values)
{
	struct utsname system;

	uname(&system);
	printf("{\"name\": \"%s\", \"params\": {\"variant\": \"%s\", \"kernel\": \"%s\"}, "
	       "\"unit\": \"ns\", \"median\": %.1f, \"p99\": %.1f, \"n\": %d}\n",
	       name, peers[variant].name, system.release, quantile(values, nr_rounds, 0.5),
	       quantile(values, nr_rounds, 0.99), nr_rounds);
}

static void print_all(void)
{
	double above[MAX_ROUNDS];

	for (enum variant i = NONE; i < NR_VARIANTS; i++) {
		if (peers[i].why) {
			printf("{\"name\": \"switch_beside\", \"params\": {\"variant\": \"%s\"}, "
			       "\"absent\": \"%s\"}\n",
			       peers[i].name, peers[i].why);
			continue;
		}
		print_line("switch_beside", i, switch_ns[i]);
		for (int round = 0; round < nr_rounds; round++)
			above[round] = switch_ns[i][round] - switch_ns[NONE][round];
		if (i != NONE)
			print_line("switch_beside_above_none", i, above);
	}
}

int main(int argc, char **argv)
{
	char mount_path[512], group[600];
	int r;

	log_open("bench_peers", LOG_LEVEL_WARN);
	nr_rounds = argc > 1 ? atoi(argv[1]) : 9;
	nr_switches = argc > 2 ? atoi(argv[2]) : 20000;
	if (nr_rounds < 1 || nr_rounds > MAX_ROUNDS || nr_switches < 100) {
		fprintf(stderr, "usage: bench_peers [ROUNDS 1-%d [SWITCHES >= 100]]\n", MAX_ROUNDS);
		return 2;
	}
	for (enum variant i = FIRST_PEER; i < NR_VARIANTS; i++)
		find(&peers[i]);
	sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	if (switch_scene_open(&scene, mount_path, group))
		return 1;
	r = run_all();
	switch_scene_close(mount_path, group);
	if (r)
		return 1;
	print_all();
	return 0;
}
