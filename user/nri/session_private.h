/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of a session and private to them. Each calls only those above it:
 *
 *   session_send.c    what leaves, and the error that ends the session
 *   session_events.c  events and the requests about containers
 *   session_calls.c   the order and the table of the runtime's calls, and its responses
 *   session.c         the session's user
 */
#ifndef NRI_SESSION_PRIVATE_H
#define NRI_SESSION_PRIVATE_H

#include <errno.h>

#include "nri.pb-c.h"
#include "nri/memory.h"
#include "nri/pending.h"
#include "nri/session.h"
#include "nri/wire.h"

#define PLUGIN_SERVICE	"nri.pkg.api.v1alpha1.Plugin"
#define RUNTIME_SERVICE "nri.pkg.api.v1alpha1.Runtime"

/* gRPC's status codes */
#define CODE_UNKNOWN		 2
#define CODE_FAILED_PRECONDITION 9
#define CODE_UNIMPLEMENTED	 12

#define REGISTRATION_STREAM 1U

struct piece;

struct nri_session {
	const struct nri_callbacks *callbacks;
	void *data;
	bool update_always;
	const char *pair_prefix; /* borrowed; NULL = any */

	struct nri_reader reader;
	struct nri_output output;
	uint64_t queued, sent; /* bytes of output since the start */

	bool is_registered, is_configured, is_synchronized, is_shut_down;
	uint64_t start_deadline_ns;
	uint64_t looked_ns;   /* the last nri_session_drained() */
	uint64_t drained_ns;  /* the last one that was not amid a message */
	uint32_t last_stream; /* of the runtime's requests */
	struct nri_pendings pendings;
	struct nri_memory memory; /* of the message that is being handled */
	struct nri_memory snapshot_memory;
	struct piece *pieces; /* of a Synchronize; last one first */
	bool has_update_fix;

	uint32_t next_stream; /* of our requests */
	uint32_t update_stream;
	uint64_t update_deadline_ns;

	int error;
	char text[NRI_SESSION_TEXT_MAX];
};

/* A request of the runtime, out of its envelope. */
struct incoming {
	struct nri_pending *pending;
	ProtobufCBinaryData payload;
};

/* What the runtime calls. A handler answers or fails the session, and returns its error. */
struct method {
	const char *name;
	int (*handle)(struct nri_session *session, const struct method *method,
		      const struct incoming *incoming);
	int event; /* enum nri_event of a method that is one event */
};

/* --- session_send.c ------------------------------------------------------------------------ */

/* The first error ends the session and keeps its text. Returns the session's error. */
__attribute__((format(printf, 3, 4))) int nri_session_fail(struct nri_session *session, int err,
							   const char *format, ...);
int nri_session_fail_unpack(struct nri_session *session, const struct method *method);
/* Queue an answer or a request. An error is returned and is not the session's. */
int nri_session_respond(struct nri_session *session, struct nri_pending *pending,
			ProtobufCBinaryData bytes);
int nri_session_request(struct nri_session *session, const char *method,
			ProtobufCBinaryData payload, struct nri_memory *memory,
			uint32_t *ret_stream);
/* Answer a request that nobody is asked about; an error is the session's. */
int nri_session_succeed(struct nri_session *session, const struct incoming *incoming,
			ProtobufCBinaryData payload);
int nri_session_succeed_with(struct nri_session *session, const struct incoming *incoming,
			     const ProtobufCMessage *message);
int nri_session_reject(struct nri_session *session, const struct incoming *incoming,
		       const char *what, const char *name);

/* NULL also if the message would exceed the memory of a request. */
static inline void *nri_session_unpack(const ProtobufCMessageDescriptor *descriptor,
				       ProtobufCBinaryData bytes, struct nri_memory *memory)
{
	return protobuf_c_message_unpack(descriptor, &memory->allocator, bytes.len, bytes.data);
}

/* --- session_events.c ---------------------------------------------------------------------- */

/* Handlers of methods, see above. */
int nri_session_state_change(struct nri_session *session, const struct method *method,
			     const struct incoming *incoming);
int nri_session_container_event(struct nri_session *session, const struct method *method,
				const struct incoming *incoming);
int nri_session_pod_event(struct nri_session *session, const struct method *method,
			  const struct incoming *incoming);
/* Creation, update and stop of a container, which ask for an answer. */
int nri_session_question(struct nri_session *session, const struct method *method,
			 const struct incoming *incoming);

/* --- session_calls.c ----------------------------------------------------------------------- */

/* A message of the runtime; returns the session's error. */
int nri_session_handle(struct nri_session *session, const struct nri_message *message,
		       uint64_t now_ns);

#endif
