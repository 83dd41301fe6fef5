// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri format core lib
/* The plugin against a runtime that is played on the other end of a real socket. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/text.h"
#include "lib/clock.h"
#include "nri.pb-c.h"
#include "nri/wire.h"
#include "runtime/plugin.h"

#include "../lib/nri_recording.h"

#define PLUGIN_SERVICE "nri.pkg.api.v1alpha1.Plugin"
#define BIG	       (1U << 20) /* bytes; more than a socket takes at once */

struct scene {
	char directory[64], path[96];
	sd_event *event;
	struct plugin_sink sink;
	struct plugin *plugin;
	struct text log;
	const char *synchronized_cpus; /* the answer to Synchronize; NULL = no update */
	bool keeps_requests;	       /* creations are not answered */
	uint32_t request;	       /* the last creation */
	int listener, fd;	       /* the runtime's; -1 = none */
	uint32_t stream;
};

/* --- the sink --------------------------------------------------------------------------------- */

static uint32_t configure(void *data, const struct nri_runtime *runtime)
{
	return 0;
}

static void synchronize(void *data, uint32_t request, const struct nri_snapshot *snapshot)
{
	struct scene *scene = data;
	struct nri_update updates[8];
	struct nri_answer answer = {.updates = updates};

	for (size_t i = 0; scene->synchronized_cpus && i < snapshot->nr_containers; i++)
		updates[answer.nr_updates++] = (struct nri_update){
			snapshot->containers[i].id, scene->synchronized_cpus, "", false};
	text_printf(&scene->log, "synchronize %zu\n", snapshot->nr_containers);
	assert_int_equal(plugin_answer(scene->plugin, request, &answer), 0);
}

static void create_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container)
{
	struct scene *scene = data;

	text_printf(&scene->log, "create %s\n", container->id);
	scene->request = request;
	if (!scene->keeps_requests)
		assert_int_equal(plugin_answer(scene->plugin, request, &(struct nri_answer){0}), 0);
}

static void update_container(void *data, uint32_t request, const struct nri_pod *pod,
			     const struct nri_container *container,
			     const struct nri_resources *wanted)
{
	struct scene *scene = data;

	assert_int_equal(plugin_answer(scene->plugin, request, &(struct nri_answer){0}), 0);
}

static void stop_container(void *data, uint32_t request, const struct nri_pod *pod,
			   const struct nri_container *container)
{
	update_container(data, request, pod, container, NULL);
}

static void container_event(void *data, enum nri_event event, const struct nri_pod *pod,
			    const struct nri_container *container)
{
}

static void pod_event(void *data, enum nri_event event, const struct nri_pod *pod)
{
}

static void updated(void *data, int32_t code, const char *text)
{
}

static void ended(void *self)
{
	struct scene *scene = self;

	text_append(&scene->log, "ended\n");
}

/* Without the path, which differs in each run. */
static void changed(void *self, const struct plugin_status *status)
{
	struct scene *scene = self;
	const char *at = strstr(status->message, scene->path);

	if (status->state == PLUGIN_READY)
		text_append(&scene->log, "ready\n");
	else
		text_printf(&scene->log, "%.*sPATH%s\n", (int)(at - status->message),
			    status->message, at + strlen(scene->path));
}

/* --- the scene -------------------------------------------------------------------------------- */

static void listen_at(struct scene *scene)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	text_copy(address.sun_path, sizeof(address.sun_path), scene->path);
	scene->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(scene->listener >= 0);
	assert_int_equal(bind(scene->listener, (const struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(scene->listener, 4), 0);
}

static void open_plugin(struct scene *scene, const char *name, const char *index)
{
	const struct plugin_options options = {
		.event = scene->event,
		.socket = scene->path,
		.nri = {.name = name, .index = index, .nri_version = ""},
		.sink = &scene->sink,
	};

	assert_int_equal(plugin_open(&options, &scene->plugin), 0);
}

static void accept_plugin(struct scene *scene)
{
	scene->fd = accept4(scene->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(scene->fd >= 0);
}

static void hang_up(struct scene *scene)
{
	close(scene->fd);
	scene->fd = -1;
}

static void set_up(struct scene *scene)
{
	*scene = (struct scene){.directory = "/tmp/pinfold-plugin-XXXXXX",
				.listener = -1,
				.fd = -1,
				.stream = 1000001};
	assert_non_null(mkdtemp(scene->directory));
	snprintf(scene->path, sizeof(scene->path), "%s/nri.sock", scene->directory);
	assert_true(sd_event_new(&scene->event) >= 0);
	scene->sink = (struct plugin_sink){
		.self = scene,
		.callbacks = {configure, synchronize, create_container, update_container,
			      stop_container, container_event, pod_event, updated},
		.ended = ended,
		.changed = changed,
	};
}

static void tear_down(struct scene *scene)
{
	plugin_close(scene->plugin);
	sd_event_unref(scene->event);
	cleanup_close_fd(&scene->fd);
	cleanup_close_fd(&scene->listener);
	unlink(scene->path);
	rmdir(scene->directory);
	text_fini(&scene->log);
}
#define cleanup_scene cleanup(tear_down)

#define SCENE(name)                      \
	struct scene name cleanup_scene; \
	set_up(&(name))

/* Dispatch until the runtime's end has this many bytes to read. */
static void run_until_readable(struct scene *scene, size_t len, uint8_t *buffer)
{
	size_t at = 0;

	while (at < len) {
		ssize_t got = recv(scene->fd, buffer + at, len - at, MSG_DONTWAIT);

		if (got > 0)
			at += (size_t)got;
		else
			assert_true(sd_event_run(scene->event, UINT64_MAX) > 0);
	}
}

static void run_until_logged(struct scene *scene, const char *line)
{
	while (!scene->log.data || !strstr(scene->log.data, line))
		assert_true(sd_event_run(scene->event, UINT64_MAX) > 0);
}

/* Dispatch what is due and no more. */
static void run_what_is_due(struct scene *scene)
{
	while (sd_event_run(scene->event, 0) > 0)
		;
}

/* The runtime's frames are sent in pieces; the plugin's must be those recorded. */
static void play(struct scene *scene, char session, size_t piece, size_t nr_frames)
{
	struct recording recording;

	recording_read("containerd-2.1.9", session, &recording);
	for (size_t i = 0; i < recording.nr && i < nr_frames; i++) {
		const struct recorded_frame *frame = &recording.frames[i];

		if (frame->by_runtime) {
			for (size_t at = 0; at < frame->len; at += piece) {
				size_t len = frame->len - at < piece ? frame->len - at : piece;

				assert_int_equal(send(scene->fd, frame->data + at, len, 0), len);
				run_what_is_due(scene);
			}
		} else {
			uint8_t *buffer = malloc(frame->len);

			assert_non_null(buffer);
			run_until_readable(scene, frame->len, buffer);
			assert_memory_equal(buffer, frame->data, frame->len);
			free(buffer);
		}
	}
	recording_free(&recording);
}

/* 0 is a number that a mistake can close. */
static void open_input(void)
{
	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
}

/* --- tests ------------------------------------------------------------------------------------ */

#define AT_END "the session with the container runtime at PATH ended: "

static void a_recorded_session_passes_through_the_socket(void **state)
{
	static const size_t pieces[] = {SIZE_MAX / 2, 7};

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		SCENE(scene);

		scene.synchronized_cpus = "6-7";
		listen_at(&scene);
		open_plugin(&scene, "probeb", "20");
		assert_int_equal(plugin_status(scene.plugin)->state, PLUGIN_STARTING);
		accept_plugin(&scene);
		play(&scene, 'B', pieces[i], SIZE_MAX);
		assert_int_equal(plugin_status(scene.plugin)->state, PLUGIN_READY);
		hang_up(&scene);
		/* Of an earlier call: at the end recv() does not set it. */
		errno = EAGAIN;
		run_until_logged(&scene, "ended: ");
		assert_string_equal(scene.log.data, "synchronize 2\nready\nended\n" AT_END
						    "the runtime closed the connection\n");
		assert_int_equal(plugin_status(scene.plugin)->state, PLUGIN_WAITING);
		assert_int_equal(plugin_status(scene.plugin)->nr_failures, 1);
	}
}

static void it_connects_again_and_synchronizes_anew(void **state)
{
	SCENE(scene);

	scene.synchronized_cpus = "6-7";
	listen_at(&scene);
	open_plugin(&scene, "probeb", "20");
	for (int i = 0; i < 2; i++) {
		accept_plugin(&scene);
		play(&scene, 'B', SIZE_MAX / 2, SIZE_MAX);
		/* not while it is connected */
		plugin_connect(scene.plugin);
		hang_up(&scene);
		run_until_logged(&scene, "ended: ");
		text_fini(&scene.log);
		plugin_connect(scene.plugin);
		assert_int_equal(plugin_status(scene.plugin)->state, PLUGIN_STARTING);
	}
	accept_plugin(&scene);
}

/* The timer connects, without plugin_connect(). */
static void it_connects_by_itself_after_the_pause(void **state)
{
	SCENE(scene);

	open_plugin(&scene, "probeb", "20");
	assert_int_equal(plugin_status(scene.plugin)->state, PLUGIN_WAITING);
	listen_at(&scene);
	while (plugin_status(scene.plugin)->state == PLUGIN_WAITING)
		assert_true(sd_event_run(scene.event, UINT64_MAX) > 0);
	accept_plugin(&scene);
}

static void each_reason_is_reported_once(void **state)
{
	SCENE(scene);

	open_input();
	open_plugin(&scene, "probe", "10");
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	plugin_connect(scene.plugin);
	plugin_connect(scene.plugin);
	assert_int_equal(plugin_status(scene.plugin)->nr_failures, 3);
	assert_string_equal(scene.log.data, "cannot connect to the container runtime at PATH: No "
					    "such file or directory\n");
	listen_at(&scene);
	close(scene.listener);
	scene.listener = -1;
	plugin_connect(scene.plugin);
	plugin_connect(scene.plugin);
	assert_string_equal(
		scene.log.data,
		"cannot connect to the container runtime at PATH: No such file or "
		"directory\n"
		"cannot connect to the container runtime at PATH: Connection refused\n");
	assert_string_equal(plugin_status(scene.plugin)->remedy,
			    "start the runtime and enable NRI in its configuration, or remove "
			    "sources.nri");
	assert_int_equal(plugin_status(scene.plugin)->nr_failures, 5);
	/* The next attempt is due after 16 s. */
	run_what_is_due(&scene);
	assert_int_equal(plugin_status(scene.plugin)->nr_failures, 5);
}

static void without_a_free_descriptor_it_says_so(void **state)
{
	struct rlimit before, now;
	SCENE(scene);

	open_plugin(&scene, "probe", "10");
	text_fini(&scene.log);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	plugin_connect(scene.plugin);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_string_equal(
		scene.log.data,
		"cannot connect to the container runtime at PATH: Too many open files\n");
}

static void a_refused_registration_is_reported(void **state)
{
	SCENE(scene);

	listen_at(&scene);
	open_plugin(&scene, "probe", "5");
	accept_plugin(&scene);
	play(&scene, 'C', SIZE_MAX / 2, SIZE_MAX);
	run_until_logged(&scene, "ended: ");
	assert_string_equal(scene.log.data,
			    "ended\n" AT_END
			    "the runtime refused the registration: invalid plugin index: invalid "
			    "plugin index \"5\", must be 2 digits\n");
	assert_string_equal(plugin_status(scene.plugin)->remedy,
			    "see the runtime's log for why it refuses plugins");
}

static void the_pause_doubles_up_to_its_limit(void **state)
{
	assert_int_equal(plugin_pause_ns(1), PLUGIN_RETRY_MIN_NS);
	for (uint32_t i = 1; i < 100; i++) {
		uint64_t now = plugin_pause_ns(i), next = plugin_pause_ns(i + 1);

		assert_true(next == 2 * now || next == PLUGIN_RETRY_MAX_NS);
		assert_true(next >= now && next <= PLUGIN_RETRY_MAX_NS);
	}
	assert_int_equal(plugin_pause_ns(UINT32_MAX), PLUGIN_RETRY_MAX_NS);
}

/* --- late and large answers ------------------------------------------------------------------- */

static void send_request(struct scene *scene, const char *method, int64_t timeout_ns,
			 const ProtobufCMessage *content)
{
	Nri__Request request = NRI__REQUEST__INIT;
	struct nri_output output = {0};
	uint8_t payload[256], packed[512];
	struct nri_message message = {NRI_CONNECTION_PLUGIN, scene->stream += 2,
				      NRI_MESSAGE_REQUEST, packed, 0};

	request.service = (char *)(uintptr_t)PLUGIN_SERVICE;
	request.method = (char *)(uintptr_t)method;
	request.timeout_nano = timeout_ns;
	request.payload.data = payload;
	request.payload.len = protobuf_c_message_pack(content, payload);
	message.len = protobuf_c_message_pack(&request.base, packed);
	assert_int_equal(nri_output_add(&output, &message), 0);
	assert_int_equal(send(scene->fd, output.data, output.end, 0), output.end);
	nri_output_fini(&output);
}

static void send_create(struct scene *scene, int64_t timeout_ns)
{
	Nri__Container container = NRI__CONTAINER__INIT;
	Nri__ContainerEventRequest create = NRI__CONTAINER_EVENT_REQUEST__INIT;

	container.id = (char *)(uintptr_t) "c9";
	create.container = &container;
	send_request(scene, "CreateContainer", timeout_ns, &create.base);
}

/* Up to the end of Synchronize in session A, which has no container yet. */
#define START_FRAMES 6

static void start(struct scene *scene)
{
	scene->keeps_requests = true;
	listen_at(scene);
	open_plugin(scene, "probe", "10");
	accept_plugin(scene);
	play(scene, 'A', SIZE_MAX / 2, START_FRAMES);
	run_until_logged(scene, "ready");
}

#define MS 1000000LL
/* Of the runtime for Synchronize. */
#define TIMEOUT_MS 500

static void send_synchronize(struct scene *scene)
{
	const Nri__SynchronizeRequest synchronize = NRI__SYNCHRONIZE_REQUEST__INIT;

	send_request(scene, "Synchronize", TIMEOUT_MS * MS, &synchronize.base);
}

/* Up to the answer to Configure. */
static void start_without_synchronize(struct scene *scene)
{
	listen_at(scene);
	open_plugin(scene, "probe", "10");
	accept_plugin(scene);
	play(scene, 'A', SIZE_MAX / 2, START_FRAMES - 2);
}

static uint64_t clock_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

/*
 * The runtime's time runs since it sent. It has given the plugin up, says so to nobody, and leaves the
 * connection open.
 */
static void a_request_that_waited_for_the_loop_was_sent_before(void **state)
{
	SCENE(scene);

	start_without_synchronize(&scene);
	run_what_is_due(&scene);
	send_synchronize(&scene);
	/* the loop is busy, or has no CPU */
	usleep((TIMEOUT_MS + 100) * 1000);
	while (plugin_status(scene.plugin)->state == PLUGIN_STARTING)
		assert_true(sd_event_run(scene.event, UINT64_MAX) > 0);
	assert_string_equal(scene.log.data,
			    "synchronize 0\nended\n" AT_END
			    "an answer was not sent before the runtime's timeout\n");
	/* It connects again and synchronizes. */
	hang_up(&scene);
	text_fini(&scene.log);
	plugin_connect(scene.plugin);
	accept_plugin(&scene);
	play(&scene, 'A', SIZE_MAX / 2, START_FRAMES);
	run_until_logged(&scene, "ready");
}

static void a_request_that_comes_late_is_in_time(void **state)
{
	const uint64_t end = clock_ms() + 2 * TIMEOUT_MS;
	SCENE(scene);

	start_without_synchronize(&scene);
	while (clock_ms() < end)
		assert_true(sd_event_run(scene.event, 10000) >= 0);
	send_synchronize(&scene);
	run_until_logged(&scene, "ready");
	assert_string_equal(scene.log.data, "synchronize 0\nready\n");
}

static void an_answer_that_is_never_given_ends_the_session(void **state)
{
	SCENE(scene);

	start(&scene);
	send_create(&scene, 1000000);
	run_until_logged(&scene, "ended: ");
	assert_non_null(strstr(scene.log.data, "create c9\nended\n" AT_END));
	assert_int_equal(plugin_answer(scene.plugin, scene.request, &(struct nri_answer){0}),
			 -ENOTCONN);
}

static void the_plugin_closes_its_end_once(void **state)
{
	uint8_t byte;
	ssize_t got;
	int next;
	SCENE(scene);

	open_input();
	start(&scene);
	send_create(&scene, 1000000);
	run_until_logged(&scene, "ended: ");
	do
		got = recv(scene.fd, &byte, 1, MSG_DONTWAIT);
	while (got == 1);
	assert_int_equal(got, 0);
	/* The lowest free number, which was the plugin's. */
	next = dup(scene.listener);
	assert_true(next >= 0);
	plugin_close(TAKE_PTR(scene.plugin));
	assert_true(fcntl(next, F_GETFD) >= 0);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	close(next);
}

static void a_runtime_that_does_not_read_is_left(void **state)
{
	SCENE(scene);

	start(&scene);
	send_create(&scene, 0);
	run_until_logged(&scene, "create c9");
	text_fini(&scene.log);
	assert_int_equal(shutdown(scene.fd, SHUT_RD), 0);
	assert_int_equal(plugin_answer(scene.plugin, scene.request, &(struct nri_answer){0}), 0);
	run_until_logged(&scene, "pipe");
	assert_string_equal(scene.log.data, "ended\ncannot write to the container runtime at PATH: "
					    "Broken pipe\n");
	assert_string_equal(plugin_status(scene.plugin)->remedy,
			    "see the runtime's log; the agent connects again");
}

static void a_later_answer_is_sent_by_the_loop(void **state)
{
	const struct nri_adjustment adjustment = {.cpus = "2-3", .mems = "0"};
	struct nri_reader reader = {0};
	struct nri_message message;
	uint8_t byte;
	const uint8_t *data;
	size_t len;
	SCENE(scene);

	start(&scene);
	send_create(&scene, 0);
	run_until_logged(&scene, "create c9");
	assert_int_equal(plugin_answer(scene.plugin, scene.request,
				       &(struct nri_answer){.adjustment = &adjustment}),
			 0);
	do {
		run_until_readable(&scene, 1, &byte);
		data = &byte;
		len = 1;
	} while (!nri_reader_next(&reader, &data, &len, &message));
	assert_int_equal(message.stream, scene.stream);
	assert_int_equal(message.len, 18);
	nri_reader_fini(&reader);
}

/* More than the socket takes: the rest is sent when the runtime reads. */
static void a_large_answer_is_sent_in_parts(void **state)
{
	char *value = malloc(BIG + 1);
	const struct nri_pair pair = {"big", value};
	const struct nri_adjustment adjustment = {.cpus = "", .mems = "", {&pair, 1}};
	struct nri_reader reader = {0};
	struct nri_message message;
	int r = 0;
	SCENE(scene);

	assert_non_null(value);
	memset(value, 'x', BIG);
	value[BIG] = '\0';
	start(&scene);
	send_create(&scene, 0);
	run_until_logged(&scene, "create c9");
	assert_int_equal(plugin_answer(scene.plugin, scene.request,
				       &(struct nri_answer){.adjustment = &adjustment}),
			 0);
	run_what_is_due(&scene);
	while (!r) {
		uint8_t bytes[4096];
		ssize_t got = recv(scene.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		const uint8_t *data = bytes;
		size_t len = got > 0 ? (size_t)got : 0;

		if (got <= 0)
			assert_true(sd_event_run(scene.event, UINT64_MAX) > 0);
		else
			r = nri_reader_next(&reader, &data, &len, &message);
	}
	assert_int_equal(r, 1);
	assert_true(message.len > BIG);
	nri_reader_fini(&reader);
	free(value);
}

static void a_path_must_fit_a_socket(void **state)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	struct plugin *plugin = NULL;
	struct plugin_options options = {.socket = path};
	SCENE(scene);

	options.event = scene.event;
	options.sink = &scene.sink;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(plugin_open(&options, &plugin), -ENAMETOOLONG);
	assert_null(plugin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recorded_session_passes_through_the_socket),
		cmocka_unit_test(it_connects_again_and_synchronizes_anew),
		cmocka_unit_test(it_connects_by_itself_after_the_pause),
		cmocka_unit_test(each_reason_is_reported_once),
		cmocka_unit_test(without_a_free_descriptor_it_says_so),
		cmocka_unit_test(a_refused_registration_is_reported),
		cmocka_unit_test(the_pause_doubles_up_to_its_limit),
		cmocka_unit_test(a_request_that_waited_for_the_loop_was_sent_before),
		cmocka_unit_test(a_request_that_comes_late_is_in_time),
		cmocka_unit_test(an_answer_that_is_never_given_ends_the_session),
		cmocka_unit_test(the_plugin_closes_its_end_once),
		cmocka_unit_test(a_runtime_that_does_not_read_is_left),
		cmocka_unit_test(a_later_answer_is_sent_by_the_loop),
		cmocka_unit_test(a_large_answer_is_sent_in_parts),
		cmocka_unit_test(a_path_must_fit_a_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
