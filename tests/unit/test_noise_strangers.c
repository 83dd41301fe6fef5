// SPDX-License-Identifier: Apache-2.0
// LIBS: bpf format core lib
/* Strangers on their way from the ring buffer to the loop: each is told or counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/libbpf.h>

#include "bpf/noise_strangers.h"

/* --- a ring buffer that has so many strangers ---------------------------------------------------- */

static struct {
	ring_buffer_sample_fn take;
	void *context;
	int event_fd, taken_fd;
	uint32_t nr;
	uint32_t nr_new, nr_freed;
} ring;

struct ring_buffer *ring_buffer__new(int map_fd, ring_buffer_sample_fn sample_cb, void *ctx,
				     const struct ring_buffer_opts *opts)
{
	ring.take = sample_cb;
	ring.context = ctx;
	ring.nr_new++;
	/* each has an address of its own */
	return (struct ring_buffer *)((char *)&ring + ring.nr_new);
}

void ring_buffer__free(struct ring_buffer *rb)
{
	if (rb)
		__atomic_add_fetch(&ring.nr_freed, 1, __ATOMIC_SEQ_CST);
}

int ring_buffer__epoll_fd(const struct ring_buffer *rb)
{
	return ring.event_fd;
}

/* On the thread. */
int ring_buffer__consume(struct ring_buffer *rb)
{
	eventfd_t value;

	assert_int_equal(eventfd_read(ring.event_fd, &value), 0);
	for (uint32_t i = 0; i < ring.nr; i++) {
		struct noise_stranger stranger = {.pid = i + 1};

		ring.take(ring.context, &stranger, sizeof(stranger));
	}
	eventfd_write(ring.taken_fd, 1);
	return 0;
}

/* --- the test -------------------------------------------------------------------------------------- */

static uint32_t nr_told;

static void hear(void *self, const struct noise_stranger *stranger)
{
	/* those that are not told are the last ones */
	assert_int_equal(stranger->pid, ++nr_told);
}

/* So many strangers come while the loop's thread does something else. */
static void come(uint32_t nr, uint64_t *ret_untold)
{
	const struct noise_sink sink = {.stranger = hear};
	struct noise_strangers *strangers = NULL;
	sd_event *event = NULL;
	eventfd_t value;

	nr_told = 0;
	ring.nr = nr;
	ring.event_fd = eventfd(0, EFD_CLOEXEC);
	ring.taken_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(
		noise_strangers_open(event, &(struct noise_corrector){0}, &sink, &strangers), 0);
	assert_int_equal(noise_strangers_hear(strangers, -1), 0);
	assert_int_equal(noise_strangers_untold(strangers), 0);
	assert_int_equal(eventfd_write(ring.event_fd, 1), 0);
	assert_int_equal(eventfd_read(ring.taken_fd, &value), 0);
	assert_true(sd_event_run(event, 0) >= 0);
	*ret_untold = noise_strangers_untold(strangers);
	noise_strangers_close(strangers);
	sd_event_unref(event);
	close(ring.event_fd);
	close(ring.taken_fd);
}

static void a_few_are_told(void **state)
{
	uint64_t untold;

	come(100, &untold);
	assert_int_equal(nr_told, 100);
	assert_int_equal(untold, 0);
}

static void of_many_the_rest_is_counted(void **state)
{
	uint64_t untold;

	come(5000, &untold);
	assert_in_range(nr_told, 1, 4999);
	assert_int_equal(nr_told + untold, 5000);
}

/* --- a correction that waits, for instance for a walk ---------------------------------------------- */

static int begun_fd, go_on_fd;

static void wait_for_the_walk(void *self, const struct noise_stranger *stranger)
{
	eventfd_t value;

	eventfd_write(begun_fd, 1);
	assert_int_equal(eventfd_read(go_on_fd, &value), 0);
}

/* If it did, the correction would never be told to go on, and the alarm would end the test. */
static void the_loop_does_not_wait_for_a_correction(void **state)
{
	const struct noise_corrector corrector = {.correct = wait_for_the_walk};
	const struct noise_sink sink = {.stranger = hear};
	struct noise_strangers *strangers = NULL;
	sd_event *event = NULL;
	eventfd_t value;

	memset(&ring, 0, sizeof(ring));
	ring.nr = 1;
	ring.event_fd = eventfd(0, EFD_CLOEXEC);
	ring.taken_fd = eventfd(0, EFD_CLOEXEC);
	begun_fd = eventfd(0, EFD_CLOEXEC);
	go_on_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(noise_strangers_open(event, &corrector, &sink, &strangers), 0);
	assert_int_equal(noise_strangers_hear(strangers, -1), 0);
	assert_int_equal(eventfd_write(ring.event_fd, 1), 0);
	assert_int_equal(eventfd_read(begun_fd, &value), 0);
	alarm(20);
	noise_strangers_give_up(strangers);
	/* The thread has it still. */
	assert_int_equal(__atomic_load_n(&ring.nr_freed, __ATOMIC_SEQ_CST), 0);
	/* One that it never saw is freed at once. */
	close(ring.event_fd);
	ring.event_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(noise_strangers_hear(strangers, -1), 0);
	noise_strangers_give_up(strangers);
	assert_int_equal(__atomic_load_n(&ring.nr_freed, __ATOMIC_SEQ_CST), 1);
	assert_int_equal(eventfd_write(go_on_fd, 1), 0);
	while (__atomic_load_n(&ring.nr_freed, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	/* It hears again. */
	close(ring.event_fd);
	ring.event_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(noise_strangers_hear(strangers, -1), 0);
	assert_int_equal(eventfd_write(ring.event_fd, 1), 0);
	assert_int_equal(eventfd_read(begun_fd, &value), 0);
	assert_int_equal(eventfd_write(go_on_fd, 1), 0);
	noise_strangers_close(strangers);
	alarm(0);
	assert_int_equal(ring.nr_new, 3);
	assert_int_equal(ring.nr_freed, 3);
	sd_event_unref(event);
	close(ring.event_fd);
	close(ring.taken_fd);
	close(begun_fd);
	close(go_on_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_are_told),
		cmocka_unit_test(of_many_the_rest_is_counted),
		cmocka_unit_test(the_loop_does_not_wait_for_a_correction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
