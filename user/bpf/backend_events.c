// SPDX-License-Identifier: Apache-2.0
/* Passes the events of the ring buffer to the controller, from its event loop or without one. */
#include <errno.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "bpf/backend_private.h"
#include "lib/log.h"

void backend_relay_event(void *self, const struct event_record *event)
{
	const struct bpf_backend *backend = self;

	if (backend->sink.event)
		backend->sink.event(backend->sink.self, event);
}

int backend_open_reader(struct bpf_backend *backend)
{
	const struct event_setup setup = {
		.events_fd = bpf_objects_map_fd(&backend->objects, "events"),
		.budgets_fd = bpf_objects_map_fd(&backend->objects, "event_budgets"),
		.objects = &backend->objects,
		.sink = {.self = backend, .event = backend_relay_event},
	};

	if (setup.events_fd < 0)
		return 0;
	return events_open(&setup, &backend->reader);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *self)
{
	struct bpf_backend *backend = self;
	int r = events_dispatch(backend->reader);

	if (r < 0)
		log_warn(
			r,
			"bpf: cannot read the events of the BPF programs before the next one arrives");
	return 0;
}

int backend_listen(struct bpf_backend *backend)
{
	int r;

	if (!backend->reader || backend->source)
		return 0;
	r = sd_event_add_io(backend->event, &backend->source, events_fd(backend->reader), EPOLLIN,
			    on_readable, backend);
	return r < 0 ? log_err(r, "bpf: cannot watch the ring buffer of events") : 0;
}

int bpf_backend_dispatch(struct bpf_backend *backend, const struct kernel_sink *sink)
{
	backend->sink = *sink;
	return backend->reader ? events_dispatch(backend->reader) : 0;
}
