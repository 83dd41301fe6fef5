// SPDX-License-Identifier: Apache-2.0
#include "serve/respond.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "format/views.h"
#include "lib/cleanup.h"
#include "lib/json.h"

static void free_response(struct MHD_Response **response)
{
	if (*response)
		MHD_destroy_response(*response);
}
#define cleanup_response cleanup(free_response)

static void add_common_headers(struct MHD_Response *response, const char *type)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* A connection kept for a next request would hold a place that somebody else needs. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static struct MHD_Response *make_response(const char *type, const char *data, size_t len)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		len, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY);

	if (response)
		add_common_headers(response, type);
	return response;
}

enum MHD_Result respond(struct MHD_Connection *connection, unsigned int status, const char *type,
			const char *data, size_t len)
{
	struct MHD_Response *response cleanup_response = make_response(type, data, len);

	return response ? MHD_queue_response(connection, status, response) : MHD_NO;
}

struct MHD_Response *respond_make_text(const char *type, char *data, size_t len)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);

	if (response)
		add_common_headers(response, type);
	else
		free(data);
	return response;
}

struct MHD_Response *respond_make_page(const char *security_policy, const char *data, size_t len,
				       void (*free_data)(void *self), void *self)
{
	struct MHD_Response *response cleanup_response =
		MHD_create_response_from_buffer_with_free_callback_cls(len, (void *)(uintptr_t)data,
								       free_data, self);

	if (!response) {
		free_data(self);
		return NULL;
	}
	add_common_headers(response, "text/html; charset=utf-8");
	/* A page without its policy must not be served. */
	if (MHD_add_response_header(response, "Content-Security-Policy", security_policy) !=
		    MHD_YES ||
	    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") != MHD_YES ||
	    MHD_add_response_header(response, "Referrer-Policy", "no-referrer") != MHD_YES ||
	    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin") !=
		    MHD_YES ||
	    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") != MHD_YES)
		return NULL;
	return TAKE_PTR(response);
}

enum MHD_Result respond_method(struct MHD_Connection *connection, const char *method,
			       const char *allowed)
{
	char message[64];
	struct MHD_Response *response cleanup_response = NULL;
	struct json_object *body cleanup_json = NULL;
	const char *text;

	snprintf(message, sizeof(message), "%.16s is not supported: use %s", method, allowed);
	body = view_error(message);
	text = json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN);
	response = make_response("application/json", text, strlen(text));
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
	return MHD_queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, response);
}

enum MHD_Result respond_json(struct MHD_Connection *connection, unsigned int status,
			     struct json_object *object)
{
	const char *text = json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	return respond(connection, status, "application/json", text, strlen(text));
}

enum MHD_Result respond_error(struct MHD_Connection *connection, unsigned int status,
			      const char *format, ...)
{
	struct json_object *body cleanup_json = NULL;
	char message[512];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	body = view_error(message);
	return respond_json(connection, status, body);
}
