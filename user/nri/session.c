// SPDX-License-Identifier: Apache-2.0
/*
 * A session from its registration to its end: what has come and what has left, its
 * deadlines, and the answers and updates of its user.
 */
#include "nri/session.h"

#include <stdlib.h>
#include <string.h>

#include "nri/encode.h"
#include "nri/session_private.h"

/* The first Synchronize was answered, and the registration too; in either order. */
static bool has_started(const struct nri_session *session)
{
	return session->is_registered && session->is_synchronized;
}

static int queue_registration(struct nri_session *session, const struct nri_options *options)
{
	Nri__RegisterPluginRequest request = NRI__REGISTER_PLUGIN_REQUEST__INIT;
	ProtobufCBinaryData payload = {0};
	uint32_t stream;
	int err;

	request.plugin_name = (char *)(uintptr_t)options->name;
	request.plugin_idx = (char *)(uintptr_t)options->index;
	request.nri_version = (char *)(uintptr_t)options->nri_version;
	err = nri_encode(&request.base, &session->memory, &payload);
	if (!err)
		err = nri_session_request(session, "RegisterPlugin", payload, &session->memory,
					  &stream);
	return err;
}

int nri_session_new(const struct nri_options *options, const struct nri_callbacks *callbacks,
		    void *data, uint64_t now_ns, struct nri_session **ret_session)
{
	struct nri_session *session cleanup_nri_session = calloc(1, sizeof(*session));
	int err;

	if (!session)
		return -ENOMEM;
	session->callbacks = callbacks;
	session->data = data;
	session->update_always = options->update_always;
	session->pair_prefix = options->pair_prefix;
	session->start_deadline_ns = now_ns + NRI_START_LIMIT_NS;
	session->looked_ns = session->drained_ns = now_ns;
	session->next_stream = REGISTRATION_STREAM;
	nri_memory_init(&session->memory, NRI_REQUEST_MEMORY);
	nri_memory_init(&session->snapshot_memory, NRI_REQUEST_MEMORY);
	err = queue_registration(session, options);
	if (err)
		return err;
	*ret_session = TAKE_PTR(session);
	return 0;
}

void nri_session_free(struct nri_session *session)
{
	if (!session)
		return;
	nri_reader_fini(&session->reader);
	nri_output_fini(&session->output);
	nri_pendings_fini(&session->pendings);
	nri_memory_clear(&session->memory);
	nri_memory_clear(&session->snapshot_memory);
	free(session);
}

int nri_session_receive(struct nri_session *session, const void *bytes, size_t len, uint64_t now_ns)
{
	const uint8_t *data = bytes;
	struct nri_message message;
	int err = session->error;

	/* After Shutdown only its answer is left to do. */
	while (!err && !session->is_shut_down) {
		int found = nri_reader_next(&session->reader, &data, &len, &message);

		if (found < 0)
			return nri_session_fail(session, found, "cannot read from the runtime: %s",
						strerror(-found));
		if (!found)
			break;
		err = nri_session_handle(session, &message, now_ns);
	}
	return err;
}

/* Of a message that has come in part, the runtime's time may have begun before. */
void nri_session_drained(struct nri_session *session, uint64_t now_ns)
{
	session->looked_ns = now_ns;
	if (!nri_reader_is_amid(&session->reader))
		session->drained_ns = now_ns;
}

int nri_session_end_of_input(struct nri_session *session)
{
	if (nri_reader_is_amid(&session->reader))
		return nri_session_fail(session, -ECONNRESET,
					"the runtime closed the connection within a message");
	/* It does so on a mask with an event that it does not know. */
	return nri_session_fail(session, -ECONNRESET, "the runtime closed the connection%s",
				session->is_synchronized ? ""
							 : " before the plugin was synchronized");
}

int nri_session_check(struct nri_session *session, uint64_t now_ns)
{
	if (now_ns > nri_pendings_deadline(&session->pendings))
		return nri_session_fail(session, -ETIMEDOUT,
					"an answer was not sent before the runtime's timeout");
	if (session->update_stream && now_ns > session->update_deadline_ns)
		return nri_session_fail(session, -ETIMEDOUT,
					"the runtime did not answer UpdateContainers");
	if (!has_started(session) && now_ns > session->start_deadline_ns)
		return nri_session_fail(session, -ETIMEDOUT, "the runtime did not %s",
					session->is_configured ? "synchronize the plugin"
							       : "configure the plugin");
	return session->error;
}

int nri_session_sent(struct nri_session *session, size_t len, uint64_t now_ns)
{
	nri_output_drop(&session->output, len);
	session->sent += len;
	/* before those that have left now are forgotten: they may have left late */
	nri_session_check(session, now_ns);
	nri_pendings_sent(&session->pendings, session->sent);
	if (session->is_shut_down && session->sent == session->queued)
		nri_session_fail(session, -ESHUTDOWN, "the runtime asked the plugin to shut down");
	return session->error;
}

int nri_session_error(const struct nri_session *session, const char **ret_text)
{
	if (ret_text)
		*ret_text = session->text;
	return session->error;
}

const void *nri_session_output(const struct nri_session *session, size_t *ret_len)
{
	const struct nri_output *output = &session->output;

	*ret_len = output->end - output->start;
	return *ret_len ? output->data + output->start : NULL;
}

uint64_t nri_session_deadline(const struct nri_session *session)
{
	uint64_t deadline = nri_pendings_deadline(&session->pendings);

	if (session->error)
		return NRI_NEVER;
	if (!has_started(session) && session->start_deadline_ns < deadline)
		deadline = session->start_deadline_ns;
	if (!has_started(session) && session->looked_ns + NRI_START_LOOK_NS < deadline)
		deadline = session->looked_ns + NRI_START_LOOK_NS;
	if (session->update_stream && session->update_deadline_ns < deadline)
		deadline = session->update_deadline_ns;
	return deadline;
}

bool nri_session_is_ready(const struct nri_session *session)
{
	return has_started(session) && !session->is_shut_down && !session->error;
}

/* --- answers and calls --------------------------------------------------------------------- */

static bool is_fitting(const struct nri_pending *pending, const struct nri_answer *answer)
{
	if (pending->kind == NRI_REQUEST_PLAIN)
		return false;
	/* The runtime only logs a refused stop, and drops a plugin that refuses to synchronize. */
	if (answer->refusal)
		return pending->kind == NRI_REQUEST_CREATE || pending->kind == NRI_REQUEST_UPDATE;
	if (answer->adjustment && pending->kind != NRI_REQUEST_CREATE)
		return false;
	/* To update the container that is being created is an error of the whole creation. */
	for (size_t i = 0; pending->container_id && i < answer->nr_updates; i++) {
		if (!strcmp(answer->updates[i].container_id, pending->container_id))
			return false;
	}
	return true;
}

static int encode_answer(const struct nri_pending *pending, const struct nri_answer *answer,
			 struct nri_memory *memory, ProtobufCBinaryData *ret_bytes)
{
	ProtobufCBinaryData payload = {0};
	int err;

	if (answer->refusal)
		return nri_encode_failure(CODE_FAILED_PRECONDITION, answer->refusal, memory,
					  ret_bytes);
	if (pending->kind == NRI_REQUEST_CREATE)
		err = nri_encode_creation(answer->adjustment, answer->updates, answer->nr_updates,
					  memory, &payload);
	else
		err = nri_encode_updates(answer->updates, answer->nr_updates, memory, &payload);
	return err ? err : nri_encode_success(payload, memory, ret_bytes);
}

int nri_session_answer(struct nri_session *session, uint32_t request,
		       const struct nri_answer *answer)
{
	struct nri_pending *pending = nri_pendings_find(&session->pendings, request);
	struct nri_memory memory cleanup_nri_memory = {0};
	ProtobufCBinaryData bytes = {0};
	int err;

	if (session->error)
		return session->error;
	if (!pending)
		return -ENOENT;
	if (!is_fitting(pending, answer))
		return -EINVAL;
	nri_memory_init(&memory, NRI_REQUEST_MEMORY);
	err = encode_answer(pending, answer, &memory, &bytes);
	if (!err)
		err = nri_session_respond(session, pending, bytes);
	if (!err && pending->kind == NRI_REQUEST_SYNCHRONIZE)
		session->is_synchronized = true;
	return err;
}

int nri_session_update(struct nri_session *session, const struct nri_update *updates,
		       size_t nr_updates, uint64_t now_ns)
{
	struct nri_memory memory cleanup_nri_memory = {0};
	ProtobufCBinaryData payload = {0};
	int err;

	if (!nri_session_is_ready(session))
		return -ENOTCONN;
	if (!session->has_update_fix && !session->update_always)
		return -EOPNOTSUPP;
	if (session->update_stream)
		return -EBUSY;
	nri_memory_init(&memory, NRI_REQUEST_MEMORY);
	err = nri_encode_updates(updates, nr_updates, &memory, &payload);
	if (!err)
		err = nri_session_request(session, "UpdateContainers", payload, &memory,
					  &session->update_stream);
	if (!err)
		session->update_deadline_ns = now_ns + NRI_UPDATE_LIMIT_NS;
	return err;
}
