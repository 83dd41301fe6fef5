// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* What no recording has: a runtime that is newer, slow, out of order or hostile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/text.h"
#include "nri.pb-c.h"
#include "nri/session.h"
#include "nri/wire.h"

#define SECOND 1000000000ULL
#define NOW    (1000 * SECOND)
#define PLUGIN "nri.pkg.api.v1alpha1.Plugin"

/* Both ends: the session with its callbacks, and the runtime that is played. */
struct scene {
	struct nri_session *session;
	struct text log;
	bool keeps_requests; /* the callbacks do not answer */
	uint32_t request;    /* the last one that is to be answered */
	struct nri_reader reader;
	uint32_t stream; /* the runtime's last */
};

/* --- callbacks ----------------------------------------------------------------------------- */

static void answer_nothing(struct scene *scene, uint32_t request)
{
	scene->request = request;
	if (!scene->keeps_requests)
		assert_int_equal(
			nri_session_answer(scene->session, request, &(struct nri_answer){0}), 0);
}

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	struct scene *scene = data;

	text_printf(&scene->log, "configure %#x\n", runtime->known_events);
	return 0x7cf;
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	struct scene *scene = data;

	text_append(&scene->log, "synchronize");
	for (size_t i = 0; i < snapshot->nr_pods; i++)
		text_printf(&scene->log, " %s", snapshot->pods[i].id);
	text_append(&scene->log, ";");
	for (size_t i = 0; i < snapshot->nr_containers; i++)
		text_printf(&scene->log, " %s", snapshot->containers[i].id);
	text_append(&scene->log, "\n");
	answer_nothing(scene, request);
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "create %s/%s\n", pod->id, container->id);
	answer_nothing(scene, request);
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	struct scene *scene = data;

	text_printf(&scene->log, "update %s/%s cpus='%s'\n", pod->id, container->id, wanted->cpus);
	answer_nothing(scene, request);
}

static void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
			   const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "stop %s/%s\n", pod->id, container->id);
	answer_nothing(scene, request);
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "event %d %s/%s\n", event, pod->id, container->id);
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
	struct scene *scene = data;

	text_printf(&scene->log, "event %d %s\n", event, pod->id);
}

static void updated(void *data, int32_t code, const char *text)
{
	struct scene *scene = data;

	text_printf(&scene->log, "updated %d %s\n", code, text);
}

static const struct nri_callbacks callbacks = {
	.configure = configure,
	.synchronize = synchronize,
	.create_container = create_container,
	.update_container = update_container,
	.stop_container = stop_container,
	.container_event = container_event,
	.pod_event = pod_event,
	.updated = updated,
};

/* --- the runtime --------------------------------------------------------------------------- */

static int send_raw(struct scene *scene, const struct nri_message *message)
{
	struct nri_output output = {0};
	int err;

	assert_int_equal(nri_output_add(&output, message), 0);
	err = nri_session_receive(scene->session, output.data, output.end, NOW);
	nri_output_fini(&output);
	return err;
}

static int send_packed(struct scene *scene, enum nri_connection connection,
		       enum nri_message_type type, uint32_t stream, const ProtobufCMessage *packed)
{
	size_t len = protobuf_c_message_get_packed_size(packed);
	uint8_t *data = malloc(len + 1);
	int err;

	assert_non_null(data);
	protobuf_c_message_pack(packed, data);
	err = send_raw(scene, &(struct nri_message){connection, stream, (uint8_t)type, data, len});
	free(data);
	return err;
}

static int call_as(struct scene *scene, const char *service, const char *method, int64_t timeout_ns,
		   const ProtobufCMessage *payload)
{
	Nri__Request request = NRI__REQUEST__INIT;
	int err;

	request.service = (char *)(uintptr_t)service;
	request.method = (char *)(uintptr_t)method;
	request.timeout_nano = timeout_ns;
	request.payload.len = payload ? protobuf_c_message_get_packed_size(payload) : 0;
	request.payload.data = malloc(request.payload.len + 1);
	assert_non_null(request.payload.data);
	if (payload)
		protobuf_c_message_pack(payload, request.payload.data);
	scene->stream += 2;
	err = send_packed(scene, NRI_CONNECTION_PLUGIN, NRI_MESSAGE_REQUEST, scene->stream,
			  &request.base);
	free(request.payload.data);
	return err;
}

static int call(struct scene *scene, const char *method, const ProtobufCMessage *payload)
{
	return call_as(scene, PLUGIN, method, 2 * (int64_t)SECOND, payload);
}

static int respond(struct scene *scene, uint32_t stream, int32_t code, const char *text)
{
	Nri__Response response = NRI__RESPONSE__INIT;
	Nri__Status status = NRI__STATUS__INIT;

	status.code = code;
	status.message = (char *)(uintptr_t)text;
	response.status = code ? &status : NULL;
	return send_packed(scene, NRI_CONNECTION_RUNTIME, NRI_MESSAGE_RESPONSE, stream,
			   &response.base);
}

/* Take the whole output, as the runtime, and log each message in it. */
static int hear_at(struct scene *scene, uint64_t now_ns)
{
	struct nri_message message;
	const uint8_t *data;
	size_t len, all;

	data = nri_session_output(scene->session, &all);
	len = all;
	while (nri_reader_next(&scene->reader, &data, &len, &message) == 1) {
		Nri__Response *response;

		if (message.type != NRI_MESSAGE_RESPONSE)
			continue;
		response = nri__response__unpack(NULL, message.len, message.data);
		assert_non_null(response);
		text_printf(&scene->log, "answer %u:", message.stream);
		if (response->status)
			text_printf(&scene->log, " code %d %s", response->status->code,
				    response->status->message);
		for (size_t i = 0; i < response->payload.len; i++)
			text_printf(&scene->log, " %02x", response->payload.data[i]);
		text_append(&scene->log, "\n");
		nri__response__free_unpacked(response, NULL);
	}
	return nri_session_sent(scene->session, all, now_ns);
}

static int hear(struct scene *scene)
{
	return hear_at(scene, NOW);
}

/* What happened since the last call. */
static void logged(struct scene *scene, const char *expected)
{
	assert_string_equal(scene->log.data ? scene->log.data : "", expected);
	text_fini(&scene->log);
}

static void ended(struct scene *scene, int error, const char *expected)
{
	const char *text;

	assert_int_equal(nri_session_error(scene->session, &text), error);
	assert_string_equal(text, expected);
	assert_false(nri_session_is_ready(scene->session));
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
}

static int set_up_version(void **state, const char *nri_version, bool is_started)
{
	static const struct nri_options options = {"pinfold", "10", "0.12.1", false};
	Nri__ConfigureRequest request = NRI__CONFIGURE_REQUEST__INIT;
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->stream = UINT32_MAX; /* the first is 1 */
	assert_int_equal(nri_session_new(&options, &callbacks, scene, NOW, &scene->session), 0);
	assert_int_equal(hear(scene), 0);
	if (!is_started)
		return 0;
	request.nri_version = (char *)(uintptr_t)nri_version;
	assert_int_equal(call(scene, "Configure", &request.base), 0);
	assert_int_equal(respond(scene, 1, 0, NULL), 0);
	assert_false(nri_session_is_ready(scene->session));
	assert_int_equal(call(scene, "Synchronize", NULL), 0);
	assert_int_equal(hear(scene), 0);
	assert_true(nri_session_is_ready(scene->session));
	text_fini(&scene->log);
	return 0;
}

static int set_up(void **state)
{
	return set_up_version(state, "", false);
}

static int set_up_started(void **state)
{
	return set_up_version(state, "", true);
}

static int set_up_new(void **state)
{
	return set_up_version(state, "0.12.1", true);
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	nri_session_free(scene->session);
	nri_reader_fini(&scene->reader);
	text_fini(&scene->log);
	free(scene);
	return 0;
}

static Nri__PodSandbox pod_p = NRI__POD_SANDBOX__INIT;
static Nri__Container container_c = NRI__CONTAINER__INIT;

static int call_create(struct scene *scene, int64_t timeout_ns)
{
	Nri__ContainerRequest request = NRI__CONTAINER_REQUEST__INIT;

	request.pod = &pod_p;
	request.container = &container_c;
	return call_as(scene, PLUGIN, "CreateContainer", timeout_ns, &request.base);
}

/* --- the start ----------------------------------------------------------------------------- */

static void configure_may_come_before_the_registration_is_answered(void **state)
{
	struct scene *scene = *state;

	call(scene, "Configure", NULL);
	call(scene, "Synchronize", NULL);
	hear(scene);
	assert_false(nri_session_is_ready(scene->session));
	respond(scene, 1, 0, NULL);
	assert_true(nri_session_is_ready(scene->session));
	logged(scene, "configure 0x7ff\nsynchronize;\nanswer 1: 10 cf 0f\nanswer 3:\n");
}

static void the_registration_may_be_refused(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(respond(scene, 1, 2, "no\033[31m way"), -EACCES);
	ended(scene, -EACCES, "the runtime refused the registration: no?[31m way");
}

static void events_before_the_start_end_the_session(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call_create(scene, 0), -EPROTO);
	ended(scene, -EPROTO, "the runtime sent CreateContainer before Configure");
	hear(scene);
	logged(scene, "");
}

static void synchronize_comes_after_configure(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call(scene, "Synchronize", NULL), -EPROTO);
	ended(scene, -EPROTO, "the runtime sent Synchronize before Configure");
}

static void events_wait_for_the_answer_to_synchronize(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call(scene, "Configure", NULL);
	call(scene, "Synchronize", NULL);
	assert_int_equal(call_create(scene, 0), -EPROTO);
	ended(scene, -EPROTO, "the runtime sent CreateContainer before Synchronize");
}

static void configure_comes_once(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call(scene, "Configure", NULL), -EPROTO);
	ended(scene, -EPROTO, "the runtime sent Configure twice");
}

static void synchronize_waits_for_its_answer(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call(scene, "Configure", NULL);
	call(scene, "Synchronize", NULL);
	assert_int_equal(call(scene, "Synchronize", NULL), -EPROTO);
	ended(scene, -EPROTO, "the runtime sent Synchronize twice");
}

static int send_piece(struct scene *scene, const char *pod, const char *container, bool more)
{
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;
	Nri__PodSandbox sandbox = NRI__POD_SANDBOX__INIT, *sandboxes = &sandbox;
	Nri__Container one = NRI__CONTAINER__INIT, *ones = &one;

	sandbox.id = (char *)(uintptr_t)pod;
	one.id = (char *)(uintptr_t)container;
	request.n_pods = pod != NULL;
	request.pods = &sandboxes;
	request.n_containers = container != NULL;
	request.containers = &ones;
	request.more = more;
	return call(scene, "Synchronize", &request.base);
}

static void synchronize_comes_in_pieces(void **state)
{
	struct scene *scene = *state;

	call(scene, "Configure", NULL);
	hear(scene);
	logged(scene, "configure 0x7ff\nanswer 1: 10 cf 0f\n");
	respond(scene, 1, 0, NULL);
	send_piece(scene, "p1", "c1", true);
	hear(scene);
	/* more, and no update; anything else makes the runtime drop the plugin */
	logged(scene, "answer 3: 10 01\n");
	send_piece(scene, NULL, "c2", true);
	send_piece(scene, NULL, NULL, true);
	assert_false(nri_session_is_ready(scene->session));
	send_piece(scene, "p2", NULL, false);
	hear(scene);
	logged(scene, "synchronize p1 p2; c1 c2\nanswer 5: 10 01\nanswer 7: 10 01\nanswer 9:\n");
	assert_true(nri_session_is_ready(scene->session));
	/* a second one starts anew */
	send_piece(scene, "p3", NULL, false);
	hear(scene);
	logged(scene, "synchronize p3;\nanswer 11:\n");
}

/* The pieces of one Synchronize may be any number. */
static void pieces_have_a_limit_together(void **state)
{
	struct scene *scene = *state;
	char *id = malloc(3U << 20);
	unsigned int nr = 0;

	assert_non_null(id);
	memset(id, 'x', (3U << 20) - 1);
	id[(3U << 20) - 1] = '\0';
	call(scene, "Configure", NULL);
	while (!send_piece(scene, id, NULL, true) && nr < 100) {
		hear(scene);
		nr++;
	}
	free(id);
	assert_int_equal(nr, 21);
	ended(scene, -EBADMSG, "Synchronize cannot be decoded");
}

static void many_tiny_unknown_fields_are_too_much(void **state)
{
	const size_t len = 3U << 20;
	uint8_t *data = malloc(len);
	struct scene *scene = *state;

	assert_non_null(data);
	for (size_t i = 0; i < len; i += 3)
		memcpy(data + i, "\xf8\x01\x00", 3); /* field 31, number 0 */
	assert_int_equal(send_raw(scene, &(struct nri_message){NRI_CONNECTION_PLUGIN, 1,
							       NRI_MESSAGE_REQUEST, data, len}),
			 -EBADMSG);
	free(data);
	ended(scene, -EBADMSG, "a request cannot be decoded");
}

static void unknown_fields_change_nothing(void **state)
{
	/* service, method, a field 31 of each wire type, and a payload with a field 15 */
	static const uint8_t data[] = "\x0a\x1b" PLUGIN "\x12\x0bSynchronize"
				      "\xf8\x01\x07"
				      "\xf9\x01"
				      "12345678"
				      "\xfa\x01\x02"
				      "ab"
				      "\xfd\x01"
				      "1234"
				      "\x1a\x0a"
				      "\x0a\x03\x0a\x01p"
				      "\x7a\x03xyz";
	struct scene *scene = *state;

	call(scene, "Configure", NULL);
	assert_int_equal(send_raw(scene, &(struct nri_message){NRI_CONNECTION_PLUGIN, 3,
							       NRI_MESSAGE_REQUEST, data,
							       sizeof(data) - 1}),
			 0);
	logged(scene, "configure 0x7ff\nsynchronize p;\n");
}

/* --- both forms of events ------------------------------------------------------------------ */

static void both_forms_of_an_event_are_the_same(void **state)
{
	static const struct {
		int32_t event;
		const char *method;
		bool is_pod;
	} rows[] = {
		{NRI_EVENT_RUN_POD, "RunPodSandbox", true},
		{NRI_EVENT_STOP_POD, "StopPodSandbox", true},
		{NRI_EVENT_REMOVE_POD, "RemovePodSandbox", true},
		{NRI_EVENT_UPDATE_POD, "UpdatePodSandbox", true},
		{NRI_EVENT_POST_UPDATE_POD, "PostUpdatePodSandbox", true},
		{NRI_EVENT_POST_CREATE_CONTAINER, "PostCreateContainer", false},
		{NRI_EVENT_START_CONTAINER, "StartContainer", false},
		{NRI_EVENT_POST_START_CONTAINER, "PostStartContainer", false},
		{NRI_EVENT_POST_UPDATE_CONTAINER, "PostUpdateContainer", false},
		{NRI_EVENT_REMOVE_CONTAINER, "RemoveContainer", false},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
		Nri__ContainerEventRequest single = NRI__CONTAINER_EVENT_REQUEST__INIT;
		char expected[64];

		change.event = rows[i].event;
		change.pod = single.pod = &pod_p;
		change.container = single.container = rows[i].is_pod ? NULL : &container_c;
		for (size_t form = 0; form < 2; form++) {
			if (form)
				call(scene, rows[i].method, &single.base);
			else
				call(scene, "StateChange", &change.base);
			hear(scene);
			snprintf(expected, sizeof(expected), "event %d p%s\nanswer %u:\n",
				 rows[i].event, rows[i].is_pod ? "" : "/c", scene->stream);
			logged(scene, expected);
		}
	}
}

/* Neither those that have their own request, nor those that are newer than we. */
static void other_state_changes_are_only_answered(void **state)
{
	static const int32_t events[] = {-1,
					 0,
					 NRI_EVENT_CREATE_CONTAINER,
					 NRI_EVENT_UPDATE_CONTAINER,
					 NRI_EVENT_STOP_CONTAINER,
					 14,
					 15};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
		char expected[64];

		change.event = events[i];
		assert_int_equal(call(scene, "StateChange", &change.base), 0);
		hear(scene);
		snprintf(expected, sizeof(expected), "answer %u:\n", scene->stream);
		logged(scene, expected);
	}
}

static void a_late_event_may_have_no_pod(void **state)
{
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
	struct scene *scene = *state;

	change.event = NRI_EVENT_REMOVE_CONTAINER;
	change.container = &container_c;
	assert_int_equal(call(scene, "StateChange", &change.base), 0);
	logged(scene, "event 11 /c\n");
}

static void an_event_has_an_id(void **state)
{
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
	struct scene *scene = *state;

	change.event = NRI_EVENT_REMOVE_CONTAINER;
	change.pod = &pod_p;
	assert_int_equal(call(scene, "StateChange", &change.base), -EBADMSG);
	ended(scene, -EBADMSG, "StateChange has event 11 without an id");
	logged(scene, "");
}

static void a_container_has_an_id(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call(scene, "CreateContainer", NULL), -EBADMSG);
	ended(scene, -EBADMSG, "CreateContainer has a container without an id");
	/* no status: it would make the creation fail */
	hear(scene);
	logged(scene, "");
}

static void a_payload_that_is_not_protobuf_ends_the_session(void **state)
{
	static const char *const names[] = {"StateChange", "RunPodSandbox", "StartContainer",
					    "CreateContainer", "Synchronize"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Nri__Request request = NRI__REQUEST__INIT;
		char expected[64];
		struct scene *scene;

		set_up_started(state);
		scene = *state;
		request.service = (char *)(uintptr_t)PLUGIN;
		request.method = (char *)(uintptr_t)names[i];
		request.payload = (ProtobufCBinaryData){3, (uint8_t *)(uintptr_t) "\x0a\x05x"};
		assert_int_equal(send_packed(scene, NRI_CONNECTION_PLUGIN, NRI_MESSAGE_REQUEST, 99,
					     &request.base),
				 -EBADMSG);
		snprintf(expected, sizeof(expected), "%s cannot be decoded", names[i]);
		ended(scene, -EBADMSG, expected);
		tear_down(state);
	}
}

/* --- unknown calls -------------------------------------------------------------------------- */

static void unknown_calls_are_not_implemented(void **state)
{
	struct scene *scene = *state;

	call(scene, "Hover\x80\n", NULL);
	call_as(scene, "nri.pkg.api.v1alpha1.Host", "Configure", 0, NULL);
	hear(scene);
	logged(scene, "answer 5: code 12 method Hover?? is not implemented\n"
		      "answer 7: code 12 service nri.pkg.api.v1alpha1.Host is not implemented\n");
	assert_true(nri_session_is_ready(scene->session));
}

static void a_validation_passes(void **state)
{
	struct scene *scene = *state;

	call(scene, "ValidateContainerAdjustment", NULL);
	hear(scene);
	logged(scene, "answer 5:\n");
}

static void messages_of_the_wrong_side_are_ignored(void **state)
{
	static const struct nri_message messages[] = {
		{NRI_CONNECTION_PLUGIN, 5, NRI_MESSAGE_RESPONSE, (const uint8_t *)"\xff", 1},
		{NRI_CONNECTION_PLUGIN, 5, 3, (const uint8_t *)"\xff", 1},
		{NRI_CONNECTION_RUNTIME, 5, NRI_MESSAGE_REQUEST, (const uint8_t *)"\xff", 1},
		{NRI_CONNECTION_RUNTIME, 0, NRI_MESSAGE_RESPONSE, (const uint8_t *)"\xff", 1},
		{NRI_CONNECTION_RUNTIME, 77, NRI_MESSAGE_RESPONSE, (const uint8_t *)"\xff", 1},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		assert_int_equal(send_raw(scene, &messages[i]), 0);
	hear(scene);
	logged(scene, "");
	assert_true(nri_session_is_ready(scene->session));
}

static void streams_may_have_gaps_and_never_go_back(void **state)
{
	struct scene *scene = *state;

	scene->stream = 4711 - 2;
	call(scene, "ValidateContainerAdjustment", NULL);
	hear(scene);
	logged(scene, "answer 4711:\n");
	scene->stream -= 2;
	assert_int_equal(call(scene, "ValidateContainerAdjustment", NULL), -EPROTO);
	ended(scene, -EPROTO, "stream 4711 follows stream 4711");
}

static void streams_are_odd(void **state)
{
	struct scene *scene = *state;

	scene->stream = 4;
	assert_int_equal(call(scene, "ValidateContainerAdjustment", NULL), -EPROTO);
	ended(scene, -EPROTO, "stream 6 follows stream 3");
}

static void requests_without_end_are_too_many(void **state)
{
	struct scene *scene = *state;
	unsigned int nr = 0;

	while (!call(scene, "ValidateContainerAdjustment", NULL))
		nr++;
	assert_int_equal(nr, 64);
	ended(scene, -EPROTO, "the runtime has sent 64 requests without reading the answers");
}

static void too_long_a_message_ends_the_session(void **state)
{
	static const uint8_t bytes[] = {0, 0, 0, 1, 0, 0, 0, 10, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0};
	struct scene *scene = *state;

	assert_int_equal(nri_session_receive(scene->session, bytes, sizeof(bytes), NOW), -EMSGSIZE);
	ended(scene, -EMSGSIZE, "cannot read from the runtime: Message too long");
	/* and what follows is not read */
	assert_int_equal(call(scene, "Shutdown", NULL), -EMSGSIZE);
}

/* --- answers ------------------------------------------------------------------------------- */

static void an_answer_may_come_later_and_in_any_order(void **state)
{
	const struct nri_adjustment adjustment = {"2-3", "0", {0}};
	const struct nri_update update = {"d", "1", "", true};
	struct scene *scene = *state;
	uint32_t first;

	scene->keeps_requests = true;
	call_create(scene, 0);
	first = scene->request;
	call_create(scene, 0);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.refusal = "full"}),
			 0);
	hear(scene);
	logged(scene, "create p/c\ncreate p/c\nanswer 7: code 9 full\n");
	assert_int_equal(nri_session_answer(scene->session, first,
					    &(struct nri_answer){.adjustment = &adjustment,
								 .updates = &update,
								 .nr_updates = 1}),
			 0);
	hear(scene);
	logged(scene, "answer 5: 0a 0e 32 0c 12 0a 12 08 32 03 32 2d 33 3a 01 30"
		      " 12 0e 0a 01 64 12 07 0a 05 12 03 32 01 31 18 01\n");
}

static void an_answer_fits_its_request(void **state)
{
	const struct nri_adjustment adjustment = {"2-3", "", {0}};
	struct scene *scene = *state;
	Nri__ContainerRequest request = NRI__CONTAINER_REQUEST__INIT;

	scene->keeps_requests = true;
	request.pod = &pod_p;
	request.container = &container_c;
	call(scene, "UpdateContainer", &request.base);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.adjustment = &adjustment}),
			 -EINVAL);
	assert_int_equal(nri_session_answer(scene->session, 4711, &(struct nri_answer){0}),
			 -ENOENT);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.refusal = "caf\xc3\xa9"}),
			 0);
	hear(scene);
	logged(scene, "update p/c cpus=''\nanswer 5: code 9 caf??\n");
}

static void too_long_an_answer_leaves_the_request_unanswered(void **state)
{
	char *cpus = malloc((4U << 20) + 1);
	const struct nri_adjustment adjustment = {cpus, "", {0}};
	struct scene *scene = *state;

	assert_non_null(cpus);
	memset(cpus, '1', 4U << 20);
	cpus[4U << 20] = '\0';
	scene->keeps_requests = true;
	call_create(scene, 0);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){.adjustment = &adjustment}),
			 -EMSGSIZE);
	free(cpus);
	answer_nothing(scene, scene->request);
	assert_int_equal(
		nri_session_answer(scene->session, scene->request, &(struct nri_answer){0}), 0);
}

static void unread_answers_have_a_limit(void **state)
{
	const size_t size = 3U << 20;
	char *cpus = malloc(size + 1);
	const struct nri_adjustment adjustment = {cpus, "", {0}};
	const struct nri_answer answer = {.adjustment = &adjustment};
	struct scene *scene = *state;

	assert_non_null(cpus);
	memset(cpus, '1', size);
	cpus[size] = '\0';
	scene->keeps_requests = true;
	for (unsigned int i = 0; i < 3; i++) {
		call_create(scene, 0);
		assert_int_equal(nri_session_answer(scene->session, scene->request, &answer),
				 i < 2 ? 0 : -ENOBUFS);
	}
	free(cpus);
}

/* --- time ---------------------------------------------------------------------------------- */

static void an_answer_in_time_keeps_the_session(void **state)
{
	struct scene *scene = *state;

	call_create(scene, 2 * SECOND);
	assert_true(nri_session_deadline(scene->session) == NOW + 2 * SECOND);
	assert_int_equal(hear_at(scene, NOW + 2 * SECOND), 0);
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
	assert_int_equal(nri_session_check(scene->session, NOW + 1000 * SECOND), 0);
}

static void a_late_answer_ends_the_session(void **state)
{
	struct scene *scene = *state;

	call_create(scene, 2 * SECOND);
	assert_int_equal(hear_at(scene, NOW + 2 * SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "an answer was not sent before the runtime's timeout");
}

/* Only the last byte of an answer counts. */
static void an_answer_that_leaves_in_part_is_late(void **state)
{
	struct scene *scene = *state;
	size_t len;

	call_create(scene, 2 * SECOND);
	nri_session_output(scene->session, &len);
	assert_int_equal(nri_session_sent(scene->session, len - 1, NOW + SECOND), 0);
	assert_int_equal(nri_session_sent(scene->session, 1, NOW + 3 * SECOND), -ETIMEDOUT);
}

static void no_answer_at_all_ends_the_session(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call_create(scene, 2 * SECOND);
	assert_int_equal(nri_session_check(scene->session, NOW + 2 * SECOND), 0);
	assert_int_equal(nri_session_check(scene->session, NOW + 2 * SECOND + 1), -ETIMEDOUT);
}

/* The runtime has given up already. It is answered all the same. */
static void a_negative_timeout_has_expired(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call_create(scene, -5), 0);
	assert_int_equal(hear(scene), -ETIMEDOUT);
	logged(scene, "create p/c\nanswer 5:\n");
}

static void no_timeout_and_a_huge_one_never_expire(void **state)
{
	struct scene *scene = *state;

	call_create(scene, 0);
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
	call_create(scene, INT64_MAX);
	assert_true(nri_session_deadline(scene->session) > NOW + 1000 * SECOND);
	assert_int_equal(hear_at(scene, NOW + 1000 * SECOND), 0);
}

static void the_start_has_a_limit(void **state)
{
	struct scene *scene = *state;

	assert_true(nri_session_deadline(scene->session) == NOW + 30 * SECOND);
	assert_int_equal(nri_session_check(scene->session, NOW + 30 * SECOND), 0);
	assert_int_equal(nri_session_check(scene->session, NOW + 30 * SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "the runtime did not configure the plugin");
}

/* A runtime before 0.12 that gave up on us leaves the connection open. */
static void a_synchronize_that_never_ends_has_the_same_limit(void **state)
{
	struct scene *scene = *state;

	call(scene, "Configure", NULL);
	respond(scene, 1, 0, NULL);
	send_piece(scene, "p", NULL, true);
	hear(scene);
	assert_int_equal(nri_session_check(scene->session, NOW + 30 * SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "the runtime did not synchronize the plugin");
}

/* --- our own calls -------------------------------------------------------------------------- */

static const struct nri_update one_update = {"c", "1", "", false};

static void an_update_is_refused_where_it_can_deadlock(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), -EOPNOTSUPP);
}

static void an_update_needs_a_session_that_is_ready(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), -ENOTCONN);
}

static void the_versions_with_the_fix_are_known(void **state)
{
	static const struct {
		const char *version;
		int expected;
	} rows[] = {{"0.12.1", 0},	   {"v0.12.1", 0},
		    {"0.12.2-rc.1", 0},	   {"0.13", 0},
		    {"1.0.0", 0},	   {"0.12.0", -EOPNOTSUPP},
		    {"0.12", -EOPNOTSUPP}, {"0.9.9", -EOPNOTSUPP},
		    {"1", -EOPNOTSUPP},	   {"unknown", -EOPNOTSUPP}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene *scene;

		set_up_version(state, rows[i].version, true);
		scene = *state;
		assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW),
				 rows[i].expected);
		tear_down(state);
	}
}

static void an_update_ends_with_its_response(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), -EBUSY);
	hear(scene);
	respond(scene, 5, 0, NULL); /* not ours yet */
	respond(scene, 3, 0, NULL);
	respond(scene, 3, 2, "again");
	logged(scene, "updated 0 \n");
	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	hear(scene);
	respond(scene, 5, 2, "some failed");
	logged(scene, "updated 2 some failed\n");
}

static void failed_updates_in_a_response_are_a_failure(void **state)
{
	/* payload: failed { container_id: "c" } */
	static const uint8_t data[] = "\x12\x05\x0a\x03\x0a\x01"
				      "c";
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	send_raw(scene, &(struct nri_message){NRI_CONNECTION_RUNTIME, 3, NRI_MESSAGE_RESPONSE, data,
					      sizeof(data) - 1});
	logged(scene, "updated 2 the runtime could not update some containers\n");
}

static void an_update_without_response_ends_the_session(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(nri_session_update(scene->session, &one_update, 1, NOW), 0);
	assert_true(nri_session_deadline(scene->session) == NOW + 30 * SECOND);
	assert_int_equal(nri_session_check(scene->session, NOW + 30 * SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "the runtime did not answer UpdateContainers");
}

static void a_new_runtime_knows_more_events(void **state)
{
	Nri__ConfigureRequest request = NRI__CONFIGURE_REQUEST__INIT;
	struct scene *scene = *state;

	request.nri_version = (char *)(uintptr_t) "0.12.0";
	call(scene, "Configure", &request.base);
	logged(scene, "configure 0x1fff\n");
}

/* --- the end ------------------------------------------------------------------------------- */

static void a_shutdown_is_answered_first(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call(scene, "Shutdown", NULL), 0);
	assert_false(nri_session_is_ready(scene->session));
	assert_int_equal(call_create(scene, 0), 0); /* not read any more */
	assert_int_equal(hear_at(scene, NOW + 60 * SECOND), -ETIMEDOUT);
	logged(scene, "answer 5:\n");
}

static void a_shutdown_in_time_is_an_orderly_end(void **state)
{
	struct scene *scene = *state;

	call(scene, "Shutdown", NULL);
	assert_int_equal(hear(scene), -ESHUTDOWN);
	ended(scene, -ESHUTDOWN, "the runtime asked the plugin to shut down");
	assert_int_equal(nri_session_end_of_input(scene->session), -ESHUTDOWN);
}

static void an_end_within_a_message_is_told(void **state)
{
	struct scene *scene = *state;

	nri_session_receive(scene->session, "\0\0\0\1\0\0\0\12\0", 9, NOW);
	assert_int_equal(nri_session_end_of_input(scene->session), -ECONNRESET);
	ended(scene, -ECONNRESET, "the runtime closed the connection within a message");
}

static void requests_are_lost_with_the_session(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call_create(scene, 0);
	nri_session_end_of_input(scene->session);
	assert_int_equal(nri_session_answer(scene->session, scene->request,
					    &(struct nri_answer){0}),
			 -ECONNRESET);
}

#define STARTING(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define STARTED(test)  cmocka_unit_test_setup_teardown(test, set_up_started, tear_down)
#define NEW(test)      cmocka_unit_test_setup_teardown(test, set_up_new, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STARTING(configure_may_come_before_the_registration_is_answered),
		STARTING(the_registration_may_be_refused),
		STARTING(events_before_the_start_end_the_session),
		STARTING(synchronize_comes_after_configure),
		STARTING(events_wait_for_the_answer_to_synchronize),
		STARTED(configure_comes_once),
		STARTING(synchronize_waits_for_its_answer),
		STARTING(synchronize_comes_in_pieces),
		STARTING(pieces_have_a_limit_together),
		STARTING(many_tiny_unknown_fields_are_too_much),
		STARTING(unknown_fields_change_nothing),
		STARTED(both_forms_of_an_event_are_the_same),
		STARTED(other_state_changes_are_only_answered),
		STARTED(a_late_event_may_have_no_pod),
		STARTED(an_event_has_an_id),
		STARTED(a_container_has_an_id),
		cmocka_unit_test(a_payload_that_is_not_protobuf_ends_the_session),
		STARTED(unknown_calls_are_not_implemented),
		STARTED(a_validation_passes),
		STARTED(messages_of_the_wrong_side_are_ignored),
		STARTED(streams_may_have_gaps_and_never_go_back),
		STARTED(streams_are_odd),
		STARTED(requests_without_end_are_too_many),
		STARTED(too_long_a_message_ends_the_session),
		STARTED(an_answer_may_come_later_and_in_any_order),
		STARTED(an_answer_fits_its_request),
		STARTED(too_long_an_answer_leaves_the_request_unanswered),
		STARTED(unread_answers_have_a_limit),
		STARTED(an_answer_in_time_keeps_the_session),
		STARTED(a_late_answer_ends_the_session),
		STARTED(an_answer_that_leaves_in_part_is_late),
		STARTED(no_answer_at_all_ends_the_session),
		STARTED(a_negative_timeout_has_expired),
		STARTED(no_timeout_and_a_huge_one_never_expire),
		STARTING(the_start_has_a_limit),
		STARTING(a_synchronize_that_never_ends_has_the_same_limit),
		STARTED(an_update_is_refused_where_it_can_deadlock),
		STARTING(an_update_needs_a_session_that_is_ready),
		cmocka_unit_test(the_versions_with_the_fix_are_known),
		NEW(an_update_ends_with_its_response),
		NEW(failed_updates_in_a_response_are_a_failure),
		NEW(an_update_without_response_ends_the_session),
		STARTING(a_new_runtime_knows_more_events),
		STARTED(a_shutdown_is_answered_first),
		STARTED(a_shutdown_in_time_is_an_orderly_end),
		STARTED(an_end_within_a_message_is_told),
		STARTED(requests_are_lost_with_the_session),
	};

	pod_p.id = (char *)(uintptr_t) "p";
	container_c.id = (char *)(uintptr_t) "c";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
