// SPDX-License-Identifier: Apache-2.0
// LIBS: serve format core lib
/* What is served on which listener, and what a wrong request is told. */
#include "server_scene.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "serve/metrics_copies.h"
#include "serve/socket.h"

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

static unsigned int built_so_far(void)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/metrics"), answer, sizeof(answer)), 200);
	assert_non_null(strstr(answer, "pinfold_built "));
	return (unsigned int)strtoul(strstr(answer, "pinfold_built ") + strlen("pinfold_built "),
				     NULL, 10);
}

/* Whoever reaches the port may ask as often as they like, and the agent still does its work. */
static void metrics_take_a_share_of_the_time(void **state)
{
	const uint64_t begun_ns = clock_read_ns(CLOCK_MONOTONIC);
	const unsigned int before = built_so_far();
	unsigned int after = before;
	uint64_t taken_ns;

	for (int i = 0; i < 50; i++)
		after = built_so_far();
	taken_ns = clock_read_ns(CLOCK_MONOTONIC) - begun_ns;
	assert_true(after - before <= taken_ns / METRICS_AGE_MAX_NS + 1);
	assert_int_equal(poll(NULL, 0, (int)(METRICS_AGE_MAX_NS / 1000000) + 1), 0);
	assert_true(built_so_far() > after);
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

static void without_the_page_its_path_is_unknown(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/"), answer, sizeof(answer)), 404);
	assert_non_null(strstr(answer, "no such path; use /metrics, /healthz or /readyz"));
	assert_null(strstr(answer, "doctype"));
	assert_int_equal(ask(connect_tcp(), GET("/metrics"), answer, sizeof(answer)), 200);
}

static void tcp_serves_the_topology(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/topology"), answer, sizeof(answer)), 200);
	assert_non_null(strstr(answer, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(answer, "\r\n\r\n{\"kind\":\"NodeResourceTopology\"}"));
	assert_int_equal(ask(connect_tcp(), POST("/topology", "0", ""), answer, sizeof(answer)),
			 405);
	assert_int_equal(ask(connect_unix(), GET("/topology"), answer, sizeof(answer)), 404);
}

static void a_topology_that_is_unknown_is_not_served(void **state)
{
	char answer[4096];

	assert_int_equal(ask(connect_tcp(), GET("/topology"), answer, sizeof(answer)), 404);
	assert_non_null(strstr(answer, "the agent grants nothing in this mode"));
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

/* As of a kernel that was booted with ipv6.disable=1. */
static bool has_no_ipv6;

int socket(int family, int type, int protocol)
{
	if (has_no_ipv6 && family == AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return ((typeof(&socket))dlsym(RTLD_NEXT, "socket"))(family, type, protocol);
}

static void all_addresses_are_those_that_the_kernel_has(void **state)
{
	struct sockaddr_in bound = {0};
	socklen_t len = sizeof(bound);
	char address[32];
	int fd;

	has_no_ipv6 = true;
	snprintf(address, sizeof(address), "[::]:%u", 20000u + (unsigned int)getpid() % 10000);
	fd = socket_listen_tcp(address);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &len), 0);
	assert_int_equal(bound.sin_family, AF_INET);
	assert_int_equal(bound.sin_addr.s_addr, INADDR_ANY);
	assert_int_equal(ntohs(bound.sin_port), 20000 + getpid() % 10000);
	close(fd);
	/* Nobody would be reached at another address than the one that is configured. */
	assert_int_equal(socket_listen_tcp("[::1]:9417"), -EAFNOSUPPORT);
	has_no_ipv6 = false;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_parse),
		cmocka_unit_test(all_addresses_are_those_that_the_kernel_has),
		PATIENT(tcp_serves_metrics_and_probes),
		PATIENT(metrics_take_a_share_of_the_time),
		PATIENT(tcp_serves_nothing_else),
		PATIENT(tcp_serves_the_page),
		PATIENT(tcp_serves_the_topology),
		cmocka_unit_test_setup_teardown(a_topology_that_is_unknown_is_not_served,
						start_without_topology, stop),
		PATIENT(the_page_is_only_read_and_only_on_tcp),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
