// SPDX-License-Identifier: Apache-2.0
/*
 * The order of a session's messages, and a table of the methods that a runtime calls. An
 * error of decoding ends the session instead of becoming a status in an answer: a status
 * would make the creation of a container fail.
 */
#include "nri/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nri.pb-c.h"
#include "nri/decode.h"
#include "nri/encode.h"
#include "nri/memory.h"
#include "nri/pending.h"
#include "nri/wire.h"

#define PLUGIN_SERVICE	"nri.pkg.api.v1alpha1.Plugin"
#define RUNTIME_SERVICE "nri.pkg.api.v1alpha1.Runtime"

/* gRPC's status codes */
#define CODE_UNKNOWN		 2
#define CODE_FAILED_PRECONDITION 9
#define CODE_UNIMPLEMENTED	 12

#define REGISTRATION_STREAM 1U

/* A Synchronize that came in pieces: those before the last one. */
struct piece {
	struct piece *next;
	const Nri__SynchronizeRequest *message;
};

struct nri_session {
	const struct nri_callbacks *callbacks;
	void *data;
	bool update_always;

	struct nri_reader reader;
	struct nri_output output;
	uint64_t queued, sent; /* bytes of output since the start */

	bool is_registered, is_configured, is_synchronized, is_shut_down;
	uint64_t start_deadline_ns;
	uint32_t last_stream; /* of the runtime's requests */
	struct nri_pendings pendings;
	struct nri_memory memory; /* of the message that is being handled */
	struct nri_memory snapshot_memory;
	struct piece *pieces; /* last one first */
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

__attribute__((format(printf, 3, 4))) static int fail(struct nri_session *session, int err,
						      const char *format, ...)
{
	va_list args;

	if (session->error)
		return session->error;
	session->error = err;
	va_start(args, format);
	vsnprintf(session->text, sizeof(session->text), format, args);
	va_end(args);
	/* It may quote the runtime. */
	for (char *character = session->text; *character; character++) {
		if (*character < ' ' || *character > '~')
			*character = '?';
	}
	return err;
}

/* The first Synchronize was answered, and the registration too; in either order. */
static bool has_started(const struct nri_session *session)
{
	return session->is_registered && session->is_synchronized;
}

/* --- sending ------------------------------------------------------------------------------- */

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

static int send_response(struct nri_session *session, struct nri_pending *pending,
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

static int send_request(struct nri_session *session, const char *method,
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

/* Answer a request that nobody is asked about; an error is the session's. */
static int succeed(struct nri_session *session, const struct incoming *incoming,
		   ProtobufCBinaryData payload)
{
	ProtobufCBinaryData bytes = {0};
	int err = nri_encode_success(payload, &session->memory, &bytes);

	if (!err)
		err = send_response(session, incoming->pending, bytes);
	return err ? fail(session, err, "cannot queue an answer: %s", strerror(-err)) : 0;
}

static int succeed_with(struct nri_session *session, const struct incoming *incoming,
			const ProtobufCMessage *message)
{
	ProtobufCBinaryData payload = {0};
	int err = nri_encode(message, &session->memory, &payload);

	return err ? fail(session, err, "cannot encode an answer: %s", strerror(-err))
		   : succeed(session, incoming, payload);
}

static int reject_call(struct nri_session *session, const struct incoming *incoming,
		       const char *what, const char *name)
{
	ProtobufCBinaryData bytes = {0};
	char text[NRI_SESSION_TEXT_MAX];
	int err;

	snprintf(text, sizeof(text), "%s %s is not implemented", what, name);
	err = nri_encode_failure(CODE_UNIMPLEMENTED, text, &session->memory, &bytes);
	if (!err)
		err = send_response(session, incoming->pending, bytes);
	return err ? fail(session, err, "cannot queue an answer: %s", strerror(-err)) : 0;
}

/* --- what the runtime calls ---------------------------------------------------------------- */

struct method {
	const char *name;
	int (*handle)(struct nri_session *session, const struct method *method,
		      const struct incoming *incoming);
	int event; /* enum nri_event of a method that is one event */
};

/* NULL also if the message would exceed the memory of a request. */
static void *unpack(const ProtobufCMessageDescriptor *descriptor, ProtobufCBinaryData bytes,
		    struct nri_memory *memory)
{
	return protobuf_c_message_unpack(descriptor, &memory->allocator, bytes.len, bytes.data);
}

static int fail_unpack(struct nri_session *session, const struct method *method)
{
	return fail(session, -EBADMSG, "%s cannot be decoded", method->name);
}

static int handle_configure(struct nri_session *session, const struct method *method,
			    const struct incoming *incoming)
{
	const Nri__ConfigureRequest *message =
		unpack(&nri__configure_request__descriptor, incoming->payload, &session->memory);
	Nri__ConfigureResponse response = NRI__CONFIGURE_RESPONSE__INIT;
	struct nri_runtime runtime;

	if (!message)
		return fail_unpack(session, method);
	if (session->is_configured)
		return fail(session, -EPROTO, "the runtime sent Configure twice");
	nri_decode_runtime(message, &runtime);
	session->is_configured = true;
	session->has_update_fix = nri_version_is_least(runtime.nri_version, 0, 12, 1);
	response.events = (int32_t)session->callbacks->configure(session->data, &runtime);
	return succeed_with(session, incoming, &response.base);
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
		return fail(session, err, "no memory for the pods and containers of Synchronize");
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
	const Nri__SynchronizeRequest *message;
	struct piece *piece;

	if (nri_pendings_has(&session->pendings, NRI_REQUEST_SYNCHRONIZE))
		return fail(session, -EPROTO, "the runtime sent Synchronize twice");
	message = unpack(&nri__synchronize_request__descriptor, incoming->payload, memory);
	piece = nri_memory_array(memory, 1, sizeof(*piece));
	if (!message || !piece)
		return fail_unpack(session, method);
	*piece = (struct piece){session->pieces, message};
	session->pieces = piece;
	if (!message->more)
		return finish_synchronize(session, incoming);
	/* Anything else makes the runtime drop the plugin. */
	response.more = true;
	return succeed_with(session, incoming, &response.base);
}

static int handle_shutdown(struct nri_session *session, const struct method *method,
			   const struct incoming *incoming)
{
	session->is_shut_down = true;
	return succeed(session, incoming, (ProtobufCBinaryData){0});
}

/* --- events -------------------------------------------------------------------------------- */

/* The subject of an event, decoded; borrows from the message. */
struct subject {
	struct nri_pod pod;
	struct nri_container container;
};

static int decode_subject(struct nri_session *session, const struct method *method,
			  const Nri__PodSandbox *pod, const Nri__Container *container,
			  struct subject *ret_subject)
{
	int err = nri_decode_pod(pod, &session->memory, &ret_subject->pod);

	if (!err)
		err = nri_decode_container(container, &session->memory, &ret_subject->container);
	return err ? fail(session, err, "no memory for %s", method->name) : 0;
}

static bool is_pod_event(int32_t event)
{
	return event == NRI_EVENT_RUN_POD || event == NRI_EVENT_STOP_POD ||
	       event == NRI_EVENT_REMOVE_POD || event == NRI_EVENT_UPDATE_POD ||
	       event == NRI_EVENT_POST_UPDATE_POD;
}

/* Creation, update and stop have their own requests, in which they ask for an answer. */
static bool is_container_event(int32_t event)
{
	return event == NRI_EVENT_POST_CREATE_CONTAINER || event == NRI_EVENT_START_CONTAINER ||
	       event == NRI_EVENT_POST_START_CONTAINER ||
	       event == NRI_EVENT_POST_UPDATE_CONTAINER || event == NRI_EVENT_REMOVE_CONTAINER;
}

/* Answered first: the runtime waits, and nothing here changes the answer. */
static int report_event(struct nri_session *session, const struct method *method,
			const struct incoming *incoming, int32_t event, const Nri__PodSandbox *pod,
			const Nri__Container *container)
{
	struct subject subject;
	int err = decode_subject(session, method, pod, container, &subject);

	if (err)
		return err;
	if ((is_pod_event(event) && !*subject.pod.id) ||
	    (is_container_event(event) && !*subject.container.id))
		return fail(session, -EBADMSG, "%s has event %" PRId32 " without an id",
			    method->name, event);
	err = succeed(session, incoming, (ProtobufCBinaryData){0});
	if (err)
		return err;
	if (is_pod_event(event))
		session->callbacks->pod_event(session->data, (enum nri_event)event, &subject.pod);
	else if (is_container_event(event))
		session->callbacks->container_event(session->data, (enum nri_event)event,
						    &subject.pod, &subject.container);
	/* Others are newer than this code. */
	return 0;
}

static int handle_state_change(struct nri_session *session, const struct method *method,
			       const struct incoming *incoming)
{
	const Nri__StateChangeEvent *message =
		unpack(&nri__state_change_event__descriptor, incoming->payload, &session->memory);

	return message ? report_event(session, method, incoming, message->event, message->pod,
				      message->container)
		       : fail_unpack(session, method);
}

static int handle_container_event(struct nri_session *session, const struct method *method,
				  const struct incoming *incoming)
{
	const Nri__ContainerEventRequest *message = unpack(
		&nri__container_event_request__descriptor, incoming->payload, &session->memory);

	return message ? report_event(session, method, incoming, method->event, message->pod,
				      message->container)
		       : fail_unpack(session, method);
}

/* Field 2 of UpdatePodSandbox is not a container. */
static int handle_pod_event(struct nri_session *session, const struct method *method,
			    const struct incoming *incoming)
{
	const Nri__PodEventRequest *message =
		unpack(&nri__pod_event_request__descriptor, incoming->payload, &session->memory);

	return message ? report_event(session, method, incoming, method->event, message->pod, NULL)
		       : fail_unpack(session, method);
}

/* The events that ask for an answer. */
static int ask(struct nri_session *session, const struct method *method,
	       const struct incoming *incoming, const Nri__PodSandbox *pod,
	       const Nri__Container *container, const Nri__LinuxResources *resources)
{
	const struct nri_callbacks *callbacks = session->callbacks;
	struct nri_pending *pending = incoming->pending;
	struct nri_resources wanted;
	struct subject subject;
	int err = decode_subject(session, method, pod, container, &subject);

	if (err)
		return err;
	if (!*subject.container.id)
		return fail(session, -EBADMSG, "%s has a container without an id", method->name);
	nri_decode_resources(resources, &wanted);
	if (method->event == NRI_EVENT_CREATE_CONTAINER) {
		pending->kind = NRI_REQUEST_CREATE;
		pending->container_id = strdup(subject.container.id);
		if (!pending->container_id)
			return fail(session, -ENOMEM, "no memory for %s", method->name);
		callbacks->create_container(session->data, pending->stream, &subject.pod,
					    &subject.container);
	} else if (method->event == NRI_EVENT_UPDATE_CONTAINER) {
		pending->kind = NRI_REQUEST_UPDATE;
		callbacks->update_container(session->data, pending->stream, &subject.pod,
					    &subject.container, &wanted);
	} else {
		pending->kind = NRI_REQUEST_STOP;
		callbacks->stop_container(session->data, pending->stream, &subject.pod,
					  &subject.container);
	}
	return 0;
}

/* CreateContainer and StopContainer have no resources; their messages end before that field. */
static int handle_question(struct nri_session *session, const struct method *method,
			   const struct incoming *incoming)
{
	const Nri__ContainerRequest *message =
		unpack(&nri__container_request__descriptor, incoming->payload, &session->memory);

	return message ? ask(session, method, incoming, message->pod, message->container,
			     message->linux_resources)
		       : fail_unpack(session, method);
}

/* Nobody subscribes to it; but a validator that fails would stop every creation. */
static int handle_validate(struct nri_session *session, const struct method *method,
			   const struct incoming *incoming)
{
	return succeed(session, incoming, (ProtobufCBinaryData){0});
}

static const struct method methods[] = {
	{"Configure", handle_configure, 0},
	{"Synchronize", handle_synchronize, 0},
	{"Shutdown", handle_shutdown, 0},
	{"CreateContainer", handle_question, NRI_EVENT_CREATE_CONTAINER},
	{"UpdateContainer", handle_question, NRI_EVENT_UPDATE_CONTAINER},
	{"StopContainer", handle_question, NRI_EVENT_STOP_CONTAINER},
	{"StateChange", handle_state_change, 0},
	{"UpdatePodSandbox", handle_pod_event, NRI_EVENT_UPDATE_POD},
	{"ValidateContainerAdjustment", handle_validate, 0},
	/* since 0.12, each instead of a StateChange; a runtime returns to StateChange where
	 * one of them is not implemented */
	{"RunPodSandbox", handle_pod_event, NRI_EVENT_RUN_POD},
	{"PostUpdatePodSandbox", handle_pod_event, NRI_EVENT_POST_UPDATE_POD},
	{"StopPodSandbox", handle_pod_event, NRI_EVENT_STOP_POD},
	{"RemovePodSandbox", handle_pod_event, NRI_EVENT_REMOVE_POD},
	{"PostCreateContainer", handle_container_event, NRI_EVENT_POST_CREATE_CONTAINER},
	{"StartContainer", handle_container_event, NRI_EVENT_START_CONTAINER},
	{"PostStartContainer", handle_container_event, NRI_EVENT_POST_START_CONTAINER},
	{"PostUpdateContainer", handle_container_event, NRI_EVENT_POST_UPDATE_CONTAINER},
	{"RemoveContainer", handle_container_event, NRI_EVENT_REMOVE_CONTAINER},
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
	return is_early ? fail(session, -EPROTO, "the runtime sent %s before %s", method->name,
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
		return reject_call(session, incoming, "service", request->service);
	if (!method)
		return reject_call(session, incoming, "method", request->method);
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
		return fail(session, -EPROTO, "stream %" PRIu32 " follows stream %" PRIu32,
			    message->stream, session->last_stream);
	session->last_stream = message->stream;
	request = unpack(&nri__request__descriptor, bytes, &session->memory);
	if (!request)
		return fail(session, -EBADMSG, "a request cannot be decoded");
	incoming.payload = request->payload;
	incoming.pending = nri_pendings_add(&session->pendings, message->stream,
					    deadline_of(request->timeout_nano, now_ns));
	if (!incoming.pending)
		return fail(session, -EPROTO,
			    "the runtime has sent %d requests without reading the answers",
			    NRI_PENDING_MAX);
	return dispatch(session, request, &incoming);
}

/* --- what the runtime answers --------------------------------------------------------------- */

static int handle_registration(struct nri_session *session, const Nri__Response *response)
{
	if (response->status && response->status->code)
		return fail(session, -EACCES, "the runtime refused the registration: %s",
			    response->status->message);
	session->is_registered = true;
	return 0;
}

static int handle_updated(struct nri_session *session, const Nri__Response *response)
{
	const Nri__UpdateContainersResponse *message = unpack(
		&nri__update_containers_response__descriptor, response->payload, &session->memory);
	int32_t code = response->status ? response->status->code : 0;
	const char *text = response->status ? response->status->message : "";

	if (!message)
		return fail(session, -EBADMSG, "the answer to UpdateContainers cannot be decoded");
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
	response = unpack(&nri__response__descriptor, bytes, &session->memory);
	if (!response)
		return fail(session, -EBADMSG, "a response cannot be decoded");
	return message->stream == REGISTRATION_STREAM ? handle_registration(session, response)
						      : handle_updated(session, response);
}

static int handle_message(struct nri_session *session, const struct nri_message *message,
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

/* --- the session --------------------------------------------------------------------------- */

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
		err = send_request(session, "RegisterPlugin", payload, &session->memory, &stream);
	nri_memory_clear(&session->memory);
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
	session->start_deadline_ns = now_ns + NRI_START_LIMIT_NS;
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

	/* After Shutdown only its answer is left to do. */
	while (!session->error && !session->is_shut_down) {
		int found = nri_reader_next(&session->reader, &data, &len, &message);

		if (found < 0)
			return fail(session, found, "cannot read from the runtime: %s",
				    strerror(-found));
		if (!found)
			break;
		handle_message(session, &message, now_ns);
	}
	return session->error;
}

int nri_session_end_of_input(struct nri_session *session)
{
	if (nri_reader_is_amid(&session->reader))
		return fail(session, -ECONNRESET,
			    "the runtime closed the connection within a message");
	/* It does so on a mask with an event that it does not know. */
	return fail(session, -ECONNRESET, "the runtime closed the connection%s",
		    session->is_synchronized ? "" : " before the plugin was synchronized");
}

int nri_session_check(struct nri_session *session, uint64_t now_ns)
{
	if (now_ns > nri_pendings_deadline(&session->pendings))
		return fail(session, -ETIMEDOUT,
			    "an answer was not sent before the runtime's timeout");
	if (session->update_stream && now_ns > session->update_deadline_ns)
		return fail(session, -ETIMEDOUT, "the runtime did not answer UpdateContainers");
	if (!has_started(session) && now_ns > session->start_deadline_ns)
		return fail(session, -ETIMEDOUT, "the runtime did not %s",
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
		fail(session, -ESHUTDOWN, "the runtime asked the plugin to shut down");
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
		err = send_response(session, pending, bytes);
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
		err = send_request(session, "UpdateContainers", payload, &memory,
				   &session->update_stream);
	if (!err)
		session->update_deadline_ns = now_ns + NRI_UPDATE_LIMIT_NS;
	return err;
}
