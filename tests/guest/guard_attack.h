/* SPDX-License-Identifier: Apache-2.0 */
/* How an attack of guard_attack.c ends, and what several of them do. */
#ifndef GUARD_ATTACK_H
#define GUARD_ATTACK_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

static inline int answer(int failed)
{
	const char *name = strerrorname_np(errno);

	if (failed)
		printf("%s\n", name ? name : "unknown");
	else
		printf("ok\n");
	fflush(stdout);
	return failed ? 1 : 0;
}

static inline int cannot(const char *what)
{
	fprintf(stderr, "guard_attack: cannot try: %s: %s\n", what, strerror(errno));
	return 2;
}

static inline int write_text(int fd, const char *text)
{
	return write(fd, text, strlen(text)) < 0;
}

/* A child that ends at once: in the cgroup of directory `cgroup_fd`, or, if that is -1, in ours. */
static inline long clone_child(int cgroup_fd)
{
	struct clone_arguments clone = {.exit_signal = SIGCHLD};
	long pid;

	if (cgroup_fd >= 0) {
		clone.flags = CLONE_INTO_CGROUP;
		clone.cgroup = (unsigned long long)cgroup_fd;
	}
	pid = syscall(SYS_clone3, &clone, sizeof(clone));
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

#endif
