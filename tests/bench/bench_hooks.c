// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/*
 * What the guard's hooks cost those whom it does not concern: read(2) and write(2) of one byte, where the
 * file does nothing, stat(2) of a path of ten components, and find(1) over a thousand directories with
 * eight files each, which is about what a directory below /usr has. CPU time, of which that of the
 * machine's other work is no part; the variants take turns.
 *
 *   none      nothing is attached
 *   empty     programs that only return, on the hooks that these calls reach
 *   guard     those programs of the guard
 *   detect    the same without inode_permission: clone3 into a cgroup is only detected
 *
 * There is no policy, so nothing is denied on the machine that this runs on. The programs ask for the file
 * system first, so they return where they also would with one. Ratios are those of the same round. The two
 * bounds of a median are ranks between which it is with 95 % probability, whatever the distribution.
 *
 * docs/performance.md has the figures, and how to take them in a guest.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bench.h"
#include "bpf/abilities.h"
#include "guard.skel.h"
#include "lib/cleanup.h"
#include "lib/file.h"
#include "lib/log.h"

#define MAX_ROUNDS 200
#define NR_DIRS	   1000
#define NR_FILES   8 /* in each of them */

enum variant { NONE, EMPTY, GUARD, DETECT, NR_VARIANTS };
enum load { READ, WRITE, STAT, FIND, NR_LOADS };

static const char *const variant_names[NR_VARIANTS] = {"none", "empty", "guard", "detect"};
static const char *const load_names[NR_LOADS] = {"read", "write", "stat", "find"};

/* What the loads reach: the name behind lsm_ and mod_, and that of the hook. */
static const struct {
	const char *program, *hook;
} hooks[] = {
	{"clone", "inode_permission"}, /* first: `detect` is without it */
	{"file_perm", "file_permission"},
	{"file_open", "file_open"},
	{"fork", "task_alloc"},
};

#define NR_HOOKS (sizeof(hooks) / sizeof(hooks[0]))

struct bench {
	bool is_lsm;
	int nr_rounds, nr_calls;
	char tree[64], path[128];
	int zero_fd, null_fd;
	double ns[NR_LOADS][NR_VARIANTS][MAX_ROUNDS];
};

/* --- what is attached ---------------------------------------------------------------------------- */

struct attached {
	struct guard *guard;
	struct bpf_link *links[NR_HOOKS];
	int prog_fds[NR_HOOKS], link_fds[NR_HOOKS]; /* of the empty programs */
};

static int attach_empty(const struct bench *bench, int hook, struct attached *attached)
{
	/* return 0; */
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	enum bpf_attach_type type = bench->is_lsm ? BPF_LSM_MAC : BPF_MODIFY_RETURN;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type);
	char function[64];
	int id;

	/* libbpf puts bpf_lsm_ before the names of lsm programs itself */
	snprintf(function, sizeof(function), "%s%s", bench->is_lsm ? "" : "security_",
		 hooks[hook].hook);
	id = libbpf_find_vmlinux_btf_id(function, type);
	if (id < 0)
		return id;
	options.attach_btf_id = (__u32)id;
	attached->prog_fds[hook] =
		bpf_prog_load(bench->is_lsm ? BPF_PROG_TYPE_LSM : BPF_PROG_TYPE_TRACING,
			      "bench_empty", "GPL", code, ARRAY_SIZE(code), &options);
	if (attached->prog_fds[hook] < 0)
		return -errno;
	attached->link_fds[hook] = bpf_raw_tracepoint_open(NULL, attached->prog_fds[hook]);
	return attached->link_fds[hook] < 0 ? -errno : 0;
}

static struct bpf_program *guard_program(const struct bench *bench, const struct guard *guard,
					 size_t hook)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", bench->is_lsm ? "lsm" : "mod", hooks[hook].program);
	return bpf_object__find_program_by_name(guard->obj, name);
}

static int attach_guard(const struct bench *bench, size_t first_hook, struct attached *attached)
{
	struct bpf_program *program;
	int r;

	attached->guard = guard__open();
	if (!attached->guard)
		return -errno;
	bpf_object__for_each_program (program, attached->guard->obj)
		bpf_program__set_autoload(program, false);
	for (size_t i = first_hook; i < NR_HOOKS; i++)
		bpf_program__set_autoload(guard_program(bench, attached->guard, i), true);
	r = guard__load(attached->guard);
	for (size_t i = first_hook; !r && i < NR_HOOKS; i++) {
		attached->links[i] = bpf_program__attach(guard_program(bench, attached->guard, i));
		r = attached->links[i] ? 0 : -errno;
	}
	return r;
}

static int attach(const struct bench *bench, enum variant variant, struct attached *attached)
{
	int r = 0;

	*attached = (struct attached){0};
	for (size_t i = 0; i < NR_HOOKS; i++)
		attached->prog_fds[i] = attached->link_fds[i] = -1;
	for (size_t i = 0; variant == EMPTY && !r && i < NR_HOOKS; i++)
		r = attach_empty(bench, (int)i, attached);
	if (variant == GUARD || variant == DETECT)
		r = attach_guard(bench, variant == DETECT, attached);
	return r;
}

static void detach(struct attached *attached)
{
	for (size_t i = 0; i < NR_HOOKS; i++) {
		bpf_link__destroy(attached->links[i]);
		cleanup_close_fd(&attached->link_fds[i]);
		cleanup_close_fd(&attached->prog_fds[i]);
	}
	guard__destroy(attached->guard);
}

/* --- the loads ----------------------------------------------------------------------------------- */

static double read_ns(const struct bench *bench)
{
	uint64_t start = bench_now_ns();
	char byte;

	for (int i = 0; i < bench->nr_calls; i++)
		if (read(bench->zero_fd, &byte, 1) != 1)
			return -EIO;
	return (double)(bench_now_ns() - start) / bench->nr_calls;
}

static double write_ns(const struct bench *bench)
{
	uint64_t start = bench_now_ns();

	for (int i = 0; i < bench->nr_calls; i++)
		if (write(bench->null_fd, "", 1) != 1)
			return -EIO;
	return (double)(bench_now_ns() - start) / bench->nr_calls;
}

static double stat_ns(const struct bench *bench)
{
	uint64_t start = bench_now_ns();
	struct stat status;

	for (int i = 0; i < bench->nr_calls; i++)
		if (stat(bench->path, &status))
			return -EIO;
	return (double)(bench_now_ns() - start) / bench->nr_calls;
}

static double children_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* The start of the program is part of it. */
static double find_ns(const struct bench *bench)
{
	extern char **environ;
	char *words[] = {(char *)"find", (char *)bench->tree, NULL};
	double start = children_ns();
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, bench->null_fd, STDOUT_FILENO);
	if (!posix_spawnp(&pid, words[0], &actions, NULL, words, environ))
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&actions);
	return status ? -EIO : children_ns() - start;
}

static double (*const loads[NR_LOADS])(const struct bench *bench) = {
	[READ] = read_ns, [WRITE] = write_ns, [STAT] = stat_ns, [FIND] = find_ns};

/* --- the files ----------------------------------------------------------------------------------- */

static int make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Ten directories in each, as deep as that takes. */
static int make_dir(const struct bench *bench, int number)
{
	char dir[128] = "", path[192];
	int r;

	for (int rest = number; rest; rest /= 10) {
		char before[128];

		memcpy(before, dir, sizeof(before));
		snprintf(dir, sizeof(dir), "/d%d%.100s", rest % 10, before);
	}
	snprintf(path, sizeof(path), "%s%s", bench->tree, dir);
	r = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
	for (int i = 0; !r && i < NR_FILES; i++) {
		snprintf(path, sizeof(path), "%s%s/f%d", bench->tree, dir, i);
		r = make_file(path);
	}
	return r;
}

/* The ten components begin with those of the tree, which are two. */
static int make_files(struct bench *bench)
{
	int r = mkdtemp(bench->tree) ? 0 : -errno;

	for (int i = 0; !r && i < NR_DIRS; i++)
		r = make_dir(bench, i);
	snprintf(bench->path, sizeof(bench->path), "%s", bench->tree);
	for (int i = 0; !r && i < 7; i++) {
		strcat(bench->path, "/c");
		r = mkdir(bench->path, 0755) ? -errno : 0;
	}
	strcat(bench->path, "/f");
	return r ? r : make_file(bench->path);
}

static void remove_files(const struct bench *bench)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", bench->tree);
	if (system(command))
		fprintf(stderr, "bench_hooks: %s is left\n", bench->tree);
}

/* --- rounds -------------------------------------------------------------------------------------- */

static int run_variant(struct bench *bench, enum variant variant, int round)
{
	struct attached attached;
	int r = attach(bench, variant, &attached);

	for (enum load load = 0; !r && load < NR_LOADS; load++) {
		double ns = loads[load](bench);

		bench->ns[load][variant][round] = ns;
		r = ns < 0 ? (int)ns : 0;
	}
	detach(&attached);
	return r ? log_err(r, "bench: variant '%s'", variant_names[variant]) : 0;
}

static int run_all(struct bench *bench)
{
	int r = 0;

	for (int round = 0; !r && round < bench->nr_rounds; round++)
		/* the order changes, so that no variant always follows the same one */
		for (int i = 0; !r && i < NR_VARIANTS; i++)
			r = run_variant(bench, (enum variant)((i + round) % NR_VARIANTS), round);
	return r;
}

static void print_ns(const struct bench *bench, enum load load, enum variant variant,
		     const char *params)
{
	int nr = bench->nr_rounds;
	double sorted[MAX_ROUNDS];

	memcpy(sorted, bench->ns[load][variant], sizeof(sorted));
	qsort(sorted, (size_t)nr, sizeof(sorted[0]), bench_compare);
	printf("{\"name\": \"hooks_%s\", \"params\": {\"variant\": \"%s\", %s}, \"unit\": \"ns\", "
	       "\"median\": %.1f, \"p99\": %.1f, \"n\": %d}\n",
	       load_names[load], variant_names[variant], params, sorted[nr / 2],
	       sorted[nr * 99 / 100], nr);
}

static void print_ratio(const struct bench *bench, enum load load, enum variant variant,
			enum variant base, const char *params)
{
	int nr = bench->nr_rounds, low = (int)floor((nr - 1.96 * sqrt(nr)) / 2) - 1;
	double sorted[MAX_ROUNDS];

	for (int round = 0; round < nr; round++)
		sorted[round] = bench->ns[load][variant][round] / bench->ns[load][base][round];
	qsort(sorted, (size_t)nr, sizeof(sorted[0]), bench_compare);
	if (low < 0)
		low = 0;
	printf("{\"name\": \"hooks_%s_ratio\", \"params\": {\"variant\": \"%s\", \"to\": \"%s\", %s}, "
	       "\"unit\": \"ratio\", \"median\": %.4f, \"low\": %.4f, \"high\": %.4f, \"n\": %d}\n",
	       load_names[load], variant_names[variant], variant_names[base], params,
	       sorted[nr / 2], sorted[low], sorted[nr - 1 - low], nr);
}

static void print_all(const struct bench *bench)
{
	struct utsname system;
	char params[160];

	uname(&system);
	snprintf(params, sizeof(params), "\"mechanism\": \"%s\", \"kernel\": \"%.65s\"",
		 bench->is_lsm ? "lsm" : "fmod_ret", system.release);
	for (enum load load = 0; load < NR_LOADS; load++) {
		for (enum variant variant = 0; variant < NR_VARIANTS; variant++)
			print_ns(bench, load, variant, params);
		print_ratio(bench, load, EMPTY, NONE, params);
		print_ratio(bench, load, GUARD, NONE, params);
		print_ratio(bench, load, GUARD, EMPTY, params);
		print_ratio(bench, load, GUARD, DETECT, params);
	}
}

/* lsm if it is there; false = there is neither. */
static bool choose_mechanism(struct bench *bench)
{
	struct abilities abilities;

	abilities_begin(&abilities, NULL, -1);
	abilities_probe(&abilities, ABILITY_FMOD_RET + 1);
	bench->is_lsm = abilities.rows[ABILITY_BPF_LSM].state == FEATURE_YES;
	return bench->is_lsm || abilities.rows[ABILITY_FMOD_RET].state == FEATURE_YES;
}

int main(int argc, char **argv)
{
	static struct bench bench = {.tree = "/tmp/bench_hooks.XXXXXX"};
	int r;

	log_open("bench_hooks", LOG_LEVEL_WARN);
	libbpf_set_print(NULL);
	bench.nr_rounds = argc > 1 ? atoi(argv[1]) : 21;
	bench.nr_calls = argc > 2 ? atoi(argv[2]) : 20000;
	if (bench.nr_rounds < 1 || bench.nr_rounds > MAX_ROUNDS || bench.nr_calls < 100) {
		fprintf(stderr, "usage: bench_hooks [ROUNDS 1-%d [CALLS >= 100]]\n", MAX_ROUNDS);
		return 2;
	}
	if (!choose_mechanism(&bench)) {
		puts("{\"name\": \"hooks\", \"params\": {}, \"absent\": \"the kernel attaches neither "
		     "lsm nor fmod_ret programs for this user\"}");
		return 0;
	}
	bench.zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	bench.null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC); /* # discards: it is measured */
	r = bench.zero_fd < 0 || bench.null_fd < 0 ? -errno : make_files(&bench);
	if (r)
		log_err(r, "bench: make files below '%s'", bench.tree);
	else
		r = run_all(&bench);
	remove_files(&bench);
	if (r)
		return 1;
	print_all(&bench);
	return 0;
}
