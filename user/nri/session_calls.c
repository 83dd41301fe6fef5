// SPDX-License-Identifier: Apache-2.0
/*
 * What a runtime sends: its calls in their order, with a table of the methods, and its
 * responses to our calls. An error of decoding ends the session instead of becoming a status
 * in an answer: a status would make the creation of a container fail.
 */
#include <inttypes.h>
#include <string.h>

#include "nri/decode.h"
#include "nri/known.h"
#include "nri/session_private.h"

/* A Synchronize that came in pieces: those before the last one. */
struct piece {
	struct piece *next;
	const Nri__SynchronizeRequest *message;
};

static int handle_configure(struct nri_session *session, const struct method *method,
			    const struct incoming *incoming)
{
	const Nri__ConfigureRequest *message = nri_session_unpack(
		&nri__configure_request__descriptor, incoming->payload, &session->memory);
	Nri__ConfigureResponse response = NRI__CONFIGURE_RESPONSE__INIT;
	struct nri_runtime runtime;

	if (!message)
		return nri_session_fail_unpack(session, method);
	if (session->is_configured)
		return nri_session_fail(session, -EPROTO, "the runtime sent Configure twice");
	nri_decode_runtime(message, &runtime);
	session->is_configured = true;
	session->has_update_fix = nri_version_is_least(runtime.nri_version, 0, 12, 1);
	response.events = (int32_t)session->callbacks->configure(session->data, &runtime);
	return nri_session_succeed_with(session, incoming, &response.base);
}

static void forget_pieces(struct nri_session *session)
{
	session->pieces = NULL;
	nri_memory_clear(&session->snapshot_memory);
}

/* Decode the pieces in the order in which they came. */
static int decode_snapshot(struct nri_session *session, struct nri_snapshot *ret_snapshot)
{
	struct nri_memory *memory = &session->snapshot_memory;
	size_t nr_pods = 0, nr_containers = 0;
	struct nri_container *containers;
	struct nri_pod *pods;
	int err = 0;

	for (const struct piece *piece = session->pieces; piece; piece = piece->next) {
		nr_pods += piece->message->n_pods;
		nr_containers += piece->message->n_containers;
	}
	pods = nri_memory_array(memory, nr_pods, sizeof(*pods));
	containers = nri_memory_array(memory, nr_containers, sizeof(*containers));
	if (!pods || !containers)
		return -ENOMEM;
	*ret_snapshot = (struct nri_snapshot){pods, nr_pods, containers, nr_containers};
	for (const struct piece *piece = session->pieces; piece; piece = piece->next) {
		nr_pods -= piece->message->n_pods;
		nr_containers -= piece->message->n_containers;
		for (size_t i = 0; !err && i < piece->message->n_pods; i++)
			err = nri_decode_pod(piece->message->pods[i], memory, &pods[nr_pods + i]);
		for (size_t i = 0; !err && i < piece->message->n_containers; i++)
			err = nri_decode_container(piece->message->containers[i], memory,
						   &containers[nr_containers + i]);
	}
	return err;
}

static int finish_synchronize(struct nri_session *session, const struct incoming *incoming)
{
	struct nri_snapshot snapshot;
	int err = decode_snapshot(session, &snapshot);

	if (err)
		return nri_session_fail(session, err,
					"no memory for the pods and containers of Synchronize");
	incoming->pending->kind = NRI_REQUEST_SYNCHRONIZE;
	session->callbacks->synchronize(session->data, incoming->pending->stream, &snapshot);
	forget_pieces(session);
	return 0;
}

static int handle_synchronize(struct nri_session *session, const struct method *method,
			      const struct incoming *incoming)
{
	struct nri_memory *memory = &session->snapshot_memory;
	Nri__SynchronizeResponse response = NRI__SYNCHRONIZE_RESPONSE__INIT;
	ProtobufCBinaryData bytes = incoming->payload;
	const Nri__SynchronizeRequest *message;
	struct piece *piece;

	if (nri_pendings_has(&session->pendings, NRI_REQUEST_SYNCHRONIZE))
		return nri_session_fail(session, -EPROTO, "the runtime sent Synchronize twice");
	bytes.len = nri_known_keep(&nri__synchronize_request__descriptor, session->pair_prefix,
				   bytes.data, bytes.len);
	piece = nri_memory_array(memory, 1, sizeof(*piece));
	message = piece ? nri_session_unpack(&nri__synchronize_request__descriptor, bytes, memory)
			: NULL;
	if (!message)
		return nri_session_fail_unpack(session, method);
	*piece = (struct piece){session->pieces, message};
	session->pieces = piece;
	if (!message->more)
		return finish_synchronize(session, incoming);
	/* Anything else makes the runtime drop the plugin. */
	response.more = true;
	return nri_session_succeed_with(session, incoming, &response.base);
}

static int handle_shutdown(struct nri_session *session, const struct method *method,
			   const struct incoming *incoming)
{
	session->is_shut_down = true;
	return nri_session_succeed(session, incoming, (ProtobufCBinaryData){0});
}

/* Nobody subscribes to it; but a validator that fails would stop every creation. */
static int handle_validate(struct nri_session *session, const struct method *method,
			   const struct incoming *incoming)
{
	return nri_session_succeed(session, incoming, (ProtobufCBinaryData){0});
}

static const struct method methods[] = {
	{"Configure", handle_configure, 0},
	{"Synchronize", handle_synchronize, 0},
	{"Shutdown", handle_shutdown, 0},
	{"CreateContainer", nri_session_question, NRI_EVENT_CREATE_CONTAINER},
	{"UpdateContainer", nri_session_question, NRI_EVENT_UPDATE_CONTAINER},
	{"StopContainer", nri_session_question, NRI_EVENT_STOP_CONTAINER},
	{"StateChange", nri_session_state_change, 0},
	{"UpdatePodSandbox", nri_session_pod_event, NRI_EVENT_UPDATE_POD},
	{"ValidateContainerAdjustment", handle_validate, 0},
	/* since 0.12, each instead of a StateChange; a runtime returns to StateChange where
	 * one of them is not implemented */
	{"RunPodSandbox", nri_session_pod_event, NRI_EVENT_RUN_POD},
	{"PostUpdatePodSandbox", nri_session_pod_event, NRI_EVENT_POST_UPDATE_POD},
	{"StopPodSandbox", nri_session_pod_event, NRI_EVENT_STOP_POD},
	{"RemovePodSandbox", nri_session_pod_event, NRI_EVENT_REMOVE_POD},
	{"PostCreateContainer", nri_session_container_event, NRI_EVENT_POST_CREATE_CONTAINER},
	{"StartContainer", nri_session_container_event, NRI_EVENT_START_CONTAINER},
	{"PostStartContainer", nri_session_container_event, NRI_EVENT_POST_START_CONTAINER},
	{"PostUpdateContainer", nri_session_container_event, NRI_EVENT_POST_UPDATE_CONTAINER},
	{"RemoveContainer", nri_session_container_event, NRI_EVENT_REMOVE_CONTAINER},
};

static const struct method *find_method(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!strcmp(methods[i].name, name))
			return &methods[i];
	}
	return NULL;
}

/* Configure comes first, then Synchronize, then the events. Shutdown may come at any time. */
static int check_order(struct nri_session *session, const struct method *method)
{
	bool is_early = false;

	if (method->handle == handle_synchronize)
		is_early = !session->is_configured;
	else if (method->handle != handle_configure && method->handle != handle_shutdown)
		is_early = !session->is_synchronized;
	return is_early ? nri_session_fail(session, -EPROTO, "the runtime sent %s before %s",
					   method->name,
					   session->is_configured ? "Synchronize" : "Configure")
			: 0;
}

static uint64_t deadline_of(int64_t timeout_ns, uint64_t now_ns)
{
	uint64_t deadline;

	if (!timeout_ns)
		return NRI_NEVER;
	if (timeout_ns < 0)
		return now_ns - 1;
	return __builtin_add_overflow(now_ns, (uint64_t)timeout_ns, &deadline) ? NRI_NEVER
									       : deadline;
}

static int dispatch(struct nri_session *session, const Nri__Request *request,
		    const struct incoming *incoming)
{
	const struct method *method = find_method(request->method);
	int err;

	if (strcmp(request->service, PLUGIN_SERVICE) != 0)
		return nri_session_reject(session, incoming, "service", request->service);
	if (!method)
		return nri_session_reject(session, incoming, "method", request->method);
	err = check_order(session, method);
	return err ? err : method->handle(session, method, incoming);
}

/* The ids of a client are odd and increase, with gaps where a request could not be sent. */
static int handle_request(struct nri_session *session, const struct nri_message *message,
			  uint64_t now_ns)
{
	const ProtobufCBinaryData bytes = {message->len, (uint8_t *)(uintptr_t)message->data};
	const Nri__Request *request;
	struct incoming incoming;

	if (message->stream % 2 == 0 || message->stream <= session->last_stream)
		return nri_session_fail(session, -EPROTO,
					"stream %" PRIu32 " follows stream %" PRIu32,
					message->stream, session->last_stream);
	session->last_stream = message->stream;
	request = nri_session_unpack(&nri__request__descriptor, bytes, &session->memory);
	if (!request)
		return nri_session_fail(session, -EBADMSG, "a request cannot be decoded");
	incoming.payload = request->payload;
	incoming.pending = nri_pendings_add(
		&session->pendings, message->stream,
		deadline_of(request->timeout_nano,
			    session->is_synchronized ? now_ns : session->drained_ns));
	if (!incoming.pending)
		return nri_session_fail(
			session, -EPROTO,
			"the runtime has sent %d requests without reading the answers",
			NRI_PENDING_MAX);
	return dispatch(session, request, &incoming);
}

/* --- what the runtime answers --------------------------------------------------------------- */

static int handle_registration(struct nri_session *session, const Nri__Response *response)
{
	if (response->status && response->status->code)
		return nri_session_fail(session, -EACCES,
					"the runtime refused the registration: %s",
					response->status->message);
	session->is_registered = true;
	return 0;
}

static int handle_updated(struct nri_session *session, const Nri__Response *response)
{
	const Nri__UpdateContainersResponse *message = nri_session_unpack(
		&nri__update_containers_response__descriptor, response->payload, &session->memory);
	int32_t code = response->status ? response->status->code : 0;
	const char *text = response->status ? response->status->message : "";

	if (!message)
		return nri_session_fail(session, -EBADMSG,
					"the answer to UpdateContainers cannot be decoded");
	if (!code && message->n_failed) {
		code = CODE_UNKNOWN;
		text = "the runtime could not update some containers";
	}
	session->update_stream = 0;
	session->callbacks->updated(session->data, code, text);
	return 0;
}

static int handle_response(struct nri_session *session, const struct nri_message *message)
{
	const ProtobufCBinaryData bytes = {message->len, (uint8_t *)(uintptr_t)message->data};
	const Nri__Response *response;

	/* It may answer a call that has ended already. */
	if (message->stream != REGISTRATION_STREAM &&
	    (!session->update_stream || message->stream != session->update_stream))
		return 0;
	response = nri_session_unpack(&nri__response__descriptor, bytes, &session->memory);
	if (!response)
		return nri_session_fail(session, -EBADMSG, "a response cannot be decoded");
	return message->stream == REGISTRATION_STREAM ? handle_registration(session, response)
						      : handle_updated(session, response);
}

int nri_session_handle(struct nri_session *session, const struct nri_message *message,
		       uint64_t now_ns)
{
	int err = 0;

	/* Other types are not used by NRI, and each side is a client on its own connection. */
	if (message->connection == NRI_CONNECTION_PLUGIN && message->type == NRI_MESSAGE_REQUEST)
		err = handle_request(session, message, now_ns);
	else if (message->connection == NRI_CONNECTION_RUNTIME &&
		 message->type == NRI_MESSAGE_RESPONSE)
		err = handle_response(session, message);
	nri_memory_clear(&session->memory);
	return err;
}
