// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri ctl kubelet format core lib
/*
 * From the socket to the decision and back: recorded frames of containerd reach a controller,
 * whose answers are decoded. The machine has CPUs 0 to 15, of which 0 and 1 are reserved.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "controller_scene.h"
#include "nri.pb-c.h"
#include "nri/wire.h"
#include "runtime/source.h"

#include "../lib/nri_recording.h"

struct scene {
	char directory[64], path[96];
	sd_event *event;
	int listener, fd; /* the runtime's */
	struct controller *controller;
	struct source *source;
	struct nri_reader reader;
	bool is_ready;
	bool is_verbose;	  /* answers have more changes than a message */
	bool has_quota_of_shares; /* the recorded update states 4 CPUs in both */
};

static struct scene *scene;

#define NR_CHANGES 60000

/* More than 4 MiB. */
static int answer_too_much(uint32_t request)
{
	static const char id[] = "0123456789012345678901234567890123456789012345678901234567890123";
	struct runtime_change *changes = calloc(NR_CHANGES, sizeof(*changes));
	const struct runtime_answer answer = {
		.cpus = "", .changes = changes, .nr_changes = NR_CHANGES};
	int r;

	assert_non_null(changes);
	for (uint32_t i = 0; i < NR_CHANGES; i++)
		changes[i] = (struct runtime_change){.container_id = id, .cpus = "2-15"};
	r = source_answer(scene->source, request, &answer);
	free(changes);
	assert_int_equal(r, -EMSGSIZE);
	return r;
}

static int take_answer(void *self, uint32_t request, const struct runtime_answer *answer)
{
	if (scene->is_verbose)
		return answer_too_much(request);
	return source_answer(scene->source, request, answer);
}

static void changed(void *data, const struct plugin_status *status)
{
	scene->is_ready = status->state == PLUGIN_READY;
}

static int open_scene(void **state)
{
	static const struct runtime_port port = {.answer = take_answer};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct source_options options = {.changed = changed};

	set_up(state);
	scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	strcpy(scene->directory, "/tmp/pinfold-source-XXXXXX");
	assert_non_null(mkdtemp(scene->directory));
	snprintf(scene->path, sizeof(scene->path), "%s/nri.sock", scene->directory);
	text_copy(address.sun_path, sizeof(address.sun_path), scene->path);
	scene->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(scene->listener, (const struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(scene->listener, 1), 0);
	assert_true(sd_event_new(&scene->event) >= 0);
	scene_runtime = &port;
	scene->controller = start_controller();
	options.event = scene->event;
	options.socket = scene->path;
	options.sink = &controller_sinks(scene->controller)->runtime;
	assert_int_equal(source_open(&options, &scene->source), 0);
	scene->fd = accept4(scene->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(scene->fd >= 0);
	return 0;
}

static int close_scene(void **state)
{
	source_close(scene->source);
	controller_free(scene->controller);
	sd_event_unref(scene->event);
	nri_reader_fini(&scene->reader);
	close(scene->fd);
	close(scene->listener);
	unlink(scene->path);
	rmdir(scene->directory);
	free(scene);
	return tear_down(state);
}

/* The plugin's next message that answers this stream of the runtime. */
static void receive_answer(uint32_t stream, Nri__Response **ret_response)
{
	for (;;) {
		struct nri_message message;
		uint8_t byte;
		const uint8_t *data = &byte;
		size_t len = 1;

		if (recv(scene->fd, &byte, 1, MSG_DONTWAIT) != 1) {
			assert_true(sd_event_run(scene->event, UINT64_MAX) > 0);
			continue;
		}
		if (nri_reader_next(&scene->reader, &data, &len, &message) != 1 ||
		    message.connection != NRI_CONNECTION_PLUGIN || message.stream != stream)
			continue;
		*ret_response = nri__response__unpack(NULL, message.len, message.data);
		assert_non_null(*ret_response);
		return;
	}
}

/* The stream of the request that a frame of the recording holds; 0 = another frame. */
static uint32_t stream_of(const struct recorded_frame *frame, const char *method)
{
	if (!frame->by_runtime || frame->data[3] != NRI_CONNECTION_PLUGIN || frame->len < 18 ||
	    !memmem(frame->data, frame->len, method, strlen(method)))
		return 0;
	return (uint32_t)frame->data[12] << 24 | (uint32_t)frame->data[13] << 16 |
	       (uint32_t)frame->data[14] << 8 | frame->data[15];
}

static void send_frame(const struct recorded_frame *frame)
{
	/* 300000 and 400000 us, as they are encoded */
	static const uint8_t recorded[] = {0xe0, 0xa7, 0x12}, fitting[] = {0x80, 0xb5, 0x18};
	uint8_t *quota = memmem(frame->data, frame->len, recorded, sizeof(recorded));

	if (quota && scene->has_quota_of_shares)
		memcpy(quota, fitting, sizeof(fitting));
	assert_int_equal(send(scene->fd, frame->data, frame->len, 0), frame->len);
	while (sd_event_run(scene->event, 0) > 0)
		;
}

/* Play the runtime's frames up to the first request of this method, and return its answer. */
static Nri__Response *play_until(const char *runtime, char session, const char *method)
{
	struct recording recording;
	Nri__Response *response = NULL;
	uint32_t stream = 0;

	recording_read(runtime, session, &recording);
	for (size_t i = 0; i < recording.nr && !response; i++) {
		const struct recorded_frame *frame = &recording.frames[i];

		/* A long request takes two frames. */
		if (!frame->by_runtime && stream) {
			receive_answer(stream, &response);
		} else if (frame->by_runtime) {
			stream = stream ? stream : stream_of(frame, method);
			send_frame(frame);
		}
	}
	recording_free(&recording);
	assert_non_null(response);
	return response;
}

static void a_guaranteed_container_gets_its_cpus(void **state)
{
	Nri__Response *response = play_until("containerd-2.1.9", 'A', "CreateContainer");
	Nri__CreateContainerResponse *answer;

	assert_null(response->status);
	answer = nri__create_container_response__unpack(NULL, response->payload.len,
							response->payload.data);
	assert_string_equal(answer->adjust->on_linux->resources->cpu->cpus, "2-3");
	assert_string_equal(answer->adjust->on_linux->resources->cpu->mems, "");
	assert_int_equal(nr_rows(scene->controller, "pod"), 1);
	nri__create_container_response__free_unpacked(answer, NULL);
	nri__response__free_unpacked(response, NULL);
}

/* The recorded plugin had moved both to CPUs 6 and 7. Each is Guaranteed with 2 CPUs. */
static void running_containers_are_compared(void **state)
{
	Nri__Response *response = play_until("containerd-1.7.24", 'B', "Synchronize");
	Nri__Updates *answer;

	assert_null(response->status);
	assert_true(scene->is_ready);
	answer = nri__updates__unpack(NULL, response->payload.len, response->payload.data);
	assert_true(answer->n_update > 0);
	for (size_t i = 0; i < answer->n_update; i++)
		assert_true(answer->update[i]->ignore_failure);
	assert_int_equal(nr_rows(scene->controller, "pod"), 1);
	nri__updates__free_unpacked(answer, NULL);
	nri__response__free_unpacked(response, NULL);
}

static void a_pod_that_stops_is_released(void **state)
{
	nri__response__free_unpacked(play_until("containerd-2.1.9", 'B', "Synchronize"), NULL);
	assert_int_equal(nr_rows(scene->controller, "pod"), 1);
	close_scene(state);
	open_scene(state);
	{
		struct recording recording;

		recording_read("containerd-2.1.9", 'B', &recording);
		for (size_t i = 0; i < recording.nr; i++)
			if (recording.frames[i].by_runtime)
				send_frame(&recording.frames[i]);
		recording_free(&recording);
	}
	assert_int_equal(nr_rows(scene->controller, "pod"), 0);
}

static void a_refusal_is_a_status_with_the_reason(void **state)
{
	Nri__Response *response;

	/* Fewer CPUs than the container of session A asks for. */
	tell_online(scene->controller, "0-2");
	response = play_until("containerd-2.1.9", 'A', "CreateContainer");
	assert_non_null(response->status);
	assert_non_null(strstr(response->status->message, "pinfold: "));
	assert_non_null(strstr(response->status->message, "2 exclusive CPUs"));
	assert_int_equal(nr_rows(scene->controller, "pod"), 0);
	nri__response__free_unpacked(response, NULL);
}

/* The CPUs that the answer to the recorded update of the container with 2 CPUs has for it. */
static void expect_recorded_update(const char *runtime, const char *cpus)
{
	Nri__Response *response = play_until(runtime, 'A', "UpdateContainer");
	Nri__Updates *answer;

	assert_null(response->status);
	answer = nri__updates__unpack(NULL, response->payload.len, response->payload.data);
	assert_int_equal(answer->n_update, 1);
	assert_string_equal(answer->update[0]->on_linux->resources->cpu->cpus, cpus);
	nri__updates__free_unpacked(answer, NULL);
	nri__response__free_unpacked(response, NULL);
}

/* It was recorded with shares of 4 CPUs and the quota of 3, which no kubelet states. */
static void a_recorded_update_is_a_resize_if_its_amounts_agree(void **state)
{
	static const char *const runtimes[] = {"containerd-1.7.24", "containerd-2.1.9"};

	for (size_t i = 0; i < ARRAY_SIZE(runtimes) * 2; i++) {
		scene->has_quota_of_shares = i % 2;
		expect_recorded_update(runtimes[i / 2], i % 2 ? "2-5" : "2-3");
		close_scene(state);
		open_scene(state);
	}
}

/* Every other event would delay the start of pods for nothing. */
static void only_events_that_lead_to_a_decision_are_subscribed_to(void **state)
{
	static const enum nri_event wanted[] = {
		NRI_EVENT_STOP_POD,
		NRI_EVENT_REMOVE_POD,
		NRI_EVENT_CREATE_CONTAINER,
		NRI_EVENT_UPDATE_CONTAINER,
		NRI_EVENT_STOP_CONTAINER,
		NRI_EVENT_REMOVE_CONTAINER,
		NRI_EVENT_POST_UPDATE_CONTAINER,
	};
	Nri__Response *response = play_until("containerd-2.1.9", 'A', "Configure");
	Nri__ConfigureResponse *answer = nri__configure_response__unpack(
		NULL, response->payload.len, response->payload.data);
	uint32_t mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		mask |= NRI_EVENT_BIT(wanted[i]);
	assert_int_equal(answer->events, mask);
	nri__configure_response__free_unpacked(answer, NULL);
	nri__response__free_unpacked(response, NULL);
}

/* Without any, the runtime would give up the session. */
static void instead_of_an_answer_that_is_too_long_an_empty_one_is_sent(void **state)
{
	Nri__Response *response;

	scene->is_verbose = true;
	response = play_until("containerd-2.1.9", 'A', "CreateContainer");
	assert_null(response->status);
	assert_int_equal(response->payload.len, 0);
	nri__response__free_unpacked(response, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
	const struct CMUnitTest tests[] = {
		TEST(a_guaranteed_container_gets_its_cpus),
		TEST(running_containers_are_compared),
		TEST(a_pod_that_stops_is_released),
		TEST(a_refusal_is_a_status_with_the_reason),
		TEST(instead_of_an_answer_that_is_too_long_an_empty_one_is_sent),
		TEST(a_recorded_update_is_a_resize_if_its_amounts_agree),
		TEST(only_events_that_lead_to_a_decision_are_subscribed_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
