// SPDX-License-Identifier: Apache-2.0
#include "cgroup/lease.h"

#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/log.h"

void lease_init(struct lease *lease)
{
	*lease = (struct lease){0};
	pthread_mutex_init(&lease->lock, NULL);
}

void lease_fini(struct lease *lease)
{
	pthread_mutex_destroy(&lease->lock);
}

void lease_set_port(struct lease *lease, const struct lease_port *port)
{
	pthread_mutex_lock(&lease->lock);
	lease->port = *port;
	pthread_mutex_unlock(&lease->lock);
}

/* With the lock held. */
static void set_deadline(struct lease *lease, uint64_t until_ns)
{
	int before = lease->error;

	if (!lease->port.set)
		return;
	lease->error = lease->port.set(lease->port.self, until_ns);
	if (lease->error && lease->error != before)
		log_err(lease->error,
			"cgroup: cannot tell the guard that systemd acts for pinfold");
}

static uint64_t from_now(void)
{
	return clock_monotonic_ns() + LEASE_NS;
}

void lease_begin(struct lease *lease)
{
	pthread_mutex_lock(&lease->lock);
	lease->nr_calls++;
	set_deadline(lease, from_now());
	pthread_mutex_unlock(&lease->lock);
}

void lease_extend(struct lease *lease)
{
	pthread_mutex_lock(&lease->lock);
	set_deadline(lease, from_now());
	pthread_mutex_unlock(&lease->lock);
}

void lease_end(struct lease *lease)
{
	pthread_mutex_lock(&lease->lock);
	if (!--lease->nr_calls)
		set_deadline(lease, 0);
	pthread_mutex_unlock(&lease->lock);
}
