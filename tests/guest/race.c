// SPDX-License-Identifier: Apache-2.0
/*
 * race FILE CPU: writes to a guarded file while a program of the guard is preempted on the same CPU. The kernel
 * skips an fmod_ret program there, so such a write passes; an lsm program runs nevertheless.
 *
 * Two tasks write as fast as they can, and a real-time task wakes up at random moments, preempts them
 * wherever they are, and writes, which is one try. Each task has a descriptor of its own from before the
 * guard was there: a shared one has a lock that would keep the tries out of the moment in question.
 *
 * Says "ready", then for each line "TRIES GOOD BAD SEED" of standard input tries to write BAD to the file,
 * whose value is to be GOOD. After a write that passed it waits for GOOD before it goes on. Answers with a line
 * of "tries N denied N passed N undone N slowest MS": attempts of the real-time task, all writes that were
 * denied, that passed, the times that the file had BAD and got GOOD again, and the longest of these. A value
 * that is not undone within a minute ends the run with "left VALUE" behind that.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arch.h>

#include "lib/clock.h"

#define NR_HAMMERS   2
#define UNDONE_NS    60000000000ULL
#define WAKE_LEAST   50000L /* ns between two tries, at least */
#define WAKE_SPREAD  400000UL
#define RELAX_WRITES 64 /* the emulator runs all CPUs in one thread, see spin.c */

static struct {
	const char *path;
	int cpu;
	int fds[NR_HAMMERS + 1]; /* the last is that of the real-time task */
	char good[64], bad[64];
	uint64_t random;
	atomic_bool ends;
	atomic_long tries_left, denied, passed;
} race;

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

/* Only EPERM is the guard's: anything else says nothing about it. */
static void attack(int fd)
{
	if (pwrite(fd, race.bad, strlen(race.bad), 0) >= 0) {
		race.passed++;
		race.ends = true;
	} else if (errno == EPERM) {
		race.denied++;
	} else {
		die("race: write");
	}
}

static void *hammer(void *fd)
{
	for (unsigned long nr = 1; !race.ends; nr++) {
		attack((int)(intptr_t)fd);
		if (nr % RELAX_WRITES == 0)
			arch_relax();
	}
	return NULL;
}

/* xorshift64 */
static uint64_t next_random(void)
{
	race.random ^= race.random << 13;
	race.random ^= race.random >> 7;
	race.random ^= race.random << 17;
	return race.random;
}

static void *wake_and_try(void *fd)
{
	while (!race.ends) {
		struct timespec soon = {.tv_nsec =
						WAKE_LEAST + (long)(next_random() % WAKE_SPREAD)};

		nanosleep(&soon, NULL);
		attack((int)(intptr_t)fd);
		if (--race.tries_left <= 0)
			race.ends = true;
	}
	return NULL;
}

static void start(pthread_t *ret_thread, void *(*run)(void *fd), int number, int policy)
{
	const struct sched_param priority = {.sched_priority = policy == SCHED_FIFO ? 10 : 0};
	pthread_attr_t attributes;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)race.cpu, &cpus);
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, policy);
	pthread_attr_setschedparam(&attributes, &priority);
	pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
	errno = pthread_create(ret_thread, &attributes, run, (void *)(intptr_t)race.fds[number]);
	if (errno)
		die("race: pthread_create");
	pthread_attr_destroy(&attributes);
}

/* Until a write passes, or no tries are left. */
static void run_round(void)
{
	pthread_t threads[NR_HAMMERS + 1];

	race.ends = false;
	for (int i = 0; i <= NR_HAMMERS; i++)
		start(&threads[i], i < NR_HAMMERS ? hammer : wake_and_try, i,
		      i < NR_HAMMERS ? SCHED_OTHER : SCHED_FIFO);
	for (int i = 0; i <= NR_HAMMERS; i++)
		pthread_join(threads[i], NULL);
}

static bool has_value(const char *value, char ret_found[64])
{
	int fd = open(race.path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, ret_found, 63);

	if (len < 0)
		die(race.path);
	close(fd);
	ret_found[len] = '\0';
	ret_found[strcspn(ret_found, "\n")] = '\0';
	return !strcmp(ret_found, value);
}

/* How long it took, in ns; UNDONE_NS = it was not undone. */
static uint64_t wait_for_good(char ret_found[64])
{
	const struct timespec rest = {.tv_nsec = 5000000};
	uint64_t since = clock_monotonic_ns();

	while (!has_value(race.good, ret_found)) {
		if (clock_monotonic_ns() - since >= UNDONE_NS)
			return UNDONE_NS;
		nanosleep(&rest, NULL);
	}
	return clock_monotonic_ns() - since;
}

static void run(long tries)
{
	uint64_t slowest = 0;
	long passed = 0, undone = 0;
	char found[64] = "";

	race.tries_left = tries;
	race.denied = race.passed = 0;
	while (race.tries_left > 0 && slowest < UNDONE_NS) {
		uint64_t took;

		run_round();
		if (race.passed == passed)
			continue;
		passed = race.passed;
		took = wait_for_good(found);
		undone += took < UNDONE_NS;
		if (took > slowest)
			slowest = took;
	}
	printf("tries %ld denied %ld passed %ld undone %ld slowest %llu", tries - race.tries_left,
	       race.denied, race.passed, undone, (unsigned long long)(slowest / 1000000));
	printf(slowest < UNDONE_NS ? "\n" : " left %s\n", found);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[256];
	long tries;

	if (argc != 3) {
		fprintf(stderr, "usage: race FILE CPU (then lines of TRIES GOOD BAD SEED)\n");
		return 2;
	}
	race.path = argv[1];
	race.cpu = atoi(argv[2]);
	for (int i = 0; i <= NR_HAMMERS; i++) {
		race.fds[i] = open(race.path, O_WRONLY | O_CLOEXEC);
		if (race.fds[i] < 0)
			die(race.path);
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) &&
	       sscanf(line, "%ld %63s %63s %lu", &tries, race.good, race.bad, &race.random) == 4) {
		race.random |= 1;
		run(tries);
	}
	return 0;
}
