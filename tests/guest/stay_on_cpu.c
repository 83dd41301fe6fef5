// SPDX-License-Identifier: Apache-2.0
/*
 * stay_on_cpu CPU MS: a thread "stay" takes this CPU once for so many milliseconds, without being switched off it
 * meanwhile, and sleeps then. Prints "LEAST MOST" in ns: the longest of its stays on the CPU was not shorter
 * than it measured itself, and none was longer than others had seen it awake.
 *
 * It is real-time, so only the kernel's own threads can take the CPU from it. A stay in which one did is
 * not the one; then it tries again.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <arch.h>

#define TRIES 10

static int cpu, ms;
static int to_thread[2], from_thread[2];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool take_cpu(void)
{
	const struct sched_param param = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !prctl(PR_SET_NAME, "stay") && !sched_setaffinity(0, sizeof(set), &set) &&
	       !sched_setscheduler(0, SCHED_FIFO, &param);
}

static long nr_preempted(void)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* A stay of which it is known how long it was at least; 0 = it was interrupted. */
static uint64_t stay(void)
{
	const long before = nr_preempted();
	const uint64_t begin = now_ns();
	uint64_t end;

	do {
		arch_relax();
		end = now_ns();
	} while (end - begin < (uint64_t)ms * 1000000);
	return nr_preempted() == before ? end - begin : 0;
}

static void *answer(void *unused)
{
	pid_t tid = take_cpu() ? gettid() : -1;
	uint64_t least;
	char byte;

	if (write(from_thread[1], &tid, sizeof(tid)) != sizeof(tid))
		return NULL;
	while (read(to_thread[0], &byte, 1) == 1) {
		least = stay();
		if (write(from_thread[1], &least, sizeof(least)) != sizeof(least))
			break;
	}
	return unused;
}

static bool sleeps(pid_t tid)
{
	char path[64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	return strstr(text, ") S ");
}

/* How long it has been awake at most since `since`, when it has slept. */
static uint64_t awake_since(uint64_t since, pid_t tid)
{
	const struct timespec rest = {.tv_nsec = 1000000};

	while (!sleeps(tid))
		nanosleep(&rest, NULL);
	return now_ns() - since;
}

int main(int argc, char **argv)
{
	uint64_t begin, least = 0, most;
	pthread_t thread;
	pid_t tid;

	if (argc == 3) {
		cpu = atoi(argv[1]);
		ms = atoi(argv[2]);
	}
	if (ms < 1 || pipe(to_thread) || pipe(from_thread)) {
		perror("stay_on_cpu");
		return 2;
	}
	begin = now_ns();
	if (pthread_create(&thread, NULL, answer, NULL) ||
	    read(from_thread[0], &tid, sizeof(tid)) != sizeof(tid) || tid < 0) {
		perror("stay_on_cpu: the thread");
		return 2;
	}
	most = awake_since(begin, tid);
	for (int i = 0; i < TRIES && !least; i++) {
		uint64_t awake;

		begin = now_ns();
		if (write(to_thread[1], "", 1) != 1 ||
		    read(from_thread[0], &least, sizeof(least)) != sizeof(least))
			return 1;
		awake = awake_since(begin, tid);
		if (awake > most)
			most = awake;
	}
	printf("%llu %llu\n", (unsigned long long)least, (unsigned long long)most);
	return !least;
}
