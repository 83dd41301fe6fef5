// SPDX-License-Identifier: Apache-2.0
/*
 * call_cpu CPU TIMES: has this CPU interrupted by another one, so often for each of two reasons. A thread spins
 * there.
 * - membarrier(2) has each CPU that runs a thread of the process call a function, and waits for that.
 * - A thread that was real-time and is not any more, or the other way round, may have to leave its CPU or
 *   get it, so its CPU is told to look.
 * After each of these steps the thread has to get on, so that no two interrupts become one.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <arch.h>

static _Atomic(pid_t) tid;
static _Atomic unsigned long rounds;
static int cpu;

static bool move_to(int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(to, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

static void *spin(void *unused)
{
	if (move_to(cpu))
		tid = gettid();
	for (;;) {
		rounds++;
		arch_relax();
	}
	return unused;
}

static void wait_for_rounds(void)
{
	const struct timespec rest = {.tv_nsec = 1000000};
	const unsigned long now = rounds;

	do
		nanosleep(&rest, NULL);
	while (rounds - now < 2);
}

static bool set_policy(int policy)
{
	const struct sched_param param = {.sched_priority = policy == SCHED_FIFO};

	return !sched_setscheduler(tid, policy, &param);
}

static bool call(int command)
{
	return !syscall(SYS_membarrier, command, 0, 0);
}

int main(int argc, char **argv)
{
	const int times = argc == 3 ? atoi(argv[2]) : 0;
	pthread_t thread;

	if (argc == 3)
		cpu = atoi(argv[1]);
	if (times < 1 || !move_to(0) || !call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) ||
	    pthread_create(&thread, NULL, spin, NULL)) {
		perror("call_cpu");
		return 2;
	}
	while (!tid)
		wait_for_rounds();
	/* nobody else has the CPU while it is real-time */
	if (!set_policy(SCHED_FIFO)) {
		perror("call_cpu: sched_setscheduler");
		return 1;
	}
	for (int i = 0; i < times; i++) {
		wait_for_rounds();
		if (!call(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
			perror("call_cpu: membarrier");
			return 1;
		}
	}
	for (int i = 0; i < times; i++) {
		wait_for_rounds();
		if (!set_policy(SCHED_OTHER)) {
			perror("call_cpu: sched_setscheduler");
			return 1;
		}
		wait_for_rounds();
		if (!set_policy(SCHED_FIFO)) {
			perror("call_cpu: sched_setscheduler");
			return 1;
		}
	}
	return 0;
}
