/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks of guard_attack.c through io_uring. */
#ifndef GUARD_ATTACK_RINGS_H
#define GUARD_ATTACK_RINGS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard_attack.h"

struct ring {
	int fd;
	struct io_uring_params params;
	struct io_uring_sqe *entries;
	unsigned char *submit, *complete;
};

static inline int open_ring(struct ring *ring)
{
	struct io_uring_params *params = &ring->params;
	size_t submit_len, complete_len;

	ring->fd = (int)syscall(SYS_io_uring_setup, 4, params);
	if (ring->fd < 0)
		return -1;
	submit_len = params->sq_off.array + params->sq_entries * sizeof(unsigned);
	complete_len = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
	ring->submit = mmap(NULL, submit_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			    ring->fd, IORING_OFF_SQ_RING);
	ring->complete = mmap(NULL, complete_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			      ring->fd, IORING_OFF_CQ_RING);
	ring->entries = mmap(NULL, params->sq_entries * sizeof(*ring->entries),
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd,
			     IORING_OFF_SQES);
	return ring->submit == MAP_FAILED || ring->complete == MAP_FAILED ||
			       ring->entries == MAP_FAILED
		       ? -1
		       : 0;
}

/* Hand in entries 0 to nr - 1, without waiting for them. */
static inline int submit(struct ring *ring, unsigned nr)
{
	unsigned *array = (void *)(ring->submit + ring->params.sq_off.array);

	for (unsigned i = 0; i < nr; i++)
		array[i] = i;
	__atomic_store_n((unsigned *)(ring->submit + ring->params.sq_off.tail), nr,
			 __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, ring->fd, nr, 0, 0, NULL, 0) == (long)nr ? 0 : -1;
}

/* The result of the entry whose user_data is `which`, when `nr` are complete. */
static inline int result_of(struct ring *ring, unsigned nr, uint64_t which, int *ret_result)
{
	struct io_uring_cqe *cqes = (void *)(ring->complete + ring->params.cq_off.cqes);
	unsigned *tail = (void *)(ring->complete + ring->params.cq_off.tail);

	while (__atomic_load_n(tail, __ATOMIC_ACQUIRE) < nr)
		if (syscall(SYS_io_uring_enter, ring->fd, 0, nr, IORING_ENTER_GETEVENTS, NULL, 0) <
			    0 &&
		    errno != EINTR)
			return -1;
	for (unsigned i = 0; i < nr; i++)
		if (cqes[i].user_data == which)
			*ret_result = cqes[i].res;
	return 0;
}

/*
 * Hold this process at the end of its next system call `number`, until a timer of its
 * ring has long run out: what the timer leaves to do is then done on the way out of that
 * system call, whose number is still in the registers.
 * The kernel names the call only as it is entered (PTRACE_GET_SYSCALL_INFO, 5.3).
 */
static inline int hold_in(long number, int ready[2])
{
	pid_t maker = getpid(), tracer;
	struct timespec longer = {.tv_nsec = 300000000};
	struct __ptrace_syscall_info info;
	uint64_t entered = UINT64_MAX;
	int status;

	if (pipe(ready))
		return -1;
	tracer = fork();
	if (tracer) {
		close(ready[1]);
		return tracer < 0 ? -1 : 0;
	}
	if (ptrace(PTRACE_SEIZE, maker, 0, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, maker, 0, 0) || waitpid(maker, &status, __WALL) != maker ||
	    ptrace(PTRACE_SYSCALL, maker, 0, 0) || write(ready[1], "", 1) != 1)
		_exit(2);
	while (waitpid(maker, &status, __WALL) == maker && WIFSTOPPED(status)) {
		if (status >> 8 == (SIGTRAP | 0x80) &&
		    ptrace(PTRACE_GET_SYSCALL_INFO, maker, sizeof(info), &info) > 0) {
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
				entered = info.entry.nr;
			if (info.op == PTRACE_SYSCALL_INFO_EXIT && entered == (uint64_t)number) {
				nanosleep(&longer, NULL);
				break;
			}
		}
		ptrace(PTRACE_SYSCALL, maker, 0, 0);
	}
	ptrace(PTRACE_DETACH, maker, 0, 0);
	_exit(0);
}

static inline void do_call(long number)
{
	cpu_set_t set;

	if (number == SYS_clone3)
		clone_child(-1);
	else if (!sched_getaffinity(0, sizeof(set), &set))
		sched_setaffinity(0, sizeof(set), &set);
}

/* inline|async clone3|affinity FILE TEXT: the write comes up while we are in that call. */
static inline int attack_linked(char **args)
{
	long number = strcmp(args[1], "clone3") ? SYS_sched_setaffinity : SYS_clone3;
	struct __kernel_timespec soon = {.tv_nsec = 20000000};
	int fd = open(args[2], O_WRONLY | O_CLOEXEC), ready[2], result = -EIO;
	struct ring ring = {0};
	sigset_t children;
	char byte;

	if (fd < 0)
		return answer(1);
	/* a signal on its way keeps the ring from making a thread at that moment */
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	if (open_ring(&ring) || hold_in(number, ready) || read(ready[0], &byte, 1) != 1)
		return cannot("io_uring");
	ring.entries[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_TIMEOUT,
		.flags = IOSQE_IO_LINK,
		.fd = -1,
		.addr = (uintptr_t)&soon,
		.len = 1,
		.timeout_flags = IORING_TIMEOUT_ETIME_SUCCESS,
		.user_data = 1,
	};
	ring.entries[1] = (struct io_uring_sqe){
		.opcode = IORING_OP_WRITE,
		.flags = strcmp(args[0], "async") ? 0 : IOSQE_ASYNC,
		.fd = fd,
		.addr = (uintptr_t)args[3],
		.len = (unsigned)strlen(args[3]),
		.user_data = 2,
	};
	if (submit(&ring, 2))
		return cannot("io_uring_enter");
	do_call(number);
	if (result_of(&ring, 2, 2, &result))
		return cannot("io_uring_enter");
	errno = -result;
	return answer(result < 0);
}

/* inline|async FILE TEXT */
static inline int attack_uring(char **args)
{
	int fd = open(args[1], O_WRONLY | O_CLOEXEC), result = -EIO;
	struct ring ring = {0};

	if (fd < 0)
		return answer(1);
	if (open_ring(&ring))
		return cannot("io_uring");
	ring.entries[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_WRITE,
		.flags = strcmp(args[0], "async") ? 0 : IOSQE_ASYNC,
		.fd = fd,
		.addr = (uintptr_t)args[2],
		.len = (unsigned)strlen(args[2]),
		.user_data = 1,
	};
	if (submit(&ring, 1) || result_of(&ring, 1, 1, &result))
		return cannot("io_uring_enter");
	errno = -result;
	return answer(result < 0);
}

#endif
