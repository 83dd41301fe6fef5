/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of NRI with callbacks that log what they are told, and the runtime at its
 * other end. Include after cmocka.h.
 */
#ifndef NRI_SESSION_SCENE_H
#define NRI_SESSION_SCENE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static inline void answer_nothing(struct scene *scene, uint32_t request)
{
	scene->request = request;
	if (!scene->keeps_requests)
		assert_int_equal(
			nri_session_answer(scene->session, request, &(struct nri_answer){0}), 0);
}

static inline uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	struct scene *scene = data;

	text_printf(&scene->log, "configure %#x\n", runtime->known_events);
	return 0x7cf;
}

static inline void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
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

static inline void create_container(void *data, uint32_t request, const struct nri_pod *pod,
				    const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "create %s/%s\n", pod->id, container->id);
	answer_nothing(scene, request);
}

static inline void update_container(void *data, uint32_t request, const struct nri_pod *pod,
				    const struct nri_container *container,
				    const struct nri_resources *wanted)
{
	struct scene *scene = data;

	text_printf(&scene->log, "update %s/%s cpus='%s'\n", pod->id, container->id, wanted->cpus);
	answer_nothing(scene, request);
}

static inline void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
				  const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "stop %s/%s\n", pod->id, container->id);
	answer_nothing(scene, request);
}

static inline void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
				   const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "event %d %s/%s\n", event, pod->id, container->id);
}

static inline void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
	struct scene *scene = data;

	text_printf(&scene->log, "event %d %s\n", event, pod->id);
}

static inline void updated(void *data, int32_t code, const char *text)
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

static inline int send_raw(struct scene *scene, const struct nri_message *message)
{
	struct nri_output output = {0};
	int err;

	assert_int_equal(nri_output_add(&output, message), 0);
	err = nri_session_receive(scene->session, output.data, output.end, NOW);
	assert_int_equal(err, nri_session_error(scene->session, NULL));
	nri_output_fini(&output);
	return err;
}

static inline int send_packed(struct scene *scene, enum nri_connection connection,
			      enum nri_message_type type, uint32_t stream,
			      const ProtobufCMessage *packed)
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

static inline int call_as(struct scene *scene, const char *service, const char *method,
			  int64_t timeout_ns, const ProtobufCMessage *payload)
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

static inline int call(struct scene *scene, const char *method, const ProtobufCMessage *payload)
{
	return call_as(scene, PLUGIN, method, 2 * (int64_t)SECOND, payload);
}

static inline int respond(struct scene *scene, uint32_t stream, int32_t code, const char *text)
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
static inline int hear_at(struct scene *scene, uint64_t now_ns)
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

static inline int hear(struct scene *scene)
{
	return hear_at(scene, NOW);
}

/* What happened since the last call. */
static inline void logged(struct scene *scene, const char *expected)
{
	assert_string_equal(scene->log.data ? scene->log.data : "", expected);
	text_fini(&scene->log);
}

/* A sentence about an error comes only with one. */
static inline void has_no_error(struct scene *scene)
{
	const char *text;

	assert_int_equal(nri_session_error(scene->session, &text), 0);
	assert_string_equal(text, "");
}

static inline void ended(struct scene *scene, int error, const char *expected)
{
	const char *text;

	assert_int_equal(nri_session_error(scene->session, &text), error);
	assert_string_equal(text, expected);
	assert_false(nri_session_is_ready(scene->session));
	assert_true(nri_session_deadline(scene->session) == UINT64_MAX);
}

/* Of the next session; see struct nri_options. */
static const char *pair_prefix;

static inline int set_up_version(void **state, const char *nri_version, bool is_started)
{
	const struct nri_options options = {"pinfold", "10", "0.12.1", false, pair_prefix};
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

static inline int set_up(void **state)
{
	return set_up_version(state, "", false);
}

static inline int set_up_started(void **state)
{
	return set_up_version(state, "", true);
}

static inline int set_up_new(void **state)
{
	return set_up_version(state, "0.12.1", true);
}

static inline int tear_down(void **state)
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

static inline int call_create(struct scene *scene, int64_t timeout_ns)
{
	Nri__ContainerRequest request = NRI__CONTAINER_REQUEST__INIT;

	request.pod = &pod_p;
	request.container = &container_c;
	return call_as(scene, PLUGIN, "CreateContainer", timeout_ns, &request.base);
}

#define STARTING(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define STARTED(test)  cmocka_unit_test_setup_teardown(test, set_up_started, tear_down)
#define NEW(test)      cmocka_unit_test_setup_teardown(test, set_up_new, tear_down)

#endif
