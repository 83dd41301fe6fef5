// SPDX-License-Identifier: Apache-2.0
/* Facts from the running agent, and files of the user's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pinfold/names.h>

#include "clock.h"
#include "inspect.h"
#include "lib/file.h"

#define HTTP_NOT_YET 503

char *source_path(const struct session *session, const char *path)
{
	char *joined;

	if (!session->options.root)
		return strdup(path);
	return asprintf(&joined, "%s%s", session->options.root, path) < 0 ? NULL : joined;
}

char *source_socket(const struct session *session)
{
	if (session->options.socket)
		return strdup(session->options.socket);
	return source_path(session, PINFOLD_RUNTIME_DIR "/" PINFOLD_SOCKET_FILE);
}

static int report_read(struct session *session, const char *file, size_t max_bytes, int error)
{
	switch (error) {
	case -EFBIG:
		return out_fail(session, STATUS_INPUT, "%s: larger than %zu bytes", file,
				max_bytes);
	case -EACCES:
	case -EPERM:
		return out_fail(session, STATUS_PERMISSION, "%s: %s; run as root", file,
				strerror(-error));
	case -ENOMEM:
		return out_no_memory(session);
	default:
		return out_fail(session, STATUS_INPUT, "%s: %s", file, strerror(-error));
	}
}

static int read_whole(int fd, size_t max_bytes, struct text *text)
{
	char buffer[16 * 1024];
	ssize_t n;

	for (;;) {
		n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : text->error;
		text_append_len(text, buffer, (size_t)n);
		if (text->len > max_bytes)
			return -EFBIG;
	}
}

int source_read(struct session *session, const char *file, size_t max_bytes, char **ret_data,
		size_t *ret_len)
{
	struct text text cleanup_text = {0};
	int fd cleanup_close = -1;
	int r;

	/* whoever calls may name a link or a pipe; only the agent must mistrust them */
	fd = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	r = fd < 0 ? -errno : read_whole(fd, max_bytes, &text);
	if (!r) {
		*ret_len = text.len;
		r = text_take(&text, ret_data);
	}
	return r ? report_read(session, file, max_bytes, r) : STATUS_DONE;
}

/* Strict JSON, whole and nothing behind it; NULL with *ret_error set on failure. */
static struct json_object *parse_answer(const struct text *body, const char **ret_error)
{
	struct json_tokener *tokener = json_tokener_new_ex(32);
	struct json_object *json = NULL;
	enum json_tokener_error error;

	*ret_error = NULL;
	if (!tokener) {
		*ret_error = "out of memory";
		return NULL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	json = json_tokener_parse_ex(tokener, body->data ? body->data : "", (int)body->len + 1);
	error = json_tokener_get_error(tokener);
	if (error != json_tokener_success) {
		*ret_error = json_tokener_error_desc(error);
		json_object_put(json);
		json = NULL;
	}
	json_tokener_free(tokener);
	return json;
}

/* The sentence of an answer that says no, "" = it has none; lives as long as `json`. */
static const char *sentence_of(struct json_object *json)
{
	struct view_error row;

	object_read(&view_error_desc, json, &row);
	return row.error ? row.error : "";
}

/* The agent said no: its own sentence, and the exit code that belongs to its status. */
static int report_refusal(struct session *session, const char *path, unsigned int http_status,
			  struct json_object *json)
{
	const char *sentence = sentence_of(json);

	if (*sentence)
		return out_fail(session, client_status(http_status), "%s", sentence);
	return out_fail(session, client_status(http_status),
			"the agent answered %s with HTTP "
			"status %u",
			path, http_status);
}

static bool is_absent(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -ENOTDIR;
}

static int report_unreachable(struct session *session, const char *socket, int error)
{
	if (error == -EACCES || error == -EPERM)
		return out_fail(session, STATUS_PERMISSION,
				"cannot connect to the agent's socket %s: %s; run as root", socket,
				strerror(-error));
	if (is_absent(error))
		return out_fail(session, STATUS_UNREACHABLE,
				"no agent listens on %s (%s); start pinfoldd, or name another "
				"socket with --socket",
				socket, strerror(-error));
	if (error == -EPROTO || error == -EFBIG)
		return out_fail(session, STATUS_FAILED,
				"the program that listens on %s is not a pinfold agent (%s)",
				socket, strerror(-error));
	if (error == -ENOMEM)
		return out_no_memory(session);
	if (error == -ETIMEDOUT)
		return out_fail(session, STATUS_UNREACHABLE,
				"the agent on %s did not answer within %d s; try again, and see "
				"whether the machine is overloaded",
				socket, CLIENT_TIMEOUT_S);
	if (error == -ECONNRESET)
		return out_fail(session, STATUS_UNREACHABLE,
				"the agent on %s closed the connection before its answer was "
				"complete, as it does when it could not answer in time; try again, "
				"and see whether the machine is overloaded",
				socket);
	return out_fail(session, STATUS_UNREACHABLE, "the agent on %s does not answer: %s", socket,
			strerror(-error));
}

/*
 * The agent cannot do it yet. Most of the time it has waited itself before it said so; where
 * it answers at once it is not asked without pause.
 */
static void ask_later(unsigned int nr_tries)
{
	unsigned int delay_ms = nr_tries < 4 ? 100U << nr_tries : 1000;
	const struct timespec delay = {delay_ms / 1000, delay_ms % 1000 * 1000000L};

	nanosleep(&delay, NULL);
}

/*
 * 0 and JSON; a negative errno not yet reported; a positive enum status, reported. What the
 * agent cannot do yet is asked again while `wait_s` seconds last, and so is an agent that
 * does not answer in time: it is as late as the kernel that it waits for. Asking twice for
 * the same does no harm.
 */
static int ask(struct session *session, const char *socket, const char *path, const char *body,
	       unsigned int wait_s, struct json_object **ret_json)
{
	const int64_t deadline_ms = clock_ms() + (int64_t)wait_s * 1000;
	struct answer_text answer cleanup_answer = {0};
	struct json_object *json cleanup_json = NULL;
	const char *error;
	int r;

	for (unsigned int nr_tries = 0;; nr_tries++) {
		r = client_ask(socket, path, body, &answer);
		if (r && ((r != -ETIMEDOUT && r != -ECONNRESET) || clock_ms() >= deadline_ms))
			return r;
		if (!r) {
			json = parse_answer(&answer.body, &error);
			if (answer.status != HTTP_NOT_YET || clock_ms() >= deadline_ms)
				break;
		}
		if (!nr_tries)
			out_note("%s; trying again for up to %u s",
				 r ? "the agent does not answer" : sentence_of(json), wait_s);
		json_object_put(TAKE_PTR(json));
		answer_fini(&answer);
		answer = (struct answer_text){0};
		ask_later(nr_tries);
	}
	if (answer.status == HTTP_NOT_YET && wait_s)
		return out_fail(session, client_status(answer.status),
				"%s; pinfold gave up after %u s; use --wait to wait longer",
				sentence_of(json), wait_s);
	if (answer.status >= 300)
		return report_refusal(session, path, answer.status, json);
	if (error)
		return out_fail(session, STATUS_FAILED,
				"the agent's answer to %s is not valid "
				"JSON: %s",
				path, error);
	*ret_json = TAKE_PTR(json);
	return 0;
}

int source_ask(struct session *session, const char *path, const char *body,
	       struct json_object **ret_json)
{
	return source_ask_until(session, path, body, 0, ret_json);
}

int source_ask_until(struct session *session, const char *path, const char *body,
		     unsigned int wait_s, struct json_object **ret_json)
{
	char *socket cleanup_free = source_socket(session);
	int r;

	if (!socket)
		return out_no_memory(session);
	r = ask(session, socket, path, body, wait_s, ret_json);
	return r < 0 ? report_unreachable(session, socket, r) : r;
}

int source_ask_text(struct session *session, const char *path, struct answer_text *ret_answer)
{
	char *socket cleanup_free = source_socket(session);
	struct answer_text answer cleanup_answer = {0};
	struct json_object *json cleanup_json = NULL;
	const char *error;
	int r;

	if (!socket)
		return out_no_memory(session);
	r = client_ask(socket, path, NULL, &answer);
	if (r)
		return report_unreachable(session, socket, r);
	if (answer.status >= 300) {
		json = parse_answer(&answer.body, &error);
		return report_refusal(session, path, answer.status, json);
	}
	*ret_answer = answer;
	answer = (struct answer_text){0};
	return STATUS_DONE;
}

int source_poll(const struct session *session, const char *path, struct json_object **ret_json)
{
	char *socket cleanup_free = source_socket(session);
	struct answer_text answer cleanup_answer = {0};
	struct json_object *json cleanup_json = NULL;
	const char *error;
	int r;

	if (!socket)
		return -ENOMEM;
	r = client_ask(socket, path, NULL, &answer);
	if (r)
		return r;
	if (answer.status >= 300)
		return answer.status == HTTP_NOT_YET ? -EAGAIN : -EPROTO;
	json = parse_answer(&answer.body, &error);
	if (!json_object_is_type(json, json_type_array))
		return -EPROTO;
	*ret_json = TAKE_PTR(json);
	return 0;
}

int source_try(struct session *session, const char *noun, struct json_object **ret_json)
{
	char *socket cleanup_free = source_socket(session);
	struct answer_text answer cleanup_answer = {0};
	struct json_object *json = NULL;
	const char *error;
	char path[64];

	if (!socket)
		return out_no_memory(session);
	*ret_json = NULL;
	snprintf(path, sizeof(path), "/v1/%s", noun);
	if (client_ask(socket, path, NULL, &answer))
		return STATUS_DONE;
	if (answer.status < 300)
		json = parse_answer(&answer.body, &error);
	if (json_object_is_type(json,
				view_find(noun)->is_list ? json_type_array : json_type_object))
		*ret_json = json;
	else
		json_object_put(json);
	return STATUS_DONE;
}

int source_add(struct session *session, const char *noun, struct json_object **ret_json)
{
	*ret_json = NULL;
	return session->options.given ? STATUS_DONE : source_try(session, noun, ret_json);
}

int source_ask_noun(struct session *session, const char *noun, struct json_object **ret_json)
{
	const enum json_type wanted = view_find(noun)->is_list ? json_type_array : json_type_object;
	char *socket cleanup_free = source_socket(session);
	struct json_object *json cleanup_json = NULL;
	char path[64];
	int r;

	if (!socket)
		return out_no_memory(session);
	snprintf(path, sizeof(path), "/v1/%s", noun);
	r = ask(session, socket, path, NULL, 0, &json);
	if (r < 0 && is_absent(r)) {
		*ret_json = NULL;
		return STATUS_DONE;
	}
	if (r < 0)
		return report_unreachable(session, socket, r);
	if (r)
		return r;
	/* json-c ends the process when an array is asked of what is none */
	if (!json_object_is_type(json, wanted))
		return out_fail(session, STATUS_FAILED,
				"the agent's answer to %s is not a valid "
				"%s",
				path, json_type_to_name(wanted));
	*ret_json = TAKE_PTR(json);
	return STATUS_DONE;
}
