// SPDX-License-Identifier: Apache-2.0
/*
 * What a session sends, and the error that ends it: every message to the runtime leaves
 * through here, so that it is known when an answer has left.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/text.h"
#include "nri/encode.h"
#include "nri/session_private.h"

int nri_session_fail(struct nri_session *session, int err, const char *format, ...)
{
	va_list args;

	if (session->error)
		return session->error;
	session->error = err;
	va_start(args, format);
	vsnprintf(session->text, sizeof(session->text), format, args);
	va_end(args);
	/* It may quote the runtime. */
	text_make_printable(session->text);
	return err;
}

int nri_session_fail_unpack(struct nri_session *session, const struct method *method)
{
	return nri_session_fail(session, -EBADMSG, "%s cannot be decoded", method->name);
}

static int send_message(struct nri_session *session, enum nri_connection connection,
			enum nri_message_type type, uint32_t stream, ProtobufCBinaryData bytes)
{
	const struct nri_message message = {connection, stream, (uint8_t)type, bytes.data,
					    bytes.len};
	size_t before = session->output.end - session->output.start;
	int err = nri_output_add(&session->output, &message);

	if (err)
		return err;
	session->queued += session->output.end - session->output.start - before;
	return 0;
}

int nri_session_respond(struct nri_session *session, struct nri_pending *pending,
			ProtobufCBinaryData bytes)
{
	int err = send_message(session, NRI_CONNECTION_PLUGIN, NRI_MESSAGE_RESPONSE,
			       pending->stream, bytes);

	if (err)
		return err;
	pending->is_answered = true;
	pending->answer_end = session->queued;
	return 0;
}

int nri_session_request(struct nri_session *session, const char *method,
			ProtobufCBinaryData payload, struct nri_memory *memory,
			uint32_t *ret_stream)
{
	ProtobufCBinaryData bytes = {0};
	int err = nri_encode_request(RUNTIME_SERVICE, method, payload, memory, &bytes);

	if (!err)
		err = send_message(session, NRI_CONNECTION_RUNTIME, NRI_MESSAGE_REQUEST,
				   session->next_stream, bytes);
	if (err)
		return err;
	*ret_stream = session->next_stream;
	session->next_stream += 2;
	return 0;
}

int nri_session_succeed(struct nri_session *session, const struct incoming *incoming,
			ProtobufCBinaryData payload)
{
	ProtobufCBinaryData bytes = {0};
	int err = nri_encode_success(payload, &session->memory, &bytes);

	if (!err)
		err = nri_session_respond(session, incoming->pending, bytes);
	return err ? nri_session_fail(session, err, "cannot queue an answer: %s", strerror(-err))
		   : 0;
}

int nri_session_succeed_with(struct nri_session *session, const struct incoming *incoming,
			     const ProtobufCMessage *message)
{
	ProtobufCBinaryData payload = {0};
	int err = nri_encode(message, &session->memory, &payload);

	return err ? nri_session_fail(session, err, "cannot encode an answer: %s", strerror(-err))
		   : nri_session_succeed(session, incoming, payload);
}

int nri_session_reject(struct nri_session *session, const struct incoming *incoming,
		       const char *what, const char *name)
{
	ProtobufCBinaryData bytes = {0};
	char text[NRI_SESSION_TEXT_MAX];
	int err;

	snprintf(text, sizeof(text), "%s %s is not implemented", what, name);
	err = nri_encode_failure(CODE_UNIMPLEMENTED, text, &session->memory, &bytes);
	if (!err)
		err = nri_session_respond(session, incoming->pending, bytes);
	return err ? nri_session_fail(session, err, "cannot queue an answer: %s", strerror(-err))
		   : 0;
}
