/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers as libmicrohttpd wants them. Each asks the client to close the connection. Those that
 * are sent at once copy what they are given, and return what a handler has to return: MHD_NO,
 * which ends the connection, if there is no memory.
 */
#ifndef SERVE_RESPOND_H
#define SERVE_RESPOND_H

#include <microhttpd.h>
#include <stddef.h>

struct json_object;

/* `type`: the media type of `data`, of `len` bytes. */
enum MHD_Result respond(struct MHD_Connection *connection, unsigned int status, const char *type,
			const char *data, size_t len);
/*
 * *takes* `data`, which is malloc()ed, also if there is no memory for the response (NULL). The caller
 * destroys it.
 */
struct MHD_Response *respond_make_text(const char *type, char *data, size_t len);
/*
 * HTML for a browser, which may do with it what `security_policy` permits, and keep no copy. `data` is
 * not copied: `free_data` is called with `self` when nobody uses the response any more, and also if
 * there is no memory for it (NULL). The caller destroys the response.
 */
struct MHD_Response *respond_make_page(const char *security_policy, const char *data, size_t len,
				       void (*free_data)(void *self), void *self);
/* `object` stays the caller's. */
enum MHD_Result respond_json(struct MHD_Connection *connection, unsigned int status,
			     struct json_object *object);
/* An error object with this sentence, of at most 511 bytes. */
enum MHD_Result respond_error(struct MHD_Connection *connection, unsigned int status,
			      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* 405, with the methods that are allowed (RFC 9110, section 15.5.6). */
enum MHD_Result respond_method(struct MHD_Connection *connection, const char *method,
			       const char *allowed);

#endif
