/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts who disturbs the CPUs that containers have exclusively (bpf/noise.bpf.c). Nothing is
 * loaded while no CPU is exclusive, and nothing is pinned: the programs end with the agent.
 */
#ifndef BPF_NOISE_H
#define BPF_NOISE_H

#include <stdint.h>

#include <systemd/sd-event.h>

#include "core/cpuset.h"
#include "core/topology/topology.h"
#include "bpf/noise_strangers.h"
#include "ctl/ports.h"
#include "lib/cleanup.h"

struct noise_counter;
struct worker_pool;

struct noise_options {
	const struct cpuset *possible; /* CPUs that the machine can have; not empty */
	/* Which of them share a core; NULL = not known, so siblings are not counted. */
	const struct topology *topology;
	/* Threads of it load, attach and detach. NULL: the calling thread does. Borrowed. */
	struct worker_pool *pool;
};

/* Loads nothing. -ENOMEM. */
int noise_counter_open(const struct noise_options *options, struct noise_counter **ret_counter);
/* Detaches everything. No thread of the pool may be working for it any more. */
void noise_counter_close(struct noise_counter *counter);
DEFINE_CLEANUP(struct noise_counter, noise_counter_closep, noise_counter_close);
#define cleanup_noise_counter cleanup(noise_counter_closep)

/*
 * Tell the corrector of strangers from a thread, and then the sink from the event loop; loop and sink
 * are borrowed. Strangers that run before this are told to nobody.
 */
void noise_counter_listen(struct noise_counter *counter, sd_event *event,
			  const struct noise_corrector *corrector, const struct noise_sink *sink);

/* Implements ctl/ports.h; valid until the counter is closed. Errors of its threads are logged. */
struct noise_port noise_counter_port(struct noise_counter *counter);

#endif
