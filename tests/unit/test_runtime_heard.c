// SPDX-License-Identifier: Apache-2.0
// LIBS: runtime nri format core lib
/*
 * What the sink of a source hears if a runtime says this or that, line by line. The runtime is
 * played on the other end of a real socket; its first frames are recorded ones of containerd.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "lib/text.h"
#include "nri.pb-c.h"
#include "nri/wire.h"
#include "runtime/source.h"

#include "../lib/nri_recording.h"

#define GUARANTEED "/kubepods/pod1111"
#define BURSTABLE  "/kubepods/burstable/pod2222"
#define PAYLOAD	   4096 /* bytes; more than any message here */
#define NOTHING	   (&(struct runtime_answer){.cpus = ""})

struct scene {
	char directory[64], path[96];
	sd_event *event;
	int listener, fd; /* the runtime's */
	struct source *source;
	struct runtime_sink sink;
	struct text heard;
	bool keeps_requests; /* none is answered by the sink */
	uint32_t stream;
};

static struct scene *scene;

/* --- the sink --------------------------------------------------------------------------------- */

static void answer(uint32_t request)
{
	if (!scene->keeps_requests)
		assert_int_equal(source_answer(scene->source, request, NOTHING), 0);
}

static void hear_pod(const struct runtime_pod *pod)
{
	text_printf(&scene->heard, "pod '%s' %s%s%s\n", pod->id,
		    pod->spec ? pod->spec->name : pod->error,
		    pod->spec && pod->spec->has_pod_resources ? ", pod-level" : "",
		    pod->is_stopped ? ", stopped" : "");
}

static void hear_container(const struct runtime_container *container)
{
	text_printf(&scene->heard, "container '%s' %s on '%s' in ", container->id,
		    container->spec ? container->spec->name : container->error, container->cpus);
	if (container->cgroup)
		text_printf(&scene->heard, "%s of ", container->cgroup);
	hear_pod(container->pod);
}

static void synchronized(void *self, uint32_t request, const struct runtime_snapshot *snapshot)
{
	text_append(&scene->heard, "synchronized\n");
	for (uint32_t i = 0; i < snapshot->nr_pods; i++)
		hear_pod(&snapshot->pods[i]);
	for (uint32_t i = 0; i < snapshot->nr_containers; i++)
		hear_container(&snapshot->containers[i]);
	assert_int_equal(source_answer(scene->source, request, NOTHING), 0);
}

static void created(void *self, uint32_t request, const struct runtime_container *container)
{
	text_append(&scene->heard, "created ");
	hear_container(container);
	answer(request);
}

static void resized(void *self, uint32_t request, const struct runtime_container *container,
		    bool states_amounts)
{
	const struct resources *amounts = &container->spec->limit;

	text_printf(&scene->heard, "resized to %" PRId64 "m and %" PRId64 " bytes, %s ",
		    amounts->cpu_mcpu, amounts->memory_bytes, states_amounts ? "stated" : "as is");
	hear_container(container);
	answer(request);
}

static void updated(void *self, const char *container_id)
{
	text_printf(&scene->heard, "updated %s\n", container_id);
}

static void stopped(void *self, uint32_t request, const char *container_id)
{
	text_printf(&scene->heard, "stopped %s\n", container_id);
	answer(request);
}

static void removed(void *self, const char *container_id)
{
	text_printf(&scene->heard, "removed %s\n", container_id);
}

static void pod_stopped(void *self, const char *pod_id)
{
	text_printf(&scene->heard, "pod stopped %s\n", pod_id);
}

static void ended(void *self)
{
	text_append(&scene->heard, "ended\n");
}

static void changed(void *data, const struct plugin_status *status)
{
}

/* --- the runtime ------------------------------------------------------------------------------ */

static void run_what_is_due(void)
{
	while (sd_event_run(scene->event, 0) > 0)
		;
}

static void accept_source(void)
{
	scene->fd = accept4(scene->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(scene->fd >= 0);
}

/* What containerd sends before Synchronize: the answer to the registration, and Configure. */
static void play_beginning(void)
{
	static const char end[] = "Synchronize";
	struct recording recording;

	recording_read("containerd-2.1.9", 'A', &recording);
	for (size_t i = 0; i < recording.nr; i++) {
		const struct recorded_frame *frame = &recording.frames[i];

		if (!frame->by_runtime)
			continue;
		if (memmem(frame->data, frame->len, end, strlen(end)))
			break;
		assert_int_equal(send(scene->fd, frame->data, frame->len, 0), frame->len);
		run_what_is_due();
	}
	recording_free(&recording);
}

static char *word(const char *text)
{
	return (char *)(uintptr_t)text;
}

static void send_request(const char *method, const ProtobufCMessage *payload)
{
	Nri__Request request = NRI__REQUEST__INIT;
	struct nri_output output = {0};
	uint8_t bytes[PAYLOAD], packed[2 * PAYLOAD];
	struct nri_message message = {NRI_CONNECTION_PLUGIN, scene->stream += 2,
				      NRI_MESSAGE_REQUEST, packed, 0};

	assert_true(protobuf_c_message_get_packed_size(payload) <= sizeof(bytes));
	request.service = word("nri.pkg.api.v1alpha1.Plugin");
	request.method = word(method);
	request.payload.data = bytes;
	request.payload.len = protobuf_c_message_pack(payload, bytes);
	message.len = protobuf_c_message_pack(&request.base, packed);
	assert_int_equal(nri_output_add(&output, &message), 0);
	assert_int_equal(send(scene->fd, output.data, output.end, 0), output.end);
	nri_output_fini(&output);
	run_what_is_due();
}

/* A pod with everything that it points to; make_pod() connects the parts. */
struct pod {
	Nri__PodSandbox sandbox;
	Nri__LinuxPodSandbox on_linux;
};

static Nri__PodSandbox *make_pod(struct pod *pod, const char *id, const char *name,
				 const char *cgroup_parent)
{
	nri__pod_sandbox__init(&pod->sandbox);
	nri__linux_pod_sandbox__init(&pod->on_linux);
	pod->sandbox.id = word(id);
	pod->sandbox.name = word(name);
	pod->sandbox.uid = word("1111");
	pod->sandbox.namespace_ = word("default");
	pod->sandbox.on_linux = &pod->on_linux;
	pod->on_linux.cgroup_parent = word(cgroup_parent);
	return &pod->sandbox;
}

/* A container with 1 CPU and 1 MiB, or without any resources. */
struct container {
	Nri__Container row;
	Nri__LinuxContainer on_linux;
	Nri__LinuxResources resources;
	Nri__LinuxCPU cpu;
	Nri__LinuxMemory memory;
	Nri__OptionalUInt64 shares;
	Nri__OptionalInt64 limit;
};

static Nri__Container *make_container(struct container *container, const char *id, const char *pod,
				      const char *name, const char *cpus)
{
	nri__container__init(&container->row);
	nri__linux_container__init(&container->on_linux);
	nri__linux_resources__init(&container->resources);
	nri__linux_cpu__init(&container->cpu);
	nri__linux_memory__init(&container->memory);
	nri__optional_uint64__init(&container->shares);
	nri__optional_int64__init(&container->limit);
	container->row.id = word(id);
	container->row.pod_sandbox_id = word(pod);
	container->row.name = word(name);
	container->row.on_linux = &container->on_linux;
	container->on_linux.resources = &container->resources;
	container->resources.cpu = &container->cpu;
	container->resources.memory = &container->memory;
	container->cpu.cpus = word(cpus);
	container->cpu.shares = &container->shares;
	container->shares.value = 1024;
	container->memory.limit = &container->limit;
	container->limit.value = 1024 * 1024;
	return &container->row;
}

static Nri__Container *make_unlimited(struct container *container, const char *id, const char *pod)
{
	make_container(container, id, pod, "unlimited", "");
	container->on_linux.resources = NULL;
	return &container->row;
}

static void synchronize(Nri__PodSandbox **pods, size_t nr_pods, Nri__Container **containers,
			size_t nr_containers)
{
	Nri__SynchronizeRequest request = NRI__SYNCHRONIZE_REQUEST__INIT;

	request.pods = pods;
	request.n_pods = nr_pods;
	request.containers = containers;
	request.n_containers = nr_containers;
	send_request("Synchronize", &request.base);
}

/* The session up to here, of which the sink need not hear again. */
static void start(void)
{
	play_beginning();
	synchronize(NULL, 0, NULL, 0);
	assert_string_equal(scene->heard.data, "synchronized\n");
	text_fini(&scene->heard);
}

static void ask(const char *method, Nri__PodSandbox *pod, Nri__Container *container)
{
	Nri__ContainerRequest request = NRI__CONTAINER_REQUEST__INIT;

	request.pod = pod;
	request.container = container;
	send_request(method, &request.base);
}

/* The next answer of the source; free with nri__response__free_unpacked(). */
static Nri__Response *receive(struct nri_reader *reader, uint32_t stream)
{
	for (;;) {
		struct nri_message message;
		uint8_t byte;
		const uint8_t *data = &byte;
		size_t len = 1;

		if (recv(scene->fd, &byte, 1, MSG_DONTWAIT) != 1)
			assert_true(sd_event_run(scene->event, UINT64_MAX) > 0);
		else if (nri_reader_next(reader, &data, &len, &message) == 1 &&
			 message.connection == NRI_CONNECTION_PLUGIN && message.stream == stream)
			return nri__response__unpack(NULL, message.len, message.data);
	}
}

static int open_scene(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	strcpy(scene->directory, "/tmp/pinfold-heard-XXXXXX");
	assert_non_null(mkdtemp(scene->directory));
	snprintf(scene->path, sizeof(scene->path), "%s/nri.sock", scene->directory);
	text_copy(address.sun_path, sizeof(address.sun_path), scene->path);
	scene->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(scene->listener, (const struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(scene->listener, 1), 0);
	assert_true(sd_event_new(&scene->event) >= 0);
	scene->stream = 1000001;
	scene->sink = (struct runtime_sink){
		.synchronized = synchronized,
		.created = created,
		.resized = resized,
		.updated = updated,
		.stopped = stopped,
		.removed = removed,
		.pod_stopped = pod_stopped,
		.ended = ended,
	};
	assert_int_equal(source_open(&(struct source_options){.event = scene->event,
							      .socket = scene->path,
							      .sink = &scene->sink,
							      .changed = changed},
				     &scene->source),
			 0);
	accept_source();
	return 0;
}

static int close_scene(void **state)
{
	source_close(scene->source);
	sd_event_unref(scene->event);
	close(scene->fd);
	close(scene->listener);
	unlink(scene->path);
	rmdir(scene->directory);
	text_fini(&scene->heard);
	free(scene);
	return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void each_container_is_told_with_its_pod(void **state)
{
	struct pod pods[3];
	struct container containers[5];
	Nri__PodSandbox *pod_rows[] = {
		make_pod(&pods[0], "p1", "first", BURSTABLE),
		make_pod(&pods[1], "p2", "second", GUARANTEED),
		make_pod(&pods[2], "p3", "a/b", GUARANTEED),
	};
	Nri__Container *container_rows[] = {
		make_container(&containers[0], "c1", "p2", "app", "2-3"),
		make_container(&containers[1], "c2", "p1", "a/b", ""),
		make_container(&containers[2], "c3", "gone", "app", ""),
		make_container(&containers[3], "c4", "p3", "app", "7"),
		make_container(&containers[4], "c5", "p2", "app", "4"),
	};

	play_beginning();
	synchronize(pod_rows, 3, container_rows, 5);
	assert_string_equal(
		scene->heard.data,
		"synchronized\n"
		"pod 'p1' first\n"
		"pod 'p2' second\n"
		"pod 'p3' invalid pod name 'a/b': expected up to 253 letters, digits and any of "
		"'-.'\n"
		"container 'c1' app on '2-3' in pod 'p2' second\n"
		"container 'c2' invalid container name 'a/b': expected up to 63 letters, digits "
		"and any of '-' on '' in pod 'p1' first\n"
		"container 'c3' app on '' in pod '' invalid pod uid '': expected up to 63 "
		"letters, digits and any of '-'\n"
		"container 'c4' app on '7' in pod 'p3' invalid pod name 'a/b': expected up to 253 "
		"letters, digits and any of '-.'\n"
		"container 'c5' app on '4' in pod 'p2' second\n");
}

static void the_path_of_a_cgroup_is_told_if_it_is_known(void **state)
{
	struct pod pod;
	struct container containers[3];
	Nri__PodSandbox *pods[] = {make_pod(&pod, "p", "first", BURSTABLE)};
	Nri__Container *rows[] = {
		make_container(&containers[0], "c1", "p", "app", ""),
		make_container(&containers[1], "c2", "p", "app", ""),
		make_container(&containers[2], "c3", "p", "app", ""),
	};

	containers[0].on_linux.cgroups_path = word("/kubepods/burstable/pod1111/c1");
	containers[1].on_linux.cgroups_path =
		word("kubepods-burstable-pod1111.slice:cri-containerd:c2");
	containers[2].on_linux.cgroups_path = word("/a/../b");
	play_beginning();
	synchronize(pods, 1, rows, 3);
	assert_string_equal(
		scene->heard.data,
		"synchronized\n"
		"pod 'p' first\n"
		"container 'c1' app on '' in kubepods/burstable/pod1111/c1 of pod 'p' first\n"
		"container 'c2' app on '' in kubepods.slice/kubepods-burstable.slice/"
		"kubepods-burstable-pod1111.slice/cri-containerd-c2.scope of pod 'p' first\n"
		"container 'c3' app on '' in pod 'p' first\n");
}

/* A sandbox that has stopped has no process; where none has one, the runtime does not say. */
static void a_sandbox_without_a_process_has_stopped(void **state)
{
	struct pod pods[2];
	Nri__PodSandbox *rows[] = {
		make_pod(&pods[0], "p1", "first", BURSTABLE),
		make_pod(&pods[1], "p2", "second", BURSTABLE),
	};

	play_beginning();
	synchronize(rows, 2, NULL, 0);
	assert_string_equal(scene->heard.data, "synchronized\n"
					       "pod 'p1' first\n"
					       "pod 'p2' second\n");
	close_scene(state);
	open_scene(state);
	rows[0]->pid = 4711;
	play_beginning();
	synchronize(rows, 2, NULL, 0);
	assert_string_equal(scene->heard.data, "synchronized\n"
					       "pod 'p1' first\n"
					       "pod 'p2' second, stopped\n");
}

/* A Guaranteed pod with a container that is not must have resources itself. */
static void a_container_shows_that_its_pod_has_resources(void **state)
{
	struct pod pods[2];
	struct container containers[2];
	Nri__PodSandbox *pod_rows[] = {
		make_pod(&pods[0], "p1", "first", GUARANTEED),
		make_pod(&pods[1], "p2", "second", GUARANTEED),
	};
	Nri__Container *container_rows[] = {
		make_container(&containers[0], "c1", "p1", "app", ""),
		make_unlimited(&containers[1], "c2", "p2"),
	};

	play_beginning();
	synchronize(pod_rows, 2, container_rows, 2);
	assert_string_equal(scene->heard.data,
			    "synchronized\n"
			    "pod 'p1' first\n"
			    "pod 'p2' second, pod-level\n"
			    "container 'c1' app on '' in pod 'p1' first\n"
			    "container 'c2' unlimited on '' in pod 'p2' second, pod-level\n");
	text_fini(&scene->heard);
	ask("CreateContainer", pod_rows[0], make_unlimited(&containers[1], "c3", "p1"));
	assert_string_equal(
		scene->heard.data,
		"created container 'c3' unlimited on '' in pod 'p1' first, pod-level\n");
}

static void the_life_of_a_container_is_told(void **state)
{
	struct pod pods;
	struct container containers;
	Nri__PodSandbox *pod = make_pod(&pods, "p1", "first", BURSTABLE);
	Nri__Container *container = make_container(&containers, "c1", "p1", "app", "");

	start();
	ask("CreateContainer", pod, container);
	ask("PostStartContainer", pod, container);
	ask("UpdateContainer", pod, container);
	ask("StopContainer", pod, container);
	ask("RemoveContainer", pod, container);
	assert_string_equal(scene->heard.data,
			    "created container 'c1' app on '' in pod 'p1' first\n"
			    "resized to -1m and 1048576 bytes, as is "
			    "container 'c1' app on '' in pod 'p1' first\n"
			    "stopped c1\n"
			    "removed c1\n");
}

/* What is asked for; 0 is stated, and stands for "as it is". */
static void ask_for(Nri__PodSandbox *pod, Nri__Container *container, uint64_t shares, int64_t quota,
		    uint64_t period, int64_t memory)
{
	Nri__ContainerRequest request = NRI__CONTAINER_REQUEST__INIT;
	Nri__LinuxResources resources = NRI__LINUX_RESOURCES__INIT;
	Nri__LinuxCPU cpu = NRI__LINUX_CPU__INIT;
	Nri__LinuxMemory memories = NRI__LINUX_MEMORY__INIT;
	Nri__OptionalUInt64 of_shares = NRI__OPTIONAL_UINT64__INIT;
	Nri__OptionalUInt64 of_period = NRI__OPTIONAL_UINT64__INIT;
	Nri__OptionalInt64 of_quota = NRI__OPTIONAL_INT64__INIT;
	Nri__OptionalInt64 of_memory = NRI__OPTIONAL_INT64__INIT;

	of_shares.value = shares;
	of_quota.value = quota;
	of_period.value = period;
	of_memory.value = memory;
	cpu.shares = &of_shares;
	cpu.quota = &of_quota;
	cpu.period = &of_period;
	cpu.cpus = word("0-15");
	memories.limit = &of_memory;
	resources.cpu = &cpu;
	resources.memory = &memories;
	request.pod = pod;
	request.container = container;
	request.linux_resources = &resources;
	send_request("UpdateContainer", &request.base);
}

static void what_an_update_does_not_state_stays(void **state)
{
	static const struct {
		uint64_t shares;
		int64_t quota;
		uint64_t period;
		int64_t memory;
		const char *heard;
	} rows[] = {
		{0, 0, 0, 0, "resized to 1000m and 1048576 bytes, as is "},
		{4096, 0, 0, 0, "resized to 4000m and 1048576 bytes, stated "},
		{3072, 150000, 50000, 0, "resized to 3000m and 1048576 bytes, stated "},
		{2048, 200000, 0, 4096, "resized to 2000m and 4096 bytes, stated "},
		{0, 0, 0, 8192, "resized to 1000m and 8192 bytes, stated "},
		{0, -1, 0, 0, "resized to 1000m and 1048576 bytes, stated "},
		{0, 0, 50000, 0, "resized to 1000m and 1048576 bytes, stated "},
	};
	struct pod pods;
	struct container containers;
	Nri__PodSandbox *pod = make_pod(&pods, "p1", "first", GUARANTEED);
	Nri__Container *container = make_container(&containers, "c1", "p1", "app", "2");

	start();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char heard[160];

		ask_for(pod, container, rows[i].shares, rows[i].quota, rows[i].period,
			rows[i].memory);
		snprintf(heard, sizeof(heard), "%scontainer 'c1' app on '2' in pod 'p1' first\n",
			 rows[i].heard);
		assert_string_equal(scene->heard.data, heard);
		text_fini(&scene->heard);
	}
	/* Shares and quota for different numbers of CPUs */
	ask_for(pod, container, 512, 200000, 100000, 0);
	assert_non_null(strstr(scene->heard.data, "pod 'p1' first, pod-level\n"));
}

/* Runtimes with NRI before 0.12 have one method for all events that ask nothing. */
static void the_end_of_an_update_is_told(void **state)
{
	struct pod pods;
	struct container containers;
	Nri__StateChangeEvent change = NRI__STATE_CHANGE_EVENT__INIT;

	start();
	change.event = NRI_EVENT_POST_UPDATE_CONTAINER;
	change.pod = make_pod(&pods, "p1", "first", BURSTABLE);
	change.container = make_container(&containers, "c1", "p1", "app", "");
	send_request("StateChange", &change.base);
	assert_string_equal(scene->heard.data, "updated c1\n");
	text_fini(&scene->heard);
	ask("PostUpdateContainer", change.pod, change.container);
	assert_string_equal(scene->heard.data, "updated c1\n");
}

static void the_end_of_a_pod_is_told(void **state)
{
	struct pod pods;
	Nri__PodEventRequest event = NRI__POD_EVENT_REQUEST__INIT;

	start();
	event.pod = make_pod(&pods, "p1", "first", BURSTABLE);
	send_request("RunPodSandbox", &event.base);
	assert_null(scene->heard.data);
	send_request("StopPodSandbox", &event.base);
	assert_string_equal(scene->heard.data, "pod stopped p1\n");
	text_fini(&scene->heard);
	send_request("RemovePodSandbox", &event.base);
	assert_string_equal(scene->heard.data, "pod stopped p1\n");
}

static void a_session_that_ended_begins_anew(void **state)
{
	start();
	close(scene->fd);
	run_what_is_due();
	assert_string_equal(scene->heard.data, "ended\n");
	text_fini(&scene->heard);
	source_connect(scene->source);
	accept_source();
	start();
}

/* 3 MiB each, of which the output of a session holds two. */
#define NR_CHANGES 40000

static void an_answer_that_finds_no_room_is_an_empty_one(void **state)
{
	static const int results[] = {0, 0, -ENOBUFS};
	struct runtime_change *changes = calloc(NR_CHANGES, sizeof(*changes));
	const struct runtime_answer large = {
		.cpus = "", .changes = changes, .nr_changes = NR_CHANGES};
	struct container container;
	struct nri_reader reader = {0};
	uint32_t streams[ARRAY_SIZE(results)];

	assert_non_null(changes);
	for (uint32_t i = 0; i < NR_CHANGES; i++)
		changes[i] = (struct runtime_change){
			.container_id =
				"0123456789012345678901234567890123456789012345678901234567890123",
			.cpus = "2-15"};
	start();
	scene->keeps_requests = true;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		ask("StopContainer", NULL, make_container(&container, "c1", "p1", "app", ""));
		streams[i] = scene->stream;
	}
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		assert_int_equal(source_answer(scene->source, streams[i], &large), results[i]);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		Nri__Response *response = receive(&reader, streams[i]);

		assert_non_null(response);
		assert_null(response->status);
		assert_int_equal(response->payload.len > 0, !results[i]);
		nri__response__free_unpacked(response, NULL);
	}
	nri_reader_fini(&reader);
	free(changes);
}

static void a_path_must_fit_a_socket(void **state)
{
	char path[200];
	struct source *source = NULL;
	const struct source_options options = {
		.event = scene->event, .socket = path, .sink = &scene->sink, .changed = changed};

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(source_open(&options, &source), -ENAMETOOLONG);
	assert_null(source);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
	const struct CMUnitTest tests[] = {
		TEST(each_container_is_told_with_its_pod),
		TEST(the_path_of_a_cgroup_is_told_if_it_is_known),
		TEST(a_sandbox_without_a_process_has_stopped),
		TEST(a_container_shows_that_its_pod_has_resources),
		TEST(the_life_of_a_container_is_told),
		TEST(what_an_update_does_not_state_stays),
		TEST(the_end_of_an_update_is_told),
		TEST(the_end_of_a_pod_is_told),
		TEST(a_session_that_ended_begins_anew),
		TEST(an_answer_that_finds_no_room_is_an_empty_one),
		TEST(a_path_must_fit_a_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
