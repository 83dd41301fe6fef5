// SPDX-License-Identifier: Apache-2.0
/*
 * Moves bytes between the runtime's socket and the session, calls the session when its deadline
 * has passed, and connects again. A session is never ended from within one of its callbacks.
 */
#include "runtime/plugin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text.h"

/* Read at once; what is left keeps the descriptor readable, and others have their turn. */
#define READ_BYTES    65536
#define NSEC_PER_USEC 1000
#define NSEC_PER_SEC  1000000000ULL

struct plugin {
	sd_event *event;
	const struct plugin_sink *sink;
	struct nri_options nri;
	struct sockaddr_un address;
	sd_event_source *io;
	sd_event_source *timer; /* of the next attempt, or of the session's deadline */
	int fd;
	struct nri_session *session; /* NULL = not connected */
	struct plugin_status status;
};

uint64_t plugin_pause_ns(uint32_t nr_failures)
{
	uint64_t pause = PLUGIN_RETRY_MIN_NS;

	for (uint32_t i = 1; i < nr_failures && pause < PLUGIN_RETRY_MAX_NS; i++)
		pause *= 2;
	return pause < PLUGIN_RETRY_MAX_NS ? pause : PLUGIN_RETRY_MAX_NS;
}

/* Not the loop's time, which is that of its last wake: an answer may be late because of the loop. */
static uint64_t now_ns(void)
{
	return clock_monotonic_ns();
}

/* UINT64_MAX = never, as the session says it. */
static void set_timer(struct plugin *plugin, uint64_t due_ns)
{
	if (due_ns == UINT64_MAX) {
		sd_event_source_set_enabled(plugin->timer, SD_EVENT_OFF);
		return;
	}
	/* Rounded up: a deadline has passed when the session is called. */
	sd_event_source_set_time(plugin->timer, due_ns / NSEC_PER_USEC + 1);
	sd_event_source_set_enabled(plugin->timer, SD_EVENT_ONESHOT);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void disconnect(struct plugin *plugin)
{
	plugin->io = sd_event_source_disable_unref(plugin->io);
	nri_session_free(plugin->session);
	plugin->session = NULL;
	/* Closed before the next attempt: two connections would be two plugins. */
	cleanup_close_fd(&plugin->fd);
	plugin->fd = -1;
}

/* Reported once for each reason; the message says what failed, and the remedy what to do. */
__attribute__((format(printf, 3, 4))) static void fail(struct plugin *plugin, const char *remedy,
						       const char *format, ...)
{
	struct plugin_status *status = &plugin->status;
	char message[sizeof(status->message)];
	bool had_session = plugin->session;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	disconnect(plugin);
	status->state = PLUGIN_WAITING;
	if (status->nr_failures < UINT32_MAX)
		status->nr_failures++;
	set_timer(plugin, now_ns() + plugin_pause_ns(status->nr_failures));
	if (had_session)
		plugin->sink->ended(plugin->sink->self);
	if (!text_is_news(status->message, message))
		return;
	text_copy(status->message, sizeof(status->message), message);
	text_copy(status->remedy, sizeof(status->remedy), remedy);
	log_warn(0, "nri: %s; %s", message, remedy);
	plugin->sink->changed(plugin->sink->self, status);
}

static void end_session(struct plugin *plugin)
{
	const char *text = "";
	int error = nri_session_error(plugin->session, &text);
	char reason[NRI_SESSION_TEXT_MAX];

	/* The text is the session's. */
	text_copy(reason, sizeof(reason), text);
	fail(plugin,
	     error == -EACCES ? "see the runtime's log for why it refuses plugins"
			      : "see the runtime's log; the agent connects again",
	     "the session with the container runtime at %s ended: %s", plugin->address.sun_path,
	     reason);
}

/* --- a session -------------------------------------------------------------------------------- */

static void note_ready(struct plugin *plugin)
{
	struct plugin_status *status = &plugin->status;

	if (status->state == PLUGIN_READY || !nri_session_is_ready(plugin->session))
		return;
	*status = (struct plugin_status){.state = PLUGIN_READY};
	log_info("nri: connected to the container runtime at %s", plugin->address.sun_path);
	plugin->sink->changed(plugin->sink->self, status);
}

/* Write what the socket takes. 0 or the error of the socket. */
static int write_output(struct plugin *plugin)
{
	for (;;) {
		size_t len;
		const void *output = nri_session_output(plugin->session, &len);
		ssize_t written;

		if (!len)
			return 0;
		written = send(plugin->fd, output, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (written < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		nri_session_sent(plugin->session, (size_t)written, now_ns());
	}
}

/* After anything that may have changed the session: bytes, time, an answer. */
static void settle(struct plugin *plugin)
{
	size_t len;
	int r;

	if (nri_session_error(plugin->session, NULL))
		return end_session(plugin);
	r = write_output(plugin);
	if (r)
		return fail(plugin, "see the runtime's log; the agent connects again",
			    "cannot write to the container runtime at %s: %s",
			    plugin->address.sun_path, strerror(-r));
	/* An answer that left too late ends the session. */
	if (nri_session_error(plugin->session, NULL))
		return end_session(plugin);
	nri_session_output(plugin->session, &len);
	sd_event_source_set_io_events(plugin->io, EPOLLIN | (len ? EPOLLOUT : 0));
	set_timer(plugin, nri_session_deadline(plugin->session));
	note_ready(plugin);
}

static void read_input(struct plugin *plugin)
{
	uint8_t bytes[READ_BYTES];
	const uint64_t begin_ns = now_ns();
	ssize_t len = recv(plugin->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (len > 0)
		nri_session_receive(plugin->session, bytes, (size_t)len, now_ns());
	else if (!len || (errno != EAGAIN && errno != EINTR))
		nri_session_end_of_input(plugin->session);
	/* More than there was to read was asked for. */
	if (len < (ssize_t)sizeof(bytes) && (len > 0 || errno != EINTR))
		nri_session_drained(plugin->session, begin_ns);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct plugin *plugin = data;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_input(plugin);
	settle(plugin);
	return 0;
}

/* --- a connection ----------------------------------------------------------------------------- */

/* connect() on a socket of this family does not wait: a full backlog is -EAGAIN. */
static int dial(struct plugin *plugin)
{
	int fd cleanup_close = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&plugin->address, sizeof(plugin->address)))
		return -errno;
	r = sd_event_add_io(plugin->event, &plugin->io, fd, EPOLLIN | EPOLLOUT, on_io, plugin);
	if (r < 0)
		return r;
	r = nri_session_new(&plugin->nri, &plugin->sink->callbacks, plugin->sink->self, now_ns(),
			    &plugin->session);
	if (r) {
		plugin->io = sd_event_source_disable_unref(plugin->io);
		return r;
	}
	plugin->fd = TAKE_FD(fd);
	return 0;
}

void plugin_connect(struct plugin *plugin)
{
	int r;

	if (plugin->session)
		return;
	r = dial(plugin);
	if (r)
		return fail(plugin,
			    "start the runtime and enable NRI in its configuration, or remove "
			    "sources.nri",
			    "cannot connect to the container runtime at %s: %s",
			    plugin->address.sun_path, strerror(-r));
	plugin->status.state = PLUGIN_STARTING;
	set_timer(plugin, nri_session_deadline(plugin->session));
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	struct plugin *plugin = data;

	if (plugin->session) {
		read_input(plugin);
		nri_session_check(plugin->session, now_ns());
		settle(plugin);
	} else {
		plugin_connect(plugin);
	}
	return 0;
}

int plugin_answer(struct plugin *plugin, uint32_t request, const struct nri_answer *answer)
{
	int r;

	if (!plugin->session)
		return -ENOTCONN;
	r = nri_session_answer(plugin->session, request, answer);
	/* Written by the loop, because this may be a callback of the session. */
	if (!r)
		sd_event_source_set_io_events(plugin->io, EPOLLIN | EPOLLOUT);
	return r;
}

const struct plugin_status *plugin_status(const struct plugin *plugin)
{
	return &plugin->status;
}

/* --- life ------------------------------------------------------------------------------------- */

void plugin_close(struct plugin *plugin)
{
	if (!plugin)
		return;
	disconnect(plugin);
	sd_event_source_disable_unref(plugin->timer);
	free(plugin);
}

int plugin_open(const struct plugin_options *options, struct plugin **ret_plugin)
{
	struct plugin *plugin cleanup_plugin = calloc(1, sizeof(*plugin));
	int r;

	if (!plugin)
		return -ENOMEM;
	*plugin = (struct plugin){
		.event = options->event,
		.sink = options->sink,
		.nri = options->nri,
		.address = {.sun_family = AF_UNIX},
		.fd = -1,
	};
	if (strlen(options->socket) >= sizeof(plugin->address.sun_path))
		return -ENAMETOOLONG;
	text_copy(plugin->address.sun_path, sizeof(plugin->address.sun_path), options->socket);
	r = sd_event_add_time(plugin->event, &plugin->timer, CLOCK_MONOTONIC, 0, NSEC_PER_USEC,
			      on_timer, plugin);
	if (r >= 0)
		r = sd_event_source_set_enabled(plugin->timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	plugin_connect(plugin);
	*ret_plugin = TAKE_PTR(plugin);
	return 0;
}
