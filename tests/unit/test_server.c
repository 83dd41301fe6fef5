// SPDX-License-Identifier: Apache-2.0
// LIBS: serve format core lib
/*
 * The HTTP faces from outside: a child process serves with fake faces, the test
 * talks bytes to it over both listeners.
 */
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

static int fake_query(void *self, const char *object, struct json_object **ret_json)
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

static void fake_listen(void *self, const struct answer_sink *answers)
{
	sink = answers;
}

static int answer_late(sd_event_source *source, uint64_t usec, void *data)
{
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "late", json_object_new_boolean(true));
	sink->answered(sink->self, late_request, 200, json);
	/* A number that nobody waits for is no harm. */
	sink->answered(sink->self, late_request + 1000, 200, json_object_new_object());
	return 0;
}

static void fake_withdraw(void *self, uint64_t request, char *ret_why, size_t size)
{
	snprintf(ret_why, size, "request %s waits in a test", request ? "one" : "none");
}

/* Long enough for every deadline of the hasty server to pass meanwhile. */
static int keep_loop_busy(sd_event_source *source, uint64_t usec, void *data)
{
	usleep(2 * SOON_MS * 1000);
	return 0;
}

static int fake_command(void *self, uint64_t request, const char *object, const char *command,
			struct json_object *body, pid_t peer_pid, struct json_object **ret_json,
			unsigned int *ret_status)
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

static int fake_metrics(void *self, bool openmetrics, struct text *out)
{
	static char filling[LARGE_PAGE];

	if (!openmetrics) {
		text_append(out, "pinfold_up 1\n");
		return out->error;
	}
	memset(filling, '\n', sizeof(filling));
	text_append(out, "# EOF\n");
	text_append_len(out, filling, sizeof(filling));
	return out->error;
}

/* Of the servers that are started next. */
static bool is_page_off;

static bool is_page_large; /* more than the kernel keeps for a peer that does not read */

/* Each time another version. */
static int fake_page(void *self, struct face_page *ret_page)
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

static bool fake_healthy(void *self, char *reason, size_t size)
{
	snprintf(reason, size, "ok");
	return true;
}

static bool fake_ready(void *self, char *reason, size_t size)
{
	snprintf(reason, size, "starting");
	return false;
}

static void serve_forever(int ready_fd, unsigned int timeout_ms)
{
	const struct faces_port faces = {
		.query = fake_query,
		.command = fake_command,
		.listen = fake_listen,
		.withdraw = fake_withdraw,
		.metrics = fake_metrics,
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
static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd cleanup_close = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	return ntohs(address.sin_port);
}

static int start(unsigned int timeout_ms)
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

static int start_hasty(void **state)
{
	return start(SOON_MS);
}

static int start_patient(void **state)
{
	return start(NEVER_MS);
}

static int start_without_page(void **state)
{
	int r;

	is_page_off = true;
	r = start(NEVER_MS);
	is_page_off = false;
	return r;
}

static int start_with_large_page(void **state)
{
	int r;

	is_page_large = true;
	r = start(NEVER_MS);
	is_page_large = false;
	return r;
}

static int stop(void **state)
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
static void be_patient(int fd)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
}

/* From an address of 127.0.0.0/8, all of which are this machine's. */
static int connect_from(uint32_t source)
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

static int connect_tcp(void)
{
	return connect_from(INADDR_LOOPBACK);
}

static int connect_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	be_patient(fd);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/api.sock", directory);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Send all, read to the end; returns the HTTP status. */
static int talk(int fd, const char *request, size_t len, char *answer, size_t size)
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

static int ask(int fd, const char *request, char *answer, size_t size)
{
	return talk(fd, request, strlen(request), answer, size);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define POST(path, length, body)                                                            \
	"POST " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " length \
	"\r\n\r\n" body

static void tcp_serves_metrics_and_probes(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/metrics"), answer, sizeof(answer)), 200);
	assert_non_null(strstr(answer, "version=0.0.4"));
	assert_non_null(strstr(answer, "pinfold_up 1\n"));
	assert_int_equal(ask(connect_tcp(), GET("/healthz"), answer, sizeof(answer)), 200);
	assert_int_equal(ask(connect_tcp(), GET("/readyz"), answer, sizeof(answer)), 503);
	assert_non_null(strstr(answer, "\r\n\r\nstarting\n"));
}

static void tcp_serves_nothing_else(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/v1/node"), answer, sizeof(answer)), 404);
	assert_int_equal(ask(connect_tcp(), POST("/metrics", "0", ""), answer, sizeof(answer)),
			 405);
	assert_int_equal(ask(connect_tcp(), POST("/v1/run", "2", "{}"), answer, sizeof(answer)),
			 405);
}

static void expect_headers(const char *answer)
{
	static const char *const wanted[] = {
		"\r\nContent-Type: text/html; charset=utf-8\r\n",
		"\r\nContent-Security-Policy: default-src 'none'; ",
		"; frame-ancestors 'none'\r\n",
		"\r\nX-Content-Type-Options: nosniff\r\n",
		"\r\nReferrer-Policy: no-referrer\r\n",
		"\r\nCache-Control: no-store\r\n",
		"\r\nConnection: close\r\n",
	};
	/* Nor may somebody else's page read this one. */
	static const char *const unwanted[] = {"Set-Cookie", "Access-Control", "unsafe-inline"};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strstr(answer, wanted[i]))
			fail_msg("no '%s' in: %s", wanted[i], answer);
	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
		if (strstr(answer, unwanted[i]))
			fail_msg("'%s' in: %s", unwanted[i], answer);
}

static void tcp_serves_the_page(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/"), answer, sizeof(answer)), 200);
	expect_headers(answer);
	assert_non_null(strstr(answer, "\r\n\r\n<!doctype html>\n"));
	assert_int_equal(ask(connect_tcp(), "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", answer,
			     sizeof(answer)),
			 200);
	expect_headers(answer);
	assert_null(strstr(answer, "<!doctype"));
	/* Nothing is asked for behind a question mark, and nothing of it comes back. */
	assert_int_equal(ask(connect_tcp(), GET("/?q=%3Cscript%3E"), answer, sizeof(answer)), 200);
	assert_null(strstr(answer, "script>"));
}

static void the_page_is_only_read_and_only_on_tcp(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), POST("/", "0", ""), answer, sizeof(answer)), 405);
	assert_int_equal(ask(connect_tcp(), GET("//"), answer, sizeof(answer)), 404);
	assert_int_equal(ask(connect_tcp(), GET("/index.html"), answer, sizeof(answer)), 404);
	assert_int_equal(ask(connect_unix(), GET("/"), answer, sizeof(answer)), 404);
}

static bool has_version(int version)
{
	char answer[4096], line[32];

	assert_int_equal(ask(connect_tcp(), GET("/"), answer, sizeof(answer)), 200);
	snprintf(line, sizeof(line), "\nversion %d\n", version);
	return strstr(answer, line);
}

/* What peers make the agent hold does not grow with their number. */
static void peers_that_do_not_read_hold_three_pages_at_most(void **state)
{
	int deaf[8];
	char byte;

	for (size_t i = 0; i < ARRAY_SIZE(deaf); i++) {
		deaf[i] = connect_tcp();
		send(deaf[i], GET("/"), strlen(GET("/")), MSG_NOSIGNAL);
		assert_int_equal(read(deaf[i], &byte, 1), 1);
	}
	assert_true(has_version(3));
	for (size_t i = 0; i < ARRAY_SIZE(deaf); i++)
		close(deaf[i]);
	/* Nobody holds the old ones any more once the server has read that they are gone. */
	while (has_version(3))
		;
}

static void without_the_page_its_path_is_unknown(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/"), answer, sizeof(answer)), 404);
	assert_non_null(strstr(answer, "no such path; use /metrics, /healthz or /readyz"));
	assert_null(strstr(answer, "doctype"));
	assert_int_equal(ask(connect_tcp(), GET("/metrics"), answer, sizeof(answer)), 200);
}

#define PUT(path) "PUT " path " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"

static void a_wrong_method_is_told_the_right_ones(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), PUT("/readyz"), answer, sizeof(answer)), 405);
	assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
	assert_non_null(strstr(answer, "PUT is not supported: use GET, HEAD\""));
	assert_int_equal(ask(connect_unix(), PUT("/v1/node"), answer, sizeof(answer)), 405);
	assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD, POST\r\n"));
}

static void head_is_get_without_the_body(void **state)
{
	static const char request[] =
		"HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), request, answer, sizeof(answer)), 200);
	assert_non_null(strstr(answer, "version=0.0.4"));
	assert_non_null(strstr(answer, "Content-Length: "));
	assert_null(strstr(answer, "pinfold_up"));
}

static void openmetrics_on_request(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(),
			     "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: "
			     "application/openmetrics-text\r\n\r\n",
			     answer, sizeof(answer)),
			 200);
	assert_non_null(strstr(answer, "openmetrics-text"));
	assert_non_null(strstr(answer, "# EOF\n"));
}

static void socket_is_for_root_alone(void **state)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "%s/api.sock", directory);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void socket_serves_objects(void **state)
{
	char answer[4096];

	if (geteuid() != 0)
		skip(); /* the socket answers root only */
	assert_int_equal(ask(connect_unix(), GET("/v1/node"), answer, sizeof(answer)), 200);
	assert_non_null(strstr(answer, "{\"cpus\":4}"));
	assert_int_equal(ask(connect_unix(), GET("/v1/nonsense"), answer, sizeof(answer)), 404);
	assert_non_null(strstr(answer, "{\"error\":"));
	assert_int_equal(ask(connect_unix(), GET("/metrics"), answer, sizeof(answer)), 200);
}

static void commands_know_their_peer(void **state)
{
	char answer[4096], wanted[64];

	if (geteuid() != 0)
		skip();
	assert_int_equal(ask(connect_unix(), POST("/v1/run", "11", "{\"pod\":\"a\"}"), answer,
			     sizeof(answer)),
			 409);
	snprintf(wanted, sizeof(wanted), "{\"peer\":%d,\"pod\":\"a\"}", getpid());
	assert_non_null(strstr(answer, wanted));
}

static void a_late_answer_comes(void **state)
{
	char answer[4096];

	if (geteuid() != 0)
		skip();
	assert_int_equal(ask(connect_unix(), POST("/v1/late", "2", "{}"), answer, sizeof(answer)),
			 200);
	assert_non_null(strstr(answer, "{\"late\":true}"));
}

/* Others are served meanwhile; whoever waits for too long is told what for. */
static void an_answer_that_never_comes_is_explained(void **state)
{
	static const char request[] = POST("/v1/never", "2", "{}");
	char answer[4096];
	ssize_t len;
	int fd, gone;

	if (geteuid() != 0)
		skip();
	gone = connect_unix();
	assert_int_equal(write(gone, request, sizeof(request) - 1), sizeof(request) - 1);
	close(gone);
	fd = connect_unix();
	assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
	assert_int_equal(ask(connect_unix(), GET("/v1/node"), answer, sizeof(answer)), 200);
	len = read(fd, answer, sizeof(answer) - 1);
	assert_true(len > 0);
	answer[len] = '\0';
	assert_non_null(strstr(answer, " 503 "));
	if (!strstr(answer, "\r\n\r\n{"))
		assert_true(read(fd, answer + len, sizeof(answer) - 1 - (size_t)len) > 0);
	assert_non_null(strstr(answer, "request one waits in a test"));
	close(fd);
}

/* On a machine where the agent does not get to run for a while, too. */
static void a_late_agent_still_explains(void **state)
{
	char answer[4096];

	if (geteuid() != 0)
		skip();
	assert_int_equal(ask(connect_unix(), POST("/v1/busy", "2", "{}"), answer, sizeof(answer)),
			 503);
	assert_non_null(strstr(answer, "request one waits in a test"));
}

static void wrong_requests_are_answered(void **state)
{
	static const char *const bodies[] = {"{", "[]", "{\"a\":1}x", "\x01\x02"};
	char answer[4096], request[256];

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		snprintf(request, sizeof(request),
			 "POST /v1/run HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 strlen(bodies[i]), bodies[i]);
		assert_int_equal(ask(connect_unix(), request, answer, sizeof(answer)), 400);
		assert_non_null(strstr(answer, "{\"error\":"));
	}
	/* Not HTTP at all: the connection is closed, and the next peer is served. */
	assert_int_not_equal(ask(connect_unix(), "nonsense\r\n\r\n", answer, sizeof(answer)), 200);
	assert_int_equal(ask(connect_unix(), GET("/v1/node"), answer, sizeof(answer)), 200);
}

static void large_bodies_are_refused(void **state)
{
	size_t len = SERVER_MAX_BODY + 4096;
	char *request cleanup_free = malloc(len + 256);
	char answer[4096];
	int head;

	if (geteuid() != 0)
		skip();
	head = sprintf(request,
		       "POST /v1/run HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		       "Content-Length: %zu\r\n\r\n",
		       len);
	memset(request + head, ' ', len);
	assert_int_equal(talk(connect_unix(), request, (size_t)head + len, answer, sizeof(answer)),
			 413);
}

/* --- peers that hold their places ------------------------------------------------------------- */

#define CROWD 200
#define DEAF  8 /* ask for a large page and do not read it */

#define ASK_ONCE  "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
#define ASK_LARGE "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text\r\n\r\n"
#define UNENDING  "GET /healthz HTTP/1.1\r\nX-Endless: "

/* Read what comes until the server closes. */
static bool is_closed(int fd)
{
	char data[65536];
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		;
	return n == 0 || errno == ECONNRESET;
}

/* So many peers that each send `text`, which may be nothing at all, and stay. */
static void gather(int (*connect_peer)(void), const char *text, int fds[CROWD])
{
	for (int i = 0; i < CROWD; i++) {
		fds[i] = connect_peer();
		send(fds[i], text, strlen(text), MSG_NOSIGNAL);
	}
}

static void dismiss(int fds[CROWD])
{
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
}

static int status_of(int (*connect_peer)(void), const char *request)
{
	char answer[4096];

	return ask(connect_peer(), request, answer, sizeof(answer));
}

static void expect_served_in_crowds(int (*connect_peer)(void))
{
	static const char *const sent[] = {"", "G", UNENDING, ASK_ONCE};
	int deaf[DEAF], fds[CROWD];

	for (int i = 0; i < DEAF; i++) {
		deaf[i] = connect_peer();
		send(deaf[i], ASK_LARGE, strlen(ASK_LARGE), MSG_NOSIGNAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++) {
		gather(connect_peer, sent[i], fds);
		assert_int_equal(status_of(connect_peer, GET("/readyz")), 503);
		/* A byte from each keeps nobody's place. */
		for (int j = 0; j < CROWD; j++)
			send(fds[j], "x", 1, MSG_NOSIGNAL);
		assert_int_equal(status_of(connect_peer, GET("/healthz")), 200);
		assert_int_equal(status_of(connect_peer, GET("/metrics")), 200);
		dismiss(fds);
	}
	for (int i = 0; i < DEAF; i++)
		close(deaf[i]);
}

static void crowds_stop_no_scrape(void **state)
{
	expect_served_in_crowds(connect_tcp);
}

static void crowds_stop_no_request(void **state)
{
	if (geteuid() != 0)
		skip();
	expect_served_in_crowds(connect_unix);
}

static void crowds_of_one_face_leave_the_other_alone(void **state)
{
	char answer[4096];
	int fd, fds[CROWD];

	if (geteuid() != 0)
		skip();
	fd = connect_unix();
	assert_int_equal(send(fd, GET("/v1/node"), 3, MSG_NOSIGNAL), 3);
	gather(connect_tcp, "G", fds);
	assert_int_equal(status_of(connect_tcp, GET("/readyz")), 503);
	assert_int_equal(ask(fd, &GET("/v1/node")[3], answer, sizeof(answer)), 200);
	dismiss(fds);
}

/* Who takes the most places loses the first: others are not pushed out by them. */
static void a_crowd_pushes_out_its_own(void **state)
{
	char answer[4096];
	int fds[CROWD], fd = connect_from(INADDR_LOOPBACK + 1);

	assert_int_equal(send(fd, GET("/healthz"), 10, MSG_NOSIGNAL), 10);
	gather(connect_tcp, "G", fds);
	assert_int_equal(status_of(connect_tcp, GET("/readyz")), 503);
	assert_int_equal(ask(fd, &GET("/healthz")[10], answer, sizeof(answer)), 200);
	dismiss(fds);
}

static void each_answer_ends_its_connection(void **state)
{
	char answer[4096];
	int fd = connect_tcp();

	assert_int_equal(ask(fd, ASK_ONCE, answer, sizeof(answer)), 200);
	assert_non_null(strstr(answer, "Connection: close\r\n"));
	/* What was sent behind the first request is not answered. */
	fd = connect_tcp();
	assert_int_equal(ask(fd, ASK_ONCE ASK_ONCE, answer, sizeof(answer)), 200);
	assert_null(strstr(strstr(answer, "HTTP/1.1") + 1, "HTTP/1.1"));
}

/* On the server with the near deadline: silence, dribble and deafness all end. */
static void expect_deadline(int (*connect_peer)(void))
{
	struct pollfd ended = {.events = POLLIN | POLLRDHUP};
	int silent = connect_peer(), deaf = connect_peer();

	ended.fd = connect_peer();
	send(deaf, ASK_LARGE, strlen(ASK_LARGE), MSG_NOSIGNAL);
	send(ended.fd, UNENDING, strlen(UNENDING), MSG_NOSIGNAL);
	/* As long as it lives a byte comes long before the deadline. */
	for (int i = 0; !poll(&ended, 1, SOON_MS / 10); i++) {
		assert_in_range(i, 0, PATIENCE_S * 10);
		send(ended.fd, "x", 1, MSG_NOSIGNAL);
	}
	assert_true(is_closed(ended.fd));
	assert_true(is_closed(silent));
	assert_true(is_closed(deaf));
	close(ended.fd);
	close(silent);
	close(deaf);
}

static void slow_scrapers_end_at_their_deadline(void **state)
{
	expect_deadline(connect_tcp);
}

static void slow_requests_end_at_their_deadline(void **state)
{
	if (geteuid() != 0)
		skip();
	expect_deadline(connect_unix);
}

static void addresses_parse(void **state)
{
	char host[64];
	uint16_t number;

	assert_int_equal(server_parse_address("127.0.0.1:9417", host, sizeof(host), &number), 0);
	assert_string_equal(host, "127.0.0.1");
	assert_int_equal(number, 9417);
	assert_int_equal(server_parse_address("[::1]:80", host, sizeof(host), &number), 0);
	assert_string_equal(host, "::1");
	assert_int_equal(server_parse_address("::1:80", host, sizeof(host), &number), -EINVAL);
	assert_int_equal(server_parse_address("a:", host, sizeof(host), &number), -EINVAL);
	assert_int_equal(server_parse_address(":80", host, sizeof(host), &number), -EINVAL);
	assert_int_equal(server_parse_address("a:0", host, sizeof(host), &number), -EINVAL);
	assert_int_equal(server_parse_address("a:65536", host, sizeof(host), &number), -EINVAL);
	assert_int_equal(server_parse_address("a:+1", host, sizeof(host), &number), -EINVAL);
}

#define PATIENT(test) cmocka_unit_test_setup_teardown(test, start_patient, stop)
#define HASTY(test)   cmocka_unit_test_setup_teardown(test, start_hasty, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_parse),
		PATIENT(tcp_serves_metrics_and_probes),
		PATIENT(tcp_serves_nothing_else),
		PATIENT(tcp_serves_the_page),
		PATIENT(the_page_is_only_read_and_only_on_tcp),
		cmocka_unit_test_setup_teardown(peers_that_do_not_read_hold_three_pages_at_most,
						start_with_large_page, stop),
		cmocka_unit_test_setup_teardown(without_the_page_its_path_is_unknown,
						start_without_page, stop),
		PATIENT(a_wrong_method_is_told_the_right_ones),
		PATIENT(head_is_get_without_the_body),
		PATIENT(openmetrics_on_request),
		PATIENT(socket_is_for_root_alone),
		PATIENT(socket_serves_objects),
		PATIENT(commands_know_their_peer),
		PATIENT(a_late_answer_comes),
		HASTY(an_answer_that_never_comes_is_explained),
		HASTY(a_late_agent_still_explains),
		PATIENT(wrong_requests_are_answered),
		PATIENT(large_bodies_are_refused),
		PATIENT(each_answer_ends_its_connection),
		PATIENT(crowds_stop_no_scrape),
		PATIENT(crowds_stop_no_request),
		PATIENT(crowds_of_one_face_leave_the_other_alone),
		PATIENT(a_crowd_pushes_out_its_own),
		HASTY(slow_scrapers_end_at_their_deadline),
		HASTY(slow_requests_end_at_their_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
