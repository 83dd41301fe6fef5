// SPDX-License-Identifier: Apache-2.0
/*
 * One forbidden thing per call, said back as a word: "ok" or the name of the
 * errno. Exit status 0 = it succeeded, 1 = it did not, 2 = it could not be tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <arch.h>

#include "guard_attack.h"
#include "guard_attack_handles.h"
#include "guard_attack_rings.h"

static int attack_write(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CLOEXEC);

	return answer(fd < 0 || write_text(fd, args[1]));
}

/* Open now, write each line's worth of text when told to; "ready" in between. */
static int attack_late(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CLOEXEC);
	char line[16];

	if (fd < 0)
		return cannot(args[0]);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		answer(write_text(fd, args[1]));
	return 0;
}

static int attack_splice(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CLOEXEC), ends[2];

	if (fd < 0)
		return answer(1);
	if (pipe(ends) || write_text(ends[1], args[1]))
		return cannot("pipe");
	return answer(splice(ends[0], NULL, fd, NULL, strlen(args[1]), 0) < 0);
}

/* One write(2) for the kernel, from two places of our memory. */
static int attack_writev(char **args)
{
	size_t len = strlen(args[1]), half = len / 2;
	struct iovec parts[] = {{args[1], half}, {args[1] + half, len - half}};
	int fd = open(args[0], O_WRONLY | O_CLOEXEC);

	return answer(fd < 0 || writev(fd, parts, 2) < 0);
}

static int attack_sendfile(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CLOEXEC), memory;
	off_t from = 0;

	if (fd < 0)
		return answer(1);
	memory = memfd_create("text", MFD_CLOEXEC);
	if (memory < 0 || write_text(memory, args[1]))
		return cannot("memfd_create");
	return answer(sendfile(fd, memory, &from, strlen(args[1])) < 0);
}

/* --- descriptors that are older than the guard ------------------------------------------------ */

#define HELD_MAX 16

/* The files that `serve` opened when it began. */
static struct {
	const char *path;
	int fd;
} held[HELD_MAX];

static int held_fd(const char *path)
{
	for (size_t i = 0; i < HELD_MAX && held[i].path; i++)
		if (!strcmp(held[i].path, path))
			return held[i].fd;
	errno = ENOENT;
	exit(cannot(path));
}

static int attack_held(char **args)
{
	return answer(write_text(held_fd(args[0]), args[1]));
}

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int socket, int fd)
{
	union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS}};
	struct iovec byte = {"", 1};
	struct msghdr message = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
}

static int receive_fd(int socket)
{
	union control control = {0};
	char text;
	struct iovec byte = {&text, 1};
	struct msghdr message = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space)};
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

/* Somebody who opened the file before the guard hands the descriptor over. */
static int attack_passed(char **args)
{
	int pair[2], fd = held_fd(args[0]);
	pid_t sender;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return cannot("socketpair");
	sender = fork();
	if (!sender)
		_exit(send_fd(pair[1], fd) ? 2 : 0);
	close(fd);
	fd = sender < 0 ? -1 : receive_fd(pair[0]);
	if (fd < 0)
		return cannot("SCM_RIGHTS");
	waitpid(sender, NULL, 0);
	return answer(write_text(fd, args[1]));
}

static int attack_clone(char **args)
{
	int fd = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? cannot(args[0]) : answer(clone_child(fd) < 0);
}

static int attack_fork(char **args)
{
	return answer(clone_child(-1) < 0);
}

static int pin_to(pid_t pid, char *cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (char *cpu = strtok(cpus, ","); cpu; cpu = strtok(NULL, ","))
		CPU_SET((size_t)atoi(cpu), &set);
	return sched_setaffinity(pid, sizeof(set), &set);
}

static int attack_pin(char **args)
{
	return answer(pin_to(atoi(args[0]), args[1]));
}

/* More than a container may lose to an attack before that is undone. */
#define STAY_NS 200000000L

/* Use this much CPU time. */
static void stay(void)
{
	struct timespec used;

	do {
		for (int i = 0; i < 1000; i++)
			arch_relax();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < STAY_NS);
}

/*
 * Write a file, then pin oneself to CPUs that this was to open, and take time there:
 * FILE TEXT CPU,CPU…
 */
static int attack_write_pin(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write_text(fd, args[1]) || pin_to(0, args[2]))
		return answer(1);
	stay();
	return answer(0);
}

/* Open a CPU to a process, and push it there, out of its own: DIR DIR TEXT PID CPU,CPU… */
static int attack_push_out(char **args)
{
	for (int i = 0; i < 2; i++) {
		char path[512];
		int fd;

		snprintf(path, sizeof(path), "%s/cpuset.cpus", args[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write_text(fd, args[2]))
			return answer(1);
		close(fd);
	}
	return answer(pin_to(atoi(args[3]), args[4]));
}

/* Another scheduling policy, with sched_setattr(2), which glibc does not wrap. */
static int attack_attr(char **args)
{
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} batch = {.size = sizeof(batch), .policy = SCHED_BATCH};

	return answer(syscall(SYS_sched_setattr, atoi(args[0]), &batch, 0) < 0);
}

static void *pin_itself(void *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)(intptr_t)cpu, &set);
	return (void *)(intptr_t)(sched_setaffinity(0, sizeof(set), &set) ? errno : 0);
}

/* As a parallel runtime does: one thread for each CPU, each pins itself. */
static int attack_team(char **args)
{
	for (char *cpu = strtok(args[0], ","); cpu; cpu = strtok(NULL, ",")) {
		pthread_t thread;
		void *failed;

		errno = pthread_create(&thread, NULL, pin_itself, (void *)(intptr_t)atoi(cpu));
		if (errno)
			return answer(1);
		pthread_join(thread, &failed);
		errno = (int)(intptr_t)failed;
		if (errno)
			return answer(1);
	}
	return answer(0);
}

static int attack_mkdir(char **args)
{
	return answer(mkdir(args[0], 0755));
}

static int attack_rmdir(char **args)
{
	return answer(rmdir(args[0]));
}

/* --- what concerns a process --------------------------------------------------------------- */

#define NODES (8 * sizeof(unsigned long))

/* Everything of process args[0] that is on NUMA node 0 goes to node 1. */
static int attack_migrate(char **args)
{
	const unsigned long from = 1, to = 2;

	return answer(syscall(SYS_migrate_pages, atoi(args[0]), NODES, &from, &to) < 0);
}

/* The address of the mapping of a process whose line in its list has `name`. */
static void *address_of(const char *pid, const char *name)
{
	char path[64], line[512];
	unsigned long address = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "re");
	while (maps && !address && fgets(line, sizeof(line), maps))
		if (strstr(line, name))
			address = strtoul(line, NULL, 16);
	if (!address)
		exit(cannot(path));
	fclose(maps);
	return (void *)address;
}

/* The address of the first page of a process, which is its program's. */
static void *first_page(const char *pid)
{
	return address_of(pid, "-");
}

/* One page of process args[0] goes to NUMA node 1. */
static int attack_page(char **args)
{
	void *page = first_page(args[0]);
	int node = 1, status;

	return answer(syscall(SYS_move_pages, atoi(args[0]), 1UL, &page, &node, &status,
			      1 << 1 /* MPOL_MF_MOVE */) < 0);
}

static int attack_nice(char **args)
{
	return answer(setpriority(PRIO_PROCESS, (id_t)atoi(args[0]), 5) < 0);
}

/* The idle class, which waits for everybody else's requests. */
static int attack_ioprio(char **args)
{
	return answer(syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, atoi(args[0]), 3 << 13) <
		      0);
}

static int attack_limit(char **args)
{
	const struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};

	return answer(prlimit(atoi(args[0]), RLIMIT_NOFILE, &limit, NULL) < 0);
}

static int attack_trace(char **args)
{
	const pid_t pid = atoi(args[0]);

	return answer(ptrace(PTRACE_SEIZE, pid, 0, 0) < 0);
}

static int attack_memory(char **args)
{
	char bytes[16];
	const struct iovec here = {bytes, sizeof(bytes)};
	const struct iovec there = {first_page(args[0]), sizeof(bytes)};

	return answer(process_vm_readv(atoi(args[0]), &here, 1, &there, 1, 0) < 0);
}

static int advise(const char *pid, int advice)
{
	struct iovec page = {address_of(pid, "[stack]"), (size_t)sysconf(_SC_PAGESIZE)};
	int pidfd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);

	if (pidfd < 0)
		return cannot("pidfd_open");
	return answer(syscall(SYS_process_madvise, pidfd, &page, 1, advice, 0) < 0);
}

/* Swap a page out, from outside; it may come back on another node. */
static int attack_pageout(char **args)
{
	return advise(args[0], MADV_PAGEOUT);
}

/* The same page is the first to go when memory is short. */
static int attack_cold(char **args)
{
	return advise(args[0], MADV_COLD);
}

/* Stop a process, and let it go on at once. */
static int attack_stop(char **args)
{
	const pid_t pid = atoi(args[0]);
	int failed = kill(pid, SIGSTOP);

	return answer(failed || kill(pid, SIGCONT));
}

/* What ps and monitoring agents do: no attack, and permitted in every mode. */
static int attack_look(char **args)
{
	static const char *const files[] = {"stat", "status", "maps", "environ", "io", "cmdline"};
	char path[64], text[512];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/%s", args[0], files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, text, sizeof(text)) < 0)
			return answer(1);
		close(fd);
	}
	snprintf(path, sizeof(path), "/proc/%s/exe", args[0]);
	return answer(readlink(path, text, sizeof(text)) < 0);
}

/* The same refused call args[1] times in a row. */
static int attack_flood(char **args)
{
	for (int nr = atoi(args[1]); nr > 0; nr--)
		if (!rmdir(args[0]))
			return answer(0);
	return 0;
}

/* --- what is not about cgroups ----------------------------------------------------------------- */

static int attack_unlink(char **args)
{
	return answer(unlink(args[0]));
}

static int attack_unmount(char **args)
{
	return answer(umount2(args[0], MNT_DETACH));
}

static int attack_rename(char **args)
{
	return answer(rename(args[0], args[1]));
}

/* An empty file system over it. */
static int attack_cover(char **args)
{
	return answer(mount("none", args[0], "tmpfs", 0, NULL));
}

static int attack_bind_over(char **args)
{
	return answer(mount("/tmp", args[0], NULL, MS_BIND, NULL));
}

/* The kernel ignores the propagation beside MS_BIND. */
static int attack_bind_private_over(char **args)
{
	return answer(mount("/tmp", args[0], NULL, MS_BIND | MS_PRIVATE, NULL));
}

/* Over a single file, which is not a directory. */
static int attack_bind_file_over(char **args)
{
	return answer(mount("/proc/self/exe", args[0], NULL, MS_BIND, NULL));
}

/* Every mount of the file system, for all its users. */
static int attack_read_only(char **args)
{
	return answer(mount(NULL, args[0], NULL, MS_REMOUNT | MS_RDONLY, NULL));
}

/* The same without read-only, which fails while a file is open for writing. */
static int attack_remount(char **args)
{
	return answer(mount(NULL, args[0], NULL, MS_REMOUNT, NULL));
}

static int attack_bind_remount(char **args)
{
	return answer(mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND | MS_NOEXEC, NULL));
}

/* PID N: it may open no more than N files. */
static int attack_descriptors(char **args)
{
	const pid_t pid = atoi(args[0]);
	struct rlimit limit;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit))
		return cannot("prlimit");
	limit.rlim_cur = (rlim_t)atol(args[1]);
	return answer(prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
}

/* Only this mount. */
static int attack_bind_read_only(char **args)
{
	return answer(mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
}

/* The same, with a propagation, which the kernel ignores here. */
static int attack_bind_read_only_slave(char **args)
{
	return answer(
		mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_SLAVE, NULL));
}

/* With move_mount(2), which glibc of bookworm wraps, but not that of older systems. */
static int attack_move_mount(char **args)
{
	return answer(syscall(SYS_move_mount, AT_FDCWD, args[0], AT_FDCWD, args[1], 0) < 0);
}

/* FILE TEXT N END: N writes, and then more until the file END is there; how many passed, and all. */
static int siege(char **args)
{
	const struct timespec rest = {.tv_nsec = 1000000};
	long wanted = atol(args[2]), nr = 0, passed = 0;

	while (nr < wanted || access(args[3], F_OK)) {
		int fd = open(args[0], O_WRONLY | O_CLOEXEC);

		passed += fd >= 0 && !write_text(fd, args[1]);
		if (fd >= 0)
			close(fd);
		/* as fast as it can would keep the agent from coming back */
		if (++nr % 16 == 0)
			nanosleep(&rest, NULL);
	}
	printf("%ld %ld\n", passed, nr);
	return 0;
}

/* PROGRAM ARGUMENT…: "ok" if it succeeds; what it says goes to standard error. */
static int attack_run(char **args)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	errno = posix_spawnp(&pid, args[0], &actions, NULL, args, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (errno || waitpid(pid, &status, 0) != pid)
		return cannot(args[0]);
	errno = ECANCELED;
	return answer(status);
}

/* --- attackers that wait ------------------------------------------------------------------------- */

static int run_command(int nr_words, char **words);

/* Try one line of words in a child: its pid and the outcome, a line each. */
static void serve_line(char *line)
{
	char *words[16] = {NULL};
	int nr = 0, status = 0;
	pid_t pid;

	for (char *word = strtok(line, " \n"); word && nr < 15; word = strtok(NULL, " \n"))
		words[nr++] = word;
	pid = fork();
	if (!pid) {
		printf("%d\n", getpid());
		fflush(stdout);
		exit(run_command(nr, words));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == 2)
		puts("untried");
	fflush(stdout);
}

/* [FILE]…: open the files, say "ready", then try each line of standard input. */
static int serve(char **args)
{
	char line[1024];

	for (size_t i = 0; args[i] && i < HELD_MAX; i++) {
		held[i].path = args[i];
		held[i].fd = open(args[i], O_WRONLY);
		if (held[i].fd < 0)
			return cannot(args[i]);
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		serve_line(line);
	return 0;
}

/* Become a member of a cgroup, then something else: for workloads, before the guard. */
static int join_and_run(char **args)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", args[0]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write_text(fd, "0"))
		return cannot(path);
	execvp(args[1], args + 1);
	return cannot(args[1]);
}

static const struct {
	const char *name;
	int nr_args; /* at least */
	int (*run)(char **args);
} commands[] = {
	{"write", 2, attack_write},
	{"late", 2, attack_late},
	{"splice", 2, attack_splice},
	{"writev", 2, attack_writev},
	{"sendfile", 2, attack_sendfile},
	{"held", 2, attack_held},
	{"passed", 2, attack_passed},
	{"handle", 2, attack_handle},
	{"handle-in", 3, attack_handle_in},
	{"handle-mkdir", 2, attack_handle_mkdir},
	{"uring", 3, attack_uring},
	{"linked", 4, attack_linked},
	{"clone", 1, attack_clone},
	{"fork", 0, attack_fork},
	{"pin", 2, attack_pin},
	{"write-pin", 3, attack_write_pin},
	{"push-out", 5, attack_push_out},
	{"attr", 1, attack_attr},
	{"team", 1, attack_team},
	{"migrate", 1, attack_migrate},
	{"page", 1, attack_page},
	{"nice", 1, attack_nice},
	{"ioprio", 1, attack_ioprio},
	{"limit", 1, attack_limit},
	{"trace", 1, attack_trace},
	{"memory", 1, attack_memory},
	{"pageout", 1, attack_pageout},
	{"cold", 1, attack_cold},
	{"stop", 1, attack_stop},
	{"look", 1, attack_look},
	{"mkdir", 1, attack_mkdir},
	{"rmdir", 1, attack_rmdir},
	{"flood", 2, attack_flood},
	{"unlink", 1, attack_unlink},
	{"unmount", 1, attack_unmount},
	{"rename", 2, attack_rename},
	{"cover", 1, attack_cover},
	{"bind-over", 1, attack_bind_over},
	{"bind-private-over", 1, attack_bind_private_over},
	{"bind-file-over", 1, attack_bind_file_over},
	{"read-only", 1, attack_read_only},
	{"bind-read-only", 1, attack_bind_read_only},
	{"bind-read-only-slave", 1, attack_bind_read_only_slave},
	{"remount", 1, attack_remount},
	{"bind-remount", 1, attack_bind_remount},
	{"descriptors", 2, attack_descriptors},
	{"move-mount", 2, attack_move_mount},
	{"siege", 4, siege},
	{"run", 1, attack_run},
	{"serve", 0, serve},
	{"join", 2, join_and_run},
};

static int run_command(int nr_words, char **words)
{
	for (size_t i = 0; nr_words > 0 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(words[0], commands[i].name) && nr_words - 1 >= commands[i].nr_args)
			return commands[i].run(words + 1);
	fprintf(stderr,
		"usage: guard_attack write|writev|sendfile|late|splice|handle FILE TEXT |\n"
		"       handle-in DIR NAME TEXT | handle-mkdir DIR NAME | uring inline|async FILE TEXT |\n"
		"       linked inline|async clone3|affinity FILE TEXT | clone|mkdir|rmdir DIR | fork |\n"
		"       pin PID CPU,CPU… | write-pin FILE TEXT CPU,CPU… | team CPU,CPU… |\n"
		"       push-out DIR DIR TEXT PID CPU,CPU… |\n"
		"       attr|migrate|page|nice|ioprio|limit|trace|memory|stop|look PID | pageout|cold PID |\n"
		"       flood DIR N | unlink FILE | rename FILE FILE |\n"
		"       unmount|cover|bind-over|read-only|bind-read-only|remount|bind-remount DIR |\n"
		"       bind-private-over|bind-read-only-slave DIR | bind-file-over FILE |\n"
		"       move-mount DIR DIR | descriptors PID N |\n"
		"       siege FILE TEXT N END | run PROGRAM… | join DIR PROGRAM… |\n"
		"       serve [FILE]… (then one of these lines at a time, and held|passed FILE TEXT)\n");
	return 2;
}

int main(int argc, char **argv)
{
	return run_command(argc - 1, argv + 1);
}
