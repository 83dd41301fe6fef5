// SPDX-License-Identifier: Apache-2.0
// LIBS: lib
/*
 * Stops a process in the middle of a fork for as long as its standard input is open: the
 * lock of its memory is then held for writing, and whoever moves it to another cpuset waits
 * for that, with the lock for writing that every fork of the machine takes for reading.
 *
 * The process forks all the time and has much memory, on the CPU of its argument; a
 * real-time task there takes its turn away, again and again, until it is in the right place.
 * Prints its pid then. The caller has to allow real-time tasks all of the time.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY ((size_t)128 << 20)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static _Noreturn void fork_all_the_time(void)
{
	char *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, MEMORY, MADV_NOHUGEPAGE))
		die("memory");
	memset(memory, 1, MEMORY);
	for (;;) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

static bool is_in_fork(pid_t pid)
{
	char path[64], stack[4096];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, stack, sizeof(stack) - 1);
	if (len < 0)
		die(path);
	close(fd);
	stack[len] = '\0';
	return strstr(stack, "copy_page_range") || strstr(stack, "copy_p4d_range") ||
	       strstr(stack, "dup_mm");
}

int main(int argc, char **argv)
{
	const struct sched_param first = {.sched_priority = 50};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	cpu_set_t cpus;
	pid_t pid;

	if (argc != 2)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(argv[1], NULL, 10), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("affinity");
	pid = fork();
	if (pid == 0)
		fork_all_the_time();
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("real-time");
	do
		usleep(200000 + (useconds_t)rand() % 50000);
	while (!is_in_fork(pid));
	printf("%d\n", (int)pid);
	fflush(stdout);
	/* In the kernel now and then only: a grace period ends where a tick meets user code. */
	while (!poll(&input, 1, 0))
		for (volatile unsigned int i = 0; i < 10000000; i++)
			;
	kill(pid, SIGKILL);
	return 0;
}
