// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd in its epoll mode, driven by the agent's own loop: no thread,
 * so the controller needs no lock. A request whose answer takes its time is
 * suspended: its connection is left alone until the answer or its deadline comes.
 */
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "format/views.h"
#include "lib/clock.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/log.h"
#include "serve/metrics_copies.h"
#include "serve/page_copies.h"
#include "serve/respond.h"
#include "serve/server.h"
#include "serve/socket.h"

/*
 * Connections that were ended and that libmicrohttpd has not closed yet. At its limit it
 * stops accepting until it has, so newcomers beyond wait in the socket's queue for a moment.
 * That queue is as long as the kernel allows: what does not fit waits a second or more for
 * TCP to try again.
 */
#define LEAVING_MAX 16

enum listener_kind { LISTENER_METRICS, LISTENER_API };

/*
 * One connection, which carries one request, and the time by which that must be asked and
 * answered. libmicrohttpd's own timeout starts again with every byte: a peer that sends one
 * a second, or reads one, would keep its place for ever.
 */
struct peer {
	struct peer *next; /* the next younger one */
	int fd;		   /* libmicrohttpd's; open as long as the peer is listed */
	bool ended;	   /* shut down by us; libmicrohttpd has yet to close it */
	struct sockaddr_storage address;
	uint64_t deadline_usec;
	struct http_request *suspended; /* NULL: libmicrohttpd has the connection */
};

struct listener {
	struct server *server;
	enum listener_kind kind;
	struct MHD_Daemon *daemon;
	sd_event_source *readable, *timer;
	struct peer *peers; /* the oldest first */
	uint64_t timeout_usec;
};

struct server {
	const struct faces_port *faces;
	struct answer_sink answers;
	uint64_t next_request;
	struct listener metrics, api;
	struct metrics_copies metrics_copies;
	struct page_copies page;
	int runtime_dir_fd; /* borrowed */
	char socket_name[64];
	bool bound;
};

/* What arrives of one request before it is answered. */
struct http_request {
	struct text body;
	bool too_large;
	/* Suspended: under this number the answer comes. */
	uint64_t id;
	struct MHD_Connection *connection;
	struct peer *peer;
	unsigned int status;	    /* of the answer; 0 = none yet */
	struct json_object *answer; /* owned */
};

/*
 * A late answer is given up so long before the connection's deadline, so that there is
 * time to say why.
 */
#define SUSPENDED_LEAST_USEC 1000000ULL

/* libmicrohttpd leaves the body of an answer to HEAD out. */
static bool is_read(const char *method)
{
	return !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
}

static bool wants_openmetrics(struct MHD_Connection *connection)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

	return accept && strstr(accept, "application/openmetrics-text");
}

/* Without an agent that grants CPUs its path does not exist. */
static enum MHD_Result answer_topology(struct server *server, struct MHD_Connection *connection)
{
	struct text object cleanup_text = {0};
	int r = server->faces->topology(server->faces->self, &object);

	if (r == -ENOENT)
		return respond_error(connection, MHD_HTTP_NOT_FOUND,
				     "/topology: the agent grants nothing in this mode, so what is "
				     "available is unknown");
	if (r)
		return respond_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "topology: %s",
				     strerror(-r));
	return respond(connection, MHD_HTTP_OK, "application/json", object.data, object.len);
}

static enum MHD_Result answer_probe(struct MHD_Connection *connection,
				    const struct faces_port *faces,
				    bool (*probe)(void *self, char *reason, size_t size))
{
	char reason[512] = "ok";
	bool good = probe(faces->self, reason, sizeof(reason) - 1);

	strcat(reason, "\n");
	return respond(connection, good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
		       "text/plain; charset=utf-8", reason, strlen(reason));
}

/* The three paths that both listeners have; MHD_NO with *ret_found false = not one of them. */
static enum MHD_Result answer_common(struct server *server, struct MHD_Connection *connection,
				     const char *url, bool *ret_found)
{
	*ret_found = true;
	if (!strcmp(url, "/metrics"))
		return metrics_copies_answer(&server->metrics_copies, connection, server->faces,
					     wants_openmetrics(connection));
	if (!strcmp(url, "/healthz"))
		return answer_probe(connection, server->faces, server->faces->healthy);
	if (!strcmp(url, "/readyz"))
		return answer_probe(connection, server->faces, server->faces->ready);
	*ret_found = false;
	return MHD_NO;
}

static int peer_of(struct MHD_Connection *connection, struct ucred *ret_peer)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	socklen_t len = sizeof(*ret_peer);

	if (!info)
		return -ENOTCONN;
	return getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &len) ? -errno : 0;
}

static enum MHD_Result answer_query(struct server *server, struct MHD_Connection *connection,
				    const char *object)
{
	struct json_object *reply cleanup_json = NULL;
	int r = server->faces->query(server->faces->self, object, &reply);

	if (r == -ENOENT)
		return respond_error(connection, MHD_HTTP_NOT_FOUND,
				     "/v1/%.64s: no such object; try for example /v1/node or "
				     "/v1/pod",
				     object);
	if (r)
		return respond_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "/v1/%.64s: %s",
				     object, strerror(-r));
	return respond_json(connection, MHD_HTTP_OK, reply);
}

/* Body text to JSON; an empty body counts as none. NULL with *ret_error set when it is malformed. */
static struct json_object *parse_body(const struct text *body, const char **ret_error)
{
	struct json_tokener *tokener;
	struct json_object *object;

	*ret_error = NULL;
	if (!body->len)
		return NULL;
	tokener = json_tokener_new_ex(16);
	if (!tokener) {
		*ret_error = "out of memory";
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, body->data, (int)body->len);
	if (json_tokener_get_error(tokener) != json_tokener_success) {
		*ret_error = json_tokener_error_desc(json_tokener_get_error(tokener));
		json_object_put(object);
		object = NULL;
	} else if (!json_object_is_type(object, json_type_object)) {
		*ret_error = "it is not an object";
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}

static struct peer *peer_at(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static enum MHD_Result suspend(struct MHD_Connection *connection, struct http_request *request)
{
	request->peer = peer_at(connection);
	if (!request->peer)
		return MHD_NO;
	request->connection = connection;
	request->peer->suspended = request;
	MHD_suspend_connection(connection);
	return MHD_YES;
}

/*
 * *takes* answer. The handler is called once more and finds it. The answer has a time of its
 * own: where the loop was kept from running, the connection's has passed already.
 */
static void resume(const struct listener *listener, struct http_request *request,
		   unsigned int status, struct json_object *answer)
{
	request->peer->suspended = NULL;
	request->peer->deadline_usec = clock_monotonic_usec() + listener->timeout_usec;
	request->status = status;
	request->answer = answer;
	MHD_resume_connection(request->connection);
}

static enum MHD_Result answer_command(struct server *server, struct MHD_Connection *connection,
				      const char *path, struct http_request *pending,
				      pid_t peer_pid)
{
	struct json_object *request cleanup_json = NULL;
	const struct text *body = &pending->body;
	struct json_object *reply cleanup_json = NULL;
	unsigned int status = MHD_HTTP_OK;
	const char *slash = strchr(path, '/'), *error;
	char object[64];
	int r;

	snprintf(object, sizeof(object), "%.*s", slash ? (int)(slash - path) : 63, path);
	request = parse_body(body, &error);
	if (error)
		return respond_error(
			connection, MHD_HTTP_BAD_REQUEST,
			"POST /v1/%.64s: cannot parse the body: %s; send one JSON object", path,
			error);
	pending->id = ++server->next_request;
	r = server->faces->command(server->faces->self, pending->id, object, slash ? slash + 1 : "",
				   request, peer_pid, &reply, &status);
	if (r == -EINPROGRESS)
		return suspend(connection, pending);
	if (r == -ENOENT)
		return respond_error(connection, MHD_HTTP_NOT_FOUND,
				     "POST /v1/%.64s: no such command", path);
	if (r)
		return respond_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				     "POST /v1/%.64s: %s", path, strerror(-r));
	return respond_json(connection, status, reply);
}

static enum MHD_Result answer_api(struct server *server, struct MHD_Connection *connection,
				  const char *url, const char *method, struct http_request *request)
{
	struct ucred peer;
	int r;

	if (request->status)
		return respond_json(connection, request->status, request->answer);

	r = peer_of(connection, &peer);
	if (r || peer.uid != 0)
		return respond_error(connection, MHD_HTTP_FORBIDDEN,
				     "this socket serves only root");
	if (strncmp(url, "/v1/", 4) || !url[4])
		return respond_error(
			connection, MHD_HTTP_NOT_FOUND,
			"%.64s: no such path; use /metrics, /healthz, /readyz or /v1/<object>",
			url);
	if (is_read(method))
		return answer_query(server, connection, url + 4);
	if (!strcmp(method, MHD_HTTP_METHOD_POST))
		return answer_command(server, connection, url + 4, request, peer.pid);
	return respond_method(connection, method, "GET, HEAD, POST");
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **state)
{
	struct listener *listener = data;
	struct http_request *request = *state;
	bool read = is_read(method), found;
	enum MHD_Result result;

	if (!request) {
		/* Before a byte of a body is read: anybody may reach this port. */
		if (listener->kind == LISTENER_METRICS && !read)
			return respond_method(connection, method, "GET, HEAD");
		*state = calloc(1, sizeof(*request));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*upload_len) {
		if (listener->kind == LISTENER_METRICS ||
		    request->body.len + *upload_len > SERVER_MAX_BODY)
			request->too_large = true;
		else
			text_append_len(&request->body, upload, *upload_len);
		*upload_len = 0;
		return MHD_YES;
	}
	if (request->too_large || request->body.error)
		return respond_error(connection, MHD_HTTP_CONTENT_TOO_LARGE,
				     "the body is larger than %d bytes", SERVER_MAX_BODY);
	if (read) {
		result = answer_common(listener->server, connection, url, &found);
		if (found)
			return result;
	}
	if (listener->kind == LISTENER_API)
		return answer_api(listener->server, connection, url, method, request);
	if (!strcmp(url, "/topology"))
		return answer_topology(listener->server, connection);
	if (!strcmp(url, "/")) {
		/* Switched off, it is a path like any other that does not exist. */
		result = page_copies_answer(&listener->server->page, connection,
					    listener->server->faces, &found);
		if (found)
			return result;
	}
	return respond_error(connection, MHD_HTTP_NOT_FOUND,
			     "%.64s: no such path; use /metrics, /healthz or /readyz", url);
}

/* --- places and deadlines --------------------------------------------------------------------- */

/* The place is free once libmicrohttpd has seen the end of the connection. */
static void end_peer(struct peer *peer)
{
	shutdown(peer->fd, SHUT_RDWR);
	peer->ended = true;
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	if (a->ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return true; /* a unix socket's peers are all on this machine */
}

static unsigned int count_of_host(const struct listener *listener, const struct peer *host)
{
	unsigned int nr = 0;

	for (const struct peer *peer = listener->peers; peer; peer = peer->next)
		nr += !peer->ended && same_host(&peer->address, &host->address);
	return nr;
}

/* Its answer does not come in time: the peer is told what it waits for. */
static void give_up(struct listener *listener, struct http_request *request)
{
	const struct faces_port *faces = listener->server->faces;
	char why[512];

	faces->withdraw(faces->self, request->id, why, sizeof(why));
	resume(listener, request, MHD_HTTP_SERVICE_UNAVAILABLE, view_error(why));
}

/*
 * A newcomer always gets a place: the oldest connection of the host that holds the most of
 * them makes room. A request is read as soon as it arrives, so an old connection is one that
 * has not asked yet or does not read its answer.
 */
static void make_room(struct listener *listener)
{
	struct peer *victim = NULL;
	unsigned int nr = 0, most = 0;

	for (struct peer *peer = listener->peers; peer; peer = peer->next)
		nr += !peer->ended;
	if (nr < SERVER_MAX_CONNECTIONS)
		return;
	for (struct peer *peer = listener->peers; peer; peer = peer->next) {
		unsigned int held = peer->ended ? 0 : count_of_host(listener, peer);

		if (held > most) {
			most = held;
			victim = peer;
		}
	}
	if (!victim)
		return;
	/* libmicrohttpd sees the end of a connection that it has back only. */
	if (victim->suspended)
		give_up(listener, victim->suspended);
	end_peer(victim);
}

static void forget_peer(struct listener *listener, struct peer *peer)
{
	struct peer **at = &listener->peers;

	while (*at && *at != peer)
		at = &(*at)->next;
	if (*at)
		*at = peer->next;
	free(peer);
}

static void list_peer(struct listener *listener, struct peer *peer)
{
	struct peer **at = &listener->peers;

	while (*at)
		at = &(*at)->next;
	*at = peer;
}

static void on_connection(void *data, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct listener *listener = data;
	struct peer *peer;
	socklen_t len;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		forget_peer(listener, *socket_context);
		*socket_context = NULL;
		return;
	}
	make_room(listener);
	peer = calloc(1, sizeof(*peer));
	if (!peer) {
		/* Without a deadline nobody is served. */
		shutdown(info->connect_fd, SHUT_RDWR);
		return;
	}
	peer->fd = info->connect_fd;
	peer->deadline_usec = clock_monotonic_usec() + listener->timeout_usec;
	len = sizeof(peer->address);
	if (getpeername(peer->fd, (struct sockaddr *)&peer->address, &len))
		peer->address.ss_family = AF_UNSPEC; /* gone already; its end is read next */
	list_peer(listener, peer);
	*socket_context = peer;
}

static void on_completed(void *data, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct http_request *request = *state;

	if (!request)
		return;
	text_fini(&request->body);
	json_object_put(request->answer);
	free(request);
	*state = NULL;
}

static uint64_t deadline_of(const struct listener *listener, const struct peer *peer)
{
	uint64_t last_usec = listener->timeout_usec / 2;

	if (!peer->suspended)
		return peer->deadline_usec;
	return peer->deadline_usec -
	       (last_usec < SUSPENDED_LEAST_USEC ? last_usec : SUSPENDED_LEAST_USEC);
}

/* Ends those whose time is over; the next deadline of the others, or UINT64_MAX. */
static uint64_t end_late_peers(struct listener *listener)
{
	uint64_t now = clock_monotonic_usec(), next = UINT64_MAX;

	for (struct peer *peer = listener->peers; peer; peer = peer->next) {
		if (peer->ended)
			continue;
		if (peer->suspended && deadline_of(listener, peer) <= now)
			give_up(listener, peer->suspended);
		if (peer->deadline_usec <= now)
			end_peer(peer);
		else if (deadline_of(listener, peer) < next)
			next = deadline_of(listener, peer);
	}
	return next;
}

/* Let libmicrohttpd work, then ask it when it wants to be called without input. */
static void run_daemon(struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;
	uint64_t due_usec, own_usec;

	MHD_run(listener->daemon);
	due_usec = end_late_peers(listener);
	if (MHD_get_timeout(listener->daemon, &timeout_ms) == MHD_YES) {
		own_usec = clock_monotonic_usec() + timeout_ms * 1000;
		due_usec = own_usec < due_usec ? own_usec : due_usec;
	}
	sd_event_source_set_time(listener->timer, due_usec);
	sd_event_source_set_enabled(listener->timer,
				    due_usec == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static struct http_request *find_suspended(const struct listener *listener, uint64_t id)
{
	for (struct peer *peer = listener->peers; peer; peer = peer->next)
		if (peer->suspended && peer->suspended->id == id)
			return peer->suspended;
	return NULL;
}

static void on_answered(void *self, uint64_t id, unsigned int status, struct json_object *json)
{
	struct server *server = self;
	struct http_request *request = find_suspended(&server->api, id);

	if (!request) {
		json_object_put(json);
		return;
	}
	resume(&server->api, request, status, json);
	/* Not from here: this may be within a call of libmicrohttpd's for another peer. */
	sd_event_source_set_time(server->api.timer, 0);
	sd_event_source_set_enabled(server->api.timer, SD_EVENT_ONESHOT);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *data)
{
	run_daemon(data);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	run_daemon(data);
	return 0;
}

/* *takes* listen_fd also on failure. */
static int listener_start(struct listener *listener, int listen_fd, sd_event *event)
{
	int owned_fd cleanup_close = listen_fd;
	const union MHD_DaemonInfo *info;
	int r;

	listener->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request,
		listener, MHD_OPTION_LISTEN_SOCKET, owned_fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)(SERVER_MAX_CONNECTIONS + LEAVING_MAX),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(32 * 1024),
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, listener, MHD_OPTION_END);
	if (!listener->daemon)
		return -EIO;
	TAKE_FD(owned_fd);
	info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EIO;
	r = sd_event_add_io(event, &listener->readable, info->epoll_fd, EPOLLIN, on_readable,
			    listener);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(event, &listener->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
				       listener);
	return r < 0 ? r : 0;
}

static void listener_stop(struct listener *listener)
{
	sd_event_source_disable_unref(listener->readable);
	sd_event_source_disable_unref(listener->timer);
	/* libmicrohttpd does not stop with a connection suspended. */
	for (struct peer *peer = listener->peers; peer; peer = peer->next)
		if (peer->suspended)
			give_up(listener, peer->suspended);
	if (listener->daemon)
		MHD_stop_daemon(listener->daemon);
}

int server_open(const struct server_options *options, const struct faces_port *faces,
		sd_event *event, struct server **ret_server)
{
	struct server *server = calloc(1, sizeof(*server));
	int fd, r;

	if (!server)
		return log_err(-ENOMEM, "serve");
	server->faces = faces;
	server->runtime_dir_fd = options->runtime_dir_fd;
	server->answers = (struct answer_sink){server, on_answered};
	if (faces->listen)
		faces->listen(faces->self, &server->answers);
	server->metrics = (struct listener){.server = server, .kind = LISTENER_METRICS};
	server->api = (struct listener){.server = server, .kind = LISTENER_API};
	server->metrics.timeout_usec = server->api.timeout_usec =
		1000ULL * (options->timeout_ms ? options->timeout_ms : SERVER_TIMEOUT_S * 1000);
	snprintf(server->socket_name, sizeof(server->socket_name), "%s", options->socket_name);

	fd = socket_listen_unix(options->runtime_dir_fd, options->runtime_dir,
				options->socket_name);
	r = fd;
	if (fd >= 0) {
		server->bound = true;
		r = listener_start(&server->api, fd, event);
		if (r)
			log_err(r, "serve: cannot start the API");
	}
	if (r >= 0 && options->metrics_address && *options->metrics_address) {
		fd = socket_listen_tcp(options->metrics_address);
		r = fd;
		if (fd >= 0) {
			r = listener_start(&server->metrics, fd, event);
			if (r)
				log_err(r, "serve: cannot start the metrics listener");
		}
	}
	if (r < 0) {
		server_close(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

void server_close(struct server *server)
{
	if (!server)
		return;
	listener_stop(&server->metrics);
	listener_stop(&server->api);
	metrics_copies_drop(&server->metrics_copies);
	page_copies_drop(&server->page);
	if (server->faces->listen)
		server->faces->listen(server->faces->self, NULL);
	if (server->bound)
		unlinkat(server->runtime_dir_fd, server->socket_name, 0);
	free(server);
}
