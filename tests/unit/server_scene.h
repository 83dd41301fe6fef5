/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP faces from outside: a child process serves with fake faces, the test
 * talks bytes to it over both listeners.
 */
#ifndef PINFOLD_SERVER_SCENE_H
#define PINFOLD_SERVER_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "lib/file.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "serve/server.h"

/*
 * Two servers: one whose deadline comes soon, one whose deadline is beyond every test, so
 * that whatever frees a place there was not the deadline.
 */
#define SOON_MS	 1000
#define NEVER_MS (3600 * 1000)

static char directory[32];
static uint16_t port;
static pid_t child;

static inline int fake_query(void *self, const char *object, struct json_object **ret_json)
{
	if (strcmp(object, "node"))
		return -ENOENT;
	*ret_json = json_object_new_object();
	json_object_object_add(*ret_json, "cpus", json_object_new_int(4));
	return 0;
}

/* In the child: who is told late answers, and the request that waits for one. */
static const struct answer_sink *sink;
static uint64_t late_request;

static inline void fake_listen(void *self, const struct answer_sink *answers)
{
	sink = answers;
}

static inline int answer_late(sd_event_source *source, uint64_t usec, void *data)
{
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "late", json_object_new_boolean(true));
	sink->answered(sink->self, late_request, 200, json);
	/* A number that nobody waits for is no harm. */
	sink->answered(sink->self, late_request + 1000, 200, json_object_new_object());
	return 0;
}

static inline void fake_withdraw(void *self, uint64_t request, char *ret_why, size_t size)
{
	snprintf(ret_why, size, "request %s waits in a test", request ? "one" : "none");
}

/* Long enough for every deadline of the hasty server to pass meanwhile. */
static inline int keep_loop_busy(sd_event_source *source, uint64_t usec, void *data)
{
	usleep(2 * SOON_MS * 1000);
	return 0;
}

static inline int fake_command(void *self, uint64_t request, const char *object,
			       const char *command, struct json_object *body, pid_t peer_pid,
			       struct json_object **ret_json, unsigned int *ret_status)
{
	sd_event *event = NULL;

	if (!strcmp(object, "never"))
		return -EINPROGRESS;
	if (!strcmp(object, "busy") && sd_event_default(&event) >= 0) {
		sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 0, 1000, keep_loop_busy,
					   NULL);
		sd_event_unref(event);
		return -EINPROGRESS;
	}
	if (!strcmp(object, "late") && sd_event_default(&event) >= 0) {
		late_request = request;
		sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 20000, 1000, answer_late,
					   NULL);
		sd_event_unref(event);
		return -EINPROGRESS;
	}
	if (strcmp(object, "run"))
		return -ENOENT;
	*ret_json = json_object_new_object();
	json_object_object_add(*ret_json, "peer", json_object_new_int(peer_pid));
	json_object_object_add(*ret_json, "pod",
			       json_object_get(json_object_object_get(body, "pod")));
	*ret_status = 409;
	return 0;
}

/* More than a socket's buffers hold, so that a peer who does not read keeps the server waiting. */
#define LARGE_PAGE (8 * 1024 * 1024)

/* What the text costs to build: so much that it may be answered for as long as possible. */
#define METRICS_COST_NS 60000000ULL

static inline int fake_metrics(void *self, bool openmetrics, struct text *out)
{
	static char filling[LARGE_PAGE];
	static unsigned int nr_built;
	const uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	if (!openmetrics) {
		while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns < METRICS_COST_NS)
			;
		text_printf(out, "pinfold_up 1\npinfold_built %u\n", ++nr_built);
		return out->error;
	}
	memset(filling, '\n', sizeof(filling));
	text_append(out, "# EOF\n");
	text_append_len(out, filling, sizeof(filling));
	return out->error;
}

/* Of the servers that are started next. */
static bool is_page_off;
static bool is_topology_unknown;

static inline int fake_topology(void *self, struct text *out)
{
	if (is_topology_unknown)
		return -ENOENT;
	text_append(out, "{\"kind\":\"NodeResourceTopology\"}");
	return out->error;
}

static bool is_page_large; /* more than the kernel keeps for a peer that does not read */

/* Each time another version. */
static inline int fake_page(void *self, struct face_page *ret_page)
{
	static char page[16 << 20];
	static uint64_t version;

	if (is_page_off)
		return -ENOENT;
	memset(page, ' ', sizeof(page));
	snprintf(page, sizeof(page), "<!doctype html>\nversion %ju\n", (uintmax_t)++version);
	*ret_page = (struct face_page){page, is_page_large ? sizeof(page) : strlen(page), version};
	return 0;
}

static inline bool fake_healthy(void *self, char *reason, size_t size)
{
	snprintf(reason, size, "ok");
	return true;
}

static inline bool fake_ready(void *self, char *reason, size_t size)
{
	snprintf(reason, size, "starting");
	return false;
}

static inline void serve_forever(int ready_fd, unsigned int timeout_ms)
{
	const struct faces_port faces = {
		.query = fake_query,
		.command = fake_command,
		.listen = fake_listen,
		.withdraw = fake_withdraw,
		.metrics = fake_metrics,
		.topology = fake_topology,
		.page = fake_page,
		.healthy = fake_healthy,
		.ready = fake_ready,
	};
	struct server_options options = {
		.runtime_dir = directory, .socket_name = "api.sock", .timeout_ms = timeout_ms};
	struct server *server = NULL;
	sd_event *event = NULL;
	char address[32];

	log_open("test", LOG_LEVEL_ERR);
	options.runtime_dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	options.metrics_address = address;
	if (sd_event_default(&event) < 0 || server_open(&options, &faces, event, &server))
		_exit(1);
	if (write(ready_fd, "r", 1) != 1)
		_exit(1);
	_exit(sd_event_loop(event));
}

/* A port that was free a moment ago. */
static inline uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd cleanup_close = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	return ntohs(address.sin_port);
}

static inline int start(unsigned int timeout_ms)
{
	int pipe_fds[2];
	char byte;

	strcpy(directory, "/tmp/pinfold-server-XXXXXX");
	assert_non_null(mkdtemp(directory));
	assert_int_equal(pipe(pipe_fds), 0);
	port = free_port();
	child = fork();
	if (!child)
		serve_forever(pipe_fds[1], timeout_ms);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	close(pipe_fds[0]);
	return 0;
}

static inline int start_hasty(void **state)
{
	return start(SOON_MS);
}

static inline int start_patient(void **state)
{
	return start(NEVER_MS);
}

static inline int start_without_topology(void **state)
{
	int r;

	is_topology_unknown = true;
	r = start_patient(state);
	is_topology_unknown = false;
	return r;
}

static inline int start_without_page(void **state)
{
	int r;

	is_page_off = true;
	r = start(NEVER_MS);
	is_page_off = false;
	return r;
}

static inline int start_with_large_page(void **state)
{
	int r;

	is_page_large = true;
	r = start(NEVER_MS);
	is_page_large = false;
	return r;
}

static inline int stop(void **state)
{
	char path[64];

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	snprintf(path, sizeof(path), "%s/api.sock", directory);
	unlink(path);
	return rmdir(directory);
}

/* Beyond any delay of a loaded machine: a wait this long means that nothing came. */
#define PATIENCE_S 60

/* For connect(2), which waits for a place in the queue, and for what is read later. */
static inline void be_patient(int fd)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
}

/* From an address of 127.0.0.0/8, all of which are this machine's. */
static inline int connect_from(uint32_t source)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	be_patient(fd);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline int connect_tcp(void)
{
	return connect_from(INADDR_LOOPBACK);
}

static inline int connect_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	be_patient(fd);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/api.sock", directory);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Send all, read to the end; returns the HTTP status. */
static inline int talk(int fd, const char *request, size_t len, char *answer, size_t size)
{
	size_t used = 0;
	ssize_t n;
	int status = 0;

	/* The server may answer and close before it has read a body that is too large. */
	while (len && (n = send(fd, request, len, MSG_NOSIGNAL)) > 0) {
		request += n;
		len -= (size_t)n;
	}
	while (used < size - 1 && (n = read(fd, answer + used, size - 1 - used)) > 0)
		used += (size_t)n;
	answer[used] = '\0';
	close(fd);
	sscanf(answer, "HTTP/1.1 %d", &status);
	return status;
}

static inline int ask(int fd, const char *request, char *answer, size_t size)
{
	return talk(fd, request, strlen(request), answer, size);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define POST(path, length, body)                                                            \
	"POST " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " length \
	"\r\n\r\n" body

#define PATIENT(test) cmocka_unit_test_setup_teardown(test, start_patient, stop)
#define HASTY(test)   cmocka_unit_test_setup_teardown(test, start_hasty, stop)

#endif
