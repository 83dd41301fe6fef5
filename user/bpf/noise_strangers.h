/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that hears of strangers. It has a real-time priority, because a stranger should be gone
 * before the event loop would get a CPU on a busy machine.
 */
#ifndef BPF_NOISE_STRANGERS_H
#define BPF_NOISE_STRANGERS_H

#include <systemd/sd-event.h>

#include "ctl/ports.h"
#include "lib/cleanup.h"

struct noise_strangers;

/* Called on the thread, before the sink is told on the loop; without `correct` nobody is. */
struct noise_corrector {
	void *self;
	void (*correct)(void *self, const struct noise_stranger *stranger);
};

/*
 * Create the thread, which hears nothing yet; without permission for it, it has an ordinary priority.
 * The event loop and the sink are borrowed. Negative errno.
 */
int noise_strangers_open(sd_event *event, const struct noise_corrector *corrector,
			 const struct noise_sink *sink, struct noise_strangers **ret_strangers);
/* Ends the thread. */
void noise_strangers_close(struct noise_strangers *strangers);
DEFINE_CLEANUP(struct noise_strangers, noise_strangers_closep, noise_strangers_close);
#define cleanup_noise_strangers cleanup(noise_strangers_closep)

/*
 * Hear what is in this ring buffer, until it is given up. Negative errno. Neither call waits for a
 * correction, so what the thread has taken out of the ring may still be told after it was given up.
 */
int noise_strangers_hear(struct noise_strangers *strangers, int map_fd);
void noise_strangers_give_up(struct noise_strangers *strangers);

/* Strangers that the thread heard of and the sink was not told of, because it did not keep up. */
uint64_t noise_strangers_untold(const struct noise_strangers *strangers);

#endif
