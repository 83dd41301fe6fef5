// SPDX-License-Identifier: Apache-2.0
/*
 * One HTTP/1.1 request over the agent's unix socket.
 *
 * Not a general client: one peer that is ours, one request per connection, an
 * answer with Content-Length or ended by close, everything bounded. A library
 * for this brings some thirty shared objects (TLS, Kerberos, LDAP) into a root
 * tool that must also start inside a minimal rescue image.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "clock.h"
#include "inspect.h"
#include "lib/file.h"

#define MAX_HEAD (16 * 1024)

void answer_fini(struct answer_text *answer)
{
	text_fini(&answer->body);
}

enum status client_status(unsigned int http_status)
{
	switch (http_status) {
	case 400:
	case 404:
	case 405:
	case 413:
		return STATUS_INPUT;
	case 403:
		return STATUS_PERMISSION;
	case 409:
		return STATUS_FINDING;
	case 501:
		return STATUS_UNSUPPORTED;
	case 503:
		return STATUS_UNREACHABLE;
	default:
		return STATUS_FAILED;
	}
}

static int wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = events};

	for (;;) {
		int64_t left_ms = deadline_ms - clock_ms();
		int r = left_ms > 0 ? poll(&poll_fd, 1, (int)left_ms) : 0;

		if (r > 0)
			return 0;
		if (!r)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int connect_to(const char *socket_path, int64_t deadline_ms, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd cleanup_close = -1;

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN on a unix socket: the listener's queue is full */
	while (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (clock_ms() >= deadline_ms)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int send_all(int fd, const char *data, size_t len, int64_t deadline_ms)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		n = wait_for(fd, POLLOUT, deadline_ms);
		if (n)
			return (int)n;
	}
	return 0;
}

/* Some more bytes; 0 = the peer closed. */
static ssize_t receive(int fd, struct text *text, int64_t deadline_ms)
{
	char buffer[16 * 1024];
	int r;

	for (;;) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), 0);

		if (n >= 0) {
			text_append_len(text, buffer, (size_t)n);
			return text->error ? text->error : n;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_for(fd, POLLIN, deadline_ms);
		if (r)
			return r;
	}
}

/* Value of a header line among `head`, NUL-terminated block of CRLF lines; NULL = absent. */
static const char *find_header(const char *head, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (!strncasecmp(line, name, len) && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " \t");
	}
	return NULL;
}

/* "HTTP/1.1 200 …" -> 200; 0 = no status line. */
static unsigned int parse_status(const char *head)
{
	unsigned int status = 0;

	if (strncmp(head, "HTTP/1.1 ", 9) && strncmp(head, "HTTP/1.0 ", 9))
		return 0;
	head += 9;
	for (int i = 0; i < 3; i++) {
		if (head[i] < '0' || head[i] > '9')
			return 0;
		status = status * 10 + (unsigned int)(head[i] - '0');
	}
	return status >= 100 && (head[3] == ' ' || head[3] == '\r' || !head[3]) ? status : 0;
}

/* Status and length out of the head; *ret_length is SIZE_MAX when the close ends the body. */
static int parse_head(char *head, unsigned int *ret_status, size_t *ret_length)
{
	const unsigned int status = parse_status(head);
	const char *length;
	char *end;

	if (!status)
		return -EPROTO;
	/* the agent never sends chunks; taking them for a body would be worse than refusing */
	if (find_header(head, "Transfer-Encoding"))
		return -EPROTO;
	*ret_length = SIZE_MAX;
	length = find_header(head, "Content-Length");
	if (length) {
		unsigned long long value = strtoull(length, &end, 10);

		if (*length < '0' || *length > '9' || (*end != '\r' && *end))
			return -EPROTO;
		if (value > CLIENT_MAX_ANSWER)
			return -EFBIG;
		*ret_length = (size_t)value;
	}
	*ret_status = status;
	return 0;
}

/*
 * The peer closed early. An agent does so at its own deadline, which a busy machine may reach; another
 * program would have begun its answer in another way.
 */
static int closed_early(const struct text *received)
{
	static const char first[] = "HTTP/1.";
	const size_t len = received->len < sizeof(first) - 1 ? received->len : sizeof(first) - 1;

	return len && memcmp(received->data, first, len) ? -EPROTO : -ECONNRESET;
}

static int read_head(int fd, struct text *text, int64_t deadline_ms, char **ret_body)
{
	for (;;) {
		ssize_t n = receive(fd, text, deadline_ms);
		char *end = text->len ? memmem(text->data, text->len, "\r\n\r\n", 4) : NULL;

		if (n < 0)
			return (int)n;
		if (end) {
			*end = '\0';
			*ret_body = end + 4;
			return 0;
		}
		if (!n)
			return closed_early(text);
		if (text->len > MAX_HEAD)
			return -EPROTO;
	}
}

static int read_answer(int fd, int64_t deadline_ms, struct answer_text *answer)
{
	struct text received cleanup_text = {0};
	size_t length = 0;
	ssize_t n;
	char *body = NULL;
	int r;

	r = read_head(fd, &received, deadline_ms, &body);
	if (r)
		return r;
	r = parse_head(received.data, &answer->status, &length);
	if (r)
		return r;
	text_append_len(&answer->body, body, received.len - (size_t)(body - received.data));
	while (!answer->body.error && answer->body.len < length) {
		n = receive(fd, &answer->body, deadline_ms);
		if (n < 0)
			return (int)n;
		if (answer->body.len > CLIENT_MAX_ANSWER)
			return -EFBIG;
		if (!n)
			return length == SIZE_MAX ? 0 : -ECONNRESET;
	}
	if (answer->body.error)
		return answer->body.error;
	return answer->body.len > length ? -EPROTO : 0;
}

int client_ask(const char *socket, const char *path, const char *body,
	       struct answer_text *ret_answer)
{
	const int64_t deadline_ms = clock_ms() + CLIENT_TIMEOUT_S * 1000;
	struct answer_text answer cleanup_answer = {0};
	struct text request cleanup_text = {0};
	int fd cleanup_close = -1;
	int r;

	text_printf(&request, "%s %s HTTP/1.1\r\nHost: pinfold\r\nConnection: close\r\n",
		    body ? "POST" : "GET", path);
	if (body)
		text_printf(&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			    strlen(body));
	text_printf(&request, "\r\n%s", body ? body : "");
	if (request.error)
		return request.error;
	r = connect_to(socket, deadline_ms, &fd);
	if (r)
		return r;
	r = send_all(fd, request.data, request.len, deadline_ms);
	/* refused before all was sent: the answer says why */
	if (r && r != -EPIPE)
		return r;
	r = read_answer(fd, deadline_ms, &answer);
	if (r)
		return r;
	*ret_answer = answer;
	answer = (struct answer_text){0};
	return 0;
}
