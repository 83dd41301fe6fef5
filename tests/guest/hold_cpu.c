// SPDX-License-Identifier: Apache-2.0
/*
 * A container's process with two threads that uses a little CPU time all the while: enough to
 * see that it goes on, too little to keep a core of the host busy. From SIGUSR1 to SIGUSR2 it
 * takes a whole CPU, so that all the time that it loses, or has elsewhere, can be seen.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <arch.h>

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static volatile sig_atomic_t is_busy;

static void set_busy(int signal)
{
	is_busy = signal == SIGUSR1;
}

int main(void)
{
	const struct timespec rest = {.tv_nsec = 100000000};
	pthread_t thread;
	sigset_t both;

	/* the other thread sleeps on */
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	errno = pthread_create(&thread, NULL, sleep_on, NULL);
	if (errno) {
		perror("hold_cpu: pthread_create");
		return 2;
	}
	signal(SIGUSR1, set_busy);
	signal(SIGUSR2, set_busy);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	for (;;) {
		while (is_busy)
			arch_relax();
		nanosleep(&rest, NULL);
	}
}
