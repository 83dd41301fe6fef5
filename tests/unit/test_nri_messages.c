// SPDX-License-Identifier: Apache-2.0
// LIBS: nri lib
/* Messages that are unusual, malformed or too many, once a session has started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nri_session_scene.h"

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
	has_no_error(scene);
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

static void an_event_of_a_pod_has_its_id(void **state)
{
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
	struct scene *scene = *state;

	change.event = NRI_EVENT_RUN_POD;
	change.container = &container_c;
	assert_int_equal(call(scene, "StateChange", &change.base), -EBADMSG);
	ended(scene, -EBADMSG, "StateChange has event 1 without an id");
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
	static const char *const names[] = {"StateChange",     "RunPodSandbox", "StartContainer",
					    "CreateContainer", "Configure",	"Synchronize"};

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

/* --- what takes too much memory ------------------------------------------------------------ */

/* Labels are small on the wire and large when they are decoded. */
static void with_labels(Nri__PodSandbox *pod, Nri__Pair **labels, size_t nr)
{
	static Nri__Pair label = NRI__PAIR__INIT;

	for (size_t i = 0; i < nr; i++)
		labels[i] = &label;
	*pod = pod_p;
	pod->labels = labels;
	pod->n_labels = nr;
}

/*
 * So many that the message can be decoded, but not what is made of it: the first number that does
 * not fit, in steps that are smaller than the difference.
 */
#define FIRST_LABELS 500000
#define MOST_LABELS  700000
#define STEP_LABELS  20000

/* Without an answer, which would be wrong for the containers that it leaves out. */
static void too_many_labels_end_the_session(void **state)
{
	Nri__Pair **labels = calloc(MOST_LABELS, sizeof(Nri__Pair *));
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;
	Nri__ContainerRequest creation = NRI__CONTAINER_REQUEST__INIT;
	Nri__PodSandbox pod;

	assert_non_null(labels);
	change.event = NRI_EVENT_RUN_POD;
	change.pod = creation.pod = &pod;
	creation.container = &container_c;
	for (int creates = 0; creates < 2; creates++) {
		const char *method = creates ? "CreateContainer" : "StateChange";
		struct scene *scene;
		char expected[64];
		int err = 0;

		set_up_started(state);
		scene = *state;
		for (size_t nr = FIRST_LABELS; !err && nr <= MOST_LABELS; nr += STEP_LABELS) {
			with_labels(&pod, labels, nr);
			err = call(scene, method, creates ? &creation.base : &change.base);
			hear(scene);
			text_fini(&scene->log);
		}
		snprintf(expected, sizeof(expected), "no memory for %s", method);
		ended(scene, -ENOMEM, expected);
		tear_down(state);
	}
	free(labels);
}

/* One message of so many pods, or so many containers. */
static int send_snapshot(struct scene *scene, size_t nr_pods, size_t nr_containers)
{
	const size_t most = nr_pods > nr_containers ? nr_pods : nr_containers;
	Nri__PodSandbox **pods = calloc(most, sizeof(Nri__PodSandbox *));
	Nri__Container **containers = calloc(most, sizeof(Nri__Container *));
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;
	int err;

	assert_non_null(pods);
	assert_non_null(containers);
	for (size_t i = 0; i < most; i++) {
		pods[i] = &pod_p;
		containers[i] = &container_c;
	}
	request.pods = pods;
	request.n_pods = nr_pods;
	request.containers = containers;
	request.n_containers = nr_containers;
	err = call(scene, "Synchronize", &request.base);
	free(pods);
	free(containers);
	return err;
}

/*
 * With more and more of them it is first what the message becomes that does not fit, and then
 * the message itself.
 */
static void too_large_a_snapshot_ends_the_session(void **state)
{
	for (int of_containers = 0; of_containers < 2; of_containers++) {
		unsigned int nr_decoded = 0;
		int err = 0;

		for (size_t nr = 40000; err != -EBADMSG; nr += 40000) {
			struct scene *scene;

			set_up_started(state);
			scene = *state;
			err = send_snapshot(scene, of_containers ? 0 : nr, of_containers ? nr : 0);
			if (err == -ENOMEM)
				ended(scene, -ENOMEM,
				      "no memory for the pods and containers of Synchronize");
			nr_decoded += err == -ENOMEM;
			tear_down(state);
		}
		assert_true(nr_decoded > 1);
	}
}

/* What can be decoded after it does not make up for it. */
static void one_pod_that_is_too_large_ends_the_session(void **state)
{
	Nri__Pair **labels = calloc(MOST_LABELS, sizeof(Nri__Pair *));
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;
	Nri__PodSandbox large, *pods[] = {&large, &pod_p};
	Nri__Container *containers[] = {&container_c};
	struct scene *scene = *state;
	int err = 0;

	assert_non_null(labels);
	request.pods = pods;
	request.n_pods = 2;
	request.containers = containers;
	request.n_containers = 1;
	for (size_t nr = FIRST_LABELS; !err && nr <= MOST_LABELS; nr += STEP_LABELS) {
		with_labels(&large, labels, nr);
		err = call(scene, "Synchronize", &request.base);
		hear(scene);
		text_fini(&scene->log);
	}
	ended(scene, -ENOMEM, "no memory for the pods and containers of Synchronize");
	free(labels);
}

/* --- unknown calls -------------------------------------------------------------------------- */

static void unknown_calls_are_not_implemented(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(call(scene, "Hover\x80\n", NULL), 0);
	assert_int_equal(call_as(scene, "nri.pkg.api.v1alpha1.Host", "Configure", 0, NULL), 0);
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
		{NRI_CONNECTION_PLUGIN, 1, NRI_MESSAGE_RESPONSE, (const uint8_t *)"\xff", 1},
		{NRI_CONNECTION_PLUGIN, 5, 3, (const uint8_t *)"\xff", 1},
		{NRI_CONNECTION_RUNTIME, 1, NRI_MESSAGE_REQUEST, (const uint8_t *)"\xff", 1},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		STARTING(many_tiny_unknown_fields_are_too_much),
		STARTING(unknown_fields_change_nothing),
		STARTED(both_forms_of_an_event_are_the_same),
		STARTED(other_state_changes_are_only_answered),
		STARTED(a_late_event_may_have_no_pod),
		STARTED(an_event_has_an_id),
		cmocka_unit_test(too_many_labels_end_the_session),
		cmocka_unit_test(too_large_a_snapshot_ends_the_session),
		STARTED(one_pod_that_is_too_large_ends_the_session),
		STARTED(an_event_of_a_pod_has_its_id),
		STARTED(a_container_has_an_id),
		cmocka_unit_test(a_payload_that_is_not_protobuf_ends_the_session),
		STARTED(unknown_calls_are_not_implemented),
		STARTED(a_validation_passes),
		STARTED(messages_of_the_wrong_side_are_ignored),
		STARTED(streams_may_have_gaps_and_never_go_back),
		STARTED(streams_are_odd),
		STARTED(requests_without_end_are_too_many),
		STARTED(too_long_a_message_ends_the_session),
	};

	pod_p.id = (char *)(uintptr_t) "p";
	container_c.id = (char *)(uintptr_t) "c";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
