// SPDX-License-Identifier: Apache-2.0
/*
 * One forbidden thing per call, said back as a word: "ok" or the name of the
 * errno. Exit status 0 = it succeeded, 1 = it did not, 2 = it could not be tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* the kernel's struct clone_args, version 2 */
struct clone_arguments {
	unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
		set_tid, set_tid_size, cgroup;
};

static int answer(int failed)
{
	const char *name = strerrorname_np(errno);

	printf("%s\n", !failed ? "ok" : name ? name : "unknown");
	fflush(stdout);
	return failed ? 1 : 0;
}

static int cannot(const char *what)
{
	fprintf(stderr, "guard_attack: cannot try: %s: %s\n", what, strerror(errno));
	return 2;
}

static int write_text(int fd, const char *text)
{
	return write(fd, text, strlen(text)) < 0;
}

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

static int attack_clone(char **args)
{
	int fd = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct clone_arguments clone = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	long pid;

	if (fd < 0)
		return cannot(args[0]);
	clone.cgroup = (unsigned long long)fd;
	pid = syscall(SYS_clone3, &clone, sizeof(clone));
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return answer(pid < 0);
}

static int attack_pin(char **args)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (char *cpu = strtok(args[1], ","); cpu; cpu = strtok(NULL, ","))
		CPU_SET((size_t)atoi(cpu), &set);
	return answer(sched_setaffinity(atoi(args[0]), sizeof(set), &set));
}

static int attack_mkdir(char **args)
{
	return answer(mkdir(args[0], 0755));
}

static int attack_rmdir(char **args)
{
	return answer(rmdir(args[0]));
}

/* The same refused call args[1] times in a row. */
static int attack_flood(char **args)
{
	for (int nr = atoi(args[1]); nr > 0; nr--)
		if (!rmdir(args[0]))
			return answer(0);
	return 0;
}

/* --- file handles -------------------------------------------------------------------------- */

/*
 * Open `path` by its handle when nothing of it is cached: the kernel then makes a dentry
 * without name and parent. Files that somebody holds open stay cached and cannot be tried.
 */
static int open_cold(const char *path, int flags)
{
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ], link[64], target[512];
	struct file_handle *handle = (struct file_handle *)space;
	int mount_fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC), mount_id;

	handle->handle_bytes = MAX_HANDLE_SZ;
	if (mount_fd < 0 || name_to_handle_at(AT_FDCWD, path, handle, &mount_id, 0))
		return -1;
	for (int i = 0; i < 20; i++) {
		int caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), fd;
		ssize_t len;

		if (caches < 0)
			return -1;
		/* what was used lately, as by our own look at it, survives the first time; a
		 * write that does not begin at 0 is ignored */
		for (int times = 0; times < 3; times++)
			if (pwrite(caches, "2", 1, 0) < 0)
				return -1;
		close(caches);
		fd = open_by_handle_at(mount_fd, handle, O_PATH | O_CLOEXEC);
		if (fd < 0)
			return -1;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, target, sizeof(target) - 1);
		close(fd);
		if ((len == 1 && target[0] == '/') || (flags & O_DIRECTORY))
			return open_by_handle_at(mount_fd, handle, flags | O_CLOEXEC);
	}
	fprintf(stderr, "guard_attack: %s stays cached\n", path);
	exit(2);
}

static int attack_handle(char **args)
{
	int fd = open_cold(args[0], O_WRONLY);

	return answer(fd < 0 || write_text(fd, args[1]));
}

/* Open the directory args[0] by handle, and the file args[1] from there. */
static int attack_handle_in(char **args)
{
	int dir = open_cold(args[0], O_RDONLY | O_DIRECTORY), fd;

	if (dir < 0)
		return cannot(args[0]);
	fd = openat(dir, args[1], O_WRONLY | O_CLOEXEC);
	return answer(fd < 0 || write_text(fd, args[2]));
}

static int attack_handle_mkdir(char **args)
{
	int dir = open_cold(args[0], O_RDONLY | O_DIRECTORY);

	return dir < 0 ? cannot(args[0]) : answer(mkdirat(dir, args[1], 0755));
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
	{"write", 2, attack_write},	    {"late", 2, attack_late},
	{"splice", 2, attack_splice},	    {"handle", 2, attack_handle},
	{"handle-in", 3, attack_handle_in}, {"handle-mkdir", 2, attack_handle_mkdir},
	{"clone", 1, attack_clone},	    {"pin", 2, attack_pin},
	{"mkdir", 1, attack_mkdir},	    {"rmdir", 1, attack_rmdir},
	{"flood", 2, attack_flood},	    {"join", 2, join_and_run},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name) && argc - 2 >= commands[i].nr_args)
			return commands[i].run(argv + 2);
	fprintf(stderr,
		"usage: guard_attack write|late|splice|handle FILE TEXT | handle-in DIR NAME TEXT |\n"
		"       handle-mkdir DIR NAME | clone|mkdir|rmdir DIR | pin PID CPU,CPU… |\n"
		"       flood DIR N | join DIR PROGRAM…\n");
	return 2;
}
