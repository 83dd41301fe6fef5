// SPDX-License-Identifier: Apache-2.0
/*
 * The lease of process 1: until when the guard lets it change managed cgroups. It is set by the
 * threads that call systemd, and compared each second by the loop, so it has a lock.
 */
#include <stdio.h>

#include "bpf/backend_private.h"
#include "lib/log.h"

void backend_lease_init(struct bpf_backend *backend)
{
	backend->lease = (struct backend_lease){.map_fd = -1};
	pthread_mutex_init(&backend->lease.lock, NULL);
}

void backend_lease_fini(struct bpf_backend *backend)
{
	pthread_mutex_destroy(&backend->lease.lock);
}

void backend_lease_use(struct bpf_backend *backend, int map_fd)
{
	pthread_mutex_lock(&backend->lease.lock);
	backend->lease.map_fd = map_fd;
	pthread_mutex_unlock(&backend->lease.lock);
}

int backend_set_lease(void *self, uint64_t until_ns)
{
	struct bpf_backend *backend = self;
	struct backend_lease *lease = &backend->lease;
	int r = 0;

	pthread_mutex_lock(&lease->lock);
	if (lease->map_fd >= 0)
		r = policy_write_lease(lease->map_fd, until_ns);
	if (!r)
		lease->until_ns = until_ns;
	lease->error = r;
	pthread_mutex_unlock(&lease->lock);
	return r;
}

void backend_mend_lease(struct bpf_backend *backend)
{
	struct backend_lease *lease = &backend->lease;
	uint64_t found = 0, expected;
	int before, r;

	pthread_mutex_lock(&lease->lock);
	before = lease->error;
	expected = lease->until_ns;
	if (lease->map_fd < 0 || policy_read_lease(lease->map_fd, &found))
		found = expected;
	if (found != expected)
		lease->error = policy_write_lease(lease->map_fd, expected);
	r = lease->error;
	pthread_mutex_unlock(&lease->lock);
	if (found != expected && !r) {
		char text[ROW_DETAIL_MAX];

		snprintf(text, sizeof(text), "lease of process 1 until %llu instead of %llu",
			 (unsigned long long)found, (unsigned long long)expected);
		backend_say_mended(backend, MENDED_CONFIG, text);
	} else if (r && r != before) {
		log_err(r, "bpf: cannot restore the lease of process 1 in the guard");
	}
	backend_note_frozen(backend, r);
}
