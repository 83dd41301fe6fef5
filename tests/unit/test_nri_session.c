// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/*
 * How a session starts and ends, also with a runtime that is newer, slow, out of order or
 * hostile. No recording has these.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nri_session_scene.h"

static void the_registration_says_who_asks(void **state)
{
	static const struct nri_options options = {"pinfold", "10", "0.12.1", false, NULL};
	struct nri_session *session = NULL;
	struct nri_reader reader = {0};
	struct nri_message message;
	Nri__RegisterPluginRequest *registration;
	Nri__Request *request;
	const uint8_t *data;
	size_t len;

	assert_int_equal(nri_session_new(&options, &callbacks, NULL, NOW, &session), 0);
	data = nri_session_output(session, &len);
	assert_int_equal(nri_reader_next(&reader, &data, &len, &message), 1);
	assert_int_equal(message.connection, NRI_CONNECTION_RUNTIME);
	assert_int_equal(message.stream, 1);
	request = nri__request__unpack(NULL, message.len, message.data);
	assert_non_null(request);
	assert_string_equal(request->service, "nri.pkg.api.v1alpha1.Runtime");
	assert_string_equal(request->method, "RegisterPlugin");
	registration = nri__register_plugin_request__unpack(NULL, request->payload.len,
							    request->payload.data);
	assert_non_null(registration);
	assert_string_equal(registration->plugin_name, "pinfold");
	assert_string_equal(registration->plugin_idx, "10");
	assert_string_equal(registration->nri_version, "0.12.1");
	nri__register_plugin_request__free_unpacked(registration, NULL);
	nri__request__free_unpacked(request, NULL);
	nri_reader_fini(&reader);
	nri_session_free(session);
}

static void a_registration_that_is_too_long_makes_no_session(void **state)
{
	char *name = malloc(NRI_WRITE_MAX + 1);
	const struct nri_options options = {name, "10", "", false, NULL};
	struct nri_session *session = NULL;

	assert_non_null(name);
	memset(name, 'x', NRI_WRITE_MAX);
	name[NRI_WRITE_MAX] = '\0';
	assert_int_equal(nri_session_new(&options, &callbacks, NULL, NOW, &session), -EMSGSIZE);
	assert_null(session);
	free(name);
}

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
	has_no_error(scene);
}

/* A status with the code 0 is a success, like none. */
static void the_registration_may_be_accepted_with_a_status(void **state)
{
	Nri__Response response = NRI__RESPONSE__INIT;
	Nri__Status status = NRI__STATUS__INIT;
	struct scene *scene = *state;

	response.status = &status;
	call(scene, "Configure", NULL);
	call(scene, "Synchronize", NULL);
	assert_int_equal(send_packed(scene, NRI_CONNECTION_RUNTIME, NRI_MESSAGE_RESPONSE, 1,
				     &response.base),
			 0);
	assert_true(nri_session_is_ready(scene->session));
}

static void the_registration_may_be_refused(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(respond(scene, 1, 2, "no\033[31m way"), -EACCES);
	ended(scene, -EACCES, "the runtime refused the registration: no?[31m way");
	assert_int_equal(nri_session_check(scene->session, NOW), -EACCES);
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
	/* Nothing is heard any more. */
	assert_int_equal(call_create(scene, 0), -EPROTO);
	logged(scene, "");
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

/* A Synchronize with containers that have `nr` times this variable, each in its own piece. */
static void play_environments(struct scene *scene, size_t nr, const char *variable,
			      unsigned int nr_containers)
{
	enum { FIELD_ENV = 8 };
	ProtobufCMessageUnknownField *env = calloc(nr, sizeof(*env));
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;
	Nri__Container container = NRI__CONTAINER__INIT, *containers = &container;
	uint8_t data[64] = {(uint8_t)strlen(variable)};

	assert_non_null(env);
	memcpy(data + 1, variable, strlen(variable));
	for (size_t i = 0; i < nr; i++)
		env[i] = (ProtobufCMessageUnknownField){
			.tag = FIELD_ENV,
			.wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
			.len = strlen(variable) + 1,
			.data = data,
		};
	container.id = "c";
	container.base.unknown_fields = env;
	container.base.n_unknown_fields = nr;
	request.containers = &containers;
	request.n_containers = 1;
	for (unsigned int i = 1; i <= nr_containers; i++) {
		request.more = i < nr_containers;
		assert_int_equal(call(scene, "Synchronize", &request.base), 0);
		assert_int_equal(hear(scene), 0);
	}
	free(env);
	assert_true(nri_session_is_ready(scene->session));
}

/*
 * A runtime sends the environment of each container, which the author of its pod chooses. Much of it
 * for many containers is no reason to stop listening, nor are many short variables in one message.
 */
static void environments_do_not_end_the_session(void **state)
{
	play_environments(*state, 60000, "A_SERVICE_PORT=tcp", 40);
	play_environments(*state, 800000, "A=1", 1);
}

/* Its author chooses a pod's annotations, too. 262,144 bytes of them may be 87,000 in number. */
static void annotations_do_not_end_the_session(void **state)
{
	enum { NR_ANNOTATIONS = 87000, NR_PODS = 40 };
	Nri__Pair pair = NRI__PAIR__INIT, **pairs = calloc(NR_ANNOTATIONS, sizeof(*pairs));
	Nri__PodSandbox pod = NRI__POD_SANDBOX__INIT, *pods = &pod;
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;
	struct scene *scene;

	pair_prefix = "pinfold.dev/";
	set_up_started(state);
	pair_prefix = NULL;
	scene = *state;
	assert_non_null(pairs);
	for (size_t i = 0; i < NR_ANNOTATIONS; i++)
		pairs[i] = &pair;
	pair.key = "abc";
	pod.id = "p";
	pod.annotations = pairs;
	pod.n_annotations = NR_ANNOTATIONS;
	request.pods = &pods;
	request.n_pods = 1;
	for (int nr = 1; nr <= NR_PODS; nr++) {
		request.more = nr < NR_PODS;
		assert_int_equal(call(scene, "Synchronize", &request.base), 0);
		assert_int_equal(hear(scene), 0);
	}
	assert_true(nri_session_is_ready(scene->session));
	free(pairs);
}

/* What one Synchronize took is given back before the next. */
static void synchronizes_have_no_limit_together(void **state)
{
	char *id = malloc(3U << 20);
	struct scene *scene = *state;

	assert_non_null(id);
	memset(id, 'x', (3U << 20) - 1);
	id[(3U << 20) - 1] = '\0';
	for (unsigned int nr = 0; nr < 25; nr++) {
		assert_int_equal(send_piece(scene, id, NULL, false), 0);
		assert_int_equal(hear(scene), 0);
	}
	free(id);
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

static void the_start_has_a_limit(void **state)
{
	struct scene *scene = *state;

	assert_true(nri_session_deadline(scene->session) == NOW + NRI_START_LOOK_NS);
	nri_session_drained(scene->session, NOW + 30 * SECOND - 1);
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

/* What ends the session first is the earliest of all that it waits for. */
static void a_question_may_end_before_the_start_does(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call(scene, "Configure", NULL);
	assert_int_equal(hear(scene), 0);
	assert_int_equal(call(scene, "Synchronize", NULL), 0);
	nri_session_drained(scene->session, NOW + 2 * SECOND - 1);
	assert_true(nri_session_deadline(scene->session) == NOW + 2 * SECOND);
}

/* Its runtime's time runs since it sent, which may have been as soon as nothing was left to read. */
static void a_first_question_may_have_waited(void **state)
{
	struct scene *scene = *state;

	scene->keeps_requests = true;
	call(scene, "Configure", NULL);
	assert_int_equal(hear(scene), 0);
	nri_session_drained(scene->session, NOW - SECOND);
	assert_int_equal(call(scene, "Synchronize", NULL), 0);
	assert_int_equal(nri_session_check(scene->session, NOW + SECOND), 0);
	assert_int_equal(nri_session_check(scene->session, NOW + SECOND + 1), -ETIMEDOUT);
	ended(scene, -ETIMEDOUT, "an answer was not sent before the runtime's timeout");
}

/* Part of a message says that the runtime had begun to send. */
static void a_message_in_parts_was_sent_before_the_first(void **state)
{
	struct scene *scene = *state;

	nri_session_drained(scene->session, NOW);
	nri_session_receive(scene->session, "\0\0\0\1\0\0", 6, NOW);
	nri_session_drained(scene->session, NOW + SECOND);
	assert_true(nri_session_deadline(scene->session) == NOW + SECOND + NRI_START_LOOK_NS);
}

/* A runtime that dropped the plugin for a later answer closes the connection. */
static void a_later_question_was_sent_now(void **state)
{
	struct scene *scene = *state;

	nri_session_drained(scene->session, NOW - 60 * SECOND);
	scene->keeps_requests = true;
	assert_int_equal(call_create(scene, 2 * SECOND), 0);
	assert_true(nri_session_deadline(scene->session) == NOW + 2 * SECOND);
}

static void a_new_runtime_knows_more_events(void **state)
{
	Nri__ConfigureRequest request = NRI__CONFIGURE_REQUEST__INIT;
	struct scene *scene = *state;

	request.nri_version = (char *)(uintptr_t) "0.12.0";
	call(scene, "Configure", &request.base);
	logged(scene, "configure 0x1fff\n");
}

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

static void a_shutdown_may_come_at_any_time(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call(scene, "Shutdown", NULL), 0);
	assert_int_equal(hear(scene), -ESHUTDOWN);
	logged(scene, "answer 1:\n");
}

static void a_shutdown_ends_with_the_last_byte_of_its_answer(void **state)
{
	struct scene *scene = *state;
	size_t len;

	call(scene, "Shutdown", NULL);
	nri_session_output(scene->session, &len);
	assert_int_equal(nri_session_sent(scene->session, len - 1, NOW), 0);
	assert_int_equal(nri_session_sent(scene->session, 1, NOW), -ESHUTDOWN);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registration_says_who_asks),
		cmocka_unit_test(a_registration_that_is_too_long_makes_no_session),
		STARTING(the_registration_may_be_accepted_with_a_status),
		STARTING(configure_may_come_before_the_registration_is_answered),
		STARTING(the_registration_may_be_refused),
		STARTING(events_before_the_start_end_the_session),
		STARTING(synchronize_comes_after_configure),
		STARTING(events_wait_for_the_answer_to_synchronize),
		STARTED(configure_comes_once),
		STARTING(synchronize_waits_for_its_answer),
		STARTING(synchronize_comes_in_pieces),
		STARTED(environments_do_not_end_the_session),
		cmocka_unit_test_teardown(annotations_do_not_end_the_session, tear_down),
		STARTED(synchronizes_have_no_limit_together),
		STARTING(pieces_have_a_limit_together),
		STARTING(the_start_has_a_limit),
		STARTING(a_synchronize_that_never_ends_has_the_same_limit),
		STARTING(a_question_may_end_before_the_start_does),
		STARTING(a_first_question_may_have_waited),
		STARTING(a_message_in_parts_was_sent_before_the_first),
		STARTED(a_later_question_was_sent_now),
		STARTING(a_new_runtime_knows_more_events),
		STARTING(a_shutdown_may_come_at_any_time),
		STARTED(a_shutdown_ends_with_the_last_byte_of_its_answer),
		STARTED(a_shutdown_is_answered_first),
		STARTED(a_shutdown_in_time_is_an_orderly_end),
		STARTED(an_end_within_a_message_is_told),
		STARTED(requests_are_lost_with_the_session),
	};

	pod_p.id = (char *)(uintptr_t) "p";
	container_c.id = (char *)(uintptr_t) "c";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
