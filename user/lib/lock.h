/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that a thread with a real-time priority shares with others. */
#ifndef LIB_LOCK_H
#define LIB_LOCK_H

#include <pthread.h>

/* Whoever has the lock gets the priority of a thread that waits for it. pthread_mutex_destroy() ends it. */
static inline void lock_init_inheriting(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

#endif
