// SPDX-License-Identifier: Apache-2.0
/*
 * A correction may wait for a walk, and so for procfs or a disk. So the thread reads the ring buffer
 * without the lock, and frees it itself when the loop's thread wants it no more.
 */
#include "bpf/noise_strangers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "lib/lock.h"
#include "lib/log.h"

/* Above every ordinary task; what it does is limited to 5 % of a CPU. */
#define PRIORITY 1

struct noise_strangers {
	struct noise_corrector corrector;
	const struct noise_sink *sink;
	/* Held only to compare and set the two rings. */
	pthread_mutex_t lock;
	struct ring_buffer *wanted; /* the loop's thread sets it */
	struct ring_buffer *ring;   /* the thread's */
	int epoll_fd;		    /* of the ring, `wake_fd` and `end_fd` */
	int wake_fd;		    /* another ring is wanted, or none */
	int end_fd;
	int told[2];	    /* a pipe to the loop's thread */
	uint64_t nr_untold; /* there was no room in the pipe */
	sd_event_source *source;
	pthread_t thread;
	bool has_thread;
};

/* --- on the thread ------------------------------------------------------------------------------- */

/* Of very many some are not told, and counted; the next walk finds them. */
static int take_stranger(void *self, void *data, size_t size)
{
	struct noise_strangers *strangers = self;
	const struct noise_stranger *stranger = data;

	if (size < sizeof(*stranger))
		return 0;
	if (strangers->corrector.correct)
		strangers->corrector.correct(strangers->corrector.self, stranger);
	/* a pipe takes all of so little, or nothing */
	if (write(strangers->told[1], stranger, sizeof(*stranger)) < 0)
		__atomic_add_fetch(&strangers->nr_untold, 1, __ATOMIC_RELAXED);
	return 0;
}

static void follow_wanted(struct noise_strangers *strangers)
{
	struct ring_buffer *before = NULL;

	pthread_mutex_lock(&strangers->lock);
	if (strangers->ring != strangers->wanted) {
		before = strangers->ring;
		strangers->ring = strangers->wanted;
	}
	pthread_mutex_unlock(&strangers->lock);
	/* Closing its descriptor takes it out of the epoll set. */
	ring_buffer__free(before);
}

static void *hear(void *data)
{
	struct noise_strangers *strangers = data;
	struct epoll_event event = {0};
	eventfd_t value;

	for (;;) {
		const int nr = epoll_wait(strangers->epoll_fd, &event, 1, -1);

		if (nr < 0 && errno != EINTR)
			break;
		if (nr <= 0)
			continue;
		if (event.data.fd == strangers->end_fd)
			break;
		follow_wanted(strangers);
		if (event.data.fd == strangers->wake_fd)
			(void)eventfd_read(strangers->wake_fd, &value);
		else if (strangers->ring)
			(void)ring_buffer__consume(strangers->ring);
	}
	return NULL;
}

static int start_thread(struct noise_strangers *strangers, int policy, int priority)
{
	const struct sched_param param = {.sched_priority = priority};
	sigset_t all, before;
	pthread_attr_t attributes;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, policy);
	pthread_attr_setschedparam(&attributes, &param);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = -pthread_create(&strangers->thread, &attributes, hear, strangers);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	strangers->has_thread = !r;
	return r;
}

/* --- on the loop's thread ------------------------------------------------------------------------- */

static int on_told(sd_event_source *source, int fd, uint32_t events, void *self)
{
	const struct noise_strangers *strangers = self;
	struct noise_stranger stranger;

	while (read(fd, &stranger, sizeof(stranger)) == sizeof(stranger))
		strangers->sink->stranger(strangers->sink->self, &stranger);
	return 0;
}

static int watch(const struct noise_strangers *strangers, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(strangers->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int noise_strangers_open(sd_event *event, const struct noise_corrector *corrector,
			 const struct noise_sink *sink, struct noise_strangers **ret_strangers)
{
	struct noise_strangers *strangers cleanup_noise_strangers = calloc(1, sizeof(*strangers));
	int r;

	if (!strangers)
		return -ENOMEM;
	strangers->corrector = *corrector;
	strangers->sink = sink;
	lock_init_inheriting(&strangers->lock);
	strangers->told[0] = strangers->told[1] = -1;
	strangers->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	strangers->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	strangers->end_fd = eventfd(0, EFD_CLOEXEC);
	if (strangers->epoll_fd < 0 || strangers->wake_fd < 0 || strangers->end_fd < 0 ||
	    pipe2(strangers->told, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	r = watch(strangers, strangers->end_fd);
	if (!r)
		r = watch(strangers, strangers->wake_fd);
	if (r)
		return r;
	r = sd_event_add_io(event, &strangers->source, strangers->told[0], EPOLLIN, on_told,
			    strangers);
	if (r < 0)
		return r;
	r = start_thread(strangers, SCHED_FIFO, PRIORITY);
	if (r == -EPERM)
		r = start_thread(strangers, SCHED_OTHER, 0);
	if (r)
		return r;
	*ret_strangers = TAKE_PTR(strangers);
	return 0;
}

void noise_strangers_close(struct noise_strangers *strangers)
{
	if (!strangers)
		return;
	if (strangers->has_thread) {
		(void)eventfd_write(strangers->end_fd, 1);
		pthread_join(strangers->thread, NULL);
	}
	sd_event_source_unref(strangers->source);
	follow_wanted(strangers);
	ring_buffer__free(strangers->ring);
	pthread_mutex_destroy(&strangers->lock);
	for (int i = 0; i < 2; i++)
		if (strangers->told[i] >= 0)
			close(strangers->told[i]);
	if (strangers->wake_fd >= 0)
		close(strangers->wake_fd);
	if (strangers->end_fd >= 0)
		close(strangers->end_fd);
	if (strangers->epoll_fd >= 0)
		close(strangers->epoll_fd);
	free(strangers);
}

int noise_strangers_hear(struct noise_strangers *strangers, int map_fd)
{
	struct ring_buffer *ring;
	int r;

	if (strangers->wanted)
		return 0;
	ring = ring_buffer__new(map_fd, take_stranger, strangers, NULL);
	if (!ring)
		return -errno;
	pthread_mutex_lock(&strangers->lock);
	strangers->wanted = ring;
	pthread_mutex_unlock(&strangers->lock);
	r = watch(strangers, ring_buffer__epoll_fd(ring));
	if (r)
		noise_strangers_give_up(strangers);
	return r;
}

void noise_strangers_give_up(struct noise_strangers *strangers)
{
	struct ring_buffer *unheard = NULL;

	pthread_mutex_lock(&strangers->lock);
	if (strangers->wanted != strangers->ring)
		unheard = strangers->wanted;
	strangers->wanted = NULL;
	pthread_mutex_unlock(&strangers->lock);
	ring_buffer__free(unheard);
	(void)eventfd_write(strangers->wake_fd, 1);
}

uint64_t noise_strangers_untold(const struct noise_strangers *strangers)
{
	return __atomic_load_n(&strangers->nr_untold, __ATOMIC_RELAXED);
}
