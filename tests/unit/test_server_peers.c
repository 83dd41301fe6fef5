// SPDX-License-Identifier: Apache-2.0
// LIBS: serve format core lib
/* Peers that hold their places, do not read, or never end a request. */
#include "server_scene.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(peers_that_do_not_read_hold_three_pages_at_most,
						start_with_large_page, stop),
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
